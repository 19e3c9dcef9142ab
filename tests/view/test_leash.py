"""Whatever a hand does to the camera, something stays in sight."""

from __future__ import annotations

import numpy as np
import pytest

from kit.benches import bench_of, rgb


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
