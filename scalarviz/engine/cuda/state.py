"""`State`: the numbers of a run's parameters on the device, and the way to and from the host."""

from __future__ import annotations

import numpy as np

from ..problem import Array, Problem
from .device import Device


class State:
    """The numbers of parameters in one piece of memory: value, derived, gradient, theirs, the states, previous values.

    On the host stands a copy of the piece, which is filled as a whole before anything goes into the arrays of the
    problem: a device that is lost in the middle leaves the numbers of the last call. ``offset[k]`` is where input k of
    the optimiser's program begins: the weight, its gradient, its states.
    """

    def __init__(self, problem: Problem, device: Device) -> None:
        self.problem, self.device = problem, device
        n, size = problem.plan.n_parameters, problem.plan.n_parameters + problem.plan.n_derived
        dtype = problem.store.value.dtype
        self.offset = [0, size, *(2 * size + k * n for k in range(len(problem.state)))]
        end = 2 * size + len(problem.state) * n
        self.memory = device.empty(end + n, dtype)
        self.host: Array = np.zeros(end + n, dtype)
        self.theta, self.grad = self.memory.part(0, size), self.memory.part(size, size)
        self.value, self.previous = self.memory.part(0, n), self.memory.part(end, n)
        self.trained = device.empty(n, np.uint8)
        state = [slice(start, start + n) for start in self.offset]
        self._up = [(state[0], problem.store.value), *zip(state[2:], problem.state, strict=True)]
        self._down = [*self._up, (state[1], problem.store.grad), (slice(end, end + n), problem.previous)]

    def upload(self) -> None:
        """All that a step starts from."""
        for span, array in self._up:
            self.host[span] = array
        self.device.upload(self.memory, self.host)
        self.device.upload(self.trained, self.problem.trained.view(np.uint8))

    def download(self, updated: bool) -> None:
        """What a step has made; without an update the gradient alone."""
        if not updated:
            n = len(self.problem.store.grad)
            self.device.download(self.grad.part(0, n), self.problem.store.grad)
            self.device.wait()
            return
        self.device.download(self.memory, self.host)
        self.device.wait()
        for span, array in self._down:
            array[:] = self.host[span]
