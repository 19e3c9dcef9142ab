"""`run.find`: the step that it names is the one that a walk over the record by hand finds, and nothing moves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.run import history
from scalarviz.run.conditions.find import in_losses

X = np.random.default_rng(0).random((32, 3))
ENGINES = ["objects", "numpy", "numba"]


def make(engine="numpy", lr=0.05, batch_size=8):
    net = nn.Sequential(nn.Linear(3, 4, seed=1), nn.ReLU(), nn.Linear(4, 3, seed=2), nn.Sigmoid())
    optimizer = optim.Adam(net.parameters(), lr=lr)
    return Run(net, nn.MSELoss(), optimizer, (X, 1 - X), batch_size=batch_size, engine=engine)


def w(frame):
    return frame.values[:12].reshape(4, 3).astype(np.float64)


# of a frame, and of that of the step before
CONDITIONS = {
    "0.weight[1][0] < -0.9": lambda f, b: w(f)[1, 0] < -0.9 and not w(b)[1, 0] < -0.9,
    "grad > 0.02": lambda f, b: np.abs(f.gradient).max() > 0.02 and not (b.step and np.abs(b.gradient).max() > 0.02),
    "0.weight > 0.9": lambda f, b: ((w(f) > 0.9) & ~(w(b) > 0.9)).any(),
    "0.weight[1][1] crosses 1.2": lambda f, b: (w(b)[1, 1] < 1.2 <= w(f)[1, 1]) or (w(b)[1, 1] > 1.2 >= w(f)[1, 1]),
    "loss < 0.07": lambda f, b: f.loss < 0.07 and not b.loss < 0.07,
    "loss > 1.5 * before(loss)": lambda f, b: f.loss > 1.5 * b.loss,
    "max(loss) < 0.07": lambda f, b: f.loss < 0.07 and not b.loss < 0.07,
    "lr < 0.04": lambda f, b: f.lr < 0.04 <= b.lr,
    "dead(1)": lambda f, b: (f.dead["1"] & ~b.dead["1"]).any(),
    "loss < -1": lambda f, b: False,
    "0.weight[0][0] == 99": lambda f, b: False,
}


def by_hand(run, text, before):
    """The last step at which it became true, by standing at every step of the branch."""
    here, (first, _) = run.steps, run.span
    frames = {}
    for step in range(first, before):
        run.to(step)
        frames[step] = run.frame()
    run.to(here)
    found = [s for s in range(first + 1, before) if CONDITIONS[text](frames[s], frames[s - 1])]
    return found[-1] if found else None


def everything(run):
    frame, state = run.frame(), run.state()
    arrays = [frame.values, frame.gradient, frame.update, frame.curve.loss, frame.curve.step, *run.problem.state]
    past = frame.past
    told = frame.step, frame.loss, frame.lr, frame.edited, past.newest, len(past.branches), past.undo, past.redo
    return [a.tobytes() for a in arrays], told, state.step, [str(a) for a in run.log], run.span


def lived(engine="numpy", steps=60):
    run = make(engine)
    run.step(steps // 3)
    run.lr = 0.03
    run.set_weights(4, [1.3])
    run.step(steps // 3)
    run.set_weights(3, [-0.5])
    run.step(steps - 2 * (steps // 3))
    return run


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("text", CONDITIONS)
def test_it_is_the_step_that_a_walk_finds(engine, text):
    run = lived(engine, 15 if engine == "objects" else 60)
    before = everything(run)
    assert run.find(text) == by_hand(run, text, run.steps)
    assert everything(run) == before


@settings(max_examples=15, deadline=None)
@given(st.sampled_from([*CONDITIONS]), st.integers(0, 61), st.integers(0, 60))
def test_before_any_step_from_anywhere(text, before, stand):
    run = lived()
    run.to(stand)
    was = everything(run)
    assert run.find(text, before) == by_hand(run, text, before)
    assert everything(run) == was


def test_again_from_where_it_was_found_is_the_time_before():
    """All the times, found backwards, are those at which a second run stops on its way."""
    text = "sign(grad(0.weight[1][2])) changes"
    run = lived("numba", 150)
    found, before = [], 151
    while (step := run.find(text, before)) is not None:
        found.append(step)
        run.to(step)
        before = None
    other, stops = make("numba"), []
    other.break_on(text)
    for target in (50, 100, 150):
        while other.steps < target:
            other.step(target - other.steps)
            stops += [other.steps] * (other.stopped_by is not None)
        if target == 50:
            other.lr = 0.03
            other.set_weights(4, [1.3])
        elif target == 100:
            other.set_weights(3, [-0.5])
    assert stops == found[::-1]
    assert len(stops) > 20


def test_an_edit_that_makes_it_true_is_found_though_it_stops_nothing():
    run = make()
    run.step(10)
    run.set_weights(0, [99.0])
    run.break_on("0.weight[0][0] > 50")
    run.step(10)
    assert run.stopped_by is None
    assert run.find("0.weight[0][0] > 50") == 10


def test_on_a_branch():
    run = make()
    run.step(30)
    run.to(10)
    run.set_weights(0, [9.0])
    run.step(5)
    assert run.find("0.weight[0][0] > 8") == 10
    assert run.find("loss > 0.05 and step == 3") == 3
    run.switch(0)
    assert run.find("0.weight[0][0] > 8") is None


def test_across_a_change_of_the_model():
    run = make()
    run.step(20)
    former = run.find("0.weight[1][0] > -9 and step > 5")
    run.break_on("2.weight[0][0] > 50")
    more = nn.Sequential(
        nn.Linear(3, 4, seed=1), nn.ReLU(), nn.Linear(4, 4, seed=3), nn.Tanh(), nn.Linear(4, 3, seed=2)
    )
    run.change(model=more)
    run.step(20)
    assert run.find("4.weight[0][0] > -9") is None  # it was true when it came
    assert run.find("4.weight[0][0] > -9 and step > 25") == 26
    assert run.find("0.weight[1][0] > -9 and step > 5 and step < 15") == former == 6
    assert run.breakpoints[0].enabled
    assert run.steps == 40


def test_a_breakpoint_on_a_weight_that_is_no_more():
    run = make()
    run.step(5)
    point = run.break_on("2.bias[0] > -9 and step == 8")
    run.change(model=nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid()))
    run.step(10)
    assert (run.steps, point.enabled, point.hits) == (15, False, 0)
    assert "there is no '2.bias'" in repr(point)
    run.undo()
    run.step(10)
    assert (run.steps, point.enabled, point.hits) == (8, True, 1)


def test_a_history_that_is_thinned_is_computed_again(monkeypatch):
    monkeypatch.setattr(history, "LIMIT", 64)
    run, whole = make(), make()
    run.step(100)
    assert len(run.history) < 100
    monkeypatch.setattr(history, "LIMIT", 10**6)
    whole.step(100)
    for text in ("loss < 0.07", "loss > 1.5 * before(loss)", "step == 41"):
        assert run.find(text) == whole.find(text) is not None


def test_losses_are_looked_up(monkeypatch):
    run = make("numba")
    run.step(3000)
    calls = []
    monkeypatch.setattr(run._training, "replay", lambda *args: calls.append(args))
    assert run.find("loss < 0.05 and step < 2000") is not None
    assert calls == []
    known, _ = in_losses(run.break_on("loss < 1").condition, run.history, 0, 3001)
    assert known


def test_it_can_be_given_up():
    run = lived("numpy", 400)
    before = everything(run)
    told = []

    def progress(done):
        told.append(done)
        return len(told) < 3

    assert run.find("0.weight[0][0] == 99", progress=progress) is None
    assert everything(run) == before
    assert len(told) == 3
    assert sorted(told) == told
    told.clear()
    assert run.find("0.weight[0][0] == 99", progress=told.append) is None
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert 0 < told[0] <= 1


def test_a_progress_that_raises_moves_nothing():
    run = lived("numpy", 400)
    before = everything(run)

    def progress(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.find("0.weight[0][0] == 99", progress=progress)
    assert everything(run) == before


def test_before_anything_was_done():
    run = make()
    for text in ("loss < 1", "0.weight[0][0] > -9", "nan"):
        assert run.find(text) is None
        assert run.find(text, 0) is None
        assert run.find(text, 1) is None
    run.step()
    assert run.find("loss < 1") is None
    assert run.find("loss < 1", 2) == 1
    assert run.find("grad > 0", 2) == 1


@pytest.mark.parametrize("before", [-1, 12, 1.5, "1", True, 10**30])
def test_a_step_that_there_is_not(before):
    run = make()
    run.step(10)
    with pytest.raises(sv.ScalarvizError):
        run.find("nan", before)


@pytest.mark.parametrize("progress", [3, "x", [1]])
def test_a_progress_that_is_no_function(progress):
    run = make()
    run.step(3)
    with pytest.raises(sv.ScalarvizError, match="find: progress"):
        run.find("nan", progress=progress)
