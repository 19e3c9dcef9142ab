"""How time goes on: the pace of films and windows, by what there is to see, and `Playback` on a hand-driven clock."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.windows import make_colour_run
from scalarviz.errors import InputError
from scalarviz.run.sources.played import Rehearsal
from scalarviz.run.worker import Worker
from scalarviz.view.watch.playback import EVENLY, RATE, REST, Playback, pace, steps_a_frame


@pytest.fixture
def worker():
    with Worker(make_colour_run(lr=0.1)) as worker:
        yield worker


def shown(playback, seconds=1 / RATE, count=1):
    """Step that is shown after `count` ticks of `seconds`."""
    for _ in range(count):
        playback.tick(seconds)
        playback.worker.settle()
    return playback.worker.latest.step


def test_one_step_a_frame_for_two_seconds_then_faster_and_after_the_end_without_one(worker):
    playback = Playback(worker, 3000, 20.0)
    assert shown(playback) == 0  # a window opens on the first values
    playback.play()
    assert shown(playback, 60.0) <= 0.25 * RATE + 1  # a stalled window does not jump
    assert shown(playback, 1 / RATE, 2 * RATE - 15) == pytest.approx(2 * RATE, abs=1)
    assert playback.text() == "pace 1 step a frame"
    assert shown(playback, 0.1, 80) < 1500
    assert shown(playback, 0.1, 101) == 3000
    assert (playback.running, playback.text()) == (False, "paused at the end")
    playback.toggle()
    assert playback.running
    assert shown(playback, 0.2, 5) > 3000
    worker.edit(lambda run: run.set_weights(999, [1.0]), "wrong")
    shown(playback, 0.1, 2)
    assert (playback.running, playback.text()) == (False, "stopped")


@pytest.mark.parametrize("faster", [0, 4])
def test_steps_by_hand_pause_first_and_are_counted_from_where_it_stands(worker, faster):
    """Not all those that a pause kept from being done: at full speed the run went on to its end."""
    playback = Playback(worker, 100_000, 20.0)
    for counts in ((1, 1), (10,)):  # two quick presses are two steps
        before = worker.run.steps
        for count in counts:
            playback.step(count)
        assert worker.settle().step == before + sum(counts)
    for _ in range(faster):
        playback.change_speed(+1)
    playback.play()
    playback.tick(0.25)
    playback.pause()
    for plays in (False, True):
        if plays:
            playback.change_speed(0)
            playback.play()
            shown(playback, 1 / RATE, 3)
        before = worker.settle().step
        playback.step(1)
        assert (worker.settle().step, playback.running) == (before + 1, False)


def test_speed_changes_the_rate_from_here_on(worker):
    playback = Playback(worker, 3000)
    playback.play()
    shown(playback, 1 / RATE, 10)
    playback.change_speed(+1)
    assert shown(playback, 1 / RATE, 10) == pytest.approx(30, abs=2)
    playback.change_speed(-3)
    before = worker.latest.step
    assert shown(playback, 1 / RATE, 8) == pytest.approx(before + 2, abs=1)
    assert "0.25 steps a frame" in playback.text()
    for _ in range(20):
        playback.change_speed(+1)
    assert playback.text() == "pace full"
    assert shown(playback) == 3000


def test_a_breakpoint_stops_the_worker_and_the_playback_until_it_is_told_to_go_on(worker):
    point = worker.run.break_on("step == 20 or step == 40")
    worker.run.step(30)  # a step that somebody else asks for stops nobody else
    worker.travel(10)
    for ask, step, stopped in (
        (lambda: worker.train_to(100), 20, True), (lambda: worker.train_to(200), 20, True), (worker.resume, 40, True),
        (lambda: worker.travel(10), 10, False), (lambda: worker.train_to(30), 20, True),
    ):  # fmt: skip
        ask()
        said = f"breakpoint 1 at step {step}: step == 20 or step == 40 (step {step})"
        assert (worker.settle().step, worker.latest.stopped_by) == (step, said if stopped else "")
        assert (worker.stopped is not None, worker.stopped is worker.run.stopped_by) == (stopped, True)
    playback = Playback(worker, 10**9)
    playback.play()
    assert playback.running
    assert shown(playback, 1 / RATE, 40) == 40
    assert (playback.running, playback.text()) == (False, "paused at a breakpoint")
    worker.run.break_on("step == 45")
    for count, step, said in ((3, 43, "paused"), (10, 45, "paused at a breakpoint"), (10, 55, "paused")):
        playback.step(count)
        assert (worker.settle().step, playback.text()) == (step, said)
    worker.run.break_on("loss < 0.05")
    playback.change_speed(+9)  # without a limit
    playback.play()
    end = time.monotonic() + 20
    while playback.running:
        assert time.monotonic() < end
        playback.tick(1 / RATE)
        time.sleep(0.005)
    assert worker.run.loss < 0.05 <= worker.run.history.loss[-2]
    assert point.hits == 5


def rehearsal_of(loss, way=None) -> Rehearsal:
    marks = np.arange(len(loss) + 1)
    return Rehearsal(loss, marks, marks * 0.0 if way is None else way)


def when(stops, loss, share) -> float:
    """At which share of the film so much of the fall of the loss, in decades, has been seen."""
    drop = np.log10(loss[0]) - np.log10(np.minimum.accumulate(loss))
    seen = drop[np.clip(stops - 1, 0, len(loss) - 1)]
    return float(np.argmax(seen >= share * drop[-1] - 1e-12)) / (len(stops) - 1)


@pytest.mark.parametrize("ends", [30, 100, 1000, 2990])
def test_a_run_that_is_done_early_fills_its_film_all_the_same(ends):
    loss = 10.0 ** (-2 * np.minimum(np.arange(3000), ends) / ends)  # two decades, then rest
    stops = pace(3000, 12, 30, rehearsal_of(loss))
    assert 0.35 < when(stops, loss, 0.5) < 0.65
    assert 0.6 < when(stops, loss, 0.9) < 0.95
    if ends <= 100:
        assert when(pace(3000, 12, 30), loss, 0.9) < 0.27  # by steps alone


FALLS = np.concatenate([np.full(2000, 1.0), np.geomspace(1, 0.01, 50), np.full(950, 0.01)])
MOVES = np.concatenate([np.zeros(2000), np.linspace(0, 1, 50), np.ones(951)])


@pytest.mark.parametrize(("loss", "way", "least"), [(FALLS, None, 0.4), (np.ones(3000), MOVES, 0.3)])
def test_what_happens_in_the_middle_gets_the_middle_of_the_film(loss, way, least):
    """The loss falls there, or the weights move while the loss stands still."""
    stops, by_steps = pace(3000, 12, 30, rehearsal_of(loss, way)), pace(3000, 12, 30)
    assert np.mean((stops > 2000) & (stops < 2050)) > least
    assert np.mean((by_steps > 2000) & (by_steps < 2050)) < 0.05


losses = st.sampled_from(["noisy", "rising", "zero", "negative", "nan", "huge", "still"])


@settings(max_examples=80, deadline=None)
@given(total=st.integers(1, 4000), duration=st.floats(0.2, 20), fps=st.integers(1, 60), kind=losses)
def test_a_rehearsed_pace_never_falls_and_rests_at_the_last_step(total, duration, fps, kind):
    t = np.arange(total)
    loss = {
        "noisy": np.exp(np.random.default_rng(total).normal(size=total)), "rising": np.exp(t / 100.0),
        "zero": np.zeros(total), "negative": -1.0 * t, "nan": np.full(total, np.nan), "huge": np.full(total, 1e300),
        "still": np.ones(total),
    }[kind]  # fmt: skip
    rehearsal = rehearsal_of(loss, np.sqrt(np.arange(total + 1)))
    with np.errstate(over="ignore", invalid="ignore"):
        stops, restless = (pace(total, duration, fps, rehearsal, rest=rest) for rest in (REST, 0.0))
    for frames in (stops, restless, pace(total, duration, fps)):
        assert len(frames) == max(2, round(duration * fps))
        assert (frames[0], frames[-1]) == (0, total)
        assert np.all(np.diff(frames) >= 0)
        assert np.all(steps_a_frame(frames, fps) >= 0)
    if total >= EVENLY and len(stops) > 100:
        assert np.sum(stops == total) >= 0.8 * REST * len(stops)
    with pytest.raises(InputError, match=f"rehearsal: got one of {total} steps; allowed: one of {total + 40}"):
        pace(total + 40, 10, 30, rehearsal)


def test_without_a_rehearsal_it_is_a_step_a_frame_for_two_seconds_then_a_smooth_ramp_or_a_steady_pace():
    rate = np.diff(pace(3000, 20, 30)).astype(float)
    assert np.all(rate[:60] == 1)
    assert np.all(np.diff(np.convolve(rate, np.ones(15) / 15, mode="valid")) > -0.11)  # rounding to whole steps
    stops = pace(20_000, 20.0, 30, steady=100, rest=0.0)
    assert stops[:61].tolist() == list(range(61))
    assert np.diff(stops[60:-1]).tolist() == [100] * (len(stops) - 62)
    assert len(pace(20_000, 20.0, 30, steady=100)) > len(stops)  # a film rests at its end
    for total in (10_000_000, 10**12):  # a film has a million frames at most
        stops = pace(total, 20.0, 30, steady=1, rest=0.0)
        assert 900_000 < len(stops) <= 10**6
        assert (stops[0], stops[-1], (np.diff(stops) >= 0).all()) == (0, total, True)
    for bad in ((-1, 20, 30), (10, 0, 30), (10, np.nan, 30), (10, 20, 0), (10, 1e6, 60)):
        with pytest.raises(InputError, match="allowed"):
            pace(*bad)
    with pytest.raises(InputError, match="steady"):
        pace(10, steady=0)


def test_a_window_plays_what_was_rehearsed(worker):
    loss = np.concatenate([np.geomspace(1, 1e-3, 60), np.full(2940, 1e-3)])
    by_steps, by_sight = Playback(worker, 3000, 12), Playback(worker, 3000, 12, rehearsal_of(loss))
    assert by_steps._paced(6.0) > 200
    assert by_sight._paced(6.0) < 60
    assert by_sight._paced(719 / 60) == pytest.approx(3000)
