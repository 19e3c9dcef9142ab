"""Names beside rows of cubes: at the height of their main faces, each nearest to its own row, from every camera.

A name at the height of the floor would stand beside the cubes of the row in front, and be read as that row's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..ink.places import CHANNEL, LABEL
from ..ink.sketch import Anchor, Sketch
from ..ink.text import CAP_HEIGHT, measure
from ..ink.theme import Theme
from ..space.plate import Plate
from .taken import Taken

Floats = NDArray[np.float64]
Project = Callable[[ArrayLike], Floats]

GAP, TRAY_GAP = 12.0, 7.0
"""Pixels from the first cube's edge to its name, and from the tray where that reaches further."""
_ACROSS_GAP = 11.0  # above or below a cube
_LEVEL = 0.5  # rows flatter than this on screen (a cosine) have their names above or below their ends
_FURTHER = (0.0, 14.0, 30.0)  # pixels along the row, where cubes of the next one are in the way
_FAR = 55.0  # pixels from its row at which a name no longer seems to belong to it
_CLEARLY = 2.0  # pixels by which a name is nearer to its own row than to any other


@dataclass(frozen=True, slots=True)
class RowName:
    """A text and where it stands, as :meth:`Sketch.text` takes it."""

    text: str
    x: float
    y: float
    size: float
    anchor: Anchor

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, width and height of its capitals."""
        wide, high = measure(self.text, self.size), CAP_HEIGHT * self.size
        left = self.x - {"left": 0.0, "middle": 0.5, "right": 1.0}[self.anchor] * wide
        return left, self.y - high, wide, high


def row_names(
    plate: Plate,
    names: Sequence[str],
    side: int,
    project: Project,
    taken: Taken,
    *,
    tray: Floats | None = None,
) -> list[RowName]:
    """A name for each row of a plate beside the first (`side` -1) or the last (+1) of its cubes, or none at all.

    Parameters
    ----------
    plate : Plate
        Not folded.
    names : sequence of str
        One for each row.
    side : {-1, 1}
    project : callable
        World points to logical pixels.
    taken : Taken
        Where cubes and other texts are; the names are marked in it.
    tray : ndarray, shape (4, 2), optional
        The tray's corners on screen.
    """
    if len(names) != plate.shape[0] or plate.grid.folded or plate.grid.tile[0]:
        return []
    column, corners = 0 if side < 0 else plate.shape[1] - 1, [0, 2] if side < 0 else [1, 3]
    count = len(names)
    for two in [(0, 1), (count - 2, count - 1)] if count > 1 else []:  # of a hundred thousand two say it soon
        if _closest(_faces(plate, column, project, two)[:, corners].mean(axis=1)) < CAP_HEIGHT * LABEL:
            return []
    faces = _faces(plate, column, project, range(count))
    middles, edges = faces.mean(axis=1), faces[:, corners].mean(axis=1)
    if count > 1 and _closest(edges) < CAP_HEIGHT * LABEL:
        return []  # closer than letters are high
    ways = edges - middles
    ways = ways / np.maximum(np.hypot(ways[:, 0], ways[:, 1]), 1e-9)[:, None]
    for size, further, upright in product((CHANNEL, LABEL), _FURTHER, (False, True)):
        placed = [_beside(edge + further * way, way, size, name, tray, upright)
                  for edge, way, name in zip(edges, ways, names, strict=True)]  # fmt: skip
        if _fit(placed, faces, taken):
            for name in placed:
                taken.add_box(name.box)
            return placed
    return []


def column_names(
    plate: Plate, names: Sequence[str], project: Project, top: float, free: Callable[[float, float, float, float], bool]
) -> list[RowName]:
    """A name over the back edge of each column of a plate, or none at all.

    Parameters
    ----------
    plate : Plate
    names : sequence of str
        One for each column.
    project : callable
        World points to logical pixels.
    top : float
        What the names stay below.
    free : callable
        Whether a box (middle across, middle down, width, height) has room; it is taken then.
    """
    if plate.grid.folded or len(names) != plate.shape[1]:
        return []
    backs = project([back_edge(plate, j) for j in range(len(names))])
    widths = [measure(name, LABEL, True) for name in names]
    middles = zip(widths, widths[1:], np.abs(np.diff(backs[:, 0])), strict=False)
    apart = all((a + b) / 2 + 5 < step for a, b, step in middles)
    if not apart or backs[:, 1].min() - 18 <= top:
        return []
    placed = zip(names, widths, backs.tolist(), strict=True)
    found = [RowName(name, x, y - 7, LABEL, "middle") for name, wide, (x, y) in placed if free(x, y - 12, wide, 20)]
    return found if len(found) == len(names) else []


def back_edge(plate: Plate, column: int) -> Floats:
    """The middle of the back edge of the first cube of a column, in the world."""
    return np.asarray(plate.cell_centre(0, column) + plate.depth * plate.axes[2] - plate.half * plate.axes[1])


def write(sketch: Sketch, names: Sequence[RowName], theme: Theme, *, bold: bool = False) -> None:
    """Put names into a sketch."""
    for name in names:
        sketch.text(name.x, name.y, name.text, name.size, theme.text2, bold=bold, anchor=name.anchor)


def _closest(edges: Floats) -> float:
    """The smallest distance of two that follow each other, (R, 2)."""
    return float(np.abs(np.diff(edges, axis=0)).max(axis=1).min())


def _faces(plate: Plate, column: int, project: Project, rows: Sequence[int]) -> Floats:
    """The main faces (R, 4, 2) of the cubes of some rows in a column; their backs where those are seen."""
    corners = np.array([plate.cell_corners(i, column) for i in rows])
    flat = project(corners.reshape(-1, 3)).reshape(-1, 8, 2)
    right, down = (flat[0, k] - flat[0, 0] for k in (1, 2))
    turned = (right[0] * down[1] - right[1] * down[0]) * np.linalg.det(plate.axes)  # y counts downwards on screen
    return np.asarray(flat[:, :4] if turned > 0 else flat[:, 4:])


def _beside(edge: Floats, way: Floats, size: float, text: str, tray: Floats | None, upright: bool) -> RowName:
    """A name outside of the edge of a face; `way` leads out of the row."""
    x, y = float(edge[0]), float(edge[1])
    half = CAP_HEIGHT * size / 2
    if (abs(way[0]) < _LEVEL) != upright:  # the row runs up and down on screen
        wide = measure(text, size) / 2
        if way[1] < 0:
            foot = min(y - _ACROSS_GAP, _reach(tray, x - wide, x + wide, 1, -1) - TRAY_GAP)
            return RowName(text, x, foot, size, "middle")
        top = max(y + _ACROSS_GAP, _reach(tray, x - wide, x + wide, 1, 1) + TRAY_GAP)
        return RowName(text, x, top + 2 * half, size, "middle")
    if way[0] < 0:
        right = min(x - GAP, _reach(tray, y - half, y + half, 0, -1) - TRAY_GAP)
        return RowName(text, right, y + half, size, "right")
    left = max(x + GAP, _reach(tray, y - half, y + half, 0, 1) + TRAY_GAP)
    return RowName(text, left, y + half, size, "left")


def _reach(tray: Floats | None, low: float, high: float, axis: int, sign: int) -> float:
    """How far a tray reaches along an axis (0 x, 1 y; `sign` says which way) within a band of the other axis."""
    far = -np.inf
    if tray is not None:
        for p, q in zip(tray, np.roll(tray, -1, axis=0), strict=True):
            a, b = sorted((p, q), key=lambda point: float(point[1 - axis]))
            start, end = max(low, a[1 - axis]), min(high, b[1 - axis])
            if start <= end:
                span = max(float(b[1 - axis] - a[1 - axis]), 1e-9)
                far = max(far, *(sign * (a[axis] + (b[axis] - a[axis]) * (at - a[1 - axis]) / span)
                                 for at in (start, end)))  # fmt: skip
    return float(sign * far)


def _fit(names: Sequence[RowName], faces: Floats, taken: Taken) -> bool:
    """Whether the names have room, touch no other, and each is nearest to its own row."""
    boxes = [name.box for name in names]
    if any(taken.cost((x - 2, y - 2, wide + 4, high + 4)) > 0.5 for x, y, wide, high in boxes):
        return False
    for k, (x, y, wide, high) in enumerate(boxes):
        for left, top, across, down in boxes[:k]:
            if x < left + across + 6 and left < x + wide + 6 and y < top + down + 4 and top < y + high + 4:
                return False
    for k, box in enumerate(boxes):
        away = apart(box, faces)
        own, away[k] = away[k], np.inf
        if own > _FAR or away.min() < own + _CLEARLY:
            return False
    return True


def apart(box: tuple[float, float, float, float], faces: Floats) -> Floats:
    """Distances of a box from four-cornered faces (N, 4, 2), corners in the order of :meth:`Plate.cell_corners`."""
    x, y, wide, high = box
    mine = np.array([(x, y), (x + wide, y), (x + wide, y + high), (x, y + high)])
    theirs = faces[:, [0, 1, 3, 2]]
    both = _to_edges(mine, theirs), _to_edges(theirs, np.broadcast_to(mine, theirs.shape))
    return np.asarray(np.minimum(*both))


def _to_edges(points: Floats, rings: Floats) -> Floats:
    """The least distance of points ([N,] P, 2) from the edges of each ring (N, M, 2)."""
    ways = rings[:, [*range(1, rings.shape[1]), 0]] - rings
    lengths = np.maximum((ways**2).sum(axis=-1), 1e-12)
    to = np.broadcast_to(points, (len(rings), *points.shape[-2:]))[:, :, None] - rings[:, None]
    along = np.clip((to * ways[:, None]).sum(axis=-1) / lengths[:, None], 0.0, 1.0)
    return np.asarray(np.sqrt(((to - along[..., None] * ways[:, None]) ** 2).sum(axis=-1)).min(axis=(1, 2)))
