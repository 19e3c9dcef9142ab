"""One table of bad values, driven over every flag: one line or two, exit code 2, no traceback, nothing written."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scalarviz.scenes._train import Options as TrainOptions
from scalarviz.scenes.rgb import Options

from scalarviz import nn, scenes
from scalarviz.cli.flags import flag_of
from scalarviz.io import save_picture, save_tensors

SCENES = Path(scenes.__file__).parent

# What no flag of a kind may take
NO_WHOLE = ["", "x", "1.5", "nan", "1e3", "--steps"]
NO_NUMBER = ["", "x", "nan", "inf", "-inf", "0", "-1"]
NO_FILE_TO_READ = ["missing.png", "folder", "text.txt"]
NO_FILE_TO_WRITE = ["folder", "", "text.txt/x.png"]
FILES_IN_THE_WAY = ["folder", "", "text.txt/x.onnx"]
NO_NAME = ["", "x", "Invert", "sgd,adam"]

BAD = {
    "steps": [*NO_WHOLE, "0", "-1", "99999999999999999999"],
    "seed": [*NO_WHOLE, "-1", str(2**64)],
    "batch": [*NO_WHOLE, "0", "-5"],
    "fps": [*NO_WHOLE, "0", "1000"],
    "lr": NO_NUMBER,
    "duration": [*NO_NUMBER, "1e9"],
    "size": [
        "",
        "x",
        "1280",
        "1280x",
        "0x0",
        "-1x720",
        "1280x720x3",
        "99999x99999",
        "1.5x2",
        "64x64",
        "160x159",
        "8193x720",
    ],
    "hidden": ["x", "0", "-1", "16,", ",", "16;16", "1.5", "16,x", "999999"],
    "target": NO_NAME,
    "optimizer": NO_NAME,
    "dtype": [*NO_NAME, "float16"],
    "theme": [*NO_NAME, "Dark"],
    "threads": ["", "x", "0", "-1", "1.5", "100000"],
    "engine": [*NO_NAME, "cuda:99", "cuda:-1", "numba:1"],
    "cmap": ["", "no such map"],
    "pair": ["", "#ff8800", "#ff8800:", "red:blue", "#ff8800:#0044cc:#fff", "#gg0000:#000000"],
    "picture": NO_FILE_TO_READ,
    "source": NO_FILE_TO_READ,
    "graded": NO_FILE_TO_READ,
    "apply": NO_FILE_TO_READ,
    "output": [*NO_FILE_TO_WRITE, "x.txt", "x.mp4"],
    "out": [*NO_FILE_TO_WRITE, "x", "x.txt", "x.mp3"],
    "export_lut": [*NO_FILE_TO_WRITE, "x.png"],
    "save": ["", "w", "x.txt", "folder", "text.txt/w.safetensors"],
    "recording": ["", "w", "x.txt", "folder", "text.txt/w.svz", "there.svz"],
    "html": ["", "w", "x.txt", "folder", "text.txt/w.html"],
    "every": [*NO_WHOLE, "0", "-1", "99999999999999999999"],
    "load": NO_FILE_TO_READ,
    "schedule": [
        *NO_NAME,
        "Cosine",
        "cosine:",
        "linear:0",
        "linear:-1",
        "linear:x",
        "linear:1.5",
        "cycle:1:2",
        ":5",
        "linear:9999999999999",
        "constant:5",
        "step",
        "plateau",
    ],
    "sampling": [*NO_NAME, "Epochs"],
    "at": [*NO_WHOLE, "-1", "99999999999999999999"],
    "break_on": [
        "",
        "loss",
        "loss <",
        "no_such > 1",
        "__import__('os')",
        "0.weight[9][9] > 0",
        "(" * 200,
        "loss < " + "1" * 10_000,
    ],
}
SWITCHES = {"headless", "json_line", "micro", "paused", "presenter"}
# Flags that come in pairs get a good partner, so that the bad value itself is what is wrong
PARTNERS = {
    "source": ["--graded", "good.png"],
    "every": ["--recording", "x.svz"],
    "graded": ["--source", "good.png"],
    "apply": ["--output", "o.png"],
    "output": ["--apply", "good.png"],
}
CASES = [(name, value) for name, values in BAD.items() for value in values]


TRAIN_BAD = {
    "network": ["missing.onnx", "folder", "text.txt", "good.png"],
    "data": ["missing.npz", "text.txt", "folder", "good.png", ""],
    "loss": NO_NAME,
    "trained": ["", "nope", "*.nope"],
    "samples": ["M", "99999", "7", "1"],
    "test": ["", "x", "nan", "inf", "1", "-0.1"],
    "onnx": [*FILES_IN_THE_WAY, "x", "x.pt", "x.txt"],
}
TRAIN_CASES = [(name, value) for name, values in TRAIN_BAD.items() for value in values]


def test_the_tables_have_every_flag_of_train():
    assert set(TRAIN_BAD) | set(BAD) | SWITCHES >= set(TrainOptions.model_fields)


@pytest.mark.parametrize(("name", "value"), TRAIN_CASES)
def test_a_bad_value_of_train_is_said_and_nothing_is_written(cli, folder, name, value):
    nn.Linear(2, 3, seed=0).to_onnx(folder / "net.onnx")
    np.savez(folder / "set.npz", x=np.ones((4, 2)), y=np.arange(4) % 3)
    before = sorted(os.listdir(folder))
    given = {"network": "net.onnx", "data": "set.npz"} | {name: value}
    network = given.pop("network")
    flags = [part for key, text in given.items() for part in (flag_of(key, TrainOptions.model_fields[key]), text)]
    result = cli("train", network, *flags, "--steps", "1", "--engine", "numpy", "--headless", "--json")
    assert (result.code, result.out) == (2, "")
    assert len(result.err.splitlines()) <= 2, result.err
    assert result.err.startswith("scalarviz: ")
    assert sorted(os.listdir(folder)) == before


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.txt").write_text("no picture, no weights")
    (tmp_path / "there.svz").write_text("what exists is not overwritten")
    save_picture(tmp_path / "good.png", np.random.default_rng(0).random((4, 4, 3)))
    return tmp_path


def test_the_table_has_every_flag():
    assert set(BAD) | SWITCHES == set(Options.model_fields)


@pytest.mark.parametrize(("name", "value"), CASES)
def test_a_bad_value_is_said_and_nothing_is_written(rgb, folder, name, value):
    before = sorted(os.listdir(folder))
    flag = flag_of(name, Options.model_fields[name])
    arguments = [value] if name == "picture" else [flag, value]
    engine = ["--engine", "numpy"] if name != "engine" else []
    result = rgb(*engine, "--steps", 1, *PARTNERS.get(name, []), *arguments, "--json")
    assert result.code == 2
    assert result.out == ""
    lines = result.err.splitlines()
    assert 1 <= len(lines) <= (3 if name == "break_on" else 2), result.err  # a caret stands below a condition
    assert lines[0].startswith("scalarviz: ")
    assert "Traceback" not in result.err
    assert value in result.err or flag.strip("-").lower() in result.err.lower()
    assert sorted(os.listdir(folder)) == before


CONTRADICTIONS = [
    (["--source", "good.png"], "--graded"),
    (["--graded", "good.png"], "--source"),
    (["--apply", "good.png"], "--output"),
    (["--output", "x.png"], "--apply"),
    (["--pair", "#000:#fff", "--target", "gray"], "different tasks"),
    (["--pair", "#000:#fff", "--source", "good.png", "--graded", "good.png"], "different tasks"),
    (["--source", "good.png", "--graded", "good.png", "--target", "invert"], "different tasks"),
    (["good.png", "--pair", "#000:#fff"], "no target is known for the picture"),
    (["--source", "good.png", "--graded", "wide.png"], "4 x 4 pixels and wide.png has 5 x 4"),
    (["--source", "clear.png", "--graded", "good.png"], "no pixel"),
    (["--apply", "clear.png", "--output", "x.jpg"], "JPEG has none"),
    (["--load", "mlp.safetensors", "--hidden", "16,16"], "contradicts mlp.safetensors, whose hidden layers are: 4"),
    (
        ["--load", "mlp.safetensors", "--optimizer", "adam"],
        "--optimizer adam contradicts mlp.safetensors, trained with sgd",
    ),
    (["--save", "x.txt"], "--save: x.txt: weights are written as .safetensors only; try x.safetensors"),
    (["--out", "x.png", "--out", "./x.png"], "x.png is named by --out and by --out"),
    (["--apply", "good.png", "--output", "x.png", "--out", "x.png"], "x.png is named by --out and by --output"),
    (["--load", "other.safetensors"], "holds no network of this scene"),
    (["--load", "damaged.safetensors"], "damaged"),
    (["--no-such-flag"], "no such option"),
    (["a.png", "b.png"], "unexpected extra argument"),
    (["--steps"], "requires an argument"),
    (["--lr", "1e300", "--steps", "50"], "diverged at step"),
]


@pytest.mark.parametrize(("arguments", "says"), CONTRADICTIONS, ids=[" ".join(c[0]) for c in CONTRADICTIONS])
def test_what_does_not_go_together(rgb, folder, arguments, says):
    save_picture(folder / "wide.png", np.zeros((4, 5, 3)))
    save_picture(folder / "clear.png", np.zeros((4, 4, 3)), np.zeros((4, 4)))
    save_tensors(folder / "other.safetensors", {"0.weight": np.zeros((3, 7))})
    assert rgb("--steps", 1, "--hidden", 4, "--save", "mlp.safetensors").code == 0
    data = bytearray((folder / "mlp.safetensors").read_bytes())
    data[-1] ^= 1
    (folder / "damaged.safetensors").write_bytes(data)
    before = sorted(os.listdir(folder))
    result = rgb("--steps", 1, "--json", *arguments)
    assert result.code == 2
    assert says.lower() in result.err.lower()
    if "diverged" not in says:
        assert len(result.err.splitlines()) <= 2, result.err
    assert result.out == ""
    assert sorted(os.listdir(folder)) == before


def test_a_film_without_the_extra_is_refused_before_training(rgb, folder, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "imageio_ffmpeg", None)
    result = rgb("--steps", 10**9, "--out", "x.mp4")
    assert result.code == 2
    assert "scalarviz[video]" in result.err
    assert len(result.err.splitlines()) == 1


def test_a_bad_map_or_theme_is_refused_before_training(rgb):
    for flag in ("--cmap", "--theme"):
        result = rgb("--steps", 10**9, flag, "nope")
        assert result.code == 2
        assert "nope" in result.err
        assert "viridis" in result.err or "light" in result.err
        assert len(result.err.splitlines()) <= 2


def test_an_unknown_command_is_told_the_scenes(cli):
    said = cli("foo").err.splitlines()
    names = sorted(path.stem for path in SCENES.glob("[a-z]*.py") if path.stem != "options")
    assert said[-1] == f"Try: scalarviz --help; the scenes are {', '.join(names)}"
    assert "foo" in said[0]
    assert cli("runs.svs").err.splitlines()[-1] == "Try: scalarviz view runs.svs"
    assert cli("loop.svz").err.splitlines()[-1] == "Try: scalarviz replay loop.svz"
    assert cli("rgb", "--nope").err.splitlines()[-1] == "Try: scalarviz rgb --help"


@pytest.mark.parametrize("arguments", [["bad"], ["rgb2", "--steps", "3"], ["missing.py"], ["--no-such"]])
def test_what_is_no_command(cli, arguments):
    result = cli(*arguments)
    assert result.code == 2
    assert 1 <= len(result.err.splitlines()) <= 2
    assert "Traceback" not in result.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["rgb", "--size"],
        ["rgb", "--hidden"],
        ["rgb", "--theme"],
        ["rgb", "--engine"],
        ["playground", "--data"],
        ["playground", "--hide"],
        ["texture", "--encoding"],
    ],
)
def test_of_a_very_long_value_only_the_beginning_is_said(cli, arguments):
    result = cli(*arguments, "x" * 3000)
    assert (result.code, result.out) == (2, "")
    assert arguments[1] in result.err or "engine" in result.err
    assert "xxxx" in result.err
    assert len(result.err) < 500
    assert "Value error" not in result.err
