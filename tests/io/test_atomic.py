"""Files are written whole or not at all, and what stands in the way is said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kit.refusals import refusals
from scalarviz.errors import InputError
from scalarviz.io import check_target, replacing, write_bytes


def test_a_file_is_written_and_nothing_is_left_beside_it(tmp_path):
    write_bytes(tmp_path / "new" / "folder" / "a.bin", b"abc")
    assert (tmp_path / "new" / "folder" / "a.bin").read_bytes() == b"abc"
    assert os.listdir(tmp_path / "new" / "folder") == ["a.bin"]


def test_an_error_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), replacing(path) as fresh:
        assert fresh.suffix == ".png"
        fresh.write_bytes(b"half")
        1 / 0  # noqa: B018
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.png"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_really_full_disk(tmp_path):
    with pytest.raises(InputError, match="no space left"), replacing(tmp_path / "a") as fresh:
        fresh.write_bytes(b"")
        with open("/dev/full", "wb", buffering=0) as full:
            full.write(b"x")
    assert os.listdir(tmp_path) == []


@refusals({
    "a folder": (lambda it: write_bytes(it / "folder", b""), InputError, "is a folder"),
    "below a file": (lambda it: check_target(it / "file" / "x.png"), InputError, "is a file, not a folder"),
    "a device": (lambda it: check_target(os.devnull), InputError, "not a regular file"),
    "a long name": (lambda it: write_bytes(it / ("x" * 300), b""), InputError, "too long"),
})  # fmt: skip
def test_what_stands_in_the_way_is_said(tmp_path, refusal):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    refusal.check(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


HALF = """
import sys, time
from scalarviz.io import replacing
with replacing(sys.argv[1]) as fresh:
    with open(fresh, "wb") as file:
        file.write(b"half")
        file.flush()
        print("half", flush=True)
        sys.stdin.readline()
        file.write(b" and half")
"""


def writer(path: Path) -> subprocess.Popen:
    """A process that has written half of `path`, and goes on when it is told."""
    started = subprocess.Popen(
        [sys.executable, "-c", HALF, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert started.stdout.readline() == "half\n"
    return started


def kill(started: subprocess.Popen, wait: bool = True) -> None:
    started.send_signal(signal.SIGKILL)
    if wait:
        started.communicate()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no kill -9")
@pytest.mark.parametrize("name", ["a.bin", "no suffix", "[*]?.{4}.bin", ".hidden", "x" * 200])
def test_the_next_save_removes_what_a_killed_process_left(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"old")
    kill(writer(path))
    (left,) = set(os.listdir(tmp_path)) - {name}
    assert (tmp_path / left).read_bytes() == b"half"
    assert path.read_bytes() == b"old"
    write_bytes(path, b"new")
    assert os.listdir(tmp_path) == [name]
    assert path.read_bytes() == b"new"


def test_the_file_of_a_living_process_stays(tmp_path):
    path = tmp_path / "a.bin"
    other = writer(path)
    write_bytes(path, b"mine")
    with replacing(path) as fresh:  # and one of this process
        fresh.write_bytes(b"first")
        write_bytes(path, b"second")
    assert path.read_bytes() == b"first"
    assert len(os.listdir(tmp_path)) == 2
    other.communicate("go on\n")
    assert other.returncode == 0
    assert path.read_bytes() == b"half and half"
    assert os.listdir(tmp_path) == ["a.bin"]
