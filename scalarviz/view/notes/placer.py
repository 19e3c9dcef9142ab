"""Labels around cubes: `Notes`, records painted in any theme, for any frame; `Placer` finds places.

The author of a text passes its possible places, the best first; the placer picks one and marks it. Names beside rows
and columns of cubes are placed all together or not at all: at the height of the main faces, each nearest to its own
row, from every camera. At the height of the floor a name would seem to belong to the row in front.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..ink.boxes import CHANNEL, LABEL
from ..ink.sketch import Anchor, Bound, Box, Sketch, meet
from ..ink.text import CAP_HEIGHT, measure
from ..ink.theme import Theme, displayed
from ..space.arrangement import Plate, Project
from ..space.camera import Floats, convex_hull

Marks = NDArray[np.bool_]
HIGH = 28.0
"""Height of a chip in pixels."""
UNKNOWN = "\N{EN DASH}"


@dataclass(frozen=True, slots=True)
class Name:
    """A text and its place, as in :meth:`Sketch.text`; `tone` goes from 1 (read first) to 3."""

    text: str
    x: float
    y: float
    size: float = LABEL
    anchor: Anchor = "left"
    bold: bool = False
    tone: int = 2

    @property
    def box(self) -> Box:
        """Left, top, width and height of its capitals."""
        wide, high = measure(self.text, self.size, self.bold), CAP_HEIGHT * self.size
        return self.x - {"left": 0.0, "middle": 0.5, "right": 1.0}[self.anchor] * wide, self.y - high, wide, high


class Number(NamedTuple):
    """A number of the moment: its place, which number it is, and the text while it is unknown."""

    x: float
    y: float
    bound: Bound  # form "range": the range of a tensor
    size: float = CHANNEL
    anchor: Anchor = "middle"
    bold: bool = True
    tone: int = 1
    without: str = UNKNOWN


class Chip(NamedTuple):
    """The box around a number, by its middle; dim unless `strong`."""

    x: float
    y: float
    wide: float
    strong: bool = True
    high: float = HIGH


class Swatch(NamedTuple):
    """The colour of a row of three numbers."""

    box: Box
    name: str  # name of the row


class Line(NamedTuple):
    """A line through points (N, 2), with a head of some pixels at its end, or none."""

    points: ArrayLike
    width: float = 1.4
    head: float = 0.0


class Notes:
    """Words, numbers, chips, swatches and lines."""

    def __init__(self) -> None:
        self.names: list[Name] = []
        self.numbers: list[Number] = []
        self.chips: list[Chip] = []
        self.swatches: list[Swatch] = []
        self.lines: list[Line] = []

    def static_sketch(self, theme: Theme) -> Sketch:
        """Return the parts that stay from frame to frame."""
        sketch, tones = Sketch(), (theme.text1, theme.text2, theme.text3)
        for points, width, head in self.lines:
            path = np.asarray(points)
            sketch.polyline(path[:-1] if head else path, theme.flow, width)
            if head:
                sketch.arrow(path[-2], path[-1], theme.flow, width, head=head)
        for x, y, wide, strong, high in self.chips:
            edge = theme.flow if strong else theme.border
            place = round(x - wide / 2), round(y - high / 2)
            sketch.rect(*place, wide, high, radius=6, fill=theme.panel, stroke=edge)
        for name in self.names:
            sketch.text(name.x, name.y, name.text, name.size, tones[name.tone - 1], bold=name.bold, anchor=name.anchor)
        return sketch

    def moving(
        self,
        theme: Theme,
        rows: Mapping[str, NDArray[np.floating]],
        extents: Mapping[str, float],
        *,
        sign: str = "±",
        reached: Mapping[str, Marks] | None = None,
    ) -> Sketch:
        """Return the numbers of one frame, by their `rows`, and the ranges of tensors: `extents` after a `sign`.

        `reached` marks the numbers that are known, by row, or by row and form; None: all.
        """
        sketch, tones, marked = Sketch(), (theme.text1, theme.text2, theme.text3), reached or {}
        for box, name in self.swatches:
            if name in rows:
                known = bool(np.isfinite(rows[name]).all())
                fill = displayed(rows[name]) if known else None
                sketch.rect(*box, radius=5, fill=fill, stroke=theme.flow, bound=name)
                if not known and name == "target":
                    x, y = box[0] + box[2] / 2, box[1] + box[3] / 2 + 6
                    sketch.text(x, y, "?", CHANNEL, theme.text2, anchor="middle")
        for number in self.numbers:
            x, y, bound, size, anchor, bold, tone, without = number
            name, ranged = bound.name or "", bound.form == "range"
            marks = marked.get(f"{name} {bound.form}", marked.get(name))
            bound = replace(bound, form=f"range {sign}") if ranged else bound
            if name not in (extents if ranged else rows):
                colour = theme.text3 if without == UNKNOWN else tones[tone - 1]
                sketch.text(x, y, without, size, colour, anchor=anchor)
            elif ranged or marks is None or marks[bound.index]:
                value = extents[name] if ranged else float(rows[name][bound.index])
                sketch.number(x, y, value, bound, size, tones[tone - 1], bold=bold, anchor=anchor)
        return sketch


# ---- The covered parts of a scene, and free places for texts.

Option = Sequence[Box]
"""Boxes of a text, or of several together."""
LIGHTLY = 0.45
"""Cost of a place that a line touches at a corner, but does not cross."""
_CELL = 4.0  # pixels of a cell of the map
_LONGEST = 4096  # most points of a line: zoomed in, most of it is outside
_STAY = 0.8  # bonus for staying


class Placer:
    """A scene on a coarse raster. Lines count little, cubes and texts fully."""

    def __init__(self, box: Box) -> None:
        self.box = box
        self._cost = np.zeros((int(box[3] / _CELL) + 2, int(box[2] / _CELL) + 2), np.float32)

    def place(
        self,
        ways: Iterable[Option],
        *,
        most: float = 0.0,
        later: float | None = None,
        stay: int | None = None,
        air: float = 0.0,
        fits: Callable[[Option], bool] | None = None,
    ) -> int | None:
        """Take the best of several ways; return its index, or None.

        Parameters
        ----------
        ways : iterable of sequence of Box
            The best first. The cost of a way is that of its most expensive box, or with `later` the sum of all.
        most : float
            The largest cost of a way.
        later : float, optional
            Extra cost of each way over the one before; the cheapest is taken. Default: the first within `most`.
        stay : int, optional
            The way of the last picture, which gets a bonus.
        air : float
            Pixels that are reserved on both sides too.
        fits : callable, optional
            A further condition on a way.
        """
        boxes: Option = ()
        least, found = inf, None
        for number, way in enumerate(ways):
            costs = [self.cost(box) for box in way]
            cost = max(costs)
            if later is not None:
                cost = sum(costs) + later * number - (_STAY if number == stay else 0.0)
            if cost < least and cost <= most and (fits is None or fits(way)):
                least, found, boxes = cost, number, way
                if later is None:
                    break
        for x, y, wide, high in boxes:
            self.add_box((x - air, y, wide + 2 * air, high))
        return found

    def free(self, box: Box, most: float = 0.0) -> bool:
        """Reserve a box if it has room; return whether it has."""
        return self.place([[box]], most=most) is not None

    def corner(self, size: tuple[float, float], before: Box | None, top: float, last: Box | None = None) -> Box | None:
        """Return a free rectangle: that of `before`, or the one furthest to the lower right, not above `top`.

        The rectangle `last` is used only if there is no other place.
        """
        (width, height), (left, above, wide, high) = size, self.box
        places = [(float(x), float(y)) for y in np.arange(above + high - height - 8, top, -16.0)
                  for x in np.arange(left + wide - width - 24, left + 0.3 * wide, -16.0)]  # fmt: skip
        if last is not None:
            places.sort(key=lambda at: meet((*at, width, height), last))
        places = [*([] if before is None else [before[:2]]), *places]
        found = self.place([(x - 12, y - 8, width + 24, height + 16)] for x, y in places)
        return None if found is None else (*places[found], width, height)

    def cost(self, box: Box) -> float:
        """Return the covered cells below `box`; infinite if it leaves the scene."""
        x, y, width, height = box
        left, top, wide, high = self.box
        if x < left + 4 or y < top or x + width > left + wide - 4 or y + height > top + high:
            return inf
        return float(self._cost[self._window(box)].sum())

    def add_polygon(self, corners: Floats) -> None:
        """Mark the convex hull of points (N, 2), with a little air around it."""
        ring = convex_hull(corners)
        low, high = corners.min(axis=0) - 2 * _CELL, corners.max(axis=0) + 2 * _CELL
        limit = np.array(self._cost.shape[::-1]) * _CELL + 4 * _CELL
        low, high = (np.clip(c, np.array(self.box[:2]) - 4 * _CELL, self.box[:2] + limit) for c in (low, high))
        part = self._window((low[0], low[1], high[0] - low[0], high[1] - low[1]))
        down, across = (np.arange(*cut.indices(most)) + 0.5 for cut, most in zip(part, self._cost.shape, strict=True))
        x, y = self.box[0] + across * _CELL, self.box[1] + down[:, None] * _CELL
        inside = np.ones((len(down), len(across)), bool)
        for p, q in zip(ring, np.roll(ring, -1, axis=0), strict=True):
            edge = q - p
            length = float(np.hypot(*edge)) or 1.0
            inside &= (edge[0] * (y - p[1]) - edge[1] * (x - p[0])) / length > -_CELL
        self._cost[part][inside] += 1.0

    def add_cubes(self, plates: Iterable[Plate], project: Project) -> None:
        """Mark each cube of some plates."""
        for plate in plates:
            for element in range(plate.size):
                self.add_polygon(project(plate.corners_of(element)))

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

    def add_texts(self, sketches: Iterable[Sketch]) -> None:
        """Mark texts, bold ones with the chip around them."""
        for item in (item for sketch in sketches for item in sketch.texts):
            air = 12.0 if item.bold else 4.0
            self.add_box((item.left - air, item.y - item.size - air / 3, item.width + 2 * air, item.size + air + 2))

    def _window(self, box: Box) -> tuple[slice, slice]:
        left, top = (int((box[k] - self.box[k]) / _CELL) for k in (0, 1))
        right, bottom = (int((box[k] + box[k + 2] - self.box[k]) / _CELL) + 1 for k in (0, 1))
        return slice(max(top, 0), max(bottom, 0)), slice(max(left, 0), max(right, 0))


# ---- Names beside rows and columns of cubes.

GAP, TRAY_GAP = 12.0, 7.0
"""Pixels from the first cube's edge to its name, and from the tray if that extends further."""
_ACROSS_GAP = 11.0  # above or below a cube
_LEVEL = 0.5  # rows flatter than this on screen (a cosine) have their names above or below their ends
_FURTHER = (0.0, 14.0, 30.0)  # pixels along the row, if cubes of the next one are in the way
_FAR = 55.0  # pixels from its row at which a name no longer seems to belong to it
_CLEARLY = 2.0  # pixels by which a name is nearer to its own row than to any other


