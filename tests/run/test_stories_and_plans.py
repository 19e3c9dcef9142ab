"""What a scene says and where its plates are placed: words and places are checked, claims are measured."""

import numpy as np
import pytest
from scalarviz.scenes import digits, rgb

from kit.commands import moment_of
from kit.refusals import refusals
from kit.runs import make_run
from scalarviz.errors import InputError, TypeMismatchError, UnknownNameError
from scalarviz.run import Group, Placed, Plan, Room, Scene, Story

T, V = TypeMismatchError, InputError
FIRST, SECOND, THIRD = Placed("0.weight", "first"), Placed("2.weight", "second", turned=True), Placed("9.weight", "no")


def scene_of(**options):
    return rgb.build(rgb.Options(engine="numpy", **options))


def claim_of(scene):
    claim = scene.shown_story.claim
    assert claim is not None
    return claim(moment_of(scene))


def planned(*columns, network="no bias"):
    return Scene("s", make_run(network), plan=Plan((Group("all", columns),), "the row"))


ROWS = {
    "blank": (lambda: Story("  "), V, "sentence", "empty"),
    "long headline": (lambda: Story("a", "b" * 121), V, "headline", 121, 120),
    "fall": (lambda: Story("a", "", None, 1), V, "fall", 1),
    "no story": (lambda: Scene("s", make_run(), story="Learn."), T, "str", "Learn.", "Story("),
    "room": (lambda: Room("a", 0), V, "more than 0", 400), "columns": (lambda: Group("a", (FIRST,)), T, "columns"),
    "plate twice": (lambda: Plan((Group("a", ((FIRST, FIRST),)),)), V, "0.weight", "twice"),
    "left out": (lambda: planned((FIRST,)), V, "2.weight"),
    "not there": (lambda: planned((FIRST, SECOND, THIRD)), UnknownNameError, "9.weight", "0.weight, 2.weight"),

    "a bias": (lambda: planned((FIRST,), (Placed("0.bias", "b"),), network="rgb"), V, "matrices"),
}  # fmt: skip


@refusals(ROWS)
def test_refused(refusal):
    refusal.check()


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
    assert "digits" in scene.shown_story.sentence
    scene.run.step(30)
    board = scene.panels[0]
    right = int((scene.run.predict(board.inputs).argmax(axis=1) == board.labels).sum())
    assert f"{right} of {len(board.labels)}" in claim_of(scene)
