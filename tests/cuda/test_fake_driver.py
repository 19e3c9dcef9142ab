"""The fake of NVIDIA's driver behaves as the driver does, and is harsher where that finds mistakes."""

from __future__ import annotations

import ctypes
import multiprocessing
import threading

import numpy as np
import pytest

pytestmark = pytest.mark.cuda

PTX = """
.version 9.0
.target sm_90
.address_size 64
.visible .entry twice(.param .u64 twice_0, .param .f32 twice_1)
{
    .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .f32 %f<4>;
    ld.param.u64 %rd1, [twice_0]; ld.param.f32 %f1, [twice_1];
    mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
    ld.global.f32 %f2, [%rd3]; fma.rn.f32 %f3, %f2, 0f40000000, %f1; st.global.f32 [%rd3], %f3;
    ret;
}
"""


def ok(result):
    """What a call returned, which has to be a success."""
    assert result[0].name == "CUDA_SUCCESS", result
    return result[1] if len(result) == 2 else result[1:]


def error(result):
    return result[0].name.removeprefix("CUDA_ERROR_")


@pytest.fixture
def ready(fake_driver):
    """A driver with a current context."""
    ok(fake_driver.cuInit(0))
    ok(fake_driver.cuCtxSetCurrent(ok(fake_driver.cuDevicePrimaryCtxRetain(ok(fake_driver.cuDeviceGet(0))))))
    return fake_driver


def stream_of(fake):
    return ok(fake.cuStreamCreate(fake.CUstream_flags.CU_STREAM_NON_BLOCKING))


def function_of(fake, text=PTX):
    state = ok(fake.cuLinkCreate(0, [], []))
    data = text.encode() + b"\0"
    ok(fake.cuLinkAddData(state, fake.CUjitInputType.CU_JIT_INPUT_PTX, data, len(data), b"k", 0, [], []))
    place, size = ok(fake.cuLinkComplete(state))
    image = ctypes.string_at(int(place), int(size))
    ok(fake.cuLinkDestroy(state))
    return ok(fake.cuModuleGetFunction(ok(fake.cuModuleLoadData(image)), b"twice"))


def launch(fake, function, address, plus, stream, n=4):
    parameters = ((int(address), plus), (ctypes.c_void_p, ctypes.c_float))
    return fake.cuLaunchKernel(function, 1, 1, 1, n, 1, 1, 0, stream, parameters, 0)


def test_a_kernel_runs_when_somebody_waits_for_it(ready):
    function, stream = function_of(ready), stream_of(ready)
    x, out = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    memory = ok(ready.cuMemAlloc(x.nbytes))
    ok(ready.cuMemcpyHtoDAsync(memory, x, x.nbytes, stream))
    ok(launch(ready, function, memory, 1.0, stream))
    ok(ready.cuMemcpyDtoHAsync(out, memory, x.nbytes, stream))
    assert not out.any()
    x[0] = 10  # a copy from host memory reads it when it is done, not when it is asked for
    ok(ready.cuStreamSynchronize(stream))
    assert out.tolist() == [21, 3, 5, 7]


def test_packed_parameters_are_read_at_the_launch(ready):
    function, stream = function_of(ready), stream_of(ready)
    x = np.arange(4, dtype=np.float32)
    memory = ok(ready.cuMemAlloc(x.nbytes))
    ok(ready.cuMemcpyHtoD(memory, x, x.nbytes))
    numbers = [ctypes.c_uint64(int(memory)), ctypes.c_float(0.5)]
    places = (ctypes.c_void_p * 2)(*[ctypes.addressof(n) for n in numbers])
    ok(ready.cuLaunchKernel(function, 1, 1, 1, 4, 1, 1, 0, stream, ctypes.addressof(places), 0))
    numbers[1].value = 99
    ok(ready.cuStreamSynchronize(stream))
    ok(ready.cuMemcpyDtoH(x, memory, x.nbytes))
    assert x.tolist() == [0.5, 2.5, 4.5, 6.5]


