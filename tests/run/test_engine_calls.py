"""What a run asks of an engine beside steps: snapshots, calls worth their copies, frames from inside a call, its place.

It imports engines and the part of a run that calls them: a user sees them as ``run.engine`` only.
"""

import math
import threading

import numpy as np
import pytest

from kit.edits import trains_by
from kit.networks import NETWORKS
from kit.runs import ENGINES, bits, far, frame_bits, make_run
from scalarviz.engine.arrays.trainer import NumpyTrainer
from scalarviz.engine.problem import HostTrainer, Midway
from scalarviz.errors import DivergedError, InputError, StateError
from scalarviz.run.core import training
from scalarviz.run.core.training import copied
from scalarviz.run.worker import Worker


class DeviceTrainer:
    """An engine with a memory of its own, as one on a GPU has; it offers nothing but what the protocol asks for.

    `device` is its memory, `calls` what was asked of it. At the step `pause` of a call it waits until it is let go on;
    at the step `fails` the device is lost.
    """

    name, breakable, call_overhead, remark, next_readback, ready = "device", False, 0.0, "", None, True

    def __init__(self, problem, pause=0, fails=0):
        self.problem, self.device = problem, copied(problem)
        self.engine, self.kept, self.keep, self.calls = NumpyTrainer(self.device), None, False, []
        self.pause, self.fails = pause, fails
        self.paused, self.go_on = threading.Event(), threading.Event()

    def arrays(self, problem):
        return (problem.store.value, problem.store.grad, problem.previous, *problem.state)

    def move(self, to, given):
        for target, source in zip(self.arrays(to), self.arrays(given), strict=True):
            np.copyto(target, source)

    def train(self, first, count, lr):
        self.calls.append("train")
        self.move(self.device, self.problem)
        self.device.trained[:], self.device.data = self.problem.trained, self.problem.data
        if self.keep:  # the snapshot is of what was just brought: nothing is copied twice
            self.kept, self.keep = [array.copy() for array in self.arrays(self.device)], False
        losses = np.empty(count)
        for k in range(count):
            losses[k] = self.engine.train(first + k, 1, lr)[0]
            if self.fails == k + 1:
                raise OSError("the device is lost")
            if self.pause == k + 1:
                self.paused.set()
                while not self.go_on.wait(0.001):
                    self.look(losses[: k + 1])
            self.look(losses[: k + 1])
        self.move(self.problem, self.device)
        return losses

    def look(self, losses):
        """Does somebody wait?"""
        if self.next_readback is not None and (readback := self.next_readback()) is not None:
            readback(Midway(*(array.copy() for array in self.arrays(self.device)[:3]), losses.copy()))

    def prepare(self, stopped=bool):
        self.calls.append("prepare")

    def gradient(self, step):
        self.move(self.device, self.problem)
        loss = self.engine.gradient(step)
        self.problem.store.grad[:] = self.device.store.grad
        return loss

    def snapshot(self):
        self.calls.append("snapshot")
        self.keep, self.kept = True, None

    def rewind(self):
        self.calls.append("rewind")
        if self.kept is not None:  # else the call broke off before it began
            for array, kept in zip(self.arrays(self.device), self.kept, strict=True):
                np.copyto(array, kept)
            self.move(self.problem, self.device)

    def finite(self):
        self.calls.append("finite")
        return bool(np.isfinite(self.device.store.value).all())


def on_device(steps=0, optimizer="adam", network="mlp", **options):
    """A run that goes on with such an engine, in calls of eight steps from the start."""
    run = make_run(network, "mse", optimizer)
    run.step(steps)
    trainer = DeviceTrainer(run._problem, **options)
    run._training.change(trainer)
    run._training.seconds_a_step, run._training._timed = 1e-9, 1
    return run, trainer


# ---- what is kept


