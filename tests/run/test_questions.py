"""What a view asks of a run: diagnosis, table of layers, ranges of colours, rehearsal, one sample's gradient, units.

It imports internals: a user sees these numbers only in the window, as panels and warnings.
"""

import copy
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kit.refusals import refusals
from kit.runs import ENGINES, bits, make_run
from scalarviz import Run, nn, optim
from scalarviz.errors import InputError, UnknownNameError
from scalarviz.run.core.graph import Forward
from scalarviz.run.opened.network import SampleGradient
from scalarviz.run.questions.diagnosis import diagnose, layer_rows
from scalarviz.run.questions.ranges import (
    Range,
    RangeTracker,
    clip_share,
    extent,
    symlog,
    symlog_inverse,
    weight_extent,
    weight_reach,
)
from scalarviz.run.sources.played import rehearse
from scalarviz.run.validation import check_tables
from scalarviz.tape import Node, Table, Tape

X = np.random.default_rng(0).random((64, 3))

# ---- what is wrong


def a_run(*layers, data=(X, 1 - X), lr=0.1, scale=0.5, seed=1, **more):
    net = nn.Sequential(*layers)
    net.initialize(nn.init.pytorch_default() if scale is None else nn.init.normal(0, scale), seed=seed)
    return Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=lr), data, engine="numpy", **more)


def troubles(run, frame=None):
    """Kind and place of each, and its text."""
    found = diagnose(frame or run.frame(), run.tensors, run.stages)
    return [(trouble.kind, trouble.where) for trouble in found], "; ".join(trouble.text for trouble in found)


def chain(kind, width=8):
    return nn.Linear(3, width), kind(), nn.Linear(width, width), kind(), nn.Linear(width, 3)


class Around(nn.Module):
    """A rectifier, and a way past it."""

    def __init__(self):
        self.first, self.relu, self.last = nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 3)

    def forward(self, x):
        sums = self.first(x)
        return self.last(self.relu(sums) + sums)


def bent(kind):
    return nn.Linear(3, 8), kind(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 3)


# layers; what is set in them; which weights learn nothing, and why; facts that are said
TROUBLES = {
    "second layer dead": (chain(nn.ReLU), {"2.bias": -100}, "dead 2.weight", "no gradient", "all 8 units of relu"),
    "one unit": ((nn.Linear(3, 1), nn.ReLU(), nn.Linear(1, 3)), {"0.bias": -50}, "dead 0.weight", "the unit of relu"),
    "tanh, nearly": (bent(nn.Tanh), {"0.bias": [7, -7] * 4}, "saturated 0.weight", "hardly any gradient", "tanh"),
    "sigmoid": (bent(nn.Sigmoid), {"0.bias": [300, -300] * 4}, "saturated 0.weight", "no gradient", "sigmoid"),
    "wrong outputs": ((nn.Linear(3, 3), nn.Sigmoid()), {"0.bias": [14] * 3}, "saturated 0.weight", "sigmoid"),
    "zeros": (bent(nn.Tanh), {"4.weight": 0}, "no gradient 2.weight", "4.weight are 0"),
    "one unit lives": (chain(nn.ReLU), {"0.bias": [-100] * 7 + [1], "2.weight": 0.3}, ""),
    "a way around": ((Around(),), {"0.first.bias": -100}, ""),
}


@pytest.mark.parametrize("steps", [0, 2])
@pytest.mark.parametrize("name", TROUBLES)
def test_layers_that_learn_nothing_are_found(name, steps):
    layers, given, wanted, *facts = TROUBLES[name]
    run = a_run(*copy.deepcopy(layers))
    for tensor in (t for t in run.tensors if t.name in given):
        run.set_weights(tensor.start, np.broadcast_to(np.float64(given[tensor.name]), tensor.shape).ravel())
    if name == "zeros":
        run.model[4].weight.frozen = True
    run.step(steps)
    found, text = troubles(run)
    if not steps and name in ("zeros", "wrong outputs"):
        wanted = ""  # it takes a gradient to see them
    assert [" ".join(pair) for pair in found] == [wanted] * bool(wanted)
    if steps and wanted:
        assert all(fact in text for fact in facts)
        blocked = next(t for t in run.tensors if t.name == wanted.split()[-1]).of(run.frame().gradient)
        assert blocked.any() == ("hardly" in text)
        assert name == "wrong outputs" or np.abs(blocked).max() < 1e-2 * np.abs(run.frame().gradient).max()
        run.set_weights(0, np.random.default_rng(0).normal(size=run.n_weights) / 2)
        assert troubles(run)[0] == []  # though the gradient in the frame is that of before


