"""Films and pictures of `scalarviz SCENE`, `replay` and `view`, and what is said where nothing can be drawn."""

import math
import os
import pkgutil
import shutil
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

import scalarviz as sv
from kit.commands import listing, make_scene, weights_in
from scalarviz.io import load_picture, save_tensors

pytestmark = [pytest.mark.gl, pytest.mark.ci]

SMALL = ("--size", "320x180")
NUMPY = ("--engine", "numpy", *SMALL)


def frames_of(path, width=320, height=180):
    """Every frame of a film, uint8 (N, H, W, 3)."""
    ffmpeg = pytest.importorskip("imageio_ffmpeg").get_ffmpeg_exe()
    command = [ffmpeg, "-v", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    raw = subprocess.run(command, capture_output=True, check=True).stdout
    return np.frombuffer(raw, np.uint8).reshape(-1, height, width, 3)


def picture(name):
    return np.rint(255 * load_picture(name).rgb).astype(np.uint8)


# ---- scenes


@pytest.fixture
def shown(monkeypatch):
    """The step and the words about the pace of each frame of a film."""
    reel_of = pkgutil.resolve_name("scalarviz.view.render:Reel")
    add, found = reel_of.add, []

    def noted(reel, pace_text, **how):
        found.append((reel._canvas.bench.subject.source.run.steps, pace_text))
        return add(reel, pace_text, **how)

    monkeypatch.setattr(reel_of, "add", noted)
    return found


def test_a_film_is_drawn_where_there_is_something_to_see(cli, monkeypatch, shown):
    """A loss that falls at once and then stands still: half of the film shows it falling."""
    monkeypatch.setattr("scalarviz.run.sources.played._TOO_LONG", math.inf)  # however slow the machine: to its end
    monkeypatch.setattr("scalarviz.run.sources.played.time", SimpleNamespace(perf_counter=lambda: 0.0))
    flags = ("--steps", 3000, "--duration", 3, "--fps", 20, "--optimizer", "adam", "--lr", 0.3)
    assert cli("rgb", *flags, *NUMPY, "--out", "a.mp4", "--json").json["steps"] == 3000
    steps = [step for step, _ in shown]
    assert (len(steps), steps[0], steps[-1]) == (60, 0, 3000)
    assert steps == sorted(steps)
    assert steps[30] < 400  # by steps alone it is 30 at that frame, but 1,000 before the last sixth
    assert steps.count(3000) >= 3  # it rests at the end


def test_a_run_that_diverges_keeps_its_film_and_its_picture_and_says_so(cli, tmp_path):
    result = cli("rgb", "--lr", "1e300", "--steps", 40, "--duration", 1, *NUMPY, "--out", "a.mp4", "--out", "b.png")
    assert (result.code, sorted(listing(tmp_path))) == (2, ["a.mp4", "b.png"])
    assert "diverged at step" in result.last
    assert all(f"wrote {name}" in result.err for name in ("a.mp4", "b.png"))
    assert np.abs(frames_of("a.mp4")[-1].astype(int) - picture("b.png")).mean() < 6  # finer edges


def test_films_and_pictures_are_of_one_run_that_nobody_draws(cli, tmp_path, shown):
    """The same bits as headless, the length and sizes asked for, the same last picture, the same pace in each frame."""
    run = ("--steps", 8, "--hidden", "5", "--engine", "numpy")
    assert cli("rgb", *run, "--headless", "--save", "blind.safetensors").code == 0
    named = ("--out", "a.mp4", "--out", "b.gif", "--out", "new/c.png", "--out", "d.jpg", "--save", "seen.safetensors")
    result = cli("rgb", *run, *SMALL, "--presenter", "--duration", 1, "--fps", 20, *named, "--json")
    assert (result.code, result.json["steps"]) == (0, 8)
    assert listing(tmp_path).keys() == {
        "a.mp4", "b.gif", "new", "new/c.png", "d.jpg", "blind.safetensors", "seen.safetensors"
    }  # fmt: skip
    assert weights_in("seen.safetensors") == weights_in("blind.safetensors")
    (pace,), (end,) = ({words for step, words in shown if (step == 8) == ended} for ended in (False, True))
    assert pace.startswith("pace 0.4")
    assert end.startswith("at the end")
    frames = frames_of("a.mp4")
    assert len(frames) == 20
    assert not np.array_equal(frames[0], frames[-1])
    with Image.open("b.gif") as gif:
        gif.seek(gif.n_frames - 1)
        last = np.asarray(gif.convert("RGB"))
    still = load_picture("new/c.png")
    assert still.size == (320, 180)
    for one in (last / 255, still.rgb):
        assert np.abs(one - frames[-1] / 255).mean() < 0.03
    assert 0.2 < np.mean(np.abs(still.rgb - still.rgb[0, 0]).max(axis=2) < 0.06) < 0.95


def test_flags_of_the_picture_change_it_and_no_weight(rgb):
    """Theme, the size of texts, and an earlier step."""
    looks = {"plain": (), "hall": ("--presenter",), "light": ("--theme", "light"), "early": ("--at", 10)}
    for name, more in looks.items():
        flags = ("--steps", 30, "--size", "640x360", *more, "--out", f"{name}.png", "--save", f"{name}.safetensors")
        assert rgb(*flags).code == 0
    made = {name: load_picture(f"{name}.png").rgb for name in looks}
    assert all(not np.array_equal(made[a], made[b]) for a in looks for b in looks if a < b)
    assert made["plain"][0, 0].max() < 0.2 < 0.8 < made["light"][0, 0].min()
    assert len({str(weights_in(f"{name}.safetensors")) for name in looks}) == 1


def test_without_a_name_film_and_picture_lie_in_out_if_nothing_else_is_asked_for(cli, tmp_path, monkeypatch):
    assert cli("rgb", "--steps", 4, "--recording", "run.svz", *NUMPY).code == 0
    assert os.listdir() == ["run.svz"]
    result = cli("rgb", "--steps", 4, "--duration", 0.3, *NUMPY)
    assert result.code == 0
    assert sorted(os.listdir("out")) == ["rgb.mp4", "rgb.png"]
    assert "wrote out/rgb.mp4" in result.err
    assert "wrote out/rgb.png" in result.err
    shutil.rmtree("out")
    monkeypatch.setitem(__import__("sys").modules, "imageio_ffmpeg", None)
    result = cli("rgb", "--steps", 2, *NUMPY)
    assert (result.code, os.listdir("out")) == (0, ["rgb.png"])
    assert "scalarviz[video]" in result.err


# ---- replay


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Recordings of rgb of two seeds."""
    folder = tmp_path_factory.mktemp("made")
    for name, seed in (("one", 0), ("two", 1)):
        scene = make_scene("rgb", seed=seed)
        with sv.Recording(scene, every=5, gradients=True, updates=True, activations=True, path=folder / f"{name}.svz"):
            scene.run.step(30)
    return folder


@pytest.fixture
def files(made, tmp_path):
    for file in made.iterdir():
        shutil.copy(file, tmp_path / file.name)


@pytest.mark.usefixtures("files")
def test_a_picture_of_a_step_is_that_of_the_recording(cli):
    size = ("--size", "640x360")
    result = cli("replay", "one.svz", "--out", "a.png", "--at", 15, *size)
    assert (result.code, result.out) == (0, "")
    assert "wrote a.png" in result.err
    told = "recording  ·  recorded every 5 steps  ·  numpy, 1 thread"
    with sv.load_recording("one.svz") as recording:
        wanted = sv.render(recording, (640, 360), step=15, supersample=2, pace_text=told)
    np.testing.assert_array_equal(picture("a.png"), wanted)
    line = cli("replay", "one.svz", "--steps", 15, "--json").json
    assert {key: line[key] for key in line if key != "loss"} == {
        "recording": "one.svz", "scene": "rgb", "steps": 30, "frames": 7, "weights": 12, "engine": "numpy, 1 thread",
        "branches": 1, "step": 15,
    }  # fmt: skip
    assert 0 < line["loss"] < 0.2


@pytest.mark.usefixtures("files")
def test_a_replay_writes_films_stills_and_a_line(cli):
    """Of one recording or of two, whatever their names are; without files named it draws nothing."""
    name, before = "a b ~ % 'ü' 漢 [x].svz", listing()
    for more, step in (((), 30), (("--headless",), 30), (("--steps", 10), 10)):
        assert cli("replay", "one.svz", "--json", *more).json["step"] == step
    assert listing() == before
    os.mkdir("sub")
    shutil.copy("one.svz", name)
    shutil.copy("two.svz", f"sub/{name}")
    named = ("--out", "f.mp4", "--out", "f.gif", "--out", "p.png", "--json")
    result = cli("replay", name, f"sub/{name}", *named, "--duration", 0.5, "--fps", 10, "--size", "320x240")
    assert result.code == 0, result.err
    assert listing().keys() >= {"f.mp4", "f.gif", "p.png"}
    assert result.err.count("wrote ") == 3
    assert result.json.keys() == {"a", "b", "step"}


def test_what_is_left_of_a_recording_that_was_cut_is_shown_and_what_is_missing_is_said(cli, tmp_path):
    scene = make_scene("rgb", seed=0)
    with sv.Recording(scene, every=1, gradients=True, path=tmp_path / "one.svz"):
        scene.run.step(200)  # so many that their frames fill pages of their own
    whole = Path("one.svz").read_bytes()
    Path("cut.svz").write_bytes(whole[: len(whole) - 4096 * 3])
    result = cli("replay", "cut.svz", "--out", "p.png", *SMALL)
    assert result.code == 0
    assert "cut.svz: the end is missing" in result.err
    assert Path("p.png").exists()


# ---- view


def test_one_file_of_numbers_or_two_are_a_picture_also_when_a_signal_comes(cli, monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    for name in ("a", "b"):
        save_tensors(tmp_path / f"{name}.safetensors", {"0.weight": rng.normal(size=(4, 6)), "0.bias": np.zeros(4)})
    result = cli("view", "a.safetensors", "b.safetensors", "--only", "*.weight", "--size", "640x360")
    assert (result.code, result.out) == (0, "")
    assert "a and b: 24 numbers in 1 tensor" in result.err
    with Image.open("out/a-and-b.png") as image:
        assert image.size == (640, 360)
        assert len(np.unique(np.asarray(image.convert("RGB")).reshape(-1, 3), axis=0)) > 50
    monkeypatch.setattr("scalarviz.cli.view._tell", lambda *_: signal.raise_signal(signal.SIGTERM))
    result = cli("view", "a.safetensors", "--out", "a.png")
    assert (result.code, result.err.splitlines()) == (143, ["wrote a.png", "scalarviz: terminated"])
    assert Path("a.png").stat().st_size > 1000


OWN = """
import numpy as np
import scalarviz as sv
from scalarviz import nn, optim

def build(options):
    net = nn.Sequential(nn.Linear(2, 1))
    net.initialize(seed=options.seed)
    data = np.eye(2), np.ones((2, 1))
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data, engine="numpy")
    return sv.Scene("own", run, panels=(sv.run.panels.LossCurve(),))
