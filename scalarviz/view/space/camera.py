"""Cameras: one 4x4 matrix for both the shader and `project`, fitted to its content or moved by hand.

To move a camera, it is split into a `Pose` around the middle of the scene; the pose is changed, and a new camera is
made of it whose planes enclose the scene. The depth buffer has 16 bits, so wider planes would let cubes show through
each other. `Viewpoint` is the camera of a layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError

if TYPE_CHECKING:
    from .arrangement import Layout

Floats = NDArray[np.float64]
Size = tuple[int, int]
Rect = tuple[float, float, float, float]

# World directions. Plates are at right angles to the flow: their main face looks back along it, at the viewer.
FLOW = np.array([1.0, 0.0, 0.0])
ACROSS = np.array([0.0, -1.0, 0.0])
DOWN = np.array([0.0, 0.0, -1.0])

OUTPUTS_DOWN = np.stack([ACROSS, DOWN, -FLOW])
"""Axes of a standing plate whose outputs (rows) count downwards and inputs across."""
OUTPUTS_ACROSS = np.stack([DOWN, ACROSS, -FLOW])
"""Axes of a standing plate whose outputs count across and inputs downwards."""

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
        """True if parallel lines stay parallel on screen."""
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


def triple(numbers: NDArray[np.floating]) -> tuple[float, float, float]:
    """Return a point, a direction or a colour as numbers of Python."""
    x, y, z = np.asarray(numbers, np.float64).tolist()
    return x, y, z


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


# ---- The camera of a layout: fitted, moved by hand, turning, or gliding to a stored view.

LEAST = 0.2
"""Least share of the fitted size. At the largest size one cube fills the box."""
GLIDE = 0.3
"""Seconds of a glide to the fitted camera, or to a stored view."""
TURN = 18.0
"""Degrees per second of a scene that turns by itself."""
FAR = 2.0
"""Distance of the eye given to an orthographic camera, in diagonals of the scene."""
MARGIN = 1 / 6
"""Share of the box on each side that may be empty: a part of the picture always stays in the middle."""


class Viewpoint:
    """The camera of a layout, whose own camera is the fitted one."""

    def __init__(self, layout: Layout) -> None:
        self.moved = False  # whether it is another camera than the fitted one
        self.stale = False  # whether it has changed since this was last reset
        self.turning = False  # whether the scene turns by itself; may be set
        self.kept: dict[int, Pose] = {}  # views by number
        self._glide: tuple[Pose, Pose | None, float] | None = None  # from, to (None: the fitted one), seconds since
        self._adopt_layout(layout)
        self.camera = layout.camera

    def _adopt_layout(self, layout: Layout) -> None:
        self._layout = layout
        self._points = layout.outline
        self._centre = layout.bounds.mean(axis=0)
        self._fitted = pose_of(layout.camera, self._centre)
        x0, y0, x1, y1 = layout.rect
        self._most = max(2.0, min(x1 - x0, y1 - y0) / layout.pixels_per_cube())

    def _set_camera(self, camera: Camera, *, moved: bool) -> None:
        self.camera, self.moved, self.stale = camera, moved, True

    def fill(self, box: Rect, room: Rect) -> None:
        """Put what fills `box` on screen into `room`, as large as it fits; this does not count as moved."""
        (x0, y0, x1, y1), (left, top, right, bottom) = box, room
        factor = min((right - left) / max(x1 - x0, 1.0), (bottom - top) / max(y1 - y0, 1.0))
        middle = (x0 + x1) / 2, (y0 + y1) / 2
        pose = shifted(
            zoomed(self.pose, factor, middle), (left + right) / 2 - middle[0], (top + bottom) / 2 - middle[1]
        )
        self._set_camera(camera_of(pose, self._layout.camera.size, self._points), moved=False)

    def _show(self, pose: Pose) -> None:
        self._set_camera(camera_of(pose, self._layout.camera.size, self._points), moved=True)

    @property
    def _eye_distance(self) -> float:
        """The distance of the eye that an orthographic camera gets in perspective."""
        return FAR * float(np.linalg.norm(np.ptp(self._points, axis=0)))

    @property
    def pose(self) -> Pose:
        """The present camera as a pose around the scene's middle."""
        return pose_of(self.camera, self._centre)

    @property
    def gliding(self) -> bool:
        """True while the camera glides or turns."""
        return self._glide is not None or self.turning

    def orbit(self, dx: float, dy: float) -> None:
        """Turn by a drag of pixels."""
        self._go(turned(self.pose, dx, dy))

    def pan(self, dx: float, dy: float) -> None:
        """Shift by pixels; a part of the scene stays in sight."""
        self._go(shifted(self.pose, dx, dy))

    def zoom(self, factor: float, at: tuple[float, float]) -> None:
        """Zoom around a pixel, within limits."""
        now, fitted = size_of(self.pose), size_of(self._fitted)
        wanted = float(np.clip(now * factor, LEAST * fitted, self._most * fitted))
        self._go(zoomed(self.pose, wanted / now, at))

    def _go(self, pose: Pose) -> None:
        moved = camera_of(pose, self.camera.size, self._points)
        shift = shift_into_view(moved, [plate.corners for plate in self._layout.plates], self._layout.rect)
        self._glide = None
        self._show(shifted(pose, *shift))

    def fit(self) -> None:
        """Start the glide back to the fitted view, and stop turning."""
        self.turning = False
        if self.moved:
            self._glide = (self.pose, None, 0.0)

    def keep(self, number: int) -> None:
        """Store this view under a number."""
        self.kept[number] = self.pose

    def go(self, number: int) -> bool:
        """Start the glide to a stored view; return whether the number has one."""
        if number in self.kept:
            self.turning = False
            self._glide = (self.pose, self.kept[number], 0.0)
        return number in self.kept

    def toggle_parallel(self) -> bool:
        """Switch between parallel projection and perspective; return whether it is parallel now.

        The middle of the scene keeps its size.
        """
        pose, fitted = self.pose, self._fitted.eye
        away = self._eye_distance if fitted is None else float(fitted[2])
        self._go(in_perspective(pose, away) if pose.eye is None else parallel(pose))
        return pose.eye is not None

    def tick(self, seconds: float | None) -> None:
        """Advance by `seconds`; None ends a glide at once."""
        if self._glide is None:
            if self.turning and seconds:
                pose = self.pose
                self._show(replace(pose, azimuth=(pose.azimuth + TURN * seconds + 180.0) % 360.0 - 180.0))
            return
        start, end, past = self._glide
        past = GLIDE if seconds is None else past + seconds
        if past >= GLIDE:
            self._glide = None
            if end is None:
                self._set_camera(self._layout.camera, moved=False)
            else:
                self._show(end)
            return
        self._glide = (start, end, past)
        self._show(between(start, end or self._fitted, 1.0 - (1.0 - past / GLIDE) ** 3))  # ease-out

    def relaid(self, layout: Layout) -> None:
        """Take another layout of the same scene, after a resize; a moved camera still shows the same part.

        If the plates have other places, only the angle is kept.
        """
        old, pose, was = self._layout, self.pose, self._fitted
        moved = self.moved and (self._glide is None or self._glide[1] is not None)
        self._adopt_layout(layout)
        self._glide = None
        same = _same_places(old, layout)
        self.kept = {number: self._carried_pose(view, was, same) for number, view in self.kept.items()}
        if moved:
            self._show(self._carried_pose(pose, was, same))
        else:
            self._set_camera(layout.camera, moved=False)

    def follow(self, layout: Layout) -> None:
        """Take the layout of another network, and glide from the present view to the whole of it.

        If its plates are at the same places, the view stays. Stored views are carried over.
        """
        was, same = self.pose, _same_places(self._layout, layout)
        self.relaid(layout)
        if not same:
            self._glide = (was, None, 0.0)
            self._show(between(was, self._fitted, 0.0))

    def _carried_pose(self, pose: Pose, was: Pose, same: bool) -> Pose:
        """Return a former pose, relative to the fitted pose `was`, for the new layout.

        `same`: the plates are at the same places.
        """
        new = self._fitted
        if same:
            growth = size_of(new) / size_of(was)
            return replace(pose, place=new.place + growth * (pose.place - was.place), scale=pose.scale * growth)
        elevation = float(np.clip(new.elevation + pose.elevation - was.elevation, -LIMIT, LIMIT))
        turned_so = replace(new, azimuth=new.azimuth + pose.azimuth - was.azimuth, elevation=elevation)
        if (pose.eye is None) == (new.eye is None):
            return turned_so
        return parallel(turned_so) if pose.eye is None else in_perspective(turned_so, self._eye_distance)


