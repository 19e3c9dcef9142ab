"""Recorded micro-steps in a window: the keys of a run, and the pictures of the run that was recorded."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.errors import FileFormatError, InputError
from scalarviz.run.recorded_source import RecordedSource
from scalarviz.run.scene import Scene
from scalarviz.view.benches import bench_of
from scalarviz.view.micro.told import GRADIENTS
from scalarviz.view.render import render
from scalarviz.view.watch.replay import Replay
from scalarviz.view.window.unseen import Unseen

pytestmark = pytest.mark.gl
X = np.random.default_rng(0).random((16, 3))
SIZE = (640, 360)


def layer():
    return nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())


def deep():
    return nn.Sequential(nn.Linear(3, 16, seed=1), nn.Tanh(), nn.Linear(16, 3, seed=2), nn.Sigmoid())


@pytest.fixture
def recorded(tmp_path):
    """``recorded(net, optimizer, every, steps)``: a run, and a recording of it."""
    files = []

    def made(net=None, optimizer=optim.SGD, every=1, steps=4, **kept):
        net = net or layer()
        run = Run(net, nn.MSELoss(), optimizer(net.parameters(), lr=0.5), (X, 1 - X), engine="numpy")
        path = tmp_path / f"{len(files)}.svz"
        with sv.Recording(Scene("t", run), every=every, path=path, **(kept or {"micro": True, "gradients": True})):
            run.step(steps)
        files.append(sv.load_recording(path))
        return run, files[-1]

    yield made
    for file in files:
        file.close()


@pytest.fixture
def host(recorded):
    made = hosted(recorded()[1])
    yield made
    made.close_soon()


def hosted(recording, size=SIZE):
    made = Unseen(lambda size: Replay(bench_of(RecordedSource(recording), size, hands=True)), size)
    made.pass_time()
    return made


def press(host, *keys):
    for key in keys:
        host.view.key(key)
        host.pass_time()
    return host.view.bench.inside.told


# ---- pictures


@pytest.mark.parametrize("net", [layer, deep])
@pytest.mark.parametrize("optimizer", [optim.SGD, optim.Adam])
def test_a_still_of_a_micro_step_is_that_of_the_run(net, optimizer, recorded):
    run, recording = recorded(net(), optimizer)
    run.to(2)
    count = len(run.open(sample=0).micro_steps())
    for at in (2, count // 2, count - 4, -1):
        theirs = render(recording, SIZE, step=2, inside=at)
        np.testing.assert_array_equal(theirs, render(run, SIZE, inside=at))


def test_of_the_whole_batch_the_cubes_are_those_of_the_run_and_single_samples_are_left_out(recorded):
    run, recording = recorded()
    run.to(2)
    theirs = render(recording, (1280, 720), step=2, inside=24, whole_batch=True)
    ours = render(run, (1280, 720), inside=24, whole_batch=True)
    np.testing.assert_array_equal(theirs[:, :940], ours[:, :940])
    assert not np.array_equal(theirs, ours)  # the histogram of all samples is not in a recording


def test_where_none_were_recorded_that_is_said(recorded):
    _, recording = recorded(gradients=True)
    with pytest.raises(FileFormatError, match="no micro-steps of step 3: they were not recorded"):
        render(recording, SIZE, step=2, inside=1)
    host = hosted(recording)
    assert not host.view.send("micro_next")
    assert "no micro-steps were recorded (micro=True keeps them)" in host.view.notice()
    host.close_soon()


def test_a_micro_step_that_there_is_not_is_refused(recorded):
    with pytest.raises(InputError, match="micro-steps 1 to 44"):
        render(recorded()[1], SIZE, step=2, inside=45)


# ---- hands


def test_the_keys_walk_into_the_recorded_step_and_on_to_the_next(host):
    told = press(host, "Right", ".", ".")
    assert (told.step, told.at, told.count, told.trial) == (2, 2, 44, True)
    assert "inside step 2" in host.view.pace_text()
    assert press(host, ",").at == 1
    for _ in range(43):
        told = press(host, ".")
    assert (told.at, host.view.shown.step) == (44, 2)
    assert press(host, ".") is None
    assert host.view.shown.step == 2
    assert press(host, ".").step == 3


def test_back_from_the_first_is_the_end_of_the_step_before(host):
    told = press(host, "Right", "Right", ",")
    assert (told.step, told.at) == (2, 44)
    press(host, "Escape", "Home")
    assert press(host, ",") is None
    assert "step 1 is the first" in host.view.notice()


def test_right_finishes_the_step_and_space_plays(host):
    press(host, ".", ".")
    assert press(host, "Right") is None
    assert host.view.shown.step == 1
    press(host, ".", ".")
    assert press(host, "Space") is None
    assert host.view.playback.running


def test_at_the_end_it_is_said(host):
    press(host, "End", ".")
    assert press(host, "Right") is None
    assert "step 4 is the last that was recorded" in host.view.notice()


def test_b_shows_the_whole_batch(host):
    assert press(host, ".").samples == "this sample"
    told = press(host, "b")
    assert (told.samples, told.trial, told.at) == ("mean of 16 samples", False, 1)
    assert press(host, "b").trial


def test_samples_are_not_added_up_which_is_said(host):
    press(host, ".")
    assert not host.view.send("add_samples")
    assert "holds the sum over the batch, not its samples" in host.view.notice()


def test_a_click_on_the_ribbon_goes_to_a_phase(host):
    press(host, ".")
    x, y, wide, high = host.view.bench.inside._ribbon
    point = (np.array([x + 0.75 * wide, y + high / 2]) * host.view.bench.scale).tolist()
    host.view.press(point)
    host.view.release(point)
    host.pass_time()
    assert host.view.bench.inside.told.phase == GRADIENTS


def test_the_selected_weight_is_the_one_that_the_line_is_about(host):
    for _ in range(44):
        press(host, ".")
    host.view.bench.touch.select(7, host.view.shown)
    host.pass_time()
    assert host.view.bench.inside.told.sentence.index == 7


def test_steps_between_recorded_ones_are_said_to_be_missing(recorded):
    host = hosted(recorded(every=2)[1])
    assert press(host, ".").step == 1
    press(host, "Right")
    assert host.view.shown.step == 2
    assert "step 2: the one before it was not recorded" in host.view.notice()
    host.close_soon()


def test_a_branch_and_the_time_bar_close_the_step(host):
    press(host, ".")
    host.view.travels.go(3)
    host.pass_time()
    assert host.view.bench.inside.told is None
    assert host.view.shown.step == 3


# ---- slow motion


def test_at_the_least_speed_recorded_steps_open_by_themselves_and_lead_to_the_next_frame(recorded):
    host, seen = hosted(recorded(steps=2)[1], (320, 180)), []
    press(host, "[", "[", "[")
    host.view.key("Space")
    while host.view.playback.running:
        host.pass_time(0.21)  # a micro-step of 44 is shown for 9 s / 44
        told = host.view.bench.inside.told
        if told is not None and (not seen or seen[-1] != (told.step, told.at)):
            seen.append((told.step, told.at))
    assert seen == [(step, at) for step in (1, 2) for at in range(1, 45)]
    assert (host.view.shown.step, host.view.bench.inside.told) == (2, None)
    host.close_soon()


def test_a_pause_stays_in_the_step_and_a_higher_speed_leaves_it(host):
    press(host, "[", "[", "[", "Space")
    host.pass_time(1.0)
    assert "slow motion" in host.view.pace_text()
    press(host, "Space")
    at = host.view.bench.inside.told.at
    host.pass_time(2.0)
    assert host.view.bench.inside.told.at == at
    assert "slow motion" not in host.view.pace_text()
    press(host, "Space")
    assert host.view.bench.inside.told.at == at
    assert press(host, "]") is None
    assert host.view.playback.running


def test_slow_motion_of_a_recording_without_micro_steps_plays_its_frames(recorded):
    host = hosted(recorded(gradients=True)[1])
    press(host, "[", "[", "[", "Space")
    for _ in range(8 * 20 * 4 + 8):
        host.pass_time(0.25)
        assert host.view.bench.inside.told is None
    assert host.view.shown.step == 4
    host.close_soon()


def test_the_line_of_keys_inside_a_step_is_of_a_recording(host):
    press(host, ".")
    assert dict(host.view.bench.inside.keys)["Right"] == "next recorded step"
    assert dict(host.view.bench.inside.keys)["Space"] == "play"
