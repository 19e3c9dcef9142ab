"""One small layer as a formula: inputs enter above the cubes; sum, activation, output and target stand to the right.

Boxes and lines depend on the layout alone and are built once; the numbers in them are a sketch of their own.
`formulas` writes the rows out: ``r = σ(−1.991·0.92 + 0.692) = σ(−1.14) = 0.24``. `outcome` is what becomes of
the one sample of a deeper network: in a chain of plates its numbers have no place, so they stand together
where the scene is free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame, Stage
from ...scalar.kernel import kernel
from ...scalar.ops import TABLE
from ..ink.boxes import CHANNEL, LABEL
from ..ink.equation import Term, neuron, one_line
from ..ink.maps import displayed
from ..ink.sketch import Bound, Box, Sketch, Stand, meet
from ..ink.text import measure
from ..ink.theme import Theme
from ..shown.subject import Sample
from ..space.arrangement import Layout, Project
from ..space.camera import Floats
from .placer import Name, Placer, back_edge, column_names, point, row_names, write

Marks = NDArray[np.bool_]

STEP = 34.0
"""Least distance between the levels of two rows of chips."""
CHIP = (58.0, 28.0)
SYMBOLS = {"sigmoid": "σ"}
_INPUTS = ((58.0, CHANNEL, True), (46.0, LABEL, True), (38.0, LABEL, False))  # width, type, whether in a box
_SWATCH = 42.0


@dataclass(frozen=True, slots=True)
class Offsets:
    """Centres of the chips right of a row's anchor, and their widths."""

    sum: float
    output: float
    target: float
    sum_width: float
    width: float


WIDE = Offsets(56.0, 140.0, 200.0, 60.0, 50.0)
TIGHT = Offsets(47.0, 118.0, 168.0, 58.0, 46.0)


class Rows(NamedTuple):
    """Where the chips of each output are, in logical pixels."""

    anchors: Floats  # (R, 2): where each row's chips start
    at: Offsets  # from there to their middles
    columns: tuple[str, ...]  # those that there are; empty for none


