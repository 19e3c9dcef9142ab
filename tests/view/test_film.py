"""Pacing, and films that can be read back."""

from __future__ import annotations

import shutil
import subprocess
import warnings
from pathlib import Path
from types import SimpleNamespace

import imageio_ffmpeg
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from kit.runs import bits, make_run
from scalarviz import nn, optim
from scalarviz.errors import DivergedError, InputError
from scalarviz.io import replacing
from scalarviz.view.out.files import Film, film_of, save_png
from scalarviz.view.watch.pace import pace


@settings(max_examples=60, deadline=None)
@given(total=st.integers(0, 10**7), duration=st.floats(0.2, 40), fps=st.integers(1, 60))
def test_a_pace_never_falls_and_ends_at_the_last_step(total: int, duration: float, fps: int) -> None:
    steps = pace(total, duration, fps)
    assert len(steps) == max(2, round(duration * fps))
    assert steps[0] == 0
    assert steps[-1] == total
    assert np.all(np.diff(steps) >= 0)


def test_one_step_a_frame_for_two_seconds_then_a_smooth_ramp() -> None:
    steps = pace(3000, 20, 30)
    assert np.array_equal(steps[:61], np.arange(61))
    rate = np.diff(steps[60:]).astype(float)
    smooth = np.convolve(rate, np.ones(15) / 15, mode="valid")
    assert smooth[0] < 1.3
    assert np.all(np.diff(smooth) > -0.11)  # rounding to whole steps
    assert rate.max() < 40


def test_a_short_run_fills_the_film_as_well() -> None:
    steps = pace(10, 2, 30)
    assert len(steps) == 60
    assert set(steps) == set(range(11))


@pytest.mark.parametrize(
    ("total", "duration", "fps"),
    [(-1, 20, 30), (10, 0, 30), (10, float("nan"), 30), (10, float("inf"), 30), (10, 20, 0), (10, 1e6, 60)],
)
def test_impossible_paces_are_refused(total: int, duration: float, fps: int) -> None:
    with pytest.raises(InputError, match="allowed"):
        pace(total, duration, fps)


@pytest.mark.parametrize("size", [(64, 48), (63, 47)])
def test_a_film_has_every_frame_at_its_size_and_colour(tmp_path: Path, size: tuple[int, int]) -> None:
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")
    colours = [(200, 40, 40), (40, 200, 40), (40, 40, 200)]
    path = tmp_path / "deep" / "film.mp4"
    with Film(path, size, fps=10) as film:
        for colour in colours:
            film.add(np.full((size[1], size[0], 3), colour, np.uint8))
        assert not path.exists()
    even = (size[0] + size[0] % 2, size[1] + size[1] % 2)
    frames = _decoded(imageio_ffmpeg.get_ffmpeg_exe(), path, even)
    assert len(frames) == 3
    for frame, colour in zip(frames, colours, strict=True):
        assert np.abs(frame.reshape(-1, 3).mean(0) - colour).max() < 21
    assert [p.name for p in path.parent.iterdir()] == ["film.mp4"]


def _decoded(ffmpeg: str, path: Path, size: tuple[int, int]) -> np.ndarray:
    command = [ffmpeg, "-v", "error", "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    raw = subprocess.run(command, check=True, capture_output=True).stdout
    return np.frombuffer(raw, np.uint8).reshape(-1, size[1], size[0], 3)


def test_a_film_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    pytest.importorskip("imageio_ffmpeg")
    path = tmp_path / "film.mp4"
    path.write_bytes(b"old")
    with pytest.raises(RuntimeError, match="stop"), Film(path, (64, 48)) as film:
        film.add(np.zeros((48, 64, 3), np.uint8))
        raise RuntimeError("stop")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["film.mp4"]


@pytest.mark.parametrize(("free", "says"), [(10**9, "the encoder stopped"), (100, "no space left on device")])
def test_an_encoder_that_stops_is_said_in_words(tmp_path: Path, monkeypatch, free: int, says: str) -> None:
    pytest.importorskip("imageio_ffmpeg")

    def stopped():
        yield
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("scalarviz.view.out.files.shutil.disk_usage", lambda path: SimpleNamespace(free=free))
    with (
        pytest.raises(InputError, match=f"cannot write .*film.mp4: {says}"),
        Film(tmp_path / "film.mp4", (64, 48)) as f,
    ):
        f._writer.close()
        f._writer = stopped()
        next(f._writer)
        f.add(np.zeros((48, 64, 3), np.uint8))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["mp4", "gif"])
