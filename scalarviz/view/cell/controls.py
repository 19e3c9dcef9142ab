"""`CellControls`: the controls of a scene as rows for elements of the browser, and what a hand sets with them.

The same rows as those of the window's panel, from the same descriptions; only who draws them differs. A value that
comes from a browser is taken by the control's own rule, or refused in its words.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

from ...errors import InputError, UnknownNameError, listing
from ...run.controls import Button, Reader, Segments, Slider, Switch
from ..screen.control_contents import Contents
from ..watch.driving import WAITS, Driving

if TYPE_CHECKING:
    from ...run.core.frame import Frame
    from ...run.scene.scene import Scene
    from ..screen.control_rows import Item, Row
    from ..watch.live import LiveView

TOOLS = ("restart", "back", "toggle_run", "step", "micro_next")  # actions that are buttons
COMMAND = "copy as command"  # what a cell leaves out: its browser has no clipboard of ours
_gestures = count(1)


class CellControls(Driving):
    """What the sliders of one cell show and set; `hide` is left out beside what the scene hides itself."""

    def __init__(self, viewer: LiveView, scene: Scene, hide: Collection[str] = ()) -> None:
        super().__init__(viewer)
        self._scene = scene
        hidden = {*scene.hide, *hide, COMMAND}
        self._contents = Contents(self, scene.controls, None, hidden)
        self.tools = tuple(name for name in TOOLS if name not in hidden)
        self._rows: list[Row] = []
        self._wanted: dict[str, tuple[Any, float]] = {}
        self._gesture = ""

    # ---- what is shown

    def written(self, frame: Frame) -> list[dict[str, object]]:
        """The rows of a moment, ready for JSON."""
        now = self._viewer.clock
        self._wanted = {name: kept for name, kept in self._wanted.items() if kept[1] > now}
        reader = Reader(frame, self._viewer.bench.subject.source, self._scene.options)
        wanted = {name: value for name, (value, _) in self._wanted.items()}
        self._rows = [row for row in self._contents.rows(reader, wanted) if row.look != "tools"]
        for name in self._contents.arrived:
            self._wanted.pop(name, None)
        self._contents.arrived.clear()
        for line in self._contents.troubles:
            self._viewer.say(line)
        self._contents.troubles.clear()
        return [_row(row) for row in self._rows]

    # ---- what is asked for

    def set(self, name: object, value: object, *, held: bool = False) -> None:
        """Set a control; what one hand does until :meth:`release` is one edit."""
        item = next((one for one in _items(self._rows) if one.name == name), None)
        if item is None:
            raise UnknownNameError(
                f"no control {str(name)[:60]!r} here; there are {listing(one.name for one in _items(self._rows))}"
            )
        if held and not self._gesture:
            self._gesture = f"cell {next(_gestures)}"
            self._viewer.hold()
        control = item.control
        taken = item.value if isinstance(control, Button) else control.taken(_given(control, value))
        if item.stops and taken not in item.stops:
            raise InputError(f"{item.name}: got {taken!r:.60}; allowed: {listing(item.stops)}")
        until = self._viewer.clock + (float("inf") if self._gesture else WAITS)
        edit = control.change(taken, Reader(self._viewer.shown, self._viewer.bench.subject.source, self._scene.options))
        if taken is not None and not isinstance(control, Button):
            self._wanted[item.name] = taken, until
        elif item.part_of:
            self._wanted[item.part_of] = item.value, until
        if edit is not None:
            self._viewer.change(edit, self._gesture)

    def release(self) -> None:
        """The hand is open: training goes on."""
        if self._gesture:
            self._gesture = ""
            until = self._viewer.clock + WAITS
            self._wanted = {name: (value, min(kept, until)) for name, (value, kept) in self._wanted.items()}
            self._viewer.release_hold()

    # ---- what is no edit (see Contents)

    def copy(self, words: str) -> None:
        """Nothing: there is no clipboard here."""


def names_of(scene: Scene) -> set[str]:
    """What `hide` may name of a scene: controls of every run, the scene's own, and the buttons."""
    own = {"learning rate", "batch", "optimiser", "momentum", "regularisation", "regularisation rate", "activation",
           "pace", "layers", "seed", "pause when"}  # fmt: skip
    return own | {control.label for control in scene.controls} | set(TOOLS)


def _given(control: object, value: object) -> object:
    """Lists of JSON are the tuples of Python; a whole number that came as 3.0 is 3."""
    if isinstance(value, list):
        return tuple(value)
    if isinstance(control, Segments) and isinstance(value, float) and value.is_integer():
        return int(value) if int(value) in control.choices else value
    return value


def _items(rows: list[Row]) -> Iterator[Item]:
    for row in rows:
        yield from row.items
        yield from row.middles
        if row.typed is not None:
            yield row.typed


def _row(row: Row) -> dict[str, object]:
    return {"look": row.look, "label": row.label, "note": row.note, "ends": list(row.ends),
            "items": [_item(item) for item in row.items],
            "typed": None if row.typed is None else _item(row.typed)}  # fmt: skip


def _item(item: Item) -> dict[str, object]:
    control = item.control
    told: dict[str, object] = {"name": item.name, "kind": type(control).__name__.lower(), "shown": item.shown,
                               "does": control.does, "keys": item.keys}  # fmt: skip
    if isinstance(control, Slider):
        told |= {"least": control.least, "most": control.most, "log": control.log, "whole": control.whole,
                 "ticks": [[value, text] for value, text in item.ticks], "stops": list(item.stops)}  # fmt: skip
    if isinstance(control, Segments):
        told["choices"] = list(control.choices)
    if isinstance(control, Slider | Segments | Switch):
        told["value"] = item.value
    return told
