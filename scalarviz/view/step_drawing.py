"""`StepDrawing`: what a workbench draws of an opened step, and its answers to clicks.

The sentence and the ribbon of the six phases stand below the cubes. The side column has the switch between sample and
batch, the explanation of the deltas, panels, and figures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..run.core.frame import Frame
from ..run.opened.digits import product
from ..run.questions.ranges import Range, extent
from .ink.boxes import ABOUT, BELOW, LABEL, LOW_STRIP, STRIP, WantedPanel
from .ink.sketch import Box, Point, Sketch, Spot, contains, meet, rgba, spot_at
from .ink.text import CAP_HEIGHT, figure
from .ink.theme import get_map, rgb
from .micro import beside_cubes
from .micro.beside_cubes import HISTOGRAM, RIBBON, ROW, SENTENCE, SWITCH, TALL
from .micro.light import HALF, SINKS, WindowPosition, dark, dimmed, height_scale, whose_deltas
from .micro.on_cubes import SECOND, CubeTexts, RowPlace, covers_sums, delta_boxes, delta_chips, row_chips, row_places
from .micro.step_view import BACKWARD, FORWARD, GRADIENTS, LOSS, UPDATE, MicroStepView, Pulse
from .micro.wires import MOST, SECONDS, STANDS, STOP, Running, Wires, pulse, wires_of
from .notes.layer import SUM
from .notes.placer import HIGH as CHIP
from .notes.scenery import colours_at, face_quads, face_room
from .panels.drawer import Headline, noun
from .screen.hud import HudState
from .space.arrangement import Plate

if TYPE_CHECKING:
    from .workbench import Workbench

Floats = NDArray[np.floating]
Bools = NDArray[np.bool_]
# ---- All of it, for the workbench.

_SMALL = (196.0, 30.0)  # the switch, if there is no column for it
SHINES, GLIMMERS, SHINING = 0.8, 0.25, 4000
"""Strength of the light around a current cube, and around a done one; above `SHINING` weights, none."""
FLASH = 0.4
"""The most light that a flash has."""
ARROW = 22.0
"""Least side of an arrow that answers a question, in logical pixels."""
LARGEST = 3
"""How many of the largest changes have a rank."""
_MARKED = 9.0  # pixels of a face that can have an edge of light
_RANK = 16.0  # pixels of the disc around a rank
_VEIL = 0.6  # opacity of the veil over what waits
_AIR = 0.45  # share of a face between a link and the middle of the row's cube where it starts
_LEGEND = (300.0, 720.0)  # width of the legend, and of the line that has room for it too
_HIGH = 66.0  # its height
INSIDE = "opened step"
"""The name of an opened step's place among the panels."""


