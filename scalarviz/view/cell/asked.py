"""What a browser may ask of a cell: one table. Whatever else comes does nothing but say why.

A message is a dict with a ``kind``; its other entries are checked one by one, since anybody who has the notebook's
connection can send anything. All of them end in an action of `view.watch.actions` or in an edit of the run.
`ALLOWED` are the window's actions that a cell of numbers has; `NOT_HERE` says why it lacks others, and what to do.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from ...checks import flag, integer, one_of, text
from ...errors import InputError, ScalarvizError, TypeMismatchError, UnknownNameError, listing, shown
from ...run.controls import Button, Segments, Slider, Switch
from ..ink.theme import THEMES
from ..panels.image import AIR
from ..watch.actions import ACTIONS, Action
from ..watch.breaks import LONGEST
from ..watch.driving import COMMAND, Driving
from ..watch.live import LiveView

if TYPE_CHECKING:
    from ...run.scene.scene import Scene
    from ..panels.drawer import Point
    from ..screen.control_rows import Item, Row
    from ..watch.viewer import Viewer

OWN = {
    "fit": "fit the camera", "toggle_theme": "light or dark", "refit_range": "fit the range of the colours anew",
    "toggle_parallel": "parallel lines, or perspective", "type_value": "type the clicked cube's value",
    "toggle_help": "show or hide these keys", "break_on": "pause where a condition becomes true: type it",
}  # fmt: skip
"""Actions that the browser does by itself, and what they do there."""
_PICTURES = 'the window\'s picture has it: `display="pictures"`'
_BROWSER = "the browser's own key"
NOT_HERE = {
    "toggle_controls": "the controls always stand below the cubes",
    "toggle_panels": f'{_BROWSER}; `hide=("panels",)` leaves the panels out', "toggle_layers": _PICTURES,
    "type_word": _PICTURES, "escape": "Escape lets go of the clicked cube", "open": "load a file in Python",
    "paste": "learn a table in Python", "go_view": _BROWSER, "keep_view": _BROWSER, "toggle_turntable": _PICTURES,
    "toggle_apart": _PICTURES, "layer_after": _PICTURES, "layer_before": _PICTURES,
    "screenshot": "the last frame stays in the saved notebook", "film": "`sv.Recording` and `sv.player`",
    "toggle_full_screen": "a cell has no window", "close": "`w.close()`",
}  # fmt: skip
"""Actions that there are not, and why or what instead."""
ALLOWED = tuple(one.name for one in ACTIONS if one.name not in NOT_HERE and one.name not in OWN)
"""Names of actions that may be asked for."""
COVERS = {
    "learning rate": ("raise_rate", "lower_rate"), "pace": ("slower", "faster", "normal_speed"),
    "timeline": ("first", "newest", "name_moment", "toggle_loop"),
    "micro_next": ("micro_back", "whose", "add_samples"), "pause when": ("break_on",),
    "toggle_run": (), "step": (), "back": (), "restart": (),
    "inspector": ("nudge_up", "nudge_down", "freeze", "zero", "halve", "double", "redraw", "find_sign", "select_more",
                  "type_value"),
}  # fmt: skip
"""What is left out together with a control: keys do the same as its slider."""


def covered(hidden: Collection[str]) -> frozenset[str]:
    """Names that are left out, with what goes with them."""
    return frozenset(hidden).union(*(COVERS.get(name, ()) for name in hidden))


def keys_of(hidden: Collection[str]) -> list[dict[str, object]]:
    """Name, keys and words of the actions of a cell, and of what its browser does by itself."""
    left_out = covered(hidden)
    return [{"name": one.name, "keys": list(one.keys), "does": OWN.get(one.name, one.does), "own": one.name in OWN,
             "takes": one.values is not None}
            for one in ACTIONS if one.name not in NOT_HERE and one.name not in left_out]  # fmt: skip


def markdown() -> str:
    """The tables as docs/notebooks.md prints them."""
    there = [(_pressed(one), OWN.get(one.name, one.does)) for one in ACTIONS if one.name not in NOT_HERE]
    away = [(f"{_pressed(one)} {one.does}", NOT_HERE[one.name]) for one in ACTIONS if one.name in NOT_HERE]
    return "\n".join((_table(("key", "does"), there), _table(("not in a cell", "instead"), away)))


def _pressed(action: Action) -> str:
    return " or ".join(f"`{name}`" for name in action.pressed)


def _table(head: tuple[str, str], rows: Iterable[tuple[str, str]]) -> str:
    lines = [head, ("---", "---"), *rows]
    return "".join(f"| {first} | {second} |\n".replace("| --- | --- |", "|---|---|") for first, second in lines)


# ---- Messages

NAMES = 80  # characters of a name that are read
HIDES = {"select": "inspector", "set": "inspector", "go": "timeline", "branch": "timeline", "break": "pause when",
         "panel": "panels"}  # fmt: skip
"""What a kind of message belongs to: left out, it does nothing."""
KINDS = ("do", "control", "release", "look", *HIDES)


class Asked:
    """Does what comes from the browser, in the thread that owns the viewer; a cell does not offer `hidden`."""

    def __init__(self, viewer: Viewer, controls: CellControls | None, hidden: Collection[str] = ()) -> None:
        self._viewer, self._controls, self._hidden = viewer, controls, covered(hidden)
        self._touch = PanelTouch(viewer)

    def take(self, asked: object) -> str:
        """Do what a message asks for; returns why it was not done."""
        try:
            self.do(asked)
        except ScalarvizError as error:
            self._viewer.say(str(error))
            return str(error)
        finally:
            self._viewer.refresh()
        return ""

    def do(self, asked: object) -> None:
        """The same; raises a ScalarvizError where it is not done."""
        if not isinstance(asked, dict):
            raise TypeMismatchError(f"a message to a cell is a dict, got {shown(asked)}")
        kind, viewer, last = asked.get("kind"), self._viewer, len(self._viewer.shown.values) - 1
        if kind not in KINDS:
            raise UnknownNameError(f"a cell does not know {shown(kind)}; allowed: {listing(KINDS)}")
        if kind in HIDES:
            self._offered(HIDES[kind])
        match kind:
            case "do":
                name = text(asked.get("name"), "do: name")[:NAMES]
                if name not in ALLOWED:
                    raise UnknownNameError(f"no action {name!r} in a cell; there are {listing(ALLOWED)}")
                self._offered(name)
                viewer.send(name, asked.get("value"))
            case "select":
                index = asked.get("index")
                viewer.bench.select(None if index is None else integer("select: index", index, 0, last))
            case "set":
                if not viewer.bench.subject.source.can.edit:
                    raise InputError("these numbers are looked at, not touched")
                value = finite(asked.get("value"), "set: value")
                viewer.put(integer("set: index", asked.get("index"), 0, last), value)
            case "go":
                past, step = viewer.shown.past, integer("go: step", asked.get("step"), 0)
                if past is None:
                    raise InputError("the past of these numbers is not kept")
                near = flag(asked.get("near", False), "go: near")
                viewer.travels.go(min(max(step, past.first), past.newest), near=near)
            case "branch":
                viewer.travels.switch(integer("branch: number", asked.get("number"), 0))
            case "panel":
                self._touch.take(asked)
            case "look":
                theme = one_of(asked.get("theme"), THEMES, "look: the theme")
                if theme != viewer.bench.theme.name:
                    viewer.bench.set_look(theme=theme)
            case "release" if self._controls is not None:
                self._controls.let_go()
            case "control" | "break" if self._controls is None:
                raise InputError("there are no controls in this cell")
            case "control" if self._controls is not None:
                name = text(asked.get("name"), "control: name")[:NAMES]
                self._offered(name)
                self._controls.ask(name, asked.get("value"), held=flag(asked.get("held", False), "control: held"))
            case "break" if isinstance(viewer, LiveView):  # a condition, or the number of one
                said = asked.get("text")
                if not isinstance(said, str) or not 0 < len(said.strip()) <= LONGEST:
                    raise TypeMismatchError(
                        f"break: a condition is a text of 1 to {LONGEST} letters, got {shown(said)}"
                    )
                viewer.breaks.take(said.strip())

    def _offered(self, name: str) -> None:
        if name in self._hidden:
            raise InputError(f"{name}: this cell leaves it out (hide=)")


def finite(value: object, what: str) -> float:
    """A number of a message that is one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeMismatchError(f"{what} must be a number, got {shown(value)}")
    if not abs(value) <= sys.float_info.max:  # an int may be larger than any float
        raise InputError(f"{what} is {shown(value)}; allowed: a finite number")
    return float(value)


