"""`Network`: a recorded model with its loss, lowered so that every stage's rows are there, and where weights are used.

A weight of a layer meets an input, so delta is the upstream gradient of the sum and x that input; a bias meets 1. A
weight that any other operation reads meets that operation's own derivative by it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.arrays.program import FEWEST_LANES, PlanRunner, RowProgram, lanes_in_workspace
from ...tape import Instruction, Program, Tape, lower
from ..core.frame import Stage
from ..core.gather import OUTPUTS

Float = NDArray[np.float64]
Rows = NDArray[np.int64]
Factor = Callable[[Float, Float], Float]


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """One place where a program reads a weight."""

    # ``"weight"`` (it multiplies a row), ``"bias"`` (it is added to one), ``"gather"`` (a number may choose
    # it: x is 1 where it does, else 0), or the name of the operation that reads it
    kind: str
    # the rows that delta belongs to; several where a layer stands at several positions; shape (positions,)
    rows: Rows
    read: Rows | None  # the rows that are x; None where x is no row
    # what meets the weight, from all rows (n_rows, lanes) and theta: shape (positions, lanes), or one that
    # broadcasts to it
    factor: Factor
    # 1, or the derivative by the weight of a number made of weights alone that is used here in its place
    through: float = 1.0

    def x(self, values: Float, theta: Float) -> Float:
        """What delta is multiplied by."""
        found = self.factor(values, theta)
        return found if self.through == 1.0 else found * self.through

    def times(self, slope: float) -> Use:
        """The same of a number whose derivative by the weight is `slope`."""
        return replace(self, through=self.through * slope)


def _of_rows(rows: Any) -> Factor:
    return lambda values, theta: values[rows]


def _one(values: Float, theta: Float) -> Float:
    return np.ones((1, 1))


def uses_in(program: RowProgram, index: int) -> Iterator[Use]:
    """Every use of parameter `index` of a program, in its order; those that no gradient comes to left out."""
    alive = program.program.needs_gradient
    for instruction in program.program.instructions:
        if not alive[instruction.dst]:
            continue
        if instruction.kind == "param":
            for place in np.flatnonzero(instruction.weights == index):
                yield from readers(program, instruction.dst + int(place))
            continue
        for use in _weights(instruction, index):
            yield _as_bias(use) if _is_one(program, use.read) else use
        yield from _biases(instruction, index)
        yield from _chosen(instruction, index)


def _is_one(program: RowProgram, read: Rows | None) -> bool:
    """Whether what a weight meets is a row of ones: then it was typed as a bias."""
    constants = program.program.constant_rows[program.program.constants == 1.0]
    return read is not None and bool(np.isin(read, constants).all())


def _as_bias(use: Use) -> Use:
    return Use("bias", use.rows, None, _one)


def _weights(i: Instruction, index: int) -> Iterator[Use]:
    """As a weight of a sum."""
    if i.kind == "dot":
        for k in np.flatnonzero(i.weights == index):
            read = i.args.ravel()[k : k + 1]
            yield Use("weight", i.dst + np.array([k // i.terms]), read, _of_rows(read))
    elif i.kind in ("layer", "conv"):
        n, first = i.args.shape[1], int(i.weights[0])
        if first <= index < first + n * len(i.weights):
            output, k = divmod(index - first, n)
            read = i.args[:, k]
            yield Use("weight", _outputs(i, output), read, _of_rows(read))


def _chosen(i: Instruction, index: int) -> Iterator[Use]:
    """As what a number may choose from a table."""
    if i.kind != "gather" or i.table is None:
        return
    ids, columns = i.args[0], len(i.weights)
    for column, first in enumerate(i.weights.tolist()):
        number, rest = divmod(index - first, i.table.step)
        if rest == 0 and 0 <= number < i.table.rows:
            rows = i.dst + np.arange(len(ids)) * columns + column
            yield Use("gather", rows, None, _where_it_is(ids, number))


def _where_it_is(ids: Rows, number: int) -> Factor:
    return lambda values, theta: (values[ids] == number).astype(np.float64)


def _outputs(i: Instruction, output: int) -> Rows:
    """The rows of one output of a layer: one, or one a position."""
    positions = len(i.args)
    return i.dst + output * positions + np.arange(positions)


def _biases(i: Instruction, index: int) -> Iterator[Use]:
    """As what is added to a sum."""
    outputs = len(i.weights) if i.kind in ("layer", "conv") else 1
    if i.bias >= 0 and i.bias <= index < i.bias + outputs:
        rows = _outputs(i, index - i.bias) if i.kind in ("layer", "conv") else np.arange(i.dst, i.dst + i.count)
        yield Use("bias", rows, None, _one)


# a weight that stands in a row of its own


def readers(program: RowProgram, row: int) -> Iterator[Use]:
    """The instructions that read `row`, a place in one after the other."""
    if row == program.program.loss:
        yield Use("loss", np.array([row]), None, _one)
    for step in program.steps:
        i = step.instruction
        if not program.program.needs_gradient[i.dst] or not i.args.size:
            continue
        for k, column in np.argwhere(i.args == row).tolist():
            use = _reading(step, i, k, column)
            if use is not None:
                yield use


def _reading(step: Any, i: Instruction, k: int, column: int) -> Use | None:
    """``args[k, column]`` as an operand; None where no gradient flows to it."""
    if i.kind == "op":
        return None if step.pulls[k] is None else _of_operation(step, i, k, column)
    if i.kind == "gather":  # a number that chooses
        return None
    if i.kind == "batch_mean":  # of a number that is the same on all lanes
        return Use("batch_mean", np.array([i.dst + column]), None, _one)
    if i.kind == "max":
        return Use("max", np.array([i.dst + k]), None, _Chosen(i, k, column))
    if i.kind == "product":
        other = i.args[1 - k, column : column + 1]
        return Use("product", i.dst + np.array([column // i.terms]), other, _of_rows(other))
    if i.kind == "squares":
        a, b, twice = int(i.args[0, column]), int(i.args[1, column]), (2.0 if k == 0 else -2.0) * float(i.numbers[0])
        return Use("squares", np.array([i.dst]), None, lambda v, theta: (twice * (v[a] - v[b]))[None])
    if i.kind == "weighted":
        number = np.full((1, 1), i.numbers[column])
        return Use("weighted", np.array([i.dst + k]), None, lambda v, theta: number)
    return _through_a_layer(i, k, column)


def _of_operation(step: Any, i: Instruction, k: int, column: int) -> Use:
    operands, row, pull = [int(a) for a in i.args[:, column]], i.dst + column, step.pulls[k]

    def partial(values: Float, theta: Float) -> Float:
        found: Float = pull(
            *[values[a : a + 1] for a in operands], values[row : row + 1], np.ones((1, values.shape[1]))
        )
        return found

    return Use(i.op, np.array([row]), None, partial)


class _Chosen:
    """1 where an operand is the largest, the first of equal ones; a NaN goes to all."""

    def __init__(self, i: Instruction, k: int, column: int) -> None:
        self.row, self.before, self.own = i.dst + k, i.args[k, :column], int(i.args[k, column])

    def __call__(self, values: Float, theta: Float) -> Float:
        found = values[self.row]
        chosen = (values[self.own] == found) & ~(values[self.before] == found).any(axis=0)
        return np.asarray(np.where(found == found, chosen, found))[None]


def _through_a_layer(i: Instruction, k: int, column: int) -> Use:
    """A row that is an input of sums: what it is multiplied by are their weights."""
    if i.kind == "dot":
        weight = int(i.weights[k * i.terms + column])
        return Use("dot", np.array([i.dst + k]), None, lambda v, theta: theta[weight : weight + 1, None])
    rows = i.dst + np.arange(len(i.weights)) * len(i.args) + k
    weights = i.weights + column
    return Use(i.kind, rows, None, lambda v, theta: theta[weights][:, None])


# numbers made of weights alone


def slopes(prologue: RowProgram, values: Float, theta: Float, index: int) -> Iterator[tuple[int, float]]:
    """Which outputs of a program of parameters depend on parameter `index`, and their derivatives by it."""
    tangent: dict[int, float] = {}
    waiting: list[int] = []

    def reached(use: Use, slope: float) -> None:
        factors = np.broadcast_to(use.factor(values, theta), (len(use.rows), 1))[:, 0]
        for row, x in zip(use.rows.tolist(), factors.tolist(), strict=True):
            if row not in tangent:
                tangent[row] = 0.0
                heappush(waiting, row)
            tangent[row] += slope * x

    with np.errstate(all="ignore"):
        for use in uses_in(prologue, index):
            reached(use, 1.0)
        while waiting:  # a row comes after all that it is made of
            row = heappop(waiting)
            for use in readers(prologue, row):
                reached(use, tangent[row])
    for number, row in enumerate(prologue.program.outputs.tolist()):
        if row in tangent:
            yield number, tangent[row]


def depending(program: RowProgram) -> NDArray[np.bool_]:
    """Which rows of a program depend on a parameter, through operands that have a derivative; shape (n_rows,)."""
    found = np.zeros(program.program.n_rows, bool)
    for step in program.steps:
        i = step.instruction
        if i.kind in ("layer", "conv", "dot", "param", "gather") or i.bias >= 0:
            made: Any = True
        elif i.kind == "op":
            made = found[i.args[[k for k, pull in enumerate(step.pulls) if pull is not None]]].any(axis=0)
        elif i.kind == "batch_mean":
            made = found[i.args[0]]
        elif i.kind == "product":
            made = found[i.args].reshape(2, i.count, -1).any(axis=(0, 2))
        else:
            made = found[i.args].any(axis=None if i.kind == "squares" else 1)
        found[i.dst : i.dst + i.count] = made
    return found


# ---- `Places`: of which stage a row of a lowered model is, and which of its outputs


INPUT, LOSS = "input", "loss"
INSIDE = -1
"""In the place of a unit: a row on the way to the stage's outputs."""


