"""A picture whose run gets another network stands anew for it: in a window, in a mirror."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import again, bench_of, pixels_of
from kit.networks import mlp
from kit.windows import X, live_hand, make_colour_scene, mirror_hand
from scalarviz import Run, nn, optim
from scalarviz.run.panels import LossCurve

pytestmark = pytest.mark.gl
SIZE = 960, 540


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


def test_a_window_that_trains_while_its_network_changes(hand):
    live = hand.view
    live.playback.play()
    for k in range(6):
        wanted = [{"model": network(4 + k % 5)}, {"activation": "relu"}, {"model": network(5, 4)}][k % 3]
        live.worker.ask(lambda run, wanted=wanted: run.change(**wanted))
        for _ in range(5):
            live.tick(0.02)
            live.move((200.0 + 20 * k, 150.0 + 10 * k))
            pixels_of(live.bench)
    hand.settled()
    assert live.worker.error is None
    assert len(live.shown.values) == sum(t.size for t in live.bench.subject.tensors)


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
