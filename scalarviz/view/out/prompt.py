"""Serving windows while Python waits for a line at its prompt."""

from __future__ import annotations

import ctypes
import select
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...run.sources.watched import RATE, SHARE, Pace

if TYPE_CHECKING:
    from ...run.sources.watched import Watched
    from .desktop import Window


_hook: object | None = None  # the C side keeps only a pointer
_clients: list[Callable[[], bool]] = []


def serve_prompt(update: Callable[[], bool]) -> bool:
    """Call `update` while an interactive prompt waits for input, until it returns False.

    In IPython its own Qt integration is switched on; at the plain prompt Python's input hook is used where standard
    input can be polled (not on Windows). In a script nothing happens: the loop calls ``update()`` itself.

    Returns
    -------
    bool
        Whether there is such a prompt.
    """
    shell = _ipython()
    if shell is not None:
        shell.enable_gui("qt6")
        return True
    if hasattr(sys, "ps1") and sys.platform != "win32":
        _clients.append(update)
        _install()
        return True
    return False


def _ipython() -> Any:
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    return shell if shell is not None and hasattr(shell, "enable_gui") else None


def _install() -> None:
    global _hook  # noqa: PLW0603 - one hook a process is how Python has it
    if _hook is None:
        _hook = ctypes.CFUNCTYPE(ctypes.c_int)(_serve)
        pointer = ctypes.c_void_p.in_dll(ctypes.pythonapi, "PyOS_InputHook")
        pointer.value = ctypes.cast(_hook, ctypes.c_void_p).value


def _serve() -> int:
    """Called by Python before it reads a line: serve until there is one."""
    while _clients:
        _clients[:] = [update for update in _clients if update()]
        ready, _, _ = select.select([sys.stdin], [], [], 1 / 60)
        if ready:
            break
    return 0


# ---- `Turns`: how a window and a loop that another library runs share one thread.

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
