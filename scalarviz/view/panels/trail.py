"""`Trail`: where a few weights were at the steps that were seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .descent import Place

Floats = NDArray[np.float64]
MOST = 400
"""Steps that are kept."""


class Trail:
    """Grows with the frames that are shown; a step that was done anew replaces what came after it."""

    def __init__(self) -> None:
        self._places: dict[int, Floats] = {}

    def add(self, step: int, place: Place) -> None:
        """The weights after `step`, and, where that is known, before it."""
        if place.before is not None:
            self._put(step - 1, place.before, near=True)
        self._put(step, place.here)

    def _put(self, step: int, place: Floats, *, near: bool = False) -> None:
        old = self._places.get(step)
        if old is not None and (np.allclose(old, place, rtol=1e-5) if near else np.array_equal(old, place)):
            return
        if old is not None:  # another line of steps from here on
            self._places = {at: kept for at, kept in self._places.items() if at < step}
        self._places[step] = place
        if len(self._places) > MOST:
            steps = sorted(self._places)
            self._places = {at: self._places[at] for at in [*steps[:-1:2], steps[-1]]}

    @property
    def begins(self) -> int:
        """The first step that is known."""
        return min(self._places)

    def take(self, steps: Sequence[int], places: Floats) -> None:
        """What else is known: places (N, n) after some steps."""
        self._places = dict(zip(steps, places, strict=True)) | self._places

    def until(self, step: int) -> Floats:
        """The places up to `step`, in order, (N, n)."""
        found = [self._places[at] for at in sorted(self._places) if at <= step]
        return np.array(found) if found else np.zeros((0, 0))
