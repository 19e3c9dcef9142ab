"""Dropout: masks that are drawn anew at every step, the same on every engine, and gone in evaluation."""

import numpy as np
import pytest

import scalarviz as sv
from kit.runs import ENGINES
from scalarviz import nn, optim, rng


def net_of(p=0.4, hidden=8):
    net = nn.Sequential(
        nn.Dropout(p / 2), nn.Linear(3, hidden), nn.Tanh(), nn.Dropout(p), nn.Linear(hidden, 2), nn.Sigmoid()
    )
    net.initialize(seed=1)
    return net


def run_of(engine="numpy", p=0.4, hidden=8, batch=8, samples=24, dtype="float64", net=None, **more):
    random = np.random.default_rng(0)
    net = net_of(p, hidden) if net is None else net
    data = random.random((samples, 3)), random.random((samples, 2))
    rule = optim.SGD(net.parameters(), lr=0.5, momentum=0.5)
    return sv.Run(net, nn.MSELoss(), rule, data=data, batch_size=batch, seed=5, engine=engine, dtype=dtype, **more)


def mask(call, step, units, batch, p, seed=5):
    """(batch, units), by the definition."""
    zero = rng.dropped(seed, call, step, np.arange(units), np.arange(batch), p)
    return np.where(zero, 0.0, 1.0 / (1.0 - p) if p < 1 else 0.0).T


def by_hand(run, steps, p, hidden, batch):
    """The same network and data in NumPy, with these masks multiplied in: losses, and weights at the end."""
    x, y = run.samples()
    w1, b1, w2, b2 = (np.asarray(q.data).astype(float) for q in run.model.parameters())
    speed, losses = [np.zeros_like(a) for a in (w1, b1, w2, b2)], []
    for step in range(steps):
        chosen = run._problem.indices(step)
        first, second = mask(0, step, 3, batch, p / 2), mask(1, step, hidden, batch, p)
        shown = x[chosen] * first
        h = np.tanh(shown @ w1.T + b1)
        out = 1 / (1 + np.exp(-((h * second) @ w2.T + b2)))
        losses.append(np.mean((out - y[chosen]) ** 2))
        d2 = 2 * (out - y[chosen]) * out * (1 - out) / out.size
        d1 = (d2 @ w2) * second * (1 - h * h)
        for array, v, g in zip((w1, b1, w2, b2), speed, (d1.T @ shown, d1.sum(0), d2.T @ (h * second), d2.sum(0)),
                               strict=True):  # fmt: skip
            v[...] = 0.5 * v + g
            array[...] = array - 0.5 * v
    return losses, [w1, b1, w2, b2]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("batch", "hidden", "p"), [(8, 8, 0.4), (1, 7, 0.5), (3, 5, 1.0), (24, 9, 0.25)])
def test_a_run_is_that_by_hand_with_these_masks(engine, batch, hidden, p):
    run = run_of(engine, p, hidden, batch)
    losses, weights = by_hand(run, 6, p, hidden, batch)
    run.step(6)
    np.testing.assert_allclose(run.history.loss, losses, rtol=1e-12)
    for ours, wanted in zip(run.model.parameters(), weights, strict=True):
        np.testing.assert_allclose(ours.data, wanted, rtol=1e-10, atol=1e-13)


def test_masks_are_drawn_with_the_probability_that_was_asked_for_and_independently():
    units, places = np.arange(400), np.arange(500)
    for p in (0.0, 0.1, 0.5, 0.9, 1.0):
        zero = rng.dropped(3, 1, 10, units, places, p)
        assert abs(zero.mean() - p) <= 5 * np.sqrt(p * (1 - p) / zero.size)
    base = rng.dropped(3, 1, 10, units, places, 0.5)
    others = {
        "seed": (4, 1, 10, units, places), "call": (3, 2, 10, units, places), "step": (3, 1, 11, units, places),
        "next unit": (3, 1, 10, units + 1, places), "next place": (3, 1, 10, units, places + 1),
    }  # fmt: skip
    for what, key in others.items():
        assert abs((base == rng.dropped(*key, 0.5)).mean() - 0.5) <= 5 * 0.5 / np.sqrt(base.size), what
    for axis in (0, 1):  # no unit and no place is special
        assert np.abs(base.mean(axis=axis) - 0.5).max() <= 5 * 0.5 / np.sqrt(base.shape[axis])
    part = rng.dropped(3, 1, 10, np.array([2, 11, 5]), np.arange(9, 20), 0.5)
    np.testing.assert_array_equal(part, base[[2, 11, 5], 9:20])


@pytest.mark.parametrize("engine", ENGINES)
def test_predictions_evaluation_and_activations_have_no_masks(engine):
    run = run_of(engine)
    run.step(3)
    x, y = run.samples()
    w1, b1, w2, b2 = (np.asarray(q.data) for q in run.model.parameters())
    output = 1 / (1 + np.exp(-(np.tanh(x @ w1.T + b1) @ w2.T + b2)))
    np.testing.assert_allclose(run.predict(x), output, rtol=1e-12)
    assert run.evaluate(x, y) == pytest.approx(np.mean((output - y) ** 2), rel=1e-12)
    np.testing.assert_allclose(list(run.activations(x[0]).values())[-1], output[0], rtol=1e-12)
    assert run.model.training  # and nobody's flag was touched
    still, plain = run_of(engine, net=net_of().eval()), run_of(engine, net=net_of(0.0))
    for each in (still, plain):
        each.step(5)
    np.testing.assert_allclose(still.values, plain.values, rtol=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_another_mode_than_the_recorded_one_is_said_once_and_changes_nothing(engine):
    net = net_of()
    run, other = run_of(engine, net=net, batch=24), run_of(engine, batch=24)
    net.eval()
    with pytest.warns(RuntimeWarning, match="Dropout") as said:
        run.step(2), run.step(2)
    other.step(4)
    assert (len(said), run.values.tobytes()) == (1, other.values.tobytes())
    assert not net.training
    whole = run.evaluate(*run.samples())
    run.change(model=net)
    run.step(1)
    assert run.loss == pytest.approx(whole, rel=1e-12)


def test_by_hand_every_call_draws_anew_and_a_seed_begins_anew():
    drop = nn.Dropout(0.5)
    nn.init.manual_seed(3)
    first, second = ([v.data for v in drop([1.0] * 64)] for _ in range(2))
    assert first != second
    assert set(first) == {0.0, 2.0}
    nn.init.manual_seed(3)
    assert [v.data for v in drop([1.0] * 64)] == first
    x = [sv.Value(0.5 + k) for k in range(40)]
    y = nn.Dropout(0.25)(x)
    sv.sum(y).backward()
    for value, result in zip(x, y, strict=True):
        assert value.grad == pytest.approx(result.data / value.data, rel=1e-15)
        assert value.grad in (0.0, 1 / 0.75)
    for seed in range(6):  # gradcheck holds masks still
        nn.init.manual_seed(seed)
        assert sv.gradcheck(lambda a, b, c: sv.sum([v * v for v in drop([a, b, c])]), 0.3, -0.7, 1.1)
