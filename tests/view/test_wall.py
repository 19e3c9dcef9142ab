"""Walls of pictures: where they stand; the wall of scenes: what keys and pointer do, and where it leads."""

import gc
import threading
import weakref
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import scalarviz as sv
from kit.commands import SCENES, make_scene
from kit.runs import make_run
from kit.unseen import Unseen
from kit.windows import middle_of_tile, until, wall_words
from scalarviz.cli.scene_files import TAUGHT
from scalarviz.cli.tour import make_scene_wall as all_scenes
from scalarviz.errors import InputError
from scalarviz.view.ink.painter import Painter
from scalarviz.view.ink.text import measure
from scalarviz.view.out.canvas import Canvas
from scalarviz.view.walls.run_wall import LOOK
from scalarviz.view.walls.scene_wall import LEARNT, SMALL, STILL, USUAL, SceneWall, beginning
from scalarviz.view.walls.wall import ASPECT, BuiltScene, SceneEntry, Wall, fitting, grid_of
from scalarviz.view.watch.live import LiveView

pytestmark = pytest.mark.gl
COLOURS = {"red": (200, 30, 30), "green": (30, 180, 60)}
INSTALL = 'pip install "scalarviz[data]"'
WALLS = st.one_of(
    st.tuples(st.sampled_from([USUAL, SMALL]), st.integers(1, 14), st.just(ASPECT), st.none()),
    st.tuples(st.just(LOOK), st.integers(1, 1000), st.sampled_from([0.6, 1.0, ASPECT]),
              st.one_of(st.none(), st.integers(1, 24))),
)  # fmt: skip


@given(st.integers(300, 3000), st.integers(260, 2000), WALLS, st.data())
def test_pictures_stand_apart_each_can_be_scrolled_to_and_arrows_lead_to_the_one_beside(w, h, wall, data):
    look, count, aspect, columns = wall
    grid = grid_of((w, h), count, look, aspect, columns)
    place = data.draw(st.integers(0, count - 1))
    there, end = replace(grid, first=grid.to(place)), replace(grid, first=grid.last)
    assert place in there.shown
    assert end.shown[-1] == count - 1
    assert bool(grid.last) == (grid.bar is not None) == (len(grid.shown) < count)
    boxes, visible = [there.box(k) for k in there.shown], grid.picture[0] > 8 and grid.picture[1] > 5
    for n, (x, y, wide, high) in enumerate(boxes):
        for left, top, *_ in boxes[n + 1 :]:
            assert x + wide <= left or left + wide <= x or y + high + look.caption * visible <= top
        if visible:
            assert x + wide <= grid.size[0] + 1
            assert y + high + look.caption <= grid.size[1] - look.keys
    if end.bar is not None:
        (_, top, _, high), (_, part, _, seen) = end.bar
        assert part + seen == pytest.approx(top + high)
    for across, down in ((1, 0), (-1, 0), (0, 1), (0, -1), (0, 7)):
        further = grid.neighbour(place, across, down)
        (row, column), last = divmod(place, grid.columns), (count - 1) // grid.columns
        assert 0 <= further < count
        assert not across or further - place == across or further == place in (0, count - 1)
        assert not down or further % grid.columns == column or further == count - 1
        assert not down or further // grid.columns == min(max(row + down, 0), last)


# ---- the wall of scenes


def test_the_scenes_stand_in_the_order_in_which_they_are_taught_and_say_in_a_line_what_is_learnt():
    """Names and lines stay within their pictures; a line that ends early says so."""
    wall = all_scenes().appear((1280, 720))
    assert tuple(door.name for door in wall.doors) == TAUGHT
    assert set(TAUGHT) == set(SCENES)
    said = [text for sketch in wall.sketches() for text in sketch.texts]
    for place, door in enumerate(wall.doors):
        x, y, wide, high = wall.grid.box(place)
        mine = [t for t in said if x <= t.x < x + wide and y + high < t.y < y + high + wall.grid.look.caption]
        assert door.name in {t.text for t in mine}
        assert any(t.size == LEARNT and len(t.text) <= 55 and not t.text.endswith("...") for t in mine), door.name
        assert max(t.x + t.width for t in mine) <= x + wide
    cut = beginning(wall.doors[0].summary, 90.0, LEARNT)
    assert cut.endswith("...") or cut in wall.doors[0].summary
    assert measure(cut, LEARNT) <= 90


@pytest.mark.ci
@pytest.mark.parametrize("name", SCENES)
def test_a_tile_shows_cubes_and_beside_them_what_they_learnt_in_readable_type(name, monkeypatch):
    canvas = Canvas(make_scene(name), (960, 540), "dark")
    drawn = []
    monkeypatch.setattr(Painter, "draw", lambda painter, sketches: drawn.extend(sketches))
    canvas.tile(STILL)
    monkeypatch.undo()
    bench, half = canvas.bench, canvas.bench.places.size[0] / 2
    corners = bench.project(np.concatenate([plate.corners for plate in bench.layout.plates]))
    assert corners.min() >= 0
    assert corners[:, 0].max() <= half
    assert max(np.ptp(corners, axis=0) / (half, bench.places.size[1])) > 0.8
    assert all(text.size >= 13 for sketch in drawn for text in sketch.texts)
    picture = canvas.tile(STILL).astype(int)
    assert picture.shape == (STILL[1], STILL[0], 3)
    seen = np.abs(picture - picture[-1, -1]).max(axis=2) > 20
    assert min(part.mean() for part in np.split(seen, 2, axis=1)) > 0.02


def opened(name, given):
    if given.get("fails"):
        raise InputError("no such thing here")
    return BuiltScene(sv.Scene(name, make_run()), steps=400, duration=4.0)


