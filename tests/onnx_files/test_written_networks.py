"""Every layer and network written as ONNX: onnxruntime and the standard's reference compute the same numbers of it,
and it comes back with the same names, the same bits and the same numbers."""

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import scalarviz as sv
from kit.layers import LAYERS, Layer
from kit.networks import NETWORKS, WORDS
from kit.onnx_files import assert_near, by_objects, computed, drawn, operators, session, stored
from scalarviz import nn


class Attention(nn.Module):
    """Attention of positions to themselves: what it returns, or its shares."""

    def __init__(self, heads=2, which=0, **how):
        self.attention, self.which, self.how = nn.MultiheadAttention(4, heads, seed=1), which, how

    def forward(self, x):
        return self.attention(x, x, x[::-1], **self.how)[self.which]


class ByHand(nn.Module):
    """Weights without a layer: a matrix, a row of one, and single ones."""

    def __init__(self):
        self.w, self.gain = nn.Parameter([[1.0, 2.0], [3.0, 4.0]]), nn.Parameter([0.5])
        self.shift, self.unit = sv.Weight(-0.5), nn.Perceptron(2)

    def forward(self, x):
        return self.unit([sv.dot(row, x) * self.gain[0] + self.shift for row in self.w])


class TiedTable(nn.Module):
    """A table that is read as one, and whose rows are multiplied with."""

    def __init__(self):
        self.table, self.mix = nn.Embedding(5, 3), nn.Linear(3, 3, bias=False)
        self.gain = nn.Parameter([1.0, 2.0, 3.0])

    def forward(self, x):
        mixed = [a + g for a, g in zip(self.mix(self.table(x)), self.gain, strict=True)]
        return [sv.dot(row, mixed) for row in self.table.weight]


class Twice(nn.Module):
    """A layer that is called twice, with others between."""

    def __init__(self):
        self.b, self.a, self.bend = nn.LayerNorm(3), nn.Linear(3, 3), nn.PReLU(3)

    def forward(self, x):
        return self.bend(self.a(self.b(self.a(x))))


MORE = {
    "perceptron": (lambda: nn.Perceptron(3, nn.Tanh()), (3,)),
    "network": (lambda: nn.Network(4, 2, nn.Sigmoid()), (4,)),
    "mlp": (lambda: nn.MLP(4, [5], 2), (4,)),
    "unflatten": (lambda: nn.Unflatten((2, 2)), (4,)),
    "nothing": (nn.Sequential, (4,)),
    "embedding": (lambda: nn.Embedding(5, 3), (4,)),
    "one channel": (lambda: nn.Sequential(nn.Conv1d(1, 1, 1), nn.GroupNorm(1, 1), nn.Flatten()), (1, 1)),
    "attention": (Attention, (5, 4)),
    "attention, causal": (lambda: Attention(is_causal=True), (5, 4)),
    "attention, masked": (lambda: Attention(1, attn_mask=np.eye(5)[::-1] > 0), (5, 4)),
    "attention's shares": (lambda: Attention(which=1, is_causal=True), (5, 4)),
    "a table tied": (TiedTable, ()),
    "weights by hand": (ByHand, (2,)),
    "a layer that is called twice": (Twice, (3,)),
    "a whole picture": (
        lambda: nn.Sequential(
            nn.Conv2d(2, 4, 3, padding=1, groups=2), nn.BatchNorm2d(4), nn.SiLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(16, 6), nn.LayerNorm(6), nn.GELU(), nn.Linear(6, 3), nn.LogSoftmax(),
        ), (2, 4, 4),
    ),
}  # fmt: skip
CASES = {**{f"layer: {name}": row for name, row in LAYERS.items()},
         **{f"network: {name}": row for name, row in NETWORKS.items()}, **MORE}  # fmt: skip
