"""Optimisers: PyTorch's steps with its own inputs and at random, NumPy by hand, a user's rule, what moves, clipping."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest

import scalarviz as sv
from kit.learning import FAMILIES, OPTIMISERS, pytorchs_samples
from scalarviz import Weight, nn, optim
from scalarviz.nn import utils
from scalarviz.optim import lr_scheduler

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


@pytest.mark.parametrize("name", NAMES)
def test_pytorchs_own_inputs(name, torch):
    (info,) = [info for info in pytorchs_samples("common_optimizers").optim_db if info.optim_cls.__name__ == name]
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


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("name", NAMES)
def test_options_groups_and_schedules_at_random(name, seed, torch):
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
    made, plans, more = schedule(draw), [], draw.random() < 0.3  # another one behind it
    for space, rule in zip((lr_scheduler, torch.optim.lr_scheduler), rules, strict=True) if made else ():
        plans.append(getattr(space, made[0])(rule, **made[1]))
        if more and made[0] != "OneCycleLR":
            row = [plans.pop(), space.LinearLR(rule, 0.5, total_iters=3), space.ExponentialLR(rule, 0.8)]
            plans.append(space.SequentialLR(rule, row, milestones=[7, 12]))
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


# ---- every row of the kit


def curvature(w, shift):
    """A gradient that is not linear, with another target at every step."""
    return (w - shift) + 0.3 * np.exp(-w * w)


@pytest.mark.parametrize(
    ("name", "held"), [*((n, "parameter") for n in OPTIMISERS), *((n, "weights") for n in FAMILIES)]
)
def test_a_hundred_steps_are_pytorchs(name, held, torch):
    kind, settings = OPTIMISERS[name]
    draw = np.random.default_rng(11)
    start = draw.normal(size=7)
    p, theirs = nn.Parameter(start), torch.tensor(start, requires_grad=True)
    params = [p] if held == "parameter" else list(p)
    rule, reference = getattr(optim, kind)(params, **settings), getattr(torch.optim, kind)([theirs], **settings)
    for shift in draw.normal(size=(100, 7)):
        gradient = curvature(p.data, shift)
        theirs.grad = torch.tensor(curvature(theirs.detach().numpy(), shift))
        if held == "parameter":
            p.grad = gradient
        else:
            for w, g in zip(params, gradient, strict=True):
                w.grad = g
        rule.step()
        reference.step()
    assert rule.steps == 100
    np.testing.assert_allclose(p.data, theirs.detach().numpy(), rtol=1e-12, atol=1e-13)


BY_HAND = {
    "sgd_all": lambda w, g, m, v, t: _sgd(w, g, m, 0.05, 0.8, 0.1),
    "adam_decay": lambda w, g, m, v, t: _adam(w, g + 0.1 * w, m, v, t, 0.02),
    "adamw": lambda w, g, m, v, t: _adam(w - 0.02 * 0.01 * w, g, m, v, t, 0.02),
    "rmsprop": lambda w, g, m, v, t: (w - 0.02 * g / (np.sqrt(0.99 * v + 0.01 * g * g) + 1e-8), m,
                                      0.99 * v + 0.01 * g * g),
    "adagrad": lambda w, g, m, v, t: (w - 0.1 * g / (np.sqrt(v + g * g) + 1e-10), m, v + g * g),
}  # fmt: skip


def _sgd(w, g, m, lr, momentum, decay):
    g = g + decay * w
    m = momentum * m + g
    return w - lr * (g + momentum * m), m, m


def _adam(w, g, m, v, t, lr):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return w - lr * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8), m, v


@pytest.mark.parametrize("name", BY_HAND)
def test_steps_are_the_published_formula(name):
    kind, settings = OPTIMISERS[name]
    draw = np.random.default_rng(11)
    p = nn.Parameter(draw.normal(size=7))
    rule, w, m, v = getattr(optim, kind)([p], **settings), p.data.copy(), np.zeros(7), np.zeros(7)
    for t, shift in enumerate(draw.normal(size=(20, 7)), 1):
        p.grad = curvature(p.data, shift)
        rule.step()
        w, m, v = BY_HAND[name](w, curvature(w, shift), m, v, t)
    np.testing.assert_allclose(p.data, w, rtol=1e-12)


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


# ---- a user's own, and what moves


class SignMomentum(optim.Optimizer):
    """Ten lines: a moving mean of the gradient, and a step of fixed size along its smoothed sign."""

    state = ("mean",)

    def __init__(self, params, lr=0.1, keep=0.9):
        super().__init__(params, lr)
        self.keep = keep

    def update(self, w, g, state, lr, t):
        mean = self.keep * state["mean"] + (1 - self.keep) * g
        return w - lr / t.sqrt() * sv.tanh(10 * mean), {"mean": mean}


class Branching(SignMomentum):
    """The same, but it asks for a number: no engine can record that."""

    def update(self, w, g, state, lr, t):
        result = super().update(w, g, state, lr, t)
        return result if g > 0 or g < 1e9 else (w, {})


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


def test_an_update_that_cannot_be_recorded_still_works_weight_by_weight():
    for found, wanted in zip(follow(Branching), follow(SignMomentum), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-13)
    with pytest.raises(sv.ScalarvizError, match=r"sv\.where"):
        Branching([Weight(1.0)]).tape()


def test_updates_may_use_every_kind_of_node():
    class Odd(optim.Optimizer):
        def update(self, w, g, state, lr, t):
            step = sv.dot([lr, 2.0, g], [g, 0.0, 0.5]) + sv.dot([1.0, 0.0], [g, w]) + sv.dot([lr, t], [1.0, 0.0], lr)
            return w - step, {}

    w = nn.Parameter([1.0, 2.0])
    w.grad = [0.5, -1.0]
    Odd([w], lr=0.1).step()
    g = np.array([0.5, -1.0])
    np.testing.assert_allclose(w.data, np.array([1.0, 2.0]) - (0.1 * g + g * 0.5 + g + 0.2), rtol=1e-14)


def test_a_class_that_overrides_step_is_known():
    class Mine(optim.Optimizer):
        def step(self):
            for block, held in self.blocks():
                block.flat_value[held] = 7.0

    w = Weight(1.0)
    opt = Mine([w], lr=1.0)
    opt.step()
    assert w.data == 7.0
    assert optim.overrides_step(opt)
    assert optim.overrides_step(Mine)
    assert not optim.overrides_step(optim.Adam([w]))


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


def test_weights_that_are_not_held_stay():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    before = net.state_dict()
    opt = optim.Adam([net[1].weight, net[0].weight[1][0]], lr=0.1)
    net([1.0, 2.0])[0].backward()
    opt.step()
    after = net.state_dict()
    assert np.argwhere(before["0.weight"] != after["0.weight"]).tolist() == [[1, 0]]
    assert (before["1.weight"] != after["1.weight"]).all()
    np.testing.assert_array_equal(before["0.bias"], after["0.bias"])
    assert opt.numel() == 3
    opt.zero_grad()
    assert net[0].weight.computed.tolist() == [1, 1, 0, 1]


def test_what_is_held():
    p, w = nn.Parameter(np.zeros((2, 2))), Weight(1.0)
    opt = optim.SGD([p[1][0], w, p[0][1], p[1][0], w], lr=0.1)
    (block, held), (_, zero) = opt.blocks()
    assert block is p
    assert held.tolist() == [1, 2]
    assert zero.tolist() == [0]
    assert opt.owns(p, 2)
    assert not opt.owns(p, 3)
    assert opt.held_mask(p).tolist() == [False, True, True, False]
    assert not opt.held_mask(nn.Parameter([1.0])).any()


def test_hyperparameters_and_printing():
    w = Weight(1.0)
    assert optim.SGD([w], 0.1, momentum=0.9).hyperparameters() == {
        "lr": 0.1, "momentum": 0.9, "dampening": 0.0, "weight_decay": 0.0, "nesterov": False, "maximize": False,
    }  # fmt: skip
    assert optim.AdamW([w]).hyperparameters()["weight_decay"] == 0.01
    assert SignMomentum([w]).hyperparameters() == {"lr": 0.1, "keep": 0.9}
    said = "betas=(0.9, 0.999), eps=1e-08, weight_decay=0.0, amsgrad=False, maximize=False"
    assert repr(optim.Adam([w])) == f"Adam(1 weights, lr=0.001, {said})"


GRADIENTS = [np.array([[3.0, -4.0], [0.5, 0.0]]), np.array([12.0, -0.1])]


NUMBERS = [GRADIENTS, [1e-3 * g for g in GRADIENTS], [g * 0 for g in GRADIENTS],
           [np.array([[np.inf, 1.0], [2.0, 0.0]]), np.array([1.0, 2.0])],
           [np.array([[np.nan, 1.0], [2.0, 0.0]]), np.array([1.0, 2.0])]]  # fmt: skip


def ours(gradients):
    parameters = [nn.Parameter(np.zeros(g.shape)) for g in gradients]
    for p, g in zip(parameters, gradients, strict=True):
        p.grad = g
    return parameters


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


def test_weights_one_by_one_and_those_without_a_gradient():
    p, lone, none = nn.Parameter([1.0, 2.0]), Weight(1.0), Weight(5.0)
    p.grad = [3.0, 0.0]
    lone.grad = 4.0
    assert utils.clip_grad_norm_([p[0], lone, none, lone], 1.0) == 5.0
    assert math.hypot(p.grad[0], lone.grad) == pytest.approx(1.0, rel=1e-6)
    assert none.grad == 0.0
    assert utils.clip_grad_norm_([none], 1.0) == 0.0
    assert utils.clip_grad_norm_([], 1.0) == 0.0
    utils.clip_grad_value_(p, 0.1)
    assert p.grad.tolist() == [0.1, 0.0]


def test_a_length_that_is_not_finite_can_be_refused():
    own = ours([np.array([math.inf, 1.0])])
    with pytest.raises(sv.ScalarvizError, match="inf; nothing was changed"):
        utils.clip_grad_norm_(own, 1.0, error_if_nonfinite=True)
    assert own[0].grad.tolist() == [math.inf, 1.0]
