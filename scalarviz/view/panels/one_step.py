"""What one step does: a model's tree beside the tree of its gradients, and the four calls.

Inside an opened step they come one after another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame, Stage, is_chain
from ...run.panels import GradientTree, TrainingLoop
from ...run.questions.ranges import Range, extent, weight_extent
from ...run.source import Moment
from ..ink.boxes import LABEL
from ..ink.maps import Colormap, get_map
from ..ink.sketch import Box, Sketch
from ..ink.text import loss_text, measure, short
from ..ink.theme import Theme, mixed
from .drawer import Drawer, Ground, Inner, Point, Tip, cut, sentence, title_of
from .wording import BEFORE

# ---- The lines of the two trees: what stands in each, and the gradients that are known of it.

Floats = NDArray[np.float64]
LINE, AIR = 17.0, 4.0
CELL = 4.0
"""Pixels of a number of a weight matrix, where there is room for all of them."""
MOST = 40
"""Rows and columns of numbers that are drawn of a matrix; of more the largest of each block."""


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One line: the sample (stage ``"input"``), a stage, a leaf that hangs below its stage, or the loss.

    Numbers are two-dimensional, of the same shape; None where there are none (yet).
    """

    stage: str
    name: str
    deep: bool = False  # a leaf
    last: bool = False  # the last one of its stage
    values: Floats | None = None
    gradient: Floats | None = None
    shape: tuple[int, int] = (0, 0)
    factors: tuple[Floats, Floats] | None = None  # of weights: derivatives and inputs, whose outer product it is
    path: str = ""  # of the tensor or the stage

    @property
    def height(self) -> float:
        """Logical pixels that it takes."""
        tall = CELL * (min(self.shape[0], 8) + 1) + AIR if self.deep and self.shape[0] > 1 else 0.0
        return max(LINE, tall)


def fits(stages: Sequence[Stage]) -> bool:
    """Whether a network has such trees: a chain with weights."""
    return bool(stages) and is_chain(stages) and any(stage.weight is not None for stage in stages)


def rows_of(
    stages: Sequence[Stage], frame: Frame, deltas: Mapping[str, NDArray[np.floating]], *, seen: bool = True,
    inputs: Mapping[str, NDArray[np.floating]] | None = None,
) -> list[Row]:  # fmt: skip
    """The lines from input to loss; `deltas` by stage, NaN or absent where they are not known.

    `seen`: gradients of the frame that are computed belong to what is shown. With the `inputs` of one sample by stage
    leaves of weights have factors.
    """
    first = stages[0].weight
    rows = [Row("input", f"input, {first.shape[1]}" if first is not None else "input")]
    for before, stage in zip(("input", *(stage.name for stage in stages)), stages, strict=False):
        delta, kind = deltas.get(stage.name), f"{stage.name} {stage.kind}".strip()
        own = None if delta is None or not np.isfinite(delta).any() else np.asarray(delta, np.float64)[None]
        rows.append(Row(stage.name, f"{kind}, {stage.outputs}", gradient=own, shape=(1, stage.outputs), path=kind))
        tensors = [tensor for tensor in (stage.weight, stage.bias) if tensor is not None]
        for tensor in tensors:
            values = np.asarray(tensor.of(frame.values), np.float64)
            values = values if values.ndim == 2 else values.reshape(1, -1)
            there = seen and bool(frame.computed[tensor.span].all())
            gradient = np.asarray(tensor.of(frame.gradient), np.float64).reshape(values.shape) if there else None
            factors = None
            if tensor is stage.weight and there and inputs is not None and delta is not None and before in inputs:
                factors = np.asarray(delta, np.float64), np.asarray(inputs[before], np.float64)
            name, shape = tensor.name.rpartition(".")[2], (values.shape[0], values.shape[1])
            last = tensor is tensors[-1]
            rows.append(Row(stage.name, name, True, last, values, gradient, shape, factors, tensor.name))
    rows.append(Row("loss", "loss"))
    return rows


