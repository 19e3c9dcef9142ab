"""Normalisations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ... import nn
from ...onnx.graph import Node
from .table import Facts, Found, Shape, Tensor, Way, layer, of_module, plain

BATCH = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d}
STATISTICS = ("weight", "bias", "running_mean", "running_var")


@layer("BatchNormalization")
def batch_norm(node: Node, facts: Facts) -> Found | None:
    """By running statistics, or in training by those of the batch; its other outputs are not read."""
    x, shape = node.inputs[0], facts.shapes.get(node.inputs[0], ())
    read = any(name and (facts.readers.get(name) or name in facts.results) for name in node.outputs[1:])
    if not facts.made(x) or len(shape) not in BATCH or read or node.attributes.get("spatial", 1) != 1:
        return None
    channels = (shape[1],)
    tensors = {name: facts.weight(given, channels) for name, given in zip(STATISTICS, node.inputs[1:5], strict=False)}
    weights = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    parts = _affine(weights, facts, node.inputs[1:3], channels)
    if parts is None or not weights.keys() >= {"running_mean", "running_var"}:
        return None
    momentum = round(1.0 - _number(node, "momentum", 0.9), 12)
    if not 0.0 <= momentum <= 1.0:
        return None
    module = BATCH[len(shape)](shape[1], _number(node, "epsilon", 1e-5), momentum, parts[0], bias=parts[1])
    module.train(bool(node.attributes.get("training_mode", 0)))
    # rows of channels as long as there are channels might be samples: a layer of ours refuses them without their axis
    way: Way = "whole" if len(shape) == 3 and shape[1] == shape[2] else "samples"
    return Found(module, (node,), x, node.outputs[0], way, weights)


@layer("LayerNormalization")
def layer_norm(node: Node, facts: Facts) -> Found | None:
    """Over the last axes."""
    x, shape = node.inputs[0], facts.shapes.get(node.inputs[0], ())
    if not facts.made(x) or any(node.outputs[1:]):
        return None
    axis = int(_number(node, "axis", -1)) % len(shape)
    over, names = shape[axis:], (node.inputs[1], facts.input(node, 2))
    weights = {part: tensor for part, name in zip(("weight", "bias"), names, strict=True)
               if (tensor := facts.weight(name, over)) is not None}  # fmt: skip
    parts = _affine(weights, facts, names, over)
    if axis == 0 or parts is None:
        return None
    module = nn.LayerNorm(over, _number(node, "epsilon", 1e-5), *parts)
    return Found(module, (node,), x, node.outputs[0], "all", weights)


@layer("GroupNormalization", "InstanceNormalization")
def group_norm(node: Node, facts: Facts) -> Found | None:
    """Over groups of channels; with a group a channel it is the norm of an instance."""
    x, shape = node.inputs[0], facts.shapes.get(node.inputs[0], ())
    if not facts.made(x) or len(shape) < 2:
        return None
    channels = (shape[1],)
    weight, bias = facts.weight(node.inputs[1], channels), facts.weight(node.inputs[2], channels)
    groups = int(_number(node, "num_groups", shape[1]))
    # until version 21 weights were those of groups
    old = node.operator == "GroupNormalization" and facts.graph.opset < 21 and groups != shape[1]
    if weight is None or bias is None or old or groups < 1 or shape[1] % groups:
        return None
    # factors of 1 and summands of 0 stand for a norm without weights, which the standard has not
    own = of_module(weight.name) or of_module(bias.name)
    plain_norm = not own and bool((weight.array == 1).all() and (bias.array == 0).all())
    module = nn.GroupNorm(groups, shape[1], _number(node, "epsilon", 1e-5), affine=not plain_norm)
    weights = {} if plain_norm else {"weight": weight, "bias": bias}
    return Found(module, (node,), x, node.outputs[0], "samples", weights)


def _affine(
    weights: Mapping[str, Tensor], facts: Facts, names: Sequence[str], shape: Shape
) -> tuple[bool, bool] | None:  # fmt: skip
    """Whether a norm has a weight, and whether it has a bias; None where it has a bias alone, or what is no weight."""
    for part, name, number in zip(("weight", "bias"), names, (1.0, 0.0), strict=True):
        if part not in weights and not facts.neutral(name, shape, number):
            return None
    found = "weight" in weights, "bias" in weights
    return None if found == (False, True) else found


def _number(node: Node, name: str, default: float) -> float:
    given: Any = node.attributes.get(name, default)
    return plain(float(given))
