"""Names of rows stand beside their own cubes, from every camera; measured in pixels of densely sampled faces."""

from __future__ import annotations

import numpy as np
import pytest

from kit.benches import Box, again, bench_of, box_of, texts
from scalarviz.view.notes.placer import Placer, row_names
from scalarviz.view.notes.values import _fitting
from scalarviz.view.space.plate import Grid, Plate
from scalarviz.view.workbench import Workbench

from .test_first_sample import own_scene

pytestmark = pytest.mark.gl


def boxes(bench: Workbench, prefix: str) -> dict[int, Box]:
    """Left, top, right, bottom of the names ``to y0``, by their number."""
    named = [t for t in texts(bench.sketches) if t.text.startswith(prefix) and t.text[len(prefix) :].isdigit()]
    return {int(t.text[len(prefix) :]): box_of(t) for t in named}


def faces(bench: Workbench, name: str, up: bool) -> list[np.ndarray]:
    """Points (N, 2) all over the upper (or lower) faces of each row's cubes, on screen."""
    plate = bench.layout.plate(name)
    steps = np.linspace(-1, 1, 17) * plate.half
    height = (1 if up else -1) * plate.depth * plate.axes[2]
    spread = np.array([a * plate.axes[0] + b * plate.axes[1] for a in steps for b in steps]) + height
    return [
        bench.project(np.concatenate([plate.cell_centre(i, j) + spread for j in range(plate.shape[1])]))
        for i in range(plate.shape[0])
    ]


def distance(box: Box, points: np.ndarray) -> float:
    left, top, right, bottom = box
    across = np.maximum(np.maximum(left - points[:, 0], points[:, 0] - right), 0)
    down = np.maximum(np.maximum(top - points[:, 1], points[:, 1] - bottom), 0)
    return float(np.hypot(across, down).min())


def covers(box: Box, bench: Workbench, name: str) -> bool:
    """Whether a box lies on a cube: tried at points of it, by picking."""
    left, top, right, bottom = box
    spots = [(x, y) for x in np.linspace(left, right, 5) for y in np.linspace(top, bottom, 3)]
    return any(bench.pick((x * bench.scale, y * bench.scale)) is not None for x, y in spots)


def check(bench: Workbench, named: dict[int, Box], name: str) -> None:
    up = bool(bench.camera.eye[2] > 0.0)  # of a camera in perspective, over the floor on which the cubes stand
    parts = zip(faces(bench, name, up), faces(bench, name.replace("weight", "bias"), up), strict=True)
    rows = [np.concatenate(part) for part in parts]
    for row, box in named.items():
        away = [distance(box, points) for points in rows]
        assert int(np.argmin(away)) == row, (row, away)
        assert 0 < away[row] < 60
        assert not covers(box, bench, name)


@pytest.mark.parametrize("size", [(1280, 720), (640, 360), (720, 1280)])
@pytest.mark.parametrize("widths", [(3, 3), (1, 4), (8, 6)])
def test_fitted_names_are_level_with_their_own_top_faces(widths: tuple[int, int], size: tuple[int, int]) -> None:
    scene = own_scene(*widths)
    bench = bench_of(scene, size)
    named = boxes(bench, "to y")
    if size == (1280, 720) or widths != (8, 6):  # cubes of 15 px have no room
        assert sorted(named) == list(range(widths[1]))
    check(bench, named, "0.weight")
    for row, (_, top, right, bottom) in named.items():
        plate = bench.layout.plate("0.weight")
        edge = bench.project([plate.cell_centre_top(row, 0) - plate.half * plate.axes[0]])[0]
        assert (top + bottom) / 2 == pytest.approx(edge[1], abs=1.0)
        assert right < edge[0] - 6
    scene.run.close()


def test_from_every_camera_the_nearest_row_is_its_own() -> None:
    scene = own_scene(3, 3)
    bench = bench_of(scene, (1280, 720))
    rng = np.random.default_rng(0)
    shown = 0
    for _ in range(120):
        bench.orbit(*(rng.uniform(-300, 300, 2) * (1.0, 0.4)))
        named = boxes(again(bench, 0.02), "to y")
        assert sorted(named) in ([], [0, 1, 2])  # all or none: one alone would be a riddle
        check(bench, named, "0.weight")
        shown += bool(named)
    assert shown > 60
    scene.run.close()


def test_names_of_inputs_stand_beside_their_own_cubes_too() -> None:
    scene = own_scene(3, 4, 2)
    bench = bench_of(scene, (1280, 720))
    plate = bench.layout.activation("input")
    assert plate is not None
    assert sorted(boxes(bench, "x")) == [0, 1, 2]
    shown = 0
    for step in range(40):
        named = boxes(bench, "x")
        for unit, box in named.items():
            away = [distance(box, points) for points in faces(bench, "input", True)]
            assert int(np.argmin(away)) == unit
        shown += bool(named)
        bench.orbit(45.0, 6.0 * (-1) ** step)
        again(bench, 0.02)
    assert shown > 10
    scene.run.close()


def test_of_a_hundred_thousand_rows_two_say_that_there_is_no_room() -> None:
    count, asked = 100_000, []
    plate = Plate("y", "activation", count, Grid((count, 1), (count, 1)), np.zeros(3), np.eye(3), 0.4, 0.4)

    def project(points: np.ndarray) -> np.ndarray:
        asked.append(len(np.reshape(points, (-1, 3))))
        return np.reshape(points, (-1, 3))[:, :2] * 0.1

    assert row_names(plate, [f"y{k}" for k in range(count)], 1, project, Placer((0.0, 0.0, 640.0, 360.0))) == []
    assert _fitting(plate, project, "+0.00") == 0
    assert sum(asked) < 100