def deltas_of(stages: Sequence[Stage], frame: Frame) -> dict[str, Floats]:
    """What a step's own gradient says of the derivatives by the outputs, added up over its batch.

    A bias's gradient is that of its layer's outputs. The outputs before a layer get what its weights, as they were
    before the step, make of that. Where there is no bias nothing is known.
    """
    found: dict[str, Floats] = {}
    if frame.step == 0 or frame.edited:
        return found
    with np.errstate(invalid="ignore"):
        values = np.asarray(frame.values, np.float64) - frame.update
    for number, stage in enumerate(stages):
        if stage.bias is not None and frame.computed[stage.bias.span].all():
            found[stage.name] = np.asarray(stage.bias.of(frame.gradient), np.float64)
            above = stages[number - 1] if number else None
            if above is not None and above.bias is None and stage.weight is not None:
                found[above.name] = stage.weight.of(values).T @ found[stage.name]
    return found


def reduced(numbers: Floats, most: int = MOST) -> Floats:
    """At most so many rows and columns: of each block the number that is largest by size."""
    found = numbers
    for along in (0, 1):
        if found.shape[along] > most:
            parts = np.array_split(found, most, axis=along)
            places = [np.abs(np.nan_to_num(part)).argmax(axis=along, keepdims=True) for part in parts]
            picked = [np.take_along_axis(p, at, along) for p, at in zip(parts, places, strict=True)]
            found = np.concatenate(picked, axis=along)
    return found


class Numbers(NamedTuple):
    """Numbers that are drawn, each by itself: whose they are, what they are, and the box of the first one."""

    name: str
    what: str
    numbers: Floats
    cell: Box


_HEAD, _LARGEST = 44.0, 334.0
_MODEL, _GRADIENT, _WIDE = 98.0, 184.0, 78.0
"""Where the numbers begin, and how wide they are at most, in a column."""
PASSES = {3: "first pass: along the chain", 4: "second pass: the leaves"}


