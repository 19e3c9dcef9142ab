"""The checksum of a frame: whether it is what was written. A flipped bit on a disk is noticed, not shown.

CRC-32 (that of zlib) of the columns of `SUMMED`, one after the other: of each a byte that says what it is (0 none,
1 a whole number, 2 a real one, 3 a text, 4 a blob), then eight bytes, little-endian: the number, or how many bytes
follow, and those. It is no signature: whoever changes a file on purpose can write another one.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable

SUMMED = (
    "branch", "step", "edits", "network", "loss", "lr", "next_lr", "whole", "own", "batch", "optimizer", "edited",
    "computed", "frozen", "value", "gradient", "moved", "activation", "delta", "units",
)  # fmt: skip
"""Columns of a frame, without those that may change later or say nothing of it."""

_WHOLE, _REAL, _LONG = struct.Struct("<Bq"), struct.Struct("<Bd"), struct.Struct("<BQ")
Cell = int | float | str | bytes | None


def checksum(cells: Iterable[Cell]) -> int:
    """Of a row's cells in the order of `SUMMED`, as SQLite takes and gives them."""
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
