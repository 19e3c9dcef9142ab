"""On a system without fontconfig or OpenGL a run trains and saves; one line says what to install."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# The loader of a bare system: as if the library were not installed.
BARE = """
import ctypes, ctypes.util, sys
missing = sys.argv.pop(1)
find, load = ctypes.util.find_library, ctypes.CDLL.__init__
def find_library(name):
    return None if missing in name else find(name)
def init(self, name, *rest, **named):
    if missing in str(name):
        raise OSError(f"{name}: cannot open shared object file")
    load(self, name, *rest, **named)
ctypes.util.find_library, ctypes.CDLL.__init__ = find_library, init
"""
COMMAND = BARE + "from scalarviz.cli.main import main; sys.exit(main(sys.argv[1:]))"
LIBRARY = (
    BARE
    + """
import scalarviz as sv
try:
    sv.render(sv.Weight(1.0))
except sv.ScalarvizError as error:
    print(error)
"""
)


def bare(folder: Path, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    # tests of windows before this one may have named a display to this process
    around = {name: value for name, value in os.environ.items() if name not in {"DISPLAY", "WAYLAND_DISPLAY"}}
    return subprocess.run(command, cwd=folder, env=around, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("library", ["fontconfig", "libGL.so"])
def test_a_run_without_the_library_keeps_its_weights(tmp_path: Path, library: str) -> None:
    arguments = ["rgb", "--headless", "--engine", "numpy", "--steps", "2", "--out", "x.png", "--save", "w.safetensors"]
    done = bare(tmp_path, COMMAND, library, *arguments, "--json")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
    assert done.stderr.count("apt-get install libegl1 libgl1 libfontconfig1") == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["w.safetensors"]
    assert '"steps": 2' in done.stdout


@pytest.mark.parametrize("library", ["fontconfig", "libGL.so"])
def test_a_plain_run_trains_and_says_so_in_one_line(tmp_path: Path, library: str) -> None:
    done = bare(tmp_path, COMMAND, library, "rgb", "--engine", "numpy", "--steps", "2", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("apt-get install") == 1
    assert '"steps": 2' in done.stdout


def test_the_library_says_it_as_an_error_of_its_own(tmp_path: Path) -> None:
    done = bare(tmp_path, LIBRARY, "fontconfig")
    assert done.returncode == 0, done.stderr
    assert "libfontconfig1" in done.stdout
    assert "fontconfig not found" in done.stdout
