"""The file of a sweep: its description, its rows, `Results`, which reads it, and `ResultsFile`, which writes it.

It is an SQLite database with exactly the tables below, as recordings are. A file may come from anyone, so every row is
checked. It can be read while it is written.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..checks import integer
from ..errors import FileFormatError, InputError, shown
from ..io.atomic import StrPath, check_target, path_text, replacing
from ..io.weights import OURS
from ..run.sources.recording import file, tables
from ..run.sources.recording.contents import OpenDatabase
from ..run.state import KEY
from .groups import StoredResults
from .result import MOST_POINTS, STATES, Arrays, Label, Result

# ---- its description of the sweep

MOST_WORDS = 1 << 24
"""Most characters of the description as JSON."""
MOST_RUNS = 10_000_000


@dataclass(frozen=True, slots=True)
class About:
    """Facts that all runs of a sweep share, and the list of runs."""

    name: str  # name of the scene ("xor"), of its file, or of the function that builds a run
    build_text: str  # text of the scene's file or the function; it is shown and compared, never executed
    grid: dict[str, list[Label]]
    seeds: list[int]
    steps: int  # steps of each run, unless an option changes them
    total: int
    made: str = ""  # when it was begun, and by which version
    fixed: dict[str, Label] = field(default_factory=dict)  # the other given options
    keyframes: int = 0  # number of keyframes per run
    __pydantic_config__: ClassVar[Mapping[str, object]] = {"strict": True, "extra": "forbid"}

    def place(self, number: int) -> tuple[dict[str, Label], int]:
        """Return options and seed of a run by its number: the last option's value changes fastest."""
        options = dict[str, Label]()
        for name in reversed(self.grid):  # not listed: a file may claim any number of them
            number, at = divmod(number, len(self.grid[name]))
            options[name] = self.grid[name][at]
        return options, self.seeds[number]


def written(about: About) -> str:
    """Return the description as JSON."""
    return json.dumps(asdict(about))


def read_about(text: str) -> About:
    """Read and check a description; FileFormatError if it is not valid."""
    from pydantic import TypeAdapter, ValidationError

    try:
        about = TypeAdapter(About).validate_json(text if len(text) <= MOST_WORDS else "")
    except ValidationError:
        raise FileFormatError("its description of the sweep cannot be read") from None
    counts = (*about.seeds, about.steps, about.total, about.keyframes)
    if not all(0 <= count < 1 << 64 for count in counts) or not all(about.grid.values()):
        raise FileFormatError("it has an impossible count, or an option without values")
    # counted, not listed: a file may claim any number of them
    if math.prod(map(len, about.grid.values())) * len(about.seeds) != about.total or about.total > MOST_RUNS:
        raise FileFormatError("its number of runs does not match its options and seeds")
    return about


def is_label(value: Any) -> bool:
    """Return whether a value can be a label."""
    return value is None or isinstance(value, int | float | str | bool)


def alike(one: Any, other: Any) -> bool:
    """Return whether two values, or lists or dicts of them, are equal; NaN equals NaN here."""
    return bool(one == other) or json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


# ---- its rows; blobs of curves are little-endian float64 (K, 2), those of weights are safetensors

ENDING = ".svs"
VERSION = 1

TABLES = {
    "meta": tables.TABLES["meta"],
    "result": (
        "CREATE TABLE result (number INTEGER PRIMARY KEY, options TEXT NOT NULL, seed TEXT NOT NULL, "
        "state TEXT NOT NULL, steps INTEGER NOT NULL, loss REAL, metrics TEXT NOT NULL, reached INTEGER, "
        "curve BLOB NOT NULL, seconds REAL NOT NULL, processor TEXT NOT NULL, tries INTEGER NOT NULL, "
        "error TEXT NOT NULL, checksum INTEGER NOT NULL)"
    ),
    "weights": (
        "CREATE TABLE weights (number INTEGER NOT NULL, step INTEGER NOT NULL, tensors BLOB NOT NULL, "
        "checksum INTEGER NOT NULL, PRIMARY KEY (number, step)) WITHOUT ROWID"
    ),
}
"""Tables of the file, by name.

* ``meta``: ``about`` (JSON of :class:`~scalarviz.sweep.results.About`), ``writer`` (the process that writes), ``log``.
* ``result``: one row per ended run, as :class:`~scalarviz.sweep.result.Result`. A NULL loss is NaN;
  ``seed`` is decimal digits (it may have 64 bits); ``metrics`` is JSON, in which null is NaN.
* ``weights``: weights at the end under step -1, keyframes under their steps. Step -2 has the optimiser's arrays, with
  its settings in their metadata, if training on needs them.
* ``checksum``: of the other columns, in order, see :mod:`scalarviz.run.sources.recording.tables`.
"""

