"""`Weight`: the per-weight lesson, the store behind it, freezing, names, lifetime."""

from __future__ import annotations

import copy
import gc
import math
import weakref

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Value, Weight
from scalarviz.scalar import Block, Store


def test_the_lesson():
    w = Weight(-3.0, name="w")
    assert w.forward(2.0) == -6.0
    assert w.backward(0.5) == -1.5
    assert w.grad == 1.0
    w.step(lr=0.1)
    assert w.data == -3.1
    w.zero_grad()
    assert (w.grad, w.has_grad) == (0.0, False)


def test_forward_twice_is_last_in_first_out():
    w = Weight(2.0)
    w.forward(3.0)
    w.forward(5.0)
    assert w.pending() == (3.0, 5.0)
    w.backward(1.0)
    assert w.grad == 5.0
    w.backward(10.0)
    assert w.grad == 35.0
    assert w.pending() == ()


def test_forward_of_a_value_gives_a_node_and_remembers_nothing():
    w, x = Weight(2.0), Value(3.0)
    y = w.forward(x)
    assert isinstance(y, Value)
    assert w.pending() == ()
    y.backward()
    assert (w.grad, x.grad) == (3.0, 2.0)


def test_backward_with_nothing_remembered_is_the_rule_of_a_leaf():
    w = Weight(2.0)
    assert w.backward(1.5) is None
    assert w.backward() is None
    assert w.grad == 2.5


def test_zero_grad_empties_the_stack():
    w = Weight(2.0)
    w.forward(3.0)
    w.zero_grad()
    assert w.pending() == ()


def test_a_graph_walk_leaves_the_stack_alone():
    w = Weight(2.0)
    w.forward(7.0)
    (w * Value(3.0)).backward()
    assert w.pending() == (7.0,)
    assert w.grad == 3.0


def test_frozen_weights_have_gradients_but_do_not_move():
    w = Weight(2.0)
    w.frozen = True
    assert not w.requires_grad
    (w * 3).backward()
    w.step(0.1)
    assert (w.grad, w.data) == (3.0, 2.0)
    w.requires_grad = True
    w.step(0.1)
    assert w.data == pytest.approx(1.7)


def test_a_gradient_that_was_not_computed_is_told_from_zero():
    w = Weight(1.0)
    assert (w.grad, w.has_grad) == (0.0, False)
    (w * 0.0).backward()
    assert (w.grad, w.has_grad) == (0.0, True)


def test_initialize_is_a_function_of_the_seed():
    a, b = Weight(), Weight()
    a.initialize(-1, 1, seed=3)
    b.initialize(-1, 1, seed=3)
    assert a.data == b.data
    assert -1 <= a.data < 1
    b.initialize(-1, 1, seed=4)
    assert a.data != b.data


BAD = [
    (lambda w: Weight("x"), TypeError, "number"),
    (lambda w: Weight(None), TypeError, "NoneType"),
    (lambda w: w.step(lr=-1), ValueError, "lr must be a finite number >= 0, got -1"),
    (lambda w: w.step(lr=math.nan), ValueError, "finite"),
    (lambda w: w.step(lr="fast"), TypeError, "lr must be a number"),
    (lambda w: w.forward("x"), TypeError, "forward's x must be a number"),
    (lambda w: w.backward([1]), TypeError, "upstream gradient must be a number"),
    (lambda w: w.initialize(1, 0), ValueError, "low <= high"),
    (lambda w: w.initialize(0, math.inf), ValueError, "finite"),
    (lambda w: w.initialize(seed=-1), ValueError, "seed"),
    (lambda w: setattr(w, "data", "x"), TypeError, "'w'"),
]


@pytest.mark.parametrize(("attempt", "kind", "text"), BAD)
def test_bad_input_is_refused_with_a_name(attempt, kind, text):
    w = Weight(1.0, name="w")
    with pytest.raises(kind, match=text) as caught:
        attempt(w)
    assert isinstance(caught.value, sv.ScalarvizError)
    assert w.data == 1.0


def test_names_and_repr():
    w = Weight(-3.0, name="slope")
    assert w.name == "slope"
    assert repr(w) == "Weight('slope', data=-3, grad=0)"
    w.name = "offset"
    assert w.name == "offset"
    assert repr(Weight(1.0)) == "Weight(data=1, grad=0)"


def test_a_weight_carries_user_attributes():
    w = Weight(1.0)
    w.note = "mine"
    assert w.note == "mine"


def test_a_copied_weight_is_independent():
    w = Weight(1.0, name="w")
    w.frozen = True
    w.grad = 4.0
    twin = copy.deepcopy(w)
    twin.data = 9.0
    assert (w.data, twin.data, twin.grad, twin.frozen, twin.name) == (1.0, 9.0, 4.0, True, "w")


# ---- the store


def test_proxies_are_the_same_object_while_held():
    block = Block(3)
    w = block.weight(1)
    assert block.weight(1) is w
    w.data = 5.0
    assert block.flat_value.tolist() == [0.0, 5.0, 0.0]
    ref = weakref.ref(w)
    gc.disable()
    try:
        del w
        assert ref() is None  # no cycle keeps it
    finally:
        gc.enable()
    assert block.weight(1).data == 5.0


def test_held_weights_follow_when_their_block_moves():
    block = Block(2)
    w = block.weight(1)
    w.data, w.grad, w.frozen = 0.1, 2.0, True
    store = Store(5, np.float32)
    block._move(store, 3)
    assert store.value.tolist() == [0, 0, 0, 0, np.float32(0.1)]
    assert w.data == float(np.float32(0.1))
    assert (w.grad, w.frozen, w.has_grad) == (2.0, True, True)
    store.value[4] = 7
    assert w.data == 7.0
    w.data = 0.3
    assert store.value[4] == np.float32(0.3)


def test_a_stand_alone_weight_is_the_proxy_of_its_own_block():
    w = Weight(1.0)
    assert w._block.weight(0) is w


def test_weights_in_graphs_are_leaves_of_their_store():
    block = Block(2)
    block.flat_value[:] = [2.0, 3.0]
    a, b = block.weight(0), block.weight(1)
    (a * b + a).backward()
    assert block.flat_grad.tolist() == [4.0, 2.0]
    block.zero_grad()
    assert (a.grad, a.has_grad) == (0.0, False)
