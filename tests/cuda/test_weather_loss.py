"""A GPU breaks off in the middle of training: the last call's numbers stay, and the processor goes on by itself."""

from __future__ import annotations

import gc
import threading
import warnings
from dataclasses import replace

import numpy as np
import pytest
from weather_runs import (
    ASKING,
    X,
    Y,
    break_off,
    left,
    make,
    near,
    numbers,
    same,
    stepped_before_and_after,
    touched,
    wait_for,
)

from scalarviz import Run, nn, optim
from scalarviz.engine.table import ENGINES, usable
from scalarviz.errors import DeviceLostError, DivergedError, ScalarvizError
from scalarviz.run.edits import SetEngine
from scalarviz.run.rehearsal import rehearse
from scalarviz.run.worker import Worker

pytestmark = pytest.mark.cuda

BROKEN = [
    "ECC_UNCORRECTABLE", "NVLINK_UNCORRECTABLE", "CONTAINED", "ILLEGAL_ADDRESS", "LAUNCH_TIMEOUT",
    "CONTEXT_IS_DESTROYED", "ASSERT", "HARDWARE_STACK_ERROR", "ILLEGAL_INSTRUCTION", "MISALIGNED_ADDRESS",
    "INVALID_ADDRESS_SPACE", "INVALID_PC", "LAUNCH_FAILED", "TENSOR_MEMORY_LEAK", "MPS_CLIENT_TERMINATED",
    "EXTERNAL_DEVICE", "UNKNOWN", "DEINITIALIZED", "INVALID_CONTEXT", "DEVICE_UNAVAILABLE", "NO_DEVICE",
]  # fmt: skip
"""After these ``cuda.h`` says that the process has to be started anew, or nothing at all."""
WHERE = [
    ("cuMemcpyHtoDAsync", 0), ("cuMemcpyHtoDAsync", 1), ("cuMemcpyHtoDAsync", 3), ("cuGraphLaunch", 0),
    ("cuStreamSynchronize", 0), ("cuStreamSynchronize", 1), ("cuStreamSynchronize", 2), ("cuMemcpyDtoHAsync", 0),
    ("cuMemcpyDtoHAsync", 1), ("cuCtxPushCurrent", 0), ("cuCtxPushCurrent", 4),
]  # fmt: skip


@pytest.fixture
def fake(install_fake_driver):
    return install_fake_driver(devices=2)


@pytest.mark.parametrize(("name", "after"), WHERE)
def test_wherever_it_breaks_off_numba_goes_on_from_the_last_call(fake, name, after):
    reference = stepped_before_and_after(3, 4)
    run = make()
    run.step(3)
    break_off(fake, name, after)
    with pytest.warns(RuntimeWarning, match="numba goes on with the training: cuda computed 3 steps before") as said:
        run.step(4)
    assert len(said) == 1
    assert same(numbers(run), numbers(reference))
    assert (run.steps, list(run.history.step)) == (7, [1, 2, 3, 4, 5, 6, 7])
    assert (run.engine.name, run.engine.since) == ("numba", 3)
    assert run.engine.why.startswith(
        "cuda computed 3 steps before, then the GPU broke off (CUDA_ERROR_ILLEGAL_ADDRESS: illegal address in "
    )
    assert run.engine.why.endswith(f" in {name})")
    assert [(done.step, done.edit) for done in run.log] == [(3, SetEngine("numba", run.engine.why))]


@pytest.mark.parametrize("error", BROKEN)
def test_every_error_that_breaks_a_context_is_known(fake, error):
    reference = stepped_before_and_after(2, 2)
    run = make()
    run.step(2)
    break_off(fake, "cuStreamSynchronize", 0, f"CUDA_ERROR_{error}")
    with pytest.warns(RuntimeWarning, match=f"CUDA_ERROR_{error}"):
        run.step(2)
    assert same(numbers(run), numbers(reference))


@pytest.mark.parametrize("after", range(0, 40, 3))
def test_in_the_first_step_too_where_all_is_new(fake, after):
    """Launches one by one, events of a watched call, registered memory."""
    reference, run = make("numba"), make()
    reference.step(3)
    break_off(fake, "cuCtxPushCurrent", after)
    try:
        with pytest.warns(RuntimeWarning, match="cuda computed [012] steps before"):
            run.step(3)
    except pytest.fail.Exception:  # there were fewer calls than that
        assert run.engine.name == "cuda"
    assert near(numbers(run), numbers(reference), 1e-9)


def test_a_launch_and_a_recording_that_break_off(fake):
    for name in ("cuLaunchKernel", "cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiate"):
        fake._lost = ""
        from scalarviz.engine.cuda import context

        context.forget()
        reference, run = stepped_before_and_after(1, 2), make()
        run.step(1)
        break_off(fake, name)
        with pytest.warns(RuntimeWarning, match=rf"illegal address in {name}\)"):
            run.step(2)
        assert same(numbers(run), numbers(reference))


