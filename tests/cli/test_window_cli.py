"""`scalarviz rgb` on a real X server without a window manager: the program as a process, keys by real events."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from scalarviz.engine.arrays.trainer import NumpyTrainer
from scalarviz.engine.cpu import warmup
from scalarviz.engine.cpu.cache import place
from scalarviz.engine.cpu.cache import units as cache
from scalarviz.errors import MissingDependencyError
from scalarviz.io import load_picture, load_tensors, read_cube, save_picture

from .windowed import SMALL

pytestmark = [
    pytest.mark.gl,
    pytest.mark.slow,  # the whole program, again and again
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="drives an X server"),
]

NO_DISPLAY = ":4077"


def rgb(program, *arguments, **environment):
    return program("rgb", "--engine", "numpy", *SMALL, *arguments, **environment)


def files(folder):
    return sorted(name for name in os.listdir(folder) if not name.startswith("."))


def test_a_window_opens_trains_stays_and_escape_closes_it(program, tmp_path):
    run = rgb(program, "--steps", 50, "--duration", 0.5, "--save", "w.safetensors", "--json").opened()
    time.sleep(1.5)
    assert run.process.poll() is None  # at the end of the steps it stays, paused
    assert files(tmp_path) == []  # written when it is closed
    run.key("Escape")
    time.sleep(0.5)
    assert run.process.poll() is None  # asks to be pressed again
    run.key("Escape")
    assert run.ended() == 0, run.err
    assert files(tmp_path) == ["w.safetensors"]
    assert json.loads(run.out)["steps"] == 50
    assert "Ctrl+Q closes the window" in run.err
    assert "wrote w.safetensors" in run.err
    assert "Traceback" not in run.err
    assert "WARNING" not in run.err


@pytest.mark.slow
def test_what_a_window_trained_is_what_a_blind_run_trains(program, cli, tmp_path):
    run = rgb(program, "--steps", 40, "--duration", 0.5, "--theme", "light", "--save", "seen.safetensors").opened()
    time.sleep(1.5)
    run.key("ctrl+q")
    assert run.ended() == 0, run.err
    assert cli("rgb", "--engine", "numpy", "--headless", "--steps", 40, "--save", "blind.safetensors").code == 0
    seen, blind = load_tensors(tmp_path / "seen.safetensors")[0], load_tensors(tmp_path / "blind.safetensors")[0]
    assert {n: a.tobytes() for n, a in seen.items()} == {n: a.tobytes() for n, a in blind.items()}


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_close_it_and_everything_is_written(program, tmp_path, number, code):
    save_picture(tmp_path / "in.png", np.random.default_rng(0).random((4, 5, 3)))
    wanted = ["--save", "w.safetensors", "--apply", "in.png", "--output", "out.png", "--export-lut", "x.cube", "--json"]
    run = rgb(program, *wanted).opened()
    run.process.send_signal(number)
    assert run.ended() == code, run.err
    assert files(tmp_path) == ["in.png", "out.png", "w.safetensors", "x.cube"]
    assert load_picture(tmp_path / "out.png").size == (5, 4)
    assert read_cube(tmp_path / "x.cube").points == 33
    assert 0 < json.loads(run.out)["steps"] < 3000
    assert "the files were written" in run.err
    assert "Traceback" not in run.err


@pytest.mark.parametrize("line", ["rgb: numpy", "Ctrl+Q closes"])
def test_a_signal_before_the_window_is_up_ends_it_too(program, line):
    run = rgb(program, "--save", "w.safetensors")
    run.until(lambda: line in run.err)
    run.process.send_signal(signal.SIGINT)
    assert run.ended() == 130, run.err
    assert "Traceback" not in run.err


def test_the_light_theme_is_another_picture(cli, tmp_path):
    for theme in ("dark", "light"):
        flags = ["--engine", "numpy", *SMALL, "--steps", 1, "--headless", "--theme", theme, "--out", f"{theme}.png"]
        assert cli("rgb", *flags).code == 0
    dark, light = (load_picture(tmp_path / f"{theme}.png").rgb[0, 0] for theme in ("dark", "light"))
    assert dark.max() < 0.2 < 0.8 < light.min()


OWN = '''"""Fails while it is watched."""
import numpy as np
import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run.scene import Scene


def build(options):
    net = nn.Sequential(nn.Linear(2, 2))
    calls = []

    def model(x):
        calls.append(1)
        if len(calls) > {last}:
            raise {error}
        return net(x)

    X = np.random.default_rng(0).random((4, 2))
    run = sv.Run(model, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=(X, X), engine="objects")
    return Scene("mine", run)
'''


def test_a_scene_of_ones_own_has_a_window(program, tmp_path):
    (tmp_path / "mine.py").write_text(OWN.format(last=10**9, error="ValueError"))
    run = program("mine.py", *SMALL, "--steps", 20, "--duration", 0.3).opened()
    run.key("ctrl+q")
    assert run.ended() == 0, run.err


@pytest.mark.parametrize("headless", [False, True])
def test_what_stops_the_training_is_said_with_its_step(program, tmp_path, headless):
    (tmp_path / "mine.py").write_text(OWN.format(last=50, error='ValueError("my own mistake")'))
    flags = ["--headless"] if headless else ["--duration", 0.5]
    run = program("mine.py", *SMALL, "--steps", 100, "--save", "w.safetensors", *flags, "--json")
    if not headless:
        run.opened()
        time.sleep(1.5)
        assert run.process.poll() is None  # the window stays and shows it
        run.key("ctrl+q")
    assert run.ended() == 2, run.err
    last = run.err.splitlines()[-1]
    assert last.startswith("scalarviz: training stopped after step ")
    assert "ValueError: my own mistake" in last
    assert run.out == ""
    assert "in model" in run.err  # where, for whoever wrote the scene
    assert (tmp_path / "w.safetensors").exists()  # what was learnt until then


@pytest.mark.parametrize("headless", [False, True])
def test_a_diverged_run_keeps_the_former_weights(program, tmp_path, headless):
    (tmp_path / "w.safetensors").write_bytes(b"the former weights")
    flags = ["--headless"] if headless else ["--duration", 0.5]
    run = rgb(program, "--lr", 1e300, "--steps", 50, "--save", "w.safetensors", *flags)
    if not headless:
        run.opened()
        time.sleep(1.0)
        assert run.process.poll() is None
        run.key("ctrl+q")
    assert run.ended() == 2, run.err
    assert (tmp_path / "w.safetensors").read_bytes() == b"the former weights"
    assert sum("w.safetensors was not written" in line for line in run.err.splitlines()) == 1
    assert "diverged at step" in run.err.splitlines()[-1]
    assert "Traceback" not in run.err


@pytest.mark.slow
def test_a_display_that_goes_away_loses_nothing(program, tmp_path, x_server):
    with x_server() as (server, name):
        run = rgb(program, "--save", "w.safetensors", screen=name).opened()
        server.kill()
        assert run.ended(60) == 2
    assert sum("display went away" in line for line in run.err.splitlines()) == 1
    assert load_tensors(tmp_path / "w.safetensors")[0].keys() == {"0.weight", "0.bias"}


# ---- no window after all

FILM = ["--engine", "numpy", *SMALL, "--steps", 4, "--duration", 0.3]


def test_a_display_that_does_not_answer(program, tmp_path):
    run = program("rgb", *FILM, screen=NO_DISPLAY)
    assert run.ended(60) == 0, run.err
    lines = [line for line in run.err.splitlines() if "could not connect to display :4077" in line]
    assert len(lines) == 1
    assert sorted(os.listdir(tmp_path / "out")) == ["rgb.mp4", "rgb.png"]


def test_a_display_without_qt(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("DISPLAY", NO_DISPLAY)
    monkeypatch.setattr("scalarviz.view.window.qt_trial.find_spec", lambda name: None)
    result = cli("rgb", *FILM)
    assert result.code == 0
    assert sum('pip install "scalarviz[desktop]"' in line for line in result.err.splitlines()) == 1
    assert sorted(os.listdir(tmp_path / "out")) == ["rgb.mp4", "rgb.png"]


def test_a_qt_that_lacks_a_library(monkeypatch):
    from scalarviz.view.window.qt_trial import _explained

    said = _explained("Traceback\nImportError: libEGL.so.1: cannot open shared object file: No such file")
    assert "libEGL.so.1" in said
    assert "libxcb-cursor0" in said
    assert "apt-get install" in _explained("qt.qpa.plugin: Could not load the Qt platform plugin")


def test_no_opengl_in_the_window(cli, tmp_path, monkeypatch, display):
    from scalarviz.errors import MissingDependencyError

    def no_context(*_, **__):
        raise MissingDependencyError("no OpenGL context for a window")

    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.setattr(importlib.import_module("scalarviz.view.show"), "Window", no_context)
    result = cli("rgb", *FILM)
    assert result.code == 0
    assert "instead of a window: no OpenGL context" in result.err
    assert sorted(os.listdir(tmp_path / "out")) == ["rgb.mp4", "rgb.png"]


@pytest.mark.parametrize("flags", [["--headless"], ["--out", "x.png"]])
def test_files_by_name_are_made_without_a_window(cli, monkeypatch, flags):
    monkeypatch.setenv("DISPLAY", NO_DISPLAY)
    monkeypatch.setattr("scalarviz.cli.run.InWindow", None)
    assert cli("rgb", *FILM, *flags).code == 0


# ---- the cache is filled beside


@pytest.fixture
def started(monkeypatch, tmp_path):
    """Commands that were started to fill a cold cache."""
    commands = []
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path / "cold"))
    monkeypatch.setattr("scalarviz.engine.cpu.cache.background.start", lambda command: commands.append(command) or True)
    return commands


def test_a_cold_cache_is_filled_beside_a_run_that_is_watched(cli, started):
    result = cli("rgb", *SMALL, "--steps", 4, "--duration", 0.3)
    assert result.code == 0
    assert len(started) == 1
    assert "warmup" in started[0][-1]
    assert sum("SCALARVIZ_WARMUP=0" in line for line in result.err.splitlines()) == 1
    assert "rgb: numpy" in result.err


@pytest.mark.parametrize("flags", [["--headless"], ["--json"], ["--out", "x.png"], ["--engine", "numpy"]])
def test_it_is_never_filled_beside_a_programs_run(cli, started, flags):
    assert cli("rgb", *SMALL, "--steps", 4, "--duration", 0.3, *flags).code == 0
    assert started == []


@pytest.mark.parametrize(
    ("flags", "may"),
    [([], True), (["--json"], False), (["--engine", "numpy"], False), (["--engine", "numba"], False)],
)
def test_only_a_first_start_in_a_window_may_change_engine(cli, started, monkeypatch, display, flags, may):
    """What the window is told; headless runs and named files have none."""
    told = []

    def show(scene, **options):
        told.append((options["first_start"], scene.run.engine.provisional))
        raise MissingDependencyError("enough")

    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.setattr("scalarviz.view.window.qt_trial.WindowProbe", lambda: SimpleNamespace(reason=lambda: ""))
    monkeypatch.setattr(importlib.import_module("scalarviz.view.show"), "show", show)
    monkeypatch.setattr("scalarviz.engine.cpu.NumbaTrainer", NumpyTrainer, raising=False)  # compiling is not the matter
    assert cli("rgb", *SMALL, "--steps", 4, "--duration", 0.3, *flags).code == 0
    assert [all(both) for both in told] == [may]


@pytest.mark.slow
def test_a_first_start_goes_on_with_numba_when_the_kernels_are_there(program, tmp_path):
    """The process that compiles is played by this one, which has the kernels already."""
    warmup(("float32",))
    folder = tmp_path / "cache"
    version = folder / place.key()
    version.mkdir(parents=True)
    owner = {"pid": os.getpid(), "host": socket.gethostname(), "token": "x"}
    (version / "warmup.lock").write_text(json.dumps(owner))
    arguments = ["rgb", *SMALL, "--steps", 10**6, "--save", "w.safetensors"]
    run = program(*arguments, SCALARVIZ_CACHE_DIR=str(folder), SCALARVIZ_WARMUP="1").opened()
    run.until(lambda: "a window goes on with them" in run.err)
    assert "numpy, 1 thread" in run.err
    assert "numba from step" not in run.err
    for unit in cache.folder().glob("*-float32"):
        # whole or not there at all, as the process does it
        shutil.copytree(unit, version / f"copy-{unit.name}").rename(version / unit.name)
    run.until(lambda: "the fast kernels are ready: numba from step" in run.err, 60.0)
    run.key("ctrl+q")
    assert run.ended() == 0
    assert "nan steps/s" not in run.err
    assert (tmp_path / "w.safetensors").is_file()


def test_the_process_is_the_warmup_command_and_finds_the_package(tmp_path, monkeypatch):
    from scalarviz.cli import warmup as cli_warmup

    commands = []
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path / "cold"))
    monkeypatch.setattr("scalarviz.engine.cpu.cache.background.start", lambda command: commands.append(command) or True)
    assert "compiled beside this run" in cli_warmup.warm_up_beside("numpy")
    code = commands[0][-1].replace("main(['warmup', '--quiet'])", "print(main.__module__)")
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "scalarviz.cli.main"


@pytest.mark.slow
def test_a_window_begins_by_itself_and_a_paused_one_waits(program, x_server):
    with x_server() as (_, other):
        begun = rgb(program, "--steps", 3000, "--json")
        paused = rgb(program, "--paused", "--json", screen=other)
        paused.opened(begins=False), begun.opened(begins=False)
        time.sleep(6)  # both at once
        for run in (begun, paused):
            run.key("ctrl+q")
            assert run.ended() == 0, run.err
    assert json.loads(begun.out)["steps"] > 0
    assert json.loads(paused.out)["steps"] == 0
