"""Which cube is under a pixel: the walk of the fragment shader (`slab`), in plain Python numbers.

Nothing is read back from the card, so asking costs the same at any size of picture. Cubes are as large as
they are drawn: with gaps where they have six pixels and more, without below, and below one pixel the cell
under the pixel's middle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import floor, inf, sqrt
from typing import NamedTuple

import numpy as np

from ..ink.sketch import Kept
from ..space.camera import Camera
from ..space.layout import Layout
from ..space.plate import Floats, Plate
from .slab import variant_for

STEPS = 128
"""Cells that the walk visits in one plate at most, as in the shader."""
START = 1e-4
"""Where a perspective ray begins, as a share of its way to the far plane: just before the eye."""

Vector = tuple[float, float, float]
Shares = Callable[[int, int], float]
Share = Callable[[int], float]


class Hit(NamedTuple):
    """A cube that was found."""

    plate: int  # the place of its plate in the layout
    element: int  # which element of the plate it is
    flat: int | None  # in a frame's flat arrays; None for a cube of an activation row


@dataclass(frozen=True, slots=True)
class _Slab:
    """A plate's constants as Python numbers; coordinates are cells, cell c spans c..c+1.

    `axes` lead from the world to cells: as long as one over the pitch.
    """

    origin: Vector
    axes: tuple[Vector, Vector, Vector]
    rows: int
    cols: int
    half: float
    depth: float
    period: tuple[int, int]
    strides: tuple[int, int, int, int]
    last: int  # cells in use in the last row

    def element(self, row: int, col: int) -> int:
        """Number of the element in a cell; -1 for an empty cell."""
        tile_row, inner_row = divmod(row, self.period[0])
        tile_col, inner_col = divmod(col, self.period[1])
        if inner_row == self.period[0] - 1 or inner_col == self.period[1] - 1:
            return -1
        if row == self.rows - 1 and col >= self.last:
            return -1
        a, b, c, d = self.strides
        return tile_row * a + inner_row * b + tile_col * c + inner_col * d


def _slab(plate: Plate) -> _Slab:
    rows, cols = plate.grid.cells
    origin = plate.origin - 0.5 * (plate.axes[0] + plate.axes[1])
    u, v, w = (_vector(axis) for axis in plate.axes / plate.pitch**2)
    return _Slab(_vector(origin), (u, v, w), rows, cols, plate.half, plate.depth, plate.grid.period,
                 plate.grid.strides, plate.last)  # fmt: skip


def _vector(values: np.ndarray) -> Vector:
    x, y, z = (float(c) for c in values)
    return x, y, z


def _dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


class Picker:
    """Finds cubes of one layout."""

    def __init__(self, layout: Layout) -> None:
        self._plates = layout.plates
        self._slabs = [_slab(plate) for plate in layout.plates]
        self._seen = Kept[tuple[Floats, list[tuple[bool, float]]]]()

    def pick(
        self, camera: Camera, at: tuple[float, float], density: float = 1.0, shares: Shares | None = None
    ) -> Hit | None:
        """The nearest cube under a point of the picture, in the pixels of the camera that it is drawn with.

        The middle of the first pixel is (0.5, 0.5). `density`, device pixels per camera pixel, decides how a
        plate is drawn. ``shares(plate, element)`` says how large a cube is beside the largest, 0 for one that
        is not drawn; default: all are as large as can be.
        """
        inverse, samples = self._seen.of((camera, density), lambda: self._look(camera, density))
        origin, ray, (start, near) = _ray(camera, inverse, at)
        best, found = inf, None
        for index, (slab, (mean, half)) in enumerate(zip(self._slabs, samples, strict=True)):
            relative = (origin[0] - slab.origin[0], origin[1] - slab.origin[1], origin[2] - slab.origin[2])
            p = (_dot(relative, slab.axes[0]), _dot(relative, slab.axes[1]), _dot(relative, slab.axes[2]))
            d = _steady((_dot(ray, slab.axes[0]), _dot(ray, slab.axes[1]), _dot(ray, slab.axes[2])))
            own = None if shares is None else partial(shares, index)
            t, element = _walk(slab, p, d, start, near, best, half, mean, own)
            if element >= 0 and t < best:
                first = self._plates[index].start
                best, found = t, Hit(index, element, first + element if first >= 0 else None)
        return found

    def _look(self, camera: Camera, density: float) -> tuple[Floats, list[tuple[bool, float]]]:
        """From the screen to the world; of each plate whether mean colours are drawn, and how large cubes are."""
        variants = [variant_for(plate, camera, density) for plate in self._plates]
        sizes = [(v.samples > 0, p.half if v.detail else 0.5) for v, p in zip(variants, self._plates, strict=True)]
        return np.asarray(np.linalg.inv(camera.matrix), np.float64), sizes


def _ray(camera: Camera, inverse: Floats, at: tuple[float, float]) -> tuple[Vector, Vector, tuple[float, float]]:
    """Origin of a pixel's ray, its way to the far plane, and the shares of it where cubes and near plane begin."""
    x, y = 2 * at[0] / camera.size[0] - 1, 1 - 2 * at[1] / camera.size[1]
    near, far = (p[:3] / p[3] for p in (inverse @ (x, y, z, 1.0) for z in (-1.0, 1.0)))
    if camera.orthographic:
        return _vector(near), _vector(far - near), (-inf, -inf)
    eye = camera.eye[:3]
    way = far - eye
    return _vector(eye), _vector(way), (START, float(way @ (near - eye) / (way @ way)))


