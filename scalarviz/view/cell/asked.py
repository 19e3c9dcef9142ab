"""What a browser may ask of a cell: one table. Whatever else comes does nothing but say why.

A message is a dict with a ``kind``; its other entries are checked one by one, since anybody who has the notebook's
connection can send anything. All of them end in an action of `view.watch.actions` or in an edit of the run.
`ALLOWED` are the window's actions that a cell of numbers has; `NOT_HERE` says why it lacks others, and what to do.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any

from ...checks import flag, integer, one_of, text
from ...errors import InputError, ScalarvizError, TypeMismatchError, UnknownNameError, listing, shown
from ..panels.image import AIR
from ..watch.actions import ACTIONS, Action
from ..watch.breaks import LONGEST
from ..watch.live import LiveView

if TYPE_CHECKING:
    from ..panels.drawer import Point
    from ..watch.viewer import Viewer
    from .controls import CellControls
    from .panels import CellPanels

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


class Asked:
    """Does what comes from the browser, in the thread that owns the viewer; a cell does not offer `hidden`."""

    def __init__(
        self, viewer: Viewer, controls: CellControls | None, hidden: Collection[str] = (),
        panels: CellPanels | None = None,
    ) -> None:  # fmt: skip
        self._viewer, self._controls, self._hidden, self._panels = viewer, controls, covered(hidden), panels
        self._touch = PanelTouch(viewer)
        self._does: dict[str, Callable[[dict[str, Any]], object]] = {
            "do": self._do, "select": self._select, "set": self._set, "go": self._go, "branch": self._branch,
            "control": self._control, "release": self._release, "look": self._look,
            "panel": self._panel, "break": self._break,
        }  # fmt: skip

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
        kind = asked.get("kind")
        if not isinstance(kind, str) or kind not in self._does:
            raise UnknownNameError(f"a cell does not know {shown(kind)}; allowed: {listing(self._does)}")
        self._does[kind](asked)

    # ---- one by one

    def _do(self, asked: dict[str, Any]) -> None:
        name, value = text(asked.get("name"), "do: name")[:NAMES], asked.get("value")
        if name not in ALLOWED:
            raise UnknownNameError(f"no action {name!r} in a cell; there are {listing(ALLOWED)}")
        self._offered(name)
        self._viewer.send(name, value)

    def _select(self, asked: dict[str, Any]) -> None:
        self._offered("inspector")
        index = asked.get("index")
        bench = self._viewer.bench
        bench.select(None if index is None else integer("select: index", index, 0, self._count - 1))

    def _set(self, asked: dict[str, Any]) -> None:
        self._offered("inspector")
        if not self._viewer.bench.subject.source.can.edit:
            raise InputError("these numbers are looked at, not touched")
        value = _finite(asked.get("value"), "set: value")
        self._viewer.put(integer("set: index", asked.get("index"), 0, self._count - 1), value)

    def _go(self, asked: dict[str, Any]) -> None:
        self._offered("timeline")
        travels, past = self._viewer.travels, self._viewer.shown.past
        step = integer("go: step", asked.get("step"), 0)
        if past is None:
            raise InputError("the past of these numbers is not kept")
        travels.go(min(max(step, past.first), past.newest), near=flag(asked.get("near", False), "go: near"))

    def _branch(self, asked: dict[str, Any]) -> None:
        self._offered("timeline")
        self._viewer.travels.switch(integer("branch: number", asked.get("number"), 0))

    def _control(self, asked: dict[str, Any]) -> None:
        if self._controls is None:
            raise InputError("there are no controls in this cell")
        name = text(asked.get("name"), "control: name")[:NAMES]
        self._offered(name)
        self._controls.ask(name, asked.get("value"), held=flag(asked.get("held", False), "control: held"))

    def _release(self, asked: dict[str, Any]) -> None:
        if self._controls is not None:
            self._controls.let_go()

    def _break(self, asked: dict[str, Any]) -> None:
        """A condition, or the number of one: with a minus it goes, else it is switched."""
        self._offered("pause when")
        live, said = self._viewer, asked.get("text")
        if self._controls is None or not isinstance(live, LiveView):
            raise InputError("there are no controls in this cell")
        if not isinstance(said, str) or not 0 < len(said.strip()) <= LONGEST:
            raise TypeMismatchError(f"break: a condition is a text of 1 to {LONGEST} letters, got {shown(said)}")
        live.breaks.take(said.strip())

    def _panel(self, asked: dict[str, Any]) -> None:
        self._offered("panels")
        self._touch.take(asked)

    def _look(self, asked: dict[str, Any]) -> None:
        theme, bench = one_of(asked.get("theme"), ("dark", "light"), "look: the theme"), self._viewer.bench
        dense = _finite(asked.get("density"), "look: density")
        if self._panels is not None:
            self._panels.take(dense)
        if theme != bench.theme.name:
            bench.set_look(theme=theme)

    # ---- what is checked

    @property
    def _count(self) -> int:
        return len(self._viewer.shown.values)

    def _offered(self, name: str) -> None:
        if name in self._hidden:
            raise InputError(f"{name}: this cell leaves it out (hide=)")


def _finite(value: object, what: str) -> float:
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
