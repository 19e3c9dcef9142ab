"""`Building`: a scene that is made in a thread of its own, so that the picture around it goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Made = TypeVar("Made")


class Building(Generic[Made]):
    """Something that takes a while to make.

    Parameters
    ----------
    make : callable
        Called in the thread, at once.

    Attributes
    ----------
    error : Exception or None
        What it raised.
    made : object or None
        What it returned.
    """

    def __init__(self, make: Callable[[], Made]) -> None:
        self.made: Made | None = None
        self.error: Exception | None = None
        self._make = make
        self._thread = threading.Thread(target=self._run, name="scalarviz-building", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.made = self._make()
        except Exception as error:  # whoever asks for it says it
            self.error = error

    @property
    def done(self) -> bool:
        """Whether the thread has ended."""
        return not self._thread.is_alive()

    def close(self) -> None:
        """Wait for the end of the thread: what it does cannot be interrupted."""
        self._thread.join()
