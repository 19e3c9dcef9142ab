"""The table of layers over the picture: the numbers of the frame shown, whose they are, and where it has no room."""

from __future__ import annotations

import numpy as np
import pytest

from kit.benches import texts, words
from kit.windows import live_hand
from scalarviz import Run, nn, optim
from scalarviz.run import Scene
from scalarviz.run.questions.diagnosis import layer_rows
from scalarviz.view.ink.text import short

X = np.random.default_rng(0).normal(size=(40, 3))
pytestmark = pytest.mark.gl


def scene_of(layers=1):
    middle = [part for k in range(layers) for part in (nn.Linear(6, 6, seed=k + 3), nn.ReLU())]
    net = nn.Sequential(nn.Linear(3, 6, seed=1), nn.ReLU(), *middle, nn.Linear(6, 3, seed=2))
    run = Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.05), (X, 1 - X), engine="numpy")
    run.step(20)
    return Scene("t", run)


def told(hand):
    hand.settled(3, 0.5)
    return words(hand.view.bench.layers.sketches)


@pytest.mark.parametrize("size", [(1280, 720), (640, 360), (2560, 1440)])
def test_it_says_the_numbers_of_the_frame_shown_and_of_which_samples_until_it_is_closed(size):
    with live_hand(scene_of(), size) as hand:
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


def test_more_layers_than_have_room_are_counted():
    with live_hand(scene_of(layers=20), (640, 360)) as hand:
        hand.view.key("d", "d")
        told(hand)
        shown = texts(hand.view.bench.layers.sketches)
    (left_out,) = [item.text for item in shown if item.text.startswith("and ")]
    rows = sum(item.text in {str(k) for k in range(43)} and item.x < 60 for item in shown)
    assert left_out == f"and {22 - rows} more"
    assert max(item.y for item in shown) < 360
