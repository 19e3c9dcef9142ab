"""Panels that a function of the user's own fills: pictures, and tables of words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from ...checks import flag, function, integer, text
from ...errors import InputError, TypeMismatchError, shown
from ..moment import Moment
from .base import Panel

Rows = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True, eq=False)
class Image(Panel):
    """A picture that a function of yours makes of every moment.

    Attributes
    ----------
    title : str
    paint : callable
        ``paint(moment) -> H x W x 3``, uint8 or floats in 0..1. If it raises, the error stands in the picture's place
        in one line and everything else goes on. It is called as often as a quarter of the time allows.
    note : str
        Stands to the right of the title.
    smooth : bool
        Whether enlarged pixels flow into each other.
    """

    title: str
    paint: Callable[[Moment], ArrayLike]
    note: str = ""
    smooth: bool = False

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        text(self.title, "Image: the title")
        text(self.note, "Image: the note")
        function(self.paint, "Image: paint")
        flag(self.smooth, "Image: smooth")


@dataclass(frozen=True, slots=True, eq=False)
class Table(Panel):
    """Rows of words.

    Attributes
    ----------
    title : str
    rows : sequence of rows, or callable
        A row is a sequence of str, all of one length; or ``rows(moment)`` makes them of every moment.
    heads : tuple of str
        One over each column; empty for none.
    lines : int
        Rows for which it asks room where a function makes them, 1 to 12.
    """

    title: str
    rows: Rows | Callable[[Moment], Rows]
    heads: tuple[str, ...] = ()
    lines: int = 7

    def __post_init__(self) -> None:
        Panel.__post_init__(self)
        text(self.title, "Table: the title")
        heads: Any = self.heads
        if not isinstance(heads, tuple | list) or not all(isinstance(word, str) for word in heads):
            raise TypeMismatchError(f"Table: heads is a tuple of texts, got {shown(heads)}")
        integer("Table: lines", self.lines, 1, 12)
        if not callable(self.rows):
            as_rows(self.rows, len(self.heads))


def as_rows(given: Any, columns: int = 0) -> list[tuple[str, ...]]:
    """Checked rows of a table.

    Parameters
    ----------
    given : sequence of sequences of str
    columns : int
        Words of a row; 0: as many as the first has.

    Raises
    ------
    InputError
        Something else.
    """
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InputError(f"rows are a list of rows, got {type(given).__name__} {shown(given)}")
    rows: list[tuple[str, ...]] = []
    for number, row in enumerate(given):
        if isinstance(row, str) or not isinstance(row, Sequence) or not all(isinstance(word, str) for word in row):
            raise InputError(f"row {number} must be a list of str, got {shown(row)}")
        columns = columns or len(row)
        if len(row) != columns or not columns:
            raise InputError(f"row {number} has {len(row)} words; allowed: {columns or 1}, as the others")
        rows.append(tuple(row))
    return rows
