"""Which step is opened: its batch, its sample, its frame, its thread; and what is said of those that there are not."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.errors import InputError, OutOfRangeError, StateError, TypeMismatchError
from scalarviz.run.opened import network, passes
from scalarviz.run.worker import Worker

X = np.random.default_rng(0).random((64, 3))


def rgb(optimizer=None, engine="numpy", dtype="float64", **options):
    net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
    make = optimizer or (lambda p: optim.SGD(p, lr=0.5))
    return Run(net, nn.MSELoss(), make(net.parameters()), (X, 1 - X), engine=engine, dtype=dtype, **options)


def agrees(opened, run):
    """Whether a run that has just done the step computed the same."""
    assert run.steps == opened.step
    np.testing.assert_allclose(opened.gradient, run.frame().gradient, rtol=1e-9, atol=1e-14)
    assert opened.loss == pytest.approx(run.loss, rel=1e-12)
    np.testing.assert_allclose(opened.new_values, run.values, rtol=1e-9, atol=1e-14)


# the batch


@pytest.mark.parametrize("sampling", ["epochs", "replacement"])
@pytest.mark.parametrize("batch_size", [1, 16, 60, 64])
def test_the_samples_are_those_of_the_step(batch_size, sampling):
    run = rgb(batch_size=batch_size, sampling=sampling)
    for _ in range(6):
        opened = run.open()
        assert opened.inputs.tolist() == X[opened.batch].T.tolist()
        assert opened.targets.tolist() == (1 - X)[opened.batch].T.tolist()
        run.step(1)
        agrees(opened, run)


def test_after_every_kind_of_edit():
    run = rgb(optim.Adam, batch_size=16)
    edits = [
        lambda: run.set_weights(2, [0.25, -0.5]),
        lambda: setattr(run.model[0].weight[1][1], "frozen", True),
        lambda: run.change(lr=0.03, betas=(0.5, 0.9)),
        lambda: setattr(run, "batch_size", 7),
        lambda: run.set_targets(X),
        lambda: run.add_samples(X[:9], X[:9]),
        lambda: run.refill(X[::-1], X),
        lambda: run.change(engine="objects"),
        lambda: run.change(sampling="replacement"),
        lambda: run.change(optimizer=optim.SGD(run.model.parameters(), lr=0.2, momentum=0.5)),
        lambda: run.change(loss=nn.L1Loss()),
        lambda: run.change(loss=nn.MSELoss(reduction="sum")),
        lambda: np.asarray(run.values).__setitem__(slice(0, 9), 0.125),
        lambda: run.back(3),
        lambda: run.to(run.span[1]),
    ]
    for edit in edits:
        run.step(3)
        edit()
        opened = run.open()
        run.step(1)
        agrees(opened, run)


def test_what_was_opened_stays_when_the_run_goes_on():
    run = rgb(optim.Adam, batch_size=16)
    run.step(3)
    opened, other = run.open(), run.open()
    before = [opened.terms(4).array.copy(), opened.new_values.copy(), opened.loss_along(4).losses]
    run.step(5)
    run.refill(X * 0.5, X)
    run.change(lr=0.1, batch_size=5)
    run.set_weights(0, np.zeros(12))
    assert np.array_equal(other.terms(4).array, before[0])
    assert np.array_equal(other.new_values, before[1])
    assert np.array_equal(other.loss_along(4).losses, before[2])


def test_another_model_is_opened_as_what_it_is():
    run = rgb()
    run.step(2)
    run.open()
    net = nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 3, seed=2))
    run.change(model=net)
    opened = run.open()
    assert [stage.kind for stage in opened.stages] == ["linear", "tanh", "linear"]
    run.step(1)
    agrees(opened, run)
    assert [stage.kind for stage in run.open(step=1).stages] == ["linear", "sigmoid"]
    assert run.n_weights == 31
    with pytest.raises(StateError, match="step 1 was done with another model"):
        run.why(0, step=1)
    with pytest.raises(StateError, match="model was changed between step 1 and step 3"):
        run.compare(1, 3)
    assert run.steps == 3


# a step by its number


@pytest.mark.parametrize("optimizer", [optim.SGD, optim.Adam])
def test_a_step_that_was_done_has_the_engines_numbers_beside_it(optimizer):
    run = rgb(lambda p: optimizer(p, lr=0.1), "numba", "float32", batch_size=16)
    seen = {}
    for step in range(1, 31):
        run.step(1)
        seen[step] = run.frame()
    for step in (1, 7, 29, 30):
        opened = run.open(step=step)
        assert (opened.step, opened.own.engine) == (step, "numba")
        assert np.array_equal(opened.own.gradient, seen[step].gradient)
        assert np.array_equal(opened.own.values, seen[step].values)
        assert opened.own.loss == seen[step].loss
        np.testing.assert_allclose(opened.gradient, opened.own.gradient, atol=1e-6)
        np.testing.assert_allclose(opened.new_values, opened.own.values, atol=1e-4)
    assert run.open(step=31).own is None
    assert run.open().own is None
    assert run.steps == 30


def test_steps_that_there_are_not():
    run = rgb()
    run.step(5)
    for step in (0, 7):
        with pytest.raises(InputError, match=f"there is no step {step}; allowed: 1 to 6, the coming one"):
            run.open(step=step)
    for step in (-1, 1.5, "3", True):
        with pytest.raises(InputError, match="whole number"):
            run.open(step=step)
    with pytest.raises(InputError, match="give a frame or a step"):
        run.open(run.frame(), step=3)


# a frame


def test_a_frame_of_the_past_is_opened_at_its_weights():
    run = rgb(batch_size=16)
    run.step(4)
    frame, opened = run.frame(), run.open()
    run.step(10)
    later = run.open(frame)
    assert later.step == 5
    assert np.array_equal(later.gradient, opened.gradient)
    assert later.batch.tolist() == opened.batch.tolist()
    assert np.array_equal(later.new_values, opened.new_values)  # plain gradient descent keeps nothing


def test_what_the_optimiser_kept_is_not_in_a_frame():
    run = rgb(optim.Adam)
    run.step(4)
    frame = run.frame()
    assert np.array_equal(run.open(frame).new_values, run.open().new_values)
    run.step(1)
    opened = run.open(frame)
    for question in (lambda: opened.update(0), lambda: opened.new_values, opened.micro_steps):
        with pytest.raises(StateError, match=r"state of Adam before step 5 is not known.*run\.open\(step=5\)"):
            question()
    assert np.isnan(opened.loss_along(0).after)
    assert np.array_equal(run.open(step=5).gradient, opened.gradient)


def test_frames_that_are_none():
    run = rgb()
    net = nn.Sequential(nn.Linear(2, 2))
    other = Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X[:, :2], X[:, :2]), engine="numpy")
    for frame in (5, "now", run.values, run):
        with pytest.raises(TypeMismatchError, match="frame must be a Frame of this run"):
            run.open(frame)
    with pytest.raises(InputError, match="the frame has 6 weights, this run 12"):
        run.open(other.frame())


# one sample


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_one_sample_is_a_batch_of_its_own(reduction):
    def make(x, y):
        net = nn.Sequential(nn.Linear(3, 3, seed=1), nn.Sigmoid())
        loss = nn.MSELoss(reduction=reduction)
        return Run(net, loss, optim.Adam(net.parameters()), (x, y), engine="numpy", dtype="float64")

    run, alone = make(X, 1 - X), make(X[7:8], 1 - X[7:8])
    opened = run.open(sample=7)
    alone.step(1)
    agrees(opened, alone)
    assert run.steps == 0
    assert (opened.divisor, opened.trial, run.open().trial) == (1, True, False)


def test_a_sample_that_is_not_of_the_data():
    run = rgb()
    opened = run.open(sample=([0.1, 0.2, 0.3], [1, 0, 1]))
    assert opened.batch.tolist() == [-1]
    assert opened.targets[:, 0].tolist() == [1, 0, 1]
    assert set(opened.terms(0)["sample"]) == {-1}
    assert "its own" not in repr(opened)


def test_pictures_and_classes_as_samples():
    net = nn.Sequential(nn.Conv2d(1, 2, 2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3))
    x, y = X.reshape(-1)[:108].reshape(12, 1, 3, 3), np.arange(12) % 3
    run = Run(net, nn.CrossEntropyLoss(), optim.SGD(net.parameters(), lr=0.1), (x, y), engine="numpy")
    same = run.open(sample=(x[4], 1))
    assert np.array_equal(same.gradient, run.open(sample=4).gradient)
    with pytest.raises(InputError, match=r"targets|class"):
        run.open(sample=(x[4], 7))


def test_samples_that_are_none():
    run = rgb()
    for sample in (64, -65):
        with pytest.raises(OutOfRangeError, match="open: sample: there is no number"):
            run.open(sample=sample)
    for sample in (1.5, "first", X, {"x": 1}, ([0, 1, 2],), True):
        with pytest.raises(TypeMismatchError, match=r"sample must be the number of one, or a pair|an index is a whole"):
            run.open(sample=sample)
    with pytest.raises(InputError, match="the inputs of sample must have 3 numbers"):
        run.open(sample=([1, 2], [1, 2, 3]))
    with pytest.raises(InputError, match="the targets of sample must have 3 numbers"):
        run.open(sample=([1, 2, 3], [1, 2]))
    with pytest.raises(InputError, match="not finite"):
        run.open(sample=([1, 2, np.nan], [1, 2, 3]))
    with pytest.raises(TypeMismatchError):
        run.open(sample=(["a", 2, 3], [1, 2, 3]))


# bounds


def test_memory_is_bounded_and_lists_are_capped(monkeypatch):
    run = rgb()
    monkeypatch.setattr(passes, "KEPT_BYTES", 1000)
    monkeypatch.setattr(passes, "SHOWN_BYTES", 960)
    opened = run.open()
    assert opened.shown == 10
    assert {array.shape for array in (*opened.rows.values(), *opened.deltas.values())} == {(3, 10)}
    assert opened.inputs.shape == opened.targets.shape == (3, 10)
    with pytest.raises(ValueError, match="read-only"):
        opened.values[0] = 1.0
    terms = opened.terms(0)
    assert terms.count == len(terms) == 64
    assert terms.said == "64"
    assert opened.terms(0, 5).said == "5 of 64"
    assert opened.delta_sums["0"] == pytest.approx(opened.gradient[9:], rel=1e-12)


def test_lists_that_are_none():
    opened = rgb().open()
    for most in (0, -1, 1.5, None, "all"):
        with pytest.raises(InputError, match="most"):
            opened.terms(0, most)


def test_a_weight_that_nothing_reads_has_no_terms():
    read, lone = sv.Weight(0.5, name="read"), sv.Weight(0.25, name="lone")
    run = Run(lambda x: [read * x[0]], nn.MSELoss(), optim.SGD([read, lone], lr=0.1), (X, X[:, :1]), engine="numpy")
    terms = run.open().terms("lone")
    assert (len(terms), terms.count, terms.sum, terms.uses, terms.said) == (0, 0, 0.0, (), "0")
    assert np.asarray(terms).shape == (0,)


def test_numbers_that_are_none_stay_none():
    run = rgb()
    run.set_weights(0, np.full(9, 1e200))
    run.set_weights(4, [np.nan])
    opened = run.open()
    assert np.isnan(opened.loss)
    assert np.isnan(opened.terms(4).sum)
    assert np.isnan(opened.new_values[4])
    assert opened.micro_steps()
    assert len(opened.loss_along(4).losses) == 33


# beside a thread


def test_beside_a_training_thread_every_number_is_of_one_moment():
    run = rgb(lambda p: optim.Adam(p, lr=0.01), "numba", batch_size=16)
    run.call_seconds = 0.002
    with Worker(run) as worker:
        worker.train_to(10**9)
        for _ in range(10):
            opened = run.open()
            x = X[opened.batch]
            loss = np.square(1 / (1 + np.exp(-x @ opened.values[:9].reshape(3, 3).T - opened.values[9:])) - (1 - x))
            assert opened.loss == pytest.approx(loss.mean(), rel=1e-12)
        found = run.why(4)
        assert found.gradient == pytest.approx(found.engine_gradient, rel=1e-9, abs=1e-15)
    fresh = rgb(lambda p: optim.Adam(p, lr=0.01), "numba", batch_size=16)
    fresh.step(run.steps)
    assert np.array_equal(fresh.values, run.values)


def test_the_thread_that_trains_only_copies(monkeypatch):
    run, lowering = rgb(), []
    own = network.lower
    monkeypatch.setattr(network, "lower", lambda tape: lowering.append(threading.current_thread()) or own(tape))
    with Worker(run) as worker:
        worker.train_to(10**9)
        run.open()
        run.why(0)
    assert lowering == [threading.main_thread()]


def test_two_threads_may_ask_one_opened_step():
    opened = rgb(batch_size=16).open()
    found = []
    threads = [threading.Thread(target=lambda: found.append(opened.terms(3).sum)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert found == [opened.terms(3).sum] * 4
