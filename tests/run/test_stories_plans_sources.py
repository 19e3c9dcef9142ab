"""What a scene says and places, and what a view asks of a run: words are checked, claims measured, rows compared.

Of the internals it takes `RunSource`, which a view makes of a run, and what it makes of weights and arrays.
"""

from __future__ import annotations

import numpy as np
import pytest
from scalarviz.scenes import digits, rgb

import scalarviz as sv
from kit.refusals import refusals
from kit.runs import make_run
from scalarviz import nn, optim
from scalarviz.errors import InputError, StateError, TypeMismatchError, UnknownNameError
from scalarviz.io import save_picture
from scalarviz.run import Group, Moment, Placed, Plan, Room, Scene, Story
from scalarviz.run.edits import AddToWeights, SetWeights
from scalarviz.run.run_source import RunSource
from scalarviz.view.shown.source import ArraysSource, WeightsSource

T, V, NAN = TypeMismatchError, InputError, float("nan")
FIRST, SECOND, THIRD = Placed("0.weight", "first"), Placed("2.weight", "second", turned=True), Placed("9.weight", "no")


def scene_of(**options):
    return rgb.build(rgb.Options(engine="numpy", **options))


def claim_of(scene):
    claim = scene.told.claim
    assert claim is not None
    return claim(Moment(scene.run.frame(), RunSource(scene.run)))


def planned(*columns, network="no bias"):
    return Scene("s", make_run(network), plan=Plan((Group("all", columns),), "the row"))


def whole(weight="0.weight"):
    return Plan((Group("a", ((Placed(weight, "w"),), (Placed("0.bias", "b"),))),))


def story(*arguments, **asked):
    return lambda: Story(*arguments, **asked)


ROWS = {
    "no sentence": (story(""), V, "sentence", "empty"),
    "blank": (story("  "), V, "sentence", "empty"),
    "a number": (story(3), T, "sentence"),
    "two lines": (story("a\nb"), V, "sentence", "one line of 120"),
    "long": (story("a" * 121), V, "sentence", 121, 120),
    "long headline": (story("a", "b" * 121), V, "headline", 121, 120),
    "headline": (story("a", None), T, "headline"),
    "claim": (story("a", "", "no function"), T, "claim", "no function"),
    "reached": (story("a", reached="yes"), T, "reached", "yes"),
    "anew": (story("a", anew="yes"), T, "anew", "yes"),
    **{f"fall {fall}": (story("a", "", None, fall), T if isinstance(fall, str | bool) else V, "fall", fall)
       for fall in ("half", True, 0.0, 1, NAN)},
    "no story": (lambda: Scene("s", make_run(), story="Learn."), T, "str", "Learn.", "Story("),
    "placed: tensor": (lambda: Placed(3, "a"), T, "tensor"),
    "placed: title": (lambda: Placed("a", None), T, "title"),
    "placed: turned": (lambda: Placed("a", "a", turned="yes"), T, "turned"),
    **{f"room {width}": (lambda width=width: Room("a", width), V, "more than 0", 400) for width in (0, NAN, 1e9)},
    **{f"room {width}": (lambda width=width: Room("a", width), T, "pixels") for width in (True, "wide")},
    "room: name": (lambda: Room(1, 2), T, "name"),
    **{f"columns {columns}": (lambda columns=columns: Group("a", columns), T, "columns")
       for columns in ((), (Room("b", 3),), ((),), (FIRST,), "0.weight")},
    "group: title": (lambda: Group(None, ((FIRST,),)), T, "title"),
    "no groups": (lambda: Plan(()), T, "groups"),
    "groups": (lambda: Plan("all"), T, "groups"),
    "stream": (lambda: Plan((Group("a", ((FIRST,),)),), 4), T, "stream"),
    "plate twice": (lambda: Plan((Group("a", ((FIRST, FIRST),)),)), V, "0.weight", "twice"),
    "room twice": (lambda: Plan((Group("a", ((FIRST,), Room("r", 1), Room("r", 2))),)), V, "'r'", "twice"),
    "left out": (lambda: planned((FIRST,)), V, "2.weight"),
    "not there": (lambda: planned((FIRST, SECOND, THIRD)), UnknownNameError, "9.weight", "0.weight, 2.weight"),
    "no plan": (lambda: Scene("s", make_run(), plan="left to right"), T, "plan"),
    "a bias": (lambda: Scene("s", make_run("rgb"), plan=whole()), V, "matrices"),
}  # fmt: skip


@refusals(ROWS)
def test_refused(refusal):
    refusal.check()


