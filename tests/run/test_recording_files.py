"""Files of recordings that somebody made, cut, changed, or holds open: clear words, and what can be read is read."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import struct
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import FileFormatError, InputError
from scalarviz.run import Run
from scalarviz.run.recording import opening
from scalarviz.run.recording.checksums import SUMMED, checksum
from scalarviz.run.recording.schema import VERSION


def made() -> Run:
    """A small run."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(16, 2))
    net = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
    net.initialize(seed=3)
    return Run(net, nn.MSELoss(), optim.Adam(net.parameters()), (x, x[:, :1]), batch_size=8, engine="numpy")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of 200 steps, an edit and a branch; not to be changed."""
    path = tmp_path_factory.mktemp("recorded") / "run.svz"
    run = made()
    with sv.Recording(run, gradients=True, updates=True, activations=True, path=path):
        run.step(100)
        run.set_weights(0, [1.0])
        run.step(100)
        run.back(20)
        run.lr = 0.5
        run.step(10)
    return path


@pytest.fixture
def path(whole: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copy(whole, tmp_path / "run.svz"))


def said(path: Path) -> str:
    """What is said of a file that cannot be read: one line with its name."""
    with pytest.raises((FileFormatError, InputError)) as caught:
        sv.load_recording(path)
    text = str(caught.value)
    assert path.name in text
    assert "\n" not in text
    return text


def change(path: Path, *statements: str) -> None:
    """Change a file as its maker could, who knows how checksums are made."""
    with closing(sqlite3.connect(path)) as database, database:
        for statement in statements:
            database.execute(statement)
        with suppress(sqlite3.Error):  # there may be no such table any more
            rows = database.execute(
                f"SELECT id, {', '.join(SUMMED)} FROM frame WHERE length(value) < 100000"
            ).fetchall()
            database.executemany("UPDATE frame SET checksum = ? WHERE id = ?", [(checksum(r[1:]), r[0]) for r in rows])


def all_read(recorded: sv.run.recording.Recorded) -> None:
    """Ask for all there is: only the package's own errors may come."""
    with suppress(sv.ScalarvizError):
        assert np.isin(recorded.steps, recorded.steps).all()
        for mapping in (recorded.values, recorded.gradients, recorded.updates, recorded.activations):
            for name in mapping:
                assert len(mapping[name]) == len(recorded)
        for k in range(len(recorded)):
            recorded.frame(k)
        assert recorded.branches
        assert isinstance(recorded.pictures, tuple)


# ---- what is no recording


def test_what_is_no_recording_is_named(tmp_path: Path) -> None:
    (tmp_path / "folder.svz").mkdir()
    assert "folder" in said(tmp_path / "folder.svz")
    assert "there is no recording" in said(tmp_path / "missing.svz")
    for name, content, words in (
        ("empty.svz", b"", "empty"),
        ("short.svz", b"SQLite format 3\0", "first 16 bytes"),
        ("text.svz", b"weights\n" * 500, "is no recording"),
        ("zeros.svz", bytes(5000), "is no recording"),
    ):
        (tmp_path / name).write_bytes(content)
        assert words in said(tmp_path / name)
    change(tmp_path / "other.svz", "CREATE TABLE cookies (name TEXT)", "PRAGMA application_id = 252006674")
    assert "another program" in said(tmp_path / "other.svz")


def test_another_version_is_named(path: Path) -> None:
    change(path, f"PRAGMA user_version = {VERSION + 1}")
    assert f"version {VERSION + 1}, made by a newer scalarviz" in said(path)
    change(path, "PRAGMA user_version = 0")
    assert "version 0, older" in said(path)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW more AS SELECT * FROM frame",
        "CREATE TRIGGER t AFTER INSERT ON frame BEGIN DELETE FROM frame; END",
        "CREATE INDEX slow ON frame (loss)",
        "CREATE TABLE another (x)",
        "ALTER TABLE frame ADD COLUMN more BLOB",
        "ALTER TABLE meta RENAME TO beta",
        "DROP TABLE picture",
    ],
)
def test_other_tables_are_refused(path: Path, statement: str) -> None:
    change(path, statement)
    assert "other tables" in said(path)