@pytest.mark.parametrize("cuts", [[60], [1, 7, 52]])
def test_a_device_trains_as_the_host_does(cuts):
    (run, _), plain = on_device(), make_run()
    for count in cuts:
        run.step(count)
    plain.step(60)
    assert bits(run)[0] == bits(plain)[0]
    for one in (run, plain):  # what is set on the host between two calls arrives
        one.model[0].weight[0][0].data = 0.5
        one.model[0].bias.frozen = True
        one.step(3)
    assert bits(run)[0] == bits(plain)[0]


@pytest.mark.parametrize("cuts", [[200], [1] * 200])
def test_a_divergence_stands_at_the_same_step_with_the_same_words(cuts):
    said, (run, trainer) = [], on_device(optimizer="sgd", network="no bias")
    for one in (run, make_run("no bias", "mse", "sgd")):
        one.lr = 3e3
        with pytest.raises(DivergedError) as found:
            for count in cuts:
                one.step(count)
        said.append((str(found.value), bits(one)[0], one.steps))
    assert said[0] == said[1]
    calls = trainer.calls
    assert "finite" in calls
    assert ("rewind" in calls) == ("snapshot" in calls) == (len(cuts) == 1)  # one step alone is never undone


def test_a_call_that_breaks_off_leaves_the_numbers_of_before():
    run, trainer = on_device(20, fails=4)
    before = bits(run)
    with pytest.raises(OSError, match="lost"):
        run.step(8)
    assert (bits(run), trainer.calls) == (before, ["snapshot", "train", "rewind"])
    run._training.change(NumpyTrainer(run._problem))
    run.step(5)
    plain = make_run()
    plain.step(25)
    assert run.values.tobytes() == plain.values.tobytes()


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_of_the_host_sees_lost_numbers_and_rewinds_every_bit(engine):
    run = make_run("rgb", engine=engine)
    trainer, values, problem = run._training.trainer, run._problem.store.value, run._problem

    def arrays():
        return [array.tobytes() for array in (values, problem.store.grad, problem.previous, *problem.state)]

    with pytest.raises(StateError):
        trainer.rewind()
    trainer.train(0, 3, 0.1)
    trainer.snapshot()
    before = arrays()
    for index in range(len(values)):
        for number in (np.nan, np.inf, -np.inf):
            old, values[index] = values[index], number
            assert trainer.finite() is False
            values[index] = old
    assert trainer.finite() is True
    trainer.train(3, 2, 0.1)
    assert arrays() != before
    trainer.rewind()
    assert arrays() == before


@pytest.fixture
def held():
    """A run whose engine has done 10 + 3 steps and is in the middle of a call."""
    run, trainer = on_device(10, pause=3)
    worker = Worker(run).start()
    worker.train_to(18)
    assert trainer.paused.wait(10)
    yield run, trainer, worker
    trainer.go_on.set()
    worker.close(10)


@pytest.mark.parametrize("probe", [None, [0.1, 0.2, 0.3]])
def test_a_frame_from_the_middle_of_a_call_is_that_of_the_step(held, probe):
    run, trainer, worker = held
    first = run.request_frame(probe).result(10)
    assert (trainer.go_on.is_set(), run.steps) == (False, 10)  # the call is not over
    plain = make_run()
    plain.step(13)
    assert frame_bits(first) == frame_bits(plain.frame(probe))
    run.model[0].weight[0][0].data = 5.0
    behind = run.request_frame()
    with pytest.raises(StateError):
        behind.result(0.05)  # it waits behind an edit
    trainer.go_on.set()
    frame = behind.result(10)
    assert (frame.step, frame.values[0], frame.edited) == (18, 5.0, True)
    plain.step(5)
    plain.set_weights(0, [5.0])
    assert frame_bits(worker.settle()) == frame_bits(plain.frame())
    assert bits(run)[0] == bits(plain)[0]


class Clock:
    """Seconds that pass when somebody says so."""

    now = 0.0

    def perf_counter(self):
        return self.now


