"""The wall of runs, `show` and `render` of a sweep: what is drawn, what keys and pointer do, how it grows."""

from dataclasses import replace

import numpy as np
import pytest

import scalarviz as sv
from kit.unseen import Unseen
from kit.windows import make_colour_run, middle_of_tile, until, wall_words
from scalarviz.errors import InputError
from scalarviz.run.state import restore
from scalarviz.sweep.groups import Left, by_loss
from scalarviz.sweep.result import Result
from scalarviz.view.ink.theme import get_theme
from scalarviz.view.walls.run_report import picked
from scalarviz.view.walls.run_wall import RunWall, Thumbs, main_panel, wall_of, wall_picture
from scalarviz.view.walls.runs import Runs
from scalarviz.view.walls.wall import fitting
from scalarviz.view.watch.live import LiveView

pytestmark = pytest.mark.gl


def test_best_median_and_worst_are_those_of_the_losses_and_time_left_that_of_runs_that_were_seen_to_end():
    some = [Result(k, {}, k, "done", 1, loss) for k, loss in enumerate([3.0, 1.0, 5.0, 2.0, 4.0])]
    diverged = Result(9, {}, 9, "diverged", 1, 0.0)
    assert [(name, r.number) for name, r in picked([*some, diverged])] == [("best", 1), ("median", 0), ("worst", 2)]
    assert ([name for name, _ in picked(some[:1])], picked([diverged])) == (["best"], [])
    left = Left(100, 20, 50.0)
    for done, seconds, text in ((20, 99.0, ""), (30, 60.0, "70 s left"), (21, 350.0, "7 h left"),
                                (60, 450.0, "7 min left"), (100, 60.0, "")):  # fmt: skip
        assert left.text(done, seconds) == text


@pytest.fixture(scope="module")
def runs(few_runs):
    found = few_runs.trained(8)
    gone = Result(8, {}, 8, "diverged", 3, float("nan"), error="the loss is infinite")
    return Runs(found.title, (*found.results, gone), found.build, found.weights, 9)


@pytest.fixture
def window_of():
    """A window that nobody sees on the wall of some runs; `later` holds what comes then."""
    made = []

    def open_wall(runs, later=()):
        made.append(Unseen(RunWall(runs, lambda: later.pop(0) if later else None).appear, (960, 540)))
        return made[-1]

    yield open_wall
    for host in made:
        host.close_soon()


def click(host, place):
    host.view.press(middle_of_tile(host, place))
    host.view.release(middle_of_tile(host, place))


def test_runs_are_sorted_by_loss_and_each_picture_is_that_of_its_weights_in_its_place(window_of, runs, few_runs):
    host = window_of(runs)
    wall = host.view
    assert [r.number for r in wall.results] == [r.number for r in by_loss(runs.results)]
    until(host, lambda: not wall.missing)
    picture, thumbs, again = host.picture().astype(int), Thumbs(get_theme("dark")), Thumbs(get_theme("dark"))
    for place, result in enumerate(wall.results[:-1]):
        scene, face = few_runs.xor(result), wall.faces.picture_of(result)
        restore(scene.run, runs.weights(result.number), {}, result.steps)
        assert np.array_equal(face.picture, thumbs.panel(scene))
        x, y, wide, high = (round(part * wall.grid.scale) for part in wall.grid.box(place))
        wanted = fitting(face.picture, (wide, high))
        assert np.abs(picture[y : y + high, x : x + wide] - wanted).mean() < 2
        # cubes of a workbench that is used again are those of a new one
        assert np.array_equal(again.plates(scene), Thumbs(get_theme("dark")).plates(scene))
    assert wall.faces.picture_of(wall.results[-1]) is None  # it diverged
    assert "diverged after step 3: the loss is infinite" in wall_words(host)
    assert type(main_panel(scene)).__name__ == "PlaneMap"  # no curve


def test_keys_choose_filter_and_turn_what_is_shown_and_plots_leave_it_alone(window_of, runs):
    host = window_of(runs)
    wall = host.view
    for key, place in (("Right", 1), ("End", -1), ("Home", 0)):
        wall.key(key)
        assert wall.chosen == wall.results[place].number
    learnt = sum(bool(result.reached) for result in wall.results)
    for count in (learnt, 9 - learnt, 9):
        wall.key("F")
        assert len(wall.results) == count
    columns = wall.grid.columns
    wall.key("=")
    wall.key("P")
    before, picture = (wall.chosen, columns - 1, "cubes", 9), host.picture().astype(int)
    for way_back in ("Tab", "Escape"):
        wall.key("Tab", "\t")
        assert np.abs(host.picture() - picture).mean() > 2
        for key in ("Right", "End", "F", "P", "=", "Enter"):
            wall.key(key)
            assert "Tab shows the runs again" in wall_words(host)
        wall.key(way_back)
        assert not wall.plots
        assert (wall.chosen, wall.grid.columns, wall.faces.shows, len(wall.results)) == before
    assert not host.closed


