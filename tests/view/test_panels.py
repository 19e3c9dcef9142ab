"""Legends against their maps, the board of digits and the sheet to draw on, and places of any panels at any size."""

from __future__ import annotations

import json
import math
import zlib
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import scalarviz as sv
from kit.benches import bench_of, overlap
from kit.commands import make_scene
from scalarviz import nn, optim
from scalarviz.errors import InputError
from scalarviz.run.panels import DigitBoard, DigitPad
from scalarviz.run.panels.base import PanelPicture
from scalarviz.run.source import Moment
from scalarviz.run.sources.recording.contents import write_pictures
from scalarviz.view.cubes.scale import LegendScale
from scalarviz.view.ink import listed as lists
from scalarviz.view.ink.boxes import ABOUT, COLUMN, PRESENTER, WantedPanel, arrange
from scalarviz.view.ink.listed import Listed, changes, checked, records_of, sketches_of, stored
from scalarviz.view.ink.painter import Painter
from scalarviz.view.ink.sketch import Sketch
from scalarviz.view.ink.theme import DARK, THEMES, get_map
from scalarviz.view.out import offscreen
from scalarviz.view.page import pictures as drawing
from scalarviz.view.page.pictures import chosen, dense_order, panel_pictures
from scalarviz.view.page.recorded import films
from scalarviz.view.panels.digits import BoardDrawer, PadDrawer
from scalarviz.view.panels.drawer import SharedState
from scalarviz.view.screen.strip import bar_pixels, legend
from scalarviz.view.shown.subject import subject_of

BOX = (10.0, 20.0, 304.0, 240.0)
RNG = np.random.default_rng(2)
BOARD = DigitBoard(RNG.random((80, 64)), np.arange(80) % 10, (8, 8))


@pytest.mark.gl
@pytest.mark.parametrize("name", ["weight", "gradient", "grey", "viridis"])
def test_the_legend_has_the_colours_of_the_map_and_a_mark_above_its_own(name):
    cmap = get_map(name, DARK)
    scale = LegendScale(name, "", cmap, [], np.array([0.0, 0.25, 1.0]))
    sketch = legend((24.0, 40.0, 344.0, 76.0), DARK, scale, bar_pixels(cmap, 344))
    picture = offscreen.offscreen().render(lambda _: Painter((400, 300)).draw([sketch]), (400, 300))
    unit = (np.arange(344) + 0.5) / 344
    expected = cmap(2 * unit - 1 if cmap.diverging else unit) * 255
    assert np.abs(picture[40 + 14 + 20 + 7, 24 : 24 + 344] - expected).max() <= 1.0
    assert set(np.nonzero(picture[40 + 14 + 20 - 4].max(axis=1) > 90)[0]) == {24, 24 + 86, 24 + 343}


@pytest.fixture
def columns():
    made = BoardDrawer(BOARD, SharedState(subject_of(sv.Weight(0.0)), DARK))
    made.lay_out(BOX)
    return made


def shown(columns):
    """Left, top, width and height of each digit, and whether it has a frame, in the order of `columns.labels`."""
    (item,) = columns.sketch().small
    order = np.argsort(np.rint(item.cells[:, 0] * len(columns.labels)))
    return item.rects[order], item.cells[order, 1] > 0.25


@pytest.mark.parametrize("wrongly", [0, 7, 60])
def test_six_of_each_class_stand_in_the_column_they_are_read_as_and_wrong_ones_are_framed(columns, wrongly):
    assert np.bincount(columns.labels).tolist() == [6] * 10
    np.testing.assert_array_equal(columns.inputs, BOARD.inputs[:60])
    read = columns.labels.copy()
    read[:wrongly] = RNG.integers(0, 10, wrongly)
    columns.move(read, None)
    boxes, framed = shown(columns)
    column = (boxes[:, 0] + boxes[:, 2] / 2 - BOX[0]) // (BOX[2] / 10)
    np.testing.assert_array_equal(column, read)
    np.testing.assert_array_equal(framed, read != columns.labels)
    assert f"{int(framed.sum())} of {len(framed)} wrong" in [item.text for item in columns.sketch().texts]


