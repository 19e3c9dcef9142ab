"""The side column of an opened step: whose numbers they are, where deltas come from, what panels show, and figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...run.core.frame import Frame
from ...run.questions.ranges import Range
from ..ink.maps import displayed, get_map
from ..ink.overlay import wrapped
from ..ink.places import GAP, LABEL, TITLE
from ..ink.sketch import Box, Sketch
from ..ink.text import measure, number, short
from ..ink.theme import Theme, mixed
from .saying import delta_text
from .told import Layer, Output, Spread, Told
from .walk import BINS

if TYPE_CHECKING:
    from ..workbench import Workbench

SWITCH, LEGEND = 36.0, 66.0
"""Their heights."""
_SWATCHES, _ROW, _GAP = 62.0, 23.0, 20.0


def switch(box: Box, theme: Theme, noun: str, *, trial: bool, colour: ArrayLike | None = None) -> Sketch:
    """The switch between one sample and the whole batch; `colour` is the sample's, where it has one."""
    sketch, (x, y, wide, high) = Sketch(), box
    sketch.rect(*box, radius=6, fill=theme.panel, stroke=theme.border)
    size = TITLE if high >= 32 else LABEL
    for side, whole in enumerate((f"this {noun}", "whole batch")):
        left, half, on = x + side * wide / 2, wide / 2, trial == (side == 0)
        if on:
            fill = mixed(theme.gradient[3], theme.panel, 0.5)
            sketch.rect(left + 3, y + 3, half - 6, high - 6, radius=4, fill=fill, stroke=theme.pulse)
        dot = 22.0 if colour is not None and side == 0 and half > 110 else 0.0
        words = whole if measure(whole, size, on) + dot <= half - 8 else whole.split()[-1]
        middle, ink = left + half / 2, theme.text1 if on else theme.text3
        if dot and colour is not None:
            edge = middle - (measure(words, size, on) + dot) / 2
            sketch.rect(edge, y + high / 2 - 7, 14, 14, radius=4, fill=displayed(colour))
        sketch.text(middle + dot / 2, y + high / 2 + 0.36 * size, words, size, ink, bold=on, anchor="middle")
        sketch.spot((left, y, half, high), "switch", side, words=whole)
    return sketch


def swatches(box: Box, theme: Theme, colours: Sequence[ArrayLike | None], adding: int) -> Sketch:
    """Input, output and target of a sample that is a colour; an empty one stands for what has not come yet."""
    sketch, (x, y, wide, high) = Sketch(), box
    own = (wide - 16) / 3
    names = f"number {adding:,}" if adding else "input", "output", "target"
    for k, (name, colour) in enumerate(zip(names, colours, strict=True)):
        left, fill = x + k * (own + 8), None if colour is None else displayed(colour)
        sketch.text(left, y + 11, name, LABEL, theme.text2)
        sketch.rect(left, y + 18, own, high - 18, radius=5, fill=fill, stroke=theme.flow)
    return sketch


def table(box: Box, theme: Theme, rows: Sequence[tuple[str, Sequence[str]]], names: Sequence[str]) -> Sketch:
    """Where the deltas of the outputs come from, row by row; the last row is what comes of them."""
    sketch, (x, y, wide, _) = Sketch(), box
    sketch.text(x, y + 14, "where δ comes from", TITLE, theme.text1, bold=True)
    step = min(62.0, (wide - 108) / max(1, len(names)))
    ends = [x + wide - step * (len(names) - 1 - k) for k in range(len(names))]
    for k, (words, cells) in enumerate((("", names), *rows)):
        base, last, head = y + 38 + _ROW * k, k == len(rows), k == 0
        if last:
            sketch.line((x, base - 14), (x + wide, base - 14), theme.border, 1.0)
        base += 1 if k and not last else 4 if last else 0
        sketch.text(x, base, words, LABEL, theme.text1 if last else theme.text2, bold=last)
        for end, cell in zip(ends, cells, strict=True):
            ink = theme.pulse if last else theme.text2
            sketch.text(end, base, cell, LABEL, ink, bold=last or head, anchor="right")
    return sketch


# ---- Figures: all terms of one weight's gradient, the outputs, gradients by layer, and the optimiser's rule.

HISTOGRAM = 150.0
_BARS = 74.0
_WORDS = 16.0  # of those above the bars, which hold the gradient
_LAYER = 22.0
DECADES = 4.0
"""Below the largest gradient, in which the bars of the layers are drawn."""


