"""`Driving`: what rows of controls ask a viewer for that is no edit: its pace, an action, other first weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .actions import action_of
from .playback import SPEEDS

if TYPE_CHECKING:
    from .live import LiveView

WAITS = 0.6
"""Seconds for which a value that was set is shown before a frame has it: an edit waits for the next call boundary."""


class Driving:
    """Those parts of :class:`~scalarviz.view.screen.control_contents.Does` that are the same whoever draws the rows.

    Parameters
    ----------
    viewer : LiveView
    """

    def __init__(self, viewer: LiveView) -> None:
        self._viewer = viewer

    @property
    def speed(self) -> float:
        """How many times the usual pace."""
        return self._viewer.playback.speed

    @property
    def speeds(self) -> tuple[float, ...]:
        """All that it can be."""
        return SPEEDS

    def keys_of(self, action: str) -> str:
        """The first key of an action."""
        return action_of(action).keys[0]

    def send(self, action: str) -> bool:
        """Do an action, as its key does."""
        return self._viewer.send(action)

    def hurry(self, speed: float) -> None:
        """So many times faster or slower, as the keys do it one after the other."""
        by = SPEEDS.index(speed) - SPEEDS.index(self.speed)
        for _ in range(abs(by)):
            self._viewer.send("faster" if by > 0 else "slower")

    def reseed(self, seed: int) -> None:
        """Begin anew with the first weights of another seed."""
        self._viewer.travels.restart(seed)
