"""A fake of ``cuda.bindings.driver`` that executes the real PTX, for tests without a GPU.

Same functions, same way of returning (a tuple, the CUresult first), the real enumerations. What is harsher than a GPU
is: queued work runs at the last moment, host memory of an asynchronous copy is read or written only then, memory is
full of NaN until it is written, an address is never given twice. A wrong access or a race of a kernel raises
``ptx.memory.Fault`` through the call that let it run; with ``faults="error"`` it becomes the error that a driver
returns, and the context is broken.

It does not model: time, the copy engines' overlap, contexts other than primary ones, textures, peers, memory pools.
"""

from __future__ import annotations

import ctypes
import os
import re
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from cuda.bindings import driver as real
from cuda.pathfinder import DynamicLibNotFoundError
from fake_parts import (
    LARGEST_BLOCK,
    LARGEST_GRID,
    Device,
    Event,
    Graph,
    Handle,
    Link,
    LoadedFunction,
    LoadedModule,
    Refused,
    Stream,
    check_ptx,
    cubin,
    entry,
    load,
    raw,
)
from ptx.machine import Module
from ptx.memory import Fault

SILENT = re.compile(
    "Init|Set|Free|Destroy|Release|Memcpy|Register|Unregister|Synchronize|Query|Launch|Record|Wait|Add|Un|Up|Begin"
)
"""Functions that return nothing but their error."""
UNBROKEN = ("cuGetErrorString", "cuCtxPopCurrent")
"""Functions that touch no context."""


class Number(int):
    """A device of one fake driver: an object of an earlier test may give its context back when it is collected."""

    owner: Any

    def __new__(cls, number: int, owner: Any) -> Number:
        found = super().__new__(cls, number)
        found.owner = owner
        return found


