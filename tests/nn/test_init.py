"""Initialisers: statistics against PyTorch's and against the formula, and purity."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Weight, nn
from scalarviz.nn import init

RULES = {
    "default": init.pytorch_default(), "xavier": init.xavier_uniform(), "kaiming": init.kaiming_uniform(),
    "normal": init.normal(0.5, 2.0), "uniform": init.uniform(-1.0, 3.0),
}  # fmt: skip


def moments(x):
    return np.array([x.mean(), x.std(), x.min(), x.max()])


@pytest.mark.parametrize("name", RULES)
def test_statistics_agree_with_pytorch(oracle, name):
    layer = nn.Linear(300, 400, init=RULES[name], seed=5)
    theirs, ours = oracle("initial")[f"{name}/weight"], moments(layer.weight.data)
    n = layer.weight.numel()
    # the difference of two sample means and of two sample deviations, at five standard errors
    assert abs(ours[0] - theirs[0]) < 5 * theirs[1] * math.sqrt(2 / n)
    assert ours[1] == pytest.approx(theirs[1], rel=5 / math.sqrt(n))
    if name != "normal":
        np.testing.assert_allclose(ours[2:], theirs[2:], atol=1e-3 * (theirs[3] - theirs[2]))


BOUNDS = {
    "default": (1 / math.sqrt(300), 1 / math.sqrt(300)), "xavier": (math.sqrt(6 / 700), 0.0),
    "kaiming": (math.sqrt(6 / 300), math.sqrt(6 / 400)), "uniform": (3.0, 0.0),
}  # fmt: skip


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_follow_the_formula_with_fan_in_for_weights_and_fan_out_for_biases(name):
    layer = nn.Linear(300, 400, init=RULES[name], seed=5)
    weight, bias = BOUNDS[name]
    assert weight * 0.999 < np.abs(layer.weight.data).max() <= weight
    assert bias * 0.95 <= np.abs(layer.bias.data).max() <= bias


def test_the_same_seed_gives_the_same_numbers_and_another_seed_others():
    a, b, c = (nn.Linear(3, 3, seed=s) for s in (7, 7, 8))
    np.testing.assert_array_equal(a.weight.data, b.weight.data)
    assert not np.isin(a.weight.data, c.weight.data).any()


def test_no_two_layers_share_numbers():
    nets = [nn.Sequential(nn.Linear(5, 5), nn.Linear(5, 5), nn.Perceptron(5))]
    nets.append(nn.Sequential(nn.Linear(5, 5), nn.Linear(5, 5), nn.Perceptron(5)))
    nets[1].initialize(seed=3)
    for net in nets:
        scale = np.concatenate([np.ravel(p.data) for p in net.parameters()])
        assert len(set(scale.tolist())) == scale.size


def test_initialize_is_a_pure_function_of_the_seed_whatever_was_drawn_before():
    net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
    net.initialize(seed=9)
    first = net.state_dict()
    nn.Linear(100, 100)
    net.initialize(init.normal(), seed=1)
    net.initialize(seed=9)
    for name, array in net.state_dict().items():
        np.testing.assert_array_equal(array, first[name])


def test_manual_seed_builds_the_network_that_initialize_gives():
    init.manual_seed(9)
    net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Perceptron(6))
    built = net.state_dict()
    net.initialize(seed=9)
    for name, array in net.state_dict().items():
        np.testing.assert_array_equal(array, built[name])


def test_a_program_draws_the_same_numbers_in_every_run():
    code = "from scalarviz import nn; nn.Linear(2, 2); print(nn.Linear(2, 2).weight.data.tolist())"
    runs = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout for _ in "ab"
    }
    assert len(runs) == 1


def test_a_plain_function_is_an_initialiser():
    def ones(shape, fan_in, fan_out, draw):
        return np.full(shape, fan_in * 10 + fan_out)

    net = nn.Sequential(nn.Linear(3, 2), nn.Perceptron(4))
    net.initialize(ones)
    assert set(net[0].weight.data.ravel()) == {32.0}
    assert not net[0].bias.data.any()
    assert set(net[1].weight.data) == {41.0}
    assert net[1].bias.data == 0.0


def test_own_parameters_are_drawn_by_their_shape():
    class Own(nn.Module):
        def __init__(self):
            self.table = nn.Parameter(np.zeros((50, 20)))
            self.w = Weight()

    own = Own()
    own.initialize(init.pytorch_default(), seed=0)
    assert 0.9 / math.sqrt(20) < np.abs(own.table.data).max() <= 1 / math.sqrt(20)
    assert 0 < abs(own.w.data) <= 1


def test_a_tied_parameter_is_drawn_once():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    net.initialize(seed=0)
    other = nn.Sequential(nn.Linear(2, 2))
    other.initialize(seed=0)
    np.testing.assert_array_equal(net[0].weight.data, other[0].weight.data)


def test_draws_go_on_where_they_ended():
    draw, other = init.Draw(0, 3), init.Draw(0, 3)
    parts = np.concatenate([draw.uniform((4,)), draw.uniform((2, 3)).ravel()])
    np.testing.assert_array_equal(parts, other.uniform((10,)))
    assert not np.isin(init.Draw(0, 4).uniform((10,)), parts).any()


BAD = [
    (lambda: init.uniform(1, 0), "a <= b"),
    (lambda: init.uniform(0, math.inf), "finite"),
    (lambda: init.normal(std=-1), "std"),
    (lambda: init.normal(math.nan), "finite"),
    (lambda: init.xavier_uniform(0), "gain"),
    (lambda: init.kaiming_uniform("relu"), "gain must be a number"),
    (lambda: init.manual_seed(-1), "seed"),
    (lambda: init.manual_seed(1.5), "seed"),
    (lambda: nn.Linear(2, 2, seed=2**64), "seed"),
    (lambda: nn.Linear(2, 2, init="he"), "an initialiser is a function"),
    (lambda: nn.Linear(2, 2).initialize(3), "an initialiser is a function"),
    (lambda: nn.Linear(2, 2, init=lambda *a: np.zeros(3)), r"has shape \(2, 2\), got an array of shape \(3,\)"),
]


@pytest.mark.parametrize(("attempt", "text"), BAD)
def test_bad_input_is_refused(attempt, text):
    with pytest.raises(sv.ScalarvizError, match=text):
        attempt()


def test_initialisers_print_their_numbers():
    assert repr(init.uniform(0, 1)) == "uniform(0, 1)"
    assert repr(init.kaiming_uniform()) == "kaiming_uniform(gain=1.41421)"
