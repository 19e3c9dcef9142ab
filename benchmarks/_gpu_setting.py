"""How a part of `gpu.py` is run: on which device, how large, how long, and where its rows go."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from _gpu_rows import Row, append
from _timing import Timing, in_turns

DTYPES = ("float32", "float64")


@dataclass
class Setting:
    """Of one part.

    Attributes
    ----------
    part : str
    results : Path
        The file of rows.
    tiny : bool
        Networks of a few weights and few rounds: to run the code, not to measure.
    seconds : float
        Until the process is ended.
    """

    part: str
    results: Path
    tiny: bool = False
    seconds: float = 480.0
    began: float = field(default_factory=time.monotonic)

    def left(self) -> float:
        """Seconds."""
        return self.seconds - (time.monotonic() - self.began)

    def row(self, what: str, measured: float | str | None = None, unit: str = "", **more: Any) -> Row:
        """Note a row, and print it."""
        made = Row(self.part, what, measured, unit, **more)
        append(self.results, made)
        verdict = {None: "", True: "  ok", False: "  NOT"}[made.ok]
        print(f"  {what}: {_words(made)}{verdict}{'  ' + made.remark if made.remark else ''}", flush=True)
        return made

    def timed(self, what: str, timing: Timing, **more: Any) -> Row:
        """Note a time; it is reached where it is at most the `target`."""
        target = more.get("target")
        reached = None if target is None or self.tiny else timing.median <= target
        return self.row(what, timing.median, "s", low=timing.low, high=timing.high, ok=reached, **more)

    def in_turns(self, contestants: Mapping[str, Callable[[int], object]], rounds: int = 9) -> dict[str, Timing]:
        """Seconds a unit of work of each, side by side."""
        if self.tiny:
            return in_turns(contestants, rounds=1, seconds=1e-9)
        return in_turns(contestants, rounds=rounds, seconds=0.05)

    def check(self, what: str, error: float, most: float, **more: Any) -> bool:
        """Note whether an error is as small as it has to be; a NaN is not."""
        fine = bool(error <= most)
        self.row(what, error, target=most, ok=fine, **more)
        return fine


def _words(row: Row) -> str:
    from _gpu_rows import shown

    said = shown(row.measured, row.unit)
    beside = [(name, getattr(row, name)) for name in ("floor", "predicted", "target")]
    rest = ", ".join(f"{name} {shown(number, row.unit)}" for name, number in beside if number is not None)
    return f"{said}{f' ({rest})' if rest else ''}"


def missing() -> str:
    """Why the GPU engine cannot be used here, as one clause; empty if it can."""
    from scalarviz.engine.table import ENGINES

    return ENGINES["cuda"].missing(0)
