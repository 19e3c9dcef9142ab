"""What `to_onnx` writes, read again: the same names, the same bits of every weight, the same outputs."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn

LAYERS = {
    "Linear": (lambda: nn.Linear(3, 4), (3,)),
    "Linear without bias": (lambda: nn.Linear(3, 4, bias=False), (3,)),
    "MLP": (lambda: nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2), nn.Sigmoid()), (3,)),
    "Conv1d": (lambda: nn.Conv1d(2, 3, 3), (2, 7)),
    "Conv2d of groups": (lambda: nn.Conv2d(4, 6, 3, groups=2, dilation=2, padding=2), (4, 6, 6)),
    "BatchNorm1d": (lambda: nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)), (3,)),
    "BatchNorm2d": (lambda: nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3)), (1, 5, 5)),
    "LayerNorm": (lambda: nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4)), (3,)),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), (4, 5)),
    "RMSNorm": (lambda: nn.RMSNorm(4), (4,)),
    "PReLU": (nn.PReLU, (4,)),
    "PReLU of channels": (lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.PReLU(2), nn.Flatten()), (1, 4, 4)),
    "a number for a norm": (lambda: nn.Sequential(nn.Linear(3, 1), nn.GroupNorm(1, 1), nn.Linear(1, 2)), (3,)),
    "one number, one channel": (lambda: nn.Sequential(nn.Conv1d(1, 1, 1), nn.GroupNorm(1, 1), nn.Flatten()), (1, 1)),
    "norms of a row of one": (lambda: nn.Sequential(nn.BatchNorm1d(1), nn.LayerNorm(1), nn.RMSNorm(1)), (1,)),
    "LayerNorm without weights": (lambda: nn.LayerNorm((2, 3), elementwise_affine=False), (4, 2, 3)),
    "LayerNorm without bias": (lambda: nn.LayerNorm(3, 1e-3, bias=False), (3,)),
    "BatchNorm2d without weights": (lambda: nn.BatchNorm2d(2, 0.01, affine=False), (2, 3, 3)),
    "BatchNorm1d without bias": (lambda: nn.BatchNorm1d(2, momentum=0.3, bias=False), (2, 5)),
    "GroupNorm without weights": (lambda: nn.GroupNorm(1, 2, affine=False), (2, 3)),
    "AdaptiveAvgPool2d that does not divide": (lambda: nn.AdaptiveAvgPool2d((3, 2)), (2, 4, 5)),
    "Perceptron": (lambda: nn.Perceptron(3, nn.Tanh()), (3,)),
    "Perceptron of one input": (lambda: nn.Perceptron(1, bias=False), (1,)),
    "Network": (lambda: nn.Network(3, 2, nn.Sigmoid()), (3,)),
    "Embedding": (lambda: nn.Embedding(5, 3), (4,)),
    **{name: (getattr(nn, name), (4,)) for name in (
        "ELU", "GELU", "LeakyReLU", "LogSigmoid", "ReLU", "ReLU6", "SiLU", "Sigmoid", "Softplus", "Tanh", "LogSoftmax",
        "Softmax", "Identity", "Dropout")},
    "MaxPool1d": (lambda: nn.MaxPool1d(2), (2, 6)),
    "AvgPool2d": (lambda: nn.AvgPool2d(2), (2, 6, 6)),
}  # fmt: skip


class Attention(nn.Module):
    """Attention of the positions to themselves."""

    def __init__(self, bias=True):
        self.attention = nn.MultiheadAttention(4, 2, bias=bias)

    def forward(self, x):
        return self.attention(x, x, x, is_causal=True)[0]


class ByHand(nn.Module):
    """Weights without a layer: a matrix, a row of one, and single ones."""

    def __init__(self):
        self.w, self.gain = nn.Parameter([[1.0, 2.0], [3.0, 4.0]]), nn.Parameter([0.5])
        self.shift, self.unit = sv.Weight(-0.5), nn.Perceptron(2)

    def forward(self, x):
        return self.unit([sv.dot(row, x) * self.gain[0] + self.shift for row in self.w])


class Tied(nn.Module):
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


LAYERS |= {
    "attention": (Attention, (5, 4)),
    "attention without biases": (lambda: Attention(False), (5, 4)),
    "a table tied": (Tied, ()),
    "weights by hand": (ByHand, (2,)),
    "a layer that is called twice": (Twice, (3,)),
}


def same_weights(ours, theirs):
    """Names and every bit."""
    one, other = ours.state_dict(), theirs.state_dict()
    assert one.keys() == other.keys()
    for name, array in one.items():
        assert array.shape == other[name].shape
        assert np.array_equal(array, other[name])


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_comes_back(name, tmp_path):
    make, shape = LAYERS[name]
    net = make()
    rng = np.random.default_rng(3)
    for part in net.parameters():
        part.data = rng.normal() if isinstance(part, sv.Weight) else rng.normal(size=part.shape)
    net.eval()
    net.to_onnx(tmp_path / "net.onnx", shape, dtype="float64")
    back = sv.load_onnx(tmp_path / "net.onnx")
    same_weights(net, back)
    sample = rng.integers(0, 5, shape) if name in ("Embedding", "a table tied") else rng.normal(size=shape)
    back.eval()
    expected = np.ravel([value.data for value in np.ravel(net(sample.tolist()))])
    got = np.ravel([value.data for value in np.ravel(back(sample.tolist()))])
    assert got == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("scene", ["rgb", "digits", "texture", "microgpt"])
def test_the_network_of_a_scene_comes_back_with_its_trained_weights(scene, tmp_path):
    """Constants of the forward (frequencies, factors) are no weights when they come back."""
    module = importlib.import_module(f"scalarviz.scenes.{scene}")
    run = module.build(module.Options(engine="numpy")).run
    run.step(2)
    run.model.to_onnx(tmp_path / "net.onnx")  # the shape of a sample is known to who trains it
    back = sv.load_onnx(tmp_path / "net.onnx")
    same_weights(run.model, back)


def test_numbers_that_no_mask_would_have_are_weights_in_our_own_files(tmp_path):
    net = nn.Sequential(nn.Linear(2, 2, seed=0), nn.LayerNorm(2))
    net[0].weight.data, net[1].weight.data = [[3e7, 1.0], [np.nan, np.inf]], [1e9, -1e9]
    net.to_onnx(tmp_path / "net.onnx")
    back = sv.load_onnx(tmp_path / "net.onnx").state_dict()
    assert list(back) == list(net.state_dict())
    for name, array in net.state_dict().items():
        np.testing.assert_array_equal(back[name], array.astype(np.float32))


def test_how_far_a_step_moves_the_statistics_is_written(tmp_path):
    nn.Sequential(nn.BatchNorm1d(2, momentum=0.3), nn.BatchNorm1d(2, momentum=None)).to_onnx(tmp_path / "n.onnx", (2,))
    assert [norm.momentum for norm in sv.load_onnx(tmp_path / "n.onnx")] == [0.3, 0.1]


def test_a_layer_that_is_called_twice_is_one_layer(tmp_path):
    Twice().to_onnx(tmp_path / "net.onnx", (3,))
    back = sv.load_onnx(tmp_path / "net.onnx")
    back.a = nn.Linear(3, 3, seed=5)
    twin = Twice()
    twin.a = back.a
    sample = [0.3, -0.2, 0.9]
    assert [v.data for v in back(sample)] == pytest.approx([v.data for v in twin(sample)], rel=1e-6)
