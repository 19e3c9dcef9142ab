"""A window that is given something else to show: the former is closed, everything that happens goes to the new one."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from types import FunctionType

import numpy as np
import pytest

from kit.windows import serve
from scalarviz.errors import StateError
from scalarviz.io import load_picture
from scalarviz.view.out.desktop import Window
from scalarviz.view.out.display import DisplayWatch

pytestmark = [pytest.mark.gl, pytest.mark.skipif(not sys.platform.startswith("linux"), reason="drives an X server")]


class Shown:
    """A guest that paints one colour and writes down what happens."""

    def __init__(self, size, colour=(0.0, 0.0, 0.0)):
        self.size, self.colour, self.busy, self.happened, self.ticks = size, colour, False, [], 0

    def attach(self, host):
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

    def move(self, at):
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
    if made.display_lost:  # it is there after all: the widget can be closed
        made.closed = False
    made.close()


def enter(window):
    """Show a green one from the next tick on; the former."""
    before = window.view
    window.enter(lambda size: Shown(size, (0, 1, 0)), "second")
    assert window.view is before  # what asks for it may be in the middle of its own key
    serve(window, until=lambda: window.view is not before)
    return before


def test_the_former_one_is_closed_and_time_pictures_keys_and_files_are_the_new_ones(window):
    window.view.busy = True  # one that cannot stop at once is said and keeps nobody
    first = enter(window)
    assert window.told == ["still in a long call"]
    ticks = first.ticks
    serve(window, until=lambda: window.view.ticks > 3)
    assert first.ticks == ticks
    assert (window.canvas.title, window.view.size) == ("scalarviz: second", (400, 300))
    path = window.screenshot()
    assert path.name == "second-1.png"
    np.testing.assert_array_equal(load_picture(path).rgb[5, 5], [0, 1, 0])
    window._take([Path("a.png")])
    window.canvas.events.key_press(key=None, text="x", modifiers=())
    assert window.view.happened == [("open", ["a.png"]), ("key", None)]
    window.close()
    window.close()
    assert window.view.happened[2:] == first.happened == [("close", "")]


@pytest.mark.parametrize("saves", [True, False])
def test_a_display_that_goes_is_said_or_lets_the_owner_save(window, saves):
    saved = []
    window.view.busy, window.on_lost = True, (lambda: saved.append("saved")) if saves else None
    window._rescue()  # what the watch of the display does in its thread
    said = [] if saves else ["the display went away; the window is closed"]  # whoever saves says the rest
    assert window.told == [*said, "still in a long call"]
    assert window.display_lost
    assert saved == ["saved"] * saves
    window.view.busy = False
    watch = DisplayWatch(window.application.native, lambda: None)
    assert [watch.first(), watch.first()] == [True, False]  # it is dealt with once


def test_no_method_in_python_stands_around_what_qt_does_to_show_a_picture(window):
    """Called from one, Qt shows it with the interpreter's lock held: nobody can see then that the display has gone."""
    assert [kind for kind in type(window.canvas.native).__mro__ if type(vars(kind).get("event")) is FunctionType] == []


def test_a_window_that_closes_enters_nothing_any_more(window):
    made = []
    window.enter(lambda size: made.append(size) or Shown(size), "never")
    window.close_soon()
    serve(window, until=lambda: window.closed)
    assert made == []