class FakeDriver:
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

    def __init__(
        self,
        devices: int = 1,
        memory: int = 1 << 30,
        *,
        capability: tuple[int, int] = (9, 0),
        version: int = 13000,
        races: bool = True,
        contract: bool = False,
        faults: str = "raise",
        installed: bool = True,
    ) -> None:
        self.devices = [Device(k, f"Fake GPU {k}", capability, memory) for k in range(devices)]
        self.version, self.races, self.faults, self.installed = version, races, faults, installed
        self.contract = contract
        self.calls: Counter[str] = Counter()
        self.log: list[str] = []  # calls in order, but for those that a broken context allows
        self.last_fault: Fault | None = None
        self.lock = threading.RLock()
        self._process: int | None = None
        self._thread = threading.local()
        self._lost = ""
        self._failures: dict[str, list[tuple[int, str, bool]]] = {}
        self._alive: dict[int, Handle] = {}
        self.launched: Counter[str] = Counter()  # kernels that ran, by name
        self.leaked: dict[str, int] = {}  # what was alive when the last holder of a context let it go
        self._registered: dict[int, int] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or (name.startswith("cu") and not name.startswith("cuuint")):
            raise AttributeError(f"the fake driver has no {name}; add it to tests/cuda/fake_driver.py")
        return getattr(real, name)  # enumerations and types

    # ---- what a test asks for

    def fail(self, name: str, error: str, after: int = 0, times: int = 1, *, lose: bool = False) -> None:
        """After so many more calls of the function, the next `times` return that error (a name of CUresult).

        An empty name counts the calls of all functions, as `log` has them; `lose`: the context is broken from then on.
        """
        if name:
            getattr(self, name)
        done = self.calls[name] if name else len(self.log)
        self._failures.setdefault(name, []).extend((done + after + 1 + k, error, lose) for k in range(times))

    def lose(self, error: str = "CUDA_ERROR_DEVICE_UNAVAILABLE") -> None:
        """The contexts are broken: queued work is gone, and everything that needs one returns that error."""
        self._lost = error
        for handle in self._alive.values():
            if isinstance(handle, Stream):
                handle.queue.clear()
        for device in self.devices:
            device.legacy.queue.clear()

    @property
    def live(self) -> dict[str, int]:
        """What was made and not given back, by kind."""
        kinds = {"streams": Stream, "events": Event, "graphs": Graph, "modules": LoadedModule, "links": Link}
        found = {n: sum(isinstance(h, kind) for h in self._alive.values()) for n, kind in kinds.items()}
        symbols = [len(d.memory.symbols) for d in self.devices]
        found["allocations"] = sum(len(d.memory.regions) - n for d, n in zip(self.devices, symbols, strict=True))
        found["registrations"] = len(self._registered)
        found["contexts"] = sum(d.retained for d in self.devices)
        return found

    # ---- the gate that every call goes through

    def _gate(self, name: str, context: bool, capturing: bool) -> None:
        if not self.installed:
            raise DynamicLibNotFoundError('"cuda" is an NVIDIA driver library: ensure that the driver is installed')
        if name not in UNBROKEN:
            self.log.append(name)
        counts = {name: self.calls[name]} | ({} if name in UNBROKEN else {"": len(self.log)})
        for which, count in counts.items():
            for plan in [plan for plan in self._failures.get(which, []) if plan[0] == count]:
                self._failures[which].remove(plan)
                for stream in [h for h in self._alive.values() if isinstance(h, Stream)]:
                    if name == "cuStreamEndCapture":  # however it ends, it has ended
                        stream.capture = stream.capture_thread = None
                if plan[2]:
                    self.lose(plan[1])
                raise Refused(plan[1])
        if name in ("cuInit", "cuDriverGetVersion", "cuGetErrorName", "cuGetErrorString"):
            return
        if self._process != os.getpid():
            raise Refused("CUDA_ERROR_NOT_INITIALIZED")  # no cuInit, or a forked process
        if context:
            if self._lost:
                raise Refused(self._lost)
            self.current  # noqa: B018  (refuses a thread without a context)
        if not capturing:
            for handle in self._alive.values():
                if isinstance(handle, Stream) and handle.capture_thread == threading.get_ident():
                    handle.spoiled = True
                    raise Refused("CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED")

    def _refuse(self, error: str, name: str) -> tuple[Any, ...]:
        """An error, with as many empty results as the function has."""
        results = {"cuMemGetInfo": 2, "cuLinkComplete": 2}
        count = results.get(name, 0 if SILENT.search(name) else 1)
        return (getattr(real.CUresult, error), *[None] * count)

    @property
    def current(self) -> Device:
        """The device whose context this thread has made current."""
        device: Device | None = getattr(self._thread, "device", None)
        if device is None or device.retained == 0:
            raise Refused("CUDA_ERROR_INVALID_CONTEXT")
        return device

    def _find(self, handle: Any, kind: type[Any]) -> Any:
        found = self._alive.get(int(handle))
        if not isinstance(found, kind):
            raise Refused("CUDA_ERROR_INVALID_HANDLE")
        if found.context is not self.current:
            raise Refused("CUDA_ERROR_INVALID_CONTEXT")
        return found

    def _keep(self, handle: Handle) -> int:
        self._alive[handle.number] = handle
        return handle.number

    def _stream(self, handle: Any) -> Stream:
        return self.current.legacy if int(handle) in (0, 1) else self._find(handle, Stream)

    def _device(self, number: Any) -> Device:
        if not 0 <= int(number) < len(self.devices):
            raise Refused("CUDA_ERROR_INVALID_DEVICE")
        return self.devices[int(number)]

    def streams(self) -> list[Stream]:
        """Those of the current context."""
        mine = [h for h in self._alive.values() if isinstance(h, Stream) and h.context is self.current]
        return [self.current.legacy, *mine]

    def _put(self, stream: Stream, work: Callable[[], None], host: range = range(0)) -> None:
        """Queue work. The default stream and those that are not NON_BLOCKING wait for each other."""
        others = self.streams() if stream is self.current.legacy else [self.current.legacy] if stream.blocking else []
        for other in others:
            if other is not stream and other.blocking:
                other.drain()
        stream.put(work, host)

    # ---- devices and contexts

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

    @entry(capturing=False)
    def cuCtxSynchronize(self) -> tuple[()]:
        for stream in self.streams():
            stream.drain()
        return ()

    # ---- memory: copies are checked when they are asked for, and done when their stream comes to them

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

    @entry()
    def cuMemsetD8Async(self, to: Any, value: int, nbytes: int, stream: Any) -> tuple[()]:
        target = self._bytes(to, nbytes)
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

    # ---- streams and events

    @entry()
    def cuStreamCreate(self, flags: Any) -> Any:
        blocking = int(flags) & int(real.CUstream_flags.CU_STREAM_NON_BLOCKING) == 0
        return real.CUstream(self._keep(Stream(self.current, blocking)))

    @entry()
    def cuStreamDestroy(self, stream: Any) -> tuple[()]:
        found = self._find(stream, Stream)
        found.drain()
        del self._alive[found.number]
        return ()

    @entry()
    def cuStreamSynchronize(self, stream: Any) -> tuple[()]:
        found = self._stream(stream)
        self._no_capture(found)
        found.drain()
        return ()

    @entry()
    def cuStreamQuery(self, stream: Any) -> tuple[()]:
        found = self._stream(stream)
        self._no_capture(found)
        found.step()
        if found.queue:
            raise Refused("CUDA_ERROR_NOT_READY")
        return ()

    def _no_capture(self, stream: Stream) -> None:
        if stream.capture is not None:
            stream.spoiled = True
            raise Refused("CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED")

    @entry()
    def cuStreamWaitEvent(self, stream: Any, event: Any, flags: int) -> tuple[()]:
        found, mark = self._stream(stream), self._find(event, Event)
        if (found.capture is None) != (mark.stream is None or mark.stream.capture is None):
            raise NotImplementedError("a capture over several streams")
        found.wait(mark)
        return ()

    @entry()
    def cuEventCreate(self, flags: Any) -> Any:
        timed = not int(flags) & int(real.CUevent_flags.CU_EVENT_DISABLE_TIMING)
        return real.CUevent(self._keep(Event(self.current, timed)))

    @entry()
    def cuEventRecord(self, event: Any, stream: Any) -> tuple[()]:
        self._stream(stream).record(self._find(event, Event))
        return ()

    @entry(capturing=False)
    def cuEventQuery(self, event: Any) -> tuple[()]:
        found = self._find(event, Event)
        if found.done < found.asked and found.stream is not None:
            found.stream.step()
        if found.done < found.asked:
            raise Refused("CUDA_ERROR_NOT_READY")
        return ()

    @entry(capturing=False)
    def cuEventSynchronize(self, event: Any) -> tuple[()]:
        found = self._find(event, Event)
        found.drive(found.asked)
        return ()

    @entry()
    def cuEventElapsedTime(self, start: Any, end: Any) -> float:
        first, last = self._find(start, Event), self._find(end, Event)
        if not (first.timed and last.timed and first.asked and last.asked):
            raise Refused("CUDA_ERROR_INVALID_HANDLE")
        if first.done < first.asked or last.done < last.asked:
            raise Refused("CUDA_ERROR_NOT_READY")
        return 1000 * (last.time - first.time)

    @entry()
    def cuEventDestroy(self, event: Any) -> tuple[()]:
        del self._alive[self._find(event, Event).number]
        return ()

    # ---- modules, functions, the compiler in the driver

    @entry()
    def cuLinkCreate(self, count: int, options: Any, values: Any) -> Any:
        return real.CUlinkState(self._keep(Link(self.current)))

    @entry()
    def cuLinkAddData(
        self, state: Any, kind: Any, data: Any, size: int, name: bytes, count: int, options: Any, values: Any
    ) -> tuple[()]:
        link = self._find(state, Link)
        if kind != real.CUjitInputType.CU_JIT_INPUT_PTX:
            raise NotImplementedError(f"linking of {kind}")
        text = raw(data, size)[:size].rstrip(b"\0").decode()
        check_ptx(text, self.current.capability, self.version)
        link.texts.append(text)
        return ()

    @entry()
    def cuLinkComplete(self, state: Any) -> tuple[int, int]:
        link = self._find(state, Link)
        (text,) = link.texts
        image = cubin(text, self.current.capability)
        link.result = ctypes.create_string_buffer(image, len(image))
        return ctypes.addressof(link.result), len(image)

    @entry()
    def cuLinkDestroy(self, state: Any) -> tuple[()]:
        link = self._find(state, Link)
        if link.result is not None:
            ctypes.memset(link.result, 0, len(link.result))  # it was the link's
        del self._alive[link.number]
        return ()

    @entry(capturing=False)
    def cuModuleLoadData(self, image: Any) -> Any:
        machine = load(raw(image), self.current.capability, self.version, self.contract)
        return real.CUmodule(self._keep(LoadedModule(self.current, machine)))

    @entry()
    def cuModuleGetFunction(self, module: Any, name: bytes) -> Any:
        found = self._find(module, LoadedModule)
        text = name.decode()
        if text not in found.machine.kernels:
            raise Refused("CUDA_ERROR_NOT_FOUND")
        if text not in found.functions:
            found.functions[text] = LoadedFunction(self.current, found, text)
            self._keep(found.functions[text])
        return real.CUfunction(found.functions[text].number)

    @entry()
    def cuFuncSetAttribute(self, function: Any, which: Any, value: int) -> tuple[()]:
        found = self._find(function, LoadedFunction)
        if which == real.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
            if value + found.static > self.current.shared:
                raise Refused("CUDA_ERROR_INVALID_VALUE")
            found.dynamic = value
        elif which != real.CUfunction_attribute.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
            raise NotImplementedError(f"attribute {which}")
        return ()

    @entry()
    def cuFuncGetAttribute(self, which: Any, function: Any) -> int:
        found = self._find(function, LoadedFunction)
        machine = found.module.machine
        known = {
            "SHARED_SIZE_BYTES": found.static,
            "LOCAL_SIZE_BYTES": machine.local_bytes(found.name),
            "MAX_THREADS_PER_BLOCK": machine.most_threads(found.name),
            "NUM_REGS": 32,
            "MAX_DYNAMIC_SHARED_SIZE_BYTES": found.dynamic,
        }
        return known[which.name.removeprefix("CU_FUNC_ATTRIBUTE_")]

    # ---- launches and graphs of them

    @entry()
    def cuLaunchKernel(self, function: Any, *rest: Any) -> tuple[()]:
        gx, gy, gz, bx, by, bz, shared, stream, parameters, _extra = rest
        found = self._find(function, LoadedFunction)
        grid, block = (int(gx), int(gy), int(gz)), (int(bx), int(by), int(bz))
        machine, name = found.module.machine, found.name
        small = all(1 <= n <= top for n, top in zip((*grid, *block), (*LARGEST_GRID, *LARGEST_BLOCK), strict=True))
        if not small or block[0] * block[1] * block[2] > machine.most_threads(name) or shared > found.dynamic:
            raise Refused("CUDA_ERROR_INVALID_VALUE")
        packed = _pack(machine, name, parameters)
        memory, races = self.current.memory, self.races

        def work() -> None:
            self.launched[name] += 1
            machine.launch(name, grid, block, shared, packed, memory, races=races)

        self._put(self._stream(stream), work)
        return ()

    @entry()
    def cuStreamBeginCapture(self, stream: Any, mode: Any) -> tuple[()]:
        found = self._stream(stream)
        if found is self.current.legacy or found.capture is not None:
            raise Refused("CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED")
        relaxed = mode == real.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        found.capture, found.spoiled = [], False
        found.capture_thread = None if relaxed else threading.get_ident()
        return ()

    @entry()
    def cuStreamEndCapture(self, stream: Any) -> Any:
        found = self._stream(stream)
        if found.capture is None:
            raise Refused("CUDA_ERROR_ILLEGAL_STATE")
        work, found.capture, found.capture_thread = found.capture, None, None
        if found.spoiled:
            raise Refused("CUDA_ERROR_STREAM_CAPTURE_INVALIDATED")
        return real.CUgraph(self._keep(Graph(self.current, work)))

    @entry()
    def cuGraphInstantiate(self, graph: Any, flags: int) -> Any:
        return real.CUgraphExec(self._keep(Graph(self.current, self._find(graph, Graph).work, ready=True)))

    @entry()
    def cuGraphUpload(self, graph: Any, stream: Any) -> tuple[()]:
        self._find(graph, Graph)
        self._stream(stream)
        return ()

    @entry()
    def cuGraphLaunch(self, graph: Any, stream: Any) -> tuple[()]:
        found = self._find(graph, Graph)
        if not found.ready:
            raise Refused("CUDA_ERROR_INVALID_HANDLE")
        self._put(self._stream(stream), found.run)
        return ()

    @entry()
    def cuGraphDestroy(self, graph: Any) -> tuple[()]:
        del self._alive[self._find(graph, Graph).number]
        return ()

    @entry()
    def cuGraphExecDestroy(self, graph: Any) -> tuple[()]:
        del self._alive[self._find(graph, Graph).number]
        return ()


