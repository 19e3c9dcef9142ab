"""Files of results as walls and reports: what builds their runs, and what of a file is never run or written."""

import numpy as np
import pytest

from kit.files import same
from kit.runs import bits
from scalarviz.errors import InputError
from scalarviz.io import save_picture
from scalarviz.run.scene_file import load_scene
from scalarviz.sweep.about import About
from scalarviz.sweep.build import FunctionBuild, SceneBuild
from scalarviz.sweep.result import Result
from scalarviz.sweep.sweep import sweep
from scalarviz.view.sweeps import open_wall, opening, report_of_file, wall_picture
from scalarviz.view.sweeps.opening import build_of, runs_of

pytestmark = pytest.mark.gl


def about(name, text="", **fixed):
    return About(name, text, {}, [0], 10, 1, "now", fixed)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    path = tmp_path_factory.mktemp("results") / "xor.svs"
    options = {"activation": "sigmoid", "engine": "numpy"}
    with sweep("xor", {"lr": [0.1, 0.5]}, 2, steps=60, options=options, workers=0, results=path) as runs:
        assert len(list(runs)) == 4
    return path


def test_runs_of_a_file_stand_where_they_ended_and_train_on_as_one_that_never_stopped(results):
    runs = runs_of(results)
    assert runs.title == "xor, activation sigmoid, engine numpy"
    assert [(r.options["lr"], r.seed) for r in runs.results[:3]] == [(0.1, 0), (0.5, 0), (0.1, 1)]
    result = runs.results[3]
    scene, alone = runs.standing(result), runs.build(result)
    assert scene.run.lr == 0.5
    alone.run.step(70)
    scene.run.step(10)
    assert same(dict(scene.run.state_dict()), dict(alone.run.state_dict()))


@pytest.mark.parametrize("how", [{"optimizer": "adam"}, {"optimizer": "momentum", "schedule": "plateau:2"}])
def test_what_an_optimiser_remembers_is_in_the_file_and_trains_on_bit_for_bit(how, tmp_path):
    path, options = tmp_path / "rgb.svs", {"engine": "numpy", "batch": 16, **how}
    (result,) = sweep("rgb", None, 1, steps=30, options=options, workers=0, results=path)
    runs = runs_of(path)
    runs = [runs.standing(runs.results[0]).run, runs.build(runs.results[0]).run]
    for run in runs:
        run.step(60 - run.steps)
    assert bits(runs[0])[1] == bits(runs[1])[1]
    assert same(dict(runs[0].state_dict()), dict(runs[1].state_dict()))
    assert same(dict(runs[0].optimizer_state()), dict(runs[1].optimizer_state()))
    assert runs[0].lr == runs[1].lr
    (stored,) = sweep("rgb", None, 1, steps=30, options=options, workers=0, results=path)
    assert stored.rule == result.rule
    assert same(dict(stored.optimizer), dict(result.optimizer))


def test_a_picture_of_the_wall_has_every_run_and_one_of_the_plots_has_none(results):
    for shows in ("panel", "cubes", "plots"):
        picture = wall_picture(results, (900, 520), shows=shows)
        assert picture.shape == (520, 900, 3)
        assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 100
    with pytest.raises(InputError, match="panel, cubes or plots"):
        wall_picture(results, shows="all")


def test_a_report_of_a_file(results, tmp_path, monkeypatch):
    monkeypatch.setattr("scalarviz.view.sweeps.players.PICTURES", 1)
    text = report_of_file(results, tmp_path / "report.html").read_text(encoding="utf-8")
    assert text.count("<iframe") == 3
    assert text.count("<figure>") == 4
    assert "other bits" not in text


def test_scenes_of_the_package_are_built_and_nothing_else(tmp_path):
    assert build_of(about("xor")) == SceneBuild("xor")
    for name in ("nothing_like_it", "_sort", "..cli.main", "xor.py", str(tmp_path / "evil.py"), "os", ""):
        assert build_of(about(name)) is None
    assert build_of(about("xor", "raise SystemExit")) is None


def test_no_option_of_a_file_writes_another_one(tmp_path, monkeypatch):
    written = tmp_path / "log.csv"
    evil = about("xor", log=str(written), save=str(tmp_path / "w.safetensors"), no_such_option=1, steps=10)
    build = opening._making(SceneBuild("xor"), evil)
    build(Result(0, {}, 0, "done")).run.step(10)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="run 0"):
        opening._making(SceneBuild("xor"), about("xor", lr="much"))(Result(0, {}, 0, "done"))


def test_a_function_that_is_handed_in_builds_the_runs(few_runs, tmp_path):
    def made(seed=0, lr=0.5):
        return few_runs.xor(Result(0, {"lr": lr}, seed, "done")).run

    path = tmp_path / "function.svs"
    with sweep(made, {"lr": [0.1]}, 2, steps=5, workers=0, results=path) as runs:
        list(runs)
    assert runs_of(path).build is None
    assert wall_picture(path, (600, 400)).shape == (400, 600, 3)
    runs = runs_of(path, FunctionBuild(made))
    assert runs.standing(runs.results[1]).run.lr == 0.1


def test_a_file_without_results_is_told(tmp_path):
    path = tmp_path / "none.svs"
    sweep("xor", None, 2, steps=5, workers=0, results=path).close()
    for use in (lambda: open_wall(path), lambda: report_of_file(path, tmp_path / "r.html")):
        with pytest.raises(InputError, match="none of its 2 runs is done yet"):
            use()


@pytest.mark.parametrize("where", ["grid", "options"])
def test_epochs_are_the_steps_that_the_scene_makes_of_them(tmp_path, where):
    """A run that ended after the usual 5,000 steps, whatever was asked for; opened from the wall it was refused."""
    picture = np.random.default_rng(3).integers(0, 255, (6, 8, 3), dtype=np.uint8)
    save_picture(tmp_path / "small.png", picture)
    more = {"picture": str(tmp_path / "small.png"), "batch": 16, "hidden": "4", "engine": "numpy"}
    given = ({"epochs": [2, 3]}, more) if where == "grid" else ({"lr": [0.01]}, {**more, "epochs": 2})
    path = tmp_path / "runs.svs"
    results = list(sweep("texture", given[0], 1, options=given[1], keyframes=2, workers=0, results=path))
    assert [(r.state, r.error) for r in results] == [("done", "")] * len(results)
    assert [r.steps for r in results] == [6, 9][: len(results)]
    assert [list(r.keyframes) for r in results] == [[0, 6], [0, 9]][: len(results)]
    assert len(results[0].curve) == 6
    runs = runs_of(path)
    assert runs.standing(runs.results[0]).run.steps == 6
    loaded = load_scene("texture")
    alone = loaded.build(loaded.options(**{**more, "epochs": 2, **results[0].options})).run
    alone.step(6)
    assert all(results[0].weights[name].tobytes() == array.tobytes() for name, array in alone.state_dict().items())
