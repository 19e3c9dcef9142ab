"""Bad weather for the player: a lost context, a hidden tab, other sizes, many players, names that are no names."""

from __future__ import annotations

import numpy as np
import pytest
from scalarviz.scenes import rgb

from scalarviz.view.shown.subject import subject_of

from .players import SIZE, Pages, same, window


@pytest.fixture
def bare(page):
    """A page of its own for each test: the pointer stays where a hand has left it."""
    return page


@pytest.fixture(scope="module")
def one_layer():
    scene = rgb.build(rgb.Options(engine="numpy"))
    scene.run.step(5)
    subject = subject_of(scene)
    return subject, subject.frame()


@pytest.fixture
def played(scripts, one_layer):
    pages = Pages(scripts)
    subject, frame = one_layer
    pages.play(subject)
    pages.show(frame)
    pages.pixels()
    return pages


def test_a_lost_context_comes_back(played, one_layer):
    page, before = played.page, played.pixels()
    page.evaluate("""() => { window.told = [];
        for (const name of ["lost", "restored"]) player.on(name, () => told.push(name));
        window.lose = player.graphics.gl.getExtension("WEBGL_lose_context"); lose.loseContext(); }""")
    page.wait_for_function("told.length === 1")
    page.evaluate("player.draw(); player.quantity = 'gradient'; player.quantity = 'weight'; lose.restoreContext()")
    page.wait_for_function("told.length === 2")
    assert page.evaluate("told") == ["lost", "restored"]
    assert same(played.pixels(), before) == 1.0
    played.show(one_layer[0].frame())
    assert same(played.pixels(), window(*one_layer)) > 0.99


def test_fifty_players_leave_nothing(played, one_layer):
    """A browser keeps sixteen contexts, and takes the oldest one away for a seventeenth."""
    page = played.page
    page.evaluate("""() => { window.lost = 0; player.on("lost", () => lost++); const given = player.document;
        for (let k = 0; k < 50; k++) {
            const other = new Player(framed([200, 150]), given, { density: 0.2 });
            if (k % 10 === 0) { other.show(player.frame); other.draw(); }
            other.dispose(); other.dispose();
        } }""")
    assert page.evaluate("[lost, document.querySelectorAll('canvas').length]") == [0, 2]
    assert same(played.pixels(), window(*one_layer)) > 0.99


def test_two_on_one_page_know_nothing_of_each_other(played, one_layer):
    page = played.page
    page.evaluate("""() => { window.first = player;
        window.player = new Player(framed([320, 200]), first.document, { density: 1, theme: "light" });
        player.show(first.frame); player.quantity = "gradient"; player.pose = { az: 40 }; player.selected = 3; }""")
    played.pixels()
    assert page.evaluate("[first.quantity, first.theme, first.selected]") == ["weight", "dark", None]
    page.evaluate("player.dispose(); window.player = first")
    assert same(played.pixels(), window(*one_layer)) > 0.99


def test_a_hidden_tab_draws_nothing_and_then_the_newest(played):
    page = played.page
    page.evaluate("""() => { window.hide = (hidden) => {
            Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
            document.dispatchEvent(new Event("visibilitychange")); };
        window.drawn = []; player.on("drawn", (frame) => drawn.push(frame.step));
        hide(true); for (let step = 1; step < 90; step++) player.show({ ...player.frame, step }); }""")
    page.wait_for_timeout(120)
    assert page.evaluate("drawn") == []
    page.evaluate("hide(false)")
    page.wait_for_function("drawn.length > 0")
    assert page.evaluate("drawn[0]") == 89


def test_none_is_queued_the_newest_wins(played):
    played.page.evaluate("""() => { window.drawn = []; player.on("drawn", (frame) => drawn.push(frame.step));
        for (let step = 1; step <= 500; step++) player.show({ ...player.frame, step }); }""")
    played.page.wait_for_function("drawn.includes(500)")
    assert played.page.evaluate("drawn.filter((step) => step !== 500).length") == 0


@pytest.mark.parametrize("size", [(1, 1), (40, 30), (120, 400), (900, 120), (1270, 700)])
def test_it_follows_every_size(played, size):
    page = played.page
    page.evaluate("([w, h]) => { Object.assign(player.root.style, { width: `${w}px`, height: `${h}px` }); }", size)
    page.wait_for_function("([w, h]) => player.canvas.width === w && player.canvas.height === h", arg=size)
    picture = played.pixels()
    assert picture.shape == (size[1], size[0], 3)
    assert size[0] < 40 or np.ptp(picture.reshape(-1, 3), axis=0).max() > 100  # cubes are there
    page.mouse.move(size[0] / 2, size[1] / 2)
    page.mouse.wheel(0, -200)
    played.pixels()


def test_two_pixels_of_a_screen_for_one_of_the_page(chromium, complaints, one_layer, monkeypatch):
    """The picture is as sharp as the screen, and pointers count in pixels of the page."""
    from scalarviz.view.page.scripts import joined

    context = chromium.new_context(viewport={"width": 700, "height": 500}, device_scale_factor=2, offline=True)
    page = context.new_page()

    def load(*names):
        page.set_content("<!doctype html><title>two</title><body></body>")
        page.add_script_tag(content=joined(*names))
        return page

    subject, frame = one_layer
    try:
        pages = Pages(load)
        pages.play(subject, density=2)
        pages.show(frame)
        picture = pages.pixels()
        assert picture.shape == (2 * SIZE[1], 2 * SIZE[0], 3)
        assert page.evaluate("[player.overlay.ink.canvas.width, player.view.width]") == [2 * SIZE[0], SIZE[0]]
        at = page.evaluate(
            "project(player.view.camera, pointOf(player.document.plates[0], 4, [0, 0, 0.4])).slice(0, 2)"
        )
        page.mouse.move(*at)
        page.wait_for_function("player.hovered === 4")
    finally:
        context.close()
    assert not complaints


def test_names_are_text_and_nothing_else(scripts):
    """A file may call its weights what it likes: nothing of it becomes a part of the page."""
    pages = Pages(scripts)
    nasty = '<img src=x onerror="window.taken = 1"></script><script>window.taken = 2</script>'
    subject = subject_of({nasty: np.ones((2, 2)), "__proto__": np.ones(3), "constructor": np.ones(2)})
    pages.play(subject)
    pages.show(subject.frame())
    before = pages.page.evaluate("document.querySelectorAll('*').length")
    pages.pixels()
    at = pages.page.evaluate("project(player.view.camera, pointOf(player.document.plates[0], 0)).slice(0, 2)")
    pages.page.mouse.move(*at)
    pages.page.wait_for_function("player.hovered !== null")
    pages.page.wait_for_timeout(50)
    assert pages.page.evaluate("[window.taken, document.querySelectorAll('*').length]") == [None, before]
    assert pages.page.evaluate("player.overlay.around.placed.every(([, move]) => move([0, 0]).every(Number.isFinite))")
    names = pages.page.evaluate("player.document.tensors.map((tensor) => parameterName(player.document, tensor.start))")
    assert names == [f"{nasty}[0][0]", "__proto__[0]", "constructor[0]"]
