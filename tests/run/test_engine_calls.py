"""What is asked of every engine beside steps: snapshots, calls that are worth their copies, a remark."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalarviz import Run, nn, optim
from scalarviz.engine.arrays.trainer import NumpyTrainer
from scalarviz.engine.host import HostTrainer
from scalarviz.errors import StateError
from scalarviz.run import training
from scalarviz.run.training import OVERHEAD

X = np.random.default_rng(0).random((16, 3))
ENGINES = ("objects", "numpy", "numba")


def make(engine="numpy", kind=optim.Adam, **kwargs):
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    return Run(net, nn.MSELoss(), kind(net.parameters(), lr=0.1), (X, 1 - X), engine=engine, **kwargs)


def arrays(run):
    problem = run.problem
    return (problem.store.value, problem.store.grad, problem.previous, *problem.state)


# ---- snapshots


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("engine", ENGINES)
@given(st.lists(st.sampled_from(["step", "noise", "replace", "rewind", "snapshot"]), max_size=12), st.integers(0, 99))
@settings(max_examples=10, deadline=None)
def test_rewinding_brings_back_every_bit_that_a_step_changes(engine, dtype, kind, actions, seed):
    run, random = make(engine, kind, dtype=dtype), np.random.default_rng(seed)
    trainer = run._training.trainer
    trainer.snapshot()
    kept = [array.tobytes() for array in arrays(run)]
    for action in actions:
        if action == "step":
            trainer.train(int(random.integers(100)), int(random.integers(1, 4)), 0.1)
        elif action == "noise":
            for array in arrays(run):
                array[:] = random.choice([np.nan, np.inf, -0.0, 1e-30, 3.0], len(array))
        elif action == "replace":
            run.problem.state = [array.copy() for array in run.problem.state]
        elif action == "snapshot":
            trainer.snapshot()
            kept = [array.tobytes() for array in arrays(run)]
        else:
            trainer.rewind()
            assert [array.tobytes() for array in arrays(run)] == kept
    trainer.rewind()
    assert [array.tobytes() for array in arrays(run)] == kept


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("engine", ENGINES)
def test_finite_looks_at_every_weight(engine, number):
    run = make(engine)
    trainer = run._training.trainer
    assert trainer.finite() is True
    for index in range(run.n_weights):
        old = run._store.value[index]
        run._store.value[index] = number
        assert trainer.finite() is False
        run._store.value[index] = old
    assert trainer.finite() is True


def test_rewinding_to_nothing_is_refused():
    run = make("numpy", optim.SGD)
    trainer = run._training.trainer
    with pytest.raises(StateError, match="no snapshot"):
        trainer.rewind()
    trainer.snapshot()
    run.problem.state = [np.zeros(run.n_weights, np.float32)]
    with pytest.raises(StateError, match="no snapshot of these 4 arrays"):
        trainer.rewind()
    run.problem.state = []


def test_snapshots_use_their_memory_again():
    trainer = make()._training.trainer
    trainer.snapshot()
    kept = list(trainer._kept)
    trainer.snapshot()
    assert all(a is b for a, b in zip(kept, trainer._kept, strict=True))


# ---- the length of a call


class Clock:
    """Seconds that pass when somebody says so."""

    now = 0.0

    def perf_counter(self):
        return self.now


class Copying(HostTrainer):
    """Does nothing but take its time: so much every call, so much every step."""

    name, breakable = "copying", False

    def __init__(self, problem, clock, overhead, step):
        self.problem, self.clock, self.overhead, self.step = problem, clock, overhead, step
        self.calls = []

    def train(self, first, count, lr):
        self.clock.now += self.overhead + count * self.step
        self.call_overhead = self.overhead  # measured while it works
        self.calls.append(count)
        return np.ones(count)

    def gradient(self, step):
        return 1.0


def calls(monkeypatch, overhead, step, call_seconds, count=12):
    """Steps of some calls in a row."""
    clock = Clock()
    monkeypatch.setattr(training, "time", clock)
    run = make()
    trainer = Copying(run.problem, clock, overhead, step)
    run._training.change(trainer)
    run.call_seconds = call_seconds
    for _ in range(count):
        run._training.advance(10**9)
    return trainer.calls


@given(
    overhead=st.floats(1e-5, 0.05),
    step=st.floats(2e-6, 0.02),
    call_seconds=st.floats(1e-3, 0.2),
)
@settings(max_examples=60, deadline=None)
def test_copies_are_a_twentieth_of_a_call_and_it_is_no_longer_than_that_takes(overhead, step, call_seconds):
    with pytest.MonkeyPatch.context() as patch:
        found = calls(patch, overhead, step, call_seconds)
    seconds = overhead + found[-1] * step
    assert overhead <= OVERHEAD * seconds * (1 + 1e-9)
    assert seconds <= max(call_seconds, overhead / OVERHEAD, overhead + step) + step * (1 + 1e-6)
    assert all(b <= 8 * sum(found[: k + 1]) for k, b in enumerate(found[1:]))  # it grows by what was seen


@pytest.mark.parametrize("step", [1e-6, 1e-3, 0.3])
def test_an_engine_without_copies_keeps_to_the_length_of_a_call(monkeypatch, step):
    assert calls(monkeypatch, 0.0, step, 0.05)[-1] in (max(1, int(0.05 / step)), max(1, int(0.05 / step) - 1))


def test_an_overhead_that_was_said_wrong_ends_no_call_never(monkeypatch):
    """It claims to copy for longer than the whole call took."""

    class Boasting(Copying):
        def train(self, first, count, lr):
            losses = super().train(first, count, lr)
            self.call_overhead = 1.0
            return losses

    clock = Clock()
    monkeypatch.setattr(training, "time", clock)
    run = make()
    trainer = Boasting(run.problem, clock, 0.0, 1e-3)
    run._training.change(trainer)
    for _ in range(12):
        run._training.advance(10**9)
    assert max(trainer.calls) <= math.ceil(19.0 / (OVERHEAD * 1e-3))


@pytest.mark.parametrize("overhead", [0.0, 0.004])
def test_the_full_speed_is_that_of_the_steps(monkeypatch, overhead):
    clock = Clock()
    monkeypatch.setattr(training, "time", clock)
    speed = training.full_speed(make().problem, lambda problem: Copying(problem, clock, overhead, 1e-3))
    assert speed == pytest.approx(1000.0)


def test_fewer_steps_are_done_where_fewer_are_wanted(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(training, "time", clock)
    run = make()
    trainer = Copying(run.problem, clock, 0.01, 1e-6)
    run._training.change(trainer)
    run.step(20)
    assert sum(trainer.calls) == run.steps == 20


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_of_the_host_copy_nothing(engine):
    trainer = make(engine)._training.trainer
    assert (trainer.call_overhead, trainer.remark, trainer.asked) == (0.0, "", None)


# ---- what an engine remarks


class Remarking(NumpyTrainer):
    """Says what it does."""

    remark = "plain launches: capture failed"


def test_why_says_what_the_engine_remarks_of_now():
    run = make()
    assert run.engine.why == "asked for"
    trainer = Remarking(run.problem)
    run._training.change(trainer)
    assert run.engine.why == "asked for; plain launches: capture failed"
    trainer.remark = "half the chunk: device memory is short"
    assert run.engine.why == "asked for; half the chunk: device memory is short"
    state = run.state()
    trainer.remark = ""
    assert run.engine.why == "asked for"
    run.take(state)  # a remark is no part of the choice
    assert run.engine.why == "asked for"
    run._training.change(trainer)
    trainer.remark = "a graph"
    run.adopt_engine("numba", "faster")
    assert run.engine.why == "faster"
