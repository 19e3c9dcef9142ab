"""A convolutional network learns to read handwritten digits; every kernel is a tile of cubes."""

from __future__ import annotations

import gzip
import warnings
import zlib
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import scalarviz as sv
from scalarviz import nn, optim, rng
from scalarviz.engine.cache import tell
from scalarviz.errors import FileFormatError, InputError, MissingDependencyError
from scalarviz.io import find_idx, load_tensors, read_idx
from scalarviz.run import Moment, Story
from scalarviz.run.checks import check_run
from scalarviz.run.panels import DigitBoard, DigitPad, LossCurve, TestCurve

from . import kit
from .options import Batch, Positive, SamplingFlag, SceneOptions, ScheduleFlag, Steps, WholeNumbers, flag

ADAM = kit.rules(adam=0.005)
PIECE = 2000  # pictures that are predicted together
PIXELS = 200_000  # of the dashed curve, which a window measures four times a second; the report measures all digits
NEEDS = {"data": "sklearn"}


class Options(SceneOptions):
    """The flags of ``scalarviz digits``: each field is one."""

    steps: Steps = flag("training steps", 1500)
    data: str = flag(
        "sklearn: 1,797 digits of 8x8 pixels; mnist: 70,000 of 28x28, downloaded once by scikit-learn; "
        "mnist:FOLDER: the four MNIST files (plain or .gz) you have", "sklearn", metavar="sklearn|mnist[:FOLDER]",
    )  # fmt: skip
    channels: WholeNumbers = flag("kernels of the two convolutions", (6, 12), metavar="N,N", shown="6,12")
    lr: Positive = flag("learning rate of Adam", 0.005)
    schedule: ScheduleFlag = None
    batch: Batch = flag("pictures a step", 64)
    sampling: SamplingFlag = "epochs"


