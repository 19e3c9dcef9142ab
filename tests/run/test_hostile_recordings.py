"""Recordings that somebody changed, or a disk forgot: what cannot be is refused in words, what can be read is read."""

import os
import random
import shutil
import sqlite3
import struct
import zlib
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from kit.files import left, same
from kit.runs import make_run
from scalarviz.errors import FileFormatError, InputError

VERSION = 3
SUMMED = (
    "branch", "step", "edits", "network", "loss", "lr", "next_lr", "whole", "own", "batch", "optimizer", "edited",
    "computed", "frozen", "value", "gradient", "moved", "activation", "delta", "units",
)  # fmt: skip
"""Columns of a frame that its checksum is of."""


def checksum(cells):
    """As the format says: the CRC-32 of each cell's kind, then the number, or the length and the bytes."""
    told = b""
    for cell in cells:
        match cell:
            case None:
                told += b"\0"
            case int():
                told += b"\1" + cell.to_bytes(8, "little", signed=True)
            case float():
                told += b"\2" + struct.pack("<d", cell + 0.0)
            case str():
                told += b"\3" + len(cell.encode()).to_bytes(8, "little") + cell.encode()
            case _:
                told += b"\4" + len(cell).to_bytes(8, "little") + cell
    return zlib.crc32(told)


def change(path, *statements):
    """Change a file as its maker could, who knows how checksums are made."""
    with closing(sqlite3.connect(path)) as database, database:
        for statement in statements:
            database.execute(statement)
        with suppress(sqlite3.Error, UnicodeError):  # there may be no such table any more
            rows = database.execute(f"SELECT id, {', '.join(SUMMED)} FROM frame WHERE length(value) < 100000")
            sums = [(checksum(cells), id_) for id_, *cells in rows.fetchall()]
            database.executemany("UPDATE frame SET checksum = ? WHERE id = ?", sums)


