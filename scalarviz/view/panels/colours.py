"""The colour cube: sample colours at their RGB place, painted with the network's output, beside the target."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..draw.maps import displayed
from ..draw.places import LABEL
from ..draw.sketch import Box, Float, Sketch
from ..draw.text import measure
from ..draw.theme import Theme
from ..space.camera import Camera, Rect, fit
from ..space.pose import camera_of, pose_of, turn_by, zoomed

Colours = NDArray[np.floating]
_CORNERS = np.array([[r, g, b] for r in (0, 1) for g in (0, 1) for b in (0, 1)], dtype=float)
_CUBE = 146.0  # width of one cube
_APART = 12.0  # between the two at least
_LARGEST = 24.0  # diameter of a disc
_BEYOND = 3.0  # pixels by which one may reach out of the panel
_DISTANCE = 3.6
Turn = tuple[float, float]
"""Azimuth and elevation in degrees."""
FITTED: Turn = (53.0, 26.0)
"""White is the nearest corner, black the farthest, blue runs downwards."""


class CubePlaces:
    """Where the discs of one colour cube lie, and which of them can be seen; computed once an angle.

    Discs that others hide are left out: with a full grid of 16 x 16 x 16 colours five in six are inside.

    Parameters
    ----------
    inputs : ndarray, shape (N, 3)
        sRGB in 0..1.
    box : Box
        Where the cube is drawn.
    turn : (float, float)
        From where it is seen.

    Attributes
    ----------
    visible : ndarray of int
        Rows of `inputs` that are drawn, far to near.
    centres : ndarray, shape (len(visible), 2)
        Logical pixels.
    diameter : float
    """

    def __init__(self, inputs: Colours, box: Box, turn: Turn = FITTED) -> None:
        x, y, width, height = box
        size = (round(x + width) + 64, round(y + height) + 64)
        side = max(2.0, round(len(inputs) ** (1 / 3)))
        # a few colours are large discs, which reach over the corners: of those that would be cut more air is left
        for air in (3.0, 0.5 * _LARGEST + 1.0) if side > 4 else (0.5 * _LARGEST + 1.0,):
            rect = (x + air, y + air, x + width - air, y + height - air)
            self._camera = fitted = _camera(FITTED, size, rect)
            spacing = self._pixels(_place(_CORNERS)) / (side - 1)
            self.diameter = float(min(max(1.32 * spacing, 3.0), _LARGEST))
            if 0.5 * self.diameter <= air + _BEYOND:
                break
        if turn != FITTED:
            self._camera = _no_larger(_camera(turn, size, rect), fitted, rect)
        where = _place(inputs)
        order = np.argsort(_nearness(self._camera, where), kind="stable")
        flat = self._camera.project(where[order])
        seen = _uncovered(flat, self.diameter)
        self.visible = order[seen]
        self.centres: Float = flat[seen].astype(np.float32)

    def _pixels(self, corners: Colours) -> float:
        """Length of the nearest edge on screen."""
        white, cyan = self._camera.project(corners[[7, 3]])
        return float(np.hypot(*(white - cyan)))

    def disc_at(self, x: float, y: float) -> int | None:
        """Place in `visible` of the disc that is seen at a point, or None beside all of them."""
        away = np.hypot(self.centres[:, 0] - x, self.centres[:, 1] - y)
        under = np.flatnonzero(away <= 0.5 * self.diameter)
        return int(under[-1]) if len(under) else None

    def edges(self) -> Float:
        """The cube's outline, front edges left out: (E, 2, 2)."""
        pairs = [(a, b) for a in range(8) for b in range(a) if np.abs(_CORNERS[a] - _CORNERS[b]).sum() == 1]
        ends = self._camera.project(_place(_CORNERS))
        front = int(np.argmax(_nearness(self._camera, _place(_CORNERS))))
        rim = [(a, b) for a, b in pairs if front not in (a, b)]
        return np.array([[ends[a], ends[b]] for a, b in rim], dtype=np.float32)


