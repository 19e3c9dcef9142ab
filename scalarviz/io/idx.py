"""IDX, the file format of the MNIST digits: unsigned bytes in an array of known shape, plain or gzipped.

A file begins with two zero bytes, the number type (8: unsigned byte), the number of dimensions, and the sides as
big-endian 32-bit numbers; the rest is the array in C order. http://yann.lecun.com/exdb/mnist/ describes the format at
its end.
"""

from __future__ import annotations

import gzip
import zlib
from math import prod
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..checks import integer, text
from ..errors import FileFormatError, InputError
from .atomic import StrPath, as_path, check_source, unreadable

UBYTE = 0x08
GZIP = b"\x1f\x8b"
LARGEST = 2**31
"""The most bytes to read: the sides in a damaged file may be any numbers."""


def read_idx(path: StrPath, dimensions: int) -> NDArray[np.uint8]:
    """Read an IDX file of unsigned bytes, plain or gzipped; the content decides, not the name.

    The array must have this many `dimensions`: 3 for pictures (N, H, W), 1 for labels (N,). FileFormatError: it is no
    such file, is damaged, too short or too long.
    """
    integer("read_idx: dimensions", dimensions, 1, 255)
    source = check_source(path, "file of digits")
    try:
        with source.open("rb") as plain:
            zipped = plain.read(2) == GZIP
            plain.seek(0)
            if not zipped:
                return _array(plain, path, dimensions)
            with gzip.open(plain) as unzipped:
                return _array(unzipped, path, dimensions)
    except EOFError:
        raise FileFormatError(f"{path} is cut short: its gzip stream has no end") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise FileFormatError(f"{path} is damaged: {error}") from None
    except OSError as error:
        raise unreadable(path, error) from None


def find_idx(folder: StrPath, name: str) -> Path:
    """Return the path of ``train-images-idx3-ubyte`` in `folder`, also spelled with ``.idx3`` or ending in ``.gz``."""
    stem, _, kind = text(name, "find_idx: the name").rpartition("-idx")
    folder = as_path(folder)
    names = [f"{stem}{dash}idx{kind}{end}" for dash in "-." for end in ("", ".gz")]
    for candidate in names:
        try:
            if (path := folder / candidate).is_file():
                return path
        except OSError as error:  # such as a name that is too long
            raise unreadable(folder, error) from None
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}; give a folder with files such as {names[0]} or {names[1]}")
    raise InputError(f"{folder} has neither {names[0]} nor {names[1]}; put the file there (nothing is downloaded)")


def _array(file: BinaryIO | gzip.GzipFile, path: StrPath, dimensions: int) -> NDArray[np.uint8]:
    head = file.read(4)
    wanted = bytes([0, 0, UBYTE, dimensions])
    if head != wanted:
        raise FileFormatError(
            f"{path} is not an IDX file of unsigned bytes with {dimensions} "
            f"dimension{'s' if dimensions > 1 else ''}: it begins with {head.hex(' ') or 'nothing'}, expected "
            f"{wanted.hex(' ')}"
        )
    header = file.read(4 * dimensions)
    if len(header) < 4 * dimensions:
        raise FileFormatError(f"{path} is cut short: it ends within its header")
    shape = tuple(int(side) for side in np.frombuffer(header, ">u4"))
    size = prod(shape)
    if size == 0 or size > LARGEST:
        raise FileFormatError(f"{path} states a size of {' x '.join(map(str, shape))} bytes; allowed: 1 to {LARGEST}")
    body = file.read(size)
    if len(body) < size:
        raise FileFormatError(
            f"{path} is cut short: {' x '.join(map(str, shape))} needs {size:,} bytes, got {len(body):,}"
        )
    if file.read(1):
        raise FileFormatError(f"{path} is longer than the {size:,} bytes that its header {shape} states")
    return np.frombuffer(body, np.uint8).reshape(shape)
