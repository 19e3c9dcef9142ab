"""`Touch`: what is hovered, selected, marked or said right now, and the sketches that show it over the picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...run.core.frame import Frame
from ..cubes.outline import Picked, brackets, region_outline, seen_outline
from ..cubes.own import OwnLook
from ..cubes.picking import Shares
from ..cubes.scale import Quantity
from ..ink.overlay import banner, beside_pointer, help_panel, pointer_label, pressed_key
from ..ink.places import GAP, Places, column_of
from ..ink.sketch import Box, Does, Kept, Point, Rect, Sketch, Spot, holds, meet, spot_at
from ..ink.text import figure
from ..ink.theme import Theme
from ..notes.notices import own_labels
from ..panels.wording import said_of
from ..shown.subject import Subject
from ..space.camera import Camera
from ..space.layout import Layout
from ..space.plate import Plate
from .account import Lines
from .inspector import HIGH, LOW, WIDE, Inspector
from .selection import Selection, who
from .side import SidePanels
from .strip import LEGEND, legend_width, room_beside

# ---- Where the inspector stands: in the side column where there is one, else below the cubes; and what it covers.


def inspector_box(places: Places, explained: bool) -> Box | None:
    """Where the small form stands: left of the legend, in a narrow picture instead of it; None in a tiny one."""
    size = places.size
    bottom = size[1] - 8.0 if places.strip is None else places.strip[1] + places.strip[3] + 4
    if places.strip is None and places.keys is not None:
        bottom = places.keys - 18
    across = places.strip[2] if places.strip is not None else size[0] - 16.0
    left = places.strip[0] if places.strip is not None else 8.0
    width = min(WIDE, across - LEGEND - GAP if room_beside(across) else across)
    wanted = HIGH if explained else LOW
    height = next((h for h in (wanted, LOW, 42.0) if h <= 0.34 * size[1]), None)
    return None if height is None or width < 120 else (left, bottom - height, width, height)


Project = Callable[[ArrayLike], NDArray[np.float64]]
_BOTH_FROM = 420.0  # least height (logical pixels) with room for trouble and news at once
_NEWS = 300.0  # least width of news beside a legend
_OFF = 10.0  # between a cube and its words


@dataclass(frozen=True, slots=True)
class View:
    """What the picture looks like when the sketches are made."""

    layout: Layout
    camera: Camera
    project: Project
    places: Places
    theme: Theme
    quantity: Quantity
    panels: bool  # whether panels are shown at all
    picked: Picked  # what is drawn at a point (logical pixels)
    shares: Shares | None = None  # how large a cube is beside the largest, by plate and element; None: all are
    own: Mapping[int, OwnLook] = field(default_factory=dict)  # looks given by hand, by flat index
    around: Sequence[Sketch] = ()  # what is written already

    def share(self, plate: Plate, index: int) -> float:
        """How large the cube of the flat weight `index` is beside the largest; one that is not drawn as if it were."""
        return 1.0 if self.shares is None else self.shares(self.layout.plates.index(plate), index - plate.start) or 1.0


class Touch:
    """The state of pointer and keys of one workbench."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self.hovered: int | None = None  # flat index of the weight under the pointer
        self.pointer = (0.0, 0.0)  # logical pixels
        self.over: Does | None = None  # what a click at the pointer would do in the inspector
        self.inspector: Inspector | None = None
        self.asks = False  # whether somebody opens the coming step for the inspector
        self.column_taken = False  # whether something else stands in the side column
        self._in_column = False
        self.message = self.notice = ""  # what went wrong; what happened that is no trouble
        self._alarm: Sequence[Spot] = ()  # what says the message, where that is said
        self.pressed: tuple[str, str] | None = None  # a key pressed just now and what it does, for a hall to see
        self.help = 0  # which page of the list of keys is shown; 0 for none
        self.table: tuple[tuple[str, str], ...] = ()  # that list: keys and gestures, and what they do
        # the value and further lines beside the pointer, where they are others than the number of a cube
        self.says: Callable[[int, Frame], tuple[str, list[str]]] | None = None
        self._explanation: Lines = ()
        self._written: Frame | None = None  # what the words and numbers are about
        self._outlined = Kept[list[NDArray[np.float64]]]()

    def hover(self, index: int | None, pointer: tuple[float, float] = (0.0, 0.0)) -> bool:
        """The pointer is over a weight or over none; returns whether the picture changes."""
        before = self.hovered, self.pointer, self.over
        self.hovered = index
        spot = None if index is not None else self.spot_at(pointer)
        if index is not None or self.number_at(pointer):
            self.pointer = pointer
        self.over = None if spot is None else spot.does
        return before != (self.hovered, self.pointer, self.over)

    def number_at(self, point: tuple[float, float]) -> bool:
        """Whether the inspector's value stands at a point, and a drag would change it."""
        spot = self.spot_at(point)
        return spot is not None and spot.name == "type" and self._subject.source.can.edit

    def on_alarm(self, point: tuple[float, float]) -> bool:
        """Whether a point is on the banner that says what is wrong."""
        return spot_at(self._alarm, point) is not None

    def inspector_at(self, point: tuple[float, float]) -> bool:
        """Whether the inspector covers a point."""
        return self.inspector is not None and holds(self.inspector.box, point)

    def spot_at(self, point: tuple[float, float]) -> Spot | None:
        """What a click at a point of the inspector does."""
        return None if self.inspector is None else spot_at(self.inspector.spots, point)

    def select(self, selection: Selection | int | None, frame: Frame | None) -> bool:
        """Look into another weight or several, or none; returns whether that is something else than before."""
        before, self.over = self.inspector, None
        if selection is None:
            self.inspector = None
            return before is not None
        if before is not None and selection in (before.selection, before.index if before.single else None):
            return False
        self.inspector = Inspector(self._subject, selection)
        if frame is not None:
            self.follow(frame)
            self.explain(frame)
        return True

    def follow(self, frame: Frame) -> None:
        """Take over the selected weight's value."""
        if self.inspector is not None:
            self.inspector.follow(frame)

    def explain(self, frame: Frame) -> None:
        """Take over the numbers that are printed, and work out the lines about them: all of one frame.

        At the pace of text: nobody reads faster, and the lines are a forward and a backward pass.
        """
        self._written = frame
        opened = self._in_column and self.asks and self._subject.source.can.open
        self._explanation = () if self.inspector is None or opened else self.inspector.explanation(frame)

    # what it looks like, from the lowest layer to the highest

    def layers(self, frame: Frame, view: View, side: SidePanels) -> list[list[Sketch]]:
        """Sketches by layer: text of a lower layer never shows through a panel of a higher one."""
        lowest = []
        written = frame if self._written is None else self._written
        if self.inspector is not None:
            lowest += self._selected(self.inspector, written, view)
        lowest += side.marks()
        if view.own and view.shares is not None:
            places, size = view.places, view.places.size
            box = (places.scene[0], 66.0, places.scene[2], places.scene[3]) if view.panels else (0.0, 0.0, *size)
            given = own_labels(view.own, view.layout.plates, view.camera, view.project, view.shares, box, view.theme,
                               view.around)  # fmt: skip
            lowest.append(given)
        middle = []
        if self.hovered is not None:
            middle += self._hovered(self.hovered, written, view)
        number = self.spot_at(self.pointer) if self.over is not None and self.over[0] == "type" else None
        if number is not None and self._subject.source.can.edit:
            middle += _handle(number.box, self.pointer, view)
        middle += side.label(frame, view.places.size)
        middle += self._banners(view, lowest)
        top = [help_panel(view.places.size, self.table, view.theme, self.help)] if self.help else []
        return [lowest, middle, top]

    def _selected(self, inspector: Inspector, frame: Frame, view: View) -> list[Sketch]:
        sketch = Sketch()
        parts = self._outline(inspector.selection, view)
        box = column = self.column(view.places) if view.panels else None
        if low := view.panels and column is None:
            box = inspector_box(view.places, bool(self._explanation))
        if parts and _visible(np.concatenate(parts), view):
            for part in parts:
                sketch.polyline(part, view.theme.selection, 2.6)
            if low and box is not None and inspector.single:
                _leader(sketch, np.concatenate(parts), box, view)
        if box is None:
            inspector.hide()
            return [sketch]
        opened = not low and self.asks and self._subject.source.can.open
        lines = () if opened else self._explanation
        return [sketch, inspector.sketch(box, view.theme, frame, lines, self.over, low=low, opened=opened)]

    def column(self, places: Places) -> Box | None:
        """Where in the side column the inspector stands; None where nothing is selected or there is no column."""
        free = self.inspector is not None and not self.column_taken
        found = column_of(places) if free else None
        self._in_column = found is not None
        if found is None or self.inspector is None:
            return None
        x, y, width, height = found
        return x, y, width, min(self.inspector.wanted, height)

    def below(self, places: Places) -> bool:
        """Whether something is selected whose inspector stands below the cubes."""
        return self.inspector is not None and self.column(places) is None

    def _outline(self, selection: Selection, view: View) -> list[NDArray[np.float64]]:
        """What can be seen of the outline around what is selected; kept while that, layout and camera stay."""
        plate = plate_of(view.layout, selection.main)
        share = 1.0 if plate is None else view.share(plate, selection.main)
        now = (selection, view.layout, view.camera, share)
        return self._outlined.of(now, lambda: outline_of(selection, view))

    def _hovered(self, index: int, frame: Frame, view: View) -> list[Sketch]:
        """Brackets around the cube under the pointer, and its numbers; the inspector says them of its own."""
        plate, inspector = plate_of(view.layout, index), self.inspector
        told = inspector is not None and inspector.single and inspector.index == index and inspector.box is not None
        if plate is None or told:
            return []
        sketch = bracketed(index, view)
        known = who(self._subject, index)
        more = [known.meaning] if known.meaning else []
        if view.quantity.name != "weight":
            number = view.quantity.numbers(frame)
            there = number is not None and bool(frame.known(view.quantity.name)[index])
            shown = figure(float(number[index])) if there and number is not None else "not computed yet"
            about = said_of(view.quantity.name, self._subject, frame) if there else ""
            shown = shown if view.quantity.signed else shown.removeprefix("+")
            more += [f"{view.quantity.words} {shown}", *([about] if about else [])]
        value = figure(float(frame.values[index]))
        if self.says is not None:
            value, more = self.says(index, frame)
        said = view.places.size, known.name, value, more
        at = _off_the_cube(self.pointer, plate.corners_of(index - plate.start, view.share(plate, index)), view, *said)
        return [sketch, pointer_label(at, *said, view.theme)]

    def _banners(self, view: View, below: Sequence[Sketch]) -> list[Sketch]:
        """What is wrong stands below the HUD; news stand over the line of keys, not before what is learning.

        In a low picture there is room for one: news, which go by themselves. A hall has no line of keys: there news
        stand above the time bar, left of the legend.
        """
        places, banners = view.places, []
        right = places.scene[0] + places.scene[2]
        right = right if places.limit is None else min(right, places.limit)  # what lies over the picture is not covered
        self._alarm = ()
        if self.message and not (self.notice and places.size[1] < _BOTH_FROM):
            top = places.hud[1] + 60 if places.hud is not None else 12.0
            banners.append(banner(self.message, places.size, top, right, view.theme))
            self._alarm = banners[-1].spots
        if self.notice:
            wide, bottom = places.size
            if places.keys is None and places.time is not None:
                bottom = places.time[1]
                taken = 0.0 if places.strip is None else legend_width(places.strip[2]) + 8
                right -= taken if right - taken >= _NEWS else 0.0
            top = bottom if places.keys is None else places.keys - 15
            banners.append(banner(self.notice, (wide, bottom), top, right, view.theme, alarm=False))
        if self.pressed is not None:
            corners = [box for box in (places.strip, places.scene) if box is not None]
            cards = [pressed_key(*self.pressed, box, view.theme) for box in corners]
            seen = [*view.around, *below, *banners]
            banners.append(next((card for card in cards if _free(card, seen)), cards[-1]))
        return banners


