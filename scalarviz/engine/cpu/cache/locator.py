"""Where numba looks for the machine code of a function: in the folder that we name, whatever its source file is.

numba's own locators tell a function's code apart by the path of its source file, and older ones by its time: another
copy of the same sources would be compiled again. Here the folder and the stamp say all (see ``key`` and ``units``).
A locator is what numba lets others write (``NUMBA_CACHE_LOCATOR_CLASSES``); that its list of them stands in
``CacheImpl`` is not promised, so `trouble` tries whether numba asks ours.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numba
from numba.core import caching, config

_PROTOCOL: Any = getattr(caching, "_CacheLocator", object)
_here = threading.local()


class Place(NamedTuple):
    """A folder of machine code, the stamp of what it is made of, and whether it is being filled."""

    folder: Path
    stamp: str
    filling: bool


class Missing(Exception):
    """A sealed unit does not hold what it should: numba has compiled it, and was about to write it there."""


class OurLocator(_PROTOCOL):  # type: ignore[misc]  # numba has no types
    """Answers numba's questions about a function; inside :func:`kept_in` alone."""

    def __init__(self, place: Place, source: str) -> None:
        self.place = place
        self._py_file = source  # named in a warning of numba's

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> OurLocator | None:
        """The locator of a function; None leaves it to numba's own."""
        place = getattr(_here, "place", None)
        return None if place is None else cls(place, py_file)

    def get_cache_path(self) -> str:
        """The folder."""
        return str(self.place.folder)

    def get_source_stamp(self) -> str:
        """What numba compares with the stamp of the files that it finds."""
        return self.place.stamp

    def get_disambiguator(self) -> str:
        """Nothing: functions of one unit have different names."""
        return ""

    def ensure_cache_path(self) -> None:
        """Asked before numba writes."""
        if not self.place.filling:
            raise Missing(f"{self.place.folder} holds no code for this function and processor")


@contextmanager
def kept_in(folder: Path, stamp: str, filling: bool) -> Iterator[None]:
    """Let numba read, or if `filling` read and write, what this thread compiles in the block with ``cache=True``.

    Other threads, and the settings of whoever else uses numba, stay as they are.
    """
    named = getattr(config, "CACHE_LOCATOR_CLASSES", "")  # this variable of the user's would take our place
    config.CACHE_LOCATOR_CLASSES = ""
    _here.place = Place(folder, stamp, filling)
    try:
        yield
    finally:
        _here.place = None
        config.CACHE_LOCATOR_CLASSES = named


@cache
def trouble() -> str:
    """Why this numba keeps nothing where we say; empty if it does. The first call tells numba of our locator."""
    try:
        caching.CacheImpl._locator_classes.insert(0, OurLocator)
        probe = Path("probe")
        with kept_in(probe, "", filling=False):
            found = caching.FunctionCache(trouble.__wrapped__).cache_path
    except Exception as error:  # whatever a numba of other insides does
        reason = f"{type(error).__name__}: {error}"
    else:
        if found == str(probe):
            return ""
        reason = "it asks other locators"
    return f"numba {numba.__version__} keeps compiled code in a way that scalarviz does not know ({reason})"
