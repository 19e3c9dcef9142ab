"""`Results`: read the file of a sweep's results, also while it is written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..checks import integer
from ..errors import FileFormatError, InputError
from ..io.atomic import StrPath, path_text
from ..run.sources.recording.contents import OpenDatabase
from ..run.sources.recording.file import DAMAGED, is_written
from .about import About, alike, read_about
from .groups import StoredResults
from .result import Result
from .rows import AT_THE_END, COLUMNS, OF_OPTIMIZER, RESULTS, read_row, read_said, read_weights, sound

__all__ = ["About", "Result", "Results"]


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
        return bool(found) and is_written(str(found[0][0]))

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
            return self._arrays(row), read_said(row)
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
            raise InputError(f"{path_text(self.path)} has {self.about.total:,} runs, counted from 0; got {number:,}")
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
        except DAMAGED as error:
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
