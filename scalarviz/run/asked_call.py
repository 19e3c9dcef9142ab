"""`AskedCall`: a function that one thread wants to be called by another, and waits for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class AskedCall:
    """Its result or error, and whether it is done.

    Parameters
    ----------
    function : callable
        Without arguments.
    """

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = threading.Event()

    def run(self) -> None:
        """Call the function, in this thread."""
        try:
            self.result = self.function()
        except BaseException as error:  # it belongs to whoever asked
            self.error = error

    def answer(self) -> Any:
        """What came of it; afterwards an error is held by whoever gets it alone."""
        error, self.error = self.error, None
        if error is None:
            return self.result
        try:
            raise error
        finally:
            del error

    def forget(self) -> None:
        """Nobody waits any more: if it has not begun, it is not called."""
        self.function = lambda: None
