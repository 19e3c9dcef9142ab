"""Beside a thread that trains: what is asked of a run takes its turn, nothing is lost, and no number is torn.

It imports the worker: a user meets it only through a window, which these tests do without.
"""

import asyncio
import contextlib
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from kit.edits import CHANGES, EDITS, done_again
from kit.networks import NETWORKS
from kit.refusals import refusals
from kit.runs import bits, frame_bits, make_run
from scalarviz import Run, nn, optim
from scalarviz.engine.arrays.trainer import NumpyTrainer
from scalarviz.errors import DivergedError, InputError, ScalarvizError, StateError
from scalarviz.run.travel import span
from scalarviz.run.worker import Worker

edits = sv.run.edits
AT_ONCE = 0.5
"""Seconds; what returns at once takes microseconds, on a busy machine some milliseconds."""


def wait(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.001)


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
    run = make_run()
    trainer = Slow(run._problem)
    run._training.change(trainer)
    worker = Worker(run).start()
    worker.train_to(1)
    assert trainer.begun.wait(10)
    yield run, trainer, worker
    trainer.go_on.set()
    worker.close(10)


@pytest.fixture
def fast():
    """A run that trains as fast as it can."""
    run = make_run("mlp", engine="numba")
    with Worker(run) as worker:
        worker.train_to(10**9)
        yield run, worker


FEW = sorted({*EDITS, *CHANGES} - {"hand", "function", "view of a module", "view of the run", "engine"})
ACTIONS = st.lists(st.sampled_from([*["train", "rest", "ask", "look", "step", "travel"] * 3, *FEW]), max_size=12)


@settings(max_examples=10)
@given(ACTIONS, st.integers(0, 99))
def test_what_was_recorded_leads_to_where_it_stands(actions, seed):
    run, random, asked = make_run(), np.random.default_rng(seed), []
    worker = Worker(run).start()

    def look():
        frame = worker.settle()
        assert (frame.values.tobytes(), frame.step) == (run.values.tobytes(), run.steps)

    deeds = {
        "train": lambda: worker.train_to(run.steps + 20), "rest": worker.pause, "look": look,
        "step": lambda: run.step(7),
        "ask": lambda: asked.append(run.request_frame()), "travel": lambda: worker.travel(int(random.integers(40))),
    }  # fmt: skip
    for action in actions:
        with contextlib.suppress(ScalarvizError):
            deeds[action]() if action in deeds else {**EDITS, **CHANGES}[action](run, random)
    worker.pause()
    worker.settle()
    worker.close(10)
    assert worker.error is None
    run.step(2)
    wanted, steps = bits(run), run.steps
    run.to(span(run)[0])
    run.step(steps - run.steps)
    assert bits(run) == wanted
    for request in asked:
        frame = request.result(0)
        assert len(frame.curve.step) == frame.step
        assert frame.past.newest >= frame.step


def test_every_frame_is_that_of_its_step_in_a_run_that_nobody_watches():
    run, frames = make_run("mlp", engine="numba"), {}
    with Worker(run) as worker:
        for target in (1, 2, 30):
            worker.train_to(target)
            assert worker.settle().step == target
        worker.train_to(10**9)
        while len(frames) < 30:
            frame = run.request_frame([0.1, 0.2, 0.3] if len(frames) % 2 else None).result(10)
            frames[frame.step] = frame
    plain = make_run("mlp", engine="numba")
    for step in sorted(frames):
        plain.step(step - plain.steps)
        assert frame_bits(frames[step]) == frame_bits(plain.frame(frames[step].activations.get("input")))
    plain.step(run.steps - plain.steps)
    assert bits(run) == bits(plain)


