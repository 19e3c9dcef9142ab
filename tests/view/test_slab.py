"""The cubes against an independent picture: a ray against every single box, in NumPy."""

from functools import cache

import numpy as np
import pytest

from kit.plates import arrays, chain
from scalarviz.errors import InputError
from scalarviz.run.questions.ranges import Range
from scalarviz.view.cubes.slab import SlabVisual
from scalarviz.view.ink.maps import get_map
from scalarviz.view.ink.theme import get_theme, rgb
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.space.layout import layout_for

pytestmark = pytest.mark.gl

SIZE = (1280, 720)


@cache
def scene(kind, theme="dark"):
    nets = {"few": (3, 3), "chain": (2, 3, 1), "mlp": (3, 16, 16, 3)}
    tensors, stages = chain(*nets[kind]) if kind in nets else arrays((6, 5, 3, 3), (37,), (9, 11))
    layout = layout_for(tensors, stages, SIZE)
    with offscreen():
        visual = SlabVisual(layout, theme)
    size = tensors[-1].start + tensors[-1].size
    return layout, visual, tensors, np.random.default_rng(5).normal(0, 0.5, size)


def paint(layout, visual, supersample=1, background=(0.0, 0.0, 0.0)):
    return offscreen().render(
        lambda box: visual.draw(layout.camera, box), layout.size, supersample=supersample, background=background
    )


def reset(visual, flat, v=1.0):
    visual.set_flat(flat)
    visual.set_flags()
    visual.set_range(v)
    rows = {p.name: np.linspace(0, 1, p.size) for p in visual.layout.plates if p.kind == "activation"}
    visual.set_activations(rows)
    visual.set_colours(get_map("weight", visual.theme), get_map("activation", visual.theme))
    return rows


def cells_of(layout):
    return [(plate, i, j) for plate in layout.plates for i, j in np.ndindex(plate.shape)]


def hits(layout, pixels):
    """For each pixel (N, 2): the cube that a ray through it meets first, and whether on its main face (else None)."""
    inverse = np.linalg.inv(layout.camera.matrix)
    ndc = np.stack([2 * pixels[:, 0] / SIZE[0] - 1, 1 - 2 * pixels[:, 1] / SIZE[1]], axis=1)
    ends = []
    for z in (-1.0, 1.0):
        point = np.column_stack([ndc, np.full(len(ndc), z), np.ones(len(ndc))]) @ inverse.T
        ends.append(point[:, :3] / point[:, 3:])
    start, ray = ends[0], ends[1] - ends[0]
    best = np.full(len(pixels), np.inf)
    found = [None] * len(pixels)
    for plate, i, j in cells_of(layout):
        p = (start - plate.cell_centre(i, j)) @ plate.axes.T
        d = ray @ plate.axes.T
        d = np.where(np.abs(d) < 1e-12, 1e-12, d)
        half = np.array([plate.half, plate.half, plate.depth])
        enter, leave = -half * np.sign(d), half * np.sign(d)
        t = (enter - p) / d
        t_in, t_out = t.max(1), ((leave - p) / d).min(1)
        for k in np.flatnonzero((t_in <= t_out) & (t_in < best)):
            best[k] = t_in[k]
            place = (p[k] + d[k] * t_in[k]) / half
            axis = int(t[k].argmax())
            margin = np.sort(np.abs(np.delete(place, axis)))[-1]
            found[k] = (plate, i, j, axis == 2, margin)
    return found


def legend(layout, plate, i, j, flat, tensors, rows, theme, v=1.0):
    if plate.kind == "activation":
        return get_map("activation", theme)(rows[plate.name].reshape(plate.shape)[i, j])
    tensor = next(t for t in tensors if t.name == plate.name)
    block = tensor.of(flat)
    if len(tensor.shape) == 4:
        block = block.transpose(0, 2, 1, 3)
    return get_map("weight", theme)(block.reshape(plate.shape)[i, j] / v)


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("kind", ["few", "chain", "mlp", "arrays"])
def test_the_centre_of_a_cubes_top_has_the_legends_colour(kind, theme):
    layout, visual, tensors, flat = scene(kind, theme)
    rows = reset(visual, flat)
    image = paint(layout, visual)
    cells = cells_of(layout)
    cells = [cells[k] for k in np.random.default_rng(0).permutation(len(cells))[:600]]
    pixels = layout.camera.project([p.cell_centre_top(i, j) for p, i, j in cells])
    checked = 0
    for (plate, i, j), (x, y), hit in zip(cells, pixels, hits(layout, pixels), strict=True):
        if hit is not None and hit[:3] == (plate, i, j) and hit[3]:  # else another cube stands in front
            expected = np.rint(255 * legend(layout, plate, i, j, flat, tensors, rows, theme))
            got = image[int(y), int(x)].astype(int)
            assert np.abs(got - expected).max() <= 1, f"{plate.name}[{i}][{j}] at {x:.1f}, {y:.1f}: {got}"
            checked += 1
    assert checked > 0.6 * len(cells)


