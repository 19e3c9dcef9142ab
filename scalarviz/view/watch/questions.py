"""What a window asks of the run about the selected weight; nobody waits for an answer.

`Asking` finds out for the inspector why the weight will move and how it moved, at a pace that neither training nor the
window feels. `SignSearch` finds where it last changed its sign.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ScalarvizError
from ...run.callbacks import condition_name
from ...run.travel import WeightRecord, weight_record
from ..screen.account import Account, account_of
from ..screen.inspector import RecordKey, record_key

if TYPE_CHECKING:
    from ...run.core.frame import Frame
    from ...run.looking import AskedCall
    from ...run.run import Run
    from ...run.source import Source
    from ..screen.inspector import Inspector
    from .viewer import Viewer

Answer = Account | tuple[RecordKey, WeightRecord]
Question = Callable[["Run"], Answer]

LEAST = 0.15
"""Seconds between two questions: nobody reads faster."""
QUICK = 0.02
"""Seconds that an answer may take while training runs."""
SHARE, AT_REST = 30.0, 2.0
"""So many times the cost of an answer pass before the next question, while training runs and at rest."""


def _timed(run: Run, question: Question) -> tuple[float, Answer]:
    """How long an answer took, and the answer."""
    begun = time.perf_counter()
    answer = question(run)
    return time.perf_counter() - begun, answer


class Asking:
    """The question of one viewer."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer, self._bench = viewer, viewer.bench
        viewer.bench.touch.asks = True
        self._asked: tuple[Inspector, AskedCall] | None = None
        self._costs = {False: 0.0, True: 0.0}  # seconds that the last answer took, without and with "what if"
        self._rests, self._share = 0.0, SHARE
        self._refused: Inspector | None = None
        self._told: tuple[Inspector, RecordKey] | None = None

    def pass_time(self, seconds: float, frame: Frame) -> bool:
        """`seconds` have passed and `frame` is shown; returns whether there is news for the inspector."""
        self._rests -= seconds
        self._share = AT_REST if self._viewer.rests else SHARE
        inspector, source = self._bench.touch.inspector, self._bench.subject.source
        news = self._take()
        if inspector is None or not inspector.single:
            return news
        if not self._viewer.trains:  # such a source knows at once how a weight moved
            news |= self._tell_record(inspector, frame)
        if not source.can.open or inspector is self._refused:
            return news
        if self._asked is None and self._bench.touch.column(self._bench.places) is not None:
            question = self._question(inspector, frame)
            if question is not None:
                self._asked = inspector, source.ask(partial(_timed, question=question))
                news |= self._take()
        return news

    def _tell_record(self, inspector: Inspector, frame: Frame) -> bool:
        """Tell the inspector how its weight moved, once for each past; whether that is news."""
        key = record_key(frame)
        if key is None or (inspector, key) == self._told:
            return False
        self._told = inspector, key
        try:
            record = self._bench.subject.source.weight_record(inspector.index)
        except ScalarvizError as error:
            self._viewer.say(str(error))
            return False
        inspector.record = None if record is None else (key, record)
        return True

    def _question(self, inspector: Inspector, frame: Frame) -> Question | None:
        """What is to be asked now, if anything."""
        account, index, quick = inspector.account, inspector.index, self._costs[True] < QUICK
        rests = self._viewer.rests  # there is time for more then, and for the past of a run of its own
        if account is None or not self._holds(account, frame):
            if self._rests > 0.0 and account is not None:
                return None
            return partial(account_of, index=index, along=quick)
        if account.along is None and (rests or quick):
            return partial(account_of, index=index, along=True)
        key = record_key(frame)
        if (
            self._viewer.trains
            and rests
            and key is not None
            and (inspector.record is None or inspector.record[0] != key)
        ):
            return lambda run: (key, weight_record(run, index))
        return None

    def _take(self) -> bool:
        """Take over an answer that has come."""
        if self._asked is None or not self._asked[1].done():
            return False
        (inspector, asked), self._asked = self._asked, None
        try:
            seconds, found = asked.result()
        except (ScalarvizError, MemoryError):  # the run was closed, another one has its weights, or it is too large
            self._refused, inspector.account = inspector, None
            return True
        self._rests = max(LEAST, self._share * seconds)
        if isinstance(found, Account):
            self._costs[found.along is not None] = seconds
            inspector.account = found
        else:
            inspector.record = found
        return inspector is self._bench.touch.inspector

    def _holds(self, account: Account, frame: Frame) -> bool:
        """Whether an account is of the moment that is shown."""
        return (account.step, account.edits) == (frame.step, self._bench.subject.source.edits) and np.array_equal(
            account.update.before, float(frame.values[account.update.index]), equal_nan=True
        )


class SignSearch:
    """Asks when a weight last changed its sign; `step` is the answer, once it is there and if it did."""

    def __init__(self, source: Source, index: int, name: str) -> None:
        self.step: int | None = None
        self._index, self._name, self._share, self._given_up = index, name, 0.0, False
        self._words = ""
        self._asked = source.ask(self._find)

    def _find(self, run: Run) -> int | None:
        return run.find(f"sign({condition_name(run, self._index)}) changes", progress=self._goes_on)

    def _goes_on(self, share: float) -> bool:
        self._share = share
        return not self._given_up

    def give_up(self) -> None:
        """No more is searched."""
        self._given_up = True

    @property
    def done(self) -> bool:
        """Whether the answer is there; it is taken over."""
        if not self._asked.done():
            return False
        if not self._words:
            self._words = self._take()
        return True

    @property
    def words(self) -> str:
        """How far it is, or what was found."""
        if not self.done:
            return f"searching where {self._name} changed its sign: {100 * self._share:.0f} %; Escape gives up"
        return self._words

    def _take(self) -> str:
        try:
            self.step = self._asked.result()
        except ScalarvizError as error:
            return str(error)
        if self.step is not None:
            return f"{self._name} changed its sign at step {self.step:,}"
        return "given up" if self._given_up else f"{self._name} has not changed its sign before"
