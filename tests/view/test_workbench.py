"""The composed picture: every number on it is true, it answers to hands, and nothing of it touches the training."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import (
    KEYS,
    again,
    assert_readable,
    bench_of,
    box_of,
    face_of,
    overlap,
    pixels_of,
    rgb,
    said,
    said_above,
    signed,
    texts,
)
from kit.benches import words as written
from scalarviz import nn, optim
from scalarviz.errors import UnknownNameError
from scalarviz.run.core.gather import weight_name
from scalarviz.run.panels import ColourCube, LossCurve, Pictures
from scalarviz.view.ink.text import measure
from scalarviz.view.ink.theme import DARK, LIGHT
from scalarviz.view.ink.theme import rgb as colour
from scalarviz.view.ink.widgets import help_pages, help_panel, wrapped
from scalarviz.view.interaction import plate_of
from scalarviz.view.panels.colour_cube import HINT, hexed
from scalarviz.view.shown.names import who
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.watch.actions import ActionContext, help_lines
from scalarviz.view.watch.viewer import Viewer

SIZES = [(1280, 720), (640, 360), (720, 1280), (400, 400), (160, 160)]
TURNS = [(1, 0), (60, 0), (-60, 0), (150, -60), (300, 40), (450, 0), (0, -150), (0, 130), (-200, 90)]
MESSAGE = (
    "DivergedError: the loss is no longer finite at step 1,234: first weight 0.weight[2][0] = nan; "
    "try a lower learning rate (now 4)"
)


DEAD = "no gradient reaches layer 1: all 8 units of relu are dead"


@pytest.fixture(scope="module")
def single():
    with (made := rgb()).run:
        yield made


@pytest.fixture(scope="module")
def deep():
    with (made := rgb(16, 16)).run:
        yield made


@pytest.fixture(params=["single", "deep"])
def scene(request):
    return request.getfixturevalue(request.param)


def keyed(scene, size=(1280, 720), **options):
    return bench_of(scene, size, keys=KEYS, **options)


def test_the_networks_pictures_are_its_own(single):
    photo, frame = np.random.default_rng(0).random((24, 36, 3)), single.run.frame(single.probe)
    bench = bench_of(sv.Scene("photo", single.run, panels=(Pictures(photo, 1 - photo),)))
    _, now, wanted = [i.pixels for s in bench.sketches for i in s.images if i.pixels.shape == photo.shape]
    made = single.run.predict(photo.reshape(-1, 3), frame.values).reshape(photo.shape)
    assert np.abs(now - 255 * made).max() <= 0.51
    assert np.abs(wanted - 255 * (1 - photo)).max() <= 0.51


@pytest.mark.gl
def test_the_picture_has_its_ground_and_the_samples_colours_and_is_the_same_in_twice_the_resolution(deep):
    bench = bench_of(deep)
    picture = pixels_of(bench)
    ground, glow = (np.array([round(255 * c) for c in colour(name)]) for name in (DARK.background, DARK.glow))
    assert all(np.array_equal(picture[y, x], ground) for y in (0, -1) for x in (0, -1))
    assert (np.abs(picture - ground).max(axis=2) > np.abs(glow - ground).max() + 2).mean() > 0.2
    large, small = (
        pixels_of(bench_of(deep, supersample=k)).reshape(90, 8 * k, 160, 8 * k, 3).mean(axis=(1, 3)) for k in (1, 2)
    )
    assert np.abs(small - large).mean() < 2
    assert (np.abs(small - large).max(axis=2) < 25).mean() > 0.97
    words, output = texts(bench.sketches), deep.run.predict(deep.probe[None], deep.run.frame().values)[0]
    for name, wanted in (("input", deep.probe), ("output", output), ("target", deep.probe_target)):
        label = [t for t in words if t.text == name][-1]  # the row of cubes has its own, placed before
        assert np.abs(picture[round(label.y) + 30, round(label.x)] - 255 * np.asarray(wanted)).max() <= 2


@pytest.mark.parametrize("size", [(1280, 720), (640, 360)])
def test_the_words_of_a_cube_do_not_cover_it_and_the_inspectors_are_not_said_twice(scene, size):
    bench, every = keyed(scene, size), len(scene.run.values)
    seen = [index for index in range(0, every, max(1, every // 12)) if bench.pick(face_of(bench, index)) == index]
    assert len(seen) > 5
    for index in seen:
        bench.hover(face_of(bench, index))
        again(bench, 0.0)
        (label,) = (s for s in bench.overlays[1] if who(bench.subject, index).name in written([s]))
        plate, ground = plate_of(bench.layout, index), label.shapes[0]
        cube = bench.project(plate.corners_of(index - plate.start))
        (left, top), (right, low) = cube.min(axis=0), cube.max(axis=0)
        box = ground.x, ground.y, ground.x + ground.width, ground.y + ground.height
        assert not overlap(box, (left, top, right, low))
        bench.select(index)
        again(bench, 0.0)
        assert weight_name(scene.run.tensors, index) not in written(bench.overlays[1])
        bench.select(None)
        again(bench, 0.0)


def test_what_is_pointed_at_and_selected_follows_the_training():
    with (scene := rgb()).run as run:
        bench = keyed(scene, text_hz=10.0)
        bench.select(2)
        for k in range(4):
            bench.hover(face_of(bench, 4))
            if k < 3:
                run.step(5)
            else:
                run.set_weights(2, [float(run.values[2]) + bench.extent_of(2)])  # is answered at once
            again(bench, 1.0 if k < 3 else 0.001)
            assert signed(run.frame().values[4], 4) in written(bench.overlays[1])
            assert signed(run.frame().values[2], 4) in written(bench.overlays[0])
        moved = bench.interaction.inspector.moved(run.frame())
        assert moved.steps.tolist() == [20, 25, 30, 35]
        assert moved.values[-1] == run.frame().values[2]


@pytest.mark.gl
def test_what_is_touched_is_outlined_and_inspected_and_nothing_stays_of_it(single):
    bench = keyed(single)
    before, (x, y) = pixels_of(bench), map(int, face_of(bench, 5))
    for touch, what in ((bench.hover, (x, y)), (bench.select, 5)):
        touch(what)
        moved = np.abs(pixels_of(bench) - before).max(axis=2) > 40
        assert moved[y - 90 : y + 90, x - 90 : x + 90].any()
        assert who(bench.subject, 5).name in said_above(again(bench, 0.0))
        touch(None)
        assert np.array_equal(pixels_of(bench), before)
    assert bench.selected is None


@pytest.mark.parametrize("size", [(1280, 720), (640, 360), (720, 1280)])
def test_no_angle_garbles_the_text(scene, size):
    bench = keyed(scene, size)
    for turn in TURNS:
        bench.orbit(turn[0] * bench.scale, turn[1] * bench.scale)
        again(bench, 1 / 60)
        assert_readable(bench.sketches, bench.places.size)


@pytest.mark.parametrize("turn", [*TURNS[:5], (0, -60), (-90, -75), (450, -55)])
def test_a_number_on_a_cube_stands_on_that_cube(single, turn):
    bench, values = keyed(single), single.run.frame().values
    own = {signed(v) for v in values}
    for zoom in (1.0, 2.5):
        bench.orbit(*turn)
        bench.zoom(zoom, (400.0, 300.0))
        again(bench, 1 / 60)
        cubes = bench.scenery.cubes(bench.subject.frame(), bench.colouring, bench.activations)
        printed = [item for item in texts(cubes) if item.text in own]
        for item in printed:
            wide, y = measure(item.text, item.size, item.bold) / 2 - 2, item.y - 0.357 * item.size
            for dx in (-wide, 0.0, wide):
                index = bench.pick(((item.x + dx) * bench.scale, y * bench.scale))
                assert index is not None
                assert item.text == signed(values[index])
        assert len(printed) >= (3 if abs(turn[1]) < 100 and zoom == 1.0 else 0)


@pytest.mark.gl
def test_zooming_keeps_the_point_under_the_pointer_and_brings_no_cube_under_the_panels(deep):
    bench = keyed(deep)
    before, spot = pixels_of(bench), face_of(bench, 150)
    index = bench.pick(spot)
    for k in range(20):
        bench.zoom(1.15, spot)
        assert k > 10 or bench.pick(spot) == index is not None
    moved, (x, y, width, height) = pixels_of(bench) != before, map(int, bench.places.scene)
    assert not moved[:, x + width + 2 :].any()
    assert not moved[y + height + 3 :, :900].any()
    assert bench.pick((1100.0, 300.0)) is None


@pytest.mark.gl
def test_a_look_and_a_size_keep_camera_selection_and_test_curve(single):
    bench = keyed(single)
    bench.orbit(50.0, 10.0)
    bench.select(3)
    camera, losses = bench.camera, list(bench.side.drawer(LossCurve).losses)
    bench.set_look(theme="light", cmap="viridis")
    picture = pixels_of(bench)
    assert np.array_equal(picture[0, 0], [round(255 * c) for c in colour(LIGHT.background)])
    for look in ({"theme": "pink"}, {"cmap": "rainbow"}, {"quantity": "mass"}):
        with pytest.raises(UnknownNameError):
            bench.set_look(**look)
    assert np.array_equal(pixels_of(bench), picture)
    assert (bench.camera, bench.selected, bench.cmap_name) == (camera, 3, "viridis")
    bench.resize((1600, 900), 2)
    assert (bench.size, bench.side.drawer(LossCurve).losses) == ((3200, 1800), losses)
    assert (bench.camera.azimuth, bench.camera.elevation) == pytest.approx((camera.azimuth, camera.elevation))
    centre = bench.layout.bounds.mean(axis=0)
    assert np.allclose(bench.camera.project(centre), bench.layout.camera.project(centre))


def test_a_range_stays_until_a_refit_fits_it_and_the_picture_moves_until_it_has_grown():
    with (scene := rgb()).run as run:
        bench, frame, ticks = keyed(scene), run.frame(scene.probe), 0
        v = bench.extent_of(0)
        frame.values[:] *= 0.1
        bench.update(frame, "", 1 / 60)
        assert bench.colouring.range.high == pytest.approx(v)
        bench.refit_range()
        bench.update(frame, "", 1 / 60)
        assert bench.colouring.range.high == pytest.approx(0.1 * v)
        frame.values[:] *= 30.0
        bench.update(frame, "", 1 / 60)
        while bench.moving:
            bench.update(frame, "", 0.05)
            ticks += 1
            assert ticks < 100
        assert ticks > 5


@pytest.mark.parametrize("size", SIZES)
def test_help_turns_its_pages_and_messages_are_whole_at_every_size(single, size):
    bench, lines, shown = keyed(single, size), help_lines(ActionContext(subject_of(single))), []
    bench.interaction.table, view, count = lines, Viewer(bench), len(help_pages(bench.places.size, lines))
    for page in [*range(1, count + 1), 0]:
        view.send("toggle_help")
        assert bench.interaction.help == page
        assert_readable([help_panel(size, lines, DARK, page)] * bool(page), size)
        shown += said_above(again(bench, 0.0))
    if size[0] >= 960 and size[1] >= 540:  # no sentence is cut
        assert {text for line in lines for text in line if text} <= set(shown)
    bench.interaction.message = MESSAGE
    assert " ".join(said_above(again(bench, 0.0))).removeprefix("! ") == bench.interaction.message == MESSAGE
    assert_readable(bench.overlays[1], bench.places.size)


def test_long_words_are_broken_not_cut():
    lines = wrapped("a " + "x" * 200 + " b", 100.0)
    assert "".join(lines).replace(" ", "") == "a" + "x" * 200 + "b"
    assert all(measure(line, 13) <= 100 for line in lines)


def test_a_percent_sign_stays_beside_its_number():
    said = "Class 1 got 4 % of the votes, 100 %."
    for width in range(60, 300, 7):
        lines = wrapped(said, float(width))
        assert " ".join(lines) == said
        assert not any(line.startswith("%") for line in lines)


def test_a_colour_that_is_hovered_or_marked_says_what_it_is_to_become(single):
    bench = keyed(single)
    bench.next_panels()
    cube = again(bench).side.drawer(ColourCube)
    for x, which in ((1020.0, "source"), (1180.0, "target")):
        y = cube.box[1] + 85
        disc = cube.under((x, y))
        assert (disc.which, bench.hover((x, y))) == (which, True)
        above, output = said_above(again(bench, 0.0)), single.run.predict(np.array([disc.source]))[0]
        now = {hexed(disc.source), f"is now {hexed(tuple(map(float, output)))}", f"target: {hexed(disc.target)}"}
        assert (now if which == "source" else {hexed(disc.target), f"target of {hexed(disc.source)}"}) <= set(above)
    bench.hover(None)
    cube.marked = (1.0, 1.0, 1.0)
    assert HINT in said_above(again(bench, 0.0))
    assert [bench.let_go(), bench.let_go()] == [True, False]
    assert said_above(again(bench, 0.0)) == []


def in_trouble(activation, width, bias):
    net = nn.Sequential(nn.Linear(3, width), activation(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 3))
    net.initialize(nn.init.normal(0, 0.5), seed=1)
    x = np.random.default_rng(0).random((64, 3))
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=(x, 1 - x), engine="numpy")
    net[0].bias.data = np.full(width, bias)
    run.step(2)
    return sv.Scene("trouble", run, x[0], 1 - x[0], ("r", "g", "b"), ("r", "g", "b"))


TROUBLE = [
    *((nn.ReLU, 8, -100.0, "all 8 units of relu are dead", size) for size in (*SIZES[:4], (2000, 500))),
    (nn.ReLU, 32, -100.0, "all 32 units of relu are dead", SIZES[0]),
    (nn.Tanh, 4, 30.0, "tanh is saturated", SIZES[0]), (nn.Tanh, 32, 30.0, "tanh is saturated", SIZES[0]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "width", "bias", "why", "size"), TROUBLE)
def test_trouble_is_said_and_covers_no_cube_and_no_word(kind, width, bias, why, size):
    bench = bench_of(in_trouble(kind, width, bias), size)
    assert any("no gradient reaches layer 1" in line for line in said(bench))
    assert f"no gradient reaches layer 1: {why}" in said(bench) or size != SIZES[0]
    note = [s.texts for s in bench.sketches if any(item.text == "!" for item in s.texts)]
    others = [box_of(item) for item in texts(bench.sketches) if not note or item not in note[0]]
    for box in map(box_of, note[0] if note else ()):  # where it has no room it is said in the HUD
        assert not any(overlap(box, other) for other in others)
        spots = [(x, y) for x in np.linspace(box[0], box[2], 9) for y in np.linspace(box[1], box[3], 3)]
        assert not any(bench.pick((x * bench.scale, y * bench.scale)) is not None for x, y in spots)


def test_trouble_stays_nearest_to_its_own_layer_and_goes_with_the_trouble():
    scene, places = in_trouble(nn.ReLU, 8, -100.0), set()
    bench = bench_of(scene)
    for _ in range(4):
        places.add(next(box_of(item) for item in texts(bench.sketches) if item.text == DEAD))
        scene.run.step(1)
        again(bench, 0.5)
    ((left, _, right, bottom),) = places

    def away(name):
        points = bench.project(bench.layout.plate(name).corners)
        low, high, middle = points.min(axis=0), points.max(axis=0), np.array([(left + right) / 2, bottom])
        return float(np.hypot(*np.maximum(np.maximum(low - middle, middle - high), 0.0)))

    assert away("0.weight") <= min(away("2.weight"), away("4.weight"))
    bench.show_panels(False)
    assert "!" not in said(again(bench))  # there are only cubes
    bench.show_panels(True)
    assert DEAD in said(again(bench))
    scene.run.model[0].bias.data = np.ones(8)
    scene.run.step(1)
    assert not any("gradient reaches" in line or line == "!" for line in said(again(bench)))
