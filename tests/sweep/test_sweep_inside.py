"""What of a sweep no user holds in hand: its pool, groups of runs, what builds the runs of a file, its cells.

Internals: cells with a checksum that is right, as somebody who means harm would write them, are made from inside;
quartiles are held against NumPy.
"""

import math
import multiprocessing
import os
import signal
from multiprocessing import resource_tracker

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sweep_made import gone, small

import scalarviz as sv
from kit.files import same
from kit.runs import bits
from scalarviz.errors import InputError, StateError
from scalarviz.io import save_picture
from scalarviz.run.state import optimizer_state
from scalarviz.sweep.groups import by_loss, groups, loss_of, quartiles, summary, swept
from scalarviz.sweep.job import FunctionBuild, SceneBuild
from scalarviz.sweep.pool import Pool, WorkerDiedError
from scalarviz.sweep.result import Result
from scalarviz.sweep.results import About
from scalarviz.view.walls import run_report, run_wall
from scalarviz.view.walls import runs as opening

# ---- the pool


def test_a_pool_says_in_which_call_a_process_died_and_goes_on():
    with Pool(1) as pool:
        futures = [pool.submit(os.getpid), pool.submit(os._exit, 3), pool.submit(os.getpid)]
        first, last = futures[0].result(60), futures[2].result(60)
        assert first != last
        with pytest.raises(WorkerDiedError):
            futures[1].result(60)
        with pytest.raises(ZeroDivisionError):
            pool.submit(divmod, 1, 0).result(60)
        (idle,) = (process.pid for process in multiprocessing.active_children())
        os.kill(idle, signal.SIGKILL)
        gone([idle])
        assert pool.submit(os.getpid).result(60) not in (first, last)
    with pytest.raises(StateError, match="closed"):
        pool.submit(os.getpid)


def test_a_pool_goes_on_without_a_word_when_pythons_resource_tracker_is_killed(monkeypatch, recwarn):
    """A tracker that is begun anew printed a KeyError for each semaphore whose name the killed one had."""
    names = []
    monkeypatch.setattr(resource_tracker, "register", lambda *name: names.append(name))
    with Pool(1) as pool:
        first = pool.submit(os.getpid).result(60)
        for process in (resource_tracker._resource_tracker._pid, first):
            os.kill(process, signal.SIGKILL)
        gone([first])
        assert pool.submit(os.getpid).result(60) != first
    assert names == []
    assert recwarn.list == []


# ---- groups of runs


def run(number, loss=1.0, state="done", reached=None, **options):
    return Result(number, options, number, state, 10, loss, reached=reached, metrics={"right": number})


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30))
def test_quartiles_are_numpys(numbers):
    assert quartiles(numbers) == pytest.approx(np.quantile(numbers, [0.25, 0.5, 0.75]), rel=1e-9, abs=1e-6)


