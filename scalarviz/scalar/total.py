"""`Total`: the sum of a block's numbers, of their squares or of their absolutes, as one node.

A penalty on a million weights must not make a million objects. An engine gets it as neighbouring rows
(:mod:`scalarviz.tape.totals`), computed once a step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import TracingError
from . import ops, tracing
from .dot import Row
from .kernel import Kernel
from .value import LEFT, Value, _next_order, untracked

HOW = ("identity", "square", "abs")
"""What is summed of each number."""


def _pull(node: Total) -> None:
    block, start, stop = node.row.block, node.row.start, node.row.start + len(node.row)
    if block.store.gate is not None:
        block._own_grads()
    with np.errstate(all="ignore"):
        terms = node.grad * node.slopes()
    if node.how == "abs":
        terms = np.where(node.numbers == 0, 0.0, terms)  # as in the table: 0 times infinity is no gradient
    block.flat_grad[start:stop] += terms
    block.computed[start:stop] = 1


# The node's operation. Its expressions say what becomes of one number that is summed as it is.
TOTAL = Kernel(ops.Op("total", ("a",), "a", ("1",), r"\sum_i a_i"), pull=_pull)


class Total(Value):
    """The node ``sum(how(number))`` over a row of a block. In a recording it has no number."""

    __slots__ = ("how", "numbers", "row")

    row: Row
    how: str
    numbers: NDArray[np.float64]

    def __init__(self, row: Row, how: str) -> None:
        self.row, self.how = row, how
        self.grad = 0.0
        self._op = TOTAL
        self._parents = ()
        self._order = _next_order()
        if tracing.active() is None:
            block, start, stop = row.block, row.start, row.start + len(row)
            gate = block._gate()
            seen = block.flat_value[start:stop] if gate is None else gate.values(block._span(start, stop))
            self.numbers = seen.astype(np.float64)  # a copy: weights may move before backward
            with np.errstate(all="ignore"):
                terms = {"square": np.square, "abs": np.abs}.get(how, np.asarray)(self.numbers)
                self.data = float(terms.sum())

    @classmethod
    def of(cls, row: Row, how: str) -> Value:
        """The node, or its number alone under ``sv.no_grad``."""
        node = cls(row, how)
        return untracked(node.data) if tracing.untracking() else node

    def slopes(self) -> NDArray[np.float64]:
        """The derivative by each number."""
        if self.how == "square":
            return 2.0 * self.numbers
        return np.sign(self.numbers) if self.how == "abs" else np.ones(len(self.row))

    @property
    def parents(self) -> tuple[Value, ...]:
        """The weights."""
        return tuple(self.row.weights())

    @property
    def local_gradients(self) -> tuple[float, ...]:
        """The derivative by each of the weights."""
        self.data  # noqa: B018  (raises in a recording)
        return tuple(self.slopes().tolist())

    def __getattr__(self, name: str) -> Any:
        if name == "data":  # a slot that was never filled: the node was made while recording
            tracing.forbid(".data")
            raise TracingError(LEFT)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __repr__(self) -> str:
        return super().__repr__() if hasattr(self, "numbers") else "Symbol(op=total)"
