"""Where the plates of chains and of named arrays stand, and how the elements of a tensor lie on cells."""

from itertools import combinations, pairwise
from math import prod

import numpy as np
import pytest

from kit.plates import arrays, chain
from scalarviz.errors import InputError, UnknownNameError
from scalarviz.run.core.frame import Stage, Tensor
from scalarviz.view.ink.theme import DARK
from scalarviz.view.notes.labels import FlowLabels
from scalarviz.view.space.layout import layout_for, scene_rect
from scalarviz.view.space.plate import grid_for

SIZE = (1280, 720)
LONG = [(3, *(4,) * 6, 3), (3, *(12,) * 4, 3), (3, 8, 8, 8, 3), (3, 500, 500, 3)]
NETS = [(1, 1), (3, 3), (5, 8), (2, 2, 1), (2, 8, 8, 1), (3, 16, 16, 3), (12, 64, 64, 64, 64, 3), (784, 30, 10),
        (4,) * 9, *LONG]  # fmt: skip


def seen(layout):
    return layout.camera.project(np.concatenate([p.corners for p in layout.plates]))


@pytest.mark.parametrize("widths", NETS)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("size", [SIZE, (720, 1280), (160, 90), (40, 30), (2560, 1080)])
def test_every_tensor_has_a_plate_inside_the_scene(widths, bias, size):
    tensors, stages = chain(*widths, bias=bias)
    layout = layout_for(tensors, stages, size)
    drawn = {p.name: (p.start, p.size, p.shape) for p in layout.plates if p.kind != "activation"}
    assert drawn == {t.name: (t.start, t.size, t.shape if len(t.shape) == 2 else (t.size, 1)) for t in tensors}
    x0, y0, x1, y1 = layout.rect
    assert (seen(layout) >= [x0 - 1e-6, y0 - 1e-6]).all()
    assert (seen(layout) <= [x1 + 1e-6, y1 + 10]).all()  # a stack may reach the room above the legend


@pytest.mark.parametrize("parts", [chain(*w) for w in NETS] + [arrays((9, 9, 3, 3), (20, 40), (7,), (), (900,))])
def test_no_two_plates_share_space_and_every_main_face_looks_at_the_eye(parts):
    layout = layout_for(*parts, SIZE)
    for a, b in combinations(layout.plates, 2):
        assert np.maximum(a.bounds[0] - b.bounds[1], b.bounds[0] - a.bounds[1]).max() > -1e-9, f"{a.name}, {b.name}"
    for plate in layout.plates:
        for cell in ((0, 0), (plate.shape[0] - 1, plate.shape[1] - 1)):
            corners = plate.cell_corners(*cell)
            assert (corners >= plate.bounds[0] - 1e-9).all()
            assert (corners <= plate.bounds[1] + 1e-9).all()
            np.testing.assert_allclose(corners[4:].mean(0), plate.cell_centre_top(*cell))
        assert plate.axes[2] @ layout.camera.towards_eye(plate.cell_centre_top(0)) > 0
        np.testing.assert_allclose(plate.axes @ plate.axes.T, np.eye(3) * plate.pitch**2, atol=1e-12)


@pytest.mark.parametrize(
    ("parts", "mode"),
    [(chain(3, 3), "few"), (chain(7, 8), "few"), (chain(8, 8), "big"), (chain(3, 16, 16, 3), "mlp"),
     (chain(12, 64, 64, 64, 64, 3), "big"), (chain(40, 40), "big"), (arrays((2, 2), (3,), ()), "few"),
     (arrays((64, 64)), "big")],
)  # fmt: skip
def test_the_modes_are_the_mock_ups(parts, mode):
    assert layout_for(*parts, SIZE).mode == mode


MOCK_UPS = {
    (3, 3): {("0.weight", 0, 0): (156, 211), ("0.weight", 0, 2): (411, 180), ("0.weight", 2, 2): (454, 371),
             ("0.bias", 0): (570, 160), ("0.bias", 2): (625, 348)},
    (3, 16, 16, 3): {("0.weight", 0, 0): (173, 222), ("0.bias", 15): (217, 493), ("2.weight", 0, 0): (326, 215),
                     ("2.weight", 15, 15): (508, 523), ("4.weight", 0, 0): (534, 203), ("4.weight", 2, 15): (725, 285)},
}  # fmt: skip


