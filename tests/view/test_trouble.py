"""What is wrong stands in words beside its layer, and covers neither cubes nor other words."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import Box, again, bench_of, box_of, overlap, said, texts
from scalarviz import nn, optim
from scalarviz.run.scene.scene import Scene
from scalarviz.view.ink.sketch import Sketch
from scalarviz.view.workbench import Workbench

pytestmark = pytest.mark.gl
X = np.random.default_rng(0).random((64, 3))


def scene_of(activation: Callable[[], nn.Module], width: int, bias: float) -> Scene:
    net = nn.Sequential(nn.Linear(3, width), activation(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 3))
    net.initialize(nn.init.normal(0, 0.5), seed=1)
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=(X, 1 - X), engine="numpy")
    net[0].bias.data = np.full(width, bias)
    run.step(2)
    return Scene("trouble", run, X[0], 1 - X[0], ("r", "g", "b"), ("r", "g", "b"))


@pytest.fixture
def dead() -> Iterator[Scene]:
    scene = scene_of(nn.ReLU, 8, -100.0)
    yield scene
    scene.run.close()


SAID = "no gradient reaches 0.weight: all 8 units of relu are dead"


def place_of(bench: Workbench) -> Box:
    return box_of(next(item for item in texts(bench.sketches) if item.text == SAID))


@pytest.mark.parametrize("width", [4, 8, 32])
def test_it_is_said(width: int) -> None:
    for activation, bias, why in ((nn.ReLU, -100.0, f"all {width} units of relu are dead"),
                                  (nn.Tanh, 30.0, "tanh is saturated")):  # fmt: skip
        scene = scene_of(activation, width, bias)
        assert f"no gradient reaches 0.weight: {why}" in said(bench_of(scene))
        scene.run.close()


def test_it_goes_with_the_trouble(dead: Scene) -> None:
    bench = bench_of(dead)
    assert SAID in said(bench)
    dead.run.model[0].bias.data = np.ones(8)
    dead.run.step(1)
    again(bench)
    assert not any("gradient reaches" in line or line == "!" for line in said(bench))


@pytest.mark.parametrize("size", [(1280, 720), (960, 540), (640, 360), (400, 400), (2000, 500), (720, 1280)])
def test_it_is_said_at_any_size_and_covers_no_cube_and_no_word(dead: Scene, size: tuple[int, int]) -> None:
    bench = bench_of(dead, size)
    assert any("no gradient reaches 0.weight" in line for line in said(bench))
    note = next((s for s in bench.sketches if any(item.text == "!" for item in s.texts)), Sketch())
    others = [box_of(item) for item in texts(bench.sketches) if item not in note.texts]
    for left, top, right, bottom in map(box_of, note.texts):  # where it has no room it is said in the HUD
        assert not any(overlap((left, top, right, bottom), other) for other in others)
        spots = [(x, y) for x in np.linspace(left, right, 9) for y in np.linspace(top, bottom, 3)]
        assert not any(bench.pick((x * bench.scale, y * bench.scale)) is not None for x, y in spots)


def test_it_stands_nearer_to_its_own_layer_than_to_others(dead: Scene) -> None:
    bench = bench_of(dead)
    left, _, right, bottom = place_of(bench)
    middle = np.array([(left + right) / 2, bottom])

    def away(name: str) -> float:
        points = bench.project(bench.layout.plate(name).corners)
        low, high = points.min(axis=0), points.max(axis=0)
        return float(np.hypot(*np.maximum(np.maximum(low - middle, middle - high), 0.0)))

    assert away("0.weight") <= min(away("2.weight"), away("4.weight"))


def test_it_stays_where_it_is_while_numbers_change(dead: Scene) -> None:
    bench = bench_of(dead)
    places = set()
    for _ in range(4):
        dead.run.step(1)
        again(bench, 0.5)
        places.add(place_of(bench))
    assert len(places) == 1


def test_without_panels_there_are_only_cubes(dead: Scene) -> None:
    bench = bench_of(dead)
    bench.show_panels(False)
    again(bench)
    assert "!" not in said(bench)
