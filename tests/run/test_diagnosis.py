"""Trouble is told in words, once, at the layer where it is; and healthy networks are left in peace."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import DivergedError
from scalarviz.run.diagnosis import Trouble, diagnose

X = np.random.default_rng(0).random((64, 3))


def a_run(
    layers: Sequence[nn.Module], *, scale: float | None = 0.5, lr: float = 0.1, seed: int = 1, **more: Any
) -> sv.Run:
    net = nn.Sequential(*layers)
    net.initialize(nn.init.pytorch_default() if scale is None else nn.init.normal(0, scale), seed=seed)
    return sv.Run(net, more.pop("loss", nn.MSELoss()), more.pop("optimizer", optim.SGD)(net.parameters(), lr=lr),
                  data=more.pop("data", (X, 1 - X)), engine="numpy", **more)  # fmt: skip


def said_of(run: sv.Run) -> tuple[Trouble, ...]:
    return diagnose(run.frame(), run.tensors, run.stages)


def told(run: sv.Run) -> list[str]:
    return [trouble.text for trouble in said_of(run)]


def relus(width: int = 8) -> list[nn.Module]:
    return [nn.Linear(3, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 3)]


def tanhs(width: int = 8) -> list[nn.Module]:
    return [nn.Linear(3, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 3)]


# what is found


@pytest.mark.parametrize("steps", [0, 3])
@pytest.mark.parametrize(("layer", "name"), [(0, "0.weight"), (2, "2.weight")])
def test_a_layer_of_dead_units(layer: int, name: str, steps: int) -> None:
    with a_run(relus()) as run:
        run.model[layer].bias.data = np.full(8, -100.0)
        run.step(steps)
        assert not steps or not run.model[layer].weight.grad.any()
        (trouble,) = said_of(run)
        assert trouble == Trouble("dead", name, f"no gradient reaches {name}: all 8 units of relu are dead")


def test_a_single_dead_unit_is_spoken_of_as_one() -> None:
    with a_run([nn.Linear(3, 1), nn.ReLU(), nn.Linear(1, 3)]) as run:
        run.model[0].bias.data = [-50.0]
        assert told(run) == ["no gradient reaches 0.weight: the unit of relu is dead"]


def test_a_unit_that_lives_is_no_dead_layer() -> None:
    with a_run(relus()) as run:
        run.model[0].bias.data = [-100.0] * 7 + [1.0]
        run.model[2].weight.data = np.abs(run.model[2].weight.data) + 0.1
        run.step(2)
        assert told(run) == []


@pytest.mark.parametrize("activation", [nn.Tanh, nn.Sigmoid])
def test_a_saturated_layer(activation: type[nn.Module]) -> None:
    kind, size = activation.__name__.lower(), 7.0 if activation is nn.Tanh else 14.0
    layers = [nn.Linear(3, 8), activation(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 3)]
    with a_run(layers) as run:
        run.model[0].bias.data = [size, -size] * 4  # slopes of some 1e-5 of the largest
        run.step(2)
        before, behind = run.model[0].weight.grad, run.model[2].weight.grad
        assert 0 < np.abs(before).max() < 1e-2 * np.abs(behind).max()
        assert told(run) == [f"hardly any gradient reaches 0.weight: {kind} is saturated"]
        run.model[0].bias.data = [300.0, -300.0] * 4  # slopes that are exactly 0
        run.step(1)
        assert not run.model[0].weight.grad.any()
        assert told(run) == [f"no gradient reaches 0.weight: {kind} is saturated"]


def test_saturated_outputs_that_are_wrong() -> None:
    with a_run([nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3), nn.Sigmoid()]) as run:
        run.model[2].bias.data = [14.0] * 3
        run.step(2)
        assert run.loss > 0.1
        assert "hardly any gradient reaches 2.weight: sigmoid is saturated" in told(run)


def test_saturated_outputs_that_are_right_are_a_success() -> None:
    targets = (X > 0.5).astype(float)
    with a_run([nn.Linear(3, 3), nn.Sigmoid()], data=(X, targets)) as run:
        run.model[0].weight.data = np.eye(3) * 1e5
        run.model[0].bias.data = [-0.5e5] * 3
        run.step(2)
        assert run.frame().saturated["1"].mean() > 0.99
        assert told(run) == []


def test_weights_that_are_all_zero_let_nothing_through() -> None:
    with a_run([nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 3)]) as run:
        run.model[2].weight.data = np.zeros((3, 8))
        run.step(1)
        assert (
            told(run) == ["no gradient reaches 0.weight: all weights of 2.weight are 0"]
            or run.model[2].weight.data.any()
        )
        run.model[2].weight.data = np.zeros((3, 8))
        run.model[2].weight.frozen = True
        run.step(1)
        assert told(run) == ["no gradient reaches 0.weight: all weights of 2.weight are 0"]


@pytest.mark.parametrize(("number", "word"), [(np.nan, "NaN"), (np.inf, "infinite"), (-np.inf, "infinite")])
def test_numbers_that_are_not_finite(number: float, word: str) -> None:
    with a_run(tanhs()) as run:
        run.step(1)
        run.model[2].weight[1][2].data = number
        assert told(run) == [f"2.weight: 1 of 64 weights is {word}"]
        run.model[2].weight[1][3].data = number
        assert told(run) == [f"2.weight: 2 of 64 weights are {word}"]
        run.model[2].weight.data = np.ones((8, 8))
        run.step(1)
        frame = run.frame()
        gradient = frame.gradient.copy()
        gradient[-1] = number
        (trouble,) = diagnose(replace(frame, gradient=gradient), run.tensors, run.stages)
        assert (trouble.kind, trouble.where) == ("not finite", "4.bias")
        assert trouble.text == f"4.bias: 1 of 3 gradients is {word}"


def test_a_run_that_diverged() -> None:
    with a_run([nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 3)], lr=1e6) as run:
        with pytest.raises(DivergedError):
            run.step(200)
        (trouble,) = said_of(run)
        assert trouble.kind == "not finite"


def test_a_loss_that_is_not_finite_with_weights_that_are() -> None:
    with a_run(tanhs()) as run:
        run.step(1)
        frame = run.frame()
        for loss, word in ((np.nan, "NaN"), (np.inf, "infinite")):
            (trouble,) = diagnose(replace(frame, loss=loss), run.tensors, run.stages)
            assert trouble.text == f"the loss is {word}"


def test_a_gradient_of_before_an_edit_is_left_out() -> None:
    with a_run(relus()) as run:
        run.model[0].bias.data = np.full(8, -100.0)
        run.step(2)
        assert len(told(run)) == 1
        run.model[0].bias.data = np.full(8, 1.0)
        assert told(run) == []  # though the gradient in the frame is still 0


def test_what_is_not_finite_of_before_an_edit_is_left_out() -> None:
    with a_run(tanhs()) as run:
        run.step(1)
        frame = replace(run.frame(), gradient=np.full(run.n_weights, np.inf))
        assert [t.text for t in diagnose(frame, run.tensors, run.stages)] == [
            "0.weight: 24 of 24 gradients are infinite"
        ]
        for old in (frame, replace(run.frame(), loss=np.nan)):
            assert diagnose(replace(old, edited=True), run.tensors, run.stages) == ()


def test_numbers_that_are_partly_nan_and_partly_infinite_are_called_both() -> None:
    with a_run([nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 3)]) as run:
        run.step(2)
        for numbers, text in (
            ([np.nan, np.inf, 1.0, 2.0], "2 of 4 numbers are NaN or infinite"),
            ([np.nan, np.nan, 1.0, 2.0], "2 of 4 numbers are NaN"),
            ([1.0, -np.inf, 1.0, 2.0], "1 of 4 numbers is infinite"),
        ):
            run.model[1].running_mean = numbers
            assert [t.text for t in diagnose(run.frame(), run.tensors, run.stages)] == [f"1.running_mean: {text}"]


def test_a_convolution_is_found_by_its_name() -> None:
    pictures = np.random.default_rng(1).random((16, 1, 6, 6))
    layers = [nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32, 2)]
    with a_run(layers, data=(pictures, np.zeros((16, 2)))) as run:
        run.model[0].bias.data = [-100.0, -100.0]
        run.step(1)
        assert [t.where for t in said_of(run)] == ["0.weight"]
        assert told(run)[0].endswith("all 32 units of relu are dead")


class Residual(nn.Module):
    """Two branches that meet: a rectifier in one, a tanh in the other."""

    def __init__(self) -> None:
        self.first, self.second, self.last = nn.Linear(3, 6), nn.Linear(3, 6), nn.Linear(6, 3)
        self.relu, self.tanh = nn.ReLU(), nn.Tanh()

    def forward(self, x: Any) -> Any:
        one, two = self.relu(self.first(x)), self.tanh(self.second(x))
        return self.last([a + b for a, b in zip(one, two, strict=True)])


@pytest.mark.parametrize("steps", [0, 2])
def test_branches_are_told_apart(steps: int) -> None:
    with a_run([Residual()]) as run:
        net = run.model[0]
        run.step(steps)
        assert told(run) == []
        net.first.bias.data = np.full(6, -100.0)
        run.step(steps)
        assert told(run) == ["no gradient reaches 0.first.weight: all 6 units of relu are dead"]
        net.first.bias.data = np.zeros(6)
        net.second.bias.data = np.full(6, 50.0)
        run.step(steps)
        assert [t.where for t in said_of(run)] == ["0.second.weight"]
        assert told(run)[0].endswith("gradient reaches 0.second.weight: tanh is saturated")


class Around(nn.Module):
    """A way past a rectifier: its layer learns though all its units are dead."""

    def __init__(self) -> None:
        self.first, self.last = nn.Linear(3, 6), nn.Linear(6, 3)
        self.relu = nn.ReLU()

    def forward(self, x: Any) -> Any:
        sums = self.first(x)
        return self.last([a + b for a, b in zip(self.relu(sums), sums, strict=True)])


def test_a_way_around_a_dead_layer_leads_a_gradient() -> None:
    with a_run([Around()]) as run:
        run.model[0].first.bias.data = np.full(6, -100.0)
        run.step(1)
        assert run.frame().dead["0.relu"].all()
        assert run.model[0].first.weight.grad.any()
        assert told(run) == []


def test_a_layer_that_is_called_twice_is_left_alone() -> None:
    shared = nn.Linear(3, 3)
    with a_run([shared, nn.ReLU(), shared]) as run:
        shared.bias.data = np.full(3, -100.0)
        run.step(1)
        assert not any(t.kind == "dead" for t in said_of(run))


def test_a_model_without_a_chain_has_its_numbers_checked() -> None:
    w = sv.Weight(1.0, name="w")
    with sv.Run(
        lambda x: [w * x[0]], nn.MSELoss(), optim.SGD([w], lr=0.1), data=([[1.0]], [[2.0]]), engine="numpy"
    ) as run:
        assert told(run) == []
        w.data = float("nan")
        assert told(run) == ["w: weight is NaN"]


# what is not


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("activation", [nn.Tanh, nn.Sigmoid, nn.ReLU, nn.Softplus])
@pytest.mark.parametrize("sizes", [(), (4,), (16,), (64,), (8, 8), (16, 16), (32, 32, 32), (8,) * 8])
def test_fresh_networks_with_usual_weights_are_well(
    sizes: tuple[int, ...], activation: type[nn.Module], seed: int
) -> None:
    layers: list[nn.Module] = []
    before = 3
    for size in sizes:
        layers += [nn.Linear(before, size), activation()]
        before = size
    with a_run([*layers, nn.Linear(before, 3), nn.Sigmoid()], scale=None, seed=seed) as run:
        for steps in (0, 1, 30):
            run.step(steps)
            for trouble in said_of(run):  # a small net may have bad luck: then it is true
                assert trouble.kind == "dead"
                assert all(s.outputs <= 8 for s in run.stages if s.kind == "relu")
                tensor = next(t for t in run.tensors if t.name == trouble.where)
                assert not tensor.of(run.frame().gradient).any()


@pytest.mark.parametrize("options", [{}, {"hidden": (16, 16)}, {"optimizer": "adam"}, {"batch": 1}, {"batch": 32}])
def test_colours_are_learnt_without_an_alarm(options: dict[str, Any]) -> None:
    module = importlib.import_module("scalarviz.scenes.rgb")
    scene = module.build(module.Options(engine="numpy", **options))
    for steps in (0, 1, 10, 100, 300):
        scene.run.step(steps)
        assert told(scene.run) == []
    scene.run.close()


def test_digits_are_learnt_without_an_alarm() -> None:
    module = importlib.import_module("scalarviz.scenes.digits")
    scene = module.build(module.Options(engine="numpy"))
    for steps in (0, 1, 5, 30):
        scene.run.step(steps)
        assert told(scene.run) == []
    scene.run.close()


def test_a_network_that_is_done_is_well() -> None:
    """Gradients that are 0 because nothing is left to learn are no trouble."""
    with a_run([nn.Linear(3, 3)], data=(X, X)) as run:
        run.model[0].weight.data = np.eye(3)
        run.model[0].bias.data = np.zeros(3)
        run.step(3)
        assert not run.frame().gradient.any()
        assert told(run) == []
    with a_run(tanhs(), data=(X, np.zeros((64, 3)))) as run:
        run.model[4].weight.data, run.model[4].bias.data = np.zeros((3, 8)), np.zeros(3)
        run.step(3)
        assert run.loss == 0
        assert told(run) == []


@pytest.mark.parametrize("kind", ["Adam", "momentum"])
def test_a_state_that_a_nan_has_spoilt_is_named_until_it_is_gone(kind: str) -> None:
    net = nn.Linear(2, 1, seed=0)
    weights = net.parameters()
    optimiser = optim.Adam(weights, lr=0.01) if kind == "Adam" else optim.SGD(weights, lr=0.01, momentum=0.9)
    with sv.Run(net, nn.MSELoss(), optimiser, (np.ones((4, 2)), np.ones((4, 1))), engine="numpy") as run:
        run.step(3)
        before = run.state()
        run.set_weights(0, [np.nan])
        with pytest.raises(DivergedError, match=r"was nan before it; the optimiser's state is spoilt by it: go back"):
            run.step(2)
        run.set_weights(0, np.full(run.n_weights, 0.5))
        with pytest.raises(DivergedError, match=r"The optimiser's state of weight.* was nan before it: go back"):
            run.step(2)
        run.take(before)
        run.step(2)  # what it says helps
        assert np.isfinite(run.values).all()


def test_without_a_state_a_number_is_all_that_a_nan_needs() -> None:
    net = nn.Linear(2, 1, seed=0)
    data = np.ones((4, 2)), np.ones((4, 1))
    with sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.01), data, engine="numpy") as run:
        run.set_weights(0, [np.nan])
        with pytest.raises(DivergedError, match="was nan before it: set it to a number, or load others"):
            run.step(2)
        run.set_weights(0, np.full(run.n_weights, 0.5))
        run.step(2)
        assert np.isfinite(run.values).all()
