"""`SceneEntry`: the description of a scene, or of a run, that can be entered from a wall."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from ...run.scene.scene import Scene

DOT = "  \N{MIDDLE DOT}  "
"""Separates parts of a line."""


@dataclass(frozen=True, slots=True)
class BuiltScene:
    """A scene that was built."""

    scene: Scene
    steps: int = 3000  # steps until its window pauses
    duration: float = 20.0  # seconds that these steps take there


@dataclass(frozen=True, slots=True)
class SceneEntry:
    """A scene, or a run of a sweep, that can be entered."""

    name: str  # as on the command line
    summary: str  # what happens in it, in one sentence
    build: Callable[[Mapping[str, object]], BuiltScene]
    still: Path | None = None  # a picture of it
    missing: str = ""  # the command that installs what is missing, or ''
    remark: str = ""  # the notice on entering


EntryRequest = tuple[SceneEntry, Mapping[str, object], str]
"""An entry, the options to enter it with, and what that does, in words."""


# ---- Building a scene in a thread, so that the window stays responsive.

Made = TypeVar("Made")


def build_in_thread(make: Callable[[], Made]) -> Future[Made]:
    """Build something in a thread. It cannot be interrupted: the program ends only after it."""
    future: Future[Made] = Future()

    def run() -> None:
        try:
            future.set_result(make())
        except BaseException as error:  # reported where the result is used
            future.set_exception(error)

    threading.Thread(target=run, name="scalarviz-building").start()
    return future


# ---- `Station`: one stop of a tour as data: a scene, its sentences, and its timed actions.


@dataclass(frozen=True, slots=True)
class TimedAction:
    """An action that the tour runs by itself."""

    at: float  # seconds since the station began
    action: str  # as in ``viewer.send``
    value: int | None = None  # for an action with a value


@dataclass(frozen=True, slots=True)
class Station:
    """One stop of the tour."""

    scene: str  # name of its entry
    headline: str
    says: tuple[tuple[float, str], ...]  # sentences, each with its first second
    seconds: float  # duration
    acts: tuple[TimedAction, ...] = ()  # ordered by time
    trained: int = 0  # steps trained before it is shown; the station says so
    duration: float = 8.0  # seconds that the scene's steps take once they run
    given: Mapping[str, object] = field(default_factory=dict)

    def sentence(self, seconds: float) -> str:
        """Return the sentence after this many seconds."""
        return next((words for since, words in reversed(self.says) if since <= seconds), "")

    @property
    def before(self) -> str:
        """The remark about training before the station."""
        return f"trained {self.trained:,} steps before" if self.trained else ""


def repeated(first: float, gap: float, count: int, action: str, value: int | None = None) -> tuple[TimedAction, ...]:
    """Return the same action several times, every `gap` seconds from `first` on."""
    return tuple(TimedAction(first + gap * number, action, value) for number in range(count))
