"""Marks around one cube: the full outline of the selected one, corner brackets around the hovered one. Pure NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..space.camera import Camera
from ..space.hull import convex_hull
from ..space.plate import Plate

Floats = NDArray[np.float64]
Project = Callable[[ArrayLike], Floats]

AIR = 5.0
"""Between a cube and its outline, in pixels."""
LEAST = 12.0
"""The least side of a mark: it must be seen around a cube of one pixel too."""

_FACES = np.array([[4, 5, 7, 6], [0, 1, 3, 2], [0, 1, 5, 4], [2, 3, 7, 6], [0, 2, 6, 4], [1, 3, 7, 5]])
"""Corners of each face of :meth:`Plate.corners_of`, the main face first."""
_OUTWARD = np.array([[0, 0, 1], [0, 0, -1], [0, -1, 0], [0, 1, 0], [-1, 0, 0], [1, 0, 0]], np.float64)


def in_front(camera: Camera, xyz: Floats) -> bool:
    """Whether all points are before the eye, so that they can be projected."""
    w = np.concatenate([xyz, np.ones((len(xyz), 1))], axis=1) @ camera.matrix[3]
    return bool(w.min() > 1e-6)


def outline(plate: Plate, element: int, camera: Camera, project: Project) -> Floats | None:
    """Corners (N, 2) of the silhouette of a cube, a little larger than it; None where it is not before the eye."""
    corners = plate.corners_of(element)
    if not in_front(camera, corners):
        return None
    flat = _at_least(project(corners))
    return grown(convex_hull(flat), AIR)


def brackets(plate: Plate, element: int, camera: Camera, project: Project) -> list[Floats] | None:
    """Four corner paths (3, 2) around the face of a cube that looks at the viewer most."""
    corners = plate.corners_of(element)
    if not in_front(camera, corners):
        return None
    outward = _OUTWARD @ plate.axes / plate.pitch
    faces = corners[_FACES].mean(axis=1)
    ways = np.array([camera.towards_eye(face) for face in faces])
    towards = (outward * ways).sum(axis=1) / np.linalg.norm(ways, axis=1)
    # The main face, unless it is turned away: numbers stand there, and it should not change while the scene turns.
    best = 0 if towards[0] > 0.25 else int(np.argmax(towards))
    flat = project(corners[_FACES[best]])
    if np.ptp(flat, axis=0).min() < LEAST:
        low, high = flat.min(axis=0), flat.max(axis=0)
        flat = _at_least(np.array([low, (high[0], low[1]), high, (low[0], high[1])]))
    ring = grown(convex_hull(flat), AIR)
    following, before = np.roll(ring, -1, axis=0), np.roll(ring, 1, axis=0)
    return [np.array([_along(p, b), p, _along(p, f)]) for p, b, f in zip(ring, before, following, strict=True)]


def _along(corner: Floats, towards: Floats) -> Floats:
    """The end of a bracket's arm: a quarter of the side, 14 px at most."""
    way = towards - corner
    length = float(np.hypot(*way)) or 1.0
    return corner + way / length * min(0.25 * length, 14.0)


def _at_least(points: Floats) -> Floats:
    """Points spread from their middle so that they measure `LEAST` in both directions."""
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    span = np.maximum(np.ptp(points, axis=0), 1e-6)
    away = points - middle
    small = span < 1.0
    away = np.where(small, np.sign(away) * LEAST / 2, away * np.maximum(1.0, LEAST / span))
    return np.asarray(middle + away)


def grown(ring: Floats, air: float) -> Floats:
    """A convex ring (N, 2), as :func:`convex_hull` gives it, moved outward by `air` pixels on every side."""
    if len(ring) < 3:
        return ring
    edges = np.roll(ring, -1, axis=0) - ring
    lengths = np.maximum(np.hypot(edges[:, 0], edges[:, 1]), 1e-9)
    outward = np.stack([edges[:, 1], -edges[:, 0]], axis=1) / lengths[:, None]
    if (outward * (ring + edges / 2 - ring.mean(axis=0))).sum() < 0:
        outward = -outward
    before = np.roll(outward, 1, axis=0)
    # The corner lies on both moved edges; a sharp one is cut off at twice the distance.
    bisector = outward + before
    reach = np.minimum(2.0 / np.maximum((bisector**2).sum(axis=1), 1e-9), 2.0)
    return np.asarray(ring + air * bisector * reach[:, None])
