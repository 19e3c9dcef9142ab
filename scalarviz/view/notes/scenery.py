"""`Scenery`: names and lines that belong to the cubes and move with them; `CubeValues`: the numbers on the cubes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...run.core.frame import Frame
from ...run.core.tensors import is_chain
from ...run.panels import Features
from ...run.questions.diagnosis import Trouble, diagnose
from ..cubes.looks import CubeLook
from ..cubes.picking import Picked, Picker, Shares
from ..cubes.scale import PLAIN, ActivationScale, Coloring, rows_of
from ..ink.boxes import LABEL, MARGIN
from ..ink.sketch import Bound, Box, Sketch
from ..ink.text import chip_text, measure, tenths
from ..ink.theme import Colormap, Shade, Theme, mixed, shade_of, text_colour
from ..shown.names import Names
from ..shown.subject import Subject
from ..space.arrangement import Plate, Project
from ..space.camera import Camera, Floats
from ..space.layout import FEW, Layout
from .labels import FlowLabels, Labels, PlanLabels, TurnLabels
from .layer import FewFlow, Outcome, outcome_size
from .placer import Marks, Notes, Placer

_CHIPS_ABOVE, _CHIPS_BESIDE = 58.0, (122.0, 238.0)  # pixels of the flow around a single layer; in a narrow picture
_CHIPS_WIDE, _CUBE_WIDE = 316.0, 48.0  # pixels on both sides of its cubes; per cube, so that it holds its number


class Scenery:
    """Everything flat around the cubes of one layout, seen by one camera. Boxes and names are placed once.

    `change` writes the same words in the same places in another look. For a camera that was `moved` by hand, parts on
    cubes or hidden by them are left out. `panels`: the sample's outcome is beside the cubes of a chain; `quantity`:
    that of the cubes. With `before`, the scenery of a moment ago, names stay while there is room.
    """

    def __init__(
        self,
        subject: Subject,
        layout: Layout,
        theme: Theme,
        project: Project,
        box: Box,
        *,
        moved: Camera | None = None,
        panels: bool = True,
        quantity: str = "weight",
        before: Scenery | None = None,
    ) -> None:
        self._subject = subject
        window = window_of(box, panels, layout.size)
        self._numbers = partial(CubeValues, layout, project=project, moved=moved, window=window)
        # one small layer: inputs and outputs are around it with their numbers
        single = layout.mode == "few" and sum(stage.weight is not None for stage in subject.stages) == 1
        self._notes: list[Notes] = []
        self._places: dict[bool, CubeValues] = {}  # of numbers with and without an exponent
        self.flow: FewFlow | None = None
        self.below = True  # whether the outcome of a single layer is below it
        if single:
            self.flow = FewFlow(layout, subject, project, box, moved=moved is not None)
            self._notes = [self.flow, self.flow.below]
        shapes, called = labelled(subject), Names(subject)
        former = None if before is None or moved is None else before._labels
        self._labels: Labels | None = None
        # the flat part of a planned picture as this camera shows it, in logical pixels
        self.blueprint = None if layout.blueprint is None else layout.blueprint.as_seen(project)
        if self.blueprint is not None:
            self._labels = PlanLabels(self.blueprint, window)
        elif layout.spots:
            told = any(isinstance(panel, Features) for panel in subject.panels)  # names the inputs
            self._labels = TurnLabels(layout, () if told else subject.sample.inputs, project, box)
        elif not single:
            untrained = [t.name for t in subject.tensors if t.buffer]
            names = called.rows(rows_of(subject.stages)) if subject.stages else {}
            former = former if isinstance(former, FlowLabels) else None
            self._labels = FlowLabels(layout, shapes, names, project, box, units=unit_words(subject, called),
                                      before=former, untrained=untrained, titles=called.tensors,
                                      sides=side_words(subject), hall=theme.presenter)  # fmt: skip
        self._notes += [] if self._labels is None else [self._labels]
        size = outcome_size(subject.sample) if subject.stages and panels else None
        place = None
        if self._labels is not None and size is not None:
            there = before.outcome.box if before is not None and former is not None and before.outcome else None
            place = self._labels.free_place(*size, there)
        self.outcome: Outcome | None = None if place is None else Outcome(place, subject.sample, subject.stages[-1])
        self._trouble = TroubleNotes(layout, project, box) if panels else None
        self.change(theme, quantity)

    def change(self, theme: Theme, quantity: str) -> None:
        """Change theme and quantity."""
        self._theme, self._quantity = theme, quantity
        decades = quantity not in PLAIN
        if decades not in self._places:
            self._places[decades] = self._numbers(theme, decades=decades)
        self.values, self.values.theme = self._places[decades], theme  # places of the numbers
        self._write()

    def _write(self) -> None:
        self.static = [notes.static_sketch(self._theme) for notes in self._shown]

    @property
    def _shown(self) -> list[Notes]:
        return [notes for notes in self._notes if self.below or self.flow is None or notes is not self.flow.below]

    def show_outcome(self, shown: bool) -> None:
        """Set whether the outcome of a single layer is shown below it."""
        if self.below != shown:
            self.below = shown
            self._write()

    @property
    def reserved(self) -> list[Box]:
        """Boxes that other parts must avoid."""
        return [] if self.outcome is None else [self.outcome.box]

    @property
    def words(self) -> list[Box]:
        """Boxes of all names."""
        return [name.box for notes in self._shown for name in notes.names]

    @property
    def swatch(self) -> Box | None:
        """Box of the sample's swatch, or None."""
        notes = self.flow or self.outcome
        return None if notes is None else notes.swatch

    def cubes(
        self, frame: Frame, colouring: Coloring, activations: ActivationScale, skip: Marks | None = None,
        small: Small | None = None, light: float = 1.0,
    ) -> list[Sketch]:  # fmt: skip
        """Return the numbers on the cubes: weights but those to `skip` (P,), and rows of activations in `light`."""
        if not self.values.size:  # too many of them, or too small
            return []
        return [self.values.sketch(frame, colouring, skip, small), self.values.rows(frame, activations, light)]

    def around(
        self, frame: Frame, colouring: Coloring, loss: float | None, reached: Mapping[str, Marks] | None = None,
        *, outcome: bool = True,
    ) -> list[Sketch]:  # fmt: skip
        """Return the numbers beside the cubes. `loss` is the probe sample's; `reached` marks known numbers.

        `reached` None: all are known. `outcome`: show output and target of a deeper network, which are those of one
        sample.
        """
        rows, sample = dict(frame.activations), self._subject.sample
        if "input" in rows:  # else the rows of the sample were not recorded
            rows = rows if sample.target_values is None else {"target": sample.target_values, **rows}
            rows |= {} if loss is None else {"loss": np.array([loss])}
        extents, sign = colouring.extents(), colouring.bound
        here = None if reached is None else {name: there for name, there in reached.items() if name != "input"}
        found = [n.moving(self._theme, rows, extents, sign=sign, reached=here) for n in self._shown]
        last = self._subject.stages[-1].name if self._subject.stages else ""
        if outcome and self.outcome is not None and "input" in rows and (reached is None or reached[last].all()):
            found += [self.outcome.static_sketch(self._theme), self.outcome.moving(self._theme, rows, extents)]
        return found

    def trouble(self, frame: Frame, around: Sequence[Sketch]) -> Sketch:
        """Return the problems of layers, beside their cubes; `around` holds the existing texts."""
        if self._trouble is None:
            return Sketch()
        found = diagnose(frame, self._subject.tensors, self._subject.stages)
        plain = Names(self._subject).plain if found else str
        return self._trouble.sketch([replace(one, text=plain(one.text)) for one in found], around, self._theme)

    @property
    def unplaced(self) -> tuple[str, ...]:
        """The problems that found no place there."""
        return () if self._trouble is None else self._trouble.unplaced


