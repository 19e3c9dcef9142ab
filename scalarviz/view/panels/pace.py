"""`Pace`: when something too dear for every frame is worked out anew, and whether it is of the frame shown."""

from __future__ import annotations

SHARE = 0.25
"""Part of the time that such work may take."""
SETTLE = 0.3
"""Seconds for which a frame must have stood until the words about its age go: they would flicker otherwise."""


class Pace:
    """One number or picture. Frames are told apart by a key: any object that is another one when they differ.

    Parameters
    ----------
    live : bool
        Whether somebody waits for the window. A film is exact: everything is due at every frame.
    pause : float
        Least seconds from one time to the next.
    """

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
