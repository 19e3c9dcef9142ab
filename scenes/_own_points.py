"""Points of a table of the user's own: its last column is the target, the one or two before it are the inputs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scalarviz.errors import FileFormatError, InputError, listing, shown
from scalarviz.io import CsvTable, decoded, parse_csv, read_csv
from scalarviz.io.decoded import LARGEST

from ._fingerprint import fingerprint
from ._sort import Sort
from ._units import Column, Units, standardised

Array = NDArray[np.float64]

MOST_CLASSES = 8
STANDARD_INPUT = Path("-")


@dataclass(frozen=True, eq=False)
class OwnPoints:
    """A table as points.

    Attributes
    ----------
    what : str
        The name of its file.
    inputs : ndarray, shape (N, 2)
        Standardised; where there is one input the second number is 0.
    targets : ndarray, shape (N,)
        -1 and 1; numbers of classes; or standardised numbers.
    sort : Sort
    units : Units
    notes : tuple of str
        What is to be said of it.
    """

    what: str
    inputs: Array
    targets: Array
    sort: Sort
    units: Units
    notes: tuple[str, ...] = ()

    @cached_property
    def identity(self) -> str:
        """What no other table has: its file, its numbers, the names of its columns and classes, their units."""
        made = fingerprint((self.inputs, self.targets)).hex()
        return f"{made} {(self.what, self.units, self.sort.classes)!r}"


def read_table(path: Path) -> CsvTable:
    """The table of a file; ``-`` is the standard input.

    Raises
    ------
    InputError, FileFormatError
    """
    if path != STANDARD_INPUT:
        return read_csv(path)
    if sys.stdin is None:
        raise InputError("--csv -: there is no standard input here; name a file")
    return parse_csv(decoded(sys.stdin.buffer.read(LARGEST + 1), "the standard input"), "the standard input")


def own_points(table: CsvTable, columns: Sequence[str] = ()) -> OwnPoints:
    """The points of a table.

    Parameters
    ----------
    table : CsvTable
    columns : sequence of str
        One or two inputs and the target, by their names; default: all that the table has.

    Raises
    ------
    InputError, FileFormatError
        A column is missing, there are too few or too many of them, a cell cannot be used, or there is nothing to be
        told apart.
    """
    names = tuple(columns) or table.names
    for name in names:
        table.column(name)
    if len(names) not in (2, 3) or len(set(names)) < len(names):
        raise FileFormatError(
            f"{table.what}: {len(names)} {'column' if len(names) == 1 else 'columns'} ({listing(names[:6])}); wanted "
            f"one or two inputs and the target behind them; choose them as --columns {_example(table.names)}"
        )
    *inputs, target = names
    made = [standardised(name, table.numbers(name, "; only the last column may be words")) for name in inputs]
    same = tuple(f"{name} is the same in every row" for name, (numbers, _) in zip(inputs, made, strict=True)
                 if not numbers.any())  # fmt: skip
    places = [numbers for numbers, _ in made] + [np.zeros(len(table))] * (2 - len(made))
    units = tuple(column for _, column in made)
    wanted, sort, last = _targets(table, target, curve=len(inputs) == 1)
    return OwnPoints(table.what, np.stack(places, axis=1), wanted, sort, Units(units, last), (*table.notes, *same))


def _targets(table: CsvTable, name: str, *, curve: bool) -> tuple[Array, Sort, Column]:
    if len(table) < 2:
        raise FileFormatError(f"{table.what} has one row; wanted at least two, to learn from and to hold back")
    if curve or table.are_numbers(name):
        numbers = table.numbers(name)
        different = np.unique(numbers)
        if len(different) == 1:
            raise FileFormatError(f"{table.what}: column {name!r} is {different[0]:g} in every row: nothing to learn")
        few = len(different) == 2 or (len(different) <= MOST_CLASSES and (different == different.round()).all())
        if curve or not few:
            found, column = standardised(name, numbers)
            return found, Sort(), column
        return _numbered(name, [f"{number:g}" for number in different], np.searchsorted(different, numbers))
    words = table.words(name)
    classes, places = np.unique(np.asarray(words, dtype=object), return_inverse=True)
    if len(classes) == 1:
        raise FileFormatError(f"{table.what}: every row is {shown(classes[0])}: one class cannot be told from another")
    if len(classes) > MOST_CLASSES:
        some = listing(map(str, classes[:4]))
        raise FileFormatError(
            f"{table.what}: column {name!r} has {len(classes):,} different words ({some}, ...); allowed: 2 to "
            f"{MOST_CLASSES} classes, or numbers"
        )
    return _numbered(name, [str(one) for one in classes], places)


def _numbered(name: str, classes: list[str], places: NDArray[np.integer]) -> tuple[Array, Sort, Column]:
    """Two classes are -1 and 1, more are their numbers."""
    targets = places.astype(np.float64)
    return (2 * targets - 1 if len(classes) == 2 else targets), Sort(tuple(classes)), Column(name, -1.0, 1.0)


def _example(names: tuple[str, ...]) -> str:
    return ",".join(names[-3:]) if len(names) > 3 else "x,y,kind"
