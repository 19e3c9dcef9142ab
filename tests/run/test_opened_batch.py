"""An opened step of a net whose samples depend on each other: the numbers of the whole batch, also for one sample."""

from __future__ import annotations

import numpy as np
import pytest

from scalarviz import Run, nn, optim
from scalarviz.run.opened.writing import digits_of
from scalarviz.scalar.batch import batch_mean, track

N, BATCH = 11, 4


class Centred(nn.Module):
    """A layer whose outputs lose their mean over the batch, and a scale; `seen` follows the means."""

    def __init__(self):
        self.layer, self.scale = nn.Linear(2, 3, seed=3), nn.Parameter([1.5, 0.5, -1.0])
        self.seen = nn.Parameter(np.zeros(3))

    def forward(self, x):
        found = []
        for k, v in enumerate(self.layer(x)):
            mean = batch_mean(v)
            found.append(((v - mean) * self.scale[k] + batch_mean(self.scale[k])).tanh())
            track(self.seen[k], mean, 0.25)
        return found


@pytest.fixture
def run():
    draw = np.random.default_rng(8)
    data = draw.normal(size=(N, 2)), draw.normal(size=(N, 3))
    net = Centred()
    weights = [*net.layer.parameters(), net.scale]
    made = Run(net, nn.MSELoss(), optim.SGD(weights, lr=0.1), data, batch_size=BATCH, engine="numpy", dtype="float64")
    made.step(3)
    return made


def test_a_step_is_that_of_the_engine(run):
    loss = run._training.trainer.gradient(3)
    grad = run._store.grad.copy()
    opened = run.open()
    assert opened.loss == pytest.approx(loss, abs=1e-14)
    np.testing.assert_allclose(opened.gradient, grad, rtol=0, atol=1e-14)
    for index in np.flatnonzero(run.problem.trained):
        assert opened.terms(index).sum == pytest.approx(grad[index], abs=1e-14)


def test_what_follows_is_told_with_its_new_number(run):
    opened = run.open()
    told = [opened.update(f"seen[{k}]") for k in range(3)]
    assert {update.why for update in told} == {"it follows what the steps compute"}
    run.step()
    np.testing.assert_allclose(opened.new_values, run.values, rtol=0, atol=1e-14)
    np.testing.assert_allclose([update.after for update in told], run.model.seen.data, rtol=0, atol=1e-15)
    assert [str(update) for update in told] == [f"w' = {digits_of(update.after)}: {update.why}" for update in told]


def test_one_sample_takes_the_means_of_the_step_that_comes(run):
    """They stand still, so the gradient is that of the sample alone."""
    ids, x = run.problem.indices(3), np.array([0.5, -1.0])
    y = np.array([0.2, 0.0, 1.0])
    net = run.model
    parts = [net.layer.weight.data.copy(), net.layer.bias.data.copy(), net.scale.data.copy()]
    names = [f"layer.weight[{i}][{j}]" for i in range(3) for j in range(2)]
    names += [f"{name}[{k}]" for name in ("layer.bias", "scale") for k in range(3)]
    data = run.problem.data[:]
    means = (parts[0] @ data[:2, ids] + parts[1][:, None]).mean(axis=1)

    def loss(values):
        w, b, scale = (part.ravel() for part in np.split(values, [6, 9]))
        return np.mean((np.tanh((w.reshape(3, 2) @ x + b - means) * scale + parts[2]) - y) ** 2)

    opened = run.open(sample=(x, y))
    values = np.concatenate([part.ravel() for part in parts])
    assert opened.loss == pytest.approx(loss(values), abs=1e-14)
    for index, name in enumerate(names):
        step = np.zeros(12)
        step[index] = 1e-6
        slope = (loss(values + step) - loss(values - step)) / 2e-6
        assert opened.gradient[opened.index(name)] == pytest.approx(slope, abs=1e-8)
        assert opened.terms(name).sum == pytest.approx(opened.gradient[opened.index(name)], abs=1e-14)
    along = opened.loss_along(names[0])
    k = int(np.argmin(np.abs(along.weights - values[0])))
    assert along.losses[k] == pytest.approx(opened.loss, abs=1e-12)


def test_looking_inside_changes_no_bit(run):
    before = run.values.copy()
    run.open()
    run.open(sample=2).micro_steps  # noqa: B018
    np.testing.assert_array_equal(run.values, before)