def test_a_scene_keeps_a_plan_of_its_network():
    plan = planned((FIRST,), Room("between", 30), (SECOND,)).plan
    assert plan is not None
    assert [placed.title for placed in plan.plates] == ["first", "second"]


# ---- stories


@pytest.mark.parametrize(("outputs", "samples"), [(1, 8), (3, 1), (2000, 1024)])
def test_a_scene_without_a_story_says_what_is_true_of_any_run(outputs, samples):
    net, X = nn.Linear(1, outputs, bias=False), np.zeros((samples, 1))
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters()), (X, np.repeat(X, outputs, 1)), engine="numpy")
    told = Scene("s", run).told
    assert told.opening(run.n_weights) == f"{outputs:,} weight{'s' if outputs > 1 else ''}."
    assert told.sentence.startswith("They " if outputs > 1 else "It ")
    assert f" {samples:,} example{'s' if samples > 1 else ''}." in told.sentence
    own = Story("It should double a number.", "By hand.")
    assert Scene("s", run, story=own).told is own
    assert own.opening(run.n_weights) == "By hand."


@pytest.mark.parametrize(("options", "words"), [
    ({}, ["12 weights.", "opposite"]), ({"target": "gray"}, ["12 weights.", "out of every colour"]),
    ({"hidden": (16, 16)}, ["387 weights in 3 layers.", "opposite"]),
    ({"pair": ["#ff8800:#0044cc"]}, ["#ff8800 into #0044cc"]), ({"pair": ["#f80:#04c", "#000:#fff"]}, ["2 pairs"]),
    ({"hidden": (4,), "target": "sepia"}, ["31 weights in 2 layers.", "brown"]),
])  # fmt: skip
def test_the_sentence_of_rgb_is_that_of_its_flags(options, words):
    scene = scene_of(**options)
    said = f"{scene.told.opening(scene.run.n_weights)} {scene.told.sentence}"
    assert all(word in said for word in words), said


def test_every_formula_and_two_pictures_have_their_words(tmp_path):
    sentences = {scene_of(target=name).told.sentence for name in sv.data.TARGETS}
    assert len(sentences) == len(sv.data.TARGETS)
    save_picture(tmp_path / "graded.png", np.random.default_rng(1).random((4, 5, 3)))
    for first in ("photo.png", "a_photo_with_a_very_long_name.png"):
        save_picture(tmp_path / first, np.random.default_rng(0).random((4, 5, 3)))
        said = scene_of(source=tmp_path / first, graded=tmp_path / "graded.png").told.sentence
        assert (first in said) == (first == "photo.png")


@pytest.mark.ci
@pytest.mark.parametrize("target", ["invert", "rotate"])
def test_a_claim_holds_of_the_weights_or_is_not_said(target):
    scene = scene_of(target=target)
    word = {"invert": "falls", "rotate": "rises"}[target]
    assert word not in claim_of(scene)  # not before it has learnt
    scene.run.step(2000)
    assert f"now {word}" in claim_of(scene)
    for k in range(3):  # what the sentence says, asked of the network itself
        probe = np.full((2, 3), 0.5)
        probe[1, k] = 0.6
        low, high = scene.run.predict(probe)
        change = (high - low) * (-1 if word == "falls" else 1)
        assert change.max() > 0
        assert np.argmax(change) == (k if word == "falls" else (k - 1) % 3)
    scene.run.model[0].weight[1][(1 + (word == "falls")) % 3].data = -9.0 if word == "falls" else 9.0
    assert word not in claim_of(scene)  # broken by hand


@pytest.mark.parametrize("options", [{"hidden": (4,), "target": "sepia"}, {"pair": ["#ff8800:#0044cc"]}])
def test_the_error_that_is_said_is_measured(options):
    scene = scene_of(**options)
    scene.run.step(10)
    inputs, targets = scene.run.samples()
    away = 100 * float(np.abs(scene.run.predict(inputs) - targets).mean())
    assert f"{away:.1f} %" in claim_of(scene)
    assert ("average" in claim_of(scene)) == ("pair" not in options)


@pytest.mark.ci
def test_digits_count_what_they_read_rightly():
    scene = digits.build(digits.Options(engine="numpy"))
    assert "digits" in scene.told.sentence
    scene.run.step(30)
    board = scene.panels[0]
    right = int((scene.run.predict(board.inputs).argmax(axis=1) == board.labels).sum())
    assert f"{right} of {len(board.labels)}" in claim_of(scene)


# ---- sources


@pytest.fixture
def source():
    run = make_run("picture", "cross-entropy", "sgd")
    run.step(3)
    return RunSource(run)


