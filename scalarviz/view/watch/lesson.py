"""`Lesson`: what a hand has taught to a run that stood still, and when that is learnt: training stops then."""

from __future__ import annotations

import numpy as np

from ...run.core.frame import Frame
from ...run.edits import AddSamples, Edit
from ..shown.subject import Subject

LEAST, MOST = 30, 500
"""Steps: so many at least, or nothing would be seen, and so many at most."""


class Lesson:
    """One edit of what is learnt, and the steps after it.

    Parameters
    ----------
    edit : Edit
    subject : Subject
        Who is asked how a sample is read.
    start : int
        The step at which it was taught.

    Attributes
    ----------
    last : int
        The step after which it ends at the latest.
    """

    def __init__(self, edit: Edit, subject: Subject, start: int) -> None:
        self._subject, self._start = subject, start
        self.last = start + MOST
        self._classes = _classes(edit, subject)
        self._samples = edit.inputs if isinstance(edit, AddSamples) else None

    def begins(self) -> str:
        """What is said when it begins."""
        name = self._name
        if name:
            return f"learning it as {name}: until it is read so, {MOST:,} steps at most"
        return f"learning that: {MOST:,} steps"

    def over(self, frame: Frame) -> str:
        """What is said when it has ended at a frame; empty while it goes on."""
        done = frame.step - self._start
        if done >= LEAST and self._name and self._read(frame):
            return f"read as {self._name} after {done:,} steps"
        if frame.step < self.last:
            return ""
        return f"not yet read as {self._name} after {done:,} steps; Space goes on" if self._name else (
            f"{done:,} steps later; Space goes on"
        )  # fmt: skip

    @property
    def _name(self) -> str:
        """What the samples should be read as; empty where no class was taught."""
        names = self._subject.sample.outputs
        return ", ".join(dict.fromkeys(names[k] for k in self._classes))

    def _read(self, frame: Frame) -> bool:
        assert self._samples is not None  # who taught classes gave samples
        found = self._subject.source.predict(self._samples, frame.values)
        return bool(np.array_equal(np.argmax(found, axis=1), self._classes))


def _classes(edit: Edit, subject: Subject) -> list[int]:
    """The classes of samples that were taught; none where the targets are no classes."""
    if not isinstance(edit, AddSamples) or subject.sample.target is None:
        return []
    targets = np.asarray(edit.targets, float).reshape(len(edit.targets), -1)
    count = len(subject.sample.outputs)
    if targets.shape[1] != 1 or count < 2 or not np.isin(targets, np.arange(count)).all():
        return []
    return [int(k) for k in targets[:, 0]]
