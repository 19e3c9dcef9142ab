"""How a weight moved: what was recorded is done again, or the keyframes are shown where that takes too long.

It imports internals: a user meets these numbers only as a curve on a card.
"""

from __future__ import annotations

import pytest

from kit.edits import trains_by
from kit.runs import bits, make_run
from scalarviz import nn
from scalarviz.run import Run
from scalarviz.run import travel as module
from scalarviz.run.travel import POINTS, WeightRecord, weight_record

STEPS = 500


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
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_it_holds_what_was_seen_step_by_step_wherever_the_run_stands(optimizer, monkeypatch):
    monkeypatch.setattr(module, "SECONDS", 60.0)
    (run, seen), (other, _) = watched(optimizer), watched(optimizer)
    for stands in (STEPS, 150, 59, 0):
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
