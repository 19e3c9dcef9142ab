"""Convert a result to rows of its file and back. A file may come from anyone, so every row is checked.

The file is an SQLite database with exactly these tables, as recordings are. Blobs of curves are little-endian float64
(K, 2); blobs of weights are safetensors, in the dtypes of the arrays.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from ..errors import FileFormatError
from ..io.weights import OURS
from ..run.sources.recording.file import TABLES as OF_RECORDINGS
from ..run.sources.recording.file import Cell, Format, checksum, clean
from ..run.state import KEY
from .about import is_label
from .result import MOST_POINTS, STATES, Arrays, Result

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
"""Tables of the file, by name.

* ``meta``: ``about`` (JSON of :class:`~scalarviz.sweep.about.About`), ``writer`` (the process that writes), ``log``.
* ``result``: one row per ended run, as :class:`~scalarviz.sweep.result.Result`. A NULL loss is NaN;
  ``seed`` is decimal digits (it may have 64 bits); ``metrics`` is JSON, in which null is NaN.
* ``weights``: weights at the end under step -1, keyframes under their steps. Step -2 has the optimiser's arrays, with
  its settings in their metadata, if training on needs them.
* ``checksum``: of the other columns, in order, see :mod:`scalarviz.run.sources.recording.file`.
"""

AT_THE_END = -1
"""Step number of the weights at the end."""
OF_OPTIMIZER = -2
"""Step number of the optimiser's arrays at the end."""

RESULTS = Format("file of results", "scalarviz sweep SCENE --results FILE makes one", 0x73767377, VERSION, TABLES)


COLUMNS = (
    "number", "options", "seed", "state", "steps", "loss", "metrics", "reached", "curve", "seconds", "processor",
    "tries", "error",
)  # fmt: skip
"""Columns of the table ``result``, without the checksum."""
ORDER = f"{OURS}order"
"""Key of the list of array names in the order of their network."""
LONGEST_ERROR = 1000
_WHOLE = 1 << 53


def row_of(result: Result) -> tuple[Cell, ...]:
    """Return the row of a result for the table ``result``, its checksum last."""
    metrics = {name: None if math.isnan(number) else number for name, number in result.metrics.items()}
    row: tuple[Cell, ...] = (
        result.number, json.dumps(result.options), str(result.seed), result.state, result.steps,
        None if math.isnan(result.loss) else float(result.loss), json.dumps(metrics),
        None if result.reached is None else int(result.reached),
        np.ascontiguousarray(result.curve, "<f8").tobytes(), float(result.seconds), clean(result.processor),
        result.tries, clean(result.error, LONGEST_ERROR),
    )  # fmt: skip
    return (*row, checksum(row))


def read_row(row: tuple[Any, ...]) -> Result:
    """Return the result of a row, without its weights; FileFormatError if the row is damaged."""
    *cells, said = row
    try:
        if checksum(cells) != said:
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
        points.astype(np.float64), seconds=float(seconds), processor=clean(processor), tries=tries,
        error=clean(error, LONGEST_ERROR),
    )  # fmt: skip


def _number(said: float | None) -> float:
    return math.nan if said is None else float(said)


def weights_row(number: int, step: int, tensors: Arrays, said: str = "") -> tuple[Cell, ...]:
    """Return a row of the table ``weights``; `said` goes into the metadata."""
    from safetensors.numpy import save

    # safetensors stores the buffer as it lies: one that is not contiguous would come back with other numbers
    whole = {name: np.asarray(a, order="C") for name, a in tensors.items()}
    beside = {ORDER: json.dumps(list(tensors)), **({KEY: said} if said else {})}
    row: tuple[Cell, ...] = (number, step, save(whole, beside))
    return (*row, checksum(row))


def read_weights(row: tuple[Any, ...]) -> dict[str, Any]:
    """Return the arrays of a row of the table ``weights``, by name; FileFormatError if the row is damaged."""
    from safetensors.numpy import load

    if not sound(row):
        raise FileFormatError("the weights are damaged: their checksum does not match")
    try:
        return _in_order(load(row[2]), _beside(row[2]).get(ORDER, "[]"))
    except Exception as error:  # bytes of any kind; the package has errors of its own
        raise FileFormatError(f"the weights cannot be read: {clean(str(error), 200)}") from None


def sound(row: tuple[Any, ...]) -> bool:
    """Return whether a row of the table ``weights`` matches its checksum."""
    *cells, said = row
    try:
        return bool(checksum(cells) == said)
    except Exception:  # cells of any kind
        return False


def read_said(row: tuple[Any, ...]) -> str:
    """Return the settings in the metadata of a row that :func:`read_weights` has read."""
    return _beside(row[2]).get(KEY, "")


def _beside(blob: bytes) -> dict[str, str]:
    """Return the metadata of a safetensors blob."""
    length = int.from_bytes(blob[:8], "little")
    return dict(json.loads(blob[8 : 8 + length]).get("__metadata__", {}))


def _in_order(tensors: dict[str, Any], order: str) -> dict[str, Any]:
    """Return the arrays in the order of their network; safetensors returns them in any order."""
    names = {name: place for place, name in enumerate(json.loads(order))}
    return {name: tensors[name] for name in sorted(tensors, key=lambda name: (names.get(name, len(names)), name))}