def cubes_box(subject: Subject, scene: Box) -> Box:
    """Return the scene less the room for chips around a single small layer beyond the layout's own margins.

    Those margins shrink with the scene, the chips do not.
    """
    x, y, width, height = scene
    if not least_width(subject):
        return scene
    above = _CHIPS_ABOVE - 35.0 * min(1.0, height / 472.0) if height >= 220 else 0.0
    beside = _CHIPS_BESIDE[width >= 480] - 228.0 * min(1.0, width / 936.0) if max(width, 2 * height) >= 480 else 0.0
    return x, y + max(above, 0.0), width - max(beside, 0.0), height - max(above, 0.0)


def least_width(subject: Subject) -> float:
    """Return the pixels that a single small layer needs with inputs, outputs and targets; 0 for another network."""
    linear = [s.weight.shape[-1] + (s.bias is not None) for s in subject.stages if s.weight is not None]
    single = len(linear) == 1 and sum(t.size for t in subject.tensors) <= FEW
    return _CHIPS_WIDE + _CUBE_WIDE * linear[0] if single else 0.0


def window_of(scene: Box, panels: bool, size: tuple[float, float]) -> Box:
    """Return the box for cubes of a camera moved by hand (logical pixels); with panels it ends above them."""
    x, y, width, height = scene
    return (x, y - 12.0, width, height + 12.0) if panels else (0.0, 0.0, float(size[0]), float(size[1]))


