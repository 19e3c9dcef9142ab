"""The legend: a bar in the cubes' own colours, with a tick for every cube."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..cubes.scale import LegendScale
from ..draw.maps import Colormap
from ..draw.places import LABEL, TITLE, Box
from ..draw.sketch import Sketch
from ..draw.text import measure
from ..draw.theme import Theme, rgb

BAR = 14


def bar_pixels(cmap: Colormap, count: int, hidden: tuple[float, float] = (1, 0), blank: str = "") -> NDArray[np.uint8]:
    """The bar's colours, one a pixel, (1, count, 3): the map at each pixel's centre, `blank` between two places."""
    place = (np.arange(count) + 0.5) / count
    bar = cmap.bytes(2 * place - 1 if cmap.diverging else place)[None]
    if blank:
        bar[0, (place > hidden[0]) & (place < hidden[1])] = np.rint(255 * np.array(rgb(blank)))
    return bar


def legend(box: Box, theme: Theme, scale: LegendScale, bar: NDArray[np.uint8]) -> Sketch:
    """Title and note, marks, bar, numbers; 50 px from the title's baseline to the numbers'.

    Parameters
    ----------
    bar : ndarray of uint8, shape (1, N, 3)
        From `bar_pixels`; the same object every time, so it is uploaded once.
    """
    sketch = Sketch()
    x, y, width, _ = box
    baseline = y + 14
    sketch.text(x, baseline, scale.title, TITLE, theme.text1, bold=True)
    if not theme.presenter and measure(scale.title, TITLE, True) + 16 + measure(scale.note, LABEL) <= width:
        sketch.text(x + width, baseline, scale.note, LABEL, theme.text3, anchor="right")
    top = baseline + 20
    if len(scale.marks):
        at = x + np.clip(scale.marks, 0, 1) * (width - 1) + 0.5
        sketch.lines(
            np.stack([at, np.full_like(at, top - 7)], 1), np.stack([at, np.full_like(at, top - 2)], 1), theme.text2, 1.2
        )
    sketch.image((x, top, width, BAR), bar, linear=False)
    _numbers(sketch, (x, top + BAR, width, 0), theme, scale.labels)
    return sketch


def _numbers(sketch: Sketch, box: Box, theme: Theme, labels: Sequence[tuple[float, str]]) -> None:
    """Ticks and numbers; one that would touch a neighbour is left out, the ends and zero stay."""
    x, y, width, _ = box
    taken: list[tuple[float, float]] = []
    for place, text in sorted(labels, key=lambda item: (item[0] not in (0, 0.5, 1), item[0])):
        wide = measure(text, LABEL)
        left = min(max(x + place * width - wide / 2, x), x + width - wide)
        if any(left < b + 8 and left + wide > a - 8 for a, b in taken):
            continue
        taken.append((left, left + wide))
        tick = x + place * (width - 1) + 0.5
        sketch.line((tick, y), (tick, y + 4), theme.text3, 1.0)
        sketch.text(left, y + 16, text, LABEL, theme.text2)
