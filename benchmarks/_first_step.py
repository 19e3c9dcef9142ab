"""A process that trains one step of one workload and says how long it took, for `_processes`.

    python benchmarks/_first_step.py {scalarviz | PyTorch | compiled | JAX} WORKLOAD [STEPS]

The line comes as soon as the first step is done: who starts this measures to that line.
"""

from __future__ import annotations

import importlib
import itertools
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from _timing import pin_threads

MODULES = {"scalarviz": "_ours", "PyTorch": "_peer_torch", "compiled": "_peer_torch", "JAX": "_peer_jax"}


def prepared(who: str, module: Any, work: Any) -> tuple[Callable[[int], Any], str]:
    """The steps of a contestant, and the engine behind them."""
    if who == "scalarviz":
        run = module.build(work, "auto")
        return module.steps(run), run.engine.name
    return (module.steps(work, compiled=True) if who == "compiled" else module.steps(work)), who


def main() -> None:
    pin_threads(1)
    who, workload, *more = sys.argv[1:]
    times = [time.perf_counter()]
    module = importlib.import_module(MODULES[who])
    times.append(time.perf_counter())
    from _workloads import named

    steps, engine = prepared(who, module, named(workload))
    times.append(time.perf_counter())
    steps(1)
    times.append(time.perf_counter())
    imported, built, stepped = (b - a for a, b in itertools.pairwise(times))
    print(json.dumps({"engine": engine, "import": imported, "build": built, "step": stepped}), flush=True)
    if more:
        steps(int(more[0]) - 1)


if __name__ == "__main__":
    main()
