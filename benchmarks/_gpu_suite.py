"""Part `suite` of `gpu.py`: the tests that `make test` runs in numba's simulator, here on the GPU.

They need pytest, which is the only thing beside NumPy and numba that this script ever asks for; part `kernels` does
without.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from _gpu_setting import Setting

ROOT = Path(__file__).resolve().parent.parent
SIMULATED = ROOT / "tests" / "cuda" / "simulated"
TESTS = ROOT / "tests"
SETS = {
    "tests of every engine": [TESTS / "engine"],
    "tests of every run": [TESTS / folder for folder in ("nn", "run", "scalar", "tape")],
}  # fmt: skip
"""As in ``tests/cuda/test_simulator.py``; what reads the simulator's memory (operations) is here in part `kernels`."""
MODULES = [SIMULATED, SIMULATED.parent, *(TESTS / folder for folder in ("engine", "nn", "run", "scalar", "tape"))]
"""From where the tests import."""
SHOWN = 20
"""Failures that get a row."""


def measure(setting: Setting) -> None:
    """The objects against the GPU, for every model, loss, layer, optimiser; and what runs do between calls."""
    if importlib.util.find_spec("pytest") is None:
        setting.row("the tests of the simulator", remark="not run: pytest is not installed here")
        return
    sets = {name: [str(path) for path in paths] for name, paths in SETS.items()}
    if setting.tiny:
        sets = {"tests of every engine": [f"{TESTS / 'engine' / 'test_batch_mean.py'}"]}
    for name, paths in sets.items():
        _run(setting, name, paths)


def _run(setting: Setting, name: str, paths: list[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="scalarviz-") as folder:
        report = Path(folder, "report.xml")
        around = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
        found = os.pathsep.join([*map(str, MODULES), str(ROOT), os.environ.get("PYTHONPATH", "")])
        command = [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "every_engine", "-m", "not hunt",
            f"--junitxml={report}", f"--basetemp={Path(folder, 'base')}", *paths,
        ]  # fmt: skip
        try:
            done = subprocess.run(
                command, cwd=ROOT, env={**around, "PYTHONPATH": found}, capture_output=True, text=True, check=False,
                timeout=max(10.0, setting.left() - 5),
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            setting.row(name, ok=False, remark="the tests took longer than they were given")
            return
        if not report.exists():
            setting.row(name, ok=False, remark=f"pytest failed: {(done.stdout + done.stderr).strip()[-400:]}")
            return
        (suite,) = ElementTree.parse(report).getroot().iter("testsuite")
    counts = {key: int(suite.get(key, "0")) for key in ("tests", "failures", "errors", "skipped")}
    failed = [
        case for case in suite.iter("testcase") if case.find("failure") is not None or case.find("error") is not None
    ]
    for case in failed[:SHOWN]:
        problem = case.find("failure") if case.find("failure") is not None else case.find("error")
        words = (problem.get("message") or "") if problem is not None else ""
        setting.row(f"{case.get('classname')}::{case.get('name')}", "failed", ok=False, remark=words[:300])
    fine = counts["tests"] > 0 and not failed
    setting.row(f"{name}: tests passed", float(counts["tests"] - len(failed) - counts["skipped"]), ok=fine, more=counts)
