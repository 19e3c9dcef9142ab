"""The samples of ``scalarviz train``: arrays in a .npz file, or pictures in a folder with one subfolder per class."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import rng
from ..checks import check_memory
from ..errors import FileFormatError, InputError, ScalarvizError, listing, shown
from ..io import load_picture
from ..io.atomic import StrPath, check_source, of_disk, path_text, unreadable
from ..run.validation import as_samples

Array = NDArray[Any]
Shape = tuple[int, ...]
SPLIT_SEED = 1  # seed of the fixed split; the run's seed does not change it, so figures can be compared
HOW = "write the file with np.savez(path, x=inputs, y=targets)"
ENDING = ".npy"
ARRAYS = ("x", "y", "x_test", "y_test")
SYSTEMS_OWN = ("thumbs.db", "desktop.ini")  # files that Windows adds to picture folders
GREY = np.array([0.2126, 0.7152, 0.0722], np.float32)  # ITU-R BT.709


@dataclass(frozen=True, slots=True)
class Samples:
    """Training samples and held-out samples."""

    x: Array  # in the form that a Run takes
    y: Array
    test_x: Array  # length 0 if nothing is held-out
    test_y: Array
    names: tuple[str, ...] = ()  # names of the classes, if the data have them

    @property
    def asked(self) -> tuple[Array, Array]:
        """The inputs and targets of the held-out samples; all samples if there are none."""
        return (self.test_x, self.test_y) if len(self.test_x) else (self.x, self.y)

    @property
    def counted(self) -> bool:
        """True if the targets are class numbers."""
        return self.y.dtype.kind in "biu" and self.y[0].size == 1

    def split(self, held: float) -> Samples:
        """Return the samples with a held-out share; unchanged if the data have their own test samples."""
        if len(self.test_x):
            return self
        order = rng.permute(np.arange(len(self.x)), len(self.x), SPLIT_SEED, 0)
        test, train = np.split(order, [min(round(held * len(self.x)), len(self.x) - 1)])
        return Samples(self.x[train], self.y[train], self.x[test], self.y[test], self.names)


def read_samples(path: Path, shape: Shape) -> Samples:
    """Read a set of samples, in the order of the file.

    Parameters
    ----------
    path : Path
        A .npz file with arrays ``x`` and ``y`` (and ``x_test``, ``y_test``), or a folder.
    shape : tuple of int
        The shape of one sample of the network: pictures must have it, flat rows of the same size are reshaped to it.

    Raises
    ------
    InputError, FileFormatError
        There is no such file, it holds something else, sizes do not fit, or numbers are not finite.
    """
    if path.is_dir():
        x, y, names = _folder(path, shape)
        return Samples(x, y, x[:0], y[:0], names)
    arrays = _arrays(path)
    for name, array in arrays.items():
        as_samples(array, f"{path}: {name}")
    x, y = _shaped(arrays["x"], shape, path), arrays["y"]
    _check_length(path, x, y)
    if "x_test" in arrays:
        test = _shaped(arrays["x_test"], shape, path), arrays["y_test"]
        _check_length(path, *test)
        if test[1][0].size != y[0].size:
            raise InputError(
                f"{path}: a sample has the shape {test[1].shape[1:]} in y_test but {y.shape[1:]} in y; give both the "
                "same shape"
            )
        return Samples(x, y, *test)
    return Samples(x, y, x[:0], y[:0])


def shape_in(path: Path, known: Sequence[int | str | None] | None) -> Shape:
    """Return the shape of one sample, for networks whose file leaves it open; `known` includes the batch dimension.

    Pictures have as many channels as the network takes, else 3.
    """
    if not path.is_dir():
        return _arrays(path)["x"].shape[1:]
    _, files = _pictures(path)
    channels = known[-3] if known is not None and len(known) > 2 else None
    return channels if isinstance(channels, int) else 3, *load_picture(files[0][1]).rgb.shape[:2]


def _arrays(path: Path) -> dict[str, Array]:
    found = read_arrays(path, ARRAYS, ARRAYS[:2], "data set")
    missing = [name for name in ARRAYS[2:] if name not in found]
    if len(missing) == 1:
        raise FileFormatError(f"{path} has no array {missing[0]}; test data need both x_test and y_test")
    wrong = [name for name, array in found.items() if not array.ndim or not array.size]
    if wrong:
        raise FileFormatError(f"{path}: {wrong[0]} must be a non-empty array of samples, each of numbers")
    return found


def _shaped(x: Array, shape: Shape, path: Path) -> Array:
    """Return the inputs in the network's input shape."""
    if x.shape[1:] == shape:
        return x
    if x[0].size != int(np.prod(shape)) or x.ndim > 2:
        raise InputError(f"{path}: a sample of x has the shape {x.shape[1:]}, the network takes {shape}")
    return x.reshape(len(x), *shape)


def _check_length(path: Path, x: Array, y: Array) -> None:
    if len(x) != len(y):
        raise FileFormatError(f"{path}: x and y need the same number of samples, got {len(x):,} and {len(y):,}")


