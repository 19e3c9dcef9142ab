"""While a run trains with an optimiser, state and steps are the run's: read from it, never moved behind its back."""

from __future__ import annotations

import copy
import gc
import pickle

import numpy as np
import pytest

from scalarviz import Run, Value, nn, optim
from scalarviz.errors import StateError
from scalarviz.run import edits as ed
from scalarviz.run.engines import Engines
from scalarviz.run.worker import Worker

X = np.random.default_rng(0).random((16, 3))


def net_of(seed=1):
    return nn.Sequential(nn.Linear(3, 4, seed=seed), nn.Tanh(), nn.Linear(4, 3, seed=2))


def make(kind=optim.Adam, net=None):
    net = net or net_of()
    return net, Run(net, nn.MSELoss(), kind(net.parameters(), lr=0.01), (X, 1 - X), engine="numpy", dtype="float64")


def by_hand(net, opt, steps):
    loss = nn.MSELoss()
    for _ in range(steps):
        opt.zero_grad()
        for x in X:
            loss(net([Value(v) for v in x]), [Value(1 - v) for v in x]).backward(1 / len(X))
        opt.step()


def test_a_step_by_hand_beside_a_run_is_refused_and_changes_nothing():
    """It moved the weights with moments of its own, and the run never knew."""
    net, run = make()
    run.step(5)
    values = run.values.tobytes()
    with pytest.raises(StateError, match=r"run\.step"):
        by_hand(net, run.optimizer, 1)
    with pytest.raises(StateError, match="load_state_dict"):
        run.optimizer.load_state_dict(run.optimizer.state_dict())
    with pytest.raises(StateError, match="steps"):
        run.optimizer.steps = 3
    assert run.values.tobytes() == values
    run.close()
    by_hand(net, run.optimizer, 1)
    assert run.optimizer.steps == 6


@pytest.mark.parametrize("kept", [lambda o: o, copy.deepcopy, copy.copy, lambda o: pickle.loads(pickle.dumps(o))])
def test_what_an_optimiser_says_beside_a_run_is_the_runs(kept):
    _, run = make()
    run.step(5)
    opt = kept(run.optimizer)
    assert opt.steps == opt.state_dict()["steps"] == 5
    moments = np.concatenate([run.optimizer_state()[f"exp_avg.{t.name}"].ravel() for t in run.tensors])
    assert moments.any()
    assert (
        opt.state_arrays()["exp_avg"].tobytes() == opt.state_dict()["state"]["exp_avg"].tobytes() == moments.tobytes()
    )
    opt.state_arrays()["exp_avg"][:] = 7.0  # a copy
    run.step()
    assert run.optimizer.steps == 6
    assert run.optimizer.state_arrays()["exp_avg"].max() < 1.0


def test_a_run_that_is_dropped_leaves_the_optimiser_what_it_computed():
    gc.disable()
    try:
        net, run = make()
        opt = run.optimizer
        run.step(5)
        del run
    finally:
        gc.enable()
    assert opt.steps == 5
    by_hand(net, opt, 5)
    other = net_of()
    fresh = optim.Adam(other.parameters(), lr=0.01)
    by_hand(other, fresh, 10)
    np.testing.assert_allclose(net[0].weight.data, other[0].weight.data, rtol=1e-12)


def test_beside_a_thread_too():
    _, run = make()
    with Worker(run) as worker:
        worker.train_to(10**9)
        while run.steps < 3:
            run.step()
        before = run.steps
        assert before <= run.optimizer.steps <= run.steps
        with pytest.raises(StateError):
            run.optimizer.step()
        worker.pause()


def test_weights_that_no_other_run_takes_stand_alone():
    encoder, one, two = nn.Linear(3, 4, seed=1), nn.Linear(4, 3, seed=2), nn.Linear(4, 3, seed=3)
    _, first = make(net=nn.Sequential(encoder, nn.Tanh(), one))
    first.step(3)
    kept = one.weight.data.copy()
    _, second = make(net=nn.Sequential(encoder, nn.Tanh(), two))
    one.weight[0][0].data = 3.0  # a run that nobody may step said no
    one.freeze()
    second.step(2)
    assert one.weight[0][0].data == 3.0
    assert one.weight.data[1:].tobytes() == kept[1:].tobytes()
    with pytest.raises(StateError, match="another Run"):
        first.step()
    first.close()
    second.step()
    assert two.weight.data.tobytes() == second.state_dict()["2.weight"].tobytes()


def test_a_run_that_cannot_be_made_leaves_the_weights_alone(monkeypatch):
    net, run = make()
    run.step(3)
    values = run.values.copy()

    def fails(self, problem):
        raise MemoryError

    with monkeypatch.context() as patch, pytest.raises(MemoryError) as held:
        patch.setattr(Engines, "_make_trainer", fails)
        make(net=net)
    net[0].weight[0][0].data = 3.0
    _, after = make(net=net)
    assert held.value is not None  # its traceback holds the run that is none
    assert after.values[1:].tobytes() == values[1:].tobytes()
    after.step()


def test_after_going_back_loss_and_rate_are_those_of_the_step():
    _, run = make()
    run.step(5)
    run.lr = 0.3
    frame, state = run.frame(), run.state()
    assert (frame.lr, frame.next_lr) == (0.01, 0.3)
    run.step(3)
    run.take(state)
    back = run.frame()
    assert (back.step, back.loss, back.lr, back.next_lr) == (5, frame.loss, 0.01, 0.3)
    assert run.loss == frame.loss
    assert run.history.step.tolist() == [1, 2, 3, 4, 5]  # the branch of now begins there
    assert back.curve.loss.tobytes() == frame.curve.loss.tobytes()


def test_copies_of_states_and_edits():
    _, run = make()
    state = run.state()
    assert copy.deepcopy({"then": state})["then"] is state
    with pytest.raises(StateError, match="save"):
        pickle.dumps(state)
    for edit in (
        ed.SetWeights(0, [1.0, 2.0]),
        ed.Refill(X, X),
        ed.SetOptimizer({"lr": 0.1}),
        ed.SetEngine("numpy", "w"),
    ):
        for twin in (copy.copy(edit), copy.deepcopy(edit), pickle.loads(pickle.dumps(edit))):
            assert twin == edit
            for array in (getattr(twin, name) for name in ("numbers", "inputs") if hasattr(twin, name)):
                assert not (isinstance(array, np.ndarray) and array.flags.writeable)
