"""Whole training steps in one compiled call.

Below the two functions that Python calls everything goes by address (see ``body``).

:func:`train` and :func:`evaluate` carry no decorator: the loader compiles them when a dtype is first wanted.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import njit

from ..wire import (
    ADDED,
    BACKWARD,
    BATCH,
    BLOCK,
    BLOCKS,
    CONSTANTS,
    FILLED,
    FORWARD,
    FUSED,
    HEIGHT,
    HYPER_AT,
    INPUT_INDEX,
    INPUT_ROWS,
    OUTPUTS,
    PIECE,
    PIECES,
    SEED,
    STEP,
    STORED,
    TAKER,
)
from .body import copy, join, load_inputs, prepare, run_body, run_groups, walk
from .coupled import follow, ready_blocks, run_coupled
from .intrinsics import address_of, call_kernel, row_at, size_of, word_at, zero_of
from .limits import coefficient, penalty
from .meet import gather
from .order import AHEAD, orders
from .taken import clear_rest, know_update, update_rest
from .tiles import Row, Words, fill, row_of

Reals = Any


@njit(error_model="numpy")
def run_prologue(space: Words, theta: Row, grad: Row, n: int) -> None:
    """Compute the derived parameters, ``theta[n:]``, on one lane."""
    outputs = word_at(space[OUTPUTS])
    prepare(space, 1, theta)
    walk(space, FORWARD, theta, grad, 1)
    for i in range(space[OUTPUTS + 1]):
        theta[n + i] = row_of(space, outputs[i], theta)[0]


@njit(error_model="numpy")
def prologue_back(space: Words, theta: Row, grad: Row, n: int) -> None:
    """Carry the gradients of the derived parameters, ``grad[n:]``, to the parameters they are made of."""
    outputs, count = word_at(space[OUTPUTS]), space[OUTPUTS + 1]
    for i in range(count):  # one row may be several of them
        row_of(space, space[HEIGHT] + outputs[i], theta)[0] = 0
    for i in range(count):
        row_of(space, space[HEIGHT] + outputs[i], theta)[0] += grad[n + i]
    walk(space, BACKWARD, theta, grad, 1)


@njit(error_model="numpy")
def update(space: Words, hyper: Row, columns: Words, n: int, trained: Any) -> None:
    """The optimiser's step: of all weights by one program, or piece by piece, each by that of its parameter group.

    `columns`: addresses of values, gradients and states. `trained`: flags, or nothing where all are trained.
    """
    pieces, piece = space[PIECES + 1] // PIECE, space[PIECES]
    if pieces == 0:
        update_some(space, hyper, columns, 0, n, trained)
    for _ in range(pieces):
        line = word_at(piece)
        numbers = row_at(address_of(hyper) + line[3] * size_of(hyper), hyper)
        if line[4] >= 0:
            numbers[line[4]] = hyper[line[4]]
        update_some(word_at(line[2]), numbers, columns, line[0], line[1], trained)
        piece += 8 * PIECE


@njit(error_model="numpy")
def update_some(space: Words, hyper: Row, columns: Words, first: int, n: int, trained: Any) -> None:
    """That of `n` weights from `first` on, with the parameters as lanes."""
    if space[FUSED] and len(trained) == 0:
        last = space[INPUT_ROWS + 1] - 1  # a state that there is none of is any column; the kernel leaves it alone
        on = first * size_of(hyper)
        call_kernel(
            space[FUSED], columns[0] + on, columns[1] + on, columns[min(2, last)] + on, columns[min(3, last)] + on,
            space[CONSTANTS], address_of(hyper), n, 0,
        )  # fmt: skip
        return
    rows, numbers, outputs = word_at(space[INPUT_ROWS]), word_at(space[INPUT_INDEX]), word_at(space[OUTPUTS])
    for start in range(first, first + n, space[BLOCK]):
        lanes = min(space[BLOCK], first + n - start)
        prepare(space, lanes, hyper)
        offset = start * size_of(hyper)
        for i in range(space[INPUT_ROWS + 1]):
            copy(row_of(space, rows[i], hyper), row_at(columns[numbers[i]] + offset, hyper), lanes)
        walk(space, FORWARD, hyper, hyper, lanes)
        for i in range(space[OUTPUTS + 1]):
            row, column = row_of(space, outputs[i], hyper), row_at(columns[i + 1 if i else 0] + offset, hyper)
            if len(trained) == 0:
                copy(column, row, lanes)
            else:
                for k in range(lanes):
                    if trained[start + k]:
                        column[k] = row[k]


def train(
    body: Words, prologue: Words, updater: Words, theta: Reals, grad: Reals, values: Reals, previous: Reals,
    columns: Words, feed: Any, samples: int, ahead: bool, batch: int, order: tuple[Words, Words], scales: Reals,
    trained: Any, hyper: Reals,
    first: int, losses: Any, commit: bool, buffers: Reals, parts: Any, limits: Any, penalties: Any, tracks: Any,
    factors: Any, team: Words, worker: int, workers: int,
) -> None:  # fmt: skip
    """``len(losses)`` steps; the first is step number `first`, counting from 0.

    Several workers call it at the same time, each with a body of its own and everything else shared.

    Parameters
    ----------
    body, prologue, updater : ndarray of int64
        Machines.
    theta, grad : ndarray, shape (n + derived,)
        Parameters and gradients with the derived ones behind them.
    values : ndarray, shape (n,)
        The live parameters (`theta` itself where nothing is derived).
    previous : ndarray, shape (n,)
        Receives the values before the last step.
    columns : ndarray of int64
        Addresses of values, gradients and states of the parameters.
    feed : ndarray of int64, shape (lines, FEED)
        See ``compiled/load``.
    samples : int
        How many the steps choose from.
    ahead : bool
        The feed has the batches of these steps one behind the other, and nothing else.
    batch : int
    order : (seed words, network shape)
        See :func:`.order.orders`.
    scales : ndarray, shape (steps,)
        Adjoint of one sample's loss, in each step.
    trained : ndarray of bool, shape (n,)
        Or nothing where all parameters are trained.
    hyper : ndarray, shape (steps, numbers)
        What the update takes for its theta, one row a step.
    losses : ndarray of float64, shape (steps,)
        Receives the sums of the losses.
    commit : bool
        False: gradients only, no update.
    buffers : ndarray, shape (groups - 1, n + derived)
        Room for the gradients of each group of blocks but the first.
    parts : ndarray of float64, shape (groups,)
        Room for the losses of the groups; none: all goes to `grad` at once.
    limits : ndarray of float64, shape (5,)
        See ``compiled/limits``.
    penalties : ndarray of float64, shape (steps,)
        Receives what is added to the losses of a whole batch; or nothing where that is nothing.
    tracks : ndarray of int64, shape (tracks, 3)
    factors : ndarray of float64, shape (tracks, 2)
        See :func:`.coupled.follow`.
    team : ndarray of int64
        See :mod:`scalarviz.engine.cpu.team`; no arrivals yet.
    worker, workers : int
        Which of how many.
    """
    n, lines = len(values), len(feed)
    size, chosen, groups = len(theta), not ahead and (batch < samples or order[1][2] == 0), len(parts)
    known = max(1, AHEAD // batch)  # steps whose samples are looked up at once
    indices = np.empty(known * batch if chosen else 0, np.int64)
    theta_at, grad_at = row_at(theta.ctypes.data, theta), row_at(grad.ctypes.data, theta)
    value_at, previous_at = row_at(values.ctypes.data, theta), row_at(previous.ctypes.data, theta)
    buffer_at, feed_at = row_at(buffers.ctypes.data, theta), word_at(feed.ctypes.data)
    body_at, prologue_at = word_at(body.ctypes.data), word_at(prologue.ctypes.data)
    ids, on = 0, 0
    hyper_at, hyper_line = hyper.ctypes.data, hyper.shape[1] * hyper.itemsize
    arrivals, team_at = 0, word_at(team.ctypes.data)
    body_at[FILLED] = 0  # the data may have changed since the last call
    body_at[SEED] = order[0].ctypes.data
    if body_at[BLOCKS]:
        ready_blocks(body_at, theta_at, batch, groups, worker, workers)
    # gradients of a step that is one block, and no derived ones: whole as soon as an instruction has computed them
    whole = groups == 0 and body_at[BLOCKS] == 0 and batch <= body_at[BLOCK]
    at_once = whole and commit and unseen(word_at(updater.ctypes.data), n, size, trained, limits, penalties)
    know_update(body_at, word_at(updater.ctypes.data), word_at(columns.ctypes.data), len(columns) - 2)
    for step in range(len(losses)):
        body_at[STEP], body_at[HYPER_AT] = first + step, hyper_at + step * hyper_line
        now = at_once and step < len(losses) - 1  # the gradient of the last step may be looked at
        body_at[TAKER] = word_at(updater.ctypes.data)[FUSED] if now else STORED if whole else ADDED
        if chosen:
            if step % known == 0:
                steps = min(known, len(losses) - step)
                orders(indices[: steps * batch], first + step, batch, samples, order[0], order[1])
            ids = indices.ctypes.data + step % known * batch * 8
        if ahead:
            on = step * batch
            body_at[FILLED] = 0
        if worker == 0:
            begin_step(body_at, prologue_at, theta_at, grad_at, value_at, n, size)
        arrivals = gather(team_at, arrivals, workers)
        scale = scales[step]
        if body_at[BLOCKS]:
            arrivals = run_coupled(
                body_at, theta_at, grad_at, buffer_at, size, feed_at, lines, ids, on, batch, scale, parts, team_at,
                arrivals, worker, workers,
            )  # fmt: skip
        elif groups == 0:
            losses[step] = run_body(
                body_at, theta_at, grad_at, feed_at, lines, ids, on, batch, scale, 0, batch
            )  # fmt: skip
        else:
            run_groups(
                body_at, theta_at, grad_at, buffer_at, size, feed_at, lines, ids, on, batch, scale, parts, worker,
                workers,
            )  # fmt: skip
        arrivals = gather(team_at, arrivals, workers)
        if worker > 0:
            continue
        if groups:
            join(grad_at, buffer_at, groups, size)
            losses[step] = parts.sum()
        if size > n:
            prologue_back(prologue_at, theta_at, grad_at, n)
        if len(penalties):
            penalties[step] = penalty(value_at, limits)
        if now:
            update_rest(body_at, grad_at, n)
        elif commit:
            if step == len(losses) - 1:
                copy(previous_at, value_at, n)
            numbers = row_at(hyper_at + step * hyper_line, theta)
            if limits[2] >= 0:
                numbers[int(limits[4])] = coefficient(value_at, grad_at, n, trained, limits)
            update(word_at(updater.ctypes.data), numbers, word_at(columns.ctypes.data), n, trained)
            follow(body_at, value_at, tracks, factors)


@njit(error_model="numpy")
def unseen(updater: Words, n: int, size: int, trained: Any, limits: Any, penalties: Any) -> bool:
    """Whether nobody but the update looks at gradients or weights between backward and update, and all are trained."""
    return updater[FUSED] != 0 and size == n and len(trained) == 0 and limits[2] < 0 and len(penalties) == 0


@njit(error_model="numpy")
def begin_step(body: Words, prologue: Words, theta: Row, grad: Row, values: Row, n: int, size: int) -> None:
    """Zero the gradients, and compute the derived parameters where there are any."""
    if body[TAKER] == ADDED:
        fill(grad, zero_of(grad), size)
    else:
        clear_rest(body, grad, size)
    if size > n:
        copy(theta, values, n)
        run_prologue(prologue, theta, grad, n)


def evaluate(body: Words, prologue: Words, theta: Reals, n: int, feed: Any, found: Reals) -> None:
    """Forward alone: ``found[i]`` receives the program's output i for every sample; `n`, `feed` as in :func:`train`."""
    samples = found.shape[1]
    body_at, theta_at = word_at(body.ctypes.data), row_at(theta.ctypes.data, theta)
    outputs = word_at(body_at[OUTPUTS])
    body_at[BATCH] = samples  # where they depend on each other they are one block
    if len(theta) > n:
        run_prologue(word_at(prologue.ctypes.data), theta_at, theta_at, n)
    for start in range(0, samples, body_at[BLOCK]):
        lanes = min(body_at[BLOCK], samples - start)
        prepare(body_at, lanes, theta_at)
        load_inputs(body_at, word_at(feed.ctypes.data), len(feed), 0, theta.ctypes.data, start, lanes)
        walk(body_at, FORWARD, theta_at, theta_at, lanes)
        for i in range(body_at[OUTPUTS + 1]):
            to = row_at(found.ctypes.data + (i * samples + start) * found.itemsize, theta)
            copy(to, row_of(body_at, outputs[i], theta_at), lanes)


def signature(name: str, dtype: str) -> tuple[Any, ...]:
    """Argument types of :func:`train` or :func:`evaluate`."""
    real, i64 = getattr(numba, dtype), numba.int64
    reals, matrix, words = real[::1], real[:, ::1], i64[::1]
    if name == "evaluate":
        return words, words, reals, i64, i64[:, ::1], matrix
    order = numba.types.UniTuple(numba.uint64[::1], 2)
    return (
        words, words, words, reals, reals, reals, reals, words, i64[:, ::1], i64, numba.boolean, i64, order, reals,
        numba.boolean[::1], matrix, i64, numba.float64[::1], numba.boolean, matrix, numba.float64[::1],
        numba.float64[::1], numba.float64[::1], i64[:, ::1], numba.float64[:, ::1], words, i64, i64,
    )  # fmt: skip
