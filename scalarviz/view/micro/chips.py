"""Deltas as chips under the outputs of a single layer, each with the line by which it came back from the output."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..ink.places import CHANNEL, LABEL
from ..ink.sketch import Box, Sketch
from ..ink.text import exponent, measure, number
from ..ink.theme import Theme, mixed
from ..notes.layer import CHIP, Rows

Floats = NDArray[np.floating]
DOWN, HIGH = 34.0, 26.0
"""From the middle of a row's chips to that of its delta, and how high that is; less where rows are close."""
_LEAST = 16.0


def delta_text(value: float) -> str:
    """A delta or a gradient as it stands on a chip: four decimals, or its exponent where they would say nothing."""
    size = abs(value)
    if size == 0 or not np.isfinite(size):
        return number(value, 4)
    return number(value, 4, signed=True) if 0.001 <= size < 10 else exponent(value, signed=True)


def delta_boxes(rows: Rows, scene: Box) -> list[Box] | None:
    """Where the chips stand, row by row; None where rows are too close for them, or there are no chips at all."""
    if not rows.columns or len(rows.columns) < 2:
        return None
    levels = np.sort(rows.anchors[:, 1])
    apart = float(np.diff(levels).min()) if len(levels) > 1 else 2 * DOWN
    high = min(HIGH, apart - CHIP[1] - 7)
    down = DOWN if apart >= 2 * DOWN else CHIP[1] / 2 + 2 + high / 2
    left, right = 12.0, rows.at.output - 14
    if high < _LEAST or levels[-1] + down + high / 2 > scene[1] + scene[3] + 60:
        return None
    return [(float(x + left), float(y + down - high / 2), float(right - left), float(high)) for x, y in rows.anchors]


def delta_chips(rows: Rows, boxes: list[Box], theme: Theme, deltas: Floats, *, mean: bool) -> Sketch:
    """The chips of the deltas that have come (NaN: not yet).

    Parameters
    ----------
    mean : bool
        Whether each is the mean over a batch.
    """
    sketch = Sketch()
    for row, (box, delta) in enumerate(zip(boxes, deltas, strict=True)):
        if delta != delta:
            continue
        x, y, wide, high = box
        if not mean:
            x, wide = x + 14, wide - 14
        ax, ay = (float(v) for v in rows.anchors[row])
        turn = ax + rows.at.output
        middle = y + high / 2
        sketch.line((turn, ay + CHIP[1] / 2), (turn, middle), theme.pulse, 1.4)
        sketch.arrow((turn, middle), (x + wide, middle), theme.pulse, 1.4)
        fill = mixed(theme.gradient[3], theme.panel, 0.3)
        sketch.rect(x, y, wide, high, radius=6, fill=fill, stroke=theme.pulse, border=1.6)
        words = f"{'mean δ' if mean else 'δ'} {delta_text(float(delta))}"
        size = CHANNEL if measure(words, CHANNEL, True) <= wide - 8 and high >= 22 else LABEL
        if measure(words, size, True) > wide - 6:
            words = words.removeprefix("mean ")
        sketch.text(x + wide / 2, y + high / 2 + 5.2, words, size, theme.text1, bold=True, anchor="middle")
    return sketch


def tails(boxes: list[Box], theme: Theme, ends: Floats, *, mean: bool) -> Sketch:
    """The lines from the deltas to their rows of cubes, as far as they have come: `ends` (R, 2), NaN for not at all."""
    sketch = Sketch()
    for (x, y, _, high), end in zip(boxes, ends, strict=True):
        if np.isfinite(end).all():
            sketch.polyline(
                [(x + (0 if mean else 14), y + high / 2), end], mixed(theme.pulse, theme.background, 0.8), 2.2
            )
    return sketch
