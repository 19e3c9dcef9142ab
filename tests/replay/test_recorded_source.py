"""What a window asks of a recording and of two: they stand at recorded steps, with their numbers."""

import bisect
import functools

import numpy as np
import pytest

import scalarviz as sv
from kit.files import frame_parts, same
from kit.refusals import refusals
from scalarviz import nn
from scalarviz.errors import InputError, StateError
from scalarviz.run.frames import sample
from scalarviz.run.state import optimizer_state, restore

edits = sv.run.edits


def wider(hidden, seed=1):
    return nn.Sequential(nn.Linear(3, hidden, seed=seed), nn.Tanh(), nn.Linear(hidden, 3, seed=seed), nn.Sigmoid())


def branch(run):
    """Back to the fourth step, where a weight is set, and eight more."""
    run.to(4)
    run.set_weights(0, [2.0])
    run.step(8)


# ---- one


def test_it_stands_where_the_run_stood_on_every_branch(record, window):
    run, recording = record(steps=10, then=branch)
    source = window(recording, size=(160, 160)).source
    for number, span in ((1, (0, 12)), (0, (0, 10))):
        source.switch(number)
        run.switch(number)
        assert (source.span, source.frame().step) == (span, span[1])
        assert source.steps.tolist() == list(range(span[1] + 1))
        for step in (*range(span[1] + 1), 4):
            source.to(step)
            run.to(step)
            frame = source.frame()
            assert same(frame_parts(frame), frame_parts(run.frame(sample(run, 0)[0])))
            assert frame.curve.loss.tobytes() == run.frame().curve.loss.tobytes()
            assert (frame.past.first, frame.past.newest, len(frame.past.curve.step)) == (*span, span[1])
            assert (source.edits, frame.values[0] == 2.0) == (number and step >= 4, step == 4 and number == 1)
        assert [(e.step, e.what) for e in frame.past.edits] == [(4, "0.weight[0][0] = 2")] * number
        assert [b.number for b in frame.past.branches if b.current] == [number]


def test_what_is_not_there_is_said(source):
    every = source(every=5)
    assert (every.spread, source().spread) == ("recorded every 5 steps", "")
    every.to(10)
    for step, words in ((3, "the nearest are 0 and 5"), (19, "the nearest are 15 and 20"),
                        (21, "it has steps 0 to 20"), (-1, "it has steps 0 to 20")):  # fmt: skip
        with pytest.raises(InputError, match=words):
            every.to(step)
        assert every.frame().step == 10
    past = every.past
    assert [past.nearest(step) for step in (-3, 2, 3, 99)] == [0, 0, 5, 20]
    assert [past.neighbour(5, by) for by in (-2, -1, 1, 3, 4)] == [-1, 0, 10, 20, 21]
    assert (past.neighbour(7, 1), past.neighbour(7, -1)) == (10, 5)
    bare = source(kept={"updates": True})
    assert "gradients=True" in bare.lacks("gradient") == bare.lacks("|gradient|")
    assert bare.lacks("update") == bare.lacks("update/value") == bare.lacks("weight") == ""


# ---- two


def test_the_difference_is_b_less_a_each_at_its_last_step_that_is_not_after(record):
    for first, second in (((20, 1), (20, 1)), ((20, 5), (12, 4))):
        a = record(steps=first[0], every=first[1])[1]
        b = record(steps=second[0], every=second[1], weights=2)[1]
        pair = a.compare(b)
        assert pair.steps.tolist() == sorted({*a.steps.tolist(), *b.steps.tolist()})
        for step in pair.steps.tolist():
            pair.to(step)
            frame = pair.frame()
            ends = [bisect.bisect_right(one.steps.tolist(), step) - 1 for one in (a, b)]
            one, other = (read.frame(at) for read, at in zip((a, b), ends, strict=True))
            assert (frame.step, frame.a.step, frame.b.step) == (step, one.step, other.step)
            for part in ("values", "gradient", "update"):
                wanted = getattr(other, part).astype(np.float64) - getattr(one, part)
                np.testing.assert_array_equal(getattr(frame, part), wanted)
            assert (frame.a.loss, frame.b.loss) == pytest.approx((one.loss, other.loss), nan_ok=True)
        pair.to(9)
        assert pair.frame().step == max(step for step in pair.steps if step <= 9)
    itself = a.compare(a)
    assert not any(itself.frame_at(place).values.any() for place in range(len(itself.steps)))


