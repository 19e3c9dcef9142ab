"""`Tracking`: numbers of theta that follow statistics, on a device."""

from __future__ import annotations

import numpy as np

from ..coupled import factor_of
from ..problem import Problem
from .device import Launch
from .machine import Machine
from .state import State


class Tracking:
    """The tables of a problem's tracks, and the launches that follow them: first what counts, then the others.

    Parameters
    ----------
    problem : Problem
    body : Machine
        With the rows that are followed.
    state : State
    """

    def __init__(self, problem: Problem, body: Machine, state: State) -> None:
        self.problem, self.body, self.state = problem, body, state
        tracks = list(problem.plan.body.tracks)
        order = sorted(range(len(tracks)), key=lambda k: (tracks[k].row >= 0, tracks[k].index, k))
        self._tracks = [tracks[k] for k in order]
        self._later = [  # how often a count goes up after the track that reads it
            sum(t.row < 0 and t.index == tracks[k].count for t in tracks[k + 1 :]) for k in order
        ]
        changes = [k for k, t in enumerate(self._tracks) if k == 0 or self._tracks[k - 1].index != t.index]
        self._counting = sum(self._tracks[k].row < 0 for k in changes)
        self._numbers = len(changes)
        self.starts = body.constant(np.array([*changes, len(tracks)], np.int64))
        self.table = body.device.empty(max(1, 4 * len(tracks)), np.int64)
        self.factors = body.device.empty(max(1, 2 * len(tracks)), np.float64)

    def begin(self) -> None:
        """Bring in which numbers are frozen by now, and what depends on the batch."""
        if not self._tracks:
            return
        frozen, batch = self.problem.store.frozen, self.problem.batch
        lines, factors = [], []
        for track, later in zip(self._tracks, self._later, strict=True):
            held = track.count >= 0 and frozen[track.count] != 0
            index = -1 if frozen[track.index] else track.index
            lines.append((index, track.row, max(0, track.count), 0 if held else later))
            factors.append((track.rate, factor_of(track, batch)))
        self.body.device.upload(self.table, np.array(lines, np.int64).ravel())
        self.body.device.upload(self.factors, np.array(factors).ravel())

    def launches(self) -> list[Launch]:
        """What a step does when it is committed."""
        body, made = self.body, []
        for first, count in ((0, self._counting), (self._counting, self._numbers - self._counting)):
            if count:
                given = (
                    self.state.value, body.values, self.table, self.factors, self.starts, first, count, body.chunk,
                )  # fmt: skip
                made.append(body.line("follow", count, given))
        return made
