"""The one digit whose way through the network is drawn: its picture, on which one can draw, and the ten outputs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..draw.places import LABEL, Box
from ..draw.sketch import Sketch
from ..draw.text import measure
from ..draw.theme import Theme
from .digits import shades

SIDE = 104.0
_TOP = 22.0
_BARS = 66.0
_MARGIN = 14.0


def field_box(box: Box) -> Box:
    """Where the picture stands in the panel."""
    return box[0], box[1] + _TOP, SIDE, SIDE


def shares(logits: NDArray[np.floating]) -> NDArray[np.float64]:
    """The softmax of a row: what the network holds for likely, adding up to 1."""
    row = np.asarray(logits, np.float64)
    parts = np.exp(row - row.max())
    return np.asarray(parts / parts.sum())


def probe_panel(
    box: Box,
    theme: Theme,
    picture: NDArray[np.floating],
    logits: NDArray[np.floating],
    *,
    names: Sequence[str],
    title: str,
    truth: str,
    hint: str = "",
    active: bool = False,
) -> Sketch:
    """The panel for one frame.

    Parameters
    ----------
    picture : ndarray, shape (H, W)
        0 is paper, 1 is ink.
    logits : ndarray, shape (10,)
        The network's outputs.
    names : sequence of str
        Of the outputs.
    title : str
        What the picture is.
    truth : str
        What it should be read as, as a note; empty where nobody knows.
    hint : str
        What the hand can do.
    active : bool
        Whether the pointer is on the picture.
    """
    sketch = Sketch()
    x, y, width, _ = box
    left, top, side, _ = field_box(box)
    sketch.text(x, y + 13, title, LABEL, theme.text1, bold=True)
    sketch.rect(left - 1, top - 1, side + 2, side + 2, fill=theme.selection if active else theme.border)
    pixels = np.ascontiguousarray(shades(theme).bytes(np.clip(picture, 0, 1))[..., :3])
    sketch.image((left, top, side, side), pixels, linear=False)
    start = x + side + _MARGIN
    if np.isfinite(logits).all():
        likely = shares(logits)
        read = f"read as {names[int(np.argmax(logits))]}"
        sketch.text(start, y + 13, read, LABEL, theme.text1, bold=True)
        sketch.text(start + measure(read, LABEL, True) + 8, y + 13, truth, LABEL, theme.text2)
        sketch.text(x + width, y + 13, "%", LABEL, theme.text3, anchor="right")
        _bars(sketch, (start, top, x + width - start, SIDE), theme, likely, names)
    else:
        sketch.text(start, y + 13, "outputs are not finite", LABEL, theme.text1, bold=True)
    sketch.text(x, top + side + 19, hint, LABEL, theme.text3)
    return sketch


def _bars(sketch: Sketch, box: Box, theme: Theme, likely: NDArray[np.float64], names: Sequence[str]) -> None:
    """A bar an output, its share in per cent above it, its name below; the highest is the brightest."""
    x, y, width, height = box
    foot = y + height - 20
    pitch = width / len(names)
    best = int(np.argmax(likely))
    sketch.line((x, foot + 0.5), (x + width, foot + 0.5), theme.grid)
    for k, (name, share) in enumerate(zip(names, likely, strict=True)):
        middle, high = x + pitch * (k + 0.5), _BARS * float(share)
        colour = theme.text1 if k == best else theme.text3
        if high >= 0.5:
            sketch.rect(middle - 0.36 * pitch, foot - high, 0.72 * pitch, high, fill=colour)
        sketch.text(middle, foot - high - 5, f"{100 * share:.0f}", LABEL, colour, anchor="middle")
        sketch.text(middle, foot + 16, name, LABEL, colour, bold=k == best, anchor="middle")
