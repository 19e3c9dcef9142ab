"""Picking against the pixels: the same layouts drawn with every cube's number as its colour, and read back."""

from __future__ import annotations

import numpy as np
import pytest

from kit.plates import arrays, chain, whole
from scalarviz.run.questions.ranges import Range
from scalarviz.view.cubes import slab
from scalarviz.view.cubes.atlas import ALL_ALIKE, Sizing
from scalarviz.view.cubes.picking import Picker, Shares
from scalarviz.view.cubes.shader import fragment
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.space.camera import Camera, Pose, camera_of, pose_of
from scalarviz.view.space.layout import Layout

pytestmark = pytest.mark.gl

SIZE = (480, 320)
ROWS = 1 << 22
"""Numbers of the cubes of activation rows start here."""


LAYOUTS = {
    "one cube": arrays((1, 1)),
    "a layer": chain(3, 3),
    "a chain": chain(3, 16, 16, 3),
    "a stack": chain(12, 64, 64, 3),
    "folded": arrays((1, 300), (100,)),
    "tiles": arrays((5, 3, 3, 3), (4, 2, 5)),
    "many": arrays((1000, 1000)),
    "unequal": arrays((1,), (10,), (40, 3), (1, 6400)),
}


def layout_of(name: str) -> Layout:
    return whole(LAYOUTS[name], SIZE)


def turned_cameras(layout: Layout, rng: np.random.Generator, count: int) -> list[Camera]:
    """The layout's camera turned, zoomed and made perspective or parallel, from all around."""
    points, cameras = layout.outline, []
    span = float(np.linalg.norm(np.ptp(points, axis=0)))
    centre = layout.bounds.mean(axis=0)
    fitted = pose_of(layout.camera, centre)
    for k in range(count):
        distance = float(rng.uniform(0.9, 3.0)) * span
        eye = np.array([0.0, 0.0, distance]) if k % 2 else None
        size = float(layout.camera.pixels_per_unit(centre)[0]) * float(rng.uniform(0.8, 2.5))
        angles, place = rng.uniform((-180, -89), (180, 89)).tolist(), fitted.place + rng.uniform(-60, 60, 2)
        pose = Pose(*angles, centre, place, size * (distance if k % 2 else 1.0), eye)
        cameras.append(camera_of(pose, SIZE, points))
    return cameras


def inside_cameras(layout: Layout, rng: np.random.Generator, count: int) -> list[Camera]:
    """Eyes within the box around all plates, looking anywhere."""
    points, cameras = layout.outline, []
    low, high = layout.bounds
    for _ in range(count):
        eye = rng.uniform(low, high)
        azimuth, elevation = float(rng.uniform(-180, 180)), float(rng.uniform(-60, 60))
        # a pose around a point one unit before the eye, which the picture shows in its middle
        pose = Pose(azimuth, elevation, eye, np.array(SIZE) / 2, 200.0, np.array([0.0, 0.0, 1.0]))
        cameras.append(camera_of(pose, SIZE, points))
    return cameras


