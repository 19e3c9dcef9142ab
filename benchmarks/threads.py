"""Two threads on one training step against one: where they pay, and that they do not where the engine takes them.

    python benchmarks/threads.py [--seconds 6]

The same network twice, ``Run(threads=1)`` and ``Run(threads=2)``, in turns, not pinned. Both must have the same loss to
the last bit. Where the engine sees too little work for a second thread it takes one, and both are the same thing.
A second thread needs a second core that is free: on a machine that does something else it is slower.
"""

from __future__ import annotations

from typing import Any

from _timing import Timing, arguments, in_turns, pin_threads, write_report

pin_threads(1)  # the libraries'; the engine's threads are its own

import _ours  # noqa: E402
from _workloads import named  # noqa: E402

from scalarviz.engine.cost import work_of  # noqa: E402
from scalarviz.engine.cpu import trainer  # noqa: E402

CHOSEN = ("UV 12-64x4-3 Adam, 1024", "UV 12-64x4-3 Adam, 65536", "CNN 8/16 3x3 28x28, 64", "3-16-16-3", "rgb 3-3")
CHECKED = 10
"""Steps after which losses are compared."""


def compare(name: str, seconds: float) -> tuple[dict[str, Timing], dict[str, Any]]:
    """Timings with one and two threads, and how many the engine took when it was given two."""
    work = named(name)
    runs = {threads: _ours.build(work, "numba", threads=threads) for threads in (1, 2)}
    contestants = {f"{threads} asked for": _ours.steps(run) for threads, run in runs.items()}
    losses = [steps(CHECKED) for steps in contestants.values()]
    if losses[0] != losses[1]:
        raise SystemExit(f"{name}: the losses after {CHECKED} steps differ: {losses}")
    turn = 0.1
    timings = in_turns(contestants, rounds=max(3, int(seconds / turn / 2)), seconds=turn)
    one, two = timings.values()
    operations = work_of(runs[2].problem.plan.body) * work.batch
    taken, ratio = runs[2].engine.threads, one.median / two.median
    return timings, {"taken": taken, "operations": operations, "times_as_fast": round(ratio, 3)}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--seconds", type=float, default=6.0, help="for each network, about")
    options = parser.parse_args()
    everything, figures = {}, {}
    for name in CHOSEN:
        timings, found = compare(name, 1.0 if options.quick else options.seconds)
        everything.update({f"{named(name).name}: {label}": timing for label, timing in timings.items()})
        figures[named(name).name] = found
        print(f"\n{named(name).name}: {found['operations']:,} operations a step, two from {trainer.WORTH:,}")
        for label, timing in timings.items():
            print(f"  {label:14} {timing}")
        slower = ": SLOWER" if found["taken"] > 1 and found["times_as_fast"] < 1 else ""
        print(f"  takes {found['taken']}: {found['times_as_fast']:.2f} times as fast{slower}")
    if not options.quick:
        more = {"worth": trainer.WORTH, "processors": trainer.processors(), "two_threads": figures}
        packages = ("numpy", "numba", "llvmlite")
        print("\nwritten", write_report("threads", everything, packages, unit="one training step", **more))


if __name__ == "__main__":
    main()
