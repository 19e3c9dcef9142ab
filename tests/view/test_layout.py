from itertools import combinations, pairwise
from math import prod

import numpy as np
import pytest

from scalarviz.errors import InputError, UnknownNameError
from scalarviz.run.core.frame import Stage, Tensor
from scalarviz.view.ink.theme import DARK
from scalarviz.view.notes.labels import FlowLabels
from scalarviz.view.space.layout import FEW, layout_for, scene_rect
from scalarviz.view.space.plate import grid_for

SIZE = (1280, 720)
NETS = [
    (1, 1),
    (3, 3),
    (5, 8),
    (2, 2, 1),
    (2, 8, 8, 1),
    (3, 16, 16, 3),
    (12, 64, 64, 64, 64, 3),
    (784, 30, 10),
    (3, 4, 4, 4, 4, 4, 4, 3),
    (3, 12, 12, 12, 12, 3),
    (3, 500, 500, 3),
    (4,) * 9,
]


def network(*widths, bias=True):
    tensors, stages, start = [], [], 0
    for k, (n_in, n_out) in enumerate(pairwise(widths)):
        weight = Tensor(f"{2 * k}.weight", (n_out, n_in), start)
        start += weight.size
        tensors.append(weight)
        offset = None
        if bias:
            offset = Tensor(f"{2 * k}.bias", (n_out,), start, "bias")
            start += n_out
            tensors.append(offset)
        stages.append(Stage(f"{2 * k}", "linear", n_out, weight, offset))
        stages.append(Stage(f"{2 * k + 1}", "tanh", n_out))
    return tensors, stages


def arrays(*shapes):
    starts = np.cumsum([0, *(prod(s) for s in shapes)])
    return [Tensor(f"t{k}", shape, int(starts[k])) for k, shape in enumerate(shapes)], []


def all_corners(layout):
    return np.concatenate([p.corners for p in layout.plates])


@pytest.mark.parametrize("widths", NETS)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("size", [SIZE, (720, 1280), (160, 90), (40, 30), (2560, 1080)])
def test_every_tensor_has_a_plate_inside_the_scene(widths, bias, size):
    tensors, stages = network(*widths, bias=bias)
    layout = layout_for(tensors, stages, size)
    drawn = {p.name: p for p in layout.plates if p.kind != "activation"}
    assert set(drawn) == {t.name for t in tensors}
    for tensor in tensors:
        plate = drawn[tensor.name]
        assert (plate.start, plate.size) == (tensor.start, tensor.size)
        assert plate.shape == (tensor.shape if len(tensor.shape) == 2 else (tensor.size, 1))
    x0, y0, x1, y1 = layout.rect
    pixels = layout.camera.project(all_corners(layout))
    assert (pixels >= [x0 - 1e-6, y0 - 1e-6]).all()
    assert (pixels <= [x1 + 1e-6, y1 + 10]).all()  # a stack may reach the room above the legend


@pytest.mark.parametrize("tensors", [network(*w) for w in NETS] + [arrays((9, 9, 3, 3), (20, 40), (7,), (), (900,))])
def test_no_two_plates_share_space(tensors):
    layout = layout_for(*tensors, SIZE)
    for a, b in combinations(layout.plates, 2):
        gap = np.maximum(a.bounds[0] - b.bounds[1], b.bounds[0] - a.bounds[1]).max()
        assert gap > -1e-9, f"{a.name} and {b.name}"


def test_the_modes_are_the_mock_ups():
    assert layout_for(*network(3, 3), SIZE).mode == "few"
    assert layout_for(*network(3, 16, 16, 3), SIZE).mode == "mlp"
    assert layout_for(*network(12, 64, 64, 64, 64, 3), SIZE).mode == "big"
    assert layout_for(*network(40, 40), SIZE).mode == "big"
    assert layout_for(*arrays((2, 2), (3,), ()), SIZE).mode == "few"
    assert layout_for(*arrays((64, 64)), SIZE).mode == "big"


