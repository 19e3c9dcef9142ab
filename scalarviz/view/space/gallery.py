"""Named arrays that are no chain: plates side by side on shelves, all in one plane."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...run.frame import Tensor
from .arrangement import ACROSS, DOWN, OUTPUTS_DOWN, Arrangement, fitted, inner, plate_for
from .camera import Rect, Size

HALF = 0.45
AZIMUTH, ELEVATION = -62.0, 14.0


def shelves(cells: Sequence[tuple[int, int]], *, gap: float, aspect: float) -> list[tuple[float, float]]:
    """Places (row, column) of blocks of (rows, columns) cells, in order, on shelves of about the given aspect."""
    area = sum((rows + gap) * (cols + gap) for rows, cols in cells)
    widest = max(cols for _, cols in cells)
    # A few widths around the ideal one; the one whose outline comes nearest to the aspect wins.
    widths = [max(widest, k * (area * aspect) ** 0.5) for k in np.linspace(0.7, 1.6, 19)]
    packed = [_pack(cells, gap, width) for width in widths]
    best = min(packed, key=lambda p: max(p[1][1] / aspect, p[1][0]))
    return best[0]


def _pack(
    cells: Sequence[tuple[int, int]], gap: float, width: float
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


def gallery(tensors: Sequence[Tensor], size: Size, box: Rect) -> Arrangement:
    """Every array as a standing plate; small ones share a shelf."""
    plates = [plate_for(t, "bias" if t.role == "bias" else "weight", (0, 0, 0), OUTPUTS_DOWN, HALF) for t in tensors]
    largest = max(max(p.grid.cells) for p in plates)
    aspect = (box[2] - box[0]) / (box[3] - box[1]) / float(np.sin(np.radians(-AZIMUTH)))
    spots = shelves([p.grid.cells for p in plates], gap=max(2.0, 0.12 * largest), aspect=aspect)
    placed = [p.moved(row * DOWN + col * ACROSS) for p, (row, col) in zip(plates, spots, strict=True)]
    camera = fitted(placed, size, inner(box, 60, 45, 60, 8), AZIMUTH, ELEVATION)
    return Arrangement(camera, placed)
