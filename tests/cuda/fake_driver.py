"""A fake of ``cuda.bindings.driver`` that executes the real PTX, for tests without a GPU.

Same functions, same way of returning (a tuple, the CUresult first), the real enumerations. What is harsher than a GPU
is: queued work runs at the last moment, host memory of an asynchronous copy is read or written only then, memory is
full of NaN until it is written, an address is never given twice. A wrong access or a race of a kernel raises
``ptx.memory.Fault`` through the call that let it run; with ``faults="error"`` it becomes the error that a driver
returns, and the context is broken.

It does not model: time, the copy engines' overlap, contexts other than primary ones, textures, peers, memory pools.
"""

from __future__ import annotations

import os
from typing import Any

from cuda.bindings import driver as real
from fake_gate import Device, entry
from fake_images import Refused
from fake_memory import MemoryCalls
from fake_work import CodeCalls, LaunchCalls, StreamCalls


class Number(int):
    """A device of one fake driver: an object of an earlier test may give its context back when it is collected."""

    owner: Any

    def __new__(cls, number: int, owner: Any) -> Number:
        found = super().__new__(cls, number)
        found.owner = owner
        return found


class FakeDriver(MemoryCalls, StreamCalls, CodeCalls, LaunchCalls):
    """Stands where ``cuda.bindings.driver`` is.

    Parameters
    ----------
    devices : int
        How many GPUs; 0 is a driver without a GPU.
    memory : int
        Bytes of each.
    capability : (int, int)
    version : int
        Of the driver, ``1000*major + 10*minor``.
    races : bool
        Whether races raise.
    contract : bool
        Whether products are fused with sums, as the compiler in a driver may do it (see ``ptx.machine.Module``).
    faults : {"raise", "error"}
        What becomes of a kernel's wrong access.
    installed : bool
        False: no driver on this machine; every call raises what the real package raises then.
    """

    @entry(context=False)
    def cuInit(self, flags: int) -> tuple[()]:
        if not self.devices:
            raise Refused("CUDA_ERROR_NO_DEVICE")
        if self._process is not None and self._process != os.getpid():
            raise Refused("CUDA_ERROR_NOT_INITIALIZED")
        self._process = os.getpid()
        return ()

    @entry(context=False)
    def cuDriverGetVersion(self) -> int:
        return self.version

    @entry(context=False)
    def cuGetErrorName(self, error: Any) -> bytes:
        return real.CUresult(int(error)).name.encode()

    @entry(context=False)
    def cuGetErrorString(self, error: Any) -> bytes:
        return real.CUresult(int(error)).name.removeprefix("CUDA_ERROR_").lower().replace("_", " ").encode()

    @entry(context=False)
    def cuDeviceGetCount(self) -> int:
        return len(self.devices)

    @entry(context=False)
    def cuDeviceGet(self, number: int) -> Any:
        return Number(self._device(number).number, self)

    @entry(context=False)
    def cuDeviceGetName(self, length: int, device: Any) -> bytes:
        return self._device(device).name.encode()[: length - 1].ljust(length, b"\0")

    @entry(context=False)
    def cuDeviceGetAttribute(self, which: Any, device: Any) -> int:
        return self._device(device).attribute(which.name)

    @entry(context=False)
    def cuDeviceTotalMem(self, device: Any) -> int:
        return self._device(device).total

    @entry(context=False)
    def cuDevicePrimaryCtxRetain(self, device: Any) -> Any:
        found = self._device(device)
        found.retained += 1
        return real.CUcontext(found.handle)

    @entry(context=False)
    def cuDevicePrimaryCtxRelease(self, device: Any) -> tuple[()]:
        found = self._device(device)
        if isinstance(device, Number) and device.owner is not self:
            return ()  # late, and meant for the driver of another test
        if found.retained == 0:
            raise Refused("CUDA_ERROR_INVALID_CONTEXT")
        found.retained -= 1
        if found.retained == 0:  # all that was in it is gone
            left = {
                kind: n for kind, n in self.live.items() if n and kind not in ("contexts", "modules", "registrations")
            }
            self.leaked = {kind: self.leaked.get(kind, 0) + n for kind, n in left.items()}
            self._alive = {n: h for n, h in self._alive.items() if h.context is not found}
            for address in list(found.memory.regions):
                found.memory.free(address)
            found.memory.symbols.clear()
        return ()

    @entry(context=False)
    def cuCtxSetCurrent(self, context: Any) -> tuple[()]:
        if self._lost:
            raise Refused(self._lost)
        number = int(context) if context is not None else 0
        found = next((d for d in self.devices if d.handle == number and d.retained), None)
        if number and found is None:
            raise Refused("CUDA_ERROR_INVALID_CONTEXT")
        self._thread.device = found
        return ()

    @entry(context=False)
    def cuCtxPushCurrent(self, context: Any) -> tuple[()]:
        below = getattr(self._thread, "device", None)
        self.cuCtxSetCurrent.__wrapped__(self, context)
        self._thread.below = [*getattr(self._thread, "below", []), below]
        return ()

    @entry(context=False)
    def cuCtxPopCurrent(self) -> Any:
        device: Device | None = getattr(self._thread, "device", None)
        if device is None:
            raise Refused("CUDA_ERROR_INVALID_CONTEXT")
        *self._thread.below, self._thread.device = getattr(self._thread, "below", []) or [None]
        return real.CUcontext(device.handle)

    @entry(context=False)
    def cuCtxGetCurrent(self) -> Any:
        device: Device | None = getattr(self._thread, "device", None)
        return real.CUcontext(device.handle if device is not None else 0)

    @entry()
    def cuCtxGetDevice(self) -> Any:
        return real.CUdevice(self.current.number)

    @entry(capturing=False)
    def cuCtxSynchronize(self) -> tuple[()]:
        for stream in self.streams():
            stream.drain()
        return ()
