"""`RecordedSource`: a recording as a :class:`Source`: it stands at recorded steps, and nothing trains or predicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .frame import Frame, Stage, Tensor
from .past import Past
from .played import Played
from .recording import Recorded, RecordedStep
from .source import Facts
from .weight_record import POINTS, WeightRecord

NEVER = {
    "gradient": ("gradients", "no gradients were recorded (gradients=True keeps them)"),
    "update": ("updates", "no updates were recorded (updates=True keeps them)"),
    "micro": ("micro", "no micro-steps were recorded (micro=True keeps them)"),
}
"""What the file has to hold for a quantity, and why there is none where it does not."""
_NEEDS = {"|gradient|": "gradient", "update/value": "update"}


class RecordedSource(Played):
    """A recording, standing at its first frame.

    Parameters
    ----------
    record : Recorded
        Of the branch that is shown first; whoever opened it closes it.
    what : str
        What it is called in messages.
    """

    def __init__(self, record: Recorded, what: str = "the recording") -> None:
        super().__init__(what, record.path.stem)
        self._given, self._opened = record, {record.branch: record}
        self._take(record)

    def _take(self, record: Recorded) -> None:
        """Stand on the branch of a record."""
        self.record = record
        past, steps = record.past, record.steps
        self._past = replace(past, first=int(steps[0]), newest=int(steps[-1]), steps=steps)
        self._shapes = record.shapes(0)

    def grow(self, record: Recorded, *, along: bool = True) -> str:
        """Go on with a newer moment of the same file, which is closed with this; returns what is to be said of that.

        Where it stood at the end it goes `along` with the run, to another branch too; else it stays at its step, or at
        the last one before it that is still there.
        """
        along, step = along and self.at_end, int(self.steps[self._place])
        another = along and self.record.branch == self.record.current != record.current
        branch = record.current if another else self.record.branch
        former, self._opened = self._opened, {record.branch: record}
        if branch != record.branch:
            self._opened[branch] = record.on(branch)
        self._take(self._opened[branch])
        self._place = len(self.steps) - 1 if along else self.record.at(step)
        self._shapes = self.record.shapes(self._place)
        self._close(former)
        return f"the run went to another branch, at step {self.steps[-1]:,}" if another else ""

    @property
    def at_end(self) -> bool:
        """Whether it stands at the last frame."""
        return self._place == len(self.steps) - 1

    def close(self) -> None:
        """Let go of what was opened here."""
        self._close(self._opened)

    def _close(self, records: Mapping[int, Recorded]) -> None:
        for record in records.values():
            if record is not self._given:
                record.close()

    # ---- where it stands

    @property
    def past(self) -> Past:
        """Of the branch that is shown."""
        return self._past

    def switch(self, number: int) -> None:
        """Stand at the newest step of a branch."""
        if number not in self._opened:
            self._opened[number] = self.record.on(number)
        self._take(self._opened[number])
        self._place = len(self.steps) - 1

    def frame(self, probe: ArrayLike | None = None, *, state: bool = False) -> Frame:
        """The frame where it stands; the sample is the recorded one."""
        return self.frame_at(self._place)

    def frame_at(self, place: int) -> Frame:
        """The frame of a place."""
        return replace(self.record.frame(place), past=self._past)

    def loss_at(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Losses of the steps of some places."""
        return np.asarray(self.record.loss[places])

    # ---- what it knows

    def lacks(self, quantity: str) -> str:
        """Why no frame has a quantity, or the micro-steps of the step after it."""
        part, reason = NEVER.get(_NEEDS.get(quantity, quantity), ("", ""))
        return "" if part in self.record.has or (part == "micro" and self.record.walks) else reason

    def sides(self) -> frozenset[bool]:
        """Of which steps after the frame where it stands there are micro-steps: the sample's alone (True), its own."""
        return self.record.sides(self._place)

    def opened(self, *, alone: bool) -> RecordedStep:
        """The step after the frame where it stands: with the sample alone, or with its own batch.

        Raises
        ------
        FileFormatError
            It was not recorded, or cannot be read.
        """
        return self.record.opened(self._place, alone=alone)

    def follow(self, frame: Frame) -> None:
        """Tensors and stages are those of a frame: a run may have changed its network."""
        self._shapes = self.record.shapes(self.record.at(frame.step))

    def settle(self) -> NDArray[np.int64]:
        """See :meth:`Played.settle`."""
        return self._settled(len(self.record) - 1)

    def _settled(self, place: int) -> NDArray[np.int64]:
        """Follow the network of a frame; returns the places of all that are of it."""
        self._shapes = self.record.shapes(place)
        networks = np.asarray(self.record.entry(slice(None), "network"))
        return np.flatnonzero(networks == networks[place])

    def settle_on(self, tensors: tuple[Tensor, ...]) -> NDArray[np.int64]:
        """The same for the last network that has these tensors; nothing where none has."""
        networks = np.asarray(self.record.entry(slice(None), "network"))
        for place in sorted((int(np.flatnonzero(networks == one)[-1]) for one in np.unique(networks)), reverse=True):
            if self.record.shapes(place).tensors == tensors:
                return self._settled(place)
        return np.zeros(0, np.int64)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """What has cubes in the frame that is followed."""
        return self._shapes.tensors

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The way from input to output there."""
        return self._shapes.stages

    @property
    def probe(self) -> NDArray[np.float64] | None:
        """The sample (n_inputs,) whose way was recorded; None where none was."""
        return self.record.probe if "activations" in self.record.has else None

    @property
    def n_inputs(self) -> int:
        """Numbers of one sample, where its way was recorded."""
        probe = self.probe
        return 0 if probe is None else len(probe)

    @property
    def facts(self) -> Facts | None:
        """What trained it, with the batch of where it stands."""
        about, batch = self.record.about, int(self.record.entry(self._place, "batch"))
        if not about.optimizer:
            return None
        whole = about.whole if batch == about.batch_size else batch >= about.samples
        return Facts(about.optimizer, batch, about.samples, about.reduction, about.engine, whole)

    @property
    def couples(self) -> bool:
        """Whether the training normalises by the batch."""
        return self.record.about.couples

    def last_sign_change(self, index: int) -> int | None:
        """The last recorded step up to here after which a weight has another sign than before; None: it never had."""
        now = np.sign(self._value(self._place, index))
        for place in range(self._place - 1, -1, -1):
            if np.sign(self._value(place, index)) != now:
                return int(self.steps[place + 1])
        return None

    def _value(self, place: int, index: int) -> float:
        """One weight at one frame; NaN where the network was another one."""
        if self.record.shapes(place) is not self._shapes:
            return float("nan")
        (bytes_,) = self.record.row(place, f"substr(value, {4 * index + 1}, 4)")
        return float(np.frombuffer(bytes_, "<f4")[0])

    def weight_record(self, index: int) -> WeightRecord:
        """How one weight moved along the branch: at its frames, of many at some."""
        places = np.unique(np.linspace(0, len(self.steps) - 1, POINTS).astype(int))
        places = places[[self.record.shapes(int(k)) is self._shapes for k in places]]
        return WeightRecord(index, self.steps[places], np.array([self._value(int(k), index) for k in places]))
