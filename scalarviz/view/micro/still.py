"""A micro-step for a picture that stands still."""

from __future__ import annotations

from typing import Any

from ...errors import InputError, shown
from ...run.core.frame import Frame
from ...run.source import RunSource
from ...run.sources.played import RecordedSource
from ...run.sources.recording.recorded_step import Walked
from ..shown.subject import Subject
from .told import Told
from .walk import Walk


def told_of(subject: Subject, frame: Frame, number: Any, *, whole_batch: bool = False) -> Told:
    """Micro-step `number` of the step that follows a frame, for whose run the subject is.

    Parameters
    ----------
    subject : Subject
    frame : Frame
        Where the run stands, with the rows of the probe.
    number : int
        From 1; negative numbers count from the last.
    whole_batch : bool
        The real step; else a trial step with the sample alone whose way is drawn, where it has a target.

    Raises
    ------
    FileFormatError
        A recording has no micro-steps there.
    InputError
        The subject is no run, or there is no such micro-step.
    """
    given = number
    walk = Walk(_opened(subject, whole_batch=whole_batch), subject, frame)
    whole = isinstance(given, int) and not isinstance(given, bool) and given != 0
    at = (number if number > 0 else len(walk) + 1 + number) if whole else 0
    if not 1 <= at <= len(walk):
        raise InputError(f"inside: got {shown(given)}; this step has micro-steps 1 to {len(walk)}, or -1 for the last")
    return walk.told(at)


def _opened(subject: Subject, *, whole_batch: bool) -> Walked:
    """The coming step of a run, or the one after the frame of a recording where it stands."""
    source, target = subject.source, subject.target
    if isinstance(source, RecordedSource):
        return source.opened(alone=not whole_batch and True in source.sides())
    if not isinstance(source, RunSource):
        raise InputError(f"inside: {source.what} has no steps to be opened; give a Run, a Scene or a recording")
    alone = None if whole_batch or subject.probe is None or target is None else (subject.probe, target)
    return source.run.open(sample=alone)
