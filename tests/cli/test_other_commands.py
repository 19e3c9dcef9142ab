"""The commands beside the scenes: doctor, lessons, warmup, sweep, the room of files that are dropped on all scenes.

Parts of the program are broken on purpose: a disk that is full, a check that fails, a cold cache.
"""

import csv
import importlib
import json
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import scalarviz as sv
from kit.commands import SCENES, weights_in
from scalarviz import nn, optim
from scalarviz.cli import doctor, scene_files, tour
from scalarviz.errors import InputError, ScalarvizError
from scalarviz.io import save_picture, save_tensors
from scalarviz.lessons import lessons, shelf
from scalarviz.run.engines import ready
from scalarviz.run.scene.scene import flag_of
from scalarviz.scalar import function as ops_of
from scalarviz.scalar import ops

ROOT = Path(__file__).resolve().parents[2]


def test_help_version_and_warmup(cli, monkeypatch):
    for arguments in (["--help"], ["-h"], []):
        result = cli(*arguments)
        assert result.code == 0
        assert all(word in result.out for word in (*SCENES, "scenes", "doctor", "warmup", "replay"))
    assert "RECORDING" in cli("replay", "--help").out
    result = cli("--version")
    assert (result.code, result.out.strip()) == (0, f"scalarviz {sv.__version__}")
    asked = []
    monkeypatch.setattr(
        "scalarviz.engine.cpu.loader.warmup", lambda dtypes, progress: asked.extend(dtypes) or progress(0, 1, "x")
    )
    result = cli("warmup")
    assert (result.code, result.out, asked) == (0, "", ["float32", "float64"])
    assert "compiled and cached" in result.err
    result = cli("warmup", "--for", "rgb")
    assert (result.code, "--for" in result.err, "lessons" in result.err) == (2, True, True)


# ---- doctor


@pytest.mark.parametrize("name", [*SCENES, "train", "replay", "view"])
def test_help_shows_the_flags_of_a_newcomer_and_help_all_every_one(cli, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "120")
    few, every = (set(re.findall(r"│ (--[a-z0-9-]+) ", cli(name, flag).out)) for flag in ("--help", "--help-all"))
    assert few < every
    assert len(few) <= 18
    assert {"--theme", "--cmap"} <= every - few
    assert "--presenter" in few
    assert f"{len(every) - len(few)} more flags: scalarviz {name} --help-all" in cli(name, "--help").out
    if name in SCENES:
        fields = importlib.import_module(f"scalarviz.scenes.{name}").Options.model_fields
        flags = {flag_of(field, info) for field, info in fields.items()}
        assert {flag for flag in flags if flag.startswith("--")} == every - {"--help"}


def test_doctor_says_what_works_and_what_to_install(cli, monkeypatch):
    monkeypatch.setattr("scalarviz.view.out.offscreen.available", lambda: "install EGL")
    for there, mark in ((True, "ok"), (False, "no")):
        monkeypatch.setattr("scalarviz.cli.doctor.find_spec", lambda name, there=there: there)
        monkeypatch.setattr("scalarviz.cli.doctor.version", lambda name: "9.9")
        result = cli("doctor")
        assert result.code == 0
        rows = {line[4:].split("  ")[0].strip(): line for line in result.out.splitlines()}
        assert rows.keys() >= {"window", "films", "example photo", "numba cache", "layers", "CUDA", "notebook"}
        assert rows["pictures (EGL)"].startswith("no")
        assert "install EGL" in rows["pictures (EGL)"]
        assert rows["window"].startswith("no")
        assert "no display" in rows["window"]
        assert rows["notebook"].startswith(mark)
        assert ("scalarviz[notebook]" in rows["notebook"]) != there
    monkeypatch.setitem(doctor.CHECKS, "CUDA", lambda: 1 / 0)  # a check that breaks
    result = cli("doctor", "--report")
    assert result.code == 0
    assert all(said in result.out for said in ("ZeroDivisionError", f"Python {sys.version.split()[0]}", "numba "))


def operations(result):
    assert result.code == 0
    lines = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in result.out.splitlines()]
    assert lines[0] == ["operation", "objects", "numpy", "numba", "cuda"]
    return {line[0]: line[1:] for line in lines[2:]}


