"""`run.request_frame`: it returns at once, loses nothing, comes after what was asked for before, and never tears."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import weakref
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.engine.arrays.trainer import NumpyTrainer
from scalarviz.errors import DivergedError, InputError, StateError, TypeMismatchError
from scalarviz.run.requests import FrameRequest, _wake
from scalarviz.run.run_source import RunSource
from scalarviz.run.worker import Worker
from scalarviz.view.shown.source import ArraysSource

X = np.random.default_rng(0).random((64, 3))
AT_ONCE = 0.5
"""Seconds; what returns at once takes microseconds, on a busy machine some milliseconds."""


def make(engine="numpy", **kwargs):
    net = nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 3, seed=2), nn.Sigmoid())
    run = Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.01), (X, 1 - X), engine=engine, **kwargs)
    return net, run


def numbers(frame):
    """All that a frame holds, to compare bit by bit."""
    rows = [
        {name: row.tobytes() for name, row in part.items()} for part in (frame.activations, frame.dead, frame.saturated)
    ]
    arrays = (frame.values, frame.gradient, frame.update, frame.computed, frame.frozen, *frame.curve)
    return frame.step, frame.loss, frame.lr, frame.edited, frame.next_lr, rows, [a.tobytes() for a in arrays]


class Slow(NumpyTrainer):
    """Its calls last until they are let go."""

    def __init__(self, problem):
        super().__init__(problem)
        self.begun, self.go_on = threading.Event(), threading.Event()

    def train(self, first, count, lr):
        self.begun.set()
        assert self.go_on.wait(30)
        return super().train(first, count, lr)


@pytest.fixture
def slow():
    """A run in the middle of a call that ends when the trainer is let go."""
    net, run = make()
    trainer = Slow(run.problem)
    run._training.change(trainer)
    worker = Worker(run).start()
    worker.train_to(1)
    assert trainer.begun.wait(10)
    yield net, run, trainer, worker
    trainer.go_on.set()
    worker.close(10)


# ---- without a thread


@pytest.mark.parametrize("probe", [None, [0.1, 0.2, 0.3]])
@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
def test_without_a_thread_it_is_the_frame_of_this_moment(engine, probe):
    net, run = make(engine, batch_size=8)
    run.step(3)
    net[0].weight[0][0].data = 0.5
    run.lr = 0.02
    request = run.request_frame(probe)
    assert request.done
    _, plain = make(engine, batch_size=8)
    plain.step(3)
    plain.set_weights(0, [0.5])
    plain.lr = 0.02
    expected = plain.frame(probe)
    run.step(5)
    run.set_targets(X)  # what is learnt from later is not what the frame speaks of
    assert numbers(request.result()) == numbers(expected)
    assert request.result() is request.result(0)
    assert expected.edited
    assert expected.update[0] != 0.5 - plain.problem.previous[0]


def test_dead_units_are_those_at_the_data_of_the_moment():
    net = nn.Sequential(nn.Linear(1, 2, seed=1), nn.ReLU(), nn.Linear(2, 1, seed=2))
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), ([[1.0], [2.0]], [[0.0], [0.0]]), engine="numpy")
    run.set_weights(0, [1.0, -1.0, 0.0, 0.0])
    request = run.request_frame()
    run.refill([[-1.0], [-2.0]], [[0.0], [0.0]])
    assert request.result().dead["1"].tolist() == [False, True]
    assert run.frame().dead["1"].tolist() == [True, False]


def test_a_closed_run_still_gives_frames():
    _, run = make()
    run.step(2)
    run.close()
    assert run.request_frame().result(0).step == 2


@pytest.mark.parametrize(
    ("probe", "error", "says"),
    [([1.0], InputError, "3 numbers"), ([np.nan] * 3, InputError, "finite"), ("abc", TypeMismatchError, "probe")],
)
def test_a_wrong_probe_is_said_where_it_is_given(slow, probe, error, says):
    with pytest.raises(error, match=says):
        slow[1].request_frame(probe)
    with pytest.raises(error, match=says):
        make()[1].request_frame(probe)


@pytest.mark.parametrize("timeout", [-1.0, np.nan, np.inf, "soon", [1]])
def test_a_wrong_timeout(timeout):
    with pytest.raises((InputError, TypeMismatchError), match="timeout"):
        make()[1].request_frame().result(timeout)


def test_a_probe_may_be_changed_after_it_was_given():
    _, run = make()
    probe = np.array([0.1, 0.2, 0.3])
    request = run.request_frame(probe)
    probe[:] = 0
    assert request.result().activations["input"].tolist() == [0.1, 0.2, 0.3]


# ---- in the middle of a call


def test_asking_and_looking_return_at_once(slow):
    _, run, trainer, worker = slow
    start = time.monotonic()
    request = run.request_frame([0.1, 0.2, 0.3])
    assert not request.done
    assert worker.latest.step == 0
    assert time.monotonic() - start < AT_ONCE
    assert "waiting" in repr(request)
    with pytest.raises(StateError, match=r"no frame came within 0\.01 s"):
        request.result(0.01)
    with pytest.raises(StateError, match="within 0 s"):
        request.result(0)
    trainer.go_on.set()
    frame = request.result(10)
    assert request.done
    assert "done" in repr(request)
    _, plain = make()
    plain.step(1)
    assert numbers(frame) == numbers(plain.frame([0.1, 0.2, 0.3]))


def test_a_call_of_two_seconds_keeps_nobody_waiting():
    _, run = make()

    class Sleepy(Slow):
        def train(self, first, count, lr):
            threading.Timer(2.0, self.go_on.set).start()
            return super().train(first, count, lr)

    trainer = Sleepy(run.problem)
    run._training.change(trainer)
    with Worker(run) as worker:
        worker.train_to(1)
        assert trainer.begun.wait(10)
        start = time.monotonic()
        requests = [run.request_frame() for _ in range(100)]
        assert not any(request.done for request in requests)
        assert time.monotonic() - start < AT_ONCE
        assert requests[0].result(20).step == 1
        assert time.monotonic() - start > 1.0
        assert all(request.done for request in requests)


def test_requests_of_one_moment_share_one_frame(slow):
    _, run, trainer, worker = slow
    plain = [run.request_frame() for _ in range(3)] + [worker.request()]
    probed = [run.request_frame([0.1 * k] * 3) for k in range(2)]
    trainer.go_on.set()
    frame = plain[0].result(10)
    assert all(request.result(10) is frame for request in plain)
    for k, request in enumerate(probed):
        assert request.result(10).values is frame.values
        assert request.result(10).activations["input"].tolist() == [0.1 * k] * 3
    assert frame.activations == {}


def test_a_request_comes_after_the_edits_before_it_and_before_those_behind_it(slow):
    net, run, trainer, _ = slow
    first = run.request_frame()
    net[0].weight[0][0].data = 5.0
    second = run.request_frame()
    net[0].weight[0][0].data = 6.0
    third = run.request_frame()
    trainer.go_on.set()
    assert first.result(10).values[0] not in (5.0, 6.0)
    assert [second.result(10).values[0], third.result(10).values[0]] == [5.0, 6.0]
    assert second.result().edited
    assert not first.result().edited


def test_run_frame_waits_for_what_it_is_of(slow):
    net, run, trainer, _ = slow
    net[0].weight[0][0].data = 5.0
    threading.Timer(0.2, trainer.go_on.set).start()
    frame = run.frame()
    assert frame.values[0] == 5.0
    assert frame.step == 1


def test_steps_that_another_thread_asked_for_keep_nobody_waiting():
    """They are one call of the worker; who looks meanwhile sees every pause between two calls of the engine."""
    _, run = make(batch_size=8)
    ended = threading.Event()
    done = []

    def some_more(run):
        done.append(run.steps)
        return not ended.is_set()

    stepping = threading.Thread(target=lambda: run.step(10**7, progress=some_more))
    with Worker(run) as worker:
        stepping.start()
        try:
            frames = [run.request_frame().result(10) for _ in range(20)]
            worker.edit(lambda r: None, "behind the steps")
            waiting = run.request_frame()
            time.sleep(0.05)
            assert not waiting.done
            assert stepping.is_alive()
        finally:
            ended.set()
            stepping.join(10)
        assert waiting.result(10).step >= frames[-1].step
    assert all(a.step <= b.step for a, b in pairwise(frames))
    assert frames[0].step < frames[-1].step
    assert {frame.step for frame in frames[1:]} <= set(done)


def test_the_thread_that_trains_never_waits_for_itself(slow):
    _, run, trainer, worker = slow
    seen = []
    worker.edit(lambda r: seen.append(r.request_frame().result().step), "look")
    worker.edit(lambda r: seen.append(behind.result().step), "look at what comes later")
    behind = run.request_frame()
    trainer.go_on.set()
    assert behind.result(10).step == 1
    worker.settle()
    assert seen == [1, 1]
    assert worker.error is None


# ---- nothing is lost


def test_closing_answers(slow):
    _, run, trainer, worker = slow
    request = run.request_frame()
    with pytest.raises(StateError, match="did not stop"):
        worker.close(0.01)
    late = run.request_frame()
    trainer.go_on.set()
    worker._thread.join(10)
    assert request.done  # by the thread, although nobody waited
    assert late.done
    after = run.request_frame()
    assert after.done
    assert request.result(0).step == late.result(0).step == after.result(0).step == 1
    assert run.gate is None


def test_who_asks_a_closed_worker_is_answered_by_the_run_or_the_next_worker():
    _, run = make()
    old = Worker(run).start()
    old.close()
    assert old.request().done
    assert old.settle(0.01).step == 0
    with Worker(run) as worker:
        worker.train_to(3)
        worker.settle()
        assert old.request().result(10).step == 3


def test_a_thread_that_has_ended_is_no_reason_to_wait():
    _, run = make()
    worker = Worker(run).start()
    worker._closing = True
    with worker._condition:
        worker._condition.notify_all()
    worker._thread.join(10)
    assert run.gate is worker
    assert run.request_frame().done
    assert run.gate is None


def test_a_thread_that_was_killed_is_no_reason_to_wait(slow):
    """As in a forked process, where no thread goes on."""
    _, run, _, worker = slow
    request = run.request_frame()
    alive = worker._thread
    try:
        worker._thread = threading.Thread()
        worker._thread.start()
        worker._thread.join()
        assert request.result(10).step == 0
        assert run.gate is None
    finally:
        worker._thread = alive


def test_an_error_of_training_leaves_a_frame():
    w = sv.Weight(1.0, name="w")
    run = Run(lambda x: w * x[0], nn.MSELoss(), optim.SGD([w], lr=3.0), ([[3.0]], [[0.0]]), engine="numpy")
    with Worker(run) as worker:
        worker.train_to(10**6)
        frames = [run.request_frame().result(10)]
        while worker.error is None:
            frames.append(run.request_frame().result(10))
        assert isinstance(worker.error, DivergedError)
        assert run.request_frame().result(10).step == run.steps
        assert np.isfinite([frame.loss for frame in frames if 0 < frame.step < run.steps]).all()


def test_what_keeps_a_run_from_giving_a_frame_is_raised_and_later_ones_come(slow, monkeypatch):
    _, run, trainer, worker = slow
    requests = [run.request_frame() for _ in range(2)]
    failing = [True]
    reading = type(run)._reading

    def full(self, *wanted):
        if failing[0]:
            raise MemoryError("no room for a copy")
        return reading(self, *wanted)

    monkeypatch.setattr(type(run), "_reading", full)
    trainer.go_on.set()
    for request in requests:
        for _ in range(2):
            with pytest.raises(MemoryError, match="no room"):
                request.result(10)
        assert "failed" in repr(request)
    failing[0] = False
    worker.train_to(5)
    assert run.request_frame().result(10).step >= 1
    assert worker.settle().step == 5


def test_an_error_is_not_held_by_itself():
    class Gone(Exception):
        pass

    gc.disable()
    try:
        request = FrameRequest()
        request.fail(Gone())
        with pytest.raises(Gone) as found:
            request.result()
        dead = weakref.ref(request)
        del request, found
        assert dead() is None
    finally:
        gc.enable()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(["ask", "edit", "train", "rest", "look"]), min_size=1, max_size=25), st.booleans())
def test_every_request_is_answered_with_no_number_of_before_it(actions, close_first):
    """A frozen weight counts the edits: a frame holds those before its request, and no step of before it."""
    net, run = make()
    net[0].weight[0][0].frozen = True
    run.set_weights(0, [0.0])
    edits, asked = 0, []
    worker = Worker(run).start()
    for action in actions:
        if action == "ask":
            asked.append((edits, run.steps, run.request_frame()))
        elif action == "edit":
            edits += 1
            net[0].weight[0][0].data = float(edits)
        elif action == "train":
            worker.train_to(run.steps + 20)
        elif action == "rest":
            worker.pause()
        else:
            assert worker.settle().values[0] == edits
    if close_first:
        worker.close(10)
        assert all(request.done for *_, request in asked)
    for before, step, request in asked:
        frame = request.result(10)
        assert frame.step >= step
        assert before <= frame.values[0] <= edits
        assert len(frame.curve.step) == frame.step
    worker.close(10)


def test_eight_threads_ask_and_no_frame_is_torn():
    _, run = make("numba", batch_size=10)
    frames, errors, until = [], [], time.monotonic() + 30

    def ask(probe):
        try:
            mine = []
            while len(mine) < 25:
                assert time.monotonic() < until
                mine.append(run.request_frame(probe).result(30))
            assert all(a.step <= b.step for a, b in pairwise(mine))
            frames.extend(mine)
        except Exception as error:
            errors.append(error)

    with Worker(run) as worker:
        worker.train_to(10**9)
        threads = [threading.Thread(target=ask, args=([0.1 * k] * 3 if k % 2 else None,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert errors == []
    assert len(frames) == 200
    _, plain = make("numba", batch_size=10)
    for frame in sorted(frames, key=lambda frame: frame.step):
        plain.step(frame.step - plain.steps)
        expected = plain.frame(frame.activations.get("input"))
        assert numbers(frame) == numbers(expected)


# ---- asyncio


def test_await_lets_the_loop_go_on(slow):
    _, run, trainer, _ = slow

    async def main():
        request, ticks = run.request_frame([0.1, 0.2, 0.3]), 0

        async def tick():
            nonlocal ticks
            while ticks < 20:
                await asyncio.sleep(0.001)
                ticks += 1
            assert not request.done
            trainer.go_on.set()

        ticking = asyncio.create_task(tick())
        frame, same = await asyncio.wait_for(asyncio.gather(request, request), 20)
        await ticking
        assert ticks == 20
        assert frame is same
        assert await request is frame
        return frame

    frame = asyncio.run(main())
    assert frame.step == 1
    assert frame.activations["input"].tolist() == [0.1, 0.2, 0.3]


def test_await_raises_what_went_wrong(slow, monkeypatch):
    _, run, trainer, _ = slow
    request = run.request_frame()

    def full(self, *wanted):
        raise MemoryError("no room for a copy")

    async def main():
        monkeypatch.setattr(type(run), "_reading", full)
        trainer.go_on.set()
        return await request

    with pytest.raises(MemoryError, match="no room"):
        asyncio.run(main())


def test_who_gave_up_waiting_is_no_trouble(slow):
    """A task that was cancelled, and a loop that is closed when the frame comes."""
    _, run, trainer, worker = slow
    request = run.request_frame()
    loop = asyncio.new_event_loop()
    with pytest.raises(asyncio.TimeoutError):
        loop.run_until_complete(asyncio.wait_for(request, 0.01))
    request._when_done(partial(_wake, loop, loop.create_future()))
    loop.close()
    trainer.go_on.set()
    assert request.result(10).step == 1
    worker.train_to(3)
    assert worker.settle().step == 3
    assert worker.error is None


# ---- for a view


def test_any_source_can_be_asked(slow):
    request = ArraysSource({"a": np.arange(3.0)}).request_frame()
    assert request.done
    assert request.result().values.tolist() == [0.0, 1.0, 2.0]
    _, run, trainer, _ = slow
    asked = RunSource(run).request_frame([0.1, 0.2, 0.3])
    assert not asked.done
    trainer.go_on.set()
    assert asked.result(10).activations["input"].tolist() == [0.1, 0.2, 0.3]
