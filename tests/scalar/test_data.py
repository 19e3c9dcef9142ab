"""The colour data: targets against arithmetic by hand, colours as text."""

from __future__ import annotations

import colorsys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalarviz import data


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
