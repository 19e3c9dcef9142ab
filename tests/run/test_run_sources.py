"""What a view asks of a run: rows, gradients of one sample, how a weight moved; what has no run refuses.

It imports internals: a user meets sources only through a window, which makes one of what it is given.
"""

import numpy as np
import pytest

import scalarviz as sv
from kit.edits import trains_by
from kit.runs import bits, make_run
from scalarviz import nn
from scalarviz.errors import InputError, StateError, UnknownNameError
from scalarviz.run import Run
from scalarviz.run import weight_record as module
from scalarviz.run.run_source import RunSource
from scalarviz.run.weight_record import POINTS, WeightRecord, weight_record
from scalarviz.view.shown.source import ArraysSource, WeightsSource

edits = sv.run.edits
STEPS = 200


@pytest.fixture
def source():
    run = make_run("picture", "cross-entropy", "sgd")
    run.step(3)
    return RunSource(run)


def test_rows_of_many_samples_are_those_of_each_alone_in_the_order_asked_for(source):
    x, names = source.run.samples()[0], [s.name for s in source.stages]
    rows = source.rows(x[:5], [*names[::-1], "input"])
    assert list(rows) == [*names[::-1], "input"]
    assert source.rows(x[:2], []) == {}
    for k in range(5):
        alone = source.activations(x[k])
        for name in rows:
            np.testing.assert_allclose(rows[name][k], alone[name], rtol=1e-12, atol=1e-14)
    before = source.frame().values
    source.train(2)
    for values in (before, None):
        wanted = source.predict(x, values)
        np.testing.assert_allclose(source.rows(x, names[-1:], values)[names[-1]], wanted, rtol=1e-12)
    assert not np.array_equal(source.predict(x, before), source.predict(x))
    with pytest.raises(UnknownNameError, match=r"hidden.*input, 0, 1"):
        source.rows(x, ["0", "hidden"])
    for wrong in (x[:, :5], np.full((1, 36), np.nan)):
        with pytest.raises(InputError):
            source.rows(wrong, ["0"])


def test_a_run_says_what_it_is_and_goes_where_it_was(source):
    run, can = source.run, source.can
    assert all((can.predict, can.train, can.edit, can.go, can.open))
    assert (source.facts.optimizer, source.facts.batch_size, source.facts.reduction) == ("SGD", 8, "mean")
    assert (source.facts.engine, source.span) == (str(run.engine), (0, 3))
    newest = run.values.copy()
    source.to(1)
    assert (run.steps, source.span) == (1, (0, 3))
    assert not np.array_equal(run.values, newest)
    with pytest.raises(InputError, match=r"4.*0 to 3"):
        source.to(4)
    source.to(3)
    np.testing.assert_array_equal(run.values, newest)
    np.testing.assert_array_equal(source.curve.step, [1, 2, 3])
    source.edit(edits.AddToWeights(4, [0.5]))
    assert run.values[4] == pytest.approx(newest[4] + 0.5)
    for index in (0, 7, 23):
        assert all(map(np.array_equal, source.sample(index), (rows[index] for rows in run.samples())))


def test_a_frame_of_a_former_network_is_followed(source):
    run, before = source.run, source.frame()
    x, y = source.sample(2)
    wanted = source.predict([x], before.values), source.sample_gradient(x, y, before.values)
    shapes = source.tensors, source.stages
    run.change(model=nn.Sequential(nn.Flatten(), nn.Linear(36, 3)))
    source.follow(source.request_frame(x).result())
    assert (source.tensors, source.stages) == (run.tensors, run.stages) != shapes
    assert np.array_equal(source.predict([x], source.frame().values), run.predict([x]))
    source.follow(before)
    assert (source.tensors, source.stages) == shapes
    found = source.predict([x], before.values), source.sample_gradient(x, y, before.values)
    assert all(map(np.array_equal, found, wanted))


def test_the_gradient_of_one_sample_is_that_of_a_finite_difference(source):
    x, y = source.sample(2)
    values = source.frame().values.astype(float)
    gradient = source.sample_gradient(x, y, values)
    for tensor in source.tensors:
        step = np.zeros_like(values)
        step[tensor.start] = 1e-5
        ends = [source.evaluate([x], [y], values + way * step) for way in (1, -1)]
        assert gradient[tensor.start] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-9)


