"""What a view asks: many samples against one at a time, and refusals of what a source cannot do."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError, StateError, UnknownNameError
from scalarviz.run.edits import AddToWeights, SetWeights
from scalarviz.run.run_source import RunSource
from scalarviz.run.source import Can
from scalarviz.view.shown.source import ArraysSource, WeightsSource

RNG = np.random.default_rng(4)
X = RNG.random((40, 1, 6, 4))


@pytest.fixture
def source():
    net = nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(18, 5))
    net.initialize(nn.init.pytorch_default(), seed=1)
    optimizer = optim.SGD(net.parameters(), lr=0.1)
    run = sv.Run(net, nn.CrossEntropyLoss(), optimizer, (X, np.arange(40) % 5), batch_size=8, engine="numpy")
    run.step(3)
    yield RunSource(run)
    run.close()


def test_rows_of_many_samples_are_those_of_each_alone(source):
    names = [s.name for s in source.stages]
    rows = source.rows(X[:7], ["input", *names])
    assert list(rows) == ["input", *names]
    for k in range(7):
        alone = source.activations(X[k])
        for name in rows:
            np.testing.assert_allclose(rows[name][k], alone[name], rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(rows["input"], X[:7].reshape(7, -1))


def test_the_last_stages_rows_are_what_is_predicted_at_the_values_asked_for(source):
    before = source.frame().values
    source.train(5)
    last = source.stages[-1].name
    for values in (before, None):
        wanted = source.predict(X, values)
        np.testing.assert_allclose(source.rows(X, [last], values)[last], wanted, rtol=2e-5, atol=1e-6)
    assert not np.array_equal(source.rows(X, [last], before)[last], source.rows(X, [last])[last])


def test_rows_come_in_the_order_asked_for_and_none_are_asked_for(source):
    last = source.stages[-1].name
    assert list(source.rows(X[:2], [last, "input", "0"])) == [last, "input", "0"]
    assert source.rows(X[:2], []) == {}


def test_what_rows_refuse(source):
    with pytest.raises(UnknownNameError, match=r"no stage 'hidden'; allowed: input, 0, 1"):
        source.rows(X, ["0", "hidden"])
    with pytest.raises(InputError, match="rows: the inputs"):
        source.rows(X[:, :, :5], ["0"])
    with pytest.raises(InputError, match="finite"):
        source.rows(np.full((1, 24), np.nan), ["0"])


def test_a_run_says_what_it_is_and_goes_where_it_was(source):
    run = source.run
    assert source.can == Can(predict=True, train=True, edit=True, go=True, open=True)
    assert (source.facts.optimizer, source.facts.batch_size, source.facts.reduction) == ("SGD", 8, "mean")
    assert source.facts.engine == str(run.engine)
    assert source.span == (0, 3)
    newest = run.values.copy()
    source.to(1)
    assert (run.steps, source.span) == (1, (0, 3))
    assert not np.array_equal(run.values, newest)
    with pytest.raises(InputError, match="step 4 is not on this line; allowed: 0 to 3"):
        source.to(4)
    source.to(3)
    np.testing.assert_array_equal(run.values, newest)
    np.testing.assert_array_equal(source.curve.step, [1, 2, 3])
    before = float(run.values[4])
    source.edit(AddToWeights(4, [0.5]))
    assert run.values[4] == pytest.approx(before + 0.5, abs=1e-6)


def test_the_gradient_of_one_sample_is_that_of_a_finite_difference(source):
    values, target = source.frame().values.astype(float), np.array([2.0])
    gradient = source.sample_gradient(X[0], target, values)
    # the run computes in float32: large steps at the last layer's bias, where the loss is smooth
    index = source.tensors[-1].start + 1
    ends = []
    for way in (1, -1):
        moved = values.copy()
        moved[index] += way * 0.05
        ends.append(source.evaluate(X[:1], target[None], moved))
    assert gradient[index] == pytest.approx((ends[0] - ends[1]) / 0.1, rel=1e-2)


@pytest.mark.parametrize(
    "ask",
    [
        lambda s: s.predict([[1.0]]),
        lambda s: s.rows([[1.0]], ["0"]),
        lambda s: s.activations([1.0]),
        lambda s: s.evaluate([[1.0]], [[1.0]]),
        lambda s: s.sample_gradient([1.0], [1.0], [1.0]),
        lambda s: s.samples(),
        lambda s: s.train(1),
        lambda s: s.to(1),
    ],
)
@pytest.mark.parametrize("made", [ArraysSource({"a": [1.0, 2.0]}), WeightsSource({"w": sv.Weight(1.0)})])
def test_what_has_no_run_refuses_in_one_line(made, ask):
    assert not made.can.predict
    assert not made.can.train
    with pytest.raises(StateError, match=r"^an? (array|weight) cannot .*; (try a Run or a Scene|allowed: 0 to 0)$"):
        ask(made)


def test_arrays_are_not_changed_and_weights_are():
    numbers, weight = np.array([1.0, 2.0]), sv.Weight(1.0)
    with pytest.raises(StateError, match="an array cannot be changed by hand"):
        ArraysSource({"a": numbers}).edit(SetWeights(0, [1.0]))
    WeightsSource({"w": weight}).edit(SetWeights(0, [weight.data + 1.0]))
    assert numbers.tolist() == [1.0, 2.0]
    assert weight.data == 2.0


def test_one_sample_of_the_data_is_that_which_is_learnt_from(source):
    for index in (0, 17, 39):
        sample, target = source.sample(index)
        np.testing.assert_array_equal(sample, X[index].ravel().astype(source.run.dtype))
        assert target.tolist() == [index % 5]
    with pytest.raises(StateError, match="cannot name its data"):
        ArraysSource({"a": np.eye(3)}).sample(0)
