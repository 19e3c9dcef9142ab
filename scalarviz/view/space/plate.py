"""`Plate`: one block of numbers as a slab of cubes in space, one cube thick.

The pitch of cubes is 1, except for small arrays beside very large ones, whose cubes would be too small to see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, prod, sqrt
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError

Floats = NDArray[np.float64]
Elements = TypeVar("Elements", int, NDArray[np.intp])
Kind = Literal["weight", "bias", "activation"]

# A matrix narrower than this share of its length would be a hairline, so it is folded into a block.
FOLD_ASPECT = 64
# The shader counts the cells of a plate in float32, which is exact up to here.
MAX_CELLS = (1 << 24) - (1 << 13)


@dataclass(frozen=True, slots=True)
class Grid:
    """The places of a tensor's elements on rows and columns."""

    shape: tuple[int, int]  # logical index (i, j): (out, in), (n, 1) of a vector, (out*kh, in*kw) of a kernel
    cells: tuple[int, int]  # rows and columns drawn, empty ones between convolution tiles included
    tile: tuple[int, int] = (0, 0)  # rows and columns of a convolution kernel; 0 for anything else
    folded: bool = False  # whether elements fill row by row regardless of `shape` (vectors, hairline matrices)
    # elements from tile to tile and from row to row within a tile, then the same for columns
    strides: tuple[int, int, int, int] = (0, 1, 0, 1)

    @property
    def gaps(self) -> bool:
        """Whether it has tiles with gaps, or is folded, with a last row that may not be full."""
        return self.folded or self.tile != (0, 0)

    @property
    def period(self) -> tuple[int, int]:
        """Cells after which the next tile starts; the last cell of each period is empty."""
        return (self.tile[0] + 1, self.tile[1] + 1) if self.tile[0] else (self.cells[0] + 1, self.cells[1] + 1)

    def element(self, i: int, j: int) -> int:
        """Return the element at the logical index (i, j), counted in C order of the tensor."""
        if not (0 <= i < self.shape[0] and 0 <= j < self.shape[1]):
            raise InputError(f"cell ({i}, {j}) is outside a plate of shape {self.shape}")
        if not self.tile[0]:
            return i * self.shape[1] + j
        across, within, kernel, _ = self.strides
        (output, row), (channel, col) = divmod(i, self.tile[0]), divmod(j, self.tile[1])
        return output * across + row * within + channel * kernel + col

    def places(self, elements: Elements) -> tuple[Elements, Elements]:
        """Return the rows and columns of the cells of elements, counted in C order of the tensor."""
        if not self.tile[0]:
            return divmod(elements, self.strides[1])
        across, within, kernel, _ = self.strides
        output, rest = divmod(elements, across)
        channel, rest = divmod(rest, kernel)
        row, col = divmod(rest, within)
        return output * self.period[0] + row, channel * self.period[1] + col


def grid_for(shape: Sequence[int], *, strip: bool = False) -> Grid:
    """Return the grid of a tensor of `shape`.

    Vectors are a block (or one row of cubes with `strip`), 3-D and 4-D tensors tiles of k or kh x kw in an out x in
    grid; further leading axes count as "out".
    """
    size = prod(shape)
    if size == 0:
        raise InputError(f"a tensor of shape {tuple(shape)} has no elements to draw; leave it out")
    if size > MAX_CELLS:
        raise InputError(f"a tensor of shape {tuple(shape)} has {size} elements; a plate holds at most {MAX_CELLS}")
    if len(shape) <= 1:
        return Grid((size, 1), (size, 1)) if strip else _fold((size, 1))
    if len(shape) == 2:
        rows, cols = shape
        if max(rows, cols) > FOLD_ASPECT * min(rows, cols):
            return _fold((rows, cols))
        return Grid((rows, cols), (rows, cols), strides=(0, cols, 0, 1))
    return _tiles(shape)


def _fold(shape: tuple[int, int]) -> Grid:
    size = shape[0] * shape[1]
    cols = size if size <= 8 else ceil(sqrt(size))
    return Grid(shape, (ceil(size / cols), cols), folded=True, strides=(0, cols, 0, 1))


