"""Edits are data: printed, written, read, compared by bits; and each changes what it names and nothing else."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from kit.edits import everything
from kit.networks import NETWORKS
from kit.runs import ENGINES, make_run
from scalarviz import nn, optim
from scalarviz.errors import StateError
from scalarviz.run import Run
from scalarviz.run.state import restore

edits = sv.run.edits
X = np.random.default_rng(0).random((24, 3))
SPANS = ((0, 2), (4, 1))
EXAMPLES: dict[str, tuple[Any, str]] = {
    "SetWeights": (edits.SetWeights(6, [0.5]), "0.weight[2][0] = 0.5"),
    "SetWeights, below zero": (edits.SetWeights(6, [-0.5]), "0.weight[2][0] = \N{MINUS SIGN}0.5"),
    "SetWeights, nan": (edits.SetWeights(0, np.float32([np.nan, -0.0])), "0.weight[0][0] and 1 more = nan"),
    "AddToWeights": (edits.AddToWeights(6, [-0.25]), "0.weight[2][0] \N{MINUS SIGN}0.25"),
    "SetFrozen": (edits.SetFrozen(6, [True]), "freeze 0.weight[2][0]"),
    "SetFrozen, free": (edits.SetFrozen(6, [False, False]), "free 0.weight[2][0] and 1 more"),
    "SetFrozen, some": (edits.SetFrozen(6, [True, False]), "freeze some of 0.weight[2][0] and 1 more"),
    "SetOptimizer": (edits.SetOptimizer({"lr": 0.1, "momentum": 0.9}), "lr = 0.1, momentum = 0.9"),
    "SetOptimizer, group": (edits.SetOptimizer({"betas": (0.5, 0.9)}, 1), "group 1: betas = (0.5, 0.9)"),
    "SetBatchSize": (edits.SetBatchSize(1000), "batch size = 1,000"),
    "SetSchedule": (edits.SetSchedule(None), "schedule = None"),
    "SetNumbers": (edits.SetNumbers(SPANS, {"lr": 0.5}), "0.weight[0][0] and 2 more: lr = 0.5"),
    "SetNumbers, said": (edits.SetNumbers(SPANS, {"betas": (0.5, 0.9)}, "these"), "these: betas = (0.5, 0.9)"),
    "SetLimits": (edits.SetLimits(l2=0.5, clip_norm=1.0), "l2 = 0.5, clip_norm = 1"),
    "SetLimits, none": (edits.SetLimits(), "no limits"),
    "SetSampling": (edits.SetSampling("replacement", 70), "sampling = replacement, batch size = 70"),
    "SetEngine": (edits.SetEngine("numba", "faster"), "engine = numba"),
    "Change": (edits.Change(activation="relu", numbers={"lr": 0.1}), "activation = relu, lr = 0.1"),
    "Change, classes": (edits.Change(activation="ReLU", optimizer=optim.Adam, numbers={"lr": 0.1}, batch_size=3),
                        "activation = relu, optimizer = Adam, lr = 0.1, batch size = 3"),
    "SetTargets": (edits.SetTargets(1 - X), "new targets for 24 samples"),
    "AddSamples": (edits.AddSamples(X[:1], X[:1]), "add 1 sample"),
    "Refill": (edits.Refill(X[:5], X[:5]), "new data: 5 samples"),
    "Together": (edits.Together((edits.SetWeights(6, [0.0]), edits.SetFrozen(6, [True]))),
                 "0.weight[2][0] = 0, and 1 more"),
    "Together, said": (edits.Together((edits.SetWeights(6, np.zeros(3)),), "zero row 2"), "zero row 2"),
    "Several": (edits.Several((edits.SetBatchSize(5), edits.SetWeights(6, [0.0]))),
                "batch size = 5, 0.weight[2][0] = 0"),
    "Several, said": (edits.Several((edits.Refill(X[:5], X[:5]), edits.Change(activation="relu")), "five"), "five"),
    "ScaleWeights": (edits.ScaleWeights(((6, 3), (14, 1)), 0.5), "0.weight[2][0] and 3 more × 0.5"),
    "ScaleWeights, said": (edits.ScaleWeights(((6, 3),), 2, "row 2 of 0.weight"), "row 2 of 0.weight × 2"),
    "RedrawWeights": (edits.RedrawWeights(((0, 16),), "layer 0"), "re-initialise layer 0"),
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_edit_prints_as_one_line_and_is_read_and_copied_with_every_bit(name):
    edit, line = EXAMPLES[name]
    assert edit.words(make_run("mlp")._graph.name_of) == line
    assert "\n" not in str(edit)
    text = edits.write_edit(edit)
    assert "\n" not in text
    for twin in (edits.read_edit(text), copy.copy(edit), copy.deepcopy(edit), pickle.loads(pickle.dumps(edit))):
        assert twin == edit
        assert hash(twin) == hash(edit)
        assert edits.write_edit(twin) == text
        for array in (getattr(twin, part) for part in ("numbers", "inputs") if hasattr(twin, part)):
            assert not (isinstance(array, np.ndarray) and array.flags.writeable)


def test_every_kind_of_edit_has_an_example():
    own = {kind for kind in edits.Edit.kinds.values() if kind.__module__.startswith("scalarviz.run.")}
    assert {type(edit) for edit, _ in EXAMPLES.values()} | {edits.Call} == own  # scenes add some


@pytest.mark.parametrize(("one", "other"), [
    (edits.SetWeights(0, [0.0]), edits.SetWeights(0, [-0.0])),
    (edits.SetWeights(0, [0.5]), edits.SetWeights(0, np.float32([0.5]))),
    (edits.SetOptimizer({"lr": 1.0}), edits.SetOptimizer({"lr": 1})),
    (edits.SetBatchSize(3), edits.SetOptimizer({"lr": 3.0})),
    (edits.Change(activation=nn.Softplus(2.0)), edits.Change(activation="softplus")),
])  # fmt: skip
def test_edits_that_differ_in_a_bit_are_not_equal(one, other):
    assert one != other
    assert edits.SetWeights(0, [np.nan]) == edits.SetWeights(0, [np.nan])
    assert edits.Change(activation=nn.LeakyReLU()) == edits.Change(activation="leaky_relu")


# ---- what each does


def test_everything_from_outside_stands_in_the_log():
    run = make_run("mlp", optimizer="sgd_momentum")
    run.step(3)
    run.lr = 0.25
    run.model[0].weight[1][2].data = 0.5
    run.model[2].bias.data = [1, 2, 3]
    run.optimizer.momentum = 0.8
    run.step(2)
    run.change(lr=0.1, weight_decay=0.01, batch_size=8, engine="objects")
    run.change(activation="relu", loss="L1Loss", engine="numpy", lr=0.3)
    run.do(edits.SetEngine("numba", "because"))
    assert [(done.step, done.what) for done in run.log] == [
        (3, "lr = 0.25"), (3, "0.weight[1][2] = 0.5"), (3, "2.bias[0] and 2 more = 1"), (3, "momentum = 0.8"),
        (5, "lr = 0.1, weight_decay = 0.01"), (5, "batch size = 8"), (5, "engine = objects"),
        (5, "activation = relu, loss = L1Loss, lr = 0.3"), (5, "engine = numpy"), (5, "engine = numba"),
    ]  # fmt: skip
    assert (run.engine.name, run.engine.why, run.batch_size) == ("numba", "because", 8)
    run.close()
    with pytest.raises(StateError, match="closed"):
        run.do(edits.SetWeights(0, [1.0]))
    run.optimizer.momentum = 0.9  # it is free
    assert len(run.log) == 10


TELLS = {
    "weights": (lambda run: run.set_weights(1, [0.5]), True),
    "one weight": (lambda run: setattr(run.model[0].weight[0][1], "data", 0.25), True),
    "a parameter": (lambda run: setattr(run.model[0].bias, "data", np.ones(4)), True),
    "samples": (lambda run: run.add_samples([[0.5, 0.5, 0.5]], [[1.0, 0.0, 0.0]]), True),
    "targets": (lambda run: run.set_targets(np.ones((24, 3))), True),
    "a network": (lambda run: run.change(activation="relu"), True),
    "a rate": (lambda run: setattr(run, "lr", 0.4), False),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", TELLS)
def test_a_frame_knows_whether_its_loss_is_that_of_its_weights_and_data(name, engine, tmp_path):
    act, edited = TELLS[name]
    run = make_run("mlp", engine=engine)
    assert not run.frame().edited
    run.step(2)
    run.save(tmp_path / "w.safetensors")
    act(run)
    assert run.frame().edited == run.frame().edited == edited  # looking changes nothing
    run.step(1)
    assert not run.frame().edited
    if name != "a network":
        run.load(tmp_path / "w.safetensors")
        assert run.frame().edited


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_the_update_stays_that_of_the_step_whatever_is_set_and_set_back(engine):
    run = make_run("mlp", engine=engine)
    run.step(3)
    values, update, state = run.values.copy(), run.frame().update.tobytes(), run.state()
    for number in (1e30, np.inf, np.nan, *np.linspace(-2, 2, 50)):
        run.set_weights(0, [number])
    assert run.frame().update.tobytes() == update
    edited = run.state()
    run.set_weights(0, values[:1])
    assert run.frame().update.tobytes() == update
    run.take(state)
    run.step()
    assert run.frame().update.tobytes() == (run.values - values).tobytes()
    run.take(edited)
    assert run.frame().update.tobytes() == update
    restore(run, {t.name: t.of(values) for t in run.tensors}, {}, 3)
    assert not run.frame().update.any()


# ---- data


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("batch", [None, 4])
def test_after_more_samples_training_is_that_of_a_run_of_all_of_them(engine, batch):
    x, y = np.random.default_rng(5).random((5, 1, 6, 6)), np.array([0, 2, 1, 1, 0])
    run = make_run("picture", "cross-entropy", "sgd", engine=engine, batch_size=batch, samples=12)
    run.step(2)
    inputs, targets = run.samples()
    values, history = run.values.copy(), len(run.history)
    run.add_samples(x.reshape(5, 36), y[:, None])  # pictures may be rows
    assert (run.steps, run.values.tobytes(), len(run.history)) == (2, values.tobytes(), history)
    data = np.concatenate([inputs.reshape(12, 1, 6, 6), x]), np.concatenate([targets.ravel(), y]).astype(int)
    net = NETWORKS["picture"].ours()
    twin = Run(net, nn.CrossEntropyLoss(), optim.SGD(net.parameters(), lr=0.05), data, engine=engine,
               batch_size=batch, seed=3, dtype="float64")  # fmt: skip
    restore(twin, run.state_dict(), {}, run.steps)
    assert run.batch_size == twin.batch_size == (17 if batch is None else 4)
    for found, wanted in zip(run.samples(), twin.samples(), strict=True):
        np.testing.assert_array_equal(found, wanted)
    for each in (run, twin):
        each.step(4)
    np.testing.assert_array_equal(run.values, twin.values)
    assert run.loss == twin.loss


def test_other_samples_keep_a_whole_batch_whole_and_shrink_one_that_no_longer_fits():
    found = []
    for batch, count in ((None, 10), (20, 10), (8, 72)):
        run = make_run("mlp", batch_size=batch)
        run.refill(np.resize(X, (count, 3)), np.resize(X, (count, 3)))
        found.append((run.batch_size, len(run.samples()[0])))
    assert found == [(10, 10), (10, 10), (8, 72)]


# ---- many weights


def test_scaling_multiplies_what_is_named_and_leaves_the_rest():
    run = make_run("mlp")
    before = run.values.copy()
    wanted = np.where(np.isin(np.arange(31), [3, 4, 5, 9, 30]), before * -0.5, before)
    run.do(edits.ScaleWeights(((3, 3), (9, 1), (30, 1)), -0.5, "some"))
    assert np.array_equal(run.values, wanted)
    run.do(edits.SetWeights(0, before))
    run.do(run.log[0].edit)  # in absolute numbers: done again it does the same
    assert np.array_equal(run.values, wanted)


def redrawn(spans: Any, seed: int = 0, steps: int = 0) -> tuple[np.ndarray, np.ndarray]:
    net = NETWORKS["norms"].ours()
    net.initialize(seed=1)
    run = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, X[:, :2]), engine="numpy", seed=seed,
              dtype="float64")  # fmt: skip
    run.step(steps)
    before = run.values.copy()
    run.do(edits.RedrawWeights(spans))
    return before, run.values.copy()


def test_weights_that_begin_anew_follow_their_initialiser_the_seed_and_the_step():
    before, after = redrawn(((0, 12),))
    assert np.array_equal(after[12:], before[12:])
    assert not np.any(after[:12] == before[:12])
    assert np.abs(after[:12]).max() <= 1 / np.sqrt(3)  # PyTorch's rule, of 3 inputs
    drawn = {(seed, steps): redrawn(((0, 38),), seed, steps)[1] for seed, steps in ((0, 0), (0, 1), (1, 0))}
    assert len({values.tobytes() for values in drawn.values()}) == 3
    for start, count in ((0, 1), (5, 9), (12, 4)):  # a part draws what the whole draws
        part = redrawn(((start, count),))[1][start : start + count]
        assert np.array_equal(part, drawn[0, 0][start : start + count])
    norms = redrawn(((16, 8),), steps=3)
    assert list(norms[1][16:24]) == [1] * 4 + [0] * 4


# ---- several edits as one


def parts() -> tuple[Any, ...]:
    """Another network, data for it, a batch as large as that, frozen weights, another rate."""
    return (
        edits.Change(model=NETWORKS["wide"].ours()), edits.Refill(2 * X[:5], X[:5]), edits.SetBatchSize(5),
        edits.SetFrozen(0, np.arange(8) % 2 == 0), edits.SetOptimizer({"lr": 0.01}),
    )  # fmt: skip


def test_several_edits_do_what_each_does_in_turn_and_are_undone_as_one():
    one, other = make_run("mlp"), make_run("mlp")
    for run in (one, other):
        run.step(7)
    before = everything(one)
    one.do(edits.Several(parts(), "another task"))
    for edit in parts():
        other.do(edit)
    for run in (one, other):
        run.step(9)
    np.testing.assert_array_equal(one.values, other.values)
    assert ([done.what for done in one.log], len(other.log)) == (["another task"], 5)
    one.undo()
    assert everything(one) == before


def test_a_gesture_of_the_same_parts_is_one_edit():
    run = make_run("mlp")
    for rate in (0.1, 0.2, 0.3):
        run.do(edits.Several((edits.Refill(X * rate, X), edits.SetOptimizer({"lr": rate}))), gesture="drag")
    assert (len(run.log), run.lr) == (1, 0.3)
    run.do(edits.Several((edits.SetOptimizer({"lr": 0.5}),)), gesture="drag")
    assert len(run.log) == 2
