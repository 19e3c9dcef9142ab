"""`Viewpoint`: the camera of a layout: fitted, moved by hand, turning, or gliding to a stored view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .arrangement import Layout
from .camera import (
    LIMIT,
    Camera,
    Floats,
    Pose,
    Rect,
    between,
    camera_of,
    convex_hull,
    in_perspective,
    parallel,
    pose_of,
    shifted,
    size_of,
    turned,
    zoomed,
)

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

    def shift(self, by: Floats) -> None:
        """Use the fitted camera with its picture moved by pixels; this does not count as moved."""
        pose = shifted(self._fitted, *by.tolist())
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
        """Whether it is gliding or turning."""
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
