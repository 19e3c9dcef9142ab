"""`Pace`: when something too dear for every frame is worked out anew, and whether it is of the frame shown.

`TextPace`: when words and numbers are written anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ...run.run import Run
from ...run.source import Source

T = TypeVar("T")

SHARE = 0.25
"""Part of the time that such work may take."""
SETTLE = 0.3
"""Seconds for which a frame must have stood until the words about its age go: they would flicker otherwise."""


class Pace:
    """One number or picture. Frames are told apart by a key: any object that is another one when they differ."""

    def __init__(self, live: bool, pause: float = 0.0) -> None:
        self._live, self._least, self._pause = live, pause, 0.0
        self._waited = float("inf")
        self._shown: object = None
        self._done: object = None
        self._still, self._lagged = 0.0, False

    def due(self, key: object, seconds: float | None) -> bool:
        """A frame is shown, `seconds` after the last one (None: nobody waits); whether to work it out now."""
        passed = float("inf") if seconds is None else seconds
        self._waited += passed
        self._still = self._still + passed if key is self._shown else 0.0
        self._shown = key
        if key is self._done:
            return False
        if self._live and self._waited < self._pause:
            self._lagged = True
            return False
        return True

    def did(self, cost: float = 0.0) -> None:
        """It was worked out for the frame shown, which took `cost` seconds."""
        self._done, self._waited = self._shown, 0.0
        self._pause = max(self._least, cost / SHARE)  # the seconds that follow hold this work, too

    @property
    def late(self) -> bool:
        """Whether it is of another frame than that which is shown."""
        return self._done is not self._shown

    @property
    def old(self) -> bool:
        """Whether its age is to be said: it is late, or was until a moment ago."""
        if self._lagged and not self.late and self._still >= SETTLE:
            self._lagged = False
        return self._live and (self.late or self._lagged)


def known(source: Source, look: Callable[[Run], T]) -> T | None:
    """What a run says of itself; None where there is none, or one had to wait for it."""
    asked = source.ask(look) if source.can.open else None
    if asked is None or asked.done():
        return None if asked is None else asked.result()
    asked.cancel()
    return None


class TextPace:
    """Words and numbers change a few times a second: nobody reads faster. Those of one picture are of one frame."""

    def __init__(self, hz: float | None) -> None:
        self._pause = 0.0 if hz is None else 1.0 / hz
        self._waited = float("inf")
        self._written: tuple[object, object] | None = None
        self.late = False  # what is written is of another frame than that which is shown

    def rest(self, seconds: float) -> None:
        """`seconds` have passed in which nothing had to be drawn: what comes next has waited for long enough."""
        self._waited += seconds

    def hurry(self) -> None:
        """The next frame is written, however soon it comes."""
        self._waited = float("inf")

    def ready(self, seconds: float | None) -> bool:
        """Whether a frame that is shown `seconds` after the last one (None: nobody waits) will be written."""
        return seconds is None or self._waited + seconds >= self._pause

    def due(self, frame: object, words: object, seconds: float | None) -> bool:
        """A frame is shown with `words`, `seconds` after the last one (None: nobody waits); whether to write it now."""
        waits, old = not self.ready(seconds), self._written
        self._waited += float("inf") if seconds is None else seconds
        self.late = waits and (old is None or frame is not old[0] or words != old[1])
        if not waits:
            self._waited, self._written = 0.0, (frame, words)
        return not waits
