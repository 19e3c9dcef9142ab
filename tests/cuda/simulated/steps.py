"""Steps of runs on the CUDA engine: updates, how they are cut into calls, batches, data, snapshots, glances."""

from __future__ import annotations

import threading
from dataclasses import replace

import engine_models as agree
import in_turn
import numpy as np
import pytest
import test_engine_change as change
from few_weights import OPTIMISERS, X, Y, bits, make

import scalarviz as sv
from scalarviz import Run, nn, optim, rng
from scalarviz.engine.cuda import jit, simulator, trainer
from scalarviz.engine.cuda.machine import STREAMED
from scalarviz.engine.cuda.source import update
from scalarviz.run import edits as ed


def layer():
    """A network without derived weights: the update joins the gradient's slices itself."""
    return nn.Linear(3, 4, seed=1)


@pytest.mark.parametrize(
    ("optimiser", "net"),
    [*((name, agree.Expression) for name in OPTIMISERS), ("nesterov", layer), ("all kinds", layer)],
)
def test_all_that_a_run_keeps_is_that_of_the_objects(optimiser, net):
    run, plain = make(optimiser=optimiser, net=net), make("objects", optimiser, net=net)
    for each in (run, plain):
        each.step(7)  # over two epochs of two batches
    change.assert_near(run, plain, 1e-11)
    found, wanted = run.frame(), plain.frame()
    np.testing.assert_allclose(found.update, wanted.update, rtol=0, atol=1e-11)
    np.testing.assert_allclose(found.gradient, wanted.gradient, rtol=0, atol=1e-11)
    assert (found.step, found.lr) == (7, wanted.lr)


@pytest.mark.parametrize("net", [agree.Expression, layer])
@pytest.mark.parametrize("limits", [{}, {"clip_norm": 0.1}])
def test_parameter_groups_with_rates_of_each_step_of_a_call(net, limits):
    found = []
    for engine in ("cuda", "objects"):
        model = net()
        first, *rest = model.parameters()
        groups = [{"params": first, "lr": 0.2}, {"params": rest, "momentum": 0.5, "weight_decay": 0.1}]
        optimizer = optim.SGD(groups, lr=0.05)
        optim.lr_scheduler.LambdaLR(optimizer, [lambda k: 0.9**k, lambda k: 1 / (1 + k)])
        run = Run(model, nn.MSELoss(), optimizer, (X, Y), batch_size=4, engine=engine, dtype="float64", **limits)
        run.call_seconds = 100.0
        run.step(9)
        found.append(run)
    change.assert_near(*found, 1e-10)


@pytest.mark.parametrize("net", [agree.Expression, layer])
@pytest.mark.parametrize("limits", [{"l1": 0.02, "l2": 0.03, "clip_norm": 0.1}, {"clip_norm": 0.05}, {"l2": 0.1},
                                    {"l1": 0.1, "clip_value": 0.01}])  # fmt: skip
def test_penalties_limits_and_rates_of_each_step_of_a_call(net, limits):
    found = []
    for engine in ("cuda", "objects"):
        model = net()
        optimizer = optim.Adam(model.parameters(), lr=0.05)
        optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=6)
        data = X, Y
        run = Run(model, nn.MSELoss(), optimizer, data, batch_size=4, engine=engine, dtype="float64", **limits)
        run.call_seconds = 100.0
        run.step(9)
        found.append(run)
    change.assert_near(*found, 1e-10)
    np.testing.assert_allclose(found[0].history.loss, found[1].history.loss, rtol=1e-11)
    gradients = [run._training.trainer.gradient(9) for run in found]
    np.testing.assert_allclose(gradients[0], gradients[1], rtol=1e-11)


def test_each_step_of_a_call_has_its_own_divisor():
    found = []
    for engine in ("cuda", "objects"):
        net = layer()
        loss, data = nn.CrossEntropyLoss([0.5, 2.0, 0.7, 1.5], ignore_index=-1), (X, np.arange(len(X)) % 5 - 1)
        run = Run(net, loss, optim.SGD(net.parameters(), lr=0.3), data, batch_size=3, engine=engine, dtype="float64")
        run.call_seconds = 100.0
        run.step(9)
        found.append((list(run.history.loss), run.values.copy()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-12)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-11)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_two_runs_and_other_cuts_have_the_same_bits(dtype, monkeypatch):
    ends = []
    for steps, counts in ((2, [9]), (2, [9]), (1, [2, 0, 4, 3]), (5, [9]), (100, [1] * 9)):
        monkeypatch.setattr(trainer, "SHAPE", replace(trainer.SHAPE, steps=steps))
        run = make(dtype=dtype)
        run.call_seconds = 100.0
        for count in counts:
            run.step(count)
        ends.append(bits(run))
    assert all(end == ends[0] for end in ends)


