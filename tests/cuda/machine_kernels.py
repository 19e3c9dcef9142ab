"""Kernels for the tests of the PTX machine: right ones, and such as break one rule each."""

from __future__ import annotations

import numpy as np

from scalarviz import rng
from scalarviz.engine.cuda import jit
from scalarviz.engine.cuda.jit import FUNCTIONS, cuda
from scalarviz.engine.cuda.typed import Flags, Int, Key, Longs, Real, Reals, Words, real

WORD = np.uint64(0xFFFFFFFF)
TILE = 8
philox4x32 = jit.device_function(rng.philox4x32)
feistel = jit.device_function(rng.feistel)
shape: object = None  # what ``typed.namespace`` is told: numba's type of shared arrays
f_exp, f_log, f_log1p, f_sqrt = FUNCTIONS["exp"], FUNCTIONS["log"], FUNCTIONS["log1p"], FUNCTIONS["sqrt"]
f_sin, f_cos, f_tanh = FUNCTIONS["sin"], FUNCTIONS["cos"], FUNCTIONS["tanh"]


def functions(out: Reals, x: Reals, z: Reals, n: Int) -> None:
    i = cuda.grid(1)
    if i < n:
        out[i] = f_exp(x[i])
        out[n + i] = f_log(x[i])
        out[2 * n + i] = f_log1p(x[i])
        out[3 * n + i] = f_sqrt(x[i])
        out[4 * n + i] = f_sin(x[i])
        out[5 * n + i] = f_cos(x[i])
        out[6 * n + i] = f_tanh(x[i])
        out[7 * n + i] = abs(x[i])
        out[8 * n + i] = x[i] ** z[i]
        out[9 * n + i] = x[i] / z[i]


def choices(out: Reals, x: Reals, z: Reals, n: Int) -> None:
    """Comparisons in both senses, as selections."""
    i = cuda.grid(1)
    if i < n:
        a, b = x[i], z[i]
        out[i] = a if a < b else b
        out[n + i] = a if not a >= b else b
        out[2 * n + i] = real(1) if a == b else real(0)
        out[3 * n + i] = real(1) if a != b else real(0)
        out[4 * n + i] = a if a > b else (b if a <= b else a + b)
        out[5 * n + i] = min(a, b)
        out[6 * n + i] = max(a, b)


