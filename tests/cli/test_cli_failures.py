"""Files that cannot be written: the training goes on, the weights are kept, the exit code is 2."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys

import numpy as np
import pytest

from scalarviz.errors import InputError
from scalarviz.io import load_tensors

FLAGS = ["--engine", "numpy", "--size", "320x180"]


def limited(folder, *arguments, largest):
    """The program where no file may grow beyond `largest` bytes, as on a full disk."""
    return subprocess.run(
        [sys.executable, "-m", "scalarviz", *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest)),
    )


@pytest.mark.gl
@pytest.mark.slow
def test_a_disk_that_fills_ends_the_film_and_neither_the_training_nor_the_weights(tmp_path):
    named = ["--out", "x.mp4", "--save", "w.safetensors"]
    result = limited(tmp_path, "rgb", *FLAGS, "--steps", 400, "--duration", 3, *named, "--json", largest=20_000)
    assert result.returncode == 2, result.stderr
    assert "the film could not be written" in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr
    assert sorted(os.listdir(tmp_path)) == ["w.safetensors"]
    assert json.loads(result.stdout)["steps"] == 400
    blind = limited(
        tmp_path, "rgb", *FLAGS, "--steps", 400, "--headless", "--save", "blind.safetensors", largest=20_000
    )
    assert blind.returncode == 0, blind.stderr
    seen, blind = load_tensors(tmp_path / "w.safetensors")[0], load_tensors(tmp_path / "blind.safetensors")[0]
    assert {n: a.tobytes() for n, a in seen.items()} == {n: a.tobytes() for n, a in blind.items()}


@pytest.mark.gl
def test_weights_that_cannot_be_written_keep_nothing_else_from_it(tmp_path):
    result = limited(
        tmp_path,
        "rgb",
        *FLAGS,
        "--steps",
        3,
        "--headless",
        "--save",
        "w.safetensors",
        "--out",
        "x.png",
        "--json",
        largest=100,
    )
    assert result.returncode == 2, result.stderr
    assert len([line for line in result.stderr.splitlines() if line.startswith("scalarviz: cannot write")]) == 2
    assert "cannot write w" in result.stderr
    assert "cannot write x.png" in result.stderr
    assert "Traceback" not in result.stderr
    assert json.loads(result.stdout)["steps"] == 3
    assert os.listdir(tmp_path) == []


@pytest.mark.gl
@pytest.mark.parametrize("at", ["start", "frame", "end"])
def test_whatever_goes_wrong_with_a_film(cli, tmp_path, monkeypatch, at):
    from scalarviz.view.film import Film

    def fails(self, *_):
        raise OSError("no space left\nand much more about it")

    if at == "end":
        genuine = Film.__exit__

        def fails_at_the_end(self, *_):
            genuine(self, InputError, InputError("x"), None)
            raise InputError("cannot write x.mp4: no space left on device")

        monkeypatch.setattr(Film, "__exit__", fails_at_the_end)
    else:
        monkeypatch.setattr(Film, {"start": "__enter__", "frame": "add"}[at], fails)
    result = cli("rgb", *FLAGS, "--steps", 30, "--duration", 0.3, "--save", "w.safetensors", "--json")
    assert result.code == 2
    assert result.json["steps"] == 30
    assert [line for line in result.err.splitlines() if "no space left" in line] == [result.err.splitlines()[-1]]
    assert sorted(os.listdir(tmp_path)) == ["out", "w.safetensors"]
    assert os.listdir(tmp_path / "out") == ["rgb.png"]


def test_an_unwritable_output_is_said_after_the_weights_are_kept(rgb, tmp_path, monkeypatch):
    def fails(*_, **__):
        raise InputError("cannot write x.cube: no space left on device")

    monkeypatch.setattr("scalarviz.scenes._rgb_files.write_cube", fails)
    result = rgb("--steps", 3, "--save", "w.safetensors", "--export-lut", "x.cube", "--json")
    assert (result.code, result.json["steps"]) == (2, 3)
    assert result.err.splitlines()[-1] == "scalarviz: cannot write x.cube: no space left on device"
    assert os.listdir(tmp_path) == ["w.safetensors"]


def test_a_diverged_run_writes_no_weights(rgb, tmp_path):
    result = rgb("--lr", "1e300", "--steps", 50, "--save", "w.safetensors", "--json")
    assert (result.code, result.out) == (2, "")
    assert (
        sum("w.safetensors was not written, since the training diverged" in line for line in result.err.splitlines())
        == 1
    )
    assert "diverged at step" in result.err.splitlines()[-1]
    assert os.listdir(tmp_path) == []


def test_the_weights_before_a_divergence_stay(rgb, tmp_path):
    assert rgb("--steps", 3, "--save", "w.safetensors").code == 0
    before = (tmp_path / "w.safetensors").read_bytes()
    assert rgb("--load", "w.safetensors", "--lr", "1e300", "--steps", 50, "--save", "w.safetensors").code == 2
    assert (tmp_path / "w.safetensors").read_bytes() == before
    assert np.isfinite(load_tensors(tmp_path / "w.safetensors")[0]["0.weight"]).all()
