"""A run moves to another engine between two steps, and nothing but the rounding shows it."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from scalarviz import Run, nn, optim
from scalarviz.engine import table
from scalarviz.engine.table import find
from scalarviz.errors import InputError, ScalarvizError, StateError
from scalarviz.run import first_start
from scalarviz.run.first_start import Change, FirstStart
from scalarviz.run.worker import Worker

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(50, 3)), RNG.random((50, 2))
OPTIMISERS = {
    "SGD": lambda p: optim.SGD(p, lr=0.3, momentum=0.9),
    "Adam": lambda p: optim.Adam(p, lr=0.01),
    "AdamW": lambda p: optim.AdamW(p, lr=0.01),
}


def make(engine="numpy", dtype="float64", optimiser="Adam", **options):
    net = nn.Sequential(nn.Linear(3, 8, seed=1), nn.Tanh(), nn.Linear(8, 2, seed=2), nn.Sigmoid())
    chosen = {"batch_size": 16, "seed": 5, **options}  # batches in an order that depends on the step
    return Run(net, nn.MSELoss(), OPTIMISERS[optimiser](net.parameters()), (X, Y), engine=engine, dtype=dtype, **chosen)


def state_of(run):
    problem = run.problem
    return [problem.store.value, problem.store.grad, problem.previous, *problem.state, run.history.loss]


def assert_near(run, other, bound):
    for mine, theirs in zip(state_of(run), state_of(other), strict=True):
        assert np.linalg.norm(mine - theirs) <= bound * max(1.0, np.linalg.norm(theirs))


def wait(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.002)


@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize(("first", "second"), [("numpy", "numba"), ("numba", "objects"), ("objects", "numpy")])
def test_the_numbers_are_those_of_a_run_without_the_change(first, second, optimiser):
    run = make(first, optimiser=optimiser)
    run.step(7)
    run.adopt_engine(second)
    run.step(9)  # over the end of an epoch of 3 batches
    for engine in (first, second):
        plain = make(engine, optimiser=optimiser)
        plain.step(16)
        assert_near(run, plain, 1e-12)
    assert (run.steps, list(run.history.step)) == (16, list(range(1, 17)))
    assert (run.engine.name, run.engine.since, run.engine.why) == (second, 7, "asked for")


def test_the_change_itself_touches_no_number():
    run = make()
    run.step(7)
    before = [array.copy() for array in state_of(run)]
    arrays = [id(array) for array in (run.problem.store.value, run.problem.store.grad, *run.problem.state)]
    run.adopt_engine("numba")
    assert all(np.array_equal(a, b) for a, b in zip(state_of(run), before, strict=True))
    assert arrays == [id(array) for array in (run.problem.store.value, run.problem.store.grad, *run.problem.state)]


def test_one_step_in_float32_after_the_change():
    run, plain = make(dtype="float32"), make(dtype="float32")
    run.step(20)
    plain.step(20)
    run.adopt_engine("numba")
    run.step(1)
    plain.step(1)
    assert_near(run, plain, 1e-5)


def test_frozen_weights_edits_and_the_learning_rate_are_carried():
    def trained(change):
        run = make()
        run.step(5)
        run.model.freeze("0.*")
        run.set_weights(26, [0.25, -0.5])
        run.lr = 0.003
        run.set_targets(1 - Y)
        if change:
            run.adopt_engine("numba")
        run.step(6)
        return run

    run, plain = trained(True), trained(False)
    assert_near(run, plain, 1e-12)
    assert np.array_equal(run.values[:32], plain.values[:32])  # the frozen layer, bit by bit


def test_saving_loading_and_more_samples_after_the_change(tmp_path):
    run, plain = make(), make("numba")
    run.step(5)
    run.adopt_engine("numba")
    run.step(2)
    run.save(tmp_path / "w.safetensors")
    plain.load(tmp_path / "w.safetensors")
    for each in (run, plain):
        each.add_samples(X[:4] + 1, Y[:4])
        each.step(11)
        assert each.engine.name == "numba"
    assert run.values.tobytes() == plain.values.tobytes()
    assert np.array_equal(run.history.loss[-11:], plain.history.loss)


def test_speed_is_that_of_the_engine_at_work():
    run = make(batch_size=50)
    run.step(10)
    before = run.full_speed
    run.adopt_engine("numba")
    assert np.isnan(run.steps_per_second)
    assert run.full_speed != before
    run.step(10)
    assert run.steps_per_second > 0


@pytest.mark.parametrize(
    ("engine", "says"), [("auto", "name an engine"), ("cuda:99", "cuda:99"), ("jax", "must be one of")]
)
def test_no_such_engine(engine, says):
    run = make()
    run.step(2)
    with pytest.raises(ScalarvizError, match=says) as caught:
        run.adopt_engine(engine)
    assert isinstance(caught.value, InputError) == (engine != "cuda:99")
    run.step(1)
    assert (run.engine.name, run.engine.since) == ("numpy", 0)


def test_not_after_the_end_nor_after_a_failure(monkeypatch):
    run = make()
    with monkeypatch.context() as broken:
        broken.setattr("scalarviz.engine.cpu.NumbaTrainer", lambda problem: 1 / 0, raising=False)
        with pytest.raises(ZeroDivisionError):
            run.adopt_engine("numba")
    run.step(1)
    assert run.engine.name == "numpy"
    run.close()
    with pytest.raises(StateError, match="closed"):
        run.adopt_engine("numba")


# the first start of a window


@pytest.fixture
def kernels(monkeypatch):
    """Whether numba's cache is warm, as those see it who choose; it is cold."""
    make("numba", batch_size=50).close()  # what is waited for below is the change, not a compiler
    state = {"warm": False}
    for owner in ("scalarviz.engine.cpu.cache_is_warm", "scalarviz.run.first_start.cache_is_warm"):
        monkeypatch.setattr(owner, lambda dtype, operations: state["warm"])
    return state


