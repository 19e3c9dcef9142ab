"""Picking against pixels: layouts drawn with every cube's number as its colour. Outlines against what is picked."""

from __future__ import annotations

import numpy as np
import pytest

from kit.benches import again, bench_of, rgb
from kit.plates import arrays, chain, whole
from scalarviz.run.questions.ranges import Range
from scalarviz.view.cubes import slab
from scalarviz.view.cubes.atlas import ALL_ALIKE, Sizing
from scalarviz.view.cubes.outline import seen_outline
from scalarviz.view.cubes.picking import Picker
from scalarviz.view.cubes.shader import fragment
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.space.camera import Pose, camera_of, pose_of

pytestmark = pytest.mark.gl
SIZE = (480, 320)
ROWS = 1 << 22
"""Numbers of the cubes of activation rows start here."""
LAYOUTS = {
    "one cube": arrays((1, 1)), "a layer": chain(3, 3), "a chain": chain(3, 16, 16, 3), "a stack": chain(12, 64, 64, 3),
    "folded": arrays((1, 300), (100,)), "tiles": arrays((5, 3, 3, 3), (4, 2, 5)),
    "unequal": arrays((1,), (10,), (40, 3), (1, 6400)),
}  # fmt: skip
SIZED = {"alike": ALL_ALIKE, "sized": Sizing(True), "hidden": Sizing(False, 0.3997), "both": Sizing(True, 0.5997)}


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
        poses.append(Pose(*angles, eye, np.array(SIZE) / 2, 200.0, np.array([0.0, 0.0, 1.0])))
    return [layout.camera, *(camera_of(pose, SIZE, points) for pose in poses)]


def walks(layout, camera):
    """Whether every cube has a pixel of its own; below that the picture holds mean colours, not cubes."""
    return all(slab.variant_for(p, camera, 1.0).samples == 0 for p in layout.plates)


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
        visual = slab.SlabVisual(layout)
        visual._trays._trays = visual._trays._flow = None
        visual.sizing = sizing
        visual.set_range(Range(0.5, count, "log") if sizing.by_value else float(count))
        visual.set_flat(np.arange(1, count + 1, dtype=np.float32))
        rows = [p for p in layout.plates if p.kind == "activation"]
        visual.set_activations({p.name: ROWS + np.arange(p.size, dtype=np.float32) for p in rows})
    picker, wrong, hits = Picker(layout), [], 0
    for number, camera in enumerate(cameras):
        image = offscreen().render(lambda box, camera=camera: visual.draw(camera, box), SIZE).astype(int)
        for x, y in rng.integers((0, 0), SIZE, (pixels, 2)):
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
    layout, rng = whole(LAYOUTS[name], SIZE), np.random.default_rng(8)
    cameras = [camera for camera in cameras_of(layout, rng) if walks(layout, camera)]
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
