"""Neurons over a plane: a small map beside each, a card of the hovered one; features of a point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ...run.opened.digits import number
from ...run.panels import Features, NeuronMaps
from ...run.source import Moment
from ..cubes.scale import LegendScale, Tick, in_words
from ..ink.axes import zero_lines
from ..ink.boxes import CHANNEL, LABEL, MARGIN
from ..ink.sketch import Box, Cached, Sketch, Spot, contains, meet, rgba, spot_at
from ..ink.text import chip_text, measure, short
from ..ink.theme import Theme, get_map, rgb, signed_shades
from ..ink.widgets import HIGH, WIDE, button, knob, plus, pointer_label
from ..shown.names import Hidden, chain_in, hidden_of
from ..space.arrangement import Plate, Project
from .drawer import Drawer, Point, Setting, SharedState, Tip, cut
from .pace import Float, Grid, fractions, places, tile_cells, tiled
from .points import BUDGET, boundary_sketch

# ---- The card of a unit.

CELLS = 44
_CARD, _WIDE, _PAD = 110.0, 306.0, 14.0
NAMED, FEW = 4, 1
"""Most weights on a card, and in a low picture; of more, the largest."""
LOW = 480.0
"""Logical pixels below which a picture is low."""
_STEP = 20.0


def _place(setting: Setting, picture: tuple[float, float], size: tuple[float, float], free: Sequence[Box]) -> Box:
    """Return a place for the card: the upper right corner of the scene, or another one that covers least of `free`."""
    left, top, wide, high = setting.window
    right, foot = left + wide - size[0] - 16, top + high - size[1] - 10
    strip = min(top + high + 4, picture[1] - size[1] - 4)
    corners = [(right, top + 10), (left + 16, top + 10), (right, foot), (left + 16, foot), (left + 16, strip)]
    places = [(round(max(x, 4.0)), round(max(y, 4.0)), *size) for x, y in corners]
    return min(places, key=lambda place: sum(meet(place, box, 4.0) for box in free))  # the first of the best


def _joined(place: Box, other: Box, free: Sequence[Box]) -> Box:
    """Return a box that covers both, if they touch and it covers nothing of `free`; else `place`."""
    left, top = min(place[0], other[0] - 12), min(place[1], other[1] - 8)
    right = max(place[0] + place[2], other[0] + other[2] + 12)
    both = (left, top, right - left, max(place[1] + place[3], other[1] + other[3] + 8) - top)
    return both if meet(place, other, 8.0) and not any(meet(both, box, 4.0) for box in free) else place


def rows_of(features: Features, moment: Moment) -> list[int | None]:
    """Return for each feature its row of cubes in the first layer, or None."""
    if features.rows is not None:
        return list(features.rows(moment))
    on = features.on(moment)
    return [sum(map(bool, on[:k])) if there else None for k, there in enumerate(on)]


# ---- The drawer of small maps beside neurons: each one's output over the plane.

LADDER = (10, 14, 20, 28, 40)
"""Cells of a map in each direction, from coarse to fine."""
BOUNDED = {"tanh": 1.0, "sigmoid": 1.0}
"""The largest output of units of these kinds."""

Unit = tuple[int, int]
"""Indices of a layer and of a unit in it."""


class NeuronMapsDrawer(Drawer[NeuronMaps]):
    """Small maps beside neurons; all are parts of one picture."""

    name = "neurons"
    needs = ("predict",)
    turns = True
    gestures: tuple[tuple[str, str], ...] = (("Point", "over a neuron's small map: enlarge it and show its weights"),)

    def __init__(self, panel: NeuronMaps, shared: SharedState) -> None:
        super().__init__(panel, shared)
        self.boxes: dict[Unit, Box] = {}  # the sensitive box of each unit
        self._places: NeuronPlaces | None = None
        self._marked = Cached[Sketch]()
        self._largest = 1.0
        self._hovered_unit: Unit | None = None
        self._layer: int | None = None  # the layer with visible buttons
        if panel.change is not None:
            self.gestures = (*self.gestures, ("Point", "over a layer: buttons + and - for its neurons and for layers"))
        self._error = ""
        self._begin()

    def _begin(self) -> None:
        """Create the layers and `grid`: the outputs of all hidden units, one after the other, of this network."""
        subject = self.shared.subject
        self._of, self._places = (subject.tensors, subject.stages), None
        self.layers = hidden_of(subject)
        self.grid = Grid(self.shared.hints, LADDER, BUDGET)
        self._pixels: NDArray[np.uint8] | None = None
        self._painted: Theme | None = None

    @property
    def moving(self) -> bool:
        """True while the maps get finer."""
        return not self._error and self.grid.unfinished

    @property
    def scale(self) -> LegendScale | None:
        """The legend of the maps' colours."""
        if not self.layers or self._pixels is None or self._places is None or not self._places.drawn:
            return None
        whole = self._largest.is_integer() and self._largest < 1e4
        ends = [number(v, 0, signed=True) if whole else short(v, signed=True) for v in (-self._largest, self._largest)]
        kinds = ", ".join(dict.fromkeys(layer.kind for layer in self.layers if layer.kind != "linear"))
        labels = [Tick(0.0, ends[0]), Tick(0.5, "0"), Tick(1.0, ends[1])]
        return LegendScale("output of a neuron", kinds, get_map("weight", self.shared.theme), labels, np.empty(0))

    # ---- what it looks like

    def look(self, moment: Moment, seconds: float | None) -> None:
        """Compute as much of the maps as time allows."""
        if self._of != (self.shared.subject.tensors, self.shared.subject.stages):
            self._begin()
        if not self.layers or not moment.source.can.predict:
            return

        def ask(down: Float, across: Float) -> Float:
            names, panel = [layer.row for layer in self.layers], self.panel
            rows = moment.rows(panel.inputs(places(panel.across, panel.up, down, across)), *names)
            return np.concatenate([rows[name] for name in names], axis=1)

        try:
            changed = self.grid.update(moment.frame, seconds, (LADDER[-1], LADDER[-1]), ask)
        except Exception as error:  # the scene's own function: drop the maps, report the error, continue
            self._error, self._pixels = self.shared.report_failure("maps of neurons", error), None
            return
        self._error = ""
        if changed or self._pixels is None or self._painted is not self.shared.theme:
            self.grid.paint(self._paint)

    def _paint(self) -> None:
        """Paint all maps side by side in one picture."""
        rows, self._painted = self.grid.numbers, self.shared.theme
        assert rows is not None
        self._largest = self._span(rows)
        shades = signed_shades(np.moveaxis(rows, 2, 0), (-self._largest, self._largest), self._painted)
        self._pixels = tiled(list(shades))

    def _span(self, rows: NDArray[np.floating]) -> float:
        """Return the output at the blue end: the activation's bound, or the next round number above all."""
        largest, start = 0.0, 0
        for layer in self.layers:
            part = np.abs(rows[..., start : start + layer.units])
            start += layer.units
            seen = float(np.max(part, initial=0.0, where=np.isfinite(part)))
            largest = max(largest, BOUNDED.get(layer.kind, seen))
        return rounded_up(largest)

    def around(self, setting: Setting) -> Sequence[Sketch]:
        """Return the maps, their edges and names."""
        if self._places is None or self._places.setting is not setting:
            self._places = NeuronPlaces(self.layers, setting)
        places = self._places
        self.boxes = {} if self._pixels is None else places.boxes
        if self._pixels is None or self.grid.numbers is None:
            return ()
        picture = Sketch()
        if places.drawn:
            cells = tile_cells(np.array([*places.drawn.values()]), self.grid.numbers.shape[2], len(self.grid.numbers))
            picture.sprites([self.boxes[unit] for unit in places.drawn], cells, self._pixels, linear=True)
        at = self._sample()
        key = (places, self.shared.theme, self._hovered_unit, at, self.shared.opened_step is None)
        return [picture, self._marked.get(key, lambda: self._marks(places, at))]

    def _marks(self, places: NeuronPlaces, at: Point | None) -> Sketch:
        """Return the edges of the maps, the place of the sample on each, and their names."""
        sketch, theme = Sketch(over=True), self.shared.theme
        # its own arrows lead through a step
        for start, end in places.arrows if self.shared.opened_step is None else ():
            sketch.arrow(start, end, theme.text3, 1.6)
        for unit in places.drawn:
            x, y, wide, high = places.boxes[unit]
            sketch.rect(x - 1, y - 1, wide + 2, high + 2, stroke=theme.flow, radius=3)
            if unit == self._hovered_unit:
                sketch.rect(x - 2, y - 2, wide + 4, high + 4, stroke=theme.selection, border=2.6, radius=4)
            if at is not None and wide >= SMALL:
                middle = (x + at[0] * wide, y + (1 - at[1]) * high)
                sketch.disc(*middle, 2.4 + wide / 48, fill=theme.selection, stroke=theme.background, border=1.2)
            sketch.text(x + wide + 4, y + 10, places.names.get(unit, ""), LABEL, theme.text2, bold=True)
        return sketch

    def _sample(self) -> Point | None:
        """Return the place of the probe sample as fractions from the lower left; None off the plane."""
        probe, panel = self.shared.sample, self.panel
        if probe is None or probe.size < 2 or self._error:
            return None
        place = np.asarray(probe, float).reshape(-1)[:2]
        made = np.asarray(panel.inputs(place[None]), float)[0]
        if made.shape != probe.reshape(-1).shape or not np.allclose(made, probe.reshape(-1), atol=1e-6):
            return None
        part = [(v - a.least) / (a.most - a.least) for v, a in zip(place, (panel.across, panel.up), strict=True)]
        return (float(part[0]), float(part[1])) if all(0 <= p <= 1 for p in part) else None

    # ---- input

    def _unit_at(self, at: Point) -> Unit | None:
        """Return the unit at a point, or None."""
        return next((unit for unit, box in self.boxes.items() if contains(box, at)), None)

    def buttons(self, layer: int | None) -> list[Spot]:
        """Return + and - of one layer, for its neurons and for layers, if the user can change it."""
        maps = [box for (index, _), box in self.boxes.items() if index == layer]
        if layer is None or self.panel.change is None or not self.shared.can_teach or not maps:
            return []
        return buttons_of(layer, [each.units for each in self.layers], maps)

    def _layer_near(self, at: Point) -> int | None:
        """Return the layer at a point, or None; of several, the one with visible buttons."""
        unit = self._unit_at(at)
        if unit is not None and self.buttons(unit[0]):
            return unit[0]
        for layer in sorted(range(len(self.layers)), key=lambda layer: layer != self._layer):
            boxes = [box for (index, _), box in self.boxes.items() if index == layer]
            buttons = [button.box for button in self.buttons(layer)]
            if buttons and contains(_around(boxes + (buttons if layer == self._layer else [])), at, _REACH):
                return layer
        return None

    def covers(self, at: Point) -> bool:
        """Return whether a unit or a changeable layer is at a point."""
        return self._unit_at(at) is not None or self._layer_near(at) is not None

    def hover(self, at: Point | None) -> bool:
        """Show the unit under the pointer large, and the buttons of its layer."""
        before = self._hovered_unit, self._layer, self.pointer
        self._layer = None if at is None else self._layer_near(at)
        self._hovered_unit = None if at is None else self._unit_at(at)
        self.pointer = at
        self.stale |= before[0] != self._hovered_unit
        return before != (self._hovered_unit, self._layer, self.pointer)

    def click(self, at: Point) -> bool:
        """Add or remove a neuron or a layer."""
        found = spot_at(self.buttons(self._layer), at)
        if found is None or self.panel.change is None:
            return False
        self.shared.edit(self.panel.change(tuple(int(units) for units in str(found.value).split(", ") if units)))
        return True

    def label(self, moment: Moment, size: tuple[float, float]) -> Sequence[Sketch]:
        """Return the card of the hovered unit, and the buttons of its layer."""
        found: list[Sketch] = []
        sketch = _drawn(self.buttons(self._layer), self.pointer, self.shared.theme)
        box = None if self._hovered_unit is None else self.boxes.get(self._hovered_unit)
        if self._hovered_unit is not None and box is not None and self.setting is not None:
            free = [box, *(spot.box for spot in sketch.spots)]
            found += self._card(moment, self.setting, self._hovered_unit, free, size)
        over = spot_at(sketch.spots, self.pointer)
        if over is not None and over.tip and self.pointer is not None:
            more = [f"hidden layers: {over.value or 'none'}"]
            return [*found, sketch, pointer_label(self.pointer, size, over.tip, "", more, self.shared.theme)]
        return [*found, sketch] if sketch.spots else found

    # ---- the card of a unit

    def _card(self, moment: Moment, setting: Setting, of: Unit, free: Sequence[Box], size: Point) -> list[Sketch]:
        """Return the card, in the upper right corner of the scene or where it does not hide its neuron.

        The boxes in `free` (its small map, the buttons of its layer) stay visible; `size` is that of the whole picture.
        """
        (index, unit), theme, panel = of, self.shared.theme, self.panel
        layer, lines = self.layers[index], self._weights(moment, of, NAMED if size[1] >= LOW else FEW)
        high = max(_CARD + 2 * _PAD, _PAD + 24 + _STEP * (len(lines) + 1.5))
        place = _place(setting, size, (_WIDE, high), free)
        for other in setting.reserved:  # cover other parts as a whole, or not at all
            place = _joined(place, other, free)
        x, y = place[0], place[1]
        sketch = Sketch()
        sketch.rect(*place, fill=theme.panel, stroke=theme.flow, radius=6)
        samples = panel.inputs(places(panel.across, panel.up, *[fractions(CELLS)] * 2))
        numbers = moment.rows(samples, layer.row)[layer.row][:, unit].reshape(CELLS, CELLS)
        picture = (x + _PAD, y + _PAD, _CARD, _CARD)
        sketch.image(picture, signed_shades(numbers, (-self._largest, self._largest), theme))
        starts, ends = ((pieces + 0.5) / CELLS for pieces in zero_lines(numbers))
        line = boundary_sketch(picture, (starts, ends), theme)
        line.rect(x + _PAD - 1, y + _PAD - 1, _CARD + 2, _CARD + 2, stroke=theme.flow, radius=3)

        x, base, right = x + 2 * _PAD + _CARD, y + _PAD + 15, x + place[2] - _PAD  # its name, its network, its weights
        sketch.text(x, base, layer.name(unit), CHANNEL, theme.text1, bold=True)
        made = moment.frame.activations.get(layer.row)
        if made is not None and unit < len(made):  # of the probe sample
            said = f"sample {number(float(made[unit]), 2, signed=True)}"
            sketch.text(right, base, said, LABEL, theme.text2, anchor="right")
        kind = "sum of" if layer.kind == "linear" else f"{in_words(layer.kind)} of"
        sketch.text(x, base + _STEP, kind, LABEL, theme.text2)
        for row, (value, word) in enumerate(lines, 2):
            if value is None:
                sketch.text(x, base + _STEP * row, word, LABEL, theme.text3)
                continue
            ink, edge = theme.weight[4] if value > 0 else theme.weight[0] if value < 0 else theme.text2, x + 62.0
            shown = chip_text(value, signed=True)
            sketch.text(edge, base + _STEP * row, shown, LABEL, ink, bold=True, anchor="right")
            sketch.text(edge + 8, base + _STEP * row, cut(word, right - edge - 8), LABEL, theme.text2)
        return [sketch, line]

    def _weights(self, moment: Moment, of: Unit, most: int) -> list[tuple[float | None, str]]:
        """Return the largest weights into a unit with the names of their inputs, and its bias last."""
        layer, (index, unit) = self.layers[of[0]], of
        row = moment.tensor(layer.weight.name)[unit]
        names, count = self._names(moment, index, len(row)), len(row)
        order = np.arange(count) if count <= most + 1 else np.sort(np.argsort(-np.abs(row), kind="stable")[:most])
        lines: list[tuple[float | None, str]] = [(float(row[k]), f"· {names[k]}") for k in order]
        if len(order) < count:
            lines.append((None, f"and {count - len(order)} smaller"))
        if layer.bias is not None:
            lines.append((float(moment.tensor(layer.bias.name)[unit]), "bias"))
        return lines

    def _names(self, moment: Moment, index: int, count: int) -> Sequence[str]:
        """Return the names of a layer's inputs: units of the layer before, or inputs of the network."""
        if index:
            return [self.layers[index - 1].name(k) for k in range(count)]
        subject, plain = self.shared.subject, [f"input {k}" for k in range(count)]
        features = next((panel for panel in subject.panels if isinstance(panel, Features)), None)
        if features is not None:
            rows = rows_of(features, moment)
            found = {row: name for name, row in zip(features.names, rows, strict=False) if row is not None}
            return [found.get(k, plain[k]) for k in range(count)]
        return subject.sample.inputs if len(subject.sample.inputs) == count else plain


