"""Moments in a GPU's work, and memory of the host that copies are quick with."""

from __future__ import annotations

import weakref
from mmap import PAGESIZE
from typing import Any

import numpy as np

from ...errors import DeviceError, DeviceLostError
from ..problem import Array
from .context import Context


class Event:
    """See :class:`scalarviz.engine.cuda.device.Mark`: what was queued on a stream so far is done.

    Made inside of ``with context:``.
    """

    def __init__(self, context: Context, stream: Any) -> None:
        self.context = context
        # without a clock an event costs half as much
        self.handle = context.call("cuEventCreate", int(context.api.CUevent_flags.CU_EVENT_DISABLE_TIMING))
        weakref.finalize(self, context.quietly, "cuEventDestroy", self.handle).atexit = False
        context.call("cuEventRecord", self.handle, stream)

    def done(self) -> bool:
        """Whether it is; does not wait."""
        with self.context as context:
            return context.ready("cuEventQuery", self.handle)

    def wait(self) -> None:
        """Until it is."""
        with self.context as context:
            context.call("cuEventSynchronize", self.handle)


def pinned(context: Context, size: int, dtype: Any) -> Array:
    """Zeros whose pages stay where they are, so that the GPU copies them itself; plain ones where that is refused.

    The pages are locked as wholes, so they hold nothing else: what shared one would be locked and freed with it.
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
    except DeviceError:  # the system lets nobody pin so much; copies are slower then
        return array
    weakref.finalize(memory, context.quietly, "cuMemHostUnregister", address).atexit = False
    return array
