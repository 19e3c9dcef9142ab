"""Tiles in numba's simulator, in a process of its own: what is tested stands in ``simulated/tiles.py``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def test_tiles_in_the_simulator():
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"NUMBA_ENABLE_CUDASIM": "1", "SCALARVIZ_NO_SKIPS": "1", "PYTHONPATH": os.fspath(HERE)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "simulated/tiles.py"]
    done = subprocess.run(command, cwd=HERE, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]
    assert " passed" in done.stdout
