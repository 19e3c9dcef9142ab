"""What this processor's vectors can do. Loads llvmlite when asked."""

from __future__ import annotations

import os
from functools import cache

_FEATURES = (("avx512f", 64, 32), ("avx2", 32, 16), ("neon", 16, 32))
"""Feature of the processor, bytes of a vector, vector registers. Fused multiply-add comes with each."""
_ANY = "no AVX-512, AVX2 with FMA, or NEON", 16, 16
"""For every other processor: LLVM writes vectors of 128 bits for it, and a multiplication before an addition."""


@cache
def _found() -> tuple[str, int, int]:
    features = _features()
    for name, width, registers in _FEATURES:
        if name in features and (name != "avx2" or "fma" in features):
            return name, width, registers
    return _ANY


def _features() -> set[str]:
    """What numba compiles for: the variables of its own that name another processor count."""
    named = os.environ.get("NUMBA_CPU_FEATURES")
    if named is not None:
        return {part[1:] for part in named.split(",") if part.startswith("+")}
    if os.environ.get("NUMBA_CPU_NAME"):
        return set()
    from llvmlite import binding

    try:
        found = binding.get_host_cpu_features()
    except RuntimeError:  # LLVM does not know this system
        return set()
    return {name for name, there in found.items() if there}


def vector_bytes() -> int:
    """Bytes of a vector of this processor."""
    return _found()[1]


def wide_vectors() -> int:
    """Vectors side by side in a tile: as many as the registers hold."""
    return 4 if _found()[2] == 32 else 2


def describe() -> str:
    """One line for ``scalarviz doctor``."""
    name, width, _ = _found()
    return f"vector kernels of {8 * width} bits ({name})"


COLUMNS = 6 if wide_vectors() == 4 else 3
"""Columns of a tile of weight gradients: its sums, one for each column and four outputs, fill the registers."""
