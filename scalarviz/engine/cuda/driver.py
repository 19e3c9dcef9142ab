"""A GPU through NVIDIA's driver: its context, memory, streams of work, loaded kernels and recorded launches.

`api` is the driver's interface in Python: the only connection of this package to the hardware. A launch is
packed once, in C, so that repeating it costs one call. A step takes about thirty launches of microseconds each,
so it is *captured* as a CUDA graph if possible, and replayed as one.
"""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from mmap import PAGESIZE
from typing import Any, Self

import numpy as np
from cuda.bindings import driver as api

from ...errors import DeviceError, DeviceLostError, DeviceMemoryError
from ..problem import Array
from . import images, there
from .device import Buffer, Launch
from .kernel import Kernel
from .warm import compile_side_by_side

_CONTEXTS: dict[int, Context] = {}
_MAKING = threading.Lock()


def context_of(number: int) -> Context:
    """Return the context of a device, which all runs of the process share; DeviceError if it cannot be used."""
    with _MAKING:
        if number not in _CONTEXTS:
            _CONTEXTS[number] = Context(number)
    _CONTEXTS[number].check()
    return _CONTEXTS[number]


class Context:
    """The process's context on a device, for any thread, but not for a forked process.

    ``with context:`` makes it current, and afterwards restores the thread's former context. Other libraries
    have their own contexts, and Python may free memory at any time, even during calls to another
    device. After an error that breaks a context, it gets no further calls, not even to free its
    memory: `lost` says why. `driver` is the driver's version, ``1000 * major + 10 * minor``.
    """

    def __init__(self, number: int) -> None:
        self.number, self.process, self.api = number, os.getpid(), api
        self.driver, self.lost, self._begun = 0, "", False
        self._functions: dict[Kernel, Any] = {}
        self._modules: list[Any] = []
        self._loading = threading.RLock()
        self.call("cuInit", 0)
        self.driver = int(self.call("cuDriverGetVersion"))
        self.device = self.call("cuDeviceGet", number)
        self.name = self.call("cuDeviceGetName", 256, self.device).split(b"\0")[0].decode(errors="replace")
        self.capability = (self._attribute("COMPUTE_CAPABILITY_MAJOR"), self._attribute("COMPUTE_CAPABILITY_MINOR"))
        self.shared_bytes = self._attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
        self.blocks_together = self._attribute("MULTIPROCESSOR_COUNT") if self.capability >= TENSOR_CORES else 0
        self.handle = self.call("cuDevicePrimaryCtxRetain", self.device)
        self._begun = True

    def _attribute(self, name: str) -> int:
        which = getattr(self.api.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self.call("cuDeviceGetAttribute", which, self.device))

    # ---- calls

    @property
    def usable(self) -> bool:
        """True if the context can be used: it belongs to this process, and is not broken."""
        return self.process == os.getpid() and not self.lost

    def check(self) -> None:
        """Raise DeviceError if it cannot be used."""
        if self.process != os.getpid():
            raise DeviceError(f'the GPU cannot be used here: {there.FORKED}, or use engine="numba"')
        if self.lost:
            raise DeviceLostError(self.lost)

    def call(self, name: str, *arguments: Any) -> Any:
        """Return the result of a driver function, without its error code.

        Raises DeviceMemoryError, DeviceLostError if the context is broken, otherwise DeviceError (for unknown
        codes too).
        """
        error, found = self._asked(name, *arguments)
        if int(error) != 0:
            raise self._failure(name, error)
        return found[0] if len(found) == 1 else tuple(found)

    def ready(self, name: str, *arguments: Any) -> bool:
        """Return whether something is done, from a driver function that asks; raises as :meth:`call`."""
        error, _ = self._asked(name, *arguments)
        if int(error) not in (0, there.NOT_READY):
            raise self._failure(name, error)
        return int(error) == 0

    def _asked(self, name: str, *arguments: Any) -> tuple[Any, list[Any]]:
        self.check()
        try:
            error, *found = getattr(self.api, name)(*arguments)
        except RuntimeError as said:  # no driver, or one without this function
            raise DeviceError(f"NVIDIA's driver has no function {name}: {said}") from None
        except ValueError as said:  # the bindings do not know this code
            raise DeviceError(f"NVIDIA's driver failed in {name}: {said}") from None
        return error, found

    def _failure(self, name: str, error: Any) -> DeviceError:
        found = there.failure(self.api, name, error, self.driver, self._begun)
        if isinstance(found, DeviceLostError):
            self.lost = self.lost or str(found)  # keep the first reason: others follow from it
            if _CONTEXTS.get(self.number) is self:
                there.lose(self.number, self.lost)
        return found

    def quietly(self, name: str, *arguments: Any) -> None:
        """Free something, at any time; ignores errors, but notices a broken context."""
        if self.usable:
            try:
                with self:
                    self.call(name, *arguments)
            except DeviceError:
                pass

    def __enter__(self) -> Self:
        self.call("cuCtxPushCurrent", self.handle)
        return self

    def __exit__(self, *_: object) -> None:
        if self.process == os.getpid():
            self.api.cuCtxPopCurrent()  # needed even if the context is broken

    # ---- resources

    def memory(self) -> tuple[int, int]:
        """Return free and total bytes of the device."""
        with self:
            free, total = self.call("cuMemGetInfo")
        return int(free), int(total)

    def function(self, kernel: Kernel) -> Any:
        """Return a kernel, loaded once, inside ``with context:``."""
        with self._loading:
            if kernel not in self._functions:
                module = self.call("cuModuleLoadData", self.image(kernel))
                self._modules.append(module)
                self._functions[kernel] = self.call("cuModuleGetFunction", module, images.entry(kernel).encode())
            return self._functions[kernel]

    def compile_missing(self, kernels: Iterable[Kernel]) -> None:
        """Compile the kernels that are neither loaded nor kept, side by side; a graph launches one many times."""
        missing = [kernel for kernel in dict.fromkeys(kernels) if kernel not in self._functions]
        compile_side_by_side(missing, self.capability, self.driver)

    def image(self, kernel: Kernel) -> bytes:
        """Return a kernel's machine code for this device, kept or compiled."""
        return images.image(kernel, self.capability, self.driver, partial(link, self))


