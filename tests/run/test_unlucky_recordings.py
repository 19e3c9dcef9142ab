"""Recordings on a full, slow or lost disk, in programs that fork or are killed: training goes on, nothing is lost."""

import mmap
import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import warnings
from contextlib import closing
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from kit import hunt
from kit.files import left
from kit.runs import make_run
from scalarviz.errors import InputError

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="limits and forks of POSIX")
BIG: dict[str, Any] = {"network": "wide", "dtype": "float32"}
"""A run whose frames fill pages."""


def frames_of(path):
    """How many there are: those of the first steps, one after the other."""
    with sv.load_recording(path) as recorded:
        assert not recorded.remark
        assert recorded.steps.tolist() == list(range(len(recorded)))
        return len(recorded)


def before_each(monkeypatch, does):
    """SQLite does a statement after `does` was told of it."""
    genuine = sqlite3.connect

    class Told(sqlite3.Connection):
        def execute(self, statement, *values):
            does(statement)
            return super().execute(statement, *values)

        def executemany(self, statement, values):
            does(statement)
            return super().executemany(statement, values)

    monkeypatch.setattr(sqlite3, "connect", lambda *a, **options: genuine(*a, **options, factory=Told))


def full(monkeypatch, words, error):
    """Statements with these words fail."""

    def fails(statement):
        if words in statement:
            raise sqlite3.OperationalError(error)

    before_each(monkeypatch, fails)


# ---- the disk


@pytest.mark.parametrize("action", ["always", "error"])
def test_on_a_full_disk_training_goes_on_and_it_is_said_once(action, tmp_path, connections):
    """Where warnings are errors, too."""
    plain, run = make_run(**BIG), make_run(**BIG)
    recording = sv.Recording(run, path=tmp_path / "run.svz", gradients=True, updates=True)
    run.step(5)
    recording.flush()
    connections[-1].execute("PRAGMA max_page_count = 60")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter(action)
        for _ in range(6):
            run.step(10)
            recording.flush()
        recording.close()
    assert [str(each.message) for each in said] == [recording.trouble] * (action == "always")
    assert "run.svz" in recording.trouble
    assert "full" in recording.trouble
    plain.step(65)
    assert plain.values.tobytes() == run.values.tobytes()
    assert 6 <= frames_of(tmp_path / "run.svz") < 60


def test_what_cannot_be_begun_leaves_nothing(tmp_path, monkeypatch):
    """A disk that is full before the first frame: the log is made already. No place for temporary files."""
    full(monkeypatch, "wal_checkpoint", "disk I/O error")
    with pytest.raises(InputError, match=r"run\.svz.*disk I/O error"):
        sv.Recording(make_run(), path=tmp_path / "run.svz")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match=r"path=.*TMPDIR"):
        sv.Recording(make_run())
    assert not list(tmp_path.iterdir())


@POSIX  # elsewhere an open file cannot be removed
@pytest.mark.ci
@pytest.mark.parametrize("way", ["removed", "another"])
def test_a_file_that_goes_away_is_said_and_what_it_held_can_be_saved(tmp_path, way):
    folder, run, said, others = tmp_path / "folder", make_run(), list[str](), {}
    recording = sv.Recording(run, path=folder / "run.svz")
    recording.tell = said.append
    run.step(10)
    recording.flush()
    assert not said
    shutil.rmtree(folder)
    if way == "another":  # a recording of the same name, which is still being written: none of its files are ours
        other = sv.Recording(make_run(), path=folder / "run.svz")
        other.flush()
        others = left(folder)
    end = time.monotonic() + 20
    while not said and time.monotonic() < end:  # it is looked for once a second
        run.step(1)
        recording.flush()
        time.sleep(0.05)
    gone = run.steps
    run.step(50)
    recording.save(tmp_path / "saved.svz")
    recording.close()
    recording.save(tmp_path / "again.svz")
    assert said == [recording.trouble]
    assert "run.svz" in recording.trouble
    assert frames_of(tmp_path / "saved.svz") == frames_of(tmp_path / "again.svz") == gone + 1
    assert (folder.exists(), left(folder)) == (way == "another", others)
    if way == "another":
        other.close()


# ---- killed at any moment

STEPS, EDITED = 1500, 97
"""How far each is trained, and after how many steps it is edited again and again."""


def trained(run):
    while run.steps < STEPS:
        run.step()
        if run.steps % EDITED == 0:
            run.lr = 0.001 + 1e-6 * run.steps
            run.set_weights(run.steps % 31, [0.5])
        yield run


def record(path, sure, choice):
    """Until somebody ends it; `sure` tells up to which step all is in the file, below 0 before it begins."""
    run, early, ends = make_run(dtype="float32"), choice.random() < 0.1, choice.choice([0, 40, STEPS])
    sure[0] = 0 if early else -1
    kept: dict[str, Any] = {"gradients": True, "updates": True, "activations": True}
    recording = sv.Recording(run, path=path, budget=choice.choice([200_000, 200_000_000]), **kept)
    sure[0] = 0
    for each in trained(run):
        if each.steps == ends:
            recording.close()
            sure[0] = each.steps
            break
        if each.steps % 10 == 0:
            recording.flush()
            sure[0] = each.steps
    time.sleep(60)


def kill(path, choice):
    """Fork one that records, and kill it at any moment of its first second; up to where it was sure."""
    sure = np.frombuffer(mmap.mmap(-1, 8), np.int64)
    sure[0] = -1
    if (pid := os.fork()) == 0:
        try:
            record(path, sure, random.Random(choice.random()))
        finally:
            os._exit(1)
    end = time.monotonic() + 60
    while sure[0] < 0:
        assert time.monotonic() < end
        time.sleep(0.001)
    time.sleep(choice.uniform(0.0, 1.0) ** 3)
    os.kill(pid, signal.SIGKILL)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL
    return int(sure[0])


def check(path, sure, values):
    """What is in the file is what the run said, and nothing is lost that was in it."""
    try:
        recorded = sv.load_recording(path)
    except sv.ScalarvizError:
        assert not sure, f"step {sure} was in the file, and it cannot be read"
        return
    with recorded:
        steps = recorded.steps
        assert not recorded.remark
        every = 1 if len(steps) < 3 else int(np.diff(steps).max())
        wanted = {*range(0, sure + 1, every), *(step for step in range(0, sure + 1, EDITED))}
        assert wanted <= set(steps.tolist())
        assert max(recorded.curve.step, default=0) >= steps[-1]  # losses come with their frames
        for k, step in enumerate(steps):
            if step <= sure or step % EDITED:  # else it may be between its step and its second edit
                assert recorded.frame(k).values.tobytes() == values[step].tobytes(), step
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert list(left(path.parent)) == [path.name]


def killed(count, seed, folder):
    run = make_run(dtype="float32")
    values = [run.values.copy(), *(each.values.copy() for each in trained(run))]
    for number in range(count):
        path = folder / f"{seed}-{number}" / "run.svz"
        path.parent.mkdir()
        check(path, kill(path, random.Random(f"{seed}:{number}")), values)


@POSIX
@pytest.mark.ci
def test_killed_programs_lose_nothing_that_was_in_the_file(tmp_path):
    killed(3, 0, tmp_path)


@POSIX
@pytest.mark.hunt
def test_many_killed_programs_lose_nothing(tmp_path):
    for seed in hunt.seeds():
        killed(10, seed, tmp_path)
