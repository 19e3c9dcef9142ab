"""Letting Python's collector of cycles wait while a great many objects are made that all stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
