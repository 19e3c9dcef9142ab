"""The wall of runs: where they stand, what is drawn of them, what keys and pointer do, and that no thread stays."""

import threading
import time
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalarviz.run.state import restore
from scalarviz.sweep.groups import by_loss
from scalarviz.sweep.result import Result
from scalarviz.view.ink.theme import get_theme
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.walls.run_faces import Thumbs, main_panel
from scalarviz.view.walls.run_rooms import RunRooms
from scalarviz.view.walls.run_wall import CAPTION, FOOT, GAP, TOP, run_grid
from scalarviz.view.walls.runs import Runs, picked
from scalarviz.view.walls.wall_drawing import fitting
from scalarviz.view.watch.live import LiveView

ASPECTS = st.sampled_from([0.6, 1.0, 16 / 9, 2.5])


@given(
    st.integers(300, 3000),
    st.integers(260, 2000),
    st.integers(0, 1000),
    ASPECTS,
    st.one_of(st.none(), st.integers(1, 24)),
)
def test_runs_stand_inside_apart_and_are_found_by_the_pointer(width, height, count, aspect, columns):
    grid = run_grid((width, height), count, aspect, columns)
    boxes = []
    for place in grid.shown:
        x, y, wide, high = grid.box(place)
        assert grid.at(((x + wide / 2) * grid.scale, (y + high / 2) * grid.scale)) == place
        boxes.append((x, y, x + wide, y + high + CAPTION))
    for one, other in pairwise(boxes):
        assert one[2] <= other[0] or one[3] <= other[1]
    if boxes and grid.picture[0] > 8 and grid.picture[1] > 5:
        assert max(box[2] for box in boxes) <= grid.size[0]
        assert max(box[3] for box in boxes) <= grid.size[1]


@given(st.integers(1, 1000), st.integers(0, 999), ASPECTS, st.sampled_from([(1, 0), (-1, 0), (0, 1), (0, -1), (0, 7)]))
def test_every_run_can_be_scrolled_to_and_arrows_stay_among_them(count, place, aspect, arrow):
    grid, place = run_grid((1280, 720), count, aspect), min(place, count - 1)
    there = replace(grid, first=grid.to(place))
    assert place in there.shown
    further = there.beside(place, *arrow)
    assert 0 <= further < count
    assert (further == place) == (not 0 <= place + arrow[0] + arrow[1] * there.columns < count
                                  and place == there.beside(further, *arrow))  # fmt: skip


@given(st.integers(1, 1000), ASPECTS, st.one_of(st.none(), st.integers(1, 24)))
def test_pictures_that_are_scrolled_leave_no_room_for_most_of_another_row(count, aspect, columns):
    grid = run_grid((1280, 720), count, aspect, columns)
    row = grid.picture[1] + CAPTION + GAP
    left = 720 - TOP - FOOT + GAP - grid.rows * row
    assert left >= 0 or grid.rows == 1
    assert not grid.last or left <= row / 2 + 2 * grid.rows  # pixels are whole


def test_few_runs_are_all_seen_and_large_and_of_many_each_can_be_made_out():
    assert not run_grid((1280, 720), 20, 1.0).last
    many = run_grid((1280, 720), 1000, 1.0)
    assert many.last
    assert many.picture[0] * many.picture[1] > 10_000
    (_, top, _, high), (_, part, _, seen) = many.bar
    assert part == top
    end = run_grid((1280, 720), 1000, 1.0, many.columns, many.last)
    assert end.bar[1][1] + end.bar[1][3] == pytest.approx(top + high)
    assert seen < high
    assert end.shown[-1] == 999


def test_the_best_the_median_and_the_worst_are_those_of_the_losses():
    some = [Result(k, {}, k, "done", 1, loss) for k, loss in enumerate([3.0, 1.0, 5.0, 2.0, 4.0])]
    diverged = Result(9, {}, 9, "diverged", 1, 0.0)
    assert [(name, r.number) for name, r in picked([*some, diverged])] == [("best", 1), ("median", 0), ("worst", 2)]
    assert [name for name, _ in picked(some[:1])] == ["best"]
    assert picked([diverged]) == []


