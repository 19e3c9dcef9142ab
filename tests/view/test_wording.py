"""Numbers that stand together are of one moment and of the same samples, or it is said that they are not."""

from __future__ import annotations

import re

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import MINUS, again, bench_of, pixels_of, said_above, said_anywhere, texts
from kit.windows import live_hand
from scalarviz import nn, optim
from scalarviz.run.panels import ColourCube, LossCurve
from scalarviz.run.panels import TestCurve as Curve
from scalarviz.run.scene.scene import Scene
from scalarviz.view.ink.sketch import rgba
from scalarviz.view.ink.text import figure
from scalarviz.view.panels.wording import BEFORE

PROBE, TARGET = np.array([0.92, 0.58, 0.18]), np.array([0.1, 0.4, 0.8])
X = np.random.default_rng(1).random((64, 3))
pytestmark = pytest.mark.gl


def scene_of(batch=None, *, colours=False, reduction="mean", steps=20):
    net, loss = nn.Sequential(nn.Linear(3, 3), nn.Sigmoid()), nn.MSELoss(reduction)
    net.initialize(nn.init.normal(0, 1), seed=2)
    rule = optim.SGD(net.parameters(), lr=0.5)
    run = sv.Run(net, loss, rule, data=(X, 1 - X), batch_size=batch, engine="numpy")
    run.step(steps)
    panels = (ColourCube(X, 1 - X),) * colours, (LossCurve(test=Curve("test", X[:8], 1 - X[:8])),)
    return Scene("s", run, PROBE, TARGET, ("r", "g", "b"), ("r", "g", "b"), sum(panels, ()))


@pytest.fixture
def scene():
    return scene_of()


def colour_of(bench, text):
    """Of the first such text."""
    shown = [sketch for layer in (bench.sketches, *bench.overlays) for sketch in layer]
    return next(item.colour for item in texts(shown) if item.text == text)


# of which samples


@pytest.mark.parametrize(
    ("batch", "colours", "reduction", "said"),
    [(None, True, "mean", "mean of all 64 colours"), (None, False, "sum", "sum of all 64 samples"),
     (16, True, "mean", "mean of 16 colours"), (1, False, "mean", "of one sample")],
)  # fmt: skip
def test_a_gradient_says_of_how_many_samples_it_is(batch, colours, reduction, said):
    scene = scene_of(batch, colours=colours, reduction=reduction)
    bench = bench_of(scene, quantity="gradient")
    assert said in said_anywhere(bench)  # below what the cubes show
    assert any(w.startswith(f"{said} · ") for w in said_anywhere(bench))  # in the legend
    bench.touch.hover(4, (300.0, 300.0))
    assert said_anywhere(again(bench, 0.5)).count(said) == 2  # and at the pointer
    assert said not in said_anywhere(bench_of(scene))  # weights are of no samples
    untrained = scene_of(batch, colours=colours, reduction=reduction, steps=0)
    assert not any(said in words for words in said_anywhere(bench_of(untrained, quantity="gradient")))
    bench.touch.hover(None, None)
    bench.select(4)
    found = said_anywhere(again(bench, 0.5))
    assert ("mean gradient" in found) == (reduction == "mean" and batch != 1)
    if batch != 1:  # the inspector tells the batch from the sample drawn
        assert re.search(f"gradient: {reduction} of [^.]*; of this (sample|colour) ", " ".join(found))


# of which moment


def test_after_a_change_by_hand_the_loss_is_dimmed_and_says_so_and_the_end_of_the_curve_is_a_ring(scene):
    def bright(bench):
        """Bright pixels at the right edge of the loss panel, where the curve ends."""
        x, y, width, height = (round(v) for v in bench.places.panels["loss"])
        return np.sum(pixels_of(bench)[y + 30 : y + height - 22, x + width - 11 : x + width].min(axis=2) > 180)

    bench, loss = bench_of(scene), f"{scene.run.loss:.4f}"
    assert colour_of(bench, loss) == rgba(bench.theme.text1)
    assert BEFORE not in said_anywhere(bench)
    assert bright(bench) > 40
    scene.run.set_weights(4, [2.0])
    again(bench, 0.5)
    assert colour_of(bench, loss) == rgba(bench.theme.text3)
    assert {BEFORE, f"end: {BEFORE}"} <= set(said_anywhere(bench))
    assert bright(bench) < 25
    scene.run.step(1)
    again(bench, 0.5)
    assert colour_of(bench, f"{scene.run.loss:.4f}") == rgba(bench.theme.text1)
    assert BEFORE not in " ".join(said_anywhere(bench))


@pytest.mark.parametrize("quantity", ["gradient", "update"])
def test_so_are_gradient_and_update(scene, quantity):
    bench = bench_of(scene, quantity=quantity)
    bench.select(4)
    scene.run.set_weights(4, [2.0])
    found, frame, theme = said_anywhere(again(bench, 0.5)), scene.run.frame(), bench.theme
    for block, colour in ((frame.values, theme.text1), (frame.gradient, theme.text3), (frame.update, theme.text3)):
        assert colour_of(bench, figure(float(block[4]))) == rgba(colour)
    assert f"gradient and update: {BEFORE}" in found
    assert any(w.endswith(BEFORE) and w.startswith("mean of" if quantity == "gradient" else BEFORE) for w in found)
    assert any(w.startswith(f"{BEFORE} · ") for w in found)  # in the legend
    assert not any(w.startswith("last update: w") for w in found)
    bench.touch.hover(5, (300.0, 300.0))
    assert any(BEFORE in w for w in said_above(again(bench, 0.5)))


def test_what_is_of_now_is_of_the_weights_and_the_rate_of_now(scene):
    """The sample's own gradient, the end of the test curve and the learning rate."""
    run, bench = scene.run, bench_of(scene)
    for _ in range(3):
        run.step(20)
        again(bench, 0.5)
    index = run.tensors[1].start  # a bias
    bench.select(index)
    run.set_weights(0, [-1.0])
    found = said_anywhere(again(bench, 0.5))
    line = next(w for w in found if w.startswith("gradient of this sample now: "))
    shift = 1e-3 * np.eye(len(run.values))[index]
    up, down = (run.evaluate(PROBE[None], TARGET[None], run.values.astype(float) + by) for by in (shift, -shift))
    assert float(line.split(": ")[1].replace(MINUS, "-")) == pytest.approx((up - down) / 2e-3, rel=0.02)
    curve = bench.side.drawer(LossCurve)
    assert curve.losses[-1] == pytest.approx(run.evaluate(X[:8], 1 - X[:8]))
    assert curve.steps == sorted(set(curve.steps))
    assert "lr 0.5" in found
    run.lr = 0.25
    found = said_anywhere(again(bench, 0.5))
    assert [rate in found for rate in ("lr 0.25", "lr 0.5")] == [True, False]


def test_a_window_draws_again_when_only_the_moment_changed(scene):
    with live_hand(scene, (640, 360)) as made:
        made.rest()
        assert not made.view.tick(0.1)
        made.view.worker.edit(lambda run: run.set_targets(np.zeros((64, 3))), "targets")
        made.rest()
        assert any(BEFORE in w for w in made.words())
