"""What stands in the side column below the switch: swatches, where the deltas come from, figures, the legend."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame
from ...run.questions.ranges import Range
from ..draw.maps import get_map
from ..draw.places import GAP, Box
from ..draw.sketch import Sketch
from ..panels.inner import Inner
from .bench import Bench
from .column import LEGEND, column
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
from .told import Told


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
