"""`around_of`: what stands around the cubes of a document, as plain data that ``around.js`` paints.

It is the window's own list: words, chips and lines in groups, each with the point of the world that it belongs to.
Numbers are bound: the browser writes those of the frame that it shows, and the list is made once for all frames.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ...run.core.frame import Frame
from ..cubes.scale import Coloring
from ..ink.maps import hexed
from ..ink.sketch import Box, Colour, Lines, Path, Polygon, Rect, Shape, Sketch, Stand, TextItem, rgba
from ..ink.theme import Theme
from ..micro.on_cubes import chip_colour, delta_boxes, delta_chips
from ..notes.scenery import Scenery
from ..shown.subject import Subject
from ..space.arrangement import Project
from ..space.layout import Layout

OF_A_THEME = (
    "background", "glow", "past", "panel", "tray", "border", "text1", "text2", "text3", "flow", "grid", "selection",
    "pulse", "ink", "paper",
)  # fmt: skip
"""Colours that a browser has by their names; maps stand apart."""
Group = dict[str, Any]


def colours_of(theme: Theme) -> dict[str, Any]:
    """The colours of a look by their names; ``chip`` lies below a delta."""
    return {**{name: getattr(theme, name) for name in OF_A_THEME}, "chip": hexed(chip_colour(theme))}


def around_of(subject: Subject, layout: Layout, theme: Theme, project: Project, box: Box) -> list[Group]:
    """Groups of records: what each belongs to, its shapes, its texts.

    Of a plan there are besides the labels of its plates, for cameras that do not see it as it was laid out.
    """
    frame = _blank(subject)
    colouring = Coloring(subject.tensors, theme)
    colouring.update(replace(frame, values=np.ones(sum(tensor.size for tensor in subject.tensors))), None)
    sketches = Scenery(subject, layout, theme, project, box, panels=False).static
    scenery = Scenery(subject, layout, theme, project, box, panels=layout.blueprint is None)
    found = _Groups(theme)
    found.add([*sketches, *scenery.around(frame, colouring, 0.0)])
    if layout.blueprint is not None:
        plain = Scenery(subject, replace(layout, blueprint=None), theme, project, box, panels=False)
        found.add([*plain.static, *plain.around(frame, colouring, None)], turned=True)
    flow = scenery.flow
    boxes = None if flow is None else delta_boxes(flow.rows, box)
    if flow is not None and boxes is not None:
        for mean in (False, True):
            deltas = np.zeros(len(boxes))
            for row, stand in enumerate(flow.stands):
                only = np.where(np.arange(len(boxes)) == row, deltas, np.nan)
                sketch = delta_chips(flow.rows, boxes, theme, only, mean=mean)
                found.add([sketch], stand, delta=row, mean=mean)
    return list(found.groups.values())


def _blank(subject: Subject) -> Frame:
    """A frame of zeros: places do not depend on numbers."""
    stages, zeros, none = subject.stages, np.zeros(0), np.zeros(0, bool)
    first = next((stage.weight for stage in stages if stage.weight is not None), None)
    reads = max(len(subject.sample.inputs), 0 if first is None else int(np.prod(first.shape[1:])))
    rows = {"input": np.zeros(reads), **{stage.name: np.zeros(stage.outputs) for stage in stages}}
    return Frame(0, float("nan"), 0.0, zeros, zeros, zeros, none, none, rows if stages else {})


class _Groups:
    """Records by what they belong to."""

    def __init__(self, theme: Theme) -> None:
        self.groups: dict[object, Group] = {}
        self._names = {hexed(rgba(colour)): name for name, colour in colours_of(theme).items()}

    def add(self, sketches: Iterable[Sketch], whose: Stand = None, **more: object) -> None:
        """All records of some sketches; `whose` they are where they do not say it."""
        for sketch in sketches:
            for own, shapes, texts in sketch.groups():
                if shapes or texts:
                    at = own or whose
                    group = self.groups.setdefault(
                        (at, *more.items()),
                        {"at": list(at) if isinstance(at, tuple) else at, **more, "shapes": [], "texts": []},
                    )
                    group["shapes"] += [self._shape(shape) for shape in shapes]
                    group["texts"] += [self._text(text) for text in texts]

    def _colour(self, colour: Colour | None) -> str | None:
        if colour is None:
            return None
        said = hexed(rgba(colour))
        return self._names.get(said, said)

    def _shape(self, shape: Shape) -> list[Any]:
        match shape:
            case Rect(x, y, wide, high, fill, stroke, border, radius, bound):
                colours = bound or self._colour(fill), self._colour(stroke)
                return ["rect", *_short(x, y, wide, high), *colours, border, radius, int(bool(bound))]
            case Lines(starts, ends, colour, width):
                ways = np.concatenate([starts, ends], axis=1)
                return ["lines", [_short(*way) for way in ways.tolist()], self._colour(colour), width]
            case Path(points, colour, width):
                return ["path", [_short(*point) for point in points.tolist()], self._colour(colour), width]
            case Polygon(points, fill):
                return ["polygon", [_short(*point) for point in points.tolist()], self._colour(fill)]
        raise AssertionError(shape)  # nothing around cubes is drawn with cells and curves

    def _text(self, text: TextItem) -> list[Any]:
        record = [*_short(text.x, text.y), text.text, text.size, self._colour(text.colour), int(text.bold), text.anchor]
        if (bound := text.bound) is None:
            return record
        within = bound.within if np.isfinite(bound.within) else None
        return [*record, [bound.name, bound.index, bound.form, bound.before, within]]


def _short(*numbers: float) -> list[float]:
    """Tenths of a pixel."""
    return [round(float(number), 1) for number in numbers]
