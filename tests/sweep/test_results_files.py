"""A file of results that was damaged, changed or is not alone in its folder: what is read of it is what was written,
the rest is computed again."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from sweep_made import going, told

import scalarviz as sv
from kit.files import flipped, same
from scalarviz.errors import FileFormatError, InputError, ScalarvizError

HERE = str(Path(__file__).parent)
KILLED = f"""
import os, signal, sys
sys.path.append({HERE!r})
from sweep_made import going
begun = going(sys.argv[1])
next(begun)
os.kill(os.getpid(), signal.SIGKILL)
"""
POSIX = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes are killed as POSIX has it")


def parts(result):
    return [result.options, result.seed, result.state, result.loss, np.array(result.curve), result.error]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A file of six results, and what it holds."""
    path = tmp_path_factory.mktemp("results") / "whole.svs"
    return path, told(going(path))


@pytest.fixture
def path(made, tmp_path):
    """A copy of it."""
    shutil.copyfile(made[0], tmp_path / "runs.svs")
    return tmp_path / "runs.svs"


def damage(path, *changes):
    with closing(sqlite3.connect(path)) as database, database:
        for change in changes:
            database.execute(change)


@pytest.mark.parametrize("seed", range(24))
def test_what_is_read_of_a_damaged_file_is_what_was_written(made, tmp_path, seed):
    content, path = made[0].read_bytes(), tmp_path / "changed.svs"
    results = {number: (few[:3] + few[4:6] + few[7:8], few[11]) for number, few in made[1].items()}
    place = random.Random(seed).randrange(len(content))
    one = content[:place] + bytes([content[place] ^ 1 << seed % 8]) + content[place + 1 :]
    path.write_bytes(flipped(content, seed) if seed % 2 else one)
    said = []
    try:
        with sv.sweep.Results(path) as found:
            for result in found.results():
                assert same(parts(result), results[result.number][0])
                assert not (weights := found.weights(result.number)) or same(dict(weights), results[result.number][1])
            said = [*found.damaged.values()]
    except ScalarvizError as error:
        said.append(str(error))
    assert not any("\n" in line for line in said)


def test_runs_that_are_damaged_are_computed_again(made, path):
    damage(
        path, "UPDATE result SET loss = 0.5 WHERE number = 1",
            "UPDATE weights SET checksum = 'none' WHERE number = 4",
        "UPDATE weights SET tensors = zeroblob(length(tensors)) WHERE number = 2",
    )  # fmt: skip
    with sv.sweep.Results(path) as there:
        assert [r.number for r in there.results()] == [0, 2, 3, 4, 5]
        assert (there.missing(), there.torn()) == ([1], {2, 4})
        assert "checksum" in there.damaged[1]
        with pytest.raises(FileFormatError, match=r"runs\.svs.*run 2.*damaged"):
            there.weights(2)
    with going(path) as again:
        assert again.before == 3
        assert same(told(again), made[1])
    with sv.sweep.Results(path) as there:
        assert (there.missing(), there.torn()) == ([], set())


# ---- what stands beside


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """The log of a sweep that was killed after its first result."""
    path = tmp_path_factory.mktemp("beside") / "killed.svs"
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False, timeout=120)
    found = Path(f"{path}-wal")
    assert found.stat().st_size > 32
    return found


@POSIX
@pytest.mark.ci
def test_the_log_of_another_file_is_not_written_into_this_one(made, log, path):
    """SQLite takes any log of that name: all six results were gone but for the one of the other's log."""
    shutil.copyfile(log, f"{path}-wal")
    before = path.read_bytes()
    with sv.sweep.Results(path) as there:
        assert "runs.svs-wal" in there.left_out
        assert there.missing() == []
    with pytest.raises(InputError, match=r"runs.svs.*belongs to another file.*remove the log"):
        going(path)
    assert path.read_bytes() == before
    assert Path(f"{path}-wal").exists()
    os.remove(f"{path}-wal")
    with going(path) as again:
        assert again.before == 6
        assert same(told(again), made[1])
