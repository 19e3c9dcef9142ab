"""`CellControls`: the controls of a scene as rows for elements of the browser, and what a hand sets with them.

The same rows as those of the window's panel, from the same descriptions; only who draws them differs. A value that
comes from a browser is taken by the control's own rule, or refused in its words.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from ...errors import UnknownNameError, listing
from ...run.controls import Button, Segments, Slider, Switch
from ..watch.driving import COMMAND, Driving

if TYPE_CHECKING:
    from ...run.core.frame import Frame
    from ...run.scene.scene import Scene
    from ..screen.control_rows import Item, Row
    from ..watch.live import LiveView

TOOLS = ("restart", "back", "toggle_run", "step", "micro_next")
"""Actions that are buttons."""


class CellControls(Driving):
    """What the sliders of one cell show and set; `hide` is left out beside what the scene hides itself."""

    def __init__(self, viewer: LiveView, scene: Scene, hide: Collection[str] = ()) -> None:
        super().__init__(viewer, scene, {*hide, COMMAND})  # its browser has no clipboard of ours
        self.tools = tuple(name for name in TOOLS if name not in self._hidden)  # actions that are buttons, in order
        self._rows: list[Row] = []

    # ---- what is shown

    def written(self, frame: Frame) -> list[dict[str, object]]:
        """The rows of a moment, ready for JSON."""
        self._rows = [row for row in self.shown(frame) if row.look != "tools"]
        return [_row(row) for row in self._rows]

    # ---- what is asked for

    def ask(self, name: object, value: object, *, held: bool = False) -> None:
        """Set a control by its name; what one hand does until :meth:`let_go` is one edit.

        Raises
        ------
        UnknownNameError
            There is no such control in this cell.
        ScalarvizError
            It does not take the value, or the run does not take the edit.
        """
        items = list(_items(self._rows))
        item = next((one for one in items if one.name == name), None)
        if item is None:
            raise UnknownNameError(
                f"no control {str(name)[:60]!r} here; there are {listing(one.name for one in items)}"
            )
        self.set(item, None if isinstance(item.control, Button) else _given(item.control, value), held=held)


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
