"""A still of a recording of a scene is that of the scene at the same step, pixel by pixel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.run.panels import LossCurve
from scalarviz.run.run_source import RunSource
from scalarviz.run.scene_file import load_scene
from scalarviz.view.benches import bench_of
from scalarviz.view.draw.text import loss_text
from scalarviz.view.render import render
from scalarviz.view.window.offscreen import offscreen

pytestmark = pytest.mark.gl


def scene_of(name, **options):
    """A scene without the panels that need its network: those are no part of a recording."""
    loaded = load_scene(name)
    built = loaded.build(loaded.options(engine="numpy", **options))
    return replace(built, panels=(LossCurve(),))


@pytest.mark.parametrize(
    ("name", "options", "size"),
    [("rgb", {}, (1280, 720)), ("rgb", {"hidden": (4,)}, (900, 700)), ("xor", {}, (1280, 720)),
     ("playground", {}, (1280, 720)), ("neuron", {}, (640, 360))],
)  # fmt: skip
def test_a_still_of_a_recording_is_that_of_the_scene(name, options, size, tmp_path):
    scene = scene_of(name, **options)
    with sv.Recording(scene, gradients=True, updates=True, activations=True, path=tmp_path / "run.svz"):
        scene.run.step(12)
    with sv.load_recording(tmp_path / "run.svz") as recording:
        for step, theme in ((0, "dark"), (5, "light"), (12, "dark")):
            ours = render(recording, size, step=step, theme=theme)
            np.testing.assert_array_equal(ours, render(scene, size, step=step, theme=theme))


def test_a_still_of_recorded_digits_is_that_of_the_scene(tmp_path):
    pytest.importorskip("sklearn", reason="no scikit-learn (extra data)")
    scene = scene_of("digits")
    with sv.Recording(scene, every=2, gradients=True, updates=True, activations=True, path=tmp_path / "run.svz"):
        scene.run.step(4)
    with sv.load_recording(tmp_path / "run.svz") as recording:
        for step in (2, 4):
            np.testing.assert_array_equal(render(recording, step=step), render(scene, step=step))


def test_of_a_scene_that_tells_the_loss_of_all_samples_a_comparison_does_too(tmp_path):
    scene = scene_of("xor")
    with sv.Recording(scene, path=tmp_path / "run.svz"):
        scene.run.step(6)
    with sv.load_recording(tmp_path / "run.svz") as recording:
        wanted = RunSource(scene.run).whole_loss()
        assert recording.frame(-1).told_loss == wanted != scene.run.loss
        with offscreen():
            bench = bench_of(recording.compare(recording), (1280, 720))
            bench.subject.source.to(6)
            bench.update(bench.subject.frame())
        said = [text.text for sketch in bench.sketches for text in sketch.texts]
        assert said.count(loss_text(wanted)) == 2
