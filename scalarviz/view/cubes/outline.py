"""Marks around one cube: the outline of the selected one, corner brackets around the hovered one. Pure NumPy.

An outline is drawn at the depth of its cube: what stands in front covers it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..space.camera import Camera, convex_hull
from ..space.layout import Layout
from ..space.plate import Plate
from .picking import Hit

Floats = NDArray[np.float64]
Project = Callable[[ArrayLike], Floats]
Picked = Callable[[tuple[float, float]], Hit | None]

STEP, INSET = 7.0, 2.0
"""Pixels between the points of an outline that are tried, and how far inside of the cube's edge."""
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


def seen_outline(
    layout: Layout, index: int, element: int, camera: Camera, project: Project, picked: Picked, share: float = 1.0
) -> list[Floats]:
    """The parts (N, 2) of a selected cube's outline that nothing in front covers; none where all is covered.

    Cubes of its own plate may cover its sides; then its main face alone is outlined, which they cannot cover.

    Parameters
    ----------
    index, element : int
        The place of its plate in the layout, and which of the plate's cubes it is.
    picked : callable
        What is drawn at a point of the picture (logical pixels).
    share : float
        How large the cube is beside the largest.
    """
    plate = layout.plates[index]
    corners = plate.corners_of(element, share)
    if not in_front(camera, corners):
        return []
    hits = _behind(project(corners), picked)
    facing = camera.towards_eye(corners[4:].mean(axis=0)) @ plate.axes[2] > 0.0
    if facing and any(hit is not None and hit.plate == index and hit.element != element for _, hit in hits):
        hits = _behind(project(corners[4:]), picked)
        covered = [hit is not None and hit.plate != index for _, hit in hits]
    else:
        covered = [hit is not None and hit[:2] != (index, element) for _, hit in hits]
    return _runs(np.array([point for point, _ in hits]), covered)


def _behind(corners: Floats, picked: Picked) -> list[tuple[Floats, Hit | None]]:
    """Points around projected corners (N, 2), and what is drawn a little inside of the edge beside each."""
    ring = convex_hull(_at_least(corners))
    small = bool(np.ptp(corners, axis=0).min() < LEAST)
    outer, inner = grown(ring, AIR), np.tile(ring.mean(axis=0), (len(ring), 1)) if small else grown(ring, -INSET)
    found = []
    for k in range(len(ring)):
        ends = [np.stack([rim[k], rim[(k + 1) % len(ring)]]) for rim in (outer, inner)]
        steps = max(1, int(np.hypot(*(ends[0][1] - ends[0][0])) / STEP))
        for share in np.arange(steps) / steps:
            point, inside = (start + share * (end - start) for start, end in ends)
            found.append((point, picked((float(inside[0]), float(inside[1])))))
    return found


def _runs(points: Floats, covered: list[bool]) -> list[Floats]:
    """The paths between covered points of a closed ring."""
    if not any(covered):
        return [np.concatenate([points, points[:1]])]
    first = covered.index(True)
    points, marks = np.roll(points, -first, axis=0), covered[first:] + covered[:first]
    paths: list[Floats] = []
    run: list[Floats] = []
    for point, hidden in zip([*points, points[0]], [*marks, True], strict=True):
        if not hidden:
            run.append(point)
        elif len(run) > 1:
            paths.append(np.array(run))
        if hidden:
            run = []
    return paths


def brackets(plate: Plate, element: int, camera: Camera, project: Project, share: float = 1.0) -> list[Floats] | None:
    """Four corner paths (3, 2) around the face of a cube, so large beside the largest, that looks at us most."""
    corners = plate.corners_of(element, share)
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