def rounded_up(value: float) -> float:
    """Return the next of 1, 2, 5, 10, 20, ... and their tenths, which does not change with every step."""
    if not 0.0 < value < float("inf"):
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= value * (1 - 1e-9)))


# ---- + and - beside a hovered hidden layer: add or remove a neuron, add or remove a layer.

SIDE = 18.0
_GAP, _AWAY, _REACH = 2.0, 5.0, 6.0
_WORDS = 17.0  # from the buttons of a layer up to their word


def buttons_of(layer: int, hidden: Sequence[int], maps: Sequence[Box]) -> list[Spot]:
    """Return the buttons of one hidden layer: for its neurons behind the last map, for the layer before the first one.

    The value of each is the list of hidden layers after a click; `hidden` has their present units.
    """
    before, own, after = hidden[:layer], hidden[layer], hidden[layer + 1 :]
    first, last = maps[0], maps[-1]
    pair = 2 * SIDE + _GAP
    if len(maps) > 1 and abs(last[1] - first[1]) > abs(last[0] - first[0]):  # downwards
        unit = (last[0] + last[2] / 2 - pair / 2, last[1] + last[3] + _AWAY)
        whole = (first[0] + first[2] / 2 - pair / 2, first[1] - _AWAY - SIDE)
    else:
        unit = (last[0] + last[2] + _AWAY, last[1] + last[3] - SIDE)
        whole = (first[0] - _AWAY - pair, first[1] + first[3] - SIDE)
    found = [
        (unit, "less", [*before, own - 1, *after], "remove one neuron from this layer"),
        (unit, "more", [*before, own + 1, *after], "add one neuron to this layer"),
        (whole, "less", [*before, *after], "remove this layer"),
        (whole, "more", [*before, own, own, *after], "add a layer after this one"),
    ]
    return [
        Spot((float(round(x + (SIDE + _GAP) * (name == "more"))), float(round(y)), SIDE, SIDE), name,
             ", ".join(map(str, units)), tip=tip)
        for (x, y), name, units, tip in found
        if all(units)
    ]  # fmt: skip