AT_THE_END = -1
"""Step number of the weights at the end."""
OF_OPTIMIZER = -2
"""Step number of the optimiser's arrays at the end."""

RESULTS = tables.Format(
    "file of results", "scalarviz sweep SCENE --results FILE makes one", 0x73767377, VERSION, TABLES
)


COLUMNS = (
    "number", "options", "seed", "state", "steps", "loss", "metrics", "reached", "curve", "seconds", "processor",
    "tries", "error",
)  # fmt: skip
"""Columns of the table ``result``, without the checksum."""
ORDER = f"{OURS}order"
"""Key of the list of array names in the order of their network."""
LONGEST_ERROR = 1000
_WHOLE = 1 << 53


def row_of(result: Result) -> tuple[tables.Cell, ...]:
    """Return the row of a result for the table ``result``, its checksum last."""
    metrics = {name: None if math.isnan(number) else number for name, number in result.metrics.items()}
    row: tuple[tables.Cell, ...] = (
        result.number, json.dumps(result.options), str(result.seed), result.state, result.steps,
        None if math.isnan(result.loss) else float(result.loss), json.dumps(metrics),
        None if result.reached is None else int(result.reached),
        np.ascontiguousarray(result.curve, "<f8").tobytes(), float(result.seconds), tables.clean(result.processor),
        result.tries, tables.clean(result.error, LONGEST_ERROR),
    )  # fmt: skip
    return (*row, tables.checksum(row))


def read_row(row: tuple[Any, ...]) -> Result:
    """Return the result of a row, without its weights; FileFormatError if the row is damaged."""
    *cells, said = row
    try:
        if tables.checksum(cells) != said:
            raise FileFormatError("its checksum does not match")
        return _read(*cells)
    except FileFormatError:
        raise
    except Exception as error:  # a cell of any kind, JSON of any form
        raise FileFormatError(f"it cannot be read ({type(error).__name__})") from None


def _read(
    number: Any, options: Any, seed: Any, state: Any, steps: Any, loss: Any, metrics: Any, reached: Any, curve: Any,
    seconds: Any, processor: Any, tries: Any, error: Any,
) -> Result:  # fmt: skip
    labels, told, points = json.loads(options), json.loads(metrics), np.frombuffer(curve, "<f8").reshape(-1, 2)
    right = (
        isinstance(labels, dict) and all(map(is_label, labels.values())) and isinstance(told, dict)
        and state in STATES and reached in (None, 0, 1) and len(points) <= MOST_POINTS
        and all(isinstance(n, int) and 0 <= n < _WHOLE for n in (number, steps, tries))
        and seed.isascii() and seed.isdigit() and len(seed) < 21
    )  # fmt: skip
    if not right:
        raise FileFormatError("it holds impossible numbers")
    return Result(
        number, labels, int(seed), next(s for s in STATES if s == state), steps, _number(loss),
        {name: _number(value) for name, value in told.items()}, None if reached is None else bool(reached),
        points.astype(np.float64), seconds=float(seconds), processor=tables.clean(processor), tries=tries,
        error=tables.clean(error, LONGEST_ERROR),
    )  # fmt: skip


def _number(said: float | None) -> float:
    return math.nan if said is None else float(said)


def weights_row(number: int, step: int, tensors: Arrays, said: str = "") -> tuple[tables.Cell, ...]:
    """Return a row of the table ``weights``; `said` goes into the metadata."""
    from safetensors.numpy import save

    # safetensors stores the buffer as it lies: one that is not contiguous would come back with other numbers
    whole = {name: np.asarray(a, order="C") for name, a in tensors.items()}
    beside = {ORDER: json.dumps(list(tensors)), **({KEY: said} if said else {})}
    row: tuple[tables.Cell, ...] = (number, step, save(whole, beside))
    return (*row, tables.checksum(row))


def read_weights(row: tuple[Any, ...]) -> dict[str, Any]:
    """Return the arrays of a row of the table ``weights``, by name; FileFormatError if the row is damaged."""
    from safetensors.numpy import load

    if not sound(row):
        raise FileFormatError("the weights are damaged: their checksum does not match")
    try:
        return _in_order(load(row[2]), _beside(row[2]).get(ORDER, "[]"))
    except Exception as error:  # bytes of any kind; the package has errors of its own
        raise FileFormatError(f"the weights cannot be read: {tables.clean(str(error), 200)}") from None


