"""NVIDIA's driver fails once, at any call: the last good step stays, and the run goes on, here or on the processor.

Runs and threads share one context for each GPU. Internals: ``DriverDevice``, which holds arrays until they are copied.
"""

import gc
import os
import signal
from weakref import ref

import numpy as np
import pytest
from driver_runs import in_threads, left, make, near, numbers, same, stepped

from scalarviz.errors import DeviceError, DeviceLostError, DeviceMemoryError, DivergedError, ScalarvizError

pytestmark = pytest.mark.cuda
REFUSED, BROKEN, FULL = "CUDA_ERROR_INVALID_VALUE", "CUDA_ERROR_ILLEGAL_ADDRESS", "CUDA_ERROR_OUT_OF_MEMORY"
LETS_GO = ("Free", "Destroy", "Unregister", "Unload")
"""Where such a call fails, something stays."""


@pytest.fixture
def fake(install_fake_driver):
    return install_fake_driver(devices=2)


def one_call(run):
    """Several steps in a call of the engine."""
    run._training.call_seconds = 100.0
    run.step(6)


MOMENTS = {
    "the first step": (0, lambda run: run.step(1)), "the step that is recorded": (1, lambda run: run.step(1)),
    "a call of several steps": (2, one_call), "another batch size": (2, lambda run: run.change(batch_size=8)),
}  # fmt: skip
"""How many steps a run has done, and what it does while the driver fails."""


def begun(moment):
    run = make()
    run.step(MOMENTS[moment][0])
    return run, MOMENTS[moment][1]


def failing_calls(fake, moment):
    """Numbers and names of the calls at that moment: of the first and the last of each function a quarter."""
    run, act = begun(moment)
    gc.collect()
    before = len(fake.log)
    act(run)
    log = fake.log[before:]
    run.close()
    places = {}
    for k, name in enumerate(log):
        places.setdefault(name, []).append(k)
    chosen = [(k, name) for name, found in places.items() for k in {found[0], found[-1]}]
    assert len(chosen) > 4
    return sorted(chosen)[list(MOMENTS).index(moment) :: 4]


def refusal_of(act, run):
    """The words of an error that is no loss of the device; empty where there is none."""
    try:
        act(run)
    except DeviceLostError:
        raise
    except DeviceError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("moment", [moment for moment in MOMENTS if moment != "another batch size"])
def test_a_call_that_is_refused_leaves_the_last_good_step_and_the_next_call_is_whole(fake, moment):
    reference, act = begun(moment)
    act(reference)
    reference.step(2)
    wanted, raised = numbers(reference), 0
    reference.close()
    for k, name in failing_calls(fake, moment):
        run, act = begun(moment)
        before, steps = numbers(run), run.steps
        gc.collect()
        fake.fail("", REFUSED, k)
        said = refusal_of(act, run)
        fake._failures.clear()
        if said:
            raised += 1
            assert all(fact in said for fact in (REFUSED, f"in {name}")), said
            assert run.steps == steps
            assert same(numbers(run), before), name
            act(run)
        run.step(2)
        assert near(numbers(run), wanted), (name, k)  # a call may be cut otherwise, or launched kernel by kernel
        assert run.engine.name == "cuda"
        assert list(run.history.step) == list(range(1, run.steps + 1))
        run.close()
        del run, act
        assert left(fake) == {} or any(word in name for word in (*LETS_GO, "Push")), (name, k)
        fake._alive = {n: h for n, h in fake._alive.items() if type(h).__name__ not in ("Stream", "Event", "Graph")}
    assert raised


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_gpu_that_breaks_off_is_left_and_numba_goes_on_from_the_last_call(install_fake_driver, fake, moment, recwarn):
    for k, name in failing_calls(fake, moment):
        other = install_fake_driver()
        run, act = begun(moment)
        start = run.steps
        gc.collect()
        other.fail("", BROKEN, k, lose=True)
        recwarn.clear()
        act(run)
        run.step(2)
        assert [w.category for w in recwarn.list] == [RuntimeWarning], name
        quiet = any(word in name for word in LETS_GO)  # nobody waits for it: the call after it notices
        since, said = run.engine.since, str(recwarn[0].message)
        facts = (BROKEN, "numba", f"cuda computed {since} ", "" if quiet else f"in {name}")
        assert [fact for fact in facts if fact not in said] == [], said
        assert run.engine.name == "numba"
        assert since == start or quiet
        assert list(run.history.step) == list(range(1, run.steps + 1))
        assert [(done.step, done.edit.engine, done.edit.why) for done in run.log if hasattr(done.edit, "why")] == [
            (since, "numba", run.engine.why)
        ]
        asked = len(other.log)
        run.step(1)
        found, steps, size = numbers(run), run.steps, run.batch_size
        run.close()
        del run
        gc.collect()
        assert len(other.log) == asked, f"something asked the broken context after {name}"
        other = install_fake_driver()
        with make() as plain:
            plain.step(since)
            plain.change(engine="numba")
            if size != plain.batch_size:
                plain.change(batch_size=size)
            plain.step(steps - since)
            assert same(found, numbers(plain)), name


def lost(fake, steps=2, **options):
    """A run that has lost its GPU after so many steps; nobody has noticed yet."""
    run = make(**options)
    run.step(steps)
    fake.fail("cuStreamSynchronize", BROKEN, lose=True)
    return run


