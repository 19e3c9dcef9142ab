"""`CudaTrainer`: a problem on a GPU."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from ..arrays.updates import Updater
from ..problem import Problem
from ..readback import Asked
from .between import Between
from .block.steps import make_steps
from .device import Device, Mark, Recorded
from .devices import open_device
from .machine import Shape
from .state import State

SHAPE = Shape()
GLANCE = 0.002
"""Seconds of work that are queued between two looks at whether somebody asks for numbers."""


class CudaTrainer:
    """Trains a `Problem` on a GPU. See :class:`scalarviz.engine.problem.Trainer`.

    A call begins with an upload of all that the host may have changed and ends with a download, so that between two
    calls the arrays of the problem are true. Data is uploaded when it is another array than before.

    Parameters
    ----------
    problem : Problem
    number : int
        Of the device.
    device : Device, optional
        Another one than that of the number.
    """

    name = "cuda"
    breakable = False
    threads = 0

    def __init__(self, problem: Problem, number: int = 0, device: Device | None = None) -> None:
        self.problem = problem
        self.asked: Asked | None = None
        self.device = open_device(number) if device is None else device
        self.state = State(problem, self.device)
        self.steps = make_steps(problem, self.device, self.state, SHAPE)
        self._between = Between(self.device, self.state, self.steps)
        self._updater = Updater(problem)
        self._gradient: Recorded | None = None
        self._step: Recorded | None = None
        self._together = 1

    @property
    def call_overhead(self) -> float:
        """Seconds that the copies of the last call took."""
        return self.state.seconds

    @property
    def remark(self) -> str:
        """What is not as it should be; empty if all is."""
        return self.device.remark

    def train(self, first: int, count: int, lr: float) -> NDArray[np.float64]:
        """Do the steps ``first + 1 .. first + count``; returns their losses, float64 of shape (count,)."""
        losses = np.empty(count)
        with self._whole():
            step = self._ready()[1]
            start = time.perf_counter()
            for done in range(0, count, self.steps.samples.steps):
                steps = min(self.steps.samples.steps, count - done)
                self.steps.begin(first + done, steps, self._updater.hyper(first + done, steps, lr))
                self._run(step, steps, losses[:done])
                self._between.settle()
                self.steps.read_losses(losses[done : done + steps])
            self._together = max(1, int(GLANCE * count / (time.perf_counter() - start)))
            self.state.download()
        return losses

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """A call: where it is broken off, nothing of it is left in the queue of the device when the next one begins."""
        try:
            yield
        except BaseException:
            self.device.settle()
            self._between.drop()
            raise

    def _run(self, step: Recorded, count: int, before: NDArray[np.float64]) -> None:
        """Queue steps; where somebody watches, not so many at once that nobody could look between them."""
        if self.asked is None:
            step.run(count)
            return
        ahead: deque[Mark] = deque()
        done = 0
        while done < count:
            some = min(self._together, count - done)
            step.run(some)
            done += some
            self._between.look(self.asked, before, done)
            ahead.append(self.device.mark())
            if len(ahead) > 2:
                ahead.popleft().wait()

    def gradient(self, step: int) -> float:
        """Forward and backward of the batch of step ``step + 1``; fills ``store.grad``, returns the loss."""
        loss = np.empty(1)
        with self._whole():
            gradient = self._ready()[0]
            self.steps.begin(step, 1, None)
            gradient.run()
            self.steps.read_losses(loss)
            self.state.download_gradient()
        return float(loss[0])

    def snapshot(self) -> None:
        """Keep what a step changes as the next call finds it."""
        self.state.keep()

    def rewind(self) -> None:
        """Go back to the last snapshot; StateError if there is none."""
        self.state.back()

    def finite(self) -> bool:
        """Whether no weight is a NaN or an infinity."""
        return bool(np.isfinite(self.problem.store.value).all())

    def _ready(self) -> tuple[Recorded, Recorded]:
        """Upload what may have changed; the launches of a gradient, and of a step."""
        anew = self.steps.samples.load()
        if anew or self._gradient is None or self._step is None:
            self._gradient = self.steps.recorded(self.steps.gradient())
            self._step = self.steps.recorded(self.steps.step())
        self.state.upload()
        return self._gradient, self._step
