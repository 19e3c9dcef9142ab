"""`scalarviz replay`: one recording or two, as pictures and films; what cannot be shown is said in one line."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.io import load_picture

pytestmark = pytest.mark.gl


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Recordings of rgb: two seeds, and one with a hidden layer."""
    from scalarviz.run.scene_file import load_scene

    folder, loaded = tmp_path_factory.mktemp("made"), load_scene("rgb")
    for name, options in (("one", {}), ("two", {"seed": 1}), ("hidden", {"hidden": (4,)})):
        scene = loaded.build(loaded.options(engine="numpy", **options))
        with sv.Recording(scene, every=5, gradients=True, updates=True, activations=True, path=folder / f"{name}.svz"):
            scene.run.step(30)
    return folder


@pytest.fixture
def files(made, tmp_path):
    for file in made.iterdir():
        shutil.copy(file, tmp_path / file.name)


@pytest.fixture(autouse=True)
def no_display(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)


def picture(name):
    return np.rint(255 * load_picture(name).rgb).astype(np.uint8)


def test_a_picture_of_a_step_is_that_of_the_recording(cli, files):
    result = cli("replay", "one.svz", "--out", "a.png", "--at", 15, "--size", "640x360")
    assert (result.code, result.out) == (0, "")
    assert "wrote a.png" in result.err
    with sv.load_recording("one.svz") as recording:
        wanted = sv.view.render(recording, (640, 360), step=15, supersample=2, pace_text="recording  ·  recorded every "
                                "5 steps  ·  numpy, 1 thread")  # fmt: skip
    np.testing.assert_array_equal(picture("a.png"), wanted)


def test_steps_is_where_it_stands(cli, files):
    first = cli("replay", "one.svz", "--out", "a.png", "--steps", 10, "--json", "--size", "640x360")
    assert first.code == 0, first.err
    assert json.loads(first.out) == {
        "recording": "one.svz", "scene": "rgb", "steps": 30, "frames": 7, "loss": pytest.approx(0.1, abs=0.06),
        "weights": 12, "engine": "numpy, 1 thread", "branches": 1, "step": 10,
    }  # fmt: skip
    assert cli("replay", "one.svz", "--out", "b.png", "--at", 10, "--size", "640x360").code == 0
    assert picture("a.png").tobytes() == picture("b.png").tobytes()


@pytest.mark.parametrize("names", [["one.svz"], ["one.svz", "two.svz"]])
def test_a_film_and_a_still(cli, files, names, tmp_path):
    pytest.importorskip("imageio_ffmpeg", reason="no imageio-ffmpeg (extra video)")
    result = cli("replay", *names, "--out", "f.mp4", "--out", "f.gif", "--out", "p.png", "--duration", 1, "--fps", 10,
                 "--size", "320x240")  # fmt: skip
    assert result.code == 0, result.err
    assert {path.name for path in tmp_path.iterdir()} >= {"f.mp4", "f.gif", "p.png"}
    assert result.err.count("wrote ") == 3


def test_two_of_other_shapes_are_compared_where_they_can_be(cli, files):
    result = cli("replay", "one.svz", "hidden.svz", "--out", "p.png", "--size", "640x360")
    assert result.code == 2
    assert "nothing to compare: one has 0.weight 3×3" in result.err
    result = cli("replay", "one.svz", "two.svz", "--out", "p.png", "--size", "640x360", "--json")
    assert result.code == 0, result.err
    assert set(json.loads(result.out)) == {"a", "b", "step"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--out", "p.png", "--at", "7"], "one.svz has no step 7; recorded are 5 and 10, of 7 from 0 to 30"),
        (["--out", "p.png", "--at", "31"], "recorded are 0 to 30"),
        (["--steps", "7", "--out", "p.png"], "no step 7"),
        (["--at", "5"], "--at is of a picture"),
        (["--out", "p.txt"], "allowed are a film"),
        (["--headless", "--paused"], "--paused does nothing here"),
        (["--headless"], "--headless shows nothing: name a file with --out or --html, or ask for a line with --json"),
        (["--html", "p.html", "--cmap", "viridis"], "--cmap does nothing here: a page has"),
        (["--html", "p.html", "--duration", "3"], "--duration does nothing here"),
        (["--html", "p.html", "--html", "q.html"], "--html is given twice"),
        (["--out", "p.png", "--cmap", "no"], "colour map"),
        (["missing.svz", "--out", "p.png"], "missing.svz"),
    ],
)
def test_what_cannot_be_shown_is_said_and_nothing_is_written(cli, files, arguments, said, tmp_path):
    before = sorted(tmp_path.iterdir())
    result = cli("replay", "one.svz", *arguments)
    assert result.code == 2
    assert said in result.err
    assert "Traceback" not in result.err
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("name", ["p.html", "p.png"])
def test_no_file_is_written_over_the_recording(cli, files, name, tmp_path):
    (tmp_path / name).symlink_to(tmp_path / "one.svz")
    before = (tmp_path / "one.svz").read_bytes()
    result = cli("replay", "one.svz", "--html" if name.endswith("html") else "--out", name)
    assert (result.code, result.err) == (
        2,
        f"scalarviz: cannot write {name}: it is the recording itself; give another name\n",
    )
    assert (tmp_path / "one.svz").read_bytes() == before


