"""The CUDA engine in numba's simulator, in processes of their own: numba reads the switch when it is loaded.

What is tested stands in ``simulated/``, which no other process collects, and in the tests that are made for every
engine, which are done once more with this one (``simulated/every_engine``).
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

HERE, TESTS = Path(__file__).parent, Path(__file__).parents[1]
PARTS = {
    "runs": [HERE / "simulated" / "runs.py"], "those of engines": [TESTS / "engine"],
    "those of runs": [TESTS / folder for folder in ("nn", "run", "scalar", "tape")],
}  # fmt: skip
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


def test_every_test_of_engines_is_found(request):
    """Of the tests that are collected here: the simulator's processes read only files that look as if they had any."""
    folders = {path for paths in PARTS.values() for path in paths if path.is_dir()}
    ours = [item for item in request.session.items if folders & set(item.path.parents) and hasattr(item, "callspec")]
    files = {item.path for item in ours if item.callspec.params.get("engine") == "numba"}
    assert [path for path in sorted(files) if not has_engines(path)] == []


@pytest.mark.parametrize("part", PARTS)
def test_in_the_simulator(part, tmp_path):
    assert in_the_simulator(PARTS[part], "not rare and not hunt", tmp_path) >= 40


@pytest.mark.hunt
def test_in_the_simulator_what_takes_longer(tmp_path):
    paths = [path for paths in PARTS.values() for path in paths]
    assert in_the_simulator(paths, "rare and not hunt", tmp_path) >= 40


BAD = {
    "fails": ("def test(): assert 1 == 2", "assert 1 == 2"), "breaks": ("import no_such_module", "no_such_module"),
    "skips": ("def test(): pytest.skip('no GPU')", "skipped"), "holds nothing": ("x = 1", "no tests ran"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_what_happens_in_the_other_process_is_seen(kind, tmp_path):
    text, says = BAD[kind]
    path = tmp_path / "simulated" / "some.py"
    path.parent.mkdir()
    path.write_text(f"import pytest\n{text}\n", encoding="utf-8")
    with pytest.raises(pytest.fail.Exception, match=f"(?s).*{says}"):
        in_the_simulator([path], "not hunt", tmp_path)


OTHERS = """
import sys, numba
before = set(sys.modules)
import numpy as np, scalarviz as sv
from scalarviz import nn, optim
for engine in ('objects', 'numpy', 'numba', 'auto'):
    net = nn.Linear(2, 2)
    data = np.ones((4, 2)), np.ones((4, 2))
    with sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data, engine=engine) as run:
        run.step(2)
found = set(sys.modules) - before
print(sorted(n for n in found if n.split('.')[0] == 'cuda' or n.startswith(('numba.cuda', 'numba_cuda'))))
print('scalarviz.engine.cuda.jit' in found, 'numba.cuda.cudadrv.driver' in sys.modules)
"""


def test_other_processes_load_no_cuda():
    """Neither the package nor a run of any other engine; numba alone loads what it likes, so it is counted before."""
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_ENABLE_CUDASIM"}
    command = [sys.executable, "-c", OTHERS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[]", "False False"]
