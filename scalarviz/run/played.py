"""`Played`: a source that stands at the frames of a record, one after the other; nothing of it changes any more."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .frame import Curve, Frame
from .past import Past
from .rehearsal import Rehearsal
from .source import Can, Source

MARKS = 60
"""Frames at which the weights are looked at, to know how far they come."""
LARGEST = 4_000_000
"""Numbers that are read for that."""


class Played(Source):
    """Where a record is played from. It stands at its first frame.

    Parameters
    ----------
    what : str
        What it is called in messages.
    name : str
        Of what was recorded, for titles and files.
    """

    can = Can(go=True)

    def __init__(self, what: str, name: str) -> None:
        self.what, self.name = what, name
        self._place = 0

    # ---- what a subclass says

    @property
    @abstractmethod
    def past(self) -> Past:
        """Where it can go; its ``steps`` are those of the frames, rising. Another object once they are others."""

    @abstractmethod
    def frame_at(self, place: int) -> Frame:
        """The frame of a place, counted from 0; its past is :attr:`past`."""

    @abstractmethod
    def loss_at(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Losses of the steps of some places, NaN where there is none."""

    def switch(self, number: int) -> None:
        """Stand at the newest step of a branch."""
        raise self._cannot("go to another branch")

    @property
    def probe(self) -> NDArray[np.float64] | None:
        """The sample (n_inputs,) whose rows every frame has; None where there is none."""
        return None

    def settle(self) -> NDArray[np.int64]:
        """Follow the network of the last frame; returns the places of the frames that are of it, rising."""
        return np.arange(len(self.steps))

    # ---- where it stands

    @property
    def steps(self) -> NDArray[np.int64]:
        """Of its frames, rising."""
        assert self.past.steps is not None  # see `past`
        return self.past.steps

    @property
    def place(self) -> int:
        """The number of the frame that is shown, from 0."""
        return self._place

    def stand(self, place: int) -> None:
        """Show a frame by its number, the nearest there is."""
        self._place = min(max(place, 0), len(self.steps) - 1)

    @property
    def span(self) -> tuple[int, int]:
        """First and last recorded step."""
        return int(self.steps[0]), int(self.steps[-1])

    def to(self, step: int) -> None:
        """Stand at a recorded step.

        Raises
        ------
        InputError
            It was not recorded; the message names its neighbours.
        """
        found = int(np.searchsorted(self.steps, step))
        if found == len(self.steps) or self.steps[found] != step:
            raise InputError(f"{self.what} has no step {step:,}; {self._near(step)}")
        self._place = found

    def _near(self, step: int) -> str:
        steps, (first, newest) = self.steps, self.span
        if not first < step < newest:
            return f"recorded are {first:,} to {newest:,}"
        after = int(np.searchsorted(steps, step))
        return f"recorded are {steps[after - 1]:,} and {steps[after]:,}, of {len(steps):,} from {first:,} to {newest:,}"

    # ---- what is known of it

    @property
    def recorded(self) -> bool:
        """It is a record."""
        return True

    @property
    def counted(self) -> bool:
        """There are always steps."""
        return True

    @property
    def curve(self) -> Curve:
        """Of all steps."""
        return self.past.curve

    @property
    def edits(self) -> int:
        """Those on the way to where it stands."""
        here = self.steps[self._place]
        return sum(edit.step <= here for edit in self.past.edits)

    @property
    def spread(self) -> str:
        """Which steps there are, in words; empty where it is each."""
        gaps = np.diff(self.steps)
        if not len(gaps) or (gaps == 1).all():
            return ""
        if (gaps[:-1] == gaps[0]).all() and gaps[-1] <= gaps[0]:  # the last step is kept whatever it is
            return f"recorded every {gaps[0]:,} steps"
        return f"{len(self.steps):,} recorded steps of {self.steps[-1] - self.steps[0] + 1:,}"

    def seen(self, last: int | None = None) -> Rehearsal | None:
        """What there is to see from each frame to the next, up to a place; None where a loss is missing."""
        count = len(self.steps) - 1 if last is None else last
        loss = self.loss_at(np.arange(1, count + 1))
        if not count or not np.isfinite(loss).all():
            return None
        size = max(sum(tensor.size for tensor in self.tensors), 1)
        marks = np.unique(np.rint(np.linspace(0, count, max(2, min(MARKS, LARGEST // size)))).astype(np.int64))
        way, before = [0.0], self.frame_at(0).values.astype(np.float64)
        for mark in marks[1:]:
            now = self.frame_at(int(mark)).values.astype(np.float64)
            moved = float(np.linalg.norm(now - before)) if now.shape == before.shape else 0.0
            way.append(way[-1] + moved / (float(np.linalg.norm(now)) or 1.0))
            before = now
        facts = self.facts
        return Rehearsal(loss, marks, np.array(way), facts is None or facts.whole)
