"""What was asked for beside what was measured: for the end of `peers.py` and its result file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from _workloads import EAGER, JAX, Workload


def reached(work: Workload, medians: Mapping[str, float]) -> dict[str, dict[str, Any]]:
    """Ratio and verdict against each peer that the workload has a goal for, as they stand in the result file.

    Parameters
    ----------
    work : Workload
    medians : mapping of str to float
        Seconds a step of each contestant. A peer that was not measured is left out.
    """
    jax = [seconds for name, seconds in medians.items() if name.startswith("JAX")]
    peers = {EAGER: medians.get(EAGER), JAX: min(jax, default=None)}
    found = {}
    for peer, goal in work.goal.items():
        seconds = peers[peer]
        if seconds is not None:
            ratio = seconds / medians["numba"]
            verdict = {"reached": ratio >= goal.least, "aim_reached": ratio >= goal.aim}
            found[peer] = {"ratio": round(ratio, 3), "at_least": goal.least, "aim": goal.aim, **verdict}
    return found


def table(goals: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[str]:
    """Lines of text: every ratio with what was asked for."""
    lines = [f"{'how many times as fast':28}" + "".join(f"{peer:>14}  at least / aim   " for peer in (EAGER, JAX))]
    for work, found in goals.items():
        cells = [_cell(found[peer]) if peer in found else " " * 33 for peer in (EAGER, JAX)]
        lines.append(f"{work:28}" + "".join(cells))
    verdicts = [entry["reached"] for found in goals.values() for entry in found.values()]
    return [*lines, f"{sum(verdicts)} of {len(verdicts)} reached"]


def _cell(entry: Mapping[str, Any]) -> str:
    mark = "" if entry["reached"] else "  NOT"
    asked = f"{entry['at_least']:g} / {entry['aim']:g}"
    return f"{entry['ratio']:14.2f}  {asked:<10}{mark:7}"