def row_names(
    plate: Plate, names: Sequence[str], side: int, project: Project, placer: Placer, tray: Floats | None = None
) -> list[Name]:
    """Return a name for each row of a plate beside the first (`side` -1) or the last (+1) of its cubes, or none at all.

    `tray` is the tray's corners (4, 2) on screen.
    """
    if len(names) != plate.shape[0] or plate.grid.gaps:
        return []
    column, corners = 0 if side < 0 else plate.shape[1] - 1, [0, 2] if side < 0 else [1, 3]
    count = len(names)
    # rows closer than letters are high: check two before all of many rows
    for rows in [(0, 1), (count - 2, count - 1), range(count)] if count > 1 else [(0,)]:
        faces = _faces(plate, column, project, rows)
        middles, edges = faces.mean(axis=1), faces[:, corners].mean(axis=1)
        if count > 1 and np.abs(np.diff(edges, axis=0)).max(axis=1).min() < CAP_HEIGHT * LABEL:
            return []
    ways = edges - middles
    ways = ways / np.maximum(np.hypot(ways[:, 0], ways[:, 1]), 1e-9)[:, None]
    forms: list[list[Name]] = []

    def tried() -> Iterator[Option]:
        for size, further, upright in product((CHANNEL, LABEL), _FURTHER, (False, True)):
            rows = zip(edges + further * ways, ways, names, strict=True)
            forms.append([_name_beside(edge, way, size, name, tray, upright) for edge, way, name in rows])
            yield [(x - 2, y - 2, wide + 4, high + 4) for x, y, wide, high in (name.box for name in forms[-1])]

    found = placer.place(tried(), most=0.5, fits=lambda boxes: _fit(boxes, faces))
    return [] if found is None else forms[found]


