"""Where panels stand over the scene: in its upper right corner, or beside a stage or a unit, never on each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError, UnknownNameError, listing
from ...run.panels import Beside
from ..draw.places import COLUMN, MARGIN, Box
from ..draw.sketch import Sketch
from ..draw.theme import Theme
from ..shown.subject import Subject
from ..space.layout import Layout
from .drawer import Drawer

GROUND_MARGIN = 8.0
"""How far the ground of a panel over the scene reaches beyond it."""
_AWAY = 14.0
_SHARE, _SHARE_HIGH = 0.5, 0.85  # of the scene's sides that panels in the corner may take
_ABOVE, _CUBES = 0.6, 110.0  # of its height that those above the cubes may take, and the pixels that are the cubes' own
Project = Callable[[ArrayLike], NDArray[np.float64]]


def check_places(subject: Subject, drawers: Mapping[str, Drawer[Any]]) -> None:
    """Refuse places that there are not.

    Raises
    ------
    UnknownNameError
        A stage that the network has not.
    InputError
        A unit that the stage has not, or a kind of panel that is too large to stand beside one.
    """
    sizes = {"input": subject.source.n_inputs, **{stage.name: stage.outputs for stage in subject.stages}}
    small = sorted({d.name for d in drawers.values() if d.beside is not None} | {"image", "table"})
    for name, drawer in drawers.items():
        place = drawer.panel.place
        if not isinstance(place, Beside):
            continue
        if place.stage not in sizes:
            raise UnknownNameError(f"panel {name}: there is no stage {place.stage!r}; allowed: {listing(sizes)}")
        if place.unit is not None and not 0 <= place.unit < sizes[place.stage]:
            raise InputError(
                f"panel {name}: stage {place.stage!r} has no unit {place.unit}; allowed: 0 to {sizes[place.stage] - 1}"
            )
        if drawer.beside is None:
            raise InputError(f"panel {name}: this kind cannot stand beside a stage; allowed: {listing(small)}")


def overlay_boxes(drawers: Mapping[str, Drawer[Any]], scene: Box) -> dict[str, Box]:
    """One below the other in the upper right corner; those for which there is no room have none."""
    x, y, width, height = scene
    boxes: dict[str, Box] = {}
    top = y + GROUND_MARGIN
    for name, drawer in drawers.items():
        wide, high = drawer.overlay[0], drawer.overlay[1] or drawer.height
        if drawer.panel.place != "overlay" or wide > _SHARE * width or top + high > y + _SHARE_HIGH * height:
            continue
        boxes[name] = (x + width - wide - 2 * GROUND_MARGIN, top, wide, high)
        top += high + 3 * GROUND_MARGIN
    return boxes


def above_boxes(drawers: Mapping[str, Drawer[Any]], scene: Box) -> tuple[dict[str, Box], Box]:
    """Above the cubes, one below the other, and what is left of the scene; none where too little would be left."""
    x, y, width, height = scene
    boxes: dict[str, Box] = {}
    wanted = [(name, drawer) for name, drawer in drawers.items() if drawer.panel.place == "above"]
    room = width - 2 * (MARGIN + GROUND_MARGIN)
    for name, drawer in wanted:
        high = min(drawer.above, _ABOVE * height / len(wanted))
        if room < COLUMN or height - high < _CUBES:
            continue
        boxes[name] = (x + MARGIN + GROUND_MARGIN, y + GROUND_MARGIN, room, high)
        taken = high + 3 * GROUND_MARGIN
        y, height = y + taken, height - taken
    return boxes, (x, y, width, height)


def beside_boxes(
    drawers: Mapping[str, Drawer[Any]], layout: Layout, project: Project, scene: Box, taken: Sequence[Box]
) -> dict[str, Box]:
    """Right of their stage or unit, moved up or down where another stands; none where the stage is not drawn."""
    boxes: dict[str, Box] = {}
    for name, drawer in drawers.items():
        place = drawer.panel.place
        if not isinstance(place, Beside) or drawer.beside is None:
            continue
        ends = _anchor(place, layout, project)
        if ends is None:
            continue
        free = _free(ends, drawer.beside, scene, [*taken, *boxes.values()])
        if free is not None:
            boxes[name] = free
    return boxes


def _anchor(place: Beside, layout: Layout, project: Project) -> NDArray[np.float64] | None:
    """The leftmost and the rightmost pixel of a row of activations, or of one of its cubes; None: it is not drawn."""
    plate = layout.activation(place.stage)
    if plate is None:
        return None
    corners = project(plate.corners if place.unit is None else plate.corners_of(place.unit))
    return np.asarray(corners[[np.argmin(corners[:, 0]), np.argmax(corners[:, 0])]])


def _free(ends: NDArray[np.float64], size: tuple[float, float], scene: Box, taken: list[Box]) -> Box | None:
    """The place for a panel that is nearest to the right of `ends`, or else to their left, and on no other panel."""
    (wide, high), (x, _, width, height), m = size, scene, GROUND_MARGIN
    if wide + 2 * m > width or high + 2 * m > 0.5 * height:  # it would hide what it explains
        return None
    for left, middle in ((ends[1, 0] + _AWAY, ends[1, 1]), (ends[0, 0] - _AWAY - wide, ends[0, 1])):
        if x + m <= left <= x + width - wide - m:
            top = _height_free((float(left), wide), float(middle) - high / 2, high, scene, taken)
            if top is not None:
                return float(left), top, wide, high
    return None


def _height_free(across: tuple[float, float], wished: float, high: float, scene: Box, taken: list[Box]) -> float | None:
    """The upper edge nearest to `wished` at which nothing else stands."""
    (left, wide), (_, y, _, height), m = across, scene, GROUND_MARGIN
    edges = [top for _, t, _, h in taken for top in (t + h + 2 * m + 1, t - high - 2 * m - 1)]
    inside = (min(max(edge, y + m), y + height - high - m) for edge in (wished, *edges))
    for top in sorted(inside, key=lambda edge: abs(edge - wished)):
        if all(_apart((left, top, wide, high), other, 2 * m) for other in taken):
            return top
    return None


def _apart(a: Box, b: Box, gap: float) -> bool:
    return (
        a[0] + a[2] + gap <= b[0] or b[0] + b[2] + gap <= a[0] or a[1] + a[3] + gap <= b[1] or b[1] + b[3] + gap <= a[1]
    )


def backed(box: Box, theme: Theme) -> Sketch:
    """The ground of a panel over the scene."""
    sketch, m = Sketch(), GROUND_MARGIN
    x, y, width, height = box
    sketch.rect(x - m, y - m, width + 2 * m, height + 2 * m, fill=theme.panel, stroke=theme.border, radius=6)
    return sketch
