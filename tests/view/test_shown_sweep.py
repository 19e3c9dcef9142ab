"""`show` and `render` of a sweep: its wall, which grows, tells how long that goes on, and lets a run train on."""

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError
from scalarviz.sweep.groups import Left
from scalarviz.sweep.result import Result
from scalarviz.view.ink.theme import get_theme
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.walls.kept_runs import rooms_of_kept
from scalarviz.view.walls.run_rooms import RunRooms
from scalarviz.view.walls.runs import Runs

BITS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


def small(seed=0, lr=0.5):
    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
    net.initialize(seed=seed)
    data = BITS, BITS[:, :1]
    return sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=lr), data=data, engine="numpy")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "small.svs"


def begun(path, **more):
    return sv.sweep(small, {"lr": [0.1, 0.5]}, 2, steps=5, results=path, workers=0, **more)


@pytest.mark.gl
def test_the_picture_of_a_sweep_is_its_wall_and_its_own_function_builds_the_runs(path):
    from scalarviz.view.walls.run_opening import wall_picture

    with begun(path) as going:
        assert len(list(going)) == 4
        assert np.array_equal(sv.render(going, (640, 400)),
                              wall_picture(path, (640, 400), build=going.shown()[1]))  # fmt: skip
        rooms = rooms_of_kept(going, get_theme("dark"))
    opened = rooms.run(rooms.runs.results[3])
    assert opened.scene.run.lr == 0.5
    assert opened.scene.run.steps == 5
    rooms.close()
    with sv.sweep.Results(path) as results:  # which holds no function
        assert np.array_equal(sv.render(results, (640, 400)), wall_picture(path, (640, 400)))


@pytest.mark.gl
def test_what_is_of_one_run_or_of_no_file_is_refused(path):
    with begun(path) as going:
        with pytest.raises(InputError, match="take them all before it is shown"):
            sv.show(going)
        list(going)
        for use, given in ((sv.view.show, {"quantity": "gradient"}), (sv.view.show, {"steps": 5}),
                           (sv.view.render, {"step": 3}), (sv.view.render, {"cmap": "grey"})):  # fmt: skip
            with pytest.raises(InputError, match=f"{next(iter(given))} is of the cubes of one run"):
                use(going, **given)
    with (
        sv.sweep(small, None, 1, steps=5, workers=0) as going,
        pytest.raises(InputError, match="a sweep is shown from its file"),
    ):
        sv.render(going)


def test_the_time_that_is_left_is_that_of_the_runs_that_were_seen_to_end():
    left = Left(100, 20, 50.0)
    assert left.text(20, 99.0) == ""
    assert left.text(30, 60.0) == "70 s left"  # ten in ten seconds
    assert left.text(21, 350.0) == "7 h left"
    assert left.text(60, 450.0) == "7 min left"
    assert left.text(100, 60.0) == ""


@pytest.mark.gl
def test_a_wall_that_grows_says_how_many_are_done_and_one_that_is_whole_does_not(few_runs):
    runs = few_runs.trained(4)

    def some(count, growing):
        return Runs("xor", runs.results[:count], runs.build, runs.weights, 4, growing=growing)

    later = []
    rooms = RunRooms(some(0, True), lambda: later.pop() if later else None)
    host = Unseen(rooms.wall, (960, 540))
    wall = host.view
    assert wall._notes() == ["0 of 4 runs are done"]
    assert host.picture().shape == (540, 960, 3)
    wall.key("Tab")
    assert host.picture().shape == (540, 960, 3)
    wall.key("Tab")
    for count, growing, words in ((2, True, "2 of 4 runs are done, "), (2, False, "2 of 4 runs are done  "),
                                  (4, True, "")):  # fmt: skip
        later.append(some(count, growing))
        for _ in range(5):
            host.pass_time(1.0)
        assert wall._notes()[0].startswith(words)
        assert ("left" in wall._notes()[0]) == (growing and count < 4)
        assert ("are done" in wall._notes()[0]) == (count < 4)
    wall.key("f")
    assert wall._notes()[0].startswith("runs that learnt: ")
    host.close_soon()
    rooms.close()


@pytest.mark.gl
def test_a_file_that_is_being_written_says_so(path):
    going = begun(path)
    next(going)
    with sv.sweep.Results(path) as results:
        assert results.written
    going.close()
    with sv.sweep.Results(path) as results:
        assert not results.written
        assert isinstance(next(iter(results.results())), Result)
