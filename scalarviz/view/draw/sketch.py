"""`Sketch`: what a panel wants drawn, as plain arrays. No GL here, so panels are testable without a context.

Everything is in logical pixels of the grid, origin top left, y down. Lines, discs, chips and swatches are all one
primitive: a rounded box in a frame of its own, whose edge the fragment shader smooths from the exact distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Float = NDArray[np.float32]
Colour = Sequence[float] | str | NDArray[np.floating]
Anchor = Literal["left", "middle", "right"]

# Columns of a vertex: position 2, position in the box's frame 2, (half width, half height, radius, border) 4,
# fill RGBA 4, border RGBA 4.
VERTEX = 16
_CORNERS = np.array([[-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [-1, 1]], dtype=np.float32)
_CLEAR = (0.0, 0.0, 0.0, 0.0)


def rgba(colour: Colour, alpha: float = 1.0) -> tuple[float, float, float, float]:
    """Any colour as four floats: ``"#rrggbb"``, or three or four numbers in 0..1; `alpha` multiplies."""
    parts = _hex(colour) if isinstance(colour, str) else tuple(float(c) for c in colour)
    own = parts[3] if len(parts) == 4 else 1.0
    return (parts[0], parts[1], parts[2], own * alpha)


@cache
def _hex(colour: str) -> tuple[float, ...]:
    digits = colour.lstrip("#")
    return tuple(int(digits[i : i + 2], 16) / 255 for i in range(0, len(digits), 2))


@dataclass(frozen=True, slots=True)
class TextItem:
    """One run of text: `y` is the baseline, `anchor` says which end stands at `x`."""

    x: float
    y: float
    text: str
    size: float
    colour: tuple[float, float, float, float]
    bold: bool = False
    anchor: Anchor = "left"


@dataclass(frozen=True, slots=True, eq=False)
class ImageItem:
    """A picture, uint8 (H, W, 3), stretched over a rectangle (x, y, width, height)."""

    rect: tuple[float, float, float, float]
    pixels: NDArray[np.uint8]
    linear: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class PointsItem:
    """Shaded discs, later ones in front: centres (N, 2), one diameter, colours (N, 3) in 0..1.

    With a `rim`, a colour (3,), they are flat and have an edge of it, `border` wide; `hollow` ones are rings of their
    own colour between two such edges.
    """

    centres: Float
    diameter: float
    colours: Float
    rim: tuple[float, float, float] | None = None
    border: float = 1.0
    hollow: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class SpritesItem:
    """Many small pictures out of one, later ones in front.

    Attributes
    ----------
    rects : ndarray, shape (N, 4)
        Left, top, width, height.
    cells : ndarray, shape (N, 4)
        The same of the parts of `pixels`, in fractions of it.
    pixels : ndarray of uint8, shape (H, W, 3)
    linear : bool
        Whether enlarged pixels flow into each other: then parts need an edge that is left out of `cells`.
    """

    rects: Float
    cells: Float
    pixels: NDArray[np.uint8]
    linear: bool = False


class Sketch:
    """An ordered display list. Shapes are painted first, then pictures, sprites, discs, and text.

    Parameters
    ----------
    over : bool
        Whether its shapes are painted after the pictures of all sketches: lines over a picture.
    """

    def __init__(self, *, over: bool = False) -> None:
        self.over = over
        self._chunks: list[Float] = []
        self.texts: list[TextItem] = []
        self.images: list[ImageItem] = []
        self.points: list[PointsItem] = []
        self.small: list[SpritesItem] = []

    @property
    def shapes(self) -> Float:
        """All triangles so far, shape (3 T, 16), in painting order."""
        if len(self._chunks) > 1:
            self._chunks = [np.concatenate(self._chunks)]
        return self._chunks[0] if self._chunks else np.empty((0, VERTEX), np.float32)

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: Colour | None = None,
        stroke: Colour | None = None,
        border: float = 1.0,
        radius: float = 0.0,
    ) -> None:
        """A rectangle, rounded by `radius`; the border lies inside it."""
        half = np.array([[width / 2, height / 2]], dtype=np.float32)
        centre = np.array([[x + width / 2, y + height / 2]], dtype=np.float32)
        self._boxes(
            centre, half, np.array([[1.0, 0.0]], np.float32), min(radius, width / 2, height / 2), fill, stroke, border
        )

    def cells(self, boxes: ArrayLike, fills: ArrayLike, radius: float = 0.0) -> None:
        """Many filled rectangles (N, 4) in colours of their own (N, 3); of an infinite radius: discs."""
        own = np.asarray(boxes, np.float32).reshape(-1, 4)
        colours = np.asarray(fills, np.float32).reshape(-1, 3)
        if not len(own):
            return
        axis = np.tile(np.array([1.0, 0.0], np.float32), (len(own), 1))
        half: Float = (own[:, 2:] / 2).astype(np.float32)
        centre: Float = (own[:, :2] + half).astype(np.float32)
        self._boxes(centre, half, axis, 0.0, (0.0, 0.0, 0.0), None, 0.0)
        corners = self._chunks[-1].reshape(len(own), 6, VERTEX)
        corners[:, :, 6] = np.minimum(radius, half.min(axis=1))[:, None]
        corners[:, :, 8:11] = colours[:, None]

    def disc(
        self,
        x: float,
        y: float,
        radius: float,
        fill: Colour | None = None,
        *,
        stroke: Colour | None = None,
        border: float = 1.0,
    ) -> None:
        """A filled or outlined disc."""
        self.rect(
            x - radius, y - radius, 2 * radius, 2 * radius, fill=fill, stroke=stroke, border=border, radius=radius
        )

    def lines(
        self, starts: ArrayLike, ends: ArrayLike, colour: Colour, width: float = 1.0, *, round_ends: bool = False
    ) -> None:
        """Straight lines from each row of `starts` to the same row of `ends`, both (N, 2)."""
        p = np.asarray(starts, dtype=np.float32).reshape(-1, 2)
        q = np.asarray(ends, dtype=np.float32).reshape(-1, 2)
        if not len(p):
            return
        along = q - p
        length = np.hypot(along[:, 0], along[:, 1])
        axis = np.where(length[:, None] > 0, along / np.maximum(length, 1e-9)[:, None], (1.0, 0.0)).astype(np.float32)
        cap = width / 2 if round_ends else 0.0
        half = np.stack([length / 2 + cap, np.full_like(length, width / 2)], axis=1).astype(np.float32)
        self._boxes(((p + q) / 2).astype(np.float32), half, axis, cap, colour, None, 0.0)

    def line(self, start: Sequence[float], end: Sequence[float], colour: Colour, width: float = 1.0) -> None:
        """One straight line."""
        self.lines([list(start)], [list(end)], colour, width)

    def polyline(
        self, points: ArrayLike, colour: Colour, width: float = 1.0, *, dash: tuple[float, float] | None = None
    ) -> None:
        """A path through `points` (N, 2); `dash` is (on, off) in pixels along it."""
        path = np.asarray(points, dtype=np.float32).reshape(-1, 2)
        if dash is None:
            self.lines(path[:-1], path[1:], colour, width, round_ends=True)
        else:
            self.lines(*dashes(path, *dash), colour, width)

    def polygon(self, points: ArrayLike, fill: Colour) -> None:
        """A filled convex polygon, corners (N, 2) in order, smooth edges."""
        corners = np.asarray(points, dtype=np.float32).reshape(-1, 2)
        following = np.roll(corners, -1, axis=0)
        centre = corners.mean(axis=0)
        edge = following - corners
        length = np.maximum(np.hypot(edge[:, 0], edge[:, 1]), 1e-6)
        # A fan around the centre. In each triangle the local y is 0 at the centre and the height at the outer edge,
        # so the box's distance is exactly the distance to that edge.
        offset = centre - corners
        height = np.abs(edge[:, 0] * offset[:, 1] - edge[:, 1] * offset[:, 0]) / length
        out = np.zeros((len(corners), 3, VERTEX), dtype=np.float32)
        out[:, 0, :2], out[:, 1, :2], out[:, 2, :2] = centre, corners, following
        out[:, 1:, 3] = height[:, None]
        out[:, :, 4] = 1e4
        out[:, :, 5] = height[:, None]
        out[:, :, 8:12] = rgba(fill)
        self._chunks.append(out.reshape(-1, VERTEX))

    def arrow(
        self, start: Sequence[float], end: Sequence[float], colour: Colour, width: float = 1.0, *, head: float = 7.0
    ) -> None:
        """A line with a filled head whose tip is at `end`."""
        p, q = np.asarray(start, np.float32), np.asarray(end, np.float32)
        axis = (q - p) / max(float(np.hypot(*(q - p))), 1e-6)
        across = np.array([-axis[1], axis[0]])
        neck = q - axis * head
        self.lines([p], [neck + axis], colour, width)
        self.polygon(np.stack([q, neck + across * head * 0.45, neck - across * head * 0.45]), colour)

    def text(
        self, x: float, y: float, text: str, size: float, colour: Colour, *, bold: bool = False, anchor: Anchor = "left"
    ) -> None:
        """Text with its baseline at `y`."""
        if text:
            self.texts.append(TextItem(float(x), float(y), text, size, rgba(colour), bold, anchor))

    def image(self, rect: tuple[float, float, float, float], pixels: NDArray[np.uint8], *, linear: bool = True) -> None:
        """A picture (H, W, 3) uint8 over `rect`. Pass the same array object again to avoid a new upload."""
        self.images.append(ImageItem(rect, pixels, linear))

    def sprites(self, rects: ArrayLike, cells: ArrayLike, pixels: NDArray[np.uint8], *, linear: bool = False) -> None:
        """Parts of one picture at many places; see :class:`SpritesItem`. Pass the same array of pixels again."""
        self.small.append(SpritesItem(np.asarray(rects, np.float32), np.asarray(cells, np.float32), pixels, linear))

    def discs(
        self,
        centres: ArrayLike,
        diameter: float,
        colours: ArrayLike,
        *,
        rim: Colour | None = None,
        border: float = 1.0,
        hollow: bool = False,
    ) -> None:
        """Discs in painting order: shaded, or with a `rim` flat, or hollow; see :class:`PointsItem`."""
        edge = None if rim is None else rgba(rim)[:3]
        places, inks = np.asarray(centres, np.float32), np.asarray(colours, np.float32)
        self.points.append(PointsItem(places, diameter, inks, edge, border, hollow))

    def _boxes(
        self,
        centre: Float,
        half: Float,
        axis: Float,
        radius: float,
        fill: Colour | None,
        stroke: Colour | None,
        border: float,
    ) -> None:
        count = len(centre)
        # One pixel of margin: room for the smooth edge at any scale of at least one device pixel a logical pixel.
        local = _CORNERS[None] * (half[:, None] + 1.0)
        across = np.stack([-axis[:, 1], axis[:, 0]], axis=1)
        out = np.empty((count, 6, VERTEX), dtype=np.float32)
        out[:, :, :2] = centre[:, None] + local[:, :, :1] * axis[:, None] + local[:, :, 1:] * across[:, None]
        out[:, :, 2:4] = local
        out[:, :, 4:6] = half[:, None]
        out[:, :, 6] = radius
        out[:, :, 7] = border if stroke is not None else 0.0
        out[:, :, 8:12] = _CLEAR if fill is None else rgba(fill)
        out[:, :, 12:16] = _CLEAR if stroke is None else rgba(stroke)
        self._chunks.append(out.reshape(-1, VERTEX))


def dashes(path: Float, on: float, off: float) -> tuple[Float, Float]:
    """Cut a path into dashes; returns their starts and ends, each (N, 2).

    A dash that turns a corner comes as two pieces. Distances are measured along the path.
    """
    if len(path) < 2:
        return np.empty((0, 2), np.float32), np.empty((0, 2), np.float32)
    steps = np.hypot(*np.diff(path, axis=0).T)
    distance = np.concatenate([[0.0], np.cumsum(steps)])
    begin = np.arange(0.0, distance[-1], on + off)
    cuts = np.unique(np.concatenate([begin, np.minimum(begin + on, distance[-1]), distance]))
    lit = np.mod((cuts[:-1] + cuts[1:]) / 2, on + off) < on
    x, y = np.interp(cuts, distance, path[:, 0]), np.interp(cuts, distance, path[:, 1])
    points = np.stack([x, y], axis=1).astype(np.float32)
    return points[:-1][lit], points[1:][lit]
