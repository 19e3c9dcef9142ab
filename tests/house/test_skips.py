"""Where skips are failures, they are; the suite cannot shrink in silence."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import pytest

def test_passes(): pass

@pytest.mark.skipif(True, reason="no film here")
def test_skipped(): pass

def test_skips_itself(): pytest.skip("nothing to see")

@pytest.mark.skipif(True, reason="no GPU")
def test_gpu(): pass
"""


@pytest.mark.parametrize(
    ("strict", "counts"), [("1", "1 failed, 1 passed, 1 skipped, 1 error"), ("", "1 passed, 3 skipped")]
)
def test_a_skip_is_a_failure_unless_it_says_no_gpu(tmp_path, strict, counts):
    shutil.copy(Path(__file__).resolve().parents[1] / "conftest.py", tmp_path / "conftest.py")
    (tmp_path / "test_some.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        env={**os.environ, "SCALARVIZ_NO_SKIPS": strict},
        capture_output=True,
        text=True,
        check=False,
    )
    assert counts in result.stdout.splitlines()[-1], result.stdout
    assert result.returncode == (1 if strict else 0)


def test_a_module_that_skips_itself_is_a_failure_too(tmp_path):
    shutil.copy(Path(__file__).resolve().parents[1] / "conftest.py", tmp_path / "conftest.py")
    (tmp_path / "test_some.py").write_text("import pytest\npytest.importorskip('no_such_module')\n", encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        env={**os.environ, "SCALARVIZ_NO_SKIPS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode != 0
    assert "no_such_module" in result.stdout