def all_read(recorded):
    """Ask for all there is; the frames."""
    assert recorded.branches
    assert isinstance(recorded.pictures, tuple)
    for mapping in (recorded.values, recorded.gradients, recorded.updates, recorded.activations):
        assert all(len(mapping[name]) == len(recorded) for name in mapping)
    frames = [recorded.frame(k) for k in range(len(recorded))]
    assert [frame.step for frame in frames] == recorded.steps.tolist()
    return [frame.values for frame in frames]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A recording with an edit and a branch; not to be changed."""
    path = tmp_path_factory.mktemp("recorded") / "run.svz"
    run = make_run(dtype="float32")
    with sv.Recording(run, gradients=True, updates=True, activations=True, path=path):
        run.step(40)
        run.set_weights(0, [1.0])
        run.step(40)
        run.back(10)
        run.lr = 0.5
        run.step(5)
    return path


END = 75


@pytest.fixture
def path(whole, tmp_path):
    return Path(shutil.copy(whole, tmp_path / "run.svz"))


def refused(path):
    """What is said of a file that cannot be read: one line with its name."""
    with pytest.raises((FileFormatError, InputError)) as caught:
        sv.load_recording(path)
    assert path.name in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# ---- what somebody wrote into it

TENSOR, STAGE = "UPDATE tensor SET {} WHERE number = 0", "UPDATE stage SET {}"
WRONG_FILES: dict[str, tuple[str, ...]] = {
    "another program's": ("PRAGMA application_id = 252006674", "another program"),
    "a newer version": (f"PRAGMA user_version = {VERSION + 1}", f"version {VERSION + 1}", "newer",
        f"reads version {VERSION}"),
    "an older version": ("PRAGMA user_version = 0", "version 0", "too old"),
    "a view": ("CREATE VIEW more AS SELECT * FROM frame", "tables"),
    "another column": ("ALTER TABLE frame ADD COLUMN more BLOB", "tables"),
    "a lost table": ("DROP TABLE picture", "tables"),
    "no frame": ("DELETE FROM frame",),
    **{f"shape {shape[:20]}": (TENSOR.format(f"shape = '{shape}'"),) for shape in (
        "[-4, 3]", "[99999999999, 99999999999]", '{"a": 1}', '["4", "3"]', "[" * 90_000)},
    "start": ("UPDATE tensor SET start = 3 WHERE number = 1",),
    "role": (TENSOR.format("role = 'spy'"),),
    "name with a line break": (TENSOR.format("name = 'a' || char(10) || 'b'"),),
    "a name twice": (TENSOR.format("name = (SELECT name FROM tensor WHERE number = 1)"),),
    **{f"stage {what}": (STAGE.format(what),) for what in (
        "outputs = 0", "weight = 'missing'",
        """sources = '["0"]' WHERE number = 0""")},
    **{f"branch {what}": (f"UPDATE branch SET {what}",) for what in (
        "parent = number", "first = 'one'")},
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_FILES)
def test_what_cannot_be_is_refused(path, name):
    statement, *facts = WRONG_FILES[name]
    change(path, statement)
    said = refused(path)
    assert all(fact in said for fact in facts), said


WRONG_FRAMES = {
    "short blob": "value = x'00'", "text for a blob": "value = 'abc'", "number for a blob": "gradient = 17",
    "huge step": "step = 9223372036854775807", "text for a loss": "loss = 'none'", "another network": "network = 7",
    "another branch": "branch = 7", "flags": "frozen = x'0000000000'", "rows": "activation = x'0011'",
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_FRAMES)
def test_a_frame_that_cannot_be_is_left_out_and_the_others_are_read(path, name):
    change(path, f"UPDATE frame SET {WRONG_FRAMES[name]} WHERE step = 5")
    with sv.load_recording(path) as recorded:
        assert recorded.remark.startswith("1 ")
        assert recorded.steps.tolist() == [step for step in range(END + 1) if step != 5]
        all_read(recorded)


EDIT = "UPDATE edit SET written = "
WRONG_PARTS = {
    "about is no JSON": "UPDATE meta SET value = 'x' WHERE name = 'every'",
    "about of other kinds": """UPDATE meta SET value = '{"name": 3, "inputs": 2, "probe": [[]], "plan": {"groups": 1},
        "notes": "x", "batch_size": -1, "samples": 1e400, "steps_a_frame": true}' WHERE name = 'about'""",
    "edit is no JSON": EDIT + "'x'",
    "edit of a function": EDIT + """'{"edit": "Call", "function": {"function": "os.system"}, "what": "rm"}'""",
    "edit in edits": EDIT + "'" + '{"edit": "Together", "edits": [' * 400 + "'",
    "edit of no branch": "UPDATE edit SET branch = 99 WHERE branch = 1",
    "flags": "INSERT INTO flag VALUES (0, 3, 'a' || char(10) || 'b'), (99, 3, 'x'), (0, -5, 'y')",
    "short curve": "UPDATE curve SET loss = x'00'",
    "huge count": "UPDATE curve SET count = 9223372036854775807",
    "infinite rates": "UPDATE frame SET lr = 9e999, loss = -9e999, next_lr = NULL",
    "picture of no frame": "INSERT INTO picture VALUES (1, 999, 'x', 1, 1, x'89504E470D0A1A0A')",
    "picture that is none": "INSERT INTO picture VALUES (1, 3, 'x', 1, 1, 'javascript:alert()')",
    "where it stands": "UPDATE meta SET value = '²' WHERE name IN ('branch', 'step')",
}


@pytest.mark.parametrize("name", WRONG_PARTS)
def test_parts_that_cannot_be_keep_no_frame_from_being_read(path, whole, name):
    change(path, WRONG_PARTS[name])
    if "about" in WRONG_PARTS[name]:  # who says nothing of its samples has no rows of them either
        change(path, "UPDATE frame SET activation = NULL")
    with (
        sv.load_recording(path) as recorded, recorded.on(0) as first,
        sv.load_recording(whole) as complete, complete.on(0) as wanted,
    ):  # fmt: skip
        assert len(recorded) in (END + 1, 81)  # the branch of the end, or the first one
        assert same(all_read(first), all_read(wanted))
        all_read(recorded)
        assert not recorded.pictures
        assert all("\n" not in flag.name for flag in recorded.past.flags)
        for applied in recorded.edits if name == "edit of a function" else ():
            with pytest.raises(sv.ScalarvizError):  # never run
                applied.edit.function(None)


