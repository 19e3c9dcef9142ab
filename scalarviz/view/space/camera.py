"""A camera fitted to what it shows: one 4x4 matrix that both the shader and `project` use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError

Floats = NDArray[np.float64]
Size = tuple[int, int]
Rect = tuple[float, float, float, float]

# The offscreen depth buffer has 16 bits: the planes lie this fraction of the depth range outside the scene, no more.
DEPTH_MARGIN = 0.02


@dataclass(frozen=True, eq=False)
class Camera:
    """Where the eye is, and the matrix from the world to the screen.

    Angles are a turntable's: azimuth 0 looks along +y with +x to the right, a negative one turns the eye towards -x;
    elevation lifts it. z is up.

    Attributes
    ----------
    size : tuple of int
        Logical width and height of the window in px.
    azimuth, elevation : float
        Degrees.
    eye : ndarray, shape (4,)
        World position of the eye and 1, or, for an orthographic camera, the direction towards it and 0.
    scale : float
        Pixels per world unit: everywhere (orthographic), or at distance 1 from the eye (perspective).
    matrix : ndarray, shape (4, 4)
        ``clip = matrix @ (x, y, z, 1)``, OpenGL's clip space.
    """

    size: Size
    azimuth: float
    elevation: float
    eye: Floats
    scale: float
    matrix: Floats

    @property
    def orthographic(self) -> bool:
        """Whether parallel lines stay parallel on screen."""
        return bool(self.eye[3] == 0.0)

    def project(self, xyz: ArrayLike) -> Floats:
        """World points (N, 3) as window pixels (N, 2): origin top-left, pixel k spans k..k+1."""
        points = np.atleast_2d(np.asarray(xyz, np.float64))
        clip = np.concatenate([points, np.ones((len(points), 1))], axis=1) @ self.matrix.T
        ndc = clip[:, :2] / clip[:, 3:]
        return np.stack([(ndc[:, 0] + 1.0) * 0.5 * self.size[0], (1.0 - ndc[:, 1]) * 0.5 * self.size[1]], axis=1)

    def pixels_per_unit(self, xyz: ArrayLike) -> Floats:
        """Pixels that one world unit across the line of sight takes at each of the points (N, 3)."""
        points = np.atleast_2d(np.asarray(xyz, np.float64))
        w = np.concatenate([points, np.ones((len(points), 1))], axis=1) @ self.matrix[3]
        return np.asarray(self.scale / w)

    def towards_eye(self, xyz: ArrayLike) -> Floats:
        """Vector from one world point (3,) towards the eye."""
        return np.asarray(self.eye[:3] - self.eye[3] * np.asarray(xyz, np.float64))


def basis(azimuth: float, elevation: float) -> tuple[Floats, Floats, Floats]:
    """Right, up and back (towards the eye) as unit vectors, for angles in degrees."""
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
    """A camera that shows all `points` as large as they go in a rectangle of the window.

    Parameters
    ----------
    points : array_like, shape (N, 3)
        What has to be seen (corners of boxes are enough).
    size : (int, int)
        Logical width and height of the window.
    rect : (x0, y0, x1, y1), optional
        Pixels reserved for the points; default: the window.
    azimuth, elevation : float
        Degrees.
    distance : float, optional
        Distance of the eye from `centre` in world units: the strength of the perspective. Default: orthographic.
    centre : (x, y, z), optional
        Default: the middle of the points' bounding box.
    align : (float, float)
        Where the picture sits in a rectangle of another aspect: 0 left/top, 1 right/bottom.

    Raises
    ------
    InputError
        No points, points that are not finite, an empty window or rectangle, an eye among the points.
    """
    xyz = np.atleast_2d(np.asarray(points, np.float64))
    box = (0.0, 0.0, float(size[0]), float(size[1])) if rect is None else rect
    _check(xyz, size, box)
    middle = (xyz.min(0) + xyz.max(0)) / 2 if centre is None else np.asarray(centre, np.float64)
    axes = np.stack(basis(azimuth, elevation))
    x, y, towards = axes @ (xyz - middle).T
    depth = -towards if distance is None else distance - towards
    if distance is not None and depth.min() < 0.05 * distance:
        raise InputError(f"camera distance {distance:g} puts the eye among the points; try {2 * distance:g} or more")
    w = np.ones_like(depth) if distance is None else depth
    scale, shift = _fit_rectangle(np.stack([x / w, -y / w]), box, align)
    margin = DEPTH_MARGIN * (np.ptp(depth) + 1.0)
    near, far = depth.min() - margin, depth.max() + margin
    if distance is not None:
        near = max(near, 0.5 * depth.min())
    matrix = clip_matrix(axes, middle, size, scale, shift, (near, far), distance)
    eye = np.append(axes[2], 0.0) if distance is None else np.append(middle + distance * axes[2], 1.0)
    return Camera(size, azimuth, elevation, eye, scale, matrix)


def _check(xyz: Floats, size: Size, box: Rect) -> None:
    if xyz.size == 0 or xyz.shape[1] != 3 or not np.isfinite(xyz).all():
        raise InputError(f"camera.fit: points must be finite with shape (N, 3), N > 0; got shape {xyz.shape}")
    if min(size) < 1 or box[2] <= box[0] or box[3] <= box[1]:
        raise InputError(f"camera.fit: window {size} and rectangle {box} must have a positive width and height")


def _fit_rectangle(flat: Floats, box: Rect, align: tuple[float, float]) -> tuple[float, Floats]:
    """Scale and shift that bring points (2, N) of the image plane (y down) into the rectangle."""
    low, high = flat.min(1), flat.max(1)
    room = np.array([box[2] - box[0], box[3] - box[1]])
    span = np.maximum(high - low, 1e-9)
    scale = float((room / span).min())
    corner = np.array([box[0], box[1]]) + (room - scale * span) * np.asarray(align)
    return scale, corner - scale * low


def clip_matrix(
    axes: Floats,
    middle: Floats,
    size: Size,
    scale: float,
    shift: Floats,
    planes: tuple[float, float],
    distance: float | None,
) -> Floats:
    """Rows of clip space as linear forms of (x, y, z, 1).

    Parameters
    ----------
    axes : ndarray, shape (3, 3)
        Right, up and back.
    middle : ndarray, shape (3,)
        World point from which camera coordinates count; the eye is `distance` behind it.
    scale, shift : float and ndarray of shape (2,)
        Pixels are ``scale * (x, -y) / w + shift`` of camera coordinates.
    planes : (near, far)
        Depths along the line of sight.
    distance : float or None
        None: orthographic.
    """
    forms = np.concatenate([axes, -(axes @ middle)[:, None]], axis=1)  # camera x, y and "towards the eye"
    one = np.array([0.0, 0.0, 0.0, 1.0])
    depth = -forms[2] if distance is None else distance * one - forms[2]
    w = one if distance is None else depth
    near, far = planes
    z = (2 * depth - (near + far) * one) if distance is None else ((near + far) * depth - 2 * near * far * one)
    px, py = scale * forms[0] + shift[0] * w, -scale * forms[1] + shift[1] * w  # pixels times w
    return np.stack([2 * px / size[0] - w, w - 2 * py / size[1], z / (far - near), w])
