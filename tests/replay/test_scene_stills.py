"""A still of a recording of a scene is that of the scene at the same step, pixel by pixel."""

import importlib
from dataclasses import replace

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.run import panels
from scalarviz.view import render

pytestmark = pytest.mark.gl
BIG = (1280, 720)
SCENES = [("rgb", {}, BIG), ("rgb", {"hidden": (4,)}, (900, 700)), ("xor", {}, BIG), ("digits", {}, BIG)]


def recorded(name, options, folder, steps):
    """A scene without the panels that need its network, and its recording, which has none of them."""
    if name == "digits":
        pytest.importorskip("sklearn", reason="no scikit-learn (extra data)")
    module = importlib.import_module(f"scalarviz.scenes.{name}")
    scene = replace(module.build(module.Options(engine="numpy", **options)), panels=(panels.LossCurve(),))
    with sv.Recording(scene, gradients=True, updates=True, activations=True, path=folder / "run.svz"):
        scene.run.step(steps)
    return scene, sv.load_recording(folder / "run.svz")


@pytest.mark.parametrize(("name", "options", "size"), SCENES)
def test_a_still_of_a_recording_is_that_of_the_scene(name, options, size, tmp_path):
    scene, recording = recorded(name, options, tmp_path, 4 if name == "digits" else 12)
    with recording:
        for step, theme in ((0, "dark"), (3, "light"), (scene.run.steps, "dark")):
            ours = render(recording, size, step=step, theme=theme)
            np.testing.assert_array_equal(ours, render(scene, size, step=step, theme=theme))


def test_of_a_scene_that_tells_the_loss_of_all_samples_a_comparison_does_too(tmp_path, window):
    scene, recording = recorded("xor", {}, tmp_path, 6)
    with recording:
        wanted = scene.run.evaluate(*scene.run.samples())
        assert recording.frame(-1).display_loss == pytest.approx(wanted, rel=1e-5) != scene.run.loss
        host = window(recording.compare(recording))
        host.press("End")
        assert host.words().count(f"{wanted:.4f}") == 2
