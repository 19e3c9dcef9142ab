"""The picture of a convolutional chain: where kernels and maps stand, and when there is none."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run.questions.ranges import Range, extent
from scalarviz.view.cubes.scale import ActivationScale, rows_of
from scalarviz.view.ink.theme import DARK
from scalarviz.view.space.layout import layout_for
from scalarviz.view.space.plane import map_grid


def run_of(*layers, shape=(1, 8, 8), outputs=10):
    net = nn.Sequential(*layers)
    data = np.zeros((12, *shape)), np.arange(12) % outputs
    return sv.Run(net, nn.CrossEntropyLoss(), optim.SGD(net.parameters(), lr=0.1), data=data, engine="numpy")


def usual(first=6, second=12, side=8):
    rest = (side // 4) ** 2
    return run_of(
        nn.Conv2d(1, first, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(first, second, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(second * rest, 10),
        shape=(1, side, side),
    )  # fmt: skip


@pytest.fixture(scope="module")
def layout():
    run = usual()
    return layout_for(run.tensors, run.stages, (1280, 720))


@pytest.mark.parametrize(
    ("layers", "shape", "outputs", "shapes"),
    [((nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(96, 10)), (1, 8, 8), 10,
      [((1, 8, 8), (6, 8, 8)), ((6, 8, 8), (6, 8, 8)), ((6, 8, 8), (6, 4, 4)), ((96,), (10,))]),
     ((nn.Unflatten((2, 9, 7)), nn.Conv2d(2, 3, (3, 2), stride=2, padding=(1, 0)), nn.Flatten(), nn.Linear(45, 2)),
      (126,), 2, [((2, 9, 7), (3, 5, 3)), ((45,), (2,))])],
)  # fmt: skip
def test_stages_know_the_shapes_of_pictures(layers, shape, outputs, shapes):
    run = run_of(*layers, shape=shape, outputs=outputs)
    assert [(s.input_shape, s.shape) for s in run.stages] == shapes


def test_everything_is_read_from_left_to_right_and_no_plate_hides_another(layout):
    order = ["input", "0.weight", "0.bias", "1", "2", "3.weight", "3.bias", "4", "5", "7.weight"]
    left = [layout.camera.project(layout.plate(name).corners)[:, 0].min() for name in order]
    assert left == sorted(left)
    assert {p.name for p in layout.plates} == {*order, "7.bias"}
    flat = layout.camera.project(layout.outline)
    assert (flat >= layout.rect[:2]).all()
    assert (flat <= layout.rect[2:]).all()
    for a, b in combinations(layout.plates, 2):  # all stand in the plane x = 0
        apart = (a.bounds[0, 1:] >= b.bounds[1, 1:]) | (b.bounds[0, 1:] >= a.bounds[1, 1:])
        assert apart.any(), (a.name, b.name)


def test_a_map_shows_the_number_of_its_place(layout):
    """The element of channel c, row y, column x stands in tile c, at row y and column x of it."""
    plate = layout.activation("2")
    c, y, x = 4, 1, 3
    rows, columns = plate.grid.cells
    tiles = (columns + 1) // 5
    assert plate.grid.places(c * 16 + y * 4 + x) == (c // tiles * 5 + y, c % tiles * 5 + x)
    assert rows * columns > plate.size


@pytest.mark.parametrize("shape", [(1, 28, 28), (6, 8, 8), (7, 4, 4), (12, 2, 2), (32, 5, 5)])
def test_maps_fill_a_block_that_is_neither_a_line_nor_a_column(shape):
    grid = map_grid(shape)
    rows, columns = grid.cells
    assert (rows + 1) * (columns + 1) == np.prod(shape[:1]) * (shape[1] + 1) * (shape[2] + 1)
    if shape[0] != 7:
        assert 1 / 3 < rows / columns < 3


@pytest.mark.parametrize("sheet", [False, True])
def test_the_maps_share_a_range_and_a_sheet_has_its_own(sheet):
    run = usual()
    scale = ActivationScale(run.stages, DARK, sheet=sheet)
    probe = np.linspace(0, 40, 64)
    frame = run.frame(probe)
    scale.update(frame, None)
    drawn = [frame.activations[name] for name in ("1", "2", "4", "5")] + ([] if sheet else [probe])
    assert (scale.range.low, scale.range.high) == (0.0, pytest.approx(extent(np.concatenate(drawn)), rel=1e-12))
    assert scale.own == ({"input": Range(0.0, 1.0)} if sheet else {})
    assert set(rows_of(run.stages)) == {"input", "1", "2", "4", "5"}  # the logits are on another scale


def test_large_pictures_leave_out_the_maps_before_a_pool():
    run = usual(side=28)
    layout = layout_for(run.tensors, run.stages, (1280, 720))
    assert layout.activation("1") is None
    assert layout.activation("2").size == 6 * 14 * 14


def test_a_network_with_weights_beside_the_chain_is_drawn_as_a_graph():
    class Two(nn.Module):
        def __init__(self):
            self.conv, self.other = nn.Conv2d(1, 2, 3), nn.Linear(64, 72)

        def forward(self, x):
            both = zip(nn.Flatten()(self.conv(x)), self.other(nn.Flatten()(x)), strict=True)
            return [a + b for a, b in both]

    run = run_of(Two(), outputs=72)
    layout = layout_for(run.tensors, run.stages, (1280, 720))
    assert {p.name for p in layout.plates if p.kind != "activation"} == {t.name for t in run.tensors}
    assert [(s.name, s.sources) for s in run.stages] == [
        ("0.conv", ("input",)), ("0.other", ("input",)), ("0", ("0.conv", "0.other"))
    ]  # fmt: skip
