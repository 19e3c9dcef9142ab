"""What exporters write besides the network: repeated weights, names of their own, nodes that are not the standard's."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper, numpy_helper
from onnx_models import Made, agrees

import scalarviz as sv
from scalarviz import nn, optim
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


def test_a_single_number_is_a_weight_where_it_is_called_as_one(tmp_path):
    """A gate of one number, the bias of one channel; what has a counted name belongs to the formula."""
    made = Made(("N", 1, 2, 2))
    up = made.weight("up.weight", 1, 1, 1, 1), made.constant("up.bias", np.array([0.25], np.float32))
    h = made.node("ConvTranspose", "x", *up)
    h = made.node("Mul", h, made.constant("gate.alpha", np.float32(0.5)))
    made.node("Mul", h, made.constant("val_3", np.float32(3)), to="y")
    path = made.save(tmp_path, "y")
    net, x = sv.load_onnx(path), drawn(4, 1, 2, 2)
    assert {name: array.shape for name, array in net.state_dict().items()} == {
        "up.weight": (1, 1, 1, 1), "up.bias": (1,), "gate.alpha": ()
    }  # fmt: skip
    agrees(net, path, x)
    weight, before = up_of(net), np.array([0.25, 0.5])
    with sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), 0.1), (x, x * 0), dtype="float64") as run:
        run.step(1)
    inner = weight * x.astype(np.float64) + before[0]
    slopes = [2 * np.mean(9 * before[1] ** 2 * inner), 2 * np.mean(9 * before[1] * inner**2)]
    moved = np.array([net.up.bias.data.item(), net.gate.alpha.data.item()])
    np.testing.assert_allclose(moved, before - 0.1 * np.array(slopes), rtol=1e-6)


def up_of(net):
    return float(np.asarray(net.up.weight.data).item())


@pytest.mark.parametrize(("names", "trained"), [(("n.weight", "n.bias"), True), (("val_1", "val_2"), False)])
def test_weights_of_a_norm_that_was_never_trained_are_trained(tmp_path, names, trained):
    """Ones and zeros with counted names stand for a norm without weights, which the standard has not."""
    made = Made(("N", 2, 3))
    ones, zeros = (made.constant(name, np.full(2, n, np.float32)) for name, n in zip(names, (1, 0), strict=True))
    made.node("InstanceNormalization", "x", ones, zeros, to="y")
    path = made.save(tmp_path, "y")
    net = sv.load_onnx(path)
    assert bool(net.parameters()) is trained
    agrees(net, path, drawn(3, 2, 3))


@pytest.mark.parametrize("equal", [True, False])
def test_weights_that_an_identity_repeats_have_names_of_their_own(tmp_path, equal):
    """PyTorch's exporter writes equal weights once: of norms that were never trained, of layers that were copied."""
    made = Made(("N", 4))
    first = made.constant("a.weight", np.full((4, 4), 0.5, np.float32) if equal else drawn(4, 4))
    second = made.node("Identity", first, to="b.weight")
    h = made.node("Tanh", made.node("Gemm", "x", first, transB=1, name="/a/Gemm"))
    made.node("Gemm", h, second, transB=1, name="/b/Gemm", to="y")
    path = made.save(tmp_path, "y")
    net = sv.load_onnx(path)
    assert list(net.state_dict()) == ["a.weight", "b.weight"]
    assert net.a.weight is not net.b.weight
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


def noted(made, *scopes):
    """The last node with the modules that PyTorch's new exporter notes with it."""
    said = made.nodes[-1].metadata_props.add()
    said.key, said.value = "pkg.torch.onnx.name_scopes", str([*scopes, "op"])


def test_layers_are_called_as_the_modules_that_the_file_notes(tmp_path):
    """Its names of tensors are those of other layers, where numbers are equal."""
    made = Made(("N", 4))
    ones, zeros = (
        made.constant(f"h.0.ln_1.{name}", np.full(4, n, np.float32)) for name, n in (("weight", 1), ("bias", 0))
    )
    h = made.node("LayerNormalization", "x", ones, zeros, name="node_layer_norm")
    noted(made, "", "h.0", "h.0.ln_1")
    h = made.node("MatMul", h, made.weight("val_3", 4, 4), name="node_MatMul_5")
    noted(made, "", "h.0", "h.0.fc")
    h = made.node("Add", h, zeros, name="node_linear")
    noted(made, "", "h.0", "h.0.fc")
    made.node("LayerNormalization", h, ones, zeros, name="node_layer_norm_1", to="y")
    noted(made, "", "h.0", "h.0.ln_2")
    path = made.save(tmp_path, "y")
    net = sv.load_onnx(path)
    assert list(net.state_dict()) == [
        f"h.0.{name}.{part}" for name in ("ln_1", "fc", "ln_2") for part in ("weight", "bias")
    ]
    assert len({id(parameter) for parameter in net.parameters()}) == 6
    agrees(net, path, drawn(3, 4))


def test_a_module_that_is_called_twice_is_one(tmp_path):
    made = Made(("N", 4))
    ones = made.constant("ln.weight", np.ones(4, np.float32))
    zeros = made.constant("ln.bias", np.zeros(4, np.float32))
    h = made.node("LayerNormalization", "x", ones, zeros, name="node_layer_norm")
    noted(made, "", "ln")
    made.node("LayerNormalization", made.node("Exp", h), ones, zeros, name="node_layer_norm_1", to="y")
    noted(made, "", "ln")
    net = sv.load_onnx(made.save(tmp_path, "y"))
    assert len({id(parameter) for _, parameter in net.named_parameters()}) == 2


@pytest.mark.parametrize("note", ["", "[]", "['']", "nonsense", "['a', 'b'", "['" + "a" * 5000 + "', 'b']"])
def test_notes_that_say_nothing_are_left(tmp_path, note):
    made = Made(("N", 4))
    made.node("Gemm", "x", made.weight("fc.weight", 4, 4), transB=1, to="y")
    said = made.nodes[-1].metadata_props.add()
    said.key, said.value = "pkg.torch.onnx.name_scopes", note
    assert [name.rpartition(".")[2] for name in sv.load_onnx(made.save(tmp_path, "y")).state_dict()] == ["weight"]


def test_a_convolution_with_its_norm_in_it_keeps_its_name(tmp_path):
    made = Made(("N", 1, 4, 4))
    h = made.node("Conv", "x", made.weight("features.0.weight", 2, 1, 3, 3), made.weight("features.1.bias", 2))
    noted(made, "", "features", "features.1")
    made.node("Relu", h, to="y")
    path = made.save(tmp_path, "y")
    assert list(sv.load_onnx(path).state_dict()) == ["features.0.weight", "features.0.bias"]
