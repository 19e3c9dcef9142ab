"""Cubes as large as their numbers, and hidden ones: areas counted in pixels, marks, numbers, keys, bad input."""

from __future__ import annotations

import numpy as np
import pytest

from kit.benches import again, bench_of, said
from kit.plates import arrays
from scalarviz import Run, nn, optim
from scalarviz.errors import InputError, TypeMismatchError
from scalarviz.run import Scene
from scalarviz.run.questions.ranges import Range
from scalarviz.view.cubes.atlas import LEAST, THRESHOLDS, Sizing
from scalarviz.view.cubes.slab import SlabVisual
from scalarviz.view.ink.maps import get_map
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.render import render
from scalarviz.view.screen.strip import bar_pixels
from scalarviz.view.space.camera import fit
from scalarviz.view.space.layout import layout_for
from scalarviz.view.watch.live import LiveView

SIZE = (480, 320)
X = np.random.default_rng(0).random((16, 3))


def straight_on(shape):
    """A plate of this shape seen from straight before it, so that only main faces are seen."""
    layout = layout_for(*arrays(shape), SIZE)
    (plate,) = layout.plates
    outward = plate.axes[2] / plate.pitch
    azimuth = float(np.degrees(np.arctan2(outward[0], -outward[1])))
    camera = fit(plate.corners, SIZE, azimuth=azimuth, elevation=float(np.degrees(np.arcsin(outward[2]))))
    return layout, plate, camera


def faces(layout, plate, camera, flat, sizing, range_=None, flags=None):
    """Pixels that each cube covers."""
    with offscreen():
        visual = SlabVisual(layout)
        visual._trays._trays = visual._trays._flow = None
        visual.sizing = sizing
        visual.set_range(range_ or 1.0)
        visual.set_flat(np.asarray(flat, np.float32))
        visual.set_flags(**(flags or {}))
    image = offscreen().render(lambda box: visual.draw(camera, box), SIZE, background=(1.0, 1.0, 1.0))
    there = np.any(image != 255, axis=2)
    middles = camera.project([plate.centre_of(k) for k in range(plate.size)])
    rows, cols = np.nonzero(there)
    nearest = np.argmin(np.abs(middles[None] - np.stack([cols, rows], 1)[:, None]).max(2), axis=1)
    return np.bincount(nearest, minlength=plate.size)


@pytest.mark.gl
@pytest.mark.parametrize("range_", [Range.symmetric(2.0), Range.symmetric(2.0, "symlog"), Range(1e-4, 2.0, "log")])
def test_the_area_of_a_face_is_the_number_beside_the_range(range_):
    layout, plate, camera = straight_on((3, 4))
    flat = np.array([2.0, 1.0, 0.5, 0.1, -2.0, -1.0, -0.5, 1e-3, 0.0, 3.0, -9.0, 1.5])
    if range_.scale == "log":
        flat = np.abs(flat)
    place = {"linear": np.abs(flat) / 2, "symlog": np.log1p(80 * np.abs(flat) / 2) / np.log(81),
             "log": 1 + np.log10(np.maximum(flat, 1e-4) / 2) / np.log10(2e4)}[range_.scale]  # fmt: skip
    found = faces(layout, plate, camera, flat, Sizing(True), range_)
    largest = found.max()
    np.testing.assert_allclose(np.sqrt(found / largest), np.maximum(np.sqrt(np.clip(place, 0, 1)), LEAST), atol=0.04)


@pytest.mark.gl
@pytest.mark.parametrize("by_value", [False, True])
def test_what_is_below_the_threshold_is_not_drawn(by_value):
    layout, plate, camera = straight_on((3, 4))
    flat = np.linspace(-1, 1, 12)
    found = faces(layout, plate, camera, flat, Sizing(by_value, 0.3))
    np.testing.assert_array_equal(found > 0, np.abs(flat) >= 0.3)
    if not by_value:
        assert np.ptp(found[found > 0]) < 0.1 * found.max()


@pytest.mark.gl
def test_what_carries_a_mark_is_as_large_as_can_be():
    layout, plate, camera = straight_on((3, 4))
    flat = np.full(12, 0.04)
    flat[:4] = np.nan, np.inf, -np.inf, 1.0
    missing, frozen = np.zeros(12, bool), np.zeros(12, bool)
    missing[5], frozen[6] = True, True
    found = faces(layout, plate, camera, flat, Sizing(True), flags={"not_computed": missing, "frozen": frozen})
    large = found > 0.9 * found.max()
    assert np.flatnonzero(large).tolist() == [0, 1, 2, 3, 5]
    hidden = faces(layout, plate, camera, flat, Sizing(True, 0.1), flags={"not_computed": missing, "frozen": frozen})
    assert np.flatnonzero(hidden).tolist() == [0, 1, 2, 3, 5]


