"""Modules: names, calls, backward of a part, copies, buffers, initial values, what they print."""

from __future__ import annotations

import copy
import gc
import math
import pickle
import subprocess
import sys
import weakref

import numpy as np
import pytest

import scalarviz as sv
from kit.layers import LAYERS
from scalarviz import Value, Weight, nn
from scalarviz.nn import init


def deep():
    return nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Sequential(nn.Linear(16, 3), nn.Sigmoid()))


def test_a_weight_knows_its_place():
    net = deep()
    w = net[0].weight[4][2]
    assert w.name == "0.weight[4][2]"
    assert net[0].weight[4][2] is w
    assert net[0].weight[4, 2] is w
    assert net[0].weight[-12][-1] is w
    assert net[2][0].bias[1].name == "2.0.bias[1]"
    assert net[0].weight[4].name == "0.weight[4]"
    assert [n for n, _ in net.named_parameters()] == ["0.weight", "0.bias", "2.0.weight", "2.0.bias"]
    assert [n for n, _ in net.named_modules()] == ["", "0", "1", "2", "2.0", "2.1"]
    assert [m.full_name() for m in net.children()] == ["0", "1", "2"]


def test_names_follow_the_tree_and_need_no_bookkeeping():
    layer = nn.Linear(2, 2)
    assert layer.weight.name == "weight"
    inner = nn.Sequential(nn.ReLU(), layer)
    assert layer.weight.name == "1.weight"
    outer = nn.Sequential(inner)
    assert layer.weight[1][0].name == "0.1.weight[1][0]"
    del outer
    assert layer.weight.name == "1.weight"
    del inner
    assert layer.weight.name == "weight"


def test_a_held_weight_survives_its_network():
    w = nn.Sequential(nn.Linear(2, 2))[0].weight[0][1]
    assert w.name == "[0][1]"
    w.data = 3.0
    assert w.data == 3.0


def test_an_own_module_may_have_a_name_of_its_own():
    class Named(nn.Module):
        def __init__(self):
            self.name = "my model"
            self.w = Weight(1.0)

    assert Named().name == "my model"
    net = nn.Sequential(Named())
    assert net[0].w.name == "0.w"


class Branching(nn.Module):
    def __init__(self):
        self.scale = Weight(2.0)
        self.layers = [nn.Linear(2, 4, seed=1), nn.Linear(4, 1, seed=2)]
        self.table = nn.Parameter(np.ones((2, 2, 2)))
        self.note = "no parameter"
        self.numbers = [1, 2, 3]

    def forward(self, x):
        h = [v.tanh() for v in self.layers[0](x)]
        return self.layers[1](h)[0] * self.scale + self.table[1][0][1]


def test_a_subclass_needs_no_super_init_and_may_keep_lists():
    net = Branching()
    names = ["scale", "table", "layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias"]
    assert [n for n, _ in net.named_parameters()] == names
    assert [p.name for p in net.parameters()] == names
    assert net.table[1][0][1].name == "table[1][0][1]"
    y = net([0.5, -0.5])
    y.backward()
    assert net.scale.grad == pytest.approx((y.data - 1.0) / 2.0)
    assert net.table.grad[1, 0, 1] == 1.0
    assert net.table.grad.sum() == 1.0
    net.layers.append(nn.Linear(1, 1))
    assert len(net.parameters()) == 8
    assert net.layers[2].weight.name == "layers.2.weight"


def test_tied_parameters_come_once_under_their_first_name():
    class Tied(nn.Module):
        def __init__(self):
            self.encode = nn.Linear(3, 3, bias=False)
            self.decode = nn.Linear(3, 3, bias=False)
            self.decode.weight = self.encode.weight

        def forward(self, x):
            return self.decode(self.encode(x))

    net = Tied()
    assert [n for n, _ in net.named_parameters()] == ["encode.weight"]
    assert net.decode.weight.name == "encode.weight"
    assert list(net.state_dict()) == ["encode.weight", "decode.weight"]
    net.load_state_dict(net.state_dict())
    x = np.array([1.0, 2.0, 3.0])
    net.encode.weight.data = np.arange(9.0).reshape(3, 3) / 10
    sv.sum(net(x)).backward()
    w = net.encode.weight.data
    wanted = np.outer(np.ones(3), w @ x) + np.outer(w.T @ np.ones(3), x)
    np.testing.assert_allclose(net.encode.weight.grad, wanted, rtol=1e-14)


