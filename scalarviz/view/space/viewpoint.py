"""`Viewpoint`: where a layout is seen from. Fitted, moved by hand, or on its way back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .camera import Camera
from .layout import Layout
from .leash import way_back
from .pose import LIMIT, Pose, between, camera_of, pose_of, shifted, turned, zoomed

LEAST = 0.2
"""Of the fitted size: the picture is never smaller. It is never larger than one cube that fills its place."""
GLIDE = 0.3
"""Seconds of the way back to the fitted camera."""


class Viewpoint:
    """The camera of a layout.

    Parameters
    ----------
    layout : Layout
        Its camera is the fitted one.

    Attributes
    ----------
    moved : bool
        Whether it is another camera than the fitted one.
    stale : bool
        Whether it has changed since somebody last cleared this.
    """

    def __init__(self, layout: Layout) -> None:
        self.moved = False
        self.stale = False
        self._glide: tuple[Pose, float] | None = None
        self._take(layout)
        self._camera = layout.camera

    def _take(self, layout: Layout) -> None:
        self._layout = layout
        self._points: NDArray[np.float64] = np.concatenate([p.corners for p in layout.plates]
                                                           + list(layout.trays))  # fmt: skip
        self._centre = layout.bounds.mean(axis=0)
        self._fitted = pose_of(layout.camera, self._centre)
        x0, y0, x1, y1 = layout.rect
        self._most = max(2.0, min(x1 - x0, y1 - y0) / layout.pixels_per_cube())

    @property
    def camera(self) -> Camera:
        """The present camera; setting it ends a glide."""
        return self._camera

    @camera.setter
    def camera(self, camera: Camera) -> None:
        self._glide = None
        self._set(camera, moved=camera is not self._layout.camera)

    def _set(self, camera: Camera, *, moved: bool) -> None:
        self._camera, self.moved, self.stale = camera, moved, True

    @property
    def pose(self) -> Pose:
        """The present camera around the scene's middle."""
        return pose_of(self._camera, self._centre)

    @property
    def gliding(self) -> bool:
        """Whether it is on its way."""
        return self._glide is not None

    def orbit(self, dx: float, dy: float) -> None:
        """Turn by a drag of pixels."""
        self._go(turned(self.pose, dx, dy))

    def pan(self, dx: float, dy: float) -> None:
        """Shift by pixels, as far as something stays in sight."""
        self._go(shifted(self.pose, dx, dy))

    def zoom(self, factor: float, at: tuple[float, float]) -> None:
        """Enlarge around a pixel, within limits."""
        now, fitted = self._camera.scale, self._fitted.scale
        wanted = float(np.clip(now * factor, LEAST * fitted, self._most * fitted))
        self._go(zoomed(self.pose, wanted / now, at))

    def _go(self, pose: Pose) -> None:
        moved = camera_of(pose, self._camera.size, self._points)
        shift = way_back(moved, [plate.corners for plate in self._layout.plates], self._layout.rect)
        if shift.any():
            moved = camera_of(shifted(pose, *shift), self._camera.size, self._points)
        self.camera = moved

    def fit(self) -> None:
        """Start the way back."""
        if self.moved:
            self._glide = (self.pose, 0.0)

    def tick(self, seconds: float | None) -> None:
        """Time passes; None ends a glide at once."""
        if self._glide is None:
            return
        start, past = self._glide
        past = GLIDE if seconds is None else past + seconds
        if past >= GLIDE:
            self._glide = None
            self._set(self._layout.camera, moved=False)
            return
        self._glide = (start, past)
        share = 1.0 - (1.0 - past / GLIDE) ** 3  # ease-out
        self._set(camera_of(between(start, self._fitted, share), self._camera.size, self._points), moved=True)

    def relaid(self, layout: Layout) -> None:
        """Another layout of the same scene, after a resize: a camera moved by hand shows the same part of it.

        Where the plates themselves stand elsewhere, only the angle is kept.
        """
        old, pose, was, moved = self._layout, self.pose, self._fitted, self.moved and self._glide is None
        self._take(layout)
        self._glide = None
        if not moved:
            self._set(layout.camera, moved=False)
            return
        new, growth = self._fitted, self._fitted.scale / was.scale
        if _same_places(old, layout):
            kept = replace(pose, place=new.place + growth * (pose.place - was.place), scale=pose.scale * growth)
        else:
            elevation = float(np.clip(new.elevation + pose.elevation - was.elevation, -LIMIT, LIMIT))
            kept = replace(new, azimuth=new.azimuth + pose.azimuth - was.azimuth, elevation=elevation)
        self._set(camera_of(kept, layout.camera.size, self._points), moved=True)


def _same_places(a: Layout, b: Layout) -> bool:
    return len(a.plates) == len(b.plates) and all(
        np.allclose(p.corners, q.corners) for p, q in zip(a.plates, b.plates, strict=True)
    )
