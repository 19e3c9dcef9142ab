"""Every engine against the objects engine: one forward and backward from the same state."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim


def mlp(*sizes, activation=nn.Tanh, bias=True):
    layers = []
    for k, (n, m) in enumerate(itertools.pairwise(sizes)):
        layers += [nn.Linear(n, m, bias=bias, seed=k), activation()]
    return nn.Sequential(*layers)


class Residual(nn.Module):
    """Two layers on one input, and the input added again."""

    def __init__(self):
        self.a, self.b = nn.Linear(3, 3, seed=1), nn.Linear(3, 3, seed=2)

    def forward(self, x):
        return [p.tanh() + q.sigmoid() + r for p, q, r in zip(self.a(x), self.b(x), x, strict=True)]


class Tied(nn.Module):
    """One layer used twice."""

    def __init__(self):
        self.layer = nn.Linear(3, 3, seed=4)

    def forward(self, x):
        return self.layer([v.tanh() for v in self.layer(x)])


class Expression(nn.Module):
    """A formula without layers: parameter-only, input-only and mixed nodes, all kinds of weighted sums."""

    def __init__(self):
        self.w = [sv.Weight(x) for x in (0.3, -0.7, 1.1, 0.2, 0.5)]

    def forward(self, x):
        w = self.w
        product = w[0] * w[1]
        encoded = [(3.0 * v).sin() for v in x]
        a = product * x[0] + w[2] * encoded[1] + w[3]
        b = sv.dot([0.5, -1.5, 2.0], [a, x[1], encoded[2]])
        c = sv.dot([a, b], [b.tanh(), x[2]], w[4])
        d = sv.logsumexp([a, b, c]) + sv.max([a, c]) + sv.where(a < c, a * b, w[0] * c + 2.0)
        return [d / (1.0 + c.square()), w[1], x[0], (b * b + 1.0).sqrt().log() ** w[3].exp()]


class OneNodeTwice(nn.Module):
    """One node as two outputs, an unused input, a constant output."""

    def __init__(self):
        self.w = sv.Weight(0.4)

    def forward(self, x):
        y = (self.w * x[0]).tanh()
        return [y, y, sv.Value(0.25)]


MODELS = {
    "rgb": lambda: mlp(3, 3, activation=nn.Sigmoid),
    "mlp": lambda: mlp(3, 16, 16, 3),
    "no bias": lambda: mlp(3, 5, 2, bias=False),
    "relu": lambda: mlp(3, 8, 2, activation=nn.ReLU),
    "leaky": lambda: mlp(3, 7, 3, activation=nn.LeakyReLU),
    "softplus": lambda: mlp(3, 7, 3, activation=nn.Softplus),
    "residual": Residual,
    "tied": Tied,
    "expression": Expression,
    "one node twice": OneNodeTwice,
}
LOSSES = {"mse": nn.MSELoss, "sum of half squares": lambda: nn.MSELoss(reduction="sum", factor=0.5), "l1": nn.L1Loss}


def gradient(model, loss, engine, dtype, batch):
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, (20, 3))
    n_out = len(model([0.1, 0.2, 0.3]))
    run = Run(
        model, loss, optim.SGD(model.parameters(), lr=0.1), (x, rng.uniform(0, 1, (20, n_out))),
        batch_size=batch, engine=engine, dtype=dtype, seed=7,
    )  # fmt: skip
    value = run._training.trainer.gradient(2)
    grad = run._store.grad.astype(float).copy()
    run.close()
    return value, grad


@pytest.mark.parametrize("engine", ["numpy", "numba"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-5)])
@pytest.mark.parametrize("batch", [20, 6])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", MODELS)
def test_engine_agrees_with_objects(name, loss, batch, dtype, tolerance, engine):
    model = MODELS[name]()
    expected_loss, expected = gradient(model, LOSSES[loss](), "objects", dtype, batch)
    found_loss, found = gradient(model, LOSSES[loss](), engine, dtype, batch)
    assert np.linalg.norm(expected) > 1e-3
    assert np.linalg.norm(found - expected) <= tolerance * np.linalg.norm(expected)
    assert found_loss == pytest.approx(expected_loss, rel=tolerance)


class SignDescent(optim.Optimizer):
    """A user's optimiser in ten lines."""

    state = ("count",)

    def update(self, w, g, state, lr, t):
        direction = sv.where(g > 0, 1.0, sv.where(g < 0, -1.0, 0.0))
        return w - lr * direction / (t + 1.0).sqrt(), {"count": state["count"] + 1.0}


OPTIMISERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.2),
    "nesterov": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda p: optim.Adam(p, lr=0.02),
    "adamw": lambda p: optim.AdamW(p, lr=0.02),
    "user": lambda p: SignDescent(p, lr=0.01),
}


