"""A `Program` as the table of numbers that the compiled interpreter walks.

Neighbouring rows whose operands are neighbours too become one call. Backward, the first instruction that
writes a gradient row *stores* it and the others add to it, so nothing is zeroed in advance. Rows on which the loss
does not depend are left out.

Rows that are equal on all lanes, because they depend only on means over the batch and parameters (``weight /
sqrt(variance + eps)``), are computed on one lane. If another row reads such a row lane by lane, it is *widened*, and
its gradient is *folded* into the first lane. A mean over the batch takes two lines: all blocks finish the first
before any block begins the second.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....rng import dropout_threshold
from ....scalar.mask import scale
from ....tape import Instruction, Program
from .. import wire
from . import pictures, sums
from .writer import AdjointRows, LaneLayout, Lines, Rows, SoleReaders, Writer, runs


def mean_forward(w: Writer, i: Instruction) -> Lines:
    """Return lines of means: the sums of the blocks, then the means."""
    return _lines(w, i.args[0].tolist(), list(range(i.dst, i.dst + i.count)), [1] * i.count)


def mean_backward(w: Writer, i: Instruction) -> Lines:
    """Return lines that add the means of their gradients to their operands."""
    upstream = [w.adjoint(row) for row in range(i.dst, i.dst + i.count)]
    return _lines(w, upstream, *w.targets(np.asarray(i.args[0])))


def _lines(w: Writer, source: list[int], to: list[int], fresh: list[int]) -> Lines:
    place, n = w.places, len(source)
    w.places += n
    return [
        [*w.kernel("batch_sums"), w.keep(source), n, place],
        [*w.kernel("batch_spread"), w.keep(to), n, place, w.keep(fresh)],
    ]


def mask_forward(w: Writer, i: Instruction) -> Lines:
    """Return lines of the dropout masks of a call."""
    p = float(i.numbers[0])
    number, threshold = w.number(scale(p)), dropout_threshold(p)
    if w.layout.lanes:
        spans = runs(i.units[None])
        return [[*w.kernel("masks"), i.dst + at, int(i.units[at]), n, i.call, threshold, number] for at, n in spans]
    rows: dict[int, list[int]] = {}
    for j, unit in enumerate(i.units.tolist()):
        rows.setdefault(unit // 4, [-1] * 4)[unit % 4] = i.dst + j
    return [[*w.kernel("masks"), *_filled(w, four), block, i.call, threshold, number] for block, four in rows.items()]


def _filled(w: Writer, rows: list[int]) -> list[int]:
    """Return `rows` with spare rows for unused units, at most three, each its own."""
    spare = iter(range(2 * w.program.n_rows + 2, 2 * w.program.n_rows + wire.PADDING))
    return [row if row >= 0 else next(spare) for row in rows]


_MADE = ("op", "dot", "weighted", "product")
_SOURCES = ("param", "batch_mean")


class Narrow:
    """The instructions that run on one lane; none unless `asked`."""

    def __init__(self, program: Program, asked: bool) -> None:
        self._program = program
        self._made = _uniform(program) if asked else set[int]()
        self._wide = np.ones(program.n_rows, np.bool_)
        if self._made:
            self._settle()

    def _settle(self) -> None:
        """Exclude instructions that share a row with others that read it on all lanes."""
        program, found = self._program, len(self._made) + 1
        needs = program.needs_gradient
        while len(self._made) < found:
            found = len(self._made)
            self._wide = self._read_wide()
            for k in sorted(self._made):
                i = program.instructions[k]
                if needs[i.dst] and (self._wide[i.args] & needs[i.args]).any():
                    self._made.discard(k)

    def _read_wide(self) -> NDArray[np.bool_]:
        """Return the rows that are read on all lanes, or whose gradients are."""
        program = self._program
        wide = np.zeros(program.n_rows, np.bool_)
        wide[program.outputs] = True
        if program.loss >= 0:
            wide[program.loss] = True
        for k, i in enumerate(program.instructions):
            if k not in self._made:
                wide[i.args] = True
                wide[i.dst : i.dst + i.count] |= i.kind not in _SOURCES
        for i in program.instructions:
            if i.kind in _SOURCES:
                rows = slice(i.dst, i.dst + i.count)
                wide[rows] = wide[rows].any()
        return wide

    def forward(self, w: Writer, k: int, lines: Lines) -> Lines:
        """Return the lines of instruction `k`, with one-lane lines marked, and the lines that widen its rows."""
        i = self._program.instructions[k]
        if k in self._made:
            return [*map(_marked, lines), *self._lines(w, "widen", self._rows(i))]
        return self._source(i, lines, 1)

    def backward(self, w: Writer, k: int, lines: Lines) -> Lines:
        """Return the lines of its backward pass, after those that fold the gradients of its rows."""
        i = self._program.instructions[k]
        if k in self._made and lines:
            return [*self._lines(w, "fold", [w.adjoint(row) for row in self._rows(i)]), *map(_marked, lines)]
        return self._source(i, lines, 0)

    def _source(self, i: Instruction, lines: Lines, own: int) -> Lines:
        """Mark one-lane lines: all lines of parameters, line `own` of means, if no row is read on all lanes."""
        if i.kind not in _SOURCES or self._wide[i.dst]:
            return lines
        return [_marked(line) if i.kind == "param" or k == own else line for k, line in enumerate(lines)]

    def _rows(self, i: Instruction) -> list[int]:
        return [row for row in range(i.dst, i.dst + i.count) if self._wide[row]]

    def _lines(self, w: Writer, kernel: str, rows: list[int]) -> Lines:
        return [[*w.kernel(kernel), w.keep(rows), len(rows)]] if rows else []


def _marked(line: list[int]) -> list[int]:
    return [line[0] + wire.NARROW, *line[1:]]


def _uniform(program: Program) -> set[int]:
    """Return the instructions whose results are equal on all lanes, without those that read nothing."""
    uniform, found = np.zeros(program.n_rows, np.bool_), set()
    uniform[program.constant_rows] = True
    for k, i in enumerate(program.instructions):
        made = i.kind in _MADE and i.args.size > 0 and bool(uniform[i.args].all())
        if made:
            found.add(k)
        if made or i.kind in _SOURCES:
            uniform[i.dst : i.dst + i.count] = True
    return found


def _gather_fields(w: Writer, i: Instruction) -> list[int]:
    assert i.table is not None
    ids, weights = w.keep(i.args[0]), w.keep(i.weights)
    return [ids, i.args.shape[1], weights, len(i.weights), i.table.rows, i.table.step]


Table = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Encoded:
    """An encoded program; see :mod:`scalarviz.engine.cpu.wire`."""

    forward: Table
    backward: Table
    pool: NDArray[np.int64]
    numbers: NDArray[Any]  # coefficients and offsets, in the dtype of the run
    rows: int  # number of workspace rows: values, adjoints and padding
    cuts: tuple[NDArray[np.int64], NDArray[np.int64]]  # lines that read the results of all blocks of a batch
    places: int  # number of sums that a block leaves
    sole_spans: NDArray[np.int64]  # ends of the weights of layers that alone hold their gradients


def encode(
    program: Program, seeds: Iterable[int], rows: Rows, kernel: Callable[[str], int], dtype: Any, how: LaneLayout
) -> Encoded:
    """Return the encoded program; `rows` and `kernel` look up addresses of row kernels and other kernels by name.

    The gradients of the rows `seeds` are given before the backward pass; none for forward only.
    """
    written = {int(row) for row in seeds}
    adjoint = AdjointRows(program, range(program.n_rows) if how.lanes else written)
    w = Writer(program, rows, kernel, how, adjoint, written, SoleReaders(program))
    narrowed = Narrow(program, how.narrow)
    forward = _table(narrowed.forward(w, k, KINDS[i.kind][0](w, i)) for k, i in enumerate(program.instructions))
    backward = _table(_backward(w, narrowed, k) for k in range(len(program.instructions) - 1, -1, -1) if written)
    pool, numbers = np.array(w.pool or [0], np.int64), np.array(w.numbers or [0.0], dtype)
    cuts, height = (_cuts(w, forward), _cuts(w, backward)), 2 * program.n_rows + wire.PADDING
    return Encoded(forward, backward, pool, numbers, height, cuts, w.places, w.sole_readers.spans())


def _cuts(w: Writer, table: Table) -> NDArray[np.int64]:
    """Return the numbers of the lines that read results of all blocks."""
    if w.places == 0:
        return np.zeros(0, np.int64)
    kernels = table[:, 0] % wire.NARROW == wire.KERNEL
    return np.flatnonzero(kernels & (table[:, 1] == w.kernel("batch_spread")[1]))


def _table(parts: Iterable[Lines]) -> Table:
    """Return all lines as one array; converted one by one, because a million lists would take half a gigabyte."""
    flat, zeros = array("q"), [0] * wire.FIELDS
    for lines in parts:
        for line in lines:
            flat.extend(line)
            flat.extend(zeros[len(line) :])
    return np.array(flat, np.int64).reshape(-1, wire.FIELDS)


def _backward(w: Writer, narrowed: Narrow, k: int) -> Lines:
    """Return the lines of an instruction's backward pass; none if its results get no gradient."""
    i = w.program.instructions[k]
    lines: Lines = []
    if w.needs_gradient(i.dst):
        assert w.written.issuperset(range(i.dst, i.dst + i.count))  # otherwise it would read unwritten rows
        lines = narrowed.backward(w, k, KINDS[i.kind][1](w, i))
    w.adjoint.free(i)
    return lines


