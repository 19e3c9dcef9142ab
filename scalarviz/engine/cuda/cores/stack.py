"""`Stack`: a recorded float16 network of dense layers, and how blocks of threads divide its batch and its weights.

A block keeps all weights in its shared memory, as halves, and takes tiles of samples through forward and backward; the
blocks meet twice in a step (see ``text``). The sizes of the problem alone decide, never the GPU at hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ....scalar import ops
from ....tape import CHOOSING, Program
from ...problem import Problem
from ..halves import halves_of
from ..source import tells_by_result
from ..tiled import Join, find_joins

THREADS, WARPS = 256, 8
"""Of a block."""
MOST_BLOCKS = 128
"""No block may wait for one that has not begun, so all have to be on the GPU at once: a block for a multiprocessor."""
WIDEST = 128
"""Inputs and outputs of a layer."""
SAMPLES = (32, 64, 128)
"""Of a tile."""
SHARED = 200 << 10
"""The most bytes of shared memory."""
PADDING = 8
"""Halves behind each row in shared memory, so that eight rows lie in different banks."""
CARRIED = 96
"""The most numbers of gradients that a thread carries from tile to tile in registers."""


def sixteens(count: int) -> int:
    """Return the least multiple of 16 that is not below `count`: fragments have 16 rows and columns."""
    return -(-count // 16) * 16


@dataclass(frozen=True)
class Layer:
    """A layer as it is recorded."""

    inputs: int
    outputs: int
    weight: int  # its first parameter
    bias: int  # the first of its biases; -1 without
    op: str  # its activation; "" for none
    operand: int
    numbers: tuple[float, ...]  # the activation's other operands


@dataclass(frozen=True)
class Dense(Layer):
    """A layer in its block; places are bytes of shared memory."""

    samples: int  # of a tile
    weights_at: int
    biases_at: int
    rows_at: int  # its operands: samples times inputs
    sums_at: int  # before the activation, where it needs them: samples times outputs; then their gradients

    @property
    def high(self) -> int:
        """The outputs, padded."""
        return sixteens(self.outputs)

    @property
    def wide(self) -> int:
        """The inputs, padded."""
        return sixteens(self.inputs)

    def across(self, columns: int) -> int:
        """Return the blocks of eight columns that a warp computes together: as many as leave work for all warps."""
        rows = self.samples // 16
        return next(
            (found for found in (8, 4) if columns % (8 * found) == 0 and columns // (8 * found) * rows >= WARPS), 2
        )

    @property
    def by_result(self) -> bool:
        """True if the derivative of its activation can use the result, which the next layer reads."""
        return self.op != "" and tells_by_result(ops.get(self.op), self.operand, self.numbers)

    @property
    def across_weights(self) -> int:
        """Return the blocks of eight inputs of a gradient that a warp computes together."""
        return 4 if self.wide % 32 == 0 else 2

    @property
    def items(self) -> int:
        """The rectangles of the gradient of the weights, 16 outputs high."""
        return self.high // 16 * (self.wide // (8 * self.across_weights))

    @property
    def carried(self) -> int:
        """The numbers of its gradient in a thread."""
        return -(-self.items // WARPS) * 4 * (self.across_weights + 1)


@dataclass(frozen=True)
class Stack:
    """Layers behind one another, the mean of squared differences behind the last, and the loss scale.

    Places are bytes of shared memory; the halves of all weights and biases stand there from 0 on, as in the table that
    a step begins with.
    """

    layers: tuple[Dense, ...]
    columns: NDArray[np.int64]  # input rows: those of the first layer, then the targets
    factor: float  # of the sum of squares
    scale: int  # the parameter that is the loss scale
    samples: int  # of a tile
    batch: int
    parameters: int
    order_at: int
    sums_at: int
    shared: int

    @property
    def halves(self) -> int:
        """The halves of all weights and biases, with their padding."""
        return self.layers[0].rows_at // 2

    @property
    def tiles(self) -> int:
        """The tiles of a batch."""
        return -(-self.batch // self.samples)

    @property
    def working(self) -> int:
        """The blocks that have tiles; each has a part of the loss and of the gradient."""
        return min(self.tiles, MOST_BLOCKS)

    @property
    def blocks(self) -> int:
        """All blocks: they share the update too."""
        return min(MOST_BLOCKS, max(self.working, -(-self.parameters // 32)))

    @property
    def together(self) -> int:
        """The parameters that a block updates at a time: a power of two."""
        fitting = [count for count in (32, 64, 128) if count * self.blocks >= self.parameters]
        return min(fitting, default=THREADS)

    @property
    def carried(self) -> bool:
        """True if gradients stay in registers from tile to tile of a block."""
        return self.tiles > self.working and sum(layer.carried for layer in self.layers) <= CARRIED

    @cached_property
    def places(self) -> NDArray[np.int32]:
        """The place of each parameter among the halves; -1 if it is no layer's; shape (parameters,)."""
        found = np.full(self.parameters, -1, np.int32)
        for layer in self.layers:
            rows, width = np.arange(layer.outputs), layer.wide + PADDING
            weights = layer.weights_at // 2 + rows[:, None] * width + np.arange(layer.inputs)
            found[layer.weight : layer.weight + weights.size] = weights.ravel()
            if layer.bias >= 0:
                found[layer.bias : layer.bias + layer.outputs] = layer.biases_at // 2 + rows
        return found


