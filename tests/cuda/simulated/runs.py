"""Runs on the CUDA engine in every form of its work: they train as the objects do, and no cut of the work shows.

The tests of every engine run here too (``every_engine``), in one form. Internals: what the engine is cut by
(``trainer.SHAPE``), and its trainer, which is asked for single calls.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from random import Random

import in_turn
import numpy as np
import pytest
import test_gathers

import scalarviz as sv
from kit.drawn import Drawn, drawn_losses
from kit.edits import EDITS
from kit.learning import FAMILIES, OPTIMISERS
from kit.networks import NETWORKS
from kit.runs import TOLERANCE, far, loss_and_gradient, make_run
from scalarviz import Run, nn, optim, rng
from scalarviz.engine.cuda import jit, simulator, trainer
from scalarviz.engine.cuda.machine import STREAMED
from scalarviz.engine.cuda.source import update
from scalarviz.errors import ScalarvizError
from scalarviz.run import edits as ed

RULES = [*FAMILIES, "own", "groups", "sgd_nesterov", "adam_decay"]
ONE = ("joined", "one block")
LIMITS = [{"l1": 0.02, "l2": 0.03, "clip_norm": 0.1}, {"l2": 0.1}, {"l1": 0.1, "clip_value": 0.01}]


def only(*forms):
    """A test of these forms alone."""
    return pytest.mark.parametrize("form", forms, indirect=True)


def cut(patch, **given):
    patch.setattr(trainer, "SHAPE", replace(trainer.SHAPE, **given))


def make(network="formula", optimizer="adam", engine="cuda", **options):
    return make_run(network, "mse", optimizer, engine=engine, **{"samples": 11, "batch_size": 4, **options})


def numbers(run):
    """All that a step changes, as copies."""
    frame = run.frame()
    return [frame.values, frame.gradient, frame.update, *run.optimizer_state().values(), run.history.loss.copy()]


def bits(run):
    return [array.tobytes() for array in numbers(run)]


def near(found, wanted, bound=1e-10):
    for array, other in zip(found, wanted, strict=True):
        assert np.linalg.norm(array - other) <= bound * max(1, np.linalg.norm(other))


def both(than="objects", **given):
    """The same run on this engine and on another."""
    return make(**given), make(engine=than, **given)


# ---- one forward and backward


def check(net, loss, data, dtype="float64", batch=None):
    options = {"dtype": dtype, "batch_size": batch, "seed": 5}
    wanted, found = (loss_and_gradient(net(), loss, data, engine=engine, **options) for engine in ("objects", "cuda"))
    assert np.linalg.norm(wanted) > 1e-6
    assert far(found, wanted) <= TOLERANCE[dtype]


def samples(inputs, outputs, count=7):
    random = np.random.default_rng(1)
    return random.normal(size=(count, inputs)), random.uniform(0.1, 0.9, (count, outputs))


class Twice(nn.Module):
    """Rows that an instruction of each kind reads twice."""

    def __init__(self):
        self.first, self.layer, self.w = nn.Linear(2, 3, seed=1), nn.Linear(4, 2, seed=2), sv.Weight(0.6)

    def forward(self, x):
        a, b, c = self.first(x)
        h = self.layer([a, b, a, x[0]])
        k = self.layer([b, b, x[0], x[0]])
        return [
            a * a, b + b, sv.max([a, a, b]), sv.dot([a, b, a], [a, a, c]), sv.dot([0.5, 2.0, -1.0], [a, a, b]),
            sv.dot([self.w, self.w], [a, a]), sv.where(a < a, b, b) / b.square().exp(), *h, *k, sv.maximum(c, c),
        ]  # fmt: skip


class Odd(nn.Module):
    """Outputs that are a parameter, an input, a constant, a derived number twice; a weight and an input for nothing."""

    def __init__(self):
        self.w, self.aside = [sv.Weight(x) for x in (0.3, -0.7)], sv.Weight(2.0)

    def forward(self, x):
        self.aside * x[1]
        derived = (self.w[0] * self.w[1]).exp()
        return [self.w[0], x[0], sv.Value(0.5), derived, derived, derived * x[0], self.w[1].tanh()]


class Made(nn.Module):
    """Weights that a layer makes of weights, once a step; those before and behind its activation are both used."""

    def __init__(self):
        self.layer, self.w = nn.Linear(2, 3, seed=3), [sv.Weight(x) for x in (0.4, -0.8)]

    def forward(self, x):
        made = self.layer([w.tanh() for w in self.w])
        turned = [v.tanh() for v in made]
        return [sv.dot(turned, [x[0], x[1], x[0]]), made[0] * x[0], made[1], made[2] * turned[0] + x[1]]


def alone(outputs, targets):
    """A loss that has one row, which is an output."""
    return outputs[-1]


def against_itself(o, t):
    """Squares and differences of one row, and the factor inside."""
    return 0.3 * ((o[0] - o[0]) ** 2 + (o[1] - t[0]) ** 2 + (t[1] - o[0]) ** 2) + sv.sum([(v - v) for v in o])


def one_output_twice(o, t):
    """A squared error in which an output stands in two terms."""
    return sv.sum([(o[0] - t[0]) ** 2, (o[1] - t[1]) ** 2, (o[0] - t[2]) ** 2])


@pytest.mark.parametrize("loss", [nn.MSELoss(), alone, against_itself, one_output_twice])
@pytest.mark.parametrize("net", [Twice, Odd, Made])
def test_odd_graphs(net, loss):
    check(net, loss, samples(2, len(net()([0.1, 0.2])), 5), batch=3)
    if loss is not alone:
        check(net, loss, samples(2, len(net()([0.1, 0.2])), 5), "float32", batch=3)


CUTS = {
    "one chunk": {"chunk_bytes": 10**6, "threads": 32, "slices": 1, "loss_slices": 1},
    "chunks of one lane": {"chunk_bytes": 1, "threads": 2, "slices": 4},
    "chunks of some": {"chunk_bytes": 3000, "threads": 4, "slices": 2, "loss_slices": 2},
    "many slices": {"chunk_bytes": 10**6, "threads": 16, "slices": 32, "loss_slices": 32},
    "thin blocks": {"threads": 1}, "as it is": {"chunk_bytes": 32 << 20, "threads": 128, "slices": 32},
}  # fmt: skip


@pytest.mark.parametrize("name", CUTS)
def test_however_the_work_is_cut_it_is_the_same(name, monkeypatch):
    cut(monkeypatch, **CUTS[name])
    for batch in (11, 5, 1):
        check(NETWORKS["formula"].ours, nn.MSELoss(), samples(3, 4, 11), batch=batch)


@pytest.mark.parametrize("most", [4096, 2], ids=["walked", "sorted"])
@pytest.mark.parametrize(("dtype", "batch"), [("float64", 23), ("float32", 5), ("float64", 1)])
def test_tables(dtype, batch, most, monkeypatch):
    cut(monkeypatch, sorted_rows=most)
    check(test_gathers.Letters, nn.MSELoss(), test_gathers.data(), dtype, batch)


def check_drawn(seed, dtype):
    """A network put together at random."""
    draw, random = Random(seed), np.random.default_rng(seed)
    shape = (draw.randint(1, 9),) if seed % 3 else (draw.randint(1, 2), draw.randint(2, 6), draw.randint(2, 6))
    net = Drawn(draw, shape)
    loss, outputs = draw.choice(drawn_losses(net)), net.last.out_features
    classes = isinstance(loss, nn.CrossEntropyLoss)
    data = random.normal(size=(4, *shape)), random.integers(0, outputs, 4) if classes else random.random((4, outputs))
    wanted, found = (loss_and_gradient(net, loss, data, engine=e, dtype=dtype) for e in ("objects", "cuda"))
    assert far(found, wanted) <= TOLERANCE[dtype]


@pytest.mark.parametrize(
    "seed", [1, 4, pytest.param(7, marks=pytest.mark.slow), *(
        pytest.param(seed, marks=[pytest.mark.slow, pytest.mark.cuda]) for seed in range(8, 40))],
)  # fmt: skip
def test_random_networks(seed):
    for dtype in TOLERANCE:
        check_drawn(seed, dtype)


# ---- training


PAIRS = [("formula", rule) for rule in RULES] + [
    (network, RULES[k % len(RULES)]) for k, network in enumerate(("mlp", "tied", "one node twice", "residual"))
]


@pytest.mark.parametrize(("network", "rule"), PAIRS)
def test_all_that_a_run_keeps_is_that_of_the_objects(network, rule):
    run, plain = both(network=network, optimizer=rule)
    for each in (run, plain):
        each.step(7)  # over two epochs of two batches
    near(numbers(run), numbers(plain))
    assert (run.frame().step, run.frame().lr) == (7, plain.frame().lr)


@only(*ONE)
@pytest.mark.parametrize("rule", [name for name in OPTIMISERS if name not in RULES])
def test_other_rules(rule):
    run, plain = both(optimizer=rule)
    for each in (run, plain):
        each.step(5)
    near(numbers(run), numbers(plain))


@pytest.mark.parametrize("network", ["formula", "mlp"])
@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_penalties_limits_and_rates_of_each_step_of_a_call(network, limits):
    run, plain = both(network=network, optimizer="groups", schedule="cosine", **limits)
    for each in (run, plain):
        each.call_seconds = 100.0
        each.step(9)
    near(numbers(run), numbers(plain))
    gradients = [each._training.trainer.gradient(9) for each in (run, plain)]
    np.testing.assert_allclose(gradients[0], gradients[1], rtol=1e-11)


@only(*ONE)
def test_each_step_of_a_call_has_its_own_divisor():
    found = []
    for engine in ("cuda", "objects"):
        net = nn.Linear(3, 4, seed=1)
        loss, data = (
            nn.CrossEntropyLoss([0.5, 2.0, 0.7, 1.5], ignore_index=-1),
            (samples(3, 4, 11)[0], np.arange(11) % 5 - 1),
        )
        run = Run(net, loss, optim.SGD(net.parameters(), lr=0.3), data, batch_size=3, engine=engine, dtype="float64")
        run.call_seconds = 100.0
        run.step(9)
        found.append([run.history.loss, run.values])
    near(*found)


@pytest.mark.parametrize("rule", ["sgd_nesterov", "adamw_amsgrad", "own"])
@pytest.mark.parametrize("network", ["formula", "mlp"])
def test_an_update_that_is_too_long_for_registers(network, rule, monkeypatch):
    monkeypatch.setattr(update, "MOST_ROWS", 0)
    run, plain = both("numpy", network=network, optimizer=rule)
    assert not run._training.trainer._work.steps.joined
    for each in (run, plain):
        each.do(ed.SetFrozen(3, np.array([True])))
        each.step(5)
    near(numbers(run), numbers(plain))


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_two_runs_and_other_cuts_have_the_same_bits(dtype, monkeypatch):
    ends, calls = [], []
    for steps, counts in ((2, [9]), (2, [9]), (1, [2, 0, 4, 3]), (5, [9]), (100, [1] * 9)):
        cut(monkeypatch, steps=steps)
        run = make(dtype=dtype)
        run.call_seconds = 100.0
        train = run._training.trainer.train
        run._training.trainer.train = lambda *args, train=train: calls.append(args[1]) or train(*args)
        for count in counts:
            run.step(count)
        ends.append(bits(run))
    assert all(end == ends[0] for end in ends)
    assert max(calls) > 2  # else nothing here would see a call of several steps


@pytest.mark.parametrize("resident", [True, False])
@pytest.mark.parametrize(
    ("sampling", "samples", "batch"),
    [*(("epochs", *sizes) for sizes in ((11, 1), (11, 4), (11, 10), (8, 4), (2, 1))),
     *(("replacement", *sizes) for sizes in ((11, 4), (11, 11), (2, 5)))],
)  # fmt: skip
def test_batches_are_those_of_the_host(sampling, samples, batch, resident, monkeypatch):
    """The mean of numbers that are random says which of them it is of."""
    cut(monkeypatch, resident=resident)
    draw = rng.batch_indices if sampling == "epochs" else rng.drawn_indices
    codes, w = np.random.default_rng(7).normal(size=(samples, 1)), sv.Weight(1.0)
    with Run(lambda x: w * x[0], lambda o, t: o, optim.SGD([w], lr=0.0), (codes, codes), batch_size=batch, seed=2**40,
             engine="cuda", dtype="float64", sampling=sampling) as run:  # fmt: skip
        for step in (0, 1, samples // batch, 10**6 + 1, 2**33):
            loss, wanted = run._training.trainer.gradient(step), codes[draw(2**40, step, samples, batch)].mean()
            assert (loss, w.grad) == (pytest.approx(wanted, rel=1e-12), pytest.approx(wanted, rel=1e-12))
        run.step(7)
        wanted = [codes[draw(2**40, step, samples, batch)].mean() for step in range(7)]
        np.testing.assert_allclose(run.history.loss, wanted, rtol=1e-12)


@only(*ONE)
@pytest.mark.parametrize(("batch", "steps"), [(4, 2), (11, 3), (1, 100)])
def test_data_that_comes_in_call_by_call(batch, steps, monkeypatch):
    """The bits are those of a run that has it all in the device's memory."""
    ends = []
    for resident in (True, False):
        cut(monkeypatch, steps=100, stream_bytes=batch * 10 * 8 * steps)
        if not resident:
            monkeypatch.setattr(simulator.SimulatedDevice, "memory", lambda device: (99, 99))
        run = make(batch_size=batch)
        run.call_seconds = 100.0
        run.step(7)
        run.do(ed.SetTargets(1 - run.samples()[1]))
        run.step(3)
        assert (run._training.trainer._work.steps.samples.feed.mode == STREAMED) != resident
        ends.append(bits(run))
    assert ends[0] == ends[1]