def test_streams_are_ordered_by_events_alone(ready):
    first, second, event = stream_of(ready), stream_of(ready), ok(ready.cuEventCreate(0))
    x, out = np.ones(4, np.float32), np.zeros(4, np.float32)
    memory = ok(ready.cuMemAlloc(16))
    ok(ready.cuMemsetD8Async(memory, 0, 16, second))
    ok(ready.cuStreamSynchronize(second))
    ok(ready.cuMemcpyHtoDAsync(memory, x, 16, first))
    ok(ready.cuEventRecord(event, first))
    ok(ready.cuMemcpyDtoHAsync(out, memory, 16, second))
    ok(ready.cuStreamSynchronize(second))
    assert not out.any()  # nobody said that the second waits for the first
    assert error(ready.cuEventElapsedTime(event, event)) == "NOT_READY"
    ok(ready.cuStreamWaitEvent(second, event, 0))
    ok(ready.cuMemcpyDtoHAsync(out, memory, 16, second))
    ok(ready.cuStreamSynchronize(second))
    assert out.all()
    ok(ready.cuEventQuery(event))
    assert ok(ready.cuEventElapsedTime(event, event)) == 0


def test_polling_gets_work_done_piece_by_piece(ready):
    stream = stream_of(ready)
    memory = ok(ready.cuMemAlloc(16))
    for k in range(3):
        ok(ready.cuMemsetD8Async(memory, k, 16, stream))
    assert [error(ready.cuStreamQuery(stream)) for _ in range(3)] == ["NOT_READY", "NOT_READY", "CUDA_SUCCESS"]


def test_a_graph_replays_what_was_captured(ready):
    function, stream = function_of(ready), stream_of(ready)
    x = np.ones(4, np.float32)
    memory = ok(ready.cuMemAlloc(16))
    ok(ready.cuMemcpyHtoD(memory, x, 16))
    mode = ready.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
    ok(ready.cuStreamBeginCapture(stream, mode))
    ok(launch(ready, function, memory, 1.0, stream))
    graph = ok(ready.cuStreamEndCapture(stream))
    run = ok(ready.cuGraphInstantiate(graph, 0))
    ok(ready.cuGraphDestroy(graph))
    for _ in range(3):
        ok(ready.cuGraphLaunch(run, stream))
    ok(ready.cuStreamSynchronize(stream))
    ok(ready.cuMemcpyDtoH(x, memory, 16))
    assert x.tolist() == [15.0] * 4  # once captured, three times run
    ok(ready.cuGraphExecDestroy(run))
    assert error(ready.cuGraphLaunch(run, stream)) == "INVALID_HANDLE"


def test_what_a_capture_does_not_allow_spoils_it(ready):
    stream = stream_of(ready)
    mode = ready.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
    ok(ready.cuStreamBeginCapture(stream, mode))
    assert error(ready.cuMemAlloc(16)) == "STREAM_CAPTURE_UNSUPPORTED"
    assert error(ready.cuStreamEndCapture(stream)) == "STREAM_CAPTURE_INVALIDATED"
    ok(ready.cuMemAlloc(16))


def test_memory_ends_and_leaks_are_counted(install_fake_driver):
    fake = install_fake_driver(memory=1000)
    ok(fake.cuInit(0))
    ok(fake.cuCtxSetCurrent(ok(fake.cuDevicePrimaryCtxRetain(0))))
    first = ok(fake.cuMemAlloc(600))
    assert error(fake.cuMemAlloc(600)) == "OUT_OF_MEMORY"
    assert ok(fake.cuMemGetInfo()) == (400, 1000)
    x = np.zeros(8)
    ok(fake.cuMemHostRegister(x.ctypes.data, x.nbytes, 0))
    assert error(fake.cuMemHostRegister(x.ctypes.data, x.nbytes, 0)) == "HOST_MEMORY_ALREADY_REGISTERED"
    stream_of(fake)
    assert {k: n for k, n in fake.live.items() if n} == {
        "allocations": 1, "registrations": 1, "streams": 1, "contexts": 1
    }  # fmt: skip
    ok(fake.cuMemHostUnregister(x.ctypes.data))
    ok(fake.cuMemFree(first))
    assert error(fake.cuMemFree(first)) == "INVALID_VALUE"
    ok(fake.cuDevicePrimaryCtxRelease(0))
    assert not any(fake.live.values())


