"""Schedules by hand: every rate is PyTorch's; many steps at once give the bits of single ones."""

import copy
import json
import pickle

import numpy as np
import pytest

from scalarviz import nn, optim
from scalarviz.errors import ScalarvizError, StateError
from scalarviz.optim import lr_scheduler

STEPS = 60


def tens(count):
    return 0.5 ** (count // 10)


def decay(count):
    return 0.95**count


CASES = [
    ("StepLR", {"step_size": 3}),
    ("StepLR", {"step_size": 1, "gamma": 1.05}),
    ("MultiStepLR", {"milestones": [2, 5, 5, 30], "gamma": 0.5}),
    ("ExponentialLR", {"gamma": 0.93}),
    ("CosineAnnealingLR", {"T_max": 10, "eta_min": 0.01}),
    ("CosineAnnealingLR", {"T_max": 1, "eta_min": 0.01}),
    ("LinearLR", {}),
    ("LinearLR", {"start_factor": 1.0, "end_factor": 0.0, "total_iters": 50}),
    ("OneCycleLR", {"max_lr": 0.5, "total_steps": STEPS}),
    ("OneCycleLR", {"max_lr": 0.5, "epochs": 4, "steps_per_epoch": 15, "pct_start": 0.4, "anneal_strategy": "linear"}),
    ("OneCycleLR", {"max_lr": 0.5, "total_steps": STEPS, "three_phase": True, "pct_start": 0.25}),
    ("OneCycleLR", {"max_lr": 0.5, "total_steps": 90, "div_factor": 10, "final_div_factor": 100, "pct_start": 0.7,
                    "three_phase": True}),
    ("LambdaLR", {"lr_lambda": decay}),
    ("LambdaLR", {"lr_lambda": tens}),
]  # fmt: skip


def ours(lr=0.1):
    return optim.SGD(nn.Linear(2, 1).parameters(), lr=lr)


def made(name, settings, optimizer):
    own = {"cycle_momentum": False} if name == "OneCycleLR" else {}
    return getattr(lr_scheduler, name)(optimizer, **settings, **own)


def rates_by_hand(optimizer, schedule, steps=STEPS):
    found = []
    for _ in range(steps):
        found.append(optimizer.lr)
        optimizer.step()
        schedule.step()
        assert schedule.get_last_lr() == [optimizer.lr]
    return [*found, optimizer.lr]


def theirs(torch, lr=0.1):
    return torch.optim.SGD([torch.zeros(2, dtype=torch.float64, requires_grad=True)], lr=lr)


def their_rates(optimizer, schedule, steps=STEPS):
    found = []
    for _ in range(steps):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return [*found, optimizer.param_groups[0]["lr"]]


@pytest.mark.parametrize(("name", "settings"), CASES)
def test_every_rate_is_pytorchs(torch, name, settings):
    other = theirs(torch)
    own = {"cycle_momentum": False} if name == "OneCycleLR" else {}
    wanted = their_rates(other, getattr(torch.optim.lr_scheduler, name)(other, **settings, **own))
    optimizer = ours()
    found = rates_by_hand(optimizer, made(name, settings, optimizer))
    wanted = np.maximum(wanted, 0.0)  # after its end PyTorch's straight cycle goes on below 0
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)
    assert optimizer.lr_schedule.last_epoch == STEPS


@pytest.mark.parametrize(("name", "settings"), CASES)
def test_many_steps_at_once_have_the_bits_of_single_ones(name, settings):
    one, many, parts = ours(), ours(), ours()
    made(name, settings, many), made(name, settings, parts)
    found = rates_by_hand(one, made(name, settings, one))
    table = many.lr_pace.table(STEPS, 5)[:, 0]
    assert table.tolist() == found[:-1]
    random, pieces = np.random.default_rng(0), []
    while len(pieces) < STEPS:
        count = min(int(random.integers(1, 20)), STEPS - len(pieces))
        pieces += parts.lr_pace.table(count, 5)[:, 0].tolist()
        parts.lr_pace.advance(np.zeros(count), 5)
    assert pieces == found[:-1]
    assert parts.lr == found[-1]


PLATEAUS = [
    {},
    {"patience": 0, "factor": 0.3, "threshold": 0.01, "threshold_mode": "abs"},
    {"mode": "max", "patience": 1, "factor": 0.5, "cooldown": 3},
    {"mode": "max", "patience": 1, "threshold": 0.05, "threshold_mode": "abs", "min_lr": 0.01},
    {"patience": 1, "factor": 0.1, "min_lr": 1e-3, "eps": 1e-4},
]


@pytest.mark.parametrize("settings", PLATEAUS)
@pytest.mark.parametrize("seed", range(2))
def test_a_plateau_is_pytorchs(torch, settings, seed):
    random = np.random.default_rng(seed)
    metrics = np.exp(-0.05 * np.arange(160)) + 0.2 * random.random(160)
    metrics[random.integers(160, size=3)] = np.nan
    other, optimizer = theirs(torch), ours()
    their = torch.optim.lr_scheduler.ReduceLROnPlateau(other, **settings)
    own = lr_scheduler.ReduceLROnPlateau(optimizer, **settings)
    for metric in metrics.tolist():
        their.step(metric)
        own.step(metric)
        np.testing.assert_allclose(optimizer.lr, other.param_groups[0]["lr"], rtol=1e-12)
    assert optimizer.lr < 0.1  # else nothing was compared


