"""The process's context on a GPU: what the driver is asked for, its errors, memory, loaded kernels.

`api` is the driver's interface in Python: the one seam between this package and the hardware.
"""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from functools import partial
from typing import Any, Self

from cuda.bindings import driver as api

from ...errors import DeviceError, DeviceLostError, DeviceMemoryError
from . import failures, images
from .catalog import Kernel

__all__ = ["Context", "Memory", "api", "context_of", "forget", "link"]

_CONTEXTS: dict[int, Context] = {}
_MAKING = threading.Lock()


def context_of(number: int) -> Context:
    """The context of a device, which all runs of the process share; it stays as long as the process does.

    Raises
    ------
    DeviceError
        The device cannot be used; the message says why.
    """
    with _MAKING:
        if number not in _CONTEXTS:
            _CONTEXTS[number] = Context(number)
    _CONTEXTS[number].check()
    return _CONTEXTS[number]


def forget() -> None:
    """Begin anew with the next :func:`context_of`, and with another `api`: for tests."""
    _CONTEXTS.clear()
    failures.forget()


class Context:
    """The process's context on a device; for any thread, but not for a forked process.

    ``with context:`` makes it current, and leaves the thread with the context that it had: other libraries have theirs,
    and what frees memory runs wherever Python finds garbage, in the middle of another device's calls too.

    After an error that breaks a context nothing is asked of it any more, not even to free its memory.

    Attributes
    ----------
    name : str
    capability : (int, int)
    driver : int
        Version, ``1000 * major + 10 * minor``.
    lost : str
        What broke it; empty while it is sound.
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
        self.handle = self.call("cuDevicePrimaryCtxRetain", self.device)
        self._begun = True

    def _attribute(self, name: str) -> int:
        which = getattr(self.api.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self.call("cuDeviceGetAttribute", which, self.device))

    # ---- asking

    @property
    def usable(self) -> bool:
        """Whether anything may be asked of it: it is this process's, and not broken."""
        return self.process == os.getpid() and not self.lost

    def check(self) -> None:
        """DeviceError if nothing may be asked of it."""
        if self.process != os.getpid():
            raise DeviceError(f'the GPU cannot be used here: {failures.FORKED}, or take engine="numba" in this one')
        if self.lost:
            raise DeviceLostError(self.lost)

    def call(self, name: str, *arguments: Any) -> Any:
        """What the driver's function of that name returns, without its error code.

        Raises
        ------
        DeviceMemoryError
            There is not enough memory.
        DeviceLostError
            The context is broken; nothing of it can be used again.
        DeviceError
            Anything else; also a code that nobody knows.
        """
        error, found = self._asked(name, *arguments)
        if int(error) != 0:
            raise self._failure(name, error)
        return found[0] if len(found) == 1 else tuple(found)

    def ready(self, name: str, *arguments: Any) -> bool:
        """The answer of a function that asks whether something is done; raises as :meth:`call`."""
        error, _ = self._asked(name, *arguments)
        if int(error) not in (0, failures.NOT_READY):
            raise self._failure(name, error)
        return int(error) == 0

    def _asked(self, name: str, *arguments: Any) -> tuple[Any, list[Any]]:
        self.check()
        try:
            error, *found = getattr(self.api, name)(*arguments)
        except RuntimeError as said:  # no driver, or one that does not have this function
            raise DeviceError(f"NVIDIA's driver cannot be asked for {name}: {said}") from None
        except ValueError as said:  # the bindings know no such code
            raise DeviceError(f"NVIDIA's driver answers {name} with an error of its own: {said}") from None
        return error, found

    def _failure(self, name: str, error: Any) -> DeviceError:
        found = failures.failure(self.api, name, error, self.driver, self._begun)
        if isinstance(found, DeviceLostError):
            self.lost = self.lost or str(found)  # the first reason: others follow from it
            if _CONTEXTS.get(self.number) is self:
                failures.lose(self.number, self.lost)
        return found

    def quietly(self, name: str, *arguments: Any) -> None:
        """Give something back, from wherever that comes up; there is nobody to whom an error could be told.

        One that breaks the context is noticed all the same.
        """
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
            self.api.cuCtxPopCurrent()  # the thread's affair, even if the context is broken

    # ---- what it has

    def memory(self) -> tuple[int, int]:
        """Free and all bytes of the device."""
        with self:
            free, total = self.call("cuMemGetInfo")
        return int(free), int(total)

    def function(self, kernel: Kernel) -> Any:
        """A kernel, loaded once; inside of ``with context:``."""
        with self._loading:
            if kernel not in self._functions:
                image = images.image(kernel, self.capability, self.driver, partial(link, self))
                module = self.call("cuModuleLoadData", image)
                self._modules.append(module)
                self._functions[kernel] = self.call("cuModuleGetFunction", module, images.entry(kernel).encode())
            return self._functions[kernel]


def link(context: Context, ptx: str) -> bytes:
    """Machine code for this device, by the compiler in the driver."""
    with context:
        state = context.call("cuLinkCreate", 0, [], [])
        try:
            data = ptx.encode() + b"\0"
            kind = context.api.CUjitInputType.CU_JIT_INPUT_PTX
            context.call("cuLinkAddData", state, kind, data, len(data), b"kernel", 0, [], [])
            place, size = context.call("cuLinkComplete", state)
            return ctypes.string_at(int(place), int(size))  # a copy: the driver's own goes with the state
        finally:
            context.quietly("cuLinkDestroy", state)


class Memory:
    """One allocation, which is freed with this object."""

    def __init__(self, context: Context, nbytes: int) -> None:
        with context:
            try:
                self.pointer = int(context.call("cuMemAlloc", max(nbytes, 1)))
            except DeviceMemoryError as error:
                raise DeviceMemoryError(f"{error}: {nbytes:,} bytes were asked for") from None
        self.nbytes = nbytes
        weakref.finalize(self, context.quietly, "cuMemFree", self.pointer).atexit = False
