"""What a learner asks a node: its operation, its parents, its local gradients, its number; gradients set to None."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import Value, Weight, nn
from scalarviz.errors import InputError, TracingError
from scalarviz.scalar import ops, tracing

NUMBERS = st.floats(-3, 3, allow_subnormal=False)
POINTS = {"log": 0.7, "sqrt": 0.7, "pow": 1.3}


def test_a_node_says_how_it_was_made():
    a, b = Value(2.0), Weight(5.0)
    y = a * b
    assert (y.op, y.parents, y.local_gradients) == ("mul", (a, b), (5.0, 2.0))
    assert (a.op, a.parents, a.local_gradients) == ("", (), ())
    assert (b.op, b.parents, b.local_gradients) == ("", (), ())
    assert (y + 1).parents[1].data == 1.0  # a number has become a leaf


@pytest.mark.parametrize("name", ops.METHODS)
def test_local_gradients_times_upstream_are_what_backward_hands_on(name):
    numbers = [POINTS.get(name, 0.3) + 0.5 * k for k in range(len(ops.get(name).args))]
    operands = [Value(number) for number in numbers]
    node = sv.scalar.function(name)(*operands)
    local = node.local_gradients
    assert all(operand.grad == 0.0 for operand in operands)  # asking changes nothing
    node.backward(2.0)
    assert [operand.grad for operand in operands] == pytest.approx([2.0 * g for g in local], rel=1e-15)


def test_one_operand_at_two_places_has_a_derivative_at_each():
    x = Value(3.0)
    assert (x * x).local_gradients == (3.0, 3.0)
    assert (x - x).local_gradients == (1.0, -1.0)


def test_of_conditions_maxima_and_sums():
    a, b, w = Value(1.0), Value(4.0), Weight(2.0)
    assert (a < b).local_gradients == (0.0, 0.0)
    assert sv.where(a < b, a, b).local_gradients == (0.0, 1.0, 0.0)
    assert sv.max([a, b, b]).local_gradients == (0.0, 1.0, 0.0)
    total = sv.dot([w, a], [a, b], 7.0)
    assert total.op == "dot"
    assert total.parents[:4] == (w, a, a, b)
    assert total.local_gradients == (1.0, 4.0, 2.0, 1.0, 1.0)


@pytest.mark.parametrize("width", [2, 16])  # below and above the width where a layer is one product
def test_of_a_layer(width):
    net = nn.Linear(3, width, seed=0)
    x = [Value(1.0), Value(2.0), Value(3.0)]
    out = net(x)[1]
    assert out.parents == (*net.weight[1], *x, net.bias[1])
    assert out.local_gradients == (1.0, 2.0, 3.0, *net.weight.data[1], 1.0)
    out.backward(0.5)
    assert [p.grad for p in out.parents] == pytest.approx([0.5 * g for g in out.local_gradients])


@given(NUMBERS, NUMBERS)
def test_the_chain_rule_by_hand_is_backward(a, b):
    """A walk that knows `parents` and `local_gradients` alone, as in the well-known 200-line script."""
    x, w = Value(a), Weight(b)
    loss = ((x * w + x).tanh() * w - x / 3.0) ** 2.0
    found: dict[Value, float] = {loss: 1.0}
    order: list[Value] = []

    def visit(node: Value) -> None:
        if node not in order:
            for parent in node.parents:
                visit(parent)
            order.append(node)

    visit(loss)
    for node in reversed(order):
        for parent, local in zip(node.parents, node.local_gradients, strict=True):
            found[parent] = found.get(parent, 0.0) + found[node] * local
    loss.backward()
    assert (x.grad, w.grad) == pytest.approx((found[x], found[w]), rel=1e-9, abs=1e-12)


def test_a_recording_has_parents_but_no_numbers():
    with tracing.recording():
        x = Value(2.0) * 1.0
        y = sv.dot([x], [x])
        assert (x.op, y.op, y.parents) == ("mul", "dot", (x, x))
        for node in (x, y):
            with pytest.raises(TracingError):
                node.local_gradients  # noqa: B018
            with pytest.raises(TracingError, match="item"):
                node.item()
    for node in (x, y):
        with pytest.raises(TracingError, match="left its recording"):
            node.local_gradients  # noqa: B018


def test_item_is_the_number():
    assert [v.item() for v in (Value(2.5), Weight(-1.0), Value(2.0) * 3.0)] == [2.5, -1.0, 6.0]
    assert type(Value(2).item()) is float


# ---- gradients set to None, as PyTorch's loops do


def test_none_clears_the_gradient_of_a_weight():
    w = Weight(2.0)
    (w * 3.0).backward()
    w.grad = None
    assert (w.grad, w.has_grad) == (0.0, False)
    (w * 5.0).backward()
    assert (w.grad, w.has_grad) == (5.0, True)


def test_none_clears_the_gradient_of_a_leaf():
    x, y = Value(2.0), Value(3.0)
    for _ in range(3):
        x.grad = y.grad = None
        assert repr(x) == "Value(data=2, grad=None)"
        (x * y + sv.dot([x], [y]) + sv.max([x, y, 1.0])).backward()
        assert (x.grad, y.grad) == (6.0, 5.0)
    x.grad = None
    x.backward(2.0)
    assert x.grad == 2.0


def test_none_clears_the_gradient_of_the_inputs_of_a_layer():
    net, x = nn.Linear(3, 16, seed=0), [Value(1.0) for _ in range(3)]
    for _ in range(2):
        for v in x:
            v.grad = None
        net.weight.grad = None
        net.bias.grad = None
        sv.sum(net(x)).backward()
        np.testing.assert_allclose([v.grad for v in x], net.weight.data.sum(axis=0))
        np.testing.assert_array_equal(net.weight.grad, np.ones((16, 3)))


# ---- means, minima, maxima


@given(st.lists(NUMBERS, min_size=1, max_size=9))
def test_the_mean_is_that_of_pytorch(numbers):
    torch = pytest.importorskip("torch")
    values, tensor = [Value(n) for n in numbers], torch.tensor(numbers, dtype=torch.float64, requires_grad=True)
    found, wanted = sv.mean(values), tensor.mean()
    found.backward()
    wanted.backward()
    assert found.data == pytest.approx(wanted.item(), rel=1e-12, abs=1e-15)
    assert [v.grad for v in values] == pytest.approx(tensor.grad.tolist(), rel=1e-15)


@given(st.lists(NUMBERS | st.just(math.inf), min_size=1, max_size=9))
def test_the_smallest_and_the_largest(numbers):
    for found, wanted in ((sv.min, min), (sv.max, max)):
        values = [Value(n) for n in numbers]
        result = found(values)
        result.backward()
        assert result.data == wanted(numbers)
        assert [v.grad for v in values].index(1.0) == numbers.index(wanted(numbers))
        assert sum(v.grad for v in values) == 1.0


def test_a_nan_is_the_smallest_too():
    values = [Value(1.0), Value(math.nan), Value(-1.0)]
    result = sv.min(values)
    result.backward()
    assert math.isnan(result.data)
    assert all(math.isnan(v.grad) for v in values)


@pytest.mark.parametrize("which", [min, max])
def test_pythons_own_extremes_in_a_recording_name_ours(which):
    with pytest.raises(TracingError, match=r"sv\.max, sv\.min"):
        sv.record(which, 3)
    assert len(sv.record(getattr(sv, which.__name__), 3).outputs) == 1


def test_y_is_the_result_in_a_rule():
    with pytest.raises(InputError, match="'y' names the result"):
        sv.register("test_y", "x y", "x * y", ("y", "x"))