def near(layout, plate, cell, pixel, within):
    got = layout.camera.project(layout.plate(plate).cell_centre_top(*cell))[0]
    np.testing.assert_allclose(got, pixel, atol=within)


def test_the_single_layer_stands_where_the_mock_up_has_it():
    layout = layout_for(*network(3, 3), SIZE)
    for cell, pixel in {(0, 0): (156, 211), (0, 2): (411, 180), (1, 1): (299, 289), (2, 2): (454, 371)}.items():
        near(layout, "0.weight", cell, pixel, 9)
    near(layout, "0.bias", (0,), (570, 160), 12)
    near(layout, "0.bias", (2,), (625, 348), 12)
    cubes = layout.camera.project(all_corners(layout))
    assert 85 < cubes[:, 0].min() < 110
    assert 660 < cubes[:, 0].max() < 705


def test_the_mlp_stands_where_the_mock_up_has_it():
    layout = layout_for(*network(3, 16, 16, 3), SIZE)
    near(layout, "0.weight", (0, 0), (173, 222), 12)
    near(layout, "0.bias", (15,), (217, 493), 14)
    near(layout, "2.weight", (0, 0), (326, 215), 14)
    near(layout, "2.weight", (15, 15), (508, 523), 16)
    near(layout, "4.weight", (0, 0), (534, 203), 16)
    near(layout, "4.weight", (2, 15), (725, 285), 18)


@pytest.mark.parametrize("widths", [(3, 16, 16, 3), (2, 3, 3, 1), (12, 64, 64, 3)])
def test_each_output_axis_is_the_next_plates_input_axis(widths):
    layout = layout_for(*network(*widths), SIZE)
    plates = [p for p in layout.plates if p.kind == "weight"]
    for k, (here, there) in enumerate(pairwise(plates)):
        np.testing.assert_array_equal(here.axes[1], there.axes[0])
        row = layout.activation(f"{2 * k + 1}")
        if widths != (12, 64, 64, 3):  # a stack lets its plates stand on the floor
            for unit in range(widths[k + 1]):
                level = there.axes[0] @ (row.cell_centre(unit) - there.cell_centre(0, unit))
                assert abs(level) < 5
                assert level == pytest.approx(there.axes[0] @ (row.origin - there.origin))


def test_bias_and_activations_stand_at_the_output_edge():
    layout = layout_for(*network(3, 16, 16, 3), SIZE)
    for name in ("0", "2", "4"):
        weight, bias = layout.plate(f"{name}.weight"), layout.plate(f"{name}.bias")
        for i in range(weight.shape[0]):
            offset = bias.cell_centre(i) - weight.cell_centre(i, 0)
            assert offset @ weight.axes[1] == pytest.approx(0), "bias[i] is on the row of weight[i]"
            assert abs(offset @ weight.axes[2]) < 1e-9, "and in the plane of the plate"
    assert layout.activation("1").size == 16
    assert layout.activation("input").size == 3
    assert layout.activation("0") is None, "sums are not drawn where their activation is"


def test_cells_lie_inside_their_plate_and_the_top_faces_the_eye():
    for tensors in (network(3, 3), network(3, 16, 16, 3), network(30, 40, 10), arrays((4, 3, 3, 3), (30, 20))):
        layout = layout_for(*tensors, SIZE)
        for plate in layout.plates:
            cells = [(0, 0), (plate.shape[0] - 1, plate.shape[1] - 1)]
            for cell in cells:
                corners = plate.cell_corners(*cell)
                assert (corners >= plate.bounds[0] - 1e-9).all()
                assert (corners <= plate.bounds[1] + 1e-9).all()
                np.testing.assert_allclose(corners[4:].mean(0), plate.cell_centre_top(*cell))
            assert plate.axes[2] @ layout.camera.towards_eye(plate.cell_centre_top(0)) > 0
            np.testing.assert_allclose(plate.axes @ plate.axes.T, np.eye(3), atol=1e-12)


