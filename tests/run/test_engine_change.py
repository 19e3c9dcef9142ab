"""A run moves to another engine between two steps, and nothing but the rounding shows it.

It imports internals: what happens where an engine cannot be made or loaded, and the first start of a window, which
waits for compiled kernels.
"""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

from kit.edits import trains_by
from kit.networks import NETWORKS
from kit.runs import ENGINES, bits, far, make_run
from scalarviz.engine import table
from scalarviz.errors import InputError, ScalarvizError
from scalarviz.run import Run, first_start
from scalarviz.run.first_start import Change, FirstStart
from scalarviz.run.worker import Worker


def arrays(run: Run) -> list[np.ndarray]:
    frame = run.frame(state=True)
    return [frame.values, frame.gradient, frame.update, run.history.loss, *frame.state.values()]


@pytest.mark.parametrize(("network", "optimizer"), [
    ("mlp", "sgd_momentum"), ("batch norm", "adam"), ("dropout", "adamw_amsgrad")])  # fmt: skip
@pytest.mark.parametrize(("first", "second"), [("numpy", "numba"), ("numba", "objects"), ("objects", "numpy")])
def test_the_numbers_are_those_of_a_run_without_the_change(first, second, network, optimizer):
    def trained(engine: str, other: str = "") -> Run:
        run = make_run(network, optimizer=optimizer, engine=engine)
        run.step(5)
        if other:
            before = bits(run)[0], trains_by(run)
            run.adopt_engine(other)
            assert (bits(run)[0], trains_by(run)) == before
            assert run.values is not None
        run.step(4)  # over the end of an epoch of 3 batches
        run.model.freeze("0.*")
        run.set_weights(20, [0.25, -0.5])
        run.set_targets(1 - run.samples()[1])
        run.step(4)
        return run

    run = trained(first, second)
    for engine in (first, second):
        for mine, its in zip(arrays(run), arrays(trained(engine)), strict=True):
            assert far(mine, its) < 1e-11
    assert (run.steps, run.history.step.tolist()) == (13, list(range(1, 14)))
    assert (run.engine.name, run.engine.since, run.engine.why) == (second, 5, "asked for")


def test_speed_is_that_of_the_engine_at_work():
    run = make_run("mlp")
    run.step(10)
    before = run.full_speed
    run.adopt_engine("numba")
    assert np.isnan(run.steps_per_second)
    assert run.full_speed != before
    run.step(10)
    assert run.steps_per_second > 0


def test_nothing_but_an_edit_changes_the_engine(monkeypatch):
    for owner in ("scalarviz.engine.cpu.cache_is_warm", "scalarviz.run.first_start.cache_is_warm"):
        monkeypatch.setattr(owner, lambda dtype, operations: False)
    run = make_run("mlp", engine="auto")
    assert run.engine.provisional
    with Worker(run) as worker:
        worker.train_to(20)
        worker.settle()
    for act in (lambda: run.predict(run.samples()[0]), run.frame, run.step):
        act()
    assert (run.engine.name, run.engine.since) == ("numpy", 0)
    assert not any(make_run("mlp", engine=engine).engine.provisional for engine in ENGINES)


# ---- engines that cannot be made


@pytest.mark.parametrize("error", [InputError("no room"), KeyboardInterrupt()])
def test_an_engine_that_cannot_be_made_changes_nothing(error, monkeypatch):
    run, other = make_run("mlp"), NETWORKS["wide"].ours()
    run.step(2)
    net, values, theirs = run.model, run.values.copy(), other[0].weight.data.copy()
    before = bits(run), trains_by(run)

    def fails(problem: Any) -> None:
        raise error

    with monkeypatch.context() as broken:
        broken.setattr(run, "_make_trainer", fails)
        for wanted in ({"activation": "relu"}, {"model": other}, {"optimizer": "Adam"}):
            with pytest.raises(type(error)):
                run.change(**wanted)
            assert (bits(run), trains_by(run)) == before
        broken.setattr("scalarviz.engine.cpu.NumbaTrainer", fails, raising=False)
        with pytest.raises(type(error)):
            run.adopt_engine("numba")
        assert (bits(run), trains_by(run)) == before
    assert other[0].weight.data.tobytes() == theirs.tobytes()
    other[0].weight[0][0].data = 2.0  # it stands alone
    assert run.values.tobytes() == values.tobytes()
    run.change(model=other)
    run.step(1)
    run.undo()
    assert (bits(run), trains_by(run)) == before
    net[0].weight[0][0].data = 0.5
    assert run.values[0] == 0.5