@pytest.fixture
def numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shaders write the number that a cube holds instead of its colour."""
    code = "vec4(mod({0}, 256.0), mod(floor({0} / 256.0), 256.0), floor({0} / 65536.0), 255.0) / 255.0"
    middle = "texture2D(u_values, texel(clamp(floor(q), vec2(0.0), size - 1.0))).r"

    def with_numbers(variant: slab.Variant, **constants: object) -> str:
        text = fragment(variant, **constants)  # type: ignore[arg-type]
        colour = "vec4(c * shade, 1.0)" if variant.samples else "vec4(c, 1.0)"
        assert f"gl_FragColor = {colour};" in text
        return text.replace(colour, code.format(middle if variant.samples else "value"))

    monkeypatch.setattr(slab, "fragment", with_numbers)


def numbers_drawn(
    layout: Layout, cameras: list[Camera], sizing: Sizing = ALL_ALIKE
) -> tuple[list[np.ndarray], Shares | None]:
    """What stands in each pixel: 1 + flat index, `ROWS` + number in the plate for activations, 0 for nothing.

    And how large cubes are: by that number, beside the largest.
    """
    count = max(p.start + p.size for p in layout.plates if p.start >= 0)
    with offscreen():
        visual = slab.SlabVisual(layout)
        visual._trays._trays = visual._trays._flow = None
        visual.sizing = sizing
        visual.set_range(Range(0.5, count, "log") if sizing.by_value else float(count))
        visual.set_flat(np.arange(1, count + 1, dtype=np.float32))
        visual.set_activations(
            {p.name: ROWS + np.arange(p.size, dtype=np.float32) for p in layout.plates if p.kind == "activation"}
        )
    found = []
    for camera in cameras:
        image = offscreen().render(lambda box, camera=camera: visual.draw(camera, box), SIZE).astype(int)
        found.append(image @ [1, 256, 65536])
    return found, visual.shares


def expected(picker: Picker, camera: Camera, at: tuple[float, float], shares: Shares | None) -> int:
    hit = picker.pick(camera, at, 1.0, shares)
    if hit is None:
        return 0
    return ROWS + hit.element if hit.flat is None else 1 + hit.flat


def disagreements(
    layout: Layout, cameras: list[Camera], rng: np.random.Generator, pixels: int, sizing: Sizing = ALL_ALIKE
) -> tuple[list[str], int]:
    """Pixels where neither the picked cube nor one a hundredth of a pixel beside it is the drawn one; cubes hit."""
    picker, (pictures, shares) = Picker(layout), numbers_drawn(layout, cameras, sizing)
    wrong, hits = [], 0
    for number, (camera, drawn) in enumerate(zip(cameras, pictures, strict=True)):
        for x, y in rng.integers((0, 0), SIZE, (pixels, 2)):
            seen = int(drawn[y, x])
            hits += seen > 0
            steps = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1), (1, -1), (-1, 1)]
            at = ((x + 0.5 + 0.02 * a, y + 0.5 + 0.02 * b) for a, b in steps)
            answers = (expected(picker, camera, point, shares) for point in at)
            if not any(answer == seen for answer in answers):
                picked = expected(picker, camera, (x + 0.5, y + 0.5), shares)
                wrong.append(f"camera {number} at ({x}, {y}): drawn {seen}, picked {picked}")
    return wrong, hits


SIZED = {"alike": ALL_ALIKE, "sized": Sizing(True), "hidden": Sizing(False, 0.3997), "both": Sizing(True, 0.5997)}


@pytest.mark.usefixtures("numbered")
@pytest.mark.parametrize("sizing", SIZED)
@pytest.mark.parametrize("name", [n for n in LAYOUTS if n != "many"])
def test_the_picked_cube_is_the_drawn_one(name: str, sizing: str) -> None:
    if name == "one cube" and sizing != "alike":
        return
    layout, rng = layout_of(name), np.random.default_rng(8)
    cameras = [layout.camera, *turned_cameras(layout, rng, 8), *inside_cameras(layout, rng, 4)]
    wrong, hits = disagreements(layout, [c for c in cameras if walks(layout, c)], rng, 80, SIZED[sizing])
    assert hits > 20
    assert not wrong, wrong[:5]


@pytest.mark.usefixtures("numbered")
def test_a_million_cubes_zoomed_in() -> None:
    layout, rng = layout_of("many"), np.random.default_rng(5)
    pose = pose_of(layout.camera, layout.bounds.mean(axis=0))
    cameras = []
    for zoom in (5.0, 12.0, 40.0):
        closer = Pose(pose.azimuth, pose.elevation, pose.centre, pose.place, pose.scale * zoom, pose.eye)
        cameras.append(camera_of(closer, SIZE, layout.outline))
    assert all(walks(layout, c) for c in cameras)
    wrong, hits = disagreements(layout, cameras, rng, 150)
    assert hits > 300
    assert not wrong, wrong[:5]


def walks(layout: Layout, camera: Camera) -> bool:
    """Whether every cube has a pixel of its own; below that the picture holds mean colours, not cubes."""
    return all(slab.variant_for(p, camera, 1.0).samples == 0 for p in layout.plates)


def test_below_a_pixel_the_cell_in_the_middle_is_meant() -> None:
    layout, rng = layout_of("many"), np.random.default_rng(6)
    assert not walks(layout, layout.camera)
    plate, picker = layout.plates[0], Picker(layout)
    for row, col in rng.integers(0, 1000, (50, 2)):
        x, y = layout.camera.project(plate.cell_centre_top(int(row), int(col)))[0]
        hit = picker.pick(layout.camera, (float(x), float(y)))
        assert hit is not None
        assert hit.flat == row * 1000 + col


def test_what_is_left_of_a_folded_plate_is_empty() -> None:
    layout = layout_of("folded")
    plate, picker = layout.plates[0], Picker(layout)
    rows, cols = plate.grid.cells
    assert plate.size % cols
    for col in range(cols):
        middle = plate.origin + col * plate.axes[0] + (rows - 1) * plate.axes[1] + plate.depth * plate.axes[2]
        hit = picker.pick(facing(layout, middle, plate.axes[2]), (SIZE[0] / 2, SIZE[1] / 2))
        element = (rows - 1) * cols + col
        assert (hit.element if hit is not None else None) == (element if element < plate.size else None)


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_kind_of_plate_gives_back_its_elements(name: str) -> None:
    """The middle of each cube's main face belongs to it, from straight before it."""
    layout, rng = layout_of(name), np.random.default_rng(7)
    picker = Picker(layout)
    for index, plate in enumerate(layout.plates):
        for element in rng.integers(0, plate.size, 12):
            middle = plate.centre_of(int(element)) + plate.depth * plate.axes[2]
            camera = facing(layout, middle, plate.axes[2])
            hit = picker.pick(camera, (SIZE[0] / 2, SIZE[1] / 2))
            assert hit is not None
            assert (hit.plate, hit.element) == (index, int(element))


def facing(layout: Layout, middle: np.ndarray, outward: np.ndarray) -> Camera:
    """A perspective camera right before a point, so near that no other plate is between."""
    azimuth = float(np.degrees(np.arctan2(outward[0], -outward[1])))
    elevation = float(np.clip(np.degrees(np.arcsin(outward[2])), -89, 89))
    pose = Pose(azimuth, elevation, middle, np.array(SIZE) / 2, 40.0, np.array([0.0, 0.0, 0.4]))
    return camera_of(pose, SIZE, layout.outline)
