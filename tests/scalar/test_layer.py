"""`dot` and `affine`: weighted sums one by one and a layer at a time."""

from __future__ import annotations

import gc
import math
import weakref

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Value, Weight
from scalarviz.scalar import Block
from scalarviz.scalar import layer as layers
from scalarviz.scalar.dot import Dot, Row
from scalarviz.scalar.layer import affine


def block_of(array):
    block = Block(array.size)
    block.flat_value[:] = np.ravel(array)
    return block


def run(rows, columns, used, bias, small, monkeypatch):
    """Gradients of a weighted sum of the outputs `used`, by the row-wise way (small) or the layer's."""
    monkeypatch.setattr(layers, "SMALL", 10**9 if small else 0)
    rng = np.random.default_rng(rows * 31 + columns)
    weight, offset = block_of(rng.normal(size=(rows, columns))), block_of(rng.normal(size=rows)) if bias else None
    xs = [Value(x) for x in rng.normal(size=columns)]
    inner = [x.tanh() for x in xs]
    outs = affine(weight, rows, offset, inner)
    sv.sum([outs[i] * (i + 1.0) for i in used]).backward()
    found = [[o.data for o in outs], weight.flat_grad.tolist(), weight.computed.tolist(), [x.grad for x in xs]]
    return [*found, offset.flat_grad.tolist(), offset.computed.tolist()] if offset else found


@pytest.mark.parametrize(("rows", "columns"), [(3, 1), (5, 4), (17, 30)])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("which", ["all", "one", "some"])
def test_a_layer_at_a_time_is_the_same_as_row_by_row(rows, columns, bias, which, monkeypatch):
    used = {"all": range(rows), "one": [1], "some": range(0, rows, 2)}[which]
    one = run(rows, columns, used, bias, True, monkeypatch)
    other = run(rows, columns, used, bias, False, monkeypatch)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


def test_rows_that_the_result_does_not_use_stay_untouched_even_by_infinity():
    weight = block_of(np.ones((8, 8)))
    weight.flat_value[8:16] = math.inf
    xs = [Value(math.inf), *(Value(1.0) for _ in range(7))]
    outs = affine(weight, 8, None, xs)
    outs[0].backward()
    grads = weight.flat_grad.reshape(8, 8)
    assert not np.isnan(grads).any()
    assert weight.computed.reshape(8, 8).sum(axis=1).tolist() == [8, 0, 0, 0, 0, 0, 0, 0]
    assert [x.grad for x in xs] == [1.0] * 8


def test_infinities_give_nan_without_a_warning():
    weight = block_of(np.zeros((8, 8)))
    outs = affine(weight, 8, None, [Value(math.inf)] * 8)
    assert all(math.isnan(o.data) for o in outs)
    outs[0].backward()


def test_one_value_at_several_places():
    weight = block_of(np.arange(64.0).reshape(8, 8))
    x = Value(1.0)
    outs = affine(weight, 8, None, [x] * 8)
    sv.sum(outs).backward()
    assert x.grad == weight.flat_value.sum()


def test_a_second_backward_does_not_double_the_layers_gradient():
    weight = block_of(np.ones((8, 8)))
    inner = [Value(0.5).tanh() for _ in range(8)]
    outs = affine(weight, 8, None, inner)
    outs[3].backward()
    outs[3].backward()
    assert inner[0].grad == 1.0
    sv.sum(outs).backward()
    assert inner[0].grad == 8.0
    np.testing.assert_allclose(weight.flat_grad.reshape(8, 8)[3], 3 * math.tanh(0.5))


def test_a_walk_that_was_interrupted_leaves_nothing_behind():
    weight = block_of(np.ones((8, 8)))
    outs = affine(weight, 8, None, [Value(1.0)] * 8)
    total = sv.sum(outs)
    list(sv.scalar.walk.inner_nodes([total]))
    outs[0]._op.pull(outs[0])  # as if a Ctrl-C came in the middle
    outs[0].grad = 0.0
    total.backward()
    np.testing.assert_array_equal(weight.flat_grad, np.ones(64))


def test_backward_uses_the_values_of_the_forward_pass():
    for size in (2, 8):  # row by row, and a layer at a time
        weight = block_of(np.ones((size, size)))
        xs = [Value(1.0) for _ in range(size)]
        outs = affine(weight, size, None, xs)
        weight.flat_value[:] = 100.0
        sv.sum(outs).backward()
        assert {x.grad for x in xs} == {float(size)}


def test_the_sums_of_a_layer_look_like_dots():
    weight, bias = block_of(np.arange(64.0)), block_of(np.arange(8.0))
    xs = tuple(Value(1.0) for _ in range(8))
    node = affine(weight, 8, bias, xs)[3]
    assert isinstance(node, Dot)
    assert node.xs == xs
    assert isinstance(node.weights, Row)
    assert node.weights.numbers() == list(np.arange(24.0, 32.0))
    assert node.bias.weights()[0].data == 3.0
    assert list(node._graph_parents()) == list(xs)
    assert "op=dot" in repr(node)


def test_a_layer_dies_without_the_collector():
    gc.disable()
    try:
        weight = block_of(np.ones((8, 8)))
        outs = affine(weight, 8, None, [Value(1.0).tanh() for _ in range(8)])
        total = sv.sum(outs)
        total.backward()
        refs = [weakref.ref(total), weakref.ref(outs[0]), weakref.ref(outs[0].layer)]
        del total, outs
        assert [r() for r in refs] == [None] * 3
    finally:
        gc.enable()


def test_a_layer_of_a_million_weights_makes_no_million_objects():
    weight, bias = block_of(np.full((1024, 1024), 1e-3)), Block(1024)
    xs = [Value(1.0)] * 1024
    outs = affine(weight, 1024, bias, xs)
    sv.sum(outs).backward()
    assert weight.held() == []
    np.testing.assert_allclose(weight.flat_grad, 1.0)


def test_dot_of_weights_numbers_and_values():
    w = Weight(2.0)
    x = Value(3.0)
    y = sv.dot([w, 1.0, x], [x, w, x], w)
    y.backward()
    assert y.data == 6 + 2 + 9 + 2
    assert w.grad == 3 + 1 + 1
    assert x.grad == 2 + 3 + 3
    assert sv.dot([], []).data == 0.0


def test_lengths_that_differ_are_named():
    with pytest.raises(sv.ScalarvizError, match="2 weights for 3 inputs"):
        sv.dot([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(sv.ScalarvizError, match="got 3 inputs"):
        affine(Block(4), 2, None, [1.0, 2.0, 3.0])


@pytest.mark.parametrize("name", ["max", "logsumexp"])
def test_nothing_has_no_maximum(name):
    with pytest.raises(sv.ScalarvizError, match="of nothing"):
        getattr(sv, name)([])
    assert sv.sum([]).data == 0.0


@pytest.mark.parametrize("columns", [2, 40])
def test_a_sum_is_printed_with_its_number(columns):
    outs = affine(block_of(np.full((3, columns), 0.5)), 3, None, [1.0] * columns)
    assert repr(outs[1]) == f"Value(data={columns / 2:g}, grad=0, op=dot)"
