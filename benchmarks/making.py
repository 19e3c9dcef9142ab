"""Making a Run: processor time from ``sv.Run(...)`` to the first step done, a node, and the peak of memory.

    python benchmarks/making.py

Each is a fresh process; processor time, so that it means something on a machine that is busy. What is recorded,
named, lowered and encoded is all counted; kernels are loaded and the network itself is made before. A node is one
scalar of the recorded graph. Peaks include the libraries and the network (a loose Weight alone takes a kilobyte).
"""

from __future__ import annotations

import sys

from _processes import HERE, SCALARVIZ, Ended, fresh
from _timing import Timing, arguments, at_most, show_goals, timing_of, write_report

THOUSANDS, MILLION, WEIGHTS = 100_000, 1_000_000, 10_000_000
TYPED = ("layers typed with loose Weights", "hand-made modules", "a chain", "a wide sum")
SMALL = [(name, engine) for engine in ("numba", "numpy") for name in (*TYPED, "a CNN")]
MICROSECONDS, SECONDS, GIGABYTES = 50, 60, 2
"""What was asked for: a node of 100,000; all of a million nodes, and at their peak."""
LINEAR_SECONDS = 5
ROUNDS = 3


def main() -> None:
    options = arguments(__doc__).parse_args()
    fresh((*SCALARVIZ, "warmup"))
    rounds, part = (1, 100) if options.quick else (ROUNDS, 1)
    timings: dict[str, Timing] = {}
    found: dict[str, dict[str, float]] = {}
    for name, engine in SMALL:
        measured(found, timings, f"100,000 nodes, {engine}: {name}", (name, THOUSANDS // part, engine), rounds)
    for name in TYPED:
        measured(found, timings, f"a million nodes: {name}", (name, MILLION // part, "numba"), 1)
    measured(found, timings, "ten million weights in one Linear", ("one Linear", WEIGHTS // part, "numba"), rounds)
    goals = judged(found)
    show_goals(goals)
    if not options.quick:
        more = {"made": found, "goals": goals, "clock": "processor time"}
        print("written", write_report("making", timings, ("numpy", "numba"), unit="to the first step", **more))


def measured(
    found: dict[str, dict[str, float]], timings: dict[str, Timing], title: str, what: tuple[str, int, str], rounds: int
) -> None:  # fmt: skip
    """Make it in fresh processes, and say how long that took."""
    name, nodes, engine = what
    command = (sys.executable, str(HERE / "_making_networks.py"), name, str(nodes), engine)
    ended: list[Ended] = [fresh(command) for _ in range(rounds)]
    timing = timings[title] = timing_of([each.json()["seconds"] for each in ended])
    made, peak = ended[0].json(), max(each.peak for each in ended)
    found[title] = {
        "nodes": made["nodes"],
        "weights": made["weights"],
        "us_a_node": 1e6 * timing.median / made["nodes"],
        "nodes_a_second": made["nodes"] / timing.median,
        "peak_bytes": peak,
    }
    print(f"{title:62} {timing}  {found[title]['us_a_node']:7.1f} us a node {peak / 1e9:7.2f} GB")


def judged(found: dict[str, dict[str, float]]) -> dict[str, dict[str, object]]:
    """What was asked for beside the dearest of each kind."""
    small = max(each["us_a_node"] for name, each in found.items() if name.startswith("100,000"))
    large = [each for name, each in found.items() if name.startswith("a million")]
    linear = found["ten million weights in one Linear"]
    return {
        "making a Run of 100,000 nodes, the dearest of ten": at_most(small, MICROSECONDS, "us a node"),
        "making a Run of a million nodes, the dearest of four": at_most(
            max(each["us_a_node"] * each["nodes"] / 1e6 for each in large), SECONDS, "s"
        ),
        "making a Run of a million nodes: peak": at_most(
            max(each["peak_bytes"] / 1e9 for each in large), GIGABYTES, "GB"
        ),
        "making a Run of ten million weights in one Linear": at_most(
            linear["us_a_node"] * linear["nodes"] / 1e6, LINEAR_SECONDS, "s"
        ),
    }


if __name__ == "__main__":
    main()
