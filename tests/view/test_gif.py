"""Films as GIF: every frame is there, at its time and in its colours, and no half file is left."""

from __future__ import annotations

import itertools
import os

import numpy as np
import pytest
from PIL import Image

from scalarviz.errors import InputError
from scalarviz.io import replacing
from scalarviz.view.out import files
from scalarviz.view.out.files import MOST_FPS, Film, Gif, check_fps, film_of

COLOURS = [(200, 40, 40), (40, 200, 40), (40, 40, 200), (250, 250, 250)]


def filled(size, colour):
    return np.full((size[1], size[0], 3), colour, np.uint8)


def frames_of(path):
    """Colours (N, H, W, 3) and hundredths of a second of each frame."""
    with Image.open(path) as image:
        found = []
        for number in range(image.n_frames):
            image.seek(number)
            found.append((np.asarray(image.convert("RGB")), image.info["duration"] // 10))
        assert image.info["loop"] == 0
    return np.stack([picture for picture, _ in found]), [time for _, time in found]


@pytest.mark.parametrize("size", [(64, 48), (63, 47)])
@pytest.mark.parametrize("fps", [10, 30])
def test_every_frame_has_its_size_its_colours_and_its_time(tmp_path, size, fps):
    pytest.importorskip("imageio_ffmpeg")
    path = tmp_path / "deep" / "film.gif"
    with Gif(path, size, fps) as film:
        for colour, _ in itertools.product(COLOURS, range(3)):
            film.add(filled(size, colour))
        assert not path.exists()
    pictures, times = frames_of(path)
    assert pictures.shape[1:] == (size[1], size[0], 3)  # frames that are as the one before may be one
    shown = np.repeat(np.arange(len(pictures)), times)  # the frame of every hundredth
    for number, colour in enumerate(COLOURS):
        middle = pictures[shown[int((number + 0.5) * 3 * 100 / fps)]]
        assert np.abs(middle.reshape(-1, 3).mean(axis=0) - colour).max() < 6
    assert sum(times) == pytest.approx(100 * 12 / fps, abs=1)
    assert [p.name for p in path.parent.iterdir()] == ["film.gif"]


def test_a_film_that_fails_leaves_the_old_one(tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    path = tmp_path / "film.gif"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), Gif(path, (64, 48)) as film:
        film.add(filled((64, 48), 9))
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["film.gif"]


@pytest.mark.parametrize("broken", ["palette", "painting", "end"])
def test_a_full_disk_leaves_no_half_file(tmp_path, monkeypatch, broken):
    pytest.importorskip("imageio_ffmpeg")
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
        film.add(filled((64, 48), 9))
    assert list(tmp_path.iterdir()) == []


def test_what_a_process_that_was_killed_has_left_is_removed(tmp_path, monkeypatch):
    pytest.importorskip("imageio_ffmpeg")
    with replacing(tmp_path / "film-frames.mp4") as left:
        kept = left
        left.write_bytes(b"x")
        gone = tmp_path / left.name.replace(f"-{os.getpid()}-", "-999999999-")
        gone.write_bytes(b"x")
    (tmp_path / "film-frames.mp4").unlink()
    assert not kept.exists()
    with Gif(tmp_path / "film.gif", (64, 48)) as film:
        film.add(filled((64, 48), 9))
    assert [p.name for p in tmp_path.iterdir()] == ["film.gif"]


def test_films_that_cannot_be(tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    with pytest.raises(InputError, match="no frame"), Gif(tmp_path / "film.gif", (64, 48)):
        pass
    with pytest.raises(InputError, match="64x48"), Gif(tmp_path / "film.gif", (64, 48)) as film:
        film.add(filled((48, 48), 0))
    with pytest.raises(InputError, match=r"ends in \.gif"):
        Gif(tmp_path / "film.mp4", (64, 48))
    with pytest.raises(InputError, match=f"at most {MOST_FPS} frames a second, got 60"):
        Gif(tmp_path / "film.gif", (64, 48), 60)
    with pytest.raises(InputError, match=r"ends in \.mp4, \.gif"):
        film_of(tmp_path / "film.webm", (64, 48))
    check_fps(tmp_path / "film.mp4", 240)
    assert type(film_of(tmp_path / "film.MP4", (64, 48))) is Film
    assert list(tmp_path.iterdir()) == []