def build(options: Options) -> sv.Scene:
    """Put the scene together: data, network, loss, optimiser, and what to show.

    Raises
    ------
    InputError, FileFormatError
        For options that contradict each other and files that cannot be used; before anything is written.
    MissingDependencyError
        The digits' package is not installed.
    """
    digits = load_digits(options.data)
    options = kit.resumed(options, ADAM, channels=partial(channels_in, side=digits.side))
    if len(options.channels) != 2:
        raise InputError(f"--channels wants two numbers, such as 6,12; got {','.join(map(str, options.channels))}")
    first, second = options.channels
    rest = second * (digits.side[0] // 4) * (digits.side[1] // 4)
    weights = (9 + 1) * first + (9 * first + 1) * second + (rest + 1) * CLASSES
    check_run(weights, options.dtype, len(optim.Adam.state), options.engine)
    net = network(digits.side, options.channels)
    net.initialize(nn.init.pytorch_default(), seed=options.seed)
    notes = [f"{len(digits.train):,} digits to learn from, {len(digits.test):,} for the test"]
    batch = kit.batch_of(options, len(digits.train), "digit", notes)
    adam = optim.Adam(net.parameters(), lr=options.lr)
    samples = digits.train, digits.train_labels
    run = kit.train(options, net, nn.CrossEntropyLoss(), adam, samples, batch_size=batch)
    return sv.Scene(
        name="digits",
        run=run,
        probe=digits.test[0].ravel(),
        probe_target=digits.test_labels[:1].astype(np.float64),
        output_names=tuple(map(str, range(CLASSES))),
        panels=(
            DigitBoard(digits.test.reshape(len(digits.test), -1), digits.test_labels, digits.side),
            DigitPad(digits.side),
            LossCurve(f"{batch:,} digits a step", _test_curve(digits)),
        ),
        notes=notes,
        story=Story("They should read handwritten digits.", claim=partial(_claim, digits=digits)),
    )


def _claim(moment: Moment, *, digits: Digits) -> str:
    """How many digits are read rightly that are not learnt from."""
    test = _test_curve(digits)
    right = int((moment.predict(test.inputs).argmax(axis=1) == test.targets).sum())
    return f"They now read {right:,} of {len(test.targets):,} digits that they never saw."


def _test_curve(digits: Digits) -> TestCurve:
    some = slice(0, max(1, PIXELS // (digits.side[0] * digits.side[1])))
    inputs, labels = digits.test[some], digits.test_labels[some]
    return TestCurve(f"{len(labels):,} test digits", inputs, labels, accuracy=True)


def network(side: tuple[int, int], channels: tuple[int, ...]) -> nn.Sequential:
    """Twice convolution, rectifier and pool, then a linear layer: pictures 1 x H x W to one logit a digit."""
    first, second = channels
    rest = (side[0] // 4) * (side[1] // 4)
    return nn.Sequential(
        nn.Conv2d(1, first, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(first, second, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(second * rest, CLASSES),
    )  # fmt: skip


def accuracy(scene: sv.Scene) -> float:
    """Share of the test's digits that the network reads rightly."""
    board = next(panel for panel in scene.panels if isinstance(panel, DigitBoard))
    inputs, labels = board.inputs, board.labels
    return float((kit.in_pieces(scene.run.predict, inputs, PIECE).argmax(axis=1) == labels).mean())


def report(scene: sv.Scene) -> dict[str, float]:
    """What the last line and the JSON say beyond what they say of every scene."""
    return {"accuracy": round(accuracy(scene), 4)}


def channels_in(path: Path, side: tuple[int, int]) -> tuple[int, ...]:
    """The kernels of the two convolutions in a file, from ``0.weight`` and ``3.weight``.

    Raises
    ------
    FileFormatError
        The file's tensors are not those of a network for pictures of `side` pixels.
    """
    found = {name: array.shape for name, array in load_tensors(path)[0].items() if name.endswith(".weight")}
    first, second = ((*found.get(name, ()), 0)[0] for name in ("0.weight", "3.weight"))
    rest = (side[0] // 4) * (side[1] // 4)
    wanted = {"0.weight": (first, 1, 3, 3), "3.weight": (second, first, 3, 3), "7.weight": (CLASSES, second * rest)}
    if not all(found.get(name) == shape for name, shape in wanted.items()) or 0 in (first, second):
        got = ", ".join(f"{n} {shape}" for n, shape in sorted(found.items())) or "no weights"
        raise FileFormatError(
            f"{path} holds no network of this scene for pictures of {side[1]} x {side[0]} pixels: wanted 0.weight "
            f"(N, 1, 3, 3), 3.weight (M, N, 3, 3) and 7.weight ({CLASSES}, {rest} M), got {got}"
        )
    return int(first), int(second)


# ---- The handwritten digits of the scene `digits`: scikit-learn's, MNIST by scikit-learn, or MNIST files that one has.


CLASSES = 10
SIDE, INK = 8, 16  # scikit-learn's digits: 8 x 8 pixels, each 0..16
FILE = Path("datasets", "data", "digits.csv.gz")
TEST_SHARE = 0.2
SPLIT_SEED = 1797  # of the fixed split; the run's seed does not move it, so accuracies can be compared
MNIST = "mnist:"
OPENML = "mnist_784"
"""MNIST's name on OpenML: 70,000 pictures, the first six sevenths to learn from."""

Pictures = NDArray[np.float32]
Labels = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Digits:
    """Pictures with their digit, for training and apart from it for the test.

    Attributes
    ----------
    train, test : ndarray of float32, shape (N, 1, H, W)
        0 is paper, 1 is ink.
    train_labels, test_labels : ndarray of int, shape (N,)
    """

    train: Pictures
    train_labels: Labels
    test: Pictures
    test_labels: Labels

    @property
    def side(self) -> tuple[int, int]:
        """Rows and columns of a picture."""
        return int(self.train.shape[2]), int(self.train.shape[3])


def load_digits(source: str) -> Digits:
    """``sklearn``, ``mnist`` or ``mnist:FOLDER``.

    Raises
    ------
    MissingDependencyError
        Without the ``data`` extra.
    InputError, FileFormatError
        Another source; files that are missing or unusable; a download that fails.
    """
    if source == "sklearn":
        return _split(*_sklearn())
    if source == "mnist":
        return _openml()
    folder = source.removeprefix(MNIST)
    if folder == source or not folder:
        raise InputError(
            f"--data {source!r}: allowed are sklearn, mnist (which is downloaded once), or mnist:FOLDER with the "
            "four MNIST files in FOLDER"
        )
    train, test = _mnist(Path(folder), "train"), _mnist(Path(folder), "t10k")
    if train[0].shape[1:] != test[0].shape[1:]:
        raise FileFormatError(f"{folder}: pictures of {_size(train[0])} pixels to learn from, {_size(test[0])} to test")
    return Digits(*train, *test)


def _sklearn() -> tuple[Pictures, Labels]:
    """The 1,797 digits of the UCI test set, out of scikit-learn's wheel.

    E. Alpaydin, C. Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine Learning Repository, 1998.
    """
    spec = find_spec("sklearn")  # located, not imported: that would cost more than a second
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / FILE
        if path.is_file():
            return _read_csv(path)
    raise MissingDependencyError('the handwritten digits need the data extra: pip install "scalarviz[data]"')


def _read_csv(path: Path) -> tuple[Pictures, Labels]:
    try:
        table = np.loadtxt(gzip.decompress(path.read_bytes()).decode().splitlines(), delimiter=",", dtype=np.float32)
        pixels = table[:, :-1].reshape(-1, 1, SIDE, SIDE)
    except (OSError, EOFError, ValueError, IndexError, zlib.error) as error:
        raise FileFormatError(f"{path} cannot be read ({error}); install scikit-learn again") from None
    return pixels / np.float32(INK), table[:, -1].astype(np.int64)


def _openml() -> Digits:
    """MNIST by scikit-learn's `fetch_openml`, which keeps the file on this machine and compares its checksum.

    Y. LeCun, C. Cortes, C. Burges, "The MNIST database of handwritten digits", 1998.
    """
    try:
        from sklearn.datasets import fetch_openml
    except ImportError:
        raise MissingDependencyError('MNIST is loaded by scikit-learn: pip install "scalarviz[data]"') from None
    tell(f"scalarviz: loading MNIST ({OPENML} of OpenML, 70,000 digits of 28x28 pixels, 15 MB, downloaded once)")
    parser = "pandas" if find_spec("pandas") else "liac-arff"  # the first is ten times as fast
    try:
        with warnings.catch_warnings():  # of a file that is loaded once more
            warnings.simplefilter("ignore")
            found = fetch_openml(OPENML, version=1, as_frame=False, parser=parser)
        pictures = np.asarray(found.data, np.float32).reshape(-1, 1, 28, 28) / np.float32(255)
        labels = np.asarray(found.target).astype(np.int64)
    except (OSError, ValueError) as error:  # no network, no such file, another checksum, another content
        said = " ".join(str(error).split())[:200]
        raise InputError(
            f"--data mnist: MNIST cannot be downloaded or read ({type(error).__name__}: {said}); without a network "
            "give a folder with its four files, as --data mnist:FOLDER: train-images-idx3-ubyte, "
            "train-labels-idx1-ubyte, t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte, plain or .gz"
        ) from None
    first = len(pictures) * 6 // 7
    return Digits(pictures[:first], labels[:first], pictures[first:], labels[first:])


def _split(pictures: Pictures, labels: Labels) -> Digits:
    """The same keyed fifth for the test whatever the seed of the run."""
    count = len(pictures)
    order = rng.permute(np.arange(count), count, SPLIT_SEED, 0)
    test, train = np.split(order, [round(TEST_SHARE * count)])
    return Digits(pictures[train], labels[train], pictures[test], labels[test])


def _mnist(folder: Path, part: str) -> tuple[Pictures, Labels]:
    pictures_path = find_idx(folder, f"{part}-images-idx3-ubyte")
    labels_path = find_idx(folder, f"{part}-labels-idx1-ubyte")
    pictures, labels = read_idx(pictures_path, 3), read_idx(labels_path, 1)
    if len(pictures) != len(labels):
        raise FileFormatError(
            f"{pictures_path} has {len(pictures):,} pictures and {labels_path} has {len(labels):,} labels"
        )
    if min(pictures.shape[1:]) < 4:
        raise FileFormatError(f"{pictures_path}: pictures of {_size(pictures)} pixels are too small; least 4 x 4")
    if labels.max() >= CLASSES:
        row = int(np.argmax(labels >= CLASSES))
        raise FileFormatError(f"{labels_path}: label {row} is {labels[row]}; allowed: digits 0 to 9")
    return pictures[:, None].astype(np.float32) / np.float32(255), labels.astype(np.int64)


def _size(pictures: NDArray[Any]) -> str:
    return f"{pictures.shape[-1]} x {pictures.shape[-2]}"
