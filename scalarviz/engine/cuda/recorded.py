"""Launches that are packed once and done many times, as a CUDA graph where that can be recorded.

A launch is packed in C: pointers and numbers as the driver takes them, so that doing it again costs a call. A step is
some thirty launches of microseconds each, so it is *captured* as a graph and replayed as one.
"""

from __future__ import annotations

import ctypes
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import DeviceError, DeviceLostError
from .context import Context
from .device import Buffer, Launch

if TYPE_CHECKING:
    from .driver import DriverDevice

SMALL_SHARED = 48 * 1024
"""Bytes of shared memory that every kernel may have; for more it must be asked for."""

_C_TYPES = {
    "Int": ctypes.c_int64, "Key": ctypes.c_uint64, "Double": ctypes.c_double, "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}  # fmt: skip


def pointer(buffer: Buffer) -> int:
    """Address on the device."""
    return int(buffer.memory.pointer) + buffer.start * buffer.dtype.itemsize


class Packed:
    """A launch with its arguments in C. Made and queued inside of ``with context:``."""

    def __init__(self, home: Context, launch: Launch) -> None:
        self.launch, self.function = launch, home.function(launch.kernel)
        given = zip(launch.kernel.parameters, launch.arguments, strict=True)
        self.numbers = [_in_c(name, argument, launch.kernel.dtype) for name, argument in given]
        self.places = (ctypes.c_void_p * len(self.numbers))(*[ctypes.addressof(number) for number in self.numbers])
        self.address = ctypes.addressof(self.places)
        if launch.shared > SMALL_SHARED:
            which = home.api.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            home.call("cuFuncSetAttribute", self.function, which, launch.shared)

    def queue(self, home: Context, stream: Any) -> None:
        """Let the device do it when it comes to it."""
        grid, block = self.launch.grid, self.launch.block
        home.call("cuLaunchKernel", self.function, *grid, 1, *block, 1, self.launch.shared, stream, self.address, 0)


def _in_c(name: str, argument: Any, dtype: str) -> Any:
    if isinstance(argument, Buffer):
        return ctypes.c_uint64(pointer(argument))
    kind = _C_TYPES[dtype if name == "Real" else name]
    return kind(argument.item() if isinstance(argument, np.generic) else argument)


class DriverRecorded:
    """See :class:`scalarviz.engine.cuda.device.Recorded`.

    The first time they are launched one by one: what is done once needs no graph.
    """

    def __init__(self, device: DriverDevice, launches: list[Packed]) -> None:
        self.device, self.launches = device, launches
        self._graph: Any = None
        self._runs = 0

    def run(self, times: int = 1) -> None:
        """Queue them, in order, so often."""
        stream = self.device.stream
        with self.device.context as home:
            for _ in range(times):
                if self._runs == 1:
                    self._graph = self._captured(home)
                self._runs += 1
                if self._graph is None:
                    self._queue(home)
                else:
                    home.call("cuGraphLaunch", self._graph, stream)

    def _queue(self, home: Context) -> None:
        for launch in self.launches:
            launch.queue(home, self.device.stream)

    def _captured(self, home: Context) -> Any:
        """All of them as one launch; None where that cannot be done, which the device then says."""
        stream = self.device.stream
        try:
            graph = self._graph_of_a_step(home)
            try:
                ready = home.call("cuGraphInstantiate", graph, 0)
            finally:
                home.quietly("cuGraphDestroy", graph)
            weakref.finalize(self, home.quietly, "cuGraphExecDestroy", ready).atexit = False
            home.call("cuGraphUpload", ready, stream)
        except DeviceLostError:
            raise
        except DeviceError as error:
            self.device.remark = f"plain launches, since a step could not be recorded: {error}"
            return None
        return ready

    def _graph_of_a_step(self, home: Context) -> Any:
        """What the stream is asked for, instead of done, as a graph.

        In the mode that forbids nothing meanwhile: what frees memory may run here and in other threads, and is no part
        of what is captured.
        """
        stream = self.device.stream
        home.call("cuStreamBeginCapture", stream, home.api.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED)
        try:
            self._queue(home)
        except BaseException:
            with suppress(DeviceError):
                home.quietly("cuGraphDestroy", home.call("cuStreamEndCapture", stream))
            raise
        return home.call("cuStreamEndCapture", stream)
