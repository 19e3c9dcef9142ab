"""A scene that names no probe: the first sample of its data is drawn, with names and numbers."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import bench_of, said
from kit.networks import mlp
from scalarviz import nn, optim
from scalarviz.cli.pictures import easel_of
from scalarviz.view.ink.text import chip_text
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
    mine = subject_of(own_scene(*widths, probe=np.ones(widths[0])))  # one that is given stays
    assert mine.probe.tolist() == [1.0] * widths[0]
    assert mine.sample.target is None  # nobody knows what it should become


@pytest.mark.parametrize("widths", [(3, 3), (3, 4, 3)])
def test_a_class_as_target_is_named_not_drawn_as_a_number(widths):
    animals, labels = ("cat", "dog", "owl"), np.arange(12) % 3
    words = said(bench_of(own_scene(*widths, loss=nn.CrossEntropyLoss(), targets=labels, output_names=animals)))
    assert any(text.startswith("wanted cat") for text in words)
    assert "target" not in words
