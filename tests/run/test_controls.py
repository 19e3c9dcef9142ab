"""What a scene lets a hand set: descriptions are checked when they are made, values belong to the moment shown."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError, StateError, TypeMismatchError
from scalarviz.run import Scene
from scalarviz.run.controls import Button, Control, Reader, Segments, Slider, Switch
from scalarviz.run.edits import Refill, SetBatchSize, SetLimits, SetOptimizer
from scalarviz.run.run_source import RunSource
from scalarviz.view.shown.subject import subject_of

X = np.random.default_rng(0).random((16, 2))
USUAL: dict[str, Any] = {"value": lambda reader: 1.0, "change": lambda value, reader: None}


def run() -> sv.Run:
    net = nn.Sequential(nn.Linear(2, 2, seed=1))
    return sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (X, X), batch_size=4, engine="numpy")


def slider(**others: Any) -> Slider:
    return Slider("noise", "--noise", "More noise.", **({"least": 0.0, "most": 1.0} | USUAL | others))


# ---- what is described wrongly


@pytest.mark.parametrize(
    ("label", "flag", "does", "kind", "said"),
    [
        (3, "", "Does.", TypeMismatchError, "the label"),
        ("", "", "Does.", InputError, "the label"),
        ("a\nb", "", "Does.", InputError, "one line of 1 to 28"),
        ("a" * 29, "", "Does.", InputError, "one line of 1 to 28"),
        ("a", "noise", "Does.", InputError, "allowed: --name"),
        ("a", None, "Does.", TypeMismatchError, "the flag"),
        ("a", "", " ", InputError, "what it does"),
        ("a", "", "a" * 121, InputError, "1 to 120"),
        ("a", "", None, TypeMismatchError, "what it does"),
    ],
)
def test_words_that_are_none_are_refused(label: Any, flag: Any, does: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        Switch(label, flag, does, **USUAL)


@pytest.mark.parametrize(
    ("others", "kind", "said"),
    [
        ({"value": 3}, TypeMismatchError, "value must be a function"),
        ({"change": None}, TypeMismatchError, "change must be a function"),
        ({"anew": "yes"}, TypeMismatchError, "anew must be True or False"),
        ({"least": "0"}, TypeMismatchError, "least must be a number"),
        ({"most": True}, TypeMismatchError, "most must be a number"),
        ({"most": math.inf}, InputError, "most must be a finite number"),
        ({"least": 1.0}, InputError, "least < most"),
        ({"log": True}, InputError, "0 < least < most"),
        ({"log": 2}, TypeMismatchError, "log must be True or False"),
        ({"usual": 2.0}, InputError, "usual is 2.0; allowed: 0 to 1"),
        ({"usual": "a"}, TypeMismatchError, "usual must be a number"),
        ({"usual": math.nan}, InputError, "usual must be a finite number"),
    ],
)
def test_a_slider_that_is_none_is_refused(others: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        slider(**others)


@pytest.mark.parametrize(
    ("choices", "kind", "said"),
    [
        ("abc", TypeMismatchError, "a row of values"),
        (3, TypeMismatchError, "a row of values"),
        ((1,), InputError, "two to twelve"),
        (range(13), InputError, "two to twelve"),
        ((1, 2, 1), InputError, "different choices"),
    ],
)
def test_segments_that_are_none_are_refused(choices: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        Segments("kind", "", "Does.", choices=choices, **USUAL)


def test_what_the_kinds_have_in_common_is_no_kind() -> None:
    with pytest.raises(TypeMismatchError, match="Button, Slider, Segments, Switch"):
        Control("a", "", "Does.", **USUAL)


def test_all_but_a_button_have_a_value() -> None:
    with pytest.raises(InputError, match="value= is missing"):
        Switch("a", "", "Does.", change=lambda value, reader: None)
    assert Button("a", "", "Does.", change=lambda value, reader: None).value(reader_of(run())) is True


@pytest.mark.parametrize(
    ("control", "value", "said"),
    [
        (slider(), "1", "allowed: a number"),
        (slider(), True, "allowed: a number"),
        (slider(), math.nan, "a finite number"),
        (slider(whole=True), 0.5, "a whole number"),
        (Segments("kind", "", "Does.", choices=("a", "b"), **USUAL), "c", "allowed: a, b"),
        (Switch("on", "", "Does.", **USUAL), "yes", "True or False"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(control: Control, value: Any, said: str) -> None:
    with pytest.raises((InputError, TypeMismatchError), match=said):
        control.taken(value)


@pytest.mark.parametrize(
    ("controls", "kind", "said"),
    [
        (slider(), TypeMismatchError, "a tuple of Button"),
        ((3,), TypeMismatchError, "a tuple of Button"),
        ((slider(), slider()), InputError, "two controls are called 'noise'"),
    ],
)
def test_a_scene_refuses_what_are_no_controls(controls: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        Scene("s", run(), controls=controls)


def test_a_scene_refuses_a_command_that_cannot_be_called() -> None:
    with pytest.raises(TypeMismatchError, match="Scene: command must be a function"):
        Scene("s", run(), command="scalarviz rgb")  # type: ignore[arg-type]


def test_a_scene_keeps_what_it_was_given() -> None:
    noise = slider()
    scene = Scene("s", run(), controls=[noise], command=lambda reader: "scalarviz s", options=7)  # type: ignore[arg-type]
    assert scene.controls == (noise,)
    assert scene.command is not None
    assert scene.command(reader_of(scene.run)) == "scalarviz s"
    assert Scene("s", run()).controls == ()


# ---- the track of a slider


@given(st.floats(0, 1), st.booleans())
def test_a_place_on_the_track_is_its_value_and_back(share: float, log: bool) -> None:
    track = slider(least=1e-3, most=10.0, log=log)
    found = track.share(track.at(share))
    assert abs(found - share) < 0.006  # three digits are kept
    assert track.at(found) == track.at(share)


def test_decades_are_equally_long_where_a_slider_is_logarithmic() -> None:
    track = slider(least=1e-3, most=10.0, log=True)
    assert [track.at(k / 4) for k in range(5)] == [0.001, 0.01, 0.1, 1.0, 10.0]
    assert [track.share(value) for value in (1e-9, 0.001, 0.1, 10.0, 1e9, math.nan)] == [0, 0, 0.5, 1, 1, 0]
    assert slider(least=0, most=10, whole=True).at(0.44) == 4.0


# ---- the moment


def reader_of(run: sv.Run, options: object = None) -> Reader:
    return Reader(run.frame(), RunSource(run), options)


def test_a_value_belongs_to_the_moment_that_is_read() -> None:
    a = run()
    before = a.frame()
    a.step(2)
    a.do(SetOptimizer({"lr": 0.25, "momentum": 0.9}))  # type: ignore[arg-type]
    a.do(SetBatchSize(8))
    a.do(SetLimits(l2=0.01))
    then, now = Reader(before, RunSource(a)).settings, reader_of(a, 3)
    assert then is not None
    assert now.settings is not None
    assert (then.numbers["lr"], then.numbers["momentum"], then.batch_size, then.limits.l2) == (0.5, 0.0, 4, 0.0)
    assert (now.settings.numbers["lr"], now.settings.numbers["momentum"]) == (0.25, 0.9)
    assert (now.settings.batch_size, now.settings.limits.l2, now.settings.optimizer) == (8, 0.01, "SGD")
    assert (now.settings.samples, now.settings.sampling, now.settings.seed) == (16, "epochs", 0)
    assert now.options == 3
    assert now.facts is not None
    assert [stage.kind for stage in now.stages] == ["linear"]
    assert [tensor.name for tensor in now.tensors] == ["0.weight", "0.bias"]


def test_the_samples_are_those_of_the_moment() -> None:
    a = run()
    before = reader_of(a)
    a.do(Refill(1 - X, X))
    assert np.array_equal(before.samples()[0], X.astype(np.float32))
    assert np.array_equal(reader_of(a).samples()[0], (1 - X).astype(np.float32))
    assert before.data is not reader_of(a).data
    assert reader_of(a).data is reader_of(a).data


def test_what_learns_nothing_has_no_settings_and_no_samples() -> None:
    subject = subject_of({"a": np.eye(3)})
    reader = Reader(subject.frame(), subject.source)
    assert reader.settings is None
    assert reader.data is None
    assert reader.stages == ()
    with pytest.raises(StateError, match="has no samples"):
        reader.samples()


def test_a_control_reads_and_changes_a_run() -> None:
    a = run()
    rate = slider(
        least=1e-3, most=10.0, log=True,
        value=lambda reader: reader.settings.numbers["lr"],
        change=lambda value, reader: SetOptimizer((("lr", value),)),
    )  # fmt: skip
    edit = rate.change(rate.taken(0.125), reader_of(a))
    assert edit is not None
    a.do(edit)
    assert rate.value(reader_of(a)) == a.lr == 0.125
    assert replace(rate, anew=True).anew


@pytest.mark.parametrize("end", ["least", "most", "usual"])
def test_a_whole_number_beyond_all_floats_is_refused_in_words(end):
    ends = {"least": 0.0, "most": 1.0, end: 10**400}
    with pytest.raises(InputError, match=f"{end} must be a finite number"):
        Slider("a", "", "does", value=lambda reader: 0.5, change=lambda value, reader: None, **ends)
    slider = Slider("a", "", "does", value=lambda reader: 0.5, change=lambda value, reader: None, least=0.0, most=1.0)
    with pytest.raises(InputError, match="a finite number"):
        slider.taken(10**400)
