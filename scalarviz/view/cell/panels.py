"""`CellPanels`: pictures of the scene's panels, for a page that draws the cubes itself.

The panels are those of the viewer's own bench, as the window's column has them, drawn in its thread. A
picture is drawn only when every place has answered the last one, a few times a second at most, and goes only where it
is another one. So none is ever queued, and a scene without panels sends nothing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...errors import MissingDependencyError
from ...run.panels import LossCurve
from ..ink.painter import Painter
from ..ink.sketch import Box, Sketch
from ..out.offscreen import offscreen
from ..page.pack import text_of
from ..page.pictures import Pixels, cut_panels, encoded

if TYPE_CHECKING:
    from ..workbench import Workbench
    from .channel import Channel

PAUSE = 0.3  # seconds between two drawings, at least
SHARE = 0.15  # of that thread's time that drawing takes, where it takes long
LONGEST = 1.5  # seconds between two drawings, however long they take
DENSEST = 2.0  # device pixels of one pixel, at most


class Seen(NamedTuple):
    """What there is to draw: where panels stand, their sketches, their step (None where none is counted), density."""

    boxes: Mapping[str, Box]
    drawn: Mapping[str, Sequence[Sketch]]
    step: int | None
    density: float


class CellPanels:
    """The pictures of one cell.

    `parts` go with a frame: ``"panels"``, for each its name, step and size (and why there is no picture), None without
    panels; and by ``"panel NAME"`` the pictures, as addresses.
    """

    def __init__(self, bench: Workbench) -> None:
        self._bench, bench.page = bench, True
        self._painter: Painter | None = None
        self._pixels: dict[str, Pixels] = {}
        self._now: Seen | None = None
        self._seen: Seen | None = None
        self._due, self._density = -math.inf, 1.0
        self.parts: dict[str, object] = {"panels": None}

    def take(self, density: float) -> None:
        """A place says how many device pixels one of its pixels has."""
        self._density = min(max(1.0, density), DENSEST)

    def look(self, *, curve: bool) -> None:
        """Take note of what the bench has drawn of them, if pictures, words and numbers are of one frame.

        `curve`: whether that of the loss is among them: a cell with a time bar has it there.
        """
        if self._bench.inside.told is not None:  # they stay as they were before the opened step
            return
        side, counted = self._bench.side, self._bench.subject.source.counted
        boxes, frame = self._boxes(curve), side.frame
        unseen = frozenset(side.drawers) - frozenset(boxes)
        if side.unseen != unseen:
            side.leave(unseen)
        drawn = {name: side.drawn(name) for name in boxes}
        if frame is not None and frame is side.written and all(drawn.values()):
            self._now = Seen(boxes, drawn, frame.step if counted else None, self._density)

    def renew(self, clock: float, channel: Channel) -> bool:
        """Draw them anew, where that is due; returns whether they were. `clock` in seconds, of the viewer."""
        now = self._now
        if now is None or clock < self._due or now == self._seen or not all(map(channel.arrived, self.parts)):
            return False
        self._seen, first, began = now, self._painter is None, time.thread_time()
        told = self._renewed(now)
        took = 0.0 if first else time.thread_time() - began  # the first one compiles programs
        self._due = clock + min(max(PAUSE, took / SHARE), LONGEST)
        self.parts = {**dict.fromkeys(self.parts), **told}
        return True

    def _boxes(self, curve: bool) -> dict[str, Box]:
        """Where the panels stand in the bench's picture; of those among the cubes there is no picture."""
        drawers = self._bench.side.drawers
        return {name: drawer.box for name, drawer in drawers.items()
                if drawer.box is not None and (curve or not isinstance(drawer.panel, LossCurve))}  # fmt: skip

    # ---- drawing

    def _renewed(self, now: Seen) -> dict[str, object]:
        """All parts that are something now."""
        if not now.boxes:
            return {}
        try:
            pictures = self._pictures(now)
        except MissingDependencyError as error:
            return {"panels": [{"name": name, "why": str(error)} for name in now.boxes]}
        told: dict[str, object] = {}
        for name, pixels in pictures.items():
            before, part = self._pixels.get(name), f"panel {name}"
            same = before is not None and part in self.parts and np.array_equal(before, pixels)
            told[part] = self.parts[part] if same else _address(pixels)
        self._pixels = pictures
        sizes = {name: [round(x / now.density) for x in pixels.shape[1::-1]] for name, pixels in pictures.items()}
        drawers = self._bench.side.drawers
        panels = [{"name": name, "step": now.step, "size": size, "keys": drawers[name].keys}
                  for name, size in sizes.items()]  # fmt: skip
        return {"panels": panels, **told}

    def _pictures(self, now: Seen) -> dict[str, Pixels]:
        """Each panel cut out of one picture of them all."""
        canvas, size, dense = offscreen(), self._bench.places.size, now.density
        if not canvas.here:
            raise MissingDependencyError("no OpenGL in this thread: on this system only the first one can draw")
        with canvas:
            if self._painter is None or self._painter.scale != dense or self._painter.size != size:
                self._painter = Painter(size, dense)
            sketches = [sketch for drawn in now.drawn.values() for sketch in drawn]
            return cut_panels(self._painter, sketches, now.boxes, self._bench.theme)


def _address(pixels: Pixels) -> str:
    """A picture as the address of an image, each pixel as it was drawn: WebP without loss, in a sixth of PNG's time."""
    return f"data:image/webp;base64,{text_of(encoded(pixels, 'WEBP', lossless=True, quality=0, method=0))}"
