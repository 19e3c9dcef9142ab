"""The contestants of the benchmark train the same function, and who may drop out does so with a reason."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the extra `oracle`")

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
START = "import json, sys, time; import peers; from _workloads import named; say = lambda x: print(json.dumps(x))\n"


def in_a_process(code):
    """Its own process: the benchmark changes the threads of every library."""
    result = subprocess.run(
        [sys.executable, "-c", START + code], cwd=FOLDER, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.slow
def test_contestants_have_the_same_losses_and_a_compiler_that_fails_is_left_out():
    found = in_a_process(
        "work = named('XOR'); entered = peers.contestants(work, 1.0)\n"
        "def fails(count): raise RuntimeError('no C++ compiler\\nand more')\n"
        "entered['PyTorch compiled'].steps = fails\n"
        "measured = peers.check(work, entered)\n"
        "say([measured.missing, sorted(entered)])"
    )
    missing, left = found
    assert missing == {"PyTorch compiled": "RuntimeError: no C++ compiler"}
    assert {"numba", "NumPy tier", "NumPy by hand", "PyTorch eager", "objects (scaled)"} <= set(left)
    assert "PyTorch compiled" not in left


@pytest.mark.slow
def test_contestants_that_train_something_else_stop_the_benchmark():
    found = in_a_process(
        "work = named('XOR'); entered = peers.contestants(work, 1.0); del entered['PyTorch compiled']\n"
        "steps = entered['NumPy tier'].steps; entered['NumPy tier'].steps = lambda count: 1.01 * steps(count)\n"
        "try: peers.check(work, entered); say('nothing')\n"
        "except SystemExit as error: say(str(error))"
    )
    assert found.startswith("XOR 3-3-1, 4: the losses after 10 steps differ")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no alarms on Windows")
def test_compiling_is_bounded():
    found = in_a_process(
        "try:\n"
        "    with peers.time_limit(0.1): time.sleep(60)\n"
        "except TimeoutError as error: say(str(error))\n"
        "with peers.time_limit(None): pass"
    )
    assert "longer than it was given" in found
