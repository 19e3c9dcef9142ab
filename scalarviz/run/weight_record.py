"""`weight_record`: how one weight moved over all that a run has recorded, and what one sample asks of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..engine.arrays.program import PlanRunner
from ..tape import Tape
from .core.gather import starts
from .opened.network import pulled_back

if TYPE_CHECKING:
    from .core.forward import Forward
    from .run import Run


T = TypeVar("T")
LOOK_BACK_SECONDS = 2.0
"""What doing steps again may take where nobody waits; where it would take longer, only keyframes are visited."""


def looked_back(
    run: Run, look: Callable[[Run], T], count: int, until: int, seconds: float = LOOK_BACK_SECONDS
) -> dict[int, T]:
    """What `look(run)` returns at about `count` steps of the run's branch before `until`, more of them early ones.

    The run stands where it stood afterwards. Between two of its steps, in the thread that may change it.
    """
    run.timeline.enter()
    first = run.timeline.span[0]
    wanted = first + (np.linspace(0.0, 1.0, count, endpoint=False) ** 2 * (until - first)).astype(int)
    if again_within(run, seconds):
        return visited(run, sorted(set(wanted.tolist())), look)
    path = run.timeline.line.path()
    keyframes = {key.step for line, last, _ in path for key in line.keys if key.step <= last}
    kept = np.array(sorted(step for step in keyframes if first <= step < until), int)
    if not len(kept):
        return {}
    near = kept[np.abs(kept[:, None] - wanted).argmin(axis=0)]
    return visited(run, sorted(set(near.tolist())), look, jumps=True)


def again_within(run: Run, seconds: float) -> bool:
    """Whether all that was recorded on the run's branch can be done again in that time."""
    first, newest = run.timeline.span
    measured = run.timeline.keyframes.clock  # seconds of the engine for all branches
    return min(measured, (newest - first) * run._training.seconds_a_step) <= seconds


def visited(run: Run, places: Sequence[int], look: Callable[[Run], T], *, jumps: bool = False) -> dict[int, T]:
    """What `look(run)` returns at each of some rising steps, while the run stands there.

    All steps between them are done again, unless it `jumps`: every place is reached from the nearest keyframe then.
    """
    timeline, here, found = run.timeline, run.steps, dict[int, T]()
    try:
        for step in places:
            if jumps or not found:
                timeline.to(step)
            while run.steps < step:
                timeline.advance(step - run.steps)
            found[step] = look(run)
    finally:
        timeline.to(here)
    return found


# ---- `weight_record`: how one weight moved over everything that a run has recorded on its branch


POINTS = 160
"""Steps at which the weight is looked up, at most so many and those beside an edit."""
SECONDS = 0.1
"""What doing the record again may take; where it would take longer, the keyframes are all there is."""
_EDITS = 40  # the latest ones, whose jumps are drawn steep


@dataclass(frozen=True, slots=True, eq=False)
class WeightRecord:
    """The values of one weight, on the branch of a moment."""

    index: int  # flat
    steps: NDArray[np.int64]  # in order; shape (N,)
    values: NDArray[np.float64]  # after each of them, and after the edits made there; shape (N,)


def weight_record(run: Run, index: int) -> WeightRecord:
    """The values of the weight at flat `index` on the run's branch.

    Its steps are done again, and the run returns, to the bit. Between two steps, in the thread that may change it.
    """
    run.timeline.enter()
    first, newest = run.timeline.span
    place_in = _follower(run._tape, index)

    def now(run: Run) -> float | None:
        place = place_in(run._tape)
        return None if place is None else float(run._store.value[place])

    if newest == first or again_within(run, SECONDS):
        places = {int(step) for step in np.linspace(first, newest, POINTS)}
        places |= {edit.step - beside for edit in run.timeline.line.edits[-_EDITS:] for beside in (0, 1)}
        looks = visited(run, sorted(step for step in places if first <= step <= newest), now)
        found = {step: value for step, value in looks.items() if value is not None}
    else:
        found = _kept(run, place_in)
    found[run.steps] = float(run._store.value[index])
    steps = sorted(found)
    return WeightRecord(index, np.array(steps, np.int64), np.array([found[step] for step in steps], np.float64))


def _follower(tape: Tape, index: int) -> Callable[[Tape], int | None]:
    """Says the flat index of one weight in another network that a run had; None where it was not there."""
    block, begin = next((b, start) for b, start in starts(tape).items() if start <= index < start + b.size)

    def place_in(other: Tape) -> int | None:
        start = starts(other).get(block)
        return None if start is None else start + index - begin

    return place_in


def _kept(run: Run, place_in: Callable[[Tape], int | None]) -> dict[int, float]:
    """The values in the keyframes of the way here."""
    found: dict[int, float] = {}
    now = run.timeline.line
    moments: list[tuple[int, Any]] = [] if now.tip is None else [(now.newest, now.tip)]
    for line, last, _ in now.path():
        keys = (key for key in line.keys if key.step <= last)
        moments += [(key.step, key.kept) for key in keys if key.edits == now.done(key.step)]  # after all edits there
    for step, kept in moments:
        if (place := place_in(kept.graph.tape)) is not None:
            found.setdefault(step, float(kept.values[place]))
    return found


class SampleGradient:
    """Forward and backward of single samples on own arrays, by the run's network or a former one."""

    def __init__(self, run: Run, forward: Forward | None = None) -> None:
        self._forward = run._forward if forward is None else forward
        self._runner = PlanRunner(self._forward.plan, np.float64)

    def gradient(self, sample: ArrayLike, target: ArrayLike, values: ArrayLike) -> NDArray[np.float64]:
        """Gradient (P,) of the loss of one sample (n_in,) with its target (n_out,), at flat values (P,).

        As `evaluate` has that loss: a mean over weighted targets divides by the sample's own weight.
        """
        runner, body = self._runner, self._runner.body
        numbers = np.concatenate([np.ravel(sample), np.ravel(target)]).astype(np.float64)
        theta, before = runner.extended(np.asarray(values, np.float64))
        rows = body.forward(theta, runner.encode(numbers[:, None]))
        adjoints: NDArray[Any] = np.zeros_like(rows)
        adjoints[body.program.loss] = self._forward.scale_of_one(np.asarray(target))
        gradient = np.zeros(len(theta))
        body.backward(rows, adjoints, theta, gradient)
        return pulled_back(runner, before, theta, gradient)
