"""What is wrong stands in words beside its layer, and covers neither cubes nor other words."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import again, bench_of, box_of, overlap, said, texts
from scalarviz import nn, optim
from scalarviz.run.scene.scene import Scene

X = np.random.default_rng(0).random((64, 3))
SAID = "no gradient reaches 0.weight: all 8 units of relu are dead"


def scene_of(activation, width, bias):
    net = nn.Sequential(nn.Linear(3, width), activation(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 3))
    net.initialize(nn.init.normal(0, 0.5), seed=1)
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=(X, 1 - X), engine="numpy")
    net[0].bias.data = np.full(width, bias)
    run.step(2)
    return Scene("trouble", run, X[0], 1 - X[0], ("r", "g", "b"), ("r", "g", "b"))


@pytest.fixture
def dead():
    scene = scene_of(nn.ReLU, 8, -100.0)
    yield scene
    scene.run.close()


@pytest.mark.parametrize("width", [4, 32])
@pytest.mark.parametrize(
    ("kind", "bias", "why"), [(nn.ReLU, -100.0, "all {} units of relu are dead"), (nn.Tanh, 30.0, "tanh is saturated")]
)
def test_it_is_said(width, kind, bias, why):
    assert f"no gradient reaches 0.weight: {why.format(width)}" in said(bench_of(scene_of(kind, width, bias)))


@pytest.mark.parametrize("size", [(1280, 720), (640, 360), (400, 400), (2000, 500), (720, 1280)])
def test_it_is_said_at_any_size_and_covers_no_cube_and_no_word(dead, size):
    bench = bench_of(dead, size)
    assert any("no gradient reaches 0.weight" in line for line in said(bench))
    note = [s.texts for s in bench.sketches if any(item.text == "!" for item in s.texts)]
    others = [box_of(item) for item in texts(bench.sketches) if not note or item not in note[0]]
    for box in map(box_of, note[0] if note else ()):  # where it has no room it is said in the HUD
        assert not any(overlap(box, other) for other in others)
        spots = [(x, y) for x in np.linspace(box[0], box[2], 9) for y in np.linspace(box[1], box[3], 3)]
        assert not any(bench.pick((x * bench.scale, y * bench.scale)) is not None for x, y in spots)


def test_it_stays_nearest_to_its_own_layer_and_goes_with_the_trouble(dead):
    bench, places = bench_of(dead), set()
    for _ in range(4):
        places.add(next(box_of(item) for item in texts(bench.sketches) if item.text == SAID))
        dead.run.step(1)
        again(bench, 0.5)
    ((left, _, right, bottom),) = places

    def away(name):
        points = bench.project(bench.layout.plate(name).corners)
        low, high, middle = points.min(axis=0), points.max(axis=0), np.array([(left + right) / 2, bottom])
        return float(np.hypot(*np.maximum(np.maximum(low - middle, middle - high), 0.0)))

    assert away("0.weight") <= min(away("2.weight"), away("4.weight"))
    bench.show_panels(False)
    assert "!" not in said(again(bench))  # there are only cubes
    bench.show_panels(True)
    assert SAID in said(again(bench))
    dead.run.model[0].bias.data = np.ones(8)
    dead.run.step(1)
    assert not any("gradient reaches" in line or line == "!" for line in said(again(bench)))
