import numpy as np
import pytest

from scalarviz.errors import InputError
from scalarviz.view.space.camera import basis, fit

BOX = np.array([[x, y, z] for x in (0, 4) for y in (0, 3) for z in (0, 1)], float)
SIZE, RECT = (1280, 720), (92.0, 84.0, 700.0, 556.0)
VIEWS = [(-10, 48, 17.0), (-42, 13, None), (30, 80, 9.0), (0, 0, None)]


@pytest.mark.parametrize(("azimuth", "elevation", "distance"), VIEWS)
def test_the_points_fill_the_rectangle(azimuth, elevation, distance):
    pixels = fit(BOX, SIZE, RECT, azimuth=azimuth, elevation=elevation, distance=distance).project(BOX)
    low, high = pixels.min(0), pixels.max(0)
    room = np.array([RECT[2] - RECT[0], RECT[3] - RECT[1]])
    assert (low >= np.array(RECT[:2]) - 1e-6).all()
    assert (high <= np.array(RECT[2:]) + 1e-6).all()
    assert np.isclose((high - low) / room, 1.0).any(), "one direction is filled"
    np.testing.assert_allclose((low + high) / 2, [396, 320])


@pytest.mark.parametrize(("azimuth", "elevation", "distance"), VIEWS)
def test_projection_agrees_with_rays(azimuth, elevation, distance):
    """A point moved along its own line of sight stays on its pixel; one moved across it by 1 moves by the stated px."""
    camera = fit(BOX, SIZE, RECT, azimuth=azimuth, elevation=elevation, distance=distance)
    right, _, _ = basis(azimuth, elevation)
    for point in BOX:
        towards = camera.towards_eye(point)
        closer = point + 0.05 * towards
        np.testing.assert_allclose(camera.project(closer), camera.project(point), atol=1e-8)
        shift = camera.project(point + 0.01 * right) - camera.project(point)
        np.testing.assert_allclose(shift, [[0.01 * camera.pixels_per_unit(point)[0], 0]], atol=1e-8)


@pytest.mark.parametrize(("azimuth", "elevation", "distance"), VIEWS)
def test_depth_is_inside_the_buffer_uses_most_of_it_and_grows_away_from_the_eye(azimuth, elevation, distance):
    camera = fit(BOX, SIZE, RECT, azimuth=azimuth, elevation=elevation, distance=distance)

    def depth(points):
        clip = np.concatenate([points, np.ones((len(points), 1))], axis=1) @ camera.matrix.T
        return clip[:, 2] / clip[:, 3]

    z = depth(BOX)
    assert z.min() > -1
    assert z.max() < 1
    assert np.ptp(z) > 1.5
    closer = BOX + 0.01 * np.array([camera.towards_eye(p) for p in BOX])
    assert (depth(closer) < z).all()


def test_the_axes_are_a_turntables():
    camera = fit(BOX, SIZE, azimuth=0, elevation=0)
    x, y, z = camera.project(np.eye(3)) - camera.project(np.zeros((1, 3)))
    assert x[0] > 0
    assert abs(x[1]) < 1e-9
    np.testing.assert_allclose(y, 0, atol=1e-9)  # +y away
    assert z[1] < 0
    assert abs(z[0]) < 1e-9
    left = fit(BOX, SIZE, azimuth=-90, elevation=0)  # the eye has gone to -x
    assert left.towards_eye(np.zeros(3))[0] == pytest.approx(-1)


def test_only_perspective_makes_far_things_small():
    near, far = np.array([[0, 0, 0], [1, 0, 0]], float), np.array([[0, 8, 0], [1, 8, 0]], float)
    for distance, ratio in ((None, 1.0), (20.0, 16 / 24)):
        camera = fit(np.concatenate([near, far]), SIZE, azimuth=0, elevation=0, distance=distance)
        lengths = [np.linalg.norm(np.diff(camera.project(line), axis=0)) for line in (near, far)]
        assert lengths[1] / lengths[0] == pytest.approx(ratio)
        assert camera.orthographic is (distance is None)


def test_a_point_and_a_flat_set_have_a_camera():
    assert np.isfinite(fit([[1, 2, 3]], (100, 50), azimuth=0, elevation=0).project([[1, 2, 3]])).all()
    assert np.isfinite(fit(BOX[:1] * 0, (100, 50), azimuth=9, elevation=9, distance=5).matrix).all()


@pytest.mark.parametrize(
    ("points", "size", "rect", "distance"),
    [
        (np.zeros((0, 3)), SIZE, None, None),
        ([[np.nan, 0, 0]], SIZE, None, None),
        ([[np.inf, 0, 0]], SIZE, None, None),
        (BOX, (0, 10), None, None),
        (BOX, SIZE, (5, 5, 5, 9), None),
        (BOX, SIZE, None, 0.5),
        (BOX[:, :2], SIZE, None, None),
    ],
)
def test_what_cannot_be_fitted_is_refused(points, size, rect, distance):
    with pytest.raises(InputError, match="camera"):
        fit(points, size, rect, azimuth=0, elevation=0, distance=distance)
