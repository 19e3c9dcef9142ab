"""What of a sweep no user holds in hand: its pool, groups of runs, what builds the runs of a file, its cells.

Internals: processes that are done or dead before anybody looks, and cells with a checksum that is right, as
somebody who means harm would write them, are made from inside; quartiles and orders of walls are held against NumPy.
"""

from __future__ import annotations

import csv
import json
import math
import os
import random
import signal
import sqlite3
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sweep_made import going, gone, small, told

import scalarviz as sv
from kit.commands import load_scene
from kit.files import same
from kit.runs import bits
from scalarviz.engine.processors import _of_linux
from scalarviz.errors import InputError, StateError
from scalarviz.io import save_picture
from scalarviz.run.recording.checksums import checksum
from scalarviz.sweep import pool as module
from scalarviz.sweep.about import About
from scalarviz.sweep.build import FunctionBuild, SceneBuild
from scalarviz.sweep.groups import by_loss, groups, loss_of, quartiles, swept
from scalarviz.sweep.pool import Pool, WorkerDiedError
from scalarviz.sweep.result import Result
from scalarviz.sweep.rows import COLUMNS
from scalarviz.sweep.table import summary, write_table
from scalarviz.view.sweeps import open_wall, opening, report_of_file, wall_picture

EXECUTOR = "scalarviz.sweep.pool.ProcessPoolExecutor"

# ---- a pool whose processes are done before anybody looks, as they are on a busy machine


class AtOnce:
    """In the place of a process: what it is given is done, or has killed it, when it is given back."""

    choice = random.Random(0)
    deaths = 0.0
    later: list[object] = []  # noqa: RUF012

    def __init__(self, *_: object) -> None:
        self._pid = self.choice.randrange(1, 10**6)

    def submit(self, call):
        future: Future[object] = Future()
        if call is module.ready:
            future.set_result(self._pid)
        elif self.choice.random() < self.deaths:
            future.set_exception(BrokenProcessPool("it was killed"))
        elif not self.deaths and self.choice.random() < 0.3:  # as long as another one takes
            self.later.append(lambda: future.set_result(call()))
        else:
            future.set_result(call())
        return future

    def shutdown(self, *, wait: bool, cancel_futures: bool = False) -> None:
        pass


@pytest.mark.parametrize("deaths", [0.0, 0.2])
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_each_call_is_made_once_and_each_has_its_own_result(workers, deaths, monkeypatch):
    monkeypatch.setattr(EXECUTOR, AtOnce)
    monkeypatch.setattr(AtOnce, "deaths", deaths)
    monkeypatch.setattr(AtOnce, "choice", random.Random(workers))
    AtOnce.later.clear()
    called: list[int] = []
    with Pool(workers) as pool:

        def call(number: int) -> int:
            called.append(number)
            return number * number

        futures = []
        for number in range(200):
            futures.append(pool.submit(call, number))
            if number % 7 == 0:
                futures[-1].add_done_callback(lambda _: futures.append(pool.submit(call, len(called) + 1000)))
            while AtOnce.later and (number % 5 == 0 or number == 199):
                AtOnce.later.pop(0)()
        while AtOnce.later:
            AtOnce.later.pop(0)()
        assert all(future.done() for future in futures)
        died = sum(isinstance(future.exception(), WorkerDiedError) for future in futures)
        assert (died > 0) is (deaths > 0)
        done = [future.result() for future in futures if future.exception() is None]
    assert sorted(done) == sorted(number * number for number in called)
    assert len(done) + died == len(futures)


@pytest.mark.parametrize("trouble", [OSError(27, "File too large"), RuntimeError("can't start new thread")])
def test_where_no_process_can_be_started_the_sweep_ends_with_that(monkeypatch, trouble):
    """Without semaphores, processes or files to be had it waited for ever, or ended with a traceback."""

    def none(*_args):
        raise trouble

    monkeypatch.setattr(EXECUTOR, none)
    with Pool(2) as pool:
        future = pool.submit(divmod, 7, 2)
        with pytest.raises(StateError, match=f"no process of the sweep can be started.*{trouble.args[-1]}"):
            future.result(60)
        with pytest.raises(StateError, match="can be started here"):
            pool.submit(divmod, 7, 2)


