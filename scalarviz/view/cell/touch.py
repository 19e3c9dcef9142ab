"""`PanelTouch`: a hand on the picture of a panel does what it does on the panel in the window: click, draw, drag."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...checks import flag, one_of
from ...errors import InputError, TypeMismatchError, UnknownNameError, listing, shown
from .panels import AIR

if TYPE_CHECKING:
    from ..panels.drawer import Point
    from ..watch.viewer import Viewer

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
