"""What a scene says before its first step and after its last one: its words are checked, its claims are measured."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError, TypeMismatchError
from scalarviz.io import save_picture
from scalarviz.run import Moment, Scene, Story
from scalarviz.run.run_source import RunSource

RGB = importlib.import_module("scalarviz.scenes.rgb")
DIGITS = importlib.import_module("scalarviz.scenes.digits")


def run_of(n_out: int = 1, samples: int = 8) -> sv.Run:
    X = np.random.default_rng(0).random((samples, 1))
    net = nn.Sequential(nn.Linear(1, n_out, bias=False))
    return sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, np.repeat(X, n_out, 1)), engine="numpy")


def rgb(**options: Any) -> sv.Scene:
    return RGB.build(RGB.Options(engine="numpy", **options))


def moment_of(scene: Scene) -> Moment:
    return Moment(scene.run.frame(), RunSource(scene.run))


@pytest.mark.parametrize(
    ("outputs", "samples", "headline", "sentence"),
    [
        (1, 8, "1 weight.", "It should learn 8 examples."),
        (3, 1, "3 weights.", "They should learn 1 example."),
        (2000, 1024, "2,000 weights.", "They should learn 1,024 examples."),
    ],
)
def test_a_scene_without_a_story_says_what_is_true_of_any_run(
    outputs: int, samples: int, headline: str, sentence: str
) -> None:
    run = run_of(outputs, samples)
    scene = Scene("s", run)
    assert scene.story is None
    assert (scene.told.opening(run.n_weights), scene.told.sentence, scene.told.claim) == (headline, sentence, None)


def test_a_story_of_ones_own_is_told() -> None:
    run = run_of()
    story = Story("It should double a number.", "One weight, by hand.")
    scene = Scene("s", run, story=story)
    assert scene.told is story
    assert story.opening(run.n_weights) == "One weight, by hand."


@pytest.mark.parametrize(
    ("arguments", "kind", "said"),
    [
        (("",), InputError, "the sentence is empty"),
        (("  ",), InputError, "the sentence is empty"),
        ((3,), TypeMismatchError, "the sentence"),
        (("a\nb",), InputError, "one line of 120"),
        (("a" * 121,), InputError, "121 characters"),
        (("a", "b" * 121), InputError, "the headline has 121"),
        (("a", None), TypeMismatchError, "the headline"),
        (("a", "", "no function"), TypeMismatchError, "the claim"),
        (("a", "", None, "half"), TypeMismatchError, "fall is a share"),
        (("a", "", None, True), TypeMismatchError, "fall is a share"),
        (("a", "", None, 0.0), InputError, "more than 0 and less than 1"),
        (("a", "", None, 1), InputError, "more than 0 and less than 1"),
        (("a", "", None, float("nan")), InputError, "more than 0 and less than 1"),
    ],
)
def test_words_that_are_none_are_refused(arguments: tuple[Any, ...], kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        Story(*arguments)


def test_a_scene_takes_only_a_story() -> None:
    with pytest.raises(TypeMismatchError, match=r"story= is a Story or None, got str .*Story\("):
        Scene("s", run_of(), story="They should learn.")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "headline", "sentence"),
    [
        ({}, "12 weights.", "They should turn every colour into its opposite."),
        ({"target": "gray"}, "12 weights.", "They should take the colour out of every colour."),
        ({"hidden": (16, 16)}, "387 weights in 3 layers.", "They should turn every colour into its opposite."),
        ({"pair": ["#ff8800:#0044cc"]}, "12 weights.", "They should turn #ff8800 into #0044cc."),
        ({"pair": ["#f80:#04c", "#000:#fff"]}, "12 weights.", "They should learn 2 pairs of colours."),
        ({"hidden": (4,), "target": "sepia"}, "31 weights in 2 layers.", "They should make every colour as brown as an "
         "old photo."),
    ],
)  # fmt: skip
def test_the_sentence_of_rgb_is_that_of_its_flags(options: dict[str, Any], headline: str, sentence: str) -> None:
    scene = rgb(**options)
    assert scene.told.opening(scene.run.n_weights) == headline
    assert scene.told.sentence == sentence
    assert f"{scene.run.n_weights:,}" in headline


def test_every_formula_has_its_words() -> None:
    sentences = {rgb(target=name).told.sentence for name in sv.data.TARGETS}
    assert len(sentences) == len(sv.data.TARGETS)


def test_two_pictures_are_named_where_their_names_are_short(tmp_path: Path) -> None:
    said = []
    for first in ("photo.png", "a_photo_with_a_very_long_name.png"):
        save_picture(tmp_path / first, np.random.default_rng(0).random((4, 5, 3)))
        save_picture(tmp_path / "graded.png", np.random.default_rng(1).random((4, 5, 3)))
        said.append(rgb(source=tmp_path / first, graded=tmp_path / "graded.png").told.sentence)
    assert said == [
        "They should turn photo.png into graded.png.",
        "They should turn the first picture into the second.",
    ]


def test_the_claim_of_invert_holds_of_the_weights_or_is_not_said() -> None:
    scene = rgb()
    claim = scene.told.claim
    assert claim is not None
    assert "falls" not in claim(moment_of(scene))  # not before it has learnt
    scene.run.step(3000)
    assert claim(moment_of(scene)) == "Each output now falls when its own colour rises."
    probe = np.full((2, 3), 0.5)  # what the sentence says, asked of the network itself
    for k in range(3):
        probe[1] = 0.5
        probe[1, k] = 0.6
        low, high = scene.run.predict(probe)
        assert high[k] < low[k]
        assert k == np.argmin(high - low)
    scene.run.model[0].weight[1][2].data = -9.0  # broken by hand: the second output falls most with blue now
    assert "falls" not in claim(moment_of(scene))


def test_the_claim_of_rotate_holds() -> None:
    scene = rgb(target="rotate")
    claim = scene.told.claim
    assert claim is not None
    scene.run.step(2000)
    assert claim(moment_of(scene)) == "Each output now rises with the next colour."


def test_the_error_that_is_said_is_measured() -> None:
    scene = rgb(hidden=(4,), target="sepia")
    scene.run.step(50)
    claim = scene.told.claim
    assert claim is not None
    inputs, targets = scene.run.samples()
    away = 100 * float(np.abs(scene.run.predict(inputs) - targets).mean())
    assert claim(moment_of(scene)) == f"A colour is now {away:.1f} % off, on average."


def test_of_one_colour_no_average_is_said() -> None:
    scene = rgb(pair=["#ff8800:#0044cc"])
    claim = scene.told.claim
    assert claim is not None
    inputs, targets = scene.run.samples()
    away = 100 * float(np.abs(scene.run.predict(inputs) - targets).mean())
    assert claim(moment_of(scene)) == f"The colour is now {away:.1f} % off."


def test_digits_count_what_they_read_rightly() -> None:
    scene = DIGITS.build(DIGITS.Options(engine="numpy"))
    assert scene.told.sentence == "They should read handwritten digits."
    claim = scene.told.claim
    assert claim is not None
    scene.run.step(30)
    board = scene.panels[0]
    right = int((scene.run.predict(board.inputs).argmax(axis=1) == board.labels).sum())
    assert claim(moment_of(scene)) == f"They now read {right} of {len(board.labels)} digits that they never saw."


@pytest.mark.parametrize("name", ["reached", "anew"])
def test_what_else_a_story_asks_is_a_function(name: str) -> None:
    asked: dict[str, Any] = {name: "yes"}
    with pytest.raises(TypeMismatchError, match=f"Story: {name}"):
        Story("It should double a number.", **asked)