# ---- Which parts have names.


def labelled(subject: Subject) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the tensors with a label, by name; biases of layers have none."""
    layers = any(stage.weight is not None for stage in subject.stages)
    return {t.name: t.shape for t in subject.tensors if not layers or t.role != "bias"}


def unit_words(subject: Subject, names: Names) -> dict[str, tuple[str, ...]]:
    """Return the names of inputs, hidden units and outputs, by their rows; a sheet's inputs have none."""
    stages, sample = subject.stages, subject.sample
    if not stages:
        return {}
    units = {} if sample.sheet else {"input": sample.inputs}
    hidden = {row: tuple(map(layer.name, range(layer.units))) for row, layer in names.hidden.items()}
    outputs = () if stages[-1].kind == "function" and len(sample.outputs) == 1 else sample.outputs  # the target's name
    return {**units, **hidden, stages[-1].name: outputs}


def side_words(subject: Subject) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return names of columns and rows of tensors that read the sample or make the output, if no row has them."""
    stages, sample, found = subject.way, subject.sample, dict[str, tuple[tuple[str, ...], tuple[str, ...]]]()
    if subject.stages or not is_chain(stages):
        return found
    last = max((k for k, stage in enumerate(stages) if stage.weight is not None), default=0)
    for k, stage in enumerate(stages):
        if stage.weight is not None and len(stage.weight.shape) == 2:
            reads = sample.inputs if k == 0 and stage.whole else ()
            makes = tuple(f"to {name}" for name in sample.outputs) if k == last and k + 2 >= len(stages) else ()
            found[stage.weight.name] = reads, makes
    return found


# ---- Problems of a layer: a line beside it that depends on the frame.

_LINE, _MARK = 19.0, 24.0
_SPOTS = 4000  # most places that are tried


class TroubleNotes:
    """A line for each problem near its layer, where it covers no cube and no other text."""

    unplaced: tuple[str, ...] = ()  # texts without a place in the last sketch, to be shown elsewhere

    def __init__(self, layout: Layout, project: Project, box: Box) -> None:
        self._layout, self._project, self._box = layout, project, box
        self._places: dict[str, tuple[Box, tuple[str, ...]] | None] = {}

    def sketch(self, troubles: Sequence[Trouble], around: Iterable[Sketch], theme: Theme) -> Sketch:
        """Return the lines of one frame. `around` holds the existing texts; a placed line stays."""
        sketch = Sketch()
        self._places = {t.text: self._places[t.text] for t in troubles if t.text in self._places}
        missing = [t for t in troubles if t.text not in self._places]
        if missing:
            placer = self._placer(around)
            self._places |= {trouble.text: self._place(trouble, placer) for trouble in missing}
        for (x, y, _, _), lines in filter(None, self._places.values()):
            sketch.disc(x + 8, y + 9, 8, theme.weight[1])
            sketch.text(x + 8, y + 13.5, "!", LABEL, theme.panel, bold=True, anchor="middle")
            for row, line in enumerate(lines):
                sketch.text(x + _MARK, y + 14 + _LINE * row, line, LABEL, theme.text1)
        self.unplaced = tuple(text for text, found in self._places.items() if found is None)
        return sketch

    def _placer(self, around: Iterable[Sketch]) -> Placer:
        placer = Placer(self._box)
        for plate in self._layout.plates:
            placer.add_polygon(self._project(plate.corners))
        for start, end in self._layout.flow:
            placer.add_line(*self._project([start, end]))
        placer.add_texts(around)
        for box, _ in filter(None, self._places.values()):
            placer.add_box(box)
        return placer

    def _place(self, trouble: Trouble, placer: Placer) -> tuple[Box, tuple[str, ...]] | None:
        """Return the free place nearest to the layer's cubes, and its text in one line, or in two."""
        plate = next((p for p in self._layout.plates if p.name == trouble.where), None)
        points = self._project((plate or self._layout.plates[0]).corners)
        middle = (points.min(axis=0) + points.max(axis=0)) / 2
        what, colon, why = trouble.text.partition(": ")
        for lines in [(trouble.text,), (what + colon.rstrip(), why)] if colon else [(trouble.text,)]:
            size = _MARK + max(measure(line, LABEL) for line in lines), _LINE * len(lines)
            spots = self._nearest(middle, size)
            found = placer.place([(x, y, *size)] for x, y in spots.tolist())
            if found is not None:
                x, y = spots[found].tolist()
                return (x, y, *size), lines
        return None

    def _nearest(self, middle: Floats, size: tuple[float, float]) -> Floats:
        """Return left upper corners (N, 2) for a text, the nearest to the middle of the cubes first."""
        left, top, wide, high = self._box
        step = max(4.0, np.sqrt(wide * high / _SPOTS))
        across = np.arange(left + min(MARGIN, 0.04 * wide), left + wide - size[0] - 4, step)
        down = np.arange(top, top + high - size[1], step)
        spots = np.stack(np.meshgrid(across, down, indexing="ij"), axis=-1).reshape(-1, 2)
        # measure to the nearest point of the line, so that a long one can begin beside the cubes
        gaps = np.abs(spots + np.array(size) / 2 - middle) - np.array([size[0] / 2, 0.0])
        return np.asarray(spots[np.argsort(np.hypot(*np.maximum(gaps, 0.0).T), kind="stable")])