def test_what_a_pool_cancels_as_it_closes_is_no_error(monkeypatch, caplog):
    """Python prints what a callback raises: Ctrl-C ended a sweep with tracebacks."""
    given = []

    class Waits:
        def __init__(self, *_args):
            pass

        def submit(self, _call):
            given.append(Future())
            return given[-1]

        def shutdown(self, **_named):
            for future in given:
                future.cancel()

    monkeypatch.setattr(EXECUTOR, Waits)
    with Pool(1) as pool:
        wanted = [pool.submit(divmod, 7, 2) for _ in range(3)]
    assert all(future.cancelled() for future in given)
    assert len(given) == 3
    for future in wanted:
        assert future.cancelled() or isinstance(future.exception(0), StateError)
    assert caplog.records == []


def test_a_pool_says_in_which_call_a_process_died_and_goes_on():
    with Pool(1) as pool:
        futures = [pool.submit(os.getpid), pool.submit(os._exit, 3), pool.submit(os.getpid)]
        first, last = futures[0].result(60), futures[2].result(60)
        assert first != last
        with pytest.raises(WorkerDiedError):
            futures[1].result(60)
        with pytest.raises(ZeroDivisionError):
            pool.submit(divmod, 1, 0).result(60)
        (idle,) = pool.pids
        os.kill(idle, signal.SIGKILL)
        gone([idle])
        assert pool.submit(os.getpid).result(60) not in (first, last)
    with pytest.raises(StateError, match="closed"):
        pool.submit(os.getpid)


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
    assert [group.results for group in groups(some)] == [tuple(some)]
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
    build = opening._making(SceneBuild("xor"), about("xor", log=log, save=save, no_such_option=1, steps=10))
    build(Result(0, {}, 0, "done")).run.step(10)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="run 0"):
        opening._making(SceneBuild("xor"), about("xor", lr="much"))(Result(0, {}, 0, "done"))


@pytest.mark.parametrize("how", [{}, {"optimizer": "adam"}, {"optimizer": "momentum", "schedule": "plateau:2"}])
def test_what_an_optimiser_remembers_is_in_the_file_and_trains_on_bit_for_bit(how, tmp_path):
    path, options = tmp_path / "rgb.svs", {"engine": "numpy", "batch": 16, **how}
    list(sv.sweep("rgb", {"lr": [0.1]}, 1, steps=30, options=options, workers=0, results=path))
    runs = opening.runs_of(path)
    runs = [runs.standing(runs.results[0]).run, runs.build(runs.results[0]).run]
    assert [run.steps for run in runs] == [30, 0]
    for each in runs:
        each.step(60 - each.steps)
    assert bits(runs[0])[1] == bits(runs[1])[1]
    assert same(dict(runs[0].state_dict()), dict(runs[1].state_dict()))
    assert same(dict(runs[0].optimizer_state()), dict(runs[1].optimizer_state()))


def test_a_function_that_is_handed_in_builds_the_runs_and_a_file_without_results_is_told(tmp_path):
    path, none = tmp_path / "function.svs", tmp_path / "none.svs"
    list(sv.sweep(small, {"lr": [0.1]}, 2, steps=5, workers=0, results=path))
    assert opening.runs_of(path).build is None
    runs = opening.runs_of(path, FunctionBuild(small))
    assert runs.standing(runs.results[1]).run.lr == 0.1
    with pytest.raises(InputError, match="panel, cubes or plots"):
        wall_picture(path, shows="all")
    sv.sweep("xor", None, 2, steps=5, workers=0, results=none).close()
    for use in (lambda: open_wall(none), lambda: report_of_file(none, tmp_path / "r.html")):
        with pytest.raises(InputError, match="none of its 2 runs is done yet"):
            use()


