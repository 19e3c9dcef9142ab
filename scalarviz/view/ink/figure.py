"""`Figure`: a drawing of a size of its own, such as a graph or a plot: whole as SVG, or placed on a sketch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from .sketch import Box, Cells, Curve, Float, Lines, Path, Point, Polygon, Rect, Shape, Sketch, Spot, TextItem, spot_at


@dataclass(slots=True)
class Figure:
    """A drawing of its own: its size, and its parts from back to front, the page behind it first."""

    width: float
    height: float
    parts: list[Sketch] = field(default_factory=list)

    def __iter__(self) -> Iterator[Shape | TextItem]:
        """All shapes and texts, part by part."""
        return (record for part in self.parts for record in (*part.shapes, *part.texts))

    def spot(self, at: Point) -> Spot | None:
        """What is under a point of it."""
        return spot_at((spot for part in self.parts for spot in part.spots), at)

    def placed(
        self, *, scale: float = 1.0, at: Point = (0.0, 0.0), ground: bool = True, window: Box | None = None
    ) -> Sketch:
        """All of it on one sketch."""
        sketch = Sketch()
        for part in self.parts[0 if ground else 1 :]:
            moved = [_moved(record, scale, at, cut=window is not None) for record in (*part.shapes, *part.texts)]
            if window is not None and not part.cut and moved and not _inside(moved[0], window):
                continue
            for record in moved:
                _put(sketch, record, window)
        return sketch


def _moved(record: Shape | TextItem, scale: float, at: Point, *, cut: bool) -> Shape | TextItem:
    """A record in another place and size; a curve as a path, which can be cut."""
    left, top = at
    if isinstance(record, Rect):
        return Rect(left + record.x * scale, top + record.y * scale, record.width * scale, record.height * scale,
                    record.fill, record.stroke, record.border * scale, record.radius * scale)  # fmt: skip
    if isinstance(record, TextItem):
        return replace(record, x=left + record.x * scale, y=top + record.y * scale, size=record.size * scale)
    if isinstance(record, Cells):
        rects = record.rects * scale + np.array([left, top, 0.0, 0.0], np.float32)
        rings = None if record.rings is None else record.rings * scale
        return replace(record, rects=rects, radius=record.radius * scale, rings=rings)
    if isinstance(record, Lines):
        starts, ends = (points * scale + np.array(at) for points in (record.starts, record.ends))
        return replace(record, starts=starts, ends=ends, width=record.width * scale)
    points = record.points(scale, cut=cut) if isinstance(record, Curve) else record.points
    points = (points * scale + np.array(at)).astype(np.float32)
    if isinstance(record, Polygon):
        return Polygon(points, record.fill)
    return Path(points, record.colour, record.width * scale)


def _put(sketch: Sketch, record: Shape | TextItem, window: Box | None) -> None:
    """A record, or as much of it as may be shown in a window."""
    if isinstance(record, TextItem):
        if window is None or _inside(record, window):
            sketch.texts.append(record)
    elif window is None or (not isinstance(record, Rect | Path) and _inside(record, window)):
        sketch.shapes.append(record)
    elif isinstance(record, Path):
        sketch.shapes += [Path(part, record.colour, record.width) for part in _stretches(record.points, window)]
    elif isinstance(record, Rect):
        sketch.shapes += [record] if _inside(record, window) else _cut(record, window)


def _inside(record: Shape | TextItem, window: Box) -> bool:
    """Whether all of a record is in a window."""
    if isinstance(record, TextItem):
        points = np.array([[record.left, record.y - record.size], [record.left + record.width, record.y]])
    elif isinstance(record, Rect):
        points = np.array([[record.x, record.y], [record.x + record.width, record.y + record.height]])
    elif isinstance(record, Cells):
        points = np.concatenate([record.rects[:, :2], record.rects[:, :2] + record.rects[:, 2:]])
    elif isinstance(record, Lines):
        points = np.concatenate([record.starts, record.ends])
    else:
        points = record.points() if isinstance(record, Curve) else record.points
    x, y, width, height = window
    return bool((points >= (x - 0.5, y - 0.5)).all() and (points <= (x + width + 0.5, y + height + 0.5)).all())


def _cut(rect: Rect, window: Box) -> list[Shape]:
    """What of a rectangle is in a window: its fill, and the lines of its frame, with corners that are not round."""
    x, y, width, height = window
    left, right, top, bottom = rect.x, rect.x + rect.width, rect.y, rect.y + rect.height
    inner = max(left, x), max(top, y), min(right, x + width), min(bottom, y + height)
    if inner[0] >= inner[2] or inner[1] >= inner[3]:
        return []
    wide, high, thick = inner[2] - inner[0], inner[3] - inner[1], rect.border
    found: list[Shape] = [] if rect.fill is None else [Rect(inner[0], inner[1], wide, high, rect.fill)]
    if rect.stroke is not None:
        found += [Rect(across, inner[1], thick, high, rect.stroke) for across in (left, right - thick)
                  if x <= across <= x + width - thick]  # fmt: skip
        found += [Rect(inner[0], down, wide, thick, rect.stroke) for down in (top, bottom - thick)
                  if y <= down <= y + height - thick]  # fmt: skip
    return found


def _stretches(points: Float, window: Box) -> Iterator[Float]:
    """The stretches of a path that run inside a window."""
    x, y, width, height = window
    inside = np.asarray(((points >= (x, y)) & (points <= (x + width, y + height))).all(axis=1))
    for stretch in np.split(np.arange(len(points)), np.nonzero(np.diff(inside))[0] + 1):
        if inside[stretch[0]] and len(stretch) > 1:
            yield points[stretch]


# ---- `View`: which part of a figure a window shows, at which size; moved and enlarged by hands, never lost.

LEAST, MOST = 0.05, 4.0
"""Pixels that one of the figure may become."""
LARGEST = 1.5
"""And where all of it is shown."""
SEEN = 60.0
"""So much of the figure stays in the window."""


@dataclass(frozen=True, slots=True)
class View:
    """A figure in a window."""

    figure: tuple[float, float]
    window: tuple[float, float]  # width and height of both
    scale: float
    left: float
    top: float  # where the figure's corner is in the window

    @classmethod
    def whole(cls, figure: tuple[float, float], window: tuple[float, float]) -> View:
        """All of it, in the middle."""
        scale = max(min(window[0] / figure[0], window[1] / figure[1], LARGEST), LEAST)
        left, top = ((room - scale * side) / 2 for room, side in zip(window, figure, strict=True))
        return cls(figure, window, scale, left, top)

    @classmethod
    def readable(cls, figure: tuple[float, float], window: tuple[float, float], least: float) -> View:
        """All of it, never enlarged; of a figure that would be smaller than `least` the upper left part."""
        scale = max(min(window[0] / figure[0], window[1] / figure[1], 1.0), least)
        return cls(figure, window, scale, 0.0, 0.0).within()

    @property
    def fitting(self) -> float:
        """The scale at which all of it is seen."""
        return min(room / side for room, side in zip(self.window, self.figure, strict=True))

    def within(self, by: Point = (0.0, 0.0)) -> View:
        """Moved without showing more of what is beside it than there is: in the middle where there is room."""
        kept = []
        for at, move, side, room in zip((self.left, self.top), by, self.figure, self.window, strict=True):
            free = room - side * self.scale
            kept.append(free / 2 if free > 0 else min(max(at + move, free), 0.0))
        return replace(self, left=kept[0], top=kept[1])

    def on(self, at: Point) -> Point:
        """A point of the window in the figure's own pixels."""
        return (at[0] - self.left) / self.scale, (at[1] - self.top) / self.scale

    def moved(self, by: Point) -> View:
        """Moved by pixels of the window."""
        return self._kept(self.left + by[0], self.top + by[1], self.scale)

    def zoomed(self, factor: float, at: Point) -> View:
        """Larger or smaller, the point under `at` where it is."""
        scale = min(max(self.scale * factor, LEAST), MOST)
        x, y = self.on(at)
        return self._kept(at[0] - x * scale, at[1] - y * scale, scale)

    def of(self, figure: tuple[float, float]) -> View:
        """Another figure in the place of this one."""
        return replace(self, figure=figure)._kept(self.left, self.top, self.scale)

    def showing(self, figure: tuple[float, float], part: tuple[float, float, float, float]) -> View:
        """Another figure, a part of which (left, top, right, bottom) is in the middle, and whole; never enlarged."""
        left, top, right, bottom = part
        wide, high = right - left + 2 * SEEN, bottom - top + 2 * SEEN
        scale = max(min(self.scale, self.window[0] / wide, self.window[1] / high), LEAST)
        middle = (left + right) / 2, (top + bottom) / 2
        x, y = (room / 2 - scale * at for room, at in zip(self.window, middle, strict=True))
        return replace(self, figure=figure)._kept(x, y, scale)

    def _kept(self, left: float, top: float, scale: float) -> View:
        """With a part of the figure in the window."""
        kept = []
        for at, side, room in zip((left, top), self.figure, self.window, strict=True):
            seen = min(SEEN, side * scale, room)
            kept.append(min(max(at, seen - side * scale), room - seen))
        return View(self.figure, self.window, scale, kept[0], kept[1])