class TreeDrawer(Drawer[GradientTree]):
    """Numbers are small squares: of the model in the colours of weights, of the gradients in theirs."""

    name = "model"

    def __init__(self, panel: GradientTree, ground: Ground) -> None:
        super().__init__(panel, ground)
        self._numbers: list[Numbers] = []
        self._when = ""  # of which weights the loss is
        stages = ground.subject.stages
        if fits(stages):
            frame = ground.subject.frame()
            self.most = _HEAD + sum(row.height for row in rows_of(stages, frame, {}))
            self.height = self.within = min(self.most, _LARGEST)
        else:
            self.height = 60.0

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """The model as it is, and the gradients of the step that was done last."""
        frame, stages = moment.frame, moment.source.stages
        if not fits(stages):
            return [sentence(box, self.ground.theme, f"{self.panel.title}: this network is no chain of layers")]
        known = frame.step > 0 and bool(frame.computed.any())
        note = BEFORE if frame.edited else f"gradients of step {frame.step:,}"
        rows = rows_of(stages, frame, deltas_of(stages, frame), seen=known and not frame.edited)
        self._when = f"before step {frame.step:,}"  # the gradients are of that loss; the HUD tells that after it
        return [self._tree(box, rows, frame, note if known else "no gradients yet", frame.loss if known else np.nan)]

    def inside(self, inner: Inner, box: Box) -> Sequence[Sketch]:
        """What has come of an opened step: first along the chain, then the leaves."""
        stages = inner.source.stages
        if not fits(stages):
            return ()
        one, self._when = len(inner.data[0]) == 1, ""
        rows = rows_of(stages, inner.frame, inner.deltas, inputs=inner.frame.activations if one else None)
        note = inner.added or PASSES.get(inner.phase, f"in step {inner.frame.step:,}")
        return [self._tree(box, rows, inner.frame, note, inner.frame.loss, (inner.phase, inner.stage), one=one)]

    def _tree(
        self, box: Box, rows: Sequence[Row], frame: Frame, note: str, loss: float, now: tuple[int, str] = (-1, ""),
        *, one: bool = False,
    ) -> Sketch:  # fmt: skip
        sketch, theme, (x, y, width, height) = Sketch(), self.ground.theme, box
        title_of(sketch, box, theme, self.panel.title, note)
        scales = self._scales(frame, rows)
        self._numbers = []
        sketch.text(x + _MODEL, y + 31, f"±{short(scales[0].high)}", LABEL, theme.text3)
        draw_bar(sketch, (x + _MODEL, y + 35, _WIDE - 6, 4), get_map("weight", theme))
        if any(row.gradient is not None for row in rows):
            sketch.text(x + _GRADIENT, y + 31, f"±{short(scales[1].high)}, log", LABEL, theme.text3)
            draw_bar(sketch, (x + _GRADIENT, y + 35, _WIDE - 6, 4), get_map("gradient", theme))
            sketch.text(x + width, y + 31, "norm", LABEL, theme.text3, anchor="right")
        top, spine = y + _HEAD, []
        for number, row in enumerate(rows):
            if top + row.height > y + height + 0.5:
                sketch.text(x, top + 12, f"and {len(rows) - number} more lines", LABEL, theme.text3)
                break
            if now[0] in (3, 4) and row.stage == now[1] and row.deep == (now[0] == 4):
                fill = mixed(theme.gradient[3], theme.background, 0.3)
                sketch.rect(x - 4, top, width + 8, row.height, fill=fill, radius=4)
            self._row(sketch, (x, top, width, row.height), row, scales, loss, one=one)
            if not row.deep:
                spine.append(top + LINE / 2)
            top += row.height
        for start, end in pairwise(spine):
            sketch.line((x + 4, start + 4), (x + 4, end - 4), theme.flow, 1.0)
        return sketch

    def _scales(self, frame: Frame, rows: Sequence[Row]) -> tuple[Range, Range]:
        found = [np.ravel(row.gradient) for row in rows if row.gradient is not None]
        reach = extent(np.concatenate(found)) if found else 1.0
        weights = [np.ravel(row.values) for row in rows if row.values is not None]
        return Range.symmetric(weight_extent(np.concatenate(weights))), Range.symmetric(reach, "symlog")

    def _row(self, sketch: Sketch, box: Box, row: Row, scales: tuple[Range, Range], loss: float, *, one: bool) -> None:
        theme, (x, y, width, height) = self.ground.theme, box
        middle = y + LINE / 2
        indent = 16.0
        if row.deep:
            sketch.line((x + 12, y), (x + 12, middle if row.last else y + height), theme.flow, 1.0)
            sketch.line((x + 12, middle), (x + 20, middle), theme.flow, 1.0)
            indent = 25.0
        else:
            sketch.disc(x + 4, middle, 3.5, theme.text2 if row.stage not in ("input", "loss") else theme.text3)
        ink = theme.text2 if row.deep else theme.text1
        end = _MODEL if row.deep else _GRADIENT
        sketch.text(x + indent, middle + 4.5, cut(row.name, end - indent - 6), LABEL, ink)
        if row.stage == "loss" and loss == loss:
            sketch.text(x + _MODEL, middle + 4.5, loss_text(loss), LABEL, theme.text1)
            after = x + _MODEL + measure(loss_text(loss), LABEL) + 10
            sketch.text(after, middle + 4.5, cut(self._when, x + width - after), LABEL, theme.text3)
        model, gradient = (x + _MODEL, y, _WIDE, height), (x + _GRADIENT, y, _WIDE, height)
        of_gradient = "its gradient" if row.deep else "gradient by this output"
        for place, numbers, scale, quantity, what in (
            (model, row.values, scales[0], "weight", "of the model"),
            (gradient, row.gradient, scales[1], "gradient", of_gradient),
        ):
            if numbers is not None:
                draw_cells(sketch, place, theme, numbers, scale, get_map(quantity, theme))
                if max(numbers.shape) <= MOST:
                    self._numbers.append(Numbers(row.path, what, numbers, cell_of(place, numbers.shape)))
        if row.gradient is not None:
            if row.factors is not None and one:
                draw_factors(sketch, gradient, theme, row.factors, scales[1])
            size = short(float(np.linalg.norm(row.gradient[np.isfinite(row.gradient)])))
            sketch.text(x + width, middle + 4.5, size, LABEL, theme.pulse, anchor="right")
        elif row.shape != (0, 0):
            outline(sketch, gradient, theme, row.shape)  # what is not known yet: a zero would be a number

    # ---- hands

    def _tip(self, moment: Moment, at: Point) -> Tip | None:
        """Its name, the number and what it is of."""
        if (found := self.under(at)) is None:
            return None
        (name, what, numbers, _), row, column = found
        index = f"[{row}][{column}]" if len(numbers) > 1 else f"[{column}]"
        return name + index, short(float(numbers[row, column]), signed=True), [what]

    def under(self, at: Point) -> tuple[Numbers, int, int] | None:
        """Row and column of some numbers of which each is drawn."""
        for found in self._numbers:
            left, top, wide, high = found.cell
            row, column = int((at[1] - top) // high), int((at[0] - left) // wide)
            if 0 <= row < found.numbers.shape[0] and 0 <= column < found.numbers.shape[1]:
                return found, row, column
        return None


# ---- Numbers of a matrix or a row as small squares in one line of a tree, and which of them is under the pointer.

_WIDEST, _BARS = 9.0, 32


def cell_of(box: Box, shape: tuple[int, ...]) -> Box:
    """Left, top, width and height of each cell of some numbers (rows, columns) in a line."""
    x, y, width, height = box
    rows, columns = min(shape[0], MOST), min(shape[1], MOST)
    cell = min(_WIDEST, width / max(columns, 1))
    if rows == 1:
        return x, y + LINE / 2 - 4.5, cell, 9.0
    return x, y + 7.0, cell, min(CELL, (height - 9.0) / rows)


def draw_cells(sketch: Sketch, box: Box, theme: Theme, numbers: Floats, scale: Range, colours: Colormap) -> None:
    """A square a number in the colours of its quantity; one that is NaN is struck out."""
    shown = reduced(numbers)
    left, top, cell, tall = cell_of(box, shown.shape)
    row, column = np.nonzero(~np.isnan(shown))
    sizes = np.full(len(row), cell), np.full(len(row), tall)
    boxes = np.stack([left + cell * column, top + tall * row, *sizes], axis=-1)
    sketch.cells(boxes, colours(2 * scale.unit(shown[row, column]) - 1))
    row, column = np.nonzero(np.isnan(shown))
    starts = np.stack([left + cell * column, top + tall * row], axis=-1)
    sketch.lines(starts, starts + np.array([cell, tall]), theme.text2, 1.0)
    outline(sketch, box, theme, numbers.shape)


def outline(sketch: Sketch, box: Box, theme: Theme, shape: tuple[int, ...]) -> None:
    """The frame around numbers of a shape."""
    left, top, cell, tall = cell_of(box, shape)
    sketch.rect(left, top, cell * min(shape[1], MOST), tall * min(shape[0], MOST), stroke=theme.border)


def draw_factors(sketch: Sketch, box: Box, theme: Theme, factors: tuple[Floats, Floats], scale: Range) -> None:
    """The two rows of numbers whose products a leaf is: left of it the derivatives, above it the inputs."""
    delta, entering = reduced(factors[0][:, None])[:, 0], reduced(factors[1][None])[0]
    left, top, cell, tall = cell_of(box, (len(factors[0]), len(factors[1])))
    beside = [(left - 7, top + tall * k, 4.0, tall) for k in range(len(delta))]
    sketch.cells(beside, get_map("gradient", theme)(2 * scale.unit(np.nan_to_num(delta)) - 1))
    above = [(left + cell * k, top - 6, cell, 4.0) for k in range(len(entering))]
    sketch.cells(above, get_map("activation", theme)(np.abs(np.nan_to_num(entering)) / extent(entering)))


def draw_bar(sketch: Sketch, box: Box, colours: Colormap) -> None:
    """The colours of a quantity from its least to its largest number."""
    x, y, width, height = box
    boxes = [(x + width * k / _BARS, y, width / _BARS + 0.3, height) for k in range(_BARS)]
    sketch.cells(boxes, colours(np.linspace(-1.0, 1.0, _BARS)))


# ---- The four calls of a training step: which have happened, with their numbers.

CALLS = ("zero_grad()", "forward()", "backward()", "step()")
_OF_PHASE = (0, 1, 1, 2, 2, 3)
"""Which of the calls each phase of an opened step belongs to."""
_CALL, _TOP, _WORDS = 20.0, 22.0, 112.0


class LoopDrawer(Drawer[TrainingLoop]):
    """Between steps all four have happened; inside an opened step they happen one after another."""

    name = "one step"
    height = _TOP + 4 * _CALL + 4
    within = height

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """The step that was done last."""
        frame, own = self.ground.said or moment.frame, np.array(self.panel.weights)
        if own.max() >= len(frame.values):
            return [sentence(box, self.ground.theme, f"one step: this network has {len(frame.values)} weights")]
        if frame.step == 0 or not frame.computed[own].all():
            return [self._lines(box, "none has happened yet", "waits", [""] * 4)]
        said = self._said(frame)
        if frame.edited:
            return [self._lines(box, BEFORE, "before", [*said[:3], ""])]
        return [self._lines(box, f"all four happened in step {frame.step:,}", "done", said)]

    def inside(self, inner: Inner, box: Box) -> Sequence[Sketch]:
        """The one that happens now."""
        own, frame = np.array(self.panel.weights), inner.frame
        if own.max() >= len(frame.values):
            return ()
        now = _OF_PHASE[inner.phase]
        there = (True, frame.loss == frame.loss, frame.computed[own].all(), inner.moved[own].all())
        said = [line if is_there else "" for line, is_there in zip(self._said(frame), there, strict=True)]
        states = ["done"] * now + ["now"] + ["waits"] * (3 - now)
        said = [line if k <= now else "" for k, line in enumerate(said)]
        return [self._lines(box, inner.added or f"in step {frame.step:,}", states, said)]

    def _said(self, frame: Frame) -> list[str]:
        """What comes of each of the four calls."""
        grads, values = ([short(x) for x in of[np.array(self.panel.weights)].tolist()] for of in
                         (frame.gradient, frame.values))  # fmt: skip
        zeros = ["0"] * len(grads)
        return [self._words(".grad", zeros), f"loss {loss_text(frame.loss)}", self._words(".grad", grads),
                self._words("", values)]  # fmt: skip

    def _words(self, of: str, numbers: Sequence[str]) -> str:
        """``w.grad = 0.5``; of several weights ``grad w 0.5, b 0.1``, for which there is room."""
        names = self.panel.names
        if len(names) == 1 or not of:
            return ", ".join(f"{name}{of} = {number}" for name, number in zip(names, numbers, strict=True))
        return "grad " + ", ".join(f"{name} {number}" for name, number in zip(names, numbers, strict=True))

    def _lines(self, box: Box, note: str, states: str | Sequence[str], said: Sequence[str]) -> Sketch:
        """The four calls: each is done, happens now, waits, or was before a change by hand; and what came of it."""
        sketch, theme, (x, y, width, _) = Sketch(), self.ground.theme, box
        title_of(sketch, box, theme, "one step", note)
        states = [states] * 4 if isinstance(states, str) else states
        for row, (name, state, line) in enumerate(zip(CALLS, states, said, strict=True)):
            middle = y + _TOP + _CALL * row + _CALL / 2
            now, there = state == "now", state in ("done", "now")
            if now:
                fill = mixed(theme.gradient[3], theme.panel, 0.5)
                sketch.rect(x, middle - _CALL / 2, width, _CALL, radius=4, fill=fill, stroke=theme.pulse)
            dot = (theme.pulse if now else theme.text2) if there else None
            sketch.disc(x + 10, middle, 4.0, dot, stroke=None if there else theme.flow, border=1.4)
            ink = theme.text1 if there else theme.text3
            sketch.text(x + 22, middle + 4.5, name, LABEL, ink, bold=now)
            ink = theme.text3 if state == "before" else theme.pulse if row == 2 else theme.text2
            sketch.text(x + _WORDS, middle + 4.5, cut(line, width - _WORDS - 6), LABEL, ink)
        return sketch
