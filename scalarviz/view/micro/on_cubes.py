"""Texts of an opened step on cubes and beside them: two lines on a cube, numbers and deltas of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...run.opened.digits import MINUS, number
from ...run.questions.ranges import Range
from ..cubes.scale import Coloring
from ..ink.boxes import CHANNEL, LABEL
from ..ink.sketch import BACK, DELTA, FACTOR, GRADIENT, WEIGHT, Bound, Box, Colour, Sketch, meet
from ..ink.text import WRITTEN, measure
from ..ink.theme import Theme, chip_colour, get_map, hue, mixed, text_colour
from ..notes.layer import Rows
from ..notes.placer import HIGH as CHIP
from ..notes.scenery import CubeValues, face_quads, face_room, shades_at
from ..space.arrangement import Plate, Project
from ..space.layout import FEW, Layout
from .equations import bounds
from .light import Sums
from .step_view import CubeText

Floats = NDArray[np.floating]

# ---- Two lines on a cube: how its number is made, and the number; with little room only the number.

_BELOW = (20, 18, 17, 16, 15, 14, 13)  # sizes of type
_TWO, _LINES = 40.0, 2.6
"""Pixels of a face from top to bottom that hold two lines: at least, and per size of the lower one."""
_AIR, _CLOSE = 6.0, 3.0  # beside two lines, and beside a number that stands alone
_FORMS = {"product": "signed chip", "gradient": "delta"}  # of the numbers of quantities
_SIGNS = "= ", "≈ ", "w' "  # before a number


class CubeTexts:
    """Finds room for texts on the cubes of a layout; `values` says which cubes can be read, and where."""

    def __init__(self, layout: Layout, project: Project, values: CubeValues) -> None:
        plates = [plate for plate in layout.plates if plate.kind != "activation"]
        readable = sum(p.size for p in plates) <= FEW and (values.size > 0 or not values.moved)
        self._plates = plates if readable else []
        self._room = {plate.name: face_room(plate, project) for plate in self._plates}
        self._values, self._project = values, project

    def written(self, faces: Mapping[int, CubeText], *, one: bool) -> list[int]:
        """Return the cubes that have a text: two lines, or with `one` the number alone."""
        return [plate.start + element for plate, own, _ in self._formed(faces, one=one) for element in own]

    def sketch(self, faces: Mapping[int, CubeText], colouring: Coloring, weights: Floats, *, one: bool) -> Sketch:
        """Return the texts of cubes, in a colour that can be read on them; `weights` are the present ones."""
        sketch = Sketch(passing=True)
        units = colouring.units() if faces and self._room else {}
        for plate, own, (two, size, bold) in self._formed(faces, one=one):
            colours = shades_at(colouring.cmap, units[plate.name].ravel())
            here = self._project(plate.tops), np.ones(plate.size, bool)  # where no number stands
            centres, seen = self._values.places(plate) if self._values.size else here
            for element, face in ((k, face) for k, face in own.items() if seen[k]):
                (x, y), ink = centres[element], text_colour(colours[element])
                room = self._room[plate.name][0]
                below, down = (face.below, 0.88 * size) if two else (_bare(face.below, room), 0.357 * size)
                said = _bound(below, plate.start + element, colouring, weights)
                if two:
                    above, said = _face(face, plate.start + element, colouring.quantity, said)
                    sketch.text(x, y - 0.2 * size, face.above, _above(size), ink, anchor="middle", bound=above)
                sketch.text(x, y + down, below, size, ink, bold=bold, anchor="middle", bound=said)
        return sketch

    def _formed(
        self, faces: Mapping[int, CubeText], *, one: bool
    ) -> list[tuple[Plate, dict[int, CubeText], tuple[bool, int, bool]]]:
        """Return the texts that have room, by plate and element, and their form."""
        found = []
        for plate in self._plates:
            own = {index - plate.start: face for index, face in faces.items() if 0 <= index - plate.start < plate.size}
            form = self._form(plate, own, one=one) if own else None
            if form is not None:
                found.append((plate, own, form))
        return found

    def _form(self, plate: Plate, faces: Mapping[int, CubeText], *, one: bool) -> tuple[bool, int, bool] | None:
        """Return whether there are two lines, the number's size, whether it is bold; None without room."""
        wide, high = self._room[plate.name]

        def widest(texts: Iterable[str]) -> str:
            return max(texts, key=lambda text: measure(text, LABEL, True))

        above, below = widest(face.above for face in faces.values()), widest(face.below for face in faces.values())
        for size in () if one else _BELOW:
            lines = max(measure(above, _above(size)), measure(below, size, True))
            if max(_LINES * size, _TWO) <= high and lines + _AIR <= wide:
                return True, size, True
        bare = widest(_bare(face.below, wide) for face in faces.values())
        sizes = [(s, True) for s in _BELOW] + [(LABEL, False)]
        fitting = [(s, bold) for s, bold in sizes if measure(bare, s, bold) + _CLOSE <= wide and s + 4 <= high]
        return (False, *fitting[0]) if fitting else None


