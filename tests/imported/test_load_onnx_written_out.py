"""Layers that files write as several nodes come back as layers; ids that are floats choose rows."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper, numpy_helper
from onnx_models import Made, agrees

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import ScalarvizError
from scalarviz.imported.network import Chain, Imported
from scalarviz.scalar.nested import flatten


def drawn(*shape, seed=5):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def fixed(made, numbers):
    """A ``Constant`` node, which is part of a formula."""
    return made.node("Constant", value=numpy_helper.from_array(np.asarray(numbers, np.float32)))


def cast(made, x, kind):
    """A ``Cast``; `Made.node` has its own meaning of "to"."""
    made.nodes.append(helper.make_node("Cast", [x], [f"cast{len(made.nodes)}"], to=kind))
    return made.nodes[-1].output[0]


def group_norm(made, x, groups, weights, channels):
    """As PyTorch's exporter writes it."""
    h = made.node("Reshape", x, made.constant("apart", np.array([0, groups, -1])), name="/norm/Reshape")
    h = made.node("InstanceNormalization", h, fixed(made, [1.0] * groups), fixed(made, [0.0] * groups), epsilon=1e-3)
    h = made.node("Reshape", h, made.node("Shape", x))
    shape = (channels, 1, 1)
    if not weights:
        return made.node("Add", made.node("Mul", h, fixed(made, np.ones(shape))), fixed(made, np.zeros(shape)))
    h = made.node("Mul", h, made.weight("norm.weight", *shape, shift=1.0))
    return made.node("Add", made.weight("norm.bias", *shape), h)


@pytest.mark.parametrize(("groups", "weights"), [(1, True), (2, True), (4, True), (2, False)])
def test_a_group_norm_is_one(tmp_path, groups, weights):
    made = Made(("N", 2, 3, 5))
    h = made.node("Conv", "x", made.weight("conv.weight", 4, 2, 1, 1), name="/conv/Conv")
    made.node("Relu", group_norm(made, h, groups, weights, 4), to="y")
    path = made.save(tmp_path, "y")
    net = sv.load_onnx(path)
    assert type(net) is Chain
    assert [str(part) for part in net][1] == str(nn.GroupNorm(groups, 4, 1e-3, affine=weights))
    assert list(net.state_dict()) == ["conv.weight", *["norm.weight", "norm.bias"] * weights]
    agrees(net, path, drawn(3, 2, 3, 5))


def test_a_factor_of_the_last_axis_is_none_of_the_channels(tmp_path):
    made = Made(("N", 4, 4))
    h = made.node("Reshape", "x", made.constant("apart", np.array([0, 2, -1])))
    h = made.node("InstanceNormalization", h, fixed(made, [1.0, 1.0]), fixed(made, [0.0, 0.0]))
    h = made.node("Reshape", h, made.constant("back", np.array([0, 4, 4])))
    made.node("Add", made.node("Mul", h, made.weight("a", 4)), made.weight("b", 4), to="y")
    path = made.save(tmp_path, "y")
    net = sv.load_onnx(path)
    assert [type(part).__name__ for part in net.modules()] == ["Imported", "GroupNorm"]
    agrees(net, path, drawn(3, 4, 4))


def root(made, x, how):
    squares = made.node("Mul", x, x) if how == "Div" else made.node("Pow", x, fixed(made, 2.0))
    mean = made.node("ReduceMean", squares, axes=[-1] if how != "plane" else [1, 2], keepdims=1)
    h = made.node("Sqrt", made.node("Add", mean, fixed(made, 1e-3)))
    if how == "Div":
        return made.node("Div", x, h)
    one = made.node("Reciprocal", h) if how == "plane" else made.node("Div", fixed(made, 1.0), h)
    return made.node("Mul", x, one)


@pytest.mark.parametrize("how", ["Div", "one by it", "plane"])
@pytest.mark.parametrize("weights", [True, False])
def test_a_norm_by_the_root_of_squares_is_one(tmp_path, how, weights):
    made = Made(("N", 3, 4))
    over = (3, 4) if how == "plane" else (4,)
    h = root(made, made.node("Tanh", "x"), how)
    h = made.node("Mul", made.weight("norm.weight", *over), h) if weights else h
    made.node("Relu", h, to="y")
    path = made.save(tmp_path, "y")
    net = sv.load_onnx(path)
    assert [str(part) for part in net][1] == str(nn.RMSNorm(over, 1e-3, elementwise_affine=weights))
    assert list(net.state_dict()) == ["norm.weight"] * weights
    agrees(net, path, drawn(3, 3, 4))


def test_the_standards_own_norm_by_squares_is_the_layer(tmp_path):
    made = Made(("N", 3, 4), opset=23)
    made.node("RMSNormalization", made.node("Tanh", "x"), made.weight("norm.weight", 4), epsilon=1e-3, to="y")
    path = made.save(tmp_path, "y")
    net = sv.load_onnx(path)
    assert [str(part) for part in net][1] == str(nn.RMSNorm(4, 1e-3))
    agrees(net, path, drawn(3, 3, 4))


