"""A sweep computed in this process: which runs there are, their file, and going on with it."""

from __future__ import annotations

import gc
import os
import sqlite3
import weakref
from concurrent.futures import Executor, Future

import numpy as np
import pytest
import sweep_made as made

import scalarviz as sv
from scalarviz.errors import FileFormatError, InputError
from scalarviz.sweep.about import About
from scalarviz.sweep.result import Result
from scalarviz.sweep.results import Results
from scalarviz.sweep.sweep import sweep
from scalarviz.sweep.writing import ResultsFile

GRID = {"lr": [0.1, 0.5]}


def swept(path=None, seeds=3, grid=None, **more):
    return sweep(made.small, grid or GRID, seeds, steps=20, results=path, workers=0, **more)


def told(results):
    """What is compared of results: all but the time that they took."""
    return {
        r.number: (r.options, r.seed, r.state, r.steps, r.loss, r.curve.tolist(), r.tries, r.error,
                   {name: a.tobytes() for name, a in r.weights.items()},
                   {step: {n: a.tobytes() for n, a in kept.items()} for step, kept in r.keyframes.items()})
        for r in results
    }  # fmt: skip


def test_every_combination_has_every_seed_and_the_bits_of_the_run_alone():
    results = list(swept(keyframes=2))
    assert [(r.number, r.options["lr"], r.seed) for r in results] == [
        (0, 0.1, 0), (1, 0.5, 0), (2, 0.1, 1), (3, 0.5, 1), (4, 0.1, 2), (5, 0.5, 2)
    ]  # fmt: skip
    for result in results:
        alone = made.small(result.seed, result.options["lr"])
        first = alone.state_dict()
        alone.step(20)
        assert list(result.keyframes) == [0, 20]
        for name, array in alone.state_dict().items():
            assert array.tobytes() == result.weights[name].tobytes() == result.keyframes[20][name].tobytes()
            assert first[name].tobytes() == result.keyframes[0][name].tobytes()


def test_the_file_gives_back_what_was_computed(tmp_path):
    path = tmp_path / "runs.svs"
    results = told(swept(path, keyframes=3))
    with Results.read(path) as there:
        kept = list(there.results())
        assert all(not r.weights for r in kept)  # until they are asked for
        full = [
            r.__class__(**{**{n: getattr(r, n) for n in r.__slots__}, "weights": there.weights(r.number),
                           "keyframes": there.keyframes(r.number)})
            for r in kept
        ]  # fmt: skip
        assert there.missing() == []
        assert there.about.total == 6
        assert there.about.grid == GRID
        assert there.about.place(3) == ({"lr": 0.5}, 1)
        with pytest.raises(InputError, match="has 6 runs"):
            there.weights(6)
    assert told(full) == results
    assert os.listdir(tmp_path) == ["runs.svs"]  # one file, without a log


def test_a_sweep_goes_on_where_it_stopped_and_computes_nothing_twice(tmp_path):
    path = tmp_path / "runs.svs"
    whole = told(swept())
    begun = swept(path)
    first = [next(begun), next(begun)]
    begun.close()
    with Results.read(path) as there:
        assert there.missing() == [2, 3, 4, 5]
    again = swept(path)
    assert again.before == 2
    assert list(again.futures) == [2, 3, 4, 5]
    results = list(again)
    assert told(results) == whole
    assert [r.seconds for r in results[:2]] == [r.seconds for r in first]  # these were read
    third = swept(path)
    assert not third.futures
    assert told(third) == whole


def test_more_seeds_may_be_added_and_nothing_else_changed(tmp_path):
    path = tmp_path / "runs.svs"
    list(swept(path, 2))
    more = swept(path, 3)
    assert more.before == 4
    assert told(more) == told(swept())
    for other in (
        {"grid": {"lr": [0.1, 0.6]}}, {"keyframes": 1}, {"seeds": 2}, {"seeds": [0, 2, 1, 3]}
    ):  # fmt: skip
        with pytest.raises(InputError, match=r"holds results of (another sweep|other seeds)"):
            swept(path, **other)
    with pytest.raises(InputError, match="name 'small', not 'slow'"):
        sweep(made.slow, {}, 3, steps=20, results=path, workers=0)


