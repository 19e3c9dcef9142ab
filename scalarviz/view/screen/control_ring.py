"""The ring: which control has the keys, where it goes, and what a key wants there."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ...errors import InputError, shown
from ...run.controls import Button, Segments, Slider, Switch
from .control_drawing import track_of
from .control_rows import Item, Placed, Stood


@dataclass(frozen=True, slots=True)
class Wish:
    """What a hand wants of a control.

    Attributes
    ----------
    what : {"set", "type"}
        A value of its own, or one that is typed into a field of the host's.
    item : Item
    value : object
        None for a button.
    held : bool
        Whether the hand goes on: all that it wants until it lets go is one edit.
    """

    what: Literal["set", "type"]
    item: Item
    value: Any = None
    held: bool = False


def pressed(item: Item, key: str) -> Wish | bool:
    """What Space and Enter want of a control; True where they want nothing."""
    if isinstance(item.control, Button):
        return Wish("set", item)
    if isinstance(item.control, Switch):
        return Wish("set", item, item.value is not True)
    if item.typed and key == "Enter":
        return Wish("type", item)
    if isinstance(item.control, Segments):
        value = turned(item, 1)
        return Wish("set", item, item.control.choices[0] if value is None else value)
    return True


def focused(rows: Sequence[Stood], name: str) -> Item:
    """The item of a name; where there is none of it what runs and pauses, or the first one."""
    items = _items(rows)
    found = next((item for item in items if item.name == name), None)
    return found or next((item for item in items if item.sign == "toggle_run"), items[0])


def further(rows: Sequence[Stood], item: Item, by: int) -> Item:
    """The next item, or the one before; after the last comes the first."""
    items = _items(rows)
    return items[(_place(items, item) + by) % len(items)]


def beside(rows: Sequence[Stood], item: Item, key: str) -> Item:
    """Where an arrow leads from a button: to its neighbour, or to the row above or below; at an end nowhere.

    Home and End lead to the first and the last one of its row, PageUp and PageDown nowhere.
    """
    lines = [one.row.items for one in rows if one.row.items]
    line = next(k for k, items in enumerate(lines) if any(one.name == item.name for one in items))
    if key not in ("Left", "Right", "Up", "Down"):
        return {"Home": lines[line][0], "End": lines[line][-1]}.get(key, item)
    by = 1 if key in ("Right", "Down") else -1
    if key in ("Left", "Right"):
        place = _place(lines[line], item) + by
        return lines[line][place] if 0 <= place < len(lines[line]) else item
    return lines[line + by][0] if 0 <= line + by < len(lines) else item


def _items(rows: Sequence[Stood]) -> list[Item]:
    return [item for one in rows for item in one.row.items]


def _place(items: Sequence[Item], item: Item) -> int:
    return next(k for k, one in enumerate(items) if one.name == item.name)


# ---- What a hand makes of a value: a place on a track, a notch, the next choice.

MAGNET = 6.0
"""Logical pixels from a slider's usual value within which the knob is caught by it."""
_NOTCHES = 20
_LADDER = (1.0, 2.0, 5.0, 10.0)


def value_at(part: Placed, x: float) -> float | int:
    """The value of a slider where the pointer is, caught by the usual one or by a stop."""
    slider = part.item.control
    assert isinstance(slider, Slider)
    left, right, _ = track_of(part)
    if part.item.stops:
        return min(part.item.stops, key=lambda stop: abs(left + (right - left) * slider.share(stop) - x))
    if slider.usual is not None and abs(left + (right - left) * slider.share(slider.usual) - x) <= MAGNET:
        return slider.taken(slider.usual)
    return slider.taken(slider.at((x - left) / (right - left)))


def turned(item: Item, way: int) -> Any:
    """The value one notch further on (1) or back (-1); None where there is none, or no value that has a next one."""
    control, value = item.control, item.value
    if isinstance(control, Switch):
        return way > 0
    if isinstance(control, Segments):
        places = list(control.choices)
        if value not in places:
            return places[0]
        place = places.index(value) + way
        return places[place] if 0 <= place < len(places) else None
    if not isinstance(control, Slider) or not isinstance(value, int | float):
        return None
    if item.stops:
        further = [stop for stop in item.stops if (stop - value) * way > 0]
        return min(further, key=lambda stop: abs(stop - value), default=None)
    found = _on_ladder(float(value), way) if control.log else _further(control, float(value), way)
    found = min(max(found, control.least), control.most)
    return None if found == value else control.taken(round(found) if control.whole else found)


def turned_far(item: Item, key: str) -> Any:
    """What Home and End make of a value: the ends; PageUp and PageDown: a decade, or a quarter; None for nothing."""
    control, way = item.control, 1 if key in ("End", "PageUp") else -1
    if key in ("Home", "End") and isinstance(control, Slider):
        ends = (min(item.stops), max(item.stops)) if item.stops else (control.least, control.most)
        return control.taken(ends[way > 0])
    if key in ("Home", "End") and isinstance(control, Segments):
        return control.choices[-1 if way > 0 else 0]
    if isinstance(control, Switch):
        return None
    found, last = None, item
    for _ in range(3 if isinstance(control, Slider) and control.log else _NOTCHES // 4):
        value = turned(last, way)
        found, last = (found, last) if value is None else (value, replace(last, value=value))
    return found


def _on_ladder(value: float, way: int) -> float:
    """The next of 1, 2, 5, 10, 20 ..."""
    if not value > 0:
        return math.inf if way > 0 else 0.0
    power = math.floor(math.log10(value))
    rungs = [float(f"{rung * 10:g}e{power + k - 1}") for k in (-1, 0, 1) for rung in _LADDER[:3]]
    if way > 0:
        return min(rung for rung in rungs if rung > value * 1.0001)
    return max(rung for rung in rungs if rung < value * 0.9999)


def _further(slider: Slider, value: float, way: int) -> float:
    step = (slider.most - slider.least) / _NOTCHES
    if slider.whole:
        return value + way * max(1, round(step))
    return slider.at(slider.share(value) + way / _NOTCHES)


# ---- Numbers as people type them.

_GROUPS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
"""``1,024``, ``12,000.5``: commas between thousands. One alone in a number that need not be whole is a decimal one."""


def number_of(text: str, name: str, *, whole: bool) -> int | float:
    """A number as people type it: ``0.03``, ``0,03``, ``1e-3``, ``1,024`` where it has to be `whole`, ``1_024``.

    Raises
    ------
    InputError
        It is none; `name` says for what it was typed.
    """
    plain = text.strip().replace("\N{MINUS SIGN}", "-")
    if _GROUPS.fullmatch(plain) and (whole or plain.count(",") > 1 or "." in plain):
        plain = plain.replace(",", "")
    elif plain.count(",") == 1 and "." not in plain:
        plain = plain.replace(",", ".")
    if re.fullmatch(r"[+-]?\d{1,18}", plain):
        return int(plain)
    try:
        return float(plain)
    except ValueError:
        said = shown(text) if plain else "nothing"
        raise InputError(f"{name}: {said} is no number; such as {'16' if whole else '0.03 or 1e-3'}") from None
