"""`ResultsFile`: writes the file of a sweep's results, so that a crash damages nothing."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ..errors import InputError, shown
from ..io.atomic import StrPath, check_target, path_text, replacing
from ..run.sources.recording.file import Cell, FileUse, begin, check_length, finish, is_written, signed
from .about import About, alike, written
from .result import Result
from .results import Results
from .rows import AT_THE_END, COLUMNS, ENDING, OF_OPTIMIZER, RESULTS, TABLES, row_of, weights_row

_WAIT = 10.0
"""Seconds to wait for another process that is writing."""
_LOG = 64 << 20
"""Most bytes that the log keeps between two checkpoints."""


class ResultsFile:
    """Writes each result in its own transaction, so that a killed process leaves a valid file.

    `path` is a new file, or one of the same sweep to continue; `about` may add seeds to it. `missing` lists
    the runs to compute: runs without a result, and failed ones. InputError for a file of another sweep, one
    that another process writes, or one that cannot be written.
    """

    def __init__(self, path: StrPath, about: About) -> None:
        self._said = path_text(path)
        target = check_results(path)
        if not target.exists():
            with self._catching_errors():
                _create(target, about)
        with Results(target) as there:
            if there.left_out:  # SQLite would put it into the file, in place of its results
                raise InputError(
                    f"{self._said} cannot be resumed: {there.left_out}; its log belongs to another file: move the "
                    "log to that file, or remove it"
                )
            check_same(there.about, about, self._said)
            about = about if len(about.seeds) > len(there.about.seeds) else there.about
        self.about = about
        with self._catching_errors():
            self._database = sqlite3.connect(target, isolation_level=None, check_same_thread=False, timeout=_WAIT)
        try:
            self.path, self._file = target, FileUse(target)
            self._claim_file()
            with Results(target) as there:
                self.missing = sorted({*there.missing(), *there.torn()})
        except BaseException:
            self._database.close()
            raise

    def _claim_file(self) -> None:
        """Claim the file for this process."""
        with self._catching_errors():
            self._database.execute("BEGIN IMMEDIATE")
            found = self._database.execute("SELECT value FROM meta WHERE name = 'writer'").fetchone()
            if found is not None and is_written(str(found[0])):
                self._database.execute("ROLLBACK")
                raise InputError(
                    f"{self._said} is being written by another sweep, process {str(found[0]).split()[0]}: wait for "
                    "it, end it, or give another name"
                )
            # the file's former log must not be taken for a new one
            self._database.execute("DELETE FROM meta WHERE name = 'log'")
            values = {"writer": signed(), "about": written(self.about)}
            self._database.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())
            self._database.execute("COMMIT")
            self._database.execute("PRAGMA journal_mode = WAL").fetchone()
            self._database.execute("PRAGMA synchronous = NORMAL")  # a killed process loses nothing
            self._database.execute(f"PRAGMA journal_size_limit = {_LOG}")
            begin(self._database, self._file.path)

    def add(self, result: Result) -> None:
        """Write a result in place of an earlier one of its run. InputError: the disk is full, or the file is gone."""
        if not self._file.is_same_file:
            raise InputError(f"{self._said} was removed or replaced during its sweep; no result can be written")
        marks = ", ".join("?" * (len(COLUMNS) + 1))
        with self._catching_errors("; its results are kept, and the same sweep resumes it"), self._database:
            self._database.execute("BEGIN IMMEDIATE")
            self._database.execute(f"INSERT OR REPLACE INTO result VALUES ({marks})", row_of(result))
            self._database.execute("DELETE FROM weights WHERE number = ?", (result.number,))
            ends = {AT_THE_END: result.weights} if result.weights else {}
            for step, tensors in {**result.keyframes, **ends}.items():
                self._put(weights_row(result.number, step, tensors))
            if result.rule:
                self._put(weights_row(result.number, OF_OPTIMIZER, result.optimizer, result.rule))

    def _put(self, row: tuple[Cell, ...]) -> None:
        self._database.execute("INSERT INTO weights VALUES (?, ?, ?, ?)", row)

    @contextmanager
    def _catching_errors(self, hint: str = "") -> Iterator[None]:
        """Turn errors of SQLite into InputError."""
        try:
            yield
        except sqlite3.Error as error:
            raise InputError(f"cannot write {self._said}: {error}{hint}") from None

    def close(self) -> None:
        """Merge the log into the file; another sweep may continue it."""
        finish(self._database, self._file)


def check_results(path: StrPath) -> Path:
    """Return the file, links followed, if results can be written to `path`; InputError otherwise. Touches nothing."""
    target = check_target(path)
    if target.suffix.lower() != ENDING:
        raise InputError(
            f"{path_text(path)}: the file of results must end in {ENDING}; try {target.stem or 'runs'}{ENDING}"
        )
    check_length(target, path)
    return target.absolute()  # the program may change its folder


def check_same(there: About, about: About, said: str) -> None:
    """Raise InputError unless both are the same sweep; `about` may have more seeds."""
    for part in ("name", "build_text", "grid", "steps", "fixed", "keyframes"):
        before, now = getattr(there, part), getattr(about, part)
        if not alike(before, now) or (part == "grid" and list(before) != list(now)):  # the order numbers the runs
            what = f"{part} {shown(before, 200)}, not {shown(now, 200)}"
            what = "another version of the scene's code" if part == "build_text" else what
            raise InputError(
                f"{said} holds results of another sweep: {what}; give another name, or the options of that sweep"
            )
    if about.seeds[: len(there.seeds)] != there.seeds:
        raise InputError(
            f"{said} holds results of other seeds: {_few(there.seeds)}, not {_few(about.seeds)}; give those seeds "
            "(and more, if you like), or another name"
        )


def _few(seeds: list[int]) -> str:
    return ", ".join(map(str, seeds)) if len(seeds) < 9 else f"{seeds[0]}, {seeds[1]} ... {seeds[-1]}"


def _create(target: Path, about: About) -> None:
    """Create a file without results atomically. If another sweep was quicker, its file stays."""
    with replacing(target, _put) as fresh, closing(sqlite3.connect(fresh, isolation_level=None)) as database:
        database.execute("BEGIN")
        database.execute(f"PRAGMA application_id = {RESULTS.application}")
        database.execute(f"PRAGMA user_version = {RESULTS.version}")
        for statement in TABLES.values():
            database.execute(statement)
        database.execute("INSERT INTO meta VALUES ('about', ?)", (written(about),))
        database.execute("COMMIT")


def _put(fresh: Path, target: Path) -> None:
    """Give a new file its name, unless that exists by now."""
    if not target.exists():
        for suffix in ("-wal", "-journal", "-shm"):  # of a former file: SQLite would write it into this one
            Path(f"{target}{suffix}").unlink(missing_ok=True)
    try:
        os.link(fresh, target)
    except FileExistsError:
        return
    except OSError:  # a disk without links
        if not target.exists():
            os.replace(fresh, target)
