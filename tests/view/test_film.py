"""Pacing; films and pictures on disk: every frame at its time in its colours, a whole file or none."""

from __future__ import annotations

import os
import shutil
import subprocess
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given as examples
from hypothesis import settings
from hypothesis import strategies as st
from PIL import Image

import scalarviz as sv
from kit.runs import bits, make_run
from scalarviz import nn, optim
from scalarviz.errors import DivergedError, InputError
from scalarviz.io import replacing
from scalarviz.view.out import files
from scalarviz.view.out.files import MOST_FPS, Film, Gif, check_fps, film_of, save_png, whole_mp4
from scalarviz.view.watch.pace import pace

imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")
COLOURS = [(200, 40, 40), (40, 200, 40), (40, 40, 200), (250, 250, 250)]
ENDINGS = pytest.mark.parametrize("ending", ["mp4", "gif"])


def filled(size=(64, 48), colour=9):
    return np.full((size[1], size[0], 3), colour, np.uint8)


def names(folder):
    return sorted(path.name for path in folder.rglob("*"))


@settings(max_examples=60, deadline=None)
@examples(total=st.integers(0, 10**7), duration=st.floats(0.2, 40), fps=st.integers(1, 60))
def test_a_pace_never_falls_and_ends_at_the_last_step(total, duration, fps):
    steps = pace(total, duration, fps)
    assert len(steps) == max(2, round(duration * fps))
    assert (steps[0], steps[-1]) == (0, total)
    assert np.all(np.diff(steps) >= 0)


def test_one_step_a_frame_for_two_seconds_then_a_smooth_ramp_and_a_short_run_fills_the_film_as_well():
    steps = pace(3000, 20, 30)
    assert np.array_equal(steps[:61], np.arange(61))
    rate = np.diff(steps[60:]).astype(float)
    smooth = np.convolve(rate, np.ones(15) / 15, mode="valid")
    assert smooth[0] < 1.3
    assert np.all(np.diff(smooth) > -0.11)  # rounding to whole steps
    assert rate.max() < 40
    assert set(pace(10, 2, 30)) == set(range(11))


@pytest.mark.parametrize(
    "given", [(-1, 20, 30), (10, 0, 30), (10, np.nan, 30), (10, np.inf, 30), (10, 20, 0), (10, 1e6, 60)]
)
def test_impossible_paces_are_refused(given):
    with pytest.raises(InputError, match="allowed"):
        pace(*given)


