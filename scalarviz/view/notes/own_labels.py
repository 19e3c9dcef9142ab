"""Labels that cubes were given by hand: above their cubes, on no other word where there is room."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..cubes.own import OwnLook
from ..cubes.picking import Shares
from ..ink.places import LABEL
from ..ink.sketch import Box, Sketch, holds
from ..ink.text import measure
from ..ink.theme import Theme
from ..space.camera import Camera
from ..space.plate import Plate

_PAD, _HIGH = 7.0, 20.0
_AWAY = (16.0, 30.0, 46.0, 64.0, 84.0, 106.0)
"""Pixels above the cube that are tried."""
Floats = NDArray[np.float64]
Project = Callable[[ArrayLike], Floats]


def own_labels(
    own: Mapping[int, OwnLook],
    plates: Sequence[Plate],
    camera: Camera,
    project: Project,
    shares: Shares,
    box: Box,
    theme: Theme,
    around: Sequence[Sketch] = (),
) -> Sketch:
    """A label above each cube that has one and is drawn, joined with the far edge of its face by a line.

    Parameters
    ----------
    own : mapping of int to OwnLook
        By flat index.
    plates : sequence of Plate
        Of the layout.
    camera : Camera
        What it is seen with.
    project : callable
        World points to logical pixels.
    shares : callable
        How large cubes are, by plate and element.
    box : Box
        Where labels may stand.
    around : sequence of Sketch
        What is written there already.
    """
    sketch = Sketch()
    taken = [_box_of(item.x, item.y, item.text, item.size, item.bold, item.anchor)
             for part in around for item in part.texts]  # fmt: skip
    for index, look in sorted(own.items()):
        end = _edge(index, plates, camera, project, shares) if look.label else None
        if end is None or not holds(box, end):
            continue
        width = measure(look.label, LABEL) + 2 * _PAD
        places = list(_places(end, width, box))
        x, y = min(places, key=lambda at, width=width, end=end: _cost(at, width, end, taken))  # type: ignore[misc]
        taken.append((x, y, width, _HIGH))
        sketch.line(_foot((x, y), width, end), end, theme.selection, 1.4)
        sketch.disc(*end, 2.5, theme.selection)
        sketch.rect(x, y, width, _HIGH, radius=4, fill=theme.panel, stroke=theme.selection)
        sketch.text(x + _PAD, y + 14.5, look.label, LABEL, theme.text1)
    return sketch


def _edge(
    index: int, plates: Sequence[Plate], camera: Camera, project: Project, shares: Shares
) -> tuple[float, float] | None:
    """The middle of the upper edge of a cube's face; None for one that is not drawn."""
    for number, plate in enumerate(plates):
        element = index - plate.start
        if plate.kind != "activation" and 0 <= element < plate.size:
            share = shares(number, element)
            face = plate.corners_of(element, share)[[4, 5, 7, 6]]
            if share <= 0.0 or np.min(face @ camera.matrix[3, :3] + camera.matrix[3, 3]) <= 1e-6:
                return None
            ring = project(face)
            middles = (ring + np.roll(ring, -1, axis=0)) / 2
            x, y = middles[np.argmin(middles[:, 1])]
            return float(x), float(y)
    return None


def _places(end: tuple[float, float], width: float, box: Box) -> Iterator[tuple[float, float]]:
    """Left upper corners above a point, inside the box, the nearest first."""
    x0, y0, wide, _ = box
    for away in _AWAY:
        for aside in (0.0, 0.6, -0.6, 1.2, -1.2):
            x = min(max(end[0] + (aside - 0.5) * width, x0 + 2), x0 + wide - width - 2)
            yield x, max(end[1] - away - _HIGH, y0 + 2)


def _foot(at: tuple[float, float], width: float, end: tuple[float, float]) -> tuple[float, float]:
    """Where the line leaves a label."""
    return min(max(end[0], at[0] + 4), at[0] + width - 4), at[1] + _HIGH


def _cost(at: tuple[float, float], width: float, end: tuple[float, float], taken: Sequence[Box]) -> int:
    """Two for each word that a label would lie on, one for each that its line would cross."""
    way = np.linspace(_foot(at, width, end), end, 9)[:-1]
    return sum(
        2 * _meet((*at, width, _HIGH), other) + any(holds(other, (float(x), float(y))) for x, y in way)
        for other in taken
    )


def _box_of(x: float, y: float, text: str, size: float, bold: bool, anchor: str) -> Box:
    """A written word, with the chip that it may stand in."""
    wide, air = measure(text, size, bold), 8.0
    left = x - {"left": 0.0, "middle": 0.5, "right": 1.0}[anchor] * wide
    return left - air, y - 0.8 * size - air / 2, wide + 2 * air, size + air


def _meet(a: Box, b: Box) -> bool:
    return a[0] < b[0] + b[2] and b[0] < a[0] + a[2] and a[1] < b[1] + b[3] and b[1] < a[1] + a[3]
