"""numba's simulator as a device: kernels as Python functions, their memory as NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ...memory import free_memory
from ..problem import Array
from . import jit
from .catalog import Kernel
from .device import Buffer, Launch, Now


@dataclass(frozen=True)
class _Loop:
    """Launches one after another."""

    launches: list[Callable[[], None]]

    def run(self, times: int = 1) -> None:
        """Do them."""
        for _ in range(times):
            for launch in self.launches:
                launch()


class SimulatedDevice:
    """See :class:`scalarviz.engine.cuda.device.Device`. Memory that was never written holds NaN or the least number."""

    remark = "numba's simulator, which is slow"
    shared_bytes = 227 << 10

    def __init__(self, number: int) -> None:
        self.number = number
        self.name = "numba's simulator"

    def empty(self, size: int, dtype: Any) -> Buffer:
        """Memory for so many numbers."""
        dtype = np.dtype(dtype)
        nothing = np.nan if dtype.kind == "f" else np.iinfo(dtype).min
        return Buffer(np.full(size, nothing, dtype), 0, size, dtype)

    def memory(self) -> tuple[int, int]:
        """What this computer has."""
        return free_memory(), free_memory()

    def upload(self, to: Buffer, array: Array) -> None:
        """Copy."""
        _array(to)[:] = array

    def download(self, source: Buffer, array: Array) -> None:
        """Copy."""
        array[:] = _array(source)

    def wait(self) -> None:
        """All is done at once."""

    def settle(self) -> None:
        """All is done at once."""

    def copy(self, to: Buffer, source: Buffer) -> None:
        """Copy."""
        _array(to)[:] = _array(source)

    def mark(self) -> Now:
        """Now."""
        return Now()

    def read_aside(self, copies: Sequence[tuple[Buffer, Array]]) -> Now:
        """Copy."""
        for source, array in copies:
            self.download(source, array)
        return Now()

    def pinned(self, size: int, dtype: Any) -> Array:
        """Zeros."""
        return np.zeros(size, dtype)

    def record(self, launches: Sequence[Launch]) -> _Loop:
        """Launches that will be done many times."""
        return _Loop([_prepared(launch) for launch in launches])

    def close(self) -> None:
        """Nothing is held."""


def _array(buffer: Buffer) -> Array:
    array: Array = buffer.memory[buffer.start : buffer.start + buffer.size]
    return array


def _prepared(launch: Launch) -> Callable[[], None]:
    arguments = tuple(
        jit.Pointer(_array(argument)) if isinstance(argument, Buffer) else argument for argument in launch.arguments
    )
    call = _callable(launch.kernel)
    return lambda: call(launch.grid, launch.block, arguments, launch.shared)


@cache
def _callable(kernel: Kernel) -> Any:
    return jit.simulated(kernel.function)