@pytest.mark.ci
def test_every_operation_has_a_form_in_every_engine(cli, monkeypatch, tmp_path):
    own = ops.register("own_of_test", "a b c", "a * b + sin(c)", ("b", None, "cos(c)"))
    (tmp_path / "wavy.py").write_text(
        '"""A scene."""\nfrom scalarviz.scalar import ops\n'
        'ops.register("wavy_of_test", "a", "sin(a) * a", ("cos(a) * a + sin(a)",))\ndef build(options): ...\n'
    )
    try:
        found = operations(cli("doctor", "--ops", "wavy.py"))
        assert list(found) == list(ops.TABLE)
        for name, cells in found.items():
            flowing = sum(partial is not None for partial in ops.get(name).partials)
            joint = f"1 + {min(flowing, 1)}"  # one function hands on to all operands
            assert cells == [joint, f"1 + {flowing}", f"1 + {flowing}", joint], name

        def refuses(op):
            if op is own:
                raise InputError("no such word")
            return "def forward(): pass\n"

        monkeypatch.setattr("scalarviz.engine.cuda.source.forward_source", refuses)
        monkeypatch.setattr("scalarviz.engine.cpu.source.module_source", lambda *_: "def forward(:")
        found = operations(cli("doctor", "--ops"))
        assert found[own.name][3] == "none: no such word"
        assert found[own.name][2].startswith("none: ")
        assert found["add"][3] == "1 + 1"
    finally:
        for name in ("own_of_test", "wavy_of_test"):
            ops.TABLE.pop(name, None)


# ---- a cache that cannot be filled


class Full:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def write(self, data):
        raise OSError(28, os.strerror(28))


@pytest.mark.parametrize("trouble", ["not a directory", "permission denied", "no space left on device"])
def test_everything_that_speaks_of_the_cache_says_why_it_cannot_be_written(cli, tmp_path, monkeypatch, trouble):
    folder, place = tmp_path / "cache", "scalarviz.engine.cache"
    if trouble == "not a directory":
        folder.write_text("no folder")
    elif trouble == "permission denied":
        monkeypatch.setattr(f"{place}.os.access", lambda *_: False)  # who tests as root may write everywhere
        folder = folder / "not" / "there"
    else:
        folder.mkdir()
        monkeypatch.setattr(f"{place}.tempfile.TemporaryFile", lambda dir: Full())
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(folder))
    said = f"cannot write to the cache folder {folder} ({trouble}); set SCALARVIZ_CACHE_DIR to another folder"
    (row,) = (line for line in cli("doctor").out.splitlines() if "numba cache" in line)
    assert row.endswith(f"not cached for float32, float64; {said}")
    result = cli("warmup")
    assert (result.code, result.err) == (2, f"scalarviz: {said}\n")
    name, net = f"test_{trouble.replace(' ', '_')}", nn.Linear(3, 2)  # an operation that no other test has compiled
    monkeypatch.setitem(ops.TABLE, name, ops.Op(name, ("a",), "a * a * a", ("3 * a * a",)))
    run = sv.Run(
        lambda x: ops_of(name)(net(x)), nn.MSELoss(), optim.SGD(net.parameters()), (np.ones((4, 3)), np.ones((4, 2)))
    )  # fmt: skip
    assert (run.engine.name, ready(run)) == ("numba", False)


# ---- lessons

NOTEBOOKS = ROOT / "notebooks"
NAMES = sorted(p.name for p in NOTEBOOKS.iterdir() if p.suffix in (".ipynb", ".py"))


def test_the_lessons_are_listed(cli, monkeypatch, tmp_path):
    result = cli("lessons")
    titles = [line.split("  ") for line in result.out.splitlines()]
    assert (result.code, titles[0]) == (0, ["01", "One weight"])
    numbered = [name for name in NAMES if name.endswith(".ipynb")]
    assert [number for number, _ in titles] == [name.partition("-")[0] for name in numbered]
    assert [one.notebook.name for one in lessons()] == numbered
    monkeypatch.setattr(shelf, "FOLDERS", (tmp_path / "notebooks", tmp_path))
    result = cli("lessons")
    assert result.code == 2
    assert "notebooks of the lessons are not in" in result.err


def without_outputs(text):
    book = json.loads(text)
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    return book


