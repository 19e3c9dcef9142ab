"""Several threads on one training step: who does which blocks, and how they wait for each other.

The blocks of a batch are split into at most `GROUPS` groups, each with a sum of gradients of its own, and the sums
are added in order. Which thread did which group does not show in the bits. The groups depend on the numbers of the
run alone, so one thread gives the same bits as two.
"""

from __future__ import annotations

import ctypes
import statistics
import sys
import time
from collections import deque
from functools import cache

from ...tape import Program
from ..cost import work_of
from ..processors import processors

GROUPS = 8
"""Sums of gradients side by side; the first one is the gradient itself, the others have buffers."""

MANY_WEIGHTS = 65536
"""Weights whose buffers are cleared and summed in more time than a block of samples takes to fill them."""

MANY_SAMPLES = 512
"""Samples that such a buffer is to hold the sum of, if there are to be more than two."""

WORTH = 1_000_000
"""Operations of a step below which a second thread costs more than it brings."""

TRIAL_SECONDS = 0.25
"""How often the other number of threads is tried."""


def groups_of(program: Program, batch: int, block: int) -> int:
    """How many groups of blocks a step has; 0 where blocks are too few or too small for threads."""
    blocks = -(-batch // block)
    if blocks == 1 or work_of(program) * batch < WORTH:
        return 0
    most = GROUPS if program.n_theta < MANY_WEIGHTS else max(2, batch // MANY_SAMPLES)
    return min(blocks, GROUPS, most)


def threads_for(wanted: int, groups: int) -> int:
    """Threads that are used: no more than there are groups or processors, and one where threads cannot wait."""
    if wanted == 1 or not yield_address():
        return 1
    return max(1, min(wanted, groups, processors()))


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


class Turns:
    """One thread or all: whichever was quicker lately does the next steps.

    Where another program has a processor, threads wait for the one that stands in its queue, and one alone is quicker;
    that changes while a run goes on. The number of threads shows in no bits.

    Parameters
    ----------
    most : int
        All threads.

    Attributes
    ----------
    workers : int
        How many are quicker at present.
    """

    def __init__(self, most: int) -> None:
        self.most = self.workers = most
        self._seconds = {workers: deque[float](maxlen=3) for workers in (most, 1)}
        self._tried = time.perf_counter()

    def pieces(self, count: int) -> list[tuple[int, int]]:
        """How many workers do how many of the next `count` steps; now and then the others do some of them."""
        now = time.perf_counter()
        if self.most == 1 or now - self._tried < TRIAL_SECONDS:
            return [(self.workers, count)]
        self._tried = now
        other, few = (1 if self.workers > 1 else self.most), max(1, count // 16)
        return [(other, few), (self.workers, count - few)] if count > few else [(other, count)]

    def took(self, workers: int, seconds: float) -> None:
        """A step of so many workers took `seconds`; of three the middle one counts."""
        self._seconds[workers].append(seconds)
        known = {workers: statistics.median(several) for workers, several in self._seconds.items() if several}
        self.workers = min(known, key=lambda workers: known[workers])
