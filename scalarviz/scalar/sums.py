"""Sums as single nodes: `dot` (a weighted sum), `affine` (the sums of a layer), `Total` (penalties over a block).

A layer of 1,024 x 1,024 weights must not make a million objects. A node keeps its weights as a `Row` (block, start,
length) and its inputs as one tuple that all nodes of the layer share; a `Total` keeps a block. An engine gets a
`Total` as neighbouring rows (:mod:`scalarviz.tape.program`), computed once a step.

The sums of one layer read the same inputs. So one product of a matrix and a vector computes all numbers, and another
all gradients. For that a `Layer` node stands between the sums and the inputs in a backward walk: the sums store their
gradients in it, and it passes all of them on at once. Users see only the sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul
from typing import Any, ClassVar, SupportsFloat

import numpy as np
from numpy.typing import NDArray

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


# The operation of the node. Its expressions describe one term; this module sums the terms.
DOT = Kernel(ops.Op("dot", ("w", "x"), "w * x", ("x", "w"), r"\sum_i w_i x_i + b"), pull=_pull)


class Row:
    """A view of `length` neighbouring parameters of a block, from flat index `start` on, without objects."""

    __slots__ = ("block", "length", "start")

    def __init__(self, block: Block, start: int, length: int) -> None:
        self.block, self.start, self.length = block, start, length

    def __len__(self) -> int:
        return self.length

    def numbers(self) -> list[float]:
        """Return the values as Python floats."""
        return self.block.values[self.start : self.start + self.length].tolist()  # type: ignore[no-any-return]

    def weights(self) -> list[Value]:
        """Return the `Weight` objects."""
        return [self.block.weight(i) for i in range(self.start, self.start + self.length)]


Inputs = Sequence[Value | SupportsFloat]
Weights = Row | Inputs
Known = Row | tuple[Value, ...]
Start = Value | Row | None
"""The bias of a sum, or None."""


class _Several(Value):
    """A node with many operands. In a recording it has no number."""

    __slots__ = ()

    _operands: ClassVar[str]
    """The slot with the operands' numbers; it stays unset in a recording."""

    @property
    def symbolic(self) -> bool:
        """True if the node was made in a recording."""
        return not hasattr(self, self._operands)

    def __getattr__(self, name: str) -> Any:
        if name == "data":
            tracing.forbid(".data")
            raise TracingError(LEFT)
        return object.__getattribute__(self, name)  # raises, perhaps with words of its own

    def __repr__(self) -> str:
        return f"Symbol(op={self.op})" if self.symbolic else super().__repr__()


class Dot(_Several):
    """The node ``sum(w * x) + b``."""

    __slots__ = ("bias", "weights", "weights_data", "xs", "xs_data")

    _operands = "xs_data"

    weights: Known
    xs: tuple[Value, ...]
    bias: Start

    def __init__(self, weights: Known, xs: tuple[Value, ...], bias: Start, xs_data: list[float] | None) -> None:
        self.weights, self.xs, self.bias = weights, xs, bias
        self.grad = 0.0
        self._op = DOT
        self._parents = xs
        self._order = _next_order()
        if xs_data is not None:
            self.xs_data = xs_data
            self.weights_data = weights.numbers() if isinstance(weights, Row) else [w.data for w in weights]
            start = -0.0 if len(weights) == 1 else 0.0  # one product alone keeps its sign: 0.0 + -0.0 is 0.0
            if bias is not None:
                start = bias.block.values[bias.start] if isinstance(bias, Row) else bias.data
            self.data = sum(map(mul, self.weights_data, xs_data), start)

    @classmethod
    def create(cls, weights: Known, xs: tuple[Value, ...], bias: Start) -> Value:
        """Return the node; in a recording without a number, under ``sv.no_grad`` the number alone."""
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
        """The derivative with respect to each parent: for a weight its input, for an input its weight, for b 1."""
        tracing.forbid(".local_gradients")
        if self.symbolic:
            raise TracingError(LEFT)
        return (*self.xs_data, *self.weights_data, *(() if self.bias is None else (1.0,)))

    def _graph_parents(self) -> Sequence[Value]:
        if isinstance(self.weights, Row) and not isinstance(self.bias, Value):
            return self.xs
        own = () if isinstance(self.weights, Row) else self.weights
        return (*self.xs, *own, *((self.bias,) if isinstance(self.bias, Value) else ()))

    _below = _graph_parents


