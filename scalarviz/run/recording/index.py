"""`Index`: which frames a recording has, and which of them lie on the way to the end of a branch."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import listing
from .checksums import SUMMED, checksum
from .networks import Shapes
from .schema import DAMAGED, MOST_FRAMES

PARTS = ("gradient", "moved", "activation", "delta", "units")
"""What a frame may have beside its values, in the order of `Index.has`."""
MOST_HOLES = 500
MOST_NAMED = 8
"""Steps of damaged frames that are named."""
_COLUMNS = ", ".join(
    ["id", "branch", "step", "edits", "network", "loss", "lr", "next_lr", "whole", "own", "edited", "batch"]
    + [f"CASE typeof({name}) WHEN 'blob' THEN length({name}) WHEN 'null' THEN -1 ELSE -2 END"
       for name in ("value", *PARTS, "computed", "frozen")]
)  # fmt: skip
"""Lengths are read without the blobs; -1 is none, -2 is something else."""


@dataclass(frozen=True)
class Index:
    """Arrays of one length, an entry a frame that can be read.

    Attributes
    ----------
    id, branch, step, edits, network : ndarray of int64
    loss, lr, next_lr, whole, own : ndarray of float64
    edited : ndarray of bool
    batch : ndarray of int64
    has : ndarray of bool, shape (N, len(PARTS))
    checksum : ndarray of int64
        As the file has it; -1 where it has none.
    wrong : int
        Frames that are left out: their numbers are not what they should be.
    damaged : tuple of int
        Steps of frames that are left out: their numbers are not those that were written.
    broken : str
        Why not all frames were found; empty where they were.
    """

    id: NDArray[np.int64]
    branch: NDArray[np.int64]
    step: NDArray[np.int64]
    edits: NDArray[np.int64]
    network: NDArray[np.int64]
    loss: NDArray[np.float64]
    lr: NDArray[np.float64]
    next_lr: NDArray[np.float64]
    whole: NDArray[np.float64]
    own: NDArray[np.float64]
    edited: NDArray[np.bool_]
    batch: NDArray[np.int64]
    has: NDArray[np.bool_]
    checksum: NDArray[np.int64]
    wrong: int
    damaged: tuple[int, ...]
    broken: str

    @property
    def known(self) -> dict[int, int]:
        """The checksum of each frame by its id."""
        return dict(zip(self.id.tolist(), self.checksum.tolist(), strict=True))

    @property
    def remarks(self) -> list[str]:
        """What is left out, a clause each."""
        said = [f"{self.wrong:,} frames are not what they should be"] if self.wrong else []
        if self.damaged:
            named = [f"{step:,}" for step in sorted(set(self.damaged))]
            more = [f"{len(named) - MOST_NAMED:,} more"] if len(named) > MOST_NAMED else []
            steps = listing([*named[:MOST_NAMED], *more])
            said.append(f"damaged since it was written, and left out: step{'s' * (len(named) > 1)} {steps}")
        return said

    def way(self, steps: Iterable[tuple[int, int, int]]) -> NDArray[np.int64]:
        """Entries on the way to a branch's end, by step; of a step the last, after all that was done there.

        Parameters
        ----------
        steps : iterable of (branch, last step, edits)
            The branch first, then those that it comes from, each with the last place that belongs to the way.
        """
        found = []
        for nearness, (branch, last, edits) in enumerate(steps):
            own = np.flatnonzero((self.branch == branch) & (self.step <= last) & (self.edits <= edits))
            found.append(np.stack([self.step[own], self.edits[own], np.full(len(own), -nearness), own]))
        table = np.concatenate(found, axis=1) if found else np.zeros((4, 0), np.int64)
        table = table[:, np.lexsort(table[2::-1])]
        newest = np.append(table[0, 1:] != table[0, :-1], np.ones(min(1, table.shape[1]), bool))
        return np.asarray(table[3, newest], np.int64)


def read_index(
    database: sqlite3.Connection,
    networks: Mapping[int, Shapes],
    branches: Iterable[int],
    *,
    doubted: bool = False,
    known: Mapping[int, int] | None = None,
) -> Index:
    """Go through all frames.

    Parameters
    ----------
    database : sqlite3.Connection
    networks : mapping of int to Shapes
    branches : iterable of int
        Those that there are.
    doubted : bool
        Whether a part of the file is missing: what lies behind a hole is looked for, and every number is read once.
    known : mapping of int to int, optional
        Checksums by the ids of frames that were looked at before: those are not read again.
    """
    rows: list[tuple[Any, ...]] = []
    lengths: list[list[int]] = []
    sums: list[int] = []
    damaged: list[int] = []
    wrong, broken, there = 0, [""], set(branches)
    for row in _doubted(database, broken) if doubted else _rows(database, 0, broken):
        if not _good(row, networks, there):
            wrong += 1
            continue
        total = checked(database, row[0], known or {})
        if total is None:
            damaged.append(row[2])
            continue
        rows.append(row[:12])
        lengths.append([length >= 0 for length in row[13:18]])
        sums.append(total)
    columns = list(zip(*rows, strict=True)) if rows else [()] * 12
    number, branch, step, edits, network = (np.array(column, np.int64) for column in columns[:5])
    loss, lr, next_lr, whole, own = (
        np.array([np.nan if x is None else x for x in column], np.float64) for column in columns[5:10]
    )
    done, batch = np.array([bool(x) for x in columns[10]], bool), np.array(columns[11], np.int64)
    has = np.array(lengths, bool).reshape(-1, len(PARTS))
    return Index(number, branch, step, edits, network, loss, lr, next_lr, whole, own, done, batch, has,
                 np.array(sums, np.int64), wrong, tuple(damaged), broken[0])  # fmt: skip


_CELLS = f"SELECT checksum, {', '.join(SUMMED)} FROM frame WHERE id = ?"


def checked(database: sqlite3.Connection, number: int, known: Mapping[int, int] = MappingProxyType({})) -> int | None:
    """The checksum of a frame; None where it is not that of its numbers, or they cannot be read."""
    try:
        if number in known:
            (written,) = database.execute("SELECT checksum FROM frame WHERE id = ?", (number,)).fetchone()
            if written == known[number]:
                return known[number]
        written, *cells = database.execute(_CELLS, (number,)).fetchone()
    except (*DAMAGED, TypeError):  # no row, or none that can be read
        return None
    return written if isinstance(written, int) and checksum(cells) == written else None


def _rows(database: sqlite3.Connection, first: int, broken: list[str]) -> Iterator[tuple[Any, ...]]:
    """Rows from an id on, up to the first place where the file is broken."""
    try:
        yield from database.execute(
            f"SELECT {_COLUMNS} FROM frame NOT INDEXED WHERE id >= ? ORDER BY id LIMIT {MOST_FRAMES}", (first,)
        )
    except DAMAGED as error:
        broken[0] = str(error)


def _doubted(database: sqlite3.Connection, broken: list[str]) -> Iterator[tuple[Any, ...]]:
    """Rows that can be read to their ends, those behind holes too."""
    first, gap, holes = 0, 1, 0
    while holes < MOST_HOLES and first < 1 << 53:
        fault = [""]
        for row in _rows(database, first, fault):
            first, gap = row[0] + 1, 1
            if _whole_row(database, row[0]):
                yield row
            else:
                broken[0] = broken[0] or "numbers are missing"
        if not fault[0]:
            return
        broken[0] = fault[0]
        first, gap, holes = first + gap, 2 * gap, holes + 1


def _whole_row(database: sqlite3.Connection, number: int) -> bool:
    try:
        return database.execute("SELECT * FROM frame WHERE id = ?", (number,)).fetchone() is not None
    except DAMAGED:
        return False


def _good(row: tuple[Any, ...], networks: Mapping[int, Shapes], branches: set[int]) -> bool:
    """Whether all numbers of a frame are of the right kind, and all blobs as long as they should be."""
    whole, real, edited, lengths = (*row[:5], row[11]), row[5:10], row[10], row[12:]
    if not all(isinstance(x, int) and 0 <= x < 1 << 53 for x in whole) or not isinstance(edited, int):
        return False
    if not all(x is None or isinstance(x, float | int) for x in real) or row[1] not in branches:
        return False
    shapes = networks.get(row[4])
    if shapes is None:
        return False
    with suppress(OverflowError):
        flat, rows = 4 * shapes.size, 4 * shapes.row_size
        allowed = ((flat,), (-1, flat), (-1, flat), (-1, rows), (-1, rows), (-1, shapes.unit_bytes))
        flags = (-1, 0, -(-shapes.size // 8))
        return all(length in fits for length, fits in zip(lengths, (*allowed, flags, flags), strict=True))
    return False
