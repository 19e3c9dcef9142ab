"""`MicroRows`: opens coming steps in the thread that writes, and writes them beside their frames."""

from __future__ import annotations

import sqlite3

import numpy as np

from ...errors import ScalarvizError
from ..opened.taken import Taken
from .coming import Coming, Opener
from .encoding import number
from .step_written import Written, written

MOST_PLANS = 1000
"""That a file holds: each step would have its own if something is not as it is thought here."""


class MicroRows:
    """The tables of micro-steps.

    Parameters
    ----------
    database : sqlite3.Connection
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._opener = Opener()
        self._plans: dict[tuple[int, str], int] = {}

    def write(self, coming: Coming, network: int, place: tuple[int, int, int]) -> None:
        """The coming step of the frame at a place (branch, step, edits), in place of what was written of it."""
        (frame,) = self._database.execute(
            "SELECT id FROM frame WHERE branch = ? AND step = ? AND edits = ?", place
        ).fetchone()
        self._database.execute("DELETE FROM micro WHERE frame = ?", (frame,))
        for alone, taken in ((1, coming.alone), (0, coming.whole)):
            found = None if taken is None else self._written(taken, alone=bool(alone))
            if found is not None and (plan := self._plan(network, found.said)) is not None:
                given = (frame, alone, plan, found.step, found.batch, found.divisor, number(found.loss),
                         number(found.lr), found.numbers)  # fmt: skip
                self._database.execute("INSERT INTO micro VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", given)

    def _written(self, taken: Taken, *, alone: bool) -> Written | None:
        try:
            with np.errstate(all="ignore"):  # a diverged run holds infinities
                return written(self._opener.opened(taken, alone=alone))
        except ScalarvizError:  # one that cannot be opened has no micro-steps; the frame stays
            return None

    def _plan(self, network: int, said: str) -> int | None:
        """The number of a plan, which is written once."""
        key = network, said
        if key not in self._plans:
            if len(self._plans) >= MOST_PLANS:
                return None
            self._plans[key] = len(self._plans)
            self._database.execute("INSERT INTO plan VALUES (?, ?, ?)", (self._plans[key], *key))
        return self._plans[key]
