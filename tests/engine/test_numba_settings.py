"""Settings that keep numba from working are told in one line; `auto` takes NumPy and says why."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = {
    "NUMBA_DISABLE_JIT=1": "numba\" cannot compile while NUMBA_DISABLE_JIT=1: unset it, or take engine=\"numpy\"",
    "NUMBA_NUM_THREADS=0": (
        "numba\" cannot be loaded with NUMBA_NUM_THREADS=0: Number of threads specified must be > 0.; unset what is "
        "wrong, or take engine=\"numpy\""
    ),
    "NUMBA_NUM_THREADS=-3": "numba\" cannot be loaded with NUMBA_NUM_THREADS=-3: ",
}  # fmt: skip
RGB = ["rgb", "--headless", "--steps", "2", "--json"]
WHY = """
import numpy as np
import scalarviz as sv
from scalarviz import nn, optim
net = nn.Linear(3, 2)
run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters()), (np.ones((4, 3)), np.ones((4, 2))))
run.step(2)
print(run.engine.name, run.engine.provisional, run.engine.why)
"""


def python(setting: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    name, _, value = setting.partition("=")
    environment = {**os.environ, name: value, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, *arguments], env=environment, text=True, capture_output=True, check=False, cwd=ROOT
    )


@pytest.mark.parametrize("setting", SETTINGS)
def test_who_asks_for_numba_is_told_in_one_line(setting):
    result = python(setting, "-m", "scalarviz", *RGB, "--engine", "numba")
    assert (result.returncode, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith(f'scalarviz: engine="{SETTINGS[setting]}')


@pytest.mark.parametrize("setting", SETTINGS)
def test_auto_takes_numpy_and_says_why(setting):
    result = python(setting, "-c", WHY)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith(f"numpy False {SETTINGS[setting].replace(chr(34), '', 1)}")


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_commands_say_it(setting):
    result = python(setting, "-m", "scalarviz", "warmup")
    assert result.returncode == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"scalarviz: {SETTINGS[setting].replace(chr(34), '', 1)}")


def test_a_setting_that_cannot_be_read_is_a_line_and_no_traceback():
    result = python("NUMBA_NUM_THREADS=abc", "-c", WHY)
    assert result.returncode == 0
    (line,) = result.stderr.splitlines()
    assert "'NUMBA_NUM_THREADS' is defined but its associated value 'abc' could not be parsed." in line


def test_other_settings_change_nothing():
    result = python("NUMBA_NUM_THREADS=1", "-c", WHY)
    assert (result.returncode, result.stderr) == (0, "")
    assert "cannot" not in result.stdout
