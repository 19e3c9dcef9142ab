"""A file with what a network made of a few samples while it trained: expected, computed, error."""

from __future__ import annotations

import csv
import io
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator

from scalarviz.errors import InputError
from scalarviz.io import check_target, write_bytes
from scalarviz.run import Run

EVERY = 100  # steps
MOST = 2000  # moments; of longer runs they are farther apart
Float = NDArray[np.float64]


def _log_name(value: Path) -> Path:
    """Check the name of a log."""
    if value.suffix.lower() != ".csv":
        raise InputError(f"{value}: a log is written as .csv only; try {value.stem or 'log'}.csv")
    return value


LogFile = Annotated[Path, AfterValidator(_log_name)]


class OutputsLog:
    """Asks a run every 100 steps, from the first on, and keeps what it says: a line a sample.

    Parameters
    ----------
    path : Path
        Written by :func:`write_log`, whole or not at all.
    steps : int
        Of the run: of more than 200,000 fewer moments are kept.
    inputs : ndarray, shape (N, n_inputs)
    targets : ndarray, shape (N, 1)
    names : sequence of str
        One an input.
    """

    def __init__(self, path: Path, steps: int, inputs: Float, targets: Float, names: Sequence[str]) -> None:
        self.path = check_target(path)
        self._every = EVERY * max(1, -(-steps // (EVERY * MOST)))
        self._inputs, self._targets = inputs, targets
        self._lines: list[list[str]] = [["step", *names, "expected", "computed", "error"]]

    def follow(self, run: Run) -> None:
        """From now on, the numbers of now included."""
        _LOGS[run] = self
        self._write(run)
        run.on_step(self._write, every=self._every)

    def _write(self, run: Run) -> None:
        computed = run.predict(self._inputs)
        for sample, (wanted,), (found,) in zip(self._inputs, self._targets, computed.tolist(), strict=True):
            numbers = [*(f"{x:g}" for x in sample), f"{wanted:g}", f"{found:.9g}", f"{found - wanted:.9g}"]
            self._lines.append([str(run.steps), *numbers])

    def text(self) -> str:
        """All lines, commas between; a step that was done again by hand is there again."""
        written = io.StringIO()
        csv.writer(written, lineterminator="\n").writerows(self._lines)
        return written.getvalue()


_LOGS: weakref.WeakKeyDictionary[Run, OutputsLog] = weakref.WeakKeyDictionary()


def write_log(run: Run) -> list[Path]:
    """Write the log that follows a run, if one does; returns the files."""
    log = _LOGS.get(run)
    if log is None:
        return []
    write_bytes(log.path, log.text().encode())
    return [log.path]