def _address(host: Any) -> int:
    """Where host memory begins: a number, or an object with a buffer."""
    return host if isinstance(host, int) else np.asarray(memoryview(host)).ctypes.data


def _pack(machine: Module, name: str, parameters: Any) -> bytes:
    """A kernel's parameters as bytes, copied now: ``((values), (ctypes))`` or the address of an array of addresses."""
    declared = machine.parameters(name)
    size = machine.program(name).size
    packed = bytearray(size)
    if isinstance(parameters, Sequence) and not isinstance(parameters, bytes):
        values, kinds = parameters
        if len(values) != len(declared):
            raise Refused("CUDA_ERROR_INVALID_VALUE")
        pieces = [bytes(kind(int(v) if kind is ctypes.c_void_p else v)) for v, kind in zip(values, kinds, strict=True)]
    else:
        places = ctypes.cast(int(parameters), ctypes.POINTER(ctypes.c_void_p)) if declared else []
        pieces = [ctypes.string_at(places[k], v.nbytes) for k, (_, v) in enumerate(declared)]
    for (at, variable), piece in zip(declared, pieces, strict=True):
        if len(piece) != variable.nbytes:
            raise Fault(f"{name}: a parameter of {variable.nbytes} bytes was given {len(piece)}")
        packed[at : at + len(piece)] = piece
    return bytes(packed)