# ---- The value printed on each cube of a small net, in a readable colour.

_SIZES = (20, 18, 16, 15, 14, 13)
WIDEST = {"decades": "+0.0e\N{MINUS SIGN}0", "brief": "+0.00", "cube": "+0.00", "tenths": "+0.0"}
_MIDDLE = 0.357  # from the baseline to half the height of a digit, of the size


class Small(NamedTuple):
    """The sizes of cubes that are not all alike."""

    shares: Shares  # size of each cube as a share of the largest, by plate and element
    picked: Picked  # the cube at a point (logical pixels)
    own: Mapping[int, CubeLook]  # looks given by hand, by flat index


def colours_at(cmap: Colormap, unit: ArrayLike) -> Floats:
    """Return the colours at fractions 0..1 of a scale, shape (..., 3): those of the main faces."""
    place = np.asarray(unit, np.float64)
    return cmap(2.0 * place - 1.0 if cmap.diverging else place)


def shades_at(cmap: Colormap, units: ArrayLike) -> list[Shade]:
    """Return the colours at fractions 0..1 of a scale (N,), under their names."""
    place = np.clip(np.nan_to_num(np.asarray(units, np.float64)), 0.0, 1.0)
    return cmap.shades(2.0 * place - 1.0 if cmap.diverging else place)