def _tiles(shape: Sequence[int]) -> Grid:
    kh, kw = (1, shape[-1]) if len(shape) == 3 else (shape[-2], shape[-1])
    inputs = shape[1] if len(shape) == 3 else shape[-3]
    outputs = prod(shape) // (inputs * kh * kw)
    return Grid(
        (outputs * kh, inputs * kw),
        (outputs * (kh + 1) - 1, inputs * (kw + 1) - 1),
        tile=(kh, kw),
        strides=(inputs * kh * kw, kw, kh * kw, 1),
    )


@dataclass(frozen=True, eq=False)
class Plate:
    """One tensor (or one activation row) as a slab of cubes."""

    name: str  # the tensor's; of an activation row the stage's ("input": the sample itself)
    kind: Kind
    size: int
    grid: Grid
    origin: Floats  # world position of the middle of cell (row 0, column 0)
    # the way in which columns (index j) count, in which rows (index i) count, and out of the main face, which looks at
    # the viewer: at right angles, each as long as the pitch
    axes: Floats
    half: float  # half the side of a cube's main face, in pitches
    depth: float  # half the thickness, in pitches
    start: int = -1  # index of the first element in a frame's flat arrays; -1 for an activation row

    @property
    def pitch(self) -> float:
        """World units from one cube to the next."""
        return float(np.linalg.norm(self.axes[0]))

    @property
    def shape(self) -> tuple[int, int]:
        """Logical (rows, columns): ``weight[i][j]`` is cell (i, j), ``bias[i]`` is cell (i, 0)."""
        return self.grid.shape

    def cell_centre(self, i: int, j: int = 0) -> Floats:
        """Return the world position (3,) of the middle of a cube."""
        return self.centre_of(self.grid.element(i, j))

    def cell_corners(self, i: int, j: int = 0) -> Floats:
        """Return the cube's 8 corners (8, 3); the last four are the main face's."""
        return self.corners_of(self.grid.element(i, j))

    @property
    def last(self) -> int:
        """Cells in use in the last row; fewer than the columns only in a folded plate."""
        rows, cols = self.grid.cells
        return self.size - (rows - 1) * cols if self.grid.folded else cols

    @property
    def centres(self) -> Floats:
        """World positions (N, 3) of the middles of all cubes, in C order of the tensor."""
        row, col = self.grid.places(np.arange(self.size))
        return np.asarray(self.origin + col[:, None] * self.axes[0] + row[:, None] * self.axes[1])

    @property
    def tops(self) -> Floats:
        """World positions (N, 3) of the middles of the main faces."""
        return np.asarray(self.centres + self.depth * self.axes[2])

    def centre_of(self, element: int) -> Floats:
        """Return the world position (3,) of the middle of an element's cube, counted in C order of the tensor."""
        row, col = self.grid.places(element)
        return np.asarray(self.origin + col * self.axes[0] + row * self.axes[1])

    def corners_of(self, element: int, share: float = 1.0) -> Floats:
        """Return the 8 corners (8, 3) of an element's cube; the last four are the main face's.

        A smaller cube, whose side is a `share` of the largest, stands on the foot of the plate.
        """
        sides = _SIGNS * [self.half, self.half, self.depth]
        if share != 1.0:
            sides = share * sides - [0.0, 0.0, (1.0 - share) * self.depth]
        return np.asarray(self.centre_of(element) + sides @ self.axes)

    @property
    def extent(self) -> tuple[Floats, Floats]:
        """Low and high corner of the slab in cells: columns, rows, thickness, relative to `origin`."""
        rows, cols = self.grid.cells
        high = np.array([cols - 1 + self.half, rows - 1 + self.half, self.depth])
        return np.array([-self.half, -self.half, -self.depth]), high

    @property
    def corners(self) -> Floats:
        """The slab's 8 corners in the world (8, 3)."""
        low, high = self.extent
        return np.asarray(self.origin + np.where(_SIGNS > 0, high, low) @ self.axes)

    @property
    def bounds(self) -> Floats:
        """Low and high corner of the box around the slab in the world, shape (2, 3)."""
        return np.stack([self.corners.min(0), self.corners.max(0)])

    def scaled(self, pitch: float) -> Plate:
        """Return the same plate with another pitch; the middle of its first cube stays."""
        return replace(self, axes=self.axes * (pitch / self.pitch))

    def moved(self, shift: ArrayLike) -> Plate:
        """Return the same plate at another place."""
        return replace(self, origin=self.origin + np.asarray(shift, np.float64))


_SIGNS = np.array([[x, y, z] for z in (-1, 1) for y in (-1, 1) for x in (-1, 1)], np.float64)
