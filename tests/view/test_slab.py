"""Cubes in pixels against rays through single boxes, areas, marks and means of blocks; what is picked against both."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from vispy import gloo

from kit.benches import again, bench_of, rgb
from kit.plates import arrays, chain, whole
from kit.refusals import refusals
from scalarviz.errors import InputError, TypeMismatchError
from scalarviz.run.questions.ranges import Range
from scalarviz.view.cubes import slab
from scalarviz.view.cubes.atlas import ALL_ALIKE, DEAD, Sizing
from scalarviz.view.cubes.picking import Picker, seen_outline
from scalarviz.view.cubes.slab import SlabVisual, cells_per_pixel, fragment, variant_for
from scalarviz.view.ink.theme import get_map, get_theme
from scalarviz.view.ink.theme import rgb as colour
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.render import render
from scalarviz.view.screen.strip import bar_pixels
from scalarviz.view.space.camera import Pose, camera_of, fit, pose_of
from scalarviz.view.space.layout import layout_for

pytestmark = pytest.mark.gl
SIZE = (1280, 720)
SMALL = (480, 320)
ROWS = 1 << 22
"""Numbers of the cubes of activation rows start here."""
LAYOUTS = {
    "one cube": arrays((1, 1)), "a layer": chain(3, 3), "a chain": chain(3, 16, 16, 3), "a stack": chain(12, 64, 64, 3),
    "folded": arrays((1, 300), (100,)), "tiles": arrays((5, 3, 3, 3), (4, 2, 5)),
    "unequal": arrays((1,), (10,), (40, 3), (1, 6400)),
}  # fmt: skip
SIZED = {"alike": ALL_ALIKE, "sized": Sizing(True), "hidden": Sizing(False, 0.3997), "both": Sizing(True, 0.5997)}


def slab_of(layout, theme="dark"):
    with offscreen():
        return layout, SlabVisual(layout, theme)


def paint(layout, visual, camera=None, background=(0.0, 0.0, 0.0), **options):
    def draw(box):
        gloo.clear(color=(*background, 1.0), depth=False)
        visual.draw(camera or layout.camera, box)

    return offscreen().render(draw, layout.size, **options).astype(float)


def pixel(image, camera, place):
    x, y = camera.project(place)[0].astype(int)
    return image[y, x]


def hits(layout, pixels):
    """For each pixel (N, 2): plate, row, column, whether on the main face, distance from its middle; None for none."""
    inverse = np.linalg.inv(layout.camera.matrix)
    ndc = np.stack([2 * pixels[:, 0] / SIZE[0] - 1, 1 - 2 * pixels[:, 1] / SIZE[1]], axis=1)
    ends = []
    for z in (-1.0, 1.0):
        point = np.column_stack([ndc, np.full(len(ndc), z), np.ones(len(ndc))]) @ inverse.T
        ends.append(point[:, :3] / point[:, 3:])
    start, ray = ends[0], ends[1] - ends[0]
    best, found = np.full(len(pixels), np.inf), [None] * len(pixels)
    for plate in layout.plates:
        for i, j in np.ndindex(plate.shape):
            p, d = (start - plate.cell_centre(i, j)) @ plate.axes.T, ray @ plate.axes.T
            d = np.where(np.abs(d) < 1e-12, 1e-12, d)
            half = np.array([plate.half, plate.half, plate.depth])
            t = (-half * np.sign(d) - p) / d
            t_in, t_out = t.max(1), ((half * np.sign(d) - p) / d).min(1)
            for k in np.flatnonzero((t_in <= t_out) & (t_in < best)):
                axis, place = int(t[k].argmax()), (p[k] + d[k] * t_in[k]) / half
                best[k], found[k] = t_in[k], (plate, i, j, axis == 2, np.abs(np.delete(place, axis)).max())
    return found


def legend(plate, i, j, flat, tensors, rows, theme, v):
    if plate.kind == "activation":
        return get_map("activation", theme)(rows[plate.name].reshape(plate.shape)[i, j])
    tensor = next(t for t in tensors if t.name == plate.name)
    block = tensor.of(flat)
    if len(tensor.shape) == 4:
        block = block.transpose(0, 2, 1, 3)
    return get_map("weight", theme)(block.reshape(plate.shape)[i, j] / v)


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("kind", ["a layer", "a chain", "tiles"])
def test_every_pixel_shows_the_first_cube_on_its_ray_in_the_legends_colour(kind, theme):
    (layout, visual), (tensors, _) = slab_of(layout_for(*LAYOUTS[kind], SIZE), theme), LAYOUTS[kind]
    flat = np.random.default_rng(5).normal(0, 0.5, tensors[-1].start + tensors[-1].size)
    rows = {p.name: np.linspace(0, 1, p.size) for p in layout.plates if p.kind == "activation"}
    visual.atlas.set_flat(flat)
    visual.set_range(3.0)  # nothing is clipped, so that faces are plain
    visual.set_activations(rows)
    visual.set_colours(get_map("weight", theme), get_map("activation", theme))
    shading = get_theme(theme).shading
    image = paint(layout, visual, background=(1.0, 0.0, 1.0))
    corners, rng = layout.camera.project(np.concatenate([p.corners for p in layout.plates])), np.random.default_rng(1)
    tops = layout.camera.project([p.tops[p.grid.element(i, j)] for p in layout.plates for i, j in np.ndindex(p.shape)])
    anywhere = np.floor(rng.uniform(corners.min(0), corners.max(0), (1200, 2))) + 0.5
    pixels = np.concatenate([rng.permutation(tops)[:300], anywhere])
    seen, empty = {True: 0, False: 0}, []
    for (x, y), hit in zip(pixels, hits(layout, pixels), strict=True):
        got = image[int(y), int(x)]
        if hit is None:  # background, tray or a line
            empty.append((got == [255, 0, 255]).all())
        elif hit[4] < 0.65:  # not on the rim
            full = 255 * legend(*hit[:3], flat, tensors, rows, theme, 3.0)
            seen[hit[3]] += 1
            if hit[3]:
                assert np.abs(got - full).max() <= 1.01, f"{hit[0].name}[{hit[1]}][{hit[2]}] at {x}, {y}"
            else:
                least = min(shading.rim_side, shading.side_other) * shading.foot
                assert least - 0.03 < got.sum() / full.sum() < shading.side_front + 0.03
    assert seen[True] > 100
    assert seen[False] > 30 or kind == "tiles"
    assert np.mean(empty) > 0.4 or kind == "a layer"  # these have trays
    for outside in (image[:60], image[:, 950:], image[570:]):
        assert (outside == [255, 0, 255]).all()


MARKS = {
    "plain": 0.5, "nan": np.nan, "+inf": np.inf, "-inf": -np.inf, "clipped +": 3.0, "clipped -": -3.0, "frozen": 0.5,
    "not computed": 0.5,
}  # fmt: skip


def marked(visual, elements):
    """All marks at once, on these elements."""
    count = visual.atlas.parameters
    flat, frozen, missing = np.full(count, 0.5), np.zeros(count, bool), np.zeros(count, bool)
    for element, (mark, number) in zip(elements, MARKS.items(), strict=True):
        flat[element], frozen[element], missing[element] = number, mark == "frozen", mark == "not computed"
    visual.atlas.set_flat(flat)
    visual.set_range(1.0)
    visual.set_flags(frozen=frozen, not_computed=missing)


def face(layout, image, plate, i, j, points=41):
    """A main face as it is seen, resampled to a square (points, points, 3): across and down."""
    at = np.linspace(-0.98, 0.98, points) * plate.half
    u, v = plate.axes[:2] if abs(plate.axes[0, 2]) <= 0.5 else plate.axes[1::-1]
    places = plate.tops[plate.grid.element(i, j)] + at[None, :, None] * u + at[:, None, None] * v
    x, y = layout.camera.project(places.reshape(-1, 3)).T.astype(int)
    return image[y, x].reshape(points, points, 3)


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("parts", [chain(3, 3), arrays((16, 20))], ids=["large", "22 pixels"])
def test_each_mark_has_a_shape_of_its_own_even_in_grey(parts, theme):
    layout, visual = slab_of(layout_for(*parts, SIZE), theme)
    plate = layout.plates[0]
    cells = [divmod(k, 3) if plate.size == 9 else (2 + k, 3 + k) for k in range(len(MARKS))]
    marked(visual, [i * plate.shape[1] + j for i, j in cells])
    visual.set_colours(get_map("grey"))
    image = paint(layout, visual, supersample=2)
    faces = {mark: face(layout, image, plate, *cell) for mark, cell in zip(MARKS, cells, strict=True)}
    for a, b in combinations(MARKS, 2):
        pair = faces[a], faces[b]
        if {a, b} <= {"+inf", "-inf", "clipped +", "clipped -"}:
            pair = tuple(f - np.median(f) for f in pair)  # not their colour: their shape
        assert (np.abs(pair[0] - pair[1]).max(axis=2) > 40).mean() > 0.025, f"{a} looks like {b}"


def test_the_centre_keeps_the_values_colour_and_nan_has_none_and_marks_go_with_their_cause():
    layout, visual = slab_of(layout_for(*chain(3, 3), SIZE))
    plate, colours = layout.plates[0], get_map("weight")
    visual.atlas.set_flat(np.linspace(-0.9, 0.9, 12))
    before = paint(layout, visual)
    marked(visual, range(8))
    image = paint(layout, visual)
    for k, (mark, value) in enumerate(MARKS.items()):
        if mark not in ("nan", "not computed"):
            got = pixel(image, layout.camera, plate.tops[plate.grid.element(*divmod(k, 3))])
            assert np.abs(got - np.rint(255 * colours(value))).max() <= 1, mark
    nan = face(layout, paint(layout, visual, supersample=2), plate, 0, 1)[3:-3, 3:-3]
    assert np.ptp(nan, axis=2).max() < 12, "no hue"
    light = nan.mean(axis=2) > 128
    assert 0.4 < light.mean() < 0.6
    assert (light[:, 1:] != light[:, :-1]).sum(axis=1).min() >= 3, "four fields in every row"
    visual.atlas.set_flat(np.linspace(-0.9, 0.9, 12).astype(np.float32))
    visual.set_flags()
    assert not visual.atlas.flags.any()
    np.testing.assert_array_equal(paint(layout, visual), before)


def test_clipped_starts_beyond_the_range_and_stands_at_the_far_edge_for_plus():
    layout, visual = slab_of(layout_for(*chain(3, 3), SIZE))
    for value, far, near in ((1.0, False, False), (-1.0, False, False), (1.01, True, False), (-1.01, False, True),
                             (1e300, True, False)):  # fmt: skip
        visual.atlas.set_flat(np.full(12, value))
        assert not visual.atlas.flags.any()  # what no float32 holds is clipped, too, and not infinite
        square = face(layout, paint(layout, visual, supersample=2), layout.plates[0], 1, 1)
        shown = (np.abs(square - np.rint(255 * get_map("weight")(np.sign(value)))).max(axis=2) > 60).mean(axis=1)
        assert (shown[3:7].max() > 0.5, shown[-7:-3].max() > 0.5) == (far, near), value


def test_dead_units_alone_are_marked():
    layout, visual = slab_of(layout_for(*chain(3, 16, 16, 3, kind="relu"), SIZE))
    visual.set_activations({"1": np.zeros(16), "not drawn": np.ones(3)})
    before = paint(layout, visual)
    visual.set_flags(dead={"1": np.arange(16) % 4 == 0})
    assert set(np.unique(visual.atlas.flags)) == {0, DEAD}
    two, row = (before, paint(layout, visual)), layout.activation("1")
    faces = [[face(layout, image, row, i, 0) for i in range(16)] for image in two]
    assert [np.abs(a - b).max() > 40 for a, b in zip(*faces, strict=True)] == [i % 4 == 0 for i in range(16)]


def faces(flat, sizing, range_=1.0, **flags):
    """Pixels that each of twelve cubes covers, seen from straight before them, so that only main faces are seen."""
    layout = layout_for(*arrays((3, 4)), (480, 320))
    (plate,) = layout.plates
    outward = plate.axes[2] / plate.pitch
    angles = np.degrees([np.arctan2(outward[0], -outward[1]), np.arcsin(outward[2])]).tolist()
    camera = fit(plate.corners, layout.size, azimuth=angles[0], elevation=angles[1])
    _, visual = slab_of(layout)
    visual._trays._trays = visual._trays._flow = None
    visual.sizing = sizing
    visual.set_range(range_)
    visual.atlas.set_flat(np.asarray(flat, np.float32))
    visual.set_flags(**flags)
    there = np.argwhere(np.any(paint(layout, visual, camera, background=(1.0, 1.0, 1.0)) != 255, axis=2))[:, ::-1]
    middles = camera.project(plate.centres)
    nearest = np.argmin(np.abs(middles[None] - there[:, None]).max(2), axis=1)
    return np.bincount(nearest, minlength=plate.size)


def test_what_is_below_the_threshold_is_not_drawn_and_what_carries_a_mark_is_as_large_as_can_be():
    flat = np.linspace(-1, 1, 12)
    for by_value in (False, True):
        found = faces(flat, Sizing(by_value, 0.3))
        np.testing.assert_array_equal(found > 0, np.abs(flat) >= 0.3)
        assert (np.ptp(found[found > 0]) < 0.1 * found.max()) != by_value
    flat = np.full(12, 0.04)
    flat[:4] = np.nan, np.inf, -np.inf, 1.0
    flags = {"not_computed": np.arange(12) == 5, "frozen": np.arange(12) == 6}
    for sizing in (Sizing(True), Sizing(True, 0.1)):
        found = faces(flat, sizing, **flags)
        assert np.flatnonzero(found > 0.9 * found.max()).tolist() == [0, 1, 2, 3, 5]
        assert found[6].astype(bool) == (sizing.threshold == 0)


@pytest.mark.parametrize(("shape", "size"), [((100, 150), (480, 320)), ((1000, 1000), (320, 180))])
def test_below_six_pixels_a_smaller_cube_is_a_fainter_cell(shape, size):
    layout, visual = slab_of(layout_for(*arrays(shape), size))
    visual.sizing = Sizing(True)
    visual.atlas.set_flat(np.full(shape, 0.25).ravel())
    blank = 255 * np.array(colour(visual.theme.tray))
    got = pixel(paint(layout, visual), layout.camera, layout.plates[0].cell_centre(shape[0] // 2, shape[1] // 2))
    np.testing.assert_allclose(got, 0.25 * 255 * get_map("weight")(0.25) + 0.75 * blank, atol=3)


def test_a_picture_is_that_of_its_arguments_and_its_legend_is_blank_where_cubes_are_hidden():
    array, size = {"a": np.array([[1.0, 0.5], [0.01, -1.0]])}, (480, 320)
    plain = render(array, size)
    assert np.any(render(array, size, sized=True) != plain)
    assert np.any(render(array, size, threshold=0.1) != plain)
    np.testing.assert_array_equal(render(array, size, threshold=0.0, sized=False), plain)
    bar = bar_pixels(get_map("weight"), 100, (0.4, 0.6), "#123456")[0]
    assert np.flatnonzero(np.all(bar == (0x12, 0x34, 0x56), axis=1)).tolist() == list(range(40, 60))


@refusals(
    {
        f"{name}={bad}": (lambda name=name, bad=bad: render({"a": np.eye(2)}, **{name: bad}), error, fact)
        for name, bad, error, fact in (
            ("threshold", 1.0, InputError, "from 0 to below 1"), ("threshold", -0.1, InputError, "from 0 to below 1"),
            ("threshold", float("nan"), InputError, "from 0 to below 1"), ("sized", 3, TypeMismatchError, "sized"),
            ("threshold", "some", TypeMismatchError, "a share"), ("threshold", True, TypeMismatchError, "a share"),
        )
    }
)  # fmt: skip
def test_sizes_that_cannot_be(refusal):
    refusal.check()


ROW, COL = np.indices((1000, 1000))
PATTERNS = {
    "columns": (-1.0) ** COL, "rows": (-1.0) ** ROW, "checker": (-1.0) ** (ROW + COL),
    "thirds": np.where(COL % 3, -1.0, 1.0),
}  # fmt: skip


@pytest.mark.parametrize("size", [(200, 112), (320, 180), (640, 360)])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_from_afar_a_thin_pattern_is_its_mean_colour_in_any_range_and_map(pattern, size):
    layout, visual = slab_of(whole(arrays((1000, 1000)), size))
    visual.atlas.set_flat(PATTERNS[pattern].ravel())
    corners = layout.camera.project(layout.plates[0].corners)
    (x, y), reach = corners.mean(axis=0).astype(int), int(0.2 * np.ptp(corners, axis=0).min())
    share = float(np.mean(PATTERNS[pattern] > 0))
    for v, name in ((1.0, "weight"), (2.0, "weight"), (2.0, "viridis")):
        with offscreen():
            visual.set_range(v)
            visual.set_colours(get_map(name))
        pixels = paint(layout, visual)[y - reach : y + reach, x - reach : x + reach].reshape(-1, 3)
        ends = 255 * get_map(name)(
            np.array([-1, 1]) / v if get_map(name).diverging else 0.5 + np.array([-0.5, 0.5]) / v
        )
        np.testing.assert_allclose(pixels.mean(axis=0), (1 - share) * ends[0] + share * ends[1], atol=4)
        assert pixels.std(axis=0).max() < 24
    values = PATTERNS[pattern].ravel().copy()
    values[507_503], before = np.nan, paint(layout, visual)
    visual.atlas.set_flat(values)
    assert np.any(paint(layout, visual) != before), "one NaN among a million"
    near = whole(arrays((1000, 1000)), SIZE)
    assert cells_per_pixel(near.plates[0], near.camera, 1.0) < 4
    assert not variant_for(near.plates[0], near.camera, 1.0).means


def cameras_of(layout, rng):
    """The layout's own; turned, zoomed, perspective or parallel from all around; eyes within the box of all plates."""
    points, centre = layout.outline, layout.bounds.mean(axis=0)
    span, fitted = float(np.linalg.norm(np.ptp(points, axis=0))), pose_of(layout.camera, centre)
    poses = []
    for k in range(8):
        distance = float(rng.uniform(0.9, 3.0)) * span
        size = float(layout.camera.pixels_per_unit(centre)[0]) * float(rng.uniform(0.8, 2.5))
        angles, place = rng.uniform((-180, -89), (180, 89)).tolist(), fitted.place + rng.uniform(-60, 60, 2)
        eye = np.array([0.0, 0.0, distance]) if k % 2 else None
        poses.append(Pose(*angles, centre, place, size * (distance if k % 2 else 1.0), eye))
    for eye in rng.uniform(*layout.bounds, (4, 3)):  # each around a point one unit before the eye
        angles = rng.uniform((-180, -60), (180, 60)).tolist()
        poses.append(Pose(*angles, eye, np.array(SMALL) / 2, 200.0, np.array([0.0, 0.0, 1.0])))
    return [layout.camera, *(camera_of(pose, SMALL, points) for pose in poses)]