class CubeValues:
    """The places and the type size of the numbers; both depend only on layout and camera.

    If they span `decades`, as gradients do, each has an exponent, or is written in brief; others get fewer decimals on
    small cubes. For a camera that was `moved` by hand a number appears only on a visible main face that holds it,
    inside the `window` of the cubes. `size` is that of the type: 0 for too many weights or too small cubes.
    """

    def __init__(
        self, layout: Layout, theme: Theme, project: Project, moved: Camera | None, window: Box, *, decades: bool
    ) -> None:
        plates = layout.plates
        self.theme, self.moved = theme, moved is not None
        self._plates, self._project = plates, project
        few = layout.turns or sum(p.size for p in plates if p.kind != "activation") <= FEW
        self._seen: dict[Plate, NDArray[np.bool_]] = {}
        self.size = 0
        for self._form in ("decades", "brief") if decades else ("cube", "tenths"):
            widest = WIDEST[self._form]
            if few and moved is not None:
                self._seen, self.size = _readable(layout, moved, project, widest)
            elif few:
                fits = {p: _fitting(p, project, widest) for p in layout.plates}
                # on weights all or none; rows without room have no numbers
                bare = any(fit == 0 for plate, fit in fits.items() if plate.kind != "activation")
                self.size = 0 if bare else min((fit for fit in fits.values() if fit > 0), default=0)
                plates = tuple(p for p in layout.plates if fits[p] >= max(self.size, 1))
            if self.size:
                break
        self._centres = {p: project(p.tops) for p in plates if self.size}
        if moved is not None:
            reach = np.array([measure(widest, self.size, True), self.size]) / 2
            low, high = np.array(window[:2]) + reach, np.array(window[:2]) + np.array(window[2:]) - reach
            for plate, middles in self._centres.items():
                self._seen[plate] &= np.all((middles >= low) & (middles <= high), axis=1)

    def sketch(
        self, frame: Frame, colouring: Coloring, skip: NDArray[np.bool_] | None = None, small: Small | None = None
    ) -> Sketch:
        """Return the numbers of one frame, by plate, in C order; cubes to `skip` (P,) have another text.

        A number that is not computed yet is replaced by the weight in small type, since a zero would look like a
        result.
        """
        sketch, missing = Sketch(), colouring.missing(frame)
        for plate in self._centres:
            if plate.kind == "activation":
                continue
            span, (centres, seen) = slice(plate.start, plate.start + plate.size), self.places(plate)
            if skip is not None:
                seen = seen & ~skip[span]
            size = np.full(len(centres), self.size)
            colours = shades_at(colouring.cmap, colouring.range.unit(colouring.drawn[span]))
            if small is not None:
                centres, size = self._on_small(plate, small)
                seen = seen & (size > 0)
                for index, look in small.own.items():
                    if look.colour is not None and span.start <= index < span.stop:
                        colours[index - span.start] = shade_of(look.colour)
            for k in np.flatnonzero(seen).tolist():
                (x, y), value = centres[k].tolist(), float(colouring.flat[span.start + k])
                if missing[span.start + k]:
                    least, written = min(self.size, 15), tenths if self._form == "tenths" else chip_text
                    weight = written(frame.values[span.start + k], signed=True)
                    letter = plate.name if plate.size == 1 and len(plate.name) == 1 else "w"
                    said = weight if colouring.opened else f"{letter} {weight}"  # there the legend explains it
                    form = "signed tenths" if self._form == "tenths" else "signed chip"
                    bound = Bound("weight", span.start + k, form, said.removesuffix(weight))
                    sketch.text(x, y + _MIDDLE * least, said, least, self.theme.text2, anchor="middle", bound=bound)
                    continue
                form = ("signed " if colouring.shows.signed else "") + self._form
                bound = Bound(colouring.quantity, span.start + k, form)
                self._write(sketch, (x, y), value, bound, colours[k], int(size[k]))
        return sketch

    def _on_small(self, plate: Plate, small: Small) -> tuple[Floats, NDArray[np.intp]]:
        """Return the middles of the present main faces, and type sizes; 0 if none fits or the face is hidden."""
        index = self._plates.index(plate)
        share = np.array([small.shares(index, element) for element in range(plate.size)])
        middles = self._project(plate.centres + (plate.depth * (2.0 * share - 1.0))[:, None] * plate.axes[2])
        size = np.array([max((s for s in _SIZES if s <= self.size * part), default=0) for part in share], np.intp)
        for element in np.flatnonzero(size).tolist():
            x, y = middles[element]
            hit = small.picked((float(x), float(y)))
            size[element] *= hit is not None and hit[:2] == (index, element)
        return middles, size

    def lift(self, rise: NDArray[np.floating] | None, project: Project) -> None:
        """Move the numbers to faces that are higher by shares of the cubes' height (P,); None: back."""
        for plate in self._centres:
            if plate.kind != "activation":
                up = np.zeros(plate.size) if rise is None else rise[plate.start : plate.start + plate.size]
                up = np.where(up < 0, up / 2, up)  # the cube in front hides the lower half of a lowered face
                self._centres[plate] = project(plate.tops + (2.0 * plate.depth * up)[:, None] * plate.axes[2])

    def writes(self, plate: Plate) -> bool:
        """Return whether the cubes of a plate have numbers."""
        return plate in self._centres

    def places(self, plate: Plate) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the middles (N, 2) of a plate's main faces in logical pixels, and which are readable."""
        centres = self._centres[plate]
        return centres, self._seen.get(plate, np.ones(len(centres), bool))

    def rows(self, frame: Frame, scale: ActivationScale, light: float = 1.0) -> Sketch:
        """Return the numbers of one frame's rows of activations; a dead unit has only its cross.

        `light` is the remaining share of their colours, over the ground.
        """
        sketch = Sketch()
        for plate in self._centres:
            if plate.kind == "activation" and plate.name in frame.activations:
                numbers = np.asarray(frame.activations[plate.name], float)
                centres, seen = self.places(plate)
                seen = seen & ~np.asarray(frame.dead.get(plate.name, False))
                colours = shades_at(scale.cmap, scale.range.unit(numbers))
                colours = colours if light == 1 else [mixed(one, self.theme.tray, light) for one in colours]
                for k in np.flatnonzero(seen).tolist():
                    bound = Bound(plate.name, k, "tenths" if self._form == "tenths" else "chip")
                    self._write(sketch, centres[k].tolist(), numbers[k], bound, colours[k], self.size)
        return sketch

    def _write(
        self, sketch: Sketch, at: tuple[float, float], value: float, bound: Bound, colour: Shade, size: int
    ) -> None:
        x, y = at
        ink = text_colour(colour)
        if value != value:  # the mark below is a checkerboard: a patch keeps the word readable
            wide = measure("NaN", size, True) + 10
            sketch.rect(x - wide / 2, y - size * 0.62, wide, size * 1.24, fill=self.theme.ink)
            ink = self.theme.paper
        sketch.number(x, y + _MIDDLE * size, value, bound, size, ink)


