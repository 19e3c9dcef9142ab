"""Settings that keep numba from working are told in one line; `auto` takes NumPy and says why."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.ci
BROKEN = {
    "NUMBA_DISABLE_JIT=1": ("NUMBA_DISABLE_JIT=1", "unset"),
    "NUMBA_NUM_THREADS=0": ("NUMBA_NUM_THREADS=0", "> 0", "unset"),
}
WHY = """
import numpy as np
import scalarviz as sv
from scalarviz import nn, optim
net = nn.Linear(3, 2)
run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters()), (np.ones((4, 3)), np.ones((4, 2))))
run.step(2)
print(run.engine.name, run.engine.why)
"""


def python(setting, *arguments):
    name, _, value = setting.partition("=")
    environment = {**os.environ, name: value}
    return subprocess.run([sys.executable, *arguments], env=environment, text=True, capture_output=True, check=False)


@pytest.mark.parametrize("setting", BROKEN)
def test_who_asks_for_numba_is_told_in_one_line_and_auto_takes_numpy(setting):
    result = python(setting, "-m", "scalarviz", "rgb", "--headless", "--steps", "2", "--json", "--engine", "numba")
    assert (result.returncode, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert [fact for fact in ("numba", *BROKEN[setting], 'engine="numpy"') if fact not in line] == [], line
    result = python(setting, "-c", WHY)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("numpy ")
    assert all(fact in result.stdout for fact in BROKEN[setting])


def test_a_setting_that_cannot_be_read_is_a_line():
    result = python("NUMBA_NUM_THREADS=abc", "-c", WHY)
    (line,) = result.stderr.splitlines()
    assert (result.returncode, "NUMBA_NUM_THREADS" in line, "'abc'" in line) == (0, True, True)
