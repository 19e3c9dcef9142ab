"""The player: what a hand, a frame and a look do to the picture."""

from __future__ import annotations

import pytest
from scalarviz.scenes import rgb

from scalarviz.view.shown.subject import subject_of

from .players import Pages, same, window


@pytest.fixture
def bare(page):
    """A page of its own for each test: the pointer stays where a hand has left it."""
    return page


@pytest.fixture
def pages(scripts):
    return Pages(scripts)


@pytest.fixture
def played(pages):
    """One layer of rgb after 20 steps, and the frame that is shown."""
    scene = rgb.build(rgb.Options(engine="numpy"))
    scene.run.step(20)
    subject = subject_of(scene)
    frame = subject.frame()
    pages.play(subject)
    pages.show(frame)
    pages.pixels()
    return pages, subject, frame


def middle(pages, index):
    """Where the middle of a cube's main face is, in CSS pixels."""
    return pages.page.evaluate(
        """(index) => { const { plates } = player.document;
        const plate = plates.find((one) => index >= one.start && index < one.start + one.size);
        const top = pointOf(plate, index - plate.start, [0, 0, plate.depth]);
        return project(player.view.camera, top).slice(0, 2); }""",
        index,
    )


def test_pointer_and_click_find_every_cube(played):
    pages, _, _ = played
    page = pages.page
    for index in range(12):
        at = middle(pages, index)
        page.mouse.move(*at)
        page.wait_for_function("(index) => player.hovered === index", arg=index)
    page.mouse.click(*at)
    assert page.evaluate("player.selected") == 11
    page.mouse.click(*at)
    assert page.evaluate("player.selected") is None


def test_a_drag_turns_the_wheel_zooms_and_fit_goes_back(played):
    pages, _, _ = played
    page = pages.page
    home = pages.pixels()
    page.mouse.move(300, 200)
    page.mouse.down()
    page.mouse.move(360, 220)
    page.mouse.up()
    pose = page.evaluate("player.pose")
    assert pose["az"] == pytest.approx(pages.document["pose"]["az"] - 24.0)
    assert pose["el"] == pytest.approx(pages.document["pose"]["el"] + 8.0)
    page.mouse.wheel(0, -100)
    page.wait_for_function("(scale) => player.pose.scale > scale", arg=pose["scale"])
    assert same(pages.pixels(), home) < 0.9
    page.evaluate("player.fit()")
    page.wait_for_function("JSON.stringify(player.pose) === JSON.stringify(player.document.pose)")
    assert same(pages.pixels(), home) == 1.0


def test_quantity_and_theme(played):
    pages, subject, frame = played
    for quantity in ("gradient", "|gradient|", "update", "update/value"):
        pages.page.evaluate("(name) => { player.quantity = name; }", quantity)
        assert same(pages.pixels(), window(subject, frame, quantity=quantity)) > 0.99, quantity
    pages.page.evaluate("player.theme = 'light'; player.quantity = 'weight'")
    assert same(pages.pixels(), window(subject, frame, theme="light")) > 0.99