def test_one_module_at_two_places_has_its_parameters_once():
    act, layer = nn.Tanh(), nn.Linear(2, 2)
    net = nn.Sequential(layer, act, layer, act)
    assert [n for n, _ in net.named_parameters()] == ["0.weight", "0.bias"]
    assert len(net.parameters()) == 2
    assert len(net) == 4


def test_a_module_that_holds_its_parent_does_not_go_round_for_ever():
    class Child(nn.Module):
        def __init__(self, parent):
            self.parent, self.w = parent, Weight(1.0)

    class Parent(nn.Module):
        def __init__(self):
            self.child = Child(self)

    parent = Parent()
    assert [n for n, _ in parent.named_parameters()] == ["child.w"]
    assert parent.child.w.name.endswith("w")
    assert len(parent.parameters()) == 1


def test_a_network_dies_without_the_collector():
    gc.disable()
    try:
        net = deep()
        sv.sum(net([1, 2, 3])).backward()
        refs = [weakref.ref(net), weakref.ref(net[0]), weakref.ref(net[0].weight)]
        del net
        assert [r() for r in refs] == [None] * 3
    finally:
        gc.enable()


@pytest.mark.parametrize("sample", [[1, 2.0, Value(3.0)], (1.0, 2.0, 3.0), np.array([1, 2, 3]), np.arange(1.0, 4.0)])
def test_samples_of_any_kind(sample):
    net = nn.Linear(3, 2, seed=0)
    assert [y.data for y in net(sample)] == [y.data for y in net([1.0, 2.0, 3.0])]


def test_a_single_number_is_a_sample_of_one():
    layer = nn.Linear(1, 2, seed=0)
    assert layer(3.0)[1].data == layer([3.0])[1].data
    assert isinstance(nn.Tanh()(0.5), Value)
    assert nn.Perceptron(1, seed=0)(2.0).data == nn.Perceptron(1, seed=0)([2.0]).data


def test_several_inputs_reach_forward():
    class Sum(nn.Module):
        def forward(self, x, y):
            return [a * y for a in x]

    module = Sum()
    assert [v.data for v in module([1.0, 2.0], 3.0)] == [3.0, 6.0]
    assert module.backward(1.0) == [3.0, 3.0, 3.0]


def test_backward_of_a_module_stops_at_its_inputs():
    net = nn.Sequential(nn.Linear(2, 3, seed=0), nn.Tanh(), nn.Linear(3, 1, seed=1))
    x = [Value(0.5), Value(-0.25)]
    net(x)[0].backward()
    whole = {n: p.grad.copy() for n, p in net.named_parameters()}
    wanted = [v.grad for v in x]
    net.zero_grad()
    g = net[2].backward([1.0])
    assert net[0].weight.grad.sum() == 0.0  # not further
    g = net[1].backward(g)
    g = net[0].backward(g)
    np.testing.assert_allclose(g, wanted, rtol=1e-15)
    for name, p in net.named_parameters():
        np.testing.assert_allclose(p.grad, whole[name], rtol=1e-15)


def test_backward_with_one_value_at_two_inputs_adds_up_to_its_gradient():
    layer = nn.Linear(2, 1, seed=0)
    x = Value(1.0)
    layer([x, x])
    found = layer.backward([1.0])
    assert sum(found) == pytest.approx(layer.weight.data.sum())
    assert x.grad == pytest.approx(layer.weight.data.sum())


def test_leaf_inputs_accumulate_over_backward_calls_and_inner_ones_do_not():
    layer = nn.Linear(2, 1, seed=0)
    x, inner = Value(1.0), Value(2.0).tanh()
    layer([x, inner])
    first = layer.backward([1.0])
    assert layer.backward([1.0]) == first
    np.testing.assert_allclose([x.grad, inner.grad], [2 * first[0], first[1]])


