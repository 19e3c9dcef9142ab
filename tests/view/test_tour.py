"""The tour: stations one after another, what is done in them by itself, the keys, and its end on the wall."""

import time
from dataclasses import replace
from functools import partial

import pytest

import scalarviz as sv
from kit.benches import face_of
from kit.runs import bits, make_run
from kit.unseen import Unseen
from kit.windows import until
from scalarviz.cli.tour import make_scene_wall as wall_of_the_program
from scalarviz.errors import InputError
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.walls.scene_wall import SceneWall, Station, TimedAction, Tour, repeated, trained
from scalarviz.view.walls.wall import BuiltScene, SceneEntry, Wall
from scalarviz.view.watch.actions import ActionContext, bottom_line
from scalarviz.view.workbench import Workbench

pytestmark = pytest.mark.gl
STATIONS = (
    Station("first", "Begin", ((0.0, "It stands."), (1.0, "It runs.")), 2.0, (TimedAction(1.0, "toggle_run"),)),
    Station("second", "Steps", ((0.0, "Five back."),), 2.0, repeated(0.5, 0.1, 5, "back"), trained=40),
    Station("gone", "No such door", ((0.0, "Never seen."),), 2.0),
    Station(
        "third",
        "Inside",
        ((0.0, "Into a step."),),
        2.0,
        (*repeated(0.5, 0.1, 3, "micro_next"), TimedAction(1.5, "step")),
    ),
)


@pytest.fixture
def rooms():
    doors = [SceneEntry(name, name, lambda given, name=name: BuiltScene(sv.Scene(name, make_run()), steps=300))
             for name in ("first", "second", "third")]  # fmt: skip
    return SceneWall(doors, lambda path: (doors[0], {}, ""), stations=lambda: STATIONS)


@pytest.fixture
def tour_of(rooms):
    hosts = []

    def begin(size=(960, 540), make=rooms.tour):
        hosts.append(Unseen(make, size))
        return hosts[-1]

    yield begin
    for host in hosts:
        host.close_soon()


@pytest.fixture
def host(tour_of):
    return tour_of()


def at(host, number):
    """Wait until a station is shown, the time standing still; its viewer."""

    def arrived():
        return isinstance(host.view, Tour) and host.view._goal is None and host.view.number == number

    until(host, arrived, tick=0.0)
    return host.view


def line_of(host):
    return [item.text for item in host.view.line().texts]


def test_it_begins_from_the_wall_goes_by_itself_from_station_to_station_and_ends_there(rooms, tour_of):
    def broken(given):
        raise InputError("no data here")

    host = tour_of(make=rooms.appear)
    for wanted in ([0, 1, 2], [1, 2]):  # the one without a door is passed by
        host.view.key("T", "t")
        host.pass_time(0.0)
        seen = dict[int, None]()
        until(host, lambda seen=seen: isinstance(host.view, Wall) or seen.update({host.view.number: None}), tick=0.02)
        assert (list(seen), type(host.view), host.closed) == (wanted, SceneWall, False)
        assert host.told == ([] if rooms.doors[0].build is not broken else ["tour: first: no data here"])
        rooms.doors = (SceneEntry("first", "", broken), *rooms.doors[1:])  # what cannot be built is said and passed by


def test_what_is_said_changes_at_its_moment_and_actions_are_done_for_real_at_theirs(host):
    view = at(host, 0)
    assert {"1 of 3", "Begin", "It stands."} <= set(line_of(host))
    assert view.worker.latest.step == 0
    until(host, lambda: "It runs." in line_of(host), tick=0.02)
    until(host, lambda: view.worker.latest.step > 3)
    host.view.key("Right")
    second, fresh = at(host, 1), make_run()
    fresh.step(view.run.steps)  # the thread that trained it has ended
    assert bits(view.run) == bits(fresh)
    assert (second.run.steps, "trained 40 steps before" in line_of(host)) == (40, True)
    until(host, lambda: second.worker.latest.step == 35, tick=0.01)
    second.key("Right")
    third = at(host, 2)
    until(host, lambda: third.micro.walk is not None and third.micro.position == 3, tick=0.02)
    until(host, lambda: host.view._acts == 4, tick=0.02)
    assert third.notice() == ""  # of how many samples the step learns from, as a hand that ends it is told


