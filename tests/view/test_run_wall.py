"""The wall of runs, `show` and `render` of a sweep: what is drawn, what keys and pointer do, how it grows."""

from dataclasses import replace

import numpy as np
import pytest

import scalarviz as sv
from kit.windows import middle_of_tile, until, wall_words
from scalarviz import nn, optim
from scalarviz.errors import InputError
from scalarviz.run.state import restore
from scalarviz.sweep.groups import Left, by_loss
from scalarviz.sweep.result import Result
from scalarviz.view.ink.theme import get_theme
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.walls.run_faces import Thumbs, main_panel
from scalarviz.view.walls.run_wall import RunRooms, rooms_of, wall_picture
from scalarviz.view.walls.runs import Runs, picked
from scalarviz.view.walls.tiles import fitting
from scalarviz.view.watch.live import LiveView

pytestmark = pytest.mark.gl


def test_the_best_the_median_and_the_worst_are_those_of_the_losses():
    some = [Result(k, {}, k, "done", 1, loss) for k, loss in enumerate([3.0, 1.0, 5.0, 2.0, 4.0])]
    diverged = Result(9, {}, 9, "diverged", 1, 0.0)
    assert [(name, r.number) for name, r in picked([*some, diverged])] == [("best", 1), ("median", 0), ("worst", 2)]
    assert [name for name, _ in picked(some[:1])] == ["best"]
    assert picked([diverged]) == []


@pytest.fixture(scope="module")
def runs(few_runs):
    found = few_runs.trained(8)
    gone = Result(8, {}, 8, "diverged", 3, float("nan"), error="the loss is infinite")
    return Runs(found.title, (*found.results, gone), found.build, found.weights, 9)


@pytest.fixture
def wall_of():
    """A window that nobody sees on the wall of some runs; `later` holds what comes then."""
    made = []

    def open_wall(runs, later=()):
        rooms = RunRooms(runs, lambda: later.pop(0) if later else None)
        made.append((Unseen(rooms.wall, (960, 540)), rooms))
        return made[-1][0]

    yield open_wall
    for host, rooms in made:
        host.close_soon()
        rooms.close()


@pytest.fixture
def host(wall_of, runs):
    return wall_of(runs)


def test_runs_are_sorted_by_loss_and_each_picture_is_that_of_its_weights_in_its_place(host, runs, few_runs):
    wall = host.view
    assert [r.number for r in wall.results] == [r.number for r in by_loss(runs.results)]
    until(host, lambda: not wall.missing)
    picture, thumbs, again = host.picture().astype(int), Thumbs(get_theme("dark")), Thumbs(get_theme("dark"))
    for place, result in enumerate(wall.results[:-1]):
        scene = few_runs.xor(result)
        restore(scene.run, runs.weights(result.number), {}, result.steps)
        panel = wall.faces.of(result)
        assert np.array_equal(panel, thumbs.panel(scene))
        x, y, wide, high = (round(part * wall.grid.scale) for part in wall.grid.box(place))
        wanted = fitting(panel, wall.grid.box(place), wall.grid.scale)
        assert np.abs(picture[y : y + high, x : x + wide] - wanted).mean() < 2
        # cubes of a workbench that is used again are those of a new one
        assert np.array_equal(again.plates(scene), Thumbs(get_theme("dark")).plates(scene))
    assert len({wall.faces.of(result).tobytes() for result in wall.results[:-1]}) == 8
    assert wall.faces.of(wall.results[-1]) is None  # it diverged
    assert "diverged after step 3: the loss is infinite" in wall_words(host)
    assert type(main_panel(scene)).__name__ == "PlaneMap"  # no curve


