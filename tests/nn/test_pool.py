"""Pools: against PyTorch, NumPy and finite differences; the first maximum."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import nn
from scalarviz.scalar.nested import flatten, nest

NETS = {
    "max": lambda: nn.MaxPool2d(2),
    "max_overlap": lambda: nn.MaxPool2d((3, 2), stride=(2, 1), padding=1),
    "max_ties": lambda: nn.MaxPool2d(3, stride=2, padding=1),
    "avg": lambda: nn.AvgPool2d((2, 3)),
    "avg_overlap": lambda: nn.AvgPool2d(3, stride=1, padding=1),
}


@pytest.mark.parametrize("name", NETS)
def test_values_and_gradients_agree_with_pytorch(oracle, compare, name):
    compare(oracle("pictures"), name, NETS[name]())


pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))


@settings(max_examples=60, deadline=None)
@given(kernel=pairs, stride=pairs, half=st.booleans(), rest=pairs, seed=st.integers(0, 99))
def test_any_window_stride_and_padding(values, numbers, kernel, stride, half, rest, seed):
    padding = tuple(k // 2 if half else 0 for k in kernel)
    x = np.random.default_rng(seed).integers(-3, 3, (2, kernel[0] + rest[0], kernel[1] + rest[1])).astype(float)
    sides = [(0, 0), *((p, p) for p in padding)]
    for kind, fill, reduce in ((nn.MaxPool2d, -np.inf, np.max), (nn.AvgPool2d, 0.0, np.mean)):
        seen = np.pad(x, sides, constant_values=fill)
        views = np.lib.stride_tricks.sliding_window_view(seen, kernel, (1, 2))[:, :: stride[0], :: stride[1]]
        found = numbers(kind(kernel, stride, padding)(values(x)))
        np.testing.assert_allclose(found, reduce(views, axis=(3, 4)), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", [n for n in NETS if n != "max_ties"])
def test_finite_differences(name):
    points = np.random.default_rng(8).permutation(24) / 10  # no two alike: away from the kinks
    tilt = np.linspace(0.5, 2.0, 40)

    def total(*xs):
        y = flatten(NETS[name]()(nest(xs, (2, 4, 3))))
        return sv.dot(tilt[: len(y)].tolist(), y)

    assert sv.gradcheck(total, *points.tolist())


def test_the_gradient_goes_to_the_first_maximum(values, gradients):
    x = values(np.array([[[1.0, 2.0], [2.0, 2.0]], [[0.0, 0.0], [0.0, 0.0]]]))
    sv.sum(flatten(nn.MaxPool2d(2)(x))).backward()
    np.testing.assert_array_equal(gradients(x), [[[0, 1], [0, 0]], [[1, 0], [0, 0]]])


def test_nan_is_not_swallowed(values):
    x = np.zeros((1, 2, 4))
    x[0, 1, 0] = math.nan
    for kind in (nn.MaxPool2d, nn.AvgPool2d):
        (((a, b),),) = kind(2)(values(x))
        assert math.isnan(a.data)
        assert b.data == 0.0


BAD = [
    (lambda: nn.MaxPool2d(0), "MaxPool2d: kernel_size must be a whole number >= 1 or a pair"),
    (lambda: nn.AvgPool2d((2, None)), "AvgPool2d: kernel_size"),
    (lambda: nn.MaxPool2d(2, stride=0), "MaxPool2d: stride"),
    (lambda: nn.MaxPool2d(2, padding=-1), "MaxPool2d: padding"),
    (lambda: nn.AvgPool2d(2, padding=2), r"at most half the window, got padding \(2, 2\) for \(2, 2\)"),
    (lambda: nn.MaxPool2d(2)(np.ones(4)), r"MaxPool2d\(2\) takes a picture of shape \(C, H, W\), got \(4,\)"),
    (lambda: nn.MaxPool2d(2)(np.ones((4, 4))), r"got \(4, 4\)"),
    (lambda: nn.Sequential(nn.AvgPool2d((5, 2)))(np.ones((1, 4, 4))),
     r"AvgPool2d\(\(5, 2\)\) '0': a window of \(5, 2\) is larger than the picture, \(4, 4\)"),
]  # fmt: skip


@pytest.mark.parametrize(("attempt", "text"), BAD)
def test_bad_input_names_the_layer_and_both_shapes(attempt, text):
    with pytest.raises(sv.ScalarvizError, match=text):
        attempt()
