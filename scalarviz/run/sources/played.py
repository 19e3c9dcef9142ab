"""`Played`: a source that shows recorded frames, one after another: a recording, or a rehearsed run."""

from __future__ import annotations

import itertools
import math
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import DeviceError, DivergedError, InputError
from ...scalar.store import Store
from ..core.frame import Frame, Past
from ..core.history import LIMIT, Curve
from ..core.tensors import Stage, Tensor
from ..engines import ready, trainer_of
from ..frames import PendingCall
from ..opened.opened import Opened
from ..questions.ranges import whole_extent
from ..run import Run
from ..source import Abilities, Facts, Source
from ..travel import POINTS, WeightRecord
from .recording.recorded import Recorded
from .recording.steps import open_step

SECONDS = 5.0
"""Longest time of a rehearsal; a run that needs more is not rehearsed."""
REHEARSED = 200
"""Number of steps at which the weights are compared."""
_SURE = 0.1  # share of the time after which the rest is estimated
_TOO_LONG = 1.5  # times the time: it may become quicker


@dataclass(frozen=True, slots=True, eq=False)
class Rehearsal:
    """The course of the next N steps."""

    loss: NDArray[np.float64]  # of each step (N,)
    marks: NDArray[np.int64]  # counts of steps, rising from 0 to N, at which the weights were compared
    # how far the weights have come at each mark, in shares of their size, all moves added up
    distances: NDArray[np.float64]
    all_samples: bool = True  # whether each loss is that of all samples
    extent: float = 0.0  # end of a range of colours that shows the weights of all marks; 0: unknown


