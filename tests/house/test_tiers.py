"""The rules of `kit.tiers`: skips in CI, tests of GPU kernels, hunts, and tests that are too slow."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kit.tiers import has_numba_cuda

pytestmark = pytest.mark.ci  # each runs pytest anew
HAS = has_numba_cuda()
PLUGINS = ("-p", "plugin_of_test", "-p", "kit.tiers")
KIT = str(Path(__file__).resolve().parents[1])
SKIPS = """
import pytest
def test_passes(): pass
@pytest.mark.skipif(True, reason="no film here")
def test_skipped(): pass
def test_skips_itself(): pytest.skip("nothing to see")
@pytest.mark.skipif(True, reason="no GPU")
def test_gpu(): pass
"""
SKIPPED_MODULE = "import pytest\npytest.importorskip('no_such_module')\n"
MARKED = """
import pytest
def test_passes(): pass
@pytest.mark.cuda
def test_kernel(): pass
@pytest.mark.cuda
def test_other_kernel(): pass
@pytest.mark.hunt
def test_long_walk(): pass
"""
SLOW = """
import pytest
from kit import tiers
spent = 0.0
tiers._processor_seconds = lambda: spent  # a clock of its own, and no busy machine that allows more
tiers.SUM_SECONDS = float("inf")
def burn(seconds):
    global spent
    spent += seconds
loaded = []
def test_slow_the_first_time():
    if not loaded: loaded.append(burn(0.4))
def test_slow(): burn(0.4)
@pytest.mark.ci
def test_slow_and_marked(): burn(0.4)
"""
NEEDS = """
import pytest
def test_needs_its_own_extra(): import hypothesis, imageio_ffmpeg, PySide6, sklearn
def test_needs_onnx(): import onnx
def test_skips_without_it(): pytest.importorskip("IPython", reason="no GPU")
"""


def run(folder, text, *flags, has=HAS, **environment):
    """Pytest over a file of `text`, without numba-cuda where `has` is False."""
    folder.mkdir(exist_ok=True)
    (folder / "test_some.py").write_text(text, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = \n  cuda\n  ci\n  hunt\n", encoding="utf-8")
    (folder / "fake").mkdir()
    hidden = "" if has else "import sys\nsys.modules['numba_cuda'] = None\n"
    (folder / "fake" / "plugin_of_test.py").write_text(hidden, encoding="utf-8")
    paths = os.pathsep.join([str(folder / "fake"), KIT, *filter(None, [os.environ.get("PYTHONPATH")])])
    around = {"SCALARVIZ_NO_SKIPS": "", "SCALARVIZ_TEST_CUDA": "", "PYTHONPATH": paths, **environment}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *PLUGINS]
    return subprocess.run(
        [*command, *flags, str(folder)], env={**os.environ, **around}, capture_output=True, text=True, check=False
    )


def test_a_skip_is_a_failure_unless_it_says_no_gpu(tmp_path):
    (tmp_path / "test_module.py").write_text(SKIPPED_MODULE, encoding="utf-8")
    result = run(tmp_path, SKIPS, "--continue-on-collection-errors", SCALARVIZ_NO_SKIPS="1")
    assert "1 failed, 1 passed, 1 skipped, 2 errors" in result.stdout.splitlines()[-1], result.stdout
    assert "no_such_module" in result.stdout


def test_kernels_and_hunts_that_nobody_asked_for_are_left_out_and_slow_tests_fail(tmp_path):
    more = {"SCALARVIZ_TEST_CUDA": "0", "SCALARVIZ_NO_SKIPS": "1", "SCALARVIZ_TEST_SECONDS": "0.2"}
    result = run(tmp_path, MARKED + SLOW, "-n", "2", **more)
    why = "SCALARVIZ_TEST_CUDA=0" if HAS else "numba-cuda is not installed"
    line = f"2 tests marked cuda left out: {why} (make test-all runs them)"
    assert result.stdout.splitlines().count(line) == 1, result.stdout
    assert "1 failed, 3 passed" in result.stdout.splitlines()[-1], result.stdout
    assert "test_slow " in result.stdout


def test_tests_of_kernels_that_are_demanded_do_not_vanish(tmp_path):
    result = run(tmp_path, MARKED, has=False, SCALARVIZ_TEST_CUDA="1")
    assert result.returncode != 0
    assert "numba-cuda is not installed" in result.stderr


def test_make_test_sees_the_packages_of_its_extra_and_no_others(tmp_path):
    """Here all are installed, so that a test that needs more would pass."""
    result = run(tmp_path / "all", NEEDS)
    assert "3 passed" in result.stdout.splitlines()[-1], result.stdout
    result = run(tmp_path / "test", NEEDS, "-n", "1", "-m", "not ci and not hunt")
    assert "1 failed, 1 passed, 1 skipped" in result.stdout.splitlines()[-1], result.stdout
    assert "No module named 'onnx'" in result.stdout
