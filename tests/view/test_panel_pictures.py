"""Panels in recordings: the lists of what the window's column shows at that step, within the room there is."""

from __future__ import annotations

import json
import math
import zlib
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import bench_of
from kit.commands import make_scene
from scalarviz.errors import InputError
from scalarviz.run.source import Moment
from scalarviz.run.sources.recording.contents import Picture, write_pictures
from scalarviz.view.ink import listed as lists
from scalarviz.view.ink.listed import Listed, changes, checked, records_of, sketches_of, stored
from scalarviz.view.ink.sketch import Sketch
from scalarviz.view.ink.theme import THEMES
from scalarviz.view.out import offscreen
from scalarviz.view.page import pictures as drawing
from scalarviz.view.page.pictures import chosen, dense_order, panel_pictures
from scalarviz.view.page.recorded import films
from scalarviz.view.shown.subject import subject_of


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
            made = [text[3] for text in listed(one) if text[0] == "text"][8::5]
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
    with pytest.raises(InputError, match=r"cannot write pictures of panels into .*gone\.svz"):
        write_pictures(tmp_path / "gone.svz", [(1, Picture("a", 0, 1, 1, b"RIFF"))])


def test_a_sheet_that_nobody_has_drawn_on_has_no_picture():
    scene = make_scene("digits")
    assert {one.panel for one in panel_pictures(scene, [0], lambda k: scene.run.frame())} == {"digits"}


def test_a_list_makes_the_sketch_that_it_was_made_of_and_comes_back_as_it_went_and_from_changes():
    found = []
    for name in ("rgb", "xor", "playground", "digits", "neuron", "uinn"):
        bench = bench_of(make_scene(name))
        for panel in bench.side.drawers:
            records = [["box", 0, 0, 100, 100], *Listed(bench.theme).of(bench.side.drawn(panel))]
            read = sketches_of(json.loads(json.dumps(records)), bench.theme, (0, 0, 100, 100))
            again = Listed(bench.theme).of(read)
            assert [one[0] for one in again] == [one[0] for one in records[1:]]
            for one, other in zip(again, records[1:], strict=True):
                assert one == other or one[0] in ("image", "sprites"), (name, panel)  # pictures lose something
            found += [records, [records[0], *Listed(THEMES["light"]).of(bench.side.drawn(panel))]]
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
    found = [["box", 0, 0, 10, 10], *Listed(THEMES["dark"]).of([sketch])]
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
    pictures = [Picture(name, 0, 10, 10, data) for name, data in (("bad", bad), ("good", good))]
    assert what in BYTES or [film["name"] for film in films(pictures, ())] == ["good"]


def test_pictures_of_a_list_have_one_limit_together(monkeypatch):
    monkeypatch.setattr(lists, "MOST_PIXELS", 40)
    addresses = [lists.address_of(np.full((4, 4, 3), 50 * k, np.uint8), lossless=True) for k in range(3)]
    for count, seen in ((2, True), (3, False)):
        records = [["box", 0, 0, 9, 9], *(["image", 0, 0, 4, 4, address, 1] for address in addresses[:count])]
        assert (sketches_of(records, THEMES["dark"], (0, 0, 9, 9)) is not None) == seen
