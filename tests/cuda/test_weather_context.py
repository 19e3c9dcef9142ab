"""One context a GPU and process: shared by runs, left as it was found, its errors told exactly."""

from __future__ import annotations

import gc
import threading
from dataclasses import replace
from enum import IntEnum

import numpy as np
import pytest
from weather_runs import left, make, numbers, same

from scalarviz import optim
from scalarviz.engine.data import Data
from scalarviz.errors import DeviceError, DeviceLostError, DeviceMemoryError, DivergedError, ScalarvizError

pytestmark = pytest.mark.cuda


@pytest.fixture
def fake(install_fake_driver):
    return install_fake_driver(devices=2)


@pytest.fixture
def opened(fake):
    from scalarviz.engine.cuda.driver import DriverDevice

    return [DriverDevice(0), DriverDevice(1)]


def current(fake):
    return int(fake.cuCtxGetCurrent()[1])


# ---- shared


def test_runs_share_one_context_and_load_their_kernels_once(fake):
    first = make()
    first.step(2)
    loaded = fake.live["modules"]
    second = make()
    second.step(2)
    assert (fake.live["modules"], fake.live["contexts"]) == (loaded, 1)
    assert fake.calls["cuDevicePrimaryCtxRetain"] == 1
    assert same(numbers(first), numbers(second))


def test_two_runs_in_two_threads_have_the_bits_of_two_runs_one_after_the_other(fake):
    alone = [make(seed=seed) for seed in (1, 2)]
    for run in alone:
        run.step(9)
    both = [make(seed=seed) for seed in (1, 2)]
    errors = []

    def train(run):
        try:
            for _ in range(9):
                run.step(1)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=train, args=(run,)) for run in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert all(same(numbers(a), numbers(b)) for a, b in zip(alone, both, strict=True))


def test_a_run_that_is_made_while_another_one_has_steps_queued(fake):
    reference, run = make(), make()
    reference.step(6)
    run.step(3)
    make(seed=9).step(1)
    run.step(3)
    assert same(numbers(run), numbers(reference))


def test_runs_are_made_and_closed_while_another_thread_trains(fake):
    reference, run = make(), make()
    reference.step(30)
    errors = []

    def train():
        try:
            for _ in range(15):
                run._training.change(run._training.trainer)  # calls of one step, and then more
                run.step(2)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=train)
    thread.start()
    made = 0
    while thread.is_alive() or made < 3:
        with make(seed=made) as other:
            other.step(2)
        made += 1
    thread.join()
    assert not errors
    assert same(numbers(run), numbers(reference))
    assert "plain" not in run.engine.why


def test_a_run_is_made_in_one_thread_and_stepped_in_others(fake):
    reference = make()
    reference.step(4)
    made = []
    thread = threading.Thread(target=lambda: made.append(make()))
    thread.start()
    thread.join()
    (run,) = made
    run.step(1)
    for _ in range(3):
        thread = threading.Thread(target=run.step, args=(1,))
        thread.start()
        thread.join()
    assert same(numbers(run), numbers(reference))


# ---- the thread's own context


def test_the_context_of_the_thread_is_the_one_that_it_had(fake):
    run = make("cuda:0")
    other = fake.cuDevicePrimaryCtxRetain(fake.cuDeviceGet(1)[1])[1]
    for theirs in (other, fake.CUcontext(0)):
        fake.cuCtxSetCurrent(theirs)
        before = current(fake)
        run.step(3)
        run.frame()
        assert current(fake) == before
    run.close()
    assert current(fake) == before


def test_another_library_makes_its_context_current_between_two_steps(fake):
    reference, run = make(), make()
    reference.step(3)
    for _ in range(3):
        fake.cuCtxSetCurrent(fake.cuDevicePrimaryCtxRetain(fake.cuDeviceGet(1)[1])[1])
        run.step(1)
    assert same(numbers(run), numbers(reference))


def test_memory_of_one_device_that_is_freed_in_the_middle_of_work_on_another(opened, fake):
    buffer = opened[0].empty(8, np.float32)
    with opened[1].context as home:
        mine = current(fake)
        del buffer
        gc.collect()
        assert current(fake) == mine
        home.call("cuMemGetInfo")
    assert left(fake) == {"streams": 4}


