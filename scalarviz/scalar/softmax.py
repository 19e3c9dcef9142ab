"""`softmax`: shares that add up to 1, and their logarithms, without overflow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, SupportsFloat

from .functions import _values, log, sum
from .kernel import kernel
from .many import Many
from .value import Value, apply, apply_each

_EXP, _SUB, _HELD_MAX = kernel("exp"), kernel("sub"), kernel("held_max")


def softmax(xs: Iterable[Value | SupportsFloat], dim: int | None = None) -> Any:
    """``exp(x) / sum(exp(xs))`` of each of `xs`: shares that add up to 1.

    Parameters
    ----------
    xs : sequence of Value or float
    dim : int, optional
        For an array of Values: along which dimension; one of several dimensions has to say it.

    Returns
    -------
    list of Value
        As many as `xs`; of an array with `dim` an array of its shape.

    Raises
    ------
    InputError
        `xs` is empty; or it has not that dimension.
    TypeMismatchError
        `xs` is no sequence of Values and numbers.

    Examples
    --------
    >>> [p.data for p in softmax([1000.0, 1000.0])]
    [0.5, 0.5]
    """
    if isinstance(xs, Many) and (dim is not None or getattr(xs, "ndim", 1) > 1):
        return xs.softmax(dim)  # type: ignore[attr-defined]
    exponentials = apply_each(_EXP, shifted(_values("softmax", xs)))
    factor = 1.0 / sum(exponentials)
    return [e * factor for e in exponentials]


def log_softmax(xs: Iterable[Value | SupportsFloat], dim: int | None = None) -> Any:
    """The logarithms of :func:`softmax`, ``x - log(sum(exp(xs)))``; see there.

    Examples
    --------
    >>> [round(p.data, 4) for p in log_softmax([1000.0, 1000.0])]
    [-0.6931, -0.6931]
    """
    if isinstance(xs, Many) and (dim is not None or getattr(xs, "ndim", 1) > 1):
        return xs.log_softmax(dim)  # type: ignore[attr-defined]
    differences, total = parted(_values("log_softmax", xs))
    return [difference - total for difference in differences]


def parted(row: list[Value]) -> tuple[list[Value], Value]:
    """The numbers minus the largest one, and the logarithm of the sum of their exponentials."""
    differences = shifted(row)
    return differences, log(sum(apply_each(_EXP, differences)))


def shifted(row: list[Value]) -> list[Value]:
    """The numbers minus the largest one, which is found in pairs: log2(n) levels instead of n.

    The shift cancels from what is made of them, so no gradient goes through it (operation ``held_max``).
    """
    level = row
    while len(level) > 1:
        paired = [apply(_HELD_MAX, a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = paired if len(level) % 2 == 0 else [*paired, level[-1]]
    return [apply(_SUB, x, level[0]) for x in row]
