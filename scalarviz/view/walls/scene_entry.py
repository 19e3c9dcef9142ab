"""`Door`: what a room knows of a scene that can be entered from it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from ...errors import ScalarvizError
from ...run.scene.scene import Scene

DOT = "  \N{MIDDLE DOT}  "
"""Between parts of a line."""


@dataclass(frozen=True, slots=True)
class BuiltScene:
    """A scene that was built."""

    scene: Scene
    steps: int = 3000  # until its window pauses
    duration: float = 20.0  # seconds that they take there


@dataclass(frozen=True, slots=True)
class SceneEntry:
    """A scene that can be entered, or a run of a sweep."""

    name: str  # as on the command line
    summary: str  # what happens in it, in one sentence
    build: Callable[[Mapping[str, object]], BuiltScene]
    still: Path | None = None  # A picture of it
    missing: str = ""  # what has to be installed first, as a command; empty where nothing has
    remark: str = ""  # what is said when it is entered


EntryRequest = tuple[SceneEntry, Mapping[str, object], str]
"""A door, the options with which it is entered, and what that does, in words."""


# ---- A scene that is made in a thread of its own, so that the picture around it goes on.

Made = TypeVar("Made")


def build_in_thread(make: Callable[[], Made]) -> Future[Made]:
    """Make something in a thread, which cannot be interrupted: the program ends after it."""
    future: Future[Made] = Future()

    def run() -> None:
        try:
            future.set_result(make())
        except BaseException as error:  # whoever asks for it says it
            future.set_exception(error)

    threading.Thread(target=run, name="scalarviz-building").start()
    return future


def error_message(error: BaseException | None) -> str:
    """What a hand is told of an error."""
    return f"{'' if isinstance(error, ScalarvizError) else f'{type(error).__name__}: '}{error}"


# ---- `Station`: one stop of a tour, as data: a scene, what is said there, and which actions are done at which moment.


@dataclass(frozen=True, slots=True)
class TimedAction:
    """An action of the table, done by itself."""

    at: float  # seconds since the station began
    action: str  # as in ``viewer.send``
    value: int | None = None  # for an action that takes one


@dataclass(frozen=True, slots=True)
class Station:
    """One stop."""

    scene: str  # the name of its door
    headline: str
    says: tuple[tuple[float, str], ...]  # sentences, and the second from which each is said
    seconds: float  # how long it takes
    acts: tuple[TimedAction, ...] = ()  # in the order of their moments
    trained: int = 0  # steps that are done before it is shown; the station says so
    duration: float = 8.0  # seconds that the steps of the scene take once they run
    given: Mapping[str, object] = field(default_factory=dict)

    def sentence(self, seconds: float) -> str:
        """What is said after so many seconds."""
        return next((words for since, words in reversed(self.says) if since <= seconds), "")

    @property
    def before(self) -> str:
        """What was done before it is shown, in words."""
        return f"trained {self.trained:,} steps before" if self.trained else ""


def repeated(first: float, gap: float, count: int, action: str, value: int | None = None) -> tuple[TimedAction, ...]:
    """The same action several times, every `gap` seconds from `first` on."""
    return tuple(TimedAction(first + gap * number, action, value) for number in range(count))
