"""What the fake driver is made of: machine code, streams, graphs, GPUs, and the door that every call goes through."""

from __future__ import annotations

import ctypes
import functools
import itertools
import re
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from cuda.bindings import driver as real
from ptx.machine import Module
from ptx.memory import Fault, Memory

MAGIC = b"\x7fELF fake cubin "
HEAD = 64


class Refused(Exception):
    """A call returns this error, by its name in ``CUresult``."""

    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error = error


@functools.lru_cache(512)
def module_of(text: str, contract: bool) -> Module:
    """One machine for one text, however often it is loaded."""
    return Module(text, contract)


def check_ptx(text: str, capability: tuple[int, int], driver: int) -> None:
    """What the compiler in a driver refuses: no PTX, PTX of a newer toolkit, or for a newer GPU."""
    version = re.search(r"^\s*\.version\s+(\d+)\.(\d+)", text, re.MULTILINE)
    target = re.search(r"^\s*\.target\s+sm_(\d+)", text, re.MULTILINE)
    if version is None or target is None or ".entry" not in text:
        raise Refused("CUDA_ERROR_INVALID_PTX")
    needed = 10 * (int(version[1]) + 4) if int(version[1]) >= 9 else 120  # PTX 9.0 came with CUDA 13.0
    if needed > driver // 100 and int(version[1]) >= 9:
        raise Refused("CUDA_ERROR_UNSUPPORTED_PTX_VERSION")
    if int(target[1]) > 10 * capability[0] + capability[1]:
        raise Refused("CUDA_ERROR_NO_BINARY_FOR_GPU")


def cubin(text: str, capability: tuple[int, int]) -> bytes:
    """An image for that processor."""
    head = MAGIC + f"sm_{capability[0]}{capability[1]} {len(text.encode())} ".encode()
    return head.ljust(HEAD, b"\0") + text.encode()


def raw(image: Any, size: int | None = None) -> bytes:
    """The bytes behind what a call was given: an object with a buffer, or an address."""
    if isinstance(image, bytes | bytearray | memoryview):
        return bytes(image)
    if hasattr(image, "__array_interface__"):
        return bytes(memoryview(image).cast("B"))
    address = int(image)
    if size is not None:
        return ctypes.string_at(address, size)
    if ctypes.string_at(address, len(MAGIC)) == MAGIC:
        head = ctypes.string_at(address, HEAD)
        return ctypes.string_at(address, HEAD + int(head[len(MAGIC) :].split()[1]))
    return ctypes.string_at(address)


def load(image: bytes, capability: tuple[int, int], driver: int, contract: bool) -> Module:
    """The module of an image, PTX or machine code."""
    if image.startswith(MAGIC):
        words = image[len(MAGIC) : HEAD].split()
        made_for = int(words[0][3:])
        if len(image) < HEAD + int(words[1]):
            raise Refused("CUDA_ERROR_INVALID_IMAGE")
        if made_for // 10 != capability[0] or made_for % 10 > capability[1]:
            raise Refused("CUDA_ERROR_NO_BINARY_FOR_GPU")
        return module_of(image[HEAD : HEAD + int(words[1])].decode(), contract)
    try:
        text = image.rstrip(b"\0").decode()
    except UnicodeDecodeError:
        raise Refused("CUDA_ERROR_INVALID_IMAGE") from None
    if ".version" not in text:
        raise Refused("CUDA_ERROR_INVALID_IMAGE")
    check_ptx(text, capability, driver)
    return module_of(text, contract)


_NUMBERS = itertools.count(0x5550_0000, 0x10)


class Handle:
    """Something that the driver knows by a number."""

    def __init__(self, context: Any) -> None:
        self.number, self.context = next(_NUMBERS), context


class Event(Handle):
    """A mark in a stream. ``asked`` records so far, ``done`` of them reached."""

    def __init__(self, context: Any, timed: bool) -> None:
        super().__init__(context)
        self.timed, self.asked, self.done = timed, 0, 0
        self.stream: Stream | None = None
        self.time = 0.0

    def reach(self, ticket: int) -> None:
        self.done, self.time = max(self.done, ticket), time.perf_counter()

    def drive(self, ticket: int) -> None:
        """Let its stream work until the mark is reached."""
        while self.done < ticket:
            if self.stream is None or not self.stream.step():
                raise Fault("an event is waited for that nobody will reach")


class Stream(Handle):
    """Work in order. While it captures, work goes into a graph instead."""

    def __init__(self, context: Any, blocking: bool) -> None:
        super().__init__(context)
        self.blocking = blocking
        self.queue: deque[tuple[Callable[[], None], range]] = deque()
        self.capture: list[Callable[[], None]] | None = None
        self.capture_thread: int | None = None
        self.spoiled = False  # a call in between that a capture does not allow

    def put(self, work: Callable[[], None], host: range = range(0)) -> None:
        """Queue work; `host` are the addresses of host memory that it will use."""
        if self.capture is not None:
            self.capture.append(work)
        else:
            self.queue.append((work, host))

    def step(self) -> bool:
        """Do the first piece of work; False if there was none."""
        if not self.queue:
            return False
        work, _ = self.queue.popleft()
        work()
        return True

    def drain(self) -> None:
        while self.step():
            pass

    def record(self, event: Event) -> None:
        event.asked += 1
        event.stream, ticket = self, event.asked
        self.put(lambda: event.reach(ticket))

    def wait(self, event: Event) -> None:
        ticket = event.asked
        if ticket:
            self.put(lambda: event.drive(ticket))


class Graph(Handle):
    """What was captured, or (``ready``) what can be launched."""

    def __init__(self, context: Any, work: list[Callable[[], None]], ready: bool = False) -> None:
        super().__init__(context)
        self.work, self.ready = list(work), ready

    def run(self) -> None:
        for piece in self.work:
            piece()


LARGEST_GRID = (2**31 - 1, 65535, 65535)
LARGEST_BLOCK = (1024, 1024, 64)
SHARED = 48 * 1024
SHARED_IF_ASKED = {(7, 5): 64, (8, 0): 163, (8, 6): 99, (8, 7): 163, (8, 9): 99, (9, 0): 227, (10, 0): 227, (12, 0): 99}
"""Kilobytes of shared memory that a block may have, by CUDA's programming guide."""

_SERIAL = itertools.count()


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
        def call(self: Any, *args: Any) -> tuple[Any, ...]:
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
