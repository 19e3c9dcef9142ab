"""`dot`: a weighted sum as one node, over weights that may be a row of a block.

A layer of 1,024 x 1,024 weights must not make a million objects, so a node keeps its weights as a `Row` (block,
start, length) and its inputs as one tuple that all nodes of the layer share.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul
from typing import Any, SupportsFloat

from ..errors import InputError, TracingError, TypeMismatchError
from . import ops, tracing
from .kernel import Kernel
from .store import Block
from .value import LEFT, Value, _next_order, as_value, untracked


def _pull(node: Dot) -> None:
    upstream = node.grad
    for x, w in zip(node.xs, node.weights_data, strict=True):
        x.grad += upstream * w
    terms = [upstream * x for x in node.xs_data]
    if isinstance(node.weights, Row):
        node.weights.block._accumulate(node.weights.start, terms)
    else:
        for weight, term in zip(node.weights, terms, strict=True):
            weight.grad += term
    if isinstance(node.bias, Row):
        node.bias.block._accumulate(node.bias.start, [upstream])
    elif node.bias is not None:
        node.bias.grad += upstream


# The node's operation. Its expressions say what one term does; the sum over the terms is this module.
DOT = Kernel(ops.Op("dot", ("w", "x"), "w * x", ("x", "w"), r"\sum_i w_i x_i + b"), pull=_pull)


class Row:
    """`length` neighbouring parameters of a block, from flat index `start` on: a view, no objects."""

    __slots__ = ("block", "length", "start")

    def __init__(self, block: Block, start: int, length: int) -> None:
        self.block, self.start, self.length = block, start, length

    def __len__(self) -> int:
        return self.length

    def numbers(self) -> list[float]:
        """The values, as Python floats."""
        found: list[float] = self.block.values[self.start : self.start + self.length].tolist()
        return found

    def weights(self) -> list[Value]:
        """The `Weight` objects."""
        return [self.block.weight(i) for i in range(self.start, self.start + self.length)]


Weights = Row | Sequence[Value | SupportsFloat]


class Dot(Value):
    """The node ``sum(w * x) + b``. In a recording it has no number."""

    __slots__ = ("bias", "weights", "weights_data", "xs", "xs_data")

    weights: Row | tuple[Value, ...]
    xs: tuple[Value, ...]
    bias: Value | Row | None

    def __init__(
        self,
        weights: Row | tuple[Value, ...],
        xs: tuple[Value, ...],
        bias: Value | Row | None,
        xs_data: list[float] | None,
    ) -> None:
        self.weights, self.xs, self.bias = weights, xs, bias
        self.grad = 0.0
        self._op = DOT
        self._parents = xs
        self._order = _next_order()
        if xs_data is not None:
            self.xs_data = xs_data
            self.weights_data = weights.numbers() if isinstance(weights, Row) else [w.data for w in weights]
            start = 0.0
            if bias is not None:
                start = bias.block.values[bias.start] if isinstance(bias, Row) else bias.data
            self.data = sum(map(mul, self.weights_data, xs_data), start)

    @classmethod
    def of(cls, weights: Row | tuple[Value, ...], xs: tuple[Value, ...], bias: Value | Row | None) -> Value:
        """The node of these operands, with a number unless a graph is being recorded."""
        if tracing._threads and tracing.active() is not None:
            return cls(weights, xs, bias, None)
        node = cls(weights, xs, bias, [x.data for x in xs])
        return untracked(node.data) if tracing._threads and tracing.untracking() else node

    @property
    def parents(self) -> tuple[Value, ...]:
        """The weights, then the inputs, then the bias if there is one."""
        row, bias = self.weights, self.bias
        weights = row.weights() if isinstance(row, Row) else row
        return (*weights, *self.xs, *(bias.weights() if isinstance(bias, Row) else () if bias is None else (bias,)))

    @property
    def local_gradients(self) -> tuple[float, ...]:
        """The derivative by each of the `parents`: of a weight its input, of an input its weight, of the bias 1."""
        tracing.forbid(".local_gradients")
        if self.symbolic:
            raise TracingError(LEFT)
        return (*self.xs_data, *self.weights_data, *(() if self.bias is None else (1.0,)))

    @property
    def symbolic(self) -> bool:
        """Whether the node was made while recording."""
        return not hasattr(self, "xs_data")

    def __getattr__(self, name: str) -> Any:
        if name == "data":  # a slot that was never filled: the node was made while recording
            tracing.forbid(".data")
            raise TracingError(LEFT)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __repr__(self) -> str:
        return "Symbol(op=dot)" if self.symbolic else super().__repr__()

    def _graph_parents(self) -> Sequence[Value]:
        if isinstance(self.weights, Row) and not isinstance(self.bias, Value):
            return self.xs
        own = () if isinstance(self.weights, Row) else self.weights
        return (*self.xs, *own, *((self.bias,) if isinstance(self.bias, Value) else ()))

    _below = _graph_parents


def dot(weights: Weights, xs: Sequence[Value | SupportsFloat], bias: Value | SupportsFloat | None = None) -> Value:
    """The weighted sum ``w[0]*x[0] + w[1]*x[1] + ... + bias`` as one node.

    Parameters
    ----------
    weights, xs : sequences of the same length
        Values, weights or numbers.
    bias : Value or float, optional

    Returns
    -------
    Value

    Raises
    ------
    InputError
        The lengths differ.
    """
    try:
        lengths = len(weights), len(xs)
    except TypeError:
        kinds = f"{type(weights).__name__} and {type(xs).__name__}"
        raise TypeMismatchError(f"dot takes two sequences of Values and numbers, got {kinds}") from None
    if lengths[0] != lengths[1]:
        raise InputError(f"dot: {lengths[0]} weights for {lengths[1]} inputs; both must have the same length")
    ws = weights if isinstance(weights, Row) else tuple(as_value(w) for w in weights)
    values = tuple(as_value(x) for x in xs)
    return Dot.of(ws, values, None if bias is None else as_value(bias))
