"""The fake of NVIDIA's driver behaves as the driver does, and is harsher where that finds mistakes.

Internals: ``DriverDevice``, which has to hold host arrays until their copies are done, has no front door.
"""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import threading
from weakref import ref

import numpy as np
import pytest

pytestmark = pytest.mark.cuda
PTX = """
.version 9.0
.target sm_90
.address_size 64
.visible .entry twice(.param .u64 twice_0, .param .f32 twice_1)
BOUNDS{
    .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .f32 %f<4>;
    ld.param.u64 %rd1, [twice_0]; ld.param.f32 %f1, [twice_1];
    mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
    ld.global.f32 %f2, [%rd3]; fma.rn.f32 %f3, %f2, 0f40000000, %f1; st.global.f32 [%rd3], %f3;
    ret;
}
"""
TEXT = PTX.replace("BOUNDS", "")


def ok(result):
    """What a call returned, which has to be a success."""
    assert result[0].name == "CUDA_SUCCESS", result
    return result[1] if len(result) == 2 else result[1:]


def error(result):
    return result[0].name.removeprefix("CUDA_ERROR_")


@pytest.fixture
def ready(install_fake_driver):
    """Makes drivers with a current context: ``ready(memory=...)``."""

    def make(*args, **options):
        fake = install_fake_driver(*args, **options)
        ok(fake.cuInit(0))
        ok(fake.cuCtxSetCurrent(ok(fake.cuDevicePrimaryCtxRetain(ok(fake.cuDeviceGet(0))))))
        return fake

    return make


def stream_of(fake):
    return ok(fake.cuStreamCreate(fake.CUstream_flags.CU_STREAM_NON_BLOCKING))


def function_of(fake, text=TEXT):
    state, data = ok(fake.cuLinkCreate(0, [], [])), text.encode() + b"\0"
    ok(fake.cuLinkAddData(state, fake.CUjitInputType.CU_JIT_INPUT_PTX, data, len(data), b"k", 0, [], []))
    place, size = ok(fake.cuLinkComplete(state))
    image = ctypes.string_at(int(place), int(size))
    ok(fake.cuLinkDestroy(state))
    return ok(fake.cuModuleGetFunction(ok(fake.cuModuleLoadData(image)), b"twice"))


def launch(fake, function, address, plus, stream, *shape):
    """Its parameters are read now: what becomes of them later is nothing to it."""
    numbers = [ctypes.c_uint64(int(address)), ctypes.c_float(plus)]
    places = (ctypes.c_void_p * 2)(*[ctypes.addressof(n) for n in numbers])
    found = fake.cuLaunchKernel(function, *(shape or (1, 1, 1, 4, 1, 1, 0)), stream, ctypes.addressof(places), 0)
    numbers[1].value = 99
    return found


def test_queued_work_is_done_when_somebody_waits_for_it_and_streams_are_ordered_by_events_alone(ready):
    fake = ready()
    function, first, second, event = function_of(fake), stream_of(fake), stream_of(fake), ok(fake.cuEventCreate(2))
    x, out, memory = np.arange(4, dtype=np.float32), np.zeros(4, np.float32), ok(fake.cuMemAlloc(16))
    ok(fake.cuMemcpyHtoDAsync(memory, x, 16, first))
    x[0] = 10  # a copy from host memory reads it when it is done, not when it is asked for
    ok(launch(fake, function, memory, 1.0, first))
    ok(fake.cuEventRecord(event, first))
    ok(fake.cuMemcpyDtoHAsync(out, memory, 16, second))
    ok(fake.cuStreamSynchronize(second))
    assert np.isnan(out).all()  # nobody said that the second waits for the first
    assert error(fake.cuEventQuery(event)) == "NOT_READY"  # polling gets work done piece by piece
    ok(fake.cuStreamWaitEvent(second, event, 0))
    ok(fake.cuMemcpyDtoHAsync(out, memory, 16, second))
    ok(fake.cuStreamSynchronize(second))
    assert out.tolist() == [21, 3, 5, 7]
    ok(fake.cuEventQuery(event))