def op_forward(w: Writer, i: Instruction) -> Lines:
    """Return lines of an operation of the table."""
    address = w.rows(i.op)["forward"]
    if i.count == 1:  # typed graphs have many, and arrays would dominate the time
        a, b, c = _operands(i, 0)
        return [[wire.ROWS, address, a, b, c, i.dst, 0, 0, 1, 0]]
    results = np.arange(i.dst, i.dst + i.count)
    lines = []
    for start, length in runs(np.vstack([results, i.args])):
        a, b, c = _operands(i, start)
        lines.append([wire.ROWS, address, a, b, c, i.dst + start, 0, 0, length, 0])
    return lines


def op_backward(w: Writer, i: Instruction) -> Lines:
    """Return lines that add its gradients to its operands, one operand after another."""
    addresses = w.rows(i.op)
    if i.count == 1:
        return _one_backward(w, i, addresses)
    results = np.arange(i.dst, i.dst + i.count)
    lines = []
    for k, rows in enumerate(i.args):
        kernel = f"backward_{k}"
        if kernel not in addresses:
            continue
        (chosen,) = np.nonzero(w.need_gradients(rows))
        fresh = np.array([w.first_to_write(int(rows[j])) for j in chosen], np.int64)
        # a change of the flag ends a run, as a gap does: it is counted up like a row with a jump
        flags = np.arange(len(chosen)) + fresh * 2 * i.count
        targets = np.array([w.adjoint(int(rows[j])) for j in chosen], np.int64)
        for start, length in runs(np.vstack([results[chosen], i.args[:, chosen], targets, flags])):
            j = int(chosen[start])
            a, b, c = _operands(i, j)
            y, g, d = i.dst + j, w.adjoint(i.dst + j), int(targets[start])
            lines.append([wire.ROWS, addresses[kernel], a, b, c, y, g, d, length, int(fresh[start])])
    return lines


