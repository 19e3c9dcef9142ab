"""The controls that every run has: what they read is what is set, and what they change is an edit like any other."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError
from scalarviz.run.controls import MOST_LAYERS, MOST_UNITS, Control, Reader, Slider, fewer, more
from scalarviz.run.edits import Change, Refill, SetBatchSize, SetLimits, SetOptimizer, SetSchedule
from scalarviz.run.layers import LAYERS, chain_of, hidden_edit, hidden_of
from scalarviz.run.own_controls import own_controls, tick_values
from scalarviz.run.restarted import seed_shown
from scalarviz.run.rule_controls import keep_rule, rule_control, rule_of
from scalarviz.run.run_source import RunSource

RNG = np.random.default_rng(0)
X = RNG.random((200, 2))
Y = X[:, :1] * X[:, 1:]


def run(*hidden: int, rule: str = "SGD", numbers: Any = None, **others: Any) -> sv.Run:
    sizes = (2, *hidden, 1)
    parts: list[nn.Module] = []
    for n_in, n_out in pairwise(sizes):
        parts += [nn.Linear(n_in, n_out), nn.Tanh()]
    net = nn.Sequential(*parts[:-1])
    net.initialize(nn.init.pytorch_default(), seed=0)
    held: Any = getattr(optim, rule)(net.parameters(), **({"lr": 0.05} if numbers is None else numbers))
    return sv.Run(net, nn.MSELoss(), held, (X, Y), batch_size=16, engine="numpy", dtype="float64", **others)


def reader(of: sv.Run) -> Reader:
    return Reader(of.frame(), RunSource(of))


def controls(of: sv.Run) -> dict[str, Control]:
    return {one.label: one for one in own_controls(reader(of))}


def values(of: sv.Run) -> dict[str, Any]:
    now = reader(of)
    return {label: one.value(now) for label, one in controls(of).items()}


def test_they_read_what_is_set() -> None:
    assert values(run(3)) == {
        "learning rate": 0.05, "batch": 16, "optimiser": "SGD", "momentum": None, "regularisation": "none",
        "regularisation rate": None, "activation": "tanh",
    }  # fmt: skip
    other = values(run(l2=0.01, rule="RMSprop"))
    assert (other["optimiser"], other["regularisation"], other["regularisation rate"]) == ("RMSprop", "L2", 0.01)
    assert other["activation"] is None  # nothing bends between layers where there is one


def test_arrays_have_none_of_them() -> None:
    from scalarviz.view.shown.subject import subject_of

    subject = subject_of({"a": np.eye(2)})
    assert own_controls(Reader(subject.frame(), subject.source)) == ()


@pytest.mark.parametrize(
    ("label", "value", "edit"),
    [
        ("learning rate", 0.25, SetOptimizer((("lr", 0.25),))),
        ("batch", 128, SetBatchSize(128)),
        ("optimiser", "momentum", SetOptimizer((("momentum", 0.9),))),
        ("optimiser", "Adam", Change(optimizer="Adam", numbers=(("lr", 0.01),))),
        ("regularisation", "L1", SetLimits(l1=1e-3)),
        ("regularisation", "L2", SetLimits(l2=1e-3)),
        ("activation", "relu", Change(activation="relu")),
    ],
)
def test_each_changes_a_run_as_its_edit_does(label: str, value: Any, edit: Any) -> None:
    one, other = run(4, 3), run(4, 3)
    for each in (one, other):
        each.step(5)
    found = controls(one)[label].change(value, reader(one))
    assert found is not None
    one.do(found)
    other.do(edit)
    assert values(one)[label] == value
    for each in (one, other):
        each.step(5)
    assert one.values.tobytes() == other.values.tobytes()


@pytest.mark.parametrize("label", ["optimiser", "regularisation", "activation"])
def test_what_is_set_already_is_no_edit(label: str) -> None:
    a = run(3)
    now = values(a)[label]
    assert controls(a)[label].change(now, reader(a)) is None


def test_a_penalty_keeps_its_size_when_it_becomes_the_other_and_clipping_stays() -> None:
    a = run(l1=0.02, clip_norm=1.0)
    a.do(controls(a)["regularisation"].change("L2", reader(a)))  # type: ignore[arg-type]
    a.do(controls(a)["regularisation rate"].change(0.5, reader(a)))  # type: ignore[arg-type]
    limits = a.problem.limits
    assert (limits.l1, limits.l2, limits.clip_norm) == (0.0, 0.5, 1.0)


def test_a_rate_that_adam_had_is_not_what_plain_descent_begins_with() -> None:
    a = run(rule="Adam")
    a.do(controls(a)["optimiser"].change("AdamW", reader(a)))  # type: ignore[arg-type]
    assert a.lr == 0.05  # of the same family
    a.do(controls(a)["optimiser"].change("SGD", reader(a)))  # type: ignore[arg-type]
    assert a.lr == 0.1


def test_batches_that_there_cannot_be_are_not_offered() -> None:
    assert controls(run())["batch"].choices == (1, 16, 128, 200)  # type: ignore[attr-defined]
    a = run()
    a.do(SetBatchSize(5))
    a.do(Refill(X[:5], Y[:5]))
    assert controls(a)["batch"].choices == (1, 2, 3, 4, 5)  # type: ignore[attr-defined]
    with pytest.raises(InputError):
        a.do(controls(a)["batch"].change(6, reader(a)))  # type: ignore[arg-type]
    a.do(Refill(X[:9], Y[:9]))
    assert controls(a)["batch"].choices == (1, 4, 9)  # type: ignore[attr-defined]
    a.do(SetBatchSize(1))
    a.do(Refill(X[:1], Y[:1]))
    assert values(a)["batch"] is None


def test_an_activation_that_there_is_can_be_had_beside_the_usual_ones() -> None:
    first, other = own_controls(reader(run(3)))[-1], own_controls(reader(run(3)), ("relu", "leaky_relu"))[-1]
    assert first.choices == ("tanh", "relu", "gelu", "sigmoid")  # type: ignore[attr-defined]
    assert other.choices == ("tanh", "relu", "gelu", "sigmoid", "leaky_relu")  # type: ignore[attr-defined]


def test_the_usual_rate_is_the_first_one() -> None:
    a = run()
    a.step(1)
    a.do(SetOptimizer((("lr", 0.5),)))
    a.step(1)
    rate = controls(a)["learning rate"]
    assert isinstance(rate, Slider)
    assert rate.usual == 0.05
    assert tick_values(rate) == (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)


# ---- layers


def test_layers_of_equal_shapes_go_on_and_the_others_are_those_of_a_new_network_of_the_seed() -> None:
    a = run(4)
    a.step(3)
    kept = a.frame().values[:12].copy()  # 2x4 weights and 4 biases
    a.do(hidden_edit((4, 3), reader(a)))  # type: ignore[arg-type]
    assert hidden_of(reader(a)) == (4, 3)
    fresh = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))
    fresh.initialize(nn.init.pytorch_default(), seed=0)
    wanted = np.concatenate([np.ravel(part.data) for part in fresh.parameters()])
    now = a.frame().values
    assert np.array_equal(now[:12], kept)
    assert np.allclose(now[12:], wanted[12:])
    assert values(a)["activation"] == "tanh"
    a.step(2)


def test_layers_may_all_go_and_come_again() -> None:
    a = run(4, 3)
    a.do(hidden_edit((), reader(a)))  # type: ignore[arg-type]
    assert hidden_of(reader(a)) == ()
    a.step(1)
    a.do(hidden_edit((6,), reader(a)))  # type: ignore[arg-type]
    assert hidden_of(reader(a)) == (6,)
    assert hidden_edit((6,), reader(a)) is None


def test_layers_stay_within_what_a_panel_can_show() -> None:
    a = run(4)
    a.do(hidden_edit((0, 10**9, *[2] * 20), reader(a)))  # type: ignore[arg-type]
    hidden = hidden_of(reader(a))
    assert hidden is not None
    assert len(hidden) == MOST_LAYERS
    assert (min(hidden), max(hidden)) == (1, MOST_UNITS)


class OwnSequence(nn.Sequential):
    pass


class OwnModule(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 1)

    def forward(self, x: Any) -> Any:
        return self.layer(x)


@pytest.mark.parametrize(
    "net",
    [
        nn.Sequential(nn.Linear(2, 4), nn.Softmax(), nn.Linear(4, 1)),
        nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)),
        OwnSequence(nn.Linear(2, 1)),
        nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 1)),
        nn.Sequential(nn.Linear(2, 4, bias=False), nn.Tanh(), nn.Linear(4, 1)),
        OwnModule(),
    ],
    ids=["softmax", "norm", "own", "two activations", "two biases", "no sequence"],
)
def test_other_networks_have_no_layers_to_change(net: Any) -> None:
    a = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, Y), engine="numpy")
    assert chain_of(reader(a)) is None
    assert hidden_edit((3,), reader(a)) is None


def test_a_layer_grows_and_shrinks_on_the_same_rungs() -> None:
    rung = 1
    while more(rung) < MOST_UNITS:
        assert fewer(more(rung)) == rung
        rung = more(rung)
    assert (fewer(1), more(MOST_UNITS)) == (0, MOST_UNITS)


def test_new_layers_are_drawn_as_the_others_were_and_what_has_no_weights_stays() -> None:
    net = nn.Sequential(nn.Linear(2, 3), nn.LeakyReLU(0.3), nn.Linear(3, 2), nn.LogSoftmax())
    net.initialize(nn.init.uniform(0.25, 0.75), seed=3)
    a = sv.Run(net, nn.NLLLoss(), optim.SGD(net.parameters(), lr=0.1), (X, (X[:, 0] > 0.5).astype(int)),
               seed=3, engine="numpy")  # fmt: skip
    a.do(hidden_edit((5, 4), reader(a)))  # type: ignore[arg-type]
    assert [type(part).__name__ for part in a.model] == [
        "Linear", "LeakyReLU", "Linear", "LeakyReLU", "Linear", "LogSoftmax"
    ]  # fmt: skip
    for tensor in a.tensors:
        now = tensor.of(a.frame().values)
        assert ((now >= 0.25) & (now < 0.75)).all() if tensor.role == "weight" else (now == 0).all()


@pytest.mark.parametrize("value", [3, "4,2", (0,), (1.5,), (-1, 2), (10**6,), (1,) * 7, None])
def test_units_that_are_none_are_refused(value: Any) -> None:
    with pytest.raises(InputError):
        LAYERS.taken(value)


def test_the_seed_is_that_of_the_line_that_is_shown() -> None:
    a = run()
    assert seed_shown(a.frame()) == 0
    a.step(2)
    a.restart(seed=7)
    a.step(1)
    assert seed_shown(a.frame()) == 7
    a.restart()
    assert seed_shown(a.frame()) == 7  # begun anew from the same weights
    a.undo()


# ---- an optimiser that comes back


def switched(of: sv.Run, had: dict[str, Any], *rules: str) -> None:
    for rule in rules:
        keep_rule(had, reader(of))
        edit = rule_control(had).change(rule, reader(of))
        assert edit is not None
        of.do(edit)


@pytest.mark.parametrize("first", ["SGD", "momentum", "Adam", "AdamW", "RMSprop", "Adagrad"])
@pytest.mark.parametrize("other", ["SGD", "momentum", "Adam", "AdamW"])
def test_there_and_back_at_the_first_step_is_as_if_nothing_had_been(first: str, other: str) -> None:
    if first == other:
        return
    special: dict[str, Any] = {
        "SGD": {"lr": 0.3, "weight_decay": 0.01}, "momentum": {"lr": 0.02, "momentum": 0.8, "nesterov": False},
        "Adam": {"lr": 0.07, "betas": (0.85, 0.99)}, "AdamW": {"lr": 0.03, "weight_decay": 0.2},
        "RMSprop": {"lr": 0.02, "alpha": 0.9}, "Adagrad": {"lr": 0.2},
    }[first]  # fmt: skip
    rule = "SGD" if first == "momentum" else first
    one, plain = run(3, rule=rule, numbers=special), run(3, rule=rule, numbers=special)
    switched(one, {}, other, first)
    assert dict(one.optimizer.hyperparameters()) == dict(plain.optimizer.hyperparameters())
    for each in (one, plain):
        each.step(4)
    assert one.values.tobytes() == plain.values.tobytes()


def test_a_rule_that_comes_back_has_the_rate_it_had_last() -> None:
    a = run(3)
    had: dict[str, Any] = {}
    a.do(SetOptimizer((("lr", 0.7),)))
    switched(a, had, "Adam")
    assert a.lr == 0.01  # usual, as it was not there yet
    a.do(SetOptimizer((("lr", 0.002),)))
    switched(a, had, "SGD")
    assert a.lr == 0.7
    switched(a, had, "Adam")
    assert a.lr == 0.002
    switched(a, had, "AdamW")
    assert a.lr == 0.002  # of the same family


class OfScene:
    @staticmethod
    def rate_of(rule: str) -> float:
        return {"sgd": 0.5, "momentum": 0.4, "adam": 0.03, "adamw": 0.02}[rule]


def test_a_schedule_that_ends_with_its_optimiser_is_said() -> None:
    a = run(3)
    a.do(SetSchedule(optim.lr_scheduler.LinearLR(a.optimizer, 1.0, 0.0, total_iters=100)))
    a.step(10)
    had: dict[str, Any] = {}
    switched(a, had, "Adam")
    assert a.log[-1].what == "optimizer = Adam, lr = 0.01, schedule = None"
    switched(a, had, "SGD")
    assert a.log[-1].what == "optimizer = SGD, lr = 0.045"
    assert a.lr == pytest.approx(0.045)  # that of the moment at which it was left


def test_a_rule_that_was_not_there_begins_with_the_rate_of_the_scene() -> None:
    a = run(3, rule="Adam")
    for rule, rate in (("SGD", 0.5), ("AdamW", 0.02), ("momentum", 0.4)):
        edit = rule_control({}).change(rule, Reader(a.frame(), RunSource(a), OfScene()))
        assert edit is not None
        a.do(edit)
        assert (a.lr, rule_of(reader(a))) == (rate, rule)


def test_another_rule_that_there_was_is_offered_again() -> None:
    a = run(3, rule="RMSprop")
    had: dict[str, Any] = {}
    switched(a, had, "Adam")
    assert rule_control(had).choices == ("SGD", "momentum", "Adam", "AdamW", "RMSprop")
    switched(a, had, "RMSprop")
    assert rule_of(reader(a)) == "RMSprop"


def test_the_momentum_has_a_slider_where_there_is_one() -> None:
    a = run(3)
    assert values(a)["momentum"] is None
    switched(a, {}, "momentum")
    assert values(a)["momentum"] == 0.9
    a.do(controls(a)["momentum"].change(0.5, reader(a)))  # type: ignore[arg-type]
    assert (values(a)["momentum"], values(a)["optimiser"]) == (0.5, "momentum")
    other = run(3, numbers={"lr": 0.05, "momentum": 0.5})
    for each in (a, other):
        each.step(4)
    assert a.values.tobytes() == other.values.tobytes()
    a.do(controls(a)["momentum"].change(0.0, reader(a)))  # type: ignore[arg-type]
    assert (values(a)["momentum"], values(a)["optimiser"]) == (None, "SGD")
    with pytest.raises(InputError):
        a.do(controls(a)["momentum"].change(-0.1, reader(a)))  # type: ignore[arg-type]
