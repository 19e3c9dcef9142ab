"""A `Program` as the table of numbers that the compiled interpreter walks.

Neighbouring rows whose operands are neighbours too become one call. Backward, every adjoint row is *stored* by the
first instruction that writes it and added to by the others, so nothing is zeroed in advance; what the loss does not
depend on is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...tape import Instruction, Program
from . import encode_few, layout
from .adjoints import AdjointRows
from .encode_conv import Operands, Sums, backward_sums, channels_of, forward_sums
from .encode_pool import Windows, windows_of
from .encode_shift import backward_fields, forward_fields, outer_fields, shifts_of

Rows = Callable[[str], dict[str, int]]
Table = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Encoded:
    """A program in numbers; see :mod:`scalarviz.engine.cpu.layout`.

    Attributes
    ----------
    forward, backward : ndarray of int64, shape (instructions, FIELDS)
    pool : ndarray of int64
    numbers : ndarray
        Coefficients and offsets, in the dtype of the run.
    rows : int
        Rows of the workspace: values, adjoints and padding.
    """

    forward: Table
    backward: Table
    pool: NDArray[np.int64]
    numbers: NDArray[Any]
    rows: int


def encode(
    program: Program, seeds: Iterable[int], rows: Rows, kernel: Callable[[str], int], dtype: Any, lanes: int = 0,
    few: bool = False,
) -> Encoded:  # fmt: skip
    """Encode a program.

    Parameters
    ----------
    program : Program
    seeds : iterable of int
        Rows whose adjoints are given before the backward pass; none for forward only.
    rows : callable
        The name of an operation to the addresses of its row kernels.
    kernel : callable
        The name of another kernel to its address.
    dtype : dtype-like
    lanes : int
        Numbers of a vector where rows are single numbers (:func:`can_be_compact` must allow it), else 0.
    few : bool
        A row is never longer than one vector.
    """
    writer = _Writer(program, rows, kernel, lanes, few)
    forward = [line for i in program.instructions for line in writer.forward(i)]
    written = {int(row) for row in seeds}
    backward: list[list[int]] = []
    if written:
        writer.written = written
        writer.adjoint = AdjointRows(program, range(program.n_rows) if lanes else written)
        for instruction in reversed(program.instructions):
            backward += writer.backward(instruction)
            writer.adjoint.done(instruction)
    return Encoded(
        forward=_table(forward),
        backward=_table(backward),
        pool=np.array(writer.pool or [0], np.int64),
        numbers=np.array(writer.numbers or [0.0], dtype),
        rows=2 * program.n_rows + layout.PADDING,
    )


def _table(lines: list[list[int]]) -> Table:
    table = np.zeros((len(lines), layout.FIELDS), np.int64)
    for row, line in enumerate(lines):
        table[row, : len(line)] = line
    return table


def _runs(columns: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Spans ``(start, length)`` of the columns in which every row counts up by one."""
    if columns.shape[1] == 0:
        return []
    breaks = np.flatnonzero((np.diff(columns, axis=1) != 1).any(axis=0)) + 1
    edges = [0, *breaks.tolist(), columns.shape[1]]
    return [(a, b - a) for a, b in pairwise(edges)]


def operands_of(program: Program, i: Instruction) -> Operands:
    """The operands of a convolution; all channels of one want a gradient, or none."""
    zeros = np.zeros(program.n_rows, np.bool_)
    zeros[program.constant_rows[program.constants == 0.0]] = True
    wanted = program.needs_gradient[i.args]
    operands = channels_of(i.args, zeros[i.args])
    planes = wanted.reshape(len(wanted), operands.channels, -1)
    return operands if (planes == planes[:, :1]).all() else Operands(i.args, ~zeros[i.args], 1, 0)


def can_be_compact(program: Program) -> bool:
    """Whether every kernel has a form for rows that are single numbers, and one that is fast."""
    for i in program.instructions:
        if i.kind == "conv":
            operands = operands_of(program, i)
            wanted = program.needs_gradient[operands.base[operands.there]]
            if shifts_of(operands) is None or wanted.any() != wanted.all():
                return False
    return True


