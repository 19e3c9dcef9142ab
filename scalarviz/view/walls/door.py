"""`Door`: what a room knows of a scene that can be entered from it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