def test_rows_of_many_samples_are_those_of_each_alone_in_the_order_asked_for(source):
    x, names = source.run.samples()[0], [s.name for s in source.stages]
    rows = source.rows(x[:5], [*names[::-1], "input"])
    assert list(rows) == [*names[::-1], "input"]
    assert source.rows(x[:2], []) == {}
    for k in range(5):
        alone = source.activations(x[k])
        for name in rows:
            np.testing.assert_allclose(rows[name][k], alone[name], rtol=1e-12, atol=1e-14)
    before = source.frame().values
    source.train(2)
    for values in (before, None):
        wanted = source.predict(x, values)
        np.testing.assert_allclose(source.rows(x, names[-1:], values)[names[-1]], wanted, rtol=1e-12)
    assert not np.array_equal(source.predict(x, before), source.predict(x))
    with pytest.raises(UnknownNameError, match=r"hidden.*input, 0, 1"):
        source.rows(x, ["0", "hidden"])
    for wrong in (x[:, :5], np.full((1, 36), np.nan)):
        with pytest.raises(InputError):
            source.rows(wrong, ["0"])


def test_a_run_says_what_it_is_and_goes_where_it_was(source):
    run, can = source.run, source.can
    assert all((can.predict, can.train, can.edit, can.go, can.open))
    assert (source.facts.optimizer, source.facts.batch_size, source.facts.reduction) == ("SGD", 8, "mean")
    assert (source.facts.engine, source.span) == (str(run.engine), (0, 3))
    newest = run.values.copy()
    source.to(1)
    assert (run.steps, source.span) == (1, (0, 3))
    assert not np.array_equal(run.values, newest)
    with pytest.raises(InputError, match=r"4.*0 to 3"):
        source.to(4)
    source.to(3)
    np.testing.assert_array_equal(run.values, newest)
    np.testing.assert_array_equal(source.curve.step, [1, 2, 3])
    source.edit(AddToWeights(4, [0.5]))
    assert run.values[4] == pytest.approx(newest[4] + 0.5)
    for index in (0, 7, 23):
        assert all(map(np.array_equal, source.sample(index), (rows[index] for rows in run.samples())))


def test_a_frame_of_a_former_network_is_followed(source):
    run, before = source.run, source.frame()
    x, y = source.sample(2)
    wanted = source.predict([x], before.values), source.sample_gradient(x, y, before.values)
    shapes = source.tensors, source.stages
    run.change(model=nn.Sequential(nn.Flatten(), nn.Linear(36, 3)))
    source.follow(source.request_frame(x).result())
    assert (source.tensors, source.stages) == (run.tensors, run.stages) != shapes
    assert np.array_equal(source.predict([x], source.frame().values), run.predict([x]))
    source.follow(before)
    assert (source.tensors, source.stages) == shapes
    found = source.predict([x], before.values), source.sample_gradient(x, y, before.values)
    assert all(map(np.array_equal, found, wanted))


def test_the_gradient_of_one_sample_is_that_of_a_finite_difference(source):
    x, y = source.sample(2)
    values = source.frame().values.astype(float)
    gradient = source.sample_gradient(x, y, values)
    for tensor in source.tensors:
        step = np.zeros_like(values)
        step[tensor.start] = 1e-5
        ends = [source.evaluate([x], [y], values + way * step) for way in (1, -1)]
        assert gradient[tensor.start] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-9)


ASKED = {
    "predict": lambda s: s.predict([[1.0]]), "rows": lambda s: s.rows([[1.0]], ["0"]), "to": lambda s: s.to(1),
    "activations": lambda s: s.activations([1.0]), "evaluate": lambda s: s.evaluate([[1.0]], [[1.0]]),
    "gradient": lambda s: s.sample_gradient([1.0], [1.0], [1.0]), "samples": lambda s: s.samples(),
    "sample": lambda s: s.sample(0), "train": lambda s: s.train(1),
}  # fmt: skip


@pytest.mark.parametrize("ask", ASKED)
def test_what_has_no_run_refuses_and_weights_alone_can_be_changed(ask):
    numbers, weight = np.array([1.0, 2.0]), sv.Weight(1.0)
    for made in (ArraysSource({"a": numbers}), WeightsSource({"w": weight})):
        assert not made.can.predict
        assert not made.can.train
        with pytest.raises(StateError, match=made.what):
            ASKED[ask](made)
    with pytest.raises(StateError, match="array"):
        ArraysSource({"a": numbers}).edit(SetWeights(0, [1.0]))
    WeightsSource({"w": weight}).edit(SetWeights(0, [weight.data + 1.0]))
    assert (numbers.tolist(), weight.data) == ([1.0, 2.0], 2.0)
