"""The panel of controls in a real window: keys and pointer by real events, Qt's field for a line and its clipboard."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from scalarviz import Run, nn, optim
from scalarviz.run import Scene
from scalarviz.run.panels import LossCurve
from scalarviz.view.ink.widgets import track_of
from scalarviz.view.out.desktop import Window
from scalarviz.view.watch.live import LiveView

pytestmark = [
    pytest.mark.gl,
    pytest.mark.filterwarnings("ignore:.*is marked as deprecated:DeprecationWarning"),  # vispy's use of Qt
]
X = np.random.default_rng(0).random((64, 3))


class Hand:
    """Real events for one window."""

    def __init__(self, window: Window) -> None:
        self.window = window
        assert isinstance(window.view, LiveView)
        self.view = window.view

    def until(self, condition: Callable[[], Any], seconds: float = 15.0) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "it did not happen in time"
            self.window.application.process_events()
            time.sleep(0.002)

    def xdo(self, *words: object) -> None:
        subprocess.run(["xdotool", *map(str, words)], check=True)

    def to(self, x: float, y: float) -> None:
        left, top = self.window.place
        self.xdo("mousemove", left + round(x), top + round(y))

    @property
    def panel(self) -> Any:
        return self.view.bench.controls

    def middle(self, name: str, value: str = "") -> tuple[float, float]:
        x, y, wide, high = next(spot.box for spot in self.panel.spots if spot.does == (name, value))
        return x + wide / 2, y + high / 2

    def over(self, name: str) -> None:
        """Go there, and wait until the panel knows."""
        self.to(*self.middle(name))
        self.until(lambda: self.panel.over == (name, ""))


@pytest.fixture
def hand(screen: str) -> Iterator[Hand]:
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (X, 1 - X), engine="numpy")
    made = Scene("test", run, panels=(LossCurve("64 samples"),), command=lambda reader: "scalarviz test --lr 0.5")
    window = Window(lambda size: LiveView(made, size, playing=False), "test", (1280, 720)).show()
    found = Hand(window)
    found.until(lambda: window.canvas.native.isActiveWindow() or window.canvas.native.hasFocus())
    found.xdo("key", "p")
    found.until(lambda: window.view.bench.controls.stands)
    yield found
    window.close()


def test_a_knob_is_dragged_while_it_trains(hand: Hand) -> None:
    hand.xdo("key", "space")
    run = hand.view.run
    hand.until(lambda: run.steps > 5)
    left, right, y = track_of(hand.panel.spot("learning rate").box)
    slider = hand.panel.item("learning rate").control
    hand.to(left + (right - left) * slider.share(0.5), y)
    hand.until(lambda: hand.panel.over == ("learning rate", ""))
    hand.xdo("mousedown", 1)
    for value in (0.2, 0.02, 2.0):
        hand.to(left + (right - left) * slider.share(value), y)
        hand.until(lambda: abs(run.lr / value - 1) < 0.05)  # noqa: B023 # asked at once
    held = run.steps
    hand.xdo("mouseup", 1)
    hand.until(lambda: run.steps > held + 3)
    assert len(run.log) == 1


def test_a_number_is_typed_into_a_field_of_the_desktop_while_training_goes_on(hand: Hand) -> None:
    from PySide6.QtWidgets import QInputDialog

    hand.xdo("key", "space")
    hand.to(*hand.middle("learning rate", "typed"))
    hand.xdo("click", "--repeat", 2, "--delay", 60, 1)
    hand.until(lambda: hand.window.canvas.native.findChildren(QInputDialog))
    (field,) = hand.window.canvas.native.findChildren(QInputDialog)
    assert (field.windowTitle(), field.textValue()) == ("learning rate", "0.5")
    steps = hand.view.run.steps
    hand.until(lambda: hand.view.run.steps > steps + 3)
    field.setTextValue("0.125")
    field.accept()
    hand.until(lambda: hand.view.run.lr == 0.125)


def test_a_command_is_copied_to_the_clipboard(hand: Hand) -> None:
    hand.over("copy as command")
    hand.xdo("click", 1)
    hand.until(lambda: hand.window.application.native.clipboard().text() == "scalarviz test --lr 0.5")


def test_its_keys_come_through_the_desktop(hand: Hand) -> None:
    view = hand.view
    hand.xdo("key", "Tab")
    hand.until(lambda: hand.panel.focus == "run or pause")
    hand.xdo("key", "shift+Tab")
    hand.until(lambda: hand.panel.focus == "one step back")
    for name in ("Tab", "Tab", "space"):
        hand.xdo("key", name)
    hand.until(lambda: view.run.steps == 1)
    hand.xdo("key", "Escape")
    hand.until(lambda: not hand.panel.open)
    hand.xdo("key", "Right")
    hand.until(lambda: view.run.steps == 2)


def test_a_layer_is_added_and_dragged_out_of_the_window_and_a_click_on_nothing_closes(hand: Hand) -> None:
    run, panel = hand.view.run, hand.panel
    hand.over("add a layer")
    hand.xdo("click", 1)
    hand.until(lambda: len(run.tensors) == 4 and panel.spot("layer 1") is not None)
    hand.over("layer 1")
    hand.xdo("mousedown", 1)
    hand.until(lambda: panel.held == "layer 1")
    hand.to(640, 300)
    hand.until(lambda: panel.carries)
    hand.to(640, 790)  # below the window, whose pointer it still is
    hand.xdo("mouseup", 1)
    hand.until(lambda: len(run.tensors) == 2 and len(run.log) == 2)  # the second follows the first
    assert panel.open
    hand.to(400, 90)
    hand.until(lambda: panel.over is None)
    hand.xdo("click", 1)
    hand.until(lambda: not panel.open)
