"""Cameras and views: where points lie on the screen, what is kept, parallel lines, a scene that turns."""

from __future__ import annotations

import numpy as np
import pytest

from kit.plates import chain, whole
from kit.windows import live_hand
from scalarviz.errors import InputError
from scalarviz.view.space.camera import GLIDE, TURN, Viewpoint, basis, fit

BOX = np.array([[x, y, z] for x in (0, 4) for y in (0, 3) for z in (0, 1)], float)
SIZE, RECT = (1280, 720), (92.0, 84.0, 700.0, 556.0)


@pytest.mark.parametrize(
    ("azimuth", "elevation", "distance"), [(-10, 48, 17.0), (-42, 13, None), (30, 80, 9.0), (0, 0, None)]
)
def test_points_fill_the_rectangle_on_their_own_rays_with_most_of_the_depth(azimuth, elevation, distance):
    camera = fit(BOX, SIZE, RECT, azimuth=azimuth, elevation=elevation, distance=distance)
    low, high = camera.project(BOX).min(0), camera.project(BOX).max(0)
    assert (low >= np.array(RECT[:2]) - 1e-6).all()
    assert (high <= np.array(RECT[2:]) + 1e-6).all()
    assert np.isclose((high - low) / (RECT[2] - RECT[0], RECT[3] - RECT[1]), 1.0).any(), "one direction is filled"
    np.testing.assert_allclose((low + high) / 2, [396, 320])
    closer = BOX + 0.01 * camera.towards_eye(BOX)  # along its line of sight a point stays on its pixel
    np.testing.assert_allclose(camera.project(closer), camera.project(BOX), atol=1e-8)
    across = camera.project(BOX + 0.01 * basis(azimuth, elevation)[0]) - camera.project(BOX)
    wanted = np.stack([0.01 * camera.pixels_per_unit(BOX), np.zeros(8)], axis=1)
    np.testing.assert_allclose(across, wanted, atol=1e-8)
    clips = [np.concatenate([p, np.ones((8, 1))], axis=1) @ camera.matrix.T for p in (BOX, closer)]
    depths = [clip[:, 2] / clip[:, 3] for clip in clips]
    assert -1 < depths[0].min() < depths[0].max() < 1
    assert np.ptp(depths[0]) > 1.5
    assert (depths[1] < depths[0]).all()
    for point in ([[1, 2, 3]], [[0, 0, 0]]):
        assert np.isfinite(fit(point, SIZE, azimuth=azimuth, elevation=elevation, distance=distance).matrix).all()


def viewpoint(*sizes):
    return Viewpoint(whole(chain(*sizes), (480, 320)))


def seen(view):
    """Where corners lie on the screen."""
    return np.concatenate([view.camera.project(plate.corners) for plate in view._layout.plates])


def settle(view):
    view.tick(GLIDE / 2)
    assert view.gliding
    view.tick(GLIDE)
    assert not view.gliding


@pytest.mark.parametrize("sizes", [(3, 3), (3, 16, 16, 3)])
def test_a_view_that_was_kept_comes_back_to_the_pixel(sizes):
    view = viewpoint(*sizes)
    view.orbit(70, 20)
    view.zoom(1.3, (100.0, 80.0))
    kept = seen(view)
    view.keep(3)
    view.orbit(-150, 10)
    view.toggle_parallel()
    view.keep(4)
    other = seen(view)
    for number, wanted in ((3, kept), (4, other)):
        assert view.go(number)
        settle(view)
        np.testing.assert_allclose(seen(view), wanted, atol=1e-6)
    assert not view.go(5)
    assert not view.gliding
    view.fit()
    settle(view)
    assert view.camera is view._layout.camera


@pytest.mark.parametrize("sizes", [(3, 3), (3, 16, 16, 3)])
def test_parallel_lines_stay_parallel_and_the_middle_stays_and_zoom_has_limits(sizes):
    view = viewpoint(*sizes)
    middle, was = view._layout.bounds.mean(axis=0), view.camera.orthographic
    before = view.camera.project(middle), view.camera.pixels_per_unit(middle)
    assert view.toggle_parallel() != was
    assert view.camera.orthographic != was
    np.testing.assert_allclose(view.camera.project(middle), before[0], atol=1e-6)
    np.testing.assert_allclose(view.camera.pixels_per_unit(middle), before[1], rtol=1e-9)
    sides = [np.diff(view.camera.project(middle + np.array([[0, 0, z], [1, 0, z]])), axis=0) for z in (-1.0, 1.0)]
    assert np.allclose(*sides, atol=1e-9) == view.camera.orthographic
    for _ in range(60):
        view.zoom(0.8, (240.0, 160.0))
    assert view.camera.pixels_per_unit(middle)[0] == pytest.approx(0.2 * before[1][0], rel=0.02)


def test_the_near_side_follows_a_drag_and_a_zoom_ends_where_one_cube_fills_its_place():
    view = viewpoint(3, 3)
    layout, plate = view._layout, view._layout.plate("0.weight")
    near = plate.tops[plate.grid.element(2, 1)]
    before, elevation, (x0, y0, x1, y1) = view.camera.project(near)[0], view.camera.elevation, layout.rect
    view.orbit(20.0, 0.0)
    assert view.camera.project(near)[0][0] > before[0] + 1
    view.orbit(0.0, 20.0)
    assert view.camera.elevation == elevation + 8
    before = view.camera.project(near)[0]
    view.pan(30.0, -10.0)
    np.testing.assert_allclose(view.camera.project(near)[0], np.add(before, (30.0, -10.0)))
    for _ in range(60):
        view.zoom(1.5, (240.0, 160.0))
    assert layout.pixels_per_cube() * view.camera.scale / layout.camera.scale == pytest.approx(min(x1 - x0, y1 - y0))


def test_a_scene_that_turns_goes_round_and_stops_and_another_size_keeps_views_and_projection():
    view = viewpoint(3, 16, 16, 3)
    start, elevation = view.camera.azimuth, view.camera.elevation
    view.turning = True
    for _ in range(20):
        view.tick(0.5)
    assert view.gliding
    assert (view.camera.azimuth - start) % 360 == pytest.approx(TURN * 10 % 360)
    assert view.camera.elevation == pytest.approx(elevation)
    view.fit()
    settle(view)
    view.tick(1.0)
    assert view.camera.azimuth == pytest.approx(start)
    view.orbit(40, 10)
    view.toggle_parallel()
    view.keep(2)
    here = seen(view).mean(axis=0)
    view.relaid(whole(chain(3, 16, 16, 3), (960, 640)))
    assert not view.camera.orthographic
    view.orbit(90, 0)
    view.go(2)
    view.tick(None)
    np.testing.assert_allclose(seen(view).mean(axis=0), 2 * here, rtol=0.05)


@pytest.mark.gl
def test_in_a_window_the_pointer_finds_numbers_with_parallel_lines_and_views_have_numbers_from_1_to_9():
    with live_hand() as hand:
        view, bench = hand.view, hand.view.bench
        view.key("7", "7")
        assert view.notice() == "no view 7 yet: Ctrl+7 saves this one"
        for number in (0, 10, -1):
            with pytest.raises(InputError, match="1 to 9"):
                view.send("keep_view", number)
        view.key("o", "o")
        assert bench.camera.orthographic
        view.tick(0.5)
        for plate in (plate for plate in bench.layout.plates if plate.start >= 0):
            centres, there = bench.scenery.values.places(plate)
            for element in np.flatnonzero(there):
                assert bench.pick(tuple(centres[element] * bench.scale)) == plate.start + element
