"""What a cube says besides its value: each mark is a shape of its own, large, small, and smaller than a pixel."""

from itertools import combinations

import numpy as np
import pytest

from kit.plates import arrays, chain
from scalarviz.view.cubes.atlas import DEAD, FROZEN, NAN, NEG_INF, NOT_COMPUTED, POS_INF
from scalarviz.view.cubes.slab import SlabVisual
from scalarviz.view.ink.maps import get_map
from scalarviz.view.ink.theme import get_theme, rgb
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.space.layout import layout_for

pytestmark = pytest.mark.gl

MARKS = ("plain", "nan", "+inf", "-inf", "clipped +", "clipped -", "frozen", "not computed")
VALUES = [0.5, np.nan, np.inf, -np.inf, 3.0, -3.0, 0.5, 0.5]


def one_layer(theme="dark"):
    return build(layout_for(*chain(3, 3), (1280, 720)), theme)


def grid(rows, cols, size, theme="dark"):
    return build(layout_for(*arrays((rows, cols)), size), theme)


def build(layout, theme):
    with offscreen():
        return layout, SlabVisual(layout, theme)


def paint(layout, visual, supersample=1):
    return offscreen().render(lambda box: visual.draw(layout.camera, box), layout.size, supersample=supersample)


def show(visual, index_of, count, value=0.5):
    """All marks at once; `index_of` says which element carries which."""
    flat = np.full(count, value)
    frozen, missing = np.zeros(count, bool), np.zeros(count, bool)
    for mark, number in zip(MARKS, VALUES, strict=True):
        flat[index_of[mark]] = number
        frozen[index_of[mark]] = mark == "frozen"
        missing[index_of[mark]] = mark == "not computed"
    visual.set_flat(flat)
    visual.set_range(1.0)
    visual.set_flags(frozen=frozen, not_computed=missing)


def face(layout, image, plate, i, j, points=41):
    """A main face as it is seen, resampled to a square (points, points, 3): across and down."""
    at = np.linspace(-0.98, 0.98, points) * plate.half
    u, v = plate.axes[:2]
    if abs(u[2]) > 0.5:
        u, v = v, u
    places = plate.cell_centre_top(i, j) + at[None, :, None] * u + at[:, None, None] * v
    x, y = layout.camera.project(places.reshape(-1, 3)).T.astype(int)
    return image[y, x].reshape(points, points, 3).astype(float)


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("large", [True, False])
def test_each_mark_has_a_shape_of_its_own_even_in_grey(large, theme):
    if large:
        layout, visual = one_layer(theme)
        count, plate = 12, layout.plates[0]
        places = {mark: divmod(k, 3) for k, mark in enumerate(MARKS)}
        index = {mark: k for k, mark in enumerate(MARKS)}
    else:  # cubes of about 22 px
        layout, visual = grid(16, 20, (1280, 720), theme)
        count, plate = 320, layout.plates[0]
        assert 15 < layout.pixels_per_cube() < 30
        places = {mark: (2 + k, 3 + k) for k, mark in enumerate(MARKS)}
        index = {mark: i * 20 + j for mark, (i, j) in places.items()}
    show(visual, index, count)
    visual.set_colours(get_map("grey"))
    image = paint(layout, visual, supersample=2)
    faces = {mark: face(layout, image, plate, *places[mark]) for mark in MARKS}
    for a, b in combinations(MARKS, 2):
        if {a, b} <= {"+inf", "-inf", "clipped +", "clipped -"}:
            shape_a, shape_b = (f - np.median(f) for f in (faces[a], faces[b]))  # not their colour: their shape
        else:
            shape_a, shape_b = faces[a], faces[b]
        assert (np.abs(shape_a - shape_b).max(axis=2) > 40).mean() > 0.025, f"{a} looks like {b}"


def test_the_centre_keeps_the_values_colour_where_there_is_one():
    layout, visual = one_layer()
    show(visual, {mark: k for k, mark in enumerate(MARKS)}, 12)
    image, colours = paint(layout, visual), get_map("weight")
    expected = {"plain": 0.5, "+inf": 1.0, "-inf": -1.0, "clipped +": 1.0, "clipped -": -1.0, "frozen": 0.5}
    for k, mark in enumerate(MARKS):
        if mark in expected:
            x, y = layout.camera.project(layout.plates[0].cell_centre_top(*divmod(k, 3)))[0].astype(int)
            assert np.abs(image[y, x] - np.rint(255 * colours(expected[mark]))).max() <= 1, mark


def test_nan_is_half_ink_half_paper_and_never_a_colour_and_frozen_weights_have_bolts_in_the_corners():
    layout, visual = one_layer()
    show(visual, {mark: k for k, mark in enumerate(MARKS)}, 12)
    image = paint(layout, visual, 2)
    nan = face(layout, image, layout.plates[0], 0, 1)[3:-3, 3:-3]
    assert (nan.max(axis=2) - nan.min(axis=2)).max() < 12, "no hue"
    light = nan.mean(axis=2) > 128
    assert 0.4 < light.mean() < 0.6
    assert (light[:, 1:] != light[:, :-1]).sum(axis=1).min() >= 3, "four fields in every row"
    square = face(layout, image, layout.plates[0], 2, 0)
    bolts = np.abs(square - 255 * np.array(rgb(get_theme("dark").paper))).max(axis=2) < 30
    corners = [bolts[rows, cols].sum() for rows in (slice(13), slice(28, 41)) for cols in (slice(13), slice(28, 41))]
    assert min(corners) >= 4
    assert not bolts[13:28, 13:28].any()


