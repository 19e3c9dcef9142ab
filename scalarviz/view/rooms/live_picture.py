"""`LivePicture`: a scene that trains in a small picture, drawn where nobody sees it and handed over as pixels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...errors import StateError
from ...run.sources.played import Rehearsal, rehearse
from ...run.worker import Worker
from ..draw.theme import Theme
from ..shown.subject import scene_subject
from ..watch.live_source import LiveSource
from ..watch.pace import pace
from ..window.offscreen import offscreen
from ..workbench import Workbench
from .door import Opened

LAID_OUT = (960, 540)
"""Pixels of the picture before it is made small: in fewer there would be no panels."""
SECONDS, FPS = 10.0, 12
"""How long the run takes there, and pictures a second of it."""
REHEARSAL_SECONDS = 0.3


def rehearsed(opened: Opened) -> tuple[Opened, Rehearsal | None]:
    """A scene with what will happen in it, to be made in a thread."""
    return opened, rehearse(opened.scene.run, opened.steps, REHEARSAL_SECONDS)


class LivePicture:
    """A scene in a small picture; it stands at its last step.

    Parameters
    ----------
    opened : Opened
    rehearsal : Rehearsal, optional
        What its steps will do.
    theme : Theme

    Attributes
    ----------
    pixels : ndarray of uint8, shape (H, W, 3), or None
        What it shows now; None before the first.
    step : int
        Which step that is.
    """

    def __init__(self, opened: Opened, rehearsal: Rehearsal | None, theme: Theme) -> None:
        scene = opened.scene
        self.pixels: NDArray[np.uint8] | None = None
        self._first = self.step = scene.run.steps
        self._stops = pace(opened.steps, SECONDS, FPS, rehearsal)
        self._engine = str(scene.run.engine)
        self._number, self._late = 0, 0.0
        self.worker = Worker(scene.run).start()
        self._asked = self.worker.request()
        source = LiveSource(scene.run, lambda edit, gesture: None, lambda step: None, self.worker.ask)
        with offscreen():
            self._bench = Workbench(scene_subject(scene, source), LAID_OUT, theme)

    @property
    def trains(self) -> bool:
        """Whether it has not come to its last step."""
        return self._number < len(self._stops)

    def pass_time(self, seconds: float) -> bool:
        """`seconds` have passed; returns whether there are other pixels."""
        self._late += min(seconds, 0.25)  # a picture that takes a while to draw leaps over nothing
        if self._late < 1 / FPS or not self.trains or not self._asked.done:
            return False
        self._late = 0.0
        last = self._number == len(self._stops) - 1
        if last and self.worker.latest.step < self._first + int(self._stops[-1]) and self.worker.moving:
            self._asked = self.worker.request()
            return False
        self._draw()
        self._number += 1
        if not last:
            self.worker.train_to(self._first + int(self._stops[self._number]))
            self._asked = self.worker.request()
        return True

    def _draw(self) -> None:
        bench, frame = self._bench, self.worker.latest
        probe = bench.subject.probe
        if probe is not None and frame.forward is not None:
            frame = frame.with_activations(frame.forward.activations(probe, frame.values))
        with offscreen():
            bench.update(frame, self._engine, 1 / FPS)
        self.pixels, self.step = offscreen().render(bench.draw, LAID_OUT), frame.step

    def close(self) -> str:
        """Stop training; returns what is to be said of that, usually nothing."""
        try:
            self.worker.close()
        except StateError as busy:  # in a long call of the engine
            return str(busy)
        return ""
