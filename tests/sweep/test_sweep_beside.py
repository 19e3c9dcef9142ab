"""What stands beside a file of results, damage in its weights, and names that SQLite's files have no room for."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from sweep_made import small

import scalarviz as sv
from scalarviz.errors import FileFormatError, InputError
from scalarviz.sweep import Results

HERE = str(Path(__file__).parent)
KILLED = f"""
import os, signal, sys
sys.path.append({HERE!r})
import scalarviz as sv
from sweep_made import small
going = sv.sweep(small, {{"lr": [0.1, 0.2]}}, 3, steps=3, workers=0, results=sys.argv[1])
next(going)
os.kill(os.getpid(), signal.SIGKILL)
"""


def going(path, seeds=3):
    return sv.sweep(small, {"lr": [0.1, 0.2]}, seeds, steps=3, workers=0, results=path)


def told(results):
    return {r.number: (r.seed, r.options, r.loss, {n: a.tobytes() for n, a in r.weights.items()}) for r in results}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a file of all results, and one of one result that was killed, with its log."""
    folder = tmp_path_factory.mktemp("beside")
    results = told(going(folder / "whole.svs"))
    subprocess.run([sys.executable, "-c", KILLED, str(folder / "killed.svs")], check=False, timeout=120)
    assert (folder / "killed.svs-wal").stat().st_size > 32
    return folder, results


@pytest.mark.skipif(sys.platform == "win32", reason="processes are killed as POSIX has it")
def test_the_log_of_another_file_is_not_written_into_this_one(made, tmp_path):
    """SQLite takes any log of that name: all six results were gone but for the one of the other's log."""
    folder, results = made
    path = tmp_path / "runs.svs"
    shutil.copyfile(folder / "whole.svs", path)
    shutil.copyfile(folder / "killed.svs-wal", f"{path}-wal")
    before = path.read_bytes()
    with Results(path) as there:
        assert there.left_out == "the log of another file of results stands beside it (runs.svs-wal) and was left out"
        assert there.missing() == []
    with pytest.raises(InputError, match=r"runs.svs is not gone on with: the log of another file .* or remove it"):
        going(path)
    assert path.read_bytes() == before
    assert Path(f"{path}-wal").exists()
    os.remove(f"{path}-wal")
    with going(path) as again:
        assert again.before == 6
        assert told(again) == results


@pytest.mark.skipif(sys.platform == "win32", reason="processes are killed as POSIX has it")
def test_what_a_removed_file_left_beside_is_no_part_of_a_new_one(made, tmp_path):
    folder, results = made
    path = tmp_path / "runs.svs"
    shutil.copyfile(folder / "killed.svs-wal", f"{path}-wal")
    with going(path) as anew:
        assert anew.before == 0
        assert told(anew) == results
    assert os.listdir(tmp_path) == ["runs.svs"]


def test_runs_whose_weights_are_damaged_are_computed_again(made, tmp_path):
    folder, results = made
    path = tmp_path / "runs.svs"
    shutil.copyfile(folder / "whole.svs", path)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE weights SET tensors = zeroblob(length(tensors)) WHERE number = 2")
        database.execute("UPDATE weights SET checksum = 'none' WHERE number = 4")
    with Results(path) as there:
        with pytest.raises(FileFormatError, match=r"runs.svs, run 2: the weights are damaged"):
            there.weights(2)
        assert there.torn() == {2, 4}
    with going(path) as again:
        assert again.before == 4
        assert told(again) == results
    with Results(path) as there:
        assert there.torn() == set()


def test_a_name_without_room_for_what_stands_beside_is_refused(tmp_path):
    with pytest.raises(InputError, match="its name has 253 bytes; allowed: 247"):
        going(tmp_path / f"{'x' * 249}.svs")
    assert list(tmp_path.iterdir()) == []
    assert len(list(going(tmp_path / f"{'x' * 243}.svs", 1))) == 2
