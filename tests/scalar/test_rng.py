"""The generator against Random123's published vectors, and the properties that a run relies on."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalarviz import rng
from scalarviz.errors import InputError

# Random123, tests/kat_vectors: "philox4x32 10", counter, key, result
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]
SEEDS = st.integers(0, 2**64 - 1)


def words(text):
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize(("counter", "key", "result"), KNOWN)
def test_known_answers_on_ints_and_on_arrays(counter, key, result):
    assert [int(w) for w in rng.philox4x32(*words(counter), *words(key))] == words(result)
    columns = [np.array([w, 0, w], dtype=np.uint64) for w in words(counter)]
    got = rng.philox4x32(*columns, *(np.uint64(k) for k in words(key)))
    assert [int(column[0]) for column in got] == [int(column[2]) for column in got] == words(result)


def test_the_same_code_in_a_compiled_kernel():
    numba = pytest.importorskip("numba")
    philox, unit, feistel = numba.njit(rng.philox4x32), numba.njit(rng.unit), numba.njit(rng.feistel)
    for counter, key, result in KNOWN:
        got = philox(*(np.uint64(w) for w in words(counter) + words(key)))
        assert [int(w) for w in got] == words(result)
        assert unit(got[0], got[1]) == rng.unit(got[0], got[1])
    key = (*rng.shape_of(1024), *rng.epoch_keys(5, 3))
    for x in range(0, 1024, 37):
        assert feistel(np.uint64(x), *key) == rng.feistel(np.uint64(x), *key)


def test_the_same_permutation_on_python_ints():
    key = [int(k) for k in (*rng.shape_of(64), *rng.epoch_keys(7, 0))]
    expected = rng.permute(np.arange(64), 64, 7, 0)
    assert [int(rng.feistel(x, *key)) for x in range(64)] == expected.tolist()


@given(SEEDS, st.integers(0, 2**64 - 1), st.integers(0, 50), st.integers(0, 50), st.sampled_from(["uniform", "normal"]))
@settings(deadline=None, max_examples=50)
def test_parts_of_a_sequence_equal_the_whole(seed, step, cut, more, kind):
    draw = getattr(rng, kind)
    whole = draw(seed, rng.Stream.DATA, step, cut + more)
    parts = [draw(seed, rng.Stream.DATA, step, cut), draw(seed, rng.Stream.DATA, step, more, start=cut)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_uniform_numbers_fill_the_unit_interval_evenly(dtype):
    u = rng.uniform(1, rng.Stream.DATA, 0, 200_000, dtype)
    assert u.dtype == dtype
    assert u.min() >= 0
    assert u.max() < 1
    counts = np.histogram(u, bins=100, range=(0, 1))[0]
    chi2 = float(((counts - 2000.0) ** 2 / 2000.0).sum())
    assert 55 < chi2 < 155  # 99 degrees of freedom: mean 99, deviation 14
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 0.01


def test_float32_is_float64_cut_to_its_bits():
    wide = rng.uniform(9, 3, 4, 1000)
    narrow = rng.uniform(9, 3, 4, 1000, np.float32)
    assert np.all(narrow <= wide)
    assert np.all(wide - narrow < 2.0**-24)


def test_normal_numbers_have_the_moments_of_a_normal_distribution():
    z = rng.normal(3, rng.Stream.WEIGHTS, 0, 200_000)
    assert abs(z.mean()) < 0.01
    assert abs(z.std() - 1) < 0.01
    assert abs((z**3).mean()) < 0.03
    assert abs((z**4).mean() - 3) < 0.1
    assert np.isfinite(z).all()


def test_seed_stream_and_step_each_change_the_numbers():
    base = rng.uniform(1, 2, 3, 100)
    for other in [(2, 2, 3), (1 + 2**32, 2, 3), (1, 3, 3), (1, 2, 4), (1, 2, 3 + 2**32)]:
        assert abs(np.corrcoef(base, rng.uniform(*other, 100))[0, 1]) < 0.4
        assert not np.any(base == rng.uniform(*other, 100))


@given(st.integers(1, 3000), SEEDS, st.integers(0, 2**40))
@settings(deadline=None, max_examples=100)
def test_permute_is_a_bijection(n, seed, epoch):
    assert np.array_equal(np.sort(rng.permute(np.arange(n), n, seed, epoch)), np.arange(n))


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_every_order_of_a_few_things_is_about_as_frequent(n):
    trials = 4000
    counts = Counter(tuple(rng.permute(np.arange(n), n, 11, epoch)) for epoch in range(trials))
    orders = list(itertools.permutations(range(n)))
    expected = trials / len(orders)
    chi2 = sum((counts[order] - expected) ** 2 / expected for order in orders)
    freedom = len(orders) - 1
    assert chi2 < freedom + 5 * (2 * freedom) ** 0.5


def test_where_one_index_goes_is_even_over_the_epochs():
    n = 10
    for index in (0, 9):
        counts = np.bincount([int(rng.permute(index, n, 0, epoch)) for epoch in range(3000)], minlength=n)
        assert np.abs(counts - 300).max() < 5 * 300**0.5


def test_permute_takes_single_indices_and_huge_domains():
    n = 10**15 + 7
    some = np.array([0, 1, n - 1, n // 2])
    there = rng.permute(some, n, 4, 0)
    assert len(set(there.tolist())) == 4
    assert there.min() >= 0
    assert there.max() < n
    assert rng.permute(1, n, 4, 0) == there[1]
    assert rng.permute(1, n, 4, 0).shape == ()


@given(st.integers(1, 200), st.data())
@settings(deadline=None, max_examples=60)
def test_an_epoch_shows_every_sample_at_most_once(n, data):
    batch = data.draw(st.integers(1, n))
    per_epoch = n // batch
    epoch = data.draw(st.integers(0, 5))
    steps = range(epoch * per_epoch, (epoch + 1) * per_epoch)
    seen = np.concatenate([rng.batch_indices(3, step, n, batch) for step in steps])
    assert len(seen) == len(set(seen.tolist())) == per_epoch * batch
    assert seen.min() >= 0
    assert seen.max() < n


def test_a_batch_as_large_as_the_data_is_the_data_in_order():
    for step in (0, 1, 17):
        np.testing.assert_array_equal(rng.batch_indices(5, step, 40, 40), np.arange(40))


def test_epochs_differ_and_seeds_differ():
    first = rng.batch_indices(0, 0, 4096, 1024)
    assert not np.array_equal(first, rng.batch_indices(0, 4, 4096, 1024))
    assert not np.array_equal(first, rng.batch_indices(1, 0, 4096, 1024))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: rng.batch_indices(0, 0, 10, 11), "batch size 11 is larger than the data set"),
        (lambda: rng.batch_indices(0, 0, 10, 0), "batch size must be at least 1"),
        (lambda: rng.permute(0, 0, 0, 0), "n must be in 1"),
        (lambda: rng.permute(10, 10, 0, 0), "index must be in 0 .. 9"),
        (lambda: rng.uniform(-1, 1, 0, 3), "seed must be in 0"),
        (lambda: rng.uniform(2**64, 1, 0, 3), "seed must be in 0"),
        (lambda: rng.uniform(0.5, 1, 0, 3), "seed must be a whole number"),
        (lambda: rng.uniform(0, 1, -1, 3), "step must be in 0"),
        (lambda: rng.uniform(0, 1, 0, -3), "must not be negative"),
        (lambda: rng.uniform(0, 1, 0, 4, start=2**33), "use another stream"),
    ],
)
def test_what_cannot_be_drawn_is_said(call, says):
    with pytest.raises(InputError, match=says):
        call()
