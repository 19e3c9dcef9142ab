"""How a weight moved: the values of a run that was watched step by step, and asking changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from scalarviz import Run, nn, optim
from scalarviz.run import weight_record as module
from scalarviz.run.weight_record import POINTS, weight_record

X = np.random.default_rng(0).random((16, 3))


def make(kind=optim.SGD, **kwargs):
    net = nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 3, seed=2), nn.Sigmoid())
    return Run(net, nn.MSELoss(), kind(net.parameters(), lr=0.1), (X, 1 - X), engine="numpy", batch_size=4, **kwargs)


@pytest.fixture(autouse=True)
def there_is_time(monkeypatch):
    monkeypatch.setattr(module, "SECONDS", 60.0)


def everything(run):
    state = run.state()
    weights = state.parts["weights"]
    arrays = (weights.values, weights.gradient, weights.previous, weights.computed, weights.frozen)
    return [None if a is None else a.tobytes() for a in arrays], run.steps, run.log, run.branches, run.lr


def watched(kind=optim.SGD):
    """A run of 300 steps with edits, and the value of weight 5 after each step and its edits."""
    run, seen = make(kind), {}
    for step in range(301):
        if step:
            run.step()
        if step == 60:
            run.set_weights(5, [2.0])
        if step == 120:
            run.lr = 0.3
        if step == 200:
            run.model[0].weight[1][2].frozen = True
        seen[step] = float(run.values[5])
    return run, seen


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam])
@pytest.mark.parametrize("stands", [300, 299, 200, 60, 59, 1, 0])
def test_it_holds_what_was_seen_step_by_step_wherever_the_run_stands(kind, stands):
    run, seen = watched(kind)
    run.to(stands)
    before = everything(run)
    record = weight_record(run, 5)
    after = everything(run)
    assert before[0] == after[0]
    assert before[1] == after[1] == stands
    assert [(a.step, a.what) for a in before[2]] == [(a.step, a.what) for a in after[2]]
    assert str(before[3:]) == str(after[3:])
    assert {int(s): v for s, v in zip(record.steps, record.values, strict=True)}.items() <= seen.items()
    assert (record.steps[0], record.steps[-1]) == (0, 300)
    assert {59, 60, 199, 200, stands} <= set(record.steps)
    assert POINTS - 5 <= len(record.steps) <= POINTS + 10
    run.close()


def test_what_follows_is_that_of_a_run_that_was_never_asked():
    (asked, _), (other, _) = watched(optim.Adam), watched(optim.Adam)
    weight_record(asked, 0)
    asked.step(20)
    other.step(20)
    assert asked.values.tobytes() == other.values.tobytes()
    assert asked.history.loss.tobytes() == other.history.loss.tobytes()


def test_where_doing_it_again_takes_too_long_the_keyframes_are_shown(monkeypatch):
    monkeypatch.setattr(module, "SECONDS", 0.0)
    run, seen = watched()
    run.to(250)
    record = weight_record(run, 5)
    assert 250 in record.steps
    assert (record.steps[0], record.steps[-1]) == (0, 300)
    assert {int(s): v for s, v in zip(record.steps, record.values, strict=True)}.items() <= seen.items()
    run.close()


def test_another_branch_has_another_record():
    run, seen = watched()
    run.to(100)
    run.set_weights(5, [-1.0])
    run.step(50)
    record = weight_record(run, 5)
    values = dict(zip(record.steps.tolist(), record.values.tolist(), strict=True))
    assert (max(values), values[100]) == (150, -1.0)
    assert all(values[s] == seen[s] for s in values if s < 100)
    run.close()


def test_a_run_that_did_nothing_has_one_value():
    run = make()
    record = weight_record(run, 3)
    assert (list(record.steps), list(record.values)) == ([0], [float(run.values[3])])
    run.close()


@pytest.mark.parametrize("seconds", [60.0, 0.0])
def test_it_is_of_one_weight_where_the_network_became_another(seconds, monkeypatch):
    """Whose flat index is another one there; before it was in the run there is nothing to say."""
    monkeypatch.setattr(module, "SECONDS", seconds)
    run = make()
    first, last = run.model[0], run.model[2]
    run.step(5)
    before = {0: None, 5: float(last.weight.data[0, 1])}
    run.to(0)
    before[0] = float(last.weight.data[0, 1])
    run.to(5)
    middle = nn.Linear(4, 4, seed=9)
    run.change(model=nn.Sequential(first, nn.Tanh(), middle, nn.Tanh(), last, nn.Sigmoid()))
    run.step(4)
    there = weight_record(run, 36 + 1)
    assert set(there.steps) >= {0, 5, 9} if seconds else {0, 9}
    found = dict(zip(there.steps.tolist(), there.values.tolist(), strict=True))
    assert found[0] == before[0]
    assert found[9] == float(last.weight.data[0, 1])
    assert found.get(5, before[5]) == before[5]
    new = weight_record(run, 16)
    assert new.steps.min() >= 5
    assert new.values[-1] == float(middle.weight.data[0, 0])
