"""Pictures C x H x W as nested lists, and the windows that slide over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InputError, shown
from ..scalar.nested import shape_of
from ._parameter import fits

Pair = tuple[int, int]
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


def brief(sides: Pair) -> str:
    """PyTorch's way to print a pair that was made from one number."""
    return str(sides[0]) if sides[0] == sides[1] else str(sides)


def picture(x: Any, title: str, channels: int | None = None) -> tuple[int, int, int]:
    """The shape C x H x W of `x`.

    Raises
    ------
    InputError
        It is no picture, or one of another number of channels; names both shapes.
    """
    shape = shape_of(x, f"{title}: the input")
    if len(shape) != 3 or 0 in shape or channels not in (None, shape[0]):
        wanted = f"({'C' if channels is None else channels}, H, W)"
        hint = "; put nn.Unflatten((C, H, W)) before it" if len(shape) == 1 else ""
        raise InputError(f"{title} takes a picture of shape {wanted}, got {shape}{hint}")
    return shape[0], shape[1], shape[2]


def positions(sides: Pair, size: Pair, stride: Pair, padding: Pair, title: str) -> tuple[range, range]:
    """Where the upper left corners of the windows stand in the padded picture: rows and columns.

    Raises
    ------
    InputError
        The window is larger than the padded picture; names both shapes.
    """
    padded = (sides[0] + 2 * padding[0], sides[1] + 2 * padding[1])
    if size[0] > padded[0] or size[1] > padded[1]:
        border = f" with its padding {padding}" if padding != (0, 0) else ""
        raise InputError(f"{title}: a window of {size} is larger than the picture{border}, {padded}")
    rows, columns = (range(0, p - s + 1, step) for p, s, step in zip(padded, size, stride, strict=True))
    fits((len(rows), len(columns), *size), title, "numbers to read")
    return rows, columns


def bordered(plane: Sequence[Sequence[Any]], padding: Pair, fill: Any) -> list[list[Any]]:
    """`plane` (H x W) with `padding` rows and columns of `fill` on every side."""
    above, aside = padding
    width = len(plane[0]) + 2 * aside
    edge = [[fill] * width for _ in range(above)]
    return [*edge, *([*[fill] * aside, *row, *[fill] * aside] for row in plane), *edge]


def windows(planes: Sequence[Sequence[Sequence[Any]]], rows: range, columns: range, size: Pair) -> list[list[Any]]:
    """What each window sees of all planes (plane, row, column), position by position in C order."""
    height, width = size
    return [
        [x for plane in planes for row in plane[top : top + height] for x in row[left : left + width]]
        for top in rows
        for left in columns
    ]
