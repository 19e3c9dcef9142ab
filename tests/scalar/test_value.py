"""`Value`: graphs, walks, accumulation, operators, lifetime."""

from __future__ import annotations

import copy
import gc
import math
import pickle
import threading
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import Value, Weight
from scalarviz.errors import StateError, TypeMismatchError

NUMBERS = st.floats(-5, 5, allow_subnormal=False)


# ---- micrograd's expressions


def test_the_sanity_expression_of_micrograd(oracle, make_oracle):
    x = Value(-4.0)
    y = make_oracle.sanity(x, Value.relu)
    y.backward()
    assert [y.data, x.grad] == oracle("expressions")["sanity"].tolist() == [-20.0, 46.0]


def test_the_mixed_expression_of_micrograd(oracle, make_oracle):
    a, b = Value(-4.0), Value(2.0)
    g = make_oracle.mixed(a, b, Value.relu)
    g.backward()
    np.testing.assert_allclose([g.data, a.grad, b.grad], oracle("expressions")["mixed"], rtol=1e-15)
    assert round(g.data, 4) == 24.7041
    assert round(a.grad, 4) == 138.8338
    assert round(b.grad, 4) == 645.5773


def test_augmented_assignment_makes_new_nodes():
    a = Value(2.0)
    c = a
    c += a
    c *= 3
    c -= 1
    c /= 2
    c **= 2
    c.backward()
    assert a.data == 2.0
    assert c.data == ((2 + 2) * 3 - 1) ** 2 / 4
    assert a.grad == pytest.approx(2 * 5.5 * 3)


def test_unbound_methods_work_as_functions():
    for name in ("tanh", "exp", "relu", "log"):
        assert getattr(Value, name)(Value(0.5)).data == getattr(sv, name)(0.5).data


# ---- the walk


@pytest.mark.slow
def test_a_million_nodes_in_a_row():
    x, step = Value(1.0), Value(1e-6)
    y = x
    for _ in range(1_000_000):
        y = y + step
    y.backward()
    assert y.data == pytest.approx(2.0)
    assert (x.grad, step.grad) == (1.0, 1e6)
    del y  # and it goes away again without recursion


def test_a_wide_node_and_a_deep_sum():
    xs = [Value(1.0) for _ in range(5000)]
    sum(xs).backward()
    assert {x.grad for x in xs} == {1.0}


def test_a_second_backward_does_not_double_inner_gradients():
    x = Value(3.0)
    inner = x * x
    y = inner * 2
    y.backward()
    assert (inner.grad, x.grad) == (2.0, 12.0)
    y.backward()
    assert inner.grad == 2.0  # the last call's
    assert x.grad == 24.0  # leaves accumulate


def test_two_results_accumulate_in_shared_leaves():
    x, w = Value(2.0), Weight(5.0)
    (x * w).backward()
    (x + w).backward()
    assert (x.grad, w.grad) == (6.0, 3.0)


def test_backward_of_a_leaf_adds_the_upstream():
    x = Value(1.0)
    assert x.backward() is None
    x.backward(2.5)
    assert x.grad == 3.5


def test_upstream_scales_everything():
    x = Value(2.0)
    (x * x).backward(upstream=-0.5)
    assert x.grad == -2.0


def test_a_node_used_twice_by_one_operation():
    x = Value(3.0)
    y = x.tanh()
    (y * y + y - y).backward()
    assert y.grad == 2 * y.data
    z = Value(2.0)
    (z**z).backward()
    assert z.grad == pytest.approx(4 * (1 + math.log(2)))


def test_diamonds_do_not_blow_up():
    x = Value(1.0)
    y = x
    for _ in range(60):  # 2**60 paths
        y = y * 0.5 + y * 0.5
    y.backward()
    assert x.grad == 1.0


def test_the_backward_of_an_inner_node_ends_at_the_leaves():
    x = Value(2.0)
    inner = x * 3
    outer = inner * 5
    inner.backward()
    assert (x.grad, outer.grad) == (3.0, 0.0)


# ---- operators


def test_reflected_operators_and_sum():
    x = Value(4.0)
    for made, wanted in (
        (2 + x, 6),
        (2 - x, -2),
        (2 * x, 8),
        (2 / x, 0.5),
        (2**x, 16),
        (sum([x, x]), 8),
        (-x, -4),
        (+x, 4),
    ):
        assert made.data == wanted
    assert abs(Value(-2.0)).data == 2.0


@pytest.mark.parametrize("number", [np.float64(2.0), np.float32(2.0), np.int64(2), np.array(2.0), True + 1])
def test_numbers_of_other_kinds_on_both_sides(number):
    x = Value(3.0)
    for made, wanted in ((number * x, 6), (x * number, 6), (number - x, -1), (x / number, 1.5), (number**x, 8)):
        assert type(made) is Value
        assert type(made.data) is float
        assert made.data == wanted