@pytest.mark.parametrize("widths", MOCK_UPS)
def test_they_stand_where_the_mock_ups_have_them_and_are_the_largest_thing(widths):
    layout = layout_for(*chain(*widths), SIZE)
    for (name, *cell), pixel in MOCK_UPS[widths].items():
        got = layout.camera.project(layout.plate(name).cell_centre_top(*cell))[0]
        np.testing.assert_allclose(got, pixel, atol=12 if widths == (3, 3) else 18)
    for others in (widths, (12, 64, 64, 64, 64, 3)):
        assert np.prod(np.ptp(seen(layout_for(*chain(*others), SIZE)), axis=0)) > 0.24 * SIZE[0] * SIZE[1]


@pytest.mark.parametrize("widths", [(3, 16, 16, 3), (2, 3, 3, 1)])
def test_each_output_axis_is_the_next_plates_input_axis_and_bias_and_row_stand_at_it(widths):
    layout = layout_for(*chain(*widths), SIZE)
    plates = [p for p in layout.plates if p.kind == "weight"]
    for k, (here, there) in enumerate(pairwise(plates)):
        np.testing.assert_array_equal(here.axes[1], there.axes[0])
        row = layout.activation(f"{2 * k + 1}")
        for unit in range(widths[k + 1]):
            level = there.axes[0] @ (row.cell_centre(unit) - there.cell_centre(0, unit))
            assert abs(level) < 5
            assert level == pytest.approx(there.axes[0] @ (row.origin - there.origin))
    for k, weight in enumerate(plates):
        offset = layout.plate(f"{2 * k}.bias").centres - weight.centres[:: weight.shape[1]]
        assert offset @ weight.axes[1] == pytest.approx(0), "bias[i] is on the row of weight[i]"
        assert offset @ weight.axes[2] == pytest.approx(0), "and in the plane of the plate"
    assert sorted(p.size for p in layout.plates if p.kind == "activation") == sorted(widths)
    assert layout.activation("0") is None, "sums are not drawn where their activation is"


@pytest.mark.parametrize(
    "shape", [(), (1,), (7,), (500,), (1, 1), (3, 4), (1000, 2), (2, 1000), (4, 3, 5), (5, 3, 3, 3), (2, 2, 2, 3, 3)]
)
def test_every_element_has_a_cell_of_its_own_which_strides_address(shape):
    """By logical index, by number and by the shader's formula, against NumPy's own order of the elements."""
    grid, (period_row, period_col) = grid_for(shape), grid_for(shape).period
    size, s = prod(shape), grid.strides
    numbers = np.arange(size)
    if len(shape) > 2:
        kh, kw = 1 if len(shape) == 3 else shape[-2], shape[-1]
        inputs = shape[1] if len(shape) == 3 else shape[-3]
        numbers = numbers.reshape(-1, inputs, kh, kw).transpose(0, 2, 1, 3)
    numbers = numbers.reshape(grid.shape)
    cells = {grid.cell(i, j): numbers[i, j] for i in range(grid.shape[0]) for j in range(grid.shape[1])}
    assert len(cells) == size
    assert max(grid.cells) <= max(64 * min(grid.cells), 8)
    for (row, col), number in cells.items():
        assert 0 <= row < grid.cells[0]
        assert 0 <= col < grid.cells[1]
        assert row // period_row * s[0] + row % period_row * s[1] + col // period_col * s[2] + col % period_col * s[3] \
            == number  # fmt: skip
    assert list(zip(*(part.tolist() for part in grid.places(np.arange(size))), strict=True)) == sorted(
        cells, key=lambda cell: cells[cell]
    )


