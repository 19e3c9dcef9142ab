"""A window on what another library trains: a loop of its own, a real display, the pixels that it leaves."""

from __future__ import annotations

import threading
import time
from itertools import pairwise

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import InputError
from scalarviz.run.sources.watched import QUIET, RATE, SLOWEST

pytestmark = [
    pytest.mark.gl,
    pytest.mark.filterwarnings("ignore:.*is marked as deprecated:DeprecationWarning"),  # vispy's use of Qt
]


def served(handle, until, seconds=20.0):
    """Let the window serve itself, as after a loop, until something is so."""
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end
        handle.window.serve()
        time.sleep(0.01)


def trained(handle, w, steps):
    for step in range(1, steps + 1):
        w += 0.01
        assert handle.update(loss=1 / step, lr=0.1)


def test_a_loop_is_watched_and_its_last_step_is_shown(screen):
    w = {"layers": [np.zeros((4, 6)), np.zeros(4)]}
    with sv.show(w, block=False) as handle:
        assert handle.watched.name == "dict"
        before = handle.window._painted()
        trained(handle, w["layers"][0], 300)
        served(handle, lambda: handle.viewer.shown.step == 300)
        frame = handle.viewer.shown
        assert np.allclose(frame.values[:24], 3.0)
        assert (frame.loss, len(frame.curve.step)) == (1 / 300, 300)
        after = handle.window._painted()
        assert (before != after).any()


def test_the_time_bar_goes_back_to_what_was_seen(screen):
    w = np.zeros((3, 3))
    with sv.show({"w": w}, block=False) as handle:
        assert handle.viewer.bench.places.time is None
        handle._turns._pace.share = 1.0
        for _ in range(12):
            w += 1
            handle.update()
            time.sleep(0.04)
        served(handle, lambda: handle.viewer.shown.values[0] == 12)
        assert handle.viewer.bench.places.time is not None
        handle.viewer.key("Left")
        served(handle, lambda: handle.viewer.shown.step < handle.watched.last.step)
        back = handle.viewer.shown
        assert back.values[0] == back.step
        handle.viewer.bench.select(4)
        handle.window.serve()
        _, record = handle.viewer.bench.touch.inspector.record
        assert record.values.tolist() == record.steps.tolist()
        handle.viewer.key("End")
        served(handle, lambda: handle.viewer.shown.step == handle.watched.last.step)


def test_painting_gets_its_share_and_no_more(screen, monkeypatch):
    w = np.zeros((30, 30))
    with sv.show({"w": w}, block=False) as handle:
        watched, pace = handle.watched, handle._turns._pace
        monkeypatch.setattr(pace, "touched", lambda now: None)  # no hand is there; a resized window counts as one
        pace._eager, took, looks = float("-inf"), pace.took, {}
        monkeypatch.setattr(pace, "took", lambda *when: looks.update({len(watched.curve.step): when}) or took(*when))
        steps, begun = 0, time.monotonic()
        while len(looks) < 3 or steps < 2000:  # of a step it is told twice: of the copy, and of copy and picture
            assert time.monotonic() < begun + 60
            w += 1
            handle.update(loss=0.5)
            steps += 1
        for (start, end), (after, _) in pairwise(looks.values()):
            assert after - start >= max(1 / RATE, min((end - start) / pace.share, SLOWEST))
        assert len(watched.curve.step) == steps


def test_gradients_and_updates_are_shown_where_there_are_some(screen):
    params = {"w": np.ones((3, 3), np.float32)}
    with sv.show(params, block=False) as handle:
        handle._turns._pace.share = 1.0
        for _ in range(3):
            params = {"w": params["w"] * np.float32(0.5)}
            handle.update(params, {"w": params["w"] * 3}, loss=1.0)
            time.sleep(0.05)
        time.sleep(QUIET)
        served(handle, lambda: handle.viewer.shown.step == 3)
        assert handle.viewer.send("show_gradients")
        assert np.allclose(handle.viewer.shown.gradient, 0.375)
        assert handle.viewer.send("show_updates")


def test_a_window_that_was_closed_lets_the_loop_go_on(screen):
    w = np.zeros(4)
    handle = sv.show({"w": w}, block=False)
    assert handle.update(loss=1.0)
    handle.close()
    assert not handle.update(loss=0.5)
    assert handle.watched.curve.loss.tolist() == [1.0, 0.5]


def test_what_reads_in_place_takes_no_arrays(screen):
    with sv.show(sv.Weight(1.0), block=False) as handle:
        assert handle.watched is None
        with pytest.raises(InputError, match="read in place"):
            handle.update({"w": np.ones(2)})


@pytest.mark.parametrize("x", ["arrays", "weights"])
def test_the_desktops_own_button_ends_the_loop(screen, x):
    w = np.zeros(4)
    with sv.show({"w": w} if x == "arrays" else sv.Weight(1.0), block=False) as handle:
        assert handle.update(loss=1.0)
        handle.window.canvas.native.close()  # as Qt does when the window manager asks for it
        end = time.monotonic() + 20
        while handle.update(loss=0.5):  # it went on for ever, without a window
            assert time.monotonic() < end
            time.sleep(0.01)
        assert handle.closed


def test_a_loop_in_a_thread_of_its_own_tells_and_the_windows_thread_paints(screen):
    w, lone = np.zeros((2, 2)), sv.Weight(1.0)
    with sv.show({"w": w}, block=False) as handle, sv.show(lone, block=False) as other:
        open_still = []

        def loop():
            for step in range(1, 21):
                np.add(w, 1, out=w)
                open_still.append(handle.update(loss=1 / step) and other.update())

        thread = threading.Thread(target=loop)
        thread.start()  # it aborted the process: OpenGL's context is another thread's
        thread.join()
        assert open_still == [True] * 20
        served(handle, lambda: handle.viewer.shown.step == 20)
        assert (handle.viewer.shown.values == 20).all()


def test_a_picture_of_it_needs_no_window():
    picture = sv.render({"a": {"w": np.eye(3)}}, (320, 240))
    again = sv.render(sv.watch({"a": {"w": np.eye(3)}}), (320, 240))
    assert np.array_equal(picture, again)
