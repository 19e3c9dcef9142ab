"""One training step of ten networks: the numba engine beside PyTorch and JAX, one pinned thread each, in turns.

PyTorch and JAX are the versions of the extras ``oracle`` and ``bench``. The losses after the same steps must agree
before anything is timed. ``--quick`` takes one network of each kind.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from _timing import Found, Timing, benchmark, check_losses, in_turns, main, pin_core, pin_threads

pin_threads()

import _contestants as by  # noqa: E402
from _workloads import EAGER, JAX, WORKLOADS, Workload  # noqa: E402

CHECKED = 10
"""Steps after which losses are compared."""
OURS = "numba"
SECONDS = 12.0
"""For each network, about."""


@benchmark("numpy numba llvmlite torch jax jaxlib", "one training step")
def peers(quick: bool) -> Found:
    pin_core()
    kinds = {work.kind: work for work in reversed(WORKLOADS)}
    goals, ratios, timings = {}, {}, dict[str, Timing]()
    for work in reversed(kinds.values()) if quick else WORKLOADS:
        entered: dict[str, Callable[[int], Any]] = {
            OURS: by.steps_of(by.build(work, OURS)), EAGER: by.torch_steps(work),
            "JAX jit": by.jax_steps(work), "JAX scan": by.jax_steps(work, scan=work.scan),
        }  # fmt: skip
        check_losses(work.name, {name: steps(CHECKED) for name, steps in entered.items()}, 2e-3)
        found = measure(entered, 2.0 if quick else SECONDS)
        medians = {name: timing.median for name, timing in found.items()}
        ratios[work.name] = {name: round(median / medians[OURS], 2) for name, median in medians.items()}
        goals[work.name] = reached(work, medians)
        timings |= {f"{work.name}: {name}": timing for name, timing in found.items()}
        print(f"{work.name}: {ratios[work.name]}", flush=True)
    for name, peer, goal in ((name, *one) for name, found in goals.items() for one in found.items()):
        asked = f"{goal['at_least']:g} asked, aim {goal['aim']:g}: {'reached' if goal['reached'] else 'NOT reached'}"
        print(f"{name:28} {goal['ratio']:8.2f} times as fast as {peer}, {asked}")
    return timings, {"ratios": ratios, "goals": goals}


def measure(entered: Mapping[str, Callable[[int], Any]], seconds: float) -> dict[str, Timing]:
    """Timings of one step of each, in about `seconds`."""
    turn, lap = max(0.01, min(0.05, seconds / 20 / len(entered))), 0.0
    for steps in entered.values():
        start = time.perf_counter()
        steps(1)
        lap += max(turn, time.perf_counter() - start)
    return in_turns(entered, rounds=int(max(3, min(25, seconds / lap - 2))), seconds=turn)


def reached(work: Workload, medians: Mapping[str, float]) -> dict[str, dict[str, Any]]:
    """Ratio and verdict against each peer that the workload has a goal for."""
    beside = {EAGER: medians[EAGER], JAX: min(seconds for name, seconds in medians.items() if name.startswith("JAX"))}
    found = {}
    for peer, goal in work.goal.items():
        ratio = beside[peer] / medians[OURS]
        verdict = {"reached": ratio >= goal.least, "aim_reached": ratio >= goal.aim}
        found[peer] = {"ratio": round(ratio, 3), "at_least": goal.least, "aim": goal.aim, **verdict}
    return found


if __name__ == "__main__":
    main()
