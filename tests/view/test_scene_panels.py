"""Panels of a scene: a user's pictures and tables, places, kinds of one's own, and room for more than fit."""

from __future__ import annotations

import doctest
import re
import time
from dataclasses import dataclass, replace
from functools import partial, partialmethod
from inspect import isfunction
from unittest.mock import Mock

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import again, bench_of, middle, overlap, pixels_of, said, said_anywhere
from kit.refusals import refusals
from kit.windows import COLOURS, live_hand
from scalarviz import nn, optim
from scalarviz.errors import InputError, TypeMismatchError, UnknownNameError
from scalarviz.run.panels import (
    Beside,
    ColourCube,
    DigitBoard,
    DigitPad,
    Image,
    LossCurve,
    Panel,
    Pictures,
    SampleRows,
    Table,
)
from scalarviz.run.panels import TestCurve as Curve
from scalarviz.run.source import RunSource
from scalarviz.view.ink.sketch import Sketch
from scalarviz.view.panels import registry
from scalarviz.view.panels.image import LARGEST, as_pixels
from scalarviz.view.panels.pace import Pace
from scalarviz.view.shown.subject import Subject, scene_subject, subject_of
from scalarviz.view.workbench import Workbench

pytestmark = pytest.mark.gl

RNG = np.random.default_rng(5)
X = RNG.random((60, 2))
PIXELS = RNG.integers(0, 256, (7, 9, 3), dtype=np.uint8)


def painted(title="m", **more):
    return Image(title, lambda moment: PIXELS, **more)


@pytest.fixture
def run():
    net = nn.Sequential(nn.Linear(2, 5, seed=1), nn.Tanh(), nn.Linear(5, 1, seed=2))
    made = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, X[:, :1]), engine="numpy")
    made.step(3)
    yield made
    made.close()


@pytest.fixture
def bench(run):
    """Makes a workbench of such a run with some panels."""
    return lambda *panels, **more: bench_of(sv.Scene("s", run, panels=panels), **more)


def test_a_moment_asks_at_the_values_of_its_frame_and_not_at_those_of_now(run):
    seen = []

    def paint(moment):
        seen.append((moment.step, moment.predict(X)[0, 0], moment.tensor("0.weight"), moment.rows(X, "1")["1"].shape,
                     moment.evaluate(X, X[:, :1])))  # fmt: skip
        return PIXELS

    subject = scene_subject(sv.Scene("s", run, panels=(Image("mine", paint),)), RunSource(run))
    shown, frame = Workbench(subject, (1280, 720)), subject.frame()
    then, weights, loss = run.predict(X)[0, 0], run.values[:10].reshape(5, 2).copy(), run.evaluate(X, X[:, :1])
    run.step(50)
    shown.update(frame)
    ((step, predicted, tensor, shape, evaluated),) = seen
    assert (step, predicted, shape, evaluated) == (3, then, (60, 5), loss)
    np.testing.assert_array_equal(tensor, weights)
    assert predicted != run.predict(X)[0, 0]


@pytest.mark.filterwarnings("error")
def test_numbers_that_are_no_colours_are_black_or_full_and_a_painted_array_may_be_used_again():
    strange = np.array([[[np.nan, 0.5, 2.0], [np.inf, -np.inf, -1.0]]])
    np.testing.assert_array_equal(as_pixels(strange), [[[0, 128, 255], [255, 0, 0]]])
    shown = as_pixels(own := PIXELS.copy())
    own[...] = 0
    np.testing.assert_array_equal(shown, PIXELS)
    assert as_pixels(np.zeros((2 * LARGEST, 3, 3))).shape[0] == LARGEST


WRONG = {
    "ValueError: too dark": Mock(side_effect=ValueError("too dark")),
    "RecursionError:": Mock(side_effect=RecursionError()),
    "paint: got shape (); allowed": lambda moment: None,
    "paint: got shape (0, 4, 3); allowed": lambda moment: np.zeros((0, 4, 3)),
    "paint: got dtype int64; allowed": lambda moment: np.zeros((4, 4, 3), int),
    "ValueError: setting an array": lambda moment: [[1, 2], [3]],
    "predict: the inputs": lambda moment: moment.predict([[1.0]]),
    "no tensor 'weight'; allowed": lambda moment: moment.tensor("weight"),
    "TypeError: ": lambda: 1,
}


