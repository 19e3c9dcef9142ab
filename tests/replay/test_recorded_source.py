"""A recording as a source: it stands at recorded steps only, with the numbers of the run, and does nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.errors import InputError, StateError
from scalarviz.run.edits import SetWeights
from scalarviz.run.past import Past
from scalarviz.run.recorded_source import RecordedSource
from scalarviz.run.source import Can

X = np.random.default_rng(0).random((16, 3))
ALL = {"gradients": True, "updates": True, "activations": True}


def run():
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    return Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (X, 1 - X), engine="numpy")


@pytest.fixture
def recorded(tmp_path):
    """``recorded(every, steps, **what is kept)``: a run that was recorded, and its recording as a source."""
    files = []

    def made(every=1, steps=20, then=lambda run: None, **kept):
        done = run()
        path = tmp_path / f"{len(files)}.svz"
        with sv.Recording(done, every=every, path=path, **(kept or ALL)):
            done.step(steps)
            then(done)
        files.append(sv.load_recording(path))
        return done, RecordedSource(files[-1])

    yield made
    for file in files:
        file.close()


def branch(done):
    """Back to the fourth step, where a weight is set, and eight more."""
    done.to(4)
    done.do(SetWeights(0, np.array([2.0])))
    done.step(8)


def test_every_frame_has_the_numbers_of_the_run_at_that_step(recorded):
    made, source = recorded(every=5)
    for step in (0, 5, 20, 10):
        source.to(step)
        made.to(step)
        got, wanted = source.frame(), made.frame(X[0])
        assert got.step == step
        for part in ("values", "gradient", "update", "computed", "frozen"):
            np.testing.assert_array_equal(getattr(got, part), getattr(wanted, part))
        np.testing.assert_array_equal(got.loss, wanted.loss)
        assert got.activations.keys() == wanted.activations.keys()
    made.close()


def test_the_curve_ends_at_the_step_shown_and_the_past_at_the_newest(recorded):
    made, source = recorded()
    source.to(7)
    frame = source.frame()
    assert frame.curve.step.tolist() == list(range(1, 8))
    np.testing.assert_array_equal(frame.curve.loss, made.history.loss[:7])
    assert (frame.past.first, frame.past.newest) == source.span == (0, 20)
    assert frame.past.curve.step.tolist() == list(range(1, 21))


def test_what_cannot_be_done_is_refused_before_and_after_it_is_asked(recorded):
    _, source = recorded()
    assert source.can == Can(go=True)
    for asked in (
        lambda: source.predict(X),
        source.train,
        lambda: source.edit(SetWeights(0, np.zeros(1))),
        lambda: source.ask(lambda run: None),
        lambda: source.tell(loss=1.0),
    ):
        with pytest.raises(StateError, match="the recording"):
            asked()


@pytest.mark.parametrize(
    ("step", "words"),
    [(3, "recorded are 0 and 5, of 5 from 0 to 20"), (19, "recorded are 15 and 20"), (21, "recorded are 0 to 20"),
     (-1, "recorded are 0 to 20")],
)  # fmt: skip
def test_a_step_that_was_not_recorded_names_its_neighbours(step, words, recorded):
    _, source = recorded(every=5)
    source.to(10)
    with pytest.raises(InputError, match=words):
        source.to(step)
    assert source.frame().step == 10


def test_quantities_that_were_not_recorded_say_so(recorded):
    _, source = recorded(updates=True)
    assert "gradients=True" in source.lacks("gradient") == source.lacks("|gradient|")
    assert source.lacks("update") == source.lacks("update/value") == source.lacks("weight") == ""
    assert not source.frame().computed.any()


def test_a_branch_has_the_steps_that_it_shares_and_its_own(recorded):
    made, source = recorded(steps=10, then=branch)
    assert source.span == (0, 12)
    assert source.steps.tolist() == list(range(13))
    frames = {}
    for step in range(13):
        source.to(step)
        frames[step] = source.frame()
        made.to(step)
        np.testing.assert_array_equal(frames[step].values, made.frame().values)
    assert [(e.step, e.what) for e in frames[12].past.edits] == [(4, "0.weight[0][0] = 2")]
    assert [b.number for b in frames[12].past.branches if b.current] == [1]
    assert (source.edits, frames[4].values[0]) == (1, 2.0)
    source.switch(0)
    assert (source.span, source.frame().step, source.edits) == ((0, 10), 10, 0)
    source.to(4)
    assert source.frame().values[0] != 2.0
    made.close()


def test_how_a_weight_moved_is_read_from_the_frames(recorded):
    made, source = recorded(every=5)
    record = source.weight_record(3)
    assert record.steps.tolist() == [0, 5, 10, 15, 20]
    wanted = [(made.to(step), made.frame().values[3])[1] for step in record.steps.tolist()]
    np.testing.assert_array_equal(record.values, wanted)
    made.close()


@pytest.mark.parametrize(
    ("every", "words"), [(1, ""), (5, "recorded every 5 steps"), (7, "recorded every 7 steps")]
)  # fmt: skip
def test_which_steps_there_are_is_said(every, words, recorded):
    assert recorded(every=every)[1].spread == words


def test_a_place_between_two_recorded_steps_belongs_to_the_nearest_and_lies_beside_both():
    past = Past(0, 20, steps=np.array([0, 4, 10, 20]))
    assert [past.nearest(step) for step in (-3, 0, 1, 6, 8, 14, 16, 99)] == [0, 0, 0, 4, 10, 10, 20, 20]
    assert [past.beside(4, by) for by in (-2, -1, 1, 2, 3)] == [-1, 0, 10, 20, 21]
    assert (past.beside(7, 1), past.beside(7, -1)) == (10, 4)
    every = Past(0, 20)
    assert (every.nearest(7), every.beside(7, 5), every.beside(7, -9)) == (7, 12, -2)


def test_where_a_weight_last_changed_its_sign(recorded):
    made, source = recorded(every=2, steps=60)
    values = {step: (made.to(step), made.frame().values.copy())[1] for step in source.steps.tolist()}
    for index in range(12):
        source.to(60)
        signs = [np.sign(values[step][index]) for step in source.steps.tolist()]
        changes = [k for k in range(1, len(signs)) if signs[k] != signs[k - 1]]
        assert source.last_sign_change(index) == (int(source.steps[changes[-1]]) if changes else None)
    made.close()


def test_the_batch_that_is_told_is_that_of_the_frame(recorded):
    def smaller(done):
        done.batch_size = 4
        done.step(5)

    _, source = recorded(steps=5, then=smaller)
    for step, batch in ((0, 16), (4, 16), (6, 4), (10, 4)):
        source.to(step)
        assert source.facts.batch_size == batch
        assert source.facts.whole is (batch == 16)
        assert source.frame().settings.batch_size == batch
