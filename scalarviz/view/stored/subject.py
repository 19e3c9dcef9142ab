"""`stored_subject`: one file or two, as what a workbench shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...errors import InputError
from ...run.panels import Histogram
from ..compare.comparison import names_of
from ..compare.subject import pair_subject
from ..shown.subject import Subject
from .numbers import as_floats, by_printed_names, stored_numbers
from .source import Stored, StoredPair


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