def _fitting(plate: Plate, project: Project, widest: str) -> int:
    """Return the largest type size whose widest usual number fits every cube of the plate; 0 for none."""
    wide, high = face_room(plate, project)
    # beside it 8 pixels, and for the smallest type the cube's dark rim, before there would be no number
    airs = {s: 8.0 if s > _SIZES[-1] else 3.5 for s in _SIZES}
    return next((s for s in _SIZES if measure(widest, s, True) + airs[s] <= wide and s + 6 <= high), 0)


def face_room(plate: Plate, project: Project) -> tuple[float, float]:
    """Return the width and height in logical pixels for a text on the main face of each cube of a plate."""
    half, tops = plate.half * plate.axes[:2], plate.tops
    spans = [np.abs(project(tops + half[k]) - project(tops - half[k])) for k in (0, 1)]
    # Through the middle of a sheared face a horizontal line is as long as its flatter edge's horizontal part.
    flat = 0 if spans[0][:, 0].mean() >= spans[1][:, 0].mean() else 1
    return float(spans[flat][:, 0].min()), float(spans[1 - flat][:, 1].min())


def face_quads(plate: Plate, project: Project) -> Floats:
    """Return the corners of the main faces of a plate's cubes, (N, 4, 2), in logical pixels."""
    ring = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) @ (plate.half * plate.axes[:2])
    return project((plate.tops[:, None] + ring).reshape(-1, 3)).reshape(-1, 4, 2)