@pytest.mark.parametrize("crowd", [6, 10, 35, 60])
def test_a_crowd_stays_in_the_panel_and_each_digit_is_seen(columns, crowd):
    columns.move(np.where(np.arange(60) < crowd, 4, columns.labels), None)
    boxes, _ = shown(columns)
    assert (boxes[:, :2] >= (BOX[0] - 0.5, BOX[1] + 22)).all()
    assert (boxes[:, :2] + boxes[:, 2:] <= (BOX[0] + BOX[2] + 0.5, BOX[1] + BOX[3] - 20)).all()
    middles = boxes[:, :2] + boxes[:, 2:] / 2
    away = np.abs(middles[:, None] - middles) / boxes[:, None, 2:]
    assert (away < 0.64).all(axis=2).sum() == 60  # each is near itself alone


@pytest.mark.gl
def test_the_pixels_of_a_digit_are_its_shades_and_a_wrong_one_has_a_frame(columns):
    columns.move(np.where(np.arange(60) == 3, 0, columns.labels), None)
    picture = (
        offscreen.offscreen().render(lambda _: Painter((330, 280)).draw([columns.sketch()]), (330, 280)).astype(int)
    )
    ink, paper, frame, panel = (np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) for colour in
                                (DARK.activation[-1], DARK.activation[0], DARK.selection, DARK.panel))  # fmt: skip
    for k in (0, 12, 3):
        left, top, width, _ = shown(columns)[0][k]
        pixel = width / 10  # eight and a border of one on each side
        rows, across = ([round(at + (n + 1.5) * pixel - 0.5) for n in range(8)] for at in (top, left))
        brightness = (picture[np.ix_(rows, across)] - paper).sum(axis=2) / (ink - paper).sum()
        assert np.corrcoef(brightness.ravel(), columns.inputs[k])[0, 1] > 0.97
        edge = picture[rows[3], round(left + 0.5 * pixel)]
        assert np.abs(edge - (frame if k == 3 else panel)).max() <= 2


def panel_of(logits):
    """What the sheet to draw on says of such outputs of a network."""
    net = nn.Linear(64, 10, seed=1)
    run = sv.Run(net, nn.CrossEntropyLoss(), optim.SGD(net.parameters()), (np.ones((1, 64)), [3]))
    names = tuple("0123456789")
    scene = sv.Scene("t", run, np.zeros(64), [3.0], output_names=names, panels=(DigitPad((8, 8)),))
    pad = PadDrawer(scene.panels[0], SharedState(subject_of(scene), DARK))
    pad.lay_out(BOX)
    frame = pad.shared.subject.frame()
    (last,) = pad.shared.subject.stages
    (sketch,) = pad.draw(sv.run.Moment(frame.with_activations({last.name: np.array(logits)}), None), BOX, None)
    return sketch.texts


@pytest.mark.parametrize("winner", [0, 1, 9])
@pytest.mark.parametrize("rest", [0.0, 0.05, 0.3, 0.55])
def test_the_bars_say_the_softmax_and_their_numbers_never_touch(winner, rest):
    """Only one share can be as wide as 100; the ones beside it are then 0."""
    likely = np.full(10, rest / 9)
    likely[winner] = 1 - rest
    found = panel_of(np.log(likely + 1e-12) + 1000.0)
    numbers = sorted((t for t in found if t.anchor == "middle" and t.y < BOX[1] + 22 + 90), key=lambda t: t.left)
    assert [t.text for t in numbers] == [f"{100 * share:.0f}" for share in likely]
    assert all(a.left + a.width < b.left for a, b in pairwise(numbers))
    assert {f"read as {winner}", "is 3"} <= {t.text for t in found}


def test_outputs_that_are_not_finite_are_no_share():
    said = [t.text for t in panel_of([np.nan] * 10)]
    assert "outputs are not finite" in said
    assert "%" not in said


KINDS = st.lists(
    st.tuples(st.floats(40, 400), st.sampled_from([0.0, 325.0, 420.0]), st.integers(0, ABOUT + 1)), max_size=12
)


@settings(max_examples=300, deadline=None)
@given(kinds=KINDS, loss=st.booleans(), keys=st.booleans(), time=st.booleans(), hall=st.booleans(),
       size=st.tuples(*[st.integers(160, 4000)] * 2))  # fmt: skip
