"""Breakpoints stop a run where a second one, stepped one by one and asked in plain Python, says that they should."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.errors import DivergedError, ExpressionError, StateError
from scalarviz.run.conditions.numbers import Named, Numbers
from scalarviz.run.conditions.watch import Stop

ENGINES = ["objects", "numpy", "numba"]
X = np.random.default_rng(0).random((32, 3))


def make(engine="numpy", dtype="float32", lr=0.05, data=X, **kwargs):
    net = nn.Sequential(nn.Linear(3, 4, seed=1), nn.ReLU(), nn.Linear(4, 3, seed=2), nn.Sigmoid())
    kwargs = {"batch_size": 8, "engine": engine, "dtype": dtype, **kwargs}
    return Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=lr), (data, 1 - data), **kwargs)


def diverging(engine="numpy"):
    """Its loss becomes infinite at step 44 or so."""
    net = nn.Sequential(nn.Linear(3, 3, seed=0))
    return Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=3.0), (X, 1 - X), engine=engine)


class Seen:
    """What plain Python sees of a run at one moment."""

    def __init__(self, run):
        frame = run.frame()
        self.step, self.loss, self.lr = frame.step, frame.loss, frame.lr
        weight = run.tensors[0]
        self.w = weight.of(frame.values).astype(np.float64)
        self.g = weight.of(frame.gradient).astype(np.float64) if frame.step else np.full(weight.shape, np.nan)
        self.grad = float(np.abs(frame.gradient).max()) if frame.step else math.nan
        self.dead = frame.dead["1"].copy()


# the text, and the same in Python: of a moment, or of a moment and the one before
STATES = {
    "grad > 0.02": lambda s: s.grad > 0.02,
    "0.02 < grad < 0.03 or loss < 0.08": lambda s: 0.02 < s.grad < 0.03 or s.loss < 0.08,
    "loss < 0.085": lambda s: s.loss < 0.085,
    "loss > 0.08 and not step > 20": lambda s: s.loss > 0.08 and not s.step > 20,
    "0.weight[1][0] < -0.9": lambda s: s.w[1, 0] < -0.9,
    "grad(0.weight[1][0]) > 0": lambda s: s.g[1, 0] > 0,
    "max(abs(0.weight)) > 0.7": lambda s: np.abs(s.w).max() > 0.7,
    "norm(0.weight) * 2 >= 3.2": lambda s: math.sqrt((s.w**2).sum()) * 2 >= 3.2,
    "any(0.weight > 0.6) and loss < 0.09": lambda s: bool((s.w > 0.6).any()) and s.loss < 0.09,
    "0.weight > 0.55": lambda s: s.w > 0.55,
    "dead": lambda s: s.dead,
    "dead(1)[2]": lambda s: s.dead[2],
    "dead(0)": lambda s: s.dead,
    "sum(dead) >= 3": lambda s: s.dead.sum() >= 3,
    "step / 7 == 3": lambda s: s.step / 7 == 3,
}
EVENTS = {
    "loss > 1.3 * before(loss)": lambda s, b: s.loss > 1.3 * b.loss,
    "0.weight[1][1] crosses 1.3": lambda s, b: (b.w[1, 1] < 1.3 <= s.w[1, 1]) or (b.w[1, 1] > 1.3 >= s.w[1, 1]),
    "sign(grad(0.weight[1][2])) changes": lambda s, b: bool(np.sign(s.g[1, 2]) != np.sign(b.g[1, 2])),
    "grad changes and loss < before(loss)": lambda s, b: s.grad != b.grad and s.loss < b.loss,
    "sign(0.weight - 0.3) changes": lambda s, b: np.sign(s.w - 0.3) != np.sign(b.w - 0.3),
}


def expected(run, text, steps, edit=None):
    """The steps at which a condition becomes true, found by stepping one by one."""
    found, before = [], Seen(run)
    for _ in range(steps):
        run.step()
        if risen(text, Seen(run), before):
            found.append(run.steps)
        if edit is not None:
            edit(run)
        before = Seen(run)
    return found


def stops(run, steps):
    """Where a run stops on its way, and what it stands on there."""
    found, last = [], run.steps + steps
    while run.steps < last:
        run.step(last - run.steps)
        if run.stopped_by is not None:
            found.append(run.steps)
    return found


@functools.cache
def alone(engine, steps):
    """Every moment of a run that nobody touches, seen by hand."""
    run = make(engine)
    seen = [Seen(run)]
    for _ in range(steps):
        run.step()
        seen.append(Seen(run))
    return seen


def risen(text, now, before):
    """Whether a condition becomes true between two moments."""
    if text in STATES:
        return bool((np.asarray(STATES[text](now)) & ~np.asarray(STATES[text](before))).any())
    return bool(np.any(EVENTS[text](now, before)))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("text", [*STATES, *EVENTS])
def test_a_run_stops_where_one_stepped_by_hand_says(engine, text):
    steps = 30 if engine == "objects" else 80
    seen = alone(engine, steps)
    wanted = [now.step for before, now in itertools.pairwise(seen) if risen(text, now, before)]
    run = make(engine)
    point = run.break_on(text)
    assert stops(run, steps) == wanted
    assert (point.hits, point.step) == (len(wanted), wanted[-1] if wanted else None)
    assert wanted or engine == "objects"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("text", ["loss < 0.085", "0.weight[1][0] < -0.9"])
def test_the_bits_are_those_of_a_run_without(engine, text):
    steps = 20 if engine == "objects" else 60
    plain, run = make(engine), make(engine)
    plain.step(steps)
    run.break_on(text)
    stops(run, steps)
    np.testing.assert_array_equal(run.values.view(np.uint8), plain.values.view(np.uint8))
    np.testing.assert_array_equal(run.frame().gradient, plain.frame().gradient)
    np.testing.assert_array_equal(run.history.loss, plain.history.loss)
    np.testing.assert_array_equal(run.history.step, plain.history.step)


def test_losses_are_watched_in_calls_of_many_steps(monkeypatch):
    run = make("numba")
    run.step(2000)
    calls = []
    train = run._training.trainer.train
    monkeypatch.setattr(run._training.trainer, "train", lambda *args: (calls.append(args[1]), train(*args))[1])
    run.break_on("loss < -1")
    run.step(2000)
    assert len(calls) < 100
    run.break_on("grad > 1e9")
    calls.clear()
    run.step(50)
    assert calls == [1] * 50


@settings(max_examples=10, deadline=None)
@given(
    st.sampled_from([*STATES, *EVENTS]),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 11), st.floats(-1, 1, width=32)), max_size=4),
)
def test_edits_on_the_way_stop_nothing_and_the_record_is_followed_likewise(text, edits):
    def edit(run):
        for step, index, value in edits:
            if run.steps == step:
                run.set_weights(index, [value])

    def edited(run, steps):
        found, last = [], steps
        while run.steps < last:
            upcoming = min([s for s, _, _ in edits if s > run.steps] + [last])
            run.step(upcoming - run.steps)
            if run.stopped_by is not None:
                found.append(run.steps)
            edit(run)
        return found

    other = make()
    edit(other)
    wanted = expected(other, text, 60, edit)
    run = make()
    edit(run)
    run.break_on(text)
    assert edited(run, 60) == wanted
    run.to(0)
    assert run.stopped_by is None
    assert stops(run, 60) == wanted
    np.testing.assert_array_equal(run.values, other.values)


def test_several_at_one_step_are_all_counted_and_said():
    run = make()
    run.step(10)
    points = [run.break_on("step == 15"), run.break_on("step / 3 == 5"), run.break_on("step > 100")]
    run.step(50)
    assert run.steps == 15
    assert [p.hits for p in points] == [1, 1, 0]
    stop = run.stopped_by
    assert isinstance(stop, Stop)
    assert (stop.step, stop.breakpoints) == (15, (points[0], points[1]))
    assert (
        str(stop) == "breakpoint 1 at step 15: step == 15 (step 15); breakpoint 2 at step 15: step / 3 == 5 (step 15)"
    )


def test_losses_beside_weights():
    run = make()
    run.break_on("loss < 0.085")
    run.break_on("0.weight[1][0] < -0.9")
    wanted = sorted({*expected(make(), "loss < 0.085", 60), *expected(make(), "0.weight[1][0] < -0.9", 60)})
    assert stops(run, 60) == wanted


def test_what_is_true_already_stops_when_it_becomes_true_again():
    run = make()
    point = run.break_on("step < 10 or step == 20")
    run.step(100)
    assert (run.steps, point.hits) == (20, 1)
    run.step(30)
    assert (run.steps, point.hits, run.stopped_by) == (50, 1, None)


def test_once_disabled_removed():
    run = make()
    once = run.break_on("step / 5 == 1 or step / 5 == 2", once=True)
    twice = run.break_on("step == 8 or step == 12")
    assert stops(run, 20) == [5, 8, 12]
    assert (once.enabled, once.hits, twice.enabled, twice.hits) == (False, 1, True, 2)
    run.to(0)
    run.breakpoints.disable(2)
    assert stops(run, 20) == []
    run.to(0)
    run.breakpoints.enable(once)
    twice.enabled = True
    run.breakpoints.remove(twice)
    assert stops(run, 20) == [5]
    run.breakpoints.clear()
    assert len(run.breakpoints) == 0
    assert run.break_on("loss < 0").number == 3  # a number is never given twice


def test_the_list():
    run = make()
    assert "run.break_on" in repr(run.breakpoints)
    run.break_on("step == 1500")
    run.break_on("0.weight[2][1] < -9", once=True)
    run.break_on("nan").enabled = False
    run.step(1600)
    assert str(run.breakpoints).splitlines() == [
        "   condition                  hits  last step",
        "1  step == 1500         on       1      1,500",
        "2  0.weight[2][1] < -9  once     0",
        "3  nan                  off      0",
    ]
    assert [p.number for p in run.breakpoints] == [1, 2, 3]
    assert run.breakpoints[0] is run.breakpoints[:1][0]
    assert repr(run.breakpoints[0]) == "Breakpoint(1: step == 1500, hit once, last at step 1,500)"
    assert repr(run.breakpoints[1]) == "Breakpoint(2: 0.weight[2][1] < -9, once)"
    assert repr(run.breakpoints[2]) == "Breakpoint(3: nan, disabled)"


@pytest.mark.parametrize("which", [0, 2, -1, 10**30])
def test_a_number_that_there_is_not(which):
    run = make()
    run.break_on("nan")
    with pytest.raises(sv.ScalarvizError, match="there is no breakpoint"):
        run.breakpoints.remove(which)


@pytest.mark.parametrize("which", [None, "1", 1.0, True, [1]])
def test_what_is_no_breakpoint(which):
    run = make()
    run.break_on("nan")
    for do in (run.breakpoints.remove, run.breakpoints.enable, run.breakpoints.disable):
        with pytest.raises(sv.ScalarvizError, match="a breakpoint or its number is wanted"):
            do(which)
    with pytest.raises(sv.ScalarvizError):
        run.breakpoints[0].enabled = 3 if which is True else which


def test_one_that_is_looked_at_no_more_is_no_reason():
    run = make()
    point = run.break_on("step == 15")
    run.step(30)
    assert run.stopped_by is not None
    point.enabled = False
    run.to(0)
    run.step(15)
    assert run.stopped_by is None
    run.step(15)
    assert point.hits == 1


def test_a_jump_stops_nowhere():
    run = make()
    point = run.break_on("step == 10")
    run.step(30)
    run.step(20)
    run.to(5)
    run.to(30)
    run.back(25)
    assert (point.hits, run.steps, run.stopped_by) == (1, 5, None)
    run.step(100)
    assert (point.hits, run.steps) == (2, 10)
    assert run.stopped_by is not None
    run.back()
    assert run.stopped_by is None


# ---- what is said


def test_the_numbers_are_said_with_the_stop():
    run = make()
    run.break_on("0.weight[1][1] crosses 1.2 or 0.weight[1][1] < -9")
    run.step(500)
    before = make()
    before.step(run.steps - 1)
    at = run.tensors[0].start + 1 * 3 + 1
    now, then = run.values[at], before.values[at]
    assert f"(0.weight[1][1] {now:.6g}, before {then:.6g})" in str(run.stopped_by)
    assert (now < 1.2) != (then < 1.2)


def test_the_element_that_became_true_is_named():
    run = make()
    run.break_on("0.weight > 1.1")
    run.step(500)
    weight = run.tensors[0].of(run.values)
    at = np.unravel_index(weight.argmax(), weight.shape)
    assert f"(0.weight[{at[0]}][{at[1]}] {weight[at]:.6g})" in str(run.stopped_by)
    run = make()
    before = run.frame().dead["1"]
    run.break_on("dead")
    run.step(500)
    unit = np.flatnonzero(run.frame().dead["1"] & ~before)
    assert f"(dead(1)[{unit[0]}] true)" in str(run.stopped_by)


# ---- NaN


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("text", ["nan", "any(nan(0.weight)) or nan", "step == {}"])
def test_a_run_that_diverges_says_so_all_the_same_and_the_breakpoint_is_counted(engine, text):
    plain = diverging(engine)
    with pytest.raises(DivergedError) as caught:
        plain.step(1000)
    run = diverging(engine)
    run.step(1)
    run.call_seconds = 10.0  # the steps to come are one call
    point = run.break_on(text.format(plain.steps))
    after = run.break_on(f"step > {plain.steps}")
    with pytest.raises(DivergedError) as again:
        run.step(1000)
    assert str(again.value) == str(caught.value)
    assert (run.steps, point.hits, after.hits) == (plain.steps, 1, 0)
    assert run.stopped_by is not None
    np.testing.assert_array_equal(run.values, plain.values)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_would_be_true_after_the_divergence_is_not_counted(engine):
    """The losses of a call go on behind the step at which a weight is lost."""
    plain = diverging(engine)
    with pytest.raises(DivergedError):
        plain.step(1000)
    run = diverging(engine)
    run.step(20)
    run.call_seconds = 10.0
    point = run.break_on(f"step == {plain.steps + 1}")
    with pytest.raises(DivergedError):
        run.step(1000)
    assert (run.steps, point.hits, run.stopped_by) == (plain.steps, 0, None)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_loss_before_the_divergence_stops_first(engine):
    plain = diverging(engine)
    with pytest.raises(DivergedError):
        plain.step(1000)
    run = diverging(engine)
    run.break_on(f"step == {plain.steps - 1}")
    run.step(1000)
    assert run.steps == plain.steps - 1
    with pytest.raises(DivergedError):
        run.step()
    assert run.steps == plain.steps


def test_nothing_is_true_of_numbers_that_there_are_not_yet():
    run = make()
    numbers = run._numbers()
    assert math.isnan(numbers["grad"])
    assert math.isnan(numbers["loss"])
    assert np.isnan(numbers["grad(0.weight)"]).all()
    assert not numbers["nan"]
    run.step()
    assert numbers["nan"] == run._numbers()["nan"]
    assert not np.isnan(run._numbers()["grad(0.weight)"]).any()


# ---- bad input


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the text ends"), ("loss", "a condition is wanted"), ("1 < 2", "there is no name in it"),
        ("0.weights[0][0] > 1", "did you mean '0.weight'?"), ("0.weight[4][0] > 1", "it has 4 (0 .. 3)"),
        ("0.weight[0][0][0] > 1", "has more [places]"), ("dead(3)", "'dead' takes one of"),
        ("0.weight > 0.bias", "cannot join arrays of shapes (4, 3) and (4,)"),
        ("grad(1.weight) > 1", "'grad' takes one of 0.weight, 0.bias, 2.weight, 2.bias"),
        ("loss = 1", "== compares"), ("loss > (1", "the text ends"), ("x" * 10_001, "10,001 characters"),
        ("dead(1)[4]", "it has 4 (0 .. 3)"), ("__import__('os') > 1", "there is no function '__import__'"),
    ],
)  # fmt: skip
def test_bad_conditions_are_refused_when_they_are_set(text, said):
    run = make()
    for ask in (run.break_on, run.find):
        with pytest.raises(sv.ScalarvizError) as caught:
            ask(text)
        assert said in str(caught.value)
    assert len(run.breakpoints) == 0


@pytest.mark.parametrize("text", [None, 3, b"nan", ["nan"], lambda frame: True])
def test_what_is_no_text(text):
    with pytest.raises(sv.ScalarvizError, match="must be a text"):
        make().break_on(text)


@pytest.mark.parametrize("once", [None, 2, "yes"])
def test_once_is_a_truth(once):
    run = make()
    with pytest.raises(sv.ScalarvizError, match="once"):
        run.break_on("nan", once=once)
    assert len(run.breakpoints) == 0


def test_a_model_without_rectifiers_says_so():
    net = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, 1 - X), engine="numpy")
    for text in ("dead", "dead(0)", "dead > 1"):
        with pytest.raises(ExpressionError, match="this model has no rectifier"):
            run.break_on(text)


def test_names_that_are_words_and_names_with_spaces():
    a, b = sv.Weight(0.5, name="loss"), sv.Weight(0.25, name="my weight")
    run = Run(lambda x: [a * x[0] + b], nn.MSELoss(), optim.SGD([a, b], lr=0.1), (X[:, :1], X[:, :1]), engine="numpy")
    numbers = run._numbers()
    assert (float(numbers['"loss"']), float(numbers["my weight"])) == (0.5, 0.25)
    run.break_on("'loss' > 0.51 and 'my weight' > -9 and grad('loss') < 9 and loss < 9")
    run.step(500)
    assert run.stopped_by is not None
    assert a.data > 0.51


def test_a_closed_run():
    run = make()
    run.break_on("nan")
    run.close()
    with pytest.raises(StateError):
        run.find("nan")
    with pytest.raises(StateError):
        run.step()


def test_the_numbers_are_a_mapping_of_the_names():
    run = make()
    run.step(3)
    numbers = run._numbers()
    assert isinstance(numbers, Numbers)
    assert len(numbers) == len(list(numbers))
    assert set(numbers) == {
        "loss", "lr", "step", "grad", "nan", "dead", "dead(0)", "dead(1)",
        *(f"{t.name}" for t in run.tensors), *(f"grad({t.name})" for t in run.tensors),
    }  # fmt: skip
    for name, array in numbers.items():
        assert array.shape == run._named.shapes[name].shape, name
    assert isinstance(run._named, Named)
    assert "xyz" not in numbers


# ---- which weight


@pytest.mark.parametrize("engine", ENGINES)
def test_the_weight_in_question_is_known(engine):
    run = make(engine)
    run.break_on("grad > 0.02")
    run.step(50)
    index = int(np.abs(run.frame().gradient).argmax())
    assert run.stopped_by.weights == (index,)
    assert f"in {run.weight_name(index)})" in str(run.stopped_by)
    for text, weight in {
        "2.weight[1][-1] > -9 and step == 20": 16 + 1 * 4 + 3,
        "grad(0.bias)[2] > -9 and step == 22": 12 + 2,
        "max(0.weight) > -9 and step == 24": None,
        "loss > 0 and step == 26": None,
    }.items():
        run.breakpoints.clear()
        run.break_on(text)
        run.step(50)
        assert run.stopped_by.weights == (() if weight is None else (weight,)), text
    run.breakpoints.clear()
    run.to(0)
    run.break_on("0.weight > 0.7")
    run.step(50)
    (index,) = run.stopped_by.weights
    assert run.values[index] > 0.7


def test_the_first_weight_that_is_lost_is_in_question():
    net = nn.Sequential(nn.Linear(3, 3, seed=0))
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=1e39), (X, 1 - X), engine="numpy", dtype="float64")
    run.break_on("nan")
    with pytest.raises(DivergedError) as caught:
        run.step(1000)
    assert run.stopped_by is not None
    for index in run.stopped_by.weights:
        assert f"the first weight is {run.weight_name(index)}" in str(caught.value)
        assert f"in {run.weight_name(index)}" in str(run.stopped_by)


def test_many_long_ones_are_said_in_a_line():
    run = make()
    for k in range(5):
        run.break_on(" + ".join(["loss"] * 300) + f" > {k - 99}" if k == 0 else f"step == 1 and lr > {k - 9}")
    run.step(3)
    said = str(run.stopped_by)
    assert len(run.stopped_by.breakpoints) == 5
    assert said.endswith("; and 3 more")
    assert len(said) < 300
    assert max(map(len, str(run.breakpoints).splitlines())) < 80
    assert len(repr(run.breakpoints[0])) < 140


def test_every_weight_has_a_name_that_conditions_know():
    loss, spaced, both = sv.Weight(0.5, name="loss"), sv.Weight(0.25, name="my weight"), sv.Weight(1.0, name='a "b"')
    word, number = sv.Weight(2.0, name="and"), sv.Weight(3.0, name="7")
    layer = nn.Linear(1, 2, seed=0)
    weights = [loss, spaced, both, word, number]

    def model(x):
        return [sum(layer(x), start=loss * spaced * both * word * number)]

    optimizer = optim.SGD([*weights, *layer.parameters()], lr=0.1)
    run = Run(model, nn.MSELoss(), optimizer, (X[:, :1], X[:, :1]), engine="numpy")
    names = [run.condition_name(index) for index in range(run.n_weights)]
    assert len(set(names)) == run.n_weights == 9
    for index, name in enumerate(names):
        condition = run.break_on(f"{name} > 0").condition
        (load,) = condition.expression.loads
        assert condition.expression.value(load, run._numbers().__getitem__) == run.values[index]
    assert {"'a \"b\"'", '"loss"', '"my weight"', '"and"', '"7"'} <= set(names)
    plain = make()
    assert plain.condition_name(4) == plain.weight_name(4) == "0.weight[1][1]"
    for bad in (99, None, "x", 1.5):
        with pytest.raises(sv.ScalarvizError):
            plain.condition_name(bad)


@pytest.mark.parametrize("text", STATES)
def test_whether_it_holds(text):
    seen = alone("numpy", 80)
    run = make()
    for step in (0, 1, 7, 30, 80):
        run.step(step - run.steps)
        assert run.holds(text) is bool(np.any(STATES[text](seen[step])))


@pytest.mark.parametrize("text", [*EVENTS, "los > 1", "loss", "", None])
def test_what_cannot_be_asked_of_one_moment(text):
    with pytest.raises(sv.ScalarvizError):
        make().holds(text)
