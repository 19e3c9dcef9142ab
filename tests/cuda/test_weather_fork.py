"""A forked process inherits runs and no GPU: it is told so, may go on without, and leaves the parent's alone."""

from __future__ import annotations

import gc
import multiprocessing
import os
import traceback

import pytest
from weather_runs import left, make, near, numbers, same

from scalarviz.errors import DeviceError, DeviceLostError, ScalarvizError

pytestmark = [pytest.mark.cuda, pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")]


@pytest.fixture
def fake(install_fake_driver):
    return install_fake_driver()


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


def test_a_run_that_a_child_inherited_is_refused_in_plain_words(fake):
    reference, run = make(), make()
    reference.step(5)
    run.step(3)

    def child():
        before = numbers(run)
        with pytest.raises(DeviceError) as said:
            run.step(1)
        return str(said.value), isinstance(said.value, DeviceLostError), same(numbers(run), before), run.engine.name

    assert in_a_fork(child) == (
        "the GPU cannot be used here: this process was forked from one that had started it: start processes by "
        '"spawn", or take engine="numba" in this one',
        False,
        True,
        "cuda",
    )
    run.step(2)
    assert same(numbers(run), numbers(reference))


def test_a_child_goes_on_with_another_engine(fake):
    reference, run = make("numba"), make()
    reference.step(5)
    run.step(3)

    def child():
        run.change(engine="numpy")
        run.step(2)
        return numbers(run)

    assert near(in_a_fork(child), numbers(reference), 1e-9)
    assert (run.steps, run.engine.name) == (3, "cuda")


def test_freeing_in_a_child_does_not_touch_the_parent(fake):
    reference, runs = make(), [make(), make()]
    reference.step(5)
    for run in runs:
        run.step(3)
    del run
    held = left(fake)

    def child():
        before = fake.calls.total()
        runs[0].close()
        runs.clear()
        gc.collect()
        return fake.calls.total() - before, left(fake) == held

    assert in_a_fork(child) == (0, True)
    assert left(fake) == held
    for run in runs:
        run.step(2)
        assert same(numbers(run), numbers(reference))


def test_a_new_run_in_a_child(fake):
    make().step(1)

    def child():
        with pytest.raises(ScalarvizError) as said:
            make()
        run = make("numpy")
        run.step(1)
        return str(said.value)

    assert 'this process was forked from one that had started it: start processes by "spawn"' in in_a_fork(child)


def test_a_child_that_forked_before_the_gpu_was_started_may_use_it(fake):
    def child():
        run = make()
        run.step(3)
        return numbers(run)

    found = in_a_fork(child)
    run = make()
    run.step(3)
    assert same(found, numbers(run))
