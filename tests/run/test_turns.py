"""Beside a worker: everything that other threads ask of a run takes its turn, and no number is torn."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from scalarviz import Run, nn, optim
from scalarviz.errors import InputError, StateError
from scalarviz.run import edits as ed
from scalarviz.run.gather import release
from scalarviz.run.worker import Worker

X = np.random.default_rng(0).random((64, 3))


def make(lr=0.1, width=3, **kwargs):
    net = nn.Sequential(nn.Linear(3, width, seed=1), nn.Tanh(), nn.Linear(width, 3, seed=2), nn.Sigmoid())
    return net, Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=lr), (X, 1 - X), **{"engine": "numba", **kwargs})


@pytest.fixture
def training():
    """A network whose run trains in a thread, as fast as it can."""
    net, run = make()
    with Worker(run) as worker:
        worker.train_to(10**9)
        yield net, run, worker
    run.close()


def test_gradients_are_those_of_one_step(training):
    """Half of the reads were 0.0: the engine clears and fills the array that they looked into."""
    net, run, worker = training
    weight = net[0].weight[1][2]
    run.step()
    end, compared = time.monotonic() + 0.5, 0
    while time.monotonic() < end:
        worker.request()
        assert weight.grad != 0.0
        before = worker.latest
        seen = net[0].weight.grad
        if worker.latest is before:
            assert seen.tobytes() == before.gradient[:9].tobytes()
            compared += 1
    assert compared > 10
    assert not seen.flags.writeable
    assert not net[0].weight.data.flags.writeable
    assert not net[0].weight[1].data.flags.writeable
    assert weight.has_grad
    assert "grad=" in repr(weight)
    with pytest.raises(ValueError, match="read-only"):
        net[0].weight.data[0, 0] = 3.0


def test_a_frame_is_what_single_reads_see(training):
    net, run, worker = training
    for _ in range(50):
        worker.pause()
        frame = worker.settle()
        assert net[2].weight.data.tobytes() == frame.values[12:21].tobytes()
        assert net[2].weight.grad.tobytes() == frame.gradient[12:21].tobytes()
        assert run.values.tobytes() == frame.values.tobytes()
        worker.train_to(10**9)


def test_writing_a_gradient_beside_the_thread_is_refused(training):
    net, *_ = training
    for change in (
        lambda: setattr(net[0].weight[0][0], "grad", 1.0),
        lambda: setattr(net[0].weight, "grad", np.zeros((3, 3))),
        net[0].weight[0][0].zero_grad,
        net.zero_grad,
        (net([0.1, 0.2, 0.3])[0] * 2.0).backward,
    ):
        with pytest.raises(StateError, match="trains in a thread"):
            change()


def test_freezing_takes_its_turn_and_is_seen_at_once(training):
    net, run, worker = training
    weight = net[0].weight[1][0]
    weight.frozen = True
    assert weight.frozen
    net[2].weight.frozen = True
    assert net[2].weight.frozen
    assert net[2].weight[1].frozen
    held = (run.frame().values[3], run.frame().values[12:21].tobytes())
    first = run.steps
    while run.steps < first + 50:
        time.sleep(0.001)
    frame = run.frame()
    assert (frame.values[3], frame.values[12:21].tobytes()) == held
    assert frame.frozen[3]
    assert next(a.what for a in worker.log) == "freeze 0.weight[1][0]"


def test_a_step_from_another_thread_is_a_step_of_the_thread_that_trains(training):
    _, run, worker = training
    worker.pause()
    worker.settle()
    before, threads = run.steps, []
    run.step(7, progress=lambda run: threads.append(threading.current_thread().name))
    assert run.steps == before + 7
    assert set(threads) == {"scalarviz-training"}
    _, plain = make()
    plain.step(run.steps)
    assert plain.values.tobytes() == run.values.tobytes()


def test_everything_at_once_leaves_the_bits_of_the_log(training, tmp_path):
    """Steps, edits, saves and looks from four threads; what the log says, done again alone, gives the same run."""
    net, run, worker = training
    errors = []

    def guarded(function):
        def loop():
            try:
                for k in range(8):
                    function(k)
            except Exception as error:
                errors.append(error)

        return threading.Thread(target=loop)

    threads = [
        guarded(lambda k: run.step(3)),
        guarded(lambda k: (run.save(tmp_path / f"{k}.safetensors"), run.samples(), run.state_dict(), run.frame())),
        guarded(lambda k: run.refill(X, 1 - X + 0.01 * k)),
        guarded(lambda k: (run.add_samples(X[:1], X[:1]), run.change(lr=0.01 * (k + 1)))),
        guarded(lambda k: (setattr(net[0].bias[k % 3], "data", float(k)), run.predict(X), run.evaluate(X, X))),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    worker.pause()
    last = worker.settle()
    assert errors == []
    _, plain = make()
    for applied in run.log:
        plain.step(applied.step - plain.steps)
        plain.do(applied.edit)
    plain.step(last.step - plain.steps)
    assert plain.values.tobytes() == last.values.tobytes()


def test_an_error_comes_back_to_whoever_asked(training):
    _, run, worker = training
    with pytest.raises(InputError, match="larger than the data set"):
        run.batch_size = 1000
    with pytest.raises(InputError):
        run.load("nowhere.safetensors")
    with pytest.raises(InputError):
        worker.do(ed.SetBatchSize(1000))
    assert worker.error is None
    assert worker.busy


def test_what_was_set_is_read(training):
    _, run, _ = training
    run.batch_size = 8
    assert run.batch_size == 8
    run.lr = 0.5
    run.lr *= 0.5
    run.lr *= 0.5
    assert run.lr == 0.125
    run.optimizer.eps = 1e-3
    assert run.optimizer.eps == 1e-3


def test_a_new_run_takes_the_weights_between_two_steps(training):
    net, _, worker = training
    again = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, X), engine="numpy")
    deadline = time.monotonic() + 5
    while worker.error is None:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    assert "another Run took over" in str(worker.error)
    again.step(2)
    assert net[0].weight.data.flags.writeable
    again.close()


def test_a_call_nobody_waits_for_any_more_is_not_made():
    _, run = make()
    worker = Worker(run)  # not started: nothing serves
    called = []
    waiting = threading.Thread(target=lambda: worker._queue(asked), daemon=True)
    from scalarviz.run.asked_call import AskedCall

    asked = AskedCall(lambda: called.append(1))
    waiting.start()
    waiting.join()
    asked.forget()
    worker._boundary()
    assert called == []
    run.close()


def test_closing_serves_what_waits():
    net, run = make()
    worker = Worker(run).start()
    for k in range(100):
        net[0].weight[0][0].data = float(k)
    worker.close()
    assert net[0].weight[0][0].data == 99.0
    assert run.gate is None
    run.close()


def test_two_new_runs_over_the_same_two_threads_do_not_wait_for_each_other():
    """Each held one thread and waited for the other."""

    def taking(first, second):
        def model(x):
            return [a + b for a, b in zip(first(x), second(x), strict=True)]

        weights = first.parameters() + second.parameters()
        made.append(Run(model, nn.MSELoss(), optim.SGD(weights, lr=0.1), (X, X), engine="numpy"))

    for _ in range(3):
        (one, left), (two, right), made = make(), make(), []
        with Worker(left) as a, Worker(right) as b:
            a.train_to(10**9)
            b.train_to(10**9)
            pairs = (one[0], two[0]), (two[0], one[0])
            threads = [threading.Thread(target=taking, args=pair, daemon=True) for pair in pairs]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(5)
            assert len(made) == 2


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("trained", [False, True])
def test_a_run_that_another_thread_is_making_over_the_same_weights_is_waited_for(trained, fails, monkeypatch):
    """It owned them before it had a trainer, and was asked to give them away."""
    net, former = make()
    if not trained:
        former.close()
    begun, go_on, ended, begin = threading.Event(), threading.Event(), [], Run._begin

    def slowly(run, *args):
        if not begun.is_set():
            begun.set()
            assert go_on.wait(20)
            if fails:
                release(run._graph.blocks, args[-1])
                raise MemoryError
        begin(run, *args)

    def making():
        try:
            ended.append(Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, 1 - X), engine="numba"))
        except MemoryError as error:
            ended.append(error)

    monkeypatch.setattr(Run, "_begin", slowly)
    threads = [threading.Thread(target=making, daemon=True) for _ in range(2)]
    threads[0].start()
    assert begun.wait(20)
    threads[1].start()
    threads[1].join(0.2)
    assert ended == []
    go_on.set()
    for thread in threads:
        thread.join(20)
    first, last = ended
    last.step(3)
    assert last.steps == 3
    if fails:
        assert isinstance(first, MemoryError)
        return
    with pytest.raises(StateError, match="another Run"):
        first.step()


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_threads_that_step_one_run_by_hand_do_one_call_after_the_other(engine):
    _, run = make(engine=engine, batch_size=8)
    raised = []

    def of(do, times):
        def body():
            try:
                for k in range(times):
                    do(k)
            except Exception as error:
                raised.append(error)

        return threading.Thread(target=body)

    def slower(k):
        run.lr = 0.1 / (2 + k)

    threads = [*(of(lambda k: run.step(5), 40) for _ in range(3)), of(slower, 20), of(lambda k: run.state(), 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not raised
    assert (run.steps, run.span, run.history.step.tolist()) == (600, (0, 600), list(range(1, 601)))
    assert len(run.log) == 20
    bits = run.values.tobytes()
    run.to(0), run.to(600)
    assert run.values.tobytes() == bits
