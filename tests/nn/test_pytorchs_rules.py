"""Optimisers and schedules beside PyTorch's for 20 steps: its own inputs; options, groups and schedules at random."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from scalarviz import nn, optim
from scalarviz.optim import lr_scheduler

torch = pytest.importorskip("torch", reason="no PyTorch (extra oracle)")

STEPS = 20
NAMES = ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad")
ENGINES_OWN = ("foreach", "fused", "capturable", "differentiable")
"""Arguments that say how PyTorch computes, and nothing of what."""


def gradient(w, step):
    """Neither small nor smooth: another one at each step."""
    return np.cos(w * (step + 1)) + w


def test_every_optimiser_is_here():
    kinds = [kind for kind in vars(optim).values() if isinstance(kind, type) and issubclass(kind, optim.Optimizer)]
    assert {*NAMES, "Optimizer"} == {kind.__name__ for kind in kinds}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_pytorchs_own_inputs(name):
    pytest.importorskip("expecttest", reason="no expecttest (extra oracle)")
    from torch.testing._internal.common_optimizers import optim_db

    (info,) = [info for info in optim_db if info.optim_cls.__name__ == name]
    start = np.linspace(-1.5, 2.0, 6)
    for sample in info.optim_inputs_func(device="cpu"):
        weights, theirs = nn.Parameter(start), torch.tensor(start, requires_grad=True)
        kwargs = {k: v for k, v in sample.kwargs.items() if k not in ENGINES_OWN}
        rule = getattr(optim, name)([weights], **kwargs)
        reference = info.optim_cls([theirs], **sample.kwargs)
        for step in range(STEPS):
            weights.grad = gradient(weights.data, step)
            theirs.grad = torch.tensor(weights.grad)
            rule.step()
            reference.step()
            np.testing.assert_allclose(weights.data, theirs.detach().numpy(), rtol=1e-10, atol=1e-12)


def options(name, draw):
    """Any of the arguments of an optimiser, each as often as not."""
    decay = draw.choice([0.0, 0.01, 0.3])
    some = {
        "SGD": {"momentum": draw.choice([0.3, 0.9]), "dampening": draw.choice([0.0, 0.4]), "weight_decay": decay},
        "Adam": {"betas": (draw.uniform(0, 0.95), draw.uniform(0.5, 0.999)), "eps": 1e-6, "amsgrad": True,
                 "weight_decay": decay},
        "RMSprop": {"alpha": draw.uniform(0.5, 0.99), "eps": 1e-6, "momentum": 0.7, "centered": True,
                    "weight_decay": decay},
        "Adagrad": {"lr_decay": draw.uniform(0, 0.3), "initial_accumulator_value": draw.uniform(0, 1), "eps": 1e-6,
                    "weight_decay": decay},
    }  # fmt: skip
    some["AdamW"] = some["Adam"]
    chosen = {k: v for k, v in some[name].items() if draw.random() < 0.5}
    if name == "SGD" and chosen.get("momentum") and draw.random() < 0.5:
        chosen["nesterov"] = True
        chosen.pop("dampening", None)
    return {"lr": draw.uniform(0.001, 0.05), **chosen} | ({"maximize": True} if draw.random() < 0.2 else {})


def schedule(draw):
    """A schedule as a function of a namespace and an optimiser."""
    rows = draw.choice([
        ("StepLR", {"step_size": draw.randint(1, 6), "gamma": draw.uniform(0.2, 1.1)}),
        ("MultiStepLR", {"milestones": sorted(draw.sample(range(18), 3)), "gamma": 0.4}),
        ("ExponentialLR", {"gamma": draw.uniform(0.7, 1.05)}),
        ("CosineAnnealingLR", {"T_max": draw.randint(3, 25), "eta_min": draw.choice([0.0, 1e-3])}),
        ("LinearLR", {"start_factor": draw.uniform(0.05, 1), "end_factor": draw.uniform(0.05, 1),
                      "total_iters": draw.randint(1, 25)}),
        ("OneCycleLR", {"max_lr": draw.uniform(0.01, 0.1), "total_steps": 30, "pct_start": draw.uniform(0.1, 0.9),
                        "anneal_strategy": draw.choice(["cos", "linear"]), "cycle_momentum": False}),
        ("LambdaLR", {"lr_lambda": lambda t: 1 / (1 + 0.3 * t)}),
        None,
    ])  # fmt: skip
    return rows


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 40))])
@pytest.mark.parametrize("name", NAMES)
def test_options_groups_and_schedules_at_random(name, seed):
    draw = Random(f"{name}-{seed}")
    starts = [np.array([draw.uniform(-2, 2) for _ in range(n)]) for n in (4, 3, 2)]
    common = options(name, draw)
    own = [{k: v for k, v in options(name, draw).items() if k in ("lr", "weight_decay", "eps")} for _ in range(2)]
    ours = [nn.Parameter(start) for start in starts]
    theirs = [torch.tensor(start, requires_grad=True) for start in starts]
    grouped = draw.random() < 0.7
    rules = []
    for module, weights in ((optim, ours), (torch.optim, theirs)):
        groups = [{"params": weights[:1]}, {"params": weights[1:2], **own[0]}, {"params": weights[2:], **own[1]}]
        rules.append(getattr(module, name)(groups if grouped else weights, **common))
    made = schedule(draw)
    plans = []
    if made is not None:
        kind, given = made
        if draw.random() < 0.3 and kind != "OneCycleLR":  # another one behind it
            for space, rule in zip((lr_scheduler, torch.optim.lr_scheduler), rules, strict=True):
                parts = [getattr(space, kind)(rule, **given), space.ExponentialLR(rule, 0.8)]
                plans.append(space.SequentialLR(rule, parts, milestones=[7]))
        else:
            for space, rule in zip((lr_scheduler, torch.optim.lr_scheduler), rules, strict=True):
                plans.append(getattr(space, kind)(rule, **given))
    for step in range(STEPS):
        for mine, other in zip(ours, theirs, strict=True):
            mine.grad = gradient(mine.data, step)
            other.grad = torch.tensor(mine.grad)
        for part in (*rules, *plans):
            part.step()
        for mine, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(mine.data, other.detach().numpy(), rtol=1e-9, atol=1e-11, err_msg=f"step {step}")
        rates = [[group["lr"] for group in rule.param_groups] for rule in rules]
        np.testing.assert_allclose(rates[0], rates[1], rtol=1e-10, atol=1e-15)