def test_arrays_that_no_stage_accounts_for_are_still_drawn():
    tensors, stages = chain(3, 4, 2)
    extra = Tensor("scale", (5, 5), sum(t.size for t in tensors))
    layout = layout_for([*tensors, extra], stages, SIZE)
    assert {p.name for p in layout.plates if p.kind != "activation"} == {t.name for t in tensors} | {"scale"}
    assert {p.name for p in layout.plates if p.kind == "activation"} == {"input", *(s.name for s in stages)}


def test_an_empty_tensor_is_left_out_and_nothing_at_all_or_no_such_plate_is_an_error():
    layout = layout_for(*arrays((0, 3), (2, 2)), SIZE)
    assert [p.name for p in layout.plates] == ["t1"]
    for nothing in ([], [Tensor("w", (0,), 0)]):
        with pytest.raises(InputError, match="no weights"):
            layout_for(nothing, [], SIZE)
    with pytest.raises(UnknownNameError, match=r"'9.weight'.*t1"):
        layout.plate("9.weight")
    with pytest.raises(InputError, match="outside"):
        layout.plate("t1").cell_centre(3, 0)


def test_the_scene_takes_extra_room():
    assert scene_rect(SIZE) == (0.0, 84.0, 936.0, 556.0)
    assert scene_rect((1920, 1080)) == (0.0, 84.0, 1576.0, 916.0)
    assert scene_rect((640, 360)) == (0.0, 42.0, 468.0, 278.0)
    assert scene_rect((720, 1280))[2] == 720.0


def test_a_chain_lies_down_where_its_cubes_are_larger_so():
    wide, upright = (layout_for(*chain(3, 16, 16, 3), size) for size in (SIZE, (720, 1280)))
    assert abs(wide.plate("0.weight").axes[2][2]) < 0.5 < upright.plate("0.weight").axes[2][2]
    assert upright.pixels_per_cube() > wide.pixels_per_cube()
    small = layout_for(*chain(2, 2, 1), SIZE)
    assert small.pixels_per_cube() > 80, "large enough for a number"
    assert len(small.trays) == 4, "weights and biases; activations have none"
    np.testing.assert_array_equal(small.trays[:, :, 2], 0)


@pytest.mark.parametrize("widths", LONG)
def test_no_plate_of_a_chain_is_hidden_and_each_has_its_name_shape_and_range(widths):
    tensors, stages = chain(*widths)
    layout = layout_for(tensors, stages, SIZE)
    spans = {p.name: layout.camera.project(p.corners) for p in layout.plates if p.kind == "weight"}
    for (a, first), (b, second) in combinations(spans.items(), 2):
        clear = (first.max(axis=0) <= second.min(axis=0)) | (second.max(axis=0) <= first.min(axis=0))
        assert clear.any(), (a, b)
    for size in (SIZE, (480, 360)) if widths == LONG[1] else (SIZE,):
        layout = layout_for(tensors, stages, size)
        x0, y0, x1, y1 = layout.rect
        shapes = {name: layout.plate(name).shape for name in spans}
        labels = FlowLabels(layout, shapes, {}, layout.camera.project, (x0, y0, x1 - x0, y1 - y0))
        assert [label.name for label in labels.plates] == list(shapes)
        ranged = [label.ranged for label in labels.plates]
        assert all(ranged) == (size == SIZE), "a range gives way before a name"
        shown = labels.ranges(dict.fromkeys(shapes, 0.5), DARK).texts
        assert sum("\N{PLUS-MINUS SIGN}" in item.text for item in shown) == sum(ranged)


def test_what_is_made_of_the_sample_before_any_weight_enters_the_first_plate():
    tensors, stages = chain(12, 64, 64, 3)
    waves = Stage("waves", "waves", 12, input_shape=(2,), shape=(12,))
    plain, made = layout_for(tensors, stages, SIZE), layout_for(tensors, [waves, *stages], SIZE)
    assert made.mode == plain.mode != "few"
    assert [plate.name for plate in made.plates] == [p.name if p.name != "input" else "waves" for p in plain.plates]
    for ours, theirs in zip(made.plates, plain.plates, strict=True):
        np.testing.assert_array_equal(ours.corners, theirs.corners)
