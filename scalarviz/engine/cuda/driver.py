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
from .marks import Event, pinned
from .recorded import DriverRecorded, Packed, pointer


class DriverDevice:
    """See :class:`scalarviz.engine.cuda.device.Device`. Work is queued on a stream of its own, readings on a second."""

    def __init__(self, number: int) -> None:
        self.number, self.remark = number, ""
        self.context = Context(number)
        self.name = self.context.name
        self.context.enter()
        self._ends: list[Any] = []
        self.stream, self.second = self._stream(), self._stream()
        self._held: list[Any] = []

    def _stream(self) -> Any:
        stream = call("cuStreamCreate", context.api.CUstream_flags.CU_STREAM_NON_BLOCKING)
        end = weakref.finalize(self, destroy, self.context, "cuStreamDestroy", stream)
        end.atexit = False
        self._ends.append(end)
        return stream

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

    def mark(self) -> Event:
        """The moment when all that is queued is done."""
        self.context.enter()
        return Event(self.context, self.stream)

    def read_aside(self, copies: Sequence[tuple[Buffer, Array]]) -> Event:
        """Queue copies on a second stream, behind all that is queued on the first."""
        ready = self.mark()
        call("cuStreamWaitEvent", self.second, ready.handle, 0)
        for source, array in copies:
            call("cuMemcpyDtoHAsync", array.ctypes.data, pointer(source), array.nbytes, self.second)
        return Event(self.context, self.second)

    def pinned(self, size: int, dtype: Any) -> Array:
        """Zeros that the GPU copies itself."""
        return pinned(self.context, size, dtype)

    def record(self, launches: Sequence[Launch]) -> DriverRecorded:
        """Launches that will be done many times."""
        self.context.enter()
        return DriverRecorded(self, [Packed(self.context, launch) for launch in launches])

    def close(self) -> None:
        """Give the streams back."""
        for end in self._ends:
            end()
