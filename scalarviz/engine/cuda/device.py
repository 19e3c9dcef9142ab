"""The engine's interface to a GPU: memory, launches, recorded steps. `State` has the parameters of a run there.

`Device` is a protocol with several implementations: ``driver`` is a GPU; `SimulatedDevice` is numba's simulator, for
tests on any machine; `ListingDevice` only records its calls.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from ...checks import free_memory
from ...errors import StateError
from ...scalar.kernel import float16
from ..problem import Array, Problem
from .kernel import Kernel


@dataclass(frozen=True, eq=False)
class Buffer:
    """Numbers in a device's memory; the memory is freed with the last buffer that uses it."""

    memory: Any  # the device's own object
    start: int  # in numbers, like `size`
    size: int
    dtype: np.dtype[Any]

    def part(self, start: int, size: int) -> Buffer:
        """Return a part of the numbers, as a buffer."""
        return Buffer(self.memory, self.start + start, size, self.dtype)


@dataclass(frozen=True)
class Launch:
    """One launch: the kernel, the number of threads, and the arguments."""

    kernel: Kernel
    grid: tuple[int, int]  # blocks
    block: tuple[int, int]  # threads of a block
    arguments: tuple[Any, ...]  # buffers and numbers, in the order of the kernel's parameters
    shared: int = 0  # bytes of a block's shared memory beyond what the kernel declares
    together: bool = False  # whether its blocks wait for each other, so that all must be on the GPU at once


class Repeatable(Protocol):
    """Launches that can be repeated."""

    def run(self, times: int = 1) -> None:
        """Do them in order, `times` times; may return before the device has finished."""


class Mark(Protocol):
    """A point in a device's work."""

    def done(self) -> bool:
        """Return whether the device has reached it; does not wait."""

    def wait(self) -> None:
        """Wait until the device has reached it."""


class Device(Protocol):
    """A GPU, or a replacement for tests."""

    name: str
    remark: str  # one clause about a limitation; empty if there is none
    shared_bytes: int  # the most shared memory that a block can have
    blocks_together: int  # blocks of threads that may wait for each other; 0: there are no tensor cores

    def empty(self, size: int, dtype: Any) -> Buffer:
        """Allocate memory for `size` numbers; DeviceMemoryError if there is too little."""

    def memory(self) -> tuple[int, int]:
        """Return free and total bytes."""

    def upload(self, to: Buffer, array: Array) -> None:
        """Queue a copy of `array` (same dtype and size), which must not change until :meth:`wait`."""

    def download(self, source: Buffer, array: Array) -> None:
        """Queue a copy into `array`, which is complete after :meth:`wait`."""

    def wait(self) -> None:
        """Wait until all queued work is done."""

    def settle(self) -> None:
        """After an error: wait for queued work and ignore further errors."""

    def copy(self, to: Buffer, source: Buffer) -> None:
        """Queue a copy within the device."""

    def mark(self) -> Mark:
        """Return the point at which all queued work is done."""

    def read_aside(self, copies: Sequence[tuple[Buffer, Array]]) -> Mark:
        """Copy buffers into arrays after all queued work, in parallel with later work.

        The arrays (best from :meth:`pinned`) and the buffers must not change until the mark is reached.
        """

    def pinned(self, size: int, dtype: Any) -> Array:
        """Return an array of zeros on the host that is fast to copy. NumPy owns it, so it outlives the device."""

    def record(self, launches: Sequence[Launch]) -> Repeatable:
        """Return launches that can be repeated."""

    def close(self) -> None:
        """Free all resources besides the buffers."""


class SynchronousDevice(Device):
    """The shared part of devices that work immediately; each is a :class:`Mark` that is reached."""

    shared_bytes = 227 << 10

    def __init__(self, number: int = 0) -> None:
        self.number = number

    def wait(self) -> None:
        """Do nothing: the device works immediately."""

    def settle(self) -> None:
        """Do nothing: the device works immediately."""

    def close(self) -> None:
        """Do nothing: the device holds no resources."""

    def done(self) -> bool:
        """Return True: all work is done."""
        return True

    def mark(self) -> Self:
        """Return this device as the mark."""
        return self

    def read_aside(self, copies: Sequence[tuple[Buffer, Array]]) -> Self:
        """Copy the buffers at once."""
        for source, array in copies:
            self.download(source, array)
        return self

    def pinned(self, size: int, dtype: Any) -> Array:
        """Return an array of zeros."""
        return np.zeros(size, dtype)

    def prepared(self, launch: Launch) -> Callable[[], None]:
        """Return a function that does a launch."""
        raise NotImplementedError

    def record(self, launches: Sequence[Launch]) -> Repeatable:
        """Return launches that can be repeated."""
        return _Loop([self.prepared(launch) for launch in launches])


@dataclass(frozen=True)
class _Loop:
    launches: list[Callable[[], None]]

    def run(self, times: int = 1) -> None:
        for _ in range(times):
            for launch in self.launches:
                launch()


@dataclass(frozen=True)
class Counted:
    """A :class:`Repeatable`: one launch that reads how many steps it does, after a `counter` is cleared."""

    device: Device
    launch: Repeatable
    count: Buffer
    counter: Buffer | None = None

    def run(self, times: int = 1) -> None:
        """Do `times` steps."""
        self.device.upload(self.count, np.array([times], np.int64))
        if self.counter is not None:
            self.device.upload(self.counter, np.zeros(1, np.int32))
        self.launch.run()


