"""A second Ctrl-C: whatever it interrupts, the weights are written, whole, and a line says so."""

from __future__ import annotations

import os
import signal

import pytest

from scalarviz.cli.pictures import Outputs
from scalarviz.io import load_tensors
from scalarviz.run.run import Run
from scalarviz.view import film
from scalarviz.view.film import Film

FILM = ["--engine", "numpy", "--size", "320x180", "--duration", "600", "--out", "x.mp4", "--out", "x.png"]
WEIGHTS = "w.safetensors"


@pytest.mark.gl
@pytest.mark.parametrize(
    ("places", "stays"),
    [
        ([(Film, "add", 2, 4)], []),
        ([(Film, "add", 1, 4), (film, "whole_mp4", 1, 1)], []),
        ([(Film, "add", 1, 4), (Outputs, "pictures", 1, 1)], ["x.mp4"]),
        ([(Film, "add", 1, 4), (Run, "save", 3, 1)], ["x.mp4", "x.png"]),
    ],
    ids=["in a frame", "while the film is closed", "before the picture", "while the weights are written"],
)
def test_a_second_ctrl_c_during_a_film_keeps_the_weights(cli, tmp_path, press, places, stays):
    for place in places:
        press(*place)
    result = cli("rgb", *FILM, "--save", WEIGHTS)
    assert result.code == 130
    assert sorted(os.listdir(tmp_path)) == [WEIGHTS, *stays]
    assert load_tensors(tmp_path / WEIGHTS)[0].keys() == {"0.weight", "0.bias"}
    assert f"wrote {WEIGHTS}" in result.err
    assert "interrupted" in result.err.splitlines()[-1]
    assert "Traceback" not in result.err
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_second_one_waits_for_the_end_of_a_step(rgb, press, tmp_path):
    press(Run, "step", 2)
    result = rgb("--steps", 10**9, "--save", WEIGHTS)
    assert result.code == 130
    assert result.err.splitlines()[-1] == "scalarviz: interrupted again; nothing else was written"
    steps = rgb("--load", WEIGHTS, "--steps", 1, "--json").json["steps"] - 1
    assert steps > 0
    assert rgb("--steps", steps, "--save", "same.safetensors").code == 0
    got, wanted = (load_tensors(tmp_path / name)[0] for name in (WEIGHTS, "same.safetensors"))
    assert {n: a.tobytes() for n, a in got.items()} == {n: a.tobytes() for n, a in wanted.items()}


def test_the_third_one_cuts_a_step_and_its_weights_are_not_kept(rgb, press, tmp_path):
    press(Run, "step", 3)
    result = rgb("--steps", 10**9, "--save", WEIGHTS)
    assert result.code == 130
    assert f"{WEIGHTS} was not written, since a step was interrupted" in result.err
    assert result.err.splitlines()[-1] == "scalarviz: interrupted again; nothing was written"
    assert os.listdir(tmp_path) == []
