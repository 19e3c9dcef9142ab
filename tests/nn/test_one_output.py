"""A module with one output returns a list that is a number too; `net.weights()`."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Value, Weight, nn, optim
from scalarviz.errors import InputError, OutOfRangeError, TypeMismatchError
from scalarviz.scalar.single import Single

NET = nn.Sequential(nn.Linear(2, 3, seed=0), nn.Tanh(), nn.Linear(3, 1, seed=1))
X = [0.5, -1.0]


def test_it_is_a_list_as_before():
    out = NET(X)
    assert isinstance(out, list)
    assert len(out) == 1
    assert isinstance(out[0], Value)
    assert list(out) == [out[0]]
    other = [1.0]
    assert [*out, 1.0] == out + other == [out[0], 1.0]
    assert other + out == [1.0, out[0]]
    assert type(out + other) is type(other + out) is type(out + out) is list
    assert len(out + out) == 2
    assert repr(out) == f"[{out[0]!r}]"
    assert str(out) == f"{out}" == f"[{out[0]!r}]"
    assert out
    joined = out
    joined += [2.0]
    assert len(joined) == 2


def test_more_outputs_are_a_plain_list():
    assert type(nn.Linear(2, 2, seed=0)(X)) is list


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


def test_it_answers_as_its_value_does():
    out = NET(X)
    number = out[0].data
    assert out.data == out.item() == float(out) == math.fsum([out]) == number
    assert f"{out:.3f}" == f"{number:.3f}"
    assert round(out, 2) == round(number, 2)
    assert int(out) == int(number)
    out.backward(2.0)
    assert out.grad == 2.0
    assert bool(out > -100.0)
    assert not bool(out < -100.0)
    with pytest.raises(AttributeError):
        out.no_such_thing  # noqa: B018


def test_a_list_that_was_changed_is_no_number():
    out = NET(X)
    out.append(1.0)
    for use in (float, lambda v: v * 2, lambda v: v.data):
        with pytest.raises(TypeMismatchError, match=r"outputs\[0\]"):
            use(out)


def test_a_copy_is_one_too():
    single = Single([Value(2.0)])
    for twin in (copy.copy(single), copy.deepcopy(single)):
        assert isinstance(twin, Single)
        assert twin.data == 2.0


@pytest.mark.parametrize("engine", ["objects", "numpy"])
def test_in_a_run(engine):
    def model(inputs):
        return NET(inputs) * 2.0 + 1.0

    net = copy.deepcopy(NET)

    class Twice(nn.Module):
        def __init__(self):
            self.inner = net

        def forward(self, x):
            return self.inner(x) * 2.0 + 1.0

    wanted = [(net(x) * 2.0 + 1.0).data for x in ([0.5, -1.0], [1.0, 2.0])]
    run = sv.Run(
        Twice(), nn.MSELoss(), sv.optim.SGD(net.parameters(), lr=0.1), data=([[0.5, -1.0], [1.0, 2.0]], [[1.0], [0.0]]),
        engine=engine, dtype="float64",
    )  # fmt: skip
    np.testing.assert_allclose(run.predict([[0.5, -1.0], [1.0, 2.0]])[:, 0], wanted, rtol=1e-12)
    run.close()
    assert len(sv.record(model, 2).outputs) == 1


# ---- every weight of a network


def test_weights_are_all_weights_in_order():
    weights = NET.weights()
    named = [w for p in NET.parameters() for w in (p.weight(i) for i in range(p.size))]
    assert list(weights) == named == [weights[i] for i in range(len(weights))]
    assert len(weights) == 2 * 3 + 3 + 3 + 1
    assert weights[-1] is named[-1]
    assert weights[2:5] == named[2:5]
    assert [w.name for w in weights][:3] == ["0.weight[0][0]", "0.weight[0][1]", "0.weight[1][0]"]
    assert repr(weights) == "<13 weights of 4 parameters>"


def test_weights_of_hand_made_parts():
    class Line(nn.Module):
        def __init__(self):
            self.slope, self.offsets = Weight(2.0), [Weight(1.0), Weight(3.0)]
            self.table = nn.Parameter([[5.0, 6.0]])

        def forward(self, x):
            return self.slope * x

    line = Line()
    assert [w.data for w in line.weights()] == [2.0, 1.0, 3.0, 5.0, 6.0]
    assert line.weights()[1] is line.offsets[0]
    assert len(nn.Tanh().weights()) == 0


def test_a_penalty_that_is_typed():
    total = sum(w * w for w in NET.weights())
    assert total.data == pytest.approx(sum(float((p.data**2).sum()) for p in NET.parameters()))
    NET.zero_grad()
    total.backward()
    for p in NET.parameters():
        np.testing.assert_array_equal(p.grad, 2 * p.data)


@pytest.mark.parametrize("index", [13, -14, 1.5, "a", None, True])
def test_bad_indices(index):
    with pytest.raises((InputError, OutOfRangeError, TypeMismatchError), match=r"weights\(\)"):
        NET.weights()[index]


@pytest.mark.parametrize("engine", ["objects", "numpy"])
@pytest.mark.parametrize("loss", [
    lambda o, t: (o - t) ** 2, lambda o, t: (t - o) * (t - o), lambda o, t: (o[0] - t[0]) ** 2,
    lambda o, t: sum((a - b) ** 2 for a, b in zip(o, t, strict=True)),
])  # fmt: skip
def test_a_loss_of_one_output_and_one_target_takes_them_as_numbers(loss, engine):
    X, net = np.array([[1.0, 2.0], [0.5, -1.0]]), nn.Linear(2, 1, seed=0)
    run = sv.Run(net, loss, optim.SGD(net.parameters(), 0.1), data=(X, [3.0, 1.0]), engine=engine, dtype="float64")
    wanted = np.mean((X @ net.weight.data[0] + net.bias.data - [3.0, 1.0]) ** 2)
    run.step()
    assert run.loss == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("loss", [lambda o, t: o if t == 1 else -o, lambda o, t: -o if t != 1 else o])
def test_a_branch_on_the_target_would_be_frozen(loss):
    """The list of one target was unequal to any number in silence."""
    net = nn.Linear(2, 1, seed=0)
    with pytest.raises(RuntimeError, match=r"sv\.where"):
        sv.Run(net, loss, optim.SGD(net.parameters(), 0.1), data=([[1.0, 2.0]], [[1.0]]))


class Twice(nn.Module):
    def forward(self, x):
        assert (isinstance(x, list), getattr(x, "shape", None)) in ((False, (2, 3)), (True, None))
        return 2.0 * (x if hasattr(x, "shape") else np.array(x, dtype=object))


def test_arrays_stay_arrays_between_modules_of_ones_own():
    p = nn.Parameter([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    twice = Twice()
    out = twice(twice(p * 1.0))
    assert (out.shape, out.data.tolist()) == ((2, 3), (p.data * 4).tolist())
    assert isinstance(nn.Tanh()(out), list)
    assert isinstance(twice([[1.0, 2.0]]), list)
    twice.backward()
    out.sum().backward()
    assert p.grad.tolist() == [[4.0] * 3] * 2


@pytest.mark.parametrize("loss", [lambda o, t: -o[t].log(), lambda o, t: -o[t[0]].log()])
def test_a_class_as_an_index_names_what_reads_it(loss):
    net = nn.Sequential(nn.Linear(2, 3, seed=0), nn.Softmax())
    with pytest.raises(RuntimeError, match=r"nn\.NLLLoss"):
        sv.Run(net, loss, optim.SGD(net.parameters(), 0.1), data=([[1.0, 2.0]], [2]))
