"""The samples of ``scalarviz train``: arrays in a .npz file, or pictures in a folder with one for each class."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scalarviz import rng
from scalarviz.errors import FileFormatError, InputError, ScalarvizError
from scalarviz.io import load_picture
from scalarviz.io.archive import read_arrays
from scalarviz.io.readable import unreadable

Array = NDArray[Any]
Shape = tuple[int, ...]
SPLIT_SEED = 1  # of the fixed split; the run's seed does not move it, so figures can be compared
GREY = np.array([0.2126, 0.7152, 0.0722], np.float32)  # ITU-R BT.709


@dataclass(frozen=True, slots=True)
class Samples:
    """What is learnt from, and what is held back for the test.

    Attributes
    ----------
    x, y : ndarray
        As a Run takes them.
    test_x, test_y : ndarray
        Of length 0 where nothing is held back.
    names : tuple of str
        Of the classes, where the data have names for them.
    """

    x: Array
    y: Array
    test_x: Array
    test_y: Array
    names: tuple[str, ...] = ()

    @property
    def counted(self) -> bool:
        """Whether the targets are numbers of classes."""
        return self.y.dtype.kind in "biu" and self.y[0].size == 1


def read_samples(path: Path, shape: Shape, held: float) -> Samples:
    """Read a set of samples.

    Parameters
    ----------
    path : Path
        A .npz file with arrays ``x`` and ``y`` (and ``x_test``, ``y_test``), or a folder.
    shape : tuple of int
        Of one sample of the network: pictures must have it, rows of as many numbers get it.
    held : float
        The share that is held back for the test, where the file has none of its own.

    Raises
    ------
    InputError, FileFormatError
        There is no such file; it holds something else; sizes that do not fit.
    """
    if path.is_dir():
        x, y, names = _folder(path, shape)
        return _split(x, y, held, names)
    arrays = _arrays(path)
    x, y = _shaped(arrays["x"], shape, path), arrays["y"]
    _check_length(path, x, y)
    if "x_test" in arrays and "y_test" in arrays:
        test = _shaped(arrays["x_test"], shape, path), arrays["y_test"]
        _check_length(path, *test)
        return Samples(x, y, *test)
    return _split(x, y, held)


def _split(x: Array, y: Array, held: float, names: tuple[str, ...] = ()) -> Samples:
    order = rng.permute(np.arange(len(x)), len(x), SPLIT_SEED, 0)
    test, train = np.split(order, [min(round(held * len(x)), len(x) - 1)])
    return Samples(x[train], y[train], x[test], y[test], names)


def _arrays(path: Path) -> dict[str, Array]:
    found = read_arrays(path, ("x", "y", "x_test", "y_test"), ("x", "y"), "data set")
    wrong = [name for name, array in found.items() if not array.ndim or not array.size]
    if wrong:
        raise FileFormatError(f"{path}: {wrong[0]} must be a row of samples, each of numbers, and not empty")
    return found


def _shaped(x: Array, shape: Shape, path: Path) -> Array:
    """The inputs in the shape of the network's."""
    if x.shape[1:] == shape:
        return x
    if x[0].size != int(np.prod(shape)) or x.ndim > 2:
        raise InputError(f"{path}: a sample of x has the shape {x.shape[1:]}, the network takes {shape}")
    return x.reshape(len(x), *shape)


def _check_length(path: Path, x: Array, y: Array) -> None:
    if len(x) != len(y):
        raise FileFormatError(
            f"{path} has {len(x):,} samples in x and {len(y):,} in y; as many as each other are needed"
        )


def _folder(path: Path, shape: Shape) -> tuple[Array, Array, tuple[str, ...]]:
    """Pictures of all classes; channels first, numbers in 0..1."""
    if len(shape) != 3 or shape[0] not in (1, 3):
        raise InputError(
            f"{path} is a folder of pictures; the network takes samples of the shape {shape}, not 1 x H x W or 3 x H "
            "x W"
        )
    try:
        classes = sorted(each for each in path.iterdir() if each.is_dir() and not each.name.startswith("."))
        files = [(k, file) for k, each in enumerate(classes) for file in sorted(each.iterdir()) if _shown(file)]
    except OSError as error:
        raise unreadable(path, error) from None
    if len(classes) < 2 or not files:
        raise InputError(
            f"{path} must have a folder for each class with pictures in it, such as {path}/cats and {path}/dogs"
        )
    x = np.empty((len(files), *shape), np.float32)
    for place, (_, file) in enumerate(files):
        x[place] = _pixels(file, shape)
    return x, np.array([k for k, _ in files]), tuple(each.name for each in classes)


def _shown(file: Path) -> bool:
    return file.is_file() and not file.name.startswith(".")


def _pixels(file: Path, shape: Shape) -> Array:
    try:
        rgb = load_picture(file).rgb
    except ScalarvizError as error:
        raise type(error)(f"{error}; it lies in a folder of pictures to learn from") from None
    if rgb.shape[:2] != shape[1:]:
        raise InputError(
            f"{file} has {rgb.shape[1]} x {rgb.shape[0]} pixels, the network takes {shape[2]} x {shape[1]}; "
            "bring all pictures to that size first"
        )
    return (rgb @ GREY)[None] if shape[0] == 1 else np.moveaxis(rgb, -1, 0)