def plate_of(layout: Layout, index: int) -> Plate | None:
    """The plate that shows the weight at a flat index; None where another layer stands alone."""
    found = (p for p in layout.plates if p.kind != "activation" and p.start <= index < p.start + p.size)
    return next(found, None)


def _free(card: Sketch, around: Sequence[Sketch]) -> bool:
    """Whether a card hides no words: sentences, formulas and legends stay readable."""
    ground = card.shapes[0]
    assert isinstance(ground, Rect)
    box = ground.x, ground.y, ground.width, ground.height
    taken = [image.rect for sketch in around for image in sketch.images]
    taken += [(text.left, text.y - text.size, text.width, text.size) for sketch in around for text in sketch.texts]
    return not any(meet(box, other) for other in taken)


def _off_the_cube(
    at: Point, corners: NDArray[np.float64], view: View, size: Point, name: str, value: str, more: Sequence[str]
) -> Point:
    """Where the words of a cube hang so that they do not cover it; at the pointer where they have room nowhere else."""
    if not view.camera.before(corners):
        return at
    x, y, wide, high = beside_pointer(at, size, name, value, more)
    (left, top), (right, bottom) = (
        edge.tolist() for edge in (view.project(corners).min(0), view.project(corners).max(0))
    )
    if not meet((x, y, wide, high), (left, top, right - left, bottom - top)):
        return at
    middle = at[0] - wide / 2, at[1] - high / 2
    ways = (
        (right + _OFF, middle[1]),
        (left - _OFF - wide, middle[1]),
        (middle[0], bottom + _OFF),
        (middle[0], top - _OFF - high),
    )
    free = (way for way in ways if 4 <= way[0] <= size[0] - wide - 4 and 4 <= way[1] <= size[1] - high - 4)
    found = next(free, None)
    return at if found is None else (found[0] - 16, found[1] - 18)


