"""The encoding of convolutions and maxima: row by row for a batch, along positions for one sample.

* `Sums` are the lists that the kernels of convolutions read.
* `Shifts` are convolutions of one sample in which neighbouring positions read neighbouring rows.
* `Windows` are maxima over windows of two by two that stand side by side.
* Where a layer is applied at several places of one sample, such as the letters of a text, each place becomes a layer
  whose rows stand apart: the operands of a place are side by side there, not the places.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....tape import Instruction, Program
from ..vector.capability import COLUMNS
from .sums import Matrix, matrix_backward, matrix_forward, rows_outer
from .writer import Lines, Writer

Words = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Sums:
    """What the kernel ``conv`` computes, forward or backward. The attributes stand in the pool in this order.

    Attributes
    ----------
    outputs, to_step, weight_step : int
        Output i of place p is row ``to[p] + i * to_step``; its weights begin ``i * weight_step`` further on.
    weight, bias : int
        Indices into theta; bias may be -1.
    adding : int
        1: the rows are added to.
    run, row_step, run_step : int
        Rows of one entry, and the distances of its rows and weights.
    to : ndarray, shape (places,)
    starts : ndarray, shape (places + 1,)
        Which entries belong to each place.
    entries : ndarray, shape (n, 2)
        Row and weight (counted from `weight`) with which each entry begins.
    """

    outputs: int
    to_step: int
    weight_step: int
    weight: int
    bias: int
    adding: int
    run: int
    row_step: int
    run_step: int
    to: Words
    starts: Words
    entries: Words


@dataclass(frozen=True, slots=True)
class Operands:
    """The operands of a convolution, channels apart: ``rows[p, c*taps + t] = base[p, t] + c*step``.

    Attributes
    ----------
    base : ndarray, shape (places, taps)
    there : ndarray of bool, shape (places, taps)
        False where the operand is the constant 0, in every channel.
    channels, step : int
    """

    base: Words
    there: NDArray[np.bool_]
    channels: int
    step: int

    @property
    def taps(self) -> int:
        """Operands of one channel."""
        return int(self.base.shape[1])


def channels_of(rows: Words, zero: NDArray[np.bool_]) -> Operands:
    """Find the largest number of channels that describes a table of operands.

    Parameters
    ----------
    rows : ndarray, shape (places, n)
    zero : ndarray of bool, shape (places, n)
        Which operands are the constant 0.
    """
    n = rows.shape[1]
    for channels in (c for c in range(n, 1, -1) if n % c == 0):
        planes = rows.reshape(len(rows), channels, -1)
        gone = zero.reshape(planes.shape)
        steps = np.diff(planes, axis=1)[~gone[:, 1:]]
        if (gone == gone[:, :1]).all() and len(steps) and (steps == steps[0]).all() and steps[0] != 0:
            return Operands(planes[:, 0], ~gone[:, 0], channels, int(steps[0]))
    return Operands(rows, ~zero, 1, 0)


def forward_sums(table: Operands, dst: int, weights: Words, bias: int) -> Sums:
    """The sums of the forward pass; output i of place p is row ``dst + i * places + p``."""
    places, n = len(table.base), table.taps * table.channels
    place, tap = np.nonzero(table.there)
    return Sums(
        outputs=len(weights), to_step=places, weight_step=n, weight=int(weights[0]), bias=bias, adding=0,
        run=table.channels, row_step=table.step, run_step=table.taps,
        to=dst + np.arange(places), starts=_starts(place, places),
        entries=np.stack([table.base[place, tap], tap], axis=1),
    )  # fmt: skip


def backward_sums(table: Operands, upstream: int, weights: Words, wanted: NDArray[np.bool_], shift: int) -> Sums:
    """The sums that carry the adjoints of a convolution to its operands; they are added to.

    Parameters
    ----------
    upstream : int
        Row of the adjoint of the first output.
    wanted : ndarray of bool
        Which rows want a gradient. All channels of an operand do, or none.
    shift : int
        From a row to its adjoint.
    """
    places, n = len(table.base), table.taps * table.channels
    there = table.there & wanted[np.where(table.there, table.base, 0)]
    place, tap = np.nonzero(there)
    operand = table.base[place, tap]
    order = np.argsort(operand, kind="stable")
    found, counts = np.unique(operand, return_counts=True)
    return Sums(
        outputs=table.channels, to_step=table.step, weight_step=table.taps, weight=int(weights[0]), bias=-1,
        adding=1, run=len(weights), row_step=places, run_step=n,
        to=found + shift, starts=np.concatenate([[0], np.cumsum(counts)]),
        entries=np.stack([upstream + place[order], tap[order]], axis=1),
    )  # fmt: skip


def _starts(place: Words, places: int) -> Words:
    return np.concatenate([[0], np.cumsum(np.bincount(place, minlength=places))])


@dataclass(frozen=True, slots=True)
class Windows:
    """Window j of a run reads the rows ``first + 2*j``, the next one, and both again `down` rows further on.

    Attributes
    ----------
    first : ndarray of int64, shape (runs,)
        Where each run begins.
    width : int
        Windows of a run.
    down : int
    """

    first: Words
    width: int
    down: int


def windows_of(rows: Words) -> Windows | None:
    """The operands of maxima, shape (maxima, n), as runs of windows; None if they are none, or overlap."""
    if rows.shape[1] != 4 or len(np.unique(rows)) < rows.size:
        return None
    corner, down = rows[:, 0], int(rows[0, 2] - rows[0, 0])
    if (rows - corner[:, None] != [0, 1, down, down + 1]).any():
        return None
    starts = np.append(np.flatnonzero(np.diff(corner, prepend=corner[0]) != 2), len(corner))
    widths = np.diff(starts)
    if (widths != widths[0]).any():
        return None
    return Windows(corner[starts[:-1]], int(widths[0]), down)


Keep = Callable[[Words], int]


@dataclass(frozen=True, slots=True)
class Shifts:
    """Operands as distances: position p reads row ``p + shift[t]`` (``+ c*step``) at tap t where ``there[p, t]``.

    Attributes
    ----------
    shift : ndarray of int64, shape (taps,)
    there : ndarray of bool, shape (positions, taps)
    channels, step : int
    first, count : int
        The rows of channel 0 that are read: neighbours, `count` of them.
    """

    shift: Words
    there: NDArray[np.bool_]
    channels: int
    step: int
    first: int
    count: int


def shifts_of(operands: Operands) -> Shifts | None:
    """The operands as distances, or None if they are none."""
    place = np.arange(len(operands.base))[:, None]
    distance = np.where(operands.there, operands.base - place, 0)
    shift = np.zeros(operands.taps, np.int64)
    for t in range(operands.taps):
        found = np.unique(distance[operands.there[:, t], t])
        if len(found) > 1:
            return None
        shift[t] = found[0] if len(found) else 0
    rows = np.unique(operands.base[operands.there])
    if len(rows) == 0 or rows[-1] - rows[0] + 1 != len(rows):
        return None
    if operands.channels > 1 and abs(operands.step) < len(rows):
        return None
    return Shifts(shift, operands.there, operands.channels, operands.step, int(rows[0]), len(rows))


def masks_of(there: NDArray[np.bool_], lanes: int) -> Words:
    """Bits of each vector of positions, shape (vectors, taps)."""
    vectors = -(-len(there) // lanes)
    padded = np.zeros((vectors * lanes, there.shape[1]), np.bool_)
    padded[: len(there)] = there
    weights = (1 << np.arange(lanes, dtype=np.int64))[None, :, None]
    return np.asarray((padded.reshape(vectors, lanes, -1) * weights).sum(axis=1), np.int64)


def forward_fields(s: Shifts, dst: int, weights: Words, bias: int, lanes: int, keep: Keep) -> list[int]:
    """What ``conv_one`` reads for the forward pass."""
    places, taps = s.there.shape
    n = taps * s.channels
    head = [len(weights), dst, places, int(weights[0]), n, bias, 0, s.channels, s.step, taps]
    return [*head, *_lists(s.shift, np.arange(taps), s.there, lanes, keep)]


def backward_fields(s: Shifts, upstream: int, weights: Words, to: int, lanes: int, keep: Keep) -> list[int]:
    """What ``conv_one`` reads for the adjoints of the operands; `to` is that of the first row. They are added to."""
    places, taps = s.there.shape
    n = taps * s.channels
    there = np.zeros((s.count, taps), np.bool_)
    for t in range(taps):
        there[np.flatnonzero(s.there[:, t]) + s.shift[t] - s.first, t] = True
    head = [s.channels, to, s.step, int(weights[0]), taps, -1, 1, len(weights), places, n]
    return [*head, *_lists(upstream + s.first - s.shift, np.arange(taps), there, lanes, keep)]


def outer_fields(s: Shifts, lanes: int, keep: Keep) -> tuple[int, int]:
    """Tiles of columns and vectors of all places, as ``conv_outer_one`` wants them."""
    ends = _ends(len(s.there), lanes)
    masks = masks_of(s.there, lanes)
    taps = masks.shape[1]
    columns = [(c * s.step + s.shift[t], t) for c in range(s.channels) for t in range(taps)]
    kept: dict[tuple[int, ...], int] = {}
    table: list[int] = []
    for j in range(0, len(columns), COLUMNS):
        rows, chosen = zip(*columns[j : j + COLUMNS], strict=True)
        if chosen not in kept:  # one vector after the other, the masks of its columns behind that of the places
            kept[chosen] = keep(np.column_stack([ends, masks[:, chosen]]).ravel())
        table += [kept[chosen], *(int(row) for row in rows)]
    return keep(np.array(table, np.int64)), len(masks)


def _lists(rows: Words, weights: Words, there: NDArray[np.bool_], lanes: int, keep: Keep) -> list[int]:
    masks = masks_of(there, lanes)
    taps = keep(np.stack([rows, weights], axis=1).ravel())
    return [len(masks), len(rows), taps, keep(masks.T.ravel()), keep(_ends(len(there), lanes)), len(there) // lanes]


def _ends(places: int, lanes: int) -> Words:
    return masks_of(np.ones((places, 1), np.bool_), lanes)[:, 0]


WEIGHTS = 64
"""Of a place; below, a call for each place costs more than lanes that are empty."""


def are_layers(program: Program, i: Instruction) -> bool:
    """Whether the places of a convolution are as quick as layers: neighbours, none left out, and enough of them."""
    zeros = program.constant_rows[program.constants == 0.0]
    size = i.args.shape[1] * len(i.weights)
    return size >= WEIGHTS and bool((np.diff(i.args, axis=1) == 1).all()) and not np.isin(i.args, zeros).any()


def places(i: Instruction) -> list[Matrix]:
    """The layers of its places; with one sample, results of one place stand a row of places apart."""
    (count, n), ends = i.args.shape, i.dst + i.count
    return [
        Matrix(range(i.dst + p, ends, count), rows, int(i.weights[0]), n, 1, i.bias) for p, rows in enumerate(i.args)
    ]


def can_be_compact(program: Program) -> bool:
    """Whether every kernel has a form for rows that are single numbers, and one that is fast."""
    for i in program.instructions:
        if i.kind == "conv":
            if are_layers(program, i):
                continue
            operands = _operands(program, i)
            wanted = program.needs_gradient[operands.base[operands.there]]
            if shifts_of(operands) is None or wanted.any() != wanted.all():
                return False
    return True


def _operands(program: Program, i: Instruction) -> Operands:
    """The operands of a convolution; all channels of one want a gradient, or none."""
    zeros = np.zeros(program.n_rows, np.bool_)
    zeros[program.constant_rows[program.constants == 0.0]] = True
    wanted = program.needs_gradient[i.args]
    operands = channels_of(i.args, zeros[i.args])
    planes = wanted.reshape(len(wanted), operands.channels, -1)
    return operands if (planes == planes[:, :1]).all() else Operands(i.args, ~zeros[i.args], 1, 0)


def _shifts(w: Writer, operands: Operands) -> Shifts | None:
    return shifts_of(operands) if w.lanes else None


def _sums(w: Writer, sums: Sums) -> int:
    """Put the description of a convolution into the pool; returns its offset."""
    lists = [w.keep(part.ravel()) for part in (sums.to, sums.starts, sums.entries)]
    numbers = [sums.outputs, sums.to_step, sums.weight_step, sums.weight, sums.bias, sums.adding]
    return w.keep([*numbers, sums.run, sums.row_step, sums.run_step, len(sums.to), *lists])


def conv_forward(w: Writer, i: Instruction) -> Lines:
    """Lines of a convolution."""
    if w.lanes and are_layers(w.program, i):
        return [line for m in places(i) for line in matrix_forward(w, m)]
    operands = _operands(w.program, i)
    shifts = _shifts(w, operands)
    if shifts is None:
        fields = _sums(w, forward_sums(operands, i.dst, i.weights, i.bias))
    else:
        fields = w.keep(forward_fields(shifts, i.dst, i.weights, i.bias, w.lanes, w.keep))
    return [[*w.kernel("conv"), fields]]


def conv_backward(w: Writer, i: Instruction) -> Lines:
    """Lines that add up its weights' gradients, and carry the adjoints of its results to its operands."""
    if w.lanes and are_layers(w.program, i):
        given = [(m, m.upstream(w)) for m in places(i)]
        return [line for m, up in given for line in rows_outer(w, m, up) + matrix_backward(w, m, up)]
    program, operands, upstream = w.program, _operands(w.program, i), w.adjoint(i.dst)
    shifts = _shifts(w, operands)
    head = [upstream, len(i.weights), i.args.shape[0]]
    tail = [i.args.shape[1], int(i.weights[0]), i.bias]
    if shifts is None:
        ones = w.keep([w.ones])
        lines = [[*w.kernel("conv_outer"), *head, w.keep(i.args.ravel()), *tail, ones]]
    else:
        columns, vectors = outer_fields(shifts, w.lanes, w.keep)
        lines = [[*w.kernel("conv_outer"), *head, columns, *tail, vectors]]
    targets = np.unique(i.args[w.wanted(i.args)])
    if len(targets) == 0:
        return lines
    lines += w.zeros([int(r) for r in targets if int(r) not in w.written])
    if shifts is None:
        sums = backward_sums(operands, upstream, i.weights, program.needs_gradient, program.n_rows)
        return [*lines, [*w.kernel("conv"), _sums(w, sums)]]
    fields = backward_fields(shifts, upstream, i.weights, w.adjoint(shifts.first), w.lanes, w.keep)
    return [*lines, [*w.kernel("conv"), w.keep(fields)]]