def decoded(path, size):
    """The frames of an MP4."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    raw = subprocess.run(command, check=True, capture_output=True).stdout
    return np.frombuffer(raw, np.uint8).reshape(-1, size[1], size[0], 3)


def frames_of(path):
    """What a GIF shows in each hundredth of a second."""
    with Image.open(path) as image:
        found = []
        for number in range(image.n_frames):
            image.seek(number)
            found += [np.asarray(image.convert("RGB"))] * (image.info["duration"] // 10)
        assert image.info["loop"] == 0
    return found


@pytest.mark.parametrize("size", [(64, 48), (63, 47)])
@pytest.mark.parametrize("fps", [10, 30])
@ENDINGS
def test_every_frame_has_its_size_its_colours_and_its_time(tmp_path, ending, fps, size):
    path = tmp_path / "deep" / f"film.{ending}"
    with film_of(path, size, fps) as film:
        for k in range(12):
            film.add(filled(size, COLOURS[k // 3]))
        assert not path.exists()
    if ending == "mp4":  # of even sizes
        frames, each = decoded(path, (64, 48)), 1.0
        assert len(frames) == 12
        assert whole_mp4(path)
        part = tmp_path / "deep" / "part.mp4"
        for length in (0, 40, -1):
            part.write_bytes(path.read_bytes()[:length])
            assert not whole_mp4(part)
        part.unlink()
    else:
        frames, each = frames_of(path), 100 / fps
        assert len(frames) == pytest.approx(1200 / fps, abs=1)
        assert frames[0].shape == (size[1], size[0], 3)
    for number, colour in enumerate(COLOURS):
        middle = frames[int((number + 0.5) * 3 * each)]
        assert np.abs(middle.reshape(-1, 3).mean(axis=0) - colour).max() < (21 if ending == "mp4" else 6)
    assert names(tmp_path) == ["deep", f"film.{ending}"]


@ENDINGS
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_film_or_picture_that_fails_leaves_the_old_one(tmp_path, ending, error):
    path = tmp_path / f"film.{ending}"
    path.write_bytes(b"old")
    with pytest.raises(error), film_of(path, (64, 48)) as film:
        film.add(filled())
        raise error
    with pytest.raises(error), replacing(path) as temporary:
        temporary.write_bytes(b"half")
        raise error
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == [path.name]


@pytest.mark.parametrize(("free", "says"), [(10**9, "the encoder stopped"), (100, "no space left on device")])
def test_an_encoder_that_stops_is_said_in_words(tmp_path, monkeypatch, free, says):
    def stopped():
        yield
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("scalarviz.view.out.files.shutil.disk_usage", lambda path: SimpleNamespace(free=free))
    words = f"cannot write .*film.mp4: {says}"
    with pytest.raises(InputError, match=words), Film(tmp_path / "film.mp4", (64, 48)) as film:
        film._writer.close()
        film._writer = stopped()
        next(film._writer)
        film.add(filled())
    assert names(tmp_path) == []


@pytest.mark.parametrize("broken", ["palette", "painting", "end"])
def test_a_full_disk_leaves_no_half_gif(tmp_path, monkeypatch, broken):
    real, calls = files._ffmpeg, []

    def ffmpeg(arguments):
        calls.append(arguments)
        if broken == ("palette", "painting")[min(len(calls), 2) - 1]:
            arguments[-1].write_bytes(b"GIF89a")  # what had room
            return False
        done = real(arguments)
        if broken == "end" and len(calls) == 2:
            arguments[-1].write_bytes(arguments[-1].read_bytes()[:-1])
        return done

    monkeypatch.setattr(files, "_ffmpeg", ffmpeg)
    with pytest.raises(InputError, match="is the disk full"), Gif(tmp_path / "film.gif", (64, 48)) as film:
        film.add(filled())
    assert names(tmp_path) == []


@ENDINGS
@pytest.mark.parametrize("again", [False, True])
def test_a_folder_that_is_removed_meanwhile_is_said(tmp_path, ending, again):
    folder = tmp_path / "gone"
    says = "gone; was the folder removed" if again else "its folder was removed meanwhile"
    words = f"cannot write .*film.{ending}: .*{says}"
    with pytest.raises(InputError, match=words), film_of(folder / f"film.{ending}", (64, 48)) as film:
        noise = np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8)
        while not film._written.stat().st_size:  # the encoder begins when it likes
            film.add(noise)
        shutil.rmtree(folder)
        if again:  # the weights of the same run made it anew
            folder.mkdir()
    assert not folder.exists() or names(folder) == []


def test_what_a_process_that_was_killed_has_left_is_removed(tmp_path):
    with replacing(tmp_path / "film-frames.mp4") as left:
        left.write_bytes(b"x")
        (tmp_path / left.name.replace(f"-{os.getpid()}-", "-999999999-")).write_bytes(b"x")
    (tmp_path / "film-frames.mp4").unlink()
    with Gif(tmp_path / "film.gif", (64, 48)) as film:
        film.add(filled())
    assert names(tmp_path) == ["film.gif"]


def test_films_that_cannot_be_are_refused(tmp_path):
    for ending in ("mp4", "gif"):
        path = tmp_path / f"film.{ending}"
        with pytest.raises(InputError, match="no frame"), film_of(path, (64, 48)):
            pass
        with pytest.raises(InputError, match="64x48"), film_of(path, (64, 48)) as film:
            film.add(filled((48, 48)))
    for kind, ending in ((Film, "gif"), (Gif, "mp4"), (film_of, "webm")):
        with pytest.raises(InputError, match=r"ends in \."):
            kind(tmp_path / f"film.{ending}", (64, 48))
    with pytest.raises(InputError, match=f"at most {MOST_FPS} frames a second, got 60"):
        Gif(tmp_path / "film.gif", (64, 48), 60)
    check_fps(tmp_path / "film.mp4", 240)
    assert type(film_of(tmp_path / "film.MP4", (64, 48))) is Film
    assert names(tmp_path) == []


def test_png_round_trip_and_refusals(tmp_path):
    picture = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    path = save_png(tmp_path / "new" / "a.png", picture)
    assert np.array_equal(np.asarray(Image.open(path)), picture)
    (tmp_path / "file").write_text("x")
    for target, what, words in ((path, picture.astype(np.float32), "uint8"), (tmp_path / "new", picture, "folder"),
                                (tmp_path / "file" / "a.png", picture, "cannot write")):  # fmt: skip
        with pytest.raises(InputError, match=words):
            save_png(target, what)
    assert names(tmp_path) == ["a.png", "file", "new"]


def test_a_film_in_a_program_of_jax_brings_no_warning(tmp_path):
    """JAX warns of every fork, as that is by which an encoder begins."""
    pytest.importorskip("jax").numpy.ones(1)  # from its first array on
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Film(tmp_path / "a.mp4", (64, 64)) as film:
            film.add(filled((64, 64)))
    assert (tmp_path / "a.mp4").stat().st_size > 100


def test_a_run_and_its_recording_are_filmed_in_one_line_and_filming_changes_no_bit(tmp_path):
    small = {"size": (160, 160), "fps": 10, "duration": 1.0}
    runs = [make_run(), make_run()]
    with sv.Recording(runs[0], path=tmp_path / "run.svz"):
        made = [sv.film(runs[0], tmp_path / "run.mp4", 40, **small)]
    runs[1].step(40)
    assert bits(runs[0]) == bits(runs[1])
    with sv.load_recording(tmp_path / "run.svz") as recorded:
        made.append(sv.film(recorded, tmp_path / "again.gif", **small))
    assert made == [tmp_path / "run.mp4", tmp_path / "again.gif"]
    assert [imageio_ffmpeg.count_frames_and_secs(str(path))[0] for path in made] == [10, 10]
    net = nn.Sequential(nn.Linear(2, 2))
    fast, ones = optim.SGD(net.parameters(), lr=1e20), np.ones((4, 2))
    diverging = sv.Run(net, nn.MSELoss(), fast, (ones, ones), engine="numpy")
    with pytest.raises(DivergedError):
        sv.film(diverging, tmp_path / "diverged.mp4", 40, **small)
    assert (tmp_path / "diverged.mp4").exists()