def turned(turn: Turn, dx: float, dy: float) -> Turn:
    """`turn` after a drag of pixels: the near side follows the pointer."""
    return turn_by(*turn, dx, dy)


def _camera(turn: Turn, size: tuple[int, int], rect: Rect) -> Camera:
    azimuth, elevation = turn
    corners = _place(_CORNERS)
    return fit(corners, size, rect, azimuth=azimuth, elevation=elevation, distance=_DISTANCE, align=(0.5, 0.0))


def _no_larger(camera: Camera, fitted: Camera, rect: Rect) -> Camera:
    """`camera`, not nearer than the fitted one: a cube that is turned does not grow."""
    share = min(1.0, fitted.scale / camera.scale)
    middle = (rect[0] + rect[2]) / 2, (rect[1] + rect[3]) / 2
    corners = _place(_CORNERS)
    return camera_of(zoomed(pose_of(camera, corners.mean(axis=0)), share, middle), camera.size, corners)


def _place(rgb: ArrayLike) -> NDArray[np.float64]:
    """RGB to the camera's world: green to the right, red towards the viewer, blue down."""
    colours = np.asarray(rgb, dtype=np.float64)
    return np.stack([colours[:, 1], -colours[:, 0], -colours[:, 2]], axis=1)


def _nearness(camera: Camera, where: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(-np.linalg.norm(where - camera.eye[:3], axis=1))


def _uncovered(flat: NDArray[np.float64], diameter: float) -> NDArray[np.bool_]:
    """Which discs, painted in order, still show a pixel at the end. Painted at two pixels a logical pixel."""
    low = flat.min(axis=0) - diameter
    grid = np.floor((flat - low) * 2).astype(int)
    reach = int(diameter)  # the radius in half pixels
    span = np.arange(-reach, reach + 1)
    dy, dx = np.meshgrid(span, span, indexing="ij")
    inside = dx**2 + dy**2 <= (diameter - 0.7) ** 2
    canvas = np.full(grid.max(axis=0)[::-1] + 2 * reach + 4, -1, np.int32)
    for index, (column, row) in enumerate(grid + reach):
        canvas[row - reach : row + reach + 1, column - reach : column + reach + 1][inside] = index
    seen = np.zeros(len(flat), bool)
    seen[np.unique(canvas[canvas >= 0])] = True
    return seen


def cube_boxes(box: Box) -> tuple[Box, Box]:
    """Where the network's and the target's cube stand in the panel."""
    x, y, width, height = box
    wide = min(_CUBE, (width - _APART) / 2)
    cube = (wide, height - 22)
    return (x, y + 22, *cube), (x + width - wide, y + 22, *cube)


def colours_title(box: Box, theme: Theme, count: int, places: tuple[CubePlaces, CubePlaces]) -> Sketch:
    """Titles and outlines."""
    sketch = Sketch()
    x, y, width, _ = box
    title = f"all {count:,} colours: network" if count > 1 else "the colour: network"
    if measure(title, LABEL, True) + measure("target", LABEL) + 12 > width:
        title = "network"
    sketch.text(x, y + 13, title, LABEL, theme.text1, bold=True)
    sketch.text(x + width, y + 13, "target", LABEL, theme.text3, anchor="right")
    for place in places:
        ends = place.edges()
        sketch.lines(ends[:, 0], ends[:, 1], theme.border, 1.0)
    return sketch


def colours_discs(place: CubePlaces, colours: Colours) -> Sketch:
    """Discs painted with `colours`, one for each of ``place.visible``, shape (V, 3) or (V, 1) for grey."""
    sketch = Sketch()
    sketch.discs(place.centres, place.diameter, displayed(colours))
    return sketch


def hexed(colour: ArrayLike) -> str:
    """``#eb942e``, of three numbers in 0..1; what is outside is clipped; NaN is no colour."""
    numbers = np.asarray(colour, float)
    if not np.isfinite(numbers).all():
        return "no colour"
    return "#" + "".join(f"{round(255 * min(max(float(c), 0.0), 1.0)):02x}" for c in numbers)
