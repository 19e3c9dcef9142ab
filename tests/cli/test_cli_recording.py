"""`scalarviz SCENE --recording run.svz`: every scene, however it ends."""

from __future__ import annotations

import signal
import sqlite3

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.io import load_tensors
from scalarviz.run import Run

SCENES = ("digits", "expression", "microgpt", "neuron", "playground", "rgb", "texture", "uinn", "xor")


@pytest.mark.parametrize("scene", SCENES)
def test_every_scene_is_recorded(cli, scene, tmp_path):
    engine = ["--engine", "numpy", "--steps", 6, "--every", 2]
    result = cli(scene, "--headless", *engine, "--micro", "--recording", "run.svz", "--save", "w.safetensors")
    assert result.code == 0, result.err
    assert "wrote run.svz" in result.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.svz", "w.safetensors"]
    with sv.load_recording("run.svz") as recorded:
        assert recorded.steps.tolist() == [0, 2, 4, 6]
        assert recorded.about.name == scene
        assert not recorded.remark
        arrays, _ = load_tensors("w.safetensors")
        assert any(name in arrays for name in recorded.values)
        for name in arrays.keys() & recorded.values.keys():
            assert np.array_equal(recorded.values[name][-1], arrays[name].astype(np.float32)), name
        assert recorded.frame(2).step == 4
        assert {recorded.opened(1, alone=alone).step for alone in (True, False)} == {3}


def test_micro_steps_of_nothing_that_is_recorded_are_refused(rgb):
    result = rgb("--steps", 2, "--micro")
    assert result.code == 2
    assert "nothing is recorded; name a file with --recording" in result.err


def test_without_every_there_are_a_thousand_frames(rgb):
    assert rgb("--steps", 2500, "--recording", "run.svz").code == 0
    with sv.load_recording("run.svz") as recorded:
        assert recorded.steps.tolist() == [*range(0, 2500, 3), 2500]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_signal_leaves_a_whole_file(rgb, press, number, code, times, tmp_path):
    press(Run, "_advance", times=times, call=40, number=number)
    result = rgb("--steps", 10**6, "--every", 1, "--recording", "run.svz")
    assert result.code == code
    assert [path.name for path in tmp_path.iterdir()] == ["run.svz"]
    with sqlite3.connect("file:run.svz?mode=ro", uri=True) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()
    with sv.load_recording("run.svz") as recorded:
        assert recorded.steps.tolist() == list(range(len(recorded)))
        assert len(recorded) >= 40


def test_a_training_that_diverges_is_recorded_to_its_end(rgb):
    result = rgb("--steps", 50, "--lr", "1e300", "--every", 1, "--recording", "run.svz")
    assert result.code == 2
    assert "wrote run.svz" in result.err
    with sv.load_recording("run.svz") as recorded:
        assert not np.isfinite(recorded.frame(-1).values).all() or not np.isfinite(recorded.loss[-1])


def test_a_file_that_is_there_is_refused_before_anything_is_built(rgb, tmp_path):
    (tmp_path / "run.svz").write_text("mine")
    result = rgb("--steps", 10**9, "--recording", "run.svz")
    assert result.code == 2
    assert "overwrites nothing" in result.err
    assert (tmp_path / "run.svz").read_text() == "mine"


def test_every_alone_is_refused(rgb):
    result = rgb("--steps", 5, "--every", 2)
    assert result.code == 2
    assert "--recording" in result.err
