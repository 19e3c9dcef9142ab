"""One small layer as a formula: inputs enter above the cubes; sum, activation, output and target stand to the right.

Boxes and lines depend on the layout alone and are built once; the numbers in them are a sketch of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...run.core.frame import Frame, Stage
from ..ink.maps import displayed
from ..ink.places import CHANNEL, LABEL
from ..ink.sketch import Box, Sketch
from ..ink.text import chip_text, loss_text, measure
from ..ink.theme import Theme
from ..shown.subject import Sample
from ..space.layout import Layout
from ..space.plate import Plate
from .offsets import TIGHT, WIDE, Rows
from .rows import RowName, back_edge, column_names, row_names, write
from .taken import Taken

STEP = 34.0
"""Least distance between the levels of two rows of chips."""


def level(tips: Floats, taken: Taken, reach: float, height: float) -> Floats | None:
    """Where each row's chips start (R, 2), for rows whose last cubes end at `tips` (R, 2), in logical pixels.

    `reach` and `height` are the room that a row's chips take to the right of that. None where there is no place.
    """
    for anchors in _tried(tips):
        boxes = [(x + 10.0, y - height / 2, reach - 6.0, height) for x, y in anchors]
        if all(taken.cost(box) == 0.0 for box in boxes) and all(map(_clear, [taken] * len(tips), tips, anchors)):
            for box in boxes:
                taken.add_box(box)
            return anchors
    return None


def _tried(tips: Floats) -> Iterator[Floats]:
    """As they are if they are far enough apart; then as a column, further and further to the right."""
    order = np.argsort(tips[:, 1], kind="stable")
    if len(tips) == 1 or np.diff(tips[order, 1]).min() >= STEP - 3:
        yield tips
    levels = _spread(tips[order, 1])
    for aside in (0.0, 24.0, 60.0):
        anchors = np.empty_like(tips)
        anchors[order, 0] = tips[:, 0].max() + aside
        anchors[order, 1] = levels
        yield anchors


def _spread(levels: Floats) -> Floats:
    """Rising levels at least `STEP` apart, moved as little as that takes, around the same middle."""
    steps = STEP * np.arange(len(levels))
    spread = np.maximum.accumulate(levels - steps) + steps
    return np.asarray(spread - (spread - levels).mean())


def _clear(taken: Taken, tip: Floats, anchor: Floats) -> bool:
    """Whether the line from a cube to its chips crosses no other cube."""
    length = float(np.hypot(*(anchor - tip)))
    places = np.arange(26.0, length, 8.0)[:, None] / max(length, 1e-9)
    return all(taken.cost((float(x), float(y), 1.0, 1.0)) == 0.0 for x, y in tip + places * (anchor - tip))


# ----

Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]
Project = Callable[[ArrayLike], Floats]

CHIP = (58.0, 28.0)
_INPUTS = ((58.0, CHANNEL, True), (46.0, LABEL, True), (38.0, LABEL, False))  # width, type, whether in a box
_SWATCH = 42.0
SYMBOLS = {"sigmoid": "σ"}


class FewFlow:
    """The flow around one layer of lying cubes.

    Parameters
    ----------
    layout : Layout
        Mode ``"few"``, of the chain `stages`.
    project : callable
        World points to logical pixels.
    box : Box
        The scene; what would leave it is left out.
    taken : Taken
        Where the cubes are.
    moved : bool
        Whether the camera was moved by hand: what would then lie on cubes is left out.

    Attributes
    ----------
    outcome : bool
        Whether swatches and loss stand below the last row; may be set before :meth:`change`.
    """

    def __init__(
        self,
        layout: Layout,
        stages: Sequence[Stage],
        sample: Sample,
        project: Project,
        box: Box,
        taken: Taken,
        moved: bool = False,
    ) -> None:
        linear = next(s for s in stages if s.weight is not None)
        assert linear.weight is not None
        self._sample, self._project, self._box = sample, project, box
        self.outcome = True
        self._taken, self._moved = taken, moved
        self._trays = {layout.plates[k].name: project(c) for k, c in zip(layout.tray_plates, layout.trays, strict=True)}
        self._input_style = _INPUTS[0]
        self._sums, self._last = linear.name, stages[-1]
        self._weight = layout.plate(linear.weight.name)
        self._bias = layout.plate(linear.bias.name) if linear.bias is not None else None
        self._chips = self._chip_places()
        self._tips = self._anchors = self._row_anchors()
        self._at = WIDE
        self._columns = self._fitting_columns()
        self._below = True  # whether swatches and loss have their place below the last row
        if moved:
            self._leave_out_hidden()
        self._swatch_at = self._swatch_place()
        self._names = self._row_names()
        self._bias_at = self._bias_place()
        self._input_names = self._bare_names() if self._chips is None else []

    def change(self, theme: Theme) -> None:
        """Another look: the same boxes and lines in the same places."""
        self._theme = theme
        self.static = self._boxes()

    # places

    @property
    def rows(self) -> Rows:
        """The places of the outputs' chips."""
        return Rows(self._anchors, self._at, self._columns)

    @property
    def inputs(self) -> Floats | None:
        """Middles (N, 2) of the inputs' chips; None where they have no room."""
        return self._chips

    @property
    def plates(self) -> tuple[Plate, Plate | None]:
        """Weights and biases."""
        return self._weight, self._bias

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

    def _free(self, x: float, y: float, width: float, height: float, air: float = 7.0) -> bool:
        """Whether a box around (x, y) is off the cubes; takes it. Always, where the camera is the layout's own."""
        if not self._moved:
            return True
        box = (x - width / 2 + air, y - height / 2 + air, width - 2 * air, height - 2 * air)
        if self._taken.cost(box) > 0.0:
            return False
        self._taken.add_box(box)
        return True

    def _leave_out_hidden(self) -> None:
        """Chips that would lie on cubes: all inputs or none, all rows or none."""
        if self._chips is not None:
            wide = self._input_style[0]
            if not all(self._free(x, y - 8, wide + 6, CHIP[1] + 20) for x, y in self._chips):
                self._chips = None
        if self._columns:
            anchors = level(self._tips, self._taken, self._end, CHIP[1])
            if anchors is None:
                self._columns = ()
            else:
                self._anchors = anchors
        if self._columns:
            (x, y), wide = self._lowest, measure(loss_line(self._sample, 0.0), LABEL)
            self._below = self._free(x + self._end - wide / 2, y + 65, wide + 8, 78)

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
        column = plate.shape[1] - 1
        if self._moved:  # of each cube the corner that is furthest to the right
            ends = [self._project(plate.cell_corners(i, column)) for i in range(plate.shape[0])]
            return np.asarray(np.stack([c[int(np.argmax(c[:, 0]))] for c in ends]) + np.array([4.0, 0.0]))
        corner = plate.depth * plate.axes[2] + plate.half * (plate.axes[0] + plate.axes[1])
        corners = [plate.cell_centre(i, column) + corner for i in range(plate.shape[0])]
        return np.asarray(self._project(corners) + np.array([4.0, 0.0]))

    def _fitting_columns(self) -> tuple[str, ...]:
        """Which of sum, output and target fit between the cubes and the scene's edge, and below each other."""
        if not self._moved and len(self._anchors) > 1 and np.diff(self._anchors[:, 1]).min() < CHIP[1] + 3:
            return ()
        room = self._box[0] + self._box[2] - self._anchors[:, 0].max()
        if self._weight.grid.folded:
            return ()
        for offsets in (WIDE, TIGHT):
            self._at = offsets
            if room >= offsets.target + offsets.width / 2 + 4 and self._sample.wanted is not None:
                return ("sum", "output", "target")
        return ("sum", "output") if room >= TIGHT.output + TIGHT.width / 2 + 4 else ()

    @property
    def swatch(self) -> Box | None:
        """Where the input's swatch stands."""
        return None if self._swatch_at is None else (*self._swatch_at, _SWATCH, _SWATCH)

    # what never changes

    def _boxes(self) -> Sketch:
        sketch = Sketch()
        write(sketch, self._names, self._theme)
        if self._bias_at is not None:
            sketch.text(*self._bias_at, "bias", CHANNEL, self._theme.text2, bold=True, anchor="middle")
        write(sketch, self._input_names, self._theme, bold=True)
        if self._chips is not None:
            self._input_boxes(sketch, self._chips)
        if self._columns:
            for tip, anchor in zip(self._tips, self._anchors, strict=True):
                if tuple(tip) != tuple(anchor):
                    sketch.line(tip, anchor, self._theme.flow, 1.4)
                self._row_boxes(sketch, anchor, first=anchor[1] == self._anchors[:, 1].min())
            if self._swatches:
                self._output_swatch_lines(sketch)
        return sketch

    def _bias_place(self) -> tuple[float, float] | None:
        """Middle and baseline of the word over the biases; None where it has no room."""
        if self._bias is None:
            return None
        x, y = (float(c) for c in self._project([back_edge(self._bias, 0)])[0])
        return (x, y - 10) if y - 26 > self._box[1] - 12 and self._free(x, y - 15, 40, 24) else None

    def _bare_names(self) -> list[RowName]:
        """The inputs' names over their columns, where no chips with numbers have room."""
        return column_names(self._weight, self._sample.inputs, self._project, self._box[1] - 12,
                            lambda x, y, wide, high: self._free(x, y, wide + 8, high, 4))  # fmt: skip

    def _row_names(self) -> list[RowName]:
        """The outputs' names beside their rows, where these end on the left or, from another side, on the right."""
        names = [f"to {name}" for name in self._sample.outputs]
        for plate, side in (
            ((self._weight, -1), (self._bias or self._weight, 1)) if self._moved else ((self._weight, -1),)
        ):
            found = row_names(plate, names, side, self._project, self._taken, tray=self._trays.get(plate.name))
            if found:
                return found
        return []

    def _input_boxes(self, sketch: Sketch, chips: Floats) -> None:
        theme, high, (wide, _, boxed) = self._theme, CHIP[1], self._input_style
        start = self._swatch_at
        if start is not None:
            sketch.line((start[0] + _SWATCH, start[1] + 18), (chips[0, 0] - wide / 2, chips[0, 1] + 1), theme.flow, 1.2)
            sketch.text(start[0] + _SWATCH / 2, start[1] - 9, "input", LABEL, theme.text2, anchor="middle")
        backs = self._project([back_edge(self._weight, j) for j in range(len(chips))])
        for (x, y), name in zip(chips, self._sample.inputs, strict=False):
            if boxed:
                self._chip(sketch, x, y, wide, strong=True)
            sketch.text(x, y - high / 2 - (7 if boxed else 1), name, CHANNEL, theme.text2, bold=True, anchor="middle")
        if not boxed:
            return
        aside, below = np.array([wide / 2, 0.0]), np.array([0.0, high / 2])
        sketch.lines(chips[:-1] + aside, chips[1:] - aside, theme.flow, 1.2)
        sketch.lines(chips + below, backs, theme.flow, 1.4)

    def _chip(self, sketch: Sketch, x: float, y: float, wide: float, *, strong: bool) -> None:
        sketch.rect(
            round(x - wide / 2),
            round(y - CHIP[1] / 2),
            wide,
            CHIP[1],
            radius=6,
            fill=self._theme.panel,
            stroke=self._theme.flow if strong else self._theme.border,
        )

    def _row_boxes(self, sketch: Sketch, anchor: Floats, *, first: bool) -> None:
        theme, (x, y) = self._theme, anchor
        sketch.arrow((x, y), (x + self._at.sum - self._at.sum_width / 2, y), theme.flow, 1.4)
        self._chip(sketch, x + self._at.sum, y, self._at.sum_width, strong=True)
        left, right = x + self._at.sum + self._at.sum_width / 2, x + self._at.output - self._at.width / 2
        sketch.arrow((left, y), (right, y), theme.flow, 1.4)
        symbol = SYMBOLS.get(self._last.kind, "" if self._last.kind == "linear" else self._last.kind)
        size, up = (18, 6) if len(symbol) == 1 else (LABEL, CHIP[1] / 2 - 3)
        if measure(symbol, size) < right - left + 14:
            sketch.text((left + right) / 2 - 1, y - up, symbol, size, theme.text2, anchor="middle")
        self._chip(sketch, x + self._at.output, y, self._at.width, strong=True)
        if "target" in self._columns:
            self._chip(sketch, x + self._at.target, y, self._at.width, strong=False)
        if first:
            called = [self._sample.called(self._last) if name == "output" else name for name in self._columns]
            for name, at in zip(called, (self._at.sum, self._at.output, self._at.target), strict=False):
                sketch.text(x + at, y - CHIP[1] / 2 - 10, name, LABEL, theme.text2, anchor="middle")

    def _output_swatch_lines(self, sketch: Sketch) -> None:
        x, y = self._lowest
        for at in (self._at.output, self._at.target)[: len(self._columns) - 1]:
            sketch.line((x + at, y + CHIP[1] / 2), (x + at, y + 36), self._theme.flow, 1.4)

    def _swatch_place(self) -> tuple[float, float] | None:
        """Top left of the input's swatch, left of the first chip; None where there is no room."""
        if self._chips is None or not self._sample.colours or len(self._chips) != 3:
            return None
        x = self._chips[0, 0] - CHIP[0] / 2 - 25 - _SWATCH
        y = self._chips[0, 1] - 13
        free = x > 4 and self._free(x + _SWATCH / 2, y + _SWATCH / 2 - 8, _SWATCH + 8, _SWATCH + 24)
        return (float(round(x)), float(round(y))) if free else None

    @property
    def _swatches(self) -> bool:
        y = self._lowest[1]
        fits = y + 100 < self._box[1] + self._box[3] + 8
        return self.outcome and self._sample.colours and self._below and len(self._anchors) == 3 and fits

    # what changes every frame

    def numbers(self, frame: Frame, loss: float | None, reached: Mapping[str, Marks] | None = None) -> Sketch:
        """The numbers and swatches of one frame; `loss` is the probe sample's own.

        `reached` says of each stage which of its numbers are there already; None: all.
        """
        sketch, theme = Sketch(), self._theme
        if "input" not in frame.activations:
            return self._unknown(sketch)
        inputs, sums = frame.activations["input"], frame.activations[self._sums]
        outputs = frame.activations[self._last.name]
        if self._chips is not None:
            for (x, y), value in zip(self._chips, inputs, strict=False):
                size = self._input_style[1]
                sketch.text(x, y + 0.36 * size, chip_text(value), size, theme.text1, bold=True, anchor="middle")
            if self._swatch_at is not None:
                self._swatch(sketch, *self._swatch_at, _SWATCH, _SWATCH, inputs)
        if not self._columns:
            return sketch
        for row, (x, y) in enumerate(self._anchors):
            shown = {}
            if reached is None or reached[self._sums][row]:
                shown[self._at.sum] = chip_text(sums[row], signed=True)
            if reached is None or reached[self._last.name][row]:
                shown[self._at.output] = chip_text(outputs[row])
            for at, text in shown.items():
                sketch.text(x + at, y + 5.5, text, CHANNEL, theme.text1, bold=True, anchor="middle")
            if self._target is not None:
                text = wanted_text(self._target[row])
                sketch.text(x + self._at.target, y + 5.5, text, CHANNEL, theme.text2, anchor="middle")
        if self.outcome:
            self._outcome(sketch, outputs, loss)
        return sketch

    def _unknown(self, sketch: Sketch) -> Sketch:
        """A dash on each chip: the rows of the sample were not recorded."""
        places = [(x + at, y) for x, y in self._anchors for at in (self._at.sum, self._at.output) if self._columns]
        for x, y in [*places, *(() if self._chips is None else self._chips)]:
            sketch.text(x, y + 5.5, "\N{EN DASH}", CHANNEL, self._theme.text3, anchor="middle")
        return sketch

    @property
    def _target(self) -> NDArray[np.floating] | None:
        """The target where it has a column."""
        return self._sample.wanted if "target" in self._columns else None

    def _outcome(self, sketch: Sketch, outputs: NDArray[np.floating], loss: float | None) -> None:
        x, y = self._lowest
        at, below = self._at, y + CHIP[1] / 2
        if self._swatches:
            for middle, colour in ((at.output, outputs), (at.target, self._target)):
                if colour is not None and np.isfinite(colour).all():
                    self._swatch(sketch, round(x + middle - at.width / 2), round(y + 36), at.width, 40, colour)
            below = y + 76
        if loss is None or not self._below:
            return
        ways = ([loss_line(self._sample, loss)], short_lines(self._sample, loss))  # beside the cubes, not on them
        lines: Sequence[str] = next((w for w in ways if max(measure(line, LABEL) for line in w) <= self._end), ())
        for line, text in enumerate(lines):
            if (down := below + 20 + 18 * line) < self._box[1] + self._box[3] + 8:
                sketch.text(x + self._end, down, text, LABEL, self._theme.text1, anchor="right")

    def _swatch(self, sketch: Sketch, x: float, y: float, wide: float, high: float, colour: ArrayLike) -> None:
        sketch.rect(x, y, wide, high, radius=5, fill=displayed(colour), stroke=self._theme.flow)


def wanted_text(value: float) -> str:
    """A number of the target; what nobody knows is a question mark."""
    return "?" if np.isnan(value) else chip_text(value)


def loss_line(sample: Sample, loss: float) -> str:
    """The loss of the one sample that is drawn, after the class that is wanted where the target is one."""
    wanted = f"wanted {sample.outputs[sample.label]} \N{MIDDLE DOT} " if sample.label is not None else ""
    return f"{wanted}loss of this {'colour' if sample.colours else 'sample'} {loss_text(loss)}"


def short_lines(sample: Sample, loss: float) -> list[str]:
    """The same where there is no room for one line."""
    wanted = [] if sample.label is None else [f"wanted {sample.outputs[sample.label]}"]
    return [*wanted, f"sample loss {loss_text(loss)}"]
