"""Random numbers that are a function of where they are used, not of what was drawn before.

One counter-based generator, Philox-4x32-10 [1]_, keyed by the seed and counted by (stream, step, index). So the state
of a run's randomness is its step number: K steps in one kernel call draw what K calls draw, any part of a sequence
can be computed alone, and going back needs no stored state.

:func:`philox4x32`, :func:`unit`, :func:`drawn` and :func:`feistel` are plain integer code without any call, on 32-bit
words carried in 64-bit ones. The same text runs on Python ints, on NumPy ``uint64`` arrays and, wrapped by
``numba.njit`` or ``numba.cuda.jit``, in kernels (their constants are ``np.uint64``, because numba turns ``uint64`` with
a Python int into ``float64``).

References
----------
.. [1] J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

import operator
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .errors import InputError, shown

__all__ = [
    "Stream",
    "batch_indices",
    "drawn",
    "drawn_indices",
    "dropout_key",
    "dropout_threshold",
    "dropped",
    "epoch_keys",
    "feistel",
    "normal",
    "permute",
    "philox4x32",
    "shape_of",
    "split",
    "uniform",
    "unit",
]

Words = Any  # a Python int, an np.uint64 or an array of them: the carrier that the caller chose

WORD = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
# Philox: multipliers and key increments (the golden ratio and sqrt(3) - 1, as in the paper)
M0, M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
W0, W1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
# 53 bits of two words
S5, S6 = np.uint64(5), np.uint64(6)
S16 = np.uint64(16)

BLOCKS = 2**32  # counter words left for the index: draws come in pairs, one pair a block


class Stream(IntEnum):
    """What a sequence is for. Different streams of one seed are independent."""

    WEIGHTS = 1
    ORDER = 2
    DATA = 3
    SAMPLING = 4
    DROPOUT = 5
    PROBE = 6
    USER = 1000


def philox4x32(c0: Words, c1: Words, c2: Words, c3: Words, k0: Words, k1: Words) -> tuple[Words, Words, Words, Words]:
    """Ten rounds of Philox-4x32: a counter of four words and a key of two make four random words.

    Every argument and result lies in ``0 <= word < 2**32``.
    """
    for _ in range(10):
        p0 = c0 * M0
        p1 = c2 * M1
        c0, c1, c2, c3 = (p1 >> HALF) ^ c1 ^ k0, p1 & WORD, (p0 >> HALF) ^ c3 ^ k1, p0 & WORD
        k0 = (k0 + W0) & WORD
        k1 = (k1 + W1) & WORD
    return c0, c1, c2, c3


def unit(high: Words, low: Words) -> Any:
    """A float64 in ``[0, 1)`` from the upper 27 bits of `high` and the upper 26 of `low`."""
    return ((high >> S5) * 67108864.0 + (low >> S6)) * (1.0 / 9007199254740992.0)


def drawn(high: Words, low: Words, n: Words) -> Words:
    """One of ``0 .. n - 1`` from two random words, for ``n`` up to ``2**32``: the upper part of their product with n.

    No draw is thrown away; each number is as likely as any other to within ``n / 2**64``.
    """
    return (high * n + ((low * n) >> HALF)) >> HALF


def feistel(x: Words, left: Words, right: Words, rounds: int, k0: Words, k1: Words, k2: Words, k3: Words) -> Words:
    """One keyed bijection of ``0 <= x < 2**(left + right)``: an unbalanced Feistel network.

    Parameters
    ----------
    x : word or array of words
        What to permute.
    left, right, rounds
        Number of upper and lower bits (each at most 32) and of rounds, from :func:`shape_of`.
    k0, k1, k2, k3 : word
        The key, from :func:`epoch_keys`.

    Notes
    -----
    For a domain ``0..n-1`` that is no power of two, apply it again while the result is not below ``n``
    ("cycle walking"): less than two times on average.
    """
    upper = (np.uint64(1) << left) - np.uint64(1)
    lower = (np.uint64(1) << right) - np.uint64(1)
    a = x >> right
    b = x & lower
    for _ in range(rounds):
        # Each half gets a function of the other half added, so every line can be undone. The function is the middle
        # bits of a product, the best mixed ones; adding (not xor) reaches odd permutations too.
        a = (a + (((b ^ k0) * M0) >> S16)) & upper
        b = (b + (((a ^ k1) * M1) >> S16)) & lower
        a = (a + (((b ^ k2) * M0) >> S16)) & upper
        b = (b + (((a ^ k3) * M1) >> S16)) & lower
        k0, k1, k2, k3 = (k0 + W0) & WORD, (k1 + W1) & WORD, (k2 + W0) & WORD, (k3 + W1) & WORD
    return (a << right) | b


MOST_DRAWN = 2**32
"""The most samples that can be drawn from with replacement, and the most draws of a step: a draw is of two words."""


def shape_of(n: int) -> tuple[np.uint64, np.uint64, int]:
    """Upper bits, lower bits and rounds of the Feistel network for a domain of `n`.

    A small domain takes few bits of every product, so it needs more rounds until all orders are equally frequent.
    """
    bits = (n - 1).bit_length()
    return np.uint64(bits // 2), np.uint64(bits - bits // 2), 4 if bits > 8 else 24


def split(number: int, name: str = "seed") -> tuple[np.uint64, np.uint64]:
    """The low and the high 32-bit word of a 64-bit number; InputError if it is not one."""
    try:
        if isinstance(number, bool):  # an index for Python, but a mistake where a seed belongs
            raise TypeError
        value = operator.index(number)
    except TypeError:
        raise InputError(f"{name} must be a whole number, got {shown(number)}") from None
    if not 0 <= value < 2**64:
        raise InputError(f"{name} must be in 0 .. 2**64 - 1, got {shown(value)}")
    return np.uint64(value & 0xFFFFFFFF), np.uint64(value >> 32)


def _pairs(seed: int, stream: int, step: int, n: int, start: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The two uniform numbers of every block that holds one of the draws ``start .. start + n - 1``."""
    if n < 0 or start < 0:
        raise InputError(f"n (the number of draws) and start must be >= 0, got n={n}, start={start}")
    first, last = start // 2, (start + n + 1) // 2
    if last > BLOCKS:
        raise InputError(
            f"a stream has {2 * BLOCKS} draws per step, got a request for draw {start + n}; use another stream"
        )
    blocks = np.arange(first, last, dtype=np.uint64)
    k0, k1 = split(seed)
    s0, s1 = split(step, "step")
    w0, w1, w2, w3 = philox4x32(blocks, np.uint64(stream), s0, s1, k0, k1)
    return unit(w0, w1), unit(w2, w3)