def histogram(box: Box, theme: Theme, spread: Spread) -> Sketch:
    """The terms as bars in the colours of gradients."""
    sketch, (x, y, wide, _) = Sketch(), box
    middles = spread.reach * ((np.arange(BINS) + 0.5) / BINS * 2 - 1)
    fills = get_map("gradient", theme)(2 * np.asarray(Range.symmetric(spread.reach, "symlog").unit(middles)) - 1)
    sketch.text(x, y + 14, "the same weight, whole batch", TITLE, theme.text1, bold=True)
    said = f"δ · x of {spread.words}; their {spread.joined} is its g"
    sketch.text(x, y + 34, said if measure(said, LABEL) <= wide else f"δ · x of {spread.words}", LABEL, theme.text3)
    base, step = y + 48 + _BARS, wide / BINS
    for k, high in enumerate((_BARS - _WORDS) * spread.counts / spread.counts.max()):
        if high:
            sketch.rect(x + k * step, base - high, step - 1.5, high, fill=tuple(float(c) for c in fills[k]))
    sketch.line((x, base), (x + wide, base), theme.flow, 1.0)
    at = x + wide * _share(spread.gradient, spread.reach)
    if abs(spread.gradient) <= spread.reach:  # a sum may lie beyond its terms
        sketch.line((at, y + 44), (at, base), theme.selection, 2.0)
    words = f"{spread.joined} {delta_text(spread.gradient)}"
    right = at + 8 + measure(words, LABEL, True) <= x + wide
    sketch.text(at + (8 if right else -8), y + 56, words, LABEL, theme.text1, bold=True,
                anchor="left" if right else "right")  # fmt: skip
    ends = short(spread.reach)
    own = 0.5 * wide if spread.own is None else wide * _share(spread.own, spread.reach)
    room = measure(f"+{ends}", LABEL) + 7  # the scale goes as far both ways: the end below the mark needs no number
    if own > room:
        sketch.text(x, base + 16, f"\N{MINUS SIGN}{ends}", LABEL, theme.text3)
    if own < wide - room:
        sketch.text(x + wide, base + 16, f"+{ends}", LABEL, theme.text3, anchor="right")
    if spread.own is not None:
        _own(sketch, (x, base, wide, 0.0), theme, spread, measure(ends, LABEL) + 20)
    return sketch


def _share(value: float, reach: float) -> float:
    return float(np.clip(0.5 + 0.5 * value / reach, 0.0, 1.0))


def _own(sketch: Sketch, box: Box, theme: Theme, spread: Spread, side: float) -> None:
    """A violet mark below the axis where the one sample's term is; its words where there is room between the ends."""
    x, base, wide, _ = box
    assert spread.own is not None
    at = x + wide * _share(spread.own, spread.reach)
    sketch.polygon([(at, base + 2), (at + 5, base + 9), (at - 5, base + 9)], theme.pulse)
    words = f"this {spread.noun} {delta_text(spread.own)}"
    half = measure(words, LABEL) / 2
    middle = min(max(at, x + half), x + wide - half)
    down = 16 if x + side <= middle - half and middle + half <= x + wide - side else 33
    sketch.text(middle, base + down + (6 if down == 16 else 0), words, LABEL, theme.pulse, anchor="middle")


def output_rows(box: Box, theme: Theme, outputs: Sequence[Output], *, mean: bool) -> Sketch:
    """A line for each output: its number, and its delta as a bar to either side; `mean`: over a batch."""
    sketch, (x, y, wide, _) = Sketch(), box
    sketch.text(x, y + 14, "where δ comes from", TITLE, theme.text1, bold=True)
    sketch.text(x + 110, y + 36, "mean output" if mean else "output", LABEL, theme.text3, anchor="right")
    sketch.text(x + wide, y + 36, "mean δ" if mean else "δ", LABEL, theme.text3, anchor="right")
    most = max((abs(o.delta) for o in outputs if np.isfinite(o.delta)), default=0.0)
    left, right = x + 124, x + wide - 70
    middle = (left + right) / 2
    sketch.line((middle, y + 42), (middle, y + 44 + 20 * len(outputs)), theme.border, 1.0)
    for row, output in enumerate(outputs):
        line = y + 44 + 20 * row + 14
        name = f"{output.name}, wanted" if output.wanted else output.name
        ink = theme.text1 if output.wanted else theme.text2
        sketch.text(x, line, _fitting(name, 62), LABEL, ink, bold=output.wanted)
        if output.value == output.value:
            sketch.text(x + 110, line, number(output.value, 2), LABEL, theme.text1, anchor="right")
        if output.delta != output.delta:
            continue
        end = middle + (right - left) / 2 * (output.delta / most if most else 0.0)
        colour = theme.gradient[3] if output.delta > 0 else theme.gradient[1]
        if abs(end - middle) >= 0.5:
            sketch.rect(min(middle, end), line - 10, abs(end - middle), 11, radius=1.5, fill=colour)
        sketch.text(x + wide, line, delta_text(output.delta), LABEL, theme.pulse, anchor="right")
    return sketch