def _around(boxes: Sequence[Box]) -> Box:
    """Return the box around several boxes."""
    corners = np.array([(x, y, -x - wide, -y - high) for x, y, wide, high in boxes]).min(axis=0).tolist()
    return corners[0], corners[1], -corners[2] - corners[0], -corners[3] - corners[1]


def _drawn(buttons: Sequence[Spot], at: Point | None, theme: Theme) -> Sketch:
    """Draw all buttons, and the word above those of the layer, which are the last two."""
    sketch = Sketch()
    sketch.spots += buttons
    for one in buttons:
        lit = contains(one.box, at)
        button(sketch, one.box, theme, lit=lit)
        plus(sketch, one.box, theme.text1 if lit else theme.text2, more=one.name == "more")
    if buttons:
        x, y, pair, _ = _around([one.box for one in buttons[-2:]])
        middle, wide = x + pair / 2, measure("layer", LABEL)
        sketch.rect(middle - wide / 2 - 4, y - _WORDS - 1, wide + 8, 16, fill=theme.background, radius=3)
        sketch.text(middle, y - 5, "layer", LABEL, theme.text2, anchor="middle")
        sketch.spot((middle - max(wide, pair) / 2, y - _WORDS, max(wide, pair), _WORDS), "layer")
    return sketch


