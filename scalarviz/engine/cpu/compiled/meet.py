"""How the threads of a team wait for each other, in compiled code."""

from __future__ import annotations

from numba import njit

from .intrinsics import add_atomically, call_bare, read_atomically
from .tiles import Words

ARRIVED, YIELD = range(2)
"""Entries of the words that a team shares: how often somebody has arrived, and the address of a C function that
gives the processor to another thread."""

EVERYBODY = 2**62
"""So many arrivals that nobody waits any more."""

SPINS = 4000


@njit(error_model="numpy")
def gather(team: Words, arrivals: int, workers: int) -> int:
    """Wait for the other workers, if there are any; returns how many arrivals there have been then."""
    if workers > 1:
        meet(team, arrivals + workers)
    return arrivals + workers


@njit(error_model="numpy")
def meet(team: Words, target: int) -> None:
    """Wait until `target` arrivals have been counted, this one included."""
    add_atomically(team, 1)
    spins = 0
    while read_atomically(team) < target:
        spins += 1
        if spins > SPINS:  # another process has the processor
            call_bare(team[YIELD])
