"""Two figures beside an opened step: all terms of one weight's gradient, and the gradients layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..ink.maps import Colormap
from ..ink.overlay import wrapped
from ..ink.places import LABEL, TITLE
from ..ink.sketch import Box, Sketch
from ..ink.text import measure, number, short
from ..ink.theme import Theme, mixed
from .chips import delta_text

BINS = 24
HISTOGRAM = 150.0
_BARS = 74.0
_WORDS = 16.0  # of those above the bars, which hold the mean
_ROW = 22.0
DECADES = 4.0
"""Below the largest gradient, in which the bars of the layers are drawn."""


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """The terms of one weight's gradient, one a sample.

    Attributes
    ----------
    counts : ndarray of int, shape (BINS,)
    reach : float
        The bins go from its negative to it.
    mean : float
        The gradient.
    own : float or None
        The term of the one sample whose way is drawn.
    words, noun : str
        What the terms are of ("1,024 colours"), and what one is called.
    joined : str
        ``"mean"`` or ``"sum"``.
    """

    counts: NDArray[np.int64]
    reach: float
    mean: float
    own: float | None
    words: str
    noun: str
    joined: str = "mean"


class Layer(NamedTuple):
    """One layer's gradients: its name, and the largest by size (NaN: not there yet)."""

    name: str
    largest: float


class Output(NamedTuple):
    """One output of the last layer: its name, its number, the delta that comes back to it, and whether it is wanted.

    Numbers that are not there yet are NaN.
    """

    name: str
    value: float
    delta: float
    wanted: bool = False


def spread_of(terms: NDArray[np.floating], mean: float, own: float | None, words: str, noun: str) -> Spread | None:
    """The histogram of some terms; None where they are no numbers, or nothing but zeros."""
    reach = float(np.abs(terms).max(initial=0.0))
    if not np.isfinite(reach) or reach == 0.0:
        return None
    counts, _ = np.histogram(terms, BINS, (-reach, reach))
    return Spread(counts, reach, mean, own, words, noun)


def histogram(box: Box, theme: Theme, cmap: Colormap, spread: Spread, unit: NDArray[np.floating]) -> Sketch:
    """The terms as bars in the colours of gradients; `unit` are the places of the bins on their scale, -1 to 1."""
    sketch = Sketch()
    x, y, wide, _ = box
    sketch.text(x, y + 14, "the same weight, whole batch", TITLE, theme.text1, bold=True)
    said = f"δ · x of {spread.words}; their {spread.joined} is its g"
    sketch.text(x, y + 34, said if measure(said, LABEL) <= wide else f"δ · x of {spread.words}", LABEL, theme.text3)
    base, step = y + 48 + _BARS, wide / BINS
    for k, count in enumerate(spread.counts):
        high = (_BARS - _WORDS) * float(count) / float(spread.counts.max())
        if high:
            sketch.rect(x + k * step, base - high, step - 1.5, high, fill=tuple(float(c) for c in cmap(unit[k])))
    sketch.line((x, base), (x + wide, base), theme.flow, 1.0)
    at = x + wide * _share(spread.mean, spread.reach)
    sketch.line((at, y + 44), (at, base), theme.selection, 2.0)
    words = f"{spread.joined} {delta_text(spread.mean)}"
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


def outputs_height(outputs: Sequence[Output]) -> float:
    """What the list of outputs takes."""
    return 54.0 + 20.0 * len(outputs)


def output_rows(box: Box, theme: Theme, outputs: Sequence[Output], *, mean: bool) -> Sketch:
    """A line for each output: its number, and its delta as a bar to either side; `mean`: over a batch."""
    sketch = Sketch()
    x, y, wide, _ = box
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
        sketch.text(
            x, line, _fitting(name, 62), LABEL, theme.text1 if output.wanted else theme.text2, bold=output.wanted
        )
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


def layers_height(layers: Sequence[Layer]) -> float:
    """What the list of layers takes."""
    return 44.0 + _ROW * len(layers)


def layer_bars(box: Box, theme: Theme, layers: Sequence[Layer], title: str) -> Sketch:
    """A line for each layer: its name, a bar, and its largest gradient; a frame alone where that has not come yet."""
    sketch = Sketch()
    x, y, wide, _ = box
    sketch.text(x, y + 14, title, TITLE, theme.text1, bold=True)
    sketch.text(x + wide, y + 14, "the largest |g|", LABEL, theme.text3, anchor="right")
    found = [layer.largest for layer in layers if layer.largest > 0 and np.isfinite(layer.largest)]
    most = max(found, default=1.0)
    left = x + min(max((measure(layer.name, LABEL) for layer in layers), default=0.0) + 12, 0.4 * wide)
    right = x + wide - 66
    for row, layer in enumerate(layers):
        top = y + 30 + _ROW * row
        sketch.text(x, top + 13, _fitting(layer.name, left - x - 8), LABEL, theme.text2)
        sketch.rect(left, top + 3, right - left, 11, radius=2, stroke=theme.border)
        if layer.largest != layer.largest:
            continue
        share = 0.0 if layer.largest <= 0 else max(0.0, 1 + np.log10(layer.largest / most) / DECADES)
        if share:
            fill = mixed(theme.pulse, theme.panel, 0.8)
            sketch.rect(left, top + 3, max(2.0, share * (right - left)), 11, radius=2, fill=fill)
        sketch.text(x + wide, top + 13, short(layer.largest), LABEL, theme.text1, anchor="right")
    sketch.text(left, y + 30 + _ROW * len(layers) + 12, f"log, {DECADES:.0f} decades", LABEL, theme.text3)
    return sketch


def _fitting(name: str, width: float) -> str:
    """The end of a name that has no room."""
    while measure(name, LABEL) > width and len(name) > 4:
        name = f"\N{HORIZONTAL ELLIPSIS}{name[2:]}"
    return name


def rule_lines(box: Box, theme: Theme, optimiser: str, formulas: Sequence[tuple[str, str]]) -> Sketch | None:
    """The optimiser's rule line by line, in letters and with its numbers; None where there is no room for all of it."""
    sketch = Sketch()
    x, y, wide, high = box
    sketch.text(x, y + 14, f"{optimiser}, line by line", TITLE, theme.text1, bold=True)
    down = y + 36
    for letters, numbers in formulas:
        for text, colour in ((letters, theme.text3), (numbers, theme.text1)):
            for line in wrapped(text, wide):
                sketch.text(x, down, line, LABEL, colour)
                down += 17
        down += 5
    return sketch if down <= y + high else None
