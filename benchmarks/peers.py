"""One training step of ten networks: every engine beside its peers, one pinned thread each, in turns.

PyTorch and JAX are the versions of the extras ``oracle`` and ``bench``. Contestants that are too slow for a whole batch
(objects, micrograd) take one sample, and their time is multiplied by the batch. The losses after the same steps must
agree before anything is timed. ``--quick`` takes one network of each kind.
"""

from __future__ import annotations

import importlib.util
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from _timing import Timing, benchmark, check_losses, in_turns, main, pin_core, pin_threads

pin_threads()

import _contestants as by  # noqa: E402
from _workloads import EAGER, JAX, WORKLOADS, Workload  # noqa: E402

CHECKED = 10
"""Steps after which losses are compared."""
COMPILED, SCALED = "PyTorch compiled", " (scaled)"
SECONDS, COMPILE_SECONDS = 12.0, 180.0
"""For each network, about; and for torch.compile, all in all."""


@benchmark("numpy numba llvmlite torch micrograd jax jaxlib", "one training step")
def peers(quick: bool) -> tuple[dict[str, Timing], dict[str, Any]]:
    pin_core()
    kinds = {work.kind: work for work in reversed(WORKLOADS)}
    left, missing, goals, ratios, timings = COMPILE_SECONDS, {}, {}, {}, dict[str, Timing]()
    for work in reversed(kinds.values()) if quick else WORKLOADS:
        entered = contestants(work)
        why, took = check(work, entered, left)
        left -= took
        missing |= {f"{work.name}: {COMPILED}": why} if why else {}
        found = measure(work, entered, 2.0 if quick else SECONDS)
        medians = {name: timing.median for name, timing in found.items()}
        ratios[work.name] = {name: round(median / medians["numba"], 2) for name, median in medians.items()}
        goals[work.name] = reached(work, medians)
        timings |= {f"{work.name}: {name}": timing for name, timing in found.items()}
        print(f"{work.name}: {ratios[work.name]} {why}", flush=True)
    show(goals)
    return timings, {"not_measured": missing, "ratios": ratios, "goals": goals}


def contestants(work: Workload) -> dict[str, Callable[[int], Any]]:
    """Everybody who can do this workload."""
    found: dict[str, Callable[[int], Any]] = {
        "numba": by.steps_of(by.build(work, "numba")), EAGER: by.torch_steps(work),
        COMPILED: by.torch_steps(work, compiled=True), "NumPy tier": by.steps_of(by.build(work, "numpy")),
        f"objects{SCALED}": by.steps_of(by.build(work, "objects", 1)),
    }  # fmt: skip
    if importlib.util.find_spec("jax"):
        found |= {"JAX jit": by.jax_steps(work), "JAX scan": by.jax_steps(work, scan=work.scan)}
    found["NumPy by hand"] = by.numpy_steps(work)
    if work.kind == "mlp" and importlib.util.find_spec("micrograd"):
        found[f"micrograd{SCALED}"] = by.micrograd_samples(work)
    return found


def check(work: Workload, entered: dict[str, Callable[[int], Any]], left: float) -> tuple[str, float]:
    """Check that all train the same function.

    `torch.compile` is taken out where it fails or needs longer than is left. Returns why, and the seconds it took.
    """
    why, losses, start = "", {}, time.perf_counter()
    try:
        with time_limit(left):
            losses[COMPILED] = entered[COMPILED](CHECKED)
    except Exception as error:
        why = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:200]}"
        del entered[COMPILED]
    took = time.perf_counter() - start
    for name, steps in entered.items():
        if name != COMPILED and not name.endswith(SCALED):
            losses[name] = steps(CHECKED)
    check_losses(work.name, losses, 2e-3)
    return why, took


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TimeoutError` in the block after so many seconds (where the system has alarms)."""
    if not hasattr(signal, "setitimer"):
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


def measure(work: Workload, entered: Mapping[str, Callable[[int], Any]], seconds: float) -> dict[str, Timing]:
    """Timings of one step of each, in about `seconds`."""
    turn, lap = max(0.01, min(0.05, seconds / 20 / len(entered))), 0.0
    for steps in entered.values():
        start = time.perf_counter()
        steps(1)
        lap += max(turn, time.perf_counter() - start)
    timings = in_turns(entered, rounds=int(max(3, min(25, seconds / lap - 2))), seconds=turn)
    return {name: t.scaled(work.batch if name.endswith(SCALED) else 1) for name, t in timings.items()}


def reached(work: Workload, medians: Mapping[str, float]) -> dict[str, dict[str, Any]]:
    """Ratio and verdict against each peer that the workload has a goal for and that was measured."""
    jax = [seconds for name, seconds in medians.items() if name.startswith("JAX")]
    peers_of_it = {EAGER: medians.get(EAGER), JAX: min(jax, default=None)}
    found = {}
    for peer, goal in work.goal.items():
        if seconds := peers_of_it[peer]:
            ratio = seconds / medians["numba"]
            verdict = {"reached": ratio >= goal.least, "aim_reached": ratio >= goal.aim}
            found[peer] = {"ratio": round(ratio, 3), "at_least": goal.least, "aim": goal.aim, **verdict}
    return found


def show(goals: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
    """Print every ratio with what was asked for."""
    for work, found in goals.items():
        for peer, goal in found.items():
            verdict = "reached" if goal["reached"] else "NOT reached"
            asked = f"{goal['at_least']:g} asked, aim {goal['aim']:g}"
            print(f"{work:28} {goal['ratio']:8.2f} times as fast as {peer}, {asked}: {verdict}")


if __name__ == "__main__":
    main()
