"""The tour: stations one after another, what is done in them by itself, the keys, and its end on the wall."""

import threading
import time

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError
from scalarviz.view.ink.theme import presenting
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.walls.door import Door, Opened
from scalarviz.view.walls.rooms import Rooms
from scalarviz.view.walls.station import Act, Station, again
from scalarviz.view.walls.wall import Wall
from scalarviz.view.watch.actions import BY_NAME

pytestmark = pytest.mark.gl

STATIONS = (
    Station("first", "Begin", ((0.0, "It stands."), (1.0, "It runs.")), 2.0, (Act(1.0, "toggle_run"),)),
    Station("second", "Steps", ((0.0, "Five back."),), 2.0, again(0.5, 0.1, 5, "back"), trained=40),
    Station("gone", "No such door", ((0.0, "Never seen."),), 2.0),
    Station("third", "Inside", ((0.0, "Into a step."),), 2.0, (*again(0.5, 0.1, 3, "micro_next"), Act(1.5, "step"))),
)


def run_of(engine="numpy"):
    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    net.initialize(nn.init.pytorch_default(), seed=0)
    inputs = np.random.default_rng(0).random((32, 2))
    return sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=(inputs, inputs[:, ::-1]), engine=engine)


@pytest.fixture
def rooms():
    doors = [
        Door(name, name, lambda given, name=name: Opened(sv.Scene(name, run_of()), steps=300))
        for name in ("first", "second", "third")
    ]
    found = Rooms(doors, lambda path: (doors[0], {}, ""), stations=lambda: STATIONS)
    yield found
    found.close()


@pytest.fixture
def host(rooms):
    host = Unseen(rooms.tour, (960, 540))
    yield host
    host.close_soon()
    rooms.close()
    assert not [t.name for t in threading.enumerate() if t.name.startswith("scalarviz")]


def until(host, true, seconds=30.0, tick=0.02):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        host.pass_time(tick)
        time.sleep(0.002)


def at(host, number):
    """Wait until a station is shown, the time standing still."""
    until(host, lambda: host.view._goal is None and host.view.number == number and host.view.view is not None, tick=0.0)


def line_of(host):
    host.picture()
    return [item.text for sketch in host.view._painters[0]._drawn for item in sketch.texts]


def test_it_goes_by_itself_from_station_to_station_and_ends_on_the_wall(host):
    tour, seen = host.view, []
    until(host, lambda: (seen.append(tour.number) if not seen or seen[-1] != tour.number else None)
          or host.view is not tour, 60.0)  # fmt: skip
    assert seen == [0, 1, 2]  # the one without a door is passed by
    assert isinstance(host.view, Wall)
    assert not host.closed


def test_what_is_said_changes_at_its_moment_and_the_run_trains_for_real(host):
    at(host, 0)
    assert {"1 of 3", "Begin", "It stands."} <= set(line_of(host))
    assert host.view.view.worker.latest.step == 0
    until(host, lambda: host.view._time >= 1.4)
    assert "It runs." in line_of(host)
    run = host.view.view.run
    until(host, lambda: host.view.view.worker.latest.step > 3)
    host.view.key("Right")
    at(host, 1)
    fresh = run_of()
    fresh.step(run.steps)  # the thread that trained it has ended
    np.testing.assert_array_equal(run.values, fresh.values)
    assert run.steps > 3


def test_what_was_trained_before_is_said_and_actions_are_done_at_their_moments(host):
    host.view.go(1)
    at(host, 1)
    view = host.view.view
    assert (view.run.steps, "trained 40 steps before" in line_of(host)) == (40, True)
    until(host, lambda: host.view._acts == 5)
    until(host, lambda: view.worker.latest.step == 35, tick=0.0)


def test_a_step_is_opened_by_itself(host):
    host.view.go(2)
    at(host, 2)
    view = host.view.view
    until(host, lambda: view.micro.walk is not None and view.micro.at == 3)
    assert view.bench.inside.told is not None
    until(host, lambda: host.view._acts == 4)
    assert view.notice() == ""  # of how many samples the step learns from, as a hand that ends it is told


@pytest.mark.parametrize("forward", ["Right", "Space"])
def test_keys_lead_on_and_back_and_escape_ends_it(host, forward):
    at(host, 0)
    host.view.key(forward)
    at(host, 1)
    host.view.key("Left")
    at(host, 0)
    host.view.key("Left")  # there is none before
    host.pass_time(0.0)
    assert host.view.number == 0
    host.view.key("?", "?")
    host.view.key("Escape")  # the list of keys
    host.pass_time(0.0)
    assert not isinstance(host.view, Wall)
    host.view.key("Escape")
    host.pass_time(0.0)
    assert isinstance(host.view, Wall)


def test_two_presses_lead_two_stations_on_and_beyond_the_last_is_the_wall(host):
    at(host, 0)
    host.view.key("Right")
    host.view.key("Right")
    at(host, 2)
    host.view.key("Right")
    host.pass_time(0.0)
    assert isinstance(host.view, Wall)


def test_keys_of_the_scene_that_only_change_the_look_work_and_others_say_so(host):
    at(host, 0)
    view = host.view.view
    assert host.view.key("G", "g")
    assert view.bench.colouring.quantity == "gradient"
    assert not host.view.key("R", "r")
    assert "R does nothing in the tour" in view.notice()
    host.view.key("L", "l")
    assert view.bench.theme.name == host.view.rooms.theme.name == "light"


