"""Handwritten digits: scikit-learn's, MNIST through scikit-learn, or MNIST files on disk."""

from __future__ import annotations

import gzip
import warnings
import zlib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import rng
from ..engine.cache import tell
from ..errors import FileFormatError, InputError, MissingDependencyError
from ..io import find_idx, read_idx
from ..io.atomic import in_wheel

CLASSES = 10
SIDE, INK = 8, 16  # scikit-learn's digits: 8 x 8 pixels, each 0..16
FILE = Path("datasets", "data", "digits.csv.gz")
TEST_SHARE = 0.2
SPLIT_SEED = 1797  # seed of the fixed split; the run's seed does not change it, so accuracies can be compared
MNIST = "mnist:"
OPENML = "mnist_784"
"""MNIST's name on OpenML: 70,000 pictures; the first six sevenths are for training."""

Pictures = NDArray[np.float32]
Labels = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Digits:
    """Pictures (N, 1, H, W) with their digits, for training and for the test; 0 is paper, 1 is ink."""

    train: Pictures
    train_labels: Labels
    test: Pictures
    test_labels: Labels

    @property
    def side(self) -> tuple[int, int]:
        """The rows and columns of a picture."""
        return int(self.train.shape[2]), int(self.train.shape[3])


def load_digits(source: str) -> Digits:
    """Load the digits of a source: ``sklearn``, ``mnist`` or ``mnist:FOLDER``.

    Raises
    ------
    MissingDependencyError
        The ``data`` extra is not installed.
    InputError, FileFormatError
        The source is unknown, files are missing or unusable, or a download fails.
    """
    if source == "sklearn":
        return _split(*_sklearn())
    if source == "mnist":
        return _openml()
    folder = source.removeprefix(MNIST)
    if folder == source or not folder:
        raise InputError(
            f"--data {source!r}: allowed are sklearn, mnist (downloaded once), or mnist:FOLDER for a folder with the "
            "four MNIST files"
        )
    train, test = _mnist(Path(folder), "train"), _mnist(Path(folder), "t10k")
    if train[0].shape[1:] != test[0].shape[1:]:
        raise FileFormatError(
            f"{folder}: training pictures have {_size(train[0])} pixels, test pictures {_size(test[0])}; give one size"
        )
    return Digits(*train, *test)


def _sklearn() -> tuple[Pictures, Labels]:
    """Read the 1,797 digits of the UCI test set from scikit-learn's wheel.

    E. Alpaydin, C. Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine Learning Repository, 1998.
    """
    path = in_wheel("sklearn", FILE, "the handwritten digits need")
    try:
        table = np.loadtxt(gzip.decompress(path.read_bytes()).decode().splitlines(), delimiter=",", dtype=np.float32)
        pixels = table[:, :-1].reshape(-1, 1, SIDE, SIDE)
    except (OSError, EOFError, ValueError, IndexError, zlib.error) as error:
        raise FileFormatError(f"{path} cannot be read ({error}); install scikit-learn again") from None
    return pixels / np.float32(INK), table[:, -1].astype(np.int64)


def _openml() -> Digits:
    """Load MNIST with scikit-learn's `fetch_openml`, which caches the file and verifies its checksum.

    Y. LeCun, C. Cortes, C. Burges, "The MNIST database of handwritten digits", 1998.
    """
    try:
        from sklearn.datasets import fetch_openml
    except ImportError:
        raise MissingDependencyError('MNIST is loaded by scikit-learn: pip install "scalarviz[data]"') from None
    tell(f"scalarviz: loading MNIST ({OPENML} of OpenML, 70,000 digits of 28x28 pixels, 15 MB, downloaded once)")
    parser = "pandas" if find_spec("pandas") else "liac-arff"  # pandas is ten times as fast
    try:
        with warnings.catch_warnings():  # scikit-learn warns when it loads the file again
            warnings.simplefilter("ignore")
            found = fetch_openml(OPENML, version=1, as_frame=False, parser=parser)
        pictures = np.asarray(found.data, np.float32).reshape(-1, 1, 28, 28) / np.float32(255)
        labels = np.asarray(found.target).astype(np.int64)
    except (OSError, ValueError) as error:  # no network, no such file, a wrong checksum, unexpected content
        said = " ".join(str(error).split())[:200]
        raise InputError(
            f"--data mnist: MNIST cannot be downloaded or read ({type(error).__name__}: {said}); if you are offline, "
            "give a folder with the four files, --data mnist:FOLDER: train-images-idx3-ubyte, "
            "train-labels-idx1-ubyte, t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte, plain or .gz"
        ) from None
    first = len(pictures) * 6 // 7
    return Digits(pictures[:first], labels[:first], pictures[first:], labels[first:])


def _split(pictures: Pictures, labels: Labels) -> Digits:
    """Hold out a fifth for the test; the split is the same for every seed of the run."""
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
            f"{pictures_path} has {len(pictures):,} pictures, but {labels_path} has {len(labels):,} labels"
        )
    if min(pictures.shape[1:]) < 4:
        raise FileFormatError(
            f"{pictures_path}: pictures of {_size(pictures)} pixels are too small; allowed: at least 4 x 4"
        )
    if labels.max() >= CLASSES:
        row = int(np.argmax(labels >= CLASSES))
        raise FileFormatError(f"{labels_path}: label {row} is {labels[row]}; allowed are digits 0 to 9")
    return pictures[:, None].astype(np.float32) / np.float32(255), labels.astype(np.int64)


def _size(pictures: NDArray[Any]) -> str:
    return f"{pictures.shape[-1]} x {pictures.shape[-2]}"