@pytest.mark.gl
def test_below_six_pixels_a_smaller_cube_is_a_fainter_cell():
    layout, plate, camera = straight_on((100, 150))
    flat = np.zeros(15_000)
    flat[: 150 * 50] = 1.0
    flat[150 * 50 :] = 0.25
    with offscreen():
        visual = SlabVisual(layout)
        visual.sizing = Sizing(True)
        visual.set_flat(flat)
    image = offscreen().render(lambda box: visual.draw(camera, box), SIZE).astype(float)
    picked = [
        image[tuple(np.rint(camera.project(plate.cell_centre(row, 75))[0][::-1] - 0.5).astype(int))] for row in (20, 80)
    ]
    blank = np.array([int(visual.theme.tray[k : k + 2], 16) for k in (1, 3, 5)])
    colours = [255 * get_map("weight")(value) for value in (1.0, 0.25)]
    np.testing.assert_allclose(picked[0], colours[0], atol=3)
    np.testing.assert_allclose(picked[1], 0.25 * colours[1] + 0.75 * blank, atol=3)


def run(steps=5):
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    made = Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.05), (X, 1 - X), engine="numpy")
    made.step(steps)
    return made


@pytest.fixture
def live():
    view = Unseen(lambda size: LiveView(Scene("t", run()), (1280, 720), playing=False)).view
    with offscreen():
        view.tick(0.0)
        yield view
        view.close()


def texts(view):
    view.tick(0.5)
    return said(view.bench)


@pytest.mark.gl
def test_keys_change_sizes_and_threshold(live):
    live.key("j", "j")
    assert live.bench.sizing == Sizing(True)
    seen = []
    for _ in range(len(THRESHOLDS) + 1):
        live.key("period", ">", shift=True)
        seen.append(live.bench.sizing.threshold)
    assert seen == [*THRESHOLDS[1:], 0.9, 0.9]
    assert any("by colour and size, below 90 % hidden" in text for text in texts(live))
    for _ in range(len(THRESHOLDS)):
        live.key("<", "<")
    live.key("j", "j")
    assert live.bench.sizing == Sizing()


@pytest.mark.gl
def test_a_number_stands_only_on_a_cube_that_holds_it(live):
    whole = sum(text[:1] in "+\N{MINUS SIGN}" and len(text) == 5 for text in texts(live))
    live.key("j", "j")
    values = live.shown.values
    share = np.sqrt(np.abs(values) / live.bench.colouring.range.high)
    small = sum(text[:1] in "+\N{MINUS SIGN}" and len(text) == 5 for text in texts(live))
    assert whole - small == np.count_nonzero(share * live.bench.scenery.values.size < 13)


@pytest.mark.gl
def test_inside_an_opened_step_cubes_are_alike(live):
    live.key("j", "j")
    live.send("micro_next")
    live.tick(0.1)
    assert live.bench.slab.shares is None
    live.send("escape")
    live.tick(0.1)
    assert live.bench.slab.shares is not None


@pytest.mark.gl
def test_a_picture_is_that_of_its_arguments_at_another_size_too_and_the_legend_is_blank_where_cubes_are_hidden():
    bench = bench_of({"a": np.random.default_rng(0).normal(size=(5, 6))}, SIZE, sizing=Sizing(True, 0.1))
    bench.resize((640, 360))
    assert again(bench).slab.sizing == Sizing(True, 0.1)
    bar = bar_pixels(get_map("weight"), 100, (0.4, 0.6), "#123456")[0]
    assert np.flatnonzero(np.all(bar == (0x12, 0x34, 0x56), axis=1)).tolist() == list(range(40, 60))
    array = {"a": np.array([[1.0, 0.5], [0.01, -1.0]])}
    plain = render(array, SIZE)
    assert np.any(render(array, SIZE, sized=True) != plain)
    assert np.any(render(array, SIZE, threshold=0.1) != plain)
    np.testing.assert_array_equal(render(array, SIZE, threshold=0.0, sized=False), plain)


@pytest.mark.gl
@pytest.mark.parametrize(
    ("given", "error", "said"),
    [({"threshold": 1.0}, InputError, "from 0 to below 1"), ({"threshold": -0.1}, InputError, "from 0 to below 1"),
     ({"threshold": float("nan")}, InputError, "from 0 to below 1"),
     ({"threshold": "some"}, TypeMismatchError, "a share of the range"),
     ({"threshold": True}, TypeMismatchError, "a share of the range"), ({"sized": 3}, TypeMismatchError, "sized")],
)  # fmt: skip
def test_bad_input_is_told(given, error, said):
    with pytest.raises(error, match=said):
        render({"a": np.eye(2)}, SIZE, **given)
