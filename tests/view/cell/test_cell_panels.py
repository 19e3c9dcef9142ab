"""Pictures of the scene's panels in a cell of numbers: what they show, when they are drawn, what goes to the page."""

import base64
import io
import itertools

import numpy as np
import pytest
from PIL import Image

import scalarviz as sv
from scalarviz import Weight
from scalarviz.view.cell.panels import CellPanels
from scalarviz.view.ink.theme import get_theme
from scalarviz.view.panels.image import AIR

pytestmark = pytest.mark.gl

PHOTO = (952, 24, 304, 117)
"""Where a window of 1280 x 720 has the photo of rgb: x, y, width, height."""


def pixels(address):
    kind, _, data = address.partition(",")
    assert kind == "data:image/webp;base64"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")).astype(int)


def steps(page):
    return {one["name"]: one["step"] for one in page.known.get("panels") or []}


def sent(page, name):
    """The pictures of a panel that came, each with the number of its frame."""
    return [(said["number"], said[f"panel {name}"]) for said, _ in page.frames if said.get(f"panel {name}")]


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_they_are_those_of_the_window_in_each_theme_and_density(cell, watch, scene, theme):
    page = watch(cell(scene), ready=False)
    page.ready(theme="light" if theme == "dark" else "dark", density=1)
    page.do("step", 20)
    page.wait(lambda p: steps(p) == {"pictures": 20, "colours": 20})
    page.say(kind="look", theme=theme, density=1)
    ground = np.frombuffer(bytes.fromhex(get_theme(theme).background[1:]), np.uint8)
    page.wait(lambda p: np.abs(pixels(p.known["panel pictures"])[0, 0] - ground).max() <= 1)
    assert page.shown.still.theme == theme
    picture, (x, y, wide, high) = pixels(page.known["panel pictures"]), PHOTO
    assert page.known["panels"][0]["size"] == [wide + 2 * AIR, high + 2 * AIR]
    # but for the window's ground, which glows a little
    wanted = sv.render(scene, (1280, 720), theme=theme)[y : y + high, x : x + wide].astype(int)
    assert (np.abs(picture[AIR:-AIR, AIR:-AIR] - wanted).max(2) <= 12).mean() > 0.99
    page.say(kind="look", theme=theme, density=1e9)  # however dense a place says it is, pictures stay small
    page.wait(lambda p: pixels(p.known["panel pictures"]).shape == (2 * high + 4 * AIR, 2 * wide + 4 * AIR, 3))
    assert page.known["panels"][0]["size"] == [wide + 2 * AIR, high + 2 * AIR]


def test_at_rest_they_are_of_the_step_shown_and_nothing_more_is_sent(cell, watch, scene):
    page = watch(cell(scene))
    page.do("toggle_run")
    page.wait(lambda p: p.step > 30 and len(sent(p, "pictures")) > 1)
    page.do("toggle_run")
    page.wait(lambda p: not p.known["running"] and p.step == scene.run.steps and set(steps(p).values()) == {p.step})
    assert all(one != other for (_, one), (_, other) in itertools.pairwise(sent(page, "pictures")))
    page.shown.session.call(lambda play: None)
    count = len(page.frames)
    page.do("show_gradients")
    page.wait(lambda p: p.known["quantity"] == "gradient" and len(p.frames) > count)
    assert not [name for said, _ in page.frames[count:] for name in said if name.startswith("panel ")]


def test_no_picture_is_drawn_before_the_last_one_is_answered(cell, watch, scene):
    page = watch(cell(scene), answers=False)
    page.wait(lambda p: p.frames and (sent(p, "pictures") or p.answer(p.frames[-1][0]["number"])))
    number, picture = sent(page, "pictures")[0]
    page.do("step", 20)
    page.shown.session.call(lambda play: play.viewer.worker.settle())
    for _ in range(20):
        page.answer(number - 1)  # it looks, and has not drawn that one
        page.shown.session.call(lambda play: play.viewer.advance(1.0))  # time enough for others
        assert page.shown.session.call(lambda play: play._panels.parts["panel pictures"]) == picture
    page.answers = True
    page.answer(page.frames[-1][0]["number"])
    page.wait(lambda p: steps(p)["pictures"] == 20)
    assert sent(page, "pictures")[1][0] > number


def test_they_stay_beside_the_card_of_a_cube_and_in_an_opened_step(cell, watch, scene):
    page = watch(cell(scene))
    page.say(kind="select", index=3)
    page.do("step", 3)
    page.wait(lambda p: steps(p) == {"pictures": 3, "colours": 3} and p.known.get("inspector"))
    for at in (1, 2):
        page.do("micro_next")
        page.wait(lambda p, at=at: (p.known.get("micro") or {}).get("at") == at)
    assert steps(page) == {"pictures": 3, "colours": 3}


