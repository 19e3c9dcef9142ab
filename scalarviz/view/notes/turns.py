"""`TurnLabels`: the words around small layers whose flow turns at each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...run.core.frame import Stage
from ..ink.places import CHANNEL, LABEL
from ..ink.sketch import Anchor, Box, Sketch
from ..ink.text import measure
from ..ink.theme import Theme
from ..space.layout import Layout
from ..space.plate import Plate
from .rows import RowName, row_names, write
from .taken import Taken

Floats = NDArray[np.float64]
Project = Callable[[ArrayLike], Floats]
_ASIDE, _OVER = 12.0, 10.0  # from a strip of biases to its word
_CARD = (340.0, 160.0)  # the upper right corner, where the card of a neuron opens
_RISE, _LINE = 9.0, 1.4  # of the arrow that leaves the last layer


class TurnLabels:
    """Where they stand; placed once for a camera.

    Parameters
    ----------
    layout : Layout
        With `spots`.
    stages : sequence of Stage
    inputs : sequence of str
        Names of what the first layer reads; empty where something else says them.
    project : callable
        World points to logical pixels.
    box : Box
        The scene.
    arrow : bool
        Whether what leaves the last layer goes on to the right, where a picture of it stands.
    """

    def __init__(
        self, layout: Layout, stages: Sequence[Stage], inputs: Sequence[str], project: Project, box: Box, arrow: bool
    ) -> None:
        self._taken = Taken(box)
        for plate in (*layout.plates, *layout.spots):
            for element in range(plate.size):
                self._taken.add_polygon(project(plate.corners_of(element)))
        first = next(plate for plate in layout.plates if plate.kind == "weight")
        self._names = self._inputs(first, inputs, project)
        if not inputs:  # lines come in from what says them
            for k in range(first.shape[1]):
                x, y = (float(v) for v in project(first.cell_corners(0, k)[4:]).mean(axis=0))
                self._taken.add_box((x - 90.0, y - 8.0, 60.0, 32.0))
        self._biases = [place for p in layout.plates if p.kind == "bias" and (place := self._bias(p, project))]
        self._arrow = self._way_out(layout, project, box) if arrow else []
        last = stages[-1] if stages else None
        self._last = "" if last is None or last.weight is not None else last.kind

    def _bias(self, plate: Plate, project: Project) -> tuple[float, float, Anchor] | None:
        """Place of the word beside a strip of biases, or over it, and which of its ends that is; None without room."""
        faces = project(np.array([plate.cell_corners(k)[4:] for k in range(plate.size)]).reshape(-1, 3))
        across = abs(float(plate.axes[1] @ [1.0, 0.0, 0.0])) > 0.5
        wide = measure("bias", CHANNEL, True)
        places: list[tuple[float, float, Anchor]] = []
        if across:  # its cubes stand side by side: at the height of a main face, left of the first, right of the last
            for four, anchor in ((faces[:4], "right"), (faces[-4:], "left")):
                x = four[:, 0].min() - _ASIDE if anchor == "right" else four[:, 0].max() + _ASIDE
                places.append((float(x), float(four[:, 1].mean()) + 5.0, "right" if anchor == "right" else "left"))
        else:
            four = faces[:4] if faces[:4, 1].mean() <= faces[-4:, 1].mean() else faces[-4:]
            places.append((float(four[:, 0].mean()), float(four[:, 1].min()) - _OVER, "middle"))
        for x, y, end in places:
            left = x - {"left": 0.0, "middle": 0.5, "right": 1.0}[end] * wide
            if self._taken.cost((left, y - 13.0, wide, 16.0)) <= 0.5:
                self._taken.add_box((left, y - 13.0, wide, 16.0))
                return x, y, end
        return None

    def _inputs(self, first: Plate, names: Sequence[str], project: Project) -> list[RowName]:
        """Names of the first layer's rows, beside them: they are its columns, drawn downwards."""
        if len(names) != first.shape[1]:
            return []
        turned = Plate(
            first.name, first.kind, first.size,
            type(first.grid)((first.shape[1], first.shape[0]), (first.shape[1], first.shape[0])),
            first.origin, first.axes[[1, 0, 2]], first.half, first.depth, first.start,
        )  # fmt: skip
        return row_names(turned, names, -1, project, self._taken)

    def _way_out(self, layout: Layout, project: Project, box: Box) -> list[Floats]:
        """From the last cube of the last layer up or on, and to the right."""
        plate = layout.plates[-1]
        if plate.kind != "bias":
            plate = next(p for p in reversed(layout.plates) if p.kind == "weight")
        if plate.shape[0] != 1:
            return []
        corners = project(plate.cell_corners(0)[4:])
        right = box[0] + box[2] + 8.0
        across = abs(float(plate.axes[1] @ [1.0, 0.0, 0.0])) > 0.5
        if across:  # it leaves towards the back
            x, y = float(corners[:, 0].mean()), float(corners[:, 1].min())
            return [np.array([[x, y], [x, y - _RISE], [right, y - _RISE]])]
        x, y = float(corners[:, 0].max()), float(corners[:, 1].mean())
        return [np.array([[x + 4.0, y], [x + 4.0, y], [right, y]])]

    def names(self, theme: Theme) -> Sketch:
        """The words and the arrow."""
        sketch = Sketch()
        for x, y, end in self._biases:
            sketch.text(x, y, "bias", CHANNEL, theme.text2, bold=True, anchor=end)
        write(sketch, self._names, theme)
        for way in self._arrow:
            sketch.polyline(way[:2], theme.flow, _LINE)
            sketch.arrow(way[1], way[2], theme.flow, _LINE)
        for x, y, _, high in self.way_out:
            sketch.text(x, y + high - 4.0, self._last, LABEL, theme.text2)
        return sketch

    @property
    def way_out(self) -> list[Box]:
        """Where the word over the arrow stands that leaves the last layer, if it is long enough for one."""
        wide = measure(self._last, LABEL)
        return [(float(way[2][0]) - wide - 10.0, float(way[2][1]) - 19.0, wide, 16.0)
                for way in self._arrow if self._last and way[2][0] - way[1][0] > wide + 40.0]  # fmt: skip

    def ranges(self, extents: Mapping[str, float], theme: Theme, bound: str = "±") -> Sketch:
        """Nothing: one range holds for all, as the legend says."""
        return Sketch()

    def free_place(self, width: float, height: float, before: Box | None = None) -> Box | None:
        """A free rectangle of this size; see :meth:`FlowLabels.free_place`."""
        for way in self._arrow:
            for a, b in pairwise(way):
                self._taken.add_line(a, b)
            wide = measure(self._last, LABEL) + 14.0
            self._taken.add_box((float(way[-1][0]) - wide - 10.0, float(way[-1][1]) - 22.0, wide + 10.0, 30.0))
        left, top, wide, high = self._taken.box
        places = [
            (float(x), float(y))
            for y in np.arange(top + high - height - 8, top + 8, -16.0)
            for x in np.arange(left + wide - width - 24, left + 0.3 * wide, -16.0)
        ]
        apart = [(x, y) for x, y in places if x + width < left + wide - _CARD[0] or y > top + _CARD[1]]
        for x, y in (*apart, *places):
            box = (x - 12, y - 8, width + 24, height + 16)
            if self._taken.cost(box) == 0.0:
                self._taken.add_box(box)
                return x, y, width, height
        return None
