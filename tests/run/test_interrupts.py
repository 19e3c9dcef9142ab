"""Ctrl-C, or an error of the model, at any moment: the run stands at a whole step and goes on with the same bits."""

import contextlib
import functools
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from kit.runs import bits, make_data, make_run
from scalarviz import Run, nn, optim
from scalarviz.run.travel import span

ROOM, OTHERS = str(Path(sv.__file__).parent), ("objects", "numba")


class Interrupted:
    """Raises SIGINT when the so-many-th Python function of the package begins or ends inside the block.

    Python looks for signals there, and where a loop goes round.
    """

    def __init__(self, at):
        self.at, self.seen, self.sent = at, 0, False
        self.lost = False  # Python drops what is raised while it clears a generator away

    def __call__(self, frame, event, argument):
        if event in ("call", "return", "c_return") and frame.f_code.co_filename.startswith(ROOM):
            self.seen += 1
            if self.seen == self.at:
                self.sent = True
                sys.setprofile(None)
                signal.raise_signal(signal.SIGINT)

    def __enter__(self):
        self.hook, sys.unraisablehook = sys.unraisablehook, lambda what: setattr(self, "lost", True)
        sys.setprofile(self)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)
        sys.unraisablehook = self.hook


def forked(engine="numpy", network="mlp"):
    """Two lines of 10 and 12 steps, the run at step 6 of the second; its rate changes at step 8."""
    run = make_run(network, engine=engine)
    run.step(10)
    run.to(4)
    run.values[2] = 0.25
    run.step(4)
    run.lr = 0.05
    run.step(4)
    run.to(6)
    return run


def past(run):
    """What was recorded before any deed, by branch and step: all numbers, and which edits led there."""
    found = []
    for step, number in ((3, 0), (10, 0), (8, 1), (11, 1)):
        run.to(step, next(branch for branch in run.branches if branch.number == number))
        found.append((bits(run)[0], [done.what for done in run.log]))
    return found


DEEDS = {
    "new steps": lambda run: (run.to(12), run.step(5)),
    "steps that follow the record": lambda run: run.step(6),
    "to a step": lambda run: run.to(11),
    "back": lambda run: run.back(5),
    "another branch": lambda run: run.switch(0),
    "undo": lambda run: (run.to(12), run.undo()),
    "redo": lambda run: (run.to(12), run.undo(), run.redo()),
    "find": lambda run: run.find("0.weight[0][0] > 99"),
    "why": lambda run: run.why(0, step=3),
    "open": lambda run: run.open(step=9).new_values,
    "state and back": lambda run: run.take(run.state()),
    "weights": lambda run: (run.to(12), run.set_weights(0, [0.5])),
    "rate": lambda run: (run.to(12), setattr(run, "lr", 0.01)),
    "optimiser": lambda run: (run.to(12), run.change(optimizer="SGD", lr=0.1)),
    "model": lambda run: (run.to(12), run.change(activation="relu")),
    "samples": lambda run: (run.to(12), run.add_samples(*(part[:3] for part in run.samples()))),
    "engine": lambda run: run.change(engine="objects"),
}


PLAIN = past(forked())


@functools.cache
def moments(deed, engine):
    """How many moments there are in a deed."""
    run = forked(engine)
    with Interrupted(-1) as counting:
        DEEDS[deed](run)
    return counting.seen


def check(deed, at, engine="numpy"):
    run, done = forked(engine), False
    with Interrupted(at) as interrupted, contextlib.suppress(KeyboardInterrupt):
        DEEDS[deed](run)
        done = True
    assert interrupted.lost or done != interrupted.sent, "Ctrl-C has to arrive, and once"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    run.step(2)
    wanted, steps = bits(run), run.steps
    run.to(span(run)[0])
    run.step(steps - run.steps)
    assert bits(run) == wanted, (deed, at)  # what was recorded leads to where it stands
    if engine == "numpy":
        assert past(run) == PLAIN, (deed, at)


@pytest.mark.parametrize("engine", ["numpy", *(pytest.param(name, marks=pytest.mark.ci) for name in OTHERS)])
@pytest.mark.parametrize("deed", DEEDS)
def test_ctrl_c_at_any_moment_of_a_deed(deed, engine):
    check(deed, int(np.random.default_rng(len(deed)).integers(1, moments(deed, engine) + 1)), engine)


def test_ctrl_c_twice_comes_once_and_one_that_is_ignored_never():
    run, sent = forked(), []

    def both(run):
        sent.append(run.steps)
        signal.raise_signal(signal.SIGINT)
        return True

    with pytest.raises(KeyboardInterrupt):
        run.step(9, progress=both)
    steps = run.steps
    run.step(1)
    assert (run.steps, len(sent)) == (steps + 1, 1)
    former = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        run.step(3, progress=both)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, former)
    assert run.steps == steps + 4


class Failing(nn.Module):
    """A model that fails when it is told to."""

    def __init__(self, net):
        self.net, self.left = net, 10**9

    def forward(self, x):
        self.left -= 1
        if self.left < 0:
            raise ZeroDivisionError
        return self.net(x)


def test_an_error_of_the_model_leaves_a_whole_step():
    def make():
        net = Failing(nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 3, seed=2)))
        rule, data = optim.Adam(net.parameters(), lr=0.01), make_data("mlp", "mse", 24)
        return Run(net, nn.MSELoss(), rule, data, engine="objects", batch_size=8)

    run, plain = make(), make()
    run.step(5)
    for calls in (3, 30, 61):
        run.model.left = calls
        with pytest.raises(ZeroDivisionError):
            run.step(50)
        run.model.left = 10**9
        plain.step(run.steps - plain.steps)
        assert bits(run) == bits(plain)
    run.step(3), plain.step(3)
    assert bits(run) == bits(plain)
