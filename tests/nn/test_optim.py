"""Optimisers: 100 steps against PyTorch, a user's own, freezing, state, the loop that everybody knows."""

from __future__ import annotations

import math

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Value, Weight, nn, optim

NAMES = [
    "sgd",
    "sgd_momentum",
    "sgd_nesterov",
    "sgd_decay",
    "sgd_all",
    "adam",
    "adam_decay",
    "adam_betas",
    "adamw",
    "adamw_decay",
    "sgd_dampening",
    "sgd_maximize",
    "adam_amsgrad",
    "adam_maximize",
    "adamw_amsgrad",
    "rmsprop",
    "rmsprop_momentum",
    "rmsprop_all",
    "adagrad",
    "adagrad_all",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("held", ["parameter", "weights"])
def test_a_hundred_steps_agree_with_pytorch(oracle, make_oracle, name, held):
    arrays, (kind, settings) = oracle("optimisers"), make_oracle.OPTIMISERS[name]
    p = nn.Parameter(arrays["start"])
    params = [p] if held == "parameter" else [Weight(x) for x in arrays["start"]]
    optimiser = getattr(optim, kind)(params, **settings)
    path = []
    for shift in arrays["shifts"]:
        if held == "parameter":
            p.grad = make_oracle.curvature(p.data, shift, np.exp)
        else:
            for w, target in zip(params, shift, strict=True):
                w.grad = make_oracle.curvature(w.data, target, math.exp)
        optimiser.step()
        path.append(p.data.copy() if held == "parameter" else [w.data for w in params])
    assert optimiser.steps == len(path) == make_oracle.STEPS
    np.testing.assert_allclose(path, arrays[name], rtol=1e-12, atol=1e-13)


def test_every_optimiser_of_the_reference_is_compared(make_oracle):
    assert set(make_oracle.OPTIMISERS) == set(NAMES)


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW"])
def test_the_loop_that_everybody_knows_learns_xor(kind):
    net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1), nn.Sigmoid())
    net.initialize(nn.init.xavier_uniform(), seed=1)
    opt = {"SGD": lambda p: optim.SGD(p, lr=1.0, momentum=0.5)}.get(kind, lambda p: getattr(optim, kind)(p, lr=0.05))(
        net.parameters()
    )
    samples, lossf = [((0, 0), 0), ((0, 1), 1), ((1, 0), 1), ((1, 1), 0)], nn.BCELoss()
    for _ in range(150):
        loss = sum(lossf(net(x), [t]) for x, t in samples) / 4
        opt.zero_grad()
        loss.backward()
        opt.step()
    assert loss.data < 0.1


def test_the_same_loop_in_pytorch_ends_at_the_same_weights():
    torch = pytest.importorskip("torch", reason="no PyTorch (extra oracle)")
    net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 3), nn.Sigmoid())
    t = torch.nn
    theirs = t.Sequential(t.Linear(3, 8), t.Tanh(), t.Linear(8, 3), t.Sigmoid()).double()
    theirs.load_state_dict({name: torch.tensor(array) for name, array in net.state_dict().items()})
    opt, other = optim.Adam(net.parameters(), lr=0.02), torch.optim.Adam(theirs.parameters(), lr=0.02)
    rng = np.random.default_rng(0)
    for _ in range(40):
        x = rng.random(3)
        opt.zero_grad()
        nn.MSELoss()(net(x), 1 - x).backward()
        opt.step()
        other.zero_grad()
        t.functional.mse_loss(theirs(torch.tensor(x)), torch.tensor(1 - x)).backward()
        other.step()
    for name, array in theirs.state_dict().items():
        np.testing.assert_allclose(net.state_dict()[name], array.numpy(), rtol=1e-11, atol=1e-13)


# ---- a user's own


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


def test_a_changed_hyperparameter_counts_at_the_next_step():
    w = Weight(1.0)
    opt = optim.SGD([w], lr=0.1, weight_decay=0.0)
    w.grad = 1.0
    opt.step()
    assert w.data == pytest.approx(0.9)
    opt.lr, opt.weight_decay = 0.5, 1.0
    opt.step()
    assert w.data == pytest.approx(0.9 - 0.5 * 1.9)


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


BAD_UPDATES = {
    "no tuple": (lambda w, g: w - g, "must return"),
    "no dict": (lambda w, g: (w, [g]), "must return"),
    "missing state": (lambda w, g: (w, {}), r"the state is \(mean\), it returned \(\)"),
    "other state": (lambda w, g: (w, {"men": g}), r"returned \(men\)"),
    "no number": (lambda w, g: (w, {"mean": "x"}), "number"),
}


@pytest.mark.parametrize("kind", BAD_UPDATES)
def test_updates_that_return_something_else_are_named(kind):
    fn, text = BAD_UPDATES[kind]

    class Wrong(optim.Optimizer):
        state = ("mean",)

        def update(self, w, g, state, lr, t):
            return fn(w, g)

    w = Weight(1.0)
    w.grad = 1.0
    with pytest.raises(sv.ScalarvizError, match=text):
        Wrong([w], lr=0.1).step()