def test_host_memory_is_not_unregistered_under_a_copy(ready):
    from ptx.memory import Fault

    stream, x = stream_of(ready), np.zeros(4)
    memory = ok(ready.cuMemAlloc(32))
    ok(ready.cuMemHostRegister(x.ctypes.data, 32, 0))
    ok(ready.cuMemcpyHtoDAsync(memory, x.ctypes.data, 32, stream))
    with pytest.raises(Fault, match="unregistered while a queued copy uses it"):
        ready.cuMemHostUnregister(x.ctypes.data)


def test_errors_that_a_test_asks_for(ready):
    ready.fail("cuMemAlloc", "CUDA_ERROR_OUT_OF_MEMORY", after=1)
    assert [error(ready.cuMemAlloc(8)) for _ in range(3)] == ["CUDA_SUCCESS", "OUT_OF_MEMORY", "CUDA_SUCCESS"]
    with pytest.raises(AttributeError, match="has no cuMisspelt"):
        ready.fail("cuMisspelt", "CUDA_ERROR_UNKNOWN")


def test_a_lost_device_answers_nothing_else(ready):
    stream = stream_of(ready)
    ready.lose("CUDA_ERROR_DEVICE_UNAVAILABLE")
    assert error(ready.cuStreamSynchronize(stream)) == "DEVICE_UNAVAILABLE"
    assert error(ready.cuMemAlloc(8)) == "DEVICE_UNAVAILABLE"
    assert ok(ready.cuGetErrorName(46)) == b"CUDA_ERROR_DEVICE_UNAVAILABLE"


@pytest.mark.parametrize("faults", ["raise", "error"])
def test_a_kernel_out_of_bounds(install_fake_driver, faults):
    from ptx.memory import Fault

    fake = install_fake_driver(faults=faults)
    ok(fake.cuInit(0))
    ok(fake.cuCtxSetCurrent(ok(fake.cuDevicePrimaryCtxRetain(0))))
    function, stream = function_of(fake), stream_of(fake)
    ok(launch(fake, function, ok(fake.cuMemAlloc(12)), 0.0, stream))
    if faults == "raise":
        with pytest.raises(Fault, match=r"past the end|out of bounds"):
            fake.cuStreamSynchronize(stream)
    else:
        assert error(fake.cuStreamSynchronize(stream)) == "ILLEGAL_ADDRESS"
        assert error(fake.cuMemAlloc(8)) == "ILLEGAL_ADDRESS"
        assert fake.last_fault is not None


def test_a_thread_needs_a_context_of_its_own(ready):
    answers = []
    thread = threading.Thread(target=lambda: answers.append(error(ready.cuMemAlloc(8))))
    thread.start()
    thread.join()
    assert answers == ["INVALID_CONTEXT"]


def _fork(fake, pipe):
    pipe.send([error(fake.cuMemAlloc(8)), error(fake.cuInit(0))])


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_is_refused(ready):
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=_fork, args=(ready, there))
    child.start()
    assert here.poll(20)
    assert here.recv() == ["NOT_INITIALIZED", "NOT_INITIALIZED"]
    child.join()


def test_two_devices_have_two_contexts(install_fake_driver):
    fake = install_fake_driver(2)
    ok(fake.cuInit(0))
    contexts = [ok(fake.cuDevicePrimaryCtxRetain(k)) for k in range(2)]
    ok(fake.cuCtxSetCurrent(contexts[0]))
    stream, memory = stream_of(fake), ok(fake.cuMemAlloc(8))
    ok(fake.cuCtxSetCurrent(contexts[1]))
    assert error(fake.cuStreamSynchronize(stream)) == "INVALID_CONTEXT"
    assert error(fake.cuMemFree(memory)) == "INVALID_VALUE"
    assert error(fake.cuDeviceGet(2)) == "INVALID_DEVICE"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"version": 12080}, "UNSUPPORTED_PTX_VERSION"),
        ({"capability": (8, 0)}, "NO_BINARY_FOR_GPU"),
        ({"devices": 0}, "NO_DEVICE"),
    ],
)
def test_what_is_too_old_or_not_there(install_fake_driver, options, expected):
    fake = install_fake_driver(**options)
    if not options.get("devices", 1):
        assert error(fake.cuInit(0)) == expected
        return
    ok(fake.cuInit(0))
    ok(fake.cuCtxSetCurrent(ok(fake.cuDevicePrimaryCtxRetain(0))))
    assert error(fake.cuModuleLoadData(PTX.encode())) == expected


