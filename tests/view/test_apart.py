"""Plates apart, and one layer alone: the same cubes elsewhere, all of them in the picture, under the pointer too."""

from __future__ import annotations

import numpy as np
import pytest

from scalarviz import Run, nn, optim
from scalarviz.run import Scene
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.space.layout import WIDER, Apart, layer_of, layers_of
from scalarviz.view.watch.live import LiveView

from .test_picking import SIZE, layout_of

X = np.random.default_rng(0).random((16, 3))
NAMES = ["a layer", "a chain", "a stack", "tiles", "unequal"]


def seen(layout):
    return np.concatenate([layout.camera.project(p.corners) for p in layout.plates])


@pytest.mark.parametrize("name", NAMES)
def test_apart_the_same_plates_stand_further_from_each_other(name):
    whole = layout_of(name)
    wide = Apart(wide=True).of(whole)
    middles = [np.array([p.bounds.mean(axis=0) for p in layout.plates]) for layout in (whole, wide)]
    spans = [middle - middle[0] for middle in middles]
    np.testing.assert_allclose(spans[1], WIDER * spans[0], atol=1e-9)
    for before, after in zip(whole.plates, wide.plates, strict=True):
        np.testing.assert_array_equal(before.axes, after.axes)
        assert (before.name, before.start, before.half) == (after.name, after.start, after.half)
    box = seen(whole)
    slack = 0.02 * np.ptp(box, axis=0)
    assert np.all(seen(wide) >= box.min(axis=0) - slack)
    assert np.all(seen(wide) <= box.max(axis=0) + slack)
    for before, after in zip(whole.flow.reshape(-1, 3), wide.flow.reshape(-1, 3), strict=True):  # lines go with them
        gaps = [after - before - (q.origin - p.origin) for p, q in zip(whole.plates, wide.plates, strict=True)]
        assert min(float(np.abs(gap).max()) for gap in gaps) < 1e-9


@pytest.mark.parametrize("name", ["a chain", "a stack", "tiles"])
def test_one_layer_alone_fills_the_picture(name):
    whole = layout_of(name)
    for layer in layers_of(whole):
        alone = Apart(layer=layer).of(whole)
        assert {layer_of(p) for p in alone.plates} == {layer}
        own = [p for p in whole.plates if p.kind != "activation" and layer_of(p) == layer]
        assert [p.name for p in alone.plates] == [p.name for p in own]
        assert np.all(seen(alone) >= 0)
        assert np.all(seen(alone) <= np.maximum(SIZE, seen(whole).max(axis=0) + 1e-6))
        assert alone.pixels_per_cube() >= 0.9 * whole.pixels_per_cube()
    assert Apart(layer="nothing of that name").of(whole) is whole


def test_one_layer_has_nothing_to_be_taken_from():
    for name in ("a layer", "one cube"):
        assert layers_of(layout_of(name)) == ()
    one = layout_of("one cube")
    assert Apart(wide=True).of(one) is one


def view_of(*layers):
    net = nn.Sequential(*layers)
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, 1 - X), engine="numpy")
    return Unseen(lambda size: LiveView(Scene("t", run), (960, 540), playing=False)).view


@pytest.fixture
def live():
    made = view_of(nn.Linear(3, 6, seed=1), nn.Tanh(), nn.Linear(6, 3, seed=2))
    with offscreen():
        made.tick(0.0)
        yield made
        made.close()


@pytest.mark.gl
def test_keys_take_apart_and_put_together(live):
    bench, whole = live.bench, [p.name for p in live.bench.layout.plates]
    live.key("PageDown")
    assert [p.name for p in bench.layout.plates] == ["0.weight", "0.bias"]
    assert live.notice() == "layer 0 alone, 1 of 2"
    live.key("PageUp")
    assert [p.name for p in bench.layout.plates] == whole
    live.key("PageUp")
    assert [p.name for p in bench.layout.plates] == ["2.weight", "2.bias"]
    live.tick(0.2)
    for plate in bench.layout.plates:
        for element in range(plate.size):
            at = bench.project(plate.centre_of(element) + plate.depth * plate.axes[2])[0] * bench.scale
            assert bench.pick(tuple(at)) == plate.start + element
    live.key("PageDown")
    live.key("z")
    assert bench.apart == Apart(wide=True)
    live.tick(0.2)
    live.key("z")
    live.tick(0.2)
    assert bench.apart == Apart()
    assert [p.name for p in bench.layout.plates] == whole


@pytest.mark.gl
def test_what_is_selected_elsewhere_is_let_go_of_and_may_be_selected(live):
    live.bench.select(0)
    live.key("PageUp")
    live.tick(0.2)
    assert live.bench.selected is None
    live.bench.select(0)  # as a breakpoint may: its cube is not drawn
    live.tick(0.2)
    assert live.bench.selected == 0


@pytest.mark.gl
def test_an_opened_step_has_all_layers(live):
    live.key("PageDown")
    live.send("micro_next")
    live.tick(0.1)
    assert {layer_of(p) for p in live.bench.layout.plates if p.kind != "activation"} == {"0", "2"}
    live.send("escape")
    live.tick(0.1)
    assert [p.name for p in live.bench.layout.plates] == ["0.weight", "0.bias"]


@pytest.mark.gl
def test_where_there_is_one_layer_the_keys_say_so():
    view = view_of(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    with offscreen():
        view.tick(0.0)
        view.key("PageDown")
        assert view.notice() == "PageDown: the cubes here stand in one piece"
        view.close()
