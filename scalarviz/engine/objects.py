"""The objects engine: every sample goes through the graph of Values in plain Python. The reference for all others.

Samples that depend on each other go through one recorded graph in lockstep, with one Value per node and sample. So
does a graph that rounds its numbers to float16, because the model's own Values do not round.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from ..scalar import mask
from ..scalar.array import Values, values
from ..scalar.functions import MAX
from ..scalar.kernel import kernel
from ..scalar.mask import UNITS, Draws
from ..scalar.nested import every
from ..scalar.store import Block
from ..scalar.sums import Dot, Row, Total, dot
from ..scalar.value import Value, apply
from ..tape import Node, Tape, trace
from ..tape.program import CODES
from .arrays.trainer import PythonTrainer
from .problem import Array, Problem, check_coupled

Lanes = list[Value]


class Lockstep:
    """Runs a tape on Values; the tape's blocks hold the parameters and get their gradients."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self._starts = list(accumulate((block.size for block in tape.blocks), initial=0))

    def rows(self, samples: Sequence[Sequence[float]], draws: Sequence[Draws]) -> list[Lanes]:
        """Return the Values of every node, one per sample, from inputs and targets; `draws` gives the dropout masks."""
        rows: list[Lanes] = []
        alone: list[bool] = []  # nodes that are the same for all samples: one Value, in which gradients add up
        for node in self.tape.nodes:
            reads = node.operands()
            alone.append(node.code not in ("input", "mask", "batch_mean") and all(alone[row] for row in reads))
            if node.code == "input":
                rows.append([Value(sample[node.index]) for sample in samples])
            elif node.code == "mask":
                rows.append([Value(_factor(node, draw)) for draw in draws])
            elif node.code == "batch_mean":
                rows.append([_mean(rows[node.args[0]])] * len(samples))
            elif not node.args and node.terms is None:
                rows.append([self._shared_value(node)] * len(samples))
            else:
                operands = [rows[arg] for arg in node.args]
                others = [rows[arg] for arg in reads[len(node.args) :]]
                made = [
                    self._sample_value(node, [row[k] for row in operands], [row[k] for row in others])
                    for k in range(1 if alone[-1] else len(samples))
                ]
                rows.append(made * len(samples) if alone[-1] else made)
        return rows

    def _locate(self, index: int) -> tuple[Block, int]:
        """Return the block of a number of theta, and its index in the block."""
        k = bisect_right(self._starts, index) - 1
        return self.tape.blocks[k], index - self._starts[k]

    def _weight(self, index: int) -> Value:
        block, at = self._locate(index)
        return block.weight(at)

    def _shared_value(self, node: Node) -> Value:
        """Return the Value of a node that reads no row and is the same for all samples."""
        if node.code == "const":
            return Value(node.number)
        if node.code == "param":
            return self._weight(node.index)
        if node.code == "buffer":
            return Value(self._weight(node.index).data)
        block, at = self._locate(node.index)
        return Total.create(Row(block, at, int(node.number)), CODES[node.code] or "identity")

    def _sample_value(self, node: Node, xs: Lanes, others: Lanes) -> Value:
        """Return the Value of a node for one sample, from its operands."""
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
            block, at = self._locate(terms.weights.start)
            weights = Row(block, at, len(terms.weights))
        elif terms.kind == "param":
            weights = tuple(self._weight(index) for index in terms.weights)
        return Dot.create(weights, tuple(xs), None if terms.bias is None else self._weight(terms.bias))

    def _gathered(self, node: Node, number: float) -> Value:
        table = node.table
        assert table is not None
        if not (0 <= number < table.rows and number == int(number)):
            return Value(np.nan)
        return self._weight(node.index + int(number) * table.step)


def _mean(xs: Lanes) -> Value:
    share = Value(1.0 / len(xs))
    return Dot.create((share,) * len(xs), tuple(xs), None)


def _factor(node: Node, draw: Draws) -> float:
    call, unit = divmod(node.index, UNITS)
    return float(draw.factors(call, np.array([unit]), 1, node.number, np.float64)[0, 0])


VALUE_BYTES = 400
"""Estimated memory of a Value with its operands."""


class ObjectsTrainer(PythonTrainer):
    """Trains a `Problem` one sample at a time: Values go through `model`, then outputs and targets through `loss`."""

    name = "objects"

    def __init__(self, problem: Problem, model: Callable[[Values], Any], loss: Callable[[Any, Values], Value]) -> None:
        super().__init__(problem)
        self.model, self.loss = model, loss
        self._lockstep: Lockstep | None = None
        plan = problem.plan
        if plan.body.couples:
            check_coupled(plan.body, problem.batch, plan.body.n_rows * VALUE_BYTES)
            self._lockstep = Lockstep(trace(model, plan.n_inputs, plan.n_targets, loss=loss))
        if problem.tape is not None:
            self._lockstep = Lockstep(problem.tape)

    def gradient(self, step: int) -> float:
        """Run forward and backward for the batch of step ``step + 1``; fill ``store.grad``, return the loss."""
        problem = self.problem
        problem.store.grad[:] = 0
        scale = float(problem.scales(step, 1)[0])
        data, ids = problem.samples_of(step)
        total, penalty = 0.0, problem.limits.penalty(problem.store.value[: problem.n_weights])
        if self._lockstep is not None:
            samples = data[:] if ids is None else data[:, ids]
            return self._coupled(self._lockstep, step, samples, scale) + penalty
        for place, sample in enumerate(range(problem.batch) if ids is None else ids.tolist()):
            with mask.sample(problem.draws(step, place)):
                loss = self.sample_loss(data[:, sample].tolist())
            loss.backward(scale)
            total += loss.data
        return total * scale + penalty

    def _coupled(self, together: Lockstep, step: int, samples: Array, scale: float) -> float:
        """Run forward and backward for samples that depend on each other, one per column; return the loss."""
        tape = together.tape
        draws = [self.problem.draws(step, place) for place in range(self.problem.batch)]
        rows = together.rows(samples.T.tolist(), draws)
        assert tape.loss is not None
        losses = rows[tape.loss]
        dot([scale] * len(losses), losses).backward()
        self._stats = np.array([0.0 if track.row < 0 else rows[track.row][0].data for track in tape.tracks])
        return scale * float(sum(loss.data for loss in losses))

    def sample_loss(self, numbers: list[float]) -> Value:
        """Return the loss of one sample, with its graph; `numbers` are its inputs, targets and (unused) features."""
        n, m = self.problem.plan.n_inputs, self.problem.plan.n_targets
        row = [Value(x) for x in numbers[: n + m]]
        return every(self.loss(self.model(values(row[:n], (n,))), values(row[n:], (m,))), "the loss")[0]
