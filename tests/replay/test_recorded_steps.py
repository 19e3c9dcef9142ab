"""Recorded micro-steps in a window: the keys of a run, and the pictures of the run that was recorded."""

import numpy as np
import pytest

from scalarviz.run.opened.why import why
from scalarviz.view import render

pytestmark = pytest.mark.gl
SIZE = (640, 360)
MICRO = {"kept": {"activations": True, "gradients": True}, "samples": 16, "steps": 4}


@pytest.fixture
def host(record, window):
    return window(record("rgb", **MICRO)[1], size=SIZE)


def told(host, *keys):
    """What is told inside a step after some keys."""
    host.press(*keys)
    return host.bench.step_drawing.micro_step


def place(host, *keys):
    """The step that is shown, and the micro-step inside of the next one."""
    found = told(host, *keys)
    return host.shown.step, found and found.position


@pytest.mark.parametrize(("network", "optimizer"), [("rgb", "adam"), ("wide", "sgd")])
def test_a_still_of_a_micro_step_is_that_of_the_run(network, optimizer, record):
    run, recording = record(network, optimizer=optimizer, **MICRO)
    run.to(2)
    count = len(run.open(sample=0).micro_steps())
    for at in (2, count // 2, count - 4, -1):
        theirs = render(recording, SIZE, step=2, inside=at)
        np.testing.assert_array_equal(theirs, render(run, SIZE, inside=at))


def test_the_keys_walk_through_recorded_steps(host):
    found = told(host, "Right", ".", ".")
    assert (found.step, found.position, found.count, found.trial) == (2, 2, 44, True)
    assert "inside step 2" in host.view.pace_text()
    assert dict(host.bench.step_drawing.keys)["Right"] == "next recorded step"
    assert dict(host.bench.step_drawing.keys)["Space"] == "play"
    assert place(host, ",") == (2, 1)
    assert place(host, *["."] * 43) == (2, 44)  # the last one shows the numbers behind it
    host.bench.interaction.select(7, host.shown)
    host.pass_time()
    assert host.bench.step_drawing.micro_step.sentence.index == 7
    assert place(host, ".") == (2, None)
    assert told(host, ".").step == 3
    assert place(host, ",")[1] == 44  # back from the first one is the end of the step before
    assert host.bench.step_drawing.micro_step.step == 2
    assert told(host, "Escape", "Home", ",") is None
    assert host.says("step 1 is the first")
    assert place(host, ".", ".", "Right") == (1, None)  # the step is finished
    assert told(host, ".") is not None
    assert (host.go(3), host.bench.step_drawing.micro_step) == (3, None)
    assert told(host, "End", ".", "Right") is None
    assert host.says("step 4 is the last recorded one")
    assert told(host, "Home", ".", *["."] * 43, "Space") is None
    assert host.view.playback.running


def test_b_shows_the_whole_batch_whose_samples_add_up_and_the_ribbon_leads_to_a_phase(host):
    assert told(host, ".").samples == "this sample"
    found = told(host, "b")
    assert (found.samples, found.trial, found.position) == ("mean of 16 samples", False, 1)
    assert told(host, "b").trial
    told(host, "b")
    assert host.view.send("add_samples")
    host.pass_time()
    assert host.bench.step_drawing.micro_step.adding == 1
    x, y, wide, high = next(spot.box for spot in host.bench.step_drawing.spots if spot.words == "gradients")
    host.click((x + wide / 2, y + high / 2))
    assert host.source.open().phases()[host.bench.step_drawing.micro_step.phase].name == "gradients"


def test_what_was_not_recorded_is_said(record, window):
    host = window(record("rgb", **MICRO | {"every": 2})[1])
    assert told(host, ".").step == 1
    assert host.press("Right") == 2
    assert host.says("step 2: the step before was not recorded")
    host = window(record("rgb", steps=4, kept={"data": False})[1])
    assert not host.view.send("micro_next")
    assert host.says("its steps cannot be opened: its data is not in the file (data=False)")


def test_in_slow_motion_steps_open_by_themselves_and_lead_to_the_next_frame(record, window):
    host, seen = window(record("rgb", **MICRO | {"steps": 2})[1], size=(320, 180)), []
    host.press("[", "[", "[")
    host.view.key("Space")
    while host.view.playback.running:
        host.pass_time(0.21)  # a micro-step of 44 is shown for 9 s / 44
        found = host.bench.step_drawing.micro_step
        if found is not None and (not seen or seen[-1] != (found.step, found.position)):
            seen.append((found.step, found.position))
    assert seen == [(step, at) for step in (1, 2) for at in range(1, 45)]
    assert (host.shown.step, host.bench.step_drawing.micro_step) == (2, None)
    host.press("Home", "Space")
    host.pass_time(1.0)
    assert "slow motion" in host.view.pace_text()
    at = told(host, "Space").position  # a pause stays in the step
    host.pass_time(2.0)
    assert host.bench.step_drawing.micro_step.position == at


def test_the_inspector_explains_a_weight_of_a_recording_as_of_the_run(record, window):
    run, recording = record("rgb", steps=6, every=3)
    host = window(recording, size=(1280, 720))
    host.press("End")
    host.select(4)
    host.pass_time(0.5)
    host.pass_time(0.5)
    account, opened = host.bench.interaction.inspector.account, run.open()
    assert str(account.why) == str(why(opened, 4))
    assert account.along.losses.tolist() == opened.loss_along(4).losses.tolist()
    assert any(text.startswith("step 7: ") for text in host.words())