def bracketed(index: int, view: View) -> Sketch:
    """Brackets around the cube of the weight at a flat index."""
    sketch, plate = Sketch(), plate_of(view.layout, index)
    paths = None if plate is None else brackets(plate, index - plate.start, view.camera, view.project,
                                                view.share(plate, index))  # fmt: skip
    if paths:
        starts, ends = (np.concatenate([path[k : k + 2] for path in paths]) for k in (0, 1))
        sketch.lines(starts, ends, view.theme.background, 4.6, round_ends=True)
        sketch.lines(starts, ends, view.theme.selection, 2.6, round_ends=True)
    return sketch


def outline_of(selection: Selection, view: View) -> list[NDArray[np.float64]]:
    """Around one cube its silhouette; around several the edge of the region on each plate."""
    layout, camera = view.layout, view.camera
    if selection.single:
        plate = plate_of(layout, selection.main)
        if plate is None:
            return []
        number = layout.plates.index(plate)
        share = view.share(plate, selection.main)
        return seen_outline(layout, number, selection.main - plate.start, camera, view.project, view.picked, share)
    found: list[NDArray[np.float64]] = []
    for number, plate in enumerate(layout.plates):
        if plate.kind == "activation":
            continue
        mask = selection.mask(plate.start, plate.size)
        if mask.any():
            found += region_outline(layout, number, mask, camera, view.project, view.picked)
    return found