def test_memory_that_is_freed_while_a_step_is_captured(fake, monkeypatch):
    """Garbage is found wherever Python likes, so between two launches of a capture too."""
    from scalarviz.engine.cuda import trainer
    from scalarviz.engine.cuda.driver import DriverDevice
    from scalarviz.engine.cuda.recorded import Packed

    monkeypatch.setattr(trainer, "SHAPE", replace(trainer.SHAPE, lanes=0))  # a step of many launches
    other, reference, run = DriverDevice(0), make(), make()
    reference.step(3)
    run.step(1)
    garbage = [other.empty(100, np.float32) for _ in range(3)]
    queue, before = Packed.queue, fake.live["allocations"]

    def and_free(self, *args):
        if garbage:
            garbage.pop()
        queue(self, *args)

    monkeypatch.setattr(Packed, "queue", and_free)
    run.step(2)
    assert fake.live["allocations"] == before - 3
    assert fake.live["graphs"] == 2
    assert "plain" not in run.engine.why
    assert same(numbers(run), numbers(reference))


# ---- several devices


def test_each_of_two_devices_has_its_own(fake):
    runs = [make("cuda:0"), make("cuda:1")]
    for run in (*runs, *runs):
        run.step(2)
    assert fake.live["contexts"] == 2
    assert [device.memory.used > 0 for device in fake.devices] == [True, True]
    assert [run.engine.name for run in runs] == ["cuda:0", "cuda:1"]
    assert same(*map(numbers, runs))


def test_a_number_that_is_not_there(fake):
    from scalarviz.engine.cuda.driver import DriverDevice

    with pytest.raises(DeviceError, match=r"CUDA_ERROR_INVALID_DEVICE.* in cuDeviceGet") as said:
        DriverDevice(7)
    assert not isinstance(said.value, DeviceLostError)  # nothing broke
    make("cuda:1").step(1)


# ---- errors


class Code(IntEnum):
    NEW = 4242


@pytest.mark.parametrize("how", ["enum", "bindings"])
def test_an_error_that_nobody_knows_names_the_function_and_the_code(fake, monkeypatch, how):
    run = make()
    run.step(2)
    before = numbers(run)

    def unheard_of(*_):
        if how == "bindings":
            raise ValueError("4242 is not a valid CUresult")
        return (Code.NEW,)

    with monkeypatch.context() as patch:
        patch.setattr(fake, "cuStreamSynchronize", unheard_of)
        patch.setattr(fake, "cuGetErrorString", lambda error: (fake.CUresult.CUDA_ERROR_INVALID_VALUE, None))
        with pytest.raises(DeviceError, match=r"4242.*|.*4242") as said:
            run.step(1)
    assert "cuStreamSynchronize" in str(said.value)
    assert same(numbers(run), before)
    run.step(1)  # the next call begins with an upload, so nothing of the failed one is left
    reference = make()
    reference.step(3)
    assert same(numbers(run)[:-1], numbers(reference)[:-1])


FUNCTIONS = [
    ("cuMemcpyHtoDAsync", 0), ("cuMemcpyHtoDAsync", 2), ("cuGraphLaunch", 0), ("cuCtxPushCurrent", 3),
    ("cuStreamSynchronize", 0), ("cuStreamSynchronize", 1), ("cuStreamSynchronize", 2), ("cuMemcpyDtoHAsync", 0),
    ("cuMemcpyDtoHAsync", 1),
]  # fmt: skip


@pytest.mark.parametrize(("name", "after"), FUNCTIONS)
def test_an_error_that_breaks_nothing_leaves_the_numbers_and_the_device(fake, name, after):
    reference, run = make(), make()
    reference.step(5)
    run.step(3)
    before = numbers(run)
    fake.fail(name, "CUDA_ERROR_INVALID_VALUE", after)
    with pytest.raises(DeviceError, match=rf"CUDA_ERROR_INVALID_VALUE.* in {name}") as said:
        run.step(1)
    assert not isinstance(said.value, DeviceLostError)
    assert same(numbers(run), before)
    run.step(2)
    assert same(numbers(run)[:-1], numbers(reference)[:-1])
    assert list(run.history.step) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "name",
    ["cuStreamBeginCapture", "cuLaunchKernel", "cuGraphInstantiate", "cuGraphUpload"],
)
def test_where_no_graph_can_be_had_a_step_is_launched_kernel_by_kernel(fake, name):
    reference, run = make(), make()
    reference.step(4)
    run.step(1)
    fake.fail(name, "CUDA_ERROR_NOT_SUPPORTED")
    run.step(3)
    assert same(numbers(run), numbers(reference))
    assert "plain launches, since a step could not be recorded: the GPU's driver refuses" in run.engine.why
    assert run.engine.why.endswith(f"in {name})")
    launched = fake.calls["cuLaunchKernel"]
    run.step(1)
    assert fake.calls["cuLaunchKernel"] > launched
    run.close()
    reference.close()


