"""Where panels stand over the scene: in its upper right corner, or beside a stage or a unit, never on each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError, UnknownNameError, listing
from ...run.panels import Beside
from ..ink.places import ABOUT, COLUMN, LABEL, MARGIN, Wanted
from ..ink.sketch import Box, Sketch, holds, meet
from ..ink.text import measure
from ..ink.theme import Theme
from ..panels.drawer import Drawer, Ground, Point
from ..shown.subject import Subject
from ..space.layout import Layout

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
        if not any(meet((left, top, wide, high), other, 2 * m) for other in taken):
            return top
    return None


def backed(box: Box, theme: Theme) -> Sketch:
    """The ground of a panel over the scene."""
    sketch, m = Sketch(), GROUND_MARGIN
    x, y, width, height = box
    sketch.rect(x - m, y - m, width + 2 * m, height + 2 * m, fill=theme.panel, stroke=theme.border, radius=6)
    return sketch


# ---- `Column`: which panels want the side column, in which order, and the line that tells of those left out.


class Column:
    """The panels of the column, by name; of those without room a line tells, and a click on it puts them first.

    Attributes
    ----------
    names : list of str
        In their order.
    """

    def __init__(self, drawers: Mapping[str, Drawer[Any]], ground: Ground) -> None:
        self._drawers, self._ground = drawers, ground
        self.names = [name for name, drawer in drawers.items() if drawer.panel.place == "column"]
        self._lodged: tuple[str, ...] = ()
        self._turned = False  # whether another page than the first is shown
        self._alone = ""  # the one on this page, where only one has room
        self._left_out: tuple[str, ...] = ()
        self._more: Box | None = None

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def wanted(self, *, spread: bool = False) -> list[Wanted]:
        """What it is to hold, those of this page first; `spread`: those that can draw among the cubes do.

        On another page than the first none is worth more than others; where only one has room, it is that page's.
        """
        found: list[Wanted] = []
        for name in self.names:
            d = self._drawers[name]
            worth = min(d.worth, ABOUT) if name in self._lodged else d.worth  # behind what is the column's own
            if self._turned:
                worth = ABOUT if name == self._alone else 0
            high = (d.spread if spread else None) or d.height
            found.append(Wanted(name, high, d.most, worth, d.first, d.wide))
        return found

    def smaller(self) -> list[Wanted]:
        """The same as small as they can still be read, for a place beside the controls.

        First what shows the answer at a glance, so that it is seen what a knob does, then what is to be kept.
        """
        drawers = [(name, self._drawers[name]) for name in self.names]
        drawers.sort(key=lambda one: (one[1].worth < ABOUT, not one[1].first))
        return [Wanted(name, d.least or d.height, max(d.most, d.height), d.worth, d.first) for name, d in drawers]

    def lodge(self, names: Sequence[str]) -> bool:
        """Take in these from other places, where they have no room, behind all others; returns whether they are new."""
        if tuple(names) == self._lodged:
            return False
        own = [name for name in self.names if name not in self._lodged]
        self.names, self._lodged = [*own, *names], tuple(names)
        return True

    def leave_out(self, names: Sequence[str], more: Box | None) -> None:
        """These have no room; `more` is the place of the line that says so."""
        self._left_out, self._more = tuple(names), more

    def told(self) -> list[Sketch]:
        """How many panels have no room, and how to see them."""
        if not self._left_out or self._more is None or (self._ground.theme.presenter and not self._ground.hints):
            return []
        sketch, count, box = Sketch(), len(self._left_out), self._more
        line = f"+{count} panel{'s' if count > 1 else ''}"
        if self._ground.hints:
            line += " (click)"
        sketch.text(box[0], box[1] + box[3] - 4, line, LABEL, self._ground.theme.text3)
        return [sketch]

    def on_more(self, point: Point) -> bool:
        """Whether a point is on that line."""
        if self._more is None or not self._left_out:
            return False
        x, y, width, height = self._more
        return holds((x, y, min(width, measure("+99 panels (click)", LABEL)), height), point)

    def turn_page(self) -> None:
        """Those without room come first, or one after the other where there is room for one; lay out again after it."""
        self._turned = True
        there = [name for name in self.names if name not in self._left_out]
        if len(there) == 1 and self._left_out:
            self._alone = self.names[(self.names.index(there[0]) + 1) % len(self.names)]
            return
        self._alone = ""
        fixed = [name for name in self.names if not self._drawers[name].first]
        order = [n for n in fixed if n in self._left_out] + [n for n in fixed if n not in self._left_out]
        turned = iter(order)
        self.names = [next(turned) if name in fixed else name for name in self.names]
