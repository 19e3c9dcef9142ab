"""The form of a recording: its tables, their limits, the texts in them and the checksum of a frame.

A frame has a *place*: a branch, a step of it, and the number of edits on the way there. Blobs are
little-endian; numbers of weights are float32, curves int64 and float64.
"""

from __future__ import annotations

import sqlite3
import struct
import zlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

APPLICATION = 0x73767A72  # "svzr"
VERSION = 3
"""Version of the tables; ``PRAGMA user_version`` of a file."""

TABLES = {
    "meta": "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "tensor": (
        "CREATE TABLE tensor (network INTEGER NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL, "
        "shape TEXT NOT NULL, start INTEGER NOT NULL, role TEXT NOT NULL, "
        "PRIMARY KEY (network, number)) WITHOUT ROWID"
    ),
    "stage": (
        "CREATE TABLE stage (network INTEGER NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL, "
        "kind TEXT NOT NULL, outputs INTEGER NOT NULL, weight TEXT, bias TEXT, shape TEXT NOT NULL, "
        "input_shape TEXT NOT NULL, sources TEXT NOT NULL, whole INTEGER NOT NULL, "
        "PRIMARY KEY (network, number)) WITHOUT ROWID"
    ),
    "branch": (
        "CREATE TABLE branch (number INTEGER PRIMARY KEY, parent INTEGER, first INTEGER NOT NULL, "
        "before INTEGER NOT NULL, why TEXT NOT NULL, jumped INTEGER NOT NULL)"
    ),
    "edit": (
        "CREATE TABLE edit (branch INTEGER NOT NULL, number INTEGER NOT NULL, step INTEGER NOT NULL, "
        "what TEXT NOT NULL, gesture TEXT NOT NULL, written TEXT, PRIMARY KEY (branch, number)) WITHOUT ROWID"
    ),
    "flag": (
        "CREATE TABLE flag (branch INTEGER NOT NULL, step INTEGER NOT NULL, name TEXT NOT NULL, "
        "PRIMARY KEY (branch, step)) WITHOUT ROWID"
    ),
    "curve": (
        "CREATE TABLE curve (id INTEGER PRIMARY KEY, branch INTEGER NOT NULL, count INTEGER NOT NULL, "
        "step BLOB NOT NULL, loss BLOB NOT NULL, lr BLOB NOT NULL)"
    ),
    "frame": (
        "CREATE TABLE frame (id INTEGER PRIMARY KEY, branch INTEGER NOT NULL, step INTEGER NOT NULL, "
        "edits INTEGER NOT NULL, network INTEGER NOT NULL, kept INTEGER NOT NULL, loss REAL, lr REAL, next_lr REAL, "
        "whole REAL, own REAL, batch INTEGER NOT NULL, optimizer TEXT NOT NULL, edited INTEGER NOT NULL, "
        "stopped TEXT NOT NULL, computed BLOB, frozen BLOB, value BLOB NOT NULL, gradient BLOB, moved BLOB, "
        "activation BLOB, delta BLOB, units BLOB, checksum INTEGER NOT NULL)"
    ),
    "program": "CREATE TABLE program (id INTEGER PRIMARY KEY, said BLOB NOT NULL)",
    "rule": "CREATE TABLE rule (id INTEGER PRIMARY KEY, said BLOB NOT NULL)",
    "data": (
        "CREATE TABLE data (number INTEGER NOT NULL, part INTEGER NOT NULL, rows INTEGER NOT NULL, "
        "samples INTEGER NOT NULL, kind TEXT NOT NULL, numbers BLOB NOT NULL, PRIMARY KEY (number, part)) WITHOUT ROWID"
    ),
    "moment": (
        "CREATE TABLE moment (frame INTEGER PRIMARY KEY, rule INTEGER NOT NULL, rates BLOB NOT NULL, state BLOB, "
        "checksum INTEGER NOT NULL)"
    ),
    "picture": (
        "CREATE TABLE picture (id INTEGER PRIMARY KEY, frame INTEGER NOT NULL, panel TEXT NOT NULL, "
        "width INTEGER NOT NULL, height INTEGER NOT NULL, image BLOB NOT NULL)"
    ),
}
"""Tables by name.

* ``frame.kept``: thinning leaves it (the run was edited, jumped, began or ended there).
* A NULL loss or rate is NaN. ``whole``: the shown loss, of the weights of the frame;
  ``own``: the loss of the probe alone, if its rows are kept.
* ``batch`` and ``optimizer``: samples per step and the optimiser's class, which an edit may have changed.
* ``computed`` and ``frozen``: NULL is none of them, an empty blob all weights (no buffers), otherwise one bit each,
  the first weight the highest bit.
* ``activation`` and ``delta``: the probe's rows, ``"input"`` first, one after the other.
* ``units``: their step (int64), then for every rectifier, sigmoid and tanh stage a float32 per unit: dead or
  not, or the share of samples at which it is flat.
* ``checksum``: of the other columns except ``id``, ``kept`` and ``stopped``, see :func:`checksum`.
* ``program`` and ``rule``: deflated JSON, what a step is made of (:mod:`.programs`); ``data``: the samples that a rule
  names, deflated, one row per part (``kind`` is its type; "" if they are left out, and ``numbers`` says why).
* ``moment``: what a frame lacks for its coming step: the rule, the optimiser's step number and rates (float64), and at
  keyframes its state, in the run's dtype; with float64, the weights first.
* ``edit.written``: JSON of :mod:`scalarviz.run.edits.base`, NULL if an edit cannot be written.
"""

