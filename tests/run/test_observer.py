"""The observer changes nothing: a run that is questioned all the time beside one that nobody asks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scalarviz import Run, nn, optim

X = np.random.default_rng(0).random((24, 3))
OPTIMIZERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.1), "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
    "adam": lambda p: optim.Adam(p, lr=0.05),
}  # fmt: skip


def make(optimizer, engine):
    net = nn.Sequential(nn.Linear(3, 2, seed=1), nn.Tanh(), nn.Linear(2, 3, seed=2))
    data = X, 1 - X
    return Run(net, nn.MSELoss(), OPTIMIZERS[optimizer](net.parameters()), data, batch_size=7, seed=3, engine=engine)


def change(run, kind, a):
    """One thing that a user does; whether it worked must not depend on the questions either."""
    first, newest = run.span
    if kind == "step":
        run.step(1 + a % 9)
    elif kind == "set":
        run.set_weights(a % run.n_weights, [a / 50 - 1])
    elif kind == "write":
        np.asarray(run.values)[a % run.n_weights] = a / 50 - 1
    elif kind == "freeze":
        weight = run.model[0].weight[a % 2][a % 3]
        weight.frozen = not weight.frozen
    elif kind == "rate":
        run.change(lr=0.01 + a / 1000)
    elif kind == "batch":
        run.batch_size = 1 + a % 24
    elif kind == "refill":
        run.refill(X * (a / 100), X)
    elif kind == "to":
        run.to(first + a % (newest - first + 1))
    elif kind == "undo" and run.frame().past.undo:
        run.undo()
    elif kind == "redo" and run.frame().past.redo:
        run.redo()
    elif kind == "name":
        run.name(f"here {a}")
    elif kind == "switch":
        run.switch(run.branches[a % len(run.branches)])


def ask(run, a):
    """Every question there is."""
    first, newest = run.span
    opened = run.open()
    run.frame(state=True)
    opened.terms(a % run.n_weights)
    opened.micro_steps()
    opened.loss_along(a % run.n_weights, 5)
    run.open(sample=a % 24).new_values  # noqa: B018
    run.open(run.frame()).update(0)
    run.open(step=first + 1 + a % (newest - first + 1))
    run.why(a % run.n_weights)
    if newest > first:
        run.why(0, step=first + 1 + a % (newest - first))
    run.compare(first + a % (newest - first + 1), newest)


def seen(run):
    frame = run.frame()
    state = [array.tobytes() for array in run.problem.state]
    branches = [(b.first, b.newest, b.current, b.why, len(b.edits)) for b in run.branches]
    numbers = frame.values, frame.gradient, frame.update, frame.computed, frame.frozen, *frame.curve
    past = frame.past.undo, frame.past.redo, frame.past.flags, frame.past.newest
    told = frame.step, repr(frame.loss), frame.lr, frame.edited, run.span, [repr(edit) for edit in run.log]
    return past, told, branches, state, [np.asarray(n).tobytes() for n in numbers]


KINDS = [
    "step",
    "step",
    "step",
    "set",
    "write",
    "freeze",
    "rate",
    "batch",
    "refill",
    "to",
    "undo",
    "redo",
    "name",
    "switch",
]


@pytest.mark.parametrize("engine", ["numpy", "numba"])
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    optimizer=st.sampled_from(sorted(OPTIMIZERS)),
    actions=st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 99)), min_size=1, max_size=12),
)
def test_a_run_that_is_asked_is_the_run_that_is_not(engine, optimizer, actions, capsys):
    asked, alone = make(optimizer, engine), make(optimizer, engine)
    for kind, a in actions:
        for run in (asked, alone):
            change(run, kind, a)
        ask(asked, a)
        assert seen(asked) == seen(alone)
    for run in (asked, alone):
        run.step(5)
    assert seen(asked) == seen(alone)
    capsys.readouterr()


def test_questions_from_inside_of_training():
    """A callback, and the progress of a long call, may go back and look."""
    asked, alone = make("adam", "numba"), make("adam", "numba")
    found = []
    asked.on_step(lambda run: found.append(run.open(step=max(1, run.steps - 5))), every=10)
    asked.call_seconds = 0.001
    asked.step(100, progress=lambda run: found.append(run.compare(run.span[0], run.steps)) or True)
    alone.step(100)
    assert len(found) > 10
    assert asked.values.tobytes() == alone.values.tobytes()
    assert asked.history.loss.tobytes() == alone.history.loss.tobytes()
    assert [branch.newest for branch in asked.branches] == [100]


def test_curves_cannot_be_written_to():
    net = nn.Sequential(nn.Linear(3, 2, seed=1))
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (np.eye(3), np.eye(3)[:, :2]), engine="numpy")
    run.step(5)
    frame = run.frame()
    for curve in (frame.curve, frame.past.curve, run.history, run.branches[0].curve, run.history.lines[0]):
        for array in (curve.step, curve.loss, curve.lr):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 7
    run.step(5)
    assert run.history.step.tolist() == list(range(1, 11))
