"""`GraphView`: a drawing in a window: moved, enlarged, unfolded by clicks; its numbers follow the objects."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ScalarvizError
from .graph.figure import GraphFigure, node_label
from .graph.layout import Box
from .graph.nodes import key_of
from .ink.boxes import LABEL
from .ink.figure import View
from .ink.overlay import banner, help_panel
from .ink.painter import Painter
from .ink.sketch import Point, Sketch, TextItem
from .ink.text import measure
from .ink.theme import Theme, get_theme
from .watch.actions import GRAPH
from .watch.host import TICK, Host, Room
from .watch.pointer import DOUBLE

if TYPE_CHECKING:
    from .drawing import Drawing

FOOT = 30.0
"""Height of the line of keys."""
NOTCH, STEP = 1.15, 80.0
"""What a notch of the wheel enlarges by, and what an arrow moves by."""
LOOK, SHARE = 0.25, 0.1
"""Seconds between two looks at the objects, and the part of the time that they may take."""
STILL = 4.0
"""Pixels by which a click may move."""


class GraphView(Room):
    """A guest of a host."""

    def __init__(self, drawing: Drawing, size: tuple[int, int]) -> None:
        self.drawing = drawing
        self.theme: Theme = get_theme("dark" if drawing.theme == "auto" else drawing.theme)
        self._device, self._ratio = size, 1.0
        self.unfolded: list[str] = []
        self._at: Point | None = None
        self._pressed: Point | None = None
        self._dragged = False
        self._clicked = -math.inf  # when a click last meant nothing: a second one soon is a double click
        self._look, self._pause = 0.0, LOOK
        self._painters: list[Painter] = []
        super().__init__(GRAPH, {
            "closer": lambda: self._zoom(NOTCH**2), "farther": lambda: self._zoom(NOTCH**-2),
            "left": lambda: self._move(STEP, 0), "right": lambda: self._move(-STEP, 0),
            "up": lambda: self._move(0, STEP), "down": lambda: self._move(0, -STEP), "fit": self.fit, "fold": self.fold,
        })  # fmt: skip
        self._read()
        self._lay_out()
        self.fit()

    # ---- what is shown

    @property
    def page(self) -> tuple[float, float]:
        """Logical pixels."""
        return self._device[0] / self._ratio, self._device[1] / self._ratio

    @property
    def room(self) -> tuple[float, float]:
        """What is left of them for the figure."""
        return self.page[0], max(self.page[1] - FOOT, 1.0)

    def _read(self) -> None:
        """The graph with the numbers of now."""
        begin = time.perf_counter()
        self.ink: GraphFigure = self.drawing.ink(self.theme.name, self.drawing.layout(self.unfolded))
        self._pause = max(LOOK, (time.perf_counter() - begin) / SHARE)

    def _lay_out(self) -> None:
        self._painters = [Painter(self.page, self._ratio) for _ in range(2)]
        self._dirty = True

    def fit(self) -> None:
        """All of the graph."""
        self.view = View.whole(self.ink.size, self.room)
        self._dirty = True

    def _again(self) -> None:
        """Look whether the numbers are others by now; a hand is not disturbed by it."""
        before = [shape.text for shape in self.ink if isinstance(shape, TextItem)]
        size = self.ink.size
        self._read()
        if self.ink.size != size:
            self.view = self.view.of(self.ink.size)
        self._dirty |= before != [shape.text for shape in self.ink if isinstance(shape, TextItem)]

    # ---- time

    def attach(self, host: Host) -> None:
        """Appear in `host`."""
        self.host = host
        if host.pixel_ratio != self._ratio:
            self._ratio = host.pixel_ratio
            self._lay_out()
            self.fit()
        host.every(TICK, self._beat)

    def _beat(self, seconds: float) -> None:
        assert self.host is not None
        self.pass_time(seconds)
        if self.host.visible and self.clock - self._look >= self._pause and self._pressed is None:
            self._look = self.clock
            try:
                self._again()
            except ScalarvizError as error:
                self.say(str(error).partition("\n")[0])
        self.repaint()

    # ---- picture

    def draw(self, viewport: tuple[int, int] | None = None) -> None:
        """Paint the picture into the bound framebuffer."""
        theme, view = self.theme, self.view
        page, above = self._painters
        page.background(theme.background, theme.background)
        page.draw([self.ink.placed(scale=view.scale, at=(view.left, view.top), ground=False)])
        over = [self._foot()]
        box = self._under()
        if box is not None and self._at is not None and self._pressed is None:
            over.append(node_label(box, self._at, self.page, theme))
        if self._notice:
            over.append(banner(self._notice, self.page, 12.0, self.page[0], theme, alarm=False))
        if self._help:
            over.append(help_panel(self.page, self.table(), theme, self._help))
        above.draw(over)

    def _foot(self) -> Sketch:
        """The line of keys, as far as it fits."""
        sketch, theme, (wide, high) = Sketch(), self.theme, self.page
        sketch.rect(0, high - FOOT, wide, FOOT, fill=theme.panel)
        said = "wheel: larger, smaller   ·   drag: move   ·   Home: all of it"
        if self.unfolded or any(box.item.unfolds for box in self.ink.layout.boxes):
            said += "   ·   click: unfold   ·   Backspace: fold again"
        for line in (f"{said}   ·   ?: all keys", said.partition("   ·   ")[0], ""):
            if measure(line, LABEL) <= wide - 32:
                sketch.text(16.0, high - 10.0, line, LABEL, theme.text3)
                break
        return sketch

    def resize(self, size: tuple[int, int]) -> None:
        """Another size in device pixels; what was all of it is all of it again."""
        whole = self.view == View.whole(self.ink.size, self.room)
        self._device = size
        self._lay_out()
        kept = View(self.view.figure, self.room, self.view.scale, self.view.left, self.view.top)
        self.view = View.whole(kept.figure, self.room) if whole else kept.moved((0.0, 0.0))

    # ---- hands

    def _logical(self, at: Point) -> Point:
        return at[0] / self._ratio, at[1] / self._ratio

    def _under(self) -> Box | None:
        """The node under the pointer."""
        return None if self._at is None else self.ink.box_at(self.view.on(self._at))

    def press(self, at: Point, button: str = "left", *, shift: bool = False, ctrl: bool = False) -> None:
        """A button went down."""
        self._at = self._pressed = self._logical(at)
        self._dragged = False

    def move(self, at: Point) -> None:
        """The pointer is at `at`: with a button held it moves the graph."""
        before, self._at = self._at, self._logical(at)
        if self._pressed is not None and before is not None:
            self._dragged |= max(abs(a - b) for a, b in zip(self._at, self._pressed, strict=True)) > STILL
            if self._dragged:
                self.view = self.view.moved((self._at[0] - before[0], self._at[1] - before[1]))
        self._dirty = True

    def release(self, at: Point) -> None:
        """The button went up: a click unfolds."""
        self._at, pressed, self._pressed = self._logical(at), self._pressed, None
        if pressed is not None and not self._dragged:
            self._click()
        self._dirty = True

    def _click(self) -> None:
        box = self._under()
        if self._help:
            self._help = 0
        elif box is not None and box.item.unfolds:
            self._fold_to([*self.unfolded, box.item.unfolds], box)
        elif self.clock - self._clicked <= DOUBLE:
            self.fit()
        else:
            self._clicked = self.clock

    def _fold_to(self, names: list[str], box: Box | None = None) -> None:
        """Unfold exactly these; what was clicked is shown whole."""
        was = self.unfolded
        self.unfolded = list(dict.fromkeys(names))
        try:
            self._read()
        except ScalarvizError as error:
            self.unfolded = was
            self._read()
            self.say(str(error).partition("\n")[0])
            return
        if box is None:
            self.fit()
            return
        held = set(map(key_of, box.item.held))
        inside = [b for b in self.ink.layout.boxes if not held.isdisjoint(map(key_of, b.item.held))]
        found = inside or list(self.ink.layout.boxes)
        corners = [(b.x, b.y, b.x + b.width, b.y + b.height) for b in found]
        left, top, right, bottom = zip(*corners, strict=True)
        self.view = self.view.showing(self.ink.size, (min(left), min(top), max(right), max(bottom)))

    def fold(self) -> None:
        """Fold what was unfolded last."""
        if self.unfolded:
            self._fold_to(self.unfolded[:-1])
        else:
            self.say("nothing is unfolded")

    def leave(self) -> None:
        """The pointer left the window."""
        self._at, self._dirty = None, True

    def scroll(self, at: Point, notches: tuple[float, float], *, shift: bool = False) -> None:
        """The wheel turned: larger or smaller, to the pointer."""
        self._at = self._logical(at)
        self._zoom(NOTCH ** notches[1], self._at)

    def _zoom(self, factor: float, at: Point | None = None) -> None:
        middle = self.room[0] / 2, self.room[1] / 2
        self.view, self._dirty = self.view.zoomed(factor, at or middle), True

    def _move(self, across: float, down: float) -> None:
        self.view, self._dirty = self.view.moved((across, down)), True

    def open(self, paths: Sequence[Path]) -> None:
        """Files were dropped: there is no use for them."""
        self.say("a file is of no use to a graph")

    def toggle_theme(self) -> None:
        """Light or dark."""
        self.theme = get_theme("light" if self.theme.name == "dark" else "dark")
        self._read()

    def close(self) -> None:
        """Nothing is to be let go of."""
