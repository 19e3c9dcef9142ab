"""What an arrangement is made of, and what it gives: `Layout`, plates in space and the camera that shows them.

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

# World directions. Plates stand across the flow: their main face looks back along it, at the viewer.
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
"""The same with outputs to the right and inputs towards the viewer."""

TRAY_MARGIN = (0.57, 0.68)
"""From the middle of the outer cubes to the edge of their tray: to the sides, and to the front and back."""
_OFF = 0.75  # pixels by which a point may stand elsewhere and still be where the plan says
_LEAST = 0.97  # of the fitted size: words keep theirs, and would touch in a smaller picture


@dataclass(frozen=True, eq=False)
class Layout:
    """Plates in space and the camera that is fitted to all of them."""

    camera: Camera
    plates: tuple[Plate, ...]  # weights, biases and activation rows
    rect: Rect  # pixels reserved for the scene; the cubes leave room in it for labels and chips
    mode: Mode  # "few": cubes large enough for their number; "mlp": no plate hides another; "big": a stack
    flow: Floats  # (S, 2, 3): line segments along which numbers travel from row to plate
    lies: bool = False  # whether all plates but rows of activations lie on trays
    blueprint: Blueprint | None = None  # what is flat in the picture of a scene's own plan
    turns: bool = False  # whether the flow turns at each layer
    spots: tuple[Plate, ...] = ()  # rows of activations that are not drawn: their place is left to pictures

    @property
    def size(self) -> Size:
        """Logical size of the window."""
        return self.camera.size

    def plate(self, name: str) -> Plate:
        """The plate of a tensor or of a stage's activations; a tensor's goes first."""
        for plate in sorted(self.plates, key=lambda p: p.kind == "activation"):
            if plate.name == name:
                return plate
        raise UnknownNameError(f"no plate {shown(name)}; there are {listing(p.name for p in self.plates)}")

    def activation(self, name: str) -> Plate | None:
        """The row of a stage (or of ``"input"``), None if it is not drawn."""
        return next((p for p in self.plates if p.kind == "activation" and p.name == name), None)

    @property
    def bounds(self) -> Floats:
        """Low and high corner of everything, shape (2, 3)."""
        boxes = np.concatenate([p.bounds for p in self.plates])
        return np.stack([boxes.min(0), boxes.max(0)])

    @property
    def tray_plates(self) -> tuple[int, ...]:
        """Which plates lie on a tray."""
        return tuple(k for k, plate in enumerate(self.plates) if self.lies and plate.kind != "activation")

    @cached_property
    def trays(self) -> Floats:
        """Their corners (T, 4, 3)."""
        return np.array([tray_of(self.plates[k]) for k in self.tray_plates]).reshape(-1, 4, 3)

    @property
    def outline(self) -> Floats:
        """Corners (N, 3) of all plates and trays."""
        return np.concatenate([*(p.corners for p in self.plates), *self.trays])

    def pixels_per_cube(self) -> float:
        """Size of one pitch on screen, in logical px, at the middle of the picture."""
        return float(self.camera.pixels_per_unit(self.bounds.mean(0))[0])

    def trays_on(self, project: Project) -> dict[str, Floats]:
        """Corners (4, 2) on screen of the trays, by their plates' names."""
        return {self.plates[k].name: project(c) for k, c in zip(self.tray_plates, self.trays, strict=True)}


def laid(
    mode: Mode, camera: Camera, plates: Sequence[Plate], rect: Rect, lines: Sequence[Floats] = (), trays: bool = False
) -> Layout:
    """The layout of plates, lines of flow (S, 2, 3) between them and, perhaps, `trays` below all but rows."""
    return Layout(camera, tuple(plates), rect, mode, np.concatenate([np.zeros((0, 2, 3)), *lines]), trays)


def tray_of(plate: Plate) -> Floats:
    """Corners (4, 3) of the tray below a lying plate."""
    rows, cols = plate.grid.cells
    (x, y), right, near = TRAY_MARGIN, cols - 1 + TRAY_MARGIN[0], rows - 1 + TRAY_MARGIN[1]
    flat = np.array([[-x, -y], [right, -y], [right, near], [-x, near]])
    return np.asarray(plate.origin + flat @ plate.axes[:2] - plate.depth * plate.axes[2])


def plate_for(tensor: Tensor, kind: Kind, origin: ArrayLike, axes: Floats, half: float, strip: bool = False) -> Plate:
    """The plate of a tensor, of cubes."""
    grid, place = grid_for(tensor.shape, strip=strip), np.asarray(origin, np.float64)
    return Plate(tensor.name, kind, tensor.size, grid, place, axes, half, half, tensor.start)


def row_plate(
    name: str, count: int, origin: Floats, axes: Floats, half: float, depth: float, strip: bool = True
) -> Plate:
    """An activation row of `count` cells along the second of `axes`, or a block of them."""
    return Plate(name, "activation", count, grid_for((count,), strip=strip), origin, axes, half, depth)


def inner(box: Rect, left: float, top: float, right: float, bottom: float) -> Rect:
    """`box` less margins given for the mock-ups' 936x472 scene, in proportion to a smaller one.

    Extra room goes to the cubes: margins hold text, which does not grow with the window.
    """
    x = min(1.0, (box[2] - box[0]) / 936.0)
    y = min(1.0, (box[3] - box[1]) / 472.0)
    return (box[0] + left * x, box[1] + top * y, box[2] - right * x, box[3] - bottom * y)


def fitted(plates: Sequence[Plate], size: Size, box: Rect, azimuth: float, elevation: float) -> Camera:
    """An orthographic camera that shows all `plates` in `box`."""
    return fit(np.concatenate([p.corners for p in plates]), size, box, azimuth=azimuth, elevation=elevation)


# ---- The flat part of a planned picture.


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of a group: left edge and length of its rule, and the rule's height."""

    text: str
    count: int
    x: float
    y: float
    width: float


@dataclass(frozen=True, slots=True)
class Caption:
    """The name of a plate: where its two lines begin, and the width that they may take; `shape` as it is drawn."""

    tensor: str
    title: str
    x: float
    y: float
    width: float
    shape: str


@dataclass(frozen=True, slots=True)
class Note:
    """A text that belongs to no plate; `tone` is 1 for what is read first, to 3."""

    text: str
    x: float
    y: float
    size: float
    tone: int
    bold: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Wire:
    """A line through points (N, 2), perhaps with an arrow at its end."""

    points: Floats
    arrow: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Blueprint:
    """Titles of groups, names of plates, rooms and lines, in pixels of the camera that was fitted."""

    headings: tuple[Heading, ...]
    captions: tuple[Caption, ...]
    wires: tuple[Wire, ...]
    rooms: Mapping[str, Box]
    anchors: Floats  # points of the world (3, 3) and where they are on screen (3, 2)
    places: Floats
    pluses: tuple[tuple[float, float], ...] = ()  # where something is added to the stream
    rows: tuple[Box, ...] = ()  # room for the numbers of the stream: after the first group, and behind each plus
    note: tuple[float, float, float] | None = None  # where words about the stream begin, and how wide they may be
    words: str = ""  # about the stream
    notes: tuple[Note, ...] = ()

    def says_words(self, wide: float) -> bool:
        """Whether words about the stream, so many pixels `wide`, have room."""
        return self.note is not None and wide <= self.note[2]

    def as_seen(self, project: Project) -> Blueprint | None:
        """The same where a camera shows it; None where it looks from elsewhere, or from so far that words would touch.

        `project` makes pixels (N, 2) of points of the world (N, 3).
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
