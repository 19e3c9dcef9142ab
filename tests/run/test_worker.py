"""Beside a thread that trains: what is asked of a run takes its turn, nothing is lost, and no number is torn.

It imports the worker: a user meets it only through a window, which these tests do without.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
import threading
import time
import weakref
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from kit.edits import CHANGES, EDITS
from kit.refusals import refusals
from kit.runs import bits, frame_bits, make_run
from scalarviz import Run, nn, optim
from scalarviz.engine.arrays.trainer import NumpyTrainer
from scalarviz.errors import DivergedError, InputError, ScalarvizError, StateError, TypeMismatchError
from scalarviz.run.gather import release
from scalarviz.run.run_source import RunSource
from scalarviz.run.worker import Worker

edits = sv.run.edits
TIMEOUTS = ["a", [1], -1, float("nan"), 10**400, 1e300]
AT_ONCE = 0.5
"""Seconds; what returns at once takes microseconds, on a busy machine some milliseconds."""


def wait(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.001)


def together(*deeds, times=1):
    """Each of the deeds in a thread of its own, so many times; no error may come of it."""
    errors = []

    def several(deed):
        try:
            for k in range(times):
                deed(k)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=several, args=(deed,), daemon=True) for deed in deeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert errors == []


def replayed(run):
    """What its log says, done by a fresh run alone."""
    plain = make_run("mlp", engine=run.engine.name)
    for done in run.log:
        plain.step(done.step - plain.steps)
        plain.do(done.edit)
    plain.step(run.steps - plain.steps)
    return plain


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
    trainer = Slow(run.problem)
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
    run.close()


# ---- the law: what a thread did is what the same calls do without one

FEW = sorted({*EDITS, *CHANGES} - {"hand", "function", "view of a module", "view of the run", "engine"})
ACTIONS = st.lists(st.sampled_from([*["train", "rest", "ask", "look", "step", "travel"] * 3, *FEW]), max_size=12)


def live(actions, seed):
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
    assert all(request.done for request in asked)
    return run, asked


@settings(max_examples=10)
@given(ACTIONS, st.integers(0, 99))
def test_what_was_recorded_leads_to_where_it_stands(actions, seed):
    run, asked = live(actions, seed)
    run.step(2)
    wanted, steps = bits(run), run.steps
    run.to(run.span[0])
    run.step(steps - run.steps)
    assert bits(run) == wanted
    for request in asked:
        frame = request.result(0)
        assert len(frame.curve.step) == frame.step
        assert frame.past.newest >= frame.step


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_every_frame_is_that_of_its_step_in_a_run_that_nobody_watches(engine):
    run, frames = make_run("mlp", engine=engine), {}
    with Worker(run) as worker:
        for target in (1, 2, 30):
            worker.train_to(target)
            assert worker.settle().step == target
        worker.train_to(10**9)
        while len(frames) < 30:
            frame = run.request_frame([0.1, 0.2, 0.3] if len(frames) % 2 else None).result(10)
            frames[frame.step] = frame
    plain = make_run("mlp", engine=engine)
    for step in sorted(frames):
        plain.step(step - plain.steps)
        assert frame_bits(frames[step]) == frame_bits(plain.frame(frames[step].activations.get("input")))
    plain.step(run.steps - plain.steps)
    assert bits(run) == bits(plain)


def test_everything_at_once_leaves_the_bits_of_the_log(fast, tmp_path):
    """Steps, edits, saves and looks from many threads; what the log says, done again alone, gives the same run."""
    run, worker = fast
    x, y = run.samples()
    together(
        lambda k: run.step(3),
        lambda k: (run.save(tmp_path / f"{k}.safetensors"), run.samples(), run.state_dict(), run.frame(), run.state()),
        lambda k: run.refill(x, y + 0.01 * k),
        lambda k: (run.add_samples(x[:1], y[:1]), run.change(lr=0.01 * (k + 1))),
        lambda k: (setattr(run.model[0].bias[k % 3], "data", float(k)), run.predict(x), run.evaluate(x, y)),
        lambda k: (run.open().terms(0), run.find("loss < 0")),
        times=6,
    )
    worker.pause()
    last = worker.settle()
    assert replayed(run).values.tobytes() == last.values.tobytes()
    assert all(done.step <= after.step for done, after in pairwise(worker.log))


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_threads_that_step_one_run_by_hand_do_one_call_after_the_other(engine):
    run = make_run("rgb", engine=engine)
    steps = [lambda k: run.step(5)] * 3
    together(*steps, lambda k: run.state(), lambda k: setattr(run, "lr", 0.1 / (2 + k)), times=20)
    assert (run.steps, run.span, run.history.step.tolist()) == (300, (0, 300), list(range(1, 301)))
    assert len(run.log) == 20
    wanted = run.values.tobytes()
    run.to(0), run.to(300)
    assert run.values.tobytes() == wanted


# ---- reading and writing while it trains


def test_reads_are_of_one_step_and_cannot_be_written_to(fast):
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
    for array in (seen, run.model[0].weight.data, run.model[0].weight[1].data):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 3.0
    outputs = run.model([0.1, 0.2, 0.3])
    writes = [lambda: setattr(weight, "grad", 1.0), lambda: setattr(run.model[0].weight, "grad", np.zeros((4, 3)))]
    for change in (*writes, weight.zero_grad, run.model.zero_grad, (outputs[0] * 2.0).backward):
        with pytest.raises(StateError, match="thread"):
            change()


def test_edits_are_seen_at_once_and_steps_are_those_of_the_thread(fast):
    run, worker = fast
    run.batch_size = 4
    run.lr = 0.5
    run.lr *= 0.5
    run.optimizer.eps = 1e-3
    assert (run.batch_size, run.lr, run.optimizer.eps) == (4, 0.25, 1e-3)
    run.model[0].weight[1][0].frozen = True
    run.model[2].weight.frozen = True
    assert run.model[0].weight[1][0].frozen
    assert run.model[2].weight[1].frozen
    held, first = run.frame().values, run.steps
    wait(lambda: run.steps > first + 30)
    frame = run.frame()
    assert (frame.values[3], frame.values[16:28].tobytes()) == (held[3], held[16:28].tobytes())
    too_large = edits.SetBatchSize(1000)
    for wrong in (lambda: run.do(too_large), lambda: run.load("nowhere.safetensors"), lambda: worker.do(too_large)):
        with pytest.raises(InputError):
            wrong()
    assert (worker.error, worker.busy) == (None, True)
    worker.pause()
    worker.settle()
    before, names = run.steps, []
    run.step(7, progress=lambda run: names.append(threading.current_thread().name))
    handle = run.on_step(lambda run: names.append(threading.current_thread().name))
    worker.train_to(before + 20)
    wait(lambda: run.steps == before + 20)
    handle.remove()
    assert set(names) == {"scalarviz-training"}
    assert replayed(run).values.tobytes() == run.values.tobytes()


def test_opened_steps_are_of_one_moment(fast):
    run, _ = fast
    x, y = run.samples()
    for _ in range(5):
        opened = run.open()
        assert opened.loss == pytest.approx(run.evaluate(x[opened.batch], y[opened.batch], opened.values))
    found = run.why(4)
    assert found.gradient == pytest.approx(found.engine_gradient, rel=1e-9, abs=1e-15)


def test_what_was_asked_for_before_steps_is_done_before_them(slow):
    run, trainer, worker = slow
    before = run.request_frame()
    run.model[0].weight[0][0].data = 5.0
    second = run.request_frame()
    run.model[0].weight[0][0].data = 6.0
    third, late = run.request_frame(), []
    worker.edit(lambda r: late.append(r.request_frame().result().step), "it never waits for itself")
    threading.Timer(0.1, trainer.go_on.set).start()
    assert run.frame().values[0] == 6.0  # it waits for what it is of
    assert before.result(10).values[0] not in (5.0, 6.0)
    assert [request.result(10).values[0] for request in (second, third)] == [5.0, 6.0]
    assert (second.result().edited, before.result().edited, late) == (True, False, [1])
    worker.train_to(5)
    assert worker.settle().step == 5
    assert worker.log[0].what == "0.weight[0][0] = 6"


# ---- frames that are asked for


@pytest.mark.parametrize("probe", [None, [0.1, 0.2, 0.3]])
def test_without_a_thread_a_request_is_the_frame_of_this_moment(probe):
    run, plain = make_run("relu"), make_run("relu")
    given = None if probe is None else np.array(probe)
    for one in (run, plain):
        one.step(3)
        one.set_weights(0, [0.5])
        one.lr = 0.02
    request, expected = run.request_frame(given), frame_bits(plain.frame(probe))
    assert request.done
    if given is not None:
        given[:] = 0
    run.step(5)
    x, y = run.samples()
    run.refill(x - 9, y)  # what is learnt from later is not what the frame speaks of
    assert frame_bits(request.result()) == expected
    assert request.result() is request.result(0)
    run.close()
    assert run.request_frame().result(0).step == 8


def test_in_the_middle_of_a_call_asking_returns_at_once_and_requests_share_a_frame(slow):
    run, trainer, worker = slow
    start = time.monotonic()
    requests = [run.request_frame() for _ in range(50)] + [worker.request(), RunSource(run).request_frame()]
    probed = [run.request_frame([0.1 * k] * 3) for k in range(2)]
    assert not any(request.done for request in [*requests, *probed])
    assert worker.latest.step == 0
    assert time.monotonic() - start < AT_ONCE
    assert "waiting" in repr(requests[0])
    for seconds in (0.01, 0):
        with pytest.raises(StateError, match=f"{seconds} s"):
            requests[0].result(seconds)
    trainer.go_on.set()
    frame = requests[0].result(10)
    assert all(request.result(10) is frame for request in requests)
    plain = make_run()
    plain.step(1)
    for k, request in enumerate(probed):
        assert frame_bits(request.result(10)) == frame_bits(plain.frame([0.1 * k] * 3))
        assert request.result().values is frame.values
    assert frame_bits(frame) == frame_bits(plain.frame())
    assert "done" in repr(requests[0])


def test_what_keeps_a_run_from_giving_a_frame_is_raised_and_later_ones_come(slow, monkeypatch):
    run, trainer, worker = slow
    requests, failing, reading = [run.request_frame() for _ in range(2)], [True], type(run)._reading

    def full(self, *wanted):
        if failing[0]:
            raise MemoryError("no room for a copy")
        return reading(self, *wanted)

    async def waits():
        return await requests[0]

    monkeypatch.setattr(type(run), "_reading", full)
    trainer.go_on.set()
    for request in requests:
        for _ in range(2):
            with pytest.raises(MemoryError, match="no room"):
                request.result(10)
        assert "failed" in repr(request)
    with pytest.raises(MemoryError, match="no room"):
        asyncio.run(waits())
    failing[0] = False
    worker.train_to(5)
    assert run.request_frame().result(10).step >= 1
    assert worker.settle().step == 5


def test_await_lets_the_loop_go_on_and_may_be_given_up(slow):
    run, trainer, worker = slow

    async def main():
        request, ticks = run.request_frame([0.1, 0.2, 0.3]), 0
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(request, 0.01)

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
        assert (ticks, frame is same, await request is frame) == (20, True, True)
        return frame

    frame = asyncio.run(main())
    assert (frame.step, frame.activations["input"].tolist()) == (1, [0.1, 0.2, 0.3])
    worker.train_to(3)
    assert (worker.settle().step, worker.error) == (3, None)


# ---- steps that were done


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
            assert (frame.step, frame.past.newest, worker.journey, worker.moving) == (wanted, 120, None, False)
            assert frame.loss == losses[wanted - 1] if wanted else np.isnan(frame.loss)
        worker.train_to(30)  # follows the record
        assert worker.settle().step == 30
        worker.travel(100, nearest=True)
        assert worker.settle().computed.all()
        assert run.history.loss.tobytes() == losses[: len(run.history.loss)].tobytes()
        go = threading.Event()
        asked = worker.ask(lambda run: go.wait(5))
        worker.travel(20)
        assert worker.moving  # it waits for its turn
        worker.edit(lambda run: run.change(lr=0.5), "an edit between two goals is done at the first")
        worker.travel(77)
        go.set()
        assert worker.settle().step == 20  # the branch that the edit began has no other step
        assert asked.done.is_set()
        failing = worker.ask(lambda run: run.redo())
        assert failing.done.wait(5)
        with pytest.raises(ScalarvizError, match="redo"):
            failing.answer()
        assert worker.error is None
        run.break_on("step == 25")
        worker.train_to(50)
        assert (worker.settle().step, worker.stopped is None) == (25, False)
        worker.travel(3)
        assert (worker.settle().step, worker.stopped) == (3, None)
    assert (run.branches[-1].first, [done.step for done in run.log]) == (20, [])
    late = worker.ask(lambda run: run.steps)  # nobody is there any more: at once
    assert (late.done.is_set(), late.answer()) == (True, 3)


def test_an_engine_that_breaks_on_the_way_is_said_and_frames_on_the_way_are_whole(monkeypatch):
    run = make_run("mlp", engine="numba")
    run.step(200)
    losses, random = run.history.loss.copy(), np.random.default_rng(0)

    def whole(k):
        frame = run.frame()
        assert frame.curve.step.tolist() == list(range(1, frame.step + 1))
        assert frame.step == 0 or frame.loss == losses[frame.step - 1]

    with Worker(run) as worker:
        travels = lambda k: worker.travel(int(random.integers(0, 201)), nearest=bool(k % 3 == 0))  # noqa: E731
        together(whole, whole, travels, times=30)
        worker.settle()
        monkeypatch.setattr(run._training, "replay", lambda most: (_ for _ in ()).throw(InputError("no more")))
        worker.travel(run.steps - 7 if run.steps > 7 else run.steps + 7)
        wait(lambda: worker.error is not None)
        assert "no more" in str(worker.error)
        monkeypatch.undo()
        worker.travel(100)
        assert (worker.settle().step, worker.error) == (100, None)


def test_what_is_given_up_stays_where_it_set_out():
    run = make_run("mlp", engine="objects")
    run.step(150)
    run.timeline.budget = 1  # nothing is kept but the first step
    with Worker(run) as worker:
        worker.travel(140)
        wait(lambda: (worker.journey or 0) > 0.03)
        worker.give_up()
        assert worker.settle().step == 150
        assert worker.journey is None
        worker.travel(5)
        assert worker.settle().step == 5


# ---- beginning, ending, failing


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


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, ZeroDivisionError, InputError])
def test_an_edit_that_fails_is_an_error_not_the_end(error):
    def fails(run):
        raise error("no good")

    run = make_run()
    with Worker(run) as worker:
        worker.edit(fails, "fails")
        wait(lambda: worker.error is not None)
        assert "no good" in str(worker.error)
        worker.train_to(5)
        wait(lambda: run.steps == 5)
        with pytest.raises(error):  # it belongs to whoever asks
            run.do(edits.Call(fails))
        worker.edit(lambda run: worker.close(), "close")
        wait(lambda: worker.error is not None)
        assert "another thread" in str(worker.error)
        run.step()


def test_closing_is_quick_does_what_waits_and_restores_the_process():
    before = sys.getswitchinterval(), threading.active_count()
    run, other = make_run(), make_run()
    worker, second = Worker(run).start(), Worker(other).start()
    second.close()
    assert sys.getswitchinterval() < before[0]
    worker.train_to(10**9)
    wait(lambda: run.steps > 0)
    for k in range(100):
        run.model[0].weight[0][0].data = float(k)
    request, start = run.request_frame(), time.perf_counter()
    worker.close()
    assert time.perf_counter() - start < AT_ONCE * 4
    assert (sys.getswitchinterval(), threading.active_count()) == before
    assert (run.values[0], run.gate, request.done) == (99.0, None, True)
    worker.close()  # twice is no harm
    worker.do(edits.SetWeights(1, np.array([6.0])))
    worker.edit(lambda r: r.set_weights(2, [7.0]), "a function")
    worker.write(3, np.array([5.0]))
    assert run.values[:4].tolist() == [99.0, 6.0, 7.0, 5.0]
    assert (worker.request().done, worker.settle(0.01).step) == (True, run.steps)
    assert worker.call(threading.current_thread) is threading.main_thread()
    worker.travel(0)
    assert run.steps == 0
    with Worker(run) as following:  # who asks the old one is served by the next one
        assert worker.call(threading.current_thread).name == "scalarviz-training"
        following.train_to(run.steps + 3)
        following.settle()
        assert worker.request().result(10).step == run.steps
        worker.close()
        assert run.gate is following
    run.step(1)


def test_closing_a_call_that_does_not_end_is_said_and_answers_later(slow):
    run, trainer, worker = slow
    request = run.request_frame()
    with pytest.raises(StateError, match="did not stop"):
        worker.close(0.01)
    late = run.request_frame()
    trainer.go_on.set()
    wait(
        lambda: threading.active_count() == 1 or not any(t.name == "scalarviz-training" for t in threading.enumerate())
    )
    assert (request.done, late.done, run.request_frame().done) == (True, True, True)
    assert request.result(0).step == late.result(0).step == 1
    run.step(1)
    assert run.gate is None


def test_a_thread_that_was_killed_is_no_reason_to_wait(slow):
    """As in a forked process, where no thread goes on."""
    run, _, worker = slow
    request, alive = run.request_frame(), worker._thread
    try:
        worker._thread = threading.Thread()
        worker._thread.start()
        worker._thread.join()
        assert request.result(10).step == 0
        assert run.gate is None
    finally:
        worker._thread = alive


def test_a_worker_that_starts_late_shows_the_numbers_of_now():
    run = make_run()
    worker = Worker(run)
    run.step(5)
    run.model[0].weight[0][0].data = 3.0
    update = run.frame().update
    with worker:
        held = threading.Event()
        worker.edit(lambda r: held.wait(5), "nothing is published")
        assert (run.model[0].weight[0][0].data, worker.latest.step) == (3.0, 5)
        held.set()
        run.model[0].weight[0][1].data = -2.0  # an edit while it rests shows at once and leaves the last update
        wait(lambda: worker.latest.values[1] == -2.0)
        np.testing.assert_allclose(worker.latest.update[2:], update[2:], atol=1e-12)
        assert run.steps == 5


def test_after_errors_too_a_run_dies_when_nobody_holds_it():
    gc.disable()
    try:
        run = make_run()
        net = run.model
        with Worker(run) as worker:
            with pytest.raises(InputError):
                run.lr = -1
            with pytest.raises(ZeroDivisionError):
                run.do(edits.Call(lambda r: 1 / 0))
            worker.edit(lambda r: 1 / 0, "fails")
            while worker.error is None:
                time.sleep(0.002)
        dead = weakref.ref(run), weakref.ref(net), weakref.ref(worker)
        del run, net, worker
        assert [ref() for ref in dead] == [None] * 3
    finally:
        gc.enable()


# ---- two runs over the same weights


def test_a_new_run_takes_the_weights_between_two_steps(fast):
    run, worker = fast
    again = Run(run.model, nn.MSELoss(), optim.SGD(run.model.parameters(), lr=0.1), run.samples(), engine="numpy")
    wait(lambda: worker.error is not None)
    assert "another Run" in str(worker.error)
    again.step(2)
    assert again.model[0].weight.data.flags.writeable
    again.close()


def test_two_new_runs_over_the_same_two_threads_do_not_wait_for_each_other():
    """Each held one thread and waited for the other."""
    one, two, made = make_run("rgb"), make_run("rgb", weights=2), []

    def taking(first, second):
        def model(x):
            return [a + b for a, b in zip(first(x), second(x), strict=True)]

        weights = [*first.parameters(), *second.parameters()]
        made.append(Run(model, nn.MSELoss(), optim.SGD(weights, lr=0.1), (np.eye(3), np.eye(3)), engine="numpy"))

    nets = one.model[0], two.model[0]
    with Worker(one) as a, Worker(two) as b:
        a.train_to(10**9), b.train_to(10**9)
        together(lambda k: taking(*nets), lambda k: taking(*nets[::-1]))
    assert len(made) == 2


@pytest.mark.parametrize("fails", [False, True])
def test_a_run_that_another_thread_is_making_over_the_same_weights_is_waited_for(fails, monkeypatch):
    """It owned them before it had a trainer, and was asked to give them away."""
    former, made, begin, early = make_run("rgb"), {}, Run._begin, []
    begun, go_on, rule = threading.Event(), threading.Event(), type(former.optimizer)

    def slowly(run, *args):
        if not begun.is_set():
            begun.set()
            assert go_on.wait(20)
            if fails:
                release(run._graph.blocks, args[-1])
                raise MemoryError
        begin(run, *args)

    def making(k):
        try:
            net = former.model
            made[k] = Run(net, nn.MSELoss(), rule(net.parameters()), (np.eye(3), np.eye(3)), engine="numpy")
        except MemoryError as error:
            made[k] = error

    monkeypatch.setattr(Run, "_begin", slowly)
    first = threading.Thread(target=making, args=("first",), daemon=True)
    first.start()
    assert begun.wait(20)
    threading.Timer(0.1, lambda: (early.append(len(made)), go_on.set())).start()
    together(making)
    first.join(20)
    assert early == [0]  # the second one waited
    made[0].step(3)
    assert made[0].steps == 3
    assert isinstance(made["first"], MemoryError) == fails
    if not fails:
        with pytest.raises(StateError, match="another Run"):
            made["first"].step()


# ---- what is refused


def asked(call, *given, running=True):
    run = make_run("rgb")
    with Worker(run) as worker:
        worker.train_to(10**9 if running else 0)
        try:
            call(run, worker)
        finally:
            before = run.steps
            wait(lambda: run.steps > before or not running)  # it goes on as if nothing was asked
            assert worker.error is None


@refusals(
    {
        **{f"{name}({bad!r})": (lambda bad=bad, name=name: asked(lambda run, worker: getattr(worker, name)(bad)),
                                (InputError, TypeMismatchError), name, "timeout")
           for name in ("close", "settle") for bad in (*TIMEOUTS, None)},
        **{f"result({bad!r})": (lambda bad=bad: make_run().request_frame().result(bad), (InputError, TypeMismatchError),
                                "timeout")
           for bad in (-1.0, np.nan, np.inf, "soon", [1])},
        **{f"train_to({bad!r})": (lambda bad=bad: asked(lambda run, worker: worker.train_to(bad)), InputError,
                                  "train_to")
           for bad in ("a", None, [1], -1, 1.5, float("nan"), 1e300, True)},
        **{f"travel({bad!r})": (lambda bad=bad: asked(lambda run, worker: worker.travel(bad)), InputError, "travel")
           for bad in (1.5, "3", None, True)},
        **{f"probe {bad!r}": (lambda bad=bad: asked(lambda run, worker: run.request_frame(bad)), kind, fact)
           for bad, kind, fact in (([1.0], InputError, "3"), ([np.nan] * 3, InputError, "finite"),
                                   ("abc", TypeMismatchError, "probe"))},
        "two workers": (lambda: asked(lambda run, worker: Worker(run).start()), StateError, "another Worker"),
        "twice": (lambda: asked(lambda run, worker: worker.start()), StateError, "once", "Worker(run)"),
    }
)  # fmt: skip
def test_refusals(refusal):
    refusal.check()