def test_groups_count_what_learnt_diverged_and_failed_in_the_order_of_the_grid():
    assert quartiles([1.0, math.inf]) == (math.inf, math.inf, math.inf)  # what diverged
    assert quartiles([1.0, 2.0, 3.0, 4.0, math.inf]) == (2.0, 3.0, 4.0)
    assert all(math.isnan(part) for part in quartiles([]))
    some = [run(0, lr=0.5, hidden="8"), run(1, lr=0.1, hidden="8"), run(2, lr=0.5, hidden="8")]
    assert [(group.value, len(group.results)) for group in groups(some, "lr")] == [(0.5, 2), (0.1, 1)]
    assert swept(some) == ["lr"]
    alike = [run(0, b=1), run(1, b=True), run(2, b="1")]
    assert [group.value for group in groups(alike, "b")] == [1, True, "1"]
    some = [run(0, 0.1, reached=True), run(1, 0.3, reached=False), run(2, math.nan, "diverged", reached=False),
            run(3, math.nan, "failed")]  # fmt: skip
    (group,) = groups(some)
    assert (group.learnt, group.count("diverged"), group.count("failed")) == (1, 1, 1)
    assert (group.losses, group.quartiles[1]) == ([0.1, 0.3, math.inf], 0.3)
    assert group.of_metric("right") == quartiles([0, 1])
    assert groups([run(0), run(1)])[0].learnt is None
    many = [run(k, lr=k % 21, batch=1 + 3 * (k // 21)) for k in range(42)]
    heads, lines = summary(many)  # of more than 40 combinations each value has a line
    assert list(heads[:3]) == ["option", "value", "runs"]
    assert [list(line[:3]) for line in lines[-2:]] == [["batch", "1", "21"], ["batch", "4", "21"]]


@given(st.permutations(range(6)))
def test_the_order_is_by_loss_then_what_diverged_then_what_failed(order):
    some = [run(0, 0.2), run(1, 0.1), run(2, 0.1), run(3, 5.0, "diverged"), run(4, math.nan), run(5, 0.0, "failed")]
    assert [result.number for result in by_loss([some[k] for k in order])] == [1, 2, 0, 3, 4, 5]
    assert loss_of(some[4]) == math.inf


# ---- what builds the runs of a file, and what of a file is never run or written


def about(name, text="", **fixed):
    return About(name, text, {}, [0], 10, 1, "now", fixed)


def test_scenes_of_the_package_are_built_and_nothing_else(tmp_path):
    assert opening.build_of(about("xor")) == SceneBuild("xor")
    for name in ("nothing_like_it", "_sort", "..cli.main", "xor.py", str(tmp_path / "evil.py"), "os", ""):
        assert opening.build_of(about(name)) is None
    assert opening.build_of(about("xor", "raise SystemExit")) is None


def test_no_option_of_a_file_writes_another_one(tmp_path):
    log, save = (str(tmp_path / name) for name in ("log.csv", "w.safetensors"))
    given = about("xor", log=log, save=save, no_such_option=1, steps=10)
    opening._making(SceneBuild("xor"), given)(Result(0, {}, 0, "done")).run.step(10)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="run 0"):
        opening._making(SceneBuild("xor"), about("xor", lr="much"))(Result(0, {}, 0, "done"))


def test_what_an_optimiser_remembers_is_in_the_file_and_trains_on_bit_for_bit(tmp_path):
    path, options = tmp_path / "rgb.svs", {"engine": "numpy", "batch": 16, "optimizer": "adam"}
    list(sv.sweep("rgb", {"schedule": ["plateau:2"]}, 1, steps=30, options=options, workers=0, results=path))
    found = opening.runs_of(path)
    runs = [make(found.results[0]).run for make in (found.standing, found.build)]
    assert [run.steps for run in runs] == [30, 0]
    for each in runs:
        each.step(60 - each.steps)
    assert bits(runs[0])[1] == bits(runs[1])[1]
    assert same(dict(optimizer_state(runs[0])), dict(optimizer_state(runs[1])))


def test_a_function_that_is_handed_in_builds_the_runs_and_a_file_without_results_is_told(tmp_path):
    path, none = tmp_path / "function.svs", tmp_path / "none.svs"
    list(sv.sweep(small, {"lr": [0.1]}, 2, steps=5, workers=0, results=path))
    assert opening.runs_of(path).build is None
    runs = opening.runs_of(path, FunctionBuild(small))
    assert runs.standing(runs.results[1]).run.lr == 0.1
    with pytest.raises(InputError, match="panel, cubes, plots"):
        run_wall.wall_picture(path, shows="all")
    sv.sweep("xor", None, 2, steps=5, workers=0, results=none).close()
    for use, more in ((run_wall.wall_of, ()), (run_report.report_of_file, (tmp_path / "r.html",))):
        with pytest.raises(InputError, match="none of its runs is done"):
            use(none, *more)


def test_epochs_are_the_steps_that_the_scene_makes_of_them(tmp_path):
    """A run ended after the usual 5,000 steps, whatever was asked for; opened from the wall it was refused."""
    picture = np.random.default_rng(3).integers(0, 255, (6, 8, 3), dtype=np.uint8)
    save_picture(tmp_path / "small.png", picture)
    more = {"picture": str(tmp_path / "small.png"), "batch": 16, "hidden": "4", "engine": "numpy"}
    path = tmp_path / "runs.svs"
    results = list(sv.sweep("texture", {"epochs": [2, 3]}, 1, options=more, keyframes=2, workers=0, results=path))
    assert [(r.state, r.error) for r in results] == [("done", "")] * 2
    assert [(r.steps, list(r.keyframes)) for r in results] == [(6, [0, 6]), (9, [0, 9])]
    runs = opening.runs_of(path)
    assert runs.standing(runs.results[0]).run.steps == len(results[0].curve) == 6
