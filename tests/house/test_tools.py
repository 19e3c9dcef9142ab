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


def gl(fakes, libraries, *parts, user="0", system="Linux", apt='echo "apt $@" >&2'):
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
    "macOS needs none": ({"libraries": "nothing", "system": "Darwin"}, (), ""),
    "somebody else than root": ({"user": "1000"}, (), f"type this once: sudo apt-get install {NAMES['pictures']}"),
    "a window": ({"user": "1000"}, ("window",), "libxcb-cursor0"),
    "a window and the tests": ({"user": "1000"}, ("window", "tests"), "libxkbcommon0 xvfb xdotool chromium"),
    "the tests": ({"user": "1000", "libraries": ALL}, ("tests",), f"apt-get install {NAMES['tests']}"),
    "an X server is there": (
        {"user": "1000", "libraries": ALL, "there": "Xvfb"}, ("tests",), "apt-get install xdotool chromium"
    ),
    **{f"{name} is a browser": (
        {"user": "1000", "libraries": ALL, "there": name}, ("tests",), "apt-get install xvfb xdotool"
    ) for name in ("chromium", "chromium-browser", "google-chrome")},
    "another Linux": ({"apt": ""}, (), f"your system's packages for them (Debian calls them {NAMES['pictures']})"),
}  # fmt: skip


@pytest.mark.parametrize("name", SAID)
def test_what_is_missing_is_said_with_the_line_to_type(fakes, name):
    given, parts, words = SAID[name]
    if "there" in (given := dict(given)):
        fakes[0](given.pop("there"), "exit 0")
    result = gl(fakes, given.pop("libraries", "nothing"), *parts, **given)
    assert (result.returncode, result.stderr) == (0, "")
    assert words in result.stdout if words else result.stdout == ""
    assert ("libxcb" in result.stdout, "xvfb" in result.stdout) == ("window" in parts, "xvfb" in words)


def test_root_on_debian_gets_them_installed_and_is_told(fakes, tmp_path):
    log = tmp_path / "apt.log"
    result = gl(fakes, "libGL.so.1", apt=f'echo "$@" >> {log}')
    assert result.returncode == 0
    assert "libEGL.so.1 libfontconfig.so.1" in result.stdout
    assert "installing them" in result.stdout
    assert "install -y -qq --no-install-recommends libegl1 libfontconfig1\n" in log.read_text()


def test_a_package_that_does_not_exist_keeps_no_other_away(fakes, tmp_path):
    """Ubuntu has Chromium as a snap."""
    log = tmp_path / "apt.log"
    result = gl(fakes, ALL, "tests", apt=f'case "$*" in *chromium*) exit 100 ;; esac; echo "$@" >> {log}')
    assert result.returncode == 0
    assert "that failed" in result.stderr
    wanted = [f"install -y -qq --no-install-recommends {name}" for name in ("xvfb", "xdotool")]
    assert log.read_text().splitlines()[-2:] == wanted


def test_the_make_targets_ask_for_what_they_need():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "@.ci/system-libraries $(if $(DISPLAY)$(WAYLAND_DISPLAY),window)" in makefile.split("demo:")[1]
    assert "@.ci/system-libraries\n" in makefile.split("\ntest:")[1].split("\ntest-all:")[0]
    assert "@.ci/system-libraries window tests" in makefile.split("\ntest-all:")[1]
    assert "tools/" not in makefile


def test_a_failed_installation_is_said_and_stops_nothing(fakes):
    result = gl(fakes, "nothing", apt="echo no network; exit 100")
    assert result.returncode == 0
    assert "no network" in result.stderr
    assert "training still works" in result.stderr


# ---- find-python: a fake Python answers the check with its exit code and -V with its version


def python(write, name, code, version="Python 3.8.10"):
    write(name, f'[ "$1" = -V ] && echo "{version}" && exit 0\nexit {code}')


def test_the_newest_usable_python_is_taken(fakes):
    write, run = fakes
    python(write, "python3.13", 4)  # has no venv
    python(write, "python3.12", 0)
    python(write, "python3", 3)
    result = run("find-python")
    assert result.returncode == 0
    assert result.stdout.strip().endswith("/python3.12")


def test_an_old_python_is_said_and_is_no_traceback(fakes):
    write, run = fakes
    python(write, "python3", 3)
    result = run("find-python")
    assert result.returncode == 1
    assert "needs Python 3.11 or newer" in result.stderr
    assert "Python 3.8.10" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_python_without_venv_is_said(fakes):
    write, run = fakes
    python(write, "python3", 4)
    assert "apt-get install python3-venv" in run("find-python").stderr


def test_no_python_at_all_and_a_python_of_ones_own(fakes):
    write, run = fakes
    assert "found none" in run("find-python").stderr
    python(write, "mine", 0)
    assert run("find-python", PYTHON="mine").stdout.strip().endswith("/mine")


def test_the_check_itself_on_this_python():
    text = (ROOT / ".ci" / "find-python").read_text(encoding="utf-8")
    check = text.split("usable='")[1].split("'\n")[0]
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
