"""`CudaTrainer`: a problem on a GPU."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays.updates import Updater
from ..host import HostTrainer
from ..problem import Problem
from .device import Device, Recorded
from .devices import open_device
from .machine import Shape
from .state import State
from .steps import Steps

SHAPE = Shape()


class CudaTrainer(HostTrainer):
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

    def __init__(self, problem: Problem, number: int = 0, device: Device | None = None) -> None:
        self.problem = problem
        self.device = open_device(number) if device is None else device
        self.state = State(problem, self.device)
        self.steps = Steps(problem, self.device, self.state, SHAPE)
        self._updater = Updater(problem)
        self._gradient: Recorded | None = None
        self._step: Recorded | None = None

    def train(self, first: int, count: int, lr: float) -> NDArray[np.float64]:
        """Do the steps ``first + 1 .. first + count``; returns their losses, float64 of shape (count,)."""
        losses = np.empty(count)
        step = self._ready()[1]
        for done in range(0, count, self.steps.samples.steps):
            steps = min(self.steps.samples.steps, count - done)
            self.steps.begin(first + done, steps, self._updater.hyper(first + done, steps, lr))
            step.run(steps)
            self.steps.read_losses(losses[done : done + steps])
        self.state.download(updated=True)
        return losses

    def gradient(self, step: int) -> float:
        """Forward and backward of the batch of step ``step + 1``; fills ``store.grad``, returns the loss."""
        gradient = self._ready()[0]
        self.steps.begin(step, 1, None)
        gradient.run()
        loss = np.empty(1)
        self.steps.read_losses(loss)
        self.state.download(updated=False)
        return float(loss[0])

    def _ready(self) -> tuple[Recorded, Recorded]:
        """Upload what may have changed; the launches of a gradient, and of a step."""
        anew = self.steps.samples.load()
        self.state.upload()
        if anew or self._gradient is None or self._step is None:
            self._gradient = self.device.record(self.steps.gradient())
            self._step = self.device.record(self.steps.step())
        return self._gradient, self._step