# ---- `PanelTouch`: a hand on the picture of a panel does what it does on the panel in the window: click, draw, drag.

STILL = 4.0  # pixels that a hand may move in a click
FAR = 1e4  # pixels from a panel that a hand is heard of


class PanelTouch:
    """The one hand that is on the panels of a cell."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._button: str | None = None
        self._from = self._last = (0.0, 0.0)
        self._taken = self._moved = False

    def take(self, asked: dict[str, Any]) -> None:
        """Press, move or release: ``{"name", "what", "at", "button", "shift"}``; a key: ``{"what", "key"}``."""
        what = one_of(asked.get("what"), ("press", "move", "release", "key"), "panel: what")
        if self._key(asked.get("key")) if what == "key" else self._pointer(what, self._point(asked), asked):
            self._viewer.touches += 1
            self._viewer.refresh()

    def _pointer(self, what: str, point: Point, asked: dict[str, Any]) -> bool:
        side = self._viewer.bench.side
        if what == "press":
            self._button = one_of(asked.get("button"), ("left", "right"), "panel: the button")
            self._from, self._last, self._moved = point, point, False
            self._taken = side.press(point, self._button)
        elif self._button is None:
            return False
        elif what == "move":
            x, y = self._last
            self._moved |= abs(point[0] - self._from[0]) + abs(point[1] - self._from[1]) >= STILL
            if self._moved or self._taken:
                self._last = point
                side.drag(point, (point[0] - x, point[1] - y), self._button)
        else:
            shift, button, self._button = flag(asked.get("shift", False), "panel: shift"), self._button, None
            if self._taken:
                side.release(point)
            elif not self._moved and button == "left":
                side.click(self._from, shift=shift)
        return True

    def _key(self, given: object) -> bool:
        """A key, for the panel on which the hand was last: the others take none."""
        drawers = [one for one in self._viewer.bench.side.drawers.values() if one.box is not None]
        name = one_of(given, tuple(dict.fromkeys(key for one in drawers for key in one.keys)), "panel: key")
        return any(one.key(name, name if len(name) == 1 else "") for one in drawers)

    def _point(self, asked: dict[str, Any]) -> Point:
        """Where it is, in the bench's picture."""
        drawers = {name: one for name, one in self._viewer.bench.side.drawers.items() if one.box is not None}
        name, at = asked.get("name"), asked.get("at")
        drawer = drawers.get(name) if isinstance(name, str) else None
        if drawer is None or drawer.box is None:
            raise UnknownNameError(f"panel: no panel {shown(name)} in this cell; there are {listing(drawers)}")
        if not (isinstance(at, list) and len(at) == 2 and all(type(x) in (int, float) for x in at)):
            raise TypeMismatchError(f"panel: at must be two numbers, got {shown(at)}")
        if not all(-FAR <= x <= FAR for x in at):
            raise InputError(f"panel: at is {shown(at)}; allowed: pixels from {-FAR:g} to {FAR:g}")
        x, y, *_ = drawer.box
        return x + at[0] - AIR, y + at[1] - AIR


