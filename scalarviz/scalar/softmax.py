"""`softmax`: shares that add up to 1, without overflow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import SupportsFloat

from .functions import _values, sum
from .kernel import kernel
from .value import Value, apply, apply_each

_EXP, _SUB, _HELD_MAX = kernel("exp"), kernel("sub"), kernel("held_max")


def softmax(xs: Iterable[Value | SupportsFloat]) -> list[Value]:
    """``exp(x) / sum(exp(xs))`` of each of `xs`: shares that add up to 1.

    Parameters
    ----------
    xs : sequence of Value or float

    Returns
    -------
    list of Value
        As many as `xs`.

    Raises
    ------
    InputError
        `xs` is empty.
    TypeMismatchError
        `xs` is no sequence of Values and numbers.

    Examples
    --------
    >>> [p.data for p in softmax([1000.0, 1000.0])]
    [0.5, 0.5]
    """
    exponentials = apply_each(_EXP, shifted(_values("softmax", xs)))
    factor = 1.0 / sum(exponentials)
    return [e * factor for e in exponentials]


def shifted(row: list[Value]) -> list[Value]:
    """The numbers minus the largest one, which is found in pairs: log2(n) levels instead of n.

    The shift cancels from what is made of them, so no gradient goes through it (operation ``held_max``).
    """
    level = row
    while len(level) > 1:
        paired = [apply(_HELD_MAX, a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = paired if len(level) % 2 == 0 else [*paired, level[-1]]
    return [apply(_SUB, x, level[0]) for x in row]
