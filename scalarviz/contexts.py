"""Context managers: an object that closes itself, and a block without searches for cycles of references."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self


class Closing:
    """A context manager that is itself, and calls :meth:`close` however its block ends."""

    def close(self) -> object:
        """End it; a second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def collection_paused() -> Iterator[None]:
    """No search for cycles until the end; nothing changes where somebody else has switched it off.

    A recorded graph has no cycles, but the collector looks at all of it again and again while it grows: a third of
    the time of a million nodes.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