# ---- `CellControls`: the controls of a scene as rows for elements of the browser, and what a hand sets with them. They
# are the rows of the window's panel; a value that comes from a browser is taken by the control's own rule.

TOOLS = ("restart", "back", "toggle_run", "step", "micro_next")  # actions that are buttons


class CellControls(Driving):
    """What the sliders of one cell show and set; `hide` is left out beside what the scene hides itself."""

    def __init__(self, viewer: LiveView, scene: Scene, hide: Collection[str] = ()) -> None:
        super().__init__(viewer, scene, {*hide, COMMAND})  # its browser has no clipboard of ours
        self.tools = tuple(name for name in TOOLS if name not in self._hidden)  # actions that are buttons, in order

    @property
    def _now(self) -> list[Row]:
        """Those of now, but for the buttons."""
        return [row for row in self.shown(self._viewer.shown) if row.look != "tools"]

    @property
    def written(self) -> list[dict[str, object]]:
        """They, ready for JSON."""
        return [_row(row) for row in self._now]

    def ask(self, name: str, value: object, *, held: bool = False) -> None:
        """Set a control by its name; what one hand does until :meth:`let_go` is one edit."""
        items = [item for row in self._now for item in (*row.items, *row.middles, row.typed) if item is not None]
        item = next((one for one in items if one.name == name), None)
        if item is None:
            raise UnknownNameError(f"no control {name!r} here; there are {listing(one.name for one in items)}")
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