@pytest.fixture
def numbered(monkeypatch):
    """The shaders write the number that a cube holds instead of its colour."""
    code = "vec4(mod({0}, 256.0), mod(floor({0} / 256.0), 256.0), floor({0} / 65536.0), 255.0) / 255.0"
    middle = "texture2D(u_values, texel(clamp(floor(q), vec2(0.0), size - 1.0))).r"

    def with_numbers(variant, **constants):
        text = fragment(variant, **constants)
        colour = "vec4(c * shade, 1.0)" if variant.samples else "vec4(c, 1.0)"
        assert f"gl_FragColor = {colour};" in text
        return text.replace(colour, code.format(middle if variant.samples else "value"))

    monkeypatch.setattr(slab, "fragment", with_numbers)


def disagreements(layout, cameras, rng, pixels, sizing=ALL_ALIKE):
    """Pixels where neither the picked cube nor one a hundredth of a pixel beside it is the drawn one; cubes hit."""
    count = max(p.start + p.size for p in layout.plates if p.start >= 0)
    with offscreen():
        visual = SlabVisual(layout)
        visual._trays._trays = visual._trays._flow = None
        visual.sizing = sizing
        visual.set_range(Range(0.5, count, "log") if sizing.by_value else float(count))
        visual.atlas.set_flat(np.arange(1, count + 1, dtype=np.float32))
        rows = [p for p in layout.plates if p.kind == "activation"]
        visual.set_activations({p.name: ROWS + np.arange(p.size, dtype=np.float32) for p in rows})
    picker, wrong, hits = Picker(layout), [], 0
    for number, camera in enumerate(cameras):
        image = offscreen().render(lambda box, camera=camera: visual.draw(camera, box), SMALL).astype(int)
        for x, y in rng.integers((0, 0), SMALL, (pixels, 2)):
            seen = int(image[y, x] @ [1, 256, 65536])
            hits += seen > 0
            for a, b in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1), (1, -1), (-1, 1)):
                hit = picker.pick(camera, (x + 0.5 + 0.02 * a, y + 0.5 + 0.02 * b), 1.0, visual.shares)
                if seen == (0 if hit is None else ROWS + hit.element if hit.flat is None else 1 + hit.flat):
                    break
            else:
                wrong.append(f"camera {number} at ({x}, {y}): drawn {seen}, picked {hit}")
    return wrong, hits


