"""The program with its window, on a real X server without a window manager, keys by real events; and without one."""

import json
import os
import signal
import sqlite3
import sys
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

import scalarviz as sv
from kit.commands import NO_DISPLAY, SMALL_PICTURE, listing, make_scene, weights_in
from scalarviz.cli.main import NO_WINDOW, window_name
from scalarviz.cli.scene_files import TAUGHT
from scalarviz.io import load_tensors
from scalarviz.run.scene.scene import flag_of
from scalarviz.run.scene.scene_file import load_scene

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


def test_a_frame_with_the_scenes_name_stands_before_anything_heavy_is_loaded_and_becomes_the_window(window):
    """Half a second of the processor's time, where nothing else has to be waited for; other programs run here, too."""
    name, taken = "^scalarviz: rgb$", []
    while not taken or (min(taken) > 0.5 and len(taken) < 3):
        run = window()
        run.until(partial(run.xdo, "search", "--onlyvisible", "--name", name))
        about = Path(f"/proc/{run.process.pid}")
        taken.append(sum(map(int, about.joinpath("stat").read_text().rpartition(") ")[2].split()[11:13])) / 100)
        assert "llvmlite" not in about.joinpath("maps").read_text()  # numba
        frame = run.xdo("search", "--name", name)
        if min(taken) > 0.5:
            run.close()
    assert min(taken) <= 0.5
    assert run.shows("rgb").xdo("search", "--name", name) == frame  # no second one
    run.key("ctrl+q")
    assert run.ended() == 0


@pytest.mark.parametrize(("way", "code", "said"), [
    ("Ctrl-C", 130, "interrupted"), ("a flag without another", 2, "--graded"),
    ("the display goes away", 0, "display was lost"),
])  # fmt: skip
def test_what_ends_a_command_whose_frame_stands_ends_it_as_without_one(window, x_server, way, code, said):
    with x_server() as (server, name):
        run = window(*(["--source", "x.png"] if "flag" in way else ["--steps", 2, "--duration", 0.1]), screen=name)
        run.until(lambda: run.xdo("search", "--onlyvisible", "--name", "^scalarviz: rgb$"))
        time.sleep(0.2)
        if way == "Ctrl-C":
            run.process.send_signal(signal.SIGINT)
        elif "display" in way:
            server.kill()
        assert (run.ended(), said in run.err) == (code, True), run.err


TYPED = ("x", "-1", "3", "0.5", "")


@pytest.mark.parametrize("name", TAUGHT)
def test_a_line_with_a_flag_that_a_scene_has_not_gets_no_frame_and_no_right_line_loses_it(name):
    model = load_scene(name).options
    assert window_name([name]) == name
    assert not window_name([name, "--nope", "1"]) + window_name([name, "--paused=1"]) + window_name([name, "--steps"])
    for field, about in model.model_fields.items():
        flag = flag_of(field, about)
        if about.annotation is bool or not flag.startswith("--") or flag in NO_WINDOW:
            continue
        for value in TYPED:
            framed = window_name([name, f"{flag}={value}"])
            try:
                model(**{field: [value] if about.annotation in (list[str], list[Path]) else value})
            except (ValidationError, sv.ScalarvizError):
                pass
            else:
                assert framed == name, (flag, value)


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
    assert run.err.count("display was lost") == (code == 2)
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
    run.key(*["Right"] * TAUGHT.index("rgb"), "Return")
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


def test_where_no_window_can_be_a_film_is_made_and_why_is_said(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("DISPLAY", NO_DISPLAY)
    result = cli("rgb", *FILM)
    assert result.code == 0
    said = f"DISPLAY={NO_DISPLAY} does not answer"
    assert sum(said in line for line in result.err.splitlines()) == 1, result.err
    assert sorted(os.listdir(tmp_path / "out")) == ["rgb.mp4", "rgb.png"]
