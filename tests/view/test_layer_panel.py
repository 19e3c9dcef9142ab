"""The table of layers over the picture: the numbers of the frame shown, whose they are, and where it has no room."""

from __future__ import annotations

import numpy as np
import pytest

from kit.benches import words
from kit.networks import mlp
from kit.windows import live_hand
from scalarviz import Run, nn, optim
from scalarviz.run import Scene
from scalarviz.run.questions.diagnosis import layer_rows
from scalarviz.view.ink.text import short

X = np.random.default_rng(0).normal(size=(40, 3))
pytestmark = pytest.mark.gl


def scene():
    net = mlp(3, 6, 6, 3, activation="ReLU", last="Identity")(nn)
    net.initialize(seed=1)
    run = Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.05), (X, 1 - X), engine="numpy")
    run.step(20)
    return Scene("t", run)


def told(hand):
    hand.settled(3, 0.5)
    return words(hand.view.bench.layers.sketches)


@pytest.mark.parametrize("size", [(1280, 720), (640, 360)])
def test_it_says_the_numbers_of_the_frame_shown_and_of_which_samples_until_it_is_closed(size):
    with live_hand(scene(), size) as hand:
        view = hand.view
        view.key("d", "d")
        now, subject = told(hand), view.bench.subject
        assert "layers at step 20" in now
        for row in layer_rows(view.shown, subject.tensors, subject.stages):
            assert {row.name, short(row.gradient), short(row.ratio)} <= set(now)
        assert any("mean of all 40 samples" in text for text in now)
        assert "dead: 0 for all of the first 40 samples" in now
        view.send("back", 15)
        assert "layers at step 5" in told(hand)
        view.send("step", 15)
        assert told(hand) == now
        for close in ("d", "Escape"):
            view.key(close, close)
            assert not told(hand)
            view.key("d", "d")
        assert not hand.host.closed
