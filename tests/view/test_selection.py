"""Which weights are selected, what they are called, and where their outline runs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalarviz import nn
from scalarviz.view.cubes.outline import cells_of, sides_of
from scalarviz.view.screen.selection import Selection, joined, parts_of
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.space.plate import Plate, grid_for


def members(spans):
    return [i for start, count in spans for i in range(start, start + count)]


KERNEL = np.arange(3 * 2 * 2 * 2).reshape(3, 2, 2, 2)
PAIR = nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 4))
CASES = {
    "a weight": (PAIR, 4, {"network": range(20), "layer": range(8), "tensor": range(6), "neuron": [3, 4, 5, 7],
                           "row": [3, 4, 5], "column": [1, 4], "weight": [4]}),
    "a bias stands in its neuron": (PAIR, 7, {"network": range(20), "layer": range(8), "neuron": [3, 4, 5, 7],
                                              "tensor": [6, 7], "weight": [7]}),
    "a kernel": (nn.Sequential(nn.Conv2d(2, 3, 2, seed=0), nn.ReLU(), nn.Flatten()), int(KERNEL[1, 1, 0, 1]), {
        "layer": range(27), "tensor": range(24), "neuron": [*KERNEL[1].ravel(), 25], "row": KERNEL[1].ravel(),
        "column": KERNEL[:, 1].ravel(), "weight": [KERNEL[1, 1, 0, 1]]}),
    "no bias": (nn.Sequential(nn.Linear(3, 2, bias=False), nn.Linear(2, 2)), 4, {
        "network": range(12), "tensor": range(6), "row": [3, 4, 5], "column": [1, 4], "weight": [4]}),
    "a number": ({"w": 1.0, "m": np.zeros((2, 3)), "v": np.zeros(4)}, 0, {"network": range(11), "weight": [0]}),
    "a vector": ({"w": 1.0, "m": np.zeros((2, 3)), "v": np.zeros(4)}, 8, {
        "network": range(11), "tensor": [7, 8, 9, 10], "weight": [8]}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_parts_that_a_number_stands_in(name):
    thing, index, wanted = CASES[name]
    found = parts_of(subject_of(thing), index)
    assert {part.kind: members(part.spans) for part in found} == {kind: list(part) for kind, part in wanted.items()}
    assert all(set(members(inner.spans)) != set(members(outer.spans)) for outer, inner in pairwise(found))


@given(st.lists(st.integers(0, 30), min_size=1, max_size=40))
@settings(max_examples=200)
def test_toggled_weights_are_those_that_were_clicked_an_odd_number_of_times(clicks):
    chosen, wanted = None, set()
    for index in clicks:
        wanted ^= {index}
        chosen = Selection(index, ((index, 1),), "one") if chosen is None else chosen.toggled(index)
    if not wanted:
        assert chosen is None
        return
    assert chosen.main in chosen
    assert np.array_equal(np.flatnonzero(chosen.mask(0, 40)), sorted(wanted))
    assert np.array_equal(chosen.of(np.arange(40)), sorted(wanted))
    assert np.array_equal(chosen.mask(10, 5), chosen.mask(0, 40)[10:15])
    assert (chosen.count, chosen.spans) == (len(wanted), joined([(n, 1) for n in wanted]))
    assert all(a + n < b for (a, n), (b, _) in pairwise(chosen.spans))


# ---- the outline


@given(st.integers(1, 6), st.integers(1, 6), st.data())
@settings(max_examples=200)
def test_the_sides_enclose_the_selected_cells(rows, cols, data):
    """A point is inside if a ray from it crosses an odd number of sides; oracle of the mask itself."""
    cells = np.array(data.draw(st.lists(st.booleans(), min_size=rows * cols, max_size=rows * cols))).reshape(rows, cols)
    starts, ends, inward = sides_of(cells)
    upright = starts[:, 0] == ends[:, 0]
    for r in range(rows):
        for c in range(cols):
            crossed = upright & (starts[:, 0] > c) & (starts[:, 1] < r) & (ends[:, 1] > r)
            assert (np.count_nonzero(crossed) % 2 == 1) == cells[r, c]
    for start, end, into in zip(starts, ends, inward, strict=True):
        along = (end - start) / max(np.abs(end - start).max(), 1)
        inside = np.floor(start + along * 0.5 + into * 0.5 + 0.5).astype(int)
        assert cells[inside[1], inside[0]], (start, end, into)


@pytest.mark.parametrize("shape", [(3, 4), (7,), (5, 2, 3, 3), (200, 1), (4, 3)])
def test_the_cells_are_those_of_the_elements(shape):
    grid, size, rng = grid_for(shape), int(np.prod(shape)), np.random.default_rng(0)
    plate = Plate("p", "weight", size, grid, np.zeros(3), np.eye(3), 0.4, 0.4, 0)
    for _ in range(20):
        mask = rng.random(size) < 0.3
        cells = cells_of(plate, mask)
        assert all(cells[grid.places(k)] == mask[k] for k in range(size))
    if len(shape) == 4:  # a row of kernels is one region, gaps included
        mask = np.zeros(shape, bool)
        mask[1] = True
        assert len(sides_of(cells_of(plate, mask.ravel()))[0]) == 4