def test_a_view_in_the_place_of_a_table_is_refused(path: Path) -> None:
    change(path, "ALTER TABLE meta RENAME TO beta", "CREATE VIEW meta AS SELECT name, value FROM beta")
    assert "other tables" in said(path)


# ---- hostile content

WRONG_FILE = {
    "no frame": "DELETE FROM frame",
    "negative side": """UPDATE tensor SET shape = '[-4, 2]' WHERE number = 0""",
    "huge side": """UPDATE tensor SET shape = '[99999999999, 99999999999]' WHERE number = 0""",
    "many sides": f"UPDATE tensor SET shape = '{[1] * 99}' WHERE number = 0",
    "shape is no list": """UPDATE tensor SET shape = '{"a": 1}' WHERE number = 0""",
    "shape of texts": """UPDATE tensor SET shape = '["4", "2"]' WHERE number = 0""",
    "deep shape": f"UPDATE tensor SET shape = '{'[' * 90_000}' WHERE number = 0",
    "shape is a blob": "UPDATE tensor SET shape = x'00' WHERE number = 0",
    "NaN in a shape": "UPDATE tensor SET shape = '[NaN, 2]' WHERE number = 0",
    "start": "UPDATE tensor SET start = 3 WHERE number = 1",
    "role": "UPDATE tensor SET role = 'spy' WHERE number = 1",
    "name with a line break": "UPDATE tensor SET name = 'a' || char(10) || 'b' WHERE number = 0",
    "long name": f"UPDATE tensor SET name = '{'a' * 5000}' WHERE number = 0",
    "no name": "UPDATE tensor SET name = '' WHERE number = 0",
    "a name twice": "UPDATE tensor SET name = (SELECT name FROM tensor WHERE number = 1) WHERE number = 0",
    "stage without outputs": "UPDATE stage SET outputs = 0",
    "stage of nothing": "UPDATE stage SET outputs = 'many'",
    "more outputs than numbers": "UPDATE stage SET outputs = 1 << 30",
    "stage of no weight": "UPDATE stage SET weight = 'missing'",
    "stage that reads itself": """UPDATE stage SET sources = '["0"]' WHERE number = 0""",
    "circle of branches": "UPDATE branch SET parent = 1 WHERE number = 0",
    "branch of itself": "UPDATE branch SET parent = number",
    "branch is a text": "UPDATE branch SET first = 'one'",
}


def test_twenty_thousand_tensors_are_read_in_one_go(path: Path) -> None:
    count = 20_000
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DELETE FROM stage")
        database.execute("DELETE FROM tensor")
        database.executemany("INSERT INTO tensor VALUES (0, ?, ?, '[]', ?, 'weight')",
                             ((k, f"t{k}", k) for k in range(count)))  # fmt: skip
        database.executemany("INSERT INTO stage VALUES (0, ?, ?, 'linear', 1, ?, NULL, '[1]', '[1]', '[]', 1)",
                             ((k, f"s{k}", f"t{k}") for k in range(count)))  # fmt: skip
        database.execute("DELETE FROM frame WHERE id > 3")
    change(path, "UPDATE frame SET value = zeroblob(80000), gradient = NULL, moved = NULL, activation = NULL, "
                 "units = NULL, computed = NULL, frozen = NULL")  # fmt: skip
    with sv.load_recording(path) as recorded:  # each with all before it compared, this took minutes
        assert len(recorded.tensors) == len(recorded.stages) == count


@pytest.mark.parametrize("statement", WRONG_FILE.values(), ids=WRONG_FILE)
def test_what_cannot_be_is_refused(path: Path, statement: str) -> None:
    change(path, statement)
    said(path)


