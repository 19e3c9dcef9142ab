"""`Value`: expressions, walks, what a node says of itself, operators of Python and NumPy, numbers without a graph."""

import copy
import math
import pickle
import threading

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Value, Weight, nn, optim
from scalarviz.errors import StateError, TracingError
from scalarviz.scalar import function, ops

# ---- expressions


def test_the_expressions_of_micrograd(oracle, make_oracle):
    x, a, b = Value(-4.0), Value(-4.0), Value(2.0)
    y, g = make_oracle.sanity(x, Value.relu), make_oracle.mixed(a, b, Value.relu)
    y.backward(), g.backward()
    assert [y.data, x.grad] == oracle("expressions")["sanity"].tolist() == [-20.0, 46.0]
    np.testing.assert_allclose([g.data, a.grad, b.grad], oracle("expressions")["mixed"], rtol=1e-15)
    assert [round(v, 4) for v in (g.data, a.grad, b.grad)] == [24.7041, 138.8338, 645.5773]


# ---- the walk


def test_a_node_that_is_read_often_is_walked_once():
    xs = [Value(1.0) for _ in range(5000)]
    sum(xs).backward()
    assert {x.grad for x in xs} == {1.0}
    x = y = Value(1.0)
    for _ in range(60):  # 2**60 paths
        y = y * 0.5 + y * 0.5
    y.backward()
    assert x.grad == 1.0
    z = Value(2.0)
    (z**z).backward()
    assert z.grad == pytest.approx(4 * (1 + math.log(2)))


def test_leaves_accumulate_and_inner_nodes_do_not():
    x, w = Value(3.0), Weight(5.0)
    inner = x * x
    y = inner * 2
    y.backward()
    assert (inner.grad, x.grad) == (2.0, 12.0)
    y.backward()
    assert (inner.grad, x.grad) == (2.0, 24.0)
    (x * w).backward()
    (x + w).backward(upstream=-0.5)
    assert (x.grad, w.grad) == (24.0 + 5.0 - 0.5, 3.0 - 0.5)
    inner.backward()
    assert y.grad == 1.0  # what is above is not walked
    leaf = Value(1.0)
    assert leaf.backward() is None
    leaf.backward(2.5)
    assert leaf.grad == 3.5


def test_none_clears_a_gradient_as_in_the_loops_of_pytorch():
    w, x, y = Weight(2.0), Value(2.0), Value(3.0)
    net, inputs = nn.Linear(3, 16, seed=0), [Value(1.0) for _ in range(3)]
    for _ in range(3):
        for leaf in (w, x, y, *inputs):
            leaf.grad = None
        net.weight.grad = net.bias.grad = None
        assert (w.grad, w.has_grad, repr(x)) == (0.0, False, "Value(data=2, grad=None)")
        (x * y + sv.dot([x], [y]) + sv.max([x, y, 1.0]) + 5.0 * w).backward()
        assert (x.grad, y.grad, w.grad, w.has_grad) == (6.0, 5.0, 5.0, True)
        sv.sum(net(inputs)).backward()
        np.testing.assert_allclose([v.grad for v in inputs], net.weight.data.sum(axis=0))
        np.testing.assert_array_equal(net.weight.grad, np.ones((16, 3)))
    x.grad = None
    x.backward(2.0)
    assert x.grad == 2.0


# ---- what a node says


def test_a_node_says_how_it_was_made():
    a, b = Value(2.0), Weight(5.0)
    y = a * b
    assert (y.op, y.parents, y.local_gradients) == ("mul", (a, b), (5.0, 2.0))
    for leaf in (a, b):
        assert (leaf.op, leaf.parents, leaf.local_gradients) == ("", (), ())
    assert (y + 1).parents[1].data == 1.0  # a number has become a leaf
    assert [v.item() for v in (Value(2.5), Weight(-1.0), y)] == [2.5, -1.0, 10.0]
    assert type(Value(2).item()) is float
    (y.detach() * b).backward()
    assert (y.grad, a.grad, b.grad) == (0.0, 0.0, 10.0)  # nothing leads back from a detached number
    assert (repr(Value(1.5)), repr(Value(1.5) * 2)) == ("Value(data=1.5, grad=0)", "Value(data=3, grad=0, op=mul)")
    for width in (2, 40):  # the sums of a wide layer are computed together
        out = nn.Linear(width, 3, seed=0)([1.0] * width)[1]
        assert repr(out) == f"Value(data={out.data:g}, grad=0, op=dot)"


