"""`Turns`: how a window and a loop that another library runs share one thread."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from ...run.sources.watched.watched import RATE, SHARE, Pace

if TYPE_CHECKING:
    from ...run.sources.watched.watched import Watched
    from .desktop import Window

LISTENING = SHARE / 4
"""Of the loop's time that looking for keys and mouse takes, at most; painting has the rest."""
LATEST = 0.2
"""Seconds after which a key is seen."""


class Turns:
    """Paints what is watched, and looks for keys and mouse, in its share of the time.

    Parameters
    ----------
    window : Window
    watched : Watched
    """

    def __init__(self, window: Window, watched: Watched) -> None:
        self._window, self._watched, self._thread = window, watched, threading.get_ident()
        self._pace = watched.pace = Pace(RATE, SHARE - LISTENING)
        self._ears = Pace(RATE, LISTENING, LATEST)
        for name in ("mouse_move", "mouse_press", "mouse_wheel", "key_press", "resize"):
            getattr(window.canvas.events, name).connect(self._touched)

    def _touched(self, event: Any) -> None:
        now = time.perf_counter()
        self._pace.touched(now)
        self._ears.touched(now)

    def update(self, params: Any, grads: Any, **told: Any) -> bool:
        """A step was done; returns whether the window is still open.

        A loop in a thread of its own tells of its steps alone: whoever opened the window paints and hears, in `wait`.
        """
        start = time.perf_counter()
        looked = self._watched.update(params, grads, **told)
        if not self._window.closed and threading.get_ident() == self._thread:
            if looked:
                self._window.serve()
                self._pace.took(start, time.perf_counter())
            elif self._ears.due(start):
                self._window.application.process_events()  # its timer paints what a hand has changed
                self._ears.took(start, time.perf_counter())
        return not self._window.closed