def _face(face: CubeText, index: int, quantity: str, said: Bound | None) -> tuple[Bound, Bound | None]:
    """Return which numbers both lines show: those of a product; else the lower line shows what it `said` before."""
    names = {"product": (WEIGHT, FACTOR), "gradient": (GRADIENT, BACK, FACTOR)}.get(quantity, ())
    if not names or not face.factors:
        return Bound(None), said
    above, below = bounds(f"{quantity} face", (face.above, face.below), [(name, index) for name in names], face.factors)
    return above, below if below.name else said


def _bound(text: str, index: int, colouring: Coloring, weights: Floats) -> Bound | None:
    """Return which number of a cube a text shows, after a sign or a letter: that of the colours, or the new weight."""
    start, digits = next((sign for sign in _SIGNS if text.startswith(sign)), ""), len(text.partition(".")[2])
    numbers, name, form = colouring.flat, colouring.quantity, _FORMS.get(colouring.quantity, "")
    if name == "change":
        numbers, name, form = weights, "weight", f"{digits} decimals"
    said = Bound(name, index, form, start)
    return said if form in WRITTEN and said.text(float(numbers[index])) == text else None


def _above(size: int) -> int:
    """Return the size of the line above a number of this size."""
    return max(LABEL, size - 4)


def _bare(text: str, wide: float) -> str:
    """Return the number alone; a new weight gets fewer decimals if there is no room for all."""
    said = next((text.removeprefix(sign) for sign in _SIGNS if text.startswith(sign)), text)
    while text.startswith("w' ") and measure(said, LABEL) + _CLOSE > wide and len(said.partition(".")[2]) > 1:
        digits = len(said.partition(".")[2]) - 1
        said = number(float(text[3:].replace(MINUS, "-").replace(",", "")), digits, signed=True)
    return said


# ---- Deltas as chips under the outputs of a single layer, each with the line by which it came back.

HIGH, _LEAST, _FLAT = 21.0, 16.0, 17.0
"""Height of a delta's chip, close below its row's chips; the least that can be read; that of one above them."""
_UNDER = 4.0  # from those chips
_WIDEST = "−0.0088"  # of deltas


def delta_boxes(rows: Rows, scene: Box) -> list[Box] | None:
    """Return the boxes of the chips by row: below the sums, or around them without room; None without chips."""
    if len(rows.columns) < 2:
        return None
    levels = np.sort(rows.anchors[:, 1])
    apart = float(np.diff(levels).min()) if len(levels) > 1 else 2 * CHIP
    high = min(HIGH, apart - CHIP - 7)
    down = CHIP / 2 + _UNDER + high / 2
    foot = scene[1] + scene[3]
    if high < _LEAST or rows.raised or levels[-1] + down + high / 2 > foot + _UNDER:
        high, down = _FLAT if rows.raised else CHIP, -rows.raised
    left, right = 12.0, rows.columns["output"][0] - 14
    if levels[-1] + down + high / 2 > foot + 60:
        return None
    return [(float(x + left), float(y + down - high / 2), float(right - left), float(high)) for x, y in rows.anchors]


