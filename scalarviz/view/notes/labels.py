"""Names beside plates and rows of activations, at places where they hide no cube and no other name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..ink.places import CHANNEL, LABEL
from ..ink.sketch import Anchor, Box, Sketch
from ..ink.text import measure, short
from ..ink.theme import Theme
from ..space.layout import Layout
from ..space.plate import Plate
from .rows import RowName, column_names, row_names, write
from .taken import Taken

Floats = NDArray[np.float64]
Project = Callable[[ArrayLike], Floats]
_LINE = 19.0
_BETWEEN = 6.0  # least air between two names in a line: "tanh6.weight" is none
_FAR = (41.0, 53.0, 67.0, 82.0)  # pixels from a plate up to its name, where no place near it is free
_UNITS = 90.0  # what the names of a row's numbers may take behind its own
_LIGHTLY = 0.45  # cost of a place that a line may touch at a corner, but not cross
_STAY = 0.8  # what it is worth to stay
_ENDS: tuple[Anchor, ...] = ("left", "left", "right", "right", "middle", "middle", "left", "right", "left")
"""The end of a text that stands at its plate, by the places around one: its words may be shorter than their room."""
_ENDS_ABOVE: tuple[Anchor, ...] = ("left", "right", "middle")


@dataclass(frozen=True, slots=True)
class PlateLabel:
    """A plate's title, its shape, and where they stand: the end at the plate, which one that is, and first baseline.

    `ranged` says whether the range has room.
    """

    name: str
    title: str
    shape: str
    x: float
    y: float
    anchor: Anchor
    ranged: bool = True


def _hull(plate: Plate, project: Project) -> Floats:
    return project(plate.corners)


def _around(points: Floats, width: float, height: float) -> list[tuple[float, float]]:
    """Places for a text beside projected corners: above, below and beside both ends, nearest and nicest first.

    Plates are slanted, so each end has its own top and bottom; further away is tried last.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    span = 0.25 * (high[0] - low[0]) + 1
    left, right = points[points[:, 0] < low[0] + span], points[points[:, 0] > high[0] - span]
    middle = float((low[0] + high[0] - width) / 2)
    places = []
    for gap in (7.0, 17.0, 29.0):
        above, below = left[:, 1].min() - height - gap, left[:, 1].max() + gap
        places += [
            (low[0] - 2, above), (low[0] + 8, below),
            (high[0] - width + 2, right[:, 1].min() - height - gap), (high[0] - width, right[:, 1].max() + gap),
            (middle, low[1] - height - gap), (middle, high[1] + gap),
            (high[0] + gap, right[:, 1].max() - height), (low[0] - width - gap, left[:, 1].mean() - height / 2),
            (high[0] + gap, right[:, 1].mean() - height / 2),
        ]  # fmt: skip
    return [(float(x), float(y)) for x, y in places]


def _above(points: Floats, width: float, height: float) -> list[tuple[float, float]]:
    """Places further up, over the ends and the middle: elsewhere a name so far away would seem another plate's."""
    low, high = points.min(axis=0), points.max(axis=0)
    starts = (low[0] - 2, high[0] - width + 2, (low[0] + high[0] - width) / 2)
    return [(float(x), float(low[1] - height - gap)) for gap in _FAR for x in starts]


def shape_text(plate: Plate, shape: tuple[int, ...]) -> str:
    """``16×3``; of an array that is folded also how; nothing of a lone number, whose value is its range."""
    if not shape or shape == (1,):
        return ""
    rows, cols = plate.grid.cells
    fold = f" in rows of {cols:,}" if plate.grid.folded and rows > 1 else ""
    return "×".join(f"{n:,}" for n in shape) + fold


def range_text(extents: Mapping[str, float], name: str, bound: str) -> str:
    """``±0.85``: `bound` and the range of a tensor; ``all 0`` of one without any other number."""
    return f"{bound}{short(extents[name])}" if extents[name] else "all 0"


def _together(names: Sequence[str]) -> str:
    """``r, g, b``; of many the first and the last."""
    line = ", ".join(names)
    return line if measure(line, LABEL) <= _UNITS else f"{names[0]} \N{HORIZONTAL ELLIPSIS} {names[-1]}"


