"""What exporters write besides the network: repeated weights, names of their own, nodes that are not the standard's."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper, numpy_helper
from onnx_models import Made, agrees

import scalarviz as sv
from scalarviz.imported.network import Chain


def drawn(*shape):
    return np.random.default_rng(7).normal(size=shape).astype(np.float32)


def test_a_norm_without_a_bias_is_a_layer(tmp_path):
    """Zeros of a ``Constant`` node are no weight."""
    made = Made(("N", 4))
    zeros = numpy_helper.from_array(np.zeros(4, np.float32))
    made.nodes.append(helper.make_node("Constant", [], ["zeros"], value=zeros))
    h = made.node("Gemm", "x", made.weight("fc.weight", 4, 4), transB=1)
    made.node("LayerNormalization", h, made.weight("ln.weight", 4), "zeros", name="/ln/LayerNormalization", to="y")
    path = made.save(tmp_path, "y")
    net = sv.load_onnx(path)
    assert list(net.state_dict()) == ["fc.weight", "ln.weight"]
    assert [type(part).__name__ for part in net] == ["Linear", "LayerNorm"]
    agrees(net, path, drawn(3, 4))


@pytest.mark.parametrize("equal", [True, False])
def test_repeated_weights_are_one_unless_all_their_numbers_are_equal(tmp_path, equal):
    """PyTorch's exporter writes equal weights once: ones of two norms are two weights, a drawn matrix is a tied one."""
    made = Made(("N", 4))
    first = made.constant("a.weight", np.full((4, 4), 0.5, np.float32) if equal else drawn(4, 4))
    second = made.node("Identity", first, to="b.weight")
    h = made.node("Tanh", made.node("Gemm", "x", first, transB=1, name="/a/Gemm"))
    made.node("Gemm", h, second, transB=1, name="/b/Gemm", to="y")
    path = made.save(tmp_path, "y")
    net = sv.load_onnx(path)
    assert (net.a.weight is net.b.weight) is not equal
    agrees(net, path, drawn(3, 4))


def test_layers_that_a_new_exporter_counts_stand_beside_their_neighbours(tmp_path):
    made = Made(("N", 4))
    h = made.node("Gemm", "x", made.weight("features.0.weight", 4, 4), transB=1, name="node_linear")
    h = made.node("Relu", h, name="node_relu")
    made.node("Gemm", h, made.weight("features.2.weight", 2, 4), transB=1, name="node_linear_1", to="y")
    net = sv.load_onnx(made.save(tmp_path, "y"))
    assert type(net) is Chain
    assert [path for path, _ in net.named_modules()] == ["", "features", "features.0", "features.1", "features.2"]


@pytest.mark.parametrize(
    ("operator", "domain", "hint"),
    [
        ("MatMulInteger", "", "take the file from before quantisation"),
        ("FusedGemm", "com.microsoft", "let it write with ORT_ENABLE_BASIC"),
    ],
)
def test_files_for_one_runtime_are_refused_with_what_helps(tmp_path, operator, domain, hint):
    made = Made(("N", 4))
    made.nodes.append(helper.make_node(operator, ["x", "x"], ["y"], name="odd", domain=domain))
    path = made.save(tmp_path, "y")
    with pytest.raises(sv.ScalarvizError, match=f"{operator} 'odd'.*{hint}"):
        sv.load_onnx(path)
