"""`Guest`: what a host asks of the thing that it shows: a viewer of a run, or a room from which others are entered.

The other half of `host`: a host tells its guest what happens and lets it paint; it knows nothing else of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from .hands import Point
from .host import Host


class Guest(Protocol):
    """What a host shows; used with the host's GL context current."""

    def attach(self, host: Host) -> None:
        """Appear in `host`: from now on it gives time, and does what is asked."""
        ...

    def draw(self, viewport: tuple[int, int] | None = None) -> None:
        """Paint the picture into the bound framebuffer."""
        ...

    def for_file(self) -> AbstractContextManager[bool]:
        """While the block runs the picture is one for stills and films; gives whether that is another one."""
        ...

    def resize(self, size: tuple[int, int]) -> None:
        """Lay out for another size in device pixels."""
        ...

    def key(self, name: str | None, text: str = "", *, shift: bool = False, ctrl: bool = False) -> bool:
        """A key was pressed; returns whether it means something."""
        ...

    def press(self, at: Point, button: str = "left", *, shift: bool = False, ctrl: bool = False) -> None:
        """A button went down at a point in device pixels."""
        ...

    def move(self, at: Point) -> None:
        """The pointer is at `at`."""
        ...

    def release(self, at: Point) -> None:
        """The button went up."""
        ...

    def leave(self) -> None:
        """The pointer left the picture."""
        ...

    def scroll(self, at: Point, notches: tuple[float, float], *, shift: bool = False) -> None:
        """The wheel turned by `notches` across and up."""
        ...

    def open(self, paths: Sequence[Path]) -> None:
        """Files were dropped on the picture."""
        ...

    def close(self) -> None:
        """Let go of what is shown: no thread goes on."""
        ...


# ---- `Hosted`: what every guest may ask of its host: to fill the screen, to write what is shown, to close.

AGAIN_SECONDS = 2.0
"""How soon Escape has to come again to close the window."""


class Hosted:
    """A guest that asks its host for what a window can do; without a host nothing happens.

    Attributes
    ----------
    host : Host or None
        None until it appears in one.
    """

    host: Host | None = None

    @property
    def asks(self) -> dict[str, Callable[[], None]]:
        """What it asks, by the names of the table of actions."""
        return {"toggle_full_screen": self._full_screen, "screenshot": self._screenshot, "film": self._film,
                "close": self._close}  # fmt: skip

    def _full_screen(self) -> None:
        if self.host is not None:
            self.host.show_full_screen(not self.host.full_screen)

    def _screenshot(self) -> None:
        if self.host is not None:
            self.host.screenshot()

    def _film(self) -> None:
        if self.host is not None:
            self.host.film()

    def _close(self) -> None:
        if self.host is not None:
            self.host.close_soon()
