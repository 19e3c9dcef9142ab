"""What a recording is on disk: one SQLite file with exactly these tables. Everything else about it follows from here.

A frame stands at a *place*: a branch, a step of it and how many edits of that branch's way were done there, as in
:mod:`scalarviz.run.timeline`. Blobs are little-endian; numbers of weights are float32, curves int64 and float64.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

APPLICATION = 0x73767A72  # "svzr"
VERSION = 2
"""Of the tables; ``PRAGMA user_version`` of a file."""

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
    "plan": "CREATE TABLE plan (id INTEGER PRIMARY KEY, network INTEGER NOT NULL, said TEXT NOT NULL)",
    "micro": (
        "CREATE TABLE micro (frame INTEGER NOT NULL, alone INTEGER NOT NULL, plan INTEGER NOT NULL, "
        "step INTEGER NOT NULL, batch INTEGER NOT NULL, divisor REAL NOT NULL, loss REAL, lr REAL, "
        "numbers BLOB NOT NULL, PRIMARY KEY (frame, alone)) WITHOUT ROWID"
    ),
    "picture": (
        "CREATE TABLE picture (id INTEGER PRIMARY KEY, frame INTEGER NOT NULL, panel TEXT NOT NULL, "
        "width INTEGER NOT NULL, height INTEGER NOT NULL, image BLOB NOT NULL)"
    ),
}
"""By name.

* ``frame.kept``: thinning leaves it (where the run was edited, jumped, began or ended).
* A loss or rate that is NULL is not a number. ``whole``: the loss of all samples, where a scene tells that one;
  ``own``: that of the probe alone, where its rows are kept.
* ``batch`` and ``optimizer``: samples of a step and the class that trained, which a hand may have changed.
* ``computed`` and ``frozen``: NULL is none of them, an empty blob all weights (buffers are none), else one bit each,
  the first weight the highest bit.
* ``activation`` and ``delta``: the probe's rows, ``"input"`` first, one after the other.
* ``units``: the step they are of (int64), then for every rectifier, sigmoid and tanh stage a float32 a unit: dead or
  not, or the share of samples at which it is flat.
* ``checksum``: of the other columns but ``id``, ``kept`` and ``stopped``, as :mod:`.checksums` has it.
* ``micro``: the step that comes after a frame, opened: with the probe alone, or of the step's own batch; ``plan`` is
  what it has in common with others, ``numbers`` deflated float64 (:mod:`.step_written`).
* ``edit.written``: JSON of :mod:`scalarviz.run.edits.written`, NULL where an edit cannot be written.
"""

INDEXES = {
    "frame_place": "CREATE UNIQUE INDEX frame_place ON frame (branch, step, edits)",
}

OBJECTS = {**TABLES, **INDEXES}


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of SQLite files of ours.

    Attributes
    ----------
    what : str
        How messages call it.
    made : str
        What makes one, in words.
    application : int
        ``PRAGMA application_id``.
    version : int
        ``PRAGMA user_version``.
    objects : mapping of str to str
        Its tables and indexes.
    """

    what: str
    made: str
    application: int
    version: int
    objects: Mapping[str, str]


RECORDING = Format("recording", "scalarviz SCENE --recording FILE makes one", APPLICATION, VERSION, OBJECTS)

LONGEST_EDIT = 1 << 20
"""Characters of an edit's JSON; of longer ones (other data) the words are kept."""
LONGEST_NAME = 200
LONGEST_TEXT = 2000
DAMAGED = (sqlite3.Error, UnicodeError, OverflowError, MemoryError)
"""What reading a damaged file raises: SQLite's own messages may hold parts of it that are no text."""

MOST_BLOB = 1 << 30
"""Bytes of one blob, which is what SQLite itself takes by default."""
MOST_FRAMES = 5_000_000
MOST_TENSORS = 20_000
MOST_SIDES = 16
MOST_NUMBERS = 1 << 31
"""Scalars of a network."""
MOST_OUTPUTS = 1 << 22
"""Outputs of its stages together."""


def clean(words: str, most: int = LONGEST_TEXT) -> str:
    """A text on one line, of at most `most` characters: what cannot be printed becomes a blank."""
    line = "".join(c if c.isprintable() else " " for c in words[: most + 1])
    return line if len(line) <= most else f"{line[: most - 3]}..."
