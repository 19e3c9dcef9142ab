"""`Aim`: the part of a workbench that turns the camera, and turns pixels into points of the picture."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .ink.places import Places
from .screen.side import SidePanels
from .space.camera import Camera
from .space.viewpoint import Viewpoint

Point = tuple[float, float]


class Aim:
    """Device pixels of a pointer, logical pixels of the grid, and the camera's own."""

    places: Places
    side: SidePanels
    _supersample: int
    _ratio: NDArray[np.float64]
    _view: Viewpoint
    _outdated: bool

    @abstractmethod
    def hover(self, at: Point | None) -> bool:
        """The pointer is over a point in device pixels (None: gone); returns whether the picture changes."""

    # pixels and points

    @property
    def scale(self) -> float:
        """Device pixels per logical pixel."""
        return self.places.scale * self._supersample

    def to_logical(self, at: Point) -> Point:
        """A point in device pixels as logical pixels."""
        return at[0] / self.scale, at[1] / self.scale

    def _to_camera(self, at: Point) -> Point:
        """The same in the camera's pixels."""
        x, y = self.to_logical(at)
        return float(x * self._ratio[0]), float(y * self._ratio[1])

    def project(self, xyz: ArrayLike) -> NDArray[np.float64]:
        """World points (N, 3) as logical pixels (N, 2)."""
        return np.asarray(self._view.camera.project(xyz) / self._ratio)

    # the camera

    @property
    def viewpoint(self) -> Viewpoint:
        """Where the scene is seen from; who moves it has to draw anew."""
        self._outdated = True
        return self._view

    @property
    def camera(self) -> Camera:
        """What the cubes are seen with; may be set."""
        return self._view.camera

    @camera.setter
    def camera(self, camera: Camera) -> None:
        self._view.camera = camera
        self._outdated = True

    def orbit(self, dx: float, dy: float) -> None:
        """Turn around the middle of the scene by a drag of device pixels."""
        self.hover(None)
        self._view.orbit(*self.to_logical((dx, dy)))

    def pan(self, dx: float, dy: float) -> None:
        """Shift the picture by device pixels."""
        self.hover(None)
        self._view.pan(*self._to_camera((dx, dy)))

    def zoom(self, factor: float, at: Point) -> None:
        """Enlarge the picture around a point in device pixels."""
        self.hover(None)
        self._view.zoom(factor, self._to_camera(at))

    def fit_camera(self) -> None:
        """Glide back to the camera that shows everything; what is turned in a panel turns back."""
        self.hover(None)
        self._view.fit()
        self.side.fit()
        self._outdated = True
