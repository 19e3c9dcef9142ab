"""`StoredSteps`: opens the steps of a recording.

For each frame a file has a *moment*: the rule and the rates of the coming step, and at keyframes the optimiser's state.
A step after any other moment is reached from the keyframe before it: an engine does the steps between again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....engine.problem import DTYPES
from ....errors import FileFormatError, ScalarvizError
from ....optim._pace import Pace
from ...core.frame import Curve
from ...frames import sample_to_open, step_data
from ...opened.opened import Opened
from ...opened.passes import EngineStep
from .index import Shapes
from .items import Moment, flags_of, moment_sum
from .programs import Rule, Rules, check

Sample = int | tuple[ArrayLike, ArrayLike]


class Frames(Protocol):
    """The frames of one branch, as :class:`Recorded` has them."""

    steps: NDArray[np.int64]
    curve: Curve

    def row(self, k: int, columns: str) -> tuple[Any, ...]: ...
    def entry(self, k: int, column: str = "") -> Any: ...
    def shapes(self, k: int) -> Shapes: ...
    def at(self, step: int) -> int: ...


class StoredSteps:
    """Opens the steps of a file; `lacks` says why none opens. Callers hold the lock of the file."""

    def __init__(self, database: sqlite3.Connection, *, former: bool) -> None:
        self._rules = Rules(database)
        self._keyframe = -1  # the frame from which the last training was reached
        self.lacks = "an older scalarviz made it, and its steps are not in today's form" if former else ""
        if not former and self._rules.one("SELECT 1 FROM moment LIMIT 1") is None:
            self.lacks = "another library trained the network, so there is no program of it"
        elif not former and (why := self._rules.one("SELECT numbers FROM data WHERE kind = '' LIMIT 1")):
            self.lacks = bytes(why[0]).decode("utf-8", "replace")[:200]

    @property
    def stored(self) -> tuple[int, int]:
        """Count and bytes of the samples of the first data set; zeros without one."""
        asked = "SELECT max(samples), sum(length(numbers)) FROM data WHERE kind != '' AND number = 0"
        found = None if self.lacks else self._rules.one(asked)
        return (0, 0) if found is None or found[0] is None else (int(found[0]), int(found[1]))

    def open(self, record: Frames, step: int, sample: Sample | None) -> Opened:
        """Return a step after a frame of `record`, or between two; FileFormatError: the file lacks a part of it."""
        check(not self.lacks, self.lacks)
        try:
            with np.errstate(all="ignore"):
                rule, rates = self._stand(record, record.at(step - 1), step - 1)
                one = None
                if sample is not None:
                    given = rule.training.problem.data, rule.network.forward
                    one = sample_to_open(*given, rule.targets, sample)
                taken = step_data(rule.training, rule.network, rule.of_step, rates, one)
                own = None if one is not None else _own(record, step, rule)
                return Opened(replace(taken, engine_step=own), trial=one is not None)
        except ScalarvizError:
            raise
        except (ArithmeticError, LookupError, ValueError, TypeError, RecursionError, MemoryError) as error:
            self._keyframe = -1  # every part fits its form, and together they make no sense
            raise FileFormatError(f"its program cannot be used ({type(error).__name__}: {error})"[:300]) from None

    def _stand(self, record: Frames, k: int, before: int) -> tuple[Rule, tuple[float, ...]]:
        """Bring a training to step `before`, at frame `k` or after it; return its rule, and rates of the next step."""
        now = self._moment(record, k)
        rule = self._rules.rule(now.rule, int(record.entry(k, "network")), record.shapes(k))
        training, key, found = rule.training, k, now
        while found.state is None:
            check(key > 0, "no keyframe stands before it")
            key, found = key - 1, self._moment(record, key - 1)
        check(found.rule == now.rule, "the rule of its optimiser changed since the keyframe")
        frame, there = int(record.entry(key, "id")), int(record.steps[k]) == before
        if frame != self._keyframe or not int(record.steps[key]) <= training.steps <= before:
            self._keyframe = -1
            self._put(record, key, rule, found)
        self._replay(record.curve, rule, found.rates, before)
        self._keyframe = frame
        if there and rule.said.dtype == DTYPES[0]:  # of another machine or engine, the last bits differ
            training.problem.store.value[:] = np.frombuffer(record.row(k, "value")[0], "<f4")
        if there or not rule.said.schedule:
            return rule, tuple(now.rates[1:].tolist())
        return rule, (float(_scheduled(record.curve, before, 1, now.rates)[0]),)

    def _moment(self, record: Frames, k: int) -> Moment:
        asked = "SELECT rule, rates, state, checksum FROM moment WHERE frame = ?"
        number, rates, state, total = self._rules.one(asked, (int(record.entry(k, "id")),)) or (None,) * 4
        right = isinstance(number, int) and isinstance(rates, bytes) and isinstance(state, bytes | None)
        right = right and len(rates) >= 16 and not len(rates) % 8 and total == moment_sum(number, rates, state)
        check(right, "its numbers are damaged or missing")
        kept = None if state is None else (np.frombuffer(state, np.uint8),)
        return Moment(number, np.frombuffer(rates, "<f8"), kept)

    def _put(self, record: Frames, k: int, rule: Rule, moment: Moment) -> None:
        """Set a training to a keyframe."""
        training, said = rule.training, rule.said
        problem, store = training.problem, training.problem.store
        value, frozen = record.row(k, "value, frozen")
        wide, size = int(said.dtype != DTYPES[0]), store.value.nbytes
        (kept,) = moment.state or ()
        check(len(kept) == size * (wide + len(said.state)), "its state does not fit its optimiser")
        arrays = [kept[at : at + size].view(f"<{store.value.dtype.str[1:]}") for at in range(0, len(kept), size or 1)]
        store.value[:] = arrays[0] if wide else np.frombuffer(value, "<f4")
        problem.state = [array.astype(said.dtype) for array in arrays[wide:]]
        store.frozen[:] = flags_of(frozen, record.shapes(k).weights)
        problem.t_start = int(moment.rates[0]) - int(record.steps[k]) - 1
        training.flags_changed = True
        training.set_position(int(record.steps[k]))

    def _replay(self, curve: Curve, rule: Rule, first: NDArray[np.float64], before: int) -> None:
        """Do the steps up to `before` again, at the rates that they had; `first` are the numbers of the keyframe."""
        training, groups = rule.training, len(rule.said.rules)
        count = before - training.steps
        rates: Sequence[tuple[float, ...]] = [tuple(first[1:].tolist())]
        if rule.said.schedule and count:
            found = _scheduled(curve, training.steps, count, first)
            rates = [(rate,) for rate in (found[:1] if (found == found[0]).all() else found).tolist()]
        for own in rates:
            training.pace = Pace(own[:groups])
            training.pace.momenta = own[groups:]
            until = before if len(rates) == 1 else training.steps + 1
            while training.steps < until:
                training.advance(until - training.steps, again=True)


def _scheduled(curve: Curve, after: int, count: int, rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rates of `count` steps after a step, from the curve of a run that a schedule drives."""
    check(len(rates) == 2, "its schedule moves several rates, which the file has at its frames alone")
    at = int(np.searchsorted(curve.step, after + 1))
    found, steps = curve.lr[at : at + count], curve.step[at : at + count]
    there = len(steps) == count and int(steps[-1]) == after + count
    check(there, "its schedule's rates between two frames are not in the file; record more frames")
    return found


def _own(record: Frames, step: int, rule: Rule) -> EngineStep | None:
    """Return what the engine computed in a step; None if it was not recorded, or is rounded."""
    after = record.at(step)
    if int(record.steps[after]) != step or rule.said.dtype != DTYPES[0]:
        return None
    value, gradient = record.row(after, "value, gradient")
    if gradient is None or len(value) != rule.training.problem.store.value.nbytes:
        return None
    numbers = (np.frombuffer(part, "<f4") for part in (gradient, value))
    return EngineStep(rule.said.engine[:20], float(record.entry(after, "loss")), *numbers)