WRITTEN_AS = {
    "linear": ["Gemm"], "linear without bias": ["Gemm"], "relu": ["Relu"], "leaky relu": ["LeakyRelu"],
    "sigmoid": ["Sigmoid"], "tanh": ["Tanh"], "softplus": ["Softplus"], "gelu": ["Div", "Erf", "Add", "Mul",
        "Mul"],
    "silu": ["Sigmoid", "Mul"], "elu": ["Elu"], "relu6": ["Clip"], "prelu": ["PRelu"], "softmax": ["Softmax"],
    "log softmax": ["LogSoftmax"], "layer norm": ["LayerNormalization"],
        "layer norm plain": ["LayerNormalization"],
    "layer norm inside": ["LayerNormalization"], "batch norm1d": ["BatchNormalization"], "identity": ["Identity"],
    "batch norm2d": ["BatchNormalization"], "batch norm2d plain": ["BatchNormalization"], "conv": ["Conv"],
    "conv groups": ["Conv"], "conv same": ["Conv"], "conv1d strides": ["Conv"], "max overlap": ["MaxPool"],
    "max1d": ["MaxPool"], "avg overlap": ["AveragePool"], "avg1d": ["AveragePool"],
        "flatten the inner": ["Reshape"],
    "adaptive2d, one": ["GlobalAveragePool"], "adaptive2d": ["MatMul", "MatMul"],
        "dropout in evaluation": ["Identity"],
}  # fmt: skip
MORE_WRITTEN_AS = {"mlp": ["Gemm", "Tanh", "Gemm"], "nothing": ["Identity"], "embedding": ["Gather"]}
OTHER_LAYERS = {
    "log sigmoid",
    "flatten the inner",
    "adaptive1d",
    "adaptive1d, more",
    "adaptive2d",
    "adaptive2d, a side as it is",
    "group norm of a row",
    "dropout in evaluation",
}
"""Layers that come back as others, or as operators."""
OTHER_NAMES = {"network: formula", "network: one node twice"}
"""Networks without names for their weights: files give them some."""


def example(name):
    """A network with random weights and statistics, the shape of a sample, three samples."""
    row = CASES[name]
    if isinstance(row, Layer):
        return row.ours(), row.shape, np.array([row.sample(seed) for seed in range(3)])
    if not isinstance(row, tuple):
        return row.ours().eval(), row.shape, row.samples(3)
    net, random = row[0]().eval(), np.random.default_rng(3)
    net.load_state_dict({
        key: array if array.dtype.kind == "i" else 0.5 + random.random(array.shape)
        for key, array in net.state_dict().items()
    })  # fmt: skip
    words = any(isinstance(part, nn.Embedding) for part in net.modules())
    return net, row[1], random.integers(0, WORDS, (3, *row[1])) if words else random.normal(size=(3, *row[1]))


@pytest.mark.parametrize("name", CASES)
def test_onnxruntime_computes_the_same_numbers_from_the_same_weights(tmp_path, name):
    net, shape, x = example(name)
    path = tmp_path / "net.onnx"
    net.to_onnx(path, shape)
    [port] = session(path).get_inputs()
    assert (port.shape, port.type) == (["N", *shape], "tensor(int64)" if x.dtype.kind == "i" else "tensor(float)")
    assert_near(computed(path, x)[0], by_objects(net, x.astype(np.float32).astype(float) if x.dtype.kind == "f" else x))
    wanted = WRITTEN_AS.get(name.removeprefix("layer: "), MORE_WRITTEN_AS.get(name))
    assert wanted in (None, operators(path))
    kept, known = stored(path), net.state_dict()
    unused = ("num_batches_tracked", "out_proj") if "shares" in name else ("num_batches_tracked",)
    assert not [key for key in known.keys() - kept.keys() if not any(part in key for part in unused)]
    for key in known.keys() & kept.keys():
        np.testing.assert_array_equal(kept[key], known[key].astype(np.float32))


def same_weights(one, other):
    one, other = one.state_dict(), other.state_dict()
    assert one.keys() == other.keys()
    for name, array in one.items():
        assert array.shape == other[name].shape
        np.testing.assert_array_equal(array, other[name])


