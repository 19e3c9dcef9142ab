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
from scalarviz.run.sources.played import RecordedSource
from scalarviz.view.ink.listed import short
from scalarviz.view.ink.painter import Painter
from scalarviz.view.ink.theme import DARK
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.page.document import document_of, laid_out
from scalarviz.view.page.page import parts_of
from scalarviz.view.page.recorded import html_of
from scalarviz.view.panels.drawer import Setting
from scalarviz.view.panels.word import WordState, percent
from scalarviz.view.panels.word import scene as drawn_among
from scalarviz.view.shown.subject import subject_of

from .players import opened, pixels_of, scene


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


def painted(sketches, size, ground):
    painter = Painter((float(size[0]), float(size[1])))

    def draw(_):
        painter.background(ground, ground)
        painter.draw(sketches)

    with offscreen():
        return offscreen().render(draw, size).astype(int)


def window(one, frame, size, chosen):
    """What the window draws among the cubes of this layout, and where that hides what is behind; its texts apart."""
    subject = subject_of(one)
    layout = (laid := laid_out(subject, size, DARK, strip=False)).layout
    plates = {plate.name: plate for plate in layout.plates}
    wide, high = map(float, size)
    setting = Setting(layout.blueprint, plates, laid.project, (0.0, 0.0, wide, high), (0.0, high, 0.0, 0.0))
    panel, reading = read_at(one, frame)
    state = WordState(panel.letters, panel.word, chosen)
    sketches = drawn_among(setting, layout.blueprint, DARK, state, reading)
    words = {(one.text, *short((one.x, one.y)), one.size) for sketch in sketches for one in sketch.texts}
    for sketch in sketches:
        sketch.texts.clear()
    black, white = (painted(sketches, size, colour) for colour in ("#000000", "#ffffff"))
    hides = (np.abs(black - white) <= 1).all(axis=-1)
    for shift, axis in ((1, 0), (-1, 0), (1, 1), (-1, 1)):  # both smooth their edges, each in its own way
        hides &= (np.abs(np.roll(black, shift, axis) - black) <= 2).all(axis=-1)
    return black, hides, words


def test_it_is_drawn_as_in_the_window(page, made):
    one, memory, path = made
    opened(page, path, "#frame=2")
    page.wait_for_function("() => scalarviz.player.overlay && document.querySelector('.words .names li')")
    size = tuple(page.evaluate("scalarviz.player.document.size"))
    page.evaluate(
        """([wide, high]) => Object.assign(document.getElementById('cubes').style,
            { inset: 'auto', width: `${wide}px`, height: `${high}px` })""", size
    )  # fmt: skip
    page.wait_for_function(
        "([wide, high]) => scalarviz.player.view.width === wide && scalarviz.player.view.height === high", arg=size
    )
    for chosen in (6, 2):
        url, written = page.evaluate("""chosen => {
            const { player } = scalarviz, { ink } = player.overlay, written = [];
            ink.text = (x, y, text, size) => written.push([text, x, y, size]);
            document.querySelectorAll('.words .next button')[chosen].click();
            player.draw();
            return [ink.canvas.toDataURL(), written];
        }""", chosen)  # fmt: skip
        mine = pixels_of(url, "RGBA")
        there, hides, words = window(one, memory.frame(2), size, chosen)
        assert words <= {tuple(one) for one in written}
        assert hides.sum() > 8_000
        near = (np.abs(mine[..., :3] - there) <= 2).all(axis=-1) & (mine[..., 3] >= 253)
        assert near[hides].mean() > 0.99


