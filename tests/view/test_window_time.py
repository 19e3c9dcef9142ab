"""Time and controls in a real window, by real keys and a real mouse, Qt's field for a line and its clipboard."""

from __future__ import annotations

import pytest

from scalarviz.view.ink.widgets import track_of
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
    made.command = lambda reader: "scalarviz test --lr 0.5"
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


def test_keys_go_through_time_and_back_over_an_edit_and_a_window_that_closes_ends_at_the_newest_step(live):
    run = live.view.run
    for keys, step in ((("shift+Right", "shift+Right", "Left"), 19), (("Left",), 18), (("Right",), 19), (("Home",), 0)):
        live.key(*keys)
        stands(live, step)
    live.key("Up")
    live.until(lambda: run.lr == 1.0)
    for key, said, lr in (("ctrl+z", "undone: lr = 1", 0.5), ("ctrl+shift+z", "done again: lr = 1", 1.0)):
        live.key(key)
        live.until(lambda: live.view.notice().startswith(said))  # noqa: B023 # asked at once
        assert run.lr == lr
    live.key("ctrl+z", "End")
    stands(live, 20)
    live.key("Home")
    stands(live, 0)
    live.key("ctrl+q")
    live.until(lambda: live.window.closed)
    assert (run.steps, live.view.left_at) == (20, 0)


def test_a_drag_along_the_bar_stops_time_and_ends_at_the_step_below_the_pointer(live):
    view, bar = live.view, live.view.bench.bar
    live.key("space")
    live.until(lambda: view.run.steps >= 60)
    x, y, wide, high = bar.box
    live.point(x + 0.5 * wide, y + high - 26)
    live.xdo("mousedown", 1)
    live.until(lambda: not view.playback.running)
    live.point(x + 0.4 * wide, y - 200)  # a drag may leave the bar
    live.xdo("mouseup", 1)
    _, step = bar.target((round(x + 0.4 * wide), y + high - 26))
    stands(live, step)
    assert 0 < step < 60
    assert "in the past" in view.pace_text()
    assert view.bench.camera is view.bench.layout.camera


# ---- the panel of controls


@pytest.fixture
def panel(live):
    live.key("p")
    live.until(lambda: live.view.bench.controls.stands)
    return live.view.bench.controls


def to(live, panel, name, value=""):
    x, y, wide, high = next(spot.box for spot in panel.spots if spot.does == (name, value))
    live.point(x + wide / 2, y + high / 2)
    live.until(lambda: value or panel.over == (name, value))


def test_a_knob_is_dragged_and_a_number_typed_while_it_trains(live, panel):
    from PySide6.QtWidgets import QInputDialog

    live.key("space")
    run, slider = live.view.run, panel.item("learning rate").control
    live.until(lambda: run.steps > 5)
    left, right, y = track_of(panel.spot("learning rate").box)
    live.point(left + (right - left) * slider.share(0.5), y)
    live.xdo("mousedown", 1)
    for value in (0.2, 0.02, 2.0):
        live.point(left + (right - left) * slider.share(value), y)
        live.until(lambda: abs(run.lr / value - 1) < 0.05)  # noqa: B023 # asked at once
    held = run.steps
    live.xdo("mouseup", 1)
    live.until(lambda: run.steps > held + 3)
    assert len(run.log) == 1
    to(live, panel, "learning rate", "typed")
    live.xdo("click", "--repeat", 2, "--delay", 60, 1)
    live.until(lambda: live.window.canvas.native.findChildren(QInputDialog))
    (field,) = live.window.canvas.native.findChildren(QInputDialog)
    assert (field.windowTitle(), float(field.textValue())) == ("learning rate", run.lr)
    steps = run.steps
    live.until(lambda: run.steps > steps + 3)
    field.setTextValue("0.125")
    field.accept()
    live.until(lambda: run.lr == 0.125)


def test_a_command_is_copied_to_the_clipboard_and_its_keys_are_its_own(live, panel):
    to(live, panel, "copy as command")
    live.xdo("click", 1)
    live.until(lambda: live.window.application.native.clipboard().text() == "scalarviz test --lr 0.5")
    live.key("Tab")
    live.until(lambda: panel.focus == "copy as command")
    live.key("Up", "Escape")
    live.until(lambda: not panel.open)
    live.key("p", "Tab", "Right", "space")
    live.until(lambda: live.view.run.steps == 1)
    live.key("Escape", "Right")
    live.until(lambda: live.view.run.steps == 2)
