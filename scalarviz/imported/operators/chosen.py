"""The row of a table that a computed number chooses."""

from __future__ import annotations

from math import prod
from typing import Any

from ...errors import OutOfRangeError
from ...scalar import Value, dot, functions, tracing
from ...scalar.gathered import Gathered
from ...scalar.value import as_value
from .alike import Array, bare, objects
from .sums import neighbours


def chosen_row(table: Array, index: Value) -> list[Any]:
    """The numbers of ``table[index]``, flat.

    Weights that lie side by side are read at the place itself. Of other tables every number is a sum over its column,
    with the share 1 for the row that is meant.

    Raises
    ------
    OutOfRangeError
        The number is known, and none of the rows.
    """
    rows, step = len(table), prod(table.shape[1:])
    if tracing.active() is None:
        return _known_row(table, rows, index)
    flat = bare(table).reshape(rows, step)
    row = neighbours(flat.ravel().tolist())
    if row is not None:
        return [Gathered(row.block, row.start + k, rows, step, index) for k in range(step)]
    shares = [functions.mul(_compare("ge", index, k), _compare("lt", index, k + 1)) for k in range(rows)]
    columns = bare(objects(flat)).T.tolist()
    return [dot(column, shares) for column in columns]


def _compare(name: str, index: Value, number: int) -> Value:
    return functions.function(name)(index, float(number))


def _known_row(table: Array, rows: int, index: Value) -> list[Any]:
    number = index.data
    if not (0 <= number < rows and number == int(number)):
        raise OutOfRangeError(f"there is no row {number:g} in a table of {rows}; an id is a whole number from 0")
    at = int(number)
    return [as_value(x) for x in bare(table)[at : at + 1].ravel().tolist()]