def test_its_words_are_those_of_the_frame(page, made):
    one, memory, path = made
    opened(page, path, "#frame=1")
    source = subject_of(one).source
    for frame in (1, 3):
        page.evaluate("frame => scalarviz.go(frame)", frame)
        page.evaluate("scalarviz.player.draw()")
        panel, reading = read_at(one, memory.frame(frame))
        page.wait_for_function("frame => document.querySelector('.names li') && scalarviz.frame === frame", arg=frame)
        names = page.locator(".words .names li").all_inner_texts()
        moment = Moment(memory.frame(frame), source)
        assert names == [panel.make(moment, panel.temperature, k).word or "-" for k in range(5)]
        cells = page.locator(".words .next ol").all()
        assert len(cells) == len(panel.word) + 1
        for place, cell in enumerate(cells):
            lines = [line.inner_text().split() for line in cell.locator("li").all()]
            best = np.argsort(reading.likely[place], kind="stable")[::-1][:5]
            shares = [float(np.float32(reading.likely[place][k])) for k in best]
            own = [*panel.word, "end"][place]  # the word's own letter, of which the loss is made, has three digits
            wanted = [f"{100 * share:.3g}" if name == own else percent(share)
                      for share, (name, _) in zip(shares, lines, strict=False)]  # fmt: skip
            assert [share for _, share in lines[:4]] == wanted[:4]


def test_a_small_page_has_words_without_a_plan(page, made, tmp_path):
    one, memory, _ = made
    (tmp_path / "run.html").write_text(html_of(memory, scene=one, size=(700, 400)), encoding="utf-8")
    opened(page, tmp_path / "run.html", "#frame=1")
    page.wait_for_function("() => document.querySelector('.words .names li')")
    assert page.evaluate("scalarviz.player.overlay.around.plan?.seen ?? null") is None


def test_an_opened_step_of_letters_has_their_panel_and_closing_it_brings_them_back(page, tmp_path):
    one = scene("microgpt", embd=8, heads=2, batch=4)
    with sv.Recording(one, activations=True, panels=True, path=tmp_path / "run.svz") as recording:
        one.run.step(2)
    with recording.read() as memory:
        html = html_of(memory, memory.pictures, scene=one, open=[int(memory.steps[1])])
    (tmp_path / "run.html").write_text(html, encoding="utf-8")
    opened(page, tmp_path / "run.html", "#frame=1")
    page.wait_for_function("() => document.querySelector('.words .names li')")
    page.keyboard.press(".")
    assert page.is_visible("#inside")
    page.keyboard.press("Escape")
    page.locator(".words .next button").nth(2).click()
    assert page.locator("section.words").bounding_box()["x"] > page.locator("#cubes").bounding_box()["width"]


def test_what_is_not_finite_is_said(page, made, tmp_path):
    one = scene("microgpt", embd=8, heads=2, batch=4)
    with sv.Recording(one, every=1) as recording, np.errstate(all="ignore"):
        one.run.lr = 1e30
        with contextlib.suppress(DivergedError):
            one.run.step(3)
        with recording.read() as memory:
            (tmp_path / "run.html").write_text(html_of(memory, scene=one), encoding="utf-8")
    opened(page, tmp_path / "run.html", "#frame=9")
    page.wait_for_function("() => document.querySelector('.names .none')")
    assert page.locator(".names .none").inner_text() == "the network's numbers are not finite"


def test_layers_of_a_page_turn_where_the_windows_do(tmp_path):
    """As a live cell has them: a page has no panel that asks for it."""
    one = scene("playground")
    with sv.Recording(one, every=2, activations=True) as recording:
        one.run.step(4)
        with recording.read() as memory:
            wanted, plain = document_of(one, (888, 496)), document_of(subject_of(RecordedSource(memory)), (888, 496))
            turned = document_of(subject_of(RecordedSource(memory)), (888, 496), turned=parts_of(one).turned)
            html = html_of(memory, scene=one)
    places = [[plate["origin"] for plate in made["plates"]] for made in (wanted, turned, plain)]
    assert places[0] == places[1] != places[2]
    assert "only the window shows the maps of single units" in told_in(html)["about"]["line"]


def test_a_panel_above_the_cubes_is_above_them_in_a_page_too(page, tmp_path):
    one = scene("neuron")
    with sv.Recording(one, activations=True) as recording:
        one.run.step(2)
        opened(page, recording.save_html(tmp_path / "neuron.html"))
    curve, cubes = (page.locator(name).bounding_box() for name in ("#above canvas", "#cubes"))
    assert curve["width"] > 800
    assert curve["y"] + curve["height"] <= cubes["y"]
    assert page.locator("#pictures canvas").count() == 2


def told_in(html):
    text = html.partition('id="run">')[2].partition("<")[0]
    return json.loads(zlib.decompress(bytes_of(text), -15))
