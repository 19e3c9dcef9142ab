"""The tree of a model beside that of its gradients: the numbers in it, and the two passes of an opened step."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scalarviz.scenes import uinn

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError, TypeMismatchError
from scalarviz.run.edits import SetWeights
from scalarviz.run.panels import GradientTree
from scalarviz.run.questions.ranges import Range
from scalarviz.view.ink.maps import get_map
from scalarviz.view.ink.sketch import Sketch
from scalarviz.view.ink.text import loss_text, short
from scalarviz.view.ink.theme import DARK
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.panels.tree import PASSES, deltas_of, draw_cells, fits, reduced, rows_of
from scalarviz.view.watch.live import LiveView
from scalarviz.view.workbench import Workbench


def made(**options):
    return uinn.build(uinn.Options(engine="numpy", dtype="float64", **options))


def words(bench):
    return [item.text for sketch in bench.sketches for item in sketch.texts]


def bench_of(scene, size=(1280, 720)):
    with offscreen():
        bench = Workbench(scene, size)
        bench.update(bench.subject.frame())
    return bench


# ---- numbers


@pytest.mark.parametrize("hidden", [(8, 8), (3,), (4, 5, 2)])
def test_the_derivatives_by_outputs_are_those_of_the_opened_step(hidden):
    """Out of a step's gradient alone, against the backward pass of the step, opened."""
    scene = made(hidden=hidden, seed=4)
    with scene.run as run:
        stages = bench_stages(run)
        assert deltas_of(stages, run.frame()) == {}
        run.step(3)
        found = deltas_of(stages, run.frame())
        opened = run.open(step=3)
        assert set(found) == {stage.name for stage in stages}
        for name, row in found.items():
            np.testing.assert_allclose(row, opened.delta_sums[name], rtol=1e-9, atol=1e-12)
        run.do(SetWeights(0, np.array([1.0])))
        assert deltas_of(stages, run.frame()) == {}


def bench_stages(run):
    return run.frame().forward.stages


def test_the_lines_are_those_of_the_chain():
    scene = made()
    with scene.run as run:
        run.step()
        frame, stages = run.frame(), bench_stages(run)
        rows = rows_of(stages, frame, deltas_of(stages, frame))
        names = [("  " if row.deep else "") + row.name for row in rows]
        assert names == [
            "input, 2", "0 linear, 8", "  weight", "  bias", "1 relu, 8", "2 linear, 8", "  weight", "  bias",
            "3 relu, 8", "4 linear, 1", "  weight", "  bias", "loss",
        ]  # fmt: skip
        leaves = [row for row in rows if row.deep]
        assert [row.last for row in leaves] == [False, True] * 3
        flat = np.concatenate([row.gradient.ravel() for row in leaves])
        np.testing.assert_array_equal(flat, frame.gradient)
        np.testing.assert_array_equal(np.concatenate([row.values.ravel() for row in leaves]), frame.values)


@given(arrays(np.float64, st.tuples(st.integers(1, 60), st.integers(1, 60)), elements=st.floats(-1e6, 1e6)),
       st.integers(1, 40))  # fmt: skip
def test_of_each_block_the_largest_is_kept(numbers, most):
    found = reduced(numbers, most)
    assert found.shape == tuple(min(side, most) for side in numbers.shape)
    assert np.abs(found).max() == np.abs(numbers).max()
    assert np.isin(found, numbers).all()
    if max(numbers.shape) <= most:
        np.testing.assert_array_equal(found, numbers)


def test_no_chain_has_no_tree():
    assert not fits(())


# ---- pictures


@pytest.mark.gl
def test_norms_stand_beside_the_gradients_of_a_step():
    scene = made()
    with scene.run as run:
        assert "no gradients yet" in words(bench_of(scene))
        run.step(5)
        frame, said = run.frame(), words(bench_of(scene))
        assert "gradients of step 5" in said
        for tensor in frame.forward.tensors:
            assert short(float(np.linalg.norm(tensor.of(frame.gradient)))) in said
        run.do(SetWeights(0, np.array([1.0])))
        assert "before the change" in words(bench_of(scene))


@pytest.mark.gl
def test_the_gradients_come_in_two_passes():
    """In a step opened with one sample: by outputs from the last to the first, then leaves, outer products."""
    scene = made(seed=1)
    unseen = Unseen(lambda size: LiveView(scene, size, steps=20, playing=False))
    view, passes = unseen.view, {3: [], 4: []}
    try:
        drawer = view.bench.side.drawers["model"]
        seen = []
        genuine = drawer.inside

        def inside(inner, box):
            rows = rows_of(inner.source.stages, inner.frame, inner.deltas, inputs=inner.frame.activations)
            seen.append((inner.phase, inner.stage, rows))
            return genuine(inner, box)

        drawer.inside = inside
        for _ in range(40):
            view.send("micro_next")
            for _ in range(3):
                unseen.pass_time(0.5)
            told = view.bench.inside.told
            if told is None or scene.run.steps:
                break
            phase, stage, rows = seen[-1]
            if phase in passes:
                assert PASSES[phase] in words(view.bench)
                known = [row.name for row in rows if row.gradient is not None and row.deep == (phase == 4)]
                passes[phase].append((stage, known))
                if phase == 3:
                    assert not any(row.deep and row.gradient is not None for row in rows)
            if phase == 4:
                for row in (row for row in rows if row.factors is not None):
                    np.testing.assert_allclose(np.outer(*row.factors), row.gradient, rtol=1e-9, atol=1e-12)
                factored = sum(row.factors is not None for row in rows)
        assert [stage for stage, _ in passes[3]] == ["4", "2", "0"]
        assert passes[3][0][1] == ["4 linear, 1"]
        assert passes[3][1][1] == ["2 linear, 8", "3 relu, 8", "4 linear, 1"]
        assert [stage for stage, _ in passes[4]] == ["4", "2", "0"]
        assert [len(known) for _, known in passes[4]] == [2, 4, 6]
        assert factored == 3
    finally:
        view.close()


