"""How every benchmark measures, and what it writes: side by side, in turns, medians with their spread.

A busy machine is slow for everybody, so contestants take turns in short spells. A script declares what it measures with
`benchmark`, and with `child` what it measures in a fresh process; `main` does the rest. Modules that a process may do
without are imported late, because fresh processes are timed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
QUIET, PATIENCE = 0.5, 300.0
"""The load of each core, below which a machine is quiet, and the seconds for which a benchmark waits for it."""
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


def pin_threads() -> None:
    """Give every library one thread; call it before they are imported."""
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))


def pin_core() -> None:
    """Stay on one core, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


# ---- timings


@dataclass(frozen=True)
class Timing:
    """Seconds per unit of work: the median of the rounds, and the quartiles around it."""

    median: float
    low: float
    high: float
    rounds: int

    def __str__(self) -> str:
        scale, unit = unit_of(self.median)
        return f"{self.median / scale:9.2f} {unit} ({self.low / scale:.2f} .. {self.high / scale:.2f})"


Found = tuple[Mapping[str, Timing], dict[str, Any]]
"""What is measured: the timings, and further entries of the result file."""


def unit_of(seconds: float) -> tuple[float, str]:
    """The unit in which they read well: how many seconds it is, and its name."""
    units = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))
    return next(((size, unit) for size, unit in units if abs(seconds) >= size), (1e-9, "ns"))


def timing_of(times: Sequence[float]) -> Timing:
    """Median and quartiles of some measurements; all three are equal where there is only one."""
    import statistics

    low, median, high = statistics.quantiles(times, n=4, method="inclusive") if len(times) > 1 else [*times] * 3
    return Timing(median, low, high, len(times))


def timings_of(times: Mapping[str, Sequence[float]], prefix: str = "") -> dict[str, Timing]:
    return {f"{prefix}{name}": timing_of(found) for name, found in times.items()}


def in_turns(
    contestants: Mapping[str, Callable[[int], object]], *, rounds: int = 15, seconds: float = 0.05,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Timing]:  # fmt: skip
    """Time `contestants`, each a function that does so many units of work, in so many turns of about so many `seconds`.

    The clock may be ``time.process_time`` for work on one thread of this process: other programs disturb it less.
    """

    def once(work: Callable[[int], object], count: int) -> float:
        start = clock()
        work(count)
        return clock() - start

    def units_in_a_turn(work: Callable[[int], object]) -> int:
        count = 1  # twice, the quicker one counts: what is slow once would make turns of a single unit
        while (took := min(once(work, count), once(work, count))) < seconds / 4:
            count = max(2 * count, min(100 * count, int(count * seconds / max(took, 1e-9) / 2)))
        return max(1, round(count * seconds / took))

    sizes = {name: units_in_a_turn(work) for name, work in contestants.items()}  # also the warm-up
    found: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, work in contestants.items():
            found[name].append(once(work, sizes[name]) / sizes[name])
    return timings_of(found)


def check_losses(what: str, losses: Mapping[str, float | Sequence[float]], relative: float) -> None:
    """End the script where contestants that train the same function do not arrive at the same loss."""
    import numpy as np

    first = next(iter(losses.values()))
    if not all(np.allclose(loss, first, rtol=relative, atol=0.0) for loss in losses.values()):
        raise SystemExit(f"{what}: the losses of the same steps differ: {losses}")


# ---- scripts and their results

Measure = Callable[[bool], Found]
BENCHMARKS: dict[str, tuple[Measure, str, str]] = {}
CHILDREN: dict[str, Callable[..., None]] = {}


def benchmark(packages: str, unit: str = "") -> Callable[[Measure], Measure]:
    """Declare a function of ``quick`` as what a script measures; its name is that of the result file.

    The versions of `packages` are noted where they are installed; `unit` says what the seconds are of.
    """

    def declare(measure: Measure) -> Measure:
        BENCHMARKS[measure.__name__] = (measure, packages, unit)
        return measure

    return declare


def main() -> None:
    """Measure all that the script declares, or one of it; in a fresh process do what it was started for."""
    import argparse

    if sys.argv[1:2] == ["--child"]:
        return CHILDREN[sys.argv[2]](*sys.argv[3:])
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__, formatter_class=form)
    parser.add_argument("--quick", action="store_true", help="a fraction of the rounds, to try it; writes no result")
    if len(BENCHMARKS) > 1:
        parser.add_argument("name", nargs="?", choices=BENCHMARKS, help="measure this alone")
    options = parser.parse_args()
    for name in [getattr(options, "name", None)] if getattr(options, "name", None) else BENCHMARKS:
        measure, packages, unit = BENCHMARKS[name]
        busy = None if options.quick else quiet_load()
        timings, more = measure(options.quick)
        print(f"\n{name}{f', {unit}' if unit else ''}")
        for contestant, timing in timings.items():
            print(f"  {contestant:62} {timing}")
        show_goals({what: goal for what, goal in more.get("goals", {}).items() if "reached" in goal})
        if not options.quick:
            more = {"unit": unit, **more} if unit else more
            print("written", write_report(name, timings, packages.split(), more, busy))


def quiet_load() -> float | None:
    """Wait until the machine is quiet, or for a while; return its load in the minute before, None if it is unknown."""
    if not hasattr(os, "getloadavg"):
        return None
    most, until = QUIET * (os.cpu_count() or 1), time.monotonic() + PATIENCE
    while os.getloadavg()[0] >= most and time.monotonic() < until:
        time.sleep(2.0)
    if (now := os.getloadavg()[0]) >= most:
        print(f"the machine is busy (load {now:.1f}; quiet is below {most:g}): rough figures", file=sys.stderr)
    return now


