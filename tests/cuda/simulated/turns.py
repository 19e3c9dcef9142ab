"""The simulator that takes threads in turn: barriers hold, what is missing shows, who fails ends the launch."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from in_turn import simulated

from scalarviz.engine.cuda.jit import Pointer, cuda, shared

FORMS = ("plain",)
THREADS = 8


def turned(numbers, waits, fails):
    """Each thread hands its number to the one before it."""
    mine = cuda.threadIdx.x
    room = shared(np.float64, 0)
    if mine == fails:
        raise ZeroDivisionError("a thread")
    room[mine] = numbers[mine]
    if waits:
        cuda.syncthreads()
    numbers[mine] = room[(mine + 1) % THREADS]


def run(waits=True, fails=-1):
    numbers = np.arange(float(THREADS))
    before = threading.active_count()
    try:
        simulated(turned)((1, 1), (THREADS, 1), (Pointer(numbers), waits, fails), 8 * THREADS)
    finally:
        assert threading.active_count() == before
    return numbers


def test_a_barrier_holds_and_without_it_what_nobody_wrote_is_nan():
    np.testing.assert_array_equal(run(), np.roll(np.arange(THREADS), -1))
    assert np.isnan(run(waits=False)).any()


@pytest.mark.parametrize("thread", range(THREADS))
def test_a_thread_that_fails_ends_all(thread):
    with pytest.raises(ZeroDivisionError, match="a thread"):
        run(fails=thread)
