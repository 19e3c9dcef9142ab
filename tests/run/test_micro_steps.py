"""Micro-steps: how many there are, and that every one's numbers give its result."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim

X = np.random.default_rng(0).random((64, 3))


def rgb(optimizer=optim.SGD, **options):
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    return Run(net, nn.MSELoss(), optimizer(net.parameters(), lr=0.5), (X, 1 - X), engine="numpy", **options)


@pytest.mark.parametrize("sample", [None, 7])
@pytest.mark.parametrize("optimizer", [optim.SGD, optim.Adam])
def test_the_twelve_weights_have_44(optimizer, sample):
    run = rgb(optimizer)
    run.step(3)
    opened = run.open(sample=sample)
    counts = Counter(step.phase for step in opened.micro_steps())
    assert counts == {"zero": 1, "forward": 15, "loss": 1, "backward": 3, "gradients": 12, "update": 12}
    phases = opened.phases()
    assert [phase.words for phase in phases] == [
        "12 gradients cleared", "9 products, 3 sums, 3 σ", f"{opened.loss:.4g}", "3 δ", "12 gradients", "12 weights"
    ]  # fmt: skip
    assert [phase.start for phase in phases] == [0, 1, 16, 17, 20, 32]
    for k, phase in enumerate(opened.micro_steps()):
        assert phase.phase == next(p.name for p in phases if p.start <= k < p.start + p.count)


def test_the_factors_of_one_sample_give_the_result():
    run = rgb()
    run.step(3)
    for step in run.open(sample=7).micro_steps():
        if step.kind in ("product", "delta", "gradient"):
            assert len(step.factors) == 2
            assert np.prod(step.factors) == pytest.approx(step.value, rel=1e-12)
        elif step.kind == "sum":
            assert len(step.factors) == 4
            assert sum(step.factors) == pytest.approx(step.value, rel=1e-12)
        elif step.kind == "unit":
            assert 1 / (1 + np.exp(-step.factors[0])) == pytest.approx(step.value, rel=1e-12)


def test_the_mean_of_a_batch_adds_up_too():
    run = rgb()
    run.step(3)
    opened = run.open()
    steps = opened.micro_steps()
    sums = [step for step in steps if step.kind == "sum"]
    assert [sum(step.factors) for step in sums] == pytest.approx([step.value for step in sums], rel=1e-12)
    np.testing.assert_allclose([step.value for step in sums], opened.rows["0"].mean(axis=1), rtol=1e-12)
    gradients = {int(step.weights[0]): step.value for step in steps if step.kind == "gradient"}
    assert [gradients[i] for i in range(12)] == opened.gradient.tolist()
    assert all("mean of 64" in step.numbers for step in steps if step.kind == "gradient")


def test_the_last_ones_are_the_new_weights_in_rows():
    run = rgb()
    opened = run.open()
    updates = [step for step in opened.micro_steps() if step.phase == "update"]
    assert [int(step.weights[0]) for step in updates] == [0, 1, 2, 9, 3, 4, 5, 10, 6, 7, 8, 11]
    assert [step.value for step in updates] == [opened.new_values[step.weights[0]] for step in updates]
    assert updates[0].formula == "w − lr · g"


def test_gradients_arrive_from_the_outputs():
    arriving = [int(step.weights[0]) for step in rgb().open().micro_steps() if step.phase == "gradients"]
    assert arriving == [9, 10, 11, 2, 5, 8, 1, 4, 7, 0, 3, 6]


def test_where_a_delta_comes_from_is_said_in_symbols():
    run = rgb()
    formulas = {step.formula for step in run.open(sample=0).micro_steps() if step.phase == "backward"}
    assert formulas == {"2/3 · (y − t) · y · (1 − y)"}


def test_a_frozen_weight_stays_and_says_so():
    run = rgb()
    run.model[0].weight[1][1].frozen = True
    update = next(s for s in run.open().micro_steps() if s.phase == "update" and s.weights[0] == 4)
    assert "stays" in update.numbers
    assert "frozen" in update.numbers
    assert update.value == run.values[4]


def test_a_larger_network_goes_by_stages():
    net = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 3), nn.Sigmoid())
    run = Run(net, nn.MSELoss(), optim.Adam(net.parameters()), (X, X), engine="numpy")
    steps = run.open().micro_steps()
    assert [(s.phase, s.stage) for s in steps] == [
        ("zero", ""), ("forward", "0"), ("forward", "1"), ("forward", "2"), ("forward", "3"), ("loss", ""),
        ("backward", "2"), ("backward", "0"), ("gradients", "2"), ("gradients", "0"), ("update", "0"), ("update", "2"),
    ]  # fmt: skip
    for phase in ("gradients", "update"):
        weights = np.concatenate([s.weights for s in steps if s.phase == phase])
        assert sorted(weights.tolist()) == list(range(run.n_weights))


def picture():
    net = nn.Sequential(nn.Conv2d(1, 2, 2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(2, 3))
    data = np.random.default_rng(0).random((8, 1, 3, 3)), np.arange(8) % 3
    return Run(net, nn.CrossEntropyLoss(), optim.SGD(net.parameters(), lr=0.1), data, engine="numpy")


def formula():
    w = [sv.Weight(0.3 + k, name=f"w{k}") for k in range(3)]
    return Run(
        lambda x: [(w[0] * x[0]).tanh() * w[1] + w[0]], nn.MSELoss(), optim.SGD([*w], lr=0.1), (X[:, :1], X[:, 1:2]),
        engine="numpy",
    )  # fmt: skip


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.norm = nn.Linear(3, 3, seed=1), nn.LayerNorm(3)

    def forward(self, x):
        return [u + v for u, v in zip(x, self.norm(self.a(x)), strict=True)]


def residual():
    net = nn.Sequential(Norm(), nn.Linear(3, 1))
    return Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, X[:, :1]), engine="numpy")


@pytest.mark.parametrize("make", [picture, formula, residual])
@pytest.mark.parametrize("sample", [None, 3])
def test_every_weight_has_a_gradient_and_an_update_in_any_network(make, sample):
    opened = make().open(sample=sample)
    for phase in ("gradients", "update"):
        found = [s for s in opened.micro_steps() if s.phase == phase]
        assert sorted(int(s.weights[0]) for s in found) == list(range(len(opened.values)))
    values = {int(s.weights[0]): s.value for s in opened.micro_steps() if s.phase == "gradients"}
    assert [values[i] for i in range(len(opened.values))] == opened.gradient.tolist()
    for step in opened.micro_steps():
        if step.kind in ("delta", "gradient") and step.factors:
            assert np.prod(step.factors) == pytest.approx(step.value, rel=1e-10, abs=1e-14)


def test_a_network_of_one_layer_beside_a_weight_that_nothing_reads():
    """The layer has no name, and so has what belongs to no stage."""
    net, lone = nn.Linear(3, 2, seed=1), sv.Weight(0.5)
    run = Run(net, nn.MSELoss(), optim.SGD([*net.parameters(), lone], lr=0.1), (X, X[:, :2]), engine="numpy")
    steps = run.open(sample=0).micro_steps()
    assert [int(s.weights[0]) for s in steps if s.phase == "update"] == [0, 1, 2, 6, 3, 4, 5, 7, 8]
    assert [int(s.weights[0]) for s in steps if s.phase == "gradients"] == [8, 6, 7, 2, 5, 1, 4, 0, 3]
    last = next(s for s in steps if s.phase == "gradients")
    assert (last.numbers, last.value) == ("nothing reads it: 0", 0.0)
    assert [s.stage for s in steps if s.kind == "delta"] == ["", ""]


def test_weights_that_are_used_many_times_go_by_stages():
    layer = nn.Linear(3, 3, seed=1)
    net = nn.Sequential(*[layer, nn.Tanh()] * 40)
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, X), engine="numpy")
    steps = run.open().micro_steps()
    assert Counter(s.phase for s in steps) == {
        "zero": 1, "forward": 80, "loss": 1, "backward": 40, "gradients": 1, "update": 1
    }  # fmt: skip


def test_every_use_of_tied_weights_has_its_deltas():
    layer = nn.Linear(2, 2, seed=1)
    net = nn.Sequential(layer, nn.Tanh(), layer)
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X[:, :2], X[:, 1:]), engine="numpy")
    steps = run.open(sample=2).micro_steps()
    assert [(s.stage, *s.units.tolist()) for s in steps if s.kind == "delta"] == [
        ("0 (2)", 0), ("0 (2)", 1), ("0", 0), ("0", 1)
    ]  # fmt: skip
    assert [s.formula for s in steps if s.kind == "delta"] == ["(y − t)"] * 2 + ["(Σ w · δ) · (1 − y²)"] * 2
    assert {s.numbers.partition(" = ")[0] for s in steps if s.kind == "gradient"} == {"2 products"}


@pytest.mark.parametrize("sample", [None, 5])
def test_an_output_that_the_loss_does_not_read_is_computed_and_asks_for_nothing(sample):
    net = nn.Sequential(nn.Linear(3, 2, seed=1), nn.Sigmoid())
    loss = lambda outputs, targets: (outputs[0] - targets[0]) ** 2  # noqa: E731
    run = Run(net, loss, optim.SGD(net.parameters(), lr=0.1), (X, X[:, :1]), engine="numpy", dtype="float64")
    opened = run.open(sample=sample)
    x = opened.inputs.mean(axis=1)
    for step in opened.micro_steps():
        if step.kind == "product":
            w = opened.values[step.weights[0]]
            assert step.factors == pytest.approx((w, x[step.column]))
        if step.kind in ("gradient", "delta") and 1 in step.units:
            assert step.value == 0
    sums = [step for step in opened.micro_steps() if step.kind == "sum"]
    assert [step.value for step in sums] == pytest.approx([sum(step.factors) for step in sums])
    assert np.array_equal(opened.gradient[[3, 4, 5, 7]], np.zeros(4))
    assert np.array_equal(opened.deltas["0"][1], np.zeros(opened.shown))
    run.step(1)
    assert np.array_equal(run.frame().gradient[[3, 4, 5, 7]], np.zeros(4))


def test_every_printed_equation_is_true():
    run = rgb(optim.Adam)
    run.step(50)
    for sample in range(12):
        for step in run.open(sample=sample).micro_steps():
            left, sign, right = step.numbers.rpartition(" = ")
            assert "≈" not in step.numbers
            if step.kind in ("product", "delta", "gradient"):
                a, b = (float(part.strip("()").replace("−", "-")) for part in left.split(" · "))
                assert f"{a * b:.4g}".replace("-", "−") == right
            elif step.kind == "sum":
                parts = left.replace("− ", "+ −").split(" + ")
                found = sum(float(part.replace("−", "-")) for part in parts)
                assert f"{found:.4g}".replace("-", "−") == right
            assert sign or step.kind in ("clear", "loss")