@pytest.mark.parametrize("name", CASES)
def test_written_and_read_it_is_the_same_network(tmp_path, name):
    """In float64: onnxruntime has not every node of it, the standard's reference has."""
    net, shape, x = example(name)
    path = tmp_path / "net.onnx"
    net.to_onnx(path, shape, dtype="float64")
    back, wanted = sv.load_onnx(path), by_objects(net, x)
    if name not in OTHER_NAMES and "shares" not in name:  # these do not use all weights
        same_weights(net, back)
    assert_near(by_objects(back, x), wanted, 1e-12)
    if isinstance(row := CASES[name], Layer) and name.removeprefix("layer: ") not in OTHER_LAYERS:
        assert [type(part).__name__ for part in back.modules() if not list(part.children())] == [row.kind]
    if not isinstance(row, tuple):
        return
    [got] = ReferenceEvaluator(str(path)).run(None, {"input": x})
    assert_near(got, wanted, 1e-7)


def test_the_file_is_of_opset_17_and_ir_8_and_the_checker_takes_it(tmp_path):
    net = nn.Sequential(nn.GELU(), nn.Linear(2, 1, seed=0), nn.LayerNorm(1, elementwise_affine=False))
    net.to_onnx(tmp_path / "net.onnx", (2,))
    model = onnx.load(tmp_path / "net.onnx")
    assert (model.ir_version, [(one.domain, one.version) for one in model.opset_import]) == (8, [("", 17)])
    assert (model.producer_name, model.graph.name) == ("scalarviz", "Sequential")
    onnx.checker.check_model(model, full_check=True)
    assert set(stored(tmp_path / "net.onnx")) == {"1.weight", "1.bias"}  # other numbers are part of the graph
    net.to_onnx(tmp_path / "again.onnx", (2,))
    assert (tmp_path / "again.onnx").read_bytes() == (tmp_path / "net.onnx").read_bytes()


def test_a_module_is_written_in_evaluation_and_left_in_training(tmp_path):
    net = nn.Sequential(nn.Linear(3, 4, seed=0), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 2, seed=1))
    net[2].eval()
    net.to_onnx(tmp_path / "net.onnx")
    assert operators(tmp_path / "net.onnx") == ["Gemm", "BatchNormalization", "Gemm"]
    assert [module.training for module in net] == [True, True, False, True]


def test_several_inputs_and_outputs(tmp_path):
    net = nn.MultiheadAttention(4, 2, seed=0)
    net.to_onnx(tmp_path / "net.onnx", [(3, 4), (5, 4), (5, 4)])
    run = session(tmp_path / "net.onnx")
    assert [port.name for port in run.get_inputs()] == ["input_0", "input_1", "input_2"]
    assert [port.shape for port in run.get_outputs()] == [["N", 3, 4], ["N", 3, 5]]
    q, k, v = (np.random.default_rng(seed).normal(size=(2, n, 4)) for seed, n in enumerate((3, 5, 5)))
    found = computed(tmp_path / "net.onnx", q, k, v)
    assert_near(np.concatenate([part.reshape(2, -1) for part in found], 1), by_objects(net, q, k, v))


class Several(nn.Module):
    """Its arrays and its one number are outputs of their own."""

    def __init__(self):
        self.a, self.b = nn.Linear(4, 3, seed=1), nn.Linear(4, 1, seed=2)

    def forward(self, x):
        a, b = self.a(x), self.b(x)
        return {"a": a, "rest": [b, (sv.tanh(a), None, a.mean())], "row": [a[0], b[0]]}


def test_every_array_that_forward_returns_is_an_output_also_of_the_loaded_network(tmp_path):
    x, sides = drawn(2, 4), [(3,), (1,), (3,), (), (2,)]
    net, last = Several(), tmp_path / "net.onnx"
    net.to_onnx(last, shape=(4,))
    loaded = sv.load_onnx(last)
    loaded.to_onnx(tmp_path / "again.onnx")
    for path in (last, tmp_path / "again.onnx"):
        ports = session(path).get_outputs()
        assert [(port.name, *port.shape) for port in ports] == [(f"output_{k}", "N", *s) for k, s in enumerate(sides)]
    assert [np.shape(made) for made in loaded(x[0])] == sides
    made = net(x)
    for found, wanted in zip(loaded(x), (made["a"], made["rest"][0], *made["rest"][1][::2], made["row"]), strict=True):
        assert_near(found, wanted)
