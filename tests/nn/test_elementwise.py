"""Arithmetic of Parameters: PyTorch is the oracle of shapes, numbers and gradients; then the same in a Run."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import Value, Weight, nn, optim
from scalarviz.errors import TracingError
from scalarviz.nn._array import Values
from scalarviz.nn._parameter import ParameterView
from scalarviz.scalar.total import Total

torch = pytest.importorskip("torch")

P = np.array([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0], [0.75, 2.5, -0.5], [-1.25, 1.0, 2.0]])
Q = np.array([0.5, -1.5, 2.0])

EXPRESSIONS = {
    "product": lambda p, q: p * p, "square": lambda p, q: p**2, "pow": lambda p, q: p.pow(2),
    "cube": lambda p, q: p.pow(3), "transpose": lambda p, q: p.T * 2, "tanh": lambda p, q: p.tanh() * q,
    "abs": lambda p, q: abs(p), "abs()": lambda p, q: p.abs(), "square()": lambda p, q: p.square(),
    "row": lambda p, q: p + q, "row on the left": lambda p, q: q - p, "last": lambda p, q: p[-1] + q,
    "numbers": lambda p, q: 2 * p / 4 - 1 + p * 0.5, "column": lambda p, q: p[:, 0] * 2,
    "reflected": lambda p, q: 3 - 1 / p, "negative": lambda p, q: -p, "slice": lambda p, q: p[1:3] * q,
    "columns": lambda p, q: p[:, 1:] * p[:, :2], "every other": lambda p, q: p[::2] + 1,
    "backwards": lambda p, q: p[[3, 2, 1, 0]] - p, "list": lambda p, q: p[[3, 1]] * q,
    "twice": lambda p, q: p[[0, 0, 1]] + q, "row of it": lambda p, q: p[1] * q,
    "row and column": lambda p, q: p[[0, 1], [2, 0]] * 3, "mask": lambda p, q: p[P > 0] * 2,
    "one": lambda p, q: p[1, 2] * q, "new side": lambda p, q: p[:, None] * q, "dots": lambda p, q: p[..., 0] + 1.0,
    "matrix by row": lambda p, q: p @ q, "row by matrix": lambda p, q: q @ p.T, "row by row": lambda p, q: q @ q,
    "transposed": lambda p, q: p.T @ p, "two rows": lambda p, q: p[1:3] @ q, "one row": lambda p, q: p[2] @ q,
    "flat": lambda p, q: p.flatten() * 2, "reshaped": lambda p, q: p.reshape(2, 6) + 1,
    "exp": lambda p, q: p[:2].exp(), "relu": lambda p, q: p.relu() + q, "sigmoid": lambda p, q: (p + q).sigmoid(),
    "along 0": lambda p, q: p.sum(0) * q, "along 1": lambda p, q: (p * q).sum(dim=1),
    "along -1": lambda p, q: p.mean(-1), "sum": lambda p, q: p.sum(), "mean": lambda p, q: p.mean(),
    "mean of squares": lambda p, q: (p * p).mean(0), "square's slice": lambda p, q: (p * p)[1:, 0] * 2,
    "sum of squares": lambda p, q: (p * p).sum(), "sum of absolutes": lambda p, q: p.abs().sum(),
    "mean of squared": lambda p, q: (p**2).mean(), "square of squares": lambda p, q: (p * p) * (p * p),
    "slice's sum": lambda p, q: p[1:3].sum() * q, "slice's squares": lambda p, q: (p[1:3] ** 2).sum(),
    "row's absolutes": lambda p, q: p[0].abs().sum() + (p[:, 0] ** 2).sum(),
    "largest": lambda p, q: p.max() * q.min(), "difference": lambda p, q: p - p * q,
}  # fmt: skip


def ours(expression):
    p, q = nn.Parameter(P), nn.Parameter(Q)
    found = expression(p, q)
    total = found if isinstance(found, Value) else (found * found).sum()
    total.backward()
    return np.shape(found.data), found.data, p.grad, q.grad


def theirs(expression):
    p, q = (torch.tensor(a, requires_grad=True) for a in (P, Q))
    found = expression(p, q)
    total = found if found.ndim == 0 else (found * found).sum()
    total.backward()
    grads = [np.zeros(a.shape) if a.grad is None else a.grad.numpy() for a in (p, q)]
    return tuple(found.shape), found.detach().numpy(), *grads


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_as_pytorch(name):
    found, wanted = ours(EXPRESSIONS[name]), theirs(EXPRESSIONS[name])
    assert found[0] == wanted[0]
    for a, b in zip(found[1:], wanted[1:], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-14)


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
    assert isinstance(p[1:3], ParameterView)  # side by side: a live view
    p[1:3].data = np.zeros((2, 3))
    assert p.data[1:3].tolist() == [[0.0] * 3] * 2
    assert p[1:3].name == "[1][0]..[2][2]"
    assert p[1][..., 2] is p[1, 2]
    assert p[3:1].shape == (0, 3)
    assert isinstance(p[:, 0], Values)
    assert p[:, 0][2] is p[2, 0]
    assert [w is v for w, v in zip(p[[3, 0]][1], p[0], strict=True)] == [True] * 3
    assert list(p[::2, 1]) == [p[0, 1], p[2, 1]]
    assert (len(p[[3, 1]]), p[:, 0].numel(), len(p * p), [len(row) for row in p * p]) == (2, 4, 4, [3] * 4)


def test_values_of_other_objects_take_part():
    p, w, x = nn.Parameter(Q), Weight(3.0), [Value(1.0), Value(2.0), Value(4.0)]
    for found, wanted in (
        (w * p, 3.0 * Q), (p * w, 3.0 * Q), (w - p, 3.0 - Q), (p + x, Q + np.array([1, 2, 4])), (x[0] / p, 1 / Q),
        (np.float64(2.0) * p, 2 * Q), (np.array([1.0, 2.0, 3.0]) * p, Q * [1, 2, 3]), (np.tanh(p), np.tanh(Q)),
        (w * (p * p), 3.0 * Q * Q), (w * p[1:], 3.0 * Q[1:]), (np.maximum(p, 0.0), np.maximum(Q, 0)), (p > 0, Q > 0),
        (p * nn.Linear(1, 1, bias=False, seed=0)([4.0]), Q * nn.Linear(1, 1, bias=False, seed=0)([4.0]).data),
        (p[[2, 0]] * w, 3.0 * Q[[2, 0]]), (w * p[[2, 0]], 3.0 * Q[[2, 0]]), (p[[2, 0]] + p[:2], Q[[2, 0]] + Q[:2]),
    ):  # fmt: skip
        np.testing.assert_allclose(found.data, wanted)
    assert (p @ x).data == pytest.approx(Q @ [1, 2, 4])
    assert (x @ p).data == pytest.approx(Q @ [1, 2, 4])
    assert (p @ np.array([1.0, 2.0, 4.0])).op == "dot"
    (w * p).sum().backward()
    assert w.grad == pytest.approx(Q.sum())


FUNCTIONS = {
    "tanh": (lambda p, q: sv.tanh(p + q), lambda p, q: torch.tanh(p + q)),
    "exp": (lambda p, q: sv.exp(p), lambda p, q: torch.exp(p)),
    "of a column": (lambda p, q: sv.sigmoid(p[:, 0]), lambda p, q: torch.sigmoid(p[:, 0])),
    "where": (lambda p, q: sv.where(p > 0, p, 0.1 * p), lambda p, q: torch.where(p > 0, p, 0.1 * p)),
    "leaky": (lambda p, q: sv.leaky_relu(p - q), lambda p, q: torch.nn.functional.leaky_relu(p - q)),
    "maximum": (sv.maximum, lambda p, q: torch.maximum(p, q.expand(4, 3))),
    "a Value first": (lambda p, q: sv.mul(Value(2.0), p), lambda p, q: 2 * p),
    "method of a Value": (lambda p, q: Value(2.0).mul(p), lambda p, q: 2 * p),
    "sum": (lambda p, q: sv.sum(p), lambda p, q: torch.sum(p)),
    "mean": (lambda p, q: sv.mean(p * q), lambda p, q: torch.mean(p * q)),
    "max": (lambda p, q: sv.max(p) + sv.min(p * p), lambda p, q: torch.max(p) + torch.min(p * p)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_arrays(name):
    found, wanted = ours(FUNCTIONS[name][0]), theirs(FUNCTIONS[name][1])
    assert found[0] == wanted[0]
    for a, b in zip(found[1:], wanted[1:], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-14)


def test_what_comes_out_goes_into_modules_losses_and_sums():
    p = nn.Parameter(P)
    row = p[1:3, 0] * 2.0
    assert [v.data for v in nn.Tanh()(row)] == pytest.approx(np.tanh(P[1:3, 0] * 2).tolist())
    assert nn.MSELoss()(row, [1.0, 2.0]).data == pytest.approx(np.mean((P[1:3, 0] * 2 - [1, 2]) ** 2))
    assert nn.CrossEntropyLoss()(row, 1).data == pytest.approx(nn.CrossEntropyLoss()((P[1:3, 0] * 2).tolist(), 1).data)
    assert sv.sum(row).data == pytest.approx(P[1:3, 0].sum() * 2)
    assert sv.mean(p[0]).data == pytest.approx(P[0].mean())
    assert nn.Linear(3, 2, seed=0)(p[0])[0].data == pytest.approx(nn.Linear(3, 2, seed=0)(P[0])[0].data)
    assert nn.Flatten()([p[0], p[1]])[4].data == P[1, 1]
    assert nn.MSELoss()(p[0], [0.0, 0.0, 0.0]).data == pytest.approx(np.mean(P[0] ** 2))
    assert p[0, 0:1].item() == P[0, 0]
    assert float(p[:1, 0] * 2) == 2 * P[0, 0]
    assert "Values(shape=(2,))" in repr(row)


# ---- one node, however many weights


def test_a_penalty_is_one_node_and_makes_no_weights():
    net = nn.Linear(1000, 1000, seed=0)
    totals = [(p * p).sum() for p in net.parameters()]
    assert [type(total) for total in totals] == [Total, Total]
    penalty = sum(totals)
    penalty.backward()
    assert penalty.data == pytest.approx(float((net.weight.data**2).sum() + (net.bias.data**2).sum()), rel=1e-12)
    np.testing.assert_array_equal(net.weight.grad, 2 * net.weight.data)
    assert net.weight.held() == []
    assert net.weight[3, 4].has_grad
    assert len(sv.record(lambda x: (net.weight * net.weight).sum() * x[0], 1).nodes) == 3


def test_its_parents_and_local_gradients():
    p = nn.Parameter(Q)
    for total, slopes, number in (
        (p.sum(), np.ones(3), Q.sum()), ((p * p).sum(), 2 * Q, (Q * Q).sum()), (abs(p).sum(), np.sign(Q), abs(Q).sum())
    ):  # fmt: skip
        assert total.data == pytest.approx(number)
        assert total.op == "total"
        assert total.parents == tuple(p)
        assert total.local_gradients == tuple(slopes)


def test_the_numbers_of_the_forward_pass_count_and_a_second_backward_adds():
    p = nn.Parameter(Q)
    total = (p * p).sum()
    p.data = np.zeros(3)
    total.backward()
    np.testing.assert_array_equal(p.grad, 2 * Q)
    total.backward(0.5)
    np.testing.assert_array_equal(p.grad, 3 * Q)


@pytest.mark.parametrize("upstream", [1.0, -2.0, math.inf, math.nan])
@pytest.mark.parametrize("how", ["square", "abs", "pos"])
def test_nan_infinity_and_the_kink_are_those_of_the_operations(how, upstream):
    p = nn.Parameter([0.0, -0.0, math.nan, math.inf, -math.inf, -2.0])
    whole = p.sum() if how == "pos" else getattr(p, how)().sum()
    single = sv.sum([w if how == "pos" else getattr(w, how)() for w in p])
    whole.backward(upstream)
    found, p.grad = p.grad.copy(), None
    single.backward(upstream)
    np.testing.assert_array_equal(found, p.grad)
    np.testing.assert_equal(whole.data, single.data)


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


def test_a_recording_has_no_number_of_it():
    p = nn.Parameter(Q)
    with pytest.raises(TracingError, match="float"):
        sv.record(lambda inputs: inputs[0] * float(p.sum()), 1)
    with sv.scalar.tracing.recording():
        total = p.sum()
        with pytest.raises(TracingError, match=r"\.data"):
            total.data  # noqa: B018
    assert repr(total) == "Symbol(op=total)"
    with pytest.raises(TracingError, match="left its recording"):
        total.local_gradients  # noqa: B018


# ---- in a Run


class Own(nn.Module):
    """A network of Parameters alone, typed as with PyTorch."""

    def __init__(self):
        draw = np.random.default_rng(0)
        self.w1, self.b1 = nn.Parameter(draw.normal(size=(16, 3))), nn.Parameter(np.zeros(16))
        self.w2 = nn.Parameter(draw.normal(size=(2, 16)))

    def forward(self, x):
        hidden = (self.w1 @ x + self.b1).tanh()
        return self.w2 @ hidden + self.w2[:, 0] * 0.5


X = np.random.default_rng(1).normal(size=(12, 3))
Y = np.stack([X.sum(axis=1), X[:, 0] * X[:, 1]], axis=1)


def torch_run(steps):
    net = Own()
    w1, b1, w2 = (torch.tensor(p.data, requires_grad=True) for p in net.parameters())
    x, y = torch.tensor(X), torch.tensor(Y)
    losses = []
    for _ in range(steps):
        hidden = (x @ w1.T + b1).tanh()
        loss = torch.nn.functional.mse_loss(hidden @ w2.T + w2[:, 0] * 0.5, y)
        loss = loss + 0.01 * sum((p * p).sum() for p in (w1, b1, w2)) + 0.001 * w1.abs().sum() + 0.1 * b1.mean() ** 2
        losses.append(loss.item())
        loss.backward()
        with torch.no_grad():
            for p in (w1, b1, w2):
                p -= 0.05 * p.grad  # noqa: PLW2901
                p.grad = None
    return losses, [p.detach().numpy() for p in (w1, b1, w2)]


@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
def test_penalties_in_a_run_train_as_in_pytorch(engine):
    net, mse = Own(), nn.MSELoss()

    def loss(outputs, targets):
        penalty = 0.01 * sum((p * p).sum() for p in net.parameters())
        return mse(outputs, targets) + penalty + 0.001 * net.w1.abs().sum() + 0.1 * net.b1.mean() ** 2

    run = sv.Run(net, loss, optim.SGD(net.parameters(), lr=0.05), data=(X, Y), engine=engine, dtype="float64")
    run.step(12)
    wanted, parameters = torch_run(12)
    np.testing.assert_allclose(run.history.loss, wanted, rtol=1e-12)
    for p, tensor in zip(net.parameters(), parameters, strict=True):
        np.testing.assert_allclose(p.data, tensor, rtol=1e-11, atol=1e-13)
    run.close()


@pytest.mark.parametrize("engine", ["numpy", "numba"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_long_sums_in_pieces(engine, dtype):
    """Longer than a piece of `tape.totals`, with a rest; against NumPy in float64."""
    net = nn.Linear(50, 51, seed=0)

    def loss(outputs, targets):
        p = net.weight
        return (p * p).sum() + 0.5 * abs(p).sum() + p.sum() * net.bias.sum() + 0.0 * outputs[0]

    rule, data = optim.SGD(net.parameters(), lr=0.0), (np.ones((2, 50)), np.ones((2, 1)))
    run = sv.Run(net, loss, rule, data=data, engine=engine, dtype=dtype)
    run.step(1)
    w, b = net.weight.data.astype(np.float64), net.bias.data.astype(np.float64)
    rel = 1e-6 if dtype == "float32" else 1e-13
    assert run.loss == pytest.approx((w**2).sum() + 0.5 * abs(w).sum() + w.sum() * b.sum(), rel=rel, abs=10 * rel)
    np.testing.assert_allclose(net.weight.grad, 2 * w + 0.5 * np.sign(w) + b.sum(), rtol=rel, atol=rel)
    np.testing.assert_allclose(net.bias.grad, np.full(51, w.sum()), rtol=10 * rel, atol=10 * rel)
    run.close()


def test_why_a_weight_moved_counts_the_penalty():
    net, mse = nn.Linear(3, 2, seed=0), nn.MSELoss()
    run = sv.Run(
        net, lambda o, t: mse(o, t) + 0.1 * (net.weight * net.weight).sum(), optim.SGD(net.parameters(), lr=0.1),
        data=(X, Y), engine="numpy", dtype="float64",
    )  # fmt: skip
    opened = run.open()
    terms = opened.terms("weight[0][0]")
    assert terms.sum == pytest.approx(opened.gradient[0], rel=1e-12)
    run.step(1)
    assert net.weight.grad[0, 0] == pytest.approx(terms.sum, rel=1e-12)
    run.close()


@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
def test_rows_chosen_by_inputs_compute_too(engine):
    """Token and position of a letter model, as it is typed with PyTorch."""

    class Letters(nn.Module):
        def __init__(self):
            draw = np.random.default_rng(2)
            self.wte, self.wpe = nn.Parameter(draw.normal(size=(4, 3))), nn.Parameter(draw.normal(size=(2, 3)))

        def forward(self, x):
            return ((self.wte[x[0]] + self.wpe[x[1]]) ** 2 * self.wte[:, 0].sum()).tanh()

    x, y = np.array([[0, 1], [3, 0], [2, 1], [3, 1]]), np.zeros((4, 3))
    net = Letters()
    wte, wpe = (torch.tensor(p.data, requires_grad=True) for p in net.parameters())
    wanted = ((wte[x[:, 0]] + wpe[x[:, 1]]) ** 2 * wte[:, 0].sum()).tanh()
    (wanted**2).mean().backward()
    rule = optim.SGD(net.parameters(), lr=0.0)
    run = sv.Run(net, nn.MSELoss(), rule, data=(x, y), batch_size=4, engine=engine, dtype="float64")
    np.testing.assert_allclose(run.predict(x), wanted.detach().numpy(), rtol=1e-12)
    run.step(1)
    for p, tensor in zip(net.parameters(), (wte, wpe), strict=True):
        np.testing.assert_allclose(p.grad, tensor.grad.numpy(), rtol=1e-11, atol=1e-14)
    run.close()
    assert net.wte[Value(3.0)].shape == (3,)
    assert net.wte[Value(3.0), 1] is net.wte[3, 1]
