"""A window on a machine that has no kernels yet: its first picture is there at once. What a window says for a while."""

from __future__ import annotations

import re
import time
from contextlib import contextmanager

import numpy as np
import pytest

from kit.benches import assert_readable, words
from scalarviz import Run, nn, optim
from scalarviz.engine.cpu import units
from scalarviz.run import Scene
from scalarviz.run.engines import full_speed
from scalarviz.view.ink.overlay import banner
from scalarviz.view.ink.theme import DARK
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.watch.live import COMPILING, LiveView

pytestmark = pytest.mark.gl
X = np.random.default_rng(0).random((64, 3))
NEWS = "step 1,234,567 is a new best one, 40 times as good"


@pytest.fixture
def cold(monkeypatch, tmp_path):
    """A machine without compiled kernels."""
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(units, "LOADED", {})


@contextmanager
def window(size=(400, 400), engine="auto", **options):
    """A window of a small run, which is closed."""
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, 1 - X), engine=engine)
    with offscreen():
        view = Unseen(lambda size: LiveView(Scene("test", run), size, **options), size).view
        try:
            yield view
        finally:
            view.close()


def above(view):
    return " ".join(words(sketch for layer in view.bench.overlays for sketch in layer))


def until(view, condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)
        view.tick(1 / 60)


def test_without_kernels_step_0_is_shown_at_once_and_the_run_begins_when_they_are_there(cold):
    with window((1280, 720), steps=10**6) as view:
        view.tick(1 / 60)
        assert (view.worker.latest.step, view.run.engine.name) == (0, "numba")
        assert COMPILING in " ".join(words(view.bench.sketches))
        until(view, lambda: view.run.steps > 20)
        until(view, lambda: COMPILING not in " ".join(words(view.bench.sketches)))
        assert f"of {full_speed(view.run):,.0f} steps/s" in view.pace_text()
        assert view.worker.log == []


def test_a_window_that_is_closed_while_kernels_compile_ends_at_once(cold):
    with window((1280, 720), steps=10**6) as view:
        for _ in range(20):
            view.tick(1 / 60)
            time.sleep(0.02)
        begun = time.monotonic()
        view.close()
        assert time.monotonic() - begun < 1
        assert view.run.steps == 0


@pytest.mark.parametrize("size", [(1280, 720), (640, 360), (1920, 1080)])
def test_the_notice_hides_nothing_that_learns(size):
    """It stands in front of the line of keys, all of it, and of no cube, label, formula nor legend."""
    with window(size, playing=False) as view:
        view.say(NEWS, 8.0)
        view.tick(0.01)
        bench = view.bench
        (bar,) = [sketch for layer in bench.overlays for sketch in layer]
        ends, top = bench.places.scene[0] + bench.places.scene[2], min(text.y for text in bar.texts) - 23
        behind = {t.text for sketch in bench.sketches for t in sketch.texts if t.y > top and t.x < ends}
        line = {t.text for sketch in bench.sketches for t in sketch.texts if t.y == bench.places.keys}
        assert behind == line != set()
    assert not any("a colour of the cube" in does for _, does in bench.touch.table)  # where there is none
    assert any("a cube: look into it" in does for _, does in bench.touch.table)


def test_no_more_steps_are_seen_than_are_possible():
    with window(engine="numpy") as view:
        view._full_speed = 10.0  # measured while the machine had more to do
        until(view, lambda: view._steps.value > 20)
        seen, possible = re.search(r"([\d,]+) of ([\d,]+) steps/s", view.pace_text()).groups()
        assert seen == possible


@pytest.mark.parametrize(("size", "first"), [((1280, 720), "a message"), ((600, 300), "40 times as good")])
def test_trouble_and_news_are_both_said_and_in_a_low_picture_one_after_the_other(size, first):
    with window(size, playing=False) as view:
        view.say(NEWS, 8.0)
        view.tick(0.01)
        assert "40 times as good" in above(view)
        view.worker.error = ValueError("a message")
        view.tick(0.01)
        assert first in above(view)
        assert ("as good" in above(view)) == (size[1] > 300 or first != "a message")
        view.tick(9.0)
        assert "a message" in above(view)
        assert "as good" not in above(view)


@pytest.mark.parametrize("size", [(1280, 720), (640, 360), (400, 400), (160, 160)])
def test_the_notice_is_whole_and_has_a_colour_of_its_own(size):
    notice = banner(NEWS, size, 70.0, float(size[0]), DARK, alarm=False)
    assert_readable([notice], size)
    said = " ".join(words([notice]))
    assert NEWS.split() in (said.split(), said.replace("i ", "", 1).split())
    assert "!" not in words([notice])
