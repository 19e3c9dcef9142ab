"""Numbers that stand together are of one moment and of the same samples, or it is said that they are not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run import panels as described
from scalarviz.run.panels import ColourCube, LossCurve
from scalarviz.run.scene.scene import Scene
from scalarviz.view.ink.sketch import TextItem, rgba
from scalarviz.view.ink.text import figure
from scalarviz.view.ink.theme import DARK
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.panels.wording import BEFORE, batch_of
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.workbench import Workbench

pytestmark = pytest.mark.gl
Reduction = Literal["mean", "sum"]
PROBE, TARGET = np.array([0.92, 0.58, 0.18]), np.array([0.1, 0.4, 0.8])


def scene_of(
    batch: int | None = None, *, colours: bool = False, reduction: Literal["mean", "sum"] = "mean", steps: int = 20
) -> Scene:
    x = np.random.default_rng(1).random((64, 3))
    net, loss = nn.Sequential(nn.Linear(3, 3), nn.Sigmoid()), nn.MSELoss(reduction)
    net.initialize(nn.init.normal(0, 1), seed=2)
    run = sv.Run(net, loss, optim.SGD(net.parameters(), lr=0.5), data=(x, 1 - x), batch_size=batch,
                 engine="numpy")  # fmt: skip
    run.step(steps)
    cube = (ColourCube(x, 1 - x),) if colours else ()
    curve = LossCurve(test=described.TestCurve("test", x[:8], 1 - x[:8]))
    return Scene("s", run, PROBE, TARGET, ("r", "g", "b"), ("r", "g", "b"), (*cube, curve))


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = scene_of()
    yield made
    made.run.close()


def bench_of(scene: Scene, quantity: str = "weight") -> Workbench:
    bench = Workbench(scene, (1280, 720), "dark", None, quantity)
    bench.update(scene.run.frame(scene.probe))
    return bench


def show(bench: Workbench, scene: Scene) -> list[TextItem]:
    bench.update(scene.run.frame(scene.probe), "", 0.5)
    return texts(bench)


def texts(bench: Workbench) -> list[TextItem]:
    layers = [bench.sketches, *bench.overlays]
    return [item for sketches in layers for sketch in sketches for item in sketch.texts]


def words(bench: Workbench) -> list[str]:
    return [item.text for item in texts(bench)]


# of which samples


@pytest.mark.parametrize(
    ("batch", "colours", "reduction", "said"),
    [
        (None, True, "mean", "mean of all 64 colours"),
        (None, False, "mean", "mean of all 64 samples"),
        (16, True, "mean", "mean of 16 colours"),
        (1, False, "mean", "of one sample"),
        (None, False, "sum", "sum of all 64 samples"),
    ],
)
def test_a_gradient_says_of_how_many_samples_it_is(
    batch: int | None, colours: bool, reduction: Reduction, said: str
) -> None:
    scene = scene_of(batch, colours=colours, reduction=reduction)
    assert str(batch_of(subject_of(scene))) == said
    bench = bench_of(scene, "gradient")
    assert said in words(bench)  # below what the cubes show
    assert any(w.startswith(f"{said} · ") for w in words(bench))  # in the legend
    bench.touch.hover(4, (300.0, 300.0))
    show(bench, scene)
    assert words(bench).count(said) == 2  # and at the pointer
    assert said not in words(bench_of(scene))  # weights are of no samples
    bench.touch.hover(None, None)
    bench.select(4)
    show(bench, scene)
    assert ("mean gradient" in words(bench)) == (reduction == "mean" and batch != 1)
    if batch != 1:  # the inspector tells the batch from the sample drawn
        assert re.search(f"gradient: {reduction} of [^.]*; of this (sample|colour) ", " ".join(words(bench)))
    scene.run.close()


def test_no_words_stand_beside_gradients_that_are_not_there() -> None:
    fresh = scene_of(steps=0)
    assert not any("64 samples" in w for w in words(bench_of(fresh, "gradient")))
    fresh.run.close()


# of which moment


def named(items: list[TextItem], text: str) -> TextItem:
    return next(item for item in items if item.text == text)


def test_after_a_change_by_hand_the_loss_is_dimmed_and_says_so(scene: Scene) -> None:
    bench = bench_of(scene)
    loss = f"{scene.run.loss:.4f}"
    assert named(texts(bench), loss).colour == rgba(DARK.text1)
    assert BEFORE not in words(bench)
    scene.run.set_weights(4, [2.0])
    items = show(bench, scene)
    beside, there = named(items, BEFORE), named(items, loss)
    assert there.colour == rgba(DARK.text3)
    assert beside.y == there.y
    assert beside.x > there.x
    assert f"end: {BEFORE}" in words(bench)  # of the curve
    scene.run.step(1)
    items = show(bench, scene)
    assert named(items, f"{scene.run.loss:.4f}").colour == rgba(DARK.text1)
    assert not any(BEFORE in item.text for item in items)


def test_the_end_of_the_curve_is_a_ring_then(scene: Scene) -> None:
    def bright(bench: Workbench) -> int:
        """Bright pixels at the right edge of the loss panel, where the curve ends."""
        x, y, width, height = (round(v) for v in bench.places.panels["loss"])
        picture = offscreen().render(bench.draw, bench.size)
        return int(np.sum(picture[y + 30 : y + height - 22, x + width - 11 : x + width].min(axis=2) > 180))

    bench = bench_of(scene)
    assert bright(bench) > 40
    scene.run.set_targets(np.zeros((64, 3)))
    show(bench, scene)
    assert bright(bench) < 25


@pytest.mark.parametrize("quantity", ["gradient", "update"])
def test_so_are_gradient_and_update(scene: Scene, quantity: str) -> None:
    bench = bench_of(scene, quantity)
    bench.select(4)
    scene.run.set_weights(4, [2.0])
    items = show(bench, scene)
    frame = scene.run.frame()
    for block, colour in ((frame.values, DARK.text1), (frame.gradient, DARK.text3), (frame.update, DARK.text3)):
        assert named(items, figure(float(block[4]))).colour == rgba(colour)
    said = words(bench)
    assert f"gradient and update: {BEFORE}" in said
    assert any(w.endswith(BEFORE) and w.startswith("mean of" if quantity == "gradient" else BEFORE) for w in said)
    assert any(w.startswith(f"{BEFORE} · ") for w in said)  # in the legend
    assert not any(w.startswith("last update: w") for w in said)
    bench.touch.hover(5, (300.0, 300.0))
    show(bench, scene)
    assert any(BEFORE in item.text for layer in bench.overlays[1:] for s in layer for item in s.texts)


def test_what_is_of_now_is_of_the_weights_and_the_rate_of_now(scene: Scene) -> None:
    """The sample's own gradient, the end of the test curve and the learning rate."""
    run, bench = scene.run, bench_of(scene)
    for _ in range(3):
        run.step(20)
        show(bench, scene)
    index = run.tensors[1].start  # a bias
    bench.select(index)
    run.set_weights(0, [-1.0])
    show(bench, scene)
    line = next(w for w in words(bench) if w.startswith("gradient of this sample now: "))
    shift = 1e-3 * np.eye(len(run.values))[index]
    up, down = (run.evaluate(PROBE[None], TARGET[None], run.values.astype(float) + by) for by in (shift, -shift))
    assert float(line.split(": ")[1].replace("\N{MINUS SIGN}", "-")) == pytest.approx((up - down) / 2e-3, rel=0.02)
    curve = bench.side.drawer(LossCurve)
    assert curve.losses[-1] == pytest.approx(run.evaluate(curve.panel.test.inputs, curve.panel.test.targets))
    assert curve.steps == sorted(set(curve.steps))
    assert "lr 0.5" in words(bench)
    run.lr = 0.25
    show(bench, scene)
    assert "lr 0.25" in words(bench)
    assert "lr 0.5" not in words(bench)


def test_a_window_draws_again_when_only_the_moment_changed(scene: Scene) -> None:
    from scalarviz.view.watch.live import LiveView

    live = LiveView(scene, (640, 360), playing=False)
    try:
        live.worker.settle()
        live.tick(0.1)
        live.tick(0.1)
        assert not live.tick(0.1)
        live.worker.edit(lambda run: run.set_targets(np.zeros((64, 3))), "targets")
        live.worker.settle()
        assert live.tick(0.1)
        assert any(BEFORE in w for w in words(live.bench))
    finally:
        live.close()
