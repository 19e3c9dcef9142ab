"""One command, still, film, page and window, as a user makes them: the first thing to look at after a change."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import scalarviz as sv
from scalarviz import nn, optim

pytestmark = pytest.mark.smoke


def scalarviz(folder, *arguments, **environment):
    """Run the program in a process of its own; returns what it printed as JSON."""
    command = [sys.executable, "-m", "scalarviz", *map(str, arguments), "--engine", "numpy", "--json"]
    around = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    done = subprocess.run(
        command, cwd=folder, env={**around, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return json.loads(done.stdout)


def colours(picture):
    return len(np.unique(np.asarray(picture).reshape(-1, 3), axis=0))


def test_a_command_trains(tmp_path):
    first, last = (scalarviz(tmp_path, "rgb", "--headless", "--steps", steps)["loss"] for steps in (1, 200))
    assert last < first / 2
    assert os.listdir(tmp_path) == []


@pytest.mark.gl
def test_a_still_shows_the_network_and_its_training():
    net = nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 3, seed=2))
    x = np.random.default_rng(0).random((16, 3))
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (x, 1 - x), engine="numpy")
    before = sv.render(run, size=(640, 360))
    run.step(50)
    after = sv.render(run, size=(640, 360))
    assert before.shape == after.shape == (360, 640, 3)
    assert colours(before) > 100
    assert (before != after).any()


@pytest.mark.gl
def test_a_film_is_written(tmp_path):
    scalarviz(tmp_path, "rgb", "--steps", 20, "--duration", 1, "--size", "320x180", "--out", "film.png")
    with Image.open(tmp_path / "film.png") as film:
        assert film.size == (320, 180)
        assert colours(film.convert("RGB")) > 50
    scalarviz(tmp_path, "rgb", "--steps", 20, "--duration", 1, "--size", "320x180", "--out", "film.mp4")
    assert (tmp_path / "film.mp4").stat().st_size > 1000


@pytest.mark.gl
def test_a_page_holds_the_run_and_asks_for_nothing(tmp_path):
    scalarviz(tmp_path, "rgb", "--headless", "--steps", 3, "--html", "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text.lower().startswith("<!doctype html>")
    assert 'src="http' not in text
    assert "canvas" in text


@pytest.mark.gl
def test_a_window_opens_and_closes(tmp_path, request):
    display = os.environ.get("DISPLAY")
    if not display and not os.environ.get("WAYLAND_DISPLAY"):
        if shutil.which("Xvfb") is None:
            pytest.skip("no display, and no Xvfb to make one")
        display = request.getfixturevalue("display")
    code = "import scalarviz as sv; window = sv.show(sv.nn.Linear(2, 2), block=False); print('open'); window.close()"
    around = {**os.environ, **({"DISPLAY": display} if display else {})}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=around, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "open\n"), done.stderr