def _steady(d: Vector) -> Vector:
    """A direction without a component so small that dividing by it would overflow."""
    tiny = 1e-6 * sqrt(_dot(d, d))
    x, y, z = (c if abs(c) >= tiny else tiny for c in d)
    return x, y, z


def _walk(
    slab: _Slab,
    p: Vector,
    d: Vector,
    start: float,
    near: float,
    best: float,
    half: float,
    mean: bool,
    share: Share | None,
) -> tuple[float, int]:
    """From cell to cell until the ray meets a cube: (its share of the way, element), element -1 for none.

    Of cubes below a pixel, the `mean` of which is drawn: the cell of the main face under the ray.
    """
    ix, iy, iz = 1 / d[0], 1 / d[1], 1 / d[2]
    sx, sy = (1 if d[0] > 0 else -1), (1 if d[1] > 0 else -1)
    reach = slab.depth if d[2] > 0 else -slab.depth
    z_in, z_out = (-reach - p[2]) * iz, (reach - p[2]) * iz
    edge = 0.5 - slab.half
    xa, xb = (edge - p[0]) * ix, (slab.cols - edge - p[0]) * ix
    ya, yb = (edge - p[1]) * iy, (slab.rows - edge - p[1]) * iy
    t = max(min(xa, xb), min(ya, yb), z_in, start)
    end = min(max(xa, xb), max(ya, yb), z_out)
    # beside its box, behind another cube, or the far side of its box, on which it is drawn, is before the near plane
    if t > end or (t > best and not mean) or end <= near:
        return inf, -1
    t = max(z_in, start) if mean else t
    col = min(max(floor(p[0] + d[0] * t), 0), slab.cols - 1)
    row = min(max(floor(p[1] + d[1] * t), 0), slab.rows - 1)
    for _ in range(STEPS):
        x, y = col + 0.5 - p[0], row + 0.5 - p[1]
        side, first, last, element = half, z_in, z_out, -2
        if share is not None:
            element = slab.element(row, col)
            size = share(element) if element >= 0 else 0.0
            element = element if size > 0.0 else -1
            size = (
                size if half < 0.5 else 1.0
            )  # below six pixels a smaller cube is a darker cell, as large as the others
            side, thick = half * size, reach * size
            middle = slab.depth * (size - 1.0) - p[2]  # it stands on the foot of its plate
            first, last = (middle - thick) * iz, (middle + thick) * iz
        if mean:
            return t, slab.element(row, col) if element == -2 else element
        t_in = max((x - side * sx) * ix, (y - side * sy) * iy, first, start)
        if element != -1 and t_in <= min((x + side * sx) * ix, (y + side * sy) * iy, last):
            element = slab.element(row, col) if element == -2 else element
            if element >= 0:
                return t_in, element
        next_x, next_y = (x + 0.5 * sx) * ix, (y + 0.5 * sy) * iy
        if min(next_x, next_y) > end:
            break
        if next_x < next_y:
            col += sx
        else:
            row += sy
        if not (0 <= col < slab.cols and 0 <= row < slab.rows):
            break
    return inf, -1
