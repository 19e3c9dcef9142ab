"""`Samples`: the data set in a device's memory, or its batches call by call where it does not fit."""

from __future__ import annotations

import numpy as np

from ... import rng
from ..data import Data
from ..outside import Outside
from ..problem import Array, Problem
from .catalog import find
from .device import Buffer, Device, Launch
from .machine import IN_ORDER, PICKED, STREAMED, Feed, Shape

UPLOAD_BYTES = 64 << 20
"""What of the samples is put in order together on the host."""


class Samples:
    """Where the input rows of a step come from.

    Parameters
    ----------
    problem : Problem
    device : Device
    shape : Shape
    clock : Buffer
        See ``kernels/steps``.
    most : int
        The most steps of a call.

    Attributes
    ----------
    feed : Feed
        What the launches are made with.
    steps : int
        The most steps of which the samples are there at once.
    """

    def __init__(self, problem: Problem, device: Device, shape: Shape, clock: Buffer, most: int) -> None:
        self.problem, self.device, self.shape, self.clock = problem, device, shape, clock
        self.most = self.steps = most
        self.feed: Feed | None = None
        self._loaded: Data | None = None
        self._host: Array | None = None

    @property
    def changed(self) -> bool:
        """Whether the problem's data has another shape than before: launches must be made anew."""
        return self._loaded is None or self._loaded.shape != self.problem.data.shape

    def load(self) -> None:
        """Bring the problem's data in if it is another array than before.

        Raises
        ------
        DeviceMemoryError
            It does not fit.
        """
        data = self.problem.data
        if self._loaded is data:
            return
        if self.changed:
            self.feed = self._loaded = None  # free the memory first
            resident = self.shape.resident and not isinstance(data, Outside)
            self.feed = self._resident() if resident else self._streamed()
        if self.feed is not None and self.feed.mode != STREAMED:
            self._upload(self.feed.data)
        self._loaded = data

    def _upload(self, to: Buffer) -> None:
        """All samples, row by row, some rows at a time: the host may have them in another order or dtype."""
        data, count = self.problem.data, self.problem.data.shape[1]
        step = max(1, UPLOAD_BYTES // (count * data.dtype.itemsize))
        for first in range(0, len(data), step):
            rows = np.ascontiguousarray(data[first : first + step])
            self.device.upload(to.part(first * count, rows.size), rows.reshape(-1))
            if rows.base is None:  # made for this
                self.device.wait()

    def _resident(self) -> Feed:
        """All of it in memory."""
        data, batch = self.problem.data, self.problem.batch
        samples = data.shape[1]
        memory = self.device.empty(data.size, data.dtype)
        order = self.device.empty(1 if self.problem.whole else batch, np.int64)
        mode = IN_ORDER if self.problem.whole else PICKED
        return Feed(memory, self._offsets(samples), order, mode, self.clock, batch)

    def _streamed(self) -> Feed:
        """Room for the batches of some steps."""
        numbers, batch, dtype = len(self.problem.data), self.problem.batch, self.problem.data.dtype
        self.steps = max(1, min(self.most, self.shape.stream_bytes // (numbers * batch * dtype.itemsize)))
        memory = self.device.empty(numbers * batch * self.steps, dtype)
        self._host = np.empty((numbers, self.steps * batch), dtype)
        offsets = self._offsets(self.steps * batch)
        return Feed(memory, offsets, self.device.empty(1, np.int64), STREAMED, self.clock, batch)

    def _offsets(self, samples: int) -> Buffer:
        """Where the numbers of each input row begin."""
        offsets = self.problem.plan.body.input_index * np.int64(samples)
        buffer = self.device.empty(max(1, offsets.size), np.int64)
        self.device.upload(buffer.part(0, offsets.size), offsets)
        return buffer

    def begin(self, first: int, count: int) -> None:
        """The steps ``first + 1 .. first + count`` follow, at most `steps` of them."""
        if self._host is None or self.feed is None:
            return
        batch, problem = self.problem.batch, self.problem
        for k in range(count):
            problem.ready(first + k, count - k)
            data, ids = problem.samples_of(first + k)
            self._host[:, k * batch : (k + 1) * batch] = data[:] if ids is None else data[:, ids]
        self.device.upload(self.feed.data, self._host.reshape(-1))

    def launches(self) -> list[Launch]:
        """Which samples a step trains on."""
        if self.feed is None or self.feed.mode != PICKED:
            return []
        samples, batch, threads = self.problem.data.shape[1], self.problem.batch, self.shape.threads
        words = rng.split(self.problem.seed)
        given = (self.feed.order, self.clock, batch, samples, *words, *self.problem.order_shape)
        kernel = find("batch_order", self.problem.data.dtype.name)
        return [Launch(kernel, (-(-batch // threads), 1), (threads, 1), given)]
