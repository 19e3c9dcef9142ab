"""What a window shows, its still, its film and what is drawn without a display are the same pixels."""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from functools import partial

import numpy as np
import pytest
from PIL import Image

import scalarviz as sv
from scalarviz.cli.pictures import painter_of
from scalarviz.io import load_picture
from scalarviz.run.scene.scene_file import load_scene
from scalarviz.view.out import taking
from scalarviz.view.out.desktop import Window
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.out.taking import Recorder
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.watch import live as live_view
from scalarviz.view.watch.live import LiveView
from scalarviz.view.workbench import Workbench

pytestmark = [
    pytest.mark.gl,
    pytest.mark.filterwarnings("ignore:.*is marked as deprecated:DeprecationWarning"),  # vispy's use of Qt
]

SCENES = ("rgb", "playground", "texture", "xor")
SIZE = (960, 600)


class Encoder:
    """Keeps the frames of a film as they are before they are encoded."""

    def __init__(self, kept, path, size, fps, put):
        self.add = lambda picture: kept.append(picture.copy())

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


@pytest.fixture
def built(tmp_path, monkeypatch):
    """A scene after some steps; what its pace is depends on the machine, and says the same always."""
    monkeypatch.setattr(LiveView, "pace_text", lambda self, frame=None: "the pace")
    monkeypatch.setattr(live_view, "REHEARSAL_SECONDS", 600.0)  # whether it is done in time depends on it too
    pixels = np.random.default_rng(3).integers(0, 256, (12, 16, 3)).astype(np.uint8)
    Image.fromarray(pixels).save(tmp_path / "small.png")

    def build(name, steps):
        loaded = load_scene(name)
        more = {"picture": tmp_path / "small.png", "hidden": (16, 16)} if name == "texture" else {}
        options = loaded.options(engine="numpy", size=SIZE, **more)
        scene = loaded.build(options)
        if steps:
            scene.run.step(steps)
        return scene, options

    return build


def live(scene, options, size):
    return LiveView(scene, size, steps=min(options.steps, 300), playing=False)


def settled(view, go_on):
    """Turn it a little; let what becomes finer while nothing trains become as fine as it will."""
    view.bench.orbit(37.0, -12.0)
    end = time.monotonic() + 30
    still = 0
    while still < 5:
        assert time.monotonic() < end
        go_on()
        still = 0 if view.bench.moving else still + 1
    view.bench.refresh()


@pytest.mark.parametrize("steps", [1, 37])  # at step 0 a key breathes
@pytest.mark.parametrize("name", SCENES)
def test_window_still_film_and_the_unseen_are_the_same(screen, tmp_path, monkeypatch, built, name, steps):
    scene, options = built(name, steps)
    frames = []
    monkeypatch.setattr(taking, "Recorder", partial(Recorder, encoder=partial(Encoder, frames)))
    with closing(Window(partial(live, scene, options), name, SIZE, shots=tmp_path / "shots").show()) as window:

        def serve():
            window.serve()
            time.sleep(0.01)

        settled(window.view, serve)
        shown = window._picture()
        window.film()
        for _ in range(10):
            serve()
        window.film()
        still = np.rint(load_picture(window.screenshot()).rgb * 255).astype(np.uint8)
    again, options = built(name, steps)
    with offscreen(), ExitStack() as left:
        unseen = Unseen(partial(live, again, options), SIZE)
        left.callback(unseen.close_soon)
        settled(unseen.view, partial(unseen.pass_time, 0.02))
        picture = unseen.picture()
    np.testing.assert_array_equal(still, shown)
    assert frames
    for frame in frames:
        np.testing.assert_array_equal(frame, shown)
    np.testing.assert_array_equal(picture, shown)


@pytest.mark.parametrize("name", SCENES)
def test_a_frame_of_the_command_line_is_a_picture_of_the_same(built, name):
    scene, options = built(name, 37)
    frame = painter_of(scene.name, options, partial(Workbench, scene)).picture("the pace", None)
    np.testing.assert_array_equal(sv.render(scene, SIZE, pace_text="the pace"), frame)
