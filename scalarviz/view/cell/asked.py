"""What a browser may ask of a cell: one table. Whatever else comes does nothing but say why.

A message is a dict with a ``kind``; its other entries are checked one by one, since anybody who has the notebook's
connection can send anything. All of them end in an action of `view.watch.actions` or in an edit of the run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from ...checks import flag, integer, one_of
from ...errors import InputError, ScalarvizError, TypeMismatchError, UnknownNameError, listing, shown
from ..watch.breaks import LONGEST
from ..watch.live import LiveView
from .offered import ALLOWED, covered
from .panels import AIR

if TYPE_CHECKING:
    from ..panels.drawer import Point
    from ..watch.viewer import Viewer
    from .controls import CellControls
    from .panels import CellPanels


NAMES = 80
"""Characters of a name that are read."""


class Asked:
    """Does what comes from the browser, in the thread that owns the viewer.

    Parameters
    ----------
    viewer : Viewer
    controls : CellControls or None
        None where nothing is trained, or none are wanted.
    hidden : collection of str
        Names of what the cell does not offer.
    panels : CellPanels or None
        None where no pictures of panels are sent.
    """

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
        """Do what a message asks for; returns why it was not done, empty if it was."""
        try:
            self.do(asked)
        except ScalarvizError as error:
            self._viewer.say(str(error))
            return str(error)
        finally:
            self._viewer.refresh()
        return ""

    def do(self, asked: object) -> None:
        """The same.

        Raises
        ------
        ScalarvizError
            It asks for what is not in the table, with values that do not fit, or what the run refuses.
        """
        if not isinstance(asked, dict):
            raise TypeMismatchError(f"a message to a cell is a dict, got {shown(asked)}")
        kind = asked.get("kind")
        if not isinstance(kind, str) or kind not in self._does:
            raise UnknownNameError(f"a cell does not know {shown(kind)}; allowed: {listing(self._does)}")
        self._does[kind](asked)

    # ---- one by one

    def _do(self, asked: dict[str, Any]) -> None:
        name, value = _name(asked, "name"), asked.get("value")
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
        value = asked.get("value")
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeMismatchError(f"set: value must be a number, got {shown(value)}")
        self._viewer.put(integer("set: index", asked.get("index"), 0, self._count - 1), _finite(value))

    def _go(self, asked: dict[str, Any]) -> None:
        self._offered("timeline")
        travels, past = self._viewer.travels, self._viewer.shown.past
        step = integer("go: step", asked.get("step"), 0)
        if travels is None or past is None:
            raise InputError("the past of these numbers is not kept")
        travels.go(min(max(step, past.first), past.newest), near=flag(asked.get("near", False), "go: near"))

    def _branch(self, asked: dict[str, Any]) -> None:
        self._offered("timeline")
        if self._viewer.travels is not None:
            self._viewer.travels.switch(integer("branch: number", asked.get("number"), 0))

    def _control(self, asked: dict[str, Any]) -> None:
        if self._controls is None:
            raise InputError("there are no controls in this cell")
        name = _name(asked, "name")
        self._offered(name)
        self._controls.ask(name, asked.get("value"), held=flag(asked.get("held", False), "control: held"))

    def _release(self, asked: dict[str, Any]) -> None:
        if self._controls is not None:
            self._controls.let_go()

    def _break(self, asked: dict[str, Any]) -> None:
        """A condition, or the number of one: with a minus it goes, else it is switched."""
        self._offered("pause when")
        live, text = self._viewer, asked.get("text")
        if self._controls is None or not isinstance(live, LiveView):
            raise InputError("there are no controls in this cell")
        if not isinstance(text, str) or not 0 < len(text.strip()) <= LONGEST:
            raise TypeMismatchError(f"break: a condition is a text of 1 to {LONGEST} letters, got {shown(text)}")
        live.breaks.take(text.strip())

    def _panel(self, asked: dict[str, Any]) -> None:
        self._offered("panels")
        self._touch.take(asked)

    def _look(self, asked: dict[str, Any]) -> None:
        theme = one_of(asked.get("theme"), ("dark", "light"), "look: the theme")
        density = asked.get("density")
        if isinstance(density, bool) or not isinstance(density, int | float):
            raise TypeMismatchError(f"look: density must be a number, got {shown(density)}")
        dense, bench = _finite(density, "look: density"), self._viewer.bench
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


def _name(asked: dict[str, Any], what: str) -> str:
    name = asked.get(what)
    if not isinstance(name, str):
        raise TypeMismatchError(f"{asked.get('kind')}: {what} must be a text, got {shown(name)}")
    return name[:NAMES]


def _finite(value: float, what: str = "set: value") -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"{what} is {shown(value)}; allowed: a finite number")
    return number


# ---- `PanelTouch`: a hand on the picture of a panel does what it does on the panel in the window: click, draw, drag.

STILL = 4.0
"""Pixels that a hand may move in a click."""
FAR = 1e4
"""Pixels from a panel that a hand is heard of."""


class PanelTouch:
    """The one hand that is on the panels of a cell.

    Parameters
    ----------
    viewer : Viewer
        Whose panels these are.
    """

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._button: str | None = None
        self._from = self._last = (0.0, 0.0)
        self._taken = self._moved = False

    def take(self, asked: dict[str, Any]) -> None:
        """Press, move or release of ``{"name", "what", "at", "button", "shift"}``; a key of ``{"what", "key"}``.

        Raises
        ------
        ScalarvizError
            It is none of that.
        """
        what = one_of(asked.get("what"), ("press", "move", "release", "key"), "panel: what")
        if what == "key":
            self._key(asked.get("key"))
            return
        point, side = self._point(asked), self._viewer.bench.side
        if what == "press":
            self._button = one_of(asked.get("button"), ("left", "right"), "panel: the button")
            self._from, self._last, self._moved = point, point, False
            self._taken = side.press(point, self._button)
        elif self._button is None:
            return
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
        self._viewer.touches += 1
        self._viewer.refresh()

    def _key(self, given: object) -> None:
        """A key, for the panel on which the hand was last: the others take none."""
        drawers = [one for one in self._viewer.bench.side.drawers.values() if one.box is not None]
        name = one_of(given, tuple(dict.fromkeys(key for one in drawers for key in one.keys)), "panel: key")
        if any(one.key(name, name if len(name) == 1 else "") for one in drawers):
            self._viewer.touches += 1
            self._viewer.refresh()

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
