"""The parts and the result of an arrangement: `Plate`, and `Layout`: plates in space and the camera that shows them.

The pitch of cubes is 1, except for small arrays beside very large ones, whose cubes would be too small to see.
`Blueprint` is the flat part of a planned picture: titles, rooms and wires, in pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, prod, sqrt
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError, UnknownNameError, listing, shown
from ...run.core.tensors import Tensor
from ..ink.sketch import Box
from .camera import Camera, Floats, Rect, Size, fit

# ---- `Plate`: one block of numbers as a slab of cubes in space, one cube thick.

Elements = TypeVar("Elements", int, NDArray[np.intp])
Kind = Literal["weight", "bias", "activation"]

# A matrix narrower than this share of its length would be a hairline, so it is folded into a block.
FOLD_ASPECT = 64
# The shader counts the cells of a plate in float32, which is exact up to here.
MAX_CELLS = (1 << 24) - (1 << 13)


@dataclass(frozen=True, slots=True)
class Grid:
    """The places of a tensor's elements on rows and columns."""

    shape: tuple[int, int]  # logical index (i, j): (out, in), (n, 1) of a vector, (out*kh, in*kw) of a kernel
    cells: tuple[int, int]  # rows and columns drawn, empty ones between convolution tiles included
    tile: tuple[int, int] = (0, 0)  # rows and columns of a convolution kernel; 0 for anything else
    folded: bool = False  # whether elements fill row by row regardless of `shape` (vectors, hairline matrices)
    # elements from tile to tile and from row to row within a tile, then the same for columns
    strides: tuple[int, int, int, int] = (0, 1, 0, 1)

    @property
    def gaps(self) -> bool:
        """True if the grid has tiles with gaps, or is folded, with a last row that may not be full."""
        return self.folded or self.tile != (0, 0)

    @property
    def period(self) -> tuple[int, int]:
        """Cells after which the next tile starts; the last cell of each period is empty."""
        return (self.tile[0] + 1, self.tile[1] + 1) if self.tile[0] else (self.cells[0] + 1, self.cells[1] + 1)

    def element(self, i: int, j: int) -> int:
        """Return the element at the logical index (i, j), counted in C order of the tensor."""
        if not (0 <= i < self.shape[0] and 0 <= j < self.shape[1]):
            raise InputError(f"cell ({i}, {j}) is outside a plate of shape {self.shape}")
        if not self.tile[0]:
            return i * self.shape[1] + j
        across, within, kernel, _ = self.strides
        (output, row), (channel, col) = divmod(i, self.tile[0]), divmod(j, self.tile[1])
        return output * across + row * within + channel * kernel + col

    def places(self, elements: Elements) -> tuple[Elements, Elements]:
        """Return the rows and columns of the cells of elements, counted in C order of the tensor."""
        if not self.tile[0]:
            return divmod(elements, self.strides[1])
        across, within, kernel, _ = self.strides
        output, rest = divmod(elements, across)
        channel, rest = divmod(rest, kernel)
        row, col = divmod(rest, within)
        return output * self.period[0] + row, channel * self.period[1] + col


def grid_for(shape: Sequence[int], *, strip: bool = False) -> Grid:
    """Return the grid of a tensor of `shape`.

    Vectors are a block (or one row of cubes with `strip`), 3-D and 4-D tensors tiles of k or kh x kw in an out x in
    grid; further leading axes count as "out".
    """
    size = prod(shape)
    if size == 0:
        raise InputError(f"a tensor of shape {tuple(shape)} has no elements to draw; remove the tensor")
    if size > MAX_CELLS:
        raise InputError(f"a tensor of shape {tuple(shape)} has {size} elements; a plate holds at most {MAX_CELLS}")
    if len(shape) <= 1:
        return Grid((size, 1), (size, 1)) if strip else _fold((size, 1))
    if len(shape) == 2:
        rows, cols = shape
        if max(rows, cols) > FOLD_ASPECT * min(rows, cols):
            return _fold((rows, cols))
        return Grid((rows, cols), (rows, cols), strides=(0, cols, 0, 1))
    return _tiles(shape)


def _fold(shape: tuple[int, int]) -> Grid:
    size = shape[0] * shape[1]
    cols = size if size <= 8 else ceil(sqrt(size))
    return Grid(shape, (ceil(size / cols), cols), folded=True, strides=(0, cols, 0, 1))