def stack_of(problem: Problem) -> Stack | None:
    """Return how tensor cores train a problem; None if they cannot."""
    plan, limits = problem.plan, problem.limits
    body = plan.body
    if (
        problem.store.value.itemsize != 4
        or limits.between
        or body.has_masks
        or body.couples
        or body.tracks
        or body.outputs.size
        or body.taps
    ):
        return None
    found = halves_of(plan)
    read = None if found is None else _Reading(body, found.parameter, found.scale).run()
    if read is None:
        return None
    for samples in reversed(SAMPLES[: 1 + sum(problem.batch > MOST_BLOCKS * fewer for fewer in SAMPLES[:-1])]):
        laid = _laid(read, samples, problem.batch, plan.n_parameters)
        if laid.shared <= SHARED:
            return laid
    return None


class _Reading:
    """Reads a program as a stack; see :func:`stack_of`."""

    def __init__(self, program: Program, parameter: NDArray[np.int64], scale: int) -> None:
        self.program, self.parameter, self.scale = program, parameter, scale
        self.joins = find_joins(program, (program.loss,)).behind
        self.row_of_input = {int(row): k for k, row in enumerate(program.input_rows)}

    def run(self) -> tuple[list[Layer], NDArray[np.int64], float, int] | None:
        instructions = self.program.instructions
        if len(instructions) < 4 or [(i.kind, i.op) for i in instructions[-2:]] != [
            ("squares", ""),
            ("op", "scale_gradient"),
        ]:
            return None
        first, squares, scaled = instructions[0], instructions[-2], instructions[-1]
        is_scale = first.kind == "param" and first.count == 1 and int(first.weights[0]) == self.scale
        if not is_scale or scaled.args.ravel().tolist() != [squares.dst, first.dst]:
            return None
        layers, at, rows = [], 1, None
        while at < len(instructions) - 2:
            found = self._layer(at, rows)
            if found is None:
                return None
            layer, behind, rows = found
            layers.append(layer)
            at += 1 + behind
        targets = [self.row_of_input.get(int(row), -1) for row in squares.args[1]]
        inputs = [self.row_of_input.get(int(row), -1) for row in instructions[1].args.ravel()]
        if rows is None or not np.array_equal(squares.args[0], rows) or min(*targets, *inputs) < 0:
            return None
        mine = [range(layer.weight, layer.weight + layer.inputs * layer.outputs) for layer in layers]
        mine += [range(layer.bias, layer.bias + layer.outputs) for layer in layers if layer.bias >= 0]
        if len({*chain.from_iterable(mine)}) < sum(map(len, mine)):  # layers share parameters
            return None
        return layers, np.array([*inputs, *targets]), float(squares.numbers[0]), self.scale

    def _layer(self, at: int, rows: NDArray[np.int64] | None) -> tuple[Layer, int, NDArray[np.int64]] | None:
        """Return a layer, the number of operations behind it, and the rows of its results."""
        i = self.program.instructions[at]
        if i.kind != "layer" or at not in self.joins or (rows is not None and not np.array_equal(i.args.ravel(), rows)):
            return None
        inputs, behind = i.args.shape[1], self.joins[at]
        first, *others = behind.links
        if behind.indices != tuple(range(at + 1, at + 1 + len(behind.links))) or max(inputs, i.count) > WIDEST:
            return None
        rounded = [other.op for other in others[1:]] == ["float16"] or (len(others) == 1 and others[0].op in CHOOSING)
        if first.op != "float16" or (others and not rounded):
            return None
        weight = self._run(int(i.weights[0]), i.count * inputs)
        bias = self._run(i.bias, i.count) if i.bias >= 0 else -1
        if weight is None or bias is None:
            return None
        act = others[0] if others else Join(0, "", 0, (0.0, 0.0))
        last = self.program.instructions[behind.indices[-1]]
        layer = Layer(inputs, i.count, weight, bias, act.op, act.operand, behind.numbers)
        return layer, len(behind.links), np.arange(last.dst, last.dst + last.count)

    def _run(self, first: int, count: int) -> int | None:
        """Return the first parameter of neighbours whose halves are `count` numbers of theta from `first` on."""
        mine = self.parameter[first : first + count]
        return int(mine[0]) if mine[0] >= 0 and np.array_equal(mine, np.arange(mine[0], mine[0] + count)) else None


def _laid(read: tuple[list[Layer], NDArray[np.int64], float, int], samples: int, batch: int, parameters: int) -> Stack:
    """Return the stack with tiles of so many samples."""
    layers, columns, factor, scale = read
    at, places = 0, []
    for layer in layers:
        high, wide = sixteens(layer.outputs), sixteens(layer.inputs) + PADDING
        places.append((at, at + 2 * high * wide))
        at += 2 * high * (wide + 1)
    found = []
    for layer, (weights_at, biases_at) in zip(layers, places, strict=True):
        rows = 2 * samples * (sixteens(layer.inputs) + PADDING)
        sums = 2 * samples * (sixteens(layer.outputs) + PADDING)
        found.append(
            Dense(
                **vars(layer),
                samples=samples,
                weights_at=weights_at,
                biases_at=biases_at,
                rows_at=at,
                sums_at=at + rows,
            )
        )
        at += rows + sums
    sums_at = at + 8 * samples
    return Stack(tuple(found), columns, factor, scale, samples, batch, parameters, at, sums_at, sums_at + 8 * THREADS)
