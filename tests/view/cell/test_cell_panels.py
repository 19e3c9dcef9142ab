"""Pictures of the scene's panels in a cell of numbers: what they show, when they are drawn, what goes to the page."""

import base64
import io
import itertools

import numpy as np
import pytest
from PIL import Image

import scalarviz as sv
from kit.commands import make_scene
from scalarviz.view.cell.panels import CellPanels
from scalarviz.view.ink.theme import get_theme
from scalarviz.view.panels.image import AIR

pytestmark = pytest.mark.gl

PHOTO = (952, 24, 304, 117)
"""Where a window of 1280 x 720 has the photo of rgb: x, y, width, height."""


def pixels(page):
    kind, _, data = page.known["panel pictures"].partition(",")
    assert kind == "data:image/webp;base64"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")).astype(int)


def steps(page):
    return {one["name"]: one["step"] for one in page.known.get("panels") or []}


def sent(page, name):
    """The pictures of a panel that came, each with the number of its frame."""
    return [(said["number"], said[f"panel {name}"]) for said, _ in page.frames if said.get(f"panel {name}")]


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_they_are_those_of_the_window_in_each_theme_and_density(cell, watch, scene, theme):
    other = "light" if theme == "dark" else "dark"
    grounds = {name: np.frombuffer(bytes.fromhex(get_theme(name).background[1:]), np.uint8) for name in (theme, other)}
    page = watch(cell(scene), theme=other, density=1).stepped(20)
    page.wait(lambda p: steps(p) == {"pictures": 20, "colours": 20})
    assert np.abs(pixels(page)[0, 0] - grounds[other]).max() <= 1
    page.say(kind="look", theme=theme, density=1)
    page.wait(lambda p: np.abs(pixels(p)[0, 0] - grounds[theme]).max() <= 1)
    assert page.shown.still.theme == theme
    picture, (x, y, wide, high) = pixels(page), PHOTO
    # but for the window's ground, which glows a little
    wanted = sv.render(scene, (1280, 720), theme=theme)[y : y + high, x : x + wide].astype(int)
    assert (np.abs(picture[AIR:-AIR, AIR:-AIR] - wanted).max(2) <= 12).mean() > 0.99
    page.say(kind="look", theme=theme, density=1e9)  # however dense a place says it is, pictures stay small
    page.wait(lambda p: pixels(p).shape == (2 * high + 4 * AIR, 2 * wide + 4 * AIR, 3))
    assert page.known["panels"][0]["size"] == [wide + 2 * AIR, high + 2 * AIR]


def test_at_rest_they_are_of_the_step_shown_beside_a_card_and_in_an_opened_step_and_nothing_more_is_sent(
    cell, watch, scene
):
    page = watch(cell(scene))
    page.do("toggle_run")
    page.wait(lambda p: p.step > 30 and len(sent(p, "pictures")) > 1)
    page.do("toggle_run")
    page.wait(lambda p: not p.known["running"] and p.step == scene.run.steps and set(steps(p).values()) == {p.step})
    assert all(one != other for (_, one), (_, other) in itertools.pairwise(sent(page, "pictures")))
    at_rest = page.step
    page.ask(lambda play: None)
    count = len(page.frames)
    page.do("show_gradients")
    page.wait(lambda p: p.known["quantity"] == "gradient" and len(p.frames) > count)
    assert not [name for said, _ in page.frames[count:] for name in said if name.startswith("panel ")]
    page.say(kind="select", index=3)
    page.wait(lambda p: p.known.get("inspector"))
    for at in (1, 2):
        page.do("micro_next")
        page.wait(lambda p, at=at: (p.known.get("micro") or {}).get("at") == at)
    assert steps(page) == {"pictures": at_rest, "colours": at_rest}


def test_the_curve_of_the_loss_is_drawn_only_where_there_is_no_time_bar(cell, watch, monkeypatch):
    for hidden, shown in (((), {"plane", "table"}), (("timeline",), {"plane", "table", "loss"}), (("panels",), set())):
        page = watch(cell(make_scene("xor"), hide=hidden)).stepped(3)
        page.wait(lambda p, shown=shown: set(steps(p)) == shown)

    def nothing(self, now):
        raise sv.errors.MissingDependencyError("no OpenGL to draw with")

    monkeypatch.setattr(CellPanels, "_pictures", nothing)
    page = watch(cell(make_scene("xor"))).stepped(3)
    page.wait(lambda p: p.known.get("panels"))
    assert page.known["panels"][0] == {"name": "plane", "why": "no OpenGL to draw with"}


def test_a_hand_draws_on_a_panel_as_in_the_window(cell, watch):
    page, window = watch(cell(make_scene("digits"))), cell(make_scene("digits"))
    page.wait(steps)
    before, ways = (
        page.known["panel probe"],
        (("press", (20.0, 60.0)), ("move", (60.0, 80.0)), ("release", (60.0, 80.0))),
    )

    def in_the_window(play):
        x, y, *_ = play.viewer.bench.side.drawers["probe"].box
        for what, at in ways:
            getattr(play.viewer, what)((x + at[0] - AIR, y + at[1] - AIR))
        return play.viewer.bench.subject.probe

    for what, at in ways:
        page.say(kind="panel", name="probe", what=what, at=list(at), button="left")
    drawn = page.ask(lambda play: play.viewer.bench.subject.probe)
    assert np.array_equal(drawn, window.call(in_the_window))
    assert not np.array_equal(drawn, make_scene("digits").probe)
    page.wait(lambda p: p.known["panel probe"] != before)
    run = page.ask(lambda play: play.viewer.run)
    count = len(run.samples()[0])
    page.say(kind="panel", what="key", key="7")  # what the panel says below the drawing: learn it as that
    page.settle()
    assert len(run.samples()[0]) == count + 1
    page.say(kind="panel", what="key", key="Backspace")
    assert not page.ask(lambda play: play.viewer.bench.subject.probe).any()


def test_a_hand_on_a_panel_is_not_on_what_a_window_has_over_it(cell, watch, monkeypatch):
    """The inspector of a window stands over the column; in a cell it is a card elsewhere."""
    page = watch(cell(make_scene("digits")))
    page.wait(lambda p: p.known.get("panels"))
    page.say(kind="select", index=5)
    page.wait(lambda p: p.known.get("inspector"))

    def pressed(play):
        bench, taken = play.viewer.bench, []
        drawer = bench.side.drawers["digits"]
        monkeypatch.setattr(drawer, "click", taken.append)
        x, y, _, high = drawer.box
        over = [spot.box for spot in bench.touch.inspector.spots if spot.box[1] < y + high]
        for left, top, right, low in over:
            at = [left + right / 2 - x + AIR, top + low / 2 - y + AIR]
            for what in ("press", "release"):
                play.do({"kind": "panel", "name": "digits", "what": what, "at": at, "button": "left"})
        return len(over), len(taken), bench.selected

    over, taken, selected = page.ask(pressed)
    assert over == taken > 3
    assert selected == 5
