"""A cache folder that can never be filled: everything that speaks of it says so, and the run goes on without."""

from __future__ import annotations

import os
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.cli.run import _engine_line
from scalarviz.engine.cache import place as places
from scalarviz.engine.choose import EngineChoice
from scalarviz.engine.cpu.cache import place


def a_file_in_the_way(folder, monkeypatch):
    folder.write_text("no folder")


def above_it_a_file(folder, monkeypatch):
    folder.write_text("no folder")
    return folder / "cache" / "of" / "mine"


def a_read_only_place(folder, monkeypatch):
    monkeypatch.setattr(places.os, "access", lambda *_: False)  # who tests as root may write everywhere
    return folder / "not" / "there"


def a_full_disk(folder, monkeypatch):
    folder.mkdir()

    class Full:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def write(self, data):
            raise OSError(28, os.strerror(28))

    monkeypatch.setattr(places.tempfile, "TemporaryFile", lambda dir: Full())


TROUBLES = {
    a_file_in_the_way: "not a directory", above_it_a_file: "not a directory", a_read_only_place: "permission denied",
    a_full_disk: "no space left on device",
}  # fmt: skip


@pytest.fixture(params=TROUBLES, ids=lambda trouble: trouble.__name__)
def said(request, tmp_path, monkeypatch):
    """What has to be said of the folder."""
    folder = tmp_path / "cache"
    folder = request.param(folder, monkeypatch) or folder
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(folder))
    reason = TROUBLES[request.param]
    return f"the cache folder {folder} cannot be written ({reason}); SCALARVIZ_CACHE_DIR names another one"


def test_everything_that_speaks_of_the_cache_says_it(cli, said):
    assert place.refusal() == said
    (row,) = (line for line in cli("doctor").out.splitlines() if "numba cache" in line)
    assert row.endswith(f"cold for float32, float64; {said}")
    result = cli("warmup")
    assert (result.code, result.err) == (2, f"scalarviz: {said}\n")
    net = nn.Sequential(nn.Linear(3, 2))
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters()), (np.ones((4, 3)), np.ones((4, 2))))
    assert (run.engine.name, run.engine.why) == ("numpy", f"numba's cache is cold; {said}")
    run.step(2)
    scene = SimpleNamespace(run=SimpleNamespace(engine=EngineChoice("numba", "asked for"), dtype="float32"))
    line = _engine_line("rgb", scene)
    assert line == f"rgb: numba, 1 thread (asked for; compiling its kernels, at every start: {said})"


def test_a_folder_that_is_not_there_yet_is_fine_and_not_made(tmp_path, monkeypatch):
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path / "a" / "b"))
    assert place.refusal() == ""
    assert os.listdir(tmp_path) == []


def test_asking_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    assert place.refusal() == ""
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("flags", [(), ("--quiet",)])
def test_warmup_ends_when_the_disk_fills_up(cli, tmp_path, monkeypatch, flags):
    """Compiling on would take a minute and keep nothing, and the last line would be a lie."""
    from scalarviz.engine.cpu.cache import warm

    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path / "kept"))

    def fill(dtypes, progress):
        progress(0, 3, "first")
        a_full_disk(tmp_path / "kept", monkeypatch)
        progress(1, 3, "second")
        pytest.fail("it goes on")

    monkeypatch.setattr(warm, "warmup", fill)
    monkeypatch.setattr("scalarviz.cli.warmup.background.holding", lambda: nullcontext(True))  # its lock is a file
    monkeypatch.setattr("scalarviz.cli.warmup._give_way", lambda: None)
    result = cli("warmup", *flags)
    assert result.code == 2
    assert "no space left on device" in result.err
    assert "compiled and cached" not in result.err
