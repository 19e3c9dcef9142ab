"""Films and pictures on disk, and films of a window: every frame at its time in its colours, a whole file or none."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from PIL import Image

import scalarviz as sv
from kit.commands import SCENES, make_scene
from kit.runs import bits, make_run
from kit.windows import wait_until
from scalarviz.errors import InputError, MissingDependencyError
from scalarviz.run.questions.ranges import weight_extent
from scalarviz.view.ink.text import loss_text, measure
from scalarviz.view.ink.theme import DARK
from scalarviz.view.micro.walk import Walk, open_step, sides
from scalarviz.view.out import files
from scalarviz.view.out.canvas import Canvas
from scalarviz.view.out.files import Film, Gif, Recorder, Taking, film_class
from scalarviz.view.render import Reel, film_of_step, film_of_training
from scalarviz.view.short_film import SECONDS, Stage, beats_of, followed
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.watch.microsteps import PASS, READ, pass_seconds
from scalarviz.view.watch.playback import FPS

imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")
COLOURS = [(200, 40, 40), (40, 200, 40), (40, 40, 200), (250, 250, 250)]
ENDINGS = pytest.mark.parametrize("ending", ["mp4", "gif"])


def filled(size=(64, 48), colour=9):
    return np.full((size[1], size[0], 3), colour, np.uint8)


def names(folder):
    return sorted(path.name for path in folder.rglob("*"))


def test_a_film_of_a_step_shows_every_micro_step_for_as_long_as_a_window_does(tmp_path, monkeypatch):
    """The run has done the steps before it, and no more."""
    shown, scene, path = [], make_scene("rgb"), tmp_path / "step.gif"
    monkeypatch.setattr(Canvas, "picture", lambda self, words, seconds, frame: shown.append(words) or filled(self.size))
    sv.film(scene, path, 12, size=(320, 180), fps=5, story="step")
    assert scene.run.steps == 12
    places = [words.partition("micro-step ")[2].partition(" ")[0] for words in shown]
    subject = subject_of(scene)
    seconds = pass_seconds(Walk(open_step(subject, alone=True), subject, subject.frame()))
    assert list(dict.fromkeys(places)) == [str(k + 1) for k in range(len(seconds))]
    assert len(shown) == round(5 * sum(seconds))
    for at, wanted in enumerate(seconds, start=1):
        assert places.count(str(at)) == pytest.approx(5 * wanted, abs=1)
    with pytest.raises(InputError, match="story"):
        sv.film(scene, path, story="steps")


def test_a_film_of_a_step_ends_where_it_is_stopped(tmp_path):
    canvas = Canvas(make_scene("xor"), (320, 180), "dark")
    with Reel([tmp_path / "step.mp4"], canvas, 25) as reel:
        film_of_step(reel, canvas, lambda: reel.frames >= 5)
    assert reel.frames == 5
    assert reel.written == [tmp_path / "step.mp4"]


def told_by(name, monkeypatch, tmp_path, size=(640, 320), fps=5, steps=20):
    """The scene, and the words, what stood beside and the drawn numbers of each frame of a short film."""
    scene, frames = make_scene(name), []

    def note(stage, words, seconds, frame):
        stage.update("", seconds, frame)
        frames.append((words, [*stage.beside], stage.bench))
        return filled(size)

    monkeypatch.setattr(Stage, "picture", note)
    sv.film(scene, tmp_path / "short.gif", steps, size=size, fps=fps, story="short")
    return scene, frames


@pytest.mark.ci
@pytest.mark.parametrize("name", SCENES)
def test_a_short_film_says_the_purpose_one_weight_the_batch_and_the_result_each_for_two_seconds(
    name, monkeypatch, tmp_path
):
    scene, frames = told_by(name, monkeypatch, tmp_path)
    said = [words for words, _, _ in frames]
    beats = list(dict.fromkeys(said))
    assert len(said) == pytest.approx(5 * sum(seconds * (4 if b == "step" else 1) for b, seconds in SECONDS.items()),
                                      abs=5 * SECONDS["step"] + 4)  # fmt: skip
    assert all(said.count(words) >= 2 * 5 for words in beats)
    assert beats[0] == subject_of(scene).purpose != ""
    assert beats[-1].startswith("After 20 steps: ")
    counted = [text.text for sketch in frames[-1][1] for text in sketch.texts]
    assert counted == ["step", "20", "loss", loss_text(subject_of(scene).loss(subject_of(scene).frame()))]
    before = make_scene(name)
    subject = subject_of(before)
    walk = Walk(open_step(subject, alone=True in sides(subject)), subject, subject.frame())
    index = followed(walk)
    captions = [walk.micro_step_at(at, index).sentence.caption.text for at in beats_of(walk, index)]
    *earlier, last = dict.fromkeys(captions)
    assert beats[2:-3] == earlier
    move = re.search(r"(?:falls|rises) by [^ :]+", last)  # the film trains on, and no weight goes back
    assert beats[-3].startswith("For this ")
    assert move is None or move[0] in beats[-3]
    many = before.run.source.facts.batch_size if hasattr(before.run, "source") else subject.source.facts.batch_size
    assert f" {many:,} " in beats[-2] if many > 1 else "one " in beats[-2]
    first, bench = weight_extent(subject.frame().values), frames[-1][2]
    assert ("brightest colours now mean" in beats[-2]) == (bench.colouring.least > 1.1 * first)


@pytest.mark.ci
@pytest.mark.parametrize("size", [(640, 320), (1280, 720), (1080, 1920)])
def test_texts_of_a_short_film_fit_and_are_large(size, monkeypatch, tmp_path):
    _, frames = told_by("rgb", monkeypatch, tmp_path, size, fps=1)
    for words, beside, bench in frames[:12]:
        assert all(text.size * bench.places.scale >= 13 for k in bench.sketches for text in k.texts), words
        wide, high = bench.places.size
        for text in (text for sketch in beside for text in sketch.texts):
            width = measure(text.text, text.size, text.bold)
            left = text.x - {"left": 0, "middle": 0.5, "right": 1}[text.anchor] * width
            assert 0 <= left <= left + width <= wide
            assert 0 < text.y < high


def test_a_recording_has_no_short_film(tmp_path):
    run, path = make_run(), tmp_path / "run.svz"
    with sv.Recording(run, path=path):
        run.step(3)
    with sv.load_recording(path) as recorded, pytest.raises(InputError, match="not a recording"):
        sv.film(recorded, tmp_path / "x.gif", story="short")


@pytest.mark.parametrize("name", SCENES)
def test_an_opened_step_plays_in_a_minute_and_the_first_equations_of_each_kind_can_be_read(name):
    scene = make_scene(name)
    subject = subject_of(scene)
    walk = Walk(open_step(subject, alone=True in sides(subject)), subject, subject.frame())
    seconds = pass_seconds(walk)
    assert 0 < sum(seconds) <= PASS + 1e-9
    assert min(seconds) > 0
    rows = [walk.rows_in(at) for at in range(1, len(walk) + 1)]  # of attention one after the other
    assert max(rows) == (7 if name == "microgpt" else 1)
    firsts = {(step.phase, step.stage, step.kind): k for k, step in reversed([*enumerate(walk.steps)])}.values()
    read = READ * min(1.0, PASS / sum(seconds)) if name != "microgpt" else 0.6  # whose maps take most of the time
    assert all(seconds[k] >= 0.99 * read for k in firsts)
    assert all(one >= 0.99 * READ for one in seconds) or sum(seconds) == pytest.approx(PASS)
    still = [at for at in range(1, len(walk) + 1) if len(walk.lighting.stops(at)) < 2]  # no window slides
    assert seconds[-1] == max(seconds[at - 1] / rows[at - 1] for at in still)  # the end is held


# ---- files


def decoded(path, size=(64, 48)):
    """The frames of an MP4, or what a GIF shows in each hundredth of a second."""
    if path.suffix == ".mp4":
        command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24"]
        raw = subprocess.run([*command, "-"], check=True, capture_output=True).stdout
        return np.frombuffer(raw, np.uint8).reshape(-1, *size[::-1], 3)
    with Image.open(path) as image:
        found = []
        for number in range(image.n_frames):
            image.seek(number)
            found += [np.asarray(image.convert("RGB"))] * (image.info["duration"] // 10)
        assert image.info["loop"] == 0
    return found


@pytest.mark.parametrize(("name", "size", "fps"), [("deep/film", (64, 48), 10), ("pipe:1 50%d", (63, 47), 30)])
@ENDINGS
def test_every_frame_has_its_size_its_colours_and_its_time(tmp_path, monkeypatch, ending, name, size, fps):
    """And a name may hold what means something to an encoder."""
    monkeypatch.chdir(tmp_path)
    path = Path(f"{name}.{ending}")
    with film_class(path)(path, size, fps) as film:
        for k in range(12):
            film.add(filled(size, COLOURS[k // 3]))
        assert not path.exists()
    frames, each = decoded(tmp_path / path), 1.0 if ending == "mp4" else 100 / fps
    assert len(frames) == pytest.approx(12 * each, abs=ending == "gif")
    assert frames[0].shape == ((48, 64, 3) if ending == "mp4" else (size[1], size[0], 3))
    for number, colour in enumerate(COLOURS):
        middle = frames[int((number + 0.5) * 3 * each)]
        assert np.abs(middle.reshape(-1, 3).mean(axis=0) - colour).max() < (21 if ending == "mp4" else 6)
    assert [found for found in names(tmp_path) if found != "deep"] == [path.name]


def test_a_full_disk_is_said_in_words_and_leaves_no_half_film(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="the encoder stopped"), Film(tmp_path / "film.mp4", (64, 48)) as film:
        film._encoder.kill()
        film._encoder.wait()
        film.add(filled())
    monkeypatch.setattr(files, "PAINT", "none")  # it ends without its work done
    monkeypatch.setattr("scalarviz.view.out.files.shutil.disk_usage", lambda path: SimpleNamespace(free=100))
    with pytest.raises(InputError, match="no space left on device"), Gif(tmp_path / "film.gif", (64, 48)) as film:
        film.add(filled())
    assert names(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="a script of the shell")
@pytest.mark.parametrize(("script", "frames", "words"), [
    ("exec sleep 100", 40, "did nothing for 0.4 s"), ("cat >/dev/null; exec sleep 100", 1, "did nothing for 0.4 s"),
    ("kill -9 $$", 40, r"another process ended ffmpeg \(SIGKILL\)"),
])  # fmt: skip
def test_an_encoder_that_hangs_or_is_killed_is_named_and_nothing_waits_for_ever(
    tmp_path, monkeypatch, script, frames, words
):
    encoder = tmp_path / "ffmpeg"
    encoder.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    encoder.chmod(0o755)
    monkeypatch.setattr(imageio_ffmpeg, "get_ffmpeg_exe", lambda: str(encoder))
    monkeypatch.setattr(files, "PATIENCE", 0.4)
    with pytest.raises(InputError, match=words), Film(tmp_path / "film.mp4", (640, 480)) as film:
        for _ in range(frames):
            film.add(filled((640, 480)))
    assert names(tmp_path) == ["ffmpeg"]


def test_an_encoder_that_is_missing_or_does_not_start_is_named(tmp_path, monkeypatch):
    def none():
        raise RuntimeError("No ffmpeg exe could be found")

    for found, words in ((none, "needs ffmpeg .*pip install"), (lambda: str(tmp_path / "no"), "no does not start")):
        monkeypatch.setattr(imageio_ffmpeg, "get_ffmpeg_exe", found)
        with pytest.raises(MissingDependencyError, match=words), Film(tmp_path / "film.mp4", (64, 48)):
            pass
    assert names(tmp_path) == []


def test_films_that_cannot_be_are_refused_and_leave_the_old_one(tmp_path):
    paths = [tmp_path / f"film.{ending}" for ending in ("mp4", "gif")]
    for path in paths:
        path.write_bytes(b"old")
        with pytest.raises(InputError, match="no frame"), film_class(path)(path, (64, 48)):
            pass
        with pytest.raises(InputError, match="64x48"), film_class(path)(path, (64, 48)) as film:
            film.add(filled((48, 48)))
        with pytest.raises(KeyboardInterrupt), film_class(path)(path, (64, 48)) as film:
            film.add(filled())
            raise KeyboardInterrupt
    for kind, path in zip((Gif, Film), paths, strict=True):
        with pytest.raises(InputError, match=r"ends in \."):
            kind(path, (64, 48))
    assert film_class(tmp_path / "film.MP4")(tmp_path / "film.MP4", (64, 48), 240).suffix == ".mp4"
    assert [path.read_bytes() for path in paths] == [b"old"] * 2
    assert names(tmp_path) == ["film.gif", "film.mp4"]


def test_of_two_films_each_that_cannot_be_written_is_named_and_the_other_one_goes_on(tmp_path, monkeypatch):
    paths, full = [tmp_path / name for name in ("a.mp4", "b.gif", "c.mp4")], {"b.gif", "c.mp4"}
    add, canvas = Film.add, SimpleNamespace(size=(64, 48), picture=lambda *told: filled())

    def no_room(film, picture):
        if film.path.name in full:
            raise InputError(f"cannot write {film.path}: no space left on device")
        add(film, picture)

    monkeypatch.setattr(Film, "add", no_room)
    with Reel(paths, canvas, 10) as reel:
        assert reel.add("")
        full.add("a.mp4")
    assert (reel.written, names(tmp_path)) == (paths[:1], ["a.mp4"])
    assert [line.split("cannot write ")[1] for line in reel.failures] == [
        f"{path}: no space left on device" for path in paths[1:]
    ]
    with Reel(paths, canvas, 10) as reel:
        assert not reel.add("")
    assert (reel.written, len(reel.failures)) == ([], 3)


@pytest.mark.filterwarnings("error")
def test_a_film_in_a_program_of_jax_brings_no_warning(tmp_path):
    """JAX warns of every fork, as that is by which an encoder begins."""
    pytest.importorskip("jax").numpy.ones(1)  # from its first array on
    with Film(tmp_path / "a.mp4", (64, 64)) as film:
        film.add(filled((64, 64)))


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


# ---- films of what a window shows


class Kept:
    """An encoder that keeps what it is given."""

    films: ClassVar[list[Kept]] = []

    def __init__(self, path, size, fps, put):
        self.path, self.about, self.frames, self.whole = path, (size, fps), [], False
        Kept.films.append(self)

    def __enter__(self):
        return self

    def add(self, picture):
        self.frames.append(picture.copy())

    def __exit__(self, kind, error, trace):
        self.whole = kind is None


@pytest.fixture
def kept(monkeypatch):
    monkeypatch.setattr(Kept, "films", [])
    monkeypatch.setattr(files, "Recorder", partial(Recorder, encoder=Kept))
    return Kept.films


def test_every_frame_is_the_picture_of_its_time(tmp_path, kept, monkeypatch):
    monkeypatch.setattr(files, "WAITING", 10**6)  # as many as there are: time flies here
    film, due = Recorder(tmp_path, "x", filled(colour=0), Kept), 0
    for k in range(2400):  # four seconds on a screen of 600 Hz
        film.pass_time(1 / 600)
        if film.due:
            film.set_picture(filled(colour=k // 10))
            due += 1
    film.end()
    assert not film.due
    film.close()
    (made,) = kept
    assert (made.about, made.whole, film.done, film.failure) == (((64, 48), FPS), True, True, "")
    assert 4 * FPS - 4 <= due <= 4 * FPS  # a picture is only taken where it will be seen
    assert 4 * FPS + 1 <= len(made.frames) <= 4 * FPS + 2
    levels = [int(frame[0, 0, 0]) for frame in made.frames]
    assert all(abs(level - 60 * k / FPS) <= 3 for k, level in enumerate(levels))
    np.testing.assert_array_equal(made.frames[-1], film._picture)  # it ends with what was shown last


def test_a_slow_encoder_makes_no_second_shorter(tmp_path, kept, monkeypatch):
    gate, add = threading.Event(), Kept.add
    monkeypatch.setattr(Kept, "add", lambda film, picture: gate.wait(20) and add(film, picture))
    film = Recorder(tmp_path, "x", filled(), Kept)
    for _ in range(600):
        film.pass_time(1 / 60)
    film.end()
    assert not film.done
    gate.set()
    film.close()
    assert len(kept[0].frames) == pytest.approx(10 * FPS, abs=2)


@pytest.mark.parametrize("links", [True, False])
def test_the_file_takes_no_name_that_somebody_else_took_meanwhile(tmp_path, monkeypatch, links):
    def refused(*names):
        raise PermissionError(1, "Operation not permitted")

    if not links:  # a file system without second names
        monkeypatch.setattr("os.link", refused)
    first, second = (Recorder(tmp_path, "my scene", filled(colour=k)) for k in (10, 200))
    first.close()
    second.close()
    assert (first.failure, second.failure) == ("", "")
    assert [decoded(one.path)[0].mean() for one in (first, second)] == pytest.approx([10, 200], abs=3)
    assert names(tmp_path) == ["my-scene-1.mp4", "my-scene-2.mp4"]
    failed = Recorder(first.path, "x", filled())
    failed.close()
    assert "is a file, not a folder" in failed.failure


ENDS = """
import sys, numpy, pathlib
from scalarviz.view.out.files import Recorder
Recorder(pathlib.Path(sys.argv[1]), "x", numpy.zeros((48, 64, 3), "uint8")).pass_time(2.0)
"""


def test_a_program_that_ends_in_the_middle_of_a_film_leaves_a_whole_one(tmp_path):
    subprocess.run([sys.executable, "-c", ENDS, tmp_path], check=True, timeout=60)
    assert imageio_ffmpeg.count_frames_and_secs(str(tmp_path / "x-1.mp4"))[0] > 0


def test_what_becomes_of_a_film_is_said_on_the_terminal_and_for_a_while_in_the_picture(tmp_path, kept, monkeypatch):
    told = []
    taker = Taking(tmp_path, told.append)

    def full(film, picture):
        raise InputError(f"cannot write {film.path}: no space left on device")

    def passed(true):
        wait_until(lambda: (taker.pass_time(0.05), true())[1])

    taker.begin_or_end("x", filled)
    passed(lambda: taker.text == "0:02  ·  Ctrl+S ends the film")
    for size in ((64, 48), (70, 48)):  # it keeps the size that it began with
        taker.resized(size)
    passed(lambda: taker._film is None)
    assert told == ["the film has ended: the window was resized", f"wrote {tmp_path / 'x-1.mp4'}"]
    assert taker.text == told[-1]
    monkeypatch.setattr(Kept, "add", full)
    taker.begin_or_end("x", filled)
    passed(lambda: taker._film is None)
    assert taker.text == told[2]
    assert told[2].startswith("no film: cannot write")

    def missing():
        raise MissingDependencyError("install it")

    monkeypatch.setattr(files, "check_video", missing)
    taker.begin_or_end("x", filled)
    assert told[3] == taker.text == "no film: install it"
    taker.folder = tmp_path / "file"
    taker.folder.write_text("no folder")
    assert taker.save_still("x", filled()) is None
    assert told[4] == taker.text
    assert told[4].startswith("no screenshot")
    passed(lambda: taker.text == "")


def test_a_film_of_a_run_that_stops_on_the_way_ends_with_how_it_stands(tmp_path):
    """Its last picture is that of a still, however far the run came."""
    scene = make_scene("neuron")
    film = tmp_path / "film.mp4"
    painter = Canvas(scene, (320, 180), DARK)
    with film_of_training(scene.run, 40, [film], painter, 10, 1.0) as (_, stops):
        for stop in stops:
            scene.run.step(stop - scene.run.steps)
            if scene.run.steps >= 20:
                scene.run.step(3)
                break
    last, still = decoded(film, (320, 180))[-1], painter.picture(str(scene.run.engine), None)
    assert np.abs(last.astype(int) - still).mean() < 2.0