def rehearse(
    run: Run, steps: int, seconds: float = SECONDS, *, speed: float = math.inf, stopped: Callable[[], bool] = bool
) -> Rehearsal | None:
    """Do the next `steps` steps of a run on copies of its numbers; the run itself does not change, bit for bit.

    Return None if `seconds` are too short (an engine does at most `speed` steps a second), `stopped` returns True, it
    diverges, a history keeps fewer steps, or a GPU has no memory for copies. The NumPy engine replaces objects, which
    have no copy of their numbers, and kernels that are not compiled yet.
    """
    name = run.engine.name
    slow = name == "objects" or not ready(run)
    if not 1 <= steps <= LIMIT or (not slow and steps > _TOO_LONG * seconds * speed):
        return None
    try:
        twin = run._training.twin(partial(trainer_of, run, "numpy" if slow else name))
    except DeviceError:  # no memory for a second one, or an error that the run itself will report
        return None
    # evenly spaced, with more at the start
    even, early = np.linspace(0, steps, REHEARSED // 2), np.geomspace(1, steps, REHEARSED // 2)
    marks = np.unique(np.rint(np.concatenate([even, early, [steps]])).astype(np.int64))
    twin.call_seconds = min(twin.call_seconds, seconds / 10)
    values, first, start = twin.problem.store.value, twin.steps, time.perf_counter()
    before, way, reach = values.copy(), [0.0], whole_extent(values)
    try:
        for mark in marks[1:]:
            while twin.steps < first + mark:
                twin.advance(int(first + mark) - twin.steps)
                spent = time.perf_counter() - start
                expected = spent / (twin.steps - first) * steps
                if stopped() or spent > seconds or (spent > _SURE * seconds and expected > _TOO_LONG * seconds):
                    return None
            way.append(way[-1] + _share(before, values))
            before, reach = values.copy(), max(reach, whole_extent(values))
    except (DivergedError, DeviceError):
        return None
    return Rehearsal(np.array(twin.history.loss[-steps:]), marks, np.array(way), run._problem.full_batch, reach)


def _share(before: NDArray[np.floating], after: NDArray[np.floating]) -> float:
    """Return how far weights have moved, relative to their size; 0 if the network differs."""
    if before.shape != after.shape:
        return 0.0
    now = after.astype(np.float64)
    return float(np.linalg.norm(now - before)) / (float(np.linalg.norm(now)) or 1.0)


# ---- `Played`: a source that shows the frames of a record, which does not change


MARKS = 60
"""Most frames at which the weights are compared."""
LARGEST = 4_000_000
"""Most numbers that are read for that."""


class Played(Source):
    """Base: shows the first frame of a record; `what` is its name in messages, `name` in titles and files."""

    can = Abilities(go=True)

    def __init__(self, what: str, name: str) -> None:
        self.what, self.name = what, name
        self.place = 0  # index of the shown frame

    # ---- interface of a subclass

    past: Past
    """The past of the record; its ``steps`` are those of the frames, rising. A change makes a new object."""

    def frame(self, probe: ArrayLike | None = None, *, state: bool = False) -> Frame:
        return self.frame_at(self.place)

    @abstractmethod
    def frame_at(self, place: int) -> Frame:
        """Return the frame at an index, counted from 0; its past is :attr:`past`."""

    @abstractmethod
    def loss_at(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return losses of the steps at some indices; NaN if unknown."""

    def switch(self, number: int) -> None:
        """Go to the newest step of a branch."""
        raise self._cannot("go to another branch")

    @property
    def probe(self) -> NDArray[np.float64] | None:
        """The sample (n_inputs,) whose rows every frame has; None without one."""
        return None

    def follow_last_network(self) -> NDArray[np.int64]:
        """Follow the network of the last frame; return the indices of its frames, rising."""
        return np.arange(len(self.steps))

    # ---- current frame

    @property
    def steps(self) -> NDArray[np.int64]:
        """Steps of its frames, rising."""
        assert self.past.steps is not None  # see `past`
        return self.past.steps

    def show_frame(self, place: int) -> None:
        """Show the frame with the nearest index."""
        self.place = min(max(place, 0), len(self.steps) - 1)

    @property
    def span(self) -> tuple[int, int]:
        return int(self.steps[0]), int(self.steps[-1])

    def to(self, step: int) -> None:
        """Go to a recorded step; the InputError for any other names its neighbours."""
        found = int(np.searchsorted(self.steps, step))
        if found == len(self.steps) or self.steps[found] != step:
            raise InputError(f"{self.what} has no step {step:,}; {self._near(step)}")
        self.place = found

    def _near(self, step: int) -> str:
        steps, (first, newest) = self.steps, self.span
        if not first < step < newest:
            return f"it has steps {first:,} to {newest:,}"
        after = int(np.searchsorted(steps, step))
        return f"the nearest are {steps[after - 1]:,} and {steps[after]:,} (recorded: {first:,} to {newest:,})"

    # ---- facts

    recorded, counted = True, True

    @property
    def curve(self) -> Curve:
        return self.past.curve

    @property
    def edits(self) -> int:
        here = self.steps[self.place]
        return sum(edit.step <= here for edit in self.past.edits)

    @property
    def spread(self) -> str:
        """Words about the recorded steps; empty if every step is recorded."""
        gaps = np.diff(self.steps)
        if not len(gaps) or (gaps == 1).all():
            return ""
        if (gaps[:-1] == gaps[0]).all() and gaps[-1] <= gaps[0]:  # the last step is kept whatever it is
            return f"recorded every {gaps[0]:,} steps"
        return f"{len(self.steps):,} recorded steps of {self.steps[-1] - self.steps[0] + 1:,}"

    def recorded_rehearsal(self, last: int | None = None) -> Rehearsal | None:
        """Return the course from frame to frame, up to the index `last`; None if a loss is missing."""
        count = len(self.steps) - 1 if last is None else last
        loss = self.loss_at(np.arange(1, count + 1))
        if not count or not np.isfinite(loss).all():
            return None
        size = max(sum(tensor.size for tensor in self.tensors), 1)
        marks = np.unique(np.rint(np.linspace(0, count, max(2, min(MARKS, LARGEST // size)))).astype(np.int64))
        every = (self.frame_at(int(mark)).values for mark in marks)
        way = np.cumsum([0.0, *itertools.starmap(_share, itertools.pairwise(every))])
        return Rehearsal(loss, marks, way, self.facts is None or self.facts.whole)


# ---- `RecordedSource`: a recording as a :class:`Source`: it goes to recorded steps, and neither trains nor predicts


NEVER = {
    "gradient": ("gradients", "gradients were not recorded; record with gradients=True"),
    "update": ("updates", "updates were not recorded; record with updates=True"),
}
"""The part of a file that a quantity needs, and the message without it."""
_NEEDS = {"|gradient|": "gradient", "update/value": "update"}


class RecordedSource(Played):
    """A recording, at its first frame, on the branch of `record`; the caller that opened `record` closes it."""

    twin: Source | None = None  # the live source whose weights have the looks that cubes shall have

    def __init__(self, record: Recorded, what: str = "the recording") -> None:
        super().__init__(what, record.path.stem)
        self._given, self._opened = record, {record.branch: record}
        self._take(record)

    def _take(self, record: Recorded) -> None:
        self.record = record
        past, steps = record.past, record.steps
        self.past = replace(past, first=int(steps[0]), newest=int(steps[-1]), steps=steps)
        self._shapes = record.shapes(0)
        self.can = replace(self.can, open=not record.why_closed)

    def place_of(self, store: Store, index: int) -> int | None:
        return None if self.twin is None else self.twin.place_of(store, index)

    def grow(self, record: Recorded, *, along: bool = True) -> str:
        """Continue with newer data of the same file, which this object closes; return a note for the user, or "".

        At the end it goes `along` with the run, also to another branch; otherwise it stays at its step, or the last
        before it.
        """
        along, step = along and self.place == len(self.steps) - 1, int(self.steps[self.place])
        another = along and self.record.branch == self.record.current != record.current
        branch = record.current if another else self.record.branch
        former, self._opened = self._opened, {record.branch: record}
        if branch != record.branch:
            self._opened[branch] = record.on(branch)
        self._take(self._opened[branch])
        self.place = len(self.steps) - 1 if along else self.record.at(step)
        self._shapes = self.record.shapes(self.place)
        self._close(former)
        return f"the run changed to another branch, at step {self.steps[-1]:,}" if another else ""

    def close(self) -> None:
        """Close the recordings that were opened here."""
        self._close(self._opened)

    def _close(self, records: Mapping[int, Recorded]) -> None:
        for record in records.values():
            if record is not self._given:
                record.close()

    # ---- current frame

    def switch(self, number: int) -> None:
        if number not in self._opened:
            self._opened[number] = self.record.on(number)
        self._take(self._opened[number])
        self.place = len(self.steps) - 1

    def frame_at(self, place: int) -> Frame:
        return replace(self.record.frame(place), past=self.past)

    def loss_at(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(self.record.loss[places])

    # ---- facts

    def lacks(self, quantity: str) -> str:
        if quantity == "micro":
            why = self.record.why_closed
            return f"its steps cannot be opened: {why}" if why else ""
        part, reason = NEVER.get(_NEEDS.get(quantity, quantity), ("", ""))
        return "" if part in self.record.has else reason

    def ask(self, function: Callable[[Any], Any]) -> PendingCall:
        """Call `function` at once with this source, which opens the step after its frame as a run its coming one."""
        asked = PendingCall(partial(function, self))
        asked.run()
        return asked

    def open(self, sample: tuple[ArrayLike, ArrayLike] | None = None) -> Opened:
        """Return the step after its frame, with a sample alone or its own batch; FileFormatError if it cannot."""
        return open_step(self.record, int(self.steps[self.place]) + 1, sample)

    def follow(self, frame: Frame) -> None:
        """Take tensors and stages from a frame's network: a run may have changed it."""
        self._shapes = self.record.shapes(self.record.at(frame.step))

    def follow_last_network(self) -> NDArray[np.int64]:
        return self._settled(len(self.record) - 1)

    def _settled(self, place: int) -> NDArray[np.int64]:
        """Follow the network of a frame; return the indices of all its frames."""
        self._shapes, networks = self.record.shapes(place), self.record.networks
        return np.flatnonzero(networks == networks[place])

    def follow_network_of(self, tensors: tuple[Tensor, ...]) -> NDArray[np.int64]:
        """Follow the last network with these tensors; return the indices of its frames, empty if there are none."""
        networks = self.record.networks
        for place in sorted((int(np.flatnonzero(networks == one)[-1]) for one in np.unique(networks)), reverse=True):
            if self.record.shapes(place).tensors == tensors:
                return self._settled(place)
        return np.zeros(0, np.int64)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return self._shapes.tensors

    @property
    def stages(self) -> tuple[Stage, ...]:
        return self._shapes.stages

    @property
    def probe(self) -> NDArray[np.float64] | None:
        return self.record.probe if "activations" in self.record.has else None

    @property
    def n_inputs(self) -> int:
        probe = self.record.probe  # known also if its rows were not recorded
        return 0 if probe is None else len(probe)

    @property
    def facts(self) -> Facts | None:
        about, batch = self.record.about, int(self.record.entry(self.place, "batch"))
        if not about.optimizer:
            return None
        whole = about.whole if batch == about.batch_size else batch >= about.samples
        return Facts(about.optimizer, batch, about.samples, about.reduction, about.engine, whole)

    @property
    def couples(self) -> bool:
        return self.record.about.couples

    def last_sign_change(self, index: int) -> int | None:
        """Return the last recorded step up to here at which a weight's sign changed; None if it never did."""
        now = np.sign(self._value(self.place, index))
        for place in range(self.place - 1, -1, -1):
            if np.sign(self._value(place, index)) != now:
                return int(self.steps[place + 1])
        return None

    def _value(self, place: int, index: int) -> float:
        """Return one weight at one frame; NaN if the network differed."""
        if self.record.shapes(place) is not self._shapes:
            return float("nan")
        (bytes_,) = self.record.row(place, f"substr(value, {4 * index + 1}, 4)")
        return float(np.frombuffer(bytes_, "<f4")[0])

    def weight_record(self, index: int) -> WeightRecord:
        """Return how one weight moved along the branch, at up to `POINTS` frames."""
        places = np.unique(np.linspace(0, len(self.steps) - 1, POINTS).astype(int))
        places = places[[self.record.shapes(int(k)) is self._shapes for k in places]]
        return WeightRecord(index, self.steps[places], np.array([self._value(int(k), index) for k in places]))