def test_a_second_sweep_into_a_file_is_refused_with_the_process_of_the_first(tmp_path):
    path = tmp_path / "runs.svs"
    with swept(path) as first:
        next(first)
        with pytest.raises(InputError, match=f"written by another sweep, process {os.getpid()}:"):
            swept(path)
        assert len(list(first)) == 5
    assert told(swept(path)) == told(swept())


def test_a_writer_that_is_no_more_keeps_nobody_out(tmp_path):
    path = tmp_path / "runs.svs"
    list(swept(path, 1))
    database = sqlite3.connect(path)
    place = "00000000"
    for signature in (f"{os.getpid()} {place} 1", f"1 {place}", "x"):
        with database:
            database.execute("INSERT OR REPLACE INTO meta VALUES ('writer', ?)", (signature,))
        swept(path, 1).close()
    database.close()


def test_runs_that_can_be_left_out_and_a_file_that_is_gone(tmp_path):
    path = tmp_path / "runs.svs"
    some = swept(path)
    assert some.futures[4].cancel()
    assert [r.number for r in some] == [0, 1, 2, 3, 5]
    going = swept(path, 4)
    for _ in range(6):
        next(going)
    path.unlink()
    with pytest.raises(InputError, match="removed or replaced while its sweep went on"):
        list(going)


def test_weights_that_were_given_out_are_not_kept_by_the_sweep():
    """A sweep of ten thousand runs would hold the weights of all."""
    going = swept()
    held = [weakref.ref(next(iter(result.weights.values()))) for result in going]
    gc.collect()
    assert len(held) == 6
    assert not any(array() is not None for array in held)
    assert not going.futures


def test_a_failed_run_is_told_kept_and_computed_again(tmp_path, monkeypatch):
    path = tmp_path / "runs.svs"
    folder = tmp_path / "not there"

    def results():
        return list(sweep(made.slow, {"seconds": [0.0]}, 1, steps=3, results=path, workers=0, options=given))

    given = {"folder": str(folder)}
    (failed,) = results()
    assert failed.state == "failed"
    assert "FileNotFoundError" in failed.error
    assert not failed.weights
    with Results.read(path) as there:
        assert there.missing() == [0]
        assert [r.state for r in there.results()] == ["failed"]
        assert there.weights(0) == {}
    folder.mkdir()
    (done,) = results()
    assert done.state == "done"


def test_damage_is_noticed_and_computed_again(tmp_path):
    path = tmp_path / "runs.svs"
    whole = told(swept(path))
    with sqlite3.connect(path) as database:
        database.execute("UPDATE result SET loss = 0.5 WHERE number = 1")
        database.execute("UPDATE weights SET tensors = zeroblob(300) WHERE number = 2")
    database.close()
    with Results.read(path) as there:
        assert [r.number for r in there.results()] == [0, 2, 3, 4, 5]
        assert "checksum" in there.damaged[1]
        with pytest.raises(FileFormatError, match="damaged"):
            there.weights(2)
        assert there.missing() == [1]
    repaired = ResultsFile(path, swept().about)
    assert repaired.missing == [1, 2]
    repaired.close()
    assert whole


def test_no_file_of_results(tmp_path):
    path = tmp_path / "other.svs"
    for content in (b"", b"x" * 5000):
        path.write_bytes(content)
        with pytest.raises(FileFormatError):
            Results(path)
    path.unlink()
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE meta (name TEXT)")
    database.close()
    with pytest.raises(FileFormatError, match="another program, no file of results"):
        swept(path)
    with pytest.raises(InputError, match=r"there is no file of results"):
        Results(tmp_path / "none.svs")
    with pytest.raises(InputError, match=r"try runs\.svs"):
        swept(tmp_path / "runs.db")


