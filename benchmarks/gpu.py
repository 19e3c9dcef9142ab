"""The GPU engine on a GPU: what is there, whether it is right, how fast it is, beside numba and PyTorch.

    python benchmarks/gpu.py [--only kernels,targets] [--budget 480] [--results gpu-results.jsonl]

Plain Python, from a checkout, with numpy, numba and numba-cuda; PyTorch and pytest are used where they are there.
Each part is a process with a time limit. What it finds is appended to the results line by line, and the table beside
them (`.md`) is written anew after every part, so whoever is stopped loses nothing. Where there is no libNVVM,
``--kernels`` names a folder that ``make gpu-kernels`` wrote elsewhere. Without a GPU every part says so; that is all.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from _gpu_setting import Row, Setting, append, read, write_table
from _timing import HERE, commit

LEAST = 5.0
"""Seconds without which no part is begun."""


class Part(NamedTuple):
    """A process: what it calls with a `Setting`, and the seconds after which it is ended."""

    name: str
    module: str
    function: str
    seconds: float
    what: str


PARTS = (
    Part("there", "_gpu_there", "there", 30, "versions, compiler, driver, GPU"),
    Part("kernels", "_gpu_kernels", "measure", 120, "every kernel against NumPy and the objects"),
    Part("suite", "_gpu_kernels", "suite", 120, "the tests that the simulator passes, on the GPU (needs pytest)"),
    Part("determinism", "_gpu_kernels", "determinism", 90, "the same bits in two processes"),
    Part("targets", "_gpu_steps", "targets", 120, "networks of many sizes beside PyTorch: what was asked for"),
    Part("workloads", "_gpu_steps", "measure", 180, "all networks of the benchmarks beside numba and PyTorch"),
    Part("graph", "_gpu_steps", "many_nodes", 90, "a typed graph of 16,000 nodes"),
    Part("float16", "_gpu_steps", "halves", 60, "float16 beside float32, of the same networks"),
    Part("compile", "_gpu_there", "compiling", 60, "from a new process to the first step, cold and cached"),
    Part("profile", "_gpu_steps", "profile", 300, "each kernel, by Nsight Compute (only with --profile)"),
)
NAMES = tuple(part.name for part in PARTS)


def parsed() -> argparse.Namespace:
    """The flags; wrong ones end the program with a word of what is allowed."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form, allow_abbrev=False)
    parser.add_argument("--list", action="store_true", help="the parts, and nothing else")
    parser.add_argument("--only", default="", metavar="PARTS", help="some parts, with commas between them")
    parser.add_argument("--profile", action="store_true", help="also kernels one by one, by Nsight Compute (needs ncu)")
    parser.add_argument("--budget", type=float, default=480.0, metavar="SECONDS", help="for all of it (480)")
    parser.add_argument("--results", type=Path, default=Path("gpu-results.jsonl"), metavar="FILE")
    parser.add_argument("--kernels", type=Path, metavar="FOLDER", help="compiled elsewhere, see --write-kernels")
    parser.add_argument("--write-kernels", type=Path, metavar="FOLDER", help="compile them (needs ptxas, no GPU)")
    parser.add_argument("--architectures", default="80,90", metavar="NUMBERS", help="for --write-kernels (80,90)")
    words = "numba's simulator tries the script on tiny networks; its times mean nothing"
    parser.add_argument("--device", choices=("gpu", "simulator"), default="gpu", help=words)
    parser.add_argument("--part", choices=NAMES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.only = [name for name in options.only.split(",") if name]
    if unknown := sorted(set(options.only) - set(NAMES)):
        parser.error(f"--only: there is no part {', '.join(map(repr, unknown))}; parts are {', '.join(NAMES)}")
    if options.kernels is not None and not options.kernels.is_dir():
        parser.error(f"--kernels: {options.kernels} is no folder; `make gpu-kernels` writes one")
    return options


def main() -> None:
    options = parsed()
    sys.path.insert(0, str(HERE.parent))
    if options.list:
        for part in PARTS:
            print(f"{part.name:12} {part.what} (at most {part.seconds:g} s)")
    elif options.write_kernels is not None:
        architectures = tuple(map(int, options.architectures.split(",")))
        importlib.import_module("_gpu_kernels").write(options.write_kernels, architectures)
    elif options.part is not None:
        inside(options)
    else:
        sys.exit(1 if all_parts(options) else 0)


def inside(options: argparse.Namespace) -> None:
    """Do one part, in its process; without a GPU say so."""
    from scalarviz.engine.table import ENGINES

    part = next(part for part in PARTS if part.name == options.part)
    why = ENGINES["cuda"].missing(0)
    if not why or part.name == "there":
        given = Setting(part.name, options.results, options.device == "simulator", options.budget)
        getattr(importlib.import_module(part.module), part.function)(given)
    if why:
        append(options.results, Row(part.name, "no GPU", remark=why))
        print(f'no GPU: engine="cuda" {why}', flush=True)


def all_parts(options: argparse.Namespace) -> int:
    """Run the parts; returns how many did not end as they should."""
    start, failed = time.monotonic(), 0
    words = f"{datetime.now(UTC).isoformat(timespec='seconds')}, {' '.join(sys.argv[1:])}"
    append(options.results, Row("run", "commit", commit(), remark=words))
    for part in PARTS:
        if part.name not in (options.only or NAMES[:-1]) and not (part.name == "profile" and options.profile):
            continue
        began = time.monotonic()
        left = options.budget - (began - start)
        print(f"== {part.name}: {part.what} ({began - start:.0f} s)", flush=True)
        why = process(options, part, min(part.seconds, left)) if left >= LEAST else "not run: no time was left"
        if why:
            failed += 1
            print(f"  {why}", flush=True)
            append(options.results, Row(part.name, "the part", ok=False, remark=why))
        else:
            append(options.results, Row(part.name, "took", time.monotonic() - began, "s"))
        table(options)
    print(f"written {options.results} and {options.results.with_suffix('.md')}", flush=True)
    return failed


def process(options: argparse.Namespace, part: Part, seconds: float) -> str:
    """Run one part, and whoever it starts; returns why it did not end as it should, empty if it did."""
    command = [sys.executable, str(HERE / "gpu.py"), "--part", part.name, "--results", str(options.results)]
    command += ["--budget", str(seconds), "--device", options.device]
    around = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])}
    around |= {"NUMBA_ENABLE_CUDASIM": "1"} if options.device == "simulator" else {}
    around |= {"SCALARVIZ_CUBINS": str(options.kernels.absolute())} if options.kernels is not None else {}
    child = subprocess.Popen(command, env=around, start_new_session=True)
    try:
        code = child.wait(seconds)
    except subprocess.TimeoutExpired:
        return f"ended after its {seconds:.0f} s"
    finally:
        if hasattr(os, "killpg"):  # whatever it started and left
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
        child.kill()
        child.wait()
    return f"failed with exit code {code}" if code else ""


def table(options: argparse.Namespace) -> None:
    """The table of all rows so far."""
    rows, heading = read(options.results), "# benchmarks/gpu.py"
    if options.device == "simulator":
        heading += "\n\nIn numba's simulator, on tiny networks: every time here means nothing."
    missed = sum(row.ok is False for row in rows)
    heading += f"\n\n{len(rows)} rows, {missed} are **NOT** as asked."
    write_table(options.results.with_suffix(".md"), rows, heading)


if __name__ == "__main__":
    main()
