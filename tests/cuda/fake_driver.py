"""A fake of ``cuda.bindings.driver`` that executes the real PTX, for tests without a GPU.

It has the functions that the engine calls, the same way of returning (a tuple, the CUresult first), the real
enumerations. What is harsher than a GPU is: queued work runs at the last moment, host memory of an asynchronous copy
is read or written only then, memory is full of NaN until it is written, an address is never given twice. A wrong
access or a race of a kernel raises ``ptx.memory.Fault`` through the call that let it run.

It does not model: time, the copy engines' overlap, contexts other than primary ones, the default stream.
"""

import ctypes
import functools
import itertools
import os
import threading
import weakref
from collections import Counter, deque

import numpy as np
from cuda.bindings import driver as real
from ptx.machine import Module
from ptx.memory import Fault, Memory

MAGIC = b"\x7fELF fake cubin "
LARGEST = (2**31 - 1, 65535, 65535, 1024, 1024, 64)
SHARED, SHARED_IF_ASKED = 48 * 1024, 227 * 1024
MULTIPROCESSORS = 132
UNBROKEN = ("cuGetErrorString", "cuCtxPopCurrent")  # functions that touch no context
FREE = ("cuInit", "cuDr", "cuGet", "cuDevice", "cuCtx")  # that need no current one
NOT_CAPTURED = ("cuMemAlloc", "cuMemFree", "cuModuleLoadData", "cuEventQuery", "cuEventSynchronize")
_NUMBERS, _SERIAL = itertools.count(0x5550_0000, 0x10), itertools.count()


class Refused(Exception):
    """A call returns this error, by its name in ``CUresult``."""

    def __init__(self, error):
        super().__init__(error)
        self.error = "CUDA_ERROR_" + error.removeprefix("CUDA_ERROR_")


module_of = functools.lru_cache(512)(Module)  # one machine for one text, however often it is loaded


class Handle:
    """Something that the driver knows by a number."""

    def __init__(self, context):
        self.number, self.context = next(_NUMBERS), context


class Event(Handle):
    """A mark in a stream. ``asked`` records so far, ``done`` of them reached."""

    def __init__(self, context):
        super().__init__(context)
        self.asked, self.done, self.stream = 0, 0, None

    def record(self, stream):
        self.asked += 1
        self.stream, ticket = stream, self.asked

        def reach():
            self.done = max(self.done, ticket)

        stream.put(reach)

    def drive(self, ticket):
        """Let its stream work until the mark is reached."""
        while self.done < ticket:
            if self.stream is None or not self.stream.step():
                raise Fault("an event is waited for that nobody will reach")


class Stream(Handle):
    """Work in order, with the addresses of host memory that it will use. While it captures, work goes into a graph."""

    def __init__(self, context):
        super().__init__(context)
        self.queue, self.capture, self.capture_thread, self.spoiled = deque(), None, None, False

    def put(self, work, host=range(0)):
        if self.capture is not None:
            self.capture.append(work)
        else:
            self.queue.append((work, host))

    def step(self):
        """Do the first piece of work; False if there was none."""
        if not self.queue:
            return False
        self.queue.popleft()[0]()
        return True

    def drain(self):
        while self.step():
            pass


class Graph(Handle):
    """What was captured, or (``ready``) what can be launched."""

    def __init__(self, context, work, ready=False):
        super().__init__(context)
        self.work, self.ready = list(work), ready

    def run(self):
        for piece in self.work:
            piece()


class Device:
    """One GPU: its memory, its primary context, what is alive in it."""

    def __init__(self, number, name, memory, capability):
        self.number, self.name, self.capability, self.total = number, name, capability, memory
        serial = next(_SERIAL)  # of all tests: what an object of an earlier one gives back is nothing of a later one
        self.memory = Memory(memory, 0x7F2000000000 + (serial << 40))
        self.handle, self.retained = 0x7700_0000 + 0x100 * serial, 0


class LoadedModule(Handle):
    def __init__(self, context, machine):
        super().__init__(context)
        self.machine, self.functions = machine, {}


class LoadedFunction(Handle):
    def __init__(self, context, module, name):
        super().__init__(context)
        self.module, self.name = module, name
        self.static = module.machine.shared_bytes(name)
        self.dynamic = SHARED - self.static  # shared memory that a launch may ask for
        self.threads = module.machine.reader.functions[name].threads


class Link(Handle):
    text, result = "", None