def layer_bars(box: Box, theme: Theme, layers: Sequence[Layer]) -> Sketch:
    """A line for each layer: its name, a bar, and its largest gradient; a frame alone where that has not come yet."""
    sketch, (x, y, wide, _) = Sketch(), box
    sketch.text(x, y + 14, "gradient by layer", TITLE, theme.text1, bold=True)
    sketch.text(x + wide, y + 14, "the largest |g|", LABEL, theme.text3, anchor="right")
    found = [layer.largest for layer in layers if layer.largest > 0 and np.isfinite(layer.largest)]
    most = max(found, default=1.0)
    left = x + min(max((measure(layer.name, LABEL) for layer in layers), default=0.0) + 12, 0.4 * wide)
    right = x + wide - 66
    for row, layer in enumerate(layers):
        top = y + 30 + _LAYER * row
        sketch.text(x, top + 13, _fitting(layer.name, left - x - 8), LABEL, theme.text2)
        sketch.rect(left, top + 3, right - left, 11, radius=2, stroke=theme.border)
        if layer.largest != layer.largest:
            continue
        share = 0.0 if layer.largest <= 0 else max(0.0, 1 + np.log10(layer.largest / most) / DECADES)
        if share:
            fill = mixed(theme.pulse, theme.panel, 0.8)
            sketch.rect(left, top + 3, max(2.0, share * (right - left)), 11, radius=2, fill=fill)
        sketch.text(x + wide, top + 13, short(layer.largest), LABEL, theme.text1, anchor="right")
    sketch.text(left, y + 30 + _LAYER * len(layers) + 12, f"log, {DECADES:.0f} decades", LABEL, theme.text3)
    return sketch


def _fitting(name: str, width: float) -> str:
    """The end of a name that has no room."""
    while measure(name, LABEL) > width and len(name) > 4:
        name = f"\N{HORIZONTAL ELLIPSIS}{name[2:]}"
    return name


def rule_lines(box: Box, theme: Theme, optimiser: str, formulas: Sequence[tuple[str, str]]) -> Sketch | None:
    """The optimiser's rule line by line, in letters and with its numbers; None where there is no room for all of it."""
    sketch, (x, y, wide, high) = Sketch(), box
    sketch.text(x, y + 14, f"{optimiser}, line by line", TITLE, theme.text1, bold=True)
    down = y + 36
    for letters, numbers in formulas:
        for text, colour in ((letters, theme.text3), (numbers, theme.text1)):
            for line in wrapped(text, wide):
                sketch.text(x, down, line, LABEL, colour)
                down += 17
        down += 5
    return sketch if down <= y + high else None


# ---- All of it, one below the other.


def below_switch(bench: Workbench, box: Box, told: Told, frame: Frame, about: str) -> list[Sketch]:
    """What `box` has room for, and the legend at its foot; `about` says whose numbers the cubes show."""
    (x, y, width, high), theme, sample = box, bench.theme, bench.subject.sample
    foot, found = y + high - LEGEND, list[Sketch]()
    if sample.colours and bench.subject.probe is not None and y + _SWATCHES + 18 <= foot:
        last = bench.subject.stages[-1].name
        output = told.frame.activations[last] if told.reached[last].all() else None
        colours = (bench.subject.probe, output, sample.wanted) if told.sample is None else told.sample
        found.append(swatches((x, y, width, _SWATCHES), theme, colours, told.adding))
        y += _SWATCHES + _GAP
    rows = len(told.table)
    if rows and y + 24 + _ROW * (rows + 1) <= foot:
        found.append(table((x, y, width, 0.0), theme, told.table, sample.outputs))
        y += 27 + _ROW * (rows + 1) + _GAP
    if len(told.data[0]):
        own, y = bench.side.inside(told, (x, y, width, foot - y))
        found += own
    found += _figures(bench, told, (x, y, width, foot - y))
    if y <= foot + 8:
        found.append(bench.strip.legend((x, foot + 4, width, LEGEND), frame, about))
    return found


def _figures(bench: Workbench, told: Told, box: Box) -> list[Sketch]:
    theme, (x, y, width, high), found = bench.theme, box, list[Sketch]()
    if told.outputs and high >= (own := 54.0 + 20.0 * len(told.outputs)):
        found.append(output_rows((x, y, width, high), theme, told.outputs, mean=told.mean))
        y, high = y + own + GAP / 2, high - own - GAP / 2
    if told.layers and high >= (own := 44.0 + _LAYER * len(told.layers)):
        found.append(layer_bars((x, y, width, high), theme, told.layers))
        y, high = y + own + GAP / 2, high - own - GAP / 2
    facts = bench.subject.source.facts
    if told.rule and facts is not None:
        lines = [(f.letters, "".join(word.text for word in f.numbers).strip()) for f in told.rule]
        for some in (lines, lines[:-1]):  # the last one stands below the cubes too
            rule = rule_lines((x, y, width, high), theme, facts.optimizer, some)
            if rule is not None:
                return [*found, rule]
    if told.spread is not None and high >= HISTOGRAM:
        found.append(histogram((x, y, width, high), theme, told.spread))
    return found
