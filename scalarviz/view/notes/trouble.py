"""What is wrong with a layer, in words beside its cubes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...run.questions.diagnosis import Trouble
from ..ink.places import LABEL, MARGIN
from ..ink.sketch import Box, Sketch
from ..ink.text import measure
from ..ink.theme import Theme
from ..space.layout import Layout
from .taken import Taken

Floats = NDArray[np.float64]
Project = Callable[[ArrayLike], Floats]
_LINE, _MARK = 19.0, 24.0
_SPOTS = 4000  # that are tried at most


class TroubleNotes:
    """Places a line for each trouble near its layer, where it covers no cube and no other text.

    Parameters
    ----------
    layout : Layout
    theme : Theme
    project : callable
        World points to logical pixels.
    box : Box
        The scene.

    Attributes
    ----------
    homeless : tuple of str
        What found no place in the last sketch, and has to be said elsewhere.
    theme : Theme
        May be set: places do not depend on it.
    """

    homeless: tuple[str, ...] = ()

    def __init__(self, layout: Layout, theme: Theme, project: Project, box: Box) -> None:
        self._layout, self.theme, self._project, self._box = layout, theme, project, box
        self._places: dict[str, tuple[Box, tuple[str, ...]] | None] = {}

    def sketch(self, troubles: Sequence[Trouble], around: Iterable[Sketch]) -> Sketch:
        """The lines of one frame. `around` holds the texts that are there already; a line found a place once stays."""
        sketch = Sketch()
        self._places = {t.text: self._places[t.text] for t in troubles if t.text in self._places}
        missing = [t for t in troubles if t.text not in self._places]
        if missing:
            taken = self._taken(around)
            for trouble in missing:
                self._places[trouble.text] = self._place(trouble, taken)
        for found in self._places.values():
            if found is not None:
                self._write(sketch, *found)
        self.homeless = tuple(text for text, found in self._places.items() if found is None)
        return sketch

    def _taken(self, around: Iterable[Sketch]) -> Taken:
        taken = Taken(self._box)
        for plate in self._layout.plates:
            taken.add_polygon(self._project(plate.corners))
        for start, end in self._layout.flow:
            taken.add_line(*self._project([start, end]))
        for item in (item for sketch in around for item in sketch.texts):
            wide = measure(item.text, item.size, item.bold)
            left = item.x - {"left": 0.0, "middle": 0.5, "right": 1.0}[item.anchor] * wide
            chip = 12.0 if item.bold else 4.0  # what stands in a chip is bold
            taken.add_box((left - chip, item.y - item.size - chip / 3, wide + 2 * chip, item.size + chip + 2))
        for found in self._places.values():
            if found is not None:
                taken.add_box(found[0])
        return taken

    def _place(self, trouble: Trouble, taken: Taken) -> tuple[Box, tuple[str, ...]] | None:
        """The free place nearest to the layer's cubes, in one line or two; None where there is none."""
        plate = next((p for p in self._layout.plates if p.name == trouble.where), None)
        points = self._project((plate or self._layout.plates[0]).corners)
        middle = (points.min(axis=0) + points.max(axis=0)) / 2
        for lines in _broken(trouble.text):
            size = _MARK + max(measure(line, LABEL) for line in lines), _LINE * len(lines)
            spot = self._nearest(middle, size, taken)
            if spot is not None:
                taken.add_box((*spot, *size))
                return (*spot, *size), lines
        return None

    def _nearest(self, middle: Floats, size: tuple[float, float], taken: Taken) -> tuple[float, float] | None:
        left, top, wide, high = self._box
        step = max(4.0, np.sqrt(wide * high / _SPOTS))
        across = np.arange(left + min(MARGIN, 0.04 * wide), left + wide - size[0] - 4, step)
        down = np.arange(top, top + high - size[1], step)
        spots = np.array([(x, y) for x in across for y in down]).reshape(-1, 2)
        # from the middle of the cubes to the nearest point of the line: so a long one may begin beside them
        gaps = np.abs(spots + np.array(size) / 2 - middle) - np.array([size[0] / 2, 0.0])
        for k in np.argsort(np.hypot(*np.maximum(gaps, 0.0).T), kind="stable"):
            x, y = (float(v) for v in spots[k])
            if taken.cost((x, y, *size)) == 0.0:
                return x, y
        return None

    def _write(self, sketch: Sketch, box: Box, lines: tuple[str, ...]) -> None:
        x, y = box[:2]
        colour = self.theme.weight[1]
        sketch.disc(x + 8, y + 9, 8, colour)
        sketch.text(x + 8, y + 13.5, "!", LABEL, self.theme.panel, bold=True, anchor="middle")
        for row, line in enumerate(lines):
            sketch.text(x + _MARK, y + 14 + _LINE * row, line, LABEL, self.theme.text1)


def _broken(text: str) -> list[tuple[str, ...]]:
    """In one line; in two, after what happened and before why."""
    what, colon, why = text.partition(": ")
    return [(text,), (what + colon.rstrip(), why)] if colon else [(text,)]