def test_other_runs_notice_later_ones_are_refused_and_another_device_works(fake):
    wanted = stepped(5, 2, seed=7)
    second, garbage = make(seed=7), make()
    second.step(5)
    garbage.step(2)
    first = lost(fake)
    with pytest.warns(RuntimeWarning, match="cuda computed 2 steps, then"):
        first.step(1)
    asked = len(fake.log)
    garbage.close()
    del garbage
    with pytest.warns(RuntimeWarning, match="cuda computed 5 steps, then") as said:
        second.step(2)
    assert len(said) == 1
    assert same(numbers(second), wanted)
    assert f"{BROKEN}: illegal address in cuStreamSynchronize" in second.engine.why
    for refused in (make, lambda: first.change(engine="cuda")):
        with pytest.raises(ScalarvizError, match="GPU 0") as error:
            refused()
        assert all(fact in str(error.value) for fact in (BROKEN, 'engine="cuda"', 'engine="numba"', "start"))
    assert first.engine.name == "numba"
    assert len(fake.log) == asked, "something asked the broken context"
    fake._lost = ""
    make("cuda:1").step(1)  # another device has a context of its own


def test_a_device_that_is_not_there_from_the_start_is_not_lost(fake):
    fake.fail("cuDevicePrimaryCtxRetain", "CUDA_ERROR_DEVICE_UNAVAILABLE")
    with pytest.raises(ScalarvizError, match="another program") as said:
        make()
    assert not isinstance(said.value, DeviceLostError)
    make().step(1)


def test_a_run_that_lost_its_gpu_goes_on_from_a_state(fake):
    wanted, run = stepped(2, 2), make()
    run.step(2)
    early = run.state()
    fake.fail("cuStreamSynchronize", BROKEN, lose=True)
    with pytest.warns(RuntimeWarning, match="training continues on numba"):
        run.step(3)
    run.take(early)
    assert (run.steps, run.engine.name) == (2, "numba")
    run.step(2)
    assert near(numbers(run)[:-1], wanted[:-1], 1e-9)


# ---- no graph, old drivers


@pytest.mark.parametrize(("name", "error"), [("cuStreamBeginCapture", FULL), ("cuLaunchKernel", FULL),
                         ("cuGraphInstantiate", "CUDA_ERROR_NOT_SUPPORTED"), ("cuGraphUpload", FULL)])  # fmt: skip
def test_where_no_graph_can_be_had_a_step_is_launched_kernel_by_kernel(fake, name, error):
    reference, run = make(), make()
    reference.step(4)
    run.step(1)
    fake.fail(name, error)
    run.step(3)
    assert same(numbers(run), numbers(reference))
    assert all(fact in run.engine.why for fact in ("plain launches", error, f"in {name}"))
    launched = fake.calls["cuLaunchKernel"]
    run.step(1)
    assert fake.calls["cuLaunchKernel"] > launched


@pytest.mark.parametrize(("name", "error"), [("cuLinkAddData", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"),
                         ("cuModuleLoadData", "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER")])  # fmt: skip
def test_a_driver_that_is_too_old_for_the_kernels(install_fake_driver, nothing_kept, name, error):
    fake = install_fake_driver()
    fake.fail(name, error)
    with pytest.raises(DeviceError) as said:
        make().step(1)
    facts = ('engine="cuda"', "driver for CUDA 13.0 or newer", "is for CUDA 13.0", error, f"in {name}")
    assert [fact for fact in facts if fact not in str(said.value)] == []


# ---- numbers that are none


@pytest.mark.parametrize(("dtype", "seconds"), [("float32", 100.0), ("float64", None)])
def test_a_run_diverges_at_the_step_and_with_the_words_of_numba(fake, dtype, seconds):
    found = {}
    for engine in ("numba", "cuda"):
        run = make(engine, "sgd", 1e30 if dtype == "float64" else 1e8, dtype=dtype, network="classes")
        run._training.call_seconds = seconds or run._training.call_seconds
        with pytest.raises(DivergedError) as said:
            run.step(40)
        found[engine] = str(said.value), run.steps, [np.isfinite(array).all() for array in numbers(run)]
    assert found["cuda"] == found["numba"]
    assert not all(found["cuda"][2])


# ---- Ctrl-C


@pytest.mark.parametrize(("name", "after"), [("cuGraphLaunch", 0), ("cuMemcpyDtoHAsync", 1)])
def test_ctrl_c_in_a_call_leaves_the_numbers_of_a_whole_step(fake, monkeypatch, name, after):
    reference, run, function, asked = make(), make(), getattr(fake, name), []
    run.step(3)
    run._training.call_seconds = 100.0

    def interrupted(*args):
        asked.append(name)
        if len(asked) == after + 1:
            os.kill(os.getpid(), signal.SIGINT)
        return function(*args)

    monkeypatch.setattr(fake, name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.step(1000)
    assert 3 < run.steps < 100, "the call was ended, and no other one begun"
    run.step(1)
    reference.step(run.steps)
    assert same(numbers(run), numbers(reference))


def test_calls_are_as_short_as_was_asked_for_however_many_steps_there_are(fake):
    """So Ctrl-C is answered soon: thousands of steps are queued only where they take no longer."""
    run, done = make(), []
    run.step(1)
    run._training.call_seconds = 0.05
    run.step(100_000, progress=lambda run: done.append(run.steps) or len(done) < 4)
    assert run.steps < 1000


# ---- one context for each GPU and process


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
