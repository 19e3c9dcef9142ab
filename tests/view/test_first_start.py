"""A window on a machine that has no kernels yet: its first picture is there at once. Notices hide nothing."""

from __future__ import annotations

import time

import pytest

from kit.benches import assert_readable, said, said_above, texts, words
from kit.windows import live_hand, make_colour_run, make_colour_scene
from scalarviz.engine.cpu import units
from scalarviz.run.engines import full_speed
from scalarviz.view.watch.live import COMPILING

pytestmark = pytest.mark.gl
NEWS = "step 1,234,567 is a new best one, 40 times as good"


@pytest.fixture
def cold(monkeypatch, tmp_path):
    """A window that runs on a machine without compiled kernels."""
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(units, "LOADED", {})
    scene = make_colour_scene(make_colour_run(engine="auto"), ())
    with live_hand(scene, steps=10**6, playing=True) as made:
        yield made


def test_without_kernels_step_0_is_shown_at_once_and_the_run_begins_when_they_are_there(cold):
    cold.view.tick(1 / 60)
    assert (cold.view.worker.latest.step, cold.run.engine.name) == (0, "numba")
    assert COMPILING in " ".join(said(cold.bench))
    cold.until(lambda: cold.run.steps > 20, 60.0)
    cold.until(lambda: COMPILING not in " ".join(said(cold.bench)))
    assert f"of {full_speed(cold.run):,.0f} steps/s" in cold.view.pace_text()
    assert cold.view.worker.log == []


def test_a_window_that_is_closed_while_kernels_compile_ends_at_once(cold):
    for _ in range(20):
        cold.view.tick(1 / 60)
        time.sleep(0.02)
    begun = time.monotonic()
    cold.view.close()
    assert time.monotonic() - begun < 1
    assert cold.run.steps == 0


@pytest.mark.parametrize(("size", "first"), [((1280, 720), "a message"), ((600, 300), "40 times as good")])
def test_news_hide_nothing_that_learns_and_in_a_low_picture_trouble_waits_for_them(size, first):
    with live_hand(make_colour_scene(panels=()), size) as hand:
        hand.view.say(NEWS, 8.0)
        hand.view.tick(0.01)
        bench, (bar,) = hand.bench, [sketch for layer in hand.bench.overlays for sketch in layer]
        assert_readable([bar], size)
        assert NEWS.split() == [word for word in " ".join(words([bar])).split() if word != "i"]
        ends, top = bench.places.scene[0] + bench.places.scene[2], min(text.y for text in bar.texts) - 23
        behind = {t.text for t in texts(bench.sketches) if t.y > top and t.x < ends}
        assert behind == {t.text for t in texts(bench.sketches) if t.y == bench.places.keys} != set()
        hand.view.worker.error = ValueError("a message")
        for seconds, seen in ((0.01, {first, "40 times as good"}), (9.0, {"a message"})):
            hand.view.tick(seconds)
            above = " ".join(said_above(hand.bench))
            assert {text for text in ("a message", "40 times as good") if text in above} == seen
