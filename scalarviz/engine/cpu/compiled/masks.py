"""Dropout masks in compiled code: equal to :meth:`scalarviz.scalar.mask.Draws.factors`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from .... import rng
from ..wire import PLACE, SEED, STEP
from .intrinsics import word_at, zero_of
from .noalias import NoAlias
from .order import HALF, WORD
from .tiles import Row, Words, row_of

DROPOUT = np.uint64(rng.Stream.DROPOUT)
NOTHING = np.uint64(0)
philox = njit(forceinline=True)(rng.philox4x32)


@njit(error_model="numpy", pipeline_class=NoAlias)
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


@njit(error_model="numpy")
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


@njit(error_model="numpy")
def word_of(place: Any, unit: int, low: Any, high: Any, k0: Any, k1: Any) -> Any:
    """The random word of one unit."""
    w0, w1, w2, w3 = philox(place, np.uint64(unit // 4), low, high, k0, k1)
    which = unit % 4
    if which == 0:
        return w0
    if which == 1:
        return w1
    return w2 if which == 2 else w3


def masks(
    code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, unused: int
) -> None:  # fmt: skip
    """``to[i] = 0`` or the factor of units that stay, for the four units of a block.

    Fields: four rows `to`, the block of random words, the call, the threshold of a random word below
    which a unit is dropped, which number is the factor.
    """
    seed = word_at(space[SEED])
    k0, k1, _, _ = philox(np.uint64(code[7]), DROPOUT, NOTHING, NOTHING, np.uint64(seed[0]), np.uint64(seed[1]))
    draw_four(
        row_of(space, code[2], theta), row_of(space, code[3], theta), row_of(space, code[4], theta),
        row_of(space, code[5], theta), numbers[code[9]], np.uint64(space[PLACE]), np.uint64(code[6]),
        np.uint64(space[STEP]), k0, k1, np.uint64(code[8]), n,
    )  # fmt: skip


def masks_one(
    code: Words, space: Words, pool: Words, numbers: Row, theta: Row, grad: Row, n: int, unused: int
) -> None:  # fmt: skip
    """The same where rows are single numbers: units that count up, in rows that do.

    Fields: the first row `to`, the first unit, how many, the call, the threshold, which number is the factor.
    """
    seed = word_at(space[SEED])
    k0, k1, _, _ = philox(np.uint64(code[5]), DROPOUT, NOTHING, NOTHING, np.uint64(seed[0]), np.uint64(seed[1]))
    draw_one(
        row_of(space, code[2], theta), code[3], code[4], numbers[code[7]], np.uint64(space[PLACE]),
        np.uint64(space[STEP]), k0, k1, np.uint64(code[6]),
    )  # fmt: skip
