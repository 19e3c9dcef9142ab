"""What a hand may set: a control reads what is set at a moment, and changes it by an edit like any other.

Of the internals it takes the controls that every run has, and `RunSource`: a view alone puts them together.
"""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalarviz as sv
from kit.learning import make_optimizer
from kit.networks import mlp
from kit.refusals import refusals
from kit.runs import bits, make_run
from scalarviz import nn, optim
from scalarviz.errors import InputError, StateError, TypeMismatchError
from scalarviz.run.controls import (
    MOST_LAYERS,
    MOST_UNITS,
    Button,
    Control,
    Reader,
    Segments,
    Slider,
    Switch,
    fewer,
    more,
)
from scalarviz.run.edits import Change, Refill, SetBatchSize, SetLimits, SetOptimizer, SetSchedule
from scalarviz.run.layers import LAYERS, hidden_edit, hidden_of
from scalarviz.run.own_controls import own_controls, tick_values
from scalarviz.run.restarted import seed_shown
from scalarviz.run.rule_controls import keep_rule, rule_control, rule_of
from scalarviz.run.run_source import RunSource

SETS = {"value": lambda reader: 1.0, "change": lambda value, reader: None}


def reader(run, options=None):
    return Reader(run.frame(), RunSource(run), options)


def named(run):
    return {one.label: one for one in own_controls(reader(run))}


def values(run):
    return {label: one.value(reader(run)) for label, one in named(run).items()}


def move(run, label, value):
    """Set a control of a run."""
    run.do(named(run)[label].change(value, reader(run)))


def run_of(rule="sgd", **options):
    return make_run("mlp", optimizer=rule, samples=200, batch_size=16, **options)


# ---- descriptions


def slider(**others):
    return Slider("noise", "--noise", "More noise.", **({"least": 0.0, "most": 1.0} | SETS | others))


def switch(label="a", flag="", does="Does."):
    return Switch(label, flag, does, **SETS)


def segments(choices):
    return Segments("kind", "", "Does.", choices=choices, **SETS)


def scene(**options):
    return sv.Scene("s", make_run(), **options)


T, V = TypeMismatchError, InputError
HUGE = 10**400
ROWS = {
    "label": (lambda: switch(3), T, "label", 3),
    "no label": (lambda: switch(""), V, "label", "1 to 28"),
    "two lines": (lambda: switch("a\nb"), V, "label", "1 to 28"),
    "long label": (lambda: switch("a" * 29), V, "label", "1 to 28"),
    "flag": (lambda: switch("a", "noise"), V, "flag", "noise", "--name"),
    "no flag": (lambda: switch("a", None), T, "flag"),
    "nothing done": (lambda: switch("a", "", " "), V, "what it does", "1 to 120"),
    "much done": (lambda: switch("a", "", "a" * 121), V, "what it does", "1 to 120"),
    "done is None": (lambda: switch("a", "", None), T, "what it does"),
    "value": (lambda: slider(value=3), T, "value", "function"),
    "change": (lambda: slider(change=None), T, "change", "function"),
    "anew": (lambda: slider(anew="yes"), T, "anew", "yes", "True or False"),
    "least": (lambda: slider(least="0"), T, "least", "number"),
    "most": (lambda: slider(most=True), T, "most", "number", "True"),
    "infinite": (lambda: slider(most=math.inf), V, "most", "finite", "inf"),
    **{f"huge {end}": (lambda end=end: slider(**{end: HUGE}), V, end, "finite") for end in ("least", "most", "usual")},
    "empty track": (lambda: slider(least=1.0), V, 1.0, "least < most"),
    "log": (lambda: slider(log=True), V, "0 < least < most"),
    "log is a number": (lambda: slider(log=2), T, "log", "True or False"),
    "whole": (lambda: slider(whole=2), T, "whole", "True or False"),
    "usual outside": (lambda: slider(usual=2.0), V, "usual", 2.0, "0 to 1"),
    "usual is a text": (lambda: slider(usual="a"), T, "usual", "number"),
    "usual is NaN": (lambda: slider(usual=math.nan), V, "usual", "finite"),
    "a text": (lambda: segments("abc"), T, "abc", "row of values"),
    "a number": (lambda: segments(3), T, 3, "row of values"),
    "one": (lambda: segments((1,)), V, "two to twelve"),
    "thirteen": (lambda: segments(range(13)), V, "two to twelve"),
    "the same twice": (lambda: segments((1, 2, 1)), V, "different"),
    "no kind": (lambda: Control("a", "", "Does.", **SETS), T, "Button, Slider, Segments, Switch"),
    "no value": (lambda: Switch("a", "", "Does.", change=lambda v, r: None), V, "value="),
    "taken: a text": (lambda: slider().taken("1"), T, "'1'", "number"),
    "taken: True": (lambda: slider().taken(True), T, "True", "number"),
    "taken: NaN": (lambda: slider().taken(math.nan), V, "nan", "finite"),
    "taken: huge": (lambda: slider().taken(HUGE), V, "finite"),
    "taken: half": (lambda: slider(whole=True).taken(0.5), V, 0.5, "whole"),
    "taken: another": (lambda: segments(("a", "b")).taken("c"), V, "'c'", "a, b"),
    "taken: yes": (lambda: switch("on").taken("yes"), T, "yes", "True or False"),
    **{f"units {units}": (lambda units=units: LAYERS.taken(units), V, "layers")
       for units in (3, "4,2", (0,), (1.5,), (-1, 2), (10**6,), (1,) * 7, None)},
    "scene: no tuple": (lambda: scene(controls=slider()), T, "Button"),
    "scene: none": (lambda: scene(controls=(3,)), T, "Button"),
    "scene: twice": (lambda: scene(controls=(slider(), slider())), V, "noise"),
    "scene: command": (lambda: scene(command="scalarviz rgb"), T, "command", "function"),
    "batch": (lambda: move(run_of(), "batch", 201), V, 201),
    "momentum": (lambda: move(run_of("sgd_momentum"), "momentum", -0.1), V, "-0.1"),
}  # fmt: skip