def _interleave(
    a: NDArray[np.float64], b: NDArray[np.float64], start: int, n: int, dtype: DTypeLike
) -> NDArray[np.floating]:
    """The draws asked for out of the blocks' pairs, in the dtype asked for."""
    out = np.empty(2 * a.size)
    out[0::2], out[1::2] = a, b
    return out[start % 2 : start % 2 + n].astype(dtype)


def uniform(
    seed: int, stream: int, step: int, n: int, dtype: DTypeLike = np.float64, start: int = 0
) -> NDArray[np.floating]:
    """`n` numbers, uniform in ``[0, 1)``.

    Parameters
    ----------
    seed, step : int
        In ``0 .. 2**64 - 1``.
    stream : int or Stream
        What the numbers are for.
    n, start : int
        Draws ``start .. start + n - 1`` of the sequence; the parts of a sequence equal the whole.
    dtype : dtype
        float64 has 53 random bits; float32 is the same number cut to 24 bits (rounding could give 1).

    Returns
    -------
    ndarray, shape (n,)
    """
    a, b = _pairs(seed, stream, step, n, start)
    if np.dtype(dtype) == np.float32:
        a, b = np.floor(a * 2.0**24) * 2.0**-24, np.floor(b * 2.0**24) * 2.0**-24
    return _interleave(a, b, start, n, dtype)


def normal(
    seed: int, stream: int, step: int, n: int, dtype: DTypeLike = np.float64, start: int = 0
) -> NDArray[np.floating]:
    """`n` numbers of the standard normal distribution (Box-Muller on the pairs of :func:`uniform`, in float64).

    Parameters and result are those of :func:`uniform`. The last bit may differ between processors, as the logarithm's
    and the cosine's may.
    """
    a, b = _pairs(seed, stream, step, n, start)
    radius = np.sqrt(-2.0 * np.log1p(-a))  # 1 - a lies in (0, 1]
    angle = 2.0 * np.pi * b
    return _interleave(radius * np.cos(angle), radius * np.sin(angle), start, n, dtype)


def dropout_key(seed: int, call: int) -> tuple[np.uint64, np.uint64]:
    """The two key words of the masks of one module call of a network."""
    k0, k1 = split(seed)
    zero = np.uint64(0)
    first, second, _, _ = philox4x32(np.uint64(call), np.uint64(Stream.DROPOUT), zero, zero, k0, k1)
    return first, second


def dropout_threshold(p: float) -> int:
    """Random words below it drop a unit: that many out of ``2**32``."""
    return round(p * 2**32)