def test_backward_through_an_identity_and_a_returned_parameter():
    class Odd(nn.Module):
        def __init__(self):
            self.w = Weight(3.0)

        def forward(self, x):
            return [x[0], self.w, x[0]]

    module = Odd()
    module([2.0])
    assert module.backward([1.0, 5.0, 10.0]) == [11.0]
    assert module.w.grad == 5.0


def test_changing_the_returned_list_does_not_change_what_backward_walks():
    net = nn.Linear(2, 2, seed=0)
    out = net([1.0, 2.0])
    out.clear()
    assert len(net.backward([1.0, 1.0])) == 2


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
    assert net[0].weight.frozen_flags.sum() == 1
    assert not net[0].weight.frozen
    net.freeze("0.weight[5]")
    assert net[0].weight[5].frozen
    net.freeze()
    assert all(p.frozen for p in net.parameters())


def test_zero_grad_and_accumulation():
    net = nn.Linear(2, 2, seed=0)
    for _ in range(2):
        sv.sum(net([1.0, 2.0])).backward()
    np.testing.assert_array_equal(net.weight.grad, [[2.0, 4.0], [2.0, 4.0]])
    assert net.weight[0][0].has_grad
    net.zero_grad()
    assert not net.weight.grad.any()
    assert not net.weight[0][0].has_grad


def test_a_deep_copy_has_weights_of_its_own():
    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
    net[2].weight = net[2].weight
    net.freeze("0.bias")
    twin = copy.deepcopy(net)
    assert twin[0].weight is not net[0].weight
    twin[0].weight.data = np.zeros((2, 2))
    assert net[0].weight.data.any()
    assert twin[0].weight[1][0].name == "0.weight[1][0]"
    assert twin[0].bias.frozen
    del net
    assert twin[2].weight.name == "2.weight"


def test_a_deep_copy_keeps_ties():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    twin = copy.deepcopy(net)
    assert twin[1].weight is twin[0].weight


def test_a_pickled_network_comes_back_whole():
    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), Branching())
    net[0].weight = nn.Parameter(net[0].weight.data)
    net.freeze("0.bias")
    sv.sum(net[0]([1.0, 2.0])).backward()
    for twin in (pickle.loads(pickle.dumps(net)), copy.copy(net)):
        assert list(twin.state_dict()) == list(net.state_dict())
        for name, array in net.state_dict().items():
            np.testing.assert_array_equal(twin.state_dict()[name], array)
        assert twin([0.5, 0.25]).data == net([0.5, 0.25]).data
        assert twin[0].bias.frozen
        np.testing.assert_array_equal(twin[0].weight.grad, net[0].weight.grad)
    revived = pickle.loads(pickle.dumps(net))
    assert revived[2].scale.name == "2.scale"


def test_a_slice_of_a_sequential_shares_its_modules():
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    head = net[:2]
    assert isinstance(head, nn.Sequential)
    assert head[0] is net[0]
    assert len(net[1:]) == 2
    assert net[0].weight.name == "0.weight"
    assert net[1:][1].weight.name == "2.weight"  # the first owner names it


def test_modules_print_as_in_pytorch():
    assert repr(nn.Sequential(nn.Linear(3, 16), nn.LeakyReLU(0.2), nn.Sequential(nn.Tanh()))) == (
        "Sequential(\n  (0): Linear(in_features=3, out_features=16, bias=True)\n"
        "  (1): LeakyReLU(negative_slope=0.2)\n  (2): Sequential(\n    (0): Tanh()\n  )\n)"
    )
    assert repr(nn.Perceptron(3, nn.Sigmoid())) == "Perceptron(\n  3, bias=True\n  (activation): Sigmoid()\n)"
    assert repr(nn.Perceptron(2, bias=False)) == "Perceptron(2, activation=None, bias=False)"
    assert "(scale): Weight 2" in repr(Branching())
    assert "(table): Parameter of shape (2, 2, 2)" in repr(Branching())