def _tiles(shape: Sequence[int]) -> Grid:
    kh, kw = (1, shape[-1]) if len(shape) == 3 else (shape[-2], shape[-1])
    inputs = shape[1] if len(shape) == 3 else shape[-3]
    outputs = prod(shape) // (inputs * kh * kw)
    return Grid(
        (outputs * kh, inputs * kw),
        (outputs * (kh + 1) - 1, inputs * (kw + 1) - 1),
        tile=(kh, kw),
        strides=(inputs * kh * kw, kw, kh * kw, 1),
    )


@dataclass(frozen=True, eq=False)
class Plate:
    """One tensor (or one activation row) as a slab of cubes."""

    name: str  # the tensor's; of an activation row the stage's ("input": the sample itself)
    kind: Kind
    size: int
    grid: Grid
    origin: Floats  # world position of the middle of cell (row 0, column 0)
    # the way in which columns (index j) count, in which rows (index i) count, and out of the main face, which looks at
    # the viewer: at right angles, each as long as the pitch
    axes: Floats
    half: float  # half the side of a cube's main face, in pitches
    depth: float  # half the thickness, in pitches
    start: int = -1  # index of the first element in a frame's flat arrays; -1 for an activation row

    @property
    def pitch(self) -> float:
        """World units from one cube to the next."""
        return float(np.linalg.norm(self.axes[0]))

    @property
    def shape(self) -> tuple[int, int]:
        """Logical (rows, columns): ``weight[i][j]`` is cell (i, j), ``bias[i]`` is cell (i, 0)."""
        return self.grid.shape

    def cell_centre(self, i: int, j: int = 0) -> Floats:
        """Return the world position (3,) of the middle of a cube."""
        return self.centre_of(self.grid.element(i, j))

    def cell_corners(self, i: int, j: int = 0) -> Floats:
        """Return the cube's 8 corners (8, 3); the last four are the main face's."""
        return self.corners_of(self.grid.element(i, j))

    @property
    def last(self) -> int:
        """Cells in use in the last row; fewer than the columns only in a folded plate."""
        rows, cols = self.grid.cells
        return self.size - (rows - 1) * cols if self.grid.folded else cols

    @property
    def centres(self) -> Floats:
        """World positions (N, 3) of the middles of all cubes, in C order of the tensor."""
        row, col = self.grid.places(np.arange(self.size))
        return np.asarray(self.origin + col[:, None] * self.axes[0] + row[:, None] * self.axes[1])

    @property
    def tops(self) -> Floats:
        """World positions (N, 3) of the middles of the main faces."""
        return np.asarray(self.centres + self.depth * self.axes[2])

    def centre_of(self, element: int) -> Floats:
        """Return the world position (3,) of the middle of an element's cube, counted in C order of the tensor."""
        row, col = self.grid.places(element)
        return np.asarray(self.origin + col * self.axes[0] + row * self.axes[1])

    def corners_of(self, element: int, share: float = 1.0) -> Floats:
        """Return the 8 corners (8, 3) of an element's cube; the last four are the main face's.

        A smaller cube, whose side is a `share` of the largest, stands on the foot of the plate.
        """
        sides = _SIGNS * [self.half, self.half, self.depth]
        if share != 1.0:
            sides = share * sides - [0.0, 0.0, (1.0 - share) * self.depth]
        return np.asarray(self.centre_of(element) + sides @ self.axes)

    @property
    def extent(self) -> tuple[Floats, Floats]:
        """Low and high corner of the slab in cells: columns, rows, thickness, relative to `origin`."""
        rows, cols = self.grid.cells
        high = np.array([cols - 1 + self.half, rows - 1 + self.half, self.depth])
        return np.array([-self.half, -self.half, -self.depth]), high

    @property
    def corners(self) -> Floats:
        """The slab's 8 corners in the world (8, 3)."""
        low, high = self.extent
        return np.asarray(self.origin + np.where(_SIGNS > 0, high, low) @ self.axes)

    @property
    def bounds(self) -> Floats:
        """Low and high corner of the box around the slab in the world, shape (2, 3)."""
        return np.stack([self.corners.min(0), self.corners.max(0)])

    def scaled(self, pitch: float) -> Plate:
        """Return the same plate with another pitch; the middle of its first cube stays."""
        return replace(self, axes=self.axes * (pitch / self.pitch))

    def moved(self, shift: ArrayLike) -> Plate:
        """Return the same plate at another place."""
        return replace(self, origin=self.origin + np.asarray(shift, np.float64))


