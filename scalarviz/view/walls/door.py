"""`Door`: what a room knows of a scene that can be entered from it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from ...run.scene.scene import Scene


@dataclass(frozen=True, slots=True)
class Opened:
    """A scene that was built.

    Attributes
    ----------
    scene : Scene
    steps : int
        Until its window pauses.
    duration : float
        Seconds that they take there.
    """

    scene: Scene
    steps: int = 3000
    duration: float = 20.0


@dataclass(frozen=True, slots=True)
class Door:
    """A scene that can be entered.

    Attributes
    ----------
    name : str
        As on the command line.
    summary : str
        What happens in it, in one sentence.
    build : callable
        Makes the scene, with these options instead of their defaults; may be called in any thread. Raises
        ScalarvizError where it cannot.
    still : path or None
        A picture of it.
    missing : str
        What has to be installed first, as a command; empty where nothing has.
    """

    name: str
    summary: str
    build: Callable[[Mapping[str, object]], Opened]
    still: Path | None = None
    missing: str = ""


Way = tuple[Door, Mapping[str, object], str]
"""A door, the options with which it is entered, and what that does, in words."""


# ---- `Building`: a scene that is made in a thread of its own, so that the picture around it goes on.

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


# ---- `Station`: one stop of a tour, as data: a scene, what is said there, and which actions are done at which moment.


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