@pytest.mark.parametrize(("number", "word"), [(np.nan, "NaN"), (-np.inf, "infinite")])
def test_numbers_that_are_not_finite(number, word):
    run = a_run(*chain(nn.Tanh))
    run.step(1)
    run.model[2].weight[1][2].data = run.model[2].weight[1][3].data = number
    found, text = troubles(run)
    assert found == [("not finite", "2.weight")]
    assert f"2 of 64 weights are {word}" in text
    run.model[2].weight[1][2].data = np.nan
    run.model[2].weight[1][3].data = np.inf
    assert "2 of 64 weights are NaN or infinite" in troubles(run)[1]
    run.model[2].weight.data = np.ones((8, 8))
    run.step(1)
    frame = run.frame()
    gradient = frame.gradient.copy()
    gradient[-1] = number
    found, text = troubles(run, replace(frame, gradient=gradient))
    assert found == [("not finite", "4.bias")]
    assert "1 of 3 gradients" in text
    assert word in troubles(run, replace(frame, loss=abs(number)))[1]
    for old in (replace(frame, gradient=gradient), replace(frame, loss=number)):
        assert troubles(run, replace(old, edited=True))[0] == []  # of before an edit


def test_a_network_that_is_done_is_well():
    """Gradients that are 0 because nothing is left to learn are no trouble."""
    right = a_run(nn.Linear(3, 3), nn.Sigmoid(), data=(X, (X > 0.5).astype(float)))
    right.model[0].weight.data, right.model[0].bias.data = np.eye(3) * 1e5, [-0.5e5] * 3
    right.step(2)
    assert right.frame().saturated["1"].mean() > 0.99
    assert troubles(right)[0] == []
    for steps in (0, 1, 30):  # as is one with usual weights
        well = a_run(*chain(nn.Tanh), scale=None)
        well.step(steps)
        assert troubles(well)[0] == []


def test_units_are_found_when_somebody_looks_of_the_moment_of_the_frame(monkeypatch):
    looked, found = [], Forward.units
    monkeypatch.setattr(Forward, "units", lambda *given: looked.append(1) or found(*given))
    run = a_run(nn.Linear(3, 12), nn.ReLU(), nn.Linear(12, 6), nn.Tanh(), nn.Linear(6, 3), dtype="float64")
    run.model[0].bias.data = np.linspace(-4.0, 1.0, 12)
    frame = run.frame()
    weight, bias = (t.of(frame.values) for t in run.tensors[:2])
    expected = ~(X @ weight.T + bias > 0).any(axis=0)
    assert expected.any()
    run.step(50)
    run.add_samples([[30.0] * 3, [-30.0] * 3], [[0.0] * 3] * 2)  # other data: no unit is dead for it
    assert looked == []
    np.testing.assert_array_equal(frame.dead["1"], expected)
    assert (frame.saturated["3"].shape, frame.units_step, frame.units.samples, len(looked)) == ((6,), None, 64, 1)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(frame)).dead["1"], frame.dead["1"])


def norm(numbers):
    return math.sqrt(math.fsum(float(x) ** 2 for x in numbers))


def test_norms_are_those_of_the_numbers_of_each_layer():
    run = make_run("wide")
    assert {(r.gradient, r.update, r.ratio) for r in layer_rows(run.frame(), run.tensors, run.stages)} == {(None,) * 3}
    run.step(2)
    before = run.frame().values.copy()
    run.step()
    frame = run.frame()
    rows = layer_rows(frame, run.tensors, run.stages)
    assert [(row.name, row.count) for row in rows] == [("0", 64), ("2", 272), ("4", 51)]
    for row, (first, end) in zip(rows, ((0, 64), (64, 336), (336, 387)), strict=True):
        moved = norm(frame.values[first:end] - before[first:end])
        assert row.weight == pytest.approx(norm(frame.values[first:end]), rel=1e-12)
        assert row.gradient == pytest.approx(norm(frame.gradient[first:end]), rel=1e-12)
        assert (row.update, row.ratio) == pytest.approx((moved, moved / row.weight), rel=1e-9)
    run.set_weights(336, np.zeros(51))
    assert layer_rows(run.frame(), run.tensors, run.stages)[2].ratio is None


