"""Names of rows stand beside their own cubes, from every camera; measured in pixels of densely sampled faces."""

from __future__ import annotations

import numpy as np
import pytest

from kit.benches import again, bench_of, box_of, texts
from scalarviz.view.notes.placer import Placer, row_names
from scalarviz.view.notes.values import _fitting
from scalarviz.view.space.plate import Grid, Plate

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


def distance(box, points):
    return float(np.hypot(*np.maximum(np.maximum(box[:2] - points, points - box[2:]), 0).T).min())


def check(bench, named, *names):
    rows = [np.concatenate(parts) for parts in zip(*(faces(bench, name) for name in names), strict=True)]
    for row, box in named.items():
        away = [distance(np.array(box), points) for points in rows]
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


def test_of_a_hundred_thousand_rows_two_say_that_there_is_no_room():
    count, asked = 100_000, []
    plate = Plate("y", "activation", count, Grid((count, 1), (count, 1)), np.zeros(3), np.eye(3), 0.4, 0.4)

    def project(points):
        asked.append(len(np.reshape(points, (-1, 3))))
        return np.reshape(points, (-1, 3))[:, :2] * 0.1

    assert row_names(plate, [f"y{k}" for k in range(count)], 1, project, Placer((0.0, 0.0, 640.0, 360.0))) == []
    assert _fitting(plate, project, "+0.00") == 0
    assert sum(asked) < 100
