"""A scene that names no probe: the first sample of its data is the one whose way is drawn, with names and numbers."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

import scalarviz as sv
from kit.networks import mlp
from scalarviz import nn, optim
from scalarviz.cli.pictures import painter_of
from scalarviz.run.scene.scene import Scene
from scalarviz.view.ink.text import chip_text, measure
from scalarviz.view.notes.values import colours_at
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.workbench import Workbench

pytestmark = pytest.mark.gl


def own_scene(*widths: int, loss: object = None, targets: np.ndarray | None = None, **more: object) -> Scene:
    """A network that somebody wrote himself, without a probe."""
    rng = np.random.default_rng(3)
    net = mlp(*widths, last="Identity")(nn)
    net.initialize(nn.init.pytorch_default(), seed=3)
    inputs = rng.normal(0, 1, (12, widths[0]))
    wanted = rng.normal(0, 1, (12, widths[-1])) if targets is None else targets
    run = sv.Run(net, loss or nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=(inputs, wanted), engine="numpy")
    return Scene("own", run, **more)  # type: ignore[arg-type]


@pytest.fixture(params=[(4, 3), (2, 4, 1), (2, 3, 3, 2)], ids=str)
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    made = own_scene(*request.param)
    made.run.step(3)
    yield made
    made.run.close()


def bench_of(scene: Scene, size: tuple[int, int] = (1280, 720)) -> Workbench:
    with offscreen():
        bench = Workbench(scene, size)
        bench.update(bench.subject.frame())
    return bench


def items(bench: Workbench) -> list[tuple[str, float, float]]:
    return [(t.text, t.x, t.y) for sketch in bench.sketches for t in sketch.texts]


def test_it_is_the_first_sample_with_its_target_names_and_numbers(scene: Scene) -> None:
    inputs, targets = scene.run.samples()
    subject, outputs = subject_of(scene), scene.run.predict(inputs[:1])[0]
    assert np.array_equal(subject.probe, inputs[0])
    assert np.array_equal(subject.sample.target, targets[0])
    assert subject.probe_loss(subject.frame()) == pytest.approx(np.mean((outputs - targets[0]) ** 2), rel=1e-5)
    said = " ".join(text for text, *_ in items(bench_of(scene))).replace(",", "").split()
    assert {f"x{k}" for k in range(inputs.shape[1])} | {f"y{k}" for k in range(len(outputs))} <= {*said}
    assert {chip_text(value) for value in (*inputs[0], *outputs, *targets[0])} <= {*said}
    options = importlib.import_module("scalarviz.scenes.rgb").Options(size=(960, 540))
    drawn = painter_of(scene.name, options, partial(Workbench, scene)).picture("", 0.0)  # films and stills, too
    assert np.abs(drawn.astype(int) - sv.render(scene, (960, 540), pace_text=" ")).mean() < 0.1


def test_a_probe_and_names_that_are_given_stay() -> None:
    mine = np.array([0.25, -0.5])
    scene = own_scene(2, 3, 2, probe=mine, input_names=("height", "age"), output_names=("yes", "no"))
    subject = subject_of(scene)
    assert np.array_equal(subject.probe, mine)
    assert subject.sample.target is None  # nobody knows what it should become
    said = {text for text, *_ in items(bench_of(scene))}
    assert {"height", "age", "yes", "no"} <= {word.strip(",") for text in said for word in text.split()}
    scene.run.close()


@pytest.mark.parametrize("size", [(640, 360), (480, 300)])
def test_names_of_inputs_stay_where_chips_have_no_room(size: tuple[int, int]) -> None:
    scene = own_scene(3, 3)
    bench = bench_of(scene, size)
    shown = {text: (x, y) for text, x, y in items(bench)}
    plate = bench.layout.plate("0.weight")
    for column in range(3):
        x, y = shown[f"x{column}"]
        faces = [bench.project(plate.cell_corners(0, j)[4:]).mean(axis=0) for j in range(3)]
        assert int(np.argmin([np.hypot(*(face - (x, y))) for face in faces])) == column
        assert y < faces[column][1]
    scene.run.close()


def test_every_activation_of_a_small_chain_carries_its_number_inside_its_cube() -> None:
    scene = own_scene(2, 4, 4, 1)
    bench = bench_of(scene)
    frame = bench.subject.frame()
    picture = offscreen().render(bench.draw, bench.size)
    shown = items(bench)
    rows = [p for p in bench.layout.plates if p.kind == "activation"]
    assert [p.size for p in rows] == [2, 4, 4, 1]
    for plate in rows:
        for k, value in enumerate(frame.activations[plate.name]):
            x, y = bench.project([plate.cell_centre_top(k)])[0]
            corners = bench.project(plate.cell_corners(k)[4:])
            nearest = min(shown, key=lambda item: abs(item[1] - x) + abs(item[2] - y))
            assert nearest[0] == chip_text(value)
            assert measure(nearest[0], 13, True) < np.ptp(corners[:, 0])
            # the face beside the number has the colour that the scale gives the value
            spot = plate.cell_centre_top(k) - 0.8 * plate.half * (plate.axes[0] + plate.axes[1])
            px, py = bench.project([spot])[0]
            wanted = colours_at(bench.activations.cmap, bench.activations.range.unit(value))
            assert np.abs(picture[int(py), int(px)] / 255.0 - wanted).max() < 0.03
    scene.run.close()


@pytest.mark.parametrize("widths", [(3, 3), (3, 4, 3)])
def test_a_class_as_target_is_named_not_drawn_as_a_number(widths: tuple[int, ...]) -> None:
    labels = np.arange(12) % 3
    scene = own_scene(*widths, loss=nn.CrossEntropyLoss(), targets=labels, output_names=("cat", "dog", "owl"))
    said = [text for text, *_ in items(bench_of(scene))]
    assert any(text.startswith(("wanted cat · loss of this sample", "sample loss")) for text in said)
    assert any(text.startswith("wanted cat") for text in said)
    assert "target" not in said
    scene.run.close()