def sound(row: tuple[Any, ...]) -> bool:
    """Return whether a row of the table ``weights`` matches its checksum."""
    *cells, said = row
    try:
        return bool(tables.checksum(cells) == said)
    except Exception:  # cells of any kind
        return False


def _beside(blob: bytes) -> dict[str, str]:
    """Return the metadata of a safetensors blob."""
    length = int.from_bytes(blob[:8], "little")
    return dict(json.loads(blob[8 : 8 + length]).get("__metadata__", {}))


def _in_order(tensors: dict[str, Any], order: str) -> dict[str, Any]:
    """Return the arrays in the order of their network; safetensors returns them in any order."""
    names = {name: place for place, name in enumerate(json.loads(order))}
    return {name: tensors[name] for name in sorted(tensors, key=lambda name: (names.get(name, len(names)), name))}


# ---- reading


class Results(StoredResults):
    """A results file at one moment; a context manager. Open it again to see later results.

    Parameters
    ----------
    path : path-like

    Attributes
    ----------
    path : path-like
    about : About
        The combinations that the sweep tries.
    damaged : dict of int to str
        Runs whose results cannot be read, and why; filled by :meth:`results`. They count as missing.

    Raises
    ------
    InputError
        There is no such file, or it cannot be read.
    FileFormatError
        It is not a results file, has another version, or is damaged.
    """

    def __init__(self, path: StrPath) -> None:
        self.path = path
        self.damaged: dict[int, str] = {}
        self._opened = OpenDatabase(path, RESULTS)
        try:
            with self._catching_errors():
                found = self._fetch_all("SELECT value FROM meta WHERE name = 'about'")
                self.about = read_about(str(found[0][0]) if found else "")
        except BaseException:
            self.close()
            raise

    @classmethod
    def read(cls, path: StrPath) -> Results:
        """Open a results file, as the class itself does: ``with Results.read(path) as results``."""
        return cls(path)

    def results(self) -> Iterator[Result]:
        """Yield every result in the file, by number, without its weights."""
        with self._catching_errors():
            rows = self._opened.database.execute(f"SELECT {', '.join(COLUMNS)}, checksum FROM result ORDER BY number")
            for row in rows:
                try:
                    result = read_row(row)
                    self._check_place(result)
                    yield result
                except FileFormatError as error:
                    self.damaged[row[0]] = str(error)

    def _check_place(self, result: Result) -> None:
        """Raise FileFormatError if the sweep has no run of that number with these options and that seed."""
        if result.number >= self.about.total:
            raise FileFormatError("its sweep has no such run")
        options, seed = self.about.place(result.number)
        if result.seed != seed or not alike(result.options, options):
            raise FileFormatError("its sweep has other options or another seed for that run")

    def missing(self) -> list[int]:
        """Return the numbers of the runs to compute: runs without a result, and failed runs."""
        there = {result.number for result in self.results() if result.state != "failed"}
        return [number for number in range(self.about.total) if number not in there]

    def shown(self) -> tuple[StrPath, None]:
        """Return the file, and None: the builder of its runs is found by name."""
        return self.path, None

    @property
    def left_out(self) -> str:
        """Files beside this one that were not read, in words; empty for none."""
        return self._opened.left_out

    @property
    def written(self) -> bool:
        """True if a sweep of this machine writes it now."""
        with self._catching_errors():
            found = self._fetch_all("SELECT value FROM meta WHERE name = 'writer'")
        return bool(found) and file.is_written(str(found[0][0]))

    def weights(self, number: int) -> dict[str, Any]:
        """Return the weights of a run at its end, by name; empty for a failed or missing run.

        Raises
        ------
        InputError
            There is no such run.
        FileFormatError
            They are damaged.
        """
        for row in self._rows(number, "=", AT_THE_END):
            return self._arrays(row)
        return {}

    def keyframes(self, number: int) -> dict[int, dict[str, Any]]:
        """Return the weights of a run after some of its steps, by step, in order; empty if none were asked for.

        Raises
        ------
        InputError
            There is no such run.
        FileFormatError
            They are damaged.
        """
        return {row[1]: self._arrays(row) for row in self._rows(number, ">", AT_THE_END)}

    def rule(self, number: int) -> tuple[dict[str, Any], str]:
        """Return the optimiser's arrays of a run at its end, and its settings; empty if training on needs neither.

        Raises
        ------
        InputError
            There is no such run.
        FileFormatError
            They are damaged.
        """
        for row in self._rows(number, "=", OF_OPTIMIZER):
            return self._arrays(row), _beside(row[2]).get(KEY, "")
        return {}, ""

    def torn(self) -> set[int]:
        """Return the numbers of runs with damaged weights or optimiser state; reads all of them."""
        with self._catching_errors():
            rows = self._opened.database.execute("SELECT number, step, tensors, checksum FROM weights")
            return {row[0] for row in rows if row[0] in range(self.about.total) and not sound(row)}

    def _arrays(self, row: tuple[Any, ...]) -> dict[str, Any]:
        try:
            return read_weights(row)
        except FileFormatError as error:
            raise FileFormatError(f"{path_text(self.path)}, run {row[0]:,}: {error}") from None

    def _rows(self, number: int, which: str, step: int) -> list[tuple[Any, ...]]:
        number = integer("the number of a run", number, 0)
        if number >= self.about.total:
            raise InputError(f"{path_text(self.path)}: no run {number:,}; allowed: 0 to {self.about.total - 1:,}")
        with self._catching_errors():
            return self._fetch_all(
                "SELECT number, step, tensors, checksum FROM weights "
                f"WHERE number = ? AND step {which} ? ORDER BY step",
                number,
                step,
            )

    def _fetch_all(self, query: str, *values: int) -> list[Any]:
        return self._opened.database.execute(query, values).fetchall()

    @contextmanager
    def _catching_errors(self) -> Iterator[None]:
        """Turn errors of SQLite into FileFormatError with the file's name."""
        try:
            yield
        except tables.DAMAGED as error:
            raise FileFormatError(f"{path_text(self.path)} is damaged: {error}") from None
        except FileFormatError as error:
            raise FileFormatError(f"{path_text(self.path)}: {error}") from None

    @property
    def changed(self) -> bool:
        """True if the file changed since it was opened."""
        return self._opened.changed

    def close(self) -> None:
        """Close the file."""
        self._opened.close()


