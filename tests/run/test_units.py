"""Dead and saturated units: found when somebody looks, of the moment that the frame says."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run.forward import Forward
from scalarviz.view.watch.units_pace import SHARE, UnitsPace


@pytest.fixture
def run():
    net = nn.Sequential(
        nn.Linear(2, 12, seed=3), nn.ReLU(), nn.Linear(12, 6, seed=4), nn.Tanh(), nn.Linear(6, 1, seed=5)
    )
    net[0].bias.data = np.linspace(-4.0, 1.0, 12)
    dice = np.random.default_rng(0)
    data = dice.normal(size=(40, 2)), dice.normal(size=(40, 1))
    return sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.05), data, engine="numpy", dtype="float64")


def by_hand(run, frame):
    """Which rectifiers are 0 for all samples, of the weights of the frame."""
    inputs, _ = run.samples()
    weight, bias = (t.of(frame.values) for t in run.tensors[:2])
    return ~(inputs @ weight.T + bias > 0).any(axis=0)


def test_nobody_pays_who_does_not_look(run, monkeypatch):
    looked = []
    monkeypatch.setattr(Forward, "units", lambda self, values, data: looked.append(len(values)) or ({}, {}))
    frame = run.frame()
    run.step(3)
    run.frame([0.1, 0.2])
    assert looked == []
    assert dict(frame.dead) == {} == dict(frame.saturated)
    assert len(looked) == 1, "both are found at the first look"


def test_a_late_look_finds_the_moment_of_the_frame(run):
    frame = run.frame()
    expected = by_hand(run, frame)
    run.step(50)
    run.add_samples([[30.0, 30.0], [-30.0, -30.0]], [[0.0], [1.0]])  # other data: no unit is dead for it
    assert expected.any()
    np.testing.assert_array_equal(frame.dead["1"], expected)
    assert frame.units_step is None
    assert frame.saturated["3"].shape == (6,)


def test_copies_hold_the_numbers(run):
    frame = run.frame()
    for twin in (pickle.loads(pickle.dumps(frame)), copy.deepcopy(frame)):
        assert type(twin.dead) is dict
        np.testing.assert_array_equal(twin.dead["1"], frame.dead["1"])
        np.testing.assert_array_equal(twin.saturated["3"], frame.saturated["3"])


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_a_window_finds_units_as_often_as_it_may_cost_and_says_of_which_step(run, monkeypatch):
    def found(self, values, data):
        clock.now += 0.02  # what finding them takes
        return {"1": np.array([True])}, {}

    clock = Clock()
    monkeypatch.setattr(Forward, "units", found)
    monkeypatch.setattr("scalarviz.run.units.perf_counter", clock)
    pace, exact, start = UnitsPace(clock), 0, clock.now
    frames = 300
    for _ in range(frames):
        run.step()
        frame = pace.shown(run.frame(), rests=False)
        assert dict(frame.dead) == {"1": [True]}
        exact += frame.units_step is None
        assert frame.units_step is None or frame.units_step < frame.step
        clock.now += 1 / 30
    assert 3 < exact < 20
    assert exact * 0.02 < (SHARE + 0.02 * 2 / 10) * (clock.now - start) + 0.04
    at_rest = pace.shown(run.frame(), rests=True)
    assert at_rest.units_step is None
    assert pace.shown(at_rest, rests=False) is at_rest


def test_what_is_said_of_other_units_names_their_step(run):
    from scalarviz.run.diagnosis import diagnose

    run.model[0].bias.data = np.full(12, -50.0)
    run.step()
    dead = run.frame()
    run.step()
    later = run.frame().with_units(dead.units)
    (said, *_) = diagnose(later, run.tensors, run.stages)
    assert said.text.endswith("all 12 units of relu are dead (seen at step 1)")
    (now, *_) = diagnose(run.frame(), run.tensors, run.stages)
    assert now.text.endswith("are dead")
