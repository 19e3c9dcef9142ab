"""The fake driver's functions for memory: allocations, copies, registered host memory."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from cuda.bindings import driver as real
from fake_gate import Gate, entry
from fake_images import Refused
from fake_streams import Stream
from ptx.memory import Fault


class MemoryCalls(Gate):
    """Copies are checked when they are asked for, and touch memory when their stream comes to them."""

    @entry()
    def cuMemGetInfo(self) -> tuple[int, int]:
        device = self.current
        return device.total - device.memory.used, device.total

    @entry(capturing=False)
    def cuMemAlloc(self, nbytes: int) -> Any:
        if nbytes < 1:
            raise Refused("CUDA_ERROR_INVALID_VALUE")
        try:
            return real.CUdeviceptr(self.current.memory.allocate(nbytes))
        except MemoryError:
            raise Refused("CUDA_ERROR_OUT_OF_MEMORY") from None

    @entry(capturing=False)
    def cuMemFree(self, address: Any) -> tuple[()]:
        for stream in self.streams():  # as the driver does: all that may use it is done first
            stream.drain()
        if int(address) not in self.current.memory.regions:
            raise Refused("CUDA_ERROR_INVALID_VALUE")
        self.current.memory.free(int(address))
        return ()

    def _bytes(self, address: Any, nbytes: int) -> np.ndarray:
        """Device memory as bytes; refused if it is not all in one allocation."""
        try:
            return self.current.memory.view(int(address), nbytes, np.uint8)
        except Fault:
            raise Refused("CUDA_ERROR_INVALID_VALUE") from None

    def _owner(self, host: Any) -> Callable[[], Any]:
        """Returns the owner of host memory, or None when that is gone: its address may be somebody else's by then."""
        if not isinstance(host, int):
            return weakref.ref(host.obj if isinstance(host, memoryview) else host)
        if not any(start <= host < start + nbytes for start, nbytes in self._registered.items()):
            raise TypeError(f"a bare address of host memory, {host:#x}: pass its buffer, or register it before")
        return lambda: host  # cuMemHostUnregister raises while a copy is queued

    def _copy(self, to: Any, source: Any, nbytes: int, which: str, stream: Stream) -> None:
        """Queue a copy; device addresses are checked now, host memory is touched then."""
        to_host, from_host = which == "DtoH", which == "HtoD"
        array = to if to_host else source if from_host else None
        host = 0 if array is None else _address(array)
        if (to_host or from_host) and host == 0:
            raise Refused("CUDA_ERROR_INVALID_VALUE")
        owner = None if array is None else self._owner(array)
        target = None if to_host else self._bytes(to, nbytes)
        origin = None if from_host else self._bytes(source, nbytes)
        memory, device = self.current.memory, int(source if to_host else to)

        def work() -> None:
            memory.view(device, nbytes, np.uint8)  # it may have been freed meanwhile
            if owner is not None and owner() is None:
                raise Fault("a queued copy uses host memory that was freed", host)
            if target is None and origin is not None:
                ctypes.memmove(host, origin.ctypes.data, nbytes)
            elif target is not None and origin is None:
                ctypes.memmove(target.ctypes.data, host, nbytes)
            elif target is not None and origin is not None:
                target[:] = origin.copy()

        if nbytes:
            self._put(stream, work, range(host, host + nbytes) if host else range(0))

    @entry()
    def cuMemcpyHtoDAsync(self, to: Any, source: Any, nbytes: int, stream: Any) -> tuple[()]:
        self._copy(to, source, nbytes, "HtoD", self._stream(stream))
        return ()

    @entry()
    def cuMemcpyDtoHAsync(self, to: Any, source: Any, nbytes: int, stream: Any) -> tuple[()]:
        self._copy(to, source, nbytes, "DtoH", self._stream(stream))
        return ()

    @entry()
    def cuMemcpyDtoDAsync(self, to: Any, source: Any, nbytes: int, stream: Any) -> tuple[()]:
        self._copy(to, source, nbytes, "DtoD", self._stream(stream))
        return ()

    def _at_once(self, to: Any, source: Any, nbytes: int, which: str) -> tuple[()]:
        self._copy(to, source, nbytes, which, self.current.legacy)
        self.current.legacy.drain()
        return ()

    @entry(capturing=False)
    def cuMemcpyHtoD(self, to: Any, source: Any, nbytes: int) -> tuple[()]:
        return self._at_once(to, source, nbytes, "HtoD")

    @entry(capturing=False)
    def cuMemcpyDtoH(self, to: Any, source: Any, nbytes: int) -> tuple[()]:
        return self._at_once(to, source, nbytes, "DtoH")

    @entry(capturing=False)
    def cuMemcpyDtoD(self, to: Any, source: Any, nbytes: int) -> tuple[()]:
        return self._at_once(to, source, nbytes, "DtoD")

    @entry()
    def cuMemsetD8Async(self, to: Any, value: int, nbytes: int, stream: Any) -> tuple[()]:
        target = self._bytes(to, nbytes)
        self._put(self._stream(stream), lambda: target.fill(value))
        return ()

    @entry()
    def cuMemsetD32Async(self, to: Any, value: int, count: int, stream: Any) -> tuple[()]:
        target = self._bytes(to, 4 * count).view(np.uint32)
        self._put(self._stream(stream), lambda: target.fill(value))
        return ()

    @entry()
    def cuMemHostRegister(self, address: Any, nbytes: int, flags: int) -> tuple[()]:
        start = _address(address)
        if any(start < a + n and a < start + nbytes for a, n in self._registered.items()):
            raise Refused("CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED")
        self._registered[start] = nbytes
        return ()

    @entry()
    def cuMemHostUnregister(self, address: Any) -> tuple[()]:
        start = _address(address)
        nbytes = self._registered.pop(start, None)
        if nbytes is None:
            raise Refused("CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED")
        for stream in self.streams():
            if any(h.start < start + nbytes and start < h.stop for _, h in stream.queue):
                raise Fault("host memory is unregistered while a queued copy uses it", start)
        return ()


def _address(host: Any) -> int:
    """Where host memory begins: a number, or an object with a buffer."""
    return host if isinstance(host, int) else np.asarray(memoryview(host)).ctypes.data
