"""Modules: names, calls, backward of a part, copies, buffers, initial values, what they print."""

import copy
import math
import pickle
import re

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Value, Weight, nn
from scalarviz.nn import init

TWINS = {"deepcopy": copy.deepcopy, "pickle": lambda net: pickle.loads(pickle.dumps(net))}
every_twin = pytest.mark.parametrize("twin", TWINS.values(), ids=TWINS)


def deep():
    return nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Sequential(nn.Linear(16, 3), nn.Sigmoid()))


def names(net):
    return [name for name, _ in net.named_parameters()]


class Held(nn.Module):
    """Parts in lists of lists, beside a list of numbers that has none; no ``super().__init__``."""

    def __init__(self):
        self.scale, self.w = Weight(2.0), [[Weight(1.0), Weight(2.0)], [Weight(3.0)]]
        self.deep, self.table = ([[nn.Linear(2, 1, seed=0)]],), nn.Parameter(np.ones((2, 2, 2)))
        self.note, self.data = "no parameter", [[0.5] * 10] * 1000

    def forward(self, x):
        return self.deep[0][0][0](x)[0] * self.scale + self.table[1][0][1]


# ---- names


def test_a_weight_knows_its_place():
    net = deep()
    w = net[0].weight[4][2]
    assert (w.name, net[0].weight[4].name, net[2][0].bias[1].name) == ("0.weight[4][2]", "0.weight[4]", "2.0.bias[1]")
    assert all(again is w for again in (net[0].weight[4][2], net[0].weight[4, 2], net[0].weight[-12][-1]))
    assert names(net) == ["0.weight", "0.bias", "2.0.weight", "2.0.bias"]
    assert [n for n, _ in net.named_modules()] == ["", "0", "1", "2", "2.0", "2.1"]
    assert [m.full_name() for m in net.children()] == ["0", "1", "2"]
    order = []
    assert net.apply(order.append) is net
    assert order == [net[0], net[1], net[2][0], net[2][1], net[2], net]  # as PyTorch: what is below first
    net.add_module("last", nn.ReLU())
    assert [name for name, _ in net.named_children()] == ["0", "1", "2", "last"]
    layer = nn.Linear(2, 2)
    inner = nn.Sequential(nn.ReLU(), layer)
    outer = nn.Sequential(inner)
    assert layer.weight[1][0].name == "0.1.weight[1][0]"
    del outer
    assert layer.weight.name == "1.weight"
    del inner
    assert layer.weight.name == "weight"


def test_parts_may_stand_in_lists():
    net = Held()
    wanted = ["scale", "table", "w.0.0", "w.0.1", "w.1.0", "deep.0.0.0.weight", "deep.0.0.0.bias"]
    assert sorted(names(net)) == sorted(wanted) == sorted(net.state_dict())
    assert [p.name for p in net.parameters()] == names(net)
    assert (net.table[1][0][1].name, net.deep[0][0][0].full_name()) == ("table[1][0][1]", "deep.0.0.0")
    y = net([0.5, -0.5])
    y.backward()
    assert net.scale.grad == pytest.approx((y.data - 1.0) / 2.0)
    assert (net.table.grad[1, 0, 1], net.table.grad.sum()) == (1.0, 1.0)
    first, last = net.w[0][0], net.w[1][0]  # a part that moves has its new name
    net.w[0].insert(0, Weight(9.0))
    net.w.pop()
    net.parameters()
    assert (first.name, last.name) == ("w.0.1", "")
    net.other = last
    assert last.name == "other"
    del net.w
    assert first.name == ""


