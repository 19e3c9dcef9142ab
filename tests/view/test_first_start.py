"""The window says when another engine has taken over: HUD, a notice for a while, a line for the terminal."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest

from scalarviz import Run, nn, optim
from scalarviz.run import Scene
from scalarviz.run.first_start import Change
from scalarviz.view.draw.theme import DARK
from scalarviz.view.panels.overlay import banner
from scalarviz.view.watch import live as module
from scalarviz.view.watch.live import LiveView
from scalarviz.view.window.offscreen import offscreen
from scalarviz.view.window.unseen import Unseen

pytestmark = pytest.mark.gl

X = np.random.default_rng(0).random((64, 3))
SIZES = [(1280, 720), (640, 360), (400, 400), (160, 160)]


@pytest.fixture
def kernels(monkeypatch):
    scene("numba").run.close()  # what is waited for below is the change, not a compiler
    state = {"warm": False}
    for owner in ("scalarviz.engine.cpu.cache_is_warm", "scalarviz.run.first_start.cache_is_warm"):
        monkeypatch.setattr(owner, lambda dtype, operations: state["warm"])
    monkeypatch.setattr("scalarviz.run.first_start.PAUSE", 0.01)
    return state


def scene(engine="auto"):
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    return Scene("test", Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, 1 - X), engine=engine))


def words(view):
    """Everything written on the picture, and what lies over it."""
    above = " ".join(text.text for layer in view.bench.overlays for sketch in layer for text in sketch.texts)
    return " ".join(text.text for sketch in view.bench.sketches for text in sketch.texts), above


def until(view, condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)
        view.tick(1 / 60)


@pytest.mark.parametrize("playing", [True, False])
def test_the_change_is_said_for_a_while_and_the_hud_names_the_engine(kernels, playing):
    with offscreen():
        view = Unseen(lambda size: LiveView(scene(), size, playing=playing, first_start=True, steps=10**6)).view
        try:
            until(view, lambda: view.run.steps > 20 or not playing)
            assert "numpy, 1 thread" in words(view)[0] or not playing
            assert view.host.told == []
            kernels["warm"] = True
            until(view, lambda: view.host.told and "numba, 1 thread" in words(view)[0])
            (note,) = view.host.told
            step = view.run.engine.since + 1
            assert note.startswith(f"the fast kernels are ready: numba from step {step:,} on")
            assert note in words(view)[1]
            assert f"{view.run.full_speed:,.0f} steps/s" in view.pace_text()
            assert [edit.what for edit in view.worker.log] == ["engine numpy -> numba"]
            view.tick(module.ENGINE_SECONDS)
            view.tick(0.1)
            assert words(view)[1] == ""
        finally:
            view.close()


@pytest.mark.parametrize("size", [(1280, 720), (640, 360), (1920, 1080)])
def test_the_notice_hides_nothing_that_learns(kernels, size):
    """It stands in front of the line of keys, all of it, and of no cube, label, formula nor legend."""
    with offscreen():
        view = LiveView(scene(), size, playing=False, first_start=True)
        try:
            view._changed(Change(1, 1.0, 1.5))
            view.tick(0.01)
            (bar,) = [sketch for layer in view.bench.overlays for sketch in layer]
            ends = view.bench.places.scene[0] + view.bench.places.scene[2]
            top = min(text.y for text in bar.texts) - 23
            keys = {text for sketch in view.bench._key_line for text in sketch.texts}
            behind = {t for sketch in view.bench.sketches for t in sketch.texts if t.y > top and t.x < ends}
            assert behind <= keys
            assert keys <= behind
        finally:
            view.close()


def test_after_a_change_of_engine_nothing_leaps(kernels):
    """What the slow engine could not keep up with is not made good at once."""
    with offscreen():
        view = LiveView(scene(), (400, 400), steps=10**6, first_start=True)
        try:
            view.playback._time += 10.0  # as if this engine were far too slow for the pace
            view._changed(Change(1, 1.0, 1.5))
            view.advance(0.0)
            assert view.playback._time < 5.0
            assert view.playback._target < 1000
        finally:
            view.close()


def test_no_more_steps_are_seen_than_are_possible(kernels):
    with offscreen():
        view = LiveView(scene(), (400, 400))
        try:
            view._full_speed = 10.0  # measured while the machine had more to do
            until(view, lambda: view._steps.value > 20)
            seen, possible = re.search(r"([\d,]+) of ([\d,]+) steps/s", view.pace_text()).groups()
            assert seen == possible
        finally:
            view.close()


def test_the_list_of_keys_speaks_of_no_colour_cube_where_there_is_none():
    with offscreen():
        view = LiveView(scene(), (400, 400), playing=False)
        view.close()
    assert not any("a colour of the cube" in does for _, does in view.bench.touch.table)
    assert any("a cube: look into it" in does for _, does in view.bench.touch.table)


@pytest.mark.parametrize(("size", "first"), [((1280, 720), "a message"), ((600, 300), "5 times as fast")])
def test_trouble_and_news_are_both_said_and_in_a_low_picture_one_after_the_other(kernels, size, first):
    with offscreen():
        view = LiveView(scene(), size, playing=False, first_start=True)
        try:
            view._changed(Change(1, 1.0, 5.0))
            view.tick(0.01)
            assert "5 times as fast" in words(view)[1]
            view.worker._error = ValueError("a message")
            view.tick(0.01)
            assert first in words(view)[1]
            assert ("as fast" in words(view)[1]) == (size[1] > 300 or first != "a message")
            view.tick(9.0)
            assert "a message" in words(view)[1]
            assert "as fast" not in words(view)[1]
        finally:
            view.close()


@pytest.mark.parametrize(("engine", "first_start"), [("auto", False), ("numpy", True)])
def test_without_a_first_start_nothing_changes(kernels, engine, first_start):
    with offscreen():
        view = Unseen(lambda size: LiveView(scene(engine), size, first_start=first_start), (400, 400)).view
        kernels["warm"] = True
        until(view, lambda: view.run.steps > 30)
        view.close()
    assert (view.run.engine.name, view.worker.log, view.host.told) == ("numpy", [], [])


@pytest.mark.parametrize("size", SIZES)
def test_the_notice_is_whole_and_has_a_colour_of_its_own(size):
    text = str(Change(1_234_567, 1.0, 40.0))
    notice = banner(text, size, 70.0, float(size[0]), DARK, alarm=False)
    said = " ".join(t.text for t in notice.texts)
    assert said.replace("i ", "", 1).split() == text.split() or said.split() == text.split()
    assert not any(t.text == "!" for t in notice.texts)
