"""Functions under PyTorch's names, as in ``import scalarviz.nn.functional as F``: layers and losses without weights.

They take arrays of Values, and parameters; each is the computation of the layer or loss of the same name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arguments import no_name
from ..errors import InputError, shown
from ..scalar import tracing
from ..scalar.array import TORCH, each, last, log_softmax, product, row_of, softmax
from ..scalar.nested import shape_of
from ..scalar.outputs import Outputs, as_outputs
from . import _activations, _classes, _conv, _losses, _shape
from ._absent import NAMES, of_function
from ._embedding import gather
from ._inputs import as_input
from ._norm import LayerNorm


def _layer(kind: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function ``f(x, *arguments)`` that a layer without weights computes."""

    def call(x: Any, *arguments: Any, inplace: bool = False, **named: Any) -> Any:
        layer = kind(*arguments, **named)
        made = layer(x) if isinstance(x, Outputs) else layer.forward(as_input(x, layer))
        if not inplace:
            return made
        x[...] = made
        return x

    call.__doc__ = f"Return ``nn.{kind.__name__}(...)(x)``; further arguments are the layer's."
    return call


def _loss(kind: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function ``f(outputs, targets, *arguments)`` of a loss."""

    def call(input: Any, target: Any, *arguments: Any, **named: Any) -> Any:
        return kind(*arguments, **named)(input, target)

    call.__doc__ = f"Return ``nn.{kind.__name__}(...)(input, target)``; further arguments are the loss's."
    return call


relu, leaky_relu, elu, gelu, silu, relu6 = map(
    _layer, (_activations.ReLU, _activations.LeakyReLU, _activations.ELU, _activations.GELU, _activations.SiLU,
             _activations.ReLU6)
)  # fmt: skip
sigmoid, tanh, softplus, logsigmoid = map(
    _layer, (_activations.Sigmoid, _activations.Tanh, _activations.Softplus, _activations.LogSigmoid)
)
max_pool1d, max_pool2d, avg_pool1d, avg_pool2d = map(
    _layer, (_conv.MaxPool1d, _conv.MaxPool2d, _conv.AvgPool1d, _conv.AvgPool2d)
)
adaptive_avg_pool1d, adaptive_avg_pool2d = map(_layer, (_conv.AdaptiveAvgPool1d, _conv.AdaptiveAvgPool2d))
mse_loss, l1_loss, huber_loss, smooth_l1_loss = map(
    _loss, (_losses.MSELoss, _losses.L1Loss, _losses.HuberLoss, _losses.SmoothL1Loss)
)
cross_entropy, nll_loss, binary_cross_entropy, binary_cross_entropy_with_logits = map(
    _loss, (_classes.CrossEntropyLoss, _classes.NLLLoss, _classes.BCELoss, _classes.BCEWithLogitsLoss)
)


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """Return ``input @ weight.T + bias``; `weight` has the shape (outputs, inputs)."""
    numbers = isinstance(input, np.ndarray) and input.dtype != object and tracing.at_top()
    array = isinstance(input, Outputs) or numbers
    made = product(input, as_outputs(weight).T if array else weight.as_values().T)
    return made if bias is None else each("add", made, bias)


def embedding(input: Any, weight: Any) -> Any:
    """Return the rows of `weight` with the numbers `input`."""
    return gather(weight, input)


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Return ``nn.Dropout(p)(input)`` in training, else the input; pass ``training=self.training``."""
    return _layer(_shape.Dropout)(input, p, inplace=inplace) if training else input


def layer_norm(input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Return the input normalised over its last dimensions, times `weight`, plus `bias`."""
    layer = LayerNorm(normalized_shape, eps, elementwise_affine=False)
    made = layer.forward(as_input(input, layer))
    made = made if weight is None else each("mul", made, weight)
    return made if bias is None else each("add", made, bias)


def normalize(input: Any, p: float = 2.0, dim: int | None = None, eps: float = 1e-12) -> Any:
    """Return the input divided by its norm along `dim`, which counts as at least `eps`; a row needs no `dim`."""
    row = row_of(input) if isinstance(input, list) else input
    dim = last(row, dim, "normalize")
    return row / each("maximum", row.norm(p, dim, keepdim=True), eps)


def scaled_dot_product_attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: float | None = None,
) -> Any:  # fmt: skip
    """Return ``softmax(query @ key.T / sqrt(d) + mask) @ value`` over the last two dimensions."""
    positions = shape_of(query)[-2:-1] + shape_of(key)[-2:-1]
    scores = product(query, key.transpose(-2, -1)) * (1.0 / math.sqrt(shape_of(query)[-1]) if scale is None else scale)
    if is_causal:
        scores = scores.masked_fill(np.tri(positions[0], positions[1]) == 0, -math.inf)
    if attn_mask is not None:
        mask = np.asarray(attn_mask)
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == bool else scores + mask
    return product(dropout(softmax(scores, -1), dropout_p, dropout_p > 0), value)


def one_hot(tensor: Any, num_classes: int) -> Any:
    """Return a row of 0 and 1 for each class index."""
    ids = row_of(tensor)
    if num_classes < 1:
        raise InputError(f"one_hot: num_classes must be at least 1, got {shown(num_classes)}")
    return ids.unsqueeze(-1) == np.arange(num_classes)


__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "avg_pool1d", "avg_pool2d", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "cross_entropy", "dropout", "elu", "embedding", "gelu", "huber_loss",
    "l1_loss", "layer_norm", "leaky_relu", "linear", "log_softmax", "logsigmoid", "max_pool1d", "max_pool2d",
    "mse_loss", "nll_loss", "normalize", "one_hot", "relu", "relu6", "scaled_dot_product_attention", "sigmoid", "silu",
    "smooth_l1_loss", "softmax", "softplus", "tanh",
]  # fmt: skip
TORCH.update({name: globals()[name] for name in __all__})


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    """Raise an error that says what there is instead of one of PyTorch's functions."""
    said = of_function(name)
    raise no_name(__name__, name, __all__, {name: said} if said else NAMES)
