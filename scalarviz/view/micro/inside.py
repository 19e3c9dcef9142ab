"""`Inside`: what a workbench draws of an opened step, and what answers to a click there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame
from ...run.questions.ranges import Range, extent
from ..cubes.scale import ActivationScale
from ..ink.maps import get_map
from ..ink.places import GAP, MARGIN
from ..ink.sketch import Box, Sketch, holds
from ..notes.values import Small
from ..panels.drawer import Inner
from ..panels.wording import noun
from ..screen.hud import HudState
from .bench import Bench
from .chips import delta_boxes, delta_chips, tails
from .column import LEGEND, SWITCH, beside, column, halves, switch
from .faces import Faces
from .figures import (
    BINS,
    HISTOGRAM,
    histogram,
    layer_bars,
    layers_height,
    output_rows,
    outputs_height,
    rule_lines,
)
from .pulses import SECONDS, Ways, pulse
from .ribbon import HEIGHT, arrow_at, ribbon
from .sentence import HEIGHT as SENTENCE
from .sentence import sentence
from .told import BACKWARD, FORWARD, GRADIENTS, UPDATE, Told

Point = tuple[float, float]
_SMALL = (196.0, 30.0)  # the switch, where there is no column for it


class Inside:
    """An opened step on one workbench; nothing of it is there while `told` is None.

    Parameters
    ----------
    bench : Bench

    Attributes
    ----------
    told : Told or None
        The micro-step shown.
    asked : callable or None
        ``asked("phase", number)`` and ``asked("switch", 0)``: what a click wants.
    keys : sequence of (str, str)
        Keys and what they do, for the line at the bottom while a step is open.
    """

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.told: Told | None = None
        self.asked: Callable[[str, int], None] | None = None
        self.keys: Sequence[tuple[str, str]] = ()
        self._quantity = bench.colouring.quantity
        self._since = SECONDS
        self._placed: tuple[object, Faces, Ways, list[Box] | None] | None = None

    def show(self, told: Told | None, *, runs: bool = True) -> None:
        """Show a micro-step of an opened step, or none any more.

        Parameters
        ----------
        told : Told or None
        runs : bool
            Whether its pulse runs along the lines; else it stands at its end.
        """
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
        box = beside(list(places.panels.values()))
        if self.told is None or box is None or box[0] < places.scene[0] + places.scene[2]:
            return None
        if controls.open and not controls.hidden:
            return None
        return box[0], float(MARGIN), box[2], places.size[1] - 2 * MARGIN

    @property
    def below(self) -> Box | None:
        """What lies below the cubes: legends, and all down to the line of keys."""
        places = self._bench.places
        if self.told is None or places.strip is None:
            return None
        x, y, width, height = places.strip
        bottom = y + height if places.time is None else places.time[1] + places.time[3]
        if places.keys is not None:
            bottom = max(bottom, places.keys - 20)
        if self.column is not None:
            width = places.size[0] - 2 * MARGIN
        return x, y - 8, width, bottom - y + 8

    @property
    def _ribbon(self) -> Box | None:
        if self.below is None:
            return None
        x, y, width, height = self.below
        own = min(HEIGHT, 0.46 * height)
        return x, y + height - own, width, own

    @property
    def _switch(self) -> Box | None:
        """In the column; without one at the right end of the line above the ribbon."""
        if self.column is not None:
            x, y, width, _ = self.column
            return x, y, width, SWITCH
        if self.below is None or self.below[2] < 2 * _SMALL[0]:
            return None
        x, y, width, _ = self.below
        return x + width - _SMALL[0], y + 4, *_SMALL

    def _parts(self) -> tuple[Faces, Ways, list[Box] | None]:
        """What depends on layout and camera: made once for each."""
        bench = self._bench
        scenery = bench.scenery
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
    def skip(self) -> NDArray[np.bool_] | None:
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
    def reached(self) -> Mapping[str, NDArray[np.bool_]] | None:
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
        if not self.backward:
            there = {name: row for name, row in frame.activations.items() if self._full(name)}
            return replace(frame, activations=there)
        deltas = self.row_deltas()
        return replace(frame, activations={n: d for n, d in deltas.items() if not np.isnan(d).any()}, dead={})

    def _full(self, name: str) -> bool:
        told = self.told
        return told is None or name not in told.reached or bool(told.reached[name].all())

    def row_deltas(self) -> dict[str, NDArray[np.floating]]:
        """Deltas by the rows that are drawn.

        A row that stands for a layer's sums and what becomes of them has the deltas of the sums, once they are there.
        """
        told, found = self.told, dict[str, NDArray[np.floating]]()
        assert told is not None
        drawn, pending = {p.name for p in self._bench.layout.plates if p.kind == "activation"}, ""
        for stage in self._bench.subject.stages:
            if stage.name in drawn:
                own = told.deltas[stage.name]
                sums = told.deltas.get(pending) if pending else None
                use = sums is not None and len(sums) == len(own) and not np.isnan(sums).all()
                found[stage.name] = sums if use and sums is not None else own
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
        missing = {name: np.isnan(row) for name, row in deltas.items()} | {
            "input": np.ones(bench.subject.source.n_inputs, bool)
        }
        bench.slab.set_rows_missing(missing)
        scale = self.scale(bench.activations)
        bench.slab.set_activations({name: np.nan_to_num(row) for name, row in deltas.items()})
        bench.slab.set_activation_range(0.0, 1.0, dict.fromkeys([*deltas, "input"], scale.range))

    def scale(self, activations: ActivationScale) -> ActivationScale:
        """The scale of the rows: their own, or that of the deltas."""
        delta_range = self.delta_range
        if delta_range is None:
            return activations
        found = ActivationScale(self._bench.subject.stages, self._bench.theme)
        found.cmap = get_map("gradient", self._bench.theme)
        found.range = delta_range
        return found

    @property
    def delta_range(self) -> Range | None:
        """The range of the deltas that have come; None where rows show none."""
        if not self.backward:
            return None
        numbers = [row[np.isfinite(row)] for row in self.row_deltas().values()]
        return Range.symmetric(extent(np.concatenate([*numbers, np.zeros(1)])) or 1.0, "symlog")

    @property
    def whole(self) -> NDArray[np.floating] | None:
        """The gradient whose range the colours have while samples are added up to it; None for that of the frame."""
        if self.told is None or not self._agrees:
            return None
        return self.told.whole

    @property
    def about(self) -> str | None:
        """Whose numbers the cubes show; None while no step is open."""
        if self.told is None:
            return None
        return self.told.samples if self._bench.colouring.quantity == "gradient" else ""

    # ---- what is drawn

    def on_cubes(self, frame: Frame, small: Small | None) -> list[Sketch]:
        """The numbers on the cubes of a frame; of an opened step those that have come, but for what `texts` writes."""
        bench = self._bench
        return bench.scenery.cubes(self.rows(frame), bench.colouring, self.scale(bench.activations), self.skip, small)

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
            return []
        faces, _, boxes = self._parts()
        sketches = [faces.sketch(told.faces, bench.colouring, alone=self._alone)] if self._agrees else []
        flow = bench.scenery.flow
        if flow is not None and boxes is not None and told.phase in (BACKWARD, GRADIENTS, UPDATE):
            sums = next(s.name for s in bench.subject.stages if s.weight is not None)
            sketches.append(delta_chips(flow.rows, boxes, bench.theme, told.deltas[sums], mean=told.mean))
        below, band = self.below, self._ribbon
        if below is not None and band is not None:
            sketches.append(ribbon(band, bench.theme, told.phases, told.phase))
            sketches.append(sentence(self._line(below, band), bench.theme, told.sentence))
        place = self._switch
        if place is not None:
            colour = bench.subject.probe if bench.subject.sample.colours else None
            sketches.append(switch(place, bench.theme, noun(bench.subject), trial=told.trial, colour=colour))
        return sketches

    def _line(self, below: Box, band: Box) -> Box:
        """Room of the line: above the ribbon, left of the switch if that stands there."""
        x, y, width, _ = below
        own = self._switch
        right = own[0] - 16 if own is not None and self.column is None else x + width
        if self.column is not None:
            right = self._bench.places.scene[0] + self._bench.places.scene[2] - MARGIN
        room = band[1] - y - 8
        high = min(SENTENCE, room)
        return x, y + (room - high), right - x, high

    def _tails(self, told: Told, ways: Ways, count: int) -> NDArray[np.float64]:
        """How far along its row each delta has come; that on its way is not counted."""
        tails = np.full((count, 2), np.nan)
        flow, running = self._bench.scenery.flow, {p.index for p in told.pulses} if self.moving else set()
        assert flow is not None
        for plate in flow.plates[::-1]:
            for element in range(plate.size) if plate is not None else ():
                index = -1 if plate is None else plate.start + element
                if plate is not None and told.frame.computed[index] and index not in running:
                    i = element // plate.shape[1]
                    end = ways.reach(index)
                    if np.isnan(tails[i, 0]) or end[0] < tails[i, 0]:
                        tails[i] = end
        return tails

    def beside(self, frame: Frame) -> list[Sketch] | None:
        """What stands in the side column in place of its panels; None where those stand."""
        told, bench, box = self.told, self._bench, self.column
        if told is None or box is None:
            return None
        band = self._ribbon
        bottom = (band[1] if band is not None else box[1] + box[3]) - 14
        place = (box[0], box[1] + SWITCH + 18, box[2], bottom - box[1] - SWITCH - 18)
        return side(bench, place, told, frame, self.about or "")

    def outer(self, frame: Frame) -> Frame:
        """The frame of whole steps, for panels that stand beside an opened one."""
        return frame if self.told is None or self.told.now is None else self.told.now

    def loss(self, frame: Frame) -> float | None:
        """The loss of the one sample that is drawn: inside a step that before it, once it is there."""
        return self._bench.subject.probe_loss(frame) if self.told is None else self.told.loss

    def overlay(self, seconds: float | None) -> list[Sketch]:
        """The pulses, `seconds` further on their way (None: the picture is still, they have come)."""
        told, bench = self.told, self._bench
        self._since = SECONDS if seconds is None else self._since + seconds
        if told is None:
            return []
        _, ways, boxes = self._parts()
        sketches = []
        if boxes is not None and told.phase == GRADIENTS:
            sketches.append(tails(boxes, bench.theme, self._tails(told, ways, len(boxes)), mean=told.mean))
        if self._since < SECONDS:
            paths = [(p, ways.path(p)) for p in told.pulses]
            share = self._since / SECONDS
            sketches += [pulse(path, share, bench.theme, back=p.back) for p, path in paths if path is not None]
        return sketches

    # ---- hands

    def click(self, point: Point) -> bool:
        """A click at a point (logical pixels); whether it belongs to the opened step."""
        told = self.told
        if told is None:
            return False
        place, band = self._switch, self._ribbon
        if place is not None:
            for side, part in enumerate(halves(place)):
                if holds(part, point):
                    if (side == 0) != told.trial:
                        self._ask("switch", side)
                    return True
        phase = None if band is None else arrow_at(band, point)
        if phase is not None:
            self._ask("phase", phase)
            return True
        own = self.column
        return holds(own, point)

    def _ask(self, what: str, number: int) -> None:
        if self.asked is not None:
            self.asked(what, number)


# ---- What stands in the side column below the switch: swatches, where the deltas come from, figures, the legend.


def side(bench: Bench, box: Box, told: Told, frame: Frame, about: str) -> list[Sketch]:
    """The column in `box`; `about` says whose numbers the cubes show."""
    x, y, width, high = box
    sample, colours = bench.subject.sample, list[NDArray[np.floating] | None]()
    if sample.colours and bench.subject.probe is not None:
        last = bench.subject.stages[-1].name
        output = told.frame.activations[last] if told.reached[last].all() else None
        colours = [bench.subject.probe, output, sample.wanted] if told.sample is None else list(told.sample)
    found, end = column((x, y, width, high - LEGEND), bench.theme, told, sample.outputs, colours)
    own, end = _panels(bench, told, (x, end, width, y + high - LEGEND - end))
    sketches = [found, *own, *_figures(bench, told, (x, end, width, y + high - LEGEND - end))]
    if end <= y + high - LEGEND + 8:
        sketches.append(bench.strip.legend((x, y + high - LEGEND + 4, width, LEGEND), frame, about))
    return sketches


def _panels(bench: Bench, told: Told, box: Box) -> tuple[list[Sketch], float]:
    """What panels of the scene have to show of the step, and where they end."""
    if told.data is None or told.moved is None or told.now is None:
        return [], box[1]
    inner = Inner(told.frame, told.now, told.phase, told.deltas, told.moved, bench.subject.source, told.data,
                  told.samples, told.stage, told.adding)  # fmt: skip
    return bench.side.inside(inner, box)


def _figures(bench: Bench, told: Told, box: Box) -> list[Sketch]:
    """What the rest of the column has room for."""
    theme, (x, y, width, high) = bench.theme, box
    found: list[Sketch] = []
    if told.outputs and high >= (own := outputs_height(told.outputs)):
        found.append(output_rows((x, y, width, high), theme, told.outputs, mean=told.mean))
        y, high = y + own + GAP / 2, high - own - GAP / 2
    if told.layers and high >= (own := layers_height(told.layers)):
        found.append(layer_bars((x, y, width, high), theme, told.layers, "gradient by layer"))
        y, high = y + own + GAP / 2, high - own - GAP / 2
    facts = bench.subject.source.facts
    if told.rule and facts is not None:
        lines = [(f.letters, "".join(word.text for word in f.numbers).strip()) for f in told.rule]
        for some in (lines, lines[:-1]):  # the last one stands below the cubes too
            rule = rule_lines((x, y, width, high), theme, facts.optimizer, some)
            if rule is not None:
                return [*found, rule]
    if told.spread is not None and high >= HISTOGRAM:
        middles = (np.arange(BINS) + 0.5) / BINS * 2 - 1
        reach = Range.symmetric(told.spread.reach, "symlog")
        unit = 2 * np.asarray(reach.unit(middles * told.spread.reach)) - 1
        found.append(histogram((x, y, width, high), theme, get_map("gradient", theme), told.spread, unit))
    return found
