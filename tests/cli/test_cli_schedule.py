"""``--schedule``: the rates that each word makes, in every scene, and what a file does with it."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError
from scalarviz.scenes import digits, microgpt, rgb, texture
from scalarviz.scenes._schedule import SCHEDULES, parse_schedule

from scalarviz.optim import lr_scheduler

STEPS = 40
BASE = 0.5


def rates(said, steps=STEPS, count=60, **more):
    scene = rgb.build(rgb.Options(schedule=said, steps=steps, engine="numpy", headless=True, batch=8, **more))
    scene.run.step(count)
    return scene.run.history.lr


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (None, lambda k: np.full(len(k), BASE)),
        ("constant", lambda k: np.full(len(k), BASE)),
        ("linear", lambda k: BASE * np.maximum(1 - k / 40, 0)),
        ("linear:20", lambda k: BASE * np.maximum(1 - k / 20, 0)),
        ("cosine", lambda k: np.where(k < 40, BASE * (1 + np.cos(np.pi * k / 40)) / 2, 0)),
        ("cosine:10", lambda k: np.where(k < 10, BASE * (1 + np.cos(np.pi * k / 10)) / 2, 0)),
        ("step:7", lambda k: BASE * 0.1 ** (k // 7)),
    ],
)
def test_the_rates_are_those_that_the_word_says(said, wanted):
    np.testing.assert_allclose(rates(said), wanted(np.arange(60)), rtol=1e-12, atol=1e-15)


def test_a_cycle_goes_up_to_the_rate_and_down_to_nothing():
    found = rates("cycle:50")
    assert found[0] == pytest.approx(BASE / 25)
    assert found.max() == pytest.approx(BASE)
    assert (found[51:] < BASE * 1e-5).all()
    assert (np.diff(found[: found.argmax()]) > 0).all()
    assert (np.diff(found[found.argmax() : 50]) < 0).all()


def test_a_plateau_takes_a_tenth_where_the_loss_is_no_better():
    found = rates("plateau:1", count=400, lr=2.0)
    assert set(np.round(np.log10(found / 2.0)).astype(int)) <= set(range(-9, 1))
    assert (np.diff(found) <= 0).all()


def test_decay_is_flat_then_falls_to_a_tenth_and_stays():
    found = rates("decay:100", count=150)
    np.testing.assert_allclose(found[:60], BASE)
    assert (np.diff(found[60:100]) < 0).all()
    np.testing.assert_allclose(found[101:], BASE / 10)


def test_every_scene_has_it():
    for scene, kind in ((digits, None), (microgpt, lr_scheduler.LinearLR), (texture, lr_scheduler.SequentialLR)):
        made = scene.build(scene.Options(engine="numpy", steps=5))
        assert made.run.optimizer.lr_schedule is None or type(made.run.optimizer.lr_schedule) is kind
        made.run.close()
        made = scene.build(scene.Options(engine="numpy", steps=5, schedule="step:2"))
        assert type(made.run.optimizer.lr_schedule) is lr_scheduler.StepLR
        made.run.close()


@pytest.mark.parametrize("given", ["", "x", "cosine:", "step", "linear:0", "constant:3", 3, ["cosine"], ("cosine",)])
def test_what_is_no_schedule_is_refused(given):
    with pytest.raises(ValidationError):
        rgb.Options(schedule=given)


def test_all_words_can_be_said():
    for name in SCHEDULES:
        number = None if name == "constant" else 12
        assert parse_schedule(name if number is None else f" {name}:12") == (name, number)


def test_a_file_goes_on_with_its_schedule_unless_the_flag_is_given(rgb):
    flags = ("--engine", "numpy", "--headless", "--json")
    whole = rgb(*flags, "--schedule", "cosine:30", "--steps", 20, "--save", "whole.safetensors").json
    rgb(*flags, "--schedule", "cosine:30", "--steps", 8, "--save", "part.safetensors")
    rest = rgb(*flags, "--load", "part.safetensors", "--steps", 12, "--save", "rest.safetensors").json
    assert (rest["loss"], rest["steps"]) == (whole["loss"], 20)
    ended = rgb(*flags, "--load", "rest.safetensors", "--steps", 15, "--save", "ended.safetensors")
    assert "0, its schedule has ended" not in ended.err
    still = rgb(*flags, "--load", "ended.safetensors", "--steps", 2)
    assert "is 0, its schedule has ended: nothing will move" in still.err
    again = rgb(*flags, "--load", "ended.safetensors", "--steps", 2, "--schedule", "linear")
    assert "has ended" not in again.err
    assert again.json["loss"] < still.json["loss"]