_SIGNS = np.array([[x, y, z] for z in (-1, 1) for y in (-1, 1) for x in (-1, 1)], np.float64)


Mode = Literal["few", "mlp", "big"]
Project = Callable[[ArrayLike], Floats]

TRAY_MARGIN = (0.57, 0.68)
"""Pitches from the middle of the outer cubes to the edge of their tray: to the sides, to front and back."""
_OFF = 0.75  # pixels that a point may be off the place in the plan
_LEAST = 0.97  # least share of the fitted size: words keep their size, and would touch in a smaller picture


@dataclass(frozen=True, eq=False)
class Layout:
    """Plates in space and the camera that is fitted to all of them."""

    camera: Camera
    plates: tuple[Plate, ...]  # weights, biases and activation rows
    rect: Rect  # pixels of the scene; it includes room for labels and chips
    mode: Mode  # "few": cubes large enough for their number; "mlp": no plate hides another; "big": a stack
    flow: Floats  # (S, 2, 3): line segments of the flow from row to plate
    lies: bool = False  # whether all plates but rows of activations lie on trays
    blueprint: Blueprint | None = None  # the flat part of a scene's own plan
    turns: bool = False  # whether the flow turns at each layer
    spots: tuple[Plate, ...] = ()  # rows of activations that are not drawn: their places are for pictures

    @property
    def size(self) -> Size:
        """Logical size of the window."""
        return self.camera.size

    def plate(self, name: str) -> Plate:
        """Return the plate of a tensor, or else of a stage's activations."""
        for plate in sorted(self.plates, key=lambda p: p.kind == "activation"):
            if plate.name == name:
                return plate
        raise UnknownNameError(f"no plate {shown(name)}; allowed: {listing(p.name for p in self.plates)}")

    def activation(self, name: str) -> Plate | None:
        """Return the row of a stage (or of ``"input"``), or None if it is not drawn."""
        return next((p for p in self.plates if p.kind == "activation" and p.name == name), None)

    @property
    def bounds(self) -> Floats:
        """Low and high corner of all plates, shape (2, 3)."""
        boxes = np.concatenate([p.bounds for p in self.plates])
        return np.stack([boxes.min(0), boxes.max(0)])

    @property
    def tray_plates(self) -> tuple[int, ...]:
        """Indices of the plates on trays."""
        return tuple(k for k, plate in enumerate(self.plates) if self.lies and plate.kind != "activation")

    @cached_property
    def trays(self) -> Floats:
        """Corners of the trays (T, 4, 3)."""
        return np.array([tray_of(self.plates[k]) for k in self.tray_plates]).reshape(-1, 4, 3)

    @property
    def outline(self) -> Floats:
        """Corners (N, 3) of all plates and trays."""
        return np.concatenate([*(p.corners for p in self.plates), *self.trays])

    def pixels_per_cube(self) -> float:
        """Size of one pitch on screen, in logical px, at the middle of the picture."""
        return float(self.camera.pixels_per_unit(self.bounds.mean(0))[0])

    def trays_on(self, project: Project) -> dict[str, Floats]:
        """Return the corners of the trays on screen (4, 2), by the names of their plates."""
        return {self.plates[k].name: project(c) for k, c in zip(self.tray_plates, self.trays, strict=True)}


def laid(
    mode: Mode, camera: Camera, plates: Sequence[Plate], rect: Rect, lines: Sequence[Floats] = (), trays: bool = False
) -> Layout:
    """Return the layout of plates and lines of flow (S, 2, 3), with optional `trays` below all plates but rows."""
    return Layout(camera, tuple(plates), rect, mode, np.concatenate([np.zeros((0, 2, 3)), *lines]), trays)


def tray_of(plate: Plate) -> Floats:
    """Return the corners (4, 3) of the tray below a lying plate."""
    rows, cols = plate.grid.cells
    (x, y), right, near = TRAY_MARGIN, cols - 1 + TRAY_MARGIN[0], rows - 1 + TRAY_MARGIN[1]
    flat = np.array([[-x, -y], [right, -y], [right, near], [-x, near]])
    return np.asarray(plate.origin + flat @ plate.axes[:2] - plate.depth * plate.axes[2])


def plate_for(tensor: Tensor, kind: Kind, origin: ArrayLike, axes: Floats, half: float, strip: bool = False) -> Plate:
    """Return the plate of a tensor, with cubes as deep as wide."""
    grid, place = grid_for(tensor.shape, strip=strip), np.asarray(origin, np.float64)
    return Plate(tensor.name, kind, tensor.size, grid, place, axes, half, half, tensor.start)


