"""One training step: the trees of parameters and gradients, the four calls, the loss over weights.

Inside an opened step the numbers appear one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...run.core.frame import Frame
from ...run.core.tensors import Stage, is_chain
from ...run.panels import GradientTree, LossOver, TrainingLoop
from ...run.questions.ranges import Range, extent, weight_extent
from ...run.source import Moment, Source
from ...run.travel import weight_record
from ..ink.axes import Axes, Floats, Scale, gutter, scale_of, tick_text, zero_lines
from ..ink.boxes import ABOUT, COLUMN, LABEL
from ..ink.listed import Listed
from ..ink.sketch import STEP, Bound, Box, Cached, Sketch, meet
from ..ink.text import loss_text, measure, rate_text, short
from ..ink.theme import Colormap, Theme, get_map, hue, mixed
from ..shown.names import Names, who
from .drawer import (
    BEFORE,
    Drawer,
    Level,
    OpenedStep,
    Point,
    SharedState,
    Slot,
    Tip,
    cut,
    loss_words,
    sentence,
    title_of,
)
from .pace import answer_at_once

# ---- The lines of the two trees, and their known gradients.

LINE, AIR = 17.0, 4.0
CELL = 4.0
"""Pixels of a number of a weight matrix, if all fit."""
MOST = 40
"""Most rows and columns drawn of a matrix; of more, the largest of each block."""


@dataclass(frozen=True, slots=True, eq=False)
class NumberRow:
    """One line: the sample (stage ``"input"``), a stage, a leaf below its stage, or the loss.

    Its arrays are two-dimensional, of the same shape; None if unknown.
    """

    stage: str
    name: str
    deep: bool = False  # a leaf
    last: bool = False  # the last leaf of its stage
    values: Floats | None = None
    gradient: Floats | None = None
    shape: tuple[int, int] = (0, 0)
    factors: tuple[Floats, Floats] | None = None  # of weights: deltas and inputs; the gradient is their outer product
    path: str = ""  # of the tensor or the stage

    @property
    def height(self) -> float:
        """Height in logical pixels."""
        tall = CELL * (min(self.shape[0], 8) + 1) + AIR if self.deep and self.shape[0] > 1 else 0.0
        return max(LINE, tall)


def fits(stages: Sequence[Stage]) -> bool:
    """Return whether a network has such trees: a chain with weights."""
    return bool(stages) and is_chain(stages) and any(stage.weight is not None for stage in stages)


def rows_of(
    stages: Sequence[Stage], frame: Frame, deltas: Mapping[str, NDArray[np.floating]], *, seen: bool = True,
    inputs: Mapping[str, NDArray[np.floating]] | None = None, names: Mapping[str, str] = MappingProxyType({}),
) -> list[NumberRow]:  # fmt: skip
    """Return the lines from input to loss; `deltas` by stage, NaN or absent if unknown.

    `seen`: computed gradients of the frame belong to the values shown. With the `inputs` of one sample by stage, leaves
    of weights have factors.
    """
    first = stages[0].weight
    rows = [NumberRow("input", f"input, {first.shape[1]}" if first is not None else "input")]
    for before, stage in zip(("input", *(stage.name for stage in stages)), stages, strict=False):
        delta, called = deltas.get(stage.name), f"{names.get(stage.name, stage.name)}, {stage.outputs}"
        own = None if delta is None or not np.isfinite(delta).any() else np.asarray(delta, np.float64)[None]
        rows.append(NumberRow(stage.name, called, gradient=own, shape=(1, stage.outputs), path=stage.name))
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
            rows.append(NumberRow(stage.name, name, True, last, values, gradient, shape, factors, tensor.name))
    rows.append(NumberRow("loss", "loss"))
    return rows


def deltas_of(stages: Sequence[Stage], frame: Frame) -> dict[str, Floats]:
    """Return the deltas of the outputs that follow from a step's gradient, summed over its batch.

    A bias's gradient is the delta of its layer. The delta before a layer follows from its weights before the step.
    Without a bias nothing is known.
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
    """Return at most `most` rows and columns: of each block the number with the largest magnitude."""
    found = numbers
    for along in (0, 1):
        if found.shape[along] > most:
            parts = np.array_split(found, most, axis=along)
            places = [np.abs(np.nan_to_num(part)).argmax(axis=along, keepdims=True) for part in parts]
            picked = [np.take_along_axis(p, at, along) for p, at in zip(parts, places, strict=True)]
            found = np.concatenate(picked, axis=along)
    return found


class Numbers(NamedTuple):
    """Numbers that are drawn one by one: their tensor, their kind, and the box of the first one."""

    name: str
    what: str
    numbers: Floats
    cell: Box


_HEAD, _LARGEST = 44.0, 334.0
_PLACES = (98 / COLUMN, 184 / COLUMN, 78 / COLUMN)
"""Left edges of the numbers of both trees, and their largest width, as shares of a column."""
PASSES = {3: "first pass: along the chain", 4: "second pass: the leaves"}


def _places(width: float) -> tuple[float, ...]:
    return tuple(share * width for share in _PLACES)


