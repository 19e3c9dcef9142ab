"""Going back, branches, undo, restarts and names, step by step; `test_run_walks` has the laws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from kit.edits import done_again, everything
from kit.runs import ENGINES, make_run
from scalarviz import nn
from scalarviz.errors import DivergedError, InputError, StateError
from scalarviz.run import Run
from scalarviz.run.state import optimizer_state
from scalarviz.run.travel import span

edits = sv.run.edits
X = np.random.default_rng(0).random((24, 3))


def make(engine: str = "numpy", optimizer: str = "adam", **more: Any) -> Run:
    return make_run("mlp", optimizer=optimizer, engine=engine, **more)


def ends(branch: Any) -> tuple[Any, ...]:
    return branch.first, branch.newest, branch.parent, branch.current


def test_an_edit_in_the_past_begins_a_branch_and_the_old_future_stays():
    run = make()
    run.step(5)
    run.lr = 0.5
    run.model[0].bias[0].data = 2.0
    run.step(5)
    end, log = everything(run), run.log
    run.back(8)
    assert (run.steps, run.lr, run.log) == (2, 0.02, [])
    assert run.frame().past.curve.step.tolist() == list(range(1, 11))
    run.step(3)
    assert (run.lr, run.log) == (0.5, log)  # one stands after all edits of a step
    assert [run.to(step) and run.frame().past.undo for step in (10, 2, 7)] == ["0.bias[0] = 2", "", "0.bias[0] = 2"]
    run.to(4)
    before = everything(run)
    run.lr = 0.1
    edited = everything(run)
    run.step(3)
    old, new = run.branches
    assert (ends(old), ends(new), new.why) == ((0, 10, None, False), (4, 7, 0, True), "lr = 0.1")
    assert new.curve.step.tolist() == [5, 6, 7]
    assert run.history.step.tolist() == list(range(1, 8))
    assert (span(run), [len(line.step) for line in run.history.lines]) == ((0, 7), [10, 7])
    run.undo()  # it has the future that the edit left
    assert (everything(run), span(run), len(run.branches)) == (before, (0, 10), 2)
    run.redo()
    assert span(run) == (0, 7)
    run.to(4)
    assert everything(run) == edited
    run.undo()
    run.step(6)  # the record is followed
    assert (everything(run), len(run.branches)) == (end, 2)
    run.to(6, new)
    assert (run.steps, run.lr) == (6, 0.1)
    run.switch(old)
    assert everything(run) == end


def test_undo_goes_before_the_last_edits_one_by_one_and_redo_returns():
    run, moments = make(), []
    for k in range(4):
        run.step(2)
        moments.append(everything(run))
        run.lr = 0.1 * (k + 1)
    run.step(20)
    moments.append(everything(run))
    for k in (3, 2, 1, 0):
        assert run.undo() == f"lr = {0.1 * (k + 1):.6g}"
        assert everything(run) == moments[k]
    run.step(1)  # new steps, without the edit
    assert run.lr == 0.02
    for k in range(4):
        assert run.redo() == f"lr = {0.1 * (k + 1):.6g}"
    assert (everything(run), len(run.branches)) == (moments[4], 2)
    run.undo()
    run.to(span(run)[1], 0)
    run.redo()
    assert run.frame().past.redo == ""  # one stood there already
    run.undo()
    run.lr = 0.3
    with pytest.raises(StateError, match="redo"):
        run.redo()


def test_edits_of_one_gesture_are_one_until_somebody_keeps_a_state_between_them():
    run = make()
    for number in (0.1, 0.2, 0.3):
        run.do(edits.SetWeights(4, [number]), gesture="drag")
    run.do(edits.SetWeights(5, [1.0]), gesture="drag")  # another weight
    run.step()
    run.do(edits.SetWeights(5, [2.0]), gesture="drag")  # another step
    assert [(done.step, done.edit.numbers[0]) for done in run.log] == [(0, 0.3), (0, 1.0), (1, 2.0)]
    for number in np.linspace(0, 1, 240):
        run.model[0].weight[0][0].data = number
    assert len(run.log) == 4
    run.do(edits.SetWeights(2, [0.25]), gesture="hand")
    moment, then = run.state(), everything(run)
    run.do(edits.SetWeights(2, [0.75]), gesture="hand")
    run.do(edits.SetWeights(2, [0.5]), gesture="hand")
    later = everything(run)
    assert [done.edit.numbers[0] for done in run.log[4:]] == [0.25, 0.5]
    run.take(moment)
    assert everything(run) == then == everything(done_again(run, make()))
    run.undo()
    assert everything(run) == later


@pytest.mark.parametrize("write", [
    lambda run: run.values.__setitem__(24, 0.5), lambda run: run.model[2].weight.data.__setitem__((2, 1), 0.5),
])  # fmt: skip
def test_a_write_through_a_view_is_an_edit_of_the_moment_at_which_it_is_found(write):
    untouched, run = everything(make()), make()
    write(run)  # before anything else
    written = everything(run)
    run.step(3)
    run.to(0)
    assert everything(run) == written
    run.undo()
    assert everything(run) == untouched
    state = run.state()
    write(run)
    run.take(state)  # where it was found
    run.undo()
    assert (0.5 in run.values, len(run.log)) == (True, 1)
    run = make()
    assert run.values[0] != 0.5  # a view was lent
    run.model[0].weight[0][0].data = 0.5
    run.model[2].bias.frozen = True
    run.step(1)
    assert len(run.log) == 2


def test_undo_of_a_loaded_file(tmp_path):
    run = make()
    run.step(7)
    run.save(tmp_path / "w.safetensors")
    run.step(4)
    before = everything(run)
    run.load(tmp_path / "w.safetensors")
    assert (span(run), len(run.history), np.isnan(run.loss)) == ((7, 7), 0, True)
    run.step(3)
    assert (span(run), run.history.step.tolist()) == ((7, 10), [8, 9, 10])
    with pytest.raises(InputError, match="7 to 10"):
        run.to(3)
    run.to(7)
    assert run.undo() == "loaded step 7"
    assert everything(run) == before
    run.redo()
    assert span(run) == (7, 10)
    run.restart(seed=4)  # its optimiser counts from one
    assert (run.steps, run.frame().computed.any()) == (7, False)
    plain = make(weights=4)
    for each in (run, plain):
        each.change(batch_size=24)  # the order of samples is that of the step
        each.step(5)
    assert run.values.tobytes() == plain.values.tobytes()


def test_a_way_that_is_given_up_or_interrupted_leaves_the_run_where_it_was():
    run = make("objects", samples=8, batch_size=2)
    run.step(30)
    here, told = everything(run), []
    run._training.call_seconds = 1e-9

    def stop(done: float) -> bool:
        told.append(done)
        for refused in (run.step, run.undo, run.restart, lambda: run.set_weights(0, [5.0]), lambda: run.to(2)):
            with pytest.raises(StateError, match="is going to step 20"):
                refused()
        return run.values is not None and len(told) < 3  # numbers are lent on the way

    def fail(done: float) -> None:
        raise KeyboardInterrupt

    assert run.to(20, progress=stop) is False
    assert 0 < told[0] < told[1] < told[2] < 1
    with pytest.raises(KeyboardInterrupt):
        run.to(20, progress=fail)
    assert (everything(run), run.log) == (here, [])
    assert run.to(20) is True
    assert run.to(30)
    assert everything(run) == here


def test_a_diverged_run_goes_back_to_before_and_to_the_bad_step_again():
    run = make(optimizer="sgd_momentum", dtype="float32")
    run.step(10)
    run.lr = 1e300
    with pytest.raises(DivergedError) as told:
        run.step(50)
    bad, at = run.steps, everything(run)
    assert str(bad) in str(told.value)
    run.to(bad - 1)
    assert np.isfinite(run.values).all()
    run.to(bad)
    assert everything(run) == at
    run.undo()
    run.step(5)
    assert run.steps == 15
    assert np.isfinite(run.loss)


def test_names_of_moments_belong_to_the_line():
    def flags() -> list[tuple[int, str]]:
        return [(flag.step, flag.name) for flag in run.frame().past.flags]

    run = make()
    run.step(10)
    run.name("early", 3)
    run.name("late", 9)
    run.to(5)
    run.lr = 0.1
    run.step(1)
    assert flags() == [(3, "early")]
    run.name("", 3)
    run.switch(0)
    assert flags() == [(9, "late")]


# ---- restarts


def as_now(run: Run) -> None:
    """Another rate, batch, data, and frozen weights."""
    run.change(lr=0.3, batch_size=4)
    run.refill(np.full((30, 3), 0.25), np.full((30, 3), 0.75))
    run.model[2].bias.frozen = True


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", [None, 11])
def test_a_restart_is_a_run_of_such_weights_with_the_rate_batch_data_and_freezes_of_now(engine, seed):
    run = make(engine)
    run.step(5)
    as_now(run)
    run.step(5)
    end = everything(run)
    run.restart(seed)
    assert (run.steps, run.lr, run.batch_size, len(run.samples()[0]), run.model[2].bias.frozen) == (0, 0.3, 4, 30, True)
    assert np.isnan(run.loss)
    assert not any(array.any() for array in optimizer_state(run).values())
    begun, other = everything(run), make(engine, weights=1 if seed is None else seed)
    as_now(other)
    for each in (run, other):
        each.step(6)
    assert run.values.tobytes() == other.values.tobytes()
    assert run.history.loss.tobytes() == other.history.loss.tobytes()
    run.to(0)
    run.model[0].bias[0].data = 2.0
    run.step(3)
    run.undo()
    assert everything(run) == begun
    assert run.undo() == ("restart" if seed is None else "restart with seed 11")
    assert everything(run) == end


# ---- ends


@pytest.mark.parametrize("end", [
    lambda run: run.close(), lambda run: Run(run.model, nn.MSELoss(), run.optimizer, run.samples()),
])  # fmt: skip
def test_a_closed_or_taken_over_run_refuses_to_go(end):
    run = make()
    run.step(20)
    run.lr = 0.1
    run.back(5)
    run.lr = 0.2
    end(run)
    assert (run.timeline.nbytes, run.frame().past) == (0, None)
    assert [done.what for done in run.log] == ["lr = 0.2"]
    for call in (run.back, run.undo, run.redo, run.restart, run.step, lambda: run.to(3), lambda: run.switch(0)):
        with pytest.raises(StateError):
            call()


def test_a_branch_that_made_room_is_refused_in_words():
    run = make()
    assert run.timeline.remark == ""
    run.timeline.budget = 1000
    for k in range(5):
        run.step(3)
        run.to(1)
        run.lr = 0.1 + 0.01 * k
    with pytest.raises(InputError, match=r"no branch 0.*budget"):
        run.switch(0)
    assert "above the budget" in run.timeline.remark
    run.to(0)
    run.to(span(run)[1])


def test_a_state_shares_no_array_with_the_run_and_is_of_it_alone():
    run = make(samples=2000)
    run.step(2)
    state, then, inputs = run.state(), everything(run), run.samples()[0].nbytes
    run.step(5)
    run.set_targets(np.ones((2000, 3)))
    assert state.step == 2
    assert state.nbytes < inputs  # its data is not copied
    run.take(state)
    assert everything(run) == then
