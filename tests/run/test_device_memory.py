"""An engine with a memory of its own, as one on a GPU has: snapshots there, and frames from the middle of a call."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from scalarviz import Run, nn, optim
from scalarviz.engine.arrays.trainer import NumpyTrainer
from scalarviz.engine.readback import Midway
from scalarviz.errors import DivergedError
from scalarviz.run.training import copied
from scalarviz.run.worker import Worker

X = np.random.default_rng(0).random((64, 3))


class DeviceTrainer:
    """Computes on copies of all numbers, and offers nothing but what the protocol asks for.

    Attributes
    ----------
    device : Problem
        Its memory.
    calls : list of str
        What was asked of it.
    """

    name = "device"
    breakable = False
    call_overhead = 0.0
    remark = ""
    asked = None

    def __init__(self, problem):
        self.problem, self.device = problem, copied(problem)
        self.engine = NumpyTrainer(self.device)
        self.kept, self.keep = None, False
        self.calls = []

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
            self.between(losses[: k + 1])
        self.move(self.problem, self.device)
        return losses

    def between(self, losses):
        """After every step: does somebody wait?"""
        readback = self.asked() if self.asked is not None else None
        if readback is not None:
            readback.give(self.now(losses))

    def now(self, losses):
        value, grad, previous = (array.copy() for array in self.arrays(self.device)[:3])
        return Midway(value, grad, previous, losses.copy())

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
        if self.kept is None:
            return  # the call broke off before it began
        for array, kept in zip(self.arrays(self.device), self.kept, strict=True):
            np.copyto(array, kept)
        self.move(self.problem, self.device)

    def finite(self):
        self.calls.append("finite")
        return bool(np.isfinite(self.device.store.value).all())


class Held(DeviceTrainer):
    """Does a number of steps in a call and then waits until it is let go on, looking for requests meanwhile."""

    def __init__(self, problem, pause=3):
        super().__init__(problem)
        self.pause, self.looking = pause, True
        self.paused, self.go_on = threading.Event(), threading.Event()

    def between(self, losses):
        if len(losses) == self.pause:
            self.paused.set()
            while not self.go_on.wait(0.001):
                if self.looking:
                    super().between(losses)


def make(lr=0.01, device=DeviceTrainer, kind=optim.Adam, **kwargs):
    net = nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 3, seed=2))
    run = Run(
        net, nn.MSELoss(), kind(net.parameters(), lr=lr), (X, 1 - X), engine="numpy", **{"batch_size": 8, **kwargs}
    )
    if device is not None:
        run._training.change(device(run.problem))
    return net, run


def numbers(frame):
    """All that a frame holds, to compare bit by bit."""
    rows = [{name: row.tobytes() for name, row in part.items()} for part in (frame.activations, frame.saturated)]
    arrays = (frame.values, frame.gradient, frame.update, frame.computed, frame.frozen, *frame.curve)
    return frame.step, frame.loss, frame.lr, frame.edited, frame.next_lr, rows, [a.tobytes() for a in arrays]


def bits(run):
    arrays = (run.values, run._store.grad, run.problem.previous, *run.problem.state)
    return run.steps, run.history.loss.tobytes(), [array.tobytes() for array in arrays]


# ---- what is kept


@pytest.mark.parametrize("cuts", [[200], [1, 7, 192], [1] * 200])
def test_it_trains_as_the_host_does(cuts):
    (net, run), (_, plain) = make(), make(device=None)
    for count in cuts:
        run.step(count)
    plain.step(200)
    assert bits(run) == bits(plain)
    net[0].weight[0][0].data = 0.5  # what is set on the host between two calls arrives
    net[0].bias.frozen = True
    run.step(3)
    plain.set_weights(0, [0.5])
    plain.model[0].bias.frozen = True
    plain.step(3)
    assert bits(run) == bits(plain)


@pytest.mark.parametrize("cuts", [[100], [1] * 100])
def test_a_divergence_stands_at_the_same_step_with_the_same_words(cuts):
    (_, run), (_, plain) = make(3e3, kind=optim.SGD), make(3e3, device=None, kind=optim.SGD)
    with pytest.raises(DivergedError) as found:
        for count in cuts:
            run.step(count)
    with pytest.raises(DivergedError) as expected:
        plain.step(100)
    assert str(found.value) == str(expected.value)
    assert bits(run) == bits(plain)
    calls = run._training.trainer.calls
    assert "finite" in calls
    assert ("rewind" in calls) == ("snapshot" in calls) == (len(cuts) == 1)  # one step alone is never undone


@pytest.mark.parametrize("moment", ["first", "in the middle", "at the end"])
def test_a_call_that_breaks_off_leaves_the_numbers_of_before(moment):
    class Lost(DeviceTrainer):
        def between(self, losses):
            if self.device_lost == len(losses):
                raise OSError("the device is lost")

        def train(self, first, count, lr):
            self.device_lost = {"first": 1, "in the middle": count // 2, "at the end": count}[moment]
            return super().train(first, count, lr)

    _, run = make()
    run.step(20)
    before = bits(run)
    run._training.change(Lost(run.problem))
    run._training._seconds_a_step = 1e-9  # calls of eight steps from the start
    run._training._timed = 1
    with pytest.raises(OSError, match="lost"):
        run.step(8)
    assert bits(run) == before
    assert run._training.trainer.calls == ["snapshot", "train", "rewind"]


def test_who_kept_the_numbers_brings_them_back():
    """The engine may change in the middle of a call: an error of the device lets another one go on."""

    class Leaving(DeviceTrainer):
        def between(self, losses):
            run._training.change(NumpyTrainer(run.problem))
            raise OSError("the device is lost")

    _, run = make()
    run.step(20)
    before = bits(run)
    trainer = Leaving(run.problem)
    run._training.change(trainer)
    run._training._seconds_a_step, run._training._timed = 1e-9, 1
    with pytest.raises(OSError, match="lost"):
        run.step(8)
    assert trainer.calls == ["snapshot", "train", "rewind"]
    assert bits(run) == before
    run.step(5)
    _, plain = make(device=None)
    plain.step(25)
    assert run.values.tobytes() == plain.values.tobytes()


# ---- frames from the middle of a call


@pytest.fixture
def held():
    """A run whose engine has done 10 + 3 steps and is in the middle of a call."""
    net, run = make()
    run.step(10)
    trainer = Held(run.problem)
    run._training.change(trainer)
    run._training._seconds_a_step, run._training._timed = 1e-9, 1  # calls of eight steps from the start
    worker = Worker(run).start()
    worker.train_to(18)
    assert trainer.paused.wait(10)
    yield net, run, trainer, worker
    trainer.go_on.set()
    worker.close(10)


@pytest.mark.parametrize("probe", [None, [0.1, 0.2, 0.3]])
def test_a_frame_from_the_middle_of_a_call_is_that_of_the_step(held, probe):
    _, run, trainer, worker = held
    frame = run.request_frame(probe).result(10)
    assert not trainer.go_on.is_set()
    assert run.steps == 10  # the call is not over
    _, plain = make(device=None)
    plain.step(13)
    assert numbers(frame) == numbers(plain.frame(probe))
    assert worker.latest.values is frame.values
    trainer.go_on.set()
    assert worker.settle().step == 18
    plain.step(5)
    assert numbers(worker.latest) == numbers(plain.frame())
    assert bits(run) == bits(plain)


def test_frames_of_a_window_are_of_one_moment_each(held):
    _, run, trainer, _ = held
    first = [run.request_frame() for _ in range(5)]
    assert len({id(request.result(10).values) for request in first}) <= 2  # those asked at once share one
    second = run.request_frame().result(10)
    assert second.values is not first[-1].result().values
    assert second.values.tobytes() == first[0].result().values.tobytes()
    assert not trainer.go_on.is_set()


def test_who_waits_behind_an_edit_gets_the_numbers_after_it(held):
    net, run, trainer, _ = held
    before = run.request_frame()
    assert before.result(10).step == 13
    net[0].weight[0][0].data = 5.0
    behind = run.request_frame()
    with pytest.raises(Exception, match="no frame came"):
        behind.result(0.05)
    trainer.go_on.set()
    frame = behind.result(10)
    assert (frame.step, frame.values[0], frame.edited) == (18, 5.0, True)


def test_an_engine_that_does_not_come_to_it_loses_no_request(held):
    """It is told, drops it, and gives numbers when the call is over and others have answered."""
    _, run, trainer, worker = held
    trainer.looking = False
    request = run.request_frame()
    dropped = trainer.asked()
    assert trainer.asked() is None  # nobody who was not told of before
    late = Midway(*[np.full_like(run._store.value, 7.0) for _ in range(3)], np.ones(1))
    trainer.go_on.set()
    frame = request.result(10)
    assert frame.step == 18
    worker.settle()
    dropped.give(late)
    assert request.result() is frame
    assert worker.latest.step == 18
    assert worker.latest.values.tobytes() == run.values.tobytes()


def test_an_error_in_the_call_leaves_the_frame_of_before(held, monkeypatch):
    _, run, trainer, worker = held
    trainer.looking = False
    request = run.request_frame()

    def lost(to, given):
        raise OSError("the device is lost")

    monkeypatch.setattr(trainer, "move", lost)
    trainer.go_on.set()
    assert request.result(10).step == 10
    assert "the device is lost" in str(worker.error)


def test_the_curve_of_a_call_after_a_loaded_step_begins_anew():
    _, run = make()
    run.step(10)
    run.restore(run.state_dict(), run.optimizer_state(), 500)
    trainer = Held(run.problem, 2)
    run._training.change(trainer)
    run._training._seconds_a_step, run._training._timed = 1e-9, 1
    with Worker(run) as worker:
        worker.train_to(505)
        assert trainer.paused.wait(10)
        frame = run.request_frame().result(10)
        trainer.go_on.set()
        worker.settle()
    assert frame.curve.step.tolist() == [501, 502]
    assert frame.curve.loss.tolist() == run.history.loss[:2].tolist()
    assert frame.curve.lr.tolist() == [0.01] * 2


def test_nobody_asks_an_engine_without_a_worker_or_after_it():
    _, run = make()
    first = run._training.trainer
    assert first.asked is None
    with Worker(run):
        assert first.asked() is None
        second = DeviceTrainer(run.problem)
        run._training.change(second)
        assert first.asked is None
        assert second.asked() is None
    assert second.asked is None
    run.step(3)
