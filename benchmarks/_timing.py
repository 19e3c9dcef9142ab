"""How every benchmark here measures: side by side in one process, in turns, medians with their spread.

A machine that is busy with something else is slow for everybody, so contestants take turns in short spells and what
is compared is the medians of the same turns.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
LOAD = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
"""How busy the machine was in the minute before: processes that wanted a processor."""
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


def arguments(description: str | None) -> argparse.ArgumentParser:
    """A parser with the flag that every benchmark has."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a fraction of the rounds, to try it; writes no result")
    return parser


def pin_threads(count: int = 1) -> None:
    """Give every library `count` threads; call it before they are imported."""
    for name in THREAD_VARIABLES:
        os.environ[name] = str(count)


@dataclass(frozen=True)
class Timing:
    """Seconds a unit of work: the median of the rounds, and the quarter points around it."""

    median: float
    low: float
    high: float
    rounds: int

    def __str__(self) -> str:
        units = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (0.0, "ns"))
        scale, unit = next((scale or 1e-9, unit) for scale, unit in units if self.median >= scale)
        return f"{self.median / scale:9.2f} {unit} ({self.low / scale:.2f} .. {self.high / scale:.2f})"


def in_turns(
    contestants: Mapping[str, Callable[[int], object]], *, rounds: int = 15, seconds: float = 0.05,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Timing]:  # fmt: skip
    """Time `contestants`, each a function that does so many units of work.

    Parameters
    ----------
    contestants : mapping of str to callable
    rounds : int
        Turns of each.
    seconds : float
        About how long one turn lasts.
    clock : callable
        ``time.process_time`` for what one thread of this process does by itself: others at work show less.
    """
    sizes = {name: _units_in(work, seconds, clock) for name, work in contestants.items()}
    found: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, work in contestants.items():
            found[name].append(_once(work, sizes[name], clock) / sizes[name])
    return {name: timing_of(times) for name, times in found.items()}


def _units_in(work: Callable[[int], object], seconds: float, clock: Callable[[], float]) -> int:
    """How many units fill a turn; also the warm-up.

    Everything is done twice and the quicker one counts: what is slow once (fresh memory, another program) would make
    turns of a single unit.
    """
    count = 1
    while (took := min(_once(work, count, clock), _once(work, count, clock))) < seconds / 4:
        count = max(2 * count, min(100 * count, int(count * seconds / max(took, 1e-9) / 2)))
    return max(1, round(count * seconds / took))


def _once(work: Callable[[int], object], count: int, clock: Callable[[], float]) -> float:
    start = clock()
    work(count)
    return clock() - start


def timing_of(times: list[float]) -> Timing:
    """Median and quarter points of some measurements; of a single one it is all three."""
    low, median, high = statistics.quantiles(times, n=4, method="inclusive") if len(times) > 1 else times * 3
    return Timing(median, low, high, len(times))


def at_most(measured: float, most: float, unit: str) -> dict[str, Any]:
    """An entry of a report's ``goals``: what was measured beside the most that was asked for."""
    return {"measured": measured, "at_most": most, "unit": unit, "reached": measured <= most}


def show_goals(goals: Mapping[str, Mapping[str, Any]]) -> None:
    """Print entries of `at_most`."""
    for name, goal in goals.items():
        verdict = "reached" if goal["reached"] else "NOT reached"
        print(f"{name}: {goal['measured']:.3g} {goal['unit']}, at most {goal['at_most']:g} asked: {verdict}")


def write_report(name: str, timings: Mapping[str, Timing], packages: tuple[str, ...], **more: Any) -> Path:
    """Write ``results/<name>.json``: the numbers and everything that is needed to judge them.

    Parameters
    ----------
    name : str
    timings : mapping of str to Timing
    packages : tuple of str
        Whose versions count; those that are not installed are left out.
    **more
        Further entries of the file.
    """
    report = {
        "benchmark": name,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": " ".join(["python", *sys.argv]),
        "commit": _commit(),
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "system": platform.platform(),
            "load_before": LOAD,
        },
        "threads": {name: os.environ.get(name) for name in THREAD_VARIABLES},
        "versions": {"python": platform.python_version(), **_versions(packages)},
        "seconds": {contestant: asdict(timing) for contestant, timing in timings.items()},
        **more,
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return path


def _versions(packages: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for name in packages:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _commit() -> str:
    """The commit, marked where tracked files differ from it; not counting the figures that a run writes itself."""
    found = _git("describe", "--always", "--abbrev=10")
    written = (":!benchmarks/results", ":!benchmarks/README.md", ":!README.md", ":!docs")
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ":/", *written)
    return f"{found}{'-dirty' if changed else ''}" if found else "unknown"


def _git(*arguments: str) -> str:
    folder = Path(__file__).parent.parent
    result = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False, cwd=folder)
    return result.stdout.strip()


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()
