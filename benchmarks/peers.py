"""Every engine beside its peers, one pinned thread each, in turns: one table.

    python benchmarks/peers.py [--only TEXT] [--seconds 12] [--compile-seconds 180]

A unit is one training step. PyTorch and JAX are the versions of the extras ``oracle`` and ``bench``. Contestants that
are too slow for a whole batch (objects, micrograd) take one sample, and their time is multiplied by the batch. Losses
after the same steps must agree before anything is timed. Ends with the ratios that matter beside those that are
asked for, and writes ``results/peers.json``.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from _timing import Timing, arguments, in_turns, pin_threads, write_report

pin_threads(1)

import _ours  # noqa: E402
import _peer_micrograd  # noqa: E402
import _peer_numpy  # noqa: E402
import _peer_torch  # noqa: E402
import numpy as np  # noqa: E402
from _goals import reached, table  # noqa: E402
from _workloads import EAGER, WORKLOADS, Workload  # noqa: E402

CHECKED = 10
"""Steps after which losses are compared."""
COMPILED = "PyTorch compiled"


@dataclass
class Contestant:
    """Steps, how much of a batch one of them is, and whether its loss is comparable.

    `limit` is for who may drop out: the seconds that the first steps may take, with what has to be compiled.
    """

    steps: Callable[[int], Any]
    share: float = 1.0
    checked: bool = True
    limit: float | None = None


@dataclass
class Measured:
    """One workload: the timings, why somebody is missing, and the seconds that those with a limit began with."""

    timings: dict[str, Timing] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    compiling: float = 0.0


def contestants(work: Workload, compile_seconds: float) -> dict[str, Contestant]:
    """Everybody who can do this workload."""
    found = {
        "numba": Contestant(_ours.engine(work, "numba")),
        EAGER: Contestant(_peer_torch.steps(work)),
        COMPILED: Contestant(_peer_torch.steps(work, compiled=True), limit=compile_seconds),
        "NumPy tier": Contestant(_ours.engine(work, "numpy")),
    }
    found["objects (scaled)"] = Contestant(_ours.engine(work, "objects", 1), 1 / work.batch, checked=False)
    if importlib.util.find_spec("jax"):
        import _peer_jax

        found["JAX jit"] = Contestant(_peer_jax.steps(work))
        found["JAX scan"] = Contestant(_peer_jax.steps(work, scan=work.scan))
    found["NumPy by hand"] = Contestant(_peer_numpy.numpy_steps(work))
    if work.kind == "mlp" and importlib.util.find_spec("micrograd"):
        found["micrograd (scaled)"] = Contestant(_peer_micrograd.micrograd_sample(work), 1 / work.batch, checked=False)
    return found


def check(work: Workload, entered: dict[str, Contestant]) -> Measured:
    """All train the same function: the losses after the same steps agree.

    Contestants with a limit that fail are taken out; the result says why.
    """
    losses, found = {}, Measured()
    for name, contestant in list(entered.items()):
        start = time.perf_counter()
        try:
            with time_limit(contestant.limit):
                loss = contestant.steps(CHECKED)
        except Exception as error:
            if contestant.limit is None:
                raise
            found.missing[name] = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:200]}"
            del entered[name]
            continue
        finally:
            found.compiling += time.perf_counter() - start if contestant.limit is not None else 0.0
        if contestant.checked:
            losses[name] = loss
    if not np.allclose(list(losses.values()), losses[EAGER], rtol=2e-3):
        raise SystemExit(f"{work.name}: the losses after {CHECKED} steps differ: {losses}")
    return found


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise `TimeoutError` in the block after so many seconds (where the system has alarms)."""
    if seconds is None or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> None:
        raise TimeoutError("compiling took longer than it was given")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.1))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def measure(work: Workload, seconds: float, compile_seconds: float) -> Measured:
    """Timings of one step of each, in about `seconds` (compiling apart)."""
    entered = contestants(work, compile_seconds)
    found = check(work, entered)
    once = {}
    for name, contestant in entered.items():
        start = time.perf_counter()
        contestant.steps(1)
        once[name] = time.perf_counter() - start
    turn = max(0.01, min(0.05, seconds / 20 / len(entered)))
    lap = sum(max(turn, t) for t in once.values())
    rounds = int(max(3, min(25, seconds / lap - 2)))
    timings = in_turns({name: c.steps for name, c in entered.items()}, rounds=rounds, seconds=turn)
    shares = [c.share for c in entered.values()]
    found.timings = {
        name: Timing(t.median / share, t.low / share, t.high / share, t.rounds)
        for (name, t), share in zip(timings.items(), shares, strict=True)
    }
    return found


def show(work: Workload, measured: Measured) -> dict[str, float]:
    """Print one workload; returns how many times as fast numba is as each."""
    ours = measured.timings["numba"].median
    print(f"\n{work.name}")
    for name, timing in measured.timings.items():
        print(f"  {name:20} {timing!s:40} {timing.median / ours:10.2f}")
    for name, reason in measured.missing.items():
        print(f"  {name:20} not measured: {reason}")
    return {name: round(t.median / ours, 2) for name, t in measured.timings.items()}


def report(found: Mapping[str, Measured], **more: Any) -> str:
    """Write the result file; returns its path."""
    seconds = {f"{work}: {name}": t for work, m in found.items() for name, t in m.timings.items()}
    missing = {f"{work}: {name}": why for work, m in found.items() for name, why in m.missing.items()}
    packages = ("numpy", "numba", "llvmlite", "torch", "micrograd", "jax", "jaxlib")
    return str(write_report("peers", seconds, packages, unit="one training step", not_measured=missing, **more))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--only", default="", help="workloads whose name holds this text")
    parser.add_argument("--seconds", type=float, default=12.0, help="for each workload, about")
    parser.add_argument("--compile-seconds", type=float, default=180.0, help="for torch.compile, all in all")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    seconds, left = (2.0 if options.quick else options.seconds), options.compile_seconds
    found: dict[str, Measured] = {}
    ratios, goals = {}, {}
    for work in (w for w in WORKLOADS if options.only in w.name):
        found[work.name] = measure(work, seconds, left)
        left -= found[work.name].compiling
        ratios[work.name] = show(work, found[work.name])
        goals[work.name] = reached(work, {name: t.median for name, t in found[work.name].timings.items()})
    print("\n" + "\n".join(table(goals)))
    if not (options.only or options.quick):
        print("\nwritten", report(found, ratios=ratios, goals=goals))


if __name__ == "__main__":
    main()
