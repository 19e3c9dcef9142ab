"""A log beside a recording is its own or left out; a file that is replaced or written over gives no foreign number."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import FileFormatError, InputError
from scalarviz.run import Run
from scalarviz.run.recording import Recorded

FOREIGN = r"the log of another recording stands beside it \(run.svz-wal\) and was left out"


def made(seed: int, wide: int = 4) -> Run:
    x = np.random.default_rng(0).random((16, 3))
    net = nn.Sequential(nn.Linear(3, wide, seed=seed), nn.Tanh(), nn.Linear(wide, 2, seed=2))
    return Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.001), (x, x[:, :2]), engine="numpy")


def closed(path: Path, seed: int, steps: int, wide: int = 4) -> Path:
    run = made(seed, wide)
    with sv.Recording(run, path=path, gradients=True, updates=True):
        run.step(steps)
    return path


def killed(path: Path, seed: int, steps: int) -> Path:
    """The two files that a killed program leaves."""
    first = path.with_name("first.svz")
    run = made(seed)
    with sv.Recording(run, path=first) as recording:
        run.step(steps)
        recording.flush()
        for suffix in ("", "-wal"):
            shutil.copy(f"{first}{suffix}", f"{path}{suffix}")
    first.unlink()
    return path


def everything(recorded: Recorded) -> list[bytes]:
    return [recorded.frame(k).values.tobytes() for k in range(len(recorded))]


# ---- logs


def test_a_recording_that_was_put_in_the_place_of_a_killed_one_is_read_and_stays_as_it_is(tmp_path: Path) -> None:
    path = killed(tmp_path / "run.svz", 7, 35)
    whole = closed(tmp_path / "whole.svz", 1, 20)
    before, log = whole.read_bytes(), (tmp_path / "run.svz-wal").read_bytes()
    os.replace(whole, path)
    for _ in range(2):
        with sv.load_recording(path) as recorded, sv.load_recording(path) as again:
            assert recorded.steps.tolist() == again.steps.tolist() == list(range(21))
            assert recorded.remark.startswith("the log of another recording stands beside it (run.svz-wal)")
    assert path.read_bytes() == before
    assert (tmp_path / "run.svz-wal").read_bytes() == log


def test_the_log_of_another_killed_one_is_left_out(tmp_path: Path) -> None:
    path = killed(tmp_path / "run.svz", 7, 35)
    other = killed(tmp_path / "other.svz", 9, 15)
    shutil.copy(other, path)
    with pytest.raises(FileFormatError, match=FOREIGN):
        sv.load_recording(path)
    with sv.load_recording(other) as recorded:
        assert (recorded.steps[-1], recorded.remark) == (15, "")


def test_a_log_that_was_begun_anew_is_still_its_own(tmp_path: Path) -> None:
    path, run = tmp_path / "run.svz", made(1)
    with sv.Recording(run, path=tmp_path / "first.svz") as recording:
        for _ in range(5):
            run.step(20)
            recording.flush()
            recording._database.execute("PRAGMA wal_checkpoint(RESTART)")
        run.step(20)
        recording.flush()
        for suffix in ("", "-wal"):
            shutil.copy(f"{recording.path}{suffix}", f"{path}{suffix}")
    with sv.load_recording(path) as recorded:
        assert recorded.steps.tolist() == list(range(121))
        assert recorded.remark == ""


def test_a_killed_one_of_a_time_when_logs_were_not_named_is_read(tmp_path: Path) -> None:
    path = killed(tmp_path / "run.svz", 7, 35)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("DELETE FROM meta WHERE name = 'log'")
        for suffix in ("", "-wal"):
            shutil.copy(f"{path}{suffix}", f"{tmp_path / 'old.svz'}{suffix}")
    with sv.load_recording(tmp_path / "old.svz") as recorded:
        assert (recorded.steps[-1], recorded.remark) == (35, "")


READS = """
import sys, scalarviz as sv
with sv.load_recording(sys.argv[1]) as recorded:
    print(recorded.steps[-1], repr(recorded.remark))
"""


def test_what_another_program_writes_has_its_own_log(tmp_path: Path) -> None:
    run = made(1)
    with sv.Recording(run, path=tmp_path / "run.svz") as recording:
        run.step(30)
        recording.flush()
        command = [sys.executable, "-c", READS, str(recording.path)]
        told = subprocess.run(command, capture_output=True, text=True, check=True)
        assert told.stdout == "30 ''\n"
        run.step(5)
    with sv.load_recording(recording.path) as recorded:
        assert (recorded.steps[-1], recorded.remark) == (35, "")


# ---- a file that is replaced while it is read


def in_place(path: Path, other: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(0)
        file.write(other.read_bytes())


def over(path: Path, other: Path) -> None:
    with path.open("r+b") as file:
        file.write(other.read_bytes())
        file.truncate()


def half(path: Path, other: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def moved(path: Path, other: Path) -> None:
    os.replace(other, path)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two recordings of one network, larger than what SQLite keeps of a file; not to be changed."""
    folder = tmp_path_factory.mktemp("two")
    return closed(folder / "one.svz", 1, 60, 900), closed(folder / "other.svz", 5, 60, 900)


@pytest.mark.skipif(sys.platform == "win32", reason="an open file is not replaced there")
@pytest.mark.parametrize("change", [in_place, over, half, moved])
def test_of_a_file_that_is_changed_while_it_is_read_no_number_is_foreign(
    two: tuple[Path, Path], tmp_path: Path, change: Callable[[Path, Path], None]
) -> None:
    path, other = tmp_path / "run.svz", tmp_path / "other.svz"
    shutil.copy(two[0], path)
    shutil.copy(two[1], other)
    with sv.load_recording(two[0]) as whole:
        truth = everything(whole)
    with sv.load_recording(path) as recorded:
        change(path, other)
        read, said = 0, set()
        for k, true in enumerate(truth):
            try:
                assert recorded.frame(k).values.tobytes() == true
                read += 1
            except FileFormatError as error:
                said.add(str(error).partition("; ")[2])
        assert said == (set() if change is moved else {"its file was changed since it was opened: open it anew"})
        assert (read == len(truth)) == (change is moved)
        if change is not half:
            with pytest.raises((FileFormatError, InputError), match=r"run.svz is another file by now"):
                recorded.newer()
