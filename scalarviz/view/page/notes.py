"""`around_of`: what stands around the cubes of a document, as plain data that ``notes.js`` paints.

It is the window's own list: words, chips and lines in groups, each with the point of the world that it belongs to.
Numbers are bound: the browser writes those of the frame that it shows, and the list is made once for all frames.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...run.core.frame import Frame
from ..cubes.own import OwnLook
from ..cubes.scale import Coloring
from ..ink.listed import Listed
from ..ink.sketch import Box, Sketch, Stand, TextItem
from ..ink.theme import Theme
from ..micro.on_cubes import delta_boxes, delta_chips
from ..notes.labels import own_labels
from ..notes.scenery import Scenery
from ..shown.subject import Subject
from ..space.arrangement import Project
from ..space.layout import Layout

Group = dict[str, Any]


def around_of(
    subject: Subject, layout: Layout, theme: Theme, project: Project, box: Box, own: Mapping[int, OwnLook]
) -> list[Group]:
    """Groups of records: what each belongs to, its shapes, its texts.

    Of a plan there are besides the labels of its plates, for cameras that do not see it as it was laid out. Labels of
    looks that were given by hand lie over the cubes.
    """
    frame = _blank(subject)
    colouring = Coloring(subject.tensors, theme)
    colouring.update(replace(frame, values=np.ones(sum(tensor.size for tensor in subject.tensors))), None)
    sketches = Scenery(subject, layout, theme, project, box, panels=False).static
    scenery = Scenery(subject, layout, theme, project, box, panels=layout.blueprint is None)
    found = _Groups(theme)
    written = [*sketches, *scenery.around(frame, colouring, 0.0)]
    found.add(written)
    if layout.blueprint is not None:
        plain = Scenery(subject, replace(layout, blueprint=None), theme, project, box, panels=False)
        found.add([*plain.static, *plain.around(frame, colouring, None)], turned=True)
    flow = scenery.flow
    boxes = None if flow is None else delta_boxes(flow.rows, box, flow.below)
    if flow is not None and boxes is not None:
        for mean in (False, True):
            deltas = np.zeros(len(boxes))
            for row, stand in enumerate(flow.stands):
                only = np.where(np.arange(len(boxes)) == row, deltas, np.nan)
                sketch = delta_chips(flow.rows, boxes, theme, only, mean=mean)
                found.add([sketch], stand, delta=row, mean=mean)
    if own:

        def share(plate: int, element: int) -> float:
            look = own.get(layout.plates[plate].start + element)
            return 1.0 if look is None or look.share is None else look.share

        whole = (0.0, 0.0, float(layout.size[0]), float(layout.size[1]))
        labels = own_labels(own, layout.plates, layout.camera, project, share, whole, theme, written)
        found.add([labels], over=True)
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
        self._listed = Listed(theme, bound=True)

    def add(self, sketches: Iterable[Sketch], whose: Stand = None, **more: object) -> None:
        """All records of some sketches; `whose` they are where they do not say it."""
        for sketch in sketches:
            for own, shapes, texts in sketch.groups():
                if shapes or texts:
                    at = own or whose
                    empty = {"at": list(at) if isinstance(at, tuple) else at, **more, "shapes": [], "texts": []}
                    group = self.groups.setdefault((at, *more.items()), empty)
                    group["shapes"] += map(self._listed.shape, shapes)
                    group["texts"] += map(self._text, texts)

    def _text(self, text: TextItem) -> list[Any]:
        record = self._listed.text(text)
        if (bound := text.bound) is None:
            return record
        within = bound.within if np.isfinite(bound.within) else None
        return [*record, [bound.name, bound.index, bound.form, bound.before, within]]