INDEXES = {"frame_place": "CREATE UNIQUE INDEX frame_place ON frame (branch, step, edits)"}

OBJECTS = {**TABLES, **INDEXES}
_MICRO = {
    "plan": "CREATE TABLE plan (id INTEGER PRIMARY KEY, network INTEGER NOT NULL, said TEXT NOT NULL)",
    "micro": (
        "CREATE TABLE micro (frame INTEGER NOT NULL, alone INTEGER NOT NULL, plan INTEGER NOT NULL, "
        "step INTEGER NOT NULL, batch INTEGER NOT NULL, divisor REAL NOT NULL, loss REAL, lr REAL, "
        "numbers BLOB NOT NULL, PRIMARY KEY (frame, alone)) WITHOUT ROWID"
    ),
}
FORMER = 2
"""The version before: it has micro-steps in place of programs, and plays."""
FORMER_OBJECTS = {k: made for k, made in OBJECTS.items() if k not in ("program", "rule", "data", "moment")} | _MICRO


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of our SQLite files; `what` (its name) and `made` (how to make one) are words for messages.

    `former` are the objects of older versions that can still be read.
    """

    what: str
    made: str
    application: int
    version: int
    objects: Mapping[str, str]
    former: Mapping[int, Mapping[str, str]] = field(default_factory=dict)


RECORDING = Format(
    "recording", "make one with scalarviz SCENE --recording FILE", APPLICATION, VERSION, OBJECTS,
    {FORMER: FORMER_OBJECTS},
)  # fmt: skip

LONGEST_EDIT = 1 << 20
"""Most characters of an edit's JSON; of a longer one (new data) only the words are kept."""
LONGEST_NAME = 200
LONGEST_TEXT = 2000
DAMAGED = (sqlite3.Error, UnicodeError, OverflowError, MemoryError)
"""Errors of reading a damaged file; SQLite's own messages may contain parts of it that are no text."""

MOST_BLOB = 1 << 30
"""Most bytes of one blob, SQLite's own default."""
MOST_FRAMES = 5_000_000
MOST_TENSORS = 20_000
MOST_NUMBERS = 1 << 31
"""Most scalars of a network."""


def clean(words: str, most: int = LONGEST_TEXT) -> str:
    """Return a text in one line of at most `most` characters; unprintable ones become blanks."""
    line = "".join(c if c.isprintable() else " " for c in words[: most + 1])
    return line if len(line) <= most else f"{line[: most - 3]}..."


def distinct(names: Collection[str], most: int = LONGEST_NAME) -> dict[str, str]:
    """Return, by name, a text as of :func:`clean` that is not empty; texts that would be equal get numbers."""
    found = dict[str, str]()
    taken = {name for name in names if name == clean(name, most).strip() != ""}
    for name in names:
        line, number = clean(name, most).strip() or "(no name)", 1
        while line in taken and line != name:
            number += 1
            line = f"{clean(name, most - 10).strip() or '(no name)'} ({number})"
        found[name] = line
        taken.add(line)
    return found


# ---- The checksum of a frame: a flipped bit on a disk is noticed, not shown
#
# CRC-32 (zlib's) of the columns in `SUMMED`, one after the other. Each gives a byte for its kind (0 none,
# 1 a whole number, 2 a real one, 3 a text, 4 a blob), then eight bytes, little-endian: the number, or the byte count
# of the rest, and the rest. It is no signature: whoever changes a file on purpose can write another.


SUMMED = (
    "branch", "step", "edits", "network", "loss", "lr", "next_lr", "whole", "own", "batch", "optimizer", "edited",
    "computed", "frozen", "value", "gradient", "moved", "activation", "delta", "units",
)  # fmt: skip
"""Columns of a frame, without those that may change later or do not describe it."""

_WHOLE, _REAL, _LONG = struct.Struct("<Bq"), struct.Struct("<Bd"), struct.Struct("<BQ")
Cell = int | float | str | bytes | None


def checksum(cells: Iterable[Cell]) -> int:
    """Return the checksum of a row's cells in the order of `SUMMED`, as SQLite stores them."""
    parts = []
    for cell in cells:
        if cell is None:
            parts.append(b"\0")
        elif isinstance(cell, int):
            parts.append(_WHOLE.pack(1, cell))
        elif isinstance(cell, float):
            parts.append(_REAL.pack(2, cell + 0.0))  # SQLite keeps no -0.0
        else:
            data, kind = (cell.encode("utf-8", "replace"), 3) if isinstance(cell, str) else (cell, 4)
            parts += [_LONG.pack(kind, len(data)), data]
    return zlib.crc32(b"".join(parts))
