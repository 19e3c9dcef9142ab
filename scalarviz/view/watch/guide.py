"""`Guide`: who goes back and forth where a hand asks for it: a worker, or a source that can go."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from ...errors import StateError

if TYPE_CHECKING:
    from ...run.looking import AskedCall
    from ...run.run import Run
    from ...run.source import Source


class Guide(Protocol):
    """Who goes."""

    @property
    def journey(self) -> float | None:
        """How much of the way is done, 0 to 1; None where it goes nowhere."""
        ...

    @property
    def moving(self) -> bool:
        """Whether there is somewhere to go."""
        ...

    @property
    def remark(self) -> str:
        """What is to be said of how the past is kept."""
        ...

    def travel(self, step: int, *, nearest: bool = False) -> None:
        """Go to a step, or to one near it."""
        ...

    def give_up(self) -> None:
        """Stay."""
        ...

    def ask(self, function: Callable[[Run], object]) -> AskedCall:
        """Let a function of the run be called."""
        ...


class SourceGuide:
    """A source that goes at once, while one waits.

    Parameters
    ----------
    source : Source
    """

    journey = None
    moving = False
    remark = ""

    def __init__(self, source: Source) -> None:
        self._source = source

    def travel(self, step: int, *, nearest: bool = False) -> None:
        """Go there."""
        first, newest = self._source.span
        self._source.to(min(max(step, first), newest))

    def give_up(self) -> None:
        """It has arrived."""

    def ask(self, function: Callable[[Run], object]) -> AskedCall:
        """Nobody trains here."""
        raise StateError(f"{self._source.what} is only looked at here")