def test_a_graph_replays_what_was_captured(ready):
    fake = ready()
    function, stream, x, memory = function_of(fake), stream_of(fake), np.ones(4, np.float32), ok(fake.cuMemAlloc(16))
    ok(fake.cuMemcpyHtoDAsync(memory, x, 16, stream))
    ok(fake.cuStreamSynchronize(stream))
    ok(fake.cuStreamBeginCapture(stream, fake.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))
    ok(launch(fake, function, memory, 1.0, stream))
    graph = ok(fake.cuStreamEndCapture(stream))
    run = ok(fake.cuGraphInstantiate(graph, 0))
    ok(fake.cuGraphDestroy(graph))
    for _ in range(3):
        ok(fake.cuGraphLaunch(run, stream))
    ok(fake.cuMemcpyDtoHAsync(x, memory, 16, stream))
    ok(fake.cuStreamSynchronize(stream))
    assert x.tolist() == [15.0] * 4  # once captured, three times run
    ok(fake.cuGraphExecDestroy(run))
    assert error(fake.cuGraphLaunch(run, stream)) == "INVALID_HANDLE"


@pytest.mark.parametrize("spoil", ["cuMemAlloc", "cuStreamSynchronize"])
def test_what_a_capture_does_not_allow_spoils_it(ready, spoil):
    fake = ready()
    stream = stream_of(fake)
    ok(fake.cuStreamBeginCapture(stream, fake.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))
    given = 16 if spoil == "cuMemAlloc" else stream
    assert error(getattr(fake, spoil)(given)) == "STREAM_CAPTURE_UNSUPPORTED"
    assert error(fake.cuStreamEndCapture(stream)) == "STREAM_CAPTURE_INVALIDATED"
    ok(getattr(fake, spoil)(given))


def test_memory_ends_and_what_is_alive_is_counted(ready):
    fake = ready(memory=1000)
    first, x = ok(fake.cuMemAlloc(600)), np.zeros(8)
    assert (error(fake.cuMemAlloc(600)), ok(fake.cuMemGetInfo())) == ("OUT_OF_MEMORY", (400, 1000))
    ok(fake.cuMemHostRegister(x.ctypes.data, x.nbytes, 0))
    assert error(fake.cuMemHostRegister(x.ctypes.data, x.nbytes, 0)) == "HOST_MEMORY_ALREADY_REGISTERED"
    stream = stream_of(fake)
    assert {k: n for k, n in fake.live.items() if n} == dict.fromkeys(
        ("allocations", "registrations", "streams", "contexts"), 1
    )
    from ptx.memory import Fault

    ok(fake.cuMemcpyHtoDAsync(first, x.ctypes.data, 32, stream))
    with pytest.raises(Fault, match="unregistered while a queued copy uses it"):
        fake.cuMemHostUnregister(x.ctypes.data)
    ok(fake.cuMemFree(first))
    assert error(fake.cuMemFree(first)) == "INVALID_VALUE"


def test_errors_that_a_test_asks_for(ready):
    fake = ready()
    fake.fail("cuMemAlloc", "CUDA_ERROR_OUT_OF_MEMORY", after=1)
    assert [error(fake.cuMemAlloc(8)) for _ in range(3)] == ["CUDA_SUCCESS", "OUT_OF_MEMORY", "CUDA_SUCCESS"]
    with pytest.raises(AttributeError, match="has no cuMisspelt"):
        fake.fail("cuMisspelt", "CUDA_ERROR_UNKNOWN")
    stream = stream_of(fake)
    fake.lose()
    assert (error(fake.cuStreamSynchronize(stream)), error(fake.cuMemAlloc(8))) == ("DEVICE_UNAVAILABLE",) * 2


@pytest.mark.parametrize("faults", ["raise", "error"])
def test_a_kernel_out_of_bounds(ready, faults):
    from ptx.memory import Fault

    fake = ready(faults=faults)
    function, stream = function_of(fake), stream_of(fake)
    ok(launch(fake, function, ok(fake.cuMemAlloc(12)), 0.0, stream))
    if faults == "raise":
        with pytest.raises(Fault, match="out of bounds"):
            fake.cuStreamSynchronize(stream)
    else:
        assert error(fake.cuStreamSynchronize(stream)) == "ILLEGAL_ADDRESS"
        assert error(fake.cuMemAlloc(8)) == "ILLEGAL_ADDRESS"


def _fork(fake, pipe):
    pipe.send([error(fake.cuMemAlloc(8)), error(fake.cuInit(0))])


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_threads_and_processes_need_a_context_of_their_own(ready):
    fake, answers = ready(), []
    thread = threading.Thread(target=lambda: answers.append(error(fake.cuMemAlloc(8))))
    thread.start()
    thread.join()
    assert answers == ["INVALID_CONTEXT"]
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=_fork, args=(fake, there))
    child.start()
    assert here.poll(20)
    assert here.recv() == ["NOT_INITIALIZED", "NOT_INITIALIZED"]
    child.join()