def _same_places(a: Layout, b: Layout) -> bool:
    return len(a.plates) == len(b.plates) and all(
        np.allclose(p.corners, q.corners) for p, q in zip(a.plates, b.plates, strict=True)
    )


def shift_into_view(camera: Camera, boxes: Sequence[Floats], rect: Rect) -> Floats:
    """Return the shortest shift in pixels that moves one of `boxes` of corners (K, 3) to the middle of `rect`.

    It is zero if one of them is there already; boxes behind the eye do not count.
    """
    x0, y0, x1, y1 = rect
    across, down = MARGIN * (x1 - x0), MARGIN * (y1 - y0)
    middle = np.array([(x, y) for x in (x0 + across, x1 - across) for y in (y0 + down, y1 - down)])
    shifts = [shift_to(camera.project(box), middle) for box in boxes if camera.before(box)]
    return min(shifts, key=lambda shift: float(shift @ shift), default=np.zeros(2))


def shift_to(points: Floats, target: Floats) -> Floats:
    """Return the shortest shift after which the hulls of `points` and of `target`, both (N, 2), touch.

    It is zero if they do already. The shifts that let them touch form a convex region: the hull of all differences.
    """
    region = convex_hull((target[:, None] - points).reshape(-1, 2))
    sides = np.roll(region, -1, axis=0) - region
    if len(region) > 2 and np.all(sides[:, 0] * -region[:, 1] - sides[:, 1] * -region[:, 0] >= 0):
        return np.zeros(2)
    along = np.clip(-(region * sides).sum(axis=1) / np.maximum(np.square(sides).sum(axis=1), 1e-300), 0.0, 1.0)
    nearest = region + along[:, None] * sides
    return np.asarray(nearest[np.argmin(np.square(nearest).sum(axis=1))])
