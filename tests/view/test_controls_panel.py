"""The panel of controls as it is asked: places, rows, the four kinds, pointer and keys. No run trains here."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.benches import box_of, middle, overlap, words
from kit.runs import make_run
from scalarviz.run import Scene
from scalarviz.run.controls import Button, Reader, Segments, Slider, Switch
from scalarviz.run.source import RunSource
from scalarviz.view.ink.boxes import LEAST, WantedPanel
from scalarviz.view.ink.theme import DARK
from scalarviz.view.ink.widgets import track_of
from scalarviz.view.screen.controls import HEAD, MAGNET, RESTS, ControlRow, ControlsPanel, Item, Wish, row_of
from scalarviz.view.watch.scene_controls import ControlRows

BOX = (940.0, 12.0, 328.0, 696.0)
NOTHING = {"change": lambda value, reader: None}


def slider(value=0.5, name="rate", **others):
    own = {"least": 1e-3, "most": 10.0, "log": True, "usual": 0.5, **NOTHING} | others
    return Item(Slider(name, "--rate", "Does.", value=lambda r: value, **own), value, "Up", f"{value:g}")


def segments(value="b", choices=("a", "b", "c"), name="kind"):
    return Item(Segments(name, "", "Does.", choices=choices, value=lambda r: value, **NOTHING), value)


def switch(name="on", value=False):
    return Item(Switch(name, "", "Does.", value=lambda r: value, **NOTHING), value)


def button(label="press"):
    return Item(Button(label, "", "Does.", **NOTHING))


def panel(*parts, box=BOX, wanted=()):
    found = ControlsPanel(DARK)
    found.toggle()
    found.place(box, wanted)
    found.show([row_of(one) if isinstance(one, Item) else one for one in parts], running=False)
    return found


# ---- what it holds


def held(*, options=None, **others):
    with make_run("wide", l2=0.01) as run:
        viewer = SimpleNamespace(playback=SimpleNamespace(speed=1.0), travels=None,
                                 action_context=lambda: SimpleNamespace(recorded=True))  # fmt: skip
        return ControlRows(viewer, Scene("t", run, **others)).rows(Reader(run.frame(), RunSource(run), options))


def names(rows):
    return [item.name for row in rows for item in row.items]


@pytest.mark.parametrize("box", [BOX, (332.0, 12.0, LEAST, 336.0)])
def test_tab_comes_to_all_controls_and_shows_each_whole(box):
    kinds = ("circle", "xor", "gauss", "spiral", "plane", "regress-gauss")
    mine = Segments("data", "", "Kinds.", choices=kinds, value=lambda r: "xor", **NOTHING)
    rows = held(controls=[mine], command=lambda r: "x")
    made, seen = panel(*rows, box=box, wanted=[WantedPanel("loss", 88.0, 150.0, first=True)]), set()
    assert len(made.side) == (box[3] > 400)
    for _ in names(rows):
        made.key("Tab")
        assert made.spot(made.focus) is not None
        boxes = [box_of(text) for text in made.sketch().texts]
        assert not any(overlap(one, other, 1.0) for one, other in combinations(boxes, 2))
        assert all(box[0] + 4 <= left < right <= box[0] + box[2] - 4 for left, _, right, _ in boxes)
        seen |= {*words([made.sketch()])}
    assert {row.label for row in rows if row.look != "tools"} - {""} <= seen


def test_a_scene_takes_the_place_of_controls_and_hides_others():
    mine = Segments("batch", "--batch", "Mine.", choices=(1, 2), value=lambda r: 2, **NOTHING)
    rows = held(controls=[mine], options=SimpleNamespace(lr=0.5))
    assert [row.items[0].control.does for row in rows if row.label == "batch"] == ["Mine."]
    for command in (None, lambda reader: None, lambda reader: ""):
        assert "copy as command" not in names(held(command=command))
    assert {"reseed", "copy as command"} <= {*names(held(command=lambda reader: "x"))}
    hidden = names(held(hide=["seed", "pace", "copy as command"], command=lambda reader: "x"))
    assert not {"reseed", "pace", "copy as command"} & {*hidden}


def test_it_is_drawn_when_it_changes_and_says_what_a_control_does_when_the_pointer_rests():
    made = panel(slider(), switch())
    assert not made.show([row_of(slider()), row_of(switch())], running=False)
    made.hover(middle(made.spot("rate").box))
    for rests, wanted in ((0.0, set()), (RESTS, {"rate", "Does.", "key Up  ·  --rate  ·  double click: type it"})):
        made.pass_time(rests)
        assert made.show([row_of(slider(0.25)), row_of(switch())], running=False)
        assert wanted <= set(words(made.label((1280, 720))))
        assert bool(wanted) == bool(made.label((1280, 720)))
    made.hover(None)
    assert made.label((1280, 720)) == []
    made.toggle()
    assert (made.sketch(), made.owns(middle(BOX))) == (None, False)


# ---- the pointer


def test_a_slider_follows_the_hand_and_its_usual_value_is_magnetic():
    made, item = panel(slider()), slider()
    left, right, y = track_of(made.spot("rate").box)
    usual = left + (right - left) * item.control.share(0.5)
    assert made.press((left + 0.25 * (right - left), y)) == Wish("set", item, 0.01, held=True)
    for off, caught in ((MAGNET - 0.5, True), (-MAGNET + 0.5, True), (MAGNET + 1.5, False), (-MAGNET - 1.5, False)):
        assert (made.drag((usual + off, y + 300)).value == 0.5) is caught  # however far above or below
    assert [made.drag((x, y)).value for x in (-1000, 5000)] == [1e-3, 10.0]
    assert made.release((5000, y)) is made.drag((usual, y)) is None
    stepped = replace(item, stops=(0.01, 1.0, 10.0))
    assert {stepped.value_at(made.spot("rate").box, x) for x in np.linspace(left, right, 50)} == {0.01, 1.0, 10.0}


def test_rows_that_scroll_leave_no_place_empty_and_none_is_cut():
    rows = [row_of(one) for k in range(9) for one in (slider(name=f"a{k}"), segments(name=f"b{k}"))]
    for high in range(330, 720, 60):
        made = panel(*rows, box=(940.0, 12.0, 328.0, float(high)), wanted=[WantedPanel("loss", 88.0, 150.0)])
        limit = min([12.0 + high, *(box[1] for box in made.side.values())])
        assert not made.scroll(1)
        assert (made.spot("a0") is None, made.spot("b8") is None) == (False, True)
        while True:
            boxes = [spot.box for spot in made.spots if spot.name[0] in "ab" and spot.value == ""]
            assert boxes[0][1] - 12 - HEAD < 30
            assert limit - 40 <= boxes[-1][1] + boxes[-1][3] <= limit
            assert all(a[1] + a[3] <= b[1] + 0.01 for a, b in pairwise(boxes))
            if not made.scroll(-1):
                break
        assert (made.spot("a0") is None, made.spot("b8") is None) == (True, False)
    made.scroll(99)
    assert [made.scroll(-0.25) for _ in range(8)] == [False, False, False, True] * 2  # a touch pad: parts of a notch
    (bar,) = [spot.box for spot in made.spots if spot.name == "scrolls"]
    for y, name in ((bar[1] + bar[3], "b8"), (bar[1], "a0")):
        assert made.press(middle(bar)) is made.drag((bar[0] + 4, y)) is made.release((bar[0] + 4, y)) is None
        made.drag(middle(bar))  # it was let go of
        assert made.spot(name) is not None


# ---- keys


def test_keys_do_what_the_pointer_does():
    tools = ControlRow("tools", tuple(button(name) for name in "abcde"))
    made = panel(slider(), segments(), switch(), tools)
    for focus, wishes in {
        "rate": {"Right": ("set", slider(), 1.0), "Down": ("set", slider(), 0.2), "Enter": ("type", slider())},
        "kind": {"Left": ("set", segments(), "a"), "Space": ("set", segments(), "c")},
        "on": {"Space": ("set", switch(), True)},
        "a": {"Space": ("set", button("a")), "Enter": ("set", button("a"))},
    }.items():
        assert made.key("Tab") is True
        assert made.focus == focus
        assert {key: made.key(key) for key in wishes} == {key: Wish(*wish) for key, wish in wishes.items()}
    assert made.key("W") is made.key("5") is False
    unknown = segments(value="z")  # its first choice is what every key comes to
    assert {unknown.turned_value(1), unknown.turned_value(-1), *map(unknown.far_value, ("Home", "End", "PageUp"))} == {
        "a"
    }
    for name, focus in (("Right", "b"), ("Right", "c"), ("Left", "b"), ("End", "e"), ("Home", "a"), ("Up", "on")):
        assert made.key(name) is True
        assert made.focus == focus


@settings(max_examples=200)
@given(st.floats(1e-4, 12), st.sampled_from([1, -1]), st.booleans(), st.booleans())
def test_a_notch_goes_its_way_and_stays_on_the_track(value, way, log, whole):
    least = 1 if whole else 1e-3
    item = slider(float(round(value)) if whole else value, log=log, least=least, usual=None, whole=whole)
    new = item.turned_value(way)
    if new is None:
        assert item.value >= 10 if way > 0 else item.value <= least
        return
    assert (new - item.value) * way > 0 or not least <= item.value <= 10
    assert least <= new <= 10
    assert not log or whole or new in (1e-3, 10) or float(f"{new:.0e}"[0]) in (1, 2, 5)
