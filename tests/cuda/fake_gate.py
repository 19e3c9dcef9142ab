"""What every call of the fake driver goes through: errors asked for, contexts, threads, forks, captures."""

from __future__ import annotations

import functools
import itertools
import os
import re
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from cuda.bindings import driver as real
from cuda.pathfinder import DynamicLibNotFoundError
from fake_images import Refused
from fake_streams import Event, Graph, Handle, Stream
from ptx.machine import Module
from ptx.memory import Fault, Memory

LARGEST_GRID = (2**31 - 1, 65535, 65535)
LARGEST_BLOCK = (1024, 1024, 64)
SHARED = 48 * 1024
SHARED_IF_ASKED = {(7, 5): 64, (8, 0): 163, (8, 6): 99, (8, 7): 163, (8, 9): 99, (9, 0): 227, (10, 0): 227, (12, 0): 99}
"""Kilobytes of shared memory that a block may have, by CUDA's programming guide."""

_SERIAL = itertools.count()
SILENT = re.compile(
    "Init|Set|Free|Destroy|Release|Memcpy|Register|Unregister|Synchronize|Query|Launch|Record|Wait|Add|Un|Up|Begin"
)
"""Functions that return nothing but their error."""


class Device:
    """One GPU: its memory, its primary context, what is alive in it."""

    def __init__(self, number: int, name: str, capability: tuple[int, int], memory: int) -> None:
        self.number, self.name, self.capability = number, name, capability
        self.memory = Memory(memory)
        serial = next(_SERIAL)  # of all tests: what an object of an earlier one gives back is nothing of a later one
        self.memory.start(0x7F2000000000 + (serial << 40))
        self.total = memory
        self.handle = 0x7700_0000 + 0x100 * serial
        self.shared = 1024 * SHARED_IF_ASKED[capability]
        self.retained = 0
        self.legacy = Stream(self, blocking=True)

    def attribute(self, name: str) -> int:
        known = {
            "COMPUTE_CAPABILITY_MAJOR": self.capability[0],
            "COMPUTE_CAPABILITY_MINOR": self.capability[1],
            "MULTIPROCESSOR_COUNT": 4,
            "WARP_SIZE": 32,
            "MAX_THREADS_PER_BLOCK": 1024,
            "MAX_SHARED_MEMORY_PER_BLOCK": SHARED,
            "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": self.shared,
            "L2_CACHE_SIZE": 50 << 20,
            "UNIFIED_ADDRESSING": 1,
            "HOST_REGISTER_SUPPORTED": 1,
            "INTEGRATED": 0,
            "COMPUTE_MODE": 0,
            "PCI_BUS_ID": 1 + self.number,
            "PCI_DEVICE_ID": 0,
            "PCI_DOMAIN_ID": 0,
            "CLOCK_RATE": 1_980_000,
            "MEMORY_CLOCK_RATE": 3_201_000,
            "ASYNC_ENGINE_COUNT": 3,
        }
        return known[name.removeprefix("CU_DEVICE_ATTRIBUTE_")]


class LoadedFunction(Handle):
    def __init__(self, context: Device, module: LoadedModule, name: str) -> None:
        super().__init__(context)
        self.module, self.name = module, name
        self.static = module.machine.shared_bytes(name)
        self.dynamic = SHARED - self.static  # shared memory that a launch may ask for


class LoadedModule(Handle):
    def __init__(self, context: Device, machine: Module) -> None:
        super().__init__(context)
        self.machine = machine
        self.functions: dict[str, LoadedFunction] = {}


class Link(Handle):
    def __init__(self, context: Device) -> None:
        super().__init__(context)
        self.texts: list[str] = []
        self.result: Any = None


def entry(*, context: bool = True, capturing: bool = True) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A function of the driver; `context`: it needs a current one; `capturing`: a capture allows it."""

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__

        @functools.wraps(function)
        def call(self: Gate, *args: Any) -> tuple[Any, ...]:
            with self.lock:
                self.calls[name] += 1
                try:
                    self._gate(name, context, capturing)
                    found = function(self, *args)
                except Refused as refused:
                    return self._refuse(refused.error, name)
                except Fault as fault:
                    if self.faults == "raise":
                        raise
                    self.last_fault = fault
                    self.lose("CUDA_ERROR_ILLEGAL_ADDRESS")
                    return self._refuse("CUDA_ERROR_ILLEGAL_ADDRESS", name)
                return (real.CUresult.CUDA_SUCCESS, *(found if isinstance(found, tuple) else (found,)))

        return call

    return wrap


class Gate:
    """State of a fake driver; the functions are in the classes that follow."""

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
        self.last_fault: Fault | None = None
        self.lock = threading.RLock()
        self._process: int | None = None
        self._thread = threading.local()
        self._lost = ""
        self._failures: dict[str, list[tuple[int, str]]] = {}
        self._alive: dict[int, Handle] = {}
        self.launched: Counter[str] = Counter()  # kernels that ran, by name
        self.leaked: dict[str, int] = {}  # what was alive when the last holder of a context let it go
        self._registered: dict[int, int] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or (name.startswith("cu") and not name.startswith("cuuint")):
            raise AttributeError(f"the fake driver has no {name}; add it to tests/cuda/fake_driver.py")
        return getattr(real, name)  # enumerations and types

    # ---- what a test asks for

    def fail(self, name: str, error: str, after: int = 0, times: int = 1) -> None:
        """After so many more calls of the function, the next `times` return that error (a name of CUresult)."""
        getattr(self, name)
        planned = self._failures.setdefault(name, [])
        planned.extend((self.calls[name] + after + 1 + k, error) for k in range(times))

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
        planned = self._failures.get(name, [])
        for plan in planned:
            if plan[0] == self.calls[name]:
                planned.remove(plan)
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
        results = {"cuMemGetInfo": 2, "cuLinkComplete": 2, "cuCtxGetStreamPriorityRange": 2}
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
