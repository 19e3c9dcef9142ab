"""What is kept of the lines of a run: which keyframes, which moments, which lines, and where each belongs."""

from __future__ import annotations

import numpy as np
import pytest
from test_timeline import bits, make, wander

from scalarviz.errors import InputError, StateError
from scalarviz.run.run_traveller import RunTraveller
from scalarviz.run.timeline.line import OVERHEAD


def test_the_middle_of_another_branch_is_reached_from_a_step_before_it():
    run = make("numpy")
    run.step(9)
    there = bits(run)
    run.step(3)
    run.to(4)
    run.model[0].bias[0].data = 2.0
    run.step(3)
    run.timeline.keyframes.drop(run.timeline.line.parent, lambda key: not key.whole)
    run.timeline.keyframes.drop(run.timeline.line, lambda key: True)
    assert run.to(9, 0)  # not by the steps of the branch where it stands
    assert bits(run) == there


def test_numbers_that_are_lent_on_a_way_that_is_given_up_are_no_edit():
    run = make("numpy")
    run.step(40)
    run.timeline.keyframes.drop(run.timeline.line, lambda key: not key.whole)
    run.call_seconds = 1e-9
    here = bits(run)
    assert run.to(20, progress=lambda done: run.values is None) is False
    assert run.log == []
    assert bits(run) == here


def test_the_newest_moment_is_held_while_the_run_stands_elsewhere_alone():
    run = make("numpy")
    run.step(20)
    line = run.timeline.line
    assert run.to(10, progress=lambda done: False) is False
    assert line.tip is None
    run.to(10)
    assert line.tip is not None
    run.to(20)
    assert line.tip is None
    run.to(10)
    run.step(10)
    assert line.tip is None
    run.restart()
    assert line.tip is not None


@pytest.mark.parametrize("seed", range(3))
def test_every_keyframe_is_counted_and_of_the_line_that_its_place_belongs_to(seed, monkeypatch):
    monkeypatch.setattr("scalarviz.run.timeline.keyframes.FINE", 0.0)
    run = make("numpy", "sgd", "float64")
    run.timeline.keyframes.spacing = 0.0

    def check(run):
        now, timeline = bits(run), run.timeline
        kept = [key.nbytes for line in timeline.lines for key in line.keys]
        tips = [line.tip.nbytes + OVERHEAD for line in timeline.lines if line.tip is not None]
        rest = [line.rest for line in timeline.lines]
        assert timeline.line.rest == 0
        assert timeline.nbytes == sum(kept) + sum(tips) + sum(rest)
        assert timeline.behind or timeline.line.tip is None
        for line in timeline.lines:
            assert all(key.whole or line.has(key.step, key.edits) for key in line.keys)
        return now

    wander(run, seed, 120, check=check)
    timeline = run.timeline
    assert sum(len(line.keys) for line in timeline.lines) > 30


def test_what_was_redone_is_offered_no_more_where_one_stood_on_its_branch_already():
    run = make("numpy")
    run.step(5)
    run.lr = 0.1
    run.step(3)
    run.undo()
    run.to(6, 0)
    assert run.timeline.past().redo == "lr = 0.1"
    run.redo()
    assert run.steps == 8
    assert run.timeline.past().redo == ""


def test_near_the_newest_step_is_the_newest_itself():
    run = make("numpy")
    run.step(50)
    run.to(10)
    run._training._seconds_a_step = 0.01  # as of a large network
    run.timeline.keyframes.drop(run.timeline.line, lambda key: not key.whole)
    assert [run.timeline.near(step) for step in (50, 51, 30, 0)] == [50, 50, 0, 0]


def test_an_undo_that_fails_leaves_nothing_to_redo(monkeypatch):
    run = make("numpy")
    run.step(5)
    run.lr = 0.1
    run.step(3)
    run.timeline.keyframes.drop(run.timeline.line, lambda key: not key.whole)
    here = bits(run)
    monkeypatch.setattr(run._training, "replay", lambda most: (_ for _ in ()).throw(InputError("no more")))
    with pytest.raises(InputError, match="no more"):
        run.undo()
    monkeypatch.undo()
    assert bits(run) == here
    with pytest.raises(StateError, match="nothing was undone"):
        run.redo()


def test_the_name_of_the_moment_where_a_branch_begins_is_of_both():
    run = make("numpy")
    run.step(8)
    run.to(5)
    run.name("here")
    run.lr = 0.1
    run.step(1)
    assert [(flag.step, flag.name) for flag in run.frame().past.flags] == [(5, "here")]
    run.switch(0)
    assert [(flag.step, flag.name) for flag in run.frame().past.flags] == [(5, "here")]


def test_an_edit_after_a_view_was_lent_stands_once_in_the_log():
    run = make("numpy")
    run.step(2)
    assert run.values[0] != 0.5
    run.model[0].weight[0][0].data = 0.5
    run.model[2].bias.frozen = True
    assert [done.what for done in run.log] == ["0.weight[0][0] = 0.5", "freeze 2.bias[0] and 2 more"]
    run.step(1)
    assert len(run.log) == 2


def test_the_history_has_the_lines_that_are_kept_and_no_others():
    run = make("numpy")
    run.step(5)
    run.lr = 0.1
    run.step(2)
    run.undo()
    run.switch(0)
    run.lr = 0.2  # nobody returns to the line without the edit
    run.step(1)
    assert len(run.timeline.lines) == len(run.history.lines) == 1


