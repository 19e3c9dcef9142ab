"""`sv.no_grad`: numbers without a graph. PyTorch is the oracle where it has the same words."""

from __future__ import annotations

import threading

import pytest

import scalarviz as sv
from scalarviz import Value, Weight, nn
from scalarviz.errors import StateError, TracingError


def test_the_numbers_are_the_same_and_there_is_no_graph():
    w, x = Weight(3.0), Value(2.0)

    def made():
        several = sv.dot([w], [x], 1.0), sv.max([w, x, 1.0]), sv.where(w > x, w, x)
        return [w * x, (w * x + 1).tanh(), -w, abs(-w), *several]

    wanted = made()
    with sv.no_grad():
        plain = made()
        fixed = w * 2.0
    assert [v.data for v in plain] == [v.data for v in wanted]
    for node in plain:
        assert (node.parents, node.op, node.local_gradients) == ((), "", ())
    (fixed * w).backward()  # a leaf of later graphs
    assert (w.grad, fixed.grad) == (6.0, 3.0)


@pytest.mark.parametrize("width", [2, 16])  # below and above the width where a layer is one product
def test_a_network_has_no_backward_then(width):
    net = nn.Sequential(nn.Linear(3, width, seed=0), nn.Tanh(), nn.Linear(width, 2, seed=1))
    wanted = [v.data for v in net([1.0, 2.0, 3.0])]
    with sv.no_grad():
        found = net([1.0, 2.0, 3.0])
        loss = nn.MSELoss()(found, [0.0, 0.0])
    assert ([v.data for v in found], loss.parents) == (wanted, ())
    for call in (loss.backward, net.backward):
        with pytest.raises(StateError, match="no_grad"):
            call()
    assert not any(w.has_grad for w in net.weights())


def test_it_ends_with_its_block_and_with_an_error_may_be_nested_and_is_of_one_thread():
    w, block, found = Weight(3.0), sv.no_grad(), []
    with block, block, sv.no_grad():
        assert (w * w).parents == ()
        thread = threading.Thread(target=lambda: found.append((w * w).parents))
        thread.start()
        thread.join()
    assert found == [(w, w)]
    assert (w * w).parents == (w, w)
    with pytest.raises(ZeroDivisionError), block:
        raise ZeroDivisionError
    assert (w * w).parents == (w, w)


def test_inside_a_recording_it_is_refused():
    def model(inputs):
        with sv.no_grad():
            return inputs[0] * 2.0

    with pytest.raises(TracingError, match=r"no_grad.*predict"):
        sv.record(model, 1)
    assert (Value(2.0) * 1.0).parents  # all is as before