def test_dead_and_flat_units_of_a_layer():
    for kind, bias in ((nn.ReLU, [0.0, -100.0, 0.1, -100.0, 50.0]), (nn.Tanh, [0.0, 90.0, 0.0, -90.0, 90.0])):
        run = a_run(nn.Linear(3, 5), kind(), nn.Linear(5, 3))
        run.model[0].bias.data = bias
        row, last = layer_rows(run.frame(), run.tensors, run.stages)
        sums = X @ np.array(run.model[0].weight.data).T + bias
        if kind is nn.ReLU:
            assert (row.dead, row.units, row.flat) == (5 - (sums > 0).any(axis=0).sum(), 5, None)
            assert row.dead >= 2
        else:
            assert row.flat == pytest.approx(np.mean(1 - np.tanh(sums) ** 2 < 1e-3))
        assert last.dead is None


# ---- ranges of colours


@settings(max_examples=40)
@given(arrays(np.float64, st.integers(1, 40), elements=st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-6)))
def test_extent_is_the_smaller_of_the_maximum_and_three_rms(x):
    top, rms = max(map(abs, x)), math.sqrt(math.fsum(v * v for v in x) / len(x))
    assert extent(x) == pytest.approx(min(top, 3 * rms) if top else 1.0, rel=1e-12)
    assert extent([*x, np.nan, np.inf]) == pytest.approx(extent(x))
    assert extent([np.nan, np.inf]) == extent([]) == extent([0.0, -0.0]) == extent([1e-300]) == 1.0
    assert extent(np.array([1e300, -1e300])) == pytest.approx(1e300)
    assert clip_share([0.5, 2.0, -3.0, np.inf, -np.inf, np.nan, 1.0, -1.0], 1.0) == 0.5