def test_no_memory_for_a_graph_is_no_reason_to_end(fake):
    run = make()
    run.step(1)
    fake.fail("cuGraphInstantiate", "CUDA_ERROR_OUT_OF_MEMORY")
    run.step(2)
    assert run.steps == 3
    assert "plain launches" in run.engine.why


def test_a_capture_that_was_spoiled(fake, monkeypatch):
    from scalarviz.engine.cuda.recorded import DriverRecorded

    reference, run = make(), make()
    reference.step(4)
    run.step(1)
    queue = DriverRecorded._queue

    def and_ask(self, home):
        queue(self, home)
        fake.cuStreamQuery(self.device.stream)  # not allowed in a capture

    with monkeypatch.context() as patch:
        patch.setattr(DriverRecorded, "_queue", and_ask)
        run.step(1)
    run.step(2)
    assert "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED" in run.engine.why
    assert same(numbers(run), numbers(reference))


def test_a_driver_without_a_function_is_named(fake, monkeypatch):
    def missing(*_):
        raise RuntimeError('Function "cuStreamCreate" not found')

    monkeypatch.setattr(fake, "cuStreamCreate", missing)
    with pytest.raises(DeviceError, match='cannot be asked for cuStreamCreate: Function "cuStreamCreate" not found'):
        make()


@pytest.mark.parametrize("error", ["CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER"])
@pytest.mark.parametrize("name", ["cuLinkAddData", "cuModuleLoadData"])
def test_a_driver_that_is_too_old_for_the_kernels(install_fake_driver, tmp_path, monkeypatch, name, error):
    from scalarviz.engine.cache.place import Place
    from scalarviz.engine.cuda.kept import files

    monkeypatch.setattr(files, "PLACE", Place(lambda: "0", str(tmp_path / "empty-")))  # nothing is kept yet
    fake = install_fake_driver(version=13000)
    fake.fail(name, error)
    with pytest.raises(DeviceError) as said:
        make().step(1)
    assert str(said.value).startswith(
        'engine="cuda" needs a driver of CUDA 13.0 or newer, and the one here is of CUDA 13.0: install a newer one '
        f"({error}: "
    )
    assert str(said.value).endswith(f" in {name})")


def test_a_driver_of_an_older_cuda_is_refused_before_anything_is_compiled(install_fake_driver):
    fake = install_fake_driver(version=12080)
    said = r'^engine="cuda" needs a driver of CUDA 13.0 or newer, and the one here is of CUDA 12.8: install a newer one'
    with pytest.raises(ScalarvizError, match=said):
        make()
    assert fake.calls["cuDevicePrimaryCtxRetain"] == 0


def test_memory_that_is_not_there_says_how_much_was_asked_for(opened):
    with pytest.raises(DeviceMemoryError, match="16,000,000,000 bytes were asked for"):
        opened[0].empty(2_000_000_000, np.float64)


def test_data_stays_as_it_is_while_it_is_copied(opened, fake):
    """A queued copy reads and writes host memory later: until then the device holds it."""
    device, found = opened[0], np.zeros(4, np.float32)
    buffer = device.empty(4, np.float32)
    device.upload(buffer, np.arange(4, dtype=np.float32))
    gc.collect()
    device.download(buffer, found)
    del device, opened[0]  # the stream ends, and what is queued on it ends first
    gc.collect()
    assert found.tolist() == [0, 1, 2, 3]
    del buffer
    assert left(fake) == {"streams": 2}


# ---- numbers that are none


@pytest.mark.parametrize("one_call", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_run_diverges_at_the_step_and_with_the_words_of_numba(fake, dtype, one_call):
    found = {}
    for engine in ("numba", "cuda"):
        run = make(engine, dtype, lr=1e30 if dtype == "float64" else 1e8, kind=optim.SGD)
        if one_call:
            run._training._seconds_a_step, run._training._timed = 1e-9, 60
        with pytest.raises(DivergedError) as said:
            run.step(60)
        found[engine] = str(said.value), run.steps, [np.isfinite(array).all() for array in numbers(run)]
    assert found["cuda"] == found["numba"]
    assert not all(found["cuda"][2])


def test_a_number_of_the_data_that_is_none(fake):
    found = {}
    for engine in ("numba", "cuda"):
        run = make(engine)
        run.step(1)
        numbers = run.problem.data[:].copy()
        numbers[1, 7] = np.nan
        run.problem.data = Data(numbers.dtype, numbers)
        with pytest.raises(DivergedError) as said:
            run.step(10)
        found[engine] = str(said.value), run.steps
    assert found["cuda"] == found["numba"]
