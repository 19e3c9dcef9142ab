"""Names around plates and rows of activations, at places where they hide no cube and no other name.

`FlowLabels` are those of any layout, `TurnLabels` those of small layers whose flow turns, `PlanLabels` those of a
scene's own plan, at the places of its blueprint. `own_labels` are those given to cubes by hand.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from math import inf

import numpy as np

from ..cubes.looks import CubeLook
from ..cubes.picking import Shares
from ..ink.boxes import CHANNEL, LABEL
from ..ink.sketch import Anchor, Bound, Box, Point, Sketch, contains
from ..ink.text import measure
from ..ink.theme import Theme
from ..space.arrangement import Blueprint, Grid, Layout, Plate, Project
from ..space.camera import DOWN, Camera, Floats
from .placer import LIGHTLY, Line, Name, Notes, Number, Option, Placer, column_names, face_distances, row_names

_LINE = 19.0
_BETWEEN = 6.0  # least air between two names in a line, or they read as one
_FAR = (41.0, 53.0, 67.0, 82.0)  # pixels from a plate up to its name, if no place near it is free
_UNITS = 90.0  # most pixels of the names of a row's numbers after its own
_CLEARLY, _MIDDLE_CLEARLY, _ALONE_CLEARLY = 8.0, 2.0, 14.0
"""Pixels by which a name, its middle, and the name of a single cube are nearer to their own plate than to others."""
_LATER = 0.02  # extra cost of a place over the better one before it
_NUDGE = 8.0  # pixels that a name comes nearer to its plate, to stay in the picture
_ENDS: tuple[Anchor, ...] = ("left", "left", "right", "right", "middle", "middle", "left", "right", "left")
"""The end of a text that is nearest to its plate, by place; the words may be shorter than their room."""
_ENDS_ABOVE: tuple[Anchor, ...] = ("left", "right", "middle")


class Labels(Notes):
    """The names of a whole network, in a `box`."""

    def __init__(self, box: Box) -> None:
        super().__init__()
        self._placer = Placer(box)
        # room for `free_place`, if any: its top, and a box that is used only without another place
        self._room: tuple[float, Box | None] | None = None

    def free_place(self, width: float, height: float, before: Box | None = None) -> Box | None:
        """Reserve a free rectangle: `before`, or the one furthest to the lower right; None without one."""
        return None if self._room is None else self._placer.corner((width, height), before, *self._room)


def shape_text(plate: Plate, shape: tuple[int, ...]) -> str:
    """Return the shape as ``16×3``; for a folded array also how; empty for a single number.

    ``3 in × 16 out`` for a matrix whose rows, one for each output, are side by side.
    """
    if not shape or shape == (1,):
        return ""
    across = _across(plate) or plate.axes[0] @ DOWN > 0.5
    if len(shape) == 2 and shape[0] != shape[1] and across and not plate.grid.folded:
        return f"{shape[1]:,} in × {shape[0]:,} out"
    rows, cols = plate.grid.cells
    fold = f" in rows of {cols:,}" if plate.grid.folded and rows > 1 else ""
    return "×".join(f"{n:,}" for n in shape) + fold


def _around(points: Floats, width: float, height: float) -> list[Point]:
    """Return places for a text beside projected corners: above, below and beside both ends, nearest and best first.

    Plates are slanted, so each end has its own top and bottom; places further away come last.
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


def _above(points: Floats, width: float, height: float) -> list[Point]:
    """Return places further up, over the ends and the middle; elsewhere such a name would seem another plate's."""
    low, high = points.min(axis=0), points.max(axis=0)
    starts = (low[0] - 2, high[0] - width + 2, (low[0] + high[0] - width) / 2)
    return [(float(x), float(low[1] - height - gap)) for gap in _FAR for x in starts]


