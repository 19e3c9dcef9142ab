"""The program with its window, on a real X server without a window manager, keys by real events; and without one."""

from __future__ import annotations

import importlib
import json
import os
import signal
import sqlite3
import sys
import time
from contextlib import closing

import numpy as np
import pytest

import scalarviz as sv
from kit.commands import NO_DISPLAY, SCENES, SMALL_PICTURE, listing, make_scene, python, weights_in
from scalarviz.errors import MissingDependencyError
from scalarviz.io import load_tensors, save_picture

pytestmark = [
    pytest.mark.gl,
    pytest.mark.ci,  # the whole program, again and again
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="drives an X server"),
]


@pytest.fixture
def window(program):
    """`scalarviz rgb` in a small window."""
    return lambda *arguments, **more: program("rgb", "--engine", "numpy", *SMALL_PICTURE, *arguments, **more)


# ---- a window


def test_a_window_trains_stays_at_the_end_and_closes_at_the_second_escape(window, cli, tmp_path):
    """What it trained is what a blind run trains."""
    run = window("--steps", 50, "--duration", 0.5, "--theme", "light", "--save", "w.safetensors", "--json").opened()
    time.sleep(1.5)
    assert run.process.poll() is None  # at the end of the steps it stays, paused
    assert listing(tmp_path) == {}  # written when it is closed
    run.key("Escape")
    time.sleep(0.5)
    assert run.process.poll() is None  # asks to be pressed again
    run.key("Escape")
    assert run.ended() == 0, run.err
    assert listing(tmp_path).keys() == {"w.safetensors"}
    assert json.loads(run.out)["steps"] == 50
    assert all(said in run.err for said in ("Ctrl+Q closes the window", "wrote w.safetensors"))
    assert "WARNING" not in run.err
    assert cli("rgb", "--engine", "numpy", "--headless", "--steps", 50, "--save", "blind.safetensors").code == 0
    assert weights_in("w.safetensors") == weights_in("blind.safetensors")


def test_ctrl_c_closes_it_and_everything_is_written(window, tmp_path):
    save_picture(tmp_path / "in.png", np.random.default_rng(0).random((4, 5, 3)))
    wanted = ("--save", "w.safetensors", "--apply", "in.png", "--output", "out.png", "--export-lut", "x.cube", "--json")
    run = window(*wanted).opened()
    run.process.send_signal(signal.SIGINT)
    assert run.ended() == 130, run.err
    assert listing(tmp_path).keys() == {"in.png", "out.png", "w.safetensors", "x.cube"}
    assert 0 < json.loads(run.out)["steps"] < 3000
    assert "the files were written" in run.err


OWN = """import numpy as np
import scalarviz as sv
from scalarviz import nn, optim

def build(options):
    net = nn.Sequential(nn.Linear(2, 2))
    calls = []
    def model(x):
        calls.append(1)
        if len(calls) > 50:
            raise ValueError("my own mistake")
        return net(x)
    X = np.random.default_rng(0).random((4, 2))
    run = sv.Run(model, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=(X, X), engine="objects")
    return sv.Scene("mine", run)
"""


