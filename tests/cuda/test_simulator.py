"""The CUDA engine in numba's simulator, in processes of their own: numba reads the switch when it is loaded.

What is tested stands in ``simulated/``, and in the tests that are made for every engine (see ``simulated/every_engine``).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
OWN = ("every_engine", "conftest")
PARTS = {
    **{path.stem: [path] for path in sorted((HERE / "simulated").glob("*.py")) if path.stem not in OWN},
    "tests of every engine": [ROOT / "tests" / "engine"],
    "tests of every run": [ROOT / "tests" / folder for folder in ("nn", "run", "scalar", "tape")],
}


def simulated(paths, chosen, folder):
    """Run the tests in a process of its own; all of them have to pass, and there must be some."""
    report = folder / "report.xml"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    found = [os.fspath(HERE / "simulated"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment |= {
        "NUMBA_ENABLE_CUDASIM": "1", "SCALARVIZ_NO_SKIPS": "1", "PYTHONPATH": os.pathsep.join(found),
        "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "every_engine",
        "-m", chosen, f"--junitxml={report}", f"--basetemp={folder / 'base'}", "--durations=5", *map(str, paths),
    ]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    said = f"{done.stdout[-30_000:]}\n{done.stderr[-5_000:]}"
    if done.returncode != 0:
        pytest.fail(f"in numba's simulator (exit {done.returncode}):\n{said}", pytrace=False)
    (suite,) = ElementTree.parse(report).getroot().iter("testsuite")
    counts = {name: int(suite.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")}
    assert counts.pop("tests") > 0, said
    assert counts == {"failures": 0, "errors": 0, "skipped": 0}, said
    return int(suite.get("tests", "0"))


@pytest.mark.parametrize("part", PARTS)
def test_in_the_simulator(part, tmp_path):
    simulated(PARTS[part], "not slow", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_in_the_simulator_what_takes_longer(part, tmp_path):
    simulated(PARTS[part], "slow", tmp_path)
