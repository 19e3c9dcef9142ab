"""`Figure`: a drawing of a size of its own, such as a graph or a plot: whole as SVG, or placed on a sketch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from .sketch import Box, Cells, Curve, Lines, Path, Point, Polygon, Rect, Shape, Sketch, Spot, TextItem, meet, spot_at

AROUND = 100.0
"""Pixels that a part reaches beyond its spot at most."""


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
        """All of it on one sketch, or what of it lies in a window."""
        sketch = Sketch(clip=window)
        for part in self.parts[0 if ground else 1 :]:
            x, y, wide, high = part.spots[0].box if part.spots else (0.0, 0.0, self.width, self.height)
            there = at[0] + x * scale, at[1] + y * scale, wide * scale, high * scale
            if window is not None and not meet(there, window, AROUND * scale):
                continue
            sketch.shapes += [_moved(shape, scale, at) for shape in part.shapes]
            for text in part.texts:
                put = replace(text, x=at[0] + text.x * scale, y=at[1] + text.y * scale, size=text.size * scale)
                if window is None or meet((put.left, put.y - put.size, put.width, put.size), window):
                    sketch.texts.append(put)
        return sketch


def _moved(shape: Shape, scale: float, at: Point) -> Shape:
    """A shape in another place and size."""
    left, top = at
    if isinstance(shape, Rect):
        return Rect(left + shape.x * scale, top + shape.y * scale, shape.width * scale, shape.height * scale,
                    shape.fill, shape.stroke, shape.border * scale, shape.radius * scale)  # fmt: skip
    if isinstance(shape, Cells):
        rects = shape.rects * scale + np.array([left, top, 0.0, 0.0], np.float32)
        rings = None if shape.rings is None else shape.rings * scale
        return replace(shape, rects=rects, radius=shape.radius * scale, rings=rings)
    if isinstance(shape, Lines):
        starts, ends = (points * scale + np.array(at) for points in (shape.starts, shape.ends))
        return replace(shape, starts=starts, ends=ends, width=shape.width * scale)
    points = shape.points(scale) if isinstance(shape, Curve) else shape.points
    points = (points * scale + np.array(at)).astype(np.float32)
    if isinstance(shape, Polygon):
        return Polygon(points, shape.fill)
    return Path(points, shape.colour, shape.width * scale)


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