@dataclass
class _Writer:
    program: Program
    rows: Rows
    kernel_address: Callable[[str], int]
    lanes: int = 0
    few: bool = False
    pool: list[int] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)
    written: set[int] = field(default_factory=set)
    adjoint: AdjointRows = field(init=False)

    def keep(self, entries: Sequence[int] | NDArray[np.int64]) -> int:
        """Put a list into the pool; returns its offset."""
        self.pool += [int(e) for e in entries]
        return len(self.pool) - len(entries)

    def number(self, *values: float) -> int:
        self.numbers += [float(v) for v in values]
        return len(self.numbers) - len(values)

    def kernel(self, name: str) -> tuple[int, int]:
        """Kind and address of a kernel, the first columns of its line."""
        one = self.lanes and name in layout.ONE
        return layout.KERNEL, self.kernel_address(f"{name}_one" if one else name)

    # Forward

    def forward(self, i: Instruction) -> list[list[int]]:
        if i.kind == "op":
            return self.op_forward(i)
        if i.kind == "param":
            return [[*self.kernel("parameters"), i.dst, i.count, self.keep(i.weights)]]
        if i.kind == "layer":
            return self.layer_forward(i)
        if i.kind == "conv":
            return [[*self.kernel("conv"), self.conv_forward(i)]]
        if i.kind == "max":
            return [self.max_forward(i)]
        if i.kind == "product":
            left, right = self.keep(i.args[0]), self.keep(i.args[1])
            return [[*self.kernel("product"), i.dst, left, right, i.args.shape[1], i.bias, self.number(i.offset)]]
        if i.kind == "squares":
            return [
                [*self.kernel("squares"), i.dst, self.keep(i.args.ravel()), i.args.shape[1], self.number(*i.numbers)]
            ]
        return [self.sum_line(i)]

    def layer_forward(self, i: Instruction) -> list[list[int]]:
        tiles = self.tiles("combine_few", encode_few.forward_fields(i))
        if tiles:
            return tiles
        n = i.args.shape[1]
        to, source = self.keep(range(i.dst, i.dst + i.count)), self.keep(i.args[0])
        return [[*self.kernel("combine"), to, i.count, source, n, int(i.weights[0]), n, 1, i.bias, 0]]

    def tiles(self, name: str, fields: Iterable[list[int]]) -> list[list[int]]:
        """Lines of a kernel for rows of one vector; none where rows are longer."""
        return [[*self.kernel(name), *line] for line in fields] if self.few else []

    def op_forward(self, i: Instruction) -> list[list[int]]:
        address = self.rows(i.op)["forward"]
        results = np.arange(i.dst, i.dst + i.count)
        lines = []
        for start, length in _runs(np.vstack([results, i.args])):
            a, b, c = self.operands(i, start)
            lines.append([layout.ROWS, address, a, b, c, i.dst + start, 0, 0, length, 0])
        return lines

    @staticmethod
    def operands(i: Instruction, start: int) -> list[int]:
        """The three operand rows of a call; a missing one is any row."""
        found = [int(r) for r in i.args[:, start]]
        return found + [found[0]] * (3 - len(found))

    def sum_line(self, i: Instruction) -> list[int]:
        weights = self.keep(i.weights) if i.kind == "dot" else -1
        first = self.number(*i.numbers) if i.kind == "weighted" else -1
        source = self.keep(i.args[0])
        return [*self.kernel("weighted"), i.dst, source, i.args.shape[1], weights, first, i.bias, self.number(i.offset)]

    # Backward

    def backward(self, i: Instruction) -> list[list[int]]:
        results = range(i.dst, i.dst + i.count)
        if not any(row in self.written and self.program.needs_gradient[row] for row in results):
            return []
        lines = self.zeros([row for row in results if row not in self.written])
        if i.kind == "op":
            return lines + self.op_backward(i)
        if i.kind == "param":
            return [*lines, [*self.kernel("parameters_back"), self.adjoint(i.dst), i.count, self.keep(i.weights)]]
        if i.kind == "layer":
            return lines + self.layer_backward(i)
        if i.kind == "conv":
            return lines + self.conv_backward(i)
        if i.kind == "max":
            return lines + self.max_backward(i)
        if i.kind == "product":
            return [*lines, self.product_backward(i)]
        if i.kind == "squares":
            return [*lines, self.squares_backward(i)]
        return [*lines, self.sum_backward(i)]

    def zeros(self, rows: Sequence[int]) -> list[list[int]]:
        """Store zero in adjoints that an instruction reads or adds to although nobody wrote them."""
        self.written.update(rows)
        ordered = np.array(sorted(self.adjoint(row) for row in rows), np.int64)[None]
        return [[*self.kernel("zero"), int(ordered[0, start]), length] for start, length in _runs(ordered)]

    def first_to_write(self, row: int) -> bool:
        fresh = row not in self.written
        self.written.add(row)
        return fresh

    def wanted(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        return self.program.needs_gradient[rows]

    def op_backward(self, i: Instruction) -> list[list[int]]:
        addresses = self.rows(i.op)
        results = np.arange(i.dst, i.dst + i.count)
        lines = []
        for k, rows in enumerate(i.args):
            kernel = f"backward_{k}"
            if kernel not in addresses:
                continue
            (chosen,) = np.nonzero(self.wanted(rows))
            fresh = np.array([self.first_to_write(int(rows[j])) for j in chosen], np.int64)
            # a change of the flag ends a run as a gap does: it is counted up like a row with a jump
            flags = np.arange(len(chosen)) + fresh * 2 * i.count
            targets = np.array([self.adjoint(int(rows[j])) for j in chosen], np.int64)
            for start, length in _runs(np.vstack([results[chosen], i.args[:, chosen], targets, flags])):
                j = int(chosen[start])
                a, b, c = self.operands(i, j)
                y, g, d = i.dst + j, self.adjoint(i.dst + j), int(targets[start])
                lines.append([layout.ROWS, addresses[kernel], a, b, c, y, g, d, length, int(fresh[start])])
        return lines

    def layer_backward(self, i: Instruction) -> list[list[int]]:
        rows, n, up = i.args[0], i.args.shape[1], self.adjoint(i.dst)
        upstream = self.keep(range(up, up + i.count))
        lines = self.tiles("outer_few", encode_few.outer_fields(i, up))
        if not lines:
            ones = 2 * self.program.n_rows + 1
            source = self.keep([*rows, ones] if i.bias >= 0 else rows)
            columns = n + (i.bias >= 0)
            lines = [[*self.kernel("outer"), upstream, i.count, source, columns, int(i.weights[0]), n, i.bias]]
        for start, to in self.stretches(rows):
            fresh = [r for r in to if r not in self.written]
            adding = len(fresh) < len(to)
            lines += self.zeros(fresh) if adding else []
            self.written.update(fresh)
            targets = [self.adjoint(r) for r in to]
            tiles = self.tiles("combine_few", encode_few.backward_fields(i, up, start, targets, adding))
            if not tiles:
                fields = [self.keep(targets), len(to), upstream, i.count, int(i.weights[0]) + start, 1, n, -1]
                tiles = [[*self.kernel("combine"), *fields, int(adding)]]
            lines += tiles
        return lines

    # Convolutions and maxima

    def sums(self, sums: Sums) -> int:
        """Put the description of a convolution into the pool; returns its offset."""
        lists = [self.keep(part.ravel()) for part in (sums.to, sums.starts, sums.entries)]
        numbers = [sums.outputs, sums.to_step, sums.weight_step, sums.weight, sums.bias, sums.adding]
        return self.keep([*numbers, sums.run, sums.row_step, sums.run_step, len(sums.to), *lists])

    def conv_forward(self, i: Instruction) -> int:
        operands = operands_of(self.program, i)
        shifts = shifts_of(operands) if self.lanes else None
        if shifts is not None:
            return self.keep(forward_fields(shifts, i.dst, i.weights, i.bias, self.lanes, self.keep))
        return self.sums(forward_sums(operands, i.dst, i.weights, i.bias))

    def conv_backward(self, i: Instruction) -> list[list[int]]:
        program = self.program
        operands, upstream = operands_of(program, i), self.adjoint(i.dst)
        shifts = shifts_of(operands) if self.lanes else None
        head = [upstream, len(i.weights), i.args.shape[0]]
        tail = [i.args.shape[1], int(i.weights[0]), i.bias]
        if shifts is None:
            ones = self.keep([2 * program.n_rows + 1])
            lines = [[*self.kernel("conv_outer"), *head, self.keep(i.args.ravel()), *tail, ones]]
        else:
            columns, vectors = outer_fields(shifts, self.lanes, self.keep)
            lines = [[*self.kernel("conv_outer"), *head, columns, *tail, vectors]]
        targets = np.unique(i.args[self.wanted(i.args)])
        if len(targets) == 0:
            return lines
        lines += self.zeros([int(r) for r in targets if int(r) not in self.written])
        if shifts is None:
            sums = backward_sums(operands, upstream, i.weights, program.needs_gradient, program.n_rows)
            return [*lines, [*self.kernel("conv"), self.sums(sums)]]
        fields = backward_fields(shifts, upstream, i.weights, self.adjoint(shifts.first), self.lanes, self.keep)
        return [*lines, [*self.kernel("conv"), self.keep(fields)]]

    def max_forward(self, i: Instruction) -> list[int]:
        windows = windows_of(i.args) if self.lanes else None
        if windows is not None:
            return self.windows_line("windows", i, windows)
        return [*self.kernel("maxima"), i.dst, i.count, self.keep(i.args.ravel()), i.args.shape[1]]

    def windows_line(self, kernel: str, i: Instruction, w: Windows) -> list[int]:
        return [*self.kernel(kernel), i.dst, w.width, w.down, self.keep(w.first), len(w.first)]

    def max_backward(self, i: Instruction) -> list[list[int]]:
        rows = i.args.ravel()
        wanted = self.wanted(rows)
        windows = windows_of(i.args) if self.lanes and wanted.all() else None
        if windows is not None:
            fresh = [r for r in rows.tolist() if r not in self.written]
            adding = len(fresh) < rows.size
            lines = self.zeros(fresh) if adding else []
            self.written.update(fresh)
            return [*lines, [*self.windows_line("windows_back", i, windows), self.adjoint(i.dst), int(adding)]]
        targets = rows[wanted].tolist()
        fresh = [r for r in targets if r not in self.written]
        storing = i.args.shape[1] == 4 and wanted.all() and len(set(fresh)) == rows.size
        lines = [] if storing else self.zeros(sorted(set(fresh)))
        self.written.update(targets)
        adjoints = self.keep(np.where(wanted, rows + self.program.n_rows, -1))
        fields = [i.dst, i.count, self.keep(rows), i.args.shape[1], self.adjoint(i.dst), adjoints, int(storing)]
        return [*lines, [*self.kernel("maxima_back"), *fields]]

    def stretches(self, rows: NDArray[np.int64]) -> Iterator[tuple[int, list[int]]]:
        """Neighbouring operands of a layer that want a gradient: the first one's position, and the rows.

        Their weights stand side by side. A row that occurs again begins a new stretch: the destinations of one
        instruction must be different rows.
        """
        stretch: list[int] = []
        seen: set[int] = set()
        for position, (row, wanted) in enumerate(zip(rows.tolist(), self.wanted(rows), strict=True)):
            if stretch and (not wanted or row in seen):
                yield position - len(stretch), stretch
                stretch, seen = [], set()
            if wanted:
                stretch.append(row)
                seen.add(row)
        if stretch:
            yield len(rows) - len(stretch), stretch

    def targets(self, rows: NDArray[np.int64]) -> tuple[list[int], list[int]]:
        """Adjoint rows (-1: none wanted) and whether each is fresh."""
        wanted = self.wanted(rows)
        adjoints = [self.adjoint(r) if w else -1 for r, w in zip(rows, wanted, strict=True)]
        fresh = [int(w and self.first_to_write(int(r))) for r, w in zip(rows, wanted, strict=True)]
        return adjoints, fresh

    def sum_backward(self, i: Instruction) -> list[int]:
        source, n, weights, first, bias = self.sum_line(i)[3:8]
        adjoints, fresh = self.targets(i.args[0])
        upstream = self.adjoint(i.dst)
        kept = self.keep(adjoints)
        return [*self.kernel("weighted_back"), upstream, source, n, weights, first, bias, kept, self.keep(fresh)]

    def product_backward(self, i: Instruction) -> list[int]:
        left, right = self.keep(i.args[0]), self.keep(i.args[1])
        # in the order of the kernel, which goes term by term
        pairs = [self.targets(i.args[:, j]) for j in range(i.args.shape[1])]
        adjoints = [self.keep([p[0][side] for p in pairs]) for side in (0, 1)]
        fresh = [self.keep([p[1][side] for p in pairs]) for side in (0, 1)]
        upstream = self.adjoint(i.dst)
        return [*self.kernel("product_back"), upstream, left, right, i.args.shape[1], i.bias, *adjoints, *fresh]

    def squares_backward(self, i: Instruction) -> list[int]:
        n = i.args.shape[1]
        # in the order of the kernel, which goes term by term
        pairs = [self.targets(i.args[:, j]) for j in range(n)]
        adjoints, fresh = ([p[part][side] for side in (0, 1) for p in pairs] for part in (0, 1))
        lists = [self.keep(part) for part in (i.args.ravel(), adjoints, fresh)]
        return [*self.kernel("squares_back"), self.adjoint(i.dst), lists[0], n, self.number(*i.numbers), *lists[1:]]