def test_what_stops_the_training_of_an_own_scene_is_said_with_its_step(program, tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    flags = ("--duration", 0.5, "--save", "w.safetensors", "--json")
    run = program("mine.py", *SMALL_PICTURE, "--steps", 100, *flags).opened()
    time.sleep(1.5)
    assert run.process.poll() is None  # the window stays and shows it
    run.key("ctrl+q")
    assert run.ended(traceback=True) == 2, run.err
    assert (tmp_path / "w.safetensors").exists()  # what was learnt until then
    said = run.err.splitlines()[-1]
    assert said.startswith("scalarviz: training stopped after step ")
    assert "ValueError: my own mistake" in said
    assert run.out == ""
    assert "in model" in run.err  # where, for whoever wrote the scene


# ---- a recording that is made by hands

RECORDED = ("--steps", 100_000, "--every", 1, "--recording", "run.svz", "--paused", "--save", "w.safetensors")


def where(path):
    """Branch and step at which the run stands, as the file says while it is written."""
    try:
        with sv.load_recording(path) as recorded:
            return recorded.branch, recorded.step
    except sv.ScalarvizError:
        return 0, 0


def is_whole(path):
    """One file, as SQLite sees it."""
    assert [part.name for part in path.parent.glob("run.svz*")] == ["run.svz"]
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def same(recorded, run):
    """Every frame is what the run says of its step, to the bit."""
    stood = run.steps
    for k, step in enumerate(recorded.steps.tolist()):
        run.to(step)
        assert recorded.frame(k).values.tobytes() == np.asarray(run.values, np.float32).tobytes(), step
    run.to(stood)


@pytest.mark.parametrize(("way", "code"), [("the display goes away", 2), ("kill -9", -9)])
def test_however_it_ends_while_it_trains_the_file_is_what_was_trained(window, tmp_path, x_server, way, code):
    path = tmp_path / "run.svz"
    with x_server() as (server, name):
        run = window(*RECORDED, screen=name).opened()
        run.until(lambda: where(path)[1] > 20)
        seen = where(path)[1]
        if way.startswith("the"):
            server.kill()
        else:
            run.process.send_signal(signal.SIGKILL)
        assert run.ended(120) == code, run.err  # the drawing library may wait for the display for a while
    assert run.err.count("display went away") == (code == 2)
    if way != "kill -9":
        is_whole(path)
    with sv.load_recording(path) as recorded:
        assert not recorded.remark
        steps = recorded.steps.tolist()
        assert steps == [*range(len(steps))]
        assert steps[-1] >= seen
        expected = make_scene("rgb").run
        expected.step(steps[-1])
        same(recorded, expected)
        if way != "kill -9":
            last = load_tensors(tmp_path / "w.safetensors")[0]
            assert all(np.array_equal(v[-1], last[n].astype(np.float32)) for n, v in recorded.values.items())
    is_whole(path)  # whoever reads it first repairs what was killed


# ---- all scenes


def test_a_scene_is_entered_and_left_by_keys(program):
    run = program(terminal=True).shows("all scenes")
    run.key(*["Right"] * sorted(SCENES).index("rgb"), "Return")
    run.shows("rgb")
    run.key("Escape")
    run.shows("all scenes")
    run.key("Escape")
    time.sleep(0.5)
    assert run.process.poll() is None  # asks to be pressed again
    run.key("Escape")
    assert run.ended() == 0


# ---- no window after all

FILM = ("--engine", "numpy", *SMALL_PICTURE, "--steps", 4, "--duration", 0.3)


@pytest.mark.parametrize("lacks", ["a display", "OpenGL"])
def test_where_no_window_can_be_a_film_is_made_and_why_is_said(cli, tmp_path, monkeypatch, request, lacks):
    said = f"could not connect to display {NO_DISPLAY}"
    monkeypatch.setenv("DISPLAY", NO_DISPLAY)
    if lacks == "OpenGL":
        said = "instead of a window: no OpenGL context"
        monkeypatch.setenv("DISPLAY", request.getfixturevalue("display"))

        def no_context(*_, **__):
            raise MissingDependencyError("no OpenGL context for a window")

        monkeypatch.setattr(importlib.import_module("scalarviz.view.show"), "Window", no_context)
    result = cli("rgb", *FILM)
    assert result.code == 0
    assert sum(said in line for line in result.err.splitlines()) == 1, result.err
    assert sorted(os.listdir(tmp_path / "out")) == ["rgb.mp4", "rgb.png"]


# ---- the cache is filled beside


@pytest.fixture
def started(monkeypatch, tmp_path):
    """Commands that were started to fill a cold cache."""
    commands = []
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path / "cold"))
    monkeypatch.setattr("scalarviz.engine.cpu.cache.background.start", lambda command: commands.append(command) or True)
    return commands


@pytest.mark.parametrize("flags", [(), ("--headless",)])
def test_a_cold_cache_is_filled_beside_a_run_that_is_watched_alone(cli, started, tmp_path, flags):
    result = cli("rgb", *SMALL_PICTURE, "--steps", 4, "--duration", 0.3, *flags)
    assert result.code == 0
    assert len(started) == (not flags)
    if started:  # it is the warmup command, and finds the package
        assert sum("SCALARVIZ_WARMUP=0" in line for line in result.err.splitlines()) == 1
        assert "rgb: numpy" in result.err
        code = started[0][-1].replace("main(['warmup', '--quiet'])", "print(main.__module__)")
        assert python(code, tmp_path).out.strip() == "scalarviz.cli.main"