def test_a_rate_that_is_set_scales_what_follows_and_ends_it_where_it_is_0():
    optimizer = ours(0.4)
    schedule = lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    schedule.step()
    optimizer.lr = 0.1
    assert [optimizer.lr] + [schedule.step() or optimizer.lr for _ in range(4)] == [0.1, 0.05, 0.05, 0.025, 0.025]
    optimizer = ours(0.4)
    schedule = lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=2)
    schedule.step(), schedule.step()
    assert optimizer.lr == 0.0
    optimizer.lr = 0.3
    assert optimizer.lr_schedule is None
    with pytest.raises(StateError, match=r"no longer follows this schedule, as rates were set by hand"):
        schedule.step()


def test_a_new_schedule_takes_the_place_and_goes_on_from_the_rate_of_now():
    optimizer = ours(0.4)
    first = lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    first.step()
    second = lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.1)
    assert optimizer.lr_schedule is second
    assert optimizer.lr == 0.2
    with pytest.raises(StateError, match="SequentialLR"):
        first.step()
    optimizer.lr_schedule = None
    assert optimizer.lr == 0.2


@pytest.mark.parametrize(("name", "settings"), [*CASES[:-2], ("ReduceLROnPlateau", {"patience": 1})])
def test_a_state_dict_goes_on_where_it_stood_through_json_copies_and_pickles(name, settings):
    def step(schedule, k):
        schedule.step(1.0 + k % 5) if name == "ReduceLROnPlateau" else schedule.step()

    optimizer = ours(0.3)
    schedule = made(name, settings, optimizer)
    optimizer.lr = 0.2
    for k in range(13):
        step(schedule, k)
    other = ours(0.3)
    again = made(name, settings, other)
    again.load_state_dict(json.loads(json.dumps(schedule.state_dict())))
    copies = [copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer)), copy.copy(optimizer), other]
    for k in range(13, 20):
        step(schedule, k)
        for twin in copies:
            step(twin.lr_schedule, k)
            assert twin.lr == optimizer.lr
            assert twin.lr_schedule.optimizer is twin


CYCLE = {"max_lr": 1, "total_steps": 3}
BAD = {
    "StepLR": [*({"step_size": bad} for bad in (0, 1.5, 2**53 + 1)), {"step_size": 2, "gamma": "1"},
               *({"step_size": 3, **bad} for bad in ({"gamma": -1}, {"unit": "minute"}, {"last_epoch": 5}))],
    "MultiStepLR": [{"milestones": 3}, {"milestones": [1, -1]}], "ExponentialLR": [{"gamma": -0.1}],
    "CosineAnnealingLR": [{"T_max": 3, "eta_min": -1}, {"T_max": 0}],
    "LinearLR": [{"start_factor": 0}, {"start_factor": 2}, {"end_factor": 2}, {"end_factor": -1}, {"total_iters": 0}],
    "OneCycleLR": [{"max_lr": 1}, {"max_lr": 1, "epochs": 3}, {"max_lr": 1, "epochs": 2, "steps_per_epoch": 2**63},
                   *(CYCLE | one for one in (
                       {"max_lr": -1}, {"total_steps": 0}, {"anneal_strategy": "sin"}, {"pct_start": 2},
                       {"div_factor": 0}, {"cycle_momentum": 3}, {"max_momentum": 1}, {"base_momentum": -1}))],
    "LambdaLR": [{"lr_lambda": 3}, {"lr_lambda": lambda k: -1.0}, {"lr_lambda": lambda k: "a"}],
    "ReduceLROnPlateau": [{"mode": "low"}, {"factor": 1.0}, {"factor": -1}, {"patience": -1}, {"cooldown": 0.5},
                          {"every": 0}, {"threshold": None}, {"threshold_mode": "x"}, {"eps": -1}],
    "SequentialLR": [{"schedulers": 3, "milestones": [1]}, {"schedulers": [3], "milestones": []}],
}  # fmt: skip


@pytest.mark.parametrize(("name", "settings"), [(name, one) for name, cases in BAD.items() for one in cases])
def test_bad_arguments_are_refused_by_name_and_leave_the_optimiser_as_it_was(name, settings):
    optimizer, given = ours(0.3), dict(settings)
    if name == "OneCycleLR":
        given.setdefault("cycle_momentum", False)
    with pytest.raises(ScalarvizError) as caught:
        getattr(lr_scheduler, name)(optimizer, **given)
    assert any(word.rstrip("s") in str(caught.value) for word in (name, *settings))
    assert (optimizer.lr, optimizer.lr_schedule) == (0.3, None)


def test_other_things_that_do_not_fit():
    optimizer, other = ours(), ours()
    schedule, plateau = lr_scheduler.StepLR(optimizer, 3), lr_scheduler.ReduceLROnPlateau(other)
    state, parts = schedule.state_dict(), [lr_scheduler.StepLR(optimizer, 3), lr_scheduler.StepLR(optimizer, 3)]
    for call, facts in (
        (lambda: lr_scheduler.StepLR(nn.Linear(2, 1), 3), "optimiser"), (lambda: plateau.step("1"), None),
        *((lambda w=wrong: schedule.load_state_dict(w), None) for wrong in (
            {}, 3, state | {"stepped": -1}, state | {"scales": [1.0, 2.0]}, state | {"more": 1})),
        *((lambda w=wrong: lr_scheduler.SequentialLR(optimizer, parts, w), None) for wrong in ([], [0], [1, 2])),
        (lambda: lr_scheduler.SequentialLR(other, [schedule], []), "the same optimiser as the sequence"),
        (lambda: lr_scheduler.SequentialLR(other, [plateau], []), "it needs losses"),
    ):  # fmt: skip
        with pytest.raises(ScalarvizError, match=facts):
            call()
