"""Files of results with other bytes in them, and arguments that are none."""

from __future__ import annotations

import itertools
import os
import sqlite3

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sweep_made import small

import scalarviz as sv
from scalarviz import nn
from scalarviz.errors import InputError, ScalarvizError
from scalarviz.sweep import Results
from scalarviz.sweep.grid import values_of


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
