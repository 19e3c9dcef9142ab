"""Several edits as one: one line of the log, one undo, all or nothing; and restart after the model was changed."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError, StateError, TypeMismatchError
from scalarviz.run.edits import (
    Call,
    Change,
    Refill,
    SetBatchSize,
    SetFrozen,
    SetOptimizer,
    SetWeights,
    Several,
    read_edit,
    write_edit,
)

X = np.random.default_rng(0).normal(size=(24, 2))
Y = np.tanh(X[:, :1] - X[:, 1:])


def network(hidden=3, seed=1):
    net = nn.Sequential(nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, 1))
    net.initialize(nn.init.uniform(-1, 1), seed=seed)
    return net


def run_of(**named):
    net = network()
    return sv.Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.05), data=(X, Y), batch_size=6, seed=1,
                  engine="numpy", **named)  # fmt: skip


def parts():
    """A change of the model, data for it, a batch as large as it, frozen weights, another rate."""
    wide, flags = network(4), np.arange(8) % 2 == 0
    return (Change(model=wide), Refill(2 * X[:5], Y[:5]), SetBatchSize(5), SetFrozen(0, flags),
            SetOptimizer({"lr": 0.01}))  # fmt: skip


def test_they_do_what_each_alone_does_in_turn():
    one, other = run_of(), run_of()
    one.step(7)
    other.step(7)
    one.do(Several(parts(), "another task"))
    for edit in parts():
        other.do(edit)
    for run in (one, other):
        run.step(9)
    np.testing.assert_array_equal(one.values, other.values)
    assert [done.what for done in one.log] == ["another task"]
    assert len(other.log) == 5


def test_one_undo_takes_all_back_and_redo_does_all_again():
    run = run_of()
    run.step(7)
    before, plain = run.values.copy(), run.samples()[0]
    run.do(Several(parts()))
    run.step(9)
    after = run.values.copy()
    run.undo()
    assert (run.steps, run.batch_size, run.lr, run.n_weights) == (7, 6, 0.05, 13)
    np.testing.assert_array_equal(run.values, before)
    np.testing.assert_array_equal(run.samples()[0], plain)
    run.redo()
    run.to(16)
    np.testing.assert_array_equal(run.values, after)
    run.to(3)
    run.to(12)
    assert (run.batch_size, run.n_weights, len(run.samples()[0])) == (5, 17, 5)


@pytest.mark.parametrize(
    "edits",
    [
        (Refill(X[:9], Y[:9]), SetBatchSize(10)),
        (Change(model=network(4)), SetFrozen(0, np.ones(99, bool))),
        (SetWeights(0, [1.0]), SetOptimizer({"lr": 0.2}), Refill(np.ones((3, 3)), np.ones((3, 1)))),
    ],
    ids=["batch", "weights", "shapes"],
)
def test_all_or_nothing(edits):
    run, twin = run_of(), run_of()
    for one in (run, twin):
        one.step(5)
    with pytest.raises(InputError):
        run.do(Several(edits))
    assert run.log == []
    assert run.batch_size == 6
    for one in (run, twin):
        one.step(20)
    np.testing.assert_array_equal(run.values, twin.values)
    mine, its = run.optimizer_state(), twin.optimizer_state()
    assert mine
    assert all(np.array_equal(mine[name], its[name]) for name in its)


def test_a_gesture_of_the_same_parts_is_one_edit():
    run = run_of()
    for rate in (0.1, 0.2, 0.3):
        run.do(Several((Refill(X * rate, Y), SetOptimizer({"lr": rate}))), gesture="drag")
    assert len(run.log) == 1
    assert run.lr == 0.3
    run.do(Several((SetOptimizer({"lr": rate}),)), gesture="drag")
    assert len(run.log) == 2


def test_they_are_written_and_read():
    edit = Several((SetWeights(2, np.float32([0.1])), SetBatchSize(3)), "both")
    assert read_edit(write_edit(edit)) == edit
    assert str(edit) == "both"
    assert "batch size = 3" in str(Several(edit.edits))


@pytest.mark.parametrize(
    ("given", "kind", "says"),
    [
        ((), InputError, "at least one"),
        ((Change(activation="relu"), Change(loss="L1Loss")), InputError, "at most one Change"),
        ((Call(print),), InputError, "a function cannot be a part"),
        ((Several((SetBatchSize(1),)),), InputError, "nor another Several"),
        (SetBatchSize(1), TypeMismatchError, "a row of edits"),
        ("edits", TypeMismatchError, "a row of edits"),
        ((SetBatchSize(1), 3), TypeMismatchError, "a row of edits"),
    ],
)
def test_what_cannot_be_several(given, kind, says):
    with pytest.raises(kind, match=says):
        Several(given)


def test_a_restart_after_layers_were_changed_begins_like_a_run_of_those_layers():
    run = run_of()
    run.step(11)
    run.do(Change(model=network(5)))
    run.step(11)
    run.restart()
    fresh = network(5)
    assert run.steps == 0
    np.testing.assert_array_equal(run.values[:10], fresh[0].weight.data.ravel().astype(np.float32))
    made = sv.Run(fresh, nn.MSELoss(), optim.Adam(fresh.parameters(), lr=0.05), data=(X, Y), batch_size=6, seed=1,
                  engine="numpy")  # fmt: skip
    for one in (run, made):
        one.step(30)
    np.testing.assert_array_equal(run.values, made.values)
    run.undo()
    assert run.steps == 22


def test_a_restart_keeps_the_first_numbers_of_layers_that_were_there():
    run = run_of()
    first = run.values[:9].copy()
    run.step(4)
    layers = list(run.model)
    last = nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 1))
    last.initialize(nn.init.uniform(-1, 1), seed=8)
    run.do(Change(model=nn.Sequential(layers[0], nn.Tanh(), *last)))
    run.restart()
    np.testing.assert_array_equal(run.values[:9], first)


def test_a_restart_with_new_weights_made_by_hand_names_them():
    run = run_of()
    run.step(3)
    own = sv.Weight(0.5, name="own")
    run.do(Change(model=lambda row: [own * row[0]], optimizer=optim.SGD([own], lr=0.1)))
    with pytest.raises(StateError, match=r"13 weights and has 1 since its model was changed.*made by hand"):
        run.restart()
    assert run.steps == 3
