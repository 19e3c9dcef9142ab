"""Arrays of Parameters and Values: slices, arithmetic, in place, reductions; modules of one output; refusals."""

import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import Value, Weight, nn, optim
from scalarviz.errors import InputError, TypeMismatchError

P = np.array([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0], [0.75, 2.5, -0.5], [-1.25, 1.0, 2.0]])
Q = np.array([0.5, -1.5, 2.0])


@given(st.data())
@settings(max_examples=40)
def test_any_slice_is_numpys(data):
    p = nn.Parameter(P)
    several = [st.lists(st.integers(0, n - 1), min_size=1, max_size=4) for n in P.shape]
    sides = [st.slices(n) | st.integers(-n, n - 1) | lists for n, lists in zip(P.shape, several, strict=True)]
    first = data.draw(sides[0])
    index = data.draw(st.sampled_from([first, (first, data.draw(sides[1]))]))
    if isinstance(index, tuple) and all(isinstance(i, list) for i in index):
        index = (index[0], slice(None))
    found, wanted = p[index], P[index]
    assert np.shape(found.data) == np.shape(wanted)
    np.testing.assert_array_equal(found.data, wanted)


def test_what_slices_are():
    p = nn.Parameter(P)
    p[1:3].data = np.zeros((2, 3))
    assert p.data[1:3].tolist() == [[0.0] * 3] * 2
    assert p[1:3].name == "[1][0]..[2][2]"
    assert p[1][..., 2] is p[1, 2]
    assert p[3:1].shape == (0, 3)
    assert p[:, 0][2] is p[2, 0]
    assert list(p[::2, 1]) == [p[0, 1], p[2, 1]]
    assert (len(p[[3, 1]]), p[:, 0].numel(), len(p * p), [len(row) for row in p * p]) == (2, 4, 4, [3] * 4)


def test_a_total_knows_its_weights_and_a_list_and_a_row_are_not_joined():
    p = nn.Parameter(P)
    total = (p * p).sum()
    assert (total.parents, total.local_gradients) == (tuple(p.flatten()), tuple(2 * P.ravel()))
    assert (p.dim(), p.nelement(), ([1.0, 2.0, 3.0, 4.0] @ p).data.tolist()) == (2, 12, ([1, 2, 3, 4] @ P).tolist())
    row = LAYER([0.0])
    for join in (lambda: operator.add(row, [1.0]), lambda: operator.add([1.0], row),
                 lambda: operator.iadd(row, [1.0]), lambda: operator.iadd([1.0], row)):  # fmt: skip
        with pytest.raises(TypeMismatchError, match=r"sv\.cat\(\[a, b\]\), or list\.extend\(row\)"):
            join()
    assert (f"{ONE:.2f}", sv.cat([row, [1.0]]).data.tolist()) == ("-0.00", [-0.0, 1.0])
    with pytest.raises(TypeError):
        [1.0][ONE]


def test_a_penalty_is_one_node_and_makes_no_weights():
    net = nn.Linear(1000, 1000, seed=0)
    totals = [(p * p).sum() for p in net.parameters()]
    assert [total.op for total in totals] == ["total", "total"]
    penalty = sum(totals)
    penalty.backward()
    assert penalty.data == pytest.approx(float((net.weight.data**2).sum() + (net.bias.data**2).sum()), rel=1e-12)
    np.testing.assert_array_equal(net.weight.grad, 2 * net.weight.data)
    assert net.weight.held() == []
    assert len(sv.trace(lambda x: (net.weight * net.weight).sum() * x[0], 1).nodes) == 3


def test_the_numbers_of_the_forward_pass_count_and_a_second_backward_adds():
    p = nn.Parameter(Q)
    total = (p * p).sum()
    p.data = np.zeros(3)
    total.backward()
    np.testing.assert_array_equal(p.grad, 2 * Q)
    total.backward(0.5)
    np.testing.assert_array_equal(p.grad, 3 * Q)


def test_without_gradients():
    p = nn.Parameter(Q)
    held = p
    with sv.no_grad():
        total = (p * p).sum()
        p -= 0.1 * np.ones(3)
        p *= 2.0
        p += p
        p /= 4.0
    assert p is held
    assert total.parents == ()
    np.testing.assert_allclose(p.data, Q - 0.1)


