"""``scalarviz`` alone: the window of all scenes on a terminal with a display, help elsewhere; what is dropped there."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from scalarviz.cli import rooms
from scalarviz.cli.here import scene_files
from scalarviz.errors import ScalarvizError
from scalarviz.io import save_picture
from scalarviz.io.weights import save_tensors

on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="drives an X server")


class Program:
    """The program on a terminal of its own."""

    def __init__(self, folder, display, *arguments):
        self.display, self._said = display, b""
        own, his = pty.openpty()
        env = {**os.environ, "DISPLAY": display, "QT_QPA_PLATFORM": "xcb"}
        command = [sys.executable, "-m", "scalarviz", *arguments]
        self.process = subprocess.Popen(command, cwd=folder, env=env, stdin=his, stdout=his, stderr=his)
        os.close(his)
        self._reader = threading.Thread(target=self._read, args=(own,), daemon=True)
        self._reader.start()

    def _read(self, own):
        try:
            while part := os.read(own, 4096):
                self._said += part
        except OSError:  # the other end is gone
            os.close(own)

    @property
    def said(self):
        return re.sub(r"\x1b\[[0-9;]*m", "", self._said.decode(errors="replace")).replace("\r\n", "\n")

    def xdo(self, *words):
        env = {**os.environ, "DISPLAY": self.display}
        return subprocess.run(["xdotool", *words], env=env, capture_output=True, text=True, check=False).stdout.split()

    def until(self, condition, seconds=60.0):
        end = time.monotonic() + seconds
        while not condition():
            assert self.process.poll() is None, self.said
            assert time.monotonic() < end, f"it did not happen in time: {self.said}"
            time.sleep(0.05)

    def shows(self, name):
        """Wait until the window shows that, and has the keyboard."""
        title = f"^scalarviz: {name}$"
        self.until(lambda: (found := self.xdo("search", "--onlyvisible", "--name", title))
                   and self.xdo("getwindowfocus")[:1] == found[:1])  # fmt: skip
        time.sleep(0.3)
        return self

    def key(self, *names):
        self.xdo("key", *names)

    def ended(self, seconds=30.0):
        """The exit code."""
        code = self.process.wait(seconds)
        self._reader.join(5)
        return code


@pytest.fixture
def program(tmp_path):
    started = []

    def start(screen, *arguments):
        started.append(Program(tmp_path, screen, *arguments))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
            each.process.wait()


def test_piped_it_is_the_help_as_before(tmp_path):
    env = {**os.environ, "DISPLAY": ":4077"}  # a display that a window would be tried on
    command = [sys.executable, "-m", "scalarviz"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "Usage: scalarviz" in done.stdout
    assert done.stderr == ""


@on_linux
def test_on_a_terminal_without_a_display_it_is_the_help(program):
    run = program("")
    assert run.ended() == 0
    assert "Usage: scalarviz" in run.said


@on_linux
@pytest.mark.gl
def test_where_the_display_cannot_be_reached_it_is_the_help_and_why(program):
    run = program(":4077")
    assert run.ended() == 0
    assert "Usage: scalarviz" in run.said
    assert "no window of all scenes" in run.said
    assert "Traceback" not in run.said


@on_linux
@pytest.mark.gl
@pytest.mark.slow
def test_a_scene_is_entered_and_left_by_keys(program, display):
    run = program(display).shows("all scenes")
    names = list(scene_files())
    run.key(*["Right"] * names.index("rgb"), "Return")
    run.shows("rgb")
    run.key("Escape")
    run.shows("all scenes")
    run.key("Escape")
    time.sleep(0.5)
    assert run.process.poll() is None  # asks to be pressed again
    run.key("Escape")
    assert run.ended() == 0
    assert "Traceback" not in run.said


@on_linux
@pytest.mark.gl
@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_also_while_a_scene_is_built(program, display, number, code):
    run = program(display).shows("all scenes")
    run.key("Return")
    run.process.send_signal(number)
    assert run.ended() == code
    assert "Traceback" not in run.said


@on_linux
@pytest.mark.gl
@pytest.mark.slow
def test_a_display_that_goes_away_is_said(program, x_server):
    with x_server() as (server, screen):
        run = program(screen).shows("all scenes")
        server.kill()
        assert run.ended(60) == 2
    assert run.said.count("the display went away") == 1
    assert "Traceback" not in run.said


def test_the_tour_without_a_display_says_what_it_needs(cli):
    result = cli("tour")
    assert result.code == 2
    assert "the tour needs a window, and there is no display" in result.err
    assert result.out == ""


@on_linux
@pytest.mark.gl
@pytest.mark.slow
def test_the_tour_is_walked_by_keys_and_ends_on_the_wall(program, display):
    run = program(display, "tour").shows("tour")
    time.sleep(3)
    run.key("space", "Right", "Left")
    time.sleep(2)
    run.key("Escape")
    run.shows("all scenes")
    run.key("ctrl+q")
    assert run.ended() == 0
    assert "Traceback" not in run.said


# ---- what is dropped


@pytest.fixture(scope="module")
def doors():
    return rooms.rooms().doors


def test_every_scene_has_a_door_and_nothing_was_imported_for_it(tmp_path):
    code = (
        "from scalarviz.cli import rooms; import sys; found = rooms.rooms();"
        "print([d.name for d in found.doors]);"
        "print([m for m in sys.modules if m.startswith('scalarviz.scenes.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [str(list(scene_files())), "[]"]


def test_a_picture_goes_to_texture_and_is_what_it_learns(doors, tmp_path):
    save_picture(tmp_path / "my.png", np.random.default_rng(0).random((24, 32, 3)))
    door, given, said = rooms.way_of(tmp_path / "my.png", doors)
    assert (door.name, given) == ("texture", {"picture": tmp_path / "my.png"})
    assert said == "my.png: texture learns this picture"
    assert door.build(given).scene.name == "texture"


def test_without_texture_a_picture_goes_to_rgb(doors, tmp_path):
    door, _, said = rooms.way_of(tmp_path / "my.JPG", [d for d in doors if d.name != "texture"])
    assert door.name == "rgb"
    assert "rgb learns" in said


@pytest.mark.parametrize("name", ["t.csv", "T.TSV", "t.txt"])
def test_a_table_goes_to_the_playground(doors, tmp_path, name):
    (tmp_path / name).write_text("a,b,kind\n" + "".join(f"{k},{k % 7},{'xy'[k % 2]}\n" for k in range(40)))
    door, given, _ = rooms.way_of(tmp_path / name, doors)
    assert door.name == "playground"
    assert door.build(given).scene.name == "playground"


def test_weights_go_to_the_scene_that_wrote_them_and_go_on(cli, doors, tmp_path):
    assert cli("rgb", "--headless", "--engine", "numpy", "--steps", 5, "--save", "w.safetensors").code == 0
    door, given, said = rooms.way_of(tmp_path / "w.safetensors", doors)
    assert door.name == "rgb"
    assert "w.safetensors" in said
    assert door.build(given).scene.run.steps == 5


def test_weights_that_do_not_say_who_wrote_them_are_not_guessed(doors, tmp_path):
    save_tensors(tmp_path / "w.safetensors", {"0.weight": np.zeros((3, 3))})
    with pytest.raises(ScalarvizError, match="do not say which scene wrote them"):
        rooms.way_of(tmp_path / "w.safetensors", doors)


@pytest.mark.parametrize("name", ["my_scene.py", "x.sh", "x", "scalarviz.desktop", "x.mp4"])
def test_nothing_else_is_opened(doors, tmp_path, name):
    (tmp_path / name).write_text("raise SystemExit('it was run')")
    with pytest.raises(ScalarvizError, match="nothing is run"):
        rooms.way_of(tmp_path / name, doors)


@pytest.mark.parametrize(("name", "content"), [("bad.png", b"no picture"), ("bad.csv", b"\0\1"), ("gone.png", None)])
def test_a_file_that_cannot_be_read_is_said_when_its_scene_is_built(doors, tmp_path, name, content):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    door, given, _ = rooms.way_of(tmp_path / name, doors)
    with pytest.raises(ScalarvizError, match=name):
        door.build(given)


def test_what_a_scene_lacks_is_a_line_to_type(tmp_path, monkeypatch):
    scene = tmp_path / "scene.py"
    scene.write_text('"""A scene."""\nNEEDS = {"data": "no_such_module"}\n')
    assert rooms.missing(scene) == 'pip install "scalarviz[data]"'
    assert rooms.door_of("scene", scene).missing == 'pip install "scalarviz[data]"'
    scene.write_text('"""A scene."""\nNEEDS = {"data": "json"}\n')
    assert rooms.missing(scene) == ""
    scene.write_text('"""A scene."""\n')
    assert rooms.missing(scene) == ""


def test_what_the_scenes_say_they_need_is_an_extra_of_the_package():
    setup = Path(__file__).resolve().parents[2].joinpath("setup.cfg").read_text(encoding="utf-8")
    import importlib

    needs = [getattr(importlib.import_module(f"scalarviz.scenes.{name}"), "NEEDS", {}) for name in scene_files()]
    assert any(needs)
    for extra in {extra for each in needs for extra in each}:
        assert f"\n{extra} =\n" in setup
