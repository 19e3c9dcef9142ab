"""Whether this thread is recording a graph, and what it may not do meanwhile.

While a graph is recorded the numbers of its nodes do not exist yet. Asking for one (``if x > 0``, ``float(x)``,
``x.data``) would freeze one branch into the tape in silence; it raises instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any

from ..errors import TracingError

_threads: dict[int, Recorder] = {}


class Recorder:
    """What a recording collects beside the graph itself.

    Attributes
    ----------
    taps : list of (object, list)
        Every module that was called and the outputs that it returned, in the order of the calls.
    masks : int
        Calls of modules with dropout masks.
    modes : dict
        Modules that were asked whether they are in training and said yes, as keys: in evaluation the graph is another.
    """

    __slots__ = ("masks", "modes", "taps")

    def __init__(self) -> None:
        self.taps: list[tuple[Any, list[Any]]] = []
        self.masks = 0
        self.modes: dict[Any, None] = {}


def active() -> Recorder | None:
    """The recorder of this thread, or None."""
    return _threads.get(get_ident()) if _threads else None


def forbid(what: str) -> None:
    """Raise if this thread is recording.

    Raises
    ------
    TracingError
        Naming `what` was asked and ``sv.where`` as the way to choose.
    """
    if _threads and get_ident() in _threads:
        raise TracingError(
            f"{what} of a Value while its graph is being recorded: its number is not known yet, and one branch "
            "would be frozen in silence. Choose with sv.where(condition, a, b); keep numbers as Values"
        )


@contextmanager
def recording() -> Iterator[Recorder]:
    """Make operations of this thread build symbols instead of computing numbers.

    Raises
    ------
    TracingError
        The thread is recording already.
    """
    if active() is not None:
        raise TracingError("a recording cannot start inside another one; record the outer function only")
    recorder = _threads[get_ident()] = Recorder()
    try:
        yield recorder
    finally:
        del _threads[get_ident()]