def test_what_cannot_be_compared_is_named_and_left_out(record):
    four, five = record(name="four")[1], record(steps=0, then=lambda run: run.change(model=wider(5)))[1]
    pair = four.compare(five)
    assert [tensor.name for tensor in pair.tensors] == ["2.bias"]
    assert pair.left_out[:3] == (
        f"0.weight is 4×3 in four, 5×3 in {pair.names[1]}", f"0.bias is 4 in four, 5 in {pair.names[1]}",
        f"2.weight is 3×4 in four, 3×5 in {pair.names[1]}",
    )  # fmt: skip
    assert pair.frame().values.shape == (3,)
    branches = record(steps=10, then=branch, name="run")[1]
    pair = branches.compare(branches.on(branches.branches[0]))
    assert pair.left_out == ("1 other branch of run, branch 1", "1 other branch of run, branch 0")
    assert (pair.span, [edit.what for edit in pair.past.edits]) == ((0, 12), ["a: 0.weight[0][0] = 2"])
    pair.to(4)
    assert (pair.frame().edited, pair.frame().a.edited, pair.frame().b.edited) == (True, True, False)
    assert len(four.compare(four).stages) == 4
    for name, words, how in (
        ("acts", "the layers differ", {"then": lambda run: run.change(activation="relu")}),
        ("moved", "the samples differ", {"sample": 3}), ("bare", "not recorded in bare", {"kept": {}}),
    ):  # fmt: skip
        other = record(name=name, **how)[1]
        assert any(words in line for line in four.compare(other).left_out)
        assert (four.compare(other).stages, len(four.compare(other).tensors)) == ((), 4)
    bare = four.compare(other)
    assert bare.lacks("gradient").startswith("b: gradients were not recorded")
    assert "no update" in bare.lacks("update/value")
    assert bare.lacks("|gradient|")
    assert (bare.lacks("weight"), four.compare(five).lacks("update")) == ("", "")


def late(record):
    return record(steps=0, then=lambda run: restore(run, run.state_dict(), optimizer_state(run), 500))[1]


ASKED = {"train": (), "predict": ([[0.0] * 3],), "edit": (edits.SetWeights(0, [0.0]),), "samples": (),
         "rows": ([[0.0]], ["0"]), "activations": ([0.0],), "sample": (0,), "evaluate": ([[0.0]], [[0.0]]),
         "sample_gradient": ([0.0], [0.0], [0.0])}  # fmt: skip


def asked(name, source, record):
    return getattr(source(), name)(*ASKED[name])


@refusals({
    **{name: (functools.partial(asked, name), StateError, "the recording") for name in ASKED},
    "told": (lambda source, record: source().tell(loss=1.0), StateError, "the recording"),
    "pair switched": (lambda source, record: two(record).switch(0), StateError, "comparison", "another branch"),
    "pair trained": (lambda source, record: two(record).train(), StateError, "comparison", "trained"),
    "pair, no such step": (lambda source, record: two(record).to(21), InputError, "no step 21", "0 to 20"),
    "nothing shared": (lambda source, record: record("mlp")[1].compare(record("no bias")[1]), InputError,
                       "nothing to compare", "0.weight 4×3", "allowed"),
    "no step shared": (lambda source, record: record(steps=5)[1].compare(late(record)), InputError, "share a step"),
})  # fmt: skip
def test_refused(refusal, source, record):
    refusal.check(source, record)


def two(record):
    return record()[1].compare(record()[1])
