"""`Probed`: the sample whose way is drawn stays one of the points that are shown, whatever is learnt from by now."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame
from ...run.panels import CurveFit, PlaneMap
from ...run.source import Moment
from .subject import Subject

Float = NDArray[np.floating]
NEAR = 1e-6
"""Of its size: how far a sample may be from itself, which was rounded to float32 on its way."""


def number_of(samples: Float, probe: Float) -> int | None:
    """Which of `samples` (N, n) the `probe` (n,) is; None where it is none of them."""
    if samples.shape[1:] != probe.shape or not len(samples):
        return None
    away = np.abs(samples - probe).max(axis=1)
    index = int(np.argmin(away))
    return index if away[index] <= NEAR * (1 + np.abs(probe).max()) else None


class Probed:
    """Chooses the sample whose way is drawn where other data are learnt from: after an edit, an undo, on a branch.

    It is the one that was chosen last, by a hand or at the beginning, wherever that is among the points; else the
    first sample that is learnt from. Samples that a scene gave stay, and so do those of pictures without points.

    Parameters
    ----------
    subject : Subject
    """

    def __init__(self, subject: Subject) -> None:
        self._follows = subject.of_data and any(isinstance(p, PlaneMap | CurveFit) for p in subject.panels)
        self._chosen = self._seen = _copied(subject)
        self._data: object = None

    def follow(self, subject: Subject, frame: Frame) -> bool:
        """Choose for a frame; returns whether it is another sample, or has another target, than before."""
        data, self._data = self._data, frame.data
        if frame.data is None or frame.data is data or not self._follows or subject.target is None:
            return False
        if not _same(self._seen, now := _copied(subject)):  # a hand has chosen another one since
            self._chosen = now
        found = self._found(subject, frame)
        if found is None or _same(found, now):
            self._seen = now
            return False
        subject.choose(*found)
        self._seen = _copied(subject)
        return True

    def _found(self, subject: Subject, frame: Frame) -> tuple[Float, Float] | None:
        """The sample with its target; None where there is none that fits."""
        probe, target = self._chosen
        for inputs, targets in _points(subject, frame):
            if inputs.shape[1:] != probe.shape or targets.shape[1:] != target.shape:
                continue
            index = number_of(np.hstack([inputs, targets]), np.hstack([probe, target]))
            if index is None:
                index = number_of(inputs, probe)  # the same place, wanted is something else there
            if index is not None:
                return np.asarray(inputs[index], np.float64), np.asarray(targets[index], np.float64)
        learnt = frame.samples()
        if learnt is None or not len(learnt[0]):
            return None
        first, wanted = (np.asarray(part[0], np.float64) for part in learnt)
        return (first, wanted) if (first.shape, wanted.shape) == (probe.shape, target.shape) else None


def _points(subject: Subject, frame: Frame) -> Iterator[tuple[Float, Float]]:
    """Samples and targets that are learnt from, and those that a panel draws: points that are held back too."""
    learnt = frame.samples()
    if learnt is not None:
        yield learnt
    moment = Moment(frame, subject.source)
    for panel in subject.panels:
        now = panel if panel.at is None else panel.at(moment)
        if not isinstance(now, PlaneMap | CurveFit) or now.points is None:
            continue
        try:
            points = now.points(moment)
            places = np.asarray(points.x, np.float64)
            samples = now.inputs(places if isinstance(now, PlaneMap) else places[:, 0])
        except Exception:  # the scene's own function: its panel says so in its place
            continue
        yield np.asarray(samples, np.float64), np.asarray(points.target, np.float64)[:, None]


def _copied(subject: Subject) -> tuple[Float, Float]:
    probe, target = subject.probe, subject.sample.target
    return tuple(np.zeros(0) if part is None else part.copy() for part in (probe, target))  # type: ignore[return-value]


def _same(one: tuple[Float, Float], other: tuple[Float, Float]) -> bool:
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, other, strict=True))