@pytest.mark.parametrize("junk", ["1", b"1", None, [1.0], {}, object(), 1j])
def test_what_is_no_number_is_refused_with_its_kind(junk):
    for attempt in (lambda: Value(1.0) + junk, lambda: junk * Value(1.0), lambda: Value(junk)):
        with pytest.raises(sv.ScalarvizError, match=f"must be a number, got {type(junk).__name__}") as caught:
            attempt()
        assert isinstance(caught.value, TypeError)


def test_comparisons_make_conditions_and_equality_is_identity():
    a, b = Value(1.0), Value(1.0)
    assert a != b
    assert len({a, b, a}) == 2
    assert (a <= b).data == 1.0
    assert not (a < b)
    assert bool(a)
    assert not Value(0.0)
    assert float(Value(2.5)) == 2.5


def test_where_sends_the_gradient_to_the_chosen_one():
    a, b = Value(2.0), Value(3.0)
    sv.where(a < b, a * 2, b).backward()
    assert (a.grad, b.grad) == (2.0, 0.0)


def test_repr_tells_data_gradient_and_operation():
    x = Value(1.5)
    assert repr(x) == "Value(data=1.5, grad=0)"
    assert repr(x * 2) == "Value(data=3, grad=0, op=mul)"


def test_unknown_attributes_cannot_be_set():
    with pytest.raises(AttributeError):
        Value(1.0).gard = 1.0


# ---- lifetime


def test_a_graph_dies_without_the_collector():
    gc.disable()
    try:
        w = Weight(2.0)
        y = sv.dot([w, w], [Value(1.0), Value(2.0)]).tanh() * w
        refs = [weakref.ref(y), weakref.ref(y._parents[0])]
        y.backward()
        del y
        assert [r() for r in refs] == [None, None]
    finally:
        gc.enable()


def test_threads_walk_their_own_graphs():
    found = {}

    def work(k):
        x = Value(float(k))
        for _ in range(50):
            y = (x * x).tanh()
            y.backward()
        found[k] = x.grad

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k, grad in found.items():
        assert grad == pytest.approx(50 * 2 * k * (1 - math.tanh(k * k) ** 2))


def test_a_copied_leaf_is_independent():
    x = Value(2.0)
    twin = copy.deepcopy(x)
    (twin * 3).backward()
    assert (x.grad, twin.grad) == (0.0, 3.0)


@pytest.mark.parametrize("copying", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_graph_is_not_copied_by_half(copying):
    """A graph of a thousand nodes would end in a recursion, one with a layer in a half-made copy."""
    leaf = Value(2.0)
    (leaf * 3).backward()
    assert (copying(leaf).data, copying(leaf).grad) == (2.0, 3.0)
    node = leaf
    for _ in range(5000):
        node = node * 1.0
    symbols = []
    sv.record(lambda x: symbols.append(x[0]) or x, 1)
    for part in (node, sv.dot([1.0], [leaf]), sv.nn.Linear(30, 20)([1.0] * 30)[0], symbols[0]):
        with pytest.raises(StateError, match=r"state_dict.*sv\.record"):
            copying(part)


# ---- laws


def gradient(fn, *points):
    leaves = [Value(p) for p in points]
    fn(*leaves).backward()
    return np.array([leaf.grad for leaf in leaves])


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_the_gradient_is_linear(x, y, a, b):
    def f(u, v):
        return (u * v).tanh()

    def g(u, v):
        return (u - v).sin()

    both = gradient(lambda u, v: a * f(u, v) + b * g(u, v), x, y)
    np.testing.assert_allclose(both, a * gradient(f, x, y) + b * gradient(g, x, y), rtol=1e-12, atol=1e-12)


@given(NUMBERS)
def test_the_product_rule_and_the_chain_rule(x):
    f, g = Value.tanh, Value.cos
    product = gradient(lambda u: f(u) * g(u), x)
    np.testing.assert_allclose(
        product, gradient(f, x) * math.cos(x) + math.tanh(x) * gradient(g, x), rtol=1e-12, atol=1e-12
    )
    chain = gradient(lambda u: f(g(u)), x)
    np.testing.assert_allclose(chain, gradient(f, math.cos(x)) * gradient(g, x), rtol=1e-12, atol=1e-12)


@given(st.lists(NUMBERS, min_size=1, max_size=6), NUMBERS)
def test_an_equal_formula_has_an_equal_gradient(xs, c):
    one = gradient(lambda *v: sv.sum([x * c for x in v]), *xs)
    other = gradient(lambda *v: sv.dot([c] * len(v), v), *xs)
    third = gradient(lambda *v: sum(v) * c, *xs)
    np.testing.assert_allclose(one, other, rtol=1e-14)
    np.testing.assert_allclose(one, third, rtol=1e-14)


# a random program of Values against finite differences: shapes of graphs that nobody thought of
STEP = st.tuples(st.sampled_from(["add", "sub", "mul", "tanh", "sigmoid", "sin", "softplus", "square"]),
                 st.integers(0, 10**6), st.integers(0, 10**6))  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(STEP, min_size=1, max_size=12), st.lists(st.floats(-1.5, 1.5), min_size=1, max_size=3))
