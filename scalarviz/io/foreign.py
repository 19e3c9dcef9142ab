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
from .weights import DTYPES, read_header, widened

Array = NDArray[Any]

LONGEST_HEADER = 20_000_000
"""Bytes; 100,000 tensors have about half of it."""


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
                found[name] = widened(np.frombuffer(content, DTYPES[entry.kind]), entry.kind).reshape(entry.shape)
    except OSError as error:
        raise unreadable(path, error) from None
    return found
