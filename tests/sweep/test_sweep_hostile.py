"""Files of results with other bytes in them, and arguments that are none."""

from __future__ import annotations

import csv
import itertools
import json
import os
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sweep_made import small

import scalarviz as sv
from scalarviz import nn
from scalarviz.errors import InputError, ScalarvizError
from scalarviz.run.recording.checksums import checksum
from scalarviz.sweep import Results
from scalarviz.sweep.grid import values_of
from scalarviz.sweep.rows import COLUMNS
from scalarviz.sweep.table import summary, write_table


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A file of three results, and what it holds."""
    path = tmp_path_factory.mktemp("hostile") / "runs.svs"
    with sv.sweep(small, {"lr": [0.1, 0.2, 0.3]}, 1, steps=3, workers=0, results=path, keyframes=2) as going:
        results = {result.number: result for result in going}
    return path.read_bytes(), results


def numbers(result):
    return result.options, result.seed, result.state, result.loss, result.curve.tolist(), result.error


@given(data=st.data())
def test_what_is_read_of_a_damaged_file_is_what_was_written(made, tmp_path_factory, data):
    content, results = made
    changed = bytearray(content)
    for _ in range(data.draw(st.integers(1, 6))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "changed.svs"
    path.write_bytes(changed[: data.draw(st.integers(0, len(changed)))] if data.draw(st.booleans()) else changed)
    said = []
    try:
        with Results(path) as found:
            for result in found.results():
                assert numbers(result) == numbers(results[result.number])
                weights = found.weights(result.number)
                if weights:
                    assert all((weights[n] == a).all() for n, a in results[result.number].weights.items())
            said = [*found.damaged.values()]
    except ScalarvizError as error:
        said.append(str(error))
    assert not any("\n" in line for line in said)


def changed(made, tmp_path, **cells):
    """The file with other cells in its first row, whose checksum is right."""
    path = tmp_path / "changed.svs"
    path.write_bytes(made[0])
    with closing(sqlite3.connect(path)) as database, database:
        found = database.execute(f"SELECT {', '.join(COLUMNS)} FROM result WHERE number = 0").fetchone()
        row = tuple({**dict(zip(COLUMNS, found, strict=True)), **cells}.values())
        marks = ", ".join("?" * (len(row) + 1))
        database.execute(f"INSERT OR REPLACE INTO result VALUES ({marks})", (*row, checksum(row)))
    return path


@pytest.mark.parametrize(
    "cells",
    [
        {"seed": "7"},
        {"options": '{"lr": 0.2}'},
        {"options": '{"lr": "\\ud800"}'},
        {"options": '{"lr": 0.1, "save": "other.safetensors"}'},
        {"options": json.dumps({"lr": "x" * 1_000_000})},
        {"options": json.dumps({f"o{k}": k for k in range(2000)})},
    ],
)
def test_a_run_of_another_sweep_in_a_file_is_damage_and_computed_again(made, tmp_path, cells):
    path = changed(made, tmp_path, **cells)
    with Results(path) as found:
        assert [result.number for result in found.results()] == [1, 2]
        assert found.damaged == {0: "its sweep has other options or another seed for that run"}
    with sv.sweep(small, {"lr": [0.1, 0.2, 0.3]}, 1, steps=3, workers=0, results=path, keyframes=2) as going:
        assert going.before == 2
        assert sorted((numbers(r) for r in going), key=repr) == sorted(map(numbers, made[1].values()), key=repr)


def test_options_that_are_no_numbers_are_those_of_their_run(tmp_path):
    def build(seed, lr=0.1, beside=0.0):
        return small(seed, lr)

    grid = {"lr": [0.1, 0.2], "beside": [float("nan"), 1, "a"]}
    for seeds in (2, 3):
        with sv.sweep(build, grid, seeds, steps=1, workers=0, results=tmp_path / "r.svs") as going:
            assert going.before == (0 if seeds == 2 else 12)
            found = {(r.options["lr"], str(r.options["beside"]), r.seed): r.number for r in going}
    places = itertools.product(range(3), (0.1, 0.2), ("nan", "1", "a"))
    assert found == {(lr, beside, seed): number for number, (seed, lr, beside) in enumerate(places)}


def test_a_grid_in_another_order_counts_its_runs_otherwise_and_is_refused(tmp_path):
    def build(seed, lr=0.1, beside=0.0):
        return small(seed, lr)

    call = {"seeds": 1, "steps": 1, "workers": 0, "results": tmp_path / "r.svs"}
    with sv.sweep(build, {"lr": [0.1, 0.2], "beside": [1, 2]}, **call) as going:
        next(going)
    with pytest.raises(InputError, match="holds results of another sweep: grid "):
        sv.sweep(build, {"beside": [1, 2], "lr": [0.1, 0.2]}, **call)


def test_letters_that_are_no_text_are_written_and_told_as_their_numbers(made, tmp_path):
    path = changed(made, tmp_path, metrics=json.dumps({"\udfff\x1b[31m": 1.0, "m" * 100_000: 2.0}))
    with Results(path) as found:
        results = list(found.results())
    write_table(tmp_path / "t.csv", results)
    with open(tmp_path / "t.csv", newline="", encoding="utf-8") as file:
        assert "\\udfff\x1b[31m" in next(csv.reader(file))
    heads, _ = summary(results)
    assert all(head.isprintable() and len(head) < 200 for head in heads)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"seeds": b"ab"}, "whole number"),
        ({"grid": {"lr": b"ab"}}, "wants a list of values"),
        ({"grid": {"lr": {0.1: 1, 0.2: 2}}}, "wants a list of values"),
        ({"grid": {"lr": itertools.count()}}, "more than 10,000 values"),
    ],
)
def test_arguments_that_are_no_values(options, says):
    with pytest.raises(ScalarvizError, match=says):
        sv.sweep(small, **{"grid": {}, "seeds": 1, "steps": 1, "workers": 0, **options}).close()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_pipe_is_no_scene_and_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "scene.py")
    with pytest.raises(InputError, match="no regular file"):
        sv.sweep(str(tmp_path / "scene.py"), {}, 1, workers=0)


def test_a_file_that_cannot_be_made_is_told_in_a_line(tmp_path, monkeypatch):
    def full(*_args, **_options):
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr("scalarviz.sweep.writing.sqlite3.connect", full)
    with pytest.raises(InputError, match=r"cannot write .*r.svs: unable to open"):
        sv.sweep(small, {}, 1, steps=1, workers=0, results=tmp_path / "r.svs").close()
    assert list(tmp_path.iterdir()) == []


def test_a_value_that_stands_twice_is_found_among_many():
    many = [str(k) for k in range(9_999)]
    assert values_of(" ".join(many), "k") == many
    with pytest.raises(InputError, match="'9998' stands there twice"):
        values_of(" ".join([*many, "9998"]), "k")


@pytest.mark.parametrize("shape", [[], [(3,), (3,)]])
def test_shapes_of_other_things_than_a_module_takes(tmp_path, shape):
    pytest.importorskip("onnx", reason="no onnx")
    with pytest.raises(InputError, match="to_onnx: shape lists"):
        nn.MLP(3, 4, 2).to_onnx(tmp_path / "a.onnx", shape=shape)
    assert np.size(list(tmp_path.iterdir())) == 0
