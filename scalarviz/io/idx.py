"""IDX, the file format of the MNIST digits: unsigned bytes in an array of known shape, plain or gzipped.

A file begins with two zero bytes, the number type (8: unsigned byte), the number of dimensions, and the sides as
big-endian 32-bit numbers; the rest is the array in C order. http://yann.lecun.com/exdb/mnist/ describes the format at
its end.
"""

from __future__ import annotations

import gzip
import zlib
from io import BufferedIOBase
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..checks import integer, text
from ..errors import FileFormatError, InputError
from .atomic import StrPath, as_path, check_source, unreadable

UBYTE = 0x08
GZIP = b"\x1f\x8b"
LARGEST = 2**31
"""Too many bytes: the sides in a damaged file may be any numbers."""


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
            return _array(gzip.GzipFile(fileobj=plain) if zipped else plain, path, dimensions)
    except EOFError:
        raise FileFormatError(f"{path} is cut short: its gzip stream has no end") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise FileFormatError(f"{path} is damaged: {error}") from None
    except OSError as error:
        raise unreadable(path, error) from None


def _array(file: BufferedIOBase, path: StrPath, dimensions: int) -> NDArray[np.uint8]:
    """Return the array, and read one byte more than the header states: a few bytes of gzip may hold many gigabytes."""
    wanted, head = bytes([0, 0, UBYTE, dimensions]), file.read(4 + 4 * dimensions)
    if head[:4] != wanted:
        raise FileFormatError(
            f"{path} is not an IDX file of unsigned bytes with {dimensions} dimension{'s' if dimensions > 1 else ''}: "
            f"the first bytes must be {wanted.hex(' ')}, got {head[:4].hex(' ') or 'an empty file'}"
        )
    if len(head) < 4 + 4 * dimensions:
        raise FileFormatError(f"{path} is cut short: it ends within its header")
    shape = np.frombuffer(head, ">u4", dimensions, 4).tolist()
    stated = f"its header states {' x '.join(map(str, shape))} = {prod(shape):,}"
    if (size := prod(shape)) >= LARGEST:
        raise FileFormatError(f"{path} is too large: {stated} numbers; allowed: less than {LARGEST:,}")
    data = file.read(size + 1)
    if len(data) != size or not size:
        count = f"more than {size:,}" if len(data) > size else f"{len(data):,}"
        raise FileFormatError(f"{path} has {count} numbers; {stated}")
    return np.frombuffer(data, np.uint8).reshape(shape)


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
