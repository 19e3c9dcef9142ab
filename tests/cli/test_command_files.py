"""Files that a command writes or reads: links, folders that vanish, disks that fill, pages, scenes of one's own.

Parts of the program are broken on purpose.
"""

import importlib
import inspect
import os
import pkgutil
import re
import signal
import tempfile
from pathlib import Path

import pytest

import scalarviz as sv
from kit.commands import listing, page_of, weights_in
from scalarviz.errors import InputError
from scalarviz.io import load_tensors
from scalarviz.run import Run
from scalarviz.run.scene.scene_file import load_scene

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = "scalarviz.view.page.recorded"


# ---- places


def test_a_link_stays_a_link_and_one_to_nothing_is_filled(rgb, tmp_path):
    (tmp_path / "file.safetensors").write_bytes(b"old")
    (tmp_path / "link.safetensors").symlink_to("file.safetensors")
    (tmp_path / "nothing.safetensors").symlink_to("sub/deep/new.safetensors")
    for name, file in (("link", "file.safetensors"), ("nothing", "sub/deep/new.safetensors")):
        assert rgb("--steps", 2, "--save", f"{name}.safetensors").code == 0
        assert (tmp_path / f"{name}.safetensors").is_symlink()
        assert load_tensors(tmp_path / file)[1]


def after_a_step(monkeypatch, do):
    """Have something done when the steps were done, before files are written."""
    genuine = Run.step

    def step(self, *arguments, **named):
        genuine(self, *arguments, **named)
        do(self)

    monkeypatch.setattr(Run, "step", step)


def test_weights_that_cannot_be_written_where_they_were_named_are_rescued(rgb, tmp_path, monkeypatch):
    after_a_step(monkeypatch, lambda run: (tmp_path / "sub").write_text("in the way"))
    (tmp_path / "rescue").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "rescue"))
    result = rgb("--steps", 2, "--save", "sub/w.safetensors", "--json")
    assert (result.code, result.json["steps"]) == (2, 2)
    assert "cannot write sub/w.safetensors" in result.last
    (rescued,) = (tmp_path / "rescue").glob("scalarviz-*/w.safetensors")
    assert f"wrote {rescued}" in result.err
    assert weights_in(rescued).keys() >= {"0.weight", "0.bias"}


@pytest.mark.parametrize("when", ["two Ctrl-C before the first step", "an error in the first step"])
def test_a_run_that_did_nothing_leaves_an_old_file_alone(rgb, tmp_path, press, monkeypatch, when):
    assert rgb("--steps", 3, "--save", "w.safetensors").code == 0
    before = (tmp_path / "w.safetensors").read_bytes()
    if when.startswith("two"):
        press("scalarviz.cli.console.Progress", "__enter__", 2)
    else:
        monkeypatch.setattr(Run, "step", lambda *_, **__: None.isatty)
    result = rgb("--steps", 10**9, "--seed", 5, "--save", "w.safetensors")
    assert result.code == (130 if when.startswith("two") else 2)
    assert sum("w.safetensors is unchanged: no step was done" in line for line in result.err.splitlines()) == 1
    assert (tmp_path / "w.safetensors").read_bytes() == before


# ---- pages


@pytest.fixture
def undrawn(monkeypatch):
    """Drawing takes long; what is drawn is tested elsewhere."""
    monkeypatch.setattr("scalarviz.view.page.pictures.available", lambda: "not here")


@pytest.mark.ci
@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("flags", "steps", "theme"),
    [
        (("--steps", 900), range(0, 901, 3), "dark"),
        (("--steps", 10, "--every", 5, "--theme", "light", "--recording", "run.svz"), (0, 5, 10), "light"),
    ],
)
def test_a_page_has_about_300_frames_or_those_asked_for(rgb, tmp_path, flags, steps, theme):
    (tmp_path / "run.html").write_text("old")
    result = rgb(*flags, "--batch", 8, "--html", "run.html", "--open", 0)
    assert result.code == 0, result.err
    assert "wrote run.html" in result.err
    assert listing(tmp_path).keys() == {"run.html"} | ({"run.svz"} if "--recording" in flags else set())
    said = page_of("run.html")
    assert said["steps"] == list(steps)
    assert "<title>rgb" in Path("run.html").read_text()
    assert said["document"]["theme"] == theme
    assert {key["name"] for key in said["keys"]} >= {"show_gradients", "show_updates", "toggle_run"}


