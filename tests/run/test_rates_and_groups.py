"""Learning rates, schedules and parameter groups while a run trains: what setting one does to the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from kit.edits import everything
from kit.learning import SCHEDULES, make_schedule
from kit.networks import NETWORKS
from kit.runs import ENGINES, make_run
from scalarviz import Weight, nn, optim
from scalarviz.errors import ScalarvizError, StateError
from scalarviz.optim import lr_scheduler
from scalarviz.run import Run
from scalarviz.run.travel import span

edits = sv.run.edits
X = np.random.default_rng(0).random((24, 3))


def make(schedule: Any = None, engine: str = "numpy", lr: float = 0.4, batch_size: int = 8, **numbers: Any) -> Run:
    net = NETWORKS["mlp"].ours()
    optimizer = optim.SGD(net.parameters(), lr=lr, **numbers)
    if schedule is not None:
        schedule(optimizer)
    data = X, 1 - X
    return Run(net, nn.MSELoss(), optimizer, data, batch_size=batch_size, seed=3, engine=engine, dtype="float64")


def halving(optimizer: Any, **given: Any) -> Any:
    return lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5, **given)


def rates(run: Run, name: str = "lr") -> list[Any]:
    return [group[name] for group in run.optimizer.param_groups]


# ---- schedules


def test_a_frame_and_an_opened_step_have_the_rate_of_their_step():
    run = make(halving)
    assert run.frame().next_lr == 0.4
    run.step(2)
    frame = run.frame()
    assert (frame.lr, frame.next_lr, run.lr, run.open().lr) == (0.4, 0.2, 0.2, 0.2)
    run.step(2)
    assert (run.frame().lr, run.open().lr, run.open(step=2).lr, run.open(frame).lr) == (0.2, 0.1, 0.4, 0.2)


def test_a_schedule_of_epochs_is_stepped_once_an_epoch():
    run = make(lambda o: lr_scheduler.StepLR(o, step_size=1, gamma=0.5, unit="epoch"))
    run.step(2)
    run.step(5)
    assert run.history.lr.tolist() == [0.4] * 3 + [0.2] * 3 + [0.1]
    run.batch_size = 24  # an epoch is one step now; one was done of this
    run.step(3)
    assert run.history.lr.tolist()[7:] == [0.1, 0.05, 0.025]


def test_a_rate_that_is_set_scales_the_schedule_or_ends_it_and_a_restart_begins_it_anew():
    run = make(halving)
    run.step(3)
    run.lr = 1.0
    run.step(4)
    assert run.history.lr.tolist() == [0.4, 0.4, 0.2, 1.0, 0.5, 0.5, 0.25]
    run.restart()
    run.step(3)
    np.testing.assert_allclose(run.history.lr, [2.0, 2.0, 1.0])  # five times its own
    run = make(lambda o: lr_scheduler.LinearLR(o, 1.0, 0.0, total_iters=3))
    run.step(5)
    run.lr = 0.5  # from a rate of 0 nothing can be scaled
    assert run.optimizer.lr_schedule is None
    run.step(2)
    assert run.history.lr[-2:].tolist() == [0.5, 0.5]
    run.back(3)
    assert run.lr == 0.0
    assert run.optimizer.lr_schedule is not None


def test_a_schedule_that_is_made_while_a_run_trains_is_an_edit():
    run = make()
    run.step(2)
    schedule = halving(run.optimizer)
    assert run.optimizer.lr_schedule is schedule
    run.step(3)
    assert schedule.last_epoch == 3
    for act in (schedule.step, lambda: schedule.load_state_dict(schedule.state_dict())):
        with pytest.raises(StateError):
            act()
    run.undo()
    assert (run.steps, run.optimizer.lr_schedule) == (2, None)
    run.redo()
    run.optimizer.lr_schedule = None
    run.step(1)
    assert (run.lr, len(run.log)) == (0.2, 2)


@pytest.mark.parametrize("engine", ["numpy", "numba"])
@pytest.mark.parametrize(("every", "steps"), [(None, 3), (5, 5)])
def test_a_plateau_looks_at_the_mean_loss_of_an_epoch_or_of_so_many_steps(every, steps, engine):
    run = make(lambda o: lr_scheduler.ReduceLROnPlateau(o, patience=0, threshold=0.2, factor=0.5, every=every), engine)
    run.step(60)
    rate, best, wanted = 0.4, np.inf, []
    for mean in run.history.loss[: 60 // steps * steps].reshape(-1, steps).mean(axis=1):
        wanted += [rate] * steps
        best, rate = (mean, rate) if mean < best * 0.8 else (best, rate / 2)
    assert run.history.lr.tolist() == wanted
    assert len(set(wanted)) > 2  # else it saw nothing


def test_another_loss_or_network_goes_on_with_the_schedule_and_another_optimiser_does_not():
    run = make(halving)
    run.step(3)
    run.change(loss="L1Loss")
    run.step(1)
    run.change(model=NETWORKS["mlp"].ours(7))
    run.step(2)
    assert run.history.lr.tolist() == [0.4, 0.4, 0.2, 0.2, 0.1, 0.1]
    run.change(optimizer="Adam", lr=0.01)
    assert (run.lr, run.optimizer.lr_schedule) == (0.01, None)
    run.to(4)
    assert run.lr == 0.1


def ends(kind: str) -> Any:
    def factor(count: Any) -> Any:
        if int(count) < 20:
            return 1.0 - int(count) / 40
        if kind == "raises":
            raise LookupError("the table ends")
        return {"nan": float("nan"), "negative": -1.0}[kind]

    return factor


@pytest.mark.parametrize(("kind", "engine"), [("raises", "numpy"), ("nan", "numba"), ("negative", "objects")])
def test_a_schedule_that_ends_leaves_a_whole_run(kind, engine):
    run, other = (
        make(lambda o: lr_scheduler.LambdaLR(o, ends(kind)), engine),
        make(lambda o: lr_scheduler.LambdaLR(o, lambda k: 1 - k / 40)),
    )
    other.change(engine=engine)
    other.step(20)
    run.step(7)
    for count in (30, 1):
        with pytest.raises(ScalarvizError, match="LambdaLR"):
            run.step(count)
        assert (run.steps, len(run.history), span(run)) == (20, 20, (0, 20))
        assert run.values.tobytes() == other.values.tobytes()
    run.back(5)
    run.step(5)
    assert run.values.tobytes() == other.values.tobytes()
    run.optimizer.lr_schedule = None
    run.step(3)
    assert (run.steps, len(run.history)) == (23, 23)


@pytest.mark.parametrize("name", [name for name in SCHEDULES if name not in ("plateau", "sequential")])
def test_a_schedule_that_goes_on_from_elsewhere_has_pytorchs_rates(torch, name):
    theirs = torch.optim.SGD([torch.zeros(2, dtype=torch.float64, requires_grad=True)], lr=0.1, momentum=0.9)
    ours = optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1, momentum=0.9)
    found: list[list[Any]] = [[], []]
    for module, optimizer, seen in zip((torch.optim, optim), (theirs, ours), found, strict=True):
        made, settings = SCHEDULES[name]
        if name == "multi step":  # PyTorch's multiplies once more at a milestone where it goes on
            settings = {"milestones": [2, 6, 9]}
        kind = getattr(module.lr_scheduler, made)
        schedule = kind(optimizer, **settings)
        for _ in range(5):
            optimizer.step()
            schedule.step()
        schedule = kind(optimizer, **settings, last_epoch=4)
        for _ in range(9):
            seen.append((optimizer.param_groups[0]["lr"], optimizer.param_groups[0]["momentum"]))
            optimizer.step()
            schedule.step()
        assert schedule.last_epoch == 14
    np.testing.assert_allclose(*found, rtol=1e-10)


def test_the_rates_that_a_schedule_began_with_are_given_and_kept():
    net = NETWORKS["rgb"].ours()
    held = [{"params": net[0].weight, "initial_lr": 0.8}, {"params": net[0].bias, "initial_lr": 0.4}]
    run = Run(net, nn.MSELoss(), optim.SGD(held, lr=0.1), (X, X), engine="numpy")
    assert run.optimizer.param_groups[1]["initial_lr"] == 0.4
    schedule = lr_scheduler.StepLR(run.optimizer, 3, 0.5, last_epoch=1)
    run.step(2)
    assert schedule.get_last_lr() == [0.4, 0.2]
    run.restart()
    assert schedule.last_epoch == 2


# ---- groups


def test_groups_may_hold_rows_and_weights_and_are_read_and_set():
    net = NETWORKS["mlp"].ours()
    w, v = Weight(1.0), Weight(2.0)
    lone = optim.SGD([{"params": w, "lr": 1.0}, {"params": [v]}], lr=0.5)
    w.grad, v.grad = 1.0, 1.0
    lone.step()
    assert (w.data, v.data) == (0.0, 1.5)
    for group in lone.param_groups:
        group["lr"] *= 0.5
    assert [group["lr"] for group in lone.param_groups] == [0.5, 0.25]
    assert (lone.lr, dict(lone.param_groups[1])["momentum"]) == (0.5, 0.0)
    rows = optim.SGD([{"params": net[0].weight[0]}, {"params": [net[0].weight[1][0]], "lr": 3.0}], lr=1.0)
    assert rows.numel() == 4
    assert sorted(rows.group_of.tolist()) == [0, 0, 0, 1]


def test_numbers_of_groups_are_edits_and_a_rate_for_all_scales_them():
    run = make_run("mlp", optimizer="groups")
    groups = run.optimizer.param_groups
    run.step(3)
    before = everything(run)
    groups[1]["lr"] = 0.2
    groups[0]["betas"] = (0.7, 0.8)
    run.step(3)
    assert rates(run) == [0.02, 0.2]
    run.to(1)
    assert (rates(run), groups[0]["betas"]) == ([0.02, 0.05], (0.9, 0.999))
    run.to(6)
    run.undo()
    run.undo()
    assert everything(run) == before
    run.lr = 0.04
    np.testing.assert_allclose(rates(run), [0.04, 0.1])
    run.change(loss="L1Loss", eps=0.2)
    assert rates(run, "eps") == [0.2, 0.2]
    run.change(optimizer="Adam", lr=0.01)
    run.step(2)
    assert len(run.optimizer.param_groups) == 1
    run.to(1)
    assert len(run.optimizer.param_groups) == 2


# ---- numbers of some weights

KINDS = {
    "sgd": ("SGD", {"lr": 0.3}, {"lr": 0.05}),
    "momentum": ("SGD", {"lr": 0.1, "momentum": 0.9}, {"lr": 0.3, "momentum": 0.5}),
    "decay": ("AdamW", {"lr": 0.02}, {"weight_decay": 0.5}),
    "adam": ("Adam", {"lr": 0.02}, {"lr": 0.1, "betas": (0.5, 0.9)}),
}
SPANS = ((1, 2), (4, 1), (10, 1))
"""Of the twelve weights of a layer of 3 by 3."""
MASK = np.isin(np.arange(12), [1, 2, 4, 10])


def apart(kind: str, engine: str = "numpy", schedule: bool = False, dtype: str = "float64") -> Run:
    net = NETWORKS["rgb"].ours()
    optimizer = getattr(optim, KINDS[kind][0])(net.parameters(), **KINDS[kind][1])
    make_schedule("multi step" if schedule else None, optimizer)
    return Run(net, nn.MSELoss(), optimizer, (X[:8], X[:8] ** 2), engine=engine, dtype=dtype)


@pytest.mark.parametrize("schedule", [False, True])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", KINDS)
def test_numbers_of_some_weights_are_pytorchs_where_a_tensor_is_put_together_of_two(torch, kind, engine, schedule):
    run, (name, numbers, others) = apart(kind, engine, schedule), KINDS[kind]
    one, two = (torch.tensor(run.values.copy()).requires_grad_() for _ in range(2))
    optimizer = getattr(torch.optim, name)([{"params": [one]}, {"params": [two]}], **numbers)
    x, y, mask = torch.tensor(X[:8]), torch.tensor(X[:8] ** 2), torch.tensor(MASK)
    for step in range(16):
        halved = 0.5 ** sum(step >= milestone for milestone in (2, 5)) if schedule else 1.0
        if step == 6:
            run.do(edits.SetNumbers(SPANS, others))
            optimizer.param_groups[1].update({n: v for n, v in others.items() if n != "lr"})
        optimizer.param_groups[0]["lr"] = numbers["lr"] * halved
        set_here = step >= 6 and "lr" in others  # the rate of this step, and no milestone comes
        optimizer.param_groups[1]["lr"] = others["lr"] if set_here else numbers["lr"] * halved
        optimizer.zero_grad()
        w = torch.where(mask, two, one)
        torch.nn.functional.mse_loss(torch.sigmoid(x @ w[:9].reshape(3, 3).T + w[9:]), y).backward()
        optimizer.step()
        run.step(1)
        np.testing.assert_allclose(run.values, torch.where(mask, two, one).detach().numpy(), rtol=1e-10, atol=1e-12)


def test_numbers_set_again_for_the_same_weights_make_no_more_groups():
    run = apart("sgd")
    for lr in (0.1, 0.2, 0.4):
        run.do(edits.SetNumbers(SPANS, {"lr": lr}), gesture="slider")
        run.step(0)
    assert (rates(run), len(run.log)) == ([0.3, 0.4], 1)
    run.lr = 0.6
    assert rates(run) == [0.6, 0.8]
    run.do(edits.SetNumbers(((0, 12),), {"lr": 0.5}))
    assert rates(run) == [0.5, 0.5]
    run.do(edits.SetNumbers(SPANS, {"lr": 0.0}))
    before = run.values.copy()
    run.step(5)
    np.testing.assert_array_equal(run.values != before, ~MASK)
    run.change(loss="L1Loss")
    assert rates(run) == [0.5, 0.0]
    run.change(optimizer="SGD", lr=0.1)
    assert rates(run) == [0.1]
