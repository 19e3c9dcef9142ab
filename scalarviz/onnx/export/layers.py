"""The nodes of each layer: one table, from a class of `nn` to the function that writes it.

A layer that is not here, or whose forward a subclass has changed, is written operation by operation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .operations import operation
from .sheet import Output, Sheet

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LayerWriter:
    """How a layer is written: `write(layer, sheet, *inputs)` returns its output."""

    write: Callable[..., Output]
    stacks: bool = False  # whether several calls can be one node, along a further first axis
    takes_ids: bool = False  # whether its inputs are whole numbers
    fits: Callable[[Any], bool] = lambda layer: True  # whether it can write a layer with these settings


WRITERS: dict[str, LayerWriter] = {}
"""By the name of the class, so that layers know no file format and this table does not load them."""
HOME = "scalarviz.nn."


def writes(*names: str, **facts: Any) -> Callable[[Callable[..., Output]], Callable[..., Output]]:
    """Register the writer of classes with these names."""

    def register(write: Callable[..., Output]) -> Callable[..., Output]:
        WRITERS.update(dict.fromkeys(names, LayerWriter(write, **facts)))
        return write

    return register


def writer_of(layer: Any) -> LayerWriter | None:
    """Return the writer of a layer, or None: there is none for it, or a subclass has changed the computation."""
    kinds = type(layer).__mro__
    known = next((k for k in kinds if k.__module__.startswith(HOME) and k.__name__ in WRITERS), None)
    forward = next((k for k in kinds if "forward" in vars(k)), None)
    if known is None or forward is None or "forward" in vars(layer) or kinds.index(known) > kinds.index(forward):
        return None
    writer = WRITERS[known.__name__]
    return writer if writer.fits(layer) else None


@writes("Linear", stacks=True)
def linear(layer: Any, sheet: Sheet, x: Output) -> Output:
    """Write a Gemm for a row, or one product for all rows if there are several."""
    x = x if x.shape else sheet.reshaped(x, (1,))
    weight, made = sheet.weight(layer.weight), (*x.shape[:-1], layer.out_features)
    bias = () if layer.bias is None else (sheet.weight(layer.bias),)
    if len(x.shape) == 1:
        return sheet.node("Gemm", x, weight, *bias, shape=made, transB=1)
    product = sheet.node("MatMul", x, sheet.turned(weight), shape=made)
    return sheet.node("Add", product, *bias, shape=made) if bias else product


@writes("Embedding", stacks=True, takes_ids=True)
def embedding(layer: Any, sheet: Sheet, x: Output) -> Output:
    """Write a Gather of rows."""
    made = (*x.shape, layer.embedding_dim)
    return sheet.node("Gather", sheet.weight(layer.weight), sheet.ids(x), shape=made, axis=0)


@writes("Activation", stacks=True, fits=lambda layer: layer.op is not None)  # the identity writes nothing
def activation(layer: Any, sheet: Sheet, x: Output) -> Output:
    """Write the operation of an activation."""
    return operation(sheet, layer.operation, (x, *layer.constants()), x.shape)


@writes("PReLU")
def prelu(layer: Any, sheet: Sheet, x: Output) -> Output:
    """Write a PRelu with its slopes along the channels."""
    slopes = sheet.weight(layer.weight)
    if layer.num_parameters > 1 and len(x.shape) > 1:
        slopes = sheet.fixed("Reshape", slopes, sheet.integers((-1,) + (1,) * (len(x.shape) - 1)))
    return sheet.node("PRelu", x, slopes, shape=x.shape)


@writes("Softmax", "LogSoftmax", stacks=True)
def softmax(layer: Any, sheet: Sheet, x: Output) -> Output:
    """Write a Softmax, or a LogSoftmax, along the layer's dimension."""
    operator = {"softmax": "Softmax", "log_softmax": "LogSoftmax"}[layer.stage]
    return sheet.node(operator, x, shape=x.shape, axis=-1 if layer.dim is None else layer.dim)


# ---- norms


