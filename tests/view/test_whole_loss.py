"""Scenes that tell the loss of all samples, and such as say how many steps a frame has."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scalarviz.scenes import xor

import scalarviz as sv
from kit.benches import KEYS, bench_of, said, words
from kit.commands import make_scene
from scalarviz.errors import InputError, TypeMismatchError
from scalarviz.run.edits import SetBatchSize, SetWeights
from scalarviz.view.ink.places import LABEL
from scalarviz.view.ink.text import loss_text
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.watch.live import LiveView
from scalarviz.view.watch.pace import pace
from scalarviz.view.watch.playback import RATE


@pytest.fixture
def scene():
    with (made := make_scene("xor", seed=1)).run:
        yield made


def of_all(scene):
    """The sum of squares of the four samples, by hand."""
    weights = [scene.run.values[:9].reshape(3, 3), scene.run.values[9:].reshape(1, 3)]
    hidden = np.tanh(xor.with_one(xor.BITS) @ weights[0].T)
    return 0.5 * float(((np.tanh(hidden @ weights[1].T) - xor.WANTED) ** 2).sum())


def told(bench):
    """What stands behind the word `loss` in the HUD."""
    texts = [item.text for sketch in bench.sketches for item in sketch.texts if item.size > LABEL]
    return texts[texts.index("loss") + 1]


@pytest.mark.parametrize("size", [(1280, 720), (640, 360)])
def test_the_hud_tells_the_loss_of_all_samples_at_the_numbers_shown(scene, size):
    bench = bench_of(scene, size)
    for count in (0, 1, 6):
        scene.run.step(count)
        bench.update(bench.subject.frame())
        assert told(bench) == loss_text(of_all(scene))
        assert len({loss_text(float(loss)) for loss in scene.run.history.loss} - {told(bench)}) >= min(count, 1)
    before = told(bench)
    scene.run.do(SetWeights(0, np.array([2.5])))  # of the numbers shown after a change by hand too
    bench.update(bench.subject.frame())
    assert told(bench) == loss_text(of_all(scene)) != before


@pytest.mark.parametrize(("batch", "which"), [(1, "of its batch"), (4, "before it")])
def test_the_time_bar_tells_no_other_loss_as_if_it_were_that_of_the_hud(batch, which):
    """The loss of a step is that of its batch, before the step; the HUD tells that of all samples, after it."""
    with (made := make_scene("xor", batch=batch)).run as run:
        run.step(20)
        bench = bench_of(made, keys=KEYS)
        assert told(bench) == loss_text(of_all(made)) != loss_text(run.loss)
        assert loss_text(run.loss) not in words(bench.bar.update(bench.subject.frame()))
        box = bench.bar.box
        bench.hover((box[0] + 0.7 * box[2], box[1] + box[3] - 26))
        pointed = words(bench.bar.label(bench.places.size))
        assert [line for line in pointed if line.startswith("loss ") and line.endswith(f", {which}")]
        assert ("single samples" in said(bench)) == (batch == 1)
        run.do(SetBatchSize(4))  # by hand: said beside the curve and in the bar
        run.step(5)
        bench.update(bench.subject.frame())
        assert "single samples" not in said(bench)
        assert batch == 4 or "4 samples a step" in said(bench)
        assert bench.bar.step_loss == "before it"


def test_a_steady_pace():
    stops = pace(20_000, 20.0, 30, steady=100, rest=0.0)
    assert stops[:61].tolist() == list(range(61))  # two seconds
    assert np.diff(stops[60:-1]).tolist() == [100] * (len(stops) - 62)
    assert stops[-1] == 20_000
    assert len(pace(20_000, 20.0, 30, steady=100)) > len(stops)  # a film rests at its end
    assert pace(5, 20.0, 30, steady=100, rest=0.0).tolist() == [0, 1, 2, 3, 4, 5]
    assert pace(0, 20.0, 30, steady=3).tolist()[-1] == 0
    with pytest.raises(InputError, match="steady"):
        pace(10_000_000, 20.0, 30, steady=0)
    for total in (10_000_000, 10**9, 10**12):  # a film has a million frames at most
        stops = pace(total, 20.0, 30, steady=1, rest=0.0)
        assert 900_000 < len(stops) <= 10**6
        assert (stops[0], stops[-1]) == (0, total)
        assert (np.diff(stops) >= 0).all()


@pytest.mark.gl
def test_a_window_keeps_that_pace(scene):
    with offscreen():
        view = LiveView(scene, (640, 360), steps=20_000)
        try:
            view.playback._time = 3.0
            assert view.playback.text() == "pace 100 steps a frame"
            for at in (3.0, 60.0):
                assert view.playback._paced(at) - view.playback._paced(at - 1 / RATE) == pytest.approx(100)
        finally:
            view.close()


@pytest.mark.gl
def test_a_window_that_stands_asks_nothing_of_the_thread_that_trains():
    """Each question leaves a new frame, for which it would be asked again: the picture would never come to rest."""
    with (made := make_scene("playground")).run, offscreen():
        view = LiveView(made, (1280, 720), steps=5)
        try:
            for _ in range(200):
                view.advance(0.05)
                if view.tick(0.05):
                    view.draw((1280, 720))
                elif view.worker.latest.step == 5:
                    break
                time.sleep(0.005)
            assert not view.bench.moving
            frame = view.worker.latest
            view.draw((1280, 720))
            time.sleep(0.05)
            assert view.worker.latest is frame
        finally:
            view.close()


@pytest.mark.parametrize(("given", "error"), [
    ({"whole_loss": "yes"}, TypeMismatchError), ({"steps_a_frame": 0}, InputError), ({"steps_a_frame": 1.5}, InputError)
])  # fmt: skip
def test_fields_of_a_scene_are_checked(scene, given, error):
    with pytest.raises(error, match=next(iter(given))):
        sv.Scene("mine", scene.run, **given)
