"""`weight_record`: how one weight moved over everything that a run has recorded on its branch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..tape import Tape
from .look_back import again_within, visited
from .optimizer import starts

if TYPE_CHECKING:
    from .run import Run

POINTS = 160
"""Steps at which the weight is looked up, at most so many and those beside an edit."""
SECONDS = 0.1
"""What doing the record again may take; where it would take longer, the keyframes are all there is."""
_EDITS = 40  # the latest ones, whose jumps are drawn steep


@dataclass(frozen=True, slots=True, eq=False)
class WeightRecord:
    """The values of one weight, on the branch of a moment.

    Attributes
    ----------
    index : int
        Flat.
    steps : ndarray of int64, shape (N,)
        In order.
    values : ndarray of float64, shape (N,)
        After each of them, and after the edits made there.
    """

    index: int
    steps: NDArray[np.int64]
    values: NDArray[np.float64]


def weight_record(run: Run, index: int) -> WeightRecord:
    """The values of the weight at flat `index` from the first to the newest step of the run's branch.

    What was recorded is done again; the run stands where it stood afterwards, to the bit. Between two of its steps,
    in the thread that may change it.
    """
    run.timeline.enter()
    first, newest = run.timeline.span
    same = _Same(run._tape, index)
    if newest == first or again_within(run, SECONDS):
        looks = visited(run, _places(run, first, newest), same.now)
        found = {step: value for step, value in looks.items() if value is not None}
    else:
        found = _kept(run, same)
    found[run.steps] = float(run._store.value[index])
    steps = sorted(found)
    return WeightRecord(index, np.array(steps, np.int64), np.array([found[step] for step in steps], np.float64))


class _Same:
    """One weight in every network that a run had: its flat index there."""

    def __init__(self, tape: Tape, index: int) -> None:
        begins = starts(tape)
        self._block = next(block for block, start in begins.items() if start <= index < start + block.size)
        self._offset = index - begins[self._block]
        self._known: dict[int, int | None] = {id(tape): index}  # the run holds them; they are compared by all nodes

    def at(self, tape: Tape) -> int | None:
        """None where it was not there."""
        if id(tape) not in self._known:
            start = starts(tape).get(self._block)
            self._known[id(tape)] = None if start is None else start + self._offset
        return self._known[id(tape)]

    def now(self, run: Run) -> float | None:
        """Its value in a run; None where it is not there."""
        index = self.at(run._tape)
        return None if index is None else float(run._store.value[index])


def _places(run: Run, first: int, newest: int) -> list[int]:
    places = {int(step) for step in np.linspace(first, newest, POINTS)}
    for edit in run.timeline.line.edits[-_EDITS:]:
        places |= {edit.step - 1, edit.step}
    return sorted(step for step in places if first <= step <= newest)


def _kept(run: Run, same: _Same) -> dict[int, float]:
    """The values in the keyframes of the way here."""
    found: dict[int, float] = {}
    now = run.timeline.line
    moments: list[tuple[int, Any]] = [] if now.tip is None else [(now.newest, now.tip)]
    for line, last, _ in now.path():
        keys = (key for key in line.keys if key.step <= last)
        moments += [(key.step, key.kept) for key in keys if key.edits == now.done(key.step)]  # after all edits there
    for step, kept in moments:
        weights = kept.parts["weights"]
        if (index := same.at(kept.parts["graph"].tape)) is not None:
            found.setdefault(step, float(weights.values[index]))
    return found
