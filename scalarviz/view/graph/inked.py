"""A figure on a `Sketch`: what OpenGL paints, for pictures, windows and panels. Any part of it, at any size."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

import numpy as np
from numpy.typing import NDArray

from ..draw.sketch import Float, Sketch
from .ink import Ink, Letters, Line, Path, Polygon, Rect, Shape
from .layout import Cubic

STRAIGHT = 4.0
"""Pixels of a curve that are drawn as one straight line."""


Window = tuple[float, float, float, float]


def sketched(
    ink: Ink, *, scale: float = 1.0, at: tuple[float, float] = (0.0, 0.0), ground: bool = True,
    window: Window | None = None,
) -> Sketch:  # fmt: skip
    """The figure as a sketch.

    Parameters
    ----------
    ink : Ink
    scale : float
        Pixels of the sketch that one of the figure becomes.
    at : (float, float)
        Where the figure's upper left corner is in the sketch.
    ground : bool
        Whether the page behind it is painted too.
    window : (x, y, width, height), optional
        Letters that are not wholly inside are left out; frames and lines are cut.
    """
    sketch = Sketch()
    left, top = at
    for group in ink.groups[0 if ground else 1 :]:
        seen = window is None or group.cut or _inside(group.shapes[0], scale, at, window)
        for shape in group.shapes if seen else ():
            if window is not None and not isinstance(shape, Path | Line) and not _inside(shape, scale, at, window):
                if isinstance(shape, Rect):
                    _cut(sketch, shape, scale, at, window)
                continue
            match shape:
                case Rect(x, y, width, height, fill, stroke, border, radius):
                    sketch.rect(left + x * scale, top + y * scale, width * scale, height * scale, fill=fill,
                                stroke=stroke, border=border * scale, radius=radius * scale)  # fmt: skip
                case Letters(x, y, text, size, colour, bold, anchor):
                    sketch.text(left + x * scale, top + y * scale, text, size * scale, colour, bold=bold, anchor=anchor)
                case Polygon(points, colour):
                    sketch.polygon([(left + x * scale, top + y * scale) for x, y in points], colour)
                case Path(pieces, colour, width):
                    path = np.concatenate([points_of(piece, scale, cut=window is not None) for piece in pieces])
                    _line(sketch, path * scale + np.array([left, top]), colour, width * scale, window)
                case Line(corners, colour, width):
                    _line(sketch, np.array(corners) * scale + np.array([left, top]), colour, width * scale, window)
    return sketch


def _line(sketch: Sketch, points: NDArray[np.floating], colour: str, width: float, window: Window | None) -> None:
    """A line through points, or the parts of it that run inside a window."""
    for part in [points] if window is None else _parts(points, window):
        sketch.polyline(part, colour, width)


def _inside(shape: Shape, scale: float, at: tuple[float, float], window: Window) -> bool:
    """Whether all of a shape is in a window."""
    match shape:
        case Rect(x, y, width, height):
            box = x, y, x + width, y + height
        case Letters():
            box = shape.left, shape.y - shape.size, shape.left + shape.width, shape.y
        case Polygon(points) | Line(points):
            across, down = zip(*points, strict=True)
            box = min(across), min(down), max(across), max(down)
        case Path(pieces):
            across, down = zip(*(point for piece in pieces for point in piece), strict=True)
            box = min(across), min(down), max(across), max(down)
    left, top, right, bottom = (at[k % 2] + part * scale for k, part in enumerate(box))
    x, y, width, height = window
    return left >= x - 0.5 and top >= y - 0.5 and right <= x + width + 0.5 and bottom <= y + height + 0.5


def _cut(sketch: Sketch, shape: Rect, scale: float, at: tuple[float, float], window: Window) -> None:
    """What of a rectangle is in a window: its fill, and the lines of its frame, with corners that are not round."""
    x, y, width, height = window
    left, right = (at[0] + across * scale for across in (shape.x, shape.x + shape.width))
    top, bottom = (at[1] + down * scale for down in (shape.y, shape.y + shape.height))
    inner = max(left, x), max(top, y), min(right, x + width), min(bottom, y + height)
    if inner[0] >= inner[2] or inner[1] >= inner[3]:
        return
    if shape.fill is not None:
        sketch.rect(inner[0], inner[1], inner[2] - inner[0], inner[3] - inner[1], fill=shape.fill)
    if shape.stroke is None:
        return
    thick = shape.border * scale
    for across in (left, right - thick):
        if x <= across <= x + width - thick:
            sketch.rect(across, inner[1], thick, inner[3] - inner[1], fill=shape.stroke)
    for down in (top, bottom - thick):
        if y <= down <= y + height - thick:
            sketch.rect(inner[0], down, inner[2] - inner[0], thick, fill=shape.stroke)


def _parts(points: NDArray[np.floating], window: Window) -> Iterator[NDArray[np.floating]]:
    """The stretches of a path that run inside a window."""
    x, y, width, height = window
    inside = np.asarray(((points >= (x, y)) & (points <= (x + width, y + height))).all(axis=1))
    for stretch in np.split(np.arange(len(points)), np.nonzero(np.diff(inside))[0] + 1):
        if inside[stretch[0]] and len(stretch) > 1:
            yield points[stretch]


def points_of(piece: Cubic, scale: float = 1.0, *, cut: bool = False) -> Float:
    """Points of a cubic, its ends among them; a straight one has these alone, unless it may be `cut`."""
    p = np.array(piece, np.float64)
    if piece[0][1] == piece[3][1] and not cut:
        return p[[0, 3]].astype(np.float32)
    count = max(8, ceil(float(np.hypot(*(p[3] - p[0]))) * scale / STRAIGHT))
    t = np.linspace(0.0, 1.0, count + 1)[:, None]
    curve = (1 - t) ** 3 * p[0] + 3 * (1 - t) ** 2 * t * p[1] + 3 * (1 - t) * t**2 * p[2] + t**3 * p[3]
    points: Float = curve.astype(np.float32)
    return points
