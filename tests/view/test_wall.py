"""The wall: where its pictures stand, what keys and pointer do there, and that no thread stays behind."""

import gc
import threading
import time
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.walls.door import Door, Opened
from scalarviz.view.walls.grid import grid_of
from scalarviz.view.walls.rooms import Rooms
from scalarviz.view.walls.wall import Wall
from scalarviz.view.watch.live import LiveView

pytestmark = pytest.mark.gl

RED, GREEN = (200, 30, 30), (30, 180, 60)
INSTALL = 'pip install "scalarviz[data]"'


@given(st.integers(160, 4000), st.integers(160, 3000), st.integers(1, 14))
def test_pictures_lie_inside_side_by_side_and_are_found_by_the_pointer(width, height, count):
    grid = grid_of((width, height), count)
    assert len(grid.tiles) == count
    boxes = []
    for number, (x, y, wide, high) in enumerate(grid.tiles):
        assert grid.at(((x + wide / 2) * grid.scale, (y + high / 2) * grid.scale)) == number
        boxes.append((x, y, x + wide, y + high + grid.caption))
    for n, one in enumerate(boxes):
        for other in boxes[n + 1 :]:
            assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
    if min(width / 16, height / 9) >= 40:  # smaller ones have no room for a dozen
        assert min(box[0] for box in boxes) >= 0
        assert max(box[2] for box in boxes) <= grid.size[0] + 1
        assert max(box[3] for box in boxes) <= grid.foot


@given(st.integers(1, 14), st.data())
def test_arrows_lead_to_the_picture_beside(count, data):
    grid = grid_of((1280, 720), count)
    here = data.draw(st.integers(0, count - 1))
    right, down = grid.beside(here, 1, 0), grid.beside(here, 0, 1)
    assert right == min(here + 1, count - 1)
    assert down == here or grid.tiles[down][1] > grid.tiles[here][1]
    assert (down == here) == (grid.tiles[here][1] == grid.tiles[-1][1])
    up = grid.beside(here, 0, -1)
    assert up == here or grid.tiles[up][0] == grid.tiles[here][0]


def opened(name, given):
    if given.get("fails"):
        raise InputError("no such thing here")
    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    net.initialize(nn.init.pytorch_default(), seed=0)
    inputs = np.random.default_rng(0).random((32, 2))
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=(inputs, inputs[:, ::-1]), engine="numpy")
    return Opened(sv.Scene(name, run), steps=400, duration=4.0)


@pytest.fixture
def stills(tmp_path):
    for name, colour in (("red", RED), ("green", GREEN)):
        Image.new("RGB", (64, 36), colour).save(tmp_path / f"{name}.png")
    return tmp_path


@pytest.fixture
def rooms(stills):
    doors = [
        Door(name, f"The scene {name}.", lambda given, name=name: opened(name, given), stills / f"{name}.png")
        for name in ("red", "green")
    ]
    doors.append(Door("far", "Not here.", lambda given: opened("far", given), missing=INSTALL))

    def receive(path):
        if path.suffix != ".png":
            raise InputError(f"{path.name} is no picture")
        return doors[1], {"fails": path.stem == "bad"}, f"{path.name}: green learns this picture"

    found = Rooms(doors, receive)
    yield found
    found.close()


@pytest.fixture
def host(rooms):
    host = Unseen(rooms.wall, (960, 540))
    yield host
    host.close_soon()
    rooms.close()
    assert not [t.name for t in threading.enumerate() if t.name.startswith("scalarviz")]