WRONG_FRAMES = {
    "short blob": "UPDATE frame SET value = x'00' WHERE step = 5",
    "huge blob": "UPDATE frame SET value = zeroblob(300000000) WHERE step = 5",
    "text for a blob": "UPDATE frame SET value = 'abc' WHERE step = 5",
    "number for a blob": "UPDATE frame SET gradient = 17 WHERE step = 5",
    "negative step": "UPDATE frame SET step = -5 WHERE step = 5",
    "huge step": "UPDATE frame SET step = 9223372036854775807 WHERE step = 5",
    "text for a step": "UPDATE frame SET step = 'five' WHERE step = 5",
    "text for a loss": "UPDATE frame SET loss = 'none' WHERE step = 5",
    "another network": "UPDATE frame SET network = 7 WHERE step = 5",
    "another branch": "UPDATE frame SET branch = 7 WHERE step = 5",
    "flags": "UPDATE frame SET frozen = x'0000000000' WHERE step = 5",
    "units": "UPDATE frame SET units = x'00' WHERE step = 5",
    "rows": "UPDATE frame SET activation = x'0011' WHERE step = 5",
}


@pytest.mark.parametrize("statement", WRONG_FRAMES.values(), ids=WRONG_FRAMES)
def test_a_frame_that_cannot_be_is_left_out_and_the_others_are_read(path: Path, statement: str) -> None:
    change(path, statement)
    with sv.load_recording(path) as recorded:
        assert "1 frames are not what they should be" in recorded.remark
        assert recorded.steps.tolist() == [step for step in range(191) if step != 5]
        all_read(recorded)


WRONG_PARTS = {
    "about is no JSON": "UPDATE meta SET value = 'x' WHERE name = 'every'",
    "about of other kinds": """UPDATE meta SET value = '{"name": 3, "inputs": 2, "probe": [[]], "plan": {"groups": 1},
        "notes": "x", "batch_size": -1, "samples": 1e400, "steps_a_frame": true}' WHERE name = 'about'""",
    "edit is no JSON": "UPDATE edit SET written = 'x'",
    "edit is deep": f"UPDATE edit SET written = '{'[' * 90_000}'",
    "edit of a function": """UPDATE edit SET written = '{"edit": "Call", "function": {"function": "os.system"}}'""",
    "edit of a huge array": """UPDATE edit SET written = '{"edit": "SetWeights", "start": 0, "numbers":
        {"dtype": "float64", "shape": [99999999999], "base64": ""}}'""",
    "edit in edits": "UPDATE edit SET written = '" + '{"edit": "Together", "edits": [' * 400 + "'",
    "words are a blob": "UPDATE edit SET what = x'00'",
    "edit of no branch": "UPDATE edit SET branch = 99 WHERE branch = 1",
    "flags": "INSERT INTO flag VALUES (0, 3, 'a' || char(10) || 'b'), (99, 3, 'x'), (0, -5, 'y')",
    "short curve": "UPDATE curve SET loss = x'00'",
    "huge count": "UPDATE curve SET count = 9223372036854775807",
    "falling curve": "INSERT INTO curve SELECT id + 1000, branch, count, step, loss, lr FROM curve",
    "infinite rates": "UPDATE frame SET lr = 9e999, loss = -9e999, next_lr = NULL",
    "picture of no frame": "INSERT INTO picture VALUES (1, 999, 'x', 1, 1, x'89504E470D0A1A0A')",
    "picture of no size": "INSERT INTO picture VALUES (1, 3, 'x', -1, 1000000000, x'89504E470D0A1A0A')",
    "picture that is none": "INSERT INTO picture VALUES (1, 3, 'x', 1, 1, 'javascript:alert()')",
    "where it stands": "UPDATE meta SET value = '²' WHERE name IN ('branch', 'step')",
    "stands nowhere": "UPDATE meta SET value = '999999999' WHERE name IN ('branch', 'step')",
    "meta is a blob": "UPDATE meta SET value = x'ff' WHERE name IN ('branch', 'step')",
}