@pytest.mark.parametrize("words", WRONG)
def test_what_a_function_does_wrong_stands_in_its_place_and_the_rest_goes_on(run, bench, words):
    wrong = [True]
    panels = Image("mine", lambda *moment: WRONG[words](*moment) if wrong[0] else PIXELS), LossCurve()
    shown = bench(*panels, keys=(("?", "all keys"),))
    (line,) = [text for text in said(shown) if text.startswith(words[:24])]
    assert {"mine", *said(bench(LossCurve()))} - {"loss"} <= {*said_anywhere(shown), "log"}
    for _ in range(2):
        again(shown, 1.0)
    (note,) = shown.side.shared.notes  # the console is told once, and where it failed
    assert re.fullmatch(r"panel 'mine': .*\.py, line \d+\)", note, re.DOTALL)
    wrong[0] = False
    run.step(1)
    assert line not in said(again(shown))


def test_a_slow_function_takes_a_quarter_of_the_time():
    pace, made, clock = Pace(live=True), [], 0.0
    for frame in range(400):  # 60 a second
        seconds = 1 / 60 + (0.1 if made and made[-1] == clock else 0.0)  # the work takes its time
        clock += seconds
        if pace.due(frame, seconds):
            made.append(clock)
            pace.mark_done(0.1)
        assert pace.old == (frame > 0)
    assert 0.22 < 0.1 * len(made) / clock < 0.26


def test_the_age_stands_beside_the_title_until_it_is_of_the_frame(run, bench):
    def paint(moment):
        time.sleep(0.05)
        return PIXELS

    shown = bench(Image("mine", paint, note="mine too"), keys=(("?", "all keys"),))
    run.step(4)
    assert "step 3" in said(again(shown, 0.02))
    assert shown.moving
    frame = shown.subject.frame()
    for _ in range(40):
        shown.update(frame, "", 0.02)
    assert "mine too" in said(shown)
    assert "step 3" not in said(shown)


def test_a_table_of_a_function_follows_wide_words_are_cut_and_rows_without_room_counted(run, bench):
    shown = bench(Table("mine", lambda m: [(f"step {m.step}!", "w" * 200), *((f"row {k}", "") for k in range(99))]))
    found = said(shown)
    count = sum(text.startswith("row ") for text in found)
    assert 3 < count < 20
    assert {"step 3!", f"and {99 - count} more"} <= set(found)
    assert any(text.startswith("www") and text.endswith("…") for text in found)
    run.step(1)
    assert "step 4!" in said(again(shown))


def test_rows_of_samples_are_words_output_error_and_the_own_loss_with_equal_columns(run, bench):
    x, y = X[:3], X[:3, 1:]
    words = [("first",), ("second",), ("third",)]
    shown = bench(Table("mine", SampleRows(x, y, words), ("name", "output", "error", "loss")))
    places = []
    for _ in range(2):
        found, made = said(shown), run.predict(x)
        assert found[found.index("mine") :][1:8] == ["name", "output", "error", "loss", "first", "second", "third"]
        for k in range(3):
            error = float(made[k, 0] - y[k, 0])  # the loss is the mean of squares
            there = [f"{number:.4f}".replace("-", "\N{MINUS SIGN}") for number in (made[k, 0], error, error**2)]
            assert found[found.index("third") + 1 :][3 * k : 3 * k + 3] == there
        places.append([(one.x, one.y) for part in shown.side.drawn("table") for one in part.texts])
        run.set_weights(0, -3 * run.values)
        again(shown)
    assert places[0] == places[1]


def test_a_network_of_two_outputs_has_no_rows_of_samples():
    net = nn.Linear(2, 2)
    with sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, X), engine="numpy") as run:
        shown = bench_of(sv.Scene("s", run, panels=(Table("mine", SampleRows(X, X[:, :1], [("a",)] * 60)),)))
        assert any(text.startswith("SampleRows: the network has 2 outputs") for text in said(shown))


def test_a_scene_without_a_word_shows_its_loss_and_one_with_none_shows_none(run):
    assert list(bench_of(sv.Scene("s", run)).places.panels) == ["loss"]
    empty = bench_of(sv.Scene("s", run, panels=[]))
    assert (empty.places.panels, empty.places.scene[2]) == ({}, 1280)  # the cubes have it all