def link(context: Context, ptx: str) -> bytes:
    """Return machine code for this device, from the compiler in the driver."""
    with context:
        state = context.call("cuLinkCreate", 0, [], [])
        try:
            data = ptx.encode() + b"\0"
            kind = context.api.CUjitInputType.CU_JIT_INPUT_PTX
            context.call("cuLinkAddData", state, kind, data, len(data), b"kernel", 0, [], [])
            place, size = context.call("cuLinkComplete", state)
            return ctypes.string_at(int(place), int(size))  # a copy: the driver's own is freed with the state
        finally:
            context.quietly("cuLinkDestroy", state)


class Memory:
    """One allocation, which is freed with this object."""

    def __init__(self, context: Context, nbytes: int) -> None:
        with context:
            try:
                self.pointer = int(context.call("cuMemAlloc", max(nbytes, 1)))
            except DeviceMemoryError as error:
                raise DeviceMemoryError(f"{error}; requested: {nbytes:,} bytes") from None
        self.nbytes = nbytes
        weakref.finalize(self, context.quietly, "cuMemFree", self.pointer).atexit = False


class Event:
    """A :class:`~.device.Mark`: all work queued on a stream so far. Create it inside ``with context:``."""

    def __init__(self, context: Context, stream: Any) -> None:
        self.context = context
        # without a clock an event costs half as much
        self.handle = context.call("cuEventCreate", int(context.api.CUevent_flags.CU_EVENT_DISABLE_TIMING))
        weakref.finalize(self, context.quietly, "cuEventDestroy", self.handle).atexit = False
        context.call("cuEventRecord", self.handle, stream)

    def done(self) -> bool:
        """Return whether the work is done; does not wait."""
        with self.context as context:
            return context.ready("cuEventQuery", self.handle)

    def wait(self) -> None:
        """Wait until the work is done."""
        with self.context as context:
            context.call("cuEventSynchronize", self.handle)


