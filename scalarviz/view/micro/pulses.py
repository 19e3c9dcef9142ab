"""What runs along the picture's lines while a micro-step is shown: forwards grey, backwards in the gradients' colour.

`Ways` knows the lines of one picture, as paths in logical pixels; `pulse` draws what has come so far along one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..ink.sketch import Box, Sketch
from ..ink.theme import Theme, mixed
from ..notes.layer import CHIP, FewFlow
from ..space.arrangement import Project
from ..space.layout import Layout
from ..space.plate import Plate
from .told import Pulse

Floats = NDArray[np.float64]
SECONDS = 0.4
"""Of one edge."""
_RADIUS = 5.0


class Ways:
    """Paths of one layout, seen by one camera.

    Parameters
    ----------
    layout : Layout
    project : callable
        World points to logical pixels.
    flow : FewFlow or None
        Of a single small layer, whose lines run from chip to cube to chip.
    order : sequence of str
        The stages whose rows are drawn, ``"input"`` first.
    chips : sequence of Box or None
        Where deltas stand under the outputs of a single layer.
    """

    def __init__(
        self,
        layout: Layout,
        project: Project,
        flow: FewFlow | None,
        order: Sequence[str],
        chips: Sequence[Box] | None = None,
    ) -> None:
        self._layout, self._project, self._flow, self._chips = layout, project, flow, chips
        self._order = order

    def path(self, pulse: Pulse) -> Floats | None:
        """The path (N, 2) of a pulse; None where the picture has no line for it."""
        found = self._of_layer(pulse, self._flow) if self._flow is not None else self._of_plates(pulse)
        if found is None or len(found) < 2 or not np.isfinite(found).all():
            return None
        return found

    # ---- of a single layer

    def _of_layer(self, pulse: Pulse, flow: FewFlow) -> Floats | None:
        rows, row = flow.rows, pulse.index
        if pulse.kind == "product":
            return self._product(flow, pulse.index)
        if pulse.kind == "gradient":
            return self._gradient(flow, pulse.index)
        if not rows.columns or not 0 <= row < len(rows.anchors):
            return None
        (x, y), at = rows.anchors[row], rows.at
        if pulse.kind == "sum":
            weight, _ = flow.plates
            start = self._edge(weight, row, 0)
            return np.array([start, (x, y), (x + at.sum - at.sum_width / 2, y)])
        if pulse.kind == "unit":
            return np.array([(x + at.sum + at.sum_width / 2, y), (x + at.output - at.width / 2, y)])
        if pulse.kind == "loss":
            return np.array([(x + at.output + at.width / 2, y), (x + at.target - at.width / 2, y)])
        if self._chips is None:
            return np.array([(x + at.output - at.width / 2, y), (x + at.sum + at.sum_width / 2, y)])
        left, top, wide, high = self._chips[row]
        turn, level = x + at.output, top + high / 2
        return np.array([(turn, y + CHIP[1] / 2), (turn, level), (left + wide, level)])

    def _product(self, flow: FewFlow, index: int) -> Floats | None:
        plate, _ = flow.plates
        if not plate.start <= index < plate.start + plate.size:
            return None
        i, j = divmod(index - plate.start, plate.shape[1])
        top = self._project([self._top(plate, i, j)])[0]
        if flow.inputs is None:
            return np.array([self._project([self._top(plate, 0, j)])[0] - (0.0, 40.0), top])
        return np.array([flow.inputs[j] + (0.0, CHIP[1] / 2), top])

    def _gradient(self, flow: FewFlow, index: int) -> Floats | None:
        """Along the near edge of the row's top faces, from the output's side to the cube."""
        weight, bias = flow.plates
        for plate in (weight, bias):
            if plate is not None and plate.start <= index < plate.start + plate.size:
                i, j = divmod(index - plate.start, plate.shape[1])
                near = self._edge(plate, i, j)
                if not flow.rows.columns:
                    return np.array([near + np.array([40.0, 0.0]), near])
                start = flow.rows.anchors[i]
                if self._chips is not None:
                    left, top, _, high = self._chips[i]
                    start = np.array([left, top + high / 2])
                return np.array([start, near])
        return None

    def reach(self, index: int) -> Floats:
        """Where a line along a row's near top edge ends that has come to a cube, by the cube's flat index."""
        for plate in self._layout.plates:
            if plate.kind != "activation" and plate.start <= index < plate.start + plate.size:
                return self._edge(plate, *divmod(index - plate.start, plate.shape[1]))
        return np.full(2, np.nan)

    def _edge(self, plate: Plate, i: int, j: int) -> Floats:
        """Middle of the near edge of a cube's main face."""
        near = self._top(plate, i, j) + plate.half * plate.axes[1]
        return np.asarray(self._project([near])[0])

    @staticmethod
    def _top(plate: Plate, i: int, j: int) -> Floats:
        return np.asarray(plate.cell_centre(i, j) + plate.depth * plate.axes[2])

    # ---- between plates

    def _of_plates(self, pulse: Pulse) -> Floats | None:
        """From the row of one stage along an edge of its plate to the row of the next; backwards the other way."""
        before, row = self._ends(pulse.stage)
        if row is None or before is None:
            return None
        if pulse.index >= 0:
            return self._between_cubes(pulse, before, row)
        start, end = self._middle(before), self._middle(row)
        plate = next((p for p in self._layout.plates if p.name == f"{pulse.stage}.weight"), None)
        plate = plate or self._between(before, row)
        path = [start, end] if plate is None else [start, *self._along(plate, start, end), end]
        if pulse.kind == "gradient":
            path = path[1:]
        return np.array(path[::-1] if pulse.back else path)

    def _between_cubes(self, pulse: Pulse, before: Plate, row: Plate) -> Floats | None:
        """From cube to cube, where each is a micro-step of its own."""
        plate = next((p for p in self._layout.plates if p.name == f"{pulse.stage}.weight"), None)
        weights = [p for p in self._layout.plates if p.kind != "activation"]
        own = next((p for p in weights if p.start <= pulse.index < p.start + p.size), None)
        if pulse.kind in ("product", "gradient") and own is not None:
            i, j = divmod(pulse.index - own.start, own.shape[1])
            source = self._cube(row, i) if pulse.back else self._cube(before, j)
            return np.array([source, self._project([self._top(own, i, j)])[0]])
        if pulse.index >= row.size:
            return None
        end = self._cube(row, pulse.index)
        if pulse.kind == "sum" and plate is not None:
            return np.array([self._project([self._top(plate, pulse.index, 0)])[0], end])
        after = self._after(row)
        if pulse.kind == "delta" and after is not None and pulse.index < after.shape[1]:
            return np.array([self._project([self._top(after, after.shape[0] - 1, pulse.index)])[0], end])
        return np.array([end - (0.0, 26.0), end])

    def _after(self, row: Plate) -> Plate | None:
        """The weights that read a row: its deltas come back through them."""
        names = [f"{name}.weight" for name in self._order[self._order.index(row.name) + 1 :]]
        plates = {plate.name: plate for plate in self._layout.plates}
        return next((plates[name] for name in names if name in plates), None)

    def _cube(self, row: Plate, number: int) -> Floats:
        """Middle of the main face of a cube of a row, by its number."""
        number = min(number, row.size - 1)
        return np.asarray(self._project([self._top(row, *divmod(number, row.shape[1]))])[0])

    def _ends(self, stage: str) -> tuple[Plate | None, Plate | None]:
        """The row that shows a stage, or what becomes of it, and the row before that."""
        if stage not in self._order:
            return None, None
        place = self._order.index(stage)
        drawn = [(k, p) for k, name in enumerate(self._order) if (p := self._layout.activation(name)) is not None]
        row = next((n for n, (k, _) in enumerate(drawn) if k >= place), len(drawn))
        found = [drawn[n][1] if 0 <= n < len(drawn) else None for n in (row - 1, row)]
        return found[0], found[1]

    def _between(self, before: Plate, row: Plate) -> Plate | None:
        """The plate of weights that stands between two rows in the list of plates."""
        plates = list(self._layout.plates)
        first, last = sorted((plates.index(before), plates.index(row)))
        return next((p for p in plates[first:last] if p.kind == "weight"), None)

    def _middle(self, plate: Plate) -> Floats:
        return np.asarray(self._project(plate.corners).mean(axis=0))

    def _along(self, plate: Plate, start: Floats, end: Floats) -> list[Floats]:
        """Corners of a plate's main face, from that nearest to `start` to that nearest to `end`."""
        rows, cols = plate.grid.cells
        ring = [(-0.5, -0.5), (-0.5, cols - 0.5), (rows - 0.5, cols - 0.5), (rows - 0.5, -0.5)]
        top = plate.depth * plate.axes[2]
        world = [plate.origin + i * plate.axes[1] + j * plate.axes[0] + top for i, j in ring]
        corners = np.asarray(self._project(world))
        first = int(np.argmin(np.hypot(*(corners - start).T)))
        last = int(np.argmin(np.hypot(*(corners - end).T)))
        step = 1 if (last - first) % 4 <= 2 else -1
        found = [corners[first]]
        while first != last:
            first = (first + step) % 4
            found.append(corners[first])
        return found


def pulse(path: ArrayLike, share: float, theme: Theme, *, back: bool) -> Sketch:
    """A disc at `share` (0..1) of its time along a path, and the line behind it."""
    sketch, points = Sketch(), np.asarray(path, np.float64)
    colour = theme.pulse if back else theme.text2
    gone = cut(points, share * share * (3.0 - 2.0 * share))  # slow at both ends
    sketch.polyline(gone, theme.background, 4.4)
    sketch.polyline(gone, colour, 2.2)
    x, y = (float(c) for c in gone[-1])
    sketch.disc(x, y, _RADIUS + 2.5, mixed(colour, theme.background, 0.55))
    sketch.disc(x, y, _RADIUS, theme.selection)
    return sketch


def cut(path: Floats, share: float) -> Floats:
    """The first part of a path, by its length."""
    lengths = np.hypot(*np.diff(path, axis=0).T)
    left = float(np.clip(share, 0.0, 1.0)) * float(lengths.sum())
    points = [path[0]]
    for length, start, end in zip(lengths, path[:-1], path[1:], strict=True):
        if left <= length:
            points.append(start + (end - start) * (left / max(float(length), 1e-9)))
            return np.array(points)
        points.append(end)
        left -= float(length)
    return path
