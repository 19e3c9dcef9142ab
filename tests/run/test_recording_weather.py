"""Recordings in bad weather: a full disk, a fork, a slow disk, a bad probe. Training goes on, and it is said once."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError
from scalarviz.run import Run
from scalarviz.run.recording import files, writer

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="limits and forks of POSIX")


def made() -> Run:
    """A run of 1,000 weights."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(16, 10))
    net = nn.Sequential(nn.Linear(10, 80), nn.Tanh(), nn.Linear(80, 1))
    net.initialize(seed=3)
    return Run(net, nn.MSELoss(), optim.Adam(net.parameters()), (x, x[:, :1]), batch_size=8, engine="numpy")


def test_on_a_full_disk_training_goes_on_and_it_is_said_once(tmp_path: Path) -> None:
    plain, run = made(), made()
    recording = sv.Recording(run, path=tmp_path / "run.svz")
    run.step(10)
    recording.flush()
    recording._database.execute("PRAGMA max_page_count = 60")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(20):
            run.step(10)
            recording.flush()
        recording.close()
    assert [str(each.message) for each in said] == [recording.trouble]
    assert "run.svz is recorded no further: OperationalError: database or disk is full" in recording.trouble
    plain.step(210)
    assert plain.values.tobytes() == run.values.tobytes()
    with sv.load_recording(tmp_path / "run.svz") as recorded:
        assert recorded.steps.tolist() == list(range(len(recorded)))
        assert 11 <= len(recorded) < 100


def test_where_warnings_are_errors_training_goes_on(tmp_path: Path) -> None:
    run = made()
    with sv.Recording(run, path=tmp_path / "run.svz") as recording:
        recording._database.execute("PRAGMA max_page_count = 30")
        run.step(100)
        recording.flush()
        run.step(100)
    assert run.steps == 200
    assert recording.trouble


LIMITED = """
import resource, signal, sys, warnings
sys.path.insert(0, {folder!r})
import importlib.util
spec = importlib.util.spec_from_file_location("weather", {file!r})
weather = importlib.util.module_from_spec(spec); spec.loader.exec_module(weather)
import scalarviz as sv
run = weather.made()
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    with sv.Recording(run, path={path!r}) as recording:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
        kept = 0
        for _ in range(40):
            run.step(10)
            recording.flush()
            kept = kept if recording.trouble else run.steps
assert len(said) == 1, said
print(kept)
assert run.steps == 400
"""


@POSIX
@pytest.mark.slow  # a program anew
def test_a_disk_that_takes_no_more_keeps_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "run.svz"
    script = LIMITED.format(folder=str(Path(__file__).parent), file=__file__, path=str(path))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    with sv.load_recording(path) as recorded:
        assert not recorded.remark
        assert recorded.steps.tolist() == list(range(len(recorded)))
        assert len(recorded) > int(done.stdout) >= 10  # all that was said to be in the file


FORKED = """
import os, sys, warnings
warnings.simplefilter("ignore")
import importlib.util
spec = importlib.util.spec_from_file_location("weather", {file!r})
weather = importlib.util.module_from_spec(spec); spec.loader.exec_module(weather)
import scalarviz as sv
run = weather.made()
recording = sv.Recording(run, path={path!r})
run.step(10)
for ends in (sys.exit, os._exit):
    if (pid := os.fork()) == 0:
        run.step(5)
        recording.flush()
        try:
            recording.close()
        except sv.ScalarvizError as error:
            assert "the process that began it" in str(error)
        del recording
        ends(0)
    run.step(10)
    assert os.waitpid(pid, 0)[1] == 0
run.step(10)
recording.close()
"""


@POSIX
@pytest.mark.slow  # a program anew
def test_a_child_leaves_the_file_to_its_parent(tmp_path: Path) -> None:
    path = tmp_path / "run.svz"
    script = FORKED.format(file=__file__, path=str(path))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert [part.name for part in tmp_path.iterdir()] == ["run.svz"]
    with sv.load_recording(path) as recorded:
        assert recorded.steps.tolist() == list(range(41))