@dataclass(frozen=True, slots=True)
class Place:
    """Rows of one stage."""

    # its name, ``"input"`` for the sample (and what is made of it alone), ``"loss"`` for what follows the
    # outputs
    stage: str
    units: tuple[int, ...]  # which of its outputs each row is, -1 for a row inside the stage


class Places:
    """Looks rows up.

    `stages`: the rows that each stage is, in the order of the tape.
    """

    def __init__(self, program: Program, stages: Mapping[str, Rows]) -> None:
        self._names = [*stages, INPUT, LOSS]
        owner = np.full(program.n_rows, len(stages) + 1)
        unit = np.full(program.n_rows, INSIDE)
        known = np.zeros(program.n_rows, bool)
        owner[program.input_rows], unit[program.input_rows] = len(stages), program.input_index
        known[program.input_rows] = True
        reader = _Reader(program.instructions)
        for number, rows in enumerate(stages.values()):
            new = rows[~known[rows]]
            owner[new], unit[new] = number, np.flatnonzero(~known[rows])
            known[new] = True
            inside = reader.below(new.tolist(), known)
            owner[inside] = number
        self._owner, self._unit = owner, unit

    def of(self, rows: Iterable[int]) -> Place:
        """The place of `rows`: the stage that the first of them with a unit is of; others may be a border's zeros."""
        found = np.fromiter(rows, np.int64)
        units = np.flatnonzero(self._unit[found] != INSIDE)
        owner = self._owner[found]
        stage = int(owner[units[0] if len(units) else 0])
        return Place(self._names[stage], tuple(np.where(owner == stage, self._unit[found], INSIDE).tolist()))