def covers_sums(rows: Rows, boxes: list[Box]) -> bool:
    """Return whether the chips of the deltas take the places of the sums."""
    return boxes[0][1] + boxes[0][3] / 2 == rows.edge(0, "sum", 0)[1]


def delta_chips(rows: Rows, boxes: list[Box], theme: Theme, stage: str, deltas: Floats, *, mean: bool) -> Sketch:
    """Return the chips of a stage's deltas that are known (NaN: not yet); `mean`: each is one over a batch."""
    sketch = Sketch(over=True, passing=True)
    for row, (box, delta) in enumerate(zip(boxes, deltas, strict=True)):
        if delta != delta:
            continue
        x, y, wide, high = box
        if not mean:
            x, wide = x + 14, wide - 14
        turn, ay = rows.edge(row, "output", 0)
        middle, ink = y + high / 2, hue(theme, MINUS * int(delta < 0))
        if middle == rows.edge(row, "sum", 0)[1]:  # no room below: it takes the place of the sum
            (column, (_, chip)), *_ = rows.columns.items()
            wide = max(chip, measure(f"δ {_WIDEST}", LABEL, True) + 6)
            x = rows.edge(row, column, 1)[0] - wide
            said = Bound(f"{DELTA}{stage}", row, "delta", "δ ")
            sketch.rect(x, y, wide, high, radius=6, fill=mixed(ink, theme.panel, 0.2), stroke=ink, border=2.4)
            sketch.number(x + wide / 2, middle + 4.7, float(delta), said, LABEL, theme.text1)
            continue
        sketch.line((turn, ay + CHIP / 2), (turn, middle), ink, 1.4)
        sketch.arrow((turn, middle), (x + wide, middle), ink, 1.4)
        sketch.rect(x, y, wide, high, radius=6, fill=mixed(ink, theme.panel, 0.2), stroke=ink, border=1.6)
        before = "mean δ " if mean else "δ "
        size = CHANNEL if measure(f"{before}{_WIDEST}", CHANNEL, True) <= wide - 8 and high >= HIGH else LABEL
        ways = (before, "δ ", "")  # the chip's colour and line tell what it is
        before = next((way for way in ways if measure(f"{way}{_WIDEST}", size, True) <= wide - 6), "")
        said = Bound(f"{DELTA}{stage}", row, "delta", before)
        sketch.number(x + wide / 2, y + high / 2 + 5.2, float(delta), said, size, theme.text1)
    return sketch


# ---- Numbers and deltas of rows between layers.

_LEVEL = 18.0  # height of a chip
SECOND = 64
"""Up to this many units, a row has its deltas beside them, as a second line."""
_ASIDE = ((0.0, 0.0), (-10.0, 0.0), (10.0, 0.0), (0.0, -12.0), (0.0, 12.0))
"""Shifts of a number from its place, in logical pixels, if a name is in the way."""
_STRIP = 0.4  # how far a delta without room for its number reaches beyond its cube, in sides


_FACE = 20.0  # pixels of a cube beside which a number can stand without hiding it


class RowPlace(NamedTuple):
    """The places of a row's numbers, in logical pixels."""

    name: str
    tops: Floats  # (N, 2), middles of the main faces; for a picture in their place, middles of its far edges
    feet: Floats  # (N, 2), middles of the near edges
    strips: Floats  # (N, 4, 2), quads next to the near edges
    apart: tuple[float, float]  # distance between neighbours, across and down
    drawn: bool  # whether cubes show the row's numbers
    face: float = _FACE  # the smaller side of a face
    bare: bool = False  # whether the cubes have no room for texts, but there is room beside them


