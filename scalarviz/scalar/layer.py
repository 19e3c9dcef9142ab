"""`affine`: the weighted sums of a layer, each a `Dot` of its own, computed together.

The sums of one layer read the same inputs, so their numbers come from one product of a matrix and a vector, and so do
the gradients. For that a `Layer` node stands between the sums and the inputs in a backward walk: the sums leave their
gradients there, and it hands on all of them at once. To the outside a layer is its sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsFloat

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from . import ops, tracing
from .dot import DOT, Dot, Row
from .kernel import Kernel
from .store import Block
from .value import Value, _next_order, as_value, untracked

SMALL = 24  # weights; below it the sums one by one are faster than NumPy's calls


class Layer(Value):
    """What the sums of one layer share. Never an operand that a user sees."""

    __slots__ = ("bias", "first", "matrix", "reached", "rows", "upstreams", "weight", "xs", "xs_data")

    def __init__(
        self, weight: Block, bias: Block | None, xs: tuple[Value, ...], matrix: NDArray[np.float64], first: int
    ) -> None:
        self.weight, self.rows, self.bias, self.xs, self.matrix = weight, len(matrix), bias, xs, matrix
        self.first = first  # row of the block's weights (and of its biases) that its own begin with
        self.xs_data: NDArray[np.float64] = np.array([x.data for x in xs])
        self.upstreams: list[float] = []
        self.reached: list[int] = []
        self.grad = 0.0
        self._op = LAYER
        self._parents = xs
        self._order = _next_order()

    def sums(self) -> list[Value]:
        """The nodes of the layer."""
        with np.errstate(all="ignore"):
            numbers = self.matrix @ self.xs_data
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
    def symbolic(self) -> bool:
        """False: a recording takes the sums of a layer one by one."""
        return False

    @property
    def weights(self) -> Row:  # type: ignore[override]
        """Its row of the layer's weights."""
        columns = len(self.layer.xs)
        return Row(self.layer.weight, (self.layer.first + self.row) * columns, columns)

    @property
    def weights_data(self) -> list[float]:  # type: ignore[override]
        """What its weights were in the forward pass."""
        row: list[float] = self.layer.matrix[self.row].tolist()
        return row

    @property
    def xs_data(self) -> list[float]:  # type: ignore[override]
        """What the inputs were."""
        numbers: list[float] = self.layer.xs_data.tolist()
        return numbers

    @property
    def xs(self) -> tuple[Value, ...]:  # type: ignore[override]
        """The layer's inputs."""
        return self.layer.xs

    @property
    def bias(self) -> Row | None:  # type: ignore[override]
        """Its element of the layer's biases."""
        return None if self.layer.bias is None else Row(self.layer.bias, self.layer.first + self.row, 1)

    def _below(self) -> Sequence[Value]:
        return (self.layer,)


def _pull_sum(node: Sum) -> None:
    layer = node.layer
    layer.upstreams.append(node.grad)
    layer.reached.append(node.row)


def _pull_layer(layer: Layer) -> None:
    upstream = np.array(layer.upstreams)
    # Sums that the result does not depend on take no part: 0 * inf would be NaN. Rows come youngest first.
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


def affine(weight: Block, rows: int, bias: Block | None, xs: Sequence[Value | SupportsFloat]) -> list[Value]:
    """The outputs of a linear layer: one `Dot` a row of `weight` (C order, ``rows x len(xs)``).

    Raises
    ------
    InputError
        ``rows * len(xs)`` is not the number of weights.
    """
    return affine_each(weight, rows, bias, [xs])[0]


def affine_each(
    weight: Block, rows: int, bias: Block | None, patches: Sequence[Sequence[Value | SupportsFloat]]
) -> list[list[Value]]:
    """`affine` of several inputs with the same weights, as a convolution has them: a list of sums for each.

    Raises
    ------
    InputError
        ``rows`` times the length of an input is not the number of weights.
    """
    columns = weight.size // max(rows, 1)
    for xs in patches:
        if rows * len(xs) != weight.size:
            raise InputError(f"a layer of {rows} x {columns} weights got {len(xs)} inputs")
    return affine_span(weight, range(rows), columns, bias, patches)


def affine_span(
    weight: Block, rows: range, columns: int, bias: Block | None, patches: Sequence[Sequence[Value | SupportsFloat]]
) -> list[list[Value]]:
    """`affine_each` with some neighbouring rows of a layer alone, as a convolution in groups has them: a layer a group.

    Parameters
    ----------
    weight, bias : Block
        All rows of `columns` weights; the bias of each.
    rows : range
        Those that are meant, with step 1.
    columns : int
        Weights of a row, as many as each input has numbers.
    patches : sequence of inputs
    """
    given = [tuple([as_value(x) for x in xs]) for xs in patches]
    found = _sums(weight, rows, columns, bias, given)
    return [[untracked(v.data) for v in sums] for sums in found] if tracing.untracking() else found


def _sums(
    weight: Block, rows: range, columns: int, bias: Block | None, given: list[tuple[Value, ...]]
) -> list[list[Value]]:
    symbolic = tracing.active() is not None
    if not symbolic and len(rows) * columns >= SMALL and len(rows) > 2:
        # a copy: backward needs the values of the forward pass, and weights may move between the two
        own = weight.flat_value[rows.start * columns : rows.stop * columns]
        matrix: NDArray[np.float64] = own.reshape(len(rows), columns).astype(np.float64)
        return [Layer(weight, bias, xs, matrix, rows.start).sums() for xs in given]
    spans = [Row(weight, r * columns, columns) for r in rows]
    biases = [None if bias is None else Row(bias, r, 1) for r in rows]
    numbers = [None if symbolic else [x.data for x in xs] for xs in given]
    return [
        [Dot(span, xs, b, data) for span, b in zip(spans, biases, strict=True)]
        for xs, data in zip(given, numbers, strict=True)
    ]