def test_a_place_may_be_given_another_number():
    p = nn.Parameter(P)
    v = p * 2
    v[0, 1] = 3.0
    v[1] = [0.0, p[0, 0], 1.0]
    assert v.data[:2].tolist() == [[3.0, 3.0, 1.0], [0.0, 1.5, 1.0]]
    v.sum().backward()
    assert p.grad[:2].tolist() == [[3.0, 0.0, 2.0], [0.0, 0.0, 0.0]]  # one by its own place in v[1]


def test_in_place_is_seen_by_who_holds_the_array():
    p, bias = nn.Parameter(P), nn.Parameter([1.0, 2.0, 3.0])
    out = held = p * 1.0
    out += bias
    out -= 1
    out *= 2.0
    out /= 4
    out **= 2
    out[:, 0] += 1
    wanted = ((P + np.arange(3)) * 2 / 4) ** 2
    wanted[:, 0] += 1
    assert held is out
    np.testing.assert_allclose(held.data, wanted, rtol=1e-14)
    held.sum().backward()
    np.testing.assert_allclose(bias.grad, ((P + np.arange(3)) / 2).sum(0), rtol=1e-14)


@pytest.mark.parametrize(("attempt", "kind", "text"), [
    (lambda v: v.sum((0, 0)), InputError, "each dimension"), (lambda v: v.mean(2), InputError, "must be a dimension"),
    (lambda v: v.softmax(None), InputError, "give dim"),
    (lambda v: v.__setitem__(0, [1.0, 2.0]), InputError, r"shape \(2,\).*shape \(3,\)"),
    (lambda v: v.__iadd__(np.ones((2, 4, 3))), InputError, r"shape \(2, 4, 3\)"),
    (lambda v: v - v.max(1, keepdim=True), TypeError, r"use its \.values"),
    (lambda v: v.argmax(5), InputError, "got 5"), (lambda v: v.argmin((0, 1)), InputError, "must be a dim"),
    (lambda v: v.to("cpu"), AttributeError, "sv\\.Run"), (lambda v: v.unsqueeze(4), InputError, "got 4"),
])  # fmt: skip
def test_what_is_refused(attempt, kind, text):
    v = nn.Parameter(P) * 1.0
    with pytest.raises(kind, match=text):
        attempt(v)
    np.testing.assert_array_equal(v.data, P)


@pytest.mark.parametrize("name", ["numpy", "numba"])
def test_ids_of_the_data_choose_rows(name):
    """``C[x]`` where x is a list of numbers that come with each sample, as lectures write it."""
    C, W, X = nn.Parameter(P), nn.Parameter(np.ones((6, 2))), np.array([[0, 3], [2, 2], [1, 0]])

    def model(x):
        assert C[x].shape == (2, 3)
        return C[x].view(-1) @ W

    run = sv.Run(model, nn.MSELoss(), optim.SGD([C, W], lr=0.1), data=(X, np.zeros((3, 2))), engine=name)
    np.testing.assert_allclose(run.predict(X), P[X].reshape(3, 6) @ np.ones((6, 2)), rtol=1e-6)
    nested = C[[[Value(0.0), Value(3.0)], [Value(2.0), Value(1.0)]]]
    np.testing.assert_array_equal(nested.data, P[[[0, 3], [2, 1]]])
    assert [v.data for v in nn.Parameter([5.0, 6.0])[[Value(1.0), 0]]] == [6.0, 5.0]
    with pytest.raises(IndexError, match="no row 4"):
        C[[Value(4.0)]]


def test_parameters_in_pytorchs_words():
    p = nn.Parameter(np.ones((2, 3)), requires_grad=False)
    assert p.frozen
    assert p.requires_grad_() is p
    assert not p.frozen
    with sv.no_grad():
        p[0] = 0.0
        p[:, 1] = np.array([5.0, 6.0])
        p[1, 2] = p[1, 1]
    assert p.data.tolist() == [[0.0, 5.0, 0.0], [1.0, 6.0, 6.0]]
    with pytest.raises(RuntimeError, match=r"sv\.no_grad"):
        p[0] = 1.0
    with sv.no_grad(), pytest.raises(ValueError, match="out of bounds"):
        p[7] = 1.0
    with pytest.raises(TypeError, match="requires_grad"):
        nn.Parameter([1.0], requires_grad="no")
    assert p.data.tolist() == [[0.0, 5.0, 0.0], [1.0, 6.0, 6.0]]


