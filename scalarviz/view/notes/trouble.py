"""`TroubleNotes`: what is wrong with a layer, in a line beside it that comes and goes with the frames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ...run.questions.diagnosis import Trouble
from ..ink.boxes import LABEL, MARGIN
from ..ink.sketch import Box, Sketch
from ..ink.text import measure
from ..ink.theme import Theme
from ..space.arrangement import Layout, Project
from ..space.camera import Floats
from .placer import Placer

_LINE, _MARK = 19.0, 24.0
_SPOTS = 4000  # that are tried at most


class TroubleNotes:
    """A line for each trouble near its layer, where it covers no cube and no other text. `theme` may be set."""

    homeless: tuple[str, ...] = ()  # what found no place in the last sketch, and has to be said elsewhere

    def __init__(self, layout: Layout, theme: Theme, project: Project, box: Box) -> None:
        self._layout, self.theme, self._project, self._box = layout, theme, project, box
        self._places: dict[str, tuple[Box, tuple[str, ...]] | None] = {}

    def sketch(self, troubles: Sequence[Trouble], around: Iterable[Sketch]) -> Sketch:
        """The lines of one frame. `around` holds the texts that are there already; a line found a place once stays."""
        sketch = Sketch()
        self._places = {t.text: self._places[t.text] for t in troubles if t.text in self._places}
        missing = [t for t in troubles if t.text not in self._places]
        if missing:
            placer = self._placer(around)
            self._places |= {trouble.text: self._place(trouble, placer) for trouble in missing}
        for found in self._places.values():
            if found is not None:
                self._write(sketch, *found)
        self.homeless = tuple(text for text, found in self._places.items() if found is None)
        return sketch

    def _placer(self, around: Iterable[Sketch]) -> Placer:
        placer = Placer(self._box)
        for plate in self._layout.plates:
            placer.add_polygon(self._project(plate.corners))
        for start, end in self._layout.flow:
            placer.add_line(*self._project([start, end]))
        placer.add_texts(around)
        for found in self._places.values():
            if found is not None:
                placer.add_box(found[0])
        return placer

    def _place(self, trouble: Trouble, placer: Placer) -> tuple[Box, tuple[str, ...]] | None:
        """The free place nearest to the layer's cubes, in one line or in two, after what happened and before why."""
        plate = next((p for p in self._layout.plates if p.name == trouble.where), None)
        points = self._project((plate or self._layout.plates[0]).corners)
        middle = (points.min(axis=0) + points.max(axis=0)) / 2
        what, colon, why = trouble.text.partition(": ")
        for lines in [(trouble.text,), (what + colon.rstrip(), why)] if colon else [(trouble.text,)]:
            size = _MARK + max(measure(line, LABEL) for line in lines), _LINE * len(lines)
            spots = self._nearest(middle, size)
            found = placer.place([(x, y, *size)] for x, y in spots.tolist())
            if found is not None:
                x, y = spots[found].tolist()
                return (x, y, *size), lines
        return None

    def _nearest(self, middle: Floats, size: tuple[float, float]) -> Floats:
        """Left upper corners (N, 2) for a text, the nearest to the middle of the cubes first."""
        left, top, wide, high = self._box
        step = max(4.0, np.sqrt(wide * high / _SPOTS))
        across = np.arange(left + min(MARGIN, 0.04 * wide), left + wide - size[0] - 4, step)
        down = np.arange(top, top + high - size[1], step)
        spots = np.stack(np.meshgrid(across, down, indexing="ij"), axis=-1).reshape(-1, 2)
        # from the middle of the cubes to the nearest point of the line: so a long one may begin beside them
        gaps = np.abs(spots + np.array(size) / 2 - middle) - np.array([size[0] / 2, 0.0])
        return np.asarray(spots[np.argsort(np.hypot(*np.maximum(gaps, 0.0).T), kind="stable")])

    def _write(self, sketch: Sketch, box: Box, lines: tuple[str, ...]) -> None:
        x, y = box[:2]
        sketch.disc(x + 8, y + 9, 8, self.theme.weight[1])
        sketch.text(x + 8, y + 13.5, "!", LABEL, self.theme.panel, bold=True, anchor="middle")
        for row, line in enumerate(lines):
            sketch.text(x + _MARK, y + 14 + _LINE * row, line, LABEL, self.theme.text1)
