"""Each layer, written as ONNX and run by onnxruntime, against itself in float64; the file as the standard has it."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from scalarviz import nn

sys.path.append(str(Path(__file__).parent))
from exported import agrees, operators, weights

ROWS = {
    "Linear": (lambda: nn.Linear(4, 3), ["Gemm"]),
    "Linear without bias": (lambda: nn.Linear(4, 3, bias=False), ["Gemm"]),
    "ReLU": (nn.ReLU, ["Relu"]),
    "LeakyReLU": (lambda: nn.LeakyReLU(0.2), ["LeakyRelu"]),
    "Sigmoid": (nn.Sigmoid, ["Sigmoid"]),
    "Tanh": (nn.Tanh, ["Tanh"]),
    "Softplus": (nn.Softplus, ["Softplus"]),
    "Softplus, bent and cut": (lambda: nn.Softplus(2.0, 0.5), None),
    "GELU": (nn.GELU, ["Div", "Erf", "Add", "Mul", "Mul"]),
    "GELU by tanh": (lambda: nn.GELU("tanh"), None),
    "SiLU": (nn.SiLU, ["Sigmoid", "Mul"]),
    "ELU": (lambda: nn.ELU(0.5), ["Elu"]),
    "LogSigmoid": (nn.LogSigmoid, None),
    "ReLU6": (nn.ReLU6, ["Clip"]),
    "PReLU": (nn.PReLU, ["PRelu"]),
    "PReLU a channel": (lambda: nn.PReLU(4), ["PRelu"]),
    "Softmax": (nn.Softmax, ["Softmax"]),
    "LogSoftmax": (nn.LogSoftmax, ["LogSoftmax"]),
    "LayerNorm": (lambda: nn.LayerNorm(4), ["LayerNormalization"]),
    "LayerNorm without weights": (lambda: nn.LayerNorm(4, elementwise_affine=False), ["LayerNormalization"]),
    "RMSNorm": (lambda: nn.RMSNorm(4), None),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), None),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(4), ["BatchNormalization"]),
    "Identity": (nn.Identity, ["Identity"]),
    "Dropout": (lambda: nn.Dropout(0.5), ["Identity"]),
    "Flatten": (nn.Flatten, ["Identity"]),
    "Unflatten": (lambda: nn.Unflatten((2, 2)), None),
    "Perceptron": (lambda: nn.Perceptron(4, nn.Tanh()), None),
    "MLP": (lambda: nn.MLP(4, [5], 2), ["Gemm", "Tanh", "Gemm"]),
    "Network": (lambda: nn.Network(4, 2, nn.Sigmoid()), ["Gemm", "Sigmoid"]),
    "nothing": (nn.Sequential, ["Identity"]),
}  # fmt: skip
SIGNALS = {
    "Conv1d": (lambda: nn.Conv1d(2, 3, 3, stride=2, padding=1), ["Conv"]),
    "Conv1d of groups": (lambda: nn.Conv1d(2, 4, 3, groups=2, dilation=2, padding=1), ["Conv"]),
    "MaxPool1d": (lambda: nn.MaxPool1d(3, 2, 1), ["MaxPool"]),
    "AvgPool1d": (lambda: nn.AvgPool1d(3, 2, 1), ["AveragePool"]),
    "AdaptiveAvgPool1d": (lambda: nn.AdaptiveAvgPool1d(3), None),
    "AdaptiveAvgPool1d that divides": (lambda: nn.AdaptiveAvgPool1d(4), ["AveragePool"]),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(2), ["BatchNormalization"]),
    "GroupNorm": (lambda: nn.GroupNorm(2, 2), None),
    "LayerNorm": (lambda: nn.LayerNorm(8), ["LayerNormalization"]),
    "LayerNorm of all": (lambda: nn.LayerNorm((2, 8)), ["LayerNormalization"]),
    "RMSNorm of all": (lambda: nn.RMSNorm((2, 8), eps=0.1), None),
    "PReLU": (lambda: nn.PReLU(2), None),
    "GELU": (nn.GELU, None),
}
PICTURES = {
    "Conv2d": (lambda: nn.Conv2d(2, 3, (3, 2), stride=(2, 1), padding=(1, 0)), ["Conv"]),
    "Conv2d of the same sides": (lambda: nn.Conv2d(2, 3, 4, padding="same"), ["Conv"]),
    "Conv2d of groups": (lambda: nn.Conv2d(2, 6, 3, groups=2, dilation=(1, 2)), ["Conv"]),
    "MaxPool2d": (lambda: nn.MaxPool2d(3, 2, 1), ["MaxPool"]),
    "AvgPool2d": (lambda: nn.AvgPool2d((3, 2), 2, 1), ["AveragePool"]),
    "AdaptiveAvgPool2d to one": (lambda: nn.AdaptiveAvgPool2d(1), ["GlobalAveragePool"]),
    "AdaptiveAvgPool2d": (lambda: nn.AdaptiveAvgPool2d((3, 4)), ["MatMul", "MatMul"]),
    "AdaptiveAvgPool2d of one side": (lambda: nn.AdaptiveAvgPool2d((None, 2)), None),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(2), ["BatchNormalization"]),
    "BatchNorm2d without weights": (lambda: nn.BatchNorm2d(2, affine=False), ["BatchNormalization"]),
    "BatchNorm2d without bias": (lambda: nn.BatchNorm2d(2, bias=False), ["BatchNormalization"]),
    "Flatten": (nn.Flatten, None),
    "Flatten of the last": (lambda: nn.Flatten(2), ["Reshape"]),
    "GroupNorm": (lambda: nn.GroupNorm(1, 2), None),
    "PReLU": (lambda: nn.PReLU(2), None),
}
CASES = [
    *((f"{name} of a row", (4,), *case) for name, case in ROWS.items()),
    *((f"{name} of a signal", (2, 8), *case) for name, case in SIGNALS.items()),
    *((f"{name} of a picture", (2, 8, 7), *case) for name, case in PICTURES.items()),
]


def stirred(net):
    """All weights and statistics random, none where it began."""
    random = np.random.default_rng(3)
    net.load_state_dict({
        name: np.array(5) if array.dtype.kind == "i" else 0.5 + random.random(array.shape)
        for name, array in net.state_dict().items()
    })  # fmt: skip
    return net


@pytest.mark.parametrize(("name", "shape", "make", "expected"), CASES, ids=[case[0] for case in CASES])
def test_a_layer_gives_the_same_numbers(tmp_path, name, shape, make, expected):
    net = stirred(make())
    model = agrees(net, tmp_path, shape, given=shape)
    if expected is not None:
        assert operators(model) == expected
    known = net.state_dict()
    written = {name: array for name, array in weights(model).items() if name in known}
    assert set(known) - set(written) <= {"num_batches_tracked"}
    for name, array in written.items():
        assert array.shape == known[name].shape
        np.testing.assert_array_equal(array, known[name].astype(np.float32))


LAYERS = {
    name for name in nn.__all__ if isinstance(getattr(nn, name), type) and issubclass(getattr(nn, name), nn.Module)
}
OTHERS = {"Module", "Loss", "Sequential", "Activation", "Embedding", "MultiheadAttention"}


def test_no_layer_is_forgotten():
    tried = {type(module).__name__ for _, _, make, _ in CASES for module in make().modules()}
    assert tried >= LAYERS - OTHERS


@pytest.mark.parametrize("shape", [(), (5,), (2, 3)], ids=str)
def test_an_embedding_takes_ids(tmp_path, shape):
    model = agrees(nn.Embedding(7, 3, seed=0), tmp_path, shape, given=shape, ids=7)
    assert operators(model) == ["Gather"]
    assert model.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.INT64


class Attending(nn.Module):
    """Self-attention, or its shares."""

    def __init__(self, heads, which=0, bias=True, **how):
        self.attention, self.which, self.how = nn.MultiheadAttention(4, heads, bias=bias, seed=1), which, how

    def forward(self, x):
        return self.attention(x, x, x[::-1], **self.how)[self.which]


FIRST_UNSEEN = np.eye(5)[::-1] > 0
HOW = {
    "all": Attending(2),
    "causal": Attending(2, is_causal=True),
    "masked": Attending(1, attn_mask=FIRST_UNSEEN),
    "added": Attending(4, attn_mask=np.arange(25.0).reshape(5, 5) / 10),
    "without biases": Attending(2, bias=False),
    "the shares": Attending(2, which=1, is_causal=True),
    "the shares of each head": Attending(2, which=1, average_attn_weights=False),
}


@pytest.mark.parametrize("how", HOW)
def test_attention_gives_the_same_numbers(tmp_path, how):
    model = agrees(HOW[how], tmp_path, (5, 4), given=(5, 4))
    assert {"attention.in_proj_weight", "attention.in_proj_bias"} & set(weights(model))


def test_the_file_is_of_opset_17_and_ir_8(tmp_path):
    model = agrees(nn.Linear(2, 1, seed=0), tmp_path, (2,))
    assert (model.ir_version, [(one.domain, one.version) for one in model.opset_import]) == (8, [("", 17)])
    assert (model.producer_name, model.graph.name) == ("scalarviz", "Linear")
    onnx.checker.check_model(model, full_check=True)


def test_weights_alone_are_stored_and_other_numbers_are_part_of_the_graph(tmp_path):
    from scalarviz.onnx.reading import read_graph

    net = nn.Sequential(nn.GELU(), nn.Linear(4, 3, seed=0), nn.LayerNorm(3, elementwise_affine=False))
    net.to_onnx(tmp_path / "net.onnx", (4,))
    graph = read_graph(tmp_path / "net.onnx")
    assert set(graph.constants) - graph.fixed == {"1.weight", "1.bias"}
    assert len(graph.fixed) >= 4
