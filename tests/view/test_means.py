"""Below a pixel: the mean colour of what it covers. Thin patterns do not become coarse ones, and a NaN is not lost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.plates import arrays, whole
from scalarviz.run.questions.ranges import Range
from scalarviz.view.cubes.atlas import NAN, NOT_COMPUTED, POS_INF, Sizing
from scalarviz.view.cubes.slab import SlabVisual, block_means, cells_per_pixel, variant_for
from scalarviz.view.ink.maps import get_map
from scalarviz.view.out.offscreen import offscreen

SIDE = 1000
ROW, COL = np.indices((SIDE, SIDE))
PATTERNS = {
    "columns": (-1.0) ** COL,
    "rows": (-1.0) ** ROW,
    "checker": (-1.0) ** (ROW + COL),
    "thirds": np.where(COL % 3, -1.0, 1.0),
}


@given(st.integers(1, 9), st.integers(1, 9), st.integers(2, 5), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_a_block_has_the_mean_of_its_cubes(rows, cols, block, seed):
    rng = np.random.default_rng(seed)
    values = rng.uniform(-1.5, 1.5, (rows, cols)).astype(np.float32)
    flags = rng.choice([0, 0, 0, NAN, POS_INF, NOT_COMPUTED], (rows, cols)).astype(np.uint8)
    table = rng.integers(0, 256, (65, 3)).astype(np.uint8)
    found = block_means(values, flags, Range.symmetric(1.0), table, block)
    for top in range(0, rows, block):
        for left in range(0, cols, block):
            cells = [(r, c) for r in range(top, min(top + block, rows)) for c in range(left, min(left + block, cols))]
            places = [32 if flags[at] else round(min(max((float(values[at]) + 1) / 2, 0), 1) * 64) for at in cells]
            marks = [{NAN: 255, POS_INF: 170, NOT_COMPUTED: 40, 0: 0}[int(flags[at])] for at in cells]
            got = found[top // block, left // block]
            np.testing.assert_allclose(got[:3], np.mean(table[places].astype(float), axis=0), atol=0.501)
            assert got[3] == max(marks)


def slab_of(size):
    layout = whole(arrays((SIDE, SIDE)), size)
    with offscreen():
        return layout, SlabVisual(layout)


def inside(layout, slab, camera=None):
    """The pixels around the middle of the plate, (N, 3)."""
    camera = camera or layout.camera
    image = offscreen().render(lambda box: slab.draw(camera, box), layout.size).astype(float)
    corners = camera.project(layout.plates[0].corners)
    (x, y), reach = corners.mean(axis=0), int(0.2 * np.ptp(corners, axis=0).min())
    return image[int(y) - reach : int(y) + reach, int(x) - reach : int(x) + reach].reshape(-1, 3)


@pytest.mark.gl
@pytest.mark.parametrize("size", [(200, 112), (320, 180), (640, 360)])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_thin_pattern_is_one_colour_from_afar(pattern, size):
    layout, slab = slab_of(size)
    slab.set_flat(PATTERNS[pattern].ravel())
    pixels = inside(layout, slab)
    ends = 255 * get_map("weight")([-1.0, 1.0])
    share = float(np.mean(PATTERNS[pattern] > 0))
    np.testing.assert_allclose(pixels.mean(axis=0), (1 - share) * ends[0] + share * ends[1], atol=4)
    assert pixels.std(axis=0).max() < 20


@pytest.mark.gl
def test_it_follows_numbers_range_and_map():
    layout, slab = slab_of((320, 180))
    assert variant_for(layout.plates[0], layout.camera, 1.0).means
    slab.set_flat(np.full(SIDE * SIDE, 0.5, np.float32))
    for v, name in ((1.0, "weight"), (0.5, "weight"), (0.5, "viridis")):
        with offscreen():
            slab.set_range(v)
            slab.set_colours(get_map(name))
        cmap = get_map(name)
        wanted = 255 * cmap(0.5 / v if cmap.diverging else 0.5 + 0.25 / v)
        np.testing.assert_allclose(inside(layout, slab).mean(axis=0), wanted, atol=2)
    slab.set_flat(np.full(SIDE * SIDE, -0.5, np.float32))
    np.testing.assert_allclose(inside(layout, slab).mean(axis=0), 255 * get_map("viridis")(0.0), atol=2)


@pytest.mark.gl
def test_one_nan_among_a_million_is_seen():
    layout, slab = slab_of((320, 180))
    values = np.zeros(SIDE * SIDE, np.float32)
    slab.set_flat(values)
    plain = inside(layout, slab)
    values[SIDE * 507 + 503] = np.nan
    slab.set_flat(values)
    assert np.any(inside(layout, slab) != plain)


@pytest.mark.gl
def test_near_cubes_are_not_averaged_and_sizes_are_sampled():
    layout, slab = slab_of((1280, 720))
    assert cells_per_pixel(layout.plates[0], layout.camera, 1.0) < 4
    assert not variant_for(layout.plates[0], layout.camera, 1.0).means
    layout, slab = slab_of((320, 180))
    slab.set_flat(np.full(SIDE * SIDE, 0.25, np.float32))
    slab.sizing = Sizing(True)
    blank = np.array([int(slab.theme.tray[k : k + 2], 16) for k in (1, 3, 5)])
    wanted = 0.25 * 255 * get_map("weight")(0.25) + 0.75 * blank
    np.testing.assert_allclose(inside(layout, slab).mean(axis=0), wanted, atol=3)
