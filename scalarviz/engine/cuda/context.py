"""The process's context on a GPU: what the driver is asked for, its errors, memory, loaded kernels.

`api` is the driver's interface in Python: the one seam between this package and the hardware.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from contextlib import suppress
from typing import Any

from cuda.bindings import driver as api

from ...errors import DeviceError, DeviceLostError, DeviceMemoryError
from . import images
from .catalog import Kernel

__all__ = ["Context", "Memory", "api", "call", "destroy", "link"]


def call(name: str, *arguments: Any) -> Any:
    """What the driver's function of that name returns, without its error code.

    Raises
    ------
    DeviceMemoryError
        There is not enough memory.
    DeviceLostError
        The context is broken; nothing of it can be used again.
    DeviceError
        Anything else.
    """
    error, *found = getattr(api, name)(*arguments)
    if int(error) != 0:
        raise _error(name, error)
    return found[0] if len(found) == 1 else tuple(found)


def _error(name: str, error: Any) -> DeviceError:
    said = api.cuGetErrorString(error)[1]
    text = said.decode() if isinstance(said, bytes) else str(said)
    reason = f"{getattr(error, 'name', error)} ({text}) in {name}"
    code = int(error)
    if code == 2:
        return DeviceMemoryError(f"the GPU has not enough free memory: {reason}")
    if code in _STICKY:
        return DeviceLostError(f"the GPU cannot be used any more by this process: {reason}")
    return DeviceError(f"the GPU's driver refuses: {reason}")


_STICKY = frozenset((46, 101, 214, 215, 220, 402, *range(700, 720), 721, 800, 801, 802, 999))
"""Errors that leave a context unusable: illegal addresses, failed launches, uncorrectable memory, a lost device."""


class Context:
    """The process's context on a device; for any thread, but not for a forked process."""

    def __init__(self, number: int) -> None:
        call("cuInit", 0)
        self.process = os.getpid()
        self.device = call("cuDeviceGet", number)
        self.handle = call("cuDevicePrimaryCtxRetain", self.device)
        weakref.finalize(self, quietly, "cuDevicePrimaryCtxRelease", self.device).atexit = False
        self.lost = ""
        name = call("cuDeviceGetName", 256, self.device)
        self.name = (name.decode() if isinstance(name, bytes) else str(name)).rstrip("\0")
        self.capability = (self._attribute("COMPUTE_CAPABILITY_MAJOR"), self._attribute("COMPUTE_CAPABILITY_MINOR"))
        self.driver = int(call("cuDriverGetVersion"))
        self._functions: dict[Kernel, Any] = {}
        self._modules: list[Any] = []

    def _attribute(self, name: str) -> int:
        which = getattr(api.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(call("cuDeviceGetAttribute", which, self.device))

    def enter(self) -> None:
        """Make it the context of this thread."""
        if self.process != os.getpid():
            raise DeviceError('a GPU cannot be used in a forked process; start it anew (multiprocessing: "spawn")')
        if self.lost:
            raise DeviceLostError(self.lost)
        call("cuCtxSetCurrent", self.handle)

    def memory(self) -> tuple[int, int]:
        """Free and all bytes of the device."""
        self.enter()
        free, total = call("cuMemGetInfo")
        return int(free), int(total)

    def function(self, kernel: Kernel) -> Any:
        """A kernel, loaded."""
        if kernel not in self._functions:
            image = images.image(kernel, self.capability, self.driver, link)
            module = call("cuModuleLoadData", image)
            self._modules.append(module)
            self._functions[kernel] = call("cuModuleGetFunction", module, images.entry(kernel).encode())
        return self._functions[kernel]


def link(ptx: str) -> bytes:
    """Machine code for this device, by the compiler in the driver."""
    state = call("cuLinkCreate", 0, [], [])
    try:
        data = ptx.encode() + b"\0"
        call("cuLinkAddData", state, api.CUjitInputType.CU_JIT_INPUT_PTX, data, len(data), b"kernel", 0, [], [])
        place, size = call("cuLinkComplete", state)
        return ctypes.string_at(int(place), int(size))
    finally:
        call("cuLinkDestroy", state)


def quietly(name: str, *arguments: Any) -> None:
    """Give something back; whatever the driver says to that, there is nobody who could do better."""
    with suppress(Exception):
        getattr(api, name)(*arguments)


class Memory:
    """One allocation."""

    def __init__(self, context: Context, nbytes: int) -> None:
        context.enter()
        self.pointer = int(call("cuMemAlloc", max(nbytes, 1)))
        self.nbytes = nbytes
        weakref.finalize(self, _free, context, self.pointer).atexit = False


def _free(context: Context, pointer: int) -> None:
    if context.process == os.getpid() and not context.lost:
        quietly("cuCtxSetCurrent", context.handle)
        quietly("cuMemFree", pointer)


def destroy(context: Context, name: str, handle: Any) -> None:
    """Give a stream, an event or a graph of a context back, as long as there is one."""
    if context.process == os.getpid() and not context.lost:
        quietly("cuCtxSetCurrent", context.handle)
        quietly(name, handle)
