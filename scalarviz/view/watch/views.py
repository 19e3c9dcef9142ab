"""`Views`: how the scene is seen, as keys change it: views that are kept, parallel lines, turning by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..space.viewpoint import Viewpoint
    from .viewer import Viewer


class Views:
    """The views of one viewer.

    Parameters
    ----------
    viewer : Viewer

    Attributes
    ----------
    handlers : dict of str to callable
        By the names of the table of actions.
    """

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self.handlers: dict[str, Callable[..., None]] = {
            "keep_view": self.keep, "go_view": self.go, "toggle_parallel": self.toggle_parallel,
            "toggle_turntable": self.toggle_turntable,
        }  # fmt: skip

    @property
    def _view(self) -> Viewpoint:
        return self._viewer.bench.viewpoint

    def keep(self, number: int) -> None:
        """Keep this view under a number."""
        self._view.keep(number)
        self._viewer.say(f"view {number} is kept: {number} comes back to it")

    def go(self, number: int) -> None:
        """Go to a view that was kept."""
        if not self._view.go(number):
            self._viewer.say(f"no view {number} is kept: Ctrl+{number} keeps this one")

    def toggle_parallel(self) -> None:
        """Parallel lines stay parallel, or come together far away."""
        self._viewer.say("parallel lines" if self._view.toggle_parallel() else "in perspective")

    def toggle_turntable(self) -> None:
        """The scene turns by itself, or stands still."""
        self._view.turning = not self._view.turning