# ---- between calls


@only(*ONE)
@pytest.mark.parametrize("name", EDITS)
def test_an_edit_between_two_calls_is_that_of_another_engine(name):
    ends = []
    for run in both("numpy", network="mlp"):
        run.step(3)
        if name != "engine":
            try:
                EDITS[name](run, np.random.default_rng(4))
            except ScalarvizError as error:
                ends.append(str(error))
        run.step(4)
        ends.append([run.frame().values, run.frame().gradient, run.history.loss])
    half = len(ends) // 2
    near(ends[half - 1], ends[-1])
    assert ends[: half - 1] == ends[half:-1]


@only(*ONE)
def test_changes_that_nobody_announced_count_too():
    """Every array of the problem is a live view: values, states, flags by the model's own names."""
    run, plain = both("numpy")
    for each in (run, plain):
        each.step(2)
        each.values[1] = 0.5
        each.problem.state[0][:] *= 0.5
        each.model.w[3].frozen = True
        each.step(2)
    near(numbers(run), numbers(plain))


@only(*ONE)
@pytest.mark.parametrize("edited", [False, True])
def test_back_to_a_state_has_the_bits_of_the_first_time(edited):
    run = make()
    run.step(2)
    state = run.state()
    run.step(3)
    end = bits(run)
    if edited:
        run.change(batch_size=3)
        run.step(2)
    run.take(state)
    run.step(3)
    assert bits(run)[:-1] == end[:-1]


