"""NVIDIA's driver fails once, at any call: the last good step stays, and the run goes on, here or on the processor."""

from __future__ import annotations

import gc
import os
import signal
from enum import IntEnum

import numpy as np
import pytest
from driver_runs import left, make, near, numbers, same, stepped

from scalarviz.errors import DeviceError, DeviceLostError, DivergedError, ScalarvizError
from scalarviz.run.worker import Worker

pytestmark = pytest.mark.cuda
REFUSED, BROKEN, FULL = "CUDA_ERROR_INVALID_VALUE", "CUDA_ERROR_ILLEGAL_ADDRESS", "CUDA_ERROR_OUT_OF_MEMORY"
LETS_GO = ("Free", "Destroy", "Unregister", "Unload")
"""Where such a call fails, something stays."""


@pytest.fixture
def fake(install_fake_driver):
    return install_fake_driver(devices=2)


def one_call(run):
    """Several steps in a call of the engine."""
    run.call_seconds = 100.0
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
            plain.adopt_engine("numba")
            if size != plain.batch_size:
                plain.change(batch_size=size)
            plain.step(steps - since)
            assert same(found, numbers(plain)), name


CONTEXT_IS_GONE = [
    "ECC_UNCORRECTABLE", "NVLINK_UNCORRECTABLE", "CONTAINED", "ILLEGAL_ADDRESS", "LAUNCH_TIMEOUT",
    "CONTEXT_IS_DESTROYED", "ASSERT", "HARDWARE_STACK_ERROR", "ILLEGAL_INSTRUCTION", "MISALIGNED_ADDRESS",
    "INVALID_ADDRESS_SPACE", "INVALID_PC", "LAUNCH_FAILED", "TENSOR_MEMORY_LEAK", "MPS_CLIENT_TERMINATED",
    "EXTERNAL_DEVICE", "UNKNOWN", "DEINITIALIZED", "INVALID_CONTEXT", "DEVICE_UNAVAILABLE", "NO_DEVICE",
]  # fmt: skip
"""After these ``cuda.h`` says that the process has to be started anew, or nothing at all."""


def test_every_error_that_breaks_a_context_is_known(install_fake_driver):
    install_fake_driver()
    wanted = stepped(2, 2)
    for error in CONTEXT_IS_GONE:
        fake = install_fake_driver()
        run = make()
        run.step(2)
        fake.fail("cuStreamSynchronize", f"CUDA_ERROR_{error}", lose=True)
        with pytest.warns(RuntimeWarning, match=f"CUDA_ERROR_{error}"):
            run.step(2)
        assert same(numbers(run), wanted), error


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
    with pytest.warns(RuntimeWarning, match="cuda computed 2 steps before"):
        first.step(1)
    asked = len(fake.log)
    garbage.close()
    del garbage
    with pytest.warns(RuntimeWarning, match="cuda computed 5 steps before") as said:
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


def go_on_without_numba(run, patch):
    from scalarviz.engine.table import ENGINES

    gone = type("Gone", (), {"__getattr__": lambda self, name: getattr(numba, name), "missing": lambda *_: "needs it"})
    numba = ENGINES["numba"]
    patch.setitem(ENGINES, "numba", gone())
    run.step(2)


def go_on_in_a_worker(run, patch):
    with Worker(run) as worker:
        frames = [worker.request()]
        worker.train_to(4)
        frames += [worker.request() for _ in range(3)]
        assert worker.settle().step == 4
        assert worker.error is None
        steps = [frame.result(20).step for frame in frames]
    assert steps == sorted(steps)


def go_on_from_a_state(run, patch):
    early = run.state()
    run.step(3)
    run.take(early)
    assert (run.steps, run.engine.name) == (2, "numba")
    run.step(2)


@pytest.mark.parametrize("way", [go_on_without_numba, go_on_in_a_worker, go_on_from_a_state])
def test_whoever_meets_the_loss_goes_on(fake, way, monkeypatch):
    engine = "numpy" if way is go_on_without_numba else "numba"
    wanted = stepped(2, 2, engine)
    run = lost(fake)
    with pytest.warns(RuntimeWarning, match=f"{engine} goes on"):
        way(run, monkeypatch)
    assert (run.engine.name, run.steps) == (engine, 4)
    assert near(numbers(run)[:-1], wanted[:-1], 1e-9)


# ---- no graph, odd errors, old drivers


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


class Code(IntEnum):
    NEW = 4242


def test_an_error_that_nobody_knows_names_the_function_and_the_code(fake, monkeypatch):
    reference, run = make(), make()
    reference.step(3)
    run.step(2)
    before = numbers(run)
    with monkeypatch.context() as patch:
        patch.setattr(fake, "cuStreamSynchronize", lambda *_: (Code.NEW,))
        patch.setattr(fake, "cuGetErrorString", lambda error: (fake.CUresult.CUDA_ERROR_INVALID_VALUE, None))
        with pytest.raises(DeviceError, match="4242") as said:
            run.step(1)
    assert "cuStreamSynchronize" in str(said.value)
    assert same(numbers(run), before)
    run.step(1)  # the next call begins with an upload, so nothing of the failed one is left
    assert same(numbers(run), numbers(reference))


@pytest.mark.parametrize(("name", "error"), [("cuLinkAddData", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"),
                         ("cuModuleLoadData", "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER")])  # fmt: skip
def test_a_driver_that_is_too_old_for_the_kernels(install_fake_driver, nothing_kept, name, error):
    fake = install_fake_driver()
    fake.fail(name, error)
    with pytest.raises(DeviceError) as said:
        make().step(1)
    facts = ('engine="cuda"', "driver of CUDA 13.0 or newer", "is of CUDA 13.0", error, f"in {name}")
    assert [fact for fact in facts if fact not in str(said.value)] == []


# ---- numbers that are none


@pytest.mark.parametrize(("dtype", "seconds"), [("float32", 100.0), ("float64", None)])
def test_a_run_diverges_at_the_step_and_with_the_words_of_numba(fake, dtype, seconds):
    found = {}
    for engine in ("numba", "cuda"):
        run = make(engine, "sgd", 1e30 if dtype == "float64" else 1e8, dtype=dtype, network="classes")
        run.call_seconds = seconds or run.call_seconds
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
    run.call_seconds = 100.0

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
    run.call_seconds = 0.05
    run.step(100_000, progress=lambda run: done.append(run.steps) or len(done) < 4)
    assert run.steps < 1000
