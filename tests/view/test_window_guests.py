"""A window that is given something else to show: the former is closed, everything that happens goes to the new one."""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from pathlib import Path
from types import FunctionType

import numpy as np
import pytest

from scalarviz.errors import StateError
from scalarviz.io import load_picture
from scalarviz.view.out.desktop import Window
from scalarviz.view.out.display import DisplayWatch

pytestmark = [pytest.mark.gl, pytest.mark.skipif(not sys.platform.startswith("linux"), reason="drives an X server")]


class Shown:
    """A guest that paints one colour and writes down what happens."""

    def __init__(self, size, colour=(0.0, 0.0, 0.0), busy=False):
        self.size, self.colour, self.busy = size, colour, busy
        self.happened, self.ticks, self.host = [], 0, None

    def attach(self, host):
        self.host = host
        host.every(1 / 60, self._beat)

    def _beat(self, seconds):
        self.ticks += 1

    def draw(self, viewport=None):
        from vispy import gloo

        gloo.clear(color=(*self.colour, 1.0))

    def for_file(self):
        return nullcontext(False)

    def resize(self, size):
        self.size = size

    def key(self, name, text="", *, shift=False, ctrl=False):
        self.happened.append(("key", name))
        return True

    def press(self, at, button="left", *, shift=False, ctrl=False):
        self.happened.append(("press", button))

    def move(self, at):
        pass

    def release(self, at):
        self.happened.append(("release", ""))

    def leave(self):
        pass

    def scroll(self, at, notches, *, shift=False):
        pass

    def open(self, paths):
        self.happened.append(("open", [path.name for path in paths]))

    def close(self):
        self.happened.append(("close", ""))
        if self.busy:
            raise StateError("still in a long call")


@pytest.fixture
def window(screen, tmp_path):
    told = []
    made = Window(lambda size: Shown(size, (1, 0, 0)), "first", (400, 300), shots=tmp_path, on_note=told.append).show()
    made.told = told
    yield made
    made.close()


def serve(window, until, seconds=20.0):
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end
        window.serve()
        time.sleep(0.005)


def enter(window, colour, name="second", busy=False):
    before = window.view
    window.enter(lambda size: Shown(size, colour, busy), name)
    assert window.view is before  # what asks for it may be in the middle of its own key
    serve(window, lambda: window.view is not before)
    return before


def test_the_former_one_is_closed_and_gets_no_more_time(window):
    first = enter(window, (0, 1, 0))
    assert first.happened == [("close", "")]
    ticks = first.ticks
    serve(window, lambda: window.view.ticks > 3)
    assert first.ticks == ticks
    assert window.canvas.title == "scalarviz: second"
    assert window.view.size == (400, 300)


def test_pictures_and_screenshots_are_of_the_new_one(window, tmp_path):
    enter(window, (0, 1, 0))
    path = window.screenshot()
    assert path.name == "second-1.png"
    np.testing.assert_array_equal(load_picture(path).rgb[5, 5], [0, 1, 0])


def test_keys_and_dropped_files_go_to_the_new_one(window):
    first = enter(window, (0, 1, 0))
    window._take([Path("a.png")])
    window.canvas.events.key_press(key=None, text="x", modifiers=())
    assert window.view.happened == [("open", ["a.png"]), ("key", None)]
    assert first.happened == [("close", "")]


def test_one_that_cannot_stop_at_once_is_said_and_keeps_nobody(window):
    window.view.busy = True
    first = enter(window, (0, 1, 0))
    assert window.told == ["still in a long call"]
    assert first.happened == [("close", "")]
    assert isinstance(window.view, Shown)


def test_a_display_that_goes_while_one_cannot_stop_is_said_and_lets_the_owner_save(window):
    saved = []
    window.view.busy, window.on_lost = True, lambda: saved.append("saved")
    window._rescue()  # what the watch of the display does in its thread
    assert window.told == ["still in a long call"]  # whoever saves says the rest
    assert window.display_lost
    assert saved == ["saved"]
    window.closed = False  # the display is there after all: the fixture can close the widget


def test_no_method_in_python_stands_around_what_qt_does_to_show_a_picture(window):
    """Called from one, Qt shows it with the interpreter's lock held: nobody can see then that the display has gone."""
    assert [kind for kind in type(window.canvas.native).__mro__ if type(vars(kind).get("event")) is FunctionType] == []


def test_the_loss_of_a_display_is_dealt_with_once(window):
    watch = DisplayWatch(window.application.native, lambda: None)
    assert [watch.first(), watch.first()] == [True, False]


def test_who_saves_nothing_is_told_that_the_display_went_away(window):
    window._rescue()
    assert window.told == ["the display went away; the window is closed"]
    window.closed = False


def test_closing_closes_what_is_shown_then_and_once(window):
    first = enter(window, (0, 1, 0))
    second = window.view
    window.close()
    window.close()
    assert second.happened == [("close", "")]
    assert first.happened == [("close", "")]


def test_a_window_that_closes_enters_nothing_any_more(window):
    made = []
    window.enter(lambda size: made.append(size) or Shown(size), "never")
    window.close_soon()
    serve(window, lambda: window.closed)
    assert made == []
