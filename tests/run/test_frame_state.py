"""What the optimiser keeps, in frames that were asked for it: of the step shown, and at no cost to the others."""

from __future__ import annotations

import numpy as np
import pytest

from scalarviz import Run, Weight, nn, optim
from scalarviz.run.edits import SetWeights
from scalarviz.run.requests import FrameRequest
from scalarviz.run.run_source import RunSource
from scalarviz.run.worker import Worker

X = np.random.default_rng(0).random((24, 3))


def make(optimizer=None, engine="numpy"):
    net = nn.Sequential(nn.Linear(3, 2, seed=1), nn.Tanh(), nn.Linear(2, 3, seed=2))
    rule = (optimizer or (lambda p: optim.Adam(p, lr=0.05)))(net.parameters())
    return Run(net, nn.MSELoss(), rule, (X, 1 - X), batch_size=7, seed=3, engine=engine, dtype="float64")


@pytest.mark.parametrize("engine", ["numpy", "numba", "objects"])
def test_adams_moments_are_the_means_of_the_gradients_that_were_seen(engine):
    run, m, v = make(engine=engine), 0.0, 0.0
    for _ in range(12):
        run.step()
        frame = run.frame(state=True)
        m = 0.9 * m + 0.1 * frame.gradient
        v = 0.999 * v + 0.001 * frame.gradient**2
        np.testing.assert_allclose(frame.state["exp_avg"], m, rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(frame.state["exp_avg_sq"], v, rtol=1e-9, atol=1e-18)


def test_momentum_by_its_name():
    run, velocity = make(lambda p: optim.SGD(p, lr=0.1, momentum=0.8)), 0.0
    for _ in range(5):
        run.step()
        frame = run.frame(state=True)
        velocity = 0.8 * velocity + frame.gradient
    assert list(frame.state) == ["momentum_buffer"]
    np.testing.assert_allclose(frame.state["momentum_buffer"], velocity, rtol=1e-12)


def test_a_rule_of_ones_own_says_its_names_and_which_are_squares():
    class Own(optim.Optimizer):
        state, squares = ("speed", "heat"), ("heat",)

        def update(self, w, g, state, lr, t):
            return w - lr * g, {"speed": state["speed"] + g, "heat": state["heat"] + g * g}

    source = RunSource(make(lambda p: Own(p, lr=0.1)))
    assert source.moments == {"speed": True, "heat": False}
    assert set(source.frame(state=True).state) == {"speed", "heat"}


def test_nobody_pays_who_does_not_ask():
    run = make()
    run.step(3)
    assert run.frame().state == {}
    assert run._reading().state is None  # nothing was copied
    assert make(lambda p: optim.SGD(p, lr=0.1)).frame(state=True).state == {}


def test_it_is_a_copy_of_its_moment():
    run = make()
    run.step(3)
    frame = run.frame(state=True)
    kept = frame.state["exp_avg"].copy()
    frame.state["exp_avg"][:] = 7.0
    np.testing.assert_array_equal(run.frame(state=True).state["exp_avg"], kept)
    run.step(2)
    assert not np.array_equal(run.frame(state=True).state["exp_avg"], kept)


def test_in_the_past_it_is_that_of_the_past():
    run, fresh = make(), make()
    run.step(40)
    run.to(17)
    fresh.step(17)
    for name in ("exp_avg", "exp_avg_sq"):
        np.testing.assert_array_equal(run.frame(state=True).state[name], fresh.frame(state=True).state[name])


def test_beside_a_thread_an_edit_leaves_it_while_it_is_wanted():
    run = make()
    with Worker(run) as worker:
        assert worker.request().result(5).state == {}
        worker.train_to(6)
        worker.settle()
        assert set(worker.request(state=True).result(5).state) == {"exp_avg", "exp_avg_sq"}
        worker.state_wanted = True
        worker.do(SetWeights(0, np.ones(1)))
        worker.settle()
        assert worker.latest.state
        assert run.request_frame(state=True).result(5).state
        worker.state_wanted = False
        worker.do(SetWeights(0, np.zeros(1)))
        worker.settle()
        assert not worker.latest.state


def test_in_the_middle_of_a_call_who_wants_it_waits_for_the_end():
    run = make()
    worker = Worker(run)
    plain, wants = FrameRequest(None, worker), FrameRequest(None, worker, state=True)
    worker._waiting += [plain, wants]
    assert worker._readback() is not None
    assert worker._readback() is None
    assert (plain.told, wants.told) == (True, False)
    worker.close()
    assert set(wants.result(5).state) == {"exp_avg", "exp_avg_sq"}


def test_weights_of_ones_own_loop_have_none():
    w = Weight(1.0)
    from scalarviz.view.shown.subject import subject_of

    assert subject_of(w).source.moments == {}
    assert subject_of(w).frame(state=True).state == {}
