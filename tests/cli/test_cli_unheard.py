"""What was given and would do nothing is refused in a line; what the other flags say is done without it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

SMALL = ("--hidden", "4", "--batch", 8)


@pytest.fixture
def scene(cli):
    """A scene with the engine that needs no compiling."""
    return lambda name, *flags: cli(name, "--headless", "--engine", "numpy", "--steps", 2, *flags)


@pytest.mark.parametrize(
    ("name", "others", "unheard"),
    [
        ("neuron", (), ("--b", 5)),
        ("neuron", ("--load", "w.safetensors"), ("--w", 5)),
        ("neuron", ("--weights", 2, "--load", "w.safetensors"), ("--b", 5)),
        ("playground", ("--load", "w.safetensors"), ("--weights-seed", 3)),
        ("expression", ("--load", "w.safetensors"), ("--start", "a=0.5")),
        ("texture", ("photo.png", *SMALL), ("--photo", "astronaut")),
        ("texture", ("photo.png", *SMALL, "--encoding", "none"), ("--frequencies", 5)),
        ("expression", ("--start", "a=0.5"), ("--start", "a=0.25")),
        ("playground", ("--hidden", ""), ("--activation", "relu")),
        ("uinn", (), ("--paused",)),
        ("uinn", (), ("--fps", 12)),
    ],
)
def test_a_flag_that_would_do_nothing_is_refused(scene, name, others, unheard):
    if "photo.png" in others:
        Image.fromarray(np.arange(300, dtype=np.uint8).reshape(10, 10, 3)).save("photo.png")
    if "--load" in others:
        more = others[: others.index("--load")]
        assert scene(name, *more, "--save", "w.safetensors").code == 0
    assert scene(name, *others).code == 0
    result = scene(name, *others, *unheard)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert unheard[0] in result.err


def test_a_page_alone_is_drawn_in_no_other_colours(scene, tmp_path):
    for flags in (("--cmap", "viridis"), ("--presenter",), ("--duration", 3)):
        result = scene("neuron", "--html", "p.html", *flags)
        assert (result.code, result.err.count("\n")) == (2, 1)
        assert f"{flags[0]} does nothing here" in result.err
    assert not (tmp_path / "p.html").exists()


@pytest.mark.parametrize("flag", ["--recording", "--html", "--save"])
def test_a_file_that_is_named_twice_is_refused(scene, flag, tmp_path):
    end = {"--recording": "svz", "--html": "html", "--save": "safetensors"}[flag]
    result = scene("neuron", flag, f"a.{end}", flag, f"b.{end}")
    assert (result.code, result.out) == (2, "")
    assert result.err == f"scalarviz: {flag} is given twice; it names one file: write the other one by a second run\n"
    assert not list(tmp_path.iterdir())


def test_without_a_display_that_is_named_the_line_is_alone(tmp_path):
    """A library asks the display how fine it is, and prints what it hears."""
    command = [sys.executable, "-m", "scalarviz", "neuron", "--headless", "--engine", "numpy", "--steps", "2", "--json"]
    done = subprocess.run([*command, "--html", "p.html"], cwd=tmp_path, env={**os.environ, "DISPLAY": ":4711"},
                          capture_output=True, text=True, timeout=300, check=True)  # fmt: skip
    assert json.loads(done.stdout)["steps"] == 2
    assert "DPI" not in done.stderr