@pytest.mark.parametrize(
    "shape", [(), (1,), (7,), (500,), (1, 1), (3, 4), (1000, 2), (2, 1000), (4, 3, 5), (4, 3, 3, 3), (2, 2, 2, 3, 3)]
)
def test_every_element_has_a_cell_of_its_own(shape):
    grid = grid_for(shape)
    cells = {grid.cell(i, j) for i in range(grid.shape[0]) for j in range(grid.shape[1])}
    assert len(cells) == prod(shape) == prod(grid.shape)
    assert all(0 <= r < grid.cells[0] and 0 <= c < grid.cells[1] for r, c in cells)
    assert max(grid.cells) <= max(64 * min(grid.cells), 8)


@pytest.mark.parametrize("shape", [(7,), (500,), (3, 4), (1000, 2), (4, 3, 5), (4, 3, 3, 3), (2, 2, 2, 3, 3)])
def test_strides_address_the_element_of_a_cell(shape):
    """The shader's formula, against NumPy's own order of the elements."""
    grid = grid_for(shape)
    s, (period_row, period_col) = grid.strides, grid.period
    if len(shape) > 2:
        kw = shape[-1]
        kh = 1 if len(shape) == 3 else shape[-2]
        inputs = shape[1] if len(shape) == 3 else shape[-3]
        blocks = np.arange(prod(shape)).reshape(-1, inputs, kh, kw).transpose(0, 2, 1, 3).reshape(grid.shape)
    else:
        blocks = np.arange(prod(shape)).reshape(grid.shape)
    for i in range(grid.shape[0]):
        for j in range(grid.shape[1]):
            row, col = grid.cell(i, j)
            index = (
                row // period_row * s[0] + row % period_row * s[1] + col // period_col * s[2] + col % period_col * s[3]
            )
            assert index == blocks[i, j]


def test_a_kernel_is_tiles_with_gaps():
    grid = grid_for((16, 3, 3, 3))
    assert grid.cells == (16 * 4 - 1, 3 * 4 - 1)
    assert grid.cell(2, 2) == (2, 2)
    assert grid.cell(3, 3) == (4, 4)


def test_arrays_that_no_stage_accounts_for_are_still_drawn():
    tensors, stages = network(3, 4, 2)
    extra = Tensor("scale", (5, 5), sum(t.size for t in tensors))
    layout = layout_for([*tensors, extra], stages, SIZE)
    assert {p.name for p in layout.plates if p.kind != "activation"} == {t.name for t in tensors} | {"scale"}
    assert {p.name for p in layout.plates if p.kind == "activation"} == {"input", *(s.name for s in stages)}


def test_an_empty_tensor_is_left_out_and_nothing_at_all_is_an_error():
    layout = layout_for(*arrays((0, 3), (2, 2)), SIZE)
    assert [p.name for p in layout.plates] == ["t1"]
    for nothing in ([], [Tensor("w", (0,), 0)]):
        with pytest.raises(InputError, match="no weights"):
            layout_for(nothing, [], SIZE)


def test_few_means_few():
    assert layout_for(*network(7, 8), SIZE).mode == "few"
    assert FEW == 64
    assert layout_for(*network(8, 8), SIZE).mode != "few"


def test_weights_are_the_largest_thing():
    for widths in ((3, 3), (3, 16, 16, 3), (12, 64, 64, 64, 64, 3)):
        layout = layout_for(*network(*widths), SIZE)
        pixels = layout.camera.project(all_corners(layout))
        assert np.prod(np.ptp(pixels, axis=0)) > 0.24 * SIZE[0] * SIZE[1]


def test_the_scene_takes_extra_room():
    assert scene_rect(SIZE) == (0.0, 84.0, 936.0, 556.0)
    assert scene_rect((1920, 1080)) == (0.0, 84.0, 1576.0, 916.0)
    assert scene_rect((640, 360)) == (0.0, 42.0, 468.0, 278.0)
    assert scene_rect((720, 1280))[2] == 720.0


def test_plates_are_found_by_name():
    layout = layout_for(*network(3, 3), SIZE)
    assert layout.plate("0.bias").kind == "bias"
    with pytest.raises(UnknownNameError, match=r"'9.weight'.*0.weight"):
        layout.plate("9.weight")
    with pytest.raises(InputError, match="outside"):
        layout.plate("0.weight").cell_centre(3, 0)