def until(host, true, seconds=20.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, host.view
        host.pass_time(1 / 30)
        time.sleep(0.005)


def middle(host, number):
    x, y, wide, high = host.view.grid.tiles[number]
    return (x + wide / 2) * host.view.grid.scale, (y + high / 2) * host.view.grid.scale


def pixel(host, at):
    return tuple(int(c) for c in host.picture()[int(at[1]), int(at[0])])


def test_the_stills_stand_in_their_places_in_both_looks(host):
    for _ in range(2):
        assert pixel(host, middle(host, 0)) == RED
        assert pixel(host, middle(host, 1)) == GREEN
        host.view.key("L", "l")
    assert host.view.rooms.theme.name == "dark"


def test_the_chosen_one_trains_and_rests_when_another_is_chosen(host):
    wall = host.view
    until(host, lambda: wall._live is not None and wall._live.step > 5)
    assert pixel(host, middle(host, 0)) != RED
    worker = wall._live.worker
    wall.move(middle(host, 1))
    assert wall.rooms.chosen == 1
    assert worker._over
    assert pixel(host, middle(host, 0)) == RED


def test_a_picture_that_trains_comes_to_its_last_step_and_stands_there(host, monkeypatch):
    monkeypatch.setattr("scalarviz.view.walls.wall.SECONDS", 2.0)
    wall = host.view
    until(host, lambda: wall._live is not None and 0 < wall._live.step < 400, 60.0)
    assert wall._remark() == f"trains, step {wall._live.step:,}"
    until(host, lambda: wall._live.step == 400, 60.0)
    for _ in range(10):
        host.pass_time(0.1)
    assert wall._live.step == 400
    assert wall._remark() == "after step 400"


@pytest.mark.parametrize("hand", ["Enter", "Space", "click"])
def test_a_scene_is_entered_and_left(host, hand):
    wall = host.view
    if hand == "click":
        wall.press(middle(host, 1))
        wall.release(middle(host, 1))
    else:
        wall.key("Right")
        wall.key(hand)
    until(host, lambda: isinstance(host.view, LiveView))
    assert host.name == "green"
    assert host.view.scene.name == "green"
    assert any("back to all scenes" in does for _, does in host.view.bench.touch.table)
    assert not any("twice: the window" in does for _, does in host.view.bench.touch.table)
    host.view.key("?", "?")  # something is open: that is closed first
    host.view.key("Escape")
    host.pass_time()
    assert isinstance(host.view, LiveView)
    host.view.key("L", "l")
    host.view.key("Escape")
    until(host, lambda: isinstance(host.view, Wall))
    assert host.view.rooms.chosen == 1
    assert host.view.rooms.theme.name == "light"  # as the scene was
    assert not host.closed


def test_a_press_that_is_let_go_elsewhere_enters_nothing(host):
    host.view.press(middle(host, 0))
    host.view.release(middle(host, 1))
    assert host.view._opening is None


def test_a_scene_that_was_left_goes_on_where_it_was(host):
    host.view.enter(0)
    until(host, lambda: isinstance(host.view, LiveView))
    run = host.view.run
    host.view.send("step", 7)
    until(host, lambda: host.view.worker.latest.step == 7)
    host.view.way_out()
    until(host, lambda: isinstance(host.view, Wall))
    host.view.enter(0)
    until(host, lambda: isinstance(host.view, LiveView))
    assert host.view.run is run
    assert (run.steps, host.view.playback.end) == (7, 400)


def test_of_scenes_that_were_left_the_last_one_stays_in_memory(host):
    """The others go, with their windows and what these hold of the graphics library."""
    views, runs = [], []
    for number in (0, 1, 0, 1):
        host.view.enter(number)
        until(host, lambda: isinstance(host.view, LiveView))
        host.picture()
        views.append(weakref.ref(host.view))
        runs.append(weakref.ref(host.view.run))
        host.view.way_out()
        until(host, lambda: isinstance(host.view, Wall))
        host.picture()
    gc.collect()
    assert [view() is not None for view in views] == [False] * 4
    assert [run() is not None for run in runs] == [False, False, False, True]


def test_what_is_missing_is_said_and_not_built(host):
    host.view.choose(2)
    host.view.key("Enter")
    assert INSTALL in host.view._notice
    assert host.view._opening is None
    words = [item.text for sketch in host.view.sketches() for item in sketch.texts]
    assert any("pip install" in word for word in words)


def test_a_dropped_file_opens_the_door_that_takes_it(host, stills):
    host.view.open([stills / "a.png"])
    assert "green learns this picture" in host.view._notice
    until(host, lambda: isinstance(host.view, LiveView))
    assert host.view.scene.name == "green"


def test_what_cannot_be_taken_or_built_is_said_and_the_wall_goes_on(host, stills):
    host.view.open([stills / "script.py"])
    assert "script.py is no picture" in host.view._notice
    host.view.open([stills / "bad.png"])
    until(host, lambda: host.view._opening is None)
    assert "no such thing here" in host.view._notice
    host.view.key("Escape")
    assert not host.closed


def test_a_file_that_comes_while_a_scene_is_opened_is_said_to_be_left_out(host, rooms, stills):
    go = threading.Event()
    slow = Door("red", "Slow.", lambda given: opened("red", given if go.wait(20) else {}))
    rooms.doors = (slow, *rooms.doors[1:])
    host.view.enter(0)
    host.view.open([stills / "a.png"])
    assert "a.png is not opened: red is being opened already" in host.view._notice
    go.set()
    until(host, lambda: isinstance(host.view, LiveView))
    assert host.view.scene.name == "red"


def test_escape_gives_an_entrance_up_and_its_second_press_closes(host, rooms):
    started, go = threading.Event(), threading.Event()

    def slow(given):
        started.set()
        go.wait(20)
        return opened("red", given)

    host.view.rooms.doors = (Door("red", "Slow.", slow), *rooms.doors[1:])
    host.view.enter(0)
    assert started.wait(20)
    host.view.key("Escape")
    assert host.view._opening is None
    host.view.key("Escape")
    assert "closes the window" in host.view._notice
    host.view.key("Escape")
    assert host.closed
    go.set()


def test_keys_without_a_meaning_say_so_and_the_list_of_keys_opens(host):
    assert not host.view.key("W", "w")
    assert "W does nothing here" in host.view._notice
    before = host.picture()
    assert host.view.key("?", "?")
    assert (host.picture() != before).any()
    host.view.key("Escape")
    assert host.view._help == 0


@pytest.mark.parametrize("size", [(160, 160), (640, 360), (2560, 1440)])
def test_every_size_is_drawn(host, size):
    host.size = size
    host.view.resize(size)
    picture = host.picture()
    assert picture.shape == (size[1], size[0], 3)
    assert (np.abs(picture.astype(int) - np.array(RED)).max(axis=2) == 0).any()
