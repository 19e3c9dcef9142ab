"""Views that are kept, parallel lines, a scene that turns: where points lie on the screen, by key and by name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.plates import chain, whole
from scalarviz.errors import InputError
from scalarviz.run import Scene
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.space.camera import Pose, between, camera_of, in_perspective, parallel, pose_of
from scalarviz.view.space.viewpoint import GLIDE, TURN, Viewpoint
from scalarviz.view.watch.live import LiveView

from .test_quantities import run

SIZE = (480, 320)


def viewpoint(*sizes):
    return Viewpoint(whole(chain(*sizes), SIZE))


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
    start, ways = view.camera.azimuth, []
    assert view.go(3)
    for _ in range(3):  # the way there ends softly
        view.tick(GLIDE / 4)
        ways.append((view.camera.azimuth - start + 180) % 360 - 180)
    np.testing.assert_allclose(np.array(ways) / ways[-1], np.array([37, 56, 63]) / 63, atol=1e-9)
    view.tick(GLIDE)
    np.testing.assert_allclose(seen(view), kept, atol=1e-6)
    assert view.go(4)
    settle(view)
    np.testing.assert_allclose(seen(view), other, atol=1e-6)
    assert not view.go(5)
    assert not view.gliding
    view.fit()
    settle(view)
    assert view.camera is view._layout.camera


@pytest.mark.parametrize("sizes", [(3, 3), (3, 16, 16, 3)])
def test_parallel_lines_stay_parallel_and_the_middle_stays(sizes):
    view = viewpoint(*sizes)
    middle = view._layout.bounds.mean(axis=0)
    before = view.camera.project(middle), view.camera.pixels_per_unit(middle)
    was = view.camera.orthographic
    assert view.toggle_parallel() != was
    assert view.camera.orthographic != was
    np.testing.assert_allclose(view.camera.project(middle), before[0], atol=1e-6)
    np.testing.assert_allclose(view.camera.pixels_per_unit(middle), before[1], rtol=1e-9)
    sides = [np.diff(view.camera.project(middle + np.array([[0, 0, z], [1, 0, z]])), axis=0) for z in (-1.0, 1.0)]
    assert np.allclose(*sides, atol=1e-9) == view.camera.orthographic
    assert view.toggle_parallel() == was


def test_zoom_has_the_same_limits_in_both():
    for toggles in (0, 1):
        view = viewpoint(3, 3)
        middle = view._layout.bounds.mean(axis=0)
        fitted = view.camera.pixels_per_unit(middle)[0]
        if toggles:
            view.toggle_parallel()
        for _ in range(60):
            view.zoom(0.8, (240.0, 160.0))
        assert view.camera.pixels_per_unit(middle)[0] == pytest.approx(0.2 * fitted, rel=0.02)


@settings(max_examples=30, deadline=None)
@given(st.floats(-180, 180), st.floats(-80, 80), st.floats(5, 60), st.floats(3, 30))
def test_there_and_back_is_the_same_pose(azimuth, elevation, scale, distance):
    pose = Pose(azimuth, elevation, np.zeros(3), np.array([100.0, 90.0]), scale, None)
    again = parallel(in_perspective(pose, distance))
    assert again.scale == pytest.approx(scale)
    points = np.random.default_rng(0).normal(size=(20, 3))
    for one in (pose, in_perspective(pose, distance + 6)):
        camera = camera_of(one, SIZE, points)
        np.testing.assert_allclose(pose_of(camera, np.zeros(3)).place, [100, 90], atol=1e-6)
    half = between(in_perspective(pose, distance), pose, 0.5)
    assert half.eye is None
    assert half.scale == pytest.approx(scale)


def test_a_scene_that_turns_goes_round_and_stops():
    view = viewpoint(3, 16, 16, 3)
    start, elevation = view.camera.azimuth, view.camera.elevation
    view.turning = True
    for _ in range(20):
        view.tick(0.5)
    assert view.gliding
    turned = (view.camera.azimuth - start) % 360
    assert turned == pytest.approx(TURN * 10 % 360)
    assert view.camera.elevation == pytest.approx(elevation)
    view.fit()
    settle(view)
    assert view.camera.azimuth == pytest.approx(start)
    view.tick(1.0)
    assert view.camera.azimuth == pytest.approx(start)


def test_another_size_keeps_views_and_projection():
    view = viewpoint(3, 16, 16, 3)
    view.orbit(40, 10)
    view.toggle_parallel()
    view.keep(2)
    here = seen(view)
    view.relaid(whole(chain(3, 16, 16, 3), (960, 640)))
    assert not view.camera.orthographic
    view.orbit(90, 0)
    view.go(2)
    view.tick(None)
    middle, was = seen(view).mean(axis=0), here.mean(axis=0)
    np.testing.assert_allclose(middle, 2 * was, rtol=0.05)


@pytest.fixture
def live():
    made = Unseen(lambda size: LiveView(Scene("t", run()), (960, 540), playing=False)).view
    with offscreen():
        made.tick(0.0)
        yield made
        made.close()


@pytest.mark.gl
def test_keys_keep_and_go(live):
    live.bench.orbit(60.0, 10.0)
    kept = live.bench.camera.azimuth
    live.key("1", "1", ctrl=True)
    assert live.notice() == "view 1 is kept: 1 comes back to it"
    live.key("f", "f")
    live.tick(0.2)
    live.tick(0.2)
    assert live.bench.camera.azimuth != pytest.approx(kept)
    live.key("Digit1", "1")
    live.tick(0.2)
    live.tick(0.2)
    assert live.bench.camera.azimuth == pytest.approx(kept)
    live.key("7", "7")
    assert live.notice() == "no view 7 is kept: Ctrl+7 keeps this one"
    for number in (0, 10, -1):
        with pytest.raises(InputError, match="1 to 9"):
            live.send("keep_view", number)


@pytest.mark.gl
def test_keys_of_the_projection_and_the_turntable(live):
    assert not live.bench.camera.orthographic
    live.key("o", "o")
    assert live.bench.camera.orthographic
    assert live.notice() == "parallel lines"
    azimuth = live.bench.camera.azimuth
    live.key("y", "y")
    assert live.tick(0.5)
    assert live.bench.camera.azimuth == pytest.approx(azimuth + TURN / 2)
    live.key("y", "y")
    live.tick(5.0)
    live.tick(5.0)
    assert not live.tick(0.5)
    assert live.bench.camera.azimuth == pytest.approx(azimuth + TURN / 2)


@pytest.mark.gl
def test_numbers_of_cubes_stay_readable_from_every_projection(live):
    """A cube under the pointer is the one whose number stands there, whatever the lines do."""
    live.key("o", "o")
    live.tick(0.5)
    bench = live.bench
    for plate in bench.layout.plates:
        if plate.start >= 0:
            centres, there = bench.scenery.values.places(plate)
            for element in np.flatnonzero(there):
                assert bench.pick(tuple(centres[element] * bench.scale)) == plate.start + element
