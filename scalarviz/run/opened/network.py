"""`Network`: a recorded model with its loss, lowered with the rows of every stage; its uses of weights.

In a layer, delta is the upstream gradient of the sum, and x the input that the weight multiplies; a bias has x = 1.
If another operation reads a weight, x is its derivative with respect to the weight.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...engine.arrays.program import FEWEST_LANES, PlanRunner, RowProgram, lanes_in_workspace
from ...scalar.ops import TABLE
from ...tape import Instruction, Plan, Program, Tape, lower, lower_unfused
from ...tape.half import loss_scale_of
from ..core.gather import INPUT, OUTPUTS
from ..core.graph import Forward
from .attention import LAYERS, BetweenModules

Float = NDArray[np.float64]
Rows = NDArray[np.int64]
Factor = Callable[[Float, Float], Float]


# ---- The operands of a row, for every kind of instruction


def _parts(i: Instruction) -> Rows:
    """Return the rows that an instruction reads, (parts, operands); see :func:`_part_rows` for what a part makes."""
    if i.kind in ("op", "batch_mean", "gather"):
        return i.args.T
    if i.kind == "product":
        return i.args.reshape(2, i.count, -1).swapaxes(0, 1).reshape(i.count, -1)
    return i.args.reshape(1, -1) if i.kind == "squares" else i.args


def _part_rows(i: Instruction, part: int, parts: int) -> Rows:
    """Return the rows that one of the parts makes: in a layer, one of each output."""
    if i.kind == "gather":
        return i.dst + part * len(i.weights) + np.arange(len(i.weights))
    return np.arange(i.dst + part, i.dst + i.count, parts)


# ---- `Use`: where a program reads a weight


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """One place where a program reads a weight."""

    # ``"weight"`` (it multiplies a row), ``"bias"`` (it is added), ``"gather"`` (x is 1 if a number chooses it,
    # else 0), or the operation that reads it
    kind: str
    # the rows whose delta it is; several if a layer is used at several positions; shape (positions,)
    rows: Rows
    read: Rows | None  # the rows that are x; None if x is no row
    # computes x from all rows (n_rows, lanes) and theta: (positions, lanes), or what broadcasts to it
    factor: Factor
    # 1, or the derivative of a number made of weights alone, which is used here, with respect to the weight
    through: float = 1.0
    weights: Rows | None = None  # of a row that a layer reads: the parameters that multiply it

    def x(self, values: Float, theta: Float) -> Float:
        """Return x, with which delta is multiplied."""
        found = self.factor(values, theta)
        return found if self.through == 1.0 else found * self.through


def _of_rows(rows: Rows) -> Factor:
    return lambda values, theta: values[rows]


def _one(values: Float, theta: Float) -> Float:
    return np.ones((1, 1))


def uses_in(program: RowProgram, index: int) -> Iterator[Use]:
    """Yield every use of parameter `index` in a program, in order, except those that no gradient reaches."""
    ones = program.program.constant_rows[program.program.constants == 1.0]
    for i in program.program.instructions:
        if not program.program.needs_gradient[i.dst]:
            continue
        if i.kind == "param":
            for place in np.flatnonzero(i.weights == index):
                yield from readers(program, i.dst + int(place))
            continue
        for rows, read in _multiplied(i, index):
            typed_as_bias = np.isin(read, ones).all()
            yield Use("bias", rows, None, _one) if typed_as_bias else Use("weight", rows, read, _of_rows(read))
        positions = len(_parts(i))
        if i.bias >= 0 and 0 <= index - i.bias < i.count // positions:
            yield Use("bias", _of_output(i, index - i.bias, positions), None, _one)
        if i.kind == "gather" and i.table is not None:
            for column, first in enumerate(i.weights.tolist()):
                number, rest = divmod(index - first, i.table.step)
                if rest == 0 and 0 <= number < i.table.rows:
                    rows = i.dst + np.arange(positions) * len(i.weights) + column
                    yield Use("gather", rows, None, _where_it_is(i.args[0], number))


def _multiplied(i: Instruction, index: int) -> Iterator[tuple[Rows, Rows]]:
    """Yield the sums in which a parameter is a weight, and the rows that it multiplies there."""
    if i.kind == "dot":
        for k in np.flatnonzero(i.weights == index):
            yield i.dst + np.array([k // i.terms]), i.args.ravel()[k : k + 1]
    elif i.kind in LAYERS:
        output, k = divmod(index - int(i.weights[0]), i.args.shape[1])
        if 0 <= output < len(i.weights):
            yield _of_output(i, output, len(i.args)), i.args[:, k]


def _of_output(i: Instruction, output: int, positions: int) -> Rows:
    """Return the rows of one output of a layer, one per position."""
    return i.dst + output * positions + np.arange(positions)


def _where_it_is(ids: Rows, number: int) -> Factor:
    return lambda values, theta: (values[ids] == number).astype(np.float64)


def readers(program: RowProgram, row: int) -> Iterator[Use]:
    """Yield the uses of a row, as if it were a weight; one for each operand that the row is."""
    if row == program.program.loss:
        yield Use("loss", np.array([row]), None, _one)
    rows, numbers = program.readers
    for number in numbers[slice(*np.searchsorted(rows, (row, row + 1)))].tolist():
        step = program.steps[number]
        i = step.instruction
        if not program.program.needs_gradient[i.dst] or i.kind == "gather":
            continue  # a gradient does not flow to a number that chooses
        parts = _parts(i)
        for part, k in np.argwhere(parts == row).tolist():
            if i.kind != "op" or step.pulls[k] is not None:
                made = _part_rows(i, part, len(parts))
                read, factor = _factor(step, parts[part], part, k, int(made[0]))
                yield Use(i.op or i.kind, made, read, factor, weights=_weights(i, part, k))


def _weights(i: Instruction, part: int, k: int) -> Rows | None:
    """Return the parameters that multiply the k-th operand of a layer; None for other instructions."""
    if i.kind not in LAYERS:
        return None
    return i.weights[part * i.terms + k : part * i.terms + k + 1] if i.kind == "dot" else i.weights + k


def _factor(step: Any, operands: Rows, part: int, k: int, made: int) -> tuple[Rows | None, Factor]:
    """Return the rows that are a row's derivative with respect to its k-th operand, or None; and its function."""
    i, own = step.instruction, int(operands[k])
    opposite = operands[[(k + len(operands) // 2) % len(operands)]]  # of pairs: the other one

    def pulled(values: Float, theta: Float) -> Float:
        given = (values[a : a + 1] for a in [*operands.tolist(), made])
        found: Float = step.pulls[k](*given, np.ones((1, values.shape[1])))
        return found

    def chosen(values: Float, theta: Float) -> Float:  # the first of the largest ones; a NaN goes to all
        largest = values[made]
        first = (values[own] == largest) & ~(values[operands[:k]] == largest).any(axis=0)
        return np.asarray(np.where(largest == largest, first, largest))[None]

    if i.kind == "product" or i.op == "mul":
        return opposite, _of_rows(opposite)
    if i.kind in LAYERS:
        weights = _weights(i, part, k)
        return None, lambda values, theta: theta[weights][:, None]
    if i.kind == "squares":
        return None, lambda values, theta: 2.0 * i.numbers[0] * (values[own] - values[opposite])
    if i.kind == "weighted":
        return None, lambda values, theta: np.full((1, 1), i.numbers[k])
    return None, {"op": pulled, "max": chosen, "batch_mean": _one}[i.kind]


# ---- Numbers made of weights alone


def slopes(prologue: RowProgram, values: Float, theta: Float, index: int) -> Iterator[tuple[int, float]]:
    """Yield the outputs of a program that depend on parameter `index`, with their derivatives."""
    tangent: dict[int, float] = {}
    waiting: list[int] = []

    def reached(uses: Iterable[Use], slope: float) -> None:
        for use in uses:
            factors = np.broadcast_to(use.factor(values, theta), (len(use.rows), 1))[:, 0]
            for row, x in zip(use.rows.tolist(), factors.tolist(), strict=True):
                if row not in tangent:
                    tangent[row] = 0.0
                    heappush(waiting, row)
                tangent[row] += slope * x

    with np.errstate(all="ignore"):
        reached(uses_in(prologue, index), 1.0)
        while waiting:  # a row comes after all that it is made of
            row = heappop(waiting)
            reached(readers(prologue, row), tangent[row])
    for number, row in enumerate(prologue.program.outputs.tolist()):
        if row in tangent:
            yield number, tangent[row]


def depending(program: RowProgram) -> NDArray[np.bool_]:
    """Return which rows of a program depend differentiably on a parameter, shape (n_rows,)."""
    found = np.zeros(program.program.n_rows, bool)
    for step in program.steps:
        i, parts = step.instruction, _parts(step.instruction)
        if i.kind == "op":
            parts = parts[:, [pull is not None for pull in step.pulls]]
        learnt = i.kind in (*LAYERS, "param", "gather") or i.bias >= 0
        found[i.dst : i.dst + i.count] = True if learnt else found[parts].any(axis=1)
    return found


# ---- `Places`: the stage of each row of a lowered model, and which of its outputs the row is


LOSS = "loss"
INSIDE = -1
"""The unit of a row on the way to the stage's outputs."""


class StageRows(NamedTuple):
    """A stage, and which of its outputs some rows are."""

    # its name; ``"input"`` for the sample and what it alone makes, ``"loss"`` for what follows the outputs
    stage: str
    units: tuple[int, ...]  # which of its outputs each row is; `INSIDE` for a row on the way to them


class Places:
    """Finds the place of rows."""

    def __init__(self, program: Program, stages: Mapping[str, Rows]) -> None:
        self._names = [*stages, INPUT, LOSS]
        self._instructions, self._parts = program.instructions, [_parts(i) for i in program.instructions]
        self._first = np.array([i.dst for i in program.instructions])
        self._unknown = len(stages) + 1  # a row that belongs to no stage follows the outputs
        self._owner = np.full(program.n_rows, self._unknown)
        self._unit = np.full(program.n_rows, INSIDE)
        self._owner[program.input_rows], self._unit[program.input_rows] = len(stages), program.input_index
        for stage, rows in enumerate(stages.values()):
            new = self._owner[rows] == self._unknown
            self._owner[rows[new]], self._unit[rows[new]] = stage, np.flatnonzero(new)
            self._claim_below(rows[new].tolist(), stage)

    def instruction_of(self, row: int) -> tuple[Instruction, int, Rows] | None:
        """Return the instruction that makes a row, the number of its part, and the rows of that part.

        None for an input, and for an instruction that reads no rows.
        """
        number = int(np.searchsorted(self._first, row, "right")) - 1
        i, parts = self._instructions[number], self._parts[number]
        if number < 0 or row >= i.dst + i.count or not len(parts):
            return None
        part = (row - i.dst) // len(i.weights) if i.kind == "gather" else (row - i.dst) % len(parts)
        return i, part, parts[part]

    def inside(self, stage: str) -> list[int]:
        """Return the rows on the way to a stage's outputs, operands first."""
        found: list[int] = np.flatnonzero((self._owner == self._names.index(stage)) & (self._unit == INSIDE)).tolist()
        return found

    def _claim_below(self, stack: list[int], stage: int) -> None:
        """Give a stage the rows below `stack` that belong to no other one."""
        seen: set[tuple[int, int]] = set()  # the rows of a layer share their operands
        while stack:
            found = self.instruction_of(stack.pop())
            if found is not None and (found[0].dst, found[1]) not in seen:
                seen.add((found[0].dst, found[1]))
                fresh = np.unique(found[2][self._owner[found[2]] == self._unknown])
                self._owner[fresh] = stage
                stack += fresh.tolist()

    def apart(self, rows: Rows) -> Iterator[tuple[StageRows, Rows]]:
        """Yield the place of `rows` in each stage, and the indices of its own rows among them."""
        owners = self._owner[rows]
        for owner in np.unique(owners).tolist():
            own = np.flatnonzero(owners == owner)
            yield StageRows(self._names[owner], tuple(self._unit[rows[own]].tolist())), own

    def place_of(self, rows: Iterable[int]) -> StageRows:
        """Return the place of `rows`: the stage of the first with a unit; others may be the zeros of a border."""
        found = np.fromiter(rows, np.int64)
        units = np.flatnonzero(self._unit[found] != INSIDE)
        owner = self._owner[found]
        stage = int(owner[units[0] if len(units) else 0])
        return StageRows(self._names[stage], tuple(np.where(owner == stage, self._unit[found], INSIDE).tolist()))


# ---- `Network`: a recorded model with its loss, lowered in float64 with the rows of every stage


MOST_NODES = 64
"""Up to this many nodes, a formula is shown node by node."""
LEAVES = ("input", "param", "const")
"""Codes of nodes that read no other nodes."""
BLOCK_BYTES = 4 << 20
"""Bytes of rows and adjoints of samples that are computed together, for a processor's cache."""


class Network:
    """The programs of one model, made when the first step is opened, never by the thread that trains."""

    def __init__(self, forward: Forward) -> None:
        self.forward, self.tape, self.stages = forward, forward.tape, forward.stages
        self._encoders: dict[np.dtype[Any], PlanRunner] = {}

    @cached_property
    def formula(self) -> Tape | None:
        """The tape of a formula, whose nodes are the rows of the body; None for any other network."""
        return None if self._formula is None else self._formula[0]

    @cached_property
    def _formula(self) -> tuple[Tape, Plan] | None:
        nodes = self.tape.nodes
        plain = (
            len(self.stages) == 1 and len(nodes) <= MOST_NODES and {node.code for node in nodes} <= {*LEAVES, *TABLE}
        )
        plain &= all(nodes[row].code in TABLE for row in self.tape.outputs)
        return lower_unfused(self.tape) if plain and loss_scale_of(self.tape) is None else None

    @cached_property
    def runner(self) -> PlanRunner:
        """The whole plan, ready to run in float64."""
        return PlanRunner(lower(self.tape) if self._formula is None else self._formula[1], np.float64)

    @property
    def body(self) -> RowProgram:
        """The program that runs for every sample."""
        return self.runner.body

    @cached_property
    def lanes(self) -> int:
        """The number of samples that are computed together: the whole batch if they depend on each other."""
        if self.body.program.couples:
            return sys.maxsize
        return min(lanes_in_workspace(self.body.lane_bytes), max(FEWEST_LANES, BLOCK_BYTES // self.lane_bytes))

    @property
    def lane_bytes(self) -> int:
        """Bytes of rows and adjoints of one sample."""
        return 2 * self.body.program.n_rows * 8

    @cached_property
    def rows_of(self) -> dict[str, Rows]:
        """The rows of the program by stage."""
        program, tapped = self.body.program, zip(self.stages, self.forward.taps, strict=True)
        return {stage.name: program.outputs if n == OUTPUTS else program.taps[n][1] for stage, n in tapped}

    @cached_property
    def before_weights(self) -> dict[str, NDArray[np.bool_]]:
        """Masks, by stage, of rows that no weight stands before: their deltas are left out."""
        learnt = depending(self.body)
        return {name: ~learnt[rows] for name, rows in self.rows_of.items()}

    def encoded(self, numbers: NDArray[Any], dtype: np.dtype[Any]) -> Float:
        """Return `numbers` (inputs and targets, samples) with the features below them, in float64."""
        if self.runner.encoder is not None:
            runner = self._encoders.get(dtype) or self._encoders.setdefault(dtype, PlanRunner(self.runner.plan, dtype))
            numbers = runner.encode(numbers)
        return numbers.astype(np.float64)

    @cached_property
    def places(self) -> Places:
        """The places of the body's rows."""
        return Places(self.body.program, self.rows_of)

    @cached_property
    def between(self) -> BetweenModules:
        """The operations between modules in the body."""
        return BetweenModules(self.places, self.rows_of, {*self.body.program.constant_rows.tolist()})


class SampleGradient:
    """Computes gradients of single samples on its own arrays, with a run's present or former network."""

    def __init__(self, forward: Forward) -> None:
        self._forward, self._runner = forward, PlanRunner(forward.plan, np.float64)

    def gradient(self, sample: ArrayLike, target: ArrayLike, values: ArrayLike) -> NDArray[np.float64]:
        """Return the gradient (P,) of one sample's loss at flat `values` (P,); sample (n_in,), target (n_out,).

        As in `evaluate`, a mean over weighted targets divides by the sample's own weight.
        """
        runner, body = self._runner, self._runner.body
        numbers = np.concatenate([np.ravel(sample), np.ravel(target)]).astype(np.float64)
        theta, before = runner.extended(np.asarray(values, np.float64))
        rows = body.forward(theta, runner.encode(numbers[:, None]))
        adjoints: NDArray[Any] = np.zeros_like(rows)
        adjoints[body.program.loss] = self._forward.scale_of_one(np.asarray(target))
        gradient = np.zeros(len(theta))
        body.backward(rows, adjoints, theta, gradient)
        return runner.pulled_back(before, theta, gradient)