def test_an_upright_window_is_used():
    """A chain lies down there: its cubes are larger than standing side by side would make them."""
    wide, upright = (layout_for(*network(3, 16, 16, 3), size) for size in (SIZE, (720, 1280)))
    assert abs(wide.plate("0.weight").axes[2][2]) < 0.5 < upright.plate("0.weight").axes[2][2]
    assert upright.pixels_per_cube() > wide.pixels_per_cube()


def test_a_small_chain_lies_down_with_cubes_large_enough_for_a_number():
    layout = layout_for(*network(2, 2, 1), SIZE)
    assert layout.pixels_per_cube() > 80
    assert len(layout.trays) == 4, "weights and biases; activations have none"
    np.testing.assert_array_equal(layout.trays[:, :, 2], 0)


@pytest.mark.parametrize("widths", [(3, *(4,) * 6, 3), (3, *(12,) * 4, 3), (3, 8, 8, 8, 3), (3, 500, 500, 3)])
def test_no_plate_of_a_chain_is_hidden(widths):
    layout = layout_for(*network(*widths), SIZE)
    stages = [plate for plate in layout.plates if plate.name != "input"]
    pixels = [layout.camera.project(plate.corners) for plate in stages]
    spans = [(p.min(axis=0), p.max(axis=0)) for p in pixels]
    for (a, first), (b, second) in combinations(zip(stages, spans, strict=True), 2):
        if a.kind == b.kind == "weight":
            clear = (first[1] <= second[0]) | (second[1] <= first[0])
            assert clear.any(), (a.name, b.name)


@pytest.mark.parametrize("widths", [(3, *(4,) * 6, 3), (3, *(12,) * 4, 3), (3, 8, 8, 8, 3), (3, 500, 500, 3)])
def test_every_plate_of_a_chain_has_its_name_shape_and_range(widths):
    tensors, stages = network(*widths)
    layout = layout_for(tensors, stages, SIZE)
    shapes = {t.name: t.shape for t in tensors if t.role == "weight"}
    x0, y0, x1, y1 = layout.rect
    box = (x0, y0, x1 - x0, y1 - y0)
    labels = FlowLabels(layout, shapes, {}, layout.camera.project, box)
    assert [label.name for label in labels.plates] == list(shapes)
    assert len(labels.ranges(dict.fromkeys(shapes, 0.5), DARK).texts) == len(shapes)
    assert all(label.ranged for label in labels.plates)


def test_a_range_gives_way_before_a_name():
    tensors, stages = network(3, *(12,) * 4, 3)
    layout = layout_for(tensors, stages, (480, 360))
    shapes = {t.name: t.shape for t in tensors if t.role == "weight"}
    x0, y0, x1, y1 = layout.rect
    labels = FlowLabels(layout, shapes, {}, layout.camera.project, (x0, y0, x1 - x0, y1 - y0))
    assert [label.name for label in labels.plates] == list(shapes)
    assert not all(label.ranged for label in labels.plates)
    shown = labels.ranges(dict.fromkeys(shapes, 0.5), DARK).texts
    assert sum("\N{PLUS-MINUS SIGN}" in str(text) for text in shown) == sum(label.ranged for label in labels.plates)


def test_what_is_made_of_the_sample_before_any_weight_enters_the_first_plate():
    tensors, stages = network(12, 64, 64, 3)
    waves = Stage("waves", "waves", 12, input_shape=(2,), shape=(12,))
    plain, made = layout_for(tensors, stages, (1280, 720)), layout_for(tensors, [waves, *stages], (1280, 720))
    assert made.mode == plain.mode != "few"
    with pytest.raises(UnknownNameError):
        made.plate("input")
    assert [plate.name for plate in made.plates] == [p.name if p.name != "input" else "waves" for p in plain.plates]
    for ours, theirs in zip(made.plates, plain.plates, strict=True):
        np.testing.assert_array_equal(ours.corners, theirs.corners)