@pytest.mark.parametrize("again", [False, True])
def test_a_folder_that_is_removed_meanwhile_is_said(tmp_path: Path, ending: str, again: bool) -> None:
    pytest.importorskip("imageio_ffmpeg")
    folder = tmp_path / "gone"
    says = "gone; was the folder removed" if again else "its folder was removed meanwhile"
    with (
        pytest.raises(InputError, match=f"cannot write .*film.{ending}: .*{says}"),
        film_of(folder / f"film.{ending}", (64, 48)) as film,
    ):
        noise = np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8)
        while not film._written.stat().st_size:  # the encoder begins when it likes
            film.add(noise)
        shutil.rmtree(folder)
        if again:  # the weights of the same run made it anew
            folder.mkdir()
    assert not folder.exists() or list(folder.iterdir()) == []


def test_a_film_without_frames_or_with_wrong_ones_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("imageio_ffmpeg")
    with pytest.raises(InputError, match="no frame"), Film(tmp_path / "film.mp4", (64, 48)):
        pass
    with pytest.raises(InputError, match="64x48"), Film(tmp_path / "film.mp4", (64, 48)) as film:
        film.add(np.zeros((48, 48, 3), np.uint8))
    with pytest.raises(InputError, match="mp4"):
        Film(tmp_path / "film.avi", (64, 48))
    assert list(tmp_path.iterdir()) == []


def test_png_round_trip_and_refusals(tmp_path: Path) -> None:
    from PIL import Image

    picture = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    path = save_png(tmp_path / "new" / "a.png", picture)
    with Image.open(path) as image:
        assert np.array_equal(np.asarray(image), picture)
    with pytest.raises(InputError, match="uint8"):
        save_png(path, picture.astype(np.float32))  # type: ignore[arg-type]
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot write"):
        save_png(tmp_path / "file" / "a.png", picture)
    with pytest.raises(InputError, match="folder"):
        save_png(tmp_path / "new", picture)
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["a.png", "file", "new"]


def test_an_interrupted_writer_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), replacing(tmp_path / "x.png") as temporary:
        temporary.write_bytes(b"half")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_film_in_a_program_of_jax_brings_no_warning(tmp_path):
    """JAX warns of every fork, as that is by which an encoder begins."""
    pytest.importorskip("jax").numpy.ones(1)  # from its first array on
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Film(tmp_path / "a.mp4", (64, 64)) as film:
            film.add(np.zeros((64, 64, 3), np.uint8))
    assert (tmp_path / "a.mp4").stat().st_size > 100


def test_a_run_and_its_recording_are_filmed_in_one_line_and_filming_changes_no_bit(tmp_path: Path) -> None:
    small = {"size": (160, 160), "fps": 10, "duration": 1.0}
    runs = [make_run(), make_run()]
    with sv.Recording(runs[0], path=tmp_path / "run.svz"):
        film = sv.film(runs[0], tmp_path / "run.mp4", 40, **small)
    runs[1].step(40)
    assert runs[0].steps == 40
    assert bits(runs[0]) == bits(runs[1])
    with sv.load_recording(tmp_path / "run.svz") as recorded:
        films = film, sv.film(recorded, tmp_path / "again.gif", **small)
    assert films == (tmp_path / "run.mp4", tmp_path / "again.gif")
    for path in films:
        assert imageio_ffmpeg.count_frames_and_secs(str(path))[0] == 10
    net = nn.Sequential(nn.Linear(2, 2))
    diverging = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=1e20), (np.ones((4, 2)),) * 2, engine="numpy")
    with pytest.raises(DivergedError):
        sv.film(diverging, tmp_path / "diverged.mp4", 40, **small)
    assert (tmp_path / "diverged.mp4").exists()
