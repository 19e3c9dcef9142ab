"""Whole training steps in one compiled call.

These functions carry no decorator: the loader wraps them when a dtype is first wanted (see
:mod:`scalarviz.engine.cpu.loader`). A *machine* is an encoded program with its workspace, as a tuple of arrays

``(forward, backward, pool, numbers, constant_rows, constants, input_rows, input_index, outputs, place)``

where ``place`` holds: address of the workspace, rows of the program, lanes of a block, row of the loss, the row
stride in bytes at present, 1 if the inputs lie in their rows already. A row stride fits the lanes at work, so that
neighbouring rows are neighbours in memory.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .interpreter import backward, forward
from .order import batch_order
from .tiles import SUMS, fill, row_of

BASE, ROWS, BLOCK, LOSS, STRIDE, FILLED = range(6)
LINE = 64
"""Rows begin at cache lines, which are also the widest vectors."""


@njit(error_model="numpy")
def prepare(machine, lanes, tile):
    """The workspace for `lanes` lanes: constants and padding are written when the row stride changes."""
    constant_rows, constants, place = machine[4], machine[5], machine[9]
    stride = (lanes * tile.itemsize + LINE - 1) // LINE * LINE
    spare = 2 * place[ROWS]
    if stride != place[STRIDE]:
        place[STRIDE] = stride
        place[FILLED] = 0
        width = stride // tile.itemsize
        fill(row_of(place[BASE], stride, spare, width, tile), tile.dtype.type(0))
        fill(row_of(place[BASE], stride, spare + 1, width, tile), tile.dtype.type(1))
        for i in range(len(constant_rows)):
            fill(row_of(place[BASE], stride, constant_rows[i], width, tile), constants[i])
    return place[BASE], stride, lanes, spare, tile


@njit(error_model="numpy")
def copy(to, source):
    """``to = source``."""
    for i in range(len(to)):
        to[i] = source[i]


@njit(error_model="numpy")
def gather(to, source, indices):
    """``to = source[indices]``."""
    for i in range(len(to)):
        to[i] = source[indices[i]]


@njit(error_model="numpy", fastmath=SUMS)
def sum_in_double(row):
    """Sum of a row in float64 (1,024 losses in float32 lose three digits)."""
    total = 0.0
    for i in range(len(row)):
        total += np.float64(row[i])
    return total


@njit(error_model="numpy")
def run_prologue(machine, theta, n, tile):
    """Compute the derived parameters, ``theta[n:]``, on one lane."""
    table, _, pool, numbers, _, _, _, _, outputs, place = machine
    space = prepare(machine, 1, tile)
    forward(table, pool, numbers, space, theta)
    for i in range(len(outputs)):
        theta[n + i] = row_of(place[BASE], place[STRIDE], outputs[i], 1, tile)[0]


@njit(error_model="numpy")
def prologue_back(machine, theta, grad, n, tile):
    """Carry the gradients of the derived parameters, ``grad[n:]``, to the parameters they are made of."""
    _, table, pool, numbers, _, _, _, _, outputs, place = machine
    space = prepare(machine, 1, tile)
    base, stride = place[BASE], place[STRIDE]
    for i in range(len(outputs)):  # one row may be several of them
        fill(row_of(base, stride, place[ROWS] + outputs[i], 1, tile), tile.dtype.type(0))
    for i in range(len(outputs)):
        row_of(base, stride, place[ROWS] + outputs[i], 1, tile)[0] += grad[n + i]
    backward(table, pool, numbers, space, theta, grad)


@njit(error_model="numpy")
def load_inputs(machine, data, indices, start, lanes, tile):
    """Fill the input rows: samples ``start ..`` in order (no `indices`), or those of `indices`."""
    input_rows, input_index, place = machine[6], machine[7], machine[9]
    for i in range(len(input_rows)):
        row = row_of(place[BASE], place[STRIDE], input_rows[i], lanes, tile)
        if len(indices):
            gather(row, data[input_index[i]], indices[start : start + lanes])
        else:
            copy(row, data[input_index[i], start : start + lanes])


@njit(error_model="numpy")
def run_body(machine, theta, grad, data, indices, batch, scale, tile):
    """Forward, loss and backward of one batch, block by block; returns the sum of the losses."""
    table, back, pool, numbers, _, _, _, _, _, place = machine
    loss = 0.0
    for start in range(0, batch, place[BLOCK]):
        lanes = min(place[BLOCK], batch - start)
        space = prepare(machine, lanes, tile)
        base, stride = place[BASE], place[STRIDE]
        if not place[FILLED]:
            load_inputs(machine, data, indices, start, lanes, tile)
            # a data set that is one block stays in its rows; nobody writes to them
            place[FILLED] = lanes == batch and len(indices) == 0
        forward(table, pool, numbers, space, theta)
        loss += sum_in_double(row_of(base, stride, place[LOSS], lanes, tile))
        fill(row_of(base, stride, place[ROWS] + place[LOSS], lanes, tile), scale)
        backward(back, pool, numbers, space, theta, grad)
    return loss


@njit(error_model="numpy")
def update(machine, hyper, columns, n, trained, all_trained, tile):
    """The optimiser's step, with the parameters as lanes. `columns`: addresses of values, gradients and states."""
    table, _, pool, numbers, _, _, input_rows, input_index, outputs, place = machine
    size = tile.itemsize
    for start in range(0, n, place[BLOCK]):
        lanes = min(place[BLOCK], n - start)
        space = prepare(machine, lanes, tile)
        base, stride = place[BASE], place[STRIDE]
        for i in range(len(input_rows)):
            column = row_of(columns[input_index[i]] + start * size, 0, 0, lanes, tile)
            copy(row_of(base, stride, input_rows[i], lanes, tile), column)
        forward(table, pool, numbers, space, hyper)
        for i in range(len(outputs)):
            column = row_of(columns[0 if i == 0 else i + 1] + start * size, 0, 0, lanes, tile)
            row = row_of(base, stride, outputs[i], lanes, tile)
            if all_trained:
                copy(column, row)
            else:
                for k in range(lanes):
                    if trained[start + k]:
                        column[k] = row[k]