def test_the_pointer_is_the_scenes_below_the_line(host):
    at(host, 0)
    until(host, lambda: host.view._time > 0.1)
    host.picture()
    view, bar = host.view.view, host.view._bar
    high, wide = view.bench.size[1], view.bench.size[0]
    places = [(x, y) for y in range(60, high - 200, 6) for x in range(60, wide - 330, 6)]
    x, y = next(place for place in places if view.bench.pick(place) is not None)
    host.view.press((x, y + bar))
    host.view.release((x, y + bar))
    assert view.bench.selected is not None
    host.view.press((x, bar / 2))
    host.view.release((x, bar / 2))
    host.view.key("Escape")  # first what is open
    assert view.bench.selected is None


def test_a_station_that_cannot_be_built_is_said_and_passed_by(rooms):
    def broken(given):
        raise InputError("no data here")

    rooms.doors = (Door("first", "", broken), *rooms.doors[1:])
    host = Unseen(rooms.tour, (640, 360))
    at(host, 1)
    assert host.told == ["tour: first: no data here"]
    host.close_soon()
    assert not [t.name for t in threading.enumerate() if t.name == "scalarviz-training"]


@pytest.mark.parametrize("moment", ["building", "arrived", "running", "going back", "inside a step"])
def test_closing_in_the_middle_of_anything_leaves_no_thread(host, moment):
    """That there is none is what the fixture looks at."""
    if moment != "building":
        host.view.go({"going back": 1, "inside a step": 2}.get(moment, 0))
        until(host, lambda: host.view._goal is None and host.view.view is not None, tick=0.0)
    if moment != "arrived":
        until(host, lambda: moment == "building" or host.view._acts > 0)
    host.close_soon()
    assert host.closed


@pytest.mark.parametrize("size", [(160, 200), (640, 360), (2560, 1440)])
def test_every_size_is_drawn_and_the_line_is_above_the_scene(host, size):
    at(host, 0)
    host.size = size
    host.view.resize(size)
    host.pass_time(0.0)
    picture = host.picture()
    assert picture.shape == (size[1], size[0], 3)
    assert host.view.view.bench.size == (size[0], max(size[1] - host.view._bar, 160))
    line = picture[: host.view._bar - 4]
    assert (line.reshape(-1, 3) == line[0, 0]).all(axis=1).mean() > 0.3  # one plain ground


def test_in_a_hall_its_line_is_larger_and_has_no_small_print(rooms):
    plain = Unseen(rooms.tour, (1280, 720))
    at(plain, 0)
    usual, bar = line_of(plain), plain.view._bar
    plain.close_soon()
    rooms.theme = presenting("light")
    host = Unseen(rooms.tour, (1280, 720))
    at(host, 0)
    words = line_of(host)
    assert "Begin" in words
    assert set(words) < set(usual)  # the keys are not there
    assert host.view._painters[0].scale == 1.5 * plain.view._painters[0].scale
    assert host.view._bar >= bar
    assert host.view.view.bench.theme.presenter
    host.view.key("L", "l")
    toggled = rooms.theme
    assert (toggled.name, toggled.presenter) == ("dark", True)
    host.close_soon()


def test_it_begins_from_the_wall_too(rooms):
    host = Unseen(rooms.wall, (960, 540))
    assert any("tour" in words for _, words in host.view.table())
    host.view.key("T", "t")
    host.pass_time(0.0)
    at(host, 0)
    assert host.name == "tour"
    host.close_soon()


def test_the_stations_of_the_program_name_scenes_and_actions_that_there_are():
    from scalarviz.scenes._tour import STATIONS as ours

    from scalarviz.cli.here import scene_files

    assert 55 <= sum(station.seconds for station in ours) <= 65
    for station in ours:
        assert station.scene in scene_files()
        assert [act.at for act in station.acts] == sorted(act.at for act in station.acts)
        assert all(0 <= act.at < station.seconds for act in station.acts)
        assert all(0 <= since < station.seconds for since, _ in station.says)
        for act in station.acts:
            assert act.action in BY_NAME
            assert act.value is None or BY_NAME[act.action].values.checked(act.action, act.value) == act.value


@pytest.mark.ci
def test_the_tour_of_the_program_is_walked_to_its_end():
    from scalarviz.cli import rooms

    found = rooms.rooms()
    host = Unseen(found.tour, (1280, 720))
    tour, reached, acts = host.view, {}, {}
    end = time.monotonic() + 240
    while host.view is tour and time.monotonic() < end:
        host.pass_time(0.25)
        if tour.view is not None and host.view is tour:
            reached[tour.number] = max(tour.view.worker.latest.step, reached.get(tour.number, 0))
            acts[tour.number] = tour._acts
            if int(tour._time * 4) % 8 == 0:  # every two seconds
                host.picture()
        time.sleep(0.03)
    found.close()
    assert isinstance(host.view, Wall)
    host.close_soon()
    assert host.told == []
    assert sorted(reached) == list(range(len(tour.stations)))
    for number, (_, station) in enumerate(tour.stations):
        assert acts[number] == len(station.acts)
        assert reached[number] > station.trained, station.headline
