"""The signs on the panel's buttons: those of the time bar, and two more."""

from __future__ import annotations

import numpy as np

from ..draw.places import Box
from ..draw.sketch import Sketch
from ..time.buttons import draw_sign


def draw_action(sketch: Sketch, action: str, box: Box, colour: str, *, running: bool) -> None:
    """The sign of an action in the middle of a box."""
    x, y, wide, high = box
    at, middle = x + wide / 2, y + high / 2
    if action == "restart":
        _round(sketch, at, middle, colour)
    elif action == "micro_next":
        for k in range(3):
            sketch.disc(at - 11 + 7 * k, middle, 2.0, colour)
        sketch.arrow((at + 4, middle), (at + 14, middle), colour, 2.0, head=8.0)
    else:
        draw_sign(sketch, action, box, colour, running=running)


def _round(sketch: Sketch, at: float, middle: float, colour: str) -> None:
    """An arrow that goes round and comes back."""
    turn = np.linspace(-0.25 * np.pi, 1.45 * np.pi, 22)
    ring = np.stack([at + 7.5 * np.cos(turn), middle + 1 + 7.5 * np.sin(turn)], 1)
    sketch.polyline(ring, colour, 2.2)
    x, y = (float(part) for part in ring[0])
    sketch.polygon([(x + 3.5, y - 5.5), (x + 3.0, y + 3.5), (x - 5.0, y - 0.5)], colour)
