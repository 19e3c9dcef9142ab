"""`stored_subject`: one file or two, as what a workbench shows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import FileFormatError, InputError, listing, shown
from ...io.atomic import StrPath, path_text
from ...io.readable import check_source, refuse_pickle, unreadable
from ...io.weights import entries_of, tensors_of
from ...run.panels import Histogram
from ...run.sources.recording.file import clean
from ..page.comparison import names_of
from ..shown.subject import Subject, pair_subject
from .stored_source import Stored, StoredPair


def stored_subject(paths: Sequence[Path], only: Sequence[str] = ()) -> Subject:
    """The numbers of one file with their histogram, or of two with their difference.

    Parameters
    ----------
    paths : sequence of Path
        One or two.
    only : sequence of str
        Patterns of names; none: all.

    Raises
    ------
    InputError, FileFormatError
        One cannot be read, or they share no tensor, by name and shape.
    """
    if not 1 <= len(paths) <= 2:
        raise InputError(f"one file or two are shown, got {len(paths)}")
    names = names_of(paths)
    if len(set(names)) < len(paths):  # net.onnx and net.safetensors of one folder
        names = [path.name for path in paths]
    stored = [
        Stored(as_floats(by_printed_names(stored_numbers(path, only))), name)
        for path, name in zip(paths, names, strict=True)
    ]
    if len(stored) == 1:
        return Subject(stored[0], panels=(Histogram(),))
    return pair_subject(StoredPair(stored[0], stored[1], (names[0], names[1])))


# ---- `stored_numbers`: the arrays of a file, in the order in which they are shown.

Array = NDArray[Any]
Shapes = Mapping[str, tuple[int, ...]]

MOST_NUMBERS = 10_000_000
MOST_TENSORS = 1_000
LONGEST_NAME = 80
ENDINGS = (".onnx", ".safetensors")


def stored_numbers(path: StrPath, only: Sequence[str] = ()) -> dict[str, Array]:
    """The arrays of a file by name: of an ONNX file in the order of its graph, else in that of the names.

    Parameters
    ----------
    path : path
        ``.onnx`` or ``.safetensors``. Of ONNX, whole numbers in a row are left out, which are shapes and axes, and the
        single numbers of its formulas.
    only : sequence of str
        Patterns of names, as ``"layers.0.*"``; none: all of them.

    Raises
    ------
    InputError
        There is no such file, it holds nothing of that, or more than can be shown.
    FileFormatError
        It is of another kind, or damaged.
    """
    source = check_source(path, "file")
    try:
        refuse_pickle(source)
    except OSError as error:
        raise unreadable(path, error) from None
    match source.suffix.lower():
        case ".onnx":
            known = _of_graph(source)
            names = _chosen(path, {name: array.shape for name, array in known.items()}, only)
            return {name: known[name] for name in names}
        case ".safetensors":
            entries = dict(sorted(entries_of(source).items(), key=lambda item: _natural(item[0])))
            names = _chosen(path, {name: entry.shape for name, entry in entries.items()}, only)
            return tensors_of(source, entries, names)
    raise FileFormatError(f"{path_text(path)}: files that are shown end in {listing(ENDINGS)}{_elsewhere(source)}")


def _elsewhere(path: Path) -> str:
    """Which file or command shows what has another ending, if one does."""
    said = {
        ".svz": f"; a recording is shown by: scalarviz replay {path_text(path)}",
        ".csv": ", and .svs, what a sweep wrote by --results",
        ".html": "; a page is opened by a browser",
    }
    return said.get(path.suffix.lower(), "")


def _of_graph(path: Path) -> dict[str, Array]:
    """The stored tensors of an ONNX file in the order in which its sorted nodes need them."""
    from ...onnx.reading import read_graph

    graph = read_graph(path)
    needed = dict.fromkeys(name for node in graph.nodes for name in node.inputs if name in graph.constants)
    order = [*needed, *(name for name in graph.constants if name not in needed)]
    arrays = {name: array for name in order if _is_stored(array := graph.constants[name])}
    own = graph.constants.keys() - graph.fixed if not graph.noted else graph.noted.keys()
    parts = {name for name in arrays if name not in own and arrays[name].size == 1}  # of a formula, as 0.5 is
    return {name: array for name, array in arrays.items() if name not in parts or len(parts) == len(arrays)}


def _is_stored(array: Array) -> bool:
    """Whether it is numbers of a network: whole ones in a row are shapes and axes."""
    return array.dtype.kind == "f" or (array.dtype.kind in "iub" and array.ndim >= 2)


def _chosen(path: StrPath, shapes: Shapes, only: Sequence[str]) -> list[str]:
    """The names that are shown, if that is something and not too much."""
    sizes = {name: prod(shape) for name, shape in shapes.items()}
    names = [name for name, size in sizes.items() if size and (not only or _fits(name, only))]
    if not names:
        what = f"none of its names fits {listing(map(shown, only))}" if only else "it holds no numbers"
        raise InputError(f"{path_text(path)}: {what}{_some(shapes)}")
    count = sum(sizes[name] for name in names)
    if count > MOST_NUMBERS or len(names) > MOST_TENSORS:
        raise InputError(
            f"{path_text(path)} holds {count:,} numbers in {len(names):,} tensors; at most {MOST_NUMBERS:,} in "
            f"{MOST_TENSORS:,} are shown: name some, as --only '{_pattern(names)}'"
        )
    return names


def _natural(name: str) -> list[tuple[bool, int, str]]:
    """By which names are sorted: ``layers.2`` comes before ``layers.10``."""
    return [(not part.isdecimal(), int(part[:18]) if part.isdecimal() else 0, part)
            for part in re.split(r"([0-9]+)", name)]  # fmt: skip


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _some(shapes: Shapes) -> str:
    names = list(shapes)[:5]
    return f"; it has {listing(map(shown, names))}{', ...' if len(shapes) > 5 else ''}" if names else ""


def _pattern(names: Iterable[str]) -> str:
    """A pattern that fits the first name and its neighbours."""
    first = next(iter(names))
    head, dot, _ = first.rpartition(".")
    return f"{head}.*" if dot else first


def by_printed_names(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The same arrays, by names that fit on a line; a name that another array has by then gets a number."""
    found: dict[str, Array] = {}
    for name, array in arrays.items():
        line = short = clean(name, LONGEST_NAME).strip() or "(no name)"
        number = 2
        while line in found or (line != name and line in arrays):
            line, number = f"{short} ({number})", number + 1
        found[line] = array
    return found


def as_floats(arrays: Mapping[str, Array]) -> dict[str, NDArray[np.floating]]:
    """The same numbers as float32 where that holds them, else as float64."""
    narrow = ("float32", "float16", "int8", "int16", "uint8", "uint16", "bool")
    return {name: array.astype(np.float32 if array.dtype.name in narrow else np.float64, copy=False)
            for name, array in arrays.items()}  # fmt: skip
