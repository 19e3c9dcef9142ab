"""`scalarviz SCENE --html run.html`: a page of about 300 frames, however the run ends."""

from __future__ import annotations

import json
import re
import signal
import zlib

import pytest

import scalarviz as sv
from scalarviz.cli.page import FEWEST, FRAMES, frames_of
from scalarviz.errors import InputError
from scalarviz.run import Run
from scalarviz.view.browser import recorded as pages
from scalarviz.view.browser.pack import bytes_of

HEAD = re.compile(r'id="run">([^<]*)<')


def told(path):
    """What a page says of its run."""
    return json.loads(zlib.decompress(bytes_of(HEAD.search(path.read_text())[1]), -15))


@pytest.fixture(autouse=True)
def _no_pictures(monkeypatch):
    """Drawing takes long; what is drawn is tested elsewhere."""
    from scalarviz.view.recorded import pictures

    monkeypatch.setattr(pictures, "available", lambda: "not here")
    monkeypatch.setattr(pages, "available", lambda: "not here")


def test_a_page_of_300_frames(rgb, tmp_path):
    (tmp_path / "run.html").write_text("old")
    result = rgb("--steps", 900, "--html", "run.html")
    assert result.code == 0, result.err
    assert "wrote run.html" in result.err
    assert [path.name for path in tmp_path.iterdir()] == ["run.html"]
    said = told(tmp_path / "run.html")
    assert said["steps"] == list(range(0, 901, 3))
    assert said["document"]["title"] == "rgb"
    assert {key["name"] for key in said["keys"]} >= {"show_gradients", "show_updates", "toggle_run"}


def test_beside_a_recording_and_with_every(rgb, tmp_path):
    assert rgb("--steps", 2000, "--recording", "run.svz", "--html", "run.html").code == 0
    with sv.load_recording("run.svz") as record:
        assert len(record) == 1001
    assert len(told(tmp_path / "run.html")["steps"]) == FRAMES + 1
    assert rgb("--steps", 10, "--every", 5, "--html", "a.html", "--theme", "light").code == 0
    said = told(tmp_path / "a.html")
    assert said["steps"] == [0, 5, 10]
    assert said["document"]["theme"] == "light"


def test_a_signal_leaves_a_page_of_what_there_is(rgb, press, tmp_path):
    press(Run, "_advance", times=1, call=40, number=signal.SIGINT)
    assert rgb("--steps", 10**6, "--every", 1, "--html", "run.html").code == 130
    assert len(told(tmp_path / "run.html")["steps"]) >= 40


def test_a_full_disk_is_said_and_the_old_page_stays(rgb, tmp_path, monkeypatch):
    def full(path, data):
        raise InputError(f"cannot write {path}: no space left on device")

    monkeypatch.setattr(pages, "write_bytes", full)
    (tmp_path / "run.html").write_text("old")
    result = rgb("--steps", 3, "--html", "run.html", "--save", "w.safetensors")
    assert result.code == 2
    assert "cannot write run.html: no space left on device" in result.err
    assert (tmp_path / "run.html").read_text() == "old"
    assert (tmp_path / "w.safetensors").exists()


def test_large_networks_have_fewer_frames():
    assert frames_of(12) == FRAMES
    assert frames_of(10**5) == 200
    assert frames_of(10**7) == FEWEST


def test_a_large_page_is_said(rgb, monkeypatch):
    monkeypatch.setattr(pages, "LARGE", 1000)
    result = rgb("--steps", 3, "--html", "run.html")
    assert result.code == 0
    assert "larger every= (now every=1)" in result.err


def test_a_recording_becomes_a_page(rgb, cli, tmp_path):
    assert rgb("--steps", 20, "--every", 5, "--recording", "run.svz").code == 0
    result = cli("replay", "run.svz", "--html", "page.html", "--theme", "light", "--json")
    assert result.code == 0, result.err
    assert result.err.count("wrote page.html") == 1
    assert result.json["frames"] == 5
    said = told(tmp_path / "page.html")
    assert said["steps"] == [0, 5, 10, 15, 20]
    assert said["document"]["theme"] == "light"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "run.svz"]


@pytest.mark.parametrize(
    ("more", "words"),
    [(["--html", "x.txt"], "pages are written as"), (["run.svz", "--html", "p.html", "--steps", 5], "all steps"),
     (["--steps", 5, "--html", "p.html"], "a page is of all steps"), (["--html", "no/no/p.html"], "")],
)  # fmt: skip
def test_what_no_page_can_be_made_of_is_refused(rgb, cli, tmp_path, more, words):
    (tmp_path / "no").write_text("a file")
    assert rgb("--steps", 5, "--recording", "run.svz").code == 0
    result = cli("replay", "run.svz", *more)
    assert result.code == 2
    assert words in result.err
    assert "Traceback" not in result.err
    assert not (tmp_path / "p.html").exists()