def test_tied_parameters_come_once_under_their_first_name():
    class Tied(nn.Module):
        def __init__(self):
            self.encode, self.decode = nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False)
            self.decode.weight = self.encode.weight

        def forward(self, x):
            return self.decode(self.encode(x))

    net = Tied()
    assert (names(net), net.decode.weight.name) == (["encode.weight"], "encode.weight")
    assert list(net.state_dict()) == ["encode.weight", "decode.weight"]
    net.load_state_dict(net.state_dict())
    x, w = np.array([1.0, 2.0, 3.0]), np.arange(9.0).reshape(3, 3) / 10
    net.encode.weight.data = w
    sv.sum(net(x)).backward()
    wanted = np.outer(np.ones(3), w @ x) + np.outer(w.T @ np.ones(3), x)
    np.testing.assert_allclose(net.encode.weight.grad, wanted, rtol=1e-14)
    twin = copy.deepcopy(net)
    assert twin.decode.weight is twin.encode.weight is not net.encode.weight
    act, layer = nn.Tanh(), nn.Linear(2, 2)
    net = nn.Sequential(layer, act, layer, act)
    assert (names(net), len(net)) == (["0.weight", "0.bias"], 4)


def test_freeze_and_unfreeze_by_pattern():
    net = deep()
    net.freeze("0.*")
    assert [p.frozen for p in net.parameters()] == [True, True, False, False]
    net.unfreeze()
    assert not any(p.frozen for p in net.parameters())
    net.freeze("*.bias")
    assert [p.requires_grad for p in net.parameters()] == [True, False, True, False]
    net.unfreeze("*")
    net.freeze("0.weight[4][2]")
    assert net[0].weight[4][2].frozen
    assert (net[0].weight.frozen_flags.sum(), net[0].weight.frozen) == (1, False)
    net.freeze("0.weight[5]")
    assert net[0].weight[5].frozen
    net.freeze()
    assert all(p.frozen for p in net.parameters())


def test_backward_of_a_module_stops_at_its_inputs():
    net = nn.Sequential(nn.Linear(2, 3, seed=0), nn.Tanh(), nn.Linear(3, 1, seed=1))
    x = [Value(0.5), Value(-0.25)]
    net(x)[0].backward()
    whole = {n: p.grad.copy() for n, p in net.named_parameters()}
    wanted = [v.grad for v in x]
    net.zero_grad()
    g = net[2].backward([1.0])
    assert net[0].weight.grad.sum() == 0.0  # not further
    np.testing.assert_allclose(net[0].backward(net[1].backward(g)), wanted, rtol=1e-15)
    for name, p in net.named_parameters():
        np.testing.assert_allclose(p.grad, whole[name], rtol=1e-15)


class Scaled(nn.Module):
    def __init__(self):
        self.register_buffer("scale", [2.0, 3.0])
        self.register_buffer("count", np.array(4, np.int64))
        self.w = Weight(1.5)

    def forward(self, x):
        return [self.w * v * s for v, s in zip(x, self.scale.tolist(), strict=True)]


@every_twin
def test_a_copy_has_all_and_its_own(twin):
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2).eval(), Held(), Scaled())
    net.freeze("0.bias")
    net[1].running_var, net[1].num_batches_tracked = [2.0, 3.0], 4
    sv.sum(net[0]([1.0, 2.0])).backward()
    other = twin(net)
    shallow = copy.copy(net)
    for each in (other, shallow):
        assert list(each.state_dict()) == list(net.state_dict())
        for name, array in net.state_dict().items():
            np.testing.assert_array_equal(each.state_dict()[name], array)
        assert [m.training for _, m in each.named_modules()] == [m.training for _, m in net.named_modules()]
        assert each[0].bias.frozen
        np.testing.assert_array_equal(each[0].weight.grad, net[0].weight.grad)
    before = net.state_dict()
    other.load_state_dict({name: np.zeros_like(part) for name, part in net.state_dict().items()})
    other[1].running_var[0], other[3].scale[0] = 9.0, 7.0
    assert all((net.state_dict()[name] == array).all() for name, array in before.items())
    other[1].reset_running_stats()
    assert [a.tolist() for a in other[1].buffers()] == [[0, 0], [1, 1], 0]
    del net, shallow
    assert (other[0].weight[1][0].name, other[2].w[0][1].name, other[3].w.name) == ("0.weight[1][0]", "2.w.0.1", "3.w")