def column_names(
    plate: Plate, names: Sequence[str], project: Project, top: float, free: Callable[[Box], bool]
) -> list[Name]:
    """Return a name over the back edge of each column, below `top`, or none at all; `free` reserves boxes."""
    if plate.grid.folded or len(names) != plate.shape[1]:
        return []
    backs = project([back_edge(plate, j) for j in range(len(names))])
    placed = [Name(name, x, y - 7, LABEL, "middle", True) for name, (x, y) in zip(names, backs.tolist(), strict=True)]
    widths = [name.box[2] for name in placed]
    middles = zip(widths, widths[1:], np.abs(np.diff(backs[:, 0])), strict=False)
    apart = all((a + b) / 2 + 5 < step for a, b, step in middles)
    if not apart or backs[:, 1].min() - 18 <= top:
        return []
    boxes = [(n.x - wide / 2, n.y - 11.0, wide, 12.0) for n, wide in zip(placed, widths, strict=True)]
    return placed if all(map(free, boxes)) else []


def back_edge(plate: Plate, column: int) -> Floats:
    """Return the middle of the back edge of a column's first cube, in the world."""
    return np.asarray(plate.cell_centre(0, column) + plate.depth * plate.axes[2] - plate.half * plate.axes[1])


def _faces(plate: Plate, column: int, project: Project, rows: Sequence[int]) -> Floats:
    """Return the main faces (R, 4, 2) of some rows' cubes in a column, or their backs if these are visible."""
    corners = np.array([plate.cell_corners(i, column) for i in rows])
    flat = project(corners.reshape(-1, 3)).reshape(-1, 8, 2)
    right, down = (flat[0, k] - flat[0, 0] for k in (1, 2))
    turned = (right[0] * down[1] - right[1] * down[0]) * np.linalg.det(plate.axes)  # y counts downwards on screen
    return np.asarray(flat[:, :4] if turned > 0 else flat[:, 4:])