def row_places(layout: Layout, project: Project, inputs: int, values: CubeValues) -> list[RowPlace]:
    """Return the rows whose numbers can have chips; those of inputs without cubes stand before the first layer."""
    found = []
    for plate in (*(p for p in layout.plates if p.kind == "activation"), *layout.spots):
        if plate.size > SECOND:
            continue
        drawn = plate not in layout.spots
        tops = plate.tops
        edges = [side * plate.half * plate.axes[axis] for axis in (0, 1) for side in (-1, 1)]
        near = max(range(4), key=lambda k: float(project(tops + edges[k])[:, 1].mean()))
        foot = edges[near]
        feet, heads, aside, out = tops + foot, tops - foot, edges[2 if near < 2 else 0], foot * (1 + 2 * _STRIP)
        ring = (foot - aside, foot + aside, out + aside, out - aside)
        strips = np.stack([tops + corner for corner in ring], axis=1)
        places = project(tops if drawn else heads)
        apart = np.abs(np.diff(places, axis=0)).min(axis=0, initial=np.inf)
        found.append(RowPlace(plate.name, places, project(feet), project(strips.reshape(-1, 3)).reshape(-1, 4, 2),
                              (float(apart[0]), float(apart[1])), drawn, min(face_room(plate, project)),
                              drawn and not values.writes(plate)))  # fmt: skip
    if any(place.bare for place in found):
        faces = np.concatenate([face_quads(plate, project) for plate in layout.plates if plate.kind != "activation"])
        found = [place._replace(bare=place.bare and _room_outside(place, faces)) for place in found]
    first = next((p for p in layout.plates if p.kind == "weight"), None)
    if layout.turns and first is not None and first.shape[1] == inputs and "input" not in {p.name for p in found}:
        left = np.array([project(first.cell_corners(0, k)[4:]).min(axis=0) for k in range(inputs)])
        middles = np.array([project(first.cell_corners(0, k)[4:]).mean(axis=0)[1] for k in range(inputs)])
        at = np.stack([left[:, 0] - 30.0, middles], axis=1)
        found.append(RowPlace("input", at, at, np.zeros((inputs, 0, 2)), (0.0, 20.0), drawn=False))
    return found


def row_chips(
    places: Sequence[RowPlace], theme: Theme, window: Box, rows: Mapping[str, Floats], sums: Mapping[str, Sums],
    stage: str, deltas: Mapping[str, tuple[str, Floats]], chosen: Range, names: Sequence[Box] = (),
) -> list[Sketch]:  # fmt: skip
    """Return chips inside `window`: numbers that no cube shows, sums of a `stage`, and deltas with their stages.

    No chip covers one of the `names`.
    """
    chips, outside, cmap = Chips(theme, window, names), Sketch(over=True), get_map("gradient", theme)
    for place in places:
        own, added, (source, back) = rows.get(place.name), sums.get(place.name), deltas.get(place.name, ("", None))
        large, down = place.face >= _FACE, np.array([0.0, 0.0 if place.drawn else 6.0])
        for k, (top, foot) in enumerate(zip(place.tops + down, place.feet + np.array([0.0, 3.0]), strict=True)):
            come = own is not None and not np.isnan(own[k])
            if large and not come and added is not None and not np.isnan(added.numbers[k]):
                chips.put_sum(top, float(added.numbers[k]), Bound(stage, k, "signed chip"), place.apart,
                              whole=bool(added.complete[k]))  # fmt: skip
            elif come and own is not None and (place.bare or not place.drawn):
                form = "signed chip" if not place.drawn else "brief" if place.apart[1] > _LEVEL else "tenths"
                bound = Bound(place.name, k, form)
                said = bound.text(float(own[k]))
                at, apart = _outside(place, k, said) if place.drawn else (top, place.apart)
                edge = theme.border if place.drawn else theme.text2
                chips.place(at, said, bound, apart, theme.panel, edge, own=outside if place.drawn else None)
            if back is not None and not np.isnan(back[k]):
                colour = cmap.shade(2 * float(chosen.unit(back[k])) - 1)
                bound = Bound(f"{DELTA}{source}", k, "delta")
                said = bound.text(float(back[k]))
                put = large and chips.place(foot, said, bound, place.apart, chip_colour(theme), colour)
                if not put and len(place.strips[k]):
                    chips.sketch.polygon(place.strips[k], colour)
    return [outside, chips.sketch]