def watched(run, kernels, monkeypatch):
    """A worker's run that is at work when the kernels arrive: the log, and what was told."""
    told = []
    monkeypatch.setattr(first_start, "PAUSE", 0.01)
    with Worker(run) as worker:
        waiting = FirstStart(worker, told.append)
        waiting.start()
        worker.train_to(10**9)
        wait(lambda: run.steps > 50)
        assert run.engine.name == "numpy"
        kernels["warm"] = True
        wait(lambda: told)
        wait(lambda: run.steps > told[0].step + 500)
        waiting.close()
    return worker.log, told


def test_a_watched_run_goes_on_with_numba_when_its_kernels_are_there(kernels, monkeypatch):
    run = make("auto", batch_size=50)
    assert run.engine.provisional
    log, told = watched(run, kernels, monkeypatch)
    (edit,), (change,) = log, told
    assert edit.what == "engine numpy -> numba"
    assert (run.engine.name, run.engine.since, change.step) == ("numba", edit.step, edit.step + 1)
    assert run.engine.why == f"its kernels are ready; numpy computed {edit.step:,} steps before"
    assert not run.engine.provisional
    assert f"numba from step {change.step:,} on" in str(change)
    assert (change.after, change.problem) == (run.full_speed, "")
    plain = make("numpy", batch_size=50)  # the log tells how to do it again, to the bit
    plain.step(edit.step)
    plain.adopt_engine("numba")
    plain.step(run.steps - edit.step)
    assert plain.values.tobytes() == run.values.tobytes()


def test_numba_that_cannot_be_loaded_is_told_and_numpy_goes_on(kernels, monkeypatch):
    monkeypatch.setattr("scalarviz.engine.cpu.NumbaTrainer", lambda problem: 1 / 0, raising=False)
    run = make("auto")
    log, (change,) = watched(run, kernels, monkeypatch)
    assert (run.engine.name, log) == ("numpy", [])
    assert "NumPy goes on: ZeroDivisionError" in str(change)


def test_closing_while_it_waits_ends_it_and_nothing_changes_any_more(kernels, monkeypatch):
    monkeypatch.setattr(first_start, "PAUSE", 3600.0)  # who closes does not wait for that
    before = threading.active_count()
    run = make("auto")
    with Worker(run) as worker:
        waiting = FirstStart(worker, pytest.fail)
        waiting.start()
        worker.train_to(20)
        waiting.close(60.0)
        kernels["warm"] = True
        worker.settle()
    assert (run.engine.name, worker.log, threading.active_count()) == ("numpy", [], before)


def test_nothing_else_ever_changes_engine(kernels):
    run = make("auto")
    run.step(5)
    kernels["warm"] = True
    run.step(5)
    with Worker(run) as worker:
        worker.train_to(50)
        worker.settle()
    run.predict(X)
    run.frame()
    run.add_samples(X[:1], Y[:1])
    run.step(5)
    assert (run.engine.name, run.engine.since) == ("numpy", 0)
    assert not make("numpy").engine.provisional
    assert not make("numba").engine.provisional


def test_what_is_said():
    assert str(Change(1234, 100.0, 4010.0)) == "the fast kernels are ready: numba from step 1,234 on, 40 times as fast"
    assert str(Change(2, 100.0, 110.0)) == "the fast kernels are ready: numba from step 2 on"


def test_asking_loads_no_numba():
    """What is done each second beside a run that waits."""
    code = (
        "import sys, scalarviz.run.first_start as f; f.cache_is_warm('float32', ['tanh']); "
        "print('numba' in sys.modules, 'llvmlite' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["False", "False"]


def test_an_engine_that_is_not_there_is_not_loaded_either(monkeypatch):
    """With NUMBA_DISABLE_JIT=1 it threw the good kernels of the cache away."""
    run = make()
    gone = dataclasses.replace(table.ENGINES["numba"], missing=lambda device: "is gone")
    monkeypatch.setitem(table.ENGINES, "numba", gone)
    with pytest.raises(ScalarvizError, match="is gone"):
        run.load_engine("numba")
    run.step()


def test_a_device_number_of_any_length_is_refused_in_words():
    for number in ("9" * 10, "9" * 5000):
        with pytest.raises(InputError, match="engine must be one of"):
            find(f"cuda:{number}")
    assert find("cuda:12")[1] == 12
