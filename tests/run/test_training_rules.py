"""Optimisers, parameter groups, schedules, penalties and clipping: each is PyTorch's, on every engine and way back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from kit.edits import everything, trains_by
from kit.learning import OPTIMISERS, SCHEDULES, make_schedule
from kit.networks import NETWORKS
from kit.runs import ENGINES
from scalarviz import nn, optim
from scalarviz.optim import lr_scheduler
from scalarviz.run import Run

NET = NETWORKS["classes"]
X = np.random.default_rng(0).random((6, 3))
Y = X**2


@dataclass(frozen=True)
class Rule:
    """How weights follow their gradients.

    `schedule` is a row of SCHEDULES, or a kind with its settings; `numbers_set` on the optimiser before some steps;
    `edit` is done after the fifth step.
    """

    kind: str
    numbers: dict[str, Any]
    groups: Sequence[dict[str, Any]] = ()
    schedule: str | tuple[str, dict[str, Any]] | None = None
    limits: dict[str, float] = field(default_factory=dict)
    numbers_set: dict[int, dict[str, Any]] = field(default_factory=dict)
    edit: Any = None

    def on(self, net: Any, space: Any = optim, schedules: Any = lr_scheduler) -> tuple[Any, Any]:
        """The optimiser of a network, and its schedule."""
        given = list(net.parameters())
        parts = {0: [], 2: [given[:2], given[2:]], 3: [given[:1], [given[1], given[3]], given[2:3]]}[len(self.groups)]
        held = [{"params": part, **group} for part, group in zip(parts, self.groups, strict=True)] or given
        optimizer = getattr(space, self.kind)(held, **self.numbers)
        if isinstance(self.schedule, tuple):
            return optimizer, getattr(schedules, self.schedule[0])(optimizer, **self.schedule[1])
        return optimizer, make_schedule(self.schedule, optimizer, schedules)


def decay(count: int) -> float:
    return 0.9**count


def slower(count: int) -> float:
    return 1 / (1 + count)


SetLimits, SetNumbers = sv.run.edits.SetLimits, sv.run.edits.SetNumbers
SPANS = ((1, 2), (4, 1), (14, 3))
SGD, ADAM = {"lr": 0.3, "momentum": 0.5}, {"lr": 0.02}
FAST = [{}, {"lr": 0.05}]
CYCLE = {"max_lr": 0.1, "total_steps": 24}
RULES: dict[str, Rule] = {
    **{name: Rule(*row) for name, row in OPTIMISERS.items()},
    **{f"by {name}": Rule("SGD", SGD, schedule=name) for name in SCHEDULES},
    "groups of sgd": Rule("SGD", {"lr": 0.3},
                          [{"weight_decay": 0.1}, {"lr": 0.05, "momentum": 0.8, "nesterov": True}], "cosine"),
    "groups of momentum": Rule("SGD", SGD, [{}, {"lr": 0.1}], ("LambdaLR", {"lr_lambda": [decay, slower]})),
    "groups of adam": Rule("Adam", ADAM, [{"lr": 0.05, "betas": (0.5, 0.6)}, {"weight_decay": 0.1, "eps": 1e-4}],
                           "cosine", {"clip_norm": 0.05}),
    "groups of adamw": Rule("AdamW", ADAM, [{"amsgrad": True}, {"weight_decay": 0.0, "maximize": True}], "step"),
    "groups of rmsprop": Rule("RMSprop", ADAM, [{"centered": True}, {"momentum": 0.5, "lr": 0.01}], "sequential"),
    "three groups": Rule("Adagrad", {"lr": 0.1}, [{"lr": 0.3}, {"lr_decay": 0.1}, {"lr": 0.05, "eps": 1e-3}], "plateau",
                         {"l2": 0.01}),
    "groups of nadam": Rule("NAdam", ADAM, [{"momentum_decay": 0.3}, {"weight_decay": 0.1, "betas": (0.5, 0.6)}]),
    "groups of radam": Rule("RAdam", ADAM, [{"betas": (0.5, 0.9)}, {"lr": 0.1}, {"betas": (0.9, 0.6)}], "step"),
    "groups of adamax": Rule("Adamax", ADAM, [{"betas": (0.5, 0.9)}, {"weight_decay": 0.1, "lr": 0.05}], "cosine"),
    "groups of adadelta": Rule("Adadelta", {}, [{"rho": 0.5}, {"lr": 0.5, "eps": 1e-3}], "sequential"),
    "groups of rprop": Rule("Rprop", ADAM, [{"etas": (0.3, 1.5)}, {"lr": 0.05, "step_sizes": (0.01, 0.06)}], "step"),
    "a cycle": Rule("SGD", {"lr": 0.1}, FAST, ("OneCycleLR", CYCLE)),
    "a cycle of three": Rule("SGD", {"lr": 0.1, "momentum": 0.5, "nesterov": True}, FAST, ("OneCycleLR", {
        **CYCLE, "total_steps": 30, "three_phase": True, "base_momentum": [0.5, 0.6], "max_momentum": 0.9})),
    "a cycle of adam": Rule("Adam", ADAM, FAST, ("OneCycleLR", CYCLE)),
    "a cycle of adamw": Rule("AdamW", {"lr": 0.02, "betas": (0.5, 0.99)}, FAST, ("OneCycleLR", CYCLE)),
    "a cycle of nadam": Rule("NAdam", ADAM, FAST, ("OneCycleLR", CYCLE)),
    "l1": Rule("SGD", SGD, limits={"l1": 0.02}),
    "l2": Rule("Adam", ADAM, limits={"l2": 0.03}),
    "norm": Rule("SGD", SGD, limits={"clip_norm": 0.05}),
    "value": Rule("Adam", ADAM, limits={"clip_value": 0.004}),
    "all limits": Rule("SGD", SGD, limits={"l1": 0.01, "l2": 0.02, "clip_norm": 0.1, "clip_value": 0.03}),
    "numbers set": Rule("SGD", SGD, numbers_set={1: {"momentum": 0.9}, 3: {"momentum": 0.0, "weight_decay": 0.1},
                                                 5: {"momentum": 0.5, "nesterov": True}, 6: {"lr": 0.01}}),
    "numbers of adam set": Rule("Adam", ADAM, numbers_set={2: {"betas": (0.5, 0.9)},
                                                           4: {"eps": 1e-3, "amsgrad": True}}),
    "numbers of some": Rule("Adam", ADAM, schedule="step", edit=SetNumbers(SPANS, {"lr": 0.1, "betas": (0.5, 0.9)})),
    "a rate of some": Rule("SGD", SGD, FAST, ("MultiStepLR", {"milestones": [2, 5, 9], "unit": "epoch"}),
                           edit=SetNumbers(SPANS, {"lr": 0.0})),
    "a plateau of groups": Rule("SGD", SGD, FAST, ("ReduceLROnPlateau", {"patience": 0, "every": 3,
                                                                         "min_lr": [0.01, 0.02]})),
    "limits set": Rule("SGD", SGD, limits={"l1": 0.02}, edit=SetLimits(l2=0.03, clip_norm=0.1, clip_value=0.03)),
}  # fmt: skip
OURS = ("numbers set", "numbers of adam set", "numbers of some", "a rate of some", "a plateau of groups")
"""PyTorch keeps a buffer that no momentum asks for, has no rates of some weights, and looks at single losses."""
FEW = ("sgd_all", "adam_amsgrad", "groups of rmsprop", "a cycle of three", "all limits", "by plateau", "numbers set")


def over(engine: str) -> Any:
    """Every rule on this engine, and those of FEW on each, which are the first tier on NumPy."""
    rows = [(rule, one) for one in ENGINES for rule in RULES if one == engine or rule in FEW]
    marked = [pytest.param(*row, marks=() if row[0] in FEW and row[1] == "numpy" else pytest.mark.ci) for row in rows]
    return pytest.mark.parametrize(("rule", "engine"), marked)


def make(rule: str, engine: str = "numpy", dtype: str = "float64", **more: Any) -> Run:
    net, row = NET.ours(), RULES[rule]
    return Run(net, nn.MSELoss(), row.on(net)[0], (X, Y), engine=engine, dtype=dtype, seed=2, **{**row.limits, **more})


def advance(run: Run, rule: str, reached: int) -> None:
    """So many steps in all, with what is set between them."""
    row = RULES[rule]
    while run.steps < reached:
        if run.steps == 5 and row.edit is not None and not run.log:
            run.do(row.edit)
        for name, number in row.numbers_set.get(run.steps, {}).items():
            setattr(run.optimizer, name, number)
        coming = [step for step in (*row.numbers_set, 5) if run.steps < step < reached]
        run.step(min([*coming, reached]) - run.steps)


def rates(optimizer: Any) -> list[tuple[float, float]]:
    """Learning rate and momentum of each group."""
    groups = optimizer.param_groups
    return [(g["lr"], g["momentum"] if "momentum" in g else g["betas"][0] if "betas" in g else 0.0) for g in groups]


def trained_by_pytorch(torch: Any, rule: str, steps: int) -> tuple[list[Any], list[float], dict[str, np.ndarray]]:
    """Rates after each step, the losses, and the weights at the end."""
    row, net = RULES[rule], NET.theirs(NET.ours().state_dict())
    optimizer, schedule = row.on(net, torch.optim, torch.optim.lr_scheduler)
    x, y, losses, found = torch.tensor(X), torch.tensor(Y), [], []
    for step in range(steps):
        limits = row.limits if row.edit is None or step < 5 else row.edit.parts()
        loss = torch.nn.functional.mse_loss(net(x), y)
        loss = loss + limits.get("l1", 0.0) * sum(p.abs().sum() for p in net.parameters())
        loss = loss + limits.get("l2", 0.0) * sum((p * p).sum() for p in net.parameters())
        optimizer.zero_grad()
        loss.backward()
        if "clip_norm" in limits:
            torch.nn.utils.clip_grad_norm_(net.parameters(), limits["clip_norm"])
        if "clip_value" in limits:
            torch.nn.utils.clip_grad_value_(net.parameters(), limits["clip_value"])
        optimizer.step()
        if schedule is not None:
            schedule.step(*([loss.item()] if row.schedule == "plateau" else []))
        losses.append(loss.item())
        found.append(rates(optimizer))
    return found, losses, {name: array.numpy() for name, array in net.state_dict().items()}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rule", [name for name in RULES if name not in (*OPTIMISERS, *OURS)])
def test_every_step_is_pytorchs(torch64, rule, engine):
    """Optimisers alone: see `tests/nn/test_optimisers.py`."""
    run = make(rule, engine)
    wanted, losses, weights = trained_by_pytorch(torch64, rule, 22)
    for reached in (1, 5, 6, 22):
        advance(run, rule, reached)
        np.testing.assert_allclose(rates(run.optimizer), wanted[reached - 1], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(run.history.loss, losses, rtol=1e-9)
    for name, array in run.state_dict().items():
        np.testing.assert_allclose(array, weights[name], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("rule", ["numbers set", "numbers of adam set"])
def test_a_loop_written_by_hand_is_the_run(rule):
    """Where PyTorch has other rules; `nn/test_loop_equals_run.py` has the others."""
    run, net, lossf = make(rule), NET.ours(), nn.MSELoss()
    optimizer, _ = RULES[rule].on(net)
    for step in range(8):
        for name, number in RULES[rule].numbers_set.get(step, {}).items():
            setattr(optimizer, name, number)
        optimizer.zero_grad()
        for x, y in zip(X, Y, strict=True):
            lossf(net(x), list(y)).backward(1 / len(X))
        optimizer.step()
    advance(run, rule, 3)
    advance(run, rule, 8)
    for name, array in run.state_dict().items():
        np.testing.assert_allclose(array, net.state_dict()[name], rtol=1e-9, atol=1e-11)
    for name, array in run.optimizer.state_arrays().items():
        np.testing.assert_allclose(array, optimizer.state_arrays()[name], rtol=1e-9, atol=1e-12)


@over("numba")
def test_calls_of_any_length_ways_back_and_files_have_the_same_bits(rule, engine, tmp_path):
    run, cut = make(rule, engine, "float32", batch_size=4), make(rule, engine, "float32", batch_size=4)
    advance(run, rule, 20)
    for reached in (1, 8, 10, 20):
        advance(cut, rule, reached)
    end = everything(run)
    assert everything(cut) == end
    run.to(3)
    run.to(20)
    run.back(12)
    run.step(12)
    assert everything(run) == end
    if "lambda" in str(RULES[rule].schedule):  # functions are not written
        return
    run.save(tmp_path / "weights.safetensors")
    plain = Rule(RULES[rule].kind, {"lr": 0.7}, [{}] * len(RULES[rule].groups))
    net = NET.ours(seed=9)
    other = Run(net, nn.MSELoss(), plain.on(net)[0], (X, Y), engine=engine, seed=2, batch_size=4, l1=0.3)
    other.step(2)
    before = everything(other)
    other.load(tmp_path / "weights.safetensors")
    for each in (run, other):
        each.step(9)
    assert other.values.tobytes() == run.values.tobytes()
    assert trains_by(other) == trains_by(run)
    assert [other.history.loss.tolist(), other.history.lr.tolist()] == [
        run.history.loss[-9:].tolist(), run.history.lr[-9:].tolist(),
    ]  # fmt: skip
    other.undo()
    assert everything(other) == before


@over("numpy")
def test_an_opened_step_says_what_the_engine_does(rule, engine):
    run = make(rule, engine)
    advance(run, rule, 7)
    opened = run.open()
    run.step(1)
    np.testing.assert_allclose(opened.new_values, run.values, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(opened.loss + opened.penalty, run.loss, rtol=1e-10)
    np.testing.assert_allclose(opened.gradient, run.frame().gradient, rtol=1e-9, atol=1e-12)
    for index in range(0, run.n_weights, 5):
        np.testing.assert_allclose(opened.update(index).after, run.values[index], rtol=1e-10, atol=1e-12)
    text = str(run.open(step=8).update(0))
    assert ("clip" in text) == (rule == "limits set" or any("clip" in name for name in RULES[rule].limits))
    assert "gt(" not in text


# ---- states of optimisers


@pytest.mark.parametrize("engine", ENGINES)
def test_moments_that_frames_show_are_the_means_of_the_gradients_that_were_seen(engine):
    run, m, v = make("adam", engine), 0.0, 0.0
    for _ in range(12):
        run.step()
        frame = run.frame(state=True)
        m, v = 0.9 * m + 0.1 * frame.gradient, 0.999 * v + 0.001 * frame.gradient**2
        np.testing.assert_allclose(frame.state["exp_avg"], m, rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(frame.state["exp_avg_sq"], v, rtol=1e-9, atol=1e-18)
    kept = frame.state["exp_avg"].copy()
    frame.state["exp_avg"][:] = 7.0  # a copy
    run.step()
    run.to(12)
    np.testing.assert_array_equal(run.frame(state=True).state["exp_avg"], kept)
    assert run.frame().state == {}
    assert make("sgd").frame(state=True).state == {}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_weight_of_0_has_no_l1(engine):
    net = NETWORKS["one weight"].ours()
    net[0].weight.data = [[0.0]]
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=1.0), ([[0.0]], [[0.0]]), engine=engine, l1=0.5)
    run.step(3)
    assert run.values.tolist() == [0.0]