def at_most(measured: float, most: float, unit: str) -> dict[str, Any]:
    """An entry of ``goals`` in a result file."""
    return {"measured": measured, "at_most": most, "unit": unit, "reached": measured <= most}


def at_least(measured: float, least: float) -> dict[str, Any]:
    """An entry of ``goals`` in a result file: how many times as fast."""
    return {"measured": round(measured, 2), "at_least": least, "reached": measured >= least}


def show_goals(goals: Mapping[str, Mapping[str, Any]]) -> None:
    """Print entries of `at_most` and `at_least`."""
    for name, goal in goals.items():
        way = "at_most" if "at_most" in goal else "at_least"
        asked = f"{way.replace('_', ' ')} {goal[way]:g} asked"
        verdict = "reached" if goal["reached"] else "NOT reached"
        print(f"  {name}: {goal['measured']:.3g} {goal.get('unit', 'times')}, {asked}: {verdict}")


def write_report(
    name: str, timings: Mapping[str, Timing], packages: Sequence[str], more: Mapping[str, Any], busy: float | None
) -> Path:
    """Write ``results/<name>.json``: the numbers and everything that is needed to judge them; `busy` is the load."""
    import platform
    from datetime import UTC, datetime
    from importlib import metadata

    versions = {"python": platform.python_version()}
    for package in packages:
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    report = {
        "benchmark": name, "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": " ".join(["python", *sys.argv]), "commit": commit(),
        "machine": {"processor": _processor(), "cores": os.cpu_count(), "system": platform.platform(),
                    "load_before": busy},
        "threads": {name: os.environ.get(name) for name in THREAD_VARIABLES}, "versions": versions,
        "seconds": {contestant: asdict(timing) for contestant, timing in timings.items()}, **more,
    }  # fmt: skip
    path = HERE / "results" / f"{name}.json"
    path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return path


def commit() -> str:
    """The commit, marked where tracked files differ from it; the figures that a run itself writes do not count."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False, cwd=HERE)
        return done.stdout.strip()

    found = git("describe", "--always", "--abbrev=10")
    written = (":!/benchmarks/results", ":!/benchmarks/README.md", ":!/README.md", ":!/docs")
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ":/", *written)
    return f"{found}{'-dirty' if changed else ''}" if found else "unknown"


def _processor() -> str:
    import platform

    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        said = {line.split(":", 1)[0].strip(): line.split(":", 1)[1].strip() for line in lines if ":" in line}
        widest = [name for flag, name in VECTORS.items() if flag in said["flags"].split()]
        return ", ".join([said["model name"], *widest[:1]])
    except (OSError, KeyError):
        return platform.processor()


VECTORS = {"avx512f": "AVX-512", "avx2": "AVX2"}
"""By the flag of a processor, what decides how fast it multiplies: its name alone does not say it."""


# ---- fresh processes, on Linux and macOS

SCALARVIZ = (sys.executable, "-m", "scalarviz")


def child(function: Callable[..., None]) -> Callable[..., None]:
    """Declare what the script does in a fresh process; the arguments are texts, and `say` hands the result over."""
    CHILDREN[function.__name__] = function
    return function


def command_of(function: Callable[..., None], *arguments: object) -> tuple[str, ...]:
    """The command that starts a `child`."""
    script = sys.modules[function.__module__].__file__ or ""
    return (sys.executable, script, "--child", function.__name__, *map(str, arguments))


def say(**found: Any) -> None:
    """Print the line of a child; whoever started it measures to this line."""
    print(json.dumps(found), flush=True)


@dataclass(frozen=True)
class Ended:
    """A process that has ended."""

    seconds: float  # from its start to its first line, or to its end if it printed none
    peak: int  # most bytes of memory that it held; the system counts from what its parent held when it started it
    said: str  # its first line

    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.said)
        return found


def fresh(command: Sequence[str], environment: Mapping[str, str] | None = None, folder: Path | None = None) -> Ended:
    """Run a command to its end, in the environment of `as_users_have_it` with changes; ends the script if it fails."""
    around = {**as_users_have_it(), **(environment or {})}
    with tempfile.TemporaryFile("w+") as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, env=around, cwd=folder, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert process.stdout is not None
        with process.stdout as stream:
            first = stream.readline()
            seconds = time.perf_counter() - start
            stream.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            raise SystemExit(f"{errors.read()}\n{' '.join(command)} failed with exit code {process.returncode}")
    return Ended(seconds, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024), first.strip())


def fresh_in_turns(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, list[Ended]]:
    """Run commands in turns, in an empty folder; a turn before fills the system's file cache and does not count."""
    with tempfile.TemporaryDirectory() as folder:
        turns = [{name: fresh(of, folder=Path(folder)) for name, of in commands.items()} for _ in range(rounds + 1)]
    return {name: [turn[name] for turn in turns[1:]] for name in commands}


def seconds_of(found: Mapping[str, Sequence[Ended]]) -> dict[str, Timing]:
    return timings_of({name: [one.seconds for one in ended] for name, ended in found.items()})


@cache
def _bytecode() -> tempfile.TemporaryDirectory[str]:
    """A folder that goes when this process ends."""
    return tempfile.TemporaryDirectory(prefix="scalarviz-bytecode-")


def as_users_have_it() -> dict[str, str]:
    """The environment of a process that keeps bytecode, as Python does by itself, in a folder of this script's."""
    around = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return around | {"PYTHONPYCACHEPREFIX": _bytecode().name, "JAX_PLATFORMS": "cpu"}
