"""Pictures C x H x W as nested lists, and the windows that slide over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..checks import integer
from ..errors import InputError, shown
from ..scalar.nested import shape_of
from ._parameter import fits

Pair = tuple[int, int]
Border = tuple[Pair, Pair]
"""Of rows and of columns: how many before and behind."""
WIDEST = 1 << 16
"""Of a window, its stride and a border: so many places are looked at one by one."""


def pair(given: Any, what: str, least: int) -> Pair:
    """`given`, a whole number or two of them (rows, columns), as a pair.

    Raises
    ------
    InputError
        It is neither, or one is below `least`.
    """
    sides = tuple(given) if isinstance(given, tuple | list) else (given, given)
    whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in sides)
    if len(sides) != 2 or not whole or min(sides) < least:
        raise InputError(
            f"{what} must be a whole number >= {least} or a pair of them (rows, columns), got {shown(given)}"
        )
    if max(sides) > WIDEST:
        raise InputError(f"{what} is {shown(given)}, wider than any picture here; at most {WIDEST}")
    return int(sides[0]), int(sides[1])


def sides_of(given: Any, what: str, least: int, dimensions: int) -> tuple[int, ...]:
    """`given` as so many whole numbers, one or two.

    Raises
    ------
    InputError
        It is not, or one is below `least`.
    """
    if dimensions == 2:
        return pair(given, what, least)
    one = given[0] if isinstance(given, tuple | list) and len(given) == 1 else given
    return (integer(what, one, least, WIDEST),)


def plane_sides(sides: tuple[int, ...], other: int) -> Pair:
    """Sides of a picture; a row is one of height 1, `other` is what stands for its rows."""
    return (other, sides[0]) if len(sides) == 1 else (sides[0], sides[1])


def planes_of(x: Any, dimensions: int) -> Any:
    """Channels as planes: a row is a plane of height 1."""
    return [[channel] for channel in x] if dimensions == 1 else x


def around(padding: Pair) -> Border:
    """As many on both sides."""
    return (padding[0], padding[0]), (padding[1], padding[1])


def brief(sides: tuple[int, ...]) -> str:
    """PyTorch's way to print what was made from one number."""
    return str(sides[0]) if len(set(sides)) == 1 else str(sides)


def picture(x: Any, title: str, channels: int | None = None, dimensions: int = 2) -> Pair:
    """The sides H x W of a picture C x H x W; of a row of each channel C x L they are 1 x L.

    Raises
    ------
    InputError
        It is none, or one of another number of channels; names both shapes.
    """
    shape = shape_of(x, f"{title}: the input")
    if len(shape) != dimensions + 1 or 0 in shape or channels not in (None, shape[0]):
        kind, sides = ("picture", "H, W") if dimensions == 2 else ("sample", "L")
        hint = f"; put nn.Unflatten((C, {sides})) before it" if len(shape) == 1 else ""
        many = "C" if channels is None else channels
        raise InputError(f"{title} takes a {kind} of shape ({many}, {sides}), got {shape}{hint}")
    return plane_sides(shape[1:], 1)


def positions(
    sides: Pair, size: Pair, stride: Pair, border: Border, title: str, dilation: Pair = (1, 1)
) -> tuple[range, range]:
    """Where the upper left corners of the windows stand in the padded picture: rows and columns.

    Raises
    ------
    InputError
        The window is larger than the padded picture; names both shapes.
    """
    padded = (sides[0] + sum(border[0]), sides[1] + sum(border[1]))
    field = spread(size, dilation)
    if field[0] > padded[0] or field[1] > padded[1]:
        padding = tuple(before if before == behind else (before, behind) for before, behind in border)
        wider = f" with its padding {padding}" if padding != (0, 0) else ""
        raise InputError(f"{title}: a window of {field} is larger than the picture{wider}, {padded}")
    rows, columns = (range(0, p - s + 1, step) for p, s, step in zip(padded, field, stride, strict=True))
    fits((len(rows), len(columns), *size), title, "numbers to read")
    return rows, columns


def bordered(plane: Sequence[Sequence[Any]], border: Border, fill: Any) -> list[list[Any]]:
    """`plane` (H x W) with rows and columns of `fill` around it."""
    (above, below), (left, right) = border
    width = len(plane[0]) + left + right
    inner = [[*[fill] * left, *row, *[fill] * right] for row in plane]
    return [*([fill] * width for _ in range(above)), *inner, *([fill] * width for _ in range(below))]


def windows(
    planes: Sequence[Sequence[Sequence[Any]]], rows: range, columns: range, size: Pair, dilation: Pair = (1, 1)
) -> list[list[Any]]:
    """What each window sees of all planes (plane, row, column), position by position in C order.

    Parameters
    ----------
    planes : nested sequences, C x H x W
    rows, columns : range
        Where the windows' upper left corners stand.
    size : (int, int)
        Places of a window, down and across.
    dilation : (int, int)
        From one place to the next.
    """
    (height, width), (down, across) = size, dilation
    high, wide = (height - 1) * down + 1, (width - 1) * across + 1
    return [
        [x for plane in planes for row in plane[top : top + high : down] for x in row[left : left + wide : across]]
        for top in rows
        for left in columns
    ]


def spread(size: Pair, dilation: Pair) -> Pair:
    """Sides of the field from the first to the last place of a window."""
    return (size[0] - 1) * dilation[0] + 1, (size[1] - 1) * dilation[1] + 1
