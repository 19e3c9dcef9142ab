"""What the layer kernel reaches by itself, and how much of it is left in a whole training step.

    python benchmarks/product_tile.py

The kernel ``combine`` computes 64 rows from 64 rows of 512 lanes, again and again; beside it, in turns, whole steps of
UV 12-64x4-3 (Adam, batch 1024), counting the products of its layers alone. One pinned thread.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from _timing import arguments, in_turns, pin_threads, write_report

pin_threads(1)

import _ours  # noqa: E402
import numpy as np  # noqa: E402
from _workloads import WORKLOADS  # noqa: E402
from numba import njit  # noqa: E402

from scalarviz.engine.cpu import loader, wire  # noqa: E402
from scalarviz.engine.cpu.compiled.intrinsics import call_kernel  # noqa: E402
from scalarviz.engine.cpu.vector import capability  # noqa: E402

SIDE, LANES = 64, 512
GOAL = 0.85
"""What is asked for: the share of the product alone that a whole step reaches."""


def product(name: str, side: int = SIDE, lanes: int = LANES) -> Callable[[int], None]:
    """Products of a square matrix and as many rows of lanes, float32."""
    stride = 4 * lanes + 64
    memory = np.random.default_rng(0).random((2 * side + wire.PADDING + 1) * stride // 4, dtype=np.float32)
    start = -(-memory.ctypes.data // 64) * 64
    tile, theta = np.zeros(16, np.float32), np.random.default_rng(1).random(side * side, dtype=np.float32)
    address = loader.kernel_address(name, "float32")
    code = np.array([wire.KERNEL, address, 0, side, side, side, 0, side, 1, -1, 0], np.int64)
    space = np.array([start, stride, 2 * side, tile.ctypes.data, 2 * side, lanes, 0, 0, 0], np.int64)
    pool = np.array([*range(side, 2 * side), *range(side)], np.int64)
    arrays = (code, space, pool, theta, theta, theta)
    pointers = [a.ctypes.data for a in arrays]

    def run(count: int, keep: object = (memory, tile, arrays)) -> None:
        again_and_again(count, address, *pointers, lanes, 0)

    run(1)  # compiles the loop
    return run


@njit
def again_and_again(
    count: int, address: int, a: int, b: int, c: int, y: int, g: int, d: int, lanes: int, unused: int
) -> None:  # fmt: skip
    """Call a kernel `count` times, as a step does it: a call from Python would take a twentieth of the time."""
    for _ in range(count):
        call_kernel(address, a, b, c, y, g, d, lanes, unused)


def main() -> None:
    options = arguments(__doc__).parse_args()
    work = next(w for w in WORKLOADS if w.name.startswith("UV") and w.batch == 1024)
    products = sum(n * m for n, m in pairwise(work.sizes))
    operations = {
        "product": 2 * SIDE * SIDE * LANES,
        "product, plain tile": 2 * SIDE * SIDE * LANES,
        "UV step": 2 * work.batch * (3 * products - work.sizes[0] * work.sizes[1]),
    }
    contestants = {
        "product": product("combine"), "product, plain tile": product("combine_plain"),
        "UV step": _ours.engine(work, "numba"),
    }  # fmt: skip
    timings = in_turns(contestants, rounds=5 if options.quick else 31, seconds=0.03)
    speeds = {name: operations[name] / timing.median / 1e9 for name, timing in timings.items()}
    print(capability.describe())
    for name, timing in timings.items():
        print(f"{name:22} {timing}  {speeds[name]:8.1f} GFLOP/s")
    share = speeds["UV step"] / speeds["product"]
    reached = share >= GOAL
    print(
        f"a whole step reaches {share:.0%} of the product alone, {GOAL:.0%} asked{'' if reached else ': NOT reached'}"
    )
    if options.quick:
        return
    goal = {"at_least": GOAL, "reached": reached}
    more = {"gflops": speeds, "share": round(share, 3), "goal": goal, "kernels": capability.describe()}
    print("written", write_report("product_tile", timings, ("numpy", "numba", "llvmlite"), unit="one call", **more))


if __name__ == "__main__":
    main()
