"""A batch of samples through one recorded graph in lockstep: as many Values a node as there are samples.

For graphs in which a sample depends on the others of its batch: a model cannot be called for one of them alone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from ..scalar.dot import Dot, Row
from ..scalar.kernel import kernel
from ..scalar.largest import MAX
from ..scalar.mask import UNITS, Draws
from ..scalar.store import Block
from ..scalar.total import Total
from ..scalar.value import Value, apply
from ..tape import Node, Tape
from ..tape.totals import CODES

Lanes = list[Value]


class Lockstep:
    """Runs a tape as it was recorded, on Values.

    Parameters
    ----------
    tape : Tape
        Its blocks hold the numbers of the parameters, and get their gradients.
    """

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self._starts = list(accumulate((block.size for block in tape.blocks), initial=0))

    def rows(self, samples: Sequence[Sequence[float]], draws: Sequence[Draws]) -> list[Lanes]:
        """Every node of the tape: a Value for each sample.

        Parameters
        ----------
        samples : sequence of sequences of float
            Inputs and targets of each sample of the batch.
        draws : sequence of Draws
            What the masks of each are drawn from.
        """
        rows: list[Lanes] = []
        for node in self.tape.nodes:
            if node.code == "input":
                rows.append([Value(sample[node.index]) for sample in samples])
            elif node.code == "mask":
                rows.append([Value(_factor(node, draw)) for draw in draws])
            elif node.code == "batch_mean":
                rows.append([_mean(rows[node.args[0]])] * len(samples))
            elif not node.args and node.terms is None:
                rows.append([self._alone(node)] * len(samples))
            else:
                operands = [rows[arg] for arg in node.args]
                others = [rows[arg] for arg in node.operands()[len(node.args) :]]
                rows.append([
                    self._made(node, [row[k] for row in operands], [row[k] for row in others])
                    for k in range(len(samples))
                ])  # fmt: skip
        return rows

    def _place(self, index: int) -> tuple[Block, int]:
        """The block of a number of theta, and where it stands in it."""
        k = bisect_right(self._starts, index) - 1
        return self.tape.blocks[k], index - self._starts[k]

    def _weight(self, index: int) -> Value:
        block, at = self._place(index)
        return block.weight(at)

    def _alone(self, node: Node) -> Value:
        """A node that reads no row: the same for all samples."""
        if node.code == "const":
            return Value(node.number)
        if node.code == "param":
            return self._weight(node.index)
        if node.code == "buffer":
            return Value(self._weight(node.index).data)
        block, at = self._place(node.index)
        return Total.of(Row(block, at, int(node.number)), CODES[node.code] or "identity")

    def _made(self, node: Node, xs: Lanes, others: Lanes) -> Value:
        """A node of one sample from its operands."""
        if node.terms is not None:
            return self._dot(node, xs, others)
        if node.code == "gather":
            return self._gathered(node, xs[0].data)
        return apply(MAX if node.code == "max" else kernel(node.code), *xs)

    def _dot(self, node: Node, xs: Lanes, others: Lanes) -> Value:
        terms = node.terms
        assert terms is not None
        weights: Row | tuple[Value, ...] = tuple(others)
        if terms.kind == "const":
            weights = tuple(Value(number) for number in terms.weights)
        elif isinstance(terms.weights, range):
            block, at = self._place(terms.weights.start)
            weights = Row(block, at, len(terms.weights))
        elif terms.kind == "param":
            weights = tuple(self._weight(index) for index in terms.weights)
        return Dot.of(weights, tuple(xs), None if terms.bias is None else self._weight(terms.bias))

    def _gathered(self, node: Node, number: float) -> Value:
        table = node.table
        assert table is not None
        if not (0 <= number < table.rows and number == int(number)):
            return Value(np.nan)
        return self._weight(node.index + int(number) * table.step)


def _mean(xs: Lanes) -> Value:
    share = Value(1.0 / len(xs))
    return Dot.of((share,) * len(xs), tuple(xs), None)


def _factor(node: Node, draw: Draws) -> float:
    call, unit = divmod(node.index, UNITS)
    return float(draw.factors(call, np.array([unit]), 1, node.number, np.float64)[0, 0])
