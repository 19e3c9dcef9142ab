"""The encoding of convolutions and maxima: row by row for a batch, along positions for one sample.

`Operands` separates the channels of a convolution. `Shifts` are convolutions of one sample in which neighbouring
positions read neighbouring rows. If each place is a layer (such as letters of a text), it is encoded as a layer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....tape import Instruction, Program
from ..vector.capability import COLUMNS
from .sums import Matrix, matrix_backward, matrix_forward, products, rows_outer, weighted_forward
from .writer import Lines, Writer

Words = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Operands:
    """The operands of a convolution, channels apart: ``rows[p, c*taps + t] = base[p, t] + c*step``."""

    base: Words
    there: NDArray[np.bool_]  # False if the operand is the constant 0 in every channel
    channels: int
    step: int

    @property
    def taps(self) -> int:
        """Operands of one channel."""
        return int(self.base.shape[1])


def channels_of(rows: Words, zero: NDArray[np.bool_]) -> Operands:
    """Return the largest number of channels that fits a table (places, n) of operands; `zero` marks rows of 0."""
    n = rows.shape[1]
    for channels in (c for c in range(n, 1, -1) if n % c == 0):
        planes = rows.reshape(len(rows), channels, -1)
        gone = zero.reshape(planes.shape)
        steps = np.diff(planes, axis=1)[~gone[:, 1:]]
        if (gone == gone[:, :1]).all() and len(steps) and (steps == steps[0]).all() and steps[0] != 0:
            return Operands(planes[:, 0], ~gone[:, 0], channels, int(steps[0]))
    return Operands(rows, ~zero, 1, 0)


def _keep_sums(w: Writer, head: list[int], to: Words, counts: Words, entries: Words) -> int:
    """Put what ``conv`` reads into the pool, forward or backward; return its offset.

    The head: outputs, to_step, weight_step, weight, bias, adding, run, row_step, run_step. Output i of place
    p is row ``to[p] + i * to_step``, and its weights begin ``i * weight_step`` further on. `counts` says how
    many entries each place has: row and weight (counted from `weight`) with which a run of rows begins.
    """
    starts = np.concatenate([[0], np.cumsum(counts)])
    return w.keep([*head, len(to), *(w.keep(part.ravel()) for part in (to, starts, entries))])


def forward_sums(w: Writer, table: Operands, i: Instruction) -> int:
    """Return the entries of the forward pass."""
    places, n = len(table.base), table.taps * table.channels
    place, tap = np.nonzero(table.there)
    head = [len(i.weights), places, n, int(i.weights[0]), i.bias, 0, table.channels, table.step, table.taps]
    entries = np.stack([table.base[place, tap], tap], axis=1)
    return _keep_sums(w, head, i.dst + np.arange(places), np.bincount(place, minlength=places), entries)


def backward_sums(w: Writer, table: Operands, i: Instruction) -> int:
    """Return the entries that add its gradients to its operands; all channels of an operand get a gradient, or none."""
    places, n = len(table.base), table.taps * table.channels
    there = table.there & w.need_gradients(np.where(table.there, table.base, 0))
    place, tap = np.nonzero(there)
    operand = table.base[place, tap]
    order = np.argsort(operand, kind="stable")
    found, counts = np.unique(operand, return_counts=True)
    head = [table.channels, table.step, table.taps, int(i.weights[0]), -1, 1, len(i.weights), places, n]
    entries = np.stack([w.adjoint(i.dst) + place[order], tap[order]], axis=1)
    return _keep_sums(w, head, found + w.program.n_rows, counts, entries)


@dataclass(frozen=True, slots=True)
class Shifts:
    """Operands as distances: position p reads row ``p + shift[t]`` (``+ c*step``) at tap t where ``there[p, t]``.

    The rows of channel 0 that are read are neighbours: `count` of them from `first` on.
    """

    shift: Words
    there: NDArray[np.bool_]
    channels: int
    step: int
    first: int
    count: int


def shifts_of(operands: Operands) -> Shifts | None:
    """Return the operands as distances, or None if they do not have this form."""
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
    """Return the bits of each vector of positions, shape (vectors, taps)."""
    vectors = -(-len(there) // lanes)
    padded = np.zeros((vectors * lanes, there.shape[1]), np.bool_)
    padded[: len(there)] = there
    weights = (1 << np.arange(lanes, dtype=np.int64))[None, :, None]
    return np.asarray((padded.reshape(vectors, lanes, -1) * weights).sum(axis=1), np.int64)


def forward_fields(w: Writer, s: Shifts, i: Instruction) -> int:
    """Put the list of ``conv_one`` for the forward pass into the pool; return its offset."""
    places, taps = s.there.shape
    n = taps * s.channels
    head = [len(i.weights), i.dst, places, int(i.weights[0]), n, i.bias, 0, s.channels, s.step, taps]
    return _keep_shifts(w, head, s.shift, s.there)


def backward_fields(w: Writer, s: Shifts, i: Instruction) -> int:
    """Put its list for the gradients of the operands into the pool; return its offset."""
    places, taps = s.there.shape
    n, first = taps * s.channels, s.first
    there = np.zeros((s.count, taps), np.bool_)
    for t in range(taps):
        there[np.flatnonzero(s.there[:, t]) + s.shift[t] - first, t] = True
    head = [s.channels, w.adjoint(first), s.step, int(i.weights[0]), taps, -1, 1, len(i.weights), places, n]
    return _keep_shifts(w, head, w.adjoint(i.dst) + first - s.shift, there)


def _keep_shifts(w: Writer, head: list[int], rows: Words, there: NDArray[np.bool_]) -> int:
    masks, n = masks_of(there, w.layout.lanes), len(rows)
    taps = w.keep(np.stack([rows, np.arange(n)], axis=1).ravel())
    ends = w.keep(_ends(len(there), w.layout.lanes))
    return w.keep([*head, len(masks), n, taps, w.keep(masks.T.ravel()), ends, len(there) // w.layout.lanes])


def outer_fields(w: Writer, s: Shifts) -> tuple[int, int]:
    """Return the tiles of columns and vectors of all places, in the form of ``conv_outer_one``."""
    ends, masks = _ends(len(s.there), w.layout.lanes), masks_of(s.there, w.layout.lanes)
    taps = masks.shape[1]
    columns = [(c * s.step + s.shift[t], t) for c in range(s.channels) for t in range(taps)]
    kept: dict[tuple[int, ...], int] = {}
    table: list[int] = []
    for j in range(0, len(columns), COLUMNS):
        rows, chosen = zip(*columns[j : j + COLUMNS], strict=True)
        if chosen not in kept:  # vector after vector; the masks of its columns follow those of the places
            kept[chosen] = w.keep(np.column_stack([ends, masks[:, chosen]]).ravel())
        table += [kept[chosen], *(int(row) for row in rows)]
    return w.keep(table), len(masks)


def _ends(places: int, lanes: int) -> Words:
    return masks_of(np.ones((places, 1), np.bool_), lanes)[:, 0]


WEIGHTS = 64
"""The most weights of a place; below, a call per place costs more than unused lanes."""


def are_layers(program: Program, i: Instruction) -> bool:
    """Return whether the places of a convolution are as fast as layers: enough neighbours, without gaps."""
    zeros = program.constant_rows[program.constants == 0.0]
    size = i.args.shape[1] * len(i.weights)
    return size >= WEIGHTS and bool((np.diff(i.args, axis=1) == 1).all()) and not np.isin(i.args, zeros).any()


def places(i: Instruction) -> list[Matrix]:
    """Return the layers of its places; with one sample, results of one place stand a row of places apart."""
    (count, n), ends = i.args.shape, i.dst + i.count
    return [
        Matrix(range(i.dst + p, ends, count), rows, int(i.weights[0]), n, 1, i.bias) for p, rows in enumerate(i.args)
    ]


def can_be_compact(program: Program) -> bool:
    """Return whether every kernel has a form for rows of single numbers, and at least one of them is fast."""
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
    """Return the operands of a convolution; all channels of one want a gradient, or none."""
    zeros = np.zeros(program.n_rows, np.bool_)
    zeros[program.constant_rows[program.constants == 0.0]] = True
    wanted = program.needs_gradient[i.args]
    operands = channels_of(i.args, zeros[i.args])
    planes = wanted.reshape(len(wanted), operands.channels, -1)
    return operands if (planes == planes[:, :1]).all() else Operands(i.args, ~zeros[i.args], 1, 0)


def conv_forward(w: Writer, i: Instruction) -> Lines:
    """Return lines of a convolution."""
    if (alone := products(i)) is not None:
        return weighted_forward(w, alone)
    if w.layout.lanes and are_layers(w.program, i):
        return [line for m in places(i) for line in matrix_forward(w, m)]
    operands = _operands(w.program, i)
    shifts = shifts_of(operands) if w.layout.lanes else None
    fields = forward_sums(w, operands, i) if shifts is None else forward_fields(w, shifts, i)
    return [[*w.kernel("conv"), fields]]


def conv_backward(w: Writer, i: Instruction) -> Lines:
    """Return lines that add up the gradients of its weights, and add those of its results to its operands."""
    if w.layout.lanes and are_layers(w.program, i):
        given = [(m, m.upstream(w)) for m in places(i)]
        return [line for m, up in given for line in rows_outer(w, m, up) + matrix_backward(w, m, up)]
    operands = _operands(w.program, i)
    shifts = shifts_of(operands) if w.layout.lanes else None
    if shifts is None:
        table, last = w.keep(i.args.ravel()), w.keep([w.ones])
    else:
        table, last = outer_fields(w, shifts)
    head = [*w.kernel("conv_outer"), w.adjoint(i.dst), len(i.weights), i.args.shape[0], table, i.args.shape[1]]
    lines: Lines = [[*head, int(i.weights[0]), i.bias, last]]
    targets = np.unique(i.args[w.need_gradients(i.args)])
    if len(targets) == 0:
        return lines
    lines += w.zeros([int(r) for r in targets if int(r) not in w.written])
    fields = backward_sums(w, operands, i) if shifts is None else backward_fields(w, shifts, i)
    return [*lines, [*w.kernel("conv"), fields]]


def max_forward(w: Writer, i: Instruction) -> Lines:
    """Return lines of maxima."""
    windows = w.layout.lanes and windows_of(i.args)
    if windows:
        return [[*w.kernel("windows"), i.dst, *windows[:2], w.keep(windows[2]), len(windows[2])]]
    return [[*w.kernel("maxima"), i.dst, i.count, w.keep(i.args.ravel()), i.args.shape[1]]]


def max_backward(w: Writer, i: Instruction) -> Lines:
    """Return lines that add the gradient of a maximum to the first operand that is the largest."""
    rows = i.args.ravel()
    wanted = w.need_gradients(rows)
    windows = w.layout.lanes and wanted.all() and windows_of(i.args)
    if windows:
        lines, adding = w.adding(rows.tolist())
        fields = [*windows[:2], w.keep(windows[2]), len(windows[2]), w.adjoint(i.dst), int(adding)]
        return [*lines, [*w.kernel("windows_back"), i.dst, *fields]]
    targets = rows[wanted].tolist()
    fresh = [r for r in targets if r not in w.written]
    storing = i.args.shape[1] == 4 and len(set(fresh)) == rows.size
    lines = [] if storing else w.zeros(sorted(set(fresh)))
    w.written.update(targets)
    adjoints = w.keep(np.where(wanted, rows + w.program.n_rows, -1))
    fields = [i.dst, i.count, w.keep(rows), i.args.shape[1], w.adjoint(i.dst), adjoints, int(storing)]
    return [*lines, [*w.kernel("maxima_back"), *fields]]


def windows_of(rows: Words) -> tuple[int, int, Words] | None:
    """Return the operands of maxima, shape (maxima, n), as runs of 2 x 2 windows; None if they are not, or overlap.

    Returns the windows of a run, the distance of the lower rows, and where each run begins; window j is 2*j rows on.
    """
    if rows.shape[1] != 4 or len(np.unique(rows)) < rows.size:
        return None
    corner, down = rows[:, 0], int(rows[0, 2] - rows[0, 0])
    if (rows - corner[:, None] != [0, 1, down, down + 1]).any():
        return None
    starts = np.append(np.flatnonzero(np.diff(corner, prepend=corner[0]) != 2), len(corner))
    widths = np.diff(starts)
    return (int(widths[0]), down, corner[starts[:-1]]) if (widths == widths[0]).all() else None