def test_labels_say_what_was_tried():
    numbers = np.array([0.1, 0.5])
    assert [r.options for r in swept(grid={"lr": numbers}, seeds=1)] == [{"lr": 0.1}, {"lr": 0.5}]
    assert [r.options["lr"] for r in swept(grid={"lr": "0.1..0.5:3"}, seeds=1)] == [0.1, 0.3, 0.5]


@pytest.mark.parametrize(
    ("grid", "more", "words"),
    [
        ({"width": [1]}, {}, r"small takes no width="),
        ({"lr": []}, {}, "lr has 0 values"),
        ({"lr": 3}, {}, "lr wants a list of values"),
        ({"lr": [1, 1]}, {}, "told alike"),
        ({"lr": [1]}, {"options": {"lr": 2}}, "swept and given as well"),
        ({}, {"seeds": 0}, "seeds must be a whole number >= 1"),
        ({}, {"seeds": [1, 1]}, "some that differ"),
        ({}, {"keyframes": -1}, "keyframes"),
        ({"seed": [1, 2]}, {}, r"small gets its seed from seeds="),
    ],
)
def test_what_would_stop_every_run_is_said_before(grid, more, words):
    with pytest.raises(sv.ScalarvizError, match=words):
        sweep(made.small, grid, **{"steps": 3, "workers": 0, **more})


def test_scenes_are_checked_by_their_options():
    for grid, words in (
        ({"lr": ["0.1", "-1"]}, r"--lr: input should be greater than 0, got '-1'"),
        ({"colour": [1]}, "xor has no option 'colour'; allowed: steps, engine"),
        ({"save": ["a.safetensors"]}, "save cannot be given: every run would write that file"),
        ({"seed": [1]}, "seeds are counted by"),
        ({"theme": ["dark"]}, "of pictures"),
    ):
        with pytest.raises(InputError, match=words):
            sweep("xor", grid, workers=0)
    with pytest.raises(InputError, match="no scene 'nor'"):
        sweep("nor", {}, workers=0)
    with pytest.raises(sv.ScalarvizError, match="build is a function"):
        sweep(3, {}, workers=0)  # type: ignore[arg-type]


def test_arrays_come_back_in_the_order_of_their_network(tmp_path):
    path, names = tmp_path / "runs.svs", [f"{9 - k}.{part}" for k in range(5) for part in ("weight", "bias")]
    about = About("x", "", {}, [0], 1, 1, "now")
    file = ResultsFile(path, about)
    file.add(Result(0, {}, 0, "done", weights={name: np.ones(2) for name in names}))
    file.close()
    for _ in range(5):
        with Results(path) as there:
            assert list(there.weights(0)) == names


def test_a_function_gets_numbers_of_a_text_and_the_words_of_the_others():
    seen = []

    def build(seed, **options):
        seen.append(options)
        return made.small(seed)

    grid = {"lr": "0.1 1e-3", "hidden": "2..3", "name": "'' 8,8 -4"}
    list(sweep(build, grid, 1, steps=1, workers=0))
    assert [type(value) for value in seen[0].values()] == [float, int, str]
    assert {(o["lr"], o["hidden"], o["name"]) for o in seen} == {
        (lr, hidden, name) for lr in (0.1, 1e-3) for hidden in (2, 3) for name in ("", "8,8", -4)
    }


@pytest.mark.parametrize("end", [SystemExit(3), ArithmeticError("no")])
def test_a_function_that_ends_its_process_or_fails_ends_one_run(end):
    def build(seed):
        if seed == 1:
            raise end
        return made.small(seed)

    found = list(sweep(build, None, 3, steps=1, workers=0))
    assert [r.state for r in found] == ["done", "failed", "done"]
    assert type(end).__name__ in found[1].error


def test_what_another_process_raises_that_ends_programs_is_a_failed_run():
    class Elsewhere(Executor):
        def submit(self, function, /, *args, **named):
            future = Future()
            future.set_exception(KeyboardInterrupt())
            return future

    (result,) = sweep(made.small, None, 1, steps=1, executor=Elsewhere())
    assert (result.state, result.tries) == ("failed", 3)
