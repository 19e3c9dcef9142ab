"""A file of results that was damaged, changed or is not alone in its folder: what is read of it is what was written,
the rest is computed again.

It writes single cells with a checksum that is right, as somebody who means harm would: names and checksums of rows are
internal.
"""

from __future__ import annotations

import csv
import itertools
import json
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
from sweep_made import small

import scalarviz as sv
from kit.files import flipped, same
from scalarviz.engine.processors import _of_linux
from scalarviz.errors import FileFormatError, InputError, ScalarvizError
from scalarviz.run.recording.checksums import checksum
from scalarviz.sweep.rows import COLUMNS
from scalarviz.sweep.table import summary, write_table

HERE = str(Path(__file__).parent)
KILLED = f"""
import os, signal, sys
sys.path.append({HERE!r})
import scalarviz as sv
from sweep_made import small
going = sv.sweep(small, {{"lr": [0.1, 0.2]}}, 3, steps=3, workers=0, keyframes=2, results=sys.argv[1])
next(going)
os.kill(os.getpid(), signal.SIGKILL)
"""
POSIX = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes are killed as POSIX has it")


def going(path, seeds=3):
    return sv.sweep(small, {"lr": [0.1, 0.2]}, seeds, steps=3, workers=0, keyframes=2, results=path)


def parts(result):
    return [result.options, result.seed, result.state, result.loss, np.array(result.curve), result.error]


def told(results):
    return {r.number: [*parts(r), dict(r.weights)] for r in results}


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


@pytest.mark.parametrize("seed", range(60))
def test_what_is_read_of_a_damaged_file_is_what_was_written(made, tmp_path, seed):
    content, results, path = made[0].read_bytes(), made[1], tmp_path / "changed.svs"
    place = random.Random(seed).randrange(len(content))
    one = content[:place] + bytes([content[place] ^ 1 << seed % 8]) + content[place + 1 :]
    path.write_bytes(flipped(content, seed) if seed % 2 else one)
    said = []
    try:
        with sv.sweep.Results(path) as found:
            for result in found.results():
                assert same(parts(result), results[result.number][:6])
                assert not (weights := found.weights(result.number)) or same(dict(weights), results[result.number][6])
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


def rewritten(path, **cells):
    """Other cells in the first row, whose checksum is right."""
    with closing(sqlite3.connect(path)) as database, database:
        found = database.execute(f"SELECT {', '.join(COLUMNS)} FROM result WHERE number = 0").fetchone()
        row = tuple({**dict(zip(COLUMNS, found, strict=True)), **cells}.values())
        marks = ", ".join("?" * (len(row) + 1))
        database.execute(f"INSERT OR REPLACE INTO result VALUES ({marks})", (*row, checksum(row)))


@pytest.mark.parametrize("cells", [
    {"seed": "7"}, {"options": '{"lr": 0.2}'}, {"options": '{"lr": "\\ud800"}'},
    {"options": '{"lr": 0.1, "save": "other.safetensors"}'}, {"options": json.dumps({"lr": "x" * 1_000_000})},
    {"options": json.dumps({f"o{k}": k for k in range(2000)})},
], ids=range(6))  # fmt: skip
def test_a_run_of_another_sweep_in_a_file_is_damage_and_computed_again(made, path, cells):
    rewritten(path, **cells)
    with sv.sweep.Results(path) as found:
        assert [result.number for result in found.results()] == [1, 2, 3, 4, 5]
        assert list(found.damaged) == [0]
    with going(path) as again:
        assert again.before == 5
        assert same(told(again), made[1])


def test_letters_that_are_no_text_are_written_and_told_as_their_numbers(path, tmp_path):
    rewritten(path, metrics=json.dumps({"\udfff\x1b[31m": 1.0, "m" * 100_000: 2.0}))
    with sv.sweep.Results(path) as found:
        results = list(found.results())
    write_table(tmp_path / "t.csv", results)
    with open(tmp_path / "t.csv", newline="", encoding="utf-8") as file:
        assert "\\udfff\x1b[31m" in next(csv.reader(file))
    heads, _ = summary(results)
    assert all(head.isprintable() and len(head) < 200 for head in heads)


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
    with pytest.raises(InputError, match=r"runs.svs.*the log of another file.*remove it"):
        going(path)
    assert path.read_bytes() == before
    assert Path(f"{path}-wal").exists()
    os.remove(f"{path}-wal")
    with going(path) as again:
        assert again.before == 6
        assert same(told(again), made[1])


@POSIX
@pytest.mark.ci
def test_what_a_removed_file_left_beside_is_no_part_of_a_new_one(made, log, tmp_path):
    path = tmp_path / "runs.svs"
    shutil.copyfile(log, f"{path}-wal")
    with going(path) as anew:
        assert anew.before == 0
        assert same(told(anew), made[1])
    assert os.listdir(tmp_path) == ["runs.svs"]


def test_a_file_that_cannot_be_made_is_told_in_a_line(tmp_path, monkeypatch):
    def full(*_args, **_options):
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr("scalarviz.sweep.writing.sqlite3.connect", full)
    with pytest.raises(InputError, match=r"r\.svs.*unable to open"):
        going(tmp_path / "r.svs")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("order", list(itertools.permutations(range(6)))[::144])
def test_whichever_runs_are_there_the_others_are_computed(made, tmp_path, order):
    """Of a file that lost any of its rows."""
    path = tmp_path / "runs.svs"
    for count in (1, 4):
        shutil.copyfile(made[0], path)
        damage(path, f"DELETE FROM result WHERE number IN ({', '.join(map(str, order[:count]))})")
        with going(path) as again:
            assert sorted(again.futures) == sorted(order[:count])
            assert same(told(again), made[1])


def test_processors_of_one_name_are_told_apart_by_their_numbers():
    """A result says on which processor it was computed."""
    text = "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\nstepping\t: 1\n\nmodel\t: 99\n"
    assert _of_linux(text) == "AMD EPYC (25.17.1)"
