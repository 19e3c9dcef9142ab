"""Train a network from an ONNX file on your own data, watch it, and save it as ONNX."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

import scalarviz as sv
from scalarviz import nn
from scalarviz.data.samples import Samples, Shape, read_samples, shape_in
from scalarviz.errors import InputError, listing, shown
from scalarviz.imported.building import without_softmax
from scalarviz.imported.loading import Loaded, loaded, only, train_only
from scalarviz.io import check_target
from scalarviz.onnx.graph import Port
from scalarviz.onnx.reading import read_graph
from scalarviz.run import Moment, Story
from scalarviz.run.panels import LossCurve, TestCurve
from scalarviz.run.validation import as_samples

from . import kit
from .options import Batch, NotNegative, Positive, SamplingFlag, SceneOptions, ScheduleFlag, Steps, file_ending, flag

PIECE = 2000  # samples that are predicted together
CURVE = 100_000  # numbers of the dashed curve's samples; the report takes all


def _axis(value: str) -> str | int | Literal[False]:
    """The axis of the samples: a number, a name, or False if there is none."""
    if value == "none":
        return False
    return int(value) if value.removeprefix("-").isdecimal() and len(value) < 4 else value


class Options(SceneOptions):
    """The flags of ``scalarviz train``: each field is one."""

    rates = kit.rates(adam=0.001)
    rare = SceneOptions.rare | {"output", "samples", "trained"}
    network: Path = flag("the ONNX file", argument=True)
    data: Path = flag(
        "the data: a .npz file with arrays x and y (and x_test, y_test), or a folder with a subfolder of pictures "
        "for each class",
        metavar="FILE|FOLDER",
    )
    loss: Literal["ce", "mse"] | None = flag(
        "ce: cross-entropy of classes; mse: mean squared error", None, shown="ce if y holds class numbers, else mse"
    )
    trained: list[str] = flag(
        'names of the parameters to train, such as "fc*"; may be repeated', [], metavar="NAMES", shown="all"
    )
    samples: str | None = flag(
        "batch axis of the file's input: its name, its number, or none",
        None,
        metavar="AXIS",
        shown="the first",
    )
    output: str | None = flag(
        "tensor in the file to compare with the targets", None, metavar="NAME", shown="the file's output"
    )
    test: NotNegative = flag("share of the data held out for the test", 0.2, lt=1)
    steps: Steps = flag("training steps", 1000)
    lr: Positive = flag("learning rate of Adam", rates["adam"])
    schedule: ScheduleFlag = None
    batch: Batch = flag("samples per step", 32)
    sampling: SamplingFlag = "epochs"
    onnx: Annotated[Path, file_ending(".onnx", what="networks are", usual="net")] | None = flag(
        "write the trained network as ONNX at the end", None, written=True
    )
    onnx_step: Annotated[Path, file_ending(".onnx", what="training steps are", usual="step")] | None = flag(
        "write one whole training step as ONNX at the end", None, written=True
    )


def build(options: Options) -> sv.Scene:
    """Put the scene together: data, network, loss, optimiser, and what to show."""
    for path in filter(None, (options.onnx, options.onnx_step)):
        check_target(path)
    options = kit.resumed(options)
    found, numbers = _loaded(options)
    net, (shape,), (makes,) = found
    read = read_samples(options.data, shape)
    rows = _rows(read, makes)
    classes = options.loss == "ce" if options.loss else read.counted or rows > 1
    if classes:
        _check_classes(read, makes // rows, rows, options)
    samples = read.split(options.test)
    notes = [f"{len(samples.x):,} training samples, {len(samples.test_x):,} test samples"]
    put_back = without_softmax(net) if classes else None
    if put_back is not None:
        notes.append("the final softmax is part of the loss; --onnx writes it too")
    if options.trained:
        train_only(net, options.trained)
    kit.check_memory(options, sum(p.numel() for p in net.parameters() if isinstance(p, nn.Parameter)))
    loss = _of_rows(rows) if classes and rows > 1 else nn.CrossEntropyLoss() if classes else nn.MSELoss()
    batch = kit.batch_of(options, len(samples.x), "sample", notes)
    run = kit.train(options, net, loss, (samples.x, samples.y), batch_size=batch)
    curve = _curve(samples, classes and rows == 1)
    return Learning(
        name="train",
        run=run,
        output_names=samples.names,
        panels=(LossCurve(f"{batch:,} samples a step", curve),),
        notes=notes,
        story=Story(f"{options.network.name} learns {options.data.name}.", claim=partial(_claim, samples=samples))
        if classes and rows == 1
        else None,
        options=options,
        samples=samples,
        classes=classes,
        put_back=put_back,
        shape=shape,
        numbers=numbers,
    )


@dataclass(slots=True)
class Learning(sv.Scene):
    """The scene, with the facts that `report` and `finish` need."""

    samples: Samples = field(kw_only=True)
    classes: bool = False  # whether the targets are classes
    put_back: Callable[[], None] | None = None  # restores the softmax at the end of the network
    shape: tuple[int, ...] = ()  # of one sample
    numbers: str = "float32"  # dtype of the file that --onnx writes: that of the file it read


def _rows(samples: Samples, makes: int) -> int:
    """The number of classes per sample: one for each row of outputs, such as one per letter of a text."""
    count = int(samples.y[0].size)
    return count if samples.y.dtype.kind in "biu" and count < makes and makes % count == 0 else 1


def _of_rows(rows: int) -> Callable[[Any, Any], sv.Value]:
    """The mean of the cross-entropies of a sample's rows."""
    one = nn.CrossEntropyLoss()

    def loss(outputs: Any, targets: Any) -> sv.Value:
        return sv.mean([one(row, k) for row, k in zip(outputs.reshape(rows, -1), targets.flatten(), strict=True)])

    return loss


