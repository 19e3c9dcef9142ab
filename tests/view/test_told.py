"""A loop of one's own: its steps are counted, what it says is kept, and what its last step did is true."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalarviz as sv
from kit.runs import make_run
from scalarviz import nn
from scalarviz.errors import InputError, StateError, TypeMismatchError
from scalarviz.run.edits import SetOptimizer, SetWeights
from scalarviz.view.shown.subject import subject_of


def followed(count=1):
    """Weights of a loop of one's own, and the source that follows them."""
    weights = [sv.Weight(0.0) for _ in range(count)]
    return weights, subject_of(weights).source


def frame(told, values):
    weights, source = told
    for weight, value in zip(weights, values, strict=True):
        weight.data = value
    return source.frame()


@given(st.lists(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3), min_size=1, max_size=12))
def test_a_step_is_a_change_and_the_update_is_the_difference_to_the_values_before(path):
    told, steps, before, last = followed(3), 0, None, np.zeros(3)
    for values in path:
        if before is not None and values != before:
            steps, last = steps + 1, np.array(values) - np.array(before)
        before = values
        for seen in (frame(told, values), frame(told, values)):  # looking is no step
            assert (seen.step, seen.update.tolist(), seen.edited) == (steps, last.tolist(), False)
    nan = followed(2)
    assert [frame(nan, [math.nan, 1.0]).step for _ in range(3)] == [0, 0, 0]


def test_weights_can_be_set_by_hand_which_is_no_step_and_nothing_else():
    w, layer = sv.Weight(1.0), nn.Linear(2, 2, seed=1)
    source = subject_of([w, layer.weight, layer.bias]).source
    source.frame()
    w.data = 2.0
    source.tell(loss=5.0)
    source.edit(SetWeights(0, [2.5, 4.0]))
    source.edit(SetWeights(6, [5.0]))
    assert (w.data, layer.weight[0][0].data, layer.bias[1].data) == (2.5, 4.0, 5.0)
    seen = source.frame()
    assert (seen.step, seen.values[0], seen.update[0], seen.edited) == (1, 2.5, 1.0, True)
    w.data = 2.25
    seen = source.frame()
    assert (seen.step, seen.update[0], seen.edited) == (2, -0.25, False)


def test_any_one_number_is_a_loss_and_a_loop_may_begin_again():
    _, told = followed()
    for step, number in enumerate((4.0, 1, np.float32(0.25), np.array(0.25), sv.Value(0.25)), 1):
        told.tell(step=step, loss=number, lr=0.1)
        seen = told.frame()
        assert (seen.step, seen.loss, seen.lr, told.curve.loss[-1]) == (step, float(number), 0.1, float(number))
    told.tell(step=2, loss=2.0)
    assert (told.curve.step.tolist(), told.curve.loss.tolist()) == ([1, 2], [4.0, 2.0])


@pytest.mark.parametrize(
    "told",
    [{"loss": "0.5"}, {"loss": 10**400}, {"lr": object()}, {"step": 3, "loss": 1j}],
    ids=["words", "huge", "object", "complex"],
)
def test_what_is_no_number_is_refused_and_changes_nothing(told):
    source = subject_of(sv.Weight(1.0)).source
    source.tell(step=2, loss=0.5)
    with pytest.raises((TypeMismatchError, InputError), match=r"loss|lr"):
        source.tell(**told)
    with pytest.raises(StateError, match="SetOptimizer"):
        source.edit(SetOptimizer({"lr": 0.1}))
    with pytest.raises(InputError, match="allowed: 0 to 0"):
        source.edit(SetWeights(1, [1.0]))
    assert (source.frame().step, source.frame().loss) == (2, 0.5)
    with pytest.raises(StateError, match="its own steps and loss"):
        subject_of(make_run("mlp", "mse", "sgd")).source.tell(loss=1.0)