class FlowLabels(Labels):
    """Places the labels of a layout once; writes their ranges for every frame.

    `shapes` are those of the tensors with a label, `kinds` the names of the rows of stages, `units` the names of a
    row's numbers: one beside each cube if there is room, else after the row's name. `sides` are names of columns and
    rows at a tensor's own plate. With `before`, the labels of a moment ago, a name keeps its side of a plate while
    there is room, so that names do not jump while the scene turns. For a presenter titles have no second line.
    """

    def __init__(
        self,
        layout: Layout,
        shapes: Mapping[str, tuple[int, ...]],
        kinds: Mapping[str, str],
        project: Project,
        box: Box,
        *,
        units: Mapping[str, Sequence[str]] | None = None,
        before: FlowLabels | None = None,
        untrained: Collection[str] = (),
        titles: Mapping[str, str] | None = None,
        sides: Mapping[str, tuple[Sequence[str], Sequence[str]]] | None = None,
        hall: bool = False,
    ) -> None:
        super().__init__(box)
        self.chosen: dict[str, int] = {}  # index of each name's place around its plate
        self._before = {} if before is None else before.chosen
        self._project, self._hall, self._untrained = project, hall, untrained
        self._room, self._top = (box[1] + 0.4 * box[3], None), box[1]
        hulls = [project(plate.corners) for plate in layout.plates]
        for hull in hulls:
            self._placer.add_polygon(hull)
        self._faces = {p: project(p.corners[4:]) for p in layout.plates
                       if p.name in (kinds if p.kind == "activation" else shapes)}  # fmt: skip
        edges = [np.stack([tray, np.roll(tray, -1, axis=0)], axis=1) for tray in layout.trays]
        for start, end in np.concatenate([layout.flow, *edges]):
            self._placer.add_line(*project([start, end]))
        trays, free = layout.trays_on(project), partial(self._placer.free, most=LIGHTLY)
        for plate in layout.plates:  # these have one place, titles many
            columns, rows = (sides or {}).get(plate.name, ((), ()))
            self.names += column_names(plate, columns, project, box[1] - 12, free)
            self.names += row_names(plate, rows, -1, project, self._placer, trays.get(plate.name))
        for plate, hull in zip(layout.plates, hulls, strict=True):
            if plate.kind != "activation" and plate.name in shapes:
                shape = shape_text(plate, shapes[plate.name])
                shape += " · not trained" if shape and plate.name in untrained else ""
                self._place_plate(plate, (titles or {}).get(plate.name, plate.name), shape, hull)
        for plate, hull in zip(layout.plates, hulls, strict=True):
            if plate.kind == "activation" and plate.name in kinds:
                names = tuple((units or {}).get(plate.name, ()))
                beside = self._place_units(plate, names, layout)
                self._place_row(plate, kinds[plate.name], hull, () if beside else names)

    def _best(self, key: str, places: list[Point], size: Point, plate: Plate, clear: float | None) -> Point | None:
        """Return the cheapest place, the first among equals; None if each covers cubes, or is nearer to another plate.

        `clear`: 1 for clearly nearer to its plate than to others, 0 for no farther, None for anywhere.
        """
        fits = None if clear is None else partial(self._is_own, plate, clear)
        ways = [[(*place, *size)] for place in places]
        stay = self._before.get(key)
        found = self._placer.place(ways, most=LIGHTLY, later=_LATER, stay=stay, air=_BETWEEN, fits=fits)
        if found is None:
            return None
        self.chosen[key] = found
        return places[found]

    def _is_own(self, plate: Plate, clear: float, way: Option) -> bool:
        """Return whether a name and its middle are nearer to its plate than to any other with a name of this kind."""
        x, y, wide, high = way[0]
        like = {plate.kind} if plate.name not in self._untrained else {p.kind for p in self._faces}  # these are small
        others = [face for p, face in self._faces.items() if p.kind in like and p is not plate]
        faces = np.array([self._faces[plate], *others])
        all_over = _CLEARLY if plate.size > 1 else _ALONE_CLEARLY
        for box, clearly in (((x + wide / 2, y + high / 2, 0.0, 0.0), _MIDDLE_CLEARLY), (way[0], all_over)):
            own, *away = face_distances(box, faces).tolist()
            if own + clear * clearly > min(away, default=inf):
                return False
        return True

    def _place_plate(self, plate: Plate, title: str, second: str, hull: Floats) -> None:
        # The widest possible second line: places must not depend on the numbers.
        name = plate.name
        widest = measure(f"{second}   ±8.8e\N{MINUS SIGN}88", LABEL) if second else 0.0
        alone, two = measure(title, CHANNEL, True), 2 * _LINE if second else _LINE
        least = max(alone, measure(second, LABEL))
        # Drop the range first, then the shape, and the name last. A name nearer to another plate is dropped too,
        # because it would seem to be that plate's.
        forms = ((second, max(alone, widest), two), (second, least, two), ("", alone, _LINE))
        around = ((name, _ENDS, _around), (f"{name} far", _ENDS_ABOVE, _above))
        for clear, (text, width, height), (key, ends, places) in product((1.0, 0.0), forms, around):
            nudged = [(x, min(max(y, self._top), y + _NUDGE)) for x, y in places(hull, width, height)]
            spot = self._best(key, nudged, (width, height), plate, clear)
            if spot is None:
                continue
            anchor = ends[self.chosen[key] % len(ends)]
            x = spot[0] + width * {"left": 0.0, "middle": 0.5, "right": 1.0}[anchor]
            y = spot[1] + 14
            self.names.append(Name(title, x, y, CHANNEL, anchor, True, 1))
            if text and not self._hall:
                bound = Bound(name, form="range", before=f"{text}   ")
                if width >= widest:
                    self.numbers.append(Number(x, y + _LINE, bound, LABEL, anchor, False, 2, text))
                else:
                    self.names.append(Name(text, x, y + _LINE, anchor=anchor))
            return

    def _place_units(self, plate: Plate, names: Sequence[str], layout: Layout) -> bool:
        """Place a name beside each of several cubes of a row, on the side away from its layer; return if they fit."""
        if len(names) < 2:
            return False  # a single name is shorter after the row's own
        middle = plate.bounds.mean(axis=0)
        ways = [middle - p.bounds.mean(axis=0) for p in layout.plates if p is not plate]
        nearest = min(ways, key=lambda way: float(np.abs(way).sum()), default=plate.axes[0])
        for side in (1, -1) if nearest @ plate.axes[0] >= 0 else (-1, 1):
            found = row_names(plate, names, side, self._project, self._placer)
            if found:
                self.names += found
                return True
        return False

    def _place_row(self, plate: Plate, text: str, points: Floats, units: Sequence[str]) -> None:
        units = () if tuple(units) == (text,) else units  # one name is enough
        line = ", ".join(units)
        ends = f"{units[0]} \N{HORIZONTAL ELLIPSIS} {units[-1]}" if len(units) > 2 else line
        lines = [ends] if measure(line, LABEL) > _UNITS else [line, ends]  # of many only the first and the last
        forms = [*((text, f"  {line}") for line in lines if units), (text, "")]  # units never without their row
        for clear, (name, more) in product((1.0, None), dict.fromkeys(forms)):
            wide = measure(name, LABEL)
            places = _around(points, wide + measure(more, LABEL), _LINE)
            near = [places[k] for k in (1, 3, 5, 8, 0, 2, 4, 7, 6)]
            key = f"row {plate.name}" if (name, more) == forms[0] else f"row {plate.name} alone"
            spot = self._best(key, near + places[9:], (wide + measure(more, LABEL), _LINE), plate, clear)
            if spot is not None:
                x, y = spot[0], spot[1] + 14
                self.names += [Name(name, x, y, tone=3), Name(more, x + wide, y)]
                return