GREY, board, pad, curve = np.zeros((4, 5, 3)), partial(DigitBoard, np.zeros((6, 16))), DigitPad, Curve


@refusals({
    "Pictures(GREY, GREY[:3])": (InputError, "(4, 5, 3), (3, 5, 3)"),
    "Pictures(GREY[..., 0], GREY[..., 0])": (InputError, "one shape (H, W, 3)"),
    "Pictures('photo.png', GREY)": (TypeMismatchError, "an array"),
    "ColourCube(GREY[0], GREY[1, :2])": (InputError, "one shape (N, 3)"),
    "ColourCube(np.zeros((0, 3)), np.zeros((0, 3)))": (InputError, "(0, 3)"),
    "board(np.arange(6), (4, 5))": (InputError, "4 x 5 pixels", "allowed: (N, 20)"),
    "board(np.arange(5), (4, 4))": (InputError, "inputs (6, 16), labels (5,)"),
    "board(np.arange(6) + 7, (4, 4))": (InputError, "0 to 9"),
    "board(np.arange(6) / 2, (4, 4))": (InputError, "0 to 9"),
    "pad(16)": (InputError, "(H, W)", 16), "pad((4, 0))": (InputError, "W must", ">= 1", "got 0"),
    "LossCurve('a', 'test')": (TypeMismatchError, "TestCurve or HeldOut or None", "got str"),
    "curve('t', X, X[:3])": (InputError, "(60, 2), targets (3, 2)"), "curve('t', X[:0], X[:0])": (InputError, "(0, 2)"),
    "Image('t', PIXELS)": (TypeMismatchError, "a function", "ndarray"),
    "Image(None, print)": (TypeMismatchError, "title", "None"),
    "Table('t', [('a',), 'b'])": (InputError, "row 1"), "Table('t', 3)": (InputError, "got int 3"),
    "Table('t', [('a', 'b')], heads=('x',))": (InputError, "row 0 has 2 words; allowed: 1"),
    "Table('t', [], heads='x')": (TypeMismatchError, "heads"), "Table('t', [()])": (InputError, "row 0 has 0 words"),
    "Table('t', 'abc')": (InputError, "got str"), "Table('t', [('a', 3)])": (InputError, "row 0", "('a', 3)"),
    "Table('t', [('a', 'b'), ('c',)])": (InputError, "row 1 has 1 words; allowed: 2"),
    "SampleRows(X, X[:, :1], [('a',)])": (InputError, "(60, 2), targets (60, 1), 1 rows of words"),
    "SampleRows(X, X, [('a',)] * 60)": (InputError, "one target", "targets (60, 2)"),
    "SampleRows(X[:2], X[:2, :1], ['a', 'b'])": (InputError, "row 0 must be a list of str, got 'a'"),
    "Table('t', SampleRows(X[:1], X[:1, :1], [('a',)]), ('x', 'y'))": (InputError, "row 0 has 4 words; allowed: 2"),
    "LossCurve(place='left')": (InputError, "LossCurve", "left", "column", "overlay"),
    "LossCurve(place=('column',))": (InputError, "must be", "column"),
    "it(pad((4, 4)))": (InputError, "4 x 4 pixels", "probe of 2 numbers"),
    "it(painted(place=Beside('7')))": (UnknownNameError, "'7'", "allowed: input, 0, 1, 2"),
    "it(painted(place=Beside('1', 5)))": (InputError, "'1'", "unit 5", "0 to 4"),
    "it(painted(place=Beside('1', -1)))": (InputError, "'1'", "unit -1"),
    "it(LossCurve(place=Beside('1')))": (InputError, "beside a stage", "image, table"),
    "it(Bar(0.5))": (TypeMismatchError, "Bar", "Pictures, ColourCube", "WordBoard", "sv.view.register_panel(Bar"),
    "sv.view.register_panel(int, BarDrawer)": (TypeMismatchError, "kind", "Panel", "int"),
    "sv.view.register_panel(Panel, BarDrawer)": (TypeMismatchError, "kind", "Panel"),
    "sv.view.register_panel(Bar(0.5), BarDrawer)": (TypeMismatchError, "kind", "got Bar"),
    "sv.view.register_panel(Bar, int)": (TypeMismatchError, "drawer", "Drawer", "int"),
    "sv.view.register_panel(Bar, None)": (TypeMismatchError, "drawer", "None"),
    "sv.view.register_panel(LossCurve, BarDrawer)": (TypeMismatchError, "LossCurve", "subclass it"),
}, globals())  # fmt: skip
def test_what_is_refused(refusal, bench):
    refusal.check(bench)
    assert not registry._USERS


