"""A block's threads meet where they must: without any one of the barriers the machine finds a race."""

from __future__ import annotations

import re

import pytest
from ptx.memory import Race
from test_ptx_runs import MODELS, AllKinds, shape, started

import scalarviz as sv
from scalarviz import nn
from scalarviz.engine.cuda.block import kernel, table
from scalarviz.engine.cuda.catalog import written

pytestmark = pytest.mark.cuda
__all__ = ["shape"]
BARRIER = re.compile(r"cuda\.syncthreads\(\)")


class Derived(nn.Module):
    """Weights of a layer that are made of others, with a number among them."""

    def __init__(self):
        self.w = [sv.Weight(0.1 * k - 0.3) for k in range(9)]
        self.layer = nn.Linear(3, 3, seed=2)

    def forward(self, x):
        made = [sv.maximum(v, 0.05) * self.w[0] for v in self.w]
        return [sv.dot(made[3 * j : 3 * j + 3], x).tanh() + y for j, y in enumerate(self.layer(x))]


BLOCKS = {"lanes": 4, "block_threads": 16, "alone": 0}
ALONE = {"lanes": 4, "block_threads": 64}
FORMS = {
    "blocks": (AllKinds, BLOCKS, 9, (0, 1, 2, *range(4, 9))),
    "blocks of layers alone": (MODELS["mlp"], BLOCKS, 9, (3,)),
    "alone": (MODELS["mlp"], ALONE, 11, (*range(7), 9, 10)),
    "with a prologue": (Derived, ALONE, 13, (9, 10)),
}
"""A model, a cut of the work, the barriers of the kernel that it makes, and those of them that are tried."""
CASES = [(name, place) for name, (_, _, _, tried) in FORMS.items() for place in tried]


def trained(name, shape):
    model, options, *_ = FORMS[name]
    shape(**options)
    run = started(model(), "cuda", "float32", 6)
    run.call_seconds = 100.0  # several steps in a launch
    run.step(5)
    run.close()


@pytest.fixture
def change(monkeypatch):
    """Let the kernels of blocks be made of changed texts: ``change(function)``."""

    def install(function):
        monkeypatch.setattr(kernel, "written", lambda name, text, dtype: written(name, function(text), dtype))

    return install


@pytest.mark.parametrize("name", FORMS)
def test_with_all_barriers_there_is_none(name, fake_driver, shape, change):
    counts = []
    change(lambda text: counts.append(len(BARRIER.findall(text))) or text)
    trained(name, shape)
    assert counts[-1] == FORMS[name][2]


@pytest.mark.parametrize(("name", "place"), CASES)
def test_without_a_barrier_there_is_a_race(name, place, fake_driver, shape, change):
    def without(text):
        places = [found.span() for found in BARRIER.finditer(text)]
        start, end = places[min(place, len(places) - 1)]
        return f"{text[:start]}pass{text[end:]}"

    change(without)
    with pytest.raises(Race):
        trained(name, shape)


@pytest.mark.parametrize("name", ["blocks", "alone"])
def test_lines_that_do_not_wait_race(name, fake_driver, shape, monkeypatch):
    monkeypatch.setattr(table, "_waits", lambda lines, before: [False for _ in lines])
    with pytest.raises(Race):
        trained(name, shape)
