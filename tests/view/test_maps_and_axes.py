"""Axes, lines where a number is zero, colour maps and themes, against what can be computed in another way."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scalarviz.errors import UnknownNameError
from scalarviz.view.ink.axes import Axes, Scale, scale_of, spaced, tight, zero_lines
from scalarviz.view.ink.theme import (
    DARK,
    DIVERGING,
    LIGHT,
    TABLE_SIZE,
    THEMES,
    get_map,
    get_theme,
    luminance,
    rgb,
    text_colour,
)


@given(values=st.lists(st.floats(1e-12, 1e6), min_size=1, max_size=20), most=st.integers(3, 7))
def test_a_log_axis_holds_the_values_between_few_nice_ticks(values, most):
    scale = scale_of(np.array(values), most)
    assert scale.log
    assert scale.low <= min(values) <= max(values) <= scale.high
    assert 2 <= len(scale.ticks) <= most
    assert scale.low <= scale.ticks[0] < scale.ticks[-1] <= scale.high
    span = max(np.log(max(values) / min(values)) + 2 * np.log(1.02), 2 * np.log(1.7))  # a flat curve has some air
    assert np.log(scale.high / scale.low) <= 1.6 * span + 1e-9  # most of the height is the curve's
    mantissas = np.array(scale.ticks) / 10 ** np.floor(np.log10(scale.ticks) + 1e-9)
    assert np.abs(mantissas[:, None] - [1, 1.5, 2, 3, 4, 5, 7]).min(axis=1).max() < 1e-9
    np.testing.assert_allclose(scale.place(np.array([scale.low, scale.high])), [0, 1])


@given(values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
@example(values=[5e-324, -6.0])
def test_a_linear_axis_holds_negative_values(values):
    scale = scale_of(np.array([*values, -1.0]))
    assert not scale.log
    assert scale.low <= min(*values, -1.0) <= max(*values, -1.0) <= scale.high
    assert 2 <= len(scale.ticks) <= 8
    assert np.ptp(np.diff(scale.ticks)) <= 1e-9 * (scale.high - scale.low)


def test_known_axes():
    for values in ([], [float("nan")], [0.0, 0.0], [0.1, float("inf")], [0.0, 0.5]):
        assert scale_of(np.array(values)).low < scale_of(np.array(values)).high
    low = scale_of(np.array([3.0, 0.1]), most=3)  # in a low panel; not 0.01, 1 and 100
    assert (low.low, low.high, *low.ticks) == pytest.approx((0.1, 3, 0.1, 1), rel=0.03)
    ticks = {(7.5, 9.2): (8, 9), (0.02, 40.0): (0.1, 1, 10), (-1.0, 2.0): (-1, 2)}
    assert {ends: tight(np.array(ends)).ticks for ends in ticks} == ticks


@given(st.floats(-50, 50), st.floats(-50, 50), st.booleans())
def test_the_numbers_at_a_point_are_those_that_stand_there(x, y, log):
    across, up = Scale(-50.0, 50.0), Scale(1e-3, 1e3, log=True) if log else Scale(-50.0, 50.0)
    axes, y = Axes((10.0, 20.0, 300.0, 200.0), across, up), 10 ** (y / 20) if log else y
    at = axes.point(x, y)
    assert axes.contains(np.array([x]), np.array([y])).all()
    assert axes.numbers(at) == pytest.approx((x, y), abs=1e-9)
    assert axes.numbers((at[0], 221.0)) is None


@given(st.lists(st.tuples(st.floats(0, 400), st.floats(5, 90)), max_size=9))
def test_texts_in_a_row_keep_apart_and_within_their_ends(wanted):
    lefts = zip(spaced(wanted, (0, 400), 6), wanted, strict=True)
    kept = sorted((left, left + wide) for left, (_, wide) in lefts if left is not None)
    assert all(-1e-9 <= left <= right <= 400 + 1e-9 for left, right in kept)
    assert all(one[1] + 6 <= other[0] + 1e-9 for one, other in pairwise(kept))
    assert not wanted or kept


@given(st.floats(0, 6.28), st.floats(-3, 3), st.integers(2, 12), st.integers(2, 12))
def test_the_line_where_a_plane_is_zero_is_straight(angle, shift, high, wide):
    def plane(x, y):
        return np.cos(angle) * (x - wide / 2) + np.sin(angle) * (y - high / 2) + shift

    for points in zero_lines(plane(*np.mgrid[0:high, 0:wide][::-1])):
        np.testing.assert_allclose(plane(points[:, 0], points[:, 1]), 0.0, atol=1e-9)


def test_the_line_of_a_circle_is_closed_has_its_length_and_avoids_nan_and_a_saddle_has_two_pieces():
    row, column = np.mgrid[0:81, 0:81]
    away = np.hypot(column - 40.0123, row - 40.0257) - 25.0  # through no place
    starts, ends = zero_lines(away)
    assert np.hypot(*(starts - ends).T).sum() == pytest.approx(2 * np.pi * 25, rel=1e-3)
    assert len({tuple(p) for p in np.round(np.concatenate([starts, ends]), 9)}) == len(starts)  # as many corners
    away[:, 60:], away[20, 20] = np.nan, np.inf
    cut = np.concatenate(zero_lines(away))
    assert 0 < len(cut) < 2 * len(starts)
    assert cut[:, 0].max() <= 59
    assert len(zero_lines([[1.0, -1.0], [-1.0, 1.0]])[0]) == len(zero_lines([[-1.0, 1.0], [1.0, -1.0]])[0]) == 2
    assert len(zero_lines(np.ones((4, 4)))[0]) == 0


# Machado, Oliveira, Fernandes, "A physiologically-based model for simulation of color vision deficiency" (2009),
# severity 1.0, on linear RGB.
DEFICIENCIES = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def lab(colour, deficiency):
    linear = np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.array(DEFICIENCIES[deficiency]) @ linear, 0, 1)
    t = TO_XYZ @ linear / (TO_XYZ @ np.ones(3))
    f = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", DIVERGING)
def test_plus_and_minus_differ_for_every_kind_of_colour_vision_and_warm_means_negative(name, theme):
    colours, stops = get_map(name, theme), getattr(get_theme(theme), name)
    for deficiency in DEFICIENCIES:
        distance = np.linalg.norm(lab(colours(0.5), deficiency) - lab(colours(-0.5), deficiency))
        assert distance >= 43, f"{name} {theme} {deficiency}: {distance:.1f}"
    got = colours.bytes([-1, -0.5, 0, 0.5, 1])
    assert ["#{:02x}{:02x}{:02x}".format(*tuple(c)) for c in got.tolist()] == list(stops)
    negative, positive = colours([-0.3, -0.5, -0.8, -1.0]), colours([0.3, 0.5, 0.8, 1.0])
    assert (negative[:, 0] > negative[:, 2]).all(), "negative must be redder than blue"
    assert (positive[:, 2] > positive[:, 0]).all(), "positive must be bluer than red"


def test_known_maps_and_colours():
    grey = get_map("gray")
    assert (grey.name, grey.diverging) == ("grey", False)
    np.testing.assert_array_equal(grey([-7.0, 9.0, np.nan]), grey([0.0, 1.0, np.nan]))
    np.testing.assert_allclose(grey([0, 0.25, 1]), [[0] * 3, [0.25] * 3, [1] * 3], atol=0.5 / 255)
    np.testing.assert_allclose(get_map("magnitude")([0, 1]), [[0.267, 0.005, 0.329], [0.993, 0.906, 0.144]], atol=0.02)
    x = np.linspace(0.0, 1.0, TABLE_SIZE)[:, None]  # smooth steps from a third to the next: vispy's shader of it
    t = np.clip((x - [0.0, 0.33, 0.66]) / [0.33, 0.33, 0.34], 0.0, 1.0)
    np.testing.assert_allclose(get_map("hot").entries, 255.0 * t * t * (3.0 - 2.0 * t), atol=0.6)
    np.testing.assert_allclose(luminance(np.eye(3)), [0.2126, 0.7152, 0.0722])
    assert [text_colour(get_map("weight")(t)) for t in (-1.0, 0.0)] == ["#0c0e11", "#ffffff"]
    assert (get_theme(DARK), get_theme("light"), rgb("#ff8000")) == (DARK, LIGHT, (1.0, 128 / 255, 0.0))


def test_an_unknown_name_lists_what_there_is():
    with pytest.raises(UnknownNameError, match=r"'jet2'.*weight.*viridis"):
        get_map("jet2")
    with pytest.raises(UnknownNameError, match=r"sepia.*dark, light"):
        get_map("weight", "sepia")
