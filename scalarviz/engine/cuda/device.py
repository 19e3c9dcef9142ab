"""What the engine asks of a GPU: memory, launches, a step that is recorded once. One protocol, several devices.

`simulator` is numba's, for tests on any machine; `driver` is a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..problem import Array
from .catalog import Kernel


@dataclass(frozen=True, eq=False)
class Buffer:
    """Numbers in a device's memory, which is freed when no buffer holds it any more.

    Attributes
    ----------
    memory : object
        What the device made for it.
    start, size : int
        Where in it, in numbers, and how many.
    dtype : dtype
    """

    memory: Any
    start: int
    size: int
    dtype: np.dtype[Any]

    def part(self, start: int, size: int) -> Buffer:
        """Some of the numbers."""
        return Buffer(self.memory, self.start + start, size, self.dtype)


@dataclass(frozen=True)
class Launch:
    """One launch: what is computed, by how many threads, with what.

    Attributes
    ----------
    kernel : Kernel
    grid, block : (int, int)
        Blocks, and threads of a block.
    arguments : tuple
        Buffers and numbers, in the order of the kernel's parameters.
    shared : int
        Bytes of shared memory of a block beyond what the kernel declares.
    """

    kernel: Kernel
    grid: tuple[int, int]
    block: tuple[int, int]
    arguments: tuple[Any, ...]
    shared: int = 0


class Recorded(Protocol):
    """Launches that can be done again and again."""

    def run(self, times: int = 1) -> None:
        """Do them, in order, so often; may return before the device is through."""
        ...


class Mark(Protocol):
    """A moment in a device's work."""

    def done(self) -> bool:
        """Whether it has come; does not wait."""
        ...

    def wait(self) -> None:
        """Until it has come."""
        ...


class Now:
    """The mark of a device that does at once what it is asked for."""

    def done(self) -> bool:
        """It is."""
        return True

    def wait(self) -> None:
        """There is nothing to wait for."""


class Device(Protocol):
    """A GPU, or what stands for one.

    Attributes
    ----------
    name : str
    remark : str
        What is not as it should be, as one clause; empty if all is.
    shared_bytes : int
        The most shared memory that a block can have.
    """

    name: str
    remark: str
    shared_bytes: int

    def empty(self, size: int, dtype: Any) -> Buffer:
        """Memory for so many numbers; DeviceMemoryError if there is not enough."""
        ...

    def memory(self) -> tuple[int, int]:
        """Free and all bytes."""
        ...

    def upload(self, to: Buffer, array: Array) -> None:
        """Ask for a copy of `array` (same dtype and size), which stays as it is until :meth:`wait`."""
        ...

    def download(self, source: Buffer, array: Array) -> None:
        """Ask for a copy into `array`, which holds it after :meth:`wait`."""
        ...

    def wait(self) -> None:
        """Until all that was asked for is done."""
        ...

    def settle(self) -> None:
        """After an error: wait for what was asked for, whatever comes of it. Raises nothing."""
        ...

    def copy(self, to: Buffer, source: Buffer) -> None:
        """Copy within the device."""
        ...

    def mark(self) -> Mark:
        """The moment when all that was asked for is done."""
        ...

    def read_aside(self, copies: Sequence[tuple[Buffer, Array]]) -> Mark:
        """Copy buffers into arrays when all that was asked for is done, beside what is asked for later.

        The arrays, best of :meth:`pinned`, and the buffers stay as they are until the mark has come.
        """
        ...

    def pinned(self, size: int, dtype: Any) -> Array:
        """An array of zeros on the host that copies are quick with. NumPy owns it, so it outlives the device."""
        ...

    def record(self, launches: Sequence[Launch]) -> Recorded:
        """Launches that will be done many times."""
        ...

    def close(self) -> None:
        """Give back what is held beside the buffers."""
        ...
