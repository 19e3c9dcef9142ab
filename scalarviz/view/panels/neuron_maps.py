"""The drawer of small maps beside neurons: each one's output over the plane, and a card of the one pointed at."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...run.panels import NeuronMaps
from ...run.source import Moment
from ..cubes.scale import LegendScale
from ..ink.maps import get_map, signed_shades
from ..ink.overlay import pointer_label
from ..ink.places import LABEL
from ..ink.sketch import Box, Sketch, holds
from ..ink.text import measure, number, short
from ..ink.theme import Theme
from ..ink.widgets import button, plus
from .drawer import Drawer, Ground, Point, Setting
from .neuron_card import Hidden, card, hidden_of
from .plane_work import PlaneWork, tile_cells, tiled

LEVELS = (10, 14, 20, 28, 40)
BOUNDED = {"tanh": 1.0, "sigmoid": 1.0}
"""The largest output of units of these kinds."""

Spot = tuple[Hidden, int]
"""A unit of a layer."""


class NeuronMapsDrawer(Drawer[NeuronMaps]):
    """All maps are parts of one picture.

    Attributes
    ----------
    work : PlaneWork
        The outputs of all hidden units, one after the other.
    layers : list of Hidden
    boxes : dict of (int, int) to Box
        Where each unit can be pointed at, by layer and number.
    """

    name = "neurons"
    needs = ("predict",)
    turns = True
    gestures: tuple[tuple[str, str], ...] = (("Point", "at a neuron's small map: see it large, with its weights"),)

    def __init__(self, panel: NeuronMaps, ground: Ground) -> None:
        super().__init__(panel, ground)
        self.layers = hidden_of(ground.subject)
        self.work = PlaneWork(panel.across, panel.up, panel.inputs, None, ground.hints, LEVELS)
        self.boxes: dict[tuple[int, int], Box] = {}
        self._of: object = None  # the network whose layers they are
        self._side = 0.0
        self._places: NeuronPlaces | None = None
        self._marked: tuple[object, Sketch] | None = None
        self._largest = 1.0
        self._pixels: NDArray[np.uint8] | None = None
        self._painted: Theme | None = None
        self._moment: Moment | None = None
        self._over: tuple[int, int] | None = None
        self._layer: int | None = None  # whose buttons are shown
        self._pointer: Point = (0.0, 0.0)
        if panel.change is not None:
            self.gestures = (*self.gestures, ("Point", "at a layer: + and - for its neurons, and for layers"))
        self._error = ""

    @property
    def moving(self) -> bool:
        """Whether the maps are of a frame before."""
        return not self._error and self._moment is not None and bool(self.layers) and self.work.late(self._moment)

    @property
    def scale(self) -> LegendScale | None:
        """What their colours are."""
        if not self.layers or self._pixels is None or self._side == 0.0:
            return None
        whole = self._largest.is_integer() and self._largest < 1e4
        ends = [number(v, 0, signed=True) if whole else short(v, signed=True) for v in (-self._largest, self._largest)]
        kinds = ", ".join(dict.fromkeys(layer.kind for layer in self.layers if layer.kind != "linear"))
        labels = [(0.0, ends[0]), (0.5, "0"), (1.0, ends[1])]
        return LegendScale("output of a neuron", kinds, get_map("weight", self.ground.theme), labels, np.empty(0))

    # ---- what it looks like

    def look(self, moment: Moment, seconds: float | None) -> None:
        """Work out what there is time for."""
        self._follow(moment)
        self._moment = moment
        if not self.layers or not moment.source.can.predict:
            return
        try:
            changed = self.work.update(moment, self._ask)
            while self.work.rows is None:
                changed = self.work.update(moment, self._ask)
        except Exception as error:  # the scene's own function: maps go, the console is told, the picture goes on
            self._error, self._pixels = self.ground.failed("maps of neurons", error), None
            return
        self._error = ""
        if changed or self._pixels is None or self._painted is not self.ground.theme:
            start = time.perf_counter()
            self._paint()
            self.work.spent(time.perf_counter() - start)

    def _follow(self, moment: Moment) -> None:
        """Layers, where the run has got other ones."""
        subject = self.ground.subject
        now = (subject.tensors, subject.stages)
        if self._of != now:
            if self._of is not None:
                self.layers, self._pixels, self._places, self.boxes = hidden_of(subject), None, None, {}
                self.work = PlaneWork(self.panel.across, self.panel.up, self.panel.inputs, None, self.ground.hints,
                                      LEVELS)  # fmt: skip
            self._of = now

    def _ask(self, moment: Moment, samples: NDArray[np.floating]) -> NDArray[np.floating]:
        """The outputs of all units (N, units) for samples."""
        names = [layer.row for layer in self.layers]
        rows = moment.rows(samples, *names)
        return np.concatenate([rows[name] for name in names], axis=1)

    def _paint(self) -> None:
        """All maps side by side in one picture."""
        rows, theme = self.work.rows, self.ground.theme
        assert rows is not None
        self._largest = self._span(rows)
        maps = signed_shades(np.moveaxis(rows, 2, 0), (-self._largest, self._largest), theme)
        self._pixels = tiled(list(maps))
        self._painted = theme

    def _span(self, rows: NDArray[np.floating]) -> float:
        """The output that is wholly blue: the bound of the activation, or the next round number above all of them."""
        largest, start = 0.0, 0
        for layer in self.layers:
            part = np.abs(rows[..., start : start + layer.units])
            start += layer.units
            seen = float(np.max(part, initial=0.0, where=np.isfinite(part)))
            largest = max(largest, BOUNDED.get(layer.kind, seen))
        return rounded_up(largest)

    def around(self, setting: Setting) -> Sequence[Sketch]:
        """The maps, their edges and names."""
        if self._places is None or self._places.setting is not setting:
            self._places, self._marked = NeuronPlaces(self.layers, setting), None
        places = self._places
        self._side = places.side
        self.boxes = {} if self._pixels is None else places.boxes
        if self._pixels is None or self.work.rows is None:
            return ()
        picture = Sketch()
        if places.drawn:
            cells = tile_cells(places.numbers, self.work.rows.shape[2], len(self.work.rows))
            picture.sprites(places.rects, cells, self._pixels, linear=True)
        at = self._sample()
        key = (self.ground.theme, self._over, at)
        if self._marked is None or self._marked[0] != key:
            self._marked = key, self._marks(places, at)
        return [picture, self._marked[1]]

    def _marks(self, places: NeuronPlaces, at: Point | None) -> Sketch:
        """The edges of the maps, the place of the sample on each, and their names."""
        sketch, theme = Sketch(over=True), self.ground.theme
        for key in places.drawn:
            x, y, wide, high = places.boxes[key]
            sketch.rect(x - 1, y - 1, wide + 2, high + 2, stroke=theme.flow, radius=3)
            if key == self._over:
                sketch.rect(x - 2, y - 2, wide + 4, high + 4, stroke=theme.selection, border=2.6, radius=4)
            if at is not None and wide >= SMALL:
                middle = (x + at[0] * wide, y + (1 - at[1]) * high)
                sketch.disc(*middle, 2.4 + wide / 48, fill=theme.selection, stroke=theme.background, border=1.2)
            sketch.text(x + wide + 4, y + 10, places.names.get(key, ""), LABEL, theme.text2, bold=True)
        return sketch

    def _sample(self) -> Point | None:
        """Where the sample whose way is drawn lies on the plane, as fractions from the lower left; None elsewhere."""
        probe, panel = self.ground.subject.probe, self.panel
        if probe is None or probe.size < 2 or self._error:
            return None
        place = np.asarray(probe, float).reshape(-1)[:2]
        made = np.asarray(panel.inputs(place[None]), float)[0]
        if made.shape != probe.reshape(-1).shape or not np.allclose(made, probe.reshape(-1), atol=1e-6):
            return None
        part = [(v - a.least) / (a.most - a.least) for v, a in zip(place, (panel.across, panel.up), strict=True)]
        return (float(part[0]), float(part[1])) if all(0 <= p <= 1 for p in part) else None

    # ---- hands

    def _at(self, at: Point) -> tuple[int, int] | None:
        """The unit at a point."""
        return next((key for key, box in self.boxes.items() if holds(box, at)), None)

    def _buttons(self, layer: int) -> list[Button]:
        """Of one layer, where a hand can change it."""
        maps = self._maps(layer)
        if self.panel.change is None or not self.ground.teaches or not maps:
            return []
        return buttons_of(layer, [each.units for each in self.layers], maps)

    def _maps(self, layer: int) -> list[Box]:
        return [box for (index, _), box in self.boxes.items() if index == layer]

    def _near(self, at: Point) -> int | None:
        """The layer at a point; the one whose buttons are shown first."""
        layers = list(range(len(self.layers)))
        if self._layer in layers:
            layers.remove(self._layer)
            layers.insert(0, self._layer)
        for layer in layers:
            buttons = self._buttons(layer)
            if buttons and near(at, self._maps(layer), buttons if layer == self._layer else ()):
                return layer
        return None

    def covers(self, at: Point) -> bool:
        """Whether a unit is there, or a layer that can be changed."""
        return self._at(at) is not None or self._near(at) is not None

    def hover(self, at: Point | None) -> bool:
        """The unit under the pointer is shown large, its layer gets its buttons."""
        before = self._over, self._layer, self._pointer
        self._layer = None if at is None else self._near(at)
        self._over = None if at is None else self._at(at)
        self._pointer = at or self._pointer
        self.stale |= before[0] != self._over
        return before != (self._over, self._layer, self._pointer)

    def click(self, at: Point) -> bool:
        """A neuron or a layer more or less."""
        found = next((b for b in self._buttons(self._layer) if b.at(at)), None) if self._layer is not None else None
        if found is None or self.panel.change is None:
            return False
        self.ground.edit(self.panel.change(found.hidden))
        return True

    def label(self, moment: Moment, size: tuple[float, float]) -> Sequence[Sketch]:
        """The card of the unit that is pointed at, and the buttons of its layer."""
        found: list[Sketch] = []
        buttons = [] if self._layer is None or self._layer >= len(self.layers) else self._buttons(self._layer)
        box = None if self._over is None else self.boxes.get(self._over)
        if self._over is not None and box is not None and self.setting is not None:
            index, unit = self._over
            above = self.layers[index - 1] if index else None
            free = [box, *(boxes_of(buttons) if buttons else ())]
            found += card(self.panel, moment, self.ground, (self.layers[index], above), unit, free, self.setting, size,
                          self._largest)  # fmt: skip
        if buttons:
            over = next((button for button in buttons if button.at(self._pointer)), None)
            found.append(draw(buttons, over, self.ground.theme))
            if over is not None:
                says = ", ".join(map(str, over.hidden)) or "none"
                found.append(pointer_label(self._pointer, size, over.says, "", [f"hidden layers: {says}"],
                                           self.ground.theme))  # fmt: skip
        return found


def rounded_up(value: float) -> float:
    """The next of 1, 2, 5, 10, 20, ... and their tenths: numbers that do not change with every step."""
    if not 0.0 < value < float("inf"):
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= value * (1 - 1e-9)))


# ---- + and - beside a hidden layer that is pointed at: a neuron more or less, a layer more or less.

Floats = NDArray[np.float64]
SIDE = 18.0
_GAP, _AWAY, _REACH = 2.0, 5.0, 6.0
_WORDS = 17.0  # from the buttons of a layer up to their word


class Button(NamedTuple):
    """One of them.

    Attributes
    ----------
    box : Box
    more : bool
        Whether it is a +.
    hidden : tuple of int
        The units of the hidden layers after a click.
    says : str
    """

    box: Box
    more: bool
    hidden: tuple[int, ...]
    says: str

    def at(self, point: Point) -> bool:
        """Whether a point is on it."""
        return holds(self.box, point)


def buttons_of(layer: int, hidden: Sequence[int], maps: Sequence[Box]) -> list[Button]:
    """Those of one hidden layer: of its neurons behind the last map, of the layer itself before the first one.

    Parameters
    ----------
    layer : int
        Its number, counted from 0.
    hidden : sequence of int
        Units of all hidden layers.
    maps : sequence of Box
        Of its units, at least one.
    """
    before, own, after = tuple(hidden[:layer]), hidden[layer], tuple(hidden[layer + 1 :])
    first, last = maps[0], maps[-1]
    pair = 2 * SIDE + _GAP
    down = len(maps) > 1 and abs(last[1] - first[1]) > abs(last[0] - first[0])
    if down:
        unit = (last[0] + last[2] / 2 - pair / 2, last[1] + last[3] + _AWAY)
        whole = (first[0] + first[2] / 2 - pair / 2, first[1] - _AWAY - SIDE)
    else:
        unit = (last[0] + last[2] + _AWAY, last[1] + last[3] - SIDE)
        whole = (first[0] - _AWAY - pair, first[1] + first[3] - SIDE)
    found = []
    if own > 1:
        found.append(_button(unit, False, (*before, own - 1, *after), "one neuron less in this layer"))
    found.append(_button(unit, True, (*before, own + 1, *after), "one neuron more in this layer"))
    found.append(_button(whole, False, (*before, *after), "without this layer"))
    found.append(_button(whole, True, (*before, own, own, *after), "one more layer behind this one"))
    return found


def _button(corner: Point, more: bool, hidden: tuple[int, ...], says: str) -> Button:
    x = corner[0] + (SIDE + _GAP if more else 0.0)
    return Button((float(round(x)), float(round(corner[1])), SIDE, SIDE), more, hidden, says)


def near(at: Point, maps: Sequence[Box], buttons: Sequence[Button]) -> bool:
    """Whether a point is on a row of maps, between two of them, or on a button."""
    if any(button.at(at) for button in buttons):
        return True
    middles = np.array([(x + wide / 2, y + high / 2) for x, y, wide, high in maps])
    for one in buttons:  # on the way from the maps to it
        middles = _with(middles, one.box)
    starts, ends = (middles[:-1], middles[1:]) if len(middles) > 1 else (middles, middles)
    ways = ends - starts
    along = np.clip(((np.asarray(at) - starts) * ways).sum(axis=1) / np.maximum((ways**2).sum(axis=1), 1e-9), 0.0, 1.0)
    away = np.hypot(*(starts + along[:, None] * ways - np.asarray(at)).T)
    return bool(away.min() <= min(maps[0][2] / 2, 20.0) + _REACH)


def _with(middles: Floats, box: Box) -> Floats:
    """The line longer by the middle of a box, at the end that is nearer."""
    place = np.array([[box[0] + box[2] / 2, box[1] + box[3] / 2]])
    ends = np.hypot(*(middles[[0, -1]] - place).T)
    return np.concatenate([place, middles] if ends[0] < ends[1] else [middles, place])


def boxes_of(buttons: Sequence[Button]) -> list[Box]:
    """What they take of the picture, with the word over those of the layer."""
    left, right = buttons[-2].box, buttons[-1].box
    wide = max(right[0] + right[2] - left[0], measure("layer", LABEL))
    middle = (left[0] + right[0] + right[2]) / 2
    return [*(button.box for button in buttons), (middle - wide / 2, left[1] - _WORDS, wide, _WORDS)]


def draw(buttons: Sequence[Button], over: Button | None, theme: Theme) -> Sketch:
    """All of them, and the word over those of the layer."""
    sketch = Sketch()
    for one in buttons:
        lit = over is not None and over.box == one.box
        button(sketch, one.box, theme, lit=lit)
        plus(sketch, one.box, theme.text1 if lit else theme.text2, more=one.more)
    left, right = buttons[-2].box, buttons[-1].box
    x, y = (left[0] + right[0] + right[2]) / 2, left[1]
    wide = measure("layer", LABEL)
    sketch.rect(x - wide / 2 - 4, y - _WORDS - 1, wide + 8, 16, fill=theme.background, radius=3)
    sketch.text(x, y - 5, "layer", LABEL, theme.text2, anchor="middle")
    return sketch


# ---- Where the small maps of hidden units stand in a picture; worked out once for a camera.

LARGE, SMALL = 58.0, 24.0
"""Sides of a map beside a unit of a small layer, and the least where there is room for that."""
MOST = 32
"""Units of a layer of which each has its map beside it; of more, only the one that is pointed at is drawn."""
_LEAST = 13.0  # a smaller one shows nothing
_SHARE = 0.72  # of the distance of two units that a map takes
_YIELDS = 0.1  # the share of its side that a map gives up for the names
_HOT = 12.0  # side of the place of a unit without a map


class NeuronPlaces:
    """Boxes of the units of some layers.

    Attributes
    ----------
    setting : Setting
    side : float
        Of all maps; 0: they are too small to be drawn.
    boxes : dict of (int, int) to Box
        Where each unit can be pointed at, by layer and number.
    drawn : list of (int, int)
        Those with a map beside them.
    numbers : ndarray of int
        The same counted through all layers.
    names : dict of (int, int) to str
        Of those beside whose map there is room for it.
    """

    def __init__(self, layers: Sequence[Hidden], setting: Setting) -> None:
        self.setting = setting
        places = [_middles(layer, setting) for layer in layers]
        few = [(layer, row) for layer, row in zip(layers, places, strict=True) if 0 < len(row) <= MOST]
        side = _side_of([row for _, row in few], large=setting.turns)
        self.side = side = _named_side(few, side) if setting.turns else side
        self.boxes: dict[tuple[int, int], Box] = {}
        self.drawn: list[tuple[int, int]] = []
        self.names: dict[tuple[int, int], str] = {}
        numbers, start = [], 0
        for index, (layer, row) in enumerate(zip(layers, places, strict=True)):
            drawn = side > 0.0 and 0 < len(row) <= MOST
            room = _room(row, side)
            for unit, (x, y) in enumerate(row):
                wide = side if drawn else _HOT
                box = (float(round(x - wide / 2)), float(round(y - wide / 2)), wide, wide)
                if not setting.holds(box):
                    continue
                self.boxes[index, unit] = box
                if drawn:
                    self.drawn.append((index, unit))
                    numbers.append(start + unit)
                    name = layer.name(unit)
                    if setting.turns and room >= _wanted(name):
                        self.names[index, unit] = name
            start += layer.units
        self.numbers = np.array(numbers, np.intp)

    @property
    def rects(self) -> NDArray[np.float64]:
        """Boxes of the maps, (N, 4)."""
        return np.array([self.boxes[key] for key in self.drawn], float).reshape(-1, 4)


def _middles(layer: Hidden, setting: Setting) -> NDArray[np.float64]:
    """Where the units of a layer are drawn, (units, 2) in logical pixels; (0, 2) where they are not."""
    plate = setting.plates.get(layer.row)
    if plate is None or plate.kind != "activation" or plate.size != layer.units:
        return np.zeros((0, 2))
    lift = 0.0 if setting.turns else plate.depth
    places = [plate.centre_of(k) + lift * plate.axes[2] for k in range(plate.size)]
    return np.asarray(setting.project(np.array(places)))


def _side_of(places: Sequence[NDArray[np.float64]], *, large: bool) -> float:
    """Side of the maps, the same for all; 0: too small to be seen."""
    step = min([1e3, *(float(np.hypot(*np.diff(row, axis=0).T).min()) for row in places if len(row) > 1)])
    side = min(LARGE if large else SMALL, max(_SHARE * step, min(SMALL, step - 3.0)))
    return float(np.floor(side)) if side >= _LEAST else 0.0


def _named_side(few: Sequence[tuple[Hidden, NDArray[np.float64]]], side: float) -> float:
    """A little less than `side`, where names have room then that had none."""
    for layer, row in few:
        short = max(_wanted(layer.name(unit)) for unit in range(len(row))) - _room(row, side)
        if 0 < short <= _YIELDS * side:
            return float(np.floor(side - short))
    return side


def _wanted(name: str) -> float:
    """Pixels that a name takes beside a map."""
    return measure(name, LABEL, True) + 6


def _room(row: NDArray[np.float64], side: float) -> float:
    """Pixels to the right of a map up to the next one, or up to the next layer's cubes."""
    if len(row) < 2:
        return np.inf
    down = float(np.abs(np.diff(row[:, 1])).min())
    if down >= side:
        return 1.2 * down - side / 2
    return float(np.abs(np.diff(row[:, 0])).min()) - side
