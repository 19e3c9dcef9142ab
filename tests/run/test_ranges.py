import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from scalarviz.errors import InputError, UnknownNameError
from scalarviz.run.frame import Tensor
from scalarviz.run.ranges import Range, RangeTracker, clipped_share, extent, extents, symlog, symlog_inverse

TENSORS = (Tensor("0.weight", (2, 3), 0), Tensor("0.bias", (2,), 6, "bias"), Tensor("2.weight", (1, 2), 8))


@given(arrays(np.float64, st.integers(1, 40), elements=st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-6)))
def test_extent_is_the_smaller_of_the_maximum_and_three_rms(x):
    got = extent(x)
    top, rms = max(abs(v) for v in x), math.sqrt(math.fsum(v * v for v in x) / len(x))
    assert got == pytest.approx(min(top, 3 * rms) if top else 1.0, rel=1e-12)


def test_extent_looks_at_finite_values_only():
    assert extent([np.nan, 3.0, -np.inf, np.inf]) == 3.0
    assert extent([np.nan, np.inf]) == extent([]) == extent([0.0, -0.0]) == 1.0


def test_one_outlier_does_not_set_the_range():
    x = np.ones(10_000)
    x[0] = 1e3
    assert extent(x) == pytest.approx(3 * math.sqrt((9_999 + 1e6) / 1e4))
    assert clipped_share(x, extent(x)) == 1e-4


@pytest.mark.parametrize("size", [1e300, 1e-30])
def test_extent_neither_overflows_nor_underflows(size):
    assert extent(np.array([size, -size])) == pytest.approx(size)


def test_a_range_below_float32_is_no_range():
    assert extent([1e-300]) == 1.0


def test_clipped_counts_infinities_but_not_nan():
    assert clipped_share([0.5, 2.0, -3.0, np.inf, -np.inf, np.nan, 1.0, -1.0], 1.0) == 0.5
    assert clipped_share([], 1.0) == 0.0


def test_scopes_share_ranges():
    flat = np.array([1.0, 1, 1, 1, 1, 1, 5, 5, 0.1, 0.1])
    tensor = extents(flat, TENSORS, "tensor")
    assert tensor == {"0.weight": 1.0, "0.bias": 5.0, "2.weight": pytest.approx(0.1)}
    layer = extents(flat, TENSORS, "layer")
    assert layer["0.weight"] == layer["0.bias"] == extent(flat[:8])
    assert layer["2.weight"] == pytest.approx(0.1)
    assert set(extents(flat, TENSORS).values()) == {extent(flat)}
    with pytest.raises(UnknownNameError, match="network, layer, tensor"):
        extents(flat, TENSORS, "row")


@given(st.floats(-1, 1))
def test_symlog_is_odd_bounded_and_invertible(x):
    y = float(symlog(x))
    assert -1 <= y <= 1
    assert y == -float(symlog(-x))
    assert float(symlog_inverse(y)) == pytest.approx(x, abs=1e-14)


def test_a_tenth_of_the_range_is_half_way_on_the_symmetric_log_scale():
    np.testing.assert_allclose(symlog([-1, -0.1, 0, 0.1, 1]), [-1, -0.5, 0, 0.5, 1], atol=1e-15)


@pytest.mark.parametrize("chosen", [Range(-2, 2), Range(0, 1.6), Range(-4e-4, 4e-4, "symlog")])
def test_a_range_maps_its_ends_to_the_ends_of_the_scale(chosen):
    np.testing.assert_allclose(chosen.unit([chosen.low, chosen.high]), [0, 1])
    unit = np.linspace(0, 1, 11)
    np.testing.assert_allclose(chosen.unit(chosen.value(unit)), unit, atol=1e-14)
    assert chosen.unit(2 * chosen.high) > 1


@pytest.mark.parametrize(
    ("low", "high", "scale"),
    [(1, 1, "linear"), (2, 1, "linear"), (0, np.inf, "linear"), (0, 1, "symlog"), (np.nan, 1, "linear")],
)
def test_ranges_that_make_no_sense_are_refused(low, high, scale):
    with pytest.raises(InputError):
        Range(low, high, scale)


def test_an_unknown_scale_is_refused():
    with pytest.raises(UnknownNameError, match="linear, symlog"):
        Range(-1, 1, "decades")


def test_v_moves_outward_with_its_time_constant_and_never_inward():
    tracker = RangeTracker(0.5)
    assert tracker.update({"w": 1.0}, 0.0) == {"w": 1.0}
    assert tracker.update({"w": 2.0}, 0.5)["w"] == pytest.approx(2 - math.exp(-1))
    assert tracker.update({"w": 0.1}, 10.0)["w"] == pytest.approx(2 - math.exp(-1))
    assert tracker.refit({"w": 0.1}) == {"w": 0.1} == tracker.extents


@given(st.lists(st.floats(0.001, 0.3), min_size=1, max_size=8))
def test_v_does_not_depend_on_the_frame_rate(pauses):
    many, once = RangeTracker(), RangeTracker()
    for tracker in (many, once):
        tracker.refit({"w": 1.0})
    for pause in pauses:
        many.update({"w": 3.0}, pause)
    once.update({"w": 3.0}, math.fsum(pauses))
    assert many.extents["w"] == pytest.approx(once.extents["w"], rel=1e-12)


def test_the_tracker_refuses_a_time_constant_of_zero():
    with pytest.raises(InputError, match="time_constant"):
        RangeTracker(0.0)


@given(st.floats(1e-20, 1e20), st.integers(1, 12))
def test_decades_are_equally_long_on_a_log_scale(v, count):
    chosen = Range.decades(v, count)
    np.testing.assert_allclose(chosen.unit(v * 10.0 ** -np.arange(count + 1)), np.linspace(1, 0, count + 1), atol=1e-9)
    unit = np.linspace(0, 1, 11)
    np.testing.assert_allclose(chosen.unit(chosen.value(unit)), unit, atol=1e-9)
    assert chosen.unit(2 * v) > 1
    assert chosen.unit([0.0, v * 10.0 ** -(count + 3)]).tolist() == [0.0, 0.0]


def test_decades_end_where_float32_does():
    assert Range.decades(1e-37, 8).low == 2.0**-126
    assert Range.decades(1e-300, 4) == Range(1e-4, 1.0, "log")


@pytest.mark.parametrize("low", [0.0, -1.0])
def test_a_log_range_is_positive(low):
    with pytest.raises(InputError, match="positive"):
        Range(low, 2.0, "log")
