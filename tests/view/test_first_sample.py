"""A scene that names no probe: the first sample of its data is drawn, with names and numbers."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import bench_of, pixels_of, said, texts
from kit.networks import mlp
from scalarviz import nn, optim
from scalarviz.cli.pictures import easel_of
from scalarviz.view.ink.text import chip_text, measure
from scalarviz.view.notes.values import colours_at
from scalarviz.view.shown.subject import subject_of

pytestmark = pytest.mark.gl


def own_scene(*widths, loss=None, targets=None, **more):
    """A network that somebody wrote himself, without a probe."""
    rng, net = np.random.default_rng(3), mlp(*widths, last="Identity")(nn)
    net.initialize(nn.init.pytorch_default(), seed=3)
    data = rng.normal(0, 1, (12, widths[0])), rng.normal(0, 1, (12, widths[-1])) if targets is None else targets
    run = sv.Run(net, loss or nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=data, engine="numpy")
    return sv.Scene("own", run, **more)


@pytest.mark.parametrize("widths", [(4, 3), (2, 4, 1), (2, 3, 3, 2)])
def test_it_is_the_first_sample_with_its_target_names_and_numbers(widths):
    scene = own_scene(*widths)
    scene.run.step(3)
    inputs, targets = scene.run.samples()
    subject, outputs = subject_of(scene), scene.run.predict(inputs[:1])[0]
    assert np.array_equal([*subject.probe, *subject.sample.target], [*inputs[0], *targets[0]])
    assert subject.probe_loss(subject.frame()) == pytest.approx(np.mean((outputs - targets[0]) ** 2), rel=1e-5)
    names = {f"x{k}" for k in range(widths[0])} | {f"y{k}" for k in range(widths[-1])}
    numbers = {chip_text(value) for value in (*inputs[0], *outputs, *targets[0])}
    assert names | numbers <= {*" ".join(said(bench_of(scene))).replace(",", "").split()}
    options = importlib.import_module("scalarviz.scenes.rgb").Options(size=(960, 540))
    drawn = easel_of(scene.name, options, scene).picture("", 0.0)  # films and stills, too
    assert np.abs(drawn.astype(int) - sv.render(scene, (960, 540), pace_text=" ")).mean() < 0.1


def test_a_probe_and_names_that_are_given_stay():
    mine = np.array([0.25, -0.5])
    scene = own_scene(2, 3, 2, probe=mine, input_names=("height", "age"), output_names=("yes", "no"))
    assert np.array_equal(subject_of(scene).probe, mine)
    assert subject_of(scene).sample.target is None  # nobody knows what it should become
    assert {"height", "age", "yes", "no"} <= set(" ".join(said(bench_of(scene))).replace(",", "").split())


def test_every_activation_of_a_small_chain_carries_its_number_inside_its_cube():
    bench = bench_of(own_scene(2, 4, 4, 1))
    frame, picture, shown = bench.subject.frame(), pixels_of(bench), texts(bench.sketches)
    rows = [p for p in bench.layout.plates if p.kind == "activation"]
    assert [p.size for p in rows] == [2, 4, 4, 1]
    for plate in rows:
        for k, value in enumerate(frame.activations[plate.name]):
            centre = plate.cell_centre_top(k)
            (x, y), (px, py) = bench.project([centre, centre - 0.8 * plate.half * (plate.axes[0] + plate.axes[1])])
            nearest = min(shown, key=lambda item: abs(item.x - x) + abs(item.y - y))
            assert nearest.text == chip_text(value)
            assert measure(nearest.text, 13, True) < np.ptp(bench.project(plate.cell_corners(k)[4:])[:, 0])
            wanted = colours_at(bench.activations.cmap, bench.activations.range.unit(value))
            assert np.abs(picture[int(py), int(px)] / 255.0 - wanted).max() < 0.03  # beside the number


@pytest.mark.parametrize("widths", [(3, 3), (3, 4, 3)])
def test_a_class_as_target_is_named_not_drawn_as_a_number(widths):
    animals, labels = ("cat", "dog", "owl"), np.arange(12) % 3
    words = said(bench_of(own_scene(*widths, loss=nn.CrossEntropyLoss(), targets=labels, output_names=animals)))
    assert any(text.startswith("wanted cat") for text in words)
    assert "target" not in words