@refusals(ROWS)
def test_refused(refusal):
    refusal.check()


def test_a_scene_keeps_what_it_was_given():
    noise, press = slider(), Button("a", "", "Does.", change=lambda value, reader: None)
    made = scene(controls=[noise, press], command=lambda reader: f"scalarviz s {reader.options}", options=7)
    assert made.controls == (noise, press)
    assert made.command(reader(made.run, 7)) == "scalarviz s 7"
    assert scene().controls == ()
    assert press.value(reader(made.run)) is True
    assert replace(noise, anew=True).anew


@given(st.floats(0, 1), st.booleans())
def test_a_place_on_the_track_is_its_value_and_back(share, log):
    track = slider(least=1e-3, most=10.0, log=log)
    found = track.share(track.at(share))
    assert abs(found - share) < 0.006  # three digits are kept
    assert track.at(found) == track.at(share)


def test_decades_are_equally_long_where_a_slider_is_logarithmic():
    track = slider(least=1e-3, most=10.0, log=True)
    assert [track.at(k / 4) for k in range(5)] == [0.001, 0.01, 0.1, 1.0, 10.0]
    assert [track.share(value) for value in (1e-9, 0.001, 0.1, 10.0, 1e9, math.nan)] == [0, 0, 0.5, 1, 1, 0]
    assert slider(least=0, most=10, whole=True).at(0.44) == 4.0
    assert tick_values(track) == (1e-3, 1e-2, 1e-1, 1.0, 10.0)
    assert tick_values(slider()) == (0.0, 0.5, 1.0)


# ---- the moment that is read