class _Reader:
    """Which rows a row is made of."""

    def __init__(self, instructions: Sequence[Instruction]) -> None:
        self.instructions = instructions
        self.first = np.array([i.dst for i in instructions])

    def below(self, rows: list[int], known: NDArray[np.bool_]) -> list[int]:
        """The rows that `rows` are made of and that are not known yet; from now on they are."""
        found: list[int] = []
        seen: set[tuple[int, int]] = set()  # the rows of a layer share their operands
        stack = list(rows)
        while stack:
            row = stack.pop()
            number = int(np.searchsorted(self.first, row, "right")) - 1
            i = self.instructions[number] if number >= 0 else None
            if i is None or row >= i.dst + i.count:
                continue  # a constant or an input
            part, operands = _operands(i, row - i.dst)
            if (number, part) in seen:
                continue
            seen.add((number, part))
            fresh = np.unique(operands[~known[operands]])
            known[fresh] = True
            found += fresh.tolist()
            stack += fresh.tolist()
        return found


def _operands(i: Instruction, offset: int) -> tuple[int, Rows]:
    """What a result row of an instruction is made of, and which part of the instruction's operands that is."""
    if i.kind in ("op", "batch_mean"):
        return offset, i.args[:, offset]
    if i.kind in ("max", "dot", "weighted"):
        return offset, i.args[offset]
    if i.kind == "product":
        return offset, i.args[:, offset * i.terms : (offset + 1) * i.terms].ravel()
    if i.kind == "gather":
        number = offset // len(i.weights)
        return number, i.args[0, number : number + 1]
    if i.kind == "conv":
        position = offset % len(i.args)
        return position, i.args[position]
    return 0, i.args.ravel()


