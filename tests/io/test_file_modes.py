"""One law over writers: an old file keeps its mode, a read-only one is refused, a new one has the mode of `open`.

The tests may run as root, whom no mode stops: they look at modes, not at who may read.
"""

from __future__ import annotations

import os
import stat

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import io, nn, optim
from scalarviz.errors import InputError
from scalarviz.lessons import copy, lessons

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
