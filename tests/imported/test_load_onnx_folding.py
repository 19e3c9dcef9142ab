"""What a file computes of sides and masks is known before it runs, and no part of the network."""

from __future__ import annotations

import numpy as np
from onnx_models import Made, agrees

import scalarviz as sv
from scalarviz.imported.network import Chain


def drawn(*shape):
    return np.random.default_rng(7).normal(size=shape).astype(np.float32)


def counted(made, x):
    """How many samples there are, as ``x.size(0)`` is written."""
    first = made.node("Gather", made.node("Shape", x), made.constant(f"zero{len(made.nodes)}", np.array(0)), axis=0)
    return made.node("Unsqueeze", first, made.constant(f"axis{len(made.nodes)}", np.array([0])))


def test_a_view_by_the_number_of_samples_leaves_a_row_of_layers(tmp_path):
    made = Made(("N", 1, 4, 4))
    h = made.node("Conv", "x", made.weight("conv1.weight", 2, 1, 3, 3), made.weight("conv1.bias", 2))
    h = made.node("Relu", h)
    sides = made.node("Concat", counted(made, h), made.constant("rest", np.array([-1])), axis=0)
    h = made.node("Reshape", h, sides)
    made.node("Gemm", h, made.weight("fc.weight", 3, 8), made.weight("fc.bias", 3), transB=1, to="y")
    path = made.save(tmp_path, "y")
    net = sv.load_onnx(path)
    assert type(net) is Chain
    assert [type(part).__name__ for part in net] == ["Conv2d", "ReLU", "Flatten", "Linear"]
    agrees(net, path, drawn(3, 1, 4, 4))


def test_sides_of_what_weights_have_made_are_no_operators(tmp_path):
    made = Made(("N", 4))
    h = made.node("Mul", "x", made.weight("gain", 4))
    sides = made.node("Concat", counted(made, h), made.constant("rest", np.array([2, 2])), axis=0)
    turned = made.node("Transpose", made.node("Reshape", h, sides), perm=[0, 2, 1])
    row = made.node("Concat", counted(made, turned), made.constant("row", np.array([4])), axis=0)
    made.node("Reshape", turned, row, to="y")
    path = made.save(tmp_path, "y")
    net = sv.load_onnx(path)
    assert {name.rpartition("_")[0] for name in net.operators()} <= {"Mul", "Reshape", "Transpose"}
    agrees(net, path, drawn(3, 4))


def test_a_mask_that_is_only_compared_is_no_weight(tmp_path):
    made = Made(("N", 3, 3))
    stored = made.constant("attn.bias", np.tril(np.ones((1, 4, 4), np.float32)))
    one = [made.constant(name, np.array(numbers)) for name, numbers in
           (("from", [0, 0]), ("to", [3, 3]), ("over", [1, 2]))]  # fmt: skip
    cut = made.node("Slice", stored, *one)
    hidden = made.node("Equal", cut, made.constant("nought", np.float32(0)))
    h = made.node("Mul", "x", made.weight("gain", 3))
    h = made.node("Where", hidden, made.constant("low", np.float32(-np.inf)), h)
    made.node("Softmax", h, axis=-1, to="y")
    path = made.save(tmp_path, "y")
    net = sv.load_onnx(path)
    assert list(net.state_dict()) == ["gain"]
    assert len([name for name in net.operators() if name.startswith(("Equal", "Slice"))]) == 0
    agrees(net, path, drawn(2, 3, 3))
