"""The shader of the cubes: a box per plate, whose fragment shader walks the plate's grid.

A plate's own coordinates are cells: x counts columns (cell c spans c..c+1), y rows, z is 0 in the middle of
its thickness. The eye's ray is stepped from cell to cell until it meets a cube (Amanatides and Woo, "A fast
voxel traversal algorithm", 1987). The text lies in ``view/glsl/cubes_*.glsl`` and is compiled in variants,
since a software renderer executes both sides of every `if`:

``DETAIL``  cubes of 6 px and more: gaps, rims, marks.
(none)      cubes of 1 to 6 px: flat cells without gaps, marks as patterns.
``AVERAGE`` cubes below a pixel: the mean colour of NU x NV samples of the pixel's footprint.
``MEANS``   there are more cubes in a pixel than samples: of blocks that were averaged before, see `slab`.
``FLAGS``   some cell carries a mark other than "clipped".
``TILED``   some plate has gaps between convolution tiles or a last row that is not full.
``CURVED``  some plate has a logarithmic scale.
``OWN``     some cube has a look that was given by hand: see `own`; with it goes
``SIZED``   cubes are as large as their numbers, or small ones are hidden: see `atlas`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..glsl import read
from ..space.layout import Layout
from ..space.plate import Plate
from .atlas import LEAST, Atlas


@dataclass(frozen=True, slots=True)
class Variant:
    """Which of the shaders: see the module's text."""

    detail: bool = False
    samples: int = 0  # of a pixel's footprint along each of the screen's axes; 0 walks the grid
    flags: bool = False
    tiled: bool = False
    curved: bool = False
    sized: bool = False
    own: bool = False
    means: bool = False


def fragment(variant: Variant, *, knee: float, table: int) -> str:
    """The fragment shader of one variant; `knee` is of the symmetric-log scale, `table` the texels of a colour map."""
    head = f"#version 120\n#define KNEE {knee:.1f}\n#define TABLE {table:.1f}\n#define LEAST {LEAST:g}\n"
    head += "".join(
        f"#define {name.upper()}\n"
        for name in ("flags", "tiled", "curved", "sized", "own", "means")
        if getattr(variant, name)
    )
    if variant.samples:
        head += f"#define NU {variant.samples}\n#define NV {variant.samples}\n"
        return head + read("cubes_common") + read("cubes_average")
    marks = read("cubes_marks") if variant.detail else ""
    return head + ("#define DETAIL\n" if variant.detail else "") + read("cubes_common") + marks + read("cubes_walk")


# ---- The boxes of the plates as vertices and triangles: each corner carries its plate's constants.

_VERTEX_TYPE = [
    ("a_pos", np.float32, 3), ("a_origin", np.float32, 3),
    ("a_u", np.float32, 3), ("a_v", np.float32, 3), ("a_w", np.float32, 3),
    ("a_dims", np.float32, 4), ("a_place", np.float32, 4), ("a_strides", np.float32, 4),
    ("a_range", np.float32, 4), ("a_style", np.float32, 4),
]  # fmt: skip

_CORNERS = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)])
# Two triangles a face, counter-clockwise seen from outside in a right-handed frame.
_FACES = np.array(
    [[0, 2, 1], [1, 2, 3], [4, 5, 6], [5, 7, 6], [0, 1, 4], [1, 5, 4], [2, 6, 3], [3, 6, 7], [0, 4, 2], [2, 4, 6],
     [1, 3, 5], [3, 7, 5]]
)  # fmt: skip


def vertices(layout: Layout, atlas: Atlas) -> NDArray[np.void]:
    """Eight corners a plate, each carrying the plate's constants."""
    table = np.zeros(8 * len(layout.plates), _VERTEX_TYPE)
    for index, plate in enumerate(layout.plates):
        block = table[8 * index : 8 * index + 8]
        rows, cols = plate.grid.cells
        low, high = plate.extent
        half_cell = np.array([0.5, 0.5, 0.0])
        block["a_pos"] = np.where(_CORNERS, high + half_cell, low + half_cell)
        block["a_origin"] = plate.origin - 0.5 * (plate.axes[0] + plate.axes[1])
        block["a_u"], block["a_v"], block["a_w"] = plate.axes
        block["a_dims"] = (cols, rows, plate.half, plate.depth)
        start = atlas.span(plate).start
        width = atlas.shape[1]
        period = plate.grid.period
        block["a_place"] = (period[1], period[0], start % width, start // width)
        block["a_strides"] = plate.grid.strides
        block["a_style"] = (*front_sides(plate), plate.last, upright(plate))
    return table


def front_sides(plate: Plate) -> tuple[float, float]:
    """Which of the two kinds of side looks along y and so at the viewer: 1 or 0."""
    u, v = (float(part > 0.5 * plate.pitch) for part in np.abs(plate.axes[:2, 1]))
    return u, v


def upright(plate: Plate) -> int:
    """Which of a plate's directions is down for its marks: see ``a_style`` in the shader."""
    u, v = np.abs(plate.axes[:2, 2]) > 0.5 * plate.pitch
    if u or v:
        return 2 if u else 1
    return 3 if abs(plate.axes[0][1]) > 0.5 * plate.pitch else 0  # lying: down is towards the viewer


def indices(layout: Layout, members: list[int]) -> NDArray[np.uint32]:
    """Triangles of some plates, all counter-clockwise from outside."""
    parts = []
    for index in members:
        right_handed = np.linalg.det(layout.plates[index].axes) > 0
        parts.append(8 * index + (_FACES if right_handed else _FACES[:, ::-1]))
    return np.concatenate(parts).astype(np.uint32).ravel()
