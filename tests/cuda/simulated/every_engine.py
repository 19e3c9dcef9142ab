"""Plugin of the simulator's processes: tests that are made for every engine run once more, with this one.

A test that names numba among its engines (``parametrize("engine", ...)``) gets "cuda" in their place; the others of its
file are left out. The threads of a launch are taken in turn: numba's own threads take many times as long. One goes on
after the other, until its end or to the next barrier, in an order that is none: whoever reads what another one writes
in between is found out. Shared memory holds NaN in each block, as nobody knows what it holds.
"""

import sys
import threading
from contextlib import ExitStack
from fnmatch import fnmatch
from functools import cache
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest
from test_simulator import has_engines

from scalarviz.engine.cuda import jit, trainer
from scalarviz.engine.cuda.machine import Shape

SMALL = Shape(chunk_bytes=2000, threads=8, slices=3, loss_slices=4, steps=2, lanes=0, tiles=None)
trainer.SHAPE = SMALL
"""Cuts the tests' few lanes and steps as a GPU cuts many: several chunks, partial blocks, calls of several parts."""
ENGINE, HERE, TESTS = "engine", Path(__file__).parent, Path(__file__).parents[2]
NOT_HERE = {
    "test_questions::test_the_run_does_what_was_rehearsed_and_nothing_before*": "it gives up where time runs out",
    "test_engine_calls::test_rewinding_brings_back_every_bit_that_a_step_changes*": "it changes numbers in between",
}
"""Tests of every engine that do not hold in the simulator, and why. Those that are marked ci are hunted here."""


def pytest_configure(config):
    config.addinivalue_line("markers", "rare: takes long in the simulator")


def pytest_ignore_collect(collection_path):
    """Leave out what has no test of engines before it is imported: two thirds of all tests."""
    if collection_path.suffix != ".py" or TESTS not in collection_path.parents or HERE in collection_path.parents:
        return None
    return None if has_engines(collection_path) else True


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc):
    """Another engine in the place of those that are named."""
    marks = metafunc.definition.own_markers
    for place, mark in enumerate(marks):
        if mark.name == "parametrize" and (found := _with_cuda(*mark.args)) is not None:
            marks[place] = pytest.mark.parametrize(mark.args[0], found).mark


def _with_cuda(names, sets):
    """The parameter sets with "cuda" for their engine, each once; None where no numba is named."""
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    if ENGINE not in names:
        return None
    place, alone = names.index(ENGINE), len(names) == 1
    rows = [(one,) if alone else tuple(one) for one in sets]
    if all(row[place] != "numba" for row in rows):
        return None
    rows = dict.fromkeys((*row[:place], "cuda", *row[place + 1 :]) for row in rows)
    return [row[0] if alone else row for row in rows]


def pytest_collection_modifyitems(config, items):
    """Leave out the other tests, and mark those that take long here."""
    other = {item for item in items if not _is_ours(item)}
    items[:] = [item for item in items if item not in other]
    config.hook.pytest_deselected(items=list(other))
    for item in items:
        if HERE not in item.path.parents and item.get_closest_marker("ci"):
            item.add_marker(pytest.mark.rare)


def _is_ours(item):
    if HERE in item.path.parents or TESTS not in item.path.parents:
        return True
    given = item.callspec.params if hasattr(item, "callspec") else {}
    if given.get("oracle") == "live":  # PyTorch's stored values are as good
        return False
    return given.get(ENGINE) == "cuda" and not any(fnmatch(f"{item.path.stem}::{item.name}", row) for row in NOT_HERE)


# ---- threads in turn

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

    import greenlet  # the simulator's alone: a GPU's machine may have none

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


jit.simulated = simulated
