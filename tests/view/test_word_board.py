"""A word to type: what its panel shows, what keys and clicks do, and the picture of the scene `microgpt`."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scalarviz.scenes import microgpt

import scalarviz as sv
from kit.benches import again, bench_of, box_of, overlap, said, texts
from kit.refusals import refusals
from kit.windows import live_hand, make_colour_run
from scalarviz.errors import InputError, TypeMismatchError
from scalarviz.run import Moment
from scalarviz.run.panels import Invented, Reading, WordBoard

pytestmark = pytest.mark.gl
LETTERS = "abc"


def look(moment, word):
    """Each letter looks at itself; the next one is the next of the alphabet, more surely at every step."""
    n, sure = len(word) + 1, 0.5 + 0.1 * moment.step
    likely = np.full((n, 4), (1 - sure) / 3)
    for row, letter in enumerate("c" + word):
        likely[row, (LETTERS.index(letter) + 1) % 3] = sure
    return Reading(np.stack([np.eye(n)] * 2), likely)


def make(moment, temperature, number):
    word = f"made{temperature:.1f}" if number == 0 else "abcdefghij"[number]
    return Invented(word, (0.5,) * len(word))


def board(**change):
    return WordBoard(**{"word": "ab", "letters": LETTERS, "most": 4, "look": look, "make": make, **change})


@pytest.fixture
def bench():
    with make_colour_run() as run:
        run.step(3)
        yield bench_of(sv.Scene("s", run, panels=(board(),)))


@pytest.fixture
def drawer(bench):
    return bench.side.drawers["word"]


def test_it_shows_what_the_functions_say_of_this_moment_and_who_looks_at_whom_is_bright(bench, drawer):
    assert {"reads ab", "start", "a", "b", "after b", "80 %", "7 %", "temperature 0.6", "made0.6"} <= set(said(bench))
    (x, y, _, _), (down, across) = drawer.box, np.tril_indices(3)
    (found,) = (sketch for sketch in bench.side.drawn("word")[1:])
    heads = [shape for shape in found.shapes if hasattr(shape, "fills")]
    for cells in heads:
        np.testing.assert_allclose(cells.fills[:, 0], np.where(down == across, 1.0, 0.16), atol=1e-6)
    assert len(heads) == 2
    np.testing.assert_allclose(heads[0].rects[:, :2], np.stack([x + 24 * across, y + 58 + 24 * down], axis=1))
    bench.subject.source.run.step(1)
    assert "90 %" in said(again(bench))


def test_other_signs_are_no_letters_and_a_word_that_is_full_takes_none(drawer):
    drawer.begin_typing()
    assert not any(drawer.key(name, text) for name, text in (("Space", " "), ("Right", ""), ("3", "3")))
    with pytest.raises(InputError, match="x is not a letter"):
        drawer.key("X", "x")
    for letter in "caaba":
        assert drawer.key(letter.upper(), letter)
    assert drawer.key("Backspace", "")
    assert drawer.state.word == "caa"
    assert (drawer.let_go(), drawer.let_go()) == (True, False)


def test_a_click_looks_at_a_letter_and_the_temperature_moves_within_its_bounds(bench, drawer):
    x, y, _, _ = drawer.box
    assert not drawer.click((x + 10, y + 200))
    for left, steps, after, words in ((10, -3, "the beginning", "0.3"), (50, 30, "a", "2.0"), (50, -50, "a", "0.1")):
        assert drawer.click((x + left, y + 30))
        drawer.warm(steps)
        assert {f"after {after}", f"temperature {words}", f"made{words}"} <= set(said(again(bench)))


def test_numbers_that_are_not_finite_are_said():
    nowhere = board(look=lambda moment, word: Reading(np.full((1, 3, 3), np.nan), np.full((3, 4), np.nan)))
    assert "the network's numbers are not finite" in said(bench_of(sv.Scene("s", make_colour_run(), panels=(nowhere,))))


@refusals({
    "board(word='xyz')": (InputError, "WordBoard", "xyz"), "board(word='abcabc')": (InputError, "WordBoard"),
    "board(word=3)": (TypeMismatchError, "WordBoard"), "board(most=0)": (InputError, "WordBoard"),
    "board(look=None)": (TypeMismatchError, "WordBoard"), "board(make=1)": (TypeMismatchError, "WordBoard"),
    "board(temperature=0.0)": (InputError, "WordBoard"), "board(temperature=float('nan'))": (InputError, "WordBoard"),
    "board(letters=5)": (TypeMismatchError, "WordBoard"),
}, globals())  # fmt: skip
def test_bad_descriptions(refusal):
    refusal.check()


# ---- the picture of the scene `microgpt`

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


@pytest.mark.parametrize("height", [690, 800])
@pytest.mark.parametrize("word", ["olivia", "wmwmwm", "lilili"])
def test_letters_beside_a_map_are_apart_and_the_chosen_one_stands_there(scene, height, word):
    letters = [text for text in texts(shown(scene, (1280, height), word=word).sketches) if text.size == 12]
    assert {text.text for text in letters if text.bold} == {word[5]}
    for one, other in combinations(letters, 2):
        high = abs(one.y - other.y) >= 9.5
        assert high or max(one.left, other.left) >= min(one.left + one.width, other.left + other.width)
        if round(one.left + one.width / 2, 1) == round(other.left + other.width / 2, 1):
            assert high


def test_several_layers_and_narrow_pictures_are_not_spread(scene, build):
    for bench in (shown(build(layers=2)), shown(scene, (720, 1280))):
        assert (bench.spread, "reads olivia" in said(bench)) == (False, True)


def test_turned_by_hand_it_shows_plates_alone_and_comes_back(scene):
    bench = shown(scene)
    bench.orbit(60, 0)
    found = said(again(bench))
    assert bench.scenery.blueprint is None
    assert "head 1" not in found
    assert {"next letter", "new names", "up"} <= set(found)  # names stay
    bench.fit_camera()
    assert "head 1" in said(again(bench))


def test_the_strip_and_the_stream_are_rows_of_the_runs_own_stages(scene):
    bench = shown(scene)
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


def test_new_names_enter_while_it_runs_and_at_a_pause_all_are_of_what_is_shown(build):
    made = build()
    bench = bench_of(made)
    names, seen = drawer_of(bench).names, set()
    assert len(names.words) == 5
    for _ in range(60):
        made.run.step(1)
        again(bench, 0.1)
        seen.add(tuple(names.words))
        steps = [int(text.removeprefix("step ").replace(",", "")) for text in said(bench) if text.startswith("step ")]
        assert steps == sorted(steps)
        assert all(0 <= step <= made.run.steps for step in steps)
    assert len(seen) > 10
    for _ in range(7):  # it pauses: they are those that the closing sentence tells
        again(bench, 0.1)
    claim = made.story.claim(Moment(bench.subject.frame(), bench.subject.source))
    assert claim == f"They now invent {', '.join(word or 'nothing' for word in names.words[:3])}."
    assert not any(text.startswith("step ") for text in said(bench))


def middle_of(hand, wanted):
    return hand.middle(next(spot.box for spot in drawer_of(hand.bench).spots if wanted(spot)))


def test_a_word_is_typed_without_pointing_and_letters_and_maps_are_clicked(build):
    with live_hand(build(), (1280, 800), steps=50) as hand:
        hand.do("step", 5)
        drawer, colouring = drawer_of(hand.bench), hand.bench.colouring
        state, (_, top, *_) = drawer.state, next(spot.box for spot in drawer.spots if spot.name == "field")
        hand.key("g")
        assert colouring.quantity == "gradient"  # nothing is being typed: letters are keys
        hand.key("e")
        hand.type("wgcf")
        assert (state.typing, state.word, colouring.quantity) == (True, "wgcf", "gradient")  # letters did nothing else
        step = hand.view.frame().step
        assert hand.key("Right").step == step + 1
        hand.key("Return")
        hand.key("w")
        assert (state.typing, state.word, colouring.quantity) == (False, "wgcf", "weight")
        hand.press(middle_of(hand, lambda spot: spot.name == "field"))
        hand.type("i")
        hand.settled()
        hand.press(middle_of(hand, lambda spot: spot.value == 0 and spot.box[1] > top))
        assert (state.typing, state.word, state.chosen) == (True, "i", 0)
        hand.key("Escape")
        assert (state.typing, state.word) == (False, "wgcf")
        hand.press(middle_of(hand, lambda spot: spot.value == 3 and spot.box[1] < top))
        assert (state.chosen, hand.bench.selected) == (3, None)


def test_inside_a_step_a_click_on_a_map_chooses_head_and_letter_of_the_word_of_the_step(build):
    with live_hand(build(), (1280, 800), steps=50) as hand:
        hand.do("step", 5)
        for _ in range(6):
            hand.do("micro_next")
        hand.settled()
        drawer = drawer_of(hand.bench)
        name = next(name for name, own in hand.bench.side.drawers.items() if own is drawer)
        for head, letter in ((2, 3), (0, 6), (3, 1)):
            hand.press(middle_of(hand, lambda spot, own=(f"letter {head}", letter): (spot.name, spot.value) == own))
            hand.settled()
            assert (drawer.state.head, drawer.state.chosen) == (head, letter)
            title = f"head {head + 1}: “{'olivia'[letter - 1]}” looks back"
            assert title in [text.text for text in texts(hand.bench.side.drawn(name))]
        hand.key("e")
        hand.type("bo")
        hand.key("Return")
        hand.settled()
        said = [text.text for text in texts(hand.bench.side.drawn(name))]
        assert {"head 4: “a” looks back", "of olivia"} <= {*said}  # the step is of its own word
        hand.do("whose")
        hand.settled()
        assert "of olivia" in [text.text for text in texts(hand.bench.side.drawn(name))]
        for _ in range(30):
            hand.do("micro_next")