def test_every_frame_has_the_checksum_that_the_format_says(path):
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute(f"SELECT checksum, {', '.join(SUMMED)} FROM frame").fetchall()
        assert database.execute("PRAGMA user_version").fetchone() == (VERSION,)
    assert [found for found, *_ in rows] == [checksum(cells) for _, *cells in rows]
    assert checksum((-0.0,)) == checksum((0.0,)) != checksum((0,))


@pytest.mark.parametrize("part", ["value", "gradient", "moved", "activation", "loss", "branch"])
def test_every_flipped_bit_of_a_frame_is_noticed_and_its_step_named(part, whole, path):
    choice = random.Random(part)
    with sv.load_recording(whole) as complete:
        for _ in range(2):
            step = choice.randrange(1, 30)
            with closing(sqlite3.connect(path)) as database, database:
                (cell,) = database.execute(f"SELECT {part} FROM frame WHERE step = {step}").fetchone()
                if isinstance(cell, bytes):
                    bit, other = choice.randrange(8 * len(cell)), bytearray(cell)
                    other[bit // 8] ^= 1 << bit % 8
                else:
                    other = float(np.nextafter(cell, 9)) if isinstance(cell, float) else 1 - cell
                database.execute(f"UPDATE frame SET {part} = ? WHERE step = {step}", (other,))
            with sv.load_recording(path) as recorded:
                assert recorded.remark.endswith(f"step {step}")
                assert recorded.steps.tolist() == [each for each in range(END + 1) if each != step]
                assert same(all_read(recorded), [complete.frame(complete.at(int(k))).values for k in recorded.steps])
            shutil.copy(whole, path)


def test_of_many_damaged_frames_a_few_are_named(path):
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE frame SET loss = 0.5 WHERE step BETWEEN 10 AND 30")
    with sv.load_recording(path) as recorded:
        assert recorded.remark.endswith("steps 10, 11, 12, 13, 14, 15, 16, 17, 13 more")
        assert recorded.steps.tolist() == [*range(10), *range(31, END + 1)]
        all_read(recorded)


def test_a_journal_that_would_delete_another_file_is_left_alone(path):
    """SQLite deletes the file that a rollback journal names at its end."""
    precious, journal, link = (path.with_name(name) for name in ("thesis.txt", "run.svz-journal", "link.svz"))
    precious.write_text("a year of work\n")
    link.symlink_to(path)
    name, magic, pages = os.fsencode(precious), bytes.fromhex("d9d505f920a163d7"), path.stat().st_size // 4096
    head = (magic + struct.pack(">IIIII", 0, 1, pages, 512, 4096)).ljust(512, b"\0")
    tail = struct.pack(">I", (1 << 30) // 4096 + 1) + name + struct.pack(">II", len(name), sum(name)) + magic
    journal.write_bytes(head + tail)
    before = left(path.parent)
    for one in (path, link):
        with pytest.raises(FileFormatError, match=r"run\.svz-journal.*another file"):
            sv.load_recording(one)
        assert left(path.parent) == before
    journal.write_bytes(head)  # a plain one: nothing to be rolled back
    with sv.load_recording(path) as recorded:
        assert len(recorded) == END + 1


@pytest.mark.parametrize(
    ("content", "fact"),
    [
        (None, "there is no recording"),
        (b"", "empty"),
        (b"SQLite format 3\0", "byte 16"),
        (bytes(5000), "is not a recording"),
    ],
)
def test_what_is_no_recording_is_named(tmp_path, content, fact):
    if content is not None:
        (tmp_path / "a.svz").write_bytes(content)
    with pytest.raises(sv.ScalarvizError, match=rf"a\.svz.*{fact}|{fact}.*a\.svz"):
        sv.load_recording(tmp_path / "a.svz")
