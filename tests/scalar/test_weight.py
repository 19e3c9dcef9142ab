"""`Weight`: the per-weight lesson, freezing, and weighted sums: the same numbers one by one and a layer at a time."""

import math

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


# ---- in a run


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


# ---- weighted sums one by one and a layer at a time


def layer(rows, columns, bias=True, number=None):
    net = nn.Linear(columns, rows, bias=bias, seed=1)
    if number is not None:
        net.weight.data = np.full((rows, columns), number)
    return net


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 1), (5, 4), (8, 8), (17, 30)])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("which", ["all", "one", "some"])
def test_a_layer_is_its_rows_as_dots(rows, columns, bias, which):
    """Above some size it is one product; rows that the result does not use stay untouched, even by infinity."""
    used = {"all": range(rows), "one": [rows - 1], "some": range(0, rows, 2)}[which]
    net, numbers = layer(rows, columns, bias), np.random.default_rng(rows).normal(size=columns)
    if which == "one" and rows > 1:
        net.weight.data = np.vstack([np.full((rows - 1, columns), math.inf), net.weight.data[-1:]])
    found = []
    for by_rows in (False, True):
        net.zero_grad()
        xs = [Value(x) for x in numbers]
        inner = [x.tanh() for x in xs]
        offsets = list(net.bias) if bias else [0.0] * rows
        outs = [sv.dot(list(w), inner, b) for w, b in zip(net.weight, offsets, strict=True)] if by_rows else net(inner)
        sv.sum([outs[i] * (i + 1.0) for i in used]).backward()
        computed = [[w.has_grad for w in row] for row in net.weight]
        found.append([[outs[i].data for i in used], net.weight.grad, computed, [x.grad for x in xs]])
        found[-1] += [net.bias.grad, [b.has_grad for b in net.bias]] if bias else []
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)
    assert np.array(found[0][2]).any(axis=1).tolist() == [k in used for k in range(rows)]


def test_nodes_that_a_walk_leaves_out_read_0_and_not_an_older_gradient():
    """What a comparison alone reads; single nodes, and those of a layer."""
    w = Weight(4.0)
    root, twice = w.sqrt(), 2.0 * w
    inner = root * 3.0
    inner.backward()
    assert root.grad == 3.0
    sv.where(inner < 1.0, twice, w).backward()
    assert (root.grad, inner.grad, twice.grad, w.grad) == (0.0, 0.0, 0.0, 3.0 / 4.0 + 1.0)
    net = layer(6, 5)
    outs = net([0.1, 0.2, 0.3, 0.4, 0.5])
    hidden = [o.tanh() for o in outs]
    sv.sum(hidden).backward()
    before, x = net.weight.grad.copy(), Value(1.0)
    sv.where(sv.sum(hidden) < 0.0, x, 2.0 * x).backward()
    assert {node.grad for node in (*hidden, *outs)} == {0.0}
    np.testing.assert_array_equal(net.weight.grad, before)
