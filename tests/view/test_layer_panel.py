"""The table of layers over the picture: the numbers of the frame shown, whose they are, and where it has no room."""

from __future__ import annotations

import numpy as np
import pytest

from scalarviz import Run, nn, optim
from scalarviz.run import Scene
from scalarviz.run.questions.diagnosis import layer_rows
from scalarviz.view.ink.text import short
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.watch.live import LiveView

X = np.random.default_rng(0).normal(size=(40, 3))
pytestmark = pytest.mark.gl


def view_of(size=(1280, 720), layers=1):
    middle = [part for k in range(layers) for part in (nn.Linear(6, 6, seed=k + 3), nn.ReLU())]
    net = nn.Sequential(nn.Linear(3, 6, seed=1), nn.ReLU(), *middle, nn.Linear(6, 3, seed=2))
    run = Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.05), (X, 1 - X), engine="numpy")
    run.step(20)
    return Unseen(lambda s: LiveView(Scene("t", run), s, playing=False), size).view


def texts(view):
    for _ in range(3):
        view.worker.settle()
        view.tick(0.5)
    return [item for sketch in view.bench.layers.sketches for item in sketch.texts]


@pytest.fixture(params=[(1280, 720), (640, 360), (2560, 1440)])
def view(request):
    made = view_of(request.param)
    made.tick(0.0)
    yield made
    made.close()


def test_it_says_the_numbers_of_the_frame_and_of_which_samples(view):
    view.key("d", "d")
    shown = [item.text for item in texts(view)]
    assert "layers at step 20" in shown
    for row in layer_rows(view.shown, view.bench.subject.tensors, view.bench.subject.stages):
        assert {row.name, short(row.gradient), short(row.ratio)} <= set(shown)
    assert any("mean of all 40 samples" in text for text in shown)
    assert any(text == "dead: 0 for all of the first 40 samples" for text in shown)


def test_in_the_past_it_is_that_of_the_past(view):
    view.key("d", "d")
    now = [item.text for item in texts(view)]
    view.send("back", 15)
    past = [item.text for item in texts(view)]
    assert "layers at step 5" in past
    view.send("step", 15)
    assert [item.text for item in texts(view)] == now


def test_nothing_of_it_leaves_the_picture_or_lies_on_another(view):
    view.key("d", "d")
    wide, high = view.bench.places.size
    boxes = [(t.left, t.y - 0.75 * t.size, t.left + t.width, t.y + 0.2 * t.size) for t in texts(view)]
    for k, a in enumerate(boxes):
        assert 0 <= a[0] <= a[2] <= wide
        assert 0 < a[1] <= a[3] <= high + 4
        assert all(a[0] >= b[2] or b[0] >= a[2] or a[1] >= b[3] or b[1] >= a[3] for b in boxes[:k])


def test_escape_and_the_key_close_it(view):
    for close in ("d", "Escape"):
        view.key("d", "d")
        assert texts(view)
        view.key(close, close if close == "d" else "")
        assert not texts(view)
    assert not view.host.closed


def test_more_layers_than_have_room_are_counted():
    made = view_of((640, 360), layers=20)
    made.tick(0.0)
    made.key("d", "d")
    shown = texts(made)
    made.close()
    (left_out,) = [item.text for item in shown if item.text.startswith("and ")]
    rows = sum(item.text in {str(k) for k in range(43)} and item.x < 60 for item in shown)
    assert left_out == f"and {22 - rows} more"
    assert max(item.y for item in shown) < 360
