"""Random numbers of a step in compiled code: which samples it trains on, and its dropout masks.

Both are the integer functions of :mod:`scalarviz.rng`, wrapped. Masks equal those of
:meth:`scalarviz.scalar.mask.Draws.factors`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import rng
from ..wire import BATCH, INDICES_AT, PLACE, SAMPLES, SEED, SHAPE, STEP
from .intrinsics import NoAlias, address_of, callee, natural_at, stack_room, word_at, zero_of
from .tiles import Row, Words, row_of

philox4x32 = callee()(rng.philox4x32)
feistel = callee(forceinline=True)(rng.feistel)
drawn = callee(forceinline=True)(rng.drawn)
WORD, HALF = rng.WORD, rng.HALF
M0, M1, W0, W1, S16 = rng.M0, rng.M1, rng.W0, rng.W1, rng.S16
ZERO, ONE = np.uint64(0), np.uint64(1)
ORDER, SAMPLING = np.uint64(rng.Stream.ORDER), np.uint64(rng.Stream.SAMPLING)
LANES = 16
"""Places whose rounds are done side by side: one after the other, each product waits for the last one."""


def orders(
    space: Words, unused: Words, unused_too: Words, theta: Row, grad: Row, values: Row, first: int, steps: int
) -> None:  # fmt: skip
    """The samples of so many steps from number `first` on, one behind the other: as ``Problem.indices``."""
    batch, n, shape, seed = space[BATCH], space[SAMPLES], natural_at(space[SHAPE]), natural_at(space[SEED])
    if shape[2] == 0:
        for k in range(steps):
            draw(word_at(space[INDICES_AT] + 8 * k * batch), batch, first + k, n, seed)
        return
    for done in range(0, steps * batch, LANES):
        count = min(LANES, steps * batch - done)
        side_by_side(
            word_at(space[INDICES_AT] + 8 * done), count, first * batch + done, n // batch * batch, n, seed,
            shape,
        )  # fmt: skip


ROOM_BYTES = 6 * 8 * LANES


@callee()
def draw(indices: Words, batch: int, step: int, n: int, seed: Words) -> None:
    """The samples of a step, with replacement: equal to :func:`scalarviz.rng.drawn_indices`."""
    low, high = np.uint64(step) & WORD, np.uint64(step) >> HALF
    for i in range(0, batch, 2):
        w0, w1, w2, w3 = philox4x32(np.uint64(i) >> ONE, SAMPLING, low, high, seed[0], seed[1])
        indices[i] = np.int64(drawn(w0, w1, np.uint64(n)))
        if i + 1 < batch:
            indices[i + 1] = np.int64(drawn(w2, w3, np.uint64(n)))


@callee()
def keys(epoch: Any, seed: Words) -> Any:
    """The four key words of an epoch's order: equal to :func:`scalarviz.rng.epoch_keys`."""
    return philox4x32(ZERO, ORDER, epoch & WORD, epoch >> HALF, seed[0], seed[1])


