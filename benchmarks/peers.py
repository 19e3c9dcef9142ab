"""Every engine beside its peers, one pinned thread each, in turns: one table.

    python benchmarks/peers.py [--only TEXT] [--seconds 22]

A unit is one training step. PyTorch and JAX are the versions of the extras ``oracle`` and ``bench``. Contestants that
are too slow for a whole batch (objects, micrograd) take one sample, and their time is multiplied by the batch. Losses
after the same steps must agree before anything is timed. Writes ``results/peers.json``.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from _timing import Timing, in_turns, pin_threads, write_report

pin_threads(1)

import _ours  # noqa: E402
import _peer_small  # noqa: E402
import _peer_torch  # noqa: E402
import numpy as np  # noqa: E402
from _workloads import WORKLOADS, Workload  # noqa: E402

CHECKED = 10
"""Steps after which losses are compared."""
REFERENCE = "PyTorch eager"


@dataclass
class Contestant:
    """Steps, how much of a batch one of them is, and whether its loss is comparable."""

    steps: Callable[[int], Any]
    share: float = 1.0
    checked: bool = True


def contestants(work: Workload, compiled: bool) -> dict[str, Contestant]:
    """Everybody who can do this workload."""
    found = {
        "numba": Contestant(_ours.engine(work, "numba")),
        REFERENCE: Contestant(_peer_torch.steps(work)),
        "NumPy tier": Contestant(_ours.engine(work, "numpy")),
    }
    found["objects (scaled)"] = Contestant(_ours.engine(work, "objects", 1), 1 / work.batch, checked=False)
    if importlib.util.find_spec("jax"):
        import _peer_jax

        found["JAX jit"] = Contestant(_peer_jax.steps(work))
        found["JAX scan"] = Contestant(_peer_jax.steps(work, scan=10))
    if work.kind == "mlp":
        found["NumPy by hand"] = Contestant(_peer_small.numpy_steps(work))
        found["micrograd (scaled)"] = Contestant(_peer_small.micrograd_sample(work), 1 / work.batch, checked=False)
    if compiled:
        found["PyTorch compiled"] = Contestant(_peer_torch.steps(work, compiled=True))
    return found


def check(work: Workload, entered: dict[str, Contestant]) -> None:
    """All train the same function: the losses after the same steps agree."""
    losses = {name: c.steps(CHECKED) for name, c in entered.items() if c.checked}
    if not np.allclose(list(losses.values()), losses[REFERENCE], rtol=2e-3):
        raise SystemExit(f"{work.name}: the losses after {CHECKED} steps differ: {losses}")


def measure(work: Workload, compiled: bool, seconds: float) -> dict[str, Timing]:
    """Timings of one step of each, in about `seconds`."""
    entered = contestants(work, compiled)
    check(work, entered)
    once = {}
    for name, contestant in entered.items():
        start = time.perf_counter()
        contestant.steps(1)
        once[name] = time.perf_counter() - start
    turn = max(0.01, min(0.05, seconds / 20 / len(entered)))
    lap = sum(max(turn, t) for t in once.values())
    rounds = int(max(3, min(25, seconds / lap - 2)))
    timings = in_turns({name: c.steps for name, c in entered.items()}, rounds=rounds, seconds=turn)
    return {
        name: Timing(t.median / c.share, t.low / c.share, t.high / c.share, t.rounds)
        for (name, t), c in zip(timings.items(), entered.values(), strict=True)
    }


def compiler_works() -> bool:
    """Whether `torch.compile` can build anything here (it needs a C++ compiler)."""
    import torch

    try:
        return bool(torch.compile(lambda x: x * 2 + 1)(torch.ones(4)).sum() == 12)
    except Exception:
        return False


def show(work: Workload, timings: dict[str, Timing]) -> dict[str, float]:
    """Print one workload; returns how many times as fast numba is as each."""
    ours = timings["numba"].median
    print(f"\n{work.name}")
    for name, timing in timings.items():
        print(f"  {name:20} {timing!s:40} {timing.median / ours:10.2f}")
    return {name: round(t.median / ours, 2) for name, t in timings.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="workloads whose name holds this text")
    parser.add_argument("--seconds", type=float, default=22.0, help="for each workload, about")
    parser.add_argument("--compiled", action="store_true", help="PyTorch compiled too (half a minute more each)")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    compiled = options.compiled and compiler_works()
    everything: dict[str, Timing] = {}
    ratios = {}
    for work in WORKLOADS:
        if options.only in work.name:
            timings = measure(work, compiled, options.seconds)
            ratios[work.name] = show(work, timings)
            everything.update({f"{work.name}: {name}": timing for name, timing in timings.items()})
    packages = ["numpy", "numba", "llvmlite", "torch", "micrograd"]
    packages += ["jax", "jaxlib"] if importlib.util.find_spec("jax") else []
    more = {"ratios": ratios, "torch_compile": "measured" if compiled else "not measured"}
    if not options.only:
        print("\nwritten", write_report("peers", everything, tuple(packages), unit="one training step", **more))


if __name__ == "__main__":
    main()
