"""`PointsDrawer`: a plot of samples, which a hand chooses, adds and takes away."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ...run.panels import Axis, CurveFit, PlaneMap, Points
from ..ink.axes import Axes, Floats, Scale, evenly
from ..ink.places import LABEL
from ..ink.sketch import Box, Sketch
from ..ink.text import measure
from ..ink.theme import Theme
from ..shown.subject import number_of
from .drawer import Drawer, Ground, Point, cut

Plot = TypeVar("Plot", bound=CurveFit | PlaneMap)
DRAWN = 2000
"""The most points that are drawn, evenly out of all."""
_BETWEEN = 14.0
_JOINING = ("over", "of", "and", "at", "in")


class PointsDrawer(Drawer[Plot]):
    """What a hand does with the points of a plot."""

    plot = ""
    """What it is called in the list of gestures."""
    reach = 6.0
    """Logical pixels from its middle within which a point is meant."""
    _points: Points | None = None
    _pressed = False
    _removes: int | None = None

    def __init__(self, panel: Plot, ground: Ground) -> None:
        super().__init__(panel, ground)
        if panel.edits is not None:
            self.lessons = (
                ("Click", f"an empty place of the {self.plot}: add a point"),
                ("Right click", f"a point of the {self.plot}: take it away"),
            )
        self.axes: Axes | None = None  # as it was drawn last
        self.spots: Floats = np.zeros((0, 2))  # where each point is drawn; infinite where it is not
        self.seen: NDArray[np.bool_] = np.zeros(0, bool)  # of very many some of those inside
        self._ringed: tuple[Points, NDArray[np.floating], int | None] | None = None

    def numbers(self, at: Point) -> Point | None:
        """The two numbers at a place of the picture; None beside the plot."""
        return None if self.axes is None else self.axes.numbers(at)

    def put(self, points: Points) -> None:
        """Where points are drawn, of very many some of those that are inside."""
        assert self.axes is not None
        x, y = np.asarray(points.x, np.float64)[:, 0], self.heights(points)
        inside = np.flatnonzero(self.axes.holds(x, y))
        self.seen = np.zeros(len(x), bool)
        self.seen[inside[evenly(len(inside), DRAWN)]] = True
        self.spots = np.where(self.seen[:, None], self.axes.points(x, y), np.inf)

    def discs(self, sketch: Sketch, points: Points, inks: Floats, sizes: Point, *, back: bool = True) -> None:
        """Those that are seen, in colours (N, 3); above them hollow ones, of what is held `back`."""
        spots, held = self.spots[self.seen], points.back[self.seen]
        for some, size, hollow in ((~held, sizes[0], False), (held & back, sizes[1], True)):
            sketch.discs(spots[some], size, inks[some], rim=self.ground.theme.ink, hollow=hollow)

    def heights(self, points: Points) -> Floats:
        """The second number of each point."""
        return np.asarray(points.x, np.float64)[:, 1]

    def samples(self, points: Points) -> NDArray[np.floating]:
        """What the network gets for points, (N, n_inputs)."""
        raise NotImplementedError

    @property
    def teaches(self) -> bool:
        """Whether a hand can add points and take them away."""
        return self.panel.edits is not None and self.ground.teaches

    @property
    def drawn_way(self) -> int | None:
        """Which point that is drawn is the sample whose way is drawn."""
        probe, points = self.ground.subject.probe, self._points
        if probe is None or points is None or not len(points.x):
            return None
        if self._ringed is None or self._ringed[0] is not points or not np.array_equal(self._ringed[1], probe):
            self._ringed = points, probe.copy(), number_of(self.samples(points), probe)
        index = self._ringed[2]
        return None if index is None or not np.isfinite(self.spots[index]).all() else index

    def under(self, at: Point) -> int | None:
        """The number of the point that is drawn there."""
        if not len(self.spots):
            return None
        away = np.hypot(*(self.spots - at).T)
        return int(away.argmin()) if away.min() <= self.reach else None

    def says(self, index: int | None, kind: str = "") -> list[str]:
        """What clicks would do with a point, or with an empty place, where one of a kind would be added."""
        if index is None or self._points is None:
            return [f"click: add {kind}"] if self.teaches else []
        found = ["click: show its way"] if self.ground.chooses() else []
        away = "held back: it stays" if self._points.back[index] else "right click: take it away"
        return [*found, away] if self.teaches else found

    # ---- hands

    def press(self, at: Point, button: str) -> bool:
        """The right button on a point takes it away when it is let go there."""
        self._pressed = self.numbers(at) is not None
        mine = self._pressed and button == "right"  # a click of the left one means other things
        self._removes = self.under(at) if mine and self.teaches else None
        return mine

    def drag(self, at: Point, by: Point, button: str) -> bool:
        """The plot does not turn, nor does anything behind it."""
        return self._pressed

    def release(self, at: Point) -> None:
        """Without the point that the right button was pressed on."""
        index, self._removes = self._removes, None
        if index is not None and self.under(at) == index and self.panel.edits is not None:
            self.ground.edit(self.panel.edits.remove(index))

    def click(self, at: Point) -> bool:
        """The way of a point is drawn; an empty place gets one more."""
        place, index, points = self.numbers(at), self.under(at), self._points
        if index is not None and points is not None:
            if not self.ground.chooses():
                return False
            wanted, own = self.ground.subject.sample.target, np.asarray(points.target[index : index + 1], float)
            self.ground.choose(self.samples(points)[index], own if wanted is not None and wanted.size == 1 else None)
            self.stale = True
            return True
        if place is None or not self.teaches or self.panel.edits is None:
            return False
        self.ground.edit(self.panel.edits.add(place))
        return True

    def hover(self, at: Point | None) -> bool:
        """A point under the pointer says what it is, an empty place what a click would do."""
        before = self.pointer
        there = at is not None and (self.under(at) is not None or (self.teaches and self.numbers(at) is not None))
        self.pointer = at if there else None
        return before != self.pointer


def axes_over(box: Box, across: Axis, up: Axis) -> Axes:
    """A plot whose directions are those of a panel."""
    return Axes(box, Scale(across.least, across.most), Scale(up.least, up.most))


# ---- The title: what is shown, and of which kinds the points are: filled to learn from, hollow to test.


def kind_of_points(
    sketch: Sketch, right: float, base: float, word: str, theme: Theme, *, hollow: bool = False, dim: bool = False
) -> float:
    """A kind of points, ending at `right`; returns where what is left of it may end."""
    ink = theme.text3 if dim else theme.text2
    left = right - measure(word, LABEL)
    sketch.text(left, base, word, LABEL, ink)
    middle = left - 9
    if hollow:
        sketch.disc(middle, base - 4.5, 4.3, stroke=ink, border=1.6)
    else:
        sketch.disc(middle, base - 4.5, 4.0, ink)
    return middle - 4.3 - _BETWEEN


def shortened(title: str, width: float) -> str:
    """A bold title as far as it fits: up to a word that joins something to it, else with an ellipsis."""
    words = title.split()
    ends = [len(words), *(k for k in range(len(words) - 1, 0, -1) if words[k] in _JOINING)]
    found = (" ".join(words[:end]) for end in ends)
    return next((part for part in found if measure(part, LABEL, True) <= width), cut(title, width, bold=True))