# ---- Small layers whose flow turns.

_ASIDE, _OVER = 12.0, 10.0  # from a strip of biases to its word
_CARD = (340.0, 160.0)  # the upper right corner, where the card of a neuron opens


class TurnLabels(Labels):
    """The words around small layers whose flow turns at each layer.

    `inputs` are the names of the first layer's inputs; empty if another part shows them.
    """

    def __init__(self, layout: Layout, inputs: Sequence[str], project: Project, box: Box) -> None:
        super().__init__(box)
        self._room = box[1] + 8, (box[0] + box[2] - _CARD[0], box[1], *_CARD)  # the card of a neuron opens there
        self._placer.add_cubes((*layout.plates, *layout.spots), project)
        first = next(plate for plate in layout.plates if plate.kind == "weight")
        self.names += self._inputs(first, inputs, project)
        if not inputs:  # the part with the inputs has lines to the layer
            for k in range(first.shape[1]):
                x, y = (float(v) for v in project(first.cell_corners(0, k)[4:]).mean(axis=0))
                self._placer.add_box((x - 90.0, y - 8.0, 60.0, 32.0))
        for plate in layout.plates:
            if plate.kind == "bias":
                places = _bias_places(plate, project)
                found = self._placer.place([[(*p.box[:1], p.y - 13.0, p.box[2], 16.0)] for p in places], most=0.5)
                self.names += [] if found is None else [places[found]]

    def _inputs(self, first: Plate, names: Sequence[str], project: Project) -> list[Name]:
        """Return names beside the first layer's rows, which are its columns drawn downwards."""
        across = first.shape[::-1]
        turned = replace(first, grid=Grid(across, across), axes=first.axes[[1, 0, 2]])
        return row_names(turned, names, -1, project, self._placer)


