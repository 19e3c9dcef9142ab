"""The drawer of a histogram: bars over the numbers of one tensor or of all, and what they are in figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Tensor
from ...run.panels import Histogram
from ...run.questions.ranges import extent
from ...run.source import Moment
from ..ink.axes import Axes, Scale
from ..ink.places import LABEL
from ..ink.sketch import Box, Sketch
from ..ink.text import MINUS, short
from ..ink.theme import Theme
from .drawer import Drawer, Ground, cut, title_of

BINS = 40
_TOP, _BELOW, _LINE = 26.0, 20.0, 19.0


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """The numbers of one tensor, counted."""

    counts: NDArray[np.int64]  # (BINS,) from `-reach` to `reach`; what lies beyond is in the outermost
    reach: float
    beyond: int  # how many lie beyond
    lines: tuple[str, ...]  # mean and spread, least and most, zeros, what is no number


def counted(numbers: NDArray[np.floating]) -> Counted:
    """Count some numbers (N,), N at least 1."""
    finite = np.isfinite(numbers)
    whole = bool(finite.all())
    real = numbers if whole else numbers[finite]
    reach = extent(real)
    clipped = np.clip(real, -reach, reach)
    counts, _ = np.histogram(clipped / clipped.dtype.type(reach), BINS, (-1.0, 1.0))  # 2 * reach may be infinite
    beyond = int(np.count_nonzero(clipped != real))
    lines = []
    if real.size:
        with np.errstate(over="ignore", invalid="ignore"):  # squares of 1e300
            mean, spread = float(real.mean(dtype=np.float64)), float(real.std(dtype=np.float64))
        lines.append(f"mean {short(mean, signed=True)}  ·  deviation {short(spread)}")
        lines.append(f"least {short(float(real.min()), signed=True)}  ·  most {short(float(real.max()), signed=True)}")
    zeros = int(np.count_nonzero(real == 0.0))
    if zeros:
        lines.append(f"{zeros:,} zero{'' if zeros == 1 else 's'} ({_share(zeros, numbers.size)})")
    if not whole:
        lines.append(f"{numbers.size - real.size:,} NaN or infinite")
    return Counted(counts, reach, beyond, tuple(lines))


def _share(part: int, whole: int) -> str:
    percent = 100 * part / whole
    return f"{percent:.0f} %" if percent >= 10 or part == whole else f"{percent:.2g} %"


class HistogramDrawer(Drawer[Histogram]):
    """Of the tensor that the pointer is over; it answers as soon as that is another."""

    name = "histogram"
    height, most, least = 220.0, 300.0, 140.0

    def __init__(self, panel: Histogram, ground: Ground) -> None:
        super().__init__(panel, ground)
        self._counted: Counted | None = None
        self._values: object = None
        self._shown: str | None = None

    @property
    def moving(self) -> bool:
        """Whether the pointer is over another tensor than the one that is drawn."""
        return self._name != self._shown

    @property
    def _tensor(self) -> Tensor | None:
        at = self.ground.pointed
        if at is None:
            return None
        return next((t for t in self.ground.subject.tensors if t.start <= at < t.start + t.size), None)

    @property
    def _name(self) -> str:
        tensor = self._tensor
        return "" if tensor is None else tensor.name

    def draw(self, moment: Moment, box: Box, seconds: float | None) -> Sequence[Sketch]:
        """Of the tensor that is pointed at."""
        tensor, name, values, found = self._tensor, self._name, moment.frame.values, self._counted
        numbers = values if tensor is None else values[tensor.span]
        if found is None or values is not self._values or name != self._shown:
            found = counted(numbers)
        self._counted, self._values, self._shown = found, values, name
        return [histogram(box, self.ground.theme, name or self.panel.label, numbers.size, found)]


def histogram(box: Box, theme: Theme, title: str, count: int, of: Counted) -> Sketch:
    """Bars, negative and positive in the colours that weights have, ends, and lines below as far as there is room."""
    sketch, (x, y, width, height) = Sketch(), box
    title_of(sketch, box, theme, title, f"{count:,} number{'' if count == 1 else 's'}")
    room = int(max(0.0, height - _TOP - _BELOW - 60.0) / _LINE)
    lines = of.lines[:room]
    high, step, middle = height - _TOP - _BELOW - _LINE * len(lines), width / BINS, x + width / 2
    base, largest = y + _TOP + high, max(float(of.counts.max()), 1.0)
    axes = Axes((x, y + _TOP, width, high), Scale(0.0, BINS), Scale(0.0, largest))
    for k, (left, top) in enumerate(axes.points(np.arange(float(BINS)), of.counts.astype(float)).tolist()):
        if of.counts[k]:
            tall = max(1.0, base - top)
            fill = theme.weight[1] if k < BINS // 2 else theme.weight[3]
            sketch.rect(left, base - tall, step - 1.0, tall, fill=fill)
    sketch.line((x, base), (x + width, base), theme.flow, 1.0)
    sketch.line((middle, base), (middle, base + 4), theme.flow, 1.0)
    axes.ends(sketch, theme, (MINUS + short(of.reach), "+" + short(of.reach)), drop=16.0)
    sketch.text(middle, base + 16, "0", LABEL, theme.text3, anchor="middle")
    if of.beyond:
        sketch.text(x + width, y + _TOP + 4, f"{of.beyond:,} beyond", LABEL, theme.text3, anchor="right")
    for k, line in enumerate(lines):
        sketch.text(x, base + _BELOW + 14 + _LINE * k, cut(line, width), LABEL, theme.text2)
    return sketch
