"""Several have one recording open: readers see one moment, logs stay with their file, nobody reads foreign numbers."""

import os
import shutil
import sqlite3
import sys
import threading
from contextlib import closing

import pytest

import scalarviz as sv
from kit.files import left
from kit.runs import make_run
from scalarviz.errors import FileFormatError, InputError

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="an open file is not replaced there")


def leave(path, recording):
    """What a program leaves that was killed in the middle of a recording: a copy while it goes on."""
    recording.flush()
    for suffix in ("", "-wal"):
        shutil.copy(f"{recording.path}{suffix}", f"{path}{suffix}")
    return path


def killed(path, seed, steps):
    run = make_run(weights=seed)
    with sv.Recording(run, path=path.with_name("first.svz")) as recording:
        run.step(steps)
        leave(path, recording)
    recording.path.unlink()
    return path


def closed(path, steps):
    run = make_run()
    with sv.Recording(run, path=path, gradients=True, updates=True):
        run.step(steps)
    return path


def steps_of(path):
    with sv.load_recording(path) as recorded:
        assert not recorded.remark
        assert recorded.values["0.weight"].shape[0] == len(recorded)
        return list(recorded.steps.tolist())


@pytest.fixture
def nothing_may_be_written(monkeypatch):
    genuine = os.access
    monkeypatch.setattr(os, "access", lambda name, mode: mode != os.W_OK and genuine(name, mode))
    return monkeypatch


# ---- whose log stands beside it


@pytest.mark.parametrize("log", ["whole", "begun anew", "without a name"])
def test_what_was_not_closed_is_repaired(log, tmp_path, connections):
    """A log is begun anew when it was cleared; earlier programs gave it no name."""
    run, path = make_run(), tmp_path / "run.svz"
    with sv.Recording(run, path=tmp_path / "first.svz") as recording:
        for _ in range(3):
            run.step(20)
            recording.flush()
            if log == "begun anew":
                connections[-1].execute("PRAGMA wal_checkpoint(RESTART)")
        run.step(20)
        leave(path, recording)
    recording.path.unlink()
    if log == "without a name":
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.execute("DELETE FROM meta WHERE name = 'log'")
            for suffix in ("", "-wal"):
                shutil.copy(f"{path}{suffix}", f"{tmp_path / 'old.svz'}{suffix}")
        path.unlink()
        path = tmp_path / "old.svz"
    assert path.with_name(f"{path.name}-wal").stat().st_size
    assert steps_of(path) == list(range(81))
    assert list(left(tmp_path)) == [path.name]


def test_where_nothing_may_be_written_a_copy_is_read(tmp_path, nothing_may_be_written):
    (tmp_path / "real").mkdir()
    path, link = killed(tmp_path / "real" / "run.svz", 1, 50), tmp_path / "link.svz"
    link.symlink_to(path)
    whole = closed(tmp_path / "whole.svz", 9)
    before = left(tmp_path)
    for one in (path, path, link, whole):  # beside a link stands nothing
        assert steps_of(one) == list(range(10 if one == whole else 51))
    assert left(tmp_path) == before
    nothing_may_be_written.undo()
    assert steps_of(link) == list(range(51))
    assert not path.with_name("run.svz-wal").exists()


def test_the_log_of_another_recording_is_left_out(tmp_path):
    path, other = killed(tmp_path / "run.svz", 7, 35), killed(tmp_path / "other.svz", 9, 15)
    os.replace(closed(tmp_path / "whole.svz", 20), path)
    before = left(tmp_path)
    for _ in range(2):
        with sv.load_recording(path) as recorded, sv.load_recording(path) as again:
            assert recorded.steps.tolist() == again.steps.tolist() == list(range(21))
            assert "run.svz-wal" in recorded.remark
    assert left(tmp_path) == before
    shutil.copy(other, path)
    with pytest.raises(FileFormatError, match=r"run\.svz-wal"):  # nothing but the log holds frames
        sv.load_recording(path)
    assert steps_of(other) == list(range(16))


# ---- one moment, whoever writes meanwhile


@pytest.mark.ci
def test_what_is_read_is_of_one_moment_while_it_is_written_and_thinned(tmp_path):
    """Readers come and go while the writer writes, edits, branches and lets go of frames."""
    run, wrong, over = make_run(), list[BaseException](), threading.Event()
    with sv.Recording(run, gradients=True, path=tmp_path / "run.svz", budget=60_000) as recording:
        run.step(5)
        recording.flush()

        def read():
            try:
                while not over.is_set():
                    with sv.load_recording(recording.path) as recorded:
                        arrays = [recorded.loss, recorded.lr, *recorded.values.values(), *recorded.gradients.values()]
                        assert {len(array) for array in arrays} == {len(recorded.steps)}
                        assert [recorded.frame(k).step for k in range(len(recorded))] == recorded.steps.tolist()
                        assert not recorded.remark
            except BaseException as error:
                wrong.append(error)

        readers = [threading.Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        for k in range(16):
            run.step(25)
            if k % 6 == 5:
                run.back(5)
                run.set_weights(0, [float(k)])
            recording.flush()
        over.set()
        for reader in readers:
            reader.join()
        assert recording.thinned
    assert not wrong
    assert list(left(tmp_path)) == ["run.svz"]


# ---- a file that is replaced while it is read


@POSIX
@pytest.mark.ci
@pytest.mark.parametrize("first", [True, False])
def test_of_a_file_that_is_written_over_while_it_is_read_no_number_is_foreign(first, tmp_path):
    """Its old bytes go before or after the new ones are there; the files are larger than what SQLite keeps of one."""
    run, (path, other) = make_run("wide"), (tmp_path / name for name in ("one.svz", "other.svz"))
    for target in (path, other):
        run.change(model=sv.nn.Sequential(sv.nn.Linear(3, 900), sv.nn.Tanh(), sv.nn.Linear(900, 3)))
        with sv.Recording(run, path=target, gradients=True, updates=True):
            run.step(50)
    with sv.load_recording(path) as whole:
        truth = [whole.frame(k).values.tobytes() for k in range(len(whole))]
    with sv.load_recording(path) as recorded:
        with path.open("r+b") as file:
            file.truncate(0 if first else path.stat().st_size)
            file.write(other.read_bytes())
            file.truncate()
        said = []
        for k, true in enumerate(truth):
            try:
                assert recorded.frame(k).values.tobytes() == true
            except FileFormatError as error:
                said.append(str(error))
        assert said
        assert all("changed" in line for line in said)
        with pytest.raises((FileFormatError, InputError), match=r"one\.svz"):
            recorded.newer()