def _folder(path: Path, shape: Shape) -> tuple[Array, Array, tuple[str, ...]]:
    """Return the pictures of all classes, channels first, in 0..1."""
    if len(shape) != 3 or shape[0] not in (1, 3):
        raise InputError(
            f"{path} is a folder of pictures; the network takes samples of the shape {shape}, not 1 x H x W or 3 x H "
            "x W"
        )
    classes, files = _pictures(path)
    x = np.empty((len(files), *shape), np.float32)
    for place, (_, file) in enumerate(files):
        x[place] = _pixels(file, shape)
    return x, np.array([k for k, _ in files]), tuple(each.name for each in classes)


def _pictures(path: Path) -> tuple[list[Path], list[tuple[int, Path]]]:
    """Return the class folders, and each picture with its class number."""
    try:
        classes = sorted(each for each in path.iterdir() if each.is_dir() and not each.name.startswith("."))
        files = [(k, file) for k, each in enumerate(classes) for file in sorted(each.iterdir()) if _shown(file)]
    except OSError as error:
        raise unreadable(path, error) from None
    if len(classes) < 2 or not files:
        raise InputError(
            f"{path} must have a folder for each class with pictures in it, such as {path}/cats and {path}/dogs"
        )
    empty = [each for k, each in enumerate(classes) if k not in {number for number, _ in files}]
    if empty:
        raise InputError(f"{empty[0]} has no pictures; each folder in {path} is a class: add some, or remove it")
    return classes, files


def _shown(file: Path) -> bool:
    """Return whether a file is a picture of the user; hidden files and files of the system are skipped.

    Raises
    ------
    InputError
        It is a folder, or is not a regular file.
    """
    if file.name.startswith(".") or file.name.lower() in SYSTEMS_OWN:
        return False
    if not file.is_file():
        raise InputError(f"{file} is not a file; the folder of a class may hold only pictures")
    return True


def _pixels(file: Path, shape: Shape) -> Array:
    try:
        rgb = load_picture(file).rgb
    except ScalarvizError as error:
        raise type(error)(f"{error}; the file is in a folder of training pictures") from None
    if rgb.shape[:2] != shape[1:]:
        raise InputError(
            f"{file} has {rgb.shape[1]} x {rgb.shape[0]} pixels, the network takes {shape[2]} x {shape[1]}; resize "
            "all pictures first"
        )
    return (rgb @ GREY)[None] if shape[0] == 1 else np.moveaxis(rgb, -1, 0)


# ---- Arrays from a .npz file. It may come from anyone, so its entries are not trusted.


def read_arrays(path: StrPath, names: Sequence[str], needed: Sequence[str], what: str) -> dict[str, Array]:
    """Return the arrays among `names` that the file has, as real numbers; `needed` are required.

    `what` names the file in messages, as ``"data set"``. InputError: the file does not exist, cannot be read, or needs
    too much memory. FileFormatError: it is no ``.npz`` file, is damaged, or holds something else.
    """
    source = check_source(path, what)
    said = path_text(path)
    try:
        with source.open("rb") as file:
            return _read(file, said, names, needed)
    except (FileFormatError, InputError):
        raise
    except MemoryError:
        raise InputError(f"{said} states a size that exceeds the free memory") from None
    except Exception as error:  # NumPy, zip and the decompressors raise many kinds for foreign bytes
        if of_disk(error):
            raise unreadable(path, error) from None
        raise FileFormatError(f"{said} is not a .npz file of numbers, or is damaged; {HOW}") from None


def _read(file: Any, said: str, names: Sequence[str], needed: Sequence[str]) -> dict[str, Array]:
    with zipfile.ZipFile(file) as archive:
        sizes = {part.filename: part.file_size for part in archive.infolist()}
        if len(sizes) < len(archive.infolist()):
            raise FileFormatError(f"{said} holds two arrays with the same name; {HOW}")
        there = [name.removesuffix(ENDING) for name in sizes]
        missing = [name for name in needed if name not in there]
        if missing:
            raise FileFormatError(
                f"{said} has no array {listing(missing)}; found: {listing(map(_plain, there[:8])) or 'no array'}; {HOW}"
            )
        found = [name for name in names if f"{name}{ENDING}" in sizes]
        check_memory(2 * sum(sizes[f"{name}{ENDING}"] for name in found), said, "close other programs")
        return {name: _array(archive, name, said) for name in found}


def _array(archive: zipfile.ZipFile, name: str, said: str) -> Array:
    with archive.open(f"{name}{ENDING}") as part:
        array: Array = np.lib.format.read_array(part, allow_pickle=False)
    if array.dtype.kind not in "biuf":
        raise FileFormatError(f"{said}: array {name} must hold real numbers, got {shown(array.dtype)}; {HOW}")
    return array


def _plain(name: str) -> str:
    """Return an identifier unchanged, another name quoted."""
    return name if name.isidentifier() and len(name) < 60 else shown(name)
