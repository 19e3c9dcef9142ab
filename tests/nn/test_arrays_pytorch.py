"""Arrays of Parameters and Values: shapes, numbers and gradients are PyTorch's, by hand and in runs."""

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Value, nn

torch = None  # `with_pytorch` sets it


@pytest.fixture(autouse=True)
def with_pytorch(torch):
    """PyTorch as a name of this file, which `.ci/run` runs."""
    globals()["torch"] = torch


P = np.array([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0], [0.75, 2.5, -0.5], [-1.25, 1.0, 2.0]])
Q = np.array([0.5, -1.5, 2.0])
BATCH = np.array([[[0, 1], [2, 3], [1, 1]], [[3, 0], [2, 2], [0, 1]]])

EXPRESSIONS = {
    "product": lambda p, q: p * p, "square": lambda p, q: p**2,
    "cube": lambda p, q: p.pow(3), "T": lambda p, q: p.T * 2, "tanh": lambda p, q: p.tanh() * q,
    "abs": lambda p, q: abs(p), "square()": lambda p, q: p.square(),
    "row": lambda p, q: p + q, "row on the left": lambda p, q: q - p, "last": lambda p, q: p[-1] + q,
    "numbers": lambda p, q: 2 * p / 4 - 1 + p * 0.5, "column": lambda p, q: p[:, 0] * 2,
    "reflected": lambda p, q: 3 - 1 / p, "negative": lambda p, q: -p, "slice": lambda p, q: p[1:3] * q,
    "columns": lambda p, q: p[:, 1:] * p[:, :2], "twice": lambda p, q: p[[0, 0, 1]] + q,
    "row and column": lambda p, q: p[[0, 1], [2, 0]] * 3, "mask": lambda p, q: p[P > 0] * 2,
    "one": lambda p, q: p[1, 2] * q, "new side": lambda p, q: p[:, None] * q, "dots": lambda p, q: p[..., 0] + 1.0,
    "matrix by row": lambda p, q: p @ q, "row by matrix": lambda p, q: q @ p.T, "row by row": lambda p, q: q @ q,
    "transposed": lambda p, q: p.T @ p, "one row": lambda p, q: p[2] @ q,
    "flat": lambda p, q: p.flatten() * 2, "reshaped": lambda p, q: p.reshape(2, 6) + 1,
    "exp": lambda p, q: p[:2].exp(), "relu": lambda p, q: p.relu() + q, "sigmoid": lambda p, q: (p + q).sigmoid(),
    "along 0": lambda p, q: p.sum(0) * q, "along 1": lambda p, q: (p * q).sum(dim=1),
    "along -1": lambda p, q: p.mean(-1), "sum": lambda p, q: p.sum(), "mean": lambda p, q: p.mean(),
    "square's slice": lambda p, q: (p * p)[1:, 0] * 2, "mean of squared": lambda p, q: (p**2).mean(),
    "sum of squares": lambda p, q: (p * p).sum(), "sum of absolutes": lambda p, q: p.abs().sum(),
    "slice's sum": lambda p, q: p[1:3].sum() * q, "slice's squares": lambda p, q: (p[1:3] ** 2).sum(),
    "row's absolutes": lambda p, q: p[0].abs().sum() + (p[:, 0] ** 2).sum(),
    "largest and smallest": lambda p, q: p.max() * q.min(), "difference": lambda p, q: p - p * q,
    "sum, keepdim": lambda p, q: p / p.exp().sum(1, keepdim=True), "mean of columns": lambda p, q: p - p.mean(0, True),
    "keepdims": lambda p, q: p.exp() / p.exp().sum(1, keepdims=True),
    "two dimensions": lambda p, q: p[BATCH].sum((0, 2)),
    "mean of two": lambda p, q: p[BATCH] * p[BATCH].mean((0, 1), keepdim=True), "var": lambda p, q: p.var(),
    "all, kept": lambda p, q: p * p.mean(dim=(0, 1), keepdim=True),
    "var of columns": lambda p, q: p.var(0, keepdim=True),
    "biased": lambda p, q: p.var(0, unbiased=False), "correction": lambda p, q: p.var(1, correction=0),
    "std": lambda p, q: (p * 2).std(1), "std of all": lambda p, q: p.std(),
    "norm": lambda p, q: (p - p.mean(0)) / p.std(0),
    "softmax": lambda p, q: p.softmax(1), "softmax of columns": lambda p, q: (p * p).softmax(dim=0),
    "log_softmax": lambda p, q: p.log_softmax(-1), "softmax of three": lambda p, q: p[BATCH].softmax(2),
    "view": lambda p, q: p.view(-1, 6) * 2, "view by a tuple": lambda p, q: p.view((2, 6)).tanh(),
    "view of a batch": lambda p, q: p[BATCH].view(p[BATCH].shape[0], -1), "unsqueeze": lambda p, q: p.unsqueeze(1) * p,
    "unsqueeze last": lambda p, q: p[0].unsqueeze(-1) * p[1], "squeeze": lambda p, q: p[:1].squeeze(0) * 2,
    "t": lambda p, q: p.t() @ p,
    "transpose of the last two": lambda p, q: p[BATCH].transpose(-2, -1).sum((0, 1)),
    "clone": lambda p, q: p.clone() * p,
    "permute three": lambda p, q: p[BATCH].permute(2, 0, 3, 1).sum((1, 2)), "detach": lambda p, q: p.detach() * p,
    "matmul": lambda p, q: p[:3].matmul(p[:3]).add(1.0).mul(p[:3]).sub(p[0]).neg(),
    "logsumexp": lambda p, q: p.logsumexp(1),
    "logsumexp by hand": lambda p, q: p.max(-1)[0] + (p - p.max(-1)[0][:, None]).exp().sum(-1).log(),
    "largest": lambda p, q: p.max(1, keepdim=True).values * p, "smallest": lambda p, q: p.min(0).values * p,
    "amax": lambda p, q: p.amax(1, keepdim=True) * p, "amin": lambda p, q: p.amin((0, 1)),
    "at the largest": lambda p, q: p[range(4), p.max(1).indices], "clip": lambda p, q: p.clip(-1.0, 1.0) * p,
    "masked": lambda p, q: p.masked_fill(torch.tensor(P > 1), 7.0) * 2,
    "attention": lambda p, q: (p @ p.transpose(-2, -1)).masked_fill(
        torch.tensor(np.tri(4) == 0), float("-inf")).softmax(-1) @ p,
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
    "max along": (
        lambda p, q: sv.max(p, 1)[0] + sv.min(p, dim=1)[0] + sv.logsumexp(p, dim=1),
        lambda p, q: torch.max(p, 1)[0] + torch.min(p, dim=1)[0] + torch.logsumexp(p, dim=1),
    ),
    "expand": (lambda p, q: p[:, :1].expand(4, 3) * q, lambda p, q: p[:, :1].expand(4, 3) * q),
    "norm of zeros": (lambda p, q: (p * 0).norm() + q.norm(), lambda p, q: (p * 0).norm() + q.norm()),
    "softmax": (lambda p, q: sv.softmax(p * 1, 1), lambda p, q: p.softmax(1)),
    "log_softmax": (lambda p, q: sv.log_softmax(p * 1, 0), lambda p, q: p.log_softmax(0)),
}


EVERY = {name: (call, call) for name, call in EXPRESSIONS.items()}
EVERY |= {f"sv: {name}": both for name, both in FUNCTIONS.items()}


@pytest.mark.parametrize("name", EVERY)
def test_as_pytorch(name):
    found, wanted = (make(call) for make, call in zip((ours, theirs), EVERY[name], strict=True))
    assert found[0] == wanted[0]
    for a, b in zip(found[1:], wanted[1:], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-14)


def test_a_tensor_is_one_sample_as_its_numbers_are():
    net, row = nn.Sequential(nn.Linear(2, 3, seed=1), nn.Tanh()), torch.tensor([0.5, -2.0])
    assert [v.data for v in net(row)] == [v.data for v in net(row.tolist())]


def test_parameters_of_pytorch_are_refused_by_their_full_name():
    with pytest.raises(sv.ScalarvizError, match=r"params\[0\] .* got torch\.nn\.parameter\.Parameter"):
        sv.optim.SGD(torch.nn.Linear(2, 1).parameters())
