"""In a small wide picture the panel that a scene is all about stands beside the cubes."""

from __future__ import annotations

from itertools import combinations

import pytest

from scalarviz.view.ink.boxes import ABOUT, MARGIN, Wanted, arrange
from scalarviz.view.ink.sketch import meet

MAP = Wanted("map", 300.0, worth=ABOUT)
CURVE = Wanted("curve", 160.0, 400.0)


@pytest.mark.parametrize("size", [(640, 360), (700, 420), (800, 500), (900, 600), (900, 880)])
@pytest.mark.parametrize("more", [{}, {"time": True}, {"keys": True}, {"time": True, "keys": True}])
def test_it_stands_inside_and_apart_from_all_others(size, more):
    places = arrange(size, [CURVE, MAP], **more)
    boxes = [box for box in (places.scene, places.hud, places.strip, places.time, *places.panels.values()) if box]
    assert "map" in places.panels
    for x, y, wide, high in boxes:
        assert min(wide, high) > 0
        assert min(x, y, places.size[0] - x - wide, places.size[1] - y - high) >= -1e-6
    assert not any(meet(one, other, -1e-6) for one, other in combinations(boxes, 2))


def test_cubes_keep_more_of_the_picture_than_it_takes_and_other_panels_and_smaller_pictures_have_none():
    small = (640, 360)
    places = arrange(small, [CURVE, MAP])
    left, _, wide, _ = places.panels["map"]
    assert places.scene[2] > 1.5 * wide
    assert left + wide == pytest.approx(640 - MARGIN)
    assert places.left_out == ("curve",)
    for size, wanted in ((small, CURVE), ((480, 270), MAP), ((300, 360), MAP)):
        assert arrange(size, [wanted]).panels == {}