@pytest.mark.parametrize("statement", WRONG_PARTS.values(), ids=WRONG_PARTS)
def test_parts_that_cannot_be_keep_no_frame_from_being_read(path: Path, statement: str) -> None:
    change(path, statement)
    if "about" in statement:  # who says nothing of its samples has no rows of them either
        change(path, "UPDATE frame SET activation = NULL")
    with sv.load_recording(path) as recorded:
        assert len(recorded) in (191, 201)
        all_read(recorded)
        assert not recorded.pictures
        assert all("\n" not in flag.name for flag in recorded.past.flags)


def test_an_edit_is_never_a_function(path: Path) -> None:
    change(
        path, """UPDATE edit SET written = '{"edit": "Call", "function": {"function": "os.system"}, "what": "rm"}'"""
    )
    with sv.load_recording(path) as recorded, pytest.raises(sv.ScalarvizError, match="only the words"):
        recorded.edits[0].edit.function(None)  # type: ignore[attr-defined]


@pytest.mark.parametrize("seed", range(150))
def test_a_file_with_other_bytes_raises_nothing_but_our_own_errors(path: Path, seed: int) -> None:
    choice = random.Random(seed)
    data = bytearray(path.read_bytes())
    for _ in range(choice.choice([1, 3, 30, 1000])):
        data[choice.randrange(len(data) if seed % 3 else 8192)] = choice.randrange(256)
    if seed % 4 == 0:
        del data[choice.randrange(len(data)) :]
    path.write_bytes(data)
    with suppress(sv.ScalarvizError), sv.load_recording(path) as recorded:
        all_read(recorded)


# ---- what is cut off, killed, closed to us


def test_of_a_file_that_is_cut_off_the_beginning_is_read(path: Path, whole: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])
    with sv.load_recording(whole) as complete, sv.load_recording(path) as recorded:
        assert "its end is missing" in recorded.remark
        assert 50 < len(recorded) < len(complete)
        for k, step in enumerate(recorded.steps):
            assert recorded.frame(k).values.tobytes() == complete.frame(complete.at(int(step))).values.tobytes()


def unclosed(path: Path) -> None:
    """What a program leaves that was killed in the middle of a recording: a copy while it goes on."""
    run = made()
    with sv.Recording(run, path=path.with_name("first.svz")) as recording:
        run.step(50)
        recording.flush()
        for suffix in ("", "-wal"):
            shutil.copy(f"{recording.path}{suffix}", f"{path}{suffix}")


def test_what_was_not_closed_is_repaired(tmp_path: Path) -> None:
    path = tmp_path / "run.svz"
    unclosed(path)
    assert path.with_name("run.svz-wal").stat().st_size
    with sv.load_recording(path) as recorded:
        assert recorded.steps.tolist() == list(range(51))
    assert sorted(part.name for part in tmp_path.iterdir()) == ["first.svz", "run.svz"]


def test_a_name_that_leaves_no_room_for_what_stands_beside_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="its name has 250 bytes; allowed: 247"):
        sv.Recording(made(), path=tmp_path / ("n" * 246 + ".svz"))
    path = tmp_path / ("n" * 243 + ".svz")
    with sv.Recording(made(), path=path) as recording:
        recording.flush()
        sv.load_recording(path).close()
    sv.load_recording(path).close()