def test_a_value_belongs_to_the_moment_that_is_read():
    run = run_of()
    before = reader(run)
    run.step(2)
    for edit in (SetOptimizer((("lr", 0.25), ("momentum", 0.9))), SetBatchSize(8), SetLimits(l2=0.01)):
        run.do(edit)
    x, y = run.samples()
    run.do(Refill(1 - x, y))
    for one, wanted in ((before, (0.05, 0.0, 16, 0.0)), (reader(run, 3), (0.25, 0.9, 8, 0.01))):
        had = one.settings
        assert (had.numbers["lr"], had.numbers["momentum"], had.batch_size, had.limits.l2) == wanted
        assert (had.optimizer, had.samples, had.sampling, had.seed) == ("SGD", 200, "epochs", 3)
        assert np.array_equal(one.samples()[0], x if one is before else 1 - x)
    now = reader(run, 3)
    assert (now.options, now.facts.optimizer) == (3, "SGD")
    assert [stage.kind for stage in now.stages] == ["linear", "tanh", "linear", "sigmoid"]
    assert [tensor.name for tensor in now.tensors] == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert before.data is not now.data is reader(run).data


def test_what_learns_nothing_has_no_settings_no_samples_and_no_controls():
    watched = sv.watch({"a": np.eye(3)})
    one = Reader(watched.frame(), watched)
    assert (one.settings, one.data, one.stages, own_controls(one)) == (None, None, (), ())
    with pytest.raises(StateError, match="samples"):
        one.samples()


# ---- those that every run has

USUAL = {"learning rate": 0.05, "batch": 16, "optimiser": "SGD", "momentum": None, "regularisation": "none",
         "regularisation rate": None, "activation": "tanh"}  # fmt: skip
MOVES = [
    ("learning rate", 0.25, SetOptimizer((("lr", 0.25),)), {}),
    ("batch", 128, SetBatchSize(128), {}),
    ("optimiser", "momentum", SetOptimizer((("momentum", 0.9),)), {"momentum": 0.9}),
    ("optimiser", "Adam", Change(optimizer="Adam", numbers=(("lr", 0.01),)), {"learning rate": 0.01}),
    ("regularisation", "L1", SetLimits(l1=1e-3), {"regularisation rate": 1e-3}),
    ("regularisation", "L2", SetLimits(l2=1e-3), {"regularisation rate": 1e-3}),
    ("activation", "relu", Change(activation="relu"), {}),
]


@pytest.mark.parametrize(("label", "value", "edit", "more"), MOVES)
def test_each_changes_a_run_as_its_edit_does_and_reads_it(label, value, edit, more):
    one, other = run_of(), run_of()
    assert values(one) == USUAL
    for each in (one, other):
        each.step(3)
    move(one, label, value)
    other.do(edit)
    assert values(one) == USUAL | {label: value} | more
    if label not in ("learning rate", "batch"):
        assert named(one)[label].change(value, reader(one)) is None  # what is set already is no edit
    for each in (one, other):
        each.step(3)
    assert bits(one) == bits(other)
    rate = named(one)["learning rate"]
    assert (rate.usual, tick_values(rate)) == (0.05, (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0))


def test_a_penalty_keeps_its_size_when_it_becomes_the_other_and_clipping_stays():
    run = run_of("rmsprop", l1=0.02, clip_norm=1.0)
    assert values(run)["optimiser"] == "RMSprop"
    move(run, "regularisation", "L2")
    assert values(run)["regularisation rate"] == 0.02
    move(run, "regularisation rate", 0.5)
    limits = run.frame().settings.limits
    assert (limits.l1, limits.l2, limits.clip_norm) == (0.0, 0.5, 1.0)


def test_choices_are_those_that_there_can_be():
    run = run_of()
    for count, wanted in ((200, (1, 16, 128, 200)), (5, (1, 2, 3, 4, 5)), (9, (1, 4, 9))):
        x, y = run.samples()
        run.do(SetBatchSize(min(count, 4)))
        run.do(Refill(np.tile(x, (9, 1))[:count], np.tile(y, (9, 1))[:count]))
        assert set(wanted) <= set(named(run)["batch"].choices)
        assert max(named(run)["batch"].choices) == count
    run.do(SetBatchSize(1))
    run.do(Refill(x[:1], y[:1]))
    assert values(run)["batch"] is None
    for bends, more_of in (((), ()), (("relu", "leaky_relu"), ("leaky_relu",))):
        assert own_controls(reader(run), bends)[-1].choices == ("tanh", "relu", "gelu", "sigmoid", *more_of)


# ---- an optimiser that comes back


