"""`Hosted`: what every guest may ask of its host: to fill the screen, to write what is shown, to close."""

from __future__ import annotations

from collections.abc import Callable

from .host import Host

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
