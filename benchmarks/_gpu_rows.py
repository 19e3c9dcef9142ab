"""What `gpu.py` finds: one line of JSON a row, appended at once, so that whoever is stopped loses nothing; and a table.

Standard library alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

UNITS = {"s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (0.0, "ns"))}


@dataclass(frozen=True)
class Row:
    """One figure, or one check.

    Attributes
    ----------
    part, what : str
        The part of the script, and what was looked at.
    measured : float, str or None
        In `unit`; a word where it is no number. None: not measured, `remark` says why.
    unit : str
        ``"s"`` for seconds.
    low, high : float or None
        Quarter points around a median.
    floor, predicted, target : float or None
        The least that the hardware allows by its data sheet, what was computed beforehand, what was asked for.
    ok : bool or None
        Of a check, or whether a target was reached; None where nothing was asked.
    remark : str
    more : dict
        For the file alone.
    """

    part: str
    what: str
    measured: float | str | None = None
    unit: str = ""
    low: float | None = None
    high: float | None = None
    floor: float | None = None
    predicted: float | None = None
    target: float | None = None
    ok: bool | None = None
    remark: str = ""
    more: dict[str, Any] = field(default_factory=dict)


def append(path: Path, row: Row) -> None:
    """To the end of the file, and on to the disk."""
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(row)) + "\n")
        file.flush()
        os.fsync(file.fileno())


def read(path: Path) -> list[Row]:
    """All rows; what a kill left of a last line is passed over."""
    rows = []
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                rows.append(Row(**json.loads(line)))
            except ValueError:
                continue
    return rows


def write_table(path: Path, rows: Iterable[Row], heading: str) -> None:
    """The rows as a table, in the place of the one that was there."""
    lines = [heading, "", "| part | what | measured | floor | predicted | asked | | remark |", "|" + "---|" * 8]
    lines += ["| " + " | ".join(_cells(row)) + " |" for row in rows]
    beside = path.with_name(path.name + ".new")
    beside.write_text("\n".join(lines) + "\n", encoding="utf-8")
    os.replace(beside, path)


def _cells(row: Row) -> list[str]:
    measured = shown(row.measured, row.unit)
    if row.low is not None and row.high is not None:
        measured += f" ({shown(row.low, row.unit)} .. {shown(row.high, row.unit)})"
    verdict = {None: "", True: "ok", False: "**NOT**"}[row.ok]
    cells = [row.part, row.what, measured, *(shown(x, row.unit) for x in (row.floor, row.predicted, row.target))]
    return [cell.replace("|", "\\|").replace("\n", " ") for cell in (*cells, verdict, row.remark)]


def shown(number: float | str | None, unit: str) -> str:
    """A number with its unit; seconds in the unit that fits."""
    if number is None:
        return ""
    if isinstance(number, str):
        return number
    scale, name = next(((s, n) for s, n in UNITS.get(unit, ()) if abs(number) >= s), (1.0, unit))
    return f"{number / (scale or 1e-9):.4g} {name}".strip()
