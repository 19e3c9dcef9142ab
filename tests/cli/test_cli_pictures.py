"""Films and pictures from the command line."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from scalarviz.cli import pictures as cli_pictures
from scalarviz.io import load_picture, load_tensors
from scalarviz.run import rehearsal
from scalarviz.view.film import Film
from scalarviz.view.watch.pace import pace, steps_a_frame

pytestmark = pytest.mark.gl

SMALL = ["--size", "320x180"]


def frames_of(path, width=320, height=180):
    """Every frame of a film, uint8 (N, H, W, 3)."""
    ffmpeg = pytest.importorskip("imageio_ffmpeg").get_ffmpeg_exe()
    command = [ffmpeg, "-v", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    raw = subprocess.run(command, capture_output=True, check=True).stdout
    return np.frombuffer(raw, np.uint8).reshape(-1, height, width, 3)


@pytest.mark.parametrize(("steps", "wanted"), [
    (400, "pace 0.67 steps a frame  ·  20 of 300 steps/s"), (30, "pace 0.05 steps a frame  ·  1.5 of 300 steps/s"),
    (599, "pace 1 step a frame  ·  30 of 300 steps/s"),
])  # fmt: skip
def test_a_film_of_few_steps_says_the_same_pace_in_every_frame(steps, wanted):
    scene = SimpleNamespace(run=SimpleNamespace(full_speed=300.0, engine="numpy, 1 thread"))
    paces = steps_a_frame(pace(steps, duration=20, fps=30), 30)
    found = {cli_pictures._pace_text(scene, float(one), 30) for one in paces}
    assert found == {f"{wanted}  ·  numpy, 1 thread"}


def test_a_film_is_drawn_where_there_is_something_to_see(cli, monkeypatch):
    """A loss that falls at once and then stands still: half of the film shows it falling."""
    # however slow the machine: the way is rehearsed to its end
    monkeypatch.setattr(rehearsal, "_TOO_LONG", math.inf)
    monkeypatch.setattr(rehearsal, "time", SimpleNamespace(perf_counter=lambda: 0.0))
    shown = []
    add = cli_pictures_reel().add

    def noted(reel, pace_text):
        shown.append(reel._painter._bench.subject.source.run.steps)
        return add(reel, pace_text)

    monkeypatch.setattr(cli_pictures_reel(), "add", noted)
    flags = ["--steps", 3000, "--duration", 3, "--fps", 20, "--optimizer", "adam", "--lr", 0.3, *SMALL]
    result = cli("rgb", *flags, "--engine", "numpy", "--out", "a.mp4", "--json")
    assert result.code == 0
    assert result.json["steps"] == 3000
    assert len(shown) == 60
    assert (shown[0], shown[-1]) == (0, 3000)
    assert shown == sorted(shown)
    assert shown[30] < 400  # by steps alone it is 30 at that frame, but 1,000 before the last sixth
    assert shown.count(3000) >= 3  # it rests at the end


def cli_pictures_reel():
    from scalarviz.cli.painter import Reel

    return Reel


def test_a_picture_has_the_size_asked_for_and_a_background(rgb):
    assert rgb("--steps", 5, "--out", "new/x.png", "--size", "640x360").code == 0
    picture = load_picture("new/x.png")
    assert picture.size == (640, 360)
    corner = picture.rgb[0, 0]
    assert 0.2 < np.mean(np.abs(picture.rgb - corner).max(axis=2) < 0.06) < 0.95


def test_out_is_repeatable_and_a_film_has_its_length(cli, tmp_path):
    flags = ["--steps", 40, "--duration", 1, "--fps", 12, *SMALL, "--engine", "numpy"]
    result = cli("rgb", *flags, "--out", "a.mp4", "--out", "b.png", "--out", "c.jpg", "--json")
    assert result.code == 0
    assert sorted(os.listdir(tmp_path)) == ["a.mp4", "b.png", "c.jpg"]
    frames = frames_of("a.mp4")
    assert len(frames) == 12
    assert not np.array_equal(frames[0], frames[-1])
    assert result.json["steps"] == 40


def test_a_gif_and_a_film_show_the_same(cli, tmp_path):
    flags = ["--steps", 20, "--duration", 1, "--fps", 10, *SMALL, "--engine", "numpy"]
    assert cli("rgb", *flags, "--out", "a.mp4", "--out", "b.gif").code == 0
    assert sorted(os.listdir(tmp_path)) == ["a.mp4", "b.gif"]
    frames = frames_of("a.mp4")
    with Image.open("b.gif") as gif:
        times = []
        for number in range(gif.n_frames):
            gif.seek(number)
            times.append(gif.info["duration"])
            last = np.asarray(gif.convert("RGB"))
    assert sum(times) == 1000
    assert np.abs(last.astype(float) - frames[-1]).mean() < 3


def test_a_gif_of_too_many_frames_a_second_is_refused_before_training(rgb, tmp_path):
    result = rgb("--steps", 10**9, "--out", "x.gif", "--fps", 60)
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "a GIF has at most 50 frames a second, got 60" in result.err
    assert os.listdir(tmp_path) == []


def test_pictures_and_films_for_a_hall(cli):
    flags = ["--steps", 5, "--duration", 0.3, "--engine", "numpy", *SMALL, "--size", "640x360"]
    assert cli("rgb", *flags, "--out", "a.png").code == 0
    assert cli("rgb", *flags, "--presenter", "--out", "b.png", "--out", "b.mp4").code == 0
    usual, hall = load_picture("a.png").rgb, load_picture("b.png").rgb
    assert usual.shape == hall.shape
    assert np.abs(usual - hall).mean() > 0.02
    film = frames_of("b.mp4", 640, 360)[-1] / 255
    assert np.abs(film - hall).mean() < 0.03 < 3 * np.abs(film - usual).mean()


def test_without_a_name_film_and_picture_lie_in_out(cli, tmp_path):
    result = cli("rgb", "--steps", 4, "--duration", 0.3, *SMALL, "--engine", "numpy")
    assert result.code == 0
    assert sorted(os.listdir(tmp_path / "out")) == ["rgb.mp4", "rgb.png"]
    assert "wrote out/rgb.mp4" in result.err
    assert "wrote out/rgb.png" in result.err


def test_drawn_and_undrawn_runs_end_in_the_same_bits(cli):
    flags = ["--steps", 50, "--hidden", "5", "--engine", "numpy"]
    assert cli("rgb", *flags, "--headless", "--save", "blind.safetensors").code == 0
    assert (
        cli(
            "rgb", *flags, "--duration", 0.5, *SMALL, "--out", "x.mp4", "--out", "x.png", "--save", "seen.safetensors"
        ).code
        == 0
    )
    blind, seen = load_tensors("blind.safetensors")[0], load_tensors("seen.safetensors")[0]
    for name in blind:
        assert blind[name].tobytes() == seen[name].tobytes()


def test_a_film_goes_on_where_the_file_stopped(cli):
    assert cli("rgb", "--steps", 7, "--engine", "numpy", "--headless", "--save", "w.safetensors").code == 0
    flags = ["--engine", "numpy", "--duration", 0.3, *SMALL]
    assert cli("rgb", "--load", "w.safetensors", "--steps", 5, *flags, "--out", "x.mp4", "--json").json["steps"] == 12


def test_without_the_video_extra_there_is_a_picture_and_a_line(cli, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "imageio_ffmpeg", None)
    result = cli("rgb", "--steps", 2, "--engine", "numpy", *SMALL)
    assert result.code == 0
    assert os.listdir(tmp_path / "out") == ["rgb.png"]
    assert "scalarviz[video]" in result.err


def test_without_gl_training_runs_and_a_line_says_what_to_install(cli, tmp_path, monkeypatch):
    monkeypatch.setattr("scalarviz.view.window.offscreen.available", lambda: "no OpenGL to draw with: install this")
    usual = cli("rgb", "--steps", 2, "--engine", "numpy", "--json")
    assert usual.code == 0
    assert usual.json["steps"] == 2
    assert usual.err.count("no OpenGL") == 1
    named = cli("rgb", "--steps", 2, "--engine", "numpy", "--out", "x.png", "--save", "w.safetensors", "--json")
    assert named.code == 2  # something that was asked for by name is missing
    assert named.json["steps"] == 2
    assert "no OpenGL" in named.err
    assert os.listdir(tmp_path) == ["w.safetensors"]


def test_any_map_colours_the_cubes(rgb):
    for name in ("grey", "viridis"):
        assert rgb("--steps", 2, "--cmap", name, *SMALL, "--out", f"{name}.png").code == 0
    assert not np.array_equal(load_picture("grey.png").rgb, load_picture("viridis.png").rgb)


def test_ctrl_c_keeps_the_film_so_far_and_writes_the_picture(cli, tmp_path, press):
    press(Film, "add", call=5)
    result = cli("rgb", "--engine", "numpy", "--duration", 600, *SMALL, "--out", "x.mp4", "--out", "x.png")
    assert result.code == 130
    assert sorted(os.listdir(tmp_path)) == ["x.mp4", "x.png"]
    assert len(frames_of("x.mp4")) > 3


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no process groups of this kind")
def test_ctrl_c_on_a_terminal_reaches_the_encoder_too_and_the_film_is_whole(tmp_path):
    flags = [
        "--engine",
        "numpy",
        "--duration",
        "600",
        *SMALL,
        "--out",
        "x.mp4",
        "--out",
        "x.png",
        "--save",
        "w.safetensors",
    ]
    command = [sys.executable, "-m", "scalarviz", "rgb", *flags]
    program = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while not any(path.suffix == ".mp4" for path in tmp_path.iterdir()):  # the film has begun
        assert program.poll() is None
        time.sleep(0.02)
    time.sleep(0.5)
    os.killpg(program.pid, signal.SIGINT)
    said = program.communicate(timeout=60)[1]
    assert program.returncode == 130, said
    assert "Traceback" not in said
    assert sorted(os.listdir(tmp_path)) == ["w.safetensors", "x.mp4", "x.png"]
    assert len(frames_of(tmp_path / "x.mp4")) > 0


def test_a_picture_of_an_earlier_step_and_the_weights_of_the_last(rgb):
    flags = ["--steps", 30, "--size", "640x360", "--json"]
    assert rgb(*flags, "--save", "plain.safetensors").code == 0
    result = rgb(*flags, "--out", "at.png", "--out", "last.png", "--at", 10, "--save", "w.safetensors")
    assert (result.code, result.json["steps"]) == (0, 30)
    plain, saved = load_tensors("plain.safetensors")[0], load_tensors("w.safetensors")[0]
    assert plain.keys() == saved.keys()
    assert all(np.array_equal(plain[name], saved[name]) for name in plain)
    assert rgb("--steps", 30, "--size", "640x360", "--out", "newest.png").code == 0
    assert not np.array_equal(load_picture("at.png").rgb, load_picture("newest.png").rgb)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--at", 31, "--out", "x.png"], "--at 31: allowed are 0 to 30, the steps of this run"),
        (["--at", -1, "--out", "x.png"], "--at"),
        (["--at", 10], "--at is of a picture: name one with --out, as --out step-10.png"),
    ],
)
def test_a_moment_that_no_picture_shows_is_refused(rgb, flags, said):
    result = rgb("--steps", 30, *flags)
    assert result.code == 2
    assert said in result.err
    assert not Path("x.png").exists()


def test_a_film_whose_sides_cannot_be_odd_says_so(cli, tmp_path):
    named = ["--out", "x.mp4", "--out", "x.gif", "--out", "x.png"]
    result = cli("rgb", "--engine", "numpy", "--steps", 3, "--duration", 0.1, "--size", "321x181", *named)
    assert result.code == 0
    said = [line for line in result.err.splitlines() if "even sides" in line]
    assert said == ["x.mp4 has 322x182 pixels: an MP4 has even sides, its last row or column stands twice; a .gif has "
                    "321x181"]  # fmt: skip
    for name in ("x.gif", "x.png"):
        with Image.open(name) as image:
            assert image.size == (321, 181)
    assert "even sides" not in cli("rgb", "--engine", "numpy", "--steps", 3, "--duration", 0.1, "--size", "320x180",
                                   "--out", "x.mp4").err  # fmt: skip