def test_what_waits_for_a_slow_disk_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The queue holds no more than its room and one moment; whoever trains waits, and no frame is left out."""
    genuine, waiting, held = writer.Writer._write, [], threading.Event()

    def slow(self: writer.Writer, items: list[Any]) -> None:
        held.wait(0.002)
        waiting.append(self._bytes)
        genuine(self, items)

    monkeypatch.setattr(writer, "ROOM", 100_000)
    monkeypatch.setattr(writer.Writer, "_write", slow)
    run = made()
    with sv.Recording(run, path=tmp_path / "run.svz", gradients=True, updates=True):
        run.step(300)
    assert max(waiting) < 100_000 + 40_000
    with sv.load_recording(tmp_path / "run.svz") as recorded:
        assert recorded.steps.tolist() == list(range(301))


def test_two_recordings_of_one_run(tmp_path: Path) -> None:
    run = made()
    with sv.Recording(run, 2, path=tmp_path / "a.svz"), sv.Recording(run, 3, path=tmp_path / "b.svz"):
        run.step(12)
    with sv.load_recording(tmp_path / "a.svz") as a, sv.load_recording(tmp_path / "b.svz") as b:
        assert a.steps.tolist() == list(range(0, 13, 2))
        assert b.steps.tolist() == list(range(0, 13, 3))
        assert a.frame(3).values.tobytes() == b.frame(2).values.tobytes()


def test_nothing_of_a_recording_outlives_it(tmp_path: Path) -> None:
    run = made()
    before = set(threading.enumerate())
    recording = sv.Recording(run, path=tmp_path / "run.svz")
    run.step(3)
    assert set(threading.enumerate()) - before
    recording.close()
    assert set(threading.enumerate()) == before
    assert not run._recorders
    run.step(3)
    with sv.load_recording(tmp_path / "run.svz") as recorded:
        assert len(recorded) == 4
        with pytest.raises(sv.ScalarvizError, match="it has 4"):
            recorded.frame(4)
    with pytest.raises(sv.ScalarvizError, match="is closed"):
        recorded.frame(0)


# ---- a file that somebody takes away, and news


@POSIX  # elsewhere an open file cannot be removed
@pytest.mark.parametrize("way", ["removed", "moved", "another"])
def test_a_file_that_goes_away_is_said_and_what_it_held_can_be_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(writer, "LOST_AFTER", 0.0)
    folder, run, said = tmp_path / "folder", made(), list[str]()
    recording = sv.Recording(run, path=folder / "run.svz")
    recording.tell = said.append
    run.step(10)
    recording.flush()
    assert not said
    if way == "moved":
        folder.rename(tmp_path / "elsewhere")
    else:
        shutil.rmtree(folder)
    others = {}
    if way == "another":  # a recording of the same name, which is still being written: none of its files are ours
        other = sv.Recording(made(), path=folder / "run.svz")
        other.flush()
        others = {part.name: part.read_bytes() for part in folder.iterdir()}
    run.step(1)
    recording.flush()
    run.step(50)
    assert said == [recording.trouble]
    assert "somebody removed it, moved it, or put another file in its place" in recording.trouble
    recording.save(tmp_path / "saved.svz")
    recording.close()
    recording.save(tmp_path / "again.svz")
    assert len(said) == 1
    assert run.steps == 61
    for name in ("saved.svz", "again.svz"):
        with sv.load_recording(tmp_path / name) as recorded:
            assert recorded.steps.tolist() == list(range(12))
    assert folder.exists() == (way == "another")
    if way == "another":
        assert {part.name: part.read_bytes() for part in folder.iterdir()} == others
        other.close()


def test_that_frames_are_let_go_of_is_said_once(tmp_path: Path) -> None:
    run, said = made(), list[str]()
    with sv.Recording(run, path=tmp_path / "run.svz", budget=300_000) as recording:
        recording.tell = said.append
        for _ in range(30):
            run.step(20)
            recording.flush()
        assert recording.every > 2
    assert said == ["run.svz has reached its 0.3 MB: every second frame is let go of, as often as is needed"]


# ---- where a program is, and what it has


def test_a_program_that_goes_elsewhere_finds_its_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    run = made()
    recording = sv.Recording(run, path="run.svz")
    monkeypatch.chdir(tmp_path / "elsewhere")
    run.step(3)
    recording.read().close()
    recording.save(tmp_path / "open.svz")
    assert recording.close() == tmp_path / "run.svz"
    recording.save("closed.svz")
    for path in (recording.path, tmp_path / "open.svz", tmp_path / "elsewhere" / "closed.svz"):
        with sv.load_recording(path) as recorded:
            assert len(recorded) == 4
    recording.path.unlink()
    with pytest.raises(InputError, match=r"cannot copy .*run\.svz: somebody removed it"):
        recording.save("late.svz")


def test_without_a_place_for_temporary_files_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="give a file with path=, or set TMPDIR"):
        sv.Recording(made())


def test_pictures_that_cannot_be_written_cost_no_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path, pictures: object) -> None:
        raise InputError(f"cannot write pictures of panels into {path}: the disk is full")

    monkeypatch.setattr("scalarviz.view.recorded.recording.write_pictures", refused)
    run = made()
    with (
        pytest.warns(RuntimeWarning, match="the disk is full; all else is there"),
        sv.Recording(run, path=tmp_path / "run.svz", panels=True),
    ):
        run.step(5)
    with sv.load_recording(tmp_path / "run.svz") as recorded:
        assert len(recorded) == 6


@pytest.mark.parametrize("named", [False, True])
def test_a_dropped_recording_is_made_whole_by_whichever_thread_finds_it(named: bool, tmp_path: Path) -> None:
    """Cycles are looked for in any thread, in the one that writes too, which cannot wait for its own end."""
    run = made()
    recording = sv.Recording(run, path=tmp_path / "run.svz" if named else None)
    path, written = recording.path, recording._writer
    run.step(20)
    recording.flush()
    ended = recording._end
    written._rows.end = ended  # type: ignore[method-assign,assignment]  # called by the thread that writes
    run.step(1)
    written._thread.join(60)
    assert not written._thread.is_alive()
    assert not ended.alive
    if not named:
        assert not path.parent.exists()
        return
    assert [each.name for each in tmp_path.iterdir()] == ["run.svz"]
    with sv.load_recording(path) as recorded:
        assert recorded.steps[-1] >= 20
        assert recorded.complete


def test_what_cannot_be_begun_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full before the first frame: the log is made already."""

    def refused(database: sqlite3.Connection, target: Path, frame_bytes: int) -> None:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE meta (name TEXT)")
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(files, "_laid_out", refused)
    with pytest.raises(InputError, match=r"cannot write .*: disk I/O error"):
        sv.Recording(made(), path=tmp_path / "run.svz")
    assert not list(tmp_path.iterdir())
