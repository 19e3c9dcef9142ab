"""`SpeedKeys`: slower, faster and back to normal, of whatever plays in a picture."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

from .playback import speed_text


class HasSpeed(Protocol):
    """What plays."""

    @property
    def speed(self) -> float:
        """1 is the paced normal."""
        ...

    def change_speed(self, by: int) -> None:
        """Go `by` places up or down; 0 is back to normal."""
        ...


class SpeedKeys:
    """The three actions.

    Parameters
    ----------
    playback : HasSpeed
    say : callable
        Shows a line of news: that there is no speed beyond this one.

    Attributes
    ----------
    handlers : dict of str to callable
    """

    def __init__(self, playback: HasSpeed, say: Callable[[str], None]) -> None:
        self._playback, self._say = playback, say
        places = {"slower": -1, "faster": +1, "normal_speed": 0}
        self.handlers: dict[str, Callable[..., None]] = {name: partial(self._go, by) for name, by in places.items()}

    def _go(self, by: int) -> None:
        before = self._playback.speed
        self._playback.change_speed(by)
        if self._playback.speed == before:
            self._say(f"the speed is {speed_text(before)} already")