def test_the_curve_of_the_loss_is_drawn_only_where_there_is_no_time_bar(cell, watch, made):
    page = watch(cell(made("xor")))
    page.do("step", 3)
    page.wait(lambda p: steps(p) == {"plane": 3, "table": 3})
    side = page.shown.session.call(lambda play: play.viewer.bench.side)
    assert (side.unseen, bool(side.drawn("loss")), bool(side.drawn("plane"))) == ({"loss"}, False, True)
    page = watch(cell(made("xor"), hide=("timeline",)))
    page.wait(lambda p: set(steps(p)) == {"plane", "table", "loss"})
    page = watch(cell(made("xor"), hide=("panels",)))
    page.wait(lambda p: p.frames and "panels" not in p.known)


def test_a_loop_by_hand_has_no_panels_until_it_tells_its_loss(cell, watch):
    loop = [Weight(0.5, name="a")]
    page = watch(cell(loop))
    page.say(kind="set", index=0, value=0.75)
    page.wait(lambda p: p.frames and p.values[0] == 0.75)
    assert not [name for said, _ in page.frames for name in said if name.startswith("panel")]
    for step in range(1, 4):
        loop[0].data = 0.5 / step
        page.shown.update(loss=1.0 / step, step=step)
    page.shown.look()
    page.wait(lambda p: steps(p) == {"loss": 3})


LOOKS = [
    {}, {"theme": "red", "density": 1}, {"theme": None, "density": 1}, {"theme": ["dark"], "density": 1},
    {"theme": "dark"}, {"theme": "dark", "density": "2"}, {"theme": "dark", "density": True},
    {"theme": "dark", "density": float("nan")}, {"theme": "dark", "density": 10**400},
]  # fmt: skip
HANDS = [
    {"name": 3}, {"name": "no such"}, {"what": "fly"}, {"at": None}, {"at": [1]}, {"at": ["1", 2]},
    {"at": [float("nan"), 1]}, {"at": [1e300, 1]}, {"at": [True, 1]}, {"button": "middle"}, {"button": None},
    {"what": "release", "shift": "yes"}, {"what": "key"}, {"what": "key", "key": "x"}, {"what": "key", "key": ["7"]},
]  # fmt: skip


def test_a_look_and_a_hand_that_are_none_are_refused(cell, scene):
    press = {"kind": "panel", "name": "pictures", "what": "press", "at": [5, 5], "button": "left"}

    def answers(play):
        play.asked.take(press)
        return [play.asked.take(said) for said in (*({"kind": "look", **bad} for bad in LOOKS), {"kind": "panel"},
                                                   *({**press, **bad} for bad in HANDS))]  # fmt: skip

    said = cell(scene).session.call(answers)
    assert [one[:5] for one in said] == ["look:"] * len(LOOKS) + ["panel"] * (len(HANDS) + 1)


def test_where_nothing_can_be_drawn_the_panel_says_why(cell, watch, scene, monkeypatch):
    def nothing(self, now):
        raise sv.errors.MissingDependencyError("no OpenGL to draw with")

    monkeypatch.setattr(CellPanels, "_pictures", nothing)
    page = watch(cell(scene))
    page.do("step", 5)
    page.wait(lambda p: p.known.get("panels") and p.step == 5)
    assert page.known["panels"][0] == {"name": "pictures", "why": "no OpenGL to draw with"}


def test_a_hand_draws_on_a_panel_as_in_the_window(cell, watch, made):
    page, window = watch(cell(made("digits"))), cell(made("digits"))
    page.wait(steps)
    stroke, before = [(20.0, 60.0), (40.0, 60.0), (60.0, 80.0)], page.known["panel probe"]

    def in_the_window(play):
        x, y, *_ = play.viewer.bench.side.drawers["probe"].box
        places = [(x + at[0] - AIR, y + at[1] - AIR) for at in stroke]
        play.viewer.press(places[0])
        for at in places[1:]:
            play.viewer.move(at)
        play.viewer.release(places[-1])
        return play.viewer.bench.subject.probe

    for what, at in zip(("press", "move", "move", "release"), (*stroke, stroke[-1]), strict=True):
        page.say(kind="panel", name="probe", what=what, at=list(at), button="left")
    drawn = page.shown.session.call(lambda play: play.viewer.bench.subject.probe)
    assert np.array_equal(drawn, window.session.call(in_the_window))
    assert not np.array_equal(drawn, made("digits").probe)
    page.wait(lambda p: p.known["panel probe"] != before)
    run = page.shown.session.call(lambda play: play.viewer.run)
    count = len(run.samples()[0])
    page.say(kind="panel", what="key", key="7")  # what the panel says below the drawing: learn it as that
    assert page.shown.session.call(lambda play: play.viewer.bench.side.drawers["probe"].sheet.learnt) == 1
    assert len(run.samples()[0]) == count + 1
    page.say(kind="panel", what="key", key="Backspace")
    assert not page.shown.session.call(lambda play: play.viewer.bench.subject.probe).any()