def switched(run, had, *rules):
    for rule in rules:
        keep_rule(had, reader(run))
        run.do(rule_control(had).change(rule, reader(run)))


RULES = {"SGD": "sgd_decay", "momentum": "sgd_momentum", "Adam": "adam_betas", "AdamW": "adamw_decay",
         "RMSprop": "rmsprop_all", "Adagrad": "adagrad_all"}  # fmt: skip


@pytest.mark.parametrize("first", RULES)
def test_there_and_back_at_the_first_step_is_as_if_nothing_had_been(first):
    for other in {"SGD", "momentum", "Adam", "AdamW"} - {first}:
        one, plain = run_of(RULES[first]), run_of(RULES[first])
        switched(one, {}, other, first)
        one.step(3)
        plain.step(3)
        assert one.optimizer.hyperparameters() == plain.optimizer.hyperparameters()
        assert one.values.tobytes() == plain.values.tobytes()


def test_a_rule_has_the_rate_it_had_last_that_of_its_family_of_the_scene_or_the_usual_one():
    run, had = run_of(), {"RMSprop": {}}
    run.do(SetOptimizer((("lr", 0.7),)))
    for rule, wanted in (("Adam", 0.01), ("SGD", 0.7), ("Adam", 0.002), ("AdamW", 0.002), ("RMSprop", 0.002)):
        switched(run, had, rule)
        assert (run.lr, rule_of(reader(run))) == (wanted, rule)
        if wanted == 0.01:
            run.do(SetOptimizer((("lr", 0.002),)))
    assert rule_control(had).choices == ("SGD", "momentum", "Adam", "AdamW", "RMSprop")
    run = run_of("adam")
    rates = {"sgd": 0.5, "momentum": 0.4, "adam": 0.03, "adamw": 0.02}
    for rule, rate in (("SGD", 0.5), ("AdamW", 0.02), ("momentum", 0.4)):
        run.do(rule_control({}).change(rule, reader(run, SimpleNamespace(rate_of=rates.__getitem__))))
        assert (run.lr, rule_of(reader(run))) == (rate, rule)
    move(run, "optimiser", "Adam")
    move(run, "optimiser", "SGD")
    assert run.lr == 0.1


def test_a_schedule_ends_with_its_optimiser():
    run, had = run_of(), {}
    run.do(SetSchedule(optim.lr_scheduler.LinearLR(run.optimizer, 1.0, 0.0, total_iters=100)))
    run.step(10)
    switched(run, had, "Adam")
    assert run.optimizer.lr_schedule is None
    assert "schedule" in run.log[-1].what
    switched(run, had, "SGD")
    assert run.lr == pytest.approx(0.045)  # that of the moment at which it was left


def test_the_momentum_has_a_slider_where_there_is_one():
    run, other = run_of(), run_of()
    switched(run, {}, "momentum")
    move(run, "momentum", 0.5)
    assert (values(run)["momentum"], values(run)["optimiser"]) == (0.5, "momentum")
    other.change(momentum=0.5)
    for each in (run, other):
        each.step(3)
    assert bits(run) == bits(other)
    move(run, "momentum", 0.0)
    assert (values(run)["momentum"], values(run)["optimiser"]) == (None, "SGD")


@pytest.mark.parametrize("act", [
    lambda run, had: switched(run, had, "SGD"), lambda run, had: move(run, "momentum", 0.0),
])  # fmt: skip
def test_sgd_looks_no_further_ahead_than_its_momentum(act):
    """Nesterov's rule needs momentum: it goes with it, and with the rule that had it it comes back."""
    run, had = run_of("sgd_nesterov"), {}
    keep_rule(had, reader(run))
    act(run, had)
    assert (rule_of(reader(run)), run.optimizer.nesterov) == ("SGD", False)
    run.step(2)
    switched(run, had, "momentum")
    assert (run.optimizer.momentum, run.optimizer.nesterov) == (0.9, True)


# ---- layers


def layered(net, loss=None, targets=2):
    X = np.random.default_rng(0).random((20, 2))
    Y = (X[:, 0] > 0.5).astype(int) if loss else X @ np.ones((2, targets))
    return sv.Run(net, loss or nn.MSELoss(), make_optimizer("sgd", net.parameters()), (X, Y), seed=3, engine="numpy")