@pytest.mark.skipif(sys.platform != "linux", reason="names are texts there")
def test_a_name_that_is_no_utf8_is_written_and_read(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9 ?#%41.svz")
    with sv.Recording(made(), path=path) as recording:
        recording.flush()
        sv.load_recording(path).close()
        recording.save(tmp_path / "copy.svz")
    with sv.load_recording(path) as recorded:
        assert len(recorded) == 1
    (tmp_path / "copy.svz").unlink()
    assert os.listdir(os.fsencode(tmp_path)) == [b"caf\xe9 ?#%41.svz"]


def test_a_log_that_is_gone_leaves_one_file(path: Path) -> None:
    change(path, "PRAGMA journal_mode = WAL")  # as where it is killed between the end of its log and its own
    assert path.read_bytes()[18:20] == b"\2\2"
    with sv.load_recording(path) as recorded:
        assert len(recorded) == 191
    assert path.read_bytes()[18:20] == b"\1\1"
    assert [part.name for part in path.parent.iterdir()] == ["run.svz"]


def test_where_nothing_may_be_written_a_copy_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.svz"
    unclosed(path)
    before = {part.name: part.read_bytes() for part in tmp_path.iterdir()}
    genuine = os.access
    monkeypatch.setattr(opening.os, "access", lambda name, mode: mode != os.W_OK and genuine(name, mode))
    for _ in range(2):
        with sv.load_recording(path) as recorded:
            assert recorded.steps.tolist() == list(range(51))
            assert recorded.values["0.weight"].shape == (51, 4, 2)
    with sv.load_recording(tmp_path / "first.svz") as recorded:
        assert len(recorded) == 51
    assert {part.name: part.read_bytes() for part in tmp_path.iterdir()} == before


def test_a_journal_that_would_delete_another_file_is_left_alone(path: Path) -> None:
    precious = path.with_name("thesis.txt")
    precious.write_text("a year of work\n")
    name, magic = os.fsencode(precious), bytes.fromhex("d9d505f920a163d7")
    pages = path.stat().st_size // 4096
    head = (magic + struct.pack(">IIIII", 0, 1, pages, 512, 4096)).ljust(512, b"\0")
    tail = struct.pack(">I", (1 << 30) // 4096 + 1) + name + struct.pack(">II", len(name), sum(name)) + magic
    path.with_name("run.svz-journal").write_bytes(head + tail)
    link = path.with_name("link.svz")
    link.symlink_to(path)
    for one in (path, link):
        with pytest.raises(FileFormatError, match=r"run\.svz-journal, which names another file to be deleted"):
            sv.load_recording(one)
        assert precious.read_text() == "a year of work\n"
    path.with_name("run.svz-journal").write_bytes(head)  # a plain one: nothing to be rolled back
    with sv.load_recording(path) as recorded:
        assert len(recorded) == 191


def test_beside_a_link_nothing_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    path, link = tmp_path / "real" / "run.svz", tmp_path / "link.svz"
    unclosed(path)
    link.symlink_to(path)
    genuine = os.access
    with monkeypatch.context() as patched:
        patched.setattr(opening.os, "access", lambda name, mode: mode != os.W_OK and genuine(name, mode))
        with sv.load_recording(link) as recorded:  # its log too, from a copy
            assert recorded.steps.tolist() == list(range(51))
    assert path.with_name("run.svz-wal").exists()
    with sv.load_recording(link) as recorded:
        assert recorded.steps.tolist() == list(range(51))
    assert not path.with_name("run.svz-wal").exists()


@pytest.mark.slow  # four programs
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_three_programs_that_are_killed_lose_nothing() -> None:
    script = Path(__file__).with_name("kills.py")
    done = subprocess.run([sys.executable, script, "3"], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr


READER = """
import sys, scalarviz as sv
with sv.load_recording(sys.argv[1]) as recorded:
    first = len(recorded)
    assert recorded.frame(-1).step == recorded.steps[-1]
    assert recorded.values["0.weight"].shape == (first, 4, 2)
print(first)
"""


@pytest.mark.slow  # two programs
def test_two_programs_read_while_one_writes(tmp_path: Path) -> None:
    run = made()
    with sv.Recording(run, path=tmp_path / "run.svz") as recording:
        run.step(20)
        recording.flush()
        readers = [
            subprocess.Popen([sys.executable, "-c", READER, recording.path], stdout=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        while any(reader.poll() is None for reader in readers):
            run.step(5)
        assert [reader.returncode for reader in readers] == [0, 0]
        assert all(int(reader.stdout.read()) >= 21 for reader in readers if reader.stdout)
        for reader in readers:
            assert reader.stdout is not None
            reader.stdout.close()
        last = run.steps
    with sv.load_recording(recording.path) as recorded:
        assert recorded.steps.tolist() == list(range(last + 1))
    assert [part.name for part in tmp_path.iterdir()] == ["run.svz"]