def test_what_has_no_run_refuses_and_weights_alone_can_be_changed():
    numbers, weight = np.array([1.0, 2.0]), sv.Weight(1.0)
    asked = {"predict": [[[1.0]]], "rows": [[[1.0]], ["0"]], "to": [1], "activations": [[1.0]], "samples": [],
             "evaluate": [[[1.0]], [[1.0]]], "sample_gradient": [[1.0], [1.0], [1.0]], "sample": [0],
             "train": [1]}  # fmt: skip
    for made in (ArraysSource({"a": numbers}), WeightsSource({"w": weight})):
        assert (made.can.predict, made.can.train) == (False, False)
        for name, given in asked.items():
            with pytest.raises(StateError, match=made.what):
                getattr(made, name)(*given)
    with pytest.raises(StateError, match="array"):
        ArraysSource({"a": numbers}).edit(edits.SetWeights(0, [1.0]))
    WeightsSource({"w": weight}).edit(edits.SetWeights(0, [2.0]))
    assert (numbers.tolist(), weight.data) == ([1.0, 2.0], 2.0)


def test_it_says_what_the_optimiser_keeps():
    assert RunSource(make_run("mlp", optimizer="own")).moments == {"mean": True}  # no square
    assert RunSource(make_run("mlp")).moments == {"exp_avg": True, "exp_avg_sq": False}


# ---- how a weight moved


@pytest.fixture
def there_is_time(monkeypatch):
    monkeypatch.setattr(module, "SECONDS", 60.0)


def watched(optimizer: str = "sgd") -> tuple[Run, dict[int, float]]:
    """A run with edits, and the value of weight 5 after each step and its edits."""
    run, seen = make_run("mlp", optimizer=optimizer, batch_size=None, samples=8), {}
    for step in range(STEPS + 1):
        if step:
            run.step()
        if step == 60:
            run.set_weights(5, [2.0])
        if step == 120:
            run.lr = 0.3
        if step == 150:
            run.model[0].weight[1][2].frozen = True
        seen[step] = float(run.values[5])
    return run, seen


def pairs(record: WeightRecord) -> dict[int, float]:
    return dict(zip(record.steps.tolist(), record.values.tolist(), strict=True))


@pytest.mark.ci
@pytest.mark.usefixtures("there_is_time")
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_it_holds_what_was_seen_step_by_step_wherever_the_run_stands(optimizer):
    (run, seen), (other, _) = watched(optimizer), watched(optimizer)
    for stands in (200, 199, 150, 60, 59, 1, 0):
        run.to(stands)
        before = bits(run), trains_by(run), run.log, repr(run.branches)
        record = weight_record(run, 5)
        assert (bits(run), trains_by(run), run.log, repr(run.branches)) == before
        assert pairs(record).items() <= seen.items()
        assert (record.steps[0], record.steps[-1]) == (0, STEPS)
        assert {59, 60, 149, 150, stands} <= set(record.steps)
        assert POINTS - 5 <= len(record.steps) <= POINTS + 10
    run.to(STEPS)
    for each in (run, other):
        each.step(20)
    assert bits(run) == bits(other)
    run.to(100)
    run.set_weights(5, [-1.0])
    run.step(50)
    values = pairs(weight_record(run, 5))
    assert (max(values), values[100]) == (150, -1.0)
    assert all(values[step] == seen[step] for step in values if step < 100)


def test_where_doing_it_again_takes_too_long_the_keyframes_are_shown(monkeypatch):
    monkeypatch.setattr(module, "SECONDS", 0.0)
    run, seen = watched()
    run.to(170)
    record = weight_record(run, 5)
    assert {0, 170, STEPS} <= set(record.steps)
    assert pairs(record).items() <= seen.items()
    fresh = make_run("mlp")  # it did nothing
    assert pairs(weight_record(fresh, 3)) == {0: float(fresh.values[3])}


@pytest.mark.parametrize("seconds", [60.0, 0.0])
def test_it_is_of_one_weight_where_the_network_became_another(seconds, monkeypatch):
    """Whose flat index is another one there; before it was in the run there is nothing to say."""
    monkeypatch.setattr(module, "SECONDS", seconds)
    run = make_run("mlp")
    first, last, before = run.model[0], run.model[2], {}
    for step in (5, 0):
        run.step(step)
        run.to(step)
        before[step] = float(last.weight.data[0, 1])
    run.to(5)
    middle = nn.Linear(4, 4, seed=9)
    run.change(model=nn.Sequential(first, nn.Tanh(), middle, nn.Tanh(), last, nn.Sigmoid()))
    run.step(4)
    found = pairs(weight_record(run, 36 + 1))
    assert set(found) >= ({0, 5, 9} if seconds else {0, 9})
    assert (found[0], found[9], found.get(5, before[5])) == (before[0], float(last.weight.data[0, 1]), before[5])
    new = weight_record(run, 16)
    assert new.steps.min() >= 5
    assert new.values[-1] == float(middle.weight.data[0, 0])
