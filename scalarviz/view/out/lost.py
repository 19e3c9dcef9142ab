"""`DisplayWatch`: what is done once, whoever notices first, when the display of a window has gone."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from .display import connection_lost

LOOKED, PATIENCE = 0.25, 2.0
"""Seconds between two looks at the connection, and for which the window's loop may notice the loss by itself."""


class DisplayWatch:
    """Gets a program out when its display goes while the drawing library waits for it in vain.

    A thread looks at the connection. Once it is lost, the window's loop must take what is to be done (:meth:`first`)
    within `PATIENCE` seconds; else `rescue` is called from the thread and the process ends with code 2.

    Parameters
    ----------
    native_application : object
    rescue : callable
        Saves what must not be lost.
    """

    def __init__(self, native_application: Any, rescue: Callable[[], None]) -> None:
        self._application, self._rescue = native_application, rescue
        self._over, self._taken = threading.Event(), threading.Lock()
        self._thread = threading.Thread(target=self._watch, name="scalarviz-display", daemon=True)

    def __enter__(self) -> DisplayWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()  # while it rescues, for ever: the process ends there

    def first(self) -> bool:
        """Whether nobody else has begun to do what is done when the display has gone: then it is the caller's."""
        return self._taken.acquire(blocking=False)

    def _watch(self) -> None:
        while not self._over.wait(LOOKED):
            if connection_lost(self._application) and not self._over.wait(PATIENCE):
                if not self.first():
                    return
                try:
                    self._rescue()
                finally:
                    if sys.stderr is not None:
                        sys.stderr.flush()
                    os._exit(2)
