"""`State`: the numbers of a run's parameters on the device, and the way to and from the host."""

from __future__ import annotations

import time

import numpy as np

from ...errors import StateError
from ..problem import Array, Problem
from .device import Device


class State:
    """The numbers of parameters in one piece of memory: value, derived, gradient, theirs, the states, previous values.

    On the host stands a copy of the piece. All that comes from the device arrives there as a whole before anything
    goes into the arrays of the problem, so a device that is lost in the middle leaves the numbers of the last call.
    What is uploaded first after `keep` stays there too: a snapshot costs nothing.

    ``offset[k]`` is where input k of the optimiser's program begins: the weight, its gradient, its states; those of
    ``columns`` follow, behind the previous values.

    Attributes
    ----------
    seconds : float
        What the copies of the last call took.
    """

    def __init__(self, problem: Problem, device: Device) -> None:
        self.problem, self.device = problem, device
        self.n, self.size = problem.plan.n_parameters, problem.plan.n_parameters + problem.plan.n_derived
        dtype = problem.store.value.dtype
        self.offset = [0, self.size, *(2 * self.size + k * self.n for k in range(len(problem.state)))]
        self.end = 2 * self.size + len(problem.state) * self.n
        behind = self.end + self.n
        self.columns = [behind + k * self.n for k in range(len(problem.columns))]
        self.memory = device.empty(behind + len(self.columns) * self.n, dtype)
        self.theta, self.grad = self.memory.part(0, self.size), self.memory.part(self.size, self.size)
        self.value, self.previous = self.memory.part(0, self.n), self.memory.part(self.end, self.n)
        self.trained = device.empty(self.n, np.uint8)
        self._host: Array = device.pinned(self.memory.size, dtype)
        self._kept: Array | None = None
        self._keeps = False
        self.seconds = 0.0

    def _arrays(self) -> list[tuple[slice, Array]]:
        """The problem's arrays, which may be others than before, and where they stand in the piece."""
        problem = self.problem
        arrays = (problem.store.value, problem.store.grad, *problem.state, problem.previous)
        return [
            (slice(start, start + self.n), array) for start, array in zip((*self.offset, self.end), arrays, strict=True)
        ]

    def keep(self) -> None:
        """Keep the numbers as the next upload finds them."""
        self._keeps = True

    def back(self) -> None:
        """The arrays as they were kept.

        Raises
        ------
        StateError
            Nothing was.
        """
        if self._keeps:
            return  # no step was done since
        if self._kept is None:
            raise StateError("rewind: there is no snapshot; call snapshot() first")
        for span, array in self._arrays():
            array[:] = self._kept[span]

    def upload(self) -> None:
        """All that a step starts from."""
        start = time.perf_counter()
        host = self._host
        if self._keeps:
            if self._kept is None:
                self._kept = self.device.pinned(self.memory.size, self.memory.dtype)
            host, self._keeps = self._kept, False
        for span, array in self._arrays():
            host[span] = array
        self.device.upload(self.memory.part(0, self.end), host[: self.end])
        for start, column in zip(self.columns, self.problem.columns, strict=True):
            self.device.upload(self.memory.part(start, self.n), column)
        self.device.upload(self.trained, self.problem.trained.view(np.uint8))
        self.seconds = time.perf_counter() - start

    def download(self) -> None:
        """What a step has made."""
        self.device.wait()
        start = time.perf_counter()
        self.device.download(self.memory, self._host)
        self.device.wait()
        copied = time.perf_counter() - start
        for span, array in self._arrays():
            array[:] = self._host[span]
        self.seconds += copied + time.perf_counter() - start  # the upload ran as long beside its launch

    def download_gradient(self) -> None:
        """What a backward pass has made."""
        span = slice(self.size, self.size + self.n)
        self.device.download(self.grad.part(0, self.n), self._host[span])
        self.device.wait()
        self.problem.store.grad[:] = self._host[span]
