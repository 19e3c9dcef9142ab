"""Every optimiser does in a Run, on every engine, what it does in a hand-written loop; states begin where they say."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim

X = np.random.default_rng(0).random((6, 3))
RULES = {
    "dampening": lambda p: optim.SGD(p, 0.3, 0.9, 0.4, 0.01),
    "maximize": lambda p: optim.SGD(p, 0.05, 0.5, maximize=True),
    "amsgrad": lambda p: optim.Adam(p, 0.05, (0.5, 0.6), amsgrad=True),
    "adamw": lambda p: optim.AdamW(p, 0.05, (0.5, 0.6), amsgrad=True, maximize=True),
    "rmsprop": lambda p: optim.RMSprop(p, 0.02),
    "rmsprop_all": lambda p: optim.RMSprop(p, 0.01, 0.8, 1e-3, 0.01, 0.6, True),
    "adagrad": lambda p: optim.Adagrad(p, 0.2),
    "adagrad_all": lambda p: optim.Adagrad(p, 0.2, 0.1, 0.01, 0.5, 1e-4),
}


def network():
    return nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 2, seed=2))


def make(kind, engine="numpy", dtype="float64"):
    net = network()
    return sv.Run(net, nn.MSELoss(), RULES[kind](net.parameters()), (X, X[:, :2]), engine=engine, dtype=dtype)


@pytest.mark.parametrize("kind", RULES)
@pytest.mark.parametrize("engine", ["objects", "numpy", "numba"])
def test_a_run_does_what_the_loop_does(kind, engine):
    net, lossf = network(), nn.MSELoss()
    optimizer, run = RULES[kind](net.parameters()), make(kind, engine)
    for _ in range(22):
        optimizer.zero_grad()
        for x in X:
            (lossf(net(x), x[:2]) * (1 / len(X))).backward()
        optimizer.step()
    run.step(22)
    for name, array in run.state_dict().items():
        np.testing.assert_allclose(array, net.state_dict()[name], rtol=1e-10, atol=1e-12)
    state = optimizer.state_arrays()
    for name, array in run.optimizer.state_arrays().items():
        np.testing.assert_allclose(array, state[name], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", RULES)
def test_the_way_back_has_the_same_bits(kind):
    run = make(kind, "numba", "float32")
    run.step(30)
    bits = run.values.tobytes()
    run.to(7), run.to(30)
    assert run.values.tobytes() == bits
    run.back(12), run.step(12)
    assert run.values.tobytes() == bits


def test_a_state_begins_where_it_says_wherever_it_begins():
    run = make("adagrad_all")
    begin = run.optimizer_state()
    assert all((array == 0.5).all() for array in begin.values())
    run.step(5)
    fresh = make("adagrad_all")
    fresh.step(4)
    run.restart()
    run.step(4)
    assert run.values.tobytes() == fresh.values.tobytes()
    run.restart(seed=3)
    assert all((array == 0.5).all() for array in run.optimizer_state().values())

    class Half(optim.Optimizer):
        state = ("a", "b")

        def state_start(self, name):
            return {"a": 0.25, "b": -1.0}[name]

        def update(self, w, g, state, lr, t):
            return w - lr * g, {"a": state["a"] + 1, "b": state["b"]}

    run = make("rmsprop")
    run.step(2)
    run.change(optimizer=Half, lr=0.1)
    assert {name.split(".")[0]: float(array.ravel()[0]) for name, array in run.optimizer_state().items()} == {
        "a": 0.25, "b": -1.0,
    }  # fmt: skip
    run.step(3)
    assert float(run.optimizer_state()["a.0.weight"][0, 0]) == 3.25


def test_state_that_a_number_asks_for_comes_and_goes():
    run = make("rmsprop", "numba")
    run.step(3)
    run.change(momentum=0.5, centered=True)
    assert run.optimizer.state == ("square_avg", "momentum_buffer", "grad_avg")
    run.step(3)
    run.change(centered=False)
    assert run.optimizer.state == ("square_avg", "momentum_buffer")
    run.step(3)
    bits = run.values.tobytes()
    run.to(0), run.to(9)
    assert run.values.tobytes() == bits
    run.change(optimizer="Adam", lr=0.01)
    run.change(amsgrad=True)
    run.step(2)
    assert "max_exp_avg_sq.0.weight" in run.optimizer_state()


@pytest.mark.parametrize(
    ("kind", "numbers", "said"),
    [
        (optim.RMSprop, {"alpha": -0.1}, "alpha"),
        (optim.RMSprop, {"eps": -1}, "eps"),
        (optim.RMSprop, {"momentum": float("nan")}, "momentum"),
        (optim.RMSprop, {"centered": "yes"}, "centered"),
        (optim.RMSprop, {"weight_decay": None}, "weight_decay"),
        (optim.Adagrad, {"lr_decay": -1}, "lr_decay"),
        (optim.Adagrad, {"initial_accumulator_value": -1}, "initial_accumulator_value"),
        (optim.Adagrad, {"maximize": 3}, "maximize"),
        (optim.Adagrad, {"eps": "0"}, "eps"),
        (optim.SGD, {"dampening": float("inf")}, "dampening"),
        (optim.SGD, {"momentum": 0.5, "dampening": 0.5, "nesterov": True}, "dampening=0"),
        (optim.SGD, {"maximize": "no"}, "maximize"),
        (optim.Adam, {"amsgrad": 2}, "amsgrad"),
        (optim.AdamW, {"maximize": None}, "maximize"),
    ],
)
def test_numbers_out_of_their_range_are_refused(kind, numbers, said):
    with pytest.raises(sv.ScalarvizError, match=said):
        kind(network().parameters(), **numbers)
