"""Runs on the CUDA engine: what is changed between calls, how steps are cut, batches, divergence, frames, engines."""

from __future__ import annotations

import numpy as np
import pytest
import test_engine_change as change
import test_engines_agree as agree
import test_loop_equals_run as loops

import scalarviz as sv
from scalarviz import Run, nn, optim, rng
from scalarviz.engine.cuda import trainer
from scalarviz.engine.cuda.machine import Shape
from scalarviz.errors import DivergedError
from scalarviz.run import edits as ed
from scalarviz.run.worker import Worker

RNG = np.random.default_rng(2)
X, Y = RNG.uniform(-1, 1, (11, 3)), RNG.uniform(0, 1, (11, 4))


def make(engine="cuda", optimiser="adam", net=agree.Expression, dtype="float64", data=(X, Y), **options):
    """Few weights of all sorts: derived ones, some that are used in two ways; features that are made once."""
    net = net()
    chosen = {"batch_size": 4, "seed": 3, **options}
    made = {**agree.OPTIMISERS, **loops.OPTIMISERS}[optimiser](net.parameters())
    return Run(net, nn.MSELoss(), made, data, engine=engine, dtype=dtype, **chosen)


def bits(run):
    return tuple(array.tobytes() for array in change.state_of(run))


# ---- steps


@pytest.mark.parametrize("optimiser", [*agree.OPTIMISERS, *loops.OPTIMISERS])
def test_all_that_a_run_keeps_is_that_of_the_objects(optimiser):
    run, plain = make(optimiser=optimiser), make("objects", optimiser)
    for each in (run, plain):
        each.step(7)  # over two epochs of two batches
    change.assert_near(run, plain, 1e-11)
    found, wanted = run.frame(), plain.frame()
    np.testing.assert_allclose(found.update, wanted.update, rtol=0, atol=1e-11)
    np.testing.assert_allclose(found.gradient, wanted.gradient, rtol=0, atol=1e-11)
    assert (found.step, found.lr) == (7, wanted.lr)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_two_runs_and_other_cuts_have_the_same_bits(dtype, monkeypatch):
    ends = []
    for steps, counts in ((2, [9]), (2, [9]), (1, [2, 0, 4, 3]), (5, [9]), (100, [1] * 9)):
        monkeypatch.setattr(trainer, "SHAPE", Shape(chunk_bytes=2000, threads=8, slices=3, steps=steps))
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


# ---- changes from outside


OTHERS = [
    ed.SetWeights(0, np.array([0.25, -0.5])), ed.AddToWeights(3, np.array([0.125])),
    ed.SetFrozen(1, np.array([True, False, True])), ed.SetOptimizer({"lr": 0.004}),
    ed.SetOptimizer({"betas": (0.5, 0.9), "weight_decay": 0.01}), ed.SetBatchSize(7), ed.SetBatchSize(11),
    ed.SetTargets(1 - Y), ed.AddSamples(X[:2] + 1, Y[:2]), ed.Refill(X[:6], 1 - Y[:6]), ed.Refill(X[::-1], Y),
    ed.Call(lambda run: run._store.value.__setitem__(2, 0.75), "a number through the array"),
    ed.SetEngine("cuda:0", "anew"),
]  # fmt: skip


@pytest.mark.parametrize("edit", OTHERS, ids=[f"{k} {type(e).__name__}" for k, e in enumerate(OTHERS)])
def test_a_change_between_two_calls_is_that_of_another_engine(edit):
    run, plain = make(), make("numpy")
    for each in (run, plain):
        each.step(3)
        each.do(edit if each is run or not isinstance(edit, ed.SetEngine) else ed.SetEngine("numpy"))
        each.step(4)
    assert run.engine.name.startswith("cuda")
    change.assert_near(run, plain, 1e-11)