@pytest.mark.parametrize("size", [(1280, 720), (720, 1280), (160, 160)])
@pytest.mark.parametrize("turn", [(0, 0), (200, 60)])
def test_panels_over_the_scene_stand_inside_it_and_apart_in_front_of_the_cubes(bench, size, turn):
    flat = Image("m", lambda m: np.full((4, 4, 3), 255, np.uint8))
    beside = [replace(flat, title=f"unit {k}", place=Beside("1", k)) for k in range(5)]
    shown = bench(replace(flat, place="overlay"), LossCurve(place="overlay"), *beside,
                  Table("t", [("a",)], place=Beside("input")), size=size)  # fmt: skip
    if turn != (0, 0):
        shown.orbit(*turn)
    picture, drawers = pixels_of(shown), [d for d in shown.side.drawers.values() if d.box is not None]
    boxes = [(d.box[0], d.box[1], d.box[0] + d.box[2], d.box[1] + d.box[3]) for d in drawers]
    x, y, width, height = shown.places.scene
    for k, box in enumerate(boxes):
        assert min(box[0] - x, box[1] - y, x + width - box[2], y + height - box[3]) >= 7.99
        assert not any(overlap(box, other) for other in boxes[:k])
    for left, top, wide, high in (d.box for d in drawers if isinstance(d.panel, Image)):
        at = round((top + 0.6 * high) * shown.scale), round((left + 0.5 * wide) * shown.scale)
        assert picture[at].min() > 240
    assert len(boxes) >= 6 or size != (1280, 720)


def test_a_panel_beside_a_unit_moves_with_the_cubes_and_keeps_touches_from_them(bench):
    shown = bench(painted(place=Beside("1", 2)))
    drawer, plate = shown.side.drawer(Image), shown.layout.activation("1")
    x, y, width, height = before = drawer.box
    assert x == pytest.approx(shown.project(plate.corners_of(2))[:, 0].max() + 14)
    spots = [(x + a * width, y + b * height) for a in np.linspace(0, 1, 9) for b in np.linspace(0, 1, 9)]
    assert any(shown.pick(spot) is not None for spot in spots)
    for spot in spots:
        shown.hover(spot)
        shown.click(spot)
        assert shown.interaction.hovered is shown.selected is None
    shown.orbit(120.0, 0.0)
    again(shown)
    assert drawer.box != before
    assert drawer.box[0] == pytest.approx(shown.project(plate.corners_of(2))[:, 0].max() + 14)
    shown.show_panels(False)
    assert drawer.box is None


def test_panels_without_room_are_counted_and_a_click_brings_them(run):
    many = [Table(f"table {k}", [("a",)] * 8) for k in range(7)]
    with live_hand(sv.Scene("s", run, panels=[*many, LossCurve()])) as made:
        seen = set()
        while len(seen) < 7:
            words = set(made.words())
            names = {text for text in words if text.startswith("table ")}
            assert 1 <= len(names) < 7
            assert {f"+{7 - len(names)} panels (click)", "loss"} <= words
            assert names - seen, "a page that shows nothing new"
            seen |= names
            x, y, _, height = made.bench.places.more
            made.press(made.at((x + 20, y + height / 2)))
        made.do("toggle_controls")
        made.settled()  # it has slid in
        hidden = sum(drawer.box is None for drawer in made.bench.side.drawers.values())
        assert hidden >= 3
        assert f"+{hidden} panels in a larger picture" in made.words()


@dataclass(frozen=True, slots=True, eq=False)
class Bar(Panel):
    """A bar of a height."""

    share: float


class BarDrawer(sv.view.Drawer[Bar]):
    """For the tests."""

    name, height = "bar", 50.0

    def draw(self, moment, box, seconds):
        sketch = Sketch()
        sketch.rect(*box[:2], box[2] * self.panel.share, box[3], fill="#ff0000")
        return [sketch]


