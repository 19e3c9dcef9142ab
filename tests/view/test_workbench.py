"""The composed picture: every number on it is true, it answers to hands, and nothing of it touches the training."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import (
    KEYS,
    again,
    assert_readable,
    bench_of,
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
from scalarviz.errors import UnknownNameError
from scalarviz.run.core.gather import weight_name
from scalarviz.run.panels import ColourCube, LossCurve, Pictures
from scalarviz.view.ink.overlay import help_pages, help_panel, wrapped
from scalarviz.view.ink.sketch import Bound
from scalarviz.view.ink.text import measure, number
from scalarviz.view.ink.theme import DARK, LIGHT
from scalarviz.view.ink.theme import rgb as colour
from scalarviz.view.notes.layer import loss_words
from scalarviz.view.panels.colour_cube import HINT, hexed
from scalarviz.view.shown.subject import Sample, subject_of
from scalarviz.view.space.camera import between, camera_of, pose_of, turned
from scalarviz.view.touch import plate_of
from scalarviz.view.watch.actions import ACTIONS, Here, help_lines
from scalarviz.view.watch.viewer import Viewer

SIZES = [(1280, 720), (640, 360), (720, 1280), (400, 400), (160, 160)]
TURNS = [(1, 0), (60, 0), (-60, 0), (150, -60), (300, 40), (450, 0), (0, -150), (0, 130), (-200, 90)]
MESSAGE = (
    "DivergedError: the loss is no longer finite at step 1,234: first weight 0.weight[2][0] = nan; "
    "try a lower learning rate (now 4)"
)


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


# ---- truth


def test_every_number_is_that_of_the_frame(single):
    frame, words = single.run.frame(single.probe), said(bench_of(single))
    assert {f"{frame.step:,}", f"{frame.loss:.4f}", "lr 0.5", "SGD", "batch 64", "weight"} <= set(words)
    assert {signed(value) for value in frame.values} <= set(words)
    weight, bias = (t.of(frame.values).astype(float) for t in single.run.tensors)
    sums = weight @ single.probe + bias
    outputs = 1 / (1 + np.exp(-sums))
    loss = np.mean((outputs - single.probe_target) ** 2)
    assert {*map(signed, sums), *(f"{n:.2f}" for n in [*outputs, *single.probe_target])} <= set(words)
    assert f"loss of this colour {loss:.4f}" in words
    line = Bound("loss", form="loss", before=loss_words(Sample((), (), colours=True)))
    assert line.text(2.9e-5) == "loss of this colour 2.9e−5"  # never a rounded 0.0000


@pytest.mark.parametrize("hidden", [(1,), (4, 4)])
def test_every_cube_of_a_small_network_carries_its_value(hidden):
    with (scene := rgb(*hidden, steps=0)).run as run:
        wanted = Counter(number(v, signed=True) if v else "0" for v in run.values)
        assert not wanted - Counter(said(bench_of(scene)))  # the legend's ends may repeat one
        fresh = bench_of(scene, quantity="gradient")  # not computed yet: it has no number and no colour
        assert fresh.slab.atlas.flags.any()
        assert any(word.startswith("w ") for word in said(fresh)) == (hidden == (1,))
        run.step(1)
        assert not any(word.startswith("w ") for word in said(again(fresh)))
        assert any(re.fullmatch(r"mean of [\w ,]+ · (log · )?[\d.]+ % clipped", word) for word in said(fresh))


def test_a_deeper_network_shows_names_shapes_ranges_and_what_becomes_of_the_sample(deep):
    frame, bench = deep.run.frame(deep.probe), bench_of(deep)
    words = set(said(bench))

    def most(block):
        return min(np.abs(block).max(), 3 * np.sqrt(np.mean(block.astype(float) ** 2)))

    for tensor in (tensor for tensor in deep.run.tensors if tensor.role == "weight"):
        v = most(tensor.of(frame.values))
        assert {tensor.name, f"{tensor.shape[0]}×{tensor.shape[1]}   ±{v:.2f}"} <= words
    assert {"input", "output", "tanh", "activation"} <= words
    output = deep.run.predict(deep.probe[None], frame.values)[0]
    assert f"loss of this colour {np.mean((output - deep.probe_target) ** 2):.4f}" in words
    share = 100 * np.mean(np.abs(frame.values) > most(frame.values))
    assert f"range of the network · {share:.2g} % clipped" in words


def test_the_networks_pictures_are_its_own(single):
    photo, frame = np.random.default_rng(0).random((24, 36, 3)), single.run.frame(single.probe)
    bench = bench_of(sv.Scene("photo", single.run, panels=(Pictures(photo, 1 - photo),)))
    _, now, wanted = [i.pixels for s in bench.sketches for i in s.images if i.pixels.shape == photo.shape]
    made = single.run.predict(photo.reshape(-1, 3), frame.values).reshape(photo.shape)
    assert np.abs(now - 255 * made).max() <= 0.51
    assert np.abs(wanted - 255 * (1 - photo)).max() <= 0.51


# ---- time


def test_the_dashed_curve_is_measured_as_the_run_goes_and_survives_a_new_size():
    with (scene := rgb(steps=0)).run as run:
        bench, test, wanted = bench_of(scene), next(p for p in scene.panels if isinstance(p, LossCurve)).test, []
        for _ in range(4):
            values = run.frame().values
            wanted.append(np.mean((run.predict(test.inputs, values) - test.targets) ** 2))
            again(bench, 0.1)
            run.step(2)
        bench.resize((960, 540), 2)
        drawer = bench.side.drawer(LossCurve)
        assert np.allclose(drawer.losses, wanted, rtol=1e-5)
        assert (drawer.steps, bench.size) == ([0, 2, 4, 6], (1920, 1080))


def test_what_did_not_change_is_not_built_again(single):
    bench, frame = bench_of(single), single.run.frame(single.probe)
    bench.update(frame, "", 0.01)
    layout, before = bench.layout, {name: bench.side.drawn(name) for name in bench.side.drawers}
    static = texts(bench.scenery.static)
    bench.update(frame, "", 0.01)
    assert any(before.values())
    assert all(bench.side.drawn(name) is drawn for name, drawn in before.items())
    again(bench, 0.1)
    assert bench.layout is layout
    assert texts(bench.scenery.static) == static


@pytest.mark.parametrize("size", [(1080, 1080), (160, 160)])
def test_with_keys_too_no_text_covers_another_and_legends_are_no_wider_than_they_need(deep, size):
    bench = bench_of(deep, size, keys=KEYS)
    assert_readable(bench.sketches, bench.places.size)
    assert size[0] < 300 or {"Space", "run"} <= set(said(bench))
    bench = bench_of(deep, (640, 360))
    sketches = bench.strip.sketches(bench.places.strip, bench.subject.frame())
    bars = [image.rect[2] for sketch in sketches for image in sketch.images]
    assert bars[-1] == 290.0  # the note beside the title still has room
    assert sum(bars) <= 290.0 + 220.0


# ---- pixels


@pytest.mark.gl
def test_the_corner_is_background_a_fifth_is_not_and_twice_the_resolution_is_the_same_picture(single):
    picture = pixels_of(bench_of(single))
    ground, glow = (np.array([round(255 * c) for c in colour(name)]) for name in (DARK.background, DARK.glow))
    assert all(np.array_equal(picture[y, x], ground) for y in (0, -1) for x in (0, -1))
    assert (np.abs(picture - ground).max(axis=2) > np.abs(glow - ground).max() + 2).mean() > 0.2
    large, small = (
        pixels_of(bench_of(single, supersample=k)).reshape(90, 8 * k, 160, 8 * k, 3).mean(axis=(1, 3)) for k in (1, 2)
    )
    assert np.abs(small - large).mean() < 2
    assert (np.abs(small - large).max(axis=2) < 25).mean() > 0.97


@pytest.mark.gl
def test_swatches_have_the_samples_colours(deep):
    bench = bench_of(deep)
    picture, words = pixels_of(bench), texts(bench.sketches)
    output = deep.run.predict(deep.probe[None], deep.run.frame().values)[0]
    for name, wanted in (("input", deep.probe), ("output", output), ("target", deep.probe_target)):
        label = [t for t in words if t.text == name][-1]  # the row of cubes has its own, placed before
        assert np.abs(picture[round(label.y) + 30, round(label.x)] - 255 * np.asarray(wanted)).max() <= 2


# ---- hovering


@pytest.mark.parametrize("size", [(1280, 720), (1920, 1080), (640, 360)])
def test_hovering_names_the_cube_under_the_pointer(scene, size):
    bench, values, found = keyed(scene, size), scene.run.frame().values, 0
    for index in range(0, len(values), max(1, len(values) // 9)):
        spot = face_of(bench, index)
        if bench.pick(spot) == index:  # not behind another plate
            found += 1
            assert bench.hover(spot) or bench.hover((spot[0] + 0.5, spot[1]))
            above = said_above(again(bench, 0.0))
            assert weight_name(scene.run.tensors, index) in above
            assert any(text.endswith(f"{abs(values[index]):.4f}") for text in above)
    assert found > 4
    bench.set_look(quantity="gradient")
    assert any(text.startswith("gradient ") for text in said_above(again(bench, 0.0)))
    assert [bench.hover(None), bench.hover(None), bench.hover((4.0, 4.0))] == [True, False, False]
    assert said_above(again(bench, 0.0)) == []


@pytest.mark.parametrize("size", [(1280, 720), (640, 360)])
def test_the_words_of_a_cube_do_not_cover_it_and_the_inspectors_are_not_said_twice(scene, size):
    bench = keyed(scene, size)
    for index in range(len(scene.run.values)):
        spot = face_of(bench, index)
        if bench.pick(spot) == index:
            bench.hover(spot)
            again(bench, 0.0)
            (label,) = (s for s in bench.overlays[1] if weight_name(scene.run.tensors, index) in written([s]))
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
        moved = bench.touch.inspector.moved(run.frame())
        assert moved.steps.tolist() == [20, 25, 30, 35]
        assert moved.values[-1] == run.frame().values[2]


# ---- selecting


@pytest.mark.gl
def test_what_is_touched_is_outlined_and_inspected_and_nothing_stays_of_it(scene):
    bench = keyed(scene)
    before, (x, y) = pixels_of(bench), map(int, face_of(bench, 5))
    for touch, let_go in ((bench.hover, None), (bench.select, None)):
        touch(5 if touch == bench.select else (x, y))
        moved = np.abs(pixels_of(bench) - before).max(axis=2) > 40
        assert moved[y - 90 : y + 90, x - 90 : x + 90].any()
        assert weight_name(scene.run.tensors, 5) in said_above(again(bench, 0.0))
        touch(let_go)
        assert np.array_equal(pixels_of(bench), before)
    assert bench.selected is None


# ---- turning


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


def test_a_small_turn_moves_labels_a_little_and_names_stay_on_their_side(single, deep):
    bench = keyed(single)
    before, places = said(bench), {t.text: (t.x, t.y) for t in texts(bench.sketches)}
    bench.orbit(2.0, 0.0)
    again(bench, 0.0)
    assert sorted(said(bench)) == sorted(before)
    lone = [t for t in texts(bench.sketches) if before.count(t.text) == 1]
    assert 0 < max(np.hypot(t.x - places[t.text][0], t.y - places[t.text][1]) for t in lone) < 12
    bench, jumps, names = keyed(deep), 0, [t.name for t in deep.run.tensors if t.role == "weight"]
    for turn in range(41):
        at = {t.text: t.y for t in texts(bench.scenery.static) if t.text in names}
        above = {name: y < bench.project(bench.layout.plate(name).corners)[:, 1].mean() for name, y in at.items()}
        jumps += turn and sum(above.get(name, side) != side for name, side in before.items())
        before = above
        bench.orbit(2.0, 0.0)
        again(bench, 1 / 60)
    assert jumps < 0.05 * 40 * len(names)


@pytest.mark.parametrize("kind", ["deep", "single"])
def test_turning_keeps_the_middle_and_a_drag_follows_the_pointer(kind, request):
    """A drag to the right takes the near side to the right; down tilts the scene towards the eye."""
    bench = keyed(request.getfixturevalue(kind))
    assert bench.camera.orthographic == (kind == "deep")
    layout, centre = bench.layout, bench.layout.bounds.mean(axis=0)
    points = np.concatenate([*(p.corners for p in layout.plates), *layout.trays])
    posed = camera_of(pose_of(layout.camera, centre), layout.camera.size, points)
    assert np.allclose(posed.project(points), layout.camera.project(points))
    place, near = bench.camera.project(centre), layout.plate("0.weight").cell_centre_top(2, 1)
    before, elevation = bench.project(near)[0], bench.camera.elevation
    bench.orbit(20.0, 0.0)
    assert bench.project(near)[0][0] > before[0] + 2 or kind == "deep"
    bench.orbit(0.0, 20.0)
    assert bench.camera.elevation == elevation + 8
    for turn in TURNS:
        bench.orbit(*turn)
        assert np.allclose(bench.camera.project(centre), place)
    before = bench.project(near)[0]
    bench.pan(30.0, -10.0)
    assert bench.project(near)[0] == pytest.approx([before[0] + 30, before[1] - 10], abs=1)
    bench.orbit(0.0, 10_000.0)
    assert bench.camera.elevation == 89


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
def test_fitting_glides_back_to_the_very_picture_on_the_shorter_way(single):
    bench = again(keyed(single), 1 / 60)
    before, azimuths = pixels_of(bench), []
    bench.orbit(200.0, 30.0)
    again(bench, 1 / 60)
    assert not bench.moving
    bench.fit_camera()
    while bench.moving:
        azimuths.append(again(bench, 0.01).camera.azimuth)
    steps = np.diff(azimuths)
    assert 28 <= len(azimuths) <= 32
    assert np.all(steps > 0)
    assert steps[0] > 4 * steps[-2]  # ease-out
    assert bench.camera is bench.layout.camera
    assert np.array_equal(pixels_of(bench), before)
    pose = pose_of(bench.layout.camera, bench.layout.bounds.mean(axis=0))
    far = turned(pose, -850.0, 0.0)  # 340 degrees
    assert between(far, pose, 0.0).azimuth % 360 == pytest.approx(far.azimuth % 360)
    assert between(far, pose, 0.5).azimuth == pytest.approx(pose.azimuth - 10)


# ---- looks and sizes


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
    assert bench.side.drawer(LossCurve).losses == losses
    bench.resize((1600, 900))
    assert (bench.camera.azimuth, bench.camera.elevation) == pytest.approx((camera.azimuth, camera.elevation))
    centre = bench.layout.bounds.mean(axis=0)
    assert np.allclose(bench.camera.project(centre), bench.layout.camera.project(centre))


def test_the_extent_is_that_of_the_values_whatever_is_shown_and_a_refit_fits_it():
    with (scene := rgb()).run as run:
        bench, frame = keyed(scene), run.frame(scene.probe)
        v = bench.extent_of(0)
        assert v == bench.colouring.range.high
        for quantity in ("gradient", "weight"):
            bench.set_look(quantity=quantity)
            bench.update(frame)
            assert bench.extent_of(0) == pytest.approx(v)
        frame.values[:] *= 0.1
        bench.update(frame, "", 1 / 60)
        assert bench.colouring.range.high == pytest.approx(v)
        bench.refit_range()
        bench.update(frame, "", 1 / 60)
        assert bench.colouring.range.high == pytest.approx(0.1 * v)


def test_it_moves_until_ranges_have_grown_and_late_text_is_caught_up():
    with (scene := rgb()).run as run:
        bench, frame, ticks = keyed(scene, text_hz=10.0), run.frame(scene.probe), 0
        frame.values[:] *= 3.0
        bench.update(frame, "", 1 / 60)
        while bench.moving:
            bench.update(frame, "", 0.05)
            ticks += 1
            assert ticks < 100
        assert ticks > 5
        bench.refit_range()
        again(bench, 1.0)
        run.step(7)
        again(bench, 0.02)
        assert (bench.moving, "20" in said(bench)) == (True, True)
        frame = bench.subject.frame()
        for _ in range(5):
            bench.update(frame, "", 0.02)
        assert (bench.moving, "27" in said(bench)) == (False, True)


# ---- panels, help, message


@pytest.mark.parametrize("size", SIZES)
def test_help_turns_its_pages_and_messages_are_whole_at_every_size(single, size):
    here, bench = Here(subject_of(single)), keyed(single, size)
    lines, shown = help_lines(here), []
    bench.touch.table, view, count = lines, Viewer(bench), len(help_pages(bench.places.size, lines))
    for page in [*range(1, count + 1), 0]:
        view.send("toggle_help")
        assert bench.help == page
        assert_readable([help_panel(size, lines, DARK, page)] * bool(page), size)
        shown += said_above(again(bench, 0.0))
    # no word is read in this scene, no table learnt, and plain descent keeps nothing of a weight
    absent = {action.name for action in ACTIONS if action.missing(here)}
    assert absent == {"type_word", "cooler", "warmer", "paste", "show_moment"}
    if size[0] >= 960 and size[1] >= 540:  # no sentence is cut
        assert {text for line in lines for text in line} <= set(shown)
    bench.message = MESSAGE
    assert " ".join(said_above(again(bench, 0.0))).removeprefix("! ") == bench.message == MESSAGE
    assert_readable(bench.overlays[1], bench.places.size)


def test_long_words_are_broken_not_cut_and_a_sentence_has_a_beginning():
    lines = wrapped("a " + "x" * 200 + " b", 100.0)
    assert "".join(lines).replace(" ", "") == "a" + "x" * 200 + "b"
    assert all(measure(line, 13) <= 100 for line in lines)
    many = [(f"{k}", f"what {k} does, {'long ' * 20}") for k in range(40)]
    (page,) = help_pages((960, 540), [("=", "(or +) a little more of the clicked cube"), *many])
    assert page.lines[0] == ("=", "a little more of the clicked cube")


# ---- the colour cube


def test_a_colour_that_is_hovered_or_marked_says_what_it_is_to_become(single):
    bench = keyed(single)
    cube = bench.side.drawer(ColourCube)
    for x, which in ((1020.0, "source"), (1180.0, "target")):
        disc = cube.under((x, 250.0))
        assert (disc.which, bench.hover((x, 250.0))) == (which, True)
        above, output = said_above(again(bench, 0.0)), single.run.predict(np.array([disc.source]))[0]
        now = {hexed(disc.source), f"is now {hexed(tuple(map(float, output)))}", f"wanted: {hexed(disc.target)}"}
        assert (now if which == "source" else {hexed(disc.target), f"wanted for {hexed(disc.source)}"}) <= set(above)
    bench.hover(None)
    cube.marked = (1.0, 1.0, 1.0)
    assert HINT in said_above(again(bench, 0.0))
    assert [bench.let_go(), bench.let_go()] == [True, False]
    assert said_above(again(bench, 0.0)) == []