def test_changes_that_nobody_announced_count_too():
    """Every array of the problem is a live view: values, states, flags by the model's own names."""
    run, plain = make(), make("numpy")
    for each in (run, plain):
        each.step(2)
        each._store.value[1] = 0.5
        each.problem.state[0][:] *= 0.5
        each.model.w[3].frozen = True
        each.step(2)
    change.assert_near(run, plain, 1e-11)
    assert run.problem.trained.tolist() == plain.problem.trained.tolist()


def test_back_to_a_state_has_the_bits_of_the_first_time():
    run = make()
    run.step(2)
    run.model.w[0].frozen = True
    state = run.state()
    run.step(3)
    end = bits(run)
    run.model.w[0].frozen = False
    run.do(ed.AddSamples(X[:1], Y[:1]))
    run.do(ed.SetBatchSize(3))
    run.step(2)
    run.take(state)
    run.step(3)
    assert bits(run)[:-1] == end[:-1]
    assert run.history.loss.tolist()[-3:] == np.frombuffer(end[-1])[-3:].tolist()


def test_a_file_is_gone_on_from(tmp_path):
    run, other = make(), make()
    run.step(3)
    run.save(tmp_path / "run.safetensors")
    other.step(1)
    other.load(tmp_path / "run.safetensors")
    for each in (run, other):
        each.step(3)
    assert bits(run)[:-1] == bits(other)[:-1]


@pytest.mark.parametrize(
    "engines", [("numba", "cuda", "numpy"), ("cuda", "objects", "cuda:0"), ("numpy", "cuda", "numba")]
)
def test_a_run_moves_from_engine_to_engine(engines):
    run, plain = make(engines[0]), make("numpy")
    run.step(3)
    for engine in engines[1:]:
        run.adopt_engine(engine)
        run.step(3)
    plain.step(9)
    change.assert_near(run, plain, 1e-11)
    assert (run.engine.name, run.engine.since) == (engines[-1], 6)


def test_a_worker_trains_to_a_step_with_the_bits_of_an_unwatched_run():
    plain, run = make(), make()
    plain.step(8)
    with Worker(run) as worker:
        for target in (1, 3, 8):
            worker.train_to(target)
            assert worker.settle().step == target
    assert bits(run) == bits(plain)


# ---- what is not finite


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", ["rate", "weight", "moment"])
def test_a_run_diverges_at_the_same_step_with_the_same_words(kind, dtype):
    said, ends = [], []
    for engine in ("numpy", "cuda"):
        net = nn.Linear(3, 4, seed=1)
        opt = optim.SGD(net.parameters(), lr=1e25 if kind == "rate" else 0.1, momentum=0.5)
        run = Run(net, nn.MSELoss(), opt, (X, Y), batch_size=4, engine=engine, dtype=dtype)
        run.call_seconds = 100.0
        if kind != "rate":
            run.step(3)
            array = run.problem.store.value if kind == "weight" else run.problem.state[0]
            array[5] = np.nan
        with pytest.raises(DivergedError) as caught:
            run.step(40)
        said.append((str(caught.value), run.steps, len(run.history)))
        ends.append([np.isfinite(array).tolist() for array in change.state_of(run)])
    assert said[0] == said[1]
    assert ends[0] == ends[1]


def test_a_number_beyond_float32_is_infinite():
    """The rate is made in float64, the rest rounds as IEEE 754 has it; nothing warns."""
    run = make(dtype="float32", optimiser="sgd")
    run.lr = 1e300
    with pytest.raises(DivergedError):
        run.step(3)


def test_a_frozen_weight_keeps_every_bit_and_gets_its_gradient():
    net = nn.Linear(3, 4, seed=1)
    run = Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.1), (X, Y), engine="cuda", dtype="float64")
    net.weight[1][2].frozen = True
    run._store.value[5] = -0.0
    run.step(2)
    assert np.signbit(run.values[5])
    assert (run.problem.state[0][5], run.problem.state[1][5]) == (0.0, 0.0)
    assert run.problem.store.grad[5] != 0.0
