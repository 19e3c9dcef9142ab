"""One law over all writers: an old file keeps its mode, a read-only one is refused, a new one has the mode of `open`.
Of folders for files that nobody keeps what a killed process left goes away, and nothing else.

It imports writers and the folders' maker from where they stand: no user calls these alone.

The tests may run as root, whom no mode stops: they look at modes, not at who may read.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import io, nn, optim
from scalarviz.errors import InputError
from scalarviz.io.scratch import scratch
from scalarviz.lessons import copy, lessons
from scalarviz.sweep.table import write_table
from scalarviz.view.browser.link import write_player
from scalarviz.view.gif import Gif
from scalarviz.view.sweeps.opening import report_of_file

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
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


def film(kind):
    def write(path):
        pytest.importorskip("imageio_ffmpeg", reason="no extra video")
        with kind(path, (64, 64)) as one:
            one.add(np.zeros((64, 64, 3), np.uint8))

    return write


def onnx(path):
    pytest.importorskip("onnx", reason="no extra onnx")
    nn.Linear(2, 1).to_onnx(path)


def sweep(path):
    list(sv.sweep(build, seeds=1, steps=1, results=path, workers=0))
    return path


def table(path):
    with sv.sweep.Results(sweep(path.with_name("of.svs"))) as read:
        write_table(path, read.results())


WRITERS = {
    "bytes.bin": lambda path: io.write_bytes(path, b"new"),
    "tensors.safetensors": lambda path: io.save_tensors(path, {"w": np.ones(2)}),
    "run.safetensors": lambda path: build().save(path),
    "run.svz": recorded(sv.Recording.save),
    "page.html": recorded(sv.Recording.save_html),
    "player.html": write_player,
    "runs.svs": sweep,
    "runs.csv": table,
    "report.html": lambda path: report_of_file(sweep(path.with_name("of.svs")), path),
    "net.onnx": onnx,
    "colours.cube": lambda path: io.write_cube(path, io.Lut(np.zeros((2, 2, 2, 3)))),
    "photo.jpg": lambda path: io.save_picture(path, PIXELS),
    "still.png": lambda path: sv.view.save_png(path, PIXELS),
    "graph.svg": lambda path: sv.draw(sv.Value(2.0) * 3.0).save(path),
    "film.mp4": film(sv.view.Film),
    "film.gif": film(Gif),
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


def test_a_new_recording_has_the_mode_of_open(tmp_path, umask):
    with sv.Recording(build(), path=tmp_path / "run.svz"):
        assert {mode(file) for file in tmp_path.iterdir()} == {0o666 & ~umask}


def test_nobody_else_reads_a_private_file_while_it_is_written(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "real").chmod(0o600)
    (tmp_path / "link").symlink_to("real")
    with io.replacing(tmp_path / "link") as fresh:
        assert mode(fresh) == 0o600
        fresh.write_bytes(b"new")
    assert (tmp_path / "link").is_symlink()
    assert ((tmp_path / "real").read_bytes(), mode(tmp_path / "real")) == (b"new", 0o600)


def test_a_read_only_lesson_that_is_kept_stops_no_copy(tmp_path):
    kept = tmp_path / lessons()[0].notebook.name
    kept.write_bytes(b"a pupil's")
    kept.chmod(0o444)
    assert copy(tmp_path).kept == [kept]


# ---- folders that nobody keeps

MAKES = """
import os, sys, tempfile
from scalarviz.io.scratch import scratch
folder = tempfile.mkdtemp(prefix=scratch())
open(os.path.join(folder, "run.svz"), "w").close()
print(os.path.basename(folder), flush=True)
sys.stdin.read()
os._exit(9)
"""


def test_only_folders_of_processes_that_are_no_more_go(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", MAKES], env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        name = other.stdout.readline().strip()
        mine = Path(tempfile.mkdtemp(prefix=scratch()))
        assert {path.name for path in tmp_path.iterdir()} == {name, mine.name}  # it lives
        other.communicate("")
    kept = [mine, tmp_path / "scalarviz-rescued", tmp_path / "somebody"]
    for path in kept[1:]:
        path.mkdir()
    link = tmp_path / f"{name}link"
    link.symlink_to(tmp_path / "somebody")
    assert scratch() == mine.name[: len(scratch())]
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in [*kept, link]}