def _name_beside(edge: Floats, way: Floats, size: float, text: str, tray: Floats | None, upright: bool) -> Name:
    """Return a name outside the edge of a face; `way` leads out of the row."""
    x, y = float(edge[0]), float(edge[1])
    half = CAP_HEIGHT * size / 2
    if (abs(way[0]) < _LEVEL) != upright:  # the row runs up and down on screen
        wide, sign = measure(text, size) / 2, -1 if way[1] < 0 else 1
        end = _beyond_tray(y + sign * _ACROSS_GAP, tray, (x - wide, x + wide), 1, sign)
        return Name(text, x, end + (half + sign * half), size, "middle")
    sign = -1 if way[0] < 0 else 1
    return Name(text, _beyond_tray(x + sign * GAP, tray, (y - half, y + half), 0, sign), y + half, size,
                "right" if sign < 0 else "left")  # fmt: skip


def _beyond_tray(least: float, tray: Floats | None, band: tuple[float, float], axis: int, sign: int) -> float:
    """Return `least` or a place further along an axis (0 x, 1 y; in direction `sign`), beyond the tray.

    Only the part of the tray within `band` of the other axis counts.
    """
    far = sign * least
    for p, q in () if tray is None else zip(tray, np.roll(tray, -1, axis=0), strict=True):
        a, b = sorted((p, q), key=lambda point: float(point[1 - axis]))
        start, end = max(band[0], a[1 - axis]), min(band[1], b[1 - axis])
        if start <= end:
            slope = (b[axis] - a[axis]) / max(float(b[1 - axis] - a[1 - axis]), 1e-9)
            far = max(far, *(sign * (a[axis] + slope * (at - a[1 - axis])) + TRAY_GAP for at in (start, end)))
    return float(sign * far)


def _fit(boxes: Option, faces: Floats) -> bool:
    """Return whether names, with two pixels around each, touch no other, and each is nearest to its own row."""
    for k, box in enumerate(boxes):
        if any(meet(box, (x - 2, y, wide + 4, high)) for x, y, wide, high in boxes[:k]):
            return False
    for k, (x, y, wide, high) in enumerate(boxes):
        away = face_distances((x + 2, y + 2, wide - 4, high - 4), faces)
        own, away[k] = away[k], inf
        if own > _FAR or away.min() < own + _CLEARLY:
            return False
    return True


def face_distances(box: Box, faces: Floats) -> Floats:
    """Return the distances of a box from faces (N, 4, 2), corners in the order of :meth:`Plate.cell_corners`."""
    x, y, wide, high = box
    mine = np.array([(x, y), (x + wide, y), (x + wide, y + high), (x, y + high)])
    theirs = faces[:, [0, 1, 3, 2]]
    return np.asarray(np.minimum(_to_edges(mine, theirs), _to_edges(theirs, np.broadcast_to(mine, theirs.shape))))


def _to_edges(points: Floats, rings: Floats) -> Floats:
    """Return the least distance of points ([N,] P, 2) from the edges of each ring (N, M, 2)."""
    ways = rings[:, [*range(1, rings.shape[1]), 0]] - rings
    lengths = np.maximum((ways**2).sum(axis=-1), 1e-12)
    to = np.broadcast_to(points, (len(rings), *points.shape[-2:]))[:, :, None] - rings[:, None]
    along = np.clip((to * ways[:, None]).sum(axis=-1) / lengths[:, None], 0.0, 1.0)
    return np.asarray(np.sqrt(((to - along[..., None] * ways[:, None]) ** 2).sum(axis=-1)).min(axis=(1, 2)))
