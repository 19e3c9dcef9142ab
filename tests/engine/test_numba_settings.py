"""Settings that keep numba from working are told in one line; `auto` takes NumPy and says why."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.ci
BROKEN = {
    "NUMBA_DISABLE_JIT=1": ("NUMBA_DISABLE_JIT=1", "unset"),
    "NUMBA_NUM_THREADS=0": ("NUMBA_NUM_THREADS=0", "> 0", "unset"),
    "NUMBA_NUM_THREADS=-3": ("NUMBA_NUM_THREADS=-3",),
}
WHY = """
import numpy as np
import scalarviz as sv
from scalarviz import nn, optim
net = nn.Linear(3, 2)
run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters()), (np.ones((4, 3)), np.ones((4, 2))))
run.step(2)
print(run.engine.name, run.engine.provisional, run.engine.why)
"""


def python(setting, *arguments):
    name, _, value = setting.partition("=")
    environment = {**os.environ, name: value}
    return subprocess.run([sys.executable, *arguments], env=environment, text=True, capture_output=True, check=False)


@pytest.mark.parametrize("setting", BROKEN)
def test_who_asks_for_numba_is_told_in_one_line_and_auto_takes_numpy(setting):
    rgb = ["-m", "scalarviz", "rgb", "--headless", "--steps", "2", "--json", "--engine", "numba"]
    for command in (rgb, ["-m", "scalarviz", "warmup"])[: 1 + ("JIT" in setting)]:
        result = python(setting, *command)
        assert (result.returncode, result.stdout) == (2, "")
        (line,) = result.stderr.splitlines()
        assert all(fact in line for fact in ("numba", *BROKEN[setting])), line
    assert 'engine="numpy"' in line
    result = python(setting, "-c", WHY)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("numpy False ")
    assert all(fact in result.stdout for fact in BROKEN[setting])


def test_a_setting_that_cannot_be_read_is_a_line_and_other_settings_change_nothing():
    result = python("NUMBA_NUM_THREADS=abc", "-c", WHY)
    assert result.returncode == 0
    (line,) = result.stderr.splitlines()
    assert "NUMBA_NUM_THREADS" in line
    assert "'abc'" in line
    result = python("NUMBA_NUM_THREADS=1", "-c", WHY)
    assert (result.returncode, result.stderr) == (0, "")
    assert "cannot" not in result.stdout