class TreeDrawer(Drawer[GradientTree]):
    """The two trees. Numbers are small squares: values in the colours of weights, gradients in theirs."""

    name = "model"
    worth = 2

    def __init__(self, panel: GradientTree, shared: SharedState) -> None:
        super().__init__(panel, shared)
        self._numbers: list[Numbers] = []
        self._when = ""  # the moment of the weights that the loss is of
        stages = shared.subject.stages
        if fits(stages):
            self.most = _HEAD + sum(row.height for row in rows_of(stages, shared.subject.frame(), {}))
            self.height = self.within = min(self.most, _LARGEST)
        else:
            self.height = 60.0

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """Return the present model, and the gradients of the last step."""
        frame, stages = moment.frame, moment.source.stages
        if not fits(stages):
            return [sentence(box, self.shared.theme, f"{self.panel.title}: this network is not a chain of layers")]
        known = frame.step > 0 and bool(frame.computed.any())
        note = BEFORE if frame.edited else f"gradients of step {frame.step:,}"
        rows = rows_of(stages, frame, deltas_of(stages, frame), seen=known and not frame.edited,
                       names=Names(self.shared.subject).stages)  # fmt: skip
        self._when = loss_words(self.shared.subject, frame)
        loss = self.shared.subject.loss(frame)
        return [self._tree(box, rows, frame, note if known else "no gradients yet", loss)]

    def inside(self, inner: OpenedStep, box: Box) -> Sequence[Sketch]:
        """Return the numbers of an opened step so far: first along the chain, then the leaves."""
        stages = inner.source.stages
        if not fits(stages):
            return ()
        one, self._when = len(inner.data[0]) == 1, ""
        rows = rows_of(stages, inner.frame, inner.deltas, inputs=inner.frame.activations if one else None,
                       names=Names(self.shared.subject).stages)  # fmt: skip
        note = inner.added_words or PASSES.get(inner.phase, f"in step {inner.frame.step:,}")
        return [self._tree(box, rows, inner.frame, note, inner.frame.loss, (inner.phase, inner.stage), one=one)]

    def _tree(
        self, box: Box, rows: Sequence[NumberRow], frame: Frame, note: str, loss: float,
        now: tuple[int, str] = (-1, ""), *, one: bool = False,
    ) -> Sketch:  # fmt: skip
        sketch, theme, (x, y, width, height) = Sketch(), self.shared.theme, box
        left, right, wide = _places(width)
        title_of(sketch, box, theme, self.panel.title, note)
        scales = self._scales(frame, rows)
        self._numbers = []
        sketch.text(x + left, y + 31, f"±{short(scales[0].high)}", LABEL, theme.text3)
        draw_bar(sketch, (x + left, y + 35, wide - 6, 4), get_map("weight", theme))
        if any(row.gradient is not None for row in rows):
            sketch.text(x + right, y + 31, f"±{short(scales[1].high)}, log", LABEL, theme.text3)
            draw_bar(sketch, (x + right, y + 35, wide - 6, 4), get_map("gradient", theme))
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

    def _scales(self, frame: Frame, rows: Sequence[NumberRow]) -> tuple[Range, Range]:
        found = [np.ravel(row.gradient) for row in rows if row.gradient is not None]
        reach = extent(np.concatenate(found)) if found else 1.0
        weights = [np.ravel(row.values) for row in rows if row.values is not None]
        return Range.symmetric(weight_extent(np.concatenate(weights))), Range.symmetric(reach, "symlog")

    def _row(
        self, sketch: Sketch, box: Box, row: NumberRow, scales: tuple[Range, Range], loss: float, *, one: bool
    ) -> None:
        theme, (x, y, width, height) = self.shared.theme, box
        left, right, wide = _places(width)
        middle = y + LINE / 2
        indent = 16.0
        if row.deep:
            sketch.line((x + 12, y), (x + 12, middle if row.last else y + height), theme.flow, 1.0)
            sketch.line((x + 12, middle), (x + 20, middle), theme.flow, 1.0)
            indent = 25.0
        else:
            sketch.disc(x + 4, middle, 3.5, theme.text2 if row.stage not in ("input", "loss") else theme.text3)
        ink = theme.text2 if row.deep else theme.text1
        end = left if row.deep else right
        sketch.text(x + indent, middle + 4.5, cut(row.name, end - indent - 6), LABEL, ink)
        if row.stage == "loss" and loss == loss:
            after = sketch.text(x + left, middle + 4.5, loss_text(loss), LABEL, theme.text1) + 10
            sketch.text(after, middle + 4.5, cut(self._when, x + width - after), LABEL, theme.text3)
        model, gradient = (x + left, y, wide, height), (x + right, y, wide, height)
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
            outline(sketch, gradient, theme, row.shape)  # unknown numbers: a zero would be a number

    # ---- input

    def _tip(self, moment: Moment, at: Point) -> Tip | None:
        """Return the name of a number, its value and its kind."""
        if (found := self.under(at)) is None:
            return None
        (name, what, numbers, _), row, column = found
        subject = self.shared.subject
        start = next((t.start for t in subject.tensors if t.name == name), None)
        stage = next((stage for stage in subject.way if stage.name == name), None)
        if start is None or stage is not None:
            said = name if stage is None else Names(subject).unit(stage, column)
        else:
            said = who(subject, start + row * numbers.shape[1] + column).name
        return said, short(float(numbers[row, column]), signed=True), [what]

    def under(self, at: Point) -> tuple[Numbers, int, int] | None:
        """Return the numbers at a point with row and column, or None."""
        for found in self._numbers:
            left, top, wide, high = found.cell
            row, column = int((at[1] - top) // high), int((at[0] - left) // wide)
            if 0 <= row < found.numbers.shape[0] and 0 <= column < found.numbers.shape[1]:
                return found, row, column
        return None


# ---- Numbers of a matrix or a row as small squares in one line of a tree, and the one under the pointer.

_WIDEST, _BARS = 9.0, 32


def cell_of(box: Box, shape: tuple[int, ...]) -> Box:
    """Return left, top, width and height of the first cell of numbers (rows, columns) in a line."""
    x, y, width, height = box
    rows, columns = min(shape[0], MOST), min(shape[1], MOST)
    cell = min(_WIDEST, width / max(columns, 1))
    if rows == 1:
        return x, y + LINE / 2 - 4.5, cell, 9.0
    return x, y + 7.0, cell, min(CELL, (height - 9.0) / rows)


def draw_cells(sketch: Sketch, box: Box, theme: Theme, numbers: Floats, scale: Range, colours: Colormap) -> None:
    """Draw a square per number in the colours of its quantity; NaN is crossed out."""
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
    """Draw the frame around numbers of a shape."""
    left, top, cell, tall = cell_of(box, shape)
    sketch.rect(left, top, cell * min(shape[1], MOST), tall * min(shape[0], MOST), stroke=theme.border)


def draw_factors(sketch: Sketch, box: Box, theme: Theme, factors: tuple[Floats, Floats], scale: Range) -> None:
    """Draw the two factors whose products make a leaf: deltas at its left, inputs above it."""
    delta, entering = reduced(factors[0][:, None])[:, 0], reduced(factors[1][None])[0]
    left, top, cell, tall = cell_of(box, (len(factors[0]), len(factors[1])))
    beside = [(left - 7, top + tall * k, 4.0, tall) for k in range(len(delta))]
    sketch.cells(beside, get_map("gradient", theme)(2 * scale.unit(np.nan_to_num(delta)) - 1))
    above = [(left + cell * k, top - 6, cell, 4.0) for k in range(len(entering))]
    sketch.cells(above, get_map("activation", theme)(np.abs(np.nan_to_num(entering)) / extent(entering)))


def draw_bar(sketch: Sketch, box: Box, colours: Colormap) -> None:
    """Draw the colours of a quantity from its least to its largest number."""
    x, y, width, height = box
    boxes = [(x + width * k / _BARS, y, width / _BARS + 0.3, height) for k in range(_BARS)]
    sketch.cells(boxes, colours(np.linspace(-1.0, 1.0, _BARS)))


# ---- The four calls of a training step, with their results.

Said = tuple[float, Bound]
"""A number of a line, and how it is written."""
ALL_FOUR = "all four happened in step "
CALLS = ("zero_grad()", "forward()", "backward()", "step()")
_OF_PHASE = (0, 1, 1, 2, 2, 3)
"""The call of each phase of an opened step."""
_CALL, _TOP, _WORDS = 20.0, 22.0, 112.0


class LoopDrawer(Drawer[TrainingLoop]):
    """The four calls: all done between steps, one after another inside an opened step."""

    name = "one step"
    height = _TOP + 4 * _CALL + 4
    within = height
    worth = 0

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """Return the calls of the last step."""
        return [self._after(self.shared.words_frame or moment.frame, box)]

    def _after(self, frame: Frame, box: Box, *, apart: bool = False) -> Sketch:
        """Draw the calls between two steps; `apart`: their numbers are texts of their own, which a page fills in."""
        own = np.array(self.panel.weights)
        if own.max() >= len(frame.values):
            return sentence(box, self.shared.theme, f"one step: this network has {len(frame.values)} weights")
        if frame.step == 0 or not frame.computed[own].all():
            return self._lines(box, "no step yet", "waits", [()] * 4)
        if frame.edited:  # the weights before the step are not known any more
            return self._lines(box, BEFORE, "before", [*self._call_results(frame)[:3], ()], apart=apart)
        said = self._call_results(frame, " at ")  # forward() had the weights before the step
        return self._lines(box, f"{ALL_FOUR}{frame.step:,}", "done", said, apart=apart)

    def slot(self) -> Slot | None:
        frame, box = self.shared.words_frame, self.box
        if frame is None or box is None or frame.step == 0 or max(self.panel.weights) >= len(frame.values):
            return None
        frames = [replace(frame, edited=False), replace(frame, edited=True), replace(frame, step=0)]
        listed = Listed(self.shared.theme, bound=True)
        lists = [listed.records([self._after(one, box, apart=True)]) for one in frames]
        return Slot("numbers", 0, np.zeros((1, 1)), lists=lists, whole=False)

    def inside(self, inner: OpenedStep, box: Box) -> Sequence[Sketch]:
        """Return the calls, with the current one highlighted."""
        own, frame = np.array(self.panel.weights), inner.frame
        if own.max() >= len(frame.values):
            return ()
        now = _OF_PHASE[inner.phase]
        there = (True, frame.loss == frame.loss, frame.computed[own].all(), inner.moved[own].all())
        said = [line if k <= now and bool(there[k]) else () for k, line in enumerate(self._call_results(frame))]
        states = ["done"] * now + ["now"] + ["waits"] * (3 - now)
        return [self._lines(box, inner.added_words or f"in step {frame.step:,}", states, said)]

    def _call_results(self, frame: Frame, at: str = "") -> list[list[Said]]:
        """Return the result of each of the four calls in numbers and words; after `at`, the weights before the step."""
        own = self.panel.weights
        grads, values = frame.gradient, frame.values
        zeros = [(0.0, Bound("=", form="decades", before=words)) for words in self._words(".grad")]
        loss = [(frame.loss, Bound("step loss", form="loss", before="loss "))]

        def said(name: str, numbers: NDArray[np.floating], of: str = "", at: str = "") -> list[Said]:
            heads = self._words(of)
            return [
                (float(numbers[k]), Bound(name, k, "decades", before=at * (k == own[0]) + words))
                for k, words in zip(own, heads, strict=True)
            ]

        before = said("weight before", values - frame.update, at=at) if at else []
        return [zeros, [*loss, *before], said("gradient", grads, ".grad"), said("weight", values)]

    def _words(self, of: str) -> list[str]:
        """Return the words before each number: of ``w.grad = 0.5``; or shorter, of ``grad w 0.5, b 0.1``."""
        names = self.panel.names
        if len(names) == 1 or not of:
            return [f"{', ' * (k > 0)}{name}{of} = " for k, name in enumerate(names)]
        return [f"{', ' if k else 'grad '}{name} " for k, name in enumerate(names)]

    def _lines(
        self, box: Box, note: str, states: str | Sequence[str], said: Sequence[Sequence[Said]], *, apart: bool = False
    ) -> Sketch:  # fmt: skip
        """Draw the four calls with their states (done, now, waits, before a change by hand) and results."""
        sketch, theme, (x, y, width, _) = Sketch(), self.shared.theme, box
        bound = Bound(STEP, form="count", before=ALL_FOUR) if note.startswith(ALL_FOUR) else None
        title_of(sketch, box, theme, "one step", note, bound)
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
            parts = [own.text(number) for number, own in line]
            left, text = x + _WORDS, "".join(parts)
            if not apart or measure(text, LABEL) > width - _WORDS - 6:
                sketch.text(left, middle + 4.5, cut(text, width - _WORDS - 6), LABEL, ink)
                continue
            for k, (part, (_, own)) in enumerate(zip(parts, line, strict=True)):
                left = sketch.text(left, middle + 4.5, part, LABEL, ink, bound=own, gap=0.0 if k else None)
        return sketch


# ---- The loss over one or two weights, with the ball and the result of the last step.

Span = tuple[float, float]
Data = tuple[NDArray[np.floating], NDArray[np.floating]]
At = Callable[[Floats], Floats]
"""Maps places (N, n) of the weights to losses (N,), or to points of the picture (N, 2)."""
ROLL = 0.3
"""Seconds that the ball rolls to its new place; less if frames are closer together."""
UNKNOWN, RISES = "slope unknown before backward()", "overshoots: the loss rises"
SIDE, _POINTS = 33, 129  # points of the loss: along each of two weights, along one
LEVELS = 10
_LEFT, _TITLE, _LINE, _WIDE_FROM = 40.0, 21.0, 18.0, 480.0
_TANGENT = 0.22  # share of the width to either side
_BALL = 6.5
_SAMPLES, _LEVELS_OF_A_PAGE = 256, 9  # most samples of a curve that a page computes; of spans, each twice as wide
Words = tuple[tuple[str, str, bool], ...]
"""Lines, their colours, and whether they are bold."""


class LossOverDrawer(Drawer[LossOver]):
    """The loss over one or two weights; computed again when anything else changes."""

    name = "loss over weights"
    frame = 0.0, 40.0
    height, most, within, first, above = 232.0, 360.0, 1.0, True, 236.0
    worth = ABOUT + 1  # if only one panel fits, this rather than the points
    needs = ("predict",)

    def __init__(self, panel: LossOver, shared: SharedState) -> None:
        super().__init__(panel, shared)
        self._losses = Cached[Floats]()
        self._standing: tuple[Box, Standing] | None = None  # of the last curve
        self._trail = Trail()
        self._rolls: tuple[Floats, Floats] | None = None  # from, to
        self._since, self._apart = ROLL, ROLL

    @property
    def moving(self) -> bool:
        """True while the ball moves."""
        return self._rolls is not None and self._since < self._time

    @property
    def _time(self) -> float:
        return min(ROLL, 0.8 * self._apart)

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """Return the curve or the map, and the last step on it."""
        frame, source, own = moment.frame, moment.source, self.panel.weights
        if missing := self._missing(source):
            return [sentence(box, self.shared.theme, missing)]
        at = Standing(source, frame, place_of(frame, own), own, source.samples())
        self._trail.add(frame.step, at.place)
        if seconds is None and self._trail.begins > source.span[0]:  # a still: it has not seen the earlier frames
            self._ask_past(source)
        sketch = self._picture(box, at, self._rolling(at.place.here, seconds), _counted(at))
        said = self.shared.words_frame or frame  # of the step in the HUD
        self._write(sketch, box, Standing(source, said, place_of(said, own), own, at.data))
        return [sketch]

    def inside(self, inner: OpenedStep, box: Box) -> Sequence[Sketch]:
        """Return the same for an opened step: the tangent appears with the gradient, the ball moves with the update."""
        if self._missing(inner.source):
            return ()
        own = np.array(self.panel.weights)
        now = np.asarray(inner.before.values[own], np.float64)
        there = bool(inner.frame.computed[own].all()) and not inner.added_words
        gradient = np.asarray(inner.frame.gradient[own], np.float64) if there else None
        place = WeightPlace(now, None, gradient, inner.frame.lr)
        if inner.moved[own].all():
            place = WeightPlace(np.asarray(inner.frame.values[own], np.float64), now, gradient, inner.frame.lr)
        at = Standing(inner.source, inner.before, place, self.panel.weights, inner.data)
        sketch = self._picture(box, at, place.here, inner.samples)
        if inner.phase < 3 or place.gradient is not None:
            self._write(sketch, box, at)
        return [sketch]

    def slot(self) -> Slot | None:
        """Return the curve of one weight over its span, and over doubled ones, with what moves along it."""
        if self._standing is None or self.box is None:
            return None
        (plot, at), box, theme, (name,), (index,) = (
            self._standing, self.box, self.shared.theme, self.panel.names, self.panel.weights
        )  # fmt: skip
        inputs, targets = (np.reshape(part, (len(part), -1)) for part in at.data)
        share = _share(at, self.panel.spans[0]) if len(inputs) <= _SAMPLES else None
        if share is None:
            return None
        listed, moves, levels = Listed(theme, bound=True), Sketch(), list[Level]()
        for times in range(_LEVELS_OF_A_PAGE):
            if (laid := self._axes(plot, at, doubled(self.panel.spans[0], times))) is None:
                break
            axes, stays = laid[0], Sketch()
            title_of(stays, box, theme, self._title, _counted(at))
            axes.rule(stays, theme)
            axes.foot(stays, theme, name)
            ends = (axes.across.low, axes.across.high), (axes.up.low, axes.up.high)
            levels.append(Level(axes.box, *ends, listed.records([stays])))
        for ink, width in ((theme.text2, 2.0), (hue(theme, "+1"), 2.0), (theme.flow, 1.4)):
            moves.polyline(np.eye(2), ink, width)
        _dots(moves, theme, np.zeros((1, 2)))
        _begun(moves, theme, np.zeros(2))
        self._ball(moves, (0.0, 0.0))
        left, down = box[0], box[1] + box[3] - _foot(box) + 16
        for number, form, words, ink, place in (
            ("weight", "decades", f"{name} = ", theme.text1, (0.0, 0.0)),
            ("gradient", "tick", "slope ", hue(theme, "+1"), (0.0, 0.0)),
            ("update", "tick", "moved by ", theme.text2, (left, down)),
        ):
            bound = Bound(number, index, form, before=words)
            moves.number(*place, 1.0, bound, LABEL, ink, bold=number != "update", anchor="left")
        one = _foot(box) < 2 * _LINE  # line below the picture
        for words, ink, bold in (("downhill", theme.text1, False), (RISES, theme.weight[0], True)):
            moves.text(left, down + _LINE * (not one), words, LABEL, ink, bold=bold, gap=16.0 if one else None)
        data = np.column_stack([inputs, targets])
        return Slot("losses", index, data, share=share, lists=[listed.records([moves])], levels=levels, whole=False)

    def _ask_past(self, source: Source) -> None:
        """Add the earlier places of the weights, if the source answers at once."""
        records = answer_at_once(source, lambda run: [weight_record(run, w) for w in self.panel.weights]) or []
        if len({record.steps.tobytes() for record in records}) == 1:
            self._trail.add_record(records[0].steps.tolist(), np.stack([record.values for record in records], axis=1))

    def _missing(self, source: Source) -> str:
        """Return why these weights cannot be shown, or ""; the network may have changed."""
        count = sum(tensor.size for tensor in source.tensors)
        return f"{self.panel.title}: this network has {count} weights" if max(self.panel.weights) >= count else ""

    def _rolling(self, to: Floats, seconds: float | None) -> Floats:
        """Return the present place of the ball on its way to `to`."""
        if seconds is None or self._rolls is None or not np.isfinite(to).all():
            self._rolls, self._since = (to, to), ROLL
        else:
            self._since += seconds
        if not np.array_equal(to, self._rolls[1], equal_nan=True):
            self._apart, now = max(self._since, 1e-3), rolled(*self._rolls, self._since / max(self._time, 1e-9))
            self._rolls, self._since = (now, to), 0.0
        return rolled(*self._rolls, self._since / max(self._time, 1e-9))

    # ---- the picture

    @property
    def _title(self) -> str:
        return f"{self.panel.title} over {' and '.join(self.panel.names)}"

    def _ball(self, sketch: Sketch, at: Point) -> None:
        sketch.disc(*at, _BALL, self.shared.theme.text1, stroke=self.shared.theme.background, border=1.5)

    def _picture(self, box: Box, at: Standing, ball: Floats, note: str) -> Sketch:
        """Return the loss over the weights, the trail, the gradient or the step along it, and the ball."""
        sketch, theme, (x, y, width, height) = Sketch(), self.shared.theme, box
        place = at.place
        title_of(sketch, box, theme, self._title, note)
        near = [place.here] if place.before is None else [place.here, place.before]
        spans = [grown(span, [one[k] for one in near]) for k, span in enumerate(self.panel.spans)]
        plot = (x, y + _TITLE, width, height - _TITLE - _foot(box))
        trail = self._trail.until(at.frame.step)
        stands = (self._curve if len(spans) == 1 else self._valley)(sketch, plot, at, spans, trail)
        if stands is not None and np.isfinite(ball).all() and np.isfinite(stood := stands(ball[None])[0]).all():
            x, y = stood.tolist()
            self._ball(sketch, (x, y))
            if len(spans) == 1:
                said = f"{self.panel.names[0]} = {short(float(place.here[0]))}"
                sketch.text(_name_box((x, y), plot, said)[0], y - 10, said, LABEL, theme.text1, bold=True)
        return sketch

    def _losses_at(self, at: Standing, places: Floats) -> Floats:
        """Return the losses at places; cached until the other weights, the samples or the places change."""
        others = np.array(at.frame.values)
        others[list(at.weights)] = 0
        key = (others.tobytes(), places.tobytes(), *(part.tobytes() for part in at.data))
        return self._losses.get(key, lambda: at.losses(places))

    def _axes(self, box: Box, at: Standing, span: Span) -> tuple[Axes, Floats, Floats] | None:
        """Return the axes in a box with the losses over a span of the weight; None if they are infinite."""
        places = np.linspace(*span, _POINTS)
        found = self._losses_at(at, places[:, None])
        shown, (low, high) = np.isfinite(found), span
        if shown.sum() < 2:
            return None
        most = max(2, min(5, int(box[3] // 26)))
        up = scale_of(np.append(found[shown], 0.0) if found[shown].min() >= 0 else found[shown], most=most, linear=True)
        ticks = scale_of(np.array(span), most=7, linear=True).ticks
        left = gutter(map(tick_text, up.ticks), _LEFT)
        across = Scale(low, high, tuple(tick for tick in ticks if low <= tick <= high))
        return Axes((box[0] + left, box[1] + 8, box[2] - left, box[3] - 28), across, up), places, found

    def _curve(self, sketch: Sketch, box: Box, at: Standing, spans: Sequence[Span], trail: Floats) -> At | None:
        """Draw the loss over one weight: a curve, the tangent at the gradient's place, and the step from there.

        Return a function that maps places to the picture, as `_valley` does.
        """
        theme, self._standing = self.shared.theme, (box, at)
        if (laid := self._axes(box, at, spans[0])) is None:
            sketch.text(box[0], box[1] + 30, "the loss is infinite here", LABEL, theme.text2)
            return None
        axes, places, found = laid
        shown, (low, high) = np.isfinite(found), spans[0]
        axes.rule(sketch, theme)
        axes.foot(sketch, theme, self.panel.names[0])
        sketch.polyline(axes.points(places[shown], found[shown], within=True), theme.text2, 2.0)

        def stands(some: Floats, losses: Floats | None = None) -> Floats:
            height = at.losses(some) if losses is None else losses
            return axes.points(some[:, 0], np.where(np.isfinite(height), height, np.nan), within=True)

        way = trail[(trail >= low) & (trail <= high)].reshape(-1, 1) if trail.size else np.zeros((0, 1))
        _dots(sketch, theme, stands(way, np.interp(way[:, 0], places, found)))
        if at.place.gradient is not None:
            _tangent(sketch, axes, theme, at, stands)
        _lowest(sketch, axes, theme, places, found, float(at.place.here[0]), self.panel.names[0])
        return stands

    def _valley(self, sketch: Sketch, box: Box, at: Standing, spans: Sequence[Span], trail: Floats) -> At:
        """Draw the loss over two weights, the second upwards: isolines, the trail, and the last step."""
        theme, place, names = self.shared.theme, at.place, self.panel.names
        texts = [[tick_text(end) for end in span] for span in spans]
        left = gutter(texts[1], _LEFT)
        x, y, width, height = plot = (box[0] + left, box[1] + 4, box[2] - left, box[3] - 24)
        axes = Axes(plot, *(Scale(*span) for span in spans))
        axes.ground(sketch, theme)

        def stands(some: Floats) -> Floats:
            return axes.points(*some.T)

        lines = [np.linspace(*span, SIDE) for span in spans]
        found = self._losses_at(at, np.stack(np.meshgrid(*lines), axis=-1).reshape(-1, 2)).reshape(SIDE, SIDE)
        corner, cell = np.array(spans)[:, 0], np.diff(spans, axis=1)[:, 0] / (SIDE - 1)
        for number, level in enumerate(levels(found)):
            starts, ends = (stands(corner + part * cell) for part in zero_lines(found - level))
            ink = mixed(theme.text2, theme.panel, 0.85 - 0.6 * number / LEVELS)
            sketch.lines(starts, ends, ink, 1.4 if number == 0 else 1.0)
        axes.ends(sketch, theme, texts[0], texts[1], drop=16.0)
        sketch.text(x + width / 2, y + height + 16, names[0], LABEL, theme.text2, bold=True, anchor="middle")
        sketch.text(x - 7, y + height / 2 + 5, names[1], LABEL, theme.text2, bold=True, anchor="right")

        if len(trail) and axes.contains(*trail.T).any():
            path = stands(trail[axes.contains(*trail.T)])
            sketch.polyline(path, theme.flow, 1.6)
            _dots(sketch, theme, path)
        if place.before is not None and np.isfinite([*place.before, *place.here]).all():
            start, end = stands(np.array([place.before, place.here]))
            sketch.line(start, end, theme.pulse, 2.0)
            _begun(sketch, theme, start)
        elif place.gradient is not None and place.gradient.any():  # the step goes against the gradient
            start = stands(place.here[None])[0]
            way = place.gradient / np.diff(spans, axis=1)[:, 0] * (width, -height)
            sketch.arrow(start, start - 46.0 * way / max(float(np.hypot(*way)), 1e-12), theme.pulse, 2.0)
        return stands

    def _write(self, sketch: Sketch, box: Box, at: Standing) -> None:
        """Write the result of the step in two lines."""
        theme, (x, y, width, height) = self.shared.theme, box
        words: Words = ()
        if at.place.gradient is None:
            words = ((UNKNOWN, theme.text3, False),)
        elif at.place.before is not None:
            first, second, wrong = verdict(at.place, self.panel.names, steepness(at.losses, at.place))
            if measure(first, LABEL) > width:
                first = f"moved by {first.rpartition(' = ')[2]}"
            ink = theme.weight[0] if wrong else theme.text1
            words = (first, theme.text2, False), (second, ink, wrong)
        right, base = x, y + height - _foot(box) + 16
        for row, (line, ink, bold) in enumerate(words):
            left, down = (x, base + _LINE * row) if _foot(box) > 2 * _LINE else (right, base)
            sketch.text(left, down, cut(line, width, bold=bold), LABEL, ink, bold=bold)
            right += measure(line, LABEL, bold) + 16


def _counted(at: Standing) -> str:
    return f"all {len(at.data[0]):,} samples" if len(at.data[0]) > 1 else ""


def _share(at: Standing, span: Span) -> float | None:
    """Return the factor from the sum of all samples' losses to the loss; None if there is no such factor."""
    places = np.linspace(*span, 3)[:, None]
    each = [replace(at, data=(at.data[0][k : k + 1], at.data[1][k : k + 1])) for k in range(len(at.data[0]))]
    whole, total = at.losses(places), np.sum([one.losses(places) for one in each], axis=0)
    k = int(np.argmax(total))  # a loss may be 0 at a place
    with np.errstate(all="ignore"):
        share = whole[k] / total[k]
    return float(share) if np.allclose(whole, share * total, rtol=1e-5, atol=0) else None


def _foot(box: Box) -> float:
    """Return the height of the words about a step: one line in a wide box, else two."""
    return _LINE + 4 if box[2] >= _WIDE_FROM else 2 * _LINE + 4


def rolled(start: Floats, end: Floats, share: float) -> Floats:
    """Return the place of the ball after a share of its time."""
    share = min(1.0, share)
    eased = share * share * (3 - 2 * share)
    with np.errstate(invalid="ignore", over="ignore"):  # NaN and infinity do not roll
        return (1 - eased) * start + eased * end  # at its end it is exact, from any distance


def _dots(sketch: Sketch, theme: Theme, points: Floats) -> None:
    for x, y in points.tolist():
        sketch.disc(x, y, 2.5, theme.text3)


def _begun(sketch: Sketch, theme: Theme, point: Floats) -> None:
    """Mark the start of the last step."""
    x, y = point.tolist()
    sketch.disc(x, y, 5.0, theme.background, stroke=theme.pulse, border=1.8)


def _tangent(sketch: Sketch, axes: Axes, theme: Theme, at: Standing, stands: At) -> None:
    """Draw the tangent with the slope of the gradient, and the step along it."""
    place = at.place
    begin = place.here if place.before is None else place.before
    assert place.gradient is not None
    loss, slope = at.losses(begin[None]), float(place.gradient[0])
    if not np.isfinite([*begin, *loss, slope]).all():
        return
    reach = _TANGENT * (axes.across.high - axes.across.low)
    ends, said = axes.slope(float(begin[0]), float(loss[0]), slope, reach), f"slope {short(slope, signed=True)}"
    ink = hue(theme, said)
    sketch.polyline(ends, ink, 2.0)
    (x, y), wide = min(ends.tolist(), key=lambda end: float(end[1])), measure(said, LABEL, True)
    least, most = axes.box[0] + 6, axes.box[0] + axes.box[2] - wide
    across, down = axes.point(float(begin[0]), float(loss[0]))
    if down + 22 > axes.box[1] + axes.box[3]:  # it is flat: beside its upper end
        across, down = x, y - 15
    left = across + 10 if slope > 0 else across - 10 - wide  # below it and the curve
    if least <= left <= most:
        sketch.text(left, down + 20, said, LABEL, ink, bold=True)
    if place.before is None:
        return
    start, end = stands(np.array([place.before, place.here]))
    if not np.isfinite(end).all():
        end = axes.points(place.here, np.array([axes.up.high]))[0]
    if abs(end[0] - start[0]) > 8:
        sketch.arrow(start, (end[0], start[1]), theme.flow, 1.6)
    sketch.polyline([(end[0], start[1]), end], theme.flow, 1.4, dash=(3, 3))
    _begun(sketch, theme, start)


def _name_box(at: Point, plot: Box, said: str) -> Box:
    """Return the box of the words beside the ball at a point: above the curve, towards the middle of the plot."""
    wide = measure(said, LABEL, True)
    left = at[0] + 12 if at[0] < plot[0] + plot[2] / 2 else at[0] - 12 - wide
    return left, at[1] - 24, wide, 18.0


def _lowest(sketch: Sketch, axes: Axes, theme: Theme, places: Floats, losses: Floats, here: float, name: str) -> None:
    """Mark the lowest loss of a curve that falls and rises again: the vertex of the parabola through three points."""
    low = int(np.nanargmin(losses))
    if not 0 < low < len(losses) - 1 or not np.isfinite(losses[low - 1 : low + 2]).all():
        return
    before, least, after = losses[low - 1 : low + 2].tolist()
    bend, slope = before - 2 * least + after, (after - before) / 2
    at, loss = (places[low], least) if bend <= 0 else (places[low] - slope / bend * (places[1] - places[0]),
                                                       least - slope**2 / (2 * bend))  # fmt: skip
    x, y = axes.point(float(at), float(loss))
    sketch.disc(x, y, 3.0, theme.text3)
    said = f"lowest loss {loss_text(max(loss, 0.0))}, at {name} = {short(float(at))}"
    ball = axes.point(here, float(np.interp(here, places, losses)))
    wide, taken = measure(said, LABEL), _name_box(ball, axes.box, f"{name} = {short(here)}")
    if wide > 0.45 * axes.box[2]:  # its words would lie on the curve
        return
    left = min(max(x - wide / 2, axes.box[0]), axes.box[0] + axes.box[2] - wide)
    up = next((up for up in (20.0, 38.0, 56.0) if not meet((left, y - up - 14, wide, 18.0), taken)), 74.0)
    sketch.text(left, y - up, said, LABEL, theme.text3)


def levels(losses: Floats) -> Floats:
    """Return the rising losses of the isolines, closer together at low losses."""
    finite = losses[np.isfinite(losses)]
    if not finite.size or finite.min() == finite.max():
        return np.zeros(0)
    low, high = float(finite.min()), float(finite.max())
    return low + (high - low) * ((np.arange(LEVELS) + 0.5) / LEVELS) ** 2


# ---- Places of the weights, present and earlier, and the loss at other places.

INNER = 0.92
"""Share of half a span beyond which the span grows."""
_DOUBLINGS = 120
_LAST_DIGITS = 64
"""Machine epsilons of a difference of two losses, or a move, that is only rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class WeightPlace:
    """The place of some weights, and the last step there."""

    here: Floats
    before: Floats | None = None  # before that step; None if unknown, or changed by hand since
    gradient: Floats | None = None  # the gradient there; None if not computed
    lr: float = float("nan")  # learning rate of that step
    fineness: float = float(np.finfo(np.float64).eps)  # machine epsilon of the network's dtype


def place_of(frame: Frame, weights: Sequence[int]) -> WeightPlace:
    """Return the place of the weights at flat indices `weights`, in a frame between steps."""
    own = np.array(weights)
    here = np.asarray(frame.values[own], np.float64)
    if frame.edited or frame.step == 0 or not frame.computed[own].all():
        return WeightPlace(here)
    update, gradient = (np.asarray(flat[own], np.float64) for flat in (frame.update, frame.gradient))
    with np.errstate(invalid="ignore"):  # NaN minus an update is NaN
        before = here - update
    return WeightPlace(here, before, gradient, frame.lr, float(np.finfo(frame.values.dtype).eps))


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """A network with the numbers of a frame, a few of its weights at a place, and the data of its loss."""

    source: Source
    frame: Frame
    place: WeightPlace
    weights: Sequence[int]
    data: Data

    def losses(self, places: Floats) -> Floats:
        """Return the losses (N,) at places (N, n) of the weights; infinite beyond the dtype."""
        changed, found = np.array(self.frame.values), np.empty(len(places))
        for number, place in enumerate(places):
            changed[list(self.weights)] = place
            found[number] = self.source.evaluate(*self.data, changed)
        return found


def doubled(span: Span, times: int) -> Span:
    """Return `span`, doubled so often about its middle."""
    middle, half = (span[0] + span[1]) / 2, (span[1] - span[0]) / 2
    return middle - half * 2.0**times, middle + half * 2.0**times


def grown(span: Span, places: ArrayLike) -> Span:
    """Return `span`, doubled about its middle until all finite places are well inside."""
    middle, half = (span[0] + span[1]) / 2, (span[1] - span[0]) / 2
    found = np.asarray(places, np.float64).ravel()
    found = found[np.isfinite(found)]
    far = float(np.abs(found - middle).max(initial=0.0)) / INNER
    times = 0 if far <= half else min(int(np.ceil(np.log2(far / half))), _DOUBLINGS)
    return doubled(span, times)


def steepness(losses_at: At, place: WeightPlace) -> tuple[float, float, float]:
    """Return the loss before the step, after it, and the rate above which it would have increased (or NaN).

    The loss along the step is taken as a parabola through its two ends and its middle, which is exact for a squared
    error of sums.
    """
    assert place.before is not None
    start, half, end = losses_at(np.array([place.before, (place.before + place.here) / 2, place.here])).tolist()
    slope, bend = -3 * start + 4 * half - end, 2 * start - 4 * half + 2 * end
    with np.errstate(all="ignore"):
        limit = float(place.lr * np.divide(-slope, bend)) if bend > 0 and slope < 0 else float("nan")
    return float(start), float(end), limit


def verdict(place: WeightPlace, names: Sequence[str], told: tuple[float, float, float]) -> tuple[str, str, bool]:
    """Return two lines about the last step, and whether it went wrong."""
    assert place.before is not None
    assert place.gradient is not None
    start, end, limit = told
    step = place.here - place.before
    if not np.isfinite([start, end]).all():
        return "the loss is infinite", "Press R and try a smaller rate", True
    if len(names) == 1:
        slope, moved = short(float(place.gradient[0]), signed=True), short(float(step[0]), signed=True)
        asked = -place.lr * place.gradient[0]
        plain = bool(np.isclose(asked, step[0], rtol=1e-2, atol=1e-12))
        first = f"\N{MINUS SIGN}{rate_text(place.lr)} × slope {slope} = {moved}" if plain else f"moved by {moved}"
    else:
        moves = ", ".join(f"{name} {short(float(by), signed=True)}" for name, by in zip(names, step, strict=True))
        first = f"moved by {moves}"
    if _is_lost_in_the_last_digits(place, step, start, end):
        return first, "too small to change the loss" if step.any() else "it does not move", False
    if end > start:
        above = f"overshoots: lr is above {rate_text(float(f'{limit:.2g}'))}"
        return first, above if np.isfinite(limit) else RISES, True
    if np.isfinite(limit) and place.lr > limit / 2 * 1.001:
        return first, "downhill, past the minimum", False
    return first, "downhill", False


def _is_lost_in_the_last_digits(place: WeightPlace, step: Floats, start: float, end: float) -> bool:
    """Return whether the change of the loss in a step is within rounding."""
    few = _LAST_DIGITS * place.fineness
    return bool(abs(end - start) <= few * max(abs(start), abs(end)) or (abs(step) <= few * abs(place.here)).all())


# ---- `Trail`: places of a few weights at the steps seen.

KEPT = 400
"""Most steps that are stored."""


class Trail:
    """Earlier places of weights. It grows with the frames shown; a step that is done again replaces the later ones."""

    def __init__(self) -> None:
        self._places: dict[int, Floats] = {}

    def add(self, step: int, place: WeightPlace) -> None:
        """Add the weights after `step`, and before it if known."""
        if place.before is not None:
            self._store(step - 1, place.before, near=True)
        self._store(step, place.here)

    def _store(self, step: int, place: Floats, *, near: bool = False) -> None:
        old = self._places.get(step)
        if old is not None and (np.allclose(old, place, rtol=1e-5) if near else np.array_equal(old, place)):
            return
        if old is not None:  # another branch from here on
            self._places = {at: kept for at, kept in self._places.items() if at < step}
        self._places[step] = place
        if len(self._places) > KEPT:
            steps = sorted(self._places)
            self._places = {at: self._places[at] for at in [*steps[:-1:2], steps[-1]]}

    @property
    def begins(self) -> int:
        """The first known step."""
        return min(self._places)

    def add_record(self, steps: Sequence[int], places: Floats) -> None:
        """Add places (N, n) after some steps."""
        self._places = dict(zip(steps, places, strict=True)) | self._places

    def until(self, step: int) -> Floats:
        """Return the places up to `step`, in order, (N, n)."""
        found = [self._places[at] for at in sorted(self._places) if at <= step]
        return np.array(found) if found else np.zeros((0, 0))
