"""A sweep computed in this process: each of its runs is the run alone, to the bit; its file goes on with it."""

import os
from importlib import import_module

import numpy as np
import pytest
import sweep_made as made

import scalarviz as sv
from kit.files import same
from scalarviz import nn, optim
from scalarviz.errors import FileFormatError, InputError
from scalarviz.run.state import optimizer_state

GRID = {"lr": [0.1, 0.5]}


def swept(path=None, seeds=3, grid=None, build=made.small, **more):
    return sv.sweep(build, grid or GRID, seeds, results=path, workers=0, **{"steps": 20, **more})


# ---- a run of a sweep is the run alone

SMALL = {"engine": "numpy", "batch": 16}
BUILDS = {
    "a function": (made.small, GRID, {}),
    "xor": ("xor", {"activation": ["sigmoid", "tanh"]}, {"engine": "numpy"}),
    "rgb": ("rgb", {"optimizer": ["adam", "momentum"]}, {**SMALL, "hidden": "4"}),
    "a schedule": ("rgb", {"schedule": ["plateau:2", "step:3"]}, {**SMALL, "hidden": ""}),
}


def alone(build, seed, options):
    if callable(build):
        return build(seed, **options)
    module = import_module(f"scalarviz.scenes.{build}")
    return module.build(module.Options(seed=seed, **options)).run


@pytest.mark.parametrize("name", BUILDS)
def test_each_run_has_the_bits_of_the_run_alone_and_the_file_gives_them_back(tmp_path, name):
    path = tmp_path / "runs.svs"
    build, grid, options = BUILDS[name]
    ((swept_name, values),) = grid.items()
    call = {"seeds": 2, "grid": grid, "build": build, "options": options, "steps": 12, "keyframes": 3}
    results = list(swept(path, **call))
    found = [(r.number, r.options[swept_name], r.seed) for r in results]
    assert found == [(0, values[0], 0), (1, values[1], 0), (2, values[0], 1), (3, values[1], 1)]
    for result in results:
        assert (result.state, result.error, result.steps, result.tries) == ("done", "", 12, 1)
        run = alone(build, result.seed, {**options, **result.options})
        for step in (0, 6, 12):
            run.step(step - run.steps)
            assert same(dict(result.keyframes[step]), dict(run.state_dict()))
        assert same(dict(result.weights), dict(run.state_dict()))
        assert same(dict(result.optimizer), dict(optimizer_state(run)))
        assert result.loss == pytest.approx(run.evaluate(*run.samples()), rel=1e-6)
        assert result.curve[:, 0].tolist() == list(range(1, 13))
    told = made.told(results)
    assert same(made.read(path), told)
    assert same(made.told(swept(path, **call)), told)
    with sv.sweep.Results(path) as there:
        assert all(not r.weights for r in there.results())  # until they are asked for
        assert (there.missing(), there.about.total, there.about.grid) == ([], 4, grid)
        assert there.about.place(3) == ({swept_name: values[1]}, 1)
        assert [list(there.weights(k)) for k in range(4)] == [list(told[k][11]) for k in range(4)]  # in this order
        with pytest.raises(InputError, match="4"):
            there.weights(4)
    assert os.listdir(tmp_path) == ["runs.svs"]  # one file, without a log


def test_a_curve_is_on_the_scale_of_the_loss_at_the_end_and_a_long_one_has_the_means_of_its_stretches():
    """With steps too small to change a weight each epoch's mean is the loss of all samples, summed or not."""
    for name, options in (("xor", {"lr": 1e-30}), ("rgb", {"lr": 1e-30, "batch": 1024})):
        (result,) = sv.sweep(name, None, 1, steps=100, options={"engine": "numpy", **options}, workers=0)
        assert result.curve[:, 1].mean() == pytest.approx(result.loss, rel=1e-4)
    (result,) = swept(seeds=1, grid={"lr": [0.1]}, steps=399)
    run, first = made.small(0, 0.1), 0
    run.step(399)
    assert len(result.curve) == 200
    for last, mean in result.curve:
        assert mean == pytest.approx(run.history.loss[first : int(last)].mean())
        first = int(last)
    assert first == 399


def diverging(seed):
    net = nn.Linear(3, 2)
    net.initialize(seed=seed)
    data = made.INPUTS, made.INPUTS[:, :2]
    return sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=1e20), data, engine="numpy")


def test_steps_may_be_tried_like_any_option():
    assert [result.steps for result in sv.sweep("xor", {"steps": [3, 7]}, 1, workers=0)] == [3, 7]


def test_what_is_printed_of_a_sweep_is_short_and_counts_what_it_leaves_out():
    sweep = swept(steps=300)
    assert repr(sweep) == "Sweep('small', 6 runs, 6 yet to come)"
    said = repr(next(sweep))
    assert all(fact in said for fact in ("state='done'", "steps=300", "<200 points, the last: ", " 300: "))
    assert len(said) < 1000
    assert repr(sweep).endswith("5 yet to come)")


