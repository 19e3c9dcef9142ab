"""Several threads on one training step: who does which blocks, and how they wait for each other.

The blocks of a batch are split into at most `GROUPS` groups, each with a gradient buffer of its own, and the buffers
are summed in order. Which thread did which group does not show in the bits. The groups depend on the numbers of the
run alone, so one thread gives the same bits as two.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache

from numba import njit

from ...tape import Program
from .intrinsics import add_atomically, call_bare, read_atomically
from .tiles import Words

GROUPS = 8
"""Gradient buffers; ten million weights take 320 MB."""

WORTH = 1_000_000
"""Operations of a step below which a second thread costs more than it brings."""

ARRIVED, YIELD = range(2)
"""Entries of the words that a team shares: how often somebody has arrived, and the address of a C function that
gives the processor to another thread."""

EVERYBODY = 2**62
"""So many arrivals that nobody waits any more."""

SPINS = 4000


def groups_of(program: Program, batch: int, block: int) -> int:
    """How many gradient buffers a step has; 0 where blocks are too few or too small for threads."""
    blocks = -(-batch // block)
    return min(blocks, GROUPS) if blocks > 1 and operations(program) * batch >= WORTH else 0


def operations(program: Program) -> int:
    """Additions and multiplications of a sample forward and backward, those in weighted sums."""
    sums = ((i.count, i.args.shape[-1]) for i in program.instructions if i.kind in ("layer", "conv"))
    return sum(6 * count * n for count, n in sums)


def threads_for(wanted: int, groups: int) -> int:
    """Threads that are used: no more than there are groups or processors, and one where threads cannot wait."""
    if wanted == 1 or not yield_address():
        return 1
    return max(1, min(wanted, groups, processors()))


def processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def yield_address() -> int:
    """Address of the system's function that lets other threads run; 0 if there is none."""
    try:
        windows = sys.platform == "win32"
        library = ctypes.CDLL("kernel32" if windows else None)
        function = library.SwitchToThread if windows else library.sched_yield
    except (AttributeError, OSError):
        return 0
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@njit(error_model="numpy")
def meet(team: Words, target: int) -> None:
    """Wait until `target` arrivals have been counted, this one included."""
    add_atomically(team, 1)
    spins = 0
    while read_atomically(team) < target:
        spins += 1
        if spins > SPINS:  # another process has the processor
            call_bare(team[YIELD])