def train(body, prologue, updater, theta, grad, values, n, previous, columns, data, batch, order, scale, trained,
          hyper, first, losses, commit):  # fmt: skip
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
    tile = np.empty(16, theta.dtype)
    indices = np.empty(batch if batch < data.shape[1] else 0, np.int64)
    derived = len(theta) - n
    all_trained = trained.all()
    body[9][FILLED] = 0  # the data may have changed since the last call
    for step in range(len(losses)):
        if len(indices):
            batch_order(indices, first + step, data.shape[1], order[0], order[1])
        fill(grad, theta.dtype.type(0))
        if derived:
            copy(theta[:n], values)
            run_prologue(prologue, theta, n, tile)
        losses[step] = run_body(body, theta, grad, data, indices, batch, scale, tile)
        if derived:
            prologue_back(prologue, theta, grad, n, tile)
        if commit:
            if step == len(losses) - 1:
                copy(previous, values)
            update(updater, hyper[step], columns, n, trained, all_trained, tile)


def evaluate(body, prologue, theta, n, data, found):
    """Forward alone: ``found[i]`` receives the program's output i for every sample."""
    tile = np.empty(16, theta.dtype)
    outputs, place = body[8], body[9]
    samples = data.shape[1]
    nowhere = np.empty(0, np.int64)
    if len(theta) > n:
        run_prologue(prologue, theta, n, tile)
    for start in range(0, samples, place[BLOCK]):
        lanes = min(place[BLOCK], samples - start)
        space = prepare(body, lanes, tile)
        load_inputs(body, data, nowhere, start, lanes, tile)
        forward(body[0], body[2], body[3], space, theta)
        for i in range(len(outputs)):
            copy(found[i, start : start + lanes], row_of(place[BASE], place[STRIDE], outputs[i], lanes, tile))
