"""A word to type: what its panel shows, and what keys and clicks do."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError, TypeMismatchError
from scalarviz.run.panels import Invented, LossCurve, Reading, WordBoard
from scalarviz.view.ink.sketch import rgba
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.workbench import Workbench

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


@pytest.fixture
def run():
    net = nn.Linear(2, 1, seed=1)
    made = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (np.eye(2), np.eye(2)[:, :1]), engine="numpy")
    made.step(3)
    yield made
    made.close()


@pytest.fixture
def bench(run):
    with offscreen():
        found = Workbench(
            sv.Scene("s", run, panels=(WordBoard("ab", LETTERS, 4, look, make), LossCurve())), (1280, 720)
        )
        found.update(found.subject.frame())
    return found


def words(bench):
    return [t.text for sketch in bench.sketches for t in sketch.texts]


def drawer_of(bench):
    return bench.side.drawers["word"]


def again(bench):
    with offscreen():
        bench.update(bench.subject.frame())
    return words(bench)


def test_it_shows_what_the_functions_say_of_this_moment(bench, run):
    said = words(bench)
    assert {"reads ab", "start", "a", "b", "after b", "80 %", "7 %", "temperature 0.6", "made0.6"} <= set(said)
    run.step(1)
    assert "90 %" in again(bench)


def test_letters_go_to_the_word_and_others_do_not(bench):
    drawer = drawer_of(bench)
    assert not drawer.key("C", "c")  # nothing is being typed: it is a key of the window
    drawer.begin_typing()
    assert drawer.key("C", "c")
    assert "reads c" in again(bench)
    assert all(drawer.key(letter.upper(), letter) for letter in "aab")
    assert (drawer.state.word, drawer.state.chosen) == ("caab", 4)
    assert drawer.key("A", "a")  # full: taken, and nothing else happens with it
    assert drawer.state.word == "caab"
    assert drawer.key("Backspace", "")
    assert drawer.state.word == "caa"
    with pytest.raises(InputError, match="x is no letter"):
        drawer.key("X", "x")
    assert not drawer.key("Space", " ")
    assert not drawer.key("Right", "")
    assert not drawer.key("3", "3")
    assert drawer.key("Enter", "")
    assert not drawer.typing
    assert not drawer.key("B", "b")
    assert drawer.let_go()
    assert not drawer.let_go()
    assert "reads ab" in again(bench)


def test_escape_leaves_the_word_as_it_was(bench):
    drawer = drawer_of(bench)
    drawer.begin_typing()
    assert drawer.key("C", "c")
    assert drawer.key("Escape", "")
    assert not drawer.typing
    assert drawer.state.word == "ab"
    drawer.begin_typing()
    assert drawer.key("Backspace", "")  # goes on with the word that stands there
    assert drawer.key("C", "c")
    assert drawer.state.word == "ac"


def test_a_key_is_answered_while_the_run_stands(bench):
    """The frame is the same: what stands there is of the word that was typed, all of it."""
    drawer, frame = drawer_of(bench), bench.subject.frame()
    with offscreen():
        bench.update(frame)
        drawer.begin_typing()
        assert drawer.key("C", "c")
        bench.update(frame)
    said = words(bench)
    assert {"reads c", "after c", "80 %"} <= set(said)
    assert "after b" not in said


def test_the_temperature_moves_within_its_bounds(bench):
    drawer = drawer_of(bench)
    for _ in range(3):
        drawer.warm(-1)
    assert {"temperature 0.3", "made0.3"} <= set(again(bench))
    for _ in range(30):
        drawer.warm(1)
    assert "temperature 2.0" in again(bench)


def test_a_click_looks_at_a_letter(bench):
    drawer = drawer_of(bench)
    x, y, _, _ = drawer.box
    assert drawer.click((x + 10, y + 30))
    assert "after the beginning" in again(bench)
    assert drawer.state.chosen == 0
    assert drawer.click((x + 50, y + 30))
    assert "after a" in again(bench)
    assert not drawer.click((x + 10, y + 200))


def test_the_diagonal_of_the_maps_is_bright(bench):
    pixels = offscreen().render(bench.draw, bench.size).astype(int)
    x, y, _, _ = drawer_of(bench).box
    cell, top = 24, y + 22 + 26 + 10
    at = [
        [pixels[int(top + cell * (row + 0.5)), int(x + cell * (column + 0.5)), :3] for column in range(3)]
        for row in range(3)
    ]
    for row in range(3):
        assert (at[row][row] > 240).all()
        for column in range(row):
            assert (np.abs(at[row][column] - 0.16 * 255) < 6).all()
    paper = np.array(rgba(bench.theme.background)[:3]) * 255 if hasattr(bench, "theme") else at[0][1]
    assert np.abs(at[0][1] - paper).max() < 25


def test_numbers_that_are_not_finite_are_said(run):
    def broken(moment, word):
        return Reading(np.full((1, 3, 3), np.nan), np.full((3, 4), np.nan))

    with offscreen():
        bench = Workbench(sv.Scene("s", run, panels=(WordBoard("ab", LETTERS, 4, broken, make),)), (1280, 720))
        bench.update(bench.subject.frame())
    assert "what it says is no longer finite" in words(bench)


@pytest.mark.parametrize(
    ("change", "kind"),
    [({"word": "xyz"}, InputError), ({"word": "abcabc"}, InputError), ({"word": 3}, TypeMismatchError),
     ({"most": 0}, InputError), ({"look": None}, TypeMismatchError), ({"make": 1}, TypeMismatchError),
     ({"temperature": 0.0}, InputError), ({"temperature": float("nan")}, InputError),
     ({"letters": 5}, TypeMismatchError)],
)  # fmt: skip
def test_bad_descriptions(change, kind):
    given = {"word": "ab", "letters": LETTERS, "most": 4, "look": look, "make": make}
    with pytest.raises(kind, match="WordBoard"):
        WordBoard(**{**given, **change})
