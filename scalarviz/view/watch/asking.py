"""`Asking`: asks the run why the selected weight will move, at a pace that neither training nor the window feels."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ScalarvizError
from ..touched.opening import account_of

if TYPE_CHECKING:
    from ...run.asked_call import AskedCall
    from ...run.frame import Frame
    from ...run.run import Run
    from ..touched.account import Account
    from ..touched.inspector import Inspector
    from ..workbench import Workbench

LEAST = 0.15
"""Seconds between two questions: nobody reads faster."""
SHARE = 12.0
"""So many times the cost of an answer pass before the next question while training runs."""


@dataclass(frozen=True, slots=True)
class _Answer:
    account: Account
    seconds: float


def _answer(run: Run, index: int, *, along: bool) -> _Answer:
    """The account, and how long it took."""
    begun = time.perf_counter()
    account = account_of(run, index, along=along)
    return _Answer(account, time.perf_counter() - begun)


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
        self._cost = 0.0
        self._rests = 0.0
        self._refused: Inspector | None = None

    def pass_time(self, seconds: float, frame: Frame) -> bool:
        """`seconds` have passed; returns whether there is news for the inspector."""
        self._rests -= seconds
        news = self._take()
        inspector, source = self._bench.touch.inspector, self._bench.subject.source
        if inspector is None or not inspector.single or not source.can.open or inspector is self._refused:
            return news
        if self._asked is None and self._bench.touch.column(self._bench.places) is not None:
            changed = not self._holds(inspector.account, frame)
            if changed and (self._rests <= 0.0 or inspector.account is None):
                self._asked = inspector, source.ask(partial(_answer, index=inspector.index, along=True))
                self._rests = max(LEAST, SHARE * self._cost)
                return self._take() or news
        return news

    def _take(self) -> bool:
        """Take over an answer that has come."""
        if self._asked is None or not self._asked[1].done.is_set():
            return False
        (inspector, asked), self._asked = self._asked, None
        try:
            found = asked.answer()
        except ScalarvizError:  # the run was closed, or another one has its weights: there is nothing to open
            self._refused, inspector.account = inspector, None
            return True
        self._cost = found.seconds
        self._rests = max(self._rests, LEAST, SHARE * found.seconds)
        inspector.account = found.account
        return inspector is self._bench.touch.inspector

    def _holds(self, account: Account | None, frame: Frame) -> bool:
        """Whether an account is of the moment that is shown."""
        return (
            account is not None
            and (account.step, account.edits) == (frame.step, self._bench.subject.source.edits)
            and np.array_equal(account.value, float(frame.values[account.index]), equal_nan=True)
        )
