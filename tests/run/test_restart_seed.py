"""`run.restart(seed=)`: other weights, as their initialisers draw them with that seed."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.errors import InputError, StateError

X = np.random.default_rng(0).random((40, 3))
ENGINES = ["objects", "numpy", "numba"]


def network():
    return nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Tanh(), nn.Linear(4, 3))


def make(engine="numpy", net=None, **kwargs):
    net = network() if net is None else net
    opt = optim.Adam(net.parameters(), lr=0.05)
    given = {"batch_size": 8, "dtype": "float64", "seed": 3, **kwargs}
    return net, Run(net, nn.MSELoss(), opt, (X, 1 - X), engine=engine, **given)


@pytest.mark.parametrize("init", [nn.init.xavier_uniform(), nn.init.normal(0.1, 0.3), lambda s, i, o, d: d.uniform(s)])
@pytest.mark.parametrize("engine", ENGINES)
def test_it_is_the_run_of_a_network_that_was_drawn_with_that_seed(engine, init):
    net, run = make(engine)
    net.initialize(init, seed=1)
    run.step(7)
    end = run.values.copy()
    run.restart(seed=11)
    other, plain = make(engine)
    other.initialize(init, seed=11)
    assert run.steps == 0
    assert run.values.tobytes() == plain.values.tobytes()
    assert np.isnan(run.loss)
    for each in (run, plain):
        each.step(9)
    assert run.values.tobytes() == plain.values.tobytes()
    assert run.history.loss.tobytes() == plain.history.loss.tobytes()
    run.undo()
    assert run.values.tobytes() == end.tobytes()
    assert run.steps == 7


def test_rate_freezes_batch_and_data_are_those_of_now():
    net, run = make()
    run.step(3)
    run.change(lr=0.2, batch_size=10)
    run.refill(X[:20], X[:20])
    net[3].bias.frozen = True
    run.restart(seed=4)
    other, plain = make(batch_size=10)
    other.initialize(seed=4)
    other[3].bias.frozen = True
    plain.change(lr=0.2)
    plain.refill(X[:20], X[:20])
    for each in (run, plain):
        each.step(5)
    assert run.values.tobytes() == plain.values.tobytes()


def test_after_a_loaded_file_the_optimiser_counts_from_one_and_no_gradient_is_there(tmp_path):
    _, run = make(batch_size=len(X))
    run.step(7)
    run.save(tmp_path / "w.safetensors")
    run.load(tmp_path / "w.safetensors")
    run.restart(seed=4)
    assert run.steps == 7
    assert not run.frame().computed.any()
    other, plain = make(batch_size=len(X))
    other.initialize(seed=4)
    for each in (run, plain):
        each.step(5)
    assert run.values.tobytes() == plain.values.tobytes()


def test_one_seed_is_one_run_and_another_is_another():
    _, run = make()
    ends = []
    for seed in (1, 2, 1):
        run.step(2)
        run.restart(seed=seed)
        run.step(4)
        ends.append(run.values.copy())
    assert ends[0].tobytes() == ends[2].tobytes() != ends[1].tobytes()
    assert len(run.branches) == 4
    assert [branch.why for branch in run.branches[1:]] == [f"restart with seed {k}" for k in (1, 2, 1)]


def test_after_another_model_its_weights_are_drawn():
    _, run = make()
    run.step(2)
    other = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 3))
    other.initialize(nn.init.kaiming_uniform(), seed=2)
    run.change(model=other)
    run.step(2)
    for seed, drawn in ((None, run.seed), (9, 9)):
        run.restart(seed=seed)
        twin = copy.deepcopy(other)
        twin.initialize(nn.init.kaiming_uniform(), seed=drawn)
        _, plain = make(net=twin)
        for each in (run, plain):
            each.step(3)
        assert run.values.tobytes() == plain.values.tobytes()


def test_an_activation_that_was_changed_stays():
    net, run = make()
    run.step(2)
    first = run.timeline.lines[0].keys[0].kept.parts["weights"].values.copy()
    run.change(activation="relu")
    run.step(2)
    run.restart()
    assert isinstance(net[2], nn.ReLU)
    assert run.values.tobytes() == first.tobytes()
    run.undo()
    run.undo()
    assert isinstance(net[2], nn.Tanh)


class Own(nn.Module):
    """A layer and weights that are made by hand."""

    def __init__(self):
        self.a = nn.Linear(3, 3, seed=1)
        self.scale, self.shift = nn.Parameter(np.full(3, 0.5)), sv.Weight(0.1)

    def forward(self, x):
        return [o * s + self.shift for o, s in zip(self.a(x), self.scale, strict=True)]


def test_weights_that_nobody_draws_are_named_and_nothing_changes():
    net, run = make(net=Own())
    run.step(3)
    values, branches = run.values.copy(), repr(run.branches)
    with pytest.raises(InputError, match=r"nobody knows how scale, shift may be drawn anew"):
        run.restart(seed=1)
    assert (run.steps, run.values.tobytes(), repr(run.branches)) == (3, values.tobytes(), branches)
    run.step(1)
    net = Own()
    net.initialize(nn.init.normal(), seed=5)
    _, run = make(net=net)
    run.step(2)
    run.restart(seed=6)
    net = Own()
    net.initialize(nn.init.normal(), seed=6)
    _, plain = make(net=net)
    assert run.values.tobytes() == plain.values.tobytes()
    w = sv.Weight(1.0, name="w")
    run = Run(lambda x: w * x[0], nn.MSELoss(), optim.SGD([w], lr=0.1), (X[:, :1], X[:, 1:2]), engine="numpy")
    with pytest.raises(InputError, match="nobody knows how w may"):
        run.restart(seed=1)


@pytest.mark.parametrize("seed", [-1, 1.5, "3", True, 2**64])
def test_bad_seeds(seed):
    _, run = make()
    run.step(2)
    with pytest.raises(InputError, match="seed"):
        run.restart(seed=seed)
    assert run.steps == 2
    run.close()
    with pytest.raises(StateError, match="closed"):
        run.restart(seed=1)
