"""Layers typed as ``x @ W + b``, W of shape (inputs, outputs): found as matrices, and right on every engine."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim


class Typed(nn.Module):
    """As lessons type it: projections of one input, a matrix used at two places, one without bias, a slice of one."""

    def __init__(self, n: int, m: int) -> None:
        rng = np.random.default_rng(n * 100 + m)
        self.A, self.B, self.C, self.D = (
            nn.Parameter(rng.normal(size=shape) / np.sqrt(shape[0])) for shape in ((n, m), (n, m), (m, 3), (n, m + 2))
        )
        self.a, self.b, self.c = (nn.Parameter(rng.normal(size=k)) for k in (m, m, 3))

    def forward(self, x: list[sv.Value]) -> object:
        x = np.array(x)
        q, k, v = np.tanh(x @ self.A + self.a), np.tanh(x @ self.B + self.b), np.tanh(x @ self.D[:, 1:-1])
        return (q @ self.C + self.c) * 2.0 + (k * v) @ self.C


def matrices(run: sv.Run) -> list[tuple[int, int]]:
    return [(i.count, i.terms) for i in run.problem.plan.body.instructions if i.kind == "dot"]


def make(n: int, m: int, batch: int, engine: str, dtype: str) -> sv.Run:
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(40, n)), rng.normal(size=(40, 3))
    net = Typed(n, m)
    return sv.Run(
        net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.05, momentum=0.9), (x, y), batch_size=batch, engine=engine,
        dtype=dtype, seed=3,
    )  # fmt: skip


def torchs(run: sv.Run, steps: int) -> tuple[list[float], np.ndarray]:
    """Losses, and the weights after so many steps, of PyTorch with the same batches."""
    torch = pytest.importorskip("torch", reason="no PyTorch (extra oracle)")
    start = run.model.state_dict().items()
    p = {k: torch.tensor(v.copy(), dtype=torch.float64, requires_grad=True) for k, v in start}
    rule, losses = torch.optim.SGD(p.values(), lr=0.05, momentum=0.9), []
    for step in range(steps):
        samples, order = run.problem.samples_of(step)
        rows = torch.tensor(np.asarray(samples[:, : run.problem.batch] if order is None else samples[:, order]).T)
        x, y = rows[:, :-3].double(), rows[:, -3:].double()
        q, k, v = torch.tanh(x @ p["A"] + p["a"]), torch.tanh(x @ p["B"] + p["b"]), torch.tanh(x @ p["D"][:, 1:-1])
        loss = (((q @ p["C"] + p["c"]) * 2 + (k * v) @ p["C"] - y) ** 2).mean()
        rule.zero_grad()
        loss.backward()
        rule.step()
        losses.append(float(loss.detach()))
    return losses, np.concatenate([p[k].detach().numpy().ravel() for k in p])


@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
@pytest.mark.parametrize(
    ("n", "m", "batch"), [(5, 7, 1), (5, 7, 6), (40, 33, 3), (40, 33, 8), (20, 70, 13), (3, 16, 40)]
)
def test_steps_are_pytorchs(n, m, batch, engine):
    run = make(n, m, batch, engine, "float64")
    expected, weights = torchs(run, 4)
    losses = []
    for _ in expected:
        run.step()
        losses.append(run.loss)
    np.testing.assert_allclose(losses, expected, rtol=1e-12)
    found = np.concatenate([v.ravel() for v in run.model.state_dict().values()])
    np.testing.assert_allclose(found, weights, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("batch", [1, 3, 5, 7, 16, 40])
def test_float32_is_near_float64(batch):
    found = []
    for dtype in ("float32", "float64"):
        run = make(33, 40, batch, "numba", dtype)
        run.step(3)
        found.append(run.values.astype(float))
    np.testing.assert_allclose(found[0], found[1], rtol=2e-4, atol=2e-5)


def test_each_product_is_one_matrix():
    found = matrices(make(6, 8, 4, "numpy", "float64"))
    assert sorted(found) == [(3, 8), (3, 8), (8, 6), (16, 7)]


def test_a_matrix_of_which_a_weight_is_frozen_stays_right():
    runs = [make(6, 8, 5, engine, "float64") for engine in ("numpy", "numba")]
    for run in runs:
        run.model.A[2, 3].frozen = True
        run.step(3)
    np.testing.assert_allclose(runs[0].values, runs[1].values, rtol=1e-12)


def test_an_opened_step_calls_a_typed_bias_a_bias():
    run = make(4, 5, 3, "numba", "float64")
    terms = run.open().terms(run.model.a[1])
    np.testing.assert_array_equal(terms["x"], 1.0)