def _across(plate: Plate) -> bool:
    """Return whether a layer's outputs are side by side."""
    return abs(float(plate.axes[1] @ [1.0, 0.0, 0.0])) > 0.5


def _bias_places(plate: Plate, project: Project) -> list[Name]:
    """Return the word beside a strip of biases, at the height of a main face, or above it."""
    faces = [project(plate.cell_corners(k)[4:]) for k in (0, plate.size - 1)]
    if _across(plate):  # its cubes are side by side: left of the first, right of the last
        (left, y), (right, other) = ((face[:, 0], float(face[:, 1].mean()) + 5.0) for face in faces)
        return [Name("bias", float(left.min()) - _ASIDE, y, CHANNEL, "right", True),
                Name("bias", float(right.max()) + _ASIDE, other, CHANNEL, "left", True)]  # fmt: skip
    face = min(faces, key=lambda face: float(face[:, 1].mean()))
    return [Name("bias", float(face[:, 0].mean()), float(face[:, 1].min()) - _OVER, CHANNEL, "middle", True)]


# ---- A scene's own plan.

PLUS = 8.0
"""Radius of the disc with a plus."""
_ARROW, _WIRE = 7.0, 1.4


class PlanLabels(Labels):
    """Titles, names and wires of a blueprint as one camera shows it; parts outside the `box` are left out."""

    def __init__(self, sheet: Blueprint, box: Box) -> None:
        super().__init__(box)
        self._box = box
        for wire in sheet.wires:  # the part inside: its segments are parallel to the screen's axes
            low, high = np.array(box[:2]), np.array(box[:2]) + box[2:]
            points: Floats = np.clip(wire.points, low, high)
            if not np.any(np.all(wire.points < low, axis=0) | np.all(wire.points > high, axis=0)):
                whole = np.array_equal(points[-1], wire.points[-1])
                self.lines.append(Line(points, _WIRE, _ARROW if wire.arrow and whole else 0.0))
        self._pluses = [(x, y) for x, y in sheet.pluses if self._inside(x - PLUS, y - PLUS, 2 * PLUS, 2 * PLUS)]
        for head in sheet.headings:
            if self._inside(head.x, head.y - 20, head.width, 24):
                count, wide = f"{head.count:,}", measure(head.text, CHANNEL, True)
                self._write(head.text, head.x, head.y - 6, CHANNEL, 1, bold=True)
                if wide + 8 + measure(count, CHANNEL) <= head.width + 30:
                    self._write(count, head.x + wide + 8, head.y - 6, CHANNEL, 3)
                self.lines.append(Line([(head.x, head.y), (head.x + head.width, head.y)], 1.0))
        fits = sheet.note if sheet.says_words(measure(sheet.words, LABEL)) else None
        if fits is not None and self._inside(fits[0], fits[1] - 12, fits[2], 14):
            self._write(sheet.words, *fits[:2], LABEL, 3)
        for name in sheet.captions:
            shape = name.shape
            if self._inside(name.x, name.y, name.width, 36):
                self._write(name.title, name.x, name.y + 17, CHANNEL, 1, bold=True)
                if measure(shape, LABEL) <= name.width:
                    said = Bound(name.tensor, form="range", before=f"{shape} ", within=name.width)
                    self.numbers.append(Number(name.x, name.y + 33, said, LABEL, "left", False, 2, shape))
        for note in sheet.notes:
            if self._inside(note.x, note.y - note.size, measure(note.text, note.size, note.bold), note.size):
                self._write(note.text, note.x, note.y, note.size, note.tone, bold=note.bold)

    def _write(self, text: str, x: float, y: float, size: float, tone: int, *, bold: bool = False) -> None:
        self.names.append(Name(text, x, y, size, bold=bold, tone=tone))

    def _inside(self, x: float, y: float, width: float, height: float) -> bool:
        left, top, wide, high = self._box
        return left <= x and top <= y and x + width <= left + wide and y + height <= top + high

    def static_sketch(self, theme: Theme) -> Sketch:
        """Draw a plus on the wires where something is added."""
        sketch = super().static_sketch(theme)
        for x, y in self._pluses:
            sketch.disc(x, y, PLUS, theme.background, stroke=theme.text2, border=1.4)
            sketch.lines([[x - 4, y], [x, y - 4]], [[x + 4, y], [x, y + 4]], theme.text1, 1.4)
        return sketch


