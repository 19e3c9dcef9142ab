"""`Between`: numbers from the middle of a call, for whoever watches; steps go on meanwhile."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...errors import DeviceMemoryError
from ..problem import Array
from ..readback import Asked, Midway, Readback
from .device import Buffer, Device, Mark
from .state import State
from .steps import Steps


class Between:
    """Reads values, gradient and losses after a step without waiting for them.

    The numbers are copied within the device between two steps, which takes microseconds, and from there to the host
    beside the steps that follow. One reading at a time is under way.

    Parameters
    ----------
    device : Device
    state : State
    steps : Steps
    """

    def __init__(self, device: Device, state: State, steps: Steps) -> None:
        self.device, self.state, self.steps = device, state, steps
        self._copy: Buffer | None = None
        self._host: Array | None = None
        self._losses: Array | None = None
        self._refused = False  # no memory for it: who asks gets the numbers after the call
        self._under_way: tuple[Readback, Mark, NDArray[np.float64], int] | None = None

    def look(self, asked: Asked, before: NDArray[np.float64], done: int) -> None:
        """Begin a reading if somebody asks for one, or hand over the last one if it is there.

        Parameters
        ----------
        asked : callable
        before : ndarray of float64
            Losses of the call's steps that were read already.
        done : int
            Steps that were queued since.
        """
        if self._refused:
            return
        if self._under_way is None:
            readback = asked()
            if readback is not None:
                self._begin(readback, before, done)
        elif self._under_way[1].done():
            self._give()

    def settle(self) -> None:
        """Hand over what is under way: other steps are about to be counted from 0."""
        if self._under_way is not None:
            self._under_way[1].wait()
            self._give()

    def drop(self) -> None:
        """Whoever was to get what is under way gets the numbers after the call."""
        self._under_way = None

    def _begin(self, readback: Readback, before: NDArray[np.float64], done: int) -> None:
        state, n, device = self.state, self.state.n, self.device
        if self._copy is None or self._host is None or self._losses is None:
            try:
                self._copy = device.empty(3 * n, state.memory.dtype)
            except DeviceMemoryError:
                self._refused = True
                return
            self._host = device.pinned(3 * n, state.memory.dtype)
            self._losses = device.pinned(self.steps.losses.size, np.float64)
        for k, source in enumerate((state.value, state.grad.part(0, n), state.previous)):
            device.copy(self._copy.part(k * n, n), source)
        size = done * self.steps.loss_slices
        copies = [(self._copy, self._host), (self.steps.losses.part(0, size), self._losses[:size])]
        self._under_way = (readback, device.read_aside(copies), before, done)

    def _give(self) -> None:
        assert self._under_way is not None
        assert self._host is not None
        assert self._losses is not None
        readback, _, before, done = self._under_way
        self._under_way = None
        values, gradient, previous = self._host.copy().reshape(3, -1)
        parts = self._losses[: done * self.steps.loss_slices]
        losses = np.concatenate([before, self.steps.summed(parts)])
        readback.give(Midway(values, gradient, previous, losses))
