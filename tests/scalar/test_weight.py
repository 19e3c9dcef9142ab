"""`Weight`: the per-weight lesson, freezing, names, and the store that its number stands in."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Value, Weight, nn, optim


def test_the_lesson():
    w = Weight(-3.0, name="w")
    assert w.forward(2.0) == -6.0
    assert w.backward(0.5) == -1.5
    assert w.grad == 1.0
    w.step(lr=0.1)
    assert w.data == -3.1
    w.zero_grad()
    assert (w.grad, w.has_grad) == (0.0, False)


def test_forward_twice_is_last_in_first_out_and_a_walk_leaves_the_stack_alone():
    w = Weight(2.0)
    w.forward(3.0), w.forward(5.0)
    assert w.pending() == (3.0, 5.0)
    (w * Value(1.0)).backward()
    assert (w.pending(), w.grad) == ((3.0, 5.0), 1.0)
    w.backward(1.0)
    assert w.grad == 6.0
    w.backward(10.0)
    assert (w.grad, w.pending()) == (36.0, ())
    assert w.backward(1.5) is None  # nothing is remembered: the rule of a leaf
    assert w.grad == 37.5
    w.forward(7.0)
    w.zero_grad()
    assert w.pending() == ()


def test_a_frozen_weight_has_a_gradient_but_does_not_move():
    w = Weight(2.0)
    w.frozen = True
    assert not w.requires_grad
    (w * 3).backward()
    w.step(0.1)
    assert (w.grad, w.data) == (3.0, 2.0)
    w.requires_grad = True
    w.step(0.1)
    assert w.data == pytest.approx(1.7)


# ---- the store


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_held_weights_follow_their_numbers_into_a_run_and_out_of_it(dtype):
    net = nn.Linear(2, 1, seed=0)
    w, other = net.weight[0][1], Weight(0.3)
    w.data, w.grad, w.frozen = 0.1, 2.0, True
    data = [[1.0, 2.0]], [[1.0]]
    model = lambda x: net(x)[0] * other  # noqa: E731
    run = sv.Run(model, nn.MSELoss(), optim.SGD([*net.parameters(), other], lr=0.1), data, engine="numpy", dtype=dtype)
    assert w.data == float(np.dtype(dtype).type(0.1))
    assert (w.grad, w.frozen, w.has_grad) == (2.0, True, True)
    where = run.values.tolist().index(w.data)
    run.set_weights(where, [7.0])
    assert w.data == 7.0
    w.data = 0.3
    assert run.values[where] == np.dtype(dtype).type(0.3)
    run.close()
    w.data = 0.7
    assert (w.data, net.weight.data[0, 1]) == (0.7, 0.7)  # float64 again
