"""Shapes and reductions of arrays of Values in PyTorch's words; PyTorch is the oracle of shapes, numbers, gradients."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Value, nn, optim
from scalarviz.errors import InputError, TracingError
from scalarviz.nn._array import Values

torch = pytest.importorskip("torch")

P = np.array([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0], [0.75, 2.5, -0.5], [-1.25, 1.0, 2.0]])
BATCH = np.array([[[0, 1], [2, 3], [1, 1]], [[3, 0], [2, 2], [0, 1]]])

EXPRESSIONS = {
    "sum, keepdim": lambda p: p / p.exp().sum(1, keepdim=True), "mean of columns": lambda p: p - p.mean(0, True),
    "keepdims": lambda p: p.exp() / p.exp().sum(1, keepdims=True), "two dimensions": lambda p: p[BATCH].sum((0, 2)),
    "mean of two": lambda p: p[BATCH] * p[BATCH].mean((0, 1), keepdim=True), "var": lambda p: p.var(),
    "all, kept": lambda p: p * p.mean(dim=(0, 1), keepdim=True), "var of columns": lambda p: p.var(0, keepdim=True),
    "biased": lambda p: p.var(0, unbiased=False), "correction": lambda p: p.var(1, correction=0),
    "std": lambda p: (p * 2).std(1), "std of all": lambda p: p.std(), "norm": lambda p: (p - p.mean(0)) / p.std(0),
    "softmax": lambda p: p.softmax(1), "softmax of columns": lambda p: (p * p).softmax(dim=0),
    "log_softmax": lambda p: p.log_softmax(-1), "softmax of three": lambda p: p[BATCH].softmax(2),
    "view": lambda p: p.view(-1, 6) * 2, "view by a tuple": lambda p: p.view((2, 6)).tanh(),
    "view of a batch": lambda p: p[BATCH].view(p[BATCH].shape[0], -1), "unsqueeze": lambda p: p.unsqueeze(1) * p,
    "unsqueeze last": lambda p: p[0].unsqueeze(-1) * p[1], "squeeze": lambda p: p[:1].squeeze(0) * 2,
    "t": lambda p: p.t() @ p, "transpose": lambda p: p.transpose(0, 1) * 2, "permute": lambda p: p.permute(1, 0) * 2,
    "transpose of the last two": lambda p: p[BATCH].transpose(-2, -1).sum((0, 1)), "clone": lambda p: p.clone() * p,
    "permute three": lambda p: p[BATCH].permute(2, 0, 3, 1).sum((1, 2)), "detach": lambda p: p.detach() * p,
    "matmul": lambda p: p[:3].matmul(p[:3]).add(1.0).mul(p[:3]).sub(p[0]).neg(), "logsumexp": lambda p: p.logsumexp(1),
    "logsumexp by hand": lambda p: p.max(-1)[0] + (p - p.max(-1)[0][:, None]).exp().sum(-1).log(),
    "largest": lambda p: p.max(1, keepdim=True).values * p, "smallest": lambda p: p.min(0).values * p,
    "amax": lambda p: p.amax(1, keepdim=True) * p, "amin": lambda p: p.amin((0, 1)),
    "at the largest": lambda p: p[range(4), p.max(1).indices], "clip": lambda p: p.clip(-1.0, 1.0) * p,
    "masked": lambda p: p.masked_fill(torch.tensor(P > 1), 7.0) * 2,
    "attention": lambda p: (p @ p.transpose(-2, -1)).masked_fill(
        torch.tensor(np.tri(4) == 0), float("-inf")).softmax(-1) @ p,
}  # fmt: skip


def ours(expression):
    p = nn.Parameter(P)
    found = expression(p)
    (found if isinstance(found, Value) else (found * found).sum()).backward()
    return np.shape(found.data), found.data, p.grad


def theirs(expression):
    p = torch.tensor(P, requires_grad=True)
    found = expression(p)
    (found if found.ndim == 0 else (found * found).sum()).backward()
    return tuple(found.shape), found.detach().numpy(), p.grad.numpy()


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_as_pytorch(name):
    (shape, *found), (wanted_shape, *wanted) = ours(EXPRESSIONS[name]), theirs(EXPRESSIONS[name])
    assert shape == wanted_shape
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


def test_as_numpy():
    p = nn.Parameter(P)
    v = p * 1.0
    for function in (np.var, np.std, np.mean, np.sum, np.max, np.min, np.argmax, np.argmin):
        assert np.asarray(getattr(function(v, axis=0), "data", function(v, axis=0))) == pytest.approx(
            function(P, axis=0), rel=1e-14
        )
    assert np.max(v, axis=1, keepdims=True).data.tolist() == P.max(axis=1, keepdims=True).tolist()
    assert v.argmax(1).tolist() == P.argmax(1).tolist()
    assert (p.argmin(), p.dim(), p.nelement(), v.dim()) == (P.argmin(), 2, 12, 2)
    assert v.numpy().tolist() == P.tolist()
    assert np.transpose(v, (1, 0)).shape == (3, 4)


def test_joined_arrays_are_values_again():
    p = nn.Parameter(P)
    joined = np.concatenate([p * 2, np.ones((1, 3))])
    assert isinstance(joined, Values)
    np.testing.assert_array_equal(joined.data, np.concatenate([P * 2, np.ones((1, 3))]))
    assert np.stack([p[0] * 1, p[1] * 1], axis=1).tanh().shape == (3, 2)


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
    (lambda v: v.sum((0, 0)), InputError, "each dimension"), (lambda v: v.mean(2), InputError, "one of the dimensions"),
    (lambda v: v[:1].var(0), InputError, "unbiased=False"), (lambda v: v.softmax(None), InputError, "got None"),
    (sv.softmax, InputError, "one of the dimensions"), (lambda v: v.softmax(3), InputError, "got 3"),
    (lambda v: v.__setitem__(0, [1.0, 2.0]), InputError, r"shape \(2,\).*shape \(3,\)"),
    (lambda v: v.__iadd__(np.ones((2, 4, 3))), InputError, r"shape \(2, 4, 3\)"),
    (lambda v: v - v.max(1, keepdim=True), TypeError, r"take its \.values"),
    (lambda v: v.argmax(5), InputError, "got 5"), (lambda v: v.argmin((0, 1)), InputError, "one of the dim"),
    (lambda v: v.nothing, AttributeError, "'nothing'$"), (lambda v: v.to("cpu"), AttributeError, "sv\\.Run"),
    (lambda v: v.unsqueeze(4), InputError, "got 4"), (lambda v: np.sum(v, initial=1.0), TypeError, "initial"),
])  # fmt: skip
def test_what_is_refused(attempt, kind, text):
    v = nn.Parameter(P) * 1.0
    with pytest.raises(kind, match=text):
        attempt(v)
    np.testing.assert_array_equal(v.data, P)


def test_functions_take_a_dimension():
    p = nn.Parameter(P)
    np.testing.assert_allclose(sv.softmax(p * 1, 1).data, torch.tensor(P).softmax(1).numpy(), rtol=1e-14)
    np.testing.assert_allclose(sv.log_softmax(p * 1, 0).data, torch.tensor(P).log_softmax(0).numpy(), rtol=1e-14)
    assert [v.data for v in sv.log_softmax(P[0])] == pytest.approx(torch.tensor(P[0]).log_softmax(0).tolist())


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
    endless: list = []
    endless.append(endless)
    for index, text in ((endless, "levels"), ([[Value(0.0)], [Value(1.0), 2]], "ragged")):
        with pytest.raises(ValueError, match=text):
            C[index]


def test_what_is_returned_may_be_nested_anyhow():
    """Arrays, rows of parameters and numbers in lists: nothing of it is lost."""
    p = nn.Parameter(P)
    tape = sv.record(lambda x: [p[0], [x[0], 2.0], p * x[1], (np.array([1.0, 2.0]), 3)], 2)
    assert len(tape.outputs) == 3 + 2 + 12 + 2 + 1
    net = type("Net", (nn.Module,), {"forward": lambda self, x: [p[0] * x[0], [x[0], 4.0]]})()
    run = sv.Run(net, lambda o, t: sv.sum(o), optim.SGD([p], lr=0.1), data=([[2.0]], [[0.0]]), engine="numpy")
    assert run.predict([[2.0]]).ravel().tolist() == [3.0, -4.0, 1.0, 2.0, 4.0]


@pytest.mark.parametrize("name", ["numpy", "numba"])
def test_in_a_run(name):
    """A norm over positions and attention, typed with arrays, is recorded like any other formula."""
    p = nn.Parameter(P)

    def model(x):
        rows = p * np.array(x, dtype=object)
        normed = (rows - rows.mean(0, keepdim=True)) / (rows.var(0, keepdim=True, unbiased=False) + 1e-5).sqrt()
        return ((normed @ normed.t()).softmax(1) @ normed).sum(0)

    run = sv.Run(model, nn.MSELoss(), optim.SGD([p], lr=0.1), data=(P[:3], P[1:]), engine=name, dtype="float64")
    q = torch.tensor(P, requires_grad=True)
    rule = torch.optim.SGD([q], lr=0.1)
    for _ in range(3):
        loss = torch.tensor(0.0)
        for x, t in zip(torch.tensor(P[:3]), torch.tensor(P[1:]), strict=True):
            rows = q * x
            normed = (rows - rows.mean(0)) / torch.sqrt(rows.var(0, unbiased=False) + 1e-5)
            loss = loss + (((normed @ normed.T).softmax(1) @ normed).sum(0) - t).square().mean() / 3
        rule.zero_grad()
        loss.backward()
        rule.step()
        run.step()
        assert run.loss == pytest.approx(loss.item(), rel=1e-12)
    np.testing.assert_allclose(p.data, q.detach().numpy(), rtol=1e-11)
    with pytest.raises(TracingError):
        sv.record(lambda x: sv.sum(p.detach() * np.array(x, dtype=object) + (p * x[0]).detach().sum(0)), 3)
