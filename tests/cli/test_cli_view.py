"""`scalarviz view`: what it writes and says without a display, and what it refuses."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from PIL import Image

from scalarviz.io import save_tensors


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("a", "b"):
        save_tensors(tmp_path / f"{name}.safetensors", {"0.weight": rng.normal(size=(4, 6)), "0.bias": np.zeros(4)})
    (tmp_path / "net.pt").write_bytes(b"PK\x03\x04")
    (tmp_path / "text.txt").write_bytes(b"hello")
    (tmp_path / "a.onnx").write_bytes(b"hello")
    return tmp_path


def test_one_file_as_a_picture(cli, files):
    result = cli("view", "a.safetensors", "--out", "a.png", "--size", "640x360")
    assert (result.code, result.out) == (0, "")
    assert "a: 28 numbers in 2 tensors" in result.err
    with Image.open(files / "a.png") as picture:
        assert picture.size == (640, 360)
        assert len(np.unique(np.asarray(picture.convert("RGB")).reshape(-1, 3), axis=0)) > 50


def test_two_files_without_a_display(cli, files):
    result = cli("view", "a.safetensors", "b.safetensors", "--only", "*.weight", "--size", "640x360")
    assert result.code == 0
    assert "a and b: 24 numbers in 1 tensor" in result.err
    assert (files / "out" / "a-and-b.png").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "nothing was given"),
        (["none.onnx"], "there is no file none.onnx"),
        (["."], "folder"),
        (["text.txt"], "end in .onnx, .safetensors"),
        (["net.pt"], "torch.load"),
        (["a.onnx"], "no ONNX file"),
        (["a.safetensors", "text.txt"], "end in .onnx"),
        (["a.safetensors", "--only", "x*"], "none of its names fits"),
        (["a.safetensors", "--headless"], "shows nothing"),
        (["a.safetensors", "--out", "a.mp4"], "allowed is a picture"),
        (["a.safetensors", "--out", "a.txt"], "allowed is a picture"),
        (["a.safetensors", "--cmap", "none"], "none"),
        (["a.safetensors", "--size", "1x1"], "a size is"),
        (["a.safetensors", "b.safetensors", "c.safetensors"], "extra argument"),
        (["runs.svs", "a.safetensors"], "shown alone"),
    ],
)
def test_what_is_refused(cli, files, arguments, says):
    before = sorted(path.name for path in files.iterdir())
    result = cli("view", *arguments)
    assert result.code == 2
    assert says in result.err
    assert result.err.count("\n") <= 2
    assert "Traceback" not in result.err
    assert sorted(path.name for path in files.iterdir()) == before


@pytest.mark.parametrize(("name", "code", "word"), [("SIGINT", 130, "interrupted"), ("SIGTERM", 143, "terminated")])
def test_a_signal_is_told_and_the_picture_is_written(cli, files, monkeypatch, name, code, word):
    monkeypatch.setattr("scalarviz.cli.view._tell", lambda *_: signal.raise_signal(getattr(signal, name)))
    result = cli("view", "a.safetensors", "--out", "a.png")
    assert (result.code, result.err.splitlines()) == (code, ["wrote a.png", f"scalarviz: {word}"])
    assert (files / "a.png").stat().st_size > 1000
