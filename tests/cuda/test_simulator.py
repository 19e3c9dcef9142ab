"""The CUDA engine in numba's simulator, in processes of their own: numba reads the switch when it is loaded.

Tests that are made for every engine are done once more with this one (``simulated/every_engine``).
"""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

HERE, TESTS = Path(__file__).parent, Path(__file__).parents[1]
MODULES = [HERE / "simulated", HERE, *(TESTS / folder for folder in ("engine", "nn", "run", "tape"))]
"""From where the tests import: the plugin, and tables of other tests."""
OF_ENGINES = re.compile(r"""parametrize\(\s*[(\[]?\s*["'][^)]*?\bengine\b""")
"""How a test begins that is made for every engine."""


def has_engines(path):
    """Whether a file has any; only its text is looked at."""
    return OF_ENGINES.search(path.read_text(encoding="utf-8")) is not None


def in_the_simulator(paths, chosen, folder):
    """Run tests in a process of its own: all of them have to pass, a skipped one has not, and there must be some."""
    report = folder / "report.xml"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    environment |= {
        "NUMBA_ENABLE_CUDASIM": "1", "SCALARVIZ_NO_SKIPS": "1", "SCALARVIZ_TEST_SECONDS": "inf",
        "PYTHONPATH": os.pathsep.join([*map(str, MODULES), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }  # fmt: skip
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "every_engine",
        "-m", chosen, f"--junitxml={report}", f"--basetemp={folder / 'base'}", "--durations=5", *map(str, paths),
        *(() if importlib.util.find_spec("torch") else ("-k", "not pytorch")),  # they would be skipped
    ]  # fmt: skip
    done = subprocess.run(
        command, cwd=TESTS.parent, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=1800, check=False,
    )  # fmt: skip
    said = f"in numba's simulator (exit {done.returncode}): {' '.join(command)}\n{done.stdout[-40_000:]}"
    if done.returncode != 0:
        pytest.fail(said, pytrace=False)
    (suite,) = ElementTree.parse(report).getroot().iter("testsuite")
    counts = {name: int(suite.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")}
    if counts["tests"] == 0 or any(counts[name] for name in ("failures", "errors", "skipped")):
        pytest.fail(said, pytrace=False)
    return counts["tests"]


@pytest.mark.parametrize(
    "folder", ["engine", *(pytest.param(f, marks=pytest.mark.hunt) for f in ("nn", "run", "tape"))]
)
def test_in_the_simulator(folder, tmp_path):
    assert in_the_simulator([TESTS / folder], "not rare and not hunt", tmp_path) >= 40
