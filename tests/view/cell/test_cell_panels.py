"""Pictures of the scene's panels in a cell of numbers: what they show, when they are drawn, what goes to the page."""

import itertools

import numpy as np
import pytest

from kit.benches import bench_of
from kit.commands import make_scene
from scalarviz.view.ink.listed import Listed
from scalarviz.view.panels.image import AIR

pytestmark = pytest.mark.gl

PHOTO = (952, 24, 304, 117)
"""Where a window of 1280 x 720 has the photo of rgb: x, y, width, height."""


def colours(page):
    return {said for record in page.known["panel pictures"] for said in record if isinstance(said, str)}


def steps(page):
    return {one["name"]: one["step"] for one in page.known.get("panels") or []}


def sent(page, name):
    """The pictures of a panel that came, each with the number of its frame."""
    return [(said["number"], said[f"panel {name}"]) for said, _ in page.frames if said.get(f"panel {name}")]


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_they_are_those_of_the_window_in_each_theme(cell, watch, scene, theme):
    other = "light" if theme == "dark" else "dark"
    page = watch(cell(scene), theme=other).stepped(20)
    page.wait(lambda p: steps(p) == {"pictures": 20, "colours": 20})
    bench = bench_of(scene, (1280, 720), theme)
    wanted = Listed(bench.theme).of(bench.side.drawn("pictures"))
    page.say(kind="look", theme=theme)
    page.wait(lambda p: p.known["panel pictures"][1:] == wanted)
    assert page.shown.still.theme == theme
    x, y, wide, high = PHOTO
    assert page.known["panel pictures"][0] == ["box", x - AIR, y - AIR, wide + 2 * AIR, high + 2 * AIR]
    assert {"text1", "text2"} <= colours(page)


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


def test_the_curve_of_the_loss_is_drawn_only_where_there_is_no_time_bar(cell, watch):
    for hidden, shown in (((), {"plane", "table"}), (("timeline",), {"plane", "table", "loss"}), (("panels",), set())):
        page = watch(cell(make_scene("xor"), hide=hidden)).stepped(3)
        page.wait(lambda p, shown=shown: set(steps(p)) == shown)


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