def test_a_run_that_cannot_be_made_leaves_the_weights_to_the_one_before(monkeypatch):
    run = make_run("mlp")
    run.step(3)
    values = run.values.copy()

    def fails(self: Any, problem: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as broken, pytest.raises(MemoryError) as held:
        broken.setattr(Run, "_make_trainer", fails)
        Run(run.model, run.loss_function, run.optimizer, run.samples(), engine="numpy", dtype="float64")
    run.model[0].weight[0][0].data = 3.0
    after = Run(run.model, run.loss_function, run.optimizer, run.samples(), engine="numpy", dtype="float64")
    assert held.value is not None  # its traceback holds the run that is none
    assert after.values[1:].tobytes() == values[1:].tobytes()
    after.step()


def test_an_engine_that_is_not_there_is_not_loaded_either(monkeypatch):
    """With NUMBA_DISABLE_JIT=1 it threw the good kernels of the cache away."""
    run = make_run("mlp")
    gone = dataclasses.replace(table.ENGINES["numba"], missing=lambda device: "is gone")
    monkeypatch.setitem(table.ENGINES, "numba", gone)
    with pytest.raises(ScalarvizError, match="is gone"):
        run.load_engine("numba")
    run.step()
    assert table.find("cuda:12")[1] == 12


# ---- the first start of a window


def wait(condition: Any, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.002)


@pytest.fixture
def kernels(monkeypatch):
    """Whether numba's cache is warm, as those see it who choose; it is cold."""
    make_run("mlp", engine="numba").close()  # what is waited for below is the change, not a compiler
    state = {"warm": False}
    for owner in ("scalarviz.engine.cpu.cache_is_warm", "scalarviz.run.first_start.cache_is_warm"):
        monkeypatch.setattr(owner, lambda dtype, operations: state["warm"])
    return state


def watched(run: Run, kernels: dict[str, bool], monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """A worker's run that is at work when the kernels arrive: the log, and what was told."""
    told: list[Change] = []
    monkeypatch.setattr(first_start, "PAUSE", 0.01)
    with Worker(run) as worker:
        waiting = FirstStart(worker, told.append)
        waiting.start()
        worker.train_to(10**9)
        wait(lambda: run.steps > 20)
        assert run.engine.name == "numpy"
        kernels["warm"] = True
        wait(lambda: told)
        wait(lambda: run.steps > told[0].step + 50)
        waiting.close()
    return worker.log, told


@pytest.mark.ci
def test_a_watched_run_goes_on_with_numba_when_its_kernels_are_there(kernels, monkeypatch):
    run = make_run("mlp", engine="auto")
    (edit,), (change,) = watched(run, kernels, monkeypatch)
    assert (run.engine.name, run.engine.since, change.step) == ("numba", edit.step, edit.step + 1)
    assert f"numpy computed {edit.step:,} steps" in run.engine.why
    assert not run.engine.provisional
    assert f"numba from step {change.step:,}" in str(change)
    assert (change.after, change.problem) == (run.full_speed, "")
    plain = make_run("mlp")  # the log tells how to do it again, to the bit
    plain.step(edit.step)
    plain.adopt_engine("numba")
    plain.step(run.steps - edit.step)
    assert plain.values.tobytes() == run.values.tobytes()


@pytest.mark.ci
def test_numba_that_cannot_be_loaded_is_told_and_numpy_goes_on(kernels, monkeypatch):
    monkeypatch.setattr("scalarviz.engine.cpu.NumbaTrainer", lambda problem: 1 / 0, raising=False)
    run = make_run("mlp", engine="auto")
    log, (change,) = watched(run, kernels, monkeypatch)
    assert (run.engine.name, log) == ("numpy", [])
    assert "ZeroDivisionError" in str(change)


@pytest.mark.ci
def test_closing_while_it_waits_ends_it_and_nothing_changes_any_more(kernels, monkeypatch):
    monkeypatch.setattr(first_start, "PAUSE", 3600.0)  # who closes does not wait for that
    before, run = threading.active_count(), make_run("mlp", engine="auto")
    with Worker(run) as worker:
        waiting = FirstStart(worker, pytest.fail)
        waiting.start()
        worker.train_to(20)
        waiting.close(60.0)
        kernels["warm"] = True
        worker.settle()
    assert (run.engine.name, worker.log, threading.active_count()) == ("numpy", [], before)


@pytest.mark.ci
def test_asking_loads_no_numba():
    """What is done each second beside a run that waits."""
    code = (
        "import sys, scalarviz.run.first_start as f; f.cache_is_warm('float32', ['tanh']); "
        "print('numba' in sys.modules, 'llvmlite' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["False", "False"]
    assert "40 times" in str(Change(1234, 100.0, 4010.0))
    assert "times" not in str(Change(2, 100.0, 110.0))
