"""A network that reads a word, in a page: its letters and its attention as the window draws them, of every frame."""

from __future__ import annotations

import contextlib
import json
import zlib

import numpy as np
import pytest

import scalarviz as sv
from kit.unpacked import bytes_of
from scalarviz.errors import DivergedError
from scalarviz.run import Moment
from scalarviz.run.panels import WordBoard
from scalarviz.view.page.recorded import html_of
from scalarviz.view.panels.word import MOST, percent
from scalarviz.view.shown.subject import subject_of

from .players import opened, painted, scene


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A scene, its recording, and its page."""
    one = scene("microgpt", embd=8, heads=2, batch=4)
    with sv.Recording(one, every=2) as recording:
        one.run.step(6)
    memory = sv.load_recording(recording.path)
    memory.file = recording
    path = tmp_path_factory.mktemp("letters") / "run.html"
    path.write_text(html_of(memory, scene=one), encoding="utf-8")
    yield one, memory, path
    memory.close()


def read_at(one, frame):
    panel = next(panel for panel in one.panels if isinstance(panel, WordBoard))
    return panel, panel.look(Moment(frame, subject_of(one).source), panel.word)


def choose(page, letter):
    """Press a letter of the word, by its number; 0 is its beginning."""
    page.locator("#spots button").nth(letter).click()
    page.evaluate("scalarviz.player.draw()")


def test_its_words_are_those_of_the_frame_and_of_the_letter_that_is_pressed(page, made):
    one, memory, path = made
    opened(page, path, "#frame=1")
    for frame, letter in ((1, 6), (1, 2), (3, 2), (3, 0)):
        page.evaluate("frame => scalarviz.go(frame)", frame)
        choose(page, letter)
        panel, reading = read_at(one, memory.frame(frame))
        words = painted(page)
        moment = Moment(memory.frame(frame), subject_of(one).source)
        for k in range(MOST):
            assert " ".join(panel.make(moment, panel.temperature, k).word) in words  # each letter has its own strength
        for place, likely in enumerate(reading.likely):
            own = len(panel.letters) if place == len(panel.word) else panel.letters.index(panel.word[place])
            for k in np.argsort(likely, kind="stable")[::-1][:4]:
                share = float(likely[k])
                wanted = f"{100 * share:.3g}" if k == own else percent(share)  # the word's own has three digits
                assert wanted in words, (frame, place, wanted)
        assert page.evaluate("scalarviz.letter") == letter


def test_each_letter_has_its_own_row_of_attention(page, made):
    one, memory, path = made
    opened(page, path, "#frame=2")
    panel, reading = read_at(one, memory.frame(2))
    cells = """letter => scalarviz.run.lists.at(2, "weight", 0, letter).filter(([kind]) => kind === "cells")
        .map(([, , fills]) => (fills.match(/.{6}/g) ?? []).map(one => parseInt(one.slice(0, 2), 16)))"""
    count = len(panel.word) + 1
    for letter in (2, count - 1):
        maps = [one for one in page.evaluate(cells, letter) if len(one) == count * (count + 1) // 2]
        assert len(maps) == len(reading.attention)
        for head, greys in zip(reading.attention, maps, strict=True):
            shares = head[np.tril_indices(count)]
            assert np.all(
                np.diff(np.array(greys)[np.argsort(shares, kind="stable")]) >= 0
            )  # the stronger, the brighter
    rings = """letter => JSON.stringify(scalarviz.run.lists.at(2, "weight", 0, letter))"""
    assert page.evaluate(rings, 2) != page.evaluate(rings, 3)


def test_an_opened_step_of_letters_has_their_panel_and_closing_it_brings_them_back(page, tmp_path):
    one = scene("microgpt", embd=8, heads=2, batch=4)
    with sv.Recording(one, activations=True, panels=True, path=tmp_path / "run.svz") as recording:
        one.run.step(2)
    with recording.read() as memory:
        html = html_of(memory, memory.pictures, scene=one, open=[int(memory.steps[1])])
    (tmp_path / "run.html").write_text(html, encoding="utf-8")
    opened(page, tmp_path / "run.html", "#frame=1")
    choose(page, 1)
    page.keyboard.press(".")
    assert page.is_visible("#inner")
    assert page.locator("#spots button[aria-label=forward]").count() == 1
    page.keyboard.press("Escape")
    choose(page, 2)
    assert page.evaluate("[scalarviz.letter, scalarviz.walk]") == [2, None]


def test_what_is_not_finite_is_said(page, made, tmp_path):
    one = scene("microgpt", embd=8, heads=2, batch=4)
    with sv.Recording(one, every=1) as recording, np.errstate(all="ignore"):
        one.run.lr = 1e30
        with contextlib.suppress(DivergedError):
            one.run.step(3)
        with recording.read() as memory:
            (tmp_path / "run.html").write_text(html_of(memory, scene=one), encoding="utf-8")
    opened(page, tmp_path / "run.html", "#frame=9")
    assert "the network's numbers are not finite" in painted(page)


def test_maps_of_single_units_are_said_to_be_missing():
    one = scene("playground")
    with sv.Recording(one, every=2, activations=True) as recording:
        one.run.step(4)
        with recording.read() as memory:
            html = html_of(memory, scene=one)
    assert "only the window shows the maps of single units" in told_in(html)["about"]["line"]


def test_a_panel_above_the_cubes_is_above_them_in_a_page_too_and_below_all_on_a_telephone(page, tmp_path):
    one = scene("neuron")
    with sv.Recording(one, activations=True) as recording:
        one.run.step(2)
        opened(page, recording.save_html(tmp_path / "neuron.html"))
    film, top = page.evaluate("""() => { const { frame, document } = scalarviz.player;
        return [frame.list.find(([kind, , , wide]) => kind === "film" && wide > 320), document.scene[1]]; }""")
    assert film[5] == "loss over weights"
    assert film[2] + film[4] <= top
    everywhere = """() => [...scalarviz.player.frame.list.filter(([kind]) => kind === "film").map(film => film[5]),
        ...scalarviz.pictures.shown.filter(({ figure }) => !figure.hidden).map(({ name }) => name)]"""
    names = page.evaluate("scalarviz.pictures.shown.map(({ name }) => name)")
    assert sorted(page.evaluate(everywhere)) == sorted(names)
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_function("() => scalarviz.shape === 1")
    page.evaluate("scalarviz.go(1)")
    assert sorted(page.evaluate(everywhere)) == sorted(names)
    assert page.locator("#pictures .wide:visible").count() == 1  # as large as it was drawn


def told_in(html):
    text = html.partition('id="run">')[2].partition("<")[0]
    return json.loads(zlib.decompress(bytes_of(text), -15))
