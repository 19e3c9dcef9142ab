"""`Inside`: what a workbench draws of an opened step, and what answers to a click there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame
from ...run.questions.ranges import Range, extent
from ..cubes.scale import ActivationScale
from ..ink.boxes import MARGIN
from ..ink.maps import get_map
from ..ink.sketch import Box, Point, Sketch, Spot, holds, spot_at
from ..panels.wording import noun
from ..screen.hud import HudState
from .line_and_column import RIBBON, SENTENCE, SWITCH, Bench, below_switch, ribbon, sentence, switch
from .on_cubes import SECONDS, Faces, Ways, delta_boxes, delta_chips, pulse, tails
from .told import BACKWARD, FORWARD, GRADIENTS, UPDATE, Told

Floats = NDArray[np.floating]
Bools = NDArray[np.bool_]
_SMALL = (196.0, 30.0)  # the switch, where there is no column for it


class Inside:
    """An opened step on one workbench; nothing of it is there while `told`, the micro-step shown, is None.

    ``asked("phase", number)`` and ``asked("switch", 0)`` tell what a click on one of the `spots` wants; `keys` are
    those of the line at the bottom.
    """

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.told: Told | None = None
        self.asked: Callable[[str, int], None] = lambda what, number: None
        self.keys: Sequence[tuple[str, str]] = ()
        self.spots: list[Spot] = []
        self._quantity = bench.colouring.quantity
        self._since = SECONDS
        self._placed: tuple[object, Faces, Ways, list[Box] | None] | None = None

    def show(self, told: Told | None, *, runs: bool = True) -> None:
        """Show a micro-step, or none any more; its pulse `runs` along the lines, or else stands at its end."""
        bench, was = self._bench, self.told
        if was is None:
            self._quantity = bench.colouring.quantity
        self.told, self._since = told, 0.0 if runs else SECONDS
        quantity = self._quantity if told is None else told.quantity
        if quantity != bench.colouring.quantity and (told is None or was is None or was.phase != told.phase):
            bench.set_look(quantity=quantity)
        if (was is None) != (told is None):
            bench.lay_out()
        bench.slab.set_colours(activations=self.scale(bench.activations).cmap)
        bench.refresh()

    def forget(self) -> None:
        """The network is another one: nothing of what was opened can be shown."""
        self.told = self._placed = None

    @property
    def moving(self) -> bool:
        """Whether a pulse is on its way."""
        return self.told is not None and bool(self.told.pulses) and self._since < SECONDS

    # ---- places

    @property
    def column(self) -> Box | None:
        """The side column, which belongs to the opened step while there is one; not where controls lie over it."""
        places, controls = self._bench.places, self._bench.controls
        if self.told is None or not places.panels or controls.open:
            return None
        sides = np.array(list(places.panels.values()))
        left, right = float(sides[:, 0].min()), float((sides[:, 0] + sides[:, 2]).max())
        if left < places.scene[0] + places.scene[2]:
            return None
        return left, float(MARGIN), right - left, places.size[1] - 2 * MARGIN

    @property
    def _rows(self) -> tuple[Box, Box] | None:
        """The line and the ribbon below the cubes, in place of legends and all down to the line of keys."""
        places, column = self._bench.places, self.column
        if self.told is None or places.strip is None:
            return None
        x, y, width, height = places.strip
        bottom = y + height if places.time is None else places.time[1] + places.time[3]
        bottom = bottom if places.keys is None else max(bottom, places.keys - 20)
        own = min(RIBBON, 0.46 * (bottom - y + 8))
        top, right = bottom - own, x + width
        if column is not None:
            width, right = places.size[0] - 2 * MARGIN, places.scene[0] + places.scene[2] - MARGIN
        elif self._small is not None:
            right = self._small[0] - 16
        high = min(SENTENCE, top - y)
        return (x, top - 8 - high, right - x, high), (x, top, width, own)

    @property
    def _small(self) -> Box | None:
        """The switch at the right end of the line, where there is no column for it."""
        strip = self._bench.places.strip
        if strip is None or strip[2] < 2 * _SMALL[0]:
            return None
        return strip[0] + strip[2] - _SMALL[0], strip[1] - 4, *_SMALL

    def _parts(self) -> tuple[Faces, Ways, list[Box] | None]:
        """What depends on layout and camera: made once for each."""
        bench, scenery = self._bench, self._bench.scenery
        if self._placed is None or self._placed[0] is not scenery.values:
            flow = scenery.flow
            boxes = None if flow is None else delta_boxes(flow.rows, bench.places.scene)
            order = ("input", *(stage.name for stage in bench.subject.stages))
            ways = Ways(bench.layout, bench.project, flow, order, boxes)
            faces = Faces(bench.layout, bench.project, scenery.values)
            self._placed = scenery.values, faces, ways, boxes
        return self._placed[1:]

    # ---- numbers

    @property
    def skip(self) -> Bools | None:
        """Which cubes have lines of their own (P,)."""
        if self.told is None:
            return None
        found = np.zeros(len(self.told.frame.values), bool)
        if self._agrees:
            found[self._parts()[0].written(self.told.faces, alone=self._alone)] = True
        return found

    @property
    def _alone(self) -> bool:
        """Whether a number may stand on a cube without what it comes from: a product would be taken for the weight."""
        return self.told is not None and self.told.phase != FORWARD

    @property
    def _agrees(self) -> bool:
        """Whether the cubes show what the micro-step is about: a key may have changed that."""
        return self.told is not None and self._bench.colouring.quantity == self.told.quantity

    @property
    def reached(self) -> Mapping[str, Bools] | None:
        """Which numbers of the rows the forward pass has come to."""
        return None if self.told is None else self.told.reached

    @property
    def backward(self) -> bool:
        """Whether rows show deltas."""
        return self.told is not None and self.told.phase in (BACKWARD, GRADIENTS)

    def rows(self, frame: Frame) -> Frame:
        """A frame as the rows of cubes show it: what is not there yet is left out, backwards they are deltas."""
        if self.told is None:
            return frame
        if self.backward:
            deltas = {name: row for name, row in self.row_deltas().items() if not np.isnan(row).any()}
            return replace(frame, activations=deltas, dead={})
        reached = self.told.reached
        there = {name: row for name, row in frame.activations.items() if np.all(reached.get(name, True))}
        return replace(frame, activations=there)

    def row_deltas(self) -> dict[str, Floats]:
        """Deltas by the rows that are drawn.

        A row that stands for a layer's sums and what becomes of them has the deltas of the sums, once they are there.
        """
        told, found, pending = self.told, dict[str, Floats](), ""
        assert told is not None
        for stage in self._bench.subject.stages:
            if self._bench.layout.activation(stage.name) is not None:
                own = told.deltas[stage.name]
                sums = told.deltas.get(pending, own)
                found[stage.name] = sums if len(sums) == len(own) and not np.isnan(sums).all() else own
                pending = ""
            elif stage.weight is not None:
                pending = stage.name
        return found

    def paint(self) -> None:
        """Bring onto the rows of cubes which of their numbers are not there yet, and deltas in their own colours."""
        bench, told = self._bench, self.told
        if told is None or not any(p.kind == "activation" for p in bench.layout.plates):
            return
        if not self.backward:
            bench.slab.set_rows_missing({name: ~there for name, there in told.reached.items()})
            return
        deltas = self.row_deltas()
        inputs = np.ones(bench.subject.source.n_inputs, bool)
        bench.slab.set_rows_missing({name: np.isnan(row) for name, row in deltas.items()} | {"input": inputs})
        bench.slab.set_activations({name: np.nan_to_num(row) for name, row in deltas.items()})
        scale = self.scale(bench.activations)
        bench.slab.set_activation_range(0.0, 1.0, dict.fromkeys([*deltas, "input"], scale.range))

    def scale(self, activations: ActivationScale) -> ActivationScale:
        """The scale of the rows: their own, or that of the deltas."""
        delta_range = self.delta_range
        if delta_range is None:
            return activations
        found = ActivationScale(self._bench.subject.stages, self._bench.theme)
        found.cmap, found.range = get_map("gradient", self._bench.theme), delta_range
        return found

    @property
    def delta_range(self) -> Range | None:
        """The range of the deltas that have come, that of the gradients if they fit in; None where rows show none."""
        if not self.backward or self.told is None:
            return None
        numbers = [row[np.isfinite(row)] for row in self.row_deltas().values()]
        most, colouring = extent(np.concatenate([*numbers, np.zeros(1)])) or 1.0, self._bench.colouring
        there = colouring.quantity == "gradient" and not colouring.missing(self.told.frame).all()
        fits = there and most <= colouring.range.high
        return colouring.range if fits else Range.symmetric(most, "symlog")

    @property
    def whole(self) -> Floats | None:
        """The gradient whose range the colours have while samples are added up to it; None for that of the frame."""
        return self.told.whole if self.told is not None and self._agrees else None

    @property
    def about(self) -> str | None:
        """Whose numbers the cubes show; None while no step is open."""
        if self.told is None:
            return None
        return self.told.samples if self._bench.colouring.quantity == "gradient" else ""

    # ---- what is drawn

    def head(self, state: HudState) -> HudState:
        """The HUD's lines: whose numbers they are."""
        told = self.told
        if told is None:
            return state
        return replace(state, about=self.about or "", before="", batch=1 if told.trial else state.batch)

    def texts(self) -> list[Sketch]:
        """Faces, deltas, the line below and the ribbon."""
        told, bench = self.told, self._bench
        if told is None:
            self.spots = []
            return []
        faces, _, boxes = self._parts()
        sketches = [faces.sketch(told.faces, bench.colouring, alone=self._alone)] if self._agrees else []
        flow = bench.scenery.flow
        if flow is not None and boxes is not None and told.phase in (BACKWARD, GRADIENTS, UPDATE):
            sums = next(s.name for s in bench.subject.stages if s.weight is not None)
            sketches.append(delta_chips(flow.rows, boxes, bench.theme, told.deltas[sums], mean=told.mean))
        column, rows = self.column, self._rows
        if rows is not None:
            sketches.append(ribbon(rows[1], bench.theme, told.phases, told.phase))
            sketches.append(sentence(rows[0], bench.theme, told.sentence))
        place = self._small if column is None else (*column[:3], SWITCH)
        if place is not None:
            colour = bench.subject.probe if bench.subject.sample.colours else None
            sketches.append(switch(place, bench.theme, noun(bench.subject), trial=told.trial, colour=colour))
        self.spots = [spot for sketch in sketches for spot in sketch.spots]
        return sketches

    def _tails(self, told: Told, ways: Ways, count: int) -> Floats:
        """How far along its row each delta has come; that on its way is not counted."""
        ends, flow = np.full((count, 2), np.nan), self._bench.scenery.flow
        assert flow is not None
        running = {p.index for p in told.pulses} if self.moving else set()
        for plate in (plate for plate in flow.plates[::-1] if plate is not None):
            for element in range(plate.size):
                index, i = plate.start + element, element // plate.shape[1]
                if told.frame.computed[index] and index not in running:
                    end = ways.reach(index)
                    if np.isnan(ends[i, 0]) or end[0] < ends[i, 0]:
                        ends[i] = end
        return ends

    def beside(self, frame: Frame) -> list[Sketch] | None:
        """What stands in the side column in place of its panels; None where those stand."""
        told, box = self.told, self.column
        if told is None or box is None:
            return None
        rows, top = self._rows, box[1] + SWITCH + 18
        bottom = (rows[1][1] if rows is not None else box[1] + box[3]) - 14
        return below_switch(self._bench, (box[0], top, box[2], bottom - top), told, frame, self.about or "")

    def outer(self, frame: Frame) -> Frame:
        """The frame of whole steps, for panels that stand beside an opened one."""
        return frame if self.told is None else self.told.before

    def loss(self, frame: Frame) -> float | None:
        """The loss of the one sample that is drawn: inside a step that before it, once it is there."""
        return self._bench.subject.probe_loss(frame) if self.told is None else self.told.loss

    def overlay(self, seconds: float | None) -> list[Sketch]:
        """The pulses, `seconds` further on their way (None: the picture is still, they have come)."""
        told, theme = self.told, self._bench.theme
        self._since = SECONDS if seconds is None else self._since + seconds
        if told is None:
            return []
        (_, ways, boxes), sketches = self._parts(), list[Sketch]()
        if boxes is not None and told.phase == GRADIENTS:
            sketches.append(tails(boxes, theme, self._tails(told, ways, len(boxes)), mean=told.mean))
        if self._since < SECONDS:
            paths = [(p, ways.path(p)) for p in told.pulses]
            share = self._since / SECONDS
            sketches += [pulse(path, share, theme, back=p.back) for p, path in paths if path is not None]
        return sketches

    # ---- hands

    def click(self, point: Point) -> bool:
        """A click at a point (logical pixels); whether it belongs to the opened step."""
        if self.told is None:
            return False
        spot = spot_at(self.spots, point)
        if spot is not None and not (spot.name == "switch" and spot.value == (0 if self.told.trial else 1)):
            self.asked(spot.name, int(spot.value))
        return spot is not None or holds(self.column, point)
