"""`Sketch`: a display list of records to paint. No GL here, so panels are testable without a context.

Everything is in logical pixels of the grid, origin top left, y down. Shapes, texts and pictures are plain records that
never change: OpenGL (`painter`) and SVG (`figure`) paint the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil, inf
from typing import Generic, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .text import WRITTEN, measure
from .theme import Shade, name_of, rgb, shade_of

Float = NDArray[np.float32]
Colour = Sequence[float] | str | NDArray[np.floating]
Ink = Colour | None
"""A colour; None: not painted."""
Anchor = Literal["left", "middle", "right"]
Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""x, y, width, height in logical pixels."""
Cubic = tuple[Point, Point, Point, Point]
"""Start, two handles, end."""

# Columns of a vertex: position 2, position in the box's frame 2, (half width, half height, radius, border) 4,
# fill RGBA 4, border RGBA 4.
VERTEX = 16
_CORNERS = np.array([[-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [-1, 1]], dtype=np.float32)
_CLEAR = (0.0, 0.0, 0.0, 0.0)
STRAIGHT = 4.0
"""Length in pixels of the straight pieces of a curve."""


def rgba(colour: Colour, alpha: float = 1.0) -> Shade:
    """Return a colour as four floats: ``"#rrggbb"``, or three or four numbers in 0..1; `alpha` multiplies."""
    if isinstance(colour, Shade) and len(colour) == 4 and alpha == 1.0:
        return colour
    parts = rgb(colour) if isinstance(colour, str) else tuple(float(c) for c in colour)
    own = parts[3] if len(parts) == 4 else 1.0
    return shade_of((*parts[:3], own * alpha), name_of(colour))


def contains(box: Box | None, point: Point | None, air: float = 0.0) -> bool:
    """Return whether a point is in a box, or at most `air` outside; False for None."""
    if box is None or point is None:
        return False
    x, y, width, height = box
    return x - air <= point[0] < x + width + air and y - air <= point[1] < y + height + air


def meet(one: Box, other: Box, air: float = 0.0) -> bool:
    """Return whether two boxes overlap, or are nearer than `air`."""
    return all(one[k] < other[k] + other[k + 2] + air and other[k] < one[k] + one[k + 2] + air for k in (0, 1))


# ---- Shapes. All but polygons become rounded boxes, each in a frame of its own: centre 2, half sides 2, axis 2,
# radius, border, fill 4, stroke 4. The fragment shader smooths their edges from the exact distance.


@dataclass(frozen=True, slots=True)
class Rect:
    """A rectangle, rounded by `radius`, with the border inside; fully rounded it is a disc."""

    x: float
    y: float
    width: float
    height: float
    fill: Ink = None
    stroke: Ink = None
    border: float = 1.0
    radius: float = 0.0
    bound: str | None = None  # the row of activations, or the target, whose numbers give the fill

    def box(self) -> tuple[float, ...]:
        """Return it as a box."""
        half, radius = (self.width / 2, self.height / 2), min(self.radius, self.width / 2, self.height / 2)
        ends = self.border if self.stroke is not None else 0.0
        fill, stroke = (_CLEAR if colour is None else rgba(colour) for colour in (self.fill, self.stroke))
        return (self.x + half[0], self.y + half[1], *half, 1.0, 0.0, radius, ends, *fill, *stroke)


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Many filled rectangles `rects` (N, 4) with own colours `fills` (N, 3); an infinite radius gives discs.

    Those whose `rings` (N,) are above 0 are frames of that width, which show what is below them.
    """

    rects: Float
    fills: Float
    radius: float = 0.0
    rings: Float | None = None

    def boxes(self) -> Float:
        """Return a box per rectangle."""
        half = self.rects[:, 2:] / 2
        rows = np.zeros((len(half), VERTEX), np.float32)
        rows[:, :2], rows[:, 2:4], rows[:, 4] = self.rects[:, :2] + half, half, 1.0
        rows[:, 6], rows[:, 8:11], rows[:, 11] = np.minimum(self.radius, half.min(axis=1)), self.fills, 1.0
        if self.rings is not None:
            rows[:, 7] = self.rings
            rows[self.rings > 0, 12:] = rows[self.rings > 0, 8:12]
            rows[self.rings > 0, 8:12] = 0.0
        return rows


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Straight lines from each row of `starts` to the same row of `ends`, both (N, 2)."""

    starts: Float
    ends: Float
    colour: Colour
    width: float = 1.0
    round_ends: bool = False
    below: Float | None = None  # if they fill the area below a line (N, 2): a browser fills it as one shape
    along: tuple[float, float] | None = None  # left end and width of the scale on which they mark the weights

    def boxes(self) -> Float:
        """Return a box per line."""
        along = self.ends - self.starts
        length = np.hypot(along[:, 0], along[:, 1])
        axis = np.where(length[:, None] > 0, along / np.maximum(length, 1e-9)[:, None], (1.0, 0.0))
        cap = self.width / 2 if self.round_ends else 0.0
        rows = np.zeros((len(along), VERTEX), np.float32)
        rows[:, :2], rows[:, 2], rows[:, 3] = (self.starts + self.ends) / 2, length / 2 + cap, self.width / 2
        rows[:, 4:6], rows[:, 6], rows[:, 8:12] = axis, cap, rgba(self.colour)
        return rows


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """A line through points (N, 2), with round corners and ends."""

    points: Float
    colour: Colour
    width: float = 1.0

    def boxes(self) -> Float:
        """Return a box per segment."""
        return Lines(self.points[:-1], self.points[1:], self.colour, self.width, round_ends=True).boxes()


@dataclass(frozen=True, slots=True)
class Curve:
    """A line of cubic pieces."""

    pieces: tuple[Cubic, ...]
    colour: Colour
    width: float = 1.0

    def points(self, scale: float = 1.0) -> Float:
        """Return points on it, as many as a picture at this `scale` needs."""
        return np.concatenate([points_of(piece, scale) for piece in self.pieces])

    def boxes(self) -> Float:
        """Return a box per segment."""
        return Path(self.points(), self.colour, self.width).boxes()


@dataclass(frozen=True, slots=True, eq=False)
class Polygon:
    """A filled convex polygon with smooth edges; corners (N, 2) in order."""

    points: Float
    fill: Colour

    def triangles(self) -> Float:
        """Return a fan around the centre, shape (3 N, 16).

        In each triangle the local y is 0 at the centre and the height at the outer edge, so the box's distance is
        exactly the distance to that edge.
        """
        corners = self.points
        following = np.roll(corners, -1, axis=0)
        centre = corners.mean(axis=0)
        edge, offset = following - corners, centre - corners
        length = np.maximum(np.hypot(edge[:, 0], edge[:, 1]), 1e-6)
        height = np.abs(edge[:, 0] * offset[:, 1] - edge[:, 1] * offset[:, 0]) / length
        out = np.zeros((len(corners), 3, VERTEX), dtype=np.float32)
        out[:, 0, :2], out[:, 1, :2], out[:, 2, :2] = centre, corners, following
        out[:, 1:, 3] = height[:, None]
        out[:, :, 4] = 1e4
        out[:, :, 5] = height[:, None]
        out[:, :, 8:12] = rgba(self.fill)
        return out.reshape(-1, VERTEX)


Shape = Rect | Cells | Lines | Path | Curve | Polygon

_NONE = np.empty((0, VERTEX), np.float32)


def _vertices(boxes: Sequence[Float]) -> Float:
    """Return two triangles per box, shape (6 N, 16), with a pixel of margin for the smooth edge at scales from 1 on."""
    rows = np.concatenate([_NONE, *boxes])
    half, axis = rows[:, 2:4], rows[:, 4:6]
    local = _CORNERS[None] * (half[:, None] + 1.0)
    across = np.stack([-axis[:, 1], axis[:, 0]], axis=1)
    out = np.empty((len(rows), 6, VERTEX), dtype=np.float32)
    out[:, :, :2] = rows[:, None, :2] + local[:, :, :1] * axis[:, None] + local[:, :, 1:] * across[:, None]
    out[:, :, 2:4] = local
    out[:, :, 4:6] = half[:, None]
    out[:, :, 6:] = rows[:, None, 6:]
    return out.reshape(-1, VERTEX)


def within(vertices: Float, box: Box) -> Float:
    """Return the part of triangles (3 T, N) inside a box, in the same order; the first two numbers are the place."""
    triangles, order = vertices.reshape(-1, 3, vertices.shape[1]), np.arange(len(vertices) // 3)
    x, y, width, height = box
    for axis, limit, sign in ((0, x, 1.0), (1, y, 1.0), (0, x + width, -1.0), (1, y + height, -1.0)):
        depth = sign * (triangles[:, :, axis] - limit)
        if (depth >= 0).all():
            continue
        count = (depth >= 0).sum(axis=1)
        parts, places = [triangles[count == 3]], [order[count == 3]]
        for many in (1, 2):  # corners inside: one or two triangles remain
            cut, deep = triangles[count == many], depth[count == many]
            turn = (np.argmax((deep >= 0) == (many == 1), axis=1)[:, None] + [0, 1, 2]) % 3  # the odd corner first
            a, b, c = np.take_along_axis(cut, turn[:, :, None], axis=1).swapaxes(0, 1)
            near, left, right = np.take_along_axis(deep, turn, axis=1).T[:, :, None]
            p, q = a + (b - a) * (near / (near - left)), a + (c - a) * (near / (near - right))
            for corners in ([(a, p, q)], [(p, b, c), (p, c, q)])[many - 1]:
                parts.append(np.stack(corners, axis=1))
                places.append(order[count == many])
        order = np.concatenate(places)
        again = np.argsort(order, kind="stable")
        triangles, order = np.concatenate(parts)[again], order[again]
    return np.asarray(triangles.reshape(-1, vertices.shape[1]), np.float32)


# ---- Texts and pictures


RULE, BEND, OTHER = "rule", "bend", "other "
"""What an equation may need: the recorded rule of the optimiser, the recorded activation of hidden layers; behind the
third, that a step of a page has another one."""
STEP, RUN_LOSS, RATE, TICK, OF_A_PANEL, DELTA = "step", "run loss", "rate", "tick", "step of ", "δ of "
WEIGHT, NEW_WEIGHT, GRADIENT, FACTOR, BACK = "weight before", "weight after", "its gradient", "its factor", "its delta"
"""Of each weight in an opened step: its value before and after it, its gradient, and both factors of that."""
CLIPPED = "clipped"
"""The share of the shown numbers beyond their range."""
NODES = "nodes"
"""Of a formula in an opened step: the numbers of all its nodes, as a row."""
CONSTANT = "="
"""The name of a number that is its own index."""
"""Names of numbers of the moment: step and loss of the run, learning rate of the next step, a number of the legend, the
step of a recorded panel, a delta of a stage."""


@dataclass(frozen=True, slots=True)
class Bound:
    """The number of the moment that a text shows, so that a painter can replace it without a new layout."""

    # a quantity of the weights, a row of activations ("" is that of a network of one layer), a tensor for its range,
    # "loss", "target", or as above; None for a text of the moment that no browser can write
    name: str | None
    index: int = 0  # of the number; of a tick at the end of the legend (+-1), or of one a tenth as large (+-2), ...
    # how it is written: a key of `text.WRITTEN`; or "either", then `before` has words for a smaller, an equal and a
    # larger number than the first of `more` (else 0), with "|" between them; or "caption 0 2" for the first of 2 lines
    # of a `BoundCaption`, then `before` has the names of the outputs, and `after` what stands before the sentence
    form: str = "chip"
    before: str = ""  # words in front of it, and behind it
    after: str = ""
    within: float = inf  # pixels: without room for both, only the words
    # names and indices of the other numbers of an equation, whose form is as ``"product:2"``: a name of
    # `micro.equations` and a piece
    more: tuple[tuple[str, float], ...] = ()
    needs: str = ""  # what must be the recorded one, so that it is true: `RULE` or `BEND`

    def text(self, value: float) -> str:
        """Return the words and the number."""
        return f"{self.before}{WRITTEN[self.form](value)}{self.after}"


_TO_END = {"left": 1.0, "middle": 0.5, "right": -1.0}
"""From a text's place to its other end, in its width."""


@dataclass(frozen=True, slots=True)
class TextItem:
    """One run of text: `y` is the baseline, `anchor` says which end is at `x`."""

    x: float
    y: float
    text: str
    size: float
    colour: Shade
    bold: bool = False
    anchor: Anchor = "left"
    bound: Bound | None = None
    gap: float | None = None  # pixels behind the end of the text before it; None: it stands by itself

    @property
    def width(self) -> float:
        """Width in pixels."""
        return measure(self.text, self.size, self.bold)

    @property
    def left(self) -> float:
        """Left edge of its first letter."""
        return self.x - self.width * {"left": 0.0, "middle": 0.5, "right": 1.0}[self.anchor]


@dataclass(frozen=True, slots=True, eq=False)
class ImageItem:
    """A picture, uint8 (H, W, 3), stretched over a rectangle (x, y, width, height)."""

    rect: tuple[float, float, float, float]
    pixels: NDArray[np.uint8]
    linear: bool = True
    cmap: str = ""  # the colour map that it shows from left to right; the theme decides its colours


@dataclass(frozen=True, slots=True, eq=False)
class PointsItem:
    """Shaded discs, later ones in front: centres (N, 2), one diameter, colours (N, 3) in 0..1."""

    centres: Float
    diameter: float
    colours: Float


@dataclass(frozen=True, slots=True, eq=False)
class SpritesItem:
    """Many small parts of one picture, uint8 (H, W, 3), later ones in front."""

    rects: Float  # (N, 4): left, top, width, height
    cells: Float  # (N, 4): parts of `pixels`, as fractions of it
    pixels: NDArray[np.uint8]
    linear: bool = False  # interpolate enlarged pixels: then parts need an edge outside `cells`


# ---- The list

Made = TypeVar("Made")
Click = tuple[str, str | int]
"""A click: a name and its argument."""
COVERS = "covers"
"""Name of a spot that only covers what is below it."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A place of a picture that reacts to a pointer. Hit tests, hover, focus and spoken names all use it."""

    box: Box
    name: str  # the click: an action of the table, or a name for the drawer of the spot
    value: str | int = ""  # its argument: a part, a sample, or steps
    words: str = ""  # the text there, for a screen reader
    tip: str = ""  # the text of the tip

    @property
    def click(self) -> Click:
        """The click without the place, which stays the same while numbers and places change."""
        return self.name, self.value


def spot_at(spots: Iterable[Spot], point: Point | None) -> Spot | None:
    """Return the spot under a point, or None; of several, the one drawn last."""
    return next((spot for spot in reversed([*spots]) if contains(spot.box, point)), None)


class Cached(Generic[Made]):
    """Stores the last result, by key."""

    def __init__(self) -> None:
        self._last: tuple[object, Made] | None = None

    def get(self, key: object, make: Callable[[], Made]) -> Made:
        """Return the stored result of a key, or the new one of `make()`."""
        if self._last is None or self._last[0] != key:
            self._last = key, make()
        return self._last[1]


class Sketch:
    """An ordered display list. Shapes are painted first, then pictures, sprites, discs, and text.

    Parameters
    ----------
    over : bool
        Paint its shapes after the pictures of all sketches: lines over a picture.
    clip : (float, float, float, float), optional
        A box that clips its shapes and texts.
    passing : bool
        It shows numbers of the moment; where a browser has others, it keeps only those that are bound.
    """

    def __init__(self, *, over: bool = False, clip: Box | None = None, passing: bool = False) -> None:
        self.over, self.clip, self.passing = over, clip, passing
        self.tops: list[Shape] = []  # always over the pictures
        self.shapes: list[Shape] = self.tops if over else []
        self.texts: list[TextItem] = []
        self.images: list[ImageItem] = []
        self.points: list[PointsItem] = []
        self.small: list[SpritesItem] = []
        self.spots: list[Spot] = []
        self.copied: tuple[str, Box] | None = None  # the recorded panel that it copies, and its place
        self._triangles: dict[bool, tuple[int, Float]] = {}

    def triangles(self, *, top: bool = False) -> Float:
        """Return all shapes so far, or those always over pictures (`top`), as triangles (3 T, 16) in painting order."""
        shapes, known = self.tops if top else self.shapes, self._triangles.get(top)
        if known is not None and known[0] == len(shapes):
            return known[1]
        if not shapes:
            return _NONE
        chunks, boxes = list[Float](), list[Float]()
        for kind, run in groupby(shapes, type):  # rectangles become boxes together, boxes triangles
            if kind is Polygon:
                chunks += [_vertices(boxes), *(shape.triangles() for shape in run if isinstance(shape, Polygon))]
                boxes.clear()
            elif kind is Rect:
                boxes.append(np.array([shape.box() for shape in run if isinstance(shape, Rect)], np.float32))
            else:
                boxes += [shape.boxes() for shape in run if not isinstance(shape, Rect | Polygon)]
        triangles = np.concatenate([*chunks, _vertices(boxes)])
        self._triangles[top] = len(shapes), triangles if self.clip is None else within(triangles, self.clip)
        return self._triangles[top][1]

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: Ink = None,
        stroke: Ink = None,
        border: float = 1.0,
        radius: float = 0.0,
        bound: str | None = None,
    ) -> None:
        """Add a rectangle, rounded by `radius`, with the border inside. `bound`: row whose numbers give the fill."""
        self.shapes.append(Rect(x, y, width, height, fill, stroke, border, radius, bound))

    def cells(self, boxes: ArrayLike, fills: ArrayLike, radius: float = 0.0) -> None:
        """Add many filled rectangles (N, 4) with own colours (N, 3); an infinite radius gives discs."""
        own, colours = np.array(boxes, np.float32).reshape(-1, 4), np.array(fills, np.float32).reshape(-1, 3)
        if len(own):
            self.shapes.append(Cells(own, colours, radius))

    def disc(
        self, x: float, y: float, radius: float, fill: Ink = None, *, stroke: Ink = None, border: float = 1.0
    ) -> None:
        """Add a filled or outlined disc."""
        side = 2 * radius
        self.shapes.append(Rect(x - radius, y - radius, side, side, fill, stroke, border, radius))

    def lines(
        self, starts: ArrayLike, ends: ArrayLike, colour: Colour, width: float = 1.0, *, round_ends: bool = False
    ) -> None:
        """Add straight lines from each row of `starts` to the same row of `ends`, both (N, 2)."""
        p, q = (np.array(points, dtype=np.float32).reshape(-1, 2) for points in (starts, ends))
        if len(p):
            self.shapes.append(Lines(p, q, colour, width, round_ends))

    def line(self, start: Sequence[float], end: Sequence[float], colour: Colour, width: float = 1.0) -> None:
        """Add one straight line."""
        self.lines([list(start)], [list(end)], colour, width)

    def polyline(
        self, points: ArrayLike, colour: Colour, width: float = 1.0, *, dash: tuple[float, float] | None = None
    ) -> None:
        """Add a path through `points` (N, 2); `dash` is (on, off) in pixels along it."""
        path = np.array(points, dtype=np.float32).reshape(-1, 2)
        if dash is not None:
            self.lines(*dashes(path, *dash), colour, width)
        elif len(path) > 1:
            self.shapes.append(Path(path, colour, width))

    def area(self, points: ArrayLike, bottom: float, colour: Colour, column: float = 2.0) -> None:
        """Fill the area below a path with rising x (N, 2), in columns of this width."""
        path = np.array(points, dtype=np.float32).reshape(-1, 2)
        if len(path) > 1:
            at = np.arange(np.floor(path[0, 0]), np.ceil(path[-1, 0]), column) + column / 2
            tops, feet = np.interp(at, *path.T), np.full_like(at, bottom)
            starts, ends = (np.stack([at, y], 1).astype(np.float32) for y in (tops, feet))
            self.shapes.append(Lines(starts, ends, colour, column, below=path))

    def clipped(self, clip: Box) -> Sketch:
        """Return these shapes and texts clipped to a box."""
        found = Sketch(clip=clip)
        found.shapes, found.texts = self.shapes, self.texts
        return found

    def curve(self, pieces: Iterable[Cubic], colour: Colour, width: float = 1.0) -> None:
        """Add a line of cubic pieces."""
        self.shapes.append(Curve(tuple(pieces), colour, width))

    def polygon(self, points: ArrayLike, fill: Colour) -> None:
        """Add a filled convex polygon with smooth edges; corners (N, 2) in order."""
        self.shapes.append(Polygon(np.array(points, dtype=np.float32).reshape(-1, 2), fill))

    def arrow(
        self, start: Sequence[float], end: Sequence[float], colour: Colour, width: float = 1.0, *, head: float = 7.0
    ) -> None:
        """Add a line with a filled head whose tip is at `end`."""
        p, q = np.asarray(start, np.float32), np.asarray(end, np.float32)
        axis = (q - p) / max(float(np.hypot(*(q - p))), 1e-6)
        across = np.array([-axis[1], axis[0]])
        neck = q - axis * head
        self.lines([p], [neck + axis], colour, width)
        self.polygon(np.stack([q, neck + across * head * 0.45, neck - across * head * 0.45]), colour)

    def text(
        self, x: float, y: float, text: str, size: float, colour: Colour, *, bold: bool = False,
        anchor: Anchor = "left", bound: Bound | None = None, gap: float | None = None,
    ) -> float:  # fmt: skip
        """Add a text with its baseline at `y`; `bound` says which number of the moment it shows.

        With a `gap`, it stands so far behind the text before it, and moves if that is another one. Return its right
        end; of a text that ends at `x`, the left one.
        """
        if text:
            self.texts.append(TextItem(float(x), float(y), text, size, rgba(colour), bold, anchor, bound, gap))
        wide = measure(str(text), size, bold)  # what is no text, or has no such anchor, is refused where it is drawn
        return x + wide * _TO_END.get(anchor, 0.0)

    def number(
        self, x: float, y: float, value: float, bound: Bound, size: float, colour: Colour, *, bold: bool = True,
        anchor: Anchor = "middle", gap: float | None = None,
    ) -> None:  # fmt: skip
        """Add a number of the moment; `bound` says which number it is, and how it is written."""
        text = bound.text(float(value))
        if measure(text, size, bold) > bound.within:
            text = bound.before.rstrip()
        self.text(x, y, text, size, colour, bold=bold, anchor=anchor, bound=bound, gap=gap)

    def spot(self, box: Box, name: str, value: str | int = "", *, words: str = "", tip: str = "") -> None:
        """Make a box react to a pointer; see :class:`Spot`."""
        self.spots.append(Spot(box, name, value, words, tip))

    def image(self, rect: Box, pixels: NDArray[np.uint8], *, linear: bool = True, cmap: str = "") -> None:
        """Add a picture (H, W, 3) uint8 over `rect`. Pass the same array object again to avoid a new upload."""
        self.images.append(ImageItem(rect, pixels, linear, cmap))

    def sprites(self, rects: ArrayLike, cells: ArrayLike, pixels: NDArray[np.uint8], *, linear: bool = False) -> None:
        """Add parts of one picture at many places; see :class:`SpritesItem`. Pass the same array of pixels again."""
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
        """Add shaded discs (N, 2) with own colours (N, 3), in painting order; see :class:`PointsItem`.

        With a `rim` they are flat and have an edge `border` wide; `hollow` ones are rings between two such edges.
        """
        inks = np.array(colours, np.float32).reshape(-1, 3)
        if rim is None:
            self.points.append(PointsItem(np.asarray(centres, np.float32), diameter, inks))
        elif len(inks):  # one after the other, each with its own parts
            places = np.array(centres, np.float32).reshape(-1, 1, 2)
            wide = np.array([diameter, diameter - 2 * border], np.float32)
            sides = np.broadcast_to(wide[:, None], (len(places), 2, 2))
            fills = np.stack([np.broadcast_to(np.array(rgba(rim)[:3], np.float32), inks.shape), inks], axis=1)
            rings = np.tile(np.array([3.5, 1.5], np.float32) * border, len(places)) if hollow else None
            boxes = np.concatenate([places - sides / 2, sides], axis=2).reshape(-1, 4)
            self.tops.append(Cells(boxes, fills.reshape(-1, 3), np.inf, rings))


def points_of(piece: Cubic, scale: float = 1.0) -> Float:
    """Return points of a cubic, its ends included; of a straight one only the ends."""
    p = np.array(piece, np.float64)
    if piece[0][1] == piece[3][1]:
        return p[[0, 3]].astype(np.float32)
    count = max(8, ceil(float(np.hypot(*(p[3] - p[0]))) * scale / STRAIGHT))
    t = np.linspace(0.0, 1.0, count + 1)[:, None]
    curve = (1 - t) ** 3 * p[0] + 3 * (1 - t) ** 2 * t * p[1] + 3 * (1 - t) * t**2 * p[2] + t**3 * p[3]
    points: Float = curve.astype(np.float32)
    return points


def dashes(path: Float, on: float, off: float) -> tuple[Float, Float]:
    """Cut a path into dashes; return their starts and ends, each (N, 2).

    A dash around a corner gives two pieces. Distances are measured along the path.
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