def _one_backward(w: Writer, i: Instruction, addresses: dict[str, int]) -> Lines:
    """Return the same for a single row."""
    operands = i.args[:, 0].tolist()
    a, b, c = _operands(i, 0)
    up = w.adjoint(i.dst)
    return [
        [wire.ROWS, addresses[f"backward_{k}"], a, b, c, i.dst, up, w.adjoint(row), 1, int(w.first_to_write(row))]
        for k, row in enumerate(operands)
        if f"backward_{k}" in addresses and w.needs_gradient(row)
    ]


def _operands(i: Instruction, start: int) -> list[int]:
    """Return the three operand rows of a call; any row fills a missing one."""
    found: list[int] = i.args[:, start].tolist()
    return found + [found[0]] * (3 - len(found))


Part = Callable[[Writer, Instruction], Lines]


def _read(kernel: str, fields: Callable[[Writer, Instruction], list[int]]) -> tuple[Part, Part]:
    """What reads parameters: one line, and one that adds the gradients of its rows to them."""
    return (
        lambda w, i: [[*w.kernel(kernel), i.dst, *fields(w, i)]],
        lambda w, i: [[*w.kernel(f"{kernel}_back"), w.adjoint(i.dst), *fields(w, i)]],
    )


KINDS: dict[str, tuple[Part, Part]] = {
    "op": (op_forward, op_backward),
    "param": _read("parameters", lambda w, i: [i.count, w.keep(i.weights)]),
    "layer": (sums.layer_forward, sums.layer_backward),
    "conv": (pictures.conv_forward, pictures.conv_backward),
    "max": (pictures.max_forward, pictures.max_backward),
    "dot": (sums.dot_forward, sums.dot_backward),
    "weighted": (sums.weighted_forward, sums.weighted_backward),
    "product": (sums.product_forward, sums.product_backward),
    "squares": (sums.squares_forward, sums.squares_backward),
    "mask": (mask_forward, lambda w, i: []),  # a mask needs no gradient
    "gather": _read("gather", _gather_fields),
    "batch_mean": (mean_forward, mean_backward),
}
"""The functions that encode each kind of instruction, forward and backward."""
