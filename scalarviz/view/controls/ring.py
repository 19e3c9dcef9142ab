"""The ring: which control has the keys, where it goes, and what a key wants there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ...run.controls import Button, Segments, Switch
from .item import Item
from .rows import Stood
from .turning import turned


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
