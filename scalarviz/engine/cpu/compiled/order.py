"""Which samples a step trains on, in compiled code: the integer functions of :mod:`scalarviz.rng`, wrapped."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from .... import rng

philox4x32 = njit(rng.philox4x32)
feistel = njit(forceinline=True)(rng.feistel)
drawn = njit(forceinline=True)(rng.drawn)
WORD, HALF = rng.WORD, rng.HALF
M0, M1, W0, W1, S16 = rng.M0, rng.M1, rng.W0, rng.W1, rng.S16
ZERO, ONE = np.uint64(0), np.uint64(1)
ORDER, SAMPLING = np.uint64(rng.Stream.ORDER), np.uint64(rng.Stream.SAMPLING)
AHEAD = 64
"""Samples of coming steps that are looked up at once, where a step has fewer."""
LANES = 16
"""Places whose rounds are done side by side: one after the other, each product waits for the last one."""
UNROLLED = 4
"""Rounds of the network of a large data set."""


@njit(error_model="numpy")
def draw(indices: Any, step: Any, n: Any, seed_words: Any) -> None:
    """Fill `indices` with replacement: equal to :func:`scalarviz.rng.drawn_indices`."""
    for i in range(0, len(indices), 2):
        w0, w1, w2, w3 = philox4x32(
            np.uint64(i) >> ONE, SAMPLING, step & WORD, step >> HALF, seed_words[0], seed_words[1]
        )
        indices[i] = np.int64(drawn(w0, w1, n))
        if i + 1 < len(indices):
            indices[i + 1] = np.int64(drawn(w2, w3, n))


@njit(error_model="numpy")
def keys(epoch: Any, seed_words: Any) -> Any:
    """The four key words of an epoch's order: equal to :func:`scalarviz.rng.epoch_keys`."""
    return philox4x32(ZERO, ORDER, epoch & WORD, epoch >> HALF, seed_words[0], seed_words[1])


@njit(error_model="numpy")
def batch_order(indices: Any, step: int, n: int, seed_words: Any, shape: Any) -> None:
    """Fill `indices` with the samples of step number `step`: as :meth:`scalarviz.engine.problem.Problem.indices`.

    `seed_words` are the two words of the seed; `shape` holds upper bits, lower bits and rounds of the network
    (:attr:`scalarviz.engine.problem.Problem.order_shape`).
    """
    if shape[2] == 0:
        draw(indices, np.uint64(step), np.uint64(n), seed_words)
        return
    batch = len(indices)
    per_epoch = n // batch
    epoch = np.uint64(step // per_epoch)
    k0, k1, k2, k3 = keys(epoch, seed_words)
    left, right, rounds = shape[0], shape[1], np.int64(shape[2])
    start = (step % per_epoch) * batch
    for i in range(batch):
        if rounds == UNROLLED:  # a constant count of rounds is unrolled
            x = feistel(np.uint64(start + i), left, right, UNROLLED, k0, k1, k2, k3)
        else:
            x = feistel(np.uint64(start + i), left, right, rounds, k0, k1, k2, k3)
        indices[i] = np.int64(x)
    for i in range(batch):  # cycle walking
        while indices[i] >= n:
            indices[i] = np.int64(feistel(np.uint64(indices[i]), left, right, rounds, k0, k1, k2, k3))


@njit(error_model="numpy")
def orders(indices: Any, first: int, batch: int, n: int, seed_words: Any, shape: Any) -> None:
    """Fill `indices`, shape (steps * batch,), with the samples of the steps from `first` on, one behind the other.

    The rest as in :func:`batch_order`, to which it is equal.
    """
    if len(indices) < LANES or shape[2] <= UNROLLED:
        for k in range(len(indices) // batch):
            batch_order(indices[k * batch : (k + 1) * batch], first + k, n, seed_words, shape)
        return
    room = np.empty((6, LANES), np.uint64)
    for at in range(0, len(indices), LANES):
        side_by_side(indices, at, first * batch + at, n // batch * batch, n, seed_words, shape, room)


@njit(error_model="numpy")
def side_by_side(
    indices: Any, at: int, place: int, used: int, n: int, seed_words: Any, shape: Any, room: Any
) -> None:  # fmt: skip
    """Fill up to `LANES` of `indices`, from `at` on, with the samples from `place` on, counted through all epochs.

    An epoch has `used` places; `room`, shape (6, LANES), is written over.
    """
    a, b, k0, k1, k2, k3 = room[0], room[1], room[2], room[3], room[4], room[5]
    left, right, rounds, count = shape[0], shape[1], np.int64(shape[2]), min(LANES, len(indices) - at)
    upper, lower = (ONE << left) - ONE, (ONE << right) - ONE
    epoch, inside = np.uint64(place // used), place % used
    q0, q1, q2, q3 = keys(epoch, seed_words)
    for i in range(LANES):
        if inside == used:
            epoch, inside = epoch + ONE, 0
            q0, q1, q2, q3 = keys(epoch, seed_words)
        a[i], b[i], k0[i], k1[i], k2[i], k3[i] = np.uint64(inside) >> right, np.uint64(inside) & lower, q0, q1, q2, q3
        inside += 1
    for _ in range(rounds):  # as in rng.feistel
        for i in range(LANES):
            a[i] = (a[i] + (((b[i] ^ k0[i]) * M0) >> S16)) & upper
            b[i] = (b[i] + (((a[i] ^ k1[i]) * M1) >> S16)) & lower
            a[i] = (a[i] + (((b[i] ^ k2[i]) * M0) >> S16)) & upper
            b[i] = (b[i] + (((a[i] ^ k3[i]) * M1) >> S16)) & lower
            k0[i], k1[i] = (k0[i] + W0) & WORD, (k1[i] + W1) & WORD
            k2[i], k3[i] = (k2[i] + W0) & WORD, (k3[i] + W1) & WORD
    for i in range(count):
        indices[at + i] = np.int64((a[i] << right) | b[i])
    for i in range(count):
        if indices[at + i] >= n:  # cycle walking, with the keys of its epoch
            epoch = np.uint64((place + i) // used)
            q0, q1, q2, q3 = keys(epoch, seed_words)
            while indices[at + i] >= n:
                indices[at + i] = np.int64(feistel(np.uint64(indices[at + i]), left, right, rounds, q0, q1, q2, q3))
