"""The drawer of a graph of Values: as large as it fits, moved and enlarged by hands, unfolded by clicks."""

from __future__ import annotations

from dataclasses import replace

from ...run.panels import GraphPanel
from ...run.source import Moment
from ..graph.cards import said_of
from ..graph.figure import GraphFigure
from ..graph.layout import Box as Node
from ..graph.layout import Layout
from ..graph.shown import Wish, shown_of
from ..ink.boxes import PRESENTER
from ..ink.figure import View
from ..ink.sketch import Box, Sketch
from .drawer import Ground, Point, Tip
from .image import MadeDrawer

SMALLEST = 0.5
"""By itself it draws letters no smaller than this share of their size: a larger graph is cut, and can be moved."""


class GraphDrawer(MadeDrawer[GraphPanel, GraphFigure]):
    """Asks for the graph of each moment, and draws it."""

    name = "graph"
    height, most, top = 190.0, 420.0, 22.0
    overlay = (440.0, 260.0)
    worth = 4
    wide = True
    gestures = (
        ("Drag", "a graph that is larger than its place: move it"),
        ("Click", "a folded node of a graph: unfold it"),
        ("Wheel", "over a graph: larger or smaller"),
        ("Double click", "a graph: in its place again, as large as at first"),
    )

    def __init__(self, panel: GraphPanel, ground: Ground) -> None:
        super().__init__(panel, ground)
        self._unfold: tuple[str, ...] = ()
        self._ink: GraphFigure | None = None
        self._view: View | None = None
        self._by_hand = False  # whether a hand has moved or enlarged it

    def _show(self, made: GraphFigure, room: Box) -> Sketch:
        self._ink = made
        view = self._view = self._seen(made.size, room)
        at = room[0] + view.left, room[1] + view.top
        return self._ink.placed(scale=view.scale, at=at, ground=False, window=room)

    def _make(self, moment: Moment) -> GraphFigure:
        made = self.panel.made(moment)
        self._note = made.note
        now = shown_of(made.roots, Wish(self.panel.chains, self._unfold))
        return GraphFigure(Layout(now.items), self.ground.theme, now.of, share=1.0, v=self.ground.extent)

    def _seen(self, figure: Point, room: Box) -> View:
        """All of it as long as no hand has moved it; else what was seen before, in this room."""
        window = room[2], room[3]
        if self._view is None or not self._by_hand:
            return View.readable(figure, window, self._least)
        return replace(self._view, figure=figure, window=window).within()

    @property
    def _least(self) -> float:
        """The smallest scale that it has by itself: in a hall all type is larger."""
        return SMALLEST / (PRESENTER if self.ground.theme.presenter else 1.0)

    # ---- hands

    def _in_room(self, at: Point) -> Point:
        """A point in the pixels of the graph's room."""
        assert self.box is not None
        return at[0] - self.box[0], at[1] - self.box[1] - self.top

    def under(self, at: Point) -> Node | None:
        if self._ink is None or self._view is None or self.box is None or self._in_room(at)[1] < 0:
            return None
        return self._ink.box_at(self._view.on(self._in_room(at)))

    def _look(self, view: View) -> bool:
        """See this part from now on."""
        self._view, self._by_hand, self.stale = view, True, True
        return True

    def _tip(self, moment: Moment, at: Point) -> Tip | None:
        if (box := self.under(at)) is None:
            return None
        head, *more = said_of(box.item).splitlines()
        return head, "", more

    def drag(self, at: Point, by: Point, button: str) -> bool:
        """A graph that is larger than its room is moved; one that is not stays, and so does the scene."""
        if self._view is not None and (moved := self._view.within(by)) != self._view:
            self._look(moved)
        return True

    def zoom(self, at: Point, factor: float) -> bool:
        """Larger or smaller, what is under the pointer where it is; never smaller than all of it."""
        if self._view is None or self.box is None:
            return False
        least = min(self._view.fitting, self._least)
        return self._look(self._view.zoomed(max(factor, least / self._view.scale), self._in_room(at)).within())

    def click(self, at: Point) -> bool:
        box = self.under(at)
        if box is None or not box.item.unfolds:
            return False
        self._unfolded((*self._unfold, box.item.unfolds))
        return True

    def double_click(self, at: Point) -> bool:
        """In its place and size, as at first; what is unfolded stays so."""
        box = self.under(at)
        if self._view is None or not self._by_hand or (box is not None and box.item.unfolds):
            return False
        self._by_hand, self.stale = False, True
        return True

    def fit(self) -> None:
        """Folded and in its place, as it was at first."""
        self._by_hand = False
        self._unfolded(())

    def _unfolded(self, unfold: tuple[str, ...]) -> None:
        """Ask again, for a graph with these unfolded."""
        self._unfold = unfold
        self._ask_anew()