def test_buffers_are_kept_but_not_trained():
    net = nn.Sequential(Scaled())
    assert names(net) == ["0.w"]
    assert [n for n, _ in net.named_buffers()] == ["0.scale", "0.count"]
    net.load_state_dict({"0.w": 2.0, "0.scale": [5.0, 6.0], "0.count": 7})
    assert net[0].count.dtype == np.int64
    state = net.state_dict()
    assert (list(state), int(state["0.count"])) == (["0.w", "0.scale", "0.count"], 7)
    state["0.scale"][0] = -1.0
    assert net[0].scale[0] == 5.0
    net[0].scale = np.array([1.0, 2.0])  # still the buffer
    assert net.state_dict()["0.scale"].tolist() == [1.0, 2.0]


# ---- what they print, perceptrons, weights


def test_modules_print_as_in_pytorch():
    assert repr(nn.Sequential(nn.Linear(3, 16), nn.LeakyReLU(0.2), nn.Sequential(nn.Tanh()))) == (
        "Sequential(\n  (0): Linear(in_features=3, out_features=16, bias=True)\n"
        "  (1): LeakyReLU(negative_slope=0.2)\n  (2): Sequential(\n    (0): Tanh()\n  )\n)"
    )
    assert repr(nn.Perceptron(3, nn.Sigmoid())) == "Perceptron(\n  3, bias=True\n  (activation): Sigmoid()\n)"
    assert "(scale): Weight 2" in repr(Held())
    assert "(table): Parameter of shape (2, 2, 2)" in repr(Held())


def test_perceptrons_of_a_network_are_views():
    net = nn.Network(3, 3, activation=nn.Sigmoid())
    assert list(net.state_dict()) == list(nn.Sequential(nn.Linear(3, 3), nn.Sigmoid()).state_dict())
    unit = net.perceptrons[1]
    unit.weight[2].data, unit.bias.data = 7.0, -1.0
    assert (net[0].weight.data[1, 2], net.state_dict()["0.bias"][1], unit.bias.name) == (7.0, -1.0, "0.bias[1]")
    assert [w.name for w in unit.parameters()] == ["0.weight[1][0]", "0.weight[1][1]", "0.weight[1][2]", "0.bias[1]"]
    assert (len(net.perceptrons), len(net.perceptrons[:2]), net.perceptrons[-1].index) == (3, 2, 2)
    unit([1.0, 2.0, 3.0]).backward()
    assert net[0].weight.grad[1].any()
    assert not net[0].weight.grad[[0, 2]].any()
    plain = nn.Network(2, 1, bias=False)
    assert plain.perceptrons[0].bias is None
    assert plain.perceptrons[0]([1.0, 1.0]).data == pytest.approx(plain[0].weight.data.sum())


# ---- initial values

BOUNDS = {
    "default": (init.pytorch_default(), 1 / math.sqrt(300), 1 / math.sqrt(300)),
    "xavier": (init.xavier_uniform(), math.sqrt(6 / 700), 0.0),
    "kaiming": (init.kaiming_uniform(), math.sqrt(6 / 300), math.sqrt(6 / 400)),
    "uniform": (init.uniform(-1.0, 3.0), 3.0, 0.0),
}  # fmt: skip


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_follow_the_formula_with_fan_in_for_weights_and_fan_out_for_biases(name):
    rule, weight, bias = BOUNDS[name]
    layer = nn.Linear(300, 400, init=rule, seed=5)
    assert weight * 0.999 < np.abs(layer.weight.data).max() <= weight
    assert bias * 0.95 <= np.abs(layer.bias.data).max() <= bias