"""


def frames_in(page):
    return Path(page).read_text(encoding="utf-8").count("<iframe")


def test_a_scene_of_ones_own_is_run_where_it_is_named_and_never_from_the_file(cli, tmp_path):
    mine, other = tmp_path / "mine.py", tmp_path / "other.py"
    mine.write_text(OWN)
    other.write_text(OWN + "\n")
    with sv.sweep(str(mine), None, 2, steps=5, workers=0, results=tmp_path / "own.svs") as runs:
        assert {run.state for run in runs} == {"done"}
    cubes = cli("view", "own.svs", "--out", "cubes.html")
    assert (cubes.code, frames_in("cubes.html")) == (0, 0)
    assert "give --scene mine.py" in cubes.err
    built = cli("view", "own.svs", "--scene", "mine.py", "--out", "own.html", "--out", "b.png", "--size", "640x400")
    with Image.open("b.png") as image:
        assert image.size == (640, 400)
    assert (built.code, built.out, frames_in("own.html")) == (0, "", 2)  # of two the median is the best
    assert "own: report: training the best again, to play it: run" in built.err
    for path, why in (("other.py", "did not build these runs; another version of"), ("no.py", "cannot read the scene")):
        refused = cli("view", "own.svs", "--scene", path, "--out", "c.png")
        assert refused.code == 2
        assert why in refused.err
