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
    "Embedding": (lambda: nn.Embedding(5, 3), (4,)),
    **{name: (getattr(nn, name), (4,)) for name in (
        "ELU", "GELU", "LeakyReLU", "LogSigmoid", "ReLU", "ReLU6", "SiLU", "Sigmoid", "Softplus", "Tanh", "LogSoftmax",
        "Softmax", "Identity", "Dropout")},
    "MaxPool1d": (lambda: nn.MaxPool1d(2), (2, 6)),
    "AvgPool2d": (lambda: nn.AvgPool2d(2), (2, 6, 6)),
}  # fmt: skip


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
        part.data = rng.normal(size=part.shape)
    net.eval()
    net.to_onnx(tmp_path / "net.onnx", shape, dtype="float64")
    back = sv.load_onnx(tmp_path / "net.onnx")
    same_weights(net, back)
    sample = rng.integers(0, 5, shape) if name == "Embedding" else rng.normal(size=shape)
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
