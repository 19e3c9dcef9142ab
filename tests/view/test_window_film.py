"""A film of a window: every frame what it showed then, without what it says of the film; a whole file or none."""

from __future__ import annotations

import subprocess
import sys
import threading
from functools import partial
from typing import ClassVar

import numpy as np
import pytest

from kit.runs import bits, make_run
from kit.windows import serve
from scalarviz.errors import InputError, MissingDependencyError
from scalarviz.run import Scene
from scalarviz.view.out import taking
from scalarviz.view.out.desktop import Window
from scalarviz.view.out.files import whole_mp4
from scalarviz.view.out.taking import Recorder, mark
from scalarviz.view.watch.live import LiveView
from scalarviz.view.watch.pace import FPS

pytestmark = pytest.mark.filterwarnings("ignore:.*is marked as deprecated:DeprecationWarning")  # vispy's use of Qt


class Kept:
    """An encoder that keeps what it is given."""

    films: ClassVar[list[Kept]] = []
    gate: threading.Event | None = None
    fails_at: int | None = None

    def __init__(self, path, size, fps, put):
        self.path, self.size, self.fps, self.frames, self.whole = path, size, fps, [], False
        Kept.films.append(self)

    def __enter__(self):
        return self

    def add(self, picture):
        if self.gate is not None:
            assert self.gate.wait(20)
        if len(self.frames) == self.fails_at:
            raise InputError(f"cannot write {self.path}: no space left on device")
        self.frames.append(picture.copy())

    def __exit__(self, kind, error, trace):
        self.whole = kind is None


@pytest.fixture
def kept(monkeypatch):
    monkeypatch.setattr(Kept, "films", [])
    monkeypatch.setattr(taking, "Recorder", partial(Recorder, encoder=Kept))
    return Kept.films


def grey(level, size=(64, 48)):
    return np.full((size[1], size[0], 3), level, np.uint8)


def test_every_frame_is_the_picture_of_its_time(tmp_path, kept, monkeypatch):
    monkeypatch.setattr("scalarviz.view.out.taking.WAITING", 0)  # as many as there are: time flies here
    film = Recorder(tmp_path, "x", grey(0), Kept)
    for k in range(1, 33):  # pictures change eight times a second
        for _ in range(8):
            film.pass_time(1 / 64)
        film.take(grey(k))
    film.close()
    (made,) = kept
    assert (made.fps, made.size, made.whole, film.done, film.failure) == (FPS, (64, 48), True, True, "")
    assert len(made.frames) == 4 * FPS + 2  # one more for the last picture, which came too late for a frame
    levels = [int(frame[0, 0, 0]) for frame in made.frames]
    assert levels == sorted(levels)
    for k, level in enumerate(levels[:-1]):
        assert abs(level - 8 * k / FPS) <= 1.5  # of the eighth of a second before or after
    assert levels[-1] == 32


def test_a_picture_is_only_taken_where_it_will_be_seen_and_a_slow_encoder_makes_no_second_shorter(
    tmp_path, kept, monkeypatch
):
    monkeypatch.setattr(Kept, "gate", threading.Event())
    film, due = Recorder(tmp_path, "x", grey(0), Kept), 0
    for k in range(6000):  # a screen of 600 Hz
        film.pass_time(1 / 600)
        due += film.due
        if film.due:
            film.take(grey(k % 250))
    assert 10 * FPS - 10 <= due <= 10 * FPS
    film.end()
    assert not film.due
    assert not film.done
    Kept.gate.set()
    film.close()
    assert 10 * FPS + 1 <= len(kept[0].frames) <= 10 * FPS + 2
    np.testing.assert_array_equal(kept[0].frames[-1], film._picture)  # it ends with what was shown last


