"""A word to type: what its panel shows, and what keys and clicks do."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import again, bench_of, said
from kit.refusals import refusals
from kit.windows import make_colour_run
from scalarviz.errors import InputError, TypeMismatchError
from scalarviz.run.panels import Invented, Reading, WordBoard

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
def bench(request):
    with make_colour_run() as run:
        run.step(3)
        yield bench_of(sv.Scene("s", run, panels=(board(**getattr(request, "param", {})),)))


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


def test_letters_go_to_the_word_and_others_do_not(bench, drawer):
    assert not drawer.key("C", "c")  # nothing is being typed: it is a key of the window
    drawer.begin_typing()
    assert drawer.key("C", "c")
    bench.update(bench._frame)  # the run stands: all of it is of the word that was typed
    assert {"reads c", "after c", "80 %"} <= set(said(bench))
    assert "after b" not in said(bench)
    assert all(drawer.key(letter.upper(), letter) for letter in "aaba")  # the last one has no room
    assert drawer.state.word == "caab"
    with pytest.raises(InputError, match="x is no letter"):
        drawer.key("X", "x")
    assert not any(drawer.key(name, text) for name, text in (("Space", " "), ("Right", ""), ("3", "3")))
    for keys, word in ((("Backspace", "Enter"), "caa"), (("C", "Escape"), "caa"), (("Backspace", "B", "Enter"), "cab")):
        if not drawer.typing:
            drawer.begin_typing()
        assert all(drawer.key(key, key.lower() if len(key) == 1 else "") for key in keys)
        assert (drawer.typing, drawer.state.word) == (False, word)
    assert (drawer.let_go(), drawer.let_go()) == (True, False)
    assert "reads ab" in said(again(bench))


def test_a_click_looks_at_a_letter_and_the_temperature_moves_within_its_bounds(bench, drawer):
    x, y, _, _ = drawer.box
    assert not drawer.click((x + 10, y + 200))
    for left, steps, after, words in ((10, -3, "the beginning", "0.3"), (50, 30, "a", "2.0"), (50, -50, "a", "0.1")):
        assert drawer.click((x + left, y + 30))
        drawer.warm(steps)
        assert {f"after {after}", f"temperature {words}", f"made{words}"} <= set(said(again(bench)))


NOWHERE = {"look": lambda moment, word: Reading(np.full((1, 3, 3), np.nan), np.full((3, 4), np.nan))}


@pytest.mark.parametrize("bench", [NOWHERE], indirect=True)
def test_numbers_that_are_not_finite_are_said(bench):
    assert "what it says is no longer finite" in said(bench)


@refusals({
    "board(word='xyz')": (InputError, "WordBoard", "xyz"), "board(word='abcabc')": (InputError, "WordBoard"),
    "board(word=3)": (TypeMismatchError, "WordBoard"), "board(most=0)": (InputError, "WordBoard"),
    "board(look=None)": (TypeMismatchError, "WordBoard"), "board(make=1)": (TypeMismatchError, "WordBoard"),
    "board(temperature=0.0)": (InputError, "WordBoard"), "board(temperature=float('nan'))": (InputError, "WordBoard"),
    "board(letters=5)": (TypeMismatchError, "WordBoard"),
}, globals())  # fmt: skip
def test_bad_descriptions(refusal):
    refusal.check()
