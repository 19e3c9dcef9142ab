"""The outline of a selected cube and its line to the panel hide behind what stands in front; checked by drawn depth."""

from __future__ import annotations

import numpy as np
import pytest

from kit.benches import again, bench_of
from scalarviz.view.cubes.outline import seen_outline
from scalarviz.view.workbench import Workbench

from .test_first_sample import own_scene

pytestmark = pytest.mark.gl


def parts_of(bench: Workbench, plate: int, element: int) -> list[np.ndarray]:
    return seen_outline(bench.layout, plate, element, bench.camera, bench.project, bench._hit)


def plate_number(bench: Workbench, name: str) -> int:
    return next(k for k, p in enumerate(bench.layout.plates) if p.name == name and p.kind != "activation")


def test_a_cube_that_nothing_covers_has_a_closed_outline_around_all_of_it() -> None:
    bench = bench_of(own_scene(3, 3))
    plate = bench.layout.plate("0.weight")
    for element in (6, 7, 8):  # the row in front
        (path,) = parts_of(bench, plate_number(bench, "0.weight"), element)
        assert np.array_equal(path[0], path[-1])
        corners = bench.project(plate.corners_of(element))
        assert (path.min(axis=0) < corners.min(axis=0)).all()
        assert (path.max(axis=0) > corners.max(axis=0)).all()


def test_behind_another_row_only_the_top_face_is_outlined() -> None:
    bench = bench_of(own_scene(3, 3))
    plate = bench.layout.plate("0.weight")
    for element in range(6):
        (path,) = parts_of(bench, plate_number(bench, "0.weight"), element)
        top = bench.project(plate.corners_of(element)[4:])
        assert path[:, 1].max() < top[:, 1].max() + 9
        for x, y in path:  # no corner of it reaches the number on the cube in front
            following = bench.project([plate.centre_of(element + 3) + plate.depth * plate.axes[2]])[0]
            assert np.hypot(*((x, y) - following)) > 20


@pytest.mark.parametrize("turn", [(0, 0), (-260, 30), (300, -10), (500, 40), (160, -25)])
def test_as_much_of_it_is_drawn_as_is_seen_of_the_cube(turn: tuple[int, int]) -> None:
    bench = bench_of(own_scene(3, 5, 5, 3))
    bench.orbit(*turn)
    again(bench, 0.02)
    hidden = seen = 0
    for index, plate in enumerate(bench.layout.plates):
        for element in range(plate.size) if plate.kind != "activation" else ():
            corners = bench.project(plate.corners_of(element))
            if np.ptp(corners, axis=0).min() < 14:
                continue  # of very small ones the middle decides
            spots = corners.mean(axis=0) + 0.9 * (corners - corners.mean(axis=0))
            inner = [a + t * (b - a) for a in spots for b in spots for t in (0.0, 0.3, 0.5)]
            hits = [bench._hit((float(x), float(y))) for x, y in inner]
            strange = np.mean([hit is not None and hit.plate != index for hit in hits])
            drawn = sum(np.hypot(*np.diff(path, axis=0).T).sum() for path in parts_of(bench, index, element))
            around = np.ptp(corners, axis=0).sum()  # at least half of any ring around it is longer than this
            if strange == 0.0:
                seen += 1
                assert drawn > 0.8 * around
            elif strange == 1.0:
                hidden += 1
                assert drawn < 0.1 * around
    assert seen > 10
    assert hidden > 0 or turn != (-260, 30)


def test_the_line_to_the_panel_crosses_no_cube() -> None:
    bench = bench_of(own_scene(3, 3), (640, 720))  # the inspector stands below the cubes where there is no column
    bench.select(0)
    again(bench)
    shapes = bench.overlays[0][0].triangles
    thin = shapes[(shapes[:, 5] < 0.8) & (shapes[:, 5] > 0.6)]  # half of 1.4 px: the leader
    assert len(thin)
    for x, y in thin.reshape(-1, 6, shapes.shape[1])[:, :, :2].mean(axis=1):
        assert bench._hit((float(x), float(y))) is None
