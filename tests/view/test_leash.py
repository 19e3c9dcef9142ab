"""Whatever a hand does to the camera, something stays in sight."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.benches import bench_of, rgb
from scalarviz.view.space.camera import convex_hull
from scalarviz.view.space.viewpoint import LEAST, shift_to

points = st.lists(st.tuples(st.integers(-40, 40), st.integers(-40, 40)), min_size=3, max_size=8, unique=True)


def normals(corners):
    """Directions across the sides of a polygon, and along them (of a flat one: both count)."""
    hull = np.asarray(convex_hull(corners))
    sides = np.roll(hull, -1, axis=0) - hull
    both = np.concatenate([sides, sides[:, ::-1] * (1, -1)])
    return both / np.linalg.norm(both, axis=1, keepdims=True)


def gap(first, second, along):
    """How far two shapes are apart when they are seen along a line: below 0 where they overlap."""
    a, b = first @ along, second @ along
    return max(b.min() - a.max(), a.min() - b.max())


@given(points, points)
@settings(max_examples=200, deadline=None)
def test_the_shift_is_the_shortest_after_which_two_shapes_touch(first, second):
    first, second = np.array(first, float), np.array(second, float)
    shift = shift_to(first, second)
    length = np.linalg.norm(shift)
    if length > 0:  # a line that separates them by as much: there is no shorter way
        assert gap(first, second, shift / length) == pytest.approx(length)
    for along in np.concatenate([normals(first), normals(second)]):  # no line separates them any more
        assert gap(first + shift, second, along) <= 1e-9


def in_sight(bench):
    """Whether a cube is seen somewhere in its place: looked for at the middle of every cube, and everywhere."""
    x, y, width, height = bench.places.scene
    everywhere = [
        (x + a * width, y + b * height) for a in np.linspace(0.01, 0.99, 40) for b in np.linspace(0, 0.99, 30)
    ]
    plates = [plate for plate in bench.layout.plates if plate.kind != "activation"]
    middles = bench.project([plate.centre_of(k) for plate in plates for k in range(plate.size)])
    return any(bench.pick(at) is not None for at in np.concatenate([middles, everywhere]) * bench.scale)


@pytest.mark.gl
@pytest.mark.parametrize("size", [(1280, 720), (400, 600)])
@pytest.mark.parametrize("hidden", [(), (16, 16), (8, 8, 8, 8)], ids=str)
def test_no_hand_moves_the_picture_out_of_sight(hidden, size):
    bench = bench_of(rgb(*hidden, steps=0), size)
    rng = np.random.default_rng(len(hidden))
    for round_ in range(12):
        for _ in range(rng.integers(1, 12)):
            kind = rng.integers(3)
            if kind == 0:
                bench.pan(*rng.normal(0, 800, 2))
            elif kind == 1:
                bench.zoom(float(1.15 ** rng.integers(-12, 12)), tuple(rng.uniform((0, 0), size)))
            else:
                bench.orbit(*rng.normal(0, 150, 2))
        assert in_sight(bench), round_


@pytest.mark.gl
@pytest.mark.parametrize("hidden", [(), (16, 16)], ids=str)
def test_a_push_stops_and_comes_back_at_once_and_a_zoom_has_its_ends(hidden):
    """A cube is no larger than its place, and the whole no smaller than a fifth."""
    bench = bench_of(rgb(*hidden, steps=0))
    for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1)):
        for _ in range(100):
            bench.pan(60 * x, 60 * y)
        edge = bench.project(bench.layout.bounds).copy()
        for by, moved in ((60, 0), (-30, -30)):
            bench.pan(by * x, by * y)
            assert bench.project(bench.layout.bounds) - edge == pytest.approx(
                np.tile((moved * x, moved * y), (2, 1)), abs=1e-6
            )
    bench.fit_camera()
    fitted, x0, y0, x1, y1 = bench.layout.camera.scale, *bench.layout.rect
    for _ in range(200):
        bench.zoom(1.5, (400.0, 300.0))
    pitch = bench.layout.pixels_per_cube() * bench.camera.scale / fitted
    assert pitch == pytest.approx(min(x1 - x0, y1 - y0))
    for _ in range(200):
        bench.zoom(1 / 1.5, (400.0, 300.0))
    assert bench.camera.scale == pytest.approx(LEAST * fitted)