@pytest.mark.parametrize("count", [3, 40, 1_000, 200_000])
@pytest.mark.parametrize("mask", [-3.4e38, 1e9, -1e6])
def test_a_mask_among_weights_does_not_widen_their_range(count, mask):
    weights = np.random.default_rng(3).normal(0.0, 0.1, count).astype(np.float32)
    masked = weights.copy()
    masked[count // 2] = mask
    assert weight_extent(weights) == extent(weights)
    assert weight_extent(masked) == pytest.approx(extent(np.delete(masked, count // 2)), rel=1e-6)
    assert weight_reach(masked) < abs(mask)


@pytest.mark.parametrize("weights", [[], [0.0, 0.0], [np.nan, np.inf], [2.0], [0.0, 0.0, 1e9], [1e-3, 5.0, 5.0, 5.0]])
def test_weights_with_neighbours_or_alone_have_the_plain_range(weights):
    assert weight_extent(weights) == extent(weights)


@pytest.mark.parametrize(
    "chosen", [Range(-2, 2), Range(0, 1.6), Range(-4e-4, 4e-4, "symlog"), Range(1e-3, 10, "log"), Range.decades(8.0, 4)]
)
def test_a_range_maps_its_ends_to_the_ends_of_the_scale(chosen):
    np.testing.assert_allclose(chosen.unit([chosen.low, chosen.high]), [0, 1], atol=1e-14)
    unit = np.linspace(0, 1, 11)
    np.testing.assert_allclose(chosen.unit(chosen.value(unit)), unit, atol=1e-13)
    assert chosen.unit(2 * chosen.high) > 1


def test_scales_have_their_shape():
    np.testing.assert_allclose(symlog([-1, -0.1, 0, 0.1, 1]), [-1, -0.5, 0, 0.5, 1], atol=1e-15)
    x = np.linspace(-1, 1, 41)
    np.testing.assert_allclose(symlog_inverse(symlog(x)), x, atol=1e-14)
    unit = Range.decades(8.0, 4).unit(8.0 * 10.0 ** -np.arange(8))
    np.testing.assert_allclose(unit, [*np.linspace(1, 0, 5), 0, 0, 0], atol=1e-9)


@given(st.lists(st.floats(0.001, 0.1), min_size=1, max_size=8))
def test_a_range_moves_outward_with_its_time_constant_whatever_the_frame_rate(pauses):
    many, once = RangeTracker(), RangeTracker()
    for tracker in (many, once):
        tracker.follow([1.0], None)
    for pause in pauses:
        (found,) = many.follow([3.0], pause)
    assert once.follow([3.0], math.fsum(pauses)) == pytest.approx([3 - 2 * math.exp(-math.fsum(pauses) / 0.5)])
    assert [found] == pytest.approx(once.follow([0.1], 10.0), rel=1e-12)  # never inward
    assert once.follow([found * 1.05], 0.0) == [found * 1.05]  # at once where it is little
    assert once.follow([0.1], None) == [0.1]
    assert not once.growing


@refusals(
    {
        **{f"range {given}": (lambda given=given: Range(*given), InputError)
           for given in ((1, 1), (0, np.inf), (0, 1, "symlog"))},
        "log from 0": (lambda: Range(0.0, 2.0, "log"), InputError, "positive"),
        "scale": (lambda: Range(-1, 1, "decades"), UnknownNameError, "decades", "linear", "symlog"),
        "table": (lambda: check_tables(gathering(2**24 + 1), "float32"), InputError, "16,777,217", 'dtype="float64"'),
    }
)  # fmt: skip
def test_refusals(refusal):
    refusal.check()


def gathering(rows):
    return Tape((Node("input"), Node("gather", (0,), table=Table(rows, 1))), 1, 0, rows)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("batch", [None, 8])
def test_the_run_does_what_was_rehearsed_and_nothing_before(engine, batch):
    steps = 10 if engine == "objects" else 60
    run, other = (make_run("mlp", engine=engine, batch_size=batch) for _ in range(2))
    for one in (run, other):
        one.model[0].weight[0][1].frozen = True
        one.step(7)
    before = bits(run)
    found = rehearse(run, steps)
    assert bits(run) == before
    assert (found.marks[0], found.marks[-1], len(run.history)) == (0, steps, 7)
    values, way = [run.values.astype(float)], 0.0
    for _ in range(steps):
        run.step(1)
        values.append(run.values.astype(float))
    other.step(steps)
    assert bits(run) == bits(other)
    np.testing.assert_allclose(found.loss, run.history.loss[-steps:], rtol=0 if engine != "objects" else 1e-9)
    for k, (here, there) in enumerate(zip(found.marks[:-1], found.marks[1:], strict=True), start=1):
        way += float(np.linalg.norm(values[there] - values[here]) / np.linalg.norm(values[there]))
        assert found.distances[k] == pytest.approx(way)


def test_a_rehearsal_gives_up_in_time_and_is_not_begun_in_vain():
    run, asked = make_run("wide"), []
    assert rehearse(run, 100_000, 0.2) is None
    assert rehearse(run, 10_000, stopped=lambda: bool(asked.append(1)) or len(asked) == 3) is None
    assert len(asked) == 3
    assert rehearse(run, 0) is None
    assert rehearse(run, 100, 2.0, speed=30.0) is None
    assert rehearse(run, 100, 60.0, speed=300.0) is not None
    run.set_weights(0, np.full(run.n_weights, np.nan))
    assert rehearse(run, 50) is None  # it will diverge


@pytest.mark.parametrize("name", ["mlp", "residual", "tied", "formula", "norms", "gpt"])
def test_the_gradient_of_one_sample_is_that_of_its_opened_step(name):
    run = make_run(name, "cross-entropy" if name == "gpt" else "mse")
    run.step(2)
    values, terms = run.values.astype(float), SampleGradient(run._forward)
    x, y = run.samples()
    for k in range(3):
        found = terms.gradient(x[k], y[k], values)
        assert found.shape == (run.n_weights,)
        np.testing.assert_allclose(found, run.open(sample=k).gradient, rtol=1e-10, atol=1e-13)
