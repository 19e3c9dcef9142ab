"""What a hand may set: a control reads what is set at a moment, and changes it by an edit like any other.

Of the internals it takes the controls that every run has: a window alone puts them together.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalarviz as sv
from kit.commands import reader_of
from kit.learning import make_optimizer
from kit.networks import mlp
from kit.refusals import refusals
from kit.runs import bits, make_run
from scalarviz import nn
from scalarviz.errors import InputError, StateError, TypeMismatchError
from scalarviz.run.controls import MOST_LAYERS, MOST_UNITS, Reader, Segments, Slider, Switch
from scalarviz.run.scene.own_controls import LAYERS, keep_rule, own_controls

SETS = {"value": lambda reader: 1.0, "change": lambda value, reader: None}


def scene(run=None, **options):
    return sv.Scene("s", make_run() if run is None else run, **options)


def reader(run, options=None):
    return reader_of(scene(run, options=options))


def controls_of(reader, had=None, bends=()):
    """Those of every run, by label; `had` remembers the rules that there were, as a window does."""
    if had is not None:
        keep_rule(had, reader)
    return {one.label: one for one in (*own_controls(reader, bends, had), LAYERS)}


def values(run, had=None):
    return {label: one.value(reader(run)) for label, one in controls_of(reader(run), had).items()}


def move(run, label, value, had=None, options=None):
    """Set a control of a run, unless it is set already; `had` remembers what there was before."""
    edit = controls_of(reader(run), had)[label].change(value, reader(run, options))
    if edit is not None:
        run.do(edit)
    return edit


def run_of(rule="sgd", **options):
    return make_run("mlp", optimizer=rule, samples=200, batch_size=16, **options)


def slider(**others):
    return Slider("noise", "--noise", "More noise.", **({"least": 0.0, "most": 1.0} | SETS | others))


def switch(label="a", flag="", does="Does."):
    return Switch(label, flag, does, **SETS)


def segments(choices):
    return Segments("kind", "", "Does.", choices=choices, **SETS)


T, V = TypeMismatchError, InputError

ROWS = {
    "switch(3)": (T, "label", 3), "switch('a\\nb')": (V, "label", "1 to 28"),
    "switch('a', 'noise')": (V, "flag", "noise", "--name"), "switch('a', '', ' ')": (V, "does", "1 to 120"),
    "slider(value=3)": (T, "value", "function"), "slider(anew='yes')": (T, "anew", "yes", "True or False"),
    "slider(most=np.inf)": (V, "most", "finite", "inf"), "slider(least=1.0)": (V, 1.0, "least < most"),
    "slider(log=True)": (V, "0 < least < most"), "slider(usual=2.0)": (V, "usual", 2.0, "0 to 1"),
    "segments('abc')": (T, "abc", "sequence of values"), "segments((1, 2, 1))": (V, "different"),
    "slider().taken('1')": (T, "'1'", "number"), "slider().taken(np.nan)": (V, "nan", "finite"),
    "slider(whole=True).taken(0.5)": (V, 0.5, "whole"), "segments(('a', 'b')).taken('c')": (V, "'c'", "a, b"),
    "switch('on').taken('yes')": (T, "yes", "True or False"), "LAYERS.taken((0,))": (V, "layers"),
    "scene(controls=(3,))": (T, "Button"), "scene(controls=(slider(), slider()))": (V, "noise"),
    "scene(command='scalarviz rgb')": (T, "command", "function"), "scene(other_layers=(8,))": (T, "other_layers"),
    "move(run_of(), 'batch', 201)": (V, 201),
    "move(run_of('sgd_momentum'), 'momentum', -0.1)": (V, "-0.1"),
}  # fmt: skip


@refusals(ROWS, globals())
def test_refused(refusal):
    refusal.check()


@given(st.floats(0, 1), st.booleans())
def test_a_place_on_the_track_is_its_value_and_back(share, log):
    track = slider(least=1e-3, most=10.0, log=log)
    found = track.share(track.at(share))
    assert abs(found - share) < 0.006  # three digits are kept
    assert track.at(found) == track.at(share)
    decades = slider(least=1e-3, most=10.0, log=True)
    assert [decades.at(k / 4) for k in range(5)] == [0.001, 0.01, 0.1, 1.0, 10.0]
    assert [decades.share(value) for value in (1e-9, 0.001, 0.1, 10.0, 1e9, np.nan)] == [0, 0, 0.5, 1, 1, 0]
    assert slider(least=0, most=10, whole=True).at(0.44) == 4.0


def test_a_value_belongs_to_the_moment_that_is_read():
    run = run_of()
    before = reader(run)
    run.step(2)
    run.change(lr=0.25, momentum=0.9, batch_size=8, l2=0.01)
    x, y = run.samples()
    run.refill(1 - x, y)
    for one, wanted in ((before, (0.05, 0.0, 16, 0.0)), (reader(run, 3), (0.25, 0.9, 8, 0.01))):
        had = one.settings
        assert (had.numbers["lr"], had.numbers["momentum"], had.batch_size, had.limits.l2) == wanted
        assert (had.optimizer, had.samples, had.sampling, had.seed) == ("SGD", 200, "epochs", 3)
        assert np.array_equal(one.samples()[0], x if one is before else 1 - x)
    assert reader(run).facts.optimizer == "SGD"
    watched = sv.watch({"a": np.eye(3)})  # what learns nothing has none of them
    one = Reader(watched.frame(), watched)
    assert (one.settings, one.data, one.stages, list(controls_of(one))) == (None, None, (), ["layers"])
    with pytest.raises(StateError, match="samples"):
        one.samples()


USUAL = {"learning rate": 0.05, "batch": 16, "optimiser": "SGD", "momentum": None, "regularisation": "none",
         "regularisation rate": None, "activation": "tanh", "layers": (4,)}  # fmt: skip
MOVES = [
    ("learning rate", 0.25, lambda run: run.change(lr=0.25), {}),
    ("batch", 128, lambda run: run.change(batch_size=128), {}),
    ("optimiser", "momentum", lambda run: run.change(momentum=0.9), {"momentum": 0.9}),
    ("optimiser", "Adam", lambda run: run.change(optimizer="Adam", lr=0.01), {"learning rate": 0.01}),
    ("regularisation", "L2", lambda run: run.change(l2=1e-3), {"regularisation rate": 1e-3}),
    ("activation", "relu", lambda run: run.change(activation="relu"), {}),
]


@pytest.mark.parametrize(("label", "value", "act", "more"), MOVES)
def test_each_changes_a_run_as_its_edit_does_and_reads_it(label, value, act, more):
    one, other = run_of(), run_of()
    assert values(one) == USUAL
    for each in (one, other):
        each.step(3)
    move(one, label, value)
    act(other)
    assert values(one) == USUAL | {label: value} | more
    if label not in ("learning rate", "batch"):
        assert move(one, label, value) is None  # what is set already is no edit
    for each in (one, other):
        each.step(3)
    assert bits(one) == bits(other)


def test_a_penalty_keeps_its_size_when_it_becomes_the_other_and_clipping_stays():
    run = run_of(l1=0.02, clip_norm=1.0)
    for label, value, wanted in (("regularisation", "L2", 0.02), ("regularisation rate", 0.5, 0.5)):
        move(run, label, value)
        limits = run.frame().settings.limits
        assert (limits.l1, limits.l2, limits.clip_norm) == (0.0, wanted, 1.0)


def test_choices_are_those_that_there_can_be():
    run = run_of()
    x, y = run.samples()
    assert {1, 16, 128, 200} <= set(controls_of(reader(run))["batch"].choices)
    run.batch_size = 1
    run.refill(x[:5], y[:5])
    assert controls_of(reader(run))["batch"].choices == (1, 2, 3, 4, 5)
    run.refill(x[:1], y[:1])
    assert values(run)["batch"] is None
    for bends, more_of in (((), ()), (("relu", "leaky_relu"), ("leaky_relu",))):
        control = controls_of(reader(run), bends=bends)["activation"]
        assert control.choices == ("tanh", "relu", "gelu", "sigmoid", *more_of)


@pytest.mark.parametrize("first", ["SGD", "Adam", "nesterov"])
def test_there_and_back_at_the_first_step_is_as_if_nothing_had_been(first):
    kind = {"SGD": "sgd_decay", "Adam": "adam_betas", "nesterov": "sgd_nesterov"}[first]
    back = first if first != "nesterov" else "momentum"
    for other in {"SGD", "AdamW"} - {back}:
        one, plain, had = run_of(kind), run_of(kind), {}
        move(one, "optimiser", other, had)
        one.step(0)
        move(one, "optimiser", back, had)
        for each in (one, plain):
            each.step(3)
        assert one.optimizer.hyperparameters() == plain.optimizer.hyperparameters()
        assert one.values.tobytes() == plain.values.tobytes()


def test_a_rule_has_the_rate_it_had_last_that_of_its_family_of_the_scene_or_the_usual_one():
    run, had = run_of(), {"RMSprop": {}}
    run.lr = 0.7
    for rule, wanted in (("Adam", 0.01), ("SGD", 0.7), ("Adam", 0.002), ("AdamW", 0.002), ("RMSprop", 0.002)):
        move(run, "optimiser", rule, had)
        assert (run.lr, values(run)["optimiser"]) == (wanted, rule)
        if wanted == 0.01:
            run.lr = 0.002
    assert controls_of(reader(run), had)["optimiser"].choices == ("SGD", "momentum", "Adam", "AdamW", "RMSprop")
    run = run_of("adadelta")
    move(run, "optimiser", "Adam", {})  # not Adadelta's rate, which is 1
    assert run.lr == 0.01
    run, rates = run_of("adam"), SimpleNamespace(rates={"sgd": 0.5, "momentum": 0.4, "adamw": 0.02})
    for rule, rate in (("SGD", 0.5), ("AdamW", 0.02), ("momentum", 0.4)):
        move(run, "optimiser", rule, {}, rates)
        assert (run.lr, values(run)["optimiser"]) == (rate, rule)


def layered(net):
    X = np.random.default_rng(0).random((20, 2))
    return sv.Run(net, nn.MSELoss(), make_optimizer("sgd", net.parameters()), (X, X), seed=3, engine="numpy")


def plain(*hidden):
    net = mlp(2, *hidden, 2, last="Identity")(nn)
    net.initialize(nn.init.pytorch_default(), seed=3)
    return net


def test_layers_of_equal_shapes_go_on_and_the_others_are_those_of_a_new_network_of_the_seed():
    run = layered(plain(4))
    run.step(3)
    kept = run.values[:12].copy()  # 4 x 2 weights and 4 biases
    move(run, "layers", (4, 3))
    fresh = np.concatenate([np.ravel(part.data) for part in plain(4, 3).parameters()])
    assert np.array_equal(run.values[:12], kept)
    assert np.allclose(run.values[12:], fresh[12:])
    for hidden in ((), (6,)):  # all may go, and come again
        move(run, "layers", hidden)
        assert values(run)["layers"] == hidden
        assert move(run, "layers", hidden) is None
        run.step(1)
    move(run, "layers", (0, 10**9, *[2] * 20))
    hidden = values(run)["layers"]
    assert (len(hidden), min(hidden), max(hidden)) == (MOST_LAYERS, 1, MOST_UNITS)


OTHERS = {
    "norm": lambda: nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)),
    "two activations": lambda: nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)),
    "no sequence": lambda: nn.Linear(2, 2),
}


@pytest.mark.parametrize("net", OTHERS)
def test_other_networks_have_no_layers_to_change(net):
    run = layered(OTHERS[net]())
    assert (values(run)["layers"], move(run, "layers", (3,))) == (None, None)
