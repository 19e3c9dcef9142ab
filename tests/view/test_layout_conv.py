"""The picture of a convolutional chain: where kernels and maps stand, and when there is none."""

from __future__ import annotations

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


def test_stages_know_the_shapes_of_pictures():
    run = usual()
    shapes = [(s.kind, s.input_shape, s.shape) for s in run.stages]
    assert shapes[:3] == [
        ("conv2d", (1, 8, 8), (6, 8, 8)), ("relu", (6, 8, 8), (6, 8, 8)), ("max_pool2d", (6, 8, 8), (6, 4, 4))
    ]  # fmt: skip
    assert shapes[-1] == ("linear", (48,), (10,))


def test_shapes_follow_stride_padding_and_unflatten():
    layers = (
        nn.Unflatten((2, 9, 7)),
        nn.Conv2d(2, 3, (3, 2), stride=2, padding=(1, 0)),
        nn.Flatten(),
        nn.Linear(45, 2),
    )
    run = run_of(*layers, shape=(126,), outputs=2)
    assert [(s.input_shape, s.shape) for s in run.stages] == [((2, 9, 7), (3, 5, 3)), ((45,), (2,))]


def test_everything_is_read_from_left_to_right(layout):
    order = ["input", "0.weight", "0.bias", "1", "2", "3.weight", "3.bias", "4", "5", "7.weight"]
    plates = [layout.plate(name) for name in order]
    left = [layout.camera.project(p.corners)[:, 0].min() for p in plates]
    assert left == sorted(left)
    assert {p.name for p in layout.plates} == {*order, "7.bias"}


def test_no_plate_hides_another_and_all_are_in_their_rectangle(layout):
    x0, y0, x1, y1 = layout.rect
    for k, plate in enumerate(layout.plates):
        flat = layout.camera.project(plate.corners)
        assert (flat >= (x0, y0)).all()
        assert (flat <= (x1, y1)).all()
        low, high = plate.bounds[:, 1:]  # all stand in the plane x = 0
        for other in layout.plates[:k]:
            apart = (other.bounds[0, 1:] >= high) | (other.bounds[1, 1:] <= low)
            assert apart.any(), (plate.name, other.name)


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