def _room_outside(place: RowPlace, faces: Floats) -> bool:
    """Return whether all numbers have room beside their units, and on none of the `faces` (N, 4, 2)."""
    said = "0.00" if place.apart[1] > _LEVEL else "0.0"
    ways = [_outside(place, k, said) for k in range(len(place.tops))]
    half = np.array([measure(said, LABEL, True) + 6, _LEVEL]) / 2
    at, low, high = np.array([[way] for way, _ in ways]), faces.min(axis=1) + 3, faces.max(axis=1) - 3  # but for rims
    covers = np.all((at - half < high) & (at + half > low), axis=-1).any()
    return not covers and (place.apart[1] > _LEVEL or 2 * half[0] + 2 <= ways[0][1][0])


def _outside(place: RowPlace, k: int, said: str) -> tuple[Floats, tuple[float, float]]:
    """Return place and spacing of a unit's number: left of a column, or above a row (a dense one in two lines)."""
    (across, down), half = place.apart, place.face / 2
    if down > _LEVEL:
        return place.tops[k] - (half + measure(said, LABEL, True) / 2 + 8, 0.0), place.apart
    up = half + _LEVEL / 2 + 4 + (_LEVEL + 2) * (k % 2)
    return place.tops[k] - (0.0, up), (2 * across, 0.0)


class Chips:
    """Draws numbers in boxes; a box that would leave the `window`, or cover another one, is left out."""

    def __init__(self, theme: Theme, window: Box, names: Sequence[Box]) -> None:
        self._theme, self._window, self._taken = theme, window, [*names]
        self.sketch = Sketch(over=True, passing=True)

    def put_sum(self, at: Floats, value: float, bound: Bound, apart: tuple[float, float], *, whole: bool) -> bool:
        """Draw a sum, with dots until it is `whole`; return whether it has room."""
        said = bound.text(value) + ("" if whole else "\N{HORIZONTAL ELLIPSIS}")
        edge = self._theme.weight[3 if value > 0 else 1] if value else self._theme.text3
        fill = mixed(edge, self._theme.panel, 0.45)
        return self.place(at, said, bound if whole else None, apart, fill, edge)

    def place(
        self, at: Floats, text: str, bound: Bound | None, apart: tuple[float, float], fill: Colour, edge: Colour,
        *, own: Sketch | None = None,
    ) -> bool:  # fmt: skip
        """Draw a number around a point, or a little aside; return whether it has room.

        Numbers in a sketch of their `own` stand outside of cubes, and not farther down.
        """
        wide = measure(text, LABEL, True) + 6
        (x, y), (left, top, width, height) = at.tolist(), self._window
        ways = _ASIDE[: None if own is None else -1]
        boxes = [(x + right - wide / 2, y + down - _LEVEL / 2, wide, _LEVEL) for right, down in ways]
        free = [box for box in boxes if not any(meet(box, other) for other in self._taken) and left <= box[0]
                <= left + width - wide and top <= box[1] <= top + height - _LEVEL]  # fmt: skip
        if not free or (wide + 2 > apart[0] and apart[1] < _LEVEL + 2):
            return False
        box = free[0]
        x, y = box[0] + wide / 2, box[1] + _LEVEL / 2
        self._taken.append(box)
        sketch = self.sketch if own is None else own
        sketch.rect(*box, radius=5, fill=fill, stroke=edge, border=1.4)
        sketch.text(x, y + 4.7, text, LABEL, self._theme.text1, bold=True, anchor="middle", bound=bound)
        return True