@pytest.mark.ci
@pytest.mark.usefixtures("undrawn")
def test_a_page_leaves_frames_out_where_there_are_many_and_has_what_there_is_after_a_signal(rgb, press):
    said, how = "wrote run.html with 301 of the 401 recorded frames", ("--html", "run.html", "--open", 0)
    assert said in rgb("--steps", 400, "--every", 1, "--batch", 8, *how).err
    assert len(page_of("run.html")["steps"]) == 301
    press(Run, "step")
    assert rgb("--steps", 10**6, "--every", 1, *how).code == 130
    assert len(page_of("run.html")["steps"]) > 1
    frames_of = pkgutil.resolve_name("scalarviz.cli.recording.frames_of")  # large networks have fewer
    assert [frames_of(weights) for weights in (12, 10**5, 10**7)] == [300, 200, 24]


@pytest.mark.ci
@pytest.mark.usefixtures("undrawn")
def test_ctrl_c_twice_leaves_out_a_page_and_keeps_the_old_one(rgb, press, tmp_path):
    flags = ("--steps", 10, "--batch", 8, "--recording", "run.svz", "--html", "run.html", "--open", 0)
    (tmp_path / "run.html").write_text("old")
    for times, there in ((2, "old"), (1, "new")):
        press(f"{PAGES}.Pool", "__init__", times)
        result = rgb(*flags)
        assert result.code == 130
        assert ((tmp_path / "run.html").read_text() == "old") == (there == "old")
        assert ("run.html was not written: interrupted again" in result.err) == (there == "old")
        assert sorted(listing(tmp_path)) == ["run.html", "run.svz"]
        (tmp_path / "run.svz").unlink()


@pytest.mark.ci
@pytest.mark.usefixtures("undrawn")
def test_a_recording_becomes_a_page_and_a_large_one_is_said(rgb, cli, tmp_path, monkeypatch):
    assert rgb("--steps", 20, "--every", 5, "--recording", "run.svz").code == 0
    monkeypatch.setattr(f"{PAGES}.LARGE", 1000)
    result = cli("replay", "run.svz", "--html", "page.html", "--theme", "light", "--json")
    assert (result.code, result.json["frames"]) == (0, 5)
    assert result.err.count("wrote page.html") == 1
    assert "larger every=" in result.err
    assert page_of("page.html")["steps"] == [0, 5, 10, 15, 20]
    assert listing(tmp_path).keys() == {"page.html", "run.svz"}


# ---- scenes of one's own

