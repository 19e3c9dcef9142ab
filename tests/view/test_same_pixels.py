"""The same picture on every way: window, still, film, unseen and command line; another look and a new workbench."""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from functools import partial

import numpy as np
import pytest
from PIL import Image
from vispy import gloo

import scalarviz as sv
from kit.benches import bench_of, pixels_of, rgb
from kit.unseen import Unseen
from scalarviz.cli.pictures import easel_of
from scalarviz.io import load_picture
from scalarviz.run.scene.scene_file import load_scene
from scalarviz.view.out import taking
from scalarviz.view.out.desktop import Window
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.out.taking import Recorder
from scalarviz.view.watch import live as live_view
from scalarviz.view.watch.live import LiveView

pytestmark = [
    pytest.mark.gl,
    pytest.mark.filterwarnings("ignore:.*is marked as deprecated:DeprecationWarning"),  # vispy's use of Qt
]
SIZE = (960, 600)


class Encoder:
    """Keeps the frames of a film as they are before they are encoded."""

    def __init__(self, kept, path, size, fps, put):
        self.add = lambda picture: kept.append(picture.copy())

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


@pytest.fixture(params=["rgb", "playground", "texture", "xor"])
def built(request, tmp_path, monkeypatch):
    """A scene after some steps; what its pace is depends on the machine, and says the same always."""
    monkeypatch.setattr(LiveView, "pace_text", lambda self, frame=None: "the pace")
    monkeypatch.setattr(live_view, "REHEARSAL_SECONDS", 600.0)  # whether it is done in time depends on it too
    pixels = np.random.default_rng(3).integers(0, 256, (12, 16, 3)).astype(np.uint8)
    Image.fromarray(pixels).save(tmp_path / "small.png")

    def build(steps):
        loaded = load_scene(request.param)
        more = {"picture": tmp_path / "small.png", "hidden": (16, 16)} if request.param == "texture" else {}
        options = loaded.options(engine="numpy", size=SIZE, **more)
        scene = loaded.build(options)
        scene.run.step(steps)
        return scene, options

    return build


def live(scene, options, size):
    return LiveView(scene, size, steps=min(options.steps, 300), playing=False)


def settled(view, go_on):
    """Turn it a little; let what becomes finer while nothing trains become as fine as it will."""
    view.bench.orbit(37.0, -12.0)
    end, still = time.monotonic() + 30, 0
    while still < 5:
        assert time.monotonic() < end
        go_on()
        still = 0 if view.bench.moving else still + 1
    view.bench.refresh()


@pytest.mark.parametrize("steps", [1, 37])  # at step 0 a key breathes
def test_window_still_film_and_the_unseen_are_the_same(screen, tmp_path, monkeypatch, built, steps):
    scene, options = built(steps)
    frames = []
    monkeypatch.setattr(taking, "Recorder", partial(Recorder, encoder=partial(Encoder, frames)))
    with closing(Window(partial(live, scene, options), scene.name, SIZE, shots=tmp_path / "shots").show()) as window:

        def serve():
            window.serve()
            time.sleep(0.01)

        settled(window.view, serve)
        shown = window._picture()

        def painted():
            """Where the window itself is otherwise."""
            window.canvas.set_current()
            window._on_draw()
            return np.abs(gloo.read_pixels(alpha=False).astype(int) - shown).max(axis=2) > 8

        window.film()
        for _ in range(10):
            serve()
        assert painted().sum() > 100  # it says that it is filmed
        plain = len(frames)
        window.view.send("toggle_controls")  # which no film shows
        while window.view.bench.controls.moving or not window.view.bench.controls.stands:
            serve()
        with monkeypatch.context() as context:
            context.setattr(window._taking, "due", lambda: True)
            assert painted()[100:450, 650:].sum() > 1000  # in the window they stay
        window.film()
        still = np.rint(load_picture(window.screenshot()).rgb * 255).astype(np.uint8)
    again, options = built(steps)
    with offscreen(), ExitStack() as left:
        unseen = Unseen(partial(live, again, options), SIZE)
        left.callback(unseen.close_soon)
        settled(unseen.view, partial(unseen.pass_time, 0.02))
        picture = unseen.picture()
    assert 0 < plain < len(frames)
    for other in (still, picture, *frames[:plain]):
        np.testing.assert_array_equal(other, shown)
    assert max(np.abs(frame.astype(int) - shown).max() for frame in frames) <= 8  # the ground glows a little


def test_a_frame_of_the_command_line_is_a_picture_of_the_same(built):
    scene, options = built(37)
    frame = easel_of(scene.name, options, scene).picture("the pace", None)
    np.testing.assert_array_equal(sv.render(scene, SIZE, pace_text="the pace"), frame)


# ---- Another quantity, colour map or ground: the picture of a new workbench

LOOKS = [
    {"theme": "light"}, {"quantity": "gradient"}, {"cmap": "viridis"},
    {"theme": "dark", "quantity": "update", "cmap": ""}, {"quantity": "weight"},
]  # fmt: skip


def arrays():
    rng = np.random.default_rng(0)
    return {f"t{k}": rng.normal(size=(60, 80)) for k in range(3)}


@pytest.mark.parametrize("make", [arrays, lambda: rgb(4), lambda: rgb(40, 40, 40)], ids=["arrays", "small", "deep"])
def test_another_look_is_that_of_a_workbench_made_with_it(make):
    thing = make()
    bench, now = bench_of(thing, (640, 360)), {"theme": "dark", "quantity": "weight", "cmap": ""}
    for look in LOOKS:
        now.update(look)
        bench.set_look(**look)
        assert np.array_equal(pixels_of(bench), pixels_of(bench_of(thing, (640, 360), **now))), look
