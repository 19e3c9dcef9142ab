"""Convolutions and maxima: for a batch row by row, and for one sample with positions as lanes where they allow it."""

from __future__ import annotations

import numpy as np

from ....tape import Instruction, Program
from .conv import Operands, Sums, backward_sums, channels_of, forward_sums
from .places import are_layers, places_backward, places_forward
from .pool import Windows, windows_of
from .shift import Shifts, backward_fields, forward_fields, outer_fields, shifts_of
from .writer import Lines, Writer


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
        return places_forward(w, i)
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
        return places_backward(w, i)
    program, operands, upstream = w.program, _operands(w.program, i), w.adjoint(i.dst)
    shifts = _shifts(w, operands)
    head = [upstream, len(i.weights), i.args.shape[0]]
    tail = [i.args.shape[1], int(i.weights[0]), i.bias]
    if shifts is None:
        ones = w.keep([2 * program.n_rows + 1])
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