class FewFlow:
    """The flow around one layer of lying cubes: of the chain `stages` of a layout of mode ``"few"``.

    What would leave the `box` is left out; where the camera was `moved` by hand, so is what would lie on
    cubes, which are marked in `placer`. `outcome` says whether swatches and loss stand below the last row; it
    may be set before :meth:`change`.
    """

    def __init__(
        self,
        layout: Layout,
        stages: Sequence[Stage],
        sample: Sample,
        project: Project,
        box: Box,
        placer: Placer,
        moved: bool = False,
    ) -> None:
        linear = next(s for s in stages if s.weight is not None)
        assert linear.weight is not None
        self._sample, self._project, self._box = sample, project, box
        self.outcome = True
        self._placer, self._moved = placer, moved
        self._input_style = _INPUTS[0]
        self._sums, self._last = linear.name, stages[-1]
        self._weight = layout.plate(linear.weight.name)
        self._bias = layout.plate(linear.bias.name) if linear.bias is not None else None
        end, wide = self._bias or self._weight, self._weight.shape[1]
        # the cubes that each row of chips and each input belong to
        self.stands: list[Stand] = [point(end.cell_corners(i, end.shape[1] - 1)[-1]) for i in range(end.shape[0])]
        self._reads: list[Stand] = [point(back_edge(self._weight, j)) for j in range(wide)]
        self.inputs = self._chip_places()  # middles (N, 2) of their chips; None where they have no room
        self._tips = self._anchors = self._row_anchors()
        self._at = WIDE
        self._columns = self._fitting_columns()
        self._below = True  # whether swatches and loss have their place below the last row
        if moved:
            self._leave_out_hidden()
        self.plates, self.rows = (self._weight, self._bias), Rows(self._anchors, self._at, self._columns)
        self._swatch_at = self._swatch_place()
        self._names = self._row_names(layout.trays_on(project))
        if self.inputs is None:
            self._names += column_names(self._weight, sample.inputs, project, box[1] - 12, self._free)
        self._names += self._bias_name()

    @property
    def _below_stand(self) -> Stand:
        """What swatches and loss below the last row belong to."""
        end = self._bias or self._weight
        return point(end.cell_centre(int(np.argmax(self._anchors[:, 1])), end.shape[1] - 1))

    @property
    def _swatch_stand(self) -> Stand:
        """What the input's swatch belongs to: where a chip has room, it may have none."""
        return point(self._weight.cell_centre(0, 0))

    def change(self, theme: Theme) -> None:
        """Another look: the same boxes and lines in the same places."""
        self._theme = theme
        self.static = self._boxes()

    # places

    @property
    def swatch(self) -> Box | None:
        """Where the input's swatch stands."""
        return None if self._swatch_at is None else (*self._swatch_at, _SWATCH, _SWATCH)

    def _chip_places(self) -> Floats | None:
        """Centres of the input chips, None when they would touch."""
        plate = self._weight
        if plate.grid.folded:
            return None
        top = plate.depth * plate.axes[2] - (plate.half + 0.22) * plate.axes[1]
        back = np.array([plate.cell_centre(0, j) + top for j in range(plate.shape[1])])
        centres = self._project(back) - (0, CHIP[1] / 2 + 2)
        room = np.diff(centres[:, 0]).min() if len(centres) > 1 else np.inf
        fitting = [style for style in _INPUTS if style[0] + 3 <= room]
        if not fitting:
            return None
        self._input_style = fitting[0]
        return centres if centres[:, 1].min() - CHIP[1] / 2 - 20 > self._box[1] - 12 else None

    def _free(self, box: Box) -> bool:
        """Whether a box is off the cubes; takes it. Always, where the camera is the layout's own."""
        return not self._moved or self._placer.free(box)

    def _leave_out_hidden(self) -> None:
        """Chips that would lie on cubes: all inputs or none, all rows or none."""
        if self.inputs is not None:
            wide = self._input_style[0] - 8
            if not all(self._free((x - wide / 2, y - 25, wide, CHIP[1] + 6)) for x, y in self.inputs):
                self.inputs = None
        if self._columns:
            anchors = level(self._tips, self._placer, self._end, CHIP[1])
            if anchors is None:
                self._columns = ()
            else:
                self._anchors = anchors
        if self._columns:
            (x, y), wide = self._lowest, measure(f"{loss_words(self._sample)}0.0000", LABEL)
            self._below = self._free((x + self._end - wide + 3, y + 33, wide - 6, 64))

    @property
    def _end(self) -> float:
        """From a row's anchor to the right edge of its last chip."""
        return float(getattr(self._at, self._columns[-1])) + self._at.width / 2

    @property
    def _lowest(self) -> Floats:
        """The anchor of the row of chips at the bottom."""
        return np.asarray(self._anchors[np.argmax(self._anchors[:, 1])])

    def _row_anchors(self) -> Floats:
        """Where each row's flow starts: a little right of the nearest corner of its last cube's top face."""
        plate = self._bias or self._weight
        ends = [self._project(plate.cell_corners(i, plate.shape[1] - 1)) for i in range(plate.shape[0])]
        # where the camera was moved, the corner that is furthest to the right
        corners = [c[int(np.argmax(c[:, 0])) if self._moved else -1] for c in ends]
        return np.asarray(np.array(corners) + np.array([4.0, 0.0]))

    def _fitting_columns(self) -> tuple[str, ...]:
        """Which of sum, output and target fit between the cubes and the scene's edge, and below each other."""
        close = len(self._anchors) > 1 and np.diff(self._anchors[:, 1]).min() < CHIP[1] + 3
        if self._weight.grid.folded or (close and not self._moved):
            return ()
        room = self._box[0] + self._box[2] - self._anchors[:, 0].max()
        for offsets in (WIDE, TIGHT):
            self._at = offsets
            if room >= offsets.target + offsets.width / 2 + 4 and self._sample.wanted is not None:
                return ("sum", "output", "target")
        return ("sum", "output") if room >= TIGHT.output + TIGHT.width / 2 + 4 else ()

    def _bias_name(self) -> list[Name]:
        """The word over the biases, where it has room."""
        if self._bias is None:
            return []
        x, y = (float(c) for c in self._project([back_edge(self._bias, 0)])[0])
        name = Name("bias", x, y - 10, CHANNEL, "middle", True, at=point(back_edge(self._bias, 0)))
        there = y - 26 > self._box[1] - 12 and self._free((x - 13, y - 20, 26, 10))
        return [name] if there and not any(meet(name.box, other.box) for other in self._names) else []

    def _row_names(self, trays: Mapping[str, Floats]) -> list[Name]:
        """The outputs' names beside their rows, where these end on the left or, from another side, on the right."""
        names = [f"to {name}" for name in self._sample.outputs]
        for plate, side in ((self._weight, -1), (self._bias or self._weight, 1))[: 2 if self._moved else 1]:
            found = row_names(plate, names, side, self._project, self._placer, trays.get(plate.name))
            if found:
                return found
        return []

    def _swatch_place(self) -> tuple[float, float] | None:
        """Top left of the input's swatch, left of the first chip; None where there is no room."""
        if self.inputs is None or not self._sample.colours or len(self.inputs) != 3:
            return None
        x = self.inputs[0, 0] - CHIP[0] / 2 - 25 - _SWATCH
        y = self.inputs[0, 1] - 13
        free = x > 4 and self._free((x + 3, y - 13, _SWATCH - 6, _SWATCH + 10))
        return (float(round(x)), float(round(y))) if free else None

    @property
    def _swatches(self) -> bool:
        y = self._lowest[1]
        fits = y + 100 < self._box[1] + self._box[3] + 8
        return self.outcome and self._sample.colours and self._below and len(self._anchors) == 3 and fits

    # what never changes

    def _boxes(self) -> Sketch:
        sketch = Sketch()
        write(sketch, self._names, self._theme)
        if self.inputs is not None:
            self._input_boxes(sketch, self.inputs)
        if self._columns:
            for row, (tip, anchor) in enumerate(zip(self._tips, self._anchors, strict=True)):
                sketch.stand(self.stands[row])
                if tuple(tip) != tuple(anchor):
                    sketch.line(tip, anchor, self._theme.flow, 1.4)
                self._row_boxes(sketch, anchor, first=anchor[1] == self._anchors[:, 1].min())
            if self._swatches:
                x, y = self._lowest
                sketch.stand(self._below_stand)
                for at in (self._at.output, self._at.target)[: len(self._columns) - 1]:
                    sketch.line((x + at, y + CHIP[1] / 2), (x + at, y + 36), self._theme.flow, 1.4)
        return sketch

    def _input_boxes(self, sketch: Sketch, chips: Floats) -> None:
        theme, high, (wide, _, boxed) = self._theme, CHIP[1], self._input_style
        start = self._swatch_at
        if start is not None:
            sketch.stand(self._swatch_stand)
            sketch.line((start[0] + _SWATCH, start[1] + 18), (chips[0, 0] - wide / 2, chips[0, 1] + 1), theme.flow, 1.2)
            sketch.text(start[0] + _SWATCH / 2, start[1] - 9, "input", LABEL, theme.text2, anchor="middle")
        for k, ((x, y), name) in enumerate(zip(chips, self._sample.inputs, strict=False)):
            sketch.stand(self._reads[k])
            if boxed:
                _chip(sketch, theme, x, y, wide, strong=True)
            sketch.text(x, y - high / 2 - (7 if boxed else 1), name, CHANNEL, theme.text2, bold=True, anchor="middle")
        if boxed:
            backs = self._project([back_edge(self._weight, j) for j in range(len(chips))])
            aside, below = np.array([wide / 2, 0.0]), np.array([0.0, high / 2])
            sketch.stand(None)
            sketch.lines(chips[:-1] + aside, chips[1:] - aside, theme.flow, 1.2)
            for k, (chip, back) in enumerate(zip(chips, backs, strict=True)):
                sketch.stand(self._reads[k])
                sketch.line(chip + below, back, theme.flow, 1.4)

    def _row_boxes(self, sketch: Sketch, anchor: Floats, *, first: bool) -> None:
        theme, (x, y), at = self._theme, anchor, self._at
        sketch.arrow((x, y), (x + at.sum - at.sum_width / 2, y), theme.flow, 1.4)
        _chip(sketch, theme, x + at.sum, y, at.sum_width, strong=True)
        left, right = x + at.sum + at.sum_width / 2, x + at.output - at.width / 2
        sketch.arrow((left, y), (right, y), theme.flow, 1.4)
        symbol = SYMBOLS.get(self._last.kind, "" if self._last.kind == "linear" else self._last.kind)
        size, up = (18, 6) if len(symbol) == 1 else (LABEL, CHIP[1] / 2 - 3)
        if measure(symbol, size) < right - left + 14:
            sketch.text((left + right) / 2 - 1, y - up, symbol, size, theme.text2, anchor="middle")
        _chip(sketch, theme, x + at.output, y, at.width, strong=True)
        if "target" in self._columns:
            _chip(sketch, theme, x + at.target, y, at.width, strong=False)
        if first:
            called = [self._sample.called(self._last) if name == "output" else name for name in self._columns]
            for name, place in zip(called, (at.sum, at.output, at.target), strict=False):
                sketch.text(x + place, y - CHIP[1] / 2 - 10, name, LABEL, theme.text2, anchor="middle")

    # what changes every frame

    def numbers(self, frame: Frame, loss: float | None, reached: Mapping[str, Marks] | None = None) -> Sketch:
        """The numbers and swatches of one frame; `loss` is the probe sample's own.

        `reached` says of each stage which of its numbers are there already; None: all.
        """
        sketch, theme, at = Sketch(), self._theme, self._at
        rows = self._anchors if self._columns else ()
        if "input" not in frame.activations:  # a dash on each chip: the rows of the sample were not recorded
            places = [(x + column, y) for x, y in rows for column in (at.sum, at.output)]
            for x, y in [*places, *(() if self.inputs is None else self.inputs)]:
                sketch.text(x, y + 5.5, "\N{EN DASH}", CHANNEL, theme.text3, anchor="middle")
            return sketch
        inputs, sums = frame.activations["input"], frame.activations[self._sums]
        outputs = frame.activations[self._last.name]
        if self.inputs is not None:
            for k, ((x, y), value) in enumerate(zip(self.inputs, inputs, strict=False)):
                size = self._input_style[1]
                sketch.stand(self._reads[k])
                sketch.number(x, y + 0.36 * size, value, Bound("input", k), size, theme.text1)
            if self._swatch_at is not None:
                sketch.stand(self._swatch_stand)
                _swatch(sketch, theme, (*self._swatch_at, _SWATCH, _SWATCH), inputs, "input")
        for row, (x, y) in enumerate(rows):
            sketch.stand(self.stands[row])
            if reached is None or reached[self._sums][row]:
                bound = Bound(self._sums, row, "signed chip")
                sketch.number(x + at.sum, y + 5.5, sums[row], bound, CHANNEL, theme.text1)
            if reached is None or reached[self._last.name][row]:
                sketch.number(x + at.output, y + 5.5, outputs[row], Bound(self._last.name, row), CHANNEL, theme.text1)
            if self._target is not None:
                said = Bound("target", row, "target")
                sketch.number(x + at.target, y + 5.5, self._target[row], said, CHANNEL, theme.text2, bold=False)
        if self.outcome and self._columns:
            sketch.stand(self._below_stand)
            self._outcome(sketch, outputs, loss)
        return sketch

    @property
    def _target(self) -> NDArray[np.floating] | None:
        """The target where it has a column."""
        return self._sample.wanted if "target" in self._columns else None

    def _outcome(self, sketch: Sketch, outputs: NDArray[np.floating], loss: float | None) -> None:
        x, y = self._lowest
        at, below = self._at, y + CHIP[1] / 2
        if self._swatches:
            for middle, colour, bound in ((at.output, outputs, self._last.name), (at.target, self._target, "target")):
                if colour is not None:
                    box = (round(x + middle - at.width / 2), round(y + 36), at.width, 40)
                    _swatch(sketch, self._theme, box, colour, bound)
            below = y + 76
        if loss is None or not self._below:
            return
        whole, short = loss_words(self._sample), "sample loss "
        label = [] if self._sample.label is None else [f"wanted {self._sample.outputs[self._sample.label]}"]
        for before, above in ((whole, []), (short, label)):  # beside the cubes, not on them
            said = Bound("loss", form="loss", before=before)
            if max(measure(line, LABEL) for line in (said.text(loss), *above)) <= self._end:
                for line, text in enumerate([*above, ""]):
                    if (down := below + 20 + 18 * line) >= self._box[1] + self._box[3] + 8:
                        break
                    where = (x + self._end, down)
                    if text:
                        sketch.text(*where, text, LABEL, self._theme.text1, anchor="right")
                    else:
                        sketch.number(*where, loss, said, LABEL, self._theme.text1, bold=False, anchor="right")
                return