@example([(300.0, 0.0, ABOUT)], False, True, True, False, (640, 360))
@example([(117.0, 0.0, 0), (166.0, 0.0, 2)], True, True, True, True, (1024, 768))
@example([(140.0, 0.0, 1), (250.0, 0.0, 2)], True, True, True, False, (720, 1140))
def test_any_panels_are_inside_and_apart_or_left_out_by_name(kinds, loss, keys, time, hall, size):
    wanted = [WantedPanel(f"panel {k}", *kind) for k, kind in enumerate(kinds)]
    if loss:
        wanted.insert(len(wanted) // 2, WantedPanel("loss", 150.0, 420.0, first=True))
    places = arrange(size, wanted, keys=keys, time=time, presenter=hall)
    found = [*places.panels.values(), places.scene, *(box for box in (places.hud, places.strip, places.time) if box)]
    boxes = [(x, y, x + wide, y + high) for x, y, wide, high in found]
    for k, box in enumerate(boxes):
        assert 0 <= box[0] < box[2] <= places.size[0] + 0.01
        assert 0 <= box[1] < box[3] <= places.size[1] + 0.01
        assert not any(overlap(box, other, 0.01) for other in boxes[:k])
    if len(places.panels) < len(wanted) and places.panels:  # how many, below the last panel
        x, y, wide, high = places.more
        assert not any(overlap((x, y, x + wide, y + high), box, 0.01) for box in boxes[: len(places.panels)])
    for want in wanted:
        if want.name in places.panels and want.worth < ABOUT:
            own = places.panels[want.name][3]
            assert want.height - 0.01 <= own
            assert own <= max(want.height, want.most) + 0.01 or want.first
    about = max(wanted, key=lambda want: want.worth, default=None)
    standing = size[1] > size[0]  # everything below each other: the panel of most worth first, others as they fit
    if standing and places.panels and places.size[0] < 640:
        assert about.name in places.panels
    missed = loss and not standing and "loss" not in places.panels
    if missed and places.panels and places.size[1] >= 200 and about.worth < ABOUT:
        ((x, _, wide, _),) = places.panels.values()  # only where one alone has room, which shows most
        beside = x > places.scene[0] + places.scene[2]
        assert about.name in places.panels
        assert not beside or (about.worth > 0 and wide != COLUMN)
    plain = arrange(size, wanted, keys=keys)
    assert places.scale >= plain.scale * (PRESENTER if hall and not standing else 1.0) >= 1
    if places.time is not None and not hall:  # no panel makes way for the time bar, and it keeps to its place
        assert places.panels.keys() == plain.panels.keys() or standing
        assert places.strip is None or places.strip[1] + places.strip[3] + 8 <= places.time[1]
        assert places.keys is None or places.time[1] + places.time[3] < places.keys - 10


# ---- Panels in recordings: the lists of what the window's column shows at that step, within the room there is


def listed(picture):
    return records_of(picture.image, (picture.width, picture.height))


def recorded(thing, path, steps, **more):
    with sv.Recording(thing, panels=True, path=path, **more):
        getattr(thing, "run", thing).step(steps)
    return sv.load_recording(path)


def test_they_are_what_the_window_shows_at_each_step_and_change_nothing(tmp_path):
    scene = make_scene("xor")
    with recorded(scene, tmp_path / "run.svz", 200, every=20, activations=True) as record:
        pictures, after = record.pictures, scene.run.values.copy()
        assert panel_pictures(scene, range(len(record)), record.frame) == list(pictures)
    assert np.array_equal(scene.run.values, after)
    assert scene.run.steps == 200
    bench = bench_of(scene, size=(1280, 720), asked=True)
    assert {one.panel for one in pictures} == {"plane", "table"}
    assert sorted({one.step for one in pictures}) == list(range(0, 201, 20))
    for one in pictures:  # numbers of a panel are of its own step
        if one.panel == "table":
            made = [text[3] for text in listed(one) if text[0] == "text"][14::3]  # behind heads and samples
            with sv.load_recording(tmp_path / "run.svz") as record:
                frame = record.frame(record.at(one.step))
            moment = Moment(frame, subject_of(scene).source)
            outputs = moment.predict(np.array([[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]], np.float32))
            assert [float(x.replace("\u2212", "-")) for x in made] == pytest.approx(np.ravel(outputs), abs=1e-4)
    for name in ("plane", "table"):
        first, *_, last = (one for one in pictures if one.panel == name)
        window = [item.text for sketch in bench.side.drawn(name) for item in sketch.texts]
        assert [text[3] for text in listed(last) if text[0] == "text"] == window
        assert listed(first) != listed(last)


def test_they_stay_within_their_room_and_have_both_ends(monkeypatch):
    """Numbers at every frame where there is room, pictures at a few, dense where the loss falls."""
    monkeypatch.setattr(drawing, "MOST", 4)
    scene = make_scene("xor")
    with sv.Recording(scene, every=1) as recording:
        scene.run.step(9)
        with recording.read() as record:
            for room, least in ((400_000, 2), (6_000, 2), (3_000, 2), (10, 0)):
                found = panel_pictures(scene, range(len(record)), record.frame, room=room)
                assert len(zlib.compress(json.dumps(films(found, ())).encode(), 9)) <= room
                counts = Counter(one.panel for one in found)
                assert (counts["plane"] <= 4) == (room < 400_000)
                assert counts["table"] == 10 or room < 6_000
                assert {9 in [one.step for one in found if one.panel == name] for name in counts} <= {True}
                assert len({one.panel for one in found}) >= least
    losses = [*np.linspace(9.0, 1.0, 20), *[1.0] * 180]
    order = dense_order([losses[0], math.nan, *losses[2:]])
    assert (sorted(order), order[:2]) == (list(range(200)), [199, 0])
    assert 7 <= sum(k < 20 for k in order[:16]) <= 11
    assert [dense_order([1.0] * n) for n in range(4)] == [[], [0], [1, 0], [2, 0, 1]]
    some = chosen(range(5, 105), 24)
    assert (some[0], some[-1], len(some)) == (5, 104, 24)
    assert (chosen([3, 4], 24), chosen([], 24)) == ([3, 4], [])


def test_a_run_without_panels_has_none_and_no_panel_needs_gl(monkeypatch, tmp_path):
    scene = make_scene("rgb")
    with recorded(scene.run, tmp_path / "a.svz", 1) as record:
        assert record.pictures == ()
    monkeypatch.setattr(offscreen, "offscreen", None)
    with recorded(scene, tmp_path / "b.svz", 1) as record:
        assert {one.panel for one in record.pictures} == {"pictures", "colours"}
    with pytest.raises(InputError, match=r"cannot write panel pictures to .*gone\.svz"):
        write_pictures(tmp_path / "gone.svz", [(1, PanelPicture("a", 0, 1, 1, b"RIFF"))])


def test_a_sheet_that_nobody_has_drawn_on_has_no_picture():
    scene = make_scene("digits")
    assert {one.panel for one in panel_pictures(scene, [0], lambda k: scene.run.frame())} == {"digits"}


def test_a_list_makes_the_sketch_that_it_was_made_of_and_comes_back_as_it_went_and_from_changes():
    found = []
    for name in ("rgb", "xor", "playground", "digits", "neuron", "uinn"):
        bench = bench_of(make_scene(name))
        for drawn in (*map(bench.side.drawn, bench.side.drawers), bench.parts["time"]):
            records = [["box", 0, 0, 100, 100], *Listed(bench.theme).records(drawn)]
            read = sketches_of(json.loads(json.dumps(records)), bench.theme, (0, 0, 100, 100))
            again = Listed(bench.theme).records(read)
            assert [one[0] for one in again] == [one[0] for one in records[1:]]
            for one, other in zip(again, records[1:], strict=True):
                assert one == other or one[0] in ("image", "sprites"), (name, one)  # pictures lose something
            found += [records, [records[0], *Listed(THEMES["light"]).records(drawn)]]
    for one, other in pairwise(found):
        assert checked(stored(one)) == json.loads(json.dumps(one))
        new = changes(one, other)
        assert other == (new if isinstance(new, list) else [new.get(str(k), record) for k, record in enumerate(one)])


DRAWN = {
    "rect": lambda s, x: s.rect(x, 1, 2, 3, fill="#ffffff"),
    "lines": lambda s, x: s.lines([(x, 1), (2, 3)], [(4, 5), (6, 7)], "#ffffff"),
    "path": lambda s, x: s.polyline([(x, 1), (2, 3), (4, 5)], "#ffffff"),
    "cells": lambda s, x: s.cells([(x, 1, 2, 3), (1, 1, 1, 1)], [(1, x, 1), (0, 0.5, 1)]),
    "points": lambda s, x: s.discs([(x, 1), (2, 3)], 4.0, [(1, x, 1), (0, 0.5, 1)]),
    "text": lambda s, x: s.text(x, 1, "a", 13, "#ffffff"),
    "image": lambda s, x: s.image((x, 1, 2, 3), np.zeros((2, 2, 3), np.uint8)),
}


@pytest.mark.parametrize("kind", DRAWN)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -1e30])
def test_what_stands_nowhere_is_left_out_and_all_else_stays(kind, bad):
    """Of a run that diverged; a page could not even read its number."""
    sketch = Sketch()
    DRAWN[kind](sketch, bad)
    sketch.text(1, 2, "there", 13, "#ffffff")
    found = [["box", 0, 0, 10, 10], *Listed(THEMES["dark"]).records([sketch])]
    assert found[-1][3] == "there"
    assert checked(stored(found)) == found
    json.dumps(found, allow_nan=False)