def _handle(number: tuple[float, float, float, float], pointer: tuple[float, float], view: View) -> list[Sketch]:
    """A frame with two arrow heads around the number below the pointer, and what a drag does."""
    sketch = Sketch()
    x, y, width, height = number
    sketch.rect(x, y, width, height, radius=4, stroke=view.theme.selection)
    middle = y + height / 2
    for tip, way in ((x - 8, 4.0), (x + width + 8, -4.0)):
        path = [(tip + way, middle - 4), (tip, middle), (tip + way, middle + 4)]
        sketch.polyline(path, view.theme.selection, 1.6)
    return [sketch, pointer_label(pointer, view.places.size, "drag", "to change this weight", (), view.theme)]


def _visible(ring: NDArray[np.float64], view: View) -> bool:
    """Whether an outline is in the part of the picture where cubes are drawn."""
    x, y, width, height = view.places.scene
    low, high = ring.min(axis=0), ring.max(axis=0)
    if not view.panels:
        (x, y), (width, height) = (0.0, 0.0), view.places.size
    middle = (low + high) / 2
    return bool(x <= middle[0] <= x + width and y - 12 <= middle[1] <= y + height + 12)


def _leader(sketch: Sketch, ring: NDArray[np.float64], box: tuple[float, float, float, float], view: View) -> None:
    """From the outline down to the panel, straight or round a corner; behind the cubes that stand in between."""
    x, y, width, _ = box
    start = ring[np.argmax(ring[:, 1])]
    if start[1] >= y - 2:
        return
    end = min(max(float(start[0]), x + 12), x + width - 12)
    path = [start, (end, y)] if end == start[0] else [start, (end, start[1] + 0.5 * (y - start[1])), (end, y)]
    for from_, to in pairwise(np.asarray(path, float)):
        pieces = max(1, int(np.hypot(*(to - from_)) / 4.0))
        points = from_ + np.arange(pieces + 1)[:, None] / pieces * (to - from_)
        free = [view.picked((float(x), float(y))) is None for x, y in (points[1:] + points[:-1]) / 2]
        sketch.lines(points[:-1][free], points[1:][free], view.theme.selection, 1.4)
