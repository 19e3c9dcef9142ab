"""`ControlsPanel`: the panel as it is drawn and asked. What a hand wants is a `Wish`; it does nothing by itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...run.controls import Button, Segments, Slider, Switch
from ..ink.overlay import pointer_label, wrapped
from ..ink.places import Wanted, stacked
from ..ink.sketch import Box, Kept, Sketch, holds
from ..ink.theme import Theme
from .control_drawing import Touched, draw_bar, draw_carried, draw_ground, draw_row
from .control_ring import Wish, beside, focused, further, pressed, turned, turned_far, value_at
from .control_rows import PAD, Item, Placed, Row, Stood, stood

Point = tuple[float, float]

RESTS = 0.4
"""Seconds that the pointer rests on a control before it is said what that does: what says so covers others."""
OPENS = 0.2
"""Seconds in which it slides in."""
HEAD = 40.0
"""Room for its title."""
KEYS = ("Tab", "Space", "Enter", "Left", "Right", "Up", "Down")
"""Those that are its own while it is open."""
FAR = ("Home", "End", "PageUp", "PageDown", "Delete", "Backspace")
"""Those that are its own too while a ring shows where keys go."""
_TIP = 260.0
_LOOSE = 14.0  # logical pixels from a layer's box within which it is not dragged out


class ControlsPanel:
    """One panel. `place` says where, `show` what it holds.

    Attributes
    ----------
    theme : Theme
        May be set.
    closes : str
        The key that closes it, as its title says.
    open : bool
        Whether it is there.
    hidden : bool
        Whether it is left out of the picture for a moment, although it is open: while a still is taken.
    box : Box or None
        Where it stands when it is open; None: there is no place for it.
    side : dict of str to Box
        Where panels of the column stand in it, smaller.
    """

    def __init__(self, theme: Theme) -> None:
        self.theme, self.closes = theme, "P"
        self.open = self.hidden = False
        self.box: Box | None = None
        self.side: dict[str, Box] = {}
        self._rows: tuple[Row, ...] = ()
        self._wanted: Sequence[Wanted] = ()
        self._stood: list[Stood] = []
        self._height, self._first, self._slid = 0.0, 0, 0.0
        self._on_bar = False  # whether a hand drags the bar that scrolls
        self._turned = 0.0  # of the wheel, what is left of a whole notch
        self._carried: Point | None = None  # where that is what a hand drags out of its row
        self._touched = Touched()
        self._ring = False  # whether a key was used: then it is shown where keys go
        self._pointer: Point | None = None
        self._rested, self._said = 0.0, False  # how long the pointer rests, and whether that was long enough
        self._drawn = Kept[Sketch]()

    # ---- where, and what

    @property
    def stands(self) -> bool:
        """Whether it has slid in, so that panels of the column stand in it."""
        return self.open and self.box is not None and self._slid >= 1.0

    @property
    def moving(self) -> bool:
        """Whether it is sliding in."""
        return self.open and self.box is not None and self._slid < 1.0

    def toggle(self) -> None:
        """Open or close it; keys go to what runs and pauses at first, and the rows that were seen are so again."""
        self.open, self._slid, self._ring = not self.open, 0.0, False
        self.let_go()
        self._touched, self._pointer = Touched(running=self._touched.running), None

    def pass_time(self, seconds: float) -> None:
        """It slides in, and a pointer rests."""
        if self._pointer is not None:
            self._rested += seconds
        if self.moving:
            self._slid = min(1.0, self._slid + max(seconds, 0.0) / OPENS)

    def place(self, box: Box | None, wanted: Sequence[Wanted]) -> None:
        """Where it stands from now on, and which panels want a place in it, with the least height of each."""
        self.box, self._wanted = box, wanted
        self._lay_out()

    def show(self, rows: Sequence[Row], *, running: bool) -> bool:
        """What it holds at this moment; returns whether that is something else than before."""
        new = tuple(rows)
        before = self._rows, self._touched, self._said
        if new != self._rows:
            self._rows = new
            self._lay_out()
        self._touch(running=running)
        self._said = self._pointer is not None and self._rested >= RESTS
        return before != (self._rows, self._touched, self._said)

    def _lay_out(self) -> None:
        if self.box is None:
            self._stood, self.side = [], {}
            return
        inner = _inner(self.box)
        self._stood = stood(self._rows, inner)
        total = sum(one.box[3] for one in self._stood)
        self._height, self.side = shared(inner, total, self._wanted)
        self._first = min(self._first, self._most_first())

    def _most_first(self) -> int:
        return most_first(self._stood, self._height)

    @property
    def _seen(self) -> list[Stood]:
        """Rows that are seen, whole, where they stand now."""
        return [] if self.box is None else seen(self._stood, self._first, _inner(self.box), self._height)

    # ---- what it looks like

    def sketch(self) -> Sketch | None:
        """The panel, None where it is not to be seen."""
        if not self.open or self.hidden or self.box is None:
            return None
        now = (self._rows, self._touched, self._ring, self._first, self._slid, self.box, self.theme.name)
        return self._drawn.of(now, self._painted)

    def _painted(self) -> Sketch:
        assert self.box is not None
        sketch, kept = Sketch(), self.box
        away = (1.0 - self._slid) ** 3 * (kept[2] + PAD)
        self.box = (kept[0] + away, *kept[1:])
        draw_ground(sketch, self.box, self.theme, self.closes)
        touched = self._touched if self._ring else _without_ring(self._touched)
        seen = self._seen
        for one in seen:
            draw_row(sketch, one, self.theme, touched)
        if len(seen) < len(self._stood):
            total = sum(one.box[3] for one in self._stood)
            above = sum(one.box[3] for one in self._stood[: self._first])
            here = sum(one.box[3] for one in seen)
            draw_bar(sketch, self._bar(), self.theme, above / total, (above + here) / total, held=self._on_bar)
        if self.side and self.stands:
            top = min(box[1] for box in self.side.values()) - 7
            sketch.line((self.box[0] + PAD, top), (self.box[0] + self.box[2] - PAD, top), self.theme.border)
        self.box = kept
        return sketch

    def _bar(self) -> Box:
        """Where the bar stands that says which rows are seen."""
        assert self.box is not None
        x, y, width, _ = self.box
        return x + width - 7, y + HEAD, 3.0, self._height - 4

    def label(self, size: tuple[float, float]) -> list[Sketch]:
        """What stands beside the pointer: what the control does, and what else changes the same."""
        if self._carried is not None and not self.hidden:
            return self._in_hand(self._carried, size)
        part = self._part(self._touched.over)
        if part is None or self._pointer is None or self._touched.held or self.hidden or not self._said:
            return []
        item = part.item
        ways = [f"key {item.keys}"] * bool(item.keys) + [item.control.flag] * bool(item.control.flag)
        ways += ["double click types it"] * item.typed
        more = wrapped(item.control.does, _TIP) + ["  \N{MIDDLE DOT}  ".join(ways)] * bool(ways)
        if item.out is not None:
            more.append(f"{'dragged out of its row' if item.typed else 'Delete, with the ring here,'} takes it away")
        return [pointer_label(self._pointer, size, item.name, item.shown, more, self.theme)]

    def _in_hand(self, at: Point, size: tuple[float, float]) -> list[Sketch]:
        """What is dragged out, at the pointer, and what letting go would do."""
        part = self._part(self._touched.held)
        if part is None or part.item.out is None:
            return []
        sketch = Sketch()
        draw_carried(sketch, at, part.item.shown, self.theme)
        words = wrapped(part.item.out.control.does, _TIP)
        below = (at[0], at[1] + 14)
        return [sketch, pointer_label(below, size, part.item.out.name, "let go", words, self.theme)]

    # ---- the pointer, in logical pixels

    def covers(self, at: Point) -> bool:
        """Whether a point is on it, or on a panel of the column that stands in it."""
        return self.open and holds(self.box, at)

    def owns(self, at: Point) -> bool:
        """Whether a point is on it, and not on a panel of the column that stands in it."""
        if not self.covers(at):
            return False
        return not (self.stands and any(holds(box, at) for box in self.side.values()))

    def hover(self, at: Point | None) -> bool:
        """The pointer is over a point (None: elsewhere); returns whether the picture changes."""
        before, pointer = self._touched, self._pointer
        part = None if at is None else self._at(at)
        cell = -1 if part is None or at is None else _cell(part, at)
        self._touch(over="" if part is None else part.item.name, cell=cell)
        self._pointer = at if part is not None else None
        if self._touched.over != before.over or part is None:
            self._rested, self._said = 0.0, False
        return before != self._touched or (pointer != self._pointer and part is not None)

    def press(self, at: Point) -> Wish | None:
        """A button went down on it."""
        part, self._on_bar = self._at(at), self._over_bar(at)
        self._touch(held="" if part is None else part.item.name)
        self._ring = self._said = False
        self._rested = -math.inf  # who clicks knows what it does, until something else is pointed at
        if part is None:
            return None
        self._touch(focus=part.item.name)
        if isinstance(part.item.control, Slider) and part.item.out is None:
            return Wish("set", part.item, value_at(part, at[0]), held=True)
        return None

    def drag(self, at: Point) -> Wish | None:
        """The pointer moved with the button held."""
        if self._on_bar:
            _, top, _, high = self._bar()
            self._first = round(min(max((at[1] - top) / max(high, 1.0), 0.0), 1.0) * self._most_first())
        part = self._part(self._touched.held)
        if part is not None and part.item.out is not None:
            away = not holds(_around(part.box), at)
            self._carried = at if away else None
            self._touch(out=part.item.out.name if away else "")
            return None
        if part is None or not isinstance(part.item.control, Slider):
            return None
        return Wish("set", part.item, value_at(part, at[0]), held=True)

    def release(self, at: Point) -> Wish | None:
        """The button went up: what it is over is meant, if it went down there too."""
        held, part, carried = self._part(self._touched.held), self._at(at), self._carried is not None
        name = self._touched.held
        self.let_go()
        if carried and held is not None and held.item.out is not None:
            return Wish("set", held.item.out)
        if part is None or part.item.name != name:
            return None
        control = part.item.control
        if isinstance(control, Segments):
            cell = _cell(part, at)
            return None if cell < 0 else Wish("set", part.item, control.choices[cell])
        if isinstance(control, Switch):
            return Wish("set", part.item, part.item.value is not True)
        return Wish("set", part.item) if isinstance(control, Button) else None

    def let_go(self) -> bool:
        """What is held is not held any more, and nothing comes of it; returns whether something was dragged out."""
        carried = self._carried is not None
        self._touch(held="", out="")
        self._on_bar, self._carried = False, None
        return carried

    @property
    def carries(self) -> bool:
        """Whether a hand has something out of its row."""
        return self._carried is not None

    def _over_bar(self, at: Point) -> bool:
        """Whether a point is on the bar that scrolls, or beside it at the edge, while there are more rows."""
        if self.box is None or not self._most_first():
            return False
        x, y, _, high = self._bar()
        return holds((x - 2, y, PAD, high), at)

    def number_at(self, at: Point) -> Item | None:
        """The item of which a number stands at a point, to be typed after a double click."""
        for one in self._seen:
            middle = next((part for part in one.parts if part.item in one.row.middles and holds(part.box, at)), None)
            if middle is not None and self._at(at) == middle:
                return middle.item
            x, y, width, _ = one.box
            item = one.row.typed or (one.row.items[0] if one.row.items else None)
            where = (x, y, width / 3, 28.0) if one.row.typed else (x + width / 2, y, width / 2, 19.0)
            if item is not None and item.typed and holds(where, at):
                return item
        return None

    def scroll(self, notches: float) -> bool:
        """The wheel turned over it; returns whether there was more to see."""
        before = self._first
        self._turned = self._turned + notches if self._turned * notches > 0 else notches
        whole = math.trunc(self._turned)  # a touch pad turns by parts of a notch
        self._turned -= whole
        self._first = min(max(0, self._first - whole), self._most_first())
        self._touch(over="", cell=-1)
        return before != self._first

    # ---- keys

    def key(self, name: str, *, shift: bool = False) -> Wish | bool:
        """A key: what is wanted by it, True if it only moved the ring, False if it is none of the panel's."""
        known = name in KEYS or (self._ring and name in FAR)
        if not known or not self._stood:
            return False
        item = self._focused()
        if name == "Tab":
            shown, self._ring = self._ring, True  # the first one shows where it is
            self._see(further(self._stood, item, -1 if shift else 1) if shown else item)
            return True
        if name == "Space" and not self._ring:  # nothing shows that it would mean what was clicked last
            return False
        self._ring = True
        if name in ("Space", "Enter"):
            return pressed(item, name)
        if name in ("Delete", "Backspace"):
            return True if item.out is None else Wish("set", item.out)
        if isinstance(item.control, Button):
            self._see(beside(self._stood, item, name))
            return True
        value = turned(item, 1 if name in ("Right", "Up") else -1) if name in KEYS else turned_far(item, name)
        return True if value is None else Wish("set", item, value)

    def _focused(self) -> Item:
        """What has the keys; at first, and where that has gone, what runs and pauses."""
        found = focused(self._stood, self._touched.focus)
        self._touch(focus=found.name)
        return found

    def _see(self, item: Item) -> None:
        """Give it the keys, and scroll so that it is seen."""
        self._touch(focus=item.name)
        number = next(k for k, one in enumerate(self._stood) if item in one.row.items)
        self._first = min(self._first, number)
        while self._first < self._most_first() and all(item not in one.row.items for one in self._seen):
            self._first += 1

    # ---- what is where

    def _touch(self, **changes: Any) -> None:
        self._touched = replace(self._touched, **changes)

    def _at(self, at: Point) -> Placed | None:
        return next((part for one in self._seen for part in one.parts if holds(part.box, at)), None)

    def _part(self, name: str) -> Placed | None:
        return next((part for one in self._seen for part in one.parts if name and part.item.name == name), None)


