"""Whole training steps in one compiled call.

A *machine* is an encoded program with its workspace, as a tuple of arrays

``(forward, backward, pool, numbers, constant_rows, constants, input_rows, input_index, outputs, space)``

where ``space`` describes the workspace (its entries stand in :mod:`scalarviz.engine.cpu.layout`). A row stride fits
the lanes at work, so that neighbouring rows are neighbours in memory.

:func:`train` and :func:`evaluate` carry no decorator: the loader compiles them when a dtype is first wanted.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import njit

from .intrinsics import call_kernel, row_at
from .layout import BASE, BLOCK, FILLED, HEIGHT, LOSS, ROWS, SPARE, STRIDE
from .order import batch_order
from .tiles import SUMS, Row, fill

LINE = 64
"""Rows begin at cache lines, which are also the widest vectors."""

CROWDED = 1024
"""Rows this many bytes apart, or a multiple of it, would crowd into a few sets of the first-level cache."""

Machine = tuple[Any, ...]
Reals = Any
Words = Any


@njit(error_model="numpy")
def walk(table: Words, machine: Machine, theta: Reals, grad: Reals, lanes: int) -> None:
    """Run the instructions of `table` one after the other: a program forward or backward."""
    pool, numbers, space = machine[2].ctypes.data, machine[3].ctypes.data, machine[9].ctypes.data
    base, stride = machine[9][BASE], machine[9][STRIDE]
    width, line = stride // theta.itemsize, table.shape[1] * table.itemsize
    code, thetas, grads = table.ctypes.data, theta.ctypes.data, grad.ctypes.data
    for i in range(table.shape[0]):
        if table[i, 0] == ROWS:
            call_kernel(
                table[i, 1], base + table[i, 2] * stride, base + table[i, 3] * stride, base + table[i, 4] * stride,
                base + table[i, 5] * stride, base + table[i, 6] * stride, base + table[i, 7] * stride,
                (table[i, 8] - 1) * width + lanes, table[i, 9],
            )  # fmt: skip
        else:
            call_kernel(table[i, 1], code + i * line, space, pool, numbers, thetas, grads, lanes, 0)


@njit(forceinline=True)
def row_of(space: Words, row: int, like: Reals) -> Row:
    """Row number `row` of a workspace, as a pointer to the dtype of the array `like`."""
    return row_at(space[BASE] + row * space[STRIDE], like)


@njit(error_model="numpy")
def prepare(machine: Machine, lanes: int, like: Reals) -> None:
    """Ready the workspace for `lanes` lanes: constants and padding are written when the row stride changes."""
    constant_rows, constants, space = machine[4], machine[5], machine[9]
    stride = (lanes * like.itemsize + LINE - 1) // LINE * LINE
    if stride % CROWDED == 0:
        stride += LINE
    if stride == space[STRIDE]:
        return
    space[STRIDE] = stride
    space[FILLED] = 0
    width = stride // like.itemsize
    fill(row_of(space, space[SPARE], like), like.dtype.type(0), width)
    fill(row_of(space, space[SPARE] + 1, like), like.dtype.type(1), width)
    for i in range(len(constant_rows)):
        fill(row_of(space, constant_rows[i], like), constants[i], width)


@njit(error_model="numpy")
def copy(to: Row, source: Row, n: int) -> None:
    """``to = source``."""
    for i in range(n):
        to[i] = source[i]


@njit(error_model="numpy", fastmath=SUMS)
def sum_in_double(row: Row, n: int) -> float:
    """Sum of a row in float64 (1,024 losses in float32 lose three digits)."""
    total = 0.0
    for i in range(n):
        total += np.float64(row[i])
    return total


@njit(error_model="numpy")
def run_prologue(machine: Machine, theta: Reals, grad: Reals, n: int) -> None:
    """Compute the derived parameters, ``theta[n:]``, on one lane."""
    outputs, space = machine[8], machine[9]
    prepare(machine, 1, theta)
    walk(machine[0], machine, theta, grad, 1)
    for i in range(len(outputs)):
        theta[n + i] = row_of(space, outputs[i], theta)[0]


@njit(error_model="numpy")
def prologue_back(machine: Machine, theta: Reals, grad: Reals, n: int) -> None:
    """Carry the gradients of the derived parameters, ``grad[n:]``, to the parameters they are made of."""
    outputs, space = machine[8], machine[9]
    for i in range(len(outputs)):  # one row may be several of them
        row_of(space, space[HEIGHT] + outputs[i], theta)[0] = 0
    for i in range(len(outputs)):
        row_of(space, space[HEIGHT] + outputs[i], theta)[0] += grad[n + i]
    walk(machine[1], machine, theta, grad, 1)


@njit(error_model="numpy")
def load_inputs(machine: Machine, data: Reals, indices: Words, start: int, lanes: int) -> None:
    """Fill the input rows: samples ``start ..`` in order (no `indices`), or those of `indices`."""
    input_rows, input_index, space = machine[6], machine[7], machine[9]
    for i in range(len(input_rows)):
        row, source = row_of(space, input_rows[i], data), data[input_index[i]]
        if len(indices):
            for k in range(lanes):
                row[k] = source[indices[start + k]]
        else:
            copy(row, source[start:], lanes)


@njit(error_model="numpy")
def run_body(
    machine: Machine, theta: Reals, grad: Reals, data: Reals, indices: Words, batch: int, scale: Any
) -> float:  # fmt: skip
    """Forward, loss and backward of one batch, block by block; returns the sum of the losses."""
    space = machine[9]
    loss = 0.0
    for start in range(0, batch, space[BLOCK]):
        lanes = min(space[BLOCK], batch - start)
        prepare(machine, lanes, theta)
        if not space[FILLED]:
            load_inputs(machine, data, indices, start, lanes)
            # a data set that is one block stays in its rows; nobody writes to them
            space[FILLED] = lanes == batch and len(indices) == 0
        walk(machine[0], machine, theta, grad, lanes)
        loss += sum_in_double(row_of(space, space[LOSS], theta), lanes)
        fill(row_of(space, space[HEIGHT] + space[LOSS], theta), scale, lanes)
        walk(machine[1], machine, theta, grad, lanes)
    return loss


@njit(error_model="numpy")
def update(machine: Machine, hyper: Reals, columns: Words, n: int, trained: Any, all_trained: bool) -> None:
    """The optimiser's step, with the parameters as lanes. `columns`: addresses of values, gradients and states."""
    input_rows, input_index, outputs, space = machine[6], machine[7], machine[8], machine[9]
    for start in range(0, n, space[BLOCK]):
        lanes = min(space[BLOCK], n - start)
        prepare(machine, lanes, hyper)
        offset = start * hyper.itemsize
        for i in range(len(input_rows)):
            copy(row_of(space, input_rows[i], hyper), row_at(columns[input_index[i]] + offset, hyper), lanes)
        walk(machine[0], machine, hyper, hyper, lanes)
        for i in range(len(outputs)):
            row, column = row_of(space, outputs[i], hyper), row_at(columns[i + 1 if i else 0] + offset, hyper)
            if all_trained:
                copy(column, row, lanes)
            else:
                for k in range(lanes):
                    if trained[start + k]:
                        column[k] = row[k]