OWN = next(
    block
    for block in re.findall(r"```python\n(.*?)```", (DOCS / "scenes.md").read_text(encoding="utf-8"), re.DOTALL)
    if "def build(" in block
)
BROKEN = {
    "def build(o:\n": r"line 1: '\(' was never closed",
    "import no_such_module\n": "line 1: ModuleNotFoundError: No module named 'no_such_module'",
    "def f():\n    f()\nf()\n": "line 2: RecursionError",
    "x = 1\n": "needs a function build",
    "Options = 3\ndef build(o): pass\n": "Options must be a subclass",
    "def build(o): pass\n": "must return an sv.Scene, got None",
    "def build(o):\n    raise ValueError('two\\nlines')\n": "line 2: ValueError: two lines",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_scene_is_one_line(cli, tmp_path, text):
    (tmp_path / "broken_scene.py").write_text(text)
    result = cli("broken_scene.py", "--headless", "--steps", 3, "--save", "w.safetensors")
    assert result.code == 2
    (line,) = result.err.splitlines()
    assert line.startswith("scalarviz: ")
    assert "broken_scene.py" in line
    assert re.search(BROKEN[text], line), line
    assert not os.path.exists("w.safetensors")


def test_a_scene_of_ones_own_runs_by_path(cli, tmp_path):
    (tmp_path / "product.py").write_text(OWN)
    line = cli("product.py", "--units", 3, "--steps", 50, "--engine", "numpy", "--headless", "--json").json
    assert (line["scene"], line["steps"], line["weights"]) == ("product", 50, 13)
    assert cli("product.py", "--units", 0).code == 2
    assert "A network learns to multiply two numbers." in cli("product.py", "--help").out


STOPS = """import numpy as np
import scalarviz as sv
from scalarviz import nn, optim

def build(options):
    net, calls, x = nn.Sequential(nn.Linear(2, 2)), [], np.ones((4, 2))
    def model(x):
        calls.append(1)
        if len(calls) > 50:
            raise ValueError("my own mistake")
        return net(x)
    run = sv.Run(model, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=(x, x), engine="objects")
    return sv.Scene("mine", run)
"""


def test_what_stops_the_training_of_an_own_scene_is_said_with_its_step(cli, tmp_path):
    (tmp_path / "mine.py").write_text(STOPS)
    result = cli("mine.py", "--headless", "--steps", 100, "--save", "w.safetensors", "--json")
    assert (result.code, result.out) == (2, "")
    assert (tmp_path / "w.safetensors").exists()  # what was learnt until then
    assert result.last.startswith("scalarviz: training stopped after step ")
    assert "ValueError: my own mistake" in result.last
    assert "in model" in result.err  # where, for whoever wrote the scene


# ---- films


@pytest.mark.gl
@pytest.mark.ci
@pytest.mark.parametrize(("times", "call", "stays"), [(2, 4, set()), (1, 5, {"x.mp4", "x.png"})])
def test_ctrl_c_during_a_film_keeps_the_weights(cli, press, times, call, stays):
    press("scalarviz.view.out.files.Film", "add", times, call)
    drawn = ("--engine", "numpy", "--size", "320x180", "--duration", 600, "--out", "x.mp4", "--out", "x.png")
    result = cli("rgb", *drawn, "--save", "w.safetensors")
    assert result.code == 130
    assert listing().keys() == {"w.safetensors", *stays}
    assert weights_in("w.safetensors")
    assert "wrote w.safetensors" in result.err
    assert "interrupted" in result.last
    assert "Traceback" not in result.err
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.gl
@pytest.mark.ci
@pytest.mark.parametrize("at", ["__enter__", "add", "__exit__"])
def test_whatever_goes_wrong_with_a_film(cli, tmp_path, monkeypatch, at):
    def fails(self, *_):
        if at == "__exit__":
            genuine(self, InputError, InputError("x"), None)
            raise InputError("cannot write x.mp4: no space left on device")
        raise OSError("no space left\nand much more about it")

    genuine = sv.view.Film.__exit__
    monkeypatch.setattr(f"scalarviz.view.out.files.Film.{at}", fails)
    flags = ("--engine", "numpy", "--size", "320x180", "--steps", 30, "--duration", 0.3)
    result = cli("rgb", *flags, "--save", "w.safetensors", "--json")
    assert (result.code, result.json["steps"]) == (2, 30)
    assert [line for line in result.err.splitlines() if "no space left" in line] == [result.last]
    assert listing(tmp_path).keys() == {"out", "out/rgb.png", "w.safetensors"}


@pytest.mark.parametrize("scene", ["rgb", "uinn"])
def test_a_copy_of_a_scene_is_a_scene(scene, tmp_path):
    """What stands beside the scenes of the package is found by the copy too."""
    copied = tmp_path / "my.own.py"
    copied.write_text(Path(inspect.getsourcefile(importlib.import_module(f"scalarviz.scenes.{scene}"))).read_text())
    loaded = load_scene(str(copied))
    assert loaded.build(loaded.options(engine="numpy")).run.n_weights > 0