def _chip(sketch: Sketch, theme: Theme, x: float, y: float, wide: float, *, strong: bool) -> None:
    left, top = round(x - wide / 2), round(y - CHIP[1] / 2)
    stroke = theme.flow if strong else theme.border
    sketch.rect(left, top, wide, CHIP[1], radius=6, fill=theme.panel, stroke=stroke)


def _swatch(sketch: Sketch, theme: Theme, box: Box, colour: NDArray[np.floating], bound: str) -> None:
    """The colour of a row of three numbers; nothing of one that nobody knows."""
    if np.isfinite(colour).all():
        sketch.rect(*box, radius=5, fill=displayed(colour), stroke=theme.flow, bound=bound)


def level(tips: Floats, placer: Placer, reach: float, height: float) -> Floats | None:
    """Where each row's chips start (R, 2), for rows whose last cubes end at `tips` (R, 2), in logical pixels.

    `reach` and `height` are the room that a row's chips take to the right of that. None where there is no
    place.
    """
    tried = list(_levels(tips))
    ways = [
        [(x + 10.0, y - height / 2, reach - 6.0, height) for x, y in anchors]
        + [(float(x), float(y), 1.0, 1.0) for pair in zip(tips, anchors, strict=True) for x, y in _between(*pair)]
        for anchors in tried
    ]
    found = placer.place(ways)
    return None if found is None else tried[found]