def whole(out: Longs, a: Longs, b: Longs, n: Int) -> None:
    """Integer arithmetic, of 64, 32 and 8 bits."""
    i = cuda.grid(1)
    if i < n:
        p, q = a[i], b[i]
        out[i] = p // q
        out[n + i] = p % q
        out[2 * n + i] = p * q + (p ^ q)
        out[3 * n + i] = (p >> (q & 63)) - (p << (q & 63))
        out[4 * n + i] = np.int64(np.int32(p) * np.int32(q))
        out[5 * n + i] = np.int64(np.uint32(np.uint64(p)) // (np.uint32(np.uint64(q)) | np.uint32(1)))
        out[6 * n + i] = np.int64(np.int8(p)) + np.int64(np.uint16(q))
        out[7 * n + i] = cuda.popc(np.uint64(p)) * 100 + cuda.clz(np.int64(p))
        out[8 * n + i] = min(p, q) - max(p, q)


def conversions(numbers: Reals, out: Longs, x: Reals, a: Longs, n: Int) -> None:
    i = cuda.grid(1)
    if i < n:
        numbers[i] = real(a[i])
        numbers[n + i] = real(np.int32(a[i]))
        numbers[2 * n + i] = real(np.uint64(a[i]))
        out[i] = np.int64(x[i])
        out[n + i] = np.int64(np.int32(x[i]))
        out[2 * n + i] = np.int64(np.float32(x[i]) * np.float32(3))


def words(out: Longs, n: Int, samples: Int, k0: Key, k1: Key, left: Key, right: Key, rounds: Int) -> None:
    """The project's random words."""
    i = cuda.grid(1)
    if i < n:
        a, b, c, d = philox4x32(np.uint64(i), np.uint64(1), np.uint64(2), np.uint64(3), k0, k1)
        x = feistel(np.uint64(i), left, right, rounds, a, b, c, d)
        while x >= np.uint64(samples):
            x = feistel(x, left, right, rounds, a, b, c, d)
        out[i] = np.int64(x)
        out[n + i] = np.int64(a)
        out[2 * n + i] = np.int64(d)


def product(out: Reals, a: Reals, b: Reals, n: Int) -> None:
    """A product of matrices by tiles in shared memory."""
    left = cuda.shared.array((TILE, TILE), shape)
    right = cuda.shared.array((TILE, TILE), shape)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.blockIdx.x * TILE + x, cuda.blockIdx.y * TILE + y
    total = real(0)
    for k in range(0, n, TILE):
        left[y, x] = a[row * n + k + x]
        right[y, x] = b[(k + y) * n + column]
        cuda.syncthreads()
        for j in range(TILE):
            total += left[y, j] * right[j, x]
        cuda.syncthreads()
    out[row * n + column] = total


def product_without_second_barrier(out: Reals, a: Reals, b: Reals, n: Int) -> None:
    """The next tile is written while others still read this one."""
    left = cuda.shared.array((TILE, TILE), shape)
    right = cuda.shared.array((TILE, TILE), shape)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.blockIdx.x * TILE + x, cuda.blockIdx.y * TILE + y
    total = real(0)
    for k in range(0, n, TILE):
        left[y, x] = a[row * n + k + x]
        right[y, x] = b[(k + y) * n + column]
        cuda.syncthreads()
        for j in range(TILE):
            total += left[y, j] * right[j, x]
    out[row * n + column] = total


def dynamic(out: Reals, x: Reals, n: Int) -> None:
    """A block's numbers turned round, through dynamic shared memory."""
    held = cuda.shared.array(0, shape)
    i = cuda.threadIdx.x
    at = cuda.blockIdx.x * n + i
    held[i] = x[at]
    cuda.syncthreads()
    out[at] = held[n - 1 - i]


def local(out: Reals, x: Reals, n: Int, turns: Int) -> None:
    """Numbers by a computed index, in memory of the thread."""
    held = cuda.local.array(8, shape)
    i = cuda.grid(1)
    if i < n:
        for k in range(8):
            held[k] = x[i] * real(k)
        total = real(0)
        for k in range(turns):
            total += held[(i * k) % 8]
        out[i] = total


def uneven(out: Reals, x: Reals, n: Int) -> None:
    """Loops of different lengths, with a way out and a turn left out."""
    i = cuda.grid(1)
    if i < n:
        total = x[i]
        for k in range(i % 37):
            if (i + k) % 5 == 0:
                continue
            total = total * real(0.5) + real(k)
            if total > real(20):
                break
        while total > real(4):
            total -= real(3)
        out[i] = total


def bytes_and_words(flags: Flags, out: Words, n: Int) -> None:
    i = cuda.grid(1)
    if i < n:
        flags[i] = flags[i] + np.uint8(200)
        out[i] = out[i] * 3 - flags[i]


def neighbours(out: Reals, x: Reals, n: Int) -> None:
    """A race: reads what the next thread writes."""
    i = cuda.grid(1)
    if i < n - 1:
        x[i] = x[i + 1]
        out[i] = x[i]


def all_to_one(out: Reals, n: Int) -> None:
    """A race: everybody writes one number."""
    i = cuda.grid(1)
    if i < n:
        out[0] = real(i)


def no_barrier(out: Reals, x: Reals, n: Int) -> None:
    """Shared memory is read before the other thread is known to have written."""
    held = cuda.shared.array(64, shape)
    i = cuda.threadIdx.x
    held[i] = x[i]
    out[i] = held[n - 1 - i]


def lonely_barrier(out: Reals, n: Int) -> None:
    """Half of the block never comes to the barrier."""
    i = cuda.threadIdx.x
    if i < n // 2:
        cuda.syncthreads()
    out[i] = real(i)


def two_blocks_one_number(out: Reals, n: Int) -> None:
    """A barrier orders the threads of a block, not two blocks."""
    i = cuda.threadIdx.x
    if i == 0:
        out[cuda.blockIdx.x] = real(1)
    cuda.syncthreads()
    if i == 1 and n == 0:
        out[cuda.blockIdx.x] = real(2)
    if i == 1 and n == 1:
        out[1 - cuda.blockIdx.x] = real(2)


def far(out: Reals, n: Int, index: Int, value: Real) -> None:
    if cuda.grid(1) == n:
        out[index] = value


def lanes(out: Longs, x: Longs) -> None:
    """Words of other lanes of the warp, and votes."""
    i = cuda.grid(1)
    lane = i % 32
    v = np.int32(x[i])
    out[6 * i] = cuda.shfl_sync(0xFFFFFFFF, v, (lane * 7 + 3) % 32)
    out[6 * i + 1] = cuda.shfl_up_sync(0xFFFFFFFF, v, 3)
    out[6 * i + 2] = cuda.shfl_down_sync(0xFFFFFFFF, v, 5)
    out[6 * i + 3] = cuda.shfl_xor_sync(0xFFFFFFFF, v, 6)
    out[6 * i + 4] = np.int64(cuda.ballot_sync(0xFFFFFFFF, v > 0))
    out[6 * i + 5] = np.int64(cuda.any_sync(0xFFFFFFFF, v > 90)) + 2 * np.int64(cuda.all_sync(0xFFFFFFFF, v > -90))


def adds_atomically(out: Reals, n: Int) -> None:
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.add(shape, i, real(1))