@pytest.fixture
def rooms(tmp_path):
    doors = [
        SceneEntry(name, "", lambda given, name=name: opened(name, given), tmp_path / f"{name}.png") for name in COLOURS
    ]
    for door in doors:
        Image.new("RGB", (64, 36), COLOURS[door.name]).save(door.still)
    doors.append(SceneEntry("far", "Not here.", lambda given: opened("far", given), missing=INSTALL))

    def receive(path):
        if path.suffix != ".png":
            raise InputError(f"{path.name} is no picture")
        return doors[1], {"fails": path.stem == "bad"}, f"{path.name}: green learns this picture"

    return SceneWall(doors, receive)


@pytest.fixture
def host(rooms):
    host = Unseen(rooms.appear, (960, 540))
    yield host
    host.close_soon()


def pixel(host, place):
    x, y = map(int, middle_of_tile(host, place))
    return tuple(int(c) for c in host.picture()[y, x])


def enter(host, number, hand="Enter"):
    """Into a scene, whose window and run are returned."""
    if hand == "click":
        host.view.press(middle_of_tile(host, number))
        host.view.release(middle_of_tile(host, number))
    else:
        host.view.choose(number)
        host.view.key(hand)
    until(host, lambda: isinstance(host.view, LiveView))
    return host.view, host.view.run


def leave(host):
    host.view.key("Escape")
    until(host, lambda: isinstance(host.view, Wall))
    host.picture()


def test_the_stills_stand_in_their_places_in_both_looks_and_the_chosen_one_trains(host, monkeypatch):
    monkeypatch.setattr("scalarviz.view.walls.scene_wall.SECONDS", 1.0)
    for size, look in (((160, 160), "light"), ((2560, 1440), "dark")):
        host.size = size
        host.view.resize(size)
        host.view.key("L", "l")
        assert host.view.theme.name == look
        assert [pixel(host, place) for place in (0, 1)] == list(COLOURS.values())
    until(host, lambda: pixel(host, 0) != COLOURS["red"])
    assert "trains, step " in wall_words(host)
    until(host, lambda: "after step 400" in wall_words(host))
    host.view.move(middle_of_tile(host, 1))  # then it rests
    assert host.view.chosen == 1
    assert "after step" not in wall_words(host)
    assert pixel(host, 0) == COLOURS["red"]


@pytest.mark.parametrize("hand", ["Enter", "Space", "click"])
def test_a_scene_that_was_left_is_seen_so_and_goes_on_and_only_the_last_one_stays_in_memory(host, hand):
    host.view.press(middle_of_tile(host, 0))
    host.view.release(middle_of_tile(host, 1))  # a press that is let go elsewhere enters nothing
    assert "opening" not in wall_words(host)
    view, run = enter(host, 1, hand)
    assert host.name == view.scene.name == "green"
    view.send("step", 7)
    until(host, lambda: host.view.worker.latest.step == 7)
    for key in ("?", "Escape", "L"):  # what is open is closed first
        view.key(key, key)
    host.pass_time()
    assert host.view is view
    leave(host)
    assert (host.view.chosen, host.view.theme.name, host.closed) == (1, "light", False)
    x, y, wide, high = (round(s * host.view.grid.scale) for s in host.view.grid.box(1))
    wanted = fitting(Canvas(view.scene, (960, 540), host.view.theme).tile(STILL), (wide, high)).astype(int)
    for seconds in (0.0, 2.0):  # it stays so, also for a pointer that rests there
        for _ in range(round(seconds / 0.05)):
            host.pass_time(0.05)
        assert np.abs(host.picture()[y : y + high, x : x + wide] - wanted).mean() < 2
    assert "after step 7" in wall_words(host)
    view, again = enter(host, 1)
    assert (again is run, run.steps, view.playback.end) == (True, 7, 400)
    del view, run, again
    leave(host)
    gone = []
    for number in (1, 0, 1):
        gone += map(weakref.ref, enter(host, number))
        leave(host)
    gc.collect()
    assert [one() is not None for one in gone] == [False] * 5 + [True]


def test_what_is_missing_wrong_or_without_a_meaning_is_said_and_the_wall_goes_on(host, tmp_path):
    host.view.choose(2)
    host.view.key("Enter")
    for path, words in ((None, INSTALL), ("script.py", "script.py is no picture"), ("bad.png", "no such thing here")):
        if path is not None:
            host.view.open([tmp_path / path])
        until(host, lambda words=words: words in wall_words(host))
        assert "opening" not in wall_words(host)
    assert not host.view.key("W", "w")
    assert "W does nothing here" in wall_words(host)
    for key in ("?", "Escape"):
        host.view.key(key, key)
        assert ("open the chosen scene" in wall_words(host)) == (key == "?")
    host.view.open([tmp_path / "a.png"])
    assert "green learns this picture" in wall_words(host)
    until(host, lambda: isinstance(host.view, LiveView))
    assert host.view.scene.name == "green"


def test_while_a_scene_is_opened_a_file_is_left_out_and_escape_gives_up(host, rooms, tmp_path):
    go = threading.Event()
    rooms.doors = (SceneEntry("red", "Slow.", lambda given: go.wait(20) and opened("red", given)), *rooms.doors[1:])
    host.view.enter()
    host.view.open([tmp_path / "a.png"])
    assert "a.png was not opened, because red is opening" in wall_words(host)
    for words, closed in (("", False), ("closes the window", False), ("", True)):
        host.view.key("Escape")
        assert (words in wall_words(host), "opening" in wall_words(host), host.closed) == (True, False, closed)
    go.set()
