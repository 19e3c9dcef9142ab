"""What a part of `gpu.py` is given, and what it finds: one line of JSON a row, appended at once; and a table of all.

The standard library and `_timing` alone.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from _timing import Timing, in_turns, unit_of

DTYPES = ("float32", "float64")


@dataclass(frozen=True)
class Row:
    """One figure, or one check: the part of the script, and what was looked at."""

    part: str
    what: str
    measured: float | str | None = None  # in `unit`, or a word; None: not measured, `remark` says why
    unit: str = ""
    low: float | None = None  # quartiles around a median
    high: float | None = None
    floor: float | None = None  # the least that the hardware allows by its data sheet
    predicted: float | None = None  # what was computed beforehand
    target: float | None = None
    ok: bool | None = None  # of a check, or whether a target was reached; None where nothing was asked
    remark: str = ""

    def shown(self, name: str) -> str:
        """One of the numbers with its unit, seconds in the unit that fits; empty for None."""
        number = getattr(self, name)
        if number is None or isinstance(number, str):
            return number or ""
        scale, unit = unit_of(number) if self.unit == "s" else (1.0, self.unit)
        return f"{number / scale:.4g} {unit}".strip()

    def cells(self) -> list[str]:
        """The row of the table."""
        measured = self.shown("measured")
        if self.low is not None:
            measured += f" ({self.shown('low')} .. {self.shown('high')})"
        numbers = [self.shown(name) for name in ("floor", "predicted", "target")]
        verdict = {None: "", True: "ok", False: "**NOT**"}[self.ok]
        found = [self.part, self.what, measured, *numbers, verdict, self.remark]
        return [cell.replace("|", "\\|").replace("\n", " ") for cell in found]


def append(path: Path, row: Row) -> None:
    """To the end of the file, and on to the disk: whoever is stopped loses nothing."""
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(row)) + "\n")
        file.flush()
        os.fsync(file.fileno())


def read(path: Path) -> list[Row]:
    """All rows; what a kill left of a last line is passed over."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            rows.append(Row(**json.loads(line)))
        except ValueError:
            continue
    return rows


def write_table(path: Path, rows: Iterable[Row], heading: str) -> None:
    """The rows as a table, in the place of the one that was there."""
    lines = [heading, "", "| part | what | measured | floor | predicted | asked | | remark |", "|" + "---|" * 8]
    lines += ["| " + " | ".join(row.cells()) + " |" for row in rows]
    new = path.with_name(path.name + ".new")
    new.write_text("\n".join(lines) + "\n", encoding="utf-8")
    os.replace(new, path)


@dataclass
class Setting:
    """How a part is run."""

    part: str
    results: Path  # the file of rows
    tiny: bool = False  # networks of a few weights and few rounds: to run the code, not to measure
    seconds: float = 480.0  # until the process is ended
    began: float = field(default_factory=time.monotonic)

    def left(self) -> float:
        """Seconds."""
        return self.seconds - (time.monotonic() - self.began)

    def row(self, what: str, measured: float | str | None = None, unit: str = "", **more: Any) -> None:
        """Note a row, and print it."""
        made = Row(self.part, what, measured, unit, **more)
        append(self.results, made)
        beside = [f"{name} {made.shown(name)}" for name in ("floor", "predicted", "target") if made.shown(name)]
        words = f" ({', '.join(beside)})" if beside else ""
        verdict = {None: "", True: "  ok", False: "  NOT"}[made.ok]
        print(f"  {what}: {made.shown('measured')}{words}{verdict}{'  ' * bool(made.remark)}{made.remark}", flush=True)

    def timed(self, what: str, timing: Timing, **more: Any) -> None:
        """Note a time; it is reached where it is at most the `target`."""
        target = more.get("target")
        reached = None if target is None or self.tiny else timing.median <= target
        self.row(what, timing.median, "s", low=timing.low, high=timing.high, ok=reached, **more)

    def in_turns(self, contestants: Mapping[str, Callable[[int], object]], rounds: int = 9) -> dict[str, Timing]:
        """Seconds a unit of work of each, side by side."""
        rounds, seconds = (1, 1e-9) if self.tiny else (rounds, 0.05)
        return in_turns(contestants, rounds=rounds, seconds=seconds)

    def check(self, what: str, error: float, most: float, **more: Any) -> None:
        """Note whether an error is as small as it has to be; a NaN is not."""
        self.row(what, error, target=most, ok=bool(error <= most), **more)
