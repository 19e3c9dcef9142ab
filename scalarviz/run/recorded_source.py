"""`RecordedSource`: a recording as a :class:`Source`: it stands at recorded steps, and nothing trains or predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from .frame import Curve, Frame, Stage, Tensor
from .past import Branch, Past
from .source import Can, Facts, Source
from .weight_record import POINTS, WeightRecord

NEVER = {
    "gradient": "no gradients were recorded (gradients=True keeps them)",
    "update": "no updates were recorded (updates=True keeps them)",
}
"""Why a quantity cannot be shown that the file does not hold."""


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """What a recording knows of the sample whose way was recorded.

    Attributes
    ----------
    inputs, outputs : tuple of str
        Their names; empty where they have none.
    target : ndarray or None
        Shape (n_targets,): what it should become; None where nobody knows.
    colours, sheet : bool
        Whether its numbers are a colour, or a picture of paper and ink.
    whole_loss : bool
        Whether the loss that is told is that of all samples, as frames have it.
    """

    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    target: NDArray[np.float64] | None = None
    colours: bool = False
    sheet: bool = False
    whole_loss: bool = False


class Record(Protocol):
    """What is asked of a recording that was read; see :class:`scalarviz.run.recording.Recorded`."""

    @property
    def steps(self) -> NDArray[np.int64]:
        """The step of each frame (N,), in the order in which they were recorded."""
        ...

    @property
    def loss(self) -> NDArray[np.float64]:
        """Of each frame (N,); NaN where none was."""
        ...

    @property
    def lr(self) -> NDArray[np.float64]:
        """Likewise."""
        ...

    @property
    def branch_of(self) -> NDArray[np.int64]:
        """Number of the branch of each frame (N,)."""
        ...

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """What has cubes."""
        ...

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The way from input to output."""
        ...

    @property
    def branches(self) -> tuple[Branch, ...]:
        """All lines of steps, the oldest first, with their edits."""
        ...

    @property
    def facts(self) -> Facts | None:
        """What trained it."""
        ...

    @property
    def sample(self) -> Shown:
        """What is known of the sample whose way was recorded."""
        ...

    @property
    def kept(self) -> frozenset[str]:
        """What a frame holds besides values: ``"gradient"``, ``"update"``, ``"activations"``."""
        ...

    def frame(self, k: int) -> Frame:
        """Frame `k`, counted from 0."""
        ...

    def weight(self, index: int, frames: Sequence[int]) -> NDArray[np.float64]:
        """The flat weight `index` at some frames, shape (len(frames),)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """One branch with the way to it, as far as it was recorded.

    Attributes
    ----------
    number : int
    frames : ndarray of int64, shape (N,)
        Numbers of its frames, one for each step: the last one there, after its edits.
    past : Past
    """

    number: int
    frames: NDArray[np.int64]
    past: Past

    @property
    def steps(self) -> NDArray[np.int64]:
        """Of its frames, rising."""
        assert self.past.steps is not None  # a line's past always has them
        return self.past.steps


class RecordedSource(Source):
    """A recording, standing at its first step.

    Parameters
    ----------
    record : Record
        With one frame at least.
    what : str
        What it is called in messages.
    """

    can = Can(go=True)

    def __init__(self, record: Record, what: str = "the recording") -> None:
        self.record, self.what = record, what
        self._lines: dict[int, Line] = {}
        newest = int(record.branch_of[-1])
        self._line = self._made(newest)
        self._place = 0

    # ---- where it stands

    @property
    def line(self) -> Line:
        """The branch that it stands on."""
        return self._line

    @property
    def place(self) -> int:
        """The number of its frame on that line, from 0."""
        return self._place

    @property
    def span(self) -> tuple[int, int]:
        """First and last recorded step."""
        return self._line.past.first, self._line.past.newest

    def to(self, step: int) -> None:
        """Stand at a recorded step.

        Raises
        ------
        InputError
            It was not recorded; the message names its neighbours.
        """
        found = int(np.searchsorted(self._line.steps, step))
        if found == len(self._line.steps) or self._line.steps[found] != step:
            raise InputError(f"{self.what} has no step {step:,}; {self._near(step)}")
        self._place = found

    def stand(self, place: int) -> None:
        """Stand at a frame of the line by its number."""
        self._place = min(max(place, 0), len(self._line.frames) - 1)

    def switch(self, number: int) -> None:
        """Stand at the newest step of a branch."""
        self._line = self._made(number)
        self._place = len(self._line.frames) - 1

    def refresh(self) -> None:
        """Frames have been recorded since: what can be gone to is known anew; it stands where it stood."""
        self._lines.clear()
        self._line = self._made(self._line.number)

    def _near(self, step: int) -> str:
        steps, (first, newest) = self._line.steps, self.span
        if not first < step < newest:
            return f"recorded are {first:,} to {newest:,}"
        after = int(np.searchsorted(steps, step))
        return f"recorded are {steps[after - 1]:,} and {steps[after]:,}, of {len(steps):,} from {first:,} to {newest:,}"

    # ---- what it knows

    @property
    def recorded(self) -> bool:
        """It is one."""
        return True

    def lacks(self, quantity: str) -> str:
        """Why no frame has a quantity."""
        parts = {"|gradient|": ("gradient",), "update/value": ("update",)}.get(quantity, (quantity,))
        return next((NEVER[part] for part in parts if part in NEVER and part not in self.record.kept), "")

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """What has cubes."""
        return self.record.tensors

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The way from input to output."""
        return self.record.stages

    @property
    def n_inputs(self) -> int:
        """Numbers of one sample, where its way was recorded."""
        probe = self.probe
        return 0 if probe is None else len(probe)

    @property
    def facts(self) -> Facts | None:
        """What trained it."""
        return self.record.facts

    @property
    def probe(self) -> NDArray[np.float64] | None:
        """The sample (n_inputs,) whose way was recorded, at the first frame of the line; None where none was."""
        if "activations" not in self.record.kept:
            return None
        row = self.record.frame(int(self._line.frames[0])).activations.get("input")
        return None if row is None else np.asarray(row, np.float64)

    @property
    def spread(self) -> str:
        """Which steps there are, in words; empty where it is each."""
        steps = self._line.steps
        gaps = np.diff(steps)
        if not len(gaps) or (gaps == 1).all():
            return ""
        if (gaps[:-1] == gaps[0]).all() and gaps[-1] <= gaps[0]:  # the last step is kept whatever it is
            return f"recorded every {gaps[0]:,} steps"
        return f"{len(steps):,} recorded steps of {steps[-1] - steps[0] + 1:,}"

    @property
    def counted(self) -> bool:
        """There are always steps."""
        return True

    @property
    def curve(self) -> Curve:
        """Of the whole line."""
        return self._line.past.curve

    @property
    def edits(self) -> int:
        """Those on the way to where it stands."""
        here = self._line.steps[self._place]
        return sum(edit.step <= here for edit in self._line.past.edits)

    def frame(self, probe: ArrayLike | None = None, *, state: bool = False) -> Frame:
        """The frame where it stands; the sample is the recorded one."""
        step, past = int(self._line.steps[self._place]), self._line.past
        frame = self.record.frame(int(self._line.frames[self._place]))
        upto = int(np.searchsorted(past.curve.step, step, side="right"))
        curve = _part(past.curve, slice(upto))
        return replace(frame, curve=curve, past=past)

    def weight_record(self, index: int) -> WeightRecord:
        """How one weight moved along the line: at its recorded steps, of many at some."""
        places = np.unique(np.linspace(0, len(self._line.frames) - 1, POINTS).astype(int))
        values = self.record.weight(index, self._line.frames[places].tolist())
        return WeightRecord(index, self._line.steps[places], values)

    # ---- lines

    def _made(self, number: int) -> Line:
        """The line of a branch."""
        if number not in self._lines:
            self._lines[number] = self._lined(number)
        return self._lines[number]

    def _lined(self, number: int) -> Line:
        record = self.record
        ways = list(reversed(_way(record.branches, number)))
        frames = np.concatenate([np.flatnonzero((record.branch_of == b.number) & (record.steps <= upto))
                                 for b, upto in ways])  # fmt: skip
        edits = tuple(edit for b, upto in ways for edit in b.edits if edit.step <= upto)
        _, last = np.unique(record.steps[frames][::-1], return_index=True)
        frames = frames[len(frames) - 1 - last]
        steps = record.steps[frames]
        branches = tuple(replace(b, current=b.number == number) for b in record.branches)
        past = Past(int(steps[0]), int(steps[-1]), self._curve(ways, frames), edits, branches, steps=steps)
        return Line(number, frames, past)

    def _curve(self, ways: Sequence[tuple[Branch, int]], frames: NDArray[np.int64]) -> Curve:
        """All losses of a line: those that its branches know of every step, else those of its frames."""
        if all(len(branch.curve.step) for branch, _ in ways):
            parts = [_part(branch.curve, branch.curve.step <= upto) for branch, upto in ways]
            steps, losses, rates = ([part[k] for part in parts] for k in range(3))
            return Curve(np.concatenate(steps), np.concatenate(losses), np.concatenate(rates))
        known = frames[np.isfinite(self.record.loss[frames])]
        return Curve(self.record.steps[known], self.record.loss[known], self.record.lr[known])


def _part(curve: Curve, chosen: slice | NDArray[np.bool_]) -> Curve:
    return Curve(curve.step[chosen], curve.loss[chosen], curve.lr[chosen])


def _way(branches: Sequence[Branch], number: int) -> list[tuple[Branch, int]]:
    """A branch and those that it came from, each with the last step of it that is on the way."""
    known = {branch.number: branch for branch in branches}
    found: list[tuple[Branch, int]] = []
    upto = int(np.iinfo(np.int64).max)
    branch = known.get(number)
    while branch is not None and all(branch is not other for other, _ in found):
        found.append((branch, upto))
        upto = min(upto, branch.first)
        branch = None if branch.parent is None else known.get(branch.parent)
    return found
