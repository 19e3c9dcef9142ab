"""The shader of the cubes: a box per plate, whose fragment shader walks the plate's grid.

A plate's own coordinates are cells: x counts columns (cell c spans c..c+1), y rows, z is 0 in the middle of its
thickness. The eye's ray is stepped from cell to cell until it meets a cube (Amanatides and Woo, "A fast voxel traversal
algorithm", 1987). The text lies in ``view/glsl/cubes_*.glsl`` and is compiled in variants, since a software renderer
executes both sides of every `if`:

``DETAIL``  cubes of 6 px and more: gaps, rims, marks.
(none)      cubes of 1 to 6 px: flat cells without gaps, marks as patterns.
``AVERAGE`` cubes below a pixel: the mean colour of NU x NV samples of the pixel's footprint.
``MEANS``   there are more cubes in a pixel than samples: of blocks that were averaged before, see `means`.
``FLAGS``   some cell carries a mark other than "clipped".
``TILED``   some plate has gaps between convolution tiles or a last row that is not full.
``CURVED``  some plate has a logarithmic scale.
``OWN``     some cube has a look that was given by hand: see `own`; with it goes
``SIZED``   cubes are as large as their numbers, or small ones are hidden: see `sizes`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..glsl import read
from .sizes import LEAST


@dataclass(frozen=True, slots=True)
class Variant:
    """Which of the shaders: see the module's text.

    Attributes
    ----------
    detail, flags, tiled, curved, sized, own, means : bool
        The names above.
    samples : int
        Samples of a pixel's footprint along each of the screen's axes; 0 walks the grid.
    """

    detail: bool = False
    samples: int = 0
    flags: bool = False
    tiled: bool = False
    curved: bool = False
    sized: bool = False
    own: bool = False
    means: bool = False


def vertex() -> str:
    """The vertex shader of all variants."""
    return read("cubes_vertex")


def fragment(variant: Variant, *, knee: float, table: int) -> str:
    """The fragment shader of one variant.

    Parameters
    ----------
    variant : Variant
        What it can do.
    knee : float
        Of the symmetric-log scale.
    table : int
        Texels of a colour map.
    """
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