def test_calls_hand_over_as_many_steps_as_are_asked_for(monkeypatch):
    """Else nothing here would see a call of several steps."""
    run = make()
    run.call_seconds, counts = 100.0, []
    train = run._training.trainer.train
    monkeypatch.setattr(run._training.trainer, "train", lambda *args: counts.append(args[1]) or train(*args))
    run.step(9)
    assert sum(counts) == 9
    assert max(counts) > trainer.SHAPE.steps


@pytest.mark.parametrize(("samples", "batch"), [(11, 1), (11, 4), (11, 10), (8, 4), (257, 100), (2, 1)])
def test_batches_are_those_of_the_host(samples, batch):
    """The mean of numbers that are random says which of them it is of."""
    codes = np.random.default_rng(7).normal(size=(samples, 1))
    w = sv.Weight(1.0)
    with Run(lambda x: w * x[0], lambda o, t: o, optim.SGD([w], lr=0.0), (codes, codes), batch_size=batch, seed=2**40,
             engine="cuda", dtype="float64") as run:  # fmt: skip
        for step in (0, 1, samples // batch, 10**6 + 1, 2**33):
            loss = run._training.trainer.gradient(step)
            wanted = codes[rng.batch_indices(2**40, step, samples, batch)].mean()
            assert (loss, w.grad) == (pytest.approx(wanted, rel=1e-12), pytest.approx(wanted, rel=1e-12))


@pytest.mark.parametrize("resident", [True, False])
@pytest.mark.parametrize("cut", [{"lanes": 0}, {"lanes": 2, "block_threads": 64, "alone": 0}, {}], ids=str)
@pytest.mark.parametrize(("samples", "batch"), [(11, 1), (11, 4), (11, 11), (2, 5)])
def test_draws_are_those_of_the_host(samples, batch, cut, resident, monkeypatch):
    """With replacement: in many launches, in blocks, in one; data in the device's memory and data that is not."""
    monkeypatch.setattr(trainer, "SHAPE", replace(trainer.SHAPE, resident=resident, **cut))
    codes = np.random.default_rng(7).normal(size=(samples, 1))
    w = sv.Weight(1.0)
    with Run(lambda x: w * x[0], lambda o, t: o, optim.SGD([w], lr=0.0), (codes, codes), batch_size=batch, seed=2**40,
             engine="cuda", dtype="float64", sampling="replacement") as run:  # fmt: skip
        for step in (0, 1, 10**6 + 1, 2**33):
            loss = run._training.trainer.gradient(step)
            wanted = codes[rng.drawn_indices(2**40, step, samples, batch)].mean()
            assert (loss, w.grad) == (pytest.approx(wanted, rel=1e-12), pytest.approx(wanted, rel=1e-12))
        run.step(7)
        wanted = [codes[rng.drawn_indices(2**40, step, samples, batch)].mean() for step in range(7)]
        np.testing.assert_allclose(run.history.loss, wanted, rtol=1e-12)


@pytest.mark.parametrize("batch", [11, 4])
def test_a_gradient_alone_changes_nothing_else(batch):
    run = make(batch_size=batch)
    run.step(3)
    before = [array.copy() for array in (run.values, run.problem.previous, *run.problem.state)]
    loss = run._training.trainer.gradient(3)
    grad = run.problem.store.grad.copy()
    for array, old in zip((run.values, run.problem.previous, *run.problem.state), before, strict=True):
        np.testing.assert_array_equal(array, old)
    run.step(1)
    assert run.loss == loss
    np.testing.assert_array_equal(run.problem.store.grad, grad)
    np.testing.assert_array_equal(run.problem.previous, before[0])


def test_one_sample_is_all():
    run, plain = (make(engine, data=(X[:1], Y[:1]), batch_size=1) for engine in ("cuda", "objects"))
    for each in (run, plain):
        each.step(3)
    change.assert_near(run, plain, 1e-11)


def test_an_optimiser_goes_on_counting_where_another_run_ended():
    ends = []
    for engine in ("cuda", "objects"):
        net = agree.Expression()
        opt = optim.Adam(net.parameters(), lr=0.05)
        for targets in (Y, 1 - Y):
            with Run(net, nn.MSELoss(), opt, (X, targets), engine=engine, dtype="float64") as run:
                run.step(4)
                assert run.problem.t_start == (0 if targets is Y else 4)
                ends.append(run.values.copy())
    np.testing.assert_allclose(ends[0], ends[2], rtol=1e-11)
    np.testing.assert_allclose(ends[1], ends[3], rtol=1e-11)


@pytest.mark.parametrize("optimiser", ["nesterov", "adamw", "all kinds"])
@pytest.mark.parametrize("net", [agree.Expression, layer])
def test_an_update_that_is_too_long_for_registers(net, optimiser, monkeypatch):
    monkeypatch.setattr(update, "MOST_ROWS", 0)
    run, plain = make(net=net, optimiser=optimiser), make("numpy", net=net, optimiser=optimiser)
    assert not run._training.trainer._work.steps.joined
    for each in (run, plain):
        each._store.frozen[3] = 1
        each.step(5)
    change.assert_near(run, plain, 1e-11)


@pytest.mark.parametrize(("batch", "steps"), [(4, 2), (11, 3), (1, 100)])
def test_data_that_comes_in_call_by_call(batch, steps, monkeypatch):
    """The bits are those of a run that has it all in the device's memory."""
    ends = []
    for resident in (True, False):
        monkeypatch.setattr(trainer, "SHAPE", replace(trainer.SHAPE, steps=100, stream_bytes=batch * 10 * 8 * steps))
        if not resident:
            monkeypatch.setattr(simulator.SimulatedDevice, "memory", lambda device: (99, 99))
        run = make(batch_size=batch)
        run.call_seconds = 100.0
        run.step(7)
        run.do(ed.SetTargets(1 - Y))
        run.step(3)
        assert (run._training.trainer._work.steps.samples.feed.mode == STREAMED) != resident
        ends.append(bits(run))
    assert ends[0] == ends[1]


def test_back_to_a_snapshot_more_than_once():
    run = make()
    run.step(2)
    trainer_, before = run._training.trainer, [array.copy() for array in change.state_of(run)[:-1]]
    trainer_.snapshot()
    for count in (3, 1):
        trainer_.train(2, count, 0.02)
        assert trainer_.finite()
        assert not np.array_equal(run.values, before[0])
        trainer_.rewind()
        for array, old in zip(change.state_of(run), before, strict=False):
            np.testing.assert_array_equal(array, old)
    run._store.value[0] = np.inf
    assert not trainer_.finite()


def test_numbers_from_the_middle_of_a_call_are_those_after_that_step():
    """Whoever asks gets what an unwatched run has after as many steps, and changes nothing."""
    run, plain = make(), make()
    run.step(1)
    plain.step(10)
    given = []

    class Taken:
        def give(self, now):
            given.append(now)

    run._training.trainer.asked = Taken
    losses = run._training.trainer.train(1, 9, run.lr)
    assert losses.tobytes() == plain.history.loss[1:].tobytes()
    assert len(given) > 2
    for now in given:
        steps = len(now.losses)
        other = make()
        other.step(1 + steps)
        assert 1 <= steps <= 9
        assert now.losses.tobytes() == losses[:steps].tobytes()
        assert (now.values.tobytes(), now.gradient.tobytes(), now.previous.tobytes()) == bits(other)[:3]


def test_numbas_own_threads_do_the_same(monkeypatch):
    """Everywhere else threads are taken in turn, which is quicker."""
    run, plain = make(), make()
    plain.step(2)
    monkeypatch.setattr(jit, "simulated", in_turn.IN_THREADS)
    simulator._callable.cache_clear()
    before = threading.active_count()
    run.do(ed.SetEngine("cuda", "anew"))
    run.step(2)
    simulator._callable.cache_clear()
    assert bits(run) == bits(plain)
    assert threading.active_count() == before