class StepDrawing:
    """An opened step on one workbench; it draws nothing while `micro_step` is None.

    A click on one of the `spots` calls ``on_click("phase", number)`` or ``on_click("switch", side)``: side 0 is the
    sample, 1 the batch. `keys` are those of the line at the bottom.
    """

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self.micro_step: MicroStepView | None = None
        self._line: beside_cubes.Line | None = None  # the sentence as it is drawn
        self.on_click: Callable[[str, int], None] = lambda what, number: None
        self.keys: Sequence[tuple[str, str]] = ()
        self.spots: list[Spot] = []
        self._quantity = bench.colouring.quantity
        self._elapsed, self._rate, self._painted_progress = SECONDS, 1.0, 1.0  # time, its pace, painted progress
        self._placed: tuple[object, bool, CubeTexts, list[Box] | None, list[RowPlace]] | None = None

    @np.errstate(all="ignore")  # numbers that are lost
    def show(self, step: MicroStepView | None, *, animated: bool = True, seconds: float = SECONDS) -> None:
        """Show a micro-step for `seconds`, or none; unless `animated`, its pulse stands at its end."""
        bench, was = self._bench, self.micro_step
        if was is None:
            self._quantity = bench.colouring.quantity
        self.micro_step, self._elapsed, self._rate = step, 0.0 if animated else SECONDS, SECONDS / seconds
        self._painted_progress = self._progress
        if step is None:
            bench.slab.bloom.shine(None)
            bench.slab.set_instead(None)
        if step is None or step.phase != UPDATE:
            bench.slab.set_lift(None)
            bench.scenery.values.lift(None, bench.project)
        quantity = self._quantity if step is None else step.quantity
        same = step is not None and was is not None and (was.phase, was.quantity) == (step.phase, quantity)
        bench.colouring.opened = step is not None
        if quantity != bench.colouring.quantity and not same:
            bench.set_look(quantity=quantity)
        if (was is None) != (step is None):
            bench.lay_out()
        bench.refresh()

    def forget(self) -> None:
        """Forget the opened step, because the network is another one."""
        self.micro_step = self._placed = None
        self._bench.colouring.opened = False

    @property
    def _shown_step(self) -> MicroStepView:
        """The micro-step that is shown; there must be one."""
        assert self.micro_step is not None
        return self.micro_step

    @property
    def moving(self) -> bool:
        """True while a pulse moves."""
        step = self.micro_step
        return step is not None and (bool(step.pulses) or step.phase == UPDATE) and self._painted_progress < 1.0

    # ---- places

    @property
    def wanted_panels(self) -> list[WantedPanel]:
        """The place among the panels that an opened step asks for."""
        step = self.micro_step
        if step is None:
            return []
        high = beside_cubes.height_of(step, self._bench.subject) + TALL * self._bench.spread
        others = step.table and any(drawer.within > 0 for drawer in self._bench.side.drawers.values())  # show it too
        if self._bench.theme.presenter:  # the deltas stand beside the cubes
            own = SWITCH if others else beside_cubes.height_of(step, self._bench.subject, explained=False)
            return [WantedPanel(INSIDE, own, worth=ABOUT + (not others), first=True)]
        return [WantedPanel(INSIDE, SWITCH if others else high, high + 2 * HISTOGRAM, first=True)]

    @property
    def column(self) -> Box | None:
        """The box of an opened step in the side column; None if it has none, or controls lie over it."""
        places, controls = self._bench.places, self._bench.controls
        return None if self.micro_step is None or controls.open else places.panels.get(INSIDE)

    @property
    def _rows(self) -> tuple[Box | None, Box] | None:
        """Boxes of the line below the cubes, in place of legends, and of the ribbon, in place of the time bar."""
        places = self._bench.places
        if self.micro_step is None or places.strip is None:
            return None
        x, y, width, height = places.strip
        if places.legend is not None and places.time is not None:  # a panel has the strip
            if self.column is None:
                return None, places.time
            left, top, wide, high = self.column
            return (left, top + SWITCH + 18, wide, TALL if high >= SWITCH + 18 + TALL else SENTENCE), places.time
        if places.time is None:
            own = min(RIBBON, 0.46 * (min(height, STRIP) + 8))
            ribbon = (x, y + height - own, width, own)
        else:
            left, top, wide, high = places.time
            own = min(RIBBON, high)
            ribbon = (left, top + high - own, wide, own)
        if height >= BELOW:  # panels are between them
            return (x, y + BELOW - SENTENCE, width, height - BELOW + SENTENCE), ribbon
        beside = () if height >= LOW_STRIP else (self._switch_box, self._legend)
        right = min([x + width, *(box[0] - 16 for box in beside if box is not None)])
        top = ribbon[1] - 8
        high = min(SENTENCE, top - y)
        return (x, top - 8 - high, right - x, high), ribbon

    @property
    def _switch_box(self) -> Box | None:
        """The box of the switch at the right end of the line; None without room, or if a column has it.

        In a low or a standing picture it stands in the row of formulas, below the caption.
        """
        strip = self._bench.places.strip
        if self.column is not None or strip is None or self._bench.places.legend is not None:
            return None
        (wide, high), rows = _SMALL, self._rows if strip[3] >= LOW_STRIP else None
        box = (*strip[:2], strip[2], high - 8) if rows is None or rows[0] is None else rows[0]
        high = high if rows is None else ROW
        end = beside_cubes.end_of_row((box[0], box[1] + 4, *box[2:]), wide, high)
        return None if strip[2] < 2 * wide else end

    @property
    def _legend(self) -> Box | None:
        """The box of the cubes' legend, at the right end of the line; None if the line is too short."""
        strip, legend = self._bench.places.strip, self._bench.places.legend
        if strip is None or legend is not None:
            return None
        if strip[3] >= BELOW:  # above the line
            return *strip[:3], _HIGH
        if self._switch_box is not None:
            return None
        return (strip[0] + strip[2] - _LEGEND[0], strip[1], _LEGEND[0], _HIGH) if strip[2] >= _LEGEND[1] else None

    @property
    def _row_apart(self) -> str:
        """The last stage, if its only number stands beside the cubes and is that of one sample; otherwise empty."""
        bench, last = self._bench, self._bench.subject.stages[-1:]
        drawn = {plate.name for plate in (*bench.layout.plates, *bench.layout.spots)}
        alone = last and last[0].outputs == 1 and last[0].name not in drawn
        return last[0].name if alone and bench.scenery.outcome is not None and not self.mean else ""

    def _parts(self) -> tuple[CubeTexts, list[Box] | None, list[RowPlace]]:
        """Return cube texts, boxes of deltas and places of rows, made once for each layout and camera."""
        bench, scenery = self._bench, self._bench.scenery
        if self._placed is None or self._placed[:2] != (scenery.values, self.mean):
            flow = scenery.flow
            boxes = None if flow is None else delta_boxes(flow.rows, bench.places.scene)
            faces = CubeTexts(bench.layout, bench.project, scenery.values)
            inputs = bench.subject.source.n_inputs
            places = [] if flow is not None else row_places(bench.layout, bench.project, inputs, scenery.values)
            if scenery.outcome is not None and self._row_apart:
                at, above = scenery.outcome.output_places
                apart = (math.inf, math.inf)
                places.append(RowPlace(self._row_apart, at, above, np.zeros((1, 0, 2)), apart, drawn=True))
            self._placed = scenery.values, self.mean, faces, boxes, places
        return self._placed[2:]

    def _wires(self) -> tuple[Wires, Running] | None:
        """Return the links of the lit layer and the numbers that run along them; None without links."""
        step, bench, (_, boxes, placed) = self._shown_step, self._bench, self._parts()
        layer, plates = step.layer, {plate.name: plate for plate in bench.layout.plates}
        weight = None if layer is None or layer.weight is None else plates.get(layer.weight.name)
        if layer is None or weight is None or weight.size > MOST or weight.grid.gaps or not self._shows_quantity:
            return None
        bias, back = None if layer.bias is None else plates.get(layer.bias.name), step.phase in (BACKWARD, GRADIENTS)
        flow, places = bench.scenery.flow, {place.name: place.tops for place in placed}
        sources, sums = places.get(step.input_row), places.get(layer.name, places.get(step.output_row))
        if sources is not None and len(sources) != weight.shape[1]:  # it reads several rows, joined
            sources = None
        if flow is not None:
            sources = None if flow.inputs is None else flow.inputs + np.array([0.0, CHIP / 2])
            rows = range(weight.shape[0] if flow.rows.columns else 0)
            ends = [flow.rows.edge(k, "output" if flow.rows.raised else "sum", -1) for k in rows]
            if back and boxes is not None:
                ends = [(x + 14, y + high / 2) for x, y, _, high in boxes]
            sums = np.array(ends) if ends else None
        flat = np.where(bench.colouring.missing(step.frame), np.nan, bench.colouring.flat)
        numbers = flat[weight.start : weight.start + weight.size].reshape(weight.shape)
        x = step.forward_factors[weight.start : weight.start + weight.shape[1]]
        if bias is not None:
            numbers = np.concatenate([numbers, flat[bias.start : bias.start + bias.size, None]], axis=1)
            x = np.append(x, np.nan)
        delta = step.backward_factors[weight.start : weight.start + weight.size : weight.shape[1]] if back else None
        running = Running(numbers, x, step.phase == BACKWARD, delta, bench.colouring.range.high)
        air = 0.0 if flow is not None else _AIR * min(face_room(weight, bench.project))
        return wires_of(weight, bias, bench.project, sources, sums, air), running

    def _path(self, wires: Wires, pulse: Pulse) -> Floats | None:
        """Return the path of a pulse (N, 2), or None."""
        step, flow = self._shown_step, self._bench.scenery.flow
        assert step.layer is not None  # else there are no wires
        assert step.layer.weight is not None
        if pulse.index < 0:  # of a whole layer
            return None
        rows = None if flow is None else flow.rows
        chips = {"unit": ("sum", "output"), "loss": ("output", "target")}.get(pulse.kind)
        if chips is not None:
            if rows is None or not {*chips} <= rows.columns.keys():
                return None
            ends = rows.way(pulse.index) if chips[0] == "sum" else None
            return np.array(ends or [rows.edge(pulse.index, chips[0], 1), rows.edge(pulse.index, chips[1], -1)])
        weight, place = step.layer.weight, pulse.index - step.layer.weight.start
        if pulse.kind in ("product", "gradient"):
            inside = 0 <= place < weight.size
            row, column = divmod(place, weight.shape[1]) if inside else (0, weight.shape[1])
            if not inside and step.layer.bias is not None:
                row = pulse.index - step.layer.bias.start
            return wires.path(pulse.kind, row, column)
        return wires.path(pulse.kind, pulse.index, pulse.index)

    def _outline_weight(self) -> Sketch:
        """Return a light edge around the cube or row of the sentence; thinner around a small cube."""
        said, bench, outlined = self._shown_step.sentence, self._bench, self._shown_step.outlined
        sketch = Sketch(over=True, passing=said.chosen or self._shown_step.phase == UPDATE)
        index = said.index
        first, last = (index, index) if index >= 0 or not outlined else (int(outlined[-1][0]), int(outlined[-1][-1]))
        plate = next((p for p in bench.layout.plates if p.start >= 0 and 0 <= first - p.start < p.size), None)
        if plate is not None:
            ends = np.concatenate([self._face(plate, first), self._face(plate, last)])
            across, down = (abs(np.linalg.det([ends[4] - ends[0], ends[k] - ends[0]])) for k in (1, 2))
            ring = ends[[0, 5, 7, 2, 0] if across <= down else [0, 1, 7, 6, 0]]
            sketch.polyline(ring, bench.theme.selection, 2.0 if float(np.ptp(ring, axis=0).min()) > _MARKED else 1.4)
        return sketch

    def _arrows(self) -> Sketch:
        """Return two arrows to press, up and down: on the cube of the sentence, or beside a small one."""
        sketch, bench, theme = Sketch(over=True), self._bench, self._bench.theme
        index = self._shown_step.sentence.index
        plate = next((p for p in bench.layout.plates if p.start >= 0 and 0 <= index - p.start < p.size), None)
        if plate is None:
            return sketch
        face = self._face(plate, index)
        (x, y), (wide, high) = face.mean(axis=0).tolist(), np.ptp(face, axis=0).tolist()
        size = min(max(0.42 * high, ARROW), 1.6 * ARROW)
        if min(0.8 * wide, 0.5 * high) < ARROW:  # beside it, where there is more room
            right = x + wide / 2 + size + 6 < bench.places.scene[0] + bench.places.scene[2]
            x += (wide / 2 + size / 2 + 6) * (1 if right else -1)
        for way, name in ((1, "up"), (-1, "down")):
            middle = y - way * (size / 2 + 1)
            box = (x - size / 2, middle - size / 2, size, size)
            sketch.rect(*box, radius=5, fill=theme.panel, stroke=theme.selection, border=1.6)
            tip, foot, half = middle - way * 0.26 * size, middle + way * 0.2 * size, 0.3 * size
            sketch.polygon([(x, tip), (x + half, foot), (x - half, foot)], theme.text1)
            sketch.spot(box, "arrow", way, words=name)
        return sketch

    def _face(self, plate: Plate, index: int) -> Floats:
        """Return the corners (4, 2) of the main face of a weight's cube, at its present height."""
        lift = self._bench.slab.atlas.lift
        up = 0.0 if lift is None else 2.0 * plate.depth * float(lift[index])
        return self._bench.project(plate.corners_of(index - plate.start)[4:] + up * plate.axes[2])

    def _veil(self) -> Sketch:
        """Return a veil over what a plan draws right of the plates that the forward pass has reached."""
        step, bench, sketch = self._shown_step, self._bench, Sketch(over=True)
        sheet = bench.scenery.blueprint
        if not bench.spread or sheet is None or step.phase > FORWARD:
            return sketch
        x, y, wide, high = bench.places.scene
        come = [p for p in bench.layout.plates if p.start >= 0 and p.name.rpartition(".")[0] in step.reached_modules]
        left = max((float(bench.project(plate.corners)[:, 0].max()) for plate in come), default=x) + 4
        # No row of the stream is cut: the veil begins behind the one to which the last plate adds.
        stream = min((box[1] - 6 for box in sheet.rows), default=y + high)
        ends = [right + 4 for right in (box[0] + box[2] for box in sheet.rows if box[0] < left < box[0] + box[2])]
        for top, foot, start in ((y, stream, left), (stream, y + high, max(ends, default=left))):
            sketch.rect(start, top, x + wide - start, foot - top, fill=rgba(bench.theme.background, _VEIL))
        return sketch

    def _loss(self, light: float = 0.0) -> Sketch:
        """Return rings around outputs and targets, or around the loss's name; a flash has `light`."""
        sketch, scenery = Sketch(over=True), self._bench.scenery
        flow, boxes = scenery.flow, [] if scenery.outcome is None or self.mean else [scenery.outcome.box]
        if flow is not None and {"output", "target"} <= flow.rows.columns.keys():
            rows = flow.rows
            ends = [(rows.edge(k, "output", -1), rows.edge(k, "target", 1)) for k in range(len(rows.anchors))]
            high = rows.high - 6.0 * (rows.raised > 0)  # a ring does not touch the sum above
            boxes = [(x, y - high / 2, right - x, high) for (x, y), (right, _) in ends]
        colour = self._bench.theme.selection
        if not boxes and light and self.micro_step is not None and self._rows is not None:
            boxes = [beside_cubes.arrows(self._rows[1], self.micro_step.phases, LOSS)[LOSS]]
        for x, y, wide, high in boxes:
            glow = rgba(colour, FLASH * light)
            sketch.rect(x - 14, y - 12, wide + 28, high + 24, radius=14, fill=glow)
            sketch.rect(x - 6, y - 4, wide + 12, high + 8, radius=8, stroke=colour, border=1.6)
        return sketch

    def _draw_changes(self) -> Sketch:
        """Return outlines of faces before the update, and ranks of the largest changes: 1, 2, 3."""
        step, bench, sketch = self._shown_step, self._bench, Sketch(over=True, passing=True)
        if step.phase != UPDATE or bench.slab.atlas.lift is None:
            return sketch
        change = np.abs(np.nan_to_num(np.asarray(step.frame.state["change"], np.float64)))
        largest = [int(k) for k in np.argsort(-change)[:LARGEST] if change[k] > 0]
        largest *= len(largest) > 1  # a rank needs a second one
        ranked: list[tuple[float, float]] = []
        for plate in (plate for plate in bench.layout.plates if plate.start >= 0):
            span, large = range(plate.start, plate.start + plate.size), min(face_room(plate, bench.project)) > _MARKED
            for index in (k for k in span if change[k] > 0) if large else ():
                up = float(bench.slab.atlas.lift[index])
                ring = bench.project(plate.corners_of(index - plate.start)[4:])
                order = np.argsort(ring[:, 1])
                edge = ring[order[-2:]]  # of a risen cube, the visible edge on its side
                if up <= 0:  # of a sunk one, the far edge and what it sank: nothing crosses a face or a cube before it
                    far = sorted(order[:2], key=lambda k: ring[k, 0])
                    now = self._face(plate, index)
                    edge = np.array([now[far[0]], *ring[far], now[far[1]]])
                sketch.polyline(edge, bench.theme.text2, 1.0)
            for index in (k for k in largest if k in span):
                face = self._face(plate, index)
                before = bench.project(plate.corners_of(index - plate.start)[4:])
                x, y = np.minimum(face.min(axis=0), before.min(axis=0)).tolist()  # a number moves down with its face
                y = min(y, float((face + before)[:, 1].mean()) / 2 - _RANK - 2)  # not on the number of a small cube
                places = [(x + a, y + b) for a, b in ((0, 0), (_RANK + 6, 0), (0, _RANK + 6), (_RANK + 6, _RANK + 6))]
                if not large:  # beside its plate, with a line to its square
                    sketch.polyline(face[[0, 1, 3, 2, 0]], bench.theme.selection, 1.4)
                    places = self._beside(face, plate)
                free = [(u, v) for u, v in places if all(max(abs(u - a), abs(v - b)) > _RANK for a, b in ranked)]
                if free:
                    ranked.append(free[0])
                    x, y = free[0][0] + 2, free[0][1] + 4
                    if not large:
                        near = face[:, 0].max() if x > face[:, 0].mean() else face[:, 0].min()
                        sketch.polyline(np.array([(near, face[:, 1].mean()), (x, y)]), bench.theme.selection, 1.0)
                    sketch.disc(x, y, _RANK / 2, bench.theme.selection)
                    rank, ink = str(largest.index(index) + 1), bench.theme.background
                    sketch.text(x, y + 4.5, rank, LABEL, ink, bold=True, anchor="middle")
        return sketch

    def _beside(self, face: Floats, own: Plate) -> list[tuple[float, float]]:
        """Return places for the disc of a small face: beside its plate, on no word and, if possible, on no plate."""
        corners = {plate.name: self._bench.project(plate.corners) for plate in self._bench.layout.plates}
        (x, y), half, wide, plates = face.mean(axis=0), _RANK / 2, self._bench.size[0], list[Box]()
        for at in corners.values():
            (left, top), (across, down) = at.min(axis=0).tolist(), np.ptp(at, axis=0).tolist()
            plates.append((left, top, across, down))
        ends = corners[own.name][:, 0]
        sides = sorted((ends.max() + half + 4, ends.min() - half - 4), key=lambda side: abs(side - x))
        places = [(float(side), float(y + k * (_RANK + 2))) for k in (0, 1, -1, 2, -2) for side in sides]
        places = [(u, v) for u, v in places if half <= u <= wide - half]
        for taken in ([*self._words, *plates], self._words):
            free = [
                (u, v) for u, v in places if not any(meet((u - half, v - half, _RANK, _RANK), box) for box in taken)
            ]
            if free:
                return [(u - 2, v - 4) for u, v in free]
        return [(u - 2, v - 4) for u, v in places]

    # ---- numbers

    @property
    def _words(self) -> list[Box]:
        """The boxes of the words among the cubes."""
        said = [text for sketch in self._bench.side.spread_out() for text in sketch.texts]
        boxes = [(one.left, one.y - CAP_HEIGHT * one.size, one.width, CAP_HEIGHT * one.size) for one in said]
        return [*boxes, *self._bench.scenery.words]

    @property
    def written_cubes(self) -> Bools | None:
        """Mask of the cubes that have texts of their own, shape (P,)."""
        if self.micro_step is None:
            return None
        found = np.zeros(len(self.micro_step.frame.values), bool)
        if self.micro_step.asks:  # the arrows stand there
            found[self.micro_step.sentence.index] = True
        if self._shows_quantity:
            found[self._parts()[0].written(self.micro_step.cube_texts, one=self._single_line)] = True
        return found

    @property
    def _single_line(self) -> bool:
        """True if cubes have one line of text: a cube that rises hides a second one behind it."""
        return self.micro_step is not None and self.micro_step.phase == UPDATE

    @property
    def _shows_quantity(self) -> bool:
        """True if the cubes show the micro-step's quantity; a key may have changed it."""
        return self.micro_step is not None and self._bench.colouring.quantity == self.micro_step.quantity

    @property
    def reached(self) -> Mapping[str, Bools] | None:
        """Masks of the numbers that the forward pass has reached, by row, but for sums below the chip of a delta."""
        step, flow = self.micro_step, self._bench.scenery.flow
        if step is None:  # then the places inside a step are not needed: they take longer than all else of a key
            return None
        boxes = self._parts()[1]
        if step.phase < BACKWARD or flow is None or not boxes or not covers_sums(flow.rows, boxes):
            return step.reached
        return {**step.reached, f"{self._sums} {SUM}": step.reached[self._sums] & np.isnan(step.deltas[self._sums])}

    @property
    def mean(self) -> bool:
        """True if the numbers are of several samples together, which have no single output and target."""
        return self.micro_step is not None and " of " in self.micro_step.samples

    @property
    def row_light(self) -> float:
        """The brightness of rows, as a share: from backward on, one half."""
        return HALF if self.micro_step is not None and self.micro_step.phase > LOSS else 1.0

    def rows_frame(self, frame: Frame) -> Frame:
        """Return a frame for the rows of cubes, without the numbers that are not there yet."""
        if self.micro_step is None:
            return frame
        reached = self.micro_step.reached
        there = {name: row for name, row in frame.activations.items() if np.any(reached.get(name, True))}
        return replace(frame, activations=there, dead={name: ~own for name, own in reached.items()})  # these are unsaid

    @property
    def _sums(self) -> str:
        """The stage of a single layer's sums."""
        return next(stage.name for stage in self._bench.subject.stages if stage.weight is not None)

    def row_deltas(self) -> dict[str, Floats]:
        """Return the deltas of the rows that are drawn."""
        return {row: self._shown_step.deltas[stage] for row, stage in self._whose.items()}

    @property
    def _whose(self) -> dict[str, str]:
        """The stages whose deltas rows show."""
        layout = self._bench.layout
        drawn = {plate.name for plate in (*layout.plates, *layout.spots)} | {self._row_apart}
        return whose_deltas(self._bench.subject.stages, self._shown_step.deltas, drawn)

    def paint(self) -> None:
        """Paint rows and cubes: what is not there yet is dark, and deltas have their own colours."""
        bench, step = self._bench, self.micro_step
        if step is None:
            return
        self._painted_progress = self._progress
        rows, deltas, gradient = dict[str, Floats](), self.row_deltas(), get_map("gradient", bench.theme)
        stop = self._window_stop if self._shows_quantity else None
        for plate in (plate for plate in bench.layout.plates if plate.kind == "activation"):
            reached, numbers = step.reached.get(plate.name), step.frame.activations.get(plate.name)
            if reached is None or numbers is None or len(reached) != plate.size:
                continue
            scale = bench.activations.own.get(plate.name, bench.activations.range)
            unit = scale.unit(np.asarray(numbers, np.float64))
            own = dimmed(colours_at(bench.activations.cmap, np.clip(unit, 0.0, 1.0)), bench.theme)
            own[~reached] = rgb(bench.theme.tray)
            own[reached] = own[reached] if step.phase > LOSS else np.nan
            if stop is not None and plate.name == stop.row:
                own[~stop.made] = rgb(bench.theme.tray)
                if plate.name in step.sums and not reached.any():
                    sums = step.sums[plate.name].numbers
                    unit = Range.symmetric(float(np.abs(sums).max()) or 1.0).unit(sums[stop.made])
                    own[stop.made] = colours_at(bench.colouring.cmap, unit)
            back, chosen = deltas.get(plate.name), self.delta_range
            if back is not None and chosen is not None and plate.size > SECOND:  # where no second line has room
                there = ~np.isnan(back)
                own[there] = colours_at(gradient, np.clip(chosen.unit(np.asarray(back[there], np.float64)), 0.0, 1.0))
            rows[plate.name] = own
        lit = ~bench.colouring.missing(step.frame)
        come = np.flatnonzero(lit) if step.phase == BACKWARD else step.weights  # one after the other, a wave
        if step.phase != UPDATE and len(come) > 1 and stop is None:
            lit[come[math.ceil(self._progress * len(come)) :]] = False
        colours = None if stop is None and len(lit) > SHINING else self._bloom(lit, stop)
        bench.slab.bloom.shine(None if len(lit) > SHINING else colours)
        if step.phase == UPDATE:
            bench.slab.set_lift(self._rise())
            bench.scenery.values.lift(bench.slab.atlas.lift, bench.project)
        instead = dark(np.asarray(step.frame.values, np.float64), lit, bench.theme)
        if colours is not None and stop is not None and stop is not step.stops[-1]:  # these are others than at its end
            instead[stop.window.weights] = colours[stop.window.weights, :3]
        bench.slab.set_instead(instead, rows)

    @property
    def _window_stop(self) -> WindowPosition | None:
        """The present position of the window of a convolution or a pooling; it slides if there is time."""
        places = () if self.micro_step is None else self.micro_step.stops
        times = SECONDS / self._rate / STOP
        stops = min(len(places), round(times) - STANDS)
        if stops < 2 or self._progress >= 1.0:
            return places[-1] if places else None
        return places[round(min(int(self._progress * times), stops - 1) * (len(places) - 1) / (stops - 1))]

    def _frames(self) -> Sketch:
        """Return frames on the maps around the numbers under the window, and around their result."""
        sketch, bench, stop, framed = Sketch(over=True), self._bench, self._window_stop, self._shown_step.marks
        if stop is not None:
            under = np.array(stop.window.place.units)
            framed = {stop.window.place.stage: under[under >= 0], stop.row: np.array([stop.unit])}
        for plate in (plate for plate in bench.layout.plates if len(framed.get(plate.name, ()))):
            units = framed[plate.name]
            maps = np.flatnonzero(np.diff(units // (math.prod(plate.grid.tile) or plate.size))) + 1
            for own in np.split(units, maps):
                high, wide = (int(np.ptp(places)) + 1 for places in plate.grid.places(own))
                for some in [own] if high * wide == len(own) else own[:, None]:  # else it is drawn as no map
                    ends = [(at.min() - plate.half, at.max() + plate.half) for at in plate.grid.places(some)]
                    ring = [(ends[1][x], ends[0][y], plate.depth) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1), (0, 0))]
                    line = bench.project(plate.origin + np.array(ring) @ plate.axes)
                    sketch.polyline(line, bench.theme.background, 4.0)
                    sketch.polyline(line, bench.theme.selection, 2.0)
        return sketch

    def _bloom(self, lit: Bools, stop: WindowPosition | None) -> Floats:
        """Return colour and strength of the light around cubes: current ones shine, earlier ones glimmer."""
        step, colouring = self._shown_step, self._bench.colouring
        now, drawn = np.zeros(len(lit), bool), colouring.drawn.copy()
        now[step.weights] = True
        if stop is not None:
            drawn[stop.window.weights] = stop.window.products
        unit = np.clip(colouring.range.unit(drawn), 0.0, 1.0)
        strength = np.where(now, SHINES, GLIMMERS) * np.abs(2.0 * unit - 1.0) * lit
        return np.concatenate([colours_at(colouring.cmap, unit), strength[:, None]], axis=1)

    @property
    def opened_step(self) -> MicroStepView | None:
        """The opened step as panels show it."""
        return None if self.micro_step is None else replace(self.micro_step, progress=self._progress)

    @property
    def _progress(self) -> float:
        """The share of its time that the micro-step has been shown, 0 to 1."""
        return min(self._elapsed / SECONDS, 1.0)

    @property
    def _height(self) -> float:
        """The height of a cube."""
        return min(2.0 * plate.depth for plate in self._bench.layout.plates if plate.kind != "activation")

    @property
    def _scale(self) -> float:
        """The factor from changes of weights to heights."""
        height, first, shares = self.heights
        change = np.asarray(self._shown_step.range_values, np.float64)
        return height_scale(change, height * min([1.0, *shares[change[first:][: len(shares)] > 0]]))

    @property
    def heights(self) -> tuple[float, int, Floats]:
        """The height of a cube; and, from a weight on, the share of it by which each of the first row may rise.

        None of the first row rises onto its input.
        """
        flow, height = self._bench.scenery.flow, self._height
        if flow is None or flow.inputs is None:
            return height, 0, np.zeros(0)
        weight, project = flow.plates[0], self._bench.project
        tops = weight.tops[: weight.shape[1]]
        risen = project(tops)[:, 1] - project(tops + 2 * weight.depth * weight.axes[2])[:, 1]
        free = face_quads(weight, project)[: len(tops), :, 1].min(axis=1) - flow.inputs[:, 1] - CHIP / 2 - 4
        return height, weight.start, np.asarray((free / np.maximum(SINKS * risen, 1.0)).clip(0.05), np.float64)

    def _rise(self) -> Floats:
        """Return how far each cube has risen or sunk, as a share of its height; current ones still move."""
        step = self._shown_step
        change = np.asarray(step.frame.state["change"], np.float64)
        share = self._progress
        rise = np.nan_to_num(change, posinf=0.0, neginf=0.0) * self._scale / self._height
        rise[step.weights] *= share * share * (3.0 - 2.0 * share)
        return rise

    @property
    def delta_range(self) -> Range | None:
        """The range of the deltas so far: the gradients' if they fit in; None before there are deltas."""
        if self.micro_step is None or self.micro_step.phase < BACKWARD:
            return None
        numbers = [row[np.isfinite(row)] for row in self.row_deltas().values()]
        most, colouring = extent(np.concatenate([*numbers, np.zeros(1)])) or 1.0, self._bench.colouring
        there = colouring.quantity == "gradient" and not colouring.missing(self.micro_step.frame).all()
        fits = there and most <= colouring.range.high
        return colouring.range if fits else Range.symmetric(most, "symlog")

    @property
    def range_values(self) -> Floats | None:
        """The numbers whose range the colours have; None: those of the frame."""
        step = self.micro_step
        return np.asarray(step.range_values) if step is not None and self._shows_quantity else None

    @property
    def about(self) -> str | None:
        """The samples, or the scale, of the numbers that the cubes show; None while no step is open."""
        step, quantity = self.micro_step, self._bench.colouring.quantity
        if step is None:
            return None
        if quantity == "change":
            return f"height: change × {self._scale:,.10g} · 1 2 3: the largest so far"
        return step.samples if quantity == "gradient" else ""

    # ---- what is drawn

    def hud_state(self, state: HudState) -> HudState:
        """Return the HUD's state with the samples of the numbers."""
        step = self.micro_step
        if step is None:
            return state
        of = step.samples if self.mean else f"of {step.samples}"
        shown, about = ("weight", "") if self._bench.colouring.dark else (state.quantity, self.about or "")
        more = (Headline("predicted", step.score),) if step.score else ()
        return replace(
            state, quantity=shown, about=about, of=of, batch=1 if step.trial else state.batch, more=more, inside=True
        )

    def texts(self) -> list[Sketch]:
        """Return all sketches: links, cube texts, deltas, the line below, the ribbon, the side column."""
        step, bench = self.micro_step, self._bench
        if step is None:
            self.spots = []
            return []
        faces, boxes, places = self._parts()
        wires = None if step.phase == UPDATE else self._wires()
        sketches = [] if wires is None else [wires[0].sketch(wires[1], bench.theme, bench.colouring.cmap)]
        sketches += [self._outline_weight(), self._draw_changes() if step.phase != LOSS else self._loss()]
        if self._shows_quantity:
            sketches.append(faces.sketch(step.cube_texts, bench.colouring, step.frame.values, one=self._single_line))
        flow = bench.scenery.flow
        if flow is not None:
            if boxes is not None and step.phase in (BACKWARD, GRADIENTS, UPDATE):
                come = step.deltas[self._sums]
                sketches.append(delta_chips(flow.rows, boxes, bench.theme, self._sums, come, mean=step.shows_means))
        else:
            chosen = self.delta_range or Range.symmetric(1.0, "symlog")
            own = {name: np.where(there, step.frame.activations[name], np.nan)
                   for name, there in step.reached.items() if name in step.frame.activations}  # fmt: skip
            whose = self._whose.items() if step.phase >= BACKWARD else ()
            deltas = {row: (stage, step.deltas[stage]) for row, stage in whose}
            made = step.stage if step.layer is None or step.output_row not in step.sums else step.layer.name
            sketches += row_chips(places, bench.theme, bench.places.scene, own, step.sums, made, deltas, chosen,
                                  self._words)  # fmt: skip
        sketches.append(self._veil())
        column, rows, legend, small = self.column, self._rows, self._legend, self._switch_box
        if rows is not None:
            sketches.append(beside_cubes.ribbon(rows[1], bench.theme, step.phases, step.phase))
            if rows[0] is not None:
                sketches += self._sentence(rows[0], small)
        if step.asks:
            sketches.append(self._arrows())
        if legend is not None:
            numbers = "number: new weight" if step.phase == UPDATE and bench.scenery.values.size else self.about or ""
            sketches.append(bench.strip.legend(legend, step.frame, numbers))
        place = small if column is None else (*column[:3], SWITCH)
        if place is not None:
            colour = bench.subject.probe if bench.subject.sample.colours else None
            one = noun(bench.subject)
            sketches.append(beside_cubes.switch(place, bench.theme, one, trial=step.trial, colour=colour))
        if column is not None:
            line = None if rows is None or bench.places.legend is None else rows[0]
            top = column[1] + SWITCH + 18 if line is None else line[1] + line[3] + 8
            room = column[0], top, column[2], column[1] + column[3] - top
            sketches += beside_cubes.below_switch(room, bench.theme, bench.subject, step)
        self.spots = [spot for sketch in sketches for spot in sketch.spots]
        return sketches

    def _sentence(self, line: Box, small: Box | None) -> list[Sketch]:
        """Return the sentence in its `line`, and the button that asks; it gives way to numbers and a `small` switch."""
        said, theme = self._shown_step.sentence, self._bench.theme
        button = beside_cubes.predict_box(line) if self._bench.keys else None  # somebody can press it
        if small is not None and meet(small, line):
            self._line = beside_cubes.sentence(line, theme, said, small)
            return [*self._line.drawn]
        ways = [beside_cubes.sentence(line, theme, said, box) for box in (None, button)]
        alone, both = (said.solved(text.text for text in way.said.texts) for way in ways)
        if button is None or (alone and not both):
            self._line = ways[0]
            return [*self._line.drawn]
        self._line = ways[1]
        return [*self._line.drawn, beside_cubes.predict_button(button, theme, on=self._shown_step.predicts)]

    def instead(self) -> Iterator[tuple[str, Sketch]]:
        """Yield what a page shows that has other numbers: in place of the caption, and of the first formula.

        Before each stands what a step must not have as recorded; empty: nothing.
        """
        place, said, sketch = None if self._rows is None else self._rows[0], self._shown_step.sentence, Sketch()
        if place is None or self._line is None:
            return
        known = self._shown_step.phase >= BACKWARD  # before, the lines would give away what is to come
        if known and said.caption.text and beside_cubes.SENTENCE <= place[3] < beside_cubes.WHY:
            beside_cubes.why(sketch, place, self._bench.theme, said, page=True)
        yield from (("", sketch), (said.instead[0], self._line.instead))

    def whole_step_frame(self, frame: Frame) -> Frame:
        """Return the frame before the step, for panels that stand beside an opened one."""
        return frame if self.micro_step is None else self.micro_step.before

    def loss(self, frame: Frame) -> float | None:
        """Return the loss of the drawn sample; inside a step, that before the step, once it is known."""
        return self._bench.subject.probe_loss(frame) if self.micro_step is None else self.micro_step.loss

    def overlay(self, seconds: float | None) -> list[Sketch]:
        """Return the pulses, `seconds` further on their way; None: they stand at their end."""
        step, theme = self.micro_step, self._bench.theme
        self._elapsed = SECONDS if seconds is None else self._elapsed + self._rate * seconds
        if step is None:
            return []
        found = self._wires() if self._elapsed < SECONDS and step.pulses else None
        paths = [] if found is None else [(p, self._path(found[0], p)) for p in step.pulses]
        runs = [pulse(path, self._progress, theme, back=p.backward) for p, path in paths if path is not None]
        flashes = step.phase == LOSS and self._elapsed < SECONDS
        flash = [self._loss(math.sin(math.pi * self._progress))] if flashes else []
        return [self._frames(), *runs, *flash]

    def cube_words(self, index: int) -> list[str]:
        """Return the words for a lit cube: its number, as a product if it is one."""
        step, colouring = self.micro_step, self._bench.colouring
        if step is None or colouring.missing(step.frame)[index]:
            return []
        made, w = float(colouring.flat[index]), float(step.before.values[index])
        x, delta = float(step.forward_factors[index]), float(step.backward_factors[index])
        factors = {"product": (w, x), "passed on": (w, delta), "gradient": (delta, x)}.get(colouring.quantity)
        if colouring.quantity == "change":
            return [f"{figure(w)} becomes {figure(float(step.frame.values[index]))}"]
        one = factors is not None and np.isclose(factors[0] * factors[1], made, rtol=1e-6, atol=0.0)
        said = product(*factors, made) if one and factors is not None else figure(made)
        return [f"{colouring.shows.words}: {said}", *([step.samples] if colouring.quantity == "gradient" else [])]

    # ---- hands

    def click(self, point: Point) -> bool:
        """Handle a click at a point (logical pixels); return whether it belongs to the opened step."""
        if self.micro_step is None:
            return False
        spot = spot_at(self.spots, point)
        if spot is not None and not (spot.name == "switch" and spot.value == (0 if self.micro_step.trial else 1)):
            self.on_click(spot.name, int(spot.value))
        return spot is not None or contains(self.column, point)