def dot(weights: Weights, xs: Inputs, bias: Value | SupportsFloat | None = None) -> Value:
    """Return the weighted sum ``w[0]*x[0] + w[1]*x[1] + ... + bias`` as one node.

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
        raise InputError(f"dot: weights and inputs must have the same length, got {lengths[0]} and {lengths[1]}")
    ws = weights if isinstance(weights, Row) else tuple(as_value(w) for w in weights)
    values = tuple(as_value(x) for x in xs)
    return Dot.create(ws, values, None if bias is None else as_value(bias))


def _pull_total(node: Total) -> None:
    block, start, stop = node.row.block, node.row.start, node.row.start + len(node.row)
    block._own_grads()
    with np.errstate(all="ignore"):
        terms = node.grad * node.slopes()
    if node.how == "abs":
        terms = np.where(node.numbers == 0, 0.0, terms)  # as in the table: 0 times infinity is no gradient
    block.flat_grad[start:stop] += terms
    block.computed[start:stop] = 1


# The operation of the node. Its expressions describe a number that is summed unchanged.
TOTAL = Kernel(ops.Op("total", ("a",), "a", ("1",), r"\sum_i a_i"), pull=_pull_total)


class Total(_Several):
    """The node ``sum(how(number))`` over a row of a block; `how` is ``identity``, ``square`` or ``abs``."""

    _operands = "numbers"

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
            gate, span = block._gate(), block._span(start, stop)
            seen = block.store.value[span] if gate is None else gate.read_numbers("value", span)
            self.numbers = seen.astype(np.float64)  # a copy: weights may change before backward
            with np.errstate(all="ignore"):
                terms = {"square": np.square, "abs": np.abs}.get(how, np.asarray)(self.numbers)
                self.data = float(terms.sum())

    @classmethod
    def create(cls, row: Row, how: str) -> Value:
        """Return the node, or its number alone under ``sv.no_grad``."""
        node = cls(row, how)
        return untracked(node.data) if tracing.untracking() else node

    def slopes(self) -> NDArray[np.float64]:
        """Return the derivative with respect to each number."""
        if self.how == "square":
            return 2.0 * self.numbers
        return np.sign(self.numbers) if self.how == "abs" else np.ones(len(self.row))

    @property
    def parents(self) -> tuple[Value, ...]:
        """The weights."""
        return tuple(self.row.weights())

    @property
    def local_gradients(self) -> tuple[float, ...]:
        """The derivative with respect to each of the weights."""
        self.data  # noqa: B018  (raises in a recording)
        return tuple(self.slopes().tolist())


SMALL = 24  # weights; with fewer, single sums are faster than NumPy's calls


class Layer(Value):
    """The shared part of the sums of one layer. Users never see it as an operand."""

    __slots__ = ("bias", "first", "matrix", "reached", "rows", "upstreams", "weight", "xs", "xs_data")

    def __init__(
        self, weight: Block, bias: Block | None, xs: tuple[Value, ...], matrix: NDArray[np.float64], first: int
    ) -> None:
        self.weight, self.rows, self.bias, self.xs, self.matrix = weight, len(matrix), bias, xs, matrix
        self.first = first  # first row of its weights (and biases) in the block
        self.xs_data: NDArray[np.float64] = np.array([x.data for x in xs])
        self.upstreams: list[float] = []
        self.reached: list[int] = []
        self.grad = 0.0
        self._op = LAYER
        self._parents = xs
        self._order = _next_order()

    def sums(self) -> list[Value]:
        """Return the nodes of the layer."""
        with np.errstate(all="ignore"):
            # a sum of one product from 0.0 on would lose the sign of -0.0
            numbers = (np.multiply if len(self.xs) == 1 else np.matmul)(self.matrix, self.xs_data).ravel()
            if self.bias is not None:
                numbers += self.bias.flat_value[self.first : self.first + self.rows]
        nodes: list[Value] = []
        for row, number in enumerate(numbers.tolist()):
            node = _new(Sum)
            node.data = number
            node.grad = 0.0
            node._op = SUM
            node._parents = self.xs
            node._order = _next_order()
            node.layer, node.row = self, row
            nodes.append(node)
        return nodes

    def _below(self) -> Sequence[Value]:
        self.upstreams, self.reached = [], []
        return self.xs


class Sum(Dot):
    """One sum of a `Layer`."""

    __slots__ = ("layer", "row")

    layer: Layer
    row: int

    @property
    def weights(self) -> Row:  # type: ignore[override]
        """The row of the layer's weights that this sum uses."""
        columns = len(self.layer.xs)
        return Row(self.layer.weight, (self.layer.first + self.row) * columns, columns)

    @property
    def weights_data(self) -> list[float]:  # type: ignore[override]
        """The weights of the forward pass."""
        return self.layer.matrix[self.row].tolist()  # type: ignore[no-any-return]

    @property
    def xs_data(self) -> list[float]:  # type: ignore[override]
        """The inputs of the forward pass."""
        return self.layer.xs_data.tolist()  # type: ignore[no-any-return]

    @property
    def xs(self) -> tuple[Value, ...]:  # type: ignore[override]
        """The layer's inputs."""
        return self.layer.xs

    @property
    def bias(self) -> Row | None:  # type: ignore[override]
        """The element of the layer's biases that this sum uses."""
        return None if self.layer.bias is None else Row(self.layer.bias, self.layer.first + self.row, 1)

    def _below(self) -> Sequence[Value]:
        return (self.layer,)


