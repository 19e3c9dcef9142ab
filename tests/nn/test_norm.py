"""Normalisation against PyTorch and finite differences; buffers and the training flag."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.scalar.nested import flatten
from scalarviz.tape import lower, record

NETS = {
    "layer_norm": lambda: nn.LayerNorm(5),
    "layer_norm_inner": lambda: nn.LayerNorm((2, 3), eps=0.1),
    "layer_norm_plain": lambda: nn.LayerNorm(4, elementwise_affine=False),
    "layer_norm_no_bias": lambda: nn.LayerNorm(4, bias=False),
    "batch_norm1d": lambda: nn.BatchNorm1d(4),
    "batch_norm1d_long": lambda: nn.BatchNorm1d(3, eps=0.01),
    "batch_norm2d": lambda: nn.BatchNorm2d(3),
    "batch_norm2d_plain": lambda: nn.BatchNorm2d(2, affine=False),
}


@pytest.mark.parametrize("name", NETS)
def test_values_and_gradients_agree_with_pytorch(oracle, compare, name):
    compare(oracle("pictures"), name, NETS[name]())


@pytest.mark.parametrize("name", NETS)
def test_the_state_has_pytorchs_names_order_and_shapes(oracle, name):
    prefix = f"{name}/param/"
    wanted = {k.removeprefix(prefix): a for k, a in oracle("pictures").items() if k.startswith(prefix)}
    found = NETS[name]().state_dict()
    assert list(found) == list(wanted)
    assert {k: (a.shape, a.dtype) for k, a in found.items()} == {k: (a.shape, a.dtype) for k, a in wanted.items()}


def test_finite_differences():
    norm = nn.LayerNorm(4)
    norm.weight.data, norm.bias.data = [0.5, -1.0, 2.0, 0.1], [0.0, 1.0, 2.0, 3.0]
    assert sv.gradcheck(lambda *xs: sv.dot([1.0, -2.0, 0.3, 0.7], norm(xs)), 0.3, -0.4, 1.2, 0.5)


def test_equal_numbers_and_large_ones():
    assert [y.data for y in nn.LayerNorm(3)([5.0, 5.0, 5.0])] == [0.0, 0.0, 0.0]
    found = [y.data for y in nn.LayerNorm(2, eps=0)([1e8, 1e8 + 2])]
    assert found == [-1.0, 1.0]  # a variance as mean of squares minus square of mean would be 0 here


def test_no_object_is_made_for_a_weight():
    norm = nn.LayerNorm(50)
    norm(np.arange(50.0))
    assert norm.weight.held() == []


def test_an_initialiser_leaves_normalisation_at_one_and_zero():
    net = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.BatchNorm1d(4))
    net.initialize(nn.init.normal(), seed=5)
    for norm in (net[1], net[2]):
        assert (norm.weight.data == 1).all()
        assert (norm.bias.data == 0).all()
    plain = nn.Sequential(nn.Linear(3, 4))
    plain.initialize(nn.init.normal(), seed=5)
    np.testing.assert_array_equal(plain[0].weight.data, net[0].weight.data)


# ---- the training flag


def test_the_flag_reaches_the_whole_tree_and_survives_copies():
    net = nn.Sequential(nn.Sequential(nn.Tanh()), nn.Linear(1, 1)).eval()
    for twin in (net, copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert [m.training for _, m in twin.named_modules()] == [False] * 4
    net[0].train()
    assert [m.training for _, m in net.named_modules()] == [False, True, True, False]


def test_batch_normalisation_costs_one_sum_a_number():
    """Factor and summand of a channel depend on parameters alone: once a step, not once a lane."""
    net = nn.Sequential(nn.Unflatten((2, 2, 3)), nn.BatchNorm2d(2)).eval()
    plan = lower(record(net, 12))
    assert plan.n_derived == 4
    assert all(i.bias >= 4 for i in plan.body.instructions)
    assert [(i.kind, i.count, i.args.shape) for i in plan.body.instructions] == [("conv", 6, (6, 1))] * 2


# ---- buffers


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


def test_bad_buffers_are_refused():
    net = Scaled()
    for name, text in (
        ("w", "exists already"),
        ("forward", "exists already"),
        ("a b", "identifier"),
        (3, "must be a text"),
    ):
        with pytest.raises(sv.ScalarvizError, match=text):
            net.register_buffer(name, [1.0])
    with pytest.raises(sv.ScalarvizError, match="must be an array of real numbers"):
        net.register_buffer("text", ["a"])
    net.register_buffer("scale", [1.0])  # anew
    with pytest.raises(sv.ScalarvizError, match=r"scale has shape \(1,\), got an array of shape \(2,\)"):
        net.load_state_dict({"w": 1.0, "scale": [1.0, 2.0], "count": 1})
    with pytest.raises(sv.ScalarvizError, match="missing: scale, count"):
        net.load_state_dict({"w": 1.0})


def test_a_run_saves_the_running_statistics_and_takes_those_of_a_file(tmp_path):
    def made(scale):
        net = nn.Sequential(nn.Linear(2, 3, seed=1), nn.BatchNorm1d(3)).eval()
        net[1].running_var[:] = scale
        data = np.random.default_rng(0).random((6, 2)), np.ones((6, 3))
        return net, Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data, engine="numpy", dtype="float64")

    net, run = made(2.0)
    run.step(3)
    assert net[1].running_var.tolist() == [2.0] * 3
    run.save(tmp_path / "a.safetensors")
    net.load_state_dict(sv.io.load_tensors(tmp_path / "a.safetensors")[0], strict=False)
    assert "1.running_var" in run.state_dict()
    _, other = made(2.0)
    other.load(tmp_path / "a.safetensors")
    np.testing.assert_array_equal(other.frame().values, run.frame().values)
    _, third = made(1.0)
    third.load(tmp_path / "a.safetensors")
    np.testing.assert_array_equal(third.frame().values, run.frame().values)
    x = np.random.default_rng(1).random((3, 2))
    np.testing.assert_array_equal(third.predict(x), run.predict(x))


def test_an_array_of_a_module_is_a_constant_of_a_run(tmp_path):
    def made(scale):
        net = Scaled()
        net.scale[0] = scale
        data = np.ones((6, 2)), np.ones((6, 2))
        return Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data, engine="numpy", dtype="float64")

    run, other = made(2.0), made(1.0)
    run.step(3)
    run.save(tmp_path / "a.safetensors")
    before = other.frame().values
    with pytest.raises(sv.ScalarvizError, match="scale differ from the model's"):
        other.load(tmp_path / "a.safetensors")
    np.testing.assert_array_equal(other.frame().values, before)


BAD = [
    (lambda: nn.LayerNorm(0), "LayerNorm: a side of normalized_shape must be a whole number >= 1"),
    (lambda: nn.LayerNorm(()), "at least one side"),
    (lambda: nn.LayerNorm(3, eps=-1), "LayerNorm: eps must be a finite number >= 0, got -1"),
    (lambda: nn.LayerNorm(3, eps=math.nan), "eps"),
    (lambda: nn.LayerNorm(3)([1.0, 2.0]), r"LayerNorm\(\(3,\)\) takes inputs whose shape ends in \(3,\), got \(2,\)"),
    (lambda: nn.LayerNorm((2, 3))(np.ones((3, 2))), r"ends in \(2, 3\), got \(3, 2\)"),
    (lambda: nn.LayerNorm(1)(2.0), r"got \(\)"),
    (lambda: nn.BatchNorm1d(-1), "BatchNorm1d: num_features"),
    (lambda: nn.BatchNorm2d(3, eps="x"), "BatchNorm2d: eps must be a number"),
    (lambda: nn.BatchNorm2d(3).eval()(np.ones((2, 4, 4))),
     r"BatchNorm2d\(3\) takes a sample of shape \(3, H, W\), or N of them; got \(2, 4, 4\)"),
    (lambda: nn.BatchNorm2d(3).eval()(np.ones(3)), r"got \(3,\)"),
    (lambda: nn.BatchNorm1d(3).eval()(np.ones((2, 2, 2))),
     r"of shape \(3,\) or \(3, L\), or N of them; got \(2, 2, 2\)"),
]  # fmt: skip


@pytest.mark.parametrize(("attempt", "text"), BAD)
def test_bad_input_names_the_layer_and_both_shapes(attempt, text):
    with pytest.raises(sv.ScalarvizError, match=text):
        attempt()


def test_a_negative_running_variance_gives_nan_and_no_exception():
    norm = nn.BatchNorm1d(2).eval()
    norm.running_var[0] = -1.0
    a, b = flatten(norm([1.0, 2.0]))
    assert math.isnan(a.data)
    assert math.isfinite(b.data)