def _cell(part: Placed, at: Point) -> int:
    return next((k for k, cell in enumerate(part.cells) if holds(cell, at)), -1)


def _inner(box: Box) -> Box:
    """Where rows and panels stand."""
    x, y, width, high = box
    return x + PAD, y + HEAD, width - 2 * PAD, high - HEAD - PAD


def _around(box: Box) -> Box:
    """A box and the air around it: what leaves that is dragged out."""
    x, y, width, high = box
    return x - _LOOSE, y - _LOOSE, width + 2 * _LOOSE, high + 2 * _LOOSE


def _without_ring(touched: Touched) -> Touched:
    return replace(touched, focus="")


# ---- Which rows of the panel are seen: whole ones only, from the first one on, and no empty place below them.

MOST_AIR = 18.0
"""Logical pixels that are put between two rows at most, so that those that are seen fill their place."""


def most_first(rows: Sequence[Stood], height: float) -> int:
    """The row that is the first one seen when the last one is seen whole."""
    room = height
    for number in range(len(rows) - 1, -1, -1):
        room -= rows[number].box[3]
        if room < -0.5:
            return number + 1
    return 0


def seen(rows: Sequence[Stood], first: int, place: Box, height: float) -> list[Stood]:
    """The rows that have room from the `first` one on, where they stand; `place` gives left, top and width."""
    found, left = list[Stood](), height + 0.5
    for one in rows[first:]:
        left -= one.box[3]
        if left < 0:
            break
        found.append(one)
    if found and found[-1].row.look == "rule":  # it parts nothing there
        found.pop()
    spare = height - sum(one.box[3] for one in found)
    gaps = len(found) - 1
    air = min(spare / gaps, MOST_AIR) if gaps > 0 and len(found) < len(rows) else 0.0
    return stood([one.row for one in found], place, max(air, 0.0))


# ---- How the panel's room is shared between its rows and the loss curve and pictures that stay below them, smaller.

GAP = 14.0
ROWS_LEAST = 300.0
"""Rows scroll rather than that the first panel goes, as long as so much of them is seen."""


def shared(inner: Box, rows: float, wanted: Sequence[Wanted]) -> tuple[float, dict[str, Box]]:
    """Height of the rows, and the boxes of the panels below them."""
    x, y, width, room = inner
    first = wanted[0].height + GAP if wanted else 0.0
    high = min(rows, room - first if first and room - first >= min(rows, ROWS_LEAST) else room)
    rest, chosen = room - high, list[Wanted]()
    for panel in wanted:
        if panel.height + GAP <= rest:
            chosen.append(panel)
            rest -= panel.height + GAP
    return high, stacked(chosen, (x, y + high + GAP), width, GAP, rest)