def test_everything_at_once_leaves_the_bits_of_the_log(fast, tmp_path):
    """Steps, edits, saves and looks from many threads; what the log says, done again alone, gives the same run."""
    run, worker = fast
    x, y = run.samples()
    deeds = [
        lambda k: run.step(3),
        lambda k: (run.save(tmp_path / f"{k}.safetensors"), run.samples(), run.state_dict(), run.frame(), run.state()),
        lambda k: run.refill(x, y + 0.01 * k),
        lambda k: (run.add_samples(x[:1], y[:1]), run.change(lr=0.01 * (k + 1))),
        lambda k: (setattr(run.model[0].bias[k % 3], "data", float(k)), run.predict(x), run.evaluate(x, y)),
        lambda k: (run.open().terms(0), run.find("loss < 0")),
    ]
    with ThreadPoolExecutor(6) as pool:  # each in a thread of its own; what one raises is raised here
        list(pool.map(lambda deed: [deed(k) for k in range(6)], deeds, timeout=60))
    worker.pause()
    last = worker.settle()
    assert done_again(run, make_run("mlp", engine="numba")).values.tobytes() == last.values.tobytes()
    assert all(done.step <= after.step for done, after in pairwise(worker.log))


def test_what_is_read_is_of_one_step_and_cannot_be_written_to(fast):
    """Half of the reads were 0.0: the engine clears and fills the array that they looked into."""
    run, worker = fast
    weight, compared = run.model[0].weight[1][2], 0
    run.step()
    wait(lambda: run.steps > 5)
    for _ in range(200):
        worker.request()
        assert weight.grad != 0.0
        before, seen = worker.latest, run.model[0].weight.grad
        if worker.latest is before:
            assert seen.tobytes() == before.gradient[:12].tobytes()
            compared += 1
    assert compared > 10
    for array in (seen, run.model[0].weight.data):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 3.0
    backward = (run.model([0.1, 0.2, 0.3])[0] * 2.0).backward
    for change in (lambda: setattr(weight, "grad", 1.0), run.model.zero_grad, backward, run.optimizer.step):
        with pytest.raises(StateError, match=r"thread|by hand|while a Run trains"):
            change()
    found = run.why(4)
    assert found.gradient == pytest.approx(found.engine_gradient, rel=1e-9, abs=1e-15)


def test_edits_are_seen_at_once_and_steps_are_those_of_the_thread(fast):
    run, worker = fast
    run.batch_size = 4
    run.lr = 0.5
    run.lr *= 0.5
    run.optimizer.eps = 1e-3
    assert (run.batch_size, run.lr, run.optimizer.eps) == (4, 0.25, 1e-3)
    run.model[0].weight[1][0].frozen = True
    run.model[2].weight.frozen = True
    held, first = run.frame().values, run.steps
    wait(lambda: run.steps > first + 30)
    frame = run.frame()
    assert (frame.values[3], frame.values[16:28].tobytes()) == (held[3], held[16:28].tobytes())
    with pytest.raises(InputError):
        worker.do(edits.SetBatchSize(1000))
    assert (worker.error, worker.busy) == (None, True)
    names = []
    run.step(7, progress=lambda run: names.append(threading.current_thread().name))
    assert set(names) == {"scalarviz-training"}


