"""Which mistakes are being made on purpose, and by which thread: what :mod:`scalarviz.mistakes` turns on.

Empty nearly always. Nothing that computes looks here: a mistake puts other functions in the place of those that it
concerns while it is on, and these ask; pictures ask what to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import get_ident


@dataclass(frozen=True, slots=True, eq=False)
class Mistake:
    """One mistake, for as long as its block lasts: ``wrong_order("found")`` has the detail ``"found"``."""

    name: str
    detail: str = ""
    touched: list[int] = field(default_factory=list)  # how many it changed, each time
    met: set[str] = field(default_factory=set)  # the operations of the graphs that it saw

    @property
    def words(self) -> str:
        """What pictures call it."""
        return f"{self.name} ({self.detail})" if self.detail else self.name


_threads: dict[int, tuple[Mistake, ...]] = {}


def begin(mistake: Mistake) -> int:
    """Let this thread make a mistake; gives the thread back, for :func:`take`."""
    me = get_ident()
    _threads[me] = (*_threads.get(me, ()), mistake)
    return me


def end(mistake: Mistake, thread: int) -> None:
    """End that; in any order, and from any thread (a generator may be closed in another one)."""
    left = tuple(m for m in _threads.get(thread, ()) if m is not mistake)
    if left:
        _threads[thread] = left
    else:
        _threads.pop(thread, None)


def current(name: str) -> Mistake | None:
    """The last mistake of that name that this thread makes."""
    return next((m for m in reversed(_threads.get(get_ident(), ())) if m.name == name), None)


def names() -> tuple[str, ...]:
    """What this thread makes, each once, in the order in which it began."""
    return tuple(dict.fromkeys(m.name for m in _threads.get(get_ident(), ())))


def words() -> tuple[str, ...]:
    """What any thread makes, for pictures, which may be drawn by another one."""
    return tuple(dict.fromkeys(m.words for made in list(_threads.values()) for m in made))


@contextmanager
def suspended() -> Iterator[None]:
    """Within it this thread makes none."""
    me = get_ident()
    made = _threads.pop(me, None)
    try:
        yield
    finally:
        if made is not None:
            _threads[me] = made