@pytest.mark.gl
def test_a_long_chain_says_what_is_left_out():
    scene = made(hidden=(8,) * 9)
    with scene.run as run:
        run.step()
        assert any(line.startswith("and ") and line.endswith(" more lines") for line in words(bench_of(scene)))


@pytest.mark.gl
def test_a_network_that_is_no_chain_is_said():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.one = nn.Linear(2, 2, seed=1)

        def forward(self, x):
            return self.one(self.one(x))

    net = Twice()
    data = np.ones((3, 2)), np.ones((3, 2))
    with sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=data, engine="numpy") as run:
        said = words(bench_of(sv.Scene("mine", run, panels=(GradientTree(),))))
    assert any("no chain of layers" in line for line in said)


def test_its_title_is_a_text():
    with pytest.raises((InputError, TypeMismatchError), match="title"):
        GradientTree(title=3)


@pytest.mark.gl
def test_the_pointer_says_what_a_number_is():
    scene = made()
    with scene.run as run, offscreen():
        run.step(5)
        bench = Workbench(scene, (1280, 720), keys=(("Space", "run"),))
        frame = bench.subject.frame()
        bench.update(frame)
        weights = next(tensor for tensor in frame.forward.tensors if tensor.name == "2.weight")
        drawer = bench.side.drawers["model"]
        for flat, what in ((frame.values, "of the model"), (frame.gradient, "its gradient")):
            spot = next(s for s in drawer._spots if s.name == "2.weight" and s.what == what)
            bench.hover(spot.middle(3, 5))
            bench.update(frame)
            said = [item.text for sketch in bench.side.label(frame, (1280.0, 720.0)) for item in sketch.texts]
            assert said == ["2.weight[3][5]", short(float(weights.of(flat)[3, 5]), signed=True), what]
        bench.hover((5.0, 5.0))
        assert bench.side.label(frame, (1280.0, 720.0)) == []


def test_a_number_that_is_none_is_struck_out():
    sketch = Sketch()
    numbers = np.array([[1.0, np.nan, -1.0]])
    draw_cells(sketch, (0.0, 0.0, 78.0, 17.0), DARK, numbers, Range.symmetric(1.0), get_map("gradient", DARK))
    assert len(sketch.triangles) // 6 == 2 + 1 + 1  # two squares, a stroke, the frame


@pytest.mark.gl
def test_each_loss_is_of_the_weights_that_are_named_beside_it():
    """By hand from predictions: before the step in the tree, which has its gradients, after it in the head."""
    scene = made()
    with scene.run as run:
        run.step(4)
        before = 0.5 * np.mean((run.predict(uinn.BITS) - uinn.WANTED) ** 2)
        run.step()
        after = 0.5 * np.mean((run.predict(uinn.BITS) - uinn.WANTED) ** 2)
        bench = bench_of(scene)
        said = words(bench)
        assert said[said.index("before step 5") - 1] == loss_text(before)
        head = [item.text for sketch in bench._numbers for item in sketch.texts]
        assert loss_text(after) in head
        assert loss_text(before) not in head


@pytest.mark.gl
def test_while_samples_are_added_up_the_tree_says_how_many_its_leaf_holds():
    """The derivatives by the outputs are whole by then; the leaf on its way holds the outer products so far."""
    scene = uinn.build(uinn.Options(engine="numpy"))
    unseen = Unseen(lambda size: LiveView(scene, size, steps=20, playing=False))
    view, notes = unseen.view, set()
    try:
        for name in ("micro_next", "whose", "add_samples"):
            view.send(name)
            unseen.pass_time(0.1)
        for _ in range(12):
            told = view.bench.inside.told
            opened = view.micro.walk.opened
            assert not told.trial
            note = f"{told.adding} of 4 samples so far"
            assert (note in words(view.bench)) == (0 < told.adding < 4)
            notes |= {told.adding}
            last = view.bench.subject.stages[-1]
            assert told.deltas[last.name] == pytest.approx(opened.deltas[last.name].sum(axis=1))
            unseen.pass_time(0.1)
    finally:
        view.close()
    assert notes & {1, 2, 3}
