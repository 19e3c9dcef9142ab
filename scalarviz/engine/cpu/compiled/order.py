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
ZERO, ONE = np.uint64(0), np.uint64(1)
ORDER, SAMPLING = np.uint64(rng.Stream.ORDER), np.uint64(rng.Stream.SAMPLING)


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
    k0, k1, k2, k3 = philox4x32(ZERO, ORDER, epoch & WORD, epoch >> HALF, seed_words[0], seed_words[1])
    left, right, rounds = shape[0], shape[1], np.int64(shape[2])
    start = (step % per_epoch) * batch
    for i in range(batch):
        if rounds == 4:  # a constant count of rounds is unrolled
            x = feistel(np.uint64(start + i), left, right, 4, k0, k1, k2, k3)
        else:
            x = feistel(np.uint64(start + i), left, right, rounds, k0, k1, k2, k3)
        indices[i] = np.int64(x)
    for i in range(batch):  # cycle walking
        while indices[i] >= n:
            indices[i] = np.int64(feistel(np.uint64(indices[i]), left, right, rounds, k0, k1, k2, k3))
