"""A picture for a hall: type half again as large, no small print, and the keys that are pressed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.benches import again, bench_of, box_of, overlap, said, texts
from kit.commands import make_scene
from kit.windows import live_hand
from scalarviz.run.core.frame import Stage, Tensor
from scalarviz.view.ink.boxes import (
    ABOUT,
    GROUND,
    LABEL,
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
from scalarviz.view.render import render
from scalarviz.view.watch.viewer import PRESSED_SECONDS

WANTED = (Wanted("pictures", 117), Wanted("colours", 166, worth=2), Wanted("loss", 150, 420, first=True))


@pytest.fixture
def scene():
    made = make_scene("rgb", hidden=[4])
    made.run.step(3)
    yield made
    made.run.close()


@given(
    st.floats(200, 1200), st.floats(150, 800), st.floats(0, 1), st.floats(0, 1),
    st.lists(st.tuples(st.floats(40, 400), st.floats(30, 300)), max_size=4),
)  # fmt: skip
def test_panels_over_the_scene_stand_apart_and_inside(width, height, across, down, sizes):
    scene, named = (30.0, 60.0, width, height), {str(k): size for k, size in enumerate(sizes)}
    corner = list(corner_boxes(named, scene).values())
    beside = beside_box(np.array([[30 + across * width, 60 + down * height]] * 2), (120.0, 60.0), scene, corner)
    above, rest = top_boxes({name: high for name, (_, high) in named.items()}, scene)
    for boxes in ([*corner, *([] if beside is None else [beside])], [*above.values(), rest]):
        for k, (x, y, w, h) in enumerate(boxes):
            assert not any(meet(other, (x, y, w, h), 2 * GROUND - 0.01) for other in boxes[:k])
            assert (x >= 30) & (y >= 60) & (x + w <= 30.01 + width) & (y + h <= 60.01 + height)


@pytest.mark.parametrize(("size", "hall"), [((1280, 720), True), ((1024, 768), True), ((800, 600), False)])
def test_panels_keep_their_place_beside_the_cubes(size, hall):
    """Also of a scene whose panels are all alike, in a picture of four to three."""
    for wanted in (WANTED, tuple(replace(w, worth=min(w.worth, ABOUT - 1)) for w in WANTED)):
        places = arrange(size, wanted, time=True, presenter=hall)
        assert "loss" in places.panels
        assert len(places.panels) >= 2
        assert all(x >= places.scene[0] + places.scene[2] for x, *_ in places.panels.values())
        assert places.scene[2] > 0.55 * places.size[0]


def test_no_small_print_is_written_and_names_are_those_of_speech_not_of_code(scene):
    benches = [bench_of(scene, theme=presenting("dark", hall)) for hall in (False, True)]
    for bench in benches:
        bench.update(bench.subject.frame(), "a pace that is small print")
    plain, hall = ({*said(bench)} for bench in benches)
    assert {"a pace that is small print", "0.weight", "2.weight"} <= plain
    assert {"loss", "step", "layer 1", "layer 2"} <= hall
    assert not any(text.startswith("4×3") or ".weight" in text or "small print" in text for text in hall)
    assert min(item.size for item in texts(benches[1].sketches)) * benches[1].scale >= LABEL * 1.5


def test_kinds_are_counted_each_for_itself():
    tensors = [Tensor(f"{name}.weight", (2, 2), 4 * k) for k, name in enumerate(("0", "3", "6", "8"))]
    stages = [Stage("0", "conv2d", 8), Stage("1", "leaky_relu", 8), Stage("3", "conv2d", 8), Stage("6", "linear", 2),
              Stage("6 (2)", "linear", 2, tensors[2]), Stage("8", "batch_norm2d", 2)]  # fmt: skip
    assert [*clean_titles(tensors, stages).values()] == ["convolution 1", "convolution 2", "layer", "batch norm2d"]
    rows = {"1": "leaky_relu", "2": "max_pool2d", "x": "my_own"}
    assert [*clean_rows(rows).values()] == ["leaky ReLU", "max pool", "my own"]


def test_it_is_drawn_so_and_another_look_stays_for_a_hall(scene):
    usual, hall = (render(scene, (640, 360), presenter=hall) for hall in (False, True))
    assert (usual != hall).any()
    np.testing.assert_array_equal(hall, render(scene, (640, 360), theme=presenting(DARK)))
    bench = bench_of(scene, theme=presenting("dark"))
    with offscreen():
        bench.set_look(theme="light")
    assert again(bench).theme == presenting(LIGHT)


def ground(sketch):
    return sketch.shapes[0].x, sketch.shapes[0].y, sketch.shapes[0].width, sketch.shapes[0].height


def assert_kept_clear(bench, card):
    """The card of a key covers neither the time bar nor a legend."""
    taken = [bench.places.time] * bool(bench._time)
    taken += [image.rect for sketch in bench._numbers for image in sketch.images]
    assert not any(meet(ground(card), box) for box in taken)


@pytest.mark.gl
@pytest.mark.parametrize("size", [(1000, 600), (1280, 720)])
def test_a_key_and_news_cover_nothing_of_a_halls_time_bar(scene, size):
    with live_hand(scene, size, theme=presenting("dark", True)) as hand:
        hand.do("step", 20)
        hand.view.key("g", "g")
        hand.view.say("some news")
        hand.settled()
        news, card = (
            s for layer in hand.bench.overlays for s in layer if {"G", "some news"} & {t.text for t in s.texts}
        )
        assert_kept_clear(hand.bench, card)
        assert not meet(ground(news), hand.bench.places.time)
        assert not meet(ground(news), ground(card))


@pytest.mark.gl
@pytest.mark.parametrize("hall", [True, False])
def test_keys_that_are_pressed_are_shown_for_a_while_and_cover_neither_the_opening_nor_a_legend(scene, hall):
    with live_hand(scene, theme=presenting("dark", hall), playing=True, wait=None) as hand:
        bench = hand.view.bench
        hand.settled()
        caps = {part for cap in bench.story.told.caps for part in (cap.key, cap.does)}
        assert {"Space", "begin"} <= caps
        for key, held, wanted in (
            ("g", {}, {"G", "colour by gradient"}), ("Right", {"shift": True}, {"Shift+Right", "one training step"})
        ):  # fmt: skip
            hand.view.key(key, **held)
            hand.view.tick(0.1)
            assert (wanted <= set(hand.texts())) == hall
            marks = [s for layer in bench.overlays for s in layer if wanted & {t.text for t in s.texts}]
            for card in marks:
                assert_kept_clear(bench, card)
            story = [t for t in texts(bench.story.sketches) if t.text not in caps]
            assert not any(overlap(box_of(one), box_of(mark)) for one in story for mark in texts(marks))
        assert "G" not in hand.texts()
        hand.view.tick(PRESSED_SECONDS + 0.1)
        hand.view.tick(0.1)
        assert "Shift+Right" not in hand.texts()
