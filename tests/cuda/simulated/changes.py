"""Runs on the CUDA engine that are changed between calls, move to other engines, are trained by others, diverge."""

from __future__ import annotations

import numpy as np
import pytest
import test_engine_change as change
from few_weights import X, Y, bits, make

from scalarviz import Run, nn, optim
from scalarviz.errors import DivergedError
from scalarviz.run import edits as ed
from scalarviz.run.worker import Worker

FORMS = ("joined", "one block")


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


def test_back_to_a_state_by_the_same_trainer():
    """Its arrays are others than before."""
    run = make()
    run.step(2)
    state, trainer = run.state(), run._training.trainer
    run.step(3)
    end = bits(run)
    run.take(state)
    run.step(3)
    assert run._training.trainer is trainer
    assert bits(run)[:-1] == end[:-1]


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
