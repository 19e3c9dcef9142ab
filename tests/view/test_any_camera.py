"""Whatever a hand does to the camera: something stays in sight, and names of rows stand beside their own cubes."""

from __future__ import annotations

import numpy as np
import pytest

from kit.benches import again, bench_of, box_of, rgb, texts

from .test_first_sample import own_scene

pytestmark = pytest.mark.gl


def boxes(bench, prefix):
    """Left, top, right, bottom of the names ``to y0``, by their number."""
    named = [t for t in texts(bench.sketches) if t.text.startswith(prefix) and t.text[len(prefix) :].isdigit()]
    return {int(t.text[len(prefix) :]): box_of(t) for t in named}


def faces(bench, name):
    """Points (N, 2) all over the faces of each row's cubes that are towards the camera, on screen."""
    plate = bench.layout.plate(name)
    steps = np.linspace(-1, 1, 17) * plate.half
    up = 1 if bench.camera.eye[2] > 0.0 else -1  # over the floor on which the cubes stand
    spread = np.array([a * plate.axes[0] + b * plate.axes[1] for a in steps for b in steps])
    spread += up * plate.depth * plate.axes[2]
    return [
        bench.project(np.concatenate([plate.cell_centre(i, j) + spread for j in range(plate.shape[1])]))
        for i in range(plate.shape[0])
    ]


def check(bench, named, *names):
    rows = [np.concatenate(parts) for parts in zip(*(faces(bench, name) for name in names), strict=True)]
    for row, box in named.items():
        low, high = np.array(box[:2]), np.array(box[2:])
        beside = [np.maximum(np.maximum(low - points, points - high), 0) for points in rows]
        away = [float(np.hypot(*gaps.T).min()) for gaps in beside]
        assert int(np.argmin(away)) == row, (row, away)
        assert 0 < away[row] < 60
        spots = [(x, y) for x in np.linspace(box[0], box[2], 5) for y in np.linspace(box[1], box[3], 3)]
        assert not any(bench.pick((x * bench.scale, y * bench.scale)) is not None for x, y in spots)


@pytest.mark.parametrize(
    ("widths", "prefix", "plates", "most"),
    [((3, 3), "to y", ("0.weight", "0.bias"), 60), ((3, 4, 2), "x", ("input",), 40)],
)
def test_from_every_camera_the_nearest_row_is_its_own(widths, prefix, plates, most):
    bench, rng, shown = bench_of(own_scene(*widths)), np.random.default_rng(0), 0
    named = boxes(bench, prefix)
    assert sorted(named) == [0, 1, 2]
    check(bench, named, *plates)
    for _ in range(most):
        bench.orbit(*(rng.uniform(-300, 300, 2) * (1.0, 0.4)))
        named = boxes(again(bench, 0.02), prefix)
        assert sorted(named) in ([], [0, 1, 2])  # all or none: one alone would be a riddle
        check(bench, named, *plates)
        shown += bool(named)
    assert shown > most / 4


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
