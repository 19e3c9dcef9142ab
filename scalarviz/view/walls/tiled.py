"""`Tiled`: what walls of pictures have in common, of scenes and of runs: one is opened in a thread, and entered."""

from __future__ import annotations

import traceback
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...errors import ScalarvizError
from ..ink.overlay import banner, help_panel
from ..ink.painter import Painter
from ..ink.sketch import Sketch
from ..watch.actions import Action
from ..watch.host import TICK, Does, Host, Room
from .door import Building, Opened

if TYPE_CHECKING:
    from .rooms import Rooms


class Tiled(Room):
    """The wall of one window.

    Parameters
    ----------
    rooms : Rooms
        Where it leads; holds the look and which picture is chosen.
    size : (int, int)
        Device pixels.
    actions, own
        As of a :class:`Room`.
    """

    rooms: Rooms
    glows = False
    """Whether its ground is lighter in the middle."""

    def __init__(self, rooms: Rooms, size: tuple[int, int], actions: Sequence[Action], own: Mapping[str, Does]) -> None:
        self.rooms, self._size = rooms, size
        self._opening: Building[Opened] | None = None
        super().__init__(actions, own)

    # ---- what each has of its own

    @abstractmethod
    def _lay_out(self) -> None:
        """Find the places of the pictures, and take the painters for them."""

    @abstractmethod
    def _beat(self, seconds: float) -> None:
        """Time passes."""

    @abstractmethod
    def sketches(self) -> list[Sketch]:
        """Everything on the wall."""

    # ---- what all do

    def attach(self, host: Host) -> None:
        """Appear in `host`."""
        self.host = host
        self.rooms.attach(host)
        host.every(TICK, self._beat)

    def _open_when_built(self) -> None:
        if self._opening is None or not self._opening.done:
            return
        (opened, error), self._opening = (self._opening.made, self._opening.error), None
        self._dirty = True
        if error is not None:
            self._failed(error)
        elif opened is not None:
            self.rooms.show(opened)

    def _failed(self, error: Exception) -> None:
        """What was raised when something was built."""
        if not isinstance(error, ScalarvizError) and self.host is not None:
            self.host.tell("".join(traceback.format_exception(error)).rstrip())
        kind = "" if isinstance(error, ScalarvizError) else f"{type(error).__name__}: "
        self.say(f"{kind}{error}")

    def _take_painters(self, size: tuple[float, float], scale: float) -> None:
        """For the wall, and for what stands above everything."""
        self._painters = [Painter(size, scale) for _ in range(2)]

    def overlay(self) -> list[Sketch]:
        """The list of keys, or the news, above everything."""
        theme, size = self.rooms.theme, self.page
        if self._help:
            return [help_panel(size, self.table(), theme, self._help)]
        return [banner(self._notice, size, size[1], size[0], theme, alarm=False)] if self._notice else []

    def draw(self, viewport: tuple[int, int] | None = None) -> None:
        """Paint it into the bound framebuffer."""
        (below, above), theme = self._painters, self.rooms.theme
        below.background(theme.background, theme.glow if self.glows else theme.background)
        below.draw(self.sketches())
        if over := self.overlay():
            above.draw(over)

    def resize(self, size: tuple[int, int]) -> None:
        """Lay out for another size in device pixels."""
        self._size = size
        self._lay_out()

    def leave(self) -> None:
        """The pointer left the window; what it chose stays chosen."""