@pytest.mark.parametrize("links", [True, False])
def test_the_file_takes_no_name_that_somebody_else_took_meanwhile(tmp_path, monkeypatch, links):
    def refused(*names):
        raise PermissionError(1, "Operation not permitted")

    if not links:  # a file system without second names
        monkeypatch.setattr("os.link", refused)
    first, second = (Recorder(tmp_path, "my scene", grey(k)) for k in (10, 200))
    assert first.path == second.path == tmp_path / "my-scene-1.mp4"
    first.pass_time(0.2)
    first.close()
    bytes_of_first = first.path.read_bytes()
    second.close()
    assert (first.failure, second.failure) == ("", "")
    assert second.path == tmp_path / "my-scene-2.mp4"
    assert first.path.read_bytes() == bytes_of_first
    assert whole_mp4(second.path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["my-scene-1.mp4", "my-scene-2.mp4"]
    failed = Recorder(first.path, "x", grey(9))
    failed.close()
    assert failed.done
    assert "is a file, not a folder" in failed.failure


KILLED = """
import sys, time
import numpy as np
from pathlib import Path
from scalarviz.view.out.taking import Recorder
film = Recorder(Path(sys.argv[1]), "x", np.zeros((48, 64, 3), np.uint8))
film.pass_time(2.0)
print("on", flush=True)
time.sleep(60)
"""


def test_a_program_that_is_killed_leaves_no_half_film_and_one_that_ends_a_whole_one(tmp_path):
    program = subprocess.Popen([sys.executable, "-c", KILLED, tmp_path], stdout=subprocess.PIPE, text=True)
    assert program.stdout.readline() == "on\n"
    program.kill()
    program.wait()
    program.stdout.close()
    assert not [path for path in tmp_path.iterdir() if not path.name.startswith(".")]
    ends = KILLED.replace("time.sleep(60)", "sys.exit()")
    subprocess.run([sys.executable, "-c", ends, tmp_path], check=True, capture_output=True, timeout=60)
    assert [path.name for path in tmp_path.iterdir()] == ["x-1.mp4"]  # and what the killed one had left is tidied up
    assert whole_mp4(tmp_path / "x-1.mp4")


@pytest.mark.parametrize("size", [(1280.0, 720.0), (160.0, 160.0)])
def test_the_mark_stays_in_the_window(size):
    text = "no film: cannot write /some/where/far/away/test-1.mp4: no space left on device" * 3
    (item,) = mark(text, size, red=True).texts
    assert item.x > 8
    assert item.text.endswith("…")
    assert mark("0:01", size, red=True).texts[0].text == "0:01"


# ---- in a window


@pytest.fixture
def window(screen, tmp_path):
    told = []
    window = Window(lambda size: LiveView(Scene("test", make_run()), size, playing=False), "test", (640, 480),
                    shots=tmp_path, on_note=told.append).show()  # fmt: skip
    window.told = told
    serve(window, 0.3)
    yield window
    window.close()


def painted(window):
    """The picture and what the window says over it."""
    from vispy import gloo

    window.canvas.set_current()
    window._on_draw()
    return gloo.read_pixels(alpha=False).astype(int)


def reds(picture):
    return (np.abs(picture.astype(int) - [255, 77, 77]).max(axis=2) < 12).sum()


@pytest.mark.gl
def test_frames_are_what_the_window_shows_but_for_what_it_says_of_the_film(window, kept):
    window.view.key("s", ctrl=True)
    serve(window, until=lambda: window._taking.text == "0:00  ·  Ctrl+S ends the film")
    with_mark = painted(window)
    serve(window, 0.3)
    window.view.key("Right")
    serve(window, 0.5, lambda: window.view.shown.step == 1)
    window.view.key("s", ctrl=True)
    serve(window, until=lambda: any(line.startswith("wrote") for line in window.told))
    window._taking._said = ""
    window.view.refresh()
    serve(window, 0.1)
    (film,) = kept
    assert film.whole
    assert len(film.frames) >= 0.8 * FPS
    np.testing.assert_array_equal(film.frames[-1], painted(window))
    changed = np.abs(with_mark - film.frames[0]).max(axis=2) > 0
    assert changed[450:, 300:].sum() == changed.sum() > 500  # in the corner and nowhere else
    assert (film.frames[0] != film.frames[-1]).any()
    assert reds(with_mark) > 30 >= max(map(reds, film.frames))


@pytest.mark.gl
def test_the_controls_are_in_no_frame(window, kept):
    window.canvas.size = (1280, 720)
    serve(window, 0.3)
    window.view.key("p")
    serve(window, 0.5)
    with_controls = painted(window)
    window.view.key("s", ctrl=True)
    serve(window, 0.4)
    window.view.key("s", ctrl=True)
    serve(window, until=lambda: not window._taking.making)
    assert window.view.desk.open
    window.view.key("p")
    window._taking._said = ""
    window.view.refresh()
    serve(window, 0.2)
    without = painted(window)
    for frame in kept[0].frames:
        assert np.abs(frame - without)[:, 940:].max() <= 8
    assert np.abs(with_controls - without)[:, 940:].max() > 100


@pytest.mark.gl
def test_a_film_ends_with_the_size_that_it_began_with_or_when_the_window_is_closed(window, tmp_path):
    window.film()
    serve(window, 0.2)
    window.canvas.size = (700, 480)
    serve(window, until=lambda: not window._taking.making)
    assert window.told == ["the film has ended: the window has another size", f"wrote {tmp_path / 'test-1.mp4'}"]
    window.film()  # and the next one has the new size
    serve(window, 0.3, until=lambda: window._taking._film.frames > 0)
    assert window._taking._film.size == (700, 480)
    window.close()
    assert window.told[2:] == [f"wrote {tmp_path / 'test-2.mp4'}"]
    assert sorted(path.name for path in tmp_path.iterdir() if whole_mp4(path)) == ["test-1.mp4", "test-2.mp4"]


@pytest.mark.gl
def test_what_keeps_a_film_from_being_written_is_said_in_the_picture_too(window, kept, monkeypatch):
    monkeypatch.setattr(Kept, "fails_at", 3)
    window.film()
    serve(window, until=lambda: not window._taking.making)
    assert len(window.told) == 1
    assert window.told[0].startswith("no film: cannot write")
    assert window._taking.text == window.told[0]
    window.view.send("step")  # and nothing else ends
    serve(window, until=lambda: window.view.shown.step == 1)

    def missing():
        raise MissingDependencyError("a film needs imageio-ffmpeg")

    monkeypatch.setattr(taking, "check_video", missing)
    window.film()
    assert window.told[1] == "no film: a film needs imageio-ffmpeg"
    serve(window, until=lambda: window._taking.text == "")  # for a while


@pytest.mark.gl
def test_looking_and_filming_change_nothing(window, kept):
    window.film()
    window.view.playback.play()
    serve(window, until=lambda: window.view.run.steps > 20)
    window.view.playback.pause()
    window.film()
    undrawn = make_run()
    undrawn.step(window.view.worker.settle().step)
    assert bits(undrawn) == bits(window.view.run)
