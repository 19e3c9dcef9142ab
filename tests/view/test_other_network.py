"""A picture whose run gets another network stands anew for it: in a window, in a mirror."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.run import Scene
from scalarviz.run.panels import LossCurve
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.space.camera import pose_of, size_of
from scalarviz.view.space.viewpoint import GLIDE
from scalarviz.view.watch.live import LiveView
from scalarviz.view.watch.mirror import Mirror
from scalarviz.view.workbench import Workbench

pytestmark = pytest.mark.gl

X = np.random.default_rng(0).random((32, 3))
SIZE = 960, 540


def network(*hidden, activation=nn.Tanh):
    sizes = (3, *hidden, 3)
    layers = []
    for k, (n, m) in enumerate(pairwise(sizes)):
        layers += [nn.Linear(n, m, seed=k), activation() if k < len(hidden) else nn.Sigmoid()]
    return nn.Sequential(*layers)


def run_of(*hidden):
    net = network(*hidden)
    return Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.1), (X, 1 - X), batch_size=8, engine="numpy")


def settled(viewer):
    viewer.worker.settle()
    for _ in range(4):
        viewer.tick(0.6)
        time.sleep(0.01)


def asked(viewer, function):
    """Done by the thread that trains."""
    return viewer.worker.ask(function).result(10)


def painted(bench):
    return offscreen().render(bench.draw, bench.size).astype(int)


def like(run, bench):
    """What a bench shows that was made for the run as it is now."""
    fresh = Workbench(subject_of(run), SIZE, "dark")
    fresh.update(fresh.subject.frame(), bench._pace)
    return painted(fresh)


CHANGES = {
    "activation": lambda: {"activation": "relu"},
    "a layer more": lambda: {"model": network(6, 5)},
    "wider": lambda: {"model": network(9)},
    "no hidden layer": lambda: {"model": network()},
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_bench_stands_as_one_that_is_made_for_the_new_network(name):
    run = run_of(6)
    with offscreen():
        bench = Workbench(subject_of(run), SIZE)
        run.step(3)
        bench.update(bench.subject.frame())
        bench.select(2)
        if name != "activation":  # its plates stand where they stood
            bench.orbit(30, 10)
        run.change(**CHANGES[name]())
        run.step(2)
        bench.update(bench.subject.frame())
        assert np.abs(painted(bench) - like(run, bench)).max() <= 2
        assert bench.selected is None
        run.undo()
        bench.update(bench.subject.frame())
        assert np.abs(painted(bench) - like(run, bench)).max() <= 2


def test_the_camera_glides_from_where_the_network_before_was_seen():
    run = run_of(3)
    with offscreen():
        bench = Workbench(subject_of(run), SIZE)
        bench.update(bench.subject.frame())
        bench.viewpoint.keep(4)
        before = bench.viewpoint.pose
        run.change(model=network(9))
        bench.update(bench.subject.frame(), "", 0.0)
        begun = bench.viewpoint.pose
        assert (size_of(begun), *begun.place) == pytest.approx((size_of(before), *before.place), rel=1e-6)
        end = size_of(pose_of(bench.layout.camera, begun.centre))
        assert abs(np.log(end / size_of(begun))) > 0.1
        scales = []
        for _ in range(4):
            assert bench.moving
            bench.update(bench.subject.frame(), "", GLIDE / 4 + 1e-9)
            scales.append(abs(np.log(end / size_of(bench.viewpoint.pose))))
        assert scales == sorted(scales, reverse=True)
        assert scales[0] - scales[1] > scales[2] - scales[3]  # ease out
        assert bench.camera is bench.layout.camera
        assert not bench.viewpoint.moved
        assert np.abs(painted(bench) - like(run, bench)).max() <= 2
        assert bench.viewpoint.go(4)  # views that were kept are still there


def test_another_bend_is_seen_from_where_the_one_before_was_seen():
    run = run_of(6)
    with offscreen():
        bench = Workbench(subject_of(run), SIZE)
        bench.update(bench.subject.frame())
        bench.orbit(30, 10)
        before = bench.camera
        run.change(activation="relu")
        bench.update(bench.subject.frame(), "", 0.0)
        assert np.allclose(bench.camera.matrix, before.matrix)
        assert bench.viewpoint.moved


@pytest.fixture
def live():
    run = run_of(6)
    scene = Scene("t", run, panels=(LossCurve(),))
    viewer = Unseen(lambda size: LiveView(scene, size, steps=60, playing=False)).view
    with offscreen():
        viewer.tick(0.0)
        yield viewer
        viewer.close()
    run.close()


@pytest.mark.parametrize("name", CHANGES)
def test_a_window_goes_on(name, live):
    """With a selected weight, an opened step, a hand on a cube; keys work afterwards, and undo brings the old one."""
    live.send("step")
    settled(live)
    for before in ("nothing", "selected", "inside"):
        if before == "selected":
            live.bench.select(1)
        if before == "inside":
            live.send("micro_next")
            settled(live)
        tensors = live.bench.subject.tensors
        wanted = CHANGES[name]()
        asked(live, lambda run, wanted=wanted: run.change(**wanted))
        settled(live)
        assert live.worker.error is None
        assert live.bench.selected is None
        assert live.micro.walk is None
        assert sum(t.size for t in live.bench.subject.tensors) == live.run.n_weights == len(live.shown.values)
        for key in ("Right", "g", "w", "h", "Left", "n"):
            live.key(key, key if len(key) == 1 else "")
            settled(live)
        live.bench.select(live.run.n_weights - 1)
        live.move((300.0, 200.0))
        settled(live)
        picture = painted(live.bench)
        assert picture.std() > 5
        live.bench.select(None)
        asked(live, lambda run: run.undo())
        settled(live)
        assert live.bench.subject.tensors == tensors
        assert live.worker.error is None


def test_a_window_that_trains_while_its_network_changes(live):
    live.playback.play()
    for k in range(12):
        live.tick(0.05)
        wanted = [{"model": network(4 + k % 5)}, {"activation": "relu"}, {"model": network(5, 4)}][k % 3]
        live.worker.ask(lambda run, wanted=wanted: run.change(**wanted))
        for _ in range(5):
            live.tick(0.02)
            live.move((200.0 + 20 * k, 150.0 + 10 * k))
            painted(live.bench)
            time.sleep(0.003)
    settled(live)
    assert live.worker.error is None
    assert len(live.shown.values) == sum(t.size for t in live.bench.subject.tensors)


def test_a_mirror_follows():
    run = run_of(6)
    with offscreen():
        mirror = Mirror(subject_of(run), SIZE)
        mirror.tick(0.0)
        run.step(2)
        mirror.tick(0.1)
        run.change(model=network(6, 6))
        mirror.tick(0.1)
        assert len(mirror.shown.values) == run.n_weights
        assert len(mirror.bench.subject.tensors) == 6
        painted(mirror.bench)
        run.step(3)
        mirror.tick(0.1)
        run.to(1)
        mirror.tick(0.1)
        assert len(mirror.bench.subject.tensors) == 4
        painted(mirror.bench)


def test_a_still_of_a_run_that_changed():
    run = run_of(4)
    before = sv.render(run, size=(320, 180))
    run.change(model=network(4, 4))
    after = sv.render(run, size=(320, 180))
    assert (before != after).any()
    run.undo()
    np.testing.assert_array_equal(sv.render(run, size=(320, 180)), before)
