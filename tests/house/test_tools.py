"""The two shell helpers of the Makefile in ``.ci``, with the system's commands replaced by small fakes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ALL = "libEGL.so.1 libGL.so.1 libfontconfig.so.1"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="make and sh are not used on Windows")


@pytest.fixture
def fakes(tmp_path):
    """A folder to be the whole PATH: a few real commands, and fakes that the test writes."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "tail", "rm", "mktemp", "cat"):
        (folder / name).symlink_to(shutil.which(name))

    def write(name, text):
        (folder / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (folder / name).chmod(0o755)

    def run(tool, *arguments, **environment):
        return subprocess.run(
            [shutil.which("sh"), ROOT / ".ci" / tool, *arguments],
            env={"PATH": str(folder), **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    return write, run


def gl(fakes, *parts, libraries="nothing", user="0", system="Linux", apt='echo "apt $@" >&2'):
    write, run = fakes
    write("uname", f"echo {system}")
    write("ldconfig", f"echo {libraries}")
    write("id", f"echo {user}")
    if apt:
        write("apt-get", apt)
    return run("system-libraries", *parts)


NAMES = {"pictures": "libegl1 libgl1 libfontconfig1", "tests": "xvfb xdotool chromium"}
SAID = {
    "the libraries are there": ({"libraries": ALL}, (), ""),
    "macOS needs none": ({"system": "Darwin"}, (), ""),
    "somebody else than root": ({"user": "1000"}, (), f"type this once: sudo apt-get install {NAMES['pictures']}"),
    "a window and the tests": ({"user": "1000"}, ("window", "tests"), "libxkbcommon0 xvfb xdotool chromium"),
    "another Linux": ({"apt": ""}, (), f"your system's packages for them (Debian calls them {NAMES['pictures']})"),
}


@pytest.mark.parametrize("name", SAID)
def test_what_is_missing_is_said_with_the_line_to_type(fakes, name):
    given, parts, words = SAID[name]
    result = gl(fakes, *parts, **given)
    assert (result.returncode, result.stderr) == (0, "")
    assert words in result.stdout if words else result.stdout == ""
    assert ("libxcb" in result.stdout, "xvfb" in result.stdout) == ("window" in parts, "tests" in parts)


def test_root_on_debian_gets_them_installed_and_a_failure_stops_nothing(fakes, tmp_path):
    """Ubuntu has Chromium as a snap, not as a package: the others are installed."""
    log = tmp_path / "apt.log"
    result = gl(fakes, "tests", libraries=ALL, apt=f'case "$*" in *chromium*) exit 100 ;; esac; echo "$@" >> {log}')
    assert result.returncode == 0
    assert "installing them" in result.stdout
    assert "that failed" in result.stderr
    wanted = [f"install -y -qq --no-install-recommends {name}" for name in ("xvfb", "xdotool")]
    assert log.read_text().splitlines()[-2:] == wanted
    result = gl(fakes, apt="echo no network; exit 100")
    assert result.returncode == 0
    assert all(said in result.stderr for said in ("no network", "training still works"))


# ---- find-python: a fake Python answers the check with its exit code and -V with its version


def python(write, name, code, version="Python 3.8.10"):
    write(name, f'[ "$1" = -V ] && echo "{version}" && exit 0\nexit {code}')


def test_the_newest_usable_python_is_taken_and_what_lacks_is_said(fakes):
    write, run = fakes
    assert "found none" in run("find-python").stderr
    python(write, "python3", 4)
    assert "apt-get install python3-venv" in run("find-python").stderr
    python(write, "python3", 3)
    result = run("find-python")
    assert result.returncode == 1
    assert all(said in result.stderr for said in ("needs Python 3.11 or newer", "Python 3.8.10"))
    python(write, "python3.13", 4)
    python(write, "python3.12", 0)
    result = run("find-python")
    assert result.returncode == 0
    assert result.stdout.strip().endswith("/python3.12")
    python(write, "mine", 0)
    assert run("find-python", PYTHON="mine").stdout.strip().endswith("/mine")
