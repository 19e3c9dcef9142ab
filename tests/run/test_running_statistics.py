"""Batch normalisation in a run: its running statistics are numbers of the run, and trained by nobody.

Walks, files and training rules run on a network with them, too (`test_run_walks`, kind "statistics").
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from kit.networks import NETWORKS
from kit.runs import ENGINES
from scalarviz import nn, optim
from scalarviz.errors import ScalarvizError
from scalarviz.io import load_tensors, save_tensors
from scalarviz.run import Run
from scalarviz.run.core.gather import weight_name

SHAPES = {"1.running_mean": 4, "1.running_var": 4, "1.num_batches_tracked": 1}
X, Y = np.random.default_rng(3).normal(size=(24, 3)) * 2 + 1, np.random.default_rng(4).normal(size=(24, 2))
BEGUN = [[0] * 4, [1] * 4, 0]
N = 3 * 4 + 8 + 4 * 2 + 2
"""Weights; behind them 9 numbers that are none."""


def run_of(net: Any = None, held: Any = None, **more: Any) -> Run:
    net = NETWORKS["batch norm"].ours() if net is None else net
    optimizer = optim.SGD(net.parameters() if held is None else held, lr=0.05, momentum=0.9)
    return Run(net, nn.MSELoss(), optimizer, (X, Y), **{"engine": "numpy", "dtype": "float64", "batch_size": 8, **more})


def buffers(run: Run) -> list[Any]:
    return [array.tolist() for array in run.model[1].buffers()]


def test_they_stand_behind_the_weights_and_are_none():
    run = run_of()
    assert (run.n_weights, repr(run).startswith(f"Run({N} weights, ")) == (N, True)
    assert [(t.name, t.start, t.role) for t in run.tensors[-3:]] == [
        ("1.running_mean", N, "buffer"), ("1.running_var", N + 4, "buffer"), ("1.num_batches_tracked", N + 8, "count"),
    ]  # fmt: skip
    assert [t.buffer for t in run.tensors] == [False] * 5 + [True] * 3
    assert weight_name(run.tensors, N + 4) == "1.running_var[0]"
    run.step(3)
    frame = run.frame()
    assert frame.values.shape == (N + 9,)
    assert frame.computed[:N].all()
    assert not frame.computed[N:].any()
    assert not frame.gradient[N:].any()
    assert frame.update[N + 8] == 1
    run.break_on("1.num_batches_tracked >= 7")
    run.step(20)
    assert run.steps == 7


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("given", [{"l1": 0.01}, {"l1": 0.01, "l2": 0.02, "clip_norm": 0.5}], ids=str)
def test_penalties_and_limits_are_of_weights_alone(given, engine):
    run, other = run_of(engine=engine, **given), run_of(engine=engine)
    for each in (run, other):
        each.model[1].running_mean, each.model[1].running_var = [1e6] * 4, [1e6] * 4
    values = run.values[:N]
    penalty = given.get("l1", 0) * np.abs(values).sum() + given.get("l2", 0) * (values**2).sum()
    opened = run.open()
    for each in (run, other):
        each.step()
    np.testing.assert_allclose(run.loss, other.loss + penalty, rtol=1e-12)
    np.testing.assert_allclose(opened.penalty, penalty, rtol=1e-12)
    assert buffers(run) == buffers(other)


def test_what_is_written_is_an_edit_and_a_frozen_one_stays():
    run = run_of()
    norm = run.model[1]
    run.step(5)
    untouched = run.predict(X)
    norm.running_mean = [1.0, 2.0, 3.0, 4.0]  # as an assignment
    norm.running_var[0] = 9.0  # through a view
    assert (run.predict(X) != untouched).all()
    run.undo()
    run.undo()
    np.testing.assert_array_equal(run.predict(X), untouched)
    run.do(sv.run.edits.SetFrozen(N + 1, [True]))
    was = norm.running_mean.copy()
    run.step(4)
    assert ((norm.running_mean == was) == [False, True, False, False]).all()


def test_files_and_closed_runs_leave_them_under_pytorchs_names(tmp_path):
    run = run_of(dtype="float32")
    run.step(6)
    run.save(tmp_path / "a.safetensors")
    tensors, _ = load_tensors(tmp_path / "a.safetensors")
    assert (tensors["1.num_batches_tracked"].dtype, int(tensors["1.num_batches_tracked"])) == (np.int64, 6)
    assert tensors["1.running_var"].dtype == np.float32
    assert not [name for name in tensors if name.startswith("optimizer.") and "running" in name]
    now = run.model[1].running_mean.copy()
    run.close()
    assert (now.dtype, run.model[1].running_mean.dtype) == (np.float32, np.float64)
    np.testing.assert_array_equal(run.model[1].running_mean, now)
    other = run_of(run.model)
    other.step()
    assert int(run.model[1].num_batches_tracked) == 7
    save_tensors(tmp_path / "b.safetensors", {n: a for n, a in tensors.items() if n != "1.running_var"})
    with pytest.raises(ScalarvizError, match=r"missing 1\.running_var"):
        other.load(tmp_path / "b.safetensors")


def test_the_mode_of_the_net_between_calls_changes_no_training():
    """What is trained was recorded when the Run was made; what is predicted is of the evaluation in either mode."""
    run, same = run_of(), run_of()
    run.step(4)
    run.model.eval()
    with pytest.warns(RuntimeWarning, match=r"eval\(\).*BatchNorm1d"):
        run.step(4)
    predicted = run.predict(X)
    run.model.train()
    np.testing.assert_array_equal(run.predict(X), predicted)
    same.step(8)
    np.testing.assert_array_equal(run.values, same.values)
    then, state = run.frame(X[0]), {name: array.copy() for name, array in run.model.state_dict().items()}
    run.open()  # looking at gradients moves nothing
    assert buffers(run) == [state[name].tolist() for name in SHAPES]
    run.step(10)
    plain = NETWORKS["batch norm"].ours().eval()
    plain.load_state_dict(state)
    np.testing.assert_allclose(then.activations["3"], [v.data for v in plain(X[0])], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(run.activations(X[0], then.values)["3"], then.activations["3"])
    np.testing.assert_allclose(run.predict(X[:1], then.values)[0], then.activations["3"], rtol=0, atol=1e-12)


def test_another_network_goes_on_with_those_of_the_norms_it_keeps():
    run = run_of()
    run.step(5)
    before = run.state_dict()
    wider = nn.Sequential(nn.Linear(3, 4, bias=False, seed=8), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 6),
                          nn.BatchNorm1d(6), nn.Linear(6, 2))  # fmt: skip
    run.change(model=wider)
    after = run.state_dict()
    for name in ("0.weight", "1.weight", *SHAPES):
        np.testing.assert_array_equal(after[name], before[name], err_msg=name)
    assert (after["4.running_mean"] == 0).all()
    assert run.n_weights == sum(p.numel() for p in wider.parameters())
    run.step(3)
    assert [int(wider[k].num_batches_tracked) for k in (1, 4)] == [8, 3]
    run.to(4)
    assert run.n_weights == N
    run.to(8)
    assert int(wider[4].num_batches_tracked) == 3
    run.restart(seed=5)
    assert buffers(run) == BEGUN
