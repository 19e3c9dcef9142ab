"""The drawer of a model's tree beside the tree of its gradients; inside an opened step they come in two passes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...run.frame import Frame
from ...run.moment import Moment
from ...run.panels import GradientTree
from ...run.ranges import Range, extent
from ..draw.maps import Colormap, get_map
from ..draw.places import LABEL, Box
from ..draw.sketch import Sketch
from ..draw.text import loss_text, short
from ..draw.theme import mixed
from .drawer import Drawer, Ground, cut, sentence, title_of
from .inner import Inner
from .tree_rows import CELL, LINE, Row, deltas_of, fits, reduced, rows_of
from .wording import BEFORE

Floats = NDArray[np.float64]
_HEAD, _LARGEST = 40.0, 330.0
_MODEL, _GRADIENT, _WIDE = 98.0, 184.0, 78.0
"""Where the numbers begin, and how wide they are at most, in a column."""
PASSES = {3: "first pass: along the chain", 4: "second pass: the leaves"}


class TreeDrawer(Drawer[GradientTree]):
    """Numbers are small squares: of the model in the colours of weights, of the gradients in theirs."""

    name = "model"

    def __init__(self, panel: GradientTree, ground: Ground) -> None:
        super().__init__(panel, ground)
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
        return [self._tree(box, rows, frame, note if known else "no gradients yet", frame.loss if known else np.nan)]

    def inside(self, inner: Inner, box: Box) -> Sequence[Sketch]:
        """What has come of an opened step: first along the chain, then the leaves."""
        stages = inner.source.stages
        if not fits(stages):
            return ()
        one = len(inner.data[0]) == 1
        rows = rows_of(stages, inner.frame, inner.deltas, inputs=inner.frame.activations if one else None)
        note = PASSES.get(inner.phase, f"in step {inner.frame.step:,}")
        return [self._tree(box, rows, inner.frame, note, inner.frame.loss, (inner.phase, inner.stage), one=one)]

    def _tree(
        self, box: Box, rows: Sequence[Row], frame: Frame, note: str, loss: float, now: tuple[int, str] = (-1, ""),
        *, one: bool = False,
    ) -> Sketch:  # fmt: skip
        sketch, theme, (x, y, width, height) = Sketch(), self.ground.theme, box
        title_of(sketch, box, theme, self.panel.title, note)
        scales = self._scales(frame, rows)
        sketch.text(x + _MODEL, y + 33, f"±{short(scales[0].high)}", LABEL, theme.text3)
        if any(row.gradient is not None for row in rows):
            sketch.text(x + _GRADIENT, y + 33, f"±{short(scales[1].high)}, log", LABEL, theme.text3)
            sketch.text(x + width, y + 33, "norm", LABEL, theme.text3, anchor="right")
        top, spine = y + _HEAD, []
        for number, row in enumerate(rows):
            if top + row.height > y + height + 0.5:
                sketch.text(x, top + 12, f"and {len(rows) - number} more lines", LABEL, theme.text3)
                break
            if now[0] in (3, 4) and row.stage == now[1] and row.deep == (now[0] == 4):
                sketch.rect(
                    x - 4, top, width + 8, row.height, fill=mixed(theme.gradient[3], theme.background, 0.3), radius=4
                )
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
        return Range.symmetric(extent(np.concatenate(weights))), Range.symmetric(reach, "symlog")

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
        if row.values is not None:
            self._cells(sketch, (x + _MODEL, y, _WIDE, height), row.values, scales[0], get_map("weight", theme))
        if row.gradient is not None:
            colours = get_map("gradient", theme)
            self._cells(sketch, (x + _GRADIENT, y, _WIDE, height), row.gradient, scales[1], colours)
            if row.factors is not None and one:
                self._factors(sketch, (x + _GRADIENT, y, _WIDE, height), row, scales[1], colours)
            size = short(float(np.linalg.norm(row.gradient[np.isfinite(row.gradient)])))
            sketch.text(x + width, middle + 4.5, size, LABEL, theme.pulse, anchor="right")
        elif row.shape != (0, 0):
            left, top, cell, tall = _place((x + _GRADIENT, y, _WIDE, height), row.shape)
            count = min(row.shape[1], 40), min(row.shape[0], 40)
            sketch.rect(left, top, cell * count[0], tall * count[1], stroke=theme.border)
        # what is not known yet is an empty frame: a zero would be a number

    def _cells(self, sketch: Sketch, box: Box, numbers: Floats, scale: Range, colours: Colormap) -> None:
        shown = reduced(numbers)
        left, top, cell, tall = _place(box, shown.shape)
        row, column = np.indices(shown.shape)
        at = np.stack(
            [left + cell * column, top + tall * row, np.full(shown.shape, cell), np.full(shown.shape, tall)], -1
        )
        inks = colours(2 * scale.unit(np.nan_to_num(shown)) - 1)
        sketch.cells(at.reshape(-1, 4), inks.reshape(-1, 3))
        high, wide = shown.shape
        sketch.rect(left, top, cell * wide, tall * high, stroke=self.ground.theme.border)

    def _factors(self, sketch: Sketch, box: Box, row: Row, scale: Range, colours: Colormap) -> None:
        """The two rows of numbers whose products the leaf is: left of it the derivatives, above it the inputs."""
        assert row.factors is not None
        theme = self.ground.theme
        shape = reduced(np.zeros(row.shape)).shape
        left, top, cell, tall = _place(box, shape)
        delta = reduced(row.factors[0][:, None])[:, 0]
        entering = reduced(row.factors[1][None])[0]
        reach = extent(entering)
        for k, number in enumerate(delta.tolist()):
            ink = colours(2 * scale.unit(number) - 1)
            sketch.rect(left - 7, top + tall * k, 4, tall, fill=ink)
        grey = get_map("activation", theme)
        for k, number in enumerate(entering.tolist()):
            sketch.rect(left + cell * k, top - 6, cell, 4, fill=grey(abs(number) / reach))
        sketch.lines([(left - 8, top - 1.5)], [(left + cell * len(entering), top - 1.5)], theme.border, 1.0)


def _place(box: Box, shape: tuple[int, ...]) -> tuple[float, float, float, float]:
    """Left, top, width and height of the cells of some numbers (rows, columns) in a line."""
    x, y, width, height = box
    rows, columns = min(shape[0], 40), min(shape[1], 40)
    cell = min(9.0, width / max(columns, 1))
    if rows == 1:
        return x, y + LINE / 2 - 4.5, cell, 9.0
    tall = min(CELL, (height - 9.0) / rows)
    return x, y + 7.0, cell, tall