class Copying(HostTrainer):
    """Does nothing but take its time: so much every call, so much every step."""

    name, breakable = "copying", False

    def __init__(self, problem, clock, overhead, step):
        self.problem, self.clock, self.overhead, self.step, self.calls = problem, clock, overhead, step, []

    def train(self, first, count, lr):
        self.clock.now += self.overhead + count * self.step
        self.call_overhead = self.overhead  # measured while it works
        self.calls.append(count)
        return np.ones(count)

    def prepare(self, stopped=bool):
        self.calls.append("prepare")

    def gradient(self, step):
        return 1.0


class Compiling(Copying):
    """Compiles before its first step, for five seconds."""

    def train(self, first, count, lr):
        self.clock.now += 5 * (not self.calls)
        return super().train(first, count, lr)


def test_the_full_speed_is_that_of_the_steps_and_no_step_too_many_is_done(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(training, "time", clock)
    for kind in (Copying, Compiling):
        speed = training.full_speed(make_run("rgb")._problem, lambda p, kind=kind: kind(p, clock, 0.004, 1e-3))
        assert speed == pytest.approx(1e3)
    run = make_run("rgb")
    trainer = Copying(run._problem, clock, 0.01, 1e-6)
    run._training.change(trainer)
    assert math.isnan(run._training.steps_per_second)
    start = clock.now
    run.step(20)
    assert sum(trainer.calls) == run.steps == 20
    assert run._training.steps_per_second == pytest.approx(20 / (clock.now - start))


def arrays_of(run):
    frame = run.frame(state=True)
    return [frame.values, frame.gradient, frame.update, run.history.loss, *frame.state.values()]


@pytest.mark.parametrize(("network", "optimizer"), [("mlp", "sgd_momentum"), ("batch norm", "adam")])
@pytest.mark.parametrize(("first", "second"), [("numpy", "numba"), ("numba", "objects"), ("objects", "numpy")])
@pytest.mark.parametrize("inside", [False, True])
def test_a_run_on_another_engine_goes_on_as_if_it_had_none_before(first, second, inside, network, optimizer):
    def trained(engine, other=""):
        run = make_run(network, optimizer=optimizer, engine=engine)
        if inside:  # a function of the user changes it in the middle of a call
            run.on_step(lambda run: other and run.steps == 5 and run.change(engine=other))
        run.step(5 + inside)
        if other and not inside:
            before = bits(run)[0], trains_by(run)
            run.change(engine=other)
            assert (bits(run)[0], trains_by(run)) == before
        run.step(9 - run.steps)  # over the end of an epoch of 3 batches
        run.model.freeze("0.*")
        run.set_weights(20, [0.25, -0.5])
        run.set_targets(1 - run.samples()[1])
        run.step(4)
        return run

    run = trained(first, second)
    for engine in (first, second):
        for mine, its in zip(arrays_of(run), arrays_of(trained(engine)), strict=True):
            assert far(mine, its) < 1e-11
    assert (run.steps, run.history.step.tolist()) == (13, list(range(1, 14)))
    assert (run.engine.name, run.engine.since, run.engine.why) == (second, 5, "asked for")


@pytest.mark.parametrize("error", [InputError("no room"), KeyboardInterrupt()])
def test_an_engine_that_cannot_be_made_changes_nothing(error, monkeypatch):
    run, other = make_run("mlp"), NETWORKS["wide"].ours()
    run.step(2)
    before, theirs = (bits(run), trains_by(run)), other[0].weight.data.copy()

    def fails(*_):
        raise error

    monkeypatch.setattr("scalarviz.run.engines.trainer_of", fails)
    monkeypatch.setattr("scalarviz.engine.cpu.trainer.NumbaTrainer", fails)
    for change in ({"activation": "relu"}, {"model": other}, {"optimizer": "Adam"}, {}):
        with pytest.raises(type(error)):
            run.change(**change) if change else run.change(engine="numba")
        assert (bits(run), trains_by(run)) == before
    assert other[0].weight.data.tobytes() == theirs.tobytes()
