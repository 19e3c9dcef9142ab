"""The drawer of a graph of Values: as large as it fits, moved by dragging, unfolded by clicks."""

from __future__ import annotations

from collections.abc import Sequence

from ...run.moment import Moment
from ...run.panels import GraphPanel
from ..draw.places import Box
from ..draw.sketch import Sketch
from ..graph.figure import ink_of
from ..graph.ink import Ink
from ..graph.inked import sketched
from ..graph.layout import Layout, laid_out
from ..graph.said import said_of
from ..graph.shown import Wish, shown
from .drawer import Drawer, Ground, Point, sentence, title_of
from .image import Asked
from .overlay import pointer_label

TOP = 22.0
"""The line of the title."""
SMALLEST = 0.62
"""Letters are not drawn smaller than this share of their size: a larger graph is cut, and can be moved."""


class GraphDrawer(Drawer[GraphPanel]):
    """Asks for the graph of each moment, and draws it."""

    name = "graph"
    height, most = 190.0, 420.0
    overlay = (440.0, 260.0)
    worth = 4
    gestures = (
        ("Drag", "a graph that is larger than its place: move it"),
        ("Click", "a folded node of a graph: unfold it"),
    )

    def __init__(self, panel: GraphPanel, ground: Ground) -> None:
        super().__init__(panel, ground)
        self._asked = Asked(panel.title, ground, words=True)
        self._unfold: tuple[str, ...] = ()
        self._ink: Ink | None = None
        self._layout: Layout | None = None
        self._moved = (0.0, 0.0)
        self._place = (0.0, 0.0, 1.0)  # left, top and scale of what is drawn
        self._over: Point | None = None

    @property
    def moving(self) -> bool:
        """Whether the graph is of a frame before."""
        return self._asked.moving

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """The title and the graph."""
        made, error = self._asked.ask(moment, seconds, lambda: self._make(moment))
        sketch, (x, y, width, height) = Sketch(), box
        if made is None:
            title_of(sketch, box, self.ground.theme, self.panel.title, self._asked.age)
            return [sketch, sentence((x, y + TOP, width, height - TOP), self.ground.theme, error)]
        self._ink, self._layout, note = made
        title_of(sketch, box, self.ground.theme, self.panel.title, self._asked.age or note)
        return [sketch, self._figure((x, y + TOP, width, height - TOP))]

    def _make(self, moment: Moment) -> tuple[Ink, Layout, str]:
        made = self.panel.made(moment)
        now = shown(made.roots, Wish(self.panel.chains, self._unfold))
        layout = laid_out(now.items)
        ink = ink_of(layout, self.ground.theme, now.of, share=1.0, v=self.ground.extent)
        return ink, layout, made.note

    def _figure(self, room: Box) -> Sketch:
        """As much of the graph as its room holds."""
        assert self._ink is not None
        x, y, width, height = room
        scale = max(min(width / self._ink.width, height / self._ink.height, 1.0), SMALLEST)
        free = width - self._ink.width * scale, height - self._ink.height * scale
        self._moved = tuple(  # type: ignore[assignment]
            min(max(by, min(left, 0.0)), max(left, 0.0)) for by, left in zip(self._moved, free, strict=True)
        )
        left, top = (start + (left / 2 if left > 0 else by)
                     for start, left, by in zip((x, y), free, self._moved, strict=True))  # fmt: skip
        self._place = left, top, scale
        return sketched(self._ink, scale=scale, at=(left, top), ground=False, window=room)

    # ---- hands

    def _on(self, at: Point) -> Point:
        """A point in the figure's own pixels."""
        left, top, scale = self._place
        return (at[0] - left) / scale, (at[1] - top) / scale

    def hover(self, at: Point | None) -> bool:
        """What the node under the pointer is stands beside it."""
        changed = (at is None) != (self._over is None)
        self._over = at
        return changed

    def label(self, moment: Moment, size: tuple[float, float]) -> Sequence[Sketch]:
        """Its operation, its numbers and its derivative."""
        box = None if self._over is None or self._layout is None else self._layout.at(self._on(self._over))
        if box is None or self._over is None:
            return ()
        head, *more = said_of(box.item).splitlines()
        return [pointer_label(self._over, size, head, "", more, self.ground.theme)]

    def press(self, at: Point, button: str) -> bool:
        """A graph that is larger than its room is moved by dragging."""
        if self._ink is None or self.box is None or button != "left":
            return False
        scale = self._place[2]
        return self._ink.width * scale > self.box[2] + 1 or self._ink.height * scale > self.box[3] - TOP + 1

    def drag(self, at: Point, by: Point, button: str) -> bool:
        """Move it."""
        self._moved = self._moved[0] + by[0], self._moved[1] + by[1]
        self.stale = True
        return True

    def click(self, at: Point) -> bool:
        """Unfold what is folded there."""
        box = None if self._layout is None else self._layout.at(self._on(at))
        if box is None or not box.item.unfolds:
            return False
        self._unfold = (*self._unfold, box.item.unfolds)
        self._asked = Asked(self.panel.title, self.ground, words=True)
        self.stale = True
        return True

    def fit(self) -> None:
        """Folded and in its place, as it was at first."""
        self._unfold, self._moved = (), (0.0, 0.0)
        self._asked = Asked(self.panel.title, self.ground, words=True)
        self.stale = True
