"""`MAX`: the largest of several Values as one node; its gradient goes to the first operand that is largest.

A chain of maxima of two would not do: where a NaN comes in, it is the largest, and all operands are to get a NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import ops
from .kernel import Kernel

if TYPE_CHECKING:
    from .value import Value


def _largest(*numbers: float) -> float:
    found = numbers[0]
    for number in numbers:
        if not found >= number:
            found = number if found < number else found + number  # a NaN
    return found


def _pull(node: Value) -> None:
    parents, upstream = node._parents, node.grad
    if node.data != node.data:
        for parent in parents:
            parent.grad += upstream * node.data
        return
    chosen = parents[0]
    for parent in parents:
        if parent.data > chosen.data:
            chosen = parent
    chosen.grad += upstream


# The node's operation. Its entry says what becomes of the operand that is chosen.
MAX = Kernel(ops.Op("max", ("a",), "a", ("1",), r"\max_i a_i"), pull=_pull, value=_largest)
