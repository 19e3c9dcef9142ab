"""What is kept of the lines of a run: keyframes, newest moments, branches that made room, histories.

It looks into `run.timeline`, which promises nothing: which moments are kept is seen by speed and memory alone.
"""

from __future__ import annotations

import numpy as np
import pytest
from test_run_walks import Walk

from kit.edits import EDITS, MOVES
from kit.runs import bits, make_run
from scalarviz.run import Run
from scalarviz.run.travel import span


def ran(steps: int) -> Run:
    run = make_run("mlp")
    run.step(steps)
    return run


@pytest.mark.parametrize("seed", range(2))
def test_what_is_prepared_beside_the_run_is_what_the_run_comes_to(seed, monkeypatch):
    as_of_a_large_network = property(lambda _: 0.01, lambda *_: None)
    monkeypatch.setattr("scalarviz.run.core.training.Training.seconds_a_step", as_of_a_large_network, raising=False)
    walk = Walk(make_run("mlp"), seed)

    def prepare() -> None:
        now = bits(walk.run)
        for _ in range(300):
            if not walk.run.timeline.prepare():
                break
        assert bits(walk.run) == now

    walk.go(10, EDITS, {**MOVES, "prepare": lambda run, random: prepare()})
    run = walk.run
    run.to(span(run)[1])
    run.timeline._keep(run.timeline.line, len(run.log))  # no edit lies between it and the end
    run.step(30)
    prepare()
    prepared = [(key, line) for line in run.timeline.lines for key in line.keys if key.fine]
    assert len(prepared) >= 4
    for key, line in prepared:
        if key.edits != line.count_edits(key.step):  # it was kept before the edits of its step
            continue
        assert line.has(key.step, key.edits)
        run.timeline.to(key.step, line.number)
        own, kept = run.state(), key.state
        assert (own.step, own.loss, own.lr) == (kept.step, kept.loss, kept.lr)
        for name in ("values", "frozen", "computed", "edited"):
            assert np.array_equal(getattr(own, name), getattr(kept, name)), name
        assert own.setup == kept.setup
        for name, array in own.gathered.items():
            assert array.tobytes() == kept.gathered[name].tobytes()


def test_what_is_left_of_a_branch_that_made_room_begins_where_it_began():
    run = make_run("mlp")
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


def test_a_thinned_curve_ends_at_the_step_of_its_frame(monkeypatch):
    run, other = make_run("mlp"), ran(100)
    monkeypatch.setattr("scalarviz.run.core.history.LIMIT", 20)
    run.step(100)
    assert len(run.history) <= 20
    for step in (99, 50, 37, 2, 1):
        run.to(step)
        curve = run.frame().curve
        assert (curve.step[-1], curve.loss[-1]) == (step, other.history.loss[step - 1])
        assert (np.diff(curve.step) > 0).all()
    run.to(0)
    assert len(run.frame().curve.step) == 0


def test_the_newest_moment_of_the_branch_of_now_never_makes_room():
    run = make_run()
    run.step(10)
    run.to(4)
    run.timeline.budget = 0
    assert run.timeline.line.tip is not None
