"""Moving a camera by hand: turn, shift, zoom, and glide back.

A camera is taken apart into a `Pose` around the middle of the scene, the pose is changed, and a camera is made of it
again whose planes enclose the scene: the depth buffer has 16 bits, so planes that stayed behind would let cubes show
through each other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from .camera import DEPTH_MARGIN, Camera, Floats, Size, basis, clip_matrix

DEGREES_PER_PIXEL = 0.4
"""How far a drag turns the scene."""
LIMIT = 89.0
"""The eye never goes over the pole: up stays up."""
NEAREST = 0.01
"""The near plane, as a share of the far one, where the scene reaches behind the eye."""


@dataclass(frozen=True, slots=True, eq=False)
class Pose:
    """A camera seen from the point `centre` that it turns around.

    Attributes
    ----------
    azimuth, elevation : float
        Degrees, as in :class:`~scalarviz.view.space.camera.Camera`.
    centre : ndarray, shape (3,)
        World point that stays in its place on screen when the scene turns.
    place : ndarray, shape (2,)
        That place, in the camera's pixels.
    scale : float
        As the camera's.
    eye : ndarray, shape (3,), or None
        From `centre` to the eye, to the right, up and back; None for an orthographic camera.
    """

    azimuth: float
    elevation: float
    centre: Floats
    place: Floats
    scale: float
    eye: Floats | None


def pose_of(camera: Camera, centre: ArrayLike) -> Pose:
    """`camera` as a pose around `centre`, a world point before the eye."""
    middle = np.asarray(centre, np.float64)
    axes = np.stack(basis(camera.azimuth, camera.elevation))
    eye = None if camera.orthographic else axes @ (camera.eye[:3] - middle)
    return Pose(camera.azimuth, camera.elevation, middle, camera.project(middle)[0], camera.scale, eye)


def camera_of(pose: Pose, size: Size, points: ArrayLike) -> Camera:
    """The camera of a pose, for a window of `size`, whose planes enclose `points` (N, 3) as far as they can be seen."""
    axes = np.stack(basis(pose.azimuth, pose.elevation))
    xyz = np.atleast_2d(np.asarray(points, np.float64))
    if pose.eye is None:
        depth = -(xyz - pose.centre) @ axes[2]
        margin = DEPTH_MARGIN * (np.ptp(depth) + 1.0)
        planes = (float(depth.min() - margin), float(depth.max() + margin))
        matrix = clip_matrix(axes, pose.centre, size, pose.scale, pose.place, planes, None)
        return Camera(size, pose.azimuth, pose.elevation, np.append(axes[2], 0.0), pose.scale, matrix)
    eye = pose.centre + axes.T @ pose.eye
    depth = -(xyz - eye) @ axes[2]
    margin = DEPTH_MARGIN * (np.ptp(depth) + 1.0)
    far = float(max(depth.max() + margin, 1e-3))
    near = float(max(depth.min() - margin, 0.5 * depth.min(), NEAREST * far))
    shift = pose.place - pose.scale * np.array([-pose.eye[0], pose.eye[1]]) / pose.eye[2]
    matrix = clip_matrix(axes, eye, size, pose.scale, shift, (near, far), 0.0)
    return Camera(size, pose.azimuth, pose.elevation, np.append(eye, 1.0), pose.scale, matrix)


def turned(pose: Pose, dx: float, dy: float) -> Pose:
    """Turned by a drag of (`dx`, `dy`) pixels: the near side of the scene follows the pointer."""
    azimuth, elevation = turn_by(pose.azimuth, pose.elevation, dx, dy)
    return replace(pose, azimuth=azimuth, elevation=elevation)


def turn_by(azimuth: float, elevation: float, dx: float, dy: float) -> tuple[float, float]:
    """Both angles after that drag; the eye stops before the pole."""
    lifted = float(np.clip(elevation + DEGREES_PER_PIXEL * dy, -LIMIT, LIMIT))
    return azimuth - DEGREES_PER_PIXEL * dx, lifted


def shifted(pose: Pose, dx: float, dy: float) -> Pose:
    """The picture moved by (`dx`, `dy`) pixels."""
    return replace(pose, place=pose.place + np.array([dx, dy]))


def zoomed(pose: Pose, factor: float, at: tuple[float, float]) -> Pose:
    """The picture enlarged by `factor` around the pixel `at`."""
    return replace(pose, scale=pose.scale * factor, place=np.asarray(at) + factor * (pose.place - np.asarray(at)))


def parallel(pose: Pose) -> Pose:
    """The same part of the scene, as large at its middle, by an orthographic camera."""
    return pose if pose.eye is None else replace(pose, eye=None, scale=size_of(pose))


def in_perspective(pose: Pose, distance: float) -> Pose:
    """The same by an eye that is so far away; one that has an eye already keeps it."""
    if pose.eye is not None:
        return pose
    return replace(pose, eye=np.array([0.0, 0.0, distance]), scale=pose.scale * distance)


def size_of(pose: Pose) -> float:
    """Pixels of a world unit in the middle of the scene."""
    return pose.scale if pose.eye is None else float(pose.scale / pose.eye[2])


def between(start: Pose, end: Pose, share: float) -> Pose:
    """The pose `share` of the way from `start` to `end`, the shorter way round; its lines are those of the end."""
    start = parallel(start) if end.eye is None else in_perspective(start, float(end.eye[2]))
    turn = (end.azimuth - start.azimuth + 180.0) % 360.0 - 180.0
    eye = end.eye if start.eye is None or end.eye is None else start.eye + share * (end.eye - start.eye)
    return Pose(
        end.azimuth - (1.0 - share) * turn,
        start.elevation + share * (end.elevation - start.elevation),
        end.centre,
        start.place + share * (end.place - start.place),
        start.scale * (end.scale / start.scale) ** share,
        eye,
    )
