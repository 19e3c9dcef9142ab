"""The outline around several selected cubes of a plate: along the gaps, at the height of their main faces."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..space.camera import Camera
from ..space.layout import Layout
from ..space.plate import Plate
from .outline import Floats, Picked, Project, in_front

STEP, POINTS = 8.0, 300
"""Pixels between the points of an outline that are tried, and how many are tried at most."""
_INSIDE = 0.35  # cells from the outline into the selected cube beside it, where it is seen whether that is covered
Cells = NDArray[np.bool_]


def cells_of(plate: Plate, mask: Cells) -> Cells:
    """The cells (rows, columns) that hold the elements of `mask` (size,).

    Gaps between two selected tiles belong to them: a row of kernels has one outline.
    """
    grid = plate.grid
    found = np.zeros(grid.cells, bool)
    found[grid.places(np.flatnonzero(mask))] = True
    if not grid.tile[0]:
        return found
    tall, wide = grid.period
    found[tall - 1 : -1 : tall] = found[tall - 2 : -2 : tall] & found[tall::tall]
    found[:, wide - 1 : -1 : wide] = found[:, wide - 2 : -2 : wide] & found[:, wide::wide]
    return found


def sides_of(cells: Cells) -> tuple[Floats, Floats, Floats]:
    """The sides of the region of `cells`: starts, ends, and the way inside, each (N, 2) as column and row.

    Cell (r, c) spans c ± 0.5 and r ± 0.5; sides in one line are one.
    """
    starts, ends, inward = list[Floats](), list[Floats](), list[Floats]()
    for turned in (False, True):
        grid = np.pad(cells.T if turned else cells, 1).astype(np.int8)
        step = np.diff(grid, axis=0)  # row k: between the rows k - 1 and k of the cells
        for way in (1, -1):
            edge = np.pad((step == way)[:, 1:-1].astype(np.int8), ((0, 0), (1, 1)))
            change = np.diff(edge, axis=1)
            row, first = np.nonzero(change == 1)
            _, last = np.nonzero(change == -1)
            at = row - 0.5
            pair = [np.stack([along - 0.5, at], axis=1) for along in (first, last)]
            side = np.tile([0.0, float(way)], (len(row), 1))
            for into, part in zip((starts, ends, inward), (*pair, side), strict=True):
                into.append(part[:, ::-1] if turned else part)
    return np.concatenate(starts), np.concatenate(ends), np.concatenate(inward)


def region_outline(
    layout: Layout, index: int, mask: Cells, camera: Camera, project: Project, picked: Picked
) -> list[Floats]:
    """The parts (2, 2) of the outline around selected cubes of a plate that nothing of another plate covers.

    Parameters
    ----------
    index : int
        The plate's place in the layout.
    mask : ndarray of bool, shape (size,)
        Which of its cubes are selected.
    picked : callable
        What is drawn at a point of the picture (logical pixels).
    """
    plate = layout.plates[index]
    starts, ends, inward = sides_of(cells_of(plate, mask))
    if not len(starts):
        return []
    facing = camera.towards_eye(plate.origin) @ plate.axes[2] > 0.0
    height = plate.depth * (1.0 if facing else -1.0)

    def world(cells: Floats) -> Floats:
        return np.asarray(plate.origin + cells @ plate.axes[:2] + height * plate.axes[2])

    if not in_front(camera, np.concatenate([world(starts), world(ends)])):
        return []
    long = np.hypot(*(project(world(ends)) - project(world(starts))).T)
    step = max(STEP, float(long.sum()) / POINTS)
    found: list[Floats] = []
    for start, end, side, length in zip(starts, ends, inward, long, strict=True):
        pieces = max(1, round(length / step))
        share = np.arange(pieces + 1)[:, None] / pieces
        path = project(world(start + share * (end - start)))
        middle = project(world(start + (share[1:] + share[:-1]) / 2 * (end - start) + _INSIDE * side))
        for k, (x, y) in enumerate(middle):
            hit = picked((float(x), float(y)))
            if hit is None or hit.plate == index:
                found.append(path[k : k + 2])
    return found