class FakeDriver:
    """Stands where ``cuda.bindings.driver`` is.

    `devices` is how many GPUs of `memory` bytes and that capability, or for each its (name, bytes, capability); 0 is a
    driver without a GPU. `version` is ``1000*major + 10*minor``.
    """

    def __init__(self, devices=1, memory=1 << 30, *, capability=(9, 0), version=13000):
        if isinstance(devices, int):
            devices = [(f"Fake GPU {k}", memory, capability) for k in range(devices)]
        self.devices = [Device(k, *device) for k, device in enumerate(devices)]
        self.version = version
        self.calls, self.launched, self.lock = Counter(), Counter(), threading.RLock()  # kernels that ran, by name
        self.log = []  # calls in order, but for those that a broken context allows
        self._process, self._thread, self._lost = None, threading.local(), ""
        self._failures, self._alive, self._registered = {}, {}, {}

    def __getattr__(self, name):
        if name.startswith("_") or (name.startswith("cu") and not name.startswith("cuuint")):
            raise AttributeError(f"the fake driver has no {name}; add it to tests/cuda/fake_driver.py")
        return getattr(real, name)  # enumerations and types

    # ---- what a test asks for

    def fail(self, name, error, after=0, times=1, *, lose=False):
        """After so many more calls of the function, the next `times` return that error (a name of CUresult).

        An empty name counts the calls of all functions, as `log` has them; `lose`: the context is broken from then on.
        """
        if name:
            getattr(self, name)
        done = self.calls[name] if name else len(self.log)
        self._failures.setdefault(name, []).extend((done + after + 1 + k, error, lose) for k in range(times))

    def lose(self, error="CUDA_ERROR_DEVICE_UNAVAILABLE"):
        """The contexts are broken: queued work is gone, and everything that needs one returns that error."""
        self._lost = error
        for handle in self._of(Stream):
            handle.queue.clear()

    @property
    def live(self):
        """What was made and not given back, by kind."""
        kinds = {"streams": Stream, "events": Event, "graphs": Graph, "modules": LoadedModule, "links": Link}
        found = {n: len(self._of(kind)) for n, kind in kinds.items()}
        found["allocations"] = sum(len(d.memory.regions) - len(d.memory.symbols) for d in self.devices)
        found["registrations"] = len(self._registered)
        return found | {"contexts": sum(d.retained for d in self.devices)}

    # ---- the gate that every call goes through

    def _gate(self, name):
        if name not in UNBROKEN:
            self.log.append(name)
        counts = {name: self.calls[name]} | ({} if name in UNBROKEN else {"": len(self.log)})
        for which, count in counts.items():
            for plan in [plan for plan in self._failures.get(which, []) if plan[0] == count]:
                self._failures[which].remove(plan)
                if name == "cuStreamEndCapture":  # however it ends, it has ended
                    for stream in self._of(Stream):
                        stream.capture = stream.capture_thread = None
                if plan[2]:
                    self.lose(plan[1])
                raise Refused(plan[1])
        if name in ("cuInit", "cuDriverGetVersion", "cuGetErrorString"):
            return
        if self._process != os.getpid():
            raise Refused("NOT_INITIALIZED")  # no cuInit, or a forked process
        if not name.startswith(FREE):
            if self._lost:
                raise Refused(self._lost)
            self.current  # noqa: B018  (refuses a thread without a context)
        for stream in self._of(Stream) if name in NOT_CAPTURED else ():
            if stream.capture_thread == threading.get_ident():
                stream.spoiled = True
                raise Refused("STREAM_CAPTURE_UNSUPPORTED")

    @property
    def current(self):
        """The device whose context this thread has made current."""
        device = getattr(self._thread, "device", None)
        if device is None or device.retained == 0:
            raise Refused("INVALID_CONTEXT")
        return device

    def _of(self, kind):
        return [handle for handle in self._alive.values() if isinstance(handle, kind)]

    def _find(self, handle, kind):
        found = self._alive.get(int(handle))
        if not isinstance(found, kind):
            raise Refused("INVALID_HANDLE")
        if found.context is not self.current:
            raise Refused("INVALID_CONTEXT")
        return found

    def _keep(self, handle):
        self._alive[handle.number] = handle
        return handle.number

    def _device(self, number):
        if not 0 <= int(number) < len(self.devices):
            raise Refused("INVALID_DEVICE")
        return self.devices[int(number)]

    def _streams(self):
        """Those of the current context."""
        return [stream for stream in self._of(Stream) if stream.context is self.current]

    # ---- devices and contexts

    def cuInit(self, flags):
        if not self.devices:
            raise Refused("NO_DEVICE")
        if self._process not in (None, os.getpid()):
            raise Refused("NOT_INITIALIZED")
        self._process = os.getpid()

    def cuDriverGetVersion(self):
        return self.version

    def cuGetErrorString(self, error):
        return real.CUresult(int(error)).name.removeprefix("CUDA_ERROR_").lower().replace("_", " ").encode()

    def cuDeviceGetCount(self):
        return len(self.devices)

    def cuDeviceGet(self, number):
        return self._device(number).number

    def cuDeviceGetName(self, length, device):
        return self._device(device).name.encode()[: length - 1].ljust(length, b"\0")

    def cuDeviceGetAttribute(self, which, device):
        found = self._device(device)
        return {
            "COMPUTE_CAPABILITY_MAJOR": found.capability[0], "COMPUTE_CAPABILITY_MINOR": found.capability[1],
            "MULTIPROCESSOR_COUNT": MULTIPROCESSORS, "CLOCK_RATE": 1_980_000,
            "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": SHARED_IF_ASKED,
        }[which.name.removeprefix("CU_DEVICE_ATTRIBUTE_")]  # fmt: skip

    def cuDeviceTotalMem(self, device):
        return self._device(device).total

    def cuDevicePrimaryCtxRetain(self, device):
        found = self._device(device)
        found.retained += 1
        return real.CUcontext(found.handle)

    def cuCtxSetCurrent(self, context):
        if self._lost:
            raise Refused(self._lost)
        number = int(context) if context is not None else 0
        found = next((d for d in self.devices if d.handle == number and d.retained), None)
        if number and found is None:
            raise Refused("INVALID_CONTEXT")
        self._thread.device = found

    def cuCtxPushCurrent(self, context):
        below = getattr(self._thread, "device", None)
        FakeDriver.cuCtxSetCurrent.__wrapped__(self, context)
        self._thread.below = [*getattr(self._thread, "below", []), below]

    def cuCtxPopCurrent(self):
        device = getattr(self._thread, "device", None)
        if device is None:
            raise Refused("INVALID_CONTEXT")
        *self._thread.below, self._thread.device = getattr(self._thread, "below", []) or [None]
        return real.CUcontext(device.handle)

    def cuCtxGetCurrent(self):
        device = getattr(self._thread, "device", None)
        return real.CUcontext(device.handle if device is not None else 0)

    # ---- memory: copies are checked when they are asked for, and done when their stream comes to them

    def cuMemGetInfo(self):
        return self.current.total - self.current.memory.used, self.current.total

    def cuMemAlloc(self, nbytes):
        if nbytes < 1:
            raise Refused("INVALID_VALUE")
        try:
            return real.CUdeviceptr(self.current.memory.allocate(nbytes))
        except MemoryError:
            raise Refused("OUT_OF_MEMORY") from None

    def cuMemFree(self, address):
        for stream in self._streams():  # as the driver does: all that may use it is done first
            stream.drain()
        if int(address) not in self.current.memory.regions:
            raise Refused("INVALID_VALUE")
        self.current.memory.free(int(address))

    def _bytes(self, address, nbytes):
        """Device memory as bytes; refused if it is not all in one allocation."""
        try:
            return self.current.memory.view(int(address), nbytes, np.uint8)
        except Fault:
            raise Refused("INVALID_VALUE") from None

    def _owner(self, host):
        """Returns the owner of host memory, or None when that is gone: its address may be somebody else's by then."""
        if not isinstance(host, int):
            return weakref.ref(host.obj if isinstance(host, memoryview) else host)
        if not any(start <= host < start + nbytes for start, nbytes in self._registered.items()):
            raise TypeError(f"a bare address of host memory, {host:#x}: pass its buffer, or register it before")
        return lambda: host  # cuMemHostUnregister raises while a copy is queued

    def _copy(self, host, device, nbytes, stream, to_host):
        """Queue a copy from or to the host; the device's address is checked now, host memory is touched then."""
        place, owner, found = _address(host), self._owner(host), self._find(stream, Stream)
        memory, there = self.current.memory, self._bytes(device, nbytes)
        if place == 0:
            raise Refused("INVALID_VALUE")

        def work():
            memory.view(int(device), nbytes, np.uint8)  # it may have been freed meanwhile
            if owner() is None:
                raise Fault("a queued copy uses host memory that was freed", place)
            ends = (place, there.ctypes.data) if to_host else (there.ctypes.data, place)
            ctypes.memmove(*ends, nbytes)

        if nbytes:
            found.put(work, range(place, place + nbytes))

    def cuMemcpyHtoDAsync(self, to, source, nbytes, stream):
        self._copy(source, to, nbytes, stream, False)

    def cuMemcpyDtoHAsync(self, to, source, nbytes, stream):
        self._copy(to, source, nbytes, stream, True)

    def cuMemcpyDtoDAsync(self, to, source, nbytes, stream):
        memory, target, origin = self.current.memory, self._bytes(to, nbytes), self._bytes(source, nbytes)

        def work():
            for address in (to, source):
                memory.view(int(address), nbytes, np.uint8)
            target[:] = origin.copy()

        self._find(stream, Stream).put(work)

    def cuMemHostRegister(self, address, nbytes, flags):
        start = _address(address)
        if any(start < a + n and a < start + nbytes for a, n in self._registered.items()):
            raise Refused("HOST_MEMORY_ALREADY_REGISTERED")
        self._registered[start] = nbytes

    def cuMemHostUnregister(self, address):
        start = _address(address)
        nbytes = self._registered.pop(start, None)
        if nbytes is None:
            raise Refused("HOST_MEMORY_NOT_REGISTERED")
        if any(h.start < start + nbytes and start < h.stop for stream in self._streams() for _, h in stream.queue):
            raise Fault("host memory is unregistered while a queued copy uses it", start)

    # ---- streams and events

    def cuStreamCreate(self, flags):
        if not int(flags) & int(real.CUstream_flags.CU_STREAM_NON_BLOCKING):
            raise NotImplementedError("streams that wait for the default stream")
        return real.CUstream(self._keep(Stream(self.current)))

    def cuStreamDestroy(self, stream):
        self._find(stream, Stream).drain()
        del self._alive[int(stream)]

    def cuStreamSynchronize(self, stream):
        found = self._find(stream, Stream)
        if found.capture is not None:
            found.spoiled = True
            raise Refused("STREAM_CAPTURE_UNSUPPORTED")
        found.drain()

    def cuStreamWaitEvent(self, stream, event, flags):
        found, mark = self._find(stream, Stream), self._find(event, Event)
        if found.capture is not None or (mark.stream is not None and mark.stream.capture is not None):
            raise NotImplementedError("a capture over several streams")
        if ticket := mark.asked:
            found.put(lambda: mark.drive(ticket))

    def cuEventCreate(self, flags):
        return real.CUevent(self._keep(Event(self.current)))

    def cuEventRecord(self, event, stream):
        self._find(event, Event).record(self._find(stream, Stream))

    def cuEventQuery(self, event):
        found = self._find(event, Event)
        if found.done < found.asked and found.stream is not None:
            found.stream.step()  # polling gets work done piece by piece
        if found.done < found.asked:
            raise Refused("NOT_READY")

    def cuEventSynchronize(self, event):
        found = self._find(event, Event)
        found.drive(found.asked)

    def _destroy(self, kind, handle):
        del self._alive[self._find(handle, kind).number]

    def cuEventDestroy(self, event):
        self._destroy(Event, event)

    # ---- modules, functions, the compiler in the driver

    def cuLinkCreate(self, count, options, values):
        return real.CUlinkState(self._keep(Link(self.current)))

    def cuLinkAddData(self, state, kind, data, size, *_):
        link = self._find(state, Link)
        if kind != real.CUjitInputType.CU_JIT_INPUT_PTX:
            raise NotImplementedError(f"linking of {kind}")
        link.text = bytes(data)[:size].rstrip(b"\0").decode()

    def cuLinkComplete(self, state):
        link = self._find(state, Link)
        image = MAGIC + link.text.encode()
        link.result = ctypes.create_string_buffer(image, len(image))
        return ctypes.addressof(link.result), len(image)

    def cuLinkDestroy(self, state):
        result = self._find(state, Link).result
        if result is not None:
            ctypes.memset(result, 0, len(result))  # it was the link's
        self._destroy(Link, state)

    def cuModuleLoadData(self, image):
        if not bytes(image).startswith(MAGIC):
            raise Refused("INVALID_IMAGE")
        machine = module_of(bytes(image)[len(MAGIC) :].decode())
        return real.CUmodule(self._keep(LoadedModule(self.current, machine)))

    def cuModuleGetFunction(self, module, name):
        found, text = self._find(module, LoadedModule), name.decode()
        if text not in found.machine.kernels:
            raise Refused("NOT_FOUND")
        if text not in found.functions:
            found.functions[text] = self._keep(LoadedFunction(self.current, found, text))
        return real.CUfunction(found.functions[text])

    def cuFuncSetAttribute(self, function, which, value):
        found = self._find(function, LoadedFunction)
        if which != real.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
            raise NotImplementedError(f"attribute {which}")
        if value + found.static > SHARED_IF_ASKED:
            raise Refused("INVALID_VALUE")
        found.dynamic = value

    # ---- launches and graphs of them

    def cuLaunchKernel(self, function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra):
        """`parameters` is the address of an array of addresses; what stands there is copied now."""
        found, shape = self._find(function, LoadedFunction), (int(gx), int(gy), int(gz), int(bx), int(by), int(bz))
        fits = all(1 <= n <= top for n, top in zip(shape, LARGEST, strict=True))
        if not fits or bx * by * bz > found.threads or shared > found.dynamic:
            raise Refused("INVALID_VALUE")
        machine, name, memory = found.module.machine, found.name, self.current.memory
        program = machine.program(name)
        packed, places = bytearray(program.size), ctypes.cast(int(parameters), ctypes.POINTER(ctypes.c_void_p))
        for k, (at, declared) in enumerate(program.parameters.values()):
            packed[at : at + declared.nbytes] = ctypes.string_at(places[k], declared.nbytes)

        def work():
            self.launched[name] += 1
            machine.launch(name, shape[:3], shape[3:], shared, bytes(packed), memory)

        self._find(stream, Stream).put(work)

    def cuLaunchCooperativeKernel(self, function, gx, gy, gz, bx, by, bz, shared, stream, parameters):
        """As a launch of blocks that are all there at once."""
        if gx * gy * gz > MULTIPROCESSORS:
            raise Refused("COOPERATIVE_LAUNCH_TOO_LARGE")
        self.cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, parameters, 0)

    def cuStreamBeginCapture(self, stream, mode):
        found = self._find(stream, Stream)
        if found.capture is not None:
            raise Refused("STREAM_CAPTURE_UNSUPPORTED")
        relaxed = mode == real.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        found.capture, found.spoiled = [], False
        found.capture_thread = None if relaxed else threading.get_ident()

    def cuStreamEndCapture(self, stream):
        found = self._find(stream, Stream)
        if found.capture is None:
            raise Refused("ILLEGAL_STATE")
        work, found.capture, found.capture_thread = found.capture, None, None
        if found.spoiled:
            raise Refused("STREAM_CAPTURE_INVALIDATED")
        return real.CUgraph(self._keep(Graph(self.current, work)))

    def cuGraphInstantiate(self, graph, flags):
        return real.CUgraphExec(self._keep(Graph(self.current, self._find(graph, Graph).work, ready=True)))

    def cuGraphUpload(self, graph, stream):
        self._find(graph, Graph)
        self._find(stream, Stream)

    def cuGraphLaunch(self, graph, stream):
        found = self._find(graph, Graph)
        if not found.ready:
            raise Refused("INVALID_HANDLE")
        self._find(stream, Stream).put(found.run)

    def cuGraphDestroy(self, graph):
        self._destroy(Graph, graph)

    def cuGraphExecDestroy(self, graph):
        self._destroy(Graph, graph)


def _address(host):
    """Where host memory begins: a number, or an object with a buffer."""
    return host if isinstance(host, int) else np.asarray(memoryview(host)).ctypes.data


def _entry(name, function):
    @functools.wraps(function)
    def call(self, *args):
        with self.lock:
            self.calls[name] += 1
            try:
                self._gate(name)
                found = function(self, *args)
            except Refused as refused:
                return (getattr(real.CUresult, refused.error), *(() if name == "cuInit" else (None,)))
            results = found if isinstance(found, tuple) else () if found is None else (found,)
            return (real.CUresult.CUDA_SUCCESS, *results)

    return call


for _name, _function in list(vars(FakeDriver).items()):
    if _name.startswith("cu") and callable(_function):
        setattr(FakeDriver, _name, _entry(_name, _function))
