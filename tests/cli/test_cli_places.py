"""Names that lead nowhere, numbers that fit nowhere: one line or two, exit code 2, before anything is trained."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import pytest
from scalarviz.scenes.options import SceneOptions

from scalarviz.errors import InputError
from scalarviz.io import check_target, load_tensors
from scalarviz.run import memory


@pytest.fixture
def links(tmp_path):
    """Links in a circle, to nothing, to a file, and what is no regular file."""
    (tmp_path / "loop.safetensors").symlink_to("loop.safetensors")
    (tmp_path / "loop.cube").symlink_to("loop.cube")
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    os.mkfifo(tmp_path / "pipe.safetensors")
    (tmp_path / "file.safetensors").write_bytes(b"old")
    return tmp_path


LONG = "n" * 5000
REFUSED = [
    (["--save", "loop.safetensors"], "leads in a circle"),
    (["--export-lut", "loop.cube"], "leads in a circle"),
    (["--save", "a/x.safetensors"], "too many levels of symbolic links"),
    (["--out", "a/x.png"], "too many levels of symbolic links"),
    (["--save", "pipe.safetensors"], "not a regular file"),
    (["--save", "file.safetensors/x.safetensors"], "is a file, not a folder"),
    (["--load", "a"], "too many levels of symbolic links"),
    (["--load", "pipe.safetensors"], "device or a pipe"),
    (["--load", "/dev/zero"], "device or a pipe"),
    (["--load", LONG], "file name too long"),
    (["--load", "x\0y"], "'--load'"),
    (["--load", "x\ud800y"], "'--load'"),
    (["--save", f"{LONG}.safetensors"], "file name too long"),
    (["--save", "x\0y.safetensors"], "null"),
    (["--out", f"{LONG}.png"], "file name too long"),
    (["--out", f"new/{LONG}.png"], "file name too long"),
    (["--save", f"{LONG}/x.safetensors"], "file name too long"),
    (["--export-lut", f"{LONG}.cube"], "file name too long"),
    ([LONG], "file name too long"),
    (["/dev/zero"], "device or a pipe"),
    (["--source", "a", "--graded", "a"], "too many levels of symbolic links"),
    (["--hidden", "99999,99999"], "a run of 10,000,599,996 weights: that takes 860 GB of memory"),
    (["--hidden", "99999,99999", "--optimizer", "adam"], "weights: that takes 1660 GB of memory"),
    (["--batch", "100000000"], "less than or equal to 10000000"),
    (["--steps", "1e9"], "integer"),
]


@pytest.mark.parametrize(("arguments", "says"), REFUSED, ids=[" ".join(c[0])[:40] for c in REFUSED])
def test_it_is_said_before_anything_is_trained(rgb, links, arguments, says):
    before = sorted(os.listdir(links))
    result = rgb("--steps", 1, *arguments)
    assert (result.code, result.out) == (2, "")
    assert says in result.err
    assert len(result.err.splitlines()) <= 2
    assert len(result.err) < 500
    assert "Traceback" not in result.err
    assert sorted(os.listdir(links)) == before


def test_the_memory_of_a_large_network_is_said_before_it_is_tried(cli, monkeypatch):
    result = cli("digits", "--headless", "--engine", "numpy", "--channels", "99999,99999")
    assert result.code == 2
    assert "a run of 90,003,299,968 weights: that takes" in result.err
    assert "take smaller layers" in result.err
    monkeypatch.setattr("scalarviz.memory.free_memory", lambda: 10**9)
    with pytest.raises(InputError, match=r"that takes 1 GB of memory, 1 are free"):
        memory.check_run(12_000_000, "float32", 0, "numba")
    memory.check_run(11_000_000, "float32", 0, "numba")
    with pytest.raises(InputError, match="memory"):
        memory.check_run(11_000_000, "float64", 2, "numpy")


def test_a_link_stays_a_link_and_one_to_nothing_is_filled(rgb, links):
    (links / "link.safetensors").symlink_to("file.safetensors")
    (links / "nothing.safetensors").symlink_to("sub/deep/new.safetensors")
    for name in ("link", "nothing"):
        assert rgb("--steps", 2, "--save", f"{name}.safetensors").code == 0
        assert (links / f"{name}.safetensors").is_symlink()
    assert load_tensors(links / "file.safetensors")[1]
    assert load_tensors(links / "sub/deep/new.safetensors")[1]


def test_a_folder_that_vanishes_meanwhile_is_made_again(rgb, tmp_path, monkeypatch):
    from scalarviz.run.run import Run

    (tmp_path / "sub").mkdir()
    genuine = Run.step

    def step(self, *arguments, **named):
        genuine(self, *arguments, **named)
        (tmp_path / "sub").rmdir()

    monkeypatch.setattr(Run, "step", step)
    assert rgb("--steps", 2, "--save", "sub/w.safetensors").code == 0
    assert load_tensors(tmp_path / "sub" / "w.safetensors")[1]


def test_a_folder_that_became_a_file_is_said(rgb, tmp_path, monkeypatch):
    from scalarviz.run.run import Run

    genuine = Run.step

    def step(self, *arguments, **named):
        genuine(self, *arguments, **named)
        (tmp_path / "sub").write_text("in the way")

    monkeypatch.setattr(Run, "step", step)
    (tmp_path / "rescue").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "rescue"))
    result = rgb("--steps", 2, "--save", "sub/w.safetensors", "--json")
    assert (result.code, result.json["steps"]) == (2, 2)
    assert "cannot write sub/w.safetensors" in result.err.splitlines()[-1]
    assert "Traceback" not in result.err
    (rescued,) = (tmp_path / "rescue").glob("scalarviz-*/w.safetensors")
    assert f"wrote {rescued}" in result.err
    assert load_tensors(rescued)[0].keys() == {"0.weight", "0.bias"}
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    assert rgb("--steps", 2, "--save", "sub/w.safetensors").code == 2


def test_one_file_by_two_names_is_seen_through_links(links):
    (links / "other.safetensors").symlink_to("file.safetensors")
    assert check_target(links / "other.safetensors") == links / "file.safetensors"
    loop = links / "loop.safetensors"
    SceneOptions(save=loop)  # said by check_target, in words, and not by pathlib
    with pytest.raises(InputError, match="no file can have that name"):
        check_target("x\ud800.safetensors")


def test_a_working_folder_that_is_gone(tmp_path):
    (tmp_path / "gone").mkdir()
    line = f"rmdir ../gone; exec {sys.executable} -P -m scalarviz rgb --headless --engine numpy --steps 2"
    for more, code in [("", 0), ("--save w.safetensors", 2), ("--out x.png", 2)]:
        (tmp_path / "gone").mkdir(exist_ok=True)
        result = subprocess.run(
            ["sh", "-c", f"{line} {more}"],
            cwd=tmp_path / "gone",
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert result.returncode == code, result.stderr
        assert "Traceback" not in result.stderr
        assert code == 0 or "no such file or directory" in result.stderr