def train(
    body: Machine, prologue: Machine, updater: Machine, theta: Reals, grad: Reals, values: Reals, previous: Reals,
    columns: Words, data: Reals, batch: int, order: tuple[Words, Words], scale: Any, trained: Any, hyper: Reals,
    first: int, losses: Any, commit: bool,
) -> None:  # fmt: skip
    """``len(losses)`` steps; the first is step number `first`, counting from 0.

    Parameters
    ----------
    body, prologue, updater : machines
    theta, grad : ndarray, shape (n + derived,)
        Parameters and gradients with the derived ones behind them.
    values : ndarray, shape (n,)
        The live parameters (`theta` itself where nothing is derived).
    previous : ndarray, shape (n,)
        Receives the values before the last step.
    columns : ndarray of int64
        Addresses of values, gradients and states of the parameters.
    data : ndarray, shape (numbers of a sample, N)
    batch : int
    order : (seed words, network shape)
        Of the epoch order.
    scale : scalar
        Adjoint of one sample's loss.
    trained : ndarray of bool, shape (n,)
    hyper : ndarray, shape (steps, numbers)
        What the update takes for its theta, one row a step.
    losses : ndarray of float64, shape (steps,)
        Receives the sums of the losses.
    commit : bool
        False: gradients only, no update.
    """
    indices = np.empty(batch if batch < data.shape[1] else 0, np.int64)
    n = len(values)
    derived = len(theta) > n
    all_trained = trained.all()
    body[9][FILLED] = 0  # the data may have changed since the last call
    for step in range(len(losses)):
        if len(indices):
            batch_order(indices, first + step, data.shape[1], order[0], order[1])
        fill(grad, theta.dtype.type(0), len(grad))
        if derived:
            copy(theta, values, n)
            run_prologue(prologue, theta, grad, n)
        losses[step] = run_body(body, theta, grad, data, indices, batch, scale)
        if derived:
            prologue_back(prologue, theta, grad, n)
        if commit:
            if step == len(losses) - 1:
                copy(previous, values, n)
            update(updater, hyper[step], columns, n, trained, all_trained)


def evaluate(body: Machine, prologue: Machine, theta: Reals, n: int, data: Reals, found: Reals) -> None:
    """Forward alone: ``found[i]`` receives the program's output i for every sample; `n` as in :func:`train`."""
    outputs, space = body[8], body[9]
    samples = data.shape[1]
    nowhere = np.empty(0, np.int64)
    if len(theta) > n:
        run_prologue(prologue, theta, theta, n)
    for start in range(0, samples, space[BLOCK]):
        lanes = min(space[BLOCK], samples - start)
        prepare(body, lanes, theta)
        load_inputs(body, data, nowhere, start, lanes)
        walk(body[0], body, theta, theta, lanes)
        for i in range(len(outputs)):
            copy(found[i, start:], row_of(space, outputs[i], theta), lanes)


def signature(name: str, dtype: str) -> tuple[Any, ...]:
    """Argument types of :func:`train` or :func:`evaluate`."""
    real, i64 = getattr(numba, dtype), numba.int64
    reals, matrix, words, table = real[::1], real[:, ::1], i64[::1], i64[:, ::1]
    machine = numba.types.Tuple((table, table, words, reals, words, reals, words, words, words, words))
    if name == "evaluate":
        return machine, machine, reals, i64, matrix, matrix
    order = numba.types.UniTuple(numba.uint64[::1], 2)
    return (
        machine, machine, machine, reals, reals, reals, reals, words, matrix, i64, order, real, numba.boolean[::1],
        matrix, i64, numba.float64[::1], numba.boolean,
    )  # fmt: skip