@callee()
def side_by_side(indices: Words, count: int, place: int, used: int, n: int, seed: Words, shape: Words) -> None:
    """The `count` samples, `LANES` at most, from `place` on, counted through all epochs; an epoch has `used` places."""
    room = stack_room(natural_at(0), ROOM_BYTES)
    a, b, k0, k1, k2, k3 = room, at(room, 1), at(room, 2), at(room, 3), at(room, 4), at(room, 5)
    left, right, rounds = shape[0], shape[1], np.int64(shape[2])
    upper, lower = (ONE << left) - ONE, (ONE << right) - ONE
    epoch, inside = np.uint64(place // used), place % used
    q0, q1, q2, q3 = keys(epoch, seed)
    for i in range(LANES):
        if inside == used:
            epoch, inside = epoch + ONE, 0
            q0, q1, q2, q3 = keys(epoch, seed)
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
        x = (a[i] << right) | b[i]
        if x >= np.uint64(n):  # cycle walking, with the keys of its epoch
            q0, q1, q2, q3 = keys(np.uint64((place + i) // used), seed)
            while x >= np.uint64(n):
                x = feistel(x, left, right, rounds, q0, q1, q2, q3)
        indices[i] = np.int64(x)


@callee(forceinline=True)
def at(room: Any, k: int) -> Any:
    """Lane 0 of word number `k`."""
    return natural_at(address_of(room) + 8 * LANES * k)


DROPOUT = np.uint64(rng.Stream.DROPOUT)
philox = callee(forceinline=True)(rng.philox4x32)


@callee(pipeline_class=NoAlias)
def draw_four(
    a: Row, b: Row, c: Row, d: Row, scale: Any, place: Any, block: Any, step: Any, k0: Any, k1: Any, threshold: Any,
    n: int,
) -> None:  # fmt: skip
    """Four rows of factors: each block of random words has a word for each of them."""
    low, high, zero = step & WORD, step >> HALF, zero_of(a)
    for k in range(n):
        w0, w1, w2, w3 = philox(place + np.uint64(k), block, low, high, k0, k1)
        a[k] = scale if w0 >= threshold else zero
        b[k] = scale if w1 >= threshold else zero
        c[k] = scale if w2 >= threshold else zero
        d[k] = scale if w3 >= threshold else zero


@callee()
def draw_one(
    to: Row, unit: int, count: int, scale: Any, place: Any, step: Any, k0: Any, k1: Any, threshold: Any
) -> None:  # fmt: skip
    """The factors of `count` units from `unit` on, of one sample, side by side."""
    low, high, zero = step & WORD, step >> HALF, zero_of(to)
    done = min(count, -unit % 4)
    for i in range(done):
        to[i] = scale if word_of(place, unit + i, low, high, k0, k1) >= threshold else zero
    block, blocks = (unit + done) // 4, (count - done) // 4
    for i in range(blocks):
        w0, w1, w2, w3 = philox(place, np.uint64(block + i), low, high, k0, k1)
        to[done + 4 * i] = scale if w0 >= threshold else zero
        to[done + 4 * i + 1] = scale if w1 >= threshold else zero
        to[done + 4 * i + 2] = scale if w2 >= threshold else zero
        to[done + 4 * i + 3] = scale if w3 >= threshold else zero
    for i in range(done + 4 * blocks, count):
        to[i] = scale if word_of(place, unit + i, low, high, k0, k1) >= threshold else zero


@callee()
def word_of(place: Any, unit: int, low: Any, high: Any, k0: Any, k1: Any) -> Any:
    """The random word of one unit."""
    w0, w1, w2, w3 = philox(place, np.uint64(unit // 4), low, high, k0, k1)
    which = unit % 4
    if which == 0:
        return w0
    if which == 1:
        return w1
    return w2 if which == 2 else w3


def masks(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """``to[i] = 0`` or the factor of units that stay, for the four units of a block."""
    # Fields: four rows `to`, the block of random words, the call, the threshold below which a word drops a
    # unit, which number is the factor.
    seed = word_at(space[SEED])
    k0, k1, _, _ = philox(np.uint64(code[7]), DROPOUT, ZERO, ZERO, np.uint64(seed[0]), np.uint64(seed[1]))
    draw_four(
        row_of(space, code[2], theta), row_of(space, code[3], theta), row_of(space, code[4], theta),
        row_of(space, code[5], theta), numbers[code[9]], np.uint64(space[PLACE]), np.uint64(code[6]),
        np.uint64(space[STEP]), k0, k1, np.uint64(code[8]), n,
    )  # fmt: skip


def masks_one(code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, _: int) -> None:
    """The same where rows are single numbers: units that count up, in rows that do."""
    # Fields: the first row `to`, the first unit, how many, the call, the threshold, which number is the
    # factor.
    seed = word_at(space[SEED])
    k0, k1, _, _ = philox(np.uint64(code[5]), DROPOUT, ZERO, ZERO, np.uint64(seed[0]), np.uint64(seed[1]))
    draw_one(
        row_of(space, code[2], theta), code[3], code[4], numbers[code[7]], np.uint64(space[PLACE]),
        np.uint64(space[STEP]), k0, k1, np.uint64(code[6]),
    )  # fmt: skip