@pytest.mark.parametrize("kind", ["few", "chain", "mlp"])
def test_every_pixel_shows_the_first_cube_on_its_ray(kind):
    layout, visual, tensors, flat = scene(kind)
    rows = reset(visual, flat, 3.0)  # nothing is clipped, so that faces are plain
    image = paint(layout, visual, background=(1.0, 0.0, 1.0)).astype(int)
    corners = layout.camera.project(np.concatenate([p.corners for p in layout.plates]))
    pixels = np.floor(np.random.default_rng(1).uniform(corners.min(0), corners.max(0), (1500, 2))) + 0.5
    tops = sides = 0
    for (x, y), hit in zip(pixels, hits(layout, pixels), strict=True):
        got = image[int(y), int(x)]
        if hit is None:  # background, tray or a line: nothing of a cube's colours
            continue
        plate, i, j, top, margin = hit
        if margin > 0.65:
            continue  # the rim
        full = 255 * legend(layout, plate, i, j, flat, tensors, rows, "dark", 3.0)
        if top:
            tops += 1
            assert np.abs(got - full).max() <= 1.01, f"{plate.name}[{i}][{j}] at {x}, {y}"
        else:
            sides += 1
            factor = got.sum() / full.sum()
            assert 0.54 * 0.72 - 0.03 < factor < 0.74 + 0.03, f"side of {plate.name}[{i}][{j}]: x{factor:.2f}"
    assert tops > 60
    assert sides > 30


@pytest.mark.parametrize("kind", ["few", "mlp"])
def test_where_no_cube_is_there_is_background(kind):
    layout, visual, _, flat = scene(kind)
    reset(visual, flat)
    image = paint(layout, visual, background=(1.0, 0.0, 1.0))
    assert (image[:60] == [255, 0, 255]).all()
    assert (image[:, 950:] == [255, 0, 255]).all()
    assert (image[570:] == [255, 0, 255]).all()
    if kind == "mlp":  # nothing but cubes and lines: magenta shines through between the plates
        assert (image[84:556, 120:830] == [255, 0, 255]).all(axis=2).mean() > 0.4


def test_new_values_change_the_picture_and_old_ones_bring_it_back():
    layout, visual, _, flat = scene("few")
    reset(visual, flat)
    before = paint(layout, visual)
    visual.set_flat(-flat)
    assert (paint(layout, visual) != before).any()
    visual.set_flat(flat)
    np.testing.assert_array_equal(paint(layout, visual), before)


@pytest.mark.parametrize("value", [-1.0, -0.1, -0.004, 0.0, 0.03, 0.1, 0.5])
def test_the_symmetric_log_scale_is_the_legends(value):
    layout, visual, _, flat = scene("few")
    reset(visual, np.full_like(flat, 3e-4 * value))
    chosen = Range.symmetric(3e-4, "symlog")
    visual.set_range(chosen)
    visual.set_colours(get_map("gradient"))
    x, y = layout.camera.project(layout.plate("0.weight").cell_centre_top(1, 1))[0]
    expected = np.rint(255 * get_map("gradient")(2 * chosen.unit(3e-4 * value) - 1))
    assert np.abs(paint(layout, visual)[int(y), int(x)] - expected).max() <= 1


def test_twice_the_size_is_the_same_picture():
    layout, visual, _, flat = scene("few")
    reset(visual, flat)
    once, twice = paint(layout, visual).astype(float), paint(layout, visual, supersample=2).astype(float)
    assert np.abs(once - twice).mean() < 1.0
    top = layout.camera.project(layout.plate("0.bias").cell_centre_top(0))[0].astype(int)
    np.testing.assert_array_equal(once[top[1], top[0]], twice[top[1], top[0]])


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_side_faces_are_darker_towards_the_foot_and_the_rim_is_darker_still(theme):
    layout, visual, _, flat = scene("few", theme)
    reset(visual, np.full_like(flat, 0.5))
    image = paint(layout, visual).astype(float)
    plate, shading = layout.plate("0.weight"), get_theme(theme).shading
    front = plate.cell_centre(2, 1) + plate.half * plate.axes[1]
    colour = 255 * get_map("weight", theme)(0.5)
    got = []
    for height in (0.8, 0.0, -0.8):
        x, y = layout.camera.project(front + height * plate.depth * plate.axes[2])[0].astype(int)
        foot = shading.foot + (1 - shading.foot) * (height + 1) / 2
        np.testing.assert_allclose(image[y, x], colour * shading.side_front * foot, atol=3)
        got.append(image[y, x].sum())
    assert got[0] > got[1] > got[2]
    rim = plate.cell_centre_top(2, 1) + 0.975 * plate.half * plate.axes[1]
    x, y = layout.camera.project(rim)[0].astype(int)
    np.testing.assert_allclose(image[y, x], colour * shading.rim_top, atol=4)


def test_what_does_not_fit_is_refused():
    _, visual, _, flat = scene("few")
    with pytest.raises(InputError, match="11 values"):
        visual.set_flat(flat[:11])
    with pytest.raises(InputError, match="flags"):
        visual.set_flags(frozen=np.zeros(3, bool))
    for v in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(InputError, match="range"):
            visual.set_range(v)


def test_values_beyond_float32_are_clipped_not_infinite():
    layout, visual, _, flat = scene("few")
    huge = np.full_like(flat, 1e300)
    reset(visual, huge)
    assert not visual.atlas.flags.any()
    x, y = layout.camera.project(layout.plate("0.weight").cell_centre_top(1, 1))[0].astype(int)
    assert np.abs(paint(layout, visual)[y, x] - np.rint(255 * np.array(rgb(get_theme("dark").weight[-1])))).max() <= 1
