"""What an assignment to an attribute of a Run does, or which call the refusal names."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim

REFUSED = {
    "loss_function": "change(loss=", "seed": "restart(seed=", "model": "change(model=", "dtype": "dtype=",
    "optimizer": "change(optimizer=", "engine": "change(engine=", "momentum": "change(momentum=", "l2": "change(l2=",
    "steps": "run.to(", "learning_rate": "run.lr", "batchsize": "'batch_size'", "momentm": "'momentum'",
    "step": "cannot be set", "problem": "cannot be set", "full_speed": "cannot be set", "other": "no attribute",
}  # fmt: skip
"""By attribute, what the refusal says."""


class Noted(sv.Run):
    note = ""


def test_an_attribute_is_an_edit_or_is_refused_with_the_call_that_changes_it():
    net = nn.Linear(1, 1, seed=0)
    run = Noted(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (np.ones(4), np.ones(4)), engine="numpy")
    before = {**vars(run)}
    for name, said in REFUSED.items():
        with pytest.raises(sv.ScalarvizError) as refused:
            setattr(run, name, 9)
        assert name in str(refused.value)
        assert said in str(refused.value)
    assert vars(run) == before
    run.note, run.lr, run.batch_size = "its own", 0.25, 2
    assert (run.note, run.optimizer.lr, run.problem.batch, len(run.log)) == ("its own", 0.25, 2, 2)
