"""Files are written whole or not at all and keep their mode; what stands in the way is said.

The tests may run as root, whom no mode stops: they look at modes, not at who may read.
"""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from kit.refusals import refusals
from scalarviz import io, nn, optim
from scalarviz.errors import InputError
from scalarviz.io import check_target, replacing, write_bytes
from scalarviz.io.atomic import scratch
from scalarviz.lessons import copy, lessons


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


# ---- an old file keeps its mode, a new one has that of open; nobody else reads it meanwhile


PIXELS = np.zeros((8, 8, 3), np.uint8)


def build(seed=0):
    net = nn.Linear(2, 1, seed=seed)
    data = np.ones((1, 2)), np.ones((1, 1))
    return sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=data, engine="numpy")


def recorded(write):
    def record(path):
        with sv.Recording(run := build()) as recording:
            run.step(1)
            write(recording, path)

    return record


def film(path):
    pytest.importorskip("imageio_ffmpeg", reason="no extra video")
    with sv.view.Film(path, (64, 64)) as one:
        one.add(np.zeros((64, 64, 3), np.uint8))


def onnx(path):
    pytest.importorskip("onnx", reason="no extra onnx")
    nn.Linear(2, 1).to_onnx(path)


def sweep(path):
    list(sv.sweep(build, seeds=1, steps=1, results=path, workers=0))
    return path


WRITERS = {
    "bytes.bin": lambda path: io.write_bytes(path, b"new"),
    "tensors.safetensors": lambda path: io.save_tensors(path, {"w": np.ones(2)}),
    "run.safetensors": lambda path: build().save(path),
    "run.svz": recorded(sv.Recording.save),
    "page.html": recorded(sv.Recording.save_html),
    "runs.svs": sweep,
    "net.onnx": onnx,
    "colours.cube": lambda path: io.write_cube(path, io.Lut(np.zeros((2, 2, 2, 3)))),
    "photo.jpg": lambda path: io.save_picture(path, PIXELS),
    "still.png": lambda path: sv.view.save_png(path, PIXELS),
    "graph.svg": lambda path: sv.draw(sv.Value(2.0) * 3.0).save(path),
    "film.mp4": film,
    lessons()[0].notebook.name: lambda path: copy(path.parent, overwrite=True),
}


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask():
    """Group may read what is made, others nothing: SQLite, left alone, would give files a mode of its own."""
    before = os.umask(0o007)
    yield 0o007
    os.umask(before)


@pytest.mark.ci
@pytest.mark.parametrize("name", WRITERS)
def test_a_writer_keeps_the_mode_of_the_file(tmp_path, umask, name):
    path, write = tmp_path / name, WRITERS[name]
    write(path)
    assert mode(path) == 0o666 & ~umask
    for old in (0o600, 0o640, 0o644, 0o604):
        path.chmod(old)
        if path.suffix == ".ipynb":
            path.write_bytes(b"another")  # one that is the same is left alone
        write(path)
        assert mode(path) == old
    path.chmod(0o444)
    before = path.read_bytes()
    with pytest.raises(InputError, match=rf"{name}: it is read-only \(mode 0444\).*chmod u\+w"):
        write(path)
    assert (path.read_bytes(), mode(path)) == (before, 0o444)
    assert not [left for left in os.listdir(tmp_path) if ".part" in left]


def test_nobody_else_reads_a_private_file_while_it_is_written(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "real").chmod(0o600)
    (tmp_path / "link").symlink_to("real")
    with io.replacing(tmp_path / "link") as fresh:
        assert mode(fresh) == 0o600
        fresh.write_bytes(b"new")
    assert (tmp_path / "link").is_symlink()
    assert ((tmp_path / "real").read_bytes(), mode(tmp_path / "real")) == (b"new", 0o600)


def test_only_folders_of_processes_that_are_no_more_go(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    mine, own = f"{scratch()}abc", f"-{os.getpid()}-"
    dead, living = mine.replace(own, f"-{2**22 + 1}-"), mine.replace(own, "-1-")  # no process has such a high number
    kept = {mine, living, "scalarviz-rescued"}
    for name in {dead, *kept}:
        (tmp_path / name).mkdir()
    (tmp_path / f"{dead}link").symlink_to(tmp_path / mine)
    assert scratch() == mine.removesuffix("abc")
    assert set(os.listdir(tmp_path)) == {*kept, f"{dead}link"}
