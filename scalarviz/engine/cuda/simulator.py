"""numba's simulator as a device: kernels are Python functions, memory is NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...memory import free_memory
from ..problem import Array
from . import jit
from .device import Buffer, Launch, SynchronousDevice


class SimulatedDevice(SynchronousDevice):
    """See :class:`scalarviz.engine.cuda.device.Device`. Unwritten memory holds NaN or the least number."""

    name = "numba's simulator"
    remark = "numba's simulator, which is slow"

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
        arguments = tuple(
            jit.Pointer(_array(argument)) if isinstance(argument, Buffer) else argument for argument in launch.arguments
        )
        call = jit.simulated(launch.kernel.function)
        return lambda: call(launch.grid, launch.block, arguments, launch.shared)


def _array(buffer: Buffer) -> Array:
    array: Array = buffer.memory[buffer.start : buffer.start + buffer.size]
    return array