@pytest.mark.parametrize("forward", ["Right", "Space"])
def test_keys_lead_on_and_back_and_escape_or_the_last_station_end_it(host, forward):
    view = at(host, 0)
    assert host.view.key("G", "g")  # keys of the scene that only change the look
    assert view.bench.colouring.quantity == "gradient"
    assert not host.view.key("R", "r")
    assert "R does nothing here" in view.notice()
    host.view.key("L", "l")
    assert view.bench.theme.name == host.view.wall.theme.name == "light"
    for key, number in ((forward, 1), ("Left", 0), ("Left", 0), (forward, 1), (forward, 2)):  # there is none before
        host.view.key(key)
        at(host, number)
    last = "Escape" if forward == "Right" else forward
    for key, ended in (("?", False), ("Escape", False), (last, True)):  # the first one closes the list of keys
        host.view.key(key, key)
        host.pass_time(0.0)
        assert isinstance(host.view, Wall) == ended


@pytest.mark.parametrize("size", [(160, 200), (960, 540), (2560, 1440)])
def test_the_line_is_above_the_scene_whose_pointer_is_below_it(host, size):
    view = at(host, 0)
    host.size = size
    host.view.resize(size)
    until(host, lambda: host.view._time > 0.1)
    bar, line = host.view._bar, host.picture()[: host.view._bar - 4]
    assert (line.reshape(-1, 3) == line[0, 0]).all(axis=1).mean() > 0.3  # one plain ground
    wide, high = view.bench.size
    assert (wide, high) == (size[0], max(size[1] - bar, 160))
    index, (x, y) = next((k, face_of(view.bench, k)) for k in range(view.run.values.size))
    for at_y in (y + bar, bar / 2):  # a click on the line changes nothing
        host.view.press((x, at_y))
        host.view.release((x, at_y))
        assert view.bench.selected == index
    host.view.key("Escape")  # first what is open
    assert view.bench.selected is None


def test_the_tour_of_the_program_is_walked_to_its_end():
    from scalarviz.cli import tour

    found = tour.make_scene_wall()
    host = Unseen(found.tour, (1280, 720))
    stations, reached, acts = host.view.stations, {}, {}
    assert 55 <= sum(station.seconds for _, station in stations) <= 65

    def ended():
        if isinstance(tour := host.view, Tour):
            reached[tour.number] = max(tour.worker.latest.step, reached.get(tour.number, 0))
            acts[tour.number] = tour._acts
            if reached[tour.number] <= stations[tour.number][1].trained:  # time passes by ticks, training takes its own
                time.sleep(0.05)
        return not isinstance(tour, Tour)

    until(host, ended, 240.0, 0.25)
    assert isinstance(host.view, Wall)
    host.close_soon()
    assert host.told == []
    assert acts == {number: len(station.acts) for number, (_, station) in enumerate(stations)}
    assert all(reached[number] > station.trained for number, (_, station) in enumerate(stations))


@pytest.mark.parametrize("size", [(1280, 720), (1920, 1080), (1600, 900)])
def test_each_station_arranges_its_scene_as_the_scenes_own_window_does(size):
    """The tour ended on a diagonal of plates: below its line there was no room for the picture of a GPT."""
    wall = wall_of_the_program()
    doors = {door.name: door for door in wall.doors}
    for name, station in {station.scene: station for station in wall._stations()}.items():
        way, built = (doors[name], station), trained(doors[name], replace(station, trained=0))
        with offscreen():
            alone = Workbench(built.scene, size, keys=bottom_line(ActionContext(subject_of(built.scene))))
        host = Unseen(partial(Tour, wall, [way], 0, built), size)
        for _ in range(2):
            mine = host.view.bench
            assert (mine.spread, mine.places.keys) == (alone.spread, None), name
            assert (mine.layout.blueprint is None, mine.places.time is None) == (
                alone.layout.blueprint is None, alone.places.time is None
            ), name  # fmt: skip
            with offscreen():
                host.view.resize(size)  # the time bar was gone after it
        host.close_soon()