def test_a_diverged_run_is_a_result_with_its_curve():
    run = diverging(0)
    with pytest.raises(sv.ScalarvizError):
        run.step(50)
    (result,) = sv.sweep(diverging, None, 1, steps=50, workers=0)
    assert (result.state, result.steps, len(result.curve)) == ("diverged", run.steps, run.steps)
    assert "diverged at step" in result.error
    assert "\n" not in result.error
    assert not np.isfinite(result.loss)


def ending(end):
    def build(seed):
        if seed == 1:
            if isinstance(end, BaseException):
                raise end
            return end
        return made.small(seed)

    return build


@pytest.mark.parametrize(
    ("end", "fact"), [(SystemExit(3), "SystemExit"), (KeyError(7), "KeyError: 7"), (7, "got 7")], ids=str
)
def test_what_cannot_be_built_is_one_failed_run_that_says_why(end, fact):
    found = list(sv.sweep(ending(end), None, 3, steps=1, workers=0))
    assert [r.state for r in found] == ["done", "failed", "done"]
    assert fact in found[1].error
    assert not len(found[1].curve)


@pytest.mark.parametrize(("text", "state", "fact"), [
    ("import scalarviz as sv\nfrom scalarviz.scenes.xor import Options, build, report\n", "done", ""),
    ("def build(options):\n    return 1 / 0\n", "failed", "mine.py, line 2: ZeroDivisionError"),
])  # fmt: skip
def test_the_text_of_a_scene_counts_and_not_what_its_file_became(tmp_path, text, state, fact):
    path = tmp_path / "mine.py"
    path.write_text(text, encoding="utf-8")
    going = sv.sweep(str(path), None, 1, steps=5, workers=0)
    path.write_text("raise SystemExit\n", encoding="utf-8")
    (result,) = going
    assert result.state == state
    assert fact in result.error
    assert ("right" in result.metrics) is (state == "done")


# ---- the file


@pytest.mark.parametrize("first", [0, 5, 6])
def test_a_sweep_goes_on_where_it_stopped_and_computes_nothing_twice(tmp_path, first):
    path = tmp_path / "runs.svs"
    begun = swept(path)
    seconds = [next(begun).seconds for _ in range(first)]
    begun.close()
    with sv.sweep.Results(path) as there:
        assert there.missing() == list(range(first, 6))
    again = swept(path)
    assert (again.before, list(again.futures)) == (first, list(range(first, 6)))
    results = list(again)
    assert same(made.told(results), made.told(swept()))
    assert [r.seconds for r in results[:first]] == seconds  # these were read
    third = swept(path)
    assert not third.futures
    assert same(made.told(third), made.told(results))


def test_more_seeds_may_be_added_and_nothing_else_changed(tmp_path):
    path = tmp_path / "runs.svs"
    list(swept(path, 2))
    more = swept(path, 3)
    assert more.before == 4
    assert same(made.told(more), made.told(swept()))
    content = path.read_bytes()
    others = {"grid": {"lr": [0.1, 0.6]}}, {"keyframes": 1}, {"seeds": 2}, {"seeds": [0, 2, 1, 3]}
    for other in (*others, {"build": made.held, "options": {"door": "x"}}):
        with pytest.raises(InputError, match=r"runs\.svs"):
            swept(path, **other)
    assert path.read_bytes() == content


def test_a_second_sweep_into_a_file_is_refused_with_the_process_of_the_first(tmp_path):
    path = tmp_path / "runs.svs"
    with swept(path) as first:
        next(first)
        with pytest.raises(InputError, match=f"process {os.getpid()}"):
            swept(path)
        assert len(list(first)) == 5
    assert same(made.told(swept(path)), made.told(swept()))


def test_a_failed_run_is_told_kept_and_computed_again(tmp_path):
    path, folder = tmp_path / "runs.svs", tmp_path / "not there"
    options = {"folder": str(folder)}
    call = {"build": made.slow, "seeds": 1, "grid": {"seconds": [0.0]}, "steps": 3, "options": options}
    (failed,) = swept(path, **call)
    assert failed.state == "failed"
    assert "FileNotFoundError" in failed.error
    assert not failed.weights
    assert made.read(path)[0][2] == "failed"
    folder.mkdir()
    (done,) = swept(path, **call)
    assert done.state == "done"


def test_no_file_of_results(tmp_path):
    path = tmp_path / "other.svs"
    path.write_bytes(b"x" * 5000)
    with pytest.raises(FileFormatError):
        sv.sweep.Results(path)
    with pytest.raises(InputError, match="there is no file of results"):
        sv.sweep.Results(tmp_path / "none.svs")
