"""The picture of the scene `microgpt`: what stands where, what is drawn there, and what it says to hands."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from scalarviz.scenes import microgpt

from kit.benches import again, bench_of, box_of, overlap, said, texts
from kit.windows import live_hand
from scalarviz.run import Moment
from scalarviz.run.panels import WordBoard

pytestmark = pytest.mark.gl

ORDER = ["token", "position", "q", "k", "v", "o", "up", "down", "letters"]
KEYS = (("Space", "run"), ("E", "type a name"))


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Makes scenes of words in which every letter comes."""
    path = tmp_path_factory.mktemp("words") / "words.txt"
    path.write_text("\n".join([f"{a}{b}{a}" for a in "abcdefghijklmnopqrstuvwxyz" for b in "aeiou"] + ["olivia"]))
    return lambda **more: microgpt.build(microgpt.Options(text=path, engine="numpy", batch=4, steps=50, **more))


@pytest.fixture(scope="module")
def scene(build):
    with (made := build()).run:
        made.run.step(3)
        yield made


@pytest.fixture
def bench(scene):
    return shown(scene)


def shown(scene, size=(1280, 720), theme="dark", word="olivia"):
    bench = bench_of(scene, size, theme=theme, keys=KEYS)
    drawer = drawer_of(bench)
    drawer.state.word, drawer.stale = word, True
    return again(bench)


def drawer_of(bench):
    return bench.side.drawer(WordBoard)


@pytest.mark.parametrize("size", [(1280, 720), (1280, 800), (1024, 768), (1920, 1080), (2560, 1080)])
@pytest.mark.parametrize("word", ["", "a", "abcdefghijklmno"])
def test_no_text_lies_on_another_whatever_is_typed(scene, size, word):
    bench = shown(scene, size, word=word)
    assert bench.spread
    boxes = [box_of(t) for t in texts(bench.sketches) if t.size != 12]  # beside maps of attention
    assert not any(overlap(a, b, 1) for a, b in combinations(boxes, 2))


def test_several_layers_and_narrow_pictures_are_not_spread(scene, build):
    for bench in (shown(build(layers=2)), shown(scene, (720, 1280))):
        assert (bench.spread, "reads olivia" in said(bench)) == (False, True)


def test_turned_by_hand_it_shows_plates_alone_and_comes_back(bench):
    bench.orbit(60, 0)
    found = said(again(bench))
    assert bench.scenery.blueprint is None
    assert "head 1" not in found
    assert {"what comes next", "new names", "up"} <= set(found)  # names stay
    bench.fit_camera()
    assert "head 1" in said(again(bench))


def test_the_strip_and_the_stream_are_rows_of_the_runs_own_stages(bench, scene):
    reading, at = drawer_of(bench)._read, len("olivia")
    stages = [f"layers.0.{name} (7)" for name in ("up", "o", "down")]
    found = Moment(bench.subject.frame(), bench.subject.source).rows(scene.probe[None], *stages)
    up, attended, down = (found[stage][0] for stage in stages)
    stream = [numbers[at] for numbers in reading.stream]
    np.testing.assert_allclose(reading.hidden[1][at], np.maximum(up, 0), rtol=0, atol=1e-5)
    np.testing.assert_allclose(np.diff(stream, axis=0), [attended, down], rtol=0, atol=1e-5)


def test_all_of_it_is_of_the_frame_that_is_shown(build):
    """A film's numbers of each step are those of a still of that step."""
    made = build()
    bench = bench_of(made)
    for _ in range(3):
        made.run.step(1)
        film, still = (drawer_of(one)._read for one in (again(bench, 1 / 30), bench_of(made)))
        for part in ("stream", "likely", "attention"):
            np.testing.assert_array_equal(getattr(film, part), getattr(still, part))