@pytest.mark.parametrize("outputs", [False, True])
def test_lessons_are_copied_and_nobodys_work_is_overwritten_unasked(cli, tmp_path, outputs):
    flags = ("--outputs",) if outputs else ()
    assert cli("lessons", "a/course", *flags).out.count("wrote ") == len(NAMES)
    copied = tmp_path / "a" / "course"
    assert sorted(p.name for p in copied.iterdir()) == NAMES
    for name in NAMES:
        given, kept = (copied / name).read_text("utf-8"), (NOTEBOOKS / name).read_text("utf-8")
        if outputs or name.endswith(".py"):
            assert given == kept
        else:  # a pupil predicts before anything is there to read
            assert json.loads(given) == without_outputs(kept) != json.loads(kept)
    mine, before = copied / NAMES[0], (copied / NAMES[0]).read_bytes()
    mine.write_text("my work")
    result = cli("lessons", "a/course", *flags)
    assert (result.code, result.out, mine.read_text()) == (0, "", "my work")
    assert all(said in result.err for said in (f"kept {Path('a/course') / NAMES[0]}", "--overwrite"))
    result = cli("lessons", "a/course", "--overwrite", *flags)
    assert result.out == f"replaced {Path('a/course') / NAMES[0]}\n"
    assert mine.read_bytes() == before


def test_some_lessons_are_copied_by_their_numbers(cli, tmp_path):
    assert cli("lessons", "a", "--only", "1,01b, 14").code == 0
    assert sorted({p.name[:3].strip("-") for p in (tmp_path / "a").iterdir()}) == ["01", "01b", "14"]
    for given in ("1,99", "two", ""):
        result = cli("lessons", "b", "--only", given)
        assert (result.code, "allowed: 01, 01b, 02" in result.err, (tmp_path / "b").exists()) == (2, True, False)


# ---- sweeps

XOR = ("xor", "--engine", "numpy", "--steps", 40)


@pytest.fixture
def here(cli, monkeypatch):
    """`scalarviz sweep`, computed in this process."""
    module = importlib.import_module("scalarviz.sweep.sweep")
    monkeypatch.setattr(module, "_owner", lambda plan, workers, executor: (module.InlineExecutor(), 1))
    return lambda *arguments: cli("sweep", *arguments)


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.ci
def test_the_table_and_the_file_have_what_each_run_alone_has(here, cli):
    sigmoid = (*XOR, "--activation", "sigmoid")
    result = here(*sigmoid, "--grid", "lr=0.1 0.5", "--seeds", 2, "--results", "r.svs", "--table", "r.csv")
    assert result.code == 0, result.err
    rows = read("r.csv")
    found = [(row["number"], row["lr"], row["seed"], row["state"], row["steps"]) for row in rows]
    wanted = (("0.1", "0"), ("0.5", "0"), ("0.1", "1"), ("0.5", "1"))
    assert found == [(str(k), lr, seed, "done", "40") for k, (lr, seed) in enumerate(wanted)]
    with sv.sweep.Results("r.svs") as results:
        assert results.about.fixed == {"engine": "numpy", "activation": "sigmoid"}
        for row in rows:
            flags = ("--lr", row["lr"], "--seed", row["seed"], "--headless", "--save", "w.safetensors", "--json")
            alone = cli(*sigmoid, *flags).json
            assert float(row["loss"]) == alone["loss"]
            assert (row["right"], row["learnt"]) == (str(alone["right"]), str(int(alone["right"] == 4)))
            bits = weights_in("w.safetensors")
            for name, kept in results.weights(int(row["number"])).items():
                assert bits[name].endswith(kept.tobytes())


@pytest.mark.ci
def test_the_terminal_tells_quartiles_and_every_combination(here):
    result = here(*XOR, "--seeds", 5, "--table", "r.csv")
    assert "xor: 5 runs, 0 learnt it, 5 did not (seeds 0, 1, 2, 3, 4)" in result.err
    losses = [float(row["loss"]) for row in read("r.csv")]
    _, _, line = [line.split() for line in result.out.splitlines() if line.strip()]
    assert line[:2] == ["5", "0"]
    assert [float(number) for number in line[2:5]] == pytest.approx(np.quantile(losses, [0.25, 0.5, 0.75]), rel=1e-3)
    grids = ("--grid", "lr=0.1..0.5:3", "--grid", "batch=1 4", "--grid", "break='loss < 0.5'")
    out = here(*XOR[:3], "--steps", 1, *grids, "--seeds", "7..7").out
    lines = [line.split() for line in out.splitlines() if line.strip()]
    assert [line[:2] for line in lines[2:]] == [[lr, b] for lr in ("0.1", "0.3", "0.5") for b in "14"]


