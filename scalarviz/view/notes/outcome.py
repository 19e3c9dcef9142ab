"""What becomes of the one sample in a deeper network: input, output and target side by side, and its own loss.

A single layer says this in the flow around its cubes; in a chain of plates the numbers have no place, so they stand
together where the scene is free.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame, Stage
from ..ink.maps import displayed
from ..ink.places import CHANNEL, LABEL
from ..ink.sketch import Box, Sketch
from ..ink.text import chip_text, measure
from ..ink.theme import Theme
from ..shown.subject import Sample
from .layer import loss_line, wanted_text

MOST = 4  # outputs that are written out
_SWATCH, _STEP, _ARROW = 46.0, 60.0, 44.0
_CHIP = 52.0


def outcome_size(sample: Sample) -> tuple[float, float] | None:
    """Width and height that the panel needs; None where there is nothing it could say."""
    if sample.wanted is None and sample.label is None:
        return None
    if sample.colours:
        return 3 * _SWATCH + _ARROW + (_STEP - _SWATCH), 20 + _SWATCH + 24
    count = len(sample.outputs)
    chips = 56 + count * (_CHIP + 6) - 6
    rows = 1 if sample.wanted is None else 2
    longest = measure(loss_line(sample, 8.8888), LABEL)
    return (max(chips, longest), 20 + 34 * rows - 6 + 24) if 0 < count <= MOST else None


def input_swatch(box: Box) -> Box:
    """Where the input's swatch stands in the panel of a sample of colours."""
    return box[0], box[1] + 20, _SWATCH, _SWATCH


def outcome(box: Box, theme: Theme, sample: Sample, frame: Frame, last: Stage, loss: float | None) -> Sketch:
    """The panel for one frame; `last` is the stage whose row is the output."""
    sketch = Sketch()
    if "input" not in frame.activations:
        return sketch
    output = frame.activations[last.name]
    if sample.colours and sample.wanted is not None:
        _swatches(sketch, box, theme, (frame.activations["input"], output, sample.wanted))
    else:
        _numbers(sketch, box, theme, sample, output, sample.called(last))
    if loss is not None:
        sketch.text(box[0] + box[2], box[1] + box[3] - 4, loss_line(sample, loss), LABEL, theme.text1, anchor="right")
    return sketch


def _swatches(sketch: Sketch, box: Box, theme: Theme, colours: tuple[NDArray[np.floating], ...]) -> None:
    x, y = box[0], box[1] + 20
    places = (x, x + _SWATCH + _ARROW, x + _SWATCH + _ARROW + _STEP)
    for at, name, colour in zip(places, ("input", "output", "target"), colours, strict=True):
        fill = displayed(colour) if np.isfinite(colour).all() else None
        sketch.rect(at, y, _SWATCH, _SWATCH, radius=5, fill=fill, stroke=theme.flow)
        if fill is None and name == "target":
            sketch.text(at + _SWATCH / 2, y + _SWATCH / 2 + 6, "?", CHANNEL, theme.text2, anchor="middle")
        sketch.text(at + _SWATCH / 2, y - 7, name, LABEL, theme.text2, anchor="middle")
    middle = y + _SWATCH / 2
    sketch.arrow((x + _SWATCH + 4, middle), (places[1] - 4, middle), theme.flow, 1.4)


def _numbers(sketch: Sketch, box: Box, theme: Theme, sample: Sample, output: NDArray[np.floating], called: str) -> None:
    x, y = box[0] + box[2] - len(sample.outputs) * (_CHIP + 6) + 6, box[1] + 20
    rows = [(called, output)] if sample.wanted is None else [(called, output), ("target", sample.wanted)]
    for row, (title, values) in enumerate(rows):
        top = y + 34 * row
        sketch.text(x - 10, top + 19, title, LABEL, theme.text2, anchor="right")
        for k, value in enumerate(values):
            left = x + k * (_CHIP + 6)
            sketch.rect(left, top, _CHIP, 28, radius=6, fill=theme.panel, stroke=theme.border if row else theme.flow)
            sketch.text(
                left + _CHIP / 2,
                top + 19.5,
                wanted_text(value) if row else chip_text(value),
                CHANNEL,
                theme.text2 if row else theme.text1,
                bold=not row,
                anchor="middle",
            )
    if len(sample.outputs) > 1:
        for k, name in enumerate(sample.outputs):
            sketch.text(x + k * (_CHIP + 6) + _CHIP / 2, y - 7, name, LABEL, theme.text2, anchor="middle")
