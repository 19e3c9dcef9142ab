"""Time in a real window, by real keys and a real mouse: back and forth, a drag along the bar, the end of a window."""

from __future__ import annotations

import numpy as np
import pytest

from scalarviz.view.out.desktop import Window
from scalarviz.view.watch.live import LiveView
from tests.view.test_window import Driver, scene

pytestmark = [
    pytest.mark.gl,
    pytest.mark.filterwarnings("ignore:.*is marked as deprecated:DeprecationWarning"),  # vispy's use of Qt
]


@pytest.fixture
def live(screen):
    made = scene()
    window = Window(
        lambda size: LiveView(made, size, steps=200, duration=4, playing=False), "test", (1280, 720), shots="out"
    ).show()
    driver = Driver(window)
    driver.until(lambda: window.canvas.native.isActiveWindow() or window.canvas.native.hasFocus())
    driver.spin(0.2)
    yield driver
    window.close()


def stands(driver, step):
    driver.until(lambda: driver.view.frame().step == step and not driver.view.worker.moving)
    driver.spin(0.3)


def cubes(driver):
    """The part of the picture where the cubes are."""
    x, y, wide, high = (round(part) for part in driver.view.bench.places.scene)
    return driver.picture()[y : y + high, x : x + wide]


def test_left_after_right_changes_no_pixel(live):
    live.key("shift+Right", "shift+Right", "Left")
    stands(live, 19)
    before = cubes(live)
    live.key("Left")
    stands(live, 18)
    assert np.abs(cubes(live) - before).max() > 20
    live.key("Right")
    stands(live, 19)
    assert np.array_equal(cubes(live), before)
    live.key("Home")
    stands(live, 0)
    live.key("shift+Right", "shift+Right", "Left")
    stands(live, 19)
    assert np.array_equal(cubes(live), before)


def test_undo_and_redo_by_their_keys(live):
    run = live.view.run
    live.key("Right", "Up")
    live.until(lambda: run.lr == 1.0)
    live.key("ctrl+z")
    live.until(lambda: live.view.notice() == "undone: lr = 1")  # it is said a moment after it is done
    assert run.lr == 0.5
    live.key("ctrl+shift+z")
    live.until(lambda: live.view.notice() == "done again: lr = 1")
    assert run.lr == 1.0


def test_a_drag_along_the_bar_stops_time_and_ends_at_the_step_below_the_pointer(live):
    view = live.view
    live.key("space")
    live.until(lambda: view.run.steps >= 60)
    bar = view.bench.bar
    live.until(lambda: bar.box is not None and bar._plan is not None)
    plan = bar._plan
    live.point(plan.scale.at(40), plan.rail)
    live.xdo("mousedown", 1)
    live.until(lambda: not view.playback.running)
    live.spin(0.1)
    x, rail = round(bar._plan.scale.at(22)), bar._plan.rail
    live.point(x, rail - 200)  # a drag may leave the bar
    live.xdo("mouseup", 1)
    _, at = bar.target((x, rail))
    stands(live, at)
    assert abs(at - 22) <= 2
    assert "in the past" in view.pace_text()
    assert view.bench.camera is view.bench.layout.camera


def test_closing_in_the_past_ends_at_the_newest_step(live):
    run = live.view.run
    live.key("shift+Right", "Home")
    stands(live, 0)
    live.key("ctrl+q")
    live.until(lambda: live.window.closed)
    assert run.steps == 10
    assert live.view.left_at == 0