def _readable(
    layout: Layout, camera: Camera, project: Project, widest: str
) -> tuple[dict[Plate, NDArray[np.bool_]], int]:
    """Return by plate which cubes show a main face that holds a number, and the type size for all of them."""
    seen: dict[Plate, NDArray[np.bool_]] = {}
    sizes: dict[Plate, NDArray[np.intp]] = {}
    for plate in layout.plates:
        seen[plate] = camera.towards_eye(plate.tops) @ plate.axes[2] > 1e-6
        own = _sizes(plate, project, widest)
        fits = bool((own[seen[plate]] > 0).all())  # a plate has numbers on all its cubes or on none
        sizes[plate] = own if fits else np.zeros_like(own)
    size = int(min((s for plate, given in sizes.items() for s in given[seen[plate]] if s > 0), default=0))
    found = {plate: seen[plate] & (sizes[plate] >= max(size, 1)) for plate in seen}
    if size:
        _leave_out_covered(found, layout, camera, measure(widest, size, True))
    return found, size


def _leave_out_covered(seen: dict[Plate, NDArray[np.bool_]], layout: Layout, camera: Camera, width: float) -> None:
    """Remove the numbers that a cube in front would cut at either end or in the middle."""
    picker = Picker(layout)
    heights = [float((p.origin + p.depth * p.axes[2])[2]) if p.axes[2][2] > 0.99 else -np.inf for p in layout.plates]
    for index, plate in enumerate(layout.plates):
        marks = seen[plate]
        if heights[index] > -np.inf and heights[index] == max(heights):
            continue  # on a tray nothing is higher, so nothing hides these faces
        for element, (x, y) in enumerate(camera.project(plate.tops)):
            if marks[element]:
                hits = [picker.pick(camera, (float(x + shift), float(y))) for shift in (0.0, -width / 2, width / 2)]
                marks[element] = all(hit is not None and hit[:2] == (index, element) for hit in hits)


def _sizes(plate: Plate, project: Project, widest: str) -> NDArray[np.intp]:
    """Return for each main face the largest type size whose widest usual number fits; 0 for none."""
    tops, quads = plate.tops, face_quads(plate, project)
    middles = project(tops)
    edges = np.roll(quads, -1, axis=1) - quads
    turn = np.sign(edges[:, 0, 0] * edges[:, 1, 1] - edges[:, 0, 1] * edges[:, 1, 0])
    lengths = np.maximum(np.hypot(edges[..., 0], edges[..., 1]), 1e-9)
    found = np.zeros(len(tops), np.intp)
    for size in _SIZES[::-1]:
        half = np.array([measure(widest, size, True) + 6, size + 2.0]) / 2
        corners = middles[:, None] + half * [(-1, -1), (1, -1), (1, 1), (-1, 1)]
        to = corners[:, None] - quads[:, :, None]  # face, edge, corner
        inside = (edges[:, :, None, 0] * to[..., 1] - edges[:, :, None, 1] * to[..., 0]) * turn[:, None, None]
        found[(inside / lengths[..., None]).min(axis=(1, 2)) > 0] = size
    return found