@pytest.mark.parametrize("headless", [("--headless",), ()])
def test_a_line_without_a_display_draws_nothing_and_is_of_the_step_that_is_shown(cli, files, headless, tmp_path):
    before = sorted(tmp_path.iterdir())
    for more, step in (((), 30), (("--steps", 10), 10)):
        assert json.loads(cli("replay", "one.svz", *headless, "--json", *more).out)["step"] == step
    assert sorted(tmp_path.iterdir()) == before


def test_the_help_has_no_default_of_what_must_be_given(cli):
    assert "default" not in cli("replay", "--help").out.partition("OTHER")[0]


def test_without_a_recording_it_says_that_none_was_given(cli):
    result = cli("replay")
    assert (result.code, result.err) == (2, "scalarviz: RECORDING: nothing was given; wanted: what --recording wrote\n")


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "is empty"), (b"no recording", "is no recording"), (b"SQLite format 3\0" + bytes(100), "no recording")],
)
def test_a_foreign_file_is_refused_in_one_line(cli, content, said, tmp_path):
    (tmp_path / "x.svz").write_bytes(content)
    for names in (["x.svz"], ["x.svz", "x.svz"]):
        result = cli("replay", *names, "--out", "p.png")
        assert (result.code, len(result.err.strip().splitlines())) == (2, 1)
        assert said in result.err


def test_what_is_left_of_a_file_is_shown_and_what_is_missing_is_said(cli, files, tmp_path):
    whole = (tmp_path / "one.svz").read_bytes()
    (tmp_path / "cut.svz").write_bytes(whole[: len(whole) - 4096 * 3])
    result = cli("replay", "cut.svz", "--out", "p.png", "--size", "320x240")
    assert "Traceback" not in result.err
    if result.code == 0:
        assert "cut.svz: " in result.err
        assert (tmp_path / "p.png").exists()
    else:
        assert "cut.svz" in result.err


def test_names_are_only_names(cli, files, tmp_path):
    name = "a b ~ % 'ü' 漢 [x].svz"
    shutil.copy(tmp_path / "one.svz", tmp_path / name)
    (tmp_path / "sub").mkdir()
    shutil.copy(tmp_path / "two.svz", tmp_path / "sub" / name)
    assert cli("replay", name, "--out", "p.png", "--size", "320x240").code == 0
    result = cli("replay", name, f"sub/{name}", "--out", "q.png", "--size", "640x360")
    assert result.code == 0, result.err


def test_the_help_has_the_flags_of_the_scenes_in_their_words(cli):
    from scalarviz.scenes.options import SceneOptions

    from scalarviz.cli.replay import _SHARED, replay_options

    fields = replay_options().model_fields
    for name in _SHARED:
        assert fields[name].description == SceneOptions.model_fields[name].description
    said = cli("replay", "--help").out
    assert "RECORDING" in said
    assert "OTHER" in said


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_film_that_is_whole_and_the_picture_is_written(cli, files, press, number, code):
    pytest.importorskip("imageio_ffmpeg", reason="no imageio-ffmpeg (extra video)")
    from scalarviz.run.recorded_source import RecordedSource
    from scalarviz.view.film import whole_mp4

    press(RecordedSource, "stand", call=5, number=number)
    result = cli("replay", "one.svz", "--out", "f.mp4", "--out", "p.png", "--size", "320x240", "--duration", 600)
    assert result.code == code
    assert "the files were written" in result.err
    assert whole_mp4(Path("f.mp4"))
    assert Path("p.png").exists()


def test_that_a_recording_was_not_closed_is_said(cli, files):
    with sqlite3.connect("one.svz") as database:
        database.execute("INSERT INTO meta VALUES ('writer', '1 00000000')")  # as of a program that was killed
    database.close()
    result = cli("replay", "one.svz", "--out", "a.png", "--size", "320x180")
    assert result.code == 0
    assert "one.svz: the program that recorded it ended without closing it" in result.err
    assert "without closing it" not in cli("replay", "two.svz", "--out", "b.png", "--size", "320x180").err
