"""The tree of a model beside that of its gradients: the numbers in it, and the two passes of an opened step."""

from __future__ import annotations

import numpy as np
import pytest
from scalarviz.scenes import uinn

import scalarviz as sv
from kit.benches import bench_of, said, words
from kit.commands import make_scene
from kit.runs import make_run
from kit.windows import live_hand
from scalarviz.run.edits import SetWeights
from scalarviz.run.panels import GradientTree
from scalarviz.view.ink.text import loss_text, short
from scalarviz.view.panels.one_step import PASSES, deltas_of, rows_of
from scalarviz.view.shown.names import Names

pytestmark = pytest.mark.gl


def made(**options):
    return make_scene("uinn", dtype="float64", **options)


@pytest.mark.parametrize("hidden", [(8, 8), (3,), (4, 5, 2)])
def test_the_derivatives_by_outputs_are_those_of_the_opened_step_and_lines_those_of_the_chain(hidden):
    """Out of a step's gradient alone, against the backward pass of the step, opened."""
    run = made(hidden=hidden, seed=4).run
    stages = run.frame().forward.stages
    assert deltas_of(stages, run.frame()) == {}
    run.step(3)
    frame, opened = run.frame(), run.open(step=3)
    found = deltas_of(stages, frame)
    assert set(found) == {stage.name for stage in stages}
    for name, row in found.items():
        np.testing.assert_allclose(row, opened.delta_sums[name], rtol=1e-9, atol=1e-12)
    rows, layers = rows_of(stages, frame, found), len(hidden) + 1
    wanted = ["", *["", "weight", "bias", ""] * layers]  # the input; a layer, its leaves, its activation or the loss
    assert [row.name if row.deep else "" for row in rows] == wanted
    leaves = [row for row in rows if row.deep]
    assert [row.last for row in leaves] == [False, True] * layers
    for part, flat in (("gradient", frame.gradient), ("values", frame.values)):
        np.testing.assert_array_equal(np.concatenate([getattr(row, part).ravel() for row in leaves]), flat)
    run.do(SetWeights(0, np.array([1.0])))
    assert deltas_of(stages, run.frame()) == {}


def test_a_step_says_its_norms_and_the_loss_of_the_weights_that_are_shown():
    """The loss by hand from predictions, in the tree as in the head."""
    scene = made()
    run = scene.run
    assert "no gradients yet" in said(bench_of(scene, asked=True))

    def loss():
        return 0.5 * np.mean((run.predict(uinn.BITS) - uinn.WANTED) ** 2)

    run.step(5)
    frame, bench = run.frame(), bench_of(scene, asked=True)
    tree, now = words(bench.side.drawn("model")), loss_text(loss())
    assert "gradients of step 5" in tree
    assert {short(float(np.linalg.norm(t.of(frame.gradient)))) for t in frame.forward.tensors} <= set(tree)
    assert tree[tree.index("of all 4 samples") - 1] == now
    assert now in said(bench)
    run.do(SetWeights(0, np.array([1.0])))
    assert "before the change" in said(bench_of(scene, asked=True))


def test_the_gradients_come_in_two_passes():
    """In a step opened with one sample: by outputs from the last to the first, then leaves, outer products."""
    passes = {3: [], 4: []}
    with live_hand(made(seed=1), steps=20) as window:
        for _ in range(20):
            window.do("micro_next")
            told = window.bench.step_drawing.micro_step
            if told is None or told.phase not in passes:
                continue
            rows = rows_of(told.source.stages, told.frame, told.deltas, inputs=told.frame.activations,
                           names=Names(window.bench.subject).stages)  # fmt: skip
            assert PASSES[told.phase] in said(window.bench)
            deep = told.phase == 4
            known = [row.name for row in rows if row.gradient is not None and row.deep == deep]
            passes[told.phase].append((told.stage, known))
            assert deep or not any(row.deep and row.gradient is not None for row in rows)
            factored = [row for row in rows if row.factors is not None]
            for row in factored:
                np.testing.assert_allclose(np.outer(*row.factors), row.gradient, rtol=1e-9, atol=1e-12)
    assert [stage for stage, _ in passes[3]] == [stage for stage, _ in passes[4]] == ["4", "2", "0"]
    known = ["layer 1, 8", "ReLU 1, 8", "layer 2, 8", "ReLU 2, 8", "layer 3, 1"]
    assert [found for _, found in passes[3]] == [known[-1:], known[-3:], known]
    assert [len(found) for _, found in passes[4]] == [2, 4, 6]
    assert len(factored) == 3


def test_a_long_chain_says_what_is_left_out_and_what_is_no_chain_has_no_tree():
    long = said(bench_of(made(hidden=(8,) * 9), asked=True))
    assert any(line.startswith("and ") and line.endswith(" more lines") for line in long)
    with make_run("tied") as run:
        bench = bench_of(sv.Scene("mine", run, panels=(GradientTree(),)))
    assert any("not a chain of layers" in line for line in said(bench))


def test_the_pointer_says_what_a_number_is():
    scene, place = made(), (1280.0, 720.0)
    scene.run.step(5)
    bench, frame = bench_of(scene, asked=True), scene.run.frame()
    weights = next(tensor for tensor in frame.forward.tensors if tensor.name == "2.weight")
    drawn = [shape.rects for sketch in bench.side.drawn("model") for shape in sketch.shapes if hasattr(shape, "rects")]
    for rects, flat, what in zip((rects for rects in drawn if len(rects) == 64), (frame.values, frame.gradient),
                                 ("of the model", "its gradient"), strict=True):  # fmt: skip
        x, y, wide, high = rects[3 * 8 + 5]
        bench.hover((x + 0.9 * wide, y + 0.9 * high))
        told = words(bench.side.label(frame, place))
        assert told == ["from h6 to k4", short(float(weights.of(flat)[3, 5]), signed=True), what]
    bench.hover((5.0, 5.0))
    assert bench.side.label(frame, place) == []
