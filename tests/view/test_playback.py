"""`Playback` on a hand-driven clock."""

from __future__ import annotations

import numpy as np
import pytest

from scalarviz import Run, nn, optim
from scalarviz.run.worker import Worker
from scalarviz.view.watch.playback import RATE, Playback

X = np.random.default_rng(0).random((8, 3))


@pytest.fixture
def worker():
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, 1 - X), engine="numpy")
    with Worker(run) as worker:
        yield worker


def shown(playback, seconds, count=1):
    """Step that is shown after `count` ticks of `seconds`."""
    for _ in range(count):
        playback.tick(seconds)
        playback.worker.settle()
    return playback.worker.latest.step


def test_one_step_a_frame_for_two_seconds_then_faster(worker):
    playback = Playback(worker, 3000, 20.0)
    assert shown(playback, 1 / RATE) == 0  # a window opens on the first values
    playback.play()
    assert [shown(playback, 1 / RATE) for _ in range(5)] == [1, 2, 3, 4, 5]
    assert shown(playback, 1 / RATE, 2 * RATE - 5) == pytest.approx(2 * RATE, abs=1)
    assert playback.text() == "pace 1 step a frame"
    at_half = shown(playback, 1 / RATE, 8 * RATE)
    assert at_half < 1500
    end = shown(playback, 1 / RATE, 10 * RATE + 2)
    assert end == 3000
    assert not playback.running
    assert playback.text() == "paused at the end"


def test_less_than_a_step_a_frame_is_said_evenly(worker):
    """The table is of whole steps, the pace that is said is not: 300 steps in 20 s are a quarter of one a frame."""
    playback = Playback(worker, 300, 20.0)
    playback.play()
    said = set()
    for _ in range(40):
        shown(playback, 1 / RATE)
        said.add(playback.text())
    rates = [float(text.split()[1]) for text in said]
    assert 0.15 < min(rates) <= max(rates) < 0.35


def test_a_pace_of_seconds_a_step_is_never_said_to_be_none(worker):
    """It said 0 and 1.9e-15 steps a frame: five steps in 20 s are one in 240 frames."""
    playback = Playback(worker, 5, 20.0)
    playback.play()
    said = set()
    for _ in range(800):  # well before its end
        playback.tick(1 / RATE)
        said.add(playback.text())
    assert said == {"pace below 0.033 steps a frame", "pace 0.033 steps a frame"}


def test_at_the_end_play_goes_on_without_one(worker):
    playback = Playback(worker, 10, 1.0)
    playback.play()
    assert shown(playback, 0.2, 10) == 10
    playback.toggle()
    assert playback.running
    assert shown(playback, 0.2, 5) > 10
    playback.pause()


def test_steps_by_hand_pause_first(worker):
    playback = Playback(worker, 3000)
    playback.step(1)
    assert worker.settle().step == 1
    playback.step(10)
    assert worker.settle().step == 11
    playback.play()
    moved = shown(playback, 1 / RATE, 3)
    assert moved == 14
    playback.step(1)
    assert worker.settle().step == 15
    assert not playback.running
    assert playback.text() == "paused"


def test_two_quick_presses_are_two_steps(worker):
    playback = Playback(worker, 3000)
    playback.step(1)
    playback.step(1)
    assert worker.settle().step == 2


@pytest.mark.parametrize("faster", [0, 4])
def test_a_step_after_a_pause_is_one_step(worker, faster):
    """Not all those that the pause kept from being done: at full speed the run went on to its end."""
    playback = Playback(worker, 100_000, 20.0)
    for _ in range(faster):
        playback.change_speed(1)
    playback.play()
    playback.tick(0.25)
    playback.pause()
    worker.settle()
    before = worker.run.steps
    playback.step(1)
    worker.settle()
    assert worker.run.steps == before + 1
    assert not playback.running


def test_speed_changes_the_rate_from_here_on(worker):
    playback = Playback(worker, 3000)
    playback.play()
    shown(playback, 1 / RATE, 10)
    playback.change_speed(+1)
    assert shown(playback, 1 / RATE, 10) == pytest.approx(30, abs=2)
    playback.change_speed(-3)
    assert playback.speed == 0.25
    before = worker.latest.step
    assert shown(playback, 1 / RATE, 8) == pytest.approx(before + 2, abs=1)
    assert "0.25 steps a frame" in playback.text()
    for _ in range(20):
        playback.change_speed(+1)
    assert playback.text() == "pace full"
    assert shown(playback, 1 / RATE) == 3000
    playback.change_speed(0)
    assert playback.speed == 1.0


def test_a_stalled_window_does_not_jump(worker):
    playback = Playback(worker, 3000)
    playback.play()
    assert shown(playback, 60.0) <= 0.25 * RATE + 1


def test_an_error_stops_the_clock(worker):
    playback = Playback(worker, 3000)
    playback.play()
    worker.edit(lambda run: run.set_weights(999, [1.0]), "wrong")
    worker.settle()
    playback.tick(0.1)
    assert not playback.running
    assert playback.text() == "stopped"
