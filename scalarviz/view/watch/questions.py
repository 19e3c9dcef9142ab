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
    from ...run.run import Run
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
        self._asked = False  # whether an answer is still to come
        self._costs = {False: 0.0, True: 0.0}  # seconds that the last answer took, without and with "what if"
        self._rests, self._share, self._least = 0.0, SHARE, LEAST
        self._refused: Inspector | None = None
        self._told: tuple[Inspector, RecordKey] | None = None

    def pass_time(self, seconds: float, frame: Frame) -> None:
        """`seconds` have passed and `frame` is shown."""
        self._rests -= seconds
        held = self._viewer.pointer.grip is not None  # training waits, and a hand watches what becomes of it
        self._share = AT_REST if held or self._viewer.rests else SHARE
        self._least = 0.0 if held else LEAST
        inspector, source = self._bench.touch.inspector, self._bench.subject.source
        if inspector is None or not inspector.single:
            return
        if not self._viewer.trains:  # such a source knows at once how a weight moved
            self._tell_record(inspector, frame)
        if self._asked or not source.can.open or inspector is self._refused:
            return
        if self._bench.touch.column(self._bench.places) is not None:
            question = self._question(inspector, frame)
            if question is not None:
                self._asked = True
                take, fail = partial(self._take, inspector), partial(self._fail, inspector)
                self._viewer.ask(partial(_timed, question=question), take, fail)

    def _tell_record(self, inspector: Inspector, frame: Frame) -> None:
        """Tell the inspector how its weight moved, once for each past."""
        key = record_key(frame)
        if key is None or (inspector, key) == self._told:
            return
        self._told = inspector, key
        try:
            record = self._bench.subject.source.weight_record(inspector.index)
        except ScalarvizError as error:
            self._viewer.say(str(error))
            return
        inspector.record = None if record is None else (key, record)
        self._viewer.refresh()

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

    def _take(self, inspector: Inspector, answer: tuple[float, Answer]) -> None:
        """An answer has come."""
        seconds, found = answer
        self._asked, self._rests = False, max(self._least, self._share * seconds)
        if isinstance(found, Account):
            self._costs[found.along is not None] = seconds
            inspector.account = found
        else:
            inspector.record = found

    def _fail(self, inspector: Inspector, error: Exception) -> None:
        """The run was closed, another one has its weights, or it is too large."""
        self._asked, self._refused, inspector.account = False, inspector, None

    def _holds(self, account: Account, frame: Frame) -> bool:
        """Whether an account is of the moment that is shown."""
        return (account.step, account.edits) == (frame.step, self._bench.subject.source.edits) and np.array_equal(
            account.update.before, float(frame.values[account.update.index]), equal_nan=True
        )


class SignSearch:
    """Finds out for a viewer when a weight last changed its sign, and goes there."""

    def __init__(self, viewer: Viewer, index: int, name: str) -> None:
        self._viewer, self._index, self.name = viewer, index, name
        self.share, self.ended, self._given_up = 0.0, False, False
        viewer.ask(self._find, self._found, self._fail)

    def _find(self, run: Run) -> int | None:
        return run.find(f"sign({condition_name(run, self._index)}) changes", progress=self._goes_on)

    def _goes_on(self, share: float) -> bool:
        self.share = share
        return not self._given_up

    def give_up(self) -> None:
        """No more is searched."""
        self._given_up = True

    def _found(self, step: int | None) -> None:
        self.ended = True
        if step is not None:
            self._viewer.say(f"{self.name} changed its sign at step {step:,}")
            self._viewer.travels.go(step)
        else:
            self._viewer.say("given up" if self._given_up else f"{self.name} has not changed its sign before")

    def _fail(self, error: Exception) -> None:
        self.ended = True
        self._viewer.say(str(error))
