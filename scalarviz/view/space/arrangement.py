"""What an arrangement is made of while it is being built, and how it is fitted into its rectangle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from ...run.core.frame import Tensor
from .camera import Camera, Rect, Size, fit
from .plate import Floats, Kind, Plate, grid_for

Segments = Floats

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


@dataclass(eq=False)
class Arrangement:
    """Plates, trays and flow lines with the camera they were fitted to."""

    camera: Camera
    plates: list[Plate] = field(default_factory=list)
    on_trays: bool = False
    lines: list[Floats] = field(default_factory=list)
    spots: list[Plate] = field(default_factory=list)
    """Rows whose place is left to pictures."""

    @property
    def tray_plates(self) -> tuple[int, ...]:
        """Indices of the plates that have a tray."""
        if not self.on_trays:
            return ()
        return tuple(k for k, plate in enumerate(self.plates) if plate.kind != "activation")

    def trays(self) -> Floats:
        """Corners (T, 4, 3) of the trays."""
        corners = [tray_of(self.plates[k]) for k in self.tray_plates]
        return np.stack(corners) if corners else np.zeros((0, 4, 3))

    def segments(self) -> Segments:
        """Flow lines (S, 2, 3)."""
        return np.concatenate(self.lines) if self.lines else np.zeros((0, 2, 3))

    def pixels_per_cube(self) -> float:
        """Pitch on screen at the middle of the picture."""
        corners = np.concatenate([p.corners for p in self.plates])
        return float(self.camera.pixels_per_unit((corners.min(0) + corners.max(0)) / 2)[0])


def tray_of(plate: Plate) -> Floats:
    """Corners (4, 3) of the tray below a lying plate."""
    rows, cols = plate.grid.cells
    (x, y), right, near = TRAY_MARGIN, cols - 1 + TRAY_MARGIN[0], rows - 1 + TRAY_MARGIN[1]
    flat = np.array([[-x, -y], [right, -y], [right, near], [-x, near]])
    return np.asarray(plate.origin + flat @ plate.axes[:2] - plate.depth * plate.axes[2])


def plate_for(
    tensor: Tensor,
    kind: Kind,
    origin: ArrayLike,
    axes: Floats,
    half: float,
    depth: float | None = None,
    strip: bool = False,
) -> Plate:
    """The plate of a tensor; `depth` defaults to `half` (cubes)."""
    grid = grid_for(tensor.shape, strip=strip)
    place = np.asarray(origin, np.float64)
    return Plate(
        tensor.name, kind, tensor.size, grid, place, axes, half, half if depth is None else depth, tensor.start
    )


def row_plate(name: str, count: int, origin: Floats, axes: Floats, half: float, depth: float) -> Plate:
    """An activation row of `count` cells along the second of `axes`."""
    return Plate(name, "activation", count, grid_for((count,), strip=True), origin, axes, half, depth)


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