def test_keys_choose_filter_and_turn_what_is_shown_and_plots_leave_it_alone(host):
    wall, rooms = host.view, host.view.rooms

    def state():
        return rooms.chosen, wall.grid.columns, wall.faces.shows, len(wall.results)

    assert rooms.chosen == wall.results[0].number
    for key, place in (("Right", 1), ("End", -1), ("Home", 0)):
        wall.key(key)
        assert rooms.chosen == wall.results[place].number
    learnt = sum(bool(result.reached) for result in wall.results)
    for count in (learnt, 9 - learnt, 9):
        wall.key("F")
        assert len(wall.results) == count
        assert ("runs that " in wall_words(host)) == (count < 9)
    columns = wall.grid.columns
    wall.key("=")
    assert wall.grid.columns == columns - 1
    before, runs = state(), host.picture().astype(int)
    wall.key("Tab", "\t")
    assert np.abs(host.picture() - runs).mean() > 2
    assert [item.text for item in wall.sketches()[-1].texts] == ["Tab", "runs", "?", "all keys"]
    for key in ("Right", "End", "F", "P", "=", "Enter"):
        wall.key(key)
        assert "Tab shows the runs again" in wall_words(host)
    for way_back in ("Tab", "Escape"):
        wall.key(way_back)
        assert not rooms.plots
        wall.key("Tab", "\t")
    wall.key("Escape")
    assert state() == before
    wall.key("P")
    assert (wall.faces.shows, wall.faces.aspect > 1.5) == ("cubes", True)
    assert not host.closed


def test_a_click_opens_the_run_where_it_ended_and_it_trains_on_bit_for_bit(host, runs, few_runs):
    wall, at = host.view, middle_of_tile(host, 2)
    result = wall.results[2]
    wall.move(at)
    assert wall.rooms.chosen == result.number
    wall.press(at)
    wall.release(at)
    until(host, lambda: isinstance(host.view, LiveView))
    run = host.view.scene.run
    assert run.steps == result.steps
    assert all(np.array_equal(run.state_dict()[name], array) for name, array in runs.weights(result.number).items())
    assert host.name.split("  \N{MIDDLE DOT}  ") == ["xor", f"run {result.number}", f"seed {result.seed}"]
    line = [item.text for sketch in host.view.bench._key_line for item in sketch.texts]
    assert (line[:2], line[-2:]) == (["Escape", "all runs"], ["?", "all keys"])
    host.view.key("Right")  # one step further
    until(host, lambda: run.steps > result.steps)
    host.view.key("Escape")
    until(host, lambda: host.view is not wall and host.name == "all runs")
    assert host.view.rooms.chosen == result.number
    alone = few_runs.xor(result).run
    alone.step(result.steps + 1)
    assert run.steps == result.steps + 1
    assert all(np.array_equal(run.state_dict()[name], array) for name, array in alone.state_dict().items())


def test_runs_that_nobody_can_build_are_shown_by_their_weights_and_not_opened(wall_of, runs):
    host = wall_of(Runs("weights", runs.results, None, runs.weights, 9))
    until(host, lambda: not host.view.missing)
    assert host.view.faces.shows == "cubes"
    host.view.key("Enter")
    until(host, lambda: "cannot be trained on" in wall_words(host))


def test_the_bar_and_the_wheel_scroll_a_thousand_runs(wall_of, runs):
    some = tuple(Result(k, {}, k, "done", 40, k / 1000) for k in range(1000))
    host = wall_of(Runs("many", some, runs.build, lambda number: runs.weights(number % 8), 1000))
    wall, rooms = host.view, host.view.rooms
    assert wall.grid.last > 10
    wall.scroll((400, 300), (0.0, -3.0))
    assert rooms.row == 3
    (x, y, wide, high), _ = wall.grid.bar
    at, scale = (x + wide / 2) * wall.grid.scale, wall.grid.scale
    wall.press((at, (y + high - 1) * scale))
    assert rooms.row == wall.grid.last
    wall.move((at + 300, (y + high / 2) * scale))  # it is held, wherever the pointer is
    assert rooms.row == round(wall.grid.last / 2)
    wall.release((0, 0))
    wall.move((at, y * scale))
    assert rooms.row == round(wall.grid.last / 2)
    until(host, lambda: not wall.missing)
    assert host.picture().shape == (540, 960, 3)