def _levels(tips: Floats) -> Iterator[Floats]:
    """As they are if they are far enough apart; then as a column, further and further to the right."""
    order = np.argsort(tips[:, 1], kind="stable")
    if len(tips) == 1 or np.diff(tips[order, 1]).min() >= STEP - 3:
        yield tips
    steps = STEP * np.arange(len(tips))  # moved as little as it takes to be so far apart, around the same middle
    spread = np.maximum.accumulate(tips[order, 1] - steps) + steps
    for aside in (0.0, 24.0, 60.0):
        anchors = np.empty_like(tips)
        anchors[order, 0] = tips[:, 0].max() + aside
        anchors[order, 1] = spread - (spread - tips[order, 1]).mean()
        yield anchors


def _between(tip: Floats, anchor: Floats) -> Floats:
    """Points of the line from a cube to its chips, which may cross no other cube."""
    length = float(np.hypot(*(anchor - tip)))
    return np.asarray(tip + np.arange(26.0, length, 8.0)[:, None] / max(length, 1e-9) * (anchor - tip))


def loss_words(sample: Sample) -> str:
    """What stands before the loss of the one sample that is drawn: the wanted class, where the target is one."""
    wanted = f"wanted {sample.outputs[sample.label]} \N{MIDDLE DOT} " if sample.label is not None else ""
    return f"{wanted}loss of this {'colour' if sample.colours else 'sample'} "


