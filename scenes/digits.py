"""A network learns to read handwritten digits: every kernel of its convolutions is a tile of cubes."""

from __future__ import annotations

from functools import partial

import numpy as np

import scalarviz as sv
from scalarviz import nn
from scalarviz.data.digits import CLASSES, Digits, load_digits
from scalarviz.errors import InputError
from scalarviz.run import Moment, Story
from scalarviz.run.panels import DigitBoard, DigitPad, LossCurve, TestCurve

from . import kit
from .options import Batch, Positive, SamplingFlag, SceneOptions, ScheduleFlag, Steps, WholeNumbers, flag

PIECE = 2000  # pictures per call of predict
PIXELS = 200_000  # of the test curve, which a window computes four times a second; the report uses all test digits
NEEDS = {"data": "sklearn"}


class Options(SceneOptions):
    """The flags of ``scalarviz digits``: each field is one."""

    rates = kit.rates(adam=0.005)
    steps: Steps = flag("training steps", 1500)
    data: str = flag(
        "sklearn: 1,797 digits of 8x8 pixels; mnist: 70,000 of 28x28, which scikit-learn downloads once; "
        "mnist:FOLDER: your own copy of the four MNIST files (plain or .gz)",
        "sklearn",
        metavar="sklearn|mnist[:FOLDER]",
    )
    channels: WholeNumbers = flag("kernels of the two convolutions", (6, 12), metavar="N,N")
    lr: Positive = flag("learning rate of Adam", rates["adam"])
    schedule: ScheduleFlag = None
    batch: Batch = flag("pictures per step", 64)
    sampling: SamplingFlag = "epochs"


def build(options: Options) -> sv.Scene:
    """Put the scene together: data, network, loss, optimiser, and what to show."""
    digits = load_digits(options.data)
    options = kit.resumed(options, channels=partial(kit.rows_in, step=3, least=2))
    if len(options.channels) != 2:
        raise InputError(f"--channels: got {','.join(map(str, options.channels))}; allowed: two numbers, such as 6,12")
    first, second = options.channels
    rest = second * (digits.side[0] // 4) * (digits.side[1] // 4)
    weights = (9 + 1) * first + (9 * first + 1) * second + (rest + 1) * CLASSES
    kit.check_memory(options, weights)
    net = network(digits.side, options.channels)
    net.initialize(nn.init.pytorch_default(), seed=options.seed)
    notes = [f"{len(digits.train):,} training digits, {len(digits.test):,} test digits"]
    batch = kit.batch_of(options, len(digits.train), "digit", notes)
    run = kit.train(options, net, nn.CrossEntropyLoss(), (digits.train, digits.train_labels), batch_size=batch)
    return sv.Scene(
        name="digits",
        run=run,
        options=options,
        probe=digits.test[0].ravel(),
        probe_target=digits.test_labels[:1].astype(np.float64),
        output_names=tuple(map(str, range(CLASSES))),
        panels=(
            DigitBoard(digits.test.reshape(len(digits.test), -1), digits.test_labels, digits.side),
            DigitPad(digits.side),
            LossCurve(f"{batch:,} digits a step", _test_curve(digits)),
        ),
        notes=notes,
        story=Story("They learn to read handwritten digits.", claim=partial(_claim, digits=digits)),
    )


def _claim(moment: Moment, *, digits: Digits) -> str:
    """The sentence that says how many test digits the network reads correctly."""
    test = _test_curve(digits)
    right = int((moment.predict(test.inputs).argmax(axis=1) == test.targets).sum())
    return f"They now read {right:,} of {len(test.targets):,} test digits correctly."


def _test_curve(digits: Digits) -> TestCurve:
    some = slice(0, max(1, PIXELS // (digits.side[0] * digits.side[1])))
    inputs, labels = digits.test[some], digits.test_labels[some]
    return TestCurve(f"{len(labels):,} test digits", inputs, labels, accuracy=True)


def network(side: tuple[int, int], channels: tuple[int, ...]) -> nn.Sequential:
    """A network from pictures 1 x H x W to ten logits: twice convolution, rectifier and pool, then a linear layer."""
    first, second = channels
    rest = (side[0] // 4) * (side[1] // 4)
    return nn.Sequential(
        nn.Conv2d(1, first, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(first, second, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(second * rest, CLASSES),
    )  # fmt: skip


def accuracy(scene: sv.Scene) -> float:
    """The share of the test digits that the network reads correctly."""
    board = next(panel for panel in scene.panels if isinstance(panel, DigitBoard))
    inputs, labels = board.inputs, board.labels
    return float((kit.in_pieces(scene.run.predict, inputs, PIECE).argmax(axis=1) == labels).mean())


def report(scene: sv.Scene) -> dict[str, float]:
    """Numbers that this scene adds to the last line and to the JSON."""
    return {"accuracy": round(accuracy(scene), 4)}