# ---- a wall that grows


def test_a_wall_that_grows_keeps_what_is_chosen_and_says_how_many_are_done(wall_of, runs):
    def some(count, growing):
        return Runs("xor", runs.results[:count], runs.build, runs.weights, 9, growing=growing)

    later = []
    host = wall_of(some(0, True), later)
    assert "0 of 9 runs are done" in wall_words(host)
    for _ in range(2):
        assert host.picture().shape == (540, 960, 3)
        host.view.key("Tab")
    for count, growing in ((2, True), (4, False), (9, True)):
        chosen = host.view.rooms.chosen
        later.append(some(count, growing))
        until(host, lambda count=count: len(host.view.results) == count)
        assert chosen in (None, host.view.rooms.chosen)
        assert (f"{count} of 9 runs are done" in wall_words(host)) == (count < 9)
        assert (" left" in wall_words(host)) == (growing and count < 9)


def test_a_press_is_of_a_run_though_another_one_takes_its_place(wall_of, runs):
    some = [replace(result, loss=1.0 + result.loss) for result in runs.results[:3]]
    first, then = (Runs("xor", results, runs.build, runs.weights, 9)
                   for results in (tuple(some), (*some, replace(runs.results[3], loss=0.0))))  # fmt: skip
    later = []
    host = wall_of(first, later)
    wall = host.view
    wall.press(middle_of_tile(host, 0))
    was = wall.results[0].number
    later.append(then)
    until(host, lambda: wall.results[0].number != was)  # a better one came while the button was down
    wall.release(middle_of_tile(host, 0))
    assert "opening" not in wall_words(host)
    wall.press(middle_of_tile(host, 1))
    wall.release(middle_of_tile(host, 1))
    assert "opening" in wall_words(host)
    assert wall.rooms.chosen == wall.results[1].number == was


def test_the_time_that_is_left_is_that_of_the_runs_that_were_seen_to_end():
    left = Left(100, 20, 50.0)
    told = {
        (20, 99.0): "",
        (30, 60.0): "70 s left",
        (21, 350.0): "7 h left",
        (60, 450.0): "7 min left",
        (100, 60.0): "",
    }
    assert {at: left.text(*at) for at in told} == told  # ten in ten seconds


# ---- a sweep that is shown


BITS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


def small(seed=0, lr=0.5):
    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
    net.initialize(seed=seed)
    data = BITS, BITS[:, :1]
    return sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=lr), data=data, engine="numpy")


def test_the_picture_of_a_sweep_is_its_wall_and_what_is_of_one_run_or_of_no_file_is_refused(tmp_path):
    path, size = tmp_path / "small.svs", (640, 400)
    with sv.sweep(small, {"lr": [0.1, 0.5]}, 2, steps=5, results=path, workers=0) as going:
        with pytest.raises(InputError, match="take them all before it is shown"):
            sv.show(going)
        next(going)
        with sv.sweep.Results(path) as results:
            assert results.written
        assert len(list(going)) == 3
        assert np.array_equal(sv.render(going, size), wall_picture(path, size, build=going.shown()[1]))
        rooms = rooms_of(*going.shown())  # its own function builds the runs
        run = rooms.run(rooms.runs.results[3]).scene.run
        assert (run.lr, run.steps) == (0.5, 5)
        rooms.close()
        for use, given in ((sv.view.show, {"quantity": "gradient"}), (sv.view.show, {"steps": 5}),
                           (sv.view.render, {"step": 3}), (sv.view.render, {"cmap": "grey"})):  # fmt: skip
            with pytest.raises(InputError, match=f"{next(iter(given))} is of the cubes of one run"):
                use(going, **given)
    with sv.sweep.Results(path) as results:  # which holds no function
        assert np.array_equal(sv.render(results, size), wall_picture(path, size))
        assert not results.written
    with (
        sv.sweep(small, None, 1, steps=5, workers=0) as going,
        pytest.raises(InputError, match="a sweep is shown from its file"),
    ):
        sv.render(going)
