"""Whole networks as PyTorch and others write them, loaded, beside onnxruntime; which of their nodes are layers."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_models import Made, agrees, computed

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.imported.naming import Names
from scalarviz.imported.network import Chain, Imported


def drawn(*shape, seed=5):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def norm(made, x, name, channels, **attributes):
    made.weight(f"{name}.running_mean", channels)
    made.constant(f"{name}.running_var", np.abs(drawn(channels)) + np.float32(0.5))
    names = [f"{name}.{part}" for part in ("weight", "bias")]
    made.weight(names[0], channels, shift=1.0)
    made.weight(names[1], channels)
    return made.node("BatchNormalization", x, *names, f"{name}.running_mean", f"{name}.running_var",
                     name=f"/{name}/BatchNormalization", **attributes)  # fmt: skip


def conv(made, x, name, before, behind, size=3, groups=1, bias=True, **attributes):
    weights = [made.weight(f"{name}.weight", behind, before // groups, size, size)]
    weights += [made.weight(f"{name}.bias", behind)] if bias else []
    return made.node("Conv", x, *weights, name=f"/{name}/Conv", group=groups, kernel_shape=[size, size], **attributes)


def cnn(batch="batch"):
    made = Made((batch, 1, 8, 8))
    h = conv(made, "x", "features.0", 1, 4, pads=[1, 1, 1, 1])
    h = norm(made, h, "features.1", 4, epsilon=1e-3)
    h = made.node("Relu", h, name="/features/features.2/Relu")
    h = made.node("MaxPool", h, kernel_shape=[2, 2], strides=[2, 2], name="/features/features.3/MaxPool")
    h = conv(made, h, "features.4", 4, 8, groups=4, bias=False, dilations=[2, 2], pads=[2, 2, 2, 2])
    h = made.node("LeakyRelu", h, alpha=0.2, name="/features/features.5/LeakyRelu")
    h = made.node("AveragePool", h, kernel_shape=[2, 2], strides=[2, 2], name="/features/features.6/AveragePool")
    h = made.node("Flatten", h, name="/Flatten")
    h = made.node(
        "Gemm", h, made.weight("head.weight", 5, 32), made.weight("head.bias", 5), transB=1, name="/head/Gemm"
    )
    made.node("Softmax", h, name="/softmax/Softmax", axis=1, to="y")
    return made, drawn(4, 1, 8, 8)


def residual():
    """Two convolutions beside a shortcut, a mean over the picture, a hard-coded reshape."""
    made = Made(("N", 3, 6, 6))
    h = made.node("Relu", norm(made, conv(made, "x", "stem", 3, 4, pads=[1, 1, 1, 1]), "bn", 4))
    g = made.node("Relu", conv(made, h, "block.a", 4, 4, auto_pad="SAME_UPPER"))
    g = conv(made, g, "block.b", 4, 4, pads=[1, 1, 1, 1])
    h = made.node("Relu", made.node("Add", h, g))
    h = made.node("GlobalAveragePool", h)
    h = made.node("Reshape", h, made.constant("flat", np.array([-1, 4])))
    made.node("Gemm", h, made.weight("fc.weight", 3, 4), made.weight("fc.bias", 3), transB=1, to="y")
    return made, drawn(3, 3, 6, 6)


def linear(made, x, name, before, behind):
    """As PyTorch writes a Linear on more than two dimensions: the matrix is turned and has lost its name."""
    h = made.node("MatMul", x, made.weight(f"onnx::MatMul_{name}", before, behind), name=f"/{name}/MatMul")
    return made.node("Add", made.weight(f"{name}.bias", behind), h, name=f"/{name}/Add")


def normed(made, x, name, size):
    weights = [made.weight(f"{name}.weight", size, shift=1.0), made.weight(f"{name}.bias", size)]
    return made.node("LayerNormalization", x, *weights, axis=-1, epsilon=1e-5, name=f"/{name}/LayerNormalization")


def transformer():
    """One block over rows of numbers: attention of two heads with computed shapes, a residual, two linear layers."""
    made = Made(("N", 3, 4))
    h = made.node("Add", "x", made.weight("places", 3, 4))
    n = normed(made, h, "ln1", 4)
    shape = made.node("Shape", h)
    batch = made.node("Gather", shape, made.constant("zero", np.array(0)), axis=0)
    batch = made.node("Unsqueeze", batch, made.constant("axes", np.array([0])))
    parts = made.node("Concat", batch, made.constant("rest", np.array([3, 2, 2])), axis=0)
    heads = {}
    for name in "qkv":
        projected = made.node("Reshape", linear(made, n, f"attn.{name}", 4, 4), parts)
        heads[name] = made.node("Transpose", projected, perm=[0, 2, 3, 1] if name == "k" else [0, 2, 1, 3])
    scores = made.node("Div", made.node("MatMul", heads["q"], heads["k"]), made.constant("root", np.float32(2**0.5)))
    masked = made.node("Add", scores, made.constant("mask", np.triu(np.full((3, 3), -1e9, np.float32), 1)))
    mixed = made.node("MatMul", made.node("Softmax", masked, axis=-1), heads["v"])
    joined = made.node("Reshape", made.node("Transpose", mixed, perm=[0, 2, 1, 3]),
                       made.constant("joined", np.array([0, 0, 4])))  # fmt: skip
    h = made.node("Add", h, linear(made, joined, "attn.out", 4, 4))
    g = linear(made, normed(made, h, "ln2", 4), "mlp.0", 4, 6)
    inner = made.node("Erf", made.node("Div", g, made.constant("r2", np.float32(2**0.5))), name="/mlp/mlp.1/Erf")
    inner = made.node("Add", inner, made.constant("one", np.float32(1.0)))
    g = made.node("Mul", made.node("Mul", g, inner), made.constant("half", np.float32(0.5)))
    made.node("Add", h, linear(made, g, "mlp.2", 6, 4), to="y")
    return made, drawn(3, 3, 4)


def words():
    """Ids become rows, and the same matrix turns rows into scores of words."""
    made = Made(("N", 3), dtype=np.int64)
    table = made.weight("embed.weight", 5, 4)
    h = made.node("Gather", table, "x", name="/embed/Gather")
    h = made.node("Tanh", linear(made, h, "mix", 4, 4))
    turned = made.node("Transpose", table, perm=[1, 0])
    made.node("MatMul", h, turned, to="y", name="/head/MatMul")
    return made, np.random.default_rng(1).integers(0, 5, (4, 3))


CASES = {
    "cnn": (cnn, Chain, ["features.0.weight", "features.0.bias", "features.1.weight"]),
    "residual": (residual, Imported, ["stem.weight", "stem.bias", "bn.weight"]),
    "transformer": (transformer, Imported, ["places", "ln1.weight", "ln1.bias", "attn.q.weight", "attn.q.bias"]),
    "words": (words, Imported, ["embed.weight", "mix.weight", "mix.bias", "head.weight"]),
}


@pytest.mark.parametrize("name", CASES)
def test_networks_compute_what_onnxruntime_computes(tmp_path, name):
    make, kind, names = CASES[name]
    made, x = make()
    path = made.save(tmp_path, "y")
    net = sv.load_onnx(path)
    assert type(net) is kind
    assert [n for n in net.state_dict() if "running" not in n][: len(names)] == names
    agrees(net, path, x)
    stored = {tensor.name: tuple(tensor.dims) for tensor in made.tensors}
    for key, array in net.state_dict().items():
        if key in stored:
            assert array.shape == stored[key]


def test_a_convolutional_network_is_layers_alone(tmp_path):
    net = sv.load_onnx(cnn()[0].save(tmp_path, "y"))
    assert [(path, type(part).__name__) for path, part in net.named_modules()] == [
        ("", "Chain"), ("features", "Sequential"), ("features.0", "Conv2d"), ("features.1", "BatchNorm2d"),
        ("features.2", "ReLU"), ("features.3", "MaxPool2d"), ("features.4", "Conv2d"), ("features.5", "LeakyReLU"),
        ("features.6", "AvgPool2d"), ("features.7", "Flatten"), ("head", "Linear"), ("softmax", "Softmax"),
    ]  # fmt: skip
    assert (net.features[1].eps, net.features[5].negative_slope) == (1e-3, 0.2)
    assert (net.features[4].groups, net.features[4].dilation, net.features[4].bias) == (4, (2, 2), None)


def test_only_what_no_layer_is_remains_as_operators(tmp_path):
    net = sv.load_onnx(residual()[0].save(tmp_path, "y"))
    assert [name for name in net.operators() if not name.startswith("Add")] == []
    block = sv.load_onnx(transformer()[0].save(tmp_path, "y"))
    kinds = {path: type(part).__name__ for path, part in block.named_modules()}
    assert {kinds[f"attn.{name}"] for name in ("q", "k", "v", "out")} == {"Linear"}
    assert (kinds["ln1"], kinds["mlp.0"], kinds["mlp.1"]) == ("LayerNorm", "Linear", "GELU")
    assert "mask" not in block.state_dict()


def test_one_matrix_in_two_places_is_one_parameter(tmp_path):
    net = sv.load_onnx(words()[0].save(tmp_path, "y"))
    assert net.embed.weight is net.head.weight
    assert net.head.weight.shape == (5, 4)


def test_a_fixed_batch_of_one_is_a_sample(tmp_path):
    made, x = cnn(batch=1)
    path = made.save(tmp_path, "y")
    net = sv.load_onnx(path)
    for sample in x:
        agrees(net, path, sample[None])


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_all_engines(tmp_path, name):
    made, x = CASES[name][0]()
    path = made.save(tmp_path, "y")
    found = []
    for engine in ("objects", "numpy", "numba"):
        net = sv.load_onnx(path)
        y = drawn(len(x), len(sv.record(lambda v, n=net, s=x.shape[1:]: n(np.reshape(v, s)), x[0].size).outputs))
        with sv.Run(
            net, nn.MSELoss(), optim.SGD(net.parameters(), 0.05), (x, y), engine=engine, dtype="float64"
        ) as run:
            run.step(2)
            found.append((run.history.loss.copy(), run.values.copy()))
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def test_a_file_in_training_is_loaded_in_training(tmp_path):
    made = Made(("N", 4), opset=15)
    h = made.node("Gemm", "x", made.weight("fc.weight", 4, 4), transB=1, name="/fc/Gemm")
    norm_of = norm(made, h, "bn", 4, training_mode=1, momentum=0.8)
    made.nodes[-1].output.extend(["mean_out", "var_out"])
    drop = made.node("Dropout", norm_of, made.constant("ratio", np.float32(0.25)), made.constant("on", np.array(True)))
    made.node("Relu", drop, to="y")
    net = sv.load_onnx(made.save(tmp_path, "y"))
    modes = {type(part).__name__: part.training for part in net}
    assert modes == {"Linear": False, "BatchNorm1d": True, "Dropout": True, "ReLU": False}
    assert (net.bn.momentum, list(net)[2].p) == (0.2, 0.25)
    net.eval()
    assert len(net(drawn(4))) == 4


def test_our_own_files_come_back_bit_by_bit(tmp_path):
    net = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1, groups=2, seed=1), nn.BatchNorm2d(4), nn.SiLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(16, 6, seed=2), nn.LayerNorm(6), nn.GELU(), nn.Linear(6, 3, seed=3), nn.LogSoftmax(),
    ).eval()  # fmt: skip
    net.to_onnx(tmp_path / "a.onnx", (2, 4, 4))
    back = sv.load_onnx(tmp_path / "a.onnx")
    assert repr(back) == repr(net)
    for name, array in net.state_dict().items():
        np.testing.assert_array_equal(back.state_dict()[name], np.asarray(array, np.float32))
    back.to_onnx(tmp_path / "b.onnx", (2, 4, 4))
    again = sv.load_onnx(tmp_path / "b.onnx")
    for name, array in back.state_dict().items():
        np.testing.assert_array_equal(again.state_dict()[name], array)


def test_paths_are_free_and_stand_below_no_layer():
    names = Names()
    given = [names.give(name) for name in ("fc", "fc", "fc.weight", "a.b", "a", "forward", "x/y:0", "", "a.b.c", "..")]
    assert given == ["fc", "fc_", "fc__.weight", "a.b", "a_", "forward_", "x.y_0", "layer", "a.b_.c", "layer_"]
    assert [Names().give(name) for name in ("fc_.weight", "_orig_mod.fc", "(a b)!", "__")] == [
        "fc_.weight", "orig_mod.fc", "a_b", "layer"
    ]  # fmt: skip


def test_what_is_made_of_weights_moves_with_them(tmp_path):
    made = Made(("N", 4))
    scale = made.node("Reshape", made.weight("gamma", 2, 2), made.constant("row", np.array([4])))
    made.node("Mul", made.node("Relu", "x"), made.node("Exp", scale), to="y")
    path = made.save(tmp_path, "y")
    net = sv.load_onnx(path)
    assert list(net.state_dict()) == ["gamma"]
    agrees(net, path, np.abs(drawn(3, 4)))
    before = [v.data for v in net([1.0] * 4)]
    net.gamma.data = np.zeros((2, 2))
    assert [v.data for v in net([1.0] * 4)] == [1.0] * 4 != before


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_sums_of_nothing_are_zeros_on_every_engine(tmp_path, engine):
    made = Made(("N", 2, 3))
    h = made.node("Mul", "x", made.weight("scale", 3))
    made.node("CumSum", h, made.constant("axis", np.array(1)), exclusive=1, to="y")
    path = made.save(tmp_path, "y")
    net, x = sv.load_onnx(path), drawn(4, 2, 3)
    with sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), 0.1), (x, np.zeros((4, 6))), engine=engine) as run:
        np.testing.assert_allclose(run.predict(x).reshape(4, 2, 3), computed(path, x), rtol=1e-6)
        run.step(1)
