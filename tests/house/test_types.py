"""Users' scripts pass mypy and pyright in strict mode, and what they get wrong is reported."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.ci  # mypy reads the types of PyTorch
ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "tests" / "kit" / "typed"
RIGHT, WRONG = (SCRIPTS / "plain.py", SCRIPTS / "user.py"), SCRIPTS / "wrong.py"
# the options of a user, not those of this project; the cache is not shared with make lint, which may run beside
MYPY = "mypy --config-file= --strict --follow-imports=silent --cache-dir=.mypy_cache/users --no-error-summary"
CHECKERS = {"mypy": MYPY.split(), "pyright": ["pyright", "--pythonpath", sys.executable]}


def marked():
    lines = WRONG.read_text(encoding="utf-8").splitlines()
    return {i for i, line in enumerate(lines, 1) if line.endswith("# wrong")}


@pytest.mark.parametrize("checker", CHECKERS)
def test_a_checker_reports_the_mistakes_and_nothing_else(checker):
    pytest.importorskip(checker, reason=f"no {checker} (extra ci)")
    pytest.importorskip("torch", reason="no PyTorch (extra oracle)")
    found = subprocess.run(
        [sys.executable, "-m", *CHECKERS[checker], *map(str, RIGHT), str(WRONG)],
        check=False, cwd=ROOT, capture_output=True, text=True, timeout=500,
    )  # fmt: skip
    said = re.findall(r"(\w+\.py):(\d+):.*\berror: ", found.stdout)
    assert [line for line in found.stdout.splitlines() if re.search(r"(plain|user)\.py:.*error", line)] == []
    assert {int(number) for name, number in said if name == WRONG.name} == marked(), found.stdout + found.stderr


@pytest.mark.parametrize("path", RIGHT, ids=lambda path: path.stem)
def test_the_scripts_run(path):
    """What the checkers accept is what works."""
    pytest.importorskip("torch", reason="no PyTorch (extra oracle)")
    subprocess.run([sys.executable, str(path)], cwd=ROOT, check=True, capture_output=True, timeout=500)