def plain(*hidden, last=2):
    net = mlp(2, *hidden, last, last="Identity")(nn)
    net.initialize(nn.init.pytorch_default(), seed=3)
    return net


def test_layers_of_equal_shapes_go_on_and_the_others_are_those_of_a_new_network_of_the_seed():
    run = layered(plain(4))
    run.step(3)
    kept = run.values[:12].copy()  # 4 x 2 weights and 4 biases
    run.do(hidden_edit((4, 3), reader(run)))
    fresh = np.concatenate([np.ravel(part.data) for part in plain(4, 3).parameters()])
    assert np.array_equal(run.values[:12], kept)
    assert np.allclose(run.values[12:], fresh[12:])
    assert values(run)["activation"] == "tanh"
    for hidden in ((4, 3), (), (6,)):  # all may go, and come again
        if hidden != hidden_of(reader(run)):
            run.do(hidden_edit(hidden, reader(run)))
        assert hidden_of(reader(run)) == hidden
        assert hidden_edit(hidden, reader(run)) is None
        run.step(1)
    run.do(hidden_edit((0, 10**9, *[2] * 20), reader(run)))
    hidden = hidden_of(reader(run))
    assert (len(hidden), min(hidden), max(hidden)) == (MOST_LAYERS, 1, MOST_UNITS)


class OwnSequence(nn.Sequential):
    pass


OTHERS = {
    "softmax": lambda: nn.Sequential(nn.Linear(2, 4), nn.Softmax(), nn.Linear(4, 1)),
    "norm": lambda: nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)),
    "own": lambda: OwnSequence(nn.Linear(2, 1)),
    "two activations": lambda: nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 1)),
    "two biases": lambda: nn.Sequential(nn.Linear(2, 4, bias=False), nn.Tanh(), nn.Linear(4, 1)),
    "no sequence": lambda: nn.Linear(2, 1),
}


@pytest.mark.parametrize("net", OTHERS)
def test_other_networks_have_no_layers_to_change(net):
    run = layered(OTHERS[net](), targets=1)
    assert hidden_of(reader(run)) is None
    assert hidden_edit((3,), reader(run)) is None


def test_a_layer_grows_and_shrinks_on_the_same_rungs():
    rung = 1
    while more(rung) < MOST_UNITS:
        assert fewer(more(rung)) == rung
        rung = more(rung)
    assert (fewer(1), more(MOST_UNITS)) == (0, MOST_UNITS)


def test_new_layers_are_drawn_as_the_others_were_and_what_has_no_weights_stays():
    net = nn.Sequential(nn.Linear(2, 3), nn.LeakyReLU(0.3), nn.Linear(3, 2), nn.LogSoftmax())
    net.initialize(nn.init.uniform(0.25, 0.75), seed=3)
    run = layered(net, nn.NLLLoss())
    run.do(hidden_edit((5, 4), reader(run)))
    kinds = [type(part).__name__ for part in run.model]
    assert kinds == ["Linear", "LeakyReLU", "Linear", "LeakyReLU", "Linear", "LogSoftmax"]
    for tensor in run.tensors:
        now = tensor.of(run.values)
        assert ((now >= 0.25) & (now < 0.75)).all() if tensor.role == "weight" else (now == 0).all()


@pytest.mark.parametrize("steps", [0, 1])
@pytest.mark.parametrize("budget", [None, 0])
def test_the_seed_is_that_of_the_line_that_is_shown_though_its_branch_made_room(steps, budget):
    run = make_run(seed=0)
    run.timeline.budget = run.timeline.budget if budget is None else budget
    seeds = [seed_shown(run.frame())]
    for how in ({"seed": 7}, {}, {"seed": 9}):  # without one it begins anew with the same weights
        run.step(steps)
        run.restart(**how)
        seeds.append(seed_shown(run.frame()))
    assert seeds == [0, 7, 7, 9]
    if budget is None:
        run.undo()
        assert seed_shown(run.frame()) == 7
