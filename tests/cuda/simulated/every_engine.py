"""Plugin of the simulator's processes: tests that are made for every engine run once more, with this one.

A test that names numba among its engines (``parametrize("engine", ...)``) gets "cuda" in their place; the others of its
file are left out.
"""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

import pytest
from in_turn import simulated
from test_simulator import has_engines

from scalarviz.engine.cuda import jit, trainer
from scalarviz.engine.cuda.machine import Shape
from scalarviz.engine.cuda.tiling import Tile, Tiling

SMALL = Shape(chunk_bytes=2000, threads=8, slices=3, loss_slices=4, steps=2, lanes=0, tiles=None)
"""Cuts the tests' few lanes and steps as a GPU cuts many: several chunks, partial blocks, calls of several parts."""
TINY = (Tile(2, 4, 2, 2, 4),)
TILED = Tiling(layer=TINY, wide_layer=TINY, weights=(Tile(2, 3, 2, 2, 8),), least=1, lanes=1)
FORMS = {
    "plain": replace(SMALL, joined=False), "joined": SMALL, "tiles": replace(SMALL, threads=4, tiles=TILED),
    "blocks": replace(SMALL, lanes=2, block_threads=4, alone=0), "one block": replace(SMALL, lanes=4, block_threads=8),
}  # fmt: skip
"""How the engine may do its work: what stands in this folder is tested in all, or in those of a module's `FORMS`."""
ENGINE, HERE, TESTS = "engine", Path(__file__).parent, Path(__file__).parents[2]
NOT_HERE = {
    "test_questions::test_the_run_does_what_was_rehearsed_and_nothing_before*": "it gives up where time runs out",
    "test_engine_calls::test_rewinding_brings_back_every_bit_that_a_step_changes*": "it changes numbers in between",
}
"""Tests of every engine that do not hold in the simulator, and why. Those that are marked ci are hunted here."""
jit.simulated = simulated


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
    chosen = any(mark.name == "parametrize" and mark.args[0] == "form" for mark in marks)
    if HERE in metafunc.definition.path.parents and not chosen:
        metafunc.parametrize("form", getattr(metafunc.module, "FORMS", tuple(FORMS)), indirect=True)


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


@pytest.fixture(autouse=True)
def form(request):
    """The name of a form; trainers take its shape."""
    name = getattr(request, "param", "joined")
    with pytest.MonkeyPatch.context() as patch:  # the tests' own may be undone in the middle
        patch.setattr(trainer, "SHAPE", FORMS[name])
        yield name