# ---- `Network`: a recorded model with its loss, lowered so that every stage's rows are there, in float64


BLOCK_BYTES = 4 << 20
"""Rows and adjoints of the samples that go through together: about what a processor has close by."""


class Network:
    """Programs of one model, made once for all steps that are opened.

    `tape`: as recorded: model and loss of one sample. `stages`: with the number of each one's tap. `kernel`:
    gives the runner of the run's own plan in its own dtype.
    """

    def __init__(self, tape: Tape, stages: Sequence[tuple[Stage, int]], kernel: Callable[[], PlanRunner]) -> None:
        self.tape, self._kernel = tape, kernel
        self._encoders: dict[np.dtype[Any], PlanRunner] = {}
        self.stages = tuple(stage for stage, _ in stages)
        self._taps = [number for _, number in stages]

    def another(self) -> Network:
        """The same with programs of its own, for another thread."""
        return Network(self.tape, list(zip(self.stages, self._taps, strict=True)), self._kernel)

    @cached_property
    def runner(self) -> PlanRunner:
        """The programs, lowered by whoever asks first: never by the thread that trains."""
        return PlanRunner(lower(self.tape), np.float64)

    @property
    def body(self) -> RowProgram:
        """What every sample goes through."""
        return self.runner.body

    @cached_property
    def lanes(self) -> int:
        """Samples that go through together: all of a batch where they depend on each other."""
        if self.body.program.couples:
            return sys.maxsize
        return min(lanes_in_workspace(self.body.lane_bytes), max(FEWEST_LANES, BLOCK_BYTES // self.lane_bytes))

    @property
    def kernel(self) -> PlanRunner:
        """Model and loss as the run's engines have them, in its dtype."""
        return self._kernel()

    @property
    def n_weights(self) -> int:
        """Number of scalar parameters."""
        return self.tape.n_parameters

    @property
    def lane_bytes(self) -> int:
        """What rows and adjoints of one sample take."""
        return 2 * self.body.program.n_rows * 8

    @cached_property
    def rows_of(self) -> dict[str, NDArray[np.int64]]:
        """The rows of the program that each stage is."""
        program = self.body.program
        return {
            stage.name: program.outputs if number == OUTPUTS else program.taps[number][1]
            for stage, number in zip(self.stages, self._taps, strict=True)
        }

    @cached_property
    def before_weights(self) -> dict[str, NDArray[np.bool_]]:
        """By stage, which of its rows no weight stands before: nobody needs their deltas, so there are none."""
        learnt = depending(self.body)
        return {name: ~learnt[rows] for name, rows in self.rows_of.items()}

    def encoded(self, numbers: NDArray[Any], dtype: np.dtype[Any]) -> Float:
        """`numbers` (inputs and targets, samples) with the features below them, in float64.

        They are made of the sample alone, and made in `dtype`, as they are trained on.
        """
        if self.runner.encoder is not None:
            runner = self._encoders.get(dtype) or self._encoders.setdefault(dtype, PlanRunner(self.runner.plan, dtype))
            numbers = runner.encode(numbers)
        return numbers.astype(np.float64)

    @cached_property
    def places(self) -> Places:
        """Of which stage each row of the body is."""
        return Places(self.body.program, self.rows_of)
