"""The drawer of what a network gets of a point: a column of small maps with switches, left of the cubes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...run.panels import Features
from ...run.source import Moment
from ..ink.boxes import LABEL, MARGIN
from ..ink.maps import signed_shades
from ..ink.sketch import Kept, Sketch, Spot, rgba, spot_at
from ..ink.text import measure
from ..ink.theme import rgb
from ..ink.widgets import HIGH, WIDE, knob
from ..space.arrangement import Project
from ..space.chain import chain_of
from ..space.plate import Plate
from .drawer import Drawer, Ground, Point, Setting, Tip, cut
from .grid import fractions, places, tile_cells, tiled
from .neuron_maps import rows_of

CELLS = 24
PITCH, SIDE = 60.0, 46.0
LEFT = 176.0
"""Pixels left of the cubes."""
_NAMES, _GAP = 33.0, 8.0  # least width of the names, and what stands between name, map and switch
_LEAST = 22.0  # pixels of a line with a name and a switch
_OFF = 0.28
_HEAD = 22.0
_LEVEL = 48.0  # pixels before a row of cubes in which its line is level


class FeaturesDrawer(Drawer[Features]):
    """One line a feature."""

    name = "features"
    needs = ("predict",)

    def __init__(self, panel: Features, ground: Ground) -> None:
        super().__init__(panel, ground)
        self.spots: list[Spot] = []  # where each can be clicked
        self.gestures = (("Click", "a feature: the network gets it, or no more"),) if panel.change else ()
        self._on: tuple[bool, ...] = ()
        self._rows: list[int | None] = []
        self._values: NDArray[np.floating] | None = None
        self._pixels = Kept[NDArray[np.uint8]]()
        self._drawn = Kept[Sequence[Sketch]]()

    def beside_cubes(self, width: float, height: float) -> float:
        """The column, and room for its lines to the cubes; nothing where it is too high or too wide."""
        wide = max(_NAMES, *(measure(name, LABEL, True) for name in self.panel.names)) - _NAMES
        fits = width >= 460 and _pitch(height, len(self.panel.names)) >= _LEAST
        return LEFT + min(wide, 60.0) if fits else 0.0

    def look(self, moment: Moment, seconds: float | None) -> None:
        """Which are on, and what they are over the plane."""
        count = len(self.panel.names)
        try:
            on = tuple(bool(flag) for flag in self.panel.on(moment))
            rows = rows_of(self.panel, moment)
            if self._values is None:
                points = places(self.panel.across, self.panel.up, *[fractions(CELLS)] * 2)
                self._values = np.asarray(self.panel.values(points), float).reshape(CELLS, CELLS, count)
            if len(on) != count or len(rows) != count:
                raise ValueError(f"there are {count} features, but {len(on)} on or off, {len(rows)} rows")
        except Exception as error:  # the scene's own functions
            self.ground.failed("features", error)
            self._on = ()
            return
        self._on, self._rows = on, rows

    # ---- what it looks like

    def around(self, setting: Setting) -> Sequence[Sketch]:
        """The column, and a line from each that is on to its row of cubes; kept while all of it is the same."""
        subject = self.ground.subject
        key = (setting, self.ground.theme, self._on, tuple(self._rows), self._over, self._switches, subject.tensors)
        found = self._drawn.of(key, lambda: self._column(setting))
        self.spots = [spot for sketch in found for spot in sketch.spots]
        return found

    def _column(self, setting: Setting) -> Sequence[Sketch]:
        left, top, wide, high = setting.window
        room, pitch = self.beside_cubes(wide, high - 12.0), _pitch(high - 12.0, len(self.panel.names))
        if not self._on or not room:
            return ()
        theme, side = self.ground.theme, min(SIDE, pitch - 8.0)
        sketch, picture, plate = Sketch(), Sketch(), self._plate(setting)
        x, y = left + MARGIN, top + 12.0  # the scene begins below the window in which cubes may be seen
        sketch.text(x, y + 12, "features", LABEL, theme.text1, bold=True)
        names = x + room - LEFT + _NAMES
        rects, numbers = [], []
        for k, (name, on) in enumerate(zip(self.panel.names, self._on, strict=True)):
            middle = y + _HEAD + pitch * (k + 0.5)
            ink = theme.text1 if on else theme.text3
            sketch.text(names, middle + 5, cut(name, names - x, bold=on), LABEL, ink, bold=on, anchor="right")
            box = (round(names + _GAP), round(middle - side / 2), side, side)
            rects.append(box)
            numbers.append(2 * k + (not on))
            sketch.rect(box[0] - 1, box[1] - 1, side + 2, side + 2, radius=3,
                        stroke=theme.flow if on or self._over == k else theme.border)  # fmt: skip
            end = box[0] + side
            if self._switches:
                knob(sketch, end + _GAP, middle - HIGH / 2, theme, on=on, over=self._over == k)
                end += _GAP + WIDE
                begin = names - measure(name, LABEL, True)
                sketch.spot((begin, middle - pitch / 2, end - begin, pitch), "feature", k, words=name)
            row = self._rows[k]
            if plate is not None and row is not None and 0 <= row < plate.shape[1]:
                self._to_cubes(sketch, (end + 1, middle), plate, row, setting.project, on=on)
        cells = tile_cells(np.array(numbers), 2 * len(self.panel.names), CELLS)
        picture.sprites(rects, cells, self._pixels.of(theme, self._painted), linear=True)
        return [sketch, picture]

    @property
    def _switches(self) -> bool:
        return self.panel.change is not None and self.ground.teaches

    def _plate(self, setting: Setting) -> Plate | None:
        """The first layer's cubes."""
        subject = self.ground.subject
        chain = chain_of([t for t in subject.tensors if t.size and t.role != "count"], subject.stages)
        return setting.plates.get(chain[0].weight.name) if chain and setting.turns else None

    def _to_cubes(self, sketch: Sketch, start: Point, plate: Plate, row: int, project: Project, *, on: bool) -> None:
        """A line from a feature to its row of cubes; where it is off they are dim: they are multiplied by 0."""
        if not on:
            for unit in range(plate.shape[0]):
                face = project(plate.cell_corners(unit, row)[4:])[[0, 1, 3, 2]]
                sketch.polygon(face, rgba(self.ground.theme.background, 1 - _OFF - 0.17))
            return
        edge = plate.cell_centre(0, row) - 0.62 * plate.axes[1] + plate.depth * plate.axes[2]
        x, y = (float(v) for v in project(edge[None])[0])
        if x > start[0] + 8:  # level at both ends: further left than the word beside the biases it goes up or down
            first, last = start[0] + 0.1 * (x - start[0]), max(x - _LEVEL, start[0] + 0.4 * (x - start[0]))
            way = [start, (first, start[1]), (last, y), (x, y)]
            sketch.polyline(np.array(way), self.ground.theme.flow, 1.4)

    def _painted(self) -> NDArray[np.uint8]:
        """Every feature twice side by side, bright and dim."""
        assert self._values is not None
        theme = self.ground.theme
        tiles, ground = [], np.array(rgb(theme.background)) * 255
        for k in range(len(self.panel.names)):
            values = self._values[..., k]
            largest = float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values))) or 1.0
            bright = signed_shades(values, (-largest, largest), theme)
            tiles += [bright, np.rint(_OFF * bright + (1 - _OFF) * ground).astype(np.uint8)]
        return tiled(tiles)

    # ---- hands

    @property
    def _over(self) -> int | None:
        return None if self.pointer is None else self.under(self.pointer)

    def under(self, at: Point) -> int | None:
        """A feature."""
        found = spot_at(self.spots, at)
        return None if found is None else int(found.value)

    def covers(self, at: Point) -> bool:
        """Names, maps and switches."""
        return self.under(at) is not None

    def hover(self, at: Point | None) -> bool:
        """The one under the pointer lights up."""
        before, moved = self._over, super().hover(at)
        self.stale |= before != self._over
        return moved

    def drag(self, at: Point, by: Point, button: str) -> bool:
        """A drag that begins here turns nothing."""
        return True

    def _tip(self, moment: Moment, at: Point) -> Tip | None:
        """What a click does."""
        over = self.under(at)
        if over is None or over >= len(self._on):
            return None
        gets, then = ("gets it", "off") if self._on[over] else ("does not get it", "on")
        return self.panel.names[over], f"the network {gets}", [f"click: switch it {then}"]

    def click(self, at: Point) -> bool:
        """Switch a feature."""
        index = self.under(at)
        if index is None or self.panel.change is None:
            return False
        self.ground.edit(self.panel.change(self.panel.names[index]))
        return True


def _pitch(height: float, count: int) -> float:
    """Pixels from one feature to the next in a scene of this height."""
    return min(PITCH, (height - _HEAD - 8.0) / max(count, 1))