def test_random_graphs_against_finite_differences(steps, points):
    def program(*leaves):
        nodes = list(leaves)
        for name, i, j in steps:
            a, b = nodes[i % len(nodes)], nodes[j % len(nodes)]
            call = sv.scalar.function(name)
            nodes.append((call(a, b) if name in ("add", "sub", "mul") else call(a)).tanh())
        return sum(nodes)

    assert sv.gradcheck(program, *points, tolerance=2e-7)


def test_every_operation_is_a_function_and_a_method():
    unary = ["neg", "exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "softplus", "relu", "leaky_relu", "abs"]
    binary = ["add", "sub", "mul", "div", "pow", "minimum", "maximum"]
    operands = dict.fromkeys([*unary, "square"], (0.5,)) | dict.fromkeys(binary, (0.5, 0.25))
    operands |= {"clip": (0.5, 0.0, 0.25), "where": (1.0, 2.0, 3.0)}
    for name, (first, *rest) in operands.items():
        by_function, by_method = getattr(sv, name)(first, *rest), getattr(Value(first), name)(*rest)
        assert by_function.data == by_method.data, name
        assert name in sv.__all__
    assert sv.div(1.0, 4.0).data == 0.25
    assert Value(3.0).sub(1.0).data == 2.0


@pytest.mark.parametrize("name", ["sum", "max", "logsumexp"])
def test_what_takes_many_takes_a_generator_like_pythons_own_sum(name):
    fold = getattr(sv, name)
    xs = [Value(0.5), Value(-1.0), 2.0]
    assert fold(x for x in xs).data == fold(xs).data == fold(tuple(xs)).data


@pytest.mark.parametrize(("ours", "pythons"), [(sv.max, max), (sv.min, min)])
@pytest.mark.parametrize("numbers", [(3.0, -4.0), (-4.0, 3.0), (2.0, 2.0), (1.0, 5.0, -2.0), (5.0, 5.0, 1.0, 5.0)])
def test_largest_and_smallest_take_several_as_pythons_own_do(ours, pythons, numbers):
    """The gradient goes to the first that is chosen; numbers may stand among the Values."""
    leaves = [Value(x) for x in numbers]
    found = ours(*leaves)
    found.backward()
    assert found.data == pythons(numbers)
    first = numbers.index(pythons(numbers))
    assert [leaf.grad for leaf in leaves] == [float(k == first) for k in range(len(numbers))]
    assert ours(leaves[0], *numbers[1:]).data == pythons(numbers)


@pytest.mark.parametrize("wrong", [[1.0], (), np.ones(3), "x", {}])
def test_one_of_several_is_no_sequence(wrong):
    for fold in (sv.max, sv.min):
        with pytest.raises(TypeMismatchError, match=r"sequence; got .*imum"):
            fold(Value(1.0), wrong)
        with pytest.raises(TypeMismatchError, match=r"sequence; got .*imum"):
            fold(wrong, Value(1.0))
    assert sv.max(np.array(3.0), Value(1.0)).data == 3.0


class TestLabels:
    """micrograd's lecture names its nodes: ``Value(2.0, label="a")``."""

    def test_a_node_is_called_what_it_was_called(self):
        a = Value(2.0, label="a")
        e = a * 3.0
        assert (e.label, (a + a).label, Value(1.0).label) == ("", "", "")
        e.label = "e"
        assert [a.label, e.label] == ["a", "e"]
        assert repr(a) == "Value('a', data=2, grad=0)"
        assert repr(e) == "Value('e', data=6, grad=0, op=mul)"
        assert copy.deepcopy(a).label == pickle.loads(pickle.dumps(a)).label == "a"

    def test_of_a_weight_it_is_the_name(self):
        w = sv.Weight(1.0, name="w")
        assert w.label == "w"
        w.label = "v"
        assert w.name == "v"

    @pytest.mark.parametrize("label", [1, None, b"a"])
    def test_it_is_a_text(self, label):
        value = Value(1.0)
        with pytest.raises(TypeError, match="label must be a text"):
            value.label = label
        assert value.label == ""

    def test_every_kind_of_node_has_one(self):
        net = sv.nn.Linear(2, 1, seed=0)
        for node in (*net([1.0, 2.0]), sv.sum([Value(1.0), Value(2.0)]), (net.weight * net.weight).sum()):
            assert node.label == ""
            node.label = "n"
            assert node.label == "n"