def test_images_of_another_gpu_or_broken_ones(ready):
    from fake_parts import cubin

    assert error(ready.cuModuleLoadData(cubin(PTX, (8, 0)))) == "NO_BINARY_FOR_GPU"
    assert error(ready.cuModuleLoadData(cubin(PTX, (9, 0))[:-40])) == "INVALID_IMAGE"
    assert error(ready.cuModuleLoadData(b"nothing of the kind")) == "INVALID_IMAGE"
    module = ok(ready.cuModuleLoadData(PTX.encode()))
    assert error(ready.cuModuleGetFunction(module, b"thrice")) == "NOT_FOUND"


def test_launches_that_no_gpu_takes(ready):
    function, memory = function_of(ready), ok(ready.cuMemAlloc(16))
    shapes = [(1, 65536, 1, 4, 1, 1, 0), (1, 1, 1, 1025, 1, 1, 0), (0, 1, 1, 4, 1, 1, 0), (1, 1, 1, 4, 1, 1, 49153)]
    parameters = ((int(memory), 0.0), (ctypes.c_void_p, ctypes.c_float))
    for shape in shapes:
        assert error(ready.cuLaunchKernel(function, *shape, 0, parameters, 0)) == "INVALID_VALUE"
    which = ready.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    assert error(ready.cuFuncSetAttribute(function, which, 1 << 20)) == "INVALID_VALUE"
    ok(ready.cuFuncSetAttribute(function, which, 49153))
    ok(ready.cuLaunchKernel(function, *shapes[-1], 0, parameters, 0))


@pytest.mark.parametrize(("capability", "most"), [((8, 0), 163), ((9, 0), 227), ((12, 0), 99)])
def test_shared_memory_is_that_of_the_gpu(install_fake_driver, capability, most):
    fake = install_fake_driver(capability=capability)
    ok(fake.cuInit(0))
    ok(fake.cuCtxSetCurrent(ok(fake.cuDevicePrimaryCtxRetain(0))))
    function = function_of(fake, PTX.replace("sm_90", "sm_80"))
    which = fake.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    ok(fake.cuFuncSetAttribute(function, which, most * 1024))
    assert error(fake.cuFuncSetAttribute(function, which, most * 1024 + 1)) == "INVALID_VALUE"


def test_a_kernel_that_is_compiled_for_smaller_blocks(ready):
    function = function_of(ready, PTX.replace(".f32 twice_1)", ".f32 twice_1)\n.maxntid 64, 1, 1"))
    memory = ok(ready.cuMemAlloc(4 * 65))
    ok(launch(ready, function, memory, 0.0, 0, n=64))
    assert error(launch(ready, function, memory, 0.0, 0, n=65)) == "INVALID_VALUE"
    which = ready.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
    assert ok(ready.cuFuncGetAttribute(which, function)) == 64


def test_without_a_driver_the_bindings_raise(install_fake_driver):
    fake = install_fake_driver(installed=False)
    with pytest.raises(RuntimeError, match="NVIDIA driver library"):
        fake.cuInit(0)


def test_the_engine_sees_the_fake(install_fake_driver):
    from scalarviz.engine.cuda import gpus

    install_fake_driver(2, memory=1 << 30)
    assert [str(gpu) for gpu in gpus.driver().gpus] == [f"Fake GPU {k}, 1.0 GiB, sm_90" for k in range(2)]
