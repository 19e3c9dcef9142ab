"""Layers by their PyTorch names: a row makes ours and theirs, and every law of layers runs on it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scalarviz import nn


@dataclass(frozen=True)
class Layer:
    """A class with its arguments, and the shape of a sample that it takes.

    `kinks` says that finite differences mean nothing where two inputs are alike or one is 0.
    """

    kind: str
    args: tuple[Any, ...]
    shape: tuple[int, ...]
    settings: dict[str, Any] = field(default_factory=dict)

    def ours(self, seed: int = 1) -> Any:
        """The layer in evaluation, with random weights and statistics."""
        module, random = getattr(nn, self.kind)(*self.args, **self.settings).eval(), np.random.default_rng(seed)
        for _, parameter in module.named_parameters():
            parameter.data = random.normal(size=parameter.shape)
        for name, array in module.named_buffers():
            if name != "num_batches_tracked":
                array[...] = random.uniform(0.5, 2.0, array.shape)
        return module

    def theirs(self, state: dict[str, Any]) -> Any:
        """PyTorch's layer in float64 with the arrays of our ``state_dict()``."""
        import torch

        module = getattr(torch.nn, self.kind)(*self.args, **self.settings).double().eval()
        module.load_state_dict({name: torch.tensor(array) for name, array in state.items()})
        return module

    def sample(self, seed: int = 2) -> np.ndarray:
        """A sample without two equal numbers, away from kinks at 0 and 6."""
        count = math.prod(self.shape)
        return (np.random.default_rng(seed).permutation(count) + 0.45).reshape(self.shape) * (4 / count) - 1.9


