"""Clipping by hand is PyTorch's."""

from __future__ import annotations

import math

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Weight, nn
from scalarviz.nn.utils import clip_grad_norm_, clip_grad_value_

GRADIENTS = [np.array([[3.0, -4.0], [0.5, 0.0]]), np.array([12.0, -0.1])]
NUMBERS = [GRADIENTS, [1e-3 * g for g in GRADIENTS], [g * 0 for g in GRADIENTS],
           [np.array([[np.inf, 1.0], [2.0, 0.0]]), np.array([1.0, 2.0])],
           [np.array([[np.nan, 1.0], [2.0, 0.0]]), np.array([1.0, 2.0])]]  # fmt: skip


def ours(gradients):
    parameters = [nn.Parameter(np.zeros(g.shape)) for g in gradients]
    for p, g in zip(parameters, gradients, strict=True):
        p.grad = g
    return parameters


@pytest.fixture
def theirs():
    torch = pytest.importorskip("torch", reason="no PyTorch (extra oracle)")

    def make(gradients):
        parameters = [torch.zeros(g.shape, dtype=torch.float64, requires_grad=True) for g in gradients]
        for p, g in zip(parameters, gradients, strict=True):
            p.grad = torch.tensor(g)
        return parameters

    return torch.nn.utils, make


@pytest.mark.parametrize("gradients", NUMBERS)
@pytest.mark.parametrize("most", [0.0, 1.0, 5.0, 100.0])
@pytest.mark.parametrize("kind", [2.0, 1.0, 3.0, math.inf])
def test_the_length_and_the_gradients_are_pytorchs(theirs, gradients, most, kind):
    utils, make = theirs
    other, own = make(gradients), ours(gradients)
    wanted = float(utils.clip_grad_norm_(other, most, kind))
    np.testing.assert_allclose(clip_grad_norm_(own, most, kind), wanted, rtol=1e-12)
    for p, q in zip(own, other, strict=True):
        np.testing.assert_allclose(p.grad, q.grad.numpy(), rtol=1e-12)


@pytest.mark.parametrize("gradients", NUMBERS)
@pytest.mark.parametrize("most", [0.0, 1.0, 5.0])
def test_cut_numbers_are_pytorchs(theirs, gradients, most):
    utils, make = theirs
    other, own = make(gradients), ours(gradients)
    utils.clip_grad_value_(other, most)
    clip_grad_value_(own, most)
    for p, q in zip(own, other, strict=True):
        np.testing.assert_array_equal(p.grad, q.grad.numpy())


def test_weights_one_by_one_and_those_without_a_gradient():
    p, lone, none = nn.Parameter([1.0, 2.0]), Weight(1.0), Weight(5.0)
    p.grad = [3.0, 0.0]
    lone.grad = 4.0
    assert clip_grad_norm_([p[0], lone, none, lone], 1.0) == 5.0
    assert math.hypot(p.grad[0], lone.grad) == pytest.approx(1.0, rel=1e-6)
    assert none.grad == 0.0
    assert clip_grad_norm_([none], 1.0) == 0.0
    assert clip_grad_norm_([], 1.0) == 0.0
    clip_grad_value_(p, 0.1)
    assert p.grad.tolist() == [0.1, 0.0]


def test_a_length_that_is_not_finite_can_be_refused():
    own = ours([np.array([math.inf, 1.0])])
    with pytest.raises(sv.ScalarvizError, match="inf; nothing was changed"):
        clip_grad_norm_(own, 1.0, error_if_nonfinite=True)
    assert own[0].grad.tolist() == [math.inf, 1.0]


@pytest.mark.parametrize("bad", [None, 3, "net", [3], [None], np.zeros(3), nn.Linear(1, 1), [[nn.Parameter([1.0])]]])
def test_other_things_are_refused(bad):
    for call in (clip_grad_norm_, clip_grad_value_):
        with pytest.raises(sv.ScalarvizError, match=call.__name__):
            call(bad, 1.0)


@pytest.mark.parametrize("bad", [-1, "1", None, math.nan, [1.0], 1j])
def test_bad_numbers_are_refused(bad):
    p = nn.Parameter([1.0])
    for call in (clip_grad_norm_, clip_grad_value_):
        with pytest.raises(sv.ScalarvizError, match=call.__name__):
            call([p], bad)
    with pytest.raises(sv.ScalarvizError, match="norm_type"):
        clip_grad_norm_([p], 1.0, bad)
    with pytest.raises(sv.ScalarvizError, match="error_if_nonfinite"):
        clip_grad_norm_([p], 1.0, 2.0, "yes")