# ---- labels given to cubes by hand


_PAD, _HIGH = 7.0, 20.0
_AWAY = (16.0, 30.0, 46.0, 64.0, 84.0, 106.0)  # pixels above a cube at which its label is tried


def own_labels(
    own: Mapping[int, CubeLook],
    plates: Sequence[Plate],
    camera: Camera,
    project: Project,
    shares: Shares,
    box: Box,
    theme: Theme,
    around: Sequence[Sketch] = (),
) -> Sketch:
    """Return the labels given by hand above their cubes, each with a line to the far edge of its face.

    `own` is by flat index; labels stay in `box`, and if there is room, off the words of `around`.
    """
    sketch, placer = Sketch(), Placer(box)
    placer.add_texts(around)
    for index, look in sorted(own.items()):
        end = _edge(index, plates, camera, project, shares) if look.label else None
        if end is None or not contains(box, end):
            continue
        width = measure(look.label, LABEL) + 2 * _PAD
        ways = list(_label_options(end, width, box))
        x, y, _, _ = ways[placer.place(ways, most=np.inf, later=0.0) or 0][0]
        sketch.line(_foot(x, y, width, end), end, theme.selection, 1.4)
        sketch.disc(*end, 2.5, theme.selection)
        sketch.rect(x, y, width, _HIGH, radius=4, fill=theme.panel, stroke=theme.selection)
        sketch.text(x + _PAD, y + 14.5, look.label, LABEL, theme.text1)
    return sketch


def _edge(index: int, plates: Sequence[Plate], camera: Camera, project: Project, shares: Shares) -> Point | None:
    """Return the middle of the upper edge of a cube's face in the picture; None if it is not drawn."""
    for number, plate in enumerate(plates):
        element = index - plate.start
        if plate.kind != "activation" and 0 <= element < plate.size:
            share = shares(number, element)
            face = plate.corners_of(element, share)[[4, 5, 7, 6]]
            if share <= 0.0 or not camera.before(face):
                return None
            middles = project((face + np.roll(face, -1, axis=0)) / 2)
            x, y = middles[int(np.argmin(middles[:, 1]))].tolist()
            return x, y
    return None


def _label_options(end: tuple[float, float], width: float, box: Box) -> Iterator[Option]:
    """Yield places for a label above a point, inside the box, the nearest first, with the points of its line."""
    x0, y0, wide, _ = box
    for away in _AWAY:
        for aside in (0.0, 0.6, -0.6, 1.2, -1.2):
            x = min(max(end[0] + (aside - 0.5) * width, x0 + 5), x0 + wide - width - 5)
            y = max(end[1] - away - _HIGH, y0 + 2)
            line = np.linspace(_foot(x, y, width, end), end, 9)[:-1].tolist()
            yield [(x, y, width, _HIGH), *((px, py, 1.0, 1.0) for px, py in line)]


def _foot(x: float, y: float, width: float, end: Point) -> Point:
    """Return the point where the line leaves a label."""
    return min(max(end[0], x + 4), x + width - 4), y + _HIGH