def _check_classes(samples: Samples, makes: int, rows: int, options: Options) -> None:
    """Raise InputError if a class number has no output; the message counts samples as the file does."""
    net, data = options.network, options.data
    if makes == 1:
        raise InputError(f"{net} returns one number per sample, cross-entropy needs one per class; try --loss mse")
    if len(samples.names) > makes:
        names = f"{len(samples.names)} classes ({listing(samples.names)})"
        raise InputError(f"{data} has {names}, {net} has {makes} outputs; use one output per class")
    for name, y in (("y", samples.y), ("y_test", samples.test_y)):
        if len(y):
            try:
                flat = as_samples(y, name)
                nn.CrossEntropyLoss().check_targets(flat.reshape(-1, 1) if rows > 1 else flat, makes)
            except InputError as error:
                raise InputError(f"{data}, {name}: {error}") from None


def _loaded(options: Options) -> tuple[Loaded, str]:
    """The network, and the dtype of its file."""
    side = None if options.samples is None else _axis(options.samples)
    graph = read_graph(options.network)
    if options.output is not None:
        graph = only(graph, options.output)
    outputs, inputs = ([port.name for port in ports] for ports in (graph.outputs, graph.inputs))
    if len(outputs) != 1:
        raise InputError(f"{options.network} has {len(outputs)} outputs ({listing(outputs)}), choose one with --output")
    if len(inputs) != 1:
        raise InputError(
            f"{options.network} has {len(inputs)} inputs ({listing(inputs)}), the data only x; in Python, write "
            "a module of your own around sv.load_onnx(path)"
        )
    found: Loaded = loaded(graph, side, _sides(graph.inputs[0], side, options))
    if not found.net.parameters():
        raise InputError(f"{options.network} has no weights to train")
    return found, "float64" if graph.inputs[0].dtype == np.float64 else "float32"


def _sides(port: Port, samples: Any, options: Options) -> dict[str, Shape]:
    """The sizes that the file leaves open, besides the batch axis, as the data have them."""
    sides, counted = port.shape, samples is not False
    if sides is not None and sum(not isinstance(side, int) for side in sides) <= counted:
        return {}
    shape = shape_in(options.data, sides)
    if sides is not None and len(shape) != len(sides) - counted:
        raise InputError(
            f"{options.data}: a sample has shape {shape}; {options.network} takes {shown(sides)}, batch axis "
            f"included, so a sample needs {len(sides) - counted} axes"
        )
    return {port.name: shape}


def _curve(samples: Samples, classes: bool) -> TestCurve | None:
    count = min(len(samples.test_x), max(1, CURVE // max(samples.x[0].size, 1)))
    if not count:
        return None
    return TestCurve(f"{count:,} test samples", samples.test_x[:count], samples.test_y[:count], accuracy=classes)


def _claim(moment: Moment, *, samples: Samples) -> str:
    """The sentence that says how many held-out samples the network classifies correctly."""
    x, y = (part[:PIECE] for part in samples.asked)
    right = int(_right(moment.predict(x), y).sum())
    return f"It now classifies {right:,} of {len(x):,}{' test' if len(samples.test_x) else ''} samples correctly."


def _right(found: Any, y: Any) -> Any:
    """Whether each class is right; targets may also be shares, of which the largest is the class."""
    numbers = y.argmax(axis=1) if y.ndim == 2 and 1 < y.shape[1] == found.shape[1] else y.ravel()
    return found.reshape(len(numbers), -1).argmax(axis=1) == numbers


def report(scene: Learning) -> dict[str, float]:
    """Numbers that this scene adds to the last line and to the JSON."""
    x, y = scene.samples.asked
    if not scene.classes:
        name = "test_loss" if len(scene.samples.test_x) else "loss_of_all"
        return {name: float(scene.run.evaluate(x, y))}
    right = _right(kit.in_pieces(scene.run.predict, x, PIECE), y)
    return {"accuracy": round(float(right.mean()), 4)}


def finish(scene: Learning, options: Options) -> list[Path]:
    """Write the network and its training step as ONNX; returns the files."""
    steps = [] if options.onnx_step is None else [options.onnx_step]
    for path in steps:
        scene.run.to_onnx(path, training=True)
    if options.onnx is None:
        return steps
    if scene.put_back is not None:
        scene.put_back()
    net: Any = scene.run.model
    net.to_onnx(options.onnx, scene.shape, dtype=scene.numbers)
    return [*steps, options.onnx]
