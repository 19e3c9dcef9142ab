"""A GPU through NVIDIA's driver: memory, and a stream of work."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..problem import Array
from . import context
from .context import Context, Memory, call, destroy
from .device import Buffer, Launch
from .recorded import DriverRecorded, Packed, pointer


class DriverDevice:
    """See :class:`scalarviz.engine.cuda.device.Device`. Work is queued on one stream of its own."""

    def __init__(self, number: int) -> None:
        self.number, self.remark = number, ""
        self.context = Context(number)
        self.name = self.context.name
        self.context.enter()
        self.stream = call("cuStreamCreate", context.api.CUstream_flags.CU_STREAM_NON_BLOCKING)
        self._end = weakref.finalize(self, destroy, self.context, "cuStreamDestroy", self.stream)
        self._end.atexit = False
        self._held: list[Any] = []

    def empty(self, size: int, dtype: Any) -> Buffer:
        """Memory for so many numbers."""
        dtype = np.dtype(dtype)
        return Buffer(Memory(self.context, size * dtype.itemsize), 0, size, dtype)

    def upload(self, to: Buffer, array: Array) -> None:
        """Queue a copy; `array` must stay as it is until :meth:`wait`."""
        self.context.enter()
        array = np.ascontiguousarray(array, to.dtype)
        self._held.append(array)
        call("cuMemcpyHtoDAsync", pointer(to), array.ctypes.data, array.nbytes, self.stream)

    def download(self, source: Buffer, array: Array) -> None:
        """Queue a copy; `array` holds it after :meth:`wait`."""
        self.context.enter()
        self._held.append(array)
        call("cuMemcpyDtoHAsync", array.ctypes.data, pointer(source), array.nbytes, self.stream)

    def copy(self, to: Buffer, source: Buffer) -> None:
        """Queue a copy within the device."""
        self.context.enter()
        call("cuMemcpyDtoDAsync", pointer(to), pointer(source), source.size * source.dtype.itemsize, self.stream)

    def wait(self) -> None:
        """Until all that is queued is done."""
        self.context.enter()
        call("cuStreamSynchronize", self.stream)
        self._held.clear()

    def record(self, launches: Sequence[Launch]) -> DriverRecorded:
        """Launches that will be done many times."""
        self.context.enter()
        return DriverRecorded(self, [Packed(self.context, launch) for launch in launches])

    def close(self) -> None:
        """Give the stream back."""
        self._end()