LAYERS: dict[str, Layer] = {
    "linear": Layer("Linear", (3, 5), (3,)),
    "linear without bias": Layer("Linear", (4, 2), (4,), {"bias": False}),
    "wide": Layer("Linear", (30, 20), (30,)),
    "sigmoid": Layer("Sigmoid", (), (4,)),
    "tanh": Layer("Tanh", (), (2, 3)),
    "relu": Layer("ReLU", (), (4,)),
    "relu6": Layer("ReLU6", (), (4,)),
    "leaky relu": Layer("LeakyReLU", (0.2,), (4,)),
    "gelu": Layer("GELU", (), (4,)),
    "gelu, tanh": Layer("GELU", (), (4,), {"approximate": "tanh"}),
    "silu": Layer("SiLU", (), (4,)),
    "elu": Layer("ELU", (), (4,)),
    "elu -2": Layer("ELU", (), (4,), {"alpha": -2.0}),
    "log sigmoid": Layer("LogSigmoid", (), (4,)),
    "softplus": Layer("Softplus", (), (4,)),
    "sharp softplus": Layer("Softplus", (), (4,), {"beta": 3.0, "threshold": 5.0}),
    "exact softplus": Layer("Softplus", (), (2, 2, 2), {"beta": 0.4, "threshold": math.inf}),
    "prelu": Layer("PReLU", (), (4,), {"init": 0.375}),
    "prelu of channels": Layer("PReLU", (3,), (3, 2, 4)),
    "identity": Layer("Identity", (), (4,)),
    "softmax": Layer("Softmax", (), (6,), {"dim": -1}),
    "log softmax": Layer("LogSoftmax", (), (6,), {"dim": -1}),
    "flatten": Layer("Flatten", (), (2, 3, 4)),
    "flatten the inner": Layer("Flatten", (2, 3), (2, 3, 4)),
    "conv": Layer("Conv2d", (2, 3, 3), (2, 5, 6)),
    "conv strides": Layer("Conv2d", (2, 3, (3, 2)), (2, 6, 5), {"stride": (2, 1), "padding": (1, 2)}),
    "conv of points": Layer("Conv2d", (3, 4, 1), (3, 2, 3), {"bias": False}),
    "conv of the border": Layer("Conv2d", (1, 2, 2), (1, 2, 2), {"padding": 3}),
    "conv same": Layer("Conv2d", (2, 3, (2, 3)), (2, 4, 5), {"padding": "same"}),
    "conv valid": Layer("Conv2d", (1, 2, 3), (1, 7, 6), {"padding": "valid", "stride": 2}),
    "conv groups": Layer("Conv2d", (4, 8, (3, 2), 1, 1, 1, 2), (4, 4, 5)),
    "conv wide groups": Layer("Conv2d", (6, 3, 2), (6, 4, 4), {"groups": 3, "stride": 2, "bias": False}),
    "conv depthwise": Layer("Conv2d", (3, 6, 3), (3, 4, 4), {"groups": 3, "padding": 1}),
    "conv dilation": Layer("Conv2d", (2, 4, 3), (2, 6, 5), {"dilation": (2, 1), "stride": (1, 2), "padding": (1, 2)}),
    "conv dilation same": Layer("Conv2d", (2, 2, (2, 3)), (2, 5, 4), {"dilation": (3, 2), "padding": "same"}),
    "conv1d": Layer("Conv1d", (2, 3, 3), (2, 7)),
    "conv1d strides": Layer("Conv1d", (2, 3, (4,)), (2, 8), {"stride": 2, "padding": 3, "bias": False}),
    "conv1d same": Layer("Conv1d", (2, 1, 4), (2, 5), {"padding": "same"}),
    "conv1d groups": Layer("Conv1d", (4, 6, 3), (4, 7), {"groups": 2, "dilation": 2, "padding": 1}),
    "max": Layer("MaxPool2d", (2,), (2, 5, 6)),
    "max overlap": Layer("MaxPool2d", ((3, 2),), (2, 6, 5), {"stride": (2, 1), "padding": 1}),
    "max1d": Layer("MaxPool1d", (3,), (2, 8), {"stride": 2, "padding": 1}),
    "avg": Layer("AvgPool2d", ((2, 3),), (2, 5, 7)),
    "avg overlap": Layer("AvgPool2d", (3,), (2, 4, 5), {"stride": 1, "padding": 1}),
    "avg1d": Layer("AvgPool1d", (3,), (2, 8), {"stride": 2, "padding": 1}),
    "avg1d with a rest": Layer("AvgPool1d", (2,), (3, 5)),
    "adaptive1d": Layer("AdaptiveAvgPool1d", (3,), (2, 7)),
    "adaptive1d, more": Layer("AdaptiveAvgPool1d", (5,), (2, 3)),
    "adaptive2d": Layer("AdaptiveAvgPool2d", ((2, 3),), (2, 5, 4)),
    "adaptive2d, one": Layer("AdaptiveAvgPool2d", (1,), (3, 4, 4)),
    "adaptive2d, a side as it is": Layer("AdaptiveAvgPool2d", ((None, 2),), (2, 3, 5)),
    "layer norm": Layer("LayerNorm", (5,), (5,)),
    "layer norm inside": Layer("LayerNorm", ((2, 3),), (4, 2, 3), {"eps": 0.1}),
    "layer norm plain": Layer("LayerNorm", (4,), (3, 4), {"elementwise_affine": False}),
    "layer norm without bias": Layer("LayerNorm", (4,), (4,), {"bias": False}),
    "rms norm": Layer("RMSNorm", (5,), (5,)),
    "rms norm inside": Layer("RMSNorm", ((2, 3),), (4, 2, 3), {"eps": 0.1}),
    "rms norm plain": Layer("RMSNorm", (4,), (3, 4), {"elementwise_affine": False}),
    "group norm": Layer("GroupNorm", (2, 4), (4, 3), {"eps": 1e-3}),
    "group norm of a row": Layer("GroupNorm", (2, 6), (6,)),
    "group norm plain": Layer("GroupNorm", (3, 3), (3, 2, 3), {"affine": False}),
    "batch norm1d": Layer("BatchNorm1d", (4,), (4,)),
    "batch norm1d of rows": Layer("BatchNorm1d", (3,), (3, 5), {"eps": 0.01}),
    "batch norm2d": Layer("BatchNorm2d", (3,), (3, 2, 4)),
    "batch norm2d plain": Layer("BatchNorm2d", (2,), (2, 3, 3), {"affine": False}),
    "dropout in evaluation": Layer("Dropout", (0.3,), (4,)),
}
POINTWISE = tuple(name for name, row in LAYERS.items() if row.kind in (
    "Sigmoid", "Tanh", "ReLU", "ReLU6", "LeakyReLU", "GELU", "SiLU", "ELU", "LogSigmoid", "Softplus", "PReLU",
) and len(row.shape) == 1)  # fmt: skip
"""The layers that compute each number by itself."""