def test_a_run_that_fails_is_named_and_the_others_are_told(here, tmp_path):
    fails = "    if options.seed == 1:\n        raise KeyError('r')\n"
    text = f"def build(options):\n{fails}    return of_xor(options)\n"
    text = f"from scalarviz.scenes.xor import Options, build as of_xor\n{text}"
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    line = ("mine.py", "--engine", "numpy", "--steps", 3, "--seeds", 3, "--results", "r.svs")
    result = here(*line)
    assert result.code == 2
    assert result.last.startswith("scalarviz: 1 of 3 runs failed; seed 1: ")
    assert "mine.py, line 4: KeyError: 'r'" in result.err
    assert here(*line).err.startswith("mine: 2 of 3 runs are already in r.svs")


def test_a_table_that_cannot_be_written_keeps_nothing_else_away(here, monkeypatch):
    def full(path, results):
        raise InputError(f"cannot write {path}: no space left on device")

    monkeypatch.setattr("scalarviz.cli.sweep.write_table", full)
    result = here(*XOR, "--seeds", 2, "--table", "r.csv", "--results", "r.svs")
    assert (result.code, result.last) == (2, "scalarviz: cannot write r.csv: no space left on device")
    assert "wrote r.svs" in result.err
    assert "xor: 2 runs" in result.err
    assert "median" in result.out


def test_runs_that_no_file_keeps_are_shown_when_a_sweep_is_cut_short(here, monkeypatch):
    calls = []

    def second(note, result, computed):
        calls.append(result)
        if len(calls) % 2 == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr("scalarviz.cli.sweep.Note.add", second)
    result = here(*XOR, "--seeds", 5)
    assert result.code == 130
    assert [line.split()[0] for line in result.out.splitlines() if line.strip()][2:] == ["2"]
    assert "runs done but not kept: 2" in result.last
    result = here(*XOR, "--seeds", 5, "--results", "r.svs")
    assert (result.code, result.out) == (130, "")
    assert "the same command resumes r.svs" in result.last


# ---- what is dropped on the window of all scenes


@pytest.fixture(scope="module")
def doors():
    return tour.make_scene_wall().doors


def write_dropped(cli, folder, name):
    if name.startswith("w."):
        assert cli("rgb", "--headless", "--engine", "numpy", "--steps", 5, "--save", name).code == 0
    elif name.lower().endswith((".png", ".jpg")):
        save_picture(folder / name, np.random.default_rng(0).random((24, 32, 3)))
    else:
        rows = "".join(f"{k},{k % 7},{'xy'[k % 2]}\n" for k in range(40))
        (folder / name).write_text(f"a,b,kind\n{rows}")


@pytest.mark.parametrize(
    ("name", "scene"),
    [("my.JPG", "texture"), ("T.TSV", "playground"), ("t.txt", "playground"), ("w.safetensors", "rgb")],
)
def test_a_file_goes_to_the_scene_that_learns_it(cli, doors, tmp_path, name, scene):
    write_dropped(cli, tmp_path, name)
    door, given, said = scene_files.entry_request_of(tmp_path / name, doors)
    assert (door.name, name in said) == (scene, True)
    built = door.build(given).scene
    assert (built.name, built.run.steps) == (scene, 5 if scene == "rgb" else 0)
    if scene == "texture":
        assert scene_files.entry_request_of(tmp_path / name, [d for d in doors if d.name != "texture"])[0].name == "rgb"


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [("my_scene.py", b"raise SystemExit('it was run')", "cannot be opened"), ("x", b"", "cannot be opened"),
     ("bad.png", b"no picture", "bad.png"), ("bad.csv", b"\0\1", "bad.csv"), ("gone.png", None, "gone.png"),
     ("other.safetensors", b"tensors", "does not name the scene of its weights")],
)  # fmt: skip
def test_nothing_else_is_opened(doors, tmp_path, name, content, says):
    if content == b"tensors":
        save_tensors(tmp_path / name, {"0.weight": np.zeros((3, 3))})
    elif content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ScalarvizError, match=says):
        door, given, _ = scene_files.entry_request_of(tmp_path / name, doors)
        door.build(given)


def test_a_window_on_a_file_whose_display_goes_away_says_so(cli, monkeypatch, tmp_path):
    save_tensors(tmp_path / "w.safetensors", {"w": np.ones(3)})
    monkeypatch.setattr("scalarviz.cli.view.wants_window", lambda options: True)
    monkeypatch.setattr("scalarviz.cli.view.show_file", lambda *given, **more: SimpleNamespace(display_lost=True))
    result = cli("view", tmp_path / "w.safetensors")
    assert (result.code, result.last) == (2, "scalarviz: the connection to the display was lost")