# ---- What becomes of the one sample in a deeper network: input, output and target side by side, and its own loss.

MOST = 4  # outputs that are written out
_SIDE, _APART, _ARROW = 46.0, 60.0, 44.0
_WIDE = 52.0


def outcome_size(sample: Sample) -> tuple[float, float] | None:
    """Width and height that the outcome needs; None where there is nothing it could say."""
    if sample.wanted is None and sample.label is None:
        return None
    if sample.colours:
        return 2 * _SIDE + _ARROW + _APART, 20 + _SIDE + 24
    count = len(sample.outputs)
    rows = 1 if sample.wanted is None else 2
    wide = max(50 + count * (_WIDE + 6), measure(f"{loss_words(sample)}8.8888", LABEL))
    return (wide, 38 + 34 * rows) if 0 < count <= MOST else None


def input_swatch(box: Box) -> Box:
    """Where the input's swatch stands in the outcome of a sample of colours."""
    return box[0], box[1] + 20, _SIDE, _SIDE


def outcome(box: Box, theme: Theme, sample: Sample, frame: Frame, last: Stage, loss: float | None) -> Sketch:
    """The outcome of one frame; `last` is the stage whose row is the output."""
    sketch = Sketch()
    if "input" not in frame.activations:
        return sketch
    output = frame.activations[last.name]
    sketch.stand("picture")
    if sample.colours and sample.wanted is not None:
        rows = {"input": frame.activations["input"], last.name: output, "target": sample.wanted}
        _swatches(sketch, box, theme, rows)
    else:
        _chips(sketch, box, theme, sample, output, last)
    if loss is not None:
        said, at = Bound("loss", form="loss", before=loss_words(sample)), (box[0] + box[2], box[1] + box[3] - 4)
        sketch.number(*at, loss, said, LABEL, theme.text1, bold=False, anchor="right")
    return sketch


