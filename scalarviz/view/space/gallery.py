"""Named arrays that are no chain: plates side by side on shelves, all in one plane.

All cubes are of one size, but for small arrays beside very large ones: ten numbers beside a million would be a dot.
Their cubes are larger, as large as is sensible to see.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...run.core.frame import Tensor
from .arrangement import ACROSS, DOWN, OUTPUTS_DOWN, Arrangement, fitted, inner, plate_for
from .camera import Rect, Size
from .plate import Plate

HALF = 0.45
AZIMUTH, ELEVATION = -62.0, 14.0
CUBE, PLATE = 28.0, 160.0
"""Pixels at 1280x720 up to which the cubes, and the longer side, of a small array beside a large one are enlarged."""
WORTH = 3.0
"""Cubes of all arrays are of one size unless one of them would have to be this much larger."""


def shelves(cells: Sequence[tuple[float, float]], *, gap: float, aspect: float) -> list[tuple[float, float]]:
    """Places (row, column) of blocks of (rows, columns) cells, in order, on shelves of about the given aspect."""
    area = sum((rows + gap) * (cols + gap) for rows, cols in cells)
    widest = max(cols for _, cols in cells)
    # A few widths around the ideal one; the one whose outline comes nearest to the aspect wins.
    widths = [max(widest, k * (area * aspect) ** 0.5) for k in np.linspace(0.7, 1.6, 19)]
    packed = [_pack(cells, gap, width) for width in widths]
    best = min(packed, key=lambda p: max(p[1][1] / aspect, p[1][0]))
    return best[0]


def _pack(
    cells: Sequence[tuple[float, float]], gap: float, width: float
) -> tuple[list[tuple[float, float]], tuple[float, float]]:
    """Shelf by shelf; returns the places and the outline (rows, columns)."""
    places: list[tuple[float, float]] = []
    top = col = height = right = 0.0
    for rows, cols in cells:
        if col > 0 and col + cols > width + 1e-9:
            top, col, height = top + height + gap, 0.0, 0.0
        places.append((top, col))
        col += cols + gap
        height, right = max(height, float(rows)), max(right, col - gap)
    return places, (top + height, right)


def _pitches(plates: Sequence[Plate], pixels: float, scale: float) -> list[float]:
    """How much larger each plate's cubes are drawn, where one pitch takes `pixels`.

    A plate whose cubes would be smaller than `CUBE` pixels gets larger ones until they have that size, or the plate
    is `PLATE` pixels long; `scale` is the size of the window.
    """
    wanted = [min(CUBE, PLATE / max(plate.grid.cells)) * scale for plate in plates]
    return [max(1.0, want / pixels) for want in wanted]


def gallery(tensors: Sequence[Tensor], size: Size, box: Rect) -> Arrangement:
    """Every array as a standing plate; small ones share a shelf."""
    plates = [plate_for(t, "bias" if t.role == "bias" else "weight", (0, 0, 0), OUTPUTS_DOWN, HALF) for t in tensors]
    largest = max(max(p.grid.cells) for p in plates)
    aspect = (box[2] - box[0]) / (box[3] - box[1]) / float(np.sin(np.radians(-AZIMUTH)))

    def placed(given: Sequence[Plate]) -> Arrangement:
        blocks = [(p.grid.cells[0] * p.pitch, p.grid.cells[1] * p.pitch) for p in given]
        spots = shelves(blocks, gap=max(2.0, 0.12 * largest), aspect=aspect)
        there = [p.moved((row + 0.5 * p.pitch) * DOWN + (col + 0.5 * p.pitch) * ACROSS)
                 for p, (row, col) in zip(given, spots, strict=True)]  # fmt: skip
        return Arrangement(fitted(there, size, inner(box, 60, 45, 60, 8), AZIMUTH, ELEVATION), there)

    scene = placed(plates)
    pitches = _pitches(plates, scene.pixels_per_cube(), min(1.0, max(0.6, size[1] / 720)))
    if max(pitches) < WORTH:
        return scene
    return placed([plate.scaled(pitch) for plate, pitch in zip(plates, pitches, strict=True)])
