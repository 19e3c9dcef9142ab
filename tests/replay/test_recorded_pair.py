"""Two recordings at the same step: their numbers, and those of the one less those of the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.errors import InputError, StateError
from scalarviz.run.recorded_pair import RecordedPair
from scalarviz.run.recorded_source import RecordedSource

X = np.random.default_rng(0).random((16, 3))


def run(seed=1, hidden=4, first=3):
    net = nn.Sequential(nn.Linear(first, hidden, seed=seed), nn.Tanh(), nn.Linear(hidden, 2, seed=seed))
    data = np.random.default_rng(0).random((16, first))
    return Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (data, X[:, :2]), engine="numpy")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """``recorded(steps, every, begin, **of the run)``: a source."""
    folder, files = tmp_path_factory.mktemp("pair"), []

    def made(steps=20, every=1, begin=0, gradients=True, updates=True, **options):
        done = run(**options)
        done.step(begin)
        path = folder / f"{len(files)}.svz"
        with sv.Recording(done, every=every, gradients=gradients, updates=updates, path=path):
            done.step(steps)
        files.append(sv.load_recording(path))
        return RecordedSource(files[-1])

    yield made
    for file in files:
        file.close()


def test_the_difference_is_b_less_a_at_every_step(recorded):
    a, b = recorded(seed=1), recorded(seed=2)
    pair = RecordedPair(a, b)
    assert pair.steps.tolist() == list(range(21))
    for step in (0, 7, 20):
        pair.to(step)
        for source in (a, b):
            source.to(step)
        frame, first, second = pair.frame(), a.frame(), b.frame()
        for part in ("values", "gradient", "update"):
            wanted = getattr(second, part).astype(np.float64) - getattr(first, part)
            np.testing.assert_array_equal(getattr(frame, part), wanted)
        assert (frame.step, frame.a.step, frame.b.step) == (step, step, step)
        assert (frame.a.loss, frame.b.loss) == pytest.approx((first.loss, second.loss), nan_ok=True)


def test_of_itself_there_is_no_difference(recorded):
    a = recorded()
    pair = RecordedPair(a, a)
    assert not any(pair.frame_at(place).values.any() for place in range(len(pair.steps)))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1), st.lists(st.integers(0, 40), min_size=1), st.integers(0, 40))
def test_each_stands_at_its_last_step_that_is_not_after(first, second, step):
    class Steps:
        """A source of these steps, without numbers."""

        tensors = (sv.run.Tensor("w", (1,), 0),)
        stages, probe = (), None
        curve = sv.run.frame.NO_CURVE

        def __init__(self, steps):
            self.steps = np.unique(steps)
            self.span = int(self.steps[0]), int(self.steps[-1])
            self.past = sv.run.past.Past(*self.span, steps=self.steps)

        def settle(self):
            return np.arange(len(self.steps))

    a, b = Steps(first), Steps(second)
    begin = max(a.span[0], b.span[0])
    if min(a.span[1], b.span[1]) < begin:
        with pytest.raises(InputError, match="share a step"):
            RecordedPair(a, b)
        return
    pair = RecordedPair(a, b)
    assert pair.span == (begin, max(a.span[1], b.span[1]))
    if begin <= step <= pair.span[1]:
        for one, place in zip((a, b), pair.places(step), strict=True):
            assert one.steps[place] == max(s for s in one.steps if s <= step)


def test_other_steps_are_said_by_the_frames(recorded):
    pair = RecordedPair(recorded(steps=20, every=5), recorded(steps=12, every=4, seed=2))
    assert pair.steps.tolist() == [0, 4, 5, 8, 10, 12, 15, 20]
    pair.to(9)
    frame = pair.frame()
    assert (frame.step, frame.a.step, frame.b.step) == (8, 5, 8)
    pair.to(20)
    frame = pair.frame()
    assert (frame.step, frame.a.step, frame.b.step) == (20, 20, 12)
    with pytest.raises(InputError, match="no step 21; allowed: 0 to 20"):
        pair.to(21)


def test_what_differs_in_shape_is_named_and_left_out(recorded):
    pair = RecordedPair(recorded(hidden=4), recorded(hidden=5), ("four", "five"))
    assert [tensor.name for tensor in pair.tensors] == ["2.bias"]
    assert pair.left_out == (
        "0.weight is 4×3 in four, 5×3 in five", "0.bias is 4 in four, 5 in five",
        "2.weight is 2×4 in four, 2×5 in five",
    )  # fmt: skip
    assert pair.frame().values.shape == (2,)


@pytest.mark.parametrize("hidden", [3, 5])
def test_a_network_that_became_another_one_is_compared_as_it_ends(recorded, tmp_path, hidden):
    done = run(hidden=3)
    with sv.Recording(done, path=tmp_path / "run.svz"):
        done.step(5)
        done.change(model=nn.Sequential(nn.Linear(3, 5, seed=1), nn.Tanh(), nn.Linear(5, 2, seed=1)))
        done.step(5)
    other = recorded(steps=12, hidden=hidden)
    with sv.load_recording(tmp_path / "run.svz") as record:
        for turned in (False, True):
            sources = (other, RecordedSource(record)) if turned else (RecordedSource(record), other)
            pair = RecordedPair(*sources)
            assert pair.span == (5, 12)
            assert any("before step 5, when it had another network" in line for line in pair.left_out)
            assert len(pair.tensors) == (4 if hidden == 5 else 1)
            for place, step in enumerate(pair.steps):
                frame, frames = pair.frame_at(place), [s.record.frame(s.record.at(int(step))) for s in sources]
                for tensor in pair.tensors:
                    wanted = [next(own.of(f.values) for own in s.record.shapes(-1).tensors
                                   if (own.name, own.shape) == (tensor.name, tensor.shape))
                              for s, f in zip(sources, frames, strict=True)]  # fmt: skip
                    np.testing.assert_array_equal(tensor.of(frame.values), wanted[1].astype(float) - wanted[0])
            assert pair.weight_records(0)[int(turned)].steps.min() == 5


def test_other_branches_are_said(tmp_path):
    done = run()
    with sv.Recording(done, path=tmp_path / "run.svz"):
        done.step(10)
        done.to(4)
        done.lr = 1.0
        done.step(3)
    with sv.load_recording(tmp_path / "run.svz") as record:
        pair = record.compare(record.on(record.branches[0]))
        assert pair.left_out == ("1 other branch of run, branch 1", "1 other branch of run, branch 0")
        assert pair.span == (0, 10)
        assert [edit.what for edit in pair.past.edits] == ["a: lr = 1"]
        assert pair.frame_at(len(pair.steps) - 1).a.step == 7


def test_nothing_in_common_is_refused_with_what_there_is(recorded):
    a, b = recorded(), RecordedSource(recorded().record)
    b._shapes = type("Shapes", (), {"tensors": (sv.run.Tensor("other", (3,), 0),), "stages": ()})
    b.settle = lambda: np.arange(len(b.steps))
    with pytest.raises(InputError, match=r"nothing to compare: a has 0.weight 4×3, .*; b has other 3; allowed"):
        RecordedPair(a, b)
    with pytest.raises(InputError, match="share a step"):
        RecordedPair(recorded(steps=5), recorded(begin=10))


def test_quantities_are_those_that_both_have(recorded):
    pair = RecordedPair(recorded(), recorded(gradients=False))
    assert pair.lacks("gradient").startswith("b: no gradients were recorded")
    assert "no share" in pair.lacks("update/value")
    assert pair.lacks("|gradient|")
    assert pair.lacks("weight") == pair.lacks("update") == ""


def test_it_does_nothing_but_stand(recorded):
    pair = RecordedPair(recorded(), recorded())
    with pytest.raises(StateError, match="the comparison cannot go to another branch"):
        pair.switch(0)
    with pytest.raises(StateError, match="the comparison cannot be trained"):
        pair.train()


def test_why_there_are_no_rows_is_said(tmp_path):
    """Of other functions, of other samples, and where one has none; the weights are compared all the same."""

    def recorded(name, act=nn.Tanh, sample=0, rows=True):
        net = nn.Sequential(nn.Linear(3, 4, seed=1), act(), nn.Linear(4, 2, seed=1))
        data = np.roll(X[:, :3], sample, axis=0)
        done = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (data, data[:, :2]), engine="numpy")
        with sv.Recording(done, activations=rows, path=tmp_path / f"{name}.svz"):
            done.step(2)
        return sv.load_recording(tmp_path / f"{name}.svz")

    with recorded("a") as a, recorded("b") as b:
        assert a.compare(b).left_out == ()
        assert len(a.compare(b).stages) == 3
    cases = {"other": ({"act": nn.ReLU}, "the layers are not the same"),
             "moved": ({"sample": 1}, "of different samples"),
             "bare": ({"rows": False}, "which bare has not")}  # fmt: skip
    for name, (how, words) in cases.items():
        with sv.load_recording(tmp_path / "a.svz") as a, recorded(name, **how) as b:
            pair = a.compare(b)
            (line,) = pair.left_out
            assert words in line
            assert pair.stages == ()
            assert len(pair.tensors) == 4
