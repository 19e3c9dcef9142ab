"""The mistakes that are switched on, for each thread: the state of :mod:`scalarviz.mistakes`.

It is empty nearly always, and computations do not look here. A mistake replaces functions while it is on; these
functions read the state, and pictures show its words.
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
    touched: list[int] = field(default_factory=list)  # how many numbers it changed, each time
    met: set[str] = field(default_factory=set)  # operations of the graphs that it met

    @property
    def words(self) -> str:
        """The words for pictures."""
        return f"{self.name} ({self.detail})" if self.detail else self.name


_threads: dict[int, tuple[Mistake, ...]] = {}


def begin(mistake: Mistake) -> int:
    """Switch a mistake on in this thread; return the thread's id, for :func:`end`."""
    me = get_ident()
    _threads[me] = (*_threads.get(me, ()), mistake)
    return me


def end(mistake: Mistake, thread: int) -> None:
    """Switch a mistake off, in any order and from any thread (another thread may close a generator)."""
    left = tuple(m for m in _threads.get(thread, ()) if m is not mistake)
    if left:
        _threads[thread] = left
    else:
        _threads.pop(thread, None)


def current(name: str) -> Mistake | None:
    """Return the last mistake with that name in this thread, or None."""
    return next((m for m in reversed(_threads.get(get_ident(), ())) if m.name == name), None)


def names() -> tuple[str, ...]:
    """Return the names of this thread's mistakes, each once, in the order in which they began."""
    return tuple(dict.fromkeys(m.name for m in _threads.get(get_ident(), ())))


def words() -> tuple[str, ...]:
    """Return the words for all threads' mistakes; another thread may draw the pictures."""
    return tuple(dict.fromkeys(m.words for made in list(_threads.values()) for m in made))


@contextmanager
def suspended() -> Iterator[None]:
    """Switch all mistakes of this thread off inside the block."""
    me = get_ident()
    made = _threads.pop(me, None)
    try:
        yield
    finally:
        if made is not None:
            _threads[me] = made
