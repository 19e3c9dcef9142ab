"""While a run trains with an optimiser, state and steps are the run's: read from it, never moved behind its back."""

from __future__ import annotations

import copy
import gc
import pickle
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from kit.networks import NETWORKS
from scalarviz import nn, optim
from scalarviz.errors import StateError
from scalarviz.run import Run

X = np.random.default_rng(0).random((16, 3))


def make(net: Any = None) -> Run:
    net = NETWORKS["mlp"].ours() if net is None else net
    optimizer = optim.Adam(net.parameters(), lr=0.01)
    return Run(net, nn.MSELoss(), optimizer, (X, 1 - X), engine="numpy", dtype="float64")


@pytest.mark.parametrize("kept", [lambda o: o, copy.deepcopy, copy.copy, lambda o: pickle.loads(pickle.dumps(o))])
def test_what_an_optimiser_says_beside_a_run_is_the_runs(kept):
    run = make()
    run.step(5)
    optimizer = kept(run.optimizer)
    assert optimizer.steps == optimizer.state_dict()["steps"] == 5
    moments = np.concatenate([run.optimizer_state()[f"exp_avg.{t.name}"].ravel() for t in run.tensors])
    assert moments.any()
    for found in (optimizer.state_arrays()["exp_avg"], optimizer.state_dict()["state"]["exp_avg"]):
        assert found.tobytes() == moments.tobytes()
    optimizer.state_arrays()["exp_avg"][:] = 7.0  # a copy
    run.step()
    assert run.optimizer.steps == 6
    assert run.optimizer.state_arrays()["exp_avg"].max() < 1.0


def test_weights_that_no_other_run_takes_stand_alone():
    encoder, one, two = nn.Linear(3, 4, seed=1), nn.Linear(4, 3, seed=2), nn.Linear(4, 3, seed=3)
    first = make(nn.Sequential(encoder, nn.Tanh(), one))
    first.step(3)
    kept = one.weight.data.copy()
    second = make(nn.Sequential(encoder, nn.Tanh(), two))
    one.weight[0][0].data = 3.0  # a run that nobody may step said no
    one.freeze()
    second.step(2)
    assert one.weight[0][0].data == 3.0
    assert one.weight.data[1:].tobytes() == kept[1:].tobytes()
    with pytest.raises(StateError, match="another Run"):
        first.step()
    first.close()
    second.step()
    assert two.weight.data.tobytes() == second.state_dict()["2.weight"].tobytes()


@pytest.mark.parametrize("on", [True, False])
def test_recording_a_model_pauses_the_collector_of_cycles_and_leaves_it_as_it_was(on):
    seen = []

    class Broken(nn.Module):
        def __init__(self) -> None:
            self.w = sv.Weight(1.0)

        def forward(self, x: Any) -> Any:
            seen.append(gc.isenabled())
            raise ZeroDivisionError

    was, net = gc.isenabled(), Broken()
    try:
        (gc.enable if on else gc.disable)()
        with pytest.raises(ZeroDivisionError):
            Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (np.ones((2, 1)), np.ones((2, 1))))
        assert (seen, gc.isenabled()) == ([False], on)
    finally:
        (gc.enable if was else gc.disable)()
