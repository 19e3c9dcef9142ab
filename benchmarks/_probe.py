"""What `compile_times.py` and `memory.py` ask of a fresh process; prints one line of JSON.

python benchmarks/_probe.py {kernels | new | large | objects}
"""

from __future__ import annotations

import json
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

COUNT = 20_000
"""Objects of one kind."""


def kernels() -> dict[str, float]:
    """Seconds to load every kernel of float32 from the cache."""
    from scalarviz.engine.cpu.loader import MAKERS
    from scalarviz.engine.cpu.wire import CALLS, KERNELS
    from scalarviz.scalar.ops import TABLE

    start = time.perf_counter()
    names = {"function": CALLS, "kernel": KERNELS, "rows": tuple(TABLE)}
    for kind, some in names.items():
        for name in some:
            MAKERS[kind](name, "float32")
    return {"seconds": time.perf_counter() - start, "units": sum(map(len, names.values()))}


def new() -> dict[str, Any]:
    """A shape and an expression that nobody had before, in a process that has trained: what compiles, and seconds."""
    import _ours
    import numba.core.event as events
    from _workloads import Workload, named

    from scalarviz.engine.cpu import units as cache
    from scalarviz.engine.cpu.loader import warmup

    warmup(("float32",))
    _ours.steps(_ours.build(named("3-16-16-3"), "numba"))(1)
    files = set(cache.folder().rglob("*"))
    with events.install_recorder("numba:run_pass") as passes:
        shape = _times(lambda: _ours.build(Workload("", (5, 7, 11, 2), "relu", "sigmoid", "Adam", 333), "numba"))
        expression = _times(_new_expression)
    return {
        "compiler passes": len(passes.buffer), "new files": len(set(cache.folder().rglob("*")) - files),
        "new shape": shape, "new expression": expression,
    }  # fmt: skip


def _new_expression() -> Any:
    import scalarviz as sv
    from scalarviz import Run, nn, optim

    weights = [sv.Weight(w) for w in (0.3, -0.2, 0.7)]
    a, b, c = weights

    def expression(x: Any) -> Any:
        return [((a * x[0]).softplus() * (b * x[1]).cos() + (c * x[0] * x[1]).tanh() ** 2 + (x[1] - a).exp()).log()]

    x = np.random.default_rng(0).random((100, 2))
    return Run(expression, nn.MSELoss(), optim.SGD(weights, lr=0.01), (x, x[:, :1]), engine="numba")


def _times(build: Callable[[], Any]) -> dict[str, float]:
    start = time.perf_counter()
    run = build()
    built = time.perf_counter()
    run.step(1)
    return {"record, lower, encode": built - start, "first step": time.perf_counter() - built}


def large() -> dict[str, float]:
    """Seconds of ``nn.Linear(1024, 1024)``: making it, recording it, lowering it."""
    from scalarviz import nn
    from scalarviz.tape import lower, record

    start = time.perf_counter()
    layer, loss = nn.Linear(1024, 1024, seed=0), nn.MSELoss()
    made = time.perf_counter()
    tape = record(layer, 1024, 1024, loss=loss)
    recorded = time.perf_counter()
    lower(tape.only(loss=True))
    return {"make": made - start, "record": recorded - made, "lower": time.perf_counter() - recorded}


def objects() -> dict[str, float]:
    """Bytes of one weight or value, in objects and as part of a layer."""
    import scalarviz as sv
    from scalarviz import nn

    found = {
        "Value (a number)": _bytes_each(lambda: [sv.Value(0.5) for _ in range(COUNT)]),
        "Weight made by hand": _bytes_each(lambda: [sv.Weight(0.5) for _ in range(COUNT)]),
        "weight of nn.Linear, nobody looks at it": _bytes_each(lambda: nn.Linear(COUNT // 100, 100, seed=0)),
        "weight of nn.Linear, each held as an object": _bytes_each(_touched),
    }
    try:
        from micrograd.engine import Value
    except ImportError:
        return found
    return {**found, "micrograd's Value": _bytes_each(lambda: [Value(0.5) for _ in range(COUNT)])}


def _touched() -> Any:
    from scalarviz import nn

    layer = nn.Linear(COUNT // 100, 100, seed=0)
    return layer, [weight for row in layer.weight for weight in row]


def _bytes_each(make: Callable[[], object]) -> float:
    make()  # what is imported and cached on the way does not count
    tracemalloc.start()
    kept = make()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return held / COUNT


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parent))
    asked: dict[str, Callable[[], dict[str, Any]]] = {
        "kernels": kernels, "new": new, "large": large, "objects": objects
    }  # fmt: skip
    print(json.dumps(asked[sys.argv[1]]()), flush=True)


if __name__ == "__main__":
    main()
