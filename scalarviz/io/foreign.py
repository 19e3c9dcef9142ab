"""Safetensors files of other programs, tensor by tensor: types that NumPy has not become float32.

`weights` reads what a network is given; this reads what is looked at, of which a part may be asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import FileFormatError
from .atomic import StrPath, path_text
from .pickled import refuse_pickle
from .readable import check_source, unreadable
from .weights import read_header

Array = NDArray[Any]

LONGEST_HEADER = 20_000_000
"""Bytes; 100,000 tensors have about half of it."""

DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "F8_E5M2": "u1", "F8_E4M3": "u1",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1",
    "BOOL": "?",
}  # fmt: skip
"""The types that are read, and what NumPy reads them as."""


class Entry(NamedTuple):
    """One tensor of a file: its type as the file calls it, its shape, and its bytes counted from the file's first."""

    kind: str
    shape: tuple[int, ...]
    start: int
    stop: int


def entries_of(path: StrPath) -> dict[str, Entry]:
    """What is in a safetensors file, in the order of its bytes; no number is read.

    Raises
    ------
    InputError
        There is no such file, or it cannot be read.
    FileFormatError
        It is no safetensors file, or one whose header lies.
    """
    from safetensors import safe_open

    source = check_source(path, "file of weights")
    try:
        refuse_pickle(source)
        header, begin = read_header(source, LONGEST_HEADER)
        with safe_open(str(source), framework="numpy"):  # checks that all bytes are somebody's, and of the right count
            pass
    except FileFormatError:
        raise
    except OSError as error:
        raise unreadable(path, error) from None
    except Exception as error:  # safetensors' own, and what a header that is none raises
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise FileFormatError(f"{path_text(path)} is no safetensors file that can be read: {reason}") from None
    found = {}
    for name, entry in header.items():
        if name != "__metadata__":
            start, stop = entry["data_offsets"]
            found[name] = Entry(entry["dtype"], tuple(entry["shape"]), begin + start, begin + stop)
    return dict(sorted(found.items(), key=lambda item: item[1].start))


def tensors_of(path: StrPath, entries: dict[str, Entry], names: Iterable[str]) -> dict[str, Array]:
    """Some tensors of a file.

    Parameters
    ----------
    path : path
    entries : dict of str to Entry
        From `entries_of`.
    names : iterable of str

    Raises
    ------
    InputError
        It cannot be read any more.
    FileFormatError
        It was shortened meanwhile, or a tensor has a type that is not read.
    """
    found = {}
    try:
        with Path(path).open("rb") as file:
            for name in names:
                entry = entries[name]
                if entry.kind not in DTYPES:
                    raise FileFormatError(
                        f"{path_text(path)}: tensor {name!r} has the type {entry.kind}; known are {', '.join(DTYPES)}"
                    )
                file.seek(entry.start)
                content = file.read(entry.stop - entry.start)
                if len(content) < entry.stop - entry.start:
                    raise FileFormatError(f"{path_text(path)} was shortened while it was read")
                found[name] = _widened(np.frombuffer(content, DTYPES[entry.kind]), entry.kind).reshape(entry.shape)
    except OSError as error:
        raise unreadable(path, error) from None
    return found


def _widened(stored: Array, kind: str) -> Array:
    """The numbers of types that NumPy has not, exactly, as float32."""
    if kind == "BF16":  # the upper half of a float32
        return (stored.astype(np.uint32) << 16).view(np.float32)
    if kind == "F8_E5M2":  # the upper half of a float16
        return (stored.astype(np.uint16) << 8).view(np.float16).astype(np.float32)
    if kind == "F8_E4M3":
        return _e4m3()[stored]
    return stored


def _e4m3() -> NDArray[np.float32]:
    """The 256 numbers of four bits of exponent and three of mantissa, which has no infinity and two NaN."""
    code = np.arange(256)
    exponent, mantissa = (code >> 3) & 15, code & 7
    size = np.where(exponent, (1 + mantissa / 8) * 2.0 ** (exponent - 7), mantissa * 2.0**-9)
    size[code & 127 == 127] = np.nan
    return np.where(code < 128, size, -size).astype(np.float32)
