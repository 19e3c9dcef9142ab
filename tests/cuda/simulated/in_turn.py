"""numba's simulator without its threads: a thread of Python for each of a kernel takes ten times as long.

A kernel without barriers is called for one thread after the other, in an order that is none: whoever reads what another
thread of the launch writes is found out. Kernels with barriers get numba's threads.
"""

from __future__ import annotations

import sys
import threading
from functools import cache
from itertools import product
from random import Random

import numpy as np

from scalarviz.engine.cuda import jit

IN_THREADS = jit.simulated
BARRIERS = {"syncthreads", "syncwarp", "sync"}


def simulated(function):
    """In the place of :func:`scalarviz.engine.cuda.jit.simulated`."""
    if BARRIERS & names_in(function):
        return IN_THREADS(function)
    numba = sys.modules[type(jit.cuda.jit(function)).__module__]

    def launch(grid, block, arguments, shared=0):
        cuda = numba.FakeCUDAModule((*grid, 1), (*block, 1), shared)
        me = threading.current_thread()
        with (
            jit._LAUNCHING, numba._push_kernel_context(cuda), numba.swapped_cuda_module(function, cuda),
            np.errstate(all="ignore"),
        ):  # fmt: skip
            for me.blockIdx, me.threadIdx in places(tuple(grid), tuple(block), numba.Dim3):
                function(*arguments)

    return launch


def names_in(function):
    """All that a kernel and the device functions that it calls name."""
    names = set(function.__code__.co_names)
    for name in function.__code__.co_names:
        called = getattr(function.__globals__.get(name), "fn", None)
        if called is not None:
            names |= names_in(called)
    return names


@cache
def places(grid, block, dim3):
    """Every thread of every block, shuffled."""
    found = [
        (dim3(*at, 0), dim3(*within, 0))
        for at in product(*map(range, grid)) for within in product(*map(range, block))
    ]  # fmt: skip
    Random(len(found)).shuffle(found)
    return found
