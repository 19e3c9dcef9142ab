"""Moments in a GPU's work, and memory of the host that copies are quick with."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ...errors import DeviceError, DeviceLostError
from ..problem import Array
from . import context as home
from .context import Context, call, destroy

_NOT_READY = 600


class Event:
    """See :class:`scalarviz.engine.cuda.device.Mark`: what was queued on a stream so far is done."""

    def __init__(self, context: Context, stream: Any) -> None:
        self.context = context
        # without a clock an event costs half as much
        self.handle = call("cuEventCreate", int(home.api.CUevent_flags.CU_EVENT_DISABLE_TIMING))
        weakref.finalize(self, destroy, context, "cuEventDestroy", self.handle).atexit = False
        call("cuEventRecord", self.handle, stream)

    def done(self) -> bool:
        """Whether it is; does not wait."""
        self.context.enter()
        (error,) = home.api.cuEventQuery(self.handle)
        if int(error) == _NOT_READY:
            return False
        call("cuEventSynchronize", self.handle)  # raises what went wrong, if anything did
        return True

    def wait(self) -> None:
        """Until it is."""
        self.context.enter()
        call("cuEventSynchronize", self.handle)


def pinned(context: Context, size: int, dtype: Any) -> Array:
    """Zeros whose pages stay where they are, so that the GPU copies them itself; plain ones where that is refused."""
    array = np.zeros(size, dtype)
    if not array.nbytes:
        return array
    context.enter()
    address = array.ctypes.data
    try:
        call("cuMemHostRegister", address, array.nbytes, 0)
    except DeviceLostError:
        raise
    except DeviceError:  # the system lets nobody pin so much; copies are slower then
        return array
    weakref.finalize(array, destroy, context, "cuMemHostUnregister", address).atexit = False
    return array