def test_clipped_starts_beyond_the_range_and_stands_at_the_far_edge_for_plus():
    layout, visual = one_layer()
    plate = layout.plates[0]
    visual.set_range(1.0)
    for value, far, near in ((1.0, False, False), (-1.0, False, False), (1.01, True, False), (-1.01, False, True)):
        visual.set_flat(np.full(12, value))
        square = face(layout, paint(layout, visual, 2), plate, 1, 1)
        plain = np.rint(255 * get_map("weight")(np.sign(value)))
        marked = (np.abs(square - plain).max(axis=2) > 60).mean(axis=1)
        assert (bool(marked[3:7].max() > 0.5), bool(marked[-7:-3].max() > 0.5)) == (far, near), value


def test_a_gradient_of_zero_is_not_one_that_has_not_been_computed():
    layout, visual = one_layer()
    visual.set_flat(np.zeros(12))
    visual.set_flags(not_computed=np.arange(12) == 4)
    image = paint(layout, visual, 2)
    zero, missing = (face(layout, image, layout.plates[0], *cell) for cell in ((1, 0), (1, 1)))
    assert np.ptp(zero[6:-6, 6:-6], axis=(0, 1)).max() <= 2, "zero is a plain face"
    assert np.ptp(missing[6:-6, 6:-6], axis=(0, 1)).max() > 40, "hatched"


def test_dead_units_are_hollow_and_crossed():
    layout, visual = build(layout_for(*chain(3, 16, 16, 3, kind="relu"), (1280, 720)), "dark")
    row = layout.activation("1")
    visual.set_activations({"1": np.zeros(16), "not drawn": np.ones(3)})
    before = paint(layout, visual)
    visual.set_flags(dead={"1": np.arange(16) % 4 == 0})
    assert set(np.unique(visual.atlas.flags)) == {0, DEAD}
    after = paint(layout, visual)
    changed = [np.abs(face(layout, after, row, i, 0) - face(layout, before, row, i, 0)).max() > 40 for i in range(16)]
    assert changed == [i % 4 == 0 for i in range(16)]


def test_marks_go_when_their_cause_goes():
    layout, visual = one_layer()
    plain = np.linspace(-0.9, 0.9, 12)
    visual.set_flat(plain)
    before = paint(layout, visual)
    show(visual, {mark: k for k, mark in enumerate(MARKS)}, 12)
    assert set(np.unique(visual.atlas.flags)) == {0, NAN, POS_INF, NEG_INF, FROZEN, NOT_COMPUTED}
    assert (paint(layout, visual) != before).any()
    visual.set_flat(plain.astype(np.float32))
    visual.set_flags()
    assert not visual.atlas.flags.any()
    np.testing.assert_array_equal(paint(layout, visual), before)


@pytest.mark.parametrize(("side", "size"), [(100, (1280, 720)), (600, (640, 360))])
def test_one_nan_and_one_infinity_among_many_are_seen(side, size):
    """Cells of about 4 px, and cubes of half a pixel."""
    layout, visual = grid(side, side, size)
    values = np.full((side, side), 0.1, np.float32)
    visual.set_range(1.0)
    visual.set_flat(values.ravel())
    before = paint(layout, visual)
    for bad, middle in (
        (np.nan, (side // 2, side // 3)),
        (np.inf, (side // 3, side // 2)),
        (-np.inf, (side // 4,) * 2),
    ):
        changed = values.copy()
        changed[middle[0] : middle[0] + 3, middle[1] : middle[1] + 3] = bad
        visual.set_flat(changed.ravel())
        difference = np.abs(paint(layout, visual).astype(int) - before).max(axis=2) > 60
        assert difference.any(), bad
        found = np.argwhere(difference).mean(0)[::-1]
        there = layout.camera.project(layout.plates[0].cell_centre_top(middle[0] + 1, middle[1] + 1))[0]
        assert np.linalg.norm(found - there) < 8


def test_uncomputed_gradients_of_a_big_plate_are_a_pattern_not_a_colour():
    layout, visual = grid(600, 600, (640, 360))
    missing = np.zeros((600, 600), bool)
    missing[:, 300:] = True
    visual.set_flat(np.zeros(360_000))
    visual.set_flags(not_computed=missing)
    image = paint(layout, visual).astype(int)
    plate = layout.plates[0]
    spread = []
    for column in (150, 450):
        x, y = layout.camera.project(plate.cell_centre_top(300, column))[0].astype(int)
        spread.append(np.ptp(image[y - 10 : y + 10, x - 10 : x + 10], axis=(0, 1)).max())
    assert spread[0] <= 2
    assert spread[1] > 30
