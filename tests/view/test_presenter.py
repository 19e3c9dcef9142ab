"""A picture for a hall: type half again as large, no small print, and the keys that are pressed."""

from __future__ import annotations

import numpy as np
import pytest

from kit.benches import again, bench_of, box_of, overlap, said, texts, words
from kit.commands import make_scene
from kit.windows import live_hand
from scalarviz.view.ink.boxes import (
    LABEL,
)
from scalarviz.view.ink.sketch import meet
from scalarviz.view.ink.theme import DARK, LIGHT, presenting
from scalarviz.view.render import render
from scalarviz.view.watch.viewer import PRESSED_SECONDS


@pytest.fixture
def scene():
    made = make_scene("rgb", hidden=[4])
    made.run.step(3)
    yield made
    made.run.close()


def test_no_small_print_is_written_and_another_look_stays_for_a_hall(scene):
    benches = [bench_of(scene, theme=presenting("dark", hall)) for hall in (False, True)]
    for bench in benches:
        bench.update(bench.subject.frame(), "a pace that is small print")
    plain, hall = ({*said(bench)} for bench in benches)
    assert {"a pace that is small print", "0.weight", "2.weight"} <= plain
    assert {"loss", "step", "layer 1", "layer 2"} <= hall
    assert not any(text.startswith("4×3") or ".weight" in text or "small print" in text for text in hall)
    assert min(item.size for item in texts(benches[1].sketches)) * benches[1].scale >= LABEL * 1.5
    benches[1].set_look(theme="light")
    assert again(benches[1]).theme == presenting(LIGHT)
    drawn = [render(scene, (640, 360), **look) for look in ({}, {"presenter": True}, {"theme": presenting(DARK)})]
    assert (drawn[0] != drawn[1]).any()
    np.testing.assert_array_equal(drawn[1], drawn[2])


def ground(sketch):
    return sketch.shapes[0].x, sketch.shapes[0].y, sketch.shapes[0].width, sketch.shapes[0].height


@pytest.mark.gl
@pytest.mark.parametrize(("size", "hall"), [((1280, 720), False), ((1280, 720), True), ((1000, 600), True)])
def test_keys_that_are_pressed_are_shown_for_a_while_and_cover_nothing(scene, size, hall):
    with live_hand(scene, size, theme=presenting("dark", hall), playing=True, wait=None) as hand:
        bench = hand.view.bench
        hand.settled()
        caps = {part for cap in bench.story.told.caps for part in (cap.key, cap.does)}
        assert {"Space", "begin"} <= caps
        for key, held, wanted in (
            ("g", {}, {"G", "colour by gradient"}), ("Right", {"shift": True}, {"Shift+Right", "one training step"})
        ):  # fmt: skip
            hand.view.key(key, **held)
            hand.view.say("some news")
            hand.view.tick(0.1)
            assert (wanted <= set(hand.texts())) == hall
            layers = [sketch for layer in bench.overlays for sketch in layer]
            (news,) = [sketch for sketch in layers if "some news" in words([sketch])]
            taken = [ground(news), *[bench.places.time] * bool(bench._time)]
            taken += [image.rect for sketch in bench._numbers for image in sketch.images]
            story = [text for text in texts(bench.story.sketches) if text.text not in caps]
            for card in (sketch for sketch in layers if wanted & {*words([sketch])}):
                assert not any(meet(ground(card), box) for box in taken)
                assert not any(overlap(box_of(one), box_of(mark)) for one in story for mark in texts([card]))
        assert not bench._time or not meet(ground(news), bench.places.time)
        assert "G" not in hand.texts()
        hand.view.tick(PRESSED_SECONDS + 0.1)
        hand.view.tick(0.1)
        assert "Shift+Right" not in hand.texts()
