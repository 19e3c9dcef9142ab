"""A GPU through NVIDIA's driver: memory, and a stream of work."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..problem import Array
from .context import Context, Memory, context_of
from .device import Buffer, Launch
from .marks import Event, pinned
from .recorded import DriverRecorded, Packed, pointer


class DriverDevice:
    """See :class:`scalarviz.engine.cuda.device.Device`. Work is queued on a stream of its own, readings on a second."""

    def __init__(self, number: int) -> None:
        self.number, self.remark = number, ""
        self.context = context_of(number)
        self.name, self.shared_bytes = self.context.name, self.context.shared_bytes
        self._held: list[Array] = []
        streams: list[Any] = []
        self._end = weakref.finalize(self, _end, self.context, streams, self._held)
        self._end.atexit = False
        with self.context as context:
            for _ in range(2):
                streams.append(context.call("cuStreamCreate", context.api.CUstream_flags.CU_STREAM_NON_BLOCKING))
        self.stream, self.second = streams

    def empty(self, size: int, dtype: Any) -> Buffer:
        """Memory for so many numbers."""
        dtype = np.dtype(dtype)
        return Buffer(Memory(self.context, size * dtype.itemsize), 0, size, dtype)

    def memory(self) -> tuple[int, int]:
        """Free and all bytes."""
        return self.context.memory()

    def upload(self, to: Buffer, array: Array) -> None:
        """Queue a copy; `array` must stay as it is until :meth:`wait`."""
        array = np.ascontiguousarray(array, to.dtype)
        self._held.append(array)
        with self.context as context:
            context.call("cuMemcpyHtoDAsync", pointer(to), array.data, array.nbytes, self.stream)

    def download(self, source: Buffer, array: Array) -> None:
        """Queue a copy; `array` holds it after :meth:`wait`."""
        self._held.append(array)
        with self.context as context:
            context.call("cuMemcpyDtoHAsync", array.data, pointer(source), array.nbytes, self.stream)

    def copy(self, to: Buffer, source: Buffer) -> None:
        """Queue a copy within the device."""
        nbytes = source.size * source.dtype.itemsize
        with self.context as context:
            context.call("cuMemcpyDtoDAsync", pointer(to), pointer(source), nbytes, self.stream)

    def wait(self) -> None:
        """Until all that is queued on both streams is done."""
        with self.context as context:
            for stream in (self.stream, self.second):
                context.call("cuStreamSynchronize", stream)
        self._held.clear()

    def settle(self) -> None:
        """After an error: wait for what is queued, whatever comes of it. Arrays stay held: this may have failed too."""
        for stream in (self.stream, self.second):
            self.context.quietly("cuStreamSynchronize", stream)

    def mark(self) -> Event:
        """The moment when all that is queued is done."""
        with self.context as context:
            return Event(context, self.stream)

    def read_aside(self, copies: Sequence[tuple[Buffer, Array]]) -> Event:
        """Queue copies on a second stream, behind all that is queued on the first."""
        ready = self.mark()
        self._held.extend(array for _, array in copies)
        with self.context as context:
            context.call("cuStreamWaitEvent", self.second, ready.handle, 0)
            for source, array in copies:
                context.call("cuMemcpyDtoHAsync", array.data, pointer(source), array.nbytes, self.second)
            return Event(context, self.second)

    def pinned(self, size: int, dtype: Any) -> Array:
        """Zeros that the GPU copies itself."""
        return pinned(self.context, size, dtype)

    def record(self, launches: Sequence[Launch]) -> DriverRecorded:
        """Launches that will be done many times."""
        with self.context as context:
            return DriverRecorded(self, [Packed(context, launch) for launch in launches])

    def close(self) -> None:
        """Give the streams back."""
        self._end()


def _end(context: Context, streams: list[Any], held: list[Array]) -> None:
    """Give streams back; copies that are queued still use the arrays that are held for them."""
    for function in ("cuStreamSynchronize", "cuStreamDestroy"):
        for stream in streams:
            context.quietly(function, stream)
    held.clear()