def _swatches(sketch: Sketch, box: Box, theme: Theme, rows: Mapping[str, NDArray[np.floating]]) -> None:
    x, y, _, _ = input_swatch(box)
    places = (x, x + _SIDE + _ARROW, x + _SIDE + _ARROW + _APART)
    for at, name, (bound, colour) in zip(places, ("input", "output", "target"), rows.items(), strict=True):
        fill = displayed(colour) if np.isfinite(colour).all() else None
        sketch.rect(at, y, _SIDE, _SIDE, radius=5, fill=fill, stroke=theme.flow, bound=bound)
        if fill is None and name == "target":
            sketch.text(at + _SIDE / 2, y + _SIDE / 2 + 6, "?", CHANNEL, theme.text2, anchor="middle")
        sketch.text(at + _SIDE / 2, y - 7, name, LABEL, theme.text2, anchor="middle")
    middle = y + _SIDE / 2
    sketch.arrow((x + _SIDE + 4, middle), (places[1] - 4, middle), theme.flow, 1.4)


def _chips(sketch: Sketch, box: Box, theme: Theme, sample: Sample, output: NDArray[np.floating], last: Stage) -> None:
    x, y = box[0] + box[2] - len(sample.outputs) * (_WIDE + 6) + 6 + _WIDE / 2, box[1] + 20 + CHIP[1] / 2
    rows = [(sample.called(last), output, Bound(last.name))]
    rows += [] if sample.wanted is None else [("target", sample.wanted, Bound("target", form="target"))]
    for row, (title, values, bound) in enumerate(rows):
        sketch.text(x - _WIDE / 2 - 10, y + 34 * row + 5, title, LABEL, theme.text2, anchor="right")
        for k, value in enumerate(values):
            at, colour = (x + k * (_WIDE + 6), y + 34 * row), theme.text2 if row else theme.text1
            _chip(sketch, theme, *at, _WIDE, strong=not row)
            sketch.number(at[0], at[1] + 5.5, value, replace(bound, index=k), CHANNEL, colour, bold=not row)
    for k, name in enumerate(sample.outputs if len(sample.outputs) > 1 else ()):
        sketch.text(x + k * (_WIDE + 6), y - CHIP[1] / 2 - 7, name, LABEL, theme.text2, anchor="middle")


# ---- The outputs of a single layer written out with their numbers.


def formulas(frame: Frame, stages: Sequence[Stage], sample: Sample) -> list[list[str]]:
    """For each output the ways to write its formula, the best first; empty without a sample.

    The numbers of a line are those of the frame, with so many digits that they give the result that stands
    there. An activation that looks at several sums (softmax) is left out.
    """
    linear = next(s for s in stages if s.weight is not None)
    if "input" not in frame.activations or linear.weight is None:
        return []
    symbol, function, last = _activation(stages, linear)
    lines = []
    for i, terms in enumerate(_terms(frame, linear)):
        output = None if last is None else float(frame.activations[last.name][i])
        total = float(frame.activations[linear.name][i])
        name = _name(sample, i) if last is not None or stages[-1] is linear else f"sum {_name(sample, i)}"
        ways = neuron(name, terms, total, symbol=symbol, output=output, function=function)
        lines.append(list(ways))
    return lines


def template(frame: Frame, stages: Sequence[Stage], sample: Sample) -> str:
    """A line as long as those of this layer usually are, whatever the weights."""
    linear = next(s for s in stages if s.weight is not None)
    if "input" not in frame.activations or linear.weight is None or not sample.outputs:
        return ""
    symbol, _, last = _activation(stages, linear)
    terms = [(-0.125, given) for _, given in _terms(frame, linear)[0]]
    widest = max(sample.outputs, key=len)
    return one_line(widest, terms, -0.25, (symbol, None if last is None else 0.25, None), (3, 2))


def _terms(frame: Frame, linear: Stage) -> list[list[Term]]:
    assert linear.weight is not None  # only layers are written out
    inputs = frame.activations["input"]
    rows: list[list[Term]] = [
        [(float(w), float(x)) for w, x in zip(row, inputs, strict=True)] for row in linear.weight.of(frame.values)
    ]
    if linear.bias is not None:
        for terms, bias in zip(rows, linear.bias.of(frame.values), strict=True):
            terms.append((float(bias), None))
    return rows


def _activation(stages: Sequence[Stage], linear: Stage) -> tuple[str, Callable[[float], float] | None, Stage | None]:
    """Symbol, function and stage of what follows the sums; all nothing where each output is a sum."""
    last = stages[-1]
    if last is linear or len(stages) != 2 or last.kind not in TABLE:
        return "", None, None
    one = kernel(last.kind)
    return SYMBOLS.get(last.kind, last.kind), one.value if one.arity == 1 else None, last


def _name(sample: Sample, output: int) -> str:
    return sample.outputs[output] if output < len(sample.outputs) else str(output)
