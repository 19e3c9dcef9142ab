"""Ctrl-C, or an error of the model, in the middle of a step: the run stands at a whole one and goes on."""

from __future__ import annotations

import signal
import threading

import numpy as np
import pytest

from scalarviz import Run, nn, optim
from scalarviz.errors import InputError
from scalarviz.run.edits import Call
from scalarviz.run.hands import RunHands
from scalarviz.run.signals import Whole

X = np.random.default_rng(0).random((64, 3))
ENGINES = ("objects", "numpy", "numba")


def make(engine, model=None):
    net = nn.Sequential(nn.Linear(3, 8, seed=1), nn.Tanh(), nn.Linear(8, 3, seed=2))
    opt = optim.Adam(net.parameters(), lr=0.01)
    return Run(model(net) if model else net, nn.MSELoss(), opt, (X, 1 - X), engine=engine, batch_size=8)


def bits(run):
    arrays = run.values, run._store.grad, run.problem.previous, *run.problem.state
    return run.steps, run.history.loss.tolist(), *(array.tobytes() for array in arrays)


def same_as_never_interrupted(run, grad=True):
    fresh = make(run.engine.name)
    fresh.step(run.steps)
    if grad:
        assert bits(run) == bits(fresh)
    run.step(7)
    fresh.step(7)
    assert bits(run)[2:] == bits(fresh)[2:]
    assert run.history.loss[-7:].tolist() == fresh.history.loss[-7:].tolist()


@pytest.mark.parametrize("steps", [1, 50])
@pytest.mark.parametrize("engine", ENGINES)
def test_ctrl_c_at_the_end_of_a_call(engine, steps, monkeypatch):
    run = make(engine)
    run.step(5)
    trainer = run._training.trainer
    train = trainer.train

    def interrupted(*args):
        losses = train(*args)
        signal.raise_signal(signal.SIGINT)
        return losses

    with monkeypatch.context() as patch:
        patch.setattr(trainer, "train", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run.step(steps)
    assert run.steps > 5 or engine != "numba"
    same_as_never_interrupted(run)


@pytest.mark.parametrize("steps", [1, 50])
@pytest.mark.parametrize("engine", ["objects", "numpy"])
def test_ctrl_c_between_a_weight_and_its_moments(engine, steps, monkeypatch):
    run = make(engine)
    run.step(5)
    updater, copyto = run._training.trainer.updater, np.copyto

    def interrupted(target, row, **options):
        copyto(target, row, **options)
        if target is run._store.value and "where" in options:
            signal.raise_signal(signal.SIGINT)

    apply = updater.apply

    def updated(hyper):
        with monkeypatch.context() as patch:
            patch.setattr(np, "copyto", interrupted)
            apply(hyper)

    with monkeypatch.context() as patch:
        patch.setattr(updater, "apply", updated)
        with pytest.raises(KeyboardInterrupt):
            run.step(steps)
    assert run.steps == 5
    same_as_never_interrupted(run)


def test_an_error_of_the_model_in_a_later_step_of_a_call():
    class Model(nn.Module):
        def __init__(self, net):
            super().__init__()
            self.net, self.calls, self.last = net, 0, 10**9

        def forward(self, x):
            self.calls += 1
            if self.calls > self.last:
                raise ZeroDivisionError
            return self.net(x)

    run = make("objects", Model)
    run.step(5)
    run.model.last = run.model.calls + 30
    with pytest.raises(ZeroDivisionError):
        while True:
            run.step(10)
    run.model.last = 10**9
    assert 5 <= run.steps < 15
    fresh = make("objects", Model)
    fresh.step(run.steps)
    assert bits(run) == bits(fresh)


def test_an_edit_that_ctrl_c_meets_is_done_and_stands_in_the_log(monkeypatch):
    run = make("numpy")
    run.step(3)
    put = RunHands.put_weights

    def interrupted(hands, start, numbers):
        signal.raise_signal(signal.SIGINT)
        put(hands, start, numbers)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(RunHands, "put_weights", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.set_weights(0, [0.5])
    assert [(a.step, a.what) for a in run.log] == [(3, "0.weight[0][0] = 0.5")]
    assert run.values[0] == 0.5


def test_going_back_that_ctrl_c_meets_is_whole(monkeypatch):
    run = make("numpy")
    run.step(3)
    state, before = run.state(), bits(run)
    run.step(3)
    copyto = np.copyto

    def interrupted(target, source, **options):
        signal.raise_signal(signal.SIGINT)
        copyto(target, source, **options)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(np, "copyto", interrupted)
        run.take(state)
    assert (bits(run)[0], bits(run)[2:]) == (before[0], before[2:])
    saved = run.state_dict(), run.optimizer_state()
    run.step(3)
    ends = type(run._training).stands_at
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(
            type(run._training), "stands_at", lambda *given: (signal.raise_signal(signal.SIGINT), ends(*given))
        )
        run.restore(*saved, 3)
    assert run.steps == 3
    same_as_never_interrupted(run, grad=False)


def test_a_function_of_the_run_is_interrupted_at_once():
    run = make("numpy")
    after = []

    def slow(run):
        signal.raise_signal(signal.SIGINT)
        after.append(1)

    with pytest.raises(KeyboardInterrupt):
        run.do(Call(slow))
    assert after == []
    assert run.log == []


def test_ctrl_c_waits_for_the_end_and_comes_once():
    done = []
    with pytest.raises(KeyboardInterrupt), Whole():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        done.append(1)
    assert done == [1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_comes_at_once_where_the_block_lets_it():
    done = []
    with pytest.raises(KeyboardInterrupt), Whole() as whole:
        whole.waits = False
        signal.raise_signal(signal.SIGINT)
        done.append(1)
    assert done == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_and_ignored_signals_are_left_alone():
    seen = []

    def elsewhere():
        with Whole():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    former = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Whole():
            signal.raise_signal(signal.SIGINT)
            seen.append(signal.getsignal(signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, former)
    assert seen == [signal.default_int_handler, signal.SIG_IGN]


def test_an_error_of_the_block_is_not_lost():
    with pytest.raises(InputError), Whole():
        raise InputError("wrong")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
