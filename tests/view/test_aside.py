"""In a small wide picture the panel that a scene is all about stands beside the cubes."""

from __future__ import annotations

import itertools

import pytest

from scalarviz.view.ink.places import ABOUT, MARGIN, Wanted, arrange

MAP = Wanted("map", 300.0, worth=ABOUT)
CURVE = Wanted("curve", 160.0, 400.0)


def boxes(places):
    found = (places.scene, places.hud, places.strip, places.time, *places.panels.values())
    return [box for box in found if box is not None]


@pytest.mark.parametrize("size", [(640, 360), (700, 420), (800, 500), (900, 600), (900, 880)])
@pytest.mark.parametrize("time", [False, True])
@pytest.mark.parametrize("keys", [False, True])
def test_it_stands_inside_and_apart_from_all_others(size, time, keys):
    places = arrange(size, [CURVE, MAP], time=time, keys=keys)
    assert "map" in places.panels
    wide, high = places.size
    for x, y, width, height in boxes(places):
        assert width > 0
        assert height > 0
        assert x >= 0
        assert y >= 0
        assert x + width <= wide + 1e-6
        assert y + height <= high + 1e-6
    for (ax, ay, aw, ah), (bx, by, bw, bh) in itertools.combinations(boxes(places), 2):
        assert ax + aw <= bx + 1e-6 or bx + bw <= ax + 1e-6 or ay + ah <= by + 1e-6 or by + bh <= ay + 1e-6


def test_cubes_keep_more_of_the_picture_than_it_takes():
    places = arrange((640, 360), [MAP])
    assert places.scene[2] > 1.5 * places.panels["map"][2]
    assert places.panels["map"][0] + places.panels["map"][2] == pytest.approx(640 - MARGIN)


@pytest.mark.parametrize(("size", "wanted"), [((640, 360), CURVE), ((480, 270), MAP), ((300, 360), MAP)])
def test_other_panels_and_smaller_pictures_have_the_cubes_alone(size, wanted):
    assert arrange(size, [wanted]).panels == {}


def test_what_has_no_room_is_counted():
    assert arrange((640, 360), [CURVE, MAP]).left_out == ("curve",)