def test_two_devices_have_two_contexts(ready):
    fake = ready(2)
    stream, memory = stream_of(fake), ok(fake.cuMemAlloc(8))
    ok(fake.cuCtxSetCurrent(ok(fake.cuDevicePrimaryCtxRetain(1))))
    found = [error(fake.cuStreamSynchronize(stream)), error(fake.cuMemFree(memory)), error(fake.cuDeviceGet(2))]
    assert found == ["INVALID_CONTEXT", "INVALID_VALUE", "INVALID_DEVICE"]


def test_images_that_are_too_new_of_another_gpu_or_broken(ready):
    from fake_driver import cubin

    for options, image, expected in (
        ({"version": 12080}, TEXT.encode(), "UNSUPPORTED_PTX_VERSION"), ({}, b"nothing of the kind", "INVALID_IMAGE"),
        ({"capability": (8, 0)}, TEXT.encode(), "NO_BINARY_FOR_GPU"), ({}, cubin(TEXT, (8, 0)), "NO_BINARY_FOR_GPU"),
        ({}, cubin(TEXT, (9, 0))[:-40], "INVALID_IMAGE"),
    ):  # fmt: skip
        assert error(ready(**options).cuModuleLoadData(image)) == expected
    fake = ready()
    assert error(fake.cuModuleGetFunction(ok(fake.cuModuleLoadData(TEXT.encode())), b"thrice")) == "NOT_FOUND"


@pytest.mark.parametrize(("capability", "most"), [((8, 0), 163), ((9, 0), 227), ((12, 0), 99)])
def test_launches_that_no_gpu_takes(ready, capability, most):
    fake = ready(capability=capability)
    text = PTX.replace("sm_90", "sm_80")
    function, memory, stream = function_of(fake, text.replace("BOUNDS", "")), ok(fake.cuMemAlloc(16)), stream_of(fake)
    shapes = [(1, 65536, 1, 4, 1, 1, 0), (1, 1, 1, 1025, 1, 1, 0), (0, 1, 1, 4, 1, 1, 0), (1, 1, 1, 4, 1, 1, 49153)]
    for shape in shapes:
        assert error(launch(fake, function, memory, 0.0, stream, *shape)) == "INVALID_VALUE"
    which = fake.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    assert error(fake.cuFuncSetAttribute(function, which, most * 1024 + 1)) == "INVALID_VALUE"
    ok(fake.cuFuncSetAttribute(function, which, most * 1024))
    ok(launch(fake, function, memory, 0.0, stream, *shapes[-1]))
    small = function_of(fake, text.replace("BOUNDS", ".maxntid 64, 1, 1\n"))  # compiled for smaller blocks
    ok(launch(fake, small, memory, 0.0, stream, 1, 1, 1, 64, 1, 1, 0))
    assert error(launch(fake, small, memory, 0.0, stream, 1, 1, 1, 65, 1, 1, 0)) == "INVALID_VALUE"


# ---- host memory is held until its copy is done


@pytest.fixture
def device(fake_driver):
    from scalarviz.engine.cuda.driver import DriverDevice

    found = DriverDevice(0)
    yield found
    found.close()


@pytest.mark.parametrize("copy", ["upload", "download", "read_aside"])
def test_a_queued_copy_holds_its_array_and_lets_it_go(device, copy):
    buffer = device.empty(64, "f4")
    device.upload(buffer, np.ones(64, "f4"))
    device.wait()
    array = np.zeros(64, "f4")
    seen = ref(array)
    mark = device.read_aside([(buffer, array)]) if copy == "read_aside" else getattr(device, copy)(buffer, array)
    del array, mark
    others = [np.zeros(64, "f4") for _ in range(50)]  # they would lie where the array lay
    assert seen() is not None
    device.wait()
    gc.collect()
    assert not any(other.any() for other in others)
    assert seen() is None


def test_the_fake_refuses_memory_that_nobody_holds(device):
    """Without this check it would write over whatever lies at the address by then."""
    from ptx.memory import Fault

    buffer, array = device.empty(64, "f4"), np.zeros(64, "f4")
    device.read_aside([(buffer, array)])
    device._held.clear()  # the mistake that the check is for
    del array
    with pytest.raises(Fault, match="host memory that was freed"):
        device.wait()
    with pytest.raises(TypeError, match="bare address"), device.context as context:
        context.call("cuMemcpyDtoHAsync", 4096, buffer.memory.pointer, 4, device.stream)
