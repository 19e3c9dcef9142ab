"""Which samples a step trains on, in compiled code: the integer functions of :mod:`scalarviz.rng`, wrapped."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from .... import rng

philox4x32 = njit(rng.philox4x32)
feistel = njit(forceinline=True)(rng.feistel)
WORD, HALF = rng.WORD, rng.HALF
ZERO, ORDER = np.uint64(0), np.uint64(rng.Stream.ORDER)


@njit(error_model="numpy")
def batch_order(indices: Any, step: int, n: int, seed_words: Any, shape: Any) -> None:
    """Fill `indices` with the samples of step number `step`: equal to :func:`scalarviz.rng.batch_indices`.

    `seed_words` are the two words of the seed; `shape` holds upper bits, lower bits and rounds of the network
    (:func:`scalarviz.rng.shape_of`).
    """
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