def test_a_network_prints_the_lessons_tree():
    net = nn.Network(2, 2, activation=nn.Sigmoid(), loss=nn.MSELoss(), init=nn.init.uniform(0.5, 0.5))
    assert (
        str(net)
        == """\
network 2 -> 2
├─ perceptron 0
│  ├─ weights     +0.5000  +0.5000
│  ├─ bias        +0.0000
│  ├─ summation   z = Σ w·x + b
│  └─ activation  Sigmoid()
├─ perceptron 1
│  ├─ weights     +0.5000  +0.5000
│  ├─ bias        +0.0000
│  ├─ summation   z = Σ w·x + b
│  └─ activation  Sigmoid()
└─ loss        MSELoss(reduction='mean', factor=1)"""
    )
    assert "... 92 more perceptrons" in str(nn.Network(20, 100))
    assert "... 12 more" in str(nn.Network(20, 100))


def test_perceptrons_of_a_network_are_views():
    net = nn.Network(3, 3, activation=nn.Sigmoid())
    assert list(net.state_dict()) == list(nn.Sequential(nn.Linear(3, 3), nn.Sigmoid()).state_dict())
    unit = net.perceptrons[1]
    unit.weight[2].data = 7.0
    unit.bias.data = -1.0
    assert net[0].weight.data[1, 2] == 7.0
    assert net.state_dict()["0.bias"][1] == -1.0
    assert unit.bias.name == "0.bias[1]"
    assert [w.name for w in unit.parameters()] == ["0.weight[1][0]", "0.weight[1][1]", "0.weight[1][2]", "0.bias[1]"]
    assert len(net.perceptrons) == 3
    assert len(net.perceptrons[:2]) == 2
    assert net.perceptrons[-1].index == 2
    with pytest.raises(IndexError, match="no number 3"):
        net.perceptrons[3]
    unit([1.0, 2.0, 3.0]).backward()
    assert net[0].weight.grad[1].any()
    assert not net[0].weight.grad[[0, 2]].any()
    plain = nn.Network(2, 1, bias=False)
    assert plain.perceptrons[0].bias is None
    assert plain.perceptrons[0]([1.0, 1.0]).data == pytest.approx(plain[0].weight.data.sum())


class Held(nn.Module):
    def __init__(self):
        self.w = [[sv.Weight(1.0), sv.Weight(2.0)], [sv.Weight(3.0)]]
        self.deep = ([[nn.Linear(1, 1, seed=0)]],)
        self.data = [[0.5] * 10] * 1000  # no parts

    def forward(self, x):
        return x[0]


def test_lists_of_lists_hold_parts():
    net = Held()
    names = ["w.0.0", "w.0.1", "w.1.0", "deep.0.0.0.weight", "deep.0.0.0.bias"]
    assert [name for name, _ in net.named_parameters()] == names == list(net.state_dict())
    assert net.w[1][0].name == "w.1.0"
    assert net.deep[0][0][0].full_name() == "deep.0.0.0"
    assert net.deep[0][0][0].weight.name == "deep.0.0.0.weight"
    assert [p.data for p in net.parameters()[:3]] == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copies_name_their_own(twin):
    net = twin(Held())
    assert net.w[0][1].name == "w.0.1"
    net.load_state_dict({name: np.zeros_like(part) for name, part in net.state_dict().items()})
    assert net.w[1][0].data == 0.0


def test_a_part_that_moves_has_its_new_name():
    net = Held()
    first, last = net.w[0][0], net.w[1][0]
    assert (first.name, last.name) == ("w.0.0", "w.1.0")
    net.w[0].insert(0, sv.Weight(9.0))
    net.w.pop()
    net.parameters()
    assert first.name == "w.0.1"
    assert last.name == "", "nobody holds it"
    net.other = last
    assert last.name == "other"
    del net.w
    assert first.name == ""