def user_loss(outputs, targets):
    return sv.sum([abs(o - t) ** 1.5 for o, t in zip(outputs, targets, strict=True)])


@pytest.mark.parametrize("engine", ["numpy", "numba"])
@pytest.mark.parametrize("name", OPTIMISERS)
def test_ten_steps_agree_with_objects(name, engine):
    rng = np.random.default_rng(1)
    data = rng.uniform(-1, 1, (12, 3)), rng.uniform(0, 1, (12, 2))
    ends = []
    for which in ("objects", engine):
        model = mlp(3, 4, 2)
        run = Run(
            model, user_loss, OPTIMISERS[name](model.parameters()), data, batch_size=5, engine=which, dtype="float64"
        )
        run.step(10)
        ends.append((run.frame().values, run.history.loss, run.optimizer_state()))
    (a, loss_a, state_a), (b, loss_b, state_b) = ends
    np.testing.assert_allclose(b, a, rtol=0, atol=1e-11 * np.linalg.norm(a))
    np.testing.assert_allclose(loss_b, loss_a, rtol=1e-11)
    for key, array in state_a.items():
        np.testing.assert_allclose(state_b[key], array, rtol=0, atol=1e-11 * max(1, np.linalg.norm(array)))


@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
def test_chunks_change_no_bit(engine):
    rng = np.random.default_rng(1)
    data = rng.uniform(-1, 1, (12, 3)), rng.uniform(0, 1, (12, 2))
    ends = []
    for chunks in ([13], [1] * 13, [5, 0, 7, 1]):
        model = mlp(3, 4, 2)
        run = Run(model, nn.MSELoss(), optim.Adam(model.parameters(), lr=0.1), data, batch_size=5, engine=engine)
        for count in chunks:
            run.step(count)
        ends.append((run.frame().values.tobytes(), run.history.loss.tobytes()))
    assert ends[0] == ends[1] == ends[2]


@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
def test_frozen_and_foreign_weights_stand_still(engine):
    model = mlp(3, 4, 2)
    model.freeze("0.bias")
    model[2].weight[1][2].frozen = True
    before = {k: v.copy() for k, v in model.state_dict().items()}
    parameters = [p for n, p in model.named_parameters() if n != "2.bias"]
    data = np.random.default_rng(0).random((9, 3)), np.random.default_rng(1).random((9, 2))
    run = Run(model, nn.MSELoss(), optim.Adam(parameters, lr=0.1), data, engine=engine, dtype="float64")
    run.step(3)
    after = run.state_dict()
    for name in ("0.bias", "2.bias"):
        np.testing.assert_array_equal(after[name], before[name])
    moved = after["2.weight"] != before["2.weight"]
    assert not moved[1, 2]
    assert moved.sum() == moved.size - 1
    assert abs(model[2].bias.grad).min() > 0  # gradients only
    assert run.frame().frozen.sum() == 5


@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
def test_a_registered_operation_works_everywhere(engine):
    if "test_cube" not in sv.scalar.ops.TABLE:
        sv.register("test_cube", "a", "a * a * a", ("3 * a * a",))
    cube = sv.scalar.function("test_cube")
    assert sv.gradcheck(cube, 0.7)
    w = sv.Weight(1.5)
    run = Run(
        lambda x: cube(w * x[0]),
        nn.MSELoss(),
        optim.SGD([w], lr=0.01),
        ([[2.0]], [[3.0]]),
        engine=engine,
        dtype="float64",
    )
    run.step(1)
    # d/dw ((w x)^3 - t)^2 = 2 ((w x)^3 - t) 3 (w x)^2 x
    assert w.grad == pytest.approx(2 * (27 - 3) * 3 * 9 * 2)


@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
@pytest.mark.parametrize("name", ["range", "abs", "exp", "real", "cuda"])
def test_operands_may_have_any_name(name, engine):
    """Generated kernels use Python's own names under others."""
    operation = f"test_of_{name}"
    if operation not in sv.scalar.ops.TABLE:
        sv.register(operation, name, f"{name} * exp(-abs({name}))", (f"(1 - abs({name})) * exp(-abs({name}))",))
    w = sv.Weight(1.5)
    run = Run(
        lambda x: sv.scalar.function(operation)(w * x[0]), lambda o, t: o, optim.SGD([w], lr=0.01), ([[-2.0]], [[0.0]]),
        engine=engine, dtype="float64",
    )  # fmt: skip
    run.step(1)
    assert w.grad == pytest.approx(-2.0 * (1 - 3.0) * np.exp(-3.0))
