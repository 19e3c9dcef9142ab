"""Functions of an expression: those of the operations table by name, and a few of whole arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...engine.arrays.rows import numpy_form
from ...scalar import ops

Array = NDArray[Any]
Kind = Literal["number", "truth"]
"""What a part of an expression is: numbers (float64) or truths (bool), one or an array of them."""


@dataclass(frozen=True, slots=True)
class Function:
    """Something that takes arrays and gives one.

    Attributes
    ----------
    name : str
    least, most : int
        How many it takes.
    compute : callable
        From that many arrays to one. Operands are float64 where it `takes` numbers, else bool.
    takes, gives : {"number", "truth"}
    reduces : bool
        Whether one number comes out of an array, when it is given one operand.
    """

    name: str
    least: int
    most: int
    compute: Callable[..., Array]
    takes: Kind = "number"
    gives: Kind = "number"
    reduces: bool = False


MANY = 1000
"""What a function without a limit of its own takes at most."""


def _largest(*arrays: Array) -> Array:
    if len(arrays) > 1:
        return reduce(np.maximum, arrays)
    return np.asarray(arrays[0].max() if arrays[0].size else np.nan)


def _smallest(*arrays: Array) -> Array:
    if len(arrays) > 1:
        return reduce(np.minimum, arrays)
    return np.asarray(arrays[0].min() if arrays[0].size else np.nan)


def _norm(x: Array) -> Array:
    """The root of the sum of squares, which overflows only where it is too large itself."""
    top = np.abs(x).max() if x.size else np.float64(0)
    if top == 0 or not np.isfinite(top):
        return np.asarray(top)
    return np.asarray(top * np.sqrt(np.sum(np.square(x / top))))


def _mean(x: Array) -> Array:
    return np.asarray(np.float64(x.sum()) / np.float64(x.size))


OWN = {
    function.name: function
    for function in (
        Function("max", 1, MANY, _largest, reduces=True),
        Function("min", 1, MANY, _smallest, reduces=True),
        Function("norm", 1, 1, _norm, reduces=True),
        Function("sum", 1, 1, lambda x: np.asarray(x.sum()), reduces=True),
        Function("mean", 1, 1, _mean, reduces=True),
        Function("any", 1, 1, lambda x: np.asarray(x.any()), "truth", "truth", reduces=True),
        Function("all", 1, 1, lambda x: np.asarray(x.all()), "truth", "truth", reduces=True),
        Function("sign", 1, 1, np.sign),
        Function("nan", 1, 1, lambda x: ~np.isfinite(x), gives="truth"),
    )
}
"""Those that are no operations of a graph: of arrays, and of signs."""


def function(name: str) -> Function | None:
    """The function of that name, or None; an operation that was registered later is found too."""
    if name in OWN:
        return OWN[name]
    if name not in ops.TABLE:
        return None
    count = len(ops.TABLE[name].args)
    return Function(name, count, count, numpy_form(name, np.dtype(np.float64))[0])


OF_GRAPHS = ("max", "min")
"""Those of :data:`OWN` that are functions of Values as well."""


def names(*, of_graphs: bool = False) -> list[str]:
    """All of them, for messages and help; or those that have derivatives."""
    return [*(OF_GRAPHS if of_graphs else OWN), *(name for name in ops.TABLE if name not in OWN)]


_COMPARE: Sequence[tuple[str, Any]] = (
    ("<", np.less), ("<=", np.less_equal), (">", np.greater), (">=", np.greater_equal), ("==", np.equal),
    ("!=", np.not_equal),
)  # fmt: skip
_ARITHMETIC = (("+", "add"), ("-", "sub"), ("*", "mul"), ("/", "div"), ("**", "pow"))


def _operators() -> dict[str, Function]:
    found = {sign: Function(sign, 2, 2, compute, gives="truth") for sign, compute in _COMPARE}
    for sign, name in _ARITHMETIC:
        found[sign] = Function(sign, 2, 2, numpy_form(name, np.dtype(np.float64))[0])
    found["and"] = Function("and", 2, 2, np.logical_and, "truth", "truth")
    found["or"] = Function("or", 2, 2, np.logical_or, "truth", "truth")
    found["not"] = Function("not", 1, 1, np.logical_not, "truth", "truth")
    found["negative"] = Function("-", 1, 1, numpy_form("neg", np.dtype(np.float64))[0])
    return found


def crossed(a: Array, b: Array, a_before: Array, b_before: Array) -> Array:
    """Where `a` was on one side of `b` and is now on it or on the other side."""
    up = (a_before < b_before) & (a >= b)
    down = (a_before > b_before) & (a <= b)
    return np.asarray(up | down)


def changed(now: Array, before: Array) -> Array:
    """Where two arrays differ; NaN is not another number than NaN."""
    return np.asarray((now != before) & ~((now != now) & (before != before)))


OPERATORS = _operators() | {
    "crosses": Function("crosses", 4, 4, crossed, gives="truth"),
    "changes": Function("changes", 2, 2, changed, gives="truth"),
}
