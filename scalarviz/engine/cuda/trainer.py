"""`CudaTrainer`: trains a problem on a GPU, or in the simulator."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..arrays.trainer import Updater
from ..problem import NextReadback, Problem, Rates, rates_of
from .device import Device, Mark
from .machine import Shape
from .work import Work, fit_problem


def open_device(number: int) -> Device:
    """Return the device with this number: numba's simulator if it is switched on, otherwise a GPU."""
    from .jit import SIMULATED

    if SIMULATED:
        from .simulator import SimulatedDevice

        return SimulatedDevice(number)
    from .driver import DriverDevice

    return DriverDevice(number)


SHAPE = Shape()
GLANCE = 0.002
"""Seconds of work queued between two checks for requests."""


class CudaTrainer:
    """Trains a `Problem` on a GPU. See :class:`scalarviz.engine.problem.Trainer`.

    A call begins with an upload of everything that the host may have changed, and ends with a download. So
    the arrays of the problem are up to date between two calls. Data is uploaded if it is another array than
    before.
    """

    name = "cuda"
    breakable = False
    threads = 0

    def __init__(self, problem: Problem, number: int = 0, device: Device | None = None) -> None:
        self.problem = problem
        self.next_readback: NextReadback | None = None
        self._open = partial(open_device, number) if device is None else lambda: device
        self._updater = Updater(problem)
        self._work: Work | None = None
        self._open_work()

    @property
    def ready(self) -> bool:
        """True if its kernels are loaded and its memory is allocated."""
        return self._work is not None

    def prepare(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """Allocate the device's memory again, if it was released."""
        self._open_work()

    def _open_work(self) -> Work:
        if self._work is None:
            self._work = fit_problem(self.problem, SHAPE, self._open)
        return self._work

    def release(self) -> None:
        """Free the device's memory; the next call allocates it again."""
        self._work = None

    @property
    def call_overhead(self) -> float:
        """The seconds of the last call's copies."""
        return 0.0 if self._work is None else self._work.state.seconds

    @property
    def remark(self) -> str:
        """One clause about a limitation, or an empty text."""
        return "" if self._work is None else self._work.remark

    def train(self, first: int, count: int, lr: Rates) -> NDArray[np.float64]:
        """Do the steps ``first + 1 .. first + count``; return their losses, float64 of shape (count,)."""
        losses, work = np.empty(count), self._open_work()
        with _settle_on_error(work):
            work.upload()
            start, most = time.perf_counter(), work.steps.samples.steps
            for done in range(0, count, most):
                steps = min(most, count - done)
                table = self._updater.hyper(first + done, steps, rates_of(lr, done, steps))
                work.steps.begin(first + done, steps, table)
                self._run(work, steps, losses[:done])
                work.reader.settle()
                work.steps.read_losses(losses[done : done + steps])
            work.steps_per_check = max(1, int(GLANCE * count / (time.perf_counter() - start)))
            work.state.download()
        return losses

    def _run(self, work: Work, count: int, before: NDArray[np.float64]) -> None:
        """Queue steps; with a viewer only few at once, so that it can read numbers in between."""
        asked = self.next_readback  # another thread may end the watching
        if asked is None:
            work.step.run(count)
            return
        ahead: deque[Mark] = deque()
        done = 0
        while done < count:
            some = min(work.steps_per_check, count - done)
            work.step.run(some)
            done += some
            work.reader.check_requests(asked, before, done)
            ahead.append(work.device.mark())
            if len(ahead) > 2:
                ahead.popleft().wait()

    def gradient(self, step: int) -> float:
        """Run forward and backward for the batch of step ``step + 1``; fill ``store.grad``, return the loss."""
        loss, work = np.empty(1), self._open_work()
        with _settle_on_error(work):
            work.upload()
            work.steps.begin(step, 1, None)
            work.gradient.run()
            work.steps.read_losses(loss)
            work.state.download_gradient()
        return float(loss[0])

    def snapshot(self) -> None:
        """Keep all numbers that a step changes, as they are at the start of the next call."""
        self._open_work().state.keep_upload()

    def rewind(self) -> None:
        """Return to the last snapshot; StateError if there is none."""
        self._open_work().state.restore()

    def finite(self) -> bool:
        """Return whether no weight is a NaN or an infinity."""
        return bool(np.isfinite(self.problem.store.value).all())


@contextmanager
def _settle_on_error(work: Work) -> Iterator[None]:
    """Run a call in the block; if it is interrupted, none of its work stays in the device's queue."""
    try:
        yield
    except BaseException:
        work.device.settle()
        work.reader.cancel()
        raise
