"""The parts and the result of an arrangement: `Layout`, plates in space and the camera that shows them.

`Blueprint` is the flat part of a planned picture: titles, rooms and wires, in pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ...errors import UnknownNameError, listing, shown
from ...run.core.frame import Tensor
from ..ink.sketch import Box
from .camera import Camera, Floats, Rect, Size, fit
from .plate import Kind, Plate, grid_for

Mode = Literal["few", "mlp", "big"]
Project = Callable[[ArrayLike], Floats]

# World directions. Plates are at right angles to the flow: their main face looks back along it, at the viewer.
FLOW = np.array([1.0, 0.0, 0.0])
ACROSS = np.array([0.0, -1.0, 0.0])
DOWN = np.array([0.0, 0.0, -1.0])

OUTPUTS_DOWN = np.stack([ACROSS, DOWN, -FLOW])
"""Axes of a standing plate whose outputs (rows) count downwards and inputs across."""
OUTPUTS_ACROSS = np.stack([DOWN, ACROSS, -FLOW])
"""Axes of a standing plate whose outputs count across and inputs downwards."""
LYING = np.array([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]])
"""Axes of a plate on a tray: columns to the right, rows towards the viewer, main face up."""
LYING_TURNED = LYING[[1, 0, 2]]
"""`LYING` with outputs to the right and inputs towards the viewer."""

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
        raise UnknownNameError(f"no plate {shown(name)}; there are {listing(p.name for p in self.plates)}")

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