@pytest.fixture
def bars():
    sv.view.register_panel(Bar, BarDrawer)
    yield
    registry._USERS.pop(Bar)


def raises(self, *given):
    raise ZeroDivisionError("oh")


def sketching(says, how):
    """A fault: `how` draws into a sketch what nobody can paint."""

    def draw(self, moment, box, seconds):
        sketch = Sketch()
        how(sketch)
        return [sketch]

    return {"draw": draw}, "draw", says


HOOKS = {name: own for name, own in vars(sv.view.Drawer).items() if not name.startswith("_")}
SKETCHES = {
    "text 'a': size 0; allowed: above 0": lambda s: s.text(9, 9, "a", 0, "#ffffff"),
    "text 'a': anchor 'up'; allowed: left, middle, right": lambda s: s.text(9, 9, "a", 9, "#ffffff", anchor="up"),
    "text 'a': x nan; allowed: finite numbers": lambda s: s.text(np.nan, 9, "a", 9, "#ffffff"),
    "text 3: text 3; allowed: a text": lambda s: s.text(9, 9, 3, 9, "#ffffff"),
    "rect: x 'left'; allowed: finite numbers": lambda s: s.rect("left", 9, 9, 9, fill="#ffffff"),
    "rect: width -1; allowed: 0 or more": lambda s: s.rect(9, 9, -1, 9, fill="#ffffff"),
    "rect: fill 'red'; allowed: #rrggbb, or numbers": lambda s: s.rect(9, 9, 9, 9, fill="red"),
    "lines: ends array([[ 9., nan]], dtype=float32)": lambda s: s.line((0, 0), (9, np.nan), "#ffffff"),
    "image: pixels array([[0., 0.], [0., 0.]]); allowed: uint8": lambda s: s.image((9, 9, 9, 9), np.zeros((2, 2))),
    "spot: box (0, 0, nan, 1); allowed: finite numbers": lambda s: s.spot((0, 0, np.nan, 1), "a"),
}