def test_an_initialiser_leaves_normalisation_at_one_and_zero():
    net = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.BatchNorm1d(4))
    net.initialize(nn.init.normal(), seed=5)
    for norm in (net[1], net[2]):
        assert (norm.weight.data == 1).all()
        assert (norm.bias.data == 0).all()
    plain = nn.Sequential(nn.Linear(3, 4))
    plain.initialize(nn.init.normal(), seed=5)
    np.testing.assert_array_equal(plain[0].weight.data, net[0].weight.data)


def test_the_flag_reaches_the_whole_tree_and_survives_copies():
    net = nn.Sequential(nn.Sequential(nn.Tanh()), nn.Linear(1, 1)).eval()
    for twin in (net, copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert [m.training for _, m in twin.named_modules()] == [False] * 4
    net[0].train()
    assert [m.training for _, m in net.named_modules()] == [False, True, True, False]


class Scaled(nn.Module):
    def __init__(self):
        self.register_buffer("scale", [2.0, 3.0])
        self.register_buffer("count", np.array(4, np.int64))
        self.w = sv.Weight(1.5)

    def forward(self, x):
        return [self.w * v * s for v, s in zip(x, self.scale.tolist(), strict=True)]


def test_buffers_are_kept_but_not_trained():
    net = nn.Sequential(Scaled())
    assert [n for n, _ in net.named_parameters()] == ["0.w"]
    assert [n for n, _ in net.named_buffers()] == ["0.scale", "0.count"]
    assert list(net.state_dict()) == ["0.w", "0.scale", "0.count"]
    state = {"0.w": 2.0, "0.scale": [5.0, 6.0], "0.count": 7}
    net.load_state_dict(state)
    assert net[0].count.dtype == np.int64
    for twin in (net, copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert twin[0].scale.tolist() == [5.0, 6.0]
        assert int(twin.state_dict()["0.count"]) == 7
    twin = copy.deepcopy(net)
    twin[0].scale[0] = 0.0
    assert net[0].scale[0] == 5.0
    state = net.state_dict()
    state["0.scale"][0] = -1.0
    assert net[0].scale[0] == 5.0
    net[0].scale = np.array([1.0, 2.0])  # still the buffer
    assert net.state_dict()["0.scale"].tolist() == [1.0, 2.0]


def test_modules_and_apply():
    net = nn.Sequential(nn.Linear(2, 3, seed=0), nn.Sequential(nn.Tanh(), nn.Linear(3, 1, seed=1)))
    order = []
    assert net.apply(order.append) is net
    assert order == [net[0], net[1][0], net[1][1], net[1], net]  # as PyTorch: what is below first
    assert [name for name, _ in net.named_children()] == ["0", "1"]
    net.add_module("last", nn.ReLU())
    assert [type(part) for _, part in net.named_children()][2] is nn.ReLU
    del net.last
    assert list(net.modules()) == [net, net[0], net[1], net[1][0], net[1][1]]
    assert copy.deepcopy(net)[0].weight.data.tolist() == net[0].weight.data.tolist()
    assert pickle.loads(pickle.dumps(net))[1][1].bias.data.tolist() == net[1][1].bias.data.tolist()


# ---- every weight of a network

NET = nn.Sequential(nn.Linear(2, 3, seed=0), nn.Tanh(), nn.Linear(3, 1, seed=1))


def test_weights_are_all_weights_in_order():
    weights = NET.weights()
    named = [w for p in NET.parameters() for w in (p.weight(i) for i in range(p.size))]
    assert list(weights) == named == [weights[i] for i in range(len(weights))]
    assert len(weights) == 2 * 3 + 3 + 3 + 1
    assert weights[-1] is named[-1]
    assert weights[2:5] == named[2:5]
    assert [w.name for w in weights][:3] == ["0.weight[0][0]", "0.weight[0][1]", "0.weight[1][0]"]
    assert repr(weights) == "<13 weights of 4 parameters>"


def test_weights_of_hand_made_parts():
    class Line(nn.Module):
        def __init__(self):
            self.slope, self.offsets = Weight(2.0), [Weight(1.0), Weight(3.0)]
            self.table = nn.Parameter([[5.0, 6.0]])

        def forward(self, x):
            return self.slope * x

    line = Line()
    assert [w.data for w in line.weights()] == [2.0, 1.0, 3.0, 5.0, 6.0]
    assert line.weights()[1] is line.offsets[0]
    assert len(nn.Tanh().weights()) == 0


def test_a_penalty_that_is_typed():
    total = sum(w * w for w in NET.weights())
    assert total.data == pytest.approx(sum(float((p.data**2).sum()) for p in NET.parameters()))
    NET.zero_grad()
    total.backward()
    for p in NET.parameters():
        np.testing.assert_array_equal(p.grad, 2 * p.data)


# ---- initial values


RULES = {
    "default": init.pytorch_default(), "xavier": init.xavier_uniform(), "kaiming": init.kaiming_uniform(),
    "normal": init.normal(0.5, 2.0), "uniform": init.uniform(-1.0, 3.0),
}  # fmt: skip


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


@pytest.mark.ci
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


def test_initialisers_print_their_numbers():
    assert repr(init.uniform(0, 1)) == "uniform(0, 1)"
    assert repr(init.kaiming_uniform()) == "kaiming_uniform(gain=1.41421)"


@pytest.mark.parametrize("name", [n for n in LAYERS if n.startswith(("linear", "conv", "layer norm", "rms", "group"))])
def test_no_object_is_made_for_a_weight(name):
    module = LAYERS[name].ours()
    module(LAYERS[name].sample())
    assert [w for p in module.parameters() for w in p.held()] == []


# ---- running statistics

NAMES = ["running_mean", "running_var", "num_batches_tracked"]


def test_running_statistics_are_arrays_of_the_module():
    norm = nn.BatchNorm1d(2)
    assert [n for n, _ in norm.named_parameters()] == ["weight", "bias"]
    assert [n for n, _ in norm.named_buffers("net")] == [f"net.{name}" for name in NAMES]
    assert [(a.shape, a.dtype) for a in norm.buffers()] == [((2,), float), ((2,), float), ((), np.int64)]
    given = np.array([1.0, 2.0])
    norm.running_mean = given
    given[0] = 9.0
    assert norm.running_mean.tolist() == [1.0, 2.0]
    norm.running_mean[0] = 3.0
    norm.running_mean += 1
    assert norm.running_mean.tolist() == [4.0, 3.0]
    norm.num_batches_tracked += 1
    assert (int(norm.num_batches_tracked), norm.num_batches_tracked.dtype) == (1, np.int64)
    with pytest.raises(TypeError):
        norm.num_batches_tracked[...] = 5
    with pytest.raises(ValueError, match="read-only"):
        norm.buffers()[2][...] = 5
    norm.reset_running_stats()
    assert [a.tolist() for a in norm.buffers()] == [[0, 0], [1, 1], 0]
    plain = nn.BatchNorm1d(2, track_running_stats=False)
    assert (plain.running_mean, plain.running_var, plain.num_batches_tracked) == (None, None, None)
    assert list(plain.state_dict()) == ["weight", "bias"]
    assert plain.buffers() == []


def test_copies_and_pickles_have_their_own():
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    net[1].running_var, net[1].num_batches_tracked = [2.0, 3.0], 4
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert [a.tolist() for a in twin.buffers()] == [[0, 0], [2, 3], 4]
        twin[1].running_var[0] = 0.0
        assert net[1].running_var.tolist() == [2.0, 3.0]
        twin[1].reset_running_stats()
        assert [a.tolist() for a in twin.buffers()] == [[0, 0], [1, 1], 0]
    tied = nn.Sequential(net[1], net[1])
    assert [n for n, _ in tied.named_buffers()] == [f"0.{name}" for name in NAMES]
    assert len(list(tied.named_buffers(remove_duplicate=False))) == 6
    assert [n for n in tied.state_dict() if "running_var" in n] == ["0.running_var", "1.running_var"]


def test_no_gradient_goes_to_running_statistics():
    norm = nn.BatchNorm1d(2).eval()
    sum(norm([1.0, 2.0])).backward()
    assert not any(part.computed.any() for part in nn.buffer_blocks(norm).values())
    assert norm.weight.grad.any()
