"""`Ahead`: while nobody asks for anything, keyframes are made where somebody who goes back will come next.

Keyframes stand far apart; whoever goes back step by step past one of them would wait for a whole replay there.
So the gaps before the run's place are replayed beforehand, beside the run, and get finer keyframes.
"""

from __future__ import annotations

import time

from .keyframes import FINE, Keyframes
from .line import Key, Line, Place
from .traveller import Traveller, Twin

REACH = 0.25
"""Seconds of the engine's work before the run's place that are prepared."""
SLICE = 0.005
"""Seconds that one part of the work takes."""
_HOPS = 256


class Ahead:
    """Prepares the way back.

    Parameters
    ----------
    traveller : Traveller
    keyframes : Keyframes
    """

    def __init__(self, traveller: Traveller, keyframes: Keyframes) -> None:
        self._run, self._keyframes = traveller, keyframes
        self._twin: Twin | None = None
        self._gap: tuple[Line, int, int] | None = None  # the line, the step that it ends at, and what the past was then
        self._refused: Key | None = None

    def prepare(self, place: Place, revision: int) -> bool:
        """A part of the work for a run that stands at a place; False if nothing is left to do.

        A `revision` of the past that is another one than the last time: what was begun is of no use any more.
        """
        gap = self._next(place)
        if gap is None:
            self._twin = self._gap = None
            return False
        key, end = gap
        here = (place.line, end, revision)
        if self._twin is None or self._gap != here or not key.step <= self._twin.steps < end:
            self._twin, self._gap = self._run.twin(key.kept), here
            if self._twin is None:
                self._refused = key
                return True
        self._go_on(self._twin, place, key.edits, end)
        return True

    def _next(self, place: Place) -> tuple[Key, int] | None:
        """The first gap on the way back that takes too long, unless edits lie in it."""
        line, end, edits = place
        second, reached = self._run.seconds_a_step, 0.0
        reach = min(REACH, FINE * (self._keyframes.fine_room // 2))
        for _ in range(_HOPS):
            key = line.nearest(end, edits)
            if key is None or key is self._refused or reached >= reach:
                return None
            length = (end - key.step) * second
            if length > 2 * FINE and end - key.step > 2 and key.edits == line.done(end - 1):
                return key, end
            reached += length
            end, edits = key.step, key.edits
        return None

    def _go_on(self, twin: Twin, place: Place, edits: int, end: int) -> None:
        start = time.perf_counter()
        while twin.steps < end - 1 and time.perf_counter() - start < SLICE:
            twin.replay(min(end - 1 - twin.steps, max(1, int(FINE / self._run.seconds_a_step))))
        owner = place.line.owner(twin.steps, edits)
        self._keyframes.add(owner, Key(twin.steps, edits, twin.keyframe(), self._keyframes.clock, fine=True))