NONSENSE = {
    "beside_cubes": lambda self, width, height: None, "headline": 3, "height": None, "most": "tall",
    "beside": "left", "spread": "wide", "name": None, "gestures": ("Click",), "needs": None, "scale": 1,
    "marks": lambda self: None,
}  # fmt: skip
FAULTS = {
    **{f"{name} is nonsense": ({name: bad}, name, f"{name} returned ") for name, bad in NONSENSE.items()},
    **{f"draws {type(bad).__name__}": ({"draw": lambda self, *given, bad=bad: bad}, "draw", f"draw returned {what}")
       for bad, what in ((None, "None"), ("a picture", "str"), (Sketch(), "Sketch"), ([Sketch(), 3], "list"))},
    **{says: sketching(says, how) for says, how in SKETCHES.items()},
    "cannot be made": ({"__init__": raises}, "__init__", "ZeroDivisionError: oh"),
    "all raises": ({name: raises if isfunction(own) else property(raises) for name, own in HOOKS.items()}, "draw",
                   "ZeroDivisionError: oh"),
    "all raises when it is looked at": ({name: property(raises) for name in HOOKS}, "draw", "ZeroDivisionError: oh"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_drawer_with_a_fault_takes_no_window_down_and_the_console_is_told_once(run, bars, fault):
    hooks, hook, says = FAULTS[fault]
    sv.view.register_panel(Bar, type("Odd", (BarDrawer,), hooks))
    with live_hand(sv.Scene("s", run, panels=(Bar(0.5), LossCurve()))) as made:
        places = made.bench.places.panels
        on = made.middle(places["bar" if "bar" in places else "panel"])
        made.view.move(on)
        made.press(on)
        made.drag(on, (30, 0))
        made.rest()
        made.click(on, shift=True)
        made.view.move(on)
        made.rest()
        made.view.key("F9", "")
        for action in ("escape", "fit"):
            made.view.send(action)
            made.rest()
        words = made.words()
        assert "loss" in words
        assert hook in NONSENSE or any(text.startswith((f"bar: {says[:12]}", f"panel: {says[:12]}")) for text in words)
    told = [re.match(r"(?:Odd\.(\w+)|panel '\w+'): ", line)[1] for line in made.host.told]
    assert len(told) == len(set(told))
    if fault.startswith("all"):
        assert {"height", "draw", "hover", "press", "click", "shift_click", "key", "let_go", "fit", "label"} <= {*told}
    else:
        (line,) = made.host.told
        assert line.startswith(f"Odd.{hook}: {says}")


def test_kinds_of_ones_own_are_drawn_and_so_is_the_example_of_the_documentation(run, bench, bars):
    shown = bench(Bar(0.5), LossCurve())
    x, y, width, height = map(round, shown.places.panels["bar"])
    red = np.abs(pixels_of(shown)[y : y + height, x : x + width] - (255, 0, 0)).max(axis=2) < 3
    assert red.mean() == pytest.approx(0.5, abs=0.01)
    (example,) = doctest.DocTestFinder().find(sv.view.register_panel, globs={})
    assert doctest.DocTestRunner().run(example, clear_globs=False).failed == 0
    assert "loss of 1 at most" in said(bench_of(sv.Scene("mine", run, panels=example.globs["panels"])))
    registry._USERS.pop(example.globs["Bar"])


class Told(BarDrawer):
    """Writes down what it is told."""

    takes = False
    gestures = (("Drag", "the bar: pull it"),)
    lessons = (("Click", "the bar: teach it"),)

    def __init__(self, panel, shared):
        super().__init__(panel, shared)
        self.told = []

    def hear(self, what, *given):
        self.told.append((what, *given))
        return {"press": self.takes, "key": "Tab" in given}.get(what, True)

    hands = ("press", "drag", "key", "release", "click", "let go")
    press, drag, key, release, click, let_go = map(partial(partialmethod, hear), hands)


@pytest.mark.parametrize("takes", [False, True])
def test_hands_reach_the_panel_below_the_pointer_alone(run, bars, monkeypatch, takes):
    monkeypatch.setattr(Told, "takes", takes)
    sv.view.register_panel(Bar, Told)
    with live_hand(sv.Scene("s", run, panels=(Bar(0.5), LossCurve()))) as hand:
        view, bench = hand.view, hand.view.bench
        told, camera = bench.side.drawers["bar"].told, bench.camera
        assert {("Drag", "the bar: pull it"), ("Click", "the bar: teach it")} <= set(bench.interaction.table)
        on, off = middle(bench.places.panels["bar"]), (300.0, 650.0)

        def heard(*steps):
            told.clear()
            for step, *what in steps:
                getattr(view, step)(*what)
            return told

        click = heard(("move", on), ("press", on), ("release", on))
        assert click == [("press", on, "left"), ("release" if takes else "click", on)]
        small, far = (on[0] + 1, on[1]), (on[0] + 40, on[1] - 9)
        pulled = heard(("press", on, "right"), ("move", small), ("move", far), ("release", far))
        moved = [("drag", small, (1.0, 0.0), "right"), ("drag", far, (39.0, -9.0), "right"), ("release", far)]
        assert pulled == [("press", on, "right"), *(moved if takes else [("drag", far, (40.0, -9.0), "right")])]
        assert bench.camera is camera
        assert heard(("move", on), ("key", "Tab"), ("key", "w")) == [("key", "Tab", ""), ("key", "W", "")]
        assert bench.panels_shown  # the panel took the key
        assert heard(("move", off), ("key", "w"), ("press", off), ("release", off)) == []
        assert heard(("send", "escape")) == [("let go",)]
        view.send("toggle_help")
        assert heard(("press", on), ("release", on), ("key", "Tab")) == []


def test_what_a_source_cannot_do_is_a_sentence_in_the_panels_place():
    cube = ColourCube(COLOURS, COLOURS)
    panels = Pictures(PIXELS / 255, PIXELS / 255), cube, Image("mine", lambda m: m.predict(COLOURS))
    shown = bench_of(Subject(subject_of(sv.Weight(1.0)).source, panels=panels))
    shown.next_panels()
    again(shown)
    assert {"pictures: a weight cannot predict", "colours: a weight cannot predict",
            "a weight cannot predict; try a Run or a Scene"} <= set(said(shown))  # fmt: skip
    assert shown.side.gestures == (("Drag", "on the colour cube: turn it"),)  # no click chooses a sample: there is none