def row_plate(
    name: str, count: int, origin: Floats, axes: Floats, half: float, depth: float, strip: bool = True
) -> Plate:
    """Return an activation row of `count` cells along the second of `axes`, or a block of them."""
    return Plate(name, "activation", count, grid_for((count,), strip=strip), origin, axes, half, depth)


def inner(box: Rect, left: float, top: float, right: float, bottom: float) -> Rect:
    """Return `box` less margins of the mock-ups' 936x472 scene, reduced in proportion for a smaller one.

    Extra room goes to the cubes: margins hold text, which does not grow with the window.
    """
    x = min(1.0, (box[2] - box[0]) / 936.0)
    y = min(1.0, (box[3] - box[1]) / 472.0)
    return (box[0] + left * x, box[1] + top * y, box[2] - right * x, box[3] - bottom * y)


def fitted(plates: Sequence[Plate], size: Size, box: Rect, azimuth: float, elevation: float) -> Camera:
    """Return an orthographic camera that shows all `plates` in `box`."""
    return fit(np.concatenate([p.corners for p in plates]), size, box, azimuth=azimuth, elevation=elevation)


# ---- The flat part of a planned picture.


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of a group: left edge and length of its rule, and the height of the rule on screen."""

    text: str
    count: int
    x: float
    y: float
    width: float


@dataclass(frozen=True, slots=True)
class Caption:
    """The name of a plate: start and largest width of its two lines; `shape` is the shape as drawn."""

    tensor: str
    title: str
    x: float
    y: float
    width: float
    shape: str


@dataclass(frozen=True, slots=True)
class Note:
    """A text without a plate; `tone` goes from 1 (read first) to 3."""

    text: str
    x: float
    y: float
    size: float
    tone: int
    bold: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Wire:
    """A line through points (N, 2), with an optional arrow at its end."""

    points: Floats
    arrow: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Blueprint:
    """Titles of groups, names of plates, rooms and lines, in pixels of the fitted camera."""

    headings: tuple[Heading, ...]
    captions: tuple[Caption, ...]
    wires: tuple[Wire, ...]
    rooms: Mapping[str, Box]
    anchors: Floats  # world points (3, 3)
    places: Floats
    pluses: tuple[tuple[float, float], ...] = ()  # places of additions to the stream
    rows: tuple[Box, ...] = ()  # room for the stream's numbers: after the first group, and behind each plus
    note: tuple[float, float, float] | None = None  # start of the words about the stream, and their largest width
    words: str = ""  # about the stream
    notes: tuple[Note, ...] = ()

    def says_words(self, wide: float) -> bool:
        """Return whether words about the stream that are `wide` pixels wide have room."""
        return self.note is not None and wide <= self.note[2]

    def as_seen(self, project: Project) -> Blueprint | None:
        """Return the blueprint as another camera shows it; None for another angle, or so small that words would touch.

        `project` makes pixels (N, 2) of world points (N, 3).
        """
        there = project(self.anchors)
        size = float(np.linalg.norm(there[1] - there[0]) / np.linalg.norm(self.places[1] - self.places[0]))
        shift = there[0] - size * self.places[0]
        off = float(np.abs(size * self.places + shift - there).max())
        if size < _LEAST or off > _OFF * max(size, 1.0):
            return None

        def moved(x: float, y: float) -> tuple[float, float]:
            return float(size * x + shift[0]), float(size * y + shift[1])

        def box(x: float, y: float, wide: float, high: float) -> Box:
            return (*moved(x, y), size * wide, size * high)

        return Blueprint(
            tuple(Heading(h.text, h.count, *moved(h.x, h.y), size * h.width) for h in self.headings),
            tuple(Caption(c.tensor, c.title, *moved(c.x, c.y), size * c.width, c.shape) for c in self.captions),
            tuple(Wire(size * wire.points + shift, wire.arrow) for wire in self.wires),
            {name: box(*room) for name, room in self.rooms.items()},
            self.anchors,
            there,
            tuple(moved(*plus) for plus in self.pluses),
            tuple(box(*row) for row in self.rows),
            None if self.note is None else box(*self.note, 0.0)[:3],
            self.words,
            tuple(Note(n.text, *moved(n.x, n.y), n.size, n.tone, n.bold) for n in self.notes),
        )
