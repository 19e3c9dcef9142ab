"""`run.change`: another activation, loss, optimiser or network in the middle of a run."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from kit.edits import everything
from kit.networks import NETWORKS
from kit.runs import ENGINES, make_run
from scalarviz import nn, optim
from scalarviz.run import Run

X = np.random.default_rng(0).random((24, 3))


def deeper() -> Any:
    """One layer more in the middle than "mlp" has, of the same width; the others are differently drawn."""
    return nn.Sequential(nn.Linear(3, 4, seed=7), nn.ReLU(), nn.Linear(4, 4, seed=8), nn.ReLU(),
                         nn.Linear(4, 3, seed=9), nn.Sigmoid())  # fmt: skip


def run_of(net: Any, kind: Any = optim.SGD, engine: str = "numpy", **more: Any) -> Run:
    optimizer = kind(net.parameters(), lr=0.1)
    return Run(net, nn.MSELoss(), optimizer, (X, 1 - X), engine=engine, dtype="float64", seed=3, **more)


def like(run: Run, folder: Any) -> Run:
    """A new run that begins with the numbers of `run`, at its step."""
    run.save(folder / "weights.safetensors")
    net = copy.deepcopy(run.model)
    twin = Run(net, run.loss_function, type(run.optimizer)(net.parameters(), lr=1.0), run.samples(), seed=run.seed,
               engine=run.engine.name, dtype=run.dtype, batch_size=run.batch_size,
               sampling=run.frame().settings.sampling)  # fmt: skip
    twin.load(folder / "weights.safetensors")
    return twin


CHANGES: dict[str, dict[str, Any]] = {
    "activation": {"activation": "relu"},
    "loss": {"loss": "L1Loss"},
    "optimiser by name": {"optimizer": "Adam", "lr": 0.02},
    "optimiser by class": {"optimizer": optim.AdamW},
    "network": {"model": deeper},
    "all": {"activation": nn.LeakyReLU(0.2), "loss": nn.HuberLoss(), "optimizer": "SGD", "lr": 0.3, "momentum": 0.5,
            "batch_size": 60, "sampling": "replacement"},
}  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CHANGES)
def test_it_goes_on_as_a_fresh_run_that_begins_there(name, engine, tmp_path):
    run, given = run_of(NETWORKS["mlp"].ours(), optim.Adam, engine, batch_size=8), dict(CHANGES[name])
    run.model[2].bias.frozen = True
    run.step(7)
    then, weights, history = everything(run), run.model[0].weight.data.copy(), run.history.loss.copy()
    if "model" in given:
        given["model"] = given["model"]()
    run.change(**given)
    assert (run.steps, run.history.loss.tobytes()) == (7, history.tobytes())
    assert run.model[0].weight.data.tobytes() == weights.tobytes()
    twin = like(run, tmp_path)
    for each in (run, twin):
        each.step(9)
    assert twin.values.tobytes() == run.values.tobytes()
    assert run.history.step.tolist() == list(range(1, 17))
    end, words = everything(run), run.log[-1].what
    assert len(run.log) == 2
    assert run.undo() == words
    assert everything(run) == then
    run.redo()
    run.to(5)
    run.to(16)
    assert everything(run) == end


def test_the_weights_follow_the_run_and_the_model_has_the_new_activation():
    run = run_of(NETWORKS["mlp"].ours())
    net, held = run.model, run.model[0].weight[2][1]
    for act, kind in ((lambda: run.change(activation="relu"), nn.ReLU), (run.undo, nn.Tanh)):
        act()
        assert (type(net[1]), type(net[3])) == (kind, nn.Sigmoid)
        run.step(2)
        assert held.data == run.values[7]
        assert net(X[0].tolist())[0].data == pytest.approx(run.predict(X[:1])[0][0], rel=1e-12)
    held.data = 0.75
    assert run.values[7] == 0.75


@pytest.mark.parametrize("engine", ENGINES)
def test_one_layer_more_takes_over_those_that_fit_with_what_the_optimiser_knows_of_them(engine):
    net = NETWORKS["mlp"].ours()
    run = run_of(net, optim.Adam, engine)
    net[2].bias.frozen = True
    run.step(5)
    values, frame = run.values.copy(), run.frame(X[0])
    moments = list(run.frame(state=True).state.values())
    other = deeper()
    middle, held = other[2].weight.data.copy(), net[0].weight[0][0]
    run.change(model=other)
    assert run.log[-1].what == "model = Sequential, keeps the weights of 0, 4 (was 2); new layers: 2"
    assert (other[4].bias.frozen, other[2].bias.frozen) == (True, False)
    assert other[2].weight.data.tobytes() == middle.tobytes()
    old = [*range(16), *range(36, 51)]  # where they are now
    new = np.setdiff1d(np.arange(51), old)
    assert run.values[old].tobytes() == values.tobytes()
    for now, then in zip(run.frame(state=True).state.values(), moments, strict=True):
        assert now[old].tobytes() == then.tobytes()
        assert not now[new].any()
    now = run.frame(X[0])
    assert len(now.values) == len(now.gradient) == run.n_weights == run.optimizer.numel() == 51
    told = now.edited, now.computed[old].all(), now.computed[new].any(), now.update[new].any()
    assert told == (True, True, False, False)
    np.testing.assert_array_equal(now.update[old], frame.update)
    held.data = 9.0  # the old ones stand alone
    assert run.values[0] == values[0] == other[0].weight[0][0].data
    run.step(1)
    trained = other[2].weight.data.copy()
    run.undo()
    assert run.model is net
    assert held.data == run.values[0] == values[0]
    run.redo()
    assert other[2].weight[0][0].data == run.values[16] == trained[0, 0]


class Own(nn.Module):
    """Layers by names."""

    def __init__(self, hidden: int, seed: int) -> None:
        self.a, self.b = nn.Linear(3, hidden, seed=seed), nn.Linear(hidden, 3, seed=seed)

    def forward(self, x: Any) -> Any:
        return self.b(nn.Tanh()(self.a(x)))


def test_layers_of_a_model_that_is_no_row_are_taken_over_by_name():
    run = run_of(Own(4, 1))
    values = run.values.copy()
    run.change(model=Own(4, 2))
    assert run.values.tobytes() == values.tobytes()
    run.change(model=Own(6, 3))
    assert run.log[-1].what == "model = Own, new layers: a, b"
    run.step(2)


LAYERS = {
    "linear": lambda seed: nn.Linear(3, 3, seed=seed), "bare": lambda seed: nn.Linear(3, 3, bias=False, seed=seed),
    "layer": lambda seed: nn.LayerNorm(3), "rms": lambda seed: nn.RMSNorm(3),
}  # fmt: skip
ROWS = st.lists(st.sampled_from(sorted(LAYERS)), min_size=1, max_size=5)


def longest(one: list[str], other: list[str]) -> int:
    """Of all rows that both have in order."""
    if not one or not other:
        return 0
    same = one[0] == other[0] and 1 + longest(one[1:], other[1:])
    return max(same, longest(one[1:], other), longest(one, other[1:]))


@given(ROWS, ROWS)
@settings(max_examples=20)
def test_the_longest_row_of_layers_that_fit_is_taken_over(one, other):
    nets = [nn.Sequential(*(LAYERS[name](seed) for name in names)) for names, seed in ((one, 1), (other, 2))]
    for net, number in zip(nets, (0.5, -0.5), strict=True):
        for parameter in net.parameters():
            parameter.data = np.full(parameter.shape, number)
    run = run_of(nets[0])
    run.change(model=nets[1])
    taken = [layer.weight.data.flat[0] == 0.5 for layer in nets[1]]
    assert sum(taken) == longest(one, other)


def test_a_model_may_be_a_function_of_the_same_weights_or_of_others():
    net, w, extra = NETWORKS["mlp"].ours(), sv.Weight(0.5), sv.Weight(0.3)
    run = run_of(net)
    run.step(2)
    values = run.values.copy()
    run.change(model=lambda x: net[2](nn.Softplus()(net[0](x))))
    assert run.values.tobytes() == values.tobytes()
    run.change(model=lambda x: [w * x[0], x[1], x[2]], optimizer=optim.SGD([w], lr=0.1))
    run.step(3)
    assert run.values.tolist() == [w.data]
    run = Run(lambda x: [o * extra for o in net(x)], nn.MSELoss(), optim.SGD([net[0].weight, extra], lr=0.1), (X, X),
              engine="numpy", dtype="float64")  # fmt: skip
    bias = net[2].bias.data.copy()
    run.change(optimizer="Adam")  # it holds what the one before held
    run.step(3)
    assert net[2].bias.data.tobytes() == bias.tobytes()
    assert run.optimizer.numel() == 13


def test_torch_agrees_on_a_run_that_was_changed_twice(torch):
    run = run_of(NETWORKS["mlp"].ours())
    theirs = NETWORKS["mlp"].theirs(run.state_dict())
    x, y = torch.tensor(X), torch.tensor(1 - X)
    adamw = torch.optim.AdamW(theirs.parameters(), lr=0.03, betas=(0.8, 0.9))
    for change, activation, loss, optimizer in (
        ({}, torch.nn.Tanh(), torch.nn.MSELoss(), torch.optim.SGD(theirs.parameters(), lr=0.1)),
        ({"activation": "softplus", "loss": nn.HuberLoss(), "optimizer": "AdamW", "lr": 0.03, "betas": (0.8, 0.9)},
         torch.nn.Softplus(), torch.nn.HuberLoss(), adamw),
        ({"activation": nn.LeakyReLU(0.3)}, torch.nn.LeakyReLU(0.3), torch.nn.HuberLoss(), adamw),
    ):  # fmt: skip
        if change:
            run.change(**change)
        theirs[1] = activation
        run.step(12)
        for _ in range(12):
            optimizer.zero_grad()
            loss(theirs(x), y).backward()
            optimizer.step()
        for name, array in run.state_dict().items():
            np.testing.assert_allclose(array, theirs.state_dict()[name].numpy(), rtol=1e-9)


class Breaks(nn.Module):
    """Its forward is broken off, by an error or by Ctrl-C."""

    def __init__(self, error: BaseException) -> None:
        self.a, self.error = nn.Linear(3, 3, seed=1), error

    def forward(self, x: Any) -> Any:
        raise self.error


@pytest.mark.parametrize("error", [ValueError("my own"), KeyboardInterrupt()])
def test_what_is_broken_off_changes_nothing(error):
    run = run_of(NETWORKS["mlp"].ours())
    run.step(2)
    before = everything(run)
    for layers in ((Breaks(error), nn.Tanh(), nn.Linear(3, 3)), (nn.Linear(3, 3), nn.Tanh(), Breaks(error))):
        broken = nn.Sequential(*layers)
        with pytest.raises(type(error)):
            run.change(model=broken, activation="relu")
        assert broken[1] is layers[1]
        assert everything(run) == before


def test_a_schedule_ends_with_its_optimiser_and_that_is_said():
    run = make_run()
    run.do(sv.run.edits.SetSchedule(optim.lr_scheduler.LinearLR(run.optimizer, 1.0, 0.0, total_iters=100)))
    run.step(10)
    run.change(optimizer=optim.Adam(run.model.parameters(), lr=0.01))
    assert "schedule = None" in run.log[-1].what
    run.change(optimizer=optim.SGD(run.model.parameters(), lr=0.01))
    assert "schedule" not in run.log[-1].what
