"""One context for each GPU and process: runs and threads share it, others' contexts stay current, a fork has none.

Internals: ``DriverDevice``, where memory of one device is freed in the middle of work on another.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import traceback
from weakref import ref

import numpy as np
import pytest
from driver_runs import in_threads, left, make, near, numbers, same

from scalarviz.errors import DeviceError, DeviceLostError, DeviceMemoryError, ScalarvizError

pytestmark = pytest.mark.cuda


@pytest.fixture
def fake(install_fake_driver):
    return install_fake_driver(devices=2)


def current(fake):
    return int(fake.cuCtxGetCurrent()[1])


def other_context(fake):
    """That of the second GPU, as another library has it."""
    return fake.cuDevicePrimaryCtxRetain(fake.cuDeviceGet(1)[1])[1]


def ends(steps, **options):
    """The numbers of a run that nobody disturbed."""
    with make(**options) as run:
        run.step(steps)
        return numbers(run)


def test_runs_share_one_context_and_load_their_kernels_once(fake):
    first = make()
    first.step(2)
    loaded = fake.live["modules"]
    second = make()
    second.step(2)
    assert (fake.live["modules"], fake.live["contexts"]) == (loaded, 1)
    assert fake.calls["cuDevicePrimaryCtxRetain"] == 1
    assert same(numbers(first), numbers(second))


def in_threads_of_its_own(fake, run):
    for _ in range(6):
        in_threads(lambda: run.step(1))


def beside_another_run(fake, run):
    other = make(seed=9)
    in_threads(lambda: [run.step(1) for _ in range(6)], lambda: [other.step(1) for _ in range(6)])
    assert same(numbers(other), ends(6, seed=9))


def with_anothers_context(fake, run):
    for context in (other_context(fake), fake.CUcontext(0)) * 3:
        fake.cuCtxSetCurrent(context)
        before = current(fake)
        run.step(1)
        run.frame()
        assert current(fake) == before


@pytest.mark.parametrize("way", [in_threads_of_its_own, beside_another_run, with_anothers_context])
def test_whoever_shares_the_gpu_a_run_has_the_bits_of_one_alone(fake, way):
    run = make()
    way(fake, run)
    assert "plain" not in run.engine.why
    assert same(numbers(run), ends(6))


def test_each_of_two_devices_has_its_own(fake):
    runs = [make("cuda:0"), make("cuda:1")]
    for run in (*runs, *runs):
        run.step(2)
    assert fake.live["contexts"] == 2
    assert [device.memory.used > 0 for device in fake.devices] == [True, True]
    assert [run.engine.name for run in runs] == ["cuda:0", "cuda:1"]
    assert same(*map(numbers, runs))


def test_a_number_that_is_not_there_and_memory_that_is_not(fake):
    from scalarviz.engine.cuda.driver import DriverDevice

    with pytest.raises(DeviceError, match=r"CUDA_ERROR_INVALID_DEVICE.* in cuDeviceGet") as said:
        DriverDevice(7)
    assert not isinstance(said.value, DeviceLostError)  # nothing broke
    with pytest.raises(DeviceMemoryError, match="16,000,000,000 bytes"):
        DriverDevice(0).empty(2_000_000_000, np.float64)
    make("cuda:1").step(1)


def test_what_is_queued_on_a_stream_is_done_before_it_ends(fake):
    from scalarviz.engine.cuda.driver import DriverDevice

    device, found = DriverDevice(0), np.zeros(4, np.float32)
    buffer = device.empty(4, np.float32)
    device.upload(buffer, np.arange(4, dtype=np.float32))
    device.download(buffer, found)
    del device
    gc.collect()
    assert found.tolist() == [0, 1, 2, 3]
    del buffer
    assert left(fake) == {}


@pytest.mark.parametrize("copy", ["upload", "download", "read_aside"])
def test_a_queued_copy_holds_its_array_and_lets_it_go(fake, copy):
    from scalarviz.engine.cuda.driver import DriverDevice

    device = DriverDevice(0)
    buffer, array = device.empty(64, "f4"), np.zeros(64, "f4")
    device.upload(buffer, np.ones(64, "f4"))
    device.wait()
    seen = ref(array)
    mark = device.read_aside([(buffer, array)]) if copy == "read_aside" else getattr(device, copy)(buffer, array)
    del array, mark
    others = [np.zeros(64, "f4") for _ in range(50)]  # they would lie where the array lay
    assert seen() is not None
    device.wait()
    gc.collect()
    assert not any(other.any() for other in others)
    assert seen() is None


# ---- a forked process


def in_a_fork(function):
    """What `function` returns in a forked process; what it raises is raised here."""
    here, there = multiprocessing.Pipe(duplex=False)

    def child():
        try:
            there.send((function(), ""))
        except BaseException:
            there.send((None, traceback.format_exc()))

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    found, problem = here.recv() if here.poll(60) else (None, "the child said nothing")
    process.join(20)
    assert process.exitcode == 0
    assert not problem, problem
    return found


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")


@forks
def test_a_run_that_a_child_inherited_is_refused_there_and_goes_on_with_another_engine(fake):
    run = make()
    run.step(3)
    held = left(fake)

    def child():
        before = numbers(run)
        for refused in (lambda: run.step(1), make):
            with pytest.raises(ScalarvizError) as said:
                refused()
            assert not isinstance(said.value, DeviceLostError)
            assert all(fact in str(said.value) for fact in ("forked", '"spawn"', 'engine="numba"'))
            assert same(numbers(run), before)
        run.change(engine="numpy")
        run.step(2)
        return numbers(run)

    assert near(in_a_fork(child), ends(5, engine="numba"), 1e-9)
    assert (run.steps, run.engine.name, left(fake)) == (3, "cuda", held)
    run.step(2)
    assert same(numbers(run), ends(5))


@forks
def test_a_child_that_forked_before_the_gpu_was_started_may_use_it(fake):
    found = in_a_fork(lambda: ends(3))
    assert same(found, ends(3))
