"""Where skips are failures, they are; the suite cannot shrink in silence."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # each runs pytest anew

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


MARKED = """
import pytest

def test_passes(): pass

@pytest.mark.cuda
def test_kernel(): pass

@pytest.mark.cuda
def test_other_kernel(): pass
"""
HAS = importlib.util.find_spec("numba_cuda") is not None


def run_marked(folder, wanted, *flags, has=HAS):
    """Run MARKED with numba-cuda there or not, as `has` says (an empty module stands for it)."""
    shutil.copy(Path(__file__).resolve().parents[1] / "conftest.py", folder / "conftest.py")
    (folder / "test_some.py").write_text(MARKED, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = cuda\n", encoding="utf-8")
    (folder / "fake").mkdir()
    fake = "" if has else "import sys\nsys.modules['numba_cuda'] = None\n"
    (folder / "fake" / "plugin_of_test.py").write_text(fake, encoding="utf-8")
    if has and not HAS:
        (folder / "fake" / "numba_cuda.py").touch()
    paths = os.pathsep.join([str(folder / "fake"), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "plugin_of_test", *flags, str(folder)],
        env={**os.environ, "SCALARVIZ_NO_SKIPS": "1", "SCALARVIZ_TEST_CUDA": wanted, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("flags", [(), ("-n", "2")], ids=["one_process", "two_processes"])
@pytest.mark.parametrize(
    ("wanted", "has", "why"), [("", False, "numba-cuda is not installed"), ("0", True, "SCALARVIZ_TEST_CUDA=0")]
)
def test_cuda_tests_are_left_out_with_one_line(tmp_path, flags, wanted, has, why):
    result = run_marked(tmp_path, wanted, *flags, has=has)
    line = f"2 tests marked cuda left out: {why} (make test CUDA=1 runs them)"
    assert result.stdout.splitlines().count(line) == 1, result.stdout
    assert "1 passed" in result.stdout.splitlines()[-1]
    assert result.returncode == 0


@pytest.mark.parametrize("wanted", ["", "1"])
def test_cuda_tests_run_where_numba_cuda_is(tmp_path, wanted):
    result = run_marked(tmp_path, wanted, has=True)
    assert "3 passed" in result.stdout.splitlines()[-1], result.stdout
    assert "left out" not in result.stdout


def test_cuda_tests_that_are_demanded_do_not_vanish(tmp_path):
    result = run_marked(tmp_path, "1", has=False)
    assert result.returncode != 0
    assert "numba-cuda is not installed" in result.stderr