def max_forward(w: Writer, i: Instruction) -> Lines:
    """Lines of maxima."""
    windows = windows_of(i.args) if w.lanes else None
    if windows is not None:
        return [_windows_line(w, "windows", i, windows)]
    return [[*w.kernel("maxima"), i.dst, i.count, w.keep(i.args.ravel()), i.args.shape[1]]]


def _windows_line(w: Writer, kernel: str, i: Instruction, windows: Windows) -> list[int]:
    runs = windows.first
    return [*w.kernel(kernel), i.dst, windows.width, windows.down, w.keep(runs), len(runs)]


def max_backward(w: Writer, i: Instruction) -> Lines:
    """Lines that carry the adjoint of a maximum to the first operand that is the largest."""
    rows = i.args.ravel()
    wanted = w.wanted(rows)
    windows = windows_of(i.args) if w.lanes and wanted.all() else None
    if windows is not None:
        lines, adding = w.adding(rows.tolist())
        return [*lines, [*_windows_line(w, "windows_back", i, windows), w.adjoint(i.dst), int(adding)]]
    targets = rows[wanted].tolist()
    fresh = [r for r in targets if r not in w.written]
    storing = i.args.shape[1] == 4 and len(set(fresh)) == rows.size
    lines = [] if storing else w.zeros(sorted(set(fresh)))
    w.written.update(targets)
    adjoints = w.keep(np.where(wanted, rows + w.program.n_rows, -1))
    fields = [i.dst, i.count, w.keep(rows), i.args.shape[1], w.adjoint(i.dst), adjoints, int(storing)]
    return [*lines, [*w.kernel("maxima_back"), *fields]]