def _pull_sum(node: Sum) -> None:
    layer = node.layer
    layer.upstreams.append(node.grad)
    layer.reached.append(node.row)


def _pull_layer(layer: Layer) -> None:
    upstream = np.array(layer.upstreams)
    # Skip sums that the result does not depend on: 0 * inf would be NaN. Rows come youngest first.
    rows: Any = slice(None, None, -1) if len(layer.reached) == layer.rows else np.array(layer.reached)
    weight, bias, columns = layer.weight, layer.bias, len(layer.xs)
    own = slice(layer.first, layer.first + layer.rows)
    with np.errstate(all="ignore"):
        weight.flat_grad.reshape(-1, columns)[own][rows] += upstream[:, None] * layer.xs_data
        weight.computed.reshape(-1, columns)[own][rows] = 1
        if bias is not None:
            bias.flat_grad[own][rows] += upstream
            bias.computed[own][rows] = 1
        terms = (upstream @ layer.matrix[rows]).tolist()
    for x, term in zip(layer.xs, terms, strict=True):
        x.grad += term


_new = Sum.__new__
SUM = Kernel(DOT.entry, pull=_pull_sum)
LAYER = Kernel(ops.Op("layer", ("w", "x"), "w * x", ("x", "w")), pull=_pull_layer)


def affine(weight: Block, rows: int, bias: Block | None, xs: Inputs) -> list[Value]:
    """Return the outputs of a linear layer: one `Dot` for each row of `weight` (C order, ``rows x len(xs)``)."""
    return affine_each(weight, rows, bias, [xs])[0]


def affine_each(weight: Block, rows: int, bias: Block | None, patches: Sequence[Inputs]) -> list[list[Value]]:
    """Return `affine` of several inputs with the same weights, as in a convolution: a list of sums for each input."""
    columns = weight.size // max(rows, 1)
    for xs in patches:
        if rows * len(xs) != weight.size:
            raise InputError(f"{rows} x {columns} weights need a row of {columns} inputs, got {len(xs)}")
    return affine_span(weight, range(rows), columns, bias, patches)


def affine_span(
    weight: Block, rows: range, columns: int, bias: Block | None, patches: Sequence[Inputs]
) -> list[list[Value]]:
    """Return `affine_each` for neighbouring rows of a layer, as in a grouped convolution: a layer for each group.

    `weight` and `bias` hold all rows of the layer; each row has `columns` weights.
    """
    given = [tuple([as_value(x) for x in xs]) for xs in patches]
    found: list[list[Value]]
    symbolic = tracing.active() is not None
    if not symbolic and len(rows) * columns >= SMALL and len(rows) > 2:
        # a copy: backward needs the values of the forward pass, and weights may change in between
        own = weight.flat_value[rows.start * columns : rows.stop * columns]
        matrix: NDArray[np.float64] = own.reshape(len(rows), columns).astype(np.float64)
        found = [Layer(weight, bias, xs, matrix, rows.start).sums() for xs in given]
    else:
        spans = [(Row(weight, r * columns, columns), None if bias is None else Row(bias, r, 1)) for r in rows]
        numbers = [None if symbolic else [x.data for x in xs] for xs in given]
        found = [[Dot(span, xs, b, data) for span, b in spans] for xs, data in zip(given, numbers, strict=True)]
    return [[untracked(v.data) for v in sums] for sums in found] if tracing.untracking() else found