def test_a_click_opens_the_run_where_it_ended_and_it_trains_on_bit_for_bit(window_of, runs, few_runs):
    host = window_of(runs)
    wall, result = host.view, host.view.results[2]
    wall.move(middle_of_tile(host, 2))
    assert wall.chosen == result.number
    click(host, 2)
    until(host, lambda: isinstance(host.view, LiveView))
    run, alone = host.view.scene.run, few_runs.xor(result).run
    alone.step(result.steps)
    assert host.name.split("  \N{MIDDLE DOT}  ") == ["xor", f"run {result.number}", f"seed {result.seed}"]
    assert np.array_equal(run.values, alone.values)
    host.view.key("Right")  # one step further
    until(host, lambda: run.steps > result.steps)
    host.view.key("Escape")
    until(host, lambda: host.view is wall and host.name == "all runs")
    assert host.view.chosen == result.number
    alone.step()
    assert np.array_equal(run.values, alone.values)


def test_the_bar_and_the_wheel_scroll_a_thousand_runs_that_nobody_can_build(window_of, runs):
    some = tuple(Result(k, {}, k, "done", 40, k / 1000) for k in range(1000))
    host = window_of(Runs("many", some, None, lambda number: runs.weights(number % 8), 1000))
    wall = host.view
    wall.scroll((400, 300), (0.0, -3.0))
    assert wall.row == 3
    (x, y, wide, high), _ = wall.grid.bar
    at, scale = (x + wide / 2) * wall.grid.scale, wall.grid.scale
    wall.press((at, (y + high - 1) * scale))
    assert wall.row == wall.grid.last > 10
    wall.move((at + 300, (y + high / 2) * scale))  # it is held, wherever the pointer is
    wall.release((0, 0))
    wall.move((at, y * scale))
    assert wall.row == round(wall.grid.last / 2)
    until(host, lambda: not wall.missing)
    assert wall.faces.shows == "cubes"  # of weights alone
    wall.key("Enter")
    until(host, lambda: "cannot continue" in wall_words(host))


def test_a_wall_that_grows_keeps_what_is_chosen_or_pressed_and_says_how_many_are_done(window_of, runs):
    later = []
    host = window_of(replace(runs, results=(), growing=True), later)
    assert "0 of 9 runs are done" in wall_words(host)
    for _ in range(2):  # it is drawn, and so are the plots of no runs
        host.picture()
        host.view.key("Tab")
    for count, growing in ((2, True), (4, False), (9, True)):
        chosen = host.view.chosen
        later.append(replace(runs, results=runs.results[:count], growing=growing))
        until(host, lambda count=count: len(host.view.results) == count)
        assert chosen in (None, host.view.chosen)
        assert (f"{count} of 9 runs are done" in wall_words(host)) == (count < 9)
        assert (" left" in wall_words(host)) == (growing and count < 9)
    wall = host.view
    wall.press(middle_of_tile(host, 0))
    was = wall.results[0].number
    later.append(replace(runs, results=(*runs.results, replace(runs.results[3], number=9, loss=0.0))))
    until(host, lambda: wall.results[0].number != was)  # a better one came while the button was down
    wall.release(middle_of_tile(host, 0))
    assert "opening" not in wall_words(host)
    click(host, 1)
    assert "opening" in wall_words(host)
    assert wall.chosen == wall.results[1].number == was


def small(seed=0, lr=0.5):
    return make_colour_run(lr=lr, seed=seed)


def test_the_picture_of_a_sweep_is_its_wall_and_what_is_of_one_run_or_of_no_file_is_refused(tmp_path):
    path, size = tmp_path / "small.svs", (640, 400)
    with sv.sweep(small, {"lr": [0.1, 0.5]}, 2, steps=5, results=path, workers=0) as going:
        with pytest.raises(InputError, match="read them all before you show it"):
            sv.show(going)
        assert len(list(going)) == 4
        assert np.array_equal(sv.render(going, size), wall_picture(path, size, build=going.shown()[1]))
        wall = wall_of(*going.shown())  # its own function builds the runs
        run = wall.door_of(wall.runs.results[3]).build({}).scene.run
        assert (run.lr, run.steps) == (0.5, 5)
        for use, name, value in ((sv.view.show, "quantity", "gradient"), (sv.view.show, "steps", 5),
                                 (sv.view.render, "step", 3), (sv.view.render, "cmap", "grey")):  # fmt: skip
            with pytest.raises(InputError, match=f"a sweep takes no {name}; only"):
                use(going, **{name: value})
    with sv.sweep.Results(path) as results:  # which holds no function
        assert np.array_equal(sv.render(results, size), wall_picture(path, size))
    no_file = sv.sweep(small, None, 1, steps=5, workers=0)
    with no_file as going, pytest.raises(InputError, match="showing a sweep needs its file"):
        sv.render(going)
