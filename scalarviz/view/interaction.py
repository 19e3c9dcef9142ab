"""`Interaction`: the hovered and selected cubes, the messages, and the sketches that show them over the picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..run.core.frame import Frame
from .cubes.picking import brackets, region_outline, seen_outline
from .ink.boxes import GAP, Places, column_of
from .ink.sketch import COVERS, Box, Cached, Click, Point, Rect, Sketch, Spot, meet
from .ink.text import figure
from .ink.widgets import OFF, banner, beside_pointer, drag_handle, help_panel, pointer_label, pressed_key, tip
from .notes.labels import own_labels
from .notes.placer import Placer
from .panels.drawer import quantity_words
from .screen.account import Lines
from .screen.inspector import HIGH, LOW, WIDE, Inspector
from .screen.strip import LEGEND, legend_width, room_beside
from .shown.names import Selection, parts_of, who
from .space.arrangement import Plate
from .space.layout import Layout

if TYPE_CHECKING:
    from .workbench import Workbench

# ---- The inspector's place: in the side column if there is one, else below the cubes.


def inspector_box(places: Places, explained: bool) -> Box | None:
    """Return the box of the small inspector, or None in a tiny picture.

    It stands left of the legend; in a narrow picture it replaces the legend.
    """
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


Cube = tuple[Plate, int, float]
_BOTH_FROM = 420.0  # least height (logical pixels) with room for trouble and news at once
_EACH, _REACH = 100, 200  # most cubes of a plate that are checked one by one; pixels from a cube to its label
_NEWS = 300.0  # least width of news beside a legend


class Interaction:
    """The pointer and key state of one workbench."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self.hovered: int | None = None  # flat index of the weight under the pointer
        self.pointer = (0.0, 0.0)  # logical pixels
        self.hovered_click: Click | None = None  # what a click at the pointer would do in the inspector
        self.selection: Selection | None = None
        self.inspector: Inspector | None = None  # of the selection; a comparison has a card
        self.opens_steps = False  # whether the inspector shows the opened coming step
        self.column_taken = False  # whether something else is in the side column
        self._in_column = False
        self.message = self.notice = ""  # an error; news
        self.pressed: tuple[str, str] | None = None  # a key pressed just now and its action, for a presenter's audience
        self.help = 0  # which page of the list of keys is shown; 0 for none
        self.table: tuple[tuple[str, str], ...] = ()  # the list: keys and gestures, with their actions
        # gives the value and further lines of the label, if they differ from the cube's number
        self.hover_words: Callable[[int, Frame], tuple[str, list[str]]] | None = None
        self._explanation: Lines = ()
        self.written: Frame | None = None  # what the words and numbers are about
        self._placed = Cached[Point | None]()
        self._outlined = Cached[list[NDArray[np.float64]]]()

    def hover(self, index: int | None, pointer: Point = (0.0, 0.0)) -> bool:
        """Put the pointer over a weight or over none; return whether the picture changes."""
        before = self.hovered, self.pointer, self.hovered_click
        self.hovered = index
        spot = None if index is not None else self.spot_at(pointer)
        if index is not None or self.number_at(pointer):
            self.pointer = pointer
        self.hovered_click = None if spot is None else spot.click
        return before != (self.hovered, self.pointer, self.hovered_click)

    def number_at(self, point: Point) -> bool:
        """Return whether the inspector's value is at a point and can be changed by a drag."""
        spot = self.spot_at(point)
        return spot is not None and spot.name == "type" and self._bench.subject.source.can.edit

    def spot_at(self, point: Point) -> Spot | None:
        """Return the spot that a click at a point would use, or None."""
        spot = self._bench.spot_at(point)
        return None if spot is None or spot.name == COVERS else spot

    def select(self, selection: Selection | int | None, frame: Frame | None) -> bool:
        """Select one weight, several or none; return whether the selection changed."""
        bench, before, self.hovered_click = self._bench, self.selection, None
        if bench.compared is not None and isinstance(selection, Selection):
            selection = selection.main  # it has a card of one cube
        self.selection = parts_of(bench.subject, selection)[-1] if isinstance(selection, int) else selection
        if self.selection == before:
            return False
        self.inspector = None
        if self.selection is not None and bench.compared is None:
            self.inspector = Inspector(bench.subject, self.selection)
        if frame is not None:
            self.follow(frame)
            self.explain(frame)
        return True

    def follow(self, frame: Frame) -> None:
        """Take over the selected weight's value."""
        if self.inspector is not None:
            self.inspector.follow(frame)

    def explain(self, frame: Frame) -> None:
        """Take over the numbers that are printed, and compute the lines about them from the same frame.

        It runs at the pace of text, because the lines cost a forward and a backward pass.
        """
        self.written = frame
        opened = self._in_column and self.opens_steps and self._bench.subject.source.can.open
        self._explanation = () if self.inspector is None or opened else self.inspector.explanation(frame)

    # sketches, from the lowest layer to the highest

    def layers(self, frame: Frame) -> list[list[Sketch]]:
        """Return the sketches by layer: text of a lower layer never shows through a panel of a higher one."""
        bench, lowest, middle = self._bench, list[Sketch](), list[Sketch]()
        written, places, slab = frame if self.written is None else self.written, bench.places, bench.slab
        if self.inspector is not None:
            lowest += self._selected(self.inspector, written)
        lowest += bench.side.marks()
        if slab.looks and slab.shares is not None:
            box = (places.scene[0], 66.0, places.scene[2], places.scene[3]) if bench.full else (0.0, 0.0, *places.size)
            lowest.append(own_labels(slab.looks, bench.layout.plates, bench.camera, bench.project, slab.shares, box,
                                     bench.theme, bench.sketches))  # fmt: skip
        banners = self._banners(lowest)
        over = [_ground(banner) for banner in banners]
        room = places.size[0], min((y for _, y, _, _ in over if y > places.size[1] / 2), default=places.size[1])
        if self.hovered is not None:
            middle += self._hovered(self.hovered, written, over)
        typed = self.hovered_click is not None and self.hovered_click[0] == "type"
        number = self.spot_at(self.pointer) if typed else None
        if number is not None and bench.subject.source.can.edit:
            said = "drag", "to change this weight", ()
            middle += [drag_handle(number.box, bench.theme), tip(self.pointer, room, *said, bench.theme)]
        middle += bench.side.label(written, room) + banners
        top = [help_panel(places.size, self.table, bench.theme, self.help)] if self.help else []
        return [lowest, middle, top]

    def _selected(self, inspector: Inspector, frame: Frame) -> list[Sketch]:
        bench, sketch, parts = self._bench, Sketch(), self.outline(inspector.selection)
        places, theme = bench.places, bench.theme
        box = column = self.column(places) if bench.full else None
        if low := bench.full and column is None:
            box = inspector_box(places, bool(self._explanation))
        if parts and self._visible(np.concatenate(parts)):
            for part in parts:
                sketch.polyline(part, theme.selection, 2.6)
            if low and box is not None and inspector.single:
                self._leader(sketch, np.concatenate(parts), box)
        inspector.box = box
        if box is None:
            return [sketch]
        opened = not low and self.opens_steps and bench.subject.source.can.open
        lines = () if opened else self._explanation
        return [sketch, inspector.sketch(box, theme, frame, lines, self.hovered_click, low=low, opened=opened)]

    def column(self, places: Places) -> Box | None:
        """Return the inspector's box in the side column, or None without a selection or a column."""
        found = column_of(places) if self.inspector is not None and not self.column_taken else None
        self._in_column = found is not None
        if found is None or self.inspector is None:
            return None
        x, y, width, height = found
        return x, y, width, min(self.inspector.wanted_height, height)

    def below(self, places: Places) -> bool:
        """Return whether the inspector of a selection is below the cubes."""
        return self.inspector is not None and self.column(places) is None

    def _hovered(self, index: int, frame: Frame, over: Sequence[Box]) -> list[Sketch]:
        """Return brackets around the cube under the pointer, and its label, which avoids `over`.

        The weight that the inspector shows has neither.
        """
        bench, inspector, cube = self._bench, self.inspector, self._cube(index)
        if cube is None:
            return []
        if inspector is not None and inspector.box is not None:
            over = [*over, inspector.box]
            if inspector.single and inspector.index == index:
                return []
        known, shows = who(bench.subject, index), bench.colouring.shows
        value, more = figure(float(frame.values[index])), list[str]()
        if self.hover_words is not None:
            value, more = self.hover_words(index, frame)
        elif bench.step_drawing.micro_step is not None:
            more += bench.step_drawing.cube_words(index)
        elif shows.name != "weight":
            number = shows.numbers(frame)
            there = number is not None and bool(frame.known(shows.name)[index])
            shown = figure(float(number[index])) if there and number is not None else "not computed yet"
            about = quantity_words(shows.name, bench.subject, frame) if there else ""
            shown = shown if shows.signed else shown.removeprefix("+")
            more += [f"{shows.words} {shown}", *([about] if about else [])]
        return [self.brackets(index), self._hover_label(cube, known.name, value, more, over)]

    def _hover_label(self, cube: Cube, name: str, value: str, more: Sequence[str], over: Sequence[Box]) -> Sketch:
        """Return the label of a cube, as near to it as free room allows; it never covers the cube or `over`."""
        bench, (plate, element, share) = self._bench, cube
        x, y, wide, high = beside_pointer(self.pointer, bench.places.size, name, value, more)
        corners = plate.corners_of(element, share)
        if bench.camera.before(corners):
            flat = bench.project(corners)
            (left, top), (across, down) = flat.min(axis=0).tolist(), np.ptp(flat, axis=0).tolist()
            if bench.compared is not None:  # it is drawn in each column
                x_there, y_there = bench.compared.in_layout(self.pointer)
                left, top = left + self.pointer[0] - x_there, top + self.pointer[1] - y_there
            own = (left, top, across, down)
            now = own, wide, high, *over, bench.layout, bench.camera
            x, y = self._placed.get(now, lambda: self._place(own, (wide, high), over)) or (x, y)
        return pointer_label((x - 16, y - 18), bench.places.size, name, value, more, bench.theme)

    def _around(self, sketches: Sequence[Sketch]) -> Placer:
        """Return a placer that avoids the words and images of the picture."""
        placer = Placer((0.0, 0.0, *self._bench.places.size))
        placer.add_texts(sketches)
        for box in (image.rect for sketch in sketches for image in sketch.images):
            placer.add_box(box)
        return placer

    def _place(self, own: Box, size: Point, over: Sequence[Box]) -> Point | None:
        bench, (left, top, across, down), (wide, high) = self._bench, own, size
        placer = self._around([*bench.sketches, *bench.side.floating()])
        plates = bench.layout.plates if bench.compared is None else ()
        placer.add_cubes((plate for plate in plates if plate.size <= _EACH), bench.project)
        for plate in (plate for plate in plates if plate.size > _EACH):
            placer.add_polygon(bench.project(plate.corners))
        ways = [(x, y, wide, high) for away in np.arange(OFF, _REACH, 12.0).tolist()
                for y in (top + (down - high) / 2, top - away - high, top + down + away)
                for x in (left + (across - wide) / 2, left + across + away, left - away - wide)]  # fmt: skip
        free = [[way] for way in ways if not any(meet(way, box) for box in (own, *over))]
        found = placer.place(free, most=np.inf, later=0.01)
        return None if found is None else free[found][0][:2]

    # ---- around cubes

    def _cube(self, index: int) -> Cube | None:
        """Return the plate of a weight, its place there, and its size as a share of the largest; None if not drawn."""
        plate, shares = plate_of(self._bench.layout, index), self._bench.slab.shares
        if plate is None:
            return None
        element = index - plate.start
        number = self._bench.layout.plates.index(plate)
        return plate, element, 1.0 if shares is None else shares(number, element) or 1.0

    def brackets(self, index: int) -> Sketch:
        """Return brackets around the cube of the weight at a flat index."""
        sketch, cube, bench, theme = Sketch(), self._cube(index), self._bench, self._bench.theme
        if cube is not None and (paths := brackets(cube[0], cube[1], bench.camera, bench.project, cube[2])):
            starts, ends = (np.concatenate([path[k : k + 2] for path in paths]) for k in (0, 1))
            sketch.lines(starts, ends, theme.background, 4.6, round_ends=True)
            sketch.lines(starts, ends, theme.selection, 2.6, round_ends=True)
        return sketch

    def outline(self, selection: Selection) -> list[NDArray[np.float64]]:
        """Return the visible parts of the outline of a selection; cached while selection, layout and camera stay."""
        cube = self._cube(selection.main)
        now = (selection, self._bench.layout, self._bench.camera, None if cube is None else cube[2])
        return self._outlined.get(now, lambda: self._outline(selection, cube))

    def _outline(self, selection: Selection, cube: Cube | None) -> list[NDArray[np.float64]]:
        """Return the silhouette of one cube, or the edge of a selected region on each plate."""
        bench, layout = self._bench, self._bench.layout
        seen = bench.camera, bench.project, bench.cube_at
        if selection.single:
            if cube is None:
                return []
            plate, element, share = cube
            return seen_outline(layout, layout.plates.index(plate), element, *seen, share)
        found: list[NDArray[np.float64]] = []
        for number, plate in enumerate(layout.plates):
            mask = selection.mask(plate.start, plate.size)
            if plate.kind != "activation" and mask.any():
                found += region_outline(layout, number, mask, *seen)
        return found

    def _visible(self, ring: NDArray[np.float64]) -> bool:
        """Return whether an outline is in the part of the picture where cubes are drawn."""
        (x, y, width, height), (x_at, y_at) = self._bench.places.scene, (ring.min(axis=0) + ring.max(axis=0)) / 2
        if not self._bench.full:
            (x, y), (width, height) = (0.0, 0.0), self._bench.places.size
        return bool(x <= x_at <= x + width and y - 12 <= y_at <= y + height + 12)

    def _leader(self, sketch: Sketch, ring: NDArray[np.float64], box: Box) -> None:
        """Draw a line from the outline down to the panel, straight or with one corner, behind the cubes in between."""
        x, y, width, _ = box
        start = ring[np.argmax(ring[:, 1])]
        if start[1] >= y - 2:
            return
        end = min(max(float(start[0]), x + 12), x + width - 12)
        path = [start, (end, y)] if end == start[0] else [start, (end, start[1] + 0.5 * (y - start[1])), (end, y)]
        for from_, to in pairwise(np.asarray(path, float)):
            pieces = max(1, int(np.hypot(*(to - from_)) / 4.0))
            points = from_ + np.arange(pieces + 1)[:, None] / pieces * (to - from_)
            free = [self._bench.cube_at((float(x), float(y))) is None for x, y in (points[1:] + points[:-1]) / 2]
            sketch.lines(points[:-1][free], points[1:][free], self._bench.theme.selection, 1.4)

    def _banners(self, below: Sequence[Sketch]) -> list[Sketch]:
        """Return the banners: errors below the HUD, news over the line of keys; a low picture has only the news."""
        places, theme, banners = self._bench.places, self._bench.theme, list[Sketch]()
        right = places.scene[0] + places.scene[2]
        right = right if places.limit is None else min(right, places.limit)  # not over a panel above the picture
        if self.message and not (self.notice and places.size[1] < _BOTH_FROM):
            top = places.hud[1] + 60 if places.hud is not None else 12.0
            banners.append(banner(self.message, places.size, top, right, theme))
        if self.notice:
            (wide, bottom), keys = places.size, None if theme.presenter else places.keys
            if keys is None and places.time is not None:  # a hall: above the time bar, left of the legend
                bottom = places.time[1]
                taken = 0.0 if places.strip is None else legend_width(places.strip[2]) + 8
                right -= taken if right - taken >= _NEWS else 0.0
            top = bottom if keys is None else keys - 15
            banners.append(banner(self.notice, (wide, bottom), top, right, theme, alarm=False, low=places.low))
        if self.pressed is not None:
            corners = [box for box in (places.strip, places.scene) if box is not None]
            cards = [pressed_key(*self.pressed, box, theme) for box in corners]
            seen = self._around([*self._bench.sketches, *below, *banners])
            banners.append(next((card for card in cards if seen.free(_ground(card))), cards[-1]))
        return banners


def plate_of(layout: Layout, index: int) -> Plate | None:
    """Return the plate that shows the weight at a flat index, or None if its layer is not drawn."""
    return next((p for p in layout.plates if p.kind != "activation" and p.start <= index < p.start + p.size), None)


def _ground(card: Sketch) -> Box:
    """Return the box of the panel of a card or a banner."""
    ground = card.shapes[0]
    assert isinstance(ground, Rect)
    return ground.x, ground.y, ground.width, ground.height
