"""Legends against their maps, and the places of any panels at any size: inside, apart, or left out by name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kit.benches import overlap
from scalarviz.view.cubes.scale import LegendScale
from scalarviz.view.ink.boxes import ABOUT, PRESENTER, Wanted, arrange
from scalarviz.view.ink.maps import get_map
from scalarviz.view.ink.painter import Painter
from scalarviz.view.ink.theme import DARK
from scalarviz.view.out.offscreen import render
from scalarviz.view.screen.strip import bar_pixels, legend

BOX = (24.0, 40.0, 344.0, 76.0)


@pytest.mark.gl
@pytest.mark.parametrize("name", ["weight", "gradient", "grey", "viridis"])
def test_the_legend_has_the_colours_of_the_map_and_a_mark_above_its_own(name):
    cmap = get_map(name, DARK)
    scale = LegendScale(name, "", cmap, [], np.array([0.0, 0.25, 1.0]))
    sketch = legend(BOX, DARK, scale, bar_pixels(cmap, 344))
    picture = render(lambda _: Painter((400, 300)).draw([sketch]), (400, 300))
    unit = (np.arange(344) + 0.5) / 344
    expected = cmap(2 * unit - 1 if cmap.diverging else unit) * 255
    assert np.abs(picture[40 + 14 + 20 + 7, 24 : 24 + 344] - expected).max() <= 1.0
    assert set(np.nonzero(picture[40 + 14 + 20 - 4].max(axis=1) > 90)[0]) == {24, 24 + 86, 24 + 343}


KINDS = st.lists(
    st.tuples(st.floats(40, 400), st.sampled_from([0.0, 325.0, 420.0]), st.integers(0, ABOUT + 1)), max_size=12
)


@settings(max_examples=300, deadline=None)
@given(kinds=KINDS, loss=st.booleans(), keys=st.booleans(), time=st.booleans(), hall=st.booleans(),
       size=st.tuples(*[st.integers(160, 4000)] * 2))  # fmt: skip
@example([(300.0, 0.0, ABOUT)], False, True, True, False, (640, 360))
@example([(117.0, 0.0, 0), (166.0, 0.0, 2)], True, True, True, True, (1024, 768))
@example([(140.0, 0.0, 1), (250.0, 0.0, 2)], True, True, True, False, (720, 1140))
def test_any_panels_are_inside_and_apart_or_left_out_by_name(kinds, loss, keys, time, hall, size):
    wanted = [Wanted(f"panel {k}", *kind) for k, kind in enumerate(kinds)]
    if loss:
        wanted.insert(len(wanted) // 2, Wanted("loss", 150.0, 420.0, first=True))
    places = arrange(size, wanted, keys=keys, time=time, presenter=hall)
    found = [*places.panels.values(), places.scene, *(box for box in (places.hud, places.strip, places.time) if box)]
    boxes = [(x, y, x + wide, y + high) for x, y, wide, high in found]
    for k, box in enumerate(boxes):
        assert 0 <= box[0] < box[2] <= places.size[0] + 0.01
        assert 0 <= box[1] < box[3] <= places.size[1] + 0.01
        assert not any(overlap(box, other, 0.01) for other in boxes[:k])
    if places.left_out and places.panels:  # how many, below the last panel
        x, y, wide, high = places.more
        assert not any(overlap((x, y, x + wide, y + high), box, 0.01) for box in boxes[: len(places.panels)])
    for want in wanted:
        assert (want.name in places.panels) != (want.name in places.left_out)
        if want.name in places.panels and want.worth < ABOUT:
            own = places.panels[want.name][3]
            assert want.height - 0.01 <= own
            assert own <= max(want.height, want.most) + 0.01 or want.first
    if loss and places.panels and places.size[1] >= 200 and max((want.worth for want in wanted), default=0) < ABOUT:
        assert "loss" in places.panels
    plain = arrange(size, wanted, keys=keys)
    assert places.scale == plain.scale * (PRESENTER if hall else 1.0) >= 1
    if places.time is not None and not hall:  # no panel makes way for the time bar, and it keeps to its place
        assert places.panels.keys() == plain.panels.keys()
        assert places.strip is None or places.strip[1] + places.strip[3] + 8 <= places.time[1]
        assert places.keys is None or places.time[1] + places.time[3] < places.keys - 10


@pytest.mark.parametrize("more", [{}, {"time": True}, {"keys": True}, {"time": True, "keys": True}])
def test_what_a_scene_is_about_has_room_before_other_panels_and_none_in_small_pictures(more):
    beside, curve = Wanted("map", 300.0, worth=ABOUT), Wanted("curve", 160.0, 400.0)
    for size in ((640, 360), (700, 420), (800, 500), (900, 600), (900, 880)):
        places = arrange(size, [curve, beside], **more)
        assert places.scene[2] > 1.3 * places.panels["map"][2]
    for size, wanted in (((640, 360), curve), ((480, 270), beside), ((300, 360), beside)):
        assert arrange(size, [wanted], **more).panels == {}
