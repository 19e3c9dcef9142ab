"""Optimisers: PyTorch's steps at random, states, a user's rule, what moves, clipping."""

import math
from random import Random

import numpy as np
import pytest

import scalarviz as sv
from kit.learning import OPTIMISERS
from scalarviz import nn, optim
from scalarviz.errors import InputError
from scalarviz.nn import utils
from scalarviz.optim import lr_scheduler

STEPS = 20
NAMES = ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam", "RAdam", "Adamax", "Adadelta", "Rprop")


def gradient(w, step):
    """Neither small nor smooth: another one at each step."""
    return np.cos(w * (step + 1)) + w


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
        "Adadelta": {"rho": draw.uniform(0.3, 1), "eps": draw.choice([1e-6, 1e-3]), "weight_decay": decay},
        "Rprop": {"etas": (draw.uniform(0.2, 0.9), draw.uniform(1.1, 2)),
                  "step_sizes": (draw.choice([0.0, 0.003]), 0.1)},
    }  # fmt: skip
    some["AdamW"] = some["Adam"]
    some["Adamax"] = {k: v for k, v in some["Adam"].items() if k != "amsgrad"}
    some["RAdam"] = some["Adamax"] | {"decoupled_weight_decay": True}
    some["NAdam"] = some["RAdam"] | {"momentum_decay": draw.choice([0.0, 0.3])}
    chosen = {k: v for k, v in some[name].items() if draw.random() < 0.5}
    if name == "SGD" and chosen.get("momentum") and draw.random() < 0.5:
        chosen["nesterov"] = True
        chosen.pop("dampening", None)
    return {"lr": draw.uniform(0.001, 0.05), **chosen} | ({"maximize": True} if draw.random() < 0.2 else {})