@pytest.mark.usefixtures("numbered")
@pytest.mark.parametrize("sizing", SIZED)
@pytest.mark.parametrize("name", LAYOUTS)
def test_the_picked_cube_is_the_drawn_one(name, sizing):
    if name == "one cube" and sizing != "alike":
        return
    layout, rng = whole(LAYOUTS[name], SMALL), np.random.default_rng(8)
    # every cube has a pixel of its own; below that the picture holds mean colours, not cubes
    cameras = [camera for camera in cameras_of(layout, rng)
               if all(variant_for(plate, camera, 1.0).samples == 0 for plate in layout.plates)]  # fmt: skip
    wrong, hits = disagreements(layout, cameras, rng, 80, SIZED[sizing])
    assert hits > 20
    assert not wrong, wrong[:5]


@pytest.mark.parametrize("turn", [(0, 0), (-260, 30), (500, 40)])
def test_as_much_of_it_is_drawn_as_is_seen_of_the_cube(turn):
    bench = bench_of(rgb(5, 5))
    bench.orbit(*turn)
    again(bench, 0.02)
    hidden = seen = 0
    for index, plate in enumerate(bench.layout.plates):
        for element in range(plate.size) if plate.kind != "activation" else ():
            corners = bench.project(plate.corners_of(element))
            if np.ptp(corners, axis=0).min() < 14:
                continue  # of very small ones the middle decides
            spots = corners.mean(axis=0) + 0.9 * (corners - corners.mean(axis=0))
            hits = [
                bench.cube_at(tuple((a + t * (b - a)).tolist())) for a in spots for b in spots for t in (0, 0.3, 0.5)
            ]
            strange = np.mean([hit is not None and hit.plate != index for hit in hits])
            paths = seen_outline(bench.layout, index, element, bench.camera, bench.project, bench.cube_at)
            drawn = sum(np.hypot(*np.diff(path, axis=0).T).sum() for path in paths)
            around = np.ptp(corners, axis=0).sum()  # at least half of any ring around it is longer than this
            seen, hidden = seen + (strange == 0.0), hidden + (strange == 1.0)
            assert drawn > 0.8 * around or strange
            assert drawn < 0.1 * around or strange < 1.0
    assert seen > 10
    assert hidden > 0 or turn != (-260, 30)
