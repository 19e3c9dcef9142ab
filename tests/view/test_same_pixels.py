"""The same picture on every way: window, still, film, unseen, command line; another look or network and a new bench."""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from functools import partial

import numpy as np
import pytest
from vispy import gloo

import scalarviz as sv
from kit.benches import again, bench_of, pixels_of, rgb
from kit.networks import mlp
from kit.unseen import Unseen
from kit.windows import X, live_hand, make_colour_scene, mirror_hand
from scalarviz import Run, nn, optim
from scalarviz.cli.pictures import canvas_of
from scalarviz.io import load_picture
from scalarviz.run.panels import LossCurve
from scalarviz.view.out import files
from scalarviz.view.out.desktop import Window
from scalarviz.view.out.files import Recorder
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.watch import live as live_view
from scalarviz.view.watch.live import LiveView
from tests.frozen import make

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


@pytest.fixture(params=make.scene_names())
def build(request, tmp_path, monkeypatch):
    """Makes a scene after some steps; what its pace is depends on the machine, and says the same always."""
    monkeypatch.setattr(LiveView, "pace_text", lambda self, frame=None: "the pace")
    monkeypatch.setattr(live_view, "REHEARSAL_SECONDS", 600.0)  # whether it is done in time depends on it too
    numbers, loaded = make.Numbers(tmp_path), make.load_scene(request.param)
    given = {flag: numbers._place(value) for flag, value in make.BEGUN.get(request.param, {}).items()}

    def built():
        options = loaded.options(engine="numpy", size=SIZE, **given)
        scene = loaded.build_loaded(options)
        scene.run.step(37)
        return scene, options

    return built


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


def test_window_still_film_and_the_unseen_are_the_same(screen, tmp_path, monkeypatch, build):
    scene, options = build()
    frames = []
    monkeypatch.setattr(files, "Recorder", partial(Recorder, encoder=partial(Encoder, frames)))
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
        while not window.view.bench.controls.has_place:
            serve()
        with monkeypatch.context() as context:
            context.setattr(window._taking, "due", lambda: True)
            assert painted()[100:450, 650:].sum() > 1000  # in the window they stay
        window.film()
        still = np.rint(load_picture(window.screenshot()).rgb * 255).astype(np.uint8)
    other, options = build()
    with offscreen(), ExitStack() as left:
        unseen = Unseen(partial(live, other, options), SIZE)
        left.callback(unseen.close_soon)
        settled(unseen.view, partial(unseen.pass_time, 0.02))
        picture = unseen.picture()
    assert 0 < plain < len(frames)
    for pixels in (still, picture, *frames[:plain]):
        np.testing.assert_array_equal(pixels, shown)
    assert max(np.abs(frame.astype(int) - shown).max() for frame in frames) <= 8  # the ground glows a little


def test_a_frame_of_the_command_line_is_a_picture_of_the_same(build):
    scene, options = build()
    frame = canvas_of(scene.name, options, scene).picture("the pace", None)
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


# ---- Another network: the picture stands anew for it, in a window and in a mirror


def network(*hidden):
    net = mlp(3, *hidden, 3)(nn)
    net.initialize(seed=1)
    return net


@pytest.fixture
def run():
    net = network(6)
    with Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.1), (X, 1 - X), batch_size=8, engine="numpy") as made:
        yield made


def assert_as_new(bench, run):
    """It shows what a bench shows that was made for the run as it is now."""
    assert np.abs(pixels_of(bench) - pixels_of(bench_of(run, SIZE))).max() <= 2


CHANGES = {
    "activation": lambda: {"activation": "relu"},
    "a layer more": lambda: {"model": network(6, 5)},
    "wider": lambda: {"model": network(9)},
    "no hidden layer": lambda: {"model": network()},
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_bench_stands_as_one_that_is_made_for_the_new_network(name, run):
    bench = bench_of(run, SIZE)
    bench.select(2)
    bench.orbit(30, 10)
    before = bench.camera
    run.change(**CHANGES[name]())
    again(bench)
    assert bench.selected is None
    if name == "activation":  # its plates stand where they stood: it is seen from where it was
        assert np.allclose(bench.camera.matrix, before.matrix)
        bench.fit_camera()
        again(bench)
    assert_as_new(bench, run)
    run.undo()
    assert_as_new(again(bench), run)


@pytest.fixture
def hand(run):
    with live_hand(make_colour_scene(run, (LossCurve(),)), SIZE, steps=60) as made:
        yield made


@pytest.mark.parametrize("name", CHANGES)
def test_a_window_goes_on_and_undo_brings_the_old_one(name, hand):
    live, tensors = hand.view, hand.bench.subject.tensors

    def ask(what):
        live.worker.ask(what).result(10)
        hand.settled()
        assert live.worker.error is None

    hand.do("step")
    for before in (lambda: None, lambda: live.bench.select(1), lambda: hand.do("micro_next")):
        before()
        ask(lambda run: run.change(**CHANGES[name]()))
        assert (live.bench.selected, live.micro.walk) == (None, None)
        assert sum(t.size for t in hand.bench.subject.tensors) == live.run.n_weights == len(live.shown.values)
        for key in ("Right", "g", "w", "h", "Left", "n"):
            live.key(key, key if len(key) == 1 else "")
            hand.settled()
        live.bench.select(live.run.n_weights - 1)
        live.move((300.0, 200.0))
        assert hand.picture().std() > 5
        live.bench.select(None)
        ask(lambda run: run.undo())
        assert hand.bench.subject.tensors == tensors


def test_a_mirror_and_a_still_follow(run):
    with mirror_hand(run, SIZE) as hand:
        for change, tensors in ((lambda: run.change(model=network(6, 6)), 6), (lambda: run.to(1), 4)):
            run.step(3)
            hand.view.tick(0.1)
            change()
            hand.view.tick(0.1)
            assert len(hand.view.shown.values) == run.n_weights
            assert len(hand.bench.subject.tensors) == tensors
            pixels_of(hand.bench)
    before = sv.render(run, size=(320, 180))
    run.change(model=network(4, 4))
    run.undo()
    np.testing.assert_array_equal(sv.render(run, size=(320, 180)), before)
