"""Read arrays from a ``.npz`` file. It may come from anyone, so its entries are not trusted."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FileFormatError, InputError, listing, shown
from ..memory import check_memory
from .atomic import StrPath, path_text
from .readable import check_source, of_disk, unreadable

Array = NDArray[Any]
HOW = "np.savez(path, x=inputs, y=targets) makes one"
ENDING = ".npy"


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
                f"{said} has no array {listing(missing)}, it has {listing(map(_plain, there[:8])) or 'none'}; {HOW}"
            )
        found = [name for name in names if f"{name}{ENDING}" in sizes]
        check_memory(2 * sum(sizes[f"{name}{ENDING}"] for name in found), said, "close other programs")
        return {name: _array(archive, name, said) for name in found}


def _array(archive: zipfile.ZipFile, name: str, said: str) -> Array:
    with archive.open(f"{name}{ENDING}") as part:
        array: Array = np.lib.format.read_array(part, allow_pickle=False)
    if array.dtype.kind not in "biuf":
        raise FileFormatError(f"{said}: {name} must hold real numbers, got {shown(array.dtype)}; {HOW}")
    return array


def _plain(name: str) -> str:
    """Return an identifier unchanged, another name quoted."""
    return name if name.isidentifier() and len(name) < 60 else shown(name)
