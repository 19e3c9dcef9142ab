"""The generator against Random123's vectors and a plain Philox, and the properties that a run relies on."""

import colorsys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalarviz import data, rng

# Random123, tests/kat_vectors: "philox4x32 10", counter, key, result
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]
SEEDS = st.integers(0, 2**64 - 1)


def words(text):
    return [int(word, 16) for word in text.split()]


def plain_draws(seed, step, n, batch):
    """Philox-4x32-10 on Python ints, as its paper has it, and the upper 64 bits of a 64-bit word times n."""
    found = []
    for block in range((batch + 1) // 2):
        c, k = [block, 4, step % 2**32, step >> 32], [seed % 2**32, seed >> 32]
        for _ in range(10):
            a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [(b >> 32) ^ c[1] ^ k[0], b % 2**32, (a >> 32) ^ c[3] ^ k[1], a % 2**32]
            k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
        found += [(((c[0] << 32) + c[1]) * n) >> 64, (((c[2] << 32) + c[3]) * n) >> 64]
    return found[:batch]


def chi_square(counts):
    """How far counts are from even ones, and what is too far: five deviations."""
    even, freedom = counts.sum() / len(counts), len(counts) - 1
    return float(((counts - even) ** 2 / even).sum()), freedom + 5 * (2 * freedom) ** 0.5


@pytest.mark.parametrize(("counter", "key", "result"), KNOWN)
def test_known_answers_on_ints_and_on_arrays(counter, key, result):
    assert [int(w) for w in rng.philox4x32(*words(counter), *words(key))] == words(result)
    columns = [np.array([w, 0, w], dtype=np.uint64) for w in words(counter)]
    got = rng.philox4x32(*columns, *(np.uint64(k) for k in words(key)))
    assert [int(column[0]) for column in got] == [int(column[2]) for column in got] == words(result)


@given(SEEDS, st.integers(0, 2**53), st.integers(1, 2**32), st.integers(1, 9))
@settings(deadline=None, max_examples=60)
def test_draws_are_those_of_a_plain_philox(seed, step, n, batch):
    assert rng.drawn_indices(seed, step, n, batch).tolist() == plain_draws(seed, step, n, batch)


@given(SEEDS, SEEDS, st.integers(0, 50), st.integers(0, 50), st.sampled_from(["uniform", "normal"]))
@settings(deadline=None, max_examples=50)
def test_parts_of_a_sequence_equal_the_whole(seed, step, cut, more, kind):
    draw = getattr(rng, kind)
    whole = draw(seed, rng.Stream.DATA, step, cut + more)
    parts = [draw(seed, rng.Stream.DATA, step, cut), draw(seed, rng.Stream.DATA, step, more, start=cut)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_uniform_numbers_fill_the_unit_interval_evenly(dtype):
    u = rng.uniform(1, rng.Stream.DATA, 0, 200_000, dtype)
    assert (u.dtype, u.min() >= 0, u.max() < 1) == (dtype, True, True)
    far, most = chi_square(np.histogram(u, bins=100, range=(0, 1))[0])
    assert 55 < far < most
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 0.01
    wide = rng.uniform(1, rng.Stream.DATA, 0, 200_000)
    assert ((u <= wide) & (wide - u < 2.0**-24)).all()  # float32 is float64 cut to its bits


# ---- the order of an epoch


@given(st.integers(1, 3000), SEEDS, st.integers(0, 2**40))
@settings(deadline=None, max_examples=60)
def test_permute_is_a_bijection_on_arrays_ints_and_huge_domains(n, seed, epoch):
    order = rng.permute(np.arange(n), n, seed, epoch)
    assert np.array_equal(np.sort(order), np.arange(n))
    key = [int(k) for k in (*rng.shape_of(64), *rng.epoch_keys(seed, epoch))]
    assert [int(rng.feistel(x, *key)) for x in range(64)] == rng.permute(np.arange(64), 64, seed, epoch).tolist()
    huge = 10**15 + 7
    there = rng.permute(np.array([0, 1, huge - 1, huge // 2]), huge, seed, epoch)
    assert len(set(there.tolist())) == 4
    assert (there.min() >= 0, there.max() < huge) == (True, True)
    assert rng.permute(1, huge, seed, epoch) == there[1]
    assert rng.permute(1, huge, seed, epoch).shape == ()


# ---- the colour data: targets against arithmetic by hand, colours as text


@pytest.mark.parametrize(("name", "colour", "wanted"), [
    ("invert", (0.25, 0.5, 1.0), (0.75, 0.5, 0.0)), ("rotate", (0.25, 0.5, 1.0), (0.5, 1.0, 0.25)),
    ("gray", (1.0, 0.0, 0.0), (0.2126,) * 3), ("gray", (1.0, 1.0, 1.0), (1.0, 1.0, 1.0)),
    ("sepia", (1.0, 1.0, 1.0), (1.0, 1.0, 0.937)), ("sepia", (0.0, 1.0, 0.0), (0.769, 0.686, 0.534)),
    ("sepia", (0.0, 0.0, 1.0), (0.189, 0.168, 0.131)), ("warm", (0.0, 0.3, 1.0), (0.15, 0.3, 0.75)),
])  # fmt: skip
def test_targets(name, colour, wanted):
    np.testing.assert_allclose(data.target(name)(np.array(colour)), wanted, atol=1e-12)


def test_random_colours_begin_alike_for_every_number():
    np.testing.assert_array_equal(data.random_colours(10, 3), data.random_colours(50, 3)[:10])
    assert not np.array_equal(data.random_colours(10, 3), data.random_colours(10, 4))
    assert abs(data.random_colours(10_000, 0).mean() - 0.5) < 0.01


def test_the_grid_has_every_corner_and_every_colour_once():
    grid = data.colour_grid()
    assert grid.shape == np.unique(grid, axis=0).shape == (4096, 3)
    assert {tuple(c) for c in grid.tolist()} >= {(r, g, b) for r in (0.0, 1.0) for g in (0.0, 1.0) for b in (0.0, 1.0)}


@given(st.tuples(*[st.integers(0, 255)] * 3))
def test_colours_as_text_go_both_ways(levels):
    text = "#{:02x}{:02x}{:02x}".format(*levels)
    np.testing.assert_array_equal(data.parse_colour(text) * 255, levels)
    assert data.hex_colour(data.parse_colour(text.upper())) == text
    np.testing.assert_array_equal(data.parse_colour("#f80"), data.parse_colour("ff8800"))
    left, right = data.parse_pair("#ff8800:#0044cc")
    assert colorsys.rgb_to_hsv(*left)[0] == pytest.approx(32 / 360)
    assert data.hex_colour(right) == "#0044cc"
