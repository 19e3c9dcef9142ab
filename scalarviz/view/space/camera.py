"""Cameras: one 4x4 matrix for both the shader and `project`, fitted to its content or moved by hand.

To move a camera, it is split into a `Pose` around the middle of the scene; the pose is changed, and a new camera is
made of it whose planes enclose the scene. The depth buffer has 16 bits, so wider planes would let cubes show through
each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError

Floats = NDArray[np.float64]
Size = tuple[int, int]
Rect = tuple[float, float, float, float]

# The offscreen depth buffer has 16 bits: the planes lie this fraction of the depth range outside the scene, no more.
DEPTH_MARGIN = 0.02
NEAREST = 0.01
"""The near plane as a share of the far one, if the scene extends behind the eye."""
DEGREES_PER_PIXEL = 0.4
"""Degrees that the scene turns per pixel of a drag."""
LIMIT = 89.0
"""Largest elevation in degrees: the eye never passes the pole."""


@dataclass(frozen=True, eq=False)
class Camera:
    """The eye's place and the matrix from the world to the screen.

    Angles are those of a turntable: azimuth 0 looks along +y with +x to the right, a negative one turns the eye towards
    -x; elevation lifts it. z is up.
    """

    size: Size  # of the window, in logical pixels
    azimuth: float  # degrees
    elevation: float
    eye: Floats  # position and 1; for an orthographic camera the direction to the eye and 0
    scale: float  # pixels per world unit: everywhere (orthographic), or at distance 1 from the eye
    matrix: Floats  # clip = matrix @ (x, y, z, 1), OpenGL's clip space

    @property
    def orthographic(self) -> bool:
        """Whether parallel lines stay parallel on screen."""
        return bool(self.eye[3] == 0.0)

    def _clip(self, xyz: ArrayLike) -> Floats:
        points = np.atleast_2d(np.asarray(xyz, np.float64))
        return np.asarray(np.concatenate([points, np.ones((len(points), 1))], axis=1) @ self.matrix.T)

    def project(self, xyz: ArrayLike) -> Floats:
        """Return world points (N, 3) as window pixels (N, 2): origin top-left, pixel k spans k..k+1."""
        clip = self._clip(xyz)
        ndc = clip[:, :2] / clip[:, 3:]
        return np.stack([(ndc[:, 0] + 1.0) * 0.5 * self.size[0], (1.0 - ndc[:, 1]) * 0.5 * self.size[1]], axis=1)

    def before(self, xyz: ArrayLike) -> bool:
        """Return whether all points are in front of the eye, where a projection is valid."""
        return bool(self._clip(xyz)[:, 3].min() > 1e-6)

    def pixels_per_unit(self, xyz: ArrayLike) -> Floats:
        """Return the pixels of one world unit across the line of sight at each of the points (N, 3)."""
        return np.asarray(self.scale / self._clip(xyz)[:, 3])

    def towards_eye(self, xyz: ArrayLike) -> Floats:
        """Return vectors from world points (3,) or (N, 3) towards the eye."""
        return np.asarray(self.eye[:3] - self.eye[3] * np.asarray(xyz, np.float64))


def basis(azimuth: float, elevation: float) -> tuple[Floats, Floats, Floats]:
    """Return right, up and back (towards the eye) as unit vectors, for angles in degrees."""
    a, e = np.radians(azimuth), np.radians(elevation)
    right = np.array([np.cos(a), np.sin(a), 0.0])
    back = np.array([np.sin(a) * np.cos(e), -np.cos(a) * np.cos(e), np.sin(e)])
    return right, np.cross(back, right), back


def fit(
    points: ArrayLike,
    size: Size,
    rect: Rect | None = None,
    *,
    azimuth: float,
    elevation: float,
    distance: float | None = None,
    centre: Sequence[float] | None = None,
    align: tuple[float, float] = (0.5, 0.5),
) -> Camera:
    """Return a camera that shows all `points` (N, 3) as large as possible in `rect` (default: the whole window).

    Parameters
    ----------
    distance : float, optional
        Distance of the eye from `centre` in world units: the strength of the perspective. Default: orthographic.
    centre : (x, y, z), optional
        Default: the middle of the points' bounding box.
    align : (float, float)
        Position of the picture in a rectangle of another aspect: 0 left/top, 1 right/bottom.

    Raises
    ------
    InputError
        No points, points that are not finite, an empty window or rectangle, an eye among the points.
    """
    xyz = np.atleast_2d(np.asarray(points, np.float64))
    box = (0.0, 0.0, float(size[0]), float(size[1])) if rect is None else rect
    if xyz.size == 0 or xyz.shape[1] != 3 or not np.isfinite(xyz).all():
        raise InputError(f"camera.fit: points must be finite with shape (N, 3), N > 0; got shape {xyz.shape}")
    if min(size) < 1 or box[2] <= box[0] or box[3] <= box[1]:
        raise InputError(f"camera.fit: window {size} and rectangle {box} must have a positive width and height")
    middle = (xyz.min(0) + xyz.max(0)) / 2 if centre is None else np.asarray(centre, np.float64)
    x, y, towards = np.stack(basis(azimuth, elevation)) @ (xyz - middle).T
    w = np.ones_like(x) if distance is None else distance - towards
    if distance is not None and w.min() < 0.05 * distance:
        raise InputError(f"camera distance {distance:g} puts the eye among the points; try {2 * distance:g} or more")
    flat = np.stack([x / w, -y / w])
    low, span = flat.min(1), np.maximum(np.ptp(flat, axis=1), 1e-9)
    room = np.array([box[2] - box[0], box[3] - box[1]])
    scale = float((room / span).min())
    place = np.array(box[:2]) + (room - scale * span) * align - scale * low
    eye = None if distance is None else np.array([0.0, 0.0, distance])
    return camera_of(Pose(azimuth, elevation, middle, place, scale, eye), size, xyz)


@dataclass(frozen=True, slots=True, eq=False)
class Pose:
    """A camera relative to the point `centre` that it turns around."""

    azimuth: float
    elevation: float
    centre: Floats  # a world point that stays in its place on screen when the scene turns
    place: Floats  # its place in the camera's pixels
    scale: float
    eye: Floats | None  # from `centre` to the eye, to the right, up and back; None for an orthographic camera


def pose_of(camera: Camera, centre: ArrayLike) -> Pose:
    """Return `camera` as a pose around `centre`, a world point in front of the eye."""
    middle = np.asarray(centre, np.float64)
    axes = np.stack(basis(camera.azimuth, camera.elevation))
    eye = None if camera.orthographic else axes @ (camera.eye[:3] - middle)
    return Pose(camera.azimuth, camera.elevation, middle, camera.project(middle)[0], camera.scale, eye)


def camera_of(pose: Pose, size: Size, points: ArrayLike) -> Camera:
    """Return the camera of a pose for a window of `size`; its planes enclose the visible part of `points` (N, 3)."""
    axes = np.stack(basis(pose.azimuth, pose.elevation))
    origin = pose.centre if pose.eye is None else pose.centre + axes.T @ pose.eye
    depth = -(np.atleast_2d(np.asarray(points, np.float64)) - origin) @ axes[2]
    margin = DEPTH_MARGIN * (np.ptp(depth) + 1.0)
    near, far = depth.min() - margin, depth.max() + margin
    forms = np.concatenate([axes, -(axes @ origin)[:, None]], axis=1)  # camera x, y and "towards the eye"
    one = np.array([0.0, 0.0, 0.0, 1.0])
    if pose.eye is None:
        w, shift, z, eye = one, pose.place, -2 * forms[2] - (near + far) * one, np.append(axes[2], 0.0)
    else:
        far = max(far, 1e-3)
        near = max(near, 0.5 * depth.min(), NEAREST * far)
        w, z = -forms[2], -(near + far) * forms[2] - 2 * near * far * one
        shift = pose.place - pose.scale * np.array([-pose.eye[0], pose.eye[1]]) / pose.eye[2]
        eye = np.append(origin, 1.0)
    px, py = pose.scale * forms[0] + shift[0] * w, -pose.scale * forms[1] + shift[1] * w  # pixels times w
    matrix = np.stack([2 * px / size[0] - w, w - 2 * py / size[1], z / (far - near), w])
    return Camera(size, pose.azimuth, pose.elevation, eye, pose.scale, matrix)


def turned(pose: Pose, dx: float, dy: float) -> Pose:
    """Return the pose after a drag of (`dx`, `dy`) pixels: the near side of the scene follows the pointer."""
    azimuth, elevation = turn_by(pose.azimuth, pose.elevation, dx, dy)
    return replace(pose, azimuth=azimuth, elevation=elevation)


def turn_by(azimuth: float, elevation: float, dx: float, dy: float) -> tuple[float, float]:
    """Return both angles after such a drag; the eye stops before the pole."""
    lifted = float(np.clip(elevation + DEGREES_PER_PIXEL * dy, -LIMIT, LIMIT))
    return azimuth - DEGREES_PER_PIXEL * dx, lifted


def shifted(pose: Pose, dx: float, dy: float) -> Pose:
    """Return the pose with the picture moved by (`dx`, `dy`) pixels."""
    return replace(pose, place=pose.place + np.array([dx, dy]))


def zoomed(pose: Pose, factor: float, at: tuple[float, float]) -> Pose:
    """Return the pose with the picture enlarged by `factor` around the pixel `at`."""
    return replace(pose, scale=pose.scale * factor, place=np.asarray(at) + factor * (pose.place - np.asarray(at)))


def parallel(pose: Pose) -> Pose:
    """Return an orthographic pose with the same size at the middle of the scene."""
    return pose if pose.eye is None else replace(pose, eye=None, scale=size_of(pose))


def in_perspective(pose: Pose, distance: float) -> Pose:
    """Return the pose with an eye at `distance`; a pose in perspective keeps its eye."""
    if pose.eye is not None:
        return pose
    return replace(pose, eye=np.array([0.0, 0.0, distance]), scale=pose.scale * distance)


def size_of(pose: Pose) -> float:
    """Return the pixels of a world unit in the middle of the scene."""
    return pose.scale if pose.eye is None else float(pose.scale / pose.eye[2])


def between(start: Pose, end: Pose, share: float) -> Pose:
    """Return the pose at a `share` of the shorter way from `start` to `end`, with the projection of `end`."""
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


def convex_hull(points: Floats) -> Floats:
    """Return the corners of the hull, counter-clockwise in a frame with y up (Andrew's monotone chain)."""
    ordered = sorted({(float(x), float(y)) for x, y in points})
    if len(ordered) < 3:
        return np.array(ordered)

    def half(way: list[tuple[float, float]]) -> list[tuple[float, float]]:
        chain: list[tuple[float, float]] = []
        for p in way:
            while len(chain) > 1:
                (ax, ay), (bx, by) = chain[-2], chain[-1]
                if (bx - ax) * (p[1] - ay) - (by - ay) * (p[0] - ax) > 0:
                    break
                chain.pop()
            chain.append(p)
        return chain[:-1]

    return np.array(half(ordered) + half(ordered[::-1]))
