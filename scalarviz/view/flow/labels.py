"""Names beside plates and rows of activations, at places where they hide no cube and no other name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..draw.places import CHANNEL, LABEL, Box
from ..draw.sketch import Sketch
from ..draw.text import measure, short
from ..draw.theme import Theme
from ..space.hull import convex_hull
from ..space.layout import Layout
from ..space.plate import Plate

Floats = NDArray[np.float64]
Project = Callable[[ArrayLike], Floats]
_CELL = 4.0  # pixels of a cell of the map of taken places
_LINE = 19.0
_FAR = (41.0, 53.0, 67.0, 82.0)  # pixels from a plate up to its name, where no place near it is free
_STAY = 0.8  # what it is worth to stay
_LONGEST = 4096  # points of a line: zoomed in by hand, most of it is outside


class Taken:
    """Which parts of the scene are covered, on a coarse raster. Lines count little, cubes and texts fully."""

    def __init__(self, box: Box) -> None:
        self.box = box
        self._cost = np.zeros((int(box[3] / _CELL) + 2, int(box[2] / _CELL) + 2), np.float32)
        rows, columns = np.indices(self._cost.shape)
        self._x, self._y = box[0] + (columns + 0.5) * _CELL, box[1] + (rows + 0.5) * _CELL

    def add_polygon(self, corners: Floats) -> None:
        """Mark the convex hull of points (N, 2), with a little air around it."""
        ring = convex_hull(corners)
        low, high = corners.min(axis=0) - 2 * _CELL, corners.max(axis=0) + 2 * _CELL
        limit = np.array(self._cost.shape[::-1]) * _CELL + 4 * _CELL
        low, high = (np.clip(c, np.array(self.box[:2]) - 4 * _CELL, self.box[:2] + limit) for c in (low, high))
        part = self._window((low[0], low[1], high[0] - low[0], high[1] - low[1]))
        across, down = self._x[part], self._y[part]
        inside = np.ones(across.shape, bool)
        for p, q in zip(ring, np.roll(ring, -1, axis=0), strict=True):
            edge = q - p
            length = float(np.hypot(*edge)) or 1.0
            distance = (edge[0] * (down - p[1]) - edge[1] * (across - p[0])) / length
            inside &= distance > -_CELL
        self._cost[part][inside] += 1.0

    def add_line(self, start: Floats, end: Floats) -> None:
        """Mark a thin line."""
        count = min(max(2, int(np.hypot(*(end - start)) / _CELL) + 1), _LONGEST)
        points = start + np.linspace(0, 1, count)[:, None] * (end - start)
        at = (np.clip(points - self.box[:2], -1e6, 1e6) / _CELL).astype(int)
        inside = np.all((at >= 0) & (at < np.array(self._cost.shape)[::-1]), axis=1)
        self._cost[at[inside, 1], at[inside, 0]] += 0.12

    def add_box(self, box: Box) -> None:
        """Mark a rectangle as full."""
        self._cost[self._window(box)] += 1.0

    def cost(self, box: Box) -> float:
        """Covered cells below `box`; infinite when it leaves the scene."""
        x, y, width, height = box
        left, top, wide, high = self.box
        if x < left + 4 or y < top or x + width > left + wide - 4 or y + height > top + high:
            return float("inf")
        return float(self._cost[self._window(box)].sum())

    def _window(self, box: Box) -> tuple[slice, slice]:
        left, top = (int((box[k] - self.box[k]) / _CELL) for k in (0, 1))
        right, bottom = (int((box[k] + box[k + 2] - self.box[k]) / _CELL) + 1 for k in (0, 1))
        return slice(max(top, 0), max(bottom, 0)), slice(max(left, 0), max(right, 0))


@dataclass(frozen=True, slots=True)
class PlateLabel:
    """A name, its shape, and where they stand: left edge and baseline of the first line; whether the range has room."""

    name: str
    shape: str
    x: float
    y: float
    ranged: bool = True


def _hull(plate: Plate, project: Project) -> Floats:
    return project(plate.corners)


def _around(points: Floats, width: float, height: float) -> list[tuple[float, float]]:
    """Places for a text beside projected corners: above, below and beside both ends, nearest and nicest first.

    Plates are slanted, so each end has its own top and bottom; further away is tried last.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    span = 0.25 * (high[0] - low[0]) + 1
    left, right = points[points[:, 0] < low[0] + span], points[points[:, 0] > high[0] - span]
    middle = float((low[0] + high[0] - width) / 2)
    places = []
    for gap in (7.0, 17.0, 29.0):
        above, below = left[:, 1].min() - height - gap, left[:, 1].max() + gap
        places += [
            (low[0] - 2, above), (low[0] + 8, below),
            (high[0] - width + 2, right[:, 1].min() - height - gap), (high[0] - width, right[:, 1].max() + gap),
            (middle, low[1] - height - gap), (middle, high[1] + gap),
            (high[0] + gap, right[:, 1].max() - height), (low[0] - width - gap, left[:, 1].mean() - height / 2),
            (high[0] + gap, right[:, 1].mean() - height / 2),
        ]  # fmt: skip
    return [(float(x), float(y)) for x, y in places]


