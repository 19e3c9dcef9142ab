"""The gradient of one sample's loss: that of finite differences, whatever the model is made of."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.run.sample_gradient import SampleGradient

X = np.random.default_rng(0).uniform(-1, 1, (5, 2))
Y = np.random.default_rng(1).uniform(-1, 1, (5, 2))


def direct(w, x):
    return [w[0] * x[0] + w[1], (w[2] * x[1]).tanh() + w[3]]


def derived(w, x):
    """Numbers that are made of weights alone, one of another, each used twice."""
    a = w[0] * w[1]
    b = (a + w[2]).exp()
    return [a * x[0] + b, b * x[1] + a * w[3]]


def encoded(w, x):
    """Numbers that are made of the sample alone."""
    waves = [(2.0 * v).sin() for v in x]
    return [sv.dot([w[0], w[1]], waves), w[2] * waves[1] + w[3] * x[0]]


@pytest.mark.parametrize("model", [direct, derived, encoded], ids=lambda f: f.__name__)
@pytest.mark.parametrize("engine", ["objects", "numpy"])
def test_it_is_the_numeric_one_with_a_number_for_each_weight(model, engine):
    w = [sv.Weight(0.3 + 0.2 * k) for k in range(4)]
    data = (X, Y)
    with Run(lambda x: model(w, x), nn.MSELoss(), optim.SGD(w, lr=0.1), data, engine=engine, dtype="float64") as run:
        run.step(2)
        values = run.values.astype(float)
        terms = SampleGradient(run)
        for x, y in zip(X, Y, strict=True):
            found = terms.gradient(x, y, values)
            numeric = [
                (run.evaluate(x[None], y[None], values + d) - run.evaluate(x[None], y[None], values - d)) / 2e-6
                for d in 1e-6 * np.eye(4)
            ]
            assert found.shape == (run.n_weights,)
            np.testing.assert_allclose(found, numeric, rtol=0, atol=1e-8)
