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


class Turn(threading.Thread):
    """A thread of a block, which moves while it is let, and lets others at a barrier and at its end."""

    def __init__(self, function, arguments, block, place):
        super().__init__(daemon=True)
        self.function, self.arguments, self.blockIdx, self.threadIdx = function, arguments, block, place
        self.mine, self.others = threading.Semaphore(0), threading.Semaphore(0)
        self.error, self.over = None, False

    def run(self):
        try:
            self.wait()
            with np.errstate(all="ignore"):
                self.function(*self.arguments)
        except BaseException as error:
            self.error = error
        self.over = True
        self.others.release()

    def wait(self):
        self.mine.acquire()
        if self.over:
            raise SystemExit  # another thread has failed

    def syncthreads(self):
        self.others.release()
        self.wait()

    def move(self):
        """Let it go on to its next barrier."""
        self.mine.release()
        self.others.acquire()


def together(function, arguments, block, places):
    """A block with barriers."""
    threads = [Turn(function, arguments, block, place) for place in places]
    for thread in threads:
        thread.start()
    moving = threads
    try:
        while moving:
            for thread in moving:
                thread.move()
                if thread.error is not None:
                    raise thread.error
            moving = [thread for thread in moving if not thread.over]
    finally:
        for thread in threads:
            if not thread.over:
                thread.over = True
                thread.mine.release()
        for thread in threads:
            thread.join()