@pytest.mark.parametrize("where", ["grid", "options"])
def test_epochs_are_the_steps_that_the_scene_makes_of_them(tmp_path, where):
    """A run ended after the usual 5,000 steps, whatever was asked for; opened from the wall it was refused."""
    picture = np.random.default_rng(3).integers(0, 255, (6, 8, 3), dtype=np.uint8)
    save_picture(tmp_path / "small.png", picture)
    more = {"picture": str(tmp_path / "small.png"), "batch": 16, "hidden": "4", "engine": "numpy"}
    given = ({"epochs": [2, 3]}, more) if where == "grid" else ({"lr": [0.01]}, {**more, "epochs": 2})
    path = tmp_path / "runs.svs"
    results = list(sv.sweep("texture", given[0], 1, options=given[1], keyframes=2, workers=0, results=path))
    assert [(r.state, r.error) for r in results] == [("done", "")] * len(results)
    assert [(r.steps, list(r.keyframes)) for r in results] == [(6, [0, 6]), (9, [0, 9])][: len(results)]
    runs = opening.runs_of(path)
    assert runs.standing(runs.results[0]).run.steps == len(results[0].curve) == 6
    loaded = load_scene("texture")
    alone = loaded.build(loaded.options(**{**more, "epochs": 2, **results[0].options})).run
    alone.step(6)
    assert all(results[0].weights[name].tobytes() == array.tobytes() for name, array in alone.state_dict().items())


# ---- cells of a file whose checksum is right


def rewritten(path, **cells):
    """Other cells in the first row."""
    with closing(sqlite3.connect(path)) as database, database:
        found = database.execute(f"SELECT {', '.join(COLUMNS)} FROM result WHERE number = 0").fetchone()
        row = tuple({**dict(zip(COLUMNS, found, strict=True)), **cells}.values())
        marks = ", ".join("?" * (len(row) + 1))
        database.execute(f"INSERT OR REPLACE INTO result VALUES ({marks})", (*row, checksum(row)))


@pytest.mark.parametrize("cells", [
    {"seed": "7"}, {"options": '{"lr": 0.2}'}, {"options": '{"lr": "\\ud800"}'},
    {"options": '{"lr": 0.1, "save": "other.safetensors"}'}, {"options": json.dumps({"lr": "x" * 1_000_000})},
    {"options": json.dumps({f"o{k}": k for k in range(2000)})},
], ids=range(6))  # fmt: skip
def test_a_run_of_another_sweep_in_a_file_is_damage_and_computed_again(tmp_path, cells):
    path = tmp_path / "runs.svs"
    made = told(going(path))
    rewritten(path, **cells)
    with sv.sweep.Results(path) as found:
        assert [result.number for result in found.results()] == [1, 2, 3, 4, 5]
        assert list(found.damaged) == [0]
    with going(path) as again:
        assert again.before == 5
        assert same(told(again), made)


def test_letters_that_are_no_text_are_written_and_told_as_their_numbers(tmp_path):
    path = tmp_path / "runs.svs"
    list(going(path))
    rewritten(path, metrics=json.dumps({"\udfff\x1b[31m": 1.0, "m" * 100_000: 2.0}))
    with sv.sweep.Results(path) as found:
        results = list(found.results())
    write_table(tmp_path / "t.csv", results)
    with open(tmp_path / "t.csv", newline="", encoding="utf-8") as file:
        assert "\\udfff\x1b[31m" in next(csv.reader(file))
    heads, _ = summary(results)
    assert all(head.isprintable() and len(head) < 200 for head in heads)


def test_processors_of_one_name_are_told_apart_by_their_numbers():
    """A result says on which processor it was computed."""
    text = "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\nstepping\t: 1\n\nmodel\t: 99\n"
    assert _of_linux(text) == "AMD EPYC (25.17.1)"
