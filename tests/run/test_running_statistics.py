"""Batch normalisation in a Run: its running statistics are numbers of the run, and trained by nobody."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.errors import DivergedError
from scalarviz.io import load_tensors, save_tensors
from scalarviz.run.edits import SetFrozen
from scalarviz.run.worker import Worker

NAMES = ["1.running_mean", "1.running_var", "1.num_batches_tracked"]


def net_of(**given):
    return nn.Sequential(nn.Linear(3, 4, seed=1), nn.BatchNorm1d(4, **given), nn.Tanh(), nn.Linear(4, 2, seed=2))


def data_of(n=24):
    r = np.random.default_rng(3)
    return r.normal(size=(n, 3)) * 2 + 1, r.normal(size=(n, 2))


def run_of(net=None, engine="numpy", dtype="float64", batch_size=8, **given):
    net = net_of() if net is None else net
    optimizer = given.pop("optimizer", None) or optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    return Run(net, nn.MSELoss(), optimizer, data_of(), batch_size=batch_size, engine=engine, dtype=dtype, **given)


def buffers(run):
    state = run.state_dict()
    return {name: state[name] for name in NAMES}


# ---- what they are


def test_they_stand_behind_the_weights_and_are_none():
    run = run_of()
    assert run.n_weights == 3 * 4 + 4 + 8 + 4 * 2 + 2
    assert repr(run).startswith("Run(34 weights, ")
    assert [(t.name, t.start, t.role) for t in run.tensors[-3:]] == [
        ("1.running_mean", 34, "buffer"), ("1.running_var", 38, "buffer"), ("1.num_batches_tracked", 42, "count"),
    ]  # fmt: skip
    run.step(3)
    frame = run.frame()
    assert frame.values.shape == (43,)
    assert frame.computed[:34].all()
    assert not frame.computed[34:].any()
    assert not frame.gradient[34:].any()
    np.testing.assert_array_equal(frame.update[42], 1)
    assert run.weight_name(38) == "1.running_var[0]"


def test_a_function_that_calls_a_norm_has_its_statistics():
    """And weights that nobody knew of before the recording stand before them."""
    first, norm, last = nn.Linear(3, 4, seed=1), nn.BatchNorm1d(4), nn.Linear(4, 2, seed=2)
    parts = [*first.parameters(), *norm.parameters()]
    run = Run(lambda x: last([v.tanh() for v in norm(first(x))]), nn.MSELoss(), optim.SGD(parts, lr=0.05), data_of(),
              batch_size=8, engine="numpy", dtype="float64")  # fmt: skip
    same = net_of()
    other = run_of(same, optimizer=optim.SGD([*same[0].parameters(), *same[1].parameters()], lr=0.05))
    run.step(5)
    other.step(5)
    assert run.n_weights == other.n_weights
    np.testing.assert_array_equal(norm.running_var, same[1].running_var)
    np.testing.assert_array_equal(first.weight.data, same[0].weight.data)
    np.testing.assert_array_equal(last.weight.data, same[3].weight.data)
    assert [t.buffer for t in run.tensors] == [False] * 6 + [True] * 3
    assert int(norm.num_batches_tracked) == 5


@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
@pytest.mark.parametrize("given", [{"l1": 0.01}, {"l2": 0.02}, {"l1": 0.01, "l2": 0.02, "clip_norm": 0.5}], ids=str)
def test_penalties_and_limits_are_of_weights_alone(given, engine):
    net, plain = net_of(), net_of()
    for one in (net, plain):
        one[1].running_mean, one[1].running_var = [1e6] * 4, [1e6] * 4
    run, other = run_of(net, engine=engine, **given), run_of(plain, engine=engine)
    opened = run.open()
    run.step()
    other.step()
    start = sum(np.abs(a).sum() for a in map(np.asarray, (p.data for p in net_of().parameters())))
    square = sum((a * a).sum() for a in map(np.asarray, (p.data for p in net_of().parameters())))
    penalty = given.get("l1", 0) * start + given.get("l2", 0) * square
    np.testing.assert_allclose(run.loss, other.loss + penalty, rtol=1e-12)
    np.testing.assert_allclose(opened.penalty, penalty, rtol=1e-12)
    np.testing.assert_array_equal(net[1].running_mean, plain[1].running_mean)


# ---- as state


@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
def test_going_back_and_forth_has_the_same_bits(engine):
    run = run_of(engine=engine)
    seen = {}
    for step in range(1, 41):
        run.step()
        seen[step] = run.frame().values
    for step in (7, 33, 1, 40, 18):
        run.to(step)
        np.testing.assert_array_equal(run.frame().values, seen[step])
    run.step(5)
    np.testing.assert_array_equal(run.frame().values, seen[23])
    run.back(3)
    before = buffers(run)
    state = run.state()
    run.step(4)
    assert any((before[name] != array).any() for name, array in buffers(run).items())
    run.take(state)
    for name, array in buffers(run).items():
        np.testing.assert_array_equal(array, before[name])


def test_what_is_written_is_an_edit():
    net = net_of()
    run = run_of(net)
    run.step(5)
    untouched = run.predict(data_of()[0])
    net[1].running_mean = [1.0, 2.0, 3.0, 4.0]  # as an assignment
    net[1].running_var[0] = 9.0  # through a view
    assert (run.predict(data_of()[0]) != untouched).all()
    run.step(2)
    end = run.frame().values
    run.to(3)
    run.to(7)
    np.testing.assert_array_equal(run.frame().values, end)
    run.to(5)
    run.undo()
    run.undo()
    np.testing.assert_array_equal(run.predict(data_of()[0]), untouched)


def test_a_frozen_one_stays():
    net = net_of()
    run = run_of(net)
    run.do(SetFrozen(35, [True]))
    run.step(4)
    assert net[1].running_mean[1] == 0.0
    assert net[1].running_mean[[0, 2, 3]].all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_files_hold_them_under_pytorchs_names(tmp_path, dtype):
    run = run_of(dtype=dtype)
    run.step(6)
    run.save(tmp_path / "a.safetensors")
    tensors, _ = load_tensors(tmp_path / "a.safetensors")
    assert tensors["1.num_batches_tracked"].dtype == np.int64
    assert int(tensors["1.num_batches_tracked"]) == 6
    assert tensors["1.running_var"].dtype == np.dtype(dtype)
    assert not [name for name in tensors if name.startswith("optimizer.") and "running" in name]
    other = run_of(dtype=dtype)
    other.load(tmp_path / "a.safetensors")
    run.step(3)
    other.step(3)
    np.testing.assert_array_equal(other.frame().values, run.frame().values)
    plain = net_of()
    plain.load_state_dict({name: a for name, a in tensors.items() if not name.startswith("optimizer.")})
    assert int(plain[1].num_batches_tracked) == 6


def test_a_file_without_them_is_refused_by_name(tmp_path):
    run = run_of()
    run.save(tmp_path / "a.safetensors")
    tensors, _ = load_tensors(tmp_path / "a.safetensors")
    save_tensors(tmp_path / "b.safetensors", {n: a for n, a in tensors.items() if n != "1.running_var"})
    with pytest.raises(sv.ScalarvizError, match=r"missing 1\.running_var"):
        run.load(tmp_path / "b.safetensors")


def test_they_go_home_with_the_weights():
    net = net_of()
    run = run_of(net, dtype="float32")
    run.step(3)
    now = net[1].running_mean.copy()
    assert now.dtype == np.float32
    run.close()
    assert net[1].running_mean.dtype == np.float64
    np.testing.assert_array_equal(net[1].running_mean, now)
    assert int(net[1].num_batches_tracked) == 3
    other = run_of(net)
    other.step()
    assert int(net[1].num_batches_tracked) == 4


def test_a_restart_draws_weights_and_begins_them():
    net = net_of()
    run = run_of(net)
    run.step(4)
    run.restart(seed=5)
    assert [a.tolist() for a in net.buffers()] == [[0] * 4, [1] * 4, 0]
    fresh = net_of()
    fresh.initialize(seed=5)
    np.testing.assert_array_equal(run.values[:34], run_of(fresh).values[:34])
    run.step(2)
    run.restart()
    assert int(net[1].num_batches_tracked) == 0


# ---- train() and eval()


def test_the_gradient_alone_moves_nothing():
    run = run_of()
    run.step(2)
    before = run.values.copy()
    run._training.trainer.gradient(2)
    np.testing.assert_array_equal(run.values, before)


def test_a_norm_in_eval_trains_its_weight_and_stays():
    net = net_of()
    net[1].eval()
    run = run_of(net)
    run.step(5)
    assert [a.tolist() for a in net.buffers()] == [[0] * 4, [1] * 4, 0]
    assert (net[1].weight.data != 1).all()
    assert run._graph.forward is run._graph.trained
    net[1].running_var = [4.0] * 4  # and what is written is seen by the next step
    loss = run.evaluate(*data_of())
    run.change(batch_size=24)
    run.step()
    np.testing.assert_allclose(run.loss, loss, rtol=1e-12)


def test_without_running_statistics_all_given_samples_are_one_batch():
    torch = pytest.importorskip("torch")
    net = net_of(track_running_stats=False)
    theirs = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4, track_running_stats=False),
                                 torch.nn.Tanh(), torch.nn.Linear(4, 2)).double()  # fmt: skip
    theirs.load_state_dict({k: torch.tensor(a) for k, a in net.state_dict().items()})
    run = run_of(net)
    for samples in (slice(0, 3), slice(0, 24)):
        x = data_of()[0][samples]
        with torch.no_grad():
            np.testing.assert_allclose(run.predict(x), theirs(torch.tensor(x)).numpy(), rtol=0, atol=1e-12)


def test_the_mode_of_the_net_between_calls_changes_no_training():
    """What is trained was recorded when the Run was made; what is predicted is of the evaluation in either mode."""
    net, other = net_of(), net_of()
    run, same = run_of(net), run_of(other)
    run.step(4)
    net.eval()
    with pytest.warns(RuntimeWarning, match=r"eval\(\) was called since the run was made \(BatchNorm1d\)"):
        run.step(4)
    predicted = run.predict(data_of()[0])
    net.train()
    np.testing.assert_array_equal(run.predict(data_of()[0]), predicted)
    same.step(8)
    np.testing.assert_array_equal(run.values, same.values)


def test_frames_and_films_are_of_their_own_statistics():
    """The rows of a frame are those of the statistics that it holds, whatever the run has become since."""
    net = net_of()
    run = run_of(net)
    run.step(6)
    x = data_of()[0][0]
    then, state = run.frame(x), {name: array.copy() for name, array in net.state_dict().items()}
    run.step(30)
    plain = net_of().eval()
    plain.load_state_dict(state)
    np.testing.assert_allclose(then.activations["3"], [v.data for v in plain(x)], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(run.activations(x, then.values)["3"], then.activations["3"])
    np.testing.assert_allclose(run.predict(x[None], then.values)[0], then.activations["3"], rtol=0, atol=1e-12)


# ---- what else goes on with a run


def test_a_batch_of_one_is_refused_and_nothing_has_changed():
    net = net_of()
    with pytest.raises(sv.ScalarvizError, match="a batch of 1 sample"):
        run_of(net, batch_size=1)
    assert net[1].running_mean.dtype == np.float64
    run = run_of(net)
    run.step(2)
    before = run.values.copy()
    with pytest.raises(sv.ScalarvizError, match="a batch of 1 sample"):
        run.change(batch_size=1)
    np.testing.assert_array_equal(run.values, before)
    run.step()
    assert int(net[1].num_batches_tracked) == 3


@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
def test_a_statistic_that_is_too_large_is_no_weight_in_what_is_said(engine):
    net, (x, y) = net_of(), data_of()
    optimizer = optim.SGD(net.parameters(), lr=0.05)
    run = Run(net, nn.MSELoss(), optimizer, (x * 1e25, y), batch_size=8, engine=engine, dtype="float32")
    said = r"weights are finite, 1\.running_var\[0\] has become inf: what it follows is too large for float32 \(scale"
    with pytest.raises(DivergedError, match=said):
        run.step(3)
    assert np.isfinite(run.values[: run.n_weights]).all()


def test_another_model_goes_on_with_those_of_the_norms_it_keeps():
    run = run_of()
    run.step(5)
    before = run.state_dict()
    wider = nn.Sequential(nn.Linear(3, 4, seed=8), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 6), nn.BatchNorm1d(6),
                          nn.Linear(6, 2))  # fmt: skip
    run.change(model=wider)
    after = run.state_dict()
    for name in ("0.weight", "1.weight", *NAMES):
        np.testing.assert_array_equal(after[name], before[name], err_msg=name)
    assert (after["4.running_mean"] == 0).all()
    assert run.n_weights == sum(p.numel() for p in wider.parameters())
    run.step(3)
    assert int(wider[1].num_batches_tracked) == 8
    assert int(wider[4].num_batches_tracked) == 3
    run.to(4)
    assert run.n_weights == 34
    run.to(8)
    assert int(wider[4].num_batches_tracked) == 3


def test_another_optimizer_and_another_engine_take_over():
    run, same = run_of(), run_of()
    run.step(5)
    run.adopt_engine("objects")
    run.step(3)
    run.adopt_engine("numpy")
    same.step(8)
    np.testing.assert_allclose(run.values, same.values, rtol=0, atol=1e-13)
    before = buffers(run)
    run.change(optimizer=optim.Adam(run.model.parameters(), lr=0.01))
    for name, array in buffers(run).items():
        np.testing.assert_array_equal(array, before[name])
    run.step(2)
    assert int(run.model[1].num_batches_tracked) == 10


def test_beside_a_thread_they_are_read_and_written():
    net = net_of()
    run = run_of(net)
    with Worker(run) as worker:
        worker.train_to(50)
        worker.settle()
        assert int(net[1].num_batches_tracked) == 50
        assert not net[1].running_mean.flags.writeable
        net[1].running_mean = [1.0, 2.0, 3.0, 4.0]
        np.testing.assert_array_equal(net[1].running_mean, [1.0, 2.0, 3.0, 4.0])
    same = run_of()
    same.step(50)
    np.testing.assert_array_equal(net[1].running_var, same.model[1].running_var)


def test_a_condition_may_watch_them():
    run = run_of()
    run.break_on("1.num_batches_tracked >= 7")
    run.step(20)
    assert run.steps == 7
