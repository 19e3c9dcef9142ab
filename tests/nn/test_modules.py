"""Modules: layers against PyTorch, names, calls, backward of a part, copies."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Value, Weight, nn
from scalarviz.scalar import tracing

NETS = {
    "linear": lambda: nn.Linear(3, 5),
    "linear_no_bias": lambda: nn.Linear(4, 2, bias=False),
    "wide": lambda: nn.Linear(30, 20),
    "sigmoid": lambda: nn.Sequential(nn.Linear(3, 3), nn.Sigmoid()),
    "tanh": lambda: nn.Sequential(nn.Linear(3, 8), nn.Tanh()),
    "relu": lambda: nn.Sequential(nn.Linear(3, 8), nn.ReLU()),
    "softplus": lambda: nn.Sequential(nn.Linear(3, 8), nn.Softplus()),
    "leaky": lambda: nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(0.2)),
    "identity": lambda: nn.Sequential(nn.Linear(3, 8), nn.Identity()),
    "mlp": lambda: nn.Sequential(
        nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 3), nn.Sigmoid()
    ),
}


def part_of(arrays, net, what):
    prefix = f"{net}/{what}/"
    return {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("way", ["graph", "module"])
def test_forward_and_backward_agree_with_pytorch(oracle, name, way):
    arrays = oracle("layers")
    net = NETS[name]()
    net.load_state_dict(part_of(arrays, name, "param"))
    xs = [Value(x) for x in arrays[f"{name}/x"]]
    out = net(xs)
    np.testing.assert_allclose([y.data for y in out], arrays[f"{name}/y"], rtol=1e-13, atol=1e-15)
    upstream = arrays[f"{name}/upstream"].tolist()
    if way == "graph":
        sv.dot(upstream, out).backward()
        found = [x.grad for x in xs]
    else:
        found = net.backward(upstream)
        assert [x.grad for x in xs] == found
    np.testing.assert_allclose(found, arrays[f"{name}/x.grad"], rtol=1e-12, atol=1e-14)
    for path, wanted in part_of(arrays, name, "grad").items():
        np.testing.assert_allclose(dict(net.named_parameters())[path].grad, wanted, rtol=1e-12, atol=1e-14)


def test_network_and_perceptrons_agree_with_pytorch(oracle):
    arrays = oracle("layers")
    net = nn.Network(3, 3, activation=nn.Sigmoid())
    net.load_state_dict(part_of(arrays, "sigmoid", "param"))
    x = arrays["sigmoid/x"]
    np.testing.assert_allclose([y.data for y in net(x)], arrays["sigmoid/y"], rtol=1e-14)
    np.testing.assert_allclose([p(x).data for p in net.perceptrons], arrays["sigmoid/y"], rtol=1e-14)
    for i in range(3):
        single = nn.Perceptron(3, nn.Sigmoid())
        single.weight.data = net[0].weight[i].data
        single.bias.data = net[0].bias[i].data
        y = single(x)
        y.backward(arrays["sigmoid/upstream"][i])
        assert y.data == pytest.approx(arrays["sigmoid/y"][i], rel=1e-14)
        np.testing.assert_allclose(single.weight.grad, arrays["sigmoid/grad/0.weight"][i], rtol=1e-12)
        assert single.bias.grad == pytest.approx(arrays["sigmoid/grad/0.bias"][i], rel=1e-12)


@pytest.mark.parametrize("name", NETS)
def test_layers_against_finite_differences(name):
    net = NETS[name]()
    net.initialize(nn.init.normal(0.0, 0.5), seed=4)
    points = np.linspace(-0.9, 1.1, next(iter(net.parameters())).shape[1]).tolist()
    assert sv.gradcheck(lambda *xs: sv.sum(net(xs)), *points, tolerance=1e-6)
    parameter = net.parameters()[0]
    net.zero_grad()
    sv.sum(net(points)).backward()
    flat, h = parameter.flat_value, 1e-6
    for i in (0, parameter.numel() // 2, parameter.numel() - 1):
        old, ends = flat[i], []
        for step in (h, -h):
            flat[i] = old + step
            ends.append(sv.sum(net(points)).data)
        flat[i] = old
        assert parameter.flat_grad[i] == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-6, abs=1e-8)


# ---- names


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


# ---- calling


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


def test_passing_owners_are_forgotten():
    layer = nn.Linear(2, 2)
    for _ in range(5):
        nn.Sequential(layer)
    assert len(layer._books.owners) <= 1


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


def test_nothing_is_remembered_while_recording_but_tapped():
    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    with tracing.recording() as recorder:
        out = net([Value(1.0), Value(2.0)])
    assert [m for m, _ in recorder.taps] == [net[0], net[1], net]
    assert recorder.taps[2][1] == out
    with pytest.raises(sv.ScalarvizError, match="call the module"):
        net.backward(1.0)


# ---- freezing, gradients


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


@pytest.mark.parametrize("pattern", ["1.*", "0.wieght", "0.weight[99][0]", ""])
def test_freezing_nothing_is_an_error(pattern):
    with pytest.raises((sv.ScalarvizError, IndexError), match=r"0\.weight"):
        deep().freeze(pattern)


def test_zero_grad_and_accumulation():
    net = nn.Linear(2, 2, seed=0)
    for _ in range(2):
        sv.sum(net([1.0, 2.0])).backward()
    np.testing.assert_array_equal(net.weight.grad, [[2.0, 4.0], [2.0, 4.0]])
    assert net.weight[0][0].has_grad
    net.zero_grad()
    assert not net.weight.grad.any()
    assert not net.weight[0][0].has_grad


# ---- copies and printing


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


def test_activations_name_their_operation():
    kinds = {nn.Sigmoid: "sigmoid", nn.Tanh: "tanh", nn.ReLU: "relu", nn.LeakyReLU: "leaky_relu",
             nn.Softplus: "softplus", nn.Identity: None}  # fmt: skip
    for kind, op in kinds.items():
        assert kind().op == op
        assert [v.data for v in kind()([0.5, -0.5])] == [kind()(0.5).data, kind()(-0.5).data]