def dropped(seed: int, call: int, step: int, units: NDArray[np.integer], places: NDArray[np.integer], p: float) -> Any:
    """Which units a dropout mask zeroes, each with probability `p`.

    A function of the seed, of the module call, of the step, of a sample's place in its batch and of the unit alone: in
    which blocks, on how many threads or in which engine a step is computed makes no difference. Unit ``u`` has word
    ``u % 4`` of the block that is counted by (place, ``u // 4``, step).

    Parameters
    ----------
    seed, call, step : int
        `step` counts from 0; `call` is the number of the call of a module with masks within the network.
    units : ndarray of int, shape (U,)
    places : ndarray of int, shape (lanes,)
    p : float
        In ``0 .. 1``.

    Returns
    -------
    ndarray of bool, shape (U, lanes)
    """
    s0, s1 = split(step, "step")
    unit, place = np.asarray(units, np.uint64)[:, None], np.asarray(places, np.uint64)[None, :]
    words = philox4x32(place, unit >> np.uint64(2), s0, s1, *dropout_key(seed, call))
    word = np.choose((unit & np.uint64(3)).astype(np.intp), np.broadcast_arrays(*words))
    return word < np.uint64(dropout_threshold(p))


def epoch_keys(seed: int, epoch: int) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """The four key words of an epoch's order, for :func:`feistel`."""
    k0, k1 = split(seed)
    e0, e1 = split(epoch, "epoch")
    return philox4x32(np.uint64(0), np.uint64(Stream.ORDER), e0, e1, k0, k1)


def permute(index: NDArray[np.integer] | int, n: int, seed: int, epoch: int) -> NDArray[np.int64]:
    """Where the keyed bijection of ``0 .. n - 1`` sends `index`; no table of n entries is made.

    Parameters
    ----------
    index : int or ndarray of int
        In ``0 .. n - 1``.
    n : int
        Size of the domain, up to ``2**62``.
    seed, epoch : int
        The key; another epoch is another order.

    Returns
    -------
    ndarray of int64
        Shape of `index`.
    """
    if not 0 < n <= 2**62:
        raise InputError(f"n must be in 1 .. 2**62, got {n}")
    x = np.asarray(index)
    if x.size and (x.min() < 0 or x.max() >= n):
        raise InputError(f"index must be in 0 .. {n - 1}, got {x.min()} .. {x.max()}")
    key = (*shape_of(n), *epoch_keys(seed, epoch))
    flat = feistel(x.reshape(-1).astype(np.uint64), *key)
    outside = np.flatnonzero(flat >= n)
    while outside.size:
        flat[outside] = feistel(flat[outside], *key)
        outside = outside[flat[outside] >= n]
    order: NDArray[np.int64] = flat.astype(np.int64).reshape(x.shape)
    return order


def batch_indices(seed: int, step: int, n: int, batch: int) -> NDArray[np.int64]:
    """Which samples step number `step` (from 0) trains on.

    An epoch is ``n // batch`` batches in keyed order and the rest sits out; a batch as large as the data set is the
    data set in order.

    Returns
    -------
    ndarray of int64, shape (batch,)

    Raises
    ------
    InputError
        If `batch` is below 1 or larger than the data set.
    """
    if batch < 1:
        raise InputError(f"batch size must be at least 1, got {batch}")
    if batch > n:
        raise InputError(f"batch size {batch} is larger than the data set, which has {n} samples")
    if batch == n:
        return np.arange(n, dtype=np.int64)
    epoch, position = divmod(operator.index(step), n // batch)
    return permute(np.arange(position * batch, (position + 1) * batch), n, seed, epoch)


def drawn_indices(seed: int, step: int, n: int, batch: int) -> NDArray[np.int64]:
    """Which samples step number `step` (from 0) trains on where each is drawn anew out of all: with replacement.

    Draw ``i`` is :func:`drawn` of the first (`i` even) or the last two words of block ``i // 2`` of
    :attr:`Stream.SAMPLING`.

    Returns
    -------
    ndarray of int64, shape (batch,)
        Some may be there more than once, so `batch` may be larger than `n`.

    Raises
    ------
    InputError
        If `batch` is below 1, or one of both is above ``2**32``.
    """
    if batch < 1:
        raise InputError(f"batch size must be at least 1, got {batch}")
    if not 0 < n <= MOST_DRAWN or batch > MOST_DRAWN:
        raise InputError(f"sampling with replacement needs 1 to 2**32 samples and batch <= 2**32, got {n} and {batch}")
    k0, k1 = split(seed)
    s0, s1 = split(step, "step")
    blocks = np.arange((batch + 1) // 2, dtype=np.uint64)
    w0, w1, w2, w3 = philox4x32(blocks, np.uint64(Stream.SAMPLING), s0, s1, k0, k1)
    out = np.empty(2 * len(blocks), np.int64)
    out[0::2], out[1::2] = drawn(w0, w1, np.uint64(n)), drawn(w2, w3, np.uint64(n))
    return out[:batch]