LOCAL = {
    **{name: (lambda *v, name=name: function(name)(*v), [0.7 + 0.5 * k for k in range(len(ops.get(name).args))])
       for name in ops.METHODS},
    "max": (lambda *v: sv.max(v), [1.0, 4.0, 4.0]), "sum": (lambda *v: sv.sum(v), [1.0, 2.0, 3.0]),
    "dot": (lambda *v: sv.dot(v[:2], v[2:4], v[4]), [2.0, 1.0, 1.0, 4.0, 7.0]),
}  # fmt: skip


@pytest.mark.parametrize("name", LOCAL)
def test_local_gradients_times_upstream_are_what_backward_hands_on(name):
    call, numbers = LOCAL[name]
    leaves = [Value(number) for number in numbers]
    node = call(*leaves)
    found = dict.fromkeys((*leaves, *node.parents), 0.0)
    for parent, local in zip(node.parents, node.local_gradients, strict=True):
        found[parent] += 2.0 * local
    assert all(leaf.grad == 0.0 for leaf in leaves)  # asking changes nothing
    node.backward(2.0)
    assert [leaf.grad for leaf in leaves] == pytest.approx([found[leaf] for leaf in leaves], rel=1e-15)


# ---- operators


def test_equality_is_identity_and_a_value_is_a_number_to_python():
    a, b, x = Value(1.0), Value(1.0), Value(2.6)
    assert a != b
    assert a == a
    assert len({a, b, a}) == 2
    assert (np.float64(1) == a, np.float64(1) != a) == (False, True)
    assert a in [b, a]
    assert a not in [np.float64(1), b]
    assert (bool(a), bool(Value(0.0)), bool(a < b)) == (True, False, False)
    assert (float(x), int(x), round(x), round(x, 1), math.floor(x), math.sin(x)) == (2.6, 2, 3, 2.6, 2, math.sin(2.6))
    assert (f"{x:.3f}", f"{x:8.1e}|", f"{x}") == ("2.600", " 2.6e+00|", repr(x))
    for kind in (np.float16, np.float32, np.longdouble, np.int8, np.uint64, np.bool_):
        assert Value(kind(1)).data == 1.0
    assert Value(np.array(2.5)).data == 2.5


@pytest.mark.parametrize("numbers", [(3.0, -4.0), (-4.0, 3.0), (2.0, 2.0), (1.0, math.inf, -2.0), (5.0, 5.0, 1.0, 5.0)])
def test_largest_and_smallest_are_pythons_and_the_first_gets_the_gradient(numbers):
    """Of one sequence, a generator, or several operands; numbers may stand among the Values."""
    for ours, pythons in ((sv.max, max), (sv.min, min)):
        first = numbers.index(pythons(numbers))
        for way in (lambda v, o=ours: o(v), lambda v, o=ours: o(x for x in v), lambda v, o=ours: o(*v)):
            leaves = [Value(x) for x in numbers]
            found = way(leaves)
            found.backward()
            assert found.data == pythons(numbers)
            assert [leaf.grad for leaf in leaves] == [float(k == first) for k in range(len(numbers))]
        assert ours(Value(numbers[0]), *numbers[1:]).data == pythons(numbers)
    assert sv.max(np.array(3.0), Value(1.0)).data == 3.0
    assert (sv.sum([]).data, sv.dot([], []).data) == (0.0, 0.0)


# ---- sv.no_grad: numbers without a graph


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
        sv.trace(model, 1)
    assert (Value(2.0) * 1.0).parents  # all is as before


def test_weights_change_in_place_without_gradients():
    w = held = Weight(3.0)
    with sv.no_grad():
        w -= 1.0
        w *= 5.0
        w += 2
        w /= 4.0
    assert (w is held, w.data, +w, w.parents) == (True, 3.0, w, ())


@pytest.mark.parametrize("copying", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_leaves_are_copied_and_graphs_are_not_copied_by_half(copying):
    leaf = Value(2.0, label="a")
    (leaf * 3).backward()
    twin = copying(leaf)
    (twin * 4).backward()
    assert (twin.data, twin.grad, leaf.grad, twin.label) == (2.0, 7.0, 3.0, "a")
    for part in (leaf * 1.0, sv.dot([1.0], [leaf]), nn.Linear(30, 20)([1.0] * 30)[0]):
        with pytest.raises(StateError, match=r"state_dict.*sv\.trace"):
            copying(part)
    with pytest.raises(sv.ScalarvizError, match="copy the Weight"):
        copy.deepcopy(optim.SGD([Weight(1.0)], lr=0.1))
