"""`Asking`: asks the run why the selected weight will move, at a pace that neither training nor the window feels."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ScalarvizError
from ...run.travel import WeightRecord, weight_record
from ..screen.account import account_of
from ..screen.inspector import RecordKey, record_key

if TYPE_CHECKING:
    from ...run.core.frame import Frame
    from ...run.looking import AskedCall
    from ...run.run import Run
    from ..screen.account import Account
    from ..screen.inspector import Inspector
    from ..workbench import Workbench

LEAST = 0.15
"""Seconds between two questions: nobody reads faster."""
QUICK = 0.02
"""Seconds that an answer may take while training runs."""
SHARE, AT_REST = 30.0, 2.0
"""So many times the cost of an answer pass before the next question, while training runs and at rest."""


@dataclass(frozen=True, slots=True)
class _Answer:
    seconds: float
    account: Account | None = None
    record: tuple[RecordKey, WeightRecord] | None = None


def _answer(run: Run, index: int, *, along: bool) -> _Answer:
    """The account, and how long it took."""
    begun = time.perf_counter()
    account = account_of(run, index, along=along)
    return _Answer(time.perf_counter() - begun, account)


def _recorded(run: Run, index: int, key: RecordKey) -> _Answer:
    """How the weight moved over the whole past, and how long that took to find out."""
    begun = time.perf_counter()
    record = weight_record(run, index)
    return _Answer(time.perf_counter() - begun, record=(key, record))


class Asking:
    """The question of one window. Nobody waits for the answer.

    Parameters
    ----------
    bench : Workbench
    """

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        bench.touch.asks = True
        self._asked: tuple[Inspector, AskedCall] | None = None
        self._costs = {False: 0.0, True: 0.0}  # seconds that the last answer took, without and with "what if"
        self._rests, self._share = 0.0, SHARE
        self._refused: Inspector | None = None

    def pass_time(self, seconds: float, frame: Frame, *, rests: bool, trains: bool) -> bool:
        """`seconds` have passed; returns whether there is news for the inspector.

        Parameters
        ----------
        seconds : float
        frame : Frame
            What is shown.
        rests : bool
            Whether nothing happens but what hands do: then there is time for more.
        trains : bool
            Whether the run is the window's own, so that it may go through its past.
        """
        self._rests -= seconds
        self._share = AT_REST if rests else SHARE
        news = self._take()
        inspector, source = self._bench.touch.inspector, self._bench.subject.source
        if inspector is None or not inspector.single or not source.can.open or inspector is self._refused:
            return news
        if self._asked is None and self._bench.touch.column(self._bench.places) is not None:
            question = self._question(inspector, frame, rests=rests, trains=trains)
            if question is not None:
                self._asked = inspector, source.ask(question)
                return self._take() or news
        return news

    def _question(
        self, inspector: Inspector, frame: Frame, *, rests: bool, trains: bool
    ) -> Callable[[Run], _Answer] | None:
        """What is to be asked now, if anything."""
        account, index = inspector.account, inspector.index
        if not self._holds(account, frame):
            if self._rests > 0.0 and account is not None:
                return None
            along = account is not None and account.along is not None and self._costs[True] < QUICK
            return partial(_answer, index=index, along=along or self._costs[True] < QUICK)
        assert account is not None
        if account.along is None and (rests or self._costs[True] < QUICK):
            return partial(_answer, index=index, along=True)
        key = record_key(frame)
        if trains and rests and key is not None and (inspector.record is None or inspector.record[0] != key):
            return partial(_recorded, index=index, key=key)
        return None

    def _take(self) -> bool:
        """Take over an answer that has come."""
        if self._asked is None or not self._asked[1].done():
            return False
        (inspector, asked), self._asked = self._asked, None
        try:
            found = asked.result()
        except (ScalarvizError, MemoryError):  # the run was closed, another one has its weights, or it is too large
            self._refused, inspector.account = inspector, None
            return True
        self._rests = max(LEAST, self._share * found.seconds)
        if found.account is not None:
            self._costs[found.account.along is not None] = found.seconds
            inspector.account = found.account
        if found.record is not None:
            inspector.record = found.record
        return inspector is self._bench.touch.inspector

    def _holds(self, account: Account | None, frame: Frame) -> bool:
        """Whether an account is of the moment that is shown."""
        return (
            account is not None
            and (account.step, account.edits) == (frame.step, self._bench.subject.source.edits)
            and np.array_equal(account.update.before, float(frame.values[account.update.index]), equal_nan=True)
        )
