"""Texts that come and go with the frames: what is wrong with a layer, and labels that cubes were given by hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from ...run.questions.diagnosis import Trouble
from ..cubes.own import OwnLook
from ..cubes.picking import Shares
from ..ink.boxes import LABEL, MARGIN
from ..ink.sketch import Box, Sketch, holds
from ..ink.text import measure
from ..ink.theme import Theme
from ..space.arrangement import Layout, Project
from ..space.camera import Camera, Floats
from ..space.plate import Plate
from .placer import Placer, Way

_LINE, _MARK = 19.0, 24.0
_SPOTS = 4000  # that are tried at most
_PAD, _HIGH = 7.0, 20.0
_AWAY = (16.0, 30.0, 46.0, 64.0, 84.0, 106.0)  # pixels above a cube at which its own label is tried


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


def own_labels(
    own: Mapping[int, OwnLook],
    plates: Sequence[Plate],
    camera: Camera,
    project: Project,
    shares: Shares,
    box: Box,
    theme: Theme,
    around: Sequence[Sketch] = (),
) -> Sketch:
    """A label above each cube that has one and is drawn, joined with the far edge of its face by a line.

    `own` is by flat index; labels stand in `box`, on no word that is written `around` where there is room.
    """
    sketch, placer = Sketch(), Placer(box)
    placer.add_texts(around)
    for index, look in sorted(own.items()):
        edge = _edge(index, plates, camera, project, shares) if look.label else None
        if edge is None or not holds(box, edge[0]):
            continue
        end, point = edge
        width = measure(look.label, LABEL) + 2 * _PAD
        ways = list(_ways(end, width, box))
        x, y, _, _ = ways[placer.place(ways, most=np.inf, later=0.0) or 0][0]
        sketch.stand(point)
        sketch.line(_foot(x, y, width, end), end, theme.selection, 1.4)
        sketch.disc(*end, 2.5, theme.selection)
        sketch.rect(x, y, width, _HIGH, radius=4, fill=theme.panel, stroke=theme.selection)
        sketch.text(x + _PAD, y + 14.5, look.label, LABEL, theme.text1)
    return sketch


def _edge(
    index: int, plates: Sequence[Plate], camera: Camera, project: Project, shares: Shares
) -> tuple[tuple[float, float], tuple[float, float, float]] | None:
    """The middle of the upper edge of a cube's face in the picture and in the world; None of one that is not drawn."""
    for number, plate in enumerate(plates):
        element = index - plate.start
        if plate.kind != "activation" and 0 <= element < plate.size:
            share = shares(number, element)
            face = plate.corners_of(element, share)[[4, 5, 7, 6]]
            if share <= 0.0 or not camera.before(face):
                return None
            points = (face + np.roll(face, -1, axis=0)) / 2
            middles = project(points)
            first = int(np.argmin(middles[:, 1]))
            (x, y), (a, b, c) = middles[first].tolist(), points[first].tolist()
            return (x, y), (a, b, c)
    return None


def _ways(end: tuple[float, float], width: float, box: Box) -> Iterator[Way]:
    """A label above a point, inside the box, the nearest first, and the points of its line."""
    x0, y0, wide, _ = box
    for away in _AWAY:
        for aside in (0.0, 0.6, -0.6, 1.2, -1.2):
            x = min(max(end[0] + (aside - 0.5) * width, x0 + 5), x0 + wide - width - 5)
            y = max(end[1] - away - _HIGH, y0 + 2)
            line = np.linspace(_foot(x, y, width, end), end, 9)[:-1].tolist()
            yield [(x, y, width, _HIGH), *((px, py, 1.0, 1.0) for px, py in line)]


def _foot(x: float, y: float, width: float, end: tuple[float, float]) -> tuple[float, float]:
    """Where the line leaves a label."""
    return min(max(end[0], x + 4), x + width - 4), y + _HIGH
