"""One table of bad values for every constructor and call of the layers."""

from __future__ import annotations

import math

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Value, nn

SIZES = [0, -1, 2.5, "3", None, True, math.nan, [3]]
MAKERS = {
    "Linear: n_in": lambda n: nn.Linear(n, 2),
    "Linear: n_out": lambda n: nn.Linear(2, n),
    "Perceptron: n_in": nn.Perceptron,
    "Linear: n_in of a Network": lambda n: nn.Network(n, 2),
    "Linear: n_out of a Network": lambda n: nn.Network(2, n),
}


@pytest.mark.parametrize("what", MAKERS)
@pytest.mark.parametrize("size", SIZES)
def test_sizes_that_are_none(what, size):
    with pytest.raises(sv.ScalarvizError, match=what.split(" of ")[0] + " must be a whole number >= 1"):
        MAKERS[what](size)


def test_numpy_integers_are_sizes():
    assert nn.Linear(np.int64(2), np.int32(3)).weight.shape == (3, 2)


BAD = [
    (lambda: nn.Linear(3, 2)([1.0, 2.0]), r"Linear\(3, 2\) takes 3 inputs, got 2"),
    (
        lambda: nn.Sequential(nn.Linear(3, 2), nn.Linear(4, 1))([1.0, 2.0, 3.0]),
        r"Linear\(4, 1\) '1' takes 4 inputs, got 2",
    ),
    (
        lambda: nn.Linear(2, 1)(nn.Linear(2, 2)([1.0, 2.0]) + nn.Linear(2, 2)([1.0, 2.0])),
        r"Linear\(2, 1\) takes 2 inputs, got 4; rows are lists, which \+ joins: to add two, \[a \+ b for a, b in zip",
    ),
    (lambda: nn.Perceptron(3)(1.0), "takes 3 inputs, got 1"),
    (lambda: nn.Network(3, 2).perceptrons[0]([1.0]), "perceptron 0 takes 3 inputs, got 1"),
    (lambda: nn.Linear(2, 1)(np.ones((4, 2))), "one sample at a time"),
    (lambda: nn.Linear(2, 1)("ab"), "a number or a sequence"),
    (lambda: nn.Linear(2, 1)(None), "a number or a sequence"),
    (lambda: nn.Linear(2, 1)([1.0, "x"]), "must be a number, got str"),
    (lambda: nn.Linear(2, 1)([1.0, [2.0]]), "must be a number, got list"),
    (lambda: nn.Sequential(nn.Linear(1, 1), nn.Tanh), r"part 1 must be a Module.*did you mean Tanh\(\)"),
    (lambda: nn.Sequential([nn.Tanh()]), "part 0 must be a Module"),
    (lambda: nn.Sequential()[0.5], "whole number"),
    (lambda: nn.Perceptron(2, activation=nn.Sigmoid), r"did you mean Sigmoid\(\)"),
    (lambda: nn.Perceptron(2, activation="sigmoid"), "must be a module such as"),
    (lambda: nn.Network(2, 2, activation=lambda x: x), "must be a Module"),
    (lambda: nn.Network(2, 2, loss=nn.MSELoss), "loss must be a function"),
    (lambda: nn.LeakyReLU(math.inf), "negative_slope"),
    (lambda: nn.LeakyReLU("a"), "negative_slope must be a number"),
    (lambda: nn.Module()(1.0), "defines no forward"),
    (lambda: nn.Linear(2, 1).backward(1.0), "call the module with a sample first"),
]


@pytest.mark.parametrize(("attempt", "text"), BAD)
def test_bad_input_is_refused_with_a_name(attempt, text):
    with pytest.raises(sv.ScalarvizError, match=text):
        attempt()


def test_upstreams_of_the_wrong_kind():
    layer = nn.Linear(2, 3)
    layer([Value(1.0), 2.0])
    with pytest.raises(sv.ScalarvizError, match="2 upstream gradients for 3 outputs"):
        layer.backward([1.0, 2.0])
    with pytest.raises(sv.ScalarvizError, match="an upstream gradient must be a number"):
        layer.backward([1.0, 2.0, "x"])


def test_a_sequential_has_no_more_modules_than_it_has():
    with pytest.raises(IndexError, match="Sequential: there is no number 1, it has 1"):
        nn.Sequential(nn.Tanh())[1]
    assert nn.Sequential(nn.Tanh(), nn.ReLU())[-1].op == "relu"
    assert [v.data for v in nn.Sequential()([1.0, 2.0])] == [1.0, 2.0]


def test_nan_goes_through_every_layer_and_back():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 3), nn.LeakyReLU(), nn.Linear(3, 2), nn.Softplus())
    out = net([math.nan, 1.0])
    assert all(math.isnan(y.data) for y in out)
    sv.sum(out).backward()
    assert all(np.isnan(p.grad).all() for p in net.parameters() if "weight" in p.name)
