"""What a sweep's results are on disk: one SQLite file with exactly these tables, as recordings are one.

Blobs of curves are little-endian float64 (K, 2); those of weights are safetensors, with the numbers' own dtypes.
"""

from __future__ import annotations

from ..run.sources.recording.file import TABLES as OF_RECORDINGS
from ..run.sources.recording.file import Format

ENDING = ".svs"
VERSION = 1

TABLES = {
    "meta": OF_RECORDINGS["meta"],
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
"""By name.

* ``meta``: ``about`` (JSON of :class:`~scalarviz.sweep.about.About`), ``writer`` (who writes now), ``log``.
* ``result``: a row a run that has ended, as :class:`~scalarviz.sweep.result.Result`. A loss that is NULL is not a
  number; ``seed`` is decimal digits (it may have 64 bits); ``metrics`` is JSON, in which null is not a number.
* ``weights``: those at the end under step -1, those of keyframes under their steps; under step -2 the arrays of the
  optimiser, and in their metadata how the run trained, where it needs these to train on.
* ``checksum``: of the other columns, in order, as :mod:`scalarviz.run.sources.recording.file` has it.
"""

AT_THE_END = -1
"""The step under which the weights of the end stand."""
OF_OPTIMIZER = -2
"""The step under which the optimiser's arrays of the end stand."""

RESULTS = Format("file of results", "scalarviz sweep SCENE --results FILE makes one", 0x73767377, VERSION, TABLES)