@only(*ONE)
@pytest.mark.parametrize("engines", [("numba", "cuda", "numpy"), ("cuda", "objects", "cuda:0")])
def test_a_run_moves_from_engine_to_engine(engines):
    run, plain = make(engine=engines[0]), make(engine="numpy")
    run.step(3)
    for engine in engines[1:]:
        run.adopt_engine(engine)
        run.step(3)
    plain.step(9)
    near(numbers(run), numbers(plain))
    assert (run.engine.name, run.engine.since) == (engines[-1], 6)


@only(*ONE)
@pytest.mark.parametrize("batch", [11, 4])
def test_a_gradient_alone_changes_nothing_else(batch):
    run = make(batch_size=batch)
    run.step(3)
    problem = run.problem
    arrays = (run.values, problem.previous, *problem.state)
    before = [array.copy() for array in arrays]
    loss, grad = run._training.trainer.gradient(3), problem.store.grad.copy()
    for array, old in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, old)
    run.step(1)
    assert run.loss == loss
    np.testing.assert_array_equal(problem.store.grad, grad)
    np.testing.assert_array_equal(problem.previous, before[0])


@only(*ONE)
def test_back_to_a_snapshot_more_than_once():
    run = make()
    run.step(2)
    trained, before = run._training.trainer, bits(run)[:-1]
    trained.snapshot()
    for count in (3, 1):
        trained.train(2, count, 0.02)
        assert trained.finite()
        assert bits(run)[0] != before[0]
        trained.rewind()
        assert bits(run)[:-1] == before
    run.values[0] = np.inf
    assert not trained.finite()


@only(*ONE)
def test_numbers_from_the_middle_of_a_call_are_those_after_that_step():
    """Whoever asks gets what an unwatched run has after as many steps, and changes nothing."""
    run, plain, given = make(), make(), []
    run.step(1)
    plain.step(10)
    run._training.trainer.asked = type("Taken", (), {"give": lambda self, now: given.append(now)})
    losses = run._training.trainer.train(1, 9, run.lr)
    assert losses.tobytes() == plain.history.loss[1:].tobytes()
    assert len(given) > 2
    for now in given:
        steps, other = len(now.losses), make()
        other.step(1 + steps)
        assert 1 <= steps <= 9
        assert now.losses.tobytes() == losses[:steps].tobytes()
        assert [now.values.tobytes(), now.gradient.tobytes()] == bits(other)[:2]
        assert (now.values - now.previous).tobytes() == bits(other)[2]


@only("joined")
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