def test_initial_values_are_a_pure_function_of_the_seed():
    """Whatever was drawn before; no two layers share numbers; a tied parameter is drawn once."""
    init.manual_seed(9)
    net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Perceptron(6), nn.Linear(6, 6))
    built = net.state_dict()
    net.initialize(init.normal(), seed=1)
    net.initialize(seed=9)
    for name, array in net.state_dict().items():
        np.testing.assert_array_equal(array, built[name])
    numbers = np.concatenate([np.ravel(p.data) for p in net.parameters()])
    assert len(set(numbers.tolist())) == numbers.size
    a, b, c = (nn.Linear(3, 3, seed=s).weight.data for s in (7, 7, 8))
    np.testing.assert_array_equal(a, b)
    assert not np.isin(a, c).any()
    tied, other = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)), nn.Sequential(nn.Linear(2, 2))
    tied[1].weight = tied[0].weight
    for each in (tied, other):
        each.initialize(seed=0)
    np.testing.assert_array_equal(tied[0].weight.data, other[0].weight.data)


def test_a_plain_function_is_an_initialiser_and_normalisation_stays_at_one_and_zero():
    def ones(shape, fan_in, fan_out, draw):
        return np.full(shape, fan_in * 10 + fan_out)

    net = nn.Sequential(nn.Linear(3, 2), nn.LayerNorm(2), nn.BatchNorm1d(2), nn.Perceptron(4))
    net.initialize(ones)
    assert (set(net[0].weight.data.ravel()), set(net[3].weight.data), net[3].bias.data) == ({32.0}, {41.0}, 0.0)
    assert not net[0].bias.data.any()
    for norm in (net[1], net[2]):
        assert (norm.weight.data == 1).all()
        assert (norm.bias.data == 0).all()


@pytest.mark.parametrize("inner", [False, True])
def test_an_error_with_several_arrays_says_that_they_are_one_sample_and_the_columns_are_a_batch(inner):
    a, b = np.random.default_rng(0).normal(size=(2, 8, 1, 4, 3))

    class Two(nn.Module):
        def __init__(self):
            self.c = nn.Conv2d(1, 2, 2, seed=0)

        def forward(self, a, b):
            return self.c(a) + self.c(b)

    class Joined(Two):
        def forward(self, x):
            a, b = x[..., :12].view(1, 4, 3), x[..., 12:].view(1, 4, 3)
            return self.c(a) + self.c(b)

    class Outer(nn.Module):
        def __init__(self):
            self.two = Two()

        def forward(self, a, b):
            return self.two(a, b)

    with pytest.raises(sv.errors.InputError) as caught:
        (Outer() if inner else Two())(a, b)
    (note,) = caught.value.__notes__
    said = re.search(r"x = (np\.hstack.*?), and cut it.*loss = criterion\(net\(x\), y\)", note)
    found = Joined()(eval(said[1], {"np": np, "a": a, "b": b}))
    np.testing.assert_allclose(found[3], Two()(a[3].tolist(), b[3].tolist()).data, rtol=1e-12)


def test_a_sequential_calls_its_parts_in_the_order_in_which_they_became_attributes():
    """As in PyTorch: by add_module, by assignment, and in a subclass."""
    parts = {"fc1": nn.Linear(3, 8, seed=0), "act": nn.Tanh(), "fc2": nn.Linear(8, 2, seed=1)}
    x = np.random.default_rng(0).normal(size=(4, 3))
    wanted = np.asarray(nn.Sequential(*parts.values())(x))
    added, assigned = nn.Sequential(), nn.Sequential(parts["fc1"], parts["act"])
    for name, part in parts.items():
        added.add_module(name, part)
    assigned.head = parts["fc2"]

    class Own(nn.Sequential):
        def __init__(self):
            super().__init__()
            for name, part in parts.items():
                setattr(self, name, part)

    for net in (added, assigned, Own()):
        assert len(net) == 3
        np.testing.assert_array_equal(net(x), wanted)
    assert len(nn.Network(3, 2, nn.Tanh(), loss=nn.MSELoss())) == 2
