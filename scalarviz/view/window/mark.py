"""What a window says over its picture of stills and films: it is in none of them."""

from __future__ import annotations

from ..draw.painter import Painter
from ..draw.places import LABEL
from ..draw.sketch import Sketch
from ..draw.text import measure
from ..panels.drawer import cut

GROUND, INK, EDGE, RED = "#0c0e11", "#ffffff", "#5a616b", "#ff4d4d"
HIGH, ROOM, RIM, BELOW = 20.0, 10.0, 8.0, 3.0
"""Logical pixels: its height, what is left of the text at both ends, at its right and below: under all panels."""


class Mark:
    """A line in the lower right corner, with a red disc while something is recorded."""

    def __init__(self) -> None:
        self._painter: Painter | None = None
        self._key: tuple[object, ...] = ()
        self._sketch = Sketch()

    def draw(self, text: str, size: tuple[int, int], ratio: float, *, red: bool) -> None:
        """Paint it over a picture of `size` device pixels, `ratio` of them a logical one."""
        key = text, size, ratio, red
        width, height = size[0] / ratio, size[1] / ratio
        if self._painter is None or key[1:3] != self._key[1:3]:
            self._painter = Painter((width, height), ratio)
        if key != self._key:
            self._key, self._sketch = key, mark(text, (width, height), red=red)
        self._painter.draw([self._sketch])


def mark(text: str, size: tuple[float, float], *, red: bool) -> Sketch:
    """The line in a picture of logical pixels."""
    sketch = Sketch(over=True)
    disc = 16.0 if red else 0.0
    shown = cut(text, size[0] - 2 * (RIM + ROOM) - disc)
    wide = measure(shown, LABEL) + 2 * ROOM + disc
    x, y = size[0] - RIM - wide, size[1] - BELOW - HIGH
    sketch.rect(x, y, wide, HIGH, fill=GROUND, stroke=EDGE, radius=HIGH / 2)
    if red:
        sketch.disc(x + ROOM + 5, y + HIGH / 2, 5, fill=RED)
    sketch.text(x + ROOM + disc, y + HIGH / 2 + 5, shown, LABEL, INK)
    return sketch