HOSTILE = {
    "sizes": [["text", 1, 1, "a", 4 + k / 100, None, 0, "left"] for k in range(100)],
    "a size": [["text", 1, 1, "a", 0, None, 0, "left"]],
    "an end": [["text", 1, 1, "a", 13, None, 0, "centre"]],
    "a number as words": [["text", 1, 1, 7, 13, None, 0, "left"]],
    "far away": [["rect", 1e300, 1, 1, 1, None, None, 1, 0, 0]],
    "NaN": [["rect", float("nan"), 1, 1, 1, None, None, 1, 0, 0]],
    "letters as points": [["path", "abc", None, 1]],
    "a second box": [["box", 0, 0, 1, 1]],
    "too few": [["rect", 1, 1]],
    "many": [["text", 1, 1, "a", 13, None, 0, "left"]] * 30_000,
    "a colour": [["rect", 1, 1, 1, 1, "url(http://example.org)", None, 1, 0, 0]],
    "numbers": [1],
    "a script": [["script", 1]],
    "a dictionary": [["text", {}]],
    "an address": [["image", 0, 0, 1, 1, "http://example.org/a.png", 1]],
    "a number of the moment": [["number", 1, 1, 13, "text1", 0, "left", "step", 0, "count", "", 0]],
    "the ink of a cube": [["text", 1, 1, "a", 13, "cube", 0, "left"]],
    "marks of the moment": [["marks", 1, 1, 9, 5, "text1", 1]],
    "a file": [["sprites", [0], [0], "file:///etc/passwd", 1]],
    "deep": [["rect", [["deep"]]]],
}
BYTES = {
    "none": b"", "cut at once": b"x\xda", "a bomb": zlib.compress(b"[" + b" " * (64 << 20) + b"]"),
    "cut": stored([["rect", 1, 2, 3, 4, None, None, 1, 0, 0]])[:-3], "a picture": b"\x89PNG",
    "nested": zlib.compress(b"[[[[" * 99_999), "no list": zlib.compress(b"{}"),
}  # fmt: skip


@pytest.mark.parametrize("what", [*HOSTILE, *BYTES])
def test_a_list_of_somebody_else_is_whole_or_nothing(what):
    bad = BYTES.get(what) if what in BYTES else stored([["box", 0, 0, 10, 10], *HOSTILE[what]])
    assert checked(bad) == []
    good = stored([["box", 0, 0, 10, 10], ["text", 1, 1, "a", 13, "text1", 0, "left"]])
    pictures = [PanelPicture(name, 0, 10, 10, data) for name, data in (("bad", bad), ("good", good))]
    assert what in BYTES or [film["name"] for film in films(pictures, ())] == ["good"]


def test_pictures_of_a_list_have_one_limit_together(monkeypatch):
    monkeypatch.setattr(lists, "MOST_PIXELS", 40)
    addresses = [lists.address_of(np.full((4, 4, 3), 50 * k, np.uint8), lossless=True) for k in range(3)]
    for count, seen in ((2, True), (3, False)):
        records = [["box", 0, 0, 9, 9], *(["image", 0, 0, 4, 4, address, 1] for address in addresses[:count])]
        assert (sketches_of(records, THEMES["dark"], (0, 0, 9, 9)) is not None) == seen