@pytest.mark.parametrize(
    "name",
    [
        "cuEventRecord",
        "cuEventQuery",
        "cuEventSynchronize",
        "cuStreamWaitEvent",
        "cuMemcpyDtoDAsync",
        "cuMemHostRegister",
    ],
)
def test_in_a_watched_call_too_and_who_asked_gets_the_numbers_after_it(fake, name):
    reference, run = stepped_before_and_after(2, 6), make()
    run.step(2)
    run._training._seconds_a_step, run._training._timed = 1e-9, 6  # all in one call
    given = []

    class Reading:
        def give(self, now):
            given.append(now)

    break_off(fake, name)
    run._training.watch(Reading)
    with pytest.warns(RuntimeWarning, match=rf"in {name}\)"):
        run.step(6)
    assert given == []
    assert near(numbers(run), numbers(reference))
    assert run.request_frame().result(5).step == 8


def test_a_frame_that_is_asked_for_while_a_worker_trains(fake):
    run = make()
    run.step(1)
    worker = Worker(run).start()
    with pytest.warns(RuntimeWarning, match="numba goes on"):  # noqa: PT031
        worker.train_to(40)
        break_off(fake, "cuMemcpyDtoHAsync", 5)
        frames = [worker.request().result(20) for _ in range(5)]
        wait_for(worker, 40)
    worker.close()
    assert (worker.error, run.engine.name, run.steps) == (None, "numba", 40)
    assert all(np.isfinite(frame.values).all() for frame in frames)
    assert [frame.step for frame in frames] == sorted(frame.step for frame in frames)


def test_a_kernel_that_writes_where_it_must_not(install_fake_driver, monkeypatch):
    """Not an error code that a test made up: the machine that runs the kernels refuses the access."""
    from scalarviz.engine.cuda import trainer

    monkeypatch.setattr(trainer, "SHAPE", replace(trainer.SHAPE, lanes=0))
    fake = install_fake_driver(faults="error")
    reference, run = stepped_before_and_after(3, 2), make()
    run.step(3)
    step = run._training.trainer._work.step
    wild = step.launches[-1].numbers[0]
    step._graph = None  # launched one by one from here on
    wild.value = 16
    with pytest.warns(RuntimeWarning, match="CUDA_ERROR_ILLEGAL_ADDRESS"):
        run.step(2)
    assert fake.last_fault is not None
    assert same(numbers(run), numbers(reference))


# ---- the broken context is left alone


def test_a_broken_context_is_not_touched_again(fake):
    runs = [make(seed=seed) for seed in range(3)]
    for run in runs:
        run.step(2)
    garbage = make()
    garbage.step(2)
    break_off(fake, "cuGraphLaunch")
    with pytest.warns(RuntimeWarning):
        runs[0].step(1)
    before = touched(fake)
    with pytest.warns(RuntimeWarning) as said:  # noqa: PT031
        for run in (*runs, *runs):
            run.step(2)
    assert len(said) == 2  # once a run
    garbage.close()
    del garbage
    runs[1].close()
    gc.collect()
    assert {run.engine.name for run in runs} == {"numba"}
    del run, runs
    gc.collect()
    assert touched(fake) == before, "something asked the broken context"
    assert set(ASKING) & set(fake.calls)


def test_other_runs_on_the_device_notice_too_and_say_why(fake):
    reference = stepped_before_and_after(5, 2)
    first, second = make(), make()
    first.step(2)
    second.step(5)
    break_off(fake, "cuStreamSynchronize", 0, "CUDA_ERROR_LAUNCH_FAILED")
    with pytest.warns(RuntimeWarning, match="cuda computed 2 steps before"):
        first.step(1)
    with pytest.warns(RuntimeWarning, match="cuda computed 5 steps before"):
        second.step(2)
    assert same(numbers(second), numbers(reference))
    assert "CUDA_ERROR_LAUNCH_FAILED: launch failed in cuStreamSynchronize" in second.engine.why


def test_a_later_run_is_refused_and_told_why(fake):
    run = make()
    run.step(1)
    break_off(fake, "cuStreamSynchronize")
    with pytest.warns(RuntimeWarning):
        run.step(1)
    said = (
        r'^engine="cuda" cannot use GPU 0 in this process any more \(the GPU broke off \(CUDA_ERROR_ILLEGAL_ADDRESS.*'
    )
    with pytest.raises(ScalarvizError, match=said + r'start the program anew, or take engine="numba"$'):
        make()
    with pytest.raises(ScalarvizError, match=said):
        run.change(engine="cuda")
    assert run.engine.name == "numba"
    usable("cuda:1", "float64")  # another device has a context of its own


def test_a_device_that_is_not_there_from_the_start_is_not_lost(fake):
    break_off(fake, "cuDevicePrimaryCtxRetain", 0, "CUDA_ERROR_DEVICE_UNAVAILABLE")
    with pytest.raises(ScalarvizError, match="another program may have it for itself") as said:
        make()
    assert not isinstance(said.value, DeviceLostError)
    fake._lost = ""
    make().step(1)


# ---- whoever else meets it


