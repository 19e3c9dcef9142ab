"""numba's simulator with the threads of a launch in turn: numba's own threads take many times as long.

One thread after the other goes on, until its end or to the next barrier, in an order that is none: whoever reads what
another one writes in between is found out. Shared memory holds NaN in each block, as nobody knows what it holds.
"""

from __future__ import annotations

import sys
import threading
from contextlib import ExitStack
from functools import cache
from itertools import product
from random import Random

import greenlet
import numpy as np

from scalarviz.engine.cuda import jit

IN_THREADS = jit.simulated
BARRIERS = {"syncthreads", "syncwarp", "sync"}


def simulated(function):
    """In the place of :func:`scalarviz.engine.cuda.jit.simulated`."""
    numba = sys.modules[type(jit.cuda.jit(function)).__module__]
    called = functions_of(function)
    waits = any(BARRIERS & set(one.__code__.co_names) for one in called)

    def launch(grid, block, arguments, shared=0):
        cuda = numba.FakeCUDAModule((*grid, 1), (*block, 1), shared)
        threads = shuffled(tuple(block), numba.Dim3)
        with ExitStack() as stack:
            stack.enter_context(jit._LAUNCHING)
            stack.enter_context(numba._push_kernel_context(cuda))
            for one in called:
                stack.enter_context(numba.swapped_cuda_module(one, cuda))
            for place in shuffled(tuple(grid), numba.Dim3):
                cuda._shared = type(cuda._shared)(shared)
                cuda._shared._dynshared.view(np.uint8)[:] = 255
                (together if waits else one_by_one)(function, arguments, place, threads)

    return launch


def functions_of(function):
    """A kernel and all device functions that it calls."""
    found = [function]
    for name in function.__code__.co_names:
        called = getattr(function.__globals__.get(name), "fn", None)
        if called is not None:
            found += [one for one in functions_of(called) if one not in found]
    return found


@cache
def shuffled(shape, dim3):
    """All places of a grid or a block."""
    found = [dim3(*place, 0) for place in product(*map(range, shape))]
    Random(len(found)).shuffle(found)
    return found


def one_by_one(function, arguments, block, threads):
    """A block without barriers, in this thread."""
    me = threading.current_thread()
    me.blockIdx = block
    with np.errstate(all="ignore"):
        for me.threadIdx in threads:
            function(*arguments)


def together(function, arguments, block, places):
    """A block with barriers: each of its threads is a greenlet, which lets others at a barrier and at its end.

    To go on with another greenlet takes a hundredth of what it takes to wake another thread.
    """

    def thread():
        with np.errstate(all="ignore"):  # a greenlet has settings of its own, as a thread has
            function(*arguments)

    me, here = threading.current_thread(), greenlet.getcurrent()
    me.blockIdx, me.syncthreads = block, here.switch
    turns = [(greenlet.greenlet(thread), place) for place in places]
    moving = turns
    try:
        while moving:
            for turn, me.threadIdx in moving:
                turn.switch()  # to its next barrier; what it raises comes out here
            moving = [(turn, place) for turn, place in moving if not turn.dead]
    finally:
        for turn, _ in moving:
            turn.throw()  # another thread has failed
        del me.syncthreads