# ---- what moves


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
    (block, held), (lone, zero) = opt.blocks()
    assert block is p
    assert held.tolist() == [1, 2]
    assert lone is w._block
    assert zero.tolist() == [0]
    assert opt.owns(p, 2)
    assert not opt.owns(p, 3)
    assert opt.held_mask(p).tolist() == [False, True, True, False]
    assert not opt.held_mask(nn.Parameter([1.0])).any()


def test_float32_stores_are_trained_in_their_precision():
    from scalarviz.scalar import Store

    p = nn.Parameter([1.0, 2.0])
    p._move(Store(4, np.float32), 1)
    p.grad = [0.1, 0.2]
    optim.SGD([p], lr=0.1).step()
    np.testing.assert_allclose(p.data, np.float32([0.99, 1.98]), rtol=1e-7)
    assert p.data.dtype == np.float32


# ---- state


@pytest.mark.parametrize("kind", [lambda p: optim.SGD(p, 0.1, momentum=0.9), optim.Adam, optim.AdamW])
def test_state_goes_round_and_training_goes_on_in_the_same_bits(kind):
    def steps(opt, p, n):
        for _ in range(n):
            p.grad = np.sin(p.data * 3)
            opt.step()

    p, q = nn.Parameter([1.0, -2.0]), nn.Parameter([0.0, 0.0])
    opt, other = kind([p]), kind([q])
    steps(opt, p, 5)
    other.load_state_dict(opt.state_dict())
    q.data = p.data
    steps(opt, p, 5)
    steps(other, q, 5)
    np.testing.assert_array_equal(p.data, q.data)
    assert other.steps == 10


def test_state_that_does_not_fit_is_refused_and_changes_nothing():
    opt = optim.Adam([nn.Parameter([1.0, 2.0])])
    good = opt.state_dict()
    for change, text in (
        ({"state": {}}, r"its state is \(exp_avg, exp_avg_sq\), got \(\)"),
        ({"state": {"exp_avg": [0.0], "exp_avg_sq": [0.0]}}, "for 2 weights"),
        ({"hyperparameters": {"momentum": 1}}, "unknown momentum"),
    ):
        with pytest.raises(sv.ScalarvizError, match=text):
            opt.load_state_dict(good | change)
    with pytest.raises(sv.ScalarvizError, match="missing steps, hyperparameters, state"):
        opt.load_state_dict({})
    assert opt.steps == 0


def test_hyperparameters_and_printing():
    w = Weight(1.0)
    assert optim.SGD([w], 0.1, momentum=0.9).hyperparameters() == {
        "lr": 0.1, "momentum": 0.9, "dampening": 0.0, "weight_decay": 0.0, "nesterov": False, "maximize": False,
    }  # fmt: skip
    assert optim.AdamW([w]).hyperparameters()["weight_decay"] == 0.01
    assert SignMomentum([w]).hyperparameters() == {"lr": 0.1, "keep": 0.9}
    said = "betas=(0.9, 0.999), eps=1e-08, weight_decay=0.0, amsgrad=False, maximize=False"
    assert repr(optim.Adam([w])) == f"Adam(1 weights, lr=0.001, {said})"


BAD = [
    (lambda w: optim.SGD([w], lr=-1), "lr must be a finite number >= 0, got -1"),
    (lambda w: optim.SGD([w], lr=math.nan), "lr"),
    (lambda w: optim.SGD([w], lr="1"), "lr must be a number"),
    (lambda w: optim.SGD([w], 0.1, momentum=-0.1), "momentum"),
    (lambda w: optim.SGD([w], 0.1, nesterov=True), "needs momentum"),
    (lambda w: optim.SGD([w], 0.1, weight_decay=math.inf), "weight_decay"),
    (lambda w: optim.Adam([w], betas=(1.0, 0.9)), r"betas\[0\]"),
    (lambda w: optim.Adam([w], betas=(0.9, -0.1)), r"betas\[1\]"),
    (lambda w: optim.Adam([w], betas=0.9), "two numbers"),
    (lambda w: optim.AdamW([w], eps=-1e-8), "AdamW: eps"),
    (lambda w: optim.SGD([], 0.1), "no parameters"),
    (lambda w: optim.SGD(w, 0.1), "params is a list"),
    (lambda w: optim.SGD(None, 0.1), "params is a list"),
    (lambda w: optim.SGD([w, Value(1.0)], 0.1), r"params\[1\] must be a Parameter or a Weight, got Value"),
    (lambda w: optim.SGD([{"params": w}, w], 0.1), "groups alone"),
    (lambda w: optim.Optimizer([w], 0.1), "update"),
    (lambda w: setattr(optim.SGD([w], 0.1), "lr", math.inf), "lr"),
]


@pytest.mark.parametrize(("attempt", "text"), BAD)
def test_bad_input_is_refused(attempt, text):
    with pytest.raises(sv.ScalarvizError, match=text):
        attempt(Weight(1.0))
