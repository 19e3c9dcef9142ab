"""The commands around the scenes, own scene files, and the program as a process."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from scalarviz.scenes.rgb import Options

from scalarviz.cli.flags import flag_of
from scalarviz.cli.main import scene_names
from scalarviz.data import TARGETS

ROOT = Path(__file__).resolve().parents[2]

SCENES = (ROOT / "docs" / "scenes.md").read_text(encoding="utf-8")
OWN = next(block for block in re.findall(r"```python\n(.*?)```", SCENES, re.DOTALL) if "def build(" in block)


# what makes a start slow: each takes tenths of a second on its own
HEAVY = {
    *("numba", "llvmlite", "vispy", "pydantic", "PIL", "safetensors", "imageio_ffmpeg", "skimage", "sklearn", "scipy"),
    *("PySide6", "IPython", "torch", "asyncio", "multiprocessing.pool"),
    *("scalarviz.scenes", "scalarviz.view", "scalarviz.engine.cpu"),
}


def process(*arguments, **options):
    command = [sys.executable, "-m", "scalarviz", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_help_of_the_program(cli):
    for arguments in (["--help"], ["-h"], []):
        result = cli(*arguments)
        assert result.code == 0
        for word in ("rgb", "scenes", "doctor", "warmup"):
            assert word in result.out


def unwrapped(text):
    """Help without its table: lines may be broken anywhere."""
    return re.sub(r"[\s│]+", "", text)


def test_help_of_the_scene_has_every_flag_and_every_formula(cli, monkeypatch):
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", 500)  # a column that breaks between words of another
    result = cli("rgb", "--help")
    assert result.code == 0
    said = unwrapped(result.out)
    for name, field in Options.model_fields.items():
        assert flag_of(name, field) in said
        assert unwrapped(field.description) in said
    for target in TARGETS.values():
        assert unwrapped(target.formula) in said


def test_the_scenes(cli):
    result = cli("scenes")
    assert result.code == 0
    assert [line.split()[0] for line in result.out.splitlines()] == list(scene_names())
    files = {path.stem for path in (ROOT / "scenes").glob("[a-z]*.py")}
    assert set(scene_names()) == files - {"options"} >= {"rgb"}


def test_the_version(cli):
    import scalarviz

    result = cli("--version")
    assert (result.code, result.out.strip()) == (0, f"scalarviz {scalarviz.__version__}")
    assert f"version = {scalarviz.__version__}\n" in (ROOT / "setup.cfg").read_text(encoding="utf-8")


def test_doctor_says_what_works_and_what_to_install(cli, monkeypatch):
    monkeypatch.setattr("scalarviz.view.window.offscreen.available", lambda: "install EGL")
    result = cli("doctor")
    assert result.code == 0
    rows = {line[4:].split("  ")[0].strip(): line for line in result.out.splitlines()}
    assert list(rows) == [
        "window",
        "pictures (EGL)",
        "films",
        "example photo",
        "numba cache",
        "layers",
        "CUDA",
        "notebook",
    ]
    assert rows["pictures (EGL)"].startswith("no")
    assert "install EGL" in rows["pictures (EGL)"]
    assert rows["films"].startswith("ok")
    assert rows["window"].startswith("no")
    assert "no display" in rows["window"]


@pytest.mark.parametrize(("there", "mark"), [(True, "ok"), (False, "no")])
def test_doctor_knows_what_a_notebook_needs(cli, monkeypatch, there, mark):
    monkeypatch.setattr("scalarviz.cli.doctor.find_spec", lambda name: there)
    monkeypatch.setattr("scalarviz.cli.doctor.version", lambda name: "9.9")
    (row,) = (line for line in cli("doctor").out.splitlines() if "notebook" in line)
    assert row.startswith(mark)
    assert ("scalarviz[notebook]" in row) != there


def test_doctor_survives_a_check_that_breaks(cli, monkeypatch):
    monkeypatch.setattr("scalarviz.cli.doctor._cuda", lambda: 1 / 0)
    result = cli("doctor", "--report")
    assert result.code == 0
    assert "ZeroDivisionError" in result.out
    assert f"Python {sys.version.split()[0]}" in result.out
    assert "numba 0." in result.out


def test_the_readme_names_flags_that_exist():
    flags = {flag_of(name, field) for name, field in Options.model_fields.items()}
    used = {f for line in SCENES.splitlines() if "scalarviz rgb" in line for f in re.findall(r"--[a-z-]+", line)}
    assert len(used) > 10
    assert used - flags == {"--help"}


def test_warmup_says_how_long_it_took(cli, monkeypatch):
    from scalarviz.engine.cpu.cache import warm

    asked = []

    def compile_nothing(dtypes, progress):
        asked.extend(dtypes)
        progress(0, 1, "interpreter")

    monkeypatch.setattr(warm, "warmup", compile_nothing)
    result = cli("warmup")
    assert (result.code, result.out) == (0, "")
    assert "compiled and cached" in result.err
    assert asked == ["float32", "float64"]


# ---- own scene files


def test_a_scene_of_ones_own_runs_by_path(cli, tmp_path):
    (tmp_path / "product.py").write_text(OWN)
    line = cli("product.py", "--units", 3, "--steps", 50, "--engine", "numpy", "--headless", "--json").json
    assert (line["scene"], line["steps"], line["weights"]) == ("product", 50, 13)
    assert cli("product.py", "--units", 0).code == 2
    assert "Two numbers to their product." in cli("product.py", "--help").out


@pytest.mark.gl
def test_a_scene_of_ones_own_is_drawn(cli, tmp_path):
    (tmp_path / "product.py").write_text(OWN)
    assert cli("product.py", "--steps", 5, "--engine", "numpy", "--headless", "--out", "x.png").code == 0
    assert (tmp_path / "x.png").stat().st_size > 1000


@pytest.mark.gl
def test_a_panel_of_ones_own_that_fails_is_one_line_and_the_picture_is_there(cli, tmp_path):
    (tmp_path / "product.py").write_text(OWN.replace("moment.predict(SQUARE)", "moment.predict(SQUARE[:, :1])"))
    result = cli("product.py", "--steps", 5, "--engine", "numpy", "--headless", "--out", "x.png")
    assert result.code == 0
    (line,) = [line for line in result.err.splitlines() if "panel" in line]
    assert line.startswith("product: panel 'every product': predict: the inputs")
    assert "Traceback" not in result.err
    assert (tmp_path / "x.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = 1\n", "no function build"),
        ("def build(options)\n", "line 1"),
        ("Options = int\ndef build(options): pass\n", "must be a subclass"),
        ("def build(options): pass\n", "bad.py: build(options) must return a scalarviz.run.scene.Scene, got None"),
        ("def build(options): return 3\n", "must return a scalarviz.run.scene.Scene, got int"),
    ],
)
def test_files_that_are_no_scene(cli, tmp_path, text, says):
    (tmp_path / "bad.py").write_text(text)
    result = cli("bad.py")
    assert result.code == 2
    assert says in result.err
    assert len(result.err.splitlines()) == 1


# ---- as a process


def test_the_program_as_a_module(tmp_path):
    result = process("rgb", "--headless", "--engine", "numpy", "--steps", "5", "--json", cwd=tmp_path)
    assert result.returncode == 0
    assert json.loads(result.stdout)["steps"] == 5
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", ["rgb", "scenes", "--help", "--version"])
def test_a_result_that_cannot_be_written_is_said_in_one_line(tmp_path, command, unbuffered):
    flags = ["--headless", "--engine", "numpy", "--steps", "5", "--save", "w.safetensors", "--json"]
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "scalarviz", command, *(flags if command == "rgb" else [])],
            cwd=tmp_path,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert result.returncode == 2, result.stderr
    assert result.stderr.splitlines()[-1] == "scalarviz: cannot write the result to stdout: no space left on device"
    assert "Traceback" not in result.stderr
    assert "Exception ignored" not in result.stderr
    if command == "rgb":
        assert "wrote w.safetensors" in result.stderr
        assert (tmp_path / "w.safetensors").exists()


def test_bad_input_ends_a_process_with_2(tmp_path):
    result = process("rgb", "--steps", "0", cwd=tmp_path)
    assert result.returncode == 2
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1


def test_help_loads_nothing_heavy():
    code = "import sys; from scalarviz.cli.main import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(result.stderr.split())
    assert {"rich", "typer"} <= loaded  # what prints help
    assert "numpy" not in loaded
    assert not loaded & HEAVY


def test_warmup_refuses_a_folder_that_keeps_nothing(cli, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path / "file"))
    result = cli("warmup")
    assert result.code == 2
    assert "cannot be written" in result.err
    assert "SCALARVIZ_CACHE_DIR" in result.err