class FlowLabels:
    """Places the labels of a layout once; writes their ranges anew with every frame.

    Parameters
    ----------
    shapes : mapping of str to tuple of int
        Of the tensors that get a label.
    kinds : mapping of str to str
        Stage name to what its row is called (``"tanh"``); the input's row is ``"input"``.
    box : Box
        The scene.
    units : mapping of str to sequence of str
        Names of the numbers of a row, by stage: one beside each cube where there is room, else after the row's name.
    before : FlowLabels, optional
        Of the camera a moment ago: a name stays on its side of a plate while there is room, so that names do not jump
        about while the scene turns.
    untrained : collection of str
        Tensors that nobody trains, which is said beside their shapes.
    titles : mapping of str to str, optional
        What tensors are called in the picture; default: by their names.
    sides : mapping of str to (sequence of str, sequence of str), optional
        Names of columns and of rows that stand at the plate itself, by tensor.

    Attributes
    ----------
    chosen : dict of str to int
        Which of the places around its plate each name has.
    """

    def __init__(
        self,
        layout: Layout,
        shapes: Mapping[str, tuple[int, ...]],
        kinds: Mapping[str, str],
        project: Project,
        box: Box,
        units: Mapping[str, Sequence[str]] | None = None,
        before: FlowLabels | None = None,
        untrained: Collection[str] = (),
        titles: Mapping[str, str] | None = None,
        sides: Mapping[str, tuple[Sequence[str], Sequence[str]]] | None = None,
    ) -> None:
        self.chosen: dict[str, int] = {}
        self._untrained = untrained
        self._before = {} if before is None else before.chosen
        self._titles = titles or {}
        self._taken = Taken(box)
        for plate in layout.plates:
            self._taken.add_polygon(_hull(plate, project))
        edges = [np.stack([tray, np.roll(tray, -1, axis=0)], axis=1) for tray in layout.trays]
        for start, end in np.concatenate([layout.flow, *edges]):
            self._taken.add_line(*project([start, end]))
        self._rows: list[tuple[float, float, str, str]] = []  # place, text, and the names of its numbers behind it
        self._units: list[RowName] = []
        self._columns: list[RowName] = []
        self.plates: list[PlateLabel] = []
        trays = {layout.plates[k].name: project(c) for k, c in zip(layout.tray_plates, layout.trays, strict=True)}
        for plate in layout.plates:  # they have one place, titles many
            if sides and plate.name in sides:
                columns, rows = sides[plate.name]
                self._columns += column_names(plate, columns, project, box[1] - 12, self._free)
                self._units += row_names(plate, rows, -1, project, self._taken, tray=trays.get(plate.name))
        for plate in layout.plates:
            if plate.kind != "activation" and plate.name in shapes:
                self._place_plate(plate, shapes[plate.name], _hull(plate, project))
        for plate in layout.plates:
            if plate.kind == "activation" and plate.name in kinds:
                names = tuple((units or {}).get(plate.name, ()))
                beside = self._place_units(plate, names, layout, project)
                self._place_row(plate.name, kinds[plate.name], _hull(plate, project), () if beside else names)

    def names(self, theme: Theme) -> Sketch:
        """The words that stay from frame to frame."""
        sketch = Sketch()
        for label in self.plates:
            sketch.text(label.x, label.y, label.title, CHANNEL, theme.text1, bold=True, anchor=label.anchor)
        write(sketch, self._units, theme)
        write(sketch, self._columns, theme, bold=True)
        for x, y, text, more in self._rows:
            sketch.text(x, y, text, LABEL, theme.text3)
            sketch.text(x + measure(text, LABEL), y, more, LABEL, theme.text2)
        return sketch

    def _best(
        self, key: str, places: list[tuple[float, float]], size: tuple[float, float], limit: float
    ) -> tuple[float, float] | None:
        """The cheapest place, the first among equals; None if even that one covers cubes."""
        width, height = size
        costs = [self._taken.cost((x, y, width, height)) + 0.02 * k for k, (x, y) in enumerate(places)]
        if key in self._before:
            costs[self._before[key]] -= _STAY
        best = int(np.argmin(costs))
        if costs[best] > limit:
            return None
        self.chosen[key] = best
        x, y = places[best]
        self._taken.add_box((x - _BETWEEN, y, width + 2 * _BETWEEN, height))
        return x, y

    def _place_plate(self, plate: Plate, shape: tuple[int, ...], hull: Floats) -> None:
        name, title = plate.name, self._titles.get(plate.name, plate.name)
        second = shape_text(plate, shape)
        second += " · not trained" if second and name in self._untrained else ""
        # The widest text the second line can become: places must not depend on the numbers.
        widest = measure(f"{second}   ±8.8e\N{MINUS SIGN}88", LABEL) if second else 0.0
        own = measure(title, CHANNEL, True)
        two, one = 2 * _LINE if second else _LINE, _LINE
        least = max(own, measure(second, LABEL))
        # First what stands after the name gives way, the range before the shape: a name rather than none.
        for text, width, height in ((second, max(own, widest), two), (second, least, two), ("", own, one)):
            for far in (False, True):
                places = _above(hull, width, height) if far else _around(hull, width, height)
                key, ends = (f"{name} far", _ENDS_ABOVE) if far else (name, _ENDS)
                spot = self._best(key, places, (width, height), limit=_LIGHTLY)
                if spot is not None:
                    anchor = ends[self.chosen[key] % len(ends)]
                    x = spot[0] + width * {"left": 0.0, "middle": 0.5, "right": 1.0}[anchor]
                    self.plates.append(PlateLabel(name, title, text, x, spot[1] + 14, anchor, width >= widest))
                    return

    def _free(self, x: float, y: float, width: float, height: float) -> bool:
        """Whether a box around (x, y) lies on no cube; takes it."""
        box = (x - width / 2, y - height / 2 + 4, width, height - 8)
        free = self._taken.cost(box) <= _LIGHTLY
        if free:
            self._taken.add_box(box)
        return free

    def _place_units(self, plate: Plate, names: Sequence[str], layout: Layout, project: Project) -> bool:
        """A name beside each of several cubes of a row, on the side away from its layer; whether they have room."""
        if len(names) < 2:
            return False  # one name is shorter behind the row's own
        others = [p for p in layout.plates if p is not plate]
        middle = plate.bounds.mean(axis=0)
        nearest = min(others, key=lambda p: float(np.abs(p.bounds.mean(axis=0) - middle).sum()), default=None)
        away = 1.0 if nearest is None else float((middle - nearest.bounds.mean(axis=0)) @ plate.axes[0])
        for side in (1, -1) if away >= 0 else (-1, 1):
            found = row_names(plate, names, side, project, self._taken)
            if found:
                self._units += found
                return True
        return False

    def _place_row(self, name: str, text: str, points: Floats, units: Sequence[str]) -> None:
        after = f"  {_together(units)}" if units else ""
        for more in dict.fromkeys((after, "")):
            width = measure(text, LABEL) + measure(more, LABEL)
            places = _around(points, width, _LINE)
            near = [places[k] for k in (1, 3, 5, 8, 0, 2, 4, 7, 6)]
            key = f"row {name}" if more == after else f"row {name} alone"
            spot = self._best(key, near + places[9:], (width, _LINE), limit=_LIGHTLY)
            if spot is not None:
                self._rows.append((spot[0], spot[1] + 14, text, more))
                return

    def free_place(self, width: float, height: float, before: Box | None = None) -> Box | None:
        """A free rectangle of this size: `before` or as far to the lower right of the scene as there is one.

        It is taken from now on.
        """
        if before is not None:
            box = (before[0] - 12, before[1] - 8, width + 24, height + 16)
            if self._taken.cost(box) == 0.0:
                self._taken.add_box(box)
                return before
        left, top, wide, high = self._taken.box
        for y in np.arange(top + high - height - 8, top + 0.4 * high, -16.0):
            for x in np.arange(left + wide - width - 24, left + 0.3 * wide, -16.0):
                box = (float(x) - 12, float(y) - 8, width + 24, height + 16)
                if self._taken.cost(box) == 0.0:
                    self._taken.add_box(box)
                    return float(x), float(y), width, height
        return None

    def ranges(self, extents: Mapping[str, float], theme: Theme, bound: str = "±") -> Sketch:
        """The second lines: shape, and `bound` and the range of each tensor in `extents`."""
        sketch = Sketch()
        if theme.presenter:
            return sketch
        for label in self.plates:
            span = f"   {range_text(extents, label.name, bound)}" if label.ranged and label.name in extents else ""
            if label.shape:
                sketch.text(label.x, label.y + _LINE, label.shape + span, LABEL, theme.text2, anchor=label.anchor)
        return sketch
