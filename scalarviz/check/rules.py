"""The rules of the table of operations from outside: what a node of one hands on, and whether it is right."""

from __future__ import annotations

from functools import cache

import numpy as np

from ..errors import ScalarvizError
from ..scalar import ops
from ..scalar.emit import PYTHON, PYTHON_NAMES, function_source
from ..scalar.functions import function
from ..scalar.kernel import define
from ..scalar.value import Value
from .guesses import Floats, Guess
from .points import Places, places

WHERE = (-2.0, 2.0), (0.1, 2.0), (-0.9, 0.9), (1.1, 3.0)
"""Ranges that are tried one after the other for an operation of which nothing else is known."""


def pulled(name: str, row: list[float], upstream: float = 1.0) -> list[float]:
    """What a node of the operation hands on to each of its operands."""
    leaves = [Value(number) for number in row]
    node = function(name)(*leaves)
    return [upstream * slope for slope in node.local_gradients]


@cache
def _sound(entry: ops.Op) -> bool:
    there = anywhere(entry.name)
    if there is None:
        return True
    found = np.array([pulled(entry.name, row) for row in there.numbers.tolist()])
    carry = [k for k, partial in enumerate(entry.partials) if partial is not None]
    return bool(np.allclose(found[:, carry], there.slopes[:, carry], rtol=1e-5, atol=1e-5))


def sound(name: str) -> bool:
    """Whether the derivatives of an operation agree with finite differences; True where nothing can be said."""
    return _sound(ops.get(name))


def anywhere(name: str, seed: int = 0) -> Places | None:
    """Points where the operation is finite, from the first of some ranges that has them."""
    for between in WHERE:
        try:
            return places(function(name), len(ops.get(name).args), between, seed, name)
        except ScalarvizError:
            continue
    return None


def result_taken_for_input(name: str, there: Places, k: int, upstream: Floats) -> list[Guess]:
    """The slope by the `k`-th operand with the operand in the place of the result: tanh with ``1 - a * a``."""
    entry = ops.get(name)
    partial = entry.partials[k]
    if partial is None or len(entry.args) != 1:
        return []
    namespace = dict(PYTHON_NAMES)
    define(f"slope of {name}", function_source("slope", (*entry.args, "y"), (partial,), PYTHON), namespace)
    columns = there.numbers[:, 0].tolist()
    found = np.array([namespace["slope"](x, x) for x in columns]) * upstream
    other = np.array([namespace["slope"](y, y) for y in there.values.tolist()]) * upstream
    return [Guess("output", found), Guess("result", other)]