def pinned(context: Context, size: int, dtype: Any) -> Array:
    """Return zeros in locked pages, which the GPU can copy itself; ordinary zeros if that is refused.

    Whole pages are locked, so they contain nothing else: other data in a page would be locked and freed with
    it.
    """
    dtype = np.dtype(dtype)
    nbytes = size * dtype.itemsize
    if not nbytes:
        return np.zeros(0, dtype)
    whole = -(-nbytes // PAGESIZE) * PAGESIZE
    memory = np.zeros(whole + PAGESIZE, np.uint8)
    start = -memory.ctypes.data % PAGESIZE
    array: Array = memory[start : start + nbytes].view(dtype)
    address = array.ctypes.data
    try:
        with context:
            context.call("cuMemHostRegister", address, whole, 0)
    except DeviceLostError:
        raise
    except DeviceError:  # the system refuses to lock so much; copies are slower then
        return array
    weakref.finalize(memory, context.quietly, "cuMemHostUnregister", address).atexit = False
    return array


TENSOR_CORES = (8, 0)
"""The least compute capability whose tensor cores multiply as ``tensor`` asks."""
SMALL_SHARED = 48 * 1024
"""The most bytes of shared memory without a special request."""

_C_TYPES = {
    "Int": ctypes.c_int64, "Key": ctypes.c_uint64, "Double": ctypes.c_double, "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}  # fmt: skip


def pointer(buffer: Buffer) -> int:
    """Return the address on the device."""
    return int(buffer.memory.pointer) + buffer.start * buffer.dtype.itemsize


class Packed:
    """A launch with its arguments in C. Create and queue it inside ``with context:``."""

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
        """Queue the launch."""
        grid, block = self.launch.grid, self.launch.block
        given = (self.function, *grid, 1, *block, 1, self.launch.shared, stream, self.address)
        if self.launch.together:
            home.call("cuLaunchCooperativeKernel", *given)
        else:
            home.call("cuLaunchKernel", *given, 0)


def _in_c(name: str, argument: Any, dtype: str) -> Any:
    if isinstance(argument, Buffer):
        return ctypes.c_uint64(pointer(argument))
    kind = _C_TYPES[dtype if name == "Real" else name]
    return kind(argument.item() if isinstance(argument, np.generic) else argument)


class DriverRecorded:
    """Launches as a CUDA graph; the first time they run one by one, because a single run needs no graph.

    Launches whose blocks wait for each other stay outside of graphs: some drivers do not capture them.
    """

    def __init__(self, device: DriverDevice, launches: list[Packed]) -> None:
        self.device, self.launches = device, launches
        self._graph: Any = None
        self._runs = 0

    def run(self, times: int = 1) -> None:
        """Queue them in order, `times` times."""
        stream = self.device.stream
        with self.device.context as home:
            for _ in range(times):
                if self._runs == 1 and not any(packed.launch.together for packed in self.launches):
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
        """Return all launches as one; None if the device does not support it."""
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
        """Record the work queued on the stream as a graph, instead of doing it.

        Relaxed mode allows everything meanwhile: freeing memory may happen here and in other threads,
        uncaptured.
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


class DriverDevice:
    """See :class:`scalarviz.engine.cuda.device.Device`. Work is queued on a stream of its own, readings on a second."""

    def __init__(self, number: int) -> None:
        self.number, self.remark = number, ""
        self.context = context_of(number)
        self.name, self.shared_bytes = self.context.name, self.context.shared_bytes
        self.blocks_together = self.context.blocks_together
        self._held: list[Array] = []
        streams: list[Any] = []
        self._end = weakref.finalize(self, _end, self.context, streams, self._held)
        self._end.atexit = False
        with self.context as context:
            for _ in range(2):
                streams.append(context.call("cuStreamCreate", context.api.CUstream_flags.CU_STREAM_NON_BLOCKING))
        self.stream, self.second = streams

    def empty(self, size: int, dtype: Any) -> Buffer:
        """Allocate memory for `size` numbers."""
        dtype = np.dtype(dtype)
        return Buffer(Memory(self.context, size * dtype.itemsize), 0, size, dtype)

    def memory(self) -> tuple[int, int]:
        """Return free and total bytes."""
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
        """Wait until all work on both streams is done."""
        with self.context as context:
            for stream in (self.stream, self.second):
                context.call("cuStreamSynchronize", stream)
        self._held.clear()

    def settle(self) -> None:
        """After an error: wait for queued work, ignoring errors. Arrays stay alive, because waiting may have failed."""
        for stream in (self.stream, self.second):
            self.context.quietly("cuStreamSynchronize", stream)

    def mark(self) -> Event:
        """Return the point at which all queued work is done."""
        with self.context as context:
            return Event(context, self.stream)

    def read_aside(self, copies: Sequence[tuple[Buffer, Array]]) -> Event:
        """Queue copies on a second stream, after all work queued on the first."""
        ready = self.mark()
        self._held.extend(array for _, array in copies)
        with self.context as context:
            context.call("cuStreamWaitEvent", self.second, ready.handle, 0)
            for source, array in copies:
                context.call("cuMemcpyDtoHAsync", array.data, pointer(source), array.nbytes, self.second)
            return Event(context, self.second)

    def pinned(self, size: int, dtype: Any) -> Array:
        """Return zeros that the GPU copies itself."""
        return pinned(self.context, size, dtype)

    def record(self, launches: Sequence[Launch]) -> DriverRecorded:
        """Return launches that can be repeated."""
        with self.context as context:
            context.compile_missing(launch.kernel for launch in launches)
            return DriverRecorded(self, [Packed(context, launch) for launch in launches])

    def close(self) -> None:
        """Free the streams."""
        self._end()


def _end(context: Context, streams: list[Any], held: list[Array]) -> None:
    """Free streams; queued copies still use the arrays that are kept alive for them."""
    for function in ("cuStreamSynchronize", "cuStreamDestroy"):
        for stream in streams:
            context.quietly(function, stream)
    held.clear()
