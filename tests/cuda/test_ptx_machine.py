"""The machine that executes PTX, against answers that do not come from it: NumPy, PyTorch's rules, the host's bits."""

from __future__ import annotations

import time

import numpy as np
import pytest
from machine_bench import Bench, kernel
from ptx.memory import Fault, Memory, Race

from scalarviz import rng

pytestmark = pytest.mark.cuda
DTYPES = ("float32", "float64")


def special_numbers(dtype: str, n: int = 4096) -> np.ndarray:
    """Numbers of all magnitudes, and those that are none."""
    make = np.random.default_rng(7)
    info = np.finfo(dtype)
    spread = make.normal(size=n) * 10.0 ** make.uniform(-8, 8, size=n)
    odd = [0.0, -0.0, np.inf, -np.inf, np.nan, info.max, -info.max, info.tiny, info.tiny / 8, 1.0, -1.0, 710.0, -746.0]
    return np.concatenate([spread, make.normal(size=n), odd]).astype(dtype)


def ulps(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest distance in units of the last place; what is not finite has to be the same."""
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(found[~finite], expected[~finite])
    with np.errstate(over="ignore"):
        distance = np.abs(found[finite].astype(np.longdouble) - expected[finite].astype(np.longdouble))
        return float((distance / np.spacing(np.abs(expected[finite]))).max())


@pytest.mark.parametrize("dtype", DTYPES)
def test_mathematical_functions_agree_with_those_of_the_host(dtype):
    x = special_numbers(dtype)
    z = np.roll(special_numbers(dtype), 11)
    x[:4096], z[:4096] = np.abs(x[:4096]), np.clip(z[:4096], -3, 3)  # powers that do not all overflow
    n = x.size
    bench = Bench(out=np.zeros(10 * n, dtype), x=x, z=z)
    bench.run("functions", dtype, -(-n // 128), 128, "out", "x", "z", n)
    found = bench.get("out").reshape(10, n)
    wide = np.float64 if dtype == "float32" else np.longdouble
    with np.errstate(all="ignore"):
        w, v = x.astype(wide), z.astype(wide)
        expected = [np.exp(w), np.log(w), np.log1p(w), np.sqrt(w), np.sin(w), np.cos(w), np.tanh(w), np.abs(w)]
        rows = [e.astype(dtype) for e in [*expected, w**v, w / v]]
    names = ("exp", "log", "log1p", "sqrt", "sin", "cos", "tanh", "abs", "pow", "div")
    exact = {"sqrt": 0.5, "abs": 0, "div": 0.5}
    for name, row, want in zip(names, found, rows, strict=True):
        assert ulps(row, want) <= exact.get(name, 2.0) + 0.5, name


@pytest.mark.parametrize("dtype", DTYPES)
def test_sine_and_cosine_of_large_angles(dtype):
    x = np.float64(10.0) ** np.random.default_rng(0).uniform(5, 30, 2000)
    x = x.astype(dtype)
    bench = Bench(out=np.zeros(10 * x.size, dtype), x=x)
    bench.run("functions", dtype, -(-x.size // 64), 64, "out", "x", "x", x.size)
    found = bench.get("out").reshape(10, -1)
    for row, function in ((4, np.sin), (5, np.cos)):
        assert ulps(found[row], function(x.astype(np.float64)).astype(dtype)) <= 2


@pytest.mark.parametrize("dtype", DTYPES)
def test_selections_know_nan_and_both_zeros(dtype):
    values = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan], dtype)
    x, z = (g.reshape(-1) for g in np.meshgrid(values, values))
    n = x.size
    bench = Bench(out=np.zeros(7 * n, dtype), x=x, z=z)
    bench.run("choices", dtype, 1, 64, "out", "x", "z", n)
    one, zero = np.ones(1, dtype), np.zeros(1, dtype)
    with np.errstate(invalid="ignore"):
        both = np.where(x <= z, z, x + z)
        rows = [np.where(x < z, x, z), np.where(~(x >= z), x, z), np.where(x == z, one, zero)]
        rows += [np.where(x != z, one, zero), np.where(x > z, x, both)]
    np.testing.assert_array_equal(bench.get("out").reshape(7, n)[:5], np.array(rows))
    low, high = bench.get("out").reshape(7, n)[5:]
    number = ~(np.isnan(x) | np.isnan(z))
    np.testing.assert_array_equal(low[number], np.minimum(x, z)[number])
    np.testing.assert_array_equal(high[number], np.maximum(x, z)[number])


def test_whole_numbers_have_the_bits_of_the_host():
    make = np.random.default_rng(3)
    a = np.concatenate([make.integers(-(2**63), 2**63 - 1, 500), make.integers(-100, 100, 500), [-(2**63), 0, -1]])
    b = np.concatenate([make.integers(1, 2**40, 500), make.integers(1, 12, 500) * make.choice([-1, 1], 500), [7, 3, 1]])
    n = a.size
    bench = Bench(out=np.zeros(9 * n, np.int64), a=a, b=b)
    bench.run("whole", "float64", -(-n // 96), 96, "out", "a", "b", n)
    with np.errstate(over="ignore"):
        small = (a.astype(np.int32) * b.astype(np.int32).astype(np.int64)).astype(np.int64)
        unsigned = a.view(np.uint64).astype(np.uint32) // (b.view(np.uint64).astype(np.uint32) | np.uint32(1))
        count = [bin(int(v)).count("1") * 100 + 64 - int(v).bit_length() for v in a.view(np.uint64)]
        rows = [a // b, a % b, a * b + (a ^ b), (a >> (b & 63)) - (a << (b & 63))]
        rows += [small, unsigned.astype(np.int64), a.astype(np.int8) + b.astype(np.uint16).astype(np.int64)]
        rows += [np.array(count), np.minimum(a, b) - np.maximum(a, b)]
    found = bench.get("out").reshape(9, n)
    for k, row in enumerate(rows):
        np.testing.assert_array_equal(found[k], row, err_msg=str(k))


@pytest.mark.parametrize("dtype", DTYPES)
def test_conversions_round_as_the_host_does(dtype):
    make = np.random.default_rng(4)
    a = np.concatenate([make.integers(-(2**62), 2**62, 500), 2**24 + np.arange(12), -(2**53) - np.arange(12)])
    x = (make.normal(size=a.size) * 10.0 ** make.uniform(0, 8, a.size)).astype(dtype)
    n = a.size
    bench = Bench(numbers=np.zeros(3 * n, dtype), out=np.zeros(3 * n, np.int64), x=x, a=a)
    bench.run("conversions", dtype, -(-n // 128), 128, "numbers", "out", "x", "a", n)
    numbers = [a.astype(dtype), a.astype(np.int32).astype(dtype), a.view(np.uint64).astype(dtype)]
    np.testing.assert_array_equal(bench.get("numbers").reshape(3, n), numbers)
    whole = [x.astype(np.int64), x.astype(np.int64), (x.astype(np.float32) * np.float32(3)).astype(np.int64)]
    np.testing.assert_array_equal(bench.get("out").reshape(3, n), whole)


def test_random_words_are_those_of_the_host():
    n, samples, seed = 900, 900, 2**40 + 5
    left, right, rounds = rng.shape_of(samples)
    k0, k1 = rng.split(seed)
    bench = Bench(out=np.zeros(3 * n, np.int64))
    bench.run("words", "float64", -(-n // 128), 128, "out", n, samples, k0, k1, left, right, rounds)
    found = bench.get("out").reshape(3, n)
    counter = np.arange(n, dtype=np.uint64)
    key = rng.philox4x32(counter, np.uint64(1), np.uint64(2), np.uint64(3), k0, k1)
    x = rng.feistel(counter, left, right, rounds, *key)
    while (outside := x >= samples).any():
        x[outside] = rng.feistel(x[outside], left, right, rounds, *(k[outside] for k in key))
    np.testing.assert_array_equal(found, [x.astype(np.int64), key[0].astype(np.int64), key[3].astype(np.int64)])


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_product_by_tiles_and_barriers(dtype):
    n = 32
    make = np.random.default_rng(1)
    a, b = make.normal(size=(2, n, n)).astype(dtype)
    bench = Bench(out=np.zeros(n * n, dtype), a=a, b=b)
    bench.run("product", dtype, (n // 8, n // 8), (8, 8), "out", "a", "b", n)
    np.testing.assert_allclose(bench.get("out").reshape(n, n), a @ b, rtol=50 * np.finfo(dtype).eps, atol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dynamic_shared_memory_and_local_memory(dtype):
    x = np.random.default_rng(2).normal(size=96).astype(dtype)
    bench = Bench(out=np.zeros(96, dtype), x=x)
    bench.run("dynamic", dtype, 3, 32, "out", "x", 32, shared=32 * x.itemsize)
    np.testing.assert_array_equal(bench.get("out").reshape(3, 32), x.reshape(3, 32)[:, ::-1])
    with pytest.raises(Fault, match=r"out of bounds|past the end"):
        bench.run("dynamic", dtype, 3, 32, "out", "x", 32, shared=31 * x.itemsize)
    bench.run("local", dtype, 3, 32, "out", "x", 96, 20)
    turns = (np.arange(96)[:, None] * np.arange(20)) % 8
    np.testing.assert_allclose(bench.get("out"), (x[:, None] * turns).sum(1), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("block", [1, 33, 128])
def test_threads_that_part_and_meet_again(block):
    n = 500
    x = np.random.default_rng(5).normal(size=n) * 9
    bench = Bench(out=np.zeros(n), x=x)
    bench.run("uneven", "float64", -(-n // block), block, "out", "x", n)
    expected = []
    for i in range(n):
        total = x[i]
        for k in range(i % 37):
            if (i + k) % 5 == 0:
                continue
            total = total * 0.5 + k
            if total > 20:
                break
        while total > 4:
            total -= 3
        expected.append(total)
    np.testing.assert_allclose(bench.get("out"), expected, rtol=1e-14)


def test_bytes_and_words_wrap_around():
    n = 300
    flags, words = np.arange(n).astype(np.uint8), (np.arange(n) * 9999999).astype(np.int32)
    bench = Bench(flags=flags, words=words)
    bench.run("bytes_and_words", "float32", 3, 128, "flags", "words", n)
    after = flags + np.uint8(200)
    np.testing.assert_array_equal(bench.get("flags"), after)
    np.testing.assert_array_equal(bench.get("words"), words * np.int32(3) - after)


@pytest.mark.parametrize("races", [True, False])
@pytest.mark.parametrize(("name", "arrays"), [("neighbours", ("out", "x")), ("all_to_one", ("out",))])
def test_a_race_in_global_memory_raises(name, arrays, races):
    bench = Bench(out=np.zeros(200), x=np.arange(200.0))
    if not races:
        bench.run(name, "float64", 2, 100, *arrays, 200, races=False)
        return
    with pytest.raises(
        Race, match=r"race in global memory: .* without a barrier at address 0x\w+ in .*, line \d+: (st|ld)"
    ):
        bench.run(name, "float64", 2, 100, *arrays, 200)


def test_a_barrier_orders_a_block_and_not_two():
    for n in (0, 1):
        bench = Bench(out=np.zeros(2))
        if n == 0:
            bench.run("two_blocks_one_number", "float64", 2, 32, "out", n)
            assert bench.get("out").tolist() == [2, 2]
        else:
            with pytest.raises(Race):
                bench.run("two_blocks_one_number", "float64", 2, 32, "out", n)


@pytest.mark.parametrize("name", ["no_barrier", "product_without_second_barrier"])
def test_a_missing_barrier_is_a_race_in_shared_memory(name):
    bench = Bench(out=np.zeros(1024), x=np.arange(1024.0), b=np.arange(1024.0))
    args = ("out", "x", 32) if name == "no_barrier" else ("out", "x", "b", 32)
    with pytest.raises(Race, match="shared memory") as found:
        bench.run(name, "float64", 1 if name == "no_barrier" else (4, 4), 32 if name == "no_barrier" else (8, 8), *args)
    assert found.value.thread is not None


def test_a_barrier_that_half_of_the_block_never_reaches():
    bench = Bench(out=np.zeros(64))
    with pytest.raises(Fault, match="32 threads of the block have ended and never reach the barrier"):
        bench.run("lonely_barrier", "float64", 1, 64, "out", 64)


def test_a_wrong_address_names_kernel_line_and_thread():
    bench = Bench(out=np.zeros(10), after=np.zeros(10))
    bench.run("far", "float64", 3, 32, "out", 77, 9, 2.5)
    assert bench.get("out")[9] == 2.5
    with pytest.raises(Fault, match=r"block \(2, 0, 0\) thread \(13, 0, 0\), line \d+: st.global.f64") as found:
        bench.run("far", "float64", 3, 32, "out", 77, 10, 2.5)
    assert found.value.address == bench.places["out"][0] + 80
    assert found.value.thread == ((2, 0, 0), (13, 0, 0))
    with pytest.raises(Fault, match="out of bounds"):
        bench.run("far", "float64", 3, 32, "out", 77, -1, 2.5)
    with pytest.raises(Fault, match="NULL"):
        bench.run("far", "float64", 3, 32, 0, 77, 1, 2.5)
    with pytest.raises(Fault, match="misaligned"):
        bench.run("far", "float64", 3, 32, bench.places["out"][0] + 4, 77, 1, 2.5)
    bench.memory.free(bench.places["out"][0])
    with pytest.raises(Fault, match="use after free"):
        bench.run("far", "float64", 3, 32, "out", 77, 1, 2.5)
    with pytest.raises(Fault, match="free of what is no allocation"):
        bench.memory.free(bench.places["out"][0])


def test_lanes_of_a_warp():
    x = np.random.default_rng(8).integers(-100, 100, 64)
    bench = Bench(out=np.zeros(6 * 64, np.int64), x=x)
    bench.run("lanes", "float64", 1, 64, "out", "x")
    found = bench.get("out").reshape(2, 32, 6)
    for warp, v in enumerate(x.reshape(2, 32)):
        lane = np.arange(32)
        np.testing.assert_array_equal(found[warp, :, 0], v[(lane * 7 + 3) % 32])
        np.testing.assert_array_equal(found[warp, :, 1], np.where(lane >= 3, v[lane - 3], v))
        np.testing.assert_array_equal(found[warp, :, 2], np.where(lane < 27, v[(lane + 5) % 32], v))
        np.testing.assert_array_equal(found[warp, :, 3], v[lane ^ 6])
        ballot = sum(1 << k for k in range(32) if v[k] > 0)
        assert set(found[warp, :, 4]) <= {ballot, ballot - 2**32}
        assert set(found[warp, :, 5]) == {int((v > 90).any()) + 2 * int((v > -90).all())}


def test_memory_is_poison_until_it_is_written():
    memory = Memory()
    assert np.isnan(memory.view(memory.allocate(80), 10, np.float64)).all()


def test_memory_has_an_end():
    memory = Memory(limit=1000)
    first = memory.allocate(600)
    with pytest.raises(MemoryError, match="500 bytes asked for, 400 of 1000 are free"):
        memory.allocate(500)
    memory.free(first)
    assert memory.allocate(1000) != first


def test_a_launch_of_many_threads_takes_seconds():
    n = 256 * 64
    bench = Bench(out=np.zeros(n, np.float32), x=np.ones(n, np.float32))
    kernel("local", "float32")
    start = time.perf_counter()
    bench.run("local", "float32", 64, 256, "out", "x", n, 300)
    assert time.perf_counter() - start < 10
