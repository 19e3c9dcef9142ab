"""Ctrl-C on the way through a run's past: the run stands at a whole place, and what it goes on with is right."""

from __future__ import annotations

import signal

import numpy as np
import pytest

from scalarviz import Run, nn, optim
from scalarviz.run.hands import RunHands
from scalarviz.run.signals import Whole
from scalarviz.run.timeline.record import Record
from scalarviz.run.training import Training

X = np.random.default_rng(0).random((24, 3))


def make(engine="numpy"):
    net = nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 3, seed=2))
    return Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.02), (X, 1 - X), engine=engine, batch_size=8)


def forked(engine="numpy"):
    """Two lines of 10 and 12 steps, the run at step 6 of the second; a view of its weights was handed out."""
    run = make(engine)
    run.step(10)
    run.to(4)
    run.values[2] = 0.25
    run.step(4)
    run.lr = 0.05
    run.step(4)
    run.to(6)
    return run


def bits(run):
    frame = run.frame()
    arrays = (frame.values, frame.gradient, frame.update, *run.problem.state, frame.curve.step, frame.curve.loss)
    return frame.step, frame.lr, frame.next_lr, *(array.tobytes() for array in arrays)


def interrupted(monkeypatch, owner, name, act):
    """``act()``, and Ctrl-C after every call of a method."""
    done = getattr(owner, name)

    def method(*given, **named):
        found = done(*given, **named)
        signal.raise_signal(signal.SIGINT)
        return found

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(owner, name, method)
        act()


def same_everywhere(run):
    """Every branch, step by step, is that of a run that was never interrupted."""
    fresh = forked()
    for branch in (0, 1):
        for step in range(12 if branch else 11):
            for each in (run, fresh):
                each.to(step, branch)
            assert bits(run) == bits(fresh), (branch, step)
            assert [done.what for done in run.log] == [done.what for done in fresh.log]
    for each in (run, fresh):
        each.step(10)
    assert bits(run) == bits(fresh)


ENDS = [(Training, "replay"), (RunHands, "put_numbers"), (Training, "_stand_after")]


@pytest.mark.parametrize(("owner", "name"), ENDS)
def test_steps_that_follow_the_record(monkeypatch, owner, name):
    run = forked()
    interrupted(monkeypatch, owner, name, lambda: run.step(6))
    assert run.steps > 6
    assert run.lr == (0.05 if run.steps >= 8 else 0.02)
    same_everywhere(run)


def test_arriving_at_another_branch(monkeypatch):
    run = forked()
    interrupted(monkeypatch, Record, "_to_line", lambda: run.switch(0))
    assert (run.steps, run.timeline.line.number) == (10, 0)
    same_everywhere(run)


def test_arriving_by_undo(monkeypatch):
    run = forked()
    run.step(6)
    interrupted(monkeypatch, Record, "_to_line", run.undo)
    assert (run.steps, run.lr, run.span) == (8, 0.02, (0, 8))
    assert run.redo() == "lr = 0.05"
    same_everywhere(run)


def test_new_steps(monkeypatch):
    run = make()
    run.values[0] = 0.5
    run.step(3)
    interrupted(monkeypatch, Training, "advance", lambda: run.step(1))
    assert (run.steps, run.span, len(run.log)) == (4, (0, 4), 1)


def test_on_the_way_it_comes_at_once(monkeypatch):
    run = forked()
    run.timeline.keyframes.drop(run.timeline.line, lambda key: not key.whole)
    run.call_seconds = 1e-9
    interrupted(monkeypatch, Training, "replay", lambda: run.to(11))
    assert run.steps == 6
    same_everywhere(run)


def test_the_innermost_of_two_blocks_says_whether_it_waits():
    done = []
    with pytest.raises(KeyboardInterrupt), Whole():
        with Whole():
            signal.raise_signal(signal.SIGINT)
            done.append(1)
        done.append(2)
        with Whole() as whole:
            whole.waits = False
            signal.raise_signal(signal.SIGINT)
            done.append(3)
    assert done == [1, 2]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_edit_that_cannot_be_done_again_leaves_the_run_before_it(monkeypatch):
    run = forked()

    def fails(hands, numbers, group):
        raise MemoryError

    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(RunHands, "put_numbers", fails)
        run.step(6)
    assert (run.steps, run.lr) == (6, 0.02)
    same_everywhere(run)
