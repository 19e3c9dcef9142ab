"""`ControlsPanel`: the panel of controls, drawn and clicked. Its requests are `Wish` objects.

Drawing a row also places its spots. A spot has the name of an item; its value is a choice, or `TYPED` where a double
click types a number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Literal, NamedTuple

from ...run.controls import Button, Control, Segments, Slider, Switch
from ..cubes.scale import LAYERS, ROWS
from ..ink import widgets
from ..ink.boxes import COLUMN, LABEL, WantedPanel, fitting_panels, stacked
from ..ink.sketch import Box, Cached, Click, Point, Sketch, Spot, contains, spot_at
from ..ink.text import measure
from ..ink.theme import Theme, mixed
from ..ink.widgets import LINE, SMALL, choice_lines, pointer_label, shade, track_of, wrapped
from ..panels.drawer import cut

# ---- `Item`: one control at one moment, and `Row`: items side by side.

MAGNET = 6.0
"""Logical pixels from a slider's usual value within which the knob snaps to it."""
_NOTCHES = 20
_KIND = ("label", "flag", "does", "least", "most", "usual", "choices")


@dataclass(frozen=True, slots=True)
class Item:
    """A control with its value. Two items are equal if they look the same and mean the same."""

    control: Control = field(compare=False)
    value: Any = None  # the current value, or the value set by hand since
    keys: str = ""  # keys that change the same value: "Up, Down"
    shown: str = ""  # the printed value
    ticks: Sequence[tuple[float, str]] = ()  # values of a slider with their printed labels
    sign: str = ""  # the action whose sign a button shows
    stops: tuple[float, ...] = ()  # the only values of a slider; empty: any value
    part_of: str = ""  # the control whose value a button sets
    out: Item | None = None  # the item to set when it is dragged out of its row
    _kind: tuple[object, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        kind = (type(self.control), *(getattr(self.control, name, None) for name in _KIND))
        object.__setattr__(self, "_kind", kind)

    @property
    def name(self) -> str:
        """The name to find the item by."""
        return self.control.label

    @property
    def typed(self) -> bool:
        """True if the item's value is a number that can be typed."""
        if isinstance(self.control, Segments):
            return all(isinstance(one, int | float) and not isinstance(one, bool) for one in self.control.choices)
        return isinstance(self.control, Slider) and not self.stops

    @property
    def tip(self) -> str:
        """The description, keys and flag."""
        return "  ".join(filter(None, (self.control.does, self.keys, self.control.flag)))

    def value_at(self, box: Box, x: float) -> float | int:
        """Return the value of a slider at x, snapped to the usual value or to a stop."""
        slider, (left, right, _) = self.control, track_of(box)
        assert isinstance(slider, Slider)

        def away(value: float) -> float:
            return abs(left + (right - left) * slider.share(value) - x)

        if self.stops:
            return min(self.stops, key=away)
        if slider.usual is not None and away(slider.usual) <= MAGNET:
            return slider.taken(slider.usual)
        return slider.taken(slider.at((x - left) / (right - left)))

    @property
    def notches(self) -> Sequence[Any]:
        """The values that keys step through, in order."""
        control = self.control
        if isinstance(control, Segments):
            return control.choices
        if not isinstance(control, Slider) or self.stops:
            return self.stops or (False, True)
        least, most = control.least, control.most
        inner: Sequence[float] = [control.at(k / _NOTCHES) for k in range(_NOTCHES)]
        if control.log:
            powers = range(math.floor(math.log10(least)), math.ceil(math.log10(most)))
            inner = [float(f"{rung}e{power}") for power in powers for rung in (1, 2, 5)]
        elif control.whole:
            inner = range(math.ceil(least), math.ceil(most), max(1, round((most - least) / _NOTCHES)))
        return [least, *(one for one in inner if least < one < most), most]

    def turned_value(self, way: int, by: int = 1) -> Any:
        """Return the value `by` notches up (1) or down (-1), or the last one that way; None if there is none."""
        notches, value, beyond = self.notches, self.value, list[Any]()
        if value not in notches and isinstance(self.control, Segments):
            beyond = [notches[0]]
        elif isinstance(self.control, Segments):
            place = notches.index(value)
            beyond = [*(notches[place + 1 :] if way > 0 else notches[:place][::-1])]
        elif isinstance(value, int | float):
            beyond = sorted((one for one in notches if (one - value) * way > 0), key=lambda one: one * way)
        return self.control.taken(beyond[min(by, len(beyond)) - 1]) if beyond else None

    def far_value(self, key: str) -> Any:
        """Return the value after Home, End (the ends), PageUp or PageDown (a decade, or a quarter); None: no change."""
        page = 3 if isinstance(self.control, Slider) and self.control.log else _NOTCHES // 4
        by = len(self.notches) if key in ("Home", "End") else page
        way = 1 if key in ("End", "PageUp") else -1
        return None if isinstance(self.control, Switch) else self.turned_value(way, by)


Look = Literal["tools", "slider", "segments", "switches", "buttons", "layers", "rule"]
_LOOKS: dict[type[Control], Look] = {Button: "buttons", Slider: "slider", Segments: "segments", Switch: "switches"}


@dataclass(frozen=True, slots=True)
class ControlRow:
    """Items side by side; `look` is their kind."""

    look: Look
    items: tuple[Item, ...] = ()
    label: str = ""
    note: str = ""  # dim text after the label
    ends: tuple[str, str] = ("", "")  # numbers of inputs and outputs at the ends of layers
    typed: Item | None = None  # the item that a double click on the note types
    middles: tuple[Item, ...] = ()  # the numbers of layers between - and +: typed and dragged out, without a key


def row_of(item: Item) -> ControlRow:
    """Return the row of a single control."""
    return ControlRow(_LOOKS[type(item.control)], (item,), item.control.label)


def printed(value: Any) -> str:
    """Return a value as the panel prints it: ``1,024``, ``0.03``, ``5e−5``, ``tanh``."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int):
        return f"{value:,}".replace("-", "\N{MINUS SIGN}")
    if isinstance(value, float):
        return f"{value:.4g}".replace("e-0", "e-").replace("e+0", "e").replace("-", "\N{MINUS SIGN}")
    said = str(value)
    return said if said in LAYERS else ROWS.get(said, said)  # an activation under its name in the picture


RESTS = 0.4
"""Seconds that the pointer rests on a control before its description appears."""
HEAD = 40.0
"""Height of the title in logical pixels."""
KEYS = ("Tab", "Space", "Enter", "Left", "Right", "Up", "Down")
"""Keys that the panel takes while it is open."""
FAR = ("Home", "End", "PageUp", "PageDown", "Delete", "Backspace")
"""Keys that the panel also takes while the focus ring is shown."""
TYPED, SCROLLS = "typed", "scrolls"
"""The value of a spot that shows a number, and the name of the scroll bar's spot."""
PAD, HIGHER = 12.0, 5.0  # padding of the panel; upward shift of panels over the line that counts those left out
MOST_AIR = 18.0
"""Most logical pixels between two rows, so that the visible rows fill their place."""
GAP = 14.0
ROWS_LEAST = 300.0
"""Rows scroll before the first panel is dropped, while at least this height of them is visible."""
_TIP = 260.0
_LOOSE = 14.0  # logical pixels around a layer's box within which a drag does not remove it


class Wish(NamedTuple):
    """A request of the panel: set a value (None for a button), or open a field to type one."""

    what: Literal["set", "type"]
    item: Item
    value: Any = None
    held: bool = False  # whether the gesture continues: all its wishes until release are one edit


class ControlsPanel:
    """One panel: `place` sets its box and `show` its content; `theme` may be set."""

    def __init__(self, theme: Theme) -> None:
        self.theme, self.closes = theme, "P"  # the key that closes it, shown in its title
        self.open = False
        self.box: Box | None = None  # its box while open; None if it has no place
        self.side: dict[str, Box] = {}  # smaller boxes for panels of the column
        self.more: Box | None = None  # box of the line that counts panels without room
        self.hovered_click: Click | None = None  # the click under the pointer
        self.focus = self.held = ""  # the item with the keys, and the item under the pressed button
        self._rows: tuple[ControlRow, ...] = ()
        self._wanted: Sequence[WantedPanel] = ()
        self._high: list[float] = []  # height of each row
        self._height, self._first = 0.0, 0
        self._on_bar = self._running = False  # whether the scroll bar is dragged; whether the run plays
        self._turned = 0.0  # remaining part of a wheel notch
        self._carried: Point | None = None  # position of the item that is dragged out of its row
        self._ring = False  # whether a key was used, so that the focus ring is shown
        self._pointer: Point | None = None
        self._rested, self._said = 0.0, False  # seconds that the pointer has rested, and whether that was enough
        self._drawn = Cached[Sketch]()

    # ---- place and content

    @property
    def has_place(self) -> bool:
        """True if the panel is open in a place of its own, which panels of the column share."""
        return self.open and self.box is not None

    def toggle(self) -> None:
        """Open or close the panel; the first key focus is on run and pause."""
        self.open, self._ring = not self.open, False
        self.let_go()
        self.hovered_click, self.focus, self._pointer = None, "", None

    def pass_time(self, seconds: float) -> None:
        """Count the seconds that the pointer rests."""
        if self._pointer is not None:
            self._rested += seconds

    def place(self, box: Box | None, wanted: Sequence[WantedPanel]) -> None:
        """Set the panel's box, and the panels of the column that want a place in it."""
        self.box, self._wanted = box, wanted
        self._lay_out()

    def show(self, rows: Sequence[ControlRow], *, running: bool) -> bool:
        """Set the rows; return whether the picture changes."""
        before = self._look, self._said
        self._running = running
        self._said = self._pointer is not None and self._rested >= RESTS
        if tuple(rows) != self._rows:
            self._rows = tuple(rows)
            self._lay_out()
        return before != (self._look, self._said)

    def _lay_out(self) -> None:
        self._high, self.side, self.more = [], {}, None
        if self.box is not None:
            x, y, width, high = inner = _inner(self.box)
            self._high = [_height(row, width) for row in self._rows]
            self._height, self.side = shared(inner, sum(self._high), self._wanted)
            if len(self.side) < len(self._wanted):
                self.side = {name: (at, top - HIGHER, wide, tall) for name, (at, top, wide, tall) in self.side.items()}
            self.more = (x, y + high, width, PAD)
            self._first = min(self._first, self._most_first)

    @property
    def _most_first(self) -> int:
        """The first visible row when scrolled to the end."""
        every = range(len(self._high))
        return next((first for first in every if sum(self._high[first:]) <= self._height + 0.5), len(every))

    @property
    def _last(self) -> int:
        """One past the last row that is fully visible."""
        last = self._first + sum(high <= self._height + 0.5 for high in accumulate(self._high[self._first :]))
        if last > self._first and self._rows[last - 1].look == "rule":  # a rule at the end separates nothing
            last -= 1
        return last

    # ---- drawing

    @property
    def _look(self) -> tuple[object, ...]:
        """Everything that the picture depends on."""
        ring = self.focus if self._ring else ""
        hand = self.held, self._on_bar, self._carried is not None, self._running
        return self._rows, self.hovered_click, ring, hand, self._first, self.box, self.theme.name

    def sketch(self) -> Sketch | None:
        """Return the panel, or None while it is not visible."""
        return self._drawn.get(self._look, self._painted) if self.has_place else None

    def _painted(self) -> Sketch:
        assert self.box is not None
        sketch, theme, (x, y, width, high) = Sketch(), self.theme, self.box
        sketch.rect(x, y, width, high, radius=8, fill=theme.panel, stroke=theme.border)
        sketch.text(x + PAD, y + 24, "controls", 16, theme.text1, bold=True)
        right = sketch.text(x + width - PAD, y + 24, "closes", LABEL, theme.text3, anchor="right") - 7
        sketch.text(right, y + 24, self.closes, LABEL, theme.text1, bold=True, anchor="right")
        self._draw_rows(sketch, _inner(self.box))
        if self.side and self.has_place:
            top = min(box[1] for box in self.side.values()) - 7
            sketch.line((x + PAD, top), (x + width - PAD, top), theme.border)
        return sketch

    def _draw_rows(self, sketch: Sketch, inner: Box) -> None:
        (x, y, width, _), first, last, every = inner, self._first, self._last, len(self._rows)
        own = sum(self._high[first:last])
        spread = last - first < every and last - first > 1
        air = min((self._height - own) / (last - first - 1), MOST_AIR) if spread else 0.0
        for row, high in zip(self._rows[first:last], self._high[first:last], strict=True):
            box, begin = (x, y, width, high), len(sketch.spots)
            _DRAWN[row.look](self, sketch, row, box)
            for spot in sketch.spots[begin:]:
                if self._ring and spot.name == self.focus and spot.value == "":
                    # of a slider also around its label and the words below it, which the ring would cross
                    around = (x, y - 1, width, high - 5) if row.look == "slider" else spot.box
                    widgets.focus_ring(sketch, around, self.theme)
            y += high + max(air, 0.0)
        if last - first < every:
            total, above = sum(self._high), sum(self._high[:first])
            left, top, wide, long = self._bar
            share, start = own / total, above / total
            sketch.rect(left, top, wide, long, radius=wide / 2, fill=self.theme.border)
            colour = self.theme.text1 if self._on_bar else self.theme.text3
            sketch.rect(left, top + long * start, wide, max(long * share, 8.0), radius=wide / 2, fill=colour)
            sketch.spot((left - 2, top, PAD, long), SCROLLS)

    @property
    def _bar(self) -> Box:
        """The box of the scroll bar."""
        assert self.box is not None
        x, y, width, _ = self.box
        return x + width - 7, y + HEAD, 3.0, self._height - 4

    def label(self, size: tuple[float, float]) -> list[Sketch]:
        """Return the label beside the pointer: the control's description, keys and flag."""
        item = self.item(self.held)
        if self._carried is not None and self.open and item is not None and item.out is not None:
            return self._in_hand(self._carried, item, item.out, size)
        item = self.item(self.hovered_click[0] if self.hovered_click else "")
        if item is None or self._pointer is None or self.held or not (self.open and self._said):
            return []
        ways = [f"key {item.keys}"] * bool(item.keys) + [item.control.flag] * bool(item.control.flag)
        ways += ["double click: type it"] * item.typed
        more = wrapped(item.control.does, _TIP) + ["  \N{MIDDLE DOT}  ".join(ways)] * bool(ways)
        if item.out is not None:
            more.append(f"{'drag it out of its row' if item.typed else 'press Delete here'} to remove it")
        return [pointer_label(self._pointer, size, item.name, item.shown, more, self.theme)]

    def _in_hand(self, at: Point, item: Item, out: Item, size: tuple[float, float]) -> list[Sketch]:
        """Draw the dragged item at the pointer, with what a release would do."""
        sketch, wide = Sketch(), max(measure(item.shown, LABEL, True) + 24, 56.0)
        box = (at[0] - wide / 2, at[1] - LINE / 2, wide, LINE)
        sketch.rect(*box, radius=5, fill=shade(self.theme, 0.3), stroke=self.theme.text2)
        sketch.text(at[0], box[1] + 19, item.shown, LABEL, self.theme.text1, bold=True, anchor="middle")
        words = wrapped(out.control.does, _TIP)
        return [sketch, pointer_label((at[0], at[1] + 14), size, out.name, "release", words, self.theme)]

    # ---- the pointer, in logical pixels

    @property
    def spots(self) -> Sequence[Spot]:
        """The current clickable spots."""
        sketch = self.sketch()
        return () if sketch is None else sketch.spots

    def spot(self, name: str) -> Spot | None:
        """Return the spot of a visible item, or None."""
        return next((spot for spot in self.spots if spot.name == name and spot.value == ""), None)

    def item(self, name: str) -> Item | None:
        """Return the item with this name, or None."""
        every = (one for row in self._rows for one in (*row.items, *row.middles, *filter(None, (row.typed,))))
        return next((one for one in every if one.name == name), None) if name else None

    def _item_at(self, at: Point | None) -> tuple[Spot, Item] | tuple[None, None]:
        """Return the spot and item at a point, or two Nones."""
        spot = spot_at(self.spots, at)
        item = None if spot is None or spot.value == TYPED else self.item(spot.name)
        return (None, None) if spot is None or item is None else (spot, item)

    def covers(self, at: Point) -> bool:
        """Return whether a point is on the panel, or on a panel of the column in it."""
        return self.open and contains(self.box, at)

    def owns(self, at: Point) -> bool:
        """Return whether a point is on the panel, but not on a panel of the column in it."""
        return self.covers(at) and not (self.has_place and any(contains(box, at) for box in self.side.values()))

    def hover(self, at: Point | None) -> bool:
        """Handle the pointer at a point (None: elsewhere); return whether the picture changes."""
        before, pointer = self.hovered_click, self._pointer
        spot, _ = self._item_at(at)
        self.hovered_click, self._pointer = (None, None) if spot is None else (spot.click, at)
        if spot is None or before is None or spot.name != before[0]:
            self._rested, self._said = 0.0, False
        return before != self.hovered_click or pointer != self._pointer

    def press(self, at: Point) -> Wish | None:
        """Handle a button press; return a wish or None."""
        spot, item = self._item_at(at)
        bar = spot_at(self.spots, at)
        self._on_bar = bar is not None and bar.name == SCROLLS
        self._ring = self._said = False
        self._rested = -math.inf  # no description after a click until the pointer is elsewhere
        self.held = "" if item is None else item.name
        self.focus = self.held or self.focus
        return self._slid_to(spot, item, at)

    def drag(self, at: Point) -> Wish | None:
        """Handle a drag; return a wish or None."""
        if self._on_bar:
            _, top, _, high = self._bar
            self._first = round(min(max((at[1] - top) / max(high, 1.0), 0.0), 1.0) * self._most_first)
        spot, item = self.spot(self.held), self.item(self.held)
        if spot is not None and item is not None and item.out is not None:
            self._carried = None if contains(spot.box, at, _LOOSE) else at
        return self._slid_to(spot, item, at)

    def _slid_to(self, spot: Spot | None, item: Item | None, at: Point) -> Wish | None:
        """Return the wish to set a slider under the pointer, or None."""
        if spot is None or item is None or item.out is not None or not isinstance(item.control, Slider):
            return None
        return Wish("set", item, item.value_at(spot.box, at[0]), held=True)

    def release(self, at: Point) -> Wish | None:
        """Handle a release: it counts as a click on an item if the button was pressed there too."""
        held, (spot, item), carried = self.item(self.held), self._item_at(at), self.carries
        self.let_go()
        if carried and held is not None and held.out is not None:
            return Wish("set", held.out)
        if spot is None or item is None or held is None or item.name != held.name:
            return None
        if isinstance(item.control, Segments):
            return Wish("set", item, item.control.choices[spot.value]) if isinstance(spot.value, int) else None
        return _pressed(item)

    def let_go(self) -> bool:
        """Drop what is held; return whether it was dragged out of its row."""
        carried, self.held, self._on_bar, self._carried = self.carries, "", False, None
        return carried

    @property
    def carries(self) -> bool:
        """True while an item is dragged out of its row."""
        return self._carried is not None

    def number_at(self, at: Point) -> Item | None:
        """Return the item whose number at a point can be typed by a double click, or None."""
        spot = spot_at(self.spots, at)
        item = None if spot is None else self.item(spot.name)
        if spot is None or item is None or not item.typed:
            return None
        return item if spot.value == TYPED or item.out is not None or isinstance(item.control, Segments) else None

    def scroll(self, notches: float) -> bool:
        """Scroll by notches of the wheel; return whether the rows moved."""
        before = self._first
        self._turned = self._turned + notches if self._turned * notches > 0 else notches
        whole = math.trunc(self._turned)  # touch pads send parts of a notch
        self._turned -= whole
        self._first = min(max(0, self._first - whole), self._most_first)
        self.hovered_click = None
        return before != self._first

    # ---- keys: a ring shows the focused item

    def key(self, name: str, *, shift: bool = False) -> Wish | bool:
        """Handle a key: return a wish, True if only the ring moved, or False if the key is not the panel's."""
        items = [item for row in self._rows for item in row.items]
        if not items or not (name in KEYS or (self._ring and name in FAR)):
            return False
        usual = next((one for one in items if one.sign == "toggle_run"), items[0])
        item = next((one for one in items if one.name == self.focus), usual)
        if name == "Space" and not self._ring:  # nothing shows which item was clicked last
            return False
        self.focus = item.name
        shown, self._ring = self._ring, True
        if name == "Tab":  # the first Tab shows the focus
            by = 0 if not shown else -1 if shift else 1
            return self._see(items[(items.index(item) + by) % len(items)])
        if name == "Enter" and item.typed:
            return Wish("type", item)
        if name in ("Space", "Enter"):
            return _pressed(item) or True
        if name in ("Delete", "Backspace"):
            return True if item.out is None else Wish("set", item.out)
        if isinstance(item.control, Button):
            return self._see(self._neighbour(item, name))
        value = item.turned_value(1 if name in ("Right", "Up") else -1) if name in KEYS else item.far_value(name)
        return True if value is None else Wish("set", item, value)

    def _neighbour(self, item: Item, key: str) -> Item:
        """Return the item that an arrow key leads to from a button; the same one at an end."""
        lines = [row.items for row in self._rows if row.items]
        line = next(k for k, items in enumerate(lines) if item in items)
        row, place, by = lines[line], lines[line].index(item), 1 if key in ("Right", "Down") else -1
        if key in ("Left", "Right"):
            return row[min(max(place + by, 0), len(row) - 1)]
        if key in ("Up", "Down"):
            return lines[line + by][0] if 0 <= line + by < len(lines) else item
        return {"Home": row[0], "End": row[-1]}.get(key, item)

    def _see(self, item: Item) -> bool:
        """Focus an item, and scroll to it."""
        self.focus = item.name
        number = next(k for k, row in enumerate(self._rows) if item in row.items)
        self._first = min(self._first, number)
        while self._last <= number and self._first < self._most_first:
            self._first += 1
        return True

    # ---- rows

    def _spot(self, sketch: Sketch, box: Box, item: Item, value: str | int = "") -> bool:
        """Make a box clickable for an item; return whether the pointer is on it."""
        sketch.spot(box, item.name, value, words=item.shown, tip=item.tip)
        return self.hovered_click == (item.name, value)

    def _head(self, sketch: Sketch, row: ControlRow, box: Box, item: Item | None = None) -> None:
        """Draw label and note at the left, and the item's value at the right."""
        (x, y, width, _), theme = box, self.theme
        sketch.text(x, y + 13, row.label, LABEL, theme.text2)
        shown, taken = "" if item is None else item.shown, measure(row.label, LABEL) + 10
        sketch.text(x + width, y + 13, shown, 15, theme.text1, bold=True, anchor="right")
        if row.note and taken + measure(row.note, LABEL) + measure(shown, 15, True) + 8 <= width:
            sketch.text(x + taken, y + 13, row.note, LABEL, theme.text3)
        if item is not None and item.typed:
            self._spot(sketch, (x + width / 2, y, width / 2, 19.0), item, TYPED)

    def _rule(self, sketch: Sketch, row: ControlRow, box: Box) -> None:
        sketch.line((box[0], box[1] + 5.5), (box[0] + box[2], box[1] + 5.5), self.theme.border)

    def _tools(self, sketch: Sketch, row: ControlRow, box: Box) -> None:
        """Draw buttons with signs and their keys below; the middle one is wider."""
        (x, y, width, _), theme, high = box, self.theme, 38.0
        pitch = (width - _BETWEEN * (len(row.items) - 1) - 16) / len(row.items)
        for k, item in enumerate(row.items):
            wide = pitch + (16 if k == len(row.items) // 2 else 0)
            own, main = (x, y, wide, high), item.sign == "toggle_run"
            lit = self._spot(sketch, own, item)
            fill = mixed(theme.text1, theme.panel, 1.0 if lit else 0.94) if main else shade(theme, 0.34 if lit else 0.2)
            sketch.rect(*own, radius=6, fill=fill, stroke=None if main else theme.flow)
            widgets.draw_sign(sketch, item.sign, own, theme.panel if main else theme.text1, running=self._running)
            colour, key = theme.text1 if main else theme.text3, item.keys.partition(",")[0]
            sketch.text(x + wide / 2, y + high + 16, key, SMALL, colour, bold=main, anchor="middle")
            x += wide + _BETWEEN

    def _slider(self, sketch: Sketch, row: ControlRow, box: Box) -> None:
        (item,), (x, y, width, _) = row.items, box
        control, own = item.control, (x, y + 16, width, 30.0)
        assert isinstance(control, Slider)
        self._head(sketch, row, box, item)
        self._spot(sketch, own, item)
        near = self.held == item.name or (self.hovered_click is not None and self.hovered_click[0] == item.name)
        share = control.share(float(item.value) if isinstance(item.value, int | float) else math.nan)
        usual = None if control.usual is None else control.share(control.usual)
        ticks = [(control.share(value), words) for value, words in item.ticks]
        widgets.slider(sketch, own, self.theme, share, usual, ticks, near=near)

    def _segments(self, sketch: Sketch, row: ControlRow, box: Box) -> None:
        (item,), (x, y, width, high), control = row.items, box, row.items[0].control
        assert isinstance(control, Segments)
        if _beside_label(row, width):
            sketch.text(x, y + 19, row.label, LABEL, self.theme.text2)
            wide = min(max(_in_one_line(item), 0.66 * width), width - measure(row.label, LABEL) - 14)
            own = (x + width - wide, y, wide, LINE)
        else:
            self._head(sketch, row, box, item)
            own = (x, y + _UNDER, width, high - _UNDER - 9)
        self._spot(sketch, own, item)
        over = self.hovered_click[1] if self.hovered_click is not None and self.hovered_click[0] == item.name else ""
        chosen = control.choices.index(item.value) if item.value in control.choices else -1
        words = [printed(one) for one in control.choices]
        for k, cell in enumerate(widgets.choices(sketch, own, self.theme, words, chosen, over)):
            sketch.spot(cell, item.name, k, words=words[k])

    def _switches(self, sketch: Sketch, row: ControlRow, box: Box) -> None:
        """Draw one switch, or two side by side."""
        x, y, width, _ = box
        wide = (width - _PAIR) / 2 if len(row.items) > 1 else width
        for k, item in enumerate(row.items):
            own = (x + k * (wide + _PAIR), y, wide, LINE)
            lit = self._spot(sketch, own, item)
            widgets.switch(sketch, own, self.theme, cut(item.name, wide - 44), on=item.value is True, over=lit)

    def _buttons(self, sketch: Sketch, row: ControlRow, box: Box) -> None:
        """Draw buttons at the right of their label, or as wide as the panel without one."""
        (x, y, width, high), theme = box, self.theme
        if not _is_lone_button(row):
            end = sketch.text(x, y + 19, row.label, LABEL, theme.text2)
            sketch.text(end + 10, y + 19, row.note, LABEL, theme.text1, bold=True)
        if row.typed is not None:
            self._spot(sketch, (x, y, width / 3, LINE), row.typed, TYPED)
        right = x + width
        for item in reversed(row.items):
            wide = width if _is_lone_button(row) else _as_wide(item)
            own = (right - wide, y + high - _HEIGHTS["buttons"], wide, LINE)
            lit = self._spot(sketch, own, item)
            words, down = cut(item.name, wide - 8, bold=True), item.name == self.held
            widgets.button(sketch, own, theme, words, lit=lit, down=down)
            right -= wide + _BETWEEN

    def _layers(self, sketch: Sketch, row: ControlRow, box: Box) -> None:
        """Draw boxes in a row: inputs, a number between - and + for each layer, "add layer", outputs."""
        (x, y, width, _), theme, layers = box, self.theme, len(row.middles)
        self._head(sketch, row, box)
        y, held = y + _UNDER, self.item(self.held)
        if layers == 0 or (width - 2 * _ENDS - _ADD) / layers >= _ROOMY:
            for left, words in ((x, f"{row.ends[0]} in"), (x + width - _ENDS + 4, f"{row.ends[1]} out")):
                sketch.rect(left, y, _ENDS - 4, LINE, radius=5, stroke=theme.border)
                text = cut(words, _ENDS - 6)
                sketch.text(left + (_ENDS - 4) / 2, y + 19, text, SMALL, theme.text3, anchor="middle")
            x, width = x + _ENDS, width - 2 * _ENDS
        adds = len(row.items) > 2 * layers
        pitch = (width - (0.0 if not adds else width if layers == 0 else _ADD)) / max(layers, 1)
        for k, item in enumerate(row.middles):
            own = (x + k * pitch + 5, y, pitch - 5, LINE)
            self._spot(sketch, own, item)
            step = min(_STEP, (own[2] - max(measure(item.shown, LABEL, True), 4.0)) / 2)
            parts = [((own[0], y, step, LINE), row.items[2 * k], False),
                     ((own[0] + own[2] - step, y, step, LINE), row.items[2 * k + 1], True)]  # fmt: skip
            lit = [self._spot(sketch, part, one) for part, one, _ in parts]
            if self.carries and held is not None and held.out == item.out:
                widgets.dashed(sketch, own, theme.flow)
                continue
            sketch.rect(*own, radius=5, stroke=theme.flow)
            sketch.text(own[0] + own[2] / 2, y + 19, item.shown, LABEL, theme.text1, bold=True, anchor="middle")
            for (part, _, up), over in zip(parts, lit, strict=True):
                if over:
                    left, top, wide, high = part
                    sketch.rect(left + 1, top + 1, wide - 2, high - 2, radius=4, fill=shade(theme, 0.3))
                widgets.plus(sketch, part, theme.text1 if over else theme.text2, more=up)
        if adds:
            left = x + layers * pitch + (5 if layers else 8)
            own = (left, y, x + width - left - (4 if layers else 8), LINE)
            over = self._spot(sketch, own, row.items[-1])
            if over:
                sketch.rect(*own, radius=5, fill=shade(theme, 0.2))
            widgets.dashed(sketch, own, theme.text2 if over else theme.flow)
            if layers:
                widgets.plus(sketch, own, theme.text1)
            else:
                sketch.text(left + own[2] / 2, y + 19, "add layer", LABEL, theme.text1, bold=True, anchor="middle")


_DRAWN = {
    "rule": ControlsPanel._rule, "tools": ControlsPanel._tools, "slider": ControlsPanel._slider,
    "segments": ControlsPanel._segments, "switches": ControlsPanel._switches, "buttons": ControlsPanel._buttons,
    "layers": ControlsPanel._layers,
}  # fmt: skip
_HEIGHTS = {"tools": 66.0, "slider": 63.0, "switches": 32.0, "buttons": 36.0, "layers": 62.0, "rule": 15.0}
_UNDER = 22.0  # from the top of a row to the content under its label
_BETWEEN = 8.0  # between two buttons
_PAIR = 28.0  # between two switches in a row
_STEP = 20.0  # width of + and -
_ENDS = 46.0  # width of the boxes with the numbers of inputs and outputs; left out with many layers
_ADD = 26.0  # width of "add layer" beside layers
_ROOMY = 56.0  # least width of a layer beside these boxes


def _pressed(item: Item) -> Wish | None:
    """Return the wish of a click, Space or Enter on a control."""
    if isinstance(item.control, Button):
        return Wish("set", item)
    if isinstance(item.control, Switch):
        return Wish("set", item, item.value is not True)
    if isinstance(item.control, Segments):
        value = item.turned_value(1)
        return Wish("set", item, item.control.choices[0] if value is None else value)
    return None


def _height(row: ControlRow, width: float) -> float:
    """Return the height of a row with the gap below it."""
    if row.look == "segments":
        control = row.items[0].control
        assert isinstance(control, Segments)
        lines = choice_lines([printed(one) for one in control.choices], width)
        return LINE + 10.0 if _beside_label(row, width) else _UNDER + LINE * len(lines) + 9.0
    below = row.look == "buttons" and not _beside_words(row, width)
    return _HEIGHTS[row.look] + (LINE if below else 0.0)


def _beside_label(row: ControlRow, width: float) -> bool:
    """Return whether short choices fit beside their label on one line."""
    item = row.items[0]
    return not (item.shown or row.note) and measure(row.label, LABEL) + 14 + _in_one_line(item) <= width


def _in_one_line(item: Item) -> float:
    """Return the width of all choices on one line."""
    assert isinstance(item.control, Segments)
    return sum(measure(printed(one), LABEL, True) + 16 for one in item.control.choices)


def _is_lone_button(row: ControlRow) -> bool:
    """Return whether the row is one button that shows its own name."""
    return len(row.items) == 1 and row.items[0].name == row.label


def _as_wide(item: Item) -> float:
    return measure(item.name, LABEL, True) + 20


def _beside_words(row: ControlRow, width: float) -> bool:
    """Return whether buttons fit beside their label; otherwise they are below it."""
    words = measure(row.label, LABEL) + 10 + measure(row.note, LABEL, True)
    return _is_lone_button(row) or words + sum(_BETWEEN + _as_wide(item) for item in row.items) <= width


def _inner(box: Box) -> Box:
    """Return the box of rows and panels."""
    x, y, width, high = box
    return x + PAD, y + HEAD, width - 2 * PAD, high - HEAD - PAD


def shared(inner: Box, rows: float, wanted: Sequence[WantedPanel]) -> tuple[float, dict[str, Box]]:
    """Return the height of the rows, and smaller boxes for the panels below them."""
    x, y, width, room = inner
    wanted = wanted if width >= COLUMN else ()
    first = max(wanted, key=lambda panel: panel.rank).height + GAP if wanted else 0.0
    high = min(rows, room - first if first and room - first >= min(rows, ROWS_LEAST) else room)
    rest = room - high - GAP
    return high, stacked(fitting_panels(wanted, rest, GAP), (x, y + high + GAP, width, rest), GAP)