def bend(made, x, how):
    """The numbers whose tanh bends GELU, in three of the ways in which libraries write them."""
    cubes, root_of = fixed(made, 0.044715), fixed(made, 0.7978845608)
    if how == "power":
        cube = made.node("Mul", made.node("Pow", x, fixed(made, 3.0)), cubes)
        return made.node("Mul", made.node("Add", x, cube), root_of)
    square = made.node("Mul", x, x)
    if how == "product":
        return made.node("Mul", root_of, made.node("Add", x, made.node("Mul", made.node("Mul", cubes, x), square)))
    more = made.node("Add", fixed(made, 1.0 if how == "factor" else 1.1), made.node("Mul", square, cubes))
    return made.node("Mul", made.node("Mul", x, root_of), more)


@pytest.mark.parametrize("how", ["power", "product", "factor", "another"])
def test_gelu_by_tanh_is_one_however_it_is_multiplied_out(tmp_path, how):
    made = Made(("N", 4))
    h = made.node("Gemm", "x", made.weight("fc.weight", 4, 4), transB=1, name="/fc/Gemm")
    plus = made.node("Add", made.node("Tanh", bend(made, h, how)), fixed(made, 1.0))
    half = fixed(made, 0.5)
    product = made.node("Mul", made.node("Mul", h, half), plus) if how == "power" else made.node(
        "Mul", half, made.node("Mul", plus, h))  # fmt: skip
    made.node("Relu", product, to="y")
    path = made.save(tmp_path, "y")
    net = sv.load_onnx(path)
    assert type(net) is (Imported if how == "another" else Chain)
    assert (str(nn.GELU("tanh")) in map(str, net.modules())) == (how != "another")
    agrees(net, path, drawn(3, 4))


def test_the_logarithm_of_a_sigmoid_is_a_layer_that_does_not_overflow(tmp_path):
    made = Made(("N", 4))
    made.node("Log", made.node("Sigmoid", "x"), to="y")
    path = made.save(tmp_path, "y")
    net = sv.load_onnx(path)
    assert type(net[0]) is nn.LogSigmoid
    agrees(net, path, drawn(3, 4))
    assert net([-800.0, 0.0, 0.0, 0.0])[0].data == -800.0


def test_rows_as_long_as_there_are_channels_are_normalised_by_hand_and_in_training(tmp_path):
    made = Made(("N", 4, 4))
    h = made.node("Tanh", "x")
    names = [made.constant(f"bn.{part}", np.abs(drawn(4)) + np.float32(0.5))
             for part in ("weight", "bias", "running_mean", "running_var")]  # fmt: skip
    made.node("BatchNormalization", h, *names, to="y")
    path = made.save(tmp_path, "y")
    net = sv.load_onnx(path)
    assert type(net.bn) is nn.BatchNorm1d
    x = drawn(3, 4, 4)
    wanted = agrees(net, path, x)
    with sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), 0.1), (x, wanted.reshape(3, -1)),
                engine="numpy") as run:  # fmt: skip
        np.testing.assert_allclose(run.predict(x), wanted.reshape(3, -1), rtol=1e-5, atol=1e-6)


# ---- ids


def ids(made, operator):
    """Floats that are cast to choose rows of a table, or to be written as zeros and a one."""
    h = cast(made, made.node("Unsqueeze", "x", made.constant("axes", np.array([2]))), 7)
    if operator == "Gather":
        return made.node("Gather", made.weight("table", 5, 3), h, to="y")
    return made.node("OneHot", h, made.constant("depth", np.array(5)), made.constant("pair", drawn(2)), to="y")


@pytest.mark.parametrize("operator", ["Gather", "OneHot"])
def test_floats_that_are_only_ids_are_cast(tmp_path, operator):
    made = Made(("N", 2))
    ids(made, operator)
    path = made.save(tmp_path, "y")
    net = sv.load_onnx(path)
    x = np.array([[0, 1], [2, 3], [4, 4]], np.float32)
    wanted = agrees(net, path, x).reshape(3, -1)
    head = nn.Linear(wanted.shape[1], 2, seed=0)
    whole = nn.Sequential(net, nn.Flatten(), head)
    expected = wanted @ np.array(head.weight.data).T + np.array(head.bias.data)
    with sv.Run(whole, nn.MSELoss(), optim.SGD(head.parameters(), 0.1), (x, drawn(3, 2)), engine="numpy") as run:
        np.testing.assert_allclose(run.predict(x), expected, rtol=1e-5, atol=1e-6)


def test_one_hot_cuts_off_and_a_table_has_no_row_between_two(tmp_path):
    made = Made(("N", 2))
    ids(made, "OneHot")
    path = made.save(tmp_path, "y")
    agrees(sv.load_onnx(path), path, np.array([[0.5, 1.25], [2.75, 3.0]], np.float32))
    made = Made(("N", 2))
    ids(made, "Gather")
    with pytest.raises(ScalarvizError, match=r"no row 0\.5"):
        sv.load_onnx(made.save(tmp_path, "y"))([0.5, 1.0])


def test_rows_are_chosen_along_any_axis(tmp_path):
    made = Made(("N", 2), dtype=np.int64)
    made.node("Transpose", made.node("Gather", made.weight("table", 3, 5, 2), "x", axis=1), perm=[1, 2, 0, 3], to="y")
    path = made.save(tmp_path, "y")
    net = sv.load_onnx(path)
    agrees(net, path, np.array([[0, 1], [2, 3], [4, 4]]))
    sum(flatten(net([1, 3])), sv.Value(0.0)).backward()
    wanted = np.zeros((3, 5, 2))
    wanted[:, [1, 3]] = 1.0
    np.testing.assert_array_equal(net.table.grad, wanted)