# ---- in a window that nobody sees


@pytest.fixture(scope="module")
def runs(few_runs):
    found = few_runs.trained(8)
    gone = Result(8, {}, 8, "diverged", 3, float("nan"), error="the loss is infinite")
    return Runs(found.title, (*found.results, gone), found.build, found.weights, 9)


@pytest.fixture
def host(runs):
    rooms = RunRooms(runs)
    host = Unseen(rooms.wall, (960, 540))
    yield host
    host.close_soon()
    rooms.close()
    assert not [t.name for t in threading.enumerate() if t.name.startswith("scalarviz")]


def until(host, true, seconds=60.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, host.view
        host.pass_time(1 / 30)
        time.sleep(0.002)


def middle(wall, place):
    x, y, wide, high = wall.grid.box(place)
    return (x + wide / 2) * wall.grid.scale, (y + high / 2) * wall.grid.scale


@pytest.mark.gl
def test_runs_are_sorted_by_loss_and_their_panels_are_those_of_their_weights(host, runs, few_runs):
    wall = host.view
    assert [r.number for r in wall.results] == [r.number for r in by_loss(runs.results)]
    until(host, lambda: not wall.missing)
    for result in wall.results[:-1]:
        scene = few_runs.xor(result)
        restore(scene.run, runs.weights(result.number), {}, result.steps)
        assert np.array_equal(wall.faces.of(result), Thumbs(get_theme("dark")).panel(scene))
    assert len({wall.faces.of(result).tobytes() for result in wall.results[:-1]}) == 8
    assert wall.faces.of(wall.results[-1]) is None  # it diverged


@pytest.mark.gl
def test_the_wall_shows_each_picture_in_its_place(host):
    wall = host.view
    until(host, lambda: not wall.missing)
    picture = host.picture()
    for place in (0, 5):
        x, y, wide, high = (round(part * wall.grid.scale) for part in wall.grid.box(place))
        wanted = fitting(wall.faces.of(wall.results[place]), wall.grid.box(place), wall.grid.scale)
        assert np.abs(picture[y : y + high, x : x + wide].astype(int) - wanted).mean() < 2


@pytest.mark.gl
def test_cubes_of_a_workbench_that_is_used_again_are_those_of_a_new_one(runs):
    again = Thumbs(get_theme("dark"))
    for result in runs.results[:3]:
        assert np.array_equal(
            again.plates(runs.standing(result)), Thumbs(get_theme("dark")).plates(runs.standing(result))
        )


@pytest.mark.gl
def test_keys_choose_filter_and_turn_what_is_shown(host):
    wall = host.view
    best = wall.results[0].number
    assert wall.rooms.chosen == best
    wall.key("Right")
    assert wall.rooms.chosen == wall.results[1].number
    wall.key("End")
    assert wall.rooms.chosen == wall.results[-1].number
    wall.key("Home")
    learnt = sum(bool(result.reached) for result in wall.results)
    wall.key("F")
    assert len(wall.results) == learnt
    wall.key("F")
    assert len(wall.results) == 9 - learnt
    wall.key("F")
    assert len(wall.results) == 9
    columns = wall.grid.columns
    wall.key("=")
    assert wall.grid.columns == columns - 1
    wall.key("P")
    assert wall.faces.shows == "cubes"
    assert wall.faces.aspect > 1.5


@pytest.mark.gl
def test_plots_take_the_place_of_the_runs_and_escape_leads_back(host):
    wall = host.view
    runs = host.picture()
    wall.key("Tab", "\t")
    host.pass_time()
    plots = host.picture()
    assert np.abs(plots.astype(int) - runs).mean() > 2
    line = [item.text for item in wall.sketches()[-1].texts]
    assert line == ["Tab", "runs", "?", "all keys"]
    chosen, columns, shows = wall.rooms.chosen, wall.grid.columns, wall.faces.shows
    for key in ("Right", "End", "F", "P", "=", "Enter"):
        wall.key(key)
        assert "Tab shows the runs again" in wall._notice
    assert (wall.rooms.chosen, wall.grid.columns, wall.faces.shows) == (chosen, columns, shows)
    assert len(wall.results) == 9
    wall.key("Tab", "\t")
    assert (wall.rooms.plots, wall._notice) == (False, "")
    wall.key("Tab", "\t")
    wall.key("Escape")
    assert not wall.rooms.plots
    assert not host.closed


@pytest.mark.gl
def test_a_click_opens_the_run_where_it_ended_and_it_trains_on_with_the_bits_of_a_run_alone(host, runs, few_runs):
    wall = host.view
    result = wall.results[2]
    at = middle(wall, 2)
    wall.move(at)
    wall.press(at)
    wall.release(at)
    until(host, lambda: isinstance(host.view, LiveView))
    run = host.view.scene.run
    assert run.steps == result.steps
    for name, array in runs.weights(result.number).items():
        assert np.array_equal(run.state_dict()[name], array)
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
    for name, array in alone.state_dict().items():
        assert np.array_equal(run.state_dict()[name], array)


@pytest.mark.gl
def test_runs_that_nobody_can_build_are_shown_by_their_weights_and_not_opened(runs):
    rooms = RunRooms(Runs("weights", runs.results, None, runs.weights, 9))
    host = Unseen(rooms.wall, (960, 540))
    until(host, lambda: not host.view.missing)
    assert host.view.faces.shows == "cubes"
    host.view.key("Enter")
    until(host, lambda: host.view._opening is None)
    assert "cannot be trained on" in host.view._notice
    host.close_soon()
    rooms.close()


@pytest.mark.gl
def test_runs_that_come_later_take_their_places(runs):
    grown = [Runs("xor", runs.results[:4], runs.build, runs.weights, 9)]
    rooms = RunRooms(grown[0], lambda: grown.pop() if len(grown) > 1 else None)
    host = Unseen(rooms.wall, (960, 540))
    grown.append(runs)
    chosen = rooms.chosen
    for _ in range(3):
        host.pass_time(1.0)
    assert len(host.view.results) == 9
    assert rooms.chosen == chosen
    host.close_soon()
    rooms.close()


@pytest.mark.gl
def test_the_bar_and_the_wheel_scroll_a_thousand_runs(runs):
    some = tuple(Result(k, {}, k, "done", 40, k / 1000) for k in range(1000))
    rooms = RunRooms(Runs("many", some, runs.build, lambda number: runs.weights(number % 8), 1000))
    host = Unseen(rooms.wall, (960, 540))
    wall = host.view
    assert wall.grid.last > 10
    wall.scroll((400, 300), (0.0, -3.0))
    assert rooms.row == 3
    (x, y, wide, high), _ = wall.grid.bar
    wall.press(((x + wide / 2) * wall.grid.scale, (y + high - 1) * wall.grid.scale))
    assert rooms.row == wall.grid.last
    wall.release((0, 0))
    until(host, lambda: not wall.missing)
    assert host.picture().shape == (540, 960, 3)
    host.close_soon()
    rooms.close()


@pytest.mark.gl
def test_the_panel_that_shows_most_is_no_curve(runs, few_runs):
    scene = few_runs.xor(runs.results[0])
    assert type(main_panel(scene)).__name__ == "PlaneMap"
    scene.run.close()


@pytest.mark.gl
def test_a_press_is_of_a_run_though_another_one_takes_its_place(runs):
    some = [replace(result, loss=1.0 + result.loss) for result in runs.results[:3]]
    first = Runs("xor", tuple(some), runs.build, runs.weights, 9)
    grown = [Runs("xor", (*some, replace(runs.results[3], loss=0.0)), runs.build, runs.weights, 9)]
    rooms = RunRooms(first, lambda: grown.pop() if grown else None)
    host = Unseen(rooms.wall, (960, 540))
    wall = host.view
    wall.press(middle(wall, 0))
    was = wall.results[0].number
    for _ in range(3):
        host.pass_time(1.0)
    assert wall.results[0].number == 3 != was  # a better one came while the button was down
    wall.release(middle(wall, 0))
    assert wall._opening is None
    wall.press(middle(wall, 1))
    wall.release(middle(wall, 1))
    assert wall._opening is not None
    assert rooms.chosen == wall.results[1].number
    host.close_soon()
    rooms.close()
