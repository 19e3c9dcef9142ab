"""Pictures of scenes as display lists, the words on them, and a window that nobody sees with a hand in it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack

import numpy as np

import scalarviz as sv
from scalarviz.view.ink.sketch import Box, Sketch
from scalarviz.view.ink.text import measure
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.watch.live import LiveView
from scalarviz.view.workbench import Workbench

SIZE = (1280, 720)
KEYS = (("?", "all keys"),)


def bench_of(scene: sv.Scene, size=SIZE, theme="dark", *, hands=False, seconds=None, **options) -> Workbench:
    """The picture of a scene now; with `hands` as a window shows it, `seconds` after another one."""
    bench = Workbench(scene, size, theme, keys=KEYS if hands else (), **options)
    bench.update(bench.subject.frame(), "", seconds)
    return bench


def words(bench: Workbench) -> list[str]:
    """All that is written, what lies over the picture last."""
    above = [sketch for layer in bench.overlays for sketch in layer]
    return [text.text for sketch in [*bench.sketches, *above] for text in sketch.texts]


def pixels_of(bench: Workbench) -> np.ndarray:
    """The picture, (H, W, 3)."""
    return offscreen().render(bench.draw, bench.size).astype(int)


def text_boxes(*sketches: Sketch) -> list[tuple[Box, str]]:
    """Where each text stands, what hangs below its line left out."""
    return [
        ((text.left, text.y - 0.72 * text.size, measure(text.text, text.size, text.bold), 0.72 * text.size), text.text)
        for sketch in sketches
        for text in sketch.texts
    ]


def middle(box: Box) -> tuple[float, float]:
    return box[0] + box[2] / 2, box[1] + box[3] / 2


class Window:
    """A window that nobody sees, which is at rest, and what a hand does in it."""

    def __init__(self, scene: sv.Scene, size=SIZE, *, playing=False, **options) -> None:
        self.scene, self.run = scene, scene.run
        self._left = ExitStack()
        self._left.enter_context(offscreen())
        self.host = Unseen(lambda size: LiveView(scene, size, playing=playing, **options), size)
        self.view = self.host.view
        self.rest()

    def __enter__(self) -> Window:
        return self

    def __exit__(self, *error) -> None:
        self.view.close()
        self.run.close()
        self._left.close()

    @property
    def bench(self) -> Workbench:
        return self.view.bench

    @property
    def words(self) -> list[str]:
        return words(self.bench)

    def drawer(self, kind):
        return self.bench.side.drawer(kind)

    def rest(self, until: Callable[[], bool] = lambda: True) -> None:
        """Time passes until all that was asked for is done and drawn."""
        self.view.worker.settle()
        for _ in range(300):
            if self.view.tick(0.05):
                self.view.mark_frame()
            elif until():
                return
            time.sleep(0.001)
        raise AssertionError("it never came to rest")

    def send(self, action: str, *more) -> None:
        """An action, done and drawn."""
        self.view.send(action, *more)
        self.rest()

    def edit(self, edit) -> None:
        self.bench.subject.source.edit(edit)
        self.rest()

    def move(self, at) -> None:
        """The pointer, to a place in logical pixels."""
        self.view.move((at[0] * self.bench.scale, at[1] * self.bench.scale))
        self.rest()

    def press(self, at, button="left", to=None) -> None:
        """A click; with `to` a drag to there."""
        start, end = ((x * self.bench.scale, y * self.bench.scale) for x, y in (at, to or at))
        self.view.press(start, button)
        if to is not None:
            self.view.move(end)
        self.view.release(end)
        self.rest()

    def paste(self, text: str) -> None:
        self.host.clipboard = text
        self.view.key("V", "v", ctrl=True)
        self.rest()