def schedule(draw):
    return draw.choice([
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


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("name", NAMES)
def test_options_groups_and_schedules_at_random(name, seed, torch64):
    draw = Random(f"{name}-{seed}")
    starts = [np.array([draw.uniform(-2, 2) for _ in range(n)]) for n in (4, 3, 2)]
    common = options(name, draw)
    own = [{k: v for k, v in options(name, draw).items() if k in ("lr", "weight_decay", "eps")} for _ in range(2)]
    ours = [nn.Parameter(start) for start in starts]
    theirs = [torch64.tensor(start, requires_grad=True) for start in starts]
    grouped = draw.random() < 0.7
    rules = []
    # ours takes the second parameter weight by weight
    for module, (a, b, c) in ((optim, (ours[:1], list(ours[1]), ours[2:])), (torch64.optim, ([x] for x in theirs))):
        groups = [{"params": a}, {"params": b, **own[0]}, {"params": c, **own[1]}]
        rules.append(getattr(module, name)(groups if grouped else [*a, *b, *c], **common))
    made, plans, more = schedule(draw), [], draw.random() < 0.3  # another one behind it
    for space, rule in zip((lr_scheduler, torch64.optim.lr_scheduler), rules, strict=True) if made else ():
        plans.append(getattr(space, made[0])(rule, **made[1]))
        if more and made[0] != "OneCycleLR":
            row = [plans.pop(), space.LinearLR(rule, 0.5, total_iters=3), space.ExponentialLR(rule, 0.8)]
            plans.append(space.SequentialLR(rule, row, milestones=[7, 12]))
    for step in range(STEPS):
        for mine, other in zip(ours, theirs, strict=True):
            mine.grad = gradient(mine.data, step)
            other.grad = torch64.tensor(mine.grad)
        for part in (*rules, *plans):
            part.step()
        for mine, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(mine.data, other.detach().numpy(), rtol=1e-9, atol=1e-11, err_msg=f"step {step}")
        rates = [[group["lr"] for group in rule.param_groups] for rule in rules]
        np.testing.assert_allclose(rates[0], rates[1], rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_state_goes_round_and_training_goes_on_in_the_same_bits(name):
    kind, settings = OPTIMISERS[name]

    def steps(rule, p, count):
        for _ in range(count):
            p.grad = np.sin(p.data * 3)
            rule.step()

    p, q = nn.Parameter([1.0, -2.0]), nn.Parameter([0.0, 0.0])
    rule, other = (getattr(optim, kind)([x], **settings) for x in (p, q))
    steps(rule, p, 5)
    other.load_state_dict(rule.state_dict())
    q.data = p.data
    steps(rule, p, 5)
    steps(other, q, 5)
    np.testing.assert_array_equal(p.data, q.data)
    assert other.steps == 10


class SignMomentum(optim.Optimizer):
    """Ten lines: a moving mean of the gradient, and a step of fixed size along its smoothed sign."""

    state = ("mean",)

    def __init__(self, params, lr=0.1, keep=0.9):
        super().__init__(params, lr)
        self.keep = keep

    def update(self, w, g, state, lr, t):
        mean = sv.dot([self.keep, 1 - self.keep], [state["mean"], g])
        return w - lr / t.sqrt() * sv.tanh(10 * mean), {"mean": mean}


def follow(kind):
    p = nn.Parameter([1.0, -2.0, 0.5])
    opt = kind([p])
    for _ in range(20):
        p.grad = p.data * [1.0, 0.1, -1.0]
        opt.step()
    return p.data, opt.state_arrays()["mean"]


def test_an_own_optimiser_is_its_update():
    w, mean = follow(SignMomentum)
    expected, m = np.array([1.0, -2.0, 0.5]), np.zeros(3)
    for t in range(1, 21):
        m = 0.9 * m + (1 - 0.9) * expected * [1.0, 0.1, -1.0]
        expected = expected - 0.1 / math.sqrt(t) * np.tanh(10 * m)
    np.testing.assert_allclose(w, expected, rtol=1e-13)
    np.testing.assert_allclose(mean, m, rtol=1e-13)


def test_a_state_that_the_class_does_not_name_is_said():
    class Forgot(SignMomentum):
        state = ()

        def update(self, w, g, state, lr, t):
            return w - lr * g, {"buf": g}

    with pytest.raises(InputError, match=r"names stand in the class: state = \('buf',\)"):
        follow(Forgot)


def test_a_number_that_is_set_is_used_by_all_groups_and_a_slip_is_named():
    one, other = nn.Parameter([1.0]), nn.Parameter([1.0])
    opt = optim.SGD([{"params": [one]}, {"params": [other], "lr": 0.3}], lr=0.1)
    opt.momentum = 0.5
    assert [group["momentum"] for group in opt.param_groups] == [0.5, 0.5]
    assert (opt.hyperparameters()["momentum"], [group["lr"] for group in opt.param_groups]) == (0.5, [0.1, 0.3])
    with pytest.raises(AttributeError, match=r"'momentun'.*'momentum'"):
        opt.momentun = 0.1


def test_frozen_weights_and_those_without_a_gradient_stay():
    p = nn.Parameter([1.0, 2.0, 3.0])
    p.grad = [1.0, 1.0, 1.0]
    p[1].frozen = True
    p[2].zero_grad()
    opt = optim.SGD([p], lr=0.5, weight_decay=0.1)
    opt.step()
    assert p.data.tolist() == [1.0 - 0.5 * 1.1, 2.0, 3.0]
    opt.zero_grad()
    opt.step()
    assert p.data.tolist() == [1.0 - 0.5 * 1.1, 2.0, 3.0]
    assert opt.steps == 2


GRADIENTS = [np.array([[3.0, -4.0], [0.5, 0.0]]), np.array([12.0, -0.1])]


NUMBERS = [GRADIENTS, [1e-3 * g for g in GRADIENTS], [g * 0 for g in GRADIENTS],
           [np.array([[np.inf, 1.0], [2.0, 0.0]]), np.array([1.0, 2.0])],
           [np.array([[np.nan, 1.0], [2.0, 0.0]]), np.array([1.0, 2.0])]]  # fmt: skip


def ours(gradients):
    parameters = [nn.Parameter(np.zeros(g.shape)) for g in gradients]
    for p, g in zip(parameters, gradients, strict=True):
        p.grad = g
    return parameters


def test_a_step_calls_its_closure_first_and_returns_the_loss():
    w = sv.Weight(3.0)
    rule = optim.SGD([w], lr=0.1)

    def closure():
        rule.zero_grad()
        loss = w * w
        loss.backward()
        return loss

    assert (rule.step(closure).data, rule.step()) == (9.0, None)
    assert w.data == pytest.approx(3 - 2 * 0.1 * 6)


@pytest.mark.parametrize("gradients", NUMBERS)
@pytest.mark.parametrize("most", [0.0, 1.0, 5.0, 100.0])
@pytest.mark.parametrize("kind", [2.0, 1.0, 3.0, math.inf, "value"])
def test_clipped_gradients_are_pytorchs(gradients, most, kind, torch):
    own, other = ours(gradients), [torch.zeros(g.shape, dtype=torch.float64, requires_grad=True) for g in gradients]
    for p, g in zip(other, gradients, strict=True):
        p.grad = torch.tensor(g)
    if kind == "value":
        torch.nn.utils.clip_grad_value_(other, most), utils.clip_grad_value_(own, most)
    else:
        wanted = float(torch.nn.utils.clip_grad_norm_(other, most, kind))
        np.testing.assert_allclose(utils.clip_grad_norm_(own, most, kind), wanted, rtol=1e-12)
    for p, q in zip(own, other, strict=True):
        np.testing.assert_allclose(p.grad, q.grad.numpy(), rtol=0 if kind == "value" else 1e-12)
