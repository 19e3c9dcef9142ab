"""A picture for a hall: type half again as large, no small print, and the keys that are pressed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run import Scene
from scalarviz.run.core.frame import Stage, Tensor
from scalarviz.run.panels import LossCurve, Table
from scalarviz.view.ink.places import (
    ABOUT,
    GROUND,
    LABEL,
    PRESENTER,
    Wanted,
    arrange,
    beside_box,
    corner_boxes,
    top_boxes,
)
from scalarviz.view.ink.sketch import meet
from scalarviz.view.ink.theme import DARK, LIGHT, presenting
from scalarviz.view.notes.scenery import clean_rows, clean_titles
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.panels.colour_cube import cube_boxes
from scalarviz.view.render import render
from scalarviz.view.watch.live import LiveView
from scalarviz.view.watch.viewer import PRESSED_SECONDS
from scalarviz.view.workbench import Workbench

WANTED = (Wanted("pictures", 117), Wanted("colours", 166, worth=2), Wanted("loss", 150, 420, first=True))
X = np.random.default_rng(0).random((32, 3))


def scene_of():
    net = nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 3, seed=2))
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=(X, 1 - X), engine="numpy")
    return Scene("hall", run, panels=(Table("a table", [("one", "two")]), LossCurve()))


def texts(bench):
    return [item for sketch in bench.sketches for item in sketch.texts]


def bench_of(scene, size, *, hall):
    with offscreen():
        bench = Workbench(scene, size, presenting("dark", hall))
        bench.update(bench.subject.frame(), "a pace that is small print")
    return bench


@pytest.mark.parametrize("size", [(1280, 720), (1920, 1080), (2560, 1440), (640, 360), (1024, 768)])
def test_everything_is_half_again_as_large_and_what_a_scene_is_about_stands_in_the_column(size):
    usual, hall = arrange(size, WANTED), arrange(size, WANTED, presenter=True)
    assert hall.scale == usual.scale * PRESENTER == usual.scale * 1.5
    assert np.allclose(np.array(hall.size) * hall.scale, size)
    if size[0] >= 1280:
        assert set(hall.panels) == {"pictures", "loss"}
        large = (Wanted("large", 370, worth=ABOUT), *WANTED[2:])
        assert arrange(size, large, presenter=True).left_out == ("loss",)


@settings(max_examples=300, deadline=None)
@given(st.integers(160, 4000), st.integers(160, 4000), st.booleans(), st.booleans(), st.booleans())
def test_boxes_never_overlap_nor_leave_the_picture(width, height, time, hall, alike):
    wanted = tuple(replace(w, worth=0) for w in WANTED) if alike else WANTED
    places = arrange((width, height), wanted, time=time, presenter=hall)
    boxes = [places.scene, *places.panels.values(), *(b for b in (places.hud, places.strip, places.time) if b)]
    for k, (x, y, w, h) in enumerate(boxes):
        assert min(x, y) >= 0
        assert min(w, h) > 0
        assert x + w <= places.size[0] + 0.01
        assert y + h <= places.size[1] + 0.01
        assert not any(meet(other, (x, y, w, h), -0.01) for other in boxes[:k])


@given(
    st.floats(200, 1200),
    st.floats(150, 800),
    st.lists(st.tuples(st.floats(40, 400), st.floats(30, 300)), max_size=4),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_panels_over_the_scene_stand_apart_and_inside(width, height, sizes, across, down):
    scene, named = (30.0, 60.0, width, height), {str(k): size for k, size in enumerate(sizes)}
    corner = list(corner_boxes(named, scene).values())
    beside = beside_box(np.array([[30 + across * width, 60 + down * height]] * 2), (120.0, 60.0), scene, corner)
    above, rest = top_boxes({name: high for name, (_, high) in named.items()}, scene)
    for boxes in ([*corner, *([] if beside is None else [beside])], [*above.values(), rest]):
        for k, (x, y, w, h) in enumerate(boxes):
            assert not any(meet(other, (x, y, w, h), 2 * GROUND - 0.01) for other in boxes[:k])
            assert (x >= 30) & (y >= 60) & (x + w <= 30.01 + width) & (y + h <= 60.01 + height)


def test_no_small_print_is_written_and_names_are_those_of_speech_not_of_code():
    scene = scene_of()
    scene.run.step(3)
    usual, hall = (bench_of(scene, (1280, 720), hall=h) for h in (False, True))
    plain, said = ({item.text for item in texts(bench)} for bench in (usual, hall))
    assert {"a pace that is small print", "0.weight", "2.weight"} <= plain
    assert any(text.startswith("4×3") for text in plain)
    assert {"a table", "loss", "step", "layer 1", "layer 2"} <= said
    assert not any(text.startswith("4×3") or ".weight" in text or "small print" in text for text in said)
    assert min(item.size for item in texts(hall)) * hall.scale >= LABEL * 1.5


def test_kinds_are_counted_each_for_itself():
    tensors = [Tensor(f"{name}.weight", (2, 2), 4 * k) for k, name in enumerate(("0", "3", "6", "8"))]
    stages = [Stage("0", "conv2d", 8), Stage("1", "leaky_relu", 8), Stage("3", "conv2d", 8), Stage("6", "linear", 2),
              Stage("6 (2)", "linear", 2, tensors[2]), Stage("8", "batch_norm2d", 2)]  # fmt: skip
    assert clean_titles(tensors, stages) == {
        "0.weight": "convolution 1", "3.weight": "convolution 2", "6.weight": "layer", "8.weight": "batch norm2d",
    }  # fmt: skip
    assert clean_rows({"1": "leaky_relu", "2": "max_pool2d", "x": "my_own"}) == {
        "1": "leaky ReLU", "2": "max pool", "x": "my own",
    }  # fmt: skip


def test_it_is_drawn_so_and_another_look_stays_for_a_hall():
    scene = scene_of()
    scene.run.step(3)
    usual, hall = (render(scene, (640, 360), presenter=hall) for hall in (False, True))
    assert usual.shape == hall.shape
    assert (usual != hall).any()
    np.testing.assert_array_equal(hall, render(scene, (640, 360), theme=presenting(DARK)))
    bench = bench_of(scene, (1280, 720), hall=True)
    with offscreen():
        bench.set_look(theme="light")
    assert bench.theme == presenting(LIGHT)
    assert bench.theme.presenter


@pytest.mark.parametrize("hall", [True, False])
def test_keys_that_are_pressed_are_shown_for_a_while(hall):
    host = Unseen(lambda size: LiveView(scene_of(), size, theme=presenting("dark", hall), playing=False), (1280, 720))
    view = host.view

    def shown():
        return {item.text for layer in view.bench.overlays for sketch in layer for item in sketch.texts}

    host.pass_time(0.1)
    view.key("Right", shift=True)
    host.pass_time(0.1)
    assert ({"Shift+Right", "one training step"} <= shown()) == hall
    view.key("w")
    host.pass_time(0.1)
    assert ({"W", "colour by value"} <= shown()) == hall
    assert "Shift+Right" not in shown()
    host.pass_time(PRESSED_SECONDS + 0.1)
    host.pass_time(0.1)
    assert "W" not in shown()
    view.close()


@pytest.mark.parametrize(("size", "hall"), [((1024, 768), True), ((800, 600), False)])
def test_a_picture_of_four_to_three_keeps_its_panels_beside_the_cubes(size, hall):
    """Also of a scene whose panels are all alike; before only the cubes were left."""
    alike = tuple(replace(w, worth=min(w.worth, ABOUT - 1)) for w in WANTED)
    places = arrange(size, alike, time=True, presenter=hall)
    assert "loss" in places.panels
    assert len(places.panels) >= 2
    assert all(x >= places.scene[0] + places.scene[2] for x, *_ in places.panels.values())
    assert places.scene[2] > 0.55 * places.size[0]


@pytest.mark.parametrize("width", [200.0, 304.0])
def test_two_colour_cubes_never_overlap(width):
    near, far = cube_boxes((10.0, 20.0, width, 166.0))
    assert near[0] == 10.0
    assert near[0] + near[2] + 10 < far[0]
    assert far[0] + far[2] == pytest.approx(10.0 + width)


@pytest.mark.gl
@pytest.mark.parametrize("size", [(1280, 720), (1920, 1080), (1024, 768)])
def test_a_pressed_key_covers_neither_the_opening_nor_a_legend(size):
    """It stands where the time bar does, which the opening's sentence leaves free; the opening says what begins."""
    host = Unseen(lambda size: LiveView(scene_of(), size, theme=presenting("dark"), wait=None), size)
    host.pass_time(0.1)
    bench = host.view.bench
    story = [item for sketch in bench.story.sketches for item in sketch.texts]
    assert {"Space", "begin"} <= {item.text for item in story}
    assert all(item.y < bench.places.size[1] - 4 for item in story)
    caps = {part for cap in bench.story.told.caps for part in (cap.key, cap.does)}
    for steps in (0, 3):
        with offscreen():
            host.view.step(steps)
        for _ in range(20):
            host.pass_time(0.1)
        with offscreen():
            host.view.key("g", "g")
        host.pass_time(0.1)
        (mark,) = [sketch for layer in bench.overlays for sketch in layer if any(t.text == "G" for t in sketch.texts)]
        top = min(item.y - 26 for item in mark.texts)
        said = [item.y for sketch in bench.story.sketches for item in sketch.texts if item.text not in caps]
        assert top > max(said, default=bench.places.strip[1] + bench.places.strip[3] - 1)
    host.close_soon()
