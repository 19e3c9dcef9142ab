"""Drawing a digit in a real window: strokes by real mouse events, labels by real keys."""

from __future__ import annotations

import subprocess
import time

import numpy as np
import pytest
from scalarviz.scenes import digits as scene_digits

from scalarviz.run.edits import AddSamples
from scalarviz.run.panels import DigitPad
from scalarviz.view.out.desktop import Window
from scalarviz.view.watch.live import LiveView

pytestmark = [
    pytest.mark.gl,
    pytest.mark.filterwarnings("ignore:.*is marked as deprecated:DeprecationWarning"),  # vispy's use of Qt
]


class Hand:
    """A window, a mouse and a keyboard."""

    def __init__(self, window):
        self.window, self.view, self.pad = window, window.view, window.view.bench.side.drawer(DigitPad).sheet

    def xdo(self, *words):
        subprocess.run(["xdotool", *map(str, words)], check=True)
        self.spin(0.05)

    def spin(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.window.application.process_events()
            time.sleep(0.002)

    def until(self, condition, seconds=10.0):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "it did not happen in time"
            self.spin(0.01)

    def over(self, column, row):
        """The pointer to the middle of a pixel of the digit."""
        x, y, width, height = self.pad.box
        rows, columns = self.pad.side
        at = np.array([x + (column + 0.5) * width / columns, y + (row + 0.5) * height / rows]) * self.view.bench.scale
        corner = self.window.canvas.native.mapToGlobal(self.window.canvas.native.rect().topLeft())
        self.xdo("mousemove", corner.x() + round(at[0]), corner.y() + round(at[1]))

    def stroke(self, *places, button=1):
        self.over(*places[0])
        self.xdo("mousedown", button)
        for place in places[1:]:
            self.over(*place)
        self.xdo("mouseup", button)

    def settled(self):
        """The pad's picture is what went through the network."""
        self.spin(0.1)
        return self.view.frame().activations


@pytest.fixture
def hand(screen):
    made = scene_digits.build(scene_digits.Options(engine="numpy", seed=3))
    made.run.step(400)
    window = Window(lambda size: LiveView(made, size, playing=False), "digits", (1280, 720), shots="out").show()
    driver = Hand(window)
    driver.until(lambda: window.canvas.native.isActiveWindow() or window.canvas.native.hasFocus())
    driver.spin(0.2)
    yield driver
    window.close()


ONE = [(4, 0), (4, 2), (4, 5), (4, 7)]


def test_a_stroke_begins_on_an_empty_sheet_and_is_read_at_once(hand):
    before, camera = hand.pad.pixels.copy(), hand.view.bench.camera
    hand.stroke(*ONE)
    ink = hand.pad.pixels
    assert not np.array_equal(ink, before)
    assert (ink[:, 4] > 0.9).all()
    assert ink[:, [0, 1, 7]].max() == 0
    assert 0 <= ink.min() <= ink.max() <= 1
    rows = hand.settled()
    np.testing.assert_array_equal(rows["input"], ink.ravel())
    assert np.argmax(rows["7"]) == 1
    assert hand.view.bench.camera is camera  # the drag turned nothing
    said = [item.text for sketch in hand.view.bench.sketches for item in sketch.texts]
    assert {"read as 1", "your drawing"} <= set(said)


def test_the_right_button_erases_backspace_clears_and_an_empty_sheet_is_not_learnt(hand):
    before, count = hand.pad.pixels.copy(), len(hand.view.run.samples()[0])
    hand.stroke((4, 3), (4, 4), button=3)
    assert hand.pad.pixels[3:5, 4].max() == 0
    assert np.array_equal(hand.pad.pixels[:, 0], before[:, 0])
    assert hand.pad.pixels.any()
    hand.xdo("key", "BackSpace")
    assert not hand.pad.pixels.any()
    assert not hand.settled()["input"].any()
    hand.xdo("key", "5")
    hand.view.worker.settle()
    assert len(hand.view.run.samples()[0]) == count


def test_digit_keys_teach_below_the_pointer_alone_and_training_learns_it(hand):
    """A picture unlike any digit: a corner."""
    run = hand.view.run
    count, start = len(run.samples()[0]), run.steps
    hand.over(4, 4)
    hand.xdo("key", "Tab")  # other keys are what they always are
    assert not hand.view.bench.panels_shown
    hand.xdo("key", "Tab")
    hand.xdo("mousemove_relative", "--", -300, 0)
    hand.xdo("key", "3")
    hand.view.worker.settle()
    assert len(run.samples()[0]) == count
    hand.stroke((0, 0), (0, 3))
    hand.stroke((0, 0), (3, 0))
    drawn = hand.pad.picture.copy()
    hand.xdo("key", "8")
    hand.until(lambda: run.steps > start)  # it goes on by itself
    hand.view.playback.pause()
    hand.view.worker.settle()
    inputs, targets = run.samples()
    assert len(inputs) == count + 1
    np.testing.assert_array_equal(inputs[-1], drawn.astype(np.float32))
    assert targets[-1] == 8
    assert hand.pad.truth == "is 8"
    (done,) = hand.view.worker.log
    assert isinstance(done.edit, AddSamples)
    for _ in range(2):
        hand.xdo("key", "8")
    hand.view.worker.train_to(run.steps + 250)
    hand.view.worker.settle(60)
    hand.until(lambda: np.argmax(hand.view.frame().activations["7"]) == 8)