def test_what_was_asked_for_before_steps_is_done_before_them_and_what_was_given_up_is_not(slow):
    run, trainer, worker = slow
    before = run.request_frame()
    run.model[0].weight[0][0].data = 5.0
    second = run.request_frame()
    run.model[0].weight[0][0].data = 6.0
    third, late = run.request_frame(), []
    threading.Timer(0.1, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        run.do(edits.Call(lambda run: late.append("Ctrl-C")))
    threading.Timer(0.1, trainer.go_on.set).start()
    assert run.frame().values[0] == 6.0  # it waits for what it is of
    assert before.result(10).values[0] not in (5.0, 6.0)
    assert [request.result(10).values[0] for request in (second, third)] == [5.0, 6.0]
    assert (second.result().edited, before.result().edited, late) == (True, False, [])
    worker.train_to(5)
    assert worker.settle().step == 5
    assert worker.log[0].what == "0.weight[0][0] = 6"


def test_without_a_thread_a_request_is_the_frame_of_this_moment():
    run, plain, given = make_run("relu"), make_run("relu"), np.array([0.1, 0.2, 0.3])
    request, expected = run.request_frame(given), plain.frame(given)
    given[:] = 0
    run.step(5)
    run.refill(run.samples()[0] - 9, run.samples()[1])  # what is learnt from later is not what the frame speaks of
    assert (request.done, frame_bits(request.result(0))) == (True, frame_bits(expected))
    run.close()
    assert run.request_frame().result(0).step == 5


def test_in_the_middle_of_a_call_asking_returns_at_once_and_requests_share_a_frame(slow):
    run, trainer, worker = slow
    requests = [run.request_frame() for _ in range(50)] + [worker.request()]
    probed = run.request_frame([0.1] * 3)
    assert not any(request.done for request in [*requests, probed])
    assert (worker.latest.step, "waiting" in repr(probed)) == (0, True)
    with pytest.raises(StateError, match=r"0\.01 s"):
        probed.result(0.01)
    trainer.go_on.set()
    frame = requests[0].result(10)
    assert all(request.result(10) is frame for request in requests)
    plain = make_run()
    plain.step(1)
    assert frame_bits(probed.result(10)) == frame_bits(plain.frame([0.1] * 3))
    assert frame_bits(frame) == frame_bits(plain.frame())
    assert "done" in repr(probed)


def test_what_keeps_a_run_from_giving_a_frame_is_raised_and_later_ones_come(slow, monkeypatch):
    run, trainer, worker = slow
    request = run.request_frame()

    def no_room(*_):
        raise MemoryError("no room for a copy")

    with monkeypatch.context() as full:
        full.setattr("scalarviz.run.worker.frame_now", no_room)
        trainer.go_on.set()
        for _ in range(2):
            with pytest.raises(MemoryError, match="no room"):
                request.result(10)
    worker.train_to(5)
    assert run.request_frame().result(10).step >= 1
    assert worker.settle().step == 5


def test_await_lets_the_loop_go_on_and_may_be_given_up(slow):
    run, trainer, _ = slow

    async def main():
        request = run.request_frame()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(request, 0.01)
        assert not request.done
        trainer.go_on.set()
        return await asyncio.wait_for(asyncio.gather(request, request), 20)

    frame, same = asyncio.run(main())
    assert (frame.step, frame is same) == (1, True)


def test_the_last_goal_is_where_it_stands_and_training_has_stopped():
    run = make_run("mlp", engine="numba")
    run.step(120)
    losses = run.history.loss.copy()
    with Worker(run) as worker:
        for step in (90, 20, 47):
            worker.travel(step)
        for goal, wanted in ((47, 47), (10**9, 120), (-5, 0)):
            worker.travel(goal)
            frame = worker.settle()
            assert (frame.step, frame.past.newest, worker.journey_progress, worker.moving) == (wanted, 120, None, False)
            assert frame.loss == losses[wanted - 1] if wanted else np.isnan(frame.loss)
        worker.train_to(30)  # follows the record
        assert worker.settle().step == 30
        go = threading.Event()
        worker.ask(lambda run: go.wait(5))
        worker.travel(20)
        assert worker.moving  # it waits for its turn
        worker.edit(lambda run: run.change(lr=0.5), "an edit between two goals is done at the first")
        worker.travel(77)
        go.set()
        assert worker.settle().step == 20  # the branch that the edit began has no other step
        run.break_on("step == 25")
        worker.train_to(50)
        assert (worker.settle().step, worker.stopped is None) == (25, False)
        worker.travel(3)
        assert (worker.settle().step, worker.stopped) == (3, None)
    assert (run.branches[-1].first, [done.step for done in run.log]) == (20, [])


@pytest.mark.ci
def test_what_is_given_up_stays_where_it_set_out():
    run = make_run("mlp", engine="objects")
    run.step(150)
    run.timeline.budget = 1  # nothing is kept but the first step
    with Worker(run) as worker:
        worker.travel(140)
        wait(lambda: (worker.journey_progress or 0) > 0.03)
        worker.cancel()
        assert (worker.settle().step, worker.journey_progress) == (150, None)


def test_an_error_reaches_the_viewer_and_an_edit_heals_it():
    w = sv.Weight(1.0, name="w")
    run = Run(lambda x: w * x[0], nn.MSELoss(), optim.SGD([w], lr=3.0), ([[3.0]], [[0.0]]), engine="numpy")
    with Worker(run) as worker:
        worker.train_to(1000)
        wait(lambda: worker.error is not None)
        assert isinstance(worker.error, DivergedError)
        assert f"step {run.steps}" in str(worker.error)
        assert (worker.latest.step, worker.busy, run.request_frame().result(10).step) == (run.steps, False, run.steps)
        w.data = 0.0
        worker.train_to(run.steps + 5)
        wait(lambda: not worker.busy)
        assert worker.error is None


def test_an_edit_shows_at_once_and_one_that_fails_is_an_error_not_the_end():
    def fails(run):
        raise KeyboardInterrupt("no good")

    run = make_run()
    with Worker(run) as worker:
        run.model[0].weight[0][0].data = 3.0
        wait(lambda: worker.latest.values[0] == 3.0)
        worker.ask(lambda run: time.sleep(0.2))
        run.model[0].weight[0][0].data = 4.0
        assert worker.ask(lambda run: None).cancel()  # what comes after the edit is given up
        wait(lambda: worker.latest.values[0] == 4.0)
        assert run.steps == 0
        worker.edit(fails, "fails")
        wait(lambda: "no good" in str(worker.error))
        worker.train_to(5)
        wait(lambda: run.steps == 5)
        with pytest.raises(KeyboardInterrupt):  # it belongs to whoever asks
            run.do(edits.Call(fails))


def test_closing_is_quick_does_what_waits_and_restores_the_process():
    before, run = (sys.getswitchinterval(), threading.active_count()), make_run()
    worker = Worker(run).start()
    worker.train_to(10**9)
    wait(lambda: run.steps > 0)
    for k in range(100):
        run.model[0].weight[0][0].data = float(k)
    request, start = run.request_frame(), time.perf_counter()
    worker.close()
    assert time.perf_counter() - start < AT_ONCE * 4
    assert (sys.getswitchinterval(), threading.active_count()) == before
    assert (run._store.gate, request.done) == (None, True)
    worker.close()  # twice is no harm
    worker.do(edits.SetWeights(1, np.array([6.0])))
    assert (run.values[:2].tolist(), worker.settle(0.01).step) == ([99.0, 6.0], run.steps)


def test_closing_a_call_that_does_not_end_is_said_and_answers_later(slow):
    run, trainer, worker = slow
    request = run.request_frame()
    with pytest.raises(StateError, match="did not stop"):
        worker.close(0.01)
    late = run.request_frame()
    trainer.go_on.set()
    assert request.result(10).step == late.result(10).step == 1
    wait(lambda: not any(thread.name == "scalarviz-training" for thread in threading.enumerate()))
    run.step(1)
    assert run._store.gate is None


@refusals({
    "close": (lambda run, worker: worker.close(-1), InputError, "close", "timeout"),
    "result": (lambda run, worker: run.request_frame().result(-1.0), InputError, "timeout"),
    "train_to": (lambda run, worker: worker.train_to(-1), InputError, "train_to"),
    "travel": (lambda run, worker: worker.travel(1.5), InputError, "travel"),
    "probe": (lambda run, worker: run.request_frame([1.0]), InputError, "3"),
    "two workers": (lambda run, worker: Worker(run).start(), StateError, "another Worker"),
    "twice": (lambda run, worker: worker.start(), StateError, "once", "Worker(run)"),
})  # fmt: skip
def test_refusals(refusal, fast):
    run, worker = fast
    refusal.check(run, worker)
    before = run.steps
    wait(lambda: run.steps > before)  # it goes on as if nothing was asked
    assert worker.error is None


def test_what_waits_for_a_weight_is_done_to_that_weight():
    """Asked for before the network became another one, done after it: its flat index is another one there."""
    run, go_on = make_run(optimizer="sgd"), threading.Event()
    first, last = run.model[0], run.model[2]
    longer = nn.Sequential(first, nn.Tanh(), nn.Linear(4, 4, seed=3), nn.Tanh(), last, nn.Sigmoid())
    with Worker(run) as worker:
        for model, goes_on in ((longer, True), (NETWORKS["rgb"].ours(), False)):
            go_on.clear()
            worker.ask(lambda run: go_on.wait(20))
            worker.ask(lambda run, model=model: run.change(model=model))
            last.weight[1][2].data = 0.625
            last.bias.frozen = True
            go_on.set()
            worker.settle()
            assert worker.error is None
            if goes_on:
                assert (last.weight[1][2].data, last.bias.frozen) == (0.625, True)
                assert run.log[-1].what == "freeze 4.bias[0] and 2 more"
                last.bias.frozen = False
                last.weight[1][2].data = 0.0
                worker.settle()
        assert len(run.values) == 12
        assert (run.values != 0.625).all()
