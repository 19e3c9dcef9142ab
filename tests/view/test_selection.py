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
from scalarviz.view.shown.subject import Subject, arrays_subject, subject_of
from scalarviz.view.space.plate import Plate, grid_for


def named(subject: Subject, index: int) -> dict[str, list[int]]:
    return {
        p.kind: [i for start, count in p.spans for i in range(start, start + count)] for p in parts_of(subject, index)
    }


def test_the_parts_of_a_weight_of_a_layer() -> None:
    net = nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 4))
    parts = named(subject_of(net), 4)  # 0.weight[1][1]
    assert parts == {
        "network": list(range(20)),
        "layer": list(range(8)),
        "tensor": list(range(6)),
        "neuron": [3, 4, 5, 7],
        "row": [3, 4, 5],
        "column": [1, 4],
        "weight": [4],
    }
    words = {p.kind: p.words for p in parts_of(subject_of(net), 4)}
    assert words["neuron"] == "neuron 1 of layer 0"
    assert words["row"] == "row 1 of 0.weight"
    assert words["column"] == "column 1 of 0.weight"
    assert words["network"] == "all 20 weights"


def test_a_bias_stands_in_its_neuron() -> None:
    net = nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 4))
    parts = named(subject_of(net), 7)
    assert parts["neuron"] == [3, 4, 5, 7]
    assert parts["tensor"] == [6, 7]
    assert "row" not in parts


def test_the_parts_of_a_kernel() -> None:
    net = nn.Sequential(nn.Conv2d(2, 3, 2, seed=0), nn.ReLU(), nn.Flatten())
    flat = np.arange(3 * 2 * 2 * 2).reshape(3, 2, 2, 2)
    parts = named(subject_of(net), int(flat[1, 1, 0, 1]))
    assert parts["row"] == flat[1].ravel().tolist()
    assert parts["column"] == flat[:, 1].ravel().tolist()
    assert parts["neuron"] == [*flat[1].ravel().tolist(), 24 + 1]


def test_plain_arrays_and_lone_numbers() -> None:
    subject, _ = arrays_subject({"w": 1.0, "m": np.zeros((2, 3)), "v": np.zeros(4)})
    assert named(subject, 0) == {"network": list(range(11)), "weight": [0]}
    assert set(named(subject, 3)) == {"network", "tensor", "row", "column", "weight"}
    assert named(subject, 8)["tensor"] == [7, 8, 9, 10]


def test_a_layer_without_a_bias_has_rows_that_are_its_neurons() -> None:
    parts = parts_of(subject_of(nn.Sequential(nn.Linear(3, 2, bias=False), nn.Linear(2, 2))), 4)
    assert [p.kind for p in parts] == ["network", "tensor", "row", "column", "weight"]


@given(st.lists(st.integers(0, 30), min_size=1, max_size=40))
@settings(max_examples=200)
def test_toggled_weights_are_those_that_were_clicked_an_odd_number_of_times(clicks: list[int]) -> None:
    chosen: Selection | None = None
    wanted: set[int] = set()
    for index in clicks:
        wanted ^= {index}
        chosen = Selection(index, ((index, 1),), "one") if chosen is None else chosen.toggled(index)
    if not wanted:
        assert chosen is None
        return
    assert chosen is not None
    assert set(np.flatnonzero(chosen.mask(0, 40))) == wanted
    assert chosen.count == len(wanted)
    assert chosen.main in wanted
    assert chosen.main in chosen
    assert all(a + n < b for (a, n), (b, _) in pairwise(chosen.spans))
    assert np.array_equal(chosen.of(np.arange(40)), sorted(wanted))
    assert np.array_equal(chosen.mask(10, 5), chosen.mask(0, 40)[10:15])


@given(st.sets(st.integers(0, 50), min_size=1))
def test_spans_that_touch_are_one(numbers: set[int]) -> None:
    spans = joined([(n, 1) for n in numbers])
    assert {i for start, count in spans for i in range(start, start + count)} == numbers
    assert all(a + n < b for (a, n), (b, _) in pairwise(spans))


# the outline


@given(st.integers(1, 6), st.integers(1, 6), st.data())
@settings(max_examples=200)
def test_the_sides_enclose_the_selected_cells(rows: int, cols: int, data: st.DataObject) -> None:
    """A point is inside if a ray from it crosses an odd number of sides; oracle of the mask itself."""
    cells = np.array(data.draw(st.lists(st.booleans(), min_size=rows * cols, max_size=rows * cols))).reshape(rows, cols)
    starts, ends, inward = sides_of(cells)
    for r in range(rows):
        for c in range(cols):
            upright = starts[:, 0] == ends[:, 0]
            crossed = upright & (starts[:, 0] > c) & (starts[:, 1] < r) & (ends[:, 1] > r)
            assert (np.count_nonzero(crossed) % 2 == 1) == cells[r, c]
    for start, end, into in zip(starts, ends, inward, strict=True):
        middle = (start + end) / 2
        along = (end - start) / max(np.abs(end - start).max(), 1)
        inside = np.floor(start + along * 0.5 + into * 0.5 + 0.5).astype(int)
        assert cells[inside[1], inside[0]], (middle, into)


def test_a_row_is_enclosed_by_four_sides_and_a_rectangle_too() -> None:
    cells = np.zeros((4, 5), bool)
    cells[2] = True
    assert len(sides_of(cells)[0]) == 4
    cells[1:3, 1:4] = True
    assert len(sides_of(cells)[0]) == 8  # rows 1 and 2: a step on either side
    assert len(sides_of(np.ones((3, 3), bool))[0]) == 4
    assert len(sides_of(np.zeros((3, 3), bool))[0]) == 0


@pytest.mark.parametrize("shape", [(3, 4), (7,), (5, 2, 3, 3), (200, 1), (4, 3)])
def test_the_cells_are_those_of_the_elements(shape: tuple[int, ...]) -> None:
    grid = grid_for(shape)
    size = int(np.prod(shape))
    plate = Plate("p", "weight", size, grid, np.zeros(3), np.eye(3), 0.4, 0.4, 0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        mask = rng.random(size) < 0.3
        cells = cells_of(plate, mask)
        assert all(cells[grid.places(k)] == mask[k] for k in range(size))
    if len(shape) == 4:  # a row of kernels is one region, gaps included
        mask = np.zeros(shape, bool)
        mask[1] = True
        assert len(sides_of(cells_of(plate, mask.ravel()))[0]) == 4
