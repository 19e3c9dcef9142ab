"""A diverged run says which weight went first and where the last good step is; from there training goes on."""

from __future__ import annotations

import re

import numpy as np
import pytest

from scalarviz import Run, nn, optim
from scalarviz.errors import DivergedError

X = np.random.default_rng(0).random((32, 3))


def make(engine="numpy", lr=3.0):
    net = nn.Sequential(nn.Linear(3, 3, seed=0))
    return Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=lr), (X, 1 - X), engine=engine)


@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
def test_the_last_good_step_is_named_and_can_be_gone_on_from(engine):
    run = make(engine)
    with pytest.raises(DivergedError) as caught:
        run.step(1000)
    good = int(re.search(r"go back with run\.to\((\d+)\), the last good step, and try a tenth", str(caught.value))[1])
    assert good == 0  # the loss rises from the first step on
    run.to(good)
    plain = make(engine)
    plain.step(good)
    assert np.isfinite(run.values).all()
    np.testing.assert_array_equal(run.values, plain.values)
    run.lr /= 10
    run.step(100)
    assert run.loss < 0.1
    assert [branch.first for branch in run.branches] == [0, good]


def test_after_a_good_time_the_step_before_it_went_wrong_is_named():
    run = make(lr=0.1)
    run.step(200)
    run.lr = 3.0
    with pytest.raises(DivergedError) as caught:
        run.step(1000)
    good = int(re.search(r"run\.to\((\d+)\), the last good step", str(caught.value))[1])
    losses = run.history.loss
    assert 200 <= good < run.steps
    assert losses[good] <= losses[0] < losses[good + 1 :].min()
    run.to(good)
    run.lr = 0.1
    run.step(200)
    assert run.loss < losses[0]


def test_a_weight_that_was_lost_before_is_not_blamed_on_the_rate():
    run = make(lr=0.1)
    run.set_weights(0, np.array([np.nan]))
    with pytest.raises(DivergedError, match="before it") as caught:
        run.step()
    assert caught.value.good is None


def test_numbers_that_are_lost_at_once_leave_the_step_before():
    run = make(lr=0.1)
    run.step(50)
    run.lr = 1e300
    with pytest.raises(DivergedError, match=r"run\.to\(50\), the last good step"):
        run.step(1000)
    assert run.steps == 51


def test_the_first_weight_that_is_lost_is_named():
    run = make(lr=1e30)
    with pytest.raises(DivergedError) as caught:
        run.step(1000)
    lost = np.flatnonzero(~np.isfinite(run.values))
    said = re.search(r"the first weight is (\S+?)\. ", str(caught.value))
    assert (said is not None) == (len(lost) > 0)
    if len(lost):
        assert said[1] == run.weight_name(int(lost[0]))


def test_a_weight_that_was_set_to_nan_is_undone():
    run = make(lr=0.1)
    run.step(5)
    run.set_weights(0, [np.nan])
    with pytest.raises(DivergedError, match=r"0.weight\[0\]\[0\] was nan before it"):
        run.step(5)
    run.undo()
    run.step(5)
    plain = make(lr=0.1)
    plain.step(10)
    np.testing.assert_array_equal(run.values, plain.values)
