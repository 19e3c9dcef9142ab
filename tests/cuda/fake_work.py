"""The fake driver's functions for work: streams, events, machine code, launches, graphs."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from typing import Any

from cuda.bindings import driver as real
from fake_gate import (
    LARGEST_BLOCK,
    LARGEST_GRID,
    Gate,
    Link,
    LoadedFunction,
    LoadedModule,
    entry,
)
from fake_images import Refused, check_ptx, cubin, load, raw
from fake_streams import Event, Graph, Stream
from ptx.machine import Module
from ptx.memory import Fault


class StreamCalls(Gate):
    """Streams and events."""

    @entry()
    def cuStreamCreate(self, flags: Any) -> Any:
        blocking = int(flags) & int(real.CUstream_flags.CU_STREAM_NON_BLOCKING) == 0
        return real.CUstream(self._keep(Stream(self.current, blocking)))

    @entry()
    def cuStreamCreateWithPriority(self, flags: Any, priority: int) -> Any:
        blocking = int(flags) & int(real.CUstream_flags.CU_STREAM_NON_BLOCKING) == 0
        return real.CUstream(self._keep(Stream(self.current, blocking)))

    @entry()
    def cuCtxGetStreamPriorityRange(self) -> tuple[int, int]:
        return 0, -5

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


class CodeCalls(Gate):
    """Modules, functions, and the compiler in the driver."""

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

    @entry(capturing=False)
    def cuModuleLoadDataEx(self, image: Any, count: int, options: Any, values: Any) -> Any:
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
    def cuModuleUnload(self, module: Any) -> tuple[()]:
        found = self._find(module, LoadedModule)
        for handle in (found, *found.functions.values()):
            del self._alive[handle.number]
        return ()

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

    @entry()
    def cuOccupancyMaxActiveBlocksPerMultiprocessor(self, function: Any, threads: int, shared: int) -> int:
        found = self._find(function, LoadedFunction)
        used = shared + found.static
        return min(2048 // threads, 32, self.current.shared // used if used else 32)


class LaunchCalls(Gate):
    """Launches, and graphs of them."""

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
    def cuStreamIsCapturing(self, stream: Any) -> Any:
        active = self._stream(stream).capture is not None
        status = real.CUstreamCaptureStatus
        return status.CU_STREAM_CAPTURE_STATUS_ACTIVE if active else status.CU_STREAM_CAPTURE_STATUS_NONE

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