def test_new_names_enter_letter_by_letter_and_say_their_step(build):
    made = build()
    bench = bench_of(made)
    names, grown = drawer_of(bench).names, []
    assert len(names.words) == 5
    assert steps_said(bench) == []
    for _ in range(120):
        made.run.step(1)
        again(bench, 0.1)
        grown.append(names.words)
    others = 0
    for before, now in pairwise(grown):
        same = now[:-1] == before[:-1]  # another name enters when the one before is whole
        entered, others = before[-1] if same else "", others + (not same)
        assert others < 2 or (now[-1].startswith(entered) and len(now[-1]) - len(entered) <= 1)
    assert others >= 3
    assert steps_said(bench) == sorted(steps_said(bench))
    assert 0 < steps_said(bench)[0] <= made.run.steps
    assert names.moving
    for _ in range(7):  # it pauses: all of them are of what is shown, as the closing sentence tells them
        again(bench, 0.1)
    claim = made.story.claim(Moment(bench.subject.frame(), bench.subject.source))
    assert claim == f"They now say {', '.join(word or 'nothing' for word in names.words[:3])}."
    assert {step for _, step in names._lines} == {made.run.steps}
    assert not names.moving
    assert steps_said(bench) == []


def steps_said(bench):
    return [int(t.removeprefix("step ").replace(",", "")) for t in said(bench) if t.startswith("step ")]


def test_a_rate_that_has_come_to_nothing_is_said_with_the_last_one(build):
    made = build(lr=0.003)
    bench = bench_of(made)
    for steps, text in ((49, "lr 6e\N{MINUS SIGN}5"), (1, "lr 0 (was 6e\N{MINUS SIGN}5)")):
        made.run.step(steps)
        assert text in said(again(bench))


@pytest.fixture
def hand(build):
    made = build()
    made.run.step(5)
    with live_hand(made, (1280, 800)) as hand:
        yield hand


def middle_of(hand, wanted):
    return hand.middle(next(spot.box for spot in drawer_of(hand.bench).spots if wanted(spot)))


def test_a_word_is_typed_without_pointing_and_other_keys_keep_their_meaning(hand):
    state, colouring, key = drawer_of(hand.bench).state, hand.bench.colouring, hand.view.key
    key("g", "g")
    assert colouring.quantity == "gradient"  # nothing is being typed: letters are keys
    key("e", "e")
    assert state.typing
    hand.type("wgcf")
    assert (state.word, colouring.quantity) == ("wgcf", "gradient")  # no letter did anything else
    step = hand.view.frame().step
    key("Right")
    assert hand.settled().step == step + 1
    key("Return")
    assert not state.typing
    key("w", "w")
    assert (state.word, colouring.quantity) == ("wgcf", "weight")
    hand.type("ea")
    key("Escape")
    assert (state.word, state.typing) == ("wgcf", False)


def test_field_letters_and_maps_are_clicked(hand):
    drawer, state = drawer_of(hand.bench), drawer_of(hand.bench).state
    _, top, *_ = next(spot.box for spot in drawer.spots if spot.name == "field")
    hand.press(middle_of(hand, lambda spot: spot.name == "field"))
    assert state.typing
    hand.type("i")
    hand.settled()
    hand.press(middle_of(hand, lambda spot: spot.value == 0 and spot.box[1] > top))
    assert (state.word, state.chosen) == ("i", 0)
    hand.view.key("Escape")
    hand.settled()
    hand.press(middle_of(hand, lambda spot: spot.value == 3 and spot.box[1] < top))
    assert (state.chosen, hand.bench.selected) == (3, None)


def test_before_the_first_step_the_field_takes_the_place_of_the_story(build):
    with live_hand(build(), (1280, 800), playing=True, wait=None) as hand:
        assert any("invent names" in text for text in said(hand.bench))
        assert "what comes next" not in said(hand.bench)
        hand.click(middle_of(hand, lambda spot: spot.name == "field"))
        assert not drawer_of(hand.bench).typing  # what is not to be seen is not touched
        hand.type("e")
        assert "what comes next" in hand.words()
