"""Axes and lines where a number on a grid is zero, against what can be computed in another way."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scalarviz.view.ink.axes import Axes, Scale, scale_of, spaced, tick_text, tight, zero_lines


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
    texts = {0.05: "0.05", 0.001: "0.001", 1e-4: "1e−4", 0.0: "0", -2.0: "−2", 100.0: "100"}
    assert {value: tick_text(value) for value in texts} == texts


@given(st.floats(-50, 50), st.floats(-50, 50), st.booleans())
def test_the_numbers_at_a_point_are_those_that_stand_there(x, y, log):
    across, up = Scale(-50.0, 50.0), Scale(1e-3, 1e3, log=True) if log else Scale(-50.0, 50.0)
    axes, y = Axes((10.0, 20.0, 300.0, 200.0), across, up), 10 ** (y / 20) if log else y
    at = axes.point(x, y)
    assert axes.holds(np.array([x]), np.array([y])).all()
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
