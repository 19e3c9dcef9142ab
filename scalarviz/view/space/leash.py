"""How far a picture may be moved by hand: a part of it always stays in the middle of its place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .camera import Camera, Rect
from .hull import convex_hull

Floats = NDArray[np.float64]

MARGIN = 1 / 6
"""Share of the place on each side in which nothing needs to be seen."""


def way_back(camera: Camera, boxes: Sequence[Floats], rect: Rect) -> Floats:
    """The shortest shift of the picture, in pixels, after which one of the boxes reaches the middle of `rect`.

    Parameters
    ----------
    camera : Camera
    boxes : sequence of ndarray, shape (K, 3)
        Corners of what is seen; those behind the eye do not count.
    rect : (x0, y0, x1, y1)
        The picture's place on screen.

    Returns
    -------
    ndarray, shape (2,)
        Zero where one of them is there already.
    """
    x0, y0, x1, y1 = rect
    across, down = MARGIN * (x1 - x0), MARGIN * (y1 - y0)
    middle = np.array([(x, y) for x in (x0 + across, x1 - across) for y in (y0 + down, y1 - down)])
    shifts = [shift_to(camera.project(box), middle) for box in boxes if _before(camera, box)]
    return min(shifts, key=lambda shift: float(shift @ shift), default=np.zeros(2))


def shift_to(points: Floats, target: Floats) -> Floats:
    """The shortest shift after which the hulls of `points` and of `target`, both (N, 2), touch; zero if they do.

    Shifts that let them touch are a convex region: the hull of all differences.
    """
    region = convex_hull((target[:, None] - points).reshape(-1, 2))
    sides = np.roll(region, -1, axis=0) - region
    if len(region) > 2 and np.all(sides[:, 0] * -region[:, 1] - sides[:, 1] * -region[:, 0] >= 0):
        return np.zeros(2)
    along = np.clip(-(region * sides).sum(axis=1) / np.maximum(np.square(sides).sum(axis=1), 1e-300), 0.0, 1.0)
    nearest = region + along[:, None] * sides
    return np.asarray(nearest[np.argmin(np.square(nearest).sum(axis=1))])


def _before(camera: Camera, points: Floats) -> bool:
    """Whether all points lie before the eye, where projecting them means something."""
    return bool(np.all(points @ camera.matrix[3, :3] + camera.matrix[3, 3] > 0))