def test_without_numba_numpy_goes_on(fake, monkeypatch):
    reference, run = make("numpy"), make()
    reference.step(4)
    run.step(2)
    break_off(fake, "cuStreamSynchronize")
    import dataclasses

    no_numba = dataclasses.replace(ENGINES["numba"], missing=lambda device: "needs numba")
    monkeypatch.setitem(ENGINES, "numba", no_numba)
    with pytest.warns(RuntimeWarning, match="numpy goes on with the training"):
        run.step(2)
    assert run.engine.name == "numpy"
    assert near(numbers(run), numbers(reference), 1e-9)


def test_warnings_as_errors_leave_a_run_that_goes_on(fake):
    reference, run = stepped_before_and_after(2, 2), make()
    run.step(2)
    break_off(fake, "cuStreamSynchronize")
    with warnings.catch_warnings(), pytest.raises(RuntimeWarning):
        warnings.simplefilter("error")
        run.step(2)
    run.step(2)
    assert same(numbers(run), numbers(reference))


def test_a_worker_goes_on(fake):
    reference, run = stepped_before_and_after(3, 5), make()
    run.step(3)
    break_off(fake, "cuStreamSynchronize")
    worker = Worker(run).start()
    with pytest.warns(RuntimeWarning, match="numba goes on"):
        wait_for(worker, 8)
    worker.close()
    assert worker.error is None
    assert run.engine.name == "numba"
    assert near(numbers(run), numbers(reference))


def test_an_edit_that_needs_a_new_trainer_is_done_all_the_same(fake):
    other, run = make(), make()
    other.step(1)
    run.step(2)
    break_off(fake, "cuStreamSynchronize")
    with pytest.warns(RuntimeWarning):
        other.step(1)
    with pytest.warns(RuntimeWarning, match="cuda computed 2 steps before"):
        run.change(batch_size=8)
    run.step(1)
    assert (run.batch_size, run.engine.name, run.engine.since, run.steps) == (8, "numba", 2, 3)


def test_back_to_a_state_of_the_time_before(fake):
    reference, run = stepped_before_and_after(2, 3), make()
    run.step(2)
    early = run.state()
    break_off(fake, "cuStreamSynchronize")
    with pytest.warns(RuntimeWarning):
        run.step(3)
    run.take(early)
    assert (run.steps, run.engine.name) == (2, "numba")
    run.step(3)
    assert same(numbers(run)[:-1], numbers(reference)[:-1])


def test_a_state_of_another_engine_is_taken_with_it():
    run = make("numpy")
    run.step(1)
    early = run.state()
    run.change(engine="numba")
    run.take(early)
    assert run.engine.name == "numpy"


def test_measuring_and_rehearsing(fake):
    run = make()
    run.step(2)
    before = numbers(run)
    break_off(fake, "cuStreamSynchronize")
    assert rehearse(run, 3) is None
    assert (run.engine.name, same(numbers(run), before)) == ("cuda", True)
    with pytest.warns(RuntimeWarning, match="numba goes on"):
        assert run.full_speed > 0
    assert same(numbers(run), before)
    assert rehearse(run, 3) is not None


def test_while_it_looks_for_the_step_at_which_it_diverged(fake):
    """The call is undone, and numba finds the step: numbers that are no numbers are not trained on."""
    engines = {}
    for name in ("numba", "cuda"):
        net = nn.Sequential(nn.Linear(3, 4, seed=1), nn.Linear(4, 2, seed=2))
        run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=1e4), (X, Y), engine=name, dtype="float64")
        run._training._seconds_a_step = 1e-9  # all in one call
        run._training._timed = 1000
        engines[name] = run
    with pytest.raises(DivergedError) as wanted:
        engines["numba"].step(300)
    train = type(engines["cuda"]._training.trainer).train
    calls = []

    def second_breaks(self, *args):
        calls.append(args)
        if len(calls) == 2:
            break_off(fake, "cuStreamSynchronize")
        return train(self, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(engines["cuda"]._training.trainer), "train", second_breaks)
        with pytest.warns(RuntimeWarning, match="cuda computed 0 steps"), pytest.raises(DivergedError) as found:
            engines["cuda"].step(300)
    assert len(calls) == 2
    assert str(found.value) == str(wanted.value)
    assert same(numbers(engines["cuda"]), numbers(engines["numba"]))


def test_two_threads_meet_it_at_once(fake):
    runs = [make(seed=seed) for seed in (1, 2)]
    for run in runs:
        run.step(2)
    break_off(fake, "cuGraphLaunch", 4)
    errors = []

    def train(run):
        try:
            for _ in range(6):
                run.step(1)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=train, args=(run,)) for run in runs]
    with pytest.warns(RuntimeWarning) as said:  # noqa: PT031
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(said) == 2
    assert not errors
    assert [(run.engine.name, run.steps) for run in runs] == [("numba", 8)] * 2
    for run in runs:
        reference = make("numba", seed=run.seed)
        reference.step(8)
        assert near(numbers(run), numbers(reference), 1e-9)


def test_nothing_is_left_of_a_run_whose_device_is_sound(fake):
    run = make()
    run.step(3)
    del run
    assert left(fake) == {}
