"""A workbench's picture as SVG: texts, lines and cubes as such, so that it is sharp at any size and can be edited."""

from __future__ import annotations

import numpy as np

from ..cubes.outlined import can_be_outlined, outlined
from ..ink.sketch import Box, Sketch
from ..ink.svg import picture_svg
from ..workbench import Workbench
from .offscreen import offscreen

SVG = ".svg"
FINE = 2
"""Pixels of an image inside that one of the picture has."""


def svg_of_bench(bench: Workbench, title: str = "") -> str:
    """The text of the picture.

    Of more than 5,000 cubes, of cubes that have marks or looks given by hand, and of several networks side by side,
    what lies below the texts is an image inside it.
    """
    size = bench.places.size
    below: tuple[list[Sketch], Box | None]
    if type(bench) is Workbench and can_be_outlined(bench.slab):
        below = [outlined(bench.slab, bench.camera, bench.project)], bench.window
    else:
        sketch, pixels = Sketch(), (round(FINE * size[0]), round(FINE * size[1]))
        sketch.image((0.0, 0.0, *size), np.asarray(offscreen().render(bench.draw_below, pixels)))
        below = [sketch], None
    layers = [below, *((part, None) for part in (bench.sketches, *bench.overlays) if part)]
    return picture_svg(size, bench.ground, layers, title, bench.size)
