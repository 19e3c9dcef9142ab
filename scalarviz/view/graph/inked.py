"""A figure on a `Sketch`: what OpenGL paints, for pictures, windows and panels. Any part of it, at any size."""

from __future__ import annotations

from math import ceil

import numpy as np

from ..draw.sketch import Float, Sketch
from .ink import Ink, Letters, Path, Polygon, Rect
from .layout import Cubic

STRAIGHT = 4.0
"""Pixels of a curve that are drawn as one straight line."""


def sketched(ink: Ink, *, scale: float = 1.0, at: tuple[float, float] = (0.0, 0.0), ground: bool = True) -> Sketch:
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
    """
    sketch = Sketch()
    left, top = at
    for group in ink.groups[0 if ground else 1 :]:
        for shape in group.shapes:
            match shape:
                case Rect(x, y, width, height, fill, stroke, border, radius):
                    sketch.rect(left + x * scale, top + y * scale, width * scale, height * scale, fill=fill,
                                stroke=stroke, border=border * scale, radius=radius * scale)  # fmt: skip
                case Letters(x, y, text, size, colour, bold, anchor):
                    sketch.text(left + x * scale, top + y * scale, text, size * scale, colour, bold=bold, anchor=anchor)
                case Polygon(points, colour):
                    sketch.polygon([(left + x * scale, top + y * scale) for x, y in points], colour)
                case Path(pieces, colour, width):
                    path = np.concatenate([points_of(piece, scale) for piece in pieces])
                    sketch.polyline(path * scale + np.array([left, top]), colour, width * scale)
    return sketch


def points_of(piece: Cubic, scale: float = 1.0) -> Float:
    """Points of a cubic, its ends among them; a straight one has these alone."""
    p = np.array(piece, np.float64)
    if piece[0][1] == piece[3][1]:
        return p[[0, 3]].astype(np.float32)
    count = max(8, ceil(float(np.hypot(*(p[3] - p[0]))) * scale / STRAIGHT))
    t = np.linspace(0.0, 1.0, count + 1)[:, None]
    curve = (1 - t) ** 3 * p[0] + 3 * (1 - t) ** 2 * t * p[1] + 3 * (1 - t) * t**2 * p[2] + t**3 * p[3]
    points: Float = curve.astype(np.float32)
    return points