class ListingDevice(SynchronousDevice):
    """A device without memory that computes nothing. It finds out the memory that a problem needs, without a GPU.

    It stores the recorded `launches`, counts how many were requested, and adds up the bytes of memory.
    """

    name = "a list"
    remark = "computes nothing"
    blocks_together = 132

    def __init__(self) -> None:
        super().__init__()
        self.launches: list[Launch] = []
        self.launched = self.nbytes = 0

    def empty(self, size: int, dtype: Any) -> Buffer:
        """Return a buffer without memory for `size` numbers."""
        dtype = np.dtype(dtype)
        self.nbytes += size * dtype.itemsize
        return Buffer(None, 0, size, dtype)

    def memory(self) -> tuple[int, int]:
        """Return a very large number of bytes."""
        return 1 << 62, 1 << 62

    def upload(self, to: Buffer, array: Array) -> None:
        """Do nothing."""

    def download(self, source: Buffer, array: Array) -> None:
        """Fill the array with zeros."""
        array.fill(0)

    def copy(self, to: Buffer, source: Buffer) -> None:
        """Do nothing."""

    def prepared(self, launch: Launch) -> Callable[[], None]:
        """Store a launch, and return a function that counts it."""
        self.launches.append(launch)
        return self._count

    def _count(self) -> None:
        self.launched += 1


class SimulatedDevice(SynchronousDevice):
    """A `Device` in numba's simulator: kernels are Python functions, memory is NumPy arrays.

    Unwritten memory holds NaN or the least number.
    """

    name = "numba's simulator"
    remark = "numba's simulator, which is slow"
    blocks_together = 0

    def empty(self, size: int, dtype: Any) -> Buffer:
        """Allocate memory for `size` numbers."""
        dtype = np.dtype(dtype)
        nothing = np.nan if dtype.kind == "f" else np.iinfo(dtype).min
        return Buffer(np.full(size, nothing, dtype), 0, size, dtype)

    def memory(self) -> tuple[int, int]:
        """Return the memory of this computer."""
        return free_memory(), free_memory()

    def upload(self, to: Buffer, array: Array) -> None:
        """Copy an array to the buffer."""
        _array(to)[:] = array

    def download(self, source: Buffer, array: Array) -> None:
        """Copy a buffer to the array."""
        array[:] = _array(source)

    def copy(self, to: Buffer, source: Buffer) -> None:
        """Copy one buffer to another."""
        _array(to)[:] = _array(source)

    def prepared(self, launch: Launch) -> Callable[[], None]:
        """Return the kernel as a Python function with its arguments."""
        from . import jit

        arguments = tuple(jit.Pointer(_array(x)) if isinstance(x, Buffer) else x for x in launch.arguments)
        call = jit.simulated(launch.kernel.function)
        return lambda: call(launch.grid, launch.block, arguments, launch.shared)


def _array(buffer: Buffer) -> Array:
    array: Array = buffer.memory[buffer.start : buffer.start + buffer.size]
    return array


class State:
    """All numbers of the parameters in one piece of memory: values, derived ones, gradients, states, previous values.

    The host has a copy of the piece. All numbers from the device arrive there completely before
    any of them goes into the arrays of the problem. So a device that is lost meanwhile leaves the numbers of
    the last call. The first upload after `keep` also stays there, so a snapshot costs nothing.

    ``offset[k]`` is the start of input k of the optimiser's program: the weight, its gradient, its states.
    Those of ``columns`` follow after the previous values. `seconds` is the time that the copies of the last call
    took.
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
        self.halves: Array | None = None  # the place of each parameter's half among the derived numbers; -1 for none
        self._snapshot: Array | None = None
        self._keeps = False
        self.seconds = 0.0

    def _arrays(self) -> list[tuple[slice, Array]]:
        problem = self.problem
        arrays = (problem.store.value, problem.store.grad, *problem.state, problem.previous)
        starts = (*self.offset, self.end)
        return [(slice(start, start + self.n), array) for start, array in zip(starts, arrays, strict=True)]

    def keep_upload(self) -> None:
        """Keep the numbers of the next upload as a snapshot."""
        self._keeps = True

    def restore(self) -> None:
        """Restore the arrays of the snapshot; StateError if there is none."""
        if self._keeps:
            return  # no step was done since
        if self._snapshot is None:
            raise StateError("rewind: there is no snapshot; call snapshot() first")
        for span, array in self._arrays():
            array[:] = self._snapshot[span]

    def upload(self) -> None:
        """Upload everything from which a step starts."""
        start = time.perf_counter()
        host = self._host
        if self._keeps:
            if self._snapshot is None:
                self._snapshot = self.device.pinned(self.memory.size, self.memory.dtype)
            host, self._keeps = self._snapshot, False
        for span, array in self._arrays():
            host[span] = array
        if self.halves is not None:
            halved = self.halves >= 0
            host[self.halves[halved]] = float16(self.problem.store.value[halved])
        self.device.upload(self.memory.part(0, self.end), host[: self.end])
        for start, column in zip(self.columns, self.problem.columns, strict=True):
            self.device.upload(self.memory.part(start, self.n), column)
        self.device.upload(self.trained, self.problem.trained.view(np.uint8))
        self.seconds = time.perf_counter() - start

    def download(self) -> None:
        """Download the results of a step."""
        self.device.wait()
        start = time.perf_counter()
        self.device.download(self.memory, self._host)
        self.device.wait()
        copied = time.perf_counter() - start
        for span, array in self._arrays():
            array[:] = self._host[span]
        self.seconds += copied + time.perf_counter() - start  # the upload ran at the same time

    def download_gradient(self) -> None:
        """Download the results of a backward pass."""
        span = slice(self.size, self.size + self.n)
        self.device.download(self.grad.part(0, self.n), self._host[span])
        self.device.wait()
        self.problem.store.grad[:] = self._host[span]
