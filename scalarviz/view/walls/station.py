"""`Station`: one stop of a tour, as data: a scene, what is said there, and which actions are done at which moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Act:
    """An action of the table, done by itself.

    Attributes
    ----------
    at : float
        Seconds since the station began.
    action : str
        As in ``viewer.send``.
    value : int or None
        For an action that takes one.
    """

    at: float
    action: str
    value: int | None = None


@dataclass(frozen=True, slots=True)
class Station:
    """One stop.

    Attributes
    ----------
    scene : str
        The name of its door.
    headline : str
    says : tuple of (float, str)
        Sentences, and the second from which each is said.
    seconds : float
        How long it takes.
    acts : tuple of Act
        In the order of their moments.
    trained : int
        Steps that are done before it is shown; the station says so.
    duration : float
        Seconds that the steps of the scene take once they run.
    given : mapping of str to object
        Options of the scene that are not their defaults.
    """

    scene: str
    headline: str
    says: tuple[tuple[float, str], ...]
    seconds: float
    acts: tuple[Act, ...] = ()
    trained: int = 0
    duration: float = 8.0
    given: Mapping[str, object] = field(default_factory=dict)

    def sentence(self, seconds: float) -> str:
        """What is said after so many seconds."""
        return next((words for since, words in reversed(self.says) if since <= seconds), "")

    @property
    def before(self) -> str:
        """What was done before it is shown, in words."""
        return f"trained {self.trained:,} steps before" if self.trained else ""


def again(first: float, gap: float, count: int, action: str, value: int | None = None) -> tuple[Act, ...]:
    """The same action several times, every `gap` seconds from `first` on."""
    return tuple(Act(first + gap * number, action, value) for number in range(count))