def test_arrays_and_objects_are_views_of_the_same_numbers():
    p = nn.Parameter([[1, 2, 3], [4, 5, 6]])
    w = p[1][2]
    assert isinstance(w, Weight)
    w.data = 60.0
    assert p.data[1, 2] == 60.0
    p.data[0, 0] = -1.0
    assert p[0][0].data == -1.0
    p[0].data = [7, 8, 9]
    assert p.data[0].tolist() == [7, 8, 9]
    p.grad = np.ones((2, 3))
    assert (w.grad, w.has_grad) == (1.0, True)
    p[1].grad = [0.5, 0.5, 0.5]
    assert w.grad == 0.5


W, LAYER = nn.Sequential(nn.Linear(2, 1, seed=0)), nn.Linear(1, 1, bias=False, seed=0)
W[0].weight.data, W[0].bias.data, LAYER.weight.data = [[0.5, -1.0]], [2.0], [[-1.0]]
ONE = LAYER([0.0])
SHOWN = {
    "Parameter('0.weight', shape=(1, 2))\n[[ 0.5 -1. ]]": W[0].weight, "<3 weights of 2 parameters>": W.weights(),
    "ParameterView('0.weight[0]', shape=(2,))\n[ 0.5 -1. ]": W[0].weight[0],
    "Parameter(shape=(1,))\n[1.]": nn.Parameter([1.0]), "Values(shape=(2,))\n[ 1. -2.]": W[0].weight[0] * 2,
    "Value(data=1.5, grad=0, op=total)": abs(W[0].weight).sum(), "Values(shape=(1,))\n[-0.]": ONE,
    "Value(data=8, grad=0, op=dot)": sv.dot([4.0], [2.0]),
    "CrossEntropyLoss(reduction='mean', weight=[1.0, 2.0], label_smoothing=0.1)": nn.CrossEntropyLoss(
        [1, 2], label_smoothing=0.1),
    "HuberLoss(reduction='mean', delta=2)": nn.HuberLoss(delta=2),
    "SmoothL1Loss(reduction='mean', beta=1)": nn.SmoothL1Loss(),
}  # fmt: skip


@pytest.mark.parametrize("text", SHOWN)
def test_what_is_printed(text):
    assert repr(SHOWN[text]) == text


# ---- one output: a list that is a number too


NET = nn.Sequential(nn.Linear(2, 3, seed=0), nn.Tanh(), nn.Linear(3, 1, seed=1))


X = [0.5, -1.0]


OPERATIONS = {
    "times": lambda v: v * 2, "times on the left": lambda v: 2 * v, "plus": lambda v: v + 1.5,
    "sum": lambda v: sum([v, v]), "plus on the left": lambda v: 1.5 + v,
    "minus": lambda v: v - 3, "from": lambda v: 3 - v, "over": lambda v: v / 4,
    "under": lambda v: 4 / v, "power": lambda v: v**2, "of a power": lambda v: 2**v, "negative": lambda v: -v,
    "absolute": abs, "a Value": lambda v: Value(2.0) * v, "a Value after": lambda v: v - Value(2.0),
    "method": lambda v: v.tanh(), "function": sv.exp, "dot": lambda v: sv.dot([v], [2.0], v),
    "where": lambda v: sv.where(v > 0, v, 0.1 * v), "NumPy": lambda v: np.float64(2.0) * v,
    "squared error": lambda v: nn.MSELoss()(v, 1.0), "both": lambda v: v * v, "mean": lambda v: sv.mean([v, 1.0]),
}  # fmt: skip


@pytest.mark.parametrize("how", OPERATIONS)
def test_it_computes_as_its_value_does(how):
    NET.zero_grad()
    wanted = OPERATIONS[how](NET(X)[0])
    wanted.backward()
    gradients = [w.grad for w in NET.weights()]
    NET.zero_grad()
    found = OPERATIONS[how](NET(X))
    found.backward()
    assert found.data == wanted.data
    assert [w.grad for w in NET.weights()] == gradients
    assert any(gradients)


@pytest.mark.parametrize("loss", [lambda o, t: o if t == 1 else -o, lambda o, t: -o if t != 1 else o])
def test_a_branch_on_the_target_would_be_frozen(loss):
    """The list of one target was unequal to any number in silence."""
    net = nn.Linear(2, 1, seed=0)
    with pytest.raises(RuntimeError, match=r"sv\.where"):
        sv.Run(net, loss, optim.SGD(net.parameters(), 0.1), data=([[1.0, 2.0]], [[1.0]]))
