"""`open_step`: a step of a recording, as a live run opens it.

For each frame a file has a *moment*: the rule and the rates of the coming step, and at keyframes the optimiser's state.
A step after any other moment is reached from the keyframe before it: an engine does the steps between again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....checks import integer
from ....engine.problem import DTYPES
from ....errors import FileFormatError, InputError, ScalarvizError
from ....io.atomic import path_text
from ....optim._pace import Pace
from ...core.history import Curve
from ...frames import sample_to_open, step_data
from ...opened.opened import Opened
from ...opened.passes import EngineStep
from .items import Moment, flags_of, moment_sum
from .programs import Rule, check
from .recorded import Recorded

Sample = int | tuple[ArrayLike, ArrayLike]


def open_step(record: Recorded, step: Any, sample: Sample | None = None) -> Opened:
    """Return a step after a frame of `record`, or between two; see :meth:`scalarviz.view.page.recording.Recorded.open`.

    InputError: there is no such step. FileFormatError: the file lacks a part of it.
    """
    step, first = integer("open: step", step, 0), int(record.steps[0]) + 1
    last = 1 + max([int(record.steps[-1]), *record.curve.step[-1:].tolist()])
    if not first <= step <= last:
        raise InputError(f"open: there is no step {step:,}; allowed: {first:,} to {last:,} (the next step)")
    try:
        with record.lock, np.errstate(all="ignore"):
            check(not record.rules.lacks, record.rules.lacks)
            rule, rates = _stand(record, record.at(step - 1), step - 1)
            given, one = (rule.training.problem.data, rule.network.forward, rule.targets), None
            if sample is not None:
                one = sample_to_open(*given, sample)
            taken = step_data(rule.training, rule.network, rule.of_step, rates, one)
            own = None if one is not None else _own(record, step, rule)
            opened = Opened(replace(taken, engine_step=own, done=one is None and step < last), trial=one is not None)
            opened.micro_steps(), opened.new_values  # what makes no sense is refused here, not when it is shown
            of = taken.of_group[0] if taken.of_group else np.zeros(len(taken.values))
            for weights in (np.flatnonzero(taken.trained & (of == group)) for group in range(len(taken.rules))):
                opened.update(int(weights[0]) if len(weights) else 0)
            return opened
    except FileFormatError as error:
        why = str(error)
    except (ArithmeticError, AssertionError, LookupError, MemoryError, RuntimeError, TypeError, ValueError) as error:
        if isinstance(error, ScalarvizError):
            raise
        record.rules.keyframe = -1  # every part fits its form, and together they make no sense
        why = f"its program cannot be used ({type(error).__name__}: {error})"[:300]
    raise FileFormatError(f"{path_text(record.path)}: step {step:,} cannot be opened: {why}")


def training_at(record: Recorded, k: int) -> tuple[Rule, tuple[float, ...]]:
    """Return a training that stands at frame `k`, and the rates of its next step; FileFormatError: it cannot."""
    with record.lock, np.errstate(all="ignore"):
        check(not record.rules.lacks, record.rules.lacks)
        rule, rates = _stand(record, k, int(record.steps[k]))
        rule.training.take_flags()
        return rule, rates


def leading(record: Recorded, frames: Sequence[int]) -> tuple[list[int], list[tuple[int, tuple[float, ...]]]]:
    """Return the places in `frames` from which steps alone lead to the next such place, and the rates of these steps.

    The first places may be missing, where the rule was another one; the last one is always there. Rates are runs of
    equal ones, (count, rates), of the steps from the first place to the last frame. FileFormatError: they are unknown.
    """
    with record.lock:
        moments = [_moment(record, k) for k in frames]
        rates, keys = [tuple(one.rates[1:].tolist()) for one in moments], list[int]()
        for place, k in enumerate(frames):
            if moments[place].rule != moments[-1].rule:
                keys = []
            elif not keys or place == len(frames) - 1 or not record.leads(frames[keys[-1]], int(record.steps[k])):
                keys.append(place)
        scheduled = record.rules.rule(moments[-1].rule, int(record.entry(frames[-1], "network")), record.shapes(-1))
        found = list[tuple[int, tuple[float, ...]]]()
        for place in range(keys[0], len(frames) - 1):
            first, end = (int(record.steps[frames[k]]) for k in (place, place + 1))
            own = [rates[place]] * (end - first)
            if scheduled.said.schedule and end > first + 1:
                own = [(float(rate),) for rate in _scheduled(record.curve, first, end - first, moments[place].rates)]
            for one in own:
                many = found.pop()[0] if found and found[-1][1] == one else 0
                found.append((many + 1, one))
        return keys, found


def _stand(record: Recorded, k: int, before: int) -> tuple[Rule, tuple[float, ...]]:
    """Bring a training to step `before`, at frame `k` or after it; return its rule, and rates of the next step."""
    now = _moment(record, k)
    rule = record.rules.rule(now.rule, int(record.entry(k, "network")), record.shapes(k))
    training, key, found = rule.training, k, now
    while found.state is None:
        check(key > 0, "no frame before it has the state of the optimiser")
        key, found = key - 1, _moment(record, key - 1)
    check(record.leads(key, before), "its frames lack an edit or a jump that was made before it")
    check(found.rule == now.rule, "the rule of its optimiser changed since the keyframe")
    frame, there = int(record.entry(key, "id")), int(record.steps[k]) == before
    if frame != record.rules.keyframe or not int(record.steps[key]) <= training.steps <= before:
        record.rules.keyframe = -1
        _put(record, key, rule, found)
    _replay(record.curve, rule, found.rates, before)
    record.rules.keyframe = frame
    if there and rule.said.dtype == DTYPES[0]:  # of another machine or engine, the last bits differ
        training.problem.store.value[:] = np.frombuffer(record.row(k, "value")[0], "<f4")
    if there or not rule.said.schedule:
        return rule, tuple(now.rates[1:].tolist())
    return rule, (float(_scheduled(record.curve, before, 1, now.rates)[0]),)


def _moment(record: Recorded, k: int) -> Moment:
    asked = "SELECT rule, rates, state, checksum FROM moment WHERE frame = ?"
    number, rates, state, total = record.rules.one(asked, (int(record.entry(k, "id")),)) or (None,) * 4
    right = isinstance(number, int) and isinstance(rates, bytes) and isinstance(state, bytes | None)
    right = right and len(rates) >= 16 and not len(rates) % 8 and total == moment_sum(number, rates, state)
    check(right, "its numbers are damaged or missing")
    kept = None if state is None else (np.frombuffer(state, np.uint8),)
    return Moment(number, np.frombuffer(rates, "<f8"), kept)


def _put(record: Recorded, k: int, rule: Rule, moment: Moment) -> None:
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


def _replay(curve: Curve, rule: Rule, first: NDArray[np.float64], before: int) -> None:
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
    check(len(rates) == 2, "its schedule moves several rates, which only frames have; record with every=1")
    at = int(np.searchsorted(curve.step, after + 1))
    found, steps = curve.lr[at : at + count], curve.step[at : at + count]
    there = len(steps) == count and int(steps[-1]) == after + count
    check(there, "its schedule's rates between two frames are not in the file; record more frames")
    return found


def _own(record: Recorded, step: int, rule: Rule) -> EngineStep | None:
    """Return what the engine computed in a step; None if it was not recorded, or is rounded."""
    after = record.at(step)
    if int(record.steps[after]) != step or rule.said.dtype != DTYPES[0]:
        return None
    value, gradient = record.row(after, "value, gradient")
    if gradient is None or len(value) != rule.training.problem.store.value.nbytes:
        return None
    numbers = (np.frombuffer(part, "<f4") for part in (gradient, value))
    return EngineStep(rule.said.engine[:20], float(record.entry(after, "loss")), *numbers)
