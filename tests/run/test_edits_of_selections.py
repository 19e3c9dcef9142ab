"""Edits of many weights: one entry of the log, all or nothing, and numbers that follow from seed and step."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.errors import InputError, TypeMismatchError
from scalarviz.run import edits as ed
from scalarviz.run.edits import read_edit, write_edit

X = np.random.default_rng(0).random((16, 3))


def make(seed=0, init=None, **kwargs):
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3), nn.Sigmoid())
    net.initialize(init, seed=1)
    return net, Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (X, 1 - X), engine="numpy", seed=seed,
                    dtype="float64", **kwargs)  # fmt: skip


@pytest.fixture
def run():
    _, made = make()
    yield made
    made.close()


def test_zeroing_a_row_and_its_bias_is_one_edit(run):
    before = run.values.copy()
    run.do(ed.Together((ed.SetWeights(6, np.zeros(3)), ed.SetWeights(14, [0.0])), "zero neuron 2 of 0"))
    expected = before.copy()
    expected[[6, 7, 8, 14]] = 0
    assert np.array_equal(run.values, expected)
    assert [a.what for a in run.log] == ["zero neuron 2 of 0"]


def test_values_and_flags_of_the_same_weights_go_together(run):
    run.do(ed.Together((ed.SetWeights(0, [0.0, 0.0]), ed.SetFrozen(0, np.array([True, True])))))
    run.step(2)
    assert list(run.values[:2]) == [0, 0]
    assert run.values[2] != 0


@pytest.mark.parametrize("spans", [((0, 2), (1, 1)), ((0, 2), (0, 2)), ((5, 1), (3, 4))])
def test_a_weight_is_named_once(spans):
    with pytest.raises(InputError, match="stands in two of its parts"):
        ed.Together(tuple(ed.SetWeights(start, np.ones(count)) for start, count in spans))
    with pytest.raises(InputError, match="stands in two of its parts"):
        ed.ScaleWeights(spans, 2.0)


@pytest.mark.parametrize(
    "bad", [(), 3, None, "ab", (ed.SetBatchSize(3),), (ed.Together((ed.SetWeights(0, [1.0]),)),), (3,)]
)
def test_only_edits_of_weights_go_together(bad):
    with pytest.raises(TypeMismatchError):
        ed.Together(bad)


@pytest.mark.parametrize("factor", [float("nan"), float("inf"), "2", None])
def test_a_factor_is_a_finite_number(factor):
    with pytest.raises((InputError, TypeMismatchError), match="factor"):
        ed.ScaleWeights(((0, 1),), factor)


@given(
    st.sets(st.integers(0, 30), min_size=1),
    st.floats(-8, 8, allow_subnormal=False),
)
@settings(max_examples=30, deadline=None)
def test_scaling_multiplies_what_is_named_and_leaves_the_rest(indices, factor):
    _, run = make()
    before = run.values.copy()
    run.do(ed.ScaleWeights(tuple((index, 1) for index in sorted(indices)), factor, "some"))
    chosen = np.isin(np.arange(run.n_weights), list(indices))
    assert np.array_equal(run.values, np.where(chosen, before * factor, before))
    (applied,) = run.log
    assert read_edit(write_edit(applied.edit)) == applied.edit
    run.do(ed.Together((ed.SetWeights(0, before),)))
    run.do(applied.edit)  # in absolute numbers: done again it does the same
    assert np.array_equal(run.values, np.where(chosen, before * factor, before))
    run.close()


def test_a_layer_begins_anew_with_numbers_of_its_own_initialiser(run):
    before = run.values.copy()
    run.do(ed.RedrawWeights(((0, 12),), "0.weight"))
    assert [a.what for a in run.log] == ["0.weight begins anew"]
    assert np.array_equal(run.values[12:], before[12:])
    assert not np.any(run.values[:12] == before[:12])
    assert np.abs(run.values[:12]).max() <= 1 / np.sqrt(3)  # PyTorch's rule, of 3 inputs
    run.close()
    _, other = make(init=nn.init.uniform(5, 6))
    other.do(ed.RedrawWeights(((3, 2),)))
    assert np.all((other.values[3:5] >= 5) & (other.values[3:5] < 6))
    other.close()


def test_the_same_step_of_the_same_seed_draws_the_same():
    drawn = {}
    for seed, steps in ((0, 0), (0, 0), (0, 1), (1, 0)):
        _, run = make(seed=seed)
        run.step(steps)
        run.do(ed.RedrawWeights(((0, 31),)))
        drawn.setdefault((seed, steps), []).append(run.values.tobytes())
        run.close()
    assert drawn[0, 0][0] == drawn[0, 0][1]
    assert len({values[0] for values in drawn.values()}) == 3


def test_a_part_draws_what_the_whole_draws():
    _, run = make()
    whole = run.hands.drawn(0, 31)
    for start, count in ((0, 1), (5, 9), (12, 4), (30, 1)):
        assert np.array_equal(run.hands.drawn(start, count), whole[start : start + count])
    run.close()


def test_a_normalisation_begins_at_one():
    net = nn.Sequential(nn.Linear(3, 4, seed=0), nn.LayerNorm(4), nn.Linear(4, 3, seed=1))
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), (X, 1 - X), engine="numpy", dtype="float64")
    run.step(3)
    start = next(t for t in run.tensors if t.name == "1.weight").start
    run.do(ed.RedrawWeights(((start, 8),)))
    assert list(run.values[start : start + 8]) == [1] * 4 + [0] * 4
    run.close()


def test_weights_of_no_module_cannot_begin_anew():
    a = sv.Weight(0.5, name="a")
    run = Run(lambda x: [a * x[0]], nn.MSELoss(), optim.SGD([a], lr=0.5), (X[:, :1], X[:, 1:2]), engine="numpy")
    with pytest.raises(InputError, match="a cannot begin anew: no module"):
        run.do(ed.RedrawWeights(((0, 1),)))
    assert run.log == []
    run.close()


def test_looking_at_what_would_be_drawn_changes_nothing(run):
    before = run.values.copy()
    nn.init.manual_seed(7)
    first = nn.Linear(2, 2).weight.data.copy()
    nn.init.manual_seed(7)
    run.hands.drawn(0, 31)
    assert np.array_equal(nn.Linear(2, 2).weight.data, first)
    assert np.array_equal(run.values, before)
