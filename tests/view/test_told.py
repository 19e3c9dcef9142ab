"""A loop of one's own: its steps are counted, what it says is kept, and what its last step did is true."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.errors import InputError, StateError, TypeMismatchError
from scalarviz.run.edits import SetOptimizer, SetWeights
from scalarviz.view.shown.source import LIMIT, Told
from scalarviz.view.shown.subject import subject_of

numbers = st.floats(-1e6, 1e6)


def frame(told, values):
    flags = np.zeros(len(values), bool)
    return told.frame(np.array(values), np.zeros(len(values)), flags, flags)


@given(st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=1, max_size=12))
def test_a_step_is_a_change_and_the_update_is_the_difference_to_the_values_before(path):
    told, steps, before, last = Told(), 0, None, np.zeros(3)
    for values in path:
        seen = frame(told, values)
        if before is not None and values != before:
            steps, last = steps + 1, np.array(values) - np.array(before)
        before = values
        assert seen.step == steps
        assert np.array_equal(seen.update, last)
        assert not seen.edited
        again = frame(told, values)  # looking is no step
        assert (again.step, again.update.tolist()) == (seen.step, seen.update.tolist())


def test_values_that_stay_nan_are_no_steps():
    told = Told()
    assert [frame(told, [math.nan, 1.0]).step for _ in range(3)] == [0, 0, 0]


def test_a_change_by_hand_is_no_step_and_makes_the_loss_older():
    w = sv.Weight(1.0)
    source = subject_of(w).source
    source.frame()
    w.data = 2.0
    source.tell(loss=5.0)
    source.edit(SetWeights(0, [2.5]))
    seen = source.frame()
    assert (seen.step, seen.values.tolist(), seen.update.tolist(), seen.edited) == (1, [2.5], [1.0], True)
    w.data = 2.25
    seen = source.frame()
    assert (seen.step, seen.update.tolist(), seen.edited) == (2, [-0.25], False)


def test_weights_of_a_loop_can_be_set_and_nothing_else():
    w, layer = sv.Weight(1.0), nn.Linear(2, 2, seed=1)
    source = subject_of([w, layer.weight, layer.bias]).source
    source.edit(SetWeights(0, [3.0, 4.0]))
    source.edit(SetWeights(6, [5.0]))
    assert (w.data, layer.weight[0][0].data, layer.bias[1].data) == (3.0, 4.0, 5.0)
    with pytest.raises(StateError, match="a weight cannot do SetOptimizer"):
        source.edit(SetOptimizer({"lr": 0.1}))
    with pytest.raises(InputError, match="not all among the 7 that there are"):
        source.edit(SetWeights(7, [1.0]))


def test_what_the_loop_says_is_the_curve():
    told = Told()
    for step, loss in ((1, 4.0), (2, 3.0), (5, 1.0)):
        told.tell(step=step, loss=loss, lr=0.1)
    assert told.curve.step.tolist() == [1, 2, 5]
    assert told.curve.loss.tolist() == [4.0, 3.0, 1.0]
    assert (told.step, told.loss, told.lr) == (5, 1.0, 0.1)
    told.tell(step=2, loss=2.0)  # it began again
    assert told.curve.step.tolist() == [1, 2]
    assert told.curve.loss.tolist() == [4.0, 2.0]


def test_a_long_curve_is_thinned_and_keeps_its_end():
    told = Told()
    for step in range(1, LIMIT + 500):
        told.tell(step=step, loss=float(step))
    assert len(told.curve.step) <= LIMIT
    assert told.curve.step[-1] == LIMIT + 499
    assert np.all(np.diff(told.curve.step) > 0)
    assert np.array_equal(told.curve.step, told.curve.loss)


@pytest.mark.parametrize("loss", [0.25, 1, np.float32(0.25), np.array(0.25), sv.Value(0.25)])
def test_any_one_number_is_a_loss(loss):
    told = Told()
    told.tell(step=1, loss=loss)
    assert told.loss == told.curve.loss[-1] == float(loss)


@pytest.mark.parametrize(
    ("told", "error"),
    [
        ({"loss": "0.5"}, TypeMismatchError), ({"loss": [1, 2]}, TypeMismatchError),
        ({"lr": object()}, TypeMismatchError),
        ({"loss": True}, TypeMismatchError), ({"loss": 10**400}, InputError), ({"step": -1}, InputError),
        ({"step": 1.5}, InputError), ({"step": "3"}, InputError), ({"step": 3, "loss": 1j}, TypeMismatchError),
    ],
)  # fmt: skip
def test_what_is_no_number_is_refused_and_changes_nothing(told, error):
    source = subject_of(sv.Weight(1.0)).source
    source.tell(step=2, loss=0.5)
    with pytest.raises(error, match=r"loss|lr|step"):
        source.tell(**told)
    seen = source.frame()
    assert (seen.step, seen.loss) == (2, 0.5)


def test_a_run_knows_its_steps_itself():
    net = nn.Sequential(nn.Linear(2, 1, seed=1))
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (np.eye(2), np.ones((2, 1))), engine="numpy")
    with pytest.raises(StateError, match="knows its loss itself"):
        subject_of(run).source.tell(loss=1.0)


def test_a_picture_of_weights_that_nobody_trains_speaks_of_no_steps():
    for thing in (sv.Weight(1.0), {"a": np.eye(2)}, nn.Linear(2, 2)):
        source = subject_of(thing).source
        source.frame()
        source.frame()
        assert not source.counted