# ---- writing, so that a crash damages nothing

_WAIT = 10.0
"""Seconds to wait for another process that is writing."""


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
                    f"{self._said} cannot be resumed: {there.left_out}; move the log to that file, or remove the log"
                )
            check_same(there.about, about, self._said)
            about = about if len(about.seeds) > len(there.about.seeds) else there.about
        self.about = about
        with self._catching_errors():
            self._database = sqlite3.connect(target, isolation_level=None, check_same_thread=False, timeout=_WAIT)
        try:
            self.path, self._file = target, file.FileUse(target)
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
            if found is not None and file.is_written(str(found[0])):
                self._database.execute("ROLLBACK")
                raise InputError(
                    f"{self._said} is being written by another sweep, process {str(found[0]).split()[0]}: wait for "
                    "this process, end it, or give another name"
                )
            # the file's former log must not be taken for a new one
            self._database.execute("DELETE FROM meta WHERE name = 'log'")
            values = {"writer": file.signed(), "about": written(self.about)}
            self._database.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())
            self._database.execute("COMMIT")
            file.begin(self._database, self._file.path)

    def add(self, result: Result) -> None:
        """Write a result in place of an earlier one of its run. InputError: the disk is full, or the file is gone."""
        if not self._file.is_same_file:
            raise InputError(f"{self._said} was removed or replaced during its sweep; no result can be written")
        marks = ", ".join("?" * (len(COLUMNS) + 1))
        with self._catching_errors("; results are kept, and the same command resumes the sweep"), self._database:
            self._database.execute("BEGIN IMMEDIATE")
            self._database.execute(f"INSERT OR REPLACE INTO result VALUES ({marks})", row_of(result))
            self._database.execute("DELETE FROM weights WHERE number = ?", (result.number,))
            ends = {AT_THE_END: result.weights} if result.weights else {}
            for step, tensors in {**result.keyframes, **ends}.items():
                self._put(weights_row(result.number, step, tensors))
            if result.rule:
                self._put(weights_row(result.number, OF_OPTIMIZER, result.optimizer, result.rule))

    def _put(self, row: tuple[tables.Cell, ...]) -> None:
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
        file.finish(self._database, self._file)


def check_results(path: StrPath) -> Path:
    """Return the file, links followed, if results can be written to `path`; InputError otherwise. Touches nothing."""
    target = check_target(path)
    if target.suffix.lower() != ENDING:
        raise InputError(
            f"{path_text(path)}: the file of results must end in {ENDING}; try {target.stem or 'runs'}{ENDING}"
        )
    file.check_length(target, path)
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