def _above(points: Floats, width: float, height: float) -> list[tuple[float, float]]:
    """Places further up, over the ends and the middle: elsewhere a name so far away would seem another plate's."""
    low, high = points.min(axis=0), points.max(axis=0)
    starts = (low[0] - 2, high[0] - width + 2, (low[0] + high[0] - width) / 2)
    return [(float(x), float(low[1] - height - gap)) for gap in _FAR for x in starts]


class FlowLabels:
    """Places the labels of a layout once; writes their ranges anew with every frame.

    Parameters
    ----------
    shapes : mapping of str to tuple of int
        Of the tensors that get a label.
    kinds : mapping of str to str
        Stage name to what its row is called (``"tanh"``); the input's row is ``"input"``.
    box : Box
        The scene.
    before : FlowLabels, optional
        Of the camera a moment ago: a name stays on its side of a plate while there is room, so that names do not jump
        about while the scene turns.

    Attributes
    ----------
    chosen : dict of str to int
        Which of the places around its plate each name has.
    """

    def __init__(
        self,
        layout: Layout,
        theme: Theme,
        shapes: Mapping[str, tuple[int, ...]],
        kinds: Mapping[str, str],
        project: Project,
        box: Box,
        before: FlowLabels | None = None,
    ) -> None:
        self._theme = theme
        self.chosen: dict[str, int] = {}
        self._before = {} if before is None else before.chosen
        self._taken = Taken(box)
        for plate in layout.plates:
            self._taken.add_polygon(_hull(plate, project))
        for start, end in layout.flow:
            self._taken.add_line(*project([start, end]))
        self.static = Sketch()
        self.plates: list[PlateLabel] = []
        for plate in layout.plates:
            if plate.kind != "activation" and plate.name in shapes:
                self._place_plate(plate.name, shapes[plate.name], _hull(plate, project))
        for plate in layout.plates:
            if plate.kind == "activation" and plate.name in kinds:
                self._place_row(plate.name, kinds[plate.name], _hull(plate, project))

    def _best(
        self, key: str, places: list[tuple[float, float]], size: tuple[float, float], limit: float
    ) -> tuple[float, float] | None:
        """The cheapest place, the first among equals; None if even that one covers cubes."""
        width, height = size
        costs = [self._taken.cost((x, y, width, height)) + 0.02 * k for k, (x, y) in enumerate(places)]
        if key in self._before:
            costs[self._before[key]] -= _STAY
        best = int(np.argmin(costs))
        if costs[best] > limit:
            return None
        self.chosen[key] = best
        self._taken.add_box((*places[best], width, height))
        return places[best]

    def _place_plate(self, name: str, shape: tuple[int, ...], hull: Floats) -> None:
        lone = not shape or shape == (1,)  # its value is its range
        second = "" if lone else "×".join(str(n) for n in shape)
        # The widest text the second line can become: places must not depend on the numbers.
        widest = measure(f"{second}   ±8.8e\N{MINUS SIGN}88", LABEL) if second else 0.0
        own = measure(name, CHANNEL, True)
        two, one = _LINE if lone else 2 * _LINE, _LINE
        least = max(own, measure(second, LABEL))
        # First what stands after the name gives way, the range before the shape: a name rather than none.
        for text, width, height in ((second, max(own, widest), two), (second, least, two), ("", own, one)):
            for far in (False, True):
                places = _above(hull, width, height) if far else _around(hull, width, height)
                spot = self._best(f"{name} far" if far else name, places, (width, height), limit=2.5)
                if spot is not None:
                    ranged = width >= widest
                    self.plates.append(PlateLabel(name, text, spot[0], spot[1] + 14, ranged))
                    self.static.text(spot[0], spot[1] + 14, name, CHANNEL, self._theme.text1, bold=True)
                    return

    def _place_row(self, name: str, text: str, points: Floats) -> None:
        width = measure(text, LABEL)
        places = _around(points, width, _LINE)
        near = [places[k] for k in (1, 3, 5, 8, 0, 2, 4, 7, 6)]
        spot = self._best(f"row {name}", near + places[9:], (width, _LINE), limit=2.0)
        if spot is not None:
            self.static.text(spot[0], spot[1] + 14, text, LABEL, self._theme.text3)

    def free_place(self, width: float, height: float, before: Box | None = None) -> Box | None:
        """A free rectangle of this size: `before` or as far to the lower right of the scene as there is one.

        It is taken from now on.
        """
        if before is not None:
            box = (before[0] - 12, before[1] - 8, width + 24, height + 16)
            if self._taken.cost(box) == 0.0:
                self._taken.add_box(box)
                return before
        left, top, wide, high = self._taken.box
        for y in np.arange(top + high - height - 8, top + 0.4 * high, -16.0):
            for x in np.arange(left + wide - width - 24, left + 0.3 * wide, -16.0):
                box = (float(x) - 12, float(y) - 8, width + 24, height + 16)
                if self._taken.cost(box) == 0.0:
                    self._taken.add_box(box)
                    return float(x), float(y), width, height
        return None

    def ranges(self, extents: Mapping[str, float]) -> Sketch:
        """The second lines: shape, and ± the range of each tensor in `extents`."""
        sketch = Sketch()
        for label in self.plates:
            span = f"   ±{short(extents[label.name])}" if label.ranged and label.name in extents else ""
            if label.shape:
                sketch.text(label.x, label.y + _LINE, label.shape + span, LABEL, self._theme.text2)
        return sketch