def test_a_line_on_which_nothing_happened_is_kept_while_one_may_return_to_it():
    run = make("numpy")
    run.step(5)
    run.lr = 0.1
    run.step(2)
    run.undo()
    there, line = bits(run), run.timeline.line
    run.restart()
    assert line in run.timeline.lines
    run.step(3)
    assert run.undo() == "restart"
    assert run.timeline.line is line
    assert bits(run) == there
    run.lr = 0.3
    run.step(1)
    run.undo()
    run.lr = 0.4
    assert len({each.number for each in run.timeline.lines}) == len(run.timeline.lines)


def test_what_is_left_of_a_branch_that_made_room_begins_where_it_began():
    run = make("numpy")
    begun = bits(run)
    run.step(5)
    run.to(0)
    run.name("start")
    run.lr = 0.1
    run.step(6)
    end, root = bits(run), run.timeline.line.parent
    run.timeline.budget = 0
    assert root.cut
    assert (root.newest, root.edits, len(root.history), root.tip) == (0, [], 0, None)
    run.to(3)
    run.to(0)
    assert run.lr == 0.1  # after the edit of the branch that is left
    run.to(6)
    assert bits(run) == end
    assert [flag.name for flag in run.frame().past.flags] == ["start"]
    run.undo()
    assert bits(run) == begun


def test_a_branch_that_made_room_keeps_what_the_last_of_those_that_left_it_needs():
    run = make("numpy")
    run.step(3)
    run.lr = 0.1
    run.step(12)
    run.lr = 0.15
    run.step(5)
    run.to(12)
    run.lr = 0.2
    run.step(2)
    run.switch(0)
    run.to(5)
    run.lr = 0.3
    run.step(1)
    root = run.timeline.lines[0]
    run.timeline._cut(root)
    assert (root.newest, [done.what for done in root.edits]) == (12, ["lr = 0.1"])
    assert root.history.step.tolist() == list(range(1, 13))
    run.switch(1)
    assert (run.steps, run.span, run.lr) == (14, (0, 14), 0.2)


def test_there_is_no_way_back_to_a_branch_that_made_room():
    run = make("numpy")
    run.step(5)
    run.lr = 0.1
    run.step(3)
    run.undo()
    run.timeline.budget = 0
    assert run.timeline.past().redo == ""
    with pytest.raises(StateError, match="nothing was undone"):
        run.redo()
    other = make("numpy")
    other.step(5)
    other.restart()
    other.timeline.budget = 0
    assert other.timeline.past().undo == ""
    with pytest.raises(StateError, match="nothing was changed"):
        other.undo()


def test_what_undo_would_take_back_depends_on_where_one_stands():
    run = make("numpy")
    run.step(5)
    run.lr = 0.1
    run.step(5)
    said = {}
    for step in (10, 2, 7):
        run.to(step)
        said[step] = run.timeline.past().undo
    assert said == {10: "lr = 0.1", 2: "", 7: "lr = 0.1"}


def test_the_newest_moment_of_the_branch_of_now_never_makes_room():
    run = make("numpy")
    run.step(10)
    run.to(4)
    run.timeline.budget = 0
    assert run.timeline.line.tip is not None


@pytest.mark.parametrize("seed", range(3))
def test_what_is_prepared_beside_the_run_is_what_the_run_comes_to(seed, monkeypatch):
    monkeypatch.setattr(RunTraveller, "seconds_a_step", 0.01)  # as of a large network
    run = make("numpy", "adam", "float64")

    def check(run):
        now = bits(run)
        for _ in range(300):
            if not run.timeline.prepare():
                break
        assert bits(run) == now
        return now

    wander(run, seed, 100, ("numpy",), check)
    run.to(run.span[1])
    run.timeline._keep()  # no edit lies between it and the end
    run.step(40)
    check(run)
    prepared = [(key, line) for line in run.timeline.lines for key in line.keys if key.fine]
    assert len(prepared) >= 5
    for key, line in prepared:
        if key.edits != line.done(key.step):  # it was kept before the edits of its step
            continue
        assert line.has(key.step, key.edits)
        run.timeline.to(key.step, line)
        own, kept = run.state().parts, key.kept.parts
        for part in ("step", "sampler"):
            assert own[part] == kept[part]
        for name in ("values", "frozen", "computed", "edited"):
            assert np.array_equal(getattr(own["weights"], name), getattr(kept["weights"], name)), name
        for name in ("numbers", "before"):
            assert own["optimizer"][name] == kept["optimizer"][name]
        for name, array in own["optimizer"]["arrays"].items():
            assert array.tobytes() == kept["optimizer"]["arrays"][name].tobytes()


def test_what_is_left_of_a_branch_goes_with_the_last_line_that_came_from_it():
    run = make("numpy")
    run.step(30)
    first = run.timeline.line
    run.to(10)
    run.lr = 0.1
    run.step(20)
    run.timeline.budget = 0
    assert [branch.number for branch in run.branches] == [1]  # the trunk is no branch
    assert first.cut
    assert first in run.timeline.lines
    run.restart()
    run.step(5)
    assert [branch.number for branch in run.branches] == [2]
    run.timeline.budget = 1  # nothing comes from the second one any more
    assert [line.number for line in run.timeline.lines] == [0, 2]  # the last one leaves the first where that begins