@writes("LayerNorm", stacks=True)
def layer_norm(layer: Any, sheet: Sheet, x: Output) -> Output:
    """Write a LayerNormalization."""
    axis = -len(layer.normalized_shape)
    scale = _affine(layer, sheet, layer.normalized_shape)
    return sheet.node("LayerNormalization", x, *scale, shape=x.shape, axis=axis, epsilon=layer.eps)


@writes("GroupNorm")
def group_norm(layer: Any, sheet: Sheet, x: Output) -> Output:
    """Write an InstanceNormalization over the groups, as GroupNormalization needs opset 18; then the channels."""
    groups, sides = layer.num_groups, (-1,) + (1,) * (len(x.shape) - 1)
    apart = sheet.reshaped(x, (groups, math.prod(x.shape) // groups))
    ones, zeros = (sheet.numbers(np.full(groups, number)) for number in (1.0, 0.0))
    normal = sheet.node("InstanceNormalization", apart, ones, zeros, shape=apart.shape, epsilon=layer.eps)
    made = sheet.reshaped(normal, x.shape)
    for operator, part in (("Mul", layer.weight), ("Add", layer.bias)):
        if part is not None:
            channels = sheet.fixed("Reshape", sheet.weight(part), sheet.integers(sides))
            made = sheet.node(operator, made, channels, shape=x.shape)
    return made


@writes("RMSNorm", stacks=True)
def rms_norm(layer: Any, sheet: Sheet, x: Output) -> Output:
    """Write its formula; the standard has no such node before opset 23."""
    last = tuple(range(-len(layer.normalized_shape), 0))
    one = (*x.shape[: -len(last)], *(1 for _ in last))
    squares = sheet.node("Mul", x, x, shape=x.shape)
    mean = sheet.node("ReduceMean", squares, shape=one, axes=last, keepdims=1)
    root = sheet.node("Sqrt", sheet.node("Add", mean, layer.eps, shape=one), shape=one)
    normal = sheet.node("Div", x, root, shape=x.shape)
    return normal if layer.weight is None else sheet.node("Mul", normal, sheet.weight(layer.weight), shape=x.shape)


@writes("BatchNorm", fits=lambda layer: layer._has_running())  # without them the file computes those of each batch
def batch_norm(layer: Any, sheet: Sheet, x: Output) -> Output:
    """Write a BatchNormalization with the running statistics."""
    mean, var = (sheet.weight(vars(layer)[name]) for name in ("running_mean", "running_var"))
    factor, shift = _affine(layer, sheet, (layer.num_features,))
    momentum = 0.9 if layer.momentum is None else 1.0 - layer.momentum  # the standard has no mean over all steps
    return sheet.node(
        "BatchNormalization", x, factor, shift, mean, var, shape=x.shape, epsilon=layer.eps, momentum=momentum
    )


def _affine(layer: Any, sheet: Sheet, shape: Shape) -> tuple[str, str]:
    """Return a norm's weight and bias, or the ones and zeros that ONNX needs instead."""
    factor = sheet.numbers(np.ones(shape)) if layer.weight is None else sheet.weight(layer.weight)
    return factor, sheet.numbers(np.zeros(shape)) if layer.bias is None else sheet.weight(layer.bias)


# ---- convolutions and pools


@writes("Conv")
def convolution(layer: Any, sheet: Sheet, x: Output) -> Output:
    """Write a Conv."""
    return sheet.node(
        "Conv", x, sheet.weight(layer.weight), *([] if layer.bias is None else [sheet.weight(layer.bias)]),
        shape=layer.made_shape(x.shape), kernel_shape=layer.kernel_size, strides=layer.stride,
        pads=tuple(np.ravel(layer._border, "F").tolist()), dilations=layer.dilation, group=layer.groups,
    )  # fmt: skip


@writes("MaxPool")
def max_pool(layer: Any, sheet: Sheet, x: Output) -> Output:
    """Write a MaxPool."""
    return _pool(layer, sheet, "MaxPool", x)


@writes("AvgPool")
def average_pool(layer: Any, sheet: Sheet, x: Output) -> Output:
    """Write an AveragePool, whose means include the zeros of the border."""
    return _pool(layer, sheet, "AveragePool", x, count_include_pad=1)


def _pool(layer: Any, sheet: Sheet, operator: str, x: Output, **more: Any) -> Output:
    made, size = layer.made_shape(x.shape), layer.kernel_size
    return sheet.node(operator, x, shape=made, kernel_shape=size, strides=layer.stride, pads=layer.padding * 2, **more)


@writes("AdaptiveAvgPool")
def adaptive_pool(layer: Any, sheet: Sheet, x: Output) -> Output:
    """Write an AveragePool; for overlapping windows, products with the shares along each dimension."""
    made, sides = layer.made_shape(x.shape), x.shape[1:]
    if made[1:] == (1,) * layer.dimensions:
        return sheet.node("GlobalAveragePool", x, shape=made)
    if all(side % n == 0 for side, n in zip(sides, made[1:], strict=True)):
        steps = tuple(side // n for side, n in zip(sides, made[1:], strict=True))
        return sheet.node("AveragePool", x, shape=made, kernel_shape=steps, strides=steps)
    across = sheet.numbers(_shares(layer._spans(sides[-1], made[-1]), sides[-1]).T)
    x = sheet.node("MatMul", x, across, shape=(*x.shape[:-1], made[-1]))
    if layer.dimensions == 2:
        x = sheet.node("MatMul", sheet.numbers(_shares(layer._spans(sides[0], made[1]), sides[0])), x, shape=made)
    return x


def _shares(spans: list[slice], side: int) -> NDArray[np.float64]:
    """Return the share of each position in the mean of each window, (windows, side)."""
    shares = np.zeros((len(spans), side))
    for row, span in zip(shares, spans, strict=True):
        row[span] = 1.0 / (span.stop - span.start)
    return shares


# ---- attention


@writes("MultiheadAttention", fits=lambda layer: writer_of(layer.out_proj) is WRITERS["Linear"])
def attention(layer: Any, sheet: Sheet, query: Output, key: Output, value: Output, *mask: Any) -> Output:
    """Write the products of the heads, side by side."""
    heads, size = layer.num_heads, layer.embed_dim // layer.num_heads
    q, k, v = (
        sheet.node("Transpose", sheet.reshaped(x, (x.shape[0], heads, size)), shape=(heads, x.shape[0], size),
                   perm=(0, 2, 1, 3))
        for x in _projected(layer, sheet, (query, key, value))
    )  # fmt: skip
    asking, offering = query.shape[0], key.shape[0]
    turned = sheet.node("Transpose", k, shape=(heads, size, offering), perm=(0, 1, 3, 2))
    shape = heads, asking, offering
    scores = sheet.node("MatMul", q, turned, shape=shape)
    scores = sheet.node("Mul", scores, 1.0 / math.sqrt(size), shape=shape)
    if mask and np.any(mask[0]):
        scores = sheet.node("Add", scores, sheet.numbers(mask[0]), shape=shape)
    shares = sheet.node("Softmax", scores, shape=shape, axis=-1)
    mixed = sheet.node("MatMul", shares, v, shape=(heads, asking, size))
    joined = sheet.node("Transpose", mixed, shape=(asking, heads, size), perm=(0, 2, 1, 3))
    return linear(layer.out_proj, sheet, sheet.reshaped(joined, (asking, layer.embed_dim)))


def _projected(layer: Any, sheet: Sheet, given: tuple[Output, Output, Output]) -> list[Output]:
    sizes = sheet.integers((layer.embed_dim,) * 3)
    weights = sheet.several("Split", 3, sheet.turned(sheet.weight(layer.in_proj_weight)), sizes, axis=1)
    made = [sheet.node("MatMul", x, w, shape=x.shape) for x, w in zip(given, weights, strict=True)]
    if layer.in_proj_bias is None:
        return made
    biases = sheet.several("Split", 3, sheet.weight(layer.in_proj_bias), sizes, axis=0)
    return [sheet.node("Add", x, bias, shape=x.shape) for x, bias in zip(made, biases, strict=True)]
