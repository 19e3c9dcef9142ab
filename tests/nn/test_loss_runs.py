"""Losses in a Run: objects step by step as PyTorch trains with them, a divisor of its own in each step; and engines."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scalarviz import Run, nn, optim
from scalarviz.errors import DivergedError, InputError, TracingError

N, CLASSES, BATCH = 14, 4, 5
WEIGHTS = (0.5, 2.0, 0.25, 1.25)
ENGINES = ["numpy", "numba"]  # as the objects train
X = np.random.default_rng(1).normal(size=(N, 3))
Y = np.array([0, 3, -100, 1, 2, 2, -100, 0, 1, 3, -100, 2, 1, 0])
ROWS = np.abs(X @ np.random.default_rng(2).normal(size=(3, CLASSES)))
SIGNS = np.where(ROWS > 1, 1.0, -1.0)
LOSSES = {
    "weights": ("CrossEntropyLoss", {"weight": WEIGHTS}, Y),
    "ignored": ("CrossEntropyLoss", {}, Y),
    "smoothed": ("CrossEntropyLoss", {"weight": WEIGHTS, "label_smoothing": 0.2}, Y),
    "smoothed class": ("CrossEntropyLoss", {"ignore_index": 2, "label_smoothing": 0.2}, np.maximum(Y, 0)),
    "shares": ("CrossEntropyLoss", {"weight": WEIGHTS, "label_smoothing": 0.2}, ROWS / ROWS.sum(1, keepdims=True)),
    "nll": ("NLLLoss", {"weight": WEIGHTS}, Y),
    "margin": ("MultiMarginLoss", {"p": 2, "margin": 0.7, "weight": WEIGHTS}, np.maximum(Y, 0)),
    "logits": ("BCEWithLogitsLoss", {"weight": WEIGHTS, "pos_weight": (3.0,)}, (ROWS > 1) * 1.0),
    "smooth": ("SmoothL1Loss", {"beta": 0.5}, ROWS),
    "hinge": ("HingeEmbeddingLoss", {"margin": 0.5}, SIGNS),
}


def model():
    return nn.Sequential(nn.Linear(3, CLASSES, seed=1), nn.Tanh())


def made(name, engine, reduction="mean", **options):
    kind, given, targets = LOSSES[name]
    net = model()
    options = {"batch_size": BATCH, "seed": 7, "dtype": "float64"} | options
    loss = getattr(nn, kind)(reduction=reduction, **given)
    return Run(net, loss, optim.SGD(net.parameters(), lr=0.5), (X, targets), engine=engine, **options)


class Theirs:
    """PyTorch on the samples of a run's steps."""

    def __init__(self, name, reduction, run):
        self.torch = pytest.importorskip("torch", reason="no PyTorch (extra oracle)")
        kind, given, targets = LOSSES[name]
        t = self.torch
        tensors = {k: t.tensor(v, dtype=t.float64) if isinstance(v, tuple) else v for k, v in given.items()}
        self.loss = getattr(t.nn, kind)(reduction=reduction, **tensors)
        self.x, self.y = t.tensor(X), t.tensor(targets)
        self.net = t.nn.Sequential(t.nn.Linear(3, CLASSES, dtype=t.float64), t.nn.Tanh())
        self.net.load_state_dict({k: t.tensor(v) for k, v in run.model.state_dict().items()})
        self.rule = t.optim.SGD(self.net.parameters(), lr=0.5)

    def step(self, chosen):
        self.rule.zero_grad()
        loss = self.loss(self.net(self.x[chosen]), self.y[chosen])
        loss.backward()
        self.rule.step()
        return loss.item()

    def values(self):
        return np.concatenate([p.detach().numpy().ravel() for p in self.net.parameters()])


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("name", LOSSES)
def test_shuffled_batches_as_pytorch(name, reduction):
    run = made(name, "objects", reduction)
    theirs = Theirs(name, reduction, run)
    run.step(6)
    wanted = [theirs.step(run.problem.indices(step)) for step in range(6)]
    np.testing.assert_allclose(run.history.loss, wanted, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(run.values, theirs.values(), rtol=1e-11, atol=1e-13)


WAYS = {
    "all": {"batch_size": None}, "drawn": {"sampling": "replacement"},
    "all drawn": {"sampling": "replacement", "batch_size": N},
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_other_samplings_as_pytorch(way):
    run = made("smoothed", "objects", **WAYS[way])
    theirs = Theirs("smoothed", "mean", run)
    run.step(4)
    wanted = [theirs.step(run.problem.indices(step)) for step in range(4)]
    np.testing.assert_allclose(run.history.loss, wanted, rtol=1e-12)
    np.testing.assert_allclose(run.values, theirs.values(), rtol=1e-11)


def assert_same(run, plain):
    np.testing.assert_allclose(run.history.loss, plain.history.loss, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(run.values, plain.values, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("name", LOSSES)
def test_engines_train_alike(name, reduction, engine):
    run, plain = made(name, engine, reduction), made(name, "objects", reduction)
    plain.step(6)
    run.step(3)
    for _ in range(3):
        run.step()
    assert_same(run, plain)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("way", WAYS)
def test_engines_take_the_same_samples(way, engine):
    run, plain = (made("smoothed", kind, **WAYS[way]) for kind in (engine, "objects"))
    run.step(4)
    plain.step(4)
    assert_same(run, plain)


@pytest.mark.parametrize("engine", ENGINES)
def test_float32(engine):
    run, exact = (made("smoothed", engine, dtype=dtype) for dtype in ("float32", "float64"))
    run.step(6)
    exact.step(6)
    np.testing.assert_allclose(run.history.loss, exact.history.loss, rtol=2e-6)
    np.testing.assert_allclose(run.values, exact.values, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_way_back_and_other_calls_give_the_same_bits(engine):
    run, single = made("weights", engine), made("weights", engine)
    run.step(9)
    values, losses = run.values.copy(), list(run.history.loss)
    run.to(4)
    run.to(9)
    assert (run.values == values).all()
    run.to(2)
    for _ in range(7):
        run.step()
        single.step()
    assert list(run.history.loss) == losses
    for _ in range(2):
        single.step()
    assert list(single.history.loss) == losses
    assert (single.values == values).all()


def test_two_threads_change_no_bit():
    x = np.random.default_rng(0).normal(size=(6000, 3))
    y = np.random.default_rng(1).integers(0, CLASSES, 6000)
    y[::7] = -100
    found = []
    for threads in (1, 2):
        net = model()
        loss = nn.CrossEntropyLoss(WEIGHTS, label_smoothing=0.1)
        run = Run(net, loss, optim.SGD(net.parameters(), 0.5), (x, y), batch_size=5000, engine="numba", threads=threads)
        run.step(4)
        found.append((run.values.copy(), list(run.history.loss)))
    assert run.problem.threads == 2
    assert (found[0][0] == found[1][0]).all()
    assert found[0][1] == found[1][1]


@pytest.mark.parametrize("engine", ["objects", *ENGINES])
def test_other_targets_have_other_divisors(engine):
    run = made("weights", engine, batch_size=None)
    run.step()
    changed = np.roll(Y, 3) % CLASSES  # nothing is left out now
    run.set_targets(changed)
    assert run.evaluate(X, changed) == pytest.approx(mean_loss(run, X, changed), rel=1e-12)
    wanted = mean_loss(run, X, changed)
    run.step()
    assert run.loss == pytest.approx(wanted, rel=1e-12)
    more = np.array([0, -100, -100, 3])
    x, y = np.concatenate([X, X[:4] + 1]), np.concatenate([changed, more])
    run.add_samples(X[:4] + 1, more)
    wanted = mean_loss(run, x, y)
    run.step()
    assert run.loss == pytest.approx(wanted, rel=1e-12)


def mean_loss(run, x, y):
    """PyTorch's definition, written out."""
    logits = run.predict(x)
    logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    kept = y >= 0
    weights = np.array(WEIGHTS)[y[kept]]
    return -(weights * logs[kept, y[kept]]).sum() / weights.sum()


def test_other_losses_in_the_middle_and_evaluation():
    run = made("ignored", "numpy", batch_size=None)
    theirs = Theirs("ignored", "mean", run)
    run.step()
    theirs.step(np.arange(N))
    run.change(loss=nn.CrossEntropyLoss(WEIGHTS))
    theirs.loss = theirs.torch.nn.CrossEntropyLoss(theirs.torch.tensor(WEIGHTS, dtype=theirs.torch.float64))
    run.step()
    assert run.loss == pytest.approx(theirs.step(np.arange(N)), rel=1e-12)
    with theirs.torch.no_grad():
        wanted = theirs.loss(theirs.net(theirs.x[:5]), theirs.y[:5]).item()
    assert run.evaluate(X[:5], Y[:5]) == pytest.approx(wanted, rel=1e-12)
    assert math.isnan(run.evaluate(X[:2], [-100, -100]))
    run.to(1)
    run.step()  # with the loss of then


def test_an_opened_step_divides_by_the_same_number():
    run = made("weights", "numpy")
    run.step(2)
    opened = run.open()
    targets = Y[run.problem.indices(2)]
    divisor = sum(WEIGHTS[k] for k in targets if k >= 0)
    assert opened.divisor == pytest.approx(divisor, rel=1e-15)
    run.step()
    assert opened.loss == pytest.approx(run.loss, rel=1e-12)
    np.testing.assert_allclose(opened.gradient, run.problem.store.grad, rtol=1e-12)
    terms = opened.terms("0.weight[1][2]")
    gradient = run.problem.store.grad[1 * 3 + 2]
    assert terms.sum == pytest.approx(gradient, rel=1e-12)
    whole = made("ignored", "numpy", batch_size=None).open()
    assert repr(whole.divisor) == str(int((Y >= 0).sum()))


def test_a_batch_of_nothing_is_nan():
    net = model()
    run = Run(net, nn.CrossEntropyLoss(), optim.SGD(net.parameters(), 0.1), (X, [-100] * N), engine="numpy")
    before = run.values.copy()
    with pytest.raises(DivergedError):
        run.step()
    assert (run.values == before).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_errors_of_outputs_added_up_and_averaged_over_samples(engine):
    """Nielsen's cost: half the squared error of a sample, mean over the samples."""
    net = model()
    loss = nn.MSELoss("sum", factor=0.5, batch_reduction="mean")
    run = Run(net, loss, optim.SGD(net.parameters(), 0.5), (X, ROWS), engine=engine, dtype="float64")
    x = net[0].state_dict()
    a = np.tanh(X @ x["weight"].T + x["bias"])
    run.step()
    assert run.loss == pytest.approx(0.5 * ((a - ROWS) ** 2).sum() / N, rel=1e-12)
    delta = (a - ROWS) * (1 - a * a) / N
    np.testing.assert_allclose(run.problem.store.grad[: 3 * CLASSES], (delta.T @ X).ravel(), rtol=1e-12)


def test_what_a_run_refuses():
    with pytest.raises(InputError, match=r"MSELoss\(reduction='none'\) gives no single number"):
        Run(model(), nn.MSELoss("none"), optim.SGD(model().parameters(), 0.1), (X, ROWS))
    net = model()
    weighted = nn.CrossEntropyLoss(WEIGHTS)
    with pytest.raises(TracingError, match="give the loss itself to the Run, or take reduction='sum'"):
        Run(net, lambda o, t: weighted(o, t) * 2, optim.SGD(net.parameters(), 0.1), (X, np.maximum(Y, 0)))
    with pytest.raises(InputError, match=r"a target is 1 or -1, got .* of 0 and 1 take 2"):
        Run(net, nn.HingeEmbeddingLoss(), optim.SGD(net.parameters(), 0.1), (X, SIGNS * 0.5 + 0.5))


def test_a_function_around_a_loss_sees_nan_where_a_sample_is_left_out():
    net, loss = model(), nn.CrossEntropyLoss()
    run = Run(net, lambda o, t: loss(o, t) * 2, optim.SGD(net.parameters(), 0.1), (X, Y), engine="numpy")
    with pytest.raises(DivergedError):
        run.step()
