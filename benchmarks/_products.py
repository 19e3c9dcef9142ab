"""How fast a product of two matrices is by itself, float32, on one thread: GFLOP/s of whoever multiplies.

Run as a program it measures NumPy and prints JSON: OpenBLAS chooses its kernels when it is loaded, so that another
choice (``OPENBLAS_CORETYPE``) needs another process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping

from _timing import pin_threads

pin_threads(1)

import numpy as np  # noqa: E402

SIDES, ROWS = (512, 1024), 1024
"""Columns and rows of the right matrix; rows of the left one."""
ROUNDS = 9
CORE = "OPENBLAS_CORETYPE"


def gflops(multiply: Callable[[], object], side: int, rows: int = ROWS) -> float:
    """The middle of some rounds, in seconds of the processor."""
    multiply()
    found = []
    for _ in range(ROUNDS):
        start = time.process_time()
        multiply()
        found.append(time.process_time() - start)
    return 2 * rows * side * side / sorted(found)[ROUNDS // 2] / 1e9


def operands(side: int) -> tuple[np.ndarray, np.ndarray]:
    """Both matrices."""
    rng = np.random.default_rng(side)
    return rng.random((ROWS, side), dtype=np.float32), rng.random((side, side), dtype=np.float32)


def by_numpy() -> dict[str, float]:
    """Of each side."""
    pairs = {str(side): operands(side) for side in SIDES}
    return {
        name: gflops(lambda left=left, right=right: left @ right.T, len(right)) for name, (left, right) in pairs.items()
    }


def in_process(environment: Mapping[str, str]) -> dict[str, float]:
    """:func:`by_numpy` in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def by_torch() -> dict[str, dict[str, float]]:
    """PyTorch's own product, and oneDNN's."""
    import torch
    from _peer_mkldnn import linear

    found: dict[str, dict[str, float]] = {"PyTorch": {}, "PyTorch over oneDNN": {}}
    for side in SIDES:
        left, right = (torch.tensor(part) for part in operands(side))
        found["PyTorch"][str(side)] = gflops(lambda left=left, right=right: left @ right.T, side)
        found["PyTorch over oneDNN"][str(side)] = gflops(lambda left=left, right=right: linear(left, right), side)
    return found


def by_us() -> dict[str, float]:
    """The layer kernel on blocks of 256 lanes."""
    from product_tile import product

    lanes = 256
    found = {}
    for side in SIDES:
        layer = product("combine", side, lanes)
        found[str(side)] = gflops(lambda layer=layer: layer(ROWS // lanes), side)
    return found


def measure() -> dict[str, dict[str, float]]:
    """Everybody."""
    return {
        **by_torch(), "NumPy": in_process({}), f"NumPy, {CORE}=SkylakeX": in_process({CORE: "SkylakeX"}),
        "scalarviz": by_us(),
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(by_numpy()))
