"""Recordings are whole: a flipped bit is noticed, a reader sees one moment, files of an earlier version are read."""

from __future__ import annotations

import gzip
import sqlite3
import tempfile
import threading
import zlib
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from test_recording_files import made

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.errors import FileFormatError, InputError
from scalarviz.run.recording.checksums import checksum
from scalarviz.run.recording.schema import APPLICATION, OBJECTS, READ


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of 60 steps; not to be changed."""
    path = tmp_path_factory.mktemp("recorded") / "run.svz"
    run = made()
    with sv.Recording(run, gradients=True, updates=True, activations=True, path=path):
        run.step(60)
    return path


def all_read(recorded: sv.run.recording.Recorded) -> None:
    """Ask for all there is."""
    for mapping in (recorded.values, recorded.gradients, recorded.updates, recorded.activations):
        assert all(len(mapping[name]) == len(recorded) for name in mapping)
    assert [recorded.frame(k).step for k in range(len(recorded))] == recorded.steps.tolist()


# ---- checksums, and files of an earlier version


def test_the_format_is_what_is_documented(whole: Path) -> None:
    with closing(sqlite3.connect(f"file:{whole}?mode=ro", uri=True)) as database:
        assert database.execute("PRAGMA application_id").fetchone() == (APPLICATION,)
        assert dict(database.execute("SELECT name, sql FROM sqlite_schema").fetchall()) == OBJECTS
        value, step = database.execute("SELECT value, step FROM frame WHERE step = 7").fetchone()
    with sv.load_recording(whole) as recorded:
        assert np.frombuffer(value, "<f4").tobytes() == recorded.frame(step).values.tobytes()


def test_a_checksum_is_what_is_documented() -> None:
    told = b"\1" + (-7).to_bytes(8, "little", signed=True)
    told += b"\2" + np.array([0.1], "<f8").tobytes() + b"\0" + b"\3" + (2).to_bytes(8, "little") + "\xe9".encode()
    told += b"\4" + (3).to_bytes(8, "little") + b"abc"
    assert checksum((-7, 0.1, None, "\xe9", b"abc")) == zlib.crc32(told)
    assert checksum((-0.0,)) == checksum((0.0,)) != checksum((0,))


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_every_flipped_bit_of_a_frame_is_noticed_and_its_step_named(whole: Path, data: st.DataObject) -> None:
    """As of a disk that forgets: in the file's own bytes of one number of one frame."""
    with sv.load_recording(whole) as complete:
        k = data.draw(st.integers(1, len(complete) - 1))
        step = int(complete.steps[k])
        part = data.draw(st.sampled_from(["value", "gradient", "moved", "activation"]))
        (blob,) = complete.row(k, part)
        others = [complete.frame(j).values.tobytes() for j in range(len(complete)) if j != k]
    content = bytearray(whole.read_bytes())
    assume(content.count(blob) == 1)  # an update of zeros is found elsewhere, too
    bit = data.draw(st.integers(0, 8 * len(blob) - 1))
    content[content.find(blob) + bit // 8] ^= 1 << bit % 8
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.svz"
        path.write_bytes(content)
        with sv.load_recording(path) as recorded:
            assert recorded.remark == f"damaged since it was written, and left out: step {step:,}"
            assert step not in recorded.steps
            assert [recorded.frame(j).values.tobytes() for j in range(len(recorded))] == others


@pytest.fixture
def path(whole: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    (tmp_path / "run.svz").write_bytes(whole.read_bytes())
    return tmp_path / "run.svz"


def test_of_many_damaged_frames_a_few_are_named(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE frame SET loss = 0.5 WHERE step BETWEEN 20 AND 40")
    with sv.load_recording(path) as recorded:
        assert recorded.remark.endswith("left out: steps 20, 21, 22, 23, 24, 25, 26, 27, 13 more")
        assert recorded.steps.tolist() == [*range(20), *range(41, 61)]
        all_read(recorded)


def test_a_file_without_a_whole_frame_is_refused(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE frame SET checksum = checksum + 1")
    with pytest.raises(FileFormatError, match="damaged since it was written"):
        sv.load_recording(path)


def test_a_file_of_the_first_version_is_read(tmp_path: Path) -> None:
    """It was written by the program of that time: weights set to k, 2k and -k after step k, then a branch."""
    path = tmp_path / "run.svz"
    path.write_bytes(gzip.decompress(Path(__file__).with_name("version-1.svz.gz").read_bytes()))
    with closing(sqlite3.connect(path)) as database:
        assert dict(database.execute("SELECT name, sql FROM sqlite_schema").fetchall()) == READ[1] != OBJECTS
    with sv.load_recording(path) as recorded, recorded.on(0) as other:
        assert not recorded.remark
        assert recorded.steps.tolist() == [0, 1, 2, 3, 4, 5]
        assert recorded.values["0.bias"][:, 0].tolist() == [0, -1, -2, 9, 9, 9]
        assert recorded.values["0.weight"][:, 0].tolist() == [[0, 0], [1, 2], [2, 4], [7, 8], [7, 8], [7, 8]]
        assert recorded.loss[1:].tolist() == [5, 9, 29, 661, 661]
        assert recorded.has == {"gradients", "updates", "activations"}
        assert other.values["0.bias"][:, 0].tolist() == [0, -1, -2, -3, -3]
        all_read(recorded)


# ---- one moment, whoever writes meanwhile


def test_what_is_read_is_of_one_moment_while_it_is_written_and_thinned(tmp_path: Path) -> None:
    """Readers come and go while the writer writes, edits, branches and lets go of frames."""
    run, wrong, over = made(), [], threading.Event()
    with sv.Recording(run, gradients=True, path=tmp_path / "run.svz", budget=60_000) as recording:
        run.step(5)
        recording.flush()

        def read() -> None:
            try:
                while not over.is_set():
                    with sv.load_recording(recording.path) as recorded:
                        for _ in range(3):
                            lengths = {len(recorded), len(recorded.loss), len(recorded.lr)}
                            lengths |= {len(array) for array in recorded.values.values()}
                            lengths |= {len(array) for array in recorded.gradients.values()}
                            assert lengths == {len(recorded.steps)}
                            assert [recorded.frame(k).step for k in range(len(recorded))] == recorded.steps.tolist()
                            assert not recorded.remark
            except BaseException as error:
                wrong.append(error)

        readers = [threading.Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        for k in range(40):
            run.step(20)
            if k % 10 == 9:
                run.back(5)
                run.set_weights(0, [float(k)])
            recording.flush()
        over.set()
        for reader in readers:
            reader.join()
        assert recording.thinned
    assert not wrong
    assert [part.name for part in tmp_path.iterdir()] == ["run.svz"]


def test_a_reader_stays_at_its_moment_and_whoever_closes_last_leaves_one_file(tmp_path: Path) -> None:
    run = made()
    recording = sv.Recording(run, path=tmp_path / "run.svz", budget=90_000)
    run.step(30)
    recording.flush()
    early = sv.load_recording(recording.path)
    before = [early.frame(k).values.tobytes() for k in range(len(early))]
    run.step(2000)
    run.back(10)
    run.set_weights(0, [3.0])
    run.step(1)
    recording.close()
    assert recording.thinned  # most of its frames are gone by now
    other = early.on(0)
    assert early.steps.tolist() == other.steps.tolist() == list(range(31))
    assert [early.frame(k).values.tobytes() for k in range(len(early))] == before
    with pytest.raises(InputError, match="no branch 1"):
        early.on(1)
    early.close()
    assert other.frame(30).values.tobytes() == before[30]
    with pytest.raises(sv.ScalarvizError, match="is closed"):
        early.frame(0)
    other.close()
    assert [part.name for part in tmp_path.iterdir()] == ["run.svz"]
    with sv.load_recording(recording.path) as late:
        assert late.steps[-1] == 2021


def test_who_holds_no_moment_lets_the_log_be_cleared_and_is_told_what_is_gone(tmp_path: Path) -> None:
    run, logs, most = made(), [], 0
    for released in (False, True):
        recording = sv.Recording(run, path=tmp_path / f"{released}.svz", budget=120_000, gradients=True, updates=True)
        run.step(10)
        recording.flush()
        recording._database.execute("PRAGMA wal_autocheckpoint = 20")  # pages: the log is cleared 50 times as often
        with sv.load_recording(recording.path) as recorded, recorded.on(0) as shared:
            first = recorded.frame(1).values.tobytes()
            if released:
                recorded.release()
                recorded.release()  # once is enough
            assert recorded.frame(1).values.tobytes() == first
            log, rounds = Path(f"{recording.path}-wal"), 0
            while not recording.thinned or rounds < most or (not released and log.stat().st_size < 6e5):
                run.step(50)
                recording.flush()
                rounds += 1
            most, logs = rounds, [*logs, log.stat().st_size]
            assert recording.thinned
            if released:
                with pytest.raises(FileFormatError, match="frame 1 is gone"):
                    shared.frame(1)
            else:
                assert shared.frame(1).values.tobytes() == first
            newer = recorded.newer()
            assert newer is not None
            all_read(newer)
            newer.close()
        recording.close()
    assert logs[1] < logs[0] / 2


@pytest.mark.parametrize("way", ["itself", "link", "hard link"])
def test_nothing_is_written_over_the_recording_that_it_is_made_of(way: str, whole: Path, tmp_path: Path) -> None:
    """A page in its place would be all that is left."""
    path, name = tmp_path / "mine.svz", tmp_path / "page.html"
    path.write_bytes(whole.read_bytes())
    if way == "link":
        name.symlink_to(path)
    elif way == "hard link":
        name.hardlink_to(path)
    else:
        name = path
    before = path.read_bytes()
    with sv.load_recording(path) as one, sv.load_recording(whole) as two:
        for write in (one.save_html, one.compare(two).save_html, two.compare(one).save_html):
            with pytest.raises(InputError, match="it is the recording itself; give another name"):
                write(name)
    assert path.read_bytes() == before


def test_a_copy_is_not_put_in_the_place_of_what_is_recorded_into(tmp_path: Path) -> None:
    net = nn.Sequential(nn.Linear(2, 2, seed=1))
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (np.eye(2), np.eye(2)), engine="numpy")
    with sv.Recording(run, path=tmp_path / "run.svz") as recording:
        run.step(3)
        with pytest.raises(InputError, match="it is the recording itself"):
            recording.save(tmp_path / "run.svz")
        with pytest.raises(InputError, match="it is the recording itself"):
            recording.save_html(tmp_path / "run.svz")
        run.step(3)
    assert not recording.trouble
    with sv.load_recording(tmp_path / "run.svz") as recorded:
        assert recorded.steps.tolist() == list(range(7))