# ---- The places of the small maps of hidden units; computed once per camera.

LARGE, SMALL = 58.0, 24.0
"""Side of a map beside a unit of a small layer, and the preferred least side."""
MOST = 32
"""Most units of a layer with maps beside them; of more, only the hovered one is drawn."""
_LEAST = 13.0  # a smaller one shows nothing
_SHARE = 0.72  # side of a map as a share of the distance of two units
_YIELDS = 0.1  # largest share of its side that a map gives up for the names
_EDGE = 14.0  # least length of the last arrow
_HOT = 10.0  # side of the sensitive box of a unit without a map


class NeuronPlaces:
    """The boxes of the units of some layers."""

    def __init__(self, layers: Sequence[Hidden], setting: Setting) -> None:
        self.setting = setting
        places = [_middles(layer, setting) for layer in layers]
        few = [(layer, row) for layer, row in zip(layers, places, strict=True) if 0 < len(row) <= MOST]
        side = _side_of([row for _, row in few], large=setting.turns)
        side = _named_side(few, side) if setting.turns else side  # of all maps; 0: too small to be drawn
        self.boxes: dict[Unit, Box] = {}  # the sensitive box of each unit
        self.drawn: dict[Unit, int] = {}  # units with a map, numbered through all layers
        self.names: dict[Unit, str] = {}  # names with room beside their maps
        start = 0
        for index, (layer, row) in enumerate(zip(layers, places, strict=True)):
            drawn, room = side > 0.0 and 0 < len(row) <= MOST, _room(row, side)
            wide = side if drawn else _HOT
            for unit, (x, y) in enumerate(row):
                box = (float(round(x - wide / 2)), float(round(y - wide / 2)), wide, wide)
                if not setting.contains(box):
                    continue
                self.boxes[index, unit] = box
                if drawn:
                    self.drawn[index, unit] = start + unit
                if drawn and setting.turns and room >= _name_width(layer.name(unit)):
                    self.names[index, unit] = layer.name(unit)
            start += layer.units
        self.arrows = list[tuple[Point, Point]]()
        if setting.turns and self.drawn:
            last = [plate for plate in setting.plates.values() if plate.kind == "weight"][-1]
            self.arrows += [arrow for unit in self.drawn for arrow in self._arrows(layers, last, *unit)]
            corners, right = setting.project(last.corners), setting.window[0] + setting.window[2] - 6
            begin, level = float(corners[:, 0].max()) + 6, float(corners[:, 1].mean())
            self.arrows += [((begin, level), (right, level))] if right - begin > _EDGE else []  # to what is beside

    def _arrows(self, layers: Sequence[Hidden], last: Plate, index: int, unit: int) -> Iterator[tuple[Point, Point]]:
        """Yield the arrows from a unit's own cubes to its map, and from there to the next layer's cubes."""
        plates, own = self.setting.plates, self.boxes[index, unit]
        named = [plates.get(tensor.name) for tensor in (layers[index].weight, layers[index].bias) if tensor is not None]
        before = [p.cell_corners(unit, k) for p in named if p is not None for k in range(p.size // layers[index].units)]
        after = last if index + 1 == len(layers) else plates[layers[index + 1].weight.name]
        for cubes, leads in ((before, False), ([after.cell_corners(k, unit) for k in range(after.shape[0])], True)):
            points = [self.setting.project(corners) for corners in cubes]
            boxes = [(*p.min(axis=0).tolist(), *np.ptp(p, axis=0).tolist()) for p in points]
            facing = min((_facing(own, box) for box in boxes), key=lambda pair: float(np.hypot(*np.subtract(*pair))))
            yield facing if leads else facing[::-1]


def _facing(box: Box, other: Box) -> tuple[Point, Point]:
    """Return the middles of the edges of two boxes that face each other."""
    (x, y, wide, high), (left, top, width, height) = box, other
    away = left + width / 2 - x - wide / 2, top + height / 2 - y - high / 2
    if abs(away[1]) > abs(away[0]):
        down = away[1] > 0
        return (x + wide / 2, y + high * down), (left + width / 2, top + height * (not down))
    right = away[0] > 0
    return (x + wide * right, y + high / 2), (left + width * (not right), top + height / 2)


def _middles(layer: Hidden, setting: Setting) -> NDArray[np.float64]:
    """Return the places of a layer's units, (units, 2) in logical pixels; (0, 2) if they are not drawn."""
    plate = setting.plates.get(layer.row)
    if plate is None or plate.kind != "activation" or plate.size != layer.units:
        return np.zeros((0, 2))
    lift = 0.0 if setting.turns else plate.depth
    places = [plate.centre_of(k) + lift * plate.axes[2] for k in range(plate.size)]
    return np.asarray(setting.project(np.array(places)))


def _side_of(places: Sequence[NDArray[np.float64]], *, large: bool) -> float:
    """Return the side of all maps; 0: too small."""
    step = min([1e3, *(float(np.hypot(*np.diff(row, axis=0).T).min()) for row in places if len(row) > 1)])
    side = min(LARGE if large else SMALL, max(_SHARE * step, min(SMALL, step - 3.0)))
    return float(np.floor(side)) if side >= _LEAST else 0.0


def _named_side(few: Sequence[tuple[Hidden, NDArray[np.float64]]], side: float) -> float:
    """Return a side slightly below `side` if that gives room for names."""
    for layer, row in few:
        short = max(_name_width(layer.name(unit)) for unit in range(len(row))) - _room(row, side)
        if 0 < short <= _YIELDS * side:
            return float(np.floor(side - short))
    return side


def _name_width(name: str) -> float:
    """Return the pixels that a name needs beside a map."""
    return measure(name, LABEL, True) + 6


def _room(row: NDArray[np.float64], side: float) -> float:
    """Return the pixels from a map to the next one on the right, or to the next layer's cubes."""
    if len(row) < 2:
        return np.inf
    down = float(np.abs(np.diff(row[:, 1])).min())
    return 1.2 * down - side / 2 if down >= side else float(np.abs(np.diff(row[:, 0])).min()) - side


# ---- The drawer of a point's features: a column of small maps with switches, left of the cubes.

FEATURE_CELLS = 24
PITCH, FEATURE_SIDE = 60.0, 46.0
LEFT = 176.0
"""Pixels left of the cubes."""
_NAMES, _BESIDE = 33.0, 8.0  # least width of the names; pixels between name, map and switch
_LEAST_PITCH = 22.0  # pixels of a line with a name and a switch
_OFF = 0.28
_HEAD = 22.0
_LEVEL = 48.0  # pixels before a row of cubes in which its line is level


class FeaturesDrawer(Drawer[Features]):
    """The features of a point, one line each."""

    name = "features"
    needs = ("predict",)

    def __init__(self, panel: Features, shared: SharedState) -> None:
        super().__init__(panel, shared)
        self.spots: list[Spot] = []  # sensitive boxes
        self.gestures = (("Click", "on a feature: switch it on or off"),) if panel.change else ()
        self._on: tuple[bool, ...] = ()
        self._rows: list[int | None] = []
        self._values: NDArray[np.floating] | None = None
        self._pixels = Cached[NDArray[np.uint8]]()
        self._drawn = Cached[Sequence[Sketch]]()

    def beside_cubes(self, width: float, height: float) -> float:
        """Return the pixels of the column and of its lines to the cubes; 0 if it does not fit."""
        wide = max(_NAMES, *(measure(name, LABEL, True) for name in self.panel.names)) - _NAMES
        fits = width >= 460 and _pitch(height, len(self.panel.names)) >= _LEAST_PITCH
        return LEFT + min(wide, 60.0) if fits else 0.0

    def look(self, moment: Moment, seconds: float | None) -> None:
        """Read which features are on, and compute their values over the plane."""
        count = len(self.panel.names)
        try:
            on = tuple(bool(flag) for flag in self.panel.on(moment))
            rows = rows_of(self.panel, moment)
            if self._values is None:
                points = places(self.panel.across, self.panel.up, *[fractions(FEATURE_CELLS)] * 2)
                values = np.asarray(self.panel.values(points), float)
                self._values = values.reshape(FEATURE_CELLS, FEATURE_CELLS, count)
            if len(on) != count or len(rows) != count:
                counts = f"{count}, {len(on)} and {len(rows)}"
                raise ValueError(f"features, switches and rows must be equally many, got {counts}")
        except Exception as error:  # the scene's own functions
            self.shared.report_failure("features", error)
            self._on = ()
            return
        self._on, self._rows = on, rows

    # ---- what it looks like

    def around(self, setting: Setting) -> Sequence[Sketch]:
        """Return the column, and a line from each active feature to its row of cubes; cached."""
        hands = self._on, tuple(self._rows), self._hovered_feature, self._switches
        key = setting, self.shared.theme, *hands, self.shared.subject.tensors
        found = self._drawn.get(key, lambda: self._column(setting))
        self.spots = [spot for sketch in found for spot in sketch.spots]
        return found

    def _column(self, setting: Setting) -> Sequence[Sketch]:
        left, top, wide, high = setting.window
        room, pitch = self.beside_cubes(wide, high - 12.0), _pitch(high - 12.0, len(self.panel.names))
        if not self._on or not room:
            return ()
        theme, side = self.shared.theme, min(FEATURE_SIDE, pitch - 8.0)
        sketch, picture, plate = Sketch(), Sketch(), self._plate(setting)
        x, y = left + MARGIN, top + 12.0  # the scene begins below the window of the cubes
        sketch.text(x, y + 12, "features", LABEL, theme.text1, bold=True)
        names = x + room - LEFT + _NAMES
        rects, numbers = [], []
        for k, (name, on) in enumerate(zip(self.panel.names, self._on, strict=True)):
            middle = y + _HEAD + pitch * (k + 0.5)
            ink = theme.text1 if on else theme.text3
            sketch.text(names, middle + 5, cut(name, names - x, bold=on), LABEL, ink, bold=on, anchor="right")
            box = (round(names + _BESIDE), round(middle - side / 2), side, side)
            rects.append(box)
            numbers.append(2 * k + (not on))
            sketch.rect(box[0] - 1, box[1] - 1, side + 2, side + 2, radius=3,
                        stroke=theme.flow if on or self._hovered_feature == k else theme.border)  # fmt: skip
            end = box[0] + side
            if self._switches:
                knob(sketch, end + _BESIDE, middle - HIGH / 2, theme, on=on, over=self._hovered_feature == k)
                end += _BESIDE + WIDE
                begin = names - measure(name, LABEL, True)
                sketch.spot((begin, middle - pitch / 2, end - begin, pitch), "feature", k, words=name)
            row = self._rows[k]
            if plate is not None and row is not None and 0 <= row < plate.shape[1]:
                self._to_cubes(sketch, (end + 1, middle), plate, row, setting.project, on=on)
        cells = tile_cells(np.array(numbers), 2 * len(self.panel.names), FEATURE_CELLS)
        picture.sprites(rects, cells, self._pixels.get(theme, self._painted), linear=True)
        return [sketch, picture]

    @property
    def _switches(self) -> bool:
        return self.panel.change is not None and self.shared.can_teach

    def _plate(self, setting: Setting) -> Plate | None:
        """Return the plate of the first layer, or None."""
        chain = chain_in(self.shared.subject)
        return setting.plates.get(chain[0].weight.name) if chain and setting.turns else None

    def _to_cubes(self, sketch: Sketch, start: Point, plate: Plate, row: int, project: Project, *, on: bool) -> None:
        """Draw a line from a feature to its row of cubes. If it is off, dim the cubes, because their input is 0."""
        if not on:
            for unit in range(plate.shape[0]):
                face = project(plate.cell_corners(unit, row)[4:])[[0, 1, 3, 2]]
                sketch.polygon(face, rgba(self.shared.theme.background, 1 - _OFF - 0.17))
            return
        edge = plate.cell_centre(0, row) - 0.62 * plate.axes[1] + plate.depth * plate.axes[2]
        x, y = (float(v) for v in project(edge[None])[0])
        if x > start[0] + 8:  # level at both ends: it rises left of the word beside the biases
            first, last = start[0] + 0.1 * (x - start[0]), max(x - _LEVEL, start[0] + 0.4 * (x - start[0]))
            sketch.polyline(np.array([start, (first, start[1]), (last, y)]), self.shared.theme.text3, 1.6)
            sketch.arrow((last, y), (x, y), self.shared.theme.text3, 1.6)

    def _painted(self) -> NDArray[np.uint8]:
        """Return every feature twice side by side, bright and dim."""
        assert self._values is not None
        theme = self.shared.theme
        tiles, ground = [], np.array(rgb(theme.background)) * 255
        for k in range(len(self.panel.names)):
            values = self._values[..., k]
            largest = float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values))) or 1.0
            bright = signed_shades(values, (-largest, largest), theme)
            tiles += [bright, np.rint(_OFF * bright + (1 - _OFF) * ground).astype(np.uint8)]
        return tiled(tiles)

    # ---- input

    @property
    def _hovered_feature(self) -> int | None:
        return None if self.pointer is None else self.under(self.pointer)

    def under(self, at: Point) -> int | None:
        """Return the feature at a point, or None."""
        found = spot_at(self.spots, at)
        return None if found is None else int(found.value)

    def covers(self, at: Point) -> bool:
        """Return whether a feature's name, map or switch is at a point."""
        return self.under(at) is not None

    def hover(self, at: Point | None) -> bool:
        """Highlight the feature under the pointer."""
        before, moved = self._hovered_feature, super().hover(at)
        self.stale |= before != self._hovered_feature
        return moved

    def drag(self, at: Point, by: Point, button: str) -> bool:
        """Take the drag, so that it does not turn the scene."""
        return True

    def _tip(self, moment: Moment, at: Point) -> Tip | None:
        """Return the action of a click."""
        over = self.under(at)
        if over is None or over >= len(self._on):
            return None
        gets, then = ("uses it", "off") if self._on[over] else ("does not use it", "on")
        return self.panel.names[over], f"the network {gets}", [f"click: switch it {then}"]

    def click(self, at: Point) -> bool:
        """Switch a feature."""
        index = self.under(at)
        if index is None or self.panel.change is None:
            return False
        self.shared.edit(self.panel.change(self.panel.names[index]))
        return True


def _pitch(height: float, count: int) -> float:
    """Return the pixels between two features in a scene of this height."""
    return min(PITCH, (height - _HEAD - 8.0) / max(count, 1))
