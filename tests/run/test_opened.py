"""A step, opened: its gradient, terms and new weights against the engine's own step."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim

RANDOM = np.random.default_rng(0)


def rgb(engine="numpy", dtype="float64", **options):
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    x = np.random.default_rng(0).random((64, 3))
    make = options.pop("optimizer", lambda p: optim.SGD(p, lr=0.5))
    return Run(net, nn.MSELoss(), make(net.parameters()), (x, 1 - x), engine=engine, dtype=dtype, **options)


def sums(opened):
    """Sum of the terms, and of their sizes, of every weight."""
    found = [opened.terms(i) for i in range(len(opened.values))]
    return np.array([t.sum for t in found]), np.array([t.absolute for t in found])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
@pytest.mark.parametrize("batch_size", [None, 16])
def test_terms_make_the_gradient_and_the_engine_agrees(engine, dtype, batch_size):
    run = rgb(engine, dtype, batch_size=batch_size)
    run.step(5)
    opened = run.open()
    total, sizes = sums(opened)
    assert np.linalg.norm(total - opened.gradient) <= 1e-12 * np.linalg.norm(sizes)
    run.step(1)
    bound = 1e-5 if dtype == "float32" else 1e-12
    assert np.linalg.norm(run.frame().gradient - opened.gradient) <= bound * np.linalg.norm(sizes)
    assert run.loss == pytest.approx(opened.loss, rel=bound)
    assert np.abs(run.values - opened.new_values).max() <= bound
    assert opened.step == run.steps
    for i in range(run.n_weights):
        assert opened.update(i).after == pytest.approx(opened.new_values[i], rel=1e-14, abs=1e-16)


def test_the_batch_is_that_of_the_step():
    run = rgb(batch_size=16)
    x, _ = run.samples()
    run.step(5)
    opened = run.open()
    assert opened.batch.tolist() == run.problem.indices(5).tolist()
    assert np.array_equal(opened.inputs, x[opened.batch].T)
    assert set(opened.terms(0)["sample"]) == set(opened.batch)


def test_opening_changes_no_bit():
    run, other = rgb("numba", "float32", batch_size=16), rgb("numba", "float32", batch_size=16)
    for one in (run, other):
        one.step(3)
    opened = run.open()
    opened.terms(4), opened.new_values, opened.update(2)
    run.open(sample=7).terms(3)
    for one in (run, other):
        one.step(20)
    assert np.array_equal(run.values, other.values)
    assert np.array_equal(run.history.loss, other.history.loss)


def test_a_trial_with_one_sample_is_what_that_sample_alone_asks_for():
    run = rgb()
    run.step(3)
    x, y = run.sample(7)
    for sample in (7, (x, y)):
        opened = run.open(sample=sample)
        assert opened.trial
        assert opened.loss == pytest.approx(run.evaluate(x[None], y[None]), rel=1e-14)
        assert opened.batch.tolist() == [7 if sample == 7 else -1]
        total, sizes = sums(opened)
        assert np.linalg.norm(total - opened.gradient) <= 1e-15 * np.linalg.norm(sizes)
        np.testing.assert_array_equal(opened.inputs[:, 0], x)


def test_a_weight_is_found_by_itself_its_name_and_its_place():
    run = rgb()
    opened = run.open()
    weight = run.model[0].weight[2][1]
    assert opened.index(weight) == opened.index("0.weight[2][1]") == opened.index(7) == 7
    assert opened.name(weight) == "0.weight[2][1]"
    assert opened.index(run.model[0].bias[0]) == 9


def test_the_line_of_gradient_descent():
    run = rgb()
    run.step(1)
    opened = run.open()
    (line,) = opened.line("0.weight[0][0]")
    assert (line.name, line.formula) == ("w'", "w − lr · g")
    assert line.result == opened.values[0] - 0.5 * opened.gradient[0]


def test_adam_has_three_lines():
    run = rgb(optimizer=lambda p: optim.Adam(p, lr=0.01))
    run.step(4)
    opened = run.open()
    lines = opened.line(5)
    assert [line.name for line in lines] == ["m'", "v'", "w'"]
    run.step(1)
    named = [run.problem.state[0][5], run.problem.state[1][5], run.values[5]]
    assert [line.result for line in lines] == pytest.approx(named, rel=1e-13)


def test_numbers_made_of_weights_alone():
    w = [sv.Weight(0.5), sv.Weight(0.3), sv.Weight(0.2)]

    def model(x):
        scale = (w[0] * w[1] + w[2]).exp()
        return [(w[0] * x[0]).tanh() * w[0] + scale * x[0] + w[1].sin() / x[0]]

    x = RANDOM.uniform(0.5, 1, (8, 1))
    run = Run(model, nn.MSELoss(), optim.SGD(w, lr=0.1), (x, x), batch_size=4, engine="numpy", dtype="float64")
    run.step(2)
    opened = run.open()
    total, sizes = sums(opened)
    assert np.linalg.norm(total - opened.gradient) <= 1e-13 * np.linalg.norm(sizes)
    run.step(1)
    assert np.linalg.norm(run.frame().gradient - opened.gradient) <= 1e-13 * np.linalg.norm(sizes)


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_where_nothing_is_left_to_learn_the_terms_are_the_measure(engine):
    """The gradient itself is too small a measure: what is left of large terms is their rounding."""
    run = rgb(engine, "float32", optimizer=lambda p: optim.Adam(p, lr=0.02))
    run.step(6000)
    opened = run.open()
    total, sizes = sums(opened)
    assert np.linalg.norm(opened.gradient) < 0.01 * np.linalg.norm(sizes)
    assert np.linalg.norm(total - opened.gradient) <= 1e-12 * np.linalg.norm(sizes)
    run.step(1)
    assert np.linalg.norm(run.frame().gradient - opened.gradient) <= 1e-5 * np.linalg.norm(sizes)
